// timeline.js -- the page of trace2timeline in a real browser, as TAP. usage: node timeline.js DIRECTORY SAMPLES
// The directory holds pages that tests/browser/timeline.t made, SAMPLES the traces that some were made from.
"use strict";
const fs = require("node:fs"), path = require("node:path"), zlib = require("node:zlib");
const { ok, becomes, same, pages, main } = require("./tap.js");

const samples = path.resolve(process.argv[3]);

// What the tests ask of a page; runs in it.
const helpers = `
  window.P = gp.page; window.D = P.data;
  window.us = (list) => list.map((t) => Math.round(t) / 1000);
  window.shown = () => us([P.view.t0, P.view.t1]);
  window.trackOf = (id) => D.tracks.find((t) => t.id.includes(id));
  // moving has ended, the address is written
  window.rest = async () => { do await new Promise((r) => setTimeout(r, 30)); while (!P.quiet); };
  window.tsv = () => { const b = document.querySelector(".figures .do button:last-child"); let got;
    navigator.clipboard.writeText = async (t) => { got = t; }; b.click(); return got.trimEnd().split("\\n").map((l) => l.split("\\t")); };
  window.figure = (what, name) => { const r = tsv().find((x) => x[0] === what && x[1] === name); return r ? Number(r[3]) : null; };
  window.box = (selector) => { const r = document.querySelector(selector).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; };
  window.told = () => document.querySelector(".about .name")?.textContent ?? null;
  // the middle of an event on the page
  window.spot = (id, lane, i) => { const t = trackOf(id), row = P.view.rowOf.get(t.index), e = D.at(t.index, lane, i), b = box(".stage");
    return [b[0] + P.view.x((e.t0 + e.t1) / 2), b[1] + P.view.laneBox(row, lane)[0] + 8]; };
  // the colour of the picture there
  window.colour = ([x, y]) => { const c = document.querySelector(".tracks"), b = box(".stage"), one = document.createElement("canvas"); one.width = one.height = 1;
    const ctx = one.getContext("2d"); ctx.drawImage(c, Math.round(b[0] - x), Math.round(b[1] - y)); return [...ctx.getImageData(0, 0, 1, 1).data.slice(0, 3)]; };
`;

const withPage = pages({ width: 1280, helpers, ready: "document.body.dataset.ready || !!document.querySelector('.opening.bad')" });

// ---- the small trace: every figure is computed by hand ----

async function events(page) {
  same(await page.eval("us([D.span])"), [400], "the trace lasts 400 us");
  same(await page.eval("[trackOf('stream 7').count, trackOf('stream 7').total / 1000]"), [3, 220], "the stream has 3 events of 220 us");
  same(await page.eval("[trackOf('thread 1').count, trackOf('thread 1').total / 1000]"), [6, 160], "the thread has 6 events of 160 us");
  same(await page.eval("trackOf('thread 1').lanes.map((l) => [...l.dur].map((d) => d / 1000))"), [[50, 40, 40], [10, 10, 10]], "calls lie in the lane below their operators");
  same(await page.eval("us([...trackOf('stream 7').lanes[0].start])"), [30, 140, 300], "kernels start where they started");
  same(await page.eval("[...document.querySelectorAll('.rows .heading')].length >= 2"), true, "groups have headings");
}

