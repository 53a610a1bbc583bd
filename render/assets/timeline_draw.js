/* timeline_draw.js -- the tracks as a picture. A lane is one line of pixels, made once and repeated over its height, so
 * that a frame costs what is on the page, not what is in the trace; words come last. Knows no keys and changes nothing.
 *
 *   const draw = gp.timelineDraw(canvas, data, view);
 *   draw.theme();  draw.paint({ search: answer of data.search or null, off: Uint8Array by kind, 1 = not shown });
 */
"use strict";
(() => {
const LABEL_FROM = 22, FADE = 205, FAINTEST = 84; // of 256: how far what does not match fades, how faint a column may be
const HATCH = 8, MOST_GAPS = 20000; // of which each is painted

/* ---- colours: as the canvas has them in memory, 0xAABBGGRR ---- */

function parse(text) {
  const hex = /^#([0-9a-f]{6})$/i.exec(text);
  const [r, g, b] = hex ? [0, 2, 4].map((i) => parseInt(hex[1].slice(i, i + 2), 16)) : (text.match(/[\d.]+/g) || [0, 0, 0]).map(Number);
  return (0xff000000 | b << 16 | g << 8 | r) >>> 0;
}

/* F/256 of the way from A to B. */
function mix(a, b, f) {
  f = Math.round(f);
  const rb = ((a & 0xff00ff) * (256 - f) + (b & 0xff00ff) * f) / 256 & 0xff00ff;
  const g = ((a & 0xff00) * (256 - f) + (b & 0xff00) * f) / 256 & 0xff00;
  return (0xff000000 | rb | g) >>> 0;
}

/* The first event of a lane, or sample of a counter, that starts at or after T. */
function firstFrom(lane, t) {
  let low = 0, high = lane.n;
  while (low < high) {
    const middle = low + high >>> 1;
    if (lane.start[middle] < t) low = middle + 1; else high = middle;
  }
  return low;
}

const counterScale = (track) => track.unit === "percent" ? [0, 100] : [Math.min(0, track.min), track.max];
const real = (v) => Number.isInteger(v) ? gp.count(v) : Math.abs(v) >= 100 ? gp.count(Math.round(v)) : String(Number(v.toPrecision(3)));
function counterWords(track, v) {
  const u = track.unit;
  if (track.reasons) return track.reasons[v - 1] || "";
  if (u === "percent") return (v === Math.round(v) ? v : v.toFixed(1)) + "%";
  return u === "bytes" ? gp.bytes(v) : real(v) + (u === "gbps" ? " GB/s" : u === "count" ? "" : " " + u);
}

/* ---- whose a function is, and what a gap was spent on: classes that have a colour each ---- */

const OWNERS = [["own", "own code"], ["framework", "framework"], ["library", "other library"], ["standard", "Python itself"], ["native", "native, waiting"]];
const FRAMEWORK = /^(torch|torchvision|torchaudio|jax|jaxlib|flax|tensorflow|triton|cupy|numba)\b|^nn\.Module/;
const STANDARD = /^(<frozen|<built-in|abc|argparse|ast|asyncio|codecs|collections|concurrent|contextlib|copy|copyreg|ctypes|dataclasses|email|enum|functools|gc|gzip|hashlib|html|http|importlib|inspect|io|json|linecache|locale|logging|multiprocessing|ntpath|os|pathlib|pickle|pkgutil|platform|posixpath|queue|random|re|runpy|selectors|shutil|signal|site|socket|ssl|string|subprocess|sysconfig|tempfile|textwrap|threading|timeit|tokenize|traceback|types|typing|unittest|urllib|uuid|warnings|weakref|xml|zipfile|zipimport)\b/;
function ownerOf(name) {
  const at = /^(.*)\(\d+\): /.exec(name), built = name.startsWith("<built-in");
  if (!at) return built ? "standard" : name.startsWith("nn.Module") ? "framework" : "native";
  const packaged = /\b(?:site|dist)-packages\/(.*)/.exec(at[1]), path = packaged ? packaged[1] : at[1];
  if (FRAMEWORK.test(path)) return "framework";
  if (/\/lib\/python3[^/]*\/(?!site-|dist-)/.test(path) || STANDARD.test(path)) return "standard";
  return packaged || /^[^/.][^/]*\//.test(path) ? "library" : "own";
}
/* What a thread shows of FRAMEWORK's functions until all are wanted: by name, as data.slim() takes it. What only passes a call on is never shown. */
const GLUE = /\b(_wrapped_call_impl|_call_impl|decorate_context|decorate_autocast|_dispatch_through_inner_\w+)$/;
const roles = (data) => Uint8Array.from(data.names, (name, id) => !isFunction(data, id) ? 0 : ownerOf(name) !== "framework" ? 1 : GLUE.test(name) ? 3 : 2);
const isFunction = (data, id) => data.kinds[data.kindOf[id]].id === "python";
const CAUSES = { host: "host", synchronisation: "sync", launch_latency: "launch", data_loading: "data", python_overhead: "python", lock: "blocked", blocking_call: "blocked",
  garbage_collection: "python", logging: "python", import: "python" };
const causeColour = (name) => CAUSES[name] || "other";

function timelineDraw(canvas, data, view) {
  const ctx = canvas.getContext("2d", { alpha: false });
  const c = {};      // colours of the theme
  const cuts = new Map();
  let scale = 1, w = 0, h = 0, image = null, px = null, line = null, blank = null;
  let busy = null, best = null, tone = null, own = null, columnKind = null, columnBusy = null;
  let floor = 0; // words of rows that go under the pinned ones are left out above it
  let advance = 6.65, labels = [], faded = null, columnMark = null, heading = null;

  function theme() {
    const palette = gp.palette();
    for (const [name, variable] of Object.entries({ page: "--page", soft: "--soft", line: "--line", ink: "--ink", dim: "--dim",
      hatch: "--hatch", hatchPage: "--hatch-page", count: "--meter", hit: "--focus" })) {
      c[name + "Text"] = gp.colour(variable);
      c[name] = parse(c[name + "Text"]);
    }
    const ink = c.ink; /* c.ink becomes that of each kind's words */
    c.grid = mix(c.page, c.line, 110);
    c.fill = new Uint32Array(data.names.length);
    /* nearly grey: a little darker, it stays apart from the page */
    const APART = document.documentElement.dataset.theme === "contrast" ? 60 : gp.theme.dark ? 34 : 14, THIN = gp.theme.dark ? 90 : 56, apart = (k, v, by) => k.gpu ? v : mix(v, ink, by);
    c.kind = Uint32Array.from(data.kinds, (k) => apart(k, parse((palette[k.id] || palette.frame).fill[0]), APART));
    c.ink = data.kinds.map((k) => (palette[k.id] || palette.frame).ink);
    for (let i = 0; i < c.fill.length; i++) {
      const of = palette[data.kinds[data.kindOf[i]].id] || palette.frame;
      c.fill[i] = apart(data.kinds[data.kindOf[i]], parse(of.fill[gp.shade(data.names[i], of.fill.length)]), APART);
    }
    /* functions by whose they are, gaps by their cause; both nearly as pale as before, or as their stripes */
    const owners = Object.fromEntries(OWNERS.map(([of]) => [of, parse(gp.colour("--f-" + of))]));
    data.names.forEach((name, id) => {
      if (gp.isFunction(data, id)) c.fill[id] = mix(owners[gp.ownerOf(name)], ink, 10 * gp.shade(name, 2));
    });
    c.cause = data.causes.map((cause) => parse(gp.colour("--c-" + gp.causeColour(cause.name))));
    c.thin = { fill: c.fill.map((v, i) => apart(data.kinds[data.kindOf[i]], v, THIN)), kind: c.kind.map((v, i) => apart(data.kinds[i], v, THIN)) };
    faded = null;
  }

  function resize() {
    scale = Math.min(3, globalThis.devicePixelRatio || 1);
    const nextW = Math.max(1, Math.round(view.width * scale)), nextH = Math.max(1, Math.round(view.height * scale));
    if (nextW === w && nextH === h) return;
    canvas.width = w = nextW;
    canvas.height = h = nextH;
    canvas.style.width = view.width + "px";
    canvas.style.height = view.height + "px";
    image = ctx.createImageData(w, h);
    px = new Uint32Array(image.data.buffer);
    line = new Uint32Array(w);
    blank = new Uint32Array(w);
    busy = new Float32Array(w);
    best = new Float32Array(w);
    tone = new Uint32Array(w);
    own = new Float32Array(w);
    columnBusy = new Float32Array(w);
    columnKind = new Uint8Array(w);
    columnMark = new Uint8Array(w);
    heading = new Uint32Array(w);
    ctx.font = font();
    advance = ctx.measureText("MMMMMMMMMM").width / 10 / scale || 6.65;
    cuts.clear();
  }
  const font = () => 11 * scale + "px " + (getComputedStyle(canvas).getPropertyValue("--mono") || "monospace");

  /* ---- lines of pixels ---- */

  function put(from, y, high) {
    const top = Math.max(0, y), end = Math.min(h, y + high);
    for (let r = top; r < end; r++) px.set(from, r * w);
  }
  /* A line that is hatched: STRIPE where the stripes are. */
  function putHatched(from, stripe, y, high) {
    const top = Math.max(0, y), end = Math.min(h, y + high), size = Math.round(HATCH * scale), wide = Math.round(2.6 * scale);
    for (let r = top; r < end; r++) {
      const row = r * w;
      for (let x = 0; x < w; x++) px[row + x] = (x + r) % size < wide ? stripe[x] : from[x];
    }
  }

  /* While something is searched, all other colours stand back. */
  function fades(search) {
    faded = search && Uint32Array.from(c.fill, (v, i) => search.match[i] ? v : mix(v, c.page, FADE));
  }

  /* From the columns of the data: how busy, and with what; matches above all. */
  function lineOfColumns(lane, { search, off }, kinds) {
    if (!data.columns(lane, view.t0, view.t1, w, columnBusy, columnKind, off)) return;
    for (let x = 0; x < w; x++) {
      if (!(columnBusy[x] > 0)) continue;
      const share = Math.max(FAINTEST, Math.min(256, columnBusy[x] * 256));
      line[x] = mix(line[x], kinds[columnKind[x]], search ? share * (256 - FADE) / 256 : share);
    }
    if (!search) return;
    data.marks(search, lane, view.t0, view.t1, w, columnMark);
    for (let x = 0; x < w; x++) if (columnMark[x]) line[x] = c.hit;
  }

  /* Event by event. What is narrower than a pixel and a half goes into columns, the longest of one gives the colour. */
  function lineOfEvents(lane, from, to, { search, off }, y, text, colours) {
    const { start, dur, name } = lane, t0 = view.t0, k = w / (view.t1 - t0), fill = faded || colours, match = search && search.match;
    let narrow = false;
    for (let i = from; i < to; i++) {
      const id = name[i];
      if (off[data.kindOf[id]]) continue;
      const x0 = (start[i] - t0) * k, wide = dur[i] * k;
      if (wide < 1.5) {
        const x = Math.max(0, Math.min(w - 1, x0 | 0)), weight = match && match[id] ? wide + 2 : wide;
        if (!narrow) { busy.fill(0); best.fill(-1); narrow = true; }
        busy[x] += match && match[id] ? 1 : wide;
        if (weight > best[x]) { best[x] = weight; tone[x] = fill[id]; }
        continue;
      }
      const a = Math.max(0, Math.round(x0));
      let b = Math.min(w, Math.round(x0 + wide));
      if (b - a >= 4 && b < w) b--;
      line.fill(fill[id], a, b);
      if (text && b - a >= LABEL_FROM * scale) label(id, a, b, y, !match || match[id]);
    }
    if (!narrow) return;
    for (let x = 0; x < w; x++) {
      if (best[x] >= 0) line[x] = mix(line[x], tone[x], Math.max(FAINTEST, Math.min(256, busy[x] * 256)));
    }
  }

  function label(id, a, b, y, strong) {
    if (y >= floor) labels.push(id, a, b, y, strong ? 1 : 0);
  }

  function paintLane(lane, y, high, marks, text) {
    if (y >= h || y + high <= 0) return;
    line.set(blank);
    const [from, to] = data.bounds(lane, view.t0, view.t1);
    const colours = high < 6 * scale ? c.thin : c;
    if (data.windows || to - from > 2 * w) lineOfColumns(lane, marks, colours.kind);
    if (to - from <= 2 * w) lineOfEvents(lane, from, to, marks, y, text, colours.fill);
    put(line, y, high);
  }

  /* Idle time: hatched, in the colour of its cause, which is written where there is room. */
  function paintGaps(lane, y, high, marks) {
    if (y >= h || y + high <= 0) return;
    line.set(blank);
    tone.set(blank);
    const [from, to] = data.bounds(lane, view.t0, view.t1), k = w / (view.t1 - view.t0), match = marks.search && marks.search.match;
    if (data.columns(lane, view.t0, view.t1, w, columnBusy, columnKind)) {
      for (let x = 0; x < w; x++) {
        if (!(columnBusy[x] > 0)) continue;
        const share = Math.max(FAINTEST, Math.min(256, columnBusy[x] * 256));
        line[x] = mix(line[x], c.hatchPage, share);
        tone[x] = mix(tone[x], c.hatch, share);
        own[x] = 0;
      }
    }
    const paintGap = (i, a, b) => {
      const weight = lane.dur[i], colour = c.cause[data.causeOf(lane.name[i])] || c.hatch, hit = match && match[lane.name[i]];
      for (let x = a; x < b && x < w; x++) if (weight > own[x] || hit) {
        own[x] = weight;
        tone[x] = hit ? c.hit : mix(c.page, colour, columnBusy[x] > 0 ? Math.max(FAINTEST, Math.min(256, columnBusy[x] * 256)) : 256);
      }
    };
    if (to - from > MOST_GAPS) { /* the first ones of each column stand for all of it */
      for (let x = 0; x < w; x++) {
        const i = gp.firstFrom(lane, view.t0 + x / k);
        for (let n = 0; n < 4 && i + n < to; n++) if (lane.start[i + n] < view.t0 + (x + 1) / k) paintGap(i + n, x, x + 1);
      }
    }
    for (let i = from; i < to && to - from <= MOST_GAPS; i++) {
      const a = Math.max(0, Math.round((lane.start[i] - view.t0) * k)), b = Math.min(w, Math.round((lane.start[i] + lane.dur[i] - view.t0) * k));
      paintGap(i, a, Math.max(a + 1, b));
      if (b - a >= 60 * scale) label(-1 - lane.name[i], a, b, y, true);
    }
    putHatched(line, tone, y, high);
  }

  /* In each column from its smallest to its largest value, filled to the ground. */
  function paintCounter(track, y, high) {
    const { start, value, n } = track, k = (view.t1 - view.t0) / w, ground = y + high - 1;
    const [low, top] = gp.counterScale(track), span = top - low || 1, level = (v) => ground - Math.round((v - low) / span * (high - 2));
    const edge = c.count, tint = mix(c.page, c.count, 60), gpu = data.kinds.findIndex((k) => k.gpu) - 1;
    let i = firstFrom(track, view.t0), v = i > 0 ? value[i - 1] : NaN;
    for (let x = 0; x < w; x++) {
      const end = view.t0 + (x + 1) * k;
      let min = v, max = v;
      for (; i < n && start[i] < end; i++) {
        v = value[i];
        if (!(v >= min)) min = v;
        if (!(v <= max)) max = v;
      }
      if (!(max >= min)) continue;
      const why = track.reasons && max && c.kind[gpu + max], peak = why ? y : level(max), bottom = level(min);
      for (let r = Math.max(0, peak); r <= Math.min(h - 1, ground); r++) px[r * w + x] = why || (r <= Math.max(bottom, peak + scale - 1) ? edge : tint);
    }
  }

  /* A row that is folded away still shows where something happens. */
  function paintHeading(row, marks) {
    const y = Math.round(view.top(row) * scale), high = Math.round(row.h * scale);
    heading.fill(c.soft);
    put(heading, y, high);
    if (row.closed) {
      const tracks = row.tracks.filter((t) => t.lanes && t.lanes.length && t.sort !== "idle"), n = Math.min(tracks.length, 6);
      const pitch = Math.floor((high - 8 * scale) / Math.max(1, n));
      const kept = blank;
      blank = heading;
      for (let i = 0; i < n; i++) paintLane(tracks[i].lanes[0], y + Math.round(4 * scale) + i * pitch, Math.max(1, pitch - 1), marks, false);
      blank = kept;
    }
    const rule = Math.min(h - 1, y + high - 1);
    if (rule >= 0) px.fill(c.line, rule * w, rule * w + w);
  }
  function paintTrack(row, marks) {
    const rule = Math.round((view.top(row) + row.h) * scale) - 1, { lanes } = row.slim || row.track;
    if (rule >= 0 && rule < h) px.fill(c.grid, rule * w, rule * w + w);
    const top = Math.round((view.top(row) + 2) * scale), track = row.track;
    if (track.sort === "counter") return paintCounter(track, top, Math.round((row.h - 5) * scale));
    for (let l = 0; l < row.lanes; l++) {
      const y = Math.round((view.top(row) + 2 + l * row.pitch) * scale);
      const end = Math.round((view.top(row) + 2 + (l + 1) * row.pitch) * scale);
      const high = Math.max(1, end - y - (row.pitch >= 5 ? Math.max(1, Math.round(scale)) : 0));
      if (track.sort === "idle") paintGaps(lanes[l], y, high, marks);
      else paintLane(lanes[l], y, high, marks, row.pitch >= 14);
    }
  }

  /* ---- words ---- */

  function cutLabel(id, columns) {
    const key = id * 1024 + Math.min(columns, 1023);
    let text = cuts.get(key);
    if (text === undefined) {
      text = gp.cutName(data.labels[id], columns);
      if (text.endsWith("\u2026") && text.length < 6) text = ""; // not informative
      cuts.set(key, text);
    }
    return text;
  }

  function writeLabels() {
    ctx.font = font();
    ctx.textBaseline = "middle";
    const pad = 4 * scale, middle = (row) => row + 9 * scale;
    let ink = "";
    for (let i = 0; i < labels.length; i += 5) {
      const id = labels[i], a = labels[i + 1], b = labels[i + 2], y = labels[i + 3];
      const columns = Math.floor((b - a - 1.6 * pad) / (advance * scale));
      if (id < 0) { writeGap(-1 - id, a, b, y, columns); ink = ""; continue; }
      const text = columns >= 3 ? cutLabel(id, columns) : "";
      if (!text) continue;
      const want = labels[i + 4] ? c.ink[data.kindOf[id]] : c.dimText;
      if (want !== ink) ctx.fillStyle = ink = want;
      ctx.fillText(text, a + pad, middle(y));
    }
  }
  function writeGap(id, a, b, y, columns) {
    const full = data.names[id], text = full.length <= columns - 2 ? full : gp.cut(data.labels[id], columns - 2);
    if (!text) return;
    const wide = text.length * advance * scale, x = Math.round((a + b - wide) / 2);
    ctx.fillStyle = c.hatchPageText;
    ctx.fillRect(x - 4 * scale, y + scale, wide + 8 * scale, 13 * scale);
    ctx.fillStyle = c.inkText;
    ctx.fillText(text, x, y + 8 * scale);
  }

  function paint(marks) {
    resize();
    fades(marks.search);
    labels = [];
    const step = gp.tickStep(view, 110);
    blank.fill(c.page);
    for (let t = Math.ceil(view.t0 / step) * step; t < view.t1; t += step) {
      const x = Math.round(view.x(t) * scale);
      if (x >= 0 && x < w) blank[x] = c.grid;
    }
    put(blank, 0, h);
    const each = (rows) => { for (const row of rows) if (row.track) paintTrack(row, marks); else paintHeading(row, marks); };
    const visible = view.rows.filter(view.isVisible), top = visible.filter(view.stays), covered = top.length ? Math.round(view.covered() * scale) : 0;
    floor = covered;
    each(visible.filter((row) => !view.stays(row)));
    floor = 0;
    if (covered) put(blank, 0, covered);
    each(top);
    if (covered && covered < h) px.fill(c.dim, (covered - 1) * w, covered * w);
    ctx.putImageData(image, 0, 0);
    writeLabels();
  }

  /* What is at a point: the event there, or the longest one within two pixels. Returns a position of the data, or null; lane -1: a counter. */
  function at(x, y) {
    const row = view.rowAt(y);
    if (!row || !row.track) return null;
    if (row.track.sort === "counter") {
      const i = firstFrom(row.track, view.t(x)) - 1;
      return i >= 0 ? { track: row.track.index, lane: -1, i } : null;
    }
    const l = view.laneAt(row, y - 2), lane = (row.slim || row.track).lanes[l];
    if (!lane) return null;
    const slack = 2 * (view.t1 - view.t0) / view.width, t = view.t(x);
    const [from, end] = data.bounds(lane, t - slack, t + slack), to = Math.min(end, from + 4000);
    let found = -1, over = -1;
    for (let i = from; i < to; i++) {
      if (lane.start[i] <= t && t < lane.start[i] + lane.dur[i] && (over < 0 || lane.dur[i] > lane.dur[over])) over = i;
      if (found < 0 || lane.dur[i] > lane.dur[found]) found = i;
    }
    const i = over >= 0 ? over : found;
    if (i < 0) return null;
    return lane.from ? { track: row.track.index, lane: lane.from.lane[i], i: lane.from.i[i] } : { track: row.track.index, lane: l, i };
  }

  return { theme, paint, at, colours: c, get scale() { return scale; } };
}

Object.assign(gp, { OWNERS, ownerOf, isFunction, roles, causeColour, timelineDraw, firstFrom, counterScale, counterWords });
})();
