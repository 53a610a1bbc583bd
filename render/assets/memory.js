// memory.js -- memory over time on trace-memory's page: a curve that zooms, who held what at any moment, its stacks as a flame
// graph. Draws from packed data (render/memory/memory_pack.h) in place of the still pictures; without it they stay.
"use strict";
(() => {
const { make, ns, bytes, count, share } = gp;
const SVG = "http://www.w3.org/2000/svg";

function el(tag, props = {}, ...inside) {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(props)) if (v !== undefined) e.setAttribute(k, v);
  e.append(...inside.filter((x) => x !== null && x !== undefined));
  return e;
}

// ---- data ----

const MOST = 4e6; // numbers of a table: damaged data must not fill the reader's memory
const broken = () => new Error("the data of this page is damaged");

function decode(r) {
  const points = () => {
    const n = r.count(3), p = { n, time: new Float64Array(n), allocated: new Float64Array(n), reserved: new Float64Array(n) };
    let sum = 0;
    for (let i = 0; i < n; i++) p.time[i] = sum += r.next();
    for (const column of [p.allocated, p.reserved]) {
      sum = 0;
      for (let i = 0; i < n; i++) column[i] = sum += r.signed();
    }
    return p;
  };
  const texts = [""];
  const text = () => {
    const k = r.next();
    if (k > texts.length) throw broken();
    if (!k) texts.push(r.text());
    return texts[k ? k - 1 : texts.length - 1];
  };
  const categories = Array.from({ length: r.count(2) }, () => ({ name: r.text(), k: r.text() }));
  const curve = points();
  if (!curve.n || categories.length * curve.n > MOST) throw broken();
  for (const c of categories) {
    c.bytes = new Float64Array(curve.n);
    for (let i = 0, sum = 0; i < curve.n; i++) c.bytes[i] = sum += r.signed();
    c.any = c.bytes.some((v) => v > 0);
  }
  const moments = points(), peak = r.next(), oom = r.next() - 1;
  if (peak >= moments.n || oom >= moments.n) throw broken();
  const frames = [];
  for (let i = 0, n = r.count(2); i < n; i++) {
    const parent = r.next() - 1;
    if (parent >= i) throw broken();
    frames.push({ parent, name: text() });
  }
  const sites = [], n = r.count(4);
  if (n * moments.n > MOST) throw broken();
  for (let s = 0; s < n; s++) {
    const frame = r.next() - 1, category = categories[r.next()], name = r.text();
    if (frame >= frames.length || !category) throw broken();
    const held = new Float64Array(moments.n), blocks = new Float64Array(moments.n);
    let at = 0, b = 0, k = 0;
    for (let left = r.count(3); left > 0; left--) {
      const next = at + r.next();
      if (next >= moments.n) throw broken();
      held.fill(b, at, next);
      blocks.fill(k, at, next);
      at = next;
      b += r.signed();
      k += r.signed();
    }
    held.fill(b, at);
    blocks.fill(k, at);
    sites.push({ frame, category, name, bytes: held, blocks });
  }
  const ranges = [];
  for (let i = 0, m = r.count(4), begin = 0; i < m; i++) {
    begin += r.next();
    const length = r.next(), lane = r.next();
    if (lane > 8) throw broken();
    ranges.push({ begin, end: begin + length, lane, name: text() });
  }
  return { categories, curve, moments, peak, oom, frames, sites, ranges, stepLanes: r.next() };
}

// The index of the last of N times at or before T, at least 0.
function lastBefore(times, n, t) {
  let lo = 0, hi = n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (times[mid] <= t) lo = mid + 1; else hi = mid;
  }
  return Math.max(0, lo - 1);
}

// The least of 1, 2, 5, 10, 20 ... that needs at most COUNT steps.
function tickStep(most, steps) {
  for (let unit = 1; ; unit *= 10) for (const k of [1, 2, 5]) if (most / (unit * k) <= steps) return unit * k;
}

