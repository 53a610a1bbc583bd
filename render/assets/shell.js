// shell.js -- the shared behaviour of all pages: its theme, search, keys, what the address says, tooltip and
// panel of details, numbers for people, packed data. It defines one name, gp, for the script of the page,
// which comes after it:
//
//     gp.keys.add([["f", "fit the view", () => fit()]]);
//     const search = gp.search({ find: (pattern) => "12% in 3 frames", step: (by) => "2 of 3" });
//     gp.hash.on((h) => search.set(h.s || ""));          // now, and whenever the address changes
//     gp.theme.on(draw);                                 // colours: gp.colour("--ink"), gp.palette().gemm.fill[0]
//     const bytes = await gp.unpack("spans");            // what gp_page_pack wrote
//
// It loads nothing. Names come from traces: they are only ever put in as text.
"use strict";
const gp = (() => {
const root = document.documentElement;

// An element with properties, data-* and aria-* attributes, and what is inside (text is text).
function make(tag, props = {}, ...inside) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (v === undefined || v === null) continue;
    if (k.includes("-") || k === "role" || k === "for") e.setAttribute(k, v); else e[k] = v;
  }
  e.append(...inside.filter((x) => x !== null && x !== undefined));
  return e;
}

// ---- numbers, as formats/base/scale.c writes them ----

const grouped = (v) => String(v).replace(/\B(?=(\d{3})+$)/g, ",");
const STEPS = {
  ns: [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]],
  bytes: [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
};

function scaled(v, steps) {
  let i = 0;
  while (i + 1 < steps.length && v < steps[i][0]) i++;
  const [size, unit] = steps[i];
  if (size === 1) return v + " " + unit;
  if (v / size >= 1000 && i === 0) return grouped(Math.floor(v / size + 0.5)) + " " + unit;
  const digits = v >= 100 * size ? 0 : v >= 10 * size ? 1 : 2, part = size / 10 ** digits;
  const rounded = Math.floor(v / part) + (v % part >= part / 2 ? 1 : 0);
  const text = (n, d) => d ? Math.floor(n / 10 ** d) + "." + String(n % 10 ** d).padStart(d, "0") : String(n);
  if (digits && rounded >= 1000) return text(Math.floor(rounded / 10), digits - 1) + " " + unit;
  if (rounded >= 1000) return i === 0 ? "1,000 " + unit : "1.00 " + steps[i - 1][1];
  return text(rounded, digits) + " " + unit;
}

const ns = (v) => v < 0 ? "-" + scaled(-v, STEPS.ns) : scaled(v, STEPS.ns);
const bytes = (v) => scaled(v, STEPS.bytes);
const count = (v) => grouped(v);
const exactly = (v, unit) => grouped(v) + (unit === "ns" ? " ns" : unit === "bytes" ? " B" : "");

function share(part, whole) {
  if (part <= 0 || whole <= 0) return "0%";
  if (part >= whole) return "100%";
  const p = 100 * part / whole;
  if (p < 0.005) return "<0.01%";
  return p < 9.995 ? p.toFixed(2) + "%" : Math.min(99.9, Math.round(p * 10) / 10).toFixed(1) + "%";
}

// ---- names ----

// Cut to a number of columns, with the ellipsis in the middle; nothing if too little would remain.
function cut(text, columns) {
  if (text.length <= columns) return text;
  if (columns < 3) return "";
  const chars = text.length < 4 * columns ? Array.from(text) : Array.from(text.slice(0, 2 * columns)).concat(Array.from(text.slice(-2 * columns)));
  if (chars.length <= columns) return text;
  const tail = columns < 12 ? 0 : Math.floor((columns - 1) / 3);
  return chars.slice(0, columns - 1 - tail).join("") + "\u2026" + (tail ? chars.slice(-tail).join("") : "");
}

