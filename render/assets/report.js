// report.js -- what a report's page can do where scripts run: tables that sort, filter and copy, a search over all of them.
// Reads the page it stands in and only ever puts names in as text. Without it everything is still there.
"use strict";
(() => {
const { make } = gp;

// ---- tables ----

// What a cell is sorted by: its exact value, its words; nothing sorts last.
const valueOf = (cell) => cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.classList.contains("n") ? null : cell.textContent;
// What a cell is copied as: exact values, full names.
const exactOf = (cell) => cell.dataset.v !== undefined ? cell.dataset.v
  : cell.classList.contains("n") ? "" : (cell.dataset.full || cell.title || cell.textContent).replace(/[\t\r\n]+/g, " ");

const words = new Intl.Collator("en", { numeric: true });

function compare(a, b) {
  if (a === null || b === null) return 0;
  return typeof a === "number" && typeof b === "number" ? a - b : words.compare(a, b);
}

function sortBy(table, column, direction) {
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
  const sign = direction === "ascending" ? 1 : -1;
  keyed.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b));
  body.append(...keyed.map(([, row]) => row));
  for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", direction);
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((th, column) => {
    const button = make("button", { type: "button", textContent: th.textContent });
    button.addEventListener("click", () => {
      const first = th.classList.contains("n") ? "descending" : "ascending";
      const other = first === "descending" ? "ascending" : "descending";
      sortBy(table, column, th.getAttribute("aria-sort") === first ? other : first);
    });
    th.replaceChildren(button);
  });
}

// Rows that have every word of the query somewhere, in labels or full names.
function filterRows(table, query) {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    row.haystack ??= [...row.cells].map((c) => c.textContent + " " + (c.dataset.full || c.title)).join(" ").toLowerCase();
    row.hidden = !wanted.every((w) => row.haystack.includes(w));
    shown += !row.hidden;
  }
  return shown;
}

function asTsv(table) {
  const lines = [[...table.tHead.rows[0].cells].map((th) => th.dataset.id).join("\t")];
  for (const row of table.tBodies[0].rows) if (!row.hidden) lines.push([...row.cells].map(exactOf).join("\t"));
  return lines.join("\n") + "\n";
}

// Full names in place of the short ones, and back.
function showNames(table, full) {
  table.classList.toggle("full", full);
  for (const cell of table.querySelectorAll("td[title], td[data-full]")) {
    cell.dataset.full ??= cell.title;
    const span = cell.querySelector("span");
    span.dataset.short ??= span.textContent;
    span.textContent = full ? cell.dataset.full : span.dataset.short;
    cell.title = full ? "" : cell.dataset.full;
  }
}

// Columns that matter only to some are hidden if there is no room, until requested.
function makeColumns(section, table, tools) {
  const wide = [...table.tHead.rows[0].cells].map((th) => th.classList.contains("wide"));
  if (!wide.includes(true)) return;
  for (const row of table.tBodies[0].rows) wide.forEach((yes, i) => yes && row.cells[i].classList.add("wide"));
  const button = make("button", { type: "button" });
  const show = (all) => {
    table.classList.toggle("compact", !all);
    button.setAttribute("aria-pressed", String(all));
    button.textContent = all ? "Fewer columns" : "All columns";
  };
  button.addEventListener("click", () => show(table.classList.contains("compact")));
  const fit = () => {
    if (!section.open) return;
    section.removeEventListener("toggle", fit);
    if (table.offsetWidth <= table.parentElement.clientWidth) return;
    show(false);
    tools.querySelector("output").before(button);
  };
  section.addEventListener("toggle", fit);
  fit();
}

function makeTools(section, table) {
  const rows = table.tBodies[0].rows.length;
  const tools = make("div", { className: "tools" });
  const said = make("output");
  said.setAttribute("aria-live", "polite");
  if (rows > 5) {
    const filter = make("input", { type: "search", placeholder: "filter rows", spellcheck: false, autocomplete: "off" });
    filter.setAttribute("aria-label", "Filter the rows of " + section.querySelector("h3").textContent);
    filter.addEventListener("input", () => {
      const shown = filterRows(table, filter.value);
      said.textContent = filter.value.trim() ? `${shown} of ${rows} rows` : "";
      gp.hash.set({ [section.id]: filter.value });
    });
    filter.addEventListener("keydown", (e) => {
      if (e.key !== "Escape" || !filter.value) return;
      filter.value = "";
      filter.dispatchEvent(new Event("input"));
    });
    tools.append(filter);
  }
  if (table.querySelector("td[title]")) {
    const names = make("button", { type: "button", textContent: "Full names" });
    names.setAttribute("aria-pressed", "false");
    names.addEventListener("click", () => {
      const full = names.getAttribute("aria-pressed") === "false";
      showNames(table, full);
      names.setAttribute("aria-pressed", String(full));
      names.textContent = full ? "Short names" : "Full names";
    });
    tools.append(names);
  }
  const button = make("button", { type: "button", textContent: "Copy TSV", title: "exact values and full names of the rows shown" });
  button.addEventListener("click", async () => {
    said.textContent = await gp.copy(asTsv(table)) ? "copied" : "the browser does not allow copying here";
  });
  tools.append(button, said);
  section.querySelector(".scroll").before(tools);
  makeColumns(section, table, tools);
}