async function figures(page) {
  const all = await page.eval("tsv()");
  const of = (what, name) => Number((all.find((r) => r[0] === what && r[1] === name) || [])[3]);
  const device = all.find((r) => r[1] === "busy")[0];
  same([of(device, "busy"), of(device, "idle"), of(device, "outside")], [220000, 150000, 30000], "whole trace: 220 us busy, 150 us idle, 30 us before the first kernel");
  same(all.filter((r) => r[0] === device && r[1].startsWith("idle: ")).reduce((a, r) => a + Number(r[3]), 0), 150000, "the causes of idle time sum to it");
  same(of(device, "ampere_sgemm_128x64_nn"), 100000, "kernels have their time");
  const text = await page.eval("document.querySelector('.device').innerText");
  ok(/220 µs\s+55\.0%/.test(text) && /150 µs\s+37\.5%/.test(text), "and shares of the range", text);

  // select from 100 us to 200 us by a drag on the ruler
  const [x, y, w] = await page.eval("box('.ruler')");
  const drag = async (type, at) => page.call("Input.dispatchMouseEvent", { type, x: x + at * w, y: y + 12, button: "left", buttons: 1, clickCount: 1 });
  await drag("mousePressed", 0.25);
  await drag("mouseMoved", 0.4);
  await drag("mouseMoved", 0.5);
  await drag("mouseReleased", 0.5);
  const [a, b] = await page.eval("us(P.state.range)");
  ok(Math.abs(a - 100) < 0.5 && Math.abs(b - 200) < 0.5, "a drag on the ruler selects time", `${a} ${b}`);
  same(await page.eval("document.querySelector('.figures h2').textContent"), "Selection", "the figures are those of the selection");
  await page.eval("P.acts.select([100000, 200000])");
  same(await page.eval(`['busy', 'idle', 'outside'].map((n) => figure(${JSON.stringify(device)}, n))`), [50000, 50000, 0], "from 100 to 200 us: 50 us busy, 50 us idle");
  same(await page.eval(`figure(${JSON.stringify(device)}, 'ampere_sgemm_128x64_nn')`), 30000, "of the first kernel the part that lies in it");
  same(await page.eval(`tsv().filter((r) => r[0] === ${JSON.stringify(device)} && r[2] !== '' && !r[1].startsWith('idle')).length`), 4, "two classes, two kernels");
  await page.eval("rest()");
  same(await page.eval("new URLSearchParams(location.hash.slice(1)).get('r')"), "0.1ms-0.2ms", "the selection is in the address");
  await page.key("Escape");
  same(await page.eval("P.state.range"), null, "Esc ends the selection");
}

async function pointing(page) {
  const spot = await page.eval("spot('stream 7', 0, 0)");
  await page.move(...spot);
  ok((await page.eval("document.querySelector('.tip').innerText")).startsWith("ampere_sgemm_128x64_nn"), "what is pointed at is shown");
  await page.click(...spot);
  await becomes(page, "told()", "ampere_sgemm_128x64_nn", "a click chooses");
  const details = await page.eval("document.querySelector('.about').innerText");
  ok(/100 µs \(100,000 ns\)/.test(details), "with its exact duration", details);
  ok(/grid/i.test(details) && /4/.test(details), "and what was recorded of it", details);
  ok(/launched by\s*cudaLaunchKernel/.test(details), "and what launched it", details);
  same(await page.eval("P.state.arrows.length"), 1, "an arrow leads there");
  await page.key(",");
  await becomes(page, "told()", "cudaLaunchKernel", "a key follows it");
  await page.key(".");
  await becomes(page, "told()", "ampere_sgemm_128x64_nn", "and comes back");
  await page.key("Escape");
  same(await page.eval("told()"), null, "Esc ends that");
}

