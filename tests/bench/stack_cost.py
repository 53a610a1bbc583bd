"""What the stack of each launch costs, by its depth: kernels launched from Python functions that call each other, in stretches that are
recorded and not, in turns. Run by itself, each way of recording in a process of its own, and the same in the next round.

usage: stack_cost.py [DEPTH...]         prints a table: ns per launch that recording adds, median of pairs and its 95% interval

GPUPROF_BIN     where gpuprof-collect is (default: build/release/bin)
ROUNDS, PAIRS   processes of each kind (3), and pairs of stretches in each (60)
"""

import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

BIN = pathlib.Path(os.environ.get("GPUPROF_BIN", pathlib.Path(__file__).resolve().parent / "../../build/release/bin"))
ROUNDS, PAIRS, LAUNCHES = int(os.environ.get("ROUNDS", 3)), int(os.environ.get("PAIRS", 60)), 1000
WAYS = {
    "recorded, no stacks": ["--stacks=none"],
    "recorded, stacks": ["--stacks=launch"],
    "torch.profiler": None,
    "torch.profiler, with_stack": None,
}


def at_depth(n, work):
    return at_depth(n - 1, work) if n else work()


def profiler(stack):
    import torch

    activities = [torch.profiler.ProfilerActivity.CUDA]
    if stack:
        activities.append(torch.profiler.ProfilerActivity.CPU)
    p = torch.profiler.profile(activities=activities, with_stack=stack)
    return p.__enter__, lambda: p.__exit__(None, None, None)


def program(way, depth):
    """Prints the ns per launch of each pair of stretches, recorded and not."""
    import torch

    x = torch.zeros(64, device="cuda")
    stream = torch.cuda.Stream()

    def stretch():
        torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        for _ in range(LAUNCHES):
            x.add_(1)
        ns = (time.perf_counter_ns() - begin) / LAUNCHES
        torch.cuda.synchronize()
        return ns

    def measure():
        for _ in range(5):
            stretch()
        pairs = []
        for i in range(PAIRS if WAYS[way] is not None else 12):
            sides = {}
            for on in ((True, False), (False, True))[i % 2]:
                start, stop = (torch.cuda.profiler.start, torch.cuda.profiler.stop) if WAYS[way] is not None else profiler("stack" in way)
                if on:
                    start()
                stretch()  # it settles
                sides[on] = stretch()
                if on:
                    stop()
            pairs.append((sides[True], sides[False]))
        print("pairs", " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs), flush=True)

    with torch.cuda.stream(stream):
        at_depth(max(0, depth - 4), measure)  # this function, its caller, the module and measure() itself


def main():
    depths = [int(a) for a in sys.argv[1:]] or [10, 40, 100]
    found = {}
    for _ in range(ROUNDS):
        for depth in depths:
            for way, options in WAYS.items():
                run = [sys.executable, __file__, "--program", way, str(depth)]
                if options is not None:
                    run = [str(BIN / "gpuprof-collect"), "-q", "-o", os.devnull, "--start", "profiler", *options, "--", *run]
                out = subprocess.run(run, capture_output=True, text=True)
                lines = [line for line in out.stdout.splitlines() if line.startswith("pairs ")]
                if not lines:
                    print(out.stderr[-2000:], file=sys.stderr)
                    continue
                found.setdefault((way, depth), []).extend(tuple(map(float, p.split(","))) for p in lines[0].split()[1:])
    rng = random.Random(1)
    for way in WAYS:
        for depth in depths:
            pairs = found.get((way, depth))
            if not pairs:
                continue
            differences = [a - b for a, b in pairs]
            again = sorted(statistics.median(rng.choices(differences, k=len(differences))) for _ in range(1000))
            print(f"{way:28} depth {depth:3}  {statistics.median(b for _, b in pairs):8.0f} ns bare  {statistics.median(differences):+8.0f} ns  [{again[25]:+.0f}, {again[974]:+.0f}]  {len(pairs)} pairs")


if sys.argv[1:2] == ["--program"]:
    program(sys.argv[2], int(sys.argv[3]))
else:
    main()
