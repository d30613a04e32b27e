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

const comparison = isObject(results.comparison) ? results.comparison : {};
const paragraphs = (texts) => (Array.isArray(texts) ? texts : [texts]).filter(Boolean).map((text) => element('p', {}, text));

/** What the difference goes to, as weft compare tells it. */
function changedParts() {
  const rows = Array.isArray(comparison.parts) ? comparison.parts : [];
  const signed = (value) => (value > 0 ? '+' : value < 0 ? '-' : '') + time(Math.abs(value));
  const hint = paragraphs(comparison.hint);
  if (rows.length === 0 || comparison.by === 'nothing') return hint;
  return [element('h3', {}, 'What the difference is'), ...sortable('changed-parts',
    'By ' + comparison.by + '; the differences add up', [
      {title: 'What', value: (row) => row.part},
      {title: 'This run', number: true, value: (row) => row.before_us, text: (row) => time(row.before_us)},
      {title: 'The other', number: true, value: (row) => row.after_us, text: (row) => time(row.after_us)},
      {title: 'Difference', number: true, value: (row) => Math.abs(row.difference_us), text: (row) => signed(row.difference_us)},
    ], rows, 3), ...hint];
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

/** What differs in what was run, and in the configuration. */
function changedSettings() {
  const rows = Array.isArray(comparison.lines) ? comparison.lines : [];
  if (rows.length === 0) return paragraphs('Both have the same configuration.');
  return [element('h3', {}, 'What differs'), ...sortable('changed-table', 'What was run, and settings', [
    {title: 'What', value: (row) => row[0].trim()},
    {title: 'This run', value: (row) => row[1]},
    {title: 'The other', value: (row) => row[2]},
  ], rows, 0)];
}

if (isObject(results.other) && isObject(results.other.summary)) {
  section('compared', 'Beside another run', () => [
    element('p', {}, 'The other run is ' + results.other.folder + ', of ' + results.other.summary.platform + '.'),
    ...paragraphs(comparison.warnings), ...compared(), ...changedSettings(), ...changedParts(), ...bothOverTime(),
  ]);
}
