// flame_zoom.js PICTURE... -- how long the slowest of four zooms into a flame graph takes in headless Chromium.
"use strict";
const { open } = require("../browser/page.js");

const zoom = `(async () => {
  const all = [...document.querySelectorAll(".frames > g")];
  let worst = 0;
  for (const i of [2, 0, 3, 0]) {
    const began = performance.now();
    all[i].dispatchEvent(new MouseEvent("click", { bubbles: true }));
    document.documentElement.getBoundingClientRect();
    await new Promise((r) => requestAnimationFrame(() => setTimeout(r, 0)));
    worst = Math.max(worst, performance.now() - began);
  }
  return [all.length, worst]; })()`;

(async () => {
  for (const file of process.argv.slice(2)) {
    const page = await open("about:blank", { width: 1280, height: 800 });
    await page.go("file://" + require("node:path").resolve(file));
    const [boxes, ms] = await page.eval(zoom);
    console.log(`slowest zoom among ${boxes} boxes: ${ms.toFixed(0)} ms`);
    await page.close();
  }
  process.exit(0);
})().catch((e) => { console.error(e.stack); process.exit(1); });
