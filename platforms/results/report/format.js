// Figures, and elements. Text goes into the page as text alone: names in results are a user's.
const results = JSON.parse(document.getElementById('results').textContent);
const summary = results.summary;

/** element('p', {class: 'note'}, 'text', child, ...); null children are left out. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  Object.entries(attributes || {}).forEach(([key, value]) => {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  });
  children.flat().forEach((child) => {
    if (child !== null && child !== undefined) made.append(child);
  });
  return made;
}

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const has = (value) => value !== null && value !== undefined &&
  (typeof value !== 'object' || Object.keys(value).length > 0);

/** With four digits, as Weft prints figures. */
function digits(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace('e+', 'e');
  if (size >= 1000) return value.toLocaleString('en-US', {maximumFractionDigits: 0});
  return String(Number(value.toPrecision(4)));
}

function withUnit(value, units, step) {
  if (!isNumber(value)) return '';
  let at = 0;
  let scaled = value;
  while (Math.abs(scaled) >= step && at + 1 < units.length) {
    scaled /= step;
    at += 1;
  }
  return digits(scaled) + ' ' + units[at];
}

const count = (value) => (isNumber(value) ? value.toLocaleString('en-US', {maximumFractionDigits: 0}) : '');
const percent = (share) => (isNumber(share) ? (100 * share).toFixed(Math.abs(share) < 0.0995 ? 2 : 1) + ' %' : '');
const bytes = (value) => withUnit(value, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'], 1024);
const joules = (value) => (isNumber(value) && value < 1 && value > 0 ? digits(value * 1e3) + ' mJ'
  : withUnit(value, ['J', 'kJ', 'MJ', 'GJ'], 1000));
const watts = (value) => withUnit(value, ['W', 'kW', 'MW'], 1000);
const rate = (value) => withUnit(value, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s', 'PB/s'], 1000);
const operations = (value) => withUnit(value, ['FLOPS', 'kFLOPS', 'MFLOPS', 'GFLOPS', 'TFLOPS', 'PFLOPS'], 1000);
/** Of microseconds. */
function time(us) {
  if (!isNumber(us)) return '';
  return withUnit(us * 1e6, ['ps', 'ns', 'us', 'ms'], 1000).replace(/^([\d,.]+) ms$/, (whole, number) => {
    const ms = us / 1e3;
    return ms >= 1000 ? digits(ms / 1e3) + ' s' : whole;
  });
}
const words = (key) => key.replace(/_(us|j|bytes)$/, '').replace(/_/g, ' ');

/** What a colour stands for, in the order of legends. */
const meanings = {
  computing: 'computing',
  memory: 'memory',
  network: 'network and collectives',
  copying: 'copies and host links',
  control: 'launches and firmware',
  waiting: 'not computing',
  other: 'other',
};
function legend(used) {
  return element('ul', {class: 'legend', 'aria-label': 'Colours'},
    Object.keys(meanings).filter((key) => used.has(key)).map((key) =>
      element('li', {}, element('span', {class: 'swatch c-' + key}), meanings[key])));
}

/** Sections in their order; `fill` returns nodes, or nothing if the results have nothing for it. */
function section(id, title, fill) {
  const content = fill();
  if (!content || content.length === 0) return;
  document.getElementById('report').append(
    element('section', {id, 'aria-labelledby': id + '-title'},
      element('h2', {id: id + '-title'}, title), content));
  document.getElementById('contents').append(element('li', {}, element('a', {href: '#' + id}, title)));
}

// Kinds of pieces of a critical path: their colours. Words for them are those of weft why, which come with the results.
const colours = {
  kernel: 'computing', cap: 'computing', 'lost cores': 'computing',
  memory: 'memory', 'remote memory': 'memory',
  copy: 'copying', 'host link': 'copying', 'read latency': 'copying', 'write latency': 'copying', 'network interface': 'copying',
  injection: 'network', serialisation: 'network', queue: 'network', credit: 'network', pipeline: 'network',
  group: 'network', reduction: 'network', propagation: 'network',
  recovery: 'waiting',
  launch: 'control', firmware: 'control', software: 'control', host: 'control',
};
const colourOfKind = (kind) => colours[kind] || 'other';
const wordsByNetwork = isObject(results.words) ? results.words : {};
function wordsOfPiece(piece) {
  const words = wordsByNetwork[piece.network || ''];
  return isObject(words) && typeof words[piece.kind] === 'string' ? words[piece.kind] : String(piece.kind);
}
