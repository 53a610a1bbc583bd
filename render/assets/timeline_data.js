// timeline_data.js -- the events of the page, unpacked from it and ready to be asked. It draws nothing and knows nothing of
// the page's elements but the data in them; names and args are text of the trace, to be put in as text only.
//
//     const data = await timeline.open((share) => ...);     // 0..1 while it unpacks
//     const lane = data.tracks[2].lanes[0];
//     data.columns(lane, 0, data.span, 1200, busy, kind);
//
// All times are Numbers of ns since data.begin. A position is {track, lane, i}: data.tracks[track].lanes[lane], event i.
//
// ---- contents ----
// data.begin         BigInt: the clock of the trace where time 0 is
// data.span          ns from time 0 to the end of the last event
// data.view          [t0, t1] that the page was made for (--range, --steps), or the whole span: where to begin, and where
//                    "fit" goes
// data.open          [t0, t1] that is shown first, such as the steps; null: all of data.view
// data.events        how many events the page stands for;  data.shown: how many it holds (less where there is an overview)
// data.windows       null: every event is present. Otherwise [[t0, t1], ...]: only in these windows; the rest is an overview
// data.notes         sentences about what the page leaves out or had to do, for people
// data.input         name of the input;  data.quality: [{text, count}], what was wrong with it
// data.names[id]     full name;  data.labels[id]: short label (the same text where it is short already)
// data.kindOf[id]    Uint8Array: index into data.kinds, [{id: "gemm", label: "matrix multiply, convolution", gpu: true}]; id is
//                    the class of the palette
// data.groups[]      {id, name, device}: headings of tracks, in order; device: index into data.devices, -1: a process
// data.tracks[]      in the order of the page:
//   {index, id, name, group, sort, lanes, count, total, crossed, clamped, crowded}
//   id       of names and numbers as recorded, unique: "gpu 0/stream 7", "process 4711/thread 4711"; used in the address
//   group    index into data.groups
//   sort     "slices"; "marks" (instants and spans that do not nest); "steps"; "idle" (one lane, name = cause); "counter"
//   lanes    [{n, start: Float64Array, dur: Uint32Array or Float64Array, name: Uint16Array or Uint32Array, track, lane}]: events
//            by start, the outermost lane first. Events of a lane do not overlap by more than a rounding error, but in a
//            lane with `crowded` set, the last of too many
//   count, total   of the trace: events, and the sum of their durations in ns (true also where events are left out)
//   crossed  events that ended after one they began in, moved to an extra lane; clamped: by a rounding error, not moved
//   a counter has n, start, value (Float64Array), min, max, unit in place of lanes;
//   value[i] holds from start[i] to start[i + 1]; joined: several samples became one, the highest
// data.devices[]     {name, group, idle: track or null, streams: [track], t0, t1}: first to last event of the GPU
// data.causes[]      {name, text} of idle time; data.causeOf(nameId): index into it
// data.steps[]       {name, t0, t1, device, partial, warm_up}, by device and time; data.findings[] {id, text, where, t0, t1}: t0 null
//                    if it has no place in the timeline
//
// ---- questions ----
// data.bounds(lane, t0, t1)      [from, to): the events of a lane that touch [t0, t1)
// data.columns(lane, t0, t1, w, busy, kind, hidden?)  for each of W columns of [t0, t1): share 0..1 that is busy
//                    (Float32Array), and the kind that has most of it (Uint8Array, where busy > 0). HIDDEN: Uint8Array by
//                    kind, 1 = as if absent. False if nothing is present. Exact but for the kind of dense columns.
// data.search(pattern, ignoreCase) -> {error} or {total, share (of all GPU time), ns, match: Uint8Array by name id,
//                    lanes: [{lane, n, ns}], next(at, dir): position of the next (dir 1) or previous (-1) match in order of
//                    time, after position AT (null: before all), null if there is none; index(at): its index, from 0}
// data.marks(search, lane, t0, t1, w, out)   Uint8Array: 1 for columns that a match begins in or covers
// data.aggregate(t0, t1) -> {span, devices: [{name, device, busy, idle, outside, causes: [{name, text, ns, count}],
//                    kinds: [{kind, ns, count}], kernels: [{name, count, ns}]}], tracks: [{track, busy, count}],
//                    counters: [{track, min, max, mean}], exact}; busy + idle + outside = span; outside is before the first and
//                    after the last event of the GPU. Sums of parts of events that lie in the range; kernels by time.
// await data.details(track, lane, i) -> [[key, text], ...] as recorded, [] where there is nothing or args were left out
// await data.arrows(track, lane, i) -> [{what: "launch" | "backward" | "cause", from: position, to: position}]
// await data.launchOf(track, lane, i) -> position of what launched it, or null
// data.gaps(n, [t0, t1]?)        the N longest idle gaps of the measured steps (of all, where there are none), or of that time: [{t0, t1, device, causes: [{name, text, ns}], at: position}]
// data.longest(name, t0, t1)     position of the longest GPU event of that name that touches [t0, t1), or null
// data.slowest()                 the longest whole step, or null
// data.find(id)                  the track of that id, or undefined
// data.slim(track, roles)        its lanes with frameworks' functions folded away: see there
// data.at(track, lane, i)        {name, label, kind, t0, t1, dur, track, lane, i}
"use strict";
const timeline = (() => {
const BLOCK = 64; // events that share an entry of the sums
const AHEAD = 4;  // segments that are unpacked at a time: inflating runs beside reading
const LONGEST = 10; // bytes of a LEB128 number of 64 bits
const damaged = () => new Error("the data of this page is damaged");

// ---- reading ----

// A cursor over LEB128 numbers: `at` and the bytes stay in one object, so that long loops can keep them in variables.
class Bytes {
  constructor(data) { this.data = data; this.at = 0; }
  u() {
    let v = this.data[this.at++];
    if (v < 128) return v;
    v &= 127;
    for (let scale = 128; ; scale *= 128) {
      const b = this.data[this.at++];
      if (b === undefined || scale > 2 ** 63) throw damaged();
      v += (b & 127) * scale;
      if (b < 128) return v;
    }
  }
  i() { const v = this.u(); return v % 2 ? -(v + 1) / 2 : v / 2; }
  text() {
    const n = this.u();
    return new TextDecoder().decode(this.data.subarray(this.at, this.at += n));
  }
}

// Columns of numbers: the first bytes of all of them, then the second bytes, and so on. The loops over all events of a trace
// are these two.
class Column {
  constructor(r) {
    const planes = r.u();
    if (planes > LONGEST) throw damaged();
    const sizes = Array.from({ length: planes }, () => r.u());
    this.data = r.data;
    this.at = sizes.map((size) => (r.at += size) - size);
  }
  // The next N numbers times UNIT to out[from...].
  read(out, from, n, unit) {
    const { data, at } = this;
    let [a = 0, b = 0, c = 0, d = 0] = at;
    for (let k = from, to = from + n; k < to; k++) {
      let v = data[a++];
      if (v > 127) {
        let x = data[b++];
        v = v & 127 | (x & 127) << 7;
        if (x > 127) {
          x = data[c++];
          v |= (x & 127) << 14;
          if (x > 127) {
            x = data[d++];
            v |= (x & 127) << 21;
            for (let p = 4, scale = 2 ** 28; x > 127; scale *= 128) {
              x = data[at[p++]++];
              v += (x & 127) * scale;
            }
          }
        }
      }
      out[k] = v * unit;
    }
    [a, b, c, d].forEach((x, p) => { if (p < at.length) at[p] = x; });
  }
}

// Starts are stored as the distance from the end of the event before in the lane, which may be negative.
function starts(start, dur, from, n, unit) {
  let before = from ? start[from - 1] + dur[from - 1] : 0;
  for (let k = from, to = from + n; k < to; k++) {
    const v = start[k], s = before + (v % 2 ? -(v + 1) / 2 : v / 2) * unit;
    start[k] = s;
    before = s + dur[k];
  }
}

// ---- lanes ----

// Sums of durations and the strongest kind of every block of events, by which dense columns are answered.
function index(lane, kindOf, kinds) {
  const { n, start, dur, name } = lane, blocks = Math.ceil(n / BLOCK);
  const sums = lane.sums = new Float64Array(blocks + 1), strongest = lane.strongest = new Uint8Array(blocks);
  const of = new Float64Array(kinds);
  let sum = 0;
  for (let b = 0, i = 0; b < blocks; b++) {
    of.fill(0);
    let best = 0, most = -1;
    for (const to = Math.min(n, i + BLOCK); i < to; i++) {
      let d = dur[i];
      if (i + 1 < n && start[i] + d > start[i + 1]) d = start[i + 1] - start[i];
      sum += d;
      const kind = kindOf[name[i]], w = of[kind] += d + 1e-3;
      if (w > most) { most = w; best = kind; }
    }
    strongest[b] = best;
    sums[b + 1] = sum;
  }
}

// The first event that begins at or after T, from FROM on: by leaps that double, for the answer is mostly near.
function firstFrom(start, t, from, n) {
  let step = 1, lo = from;
  while (lo < n && start[lo] < t) { from = lo + 1; lo += step; step *= 2; }
  let hi = Math.min(lo, n);
  lo = from;
  while (lo < hi) {
    const mid = lo + hi >>> 1;
    if (start[mid] < t) lo = mid + 1; else hi = mid;
  }
  return lo;
}

function search(start, t, n) {
  let lo = 0, hi = n;
  while (lo < hi) {
    const mid = lo + hi >>> 1;
    if (start[mid] < t) lo = mid + 1; else hi = mid;
  }
  return lo;
}

function reach(lane, i) { // where event I ends as far as its lane is concerned
  const end = lane.start[i] + lane.dur[i];
  return i + 1 < lane.n && lane.start[i + 1] < end ? lane.start[i + 1] : end;
}

// Sum of the durations of the events before I.
function before(lane, i) {
  let sum = lane.sums[Math.floor(i / BLOCK)];
  for (let k = i - i % BLOCK; k < i; k++) sum += reach(lane, k) - lane.start[k];
  return sum;
}

// Time of [t0, t1) that events of the lane cover.
function covered(lane, t0, t1) {
  const i = search(lane.start, t0, lane.n), j = search(lane.start, t1, lane.n);
  let sum = j > i ? before(lane, j) - before(lane, i) : 0;
  if (i > 0) sum += Math.max(0, Math.min(t1, reach(lane, i - 1)) - t0);
  if (j > i) sum -= Math.max(0, reach(lane, j - 1) - t1);
  return sum;
}

// ---- the data ----

class Data {
  // What the page says about itself, before any event is loaded.
  constructor(head) {
    this.head = head;
    this.begin = BigInt(head.begin_ns);
    for (const key of ["span", "events", "shown", "windows", "notes", "input", "quality", "kinds", "names", "groups",
      "devices", "causes", "steps", "findings"]) this[key] = head[key];
    this.view = head.view || [0, head.span];
    this.open = head.open || null;
    this.labels = head.labels.map((text, i) => text === 0 ? head.names[i] : text);
    this.kindOf = Uint8Array.from(head.kind_of);
    this.cause = new Map(head.cause_of);
    this.captured = new Map(head.captured);
    this.lanes = [];
    let first = 0;
    this.tracks = head.tracks.map((t, at) => {
      const track = { index: at, ...t };
      if (t.unit === "reason") track.reasons = head.reasons;
      if (t.sort === "counter") return track;
      track.lanes = t.lanes.map(([n, wide, unit], k) => {
        const lane = { n, unit, first, track: at, lane: k, crowded: t.crowded > 0 && k === t.lanes.length - 1,
          start: new Float64Array(n), dur: wide ? new Float64Array(n) : new Uint32Array(n),
          name: head.names.length > 65536 ? new Uint32Array(n) : new Uint16Array(n) };
        first += n;
        this.lanes.push(lane);
        return lane;
      });
      return track;
    });
    this.ids = new Map(this.tracks.map((t) => [t.id, t]));
    this.sections = new Map();
  }

  // ---- unpacking ----

  async unpackEvents(progress) {
    const { segment } = this.head, count = Math.ceil(this.shown / segment);
    const waiting = [];
    let lane = 0, next = 0;
    for (let s = 0; s < count; s++) {
      while (next < count && next < s + AHEAD) waiting.push(gp.unpack("events." + next++));
      const data = await waiting.shift();
      lane = this.readSegment(data, s * segment, Math.min(this.shown, (s + 1) * segment), lane);
      if (progress) progress((s + 1) / count);
    }
    for (const l of this.lanes) index(l, this.kindOf, this.kinds.length);
  }

  // Three columns in sequence: starts, durations, names. A lane may go on in the next segment.
  readSegment(data, from, to, firstLane) {
    const r = new Bytes(data);
    for (const what of ["start", "dur", "name"]) {
      const column = new Column(r);
      this.eachPiece(firstLane, from, to, (lane, i, n) =>
        column.read(lane[what], i, n, what === "dur" ? lane.unit : 1));
    }
    this.eachPiece(firstLane, from, to, (lane, i, n) => starts(lane.start, lane.dur, i, n, lane.unit));
    let l = firstLane;
    while (l < this.lanes.length && this.lanes[l].first + this.lanes[l].n <= to) l++;
    return l;
  }

  eachPiece(l, from, to, use) {
    for (let at = from; at < to; l++) {
      const lane = this.lanes[l], i = at - lane.first, n = Math.min(lane.n - i, to - at);
      if (n > 0) use(lane, i, n);
      at += Math.max(n, 0);
    }
  }

  async unpackCounters() {
    const counters = this.tracks.filter((t) => t.sort === "counter");
    if (!counters.length) return;
    const r = new Bytes(await gp.unpack("counters"));
    for (const c of counters) {
      c.start = new Float64Array(c.n);
      c.value = new Float64Array(c.n);
      for (let i = 0, t = 0; i < c.n; i++) c.start[i] = t += r.u();
      for (let i = 0, v = 0; i < c.n; i++) c.value[i] = (v += r.i()) / c.scale;
      c.min = c.max = c.n ? c.value[0] : 0;
      for (const v of c.value) { if (v < c.min) c.min = v; if (v > c.max) c.max = v; }
    }
  }

  // Busy shares and kinds by time, of lanes whose events are not all there.
  async unpackOverview() {
    if (!this.windows) return;
    const data = await gp.unpack("overview"), { buckets } = this.head;
    this.lanes.forEach((lane, l) => {
      const at = 2 * l * buckets;
      lane.busy = data.subarray(at, at + buckets);
      lane.most = data.subarray(at + buckets, at + 2 * buckets);
    });
  }

  section(id, read) {
    if (!this.sections.has(id)) this.sections.set(id, gp.unpack(id).then((data) => read.call(this, new Bytes(data))));
    return this.sections.get(id);
  }

  // ---- positions ----

  at(track, lane, i) {
    const l = this.tracks[track].lanes[lane], name = l.name[i];
    return { name: this.names[name], label: this.labels[name], kind: this.kindOf[name], nameId: name, t0: l.start[i],
      t1: l.start[i] + l.dur[i], dur: l.dur[i], track, lane, i };
  }
  find(id) { return this.ids.get(id); }
  causeOf(name) { return this.cause.has(name) ? this.cause.get(name) : -1; }
  bounds(lane, t0, t1) {
    let i = search(lane.start, t0, lane.n);
    if (i > 0 && lane.start[i - 1] + lane.dur[i - 1] > t0) i--;
    if (lane.crowded) while (i > 0 && lane.start[i - 1] + lane.dur[i - 1] > t0) i--;
    return [i, firstFrom(lane.start, t1, i, lane.n)];
  }
  laneAt(global) {
    let lo = 0, hi = this.lanes.length;
    while (hi - lo > 1) {
      const mid = lo + hi >>> 1;
      if (this.lanes[mid].first <= global) lo = mid; else hi = mid;
    }
    return lo;
  }
  position(global) {
    const l = this.lanes[this.laneAt(global)];
    return { track: l.track, lane: l.lane, i: global - l.first };
  }

  // ---- pictures ----

  columns(lane, t0, t1, w, busy, kind, hidden) {
    if (this.windows) return this.overviewColumns(lane, t0, t1, w, busy, kind, hidden);
    return this.exactColumns(lane, t0, t1, w, busy, kind, hidden, 0);
  }

  // Column FIRST of the window [t0, t1) and the ones after it.
  exactColumns(lane, t0, t1, w, busy, kind, hidden) {
    const { start, dur, name, n } = lane, { kindOf } = this, dt = (t1 - t0) / w, of = new Float64Array(this.kinds.length);
    let i = search(start, t0, n), any = false;
    for (let c = 0; c < w; c++) {
      const a = t0 + c * dt, b = c + 1 === w ? t1 : a + dt;
      const from = i;
      i = firstFrom(start, b, i, n);
      busy[c] = 0;
      let best = -1, most = 0, sum = 0;
      const add = (k, d) => {
        const K = kindOf[name[k]];
        if (d < 0 || hidden && hidden[K]) return;
        sum += d;
        if ((of[K] += d + 1e-3) > most) { most = of[K]; best = K; }
      };
      if (from > 0) { // what reaches in from before
        const end = Math.min(b, start[from - 1] + dur[from - 1], from < n ? start[from] : Infinity);
        if (end > a) add(from - 1, end - a);
      }
      if (i - from <= 2 * BLOCK) {
        for (let k = from; k < i; k++) add(k, Math.min(b, reach(lane, k)) - start[k]);
      } else {
        let k = from;
        for (; k % BLOCK; k++) add(k, reach(lane, k) - start[k]);
        for (; k + BLOCK < i; k += BLOCK) {
          const at = k / BLOCK, K = lane.strongest[at];
          if (hidden && hidden[K]) continue;
          const d = lane.sums[at + 1] - lane.sums[at];
          sum += d;
          if ((of[K] += d + 1e-3) > most) { most = of[K]; best = K; }
        }
        for (; k < i; k++) add(k, Math.min(b, reach(lane, k)) - start[k]);
      }
      if (best >= 0) {
        busy[c] = Math.min(1, Math.max(sum / (b - a), 1e-6));
        kind[c] = best;
        any = true;
        of.fill(0);
      } else if (i === n) {
        busy.fill(0, c, w);
        if (c && n && start[n - 1] + dur[n - 1] > b) continue;
        break;
      }
    }
    return any;
  }

  // From the buckets where columns are as wide as they are, or where no events are, otherwise from the
  // events.
  overviewColumns(lane, t0, t1, w, busy, kind, hidden) {
    const { buckets } = this.head, per = this.span / buckets, dt = (t1 - t0) / w;
    const inside = this.windows.some(([a, b]) => a < t1 && b > t0);
    let any = inside && dt < 4 * per && this.exactColumns(lane, t0, t1, w, busy, kind, hidden);
    if (!any) busy.fill(0, 0, w);
    for (let c = 0; c < w; c++) {
      const a = t0 + c * dt, b = a + dt;
      if (dt < 4 * per && this.windows.some(([x, y]) => x <= a && y >= b)) continue;
      const from = Math.max(0, Math.floor(a / per)), to = Math.min(buckets, Math.max(from + 1, Math.ceil(b / per)));
      let sum = 0, best = 0;
      for (let k = from; k < to; k++) {
        if (!lane.busy[k] || hidden && hidden[lane.most[k]]) continue;
        sum += lane.busy[k];
        if (lane.busy[k] > best) { best = lane.busy[k]; kind[c] = lane.most[k]; }
      }
      busy[c] = sum / (255 * (to - from));
      if (sum) any = true;
    }
    return any;
  }

  // ---- search ----

  search(pattern, ignoreCase) {
    let re;
    try { re = new RegExp(pattern, ignoreCase ? "iu" : "u"); } catch (e) { return { error: e.message }; }
    const match = new Uint8Array(this.names.length);
    this.names.forEach((name, i) => { if (re.test(name) || re.test(this.labels[i])) match[i] = 1; });
    const found = { data: this, match, total: 0, ns: 0, lanes: [], share: 0 };
    const gpu = this.kinds.map((k) => k.gpu);
    let all = 0, hit = 0;
    for (const lane of this.lanes) {
      const { n, name, dur } = lane, isGpu = this.tracks[lane.track].sort === "slices";
      const blocks = new Uint8Array(Math.ceil(n / BLOCK));
      let count = 0, ns = 0;
      for (let i = 0; i < n; i++) {
        const yes = match[name[i]];
        if (yes) { count++; ns += dur[i]; blocks[Math.floor(i / BLOCK)] = 1; }
        if (isGpu && gpu[this.kindOf[name[i]]]) { all += dur[i]; if (yes) hit += dur[i]; }
      }
      if (!count) continue;
      found.lanes.push({ lane, n: count, ns, blocks });
      found.total += count;
      found.ns += ns;
    }
    found.share = all ? hit / all : 0;
    found.next = (at, dir) => this.nextMatch(found, at, dir);
    found.index = (at) => this.matchIndex(found, at);
    return found;
  }

  // The match nearest in time after AT (before it, DIR -1); equal times by track and lane.
  nextMatch(found, at, dir) {
    let best = null, bestT = 0;
    const here = at && this.at(at.track, at.lane, at.i).t0;
    const own = at && this.tracks[at.track].lanes[at.lane];
    for (const { lane, blocks } of found.lanes) {
      let i;
      if (!at) i = dir > 0 ? 0 : lane.n - 1;
      else if (lane === own) i = at.i + dir;
      else {
        const later = lane.first > own.first; // at the same time: comes after
        i = search(lane.start, here, lane.n);
        if (!later) while (i < lane.n && lane.start[i] === here) i++;
        if (dir < 0) i--;
      }
      i = this.stepMatch(found, lane, blocks, i, dir);
      if (i < 0 || i >= lane.n) continue;
      const t = lane.start[i];
      if (!best || (dir > 0 ? t < bestT : t >= bestT)) {
        bestT = t;
        best = { track: lane.track, lane: lane.lane, i };
      }
    }
    return best;
  }

  stepMatch(found, lane, blocks, i, dir) {
    while (i >= 0 && i < lane.n) {
      if (blocks && !blocks[Math.floor(i / BLOCK)]) { i = dir > 0 ? i - i % BLOCK + BLOCK : i - i % BLOCK - 1; continue; }
      if (found.match[lane.name[i]]) return i;
      i += dir;
    }
    return i;
  }

  matchIndex(found, at) {
    const here = this.at(at.track, at.lane, at.i).t0, own = this.tracks[at.track].lanes[at.lane];
    let sum = 0;
    for (const { lane } of found.lanes) {
      let to = lane === own ? at.i : search(lane.start, here, lane.n);
      if (lane.first < own.first) while (to < lane.n && lane.start[to] === here) to++;
      for (let i = 0; i < to; i++) sum += found.match[lane.name[i]];
    }
    return sum;
  }

  marks(found, lane, t0, t1, w, out) {
    out.fill(0, 0, w);
    const hit = lane.from ? {} : found.lanes && found.lanes.find((h) => h.lane === lane);
    if (!hit) return false;
    const [from, to] = this.bounds(lane, t0, t1), scale = w / (t1 - t0);
    let any = false;
    const mark = (i) => {
      const a = Math.max(0, Math.floor((lane.start[i] - t0) * scale));
      const b = Math.min(w - 1, Math.floor((lane.start[i] + lane.dur[i] - t0) * scale));
      for (let c = a; c <= b; c++) out[c] = 1;
      any = true;
      return Math.max(a, b);
    };
    for (let i = this.stepMatch(found, lane, hit.blocks, from, 1); i < to;
      i = this.stepMatch(found, lane, hit.blocks, i, 1)) {
      // on to the first event that begins in a later column; only the one before it can reach further than this one
      const next = firstFrom(lane.start, t0 + (mark(i) + 1) / scale, i + 1, lane.n);
      if (next - 1 > i && next - 1 < to && found.match[lane.name[next - 1]]) mark(next - 1);
      i = next;
    }
    return any;
  }

  // ---- a range of time ----

  aggregate(t0, t1) {
    const found = { span: t1 - t0, tracks: [], counters: [], exact: true };
    if (this.windows) found.exact = this.windows.some(([a, b]) => a <= t0 && b >= t1);
    for (const track of this.tracks) {
      if (track.sort === "counter") { found.counters.push(this.counterIn(track, t0, t1)); continue; }
      let busy = 0, count = 0;
      for (const lane of track.lanes) {
        const [i, j] = this.bounds(lane, t0, t1);
        count += j - i;
        if (lane.lane === 0) busy = found.exact ? covered(lane, t0, t1) : this.roughly(lane, t0, t1);
      }
      found.tracks.push({ track: track.index, busy, count });
    }
    found.devices = this.devices.map((d, at) => this.deviceIn(d, at, t0, t1, found.exact));
    return found;
  }

  roughly(lane, t0, t1) {
    const { buckets } = this.head, per = this.span / buckets;
    let sum = 0;
    for (let k = Math.max(0, Math.floor(t0 / per)); k < buckets && k * per < t1; k++)
      sum += lane.busy[k] / 255 * (Math.min(t1, (k + 1) * per) - Math.max(t0, k * per));
    return sum;
  }

  deviceIn(d, at, t0, t1, exact) {
    const inside = Math.max(0, Math.min(t1, d.t1) - Math.max(t0, d.t0));
    const r = { name: d.name, device: at, busy: inside, idle: 0, outside: t1 - t0 - inside, causes: [] };
    if (d.idle !== null) {
      const lane = this.tracks[d.idle].lanes[0];
      const by = this.byName([lane], t0, t1);
      for (const [name, ns, count] of by) {
        const cause = this.causes[this.causeOf(name)];
        r.causes.push({ name: cause.name, text: cause.text, ns, count });
      }
      r.idle = exact ? covered(lane, t0, t1) : Math.min(inside, this.roughly(lane, t0, t1));
    }
    r.busy = Math.max(0, inside - r.idle);
    const lanes = d.streams.flatMap((t) => this.tracks[t].lanes), kinds = new Map();
    r.kernels = this.byName(lanes, t0, t1).map(([name, ns, count]) => {
      const kind = this.kindOf[name], k = kinds.get(kind) || { kind, ns: 0, count: 0 };
      k.ns += ns;
      k.count += count;
      kinds.set(kind, k);
      return { name, ns, count };
    });
    r.kinds = [...kinds.values()].sort((a, b) => b.ns - a.ns);
    return r;
  }

  // [name, ns, count] of the range, longest first.
  byName(lanes, t0, t1) {
    const ns = new Float64Array(this.names.length), count = new Uint32Array(this.names.length);
    for (const lane of lanes) {
      const [i, j] = this.bounds(lane, t0, t1);
      this.addNames(lane, i, j, ns, count);
      const cut = (k, by) => { if (by > 0) ns[lane.name[k]] -= by; };
      for (let k = i; k < j && lane.start[k] < t0; k++) cut(k, Math.min(t0, lane.start[k] + lane.dur[k]) - lane.start[k]);
      for (let k = j - 1, steps = 0; k >= i && steps < (lane.crowded ? j - i : 2); k--, steps++)
        cut(k, lane.start[k] + lane.dur[k] - Math.max(t1, lane.start[k]));
    }
    const all = [];
    for (let k = 0; k < ns.length; k++) if (count[k]) all.push([k, Math.max(0, ns[k]), count[k]]);
    return all.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  // Adds events I to J: long stretches from sums that are made when they are first asked for.
  addNames(lane, i, j, ns, count) {
    const { dur, name } = lane, table = j - i > 1 << 17 ? this.checkpoints(lane) : null;
    let a = i, b = j;
    if (table) {
      const from = Math.ceil(i / table.every), to = Math.floor(j / table.every), { names } = table;
      if (to > from) {
        for (let k = 0; k < names.length; k++) {
          ns[names[k]] += table.ns[to * names.length + k] - table.ns[from * names.length + k];
          count[names[k]] += table.count[to * names.length + k] - table.count[from * names.length + k];
        }
        for (a = i; a < from * table.every; a++) { ns[name[a]] += dur[a]; count[name[a]]++; }
        a = to * table.every;
      }
    }
    for (; a < b; a++) { ns[name[a]] += dur[a]; count[name[a]]++; }
  }

  checkpoints(lane) {
    if (lane.table !== undefined) return lane.table;
    const { n, dur, name } = lane, used = new Uint8Array(this.names.length), slot = new Uint32Array(this.names.length);
    for (let i = 0; i < n; i++) used[name[i]] = 1;
    const names = [];
    used.forEach((yes, k) => { if (yes) { slot[k] = names.length; names.push(k); } });
    let every = 1 << 14;
    while (n / every * names.length * 12 > n * 0.5) every *= 2; // memory: half a byte an event
    if (every > n / 4) return lane.table = null;
    const rows = Math.floor(n / every) + 1;
    const t = { every, names, ns: new Float64Array(rows * names.length), count: new Uint32Array(rows * names.length) };
    const ns = new Float64Array(names.length), count = new Uint32Array(names.length);
    for (let i = 0, row = 0; row < rows; i++) {
      if (i === row * every) {
        t.ns.set(ns, row * names.length);
        t.count.set(count, row++ * names.length);
        if (row === rows) break;
      }
      ns[slot[name[i]]] += dur[i];
      count[slot[name[i]]]++;
    }
    return lane.table = t;
  }

  counterIn(c, t0, t1) {
    let i = search(c.start, t0, c.n);
    if (i > 0 && (i === c.n || c.start[i] > t0)) i--;
    const r = { track: c.index, min: null, max: null, mean: null };
    let sum = 0, time = 0;
    for (; i < c.n && c.start[i] < t1; i++) {
      const v = c.value[i], d = Math.min(t1, i + 1 < c.n ? c.start[i + 1] : t1) - Math.max(t0, c.start[i]);
      if (r.min === null || v < r.min) r.min = v;
      if (r.max === null || v > r.max) r.max = v;
      sum += v * d;
      time += d;
    }
    if (time > 0) r.mean = sum / time;
    return r;
  }

  // ---- what belongs together ----

  // What each event of a segment refers to, as global numbers + 1: of GPU work its launch, of idle time what the host was in.
  refs(segment) {
    if (!this.head.refs.includes(segment)) return null;
    return this.section("refs." + segment, function (r) {
      const from = segment * this.head.segment, n = Math.min(this.shown, from + this.head.segment) - from;
      const lane = Array.from({ length: n }, () => r.u()), out = new Uint32Array(n), next = new Map();
      for (let i = 0; i < n; i++) {
        if (!lane[i]) continue;
        const l = lane[i] - 1, k = (next.get(l) || 0) + r.i();
        next.set(l, k + 1);
        out[i] = this.lanes[l].first + k + 1;
      }
      return out;
    });
  }

  // What launched a GPU event, or null.
  async launchOf(track, lane, i) {
    const me = this.tracks[track].lanes[lane].first + i, { segment } = this.head, refs = await this.refs(Math.floor(me / segment));
    const to = refs && refs[me % segment];
    return to ? this.position(to - 1) : null;
  }

  async arrows(track, lane, i) {
    const l = this.tracks[track].lanes[lane], me = l.first + i, { segment } = this.head, own = { track, lane, i }, all = [];
    const mine = await this.refs(Math.floor(me / segment));
    const to = mine && mine[me % segment];
    if (to && this.tracks[track].sort === "idle") all.push({ what: "cause", from: this.position(to - 1), to: own });
    else if (to) all.push({ what: "launch", from: this.position(to - 1), to: own });
    if (!this.kinds[this.kindOf[l.name[i]]].gpu && this.tracks[track].sort === "slices") {
      for (const s of this.head.refs) {
        const refs = await this.refs(s);
        for (let k = refs.indexOf(me + 1); k >= 0; k = refs.indexOf(me + 1, k + 1)) {
          const p = this.position(s * segment + k);
          if (this.tracks[p.track].sort !== "idle") all.push({ what: "launch", from: own, to: p });
        }
      }
      for (const [a, b] of await this.pairs())
        if (a === me || b === me) all.push({ what: "backward", from: this.position(a), to: this.position(b) });
    }
    return all;
  }

  async pairs() {
    if (!this.head.pairs) return [];
    return this.section("pairs", function (r) {
      const out = [];
      for (let k = 0, a = 0, b = 0; k < this.head.pairs; k++) out.push([a += r.i(), b += r.i()]);
      return out;
    });
  }

  // ---- args ----

  async details(track, lane, i) {
    const l = this.tracks[track].lanes[lane], me = l.first + i, { block } = this.head, b = Math.floor(me / block);
    if (!this.head.args.includes(b)) return [];
    const configs = await this.configs();
    const rows = await this.section("args." + b, this.readArgs);
    const all = [];
    for (const [key, value] of rows[me % block] || []) {
      if (key === "config") all.push(...configs[value]);
      else if (key === "extra") all.push(...value);
      else if (key === "captured") all.push(["captured in", this.captured.get(Number(value))]);
      else all.push([key, value]);
    }
    return all.map(([key, text]) => [readable(key), readable(text)]);
  }

  configs() {
    return this.section("configs", function (r) {
      const all = JSON.parse(new TextDecoder().decode(r.data));
      return all.map((c) => [...c.list.map(([k, v]) => [k, String(v)]), ...c.extra ? extras(c.extra) : []]);
    });
  }

  // For every event of a block: which fields it has, then their values, numbers as the difference to the last one of the field.
  readArgs(r) {
    const fields = this.head.fields, last = fields.map(() => 0n), rows = [];
    while (r.at < r.data.length) {
      const row = [];
      for (let bits = r.u(), f = 0; bits; bits = Math.floor(bits / 2), f++) {
        if (bits % 2 === 0) continue;
        const field = fields[f];
        if (field === "extra") { row.push([field, extras(r.text())]); continue; }
        last[f] = BigInt.asIntN(64, last[f] + bigInt(r));
        row.push([field, field === "config" ? Number(last[f]) :
          String(this.head.signed.includes(field) ? last[f] : BigInt.asUintN(64, last[f]))]);
      }
      rows.push(row);
    }
    return rows;
  }

  // ---- fewer lanes ----

  // {lanes, place}: the lanes of TRACK without most functions of frameworks; null where that changes nothing. What they called
  // moves up. ROLES by name: 0 no function; 1 someone else's; 2 a framework's, left out where one of it called it; 3 left out.
  // lane.from: {lane, i} of each event; place[lane][i]: the lane of slim that an event is in, or would be, and 32768 if it is left out.
  slim(track, roles) {
    const { lanes } = track, place = lanes.map((l) => new Uint16Array(l.n)), next = lanes.map(() => 0), out = [];
    const ends = [], depths = [], inside = [], CLOSE = 1000; // ns that events of a lane may overlap, by rounding
    let left = 0;
    for (let d = 0; d >= 0;) {
      const lane = lanes[d], i = lane ? next[d] : 0;
      if (!lane || i >= lane.n || d && lane.start[i] >= ends[d - 1]) { d--; continue; }
      const start = lane.start[i], role = roles[lane.name[i]], within = d > 0 && inside[d - 1], hidden = role === 3 || role === 2 && within;
      let depth = d ? depths[d - 1] : 0;
      ends[d] = start + lane.dur[i];
      if (hidden) left++; else {
        while (out[depth] && (out[depth].end > start + CLOSE || out[depth].start > start)) depth++;
        const to = out[depth] ||= { lane: [], i: [] };
        to.start = start;
        to.end = ends[d];
        to.lane.push(d);
        to.i.push(i);
      }
      place[d][i] = depth + (hidden ? 32768 : 0);
      depths[d] = depth + !hidden;
      inside[d] = role === 2 || role !== 1 && within;
      next[d++]++;
    }
    if (!left) return null;
    return { place, lanes: out.map(({ lane: from, i }, at) => {
      const n = i.length, of = (what) => lanes[0][what].constructor.from(i, (k, x) => lanes[from[x]][what][k]);
      const dur = Float64Array.from(i, (k, x) => lanes[from[x]].dur[k]);
      const lane = { n, start: of("start"), dur, name: of("name"), track: track.index, lane: at, from: { lane: from, i } };
      index(lane, this.kindOf, this.kinds.length);
      return lane;
    }) };
  }

  // ---- jumps ----

  gaps(n, [from, to] = this.open || [0, this.span]) {
    const all = [];
    this.devices.forEach((d, at) => {
      if (d.idle === null) return;
      const lane = this.tracks[d.idle].lanes[0];
      for (let i = 0, k; i < lane.n; i = k) {
        k = i + 1;
        while (k < lane.n && lane.start[k] <= lane.start[k - 1] + lane.dur[k - 1]) k++;
        const t0 = lane.start[i], t1 = lane.start[k - 1] + lane.dur[k - 1];
        if (!(t1 - t0 <= all.least) && t0 < to && t1 > from) all.push({ t0, t1, device: at, i, k, lane });
        if (all.length > 8 * n + 128) {
          all.sort((a, b) => b.t1 - b.t0 - (a.t1 - a.t0));
          all.length = n;
          all.least = n ? all[n - 1].t1 - all[n - 1].t0 : Infinity;
        }
      }
    });
    if (!all.length && (from > 0 || to < this.span)) return this.gaps(n, [0, this.span]);
    all.sort((a, b) => b.t1 - b.t0 - (a.t1 - a.t0) || a.t0 - b.t0);
    return all.slice(0, n).map((g) => {
      const causes = this.byName([g.lane], g.t0, g.t1).map(([name, ns]) => ({ ...this.causes[this.causeOf(name)], ns }));
      return { t0: g.t0, t1: g.t1, device: g.device, causes, at: { track: g.lane.track, lane: 0, i: g.i } };
    });
  }

  longest(name, t0, t1) {
    const wanted = this.names.map((n, id) => n === name || this.labels[id] === name);
    let best = null, most = -1;
    for (const d of this.devices) for (const t of d.streams) for (const lane of this.tracks[t].lanes) {
      const [from, to] = this.bounds(lane, t0, t1);
      for (let i = from; i < to; i++) if (lane.dur[i] > most && wanted[lane.name[i]]) { most = lane.dur[i]; best = { track: t, lane: lane.lane, i }; }
    }
    return best;
  }

  slowest() {
    let best = null;
    for (const s of this.steps) if (!s.partial && !s.warm_up && (!best || s.t1 - s.t0 > best.t1 - best.t0)) best = s;
    return best;
  }
}

function bigInt(r) {
  let v = 0n, shift = 0n, b;
  do {
    b = r.data[r.at++];
    v |= BigInt(b & 127) << shift;
    shift += 7n;
    if (shift > 70n) throw damaged();
  } while (b > 127);
  return v & 1n ? -(v + 1n >> 1n) : v >> 1n;
}

// Controls, and what is invisible or reorders its neighbours, do not reach the page; names come without them.
function readable(text) {
  return String(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu,
    (c) => c === "\n" || c === "\t" ? c : "\uFFFD");
}

// The members of a JSON object as recorded; anything else is shown whole.
function extras(text) {
  try {
    return Object.entries(JSON.parse(text)).map(([k, v]) => [k, typeof v === "string" ? v : JSON.stringify(v)]);
  } catch { return [["extra", text]]; }
}

async function open(progress) {
  const head = JSON.parse(new TextDecoder().decode(await gp.unpack("timeline")));
  const data = new Data(head);
  await Promise.all([data.unpackEvents(progress), data.unpackCounters(), data.unpackOverview()]);
  return data;
}

return { open };
})();
