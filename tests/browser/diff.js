// diff.js -- the page and the pictures of trace-diff in a real browser, as TAP. usage: node diff.js DIRECTORY
// The directory holds what tests/browser/diff.t made.
"use strict";
const { ok, is, pages, main } = require("./tap.js");
const { contrasts, overlaps } = require("./look.js");

const withPage = pages({ width: 1280 });

// The right ends of a chart's bars, from top to bottom; where the last change ends is where the last bar must.
const lastEnds = `(() => {
  const svg = document.querySelector("svg.waterfall");
  const change = [...svg.querySelectorAll(".w-worse, .w-better")].at(-1), total = [...svg.querySelectorAll(".w-total")].at(-1);
  const a = change.getBBox(), b = total.getBBox();
  return [change.classList.contains("w-worse") ? a.x + a.width : a.x, b.x + b.width, a.width]; })()`;

async function waterfall(page, name) {
  const [change, total, width] = await page.eval(lastEnds);
  ok(Math.abs(change - total) < .02 || width <= 1, `${name}: the last change ends where the current time does`, `${change} and ${total}`);
  is(await page.eval(overlaps("waterfall")), "", `${name}: no label of the waterfall lies on another`);
  const labels = await page.eval("[...document.querySelectorAll('svg.waterfall .label')].map((e) => e.textContent)");
  is(labels.filter((l, i) => labels.indexOf(l) !== i).join(), "", `${name}: and no two read the same`);
}

async function content(page) {
  is(await page.eval("[...document.querySelectorAll('main > .quality, main > .verdict')].map((e) => e.className).join()"), "quality,verdict",
    "what is wrong with the input comes first, then the verdict");
  ok((await page.eval("document.querySelector('.verdict p').textContent")).startsWith("REGRESSION: "), "and says what it is");
  ok(!/-> \d/.test(await page.eval("document.querySelector('.verdict').textContent")), "with arrows of one sign");
  is(await page.eval("document.querySelectorAll('svg.waterfall').length"), 1, "there is a waterfall");
  is(await page.eval("document.querySelectorAll('svg.gpf').length"), 2, "a flame graph in each direction");
  is(await page.eval("document.querySelectorAll('svg.gpf')[0].querySelectorAll('.frames > .new').length > 0"), true, "what is new is marked");
  is(await page.eval("document.querySelectorAll('svg.gpf')[1].querySelectorAll('.frames > .gone').length > 0"), true, "and what is gone");
  ok(await page.eval("document.querySelectorAll('svg.volcano circle').length > 5"), "operations are dots of a volcano");
  const decided = "JSON.parse(document.getElementById('gpuprof-answer').textContent).operations.filter(o => o.significant)";
  for (const [dot, sign, word] of [["worse", 1, "takes more"], ["better", -1, "takes less"]])
    is(await page.eval(`document.querySelectorAll('svg.volcano .v-${dot}').length`),
       await page.eval(`${decided}.filter(o => o.change_ns * ${sign} > 0).length`), `every one that is decided and ${word} is there`);
  is(await page.eval("JSON.parse(document.getElementById('gpuprof-answer').textContent).schema"), "gpuprof/trace-diff/1", "the answer for programs is there");
  is(await page.eval("document.querySelectorAll('img').length"), 0, "no name became an element");
  is(await page.eval("performance.getEntriesByType('resource').length"), 0, "nothing is loaded");
}

async function sorting(page) {
  const order = `[...document.querySelectorAll("#operations tbody tr")].map((r) => Number(r.cells[at].dataset.v))`;
  await page.eval("window.at = [...document.querySelectorAll('#operations th')].findIndex((th) => th.dataset.id === 'change_ns')");
  await page.eval("document.getElementById('operations').open = true");
  await page.eval("document.querySelectorAll('#operations th')[at].querySelector('button').click()");
  const down = await page.eval(order);
  ok(down.length === 13 && down.every((v, i) => !i || v <= down[i - 1]), "operations sort by their change", down.join(" "));
  is(down.at(-1) < 0 && down[0] > 0, true, "with its sign");
}

async function readable(page, theme) {
  const [worst, who] = await page.eval(contrasts);
  ok(worst >= 4.5, `${theme}: all text has a contrast of 4.5 at least`, `${worst.toFixed(2)} of ${who}`);
}

