#!/usr/bin/env python3
"""pairs.py COLLECT SECONDS OUTDIR [WINDOW]: does it cost a recorded program anything that the clocks of its GPU are read?

One process is recorded without clocks while it launches tiny kernels for half of the time, and products for the other half. A second
gpuprof-collect, with clocks, records a process that idles on the same GPU, so its launcher reads that GPU as it always does. It is
stopped and continued (SIGSTOP, SIGCONT) in windows of WINDOW seconds (1), in the order of Thue and Morse. So windows differ in all that
reading does in NVML, the driver, the GPU and the host, but not in the writing of 1 KB of samples per second. What is due once per
second is read in windows with clocks only, which makes their cost rather too high."""
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def await_file(path, process):
    end = time.monotonic() + 90
    while not os.path.exists(path):
        if process.poll() is not None or time.monotonic() > end:
            sys.exit("pairs.py: a program did not begin")
        time.sleep(.05)


def take_turns(reader, program, window):
    """When each window began, and whether the clocks are read in it."""
    windows, reading, start = [], True, time.monotonic()
    while program.poll() is None:
        want, now = bin(len(windows)).count("1") % 2 == 0, time.monotonic_ns()
        if want != reading:
            os.kill(reader.pid, signal.SIGCONT if want else signal.SIGSTOP)
        windows.append((now, want))
        reading = want
        time.sleep(max(0, start + len(windows) * window - time.monotonic()))
    os.kill(reader.pid, signal.SIGCONT)
    return windows + [(time.monotonic_ns(), True)]


def times(blocks, windows, window_ns):
    """Of each window, whether clocks were read, and ns per step; None: it had too little work. The block in which a window begins is
    of that window, because reading begins at once."""
    for (a, reading), (b, _) in zip(windows, windows[1:]):
        inside = [(end - begin, steps) for begin, end, steps in blocks if a < end <= b]
        span = sum(ns for ns, _ in inside)
        yield (reading, span / sum(steps for _, steps in inside)) if span > .7 * window_ns else None


def compare(name, of_windows):
    changes = []
    for one, two in zip(of_windows[::2], of_windows[1::2]):
        if one and two and one[0] != two[0]:
            read, not_read = (one, two) if one[0] else (two, one)
            changes.append((read[1] / not_read[1] - 1) * 100)
    if len(changes) < 3:
        print("%s: too few pairs" % name)
        return
    random.seed(1)
    medians = sorted(statistics.median(random.choices(changes, k=len(changes))) for _ in range(2000))
    mean, error = statistics.mean(changes), statistics.stdev(changes) / math.sqrt(len(changes))
    print("%s: %d pairs, %.3f us per step without; with clocks read %+.3f%% (95%% interval %+.3f to %+.3f), median %+.3f%% (%+.3f to %+.3f)" % (
        name, len(changes), statistics.median(w[1] for w in of_windows if w and not w[0]) / 1e3, mean, mean - 2.02 * error,
        mean + 2.02 * error, statistics.median(changes), medians[50], medians[1949]))


def main(collect, seconds, out, window="1"):
    program = os.path.join(HERE, "programs.py")
    with tempfile.TemporaryDirectory() as work, open(os.path.join(out, "pairs.log"), "w") as log:
        def start(*command):
            return subprocess.Popen([collect, *command], stdout=log, stderr=log)

        def path(name):
            return os.path.join(work, name)

        reader = start("-o", os.path.join(out, "reader.trace"), sys.executable, program, "idle", path("idle"), path("stop"))
        main_one = start("--no-clocks", "-o", "/dev/null", sys.executable, program, "blocks", str(float(seconds) / 2), window,
                         path("ready"), path("go"), path("blocks"))
        await_file(path("idle"), reader)
        await_file(path("ready"), main_one)
        time.sleep(2.5)  # the reader gets to know the energy counter
        open(path("go"), "w").close()
        windows = take_turns(reader, main_one, float(window))
        open(path("stop"), "w").close()
        reader.wait()
        with open(path("blocks")) as f:
            rows = [line.split() for line in f]
    for phase in ("launches", "products"):
        blocks = [(int(a), int(b), int(n)) for name, a, b, n in rows if name == phase]
        compare(phase, list(times(blocks, windows, float(window) * 1e9)))


if __name__ == "__main__":
    main(*sys.argv[1:])
