#!/usr/bin/env python3
"""held.py CHROME.json: the spans and instants of a trace as foreign.py prints them."""
import json
import re
import sys
from decimal import Decimal

with open(sys.argv[1], encoding="utf-8") as f:
    trace = json.load(f, parse_float=Decimal)
names, spans, instants = {}, [], 0
for e in trace["traceEvents"]:
    if e["ph"] == "M" and e["name"] == "thread_name":
        names[e["pid"], e["tid"]] = e["args"]["name"]
for e in trace["traceEvents"]:
    if e["ph"] == "X":
        track = re.sub(r"^stream 0+", "stream ", names.get((e["pid"], e["tid"]), ""))
        spans.append([track, e["name"], int(Decimal(e["ts"]) * 1000), int(Decimal(e.get("dur", 0)) * 1000)])
    instants += e["ph"] in "iIR"
json.dump({"spans": sorted(spans), "instants": instants}, sys.stdout)
