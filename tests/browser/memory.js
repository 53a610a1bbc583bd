// memory.js -- the page of trace-memory in a real browser, as TAP. usage: node memory.js DIRECTORY
// The directory holds pages that tests/browser/memory.t made.
"use strict";
const fs = require("node:fs"), path = require("node:path");
const { where, ok, is, pages, main } = require("./tap.js");
const { contrasts, overlaps } = require("./look.js");

const EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'";

const helpers = `
  window.curve = (i = 0) => document.querySelectorAll("svg.chart.memory")[i];
  window.flame = (i = 0) => document.querySelectorAll("svg.flame.memory")[i];
  window.said = () => document.querySelector("p.now").textContent;
  window.rows = () => [...document.querySelectorAll("table.now tbody tr")].map((r) => [...r.cells].map((c) => c.title || c.textContent).join("|")).join("\\n");
  window.press = (text) => [...document.querySelectorAll(".controls button")].find((b) => b.textContent === text);
  window.centre = (e) => { e.scrollIntoView({ block: "center" }); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
  window.ticks = () => [...curve().querySelectorAll(".tick.mid")].map((e) => e.textContent).join(" ");
`;

const withPage = pages({ helpers, ready: "document.querySelectorAll('svg.flame.memory').length" });

async function clickOn(page, expression) {
  const [x, y] = await page.eval(`centre(${expression})`);
  await page.click(x, y);
}

async function verdict(page) {
  ok((await page.eval("document.querySelector('.verdict p').textContent")).startsWith("cuda:0 ran out of memory: 1.07 GB were requested"), "the verdict of out of memory comes first");
  is(await page.eval("document.querySelector('main section.theme h2').textContent"), "Out of memory", "and its picture");
  is(await page.eval("document.querySelector('header a').getAttribute('href')"), "./a%20b.html", "the timeline is linked");
}

async function attacks(page) {
  is(await page.eval("document.querySelectorAll('script:not([type])').length"), 3, "no script came from a name");
  is(await page.eval("document.querySelectorAll('img').length"), 0, "and no picture");
  is(await page.eval("performance.getEntriesByType('resource').length"), 0, "nothing is loaded");
  ok((await page.eval("rows()")).includes(EVIL), "the name is shown");
}

// 1,024,000 bytes at 0, 2,048,000 more at 1 ms, 4,096,000 at 2 ms, the second freed at 3 ms.
const AT_PEAK = ["model.py:3 third|unknown|1|4.10 MB|57.1%", `model.py:2 ${EVIL}|unknown|1|2.05 MB|28.6%`, "model.py:1 first|unknown|1|1.02 MB|14.3%"].join("\n");

async function moments(page) {
  ok((await page.eval("said()")).startsWith("7.17 MB allocated of 21.0 MB reserved, 2.00 ms into the history, in ProfilerStep#1"), "the peak is chosen at first");
  is(await page.eval("rows()"), AT_PEAK, "with who holds what");
  await page.eval("curve().focus()");
  await page.key("ArrowLeft");
  ok((await page.eval("said()")).startsWith("3.07 MB allocated"), "an arrow key goes to the moment before");
  is(await page.eval("location.hash"), "#t0=1000000", "which is in the address");
  await page.key("ArrowRight");
  ok((await page.eval("said()")).startsWith("7.17 MB allocated"), "another comes back");
  is(await page.eval("location.hash"), "", "the peak needs no address");
  await clickOn(page, "press('Out of memory')");
  ok((await page.eval("said()")).startsWith("5.12 MB allocated of 21.0 MB reserved, 4.00 ms"), "a button goes to where memory ran out");
  ok(!(await page.eval("rows()")).includes(EVIL), "what was freed is gone");
  await page.key("p");
  is(await page.eval("rows()"), AT_PEAK, "p goes to the peak");
  const [left, right, top] = await page.eval("(() => { curve().scrollIntoView({ block: 'center' }); const r = curve().getBoundingClientRect(); return [r.left + 74, r.right - 8, r.top + 150]; })()");
  await page.click(left + (right - left) * 0.28, top);
  ok((await page.eval("said()")).startsWith("3.07 MB allocated"), "a click chooses the moment below it");
  await page.key("e");
  ok((await page.eval("said()")).startsWith("5.12 MB allocated"), "e goes to the end");
  await page.key("p");
}

async function stacks(page) {
  const texts = "[...flame().querySelectorAll('.box')].map((g) => g.node.name).join('|')";
  is(await page.eval(texts), `allocated|main (train.py:7)|third (model.py:3)|${EVIL} (model.py:2)|first (model.py:1)`, "stacks: the outermost call first, the heaviest to the left");
  is(await page.eval("[...flame().querySelectorAll('.box')].slice(2).reduce((n, g) => n + g.node.value, 0)"), 7168000, "which sum to the peak");
  await page.eval("flame().focus()");
  await page.key("ArrowDown");
  await page.key("ArrowDown");
  is(await page.eval("flame().querySelector('.current').node.name"), "third (model.py:3)", "arrow keys move between boxes");
  await page.key("ArrowRight");
  await page.key("Enter");
  is(await page.eval("flame().querySelectorAll('.box').length"), 3, "Enter zooms: the box and what is above it");
  await page.key("Escape");
  is(await page.eval("flame().querySelectorAll('.box').length"), 5, "Escape ends it");
  await clickOn(page, "flame().querySelectorAll('.box')[2]");
  is(await page.eval("flame().querySelectorAll('.box').length"), 3, "a click zooms, too");
}

