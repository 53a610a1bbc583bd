// report.js -- the page of trace-hta in a real browser, as TAP. usage: node report.js DIRECTORY
// The directory holds pages that tests/browser/report.t made.
"use strict";
const fs = require("node:fs"), path = require("node:path");
const { where, ok, is, pages, main } = require("./tap.js");
const { contrasts } = require("./look.js");

const EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'";

// What the tests ask of a page; runs in it.
const helpers = `
  window.table = (id) => document.getElementById(id).querySelector("table");
  window.heads = (id) => [...table(id).tHead.rows[0].cells];
  window.columnOf = (id, name) => heads(id).findIndex((th) => th.dataset.id === name);
  window.head = (id, name) => heads(id)[columnOf(id, name)];
  window.column = (id, name) => [...table(id).tBodies[0].rows].filter((r) => !r.hidden).map((r) => r.cells[columnOf(id, name)]);
  window.exact = (id, name) => column(id, name).map((c) => Number(c.dataset.v)).join(" ");
  window.centre = (e) => { e.scrollIntoView({ block: "center" }); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
  window.byText = (id, text) => [...document.getElementById(id).querySelectorAll("button")].find((b) => b.textContent === text);
`;

const withPage = pages({ helpers });

async function clickOn(page, expression) {
  const [x, y] = await page.eval(`centre(${expression})`);
  await page.click(x, y);
}

// Three calls each of 1 to 11 us: 3 to 33 us in all; the longest has the name that attacks.
const FALLING = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((k) => k * 3000).join(" ");
const RISING = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((k) => k * 3000).join(" ");

async function sorting(page) {
  is(await page.eval("exact('kernels', 'total_ns')"), FALLING, "kernels come with the longest first");
  is(await page.eval("document.querySelectorAll('th[aria-sort]').length"), 0, "no column claims to sort at first");
  await clickOn(page, "head('kernels', 'total_ns').querySelector('button')");
  is(await page.eval("head('kernels', 'total_ns').getAttribute('aria-sort') + ' ' + exact('kernels', 'total_ns')"),
    "descending " + FALLING, "a click on a number sorts from the largest");
  await clickOn(page, "head('kernels', 'total_ns').querySelector('button')");
  is(await page.eval("head('kernels', 'total_ns').getAttribute('aria-sort') + ' ' + exact('kernels', 'total_ns')"),
    "ascending " + RISING, "a second click from the smallest");
  await page.eval("head('kernels', 'name').querySelector('button').focus()");
  await page.key("Enter");
  is(await page.eval("head('kernels', 'name').getAttribute('aria-sort') + head('kernels', 'total_ns').getAttribute('aria-sort')"),
    "ascendingnull", "Enter sorts, too, and only one column is the sorted one");
  is(await page.eval("column('kernels', 'name').map((c) => c.textContent).filter((t) => t.includes('kernel_')).map((t) => t.match(/kernel_(\\d+)/)[1]).join(' ')"),
    "0 1 2 3 4 5 6 7 8 9", "names sort by their words");
}

async function filtering(page) {
  await page.eval("document.getElementById('kernels').querySelector('input').focus()");
  await page.type("KERNEL_3");
  is(await page.eval("column('kernels', 'name').length"), 1, "the filter leaves the rows that match, case ignored");
  is(await page.eval("document.getElementById('kernels').querySelector('output').textContent"), "1 of 11 rows", "and says how many");
  await page.key("Escape");
  is(await page.eval("column('kernels', 'name').length"), 11, "Escape brings all back");
  await page.type("float, 4>(int");
  is(await page.eval("column('kernels', 'name').length"), 10, "full names are searched as well");
  await page.key("Escape");
}

async function names(page) {
  const label = "column('kernels', 'name').find((c) => c.textContent.includes('kernel_3'))";
  is(await page.eval(`${label}.textContent`), "space::kernel_3", "names are short");
  is(await page.eval(`${label}.title`), "void space::kernel_3<float, 4>(int, float*)", "and full under the pointer");
  await clickOn(page, `${label}.querySelector("span")`);
  is(await page.eval(`${label}.textContent`), "void space::kernel_3<float, 4>(int, float*)", "a click unfolds one");
  await clickOn(page, `${label}.querySelector("span")`);
  await page.eval("byText('kernels', 'Full names').focus()");
  await page.key("Enter");
  is(await page.eval("column('kernels', 'name').filter((c) => c.textContent.includes('(int, float*)')).length"), 10,
    "the button unfolds all");
  is(await page.eval("byText('kernels', 'Short names').getAttribute('aria-pressed')"), "true", "and says so");
}

