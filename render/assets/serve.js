// serve.js -- trace-serve's own pages. What they show comes from the server's API; names come from files and traces, and are
// only ever put in as text.
"use strict";
(() => {
const { make } = gp, main = document.querySelector("main"), page = document.body.id;
const settings = JSON.parse(document.getElementById("settings")?.textContent || "{}");
const TITLES = { report: "Report", timeline: "Timeline", flame: "Flame graph", advice: "Advice", memory: "Memory", compile: "torch.compile", metrics: "Counters" };
const link = (href, text, props = {}) => make("a", { href, textContent: text, ...props });

async function ask(path, options) {
  const r = await fetch(path, { headers: { Accept: "application/json" }, ...options });
  const body = await r.json().catch(() => ({ error: `status ${r.status}` }));
  if (!r.ok) throw new Error(body.error || `status ${r.status}`);
  return body;
}

// ---- words ----

function ago(ns) {
  const s = Math.max(0, Date.now() / 1000 - ns / 1e9);
  for (const [n, word] of [[86400, "d"], [3600, "h"], [60, "min"]]) if (s >= n) return `${Math.floor(s / n)} ${word} ago`;
  return "just now";
}
const split = (name) => { const at = name.lastIndexOf("/") + 1; return [name.slice(0, at), name.slice(at)]; };
const firstPage = (t) => `/traces/${t.id}/${t.pages[0] || "report"}`;
// What a trace has nothing for is not linked, once that is known.
const HAS = {
  memory: (r) => r.memory.length > 0,
  compile: (r) => [...r.operators, ...r.kernels].some((k) => /torch-compiled|compiledfunction|triton/i.test(k.name)),
  metrics: (r) => !r.devices.length || r.devices.some((d) => d.idle_ns === null),
};
function pageLinks(t) {
  const r = runs.get(t.id)?.report;
  return t.pages.filter((p) => !r || t.kind !== "trace" || !HAS[p] || HAS[p](r)).map((p) => link(`/traces/${t.id}/${p}`, TITLES[p] || p));
}

// ---- figures of the runs: two at a time, of those in sight first; a file is asked about again when it changes ----

const runs = new Map(), waiting = [];
let asking = 0;
function summarize(r) {
  const steps = r.parts.filter((p) => p.part === "steps"), all = steps.length ? steps : r.devices, sum = (key) => all.reduce((a, d) => a + (d[key] || 0), 0);
  const step = r.steps.find((s) => s.step_ns), peak = Math.max(0, ...r.memory.map((m) => m.peak_bytes || 0));
  return { report: r, gpu: [...new Set(r.devices.map((d) => d.name).filter(Boolean))].join(", "), step: step ? step.step_ns : null,
    idle: sum("span_ns") && all.every((d) => d.idle_ns !== null) ? 100 * sum("idle_ns") / sum("span_ns") : null, peak: peak || null,
    events: steps.length ? sum("gpu_events") / sum("steps") : null, kernels: new Set(r.kernels.map((k) => k.name)) };
}
function learn(list) {
  for (const t of list) {
    const known = runs.get(t.id);
    if (t.kind !== "trace" || known && known.of === t.modified_ns) continue;
    runs.set(t.id, { of: t.modified_ns });
    waiting.push(t);
  }
  for (let t; asking < 2 && (t = waiting.shift());) next(t);
  for (let t; asking < 2 && (t = traces.find(unjudged));) judge(t);
}
const pair = (run) => `${run.before.id} ${runs.get(run.before.id)?.of}`;
const unjudged = (t) => { const run = runs.get(t.id); return run?.before && run.against !== pair(run); };
// What trace-diff says of a run after the one before of the same program: {verdict, word, sentence}.
async function judge(t) {
  const run = runs.get(t.id), against = run.against = pair(run), { id } = run.before;
  asking++;
  run.verdict = null;
  const verdict = await ask(`/api/compare?a=${id}&b=${t.id}`).then((d) => d.summary, (e) => ({ verdict: "not_comparable", word: "NOT COMPARABLE", sentence: e.message }));
  asking--;
  if (run.against === against) run.verdict = verdict;
  draw();
  learn([]);
}
async function next(t) {
  asking++;
  const run = runs.get(t.id), gone = () => runs.get(t.id) !== run;
  try { Object.assign(run, summarize(await ask(`/api/profiler/hta?trace=${t.id}`))); } catch (e) { run.problem = e.message; }
  if (!gone()) draw();
  if (run.report) {
    try { run.advice = (await ask(`/api/advice?trace=${t.id}`)).suggestions[0] || null; } catch { run.advice = null; }
    if (!gone()) draw();
  }
  asking--;
  learn([]);
}
// Runs with the same kernels are runs of one program, whatever their files are called.
function programs() {
  const groups = [];
  for (const t of [...traces].reverse()) {
    const run = runs.get(t.id);
    if (!run?.kernels) continue;
    const alike = (g) => { let both = 0; for (const k of run.kernels) both += g.kernels.has(k); return g.gpu === run.gpu && 2 * both > Math.max(run.kernels.size, g.kernels.size, 1); };
    let group = groups.find(alike);
    const name = stem(t.name);
    if (!group) groups.push(group = { name: groups.some((g) => g.name === name) ? `${name} (from ${t.name})` : name, gpu: run.gpu, list: [] });
    group.kernels = run.kernels;
    run.program = group;
    run.before = group.list[group.list.length - 1];
    group.list.push(t);
  }
  return groups;
}
// "train_3.trace" and "train_4.json.gz" are runs of "train".
const stem = (name) => split(name)[1].replace(/\.(trace|json|gz|zst|sqlite|pftrace)\b/g, "").replace(/[-_.]?\d+$/, "") || split(name)[1];
const change = (run) => { const b = run.before && runs.get(run.before.id); return run.step && b?.step ? 100 * (run.step - b.step) / b.step : null; };
const better = (run) => ({ regression: "worse", improvement: "better" })[run.verdict?.verdict] || "";

// The step times of a program's runs, oldest first; what changed is marked.
function curveOf(list, wide, high, here) {
  const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg"), at = list.map((t) => runs.get(t.id).step), most = Math.max(1, ...at);
  const put = (name, attrs) => { const e = document.createElementNS(ns, name); for (const k in attrs) e.setAttribute(k, attrs[k]); svg.append(e); return e; };
  const large = high > 40, side = large ? 40 : 4, top = large ? 24 : 4; // with a ground and words
  const x = (i) => list.length < 2 ? wide / 2 : side + i * (wide - 2 * side) / (list.length - 1), y = (v) => high - 4 - v / most * (high - 4 - top);
  for (const [k, v] of Object.entries({ class: "history", viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-label": `step times of ${list.length} runs` })) svg.setAttribute(k, v);
  if (large) put("line", { x1: 0, x2: wide, y1: y(0), y2: y(0) });
  put("path", { d: at.map((v, i) => v === null ? "" : `${i && at[i - 1] !== null ? "L" : "M"}${x(i)} ${y(v)}`).join("") });
  list.forEach((t, i) => {
    if (at[i] === null) return;
    const e = put("circle", { cx: x(i), cy: y(at[i]), r: t === here ? 3.5 : 2.2, class: better(runs.get(t.id)) });
    if (large && (list.length <= wide / 70 || better(runs.get(t.id)))) put("text", { x: x(i), y: y(at[i]) - 9, "text-anchor": "middle" }).textContent = gp.ns(at[i]);
    e.append(document.createElementNS(ns, "title"));
    e.firstChild.textContent = `${t.name}: ${gp.ns(at[i])}`;
  });
  return svg;
}

// ---- the list ----

let traces = [], here = -1, filter = "", shownNewest = "", order = "when", down = true, program = "";
const chosen = { a: new Set(), b: new Set() };
const asked = new URLSearchParams(location.search);
for (const side of ["a", "b"]) for (const v of asked.getAll(side)) v.split(",").forEach((id) => chosen[side].add(id));

const body = make("tbody"), count = make("span", { className: "count" }), newest = make("section", { className: "newest", hidden: true, "aria-label": "newest run" });
const bar = make("div", { className: "compare-bar", hidden: true, role: "region", "aria-label": "comparison" });
// Columns: heading, class, what it is sorted by.
const COLUMNS = [["Run", "", (t) => t.name, "name"], ["When", "", (t) => t.modified_ns, "when"], ["Program", "", (t, r) => r.program?.name, "program"], ["GPU", "gpu", (t, r) => r.gpu, "gpu"],
  ["Step", "number", (t, r) => r.step, "step"], ["Verdict", "", (t, r) => change(r), "verdict"], ["Idle", "number", (t, r) => r.idle, "idle"], ["Peak memory", "number peak", (t, r) => r.peak, "peak"],
  ["First advice", "", (t, r) => r.advice?.saving_ns, "advice"], ["Pages", "pages"], ["Compare", "ab"]];
const runOf = (t) => runs.get(t.id) || {};
function matching() {
  const by = COLUMNS.find((c) => c[3] === order)[2], sign = down ? -1 : 1;
  const list = traces.filter((t) => [t.name, runOf(t).gpu, runOf(t).program?.name].join(" ").toLowerCase().includes(filter) && (!program || runOf(t).program?.name === program));
  const keys = new Map(list.map((t) => [t, by(t, runOf(t)) ?? null]));
  return list.sort((a, b) => {
    const x = keys.get(a), y = keys.get(b);
    if (x === null || y === null) return (x === null) - (y === null); // what is not known comes last
    return sign * (x < y ? -1 : x > y ? 1 : 0);
  });
}
function sortBy(id) {
  down = order === id ? !down : id === "when";
  order = id;
  draw();
}
// The page of a program, or of all: its address is #program=NAME.
function show(name) {
  program = name;
  here = -1;
  gp.hash.set({ program: name }, true);
  draw();
}

function toggle(side, id) {
  if (!chosen[side].delete(id)) {
    chosen[side].add(id);
    chosen[side === "a" ? "b" : "a"].delete(id);
  }
  draw();
}

function sideButton(t, side) {
  return make("button", { type: "button", textContent: side.toUpperCase(), title: side === "a" ? "compare: before" : "compare: after",
    "aria-label": `${t.name} as ${side === "a" ? "before" : "after"}`, "aria-pressed": String(chosen[side].has(t.id)), onclick: () => toggle(side, t.id) });
}

function row(t, i) {
  const [folder, name] = split(t.name), r = runOf(t), can = t.kind === "trace", d = change(r), a = r.advice;
  const named = (td, name) => { td.dataset.name = name; return td; };
  const cell = (text, className, title) => make("td", { className, title: title || "", textContent: text ?? "" });
  return make("tr", { className: i === here ? "here" : "" },
    make("td", { className: "name" }, folder ? make("span", { className: "folder", textContent: folder }) : null, link(firstPage(t), name)),
    cell(ago(t.modified_ns), "dim", `${new Date(t.modified_ns / 1e6).toLocaleString()}, ${gp.bytes(t.size_bytes)}`),
    make("td", {}, r.program ? make("button", { type: "button", className: "link", textContent: r.program.name, title: "all runs with these kernels", onclick: () => show(r.program.name) }) : null),
    cell(r.problem ? "cannot be read" : r.report ? r.gpu : can ? "\u2026" : "", "dim gpu", r.problem),
    named(make("td", { className: "number" }, r.step && r.program?.list.length > 1 ? curveOf(r.program.list.slice(-12), 64, 18, t) : null, r.step ? " " + gp.ns(r.step) : ""), r.step ? "step" : ""),
    make("td", { className: "judged " + (better(r) || "dim") }, !r.before ? "" : judged(t)),
    named(cell(r.idle === null || r.idle === undefined ? "" : `${r.idle.toFixed(1)}%`, "number"), "idle"), named(cell(r.peak ? gp.bytes(r.peak) : "", "number peak"), "peak memory"),
    make("td", { className: "advice" }, a ? make("p", { title: a.action }, a.saving_ns ? make("b", { textContent: `${gp.ns(a.saving_ns)}: ` }) : "", a.action) : ""),
    make("td", { className: "pages" }, ...pageLinks(t)),
    make("td", { className: "ab" }, can ? sideButton(t, "a") : null, can ? " " : null, can ? sideButton(t, "b") : null));
}

// The verdict and the change of the step time; the reason is in the title, and on the page of the program.
function judged(t, figure = true) {
  const r = runOf(t), d = change(r), by = !figure || d === null || Math.abs(d) < 0.05 ? "" : ` ${d > 0 ? "+" : "\u2212"}${Math.abs(d).toFixed(1)}%`;
  return link(`/compare?a=${r.before.id}&b=${t.id}`, r.verdict ? r.verdict.word.toLowerCase() + by : "\u2026", { title: `after ${r.before.name}: ${r.verdict?.sentence || "being compared"}` });
}

// The page of a program: step time and launched work over its runs, with the changes marked, and the verdict on each run.
const overRuns = make("section", { className: "newest", hidden: true, "aria-label": "runs of a program" });
function drawProgram(groups) {
  const g = groups.find((x) => x.name === program);
  overRuns.hidden = !program;
  newest.hidden = !!program || !newest.firstChild;
  document.title = program || "Traces";
  if (!g) return overRuns.replaceChildren(...program ? [make("h2", { textContent: program }), make("p", { className: "count", textContent: waiting.length || asking ? "Reading \u2026" : "No runs of a program of this name are here." }), allPrograms()] : []);
  overRuns.replaceChildren(make("h2", {}, g.name, make("span", { textContent: ` \u00b7 ${g.list.length} ${g.list.length === 1 ? "run" : "runs"} on ${g.gpu || "an unknown GPU"}, oldest first` })),
    curveOf(g.list, Math.max(240, overRuns.clientWidth - 40), 130), make("ol", {}, ...g.list.map((t) => {
      const r = runOf(t), has = [r.step ? gp.ns(r.step) : "", r.events ? `${gp.count(Math.round(r.events))} GPU events per step` : ""].filter(Boolean).join(", ");
      return make("li", { className: better(r) }, `${split(t.name)[1]}: ${has}${has ? "; " : ""}`, ...(r.before ? [judged(t, false), reason(r)] : ["the first run"]));
    })), allPrograms());
}
const reason = (r) => make("span", { textContent: r.verdict ? `: ${r.verdict.sentence.replace(/^[A-Z ,]+: /, "").replaceAll("->", "\u2192")}` : "" });
const allPrograms = () => make("div", { className: "go" }, make("button", { type: "button", textContent: "All programs", onclick: () => show("") }));

const heads = COLUMNS.map(([text, className, by, id]) => make("th", { scope: "col", className: className || "" },
  by ? make("button", { type: "button", className: "link", textContent: text, title: id === "verdict" ? "trace-diff's, and the change of the step time, against the run before of the same program; sort by that" : "sort by this", onclick: () => sortBy(id) }) : text));

function drawBar() {
  const names = (side) => [...chosen[side]].map((id) => traces.find((t) => t.id === id)).filter(Boolean);
  const a = names("a"), b = names("b");
  bar.hidden = !a.length && !b.length;
  const say = (list, none) => list.length ? list.map((t) => split(t.name)[1]).join(", ") : none;
  bar.replaceChildren(make("span", {}, make("b", { textContent: "Before: " }), say(a, "choose with A")),
    make("span", {}, make("b", { textContent: "After: " }), say(b, "choose with B")));
  if (a.length && b.length)
    bar.append(link(`/compare?a=${a.map((t) => t.id).join(",")}&b=${b.map((t) => t.id).join(",")}`, "Compare"));
  bar.append(make("button", { type: "button", textContent: "Clear", onclick: () => { chosen.a.clear(); chosen.b.clear(); draw(); } }));
}

function draw() {
  const groups = programs(), list = matching(), first = traces.find((x) => x.kind === "trace");
  drawProgram(groups);
  if (first && shownNewest === first.id + first.modified_ns) fillNewest(first);
  heads.forEach((th, i) => { if (COLUMNS[i][3]) th.setAttribute("aria-sort", COLUMNS[i][3] !== order ? "none" : down ? "descending" : "ascending"); });
  body.replaceChildren(...list.map(row));
  if (!list.length) body.append(make("tr", {}, make("td", { colSpan: COLUMNS.length, className: "empty",
    textContent: traces.length ? "No name contains this." : "No traces yet. They are listed here as soon as they are in the folder." })));
  count.textContent = list.length === traces.length ? `${gp.count(traces.length)} files` : `${gp.count(list.length)} of ${gp.count(traces.length)} files`;
  drawBar();
}

// Its pages, and the run before of the same program once that is known.
function fillNewest(t) {
  const before = runOf(t).before;
  if (before && runOf(t).verdict) newest.querySelector(".since").replaceChildren(`After ${split(before.name)[1]}: `, judged(t, false), reason(runOf(t)));
  newest.querySelector(".go").replaceChildren(...pageLinks(t),
    ...(before ? [link(`/compare?a=${before.id}&b=${t.id}`, `Compare with the run before: ${split(before.name)[1]}`)] : []));
}

// What the newest run amounts to: its verdict, what to do first, and what changed since the one before.
async function drawNewest() {
  const t = traces.find((x) => x.kind === "trace");
  const key = t ? t.id + t.modified_ns : "";
  if (key === shownNewest) return;
  shownNewest = key;
  newest.replaceChildren();
  newest.hidden = !t || !!program;
  if (!t) return;
  const verdict = make("p", { className: "verdict", textContent: "Reading \u2026" }), list = make("ol"), go = make("div", { className: "go" });
  newest.replaceChildren(make("h2", {}, "Newest run: ", t.name, make("span", { textContent: ` \u00b7 ${ago(t.modified_ns)}` })), verdict, make("p", { className: "since" }), list, go);
  fillNewest(t);
  const [report, advice] = await Promise.allSettled([ask(`/api/profiler/hta?trace=${t.id}`), ask(`/api/advice?trace=${t.id}`)]);
  if (key !== shownNewest) return;
  verdict.textContent = report.status === "fulfilled" ? report.value.summary.headline : report.reason.message;
  const first = advice.status === "fulfilled" ? advice.value.suggestions.slice(0, 3) : [];
  list.replaceChildren(...first.map((s) => make("li", {}, s.action + " ", make("span", { textContent: `saves about ${gp.ns(s.saving_ns)} per step${s.saving_low_ns > 0 ? "" : ", or nothing"}` }))));
}

async function refresh() {
  try {
    const now = await ask("/api/traces");
    document.querySelector(".problem")?.remove();
    if (JSON.stringify(now) !== JSON.stringify(traces)) {
      traces = now;
      draw();
      learn([...matching(), ...traces]);
    }
    drawNewest();
  } catch (e) {
    if (!document.querySelector(".problem"))
      main.querySelector("header").after(make("p", { className: "problem", textContent: `The server does not answer: ${e.message}` }));
  }
}

// ---- files that are dropped on the page, or chosen ----

const sending = make("p", { role: "status", className: "count" });
async function send(files) {
  for (const f of files) {
    sending.textContent = `Sending ${f.name} \u2026`;
    try {
      const t = await ask(`/api/upload?name=${encodeURIComponent(f.name)}`, { method: "POST", body: f });
      sending.textContent = `${t.name || f.name} is here.`;
    } catch (e) {
      sending.textContent = `${f.name}: ${e.message}`;
      return;
    }
  }
  refresh();
}
function uploads() {
  const pick = make("input", { type: "file", multiple: true, hidden: true, onchange: () => send(pick.files) });
  const over = (e) => { if (e.dataTransfer?.types.includes("Files")) { e.preventDefault(); document.body.classList.toggle("drop", e.type === "dragover"); } };
  addEventListener("dragover", over);
  addEventListener("dragleave", over);
  addEventListener("drop", (e) => { over(e); if (e.dataTransfer?.files.length) send([...e.dataTransfer.files]); });
  return [make("button", { type: "button", textContent: "Add files", title: "or drop them on this page", onclick: () => pick.click() }), pick, sending];
}

function move(by) {
  const list = matching();
  if (!list.length) return;
  here = Math.min(list.length - 1, Math.max(0, here + by));
  draw();
  body.rows[here].scrollIntoView({ block: "nearest" });
  gp.say(list[here].name);
}
const atHere = (f) => () => { const t = matching()[here]; if (t) f(t); };

function listPage() {
  const box = make("input", { type: "search", placeholder: "Part of a name, program or GPU", "aria-label": "show only runs whose name, program or GPU contains this",
    oninput: () => { filter = box.value.toLowerCase(); here = -1; draw(); } });
  main.querySelector("header").append(gp.pageTools());
  main.append(newest, overRuns, make("div", { className: "tools" }, box, count, ...(settings.live ? [link("/live", "Running now")] : []), ...(settings.upload ? uploads() : [])), make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
  document.body.append(bar);
  gp.keys.add([["ArrowDown j", "next file", () => move(1)], ["ArrowUp k", "previous file", () => move(-1)],
    ["Enter", "open it", atHere((t) => location.assign(firstPage(t)))], ["a", "compare: before", atHere((t) => toggle("a", t.id))],
    ["b", "compare: after", atHere((t) => toggle("b", t.id))],
    ["c", "compare those that are chosen", () => bar.querySelector("a")?.click()], ["/", "show only some names", () => box.focus()]]);
  gp.hash.on((h) => { program = h.program || ""; draw(); });
  refresh();
  setInterval(() => { if (!document.hidden) refresh(); }, 3000);
}

// ---- the token: it came behind the #, which browsers do not send, and becomes a cookie ----

async function enterPage() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    await ask("/api/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    location.reload();
  } catch (e) {
    main.querySelector(".problem").textContent = e.message;
  }
}

// ---- Perfetto: a window of it is opened by a click, says that it is ready, and is sent the bytes ----

function perfettoPage() {
  const id = asked.get("trace"), range = asked.get("range");
  const file = `/traces/${encodeURIComponent(id)}/perfetto${range ? `?range=${encodeURIComponent(range)}` : ""}`;
  const say = make("p", { role: "status" });
  main.querySelector("header").append(gp.pageTools());
  main.append(make("p", { textContent: range ? `The range ${range} of the trace.` : "The whole trace." }), make("div", { className: "go" }, link(file, "Download the file", { download: "" })), say);
  if (!settings.perfetto) {
    say.textContent = "Open the file in Perfetto. With --perfetto URL, this page hands it over itself.";
    return;
  }
  const to = new URL(settings.perfetto);
  main.querySelector(".go").append(make("button", { type: "button", textContent: `Send it to ${to.host}`, onclick: async () => {
    const other = open(to.href);
    say.textContent = "Reading \u2026";
    const bytes = await (await fetch(file)).arrayBuffer();
    const knock = setInterval(() => other.postMessage("PING", to.origin), 200);
    addEventListener("message", (e) => {
      if (e.source !== other || e.origin !== to.origin || e.data !== "PONG") return;
      clearInterval(knock);
      other.postMessage({ perfetto: { buffer: bytes, title: `trace ${id} ${range || ""}` } }, to.origin);
      say.textContent = "Sent.";
    });
  } }));
}

// The link with the token, opened again in a page that is already let in.
if (page !== "enter" && location.hash.startsWith("#token=")) history.replaceState(null, "", location.pathname + location.search);

// ---- a program that runs ----

function livePage() {
  const state = make("p", { role: "status", textContent: "Waiting for the recording \u2026" }), tiles = make("div", { className: "tiles" });
  const kernels = make("tbody"), steps = [], svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(svg.namespaceURI, "path");
  svg.setAttribute("class", "curve");
  svg.setAttribute("viewBox", "0 0 119 100");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "step time of the last two minutes");
  svg.append(path);
  const missing = make("p", { className: "count" }), curve = make("figure", { hidden: true }, svg, make("figcaption", { textContent: "step time, one point per second" }));
  const tile = (name, value) => make("div", { className: "tile" }, make("span", { textContent: name }), make("b", { textContent: value }));
  const sum = (list, key) => (list || []).reduce((a, d) => a + (d[key] || 0), 0);
  const percent = (v) => `${v.toFixed(1)}%`;
  function show(r) {
    const d = r.devices || [], span = sum(d, "span_ns"), s = (r.steps || []).find((x) => x.step_ns), issues = (r.quality.issues || []).reduce((a, i) => a + i.count, 0);
    const memory = Math.max(0, ...(r.memory || []).map((m) => m.peak_bytes || 0)); // of what the last seconds allocated
    state.textContent = d.length ? `${d.length} ${d.length === 1 ? "device" : "devices"}, the last seconds` : "The program runs; no GPU work in the last seconds.";
    tiles.replaceChildren(tile("step time", s ? gp.ns(s.step_ns) : "none"), tile("idle", span ? percent(100 * sum(d, "idle_ns") / span) : "none"),
      tile("computing", span ? percent(100 * sum(d, "compute_ns") / span) : "none"), tile("GPU events", gp.count(sum(r.inputs, "gpu_events"))),
      ...(memory ? [tile("new memory, peak", gp.bytes(memory))] : []), tile("quality issues", gp.count(issues)));
    kernels.replaceChildren(...(r.kernels || []).slice(0, 8).map((k) => make("tr", {}, make("td", { className: "name", textContent: gp.cutName(k.name, 70), title: k.name }),
      ...[["calls", gp.count(k.count)], ["time", gp.ns(k.total_ns)], ["share", percent(k.share_pct)]].map(([name, textContent]) => make("td", { className: "number", "data-name": name, textContent })))));
    steps.push(s ? s.step_ns : null);
    curve.hidden = !steps.some((v) => v !== null);
    missing.textContent = [d.length ? "" : "No GPU work was recorded in the last seconds.", d.length && !s ? "No steps were found: mark them with record_function or NVTX ranges." : ""].join("");
    if (steps.length > 120) steps.shift();
    const most = Math.max(1, ...steps);
    path.setAttribute("d", steps.map((v, i) => v === null ? "" : `${i && steps[i - 1] !== null ? "L" : "M"}${i + 120 - steps.length} ${98 - 90 * v / most}`).join(""));
  }
  const keep = async (last) => {
    state.textContent = "Keeping \u2026";
    try { const t = await ask(`/api/live/keep?last=${last}`, { method: "POST" }); location.assign(firstPage(t)); } catch (e) { state.textContent = e.message; }
  };
  main.querySelector("header").append(gp.pageTools());
  main.append(make("div", { className: "go" }, link("/", "All traces"), ...(settings.upload ? ["5s", "10s", "60s"].map((t) => make("button", { type: "button", textContent: `Keep the last ${t.slice(0, -1)} s`, onclick: () => keep(t) })) : [])),
    state, tiles, missing, curve,
    make("table", {}, make("thead", {}, make("tr", {}, ...["Kernel", "Calls", "Time", "Share"].map((t, i) => make("th", { scope: "col", textContent: t, className: i ? "number" : "" })))), kernels));
  const events = new EventSource("/api/live");
  events.addEventListener("report", (e) => show(JSON.parse(e.data)));
  events.addEventListener("gone", (e) => { state.textContent = JSON.parse(e.data).error; });
  gp.keys.add([["g", "all traces", () => location.assign("/")], ["Enter", "keep the last ten seconds", () => settings.upload && keep("10s")]]);
}

const pages = { live: livePage, list: listPage, compare: listPage, enter: enterPage, perfetto: perfettoPage };
pages[page]?.();
})();
