#!/usr/bin/env python3
"""Hostile names at every place of a trace where a name can stand: make_names.py OUT.json. Controls, bidirectional
controls, noncharacters, markup, formulas. Escaped, so that the input is plain ASCII; make_names.py --raw writes the same
characters as they are."""
import json, sys

NAMES = ["</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "]]>", "\x1b[31mRED\x1b]0;t\x07", "\x9b31m",
         "=cmd|' /C calc'!A0", "@SUM(1+1)", "+1+1", "-1-1", "a;b;c", "line1\nline2 999", "\u202egnp.exe\u202c", "nul\0after",
         "\u2028sep\u2029", "\u0085nel", "\u200bzero", "\ufeffbom", "\u061cmark", "\u2066iso\u2069", "\U000e0041tag", "\U0010ffff", "\\", "", " "]

events = [{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": NAMES[11]}},
          {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": NAMES[4]}},
          {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": NAMES[11]}},
          {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": NAMES[17]}}]
t, correlation = 1000, 0
for step in range(4):
    begin, rows = t, []
    for i, name in enumerate(NAMES):
        correlation += 1
        t += 100
        args = {"External id": correlation, "correlation": correlation}
        rows += [
            {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": t - 2, "dur": 63},
            {"ph": "X", "cat": "python_function", "name": name + "(1): " + name, "pid": 1, "tid": 1, "ts": t - 1, "dur": 62,
             "args": {"Python id": correlation, "Python parent id": None}},
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": t, "dur": 60,
             "args": {"External id": correlation, "Input Dims": [[64, 64]], "Input type": [name], "x" + name: name}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": t + 5, "dur": 5, "args": args},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": t + 20, "dur": 40 + i,
             "args": {**args, "device": 0, "stream": 7, "grid": [132, 1, 1], "block": [128, 1, 1], "Collective name": name,
                      "x" + name: name}},
            {"ph": "C", "cat": name, "name": name, "pid": 1, "tid": 1, "ts": t, "args": {name: i}},
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": t + 1, "s": "t",
             "args": {"Bytes": 512 * (i + 1), "Addr": 4096 * correlation, "Total Allocated": 512 * correlation, "Device Type": 1,
                      "Device Id": 0}}]
        t += 100
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1, "ts": begin,
                   "dur": t - begin + 10})
    events += rows
    t += 100
device = {"id": 0, "name": NAMES[3], "numSms": 132, "computeMajor": 9, "computeMinor": 0, "totalGlobalMem": 1 << 36,
          "maxThreadsPerMultiprocessor": 2048, "warpSize": 32, NAMES[11]: NAMES[4]}
doc = {"schemaVersion": 1, "deviceProperties": [device], "traceName": NAMES[11], NAMES[4]: {"a": NAMES[18]},
       "distributedInfo": {"backend": NAMES[4], "rank": 0, "world_size": 1}, "traceEvents": events}
raw = sys.argv[1] == "--raw"
with open(sys.argv[-1], "w", encoding="utf-8") as f:
    json.dump(doc, f, ensure_ascii=not raw)
