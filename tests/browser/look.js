// look.js -- what a reader sees of a page: expressions to be evaluated in it.

// [the worst contrast of all text on what lies behind it, from WCAG 2, whose]. The ground of a frame's text is the last
// box before it.
const contrasts = `(() => {
  const lum = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const parse = (s) => s.match(/[\\d.]+/g).map(Number);
  const over = (top, under) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a)); };
  const behind = (e) => { const up = []; for (let x = e; x; x = x.parentElement) up.unshift(parse(getComputedStyle(x).backgroundColor));
    return up.reduce((under, top) => over(top, under), [255, 255, 255]); };
  let worst = 99, who = "";
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || ["SCRIPT", "STYLE", "style", "title", "desc"].includes(e.tagName)) continue;
    const style = getComputedStyle(e), svg = e.closest("svg");
    let box = e.closest(".frames") && e.closest("text")?.previousElementSibling || e.closest(".icicle g")?.previousElementSibling;
    if (!box?.matches("rect")) box = null;
    if (box && getComputedStyle(box).fill.startsWith("url")) continue; // a pattern: its text has a halo
    const ink = parse(svg ? style.fill : style.color), page = box ? parse(getComputedStyle(box).fill) : behind(svg ? svg.parentElement : e);
    const a = lum(over(ink, page)), b = lum(page), c = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (c < worst) { worst = c; who = e.tagName + "." + (e.getAttribute("class") || "") + " " + e.textContent.slice(0, 30); }
  }
  return [worst, who]; })()`;

// How many pairs of texts in the pictures of class KIND lie on each other, and which. Those that are turned are not looked at.
const overlaps = (kind) => `(() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg.${kind}")) {
    const texts = [...svg.querySelectorAll("text:not([transform])")].map((e) => [e.textContent, e.getBoundingClientRect()]);
    for (let i = 0; i < texts.length; i++)
      for (let k = 0; k < i; k++) {
        const [a, b] = [texts[i][1], texts[k][1]];
        if (a.left < b.right - .5 && b.left < a.right - .5 && a.top < b.bottom - 2.5 && b.top < a.bottom - 2.5) found.push(texts[i][0] + " on " + texts[k][0]);
      }
  }
  return found.join("; "); })()`;

module.exports = { contrasts, overlaps };
