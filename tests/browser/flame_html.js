// flame_html.js -- the page of a flame graph in a real browser, as TAP. usage: node flame_html.js DIRECTORY
// The directory holds pages that tests/browser/flame_html.t made. Where a box is on the canvas is worked out from its share.
"use strict";
const fs = require("node:fs"), path = require("node:path");
const { where, ok, is, becomes, pages, main } = require("./tap.js");

// What the tests ask of a page; runs in it.
const helpers = `
  window.text = (q) => document.querySelector(q)?.textContent ?? null;
  window.answer = () => text(".search output");
  window.current = () => document.querySelector(".panel").hidden ? null : text(".panel h2");
  window.point = (part, row) => { const r = document.querySelector("canvas").getBoundingClientRect(); return [r.x + r.width * part, r.y + 4 + 20 * row + 9 - document.querySelector(".stage").scrollTop]; };
  window.tip = () => document.querySelector(".tip").hidden ? null : text(".tip b");
  window.pixel = (part, row) => { const c = document.querySelector("canvas"), g = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    g.drawImage(c, -Math.round(c.width * part), -(4 + 20 * row + 2)); return [...g.getImageData(0, 0, 1, 1).data].slice(0, 3).join(); };
  window.press = (label) => [...document.querySelectorAll("button")].find((b) => b.textContent === label).click();
  window.saved = () => { let all = null; const save = gp.save; gp.save = (name, type, ...parts) => { all = parts.join(""); }; press("Save stacks"); gp.save = save; return all; };
`;

const withPage = pages({ helpers, ready: "document.documentElement.classList.contains('live')" });
const under = async (page, part, row) => { await page.move(...await page.eval(`point(${part}, ${row})`)); return page.eval("tip()"); };
const press = async (page, part, row) => page.click(...await page.eval(`point(${part}, ${row})`));

// ---- samples: the page has the stacks that the tool writes ----

const linesOf = (s) => s.split("\n").filter(Boolean).sort();
function figuresOf(text) {
  const frames = new Set();
  let sum = 0;
  for (const line of linesOf(text)) {
    const at = line.lastIndexOf(" "), stack = line.slice(0, at).split(";");
    sum += Number(line.slice(at + 1));
    for (let i = 1; i <= stack.length; i++) frames.add(stack.slice(0, i).join(";"));
  }
  return { sum, frames: frames.size };
}
const grouped = (v) => String(v).replace(/\B(?=(\d{3})+$)/g, ",");

async function sample(page, name) {
  for (const weight of ["gpu", "cpu", "count", "bytes", "idle"]) {
    const expected = fs.readFileSync(path.join(where, `${name}.${weight}`), "utf8"), { sum, frames } = figuresOf(expected);
    const button = `document.querySelector('.choice [data-id=${weight}]')`;
    if (!sum) {
      is(await page.eval(`${button}.disabled`), true, `${name}: no ${weight}, nothing to choose`);
      continue;
    }
    await page.eval(`location.hash = "#s=.&v=${weight}"`);
    await becomes(page, `${button}.getAttribute("aria-checked")`, "true", `${name}: shows ${weight}`);
    const got = linesOf(await page.eval("saved()")), want = linesOf(expected);
    is(got.join("\n") === want.join("\n"), true, `${name}: ${want.length} stacks by ${weight} are those of the tool`);
    is(await page.eval("answer()"), `100% in ${grouped(frames)} frame${frames === 1 ? "" : "s"}`, `${name}: ${frames} frames`);
    await page.eval("document.querySelector('.stage').focus()");
    await page.key("ArrowDown");
    const figures = await page.eval("text('.panel dd')");
    if (sum >= 1000 && weight !== "count" && weight !== "bytes") ok(figures.includes(`(${grouped(sum)} ns)`), `${name}: the root has ${sum} ns`, figures);
    await page.key("Escape");
    await page.key("Escape");
  }
}

// ---- step(600) > forward(400) > mm(300: gemm 300) + gelu(100: elementwise 100); backward(200) > mm(200: gemm 200) ----

