#!/usr/bin/env python3
"""make_clocks.py FILE KEY=VALUE...: a trace in Chrome JSON of 20 steps with a product, bound by the SM clock, and a copy that is not.

mhz: the clock (1980); slower: the product takes so many times as long as the clock explains (1); others: use by other processes (0);
clocks: 0 leaves all of it out (1); seed."""
import json
import random
import sys

opts = {"mhz": 1980.0, "slower": 1.0, "others": 0.0, "clocks": 1.0, "seed": 1.0}
opts.update((k, float(v)) for k, v in (a.split("=") for a in sys.argv[2:]))
draw = random.Random(opts["seed"])
events, at, corr = [], 1000.0, 0
product = 1000.0 * 1980 / opts["mhz"] * opts["slower"]
for step in range(20):
    begin, host = at, at
    for name, cat, us in (("gemm", "kernel", product), ("Memcpy DtoD (Device -> Device)", "gpu_memcpy", 200.0)):
        corr += 1
        us *= draw.uniform(0.998, 1.002)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel" if cat == "kernel" else "cudaMemcpyAsync", "pid": 1, "tid": 1,
                       "ts": host, "dur": 4, "args": {"correlation": corr}})
        host += 5
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": at + 20, "dur": us,
                       "args": {"correlation": corr, "device": 0, "stream": 7, "grid": [64, 1, 1], "block": [128, 1, 1]}})
        at += us + 2
    at += 20
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1, "ts": begin, "dur": at - begin - 1})
if opts["clocks"]:
    for ts in (0.0, at / 2, at + 1000):
        for name, unit, value in (("SM clock", "MHz", opts["mhz"]), ("clock reasons", "bits", 4 if opts["mhz"] < 1980 else 0), ("power", "W", 500),
                                  ("utilization by others", "%", opts["others"])):
            events.append({"ph": "C", "cat": "device", "name": name, "pid": 99, "ts": ts, "args": {unit: value}})
with open(sys.argv[1], "w") as f:
    json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}], "traceEvents": events}, f)
