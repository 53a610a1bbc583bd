#!/usr/bin/env python3
"""Holds what samples of program counters predict of the kernels of this folder against what their fixes save.

    measure.py record --out DIR [--set first|second|third|fourth|fifth|sixth] [--stalls FILE] [--collect FILE] [--gpus N] [--counters]
    measure.py record --out DIR --ncu FILE [--stalls FILE] [--gpus N]
    measure.py report DIR [--set first|second|third|fourth|fifth|sixth] [--bin FOLDER] [--counters]

`record` needs a GPU: it times each kernel and its step with the fault and with the fix, unrecorded and by turns, then records the fault with
--pc-sample. A recording that fails is tried once more when all others are over, and NAME.log has the end of what the failed one said. With
--ncu it only counts the stalls of five kernels of the first set with Nsight Compute. `report` needs no GPU: it asks trace-metrics and
trace-suggest, and prints a line of JSON and of a table for each kernel. "inside": the share that the fix saved lies in the predicted interval.
With --counters, `record` counts what three launches do in another recording, NAME.counters.trace (or one for all Triton kernels, triton.counters.trace), and `report` predicts with it.

    measure.py fit [--bin FOLDER] [--counters] SET=DIR...

`fit` asks how intervals must be corrected (analyze/metrics/README.md, "Corrections"), so that of the kernels of all sets but one, as many as possible
lie inside while the median width is at most 28 points; and prints what that gives for the one that was left out. With --counters, only kernels with counters.
"""

import argparse
import collections
import itertools
import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
STEMS = {"first": "stalls", **{name: name for name in ("second", "third", "fourth", "fifth", "sixth")}}  # of its two files
SETS = {name: {"cuda": HERE / f"{stem}.cu", "triton": HERE / f"{stem}_triton.py"} for name, stem in STEMS.items()}
NCU = ["uncoalesced", "bank_conflicts", "dependent_chain", "low_occupancy", "barrier"]
COUNTED = ["--metrics=why", "--metrics-passes=5", "--metrics-every=10"]
RECORD_S = 120  # of one process, which may compile ten kernels
SAID_LINES = 50  # of a recording that failed

Fault = collections.namedtuple("Fault", "name kind file lines function")


def faults(sources):
    """Each kernel with its marked lines and the function around them."""
    found = {}
    for kind, path in sources.items():
        function = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            head = re.search(r"__global__ void (?:__launch_bounds__\(.*?\) )?(\w+)\(|^def (\w+)\(", line)
            function = head.group(1) or head.group(2) if head else function
            mark = re.search(r"(?://|#) FAULT (\w+)$", line)
            if mark:
                found.setdefault(mark.group(1), Fault(mark.group(1), kind, path.name, [], function)).lines.append(number)
    return list(found.values())


# ---- record ----


