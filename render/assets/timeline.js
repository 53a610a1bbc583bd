/* timeline.js -- the timeline page where scripts run: puts the data, the view, the pictures and the keys together, and keeps
 * in the address what is being looked at. Names and args come from traces: they are only ever put in as text.
 */
"use strict";
(() => {
const { make } = gp;
const main = document.querySelector("main");

/* ---- the page ---- */

function build() {
  const canvas = (className, label) => make("canvas", { className, "aria-hidden": label ? null : "true", "aria-label": label });
  const e = { map: canvas("map"), ruler: canvas("ruler"), tracks: canvas("tracks"), over: canvas("over") };
  e.span = make("div", { className: "span" });
  e.whole = make("div", { className: "corner", textContent: "whole trace" });
  e.rows = make("div", { className: "rows", role: "group", "aria-label": "tracks" });
  e.bar = make("i", { className: "thumb", "aria-hidden": "true" });
  e.stage = make("div", { className: "stage", tabIndex: 0, role: "application", "aria-label": "timeline: arrow keys go from event to event, w a s d move, ? lists all keys",
    "aria-roledescription": "timeline" }, e.tracks, e.over, e.bar);
  e.picture = make("div", { className: "picture" }, e.whole, e.map, e.span, e.ruler, e.rows, e.stage);
  e.legend = make("div", { className: "legend-bar", role: "group", "aria-label": "classes" });
  e.ways = make("div", { className: "jumps" });
  e.split = make("div", { className: "split", role: "separator", tabIndex: 0, "aria-orientation": "horizontal", "aria-label": "height of the figures" });
  e.foot = make("div", { className: "foot" });
  return e;
}

const asMs = (ns) => String(Number((ns / 1e6).toFixed(6))) + "ms";
function readTime(text) {
  const m = /^(-?[\d.]+)(ns|us|ms|s)?$/.exec(text || "");
  return m ? Math.round(Number(m[1]) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[m[2] || "ns"]) : NaN;
}
function readRange(text) {
  const m = /^(.+?)-(.+)$/.exec(text || ""), t0 = m && readTime(m[1]), t1 = m && readTime(m[2]);
  return m && t1 >= t0 ? [t0, t1] : null;
}
/* Ids come from names: what separates them is written differently within. */
const escaped = (id) => id.replace(/[%,@]/g, (c) => "%" + c.charCodeAt(0).toString(16));
const unescaped = (text) => text.replace(/%(25|2c|40)/gi, (m, hex) => String.fromCharCode(parseInt(hex, 16)));
const readList = (text) => text ? text.split(",").map(unescaped) : [];
const asList = (list) => [...list].map(escaped).join(",");

async function start() {
  const progress = make("p", { className: "opening", role: "status", textContent: "Unpacking the trace\u2026" });
  main.append(progress);
  const data = await timeline.open((share) => { progress.textContent = `Unpacking the trace, ${Math.round(share * 100)}%`; });
  progress.remove();
  run(data);
}

function run(data) {
  const e = build(), view = gp.timelineView(data), draw = gp.timelineDraw(e.tracks, data, view), over = gp.timelineOver(e, data, view, draw);
  const state = { chosen: null, hover: null, hit: null, range: null, arrows: [], search: null, off: new Uint8Array(data.kinds.length), turn: 0 };
  const present = new Uint8Array(data.kinds.length);
  for (const k of data.kindOf) present[k] = 1;
  const whole = () => data.span < view.span ? [0, view.span] : [data.view[0], data.view[1]];
  const home = () => data.span < view.span ? whole() : data.open || whole(); // where the page opens
  const isHome = () => data.steps.length > 0 && home().every((t, i) => t === (i ? view.t1 : view.t0));
  view.home = data.steps.length ? home() : null;
  /* gaps are called what caused them, in full */
  data.kindOf.forEach((k, id) => { if (data.kinds[k].id === "idle") data.names[id] = data.causes[data.causeOf(id)]?.text || data.names[id]; });

  /* ---- drawing: once per frame, whatever happened ---- */

  let wanted = 0, frames = { last: 0, most: 0 };
  const TRACKS = 1, OVER = 2;
  function want(what) {
    if (!wanted) requestAnimationFrame(paint);
    wanted |= what;
  }
  function paint() {
    const what = wanted, began = performance.now();
    wanted = 0;
    if (what & TRACKS) {
      draw.paint(state);
      showRows();
      e.span.textContent = gp.ns(Math.round(view.t1 - view.t0));
      const part = view.height / view.total;
      e.bar.hidden = part >= 1;
      e.bar.style.height = Math.max(24, part * view.height) + "px";
      e.bar.style.transform = `translateY(${view.scroll / Math.max(1, view.total - view.height) * (view.height - Math.max(24, part * view.height))}px)`;
    }
    over.marks(state);
    over.ruler(state);
    over.map(state);
    frames.last = performance.now() - began;
    frames.most = Math.max(frames.most, frames.last);
  }

  let settle = 0;
  function moved(quiet) {
    want(TRACKS | OVER);
    clearTimeout(settle);
    settle = setTimeout(() => {
      settle = 0;
      figure();
      tables.update();
      if (quiet !== true) remember();
    }, 140);
  }

  /* ---- going somewhere ---- */

  let turn = 0;
  function go(t0, t1, then) {
    const mine = ++turn, a0 = view.t0, a1 = view.t1;
    const began = performance.now();
    if (gp.calm.matches) {
      view.show(t0, t1);
      moved();
      return then && then();
    }
    view.show(t0, t1);
    const b0 = view.t0, b1 = view.t1;
    const step = (now) => {
      if (mine !== turn) return;
      const p = Math.min(1, Math.max(0, (now - began) / 170)), s = p * p * (3 - 2 * p);
      const span = (a1 - a0) * Math.pow((b1 - b0) / (a1 - a0), s);
      const part = Math.abs(b1 - b0 - a1 + a0) > 1 ? (span - (a1 - a0)) / (b1 - b0 - a1 + a0) : s;
      view.show(a0 + (b0 - a0) * part, a0 + (b0 - a0) * part + span);
      if (p === 1) view.show(b0, b1);
      moved();
      if (p < 1) requestAnimationFrame(step); else if (then) then();
    };
    requestAnimationFrame(step);
  }
  const stop = () => { turn++; };

  /* ---- what is chosen ---- */

  const words = (at) => {
    const x = data.at(at.track, at.lane, at.i);
    return `${x.label}, ${gp.ns(x.dur)}, at ${gp.tickLabel(x.t0, 1000)}, ${data.tracks[at.track].name}`;
  };

  function choose(at, show = true, quiet = false) {
    state.chosen = at;
    state.arrows = [];
    state.hit = null;
    gp.tip.hide();
    if (at) {
      about.event(at);
      if (show) bring(at);
      gp.say(words(at));
    } else {
      about.ways();
    }
    want(OVER);
    if (!quiet) remember(true);
  }
  /* Bring an event into sight; the window only moves or widens where it must. */
  function bring(at) {
    const x = data.at(at.track, at.lane, at.i), span = view.t1 - view.t0;
    view.reveal(at);
    framed();
    if (x.t0 < view.t1 && x.t1 > view.t0 && (x.t0 >= view.t0 || x.t1 <= view.t1 || x.dur > span)) return want(TRACKS | OVER);
    const middle = x.dur > span ? x.t0 + span / 2 - span / 10 : (x.t0 + x.t1) / 2;
    go(middle - span / 2, middle + span / 2);
  }
  /* Close enough to distinguish it from its neighbours. */
  function closeTo(t0, t1, part = 3) {
    const wide = Math.max(20, t1 - t0) * (part - 1) / 2;
    go(t0 - wide, t1 + wide);
  }

  function select(range, quiet = false) {
    state.range = range && range[1] > range[0] ? range : null;
    figure();
    want(OVER);
    if (!quiet) remember();
    if (state.range) gp.say(`selected ${gp.ns(Math.round(range[1] - range[0]))}`);
  }
  function figure() {
    if (e.foot.hidden) return;
    if (state.range) figures.show("Selection", state.range[0], state.range[1], true);
    else figures.show(view.isWhole() ? "Whole trace" : isHome() ? "Steps" : "In view", view.t0, view.t1, false);
  }

  /* A gap may have several causes in sequence. */
  function longestIn(gap) {
    const { start, dur, n } = data.tracks[gap.at.track].lanes[gap.at.lane];
    let best = gap.at.i;
    for (let i = best; i < n && start[i] < gap.t1; i++) if (dur[i] > dur[best]) best = i;
    return { ...gap.at, i: best };
  }

  let gapAt = -1, gaps = null, stepAt = -1, slowSteps = null, foundAt = -1;
  const acts = {
    choose, select,
    arrows(at, list) {
      if (!gp.samePosition(at, state.chosen)) return;
      state.arrows = list.slice(0, 200);
      want(OVER);
    },
    fit() {
      if (state.chosen) { const x = data.at(state.chosen.track, state.chosen.lane, state.chosen.i); closeTo(x.t0, x.t1, 1.4); }
      else if (state.range) closeTo(state.range[0], state.range[1], 1.1);
      else go(...whole());
    },
    mark() {
      if (!state.chosen) return;
      const x = data.at(state.chosen.track, state.chosen.lane, state.chosen.i);
      if (x.dur > 0) select([x.t0, x.t1]);
    },
    look(t0, t1, text) {
      if (state.chosen) choose(null, false, true); // what was chosen before is not what is looked at
      closeTo(t0, t1, 1.6);
      select([t0, Math.max(t1, t0 + 1)]);
      if (text) gp.say(text);
    },
    gap(by) {
      gaps ??= data.gaps(200);
      if (!gaps.length) return void gp.say("the GPU was never idle");
      gapAt = (gapAt + by + gaps.length) % gaps.length;
      const g = gaps[gapAt];
      closeTo(g.t0, g.t1);
      select([g.t0, g.t1], true);
      view.reveal(g.at);
      choose(longestIn(g), false);
      gp.say(`idle gap ${gapAt + 1} of ${gaps.length}, ${gp.ns(g.t1 - g.t0)}${g.causes.length ? ", " + g.causes[0].text : ""}`);
    },
    slow(by) {
      slowSteps ??= data.steps.filter((s) => !s.partial && !s.warm_up).sort((a, b) => b.t1 - b.t0 - a.t1 + a.t0);
      if (!slowSteps.length) return void gp.say("no steps were found");
      stepAt = (stepAt + by + slowSteps.length) % slowSteps.length;
      const s = slowSteps[stepAt];
      acts.look(s.t0, s.t1, `${s.name}, ${gp.ns(s.t1 - s.t0)}, ${stepAt + 1} of ${slowSteps.length} from the slowest`);
    },
    finding(by) {
      const found = data.findings;
      if (!found.length) return void gp.say("nothing was found");
      foundAt = (foundAt + by + found.length) % found.length;
      acts.found(found[foundAt]);
    },
    /* A finding has a place of its own, is about an event, of which the longest is chosen, or has parts; or it is about all that is shown first. */
    found(f) {
      const parts = data.findings.slice(data.findings.indexOf(f) + 1), end = parts.findIndex((p) => !p.part);
      const part = f.part ? null : parts.slice(0, end < 0 ? parts.length : end).find((p) => p.t0 !== null), [t0, t1] = home();
      const at = f.t0 === null && f.where ? data.longest(f.where, t0, t1) : null, x = at && data.at(at.track, at.lane, at.i);
      acts.look(...x ? [x.t0, x.t1] : f.t0 !== null ? [f.t0, f.t1] : part ? [part.t0, part.t1] : [t0, t1], f.text);
      if (at) { choose(at, false, true); view.reveal(at); }
    },
    find(name) {
      search.set("^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$");
      gp.hash.set({ s: search.text });
    },
    close(group) {
      if (!view.closed.delete(group.id)) view.closed.add(group.id);
      view.layout();
      moved();
    },
    pin(row) {
      const id = row.track.id;
      if (row.pin) view.pinned = view.pinned.filter((x) => x !== id); else view.pinned.push(id);
      rearranged(`${row.track.name} ${row.pin ? "unpinned" : "pinned"}`);
    },
    hide(row) {
      if (row.pin && row.track) view.pinned = view.pinned.filter((x) => x !== row.track.id);
      if (row.pin && !row.track) view.pinned = [];
      else view.hidden.add((row.track || row.group).id);
      rearranged(`${(row.track || row.group).name} hidden`);
    },
    move(row, by) {
      if (!view.move(row, by)) return;
      rearranged("moved " + (by < 0 ? "up" : "down"));
    },
    flame() {
      const [t0, t1] = state.range || [view.t0, view.t1];
      flame.show(state.range ? "Selection" : view.isWhole() ? "Whole trace" : "In view", Math.round(t0), Math.round(t1));
      if (flame.element.hidden) swap(flame.element);
    },
    frames(yes = !view.frames) {
      view.frames = yes;
      view.layout();
      framed();
      moved();
    },
    fold(track) {
      const t = data.tracks[track];
      if (t.sort === "idle" || t.sort !== "counter" && t.lanes.length < 2) return;
      view.folds.set(t.id, !view.isFolded(t));
      view.layout();
      moved();
    },
  };
  function rearranged(words) {
    view.layout();
    shows.hidden = !view.hidden.size;
    shows.textContent = `Show ${view.hidden.size} hidden`;
    if (words) gp.say(words);
    moved();
    if (words) remember();
  }
  const shows = make("button", { type: "button", hidden: true, title: "show all tracks again", onclick: () => { view.hidden.clear(); rearranged("all tracks are shown"); } });
  const flame = gp.timelineFlame(data, { find: (name) => acts.find(name), close: () => swap(null) });
  const about = gp.timelineAbout(data, acts), figures = gp.timelineFigures(data, acts), tables = gp.timelineTables(data, view, acts);
  const showRows = gp.timelineRows(e.rows, data, view, acts);

  /* ---- search ---- */

  /* Where the next match is looked for while nothing is chosen: the last event that begins before what is in view. */
  function here() {
    let best = null, t = -1;
    for (const track of data.tracks) for (let l = 0; track.lanes && l < track.lanes.length; l++) {
      const lane = track.lanes[l], i = gp.firstFrom(lane, view.t0) - 1;
      if (i >= 0 && lane.start[i] > t) { t = lane.start[i]; best = { track: track.index, lane: l, i }; }
    }
    return best;
  }
  const search = gp.search({
    find(pattern) {
      const answer = pattern && data.search(pattern, true);
      state.search = answer && !answer.error ? answer : null;
      state.hit = null;
      state.turn++;
      want(TRACKS | OVER);
      if (!state.search) return "";
      const n = state.search.total, events = `${gp.count(n)} ${n === 1 ? "event" : "events"}`;
      return !n ? "no match" : state.search.share > 0 ? `${events}, ${gp.share(state.search.share, 1)} of ${data.windows ? "the windows' " : ""}GPU time` : `${events}, no GPU time`;
    },
    step(by) {
      if (!state.search || !state.search.total) return "no match";
      const next = state.search.next(state.hit || state.chosen || here(), by) || state.search.next(null, by);
      if (!next) return "no match";
      choose(next, true, true);
      state.hit = next;
      remember(true);
      return `${gp.count(state.search.index(next) + 1)} of ${gp.count(state.search.total)}`;
    },
  });

  /* ---- the legend ---- */

  const entries = [];
  function legend() {
    const order = [...data.kinds.keys()].sort((a, b) => !data.kinds[a].gpu - !data.kinds[b].gpu || a - b);
    order.forEach((i) => {
      const k = data.kinds[i];
      if (!present[i] || k.id === "idle") return;
      const mark = make("i", { className: "swatch-box", "aria-hidden": "true" });
      mark.style.background = `var(--k-${k.id})`;
      const b = make("button", { type: "button", title: `${k.label}: click to show only this class, Shift-click to hide it` }, mark, gp.briefly(k.label));
      b.addEventListener("click", (ev) => filter(i, ev.shiftKey));
      entries[i] = b;
      e.legend.append(b);
      if (k.id !== "python") return;
      b.textContent = "functions:";
      const owners = new Set(data.names.map((name, id) => gp.isFunction(data, id) && gp.ownerOf(name)));
      for (const [id, text] of gp.OWNERS) if (owners.has(id)) {
        const mark = make("i", { className: "swatch-box", "aria-hidden": "true" });
        mark.style.background = `var(--f-${id})`;
        const entry = make(id === "framework" ? "button" : "span", { className: "owner", title: id === "framework" ? "show or fold what frameworks call within themselves (u)" : "" }, mark, text);
        if (id === "framework") { unfold = entry; entry.type = "button"; entry.onclick = () => acts.frames(); }
        e.legend.append(entry);
      }
    });
    framed();
  }
  let unfold = null;
  function framed() {
    if (!unfold) return;
    unfold.lastChild.data = view.frames ? "framework" : "framework (folded)";
    unfold.setAttribute("aria-expanded", String(view.frames));
  }
  /* Alone among its like: GPU work, or what leads to it. */
  function filter(kind, hide) {
    const like = [...data.kinds.keys()].filter((i) => present[i] && !data.kinds[i].gpu === !data.kinds[kind].gpu && data.kinds[i].id !== "idle");
    if (hide) {
      state.off[kind] ^= 1;
    } else {
      const alone = !state.off[kind] && like.every((i) => i === kind || state.off[i]);
      for (const i of like) state.off[i] = alone || i === kind ? 0 : 1;
    }
    filtered();
    remember();
  }
  function filtered() {
    state.turn++;
    entries.forEach((b, i) => b && b.setAttribute("aria-pressed", String(!state.off[i])));
    e.legend.classList.toggle("choosing", state.off.some((x) => x));
    want(TRACKS | OVER);
  }

  /* ---- the address ---- */

  const keyOf = (at) => {
    const x = data.at(at.track, at.lane, at.i);
    return `${escaped(data.tracks[at.track].id)}@${asMs(x.t0)}@${gp.pathHash("", x.name)}`;
  };
  function eventOf(text) {
    const [id, when, name] = (text || "").split("@"), track = text && data.find(unescaped(id)), t = readTime(when);
    if (!track || !(t >= 0) || !track.lanes) return null;
    for (let l = 0; l < track.lanes.length; l++) {
      const lane = track.lanes[l];
      for (let i = gp.firstFrom(lane, t); i < lane.n && lane.start[i] === t; i++)
        if (gp.pathHash("", data.names[lane.name[i]]) === name) return { track: track.index, lane: l, i };
    }
    return null;
  }
  let later = 0;
  function write(step) {
    clearTimeout(later);
    later = 0;
    const top = view.rows.find((r) => r.track && !view.stays(r) && view.top(r) + r.h > view.covered() + 1), [w0, w1] = home();
    gp.hash.set({
      t: view.t0 === w0 && view.t1 === w1 ? "" : asMs(Math.round(view.t0)) + "-" + asMs(Math.round(view.t1)),
      r: state.range ? asMs(state.range[0]) + "-" + asMs(state.range[1]) : "",
      e: state.chosen ? keyOf(state.chosen) : "",
      off: asList(data.kinds.filter((k, i) => state.off[i]).map((k) => k.id)),
      x: asList(view.closed),
      pin: asList(view.pinned),
      hide: asList(view.hidden),
      o: [...view.order].map(([id, list]) => [id, ...list].map(escaped).join(",")).join("@"),
      f: asList([...view.folds].map(([id, yes]) => (yes ? "-" : "+") + id)),
      u: view.frames ? "1" : "",
      y: view.scroll > 0 && top ? top.track.id : "",
    }, step);
  }
  function remember(step) {
    if (step === true) return write(true);
    clearTimeout(later);
    later = setTimeout(() => write(false), 250);
  }
  function recall(h) {
    const window = readRange(h.t), off = new Set(readList(h.off));
    data.kinds.forEach((k, i) => { state.off[i] = off.has(k.id) ? 1 : 0; });
    view.closed = new Set(readList(h.x));
    view.folds = new Map(readList(h.f).map((f) => [f.slice(1), f[0] === "-"]));
    view.pinned = readList(h.pin);
    view.hidden = new Set(readList(h.hide));
    view.frames = h.u === "1";
    framed();
    view.order = new Map((h.o ? h.o.split("@") : []).map((part) => part.split(",").map(unescaped)).map(([id, ...list]) => [id, list]));
    rearranged("");
    stop();
    view.show(...(window || home()));
    const range = readRange(h.r), at = eventOf(h.e), top = h.y && data.find(h.y);
    search.set(h.s || "");
    if (range) select(range, true); else state.range = null;
    if (!gp.samePosition(at, state.chosen) || !at) choose(at, false, true);
    if (top && view.rowOf.get(top.index)) view.scrollTo(view.rowOf.get(top.index).y - view.covered());
    filtered();
    moved(true);
    const found = h.find && data.findings.find((f) => f.id === h.find);
    if (found) acts.found(found); // its place takes over in the address
    if (h.find) gp.hash.set({ find: "" });
  }

  /* ---- keys ---- */

  const centre = () => state.pointer >= 0 ? state.pointer : view.width / 2;
  function zoomBy(factor) {
    const x = centre(), t = view.t(x), span = (view.t1 - view.t0) * factor;
    go(t - x / view.width * span, t - x / view.width * span + span);
  }
  const panBy = (part) => go(view.t0 + part * (view.t1 - view.t0), view.t1 + part * (view.t1 - view.t0));

  /* The event of a lane that is nearest to time T. */
  function nearest(track, lane, t) {
    const l = data.tracks[track].lanes[lane], i = gp.firstFrom(l, t);
    if (!l.n) return null;
    const before = i > 0 && (i >= l.n || l.start[i - 1] + l.dur[i - 1] > t || t - l.start[i - 1] - l.dur[i - 1] < l.start[i] - t);
    return { track, lane, i: before ? i - 1 : Math.min(i, l.n - 1) };
  }
  function first() {
    const row = view.rows.find((r) => r.track && r.track.sort === "slices" && view.isVisible(r)) || view.rows.find((r) => r.track && r.lanes);
    return row ? nearest(row.track.index, 0, (view.t0 + view.t1) / 2) : null;
  }
  function beside(by) {
    const c = state.chosen;
    if (!c) return choose(first());
    const { n } = data.tracks[c.track].lanes[c.lane];
    let i = c.i + by;
    while (i >= 0 && i < n && view.isHidden({ ...c, i })) i += by;
    if (i >= 0 && i < n) choose({ ...c, i });
  }
  /* With Shift the selection grows by the event that is gone to. */
  function extend(by) {
    const c = state.chosen, x = c && data.at(c.track, c.lane, c.i);
    beside(by);
    if (!x) return;
    const y = data.at(state.chosen.track, state.chosen.lane, state.chosen.i), [r0, r1] = state.range || [x.t0, x.t1];
    select([Math.min(r0, y.t0), Math.max(r1, y.t1)]);
  }
  function across(by) {
    const c = state.chosen;
    if (!c) return choose(first());
    const x = data.at(c.track, c.lane, c.i), lanes = data.tracks[c.track].lanes;
    const rowAt = view.rows.findIndex((r) => r.track && r.track.index === c.track);
    for (let lane = c.lane + by; lane >= 0 && lane < lanes.length; lane += by) {
      const other = nearest(c.track, lane, by > 0 ? x.t0 : (x.t0 + x.t1) / 2);
      if (other && !view.isHidden(other)) return choose(other);
    }
    for (let r = rowAt + by; r >= 0 && r < view.rows.length; r += by) {
      const t = view.rows[r].track;
      if (!t || !t.lanes || !t.lanes.length) continue;
      const other = nearest(t.index, by > 0 ? 0 : t.lanes.length - 1, x.t0);
      if (other) return choose(other);
    }
  }
  function follow(out) {
    const c = state.chosen, a = c && state.arrows.find((v) => gp.samePosition(out ? v.from : v.to, c));
    if (a) choose(out ? a.to : a.from);
  }
  /* Arrow keys scroll what can be scrolled where the focus is in words. */
  const onPicture = (f) => (ev) => ev.target.closest && ev.target.closest(".foot, .tables") ? false : f(ev);

  /* What stands where the tracks are: the tracks, the tables, or a flame graph. */
  function swap(element) {
    tables.element.hidden = element !== tables.element;
    flame.element.hidden = element !== flame.element;
    e.picture.hidden = !!element;
    showTable.setAttribute("aria-pressed", String(element === tables.element));
    if (element) element.focus(); else { resize(); e.stage.focus({ preventScroll: true }); }
  }
  function toggleTables() {
    const shown = tables.element.hidden;
    swap(shown ? tables.element : null);
    if (shown) tables.follow();
  }
  function toggleFoot() {
    e.foot.hidden = e.split.hidden = !e.foot.hidden;
    resize();
    figure();
  }
  gp.keys.add([
    ["w s", "zoom in, out (at the pointer)", (ev) => zoomBy(ev.key === "w" ? 0.5 : 2)],
    ["a d", "earlier, later", (ev) => panBy(ev.key === "a" ? -0.25 : 0.25)],
    ["+ -", "nearer, further", (ev) => zoomBy(ev.key === "+" ? 0.5 : 2)],
    ["0", "the whole trace", () => go(...whole())],
    ["9", "where the page opens: the steps", () => go(...home())],
    ["l", "flame graph of the selection, or of what is in view", () => flame.element.hidden ? acts.flame() : swap(null)],
    ["k h", "on the name of a track: pin it, hide it; Alt and an arrow move it", () => {}],
    ["Home End", "to the beginning, to the end", (ev) => { const s = view.t1 - view.t0; go(ev.key === "Home" ? 0 : view.span - s, ev.key === "Home" ? s : view.span); }],
    ["ArrowLeft ArrowRight", "previous, next event; with Shift, extend the selection", onPicture((ev) => (ev.shiftKey ? extend : beside)(ev.key === "ArrowLeft" ? -1 : 1))],
    ["ArrowUp ArrowDown", "the lane above, below", onPicture((ev) => across(ev.key === "ArrowUp" ? -1 : 1))],
    ["PageUp PageDown", "scroll the tracks", (ev) => { view.scrollTo(view.scroll + (ev.key === "PageUp" ? -0.8 : 0.8) * view.height); moved(); }],
    ["f Enter", "zoom to the chosen event or the selection", acts.fit],
    ["m", "figures for the time of the chosen event", acts.mark],
    ["r", "select the visible time", () => select([Math.round(view.t0), Math.round(view.t1)])],
    [", .", "along the arrow: to its launch, to what it launched", (ev) => follow(ev.key === ".")],
    ["g G", "longest idle gap, next longest; back", (ev) => acts.gap(ev.key === "g" ? 1 : -1)],
    ["x X", "slowest step, next slowest; back", (ev) => acts.slow(ev.key === "x" ? 1 : -1)],
    ["i I", "findings: next place; back", (ev) => acts.finding(ev.key === "i" ? 1 : -1)],
    ["u", "show or fold what frameworks call within themselves", () => acts.frames()],
    ["c", "copy the name", () => { if (state.chosen) gp.copy(data.at(state.chosen.track, state.chosen.lane, state.chosen.i).name).then(() => gp.say("name copied")); }],
    ["t", "show as tables", () => toggleTables()],
    ["p", "show or hide the figures", toggleFoot],
  ], "Timeline");
  gp.keys.onEscape(() => { if (view.isWhole()) return false; go(...whole()); return true; });
  gp.keys.onEscape(() => { if (!state.range) return false; select(null); return true; });
  gp.keys.onEscape(() => { if (!state.chosen) return false; choose(null); return true; });
  gp.keys.onEscape(() => { if (flame.element.hidden) return false; swap(null); return true; });

  /* ---- the pointer ---- */

  state.pointer = -1;
  gp.timelineInput({ stage: e.stage, ruler: e.ruler, map: e.map }, view, {
    moved() { stop(); gp.tip.hide(); moved(); },
    window(t0, t1) {
      stop();
      const span = t1 - t0;
      view.show(gp.clamp(t0, 0, Math.max(0, view.span - span)), gp.clamp(t0, 0, Math.max(0, view.span - span)) + span);
      moved();
    },
    range(t0, t1, done) { stop(); select([t0, t1], !done); },
    hover(x, y, ev) {
      state.pointer = ev ? x : -1;
      const at = ev && draw.at(x, y), before = state.hover;
      state.hover = at;
      if (!gp.samePosition(before, at)) want(OVER);
      if (!at) return gp.tip.hide();
      point(at, ev);
    },
    press(x, y, twice) {
      const at = draw.at(x, y), row = view.rowAt(y);
      e.stage.focus({ preventScroll: true });
      if (!at && row && !row.track) return acts.close(row.group);
      if (at && at.lane < 0) return;
      choose(at, false);
      if (twice && at) acts.fit();
    },
  });
  function point(at, ev) {
    const track = data.tracks[at.track];
    if (at.lane < 0) {
      const [low, top] = gp.counterScale(track), words = (v) => gp.counterWords(track, v);
      return gp.tip.show(ev.clientX, ev.clientY, `${track.name}: ${words(track.value[at.i])}`,
        [`since ${gp.tickLabel(track.start[at.i], 1000)}`, `highest ${words(track.max)}`, `scale ${words(low)} to ${words(top)}`]);
    }
    const x = data.at(at.track, at.lane, at.i);
    gp.tip.show(ev.clientX, ev.clientY, x.name, [`${gp.ns(x.dur)} at ${gp.tickLabel(x.t0, 1000)}`, `${data.kinds[x.kind].label}, ${data.groups[track.group].name} \u203a ${track.name}`]);
  }

  /* ---- sizes ---- */

  function resize() {
    const r = e.stage.getBoundingClientRect();
    if (r.width < 1) return;
    view.resize(Math.floor(r.width), Math.floor(r.height));
    state.turn++;
    want(TRACKS | OVER);
  }
  function footHeight(px) {
    const h = gp.clamp(px, 90, Math.max(120, innerHeight - 320));
    e.foot.style.height = h + "px";
    resize();
  }
  e.split.addEventListener("pointerdown", (ev) => {
    e.split.setPointerCapture(ev.pointerId);
    const from = ev.clientY, was = e.foot.offsetHeight;
    e.split.onpointermove = (m) => footHeight(was + from - m.clientY);
    e.split.onpointerup = e.split.onpointercancel = () => { e.split.onpointermove = null; };
  });
  e.split.addEventListener("keydown", (ev) => {
    const by = { ArrowUp: 24, ArrowDown: -24 }[ev.key];
    if (!by) return;
    footHeight(e.foot.offsetHeight + by);
    ev.preventDefault();
  });

  /* ---- begin ---- */

  const showTable = make("button", { type: "button", textContent: "Table", title: "show as tables (t)", "aria-pressed": "false", onclick: toggleTables });
  const jump = (text, title, onclick) => make("button", { type: "button", textContent: text, title, onclick });
  if (data.steps.length) e.ways.append(jump("Steps", "all steps (9)", () => go(...home())));
  e.ways.append(jump("All", "the whole trace (0)", () => go(...whole())));
  if (data.devices.some((d) => d.idle !== null)) e.ways.append(jump("Longest gap", "the longest idle gap; again for the next (g)", () => acts.gap(1)));
  if (data.steps.length) e.ways.append(jump("Slowest step", "the slowest step; again for the next (x)", () => acts.slow(1)));
  e.ways.append(shows, showTable);
  const header = main.querySelector("header") || make("header", {}, main.querySelector("h1"));
  main.prepend(header);
  header.append(search.element, gp.pageTools());
  const notes = [...data.notes, ...data.quality.map((q) => `${q.text}: ${gp.count(q.count)}.`)].join(" ");
  if (notes) header.after(make("p", { className: "notes", textContent: notes, title: notes }));
  e.foot.append(about.element, figures.element);
  main.append(make("div", { className: "bar" }, e.legend, e.ways), e.picture, tables.element, flame.element, e.split, e.foot);
  document.body.classList.add("live");
  draw.theme();
  gp.theme.on(() => { draw.theme(); state.turn++; want(TRACKS | OVER); });
  legend();
  new ResizeObserver(resize).observe(e.stage);
  about.ways();
  resize();
  gp.hash.on(recall);
  // for tests and benchmarks
  Object.assign(gp, { page: { data, view, state, draw, acts, flame, frames, paint: () => { wanted |= TRACKS; paint(); return frames.last; }, get quiet() { return !wanted && !settle && !later; } } });
  document.body.dataset.ready = String(Math.round(performance.now())); // ms since the page was asked for
}

start().catch((err) => {
  main.append(gp.make("p", { className: "opening bad", role: "alert", textContent: "The trace in this page cannot be read: " + err.message }));
  throw err;
});
})();
