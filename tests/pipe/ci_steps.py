#!/usr/bin/env python3
"""ci_steps.py ACTION.yml EVENT [INPUT=VALUE...]: runs the steps of a composite action as its runner does, one after the other, those with
"if" that hold, without the actions of others. Prints the steps; exits with the status of the one that failed."""
import os
import re
import subprocess
import sys

import yaml

action = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
given = dict(a.split("=", 1) for a in sys.argv[3:])
known = {"github.event_name": sys.argv[2], "github.token": "secret", "github.run_id": "1", "github.event.number": "7"}


def value(text):
    """Of an expression: names, texts, and == != && between them."""
    parts = [p.strip() for p in re.split(r"&&", text)]
    if len(parts) > 1:
        return all(value(p) for p in parts)
    m = re.match(r"(\S+) (==|!=) (\S+)$", parts[0])
    if m:
        return (value(m[1]) == value(m[3])) == (m[2] == "==")
    return parts[0][1:-1] if parts[0].startswith("'") else known[parts[0]]


def filled(text):
    words = {True: "true", False: "false"}
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda m: words.get(value(m[1]), value(m[1])), str(text))


for name, of in action["inputs"].items():
    known["inputs." + name] = given.pop(name) if name in given else filled(of["default"])
assert not given, given
for step in action["runs"]["steps"]:
    if "if" in step and not value(step["if"]):
        continue
    print("step:", step["name"], flush=True)
    if "run" not in step:
        filled(step["with"]["key"])
        continue
    said = os.path.abspath("output")
    open(said, "w").close()
    env = {**os.environ, **{key: filled(v) for key, v in step["env"].items()}, "GITHUB_OUTPUT": said, "GITHUB_STEP_SUMMARY": os.path.abspath("summary")}
    status = subprocess.run([step["shell"], "-eo", "pipefail", "-c", step["run"]], env=env).returncode
    if "id" in step:
        known.update((f"steps.{step['id']}.outputs.{key}", v) for key, v in (line.strip().split("=", 1) for line in open(said)))
    if status:
        sys.exit(status)