// Where it is too long, what leads to the last part of a name goes first: "aten::linear" becomes "linear".
function cutName(text, columns) {
  if (text.length <= columns) return text;
  let at = 0, depth = 0;
  for (let i = 0; i + 2 < text.length; i++) {
    const c = text[i];
    if ("<([{".includes(c)) depth++;
    else if (">)]}".includes(c)) depth -= depth > 0;
    else if (c === ":" && !depth && (text[i + 1] === ":" || text[i + 1] === " ")) at = i + 2;
  }
  return cut(text.slice(at), columns);
}

// A path of names as a short text, the same on every page that has it: pathHash(pathHash("", "all"), "step").
function pathHash(before, name) {
  const s = before + "\n" + name;
  let a = 0x811c9dc5, b = 0x1b873593;
  for (let i = 0; i < s.length; i++) {
    a = Math.imul(a ^ s.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ s.charCodeAt(i), 0x85ebca6b) + 0x27d4eb2f | 0;
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}

// A small square of a colour class, for legends.
function swatch(k) {
  const SVG = "http://www.w3.org/2000/svg", svg = document.createElementNS(SVG, "svg"), rect = document.createElementNS(SVG, "rect");
  for (const [n, v] of [["class", "swatch"], ["width", 12], ["height", 12], ["aria-hidden", "true"]]) svg.setAttribute(n, v);
  for (const [n, v] of [["class", "k-" + k], ["width", 12], ["height", 12], ["rx", 2]]) rect.setAttribute(n, v);
  svg.append(rect);
  return svg;
}

// ---- messages, for screen readers and on screen ----

const spoken = make("div", { className: "spoken", "aria-live": "polite", role: "status" });
document.body.append(spoken);
const say = (text) => { spoken.textContent = text; };

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { value: text, className: "spoken" });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// A button that copies what text() returns, and confirms it in its label.
function copyButton(label, text, title) {
  const button = make("button", { type: "button", textContent: label, title });
  button.addEventListener("click", async () => {
    const done = await copy(text());
    button.textContent = done ? "Copied" : "Not allowed here";
    say(done ? "copied" : "the browser does not allow copying here");
    setTimeout(() => { button.textContent = label; }, 1200);
  });
  return button;
}

