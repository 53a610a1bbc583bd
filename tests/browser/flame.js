// flame.js -- the script of the flame graph in a real browser, as TAP. usage: node flame.js DIRECTORY
// The directory holds pictures that tests/browser/flame.t made.
"use strict";
const { ok, is, becomes, pages, main } = require("./tap.js");

// What the tests ask of a picture; runs in the page.
const helpers = `
  window.all = () => [...document.querySelectorAll(".frames > g")];
  window.nameOf = (g) => g.firstElementChild.textContent.split("\\n")[0];
  window.named = (name) => all().find((g) => nameOf(g) === name);
  window.boxOf = (name) => { const r = named(name).children[1].getBoundingClientRect(); return [r.x, r.y, r.width].map(Math.round); };
  window.shown = () => all().filter((g) => g.getAttribute("display") !== "none").map(nameOf).join(" ");
  window.answer = () => document.querySelector("output").textContent;
  window.current = () => { const g = document.querySelector(".frames > .current"); return g ? nameOf(g) : null; };
  window.bar = () => [...document.querySelectorAll(".bar text")].map((t) => t.textContent).join(" | ");
`;

const withPage = pages({ helpers });

async function clickOn(page, name) {
  const [x, y, w] = await page.eval(`boxOf(${JSON.stringify(name)})`);
  await page.click(x + Math.min(w / 2, 50), y + 9);
}

