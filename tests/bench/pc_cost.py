#!/usr/bin/env python3
"""What sampling program counters costs: steps of real programs (programs.py), bare and under gpuprof-collect --pc-sample at its default period.

usage: pc_cost.py --out DIR [--programs NAME...] [--pairs N] [--seconds S] [--recorded] [--gpus N] [--limit S]
       pc_cost.py --report FILE

A pair is a bare process and then a sampled one, or the other way round in every second pair. They run one after the other, since a sampler may
slow other processes on its GPU. With --recorded, a pair has a third process, recorded without samples, since --pc-sample records everything
else, too. Each is warm before S seconds of its steps are timed. Every program has its first pair before any has its second. With several GPUs
the programs are divided among them. No process begins after the limit.

Writes a line of JSON per process to DIR/pc_cost.jsonl as it goes, and what a process said at its end to DIR/PROGRAM.SIDE.PAIR.err if it failed.
Prints per program how the median step of the sampled processes compares with the others: the geometric mean of the pairs' ratios, and the 95%
interval of that mean by Student's t of their logarithms, which one pair does not have.

GPUPROF_BIN   where gpuprof-collect is (default: build/release/bin)
"""

import argparse
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("GPUPROF_BIN", HERE / "../../build/release/bin"))
PROGRAMS = ["decoder", "llama", "resnet", "gnn", "jax", "cupy"]
OPTIONS = {"bare": None, "recorded": [], "sampled": ["--pc-sample"]}
PROCESS_S = 120  # at most, beside the timed steps
T95 = [None, None, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]  # of N values; more are taken as 10


class Measurement:
    def __init__(self, args):
        self.args = args
        self.out = pathlib.Path(args.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.lines = open(self.out / "pc_cost.jsonl", "a")
        self.lock = threading.Lock()
        self.end = time.monotonic() + args.limit

    def command(self, program, side, trace):
        run = [sys.executable, str(HERE / "programs.py"), program]
        return run if OPTIONS[side] is None else [str(BIN / "gpuprof-collect"), *OPTIONS[side], "-o", str(trace), "--", *run]

    def steps(self, process, last):
        """The ns of each step, and what the process said; after LAST it is killed."""
        killer = threading.Timer(max(1, last - time.monotonic()), os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        try:
            guess = next((int(line.split()[1]) for line in process.stdout if line.startswith("ready ")), None)
            steps = []
            if guess:
                process.stdin.write(f"none {max(10, round(self.args.seconds * 1e9 / guess))} 0\n")
                process.stdin.flush()
                steps = [int(ns) for ns in process.stdout.readline().split()]
            process.stdin.close()
            process.wait()
        except (OSError, ValueError):
            steps = []
        finally:
            killer.cancel()
        return steps

    def measure(self, gpu, program, side, pair):
        trace = self.out / f"gpu{gpu}.trace"
        said = self.out / f"{program}.{side}.{pair}.err"
        began = time.monotonic()
        with open(said, "w+") as err:
            process = subprocess.Popen(
                self.command(program, side, trace), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True,
                env=dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu)))
            steps = self.steps(process, began + PROCESS_S + self.args.seconds)
            err.seek(0)
            last = [line for line in err.read().splitlines() if line.startswith("gpuprof-collect: ")][-1:]
        fine = process.poll() == 0 and steps
        if fine:
            said.unlink()
        row = {"program": program, "side": side, "pair": pair, "gpu": gpu, "status": process.poll(), "steps": len(steps),
               "median_ns": int(statistics.median(steps[2:])) if len(steps) > 2 else None, "least_ns": min(steps, default=None),
               "process_s": round(time.monotonic() - began, 1), "trace_bytes": trace.stat().st_size if trace.exists() else None, "said": last}
        trace.unlink(missing_ok=True)
        with self.lock:
            print(json.dumps(row), file=self.lines, flush=True)

    def all_on(self, gpu, programs):
        sides = ["bare", "recorded", "sampled"] if self.args.recorded else ["bare", "sampled"]
        for pair in range(self.args.pairs):
            for program in programs:
                for side in sides if pair % 2 == 0 else reversed(sides):
                    if time.monotonic() < self.end:
                        self.measure(gpu, program, side, pair)


def ratio(rows, program, other):
    """The pairs' ratios in which both have run, their geometric mean, and its interval."""
    medians = {(r["side"], r["pair"]): r["median_ns"] for r in rows if r["program"] == program and r["status"] == 0 and r["median_ns"]}
    logs = [math.log(ns / medians[other, pair]) for (side, pair), ns in sorted(medians.items()) if side == "sampled" and (other, pair) in medians]
    if not logs:
        return [], None, None
    mean = statistics.fmean(logs)
    half = T95[min(len(logs), 10)] * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else None
    return [math.exp(v) for v in logs], math.exp(mean), half if half is None else (math.exp(mean - half), math.exp(mean + half))


def report(path):
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    for program in dict.fromkeys(r["program"] for r in rows):
        bare = [r["median_ns"] for r in rows if r["program"] == program and r["side"] == "bare" and r["median_ns"]]
        failed = sum(r["program"] == program and (r["status"] != 0 or not r["median_ns"]) for r in rows)
        ms = f"{statistics.median(bare) / 1e6:.3f} ms bare" if bare else "no bare step"
        for other in ("bare", "recorded"):
            ratios, mean, interval = ratio(rows, program, other)
            if other == "recorded" and not ratios:
                continue
            between = f"[{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "[no interval]"
            cost = f"sampled / {other} {mean:.3f} {between}, {len(ratios)} pairs" if mean else f"no pair sampled and {other}"
            print(f"{program:8} {ms}, {cost}{f', {failed} processes failed' if failed else ''}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--report", metavar="FILE", help="print once more what FILE holds")
    parser.add_argument("--programs", nargs="+", default=PROGRAMS, choices=PROGRAMS, metavar="NAME", help="of " + ", ".join(PROGRAMS))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, metavar="S", help="of steps per process (default: 4)")
    parser.add_argument("--recorded", action="store_true", help="a third process per pair, recorded without samples")
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="divide the programs among N GPUs")
    parser.add_argument("--limit", type=float, default=3600, metavar="S", help="begin no process after S seconds")
    args = parser.parse_args()
    if args.report:
        return report(args.report)
    if not args.out:
        parser.error("--out or --report is needed")
    measurement = Measurement(args)
    threads = [threading.Thread(target=measurement.all_on, args=(g, args.programs[g :: args.gpus])) for g in range(args.gpus)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return report(measurement.out / "pc_cost.jsonl")


if __name__ == "__main__":
    sys.exit(main())
