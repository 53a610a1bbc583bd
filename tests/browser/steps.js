// steps.js -- every timeline of a directory opens on its steps, in both browsers, as TAP. usage: node steps.js DIRECTORY
// Those that tests/browser/steps.sh made. What is looked at is on the screen: the heading and the figures below the tracks.
"use strict";
const fs = require("node:fs");
const { where, is, ok, pages, main } = require("./tap.js");

const withPage = pages({ width: 1280, ready: "document.body.dataset.ready" });
main(async () => {
  for (const file of fs.readdirSync(where).filter((f) => f.endsWith(".html")).sort())
    await withPage(file, {}, async (page) => {
      const steps = await page.eval("gp.page.data.steps.filter((s) => !s.warm_up).map((s) => [s.t0, s.t1])");
      if (!steps.length) return;
      is(await page.until("document.querySelector('.figures h2')?.textContent", "Steps"), "Steps", `${file}: the steps are on the screen`);
      const [from, to] = await page.eval("[gp.page.view.t0, gp.page.view.t1]");
      ok(from === Math.min(...steps.map((s) => s[0])) && to === Math.max(...steps.map((s) => s[1])), `${file}: from the first to the last, and nothing else`, `${from} ${to}`);
    });
}, { firefox: true });
