// Scatter with the Pareto front, parallel coordinates, and a heat map. Each is drawn anew when a filter changes.
const kWidth = 860;
const kLetter = 7;
const kNameLines = 3;
const describe = (point) => [...parameters, ...metrics].map((column) => column.name + ' ' + column.text(point)).join(', ');

function tell(box, point) {
  box.replaceChildren(element('span', {}, point.key.slice(0, 8) + ': ' + describe(point) + '. '),
    element('code', {}, 'weft study ' + study.database + ' --point ' + point.key.slice(0, 8)));
}

function scaleOf(column, points, range) {
  if (!column.isNumeric) return d3.scale.ordinal().domain(d3.range(column.texts.length)).rangePoints(range, 1);
  const extent = d3.extent(points, column.at);
  const margin = (extent[1] - extent[0]) * 0.05 || Math.abs(extent[0]) * 0.05 || 1;
  return d3.scale.linear().domain([extent[0] - margin, extent[1] + margin]).range(range);
}
function axisOf(column, scale, orient) {
  const axis = d3.svg.axis().scale(scale).orient(orient);
  if (column.isNumeric && !column.isMetric && column.texts.length <= 12) {
    // As they were written, with their units.
    const texts = new Map(done.map((point) => [column.at(point), column.text(point)]));
    return axis.tickValues([...texts.keys()].filter(isNumber)).tickFormat((value) => texts.get(value));
  }
  return column.isNumeric ? axis.ticks(6).tickFormat(digits) : axis.tickFormat((i) => column.texts[i]);
}
function canvas(box, height, label) {
  box.replaceChildren();
  return d3.select(box).append('svg').attr('viewBox', '0 0 ' + kWidth + ' ' + height).attr('role', 'img').attr('aria-label', label);
}

function drawScatter(box, told) {
  const points = visible();
  const x = columnOf(state.x);
  const y = columnOf(state.y);
  const front = frontOf(points);
  const height = 420;
  const svg = canvas(box, height, y.name + ' over ' + x.name + ', ' + points.length + ' points, ' + front.length + ' on the Pareto front');
  const across = scaleOf(x, points, [70, kWidth - 20]);
  const up = scaleOf(y, points, [height - 50, 15]);
  svg.append('g').attr('class', 'axis').attr('transform', 'translate(0,' + (height - 50) + ')').call(axisOf(x, across, 'bottom'));
  svg.append('g').attr('class', 'axis').attr('transform', 'translate(70,0)').call(axisOf(y, up, 'left'));
  svg.append('text').attr('x', kWidth - 20).attr('y', height - 12).attr('text-anchor', 'end').text(x.name);
  svg.append('text').attr('x', 78).attr('y', 24).text(y.name);
  const isFront = new Set(front);
  svg.append('path').attr('class', 'steps').attr('d', d3.svg.line().x((p) => across(x.at(p))).y((p) => up(y.at(p)))(front));
  const placed = points.filter((p) => isNumber(x.at(p)) && isNumber(y.at(p)));
  const dots = svg.selectAll('circle').data(placed.sort((a, b) => isFront.has(a) - isFront.has(b))).enter().append('circle')
    .attr('class', (p) => (isFront.has(p) ? 'dot front' : 'dot')).attr('r', (p) => (isFront.has(p) ? 5 : 3.5))
    .attr('cx', (p) => across(x.at(p))).attr('cy', (p) => up(y.at(p)))
    .attr('tabindex', (p) => (isFront.has(p) ? 0 : null)).attr('role', (p) => (isFront.has(p) ? 'button' : null))
    .attr('aria-label', (p) => (isFront.has(p) ? describe(p) : null));
  dots.on('mouseenter', (p) => tell(told, p)).on('focus', (p) => tell(told, p)).on('click', (p) => tell(told, p));
  dots.append('title').text(describe);
}

