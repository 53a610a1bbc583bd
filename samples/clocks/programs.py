#!/usr/bin/env python3
"""programs.py WHAT...: programs whose work on the GPU is known.

products SECONDS|xN [random|zeros]   products of two bf16 matrices of 8192 x 8192, for so long or N of them
copies SECONDS                       256 MiB from the host, and once more on the GPU
duty SECONDS PART PERIOD             a burst in each period, of as many products as take PART of it alone
blocks SECONDS WINDOW READY GO OUT   tiny kernels, then products, each for so long, in blocks of a fiftieth of WINDOW; OUT has a line
                                     per block: phase, start and end (ns of CLOCK_MONOTONIC), steps
idle READY STOP                      one kernel, and then nothing until the file STOP is there
"""
import gc
import os
import sys
import time

import torch


def product(n, fill="random"):
    make = torch.randn if fill == "random" else torch.zeros
    a = make(n, n, device="cuda", dtype=torch.bfloat16)
    b, c = a.clone(), torch.empty_like(a)
    return lambda: torch.mm(a, b, out=c)


def run(step, times=1):
    for _ in range(times):
        step()
    torch.cuda.synchronize()


def touch(path):
    open(path, "w").close()


def wait(path):
    while not os.path.exists(path):
        time.sleep(.02)


def timed(step, much):
    run(step)
    steps, start = 0, time.perf_counter()
    torch.cuda.nvtx.range_push("measured")
    if much[0] == "x":
        for steps in range(1, int(much[1:]) + 1):
            torch.cuda.nvtx.range_push("step")
            step()
            torch.cuda.nvtx.range_pop()
            if steps % 20 == 0:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
    else:
        while time.perf_counter() - start < float(much):
            run(step, 10)
            steps += 10
    torch.cuda.nvtx.range_pop()
    took = time.perf_counter() - start
    print("%d steps in %.3f s, %.3f us each" % (steps, took, took / steps * 1e6))


def products(much, fill="random"):
    timed(product(8192, fill), much)


def copies(much):
    host = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True)
    first, second = (torch.empty(1 << 28, dtype=torch.uint8, device="cuda") for _ in range(2))

    def step():
        first.copy_(host, non_blocking=True)
        second.copy_(first)

    timed(step, much)


def duty(seconds, part, period):
    seconds, part, period = float(seconds), float(part), float(period)
    step = product(4096)
    for _ in range(3):
        start = time.perf_counter()
        run(step, 40)
        one = (time.perf_counter() - start) / 40
    each = max(1, round(part * period / one))
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    bursts, on_gpu, start = 0, 0., time.perf_counter()
    while time.perf_counter() - start < seconds:
        first.record()
        for _ in range(each):
            step()
        last.record()
        torch.cuda.synchronize()
        on_gpu += first.elapsed_time(last) / 1e3
        bursts += 1
        time.sleep(max(0, start + bursts * period - time.perf_counter()))
    took = time.perf_counter() - start
    print("pid %d: %d bursts of %d products, alone %.1f us each: %.2f%% of %.2f s; from first to last kernel %.2f%%"
          % (os.getpid(), bursts, each, one * 1e6, bursts * each * one / took * 100, took, on_gpu / took * 100))


def blocks(seconds, window, ready, go, out):
    least_ns, length_ns, rows = float(window) * .75e9 / 50, float(seconds) * 1e9, []
    phases = [("launches", product(256), 50), ("products", product(4096), 5)]
    for _, step, _ in phases:
        run(step)
    touch(ready)
    wait(go)
    gc.disable()
    for name, step, each in phases:
        start = end = time.monotonic_ns()
        while end - start < length_ns:
            begin = time.monotonic_ns()
            run(step, each)
            end = time.monotonic_ns()
            if end - start > 1e9:
                rows.append("%s %d %d %d\n" % (name, begin, end, each))
            elif end - begin < least_ns:
                each = each * 5 // 4 + 1
    with open(out, "w") as f:
        f.writelines(rows)


def idle(ready, stop):
    run(lambda: torch.zeros(1 << 20, device="cuda"))
    touch(ready)
    wait(stop)


if __name__ == "__main__":
    torch.cuda.init()
    {f.__name__: f for f in (products, copies, duty, blocks, idle)}[sys.argv[1]](*sys.argv[2:])