class Recorder:
    def __init__(self, args):
        self.args = args
        self.out = pathlib.Path(args.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.failed = []  # [GPU, fault] of recordings
        self.end = time.monotonic() + args.limit

    def log(self, name, text):
        with open(self.out / f"{name}.log", "a") as log:
            log.write(text)

    def run(self, gpu, command, **variables):
        """Its exit status, standard output and standard error."""
        patience = min(RECORD_S, self.end - time.monotonic())
        if patience <= 0:
            return -1, "", f"not begun: {self.args.limit:.0f} s are over\n"
        env = dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu), **variables)
        try:
            process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        except OSError as error:
            return -1, "", f"{error}\n"
        try:
            out, said = process.communicate(timeout=patience)
            return process.returncode, out, said
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the program under the collector, too
            out, said = process.communicate()
            return -1, out, f"{said}\nstill running after {patience:.0f} s\n"

    def command(self, fault):
        if fault.kind == "cuda":
            return [self.args.stalls, fault.name]
        return [sys.executable, str(self.args.sources["triton"]), fault.name]

    def time(self, gpu, name, command, mine):
        _, rows, said = self.run(gpu, [*command, "--both", "--seconds", "1"])
        self.log(name, said)
        for fault in mine:
            (self.out / f"{fault.name}.times").write_text("".join(f"{row}\n" for row in rows.splitlines() if f'"{fault.name}"' in row))

    def record(self, gpu, fault, more=()):
        """Whether the trace has samples. What was said of a recording that failed is kept, else its last line."""
        trace = self.out / f"{fault.name}.trace"
        status, _, said = self.run(gpu, [self.args.collect, "--pc-sample", "-o", str(trace), "--", *self.command(fault), "--seconds", "1", *more],
                                   GPUPROF_DEBUG="1")
        fine = status == 0 and trace.exists() and re.search(r"[1-9]\d* samples of program counters", said) is not None
        if not fine:
            self.log(fault.name, f"recording failed with {status} on GPU {gpu}\n")
        self.log(fault.name, "".join(said.splitlines(keepends=True)[-1 if fine else -SAID_LINES:]))
        if fine and self.args.counters:
            counted = [self.args.collect, *COUNTED, "-o", str(self.out / f"{fault.name}.counters.trace"), "--", *self.command(fault), "--steps", "30"]
            status, _, said = self.run(gpu, [*counted, *more])
            self.log(fault.name, "".join(said.splitlines(keepends=True)[-1:]) if status == 0 else f"counting failed with {status}\n{said}")
        return fine

    def record_later(self, gpu, fault, more):
        if not self.record(gpu, fault, more):
            self.failed.append((gpu, fault))

    def again(self):
        """The names of the kernels whose recordings failed twice."""
        missing = set()
        for gpu, fault in self.failed:
            self.log(fault.name, "tried again\n")
            fine = self.record(gpu, fault)
            print(f"{fault.name}: recording failed, and {'succeeded' if fine else 'failed again'} when tried once more")
            if not fine:
                missing.add(fault.name)
        return missing

    def compare(self, gpu, fault):
        _, counted, said = self.run(gpu, [
            self.args.ncu, "--csv", "--page", "raw", "--clock-control", "none", "--cache-control", "none", "--kernel-name", fault.function,
            "--launch-skip", "20", "--launch-count", "3", "--metrics",
            "group:smsp__pcsamp_warp_stall_reasons,group:smsp__pcsamp_warp_stall_reasons_not_issued", *self.command(fault), "--steps", "30"])
        self.log(fault.name, said)
        (self.out / f"{fault.name}.ncu.csv").write_text(counted)

    def count_on(self, gpu, mine):
        for fault in mine:
            self.compare(gpu, fault)

    def record_on(self, gpu, mine):
        for fault in mine:
            if fault.kind == "cuda":
                self.time(gpu, fault.name, self.command(fault), [fault])
                self.record_later(gpu, fault, ())
        triton = [f for f in mine if f.kind == "triton"]
        if not triton:
            return
        self.time(gpu, f"triton{gpu}", [sys.executable, str(self.args.sources["triton"]), *(f.name for f in triton)], triton)
        # They import PyTorch side by side, and use the GPU one after the other.
        lock = ["--lock", str(self.out / f"gpu{gpu}.lock")]
        threads = [threading.Thread(target=self.record_later, args=(gpu, f, lock)) for f in triton]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def record(args):
    recorder = Recorder(args)
    wanted = [f for f in faults(args.sources) if (not args.only or f.name in args.only) and (not args.ncu or f.name in NCU)]
    work = recorder.count_on if args.ncu else recorder.record_on
    threads = [threading.Thread(target=work, args=(g, wanted[g :: args.gpus])) for g in range(args.gpus)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if args.ncu:
        return 0
    missing = recorder.again()
    for fault in wanted:
        print(f"{fault.name}: {'no samples' if fault.name in missing else 'recorded'}, {(recorder.out / (fault.name + '.times')).read_text()!r}")
    return 0


# ---- report ----


def answer(args, tool, trace):
    counters = [c for c in (trace.with_suffix(".counters.trace"), trace.with_name("triton.counters.trace")) if c.exists()]
    more = ["--counters", counters[0]] if args.counters and counters else []
    done = subprocess.run([pathlib.Path(args.bin) / tool, "-q", "-f", "json", *more, trace], stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.stdout else {}


def measured(folder, name):
    """Shares in percent that the fix saved of the kernel and of the step; None where that was not measured."""
    path = folder / f"{name}.times"
    rows = {r["fixed"]: r for r in map(json.loads, path.read_text().splitlines())} if path.exists() else {}
    if len(rows) < 2:
        return None, None
    return tuple(100 * (1 - rows[True][f"{what}_us"] / rows[False][f"{what}_us"]) for what in ("kernel", "step"))


def predicted(args, trace, fault):
    """The row of the kernel, and the interval of the step in percent."""
    stalls = answer(args, "trace-metrics", trace).get("stalls", [])
    kernel = next((s for s in stalls if re.search(rf"\b{fault.function}\b", s["label"])), None)
    advice = answer(args, "trace-suggest", trace)
    step = None
    for s in advice.get("suggestions", []) + advice.get("not_worth_it", []):
        if kernel and s["rule"].startswith("stall_") and s.get("place") == kernel["place"]:
            step = [100 * s[f"saving_{end}_ns"] / advice["step"]["unprofiled_ns"] for end in ("low", "high")]
    return kernel, step


def inside(share, interval):
    return None if share is None or interval is None else interval[0] <= share <= interval[1]


def row_of(args, folder, fault):
    kernel_saved, step_saved = measured(folder, fault.name)
    trace = folder / f"{fault.name}.trace"
    kernel, step = predicted(args, trace, fault) if trace.exists() else (None, None)
    place = kernel and kernel["place"] or ""
    interval = [kernel["saved_low_pct"], kernel["saved_high_pct"]] if kernel and kernel["saved_high_pct"] is not None else None
    lines = [f"{fault.file}:{line}" for line in fault.lines]
    return {"name": fault.name, "line": " ".join(lines), "hottest": place.rsplit("/", 1)[-1],
            "line_right": place.rsplit("/", 1)[-1] in lines, "cause": kernel and kernel["cause"],
            "stalled_pct": kernel and kernel["stalled_pct"], "samples": kernel and kernel["samples"], "kernel_saved_pct": kernel_saved,
            "kernel_predicted_pct": interval, "kernel_inside": inside(kernel_saved, interval), "step_saved_pct": step_saved,
            "step_predicted_pct": step, "step_inside": inside(step_saved, step)}


def number(v):
    return "-" if v is None else f"{v:.0f}"


def report(args):
    folder = pathlib.Path(args.folder)
    rows = [row_of(args, folder, f) for f in faults(args.sources)]
    for row in rows:
        print(json.dumps(row))
    print("\n| kernel | hottest line | cause | kernel: predicted, saved | inside | step: predicted, saved | inside |\n|---|---|---|---|---|---|---|")
    for r in rows:
        cells = [r["name"], ("" if r["line_right"] else "not ") + "right", r["cause"] or "-"]
        for what in ("kernel", "step"):
            interval = r[f"{what}_predicted_pct"] or [None, None]
            cells += [f"{number(interval[0])} to {number(interval[1])}%, {number(r[f'{what}_saved_pct'])}%",
                      {None: "-", True: "yes", False: "no"}[r[f"{what}_inside"]]]
        print("| " + " | ".join(cells) + " |")
    print(f"\nhottest line right: {sum(r['line_right'] for r in rows)} of {len(rows)}")
    for what in ("kernel", "step"):
        widths = [r[f"{what}_predicted_pct"][1] - r[f"{what}_predicted_pct"][0] for r in rows if r[f"{what}_predicted_pct"]]
        print(f"{what}: {sum(r[f'{what}_inside'] is True for r in rows)} of {len(rows)} inside,"
              f" median width {statistics.median(widths) if widths else float('nan'):.0f}% ({len(widths)} predicted)")
    return 0


# ---- fit ----

Correction = collections.namedtuple("Correction", "shift narrow wide high")
NOW = Correction(0.65, 0.18, 0.4, 0.1)  # as in stalls.c
FIT_WIDTH = 0.28


def shifted(c, low, high, busy):
    return (max(low + c.shift * (min(high - low, c.narrow if busy else c.wide) - c.narrow), 0) if low > 0 else 0, high + c.high * high * (1 - high))


def uncorrected(low, high, busy):
    """What NOW made this of; of a low end of 0, that is taken to be 0."""
    high = (1 + NOW.high - math.sqrt((1 + NOW.high) ** 2 - 4 * NOW.high * high)) / (2 * NOW.high)
    most = NOW.narrow if busy else NOW.wide
    before = (low - NOW.shift * (high - NOW.narrow)) / (1 - NOW.shift)
    return (before if high - before < most else low - NOW.shift * (most - NOW.narrow)) if low > 0 else 0, high


def score(correction, kernels):
    """How many are inside, and the median width."""
    ends = [(shifted(correction, *uncorrected(low, high, busy), busy), saved) for low, high, busy, saved in kernels]
    return sum(low <= saved <= high for (low, high), saved in ends), statistics.median(high - low for (low, high), _ in ends)


def fit(args):
    sets = {}
    for name, folder in (pair.split("=", 1) for pair in args.sets):
        for fault in faults(SETS[name]):
            trace = pathlib.Path(folder) / f"{fault.name}.trace"
            kernel = predicted(args, trace, fault)[0]
            saved = measured(trace.parent, fault.name)[0]
            if kernel and saved is not None and kernel["saved_high_pct"] is not None and (not args.counters or kernel["lanes_pct"] is not None):
                sets.setdefault(name, []).append((kernel["saved_low_pct"] / 100, kernel["saved_high_pct"] / 100, (kernel["l1_pct"] or 0) > 50, saved / 100))
    if len(sets) < 2:
        sys.exit("measure.py fit: two sets are needed, with kernels of which both is known")
    grid = [Correction(*c) for c in itertools.product((0, 0.35, 0.5, 0.65), (0.12, 0.15, 0.18, 0.21), (0.3, 0.35, 0.4), (0, 0.1))]
    for name, kernels in sets.items():
        others = [k for other in sets if other != name for k in sets[other]]
        narrow = [(c, *score(c, others)) for c in grid]
        best = max((row for row in narrow if row[2] <= FIT_WIDTH), key=lambda row: (row[1], -row[2]), default=min(narrow, key=lambda row: row[2]))[0]
        for what, c in (("as it is", NOW), ("by the other sets", best), ("without", Correction(0, 0, 0, 0))):
            inside_of, width = score(c, kernels)
            print(f"{name}: {inside_of} of {len(kernels)} inside, median width {100 * width:.0f}%, {what} ({', '.join(map(str, c))})")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="on a machine with a GPU")
    one.add_argument("--out", required=True, metavar="DIR")
    one.add_argument("--stalls", default="stalls", metavar="FILE", help="stalls.cu, second.cu, third.cu, fourth.cu, fifth.cu or sixth.cu, compiled by build.sh")
    one.add_argument("--collect", default="gpuprof-collect", metavar="FILE")
    one.add_argument("--gpus", type=int, default=1, metavar="N", help="divide the kernels among N GPUs")
    one.add_argument("--only", nargs="*", metavar="NAME", help="these kernels")
    one.add_argument("--limit", type=float, default=3600, metavar="S", help="end after S seconds, whatever is missing then")
    one.add_argument("--ncu", metavar="FILE", help="only count stalls of five kernels of the first set, with Nsight Compute")
    two = commands.add_parser("report", help="of a folder that was recorded")
    two.add_argument("folder", metavar="DIR")
    two.add_argument("--bin", default="", metavar="FOLDER", help="of trace-metrics and trace-suggest")
    three = commands.add_parser("fit", help="of several sets that were recorded")
    three.add_argument("sets", nargs="+", metavar="SET=DIR")
    three.add_argument("--bin", default="", metavar="FOLDER", help="of trace-metrics and trace-suggest")
    for command in (one, two, three):
        command.add_argument("--counters", action="store_true", help="count what the kernels do, too, or predict with it")
    for command in (one, two):
        command.add_argument("--set", default="first", choices=SETS, help="of kernels (default: first)")
    args = parser.parse_args()
    if args.command == "fit":
        return fit(args)
    args.sources = SETS[args.set]
    return record(args) if args.command == "record" else report(args)


if __name__ == "__main__":
    sys.exit(main())
