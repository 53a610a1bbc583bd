#!/usr/bin/env python3
"""check_serve.py OPENAPI API ANSWER... -- does the description of the API fit the server? API is the answer of /api; each
ANSWER is NAME=FILE, a schema of the description and an answer that it must accept."""
import json
import sys

import jsonschema

spec = json.load(open(sys.argv[1]))
api = json.load(open(sys.argv[2]))
faults = []


def schema(name):
    return {"$ref": "#/components/schemas/" + name, "components": spec["components"]}


def check(name, answer, where):
    for e in jsonschema.Draft7Validator(schema(name)).iter_errors(answer):
        faults.append(f"{where}: {'/'.join(map(str, e.path))}: {e.message}")


check("api", api, "/api")
described = {(method.upper(), path) for path, item in spec["paths"].items() for method in item}
served = {(r["method"], r["path"]) for r in api["routes"]}
faults += [f"{m} {p} is described, not served" for m, p in sorted(described - served)]
faults += [f"{m} {p} is served, not described" for m, p in sorted(served - described)]
for r in api["routes"]:
    item = spec["paths"].get(r["path"], {}).get(r["method"].lower())
    if item and item["summary"] != r["does"]:
        faults.append(f"{r['path']}: described as \"{item['summary']}\", served as \"{r['does']}\"")


def parameters(path):
    return {p["name"]: p for p in spec["paths"][path]["get"]["parameters"]}


shared = parameters("/api/profiler/{question}")
names = [q["name"] for q in api["questions"]]
own = {"advice": "/api/advice", "compare": "/api/compare"}
if set(shared["question"]["schema"]["enum"]) != set(names) - set(own) - {"perfetto"}:
    faults.append("the questions of /api/profiler differ")
for path, questions in [("/api/profiler/{question}", [q for q in api["questions"] if q["name"] not in own and q["name"] != "perfetto"])] + [
        (path, [q for q in api["questions"] if q["name"] == name]) for name, path in own.items()]:
    known = parameters(path)
    formats = {f for q in questions for f in q["formats"]}
    args = {a for q in questions for a in q["args"]}
    if set(known["format"]["schema"]["enum"]) != formats:
        faults.append(f"{path}: formats {sorted(formats)} are served")
    if set(known) - {"format", "trace", "a", "b", "question"} != args:
        faults.append(f"{path}: arguments {sorted(args)} are served")
for arg in sys.argv[3:]:
    name, _, file = arg.partition("=")
    answer = json.load(open(file))
    for one in answer if isinstance(answer, list) else [answer]:
        check(name, one, file)
print("\n".join(faults))
sys.exit(1 if faults else 0)
