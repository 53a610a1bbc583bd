// serve_bar.js -- in the bar above the pages of tools: the way to Perfetto takes the range that a timeline shows or has
// chosen, and g goes back to all traces. The pages make room for the bar.
"use strict";
(() => {
const bar = document.querySelector(".gp-bar"), link = document.querySelector(".gp-perfetto");
const measure = () => document.documentElement.style.setProperty("--gp-bar", bar.offsetHeight + "px");
measure();
new ResizeObserver(measure).observe(bar);
function update() {
  const h = new URLSearchParams(location.hash.slice(1)), range = h.get("r") || h.get("t");
  if (!link || !/\/timeline$/.test(location.pathname)) return;
  const id = location.pathname.split("/")[2];
  link.removeAttribute("download");
  link.href = "/perfetto?trace=" + id + (range ? "&range=" + encodeURIComponent(range) : "");
  link.textContent = range ? "This range for Perfetto" : "For Perfetto";
}
addEventListener("hashchange", update);
document.addEventListener("focusin", update);
link?.addEventListener("pointerenter", update);
link?.addEventListener("pointerdown", update);
addEventListener("keydown", (e) => {
  if (e.key !== "g" || e.ctrlKey || e.altKey || e.metaKey || e.target.closest?.("input, textarea, select")) return;
  location.assign("/");
});
update();
})();
