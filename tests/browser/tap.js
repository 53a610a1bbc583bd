// tap.js -- the checks of a script that drives a browser, as TAP, and what holds for every page.
//
//     const withPage = pages({ width: 1280, helpers: "window.two = () => 2" });
//     main(async () => {
//       await withPage("small.html", { dark: true }, async (page) => is(await page.eval("two()"), 2, "it counts"));
//     });
"use strict";
const fs = require("node:fs"), path = require("node:path");
const { open, quit, use } = require("./page.js");

const where = path.resolve(process.argv[2]); // the directory of the pages
let number = 0, failed = 0, within = "";

function ok(yes, what, why = "") {
  console.log((yes ? "ok " : "not ok ") + ++number + " - " + within + what);
  if (yes) return;
  failed++;
  console.log("# " + String(why).replace(/\n/g, "\n# "));
}
const is = (got, expected, what) => ok(got === expected, what, `got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
// For what a page does by and by: is() once it is so.
const becomes = async (page, question, expected, what) => is(await page.until(question, expected), expected, what);
const same = (got, expected, what) => is(JSON.stringify(got), JSON.stringify(expected), what);

// The function with which a script opens its pages. helpers: what its checks ask of a page, run in it; ready: an expression
// that is true once the page can be asked; defaults: options of open() in page.js.
// withPage(name, options, run) opens the page, runs run(page, name), checks what must hold for every page, and closes it.
// Its options are those of pages() and hash: the end of the address; noisy: the checks make the page complain or load.
const pages = (defaults) => async (name, options, run) => {
  const { helpers = "", ready = "true", hash = "", noisy = false, ...rest } = { ...defaults, ...options };
  const page = await open("file://" + path.join(where, name) + hash, rest);
  page.ready = async () => { // also to be called after another load
    await page.until(ready);
    await page.eval(helpers);
  };
  try {
    if (rest.scripts !== false) await page.ready();
    await run(page, name);
    same(page.problems().map((e) => e.params.exceptionDetails?.exception?.description || e.method), [], `${name}: no exception and no dialog`);
    if (noisy) return;
    const printed = page.events.filter((e) => e.method === "Log.entryAdded" || e.method === "Runtime.consoleAPICalled");
    same(printed.map((e) => e.params.entry?.text || e.params.type), [], `${name}: the console is silent`);
    const asked = page.events.filter((e) => e.method === "Network.requestWillBeSent" && e.params.type !== "Document" && !/^(data|blob):/.test(e.params.request.url));
    same(asked.map((e) => e.params.request.url), [], `${name}: nothing is loaded`);
  } finally {
    await page.close();
  }
};

const hasFirefox = () => process.env.PATH.split(":").some((dir) => fs.existsSync(path.join(dir, "firefox-esr")));

// Runs the checks, prints the plan, and ends the program. With FIREFOX they run there, too, as checks(true), unless it is missing or
// BROWSER names one.
async function main(checks, { firefox = false } = {}) {
  const one = process.env.BROWSER || "chromium";
  if (firefox && !hasFirefox()) console.log("# firefox-esr is missing");
  try {
    for (const name of firefox && !process.env.BROWSER && hasFirefox() ? [one, "firefox"] : [one]) {
      use(name);
      within = name === "chromium" ? "" : "Firefox: ";
      await checks(name !== one);
      await quit();
    }
    console.log("1.." + number);
  } catch (e) {
    console.log("Bail out! " + e.stack.replace(/\n/g, "\n# "));
    failed++;
    await quit().catch(() => {});
  }
  process.exit(failed ? 1 : 0);
}

module.exports = { where, ok, is, becomes, same, pages, main };
