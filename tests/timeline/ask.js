// ask.js PAGE... -- what the data of a page answers, against the same worked out event by event. TAP on standard output.
"use strict";
const { load } = require("./page.js");

let tests = 0, dice = 12345;
const random = () => (dice = (dice * 1103515245 + 12345) % 2147483648) / 2147483648;
function ok(bad, what) {
  console.log(`${bad ? "not " : ""}ok ${++tests} - ${what}`);
  if (bad) { console.log("# " + bad); process.exitCode = 1; }
}
const near = (a, b, by) => Math.abs(a - b) <= by;

// Busy time and time by kind of the columns, event by event; an event of a lane ends where the next one begins.
function columns(data, lane, t0, t1, w) {
  const busy = new Float64Array(w), any = new Uint8Array(w), dt = (t1 - t0) / w;
  for (let i = 0; i < lane.n; i++) {
    const a = lane.start[i], b = Math.min(a + lane.dur[i], i + 1 < lane.n ? lane.start[i + 1] : Infinity);
    if (b < t0 || a >= t1) continue;
    const from = Math.max(0, Math.floor((a - t0) / dt)), to = Math.min(w - 1, Math.floor((b - t0) / dt));
    if (a >= t0) any[Math.min(w - 1, from)] = 1;
    for (let c = from; c <= to; c++) busy[c] += Math.max(0, Math.min(b, t0 + (c + 1) * dt) - Math.max(a, t0 + c * dt)) / dt;
  }
  return { busy, any };
}

function checkColumns(data) {
  const w = 333, busy = new Float32Array(w), kind = new Uint8Array(w);
  for (const lane of data.lanes) {
    for (let k = 0; k < 6; k++) {
      const a = k ? random() * data.span : 0, t0 = a, t1 = k ? Math.min(data.span, a + data.span * 10 ** (-4 * random())) : data.span;
      if (t1 <= t0) continue;
      const any = data.columns(lane, t0, t1, w, busy, kind), want = columns(data, lane, t0, t1, w);
      for (let c = 0; c < w; c++) {
        if (!near(busy[c], Math.min(1, want.busy[c]), 1e-4 + 1e-6 * want.busy[c]))
          return `${data.tracks[lane.track].id} lane ${lane.lane} [${t0}, ${t1}) column ${c}: ${busy[c]} for ${want.busy[c]}`;
        if (want.any[c] && !busy[c]) return `${data.tracks[lane.track].id} column ${c}: an event is not seen`;
      }
      if (!any && want.busy.some((x) => x > 0)) return "told that nothing is there";
    }
  }
  return null;
}

function checkAggregate(data) {
  for (let k = 0; k < 12; k++) {
    const t0 = k ? random() * data.span : 0, t1 = k ? t0 + random() * (data.span - t0) : data.span, got = data.aggregate(t0, t1);
    if (!got.exact) return "not exact";
    for (const d of got.devices) {
      const own = data.devices[d.device], by = new Map();
      let idle = 0;
      if (own.idle !== null) for (const lane of data.tracks[own.idle].lanes)
        for (let i = 0; i < lane.n; i++) idle += Math.max(0, Math.min(t1, lane.start[i] + lane.dur[i]) - Math.max(t0, lane.start[i]));
      for (const t of own.streams) for (const lane of data.tracks[t].lanes)
        for (let i = 0; i < lane.n; i++) {
          const a = lane.start[i], b = a + lane.dur[i];
          if (a < t1 && b > t0) by.set(lane.name[i], (by.get(lane.name[i]) || 0) + Math.min(t1, b) - Math.max(t0, a));
        }
      if (!near(d.idle, idle, 1)) return `idle ${d.idle} for ${idle}`;
      if (!near(d.busy + d.idle + d.outside, t1 - t0, 1)) return "busy, idle and outside do not make the range";
      if (!near(d.causes.reduce((s, c) => s + c.ns, 0), idle, 1)) return "the causes do not make the idle time";
      for (const x of d.kernels) if (!near(x.ns, by.get(x.name) || 0, 1)) return `${data.names[x.name]}: ${x.ns} for ${by.get(x.name)}`;
      for (const [name, ns] of by) if (ns > 1 && !d.kernels.some((x) => x.name === name)) return `${data.names[name]} is missing`;
    }
  }
  return null;
}

