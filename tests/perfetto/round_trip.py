#!/usr/bin/env python3
"""round_trip.py FILE...: through Perfetto's protobuf and back, trace-hta prints the same JSON but for the inputs and the places of
faults in them. Files that are not traces are passed over. Prints those that differ, and ends with 1 if there are any."""
import json
import os
import subprocess
import sys
import tempfile


def report(path):
    out = subprocess.run(["trace-hta", "-q", "-f", "json", path], capture_output=True, check=False)
    if out.returncode:
        return None
    answer = json.loads(out.stdout)
    answer.pop("inputs", None)
    for issue in answer.get("quality", {}).get("issues", []):
        issue["first_offset"] = None
    return answer


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        there = os.path.join(folder, "there.pftrace")
        for path in sys.argv[1:]:
            before = report(path)
            if before is None:
                continue
            subprocess.run(["trace-convert", "-q", "--to", "perfetto", "-o", there, path], check=True, stderr=subprocess.DEVNULL)
            after = report(there)
            if before != after:
                wrong += 1
                keys = [k for k in before if after is None or before[k] != after.get(k)]
                print("%s: %s" % (path, ", ".join(keys)))
    return wrong > 0


sys.exit(main())
