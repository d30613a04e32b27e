// What was set, and what made the report.

/** Values by path; those that are not defaults first, which is what a reader looks for. */
section('settings', 'Configuration', () => {
  const values = results.config && isObject(results.config.values) ? results.config.values : {};
  const rows = Object.entries(values).map(([path, value]) => (isObject(value) && 'value' in value
    ? {path, value: value.value, source: value.source} : {path, value, source: ''}));
  const content = [];
  const idle = Array.isArray(summary.without_effect) ? summary.without_effect : [];
  if (idle.length > 0) {
    content.push(element('h3', {}, 'Settings without effect'), element('ul', {}, idle.map((each) =>
      element('li', {}, isObject(each) ? each.field + ': ' + each.because : String(each)))));
  }
  if (rows.length > 0) {
    const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
    content.push(element('details', {},
      element('summary', {}, 'All ' + count(rows.length) + ' values, with where they come from'),
      ...sortable('settings-table', 'Values of the platform', [
        {title: 'Field', value: (row) => row.path},
        {title: 'Value', value: (row) => text(row.value)},
        {title: 'Source', value: (row) => String(row.source)},
      ], rows, 0)));
  }
  return content;
});

const weft = isObject(summary.weft) ? summary.weft : {};
const simulator = isObject(summary.simulator) ? summary.simulator : {};
document.getElementById('origin').append(element('p', {},
  'Weft ' + [weft.version, weft.commit].filter(Boolean).join(', ') + '. ' +
  (isNumber(simulator.events) ? count(simulator.events) + ' events in ' + time(simulator.wall_s * 1e6) + ', digest ' +
    simulator.digest + '. ' : '') + (summary.file ? 'Platform: ' + summary.file + '. ' : '') +
  'Charts are drawn by D3 (BSD licence, within this file).'));
