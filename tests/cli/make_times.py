#!/usr/bin/env python3
"""make_times.py FOLDER -- a trace of two GPUs (make_gpus.py) again and again with times that cannot be: in each file one event
of every category starts, or lasts, as long as a number in a file can say. Files ts_N.json and dur_N.json, N from 0 on."""
import copy
import json
import subprocess
import sys

folder = sys.argv[1]
maker = sys.argv[0].replace("make_times.py", "make_gpus.py")
doc = json.loads(subprocess.run([sys.executable, maker, "2"], check=True, capture_output=True).stdout)
# in microseconds; 2^63 ns is 9223372036854775.808 us, and 2^61 ns the farthest that is read
TIMES = [0, -1, -9223372036854775.808, 9223372036854775.807, 4611686018427387.903, -4611686018427387.903, 2305843009213693.952,
         -2305843009213693.952, 1080000000000000, 1e300, 144115188075855.872, 72057594037927.936]

for field in ("ts", "dur"):
    for number, value in enumerate(TIMES):
        changed = copy.deepcopy(doc)
        seen = set()
        for event in changed["traceEvents"][len(doc["traceEvents"]) // 3:]:
            kind = event.get("cat")
            if event["ph"] == "X" and kind not in seen:
                seen.add(kind)
                event[field] = "@"
        text = json.dumps(changed).replace('"@"', "%.3f" % value if abs(value) < 1e20 else "1e300")
        with open("%s/%s_%d.json" % (folder, field, number), "w") as f:
            f.write(text)
