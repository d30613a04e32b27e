// Tables: with bars, and with columns to sort by.

/** What is wider than the page scrolls by itself; the keyboard reaches it, too. */
function scrolling(label, content, kind) {
  return element('div', {class: 'scroll ' + (kind || ''), role: 'region', 'aria-label': label, tabindex: 0}, content);
}

/** Its words stay in view where the table is wider than the page. */
const captionOf = (text) => element('caption', {}, element('span', {}, text));

/** rows: {name, value, colour}. Bars are shares of `whole`, or of the largest. */
function barTable(caption, rows, format, whole) {
  const largest = Math.max(...rows.map((row) => row.value), 0);
  const full = whole || largest || 1;
  return element('table', {},
    captionOf(caption),
    element('thead', {}, element('tr', {},
      element('th', {scope: 'col'}, 'Part'), element('th', {scope: 'col', class: 'number'}, 'Value'),
      whole ? element('th', {scope: 'col', class: 'number'}, 'Share') : null,
      element('td', {'aria-hidden': 'true'}))),
    element('tbody', {}, rows.map((row) => {
      const bar = element('span', {class: 'fill c-' + (row.colour || 'other')});
      if (row.value > 0) bar.style.minWidth = '1px';
      bar.style.width = Math.max(0, Math.min(100, 100 * row.value / (whole ? Math.max(full, largest) : full))) + '%';
      return element('tr', {},
        element('th', {scope: 'row'}, row.name),
        element('td', {class: 'number'}, format(row.value)),
        whole ? element('td', {class: 'number'}, percent(row.value / full)) : null,
        element('td', {class: 'bar', 'aria-hidden': 'true'}, bar));
    })));
}

/** One bar of parts beside each other. */
function stack(label, rows, format) {
  const bar = element('div', {class: 'stack', role: 'img',
    'aria-label': label + ': ' + rows.map((row) => row.name + ' ' + format(row.value)).join(', ')});
  rows.filter((row) => row.value > 0).forEach((row) => {
    const part = element('span', {class: 'fill c-' + (row.colour || 'other'), title: row.name + ', ' + format(row.value)});
    part.style.flexGrow = String(row.value);
    part.style.flexBasis = '0';
    bar.append(part);
  });
  return bar;
}

const kShown = 20;  // rows, until all are asked for

/**
 * columns: {title, value(row), text(row)?, number?}. The first names its row. Sorted by `by`, largest first if it is a
 * number; a field to search in where there is much.
 */
function sortable(id, caption, columns, rows, by) {
  let order = {column: by, down: Boolean(columns[by].number)};
  let all = false;
  let wanted = '';
  const body = element('tbody', {});
  const told = element('span', {'aria-live': 'polite'});
  const more = element('button', {type: 'button', class: 'press', hidden: ''});
  const text = (column, row) => (column.text ? column.text(row) : String(column.value(row)));
  const headers = columns.map((column, index) => {
    const button = element('button', {type: 'button'}, column.title);
    button.addEventListener('click', () => {
      order = {column: index, down: order.column === index ? !order.down : Boolean(column.number)};
      show();
    });
    return element('th', {scope: 'col', class: column.number ? 'number' : null}, button);
  });

  function compare(a, b) {
    const column = columns[order.column];
    const [one, other] = [column.value(a), column.value(b)];
    const less = column.number ? (isNumber(one) ? one : -Infinity) - (isNumber(other) ? other : -Infinity)
      : String(one).localeCompare(String(other), 'en', {numeric: true});
    return order.down ? -less : less;
  }
  function show() {
    headers.forEach((header, index) => {
      if (index !== order.column) header.removeAttribute('aria-sort');
      else header.setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
    });
    const found = rows.filter((row) => wanted === '' ||
      columns.some((column) => text(column, row).toLowerCase().includes(wanted)));
    found.sort(compare);
    const shown = all ? found : found.slice(0, kShown);
    body.replaceChildren(...shown.map((row) => element('tr', {}, columns.map((column, index) =>
      element(index === 0 ? 'th' : 'td', {scope: index === 0 ? 'row' : null, class: column.number ? 'number' : null},
        text(column, row))))));
    told.textContent = shown.length < rows.length ? count(shown.length) + ' of ' + count(rows.length) + ' rows' : '';
    more.hidden = found.length <= kShown;
    more.textContent = all ? 'Show fewer' : 'Show all ' + count(found.length);
  }
  more.addEventListener('click', () => {
    all = !all;
    show();
  });

  const controls = element('div', {class: 'controls'});
  if (rows.length > kShown) {
    const search = element('input', {type: 'search', id: id + '-search'});
    search.addEventListener('input', () => {
      wanted = search.value.trim().toLowerCase();
      show();
    });
    controls.append(element('label', {for: id + '-search'}, 'Search'), search, more, told);
  }
  show();
  return [controls, scrolling(caption, element('table', {id},
    captionOf(caption), element('thead', {}, element('tr', {}, headers)), body))];
}
