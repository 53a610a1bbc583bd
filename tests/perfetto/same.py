#!/usr/bin/env python3
"""same.py CHROME.json DECODED.json: do both hold the same slices, in number and in nanoseconds, by category?"""
import json
import sys
from collections import Counter
from decimal import Decimal

count, total, instants = Counter(), Counter(), Counter()
with open(sys.argv[1], encoding="utf-8") as f:
    trace = json.load(f, parse_float=Decimal, parse_int=Decimal)
for e in trace["traceEvents"]:
    cat = e.get("cat", "")
    if e["ph"] == "X" and cat == "cuda_event":
        instants[cat] += 1
    elif e["ph"] == "X":
        count[cat] += 1
        total[cat] += int(Decimal(e.get("dur", 0)) * 1000)
    elif e["ph"] in "iIR":
        instants[cat] += 1
with open(sys.argv[2], encoding="utf-8") as f:
    got = json.load(f)
assert got["slices"] == dict(count), (got["slices"], dict(count))
assert got["total_ns"] == dict(total), (got["total_ns"], dict(total))
for cat, n in instants.items():
    assert got["instants"].get(cat) == n, (cat, n, got["instants"])
assert got["open"] == 0
