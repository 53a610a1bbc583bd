#!/usr/bin/env python3
"""twin.py CHROME.json TRACE.json.gz: does the first, made of an XPlane profile, hold each event that XLA's own trace.json has, within
a nanosecond? Prints how many, and the largest distance."""
import gzip
import json
import sys
from collections import defaultdict


def spans(trace):
    """Starts and durations by thread, in ns, sorted."""
    names, found = {}, defaultdict(list)
    for e in trace["traceEvents"]:
        if e.get("ph") == "M" and e["name"] == "thread_name":
            names[e["pid"], e["tid"]] = e["args"]["name"]
    for e in trace["traceEvents"]:
        if e.get("ph") == "X" and e.get("cat") != "gpu_user_annotation":
            found[names.get((e["pid"], e["tid"]), "")].append((round(float(e["ts"]) * 1000), round(float(e.get("dur", 0)) * 1000)))
    return {k: sorted(v) for k, v in found.items()}


with open(sys.argv[1], encoding="utf-8") as f:
    ours = spans(json.load(f))
with gzip.open(sys.argv[2]) as f:
    theirs = spans(json.load(f))
count = worst = 0
for thread, events in theirs.items():
    mine = ours.get(thread, [])
    at = 0
    for start, dur in events:  # ours may have more between them: allocations, which trace.json leaves out
        while at < len(mine) and (mine[at][0] < start - 1 or (mine[at][0] <= start + 1 and abs(mine[at][1] - dur) > 1)):
            at += 1
        assert at < len(mine) and abs(mine[at][0] - start) <= 1, (thread, start, dur)
        worst = max(worst, abs(mine[at][0] - start), abs(mine[at][1] - dur))
        count, at = count + 1, at + 1
print(json.dumps({"events": count, "worst_ns": worst}))
