"""What the Triton programs of this folder share: options, steps and their times.

A step is other work, the kernel, the rest of the other work, and a wait for all of it. With --both, blocks of steps with the fault and with the
fix take turns, until N steps or S seconds are over, and the medians are printed as a line of JSON per side, with the largest difference of their
results as a share of the largest result. A fix whose results differ by more than rounding is an error. With --lock, the GPU is used while FILE
is locked, until the process ends, so that several processes can import PyTorch at the same time.
"""

import argparse
import collections
import fcntl
import json
import statistics
import sys
import time

import torch

BLOCK_STEPS = 20
ROUNDING = 1e-3  # what sums in another order may differ by

# One kernel as its program runs it; `result`, the tensor that it writes, may be None.
Work = collections.namedtuple("Work", "faulty fixed before after result")


def difference(work):
    results = []
    for launch in (work.faulty, work.fixed):
        work.result.zero_()
        launch()
        results.append(work.result.double())
    largest = results[0].abs().max().item()
    return (results[0] - results[1]).abs().max().item() / largest if largest else 1e9  # zeros compare nothing


def step(work, launch, begin, end):
    """The step and its kernel, in microseconds."""
    start = time.perf_counter_ns()
    torch.cuda.nvtx.range_push("step")
    work.before()
    begin.record()
    launch()
    end.record()
    work.after()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    return (time.perf_counter_ns() - start) / 1000, begin.elapsed_time(end) * 1000


def run(work, name, fixed, both, steps, seconds):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = {False: [], True: []}
    for side in (False, True) if both else (fixed,):
        (work.fixed if side else work.faulty)()  # compiles it
    more = {}
    if both and work.result is not None:
        more["differs"] = difference(work)
        if not more["differs"] <= ROUNDING:
            raise ValueError(f"the results of fault and fix differ by {more['differs']:.3g}")
    torch.cuda.synchronize()
    first = time.monotonic()
    for s in range(steps):
        if s >= 4 * BLOCK_STEPS and time.monotonic() - first > seconds:
            break
        side = bool(s // BLOCK_STEPS % 2) if both else fixed
        taken = step(work, work.fixed if side else work.faulty, begin, end)
        if s >= 2 * BLOCK_STEPS:
            times[side].append(taken)
    for side, taken in times.items():
        if taken:
            step_us, kernel_us = (statistics.median(column) for column in zip(*taken))
            print(json.dumps({"name": name, "fixed": side, "kernel_us": round(kernel_us, 2), "step_us": round(step_us, 2), **more}), flush=True)


def main(doc, names, prepare):
    parser = argparse.ArgumentParser(description=doc.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *names])
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--fixed", action="store_true", help="run the fix")
    parser.add_argument("--both", action="store_true", help="run both by turns")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--lock", metavar="FILE")
    args = parser.parse_args()
    if args.list:
        print("\n".join(names))
        return 0
    if args.lock:
        lock = open(args.lock, "w")
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the process ends
    failed = 0
    for name in args.names:
        try:
            run(prepare(name), name, args.fixed, args.both, args.steps, args.seconds)
        except Exception as error:  # one kernel that this version of Triton refuses is not all
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
    return failed
