/* Curves, drawn by dygraphs from the thinned numbers of /api/curves.json. Names only ever become text. */
'use strict';

const SERIES_POINTS = 120000; /* of all lines together, so that hundreds of runs stay fluid */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8a6fd1', '#a0522d'];
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function shortNumber(value) {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
    if (size >= unit * 10 || (size >= unit && unit > 1e3)) return `${+(value / unit).toPrecision(4)}${letter}`;
  return String(+value.toPrecision(5));
}

function duration(seconds) {
  if (seconds < 60) return `${+seconds.toPrecision(3)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, '0')} min`;
  return `${Math.floor(seconds / 3600)}:${String(Math.floor(seconds % 3600 / 60)).padStart(2, '0')} h`;
}

/* Ours has the values, and does without styles in the text, which the page's policy forbids. */
if (window.Dygraph) Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);

class Curves {
  constructor(section) {
    this.section = section;
    this.form = section.querySelector('form');
    this.chart = section.querySelector('.chart');
    this.said = section.querySelector('.said');
    this.legend = section.querySelector('.legend');
    this.series = new Map();
    this.groups = [];
    this.hidden = new Set();
    this.zoom = null;
    this.recall();
    this.form.addEventListener('submit', event => event.preventDefault());
    this.form.addEventListener('change', event => {
      if (['metric', 'x', 'also', 'logx'].includes(event.target.name)) this.load(true);
      else this.draw();
      this.remember();
    });
    this.form.elements.whole.addEventListener('click', () => { this.zoom = null; this.load(true); });
    this.chart.addEventListener('keydown', event => this.step(event));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    this.load(true);
  }

  value(name) { return this.form.elements[name]?.type === 'checkbox' ? this.form.elements[name].checked : this.form.elements[name]?.value; }

  /* What was chosen stands in the address behind the #, so that a link shows the same. */
  remember() {
    const chosen = new URLSearchParams();
    for (const field of this.form.elements) {
      if (!field.name || field.type === 'button') continue;
      const usual = field.type === 'checkbox' ? false : field.tagName === 'SELECT' ?
        ([...field.options].find(o => o.defaultSelected) ?? field.options[0]).value : field.defaultValue;
      if (this.value(field.name) !== usual) chosen.set(field.name, field.type === 'checkbox' ? '1' : field.value);
    }
    history.replaceState(null, '', chosen.size ? `#${chosen}` : location.pathname + location.search);
  }

