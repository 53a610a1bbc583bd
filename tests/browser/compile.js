// compile.js -- the page of trace-compile in a real browser, as TAP. usage: node compile.js DIRECTORY
// The directory holds what tests/browser/compile.t made.
"use strict";
const fs = require("node:fs"), path = require("node:path");
const { where, ok, is, pages, main } = require("./tap.js");
const { contrasts, overlaps } = require("./look.js");

const withPage = pages({ width: 1280 });

const answerOf = (name) => JSON.parse(fs.readFileSync(path.join(where, name.replace(".html", ".json")), "utf8"));
const cells = (table, column) => `(() => { const t = document.getElementById("${table}"), heads = [...t.querySelectorAll("th")];
  const at = heads.findIndex((h) => h.dataset.id === "${column}"); return [...t.tBodies ? t.tBodies[0].rows : t.querySelectorAll("tbody tr")].map((r) => r.cells[at]); })()`;

// What the page shows is what the answer for programs has.
async function agrees(page, name) {
  const answer = answerOf(name);
  is(await page.eval("JSON.stringify(JSON.parse(document.getElementById('gpuprof-answer').textContent))"), JSON.stringify(answer),
    `${name}: the answer for programs is the same`);
  if (answer.breaks.length)
    is(await page.eval(cells("breaks", "count") + ".map((c) => c.dataset.v).join()"), answer.breaks.map((b) => b.count).join(), `${name}: a row for each break`);
  if (answer.recompiles.length)
    is(await page.eval(cells("recompiles", "compile_ns") + ".map((c) => c.dataset.v).join()"),
      answer.recompiles.map((r) => r.compile_ns).join(), `${name}: and for each reason to compile again`);
  ok(!await page.eval("document.body.innerText.includes('(no name)')"), `${name}: no cell is empty by mistake`);
}

// Widths in the bar are shares of the whole, in the order of the legend; the texts of the legend are single figures.
async function bar(page, name) {
  const classes = Object.values(answerOf(name).time.classes), total = answerOf(name).time.total_ns;
  const widths = await page.eval("[...document.querySelectorAll('#compile-time svg.chart rect[class^=k-]')].map((e) => e.getBoundingClientRect().width).filter((w) => w > 1)");
  const sum = widths.reduce((a, b) => a + b, 0), expected = classes.map((v) => v / total).filter((v) => v * sum > 1);
  ok(widths.length === expected.length && expected.every((v, i) => Math.abs(v - widths[i] / sum) < .01), `${name}: the bar is drawn to scale`,
    `${widths.map((w) => w / sum)}; expected ${expected}`);
  ok((await page.eval("[...document.querySelectorAll('#compile-time .legend b')].map((e) => e.textContent)")).every((t) => /^[\d.]+ (s|ms|µs|ns)$/.test(t)),
    `${name}: each class has its time`);
}

// A span lies below the one that it is in, inside its edges.
const outside = `(() => {
  const rects = [...document.querySelectorAll("svg.icicle rect")].map((e) => e.getBoundingClientRect());
  return rects.filter((r) => r.top > rects[0].top + 1 && !rects.some((p) => Math.abs(p.bottom - r.top) < 2 && p.left <= r.left + 1 && p.right >= r.right - 1)).length; })()`;

async function icicle(page, name) {
  ok(await page.eval("document.querySelectorAll('svg.icicle rect').length") > 10, `${name}: spans are drawn`);
  is(await page.eval(outside), 0, `${name}: each below the one that it is in`);
  is(await page.eval(overlaps("icicle")), "", `${name}: no label lies on another`);
  ok(await page.eval("[...document.querySelectorAll('svg.icicle rect')].every((e) => e.querySelector('title')?.textContent.length > 5)"),
    `${name}: the pointer shows what a span is`);
}

async function top(page, heading, first) {
  is(await page.eval("document.querySelector('h1').textContent"), heading, "the heading has the base names of the inputs");
  const text = await page.eval("document.querySelector('h1').closest('main').innerText");
  ok(text.includes(first), "the verdict begins with " + first, text.slice(0, 400));
}

async function readable(page, theme) {
  const [worst, who] = await page.eval(contrasts);
  ok(worst >= 4.5, `${theme}: all text has a contrast of 4.5 at least`, `${worst.toFixed(2)} of ${who}`);
}

async function filtering(page) {
  await page.eval("document.getElementById('breaks').querySelector('input').focus()");
  await page.type("f_while");
  is(await page.eval(cells("breaks", "place") + ".filter((c) => !c.parentElement.hidden).length"), 2, "the filter leaves the breaks of one function");
}

async function narrow(page, name) {
  is(await page.eval("document.documentElement.scrollWidth"), 400, `${name}: 400 pixels need no scrolling sideways`);
}

async function printing(page, name) {
  await page.eval("dispatchEvent(new Event('beforeprint'))");
  is(await page.eval("document.querySelectorAll('details.definitions:not([open])').length"), 0, `${name}: printing unfolds what columns mean`);
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  is(await page.eval("[...document.querySelectorAll('.scroll, .pan')].filter((e) => getComputedStyle(e).overflow !== 'visible').length"), 0,
    `${name}: nothing is cut on paper`);
  const { data } = await page.call("Page.printToPDF", {});
  ok(Buffer.from(data, "base64").length > 20000, `${name}: it prints`);
}

async function still(page) {
  const text = await page.eval("document.body.innerText");
  for (const part of ["First: ", "Graph breaks", "f_while", "Where compile time went"]) ok(text.includes(part), `without scripts there is "${part}"`);
  is(await page.eval("document.querySelectorAll('button, input').length"), 0, "and nothing that does nothing");
}

async function attacks(page) {
  is(await page.eval("document.querySelectorAll('img').length"), 0, "names make no pictures");
  ok(await page.eval("document.body.innerText.includes('<script>alert(1)')"), "and are shown as they are");
}

main(async () => {
  await withPage("zoo.html", {}, async (page, name) => {
    await agrees(page, name);
    await bar(page, name);
    await icicle(page, name);
    await readable(page, "light");
    await filtering(page);
  });
  await withPage("zoo.html", { dark: true }, (page) => readable(page, "dark"));
  await withPage("zoo.html", { width: 400 }, narrow);
  await withPage("zoo.html", {}, printing);
  await withPage("zoo.html", { scripts: false }, still);
  await withPage("reduce.html", {}, async (page, name) => {
    await top(page, "reduce, steps.json.gz", "Nothing to do");
    await agrees(page, name);
    await bar(page, name);
    await icicle(page, name);
  });
  await withPage("reduce.html", { width: 400 }, narrow);
  await withPage("killed.html", {}, async (page, name) => {
    await top(page, "killed", "The log ends while train.py:39 forward is being compiled");
    await agrees(page, name);
    await icicle(page, name);
  });
  await withPage("ranks.html", {}, agrees);
  await withPage("code.html", {}, async (page) => ok(await page.eval("document.querySelector('#code pre').textContent.includes('tl.load')"), "code is there when asked for"));
  await withPage("names.html", {}, attacks);
  await withPage("nothing.html", {}, (page) => top(page, "nothing", "Nothing was compiled"));
});
