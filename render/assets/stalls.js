// stalls.js -- the samples of a line, where the pointer or the keyboard is. Without it they are the line's title.
"use strict";
(() => {
for (const row of document.querySelectorAll(".code .sampled")) {
  const [first, ...more] = row.title.split("; ");
  row.setAttribute("aria-description", row.title);
  row.removeAttribute("title");
  const show = (x, y) => gp.tip.show(x, y, first, more);
  row.addEventListener("mousemove", (e) => show(e.clientX, e.clientY));
  row.addEventListener("mouseleave", () => gp.tip.hide());
  row.addEventListener("focus", () => {
    const bar = row.querySelector(".bar").getBoundingClientRect();
    show(bar.left, bar.bottom - 8);
  });
  row.addEventListener("blur", () => gp.tip.hide());
}
})();