// A click on a name shows it in full; a second click shortens it.
function unfold(event) {
  const cell = event.target.closest("td[title], td[data-full]");
  if (!cell || String(getSelection())) return;
  cell.dataset.full ??= cell.title;
  const span = cell.querySelector("span");
  span.dataset.short ??= span.textContent;
  span.textContent = span.textContent === cell.dataset.full ? span.dataset.short : cell.dataset.full;
}

for (const section of document.querySelectorAll("details.table")) {
  const table = section.querySelector("table");
  makeSortable(table);
  makeTools(section, table);
  table.addEventListener("click", unfold);
}

// ---- the page ----

function jsonButton() {
  const data = document.getElementById("gpuprof-answer");
  if (!data) return null;
  return make("button", { type: "button", textContent: "JSON", title: "save the answer for programs",
    onclick: () => gp.save(gp.fileName(".json"), "application/json", data.textContent) });
}
// ---- search: rows of all tables, and findings ----

const targets = [...document.querySelectorAll(".findings li, .card, .table tbody tr, .code tbody tr")];
let hits = [], at = -1;

function find(pattern) {
  for (const e of hits) e.classList.remove("hit", "current");
  at = -1;
  hits = !pattern ? [] : targets.filter((e) => {
    e.words ??= [...e.cells || [e]].flatMap((c) => [c.textContent, c.dataset.full || c.title]);
    return e.words.some((w) => pattern.test(w));
  });
  for (const e of hits) e.classList.add("hit");
  const places = new Set(hits.map((e) => e.closest("section, details")));
  return hits.length ? `${hits.length} in ${places.size} place${places.size === 1 ? "" : "s"}` : "nothing matches";
}

function step(by) {
  const shown = hits.filter((e) => !e.hidden);
  if (!shown.length) return undefined;
  shown[at]?.classList.remove("current");
  at = at < 0 ? (by > 0 ? 0 : shown.length - 1) : (at + by + shown.length) % shown.length;
  const e = shown[at], section = e.closest("details.table, details.code");
  if (section) section.open = true;
  e.classList.add("current");
  e.scrollIntoView({ block: "center" });
  gp.say(e.textContent);
  return `${at + 1} of ${shown.length}`;
}
const search = gp.search({ find, step, placeholder: "Search the page", label: "search tables and findings by regular expression" });
document.querySelector("main").prepend(make("div", { className: "top" }, search.element, gp.pageTools(jsonButton())));
// Whoever searches keeps the box in sight.
const float = () => search.element.classList.toggle("floating", scrollY > 90 && (search.text !== "" || document.activeElement === search.box));
for (const type of ["focus", "blur", "input"]) search.box.addEventListener(type, float);
addEventListener("scroll", float, { passive: true });

// The address names what to look at: #kernels unfolds that table, #kernels=flash leaves the rows with that word.
gp.hash.on((h) => {
  search.set(h.s || "");
  for (const [id, words] of Object.entries(h)) {
    const it = id !== "s" && document.getElementById(id);
    if (!it) continue;
    if (it.tagName === "DETAILS") it.open = true;
    const filter = it.tagName === "DETAILS" && it.querySelector(".tools input");
    if (filter && filter.value !== words) {
      filter.value = words;
      filter.dispatchEvent(new Event("input"));
    }
    it.scrollIntoView();
  }
});

// On paper, tables are as the reader left them; what their columns mean is always there, as nothing can be pointed at.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details.definitions:not([open])")];
  for (const d of folded) d.open = true;
});
addEventListener("afterprint", () => {
  for (const d of folded) d.open = false;
});

// Which theme of the page is being read: where one ends and the next begins, the next.
const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
const inView = new Set();
const seen = new IntersectionObserver((entries) => {
  for (const e of entries) inView[e.isIntersecting ? "add" : "delete"](e.target.id);
  const here = [...links.keys()].filter((id) => inView.has(id)).pop();
  for (const [id, link] of links) link.classList.toggle("here", id === here);
}, { rootMargin: "-20% 0px -75% 0px" });
for (const id of links.keys()) seen.observe(document.getElementById(id));
})();
