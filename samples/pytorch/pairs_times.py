"""Time the variants of pairs.py with no recorder in the process, and record them with the pace: samples/pairs/paced.

usage: pairs_times.py OUT SECONDS BIN [VARIANT...]
       pairs_times.py --one VARIANT [--window]

First each variant that is the first of a pair is recorded by BIN/gpuprof-collect into OUT/VARIANT.trace: its own clock times settled steps,
then come steps in ranges, of which the last are recorded. Then every variant is timed in a process of its own, and once more while SECONDS
last, with all others in between, since two processes of a program differ. OUT/steps.tsv gets a row plain_VARIANT with the median of its mean
step times and each of them, and a row own_VARIANT by the clock of the process that was recorded. What fails is named.
"""

import os
import re
import statistics
import subprocess
import sys
import time

from variants import PAIRS, VARIANTS, settings

SETTLE_S, TIMED_S, LIMIT_S, FIRST, LAST, STEPS = 0.3, 0.6, 60, 60, 65, 72


def run_for(seconds, work):
    """Steps for about so long, their number known before; the mean time of one, ns."""
    import pairs

    pairs.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(2):
        work.step()
    pairs.synchronize()
    steps = max(4, min(2000, int(seconds * 2e9 / (time.perf_counter_ns() - begin))))
    begin = time.perf_counter_ns()
    for _ in range(steps):
        work.step()
    pairs.synchronize()
    return (time.perf_counter_ns() - begin) // steps


def one(name, window):
    import pairs
    import torch

    v = settings(name)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high" if v["dtype"] == "tf32" else "highest")
    with torch.set_grad_enabled(v["work"] in ("train", "mlp")):
        work = pairs.WORK[v["work"]](v, "cuda")
        for _ in range(pairs.WARMUP):
            work.step()
        run_for(SETTLE_S, work)
        print(f"step_ns={run_for(TIMED_S, work)}", flush=True)
        if window:
            pairs.measured(STEPS, work.step)


def ns_of(name, *before, window=()):
    command = [*before, sys.executable, os.path.abspath(__file__), "--one", name, *window]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        found, why = re.search(r"step_ns=(\d+)", ran.stdout), ran.stderr
    except subprocess.TimeoutExpired:
        found, why = None, "took longer than its limit"
    if not found:
        print(f"failed\t{name}\t{why.strip()[-200:]}", flush=True)
    return int(found[1]) if found else None


def main():
    if sys.argv[1:2] == ["--one"]:
        return one(sys.argv[2], "--window" in sys.argv)
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    out, end, tool = sys.argv[1], time.monotonic() + float(sys.argv[2]), os.path.join(sys.argv[3], "gpuprof-collect")
    names, found = sys.argv[4:] or list(VARIANTS), {}
    for name in dict.fromkeys(before for before, after, _ in PAIRS if before in names and after in names):
        collect = [tool, "-q", "--start", f"range:ProfilerStep#{FIRST}", "--stop", f"range:ProfilerStep#{LAST}", "-o", f"{out}/{name}.trace", "--"]
        found[f"own_{name}"] = [ns_of(name, *collect, window=("--window",))]
    while time.monotonic() < end:
        for name in names:
            if time.monotonic() < end and None not in found.setdefault(f"plain_{name}", []):
                found[f"plain_{name}"].append(ns_of(name))
    with open(f"{out}/steps.tsv", "w") as file:
        for name, rounds in found.items():
            ns = [r for r in rounds if r]
            if ns:
                file.write(f"{name}\tstep_mean_ns={int(statistics.median(ns))} rounds_ns={','.join(map(str, ns))}\n")


if __name__ == "__main__":
    main()
