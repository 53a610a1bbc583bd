/* timeline_over.js -- what lies around and over the tracks: the ruler, the map of the whole trace, the item
 * under the pointer and chosen, arrows, and the names of the rows. Reads the state of the page, changes
 * nothing.
 *
 *   const over = gp.timelineOver(canvases, data, view, draw);
 *   over.marks(state); over.ruler(state); over.map(state);
 */
"use strict";
(() => {
const { make } = gp;

function fit(canvas, width, height) {
  const scale = Math.min(3, globalThis.devicePixelRatio || 1), w = Math.max(1, Math.round(width * scale)), h = Math.max(1, Math.round(height * scale));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}

function timelineOver(canvas, data, view, draw) {
  const mono = (size) => size + "px " + (getComputedStyle(canvas.over).getPropertyValue("--mono") || "monospace");
  const sans = (size) => size + "px " + (getComputedStyle(canvas.over).getPropertyValue("--sans") || "sans-serif");

  /* Where an event is drawn: {x0, x1, y, h}; a folded group stands for its tracks. */
  function box(at) {
    const row = view.rowOf.get(at.track);
    if (!row) return null;
    const e = data.at(at.track, at.lane, at.i), [y, h] = view.laneBox(row, view.laneOf(at));
    return { x0: view.x(e.t0), x1: view.x(e.t1), y: y + 2, h: Math.max(2, h - (h >= 5 ? 1 : 0)) };
  }

  function outline(ctx, at, colour, wide) {
    const b = box(at);
    if (!b || b.x1 < -4 || b.x0 > view.width + 4) return;
    const x0 = Math.max(-4, b.x0), x1 = Math.max(x0 + 3, Math.min(view.width + 4, b.x1));
    ctx.lineWidth = wide + 2;
    ctx.strokeStyle = gp.colour("--page");
    ctx.strokeRect(x0 - 0.5, b.y - 0.5, x1 - x0, b.h + 1);
    ctx.lineWidth = wide;
    ctx.strokeStyle = colour;
    ctx.strokeRect(x0 - 0.5, b.y - 0.5, x1 - x0, b.h + 1);
  }

  const STYLE = { launch: [], backward: [5, 3], cause: [2, 3] };
  function arrow(ctx, a) {
    const from = box(a.from), to = box(a.to);
    if (!from || !to) return;
    const edge = (x) => gp.clamp(x, -40, view.width + 40);
    const x0 = edge(Math.max(from.x0, Math.min(from.x1, to.x0))), x1 = edge(to.x0), y0 = from.y + from.h / 2, y1 = to.y + to.h / 2;
    const bend = gp.clamp(Math.abs(x1 - x0) / 2, 14, 90);
    const path = new Path2D();
    path.moveTo(x0, y0);
    path.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    ctx.setLineDash([]);
    ctx.lineWidth = 4;
    ctx.strokeStyle = gp.colour("--page");
    ctx.stroke(path);
    ctx.setLineDash(STYLE[a.what] || []);
    ctx.lineWidth = 1.6;
    ctx.strokeStyle = ctx.fillStyle = gp.colour("--ink");
    ctx.stroke(path);
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - 8, y1 - 4.5);
    ctx.lineTo(x1 - 8, y1 + 4.5);
    ctx.fill();
    ctx.beginPath();
    ctx.arc(x0, y0, 2.4, 0, 7);
    ctx.fill();
  }

  function marks(state) {
    const ctx = fit(canvas.over, view.width, view.height);
    if (state.range) {
      const x0 = view.x(state.range[0]), x1 = view.x(state.range[1]);
      ctx.fillStyle = gp.colour("--shade");
      ctx.fillRect(0, 0, Math.max(0, x0), view.height);
      ctx.fillRect(x1, 0, Math.max(0, view.width - x1), view.height);
      ctx.fillStyle = gp.colour("--focus");
      for (const x of [x0, x1]) if (x >= 0 && x <= view.width) ctx.fillRect(Math.round(x) - 0.5, 0, 1, view.height);
    }
    for (const a of state.arrows) arrow(ctx, a);
    if (state.hover && state.hover.lane >= 0) outline(ctx, state.hover, gp.colour("--ink"), 1);
    if (state.chosen) outline(ctx, state.chosen, gp.colour("--focus"), 2);
    if (state.hit && !(state.chosen && gp.samePosition(state.hit, state.chosen))) outline(ctx, state.hit, gp.colour("--focus"), 2);
  }

  /* ---- the ruler ---- */

  function ruler(state) {
    const height = 26, ctx = fit(canvas.ruler, view.width, height), step = gp.tickStep(view, 110);
    if (state.range) {
      const x0 = gp.clamp(view.x(state.range[0]), 0, view.width), x1 = gp.clamp(view.x(state.range[1]), 0, view.width);
      ctx.fillStyle = gp.colour("--chosen");
      ctx.fillRect(x0, 0, x1 - x0, height);
    }
    ctx.font = sans(11);
    ctx.textBaseline = "middle";
    windows(ctx, view.t0, view.t1, height - 3);
    const small = step / 5, pill = state.range && pillOf(ctx, state.range);
    for (let i = Math.ceil(view.t0 / small); i * small <= view.t1; i++) {
      const x = view.x(i * small), large = i % 5 === 0;
      ctx.fillStyle = gp.colour(large ? "--dim" : "--line");
      ctx.fillRect(Math.round(x), large ? height - 8 : height - 5, 1, large ? 8 : 5);
      if (!large) continue;
      const text = gp.tickLabel(i * small, step), wide = ctx.measureText(text).width;
      if (x + wide + 8 > view.width || pill && x + wide + 8 > pill.x && x < pill.x + pill.wide + 4) continue;
      ctx.fillStyle = gp.colour("--dim");
      ctx.fillText(text, x + 4, 10);
    }
    if (!pill) return;
    ctx.font = "600 " + sans(11);
    ctx.fillStyle = gp.colour("--focus");
    ctx.beginPath();
    ctx.roundRect(pill.x, 3, pill.wide, height - 9, 4);
    ctx.fill();
    ctx.fillStyle = gp.colour("--page");
    ctx.fillText(pill.text, pill.x + 6, 12);
  }
  /* Where the page has every event, not only an overview. */
  function windows(ctx, t0, t1, y) {
    ctx.fillStyle = gp.colour("--good-line");
    const k = view.width / (t1 - t0);
    for (const [a, b] of data.windows || []) if (b > t0 && a < t1) ctx.fillRect((a - t0) * k, y, Math.max(1.5, (b - a) * k), 3);
  }
  /* How long the selection is, in its middle; null where it is out of sight. */
  function pillOf(ctx, [t0, t1]) {
    const a = gp.clamp(view.x(t0), 0, view.width), b = gp.clamp(view.x(t1), 0, view.width), text = gp.ns(Math.round(t1 - t0));
    if (view.x(t1) <= 0 || view.x(t0) >= view.width) return null;
    ctx.font = "600 " + sans(11);
    const wide = ctx.measureText(text).width + 12;
    ctx.font = sans(11);
    return { text, wide, x: gp.clamp((a + b) / 2 - wide / 2, 0, view.width - wide) };
  }

  /* ---- the whole trace, small ---- */

  let base = null, baseKey = "";

  /* A strip for every device, and a thin one of the outermost lanes of all host tracks. */
  function strips() {
    const of = data.devices.map((d) => d.streams.flatMap((t) => data.tracks[t].lanes)).filter((l) => l.length);
    const host = data.tracks.filter((t) => t.sort === "slices" && t.lanes.length && data.groups[t.group].device < 0).map((t) => t.lanes[0]);
    return [of, host];
  }

  function paintBase(width, height, s, state) {
    const [devices, host] = strips(), w = width, out = document.createElement("canvas");
    out.width = w;
    out.height = height;
    const ctx = out.getContext("2d"), image = ctx.createImageData(w, height), px = new Uint32Array(image.data.buffer);
    const busy = new Float32Array(w), kind = new Uint8Array(w), mark = new Uint8Array(w), any = new Uint8Array(w);
    const sum = new Float32Array(w), most = new Float32Array(w), tone = new Uint32Array(w);
    function strip(lanes, ground, high, kinds) {
      sum.fill(0);
      most.fill(0);
      for (const lane of lanes) {
        if (!data.columns(lane, 0, view.span, w, busy, kind, state.off)) continue;
        for (let x = 0; x < w; x++) {
          sum[x] += busy[x];
          if (busy[x] > most[x]) { most[x] = busy[x]; tone[x] = kinds[kind[x]]; }
        }
      }
      for (let x = 0; x < w; x++) if (sum[x] > 0) { // the square root: a little work is seen as well
        for (let y = Math.round(ground - Math.max(1.5 * s, Math.sqrt(Math.min(1, sum[x])) * high)); y < ground; y++) px[y * w + x] = tone[x];
      }
    }
    const low = devices.length && host.length ? 8 * s : host.length ? height - 7 * s : 0, part = (height - 7 * s - low) / Math.max(1, devices.length);
    devices.forEach((lanes, i) => strip(lanes, Math.round(2 * s + (i + 1) * part), Math.max(1.5 * s, part - 2 * s), draw.colours.kind));
    if (low) strip(host, Math.round(height - 5 * s), low - s, draw.colours.thin.kind);
    if (state.search) {
      any.fill(0);
      for (const { lane } of state.search.lanes) {
        data.marks(state.search, lane, 0, view.span, w, mark);
        for (let x = 0; x < w; x++) any[x] |= mark[x];
      }
      for (let x = 0; x < w; x++) if (any[x]) for (let y = Math.round(height - 4 * s); y < height; y++) px[y * w + x] = draw.colours.hit;
    }
    ctx.putImageData(image, 0, 0);
    return out;
  }

  function map(state) {
    const width = view.width, height = 46, ctx = fit(canvas.map, width, height), key = [width, state.turn].join();
    if (key !== baseKey) {
      base = paintBase(canvas.map.width, canvas.map.height, canvas.map.height / height, state);
      baseKey = key;
    }
    ctx.drawImage(base, 0, 0, width, height);
    windows(ctx, 0, view.span, height - 3);
    const k = width / view.span, x0 = view.t0 * k, x1 = Math.max(x0 + 2, view.t1 * k);
    if (!view.isWhole()) {
      ctx.fillStyle = gp.colour("--shade");
      ctx.fillRect(0, 0, x0, height);
      ctx.fillRect(x1, 0, width - x1, height);
    }
    if (state.range) {
      ctx.fillStyle = gp.colour("--focus");
      ctx.fillRect(state.range[0] * k, 0, Math.max(1, (state.range[1] - state.range[0]) * k), 3);
    }
    ctx.strokeStyle = gp.colour("--focus");
    ctx.lineWidth = 1.5;
    ctx.strokeRect(Math.max(0.75, x0), 0.75, Math.min(width - 0.75, x1) - Math.max(0.75, x0), height - 1.5);
  }

  return { marks, ruler, map, box };
}

/* ---- the names of the rows: elements, so that they can be reached and read ---- */

function timelineRows(element, data, view, acts) {
  const kept = new Map();
  let at = null; // the row that the tools stand at

  /* What can be done with a row, at its end while it is pointed at or has the focus. */
  const tool = (text, title, act) => make("button", { type: "button", textContent: text, title, "aria-label": title, tabIndex: -1, onclick: () => { if (at) act(at); } });
  const pin = tool("\u2912", "pin: keep this track on top (k)", (row) => acts.pin(row));
  const tools = make("div", { className: "row-tools", hidden: true }, pin, tool("\u2191", "move up (Alt and arrow up)", (row) => acts.move(row, -1)),
    tool("\u2193", "move down (Alt and arrow down)", (row) => acts.move(row, 1)), tool("\u00d7", "hide (h)", (row) => acts.hide(row)));
  function place() {
    tools.hidden = !at || !view.isVisible(at) || view.top(at) < (view.stays(at) ? 0 : view.covered()) || at.pin && !at.track;
    if (tools.hidden) return;
    tools.style.transform = `translateY(${view.top(at)}px)`;
    pin.hidden = !at.track;
    pin.textContent = at.pin ? "\u2913" : "\u2912";
    pin.title = at.pin ? "unpin (k)" : "pin: keep this track on top (k)";
  }
  element.append(tools);
  element.addEventListener("pointerleave", () => { at = null; place(); });
  /* The row of an element, as it is laid out now. */
  const rowFor = (key) => view.rows.find((row) => keyOf(row) === key) || null;
  const keyOf = (row) => row.track ? "t" + row.track.index : "g" + row.index;
  function reached(key, e) {
    const enter = () => { at = rowFor(key); place(); };
    e.addEventListener("pointerenter", enter);
    e.addEventListener("focus", enter);
    e.addEventListener("keydown", (ev) => {
      const row = rowFor(key), by = { ArrowUp: -1, ArrowDown: 1 }[ev.key], plain = !ev.altKey && !ev.ctrlKey && !ev.metaKey;
      if (!row) return;
      if (by && ev.altKey) acts.move(row, by); else if (plain && ev.key === "k" && row.track) acts.pin(row); else if (plain && ev.key === "h") acts.hide(row); else return;
      ev.preventDefault();
      ev.stopPropagation();
    });
  }

  function heading(row) {
    const b = make("button", { type: "button", className: "heading", onclick: () => acts.close(row.group) });
    b.append(make("i", { "aria-hidden": "true" }), make("span", { textContent: row.group.name.trim() || "(no name)" }), make("small"));
    return b;
  }
  function track(row) {
    const t = row.track, counted = t.sort === "counter" ? "" : `, ${gp.count(t.count)} events, ${gp.ns(Math.round(t.total))} in all`;
    const over = t.crossed ? `; ${gp.count(t.crossed)} overlap others and use an extra lane` : "";
    const b = make("button", { type: "button", className: "track", title: t.name + counted + over, onclick: () => acts.fold(t.index) });
    if (t.sort === "idle" || t.lanes && t.lanes.length < 2) b.classList.add("flat");
    b.append(make("i", { "aria-hidden": "true" }), make("span", { textContent: t.name }));
    if (t.sort === "counter") { /* what the top of the track stands for */
      const [low, top] = gp.counterScale(t);
      b.append(make("small", { className: "scale", textContent: gp.counterWords(t, top) }));
      b.title += `: scale ${gp.counterWords(t, low)} to ${gp.counterWords(t, top)}, highest ${gp.counterWords(t, t.max)}`;
    }
    return b;
  }

  return () => {
    const now = new Set();
    let before = null;
    for (const row of view.rows) {
      if (!view.isVisible(row)) continue;
      const key = keyOf(row);
      let e = kept.get(key);
      if (!e) {
        kept.set(key, e = row.track ? track(row) : heading(row));
        reached(key, e);
      }
      if (e.parentNode !== element || e.previousElementSibling !== before) { // tab order is the order on the page
        if (before) before.after(e); else element.prepend(e);
      }
      before = e;
      now.add(key);
      e.classList.toggle("pinned", view.stays(row) || false);
      e.style.transform = `translateY(${view.top(row)}px)`;
      e.style.height = row.h + "px";
      if (row.track) {
        if (!e.classList.contains("flat")) e.setAttribute("aria-expanded", String(!row.folded));
      } else {
        e.setAttribute("aria-expanded", String(!row.closed));
        e.lastChild.textContent = row.closed ? `${row.tracks.length} ${row.tracks.length === 1 ? "track" : "tracks"}` : "";
      }
    }
    if (at) at = rowFor(keyOf(at));
    place();
    for (const [key, e] of kept) if (!now.has(key)) {
      if (e === document.activeElement && rowFor(key)) continue;
      e.remove();
      kept.delete(key);
    }
  };
}

const samePosition = (a, b) => !!a && !!b && a.track === b.track && a.lane === b.lane && a.i === b.i;

Object.assign(gp, { timelineOver, timelineRows, samePosition });
})();
