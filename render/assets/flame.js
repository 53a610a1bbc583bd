/* The script of a flame graph: hover, zoom, search, legend, keyboard, and a link to the current view. It
 * reads the drawing it stands in (boxes in <g data-v data-d> with a <title>), so it knows nothing but what a
 * reader sees. Names come from traces: they are only ever put in as text. */
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
  const ROW = 20, RECT = 19, TEXT_Y = 14, MARGIN = 16, BAR = 30, MIN_WIDTH = 480, NARROWEST = 0.15;
  const here = document.currentScript;
  const svg = here && here.closest("svg.gpf") || document.documentElement;
  const standalone = document.documentElement === svg;
  const view = svg.querySelector(".view"), group = svg.querySelector(".frames"), legend = svg.querySelector(".legend");
  const calm = window.matchMedia && matchMedia("(prefers-reduced-motion: reduce)");

  function make(parent, ns, name, attributes, text) {
    const e = document.createElementNS(ns, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  }

  /* ---- the frames, from the drawing ---- */

  const frames = [];
  {
    const path = [];
    for (const g of group.children) {
      const d = +g.dataset.d, weight = +g.dataset.v, parent = d ? path[d - 1] : null;
      const f = { g, d, weight, parent, rect: g.children[1], text: g.children[2] || null, kids: [], at: frames.length,
                  kind: g.className.baseVal.split(" ")[0], x: parent ? parent.next : 0, box: "", shown: true, cut: "" };
      f.next = f.x;
      f.cut = f.text ? f.text.textContent : "";
      if (parent) { parent.next += weight; parent.kids.push(f); }
      path[d] = f;
      frames.push(f);
      g.frame = f;
    }
  }
  const root = frames[0];
  const lines = (f) => f.lines || (f.lines = f.g.firstElementChild.textContent.split("\n"));
  const nameOf = (f) => lines(f)[0];
  const labelOf = (f) => f.g.dataset.l || nameOf(f);

  /* A path of names as a short text: the same in every picture that has it. */
  function pathOf(f) {
    if (f.path) return f.path;
    let a = 0x811c9dc5, b = 0x1b873593;
    const s = (f.parent ? pathOf(f.parent) : "") + "\n" + nameOf(f);
    for (let i = 0; i < s.length; i++) {
      a = Math.imul(a ^ s.charCodeAt(i), 0x01000193);
      b = Math.imul(b ^ s.charCodeAt(i), 0x85ebca6b) + 0x27d4eb2f | 0;
    }
    f.path = (a >>> 0).toString(36) + (b >>> 0).toString(36);
    return f.path;
  }

  function share(part, whole) {
    const p = whole > 0 ? 100 * part / whole : 0;
    return p === 0 ? "0%" : p < 0.01 ? "<0.01%" : p < 10 ? p.toFixed(2) + "%" : p < 100 ? Math.min(p, 99.9).toFixed(1) + "%" : "100%";
  }

  /* ---- state ---- */

  let zoom = root, current = null, query = "", pattern = null, kind = "", hits = [], hitAt = -1, total = 0, matched = 0;
  let width = +svg.getAttribute("width"), advance = 7.25, moving = 0;

  /* ---- layout ---- */

  function cut(text, columns) {
    if (text.length <= columns) return text;
    if (columns < 3) return "";
    const chars = Array.from(text);
    if (chars.length <= columns) return text;
    const tail = columns < 12 ? 0 : Math.floor((columns - 1) / 3);
    return chars.slice(0, columns - 1 - tail).join("") + "\u2026" + (tail ? chars.slice(-tail).join("") : "");
  }

  /* Where it is too long, what leads to the last part of a name goes first: "aten::linear" becomes "linear". */
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

  function drawLabel(f, x, w) {
    const text = w > 30 ? cutName(labelOf(f), Math.floor((w - 9) / advance)) : "";
    if (text === f.cut && (!text || f.textX === x)) return;
    if (!f.text) {
      if (!text) return;
      f.text = make(f.g, SVG, "text", { y: f.d * ROW + TEXT_Y });
    }
    if (text) f.text.setAttribute("x", x + 4);
    if (text !== f.cut) f.text.textContent = text;
    f.cut = text;
    f.textX = x;
  }

  /* Draw what zoom shows. Boxes outside are taken out, the way from the root is as wide as the page. */
  function layout() {
    const chart = width - 2 * MARGIN, scale = chart / zoom.weight;
    for (const f of frames) {
      const left = Math.max(0, (f.x - zoom.x) * scale), right = Math.min(chart, (f.x + f.weight - zoom.x) * scale);
      const w = right - left, shown = w > (zoom === root ? 0 : NARROWEST);
      if (shown !== f.shown) {
        if (shown) f.g.removeAttribute("display"); else f.g.setAttribute("display", "none");
        f.shown = shown;
      }
      if (!shown) continue;
      const gap = w > 3 ? 1 : w / 3, box = left.toFixed(2) + " " + (w - gap).toFixed(2);
      if (box !== f.box) {
        f.rect.setAttribute("x", left.toFixed(2));
        f.rect.setAttribute("width", (w - gap).toFixed(2));
        f.box = box;
      }
      drawLabel(f, left, w);
      const above = f.d < zoom.d;
      if (above !== !!f.above) {
        f.g.classList.toggle("above", above);
        f.above = above;
      }
    }
  }

  /* Move from what INNER fills to what OUTER fills, or back. OUTER's boxes are the ones on the page meanwhile. */
  function glide(outer, inner, inwards, done) {
    const k = outer.weight / inner.weight, shift = -(inner.x - outer.x) * (width - 2 * MARGIN) / outer.weight;
    const began = performance.now(), turn = ++moving;
    group.classList.add("moving");
    const step = (now) => {
      if (turn !== moving) return;
      const t = Math.min(1, Math.max(0, (now - began) / 180)), e = t * t * (3 - 2 * t), p = inwards ? e : 1 - e;
      const s = Math.pow(k, p), part = k > 1 ? (s - 1) / (k - 1) * k / s : p;
      group.setAttribute("transform", "scale(" + s + " 1) translate(" + shift * part + " 0)");
      if (t < 1) return void requestAnimationFrame(step);
      settle();
      done();
    };
    requestAnimationFrame(step);
  }

  function settle() {
    moving++;
    group.removeAttribute("transform");
    group.classList.remove("moving");
  }

  const isAbove = (a, f) => { while (f && f !== a) f = f.parent; return !!f; };

  function zoomTo(f, quiet) {
    const from = zoom;
    settle();
    zoom = f;
    if (from !== f && !quiet && !(calm && calm.matches) && f.weight !== from.weight) {
      if (isAbove(from, f)) glide(from, f, true, layout);
      else if (isAbove(f, from)) { layout(); glide(f, from, false, () => {}); }
      else layout();
    } else {
      layout();
    }
    reset.toggleAttribute("disabled", zoom === root);
    count();
    tell(current);
    if (!quiet) remember(true);
  }

  /* ---- what stands out: search and legend ---- */

  const stands = (f) => (!pattern || pattern.test(nameOf(f)) || pattern.test(labelOf(f))) && (!kind || f.kind === kind);

  function mark() {
    const on = !!(pattern || kind);
    group.classList.toggle("searching", on);
    for (const f of frames) {
      const hit = on && f.kind !== "more" && stands(f);
      if (hit !== !!f.hit) f.g.classList.toggle("hit", hit);
      f.hit = hit;
      f.inHit = hit || !!(f.parent && f.parent.inHit);
    }
    hits = on ? frames.filter((f) => f.hit) : [];
    hitAt = -1;
    for (const e of legend ? legend.children : []) e.classList.toggle("off", !!kind && e.dataset.k !== kind);
    count();
  }

  /* How much of the visible weight is under matches; a match inside a match counts once. */
  function count() {
    if (!pattern && !kind) { matched = 0; answer.textContent = ""; return; }
    let weight = 0, unseen = 0, seen = 0;
    for (const f of frames) {
      if (f.d < zoom.d || f.x < zoom.x || f.x >= zoom.x + zoom.weight) continue;
      if (f.hit) seen++;
      if (f !== zoom && f.parent && f.parent.inHit) continue;
      if (f.inHit) weight += f.weight;
      else if (f.kind === "more") unseen += f.weight;
    }
    matched = weight;
    const place = hitAt < 0 ? "" : (hitAt + 1) + " of ";
    answer.textContent = share(weight, zoom.weight) + (zoom === root ? " in " : " of view in ") + place +
      (hitAt < 0 ? seen : hits.length) + (seen === 1 ? " frame" : " frames") +
      (unseen > zoom.weight / 1000 ? ", " + share(unseen, zoom.weight) + " not drawn" : "");
  }

  function search(text) {
    query = text;
    pattern = null;
    let bad = false;
    if (text) {
      try { pattern = new RegExp(text, "i"); } catch (e) { bad = true; }
    }
    box.classList.toggle("bad", bad);
    box.setAttribute("aria-invalid", bad);
    mark();
    if (bad) answer.textContent = "not a regular expression";
    remember(false);
  }

  function isolate(k) {
    kind = kind === k ? "" : k;
    mark();
    remember(false);
  }

  function step(by) {
    const list = hits.filter((f) => f.weight > 0);
    if (!list.length) return;
    hitAt = hitAt < 0 ? (by > 0 ? 0 : list.length - 1) : (hitAt + by + list.length) % list.length;
    const f = list[hitAt];
    if (!isAbove(zoom, f)) zoomTo(root);
    select(f);
    count();
  }

  /* ---- hover, selection, the bar ---- */

  const bar = make(svg, SVG, "g", { class: "bar" });
  const barBack = make(bar, SVG, "rect", { height: BAR });
  const barName = make(bar, SVG, "text", { class: "name", y: 20, x: MARGIN });
  const barFigures = make(bar, SVG, "text", { y: 20, "text-anchor": "end" });
  let spoken = null;

  function tell(f) {
    bar.setAttribute("display", f ? "inline" : "none");
    if (!f) return;
    const of = zoom === root ? "" : " \u00b7 " + share(Math.min(f.weight, zoom.weight), zoom.weight) + " of view";
    const figures = lines(f)[1] + of;
    barFigures.textContent = figures;
    const room = width - 2 * MARGIN - figures.length * 7.4 - 24;
    barName.textContent = cut(nameOf(f), Math.max(8, Math.floor(room / advance)));
  }

  function select(f) {
    if (current) current.g.classList.remove("current");
    current = f;
    if (f) {
      f.g.classList.add("current");
      const top = view.getBoundingClientRect().top + f.d * ROW, high = innerHeight - BAR;
      if (standalone && (top < 0 || top + ROW > high)) window.scrollBy({ top: top - high / 2, behavior: "auto" });
      spoken.textContent = nameOf(f) + ", " + lines(f)[1];
    }
    tell(f);
  }

  /* ---- controls ---- */

  const panel = make(svg, SVG, "foreignObject", { class: "panel", height: 56, width: 420 });
  const form = make(panel, HTML, "div", { class: "controls" });
  const row = make(form, HTML, "div", { class: "row" });
  const box = make(row, HTML, "input", { type: "search", placeholder: "Search (regular expression)", spellcheck: "false",
                                         autocomplete: "off", "aria-label": "search frames by regular expression" });
  const reset = make(row, HTML, "button", { type: "button", title: "back to the whole picture (Esc or 0)", disabled: "" }, "Reset zoom");
  const help = make(row, HTML, "button", { type: "button", title: "keys (?)", "aria-label": "keys" }, "?");
  const answer = make(form, HTML, "output", { "aria-live": "polite" });
  spoken = make(form, HTML, "div", { class: "spoken", "aria-live": "polite" });

  const KEYS = [["click, Enter", "zoom to a frame"], ["Esc, 0", "back to the whole picture"], ["arrows", "go to parent, child, neighbour"],
                ["/", "search"], ["n, N", "next, previous match"], ["c", "copy the name"], ["click in legend", "show only one class"]];
  let sheet = null;

  function toggleHelp() {
    if (sheet) { sheet.remove(); sheet = null; return; }
    sheet = make(svg, SVG, "foreignObject", { class: "sheet", width: 380, height: 250, x: Math.max(8, (width - 380) / 2),
                                              y: Math.max(8, 60 - Math.min(0, svg.getBoundingClientRect().top)) });
    const list = make(make(sheet, HTML, "div", { class: "keys", role: "dialog", "aria-label": "keys" }), HTML, "dl", {});
    for (const [key, what] of KEYS) {
      make(list, HTML, "dt", {}, key);
      make(list, HTML, "dd", {}, what);
    }
    sheet.addEventListener("click", toggleHelp);
  }

  function say(text) {
    barFigures.textContent = text;
    spoken.textContent = text;
  }

  function copy(f) {
    if (!f) return;
    const old = () => {
      const area = make(form, HTML, "textarea", { class: "spoken" });
      area.value = nameOf(f);
      area.select();
      document.execCommand("copy");
      area.remove();
      say("name copied");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(nameOf(f)).then(() => say("name copied"), old);
    else old();
  }

  /* ---- the page: its width, and what follows the window ---- */

  /* No room for the controls beside the title: they go below it. */
  const narrow = () => width < 760;

  /* The legend wraps, and what stands below it moves. Returns where the chart begins. */
  function flow() {
    const items = legend ? legend.children : [];
    let x = MARGIN, y = narrow() ? 126 : 70;
    for (const e of items) {
      e.w = e.w || e.getBBox().width;
      if (x > MARGIN && x + e.w > width - MARGIN) { x = MARGIN; y += 22; }
      e.setAttribute("transform", "translate(" + x + " " + y + ")");
      x += e.w + 20;
    }
    return items.length ? y + 30 : y + 4;
  }

  function fit() {
    if (svg.dataset.fluid) {
      if (standalone) svg.setAttribute("width", "100%");
      const room = standalone ? svg.getBoundingClientRect().width : svg.parentElement ? svg.parentElement.clientWidth : 0;
      if (room > 0) width = Math.max(MIN_WIDTH, Math.floor(room));
      if (!standalone || room < MIN_WIDTH) svg.setAttribute("width", width);
    }
    const y = flow(), rows = +view.getAttribute("height"), height = y + rows + 44 + BAR;
    view.setAttribute("y", y);
    view.setAttribute("width", width - 2 * MARGIN);
    svg.setAttribute("height", height);
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    const foot = svg.querySelector(".foot");
    if (foot) foot.setAttribute("y", y + rows + 26);
    panel.setAttribute("x", narrow() ? MARGIN : width - MARGIN - 420);
    panel.setAttribute("y", narrow() ? 66 : 14);
    svg.classList.toggle("narrow", narrow());
    barBack.setAttribute("width", width);
    barFigures.setAttribute("x", width - MARGIN);
    layout();
    stick();
    tell(current);
  }

  /* Keep the bar at the lower edge of what can be seen of the picture. */
  function stick() {
    const r = svg.getBoundingClientRect(), scale = r.width ? width / r.width : 1;
    const bottom = (Math.min(r.bottom, window.innerHeight) - r.top) * scale;
    bar.setAttribute("transform", "translate(0 " + Math.max(0, bottom - BAR) + ")");
  }

  /* ---- links ---- */

  function remember(step) {
    const p = new URLSearchParams();
    if (zoom !== root) p.set("z", pathOf(zoom));
    if (query) p.set("s", query);
    if (kind) p.set("c", kind);
    const hash = p.toString(), url = hash ? "#" + hash : location.href.split("#")[0];
    if (hash === location.hash.slice(1)) return;
    try { history[step ? "pushState" : "replaceState"](null, "", url); } catch (e) { /* not allowed where it is embedded */ }
  }

  function recall() {
    const p = new URLSearchParams(location.hash.slice(1));
    const z = p.get("z"), s = p.get("s") || "";
    kind = p.get("c") || "";
    if (kind && !frames.some((f) => f.kind === kind)) kind = "";
    box.value = s;
    query = s;
    pattern = null;
    try { if (s) pattern = new RegExp(s, "i"); } catch (e) { /* a link may hold anything */ }
    zoomTo(z && frames.find((f) => pathOf(f) === z) || root, true);
    mark();
  }

  /* ---- events ---- */

  const under = (e) => { const g = e.target.closest && e.target.closest(".frames > g"); return g ? g.frame : null; };

  group.addEventListener("mouseover", (e) => tell(under(e) || current));
  group.addEventListener("mouseleave", () => tell(current));
  group.addEventListener("click", (e) => {
    const f = under(e);
    if (!f || String(window.getSelection ? getSelection() : "")) return;
    select(f);
    zoomTo(f.kind === "more" ? f.parent : f);
  });
  if (legend) legend.addEventListener("click", (e) => {
    const entry = e.target.closest(".entry");
    if (entry) isolate(entry.dataset.k);
  });
  for (const e of legend ? legend.children : []) {
    e.setAttribute("tabindex", "0");
    e.setAttribute("role", "button");
  }
  box.addEventListener("input", () => search(box.value));
  reset.addEventListener("click", () => zoomTo(root));
  help.addEventListener("click", toggleHelp);

  function go(key) {
    if (!current) return select(zoom);
    const line = current.parent ? current.parent.kids : [current], at = line.indexOf(current);
    const next = key === "ArrowUp" ? current.parent : key === "ArrowDown" ? current.kids[0] :
      key === "ArrowRight" ? line[at + 1] || beside(current, 1) : line[at - 1] || beside(current, -1);
    if (!next) return;
    if (!next.shown) zoomTo(next.parent || root);
    select(next);
  }

  /* The nearest frame of the same depth under another parent. */
  function beside(f, by) {
    for (let i = f.at + by; i >= 0 && i < frames.length; i += by) if (frames[i].d === f.d) return frames[i];
    return null;
  }

  function escape() {
    if (sheet) return toggleHelp();
    if (query || kind) { box.value = ""; kind = ""; return search(""); }
    if (zoom !== root) return zoomTo(root);
    select(null);
  }

  const actions = {
    ArrowUp: () => go("ArrowUp"), ArrowDown: () => go("ArrowDown"), ArrowLeft: () => go("ArrowLeft"), ArrowRight: () => go("ArrowRight"),
    Enter: () => { if (current) zoomTo(current.kind === "more" ? current.parent : current); },
    Escape: escape, "0": () => zoomTo(root), "/": () => box.focus(), n: () => step(1), N: () => step(-1), "?": toggleHelp,
    c: () => copy(current),
  };

  function onKey(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === box) {
      if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
      else if (e.key === "Escape") { escape(); box.blur(); }
      else return;
    } else if (e.target.closest && e.target.closest(".entry") && (e.key === "Enter" || e.key === " ")) {
      isolate(e.target.closest(".entry").dataset.k);
    } else if (e.target.localName === "button" && (e.key === "Enter" || e.key === " ")) {
      return;
    } else if (actions[e.key]) {
      actions[e.key]();
    } else {
      return;
    }
    e.preventDefault();
  }
  (standalone ? window : svg).addEventListener("keydown", onKey);
  window.addEventListener("scroll", stick, { passive: true, capture: true });
  window.addEventListener("resize", fit);
  window.addEventListener("hashchange", recall);
  window.addEventListener("popstate", recall);

  /* ---- begin ---- */

  svg.classList.add("live");
  svg.setAttribute("role", "application");
  if (!standalone) svg.setAttribute("tabindex", "0");
  const probe = make(group, SVG, "text", { visibility: "hidden" }, "MMMMMMMMMMMMMMMMMMMM");
  const measured = probe.getComputedTextLength() / 20;
  probe.remove();
  if (measured > 4 && measured < 12) advance = measured + 0.02;
  fit();
  recall();
})();