function checkSearch(data) {
  for (const pattern of ["a", "^cuda", "[0-9]", "memcpy|elementwise", "no such name"]) {
    const found = data.search(pattern), re = new RegExp(pattern, "u"), all = [];
    data.lanes.forEach((lane, l) => {
      for (let i = 0; i < lane.n; i++)
        if (re.test(data.names[lane.name[i]]) || re.test(data.labels[lane.name[i]])) all.push([lane.start[i], l, i, lane]);
    });
    all.sort((x, y) => x[0] - y[0] || x[1] - y[1] || x[2] - y[2]);
    if (found.total !== all.length) return `${pattern}: ${found.total} for ${all.length}`;
    let at = null;
    const step = Math.max(1, all.length >> 9); // walking all would take too long: stretches of it
    for (let k = 0; k < Math.min(all.length, 600); k++) {
      const next = found.next(at, 1), want = all[k];
      if (!next || next.track !== want[3].track || next.lane !== want[3].lane || next.i !== want[2])
        return `${pattern}: match ${k} is ${JSON.stringify(next)}, not ${JSON.stringify(want.slice(0, 3))} of ${data.tracks[want[3].track].id}`;
      if (k % 50 === 0 && found.index(next) !== k) return `${pattern}: match ${k} is told to be ${found.index(next)}`;
      const back = found.next(next, -1);
      if (k && (back.track !== at.track || back.lane !== at.lane || back.i !== at.i)) return `${pattern}: back from ${k}`;
      at = next;
    }
    if (step > 1 && !found.next(at, 1)) return `${pattern}: no match after ${JSON.stringify(at)}`;
    if (!all.length && found.next(null, 1)) return "a match where there is none";
    const w = 200, out = new Uint8Array(w);
    for (const lane of data.lanes) {
      data.marks(found, lane, 0, data.span, w, out);
      const want = new Uint8Array(w);
      for (const [, , i, of] of all) {
        if (of !== lane) continue;
        const a = Math.floor(lane.start[i] / data.span * w), b = Math.min(w - 1, Math.floor((lane.start[i] + lane.dur[i]) / data.span * w));
        for (let c = a; c <= b; c++) want[c] = 1;
      }
      let differ = 0;
      for (let c = 0; c < w; c++) if (out[c] !== want[c]) differ++;
      if (differ > w / 100) return `${pattern}: ${differ} columns of ${data.tracks[lane.track].id} are marked wrongly`;
    }
  }
  return null;
}

async function checkArrows(data) {
  let seen = 0;
  for (const d of data.devices) for (const t of d.streams) {
    const lane = data.tracks[t].lanes[0];
    for (let i = 0; i < lane.n; i += Math.max(1, lane.n >> 4)) {
      for (const a of await data.arrows(t, 0, i)) {
        if (a.what !== "launch") continue;
        seen++;
        const back = await data.arrows(a.from.track, a.from.lane, a.from.i);
        if (!back.some((b) => b.to.track === t && b.to.lane === 0 && b.to.i === i)) return `the launch of ${i} does not know it`;
      }
    }
  }
  const gpu = data.devices.some((d) => d.streams.some((t) => data.tracks[t].count > 0));
  return gpu && !seen ? "no launch is known" : null;
}

function checkGaps(data) {
  const all = [];
  data.devices.forEach((d, device) => {
    if (d.idle === null) return;
    const lane = data.tracks[d.idle].lanes[0];
    let from = null, to = null;
    for (let i = 0; i < lane.n; i++) {
      if (from !== null && lane.start[i] <= to) { to = lane.start[i] + lane.dur[i]; continue; }
      if (from !== null) all.push([to - from, from, device]);
      from = lane.start[i];
      to = from + lane.dur[i];
    }
    if (from !== null) all.push([to - from, from, device]);
  });
  all.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  const got = data.gaps(10, [0, data.span]);
  for (let k = 0; k < Math.min(10, all.length); k++) {
    if (got[k].t1 - got[k].t0 !== all[k][0] || got[k].t0 !== all[k][1]) return `gap ${k}: ${JSON.stringify(got[k])} for ${all[k]}`;
    if (!near(got[k].causes.reduce((s, c) => s + c.ns, 0), all[k][0], 1)) return `gap ${k}: its causes do not make it`;
  }
  return null;
}

(async () => {
  const pages = process.argv.slice(2);
  for (const page of pages) {
    const data = await load(page), name = page.replace(/.*\//, "");
    ok(checkColumns(data), `${name}: columns`);
    ok(checkAggregate(data), `${name}: ranges`);
    ok(checkSearch(data), `${name}: searches`);
    ok(await checkArrows(data), `${name}: arrows`);
    ok(checkGaps(data), `${name}: gaps`);
  }
  console.log(`1..${tests}`);
})();
