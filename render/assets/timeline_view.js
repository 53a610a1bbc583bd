/* timeline_view.js -- what is on the page: the window of time, the rows and how far they are scrolled.
 * Knows neither canvas nor keys. Times are ns since the trace began; x and y are pixels from the upper left.
 *
 *   const view = gp.timelineView(data);
 *   view.resize(1080, 500);  view.zoom(540, 0.5);  view.pan(100);
 */
"use strict";
(() => {
const LANE = 18, HEADER = 24, COUNTER = 32, IDLE = 16, PAD = 5;
const GPU_PART = 0.55; // of the height, at most, for the GPU's rows that stay while others scroll
const COMPACT_FROM = 9, COMPACT_HEIGHT = 30, NARROWEST = 20;

const clamp = (v, low, high) => Math.max(low, Math.min(high, v));

/* A row is the heading of a group or a track; every row has the position of its lanes. */
function rowOfTrack(track, folded, used, slim) {
  if (track.sort === "counter") return { track, h: folded ? 20 : COUNTER, pitch: 0, lanes: 0, folded };
  const n = used;
  if (track.sort === "idle") return { track, h: IDLE + PAD, pitch: IDLE, lanes: n, folded: false };
  const pitch = folded ? clamp(COMPACT_HEIGHT / n, 1, LANE) : LANE;
  return { track, h: Math.max(LANE, Math.ceil(pitch * n)) + PAD, pitch, lanes: n, folded, slim };
}

/* How many of LANES have an event in WINDOW: what start-up nested deeper leaves no blank rows there. */
function lanesIn(lanes, window) {
  let n = lanes.length;
  const empty = ({ start, dur, n }) => { const i = gp.firstFrom({ start, n }, window[1]) - 1; return i < 0 || start[i] + dur[i] <= window[0]; };
  while (n > 1 && empty(lanes[n - 1])) n--;
  return n;
}

/* The host track in which most GPU work is launched, as far as the first events of each lane in WINDOW tell; or none. */
function launcherOf(data, window) {
  const MOST = 20000, calls = data.names.map((name, id) => data.kinds[data.kindOf[id]].id === "api" && /launch/i.test(name));
  let best = null, most = 0;
  for (const track of data.tracks) {
    let n = 0;
    for (const lane of data.groups[track.group].device < 0 && track.lanes || []) {
      const from = gp.firstFrom(lane, window[0]), to = Math.min(from + MOST, gp.firstFrom(lane, window[1]));
      for (let i = from; i < to; i++) n += calls[lane.name[i]];
    }
    if (n > most) { most = n; best = track; }
  }
  return best;
}

function timelineView(data) {
  const whole = Math.max(NARROWEST, data.span); // of a single instant, too
  const view = {
    span: whole, t0: 0, t1: whole, width: 800, height: 400, scroll: 0, rows: [], total: 0,
    closed: new Set(), // ids of groups that are folded away
    pinned: [],        // ids of tracks that stay on top, in their order
    hidden: new Set(), // ids of groups and tracks that are not shown
    order: new Map(),  // id of a group, "" for the groups themselves -> ids, in the order that was chosen
    folds: new Map(),  // id of a track -> whether it is folded, if chosen
    home: null,        // [t0, t1]: where the page opens; within it, rows are as high as they must be there
    inside: false,     // is what is shown within it?
    frames: false,     // are all functions of frameworks shown, too?
  };
  const used = new Map();
  const lanesOf = (lanes) => {
    if (!lanes || !view.inside) return lanes?.length;
    if (!used.has(lanes)) used.set(lanes, lanesIn(lanes, view.home));
    return used.get(lanes);
  };
  /* What data.slim() makes of a thread that is open, once it is; null: all its lanes. */
  const SLIM = 3e6, slims = new Map(), roles = gp.roles(data);
  function slimOf(t) {
    if (view.frames || view.isFolded(t) || t.sort !== "slices" || data.windows || t.count > SLIM || !roles.includes(2)) return null;
    if (!slims.has(t)) slims.set(t, data.groups[t.group].device < 0 ? data.slim(t, roles) : null);
    return slims.get(t);
  }
  const placeOf = (at) => view.rowOf.get(at.track)?.slim?.place[at.lane][at.i] ?? at.lane;
  view.laneOf = (at) => placeOf(at) % 32768;
  view.isHidden = (at) => placeOf(at) >= 32768;

  /* Deep ones are, but for the busiest thread and the one that launches most. */
  const main = data.tracks.reduce((a, t) => t.lanes && !(a.total >= t.total) && data.groups[t.group].device < 0 ? t : a, 0);
  const launcher = launcherOf(data, data.open || data.view);
  view.isFolded = (track) => view.folds.get(track.id) ?? (track !== main && track !== launcher && track.lanes?.length >= COMPACT_FROM);

  /* LIST as it was arranged; what was not comes after it, as it was. */
  function arranged(list, key) {
    const chosen = view.order.get(key);
    if (!chosen) return list;
    const place = (x) => { const at = chosen.indexOf(x.id); return at < 0 ? chosen.length : at; };
    return [...list].sort((a, b) => place(a) - place(b));
  }
  const members = new Map(data.groups.map((g) => [g.id, []]));
  for (const t of data.tracks) members.get(data.groups[t.group].id).push(t);
  /* What a row stands beside: the groups, the tracks of one, or those that are pinned. */
  view.siblings = (row) => row.pin ? view.pinned.map((id) => data.find(id)) : row.track ?
    arranged(members.get(row.of.group.id), row.of.group.id) : arranged(data.groups, "");

  view.layout = () => {
    const put = (row, y, h) => { view.rows.push(Object.assign(row, { y, h })); return y + h; };
    const group = (y, of, index, tracks, pin) => {
      const head = { index, group: of, tracks, pin, closed: view.closed.has(of.id) };
      y = put(head, y, HEADER);
      if (!head.closed) for (const t of tracks) { const slim = slimOf(t), row = rowOfTrack(t, view.isFolded(t), lanesOf(slim?.lanes || t.lanes), slim); y = put(Object.assign(row, { of: head, pin }), y, row.h); }
      return y;
    };
    view.rows = [];
    view.pinned = view.pinned.filter((id) => data.find(id));
    const pinned = view.pinned.map((id) => data.find(id));
    let y = pinned.length ? group(0, { id: "pinned", name: "Pinned" }, -1, pinned, true) : 0;
    view.pinnedHeight = y;
    for (const g of arranged(data.groups, "")) {
      const tracks = arranged(members.get(g.id), g.id).filter((t) => !view.hidden.has(t.id) && !view.pinned.includes(t.id));
      if (tracks.length && !view.hidden.has(g.id)) y = group(y, g, data.groups.indexOf(g), tracks, false);
    }
    view.total = y + 12;
    /* The steps, idle time and streams of the first GPU, which stay on top as well. */
    view.gpuHeight = view.pinnedHeight;
    const of = view.rows.find((r) => !r.pin);
    for (const r of of && of.group.device >= 0 && !of.closed ? view.rows : []) {
      if (r.pin) continue;
      if (r !== of && (r.of !== of || r.track.sort === "counter")) break;
      view.gpuHeight = r.y + r.h;
    }
    view.rowOf = new Map();
    for (const row of view.rows) {
      if (row.track) view.rowOf.set(row.track.index, row);
      else if (row.closed) for (const t of row.tracks) view.rowOf.set(t.index, row);
    }
    view.scrollTo(view.scroll);
  };

  view.resize = (width, height) => {
    view.width = Math.max(1, width);
    view.height = Math.max(1, height);
    view.scrollTo(view.scroll);
  };
  view.scrollTo = (y) => { view.scroll = clamp(y, 0, Math.max(0, view.total - view.height)); };

  /* Pinned rows and the GPU's stay on top, unless they would leave no room for others. */
  view.covered = () => view.gpuHeight <= GPU_PART * view.height ? view.gpuHeight : view.pinnedHeight <= 0.7 * view.height ? view.pinnedHeight : 0;
  view.stays = (row) => row.y + row.h <= view.covered();
  view.top = (row) => view.stays(row) ? row.y : row.y - view.scroll;
  view.isVisible = (row) => view.top(row) + row.h > (view.stays(row) ? 0 : view.covered()) && view.top(row) < view.height;
  view.rowAt = (y) => view.rows.find((r) => view.isVisible(r) && y >= view.top(r) && y < view.top(r) + r.h) || null;
  view.laneAt = (row, y) => row && row.track && row.pitch ? clamp(Math.floor((y - view.top(row)) / row.pitch), 0, row.lanes - 1) : -1;
  /* Where a lane is drawn: [top, height] on the page. */
  view.laneBox = (row, lane) => row.track ? [view.top(row) + lane * row.pitch, row.pitch] : [view.top(row), row.h];

  view.x = (t) => (t - view.t0) * view.width / (view.t1 - view.t0);
  view.t = (x) => view.t0 + x * (view.t1 - view.t0) / view.width;
  view.isWhole = () => view.t0 <= 0 && view.t1 >= whole;

  /* Show [t0, t1), as far as the trace goes. */
  view.show = (t0, t1) => {
    if (!(t1 >= t0)) return;
    const span = clamp(t1 - t0, NARROWEST, whole);
    const middle = (t0 + t1) / 2;
    view.t0 = clamp(t1 - t0 === span ? t0 : middle - span / 2, 0, whole - span);
    view.t1 = view.t0 + span;
    bound();
  };
  function bound() {
    const inside = !!view.home && view.t0 >= view.home[0] && view.t1 <= view.home[1];
    if (inside === view.inside) return;
    view.inside = inside;
    view.layout();
  }
  /* Times FACTOR as much as now, with what is at X staying there. */
  view.zoom = (x, factor) => {
    const t = view.t(x), span = clamp((view.t1 - view.t0) * factor, NARROWEST, whole);
    const t0 = clamp(t - x * span / view.width, 0, whole - span);
    view.t0 = t0;
    view.t1 = t0 + span;
    bound();
  };
  view.pan = (dx) => {
    const span = view.t1 - view.t0;
    view.t0 = clamp(view.t0 + dx * span / view.width, 0, whole - span);
    view.t1 = view.t0 + span;
    bound();
  };
  /* Bring an event into sight: shows its track, opens its group, unfolds what it is in, scrolls no further than needed. */
  view.reveal = (at) => {
    const { track } = at, folded = view.isHidden(at);
    if (folded) view.frames = true;
    const group = data.groups[data.tracks[track].group].id;
    const changed = [view.closed.delete(group), view.hidden.delete(group), view.hidden.delete(data.tracks[track].id)];
    if (folded || changed.some((x) => x)) view.layout();
    const row = view.rowOf.get(track);
    if (!row || view.stays(row)) return;
    const [top, h] = view.laneBox(row, view.laneOf(at));
    if (top < view.covered()) view.scrollTo(view.scroll + top - HEADER - view.covered());
    else if (top + h > view.height) view.scrollTo(view.scroll + top + h - view.height + HEADER);
  };

  /* Move a row past its neighbour. */
  view.move = (row, by) => {
    const ids = view.siblings(row).map((x) => x.id), id = row.track ? row.track.id : row.group.id, from = ids.indexOf(id);
    const shown = (x) => row.pin || !view.hidden.has(x) && !view.pinned.includes(x);
    let to = from + by;
    while (to >= 0 && to < ids.length && !shown(ids[to])) to += by;
    if (to < 0 || to >= ids.length) return false;
    ids.splice(to, 0, ids.splice(from, 1)[0]);
    if (row.pin) view.pinned = ids; else view.order.set(row.track ? row.of.group.id : "", ids);
    view.layout();
    return true;
  };

  view.layout();
  return view;
}

/* ---- ticks of the ruler ---- */

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]].map(([ns, text]) => [ns, text === "us" ? "\u00b5s" : text]);

/* Steps of 1, 2 or 5 that are at least PIXELS apart. */
function tickStep(view, pixels) {
  const least = Math.max(1, pixels * (view.t1 - view.t0) / view.width), power = 10 ** Math.floor(Math.log10(least));
  for (const k of [1, 2, 5]) if (k * power >= least) return k * power;
  return 10 * power;
}

/* A point in time with the decimals that STEP needs: "12.345 ms". */
function tickLabel(t, step) {
  if (t === 0) return "0";
  const [ns, unit] = UNITS.find(([ns]) => Math.max(t, step) >= ns) || UNITS[3];
  const decimals = Math.max(0, Math.ceil(Math.log10(ns / step) - 1e-9));
  return (t / ns).toFixed(Math.min(9, decimals)) + " " + unit;
}

Object.assign(gp, { timelineView, tickStep, tickLabel, clamp });
})();
