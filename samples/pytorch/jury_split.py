"""Cut the windows of one recording of jury.py into a trace for each program.

usage: jury_split.py TRACE_CONVERT WINDOW.trace OUT
"""

import decimal
import json
import pathlib
import subprocess
import sys


def split(tool, source, out):
    text = subprocess.run([tool, "-q", "--to", "chrome", source], check=True, capture_output=True).stdout
    doc = json.loads(text, parse_float=str)
    events = doc.pop("traceEvents")
    windows = [(e["name"].partition(":")[2], e["ts"], e["dur"]) for e in events if e.get("ph") == "X" and e["name"].startswith("program:")]
    for name, ts, dur in windows:
        begin, end = decimal.Decimal(ts), decimal.Decimal(ts) + decimal.Decimal(dur)
        kept = [e for e in events if e.get("ph") == "M" or begin <= decimal.Decimal(str(e.get("ts", -1))) < end]
        kept = [e for e in kept if not str(e.get("name", "")).startswith("program:")]
        whole = dict(doc, traceEvents=kept)
        path = out / f"{name}.json"
        path.write_text(dump(whole))
        subprocess.run([tool, "-q", "--to", "gpuprof", "-o", str(out / f"{name}.trace"), str(path)], check=True)
        path.unlink()


def dump(doc):
    """JSON with the numbers that parse_float left as text."""

    def one(v):
        if isinstance(v, dict):
            return "{" + ",".join(f"{json.dumps(k)}:{number(k, x)}" for k, x in v.items()) + "}"
        if isinstance(v, list):
            return "[" + ",".join(one(x) for x in v) + "]"
        return json.dumps(v)

    def number(key, v):
        return v if key in ("ts", "dur") and isinstance(v, str) else one(v)

    return one(doc)


if __name__ == "__main__":
    split(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
