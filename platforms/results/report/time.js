// What the machine did when: rows of rates above a strip for each accelerator.

function timesOf(table) {
  if (!isObject(table) || !Array.isArray(table.rows) || !Array.isArray(table.columns)) return null;
  const rows = table.rows.map((row) => row.map(Number)).filter((row) => row.every(isNumber));
  const column = (name) => table.columns.indexOf(name);
  if (rows.length < 2 || column('until_us') !== 0) return null;
  const begins = rows.map((row, index) => (index > 0 ? rows[index - 1][0] : 0));
  const gigabytes = (value) => rate(value * 1e9);
  const curves = [
    {name: 'computing', key: 'computing', colour: 'computing', text: percent, most: 1},
    {name: 'into the fabric', key: 'fabric_gb_per_s', colour: 'network', text: gigabytes},
    {name: 'into scale-up networks', key: 'scale_up_gb_per_s', colour: 'network', text: gigabytes},
    {name: 'memory', key: 'hbm_gb_per_s', colour: 'memory', text: gigabytes},
    {name: 'power', key: 'power_w', colour: 'other', text: watts},
  ].filter((curve) => column(curve.key) > 0).map((curve) => {
    const values = rows.map((row) => row[column(curve.key)]);
    const mean = d3.sum(rows, (row, index) => values[index] * (row[0] - begins[index])) / rows[rows.length - 1][0];
    return {...curve, values, mean, most: curve.most || d3.max(values)};
  }).filter((curve) => curve.most > 0);
  // Strips of many rows side by side: as many boxes as a page draws without delay.
  const together = Math.ceil(rows.length / 160);
  const boxes = d3.range(0, rows.length, together).map((from) => ({from, to: Math.min(from + together, rows.length)}));
  const strips = table.columns.map((name, index) => ({name, index}))
    .filter((strip) => /^computing_\d+$/.test(strip.name))
    .map((strip) => ({rank: strip.name.slice('computing_'.length), boxes: boxes.map(({from, to}) => ({
      from: begins[from],
      to: rows[to - 1][0],
      share: d3.sum(d3.range(from, to), (i) => rows[i][strip.index] * (rows[i][0] - begins[i])) / (rows[to - 1][0] - begins[from]),
    }))}));
  return {begins, ends: rows.map((row) => row[0]), curves, strips};
}

/** `until` is where the axis ends, and `mosts` are the ends of curves' axes by their keys, where they are given. */
function timeChart({begins, ends, curves, strips}, {until, mosts} = {until: ends[ends.length - 1], mosts: new Map()}) {
  const figure = element('figure', {});
  const told = element('p', {class: 'told', 'aria-live': 'polite'},
    'Point at a time, or go along it by the arrow keys, to read it.');
  const [left, top, high, gap] = [84, 6, 56, 26];
  const strip = Math.max(3, Math.min(12, 320 / Math.max(strips.length, 1)));
  const stripsAt = top + curves.length * (high + gap) + 14;
  const height = stripsAt + strips.length * strip + 26;
  let at = 0;
  const svg = d3.select(figure).append('svg').attr('height', height).attr('tabindex', 0).attr('role', 'img')
    .attr('aria-label', 'Over the time of the run: ' + curves.map((curve) => curve.name + ', on average ' +
      curve.text(curve.mean) + ', at most ' + curve.text(d3.max(curve.values))).join('; ') +
      (strips.length > 0 ? '. Below, when each of ' + strips.length + ' accelerators computed.' : '.'));
  const tell = () => {
    told.textContent = 'From ' + time(begins[at]) + ' to ' + time(ends[at]) + ': ' +
      curves.map((curve) => curve.name + ' ' + curve.text(curve.values[at])).join(', ') + '.';
  };
  function draw() {
    const width = Math.max(figure.clientWidth, 240);
    svg.attr('width', width).selectAll('*').remove();
    const x = d3.scale.linear().domain([0, until]).range([left, width - 8]);
    curves.forEach((curve, index) => {
      const base = top + index * (high + gap) + 14 + high;
      const most = mosts.get(curve.key) || curve.most;
      const y = d3.scale.linear().domain([0, most]).range([base, base - high]);
      svg.append('text').attr('class', 'quiet').attr('x', left).attr('y', base - high - 4)
        .text(curve.name + ', on average ' + curve.text(curve.mean));
      svg.append('g').attr('class', 'axis').attr('transform', 'translate(' + left + ',0)')
        .call(d3.svg.axis().scale(y).orient('left').tickValues([0, most]).tickFormat(curve.text).outerTickSize(0));
      svg.append('path').attr('class', 'area c-' + curve.colour).attr('d', 'M' + left + ',' + base +
        curve.values.map((value, i) => 'V' + y(value) + 'H' + x(ends[i])).join('') + 'V' + base + 'Z');
    });
    strips.forEach((one, row) => {
      const y = stripsAt + row * strip;
      one.boxes.forEach((box) => {
        svg.append('rect').attr('x', x(box.from)).attr('width', Math.max(x(box.to) - x(box.from), 0.5)).attr('y', y)
          .attr('height', strip - 1).attr('class', 'area c-computing').style('opacity', 0.05 + 0.95 * box.share);
      });
      if (row % Math.ceil(12 / strip) === 0) {
        svg.append('text').attr('class', 'quiet').attr('text-anchor', 'end').attr('x', left - 6)
          .attr('y', y + Math.max(strip - 1, 8)).text(one.rank);
      }
    });
    svg.append('g').attr('class', 'axis').attr('transform', 'translate(0,' + (stripsAt + strips.length * strip + 2) + ')')
      .call(d3.svg.axis().scale(x).orient('bottom').ticks(Math.max(2, Math.floor(width / 140))).tickFormat(time)
        .outerTickSize(0));
    const cursor = svg.append('line').attr('class', 'cursor').attr('y1', top).attr('y2', height - 24)
      .style('display', 'none');
    const move = (to) => {
      at = Math.max(0, Math.min(ends.length - 1, to));
      cursor.attr('x1', x(ends[at])).attr('x2', x(ends[at])).style('display', null);
      tell();
    };
    svg.on('mousemove', () => move(d3.bisectLeft(ends, x.invert(d3.mouse(svg.node())[0]))))
      .on('keydown', () => {
        const by = {ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20, Home: -ends.length, End: ends.length}[d3.event.key];
        if (!by) return;
        d3.event.preventDefault();
        move(at + by);
      });
  }
  window.addEventListener('resize', draw);
  requestAnimationFrame(draw);
  figure.append(told);
  return figure;
}

const overTime = timesOf(results.over_time);

section('time', 'Over time', () => (overTime === null ? null : [
  timeChart(overTime),
  element('p', {class: 'note'}, 'Means between two looks at the counters, which a run takes up to 512 times. Rates are of all ' +
    'accelerators together; a strip is blue where its accelerator computes.' + (overTime.strips.length < summary.accelerators
    ? ' ' + overTime.strips.length + ' of ' + count(summary.accelerators) + ' accelerators are shown.' : '')),
]));