// What became of what: two boxes a block, names within them, the boxes of now in the colour of the change.
async function blocks(page, width) {
  is(await page.eval("document.documentElement.scrollWidth"), width, `blocks: nothing is wider than ${width} pixels`);
  if (!await page.eval("!!document.querySelector('#became .graph')")) return;
  const rows = await page.eval("document.querySelectorAll('#blocks tbody tr').length");
  is(await page.eval("document.querySelectorAll('.graph .edge').length"), Math.min(12, rows), "blocks: an arrow for each, up to twelve");
  is(await page.eval("document.querySelectorAll('.graph .node').length"), 2 * Math.min(12, rows), "blocks: from what was to what is");
  is(await page.eval(`[...document.querySelectorAll(".graph .node")].filter((g) => { const a = g.querySelector("rect").getBoundingClientRect(), b = g.querySelector("text").getBoundingClientRect();
    return b.left < a.left || b.right > a.right || b.top < a.top || b.bottom > a.bottom; }).map((g) => g.querySelector("text").textContent).join()`), "", "blocks: names fit into their boxes");
  is(await page.eval(overlaps("graph")), "", "blocks: no words lie on others");
  is(await page.eval("document.querySelector('.graph .k-better') && getComputedStyle(document.querySelector('.graph .k-better')).fill === getComputedStyle(document.querySelector('#blocks .k-better')).fill"), true, "blocks: in the colours of the table");
}

const paper = "getComputedStyle(document.querySelector('.w-worse')).fill";

main(async () => {
  await withPage("names.html", {}, async (page) => {
    await content(page);
    await waterfall(page, "names");
    await sorting(page);
    is(await page.eval(overlaps("volcano")), "", "no label of the volcano lies on another");
  });
  await withPage("pair.html", {}, async (page) => {
    await waterfall(page, "pair");
    is(await page.eval(overlaps("volcano")), "", "pair: no label of the volcano lies on another");
    is(await page.eval("document.documentElement.scrollWidth"), 1280, "nothing is wider than the window");
    await readable(page, "light");
  });
  await withPage("pair.html", { dark: true }, async (page) => {
    await readable(page, "dark");
    const dark = await page.eval(paper);
    await page.call("Emulation.setEmulatedMedia", { media: "print" });
    ok(await page.eval(paper) !== dark, "paper has the colours of the light theme");
    const { data } = await page.call("Page.printToPDF", {});
    ok(Buffer.from(data, "base64").length > 20000, "it prints");
  });
  await withPage("compiled.html", {}, async (page) => {
    await blocks(page, 1280);
    await readable(page, "blocks, light");
  });
  await withPage("compiled.html", { dark: true, width: 400 }, async (page) => {
    await blocks(page, 400);
    await readable(page, "blocks, dark");
  });
  await withPage("pair.html", { scripts: false }, async (page) => {
    ok(await page.eval("document.body.innerText.includes('REGRESSION')"), "without scripts the verdict is there");
    ok(await page.eval("document.querySelectorAll('svg.waterfall rect').length > 5"), "and the pictures");
    is(await page.eval("document.querySelectorAll('button, input').length"), 0, "and nothing that does nothing");
  });
  await withPage("pair.html", { width: 420 }, async (page) =>
    is(await page.eval("document.documentElement.scrollWidth"), 420, "a narrow window needs no scrolling sideways"));
  await withPage("same.html", {}, async (page) =>
    ok((await page.eval("document.querySelector('.verdict p').textContent")).startsWith("NO CHANGE"), "a trace against itself: no change"));
  await withPage("waterfall.svg", {}, async (page) => {
    await waterfall(page, "waterfall.svg");
    is(await page.eval("document.querySelectorAll('parsererror').length"), 0, "the waterfall alone is well-formed");
  });
  await withPage("flame.svg", {}, async (page) => {
    const width = "document.querySelectorAll('.frames > g')[3].children[1].getBoundingClientRect().width", before = await page.eval(width);
    await page.eval("document.querySelectorAll('.frames > g')[3].dispatchEvent(new MouseEvent('click', { bubbles: true }))");
    ok(await page.until(`${width} > ${before}`), "a click zooms the differential flame graph", `${before} and ${await page.eval(width)}`);
  });
  await withPage("flame-base.svg", {}, async (page) =>
    ok(await page.eval("document.querySelectorAll('.frames > .gone').length > 0"), "what is gone is in the other direction"));
});
