#!/usr/bin/env python3
"""Are traces of programs that were killed what they should be?

    check_kills.py TRACES LOGS

TRACES/killN.trace is what was collected of `cuda/early killed`, LOGS/killN.out what it printed. Each trace must be whole
blocks, say that the process was ended by signal 9, hold no kernel twice, and hold GPU work that ended in the last 250 ms
before the kill. Prints one line; exit status 1 when one of them does not.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "schemas"))
import gpt_read  # noqa: E402

MAY_LOSE_NS = 250_000_000
SAID = re.compile(r"began_ns=(\d+) launched=(\d+) killed_ns=(\d+)")


def check(trace_path, log_path):
    """What is wrong with it, or None; how old its last event is; kernels that are missing, and unnamed ones."""
    said = SAID.search(open(log_path).read())
    if not said:
        return "it was not killed", 0, 0, 0
    began, launched, killed = map(int, said.groups())
    trace = gpt_read.Trace(open(trace_path, "rb").read())
    texts = [text for producer in trace.producers.values() for text in producer.strings.values()]
    gpu = trace.tables["gpu"]
    last = max((row["start_ns"] + row["dur_ns"] for row in gpu), default=0)
    corrs = [row["corr"] for row in gpu]
    unnamed = sum(b"unnamed" in row["name"] for row in gpu)
    wrong = None
    if any(kind == "bad_block" for kind, *_ in trace.issues):
        wrong = "it is damaged"
    elif not any(b"was ended by signal 9" in text for text in texts):
        wrong = "it does not say how the process ended"
    elif len(set(corrs)) != len(corrs):
        wrong = "kernels are there twice"
    elif last < killed - MAY_LOSE_NS and began < killed - MAY_LOSE_NS:
        wrong = f"its last event is {(killed - last) / 1e6:.1f} ms older than the kill"
    return wrong, killed - max(last, began), max(launched + 1 - len(gpu), 0), unnamed


def main():
    traces, logs = sys.argv[1:]
    worst = missing = unnamed = 0
    names = sorted(name[:-6] for name in os.listdir(traces) if re.fullmatch(r"kill\d+\.trace", name))
    bad = []
    for name in names:
        wrong, age, lacks, without = check(os.path.join(traces, name + ".trace"), os.path.join(logs, name + ".out"))
        worst, missing, unnamed = max(worst, age), max(missing, lacks), unnamed + without
        if wrong:
            bad.append(f"{name}: {wrong}")
    verdict = "BAD" if bad or not names else "ok"
    print(f"{verdict} {len(names)} kills; last event {worst / 1e6:.1f} ms before the kill at most, {missing} kernels missing at most,"
          f" {unnamed} without a name", *bad[:3], sep="; ")
    return verdict == "BAD"


if __name__ == "__main__":
    sys.exit(main())
