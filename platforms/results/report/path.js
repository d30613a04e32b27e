// The critical path of why.json as a flame: what, for what, of which kind, where.
const pieces = results.why && Array.isArray(results.why.pieces)
  ? results.why.pieces.filter((piece) => isObject(piece) && isNumber(piece.ps)) : [];
const pathLength = pieces.reduce((sum, piece) => sum + piece.ps, 0);

function pathTree() {
  const root = {name: 'critical path', parts: new Map(), children: []};
  const child = (node, name, more) => {
    if (!node.parts.has(name)) {
      const made = {name, parts: new Map(), children: [], ...more};
      node.parts.set(name, made);
      node.children.push(made);
    }
    return node.parts.get(name);
  };
  pieces.forEach((piece) => {
    const isKernel = piece.of === 'kernel';
    const about = child(child(root, isKernel ? 'kernels' : 'between kernels'), String(piece.about));
    const kind = child(about, wordsOfPiece(piece), {kind: piece.kind});
    const leaf = child(kind, String(piece.place), {kind: piece.kind});
    leaf.ps = (leaf.ps || 0) + piece.ps;
  });
  (function finish(node) {
    // d3's partition takes a node without children for a leaf.
    if (node.children.length === 0) {
      delete node.children;
      return;
    }
    node.children.forEach(finish);
    node.ps = node.children.reduce((sum, each) => sum + each.ps, 0);
    fold(node);
  }(root));
  return root;
}

const kMostParts = 24;  // of a part, that are drawn by themselves

/** Small parts become one, whose parts are theirs by name, however deep. */
function fold(node) {
  if (node.children.length <= kMostParts + 1) return;
  node.children.sort((a, b) => b.ps - a.ps);
  const rest = node.children.splice(kMostParts);
  const others = {name: count(rest.length) + ' others', ps: rest.reduce((sum, each) => sum + each.ps, 0), isRest: true};
  if (rest.every((each) => each.kind === rest[0].kind)) others.kind = rest[0].kind;
  const parts = new Map();
  rest.forEach((each) => (each.children || []).forEach((part) => {
    const made = parts.get(part.name) || {name: part.name, kind: part.kind, ps: 0};
    made.ps += part.ps;
    parts.set(part.name, made);
  }));
  if (parts.size > 0) others.children = [...parts.values()];
  node.children.push(others);
}