async function zooming(page) {
  const before = await page.eval("ticks()");
  await clickOn(page, "press('Whole history')");
  const whole = await page.eval("ticks()");
  ok(before !== whole, "the page opens with the steps, a button shows all");
  await page.eval("curve().focus()");
  await page.key("+");
  const near = await page.eval("ticks()");
  ok(near !== whole, "+ zooms in");
  ok(new Set(near.split(" ")).size >= near.split(" ").length / 2, "and no two labels of the axis are the same");
  await page.key("0");
  is(await page.eval("ticks()"), whole, "0 shows all again");
  const [left, right, y] = await page.eval("(() => { curve().scrollIntoView({ block: 'center' }); const r = curve().getBoundingClientRect(); return [r.left + 100, r.right - 300, r.top + 120]; })()");
  await page.call("Input.dispatchMouseEvent", { type: "mousePressed", x: left, y, button: "left", clickCount: 1 });
  await page.call("Input.dispatchMouseEvent", { type: "mouseMoved", x: right, y, button: "left", buttons: 1 });
  await page.call("Input.dispatchMouseEvent", { type: "mouseReleased", x: right, y, button: "left", clickCount: 1 });
  ok((await page.eval("ticks()")) !== whole, "dragging zooms");
  await page.key("Escape");
  is(await page.eval("ticks()"), whole, "Escape shows all");
  is(await page.eval(overlaps("memory")), "", "no text lies on another");
}

// The sum of what holds the peak, against the JSON of the same input.
async function sums(page) {
  const json = JSON.parse(fs.readFileSync(path.join(where, "leak.json"), "utf8"));
  is(await page.eval("flame().querySelector('.box').node.value"), json.devices[0].peak_bytes, "the stacks sum to the peak");
  is(await page.eval("JSON.parse(document.getElementById('gpuprof-answer').textContent).schema"), "gpuprof/trace-memory/1", "the answer is there for programs");
  ok((await page.eval("document.querySelector('.verdict p').textContent")).includes("leaks 16.4 kB per step"), "a leak is the first thing that is said");
  is(await page.eval("document.querySelectorAll('#from-step-to-step svg.chart g').length >= 8"), true, "and drawn by step");
  await clickOn(page, "press('By stack')");
  ok((await page.eval("document.querySelector('.over-time .legend').textContent")).includes("linear.py:134 forward"), "colours can be those of who allocated");
}

async function readable(page, theme) {
  const [worst, who] = await page.eval(contrasts);
  ok(worst >= 4.5, `${theme}: all text has a contrast of 4.5 at least`, `${worst.toFixed(2)} of ${who}`);
}

async function still(page) {
  const text = await page.eval("document.body.innerText");
  for (const part of ["ran out of memory", "Over time", "Who held the peak", "main (train.py:7)", "large blocks"]) ok(text.includes(part), `without scripts there is "${part}"`);
  ok(await page.eval("document.querySelectorAll('svg.chart.memory path').length >= 2"), "the curve is drawn");
  ok(await page.eval("document.querySelectorAll('svg.segments rect').length >= 4"), "and the segments");
  is(await page.eval("document.querySelectorAll('button, input').length"), 0, "and nothing that does nothing");
}

async function printing(page) {
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  is(await page.eval("[...document.querySelectorAll('.controls')].filter((e) => getComputedStyle(e).display !== 'none').length"), 0, "there is nothing to press on paper");
  await page.call("Emulation.setEmulatedMedia", { media: "" });
  const { data } = await page.call("Page.printToPDF", {});
  ok(Buffer.from(data, "base64").length > 20000, "it prints");
}

main(async () => {
  await withPage("evil.html", {}, async (page) => {
    await verdict(page);
    await attacks(page);
    await moments(page);
    await stacks(page);
  });
  await withPage("leak.html", {}, async (page) => {
    await sums(page);
    await zooming(page);
  });
  await withPage("evil.html", { hash: "#t0=1000000" }, async (page) => ok((await page.eval("said()")).startsWith("3.07 MB allocated"), "the address chooses a moment"));
  await withPage("leak.html", {}, (page) => readable(page, "light"));
  await withPage("leak.html", { dark: true }, (page) => readable(page, "dark"));
  await withPage("evil.html", { scripts: false }, still);
  await withPage("leak.html", {}, printing);
  await withPage("leak.html", { width: 400 }, async (page) => is(await page.eval("document.documentElement.scrollWidth"), 400, "a narrow window needs no scrolling sideways"));
  await withPage("ranks.html", {}, async (page) => is(await page.eval("document.querySelectorAll('svg.flame.memory').length"), 2, "two ranks have a picture each"));
});
