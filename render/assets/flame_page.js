// flame_page.js -- the flame graph of a page: trees from packed columns, arranged as the reader wants them,
// drawn on a canvas. Nodes are created on demand, so ten million frames cost no more than their columns.
// Names come from traces: they are only ever put in as text.
"use strict";
(async () => {
const { make, hash } = gp;
const ROW = 20, BOX = 19, TEXT_Y = 14, LEAST = 0.5, MORE = -1;
const main = document.querySelector("main");
const meta = JSON.parse(document.getElementById("flame-meta").textContent);
const stillThere = (why) => main.querySelector("header").append(make("p", { className: "facts", textContent: why }));
if (!window.DecompressionStream) return stillThere("This browser cannot unpack the interactive view; this is the static picture.");

// ---- what was packed ----

const label = [], full = []; // by frame
let kindOf, variants, samples;

async function unpackFrames() {
  const r = gp.reader(await gp.unpack("flame-frames")), n = r.count(4), kinds = meta.kinds.length;
  kindOf = new Uint8Array(n + 1 + kinds);
  for (let i = 0; i < n; i++) kindOf[i] = r.next();
  variants = r.fill(new Float64Array(n));
  samples = r.fill(new Float64Array(n));
  for (let i = 0; i < n; i++) {
    label.push(r.text());
    full.push(r.text() || label[i]);
  }
  const add = (name, kind) => { kindOf[label.length] = kind; label.push(name); full.push(name); };
  add("all", meta.kinds.indexOf("root")); // frame n
  meta.kinds.forEach((css, k) => add(gp.palette()[css].label, k)); // and then one for each class
  return n;
}

// Depth first: a subtree is the nodes from at to end[at].
function unpackTree(r, measures, rootFrame) {
  const n = r.count(1);
  if (!n) return measures.map((m) => ({ ...m, tree: null, whole: 0 }));
  const t = { n, depth: new Uint16Array(n), parent: new Uint32Array(n), end: new Uint32Array(n), frame: new Uint32Array(n) };
  const path = [0];
  for (let i = 1, d = 0; i < n; i++) {
    d += 1 - r.next();
    path[d] = i;
    t.depth[i] = Math.min(d, 65535);
    t.parent[i] = path[d - 1];
  }
  for (let i = n; i-- > 0;) {
    t.end[i] = Math.max(t.end[i], i + 1);
    if (i && t.end[i] > t.end[t.parent[i]]) t.end[t.parent[i]] = t.end[i];
  }
  t.frame[0] = rootFrame;
  for (let i = 1; i < n; i++) t.frame[i] = r.next();
  t.kindSeen = new Uint8Array(meta.kinds.length);
  for (let i = 1; i < n; i++) t.kindSeen[kindOf[t.frame[i]]] = 1;
  return measures.map((m) => {
    const total = r.fill(new Float64Array(n));
    for (let i = n; i-- > 1;) total[t.parent[i]] += total[i];
    return { ...m, tree: t, total, whole: total[0] };
  });
}

const unpacking = make("p", { className: "facts", role: "status", textContent: "Unpacking the interactive view \u2026" });
main.querySelector("header").append(unpacking);
const measures = [];
let frames;
try {
  frames = await unpackFrames();
  const r = gp.reader(await gp.unpack("flame-trees"));
  for (const t of meta.trees) measures.push(...unpackTree(r, t.measures, frames));
} catch {
  return stillThere("The data of the interactive view is damaged; this is the still picture.");
} finally {
  unpacking.remove();
}
const ROOT = frames;
const weighed = measures.filter((m) => m.whole > 0);
if (!weighed.length) return; // the static picture is enough
const opened = weighed.find((m) => m.id === meta.opened) || weighed[0];

// Weight that ends at each node.
function selves(m) {
  if (m.self) return m.self;
  const self = m.total.slice(), { parent, n } = m.tree;
  for (let i = n; i-- > 1;) self[parent[i]] -= m.total[i];
  return m.self = self;
}

const figure = (m, v) => m.unit === "ns" ? gp.ns(v) : m.unit === "bytes" ? gp.bytes(v) : gp.count(v) + " " + m.text;

// ---- state: the address ----

let measure = opened, arranged = "", order = "", sandwich = "", kind = "", asTable = false;
let tree = opened.tree;
const defaultArranged = meta.inverted ? "inverted" : "";

// ---- arrangements: trees whose nodes are created on demand ----

const natural = new Intl.Collator("en", { numeric: true });
const bytewise = (a, b) => a < b ? -1 : a > b ? 1 : 0;
const rootKind = meta.kinds.indexOf("root");

// Order of the children a, b of frames fa, fb: ranks, processes and devices first, in their order; then the widest.
function compare(fa, ta, fb, tb) {
  const ra = kindOf[fa] === rootKind, rb = kindOf[fb] === rootKind;
  if (ra !== rb) return ra ? -1 : 1;
  if (ra) { const c = natural.compare(label[fa], label[fb]); if (c) return c; }
  return tb - ta || bytewise(label[fa], label[fb]);
}

const node = (frame, total, parent, rest) => ({ frame, total, parent, depth: parent ? parent.depth + 1 : 0, kids: null, ...rest });

// Children as an ordered list of keys; nodes only of those that are asked for.
function kidsFrom(of, keys, frameOf, totalOf, restOf) {
  if (order !== "first" && keys.length > 1) {
    const few = keys.length < 1000 || tree.kindSeen[rootKind]; // very many are not compared by name as well
    keys.sort(few ? (a, b) => compare(frameOf(a), totalOf(a), frameOf(b), totalOf(b)) : (a, b) => totalOf(b) - totalOf(a) || a - b);
  }
  let sum = 0;
  for (const k of keys) sum += totalOf(k);
  const made = [];
  return { n: keys.length, sum, total: (i) => totalOf(keys[i]), node: (i) => made[i] ??= Object.assign(node(frameOf(keys[i]), totalOf(keys[i]), of, restOf(keys[i])), { index: i }) };
}

// Groups by key of nodes AT with WEIGHT: as columns, for there may be very many. add(key, at, weight), then kids(of, rest).
function grouping() {
  const group = new Map(), keys = [], totals = [], ats = [], weights = [], groups = [];
  return {
    add(key, at, weight) {
      let k = group.get(key);
      if (k === undefined) {
        group.set(key, k = keys.length);
        keys.push(key);
        totals.push(0);
      }
      totals[k] += weight;
      groups.push(k);
      ats.push(at);
      weights.push(weight);
    },
    kids(of, rest) {
      const first = new Uint32Array(keys.length + 1), list = new Uint32Array(ats.length), weight = new Float64Array(ats.length);
      for (const k of groups) first[k + 1]++;
      for (let k = 0; k < keys.length; k++) first[k + 1] += first[k];
      const next = first.slice();
      groups.forEach((k, i) => { list[next[k]] = ats[i]; weight[next[k]++] = weights[i]; });
      const part = (k) => rest({ list: list.subarray(first[k], first[k + 1]), weights: weight.subarray(first[k], first[k + 1]) });
      return kidsFrom(of, Uint32Array.from(keys.keys()), (k) => keys[k], (k) => totals[k], part);
    },
  };
}

// A node of the tree as it is.
const plain = (at) => ({ at, expand: plainKids });
function plainKids(of) {
  const keys = [], { end, frame } = tree, total = measure.total;
  for (let c = of.at + 1; c < end[of.at]; c = end[c]) if (total[c] > 0) keys.push(c);
  return kidsFrom(of, keys, (c) => frame[c], (c) => total[c], plain);
}

// Several nodes of the tree in one: what they call.
const merged = (g) => ({ list: g.list, expand: mergedKids });
function mergedKids(of) {
  const groups = grouping(), { end, frame } = tree, total = measure.total;
  for (const at of of.list)
    for (let c = at + 1; c < end[at]; c = end[c]) if (total[c] > 0) groups.add(frame[c], c, total[c]);
  return groups.kids(of, merged);
}

// Several nodes with weights: who calls them.
const above = (g) => ({ list: g.list, weights: g.weights, expand: aboveKids });
function aboveKids(of) {
  const groups = grouping(), { parent, frame } = tree;
  of.list.forEach((at, k) => { if (parent[at]) groups.add(frame[parent[at]], parent[at], of.weights[k]); });
  return groups.kids(of, above);
}

function endsBy(keyOf) {
  const groups = grouping(), self = selves(measure), { frame, n } = tree;
  for (let i = 1; i < n; i++) if (self[i] > 0) groups.add(keyOf(frame[i]), i, self[i]);
  return groups;
}
const invertedKids = (of) => endsBy((f) => f).kids(of, above);

// By class, by name, and below that the stacks from their outer end.
const classesKids = (of) => endsBy((f) => ROOT + 1 + kindOf[f]).kids(of, (g) => ({ ends: g.list, weights: g.weights, expand: namesKids }));
function namesKids(of) {
  const groups = grouping();
  of.ends.forEach((at, k) => groups.add(tree.frame[at], at, of.weights[k]));
  return groups.kids(of, (g) => ({ ends: g.list, weights: g.weights, level: 0, expand: wayKids }));
}
function wayKids(of) {
  const groups = grouping(), level = of.level + 1, { parent, depth, frame } = tree;
  of.ends.forEach((end, k) => {
    let at = end;
    if (depth[end] <= level) return;
    while (depth[at] > level) at = parent[at];
    groups.add(frame[at], end, of.weights[k]);
  });
  return groups.kids(of, (g) => ({ ends: g.list, weights: g.weights, level, expand: wayKids }));
}

const kidsOf = (of) => of.kids ??= of.expand(of);
const nameOf = (of) => of.frame === MORE ? gp.count(of.more) + " more" : label[of.frame];
const fullOf = (of) => of.frame === MORE ? nameOf(of) : full[of.frame];
const cssOf = (of) => of.frame === MORE ? "more" : meta.kinds[kindOf[of.frame]];

// The children of OF from one index to another as one box; when zoomed, very many become several boxes of
// fewer.
function moreOf(of, from, to, total, parent = of) {
  const all = kidsOf(of), n = to - from, chunk = n > 200 ? Math.ceil(n / 100) : 1, made = [];
  const sum = (i) => { let w = 0; for (let k = from + i * chunk; k < Math.min(to, from + (i + 1) * chunk); k++) w += all.total(k); return w; };
  const one = (self, i) => chunk > 1 ? moreOf(of, from + i * chunk, Math.min(to, from + (i + 1) * chunk), sum(i), self)
    : { ...all.node(from + i), parent: self, depth: self.depth + 1, kids: null, rest: null };
  return node(MORE, total, parent, { more: n, expand: (self) => ({ n: Math.ceil(n / chunk), sum: total, total: chunk > 1 ? sum : (i) => all.total(from + i),
    node: (i) => made[i] ??= Object.assign(one(self, i), { index: i }) }) });
}

// The two sides of the picture: what hangs down from its root, and in a sandwich what stands above it.
let sides = [];
function arrange() {
  const whole = () => measure.whole;
  tree = measure.tree;
  if (sandwich) {
    const list = [], weights = [], { end, frame, n } = tree;
    let total = 0, frameOf = ROOT;
    for (let i = 1; i < n; i++) {
      if (label[frame[i]] !== sandwich) continue;
      if (measure.total[i] > 0) { list.push(i); weights.push(measure.total[i]); total += measure.total[i]; frameOf = frame[i]; }
      i = end[i] - 1; // a match within a match counts once
    }
    if (frameOf === ROOT) frameOf = Math.max(0, label.indexOf(sandwich));
    sides = [{ root: node(frameOf, total, null, merged({ list })), up: false }, { root: node(frameOf, total, null, above({ list, weights })), up: true }];
  } else if (arranged === "inverted") {
    sides = [{ root: node(ROOT, whole(), null, { expand: invertedKids }), up: false }];
  } else if (arranged === "names") {
    sides = [{ root: node(ROOT, whole(), null, { expand: classesKids }), up: false }];
  } else {
    sides = [{ root: node(ROOT, whole(), null, plain(0)), up: false }];
  }
  for (const s of sides) s.zoom = s.root;
  current = null;
  found = null;
}
const sideOf = (of) => { let r = of; while (r.parent) r = r.parent; return sides.find((s) => s.root === r) || sides[0]; };
const isAbove = (a, of) => { while (of && of !== a) of = of.parent; return !!of; };
function pathHash(of) {
  return of.path ??= gp.pathHash(of.parent ? pathHash(of.parent) : "", fullOf(of));
}

// Visit the nodes below START, the heaviest first, until f says stop or LIMIT are opened.
function heaviest(start, f, limit) {
  const heap = [start];
  const push = (x) => {
    let i = heap.length;
    for (; i && heap[i - 1 >> 1].total < x.total; i = i - 1 >> 1) heap[i] = heap[i - 1 >> 1];
    heap[i] = x;
  };
  for (let opened = 0; heap.length && opened < limit;) {
    const top = heap[0], last = heap.pop();
    if (heap.length) {
      let i = 0;
      for (let c; (c = 2 * i + 1) < heap.length; i = c) {
        if (c + 1 < heap.length && heap[c + 1].total > heap[c].total) c++;
        if (heap[c].total <= last.total) break;
        heap[i] = heap[c];
      }
      heap[i] = last;
    }
    if (f(top)) return;
    const kids = kidsOf(top);
    opened++;
    for (let i = 0; i < kids.n && i < 5000; i++) push(kids.node(i));
  }
}

// ---- search and classes ----

let pattern = null, stands = null; // by frame: 1 where it stands out
let upMarked = null; // by node of the tree: it or something around it stands out

function mark() {
  stands = upMarked = found = null;
  if (!pattern && !kind) return;
  stands = new Uint8Array(label.length);
  const k = meta.kinds.indexOf(kind);
  for (let f = 0; f < frames; f++) // of what was added, only classes, and by class
    stands[f] = (!kind || kindOf[f] === k) && (!pattern || pattern.test(label[f]) || (full[f] !== label[f] && pattern.test(full[f]))) ? 1 : 0;
  if (kind && !pattern) stands[ROOT + 1 + k] = 1;
}

function markedAbove() {
  if (upMarked) return upMarked;
  const { n, parent, frame } = tree;
  upMarked = new Uint8Array(n);
  for (let i = 1; i < n; i++) upMarked[i] = stands[frame[i]] | upMarked[parent[i]];
  return upMarked;
}

// Weight below a node of the tree in or under matches; a match inside a match counts once. And how many match.
function below(at) {
  const { end, frame } = tree, total = measure.total;
  let weight = 0, seen = 0, until = at;
  for (let i = at; i < end[at]; i++) {
    if (!stands[frame[i]] || total[i] <= 0) continue;
    seen++;
    if (i >= until) { weight += total[i]; until = end[i]; }
  }
  return [weight, seen];
}

// The same for any node: [weight, matches or -1 if not counted].
function matched(of) {
  if (of.frame === MORE) {
    const kids = kidsOf(of);
    let weight = 0;
    for (let i = 0; i < kids.n; i++) weight += matched(kids.node(i))[0];
    return [weight, -1];
  }
  if (of.frame !== ROOT && stands[of.frame]) return [of.total, of.at ? below(of.at)[1] : -1];
  if (of.at !== undefined) return below(of.at);
  if (of.expand === mergedKids) return [of.list.reduce((sum, at) => sum + below(at)[0], 0), -1];
  if (!of.parent && !sandwich) return [below(0)[0], -1]; // the same stacks, however they are arranged
  const up = markedAbove(), { parent, depth, frame } = tree;
  let weight = 0;
  (of.list || of.ends).forEach((at, k) => {
    let is = up[at];
    if (of.level) for (is = 0, at = parent[at]; !is && depth[at] >= of.level; at = parent[at]) is = stands[frame[at]];
    if (is) weight += of.weights[k];
  });
  return [weight, -1];
}

function matchedText() {
  if (!stands) return "";
  const s = sides[0], [weight, seen] = s.zoom === s.root && sandwich ? matched(sides[1].zoom)[0] > matched(s.zoom)[0] ? matched(sides[1].zoom) : matched(s.zoom) : matched(s.zoom);
  const view = s.zoom === s.root ? "" : " of view";
  const whole = weight || !view ? 0 : matched(s.root)[0];
  if (whole) return `nothing matches in view, ${gp.share(whole, s.root.total)} of all does`;
  if (!weight) return "nothing matches" + (view ? " in view" : "");
  return gp.share(weight, s.zoom.total) + view + (seen > 0 ? ` in ${gp.count(seen)} frame${seen === 1 ? "" : "s"}` : "");
}

let found = null, foundAt = -1;
function step(by) {
  if (!stands) return undefined;
  if (!found) {
    found = [];
    foundAt = -1;
    for (const s of sides) heaviest(s.zoom, (x) => { if (x !== s.root && x.frame !== ROOT && stands[x.frame]) found.push(x); return found.length >= 500; }, 20000);
  }
  if (!found.length) return "nothing matches";
  foundAt = foundAt < 0 ? (by > 0 ? 0 : found.length - 1) : (foundAt + by + found.length) % found.length;
  const list = found, at = foundAt;
  reveal(list[at]);
  found = list; // which a change of the view gives up
  foundAt = at;
  const of = found.length >= 500 ? "the heaviest 500" : found.length;
  return `${gp.share(matched(sides[0].zoom)[0], sides[0].zoom.total)}, ${foundAt + 1} of ${of}`;
}

// ---- the stage ----

const canvas = make("canvas", { "aria-hidden": "true" }), g = canvas.getContext("2d");
const items = make("div", { className: "spoken", id: "flame-items" });
const space = make("div");
const nothing = make("p", { className: "nothing", hidden: true });
const stage = make("div", { className: "stage", tabIndex: 0, role: "tree", "aria-label": "Flame graph. Arrow keys go to parent, child and neighbours." }, canvas, space, nothing, items);
const MONO = "12px " + getComputedStyle(document.documentElement).getPropertyValue("--mono");
let advance = 7.25, width = 0, high = 0, boxes = [], rows = [], current = null, hover = null, moving = 0;
const drawn = new Map(); // node -> box

// Boxes of one side: {of, x, w, row, above}
function layoutSide(s, baseRow) {
  const sign = s.up ? -1 : 1, todo = [];
  const put = (of, x, w, above) => {
    const b = { of, x, w, row: baseRow + sign * of.depth, above };
    boxes.push(b);
    drawn.set(of, b);
    (rows[b.row] ??= []).push(b);
    return b;
  };
  if (s.root.total <= 0) return;
  for (let a = s.zoom.parent; a; a = a.parent) put(a, 0, width, true);
  todo.push(put(s.zoom, 0, width, false));
  while (todo.length) {
    const { of, x, w } = todo.pop(), scale = w / of.total, kids = kidsOf(of);
    let at = x, i = 0;
    while (i < kids.n) {
      let wide = kids.total(i) * scale;
      if (wide >= LEAST) {
        todo.push(put(kids.node(i), at, wide, false));
        at += wide;
        i++;
        continue;
      }
      const from = i;
      let weight = 0;
      if (order !== "first") { weight = Math.max(0, kids.sum - (at - x) / scale); i = kids.n; }
      else for (; i < kids.n && kids.total(i) * scale < LEAST; i++) weight += kids.total(i);
      wide = weight * scale;
      if (wide >= LEAST && (of.frame !== MORE || from)) put(restOf(of, from, i, weight), at, wide, false);
      at += wide;
    }
  }
}

function restOf(of, from, to, weight) {
  of.rest ??= new Map();
  if (!of.rest.has(from)) of.rest.set(from, moreOf(of, from, to, weight));
  return of.rest.get(from);
}

// How many rows stand above the root: of callers, as far as they are wide enough to be drawn.
function rowsAbove() {
  if (sides.length < 2) return 0;
  boxes = []; rows = []; drawn.clear();
  layoutSide(sides[1], 100000);
  let top = 100000;
  for (const b of boxes) top = Math.min(top, b.row);
  return 100000 - top;
}

function layout() {
  const base = rowsAbove();
  boxes = []; rows = []; drawn.clear();
  layoutSide(sides[0], base);
  if (sides[1]) {
    const mid = drawn.get(sides[0].root);
    layoutSide(sides[1], base);
    if (mid) { boxes.splice(boxes.indexOf(drawn.get(sides[1].root)), 1); rows[base] = rows[base].filter((b) => b.of !== sides[1].root); }
  }
  space.style.height = Math.max(0, rows.length * ROW + 14 - high) + "px";
  nothing.hidden = boxes.length > 0;
  nothing.textContent = sandwich ? `No frame is named \u201c${gp.cut(sandwich, 60)}\u201d here` : "Nothing here has this weight";
}

let hatches = null;
function hatch(which) {
  hatches ??= {};
  return hatches[which] ??= (() => {
    const c = make("canvas", { width: 12, height: 12 }), h = c.getContext("2d");
    h.fillStyle = gp.colour("--hatch-page");
    h.fillRect(0, 0, 12, 12);
    h.strokeStyle = gp.colour("--hatch");
    h.lineWidth = which === "idle" ? 3 : 2;
    for (let i = -12; i <= 24; i += 6) {
      h.beginPath();
      if (which === "idle") { h.moveTo(i, 12); h.lineTo(i + 12, 0); } else { h.moveTo(i, 0); h.lineTo(i + 12, 12); }
      h.stroke();
    }
    return g.createPattern(c, "repeat");
  })();
}

const shadeOf = [];
function inkOf(of) {
  const css = cssOf(of);
  if (css === "more" || css === "idle") return [hatch(css), gp.colour(css === "more" ? "--dim" : "--ink")];
  const k = gp.palette()[css];
  const shade = shadeOf[of.frame] ??= gp.shade(label[of.frame]);
  return [k.fill[shade], k.ink];
}

const sansMore = "italic " + MONO, boldIdle = "650 " + MONO;
function drawBox(b, y, x, w, text) {
  const [fill, ink] = inkOf(b.of), css = cssOf(b.of);
  const faded = stands && !(b.of.frame >= 0 && stands[b.of.frame]);
  g.globalAlpha = faded ? 0.3 : b.above ? 0.6 : 1;
  g.fillStyle = fill;
  g.fillRect(x, y, Math.max(0.3, w - (w > 3 ? 1 : w / 3)), BOX);
  if (!text || w < 30) return;
  const name = gp.cutName(nameOf(b.of), Math.floor((w - 9) / advance));
  if (!name) return;
  g.font = css === "more" ? sansMore : css === "idle" ? boldIdle : MONO;
  g.globalAlpha = b.above ? 0.8 : 1;
  g.fillStyle = faded ? gp.colour("--dim") : ink;
  g.fillText(name, x + 4, y + TEXT_Y, w - 7);
}

function frameBox(b, y, colour, thick) {
  g.globalAlpha = 1;
  g.strokeStyle = colour;
  g.lineWidth = thick;
  g.strokeRect(Math.max(b.x, 0) + thick / 2, y + thick / 2, Math.max(thick, Math.min(b.w, width - b.x) - 1 - thick), BOX - thick);
}

// MAP moves boxes while the view is on its way.
function draw(map = null) {
  const dpr = window.devicePixelRatio || 1, top = stage.scrollTop;
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  g.clearRect(0, 0, width, high);
  const first = Math.max(0, Math.floor(top / ROW) - 1), last = Math.min(rows.length - 1, Math.ceil((top + high) / ROW));
  for (let r = first; r <= last; r++)
    for (const b of rows[r] || []) {
      const y = r * ROW + 4 - top;
      if (!map) { drawBox(b, y, b.x, b.w, true); continue; }
      const left = map(b.x), right = map(b.x + b.w);
      if (right > 0 && left < width) drawBox(b, y, left, right - left, false);
    }
  const own = current && drawn.get(current), over = hover && drawn.get(hover);
  if (over && over !== own && !map) frameBox(over, over.row * ROW + 4 - top, gp.colour("--mark"), 1);
  if (own && !map) frameBox(own, own.row * ROW + 4 - top, gp.colour("--mark"), 2);
  g.globalAlpha = 1;
}

function resize() {
  const style = getComputedStyle(stage), dpr = window.devicePixelRatio || 1;
  width = Math.max(200, stage.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
  high = Math.max(60, stage.clientHeight);
  canvas.width = Math.round(width * dpr);
  canvas.height = Math.round(high * dpr);
  canvas.style.width = width + "px";
  canvas.style.height = high + "px";
  g.font = MONO;
  advance = g.measureText("MMMMMMMMMMMMMMMMMMMM").width / 20 + 0.02;
  layout();
  draw();
}

// Go from the view of OUTER to that of a box in it, or back.
function glide(box, inwards, done) {
  if (gp.calm.matches || !box || box.w < 1 || box.w > width - 1) return done();
  const k = width / box.w, began = performance.now(), turn = ++moving;
  const tick = (now) => {
    if (turn !== moving) return;
    const t = Math.min(1, Math.max(0, (now - began) / 180)), e = t * t * (3 - 2 * t), s = k ** (inwards ? e : 1 - e);
    const shift = box.x * (s - 1) / (k - 1) * k;
    if (t >= 1) return void done();
    draw((x) => x * s - shift);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

function zoomTo(of, quiet = false) {
  const s = sideOf(of), from = s.zoom;
  moving++;
  s.zoom = of;
  found = null;
  const show = () => { layout(); draw(); };
  if (quiet || from === of) show();
  else if (isAbove(from, of)) { const b = drawn.get(of); glide(b, true, show); if (gp.calm.matches || !b) show(); }
  else if (isAbove(of, from)) { layout(); glide(drawn.get(from), false, draw); if (gp.calm.matches) draw(); }
  else show();
  if (!quiet) {
    hash.set({ z: of === s.root || sandwich ? "" : pathHash(of) }, true);
    search.say(matchedText());
    fillTable();
  }
}

// Bring a node into sight, wide enough to be read if possible.
function reveal(of) {
  const s = sideOf(of);
  let zoom = isAbove(s.zoom, of) ? s.zoom : s.root;
  if (of.total / zoom.total * width < 24) {
    zoom = of;
    while (zoom.parent && of.total / zoom.parent.total * width >= 60) zoom = zoom.parent;
  }
  if (zoom !== s.zoom) zoomTo(zoom);
  select(of);
}

// ---- what is selected ----

const panel = gp.panel({ close: () => select(null) });
const stackOf = (of) => { const path = []; for (let a = of; a && a.frame !== ROOT; a = a.parent) if (a.frame !== MORE) path.push(nameOf(a)); return sideOf(of).up ? path : path.reverse(); };

function shareText(of) {
  return gp.share(of.total, measure.whole) + " of all" + (of.parent && of.parent.total !== measure.whole ? ` \u00b7 ${gp.share(of.total, of.parent.total)} of parent` : "");
}

// The other weights of the same tree, where the node is one of it.
function otherFigures(of) {
  if (of.at === undefined || of.frame === MORE) return [];
  const list = measures.filter((m) => m !== measure && m.tree === tree && m.total[of.at] > 0).map((m) => [m.text, figure(m, m.total[of.at]).replace(" " + m.text, "")]);
  const events = measures.find((m) => m.tree === tree && m.id === "count");
  if (measure.unit === "ns" && events && events.total[of.at] > 0) list.push(["mean", gp.ns(Math.round(of.total / events.total[of.at]))]);
  return list;
}

// Of a function that only samples show: the count of samples is as uncertain as its square root.
const samplesOf = (of) => of.frame < frames && samples[of.frame] && measure.whole
  ? `${gp.count(samples[of.frame])} sample${samples[of.frame] > 1 ? "s" : ""}, share \u00b1 ${gp.share(of.total * 1.96 / Math.sqrt(samples[of.frame]), measure.whole)}` : "";

function tellPanel(of) {
  const self = of.at !== undefined ? selves(measure)[of.at] : of.total - kidsOf(of).sum, zoom = sideOf(of).zoom;
  const figures = [
    [measure.text, figure(measure, of.total).replace(" " + measure.text, "") + (measure.unit === "ns" && of.total >= 1000 ? ` (${gp.exactly(of.total, "ns")})` : "")],
    ["of all", gp.share(of.total, measure.whole)],
    of.parent ? ["of parent", gp.share(of.total, of.parent.total)] : null,
    zoom.parent && isAbove(zoom, of) ? ["of view", gp.share(of.total, zoom.total)] : null,
    self > 0 && self < of.total ? ["itself", figure(measure, self).replace(" " + measure.text, "")] : null,
    ...otherFigures(of),
    of.frame === MORE || of.frame === ROOT ? null : ["class", gp.palette()[cssOf(of)].label],
    of.frame < frames && variants[of.frame] > 1 ? ["names", `one of ${gp.count(variants[of.frame])} full names with this label`] : null,
    samplesOf(of) ? ["sampled", samplesOf(of)] : null,
  ];
  const stack = stackOf(of), button = (text, title, onclick) => make("button", { type: "button", textContent: text, title, onclick });
  if (stack.length > 1) figures.push(["stack", make("span", { className: "stack", textContent: stack.join(" \u203a ") })]);
  panel.show(fullOf(of), figures, of.frame === MORE || of.frame >= frames ? [] : [
    gp.copyButton("Copy stack", () => stack.join(";"), "the frames from the root to this one"),
    button("Sandwich", "its callers and callees, over all stacks (s)", () => setSandwich(label[of.frame])),
  ]);
}

function select(of, quiet = false) {
  current = of;
  if (!of) { panel.hide(); items.replaceChildren(); stage.removeAttribute("aria-activedescendant"); }
  else { tellPanel(of); tellTree(of); }
  const before = high;
  if (stage.clientHeight !== before && !asTable) resize();
  const b = of && drawn.get(of);
  if (b && !quiet) {
    const y = b.row * ROW + 4;
    if (y < stage.scrollTop + 2 || y + ROW > stage.scrollTop + high - 4) stage.scrollTop = y - high / 2;
  }
  draw();
}

// The same for those who do not see the canvas: the way to the frame, its neighbours and what it leads to.
function tellTree(of) {
  const line = [];
  for (let a = of.parent; a; a = a.parent) line.unshift(a);
  const beside = of.parent ? kidsOf(of.parent) : null, kids = kidsOf(of), around = [];
  for (let i = Math.max(0, (of.index || 0) - 10); beside && i < Math.min(beside.n, (of.index || 0) + 10); i++) around.push(beside.node(i));
  if (!around.includes(of)) around.push(of);
  const inside = [];
  for (let i = 0; i < Math.min(kids.n, 20); i++) inside.push(kids.node(i));
  const item = (x) => make("div", { role: "treeitem", id: x === of ? "flame-current" : null, "aria-level": x.depth + 1, "aria-selected": String(x === of),
    "aria-expanded": x === of || line.includes(x) ? "true" : kidsOf(x).n ? "false" : null, textContent: `${nameOf(x)}, ${figure(measure, x.total)}, ${shareText(x)}` });
  items.replaceChildren(...line.map(item), ...around.flatMap((x) => x === of ? [item(x), ...inside.map(item)] : [item(x)]));
  stage.setAttribute("aria-activedescendant", "flame-current");
  gp.say(`${fullOf(of)}, ${figure(measure, of.total)}, ${shareText(of)}`);
}

// ---- the table of names ----

const table = make("div", { className: "names", hidden: true, tabIndex: 0, role: "region", "aria-label": "Table of names" });
let sortBy = "self";

// [frame, self, total] of every name in view; a name within itself counts once.
function nameRows() {
  const zoom = sides[0].zoom, at = !sandwich && !arranged && zoom.at !== undefined ? zoom.at : 0;
  const self = selves(measure), { end, frame } = tree, total = measure.total, n = label.length;
  const own = new Float64Array(n), all = new Float64Array(n), until = new Uint32Array(n), list = [];
  for (let i = Math.max(at, 1); i < end[at]; i++) {
    const f = frame[i];
    if (total[i] <= 0 || (stands && !stands[f])) continue;
    if (!all[f]) list.push(f);
    own[f] += self[i];
    if (i >= until[f]) { all[f] += total[i]; until[f] = end[i]; }
  }
  return [list.map((f) => ({ frame: f, self: own[f], total: all[f] })), measure.total[at], at];
}

function fillTable() {
  if (!asTable) return;
  const [list, whole, at] = nameRows();
  list.sort((a, b) => sortBy === "name" ? bytewise(label[a.frame], label[b.frame]) : b[sortBy] - a[sortBy] || a.frame - b.frame);
  const head = (id, text, title, n) => {
    const th = make("th", { scope: "col", title, className: n ? "n" : "" }, make("button", { type: "button", textContent: text, onclick: () => { sortBy = id; fillTable(); } }));
    if (sortBy === id) th.setAttribute("aria-sort", id === "name" ? "ascending" : "descending");
    return th;
  };
  const number = (v, bar) => {
    const td = make("td", { className: bar ? "n bar" : "n", textContent: bar ? gp.share(v, whole) : figure(measure, v).replace(" " + measure.text, "") });
    if (bar) td.style.setProperty("--p", Math.min(100, 100 * v / whole).toFixed(1) + "%");
    return td;
  };
  const rowsShown = list.slice(0, 1000).map((r) => make("tr", {}, make("td", { className: "name", title: full[r.frame] }, make("div", {}, gp.swatch(meta.kinds[kindOf[r.frame]]),
    make("button", { type: "button", textContent: label[r.frame], title: "sandwich: its callers and callees", onclick: () => { setTable(false); setSandwich(label[r.frame]); } }))),
  make("td", { textContent: gp.palette()[meta.kinds[kindOf[r.frame]]].label }), number(r.self, true), number(r.self), number(r.total, true), number(r.total)));
  const tsv = () => "name\tclass\tself\ttotal\n" + list.map((r) => [full[r.frame], meta.kinds[kindOf[r.frame]], r.self, r.total].join("\t")).join("\n") + "\n";
  table.replaceChildren(make("p", {}, `${measure.text} by name, ${at ? "below " + label[tree.frame[at]] : "of all"}: ${gp.count(list.length)} names` +
    (list.length > 1000 ? ", first 1,000 shown. " : ". "), gp.copyButton("Copy TSV", tsv, "all names, in full, with exact values")),
  make("table", {}, make("thead", {}, make("tr", {}, head("name", "Name", "as in the graph"), make("th", { scope: "col", textContent: "Class" }),
    head("self", "Self", "time of stacks that end in this frame", true), make("th"), head("total", "Total", "in this frame or below it", true), make("th"))), make("tbody", {}, ...rowsShown)));
}

// ---- controls ----

const SHORT = { count: "Events", bytes: "Bytes", idle: "Idle time" };
const measureChoice = gp.choice({ label: "Width of a frame", value: measure.id,
  options: measures.map((m) => [m.id, SHORT[m.id] || m.text[0].toUpperCase() + m.text.slice(1), m.whole > 0 ? `${figure(m, m.whole)} in all` : "nothing in this trace"]),
  change: (id) => setView({ measure: measures.find((m) => m.id === id) }) });
measures.forEach((m, i) => { measureChoice.buttons[i].disabled = !(m.whole > 0); });
const arrangeChoice = gp.choice({ label: "Arrangement", value: defaultArranged, options: [["", "By stack", "from the root to the work (k)"], ["inverted", "Inverted", "from the work to the root (i)"],
  ["names", "By name", "class, name, and the stacks that lead to it"], ["sandwich", "Sandwich", "one name, with its callers and callees (s)"]],
change: (id) => id === "sandwich" ? setSandwich(current && current.frame < frames && current.frame >= 0 ? label[current.frame] : heaviestName()) : setView({ arranged: id, sandwich: "" }) });
const orderChoice = gp.choice({ label: "Order", value: "", options: [["", "Widest first", "heaviest on the left"], ["first", "Trace order", "in the order of the trace"]],
  change: (id) => setView({ order: id }) });
const tableButton = make("button", { type: "button", textContent: "Table", title: "names with their self and total weight (t)", "aria-pressed": "false", onclick: () => setTable(!asTable) });
const classes = make("div", { className: "classes", role: "group", "aria-label": "Classes" });
const search = gp.search({ find: (p) => { pattern = p; mark(); draw(); fillTable(); return matchedText(); }, step, placeholder: "Search (regular expression)", label: "search frames by regular expression" });

function heaviestName() {
  const self = selves(measure);
  let best = 1;
  for (let i = 1; i < tree.n; i++) if (self[i] > self[best]) best = i;
  return label[tree.frame[best]];
}

// What the weight is for: below the first frame of GPU work, for that frame; otherwise for the frame in which
// it ends.
function classWeights(m) {
  if (m.classes) return m.classes;
  const { n, parent, frame, end } = m.tree, self = selves(m), weights = new Float64Array(meta.kinds.length);
  const work = meta.kinds.map((css) => !["frame", "root", "range", "module", "python", "op", "api", "unattributed", "more", "idle"].includes(css));
  weights[rootKind] += self[0];
  for (let i = 1; i < n; i++) {
    const k = kindOf[frame[i]];
    if (work[k]) { weights[k] += m.total[i]; i = end[i] - 1; } else weights[k] += self[i];
  }
  return m.classes = weights;
}

function fillClasses() {
  const weights = classWeights(measure), idle = meta.kinds.indexOf("idle"), shares = !tree.kindSeen[idle];
  const list = Object.keys(gp.palette()).filter((css) => css !== "frame" && css !== "more" && tree.kindSeen[meta.kinds.indexOf(css)]);
  classes.hidden = list.length < 2;
  classes.classList.toggle("chosen", !!kind);
  classes.replaceChildren(...list.map((css) => {
    const w = shares ? weights[meta.kinds.indexOf(css)] : 0;
    return make("button", { type: "button", className: w > 0 || css === "idle" ? "" : "way", "aria-pressed": String(kind === css), title: "show only this class", "data-k": css,
      onclick: () => { kind = kind === css ? "" : css; hash.set({ c: kind }); mark(); fillClasses(); draw(); fillTable(); search.say(matchedText()); } },
    gp.swatch(css), gp.palette()[css].label, w > 0 ? make("b", { textContent: gp.share(w, measure.whole) }) : null);
  }));
}

function showControls() {
  measureChoice.show(measure.id);
  arrangeChoice.buttons[2].textContent = measure.id === "gpu" || measure.id === "count" || measure.id === "bytes" ? "By kernel" : "By name";
  arrangeChoice.show(sandwich ? "sandwich" : arranged);
  orderChoice.show(order);
  tableButton.setAttribute("aria-pressed", String(asTable));
}

// Change what is shown; the zoom is kept where the new view has it.
function setView(change, remember = true) {
  const zoomed = sides.length && sides[0].zoom !== sides[0].root && !sandwich ? pathHash(sides[0].zoom) : "";
  const chosen = current && !sandwich ? pathHash(current) : "";
  if (change.measure) measure = change.measure;
  if (change.arranged !== undefined) arranged = change.arranged;
  if (change.order !== undefined) order = change.order;
  if (change.sandwich !== undefined) sandwich = change.sandwich;
  if (sandwich) arranged = change.arranged ?? arranged;
  arrange();
  mark();
  const keep = change.measure || change.order !== undefined;
  const zoom = keep && zoomed ? findPath(zoomed) : null, again = keep && chosen ? findPath(chosen) : null;
  if (zoom) sides[0].zoom = zoom;
  stage.scrollTop = 0;
  showControls();
  fillClasses();
  select(again, true);
  resize();
  if (sandwich) stage.scrollTop = Math.max(0, (drawn.get(sides[0].root)?.row || 0) * ROW - high / 2);
  draw();
  if (remember) {
    hash.set({ v: measure === opened ? "" : measure.id, a: arranged === defaultArranged ? "" : arranged || "stack", o: order, n: sandwich, z: zoom ? zoomed : "" }, true);
    search.say(matchedText());
  }
  fillTable();
}
const setSandwich = (name) => setView({ sandwich: name });

function setTable(on) {
  asTable = on;
  stage.hidden = on;
  table.hidden = !on;
  hash.set({ t: on ? "1" : "" });
  showControls();
  if (on) { select(null); fillTable(); } else resize();
}

function findPath(z) {
  let hit = null;
  heaviest(sides[0].root, (x) => { if (pathHash(x) === z) hit = x; return hit; }, 100000);
  return hit;
}

// The stacks as trace2flame -f folded writes them.
function folded() {
  const self = selves(measure), { n, depth, frame } = tree, parts = [], path = [];
  const clean = (s) => { const t = s.replace(/[\u2400-\u2421]/g, "_").replace(/;/g, ":").replace(/ +$/, ""), m = /^(.*?)( +)([0-9.]+)$/.exec(t); return !t ? "[no name]" : m ? m[1] + "_".repeat(m[2].length) + m[3] : t; };
  const cleaned = [];
  let text = "";
  for (let i = 0; i < n; i++) {
    if (i) path[depth[i] - 1] = cleaned[frame[i]] ??= clean(label[frame[i]]);
    path.length = depth[i];
    if (self[i] > 0) text += (path.join(";") || "all") + " " + self[i] + "\n";
    if (text.length > 1e6) { parts.push(text); text = ""; }
  }
  parts.push(text);
  return parts;
}

const saveButton = make("button", { type: "button", textContent: "Save stacks", title: "save all stacks with this weight as folded text",
  onclick: () => gp.save(gp.fileName(`.${measure.id}.folded`), "text/plain", ...folded()) });

// ---- the mouse ----

function under(e) {
  const r = canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top + stage.scrollTop - 4;
  if (x < 0 || x >= width || y < 0) return null;
  for (const b of rows[Math.floor(y / ROW)] || []) if (x >= b.x && x < b.x + Math.max(b.w, 1)) return b.of;
  return null;
}
stage.addEventListener("pointermove", (e) => {
  const of = under(e);
  if (of !== hover) { hover = of; draw(); stage.style.cursor = of ? "pointer" : ""; }
  if (!of) return gp.tip.hide();
  gp.tip.show(e.clientX, e.clientY, fullOf(of), [`${figure(measure, of.total)} \u00b7 ${shareText(of)}`,
    otherFigures(of).map(([k, v]) => `${k} ${v}`).join(" \u00b7 "), of.frame === MORE ? "too narrow to draw individually; click to open" : "",
    samplesOf(of) ? `sampled: ${samplesOf(of)}` : ""]);
});
stage.addEventListener("pointerleave", () => { hover = null; gp.tip.hide(); draw(); });
stage.addEventListener("click", (e) => {
  const of = under(e);
  if (!of) return;
  gp.tip.hide();
  zoomTo(of);
  select(of, true);
});
stage.addEventListener("scroll", () => { gp.tip.hide(); draw(); }, { passive: true });

// ---- the keyboard ----

function go(where) {
  if (asTable) return false;
  if (!current) { select(sides[0].zoom); return true; }
  const s = sideOf(current), mirrored = s.up && current !== s.root;
  let next = null;
  if (where === "in" || where === "out") {
    const inwards = (where === "in") !== mirrored;
    if (!inwards && !current.parent) next = sides[1] && kidsOf(sides[1].root).n ? kidsOf(sides[1].root).node(0) : null;
    else next = inwards ? kidsOf(current).n ? kidsOf(current).node(0) : null : current.parent;
    if (next === sides[1]?.root) next = sides[0].root;
  } else if (current.parent) {
    const kids = kidsOf(current.parent), at = (current.index ?? 0) + (where === "right" ? 1 : -1);
    next = at >= 0 && at < kids.n ? kids.node(at) : besides(current, where === "right");
  }
  if (!next) return true;
  if (!drawn.has(next) || drawn.get(next).above) reveal(next); else select(next);
  return true;
}
// The nearest box of the same row under another parent.
function besides(of, right) {
  const b = drawn.get(of);
  if (!b) return null;
  const line = (rows[b.row] || []).filter((x) => x.of.frame !== MORE && (right ? x.x > b.x : x.x < b.x)).sort((p, q) => right ? p.x - q.x : q.x - p.x);
  return line.length ? line[0].of : null;
}
const whole = () => { for (const s of [...sides].reverse()) if (s.zoom !== s.root) zoomTo(s.root); };
const toArranged = (id) => setView({ arranged: arranged === id ? "" : id, sandwich: "" });

gp.keys.add([
  ["ArrowUp ArrowDown", "to the parent, to the widest child", (e) => go(e.key === "ArrowUp" ? "out" : "in")],
  ["ArrowLeft ArrowRight", "to the neighbours", (e) => go(e.key === "ArrowLeft" ? "left" : "right")],
  ["Enter", "zoom to the selected frame (or click it)", () => { if (current) { const of = current; zoomTo(of); select(of); } }],
  ["0", "back to the whole picture", whole],
  ["i", "inverted view, and back", () => toArranged("inverted")], ["k", "by kernel or name, and back", () => toArranged("names")],
  ["s", "sandwich of the selected name, and back", () => sandwich ? setView({ sandwich: "" }) : current && current.frame < frames && current.frame >= 0 && setSandwich(label[current.frame])],
  ["o", "widest first, or in trace order", () => setView({ order: order ? "" : "first" })],
  ["t", "table of names", () => setTable(!asTable)],
  ["c", "copy the name of the selected frame", async () => { if (current) gp.say(await gp.copy(fullOf(current)) ? "copied" : "the browser does not allow copying here"); }],
  [weighed.map((m, i) => i + 1).join(" "), weighed.map((m) => m.text).join(", "), (e) => setView({ measure: weighed[e.key - 1] })],
], "Flame graph");
gp.keys.onEscape(() => { if (sides.every((s) => s.zoom === s.root)) return false; whole(); return true; });
gp.keys.onEscape(() => { if (!sandwich || current) return false; setView({ sandwich: "" }); return true; });
gp.keys.onEscape(() => { if (!current) return false; select(null); return true; });
gp.keys.onEscape(() => { if (!kind) return false; kind = ""; hash.set({ c: "" }); mark(); fillClasses(); draw(); search.say(matchedText()); return true; });

// ---- begin ----

const header = main.querySelector("header");
header.replaceChildren(make("div", { className: "titles" }, ...header.children), search.element, gp.pageTools(tableButton, saveButton));
main.append(make("div", { className: "bars" }, measures.length > 1 ? measureChoice.element : null, arrangeChoice.element, orderChoice.element), classes, stage, table, panel.element);
document.documentElement.classList.add("live");

function recall(h) {
  measure = weighed.find((m) => m.id === h.v) || opened;
  arranged = h.a === "stack" ? "" : ["inverted", "names"].includes(h.a) ? h.a : defaultArranged;
  order = h.o === "first" ? "first" : "";
  sandwich = h.n || "";
  kind = meta.kinds.includes(h.c) ? h.c : "";
  asTable = h.t === "1";
  stage.hidden = asTable;
  table.hidden = !asTable;
  setView({}, false);
  const zoom = h.z && !sandwich ? findPath(h.z) : null;
  if (zoom) zoomTo(zoom, true);
  search.set(h.s || "");
  search.say(matchedText());
}
hash.on(recall);
addEventListener("resize", resize);
gp.theme.on(() => { hatches = null; fillClasses(); draw(); });
})();
