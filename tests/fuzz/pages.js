// pages.js -- the decoders of pages in Node, with packed data that was changed. A page may refuse such data with an error;
// it must not hang, and not ask for memory out of proportion to the data.
//
//     pages.js --count N PAGE...                      N changed copies of each page, always the same ones; TAP
//     pages.js --seconds N --findings FOLDER PAGE...  for so long, with other ones each time; keeps what found something
//     pages.js FILE.json PAGE...                      such a finding once more, over the page of its name
"use strict";
const fs = require("node:fs"), path = require("node:path"), vm = require("node:vm"), zlib = require("node:zlib");
const { Worker, isMainThread, parentPort } = require("node:worker_threads");
const { sectionsOf } = require("../timeline/page.js");

const ASSETS = path.join(__dirname, "../../render/assets");
const PATIENCE_MS = 3000, MOST_BYTES = 256 << 20;

// ---- decoding, in a worker ----

function between(file, from, to) {
  const text = fs.readFileSync(path.join(ASSETS, file), "utf8"), at = text.indexOf(from), end = text.indexOf(to, at);
  if (at < 0 || end < 0) throw new Error(`${file}: no text from '${from}' to '${to}'`);
  return text.slice(at, end);
}

const unpackFrom = (sections) => async (id) => {
  if (!sections.has(id)) throw new Error(`no section ${id}`);
  return new Uint8Array(sections.get(id)); // a copy: its own buffer, as in a browser
};

// All that a reader can ask of a timeline.
async function timeline(sections) {
  const source = fs.readFileSync(path.join(ASSETS, "timeline_data.js"), "utf8");
  const data = await vm.runInThisContext(`(gp) => { ${source}; return timeline; }`)({ unpack: unpackFrom(sections) }).open();
  const w = 50, busy = new Float32Array(w), kind = new Uint8Array(w), marks = new Uint8Array(w), failures = [];
  const ask = async (what) => { try { await what(); } catch (e) { failures.push(e.message); } };
  await ask(() => data.aggregate(0, data.span));
  await ask(() => data.aggregate(data.span / 3, data.span / 2));
  await ask(() => data.gaps(5));
  await ask(() => data.slowest());
  for (const lane of data.lanes.filter((l) => l.n).slice(0, 20)) {
    await ask(() => data.columns(lane, 0, data.span, w, busy, kind));
    await ask(() => data.columns(lane, data.span / 3, data.span / 2, w, busy, kind));
    await ask(() => data.arrows(lane.track, lane.lane, 0));
    await ask(() => data.details(lane.track, lane.lane, lane.n - 1));
  }
  await ask(() => {
    const found = data.search("a");
    let at = null;
    for (let k = 0; k < 20 && (at = found.next(at, 1)); k++) found.index(at);
    for (const lane of data.lanes.slice(0, 20)) data.marks(found, lane, 0, data.span, w, marks);
  });
  return failures;
}

async function memory(sections) {
  const reader = between("shell.js", "const utf8 = new TextDecoder()", "// ---- the tools of the page");
  const decode = between("memory.js", "const MOST = 4e6;", "// The index of the last of N times");
  const run = vm.runInThisContext(`(data) => { ${reader} ${decode} return decode(reader(data)); }`);
  for (const data of sections.values()) run(new Uint8Array(data));
  return [];
}

async function flame(sections, meta) {
  const reader = between("shell.js", "const utf8 = new TextDecoder()", "// ---- the tools of the page");
  const decode = between("flame_page.js", "const label = [], full = [];", "const unpacking =");
  const run = vm.runInThisContext(`async (meta, unpack) => {
    ${reader}
    const palette = () => new Proxy({}, { get: () => ({ label: "" }) }), gp = { reader, unpack, palette };
    ${decode}
    const frames = await unpackFrames(), r = reader(await unpack("flame-trees"));
    for (const t of meta.trees) unpackTree(r, t.measures, frames);
  }`);
  await run(meta, unpackFrom(sections));
  return [];
}

if (!isMainThread) parentPort.on("message", async ({ sections, meta }) => {
  const before = process.memoryUsage().arrayBuffers;
  let result;
  try {
    const failures = await (meta ? flame(sections, meta) : sections.has("timeline") ? timeline(sections) : memory(sections));
    result = failures.length ? `an answer failed: ${failures[0]}` : "read";
  } catch (e) {
    result = `refused: ${e.message}`;
  }
  parentPort.postMessage({ result, bytes: process.memoryUsage().arrayBuffers - before });
});

// ---- changing ----

function dice(seed) {
  let state = seed >>> 0;
  return (sides) => {
    state = state + 0x9e3779b9 >>> 0;
    let z = state;
    z = Math.imul(z ^ z >>> 16, 0x85ebca6b);
    z = Math.imul(z ^ z >>> 13, 0xc2b2ae35);
    return ((z ^ z >>> 16) >>> 0) % sides;
  };
}

const ODD = [[0], [1], [127], [128, 1], [255, 255, 255, 255, 15], [255, 255, 255, 255, 255, 255, 255, 15],
  [255, 255, 255, 255, 255, 255, 255, 255, 255, 1], new Array(40).fill(255), [128, 128, 128, 128, 8]];

