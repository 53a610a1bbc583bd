// dump.js PAGE -- what the page of trace2timeline holds, as text: a line a track, and with -e one an event.
"use strict";
const { load } = require("./page.js");

const events = process.argv[2] === "-e", file = process.argv[events ? 3 : 2];
load(file).then((data) => {
  for (const t of data.tracks) {
    const group = data.groups[t.group].name;
    if (t.sort === "counter") {
      console.log(["counter", t.id, t.n, t.unit, t.min, t.max].join("\t"));
      if (events) t.start.forEach((at, i) => console.log(["", at, t.value[i]].join("\t")));
      continue;
    }
    const sum = t.lanes.reduce((s, l) => s + l.dur.reduce((a, d) => a + d, 0), 0);
    const n = t.lanes.reduce((s, l) => s + l.n, 0);
    console.log([t.sort, t.id, n, sum, t.count, t.total, t.lanes.length, t.crossed, t.clamped, t.crowded, group].join("\t"));
    if (!events) continue;
    t.lanes.forEach((l, k) => l.start.forEach((at, i) =>
      console.log(["", k, at, l.dur[i], data.kinds[data.kindOf[l.name[i]]].id, data.names[l.name[i]]].join("\t"))));
  }
}).catch((e) => { console.error(e); process.exit(1); });
