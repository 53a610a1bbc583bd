#!/usr/bin/env python3
"""timeline_sums.py TRACE.json[.gz]: events and the sum of their durations in ns by stream and by thread, read from the JSON
itself; in the form of tests/timeline/dump.js, sorted."""
import gzip
import json
import sys
from collections import defaultdict
from decimal import Decimal

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
NESTED = ("cpu_op", "cuda_runtime", "cuda_driver", "python_function", "user_annotation", "overhead")


def ns(text):
    return int((Decimal(text) * 1000).to_integral_value())


path = sys.argv[1]
with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
    trace = json.load(f, parse_float=str, parse_int=str)
sums = defaultdict(lambda: [0, 0])
for e in trace["traceEvents"]:
    if e.get("ph") != "X":
        continue
    if e.get("cat") in GPU:
        key = "gpu %s/stream %s" % (e["args"]["device"], e["args"]["stream"])
    elif e.get("cat") in NESTED:
        key = "process %s/thread %s" % (e["pid"], e["tid"])
    else:
        continue
    sums[key][0] += 1
    sums[key][1] += ns(e["dur"])
for key in sorted(sums):
    print("%s\t%d\t%d" % (key, *sums[key]))
