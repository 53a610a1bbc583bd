// suggest.js -- the page of trace-suggest in a real browser, as TAP. usage: node suggest.js DIRECTORY
// The directory holds what tests/browser/suggest.t made.
"use strict";
const fs = require("node:fs"), path = require("node:path");
const { where, ok, is, pages, main } = require("./tap.js");
const { contrasts, overlaps } = require("./look.js");

const withPage = pages({ width: 1280 });

// What the picture of a card shows, in percent of the step: at least, at most, ceiling.
const drawn = `[...document.querySelectorAll(".card")].map((card) => {
  const box = card.querySelector(".bar .whole").getBoundingClientRect(), at = (e, side) => e ? 100 * (e.getBoundingClientRect()[side] - box.left) / box.width : 0;
  const sure = card.querySelector(".bar .k-sure"), perhaps = card.querySelector(".bar .k-perhaps"), ceiling = card.querySelector(".bar .ceiling");
  return [at(sure, "right"), at(perhaps || sure, "right"), at(ceiling, "left")]; })`;

async function cards(page, name) {
  const answer = JSON.parse(fs.readFileSync(path.join(where, name + ".json"), "utf8"));
  const shown = await page.eval(drawn), step = Math.max(answer.step.step_ns, answer.step.unprofiled_high_ns);
  is(shown.length, answer.suggestions.length, `${name}: a card for each suggestion`);
  answer.suggestions.forEach((s, i) => {
    const expected = [s.saving_low_ns, s.saving_high_ns, s.ceiling_ns].map((ns) => Math.min(100, 100 * ns / step));
    ok(expected.every((v, k) => Math.abs(v - shown[i][k]) < .3), `${name}: ${s.rule} is drawn to scale`, `${shown[i]}; expected ${expected}`);
  });
  is(await page.eval("[...document.querySelectorAll('.card .priority')].map((e) => e.textContent).join()"),
    answer.suggestions.map((s) => s.priority).join(), `${name}: with its priority, in the same order`);
  is(await page.eval("document.querySelectorAll('#rest .findings li').length"), answer.not_worth_it.length, `${name}: and what would not help`);
  is(await page.eval("JSON.stringify(JSON.parse(document.getElementById('gpuprof-answer').textContent))"), JSON.stringify(answer),
    `${name}: the answer for programs is the same`);
}

// The parts of the step's bar lie side by side from one end to the other.
const gaps = `(() => {
  const all = [...document.querySelectorAll(".step .bar rect")].map((e) => e.getBoundingClientRect());
  const bar = document.querySelector(".step .bar").getBoundingClientRect();
  return Math.max(Math.abs(all[0].left - bar.left), Math.abs(all.at(-1).right - bar.right), ...all.slice(1).map((b, i) => Math.abs(b.left - all[i].right))); })()`;

async function names(page) {
  is(await page.eval("document.querySelector('main > .verdict').previousElementSibling.tagName"), "HEADER", "the verdict comes first");
  is(await page.eval("document.querySelectorAll('img').length"), 0, "no name became an element");
  ok(await page.eval("document.querySelector('#kernels').textContent.includes('onerror=alert(2)')"), "it is shown as it is");
  const order = (id) => page.eval(`(() => { const at = [...document.querySelectorAll('#kernels th')].findIndex((th) => th.dataset.id === '${id}');
    document.querySelectorAll('#kernels th')[at].querySelector('button').click();
    return [...document.querySelectorAll('#kernels tbody tr')].map((r) => Number(r.cells[at].dataset.v)).join(); })()`);
  is(await order("mean_ns"), [18, 17, 16, 15, 14, 13, 12, 11, 10].map((us) => us * 1000).join(), "the table sorts by the mean, longest first");
  is(await order("mean_ns"), [10, 11, 12, 13, 14, 15, 16, 17, 18].map((us) => us * 1000).join(), "and back");
  await page.eval(`(() => { const f = document.querySelector('#kernels .tools input'); f.value = 'kernel_3'; f.dispatchEvent(new Event('input')); })()`);
  is(await page.eval("[...document.querySelectorAll('#kernels tbody tr')].filter((r) => !r.hidden).length"), 1, "the filter leaves one");
}

