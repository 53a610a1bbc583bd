#!/usr/bin/env python3
"""pack.py [--whole] FROM TO: a recording for this repository: without what was recorded before the first kernel's launch (--whole: with
it), and without the folders of the machine in file names. GPUPROF_BIN is where the tools are."""

import json
import os
import re
import subprocess
import sys

BIN = os.environ.get("GPUPROF_BIN") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release/bin")
# Folders of packages, of Python and of these programs.
FOLDERS = re.compile(r'(?<![\w.])/[^"\s()]*?/(?=(?:site-packages|dist-packages)/|python3\.\d+/|samples/\w+/)(?:site-packages/|dist-packages/)?')
BEFORE_US = 1000


def main(source, target, whole):
    convert = os.path.join(BIN, "trace-convert")
    text = subprocess.run([convert, "-q", "--to", "chrome", source], capture_output=True, check=True).stdout
    trace = json.loads(text)
    events = trace["traceEvents"]
    begin = float("-inf") if whole else min(e["ts"] for e in events if e.get("cat") == "cuda_runtime" and e.get("ph") == "X") - BEFORE_US
    trace["traceEvents"] = [e for e in events if e.get("ph") in ("M", "s", "f", "t") or e.get("ts", begin) >= begin]
    text = FOLDERS.sub("", json.dumps(trace)).encode()
    with open(target, "wb") as f:
        subprocess.run([convert, "-q", "--to", "gpuprof", "--compress", "zstd", "-"], input=text, stdout=f, check=True)


if __name__ == "__main__":
    paths = [a for a in sys.argv[1:] if a != "--whole"]
    if len(paths) != 2:
        sys.exit(__doc__)
    main(*paths, whole="--whole" in sys.argv)