/** A chart of rows from the whole down to its parts; one stop of the tab key, arrow keys go on from there. */
function flame(tree) {
  const kRow = 34;
  const kLevels = 5;
  const kLeast = 1.5;  // pixels, below which nothing is drawn
  const nodes = d3.layout.partition().size([1, kLevels]).value((node) => node.ps)
    .sort((a, b) => Boolean(a.isRest) - Boolean(b.isRest) || b.value - a.value).nodes(tree);
  const figure = element('figure', {});
  const told = element('p', {class: 'told', 'aria-live': 'polite'});
  const back = element('button', {type: 'button', class: 'press'}, 'Show the whole path');
  const svg = d3.select(figure).append('svg').attr('role', 'group')
    .attr('aria-label', 'The critical path by parts. Arrow keys move, Enter shows a part alone.');
  let focus = tree;
  let at = tree;

  const describe = (node) => {
    const names = [];
    for (let each = node; each; each = each.parent) names.unshift(each.name);
    return names.slice(Math.min(1, names.length - 1)).join(' › ') + ': ' + time(node.value * 1e-6) + ', ' +
      percent(node.value / tree.value) + ' of the path';
  };
  function zoom(node) {
    focus = node.children ? node : node.parent || node;
    at = focus;
    draw(true);
  }
  function step(node, key) {
    const beside = node.parent ? node.parent.children.filter((each) => each.value > 0) : [node];
    const place = beside.indexOf(node);
    const next = {
      ArrowLeft: beside[place - 1],
      ArrowRight: beside[place + 1],
      ArrowUp: node === focus ? null : node.parent,
      ArrowDown: node.children && node.children[0],
    }[key];
    if (!next) return;
    at = next;
    draw(true);
  }
  function draw(takesFocus) {
    const width = Math.max(figure.clientWidth, 240);
    svg.attr('width', width).attr('height', kRow * kLevels);
    const x = d3.scale.linear().domain([focus.x, focus.x + focus.dx]).range([0, width]);
    const isWithin = (node) => node.x < focus.x + focus.dx - 1e-12 && node.x + node.dx > focus.x + 1e-12;
    const wide = (node) => x(Math.min(node.x + node.dx, focus.x + focus.dx)) - x(Math.max(node.x, focus.x));
    const shown = nodes.filter((node) => isWithin(node) && (wide(node) >= kLeast || node === at));
    const groups = svg.selectAll('g.part').data(shown, (node) => node.id || (node.id = nodes.indexOf(node) + 1));
    const made = groups.enter().append('g').attr('role', 'button')
      .on('click', zoom)
      .on('focus', (node) => { told.textContent = describe(node); })
      .on('mouseenter', (node) => { told.textContent = describe(node); })
      .on('keydown', (node) => {
        const key = d3.event.key;
        if (key === 'Enter' || key === ' ') zoom(node);
        else if (key === 'Escape') zoom(tree);
        else if (key.startsWith('Arrow')) step(node, key);
        else return;
        d3.event.preventDefault();
      });
    made.append('rect').attr('height', kRow - 1);
    made.append('text').attr('x', 6).attr('y', kRow / 2 + 4);
    groups.exit().remove();
    groups.order();
    groups
      .attr('class', (node) => 'part ' + (node.kind ? 'c-' + colourOfKind(node.kind) : 'plain'))
      .attr('tabindex', (node) => (node === at ? 0 : -1))
      .attr('aria-label', describe)
      .attr('transform', (node) => 'translate(' + x(Math.max(node.x, focus.x)) + ',' + node.depth * kRow + ')');
    groups.select('rect').attr('width', (node) => Math.max(wide(node), kLeast));
    groups.select('text').text((node) => {
      const letters = Math.floor((wide(node) - 10) / 7);
      const whole = node.name + ' ' + percent(node.value / tree.value);
      if (whole.length <= letters) return whole;
      if (letters < 4) return '';
      return node.name.length <= letters ? node.name : node.name.slice(0, letters - 1) + '…';
    });
    back.hidden = focus === tree;
    if (!takesFocus) return;
    told.textContent = describe(at);
    groups.filter((node) => node === at).node().focus();
  }
  back.addEventListener('click', () => zoom(tree));
  window.addEventListener('resize', () => draw(false));
  told.textContent = 'Point at a part, or go to it by the arrow keys, to read it. Enter or a click shows it alone.';
  figure.append(told, back);
  // It is drawn when its width is known.
  requestAnimationFrame(() => draw(false));
  return figure;
}

const kindsOfWords = new Map();
pieces.forEach((piece) => {
  const words = wordsOfPiece(piece);
  kindsOfWords.set(words, (kindsOfWords.get(words) || new Set()).add(piece.kind));
});
/** With the kind of why.json, where pieces of several kinds have these words. */
function wordsAndKind(piece) {
  const words = wordsOfPiece(piece);
  return kindsOfWords.get(words).size > 1 ? words + ' (' + piece.kind + ')' : words;
}

section('path', 'Critical path', () => {
  if (pathLength === 0) {
    return isObject(summary.breakdown_us) && isNumber(summary.accelerators)
      ? [element('p', {}, 'This run has not kept it: weft run --why does.')] : null;
  }
  const used = new Set(pieces.map((piece) => colourOfKind(piece.kind)));
  return [
    element('p', {}, 'The chain of events that decides when the run ends, from the whole at the top to its parts. ' +
      'The run gains at most what a part is long if that part takes no time.'),
    flame(pathTree()),
    legend(used),
    ...sortable('path-table', 'Pieces of the critical path', [
      {title: 'For', value: (piece) => piece.about},
      {title: 'Share', number: true, value: (piece) => piece.ps, text: (piece) => percent(piece.ps / pathLength)},
      {title: 'Time', number: true, value: (piece) => piece.ps, text: (piece) => time(piece.ps * 1e-6)},
      {title: 'What', value: wordsAndKind},
      {title: 'Place', value: (piece) => piece.place},
    ], pieces, 1),
  ];
});
