#!/usr/bin/env python3
"""What gpuprof-collect --budget really costs: steps of real programs (programs.py), timed by themselves, in windows and beside them.

usage: budget_cost.py --out DIR [--programs NAME...] [--budget P] [--seconds S] [--turns N] [--limit S]
       budget_cost.py --report DIR

Each program runs alone under --budget, is warm, and times its steps for S seconds. A window costs what its steps take longer than those of the
pauses at most 0.8 s away, on average; the host's own drift, which makes processes and seconds differ by more than any cost, falls out. A step
that lies in a window in part belongs to it. The cost of a run is that of its windows to the time without them, with a 95% interval by bootstrap
over windows. What stays in the pauses is not in it: attach_loop.py measures that. With --turns every program has its first before any has its
second; no run begins after the limit.

Writes DIR/PROGRAM.TURN.steps.json (start and duration of each step, ns of CLOCK_MONOTONIC), .trace and .err, and prints a line per run.

GPUPROF_BIN   where gpuprof-collect and trace-convert are (default: build/release/bin)
"""

import argparse
import gc
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("GPUPROF_BIN", HERE / "../../build/release/bin"))
PROGRAMS = ["decoder", "llama", "resnet", "gnn", "jax", "cupy"]
BESIDE_NS, OPENS_NS, CLOSES_NS = 800_000_000, 5_000_000, 20_000_000


def steps(program, seconds, path):
    """Run in a process of its own."""
    import programs

    step, wait = getattr(programs, program)()
    for _ in range(8):
        step()
        wait()
    gc.collect()
    gc.disable()
    rows, until = [], time.monotonic_ns() + int(seconds * 1e9)
    while (start := time.monotonic_ns()) < until:
        step()
        wait()
        rows.append((start, time.monotonic_ns() - start))
    pathlib.Path(path).write_text(json.dumps(rows))


def windows_of(trace):
    """(begin, end) in ns of CLOCK_MONOTONIC; the first one began with the program."""
    text = subprocess.run([BIN / "trace-convert", "-q", "--to", "chrome", trace], capture_output=True, text=True, check=True).stdout
    marks = sorted((e["ts"] * 1e3, e["name"]) for e in json.loads(text)["traceEvents"] if e.get("name") in ("recording starts", "recording stops"))
    windows, begin = [], float("-inf")
    for at, name in marks:
        if name == "recording starts":
            begin = at
        elif begin is not None:
            windows.append((begin, at))
            begin = None
    return windows + ([(begin, float("inf"))] if begin is not None else [])


def costs(rows, windows):
    """What each window cost in ns, of those that have steps inside and beside."""
    found = []
    for i, (begin, end) in enumerate(windows):
        last = windows[i - 1][1] if i else float("-inf")
        following = windows[i + 1][0] if i + 1 < len(windows) else float("inf")
        inside = [d for a, d in rows if a + d > begin - OPENS_NS and a < end + CLOSES_NS]
        beside = [d for a, d in rows if (max(last + CLOSES_NS, begin - BESIDE_NS) <= a and a + d <= begin - OPENS_NS)
                  or (end + CLOSES_NS <= a and a + d <= min(following - OPENS_NS, end + BESIDE_NS))]  # fmt: skip
        if inside and beside:
            found.append(len(inside) * (statistics.fmean(inside) - statistics.fmean(beside)))
    return found


def report(out, name):
    rows = json.loads((out / f"{name}.steps.json").read_text())
    windows = windows_of(out / f"{name}.trace")
    each, time_ns, rng = costs(rows, windows), rows[-1][0] + rows[-1][1] - rows[0][0], random.Random(1)
    share = lambda total: 100 * total / (time_ns - total)  # noqa: E731
    drawn = sorted(share(sum(rng.choices(each, k=len(each)))) for _ in range(2000)) if each else [0] * 2000
    left = (out / f"{name}.err").read_text(errors="replace").count("CUPTI has left the process")
    print(f"{name:<12} {share(sum(each)):5.2f}% ({drawn[50]:.2f} to {drawn[1949]:.2f}) in {time_ns / 1e9:.0f} s, {len(rows)} steps of "
          f"{statistics.median(d for _, d in rows) / 1e6:.2f} ms, {len(windows)} windows, CUPTI left {left} times", flush=True)  # fmt: skip


def main():
    if sys.argv[1:2] == ["--be"]:
        return steps(sys.argv[2], float(sys.argv[3]), sys.argv[4])
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--report", type=pathlib.Path)
    p.add_argument("--programs", nargs="+", default=PROGRAMS)
    p.add_argument("--budget", default="2%")
    p.add_argument("--seconds", type=float, default=28)
    p.add_argument("--turns", type=int, default=1)
    p.add_argument("--limit", type=float, default=float("inf"))
    o = p.parse_args()
    if o.report:
        for path in sorted(o.report.glob("*.steps.json")):
            report(o.report, path.name[: -len(".steps.json")])
        return None
    o.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + o.limit
    for turn in range(1, o.turns + 1):
        for program in o.programs:
            if time.monotonic() > end:
                break
            name = f"{program}.{turn}"
            command = [BIN / "gpuprof-collect", "--budget", o.budget, "-o", o.out / f"{name}.trace", "--",
                       sys.executable, __file__, "--be", program, str(o.seconds), o.out / f"{name}.steps.json"]  # fmt: skip
            with open(o.out / f"{name}.err", "wb") as err:
                done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=err, env={**os.environ, "GPUPROF_DEBUG": "1"}, timeout=o.seconds + 90)
            if done.returncode:
                print(f"{name}: exit status {done.returncode}", flush=True)
            else:
                report(o.out, name)
    return None


if __name__ == "__main__":
    main()