  recall() {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const field = this.form.elements[name];
      if (field?.type === 'checkbox') field.checked = value === '1';
      else if (field?.tagName === 'SELECT' && ![...field.options].some(o => o.value === value)) continue;
      else if (field) field.value = value;
    }
  }

  address(from, live) {
    const wide = Math.max(100, Math.min(1000, Math.round((this.chart.clientWidth || 600) / 2)));
    const ask = new URLSearchParams({ sweep: this.section.dataset.sweep, metric: this.value('metric'), x: this.value('x'), from,
      points: this.points ?? wide });
    if (this.section.dataset.run) ask.set('run', this.section.dataset.run);
    if (this.value('also')) ask.set('also', this.value('also'));
    if (this.value('logx')) ask.set('logx', '1');
    if (live) ask.set('live', '1');
    if (this.zoom) { ask.set('low', this.zoom[0]); ask.set('high', this.zoom[1]); }
    return `/api/curves.json?${ask}`;
  }

  /* All there is, piece by piece, drawn as it comes; or, live, what has changed. A newer question ends an older one. */
  async load(anew) {
    if (!anew && this.asking) return;
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    let next = 0, fresh = anew;
    if (anew) this.points = this.selected = null;
    try {
      while (next !== null) {
        const reply = await fetch(this.address(next, !anew), { signal: asking.signal });
        const part = await reply.json();
        if (!reply.ok) throw new Error(part.error);
        if (fresh) { this.series.clear(); fresh = false; }
        const places = JSON.stringify(part.groups);
        if (this.places !== places && !anew) { this.asking = null; return this.load(true); } /* the sweep was submitted again */
        this.places = places;
        this.groups = part.groups;
        for (const one of part.series) this.series.set(`${one.group}/${one.run}`, one);
        next = part.next;
        this.limits = [part.low, part.high];
        if (anew) this.runs = part.runs;
        /* Of very many lines fewer points each: pixels are as few as before. */
        if (anew && this.points === null) this.points = Math.max(60, Math.min(part.points, Math.floor(SERIES_POINTS / (part.runs || 1))));
        this.draw(next === null ? '' : `${next} of ${part.runs} runs read`);
      }
      this.section.dataset.loaded = String(1 + Number(this.section.dataset.loaded || 0));
    } catch (error) {
      if (error.name !== 'AbortError') this.said.textContent = error.message;
    }
    if (this.asking === asking) this.asking = null;
  }

  /* ---------------------------------------------------------------------------------------- from runs to lines */

  /* Every line on one grid of the axis: cells of {x, low, middle, high, values}. */
  lines() {
    const all = [...this.series.values()].filter(s => s.step.length);
    const log = this.value('logx'), place = log ? x => Math.log(1 + x) : x => x;
    const first = Math.min(...all.map(s => place(s.step[0] * s.scale))), last = Math.max(...all.map(s => place(s.step.at(-1) * s.scale)));
    const cells = Math.min(this.points ?? 400, Math.max(1, this.limits[1] - this.limits[0] + 1));
    const cell = x => last > first ? Math.floor((place(x) - first) / (last - first) * (cells - 1) + 1e-6) : 0;
    const lines = [];
    const single = this.value('by') === 'run' || this.section.dataset.run;
    for (const one of all) {
      const key = single ? `${one.group}/${one.run}` : String(one.group);
      let line = lines.find(l => l.key === key);
      if (!line) {
        const name = this.groups[one.group].name;
        line = { key, group: one.group, name: single ? `${name}, seed ${one.seed}` : name, cells: new Map(), runs: 0 };
        lines.push(line);
      }
      line.runs++;
      this.add(line, one, cell);
    }
    lines.sort((a, b) => a.group - b.group || a.name.localeCompare(b.name));
    return lines.filter(line => line.cells.size).map(line => this.finish(line));
  }

  add(line, one, cell) {
    const own = new Map(); /* of this run: several of its points may fall into one cell */
    one.step.forEach((step, i) => {
      if (one.mean[i] === null) return;
      const x = step * one.scale, at = cell(x), c = own.get(at) ?? { x, sum: 0, n: 0, low: Infinity, high: -Infinity };
      c.x = Math.max(c.x, x);
      c.sum += one.mean[i];
      c.n++;
      c.low = Math.min(c.low, one.min ? one.min[i] : one.mean[i]);
      c.high = Math.max(c.high, one.max ? one.max[i] : one.mean[i]);
      own.set(at, c);
    });
    for (const [at, c] of own) {
      const all = line.cells.get(at) ?? { x: c.x, means: [], low: Infinity, high: -Infinity };
      all.x = Math.max(all.x, c.x);
      all.means.push(c.sum / c.n);
      all.low = Math.min(all.low, c.low);
      all.high = Math.max(all.high, c.high);
      line.cells.set(at, all);
    }
  }

  /* The mean over the line's runs, rolled; the band never is: what stands out stays to be seen. */
  finish(line) {
    const band = this.value('band'), roll = Math.max(1, Math.min(200, Number(this.value('roll')) || 1));
    const order = [...line.cells.keys()].sort((a, b) => a - b);
    const means = order.map(at => line.cells.get(at).means.reduce((a, b) => a + b, 0) / line.cells.get(at).means.length);
    order.forEach((at, i) => {
      const c = line.cells.get(at), some = means.slice(Math.max(0, i - roll + 1), i + 1);
      c.middle = some.reduce((a, b) => a + b, 0) / some.length;
      if (band === 'none') c.low = c.high = c.middle;
      else if (band === 'seeds') { c.low = Math.min(...c.means); c.high = Math.max(...c.means); }
    });
    return line;
  }

  /* The gate as it goes along the axis, the mean over the tapered variants. */
  gates() {
    const found = [];
    for (const one of this.series.values())
      if (one.gate?.length) found.push(one.gate.filter(g => g[1] !== null).map(g => [g[0] * one.scale, g[1]]));
    return found;
  }

  /* ---------------------------------------------------------------------------------------- drawing */

  /* The first baseline is as black as the text; the others follow the palette, and then what is between. */
  colour(line) {
    const first = this.groups.findIndex(g => g.baseline), at = line.group - (first >= 0 && first < line.group);
    if (line.group === first) return style('--ink');
    return at < colours.length ? colours[at] : `hsl(${at * 137 % 360} 60% 50%)`;
  }

  draw(progress) {
    if (progress !== undefined) this.progress = progress;
    this.drawn = this.limits ? this.lines() : [];
    const lines = this.drawn, cells = new Map();
    if (!lines.length) {
      this.graph?.destroy();
      this.graph = null;
      this.legend.replaceChildren();
      this.said.textContent = 'Nothing is logged of that yet.';
      this.chart.setAttribute('aria-label', this.said.textContent);
      return;
    }
    for (const line of lines)
      for (const [at, c] of line.cells) cells.set(at, Math.max(cells.get(at) ?? -Infinity, c.x));
    const log = this.value('logx');
    const rows = [...cells].sort((a, b) => a[0] - b[0]).map(([at, x]) => [log ? Math.max(x, 1e-9) : x, ...lines.map(line => {
      const c = line.cells.get(at);
      return c && !this.hidden.has(line.key) ? [c.low, c.middle, c.high] : [null, null, null];
    })]);
    if (log && rows.length > 1 && rows[0][0] < rows[1][0] / 100) rows[0][0] = rows[1][0] / 2; /* step 0 has no logarithm */
    this.place(rows, lines.map((_, i) => `l${i}`), lines.map(line => this.colour(line)));
    this.list();
    const row = this.selected;
    if (row == null || row >= rows.length) return this.show(null);
    this.graph.setSelection(row);
    this.show(row);
  }

  place(rows, names, colors) {
    const x = this.value('x'), time = x === 'time';
    const options = {
      file: rows, labels: ['x', ...names], colors, customBars: true, legend: 'never', connectSeparatedPoints: true,
      logscale: this.value('logy'), strokeWidth: names.length > 40 ? 1 : 1.7, fillAlpha: names.length > 40 ? 0.06 : 0.16,
      highlightCircleSize: 3, animatedZooms: false, axisLineColor: style('--soft'), gridLineColor: style('--line'),
      xlabel: time ? 'time of training' : x, ylabel: this.value('metric'), dateWindow: null, valueRange: null, rightGap: 12,
      axes: {
        x: { axisLabelFormatter: v => time ? duration(v) : shortNumber(v), logscale: this.value('logx'), pixelsPerLabel: 70 },
        y: { axisLabelFormatter: v => shortNumber(v), axisLabelWidth: 56 },
      },
      highlightCallback: (event, at, points, row) => this.show(row),
      unhighlightCallback: () => this.show(null),
      underlayCallback: (canvas, area, graph) => this.shade(canvas, area, graph),
      zoomCallback: (from, to, ranges) => this.zoomed(from, to),
    };
    this.rows = rows;
    if (this.graph) this.graph.updateOptions(options);
    else this.graph = new Dygraph(this.chart, rows, options);
  }

  /* Where the gate stands: the darker the ground, the more of the normalization is left. */
  shade(canvas, area, graph) {
    const gates = this.gates();
    if (!gates.length) return;
    canvas.save();
    canvas.beginPath();
    canvas.rect(area.x, area.y, area.w, area.h);
    canvas.clip();
    canvas.fillStyle = style('--ink');
    for (const gate of gates) {
      gate.forEach(([x, value], i) => {
        const to = i + 1 < gate.length ? gate[i + 1][0] : x, left = Math.round(graph.toDomXCoord(x)), right = Math.round(graph.toDomXCoord(to));
        canvas.globalAlpha = 0.14 * value / gates.length;
        canvas.fillRect(left, area.y, Math.max(0, right - left), area.h);
      });
    }
    canvas.restore();
  }

  /* Of a part of the axis its own buckets are asked for. */
  zoomed(from, to) {
    const [low, high] = this.graph.xAxisExtremes(), scale = Math.min(...[...this.series.values()].map(s => s.scale));
    if (from <= low && to >= high) return;
    this.zoom = [Math.max(0, Math.floor(from / scale)), Math.max(1, Math.ceil(to / scale))];
    this.load(true);
  }

  tell() {
    const shown = this.drawn.length - this.drawn.filter(l => this.hidden.has(l.key)).length;
    const words = [`${shown} ${shown === 1 ? 'line' : 'lines'} of ${this.runs} ${this.runs === 1 ? 'run' : 'runs'}`];
    if (this.gates().length) words.push('grey ground: the gate, from 1 to 0');
    if (this.progress) words.push(this.progress);
    this.form.elements.whole.hidden = !this.zoom;
    if (this.selected == null) this.said.textContent = words.join('; ') + '. Drag to look closer, arrow keys for values.';
    this.chart.setAttribute('aria-label', `${this.value('metric')} against ${this.value('x')}: ` + this.drawn.map(l => {
      const end = [...l.cells.values()].reduce((a, b) => a.x > b.x ? a : b);
      return `${l.name} ends at ${shortNumber(end.middle)}`;
    }).slice(0, 12).join(', '));
  }

  /* Which colour is what, each a button that hides the line; and the values where the pointer is. */
  list() {
    const most = 60;
    this.legend.replaceChildren(...this.drawn.slice(0, most).map((line, i) => {
      const item = document.createElement('li'), button = document.createElement('button'), mark = document.createElement('i');
      button.type = 'button';
      button.setAttribute('aria-pressed', String(!this.hidden.has(line.key)));
      mark.style.background = this.colour(line);
      button.append(mark, line.name + (line.runs > 1 ? ` (${line.runs})` : ''), document.createElement('b'));
      button.addEventListener('click', () => {
        if (!this.hidden.delete(line.key)) this.hidden.add(line.key);
        this.draw();
        this.legend.children[i]?.firstChild.focus();
      });
      item.append(button);
      return item;
    }));
    if (this.drawn.length > most) {
      const more = document.createElement('li');
      more.textContent = `and ${this.drawn.length - most} more`;
      this.legend.append(more);
    }
  }

  show(row) {
    this.selected = row;
    if (row === null) {
      this.legend.querySelectorAll('b').forEach(b => { b.textContent = ''; });
      this.tell();
      return;
    }
    const x = this.rows[row][0];
    this.said.textContent = `${this.value('x')} ${this.value('x') === 'time' ? duration(x) : x.toLocaleString('en')}`;
    this.legend.querySelectorAll('b').forEach((b, i) => {
      const [low, middle, high] = this.rows[row][i + 1];
      b.textContent = middle === null ? '' : high > low ? ` ${shortNumber(middle)} (${shortNumber(low)} to ${shortNumber(high)})` : ` ${shortNumber(middle)}`;
    });
  }

  step(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (event.key === 'Escape' && this.graph) { this.graph.clearSelection(); this.show(null); }
    if (!by || !this.graph) return;
    event.preventDefault();
    const row = Math.max(0, Math.min(this.rows.length - 1, (this.selected ?? (by < 0 ? this.rows.length : -1)) + by));
    this.graph.setSelection(row);
    this.show(row);
  }
}

for (const section of document.querySelectorAll('section.curves')) {
  const curves = section.curves = new Curves(section);
  listeners.push(() => curves.load(false));
}
