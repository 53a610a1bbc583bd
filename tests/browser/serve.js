// serve.js -- trace-serve's pages in a real browser, as TAP. usage: node serve.js DIRECTORY
// The directory holds what tests/browser/serve.t started: the link of a server over some samples.
"use strict";
const fs = require("node:fs"), path = require("node:path");
const { where, ok, is, main } = require("./tap.js");
const { open } = require("./page.js");
const { contrasts } = require("./look.js");

const link = fs.readFileSync(path.join(where, "link"), "utf8").trim(), origin = new URL(link).origin;
const faults = (page) => page.events.filter((e) => e.method === "Runtime.exceptionThrown" || (e.method === "Log.entryAdded" && !/status of 401/.test(e.params.entry.text))).map((e) => JSON.stringify(e.params)).join();

async function list(page) {
  ok(await page.until("document.querySelectorAll('tbody tr .name a').length === 7"), "the link lets in, and the files are listed");
  is(await page.eval("location.href"), origin + "/", "the token is not in the address any more");
  ok(await page.until("/GPU|H200/.test(document.querySelector('.verdict')?.textContent || '')"), "the newest run has its verdict");
  is(await page.eval("document.querySelector('.newest h2').firstChild.textContent + document.querySelector('.newest h2').childNodes[1].textContent"),
    "Newest run: runs/newest.trace", "it is the newest");
  ok(await page.until("document.querySelector('.newest .go').textContent.includes('Compare with the run before: earlier.trace')"), "and can be compared with the run before of the same kernels");
  is(await page.eval("[...document.querySelectorAll('.newest .go a')].map((a) => a.textContent).filter((t) => /compile|Counters/.test(t)).join()"), "", "no page is linked that would be empty");
  const cell = (name, column) => page.eval(`[...document.querySelectorAll("tbody tr")].find((r) => r.querySelector(".name a").textContent === "${name}").cells[${column}].innerText.trim()`);
  ok(/^[\d.]+ (ms|\u00b5s)$/.test(await cell("newest.trace", 4)), "a row has the step time", await cell("newest.trace", 4));
  ok(/^[\d.]+%$/.test(await cell("newest.trace", 6)) && /H\d00/.test(await cell("newest.trace", 3)), "idle time and the GPU");
  ok(await page.until(() => cell("newest.trace", 5).then((text) => text === "no change")), "and trace-diff's verdict against the run before", await cell("newest.trace", 5));
  ok(await page.until("/^After earlier.trace: no change: both sides contain the same measurements/.test(document.querySelector('.newest .since').textContent)"), "with the reason", await page.eval("document.querySelector('.newest .since').textContent"));
  const reds = () => page.eval("[...document.querySelectorAll('tbody .judged.worse')].map((td) => td.closest('tr').querySelector('.name a').textContent).join()");
  is(await page.until(reds, "slower.trace"), "slower.trace", "a regression is marked");
  await page.eval("[...document.querySelectorAll('th button')].find((b) => b.textContent === 'Step').click()");
  const steps = await page.eval("[...document.querySelectorAll('tbody tr')].map((r) => r.cells[4].innerText.trim()).filter(Boolean)");
  const ns = (text) => parseFloat(text) * (text.endsWith("ms") ? 1000 : 1);
  ok(steps.length >= 3 && steps.every((s, i) => !i || ns(steps[i - 1]) <= ns(s)), "a heading sorts", steps);
  await page.eval("[...document.querySelectorAll('th button')].find((b) => b.textContent === 'When').click()");
  await page.eval("[...document.querySelectorAll('td button.link')].find((b) => b.textContent === 'earlier').click()");
  is(await page.eval("document.querySelectorAll('tbody tr .name a').length + ' ' + document.querySelectorAll('section .history circle').length"), "2 2", "a program has a page with its runs");
  is(await page.eval("location.hash"), "#program=earlier", "which has an address");
  await page.go(origin + "/?again#program=quick");
  ok(await page.until("/^quick.trace: 15.1 ms, 165 GPU events per step; the first run slower.trace: 17.0 ms, 166 GPU events per step; regression: step time 15.1 ms . 17.0 ms .*: idle time/.test([...document.querySelectorAll('section[aria-label^=runs] li')].map((li) => li.textContent).join(' '))"), "it can be opened there: each run has its verdict and the reason", await page.eval("document.querySelector('section[aria-label^=runs]').innerText"));
  is(await page.eval("[...document.querySelectorAll('tbody tr .name a')].map((a) => a.textContent).join() + document.querySelectorAll('section circle.worse').length"), "slower.trace,quick.trace1", "with only these runs, and the change marked");
  await page.eval("[...document.querySelectorAll('section button')].find((b) => b.textContent === 'All programs').click()");
  is(await page.eval("location.hash"), "", "and left");
  ok(!await page.eval("document.querySelector('b.evil, img')"), "a name that is markup is text");
  fs.copyFileSync(path.join(where, "runs/newest.trace"), path.join(where, "runs/later.trace"));
  ok(await page.until("document.querySelectorAll('tbody tr .name a').length === 8"), "a new file appears without a reload");
  const worst = await page.eval(contrasts);
  ok(worst[0] >= 4.5, "texts have contrast", worst);
  is(faults(page), "", "no script fails");
}