async function copying(page) {
  await page.eval("window.copied = ''; navigator.clipboard.writeText = async (t) => { copied = t; }");
  await clickOn(page, "byText('kernels', 'Copy TSV')");
  await page.until("copied");
  const lines = (await page.eval("copied")).trimEnd().split("\n").map((l) => l.split("\t"));
  const name = lines[0].indexOf("name"), total = lines[0].indexOf("total_ns");
  is(lines.length, 12, "a heading and all rows are copied");
  is(lines[1][total], "33000", "with exact values");
  is(lines[1][name], EVIL, "and full names");
  ok(lines.every((l) => l.length === lines[0].length), "every line has all columns");
}

async function attacks(page) {
  is(await page.eval("document.querySelectorAll('script').length"), 3, "no script came from a name");
  is(await page.eval("document.querySelectorAll('img').length"), 0, "and no picture");
  is(await page.eval("column('kernels', 'name')[0].textContent.length > 10"), true, "the name is shown");
  is(await page.eval("JSON.parse(document.getElementById('gpuprof-answer').textContent).kernels[0].name"), EVIL,
    "the data for programs have it as it is");
  is(await page.eval("JSON.parse(document.getElementById('gpuprof-answer').textContent).schema"), "gpuprof/trace-hta/1", "and say what they are");
  is(await page.eval("performance.getEntriesByType('resource').length"), 0, "nothing is loaded");
}

// Even if a name became markup: no other script runs.
async function policy(page) {
  await page.eval("document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))");
  await page.eval("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 2\">')");
  await page.sleep(100);
  is(await page.eval("typeof ran"), "undefined", "scripts that are not ours do not run");
}

async function saving(page) {
  await page.call("Page.setDownloadBehavior", { behavior: "allow", downloadPath: where });
  await clickOn(page, "[...document.querySelectorAll('.page-tools button')].find((b) => b.textContent === 'JSON')");
  const made = () => fs.readdirSync(where).find((f) => /^trace-hta.*\.json$/.test(f));
  await page.until(async () => made());
  const text = made() ? fs.readFileSync(path.join(where, made()), "utf8") : "{}";
  is(JSON.parse(text).tool, "trace-hta", "the data are saved as a file");
}

const pageColour = "getComputedStyle(document.documentElement).backgroundColor";

async function choose(page, name) {
  await page.eval(`(() => { const s = document.querySelector(".theme-choice"); s.value = ${JSON.stringify(name)}; s.dispatchEvent(new Event("change")); })()`);
}

async function theme(page) {
  is(await page.eval(pageColour), "rgb(255, 255, 255)", "light by itself");
  await choose(page, "dark");
  is(await page.eval(pageColour), "rgb(20, 23, 28)", "dark when asked for");
  await choose(page, "contrast");
  is(await page.eval(pageColour), "rgb(0, 0, 0)", "or of high contrast");
  await readable(page, "high contrast", 7);
  await page.reload();
  is(await page.eval(pageColour), "rgb(0, 0, 0)", "which is remembered");
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  is(await page.eval(pageColour), "rgb(255, 255, 255)", "paper is white whatever was chosen");
  await page.call("Emulation.setEmulatedMedia", { media: "" });
  await choose(page, "");
  is(await page.eval(pageColour), "rgb(255, 255, 255)", "automatic is what the reader's machine wants");
}