// The graph of chains: a node for each kernel, its text inside, in the colours of the page; wide ones scroll.
async function chains(page, width) {
  const drawn = await page.eval("!!document.querySelector('#fusion .graph')");
  ok(drawn || await page.eval("document.querySelector('#fusion .source').textContent.includes('digraph fusion')"), "chains are drawn, or there as text for Graphviz");
  is(await page.eval("document.querySelectorAll('#chains tbody tr').length"), 8, "and all of them are in a table");
  if (!drawn) return;
  is(await page.eval("document.querySelectorAll('.graph .cluster').length"), 8, "all of them are drawn");
  is(await page.eval(`[...document.querySelectorAll(".graph .node")].filter((g) => { const a = g.querySelector("rect").getBoundingClientRect(), b = g.querySelector("text").getBoundingClientRect();
    return b.left < a.left - 1 || b.right > a.right + 1 || b.top < a.top - 1 || b.bottom > a.bottom + 1; }).map((g) => g.querySelector("text").textContent).join()`), "", "names fit into their boxes");
  is(await page.eval(`[...document.querySelectorAll(".graph .node rect")].filter((r) => !/^k-[a-z]+$/.test(r.getAttribute("class")) ||
    getComputedStyle(r).fill !== getComputedStyle(document.querySelector(".swatch ." + r.getAttribute("class")) || r).fill).length`), 0, "boxes have the colours of the legend");
  is(await page.eval(overlaps("graph")), "", "no words lie on others");
  is(await page.eval("document.documentElement.scrollWidth"), width, "the graph scrolls, not the page");
  ok(await page.eval("(() => { const f = document.querySelector('.pan'); return f.scrollWidth > f.clientWidth && f.tabIndex === 0; })()"), "and keys can scroll it");
}

// The roofline: one of two pictures, as wide as there is room, with a table of the same.
async function roofline(page, width, visible) {
  const seen = "[...document.querySelectorAll('.roofline')].filter((e) => e.getBoundingClientRect().width)";
  is(await page.eval(`${seen}.map((e) => e.getAttribute("class")).join()`), visible, `at ${width} pixels one roofline is seen`);
  is(await page.eval(`${seen}.map((e) => e.querySelectorAll(".point").length).join()`), String(await page.eval("document.querySelectorAll('#work tbody tr').length")), "with a circle for each row of the table");
  is(await page.eval(overlaps("roofline")), "", "no words lie on others");
  is(await page.eval(`${seen}.flatMap((svg) => [...svg.querySelectorAll("text, circle")].filter((e) => { const a = svg.getBoundingClientRect(), b = e.getBoundingClientRect();
    return b.left < a.left - 1 || b.right > a.right + 1 || b.top < a.top - 1 || b.bottom > a.bottom + 1; }).map((e) => e.textContent)).join()`), "", "and nothing is cut off");
  ok(await page.eval(`${seen}[0].querySelectorAll(".points ~ .halo").length`) >= 3, "the largest have names");
  ok(await page.eval(`parseFloat(getComputedStyle(${seen}[0].querySelector("text")).fontSize) * ${seen}[0].getBoundingClientRect().width / ${seen}[0].viewBox.baseVal.width`) > 10, "that can be read");
  is(await page.eval("document.documentElement.scrollWidth"), width, "without scrolling sideways");
}

async function readable(page, theme) {
  const [worst, who] = await page.eval(contrasts);
  ok(worst >= 4.5, `${theme}: all text has a contrast of 4.5 at least`, `${worst.toFixed(2)} of ${who}`);
}