function save(name, type, ...parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
const fileName = (end) => document.title.replace(/[^\w.-]+/g, "_").slice(0, 100) + end;

// ---- theme ----

const THEMES = [["", "Auto"], ["light", "Light"], ["dark", "Dark"], ["contrast", "High contrast"]];
const media = (q) => window.matchMedia ? matchMedia(q) : { matches: false, addEventListener() {} };
const wantsDark = media("(prefers-color-scheme: dark)"), wantsContrast = media("(prefers-contrast: more)");
const calm = media("(prefers-reduced-motion: reduce)");
const stored = { // not every page may store
  get() { try { return localStorage.getItem("gpuprof-theme") || ""; } catch { return ""; } },
  set(v) { try { if (v) localStorage.setItem("gpuprof-theme", v); else localStorage.removeItem("gpuprof-theme"); } catch { /* then it holds for this page only */ } },
};
let asked = THEMES.some(([id]) => id === stored.get()) ? stored.get() : "";
const onTheme = [];
const colours = new Map();

function applyTheme() {
  const name = asked || (wantsContrast.matches ? "contrast" : "");
  if (name) root.dataset.theme = name; else delete root.dataset.theme;
  colours.clear();
  for (const f of onTheme) f();
}
const theme = {
  get name() { return asked; },
  get dark() { const t = root.dataset.theme; return t ? t !== "light" : wantsDark.matches; },
  set(name) { asked = name; stored.set(name); applyTheme(); },
  on(f) { onTheme.push(f); },
};
for (const q of [wantsDark, wantsContrast]) q.addEventListener("change", applyTheme);
applyTheme();

// A colour of the style sheet as the theme has it now, for canvases.
const probe = make("i", { hidden: true });
document.body.append(probe);
function colour(variable) {
  if (!colours.has(variable)) {
    probe.style.color = `var(${variable})`;
    colours.set(variable, getComputedStyle(probe).color);
  }
  return colours.get(variable);
}

// By class: { label, fill: [shade ...], ink } (gp_page_palette), as the theme has them now.
function palette() {
  const key = theme.dark ? 2 : 1;
  palette.all ??= JSON.parse(document.getElementById("gp-palette").textContent);
  palette[key] ??= Object.fromEntries(palette.all.map((k) => [k[0], { label: k[3], fill: k[key][0], ink: k[key][1] }]));
  return palette[key];
}

// Which of the shades of its class a name has: as render/palette.c.
function shade(name, shades = 5) {
  let h = 2166136261;
  for (const byte of new TextEncoder().encode(name)) h = Math.imul(h ^ byte, 16777619) >>> 0;
  return ((h ^ h >>> 15) >>> 0) % shades;
}

// ---- the address: #v=cpu&s=nccl ----

const onHash = [];
function readHash() {
  const h = {};
  for (const [k, v] of new URLSearchParams(location.hash.slice(1))) h[k] = v;
  return h;
}
let known = location.hash;
const hash = {
  get: readHash,
  // Change some of it; what is empty goes. STEP: something to come back from.
  set(change, step = false) {
    const h = { ...readHash(), ...change }, p = new URLSearchParams();
    for (const k of Object.keys(h)) if (h[k] !== "" && h[k] !== null && h[k] !== undefined) p.set(k, h[k]);
    const text = p.toString(), url = text ? "#" + text : location.href.split("#")[0];
    if ("#" + text === location.hash || (!text && !location.hash)) return;
    try { history[step ? "pushState" : "replaceState"](null, "", url); } catch { /* not allowed where it is embedded */ }
    known = location.hash;
  },
  // f(h) now and whenever it changes from outside.
  on(f) { onHash.push(f); f(readHash()); },
};
function hashChanged() {
  if (location.hash === known) return;
  known = location.hash;
  for (const f of onHash) f(readHash());
}
addEventListener("hashchange", hashChanged);
addEventListener("popstate", hashChanged);

// ---- keys ----

const bindings = []; // [group, [[keys, what, f] ...]]
const byKey = new Map();
const SHOWN = { ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192", Escape: "Esc", " ": "Space" };
const escapes = []; // what Esc ends, asked from the last on: true when it ended something
const typing = (e) => e.target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");

const keys = {
  // [["ArrowUp ArrowDown", "to the parent, the child", (event) => ...], ...]; without a function it is only
  // listed
  add(list, group = "This page") {
    bindings.push([group, list]);
    for (const [names, , f] of list) if (f) for (const name of names.split(" ")) byKey.set(name === "Space" ? " " : name, f);
  },
  onEscape(f) { escapes.push(f); },
};

let sheet = null;
function closeHelp() {
  sheet?.remove();
  sheet = null;
}
function help() {
  if (sheet) return closeHelp();
  sheet = make("dialog", { className: "keys", "aria-label": "Keys" });
  const groups = new Map();
  for (const [group, list] of [...bindings].reverse()) groups.set(group, [...list, ...(groups.get(group) || [])]);
  for (const [group, list] of groups) {
    const dl = make("dl");
    for (const [names, what] of list) {
      const dt = make("dt");
      names.split(" ").forEach((k, i) => dt.append(i ? " " : "", make("kbd", { textContent: SHOWN[k] || k })));
      dl.append(dt, make("dd", { textContent: what }));
    }
    sheet.append(make("h2", { textContent: group }), dl);
  }
  sheet.append(make("button", { type: "button", textContent: "Close", onclick: closeHelp }));
  sheet.addEventListener("close", closeHelp);
  sheet.addEventListener("click", (e) => { if (e.target === sheet) closeHelp(); });
  document.body.append(sheet);
  sheet.showModal();
}

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
  if (sheet) {
    if (e.key === "?" || e.key === "Escape") { closeHelp(); e.preventDefault(); }
    return;
  }
  if (typing(e)) return;
  if (e.key === "Escape") {
    for (let i = escapes.length; i-- > 0;) if (escapes[i]()) break;
    return;
  }
  if ((e.key === "Enter" || e.key === " ") && e.target.closest?.("button, a, summary, [role=radio], [role=button]")) return;
  const f = byKey.get(e.key);
  if (f && f(e) !== false) e.preventDefault();
});
keys.add([["?", "this list", help]], "Everywhere");