function change(sections, roll) {
  const out = new Map(sections), ids = [...out.keys()].filter((id) => id !== "timeline"); // which is JSON that our tools wrote
  for (let k = 1 + roll(3); k > 0 && ids.length; k--) {
    const id = ids[roll(ids.length)], old = out.get(id), at = roll(old.length + 1), what = roll(6);
    if (what === 0) out.set(id, old.subarray(0, at));
    else if (what === 1 && roll(20) === 0) out.delete(id);
    else if (what <= 3) out.set(id, Buffer.concat([old.subarray(0, at), Buffer.from(ODD[roll(ODD.length)]), old.subarray(at + roll(3))]));
    else if (what === 4) out.set(id, Buffer.concat([old.subarray(0, at), old.subarray(roll(old.length + 1))]));
    else {
      const copy = Buffer.from(old);
      if (copy.length) copy[Math.min(at, copy.length - 1)] = roll(256);
      out.set(id, copy);
    }
    if (!out.has(id)) ids.splice(ids.indexOf(id), 1);
  }
  return out;
}

// ---- running ----

let worker = null;
function decode(page, sections) {
  worker ??= new Worker(__filename);
  const w = worker;
  return new Promise((resolve) => {
    const done = (why) => { clearTimeout(timer); w.off("error", failed).off("message", answered); resolve(why); };
    const give = (why) => { worker = null; done(why); w.terminate(); };
    const failed = (e) => give(`ended: ${e.message}`);
    const answered = ({ result, bytes }) => bytes > MOST_BYTES ? give(`${bytes} bytes for a page of ${page.size}`) : done(result);
    const timer = setTimeout(() => give(`no end after ${PATIENCE_MS} ms`), PATIENCE_MS);
    w.on("error", failed).on("message", answered);
    w.postMessage({ sections: new Map([...sections].map(([id, b]) => [id, new Uint8Array(b)])), meta: page.meta });
  });
}

function load(file) {
  const html = fs.readFileSync(file, "latin1"), sections = new Map();
  for (const [id, packed] of sectionsOf(file)) sections.set(id, zlib.inflateSync(packed));
  const meta = /<script type="application\/json" id="flame-meta">([^<]*)</.exec(html);
  const size = [...sections.values()].reduce((sum, b) => sum + b.length, 0);
  return { name: path.basename(file, ".html"), meta: meta && JSON.parse(meta[1]), sections, size };
}

const isFault = (result) => /^(no end|ended|\d+ bytes)/.test(result);

function keep(folder, page, sections) {
  const name = path.join(folder, `${page.name}-${Date.now()}.json`);
  const packed = Object.fromEntries([...sections].filter(([id, b]) => b !== page.sections.get(id)).map(([id, b]) => [id, Buffer.from(b).toString("base64")]));
  const gone = [...page.sections.keys()].filter((id) => !sections.has(id));
  fs.writeFileSync(name, JSON.stringify({ page: page.name, packed, gone }));
}

function findingOf(file, pages) {
  const { page: name, packed, gone } = JSON.parse(fs.readFileSync(file)), page = pages.find((p) => p.name === name);
  if (!page) throw new Error(`${file}: no page ${name} was given`);
  const sections = new Map(page.sections);
  for (const [id, text] of Object.entries(packed)) sections.set(id, Buffer.from(text, "base64"));
  for (const id of gone) sections.delete(id);
  return { page, sections };
}

async function replay(pages, findings, count) {
  let tests = 0;
  const say = (fault, what) => {
    console.log(`${fault ? "not " : ""}ok ${++tests} - ${what}`);
    if (fault) { console.log("# " + fault); process.exitCode = 1; }
  };
  for (const page of pages) {
    const whole = await decode(page, page.sections);
    say(whole === "read" ? null : whole, `${page.name}: unchanged data is read`);
    const tally = { read: 0, refused: 0, answer: 0 };
    let fault = null;
    for (let i = 0; i < count && !fault; i++) {
      const result = await decode(page, change(page.sections, dice(i)));
      if (isFault(result)) fault = `change ${i}: ${result}`;
      else tally[result.startsWith("refused") ? "refused" : result === "read" ? "read" : "answer"]++;
    }
    say(fault, `${page.name}: ${count} changes, ${tally.read} read, ${tally.refused} refused, ${tally.answer} with an answer missing`);
  }
  for (const file of findings) {
    const { page, sections } = findingOf(file, pages), result = await decode(page, sections);
    say(isFault(result) ? result : null, path.basename(file));
  }
  console.log(`1..${tests}`);
}

async function fuzz(pages, seconds, folder) {
  const end = Date.now() + 1000 * seconds, roll = dice(Date.now());
  let executions = 0, found = 0;
  while (Date.now() < end && found < 10) {
    const page = pages[roll(pages.length)], sections = change(page.sections, dice(roll(2 ** 31)));
    const result = await decode(page, sections);
    executions++;
    if (!isFault(result)) continue;
    console.log(`${page.name}: ${result}`);
    keep(folder, page, sections);
    found++;
  }
  console.log(`stat::number_of_executed_units: ${executions}`);
  process.exitCode = found ? 1 : 0;
}

async function main() {
  const options = { count: 0, seconds: 0, findings: "." }, files = [];
  for (let i = 2; i < process.argv.length; i++) {
    const name = /^--(count|seconds|findings)$/.exec(process.argv[i]);
    if (name) options[name[1]] = process.argv[++i];
    else files.push(process.argv[i]);
  }
  const pages = files.filter((f) => f.endsWith(".html")).map(load), findings = files.filter((f) => f.endsWith(".json"));
  if (Number(options.seconds)) await fuzz(pages, Number(options.seconds), options.findings);
  else await replay(pages, findings, Number(options.count));
  if (worker) worker.terminate();
}

if (isMainThread) main();