async function keyboard(page) {
  await page.eval("document.querySelector('.stage').focus()");
  await page.key("ArrowRight");
  const first = await page.eval("told()");
  ok(first !== null, "an arrow key chooses an event");
  await page.eval("P.acts.choose({ track: trackOf('stream 7').index, lane: 0, i: 0 })");
  await page.key("ArrowRight");
  same(await page.eval("[P.state.chosen.lane, P.state.chosen.i]"), [0, 1], "right: the next event");
  await page.key("ArrowLeft");
  same(await page.eval("P.state.chosen.i"), 0, "left: the one before");
  await page.key("ArrowRight", 8);
  same(await page.eval("[P.state.chosen.i, ...us(P.state.range)]"), [1, 30, 160], "with Shift both are selected");
  await page.key("ArrowLeft");
  ok((await page.eval("document.querySelector('.spoken').textContent")).includes("ampere_sgemm"), "it is said");
  await page.eval("P.acts.choose({ track: trackOf('thread 1').index, lane: 0, i: 1 })");
  await page.key("ArrowDown");
  same(await page.eval("told() + ' ' + P.state.chosen.i"), "cudaLaunchKernel 1", "down: what it called");
  await page.key("ArrowUp");
  same(await page.eval("told()"), "aten::gelu", "up: who called");
  await page.key("f");
  await page.eval("rest()");
  const [t0, t1] = await page.eval("shown()");
  ok(t0 <= 100 && t1 >= 140 && t1 - t0 < 80, "f fills the window with it", `${t0} ${t1}`);
  await page.key("m");
  same(await page.eval("us(P.state.range)"), [100, 140], "m selects its time");
  await page.key("0");
  await page.eval("rest()");
  same(await page.eval("shown()"), [0, 400], "0: the whole trace");
  await page.key("w");
  await page.eval("rest()");
  same(await page.eval("shown()"), [100, 300], "w zooms in, about the middle");
  await page.key("r");
  same(await page.eval("us(P.state.range)"), [100, 300], "r selects what is in view");
  await page.key("d");
  await page.eval("rest()");
  same(await page.eval("shown()"), [150, 350], "d moves on by a quarter");
  await page.key("a");
  await page.key("s");
  await page.eval("rest()");
  same(await page.eval("shown()"), [0, 400], "a and s go back");
  await page.key("g");
  await page.eval("rest()");
  same(await page.eval("us(P.state.range)"), [160, 300], "g: the longest idle gap");
  await page.key("g");
  await page.eval("rest()");
  same(await page.eval("us(P.state.range)"), [130, 140], "g again: the next longest");
  await page.key("?");
  same(await page.eval("document.querySelector('dialog.keys').open"), true, "? tells the keys");
  await page.key("?");
}

async function mouse(page) {
  await page.eval("P.acts.choose(null), P.acts.select(null)");
  await page.key("0");
  await page.eval("rest()");
  const [x, y, w] = await page.eval("box('.stage')");
  await page.call("Input.dispatchMouseEvent", { type: "mouseWheel", x: x + w / 2, y: y + 60, deltaX: 0, deltaY: -120, modifiers: 2 });
  await page.eval("rest()");
  const [t0, t1] = await page.eval("shown()");
  ok(t1 - t0 < 380 && Math.abs(t0 + t1 - 400) < 1, "Ctrl and the wheel zoom about the pointer", `${t0} ${t1}`);
  const drag = (type, dx) => page.call("Input.dispatchMouseEvent", { type, x: x + w / 2 + dx, y: y + 150, button: "left", buttons: 1, clickCount: 1 });
  await drag("mousePressed", 0);
  await drag("mouseMoved", -30);
  await drag("mouseMoved", -60);
  await drag("mouseReleased", -60);
  await page.eval("rest()");
  const [u0, u1] = await page.eval("shown()");
  ok(Math.abs(u0 - t0 - 60 * (t1 - t0) / w) < 0.5 && Math.abs(u1 - u0 - t1 + t0) < 0.01, "a drag moves", `${t0} to ${u0}`);
  const touch = (type, points) => page.call("Input.dispatchTouchEvent", { type, touchPoints: points.map(([px, py], id) => ({ x: px, y: py, id })) });
  await touch("touchStart", [[x + w / 2 - 50, y + 150]]);
  await touch("touchStart", [[x + w / 2 - 50, y + 150], [x + w / 2 + 50, y + 150]]);
  await touch("touchMove", [[x + w / 2 - 100, y + 150], [x + w / 2 + 100, y + 150]]);
  await touch("touchEnd", []);
  await page.eval("rest()");
  const [v0, v1] = await page.eval("shown()");
  ok(Math.abs((v1 - v0) / (u1 - u0) - 0.5) < 0.02, "two fingers zoom", `${u1 - u0} to ${v1 - v0}`);
  await page.key("0");
}

