#!/usr/bin/env python3
"""check.py FILE: is it OpenMetrics text as its specification wants it? Prints {family: [[labels, value], ...]} as JSON."""
import json
import re
import sys
from decimal import Decimal

SUFFIXES = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')


def labels(text):
    found, at = {}, 0
    while at < len(text):
        m = LABEL.match(text, at)
        assert m, text
        assert m.group(1) not in found
        found[m.group(1)] = m.group(2)
        at = m.end()
    return found


with open(sys.argv[1], encoding="utf-8", newline="") as f:
    text = f.read()
assert text.endswith("# EOF\n") and "\r" not in text
lines = text.split("\n")[:-1]
families, family, seen = {}, None, set()
for i, line in enumerate(lines):
    assert line, "an empty line"
    if line == "# EOF":
        assert i == len(lines) - 1
        break
    if line.startswith("#"):
        _, word, name, rest = line.split(" ", 3)
        if word == "TYPE":
            assert name not in families, name
            family = {"type": rest, "unit": "", "samples": []}
            families[name] = family
            current = name
        assert name == current
        if word == "UNIT":
            assert name.endswith("_" + rest) and not family["samples"]
            family["unit"] = rest
        assert word in ("TYPE", "UNIT", "HELP")
        continue
    m = SAMPLE.match(line)
    assert m, line
    name, found = m.group(1), labels(m.group(3) or "")
    assert any(name == current + s for s in SUFFIXES[family["type"]]), line
    key = (name, tuple(sorted(found.items())))
    assert key not in seen, "a series twice: " + line
    seen.add(key)
    value = Decimal(m.group(4))
    assert family["type"] == "gauge" or value >= 0, line
    family["samples"].append([name, found, str(value)])
for name, f in families.items():
    if f["type"] != "histogram":
        continue
    buckets = [(Decimal(s[1]["le"].replace("+Inf", "Infinity")), Decimal(s[2])) for s in f["samples"] if s[0].endswith("_bucket")]
    assert buckets == sorted(buckets) and buckets[-1][0] == Decimal("Infinity")
    assert [b[1] for b in buckets] == sorted(b[1] for b in buckets)
    assert buckets[-1][1] == Decimal(next(s[2] for s in f["samples"] if s[0].endswith("_count")))
print(json.dumps({"series": len(seen), "families": families}, sort_keys=True))
