/* timeline_flame.js -- what launched the GPU work of a range of time, as a flame graph: for every GPU event the ranges,
 * frames, operators and the call around its launch, as wide as its time in the range. The element is placed by timeline.js. All
 * text comes in as text.
 *
 *   const flame = gp.timelineFlame(data, { find, close });  flame.show("Selection", t0, t1);
 */
"use strict";
(() => {
const { make } = gp;
const NARROWEST = 0.0005, STEP = 18; // of the width; pixels per level

/* The events of a host track around one of them, outermost first, and itself. */
function stackOf(data, at) {
  const track = data.tracks[at.track], t = track.lanes[at.lane].start[at.i], names = [];
  for (let l = 0; l < at.lane; l++) {
    const lane = track.lanes[l], i = gp.firstFrom(lane, t + 1) - 1;
    if (i >= 0 && lane.start[i] + lane.dur[i] > t) names.push(lane.name[i]);
  }
  names.push(track.lanes[at.lane].name[at.i]);
  return names;
}

/* {name, ns, count, in: Map name -> the same}: all GPU events that touch [t0, t1), with the part of their time in it. */
async function treeOf(data, t0, t1) {
  const root = { name: -1, ns: 0, count: 0, in: new Map() }, known = new Map();
  const grow = (node, name, ns) => {
    let next = node.in.get(name);
    if (!next) node.in.set(name, next = { name, ns: 0, count: 0, in: new Map() });
    next.ns += ns;
    next.count++;
    return next;
  };
  for (const d of data.devices) for (const index of d.streams) {
    const lanes = data.tracks[index].lanes;
    for (let l = 0; l < lanes.length; l++) {
      const lane = lanes[l], [from, to] = data.bounds(lane, t0, t1);
      for (let i = from; i < to; i++) {
        const ns = Math.min(t1, lane.start[i] + lane.dur[i]) - Math.max(t0, lane.start[i]);
        if (!(ns > 0)) continue;
        const launch = await data.launchOf(index, l, i), key = launch && launch.track + "," + launch.lane + "," + launch.i;
        let stack = known.get(key);
        if (!stack) known.set(key, stack = launch ? stackOf(data, launch) : []);
        let node = root;
        root.ns += ns;
        root.count++;
        for (const name of stack) node = grow(node, name, ns);
        grow(node, lane.name[i], ns);
      }
    }
  }
  return root;
}

function timelineFlame(data, acts) {
  const title = make("h2"), when = make("span", { className: "when" }), stacks = make("div", { className: "stacks" });
  const back = make("button", { type: "button", textContent: "Zoom out", hidden: true, onclick: () => { path.pop(); draw(); } });
  const shut = make("button", { type: "button", textContent: "Close", title: "back to the tracks (Esc)", onclick: acts.close });
  const element = make("section", { className: "flame", "aria-label": "flame graph of the range", tabIndex: -1, hidden: true },
    make("header", {}, title, when, back, shut), stacks);
  let path = [], turn = 0;

  function frame(node, depth, left, share, whole) {
    const kind = data.kinds[data.kindOf[node.name]], fill = (gp.palette()[kind.id] || gp.palette().frame);
    const b = make("button", { type: "button", textContent: data.labels[node.name],
      title: `${data.names[node.name]}\n${gp.ns(Math.round(node.ns))}, ${gp.share(node.ns, whole)} of GPU time, ${gp.count(node.count)} GPU events` });
    Object.assign(b.style, { left: left * 100 + "%", width: share * 100 + "%", top: depth * STEP + "px", color: fill.ink,
      background: fill.fill[gp.shade(data.names[node.name], fill.fill.length)] });
    b.addEventListener("click", () => { if (!node.in.size) return acts.find(data.names[node.name]); path.push(node); draw(); });
    if (share * stacks.clientWidth < 24) b.textContent = ""; // not informative
    stacks.append(b);
  }
  function draw() {
    const whole = path[0].ns, at = path[path.length - 1];
    let deepest = 0;
    stacks.replaceChildren();
    const put = (node, depth, left) => {
      deepest = Math.max(deepest, depth + 1);
      frame(node, depth, left, node.ns / at.ns, whole);
      below(node, depth + 1, left);
    };
    const below = (node, depth, left) => {
      for (const next of [...node.in.values()].sort((a, b) => b.ns - a.ns || a.name - b.name)) {
        if (next.ns / at.ns >= NARROWEST) put(next, depth, left);
        left += next.ns / at.ns;
      }
    };
    if (path.length > 1) put(at, 0, 0); else below(at, 0, 0);
    stacks.style.height = deepest * STEP + "px";
    back.hidden = path.length < 2;
    if (!at.ns) stacks.append(make("p", { className: "hint", textContent: "No GPU work in this time." }));
  }

  async function show(words, t0, t1) {
    const mine = ++turn;
    title.textContent = "Flame graph";
    when.textContent = "\u2026";
    const tree = await treeOf(data, t0, t1);
    if (mine !== turn) return;
    path = [tree];
    when.textContent = `${words}: ${gp.ns(t1 - t0)}, ${gp.count(tree.count)} GPU events, ${gp.ns(Math.round(tree.ns))} of GPU time, under what launched them` +
      (data.windows ? "; only of the windows that have every event" : "");
    draw();
  }
  return { element, show, get tree() { return path[0]; } };
}

Object.assign(gp, { timelineFlame });
})();