async function searching(page) {
  const before = await page.eval("colour(spot('stream 7', 0, 0))");
  await page.key("/");
  await page.type("sgemm|gelu");
  await becomes(page, "P.state.search?.total", 3, "a search finds names by regular expression, case ignored");
  // 100 us and 20 us of 220 us
  same(await page.eval("document.querySelector('.search output').textContent"), "3 events, 54.5% of GPU time", "and tells their share of GPU time");
  same(await page.eval("colour(spot('stream 7', 0, 0))"), before, "matches keep their colour");
  const faded = await page.eval("colour(spot('stream 7', 0, 2).map((v, i) => v - 6 * i))"); // above its words
  ok(Math.min(...faded) > 190, "the others stand back", faded);
  await page.key("Enter");
  await becomes(page, "[told(), document.querySelector('.search output').textContent].join()", "ampere_sgemm_128x64_nn,1 of 3", "Enter: the first match");
  await page.key("Enter");
  await becomes(page, "[told(), document.querySelector('.search output').textContent].join()", "aten::gelu,2 of 3", "again: the next in time");
  await page.key("Escape");
  same(await page.eval("P.state.search"), null, "Esc ends the search");
  await page.key("/");
  await page.type("(");
  same(await page.eval("document.querySelector('.search output').textContent"), "not a regular expression", "a broken expression is reported");
  await page.key("Escape");
  await page.key("Escape");
}

async function legend(page) {
  same(await page.eval("['apps.py(3): f', 'torch/nn.py(1): g', '/usr/lib/python3.12/threading.py(1): run', 'PIL/Image.py(2): h', 'threading.py(3): x', '/me/site-packages/torch/a.py(1): y', '/me/train.py(9): z', 'garbage collection'].map(gp.ownerOf)"),
    ["own", "framework", "standard", "library", "standard", "framework", "own", "native"], "whose a function is");
  const button = (text) => `[...document.querySelectorAll('.legend-bar button')].find((b) => b.textContent === ${JSON.stringify(text)})`;
  const before = await page.eval("colour(spot('stream 7', 0, 1))");
  await page.eval(`${button("matrix multiply")}.click(), rest()`);
  const white = (c) => c.every((v) => v > 225);
  ok(!white(before) && white(await page.eval("colour(spot('stream 7', 0, 1))")), "only one class: the others are not drawn");
  ok(!white(await page.eval("colour(spot('stream 7', 0, 0))")), "it is");
  same(await page.eval(`${button("elementwise")}.getAttribute("aria-pressed")`), "false", "and the legend says so");
  await page.eval(`${button("matrix multiply")}.click(), rest()`);
  same(await page.eval("colour(spot('stream 7', 0, 1))"), before, "a second click brings all back");
}

async function restored(page) {
  await page.eval("P.acts.choose({ track: trackOf('thread 1').index, lane: 0, i: 1 }), P.acts.select([100000, 200000])");
  await page.key("/");
  await page.type("gelu");
  await page.key("Enter");
  await page.eval("document.querySelector('.stage').focus()");
  await page.key("w");
  await page.eval("rest()");
  await page.eval("document.querySelector('.rows .heading').click(), rest()");
  const state = "JSON.stringify([shown(), P.state.range, told(), P.state.search && P.state.search.total, [...P.view.closed]])";
  const before = await page.eval(state);
  await page.go((await page.eval("location.href")).replace("#", "?#"));
  await page.ready();
  same(await page.eval(state), before, "the address brings back window, selection, event, search and folds");
  ok(/gelu/i.test(before), "(and they were there)", before);
}