// ---- search: live, a regular expression, case ignored ----

// find(pattern | null) marks the matches and returns a message, such as their share; step(by) goes to the
// next or previous match and returns a message, or undefined.
function search({ find, step, placeholder = "Search (regular expression)", label = "search by regular expression" }) {
  const box = make("input", { type: "search", placeholder, spellcheck: false, autocomplete: "off", "aria-label": label });
  const answer = make("output", { "aria-live": "polite" });
  const back = make("button", { type: "button", textContent: "\u2191", title: "previous match (N)", "aria-label": "previous match", disabled: true });
  const next = make("button", { type: "button", textContent: "\u2193", title: "next match (n, Enter)", "aria-label": "next match", disabled: true });
  const element = make("div", { className: "search", role: "search" }, box, back, next, answer);
  let text = "", pattern = null;

  function apply(remember) {
    let bad = false;
    pattern = null;
    try { if (text) pattern = new RegExp(text, "i"); } catch { bad = true; }
    box.classList.toggle("bad", bad);
    box.setAttribute("aria-invalid", bad);
    back.disabled = next.disabled = !pattern;
    const said = find(pattern);
    answer.textContent = bad ? "not a regular expression" : pattern ? said || "" : "";
    if (remember) hash.set({ s: text });
  }
  const move = (by) => {
    if (!pattern) return;
    const said = step(by);
    if (said !== undefined) answer.textContent = said;
  };
  const clear = () => {
    if (!text) return false;
    box.value = text = "";
    apply(true);
    return true;
  };
  box.addEventListener("input", () => { text = box.value; apply(true); });
  box.addEventListener("keydown", (e) => {
    if (e.key === "Enter") { move(e.shiftKey ? -1 : 1); e.preventDefault(); }
    if (e.key === "Escape") { if (!clear()) box.blur(); e.preventDefault(); }
  });
  back.addEventListener("click", () => move(-1));
  next.addEventListener("click", () => move(1));
  keys.onEscape(clear);
  keys.add([["/", "search", () => { box.focus(); box.select(); }], ["n", "next match", () => move(1)], ["N", "previous match", () => move(-1)],
    ["Esc", "end the selection, then the zoom, then the search"]], "Everywhere");
  return {
    element, box,
    get pattern() { return pattern; },
    get text() { return text; },
    set(t) { if (t !== text) { box.value = text = t; apply(false); } },
    say(t) { answer.textContent = t; },
  };
}

// ---- one of several ----

// options: [[id, text, title] ...]; change(id) on selection. Arrow keys move as in any radio group.
function choice({ label, options, value, change }) {
  const element = make("div", { className: "choice", role: "radiogroup", "aria-label": label });
  const buttons = options.map(([id, text, title]) => make("button", { type: "button", role: "radio", textContent: text, title, "data-id": id }));
  const show = (v) => {
    value = v;
    for (const b of buttons) {
      b.setAttribute("aria-checked", String(b.dataset.id === v));
      b.tabIndex = b.dataset.id === v ? 0 : -1;
    }
  };
  const choose = (v) => { if (v !== value) { show(v); change(v); } };
  for (const b of buttons) b.addEventListener("click", () => choose(b.dataset.id));
  element.addEventListener("keydown", (e) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!by) return;
    const open = buttons.filter((b) => !b.disabled), at = open.indexOf(document.activeElement);
    const next = open[(at + by + open.length) % open.length];
    next.focus();
    choose(next.dataset.id);
    e.preventDefault();
    e.stopPropagation();
  });
  element.append(...buttons);
  show(value);
  return { element, show, buttons, get value() { return value; } };
}

// ---- tooltip and panel of details ----