async function mouse(page) {
  is(await under(page, 0.3, 2), "forward", "the pointer tells what it is over");
  is(await page.eval("[...document.querySelectorAll('.tip span')][0].textContent"), "400 samples \u00b7 66.7% of all", "and its figures");
  is(await under(page, 0.9, 2), "backward", "also beside it");
  await press(page, 0.3, 2);
  is(await under(page, 0.9, 2), "forward", "a click makes the frame as wide as the page");
  is(await under(page, 0.9, 1), "step", "what is above it stays");
  is(await under(page, 0.9, 3), "gelu", "and what is below it has room");
  is(await page.eval("current()"), "forward", "its details are pinned");
  ok((await page.eval("text('.panel dl')")).includes("of all66.7%"), "with its share");
  const hash = await page.eval("location.hash");
  ok(/^#z=[0-9a-z]+$/.test(hash), "the address says where we are", hash);
  await page.eval("history.back()");
  await becomes(page, () => under(page, 0.9, 2), "backward", "back is back");
  return hash;
}

async function keyboard(page) {
  await page.key("ArrowDown");
  is(await page.eval("current()"), "all", "arrows begin at the root");
  for (const [key, name] of [["ArrowDown", "step"], ["ArrowDown", "forward"], ["ArrowRight", "backward"], ["ArrowLeft", "forward"],
    ["ArrowDown", "mm"], ["ArrowRight", "gelu"], ["ArrowRight", "mm"], ["ArrowUp", "backward"]]) {
    await page.key(key);
    is(await page.eval("current()"), name, `${key} goes to ${name}`);
  }
  is(await page.eval("document.getElementById(document.querySelector('.stage').getAttribute('aria-activedescendant')).textContent"),
    "backward, 200 samples, 33.3% of all", "and is told to those who do not see it");
  is(await page.eval("[...document.querySelectorAll('.stage [role=treeitem]')].map((e) => e.getAttribute('aria-level') + e.textContent.split(',')[0]).join(' ')"),
    "1all 2step 3forward 3backward 4mm", "with what is around it");
  await page.key("Enter");
  is(await under(page, 0.1, 2), "backward", "Enter zooms");
  await page.key("0");
  is(await under(page, 0.1, 2), "forward", "0 is the whole picture");
  await page.key("i");
  is(await under(page, 0.1, 1), "gemm", "i turns it over");
  is(await under(page, 0.9, 1), "elementwise", "the tips first");
  is(await under(page, 0.1, 3), "forward", "and below them what led to them");
  is(await under(page, 0.6, 3), "backward", "in each case");
  await page.key("i");
  await page.key("k");
  is(await under(page, 0.5, 1), "frames", "k groups by class");
  is(await under(page, 0.1, 2), "gemm", "then by name");
  is(await under(page, 0.1, 3), "step", "and below that the stacks from their outer end");
  is(await under(page, 0.6, 4), "backward", "as they are");
  await page.key("k");
  await page.key("?");
  is(await page.eval("document.querySelectorAll('dialog dt').length > 12"), true, "? lists the keys");
  await page.key("Escape");
  is(await page.eval("document.querySelectorAll('dialog').length"), 0, "Escape closes the list");
}

async function searching(page) {
  await page.key("/");
  await page.type("MM$");
  is(await page.eval("answer()"), "83.3% in 4 frames", "a match inside a match counts once: 500 of 600, case ignored");
  is(await page.eval("location.hash"), "#s=MM%24", "the search is in the address");
  await page.key("Enter");
  is(await page.eval("current()"), "mm", "Enter goes to the heaviest match");
  is(await page.eval("answer()"), "83.3%, 1 of 4", "and says which it is");
  await page.key("Enter");
  await page.key("Enter");
  is(await page.eval("current() + ' ' + answer()"), "mm 83.3%, 3 of 4", "and on");
  await page.key("Escape");
  await page.key("Escape");
  await page.key("i");
  await page.key("/");
  await page.type("backward");
  is(await page.eval("answer()"), "33.3%", "the share is the same when it is turned over");
  await page.key("Escape");
  await page.type("(");
  is(await page.eval("answer()"), "not a regular expression", "a broken expression is reported");
  await page.key("Escape");
  is(await page.eval("answer()"), "", "Escape ends the search");
}

async function sandwich(page) {
  is(await under(page, 0.5, 2), "mm", "the name in the middle");
  is(await under(page, 0.1, 1), "forward", "who calls it stands above: 300 of 500");
  is(await under(page, 0.7, 1), "backward", "and 200 of 500");
  is(await under(page, 0.5, 0), "step", "and their callers");
  is(await under(page, 0.5, 3), "gemm", "what it calls hangs below");
  await page.key("ArrowDown");
  await page.key("ArrowUp");
  is(await page.eval("current()"), "forward", "the arrows go up to the callers");
  await page.key("ArrowDown");
  is(await page.eval("current()"), "mm", "and down again");
  await page.key("s");
  is(await under(page, 0.5, 0), "all", "s goes back");
}

async function table(page) {
  const rows = "[...document.querySelectorAll('.names tbody tr')].map((r) => [...r.cells].map((c) => c.textContent).join('|')).join(' ')";
  is(await page.eval(rows), "gemm|frames|83.3%|500|83.3%|500 elementwise|frames|16.7%|100|16.7%|100 step|frames|0%|0|100%|600 forward|frames|0%|0|66.7%|400 " +
    "mm|frames|0%|0|83.3%|500 gelu|frames|0%|0|16.7%|100 backward|frames|0%|0|33.3%|200", "the table has every name with its own and its whole weight");
  await page.eval("press('Total')");
  ok((await page.eval(rows)).startsWith("step|"), "and sorts by either");
  await page.eval("press('mm')");
  is(await page.eval("location.hash"), "#n=mm", "a name leads to its sandwich");
}

// Kinds: communication 3 us, compute 6 us, a copy of 1 us and 4096 bytes.
async function kinds(page) {
  const entry = (k) => `document.querySelector(".classes [data-k=${k}]")`;
  is(await page.eval(`${entry("communication")}.textContent`), "communication30.0%", "the legend tells shares");
  await page.eval(`${entry("communication")}.click()`);
  is(await page.eval("answer()"), "30.0% in 1 frame", "a click leaves one class");
  is(await page.eval("location.hash"), "#c=communication", "and is in the address");
  await press(page, 0.5, 2);
  is(await page.eval("answer()"), "30.0% of view in 1 frame", "which a zoom counts anew");
  await page.key("0");
  await page.eval(`${entry("communication")}.click()`);
  is(await page.eval("answer() + location.hash"), "", "a second click brings all back");
  await page.eval("document.querySelector('[data-id=bytes]').click()");
  is(await under(page, 0.5, 3), "Memcpy HtoD (Pageable -> Device)", "by bytes there is the copy alone");
  ok((await page.eval("text('.tip')")).includes("4.10 kB"), "with its bytes");
  await page.key("1");
  await page.key("Escape");
  await page.key("ArrowDown");
  const figures = await page.eval("text('.panel h2') + text('.panel dl')");
  ok(figures.includes("GPU events3"), "the other weights are shown as well", figures);
}

const pageColour = "getComputedStyle(document.documentElement).backgroundColor";
async function themes(page) {
  const light = await page.eval("pixel(0.3, 2)");
  is(await page.eval(pageColour), "rgb(255, 255, 255)", "light by itself");
  await page.eval("gp.theme.set('dark')");
  is(await page.eval(pageColour), "rgb(20, 23, 28)", "dark when asked for");
  ok(await page.eval("pixel(0.3, 2)") !== light, "and the canvas is drawn anew");
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  is(await page.eval("getComputedStyle(document.querySelector('.still')).display + getComputedStyle(document.querySelector('.stage')).display"), "blocknone",
    "on paper there is the still picture");
  const { data } = await page.call("Page.printToPDF", {});
  ok(Buffer.from(data, "base64").length > 5000, "it prints");
}

async function attacks(page) {
  is(await page.eval("document.querySelectorAll('script').length + ' ' + document.querySelectorAll('img').length"), "6 0", "nothing came from a name but names");
  await page.key("ArrowDown");
  await page.key("ArrowDown");
  is(await page.eval("current()"), "</title></script><script>alert(1)</script>]]><img src=x onerror=alert(2)>", "which are shown as they are");
  await page.key("/");
  await page.type("<script>");
  is(await page.eval("answer().split(' ')[0]"), "62.5%", "and can be searched for");
  await page.key("Escape");
  await page.eval("location.hash = '#n=' + encodeURIComponent('b\\'\"\\\\&lt<!--')");
  await becomes(page, () => under(page, 0.5, 1), "b'\"\\&lt<!--", "also by the address");
}

async function still(page) {
  const said = await page.eval("document.body.innerText + [...document.querySelectorAll('svg text')].map((t) => t.textContent).join(' ')");
  for (const part of ["plain.folded", "600 samples", "forward", "elementwise"]) ok(said.includes(part), `without scripts there is "${part}"`, said.slice(0, 300));
  is(await page.eval("document.querySelectorAll('button, input, canvas').length"), 0, "and nothing that does nothing");
}

async function many(page) {
  ok(/^20,000 more$/.test(await under(page, 0.5, 2)), "frames that are too narrow are grouped", await under(page, 0.5, 2));
  await press(page, 0.5, 2);
  ok(/^\d+ more$/.test(await under(page, 0.5, 3)), "a click takes it apart", await under(page, 0.5, 3));
  await press(page, 0.5, 3);
  ok(/^leaf_\d+$/.test(await under(page, 0.5, 4)), "down to single frames", await under(page, 0.5, 4));
  await page.key("/");
  await page.type("leaf_12345$");
  ok(/^nothing matches in view, [<\d.]+% of all does$/.test(await page.eval("answer()")), "a search is for what is in view, and reports what is elsewhere", await page.eval("answer()"));
  await page.key("Escape");
  await page.key("Escape");
  await page.key("0");
  await page.key("/");
  await page.type("leaf_12345$");
  is(await page.eval("answer()"), "0.01% in 1 frame", "a search finds what is not drawn: 14 of 260,000");
}

async function narrow(page) {
  is(await page.eval("document.documentElement.scrollWidth + ' ' + document.documentElement.scrollHeight"), "600 700", "a small window needs no scrolling of the page");
  for (const width of [390, 900]) {
    await page.call("Emulation.setDeviceMetricsOverride", { width, height: 700, deviceScaleFactor: 1, mobile: false });
    is(await page.eval("[...document.querySelectorAll('.search, .page-tools, .choice, h1, .facts')].map((e) => [e.className, e.getBoundingClientRect()]).filter(([, b]) => b.left < 0 || b.right > innerWidth).map(([name]) => name).join()"), "", `at ${width} pixels everything is in the window`);
  }
}

main(async () => {
  const samples = fs.readdirSync(where).filter((f) => f.startsWith("sample-") && f.endsWith(".html")).sort();
  for (const file of samples) await withPage(file, { width: 1280 }, (page) => sample(page, file.slice(0, -5)));
  let hash = "";
  await withPage("plain.html", {}, async (page) => { hash = await mouse(page); });
  await withPage("plain.html", { hash }, async (page) => {
    is(await under(page, 0.9, 3), "gelu", "the address opens the same view");
    await page.reload();
    await page.ready();
    is(await under(page, 0.9, 3), "gelu", "also after a reload");
  });
  await withPage("wider.html", { hash, width: 800 }, async (page) => is(await under(page, 0.9, 2), "forward", "and in another picture of another width"));
  await withPage("plain.svg", { ready: "true", hash }, async (page) => is(await page.eval("[...document.querySelectorAll('.frames > g')].filter((g) => g.getAttribute('display') !== 'none').length"), 7,
    "and in the picture that stands alone"));
  await withPage("plain.html", {}, keyboard);
  await withPage("plain.html", {}, searching);
  await withPage("plain.html", { hash: "#n=mm" }, sandwich);
  await withPage("plain.html", { hash: "#t=1" }, table);
  await withPage("inverted.html", {}, async (page) => is(await under(page, 0.1, 1), "gemm", "--invert opens it turned over"));
  await withPage("kinds.html", {}, kinds);
  await withPage("plain.html", {}, themes);
  await withPage("plain.html", { dark: true }, async (page) => is(await page.eval(pageColour), "rgb(20, 23, 28)", "dark where the reader's machine is"));
  await withPage("names.html", {}, attacks);
  await withPage("plain.html", { scripts: false }, still);
  await withPage("empty.html", { ready: "true" }, async (page) => ok((await page.eval("text('.still')")).includes("No GPU events in this trace"), "an empty trace says so"));
  await withPage("many.html", {}, many);
  await withPage("plain.html", { width: 600, height: 700 }, narrow);
  await withPage("plain.html", { reducedMotion: false }, async (page) => {
    await press(page, 0.3, 2);
    await becomes(page, () => under(page, 0.9, 3), "gelu", "the moving zoom ends where the still one does");
  });
});
