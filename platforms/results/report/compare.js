// Another run beside this one, where weft report was given two.

function compared() {
  const other = results.other;
  const mine = [...figures(summary), ...stepRows(summary).map((row) => [row.name, row.value, time])];
  const theirs = new Map([...figures(other.summary), ...stepRows(other.summary).map((row) => [row.name, row.value])]
    .map(([name, value]) => [name, value]));
  const rows = mine.filter(([name]) => theirs.has(name))
    .map(([name, value, format]) => ({name, value, format, other: theirs.get(name)}));
  const change = (row) => (row.value === 0 ? null : (row.other - row.value) / row.value);
  const signed = (share) => (share === null ? '' : (share > 0 ? '+' : '') + percent(share));
  return sortable('compared-table', 'Figures of both runs, with the change from this one to the other', [
    {title: 'Figure', value: (row) => row.name},
    {title: 'This run', number: true, value: (row) => row.value, text: (row) => row.format(row.value)},
    {title: 'The other', number: true, value: (row) => row.other, text: (row) => row.format(row.other)},
    {title: 'Change', number: true, value: (row) => Math.abs(change(row)), text: (row) => signed(change(row))},
  ], rows, 3);
}

/** Where the critical paths differ: time by kind. Nothing where one run has none. */
function changedPath() {
  const sums = (why) => d3.nest().key((piece) => piece.kind).rollup((some) => d3.sum(some, (piece) => piece.ps) / 1e6)
    .map(why.pieces, d3.map);
  const has = (why) => isObject(why) && Array.isArray(why.pieces) && why.pieces.every((piece) => isNumber(piece.ps));
  if (!has(results.why) || !has(results.other.why)) return [];
  const [mine, theirs] = [sums(results.why), sums(results.other.why)];
  const rows = d3.set([...mine.keys(), ...theirs.keys()]).values()
    .map((kind) => ({kind, value: mine.get(kind) || 0, other: theirs.get(kind) || 0}));
  const signed = (value) => (value > 0 ? '+' : value < 0 ? '-' : '') + time(Math.abs(value));
  return [element('h3', {}, 'Critical paths'), ...sortable('changed-path', 'What both critical paths go to; the changes add up', [
    {title: 'What', value: (row) => wordsOfKind(row.kind)},
    {title: 'This run', number: true, value: (row) => row.value, text: (row) => time(row.value)},
    {title: 'The other', number: true, value: (row) => row.other, text: (row) => time(row.other)},
    {title: 'Change', number: true, value: (row) => Math.abs(row.other - row.value), text: (row) => signed(row.other - row.value)},
  ], rows, 3)];
}

/** Both over time, one below the other on the same axes. */
function bothOverTime() {
  const both = [timesOf(results.over_time), timesOf(results.other.over_time)];
  if (both.includes(null)) return [];
  const mosts = new Map();
  both.forEach(({curves}) => curves.forEach(({key, most}) => mosts.set(key, Math.max(most, mosts.get(key) || 0))));
  const scale = {until: d3.max(both, ({ends}) => ends[ends.length - 1]), mosts};
  return [element('h3', {}, 'This run over time'), timeChart({...both[0], strips: []}, scale),
    element('h3', {}, 'The other over time'), timeChart({...both[1], strips: []}, scale)];
}

function changedSettings() {
  const text = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));
  const valuesOf = (config) => (config && isObject(config.values) ? config.values : {});
  const valueAt = (values, path) => (isObject(values[path]) ? values[path].value : values[path]);
  const [mine, theirs] = [valuesOf(results.config), valuesOf(results.other.config)];
  const paths = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])]
    .filter((path) => text(valueAt(mine, path)) !== text(valueAt(theirs, path)));
  if (paths.length === 0) return [element('p', {}, 'Both have the same configuration.')];
  return [element('h3', {}, 'Settings'), ...sortable('changed-table', 'Settings that differ', [
    {title: 'Field', value: (path) => path},
    {title: 'This run', value: (path) => text(valueAt(mine, path))},
    {title: 'The other', value: (path) => text(valueAt(theirs, path))},
  ], paths, 0)];
}

if (isObject(results.other) && isObject(results.other.summary)) {
  section('compared', 'Beside another run', () => [
    element('p', {}, 'The other run is ' + results.other.folder + ', of ' + results.other.summary.platform + '.'),
    ...compared(), ...changedPath(), ...bothOverTime(), ...changedSettings(),
  ]);
}