// Tracks are arranged, and the address remembers how; the time of a selection becomes a flame graph.
async function arranging(page) {
  const order = "P.view.rows.filter((r) => r.track).map((r) => r.track.id)", row = "P.view.rows.find((r) => r.track === trackOf('stream 7'))";
  const before = await page.eval(order), stream = before.find((id) => id.includes("stream 7"));
  await page.eval(`P.acts.pin(${row}), rest()`);
  same(await page.eval(`[P.view.rows[0].group.name, ${order}[0]]`), ["Pinned", stream], "a pinned track stands on top");
  await page.eval(`P.acts.hide(P.view.rows.find((r) => r.track === trackOf('thread 1'))), rest()`);
  same(await page.eval("P.view.rowOf.has(trackOf('thread 1').index)"), false, "a hidden one is gone");
  same(await page.eval("document.querySelector('.jumps button:not([hidden])').textContent !== '' && document.querySelector('.jumps').innerText.includes('Show 1 hidden')"), true, "and can be brought back");
  await page.eval("P.acts.move(P.view.rows.filter((r) => r.track && !r.pin)[1], -1), rest()");
  const arranged = await page.eval(order);
  same(arranged.slice(1, 3), before.filter((id) => id !== stream).slice(0, 2).reverse(), "one that is moved up changes places with its neighbour");
  await page.go((await page.eval("location.href")).replace("#", "?#"));
  await page.ready();
  same(await page.eval(order), arranged, "the address brings all of it back");
  await page.eval("P.acts.choose({ track: trackOf('thread 1').index, lane: 0, i: 0 }), rest()");
  same(await page.eval("P.view.rowOf.has(trackOf('thread 1').index)"), true, "what is gone to is shown again");
  await page.eval("P.acts.choose(null), location.hash = '', P.acts.select([100000, 200000]), P.acts.flame()");
  await page.until("P.flame.tree?.ns", 50000);
  // 30 us of the first kernel, and the second one of 20 us
  same(await page.eval("[P.flame.tree.ns, [...P.flame.tree.in.values()].map((n) => [D.names[n.name], n.ns])]"),
    [50000, [["aten::mm", 30000], ["aten::gelu", 20000]]], "the selection as a flame graph: what launched the work in it");
  same(await page.eval("[...document.querySelectorAll('.flame .stacks button')].map((b) => b.style.width).slice(0, 2)"), ["60%", "60%"], "as wide as its time");
  await page.key("Escape");
  same(await page.eval("document.querySelector('.flame').hidden"), true, "Esc goes back to the tracks");
}

// What a framework calls within itself is folded until it is wanted: by the legend, a key, or by going to it.
async function folding(page) {
  const lanes = "P.view.rowOf.get(trackOf('thread 1').index)", names = `(${lanes}.slim || trackOf('thread 1')).lanes.map((l) => [...l.name].map((n) => D.names[n].replace(/.*: /, "")).join(" "))`;
  const slim = ["main", "forward loss", "aten::linear backward", "cudaLaunchKernel"], all = ["main", "_wrapped_call_impl loss", "_call_impl backward", "forward run", "linear", "aten::linear", "cudaLaunchKernel"];
  same(await page.eval(names), slim, "of a framework's functions those stand that others called");
  same(await page.eval(`${lanes}.lanes`), 4, "the row is as high as they need");
  same(await page.eval("['thread 1', 'thread 2', 'thread 3'].map((t) => P.view.isFolded(trackOf(t)))"), [false, false, true], "the thread that launches most is open as well");
  const op = await page.eval("(() => { const t = trackOf('thread 1'), at = { track: t.index, lane: 5, i: 0 }, b = box('.stage'), [y] = P.view.laneBox(P.view.rowOf.get(t.index), P.view.laneOf(at)); return [b[0] + P.view.x(300000), b[1] + y + 8]; })()");
  await page.click(...op);
  await becomes(page, "told()", "aten::linear", "what is drawn is what is pointed at");
  await page.key("ArrowUp");
  same(await page.eval("told()"), "torch/nn/modules/linear.py(3): forward", "up: who called, of what is shown");
  await page.key("u");
  await page.eval("rest()");
  same(await page.eval(names), all, "a key shows all");
  same(await page.eval("new URLSearchParams(location.hash.slice(1)).get('u')"), "1", "the address has it");
  await page.eval("([...document.querySelectorAll('.legend-bar .owner')].find((b) => b.textContent === 'framework').click(), rest())");
  same(await page.eval(names), slim, "the legend folds them again");
  await page.key("/");
  await page.type("functional");
  await page.key("Enter");
  await becomes(page, "told()", "torch/nn/functional.py(4): linear", "a search finds what is folded");
  same(await page.eval(names), all, "and shows it");
}

