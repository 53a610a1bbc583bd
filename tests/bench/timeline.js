// timeline.js PAGE... -- how long a page of trace2timeline takes in headless Chromium until it can be used, what memory its
// data takes, and how long its answers take. Prints a line a figure.
"use strict";
const { open, quit } = require("../browser/page.js");

const ask = `(async () => {
  const { data, paint } = gp.page, out = {}, middle = (list) => list.sort((a, b) => a - b)[list.length >> 1];
  const time = (name, f, n = 7) => { const all = []; for (let i = 0; i < n; i++) { const b = performance.now(); f(i / n); all.push(performance.now() - b); } out[name] = middle(all).toFixed(1) + " ms"; };
  const busy = new Float32Array(1100), kind = new Uint8Array(1100);
  out.events = data.shown;
  time("frame of the whole", () => paint());
  time("frame of a thousandth", (x) => { gp.page.view.show(x * data.span * 0.9, x * data.span * 0.9 + data.span / 1000); paint(); });
  time("figures of a range", (x) => data.aggregate(x * data.span / 2, data.span * (0.5 + x / 2)));
  time("columns of every lane", () => { for (const lane of data.lanes) data.columns(lane, 0, data.span, 1100, busy, kind); });
  time("search", () => data.search("gemm|copy"), 3);
  time("longest gaps", () => data.gaps(20), 3);
  return out;
})()`;

(async () => {
  for (const file of process.argv.slice(2)) {
    const page = await open("about:blank", { width: 1280, height: 800 });
    try {
      await page.call("Page.navigate", { url: "file://" + require("node:path").resolve(file) });
      for (let i = 0; i < 2400; i++) {
        if (await page.eval("document.body && document.body.dataset.ready").catch(() => null)) break;
        await page.sleep(25);
      }
      const ready = Number(await page.eval("document.body.dataset.ready"));
      await page.call("HeapProfiler.collectGarbage");
      const heap = await page.call("Runtime.getHeapUsage");
      console.log(`ready after ${(ready / 1000).toFixed(2)} s, memory ${((heap.usedSize + heap.backingStorageSize) / 1e6).toFixed(0)} MB`);
      for (const [what, figure] of Object.entries(await page.eval(ask))) console.log(`${what}: ${figure}`);
    } finally { await page.close(); }
  }
  await quit();
})().catch((e) => { console.error(e); process.exit(1); });
