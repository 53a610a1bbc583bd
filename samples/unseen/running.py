"""Runs one of the programs of programs.py, second.py, third.py, fourth.py, fifth.py, sixth.py, seventh.py or eighth.py:

    programs.py list
    programs.py NAME [--fixed] [--steps N] [--window | --torch FILE | --jax FILE]

Prints the mean time of a step over N settled steps, without a recorder, and what the first step gave, to compare it with and without
the fix; and the median, of blocks of BLOCK steps. --window marks the steps as NVTX ranges, of which gpuprof-collect records those from FIRST
on (--start "range:step 60"), and prints the mean and the median of the settled ones before. --torch writes six settled steps to FILE, a .json.gz, by torch.profiler, which records programs of
JAX and CuPy, too; --jax by jax.profiler, as .xplane.pb.gz. Random weights and data.

A program is a function that makes a step, as it was written first (fixed=False) or with the fix.
"""

import argparse
import collections
import glob
import gzip
import json
import os
import shutil
import statistics
import tempfile
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
WARMUP, FIRST, RECORDED, AFTER, BLOCK, SHOWN = 6, 60, 6, 10, 20, 64
CUDA = "cuda"
PROGRAMS = {}
Program = collections.namedtuple("Program", "library wrong fix rules make")


def program(library, wrong, fix, *rules):
    """RULES: those of trace-suggest whose advice names the fix; none: no rule does."""

    def add(make):
        PROGRAMS[make.__name__] = Program(library, wrong, fix, rules, make)
        return make

    return add


def numbers(value):
    """The first numbers of what a step gave."""
    if hasattr(value, "tolist"):  # arrays and tensors, also of the GPU
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        found = []
        for one in value:
            found += numbers(one)
            if len(found) >= SHOWN:
                break
        return found[:SHOWN]
    return [] if value is None else [float(value)]


def timed(step, n):
    """ms of a step, of N steps, with the GPU's work."""
    import torch

    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(n):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3 / n


def bare(step, steps):
    return [timed(step, BLOCK) for _ in range(max(1, steps // BLOCK))]


def in_window(step):
    """ms of the later half of the steps before the first recorded one, from one begin to the next."""
    import torch

    begins = []
    for i in range(FIRST + RECORDED + AFTER):
        begins.append(time.perf_counter())
        torch.cuda.nvtx.range_push(f"step {i}")
        step()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    return [(b - a) * 1e3 for a, b in zip(begins[FIRST // 2 : FIRST], begins[FIRST // 2 + 1 :])]


def by_torch(step, path):
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    folder = tempfile.mkdtemp()
    work = os.path.join(folder, "trace.json")
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    steps = schedule(wait=0, warmup=3, active=RECORDED, repeat=1)
    with profile(activities=activities, record_shapes=True, schedule=steps, on_trace_ready=lambda p: p.export_chrome_trace(work)) as p:
        for i in range(3 + RECORDED):
            if i == 3:
                torch.cuda.synchronize()
                begin = time.perf_counter()
            step()
            if i == 2 + RECORDED:
                torch.cuda.synchronize()
                ms = (time.perf_counter() - begin) * 1e3 / RECORDED
            p.step()
    with open(work, "rb") as f, gzip.open(path, "wb", compresslevel=6) as g:
        shutil.copyfileobj(f, g)
    shutil.rmtree(folder)
    return [ms]


def by_jax(step, path):
    import jax

    folder = tempfile.mkdtemp()
    with jax.profiler.trace(folder):
        begin = time.perf_counter()
        for i in range(RECORDED):
            with jax.profiler.StepTraceAnnotation("step", step_num=i):
                step()
        ms = (time.perf_counter() - begin) * 1e3 / RECORDED
    with open(glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)[0], "rb") as f, gzip.open(path, "wb", compresslevel=6) as g:
        shutil.copyfileobj(f, g)
    shutil.rmtree(folder)
    return [ms]


def table():
    print("| program | library | what is wrong | the known fix | rules that name it |\n|---|---|---|---|---|")
    for name, p in PROGRAMS.items():
        print(f"| {name} | {p.library} | {p.wrong} | {p.fix} | {', '.join(f'`{rule}`' for rule in p.rules) or 'none'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["list", *PROGRAMS])
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--window", action="store_true")
    parser.add_argument("--torch", metavar="FILE")
    parser.add_argument("--jax", metavar="FILE")
    o = parser.parse_args()
    if o.name == "list":
        return table()
    import torch

    torch.manual_seed(0)
    step = PROGRAMS[o.name].make(o.fixed)
    print("result=" + json.dumps(numbers(step())))
    timed(step, WARMUP)
    if o.torch or o.jax:
        ms = by_torch(step, o.torch) if o.torch else by_jax(step, o.jax)
    else:
        ms = in_window(step) if o.window else bare(step, o.steps)
    print(f"{o.name} step_ms={statistics.mean(ms):.4f} median_ms={statistics.median(ms):.4f}", flush=True)