// step(600) > forward(400) > mm(300: gemm 300) + gelu(100: elementwise 100); backward(200) > mm(200: gemm 200)
async function mouse(page) {
  is(await page.eval("document.documentElement.getAttribute('role')"), "application", "the script has taken over");
  const [x, y, w] = await page.eval("boxOf('forward')");
  await page.move(x + w / 2, y + 9);
  is(await page.eval("bar()"), "forward | 400 samples \u00b7 66.7% of all \u00b7 66.7% of parent", "hovering tells the figures");
  const whole = (await page.eval("boxOf('step')"))[2];
  await clickOn(page, "forward");
  is((await page.eval("boxOf('forward')"))[2], whole, "a click makes the frame as wide as the page");
  is((await page.eval("boxOf('step')"))[2], whole, "and what is above it stays");
  is(await page.eval("shown()"), "all step forward mm gemm gelu elementwise", "what is beside it goes");
  ok(/^#z=[0-9a-z]+$/.test(await page.eval("location.hash")), "the address says where we are");
  const hash = await page.eval("location.hash");
  await page.eval("history.back()");
  await becomes(page, "shown()", "all step forward mm gemm gelu elementwise backward mm gemm", "back is back");
  return hash;
}

async function searching(page) {
  await page.key("/");
  await page.type("MM$");
  is(await page.eval("answer()"), "83.3% in 4 frames", "a match inside a match counts once: 500 of 600, case ignored");
  is(await page.eval("location.hash"), "#s=MM%24", "the search is in the address");
  await page.key("Enter");
  is(await page.eval("current()"), "mm", "Enter goes to the first match");
  await page.key("Enter");
  is(await page.eval("current()"), "gemm", "and to the next");
  is(await page.eval("answer()"), "83.3% in 2 of 4 frames", "and says which it is");
  await page.type("(");
  is(await page.eval("answer()"), "not a regular expression", "a broken expression is reported");
  await page.key("Escape");
  is(await page.eval("answer() + location.hash"), "", "Escape ends the search");
}

async function keyboard(page) {
  await page.key("Escape");
  await page.key("ArrowDown");
  is(await page.eval("current()"), "all", "arrows begin at the root");
  for (const [key, name] of [["ArrowDown", "step"], ["ArrowDown", "forward"], ["ArrowRight", "backward"], ["ArrowLeft", "forward"],
    ["ArrowDown", "mm"], ["ArrowRight", "gelu"], ["ArrowRight", "mm"], ["ArrowUp", "backward"]]) {
    await page.key(key);
    is(await page.eval("current()"), name, `${key} goes to ${name}`);
  }
  await page.key("Enter");
  is(await page.eval("shown()"), "all step backward mm gemm", "Enter zooms");
  await page.key("0");
  is(await page.eval("shown().split(' ').length"), 10, "0 resets");
  await page.key("?");
  is(await page.eval("document.querySelectorAll('.keys dt').length > 5"), true, "? lists the keys");
  await page.key("Escape");
  is(await page.eval("document.querySelectorAll('.keys').length"), 0, "Escape closes the list");
}

async function labels(page) {
  const fits = `(() => { for (const g of all()) { const t = g.children[2]; if (!t || !t.textContent || g.getAttribute("display")) continue;
    if (t.getBoundingClientRect().right > g.children[1].getBoundingClientRect().right + 0.5) return nameOf(g); } return ""; })()`;
  is(await page.eval(fits), "", "no label is wider than its box");
  await clickOn(page, "backward");
  is(await page.eval(fits), "", "nor after zooming");
}

// Kinds: a trace with one communication kernel among compute.
async function legend(page) {
  const [x, y] = await page.eval(`(() => { const r = document.querySelector(".entry[data-k=communication]").getBoundingClientRect();
    return [r.x + 20, r.y + 8]; })()`);
  await page.click(x, y);
  is(await page.eval("all().filter((g) => g.classList.contains('hit')).map(nameOf).join()"), "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "a click in the legend leaves one class");
  is(await page.eval("location.hash"), "#c=communication", "and is in the address");
  await page.click(x, y);
  is(await page.eval("document.querySelectorAll('.searching').length"), 0, "a second click brings all back");
}

// How long a zoom takes is measured by tests/bench/flame_zoom.js.
async function large(page) {
  ok(await page.eval("all().length") > 4900, "a large picture has nearly 5,000 boxes");
  const layer = await page.eval("nameOf(all()[2])");
  await clickOn(page, layer);
  ok((await page.eval("shown()")).split(" ").length < 300, "and zooms");
}

main(async () => {
  let hash = "";
  await withPage("plain.svg", {}, async (page) => { hash = await mouse(page); });
  await withPage("plain.svg", { hash }, async (page) => is(await page.eval("shown()"),
    "all step forward mm gemm gelu elementwise", "the address opens the same view"));
  await withPage("wider.svg", { hash, width: 700 }, async (page) => is(await page.eval("shown()"),
    "all step forward mm gemm gelu elementwise extra", "also in another picture of another width"));
  await withPage("plain.svg", {}, searching);
  await withPage("plain.svg", {}, keyboard);
  await withPage("plain.svg", { width: 600 }, labels);
  await withPage("kinds.svg", {}, legend);
  await withPage("names.svg", {}, async (page) => {
    is(await page.eval("document.querySelectorAll('script').length"), 1, "no script came from a name");
    is(await page.eval("nameOf(all()[1])"), "</title></script><script>alert(1)</script>]]>", "and the name is shown as it is");
    await clickOn(page, "</title></script><script>alert(1)</script>]]>");
    await page.key("c");
    await page.key("/");
    await page.type("<script>");
    is(await page.eval("answer().split(' ')[0]"), "100%", "and can be searched for");
  });
  await withPage("page.html", {}, async (page) => {
    is(await page.eval("document.querySelectorAll('svg.live').length"), 2, "both pictures of a page are live");
    is(await page.eval("typeof zoomTo + typeof KEYS"), "undefinedundefined", "nothing leaks into the page");
    await page.eval("window.h = getComputedStyle(document.querySelector('h1')).fontFamily");
    ok(!(await page.eval("h")).includes("system-ui"), "nor do its styles");
  });
  await withPage("plain.svg", { reducedMotion: false }, async (page) => {
    await clickOn(page, "forward");
    await becomes(page, "shown() + document.querySelector('.frames').getAttribute('transform')",
      "all step forward mm gemm gelu elementwisenull", "the moving zoom ends where the still one does");
  });
  await withPage("large.svg", {}, large);
});
