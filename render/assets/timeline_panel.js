/* timeline_panel.js -- the timeline in words: the chosen event, with its args as recorded; the figures of a
 * range of time; where to look first; and the same as tables for those who do not see the picture. Elements
 * are made here and placed by timeline.js. All text comes in as text.
 *
 *   const about = gp.timelineAbout(data, acts);  about.event(at);  about.ways();
 *   const figures = gp.timelineFigures(data, acts);  figures.show("Selection", t0, t1);
 *   const tables = gp.timelineTables(data, view, acts);  tables.update();
 */
"use strict";
(() => {
const { make } = gp;

/* The mark of idle time, or of what CAUSE it has. */
const hatched = (cause) => {
  const mark = make("i", { className: cause ? "swatch-box idle indent" : "swatch-box idle", "aria-hidden": "true" });
  if (cause) mark.style.setProperty("--hatch", `var(--c-${gp.causeColour(cause)})`);
  return mark;
};
function swatch(kind) {
  const i = make("i", { className: "swatch-box", "aria-hidden": "true" });
  i.style.background = `var(--k-${kind})`;
  return i;
}
const button = (text, title, onclick, className) => make("button", { type: "button", textContent: text, title, onclick, className });
/* "matrix multiply" of "matrix multiply, convolution" */
const briefly = (label) => label.split(",")[0];
/* A row of figures: a word, then numbers. */
const line = (mark, word, title, ...numbers) => make("div", { className: "line" }, mark,
  make("span", { className: "word", textContent: word, title }), ...numbers.map((textContent) => make("span", { className: "n", textContent })));

/* ---- the event that is chosen, or where to look ---- */

/* What the other end of an arrow is to the event: where it leads to, where it comes from. */
const ARROWS = { launch: ["launched", "launched by"], backward: ["backward", "forward"], cause: ["followed by", "follows"] };

function timelineAbout(data, acts) {
  const element = make("section", { className: "about", "aria-label": "details" });
  let turn = 0;

  function facts(at) {
    const e = data.at(at.track, at.lane, at.i), track = data.tracks[at.track];
    return [["Track", data.groups[track.group].name + " \u203a " + track.name], ["Class", data.kinds[e.kind].label],
      ["Start", gp.tickLabel(e.t0, 1)], ["Duration", gp.ns(e.dur) + (e.dur >= 1000 ? " (" + gp.exactly(e.dur, "ns") + ")" : "")]];
  }
  const term = ([k, v]) => make("div", {}, make("dt", { textContent: k }), make("dd", { textContent: v }));

  function arrowLine(at, a) {
    const out = gp.samePosition(a.from, at), other = out ? a.to : a.from;
    const mine = data.at(at.track, at.lane, at.i), theirs = data.at(other.track, other.lane, other.i);
    const gap = out ? theirs.t0 - mine.t1 : mine.t0 - theirs.t1, words = ARROWS[a.what][out ? 0 : 1];
    return make("div", { className: "way" }, make("span", { className: "dim", textContent: words }),
      button(gp.cutName(theirs.label, 48), theirs.name, () => acts.choose(other, true), "link"),
      make("span", { className: "dim", textContent: gap < 0 ? "overlapping" : gp.ns(gap) + (out ? " later" : " earlier") }));
  }

  async function event(at) {
    const mine = ++turn, { name } = data.at(at.track, at.lane, at.i);
    const shut = button("\u00d7", "close (Esc)", () => acts.choose(null));
    shut.setAttribute("aria-label", "close the details");
    const head = make("header", {}, make("h2", { textContent: "Event" }), make("div", { className: "do" },
      gp.copyButton("Copy", () => name, "copy the name (c)"), button("Zoom", "zoom to it (f)", acts.fit),
      button("Range", "figures for its time (m)", acts.mark), shut));
    const list = make("dl", {}, ...facts(at).map(term)), ways = make("div", { className: "ways" });
    element.replaceChildren(head, make("div", { className: "scroll" }, make("p", { className: "name", textContent: name }), ways, list));
    const [args, arrows] = await Promise.all([data.details(at.track, at.lane, at.i), data.arrows(at.track, at.lane, at.i)]);
    if (mine !== turn) return;
    list.append(...args.map(term));
    ways.append(...arrows.slice(0, 12).map((a) => arrowLine(at, a)));
    if (arrows.length > 12) ways.append(make("span", { className: "dim", textContent: `and ${gp.count(arrows.length - 12)} more` }));
    acts.arrows(at, arrows);
  }

  /* Nothing is chosen: the longest gaps, the slowest steps, what was found. */
  function ways() {
    turn++;
    const list = make("div", { className: "ways" });
    const add = (text, figure, title, go, part) => list.append(make("div", { className: part ? "way part" : "way" }, button(text, title, go, "link"),
      make("span", { className: "n", textContent: figure })));
    const [gap] = data.gaps(1), slow = data.slowest();
    if (gap) add("Longest idle gap" + (gap.causes.length ? ": " + gap.causes[0].text : ""), gp.ns(gap.t1 - gap.t0), "show it (g; again for the next)", () => acts.gap(1));
    if (slow) add("Slowest step: " + slow.name, gp.ns(slow.t1 - slow.t0), "show it (x; again for the next)", () => acts.slow(1));
    for (const f of data.findings.slice(0, 12)) {
      add(f.text, "", "show it", () => acts.found(f), f.part);
    }
    const keys = make("p", { className: "hint" }, "Drag to move, Ctrl and wheel to zoom, drag the ruler to select time. ",
      make("kbd", { textContent: "?" }), " lists all keys.");
    element.replaceChildren(make("header", {}, make("h2", { textContent: "What to look at first" })), make("div", { className: "scroll" }, list, keys));
  }
  return { element, event, ways };
}

/* ---- figures of a range of time ---- */

function device(data, d, span) {
  const bar = make("div", { className: "stack", role: "img", "aria-label": `${d.name}: busy ${gp.share(d.busy, span)}, idle ${gp.share(d.idle, span)}` });
  const part = (className, ns, colour) => {
    const i = make("i", { className });
    i.style.flexGrow = ns / span;
    if (colour) i.style.background = colour;
    if (ns > 0) bar.append(i);
  };
  const work = d.kinds.reduce((a, k) => a + k.ns, 0) || 1; // what runs at once counts twice there
  for (const { kind, ns } of d.kinds) part("", ns / work * d.busy, `var(--k-${data.kinds[kind].id})`);
  part("idle", d.idle);
  part("outside", d.outside);
  return make("div", { className: "device" },
    make("div", { className: "head" }, make("b", { textContent: d.name }), make("span", { textContent: `busy ${gp.share(d.busy, span)}` })), bar,
    line(null, "busy", "at least one kernel, copy or set is running", gp.ns(Math.round(d.busy)), gp.share(d.busy, span)),
    line(hatched(), "idle", "nothing is running", gp.ns(Math.round(d.idle)), gp.share(d.idle, span)),
    ...d.causes.filter((c) => c.ns > 0).map((c) => line(hatched(c.name), c.text, c.text, gp.ns(Math.round(c.ns)), gp.share(c.ns, span))),
    d.outside > 0 ? line(make("i", { className: "swatch-box outside", "aria-hidden": "true" }), "before or after all of its work", "", gp.ns(Math.round(d.outside)), gp.share(d.outside, span)) : "");
}

/* Over all devices, most time first. */
function summed(devices, list, key) {
  const all = new Map();
  for (const d of devices) for (const x of d[list]) {
    const sum = all.get(x[key]) || { [key]: x[key], ns: 0, count: 0 };
    sum.ns += x.ns;
    sum.count += x.count || 0;
    all.set(x[key], sum);
  }
  return [...all.values()].sort((a, b) => b.ns - a.ns);
}

function timelineFigures(data, acts) {
  const title = make("h2"), when = make("span", { className: "when" });
  const zoom = button("Zoom to it", "zoom to the selection (f)", acts.fit);
  const clear = button("Clear", "end the selection (Esc)", () => acts.select(null));
  const copy = gp.copyButton("Copy TSV", () => asTsv(), "exact figures, with full names");
  const flame = button("Flame graph", "what launched the GPU work of this time, as a flame graph (l)", acts.flame);
  const body = make("div", { className: "columns" });
  zoom.hidden = clear.hidden = true;
  const element = make("section", { className: "figures", "aria-label": "figures of the range" },
    make("header", {}, title, when, make("div", { className: "do" }, zoom, clear, flame, copy)), body);
  let last = null, paper = null, shown = [];

  function asTsv() {
    const rows = [["what", "name", "count", "ns"]];
    if (!last) return "";
    rows.push(["range", "span", "", Math.round(last.span)]);
    for (const d of last.devices) {
      rows.push([d.name, "busy", "", Math.round(d.busy)], [d.name, "idle", "", Math.round(d.idle)], [d.name, "outside", "", Math.round(d.outside)]);
      for (const c of d.causes) rows.push([d.name, "idle: " + c.text, c.count, Math.round(c.ns)]);
      for (const k of d.kinds) rows.push([d.name, data.kinds[k.kind].label, k.count, Math.round(k.ns)]);
      for (const k of d.kernels) rows.push([d.name, data.names[k.name], k.count, Math.round(k.ns)]);
    }
    return rows.map((r) => r.map((v) => String(v).replace(/[\t\r\n]+/g, " ")).join("\t")).join("\n") + "\n";
  }

  function show(words, t0, t1, chosen) {
    const span = t1 - t0, answer = data.aggregate(t0, t1);
    last = answer;
    shown = [words, t0, t1, chosen];
    title.textContent = words;
    when.textContent = `${gp.ns(Math.round(span))}, ${gp.tickLabel(t0, Math.max(1, span / 100))} to ${gp.tickLabel(t1, Math.max(1, span / 100))}`;
    zoom.hidden = clear.hidden = !chosen;
    const kinds = summed(answer.devices, "kinds", "kind"), kernels = summed(answer.devices, "kernels", "name");
    const work = kernels.reduce((a, k) => a + k.ns, 0);
    const classes = make("div", { className: "column classes" }, make("h3", { textContent: "GPU time by class" }),
      ...kinds.map((k) => line(swatch(data.kinds[k.kind].id), briefly(data.kinds[k.kind].label), data.kinds[k.kind].label, gp.ns(Math.round(k.ns)), gp.share(k.ns, work))));
    const room = paper || Math.max(12, Math.floor(((body.clientWidth - 44) * 0.44 - 196) / 7.3)); // columns of the names of kernels
    const top = make("div", { className: "column kernels" }, make("h3", { textContent: "Top kernels" }));
    for (const k of kernels.slice(0, 30)) {
      const row = line(swatch(data.kinds[data.kindOf[k.name]].id), "", data.names[k.name], gp.count(k.count) + "\u00d7", gp.ns(Math.round(k.ns)), gp.share(k.ns, work));
      row.querySelector(".word").append(button(gp.cutName(data.labels[k.name], room), data.names[k.name], () => acts.find(data.names[k.name]), "link"));
      top.append(row);
    }
    if (kernels.length > 30) top.append(make("p", { className: "hint", textContent: `and ${kernels.length - 30} more; Copy TSV has all` }));
    const devices = make("div", { className: "column devices" }, ...answer.devices.map((d) => device(data, d, span)));
    if (answer.exact === false) classes.append(make("p", { className: "hint", textContent: "Classes and kernels cover only the windows that have every event (green in the ruler)." }));
    const columns = answer.devices.length ? [devices, classes, top] : [make("p", { className: "hint", textContent: "No GPU work was recorded." })];
    body.replaceChildren(...columns);
  }
  /* There is room for names in full on paper. */
  addEventListener("beforeprint", () => { paper = 110; if (last) show(...shown); });
  addEventListener("afterprint", () => { paper = null; if (last) show(...shown); });
  return { element, show };
}

/* ---- the same as tables ---- */

const ROWS = 200;

function table(heads, rows) {
  const t = make("table"), head = t.createTHead().insertRow(), body = t.createTBody();
  for (const [text, n] of heads) head.append(make("th", { textContent: text, scope: "col", className: n ? "n" : "" }));
  for (const cells of rows) {
    const tr = body.insertRow();
    cells.forEach((c, i) => tr.append(make("td", { className: heads[i][1] ? "n" : "" }, c)));
  }
  return t;
}

function timelineTables(data, view, acts) {
  const element = make("section", { className: "tables", "aria-label": "the timeline as tables", tabIndex: -1, hidden: true });
  const lanesOf = (t) => t.lanes.map((l) => data.bounds(l, view.t0, view.t1));
  let chosen = data.tracks.find((t) => t.sort !== "counter") || null, from = 0;

  function tracks() {
    const rows = data.tracks.map((t) => {
      const n = t.sort === "counter" ? gp.firstFrom(t, view.t1) - gp.firstFrom(t, view.t0) : lanesOf(t).reduce((a, [x, y]) => a + Math.max(0, y - x), 0);
      const name = t.sort === "counter" ? t.name : button(t.name, "its events", () => { chosen = t; from = 0; update(); }, "link");
      return [data.groups[t.group].name, name, gp.count(t.count), gp.count(n), t.sort === "counter" ? "" : gp.ns(Math.round(t.total))];
    });
    return table([["Group"], ["Track"], ["Events", 1], ["In view", 1], ["Summed duration", 1]], rows);
  }

  /* All lanes of a track, by start. */
  function events(track) {
    const all = [];
    lanesOf(track).forEach(([a, b], lane) => { for (let i = a; i < Math.min(b, a + from + ROWS + 1); i++) all.push({ track: track.index, lane, i }); });
    const start = (at) => track.lanes[at.lane].start[at.i];
    return all.sort((a, b) => start(a) - start(b) || a.lane - b.lane);
  }

  function update() {
    if (element.hidden) return;
    const parts = [make("h2", { textContent: `Tracks, ${gp.tickLabel(view.t0, (view.t1 - view.t0) / 100)} to ${gp.tickLabel(view.t1, (view.t1 - view.t0) / 100)}` }), tracks()];
    if (chosen) {
      const all = events(chosen), part = all.slice(from, from + ROWS);
      const rows = part.map((at) => {
        const e = data.at(at.track, at.lane, at.i);
        return [button(gp.cut(e.name, 120), e.name, () => acts.choose(at, true), "link"), data.kinds[e.kind].label, String(at.lane + 1),
          gp.tickLabel(e.t0, 1), gp.ns(e.dur)];
      });
      parts.push(make("h2", { textContent: `Events of ${data.groups[chosen.group].name} \u203a ${chosen.name}` }),
        table([["Name"], ["Class"], ["Level", 1], ["Start", 1], ["Duration", 1]], rows));
      const more = make("p", { className: "do" });
      if (from > 0) more.append(button("Earlier", "", () => { from = Math.max(0, from - ROWS); update(); }));
      if (all.length > from + ROWS) more.append(button("Later", "", () => { from += ROWS; update(); }));
      parts.push(more);
    }
    element.replaceChildren(...parts);
  }
  return { element, update, follow() { from = 0; update(); }, choose(track) { chosen = track; from = 0; } };
}

Object.assign(gp, { briefly, timelineAbout, timelineFigures, timelineTables });
})();
