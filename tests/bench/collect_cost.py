"""What recording adds to a step of real programs (programs.py, launches.cu).

usage: collect_cost.py OUTDIR PROGRAM:CONFIG+CONFIG+... ...

CONFIG is bare, whole (gpuprof-collect), window (--start profiler), sample (--sample), budgetPERCENT (--budget PERCENT) or torch
(torch.profiler, CUDA only); the first one is what the others are compared with. Each is a process of its own. They start together and
then take short turns, forth and back, so that what slows the machine down meets all of them. Printed are the step that one in ten is faster
than, which neighbours of a virtual machine disturb least, the median, and both relative to the first configuration. A budget weighs whole
seconds, so its turns are long and come last, beside long turns of the first configuration.

GPUPROF_BIN    where gpuprof-collect is  (default: build/release/bin)
LAUNCHES       the program launches.cu, compiled: nvcc -O2 -o launches tests/bench/launches.cu
COST_ROUNDS    short turns of each       (default: 12)
COST_TURN_MS   how long they are         (default: 150)
COST_LONG      long turns                (default: 3)
"""

import os
import pathlib
import select
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("GPUPROF_BIN", HERE / "../../build/release/bin"))
ROUNDS, TURN_NS, LONG = (int(os.environ.get(k, d)) for k, d in (("COST_ROUNDS", 12), ("COST_TURN_MS", 150), ("COST_LONG", 3)))
TURN_NS *= 1_000_000
LONG_NS = 1_200_000_000
OPTIONS = {"whole": [], "window": ["--start", "profiler"], "sample": ["--sample"]}
ORDERS = {"window": "window", "torch": "profile"}


def arguments(program, config, out):
    run = [os.environ.get("LAUNCHES", "./launches")] if program == "launches" else [sys.executable, str(HERE / "programs.py"), program]
    options = ["--budget", config[6:]] if config.startswith("budget") else OPTIONS.get(config)
    if options is None:
        return run
    return [str(BIN / "gpuprof-collect"), "-o", str(out / f"{program}.{config.rstrip('%')}.trace"), *options, "--", *run]


class Side:
    """A program under one configuration."""

    def __init__(self, program, config, out):
        self.config, self.order, self.ns, self.pending, self.dead = config, ORDERS.get(config, "time"), [], b"", None
        self.err = open(out / f"{program}.{config}.err", "w+")
        self.process = subprocess.Popen(
            arguments(program, config, out), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, bufsize=0
        )

    def hear(self):
        while b"\n" not in self.pending:
            if not select.select([self.process.stdout], [], [], 120)[0]:
                raise OSError("no answer")
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                raise OSError("it ended")
            self.pending += more
        line, _, self.pending = self.pending.partition(b"\n")
        return line.decode()

    def ready(self):
        try:
            line = self.hear()
            while not line.startswith("ready "):  # libraries print, too
                line = self.hear()
            return int(line.split()[1])
        except OSError as e:
            self.dead = str(e)
            return 0

    def turn(self, steps, keep=True):
        if self.dead:
            return
        try:
            self.process.stdin.write(f"{self.order} {steps}\n".encode())
            ns = list(map(int, self.hear().split()))
            if keep:
                self.ns += ns
        except OSError as e:
            self.dead = str(e)

    def end(self):
        """What the collector said."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.err.seek(0)
        said = [line.strip() for line in self.err if line.startswith("gpuprof-collect: ")]
        self.err.close()
        return said[-1].removeprefix("gpuprof-collect: ") if said else ""


def report(program, side, base):
    said = side.end()
    if side.dead or not side.ns:
        print(f"{program:9} {side.config:9} failed: {side.dead}", flush=True)
        return
    words = [f"{program:9} {side.config:9} {len(side.ns):5} steps"]
    for of in (lambda ns: statistics.quantiles(ns, n=10)[0], statistics.median):
        words.append(f"{of(side.ns) / 1e6:9.3f} ms {100 * (of(side.ns) / of(base) - 1):+6.1f}%")
    print(*words, said, sep="  ", flush=True)


def measure(program, configs, out):
    sides = [Side(program, c, out) for c in configs]
    guess = max([s.ready() for s in sides] + [1])
    base, long_sides = sides[0], [s for s in sides if s.config.startswith("budget")]
    short_sides = [s for s in sides if s not in long_sides]
    for i in range(ROUNDS):
        for side in short_sides if i % 2 == 0 else reversed(short_sides):
            side.turn(max(3, TURN_NS // guess))
    short = list(base.ns)
    for side in short_sides[1:]:
        report(program, side, short)
    base.ns, steps = [], max(3, LONG_NS // guess)
    for i in range(LONG if long_sides else 0):
        for side in long_sides:
            side.turn(steps, keep=False)
            side.turn(steps)
        base.turn(steps)
    for side in long_sides:
        report(program, side, base.ns)
    base.ns += short
    report(program, base, base.ns)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for item in sys.argv[2:]:
        program, _, configs = item.partition(":")
        measure(program, configs.split("+"), out)


if __name__ == "__main__":
    main()
