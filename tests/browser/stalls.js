// stalls.js -- the code on the page of trace-metrics in a real browser, as TAP. usage: node stalls.js DIRECTORY
// The directory holds the page that tests/browser/stalls.t made.
"use strict";
const { ok, is, pages, main } = require("./tap.js");
const { contrasts } = require("./look.js");

const helpers = `
  window.row = (i) => document.querySelectorAll(".code .sampled")[i];
  window.tip = () => { const t = document.querySelector(".tip"); return t.hidden ? "" : [...t.children].map((e) => e.textContent).join("|"); };
  window.width = (e) => Math.round(e.getBoundingClientRect().width);
`;
const withPage = pages({ helpers, ready: "document.querySelectorAll('.code .sampled[aria-description]').length" });
const WORDS = "70.00% of the kernel's samples, +-0.90 points|7,000 samples|long_scoreboard 6,000, 85.7%|wait 500, 7.14%|issued 500, 7.14%";

async function bars(page) {
  is(await page.eval("[...row(0).querySelectorAll('.bar i')].map((e) => e.className).join(' ')"), "s-memory_access s-dependent_chain s-issued", "a bar has the colours of what the warps did");
  is(await page.eval("row(0).querySelector('i').getBoundingClientRect().width > 10 * row(0).querySelectorAll('i')[1].getBoundingClientRect().width"), true,
    "as wide as their samples");
  is(await page.eval("Math.abs(width(row(1).querySelectorAll('i')[0]) - width(row(0).querySelector('.bar')) * 2 / 7) <= 1"), true, "and bars of a kernel have one scale");
  is(await page.eval("[...document.querySelector('.legend').querySelectorAll('i')].map((e) => e.className).join(' ')"),
    "s-memory_access s-barrier s-dependent_chain s-not_selected s-issued", "the list of colours has those of the kernel");
}

async function pointing(page) {
  await page.eval("row(0).focus()");
  is(await page.eval("tip()"), WORDS, "the keyboard shows the samples of a line");
  await page.eval("row(0).blur()");
  is(await page.eval("tip()"), "", "and hides them");
  const [x, y] = await page.eval("(() => { row(0).scrollIntoView({ block: 'center' }); const r = row(0).getBoundingClientRect(); return [r.x + 300, r.y + 5]; })()");
  await page.move(x, y);
  is(await page.until("tip()", WORDS), WORDS, "so does the pointer");
  is(await page.eval("row(0).title + row(0).getAttribute('aria-description').split('; ').length"), "5", "and no second box of the browser's");
}

async function attacks(page) {
  is(await page.eval("document.querySelectorAll('script:not([type])').length"), 3, "no script came from the code");
  is(await page.eval("document.querySelectorAll('img').length"), 0, "and no picture");
  ok((await page.eval("row(0).querySelector('.text').textContent")).startsWith("    7 </script><script>alert(1)"), "the line is shown");
}

async function looks(page) {
  for (const [theme, least] of [["", 4.5], ["dark", 4.5], ["contrast", 7]]) {
    await page.eval(`(() => { const s = document.querySelector(".theme-choice"); s.value = "${theme}"; s.dispatchEvent(new Event("change")); })()`);
    const [worst, who] = await page.eval(contrasts);
    ok(worst >= least, `${theme || "light"}: all text has a contrast of ${least} at least`, `${worst.toFixed(2)} of ${who}`);
    const colours = await page.eval("new Set([...document.querySelectorAll('.code .legend i')].map((e) => e.className + getComputedStyle(e).backgroundColor)).size");
    is(colours, await page.eval("new Set([...document.querySelectorAll('.code .legend i')].map((e) => getComputedStyle(e).backgroundColor)).size"), `and no two reasons have one colour`);
  }
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  is(await page.eval("getComputedStyle(document.querySelector('.pointing')).display + getComputedStyle(document.querySelector('.code .scroll')).overflow"), "nonevisible",
    "on paper there is nothing to point at, and no code is cut");
}

main(async () => {
  await withPage("stalls.html", {}, async (page) => {
    await bars(page);
    await pointing(page);
    await attacks(page);
    await looks(page);
  });
  await withPage("stalls.html", { scripts: false }, async (page) => {
    ok(await page.until("document.querySelectorAll('.code .sampled')[0]?.title.startsWith('70.00%')", true), "without scripts the samples are the line's title");
  });
});
