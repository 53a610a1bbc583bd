// timeline_data.js -- the events of the page, unpacked from it and ready to be asked. It draws nothing and knows nothing of
// the page's elements but the data in them; names and args are text of the trace, to be put in as text only.
//
//     const data = await timeline.open((share) => ...);     // 0..1 while it unpacks
//     const lane = data.tracks[2].lanes[0];
//     data.columns(lane, 0, data.span, 1200, busy, kind);
//
// All times are Numbers of ns since data.begin. A position is {track, lane, i}: data.tracks[track].lanes[lane], event i.
//
// ---- what is there ----
// data.begin         BigInt: the clock of the trace where time 0 is
// data.span          ns from time 0 to the end of the last event
// data.view          [t0, t1] that the page was made for (--range, --steps), or the whole span: where to begin, and where
//                    "fit" goes
// data.events        how many events the page stands for;  data.shown: how many it holds (less where there is an overview)
// data.windows       null: every event is there. Else [[t0, t1], ...]: only in these windows; the rest is an overview
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
//   crossed  events that ended after one they began in, and lie in a further lane; clamped: by a rounding error, not moved
//   a counter has n, start, value (Float64Array), min, max, unit ("bytes", "percent", "gbps", "count") in place of lanes;
//   value[i] holds from start[i] to start[i + 1]; joined: several samples became one, the highest
// data.devices[]     {name, group, idle: track or null, streams: [track], t0, t1}: first to last event of the GPU
// data.causes[]      {name, text} of idle time; data.causeOf(nameId): index into it
// data.steps[]       {name, t0, t1, device, partial}, by device and time; data.findings[] {id, text, where, t0, t1}: t0 null
//                    where it has no place of its own
//
// ---- questions ----
// data.bounds(lane, t0, t1)      [from, to): the events of a lane that touch [t0, t1)
// data.columns(lane, t0, t1, w, busy, kind, hidden?)  for each of W columns of [t0, t1): share 0..1 that is busy
//                    (Float32Array), and the kind that has most of it (Uint8Array, where busy > 0). HIDDEN: Uint8Array by
//                    kind, 1 = as if not there. False when nothing is there. Exact but for the kind of dense columns.
// data.search(pattern, ignoreCase) -> {error} or {total, share (of all GPU time), ns, match: Uint8Array by name id,
//                    lanes: [{lane, n, ns}], next(at, dir): position of the next (dir 1) or previous (-1) match in order of
//                    time, after position AT (null: before all), null when there is none; index(at): which one it is, from 0}
// data.marks(search, lane, t0, t1, w, out)   Uint8Array: 1 for columns that a match begins in or covers
// data.aggregate(t0, t1) -> {span, devices: [{name, device, busy, idle, outside, causes: [{name, text, ns, count}],
//                    kinds: [{kind, ns, count}], kernels: [{name, count, ns}]}], tracks: [{track, busy, count}],
//                    counters: [{track, min, max, mean}], exact}; busy + idle + outside = span; outside is before the first and
//                    after the last event of the GPU. Sums of parts of events that lie in the range; kernels by time.
// await data.details(track, lane, i) -> [[key, text], ...] as recorded, [] where there is nothing or args were left out
// await data.arrows(track, lane, i) -> [{what: "launch" | "backward" | "cause", from: position, to: position}]
// data.gaps(n, device?)          the N longest idle gaps: [{t0, t1, device, causes: [{name, text, ns}], at: position}]
// data.slowest()                 the longest whole step, or null
// data.find(id)                  the track of that id, or undefined
// data.at(track, lane, i)        {name, label, kind, t0, t1, dur, track, lane, i}
"use strict";