main(async () => {
  await withPage("names.html", {}, names);
  for (const name of ["decode", "ddp_bucket1", "gemm"])
    await withPage(name + ".html", {}, async (page) => {
      await cards(page, name);
      ok(await page.eval(gaps) < .3, `${name}: the parts fill the step's bar`);
      is(await page.eval("document.documentElement.scrollWidth"), 1280, `${name}: nothing is wider than the window`);
      await readable(page, `${name}, light`);
      await page.eval("document.documentElement.dataset.theme = 'contrast'");
      await readable(page, `${name}, high contrast`);
    });
  await withPage("ddp_bucket1.html", { dark: true }, async (page) => {
    await readable(page, "dark");
    const colour = "getComputedStyle(document.querySelector('.bar .k-sure')).fill", dark = await page.eval(colour);
    await page.call("Emulation.setEmulatedMedia", { media: "print" });
    ok(await page.eval(colour) !== dark, "paper has the colours of the light theme");
    const { data } = await page.call("Page.printToPDF", {});
    ok(Buffer.from(data, "base64").length > 20000, "it prints");
  });
  await withPage("train.html", { width: 900 }, async (page) => {
    await chains(page, 900);
    await readable(page, "chains, light");
  });
  await withPage("train.html", { width: 360, dark: true }, async (page) => {
    await chains(page, 360);
    await readable(page, "chains, dark");
    await page.call("Emulation.setEmulatedMedia", { media: "print" });
    ok(await page.eval("[...document.querySelectorAll('.graph')].every((g) => g.getBoundingClientRect().right <= innerWidth)"), "on paper the graph is as wide as the page");
  });
  await withPage("bf16.html", { width: 900 }, async (page) => {
    await roofline(page, 900, "roofline");
    await readable(page, "roofline, light");
    await page.call("Emulation.setEmulatedMedia", { media: "print" });
    ok(await page.eval("(() => { const r = document.querySelector('.roofline').getBoundingClientRect(); return r.width > 0 && r.right <= innerWidth; })()"), "it is on paper, too");
  });
  await withPage("bf16.html", { width: 360, dark: true }, async (page) => {
    await roofline(page, 360, "roofline narrow");
    await readable(page, "roofline, dark");
    await page.call("Emulation.setEmulatedMedia", { media: "print" });
    is(await page.eval("[...document.querySelectorAll('.roofline')].filter((e) => e.getBoundingClientRect().width).map((e) => e.getAttribute('class')).join()"), "roofline", "on paper there is the large one");
  });
  await withPage("nothing.html", {}, async (page) => {
    is(await page.eval("document.querySelectorAll('.roofline').length"), 0, "where nothing is known there are no axes");
    ok(await page.eval("document.querySelector('#roofline').innerText.includes('There is no roofline: ')"), "but the reason");
  });
  for (const dark of [false, true])
    await withPage("roofline.svg", { dark }, async (page) => {
      is(await page.eval(overlaps("roofline")), "", "alone, no words lie on others, either");
      is(await page.eval("getComputedStyle(document.querySelector('.page')).fill"), dark ? "rgb(20, 23, 28)" : "rgb(255, 255, 255)", dark ? "on dark ground" : "on white");
    });
  await withPage("decode.html", { scripts: false }, async (page) => {
    ok(await page.eval("document.body.innerText.includes('capture the step as a CUDA graph')"), "without scripts it says what to do");
    ok(await page.eval("document.body.innerText.includes('one launch instead of 77')"), "and why to believe it");
    is(await page.eval("document.querySelectorAll('button, input').length"), 0, "and has nothing that does nothing");
  });
  await withPage("ddp_bucket1.html", { width: 420 }, async (page) =>
    is(await page.eval("document.documentElement.scrollWidth"), 420, "a narrow window needs no scrolling sideways"));
  await withPage("decode.html#s=capture the step", {}, async (page) =>
    is(await page.eval("[...document.querySelectorAll('.hit')].map((e) => e.className.split(' ')[0]).join()"), "card", "the search finds suggestions"));
  await withPage("empty.html", {}, async (page) =>
    is(await page.eval("document.querySelectorAll('.card, .step').length"), 0, "of nothing there is a page without suggestions"));
});