async function table(page) {
  await page.key("t");
  same(await page.eval("[...document.querySelectorAll('.tables table')].length"), 2, "t: tables in place of the picture");
  const tracks = await page.eval("[...document.querySelector('.tables table').tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))");
  ok(tracks.some((r) => /stream 7/.test(r[1]) && r[2] === "3" && /^220 µs/.test(r[4])), "all tracks are there", JSON.stringify(tracks));
  await page.eval("[...document.querySelectorAll('.tables button')].find((b) => /stream 7/.test(b.textContent)).click()");
  const rows = await page.eval("[...document.querySelectorAll('.tables table')[1].tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))");
  same(rows.map((r) => r[4]), ["100 µs", "20.0 µs", "100 µs"], "and the events of one");
  await page.key("t");
}

async function attacks(page) {
  same(await page.eval("document.querySelectorAll('img').length"), 0, "no picture came from a name");
  same(await page.eval("[...document.querySelectorAll('script')].filter((s) => !s.type).length"), 2, "and no script");
  for (const at of ["{ track: trackOf('thread 1').index, lane: 0, i: 2 }", "{ track: trackOf('stream 7').index, lane: 0, i: 2 }"]) {
    await page.eval(`P.acts.choose(${at})`);
    ok(await page.until("told()?.startsWith('</scr' + 'ipt><scr' + 'ipt>alert(')"), "a name full of markup is shown as it is");
  }
  await page.eval("P.acts.choose({ track: trackOf('thread 1').index, lane: 0, i: 2 })");
  ok(await page.until("document.querySelector('.about').innerText.includes('alert(4)')"), "and so are its args");
  await page.key("t");
  await page.move(...await page.eval("[640, 300]"));
  await page.key("t");
  await page.move(...await page.eval("spot('stream 7', 0, 2)"));
  await page.sleep(50);
  same(await page.eval("document.querySelectorAll('img').length"), 0, "nowhere it becomes markup");
  same(await page.eval("performance.getEntriesByType('resource').length"), 0, "nothing is loaded");
}

const PAGE = "colour([box('.stage')[0] + 300, box('.stage')[1] + box('.stage')[3] - 3])";
// of each name of the host whether its colour is opaque, and further from the page where lanes are thin
const THIN = `(() => { const c = P.draw.colours, sum = (v) => (v & 255) + (v >> 8 & 255) + (v >> 16 & 255), far = (v) => Math.abs(sum(v) - sum(c.page));
  const host = [...c.fill.keys()].filter((i) => !D.kinds[D.kindOf[i]].gpu);
  return host.length > 0 && host.every((i) => c.thin.fill[i] >>> 24 === 255 && far(c.thin.fill[i]) > far(c.fill[i])); })()`;
async function themes(page, dark) {
  same(await page.eval(PAGE), dark ? [20, 23, 28] : [255, 255, 255], (dark ? "dark" : "light") + " as the system is");
  ok(await page.eval(THIN), "thin lanes stand out from the page");
  await page.eval("gp.theme.set('contrast'), rest()");
  same(await page.eval(PAGE), [0, 0, 0], "high contrast when asked for");
  await page.eval("gp.theme.set(''), rest()");
}

async function paper(page) {
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  same(await page.eval("['.picture', '.search', '.page-tools', '.jumps'].filter((s) => getComputedStyle(document.querySelector(s)).display !== 'none')"), [], "on paper there is nothing to press");
  ok(await page.eval("!!document.querySelector('.still svg') && getComputedStyle(document.querySelector('.still')).display !== 'none'"), "there is the picture that stands still");
  const { data } = await page.call("Page.printToPDF", { printBackground: true });
  ok(Buffer.from(data, "base64").length > 8000, "it prints");
}

async function still(page) {
  ok(await page.eval("document.querySelectorAll('.still svg rect').length") >= 9, "without scripts there is a picture of all events");
  same(await page.eval("document.querySelectorAll('button, input, canvas').length"), 0, "and nothing that does nothing");
  same(await page.eval("document.querySelectorAll('img').length"), 0, "and no markup from names");
}

