#!/usr/bin/env python3
"""same.py CHROME.json PERFETTO.pf [CHROME.json PERFETTO.pf]...: do both of each pair hold the same slices, in number and in
nanoseconds, by category? Prints the names of those that do not, and ends with 1 if there are any."""
import json
import sys
from collections import Counter
from decimal import Decimal

from decode import decode


def compare(chrome, perfetto):
    count, total, instants = Counter(), Counter(), Counter()
    with open(chrome, encoding="utf-8") as f:
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
    got = decode(perfetto)
    assert got["slices"] == dict(count), (got["slices"], dict(count))
    assert got["total_ns"] == dict(total), (got["total_ns"], dict(total))
    for cat, n in instants.items():
        assert got["instants"].get(cat) == n, (cat, n, got["instants"])
    assert got["open"] == 0


wrong = 0
for pair in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    try:
        compare(*pair)
    except (AssertionError, IndexError, KeyError) as e:
        wrong += 1
        print("%s: %r" % (pair[0], e))
sys.exit(wrong > 0)