async function searching(page) {
  const said = "document.querySelector('.search output').textContent", current = "document.querySelector('.hit.current')";
  await page.key("/");
  await page.type("KERNEL_[34]$");
  is(await page.eval("document.querySelectorAll('#kernels tr.hit').length"), 2, "the search finds rows by regular expression, case ignored");
  is(await page.eval("location.hash"), "#s=KERNEL_%5B34%5D%24", "and is in the address");
  await page.key("Enter");
  ok((await page.eval(said)).startsWith("1 of "), "Enter goes to the first match");
  ok(await page.eval(`${current}.getBoundingClientRect().top < innerHeight && ${current}.getBoundingClientRect().top >= 0`), "which is brought into sight");
  ok(await page.eval(`${current}.closest("details")?.open !== false`), "and unfolded");
  await page.key("Escape");
  is(await page.eval("document.querySelectorAll('.hit').length + location.hash"), "0", "Escape ends it");
  await page.key("Escape");
  await page.key("?");
  ok(await page.eval("[...document.querySelectorAll('dialog dt')].some((e) => e.textContent === '/')"), "? lists the keys");
  await page.key("?");
  is(await page.eval("document.querySelectorAll('dialog').length"), 0, "and closes the list");
  await page.type("(");
  is(await page.eval("document.querySelectorAll('.hit').length"), 0, "what is typed beside the box does nothing");
}

async function readable(page, theme, least = 4.5) {
  const [worst, who] = await page.eval(contrasts);
  ok(worst >= least, `${theme}: all text has a contrast of ${least} at least`, `${worst.toFixed(2)} of ${who}`);
}

async function printing(page) {
  await page.eval("dispatchEvent(new Event('beforeprint'))");
  is(await page.eval("document.querySelectorAll('details.definitions:not([open])').length"), 0, "printing unfolds what columns mean");
  ok(await page.eval("document.querySelectorAll('details.table:not([open])').length") > 0, "closed tables stay closed");
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  is(await page.eval("[...document.querySelectorAll('nav, .tools, .page-tools')].filter((e) => getComputedStyle(e).display !== 'none').length"),
    0, "there is nothing to press on paper");
  is(await page.eval("[...document.querySelectorAll('.scroll')].filter((e) => getComputedStyle(e).overflow !== 'visible').length"), 0,
    "no table is cut");
  await page.call("Emulation.setEmulatedMedia", { media: "" });
  await page.eval("dispatchEvent(new Event('afterprint'))");
  ok(await page.eval("document.querySelectorAll('details:not([open])').length") > 0, "and folds it again");
  const { data } = await page.call("Page.printToPDF", {});
  ok(Buffer.from(data, "base64").length > 20000, "it prints");
}

async function still(page) {
  const text = await page.eval("document.body.innerText");
  for (const part of ["GPU busy", "Idle by cause", "space::kernel_3", "Where the time went"])
    ok(text.includes(part), `without scripts there is "${part}"`);
  is(await page.eval("document.querySelectorAll('button, input').length"), 0, "and nothing that does nothing");
  ok(await page.eval("document.querySelectorAll('svg.chart rect').length") > 10, "the charts are drawn");
}

async function narrow(page) {
  is(await page.eval("document.documentElement.scrollWidth"), 420, "a narrow window needs no scrolling sideways");
}

main(async () => {
  await withPage("names.html", { width: 1400 }, async (page) => {
    await attacks(page);
    await copying(page);
    await sorting(page);
    await filtering(page);
    await names(page);
  });
  await withPage("names.html", { noisy: true }, policy);
  await withPage("names.html", {}, saving);
  await withPage("names.html", {}, theme);
  await withPage("names.html", { height: 600 }, searching);
  await withPage("names.html", {}, (page) => readable(page, "light"));
  await withPage("names.html", { dark: true }, (page) => readable(page, "dark"));
  await withPage("names.html", {}, printing);
  await withPage("names.html", { scripts: false }, still);
  await withPage("names.html", { width: 420 }, narrow);
  await withPage("again.html", { hash: "#devices" }, async (page) =>
    is(await page.eval("document.getElementById('devices').open"), true, "the address unfolds the table that it names"));
  await withPage("names.html", { hash: "#kernels=kernel_3" }, async (page) =>
    is(await page.eval("column('kernels', 'name').length"), 1, "and filters it"));
  await withPage("linked.html", {}, async (page) => {
    const links = await page.eval("[...document.querySelectorAll('.findings a')].filter((a) => a.textContent === 'flame graph').map((a) => a.href)");
    ok(links.length > 0, "findings link to the flame graph");
    for (const link of links) {
      await page.go("about:blank");
      await page.go(link);
      ok(await page.until("/^[\\d.]+% in \\d+ frame/.test(document.querySelector('.search output').textContent)"), "which finds what they are about",
        link + " " + await page.eval("document.querySelector('.search output').textContent"));
    }
  });
});
