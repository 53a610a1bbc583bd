/* timeline.js -- the timeline page where scripts run: it puts the view, the panel and the keys together.
 * Names and args come from traces: they are only ever put in as text. Nothing is loaded.
 *
 * What the view asks of the data (timeline_data.js); times are Numbers, ns since the first event of the trace:
 *
 *   data.span          ns, the whole trace
 *   data.names[id]     full name;  data.labels[id] short label (the same text where it is short already)
 *   data.kindOf[id]    Uint8Array: index into data.kinds, [{id: "gemm", label: "matrix multiply, convolution", gpu: true}]
 *   data.tracks[]      in the order of the page: {id, name, group, sort, lanes, count, total}
 *       id     stable, of names and numbers as recorded: "gpu 0/stream 7"; used in the address
 *       group  text of its heading: "GPU 0, NVIDIA H200", "process 4711 python"
 *       sort   "slices", "steps", "idle" (one lane of gaps, name = cause), "counter"
 *       lanes  [{n, start: Float64Array, dur, name}] of events that do not overlap, by start: the outermost first
 *       a counter has n, start, value (Float64Array), min, max, unit instead of lanes
 *   data.columns(lane, t0, t1, w, busy, kind)   for each of W columns of [t0, t1): busy share 0..1 and the kind that
 *                      has most of it; from the mip where that is exact enough. Returns false when nothing is there.
 *   data.search(pattern) -> {total, gpuShare, hits: [{track, lane, index: Uint32Array}]}
 *   data.aggregate(t0, t1) -> {span, devices: [{name, busy, idle, causes: [{name, text, ns}], kinds: [{kind, ns}],
 *                      kernels: [{name, count, ns}]}], tracks: [{track, busy, count}], counters: [...]}
 *   data.details(track, lane, i) -> promise of [[key, text], ...] as recorded
 *   data.arrows(track, lane, i) -> [{what: "launch" | "backward", from: {track, lane, i}, to: {track, lane, i}}]
 *   data.findings[]    {id, text, t0, t1}; data.steps[] {name, t0, t1}; data.gaps() longest idle gaps first
 */
"use strict";
