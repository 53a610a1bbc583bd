// live.js -- the page of a running program in a real browser, as TAP. usage: node live.js DIRECTORY
// The directory holds what tests/browser/live.t started: the link of a server beside a recording.
"use strict";
const fs = require("node:fs"), path = require("node:path");
const { where, ok, is, main } = require("./tap.js");
const { open } = require("./page.js");
const { contrasts } = require("./look.js");

const link = fs.readFileSync(path.join(where, "link"), "utf8").trim(), origin = new URL(link).origin;
const tile = (name) => `[...document.querySelectorAll('.tile')].find((t) => t.firstChild.textContent === '${name}')?.lastChild.textContent`;

async function watches(page) {
  // The link asks to be let in, and then loads its page anew: another page has to wait for that.
  ok(await page.until("document.querySelector('a[href=\"/live\"]')"), "the link lets in, and the running program is offered");
  await page.go(origin + "/live");
  ok(await page.until("/^1 device, the last seconds/.test(document.querySelector('p[role=status]')?.textContent)"), "work is seen as it comes",
    await page.eval("location.pathname + ' ' + document.querySelector('p[role=status]')?.textContent"));
  ok(await page.until("document.querySelectorAll('tbody tr').length > 0"), "kernels have rows");
  is(await page.eval("[...document.querySelector('tbody tr').cells].map((td) => td.dataset.name || '').join()"), ",calls,time,share", "with a name for each figure where there is no heading");
  ok(await page.until(`/%$/.test(${tile("idle")})`), "the idle share is shown", await page.eval(tile("idle")));
  is(await page.eval(tile("quality issues")), "0", "no event is lost or repaired");
  const first = await page.eval("document.querySelector('.curve path').getAttribute('d').length + document.querySelector('tbody').textContent");
  ok(await page.until(`document.querySelector('.curve path').getAttribute('d').length + document.querySelector('tbody').textContent !== ${JSON.stringify(first)}`), "and change without a reload");
}

async function readable(page, width, dark) {
  await page.call("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: false });
  await page.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  const worst = await page.eval(contrasts);
  ok(worst[0] >= 4.5, `texts have contrast, ${dark ? "dark" : "light"}`, worst);
  ok(await page.eval(`document.documentElement.scrollWidth <= ${width}`), `nothing is cut at ${width} pixels`);
  if (process.env.SHOTS) await page.screenshot(path.join(process.env.SHOTS, `live-${width}.png`));
}

async function keeps(page) {
  await page.eval("[...document.querySelectorAll('.go button')].find((b) => b.textContent === 'Keep the last 10 s').click()");
  ok(await page.until("location.pathname !== '/live' && !!document.querySelector('.gp-bar')"), "the last seconds are kept as a trace, which opens");
  const kept = fs.readdirSync(path.join(where, "runs")).filter((f) => f.endsWith(".trace"));
  is(kept.length, 1, "it is a file in the folder");
}

main(async () => {
  const page = await open(link, { width: 1200, height: 800 });
  try {
    await watches(page);
    await readable(page, 1200, false);
    await readable(page, 1000, true);
    await readable(page, 400, true);
    await keeps(page);
    is(page.problems().map((e) => e.method).join(), "", "no script fails");
  } finally {
    await page.close();
  }
});