const tipBox = make("div", { className: "tip", hidden: true });
document.body.append(tipBox);
const tip = {
  // name in full, then lines of figures; near the point x, y of the window
  show(x, y, name, lines) {
    tipBox.replaceChildren(make("b", { textContent: cut(name, 360) }), ...lines.filter(Boolean).map((textContent) => make("span", { textContent })));
    tipBox.hidden = false;
    const w = tipBox.offsetWidth, h = tipBox.offsetHeight;
    tipBox.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 6)) + "px";
    tipBox.style.top = (y + 18 + h > innerHeight - 4 ? Math.max(4, y - h - 10) : y + 18) + "px";
  },
  hide() { tipBox.hidden = true; },
};

// What is selected, in full. show(name, [[term, text] ...], [button ...]); element is placed by the page.
function panel({ label = "Details", close }) {
  const element = make("section", { className: "panel", "aria-label": label, hidden: true });
  const hide = () => { element.hidden = true; };
  return {
    element, hide,
    get open() { return !element.hidden; },
    show(name, figures, buttons = []) {
      const list = make("dl", {}, ...figures.filter(Boolean).map(([dt, dd]) => make("div", {}, make("dt", { textContent: dt }), make("dd", {}, dd))));
      const shut = make("button", { type: "button", textContent: "\u00d7", title: "close (Esc)", "aria-label": "close the details", onclick: close });
      element.replaceChildren(make("header", {}, make("h2", { textContent: name }), make("div", { className: "do" },
        copyButton("Copy name", () => name), ...buttons, shut)), list);
      element.hidden = false;
    },
  };
}

// ---- packed data ----

// The bytes of gp_page_pack: base64 of a zlib stream, in one or several elements id, id.1, id.2 ...
async function unpack(id) {
  const parts = [];
  for (let i = 0, e; (e = document.getElementById(i ? `${id}.${i}` : id)); i++) {
    parts.push(fromBase64(e.textContent));
    e.textContent = ""; // the text is large and not needed again
  }
  const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text) {
  text = text.trim();
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < out.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

// Reads bytes one column after the other: unsigned LEB128 numbers, up to 2^53 exactly.
const utf8 = new TextDecoder(), damaged = () => new Error("the data of this page is damaged");
function reader(data) {
  let at = 0;
  const next = () => {
    let v = data[at++];
    if (v < 128) return v;
    v &= 127;
    for (let scale = 128; ; scale *= 128) {
      const b = data[at++];
      if (b === undefined || scale > 2 ** 63) throw damaged();
      v += (b & 127) * scale;
      if (b < 128) return v;
    }
  };
  return {
    next,
    // How many things follow, each of at least so many bytes: before room is made for them.
    count(least) { const n = next(); if (n * least > data.length - at) throw damaged(); return n; },
    signed() { const v = next(); return v % 2 ? -(v + 1) / 2 : v / 2; },
    text() { const n = next(), s = n ? utf8.decode(data.subarray(at, at + n)) : ""; at += n; return s; },
    fill(array) { for (let i = 0; i < array.length; i++) array[i] = next(); return array; },
    get done() { return at >= data.length; },
  };
}

// ---- the tools of the page: theme, data, print, keys ----

function pageTools(...more) {
  const select = make("select", { className: "theme-choice", title: "colours of the page", "aria-label": "colours of the page" },
    ...THEMES.map(([value, text]) => make("option", { value, textContent: text })));
  select.value = asked;
  select.addEventListener("change", () => theme.set(select.value));
  theme.on(() => { select.value = asked; });
  return make("div", { className: "page-tools" }, ...more, select,
    make("button", { type: "button", textContent: "Print", onclick: () => print() }),
    make("button", { type: "button", textContent: "?", title: "keys (?)", "aria-label": "keys", onclick: help }));
}

return { make, swatch, ns, bytes, count, exactly, share, cut, cutName, pathHash, say, copy, copyButton, save, fileName, theme, colour, palette, shade, hash,
  keys, help, search, choice, tip, panel, unpack, reader, pageTools, calm };
})();