function drawParallel(box) {
  const points = visible();
  const height = 350;
  const all = columns.filter((column) => column.texts.length > 1);
  const svg = canvas(box, height, 'Parallel coordinates: a line for each of ' + points.length + ' points through ' + all.map((c) => c.name).join(', '));
  const place = d3.scale.ordinal().domain(d3.range(all.length)).rangePoints([70, kWidth - 60]);
  const gap = all.length > 1 ? place(1) - place(0) : kWidth;
  const scales = all.map((column) => scaleOf(column, done, [height - 80, 30]));
  const front = new Set(frontOf(points));
  const path = (point) => d3.svg.line().defined((d) => d[1] !== null)(all.map((column, i) => {
    const at = column.at(point);
    return [place(i), isNumber(at) ? scales[i](at) : null];
  }));
  svg.selectAll('path.line').data(points.slice().sort((a, b) => front.has(a) - front.has(b))).enter().append('path')
    .attr('class', (p) => (front.has(p) ? 'line front' : 'line')).attr('d', path);
  all.forEach((column, i) => {
    const axis = svg.append('g').attr('class', 'axis').attr('transform', 'translate(' + place(i) + ',0)').call(axisOf(column, scales[i], 'left'));
    // Names stand in lines one below the other: each has the room up to its neighbours in its own line.
    const room = Math.floor(kNameLines * gap / kLetter) - 1;
    const short = column.name.length > room ? '…' + column.name.slice(1 - room) : column.name;
    // Those at the ends do not go over the edge.
    const half = short.length * kLetter / 2;
    const x = Math.min(kWidth - half, Math.max(half, place(i))) - place(i);
    axis.append('text').attr('class', 'name').attr('x', x).attr('y', height - 54 + 17 * (i % kNameLines)).attr('text-anchor', 'middle').text(short).append('title').text(column.name);
    // Values of a column are to the left of its axis, up to the one before.
    const longest = Math.max(4, Math.floor((i === 0 ? 62 : gap - 12) / kLetter));
    axis.selectAll('.tick text').each(function shorten() {
      const text = this.textContent;
      if (text.length > longest) d3.select(this).text(text.slice(0, longest - 1) + '…').append('title').text(text);
    });
  });
}

function drawHeat(box, names) {
  const across = columnOf(names.across);
  const down = columnOf(names.down);
  const metric = columnOf(names.metric);
  const cells = new Map();
  visible().forEach((point) => {
    if (!isNumber(metric.at(point))) return;
    const key = across.texts.indexOf(across.text(point)) + ' ' + down.texts.indexOf(down.text(point));
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(metric.at(point));
  });
  const data = [...cells].map(([key, values]) => ({x: Number(key.split(' ')[0]), y: Number(key.split(' ')[1]), mean: d3.mean(values), count: values.length}));
  const left = 130;
  const row = 30;
  const height = 60 + row * down.texts.length;
  const width = (kWidth - left - 10) / across.texts.length;
  const svg = canvas(box, height, 'Mean of ' + metric.name + ' by ' + across.name + ' and ' + down.name);
  const extent = d3.extent(data, (d) => d.mean);
  // Light to dark on either page: the figure in each cell says the same.
  const shade = d3.scale.linear().domain(extent[0] === extent[1] ? [extent[0] - 1, extent[1]] : extent).range(['#eaf1fa', '#4a78b5']).clamp(true);
  const groups = svg.selectAll('g.cell').data(data).enter().append('g').attr('class', 'part cell');
  groups.append('rect').attr('x', (d) => left + d.x * width).attr('y', (d) => 10 + d.y * row).attr('width', width).attr('height', row)
    .style('fill', (d) => shade(d.mean));
  if (width > 44) {
    groups.append('text').attr('x', (d) => left + (d.x + 0.5) * width).attr('y', (d) => 10 + d.y * row + 19)
      .style('fill', (d) => (d3.hsl(shade(d.mean)).l > 0.55 ? '#101418' : '#ffffff')).text((d) => digits(d.mean));
  }
  groups.append('title').text((d) => across.texts[d.x] + ', ' + down.texts[d.y] + ': ' + digits(d.mean) + ', ' + d.count + ' points');
  down.texts.forEach((text, i) => svg.append('text').attr('x', left - 8).attr('y', 10 + i * row + 19).attr('text-anchor', 'end').text(text.slice(-18)));
  const every = Math.ceil(across.texts.length * 60 / kWidth);
  across.texts.forEach((text, i) => {
    if (i % every === 0) svg.append('text').attr('x', left + (i + 0.5) * width).attr('y', height - 30).attr('text-anchor', 'middle').text(text.slice(-14));
  });
  svg.append('text').attr('x', kWidth - 10).attr('y', height - 8).attr('text-anchor', 'end').text(across.name);
  svg.append('text').attr('x', 4).attr('y', height - 8).text(down.name);
}