async function compare(page) {
  await page.eval("[...document.querySelectorAll('td.ab button')].slice(0, 4).filter((b, i) => i === 0 || i === 3).forEach((b) => b.click())");
  ok(await page.eval("!document.querySelector('.compare-bar').hidden && document.querySelector('.compare-bar a')"), "A and B choose what to compare");
  await page.eval("document.querySelector('.compare-bar a').click()");
  ok(await page.until("document.querySelector('.gp-bar') && document.querySelector('main h1')?.textContent.includes('\u2192')"), "and the comparison is shown");
  ok(await page.eval("document.querySelectorAll('.gp-bar b a').length") === 2, "with links to both traces");
}

// From the list to the reason of the slowest step: Timeline, Slowest step, and the figures beside it name the cause.
async function threeClicks(page) {
  await page.go(origin + "/");
  await page.until("document.querySelector('.newest .go a')");
  await page.eval("[...document.querySelectorAll('.newest .go a')].find((a) => a.textContent === 'Timeline').click()");
  ok(await page.until("[...document.querySelectorAll('button, a')].some((b) => b.textContent.startsWith('Slowest step'))"), "the timeline opens");
  await page.eval("[...document.querySelectorAll('button, a')].find((b) => b.textContent.startsWith('Slowest step')).click()");
  ok(await page.until("/idle/.test(document.querySelector('.figures')?.textContent || '')"), "and shows why the slowest step was slow");
  ok(await page.until("(document.querySelector('.gp-perfetto').dispatchEvent(new Event('pointerenter')), document.querySelector('.gp-perfetto').href.includes('range='))"),
    "its range can be handed to Perfetto");
  const height = await page.eval("document.documentElement.scrollHeight <= innerHeight");
  ok(height, "the bar takes no room that the timeline needs");
}

async function upload(page) {
  await page.go(origin + "/");
  await page.until("document.querySelectorAll('tbody tr .name a').length >= 8");
  const bytes = [...fs.readFileSync(path.join(where, "runs/newest.trace"))];
  await page.eval(`(() => { const t = new DataTransfer(); t.items.add(new File([new Uint8Array(${JSON.stringify(bytes)})], "dropped.trace"));
    dispatchEvent(new DragEvent("drop", { dataTransfer: t, bubbles: true, cancelable: true })); })()`);
  ok(await page.until("[...document.querySelectorAll('td.name a')].some((a) => a.textContent === 'dropped.trace')"), "a file that is dropped is uploaded and listed");
  ok(fs.existsSync(path.join(where, "up/dropped.trace")), "and is in the folder");
}

async function narrow(page) {
  await page.call("Emulation.setDeviceMetricsOverride", { width: 400, height: 800, deviceScaleFactor: 1, mobile: false });
  await page.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await page.go(origin + "/");
  await page.until("document.querySelectorAll('tbody tr .name a').length >= 8");
  ok(await page.eval("document.documentElement.scrollWidth <= 400"), "at 400 pixels nothing is cut", await page.eval("[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > 400).map((e) => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40)).join('\\n')"));
  const worst = await page.eval(contrasts);
  ok(worst[0] >= 4.5, "in the dark, texts have contrast", worst);
  await page.key("j");
  ok(await page.eval("document.querySelectorAll('tr.here').length") === 1, "keys move through the list");
}

main(async () => {
  const page = await open(link, { width: 1200, height: 900 });
  try {
    await list(page);
    await compare(page);
    await threeClicks(page);
    await upload(page);
    await narrow(page);
  } finally {
    await page.close();
  }
});
