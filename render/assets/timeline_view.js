/* timeline_view.js -- what part of the trace is on the page: the window of time, the rows and how far they are scrolled.
 * Plain arithmetic: knows neither canvas nor keys. Times are Numbers, ns since the beginning of the trace; x and y are
 * CSS pixels from the upper left corner of the drawing.
 *
 *   const view = gp.timelineView(data);
 *   view.resize(1080, 500);  view.zoom(540, 0.5);  view.pan(100);
 *   view.rows.filter(view.isVisible).forEach(draw);
 */
"use strict";
(() => {
const LANE = 18, HEADER = 24, COUNTER = 32, IDLE = 16, PAD = 5;
const COMPACT_FROM = 9, COMPACT_HEIGHT = 30, NARROWEST = 20;

const clamp = (v, low, high) => Math.max(low, Math.min(high, v));

/* A row is the heading of a group or a track; every row has the position of its lanes. */
function rowOfTrack(track, folded) {
  if (track.sort === "counter") return { track, h: folded ? 20 : COUNTER, pitch: 0, lanes: 0, folded };
  const n = track.lanes.length;
  if (track.sort === "idle") return { track, h: IDLE + PAD, pitch: IDLE, lanes: n, folded: false };
  const pitch = folded ? clamp(COMPACT_HEIGHT / n, 1, LANE) : LANE;
  return { track, h: Math.max(LANE, Math.ceil(pitch * n)) + PAD, pitch, lanes: n, folded };
}

function timelineView(data) {
  const whole = Math.max(NARROWEST, data.span); // a trace of a single instant also has room
  const view = {
    span: whole, t0: 0, t1: whole, width: 800, height: 400, scroll: 0, rows: [], total: 0,
    closed: new Set(), // ids of groups that are folded away
    folds: new Map(),  // id of a track -> whether it is folded, where that was chosen
  };

  view.isFolded = (track) => view.folds.get(track.id) ??
    (track.sort !== "counter" && track.lanes.length >= COMPACT_FROM);

  view.layout = () => {
    view.rows = [];
    let y = 0, group = null;
    for (const track of data.tracks) {
      if (group === null || track.group !== group.index) {
        group = { index: track.group, group: data.groups[track.group], y, h: HEADER, tracks: [] };
        group.closed = view.closed.has(group.group.id);
        view.rows.push(group);
        y += HEADER;
      }
      group.tracks.push(track);
      if (group.closed) continue;
      const row = rowOfTrack(track, view.isFolded(track));
      row.y = y;
      row.of = group;
      view.rows.push(row);
      y += row.h;
    }
    view.total = y + 12;
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

  view.isVisible = (row) => row.y + row.h > view.scroll && row.y < view.scroll + view.height;
  view.rowAt = (y) => {
    const at = y + view.scroll;
    return view.rows.find((r) => at >= r.y && at < r.y + r.h) || null;
  };
  view.laneAt = (row, y) => row && row.track && row.pitch ? clamp(Math.floor((y + view.scroll - row.y) / row.pitch), 0, row.lanes - 1) : -1;
  /* Where a lane is drawn: [top, height] on the page. */
  view.laneBox = (row, lane) => row.track ? [row.y - view.scroll + lane * row.pitch, row.pitch] : [row.y - view.scroll, row.h];

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
  };
  /* Times FACTOR as much as now, with what is at X staying there. */
  view.zoom = (x, factor) => {
    const t = view.t(x), span = clamp((view.t1 - view.t0) * factor, NARROWEST, whole);
    const t0 = clamp(t - x * span / view.width, 0, whole - span);
    view.t0 = t0;
    view.t1 = t0 + span;
  };
  view.pan = (dx) => {
    const span = view.t1 - view.t0;
    view.t0 = clamp(view.t0 + dx * span / view.width, 0, whole - span);
    view.t1 = view.t0 + span;
  };
  /* Bring a row of a track into sight: opens its group, scrolls no further than needed. */
  view.reveal = (track, lane) => {
    if (view.closed.delete(data.groups[data.tracks[track].group].id)) view.layout();
    const row = view.rowOf.get(track);
    if (!row) return;
    const [top, h] = view.laneBox(row, lane || 0);
    if (top < 0) view.scrollTo(view.scroll + top - HEADER);
    else if (top + h > view.height) view.scrollTo(view.scroll + top + h - view.height + HEADER);
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
