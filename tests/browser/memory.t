#!/bin/sh
# The page of trace-memory in headless Chromium. Skipped where there is no browser.
here=$(cd "$(dirname "$0")" && pwd)
for need in node chromium python3; do
    command -v $need >/dev/null 2>&1 || { echo "1..0 # SKIP $need is missing"; exit 0; }
done
memory=${GP_BIN:-$here/../../build/release/bin}/trace-memory
samples=$here/../../samples/memory
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# Three sites of 1000, 2000 and 4000 kB at 0, 1 and 2 ms; the second, whose name attacks, is freed at 3 ms, and at 4 ms memory runs out.
python3 - <<'END' || exit 1
import pickle
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'"
def frames(name, line):
    return [{"filename": "model.py", "line": line, "name": name}, {"filename": "train.py", "line": 7, "name": "main"}]
def entry(action, addr, size, at, name, line):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 10 ** 15 + at, "frames": frames(name, line)}
trace = [entry("segment_alloc", 1 << 40, 20 << 20, 0, "first", 1)]
trace += [entry("alloc", (1 << 40) + i * (4 << 20), 1024000 << i, 1000 * i, name, i + 1) for i, name in enumerate(["first", EVIL, "third"])]
trace += [entry(a, (1 << 40) + (4 << 20), 2048000, 3000, EVIL, 2) for a in ("free_requested", "free_completed")]
oom = entry("oom", 0, 1 << 30, 4000, "fourth", 4)
oom["device_free"] = 5 << 20
del oom["addr"]
trace.append(oom)
def block(i, size, state, name):
    return {"address": (1 << 40) + i, "size": size, "requested_size": size, "state": state, "frames": frames(name, 1)}
M = 1 << 20
blocks = [block(0, 1024000, "active_allocated", "first"), block(1024000, 8 * M - 1024000, "inactive", ""),
          block(8 * M, 4096000, "active_allocated", "third"), block(8 * M + 4096000, 12 * M - 4096000, "inactive", "")]
segment = {"device": 0, "address": 1 << 40, "total_size": 20 * M, "allocated_size": 5120000, "active_size": 5120000, "requested_size": 5120000,
           "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks}
marks = [{"stage": s, "name": "ProfilerStep#1", "device": 0, "time_us": 10 ** 15 + t} for s, t in (("START", 500), ("END", 3500))]
pickle.dump({"segments": [segment], "device_traces": [trace], "external_annotations": marks, "allocator_settings": {}}, open("evil.pickle", "wb"))
END
touch "a b.html"
"$memory" -q -f html evil.pickle -o evil.html --timeline 'a b.html' || exit 1
"$memory" -q -f html "$samples"/leak.pickle.gz -o leak.html || exit 1
"$memory" -q -f html "$samples"/ddp.rank0.pickle.gz "$samples"/ddp.rank1.pickle.gz -o ranks.html || exit 1
"$memory" -q -f json "$samples"/leak.pickle.gz -o leak.json || exit 1

. "$here/tries.sh"
tries node "$here/memory.js" "$scratch"
