// Accelerators, pictures, and links.

function picture(name, title, description) {
  const svg = results.pictures && results.pictures[name];
  if (typeof svg !== 'string') return null;
  const image = element('img', {
    src: 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svg), alt: description,
  });
  // It shrinks as far as its words can be read.
  const width = /^<svg[^>]* width="(\d+)"/.exec(svg);
  if (width) image.style.minWidth = Math.min(Number(width[1]), 800) + 'px';
  return element('figure', {},
    scrolling(title, image, 'picture'),
    element('figcaption', {class: 'note'}, title));
}

/** When each rank is done, after the first one. */
function finishStrip() {
  const finish = Array.isArray(summary.finish_ns) ? summary.finish_ns.filter(isNumber) : [];
  if (finish.length < 2) return null;
  const first = Math.min(...finish);
  const last = Math.max(...finish);
  if (last === first) return element('p', {}, 'All ' + count(finish.length) + ' ranks are done at the same time.');
  const figure = element('figure', {});
  const kHeight = 120;
  const kLeft = 62;
  const svg = d3.select(figure).append('svg').attr('height', kHeight + 24).attr('role', 'img')
    .attr('aria-label', 'How much later than the first each rank is done: the last one, rank ' + finish.indexOf(last) +
      ', ' + time((last - first) / 1e3) + ' later.');
  const draw = () => {
    const width = Math.max(figure.clientWidth, 240);
    svg.attr('width', width).selectAll('*').remove();
    const x = d3.scale.linear().domain([0, finish.length]).range([kLeft, width]);
    const y = d3.scale.linear().domain([0, last - first]).range([kHeight, 4]);
    svg.append('g').attr('class', 'axis').attr('transform', 'translate(' + kLeft + ',0)')
      .call(d3.svg.axis().scale(y).orient('left').ticks(3).outerTickSize(0).tickFormat((ns) => time(ns / 1e3)));
    svg.selectAll('rect').data(finish).enter().append('rect')
      .attr('x', (ns, rank) => x(rank)).attr('width', Math.max(x(1) - x(0) - 1, 0.5))
      .attr('y', (ns) => y(ns - first) - 1).attr('height', (ns) => kHeight - y(ns - first) + 1)
      .style('fill', 'var(--other)');
    svg.append('text').attr('class', 'quiet').attr('x', kLeft).attr('y', kHeight + 16)
      .text('rank 0 to rank ' + (finish.length - 1));
  };
  window.addEventListener('resize', draw);
  requestAnimationFrame(draw);
  figure.append(element('figcaption', {class: 'note'}, 'When each rank is done, after the first one'));
  return figure;
}

section('accelerators', 'Accelerators', () => [
  picture('timeline.svg', 'What the first accelerator did when; red: it is not computing',
    'Timeline of the first accelerator: a row for computing, with red where it stands still, and rows for its ' +
    'interfaces and collectives. The table of the step has the sums.'),
  finishStrip(),
].filter((node) => node !== null));

const linkRows = results.links && Array.isArray(results.links.rows) ? results.links.rows : [];
const linkColumns = linkRows.length > 0 ? results.links.columns : [];
const column = (name) => linkColumns.indexOf(name);

/** What of the path is on a link. */
const pathOnLinks = new Map(Object.entries(isObject(results.on_path) ? results.on_path : {}));
const onPath = (link) => (pathOnLinks.get(link) || 0) / (pathLength || 1);

function linkTable() {
  if (linkRows.length === 0) return [];
  const format = {utilisation: percent, bytes, most_queued_bytes: bytes, blocked_us: time};
  const number = (row, index) => Number(row[index]);
  // Where the path is on none of them, the busiest come first.
  linkRows.sort((a, b) => number(b, 1) - number(a, 1));
  const isQuiet = (index) => linkRows.every((row) => number(row, index) === 0);
  const columns = [{title: 'Link', value: (row) => row[0]}];
  if (pathOnLinks.size > 0) {
    columns.push({title: 'On the path', number: true, value: (row) => onPath(row[0]), text: (row) => (onPath(row[0]) > 0 ? percent(onPath(row[0])) : '')});
  }
  const quiet = [];
  linkColumns.forEach((name, index) => {
    if (index === 0) return;
    if (index > 3 && isQuiet(index)) {
      quiet.push(words(name));
      return;
    }
    columns.push({title: words(name), number: true, value: (row) => number(row, index),
      text: (row) => (format[name] || count)(number(row, index))});
  });
  const notes = [];
  if (results.links.left_out > 0) notes.push('The ' + count(results.links.left_out) + ' least used links are in links.csv alone.');
  if (quiet.length > 0) notes.push('On no link: ' + quiet.join(', ') + '.');
  return [
    element('h3', {}, 'Links'),
    ...sortable('links-table', 'Links, both directions apart; utilisation is the share of the time in which a link sends',
      columns, linkRows, 1),
    notes.length > 0 ? element('p', {class: 'note'}, notes.join(' ')) : null,
  ];
}

function linkClasses() {
  const rows = [];
  Object.entries(isObject(summary.links) ? summary.links : {}).forEach(([network, classes]) => {
    Object.entries(isObject(classes) ? classes : {}).forEach(([name, value]) => {
      if (!isObject(value) || !isNumber(value.mean)) return;
      rows.push({network: words(network), name: words(name), ...value});
    });
  });
  if (rows.length === 0) return null;
  return scrolling('Utilisation of links', element('table', {},
    captionOf('Utilisation of links by what they join'),
    element('thead', {}, element('tr', {}, ['Network', 'Links', 'Number', 'Mean', 'Highest', 'Bytes'].map((title, index) =>
      element('th', {scope: 'col', class: index > 1 ? 'number' : null}, title)))),
    element('tbody', {}, rows.map((row) => element('tr', {},
      element('th', {scope: 'row'}, row.network), element('td', {}, row.name),
      [count(row.count), percent(row.mean), percent(row.max), bytes(row.bytes)].map((text) =>
        element('td', {class: 'number'}, text)))))));
}

/** Of an analytical network. */
function endTable() {
  const ends = results.ends && Array.isArray(results.ends.rows) ? results.ends.rows : [];
  if (ends.length === 0) return [];
  return [element('h3', {}, 'Ends'), ...sortable('ends-table', 'Ends of the analytical network',
    results.ends.columns.map((name, index) => ({title: words(name).replace(/ ns$/, ', ns'), number: true,
      value: (row) => Number(row[index]), text: (row) => row[index]})), ends, 0)];
}

section('network', 'Network', () => {
  const content = [
    picture('machine.svg', 'The machine', 'Picture of the machine: accelerators, interfaces and networks.'),
    picture('path.svg', 'The network between interfaces, by share of the critical path',
      'Switches and links of the network; a link is the redder the longer the critical path is on it. The table of links has the shares.'),
    picture('network.svg', 'The network between interfaces, by utilisation of its links',
      'Switches and links of the network, coloured from pale blue to red by utilisation. The table of links has the figures.'),
    linkClasses(), ...linkTable(), ...endTable(),
  ].filter((node) => node !== null);
  return content;
});
