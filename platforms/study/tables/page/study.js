// The sections of the page.
function addOverview() {
  const failed = study.points.length - done.length;
  section('overview', 'Overview', element('dl', {class: 'tiles'},
    [['points', done.length], ['failed', failed], ...metrics.slice(0, 6).map((metric) => [metric.name + ', least to most',
      d3.extent(done, metric.at).map(digits).join(' to ')])].map(([name, value]) =>
      element('div', {}, element('dt', {}, name), element('dd', {}, shown(value))))),
  study.same === '' ? null : element('p', {class: 'note'}, 'The same at all points: ' + study.same + '.'),
  parameters.length === 0 ? null : element('h3', {}, 'Which points are shown'),
  element('div', {class: 'controls', role: 'group', 'aria-label': 'Filters'}, parameters.filter((column) => column.texts.length <= 40)
    .map((column) => choice(column.name, [...(column.name === kStep ? [] : [['', 'all']]), ...column.texts.map((text) => [text, text])],
      state.filters[column.name] || '', (value) => {
        state.filters[column.name] = value;
      }))));
}

function addFront() {
  const names = columns.map((column) => [column.name, column.name]);
  const ends = [['least', 'least is best'], ['most', 'most is best']];
  const endOfX = choice('which end', ends, state.xMost ? 'most' : 'least', (value) => { state.xMost = value === 'most'; });
  const endOfY = choice('which end ', ends, state.yMost ? 'most' : 'least', (value) => { state.yMost = value === 'most'; });
  const choose = (box, name) => {
    box.querySelector('select').value = isLargestBest(name) ? 'most' : 'least';
    return isLargestBest(name);
  };
  const told = element('p', {class: 'told', 'aria-live': 'polite'}, 'A point of the front has the focus, or any the pointer: it is told of here.');
  const box = element('figure');
  const list = element('div');
  section('front', 'Pareto front', element('div', {class: 'controls', role: 'group', 'aria-label': 'Axes'},
    choice('across', names, state.x, (value) => {
      state.x = value;
      state.xMost = choose(endOfX, value);
    }), endOfX,
    choice('up', names, state.y, (value) => {
      state.y = value;
      state.yMost = choose(endOfY, value);
    }), endOfY),
  element('ul', {class: 'legend'}, element('li', {}, element('span', {class: 'key-of front'}), 'no other point is better in one and no worse in the other'),
    element('li', {}, element('span', {class: 'key-of'}), 'other points')),
  box, told, list);
  redraws.push(() => drawScatter(box, told));
  redraws.push(() => list.replaceChildren(table('front-table', 'Points of the front', ['key', ...columns.map((c) => c.name)],
    frontOf(visible()).map((point) => [point.key.slice(0, 8), ...columns.map((column) => column.of(point))]))));
}

function addParallel() {
  const box = element('figure');
  section('parallel', 'All parameters and metrics', box,
    element('p', {class: 'note'}, 'A line is a point; those of the Pareto front are red. Filters above leave lines out.'));
  redraws.push(() => drawParallel(box));
}

function addHeat() {
  const few = parameters.filter((column) => column.texts.length > 1 && column.texts.length <= 40);
  if (few.length < 2 || metrics.length === 0) return;
  const names = {across: few[0].name, down: few[1].name, metric: metrics[0].name};
  const box = element('figure');
  const list = few.map((column) => [column.name, column.name]);
  section('heat', 'Two parameters', element('div', {class: 'controls', role: 'group', 'aria-label': 'Heat map'},
    choice('columns', list, names.across, (value) => { names.across = value; }),
    choice('rows', list, names.down, (value) => { names.down = value; }),
    choice('mean of', metrics.map((column) => [column.name, column.name]), names.metric, (value) => { names.metric = value; })), box);
  redraws.push(() => drawHeat(box, names));
}

function addSensitivity() {
  const parts = study.sensitivity.filter((each) => each.rows.length > 0);
  if (parts.length === 0) return;
  section('sensitivity', 'What matters', element('p', {}, 'How much a metric changes between two values of a parameter, those where it changes most: the mean over pairs of points that differ in this parameter alone, in parts of the mean of the points compared.'),
    parts.map((each, i) => [element('h3', {}, each.metric), table('sensitivity-' + i, each.metric + ' by parameter', each.columns, each.rows),
      each.notes.map((note) => element('p', {class: 'note'}, note))]));
}

function addPoints() {
  const heads = ['key', ...study.parameters, ...study.metrics];
  const box = element('div');
  section('points', 'Points', box, element('p', {class: 'note'}, 'weft study ' + study.database + ' --point KEY shows one, and the command that simulates it again with its critical path.'));
  redraws.push(() => box.replaceChildren(table('points-table', 'Points that are shown', heads, visible().map((point) =>
    [point.key.slice(0, 8), ...study.parameters.map((name) => point.values[name]), ...study.metrics.map((name) => point.metrics[name])]))));
  const failed = study.points.filter((point) => !point.done);
  if (failed.length === 0) return;
  section('failed', 'Points that failed', table('failed-table', 'Points that failed', ['key', ...study.parameters, 'error'],
    failed.map((point) => [point.key.slice(0, 8), ...study.parameters.map((name) => point.values[name]), point.error])));
}

state.x = (metrics[0] || columns[0] || {name: null}).name;
state.y = (metrics[1] || parameters.find((column) => column.texts.length > 1) || columns[0] || {name: null}).name;
state.xMost = isLargestBest(state.x);
state.yMost = isLargestBest(state.y);
if (columnOf(kStep)) state.filters[kStep] = columnOf(kStep).texts[columnOf(kStep).texts.length - 1];
addOverview();
if (columns.length > 0 && done.length > 0) {
  addFront();
  addParallel();
  addHeat();
}
addSensitivity();
addPoints();
redraw();
document.getElementById('origin').append(study.points.length + ' points of ' + study.database + ', ' + study.version);
