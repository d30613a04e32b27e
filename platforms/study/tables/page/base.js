// What the page is made of: elements, figures, and which points are shown.
const study = JSON.parse(document.getElementById('results').textContent);
const done = study.points.filter((point) => point.done);

/** element('p', {class: 'note'}, 'text', child, ...); null children are left out. Text goes in as text alone. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  Object.entries(attributes || {}).forEach(([key, value]) => {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  });
  children.flat(Infinity).forEach((child) => {
    if (child !== null && child !== undefined) made.append(child);
  });
  return made;
}

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
function digits(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace('e+', 'e');
  if (size >= 1000) return value.toLocaleString('en-US', {maximumFractionDigits: 0});
  return String(Number(value.toPrecision(4)));
}
const shown = (value) => (value === null || value === undefined ? '' : isNumber(value) ? digits(value)
  : typeof value === 'string' ? value : JSON.stringify(value));

/** A place of a chart: a parameter or a metric, its numbers, or its texts in order. */
function makeColumn(name, isMetric) {
  const of = (point) => (isMetric ? point.metrics[name] : point.values[name]);
  const number = (point) => (isMetric ? point.metrics[name] : point.numbers[name]);
  const isNumeric = done.every((point) => isNumber(number(point)) || of(point) === null || of(point) === undefined);
  const texts = [...new Set(done.map((point) => shown(of(point))))];
  if (isNumeric) {
    const order = new Map(done.map((point) => [shown(of(point)), number(point)]));
    texts.sort((a, b) => order.get(a) - order.get(b));
  } else {
    texts.sort();
  }
  const at = (point) => (isNumeric ? number(point) : texts.indexOf(shown(of(point))));
  return {name, isMetric, isNumeric, texts, of, at, text: (point) => shown(of(point))};
}
const parameters = study.parameters.map((name) => makeColumn(name, false));
const metrics = study.metrics.map((name) => makeColumn(name, true)).filter((column) => column.isNumeric);
const columns = [...parameters, ...metrics];
const columnOf = (name) => columns.find((column) => column.name === name);

/** Filters, goals and what is to be drawn again when they change. */
const state = {filters: {}, x: null, y: null, xMost: false, yMost: false};
/** Which end of a column is better: of rates the largest. */
const isLargestBest = (name) => study.largest.includes(name);
/** Steps of successive halving tell of different things: one is shown at a time, at first the last. */
const kStep = 'fidelity';
const redraws = [];
const redraw = () => redraws.forEach((draw) => draw());
const visible = () => done.filter((point) => Object.entries(state.filters)
  .every(([name, text]) => text === '' || columnOf(name).text(point) === text));

/** Points than which none is better in one of two metrics and no worse in the other, from left to right. */
function frontOf(points) {
  const x = columnOf(state.x);
  const y = columnOf(state.y);
  const cost = (column, most) => (point) => (most ? -1 : 1) * column.at(point);
  const one = cost(x, state.xMost);
  const other = cost(y, state.yMost);
  const sorted = points.filter((point) => point.fit && isNumber(x.at(point)) && isNumber(y.at(point)))
    .sort((a, b) => one(a) - one(b) || other(a) - other(b));
  let least = Infinity;
  return sorted.filter((point) => {
    if (other(point) >= least) return false;
    least = other(point);
    return true;
  }).sort((a, b) => x.at(a) - x.at(b));
}

function section(id, title, ...children) {
  const made = element('section', {id, 'aria-labelledby': id + '-title'}, element('h2', {id: id + '-title'}, title), children);
  document.getElementById('study').append(made);
  document.getElementById('contents').append(element('li', {}, element('a', {href: '#' + id}, title)));
  return made;
}

/** A choice with a label; `change` gets the value. */
function choice(label, names, chosen, change) {
  const select = element('select', {'aria-label': label}, names.map(([value, text]) =>
    element('option', {value, selected: value === chosen ? '' : null}, text)));
  select.addEventListener('change', () => {
    change(select.value);
    redraw();
  });
  return element('label', {}, label, select);
}

function table(id, caption, heads, rows) {
  const body = element('tbody');
  let sorted = null;
  const fill = () => {
    body.replaceChildren(...rows.map((row) => element('tr', {}, row.map((cell, i) => {
      const text = typeof cell === 'object' && cell !== null ? cell : shown(cell);
      return i === 0 ? element('th', {scope: 'row'}, text) : element('td', {class: isNumber(cell) ? 'number' : null}, text);
    }))));
  };
  const head = element('tr', {}, heads.map((name, i) => {
    const button = element('button', {type: 'button'}, name);
    const th = element('th', {scope: 'col', class: rows.length > 0 && isNumber(rows[0][i]) ? 'number' : null}, button);
    button.addEventListener('click', () => {
      const up = !(sorted && sorted.i === i && sorted.up);
      sorted = {i, up};
      const key = (row) => (isNumber(row[i]) ? row[i] : shown(row[i]));
      rows.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (up ? 1 : -1));
      head.querySelectorAll('th').forEach((each) => each.removeAttribute('aria-sort'));
      th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      fill();
    });
    return th;
  }));
  fill();
  return element('div', {class: 'scroll', role: 'region', tabindex: '0', 'aria-label': caption},
    element('table', {id}, element('caption', {}, element('span', {}, caption)), element('thead', {}, head), body));
}
