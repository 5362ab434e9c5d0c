/* What the pages do with script; without it tables are whole, and sort and filter through links and a form. */
'use strict';

document.documentElement.classList.add('script');

/* ------------------------------------------------------------------------------------------ tables */

const number = text => { const n = parseFloat(text); return text !== '' && !Number.isNaN(n) ? n : null; };
const valueOf = cell => cell.dataset.sort ?? cell.querySelector('[title]')?.title ?? cell.querySelector('progress')?.value ??
  cell.textContent.trim();

/* Numbers before texts before nothing, whichever way; equal ones stay as they are. */
function compareCells(a, b, sign) {
  const x = String(valueOf(a)), y = String(valueOf(b)), m = number(x), n = number(y);
  const kind = (text, value) => text === '' ? 2 : value === null ? 1 : 0;
  if (kind(x, m) !== kind(y, n)) return kind(x, m) - kind(y, n);
  if (x === '') return 0;
  return sign * (m !== null && n !== null ? m - n : x.localeCompare(y));
}

function sortTable(table, column, down) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, i) => [row, i]);
  rows.sort((a, b) => compareCells(a[0].cells[column], b[0].cells[column], down ? -1 : 1) || a[1] - b[1]);
  body.append(...rows.map(row => row[0]));
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    if (i === column) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  });
  table.dataset.order = JSON.stringify([column, down]);
}

document.addEventListener('click', event => {
  const head = event.target.closest('table.sortable thead th');
  if (!head || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  sortTable(head.closest('table'), head.cellIndex, head.getAttribute('aria-sort') === 'ascending');
});

const filter = document.getElementById('filter');

function applyFilter() {
  const table = document.getElementById('table');
  if (!filter || !table) return;
  const words = filter.value.toLowerCase().split(/\s+/).filter(word => word);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every(word => text.includes(word));
    shown += !row.hidden;
  }
  document.getElementById('count').textContent = words.length ? `${shown} of ${table.tBodies[0].rows.length}` : '';
}

if (filter) {
  filter.addEventListener('input', applyFilter);
  filter.form.addEventListener('submit', event => event.preventDefault());
  applyFilter();
}

document.addEventListener('keydown', event => {
  const typing = event.target.closest('input, select, textarea');
  if (event.key === '/' && filter && !typing) {
    event.preventDefault();
    filter.focus();
  } else if (event.key === 'Escape' && event.target === filter) {
    filter.value = '';
    applyFilter();
    filter.blur();
  }
});

addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => { d.open = true; }));

/* ------------------------------------------------------------------------------------------ news */

const live = document.getElementById('live');
const listeners = []; /* called when the data have changed */
let busy = false, again = false;

/* The parts of this page that change, from a fresh copy of it. What was opened, sorted and filtered stays so. */
async function refresh() {
  const parts = [...document.querySelectorAll('[id^=fresh]')];
  if (!parts.length) return;
  const reply = await fetch(location.pathname + location.search, { headers: { Accept: 'text/html' } });
  if (!reply.ok) return;
  const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
  for (const part of parts) {
    const other = page.getElementById(part.id);
    if (!other || other.innerHTML === part.innerHTML) continue;
    const order = part.querySelector('table.sortable')?.dataset.order;
    const scrolled = part.querySelector('.scroll.tall')?.scrollTop;
    part.replaceChildren(...other.childNodes);
    if (order) sortTable(part.querySelector('table.sortable'), ...JSON.parse(order));
    if (scrolled) part.querySelector('.scroll.tall').scrollTop = scrolled;
  }
  applyFilter();
}

/* One at a time: a page that takes long to make is not asked for again before it is there. */
async function onChange() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    await Promise.all([refresh(), ...listeners.map(listener => listener())]);
    document.body.dataset.changes = String(1 + Number(document.body.dataset.changes || 0));
  } catch (error) {
    live.textContent = 'not reached';
  }
  busy = false;
  if (again) { again = false; setTimeout(onChange, 500); }
}

let source = null;

/* A hidden page lets go of its connection: a browser has six for all windows of a site. */
function listen() {
  if (document.hidden) {
    source?.close();
    source = null;
  } else if (!source && live) {
    source = new EventSource('/events');
    source.onopen = () => { live.textContent = 'live'; };
    source.onerror = () => { live.textContent = 'not reached; trying again'; };
    source.addEventListener('change', onChange);
  }
}

document.addEventListener('visibilitychange', listen);
listen();