// ---- the samples: what the page has is what the trace has ----

// Spans and instants of a Chrome trace by what they are, counted by a program of its own.
function counted(file) {
  const trace = JSON.parse(zlib.gunzipSync(fs.readFileSync(file)).toString("utf8").replace(/[\u0000-\u001f]/g, " "));
  const list = Array.isArray(trace) ? trace : trace.traceEvents, gpu = { n: 0, ns: 0 }, host = { n: 0, ns: 0 };
  for (const e of list) {
    if (e.ph !== "X" || e.tid === "PyTorch Profiler") continue;
    const to = ["kernel", "gpu_memcpy", "gpu_memset"].includes(e.cat) ? gpu : ["cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "python_function"].includes(e.cat) ? host : null;
    if (!to) continue;
    to.n++;
    to.ns += Math.round(e.dur * 1000);
  }
  return { gpu, host };
}

const totals = `(() => {
  const gpu = { n: 0, ns: 0 };
  for (const d of D.devices) for (const t of d.streams) for (const l of D.tracks[t].lanes) for (let i = 0; i < l.n; i++) if (D.kinds[D.kindOf[l.name[i]]].gpu) { gpu.n++; gpu.ns += l.dur[i]; }
  const lanes = D.tracks.filter((t) => t.lanes).every((t) => { let n = 0, ns = 0; for (const l of t.lanes) { n += l.n; for (let i = 0; i < l.n; i++) ns += l.dur[i]; } return n === t.count && ns === t.total; });
  return { gpu, lanes, events: D.events, shown: D.shown, names: D.names.length };
})()`;

// What is on the screen at first: the steps and nothing else, their figures as the line above has them, causes of idle time that
// sum, and the rows of the GPU however far the others are scrolled.
async function opensOnSteps(page) {
  const steps = await page.eval("D.steps.filter((s) => !s.warm_up).map((s) => [s.t0, s.t1])");
  if (!steps.length) return;
  same(await page.eval("[P.view.t0, P.view.t1]"), [Math.min(...steps.map((s) => s[0])), Math.max(...steps.map((s) => s[1]))], "the steps are in view, from the first to the last");
  await page.until("document.querySelector('.figures h2')?.textContent === 'Steps'");
  same(await page.eval("document.querySelector('.figures h2').textContent"), "Steps", "and the figures are called so");
  const said = await page.eval("/GPU busy ([\\d.]+%)/.exec(document.querySelector('.facts').textContent)?.[1]");
  if (said && await page.eval("D.devices.length") === 1) same(await page.eval("/busy ([\\d.]+%)/.exec(document.querySelector('.figures .device .head').textContent)[1]"), said, "they are those of the line above");
  ok(await page.eval("D.aggregate(P.view.t0, P.view.t1).devices.every((d) => Math.abs(d.causes.reduce((a, c) => a + c.ns, 0) - d.idle) < 1)"), "the causes of idle time sum to it");
  await page.eval("(P.acts.look(P.view.t0, P.view.t0 + 1000), rest())");
  await page.eval("([...document.querySelectorAll('.jumps button')].find((b) => b.textContent === 'Steps').click(), rest())");
  ok(await page.until("P.view.t0 === Math.min(...D.steps.filter((s) => !s.warm_up).map((s) => s.t0))"), "a button leads back to them");
  await page.eval("(P.acts.choose(null), P.acts.select(null), rest())");
  same(await page.eval("(() => { const v = P.view, kept = v.covered(); v.scrollTo(1e6); const row = v.rowAt(30); v.scrollTo(0); return !kept || v.total <= v.height || row === v.rowAt(30); })()"), true, "the GPU's rows stay while others scroll");
}

async function sample(page, file) {
  const has = await page.eval(totals);
  ok(has.lanes, "every track has as many events, and as much time, as it says");
  same(has.shown, has.events, "none is left out");
  if (file.endsWith(".json.gz")) same(has.gpu, counted(path.join(samples, file)).gpu, "GPU events and their time are those of the trace");
  ok(await page.eval("[...document.querySelectorAll('.rows .track')].length") > 0, "tracks have names");
  same(await page.eval("shown()"), await page.eval("us(D.open || [0, P.view.span])"), "the page opens on the steps, or on everything");
  await opensOnSteps(page);
  ok(await page.eval(`(() => {
    const threads = D.tracks.filter((t) => t.sort === "slices" && D.groups[t.group].device < 0), most = Math.max(...threads.map((t) => t.total));
    const calls = (t) => t.lanes.reduce((a, l) => a + l.name.reduce((n, id) => n + (D.kinds[D.kindOf[id]].id === "api" && /launch/i.test(D.names[id])), 0), 0);
    const launches = Math.max(...threads.map(calls));
    return threads.every((t) => P.view.isFolded(t) === (t.lanes.length >= 9 && t.total < most && (!launches || calls(t) < launches)));
  })()`), "of deep threads, the one in which most happens is open, and the one that launches most");
  const [longest, gaps, [from, to]] = await page.eval("[D.gaps(1), D.gaps(1e6, [0, D.span]), D.open || [0, D.span]].map((x, i) => i < 2 ? x.map((g) => [g.t1 - g.t0, g.t0]) : x)");
  same(longest.map((g) => g[0]), (gaps.filter(([ns, t0]) => t0 < to && t0 + ns > from)[0] || gaps[0] || []).slice(0, 1), "the longest gap is the longest of the measured steps");
  const places = await page.eval(`(async () => { const all = []; for (const f of D.findings) { P.acts.found(f); await rest(); const c = P.state.chosen, [a, b] = P.state.range;
    all.push([f.id, f.t0 !== null ? a === f.t0 && b === Math.max(f.t1, a + 1) : D.longest(f.where, ...(D.open || [0, D.span])) ? [D.names, D.labels].some((l) => l[D.at(c.track, c.lane, c.i).nameId] === f.where) : b > a, a >= P.view.t0 && b <= P.view.t1]); } return all.filter((x) => !x[1] || !x[2]).map((x) => x[0]); })()`);
  same(places, [], "every finding has a place, and leads there");
  for (const key of ["g", "x", "0"]) { await page.key(key); await page.eval("rest()"); }
  ok(await page.eval("Math.min(...[1, 2, 3, 4, 5].map(() => P.paint()))") < 100, "a frame is drawn in no time");
}

async function all() {
  const small = (run, options = {}) => withPage("small.html", options, run);
  await small(async (page) => {
    await events(page);
    await attacks(page);
    await page.eval("P.acts.choose(null)");
    await figures(page);
    await pointing(page);
    await searching(page);
    await legend(page);
    await table(page);
    await arranging(page);
  });
  await small(async (page) => {
    await keyboard(page);
    await mouse(page);
  });
  await withPage("frames.html", {}, folding);
  await small(restored);
  await small((page) => themes(page, false));
  await small((page) => themes(page, true), { dark: true });
  await small(paper);
  await small(still, { scripts: false });
  await small(async (page) => same(await page.eval("document.documentElement.scrollWidth"), 420, "a narrow window needs no scrolling sideways"), { width: 420 });
  await withPage("empty.html", {}, async (page) => same(await page.eval("D.tracks.length"), 0, "a trace of nothing has a page"));
  await withPage("instant.html", {}, async (page) => {
    for (const key of ["ArrowRight", "f", "w", "s", "0"]) { await page.key(key); await page.eval("rest()"); }
    same(await page.eval("[told(), P.view.t1 > P.view.t0]"), ["k", true], "an event without a duration can be reached");
    ok(Math.max(...await page.eval("colour([box('.stage')[0] + 0.5, spot('stream 7', 0, 0)[1]])")) < 250, "and is seen");
  });
}

main(async (again) => {
  if (!again) await all(); // in a second browser, what samples show: tests/long.sh does the rest there
  for (const file of fs.readdirSync(samples).filter((f) => /\.(trace|json\.gz)$/.test(f)).sort()) {
    await withPage(file + ".html", {}, (page) => sample(page, file));
  }
}, { firefox: true });
