// Runs at the end of a report in a browser and leaves what is wrong with the page, a line each, in #verdict: what people
// who use a keyboard, a screen reader or a phone would meet.
(function () {
'use strict';
const wrong = [];
const expect = (holds, what) => { if (!holds) wrong.push(what); };
const all = (selector) => [...document.querySelectorAll(selector)];
const short = (node) => node.outerHTML.slice(0, 90);

function nameOf(node) {
  const by = node.getAttribute('aria-labelledby');
  if (by) return by.split(' ').map((id) => (document.getElementById(id) || {textContent: ''}).textContent).join(' ').trim();
  if (node.getAttribute('aria-label')) return node.getAttribute('aria-label').trim();
  if (node.labels && node.labels.length > 0) return node.labels[0].textContent.trim();
  return (node.getAttribute('alt') || node.textContent || '').trim();
}

function checkNames() {
  all('img').forEach((image) => expect(image.alt !== '' && image.naturalWidth > 0, 'no alt text, or no picture: ' + short(image)));
  all('button, input, a, summary, [role=img], [role=region], [role=group], [role=button], nav, section').forEach((node) => {
    if (!node.hidden) expect(nameOf(node) !== '', 'no name: ' + short(node));
  });
  all('input').forEach((input) => expect(input.labels.length === 1, 'no label: ' + short(input)));
  all('table').forEach((table) => expect(table.caption && table.caption.textContent !== '', 'no caption: ' + short(table)));
  all('thead th').forEach((header) => expect(header.scope === 'col', 'no scope: ' + short(header)));
  const ids = all('[id]').map((node) => node.id);
  expect(new Set(ids).size === ids.length, 'an id stands twice');
}

function checkLandmarks() {
  expect(document.documentElement.lang === 'en', 'no language');
  expect(document.title !== '', 'no title');
  ['header', 'nav', 'main', 'footer', 'h1'].forEach((name) => expect(all(name).length === 1, 'not one ' + name));
  let level = 0;
  all('h1, h2, h3, h4').forEach((heading) => {
    const own = Number(heading.tagName[1]);
    expect(own <= level + 1, 'a level is left out before: ' + short(heading));
    level = own;
  });
  all('nav a').forEach((link) => expect(document.querySelector(link.getAttribute('href')), 'leads nowhere: ' + short(link)));
  all('[tabindex]').forEach((node) => expect(node.tabIndex <= 0, 'turns the order of the keyboard: ' + short(node)));
}

const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
function rgba(colour) {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}
function luminance(colour) {
  const [r, g, b] = colour.slice(0, 3).map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function backgroundOf(node) {
  const beside = node.parentElement.matches('g.part') && node.previousElementSibling;
  if (beside && beside.tagName === 'rect') return rgba(getComputedStyle(beside).fill);
  for (let each = node; each; each = each.parentElement) {
    const colour = rgba(getComputedStyle(each).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255, 255];
}

/** WCAG 2: 4.5, or 3 for large letters. */
function checkContrast() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (text.data.trim() === '' || seen.has(node) || /^(SCRIPT|STYLE|NOSCRIPT)$/.test(node.tagName)) continue;
    seen.add(node);
    const style = getComputedStyle(node);
    if (node.getClientRects().length === 0 || style.visibility === 'hidden') continue;
    const ink = luminance(rgba(node instanceof SVGElement ? style.fill : style.color));
    const paper = luminance(backgroundOf(node));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    const least = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
    expect(contrast >= least, 'contrast ' + contrast.toFixed(2) + ': ' + short(node));
  }
  expect(seen.size > 50, 'hardly any text was looked at: ' + seen.size);
}

/** As Enter on a focused button does. */
function checkTables() {
  const table = document.getElementById('links-table');
  expect(table, 'no table of links');
  if (!table) return;
  const button = table.querySelector('th button');
  const first = () => table.querySelector('tbody th').textContent;
  button.focus();
  expect(document.activeElement === button, 'a header takes no focus');
  button.click();
  expect(button.parentElement.getAttribute('aria-sort') === 'ascending', 'not sorted, or not said so');
  const ascending = first();
  button.click();
  expect(button.parentElement.getAttribute('aria-sort') === 'descending', 'not sorted the other way');
  expect(first() !== ascending, 'the first row stays when the order turns');
  const settings = document.querySelector('details');
  settings.open = true;
  const search = document.getElementById('settings-table-search');
  search.value = 'accelerator.hbm.rate';
  search.dispatchEvent(new Event('input'));
  expect(document.querySelectorAll('#settings-table tbody tr').length === 1, 'search finds other than one field');
}

/** What weft why says of links and of pieces is here, and where no one has to look for it. */
function checkPath() {
  const shown = JSON.parse(document.getElementById('results').textContent);
  const links = document.getElementById('links-table');
  const titles = [...links.querySelectorAll('thead th')].map((header) => header.textContent);
  expect(titles[1] === 'On the path', 'no column of the path among links: ' + titles);
  const shares = [...links.querySelectorAll('tbody tr')].map((row) => row.children[1].textContent);
  expect(shares[0] !== '', 'no link is on the path');
  expect(shares.every((share, index) => index === 0 || (parseFloat(share) || 0) <= (parseFloat(shares[index - 1]) || 0)),
    'links are not sorted by their share of the path: ' + shares);
  const worst = Object.entries(shown.on_path).sort((a, b) => b[1] - a[1])[0][0];
  expect(links.querySelector('tbody th').textContent === worst, 'the worst link is not the first: ' + worst);
  const pieces = document.getElementById('path-table');
  const region = pieces.closest('.scroll').getBoundingClientRect();
  const share = [...pieces.querySelectorAll('thead th')].find((header) => header.textContent === 'Share');
  expect(share && share.getBoundingClientRect().right <= region.right, 'the share of pieces is not in view');
  if (region.width >= 440) {
    all('#path .scroll').forEach((each) => expect(each.scrollWidth <= each.clientWidth, 'cut off: ' + short(each)));
  }
  const words = new Set(Object.values(shown.words).flatMap((kinds) => Object.values(kinds)));
  [...pieces.querySelectorAll('tbody tr')].map((row) => row.children[3].textContent.replace(/ \([^)]*\)$/, ''))
    .forEach((what) => expect(words.has(what), 'not a word of weft why: ' + what));
}

function press(key) {
  document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
}
function checkFlame() {
  const stops = all('#path g.part[tabindex="0"]');
  expect(stops.length === 1, 'the critical path has not one stop of the tab key but ' + stops.length);
  if (stops.length !== 1) return;
  stops[0].focus();
  const whole = document.activeElement.getAttribute('aria-label');
  press('ArrowDown');
  const part = document.activeElement.getAttribute('aria-label');
  expect(part && part !== whole, 'the arrow goes nowhere');
  expect(document.querySelector('#path .told').textContent === part, 'what has the focus is not told');
  press('Enter');
  expect(document.querySelector('#path figure button').hidden === false, 'a part is not shown alone');
  press('Escape');
  expect(document.querySelector('#path figure button').hidden, 'Escape does not lead back');
}

window.addEventListener('load', () => setTimeout(() => {
  try {
    const width = document.documentElement.clientWidth;
    expect(document.documentElement.scrollWidth <= width, 'wider than the window of ' + width);
    checkNames();
    checkLandmarks();
    checkContrast();
    checkPath();
    checkTables();
    checkFlame();
  } catch (error) {
    wrong.push('stopped: ' + error.stack);
  }
  const verdict = document.createElement('pre');
  verdict.id = 'verdict';
  verdict.dataset.sections = all('main > section').map((section) => section.id).join(' ');
  verdict.dataset.dark = matchMedia('(prefers-color-scheme: dark)').matches;
  verdict.dataset.width = document.documentElement.clientWidth;
  verdict.textContent = ['checked', ...wrong].join('\n');
  document.body.append(verdict);
  parent.postMessage(verdict.outerHTML, '*');  // to a page that has this one in a frame as narrow as a phone
}, 200));
}());
