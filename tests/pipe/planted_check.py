#!/usr/bin/env python3
"""planted_check.py REPORT.json TRUTH CAUSES FUNCTION -- is FUNCTION with the first of CAUSES the first culprit of the idle time of
a report of trace-hta, with its line, its samples, and within five points of the share that the program measured itself? The share
is that of the cause, or of the function where there are several causes between commas. FUNCTION is a regular expression."""
import json
import re
import sys

report, truth, causes, function = sys.argv[1:]
cause = causes.split(",")[0]
device = json.load(open(report, encoding="utf-8"))["devices"][0]
share_pct = int(open(truth, encoding="utf-8").read()) / 1e4
# A busy machine runs the sampler late: what no sample was taken of is in neither share.
known = [c for c in device["idle_culprits"] if c["python"]]
first = known[0]
in_function = re.compile(r".*\([1-9][0-9]*\): " + function)
if cause == causes:
    found = [c for c in known if c["cause"] == cause]
else:
    found = [c for c in known if in_function.fullmatch(c["python"] or "")]
found_pct = 100 * sum(c["idle_ns"] for c in found) / sum(c["idle_ns"] for c in known)
wrong = []
if first["cause"] != cause:
    wrong.append("cause is not " + cause)
if not in_function.fullmatch(first["python"] or ""):
    wrong.append("function is not " + function)
if first["samples"] < 5:
    wrong.append("too few samples")
if sum(device["idle"].values()) != device["idle_ns"]:
    wrong.append("causes do not sum to idle_ns")
if abs(found_pct - share_pct) > 5:
    wrong.append("share is off by more than 5 points")
print("%s: %.1f%%, measured by the program %.1f%%, first: %s" % (cause, found_pct, share_pct, first))
if wrong:
    sys.exit("; ".join(wrong))