// A time on an axis whose ticks are BY apart: as many digits as tell them apart.
function tickTime(t, by) {
  const [unit, name] = t >= 1e9 ? [1e9, "s"] : t >= 1e6 ? [1e6, "ms"] : t >= 1e3 ? [1e3, "\u00b5s"] : [1, "ns"];
  return (t / unit).toFixed(Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / by) - 1e-9)))) + " " + name;
}

// ---- one device ----

const LEFT = 74, RIGHT = 8, TOP = 24, HEIGHT = 240, AXIS = 24, LANE = 18, ROW = 20, MOST_BOXES = 1500;

function view(root, number, d) {
  const over = root.querySelector(".over-time"), stacks = root.querySelector(".stacks");
  const end = d.curve.time[d.curve.n - 1] || 1, lanes = d.ranges.reduce((most, r) => Math.max(most, r.lane + 1), 0);
  const steps = d.ranges.filter((r) => r.lane === 0), height = TOP + HEIGHT + AXIS + lanes * LANE;
  let from = 0, to = end, chosen = d.peak, width = 0, zoomed = null, current = null;

  const svg = el("svg", { class: "chart memory", role: "img", tabindex: 0, "aria-label": "Memory over time. Arrow keys move to the next or previous moment." });
  over.querySelector("svg.chart").replaceWith(svg);
  over.removeAttribute("tabindex");
  const flame = el("svg", { class: "flame memory", role: "img", tabindex: 0, "aria-label": "Stacks by bytes. Arrow keys move between boxes, Enter zooms." });
  stacks.querySelector("svg").replaceWith(flame);
  const title = stacks.querySelector("figcaption strong"), words = stacks.querySelector("figcaption span");

  // ---- colours: what memory holds, or who allocated it ----

  const HUES = ["gemm", "memcpy", "elementwise", "reduction", "attention", "communication", "memset", "compute"];
  d.sites.forEach((s, i) => { s.k = i < HUES.length && s.frame >= 0 ? HUES[i] : "api"; });
  const unknown = d.sites.reduce((n, s) => n + (/^(unknown|several)$/.test(s.category.name) ? s.bytes[d.peak] : 0), 0);
  let colours = unknown * 2 > d.moments.allocated[d.peak] ? "stack" : "content";
  const colourOf = (s) => colours === "stack" ? s.k : s.category.k;

  const plotWidth = () => width - LEFT - RIGHT;
  const x = (t) => LEFT + (t - from) / (to - from || 1) * plotWidth();
  const timeAt = (px) => from + (px - LEFT) / plotWidth() * (to - from);
  const rangeAt = (t) => d.ranges.filter((r) => r.begin <= t && t <= r.end).sort((a, b) => a.lane - b.lane).map((r) => r.name).join(" > ");

  // ---- the curve ----

  // Two points per pixel of those in view: the highest, and the last, which holds until the next. The first is the state at
  // the left edge.
  function visible(of) {
    const { time, allocated, n } = of, out = [], first = lastBefore(time, n, from);
    let column = -1, begin = 0;
    for (let i = first; i < n && (i === first || time[i] <= to); i++) {
      const px = Math.floor(Math.max(x(time[i]), LEFT));
      if (px !== column) begin = out.length;
      column = px;
      if (out.length - begin < 2) { out.push(i); continue; }
      const [high, last] = [out[begin], out[begin + 1]];
      if (allocated[last] > allocated[high]) out[begin] = last;
      out[begin + 1] = i;
    }
    return out;
  }

  function area(times, points, values, y) {
    let path = `M${LEFT} ${TOP + HEIGHT}`;
    points.forEach((i, k) => { path += `H${Math.max(LEFT, x(times[i])).toFixed(1)}V${y(values[k]).toFixed(1)}`; });
    return path + `H${LEFT + plotWidth()}V${TOP + HEIGHT}Z`;
  }

  function label(text, px, py, props = {}) { return el("text", { x: px.toFixed(1), y: py.toFixed(1), ...props }, text); }

  function drawAxes(most, y) {
    const g = el("g");
    for (let v = 0, by = tickStep(most, 5); v <= most; v += by)
      g.append(el("line", { class: "rule", x1: LEFT, x2: LEFT + plotWidth(), y1: y(v), y2: y(v) }), label(bytes(v), LEFT - 7, y(v) + 4, { class: "tick label" }));
    const by = tickStep(to - from, Math.max(1, Math.floor(plotWidth() / 90)));
    for (let t = Math.ceil(from / by) * by; t <= to; t += by)
      g.append(el("line", { class: "rule", x1: x(t), x2: x(t), y1: TOP, y2: TOP + HEIGHT + 4 }), label(tickTime(t, by), x(t), TOP + HEIGHT + 17, { class: "tick mid" }));
    return g;
  }

  function drawLanes() {
    const g = el("g");
    for (const r of d.ranges) {
      const x1 = Math.max(LEFT, x(r.begin)), x2 = Math.min(LEFT + plotWidth(), x(r.end)), y = TOP + HEIGHT + AXIS + r.lane * LANE;
      if (r.end < from || r.begin > to || x2 - x1 < 1) continue;
      g.append(el("rect", { class: r.lane ? "k-op" : "k-range", x: x1.toFixed(1), y, width: (x2 - x1 - .4).toFixed(1), height: LANE - 2 }, el("title", {}, `${r.name}: ${ns(r.end - r.begin)}`)));
      const text = x2 - x1 > 30 ? gp.cutName(r.name, Math.floor((x2 - x1 - 8) / 6.6)) : "";
      if (text) g.append(label(text, x1 + 4, y + 12, { class: "lane" }));
    }
    return g;
  }

  function mark(t, text, kind) {
    if (t < from || t > to) return null;
    const right = x(t) > LEFT + plotWidth() * .6;
    return el("g", {}, el("line", { class: kind, x1: x(t), x2: x(t), y1: TOP, y2: TOP + HEIGHT }),
      text ? label(text, x(t) + (right ? -3 : 3), TOP - 9, { class: right ? "halo end" : "halo" }) : null);
  }

  // What is stacked, the lowest first: [class, bytes by point]; sites that have no hue are one.
  function layers(points) {
    if (colours === "content") return [d.curve, points, d.categories.filter((c) => c.any).map((c) => [c.k, points.map((i) => c.bytes[i])])];
    const at = visible(d.moments), all = [], rest = at.map(() => 0);
    for (const s of d.sites) {
      if (s.k === "api") at.forEach((i, k) => { rest[k] += s.bytes[i]; });
      else all.push([s.k, at.map((i) => s.bytes[i])]);
    }
    return [d.moments, at, [["api", rest], ...all]];
  }

  function drawCurve() {
    const points = visible(d.curve), most = Math.max(1, ...points.map((i) => Math.max(d.curve.reserved[i], d.curve.allocated[i])));
    const y = (v) => TOP + HEIGHT * (1 - v / most);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const parts = [drawAxes(most, y), el("path", { class: "k-idle", d: area(d.curve.time, points, points.map((i) => d.curve.reserved[i]), y) })];
    const [of, places, stacked] = layers(points), sums = places.map((i) => of.allocated[i]);
    for (const [k, values] of stacked.reverse()) {
      parts.push(el("path", { class: "k-" + k, d: area(of.time, places, sums, y) }));
      values.forEach((v, i) => { sums[i] -= v; });
    }
    const peak = d.moments.time[d.peak], at = d.moments.time[chosen];
    parts.push(drawLanes(), mark(peak, chosen === d.peak ? null : "peak " + bytes(d.moments.allocated[d.peak]), "mark"));
    if (d.oom >= 0) parts.push(mark(d.moments.time[d.oom], chosen === d.oom ? null : "out of memory", "mark bad"));
    parts.push(mark(at, `${chosen === d.peak ? "peak " : chosen === d.oom ? "out of memory, " : ""}${bytes(d.moments.allocated[chosen])}`, "chosen"));
    if (at >= from && at <= to) parts.push(el("circle", { class: "chosen", cx: x(at), cy: y(d.moments.allocated[chosen]), r: 4 }));
    svg.replaceChildren(...parts.filter(Boolean));
  }

  // ---- stacks ----

  function tree() {
    const all = d.frames.map((f) => ({ ...f, value: 0, blocks: 0, children: [], site: undefined }));
    const top = { name: d.moments.allocated[chosen] ? "allocated" : "nothing allocated", value: 0, blocks: 0, children: [], parent: null, index: -1 };
    const tops = [];
    d.sites.forEach((s) => {
      const v = s.bytes[chosen];
      if (v <= 0) return;
      if (s.frame < 0) { // all others
        tops.push({ name: s.name, value: v, blocks: s.blocks[chosen], children: [], site: s });
        top.value += v;
        return;
      }
      const f = all[s.frame];
      f.value += v;
      f.blocks += s.blocks[chosen];
      f.site = f.site && f.site !== s ? null : s;
    });
    for (let i = all.length; i-- > 0;) {
      const f = all[i];
      if (!f.value) continue;
      const up = f.parent < 0 ? top : all[f.parent];
      up.value += f.value;
      up.blocks += f.blocks;
      up.children.push(f);
    }
    top.children.push(...tops);
    const path = (node, parent, depth) => {
      node.up = parent;
      node.depth = depth;
      node.path = gp.pathHash(parent ? parent.path : "", node.name);
      node.children.sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
    };
    const stack = [[top, null, 0]];
    while (stack.length) {
      const [node, parent, depth] = stack.pop();
      path(node, parent, depth);
      for (const c of node.children) stack.push([c, node, depth + 1]);
    }
    return top;
  }

  let top = null;
  const find = (path) => {
    const stack = [top];
    while (stack.length) {
      const node = stack.pop();
      if (node.path === path) return node;
      stack.push(...node.children);
    }
    return top;
  };

  function drawFlame() {
    top = tree();
    const root = zoomed ? find(zoomed) : top, boxes = [], above = [];
    for (let n = root.up; n; n = n.up) above.unshift(n);
    if (!current || find(current) === top) current = root.path;
    let deepest = 0;
    const scale = root.value ? (width - 2) / root.value : 0;
    const stack = [[root, 0]];
    while (stack.length && boxes.length < MOST_BOXES) {
      const [node, start] = stack.pop();
      if (node.value * scale < .6) continue;
      boxes.push([node, start * scale, node.value * scale, above.length + node.depth - root.depth]);
      let at = start;
      const below = node.children.map((c) => { const entry = [c, at]; at += c.value; return entry; });
      stack.push(...below.reverse());
    }
    above.forEach((n, i) => boxes.push([n, 0, width - 2, i]));
    for (const b of boxes) deepest = Math.max(deepest, b[3]);
    const high = (deepest + 1) * ROW;
    flame.setAttribute("viewBox", `0 0 ${width} ${high}`);
    flame.setAttribute("width", width);
    flame.setAttribute("height", high);
    flame.replaceChildren(el("g", { class: "frames" }, ...boxes.map(([node, px, wide, row]) => {
      const k = !node.up ? "root" : node.site ? colourOf(node.site) : "python";
      const g = el("g", { class: "box" + (node.path === current ? " current" : ""), "data-path": node.path },
        el("rect", { class: "k-" + k, x: px.toFixed(1), y: row * ROW, width: Math.max(.5, wide - .6).toFixed(1), height: ROW - 1 }));
      const text = wide > 30 ? gp.cutName(node.up ? node.name : `${bytes(node.value)} ${node.name}`, Math.floor((wide - 6) / 6.7)) : "";
      if (text) g.append(el("text", { x: (px + 4).toFixed(1), y: row * ROW + 14, style: `fill:var(--k-${k}-ink)` }, text));
      g.node = node;
      return g;
    })));
  }

  function choose(node, loud) {
    current = node.path;
    for (const g of flame.querySelectorAll(".box")) g.classList.toggle("current", g.node === node || g.dataset.path === current);
    if (loud) gp.say(`${node.name}: ${bytes(node.value)}, ${share(node.value, top.value)}`);
  }

  function zoomFlame(node) {
    zoomed = node === top ? null : node.path;
    current = node.path;
    drawFlame();
  }

  // ---- who holds it ----

  const table = make("table", { className: "now" });
  const said = make("p", { className: "now" });
  const tell = (text) => make("td", { textContent: text });
  const right = (text) => make("td", { className: "n", textContent: text });

  function drawHolders() {
    const t = d.moments.time[chosen], all = d.moments.allocated[chosen];
    const held = d.sites.filter((s) => s.bytes[chosen] > 0).sort((a, b) => (a.frame < 0) - (b.frame < 0) || b.bytes[chosen] - a.bytes[chosen]);
    const shown = held.slice(0, 14), rest = held.slice(14);
    const where = rangeAt(t), reserved = d.moments.reserved[chosen];
    title.textContent = chosen === d.peak ? "Who held the peak " : chosen === d.oom ? "Who held what when memory ran out " : "Who held what at this moment ";
    words.textContent = "stacks from the outermost call down, as wide as their bytes; coloured where the memory is allocated";
    said.replaceChildren(make("b", { textContent: bytes(all) }), ` allocated${reserved ? ` of ${bytes(reserved)} reserved` : ""}, ${ns(t)} into the history${where ? ", in " + where : ""}`);
    const line = (name, k, category, blocks, v) => make("tr", {}, make("td", { title: name }, gp.swatch(k), gp.cutName(name, 90)), tell(category), right(count(blocks)), right(bytes(v)), right(share(v, all)));
    const rows = shown.map((s) => line(s.name, colourOf(s), s.category.name, s.blocks[chosen], s.bytes[chosen]));
    if (rest.length) rows.push(line(`${count(rest.length)} more`, "more", "", rest.reduce((n, s) => n + s.blocks[chosen], 0), rest.reduce((n, s) => n + s.bytes[chosen], 0)));
    table.replaceChildren(make("thead", {}, make("tr", {}, ...["Allocated by", "Holds", "Blocks", "Bytes", "Share"].map((h, i) => make("th", { scope: "col", className: i > 1 ? "n" : "", textContent: h })))),
      make("tbody", {}, ...rows));
  }

  // ---- moving ----

  function select(i, remember = true) {
    const next = Math.max(0, Math.min(d.moments.n - 1, i));
    chosen = next;
    zoomed = null;
    const t = d.moments.time[chosen];
    if (t < from || t > to) [from, to] = [0, end];
    draw();
    buttons();
    gp.say(said.textContent);
    if (remember) gp.hash.set({ ["t" + number]: chosen === d.peak ? "" : String(t) });
  }
  function nearest(t) {
    const i = lastBefore(d.moments.time, d.moments.n, t);
    return i + 1 < d.moments.n && d.moments.time[i + 1] - t < t - d.moments.time[i] ? i + 1 : i;
  }
  function zoom(a, b) {
    const least = Math.max(1, end / 1e7);
    if (b - a < least) b = a + least;
    [from, to] = [Math.max(0, a), Math.min(end, b)];
    if (to <= from) [from, to] = [0, end];
    drawCurve();
    buttons();
  }
  const zoomBy = (factor, around = Math.min(Math.max(d.moments.time[chosen], from), to)) => zoom(around - (around - from) * factor, around + (to - around) * factor);

  const button = (text, hint, f) => make("button", { type: "button", textContent: text, title: hint, onclick: f });
  const toPeak = button("Peak", "go to the peak", () => select(d.peak)), toEnd = button("End", "go to the end", () => select(d.moments.n - 1));
  const toOom = d.oom >= 0 ? button("Out of memory", "go to where memory ran out", () => select(d.oom)) : null;
  const back = button("\u2190", "previous moment", () => select(chosen - 1)), next = button("\u2192", "next moment", () => select(chosen + 1));
  const inStep = steps.length ? button("Zoom to step", "show the step of this moment", () => {
    const t = d.moments.time[chosen], s = steps.filter((r) => r.begin <= t && t <= r.end).sort((a, b) => (a.end - a.begin) - (b.end - b.begin))[0];
    const r = s || steps[0], room = (r.end - r.begin) * .03;
    zoom(r.begin - room, r.end + room);
  }) : null;
  const whole = button("Whole history", "show all of it", () => zoom(0, end));
  function buttons() {
    toPeak.disabled = chosen === d.peak;
    toEnd.disabled = next.disabled = chosen === d.moments.n - 1;
    back.disabled = chosen === 0;
    if (toOom) toOom.disabled = chosen === d.oom;
    whole.disabled = from === 0 && to === end;
  }
  const legend = over.querySelector(".legend"), still = [...legend.childNodes];
  function drawLegend() {
    if (colours === "content") return legend.replaceChildren(...still);
    const named = d.sites.filter((s) => s.k !== "api").map((s) => make("span", { title: s.name }, gp.swatch(s.k), gp.cutName(s.name, 40)));
    const reserved = d.moments.reserved.some((v) => v > 0) ? make("span", {}, gp.swatch("idle"), "reserved, not allocated") : null;
    return legend.replaceChildren(...named, ...(d.sites.some((s) => s.k === "api" && s.bytes.some((v) => v > 0)) ? [make("span", {}, gp.swatch("api"), "others")] : []), ...(reserved ? [reserved] : []));
  }
  const colouring = gp.choice({ label: "colours", options: [["content", "By content", "colour by what the memory holds"], ["stack", "By stack", "colour by who allocated it"]], value: colours,
    change: (v) => { colours = v; drawLegend(); draw(); } });
  drawLegend();
  const tools = make("div", { className: "controls" }, back, next, toPeak, toOom, toEnd, inStep, whole, colouring.element,
    make("span", { className: "hint", textContent: "click: who held what then; drag: zoom" }));
  over.querySelector(".legend").after(tools);
  over.append(said, make("div", { className: "scroll" }, table));

  // ---- pointer and keys ----

  let down = null, band = null;
  const place = (e) => e.clientX - svg.getBoundingClientRect().left;
  svg.addEventListener("pointerdown", (e) => {
    if (e.button || place(e) < LEFT) return;
    down = place(e);
    svg.setPointerCapture?.(e.pointerId);
  });
  svg.addEventListener("pointermove", (e) => {
    const px = place(e), t = timeAt(px);
    if (down !== null && Math.abs(px - down) > 4) {
      band?.remove();
      band = el("rect", { class: "band", x: Math.min(px, down), y: TOP, width: Math.abs(px - down), height: HEIGHT });
      svg.append(band);
    }
    if (px < LEFT || px > LEFT + plotWidth()) return gp.tip.hide();
    const i = lastBefore(d.curve.time, d.curve.n, t), by = d.categories.map((c) => [c.bytes[i], c.name]).filter(([v]) => v > 0).sort((a, b) => b[0] - a[0]).slice(0, 4);
    gp.tip.show(e.clientX, e.clientY, `${bytes(d.curve.allocated[i])} allocated`, [
      d.curve.reserved[i] ? `of ${bytes(d.curve.reserved[i])} reserved` : "", `${ns(Math.round(t))} into the history`, rangeAt(t), by.map(([v, name]) => `${bytes(v)} ${name}`).join(", ")]);
    return undefined;
  });
  svg.addEventListener("pointerleave", () => gp.tip.hide());
  svg.addEventListener("pointerup", (e) => {
    const px = place(e), start = down;
    down = null;
    band?.remove();
    band = null;
    if (start === null) return;
    if (Math.abs(px - start) > 4) zoom(timeAt(Math.max(LEFT, Math.min(px, start))), timeAt(Math.max(px, start)));
    else select(nearest(timeAt(px)));
  });
  svg.addEventListener("pointercancel", () => { down = null; band?.remove(); band = null; });
  svg.addEventListener("keydown", (e) => {
    const does = { ArrowLeft: () => select(chosen - (e.shiftKey ? 10 : 1)), ArrowRight: () => select(chosen + (e.shiftKey ? 10 : 1)), Home: () => select(0), End: () => select(d.moments.n - 1),
      "+": () => zoomBy(.5), "=": () => zoomBy(.5), "-": () => zoomBy(2), 0: () => zoom(0, end) }[e.key];
    if (!does || e.ctrlKey || e.metaKey || e.altKey) return;
    does();
    e.preventDefault();
  });

  const boxOf = (e) => e.target.closest?.(".box")?.node;
  flame.addEventListener("click", (e) => { const node = boxOf(e); if (node) zoomFlame(zoomed === node.path ? node.up || top : node); });
  flame.addEventListener("pointermove", (e) => {
    const node = boxOf(e);
    if (!node) return gp.tip.hide();
    return gp.tip.show(e.clientX, e.clientY, node.name, [`${bytes(node.value)}, ${share(node.value, top.value)}`, `${count(node.blocks)} block${node.blocks === 1 ? "" : "s"}`, node.site ? node.site.category.name : ""]);
  });
  flame.addEventListener("pointerleave", () => gp.tip.hide());
  flame.addEventListener("keydown", (e) => {
    const node = find(current), siblings = node.up ? node.up.children : [node], at = siblings.indexOf(node);
    const to = { ArrowUp: node.up, ArrowDown: node.children[0], ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1] };
    if (e.ctrlKey || e.metaKey || e.altKey || (!(e.key in to) && e.key !== "Enter")) return;
    if (e.key === "Enter") zoomFlame(zoomed === node.path ? top : node);
    else if (to[e.key]) choose(to[e.key], true);
    e.preventDefault();
  });
  gp.keys.onEscape(() => {
    if (zoomed) { zoomed = null; drawFlame(); return true; }
    if (from === 0 && to === end) return false;
    zoom(0, end);
    return true;
  });

  function draw() {
    drawCurve();
    drawHolders();
    drawFlame();
  }
  // At first, the steps that are like each other: a start-up that lasts seconds would leave no room for them.
  function open() {
    const all = steps.length > 3 ? steps.slice(1) : steps, at = d.moments.time[chosen];
    if (all.length < 2) return;
    const a = Math.min(at, ...all.map((r) => r.begin)), b = Math.max(at, ...all.map((r) => r.end)), room = (b - a) * .02;
    if (b - a < end * .4) [from, to] = [Math.max(0, a - room), Math.min(end, b + room)];
  }
  open();
  function fit() {
    const room = Math.max(300, Math.floor(over.clientWidth));
    if (room === width) return;
    width = room;
    draw();
  }
  new ResizeObserver(fit).observe(over);
  fit();
  buttons();
  gp.hash.on((h) => {
    const t = h["t" + number], i = t === undefined || !/^\d+$/.test(t) ? d.peak : nearest(Number(t));
    if (i !== chosen) select(i, false);
  });
  return { select, peak: d.peak, end: d.moments.n - 1, oom: d.oom };
}

// ---- the page ----

const views = [];
const onAll = (f) => { for (const v of views) f(v); };
async function start() {
  for (const [i, root] of [...document.querySelectorAll(".device[data-memory]")].entries()) {
    try {
      views.push(view(root, i, decode(gp.reader(await gp.unpack(root.dataset.memory)))));
    } catch (e) { // the still pictures stay
      root.prepend(make("p", { className: "note", textContent: "These pictures do not react: " + e.message }));
    }
  }
  if (!views.length) return;
  gp.keys.add([["p", "go to the peak", () => onAll((v) => v.select(v.peak))], ["e", "go to the end", () => onAll((v) => v.select(v.end))],
    ...(views.some((v) => v.oom >= 0) ? [["o", "go to where memory ran out", () => onAll((v) => v.oom >= 0 && v.select(v.oom))]] : [])], "Memory");
  gp.keys.add([["ArrowLeft ArrowRight", "previous, next moment (with Shift: ten)"], ["+ - 0", "zoom in, out, whole history"]], "On the curve");
  gp.keys.add([["ArrowUp ArrowDown ArrowLeft ArrowRight", "to the caller, the callee, the neighbours"], ["Enter", "zoom"]], "On the stacks");
}
start();
})();
