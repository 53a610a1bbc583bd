"""What recording adds to a step of real programs (programs.py).

usage: collect_cost.py OUTDIR PROGRAM:CONFIG+CONFIG+... ...

CONFIG    the program runs                                             and is compared
bare      as it is                                                     with itself
run       under gpuprof-collect                                        with bare
whole     the same, but recording begins right after cuInit()          recorded and not, in one process
window    under gpuprof-collect --start profiler                       in the window and outside, in one process
sample    under gpuprof-collect --sample, nothing recorded             with the launcher, which samples, running and stopped
control   the same without --sample                                    likewise
torch     as it is                                                     under torch.profiler (CUDA only) and without, in one process
floorN,N  with bare_cupti.c, which only counts what CUPTI records      recording the parts N and nothing, in one process
budgetP   under gpuprof-collect --budget P                             with bare, in long turns

CONFIG@OPTION@OPTION adds options of gpuprof-collect, or, for floor, BARE_CUPTI_ATTRIBUTES. The first is bare.

All sides of a program start together and then take turns. In one process, short stretches of steps follow each other: off, on, on, off,
and so on, which what slows the machine down meets alike. The first step of a stretch is kept apart. A stretch counts by the median of its
steps, a pair of neighbours by their difference, all pairs by the mean of their middle 60%; the 95% interval is from resampling the pairs.
A launch is a kernel, copy or set, as recorded.

GPUPROF_BIN    where gpuprof-collect is       (default: build/release/bin)
BARE_CUPTI     where libbare_cupti.so is      (default: build/release/tests/bench)
LAUNCHES       launches.cu, compiled: nvcc -O2 -shared -Xcompiler -fPIC -o launches.so tests/bench/launches.cu
COST_SECONDS   of turns per program           (default: 60)
COST_TURN_MS   of a turn                      (default: 1000)
COST_LONG      long turns                     (default: 3)
COST_RAW       write each step to OUTDIR, too
"""

import json
import os
import pathlib
import random
import re
import select
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / "../../build/release"
BIN = pathlib.Path(os.environ.get("GPUPROF_BIN", BUILD / "bin"))
BARE_CUPTI = pathlib.Path(os.environ.get("BARE_CUPTI", BUILD / "tests/bench")) / "libbare_cupti.so"
SECONDS, TURN_MS, LONG_TURNS = (int(os.environ.get(k, d)) for k, d in (("COST_SECONDS", 60), ("COST_TURN_MS", 1000), ("COST_LONG", 3)))
STRETCH_NS = 10_000_000  # at least: the longer, the more the machine itself changes between two
BUDGET_SECONDS, BUDGET_FIRST = 8, 3  # a budget weighs whole seconds of work: of its turns, and until it has done so
WINDOWS = ["--start", "profiler"]
OPTIONS = {"run": [], "whole": WINDOWS, "window": WINDOWS, "sample": ["--sample", *WINDOWS], "control": WINDOWS}
SWITCHES = {"whole": ["window"], "window": ["window"], "sample": ["launcher"], "control": ["launcher"], "torch": ["profile"]}


class Pairs:
    """Stretches of steps without something and with it."""

    def __init__(self, name):
        self.name, self.off, self.on, self.first = name, [], [], []

    def add(self, off, on):
        """Of each stretch the first step is apart."""
        self.off.append(statistics.median(off[1:]))
        self.on.append(statistics.median(on[1:]))
        self.first.append(on[0] - off[0])

    def differences(self):
        return [b - a for a, b in zip(self.off, self.on)]


def middle(values):
    """Mean of the middle 60%."""
    values = sorted(values)
    cut = len(values) // 5
    return statistics.fmean(values[cut : len(values) - cut])


def interval(values, seed=1):
    rng = random.Random(seed)
    means = sorted(middle(rng.choices(values, k=len(values))) for _ in range(1000))
    return means[25], means[974]


class Side:
    """A process: a program under one configuration."""

    def __init__(self, program, config, out):
        self.config, *self.options = config.split("@")
        self.name, self.pending, self.dead, self.launches, self.said = config, b"", None, 0, ""
        kind = re.match("[a-z]*", self.config).group()
        self.kind = kind
        self.words = SWITCHES.get(kind, [])
        if kind == "floor":
            self.words = ["floor" + n for n in self.config[5:].split(",")]
        self.pairs = {w: Pairs(config if len(self.words) == 1 else w) for w in self.words}
        self.short, self.long = [], []  # turns without a partner in this process
        self.raw = []
        self.err = open(out / f"{program}.{config.replace('/', '_')}.err", "w+")
        self.process = subprocess.Popen(
            self.command(program, out),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.err,
            bufsize=0,
            env=self.environment(),
        )

    def command(self, program, out):
        run = [sys.executable, str(HERE / "programs.py"), program]
        options = ["--budget", self.config[6:]] if self.kind == "budget" else OPTIONS.get(self.kind)
        if options is None:
            return run
        trace = out / f"{program}.{self.name.replace('%', '').replace('/', '_')}.trace"
        return [str(BIN / "gpuprof-collect"), "-o", str(trace), *options, *self.options, "--", *run]

    def environment(self):
        env = dict(os.environ)
        if self.kind == "whole":
            env["COST_BEGIN"] = "1"
        if self.kind == "floor":
            env.update(CUDA_INJECTION64_PATH=str(BARE_CUPTI.resolve()), BARE_CUPTI_PARTS="0", BARE_CUPTI_ATTRIBUTES=" ".join(self.options))
        return env

    def hear(self):
        while b"\n" not in self.pending:
            if not select.select([self.process.stdout], [], [], 120)[0]:
                raise OSError("no answer")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
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

    def order(self, word, steps, order):
        """Stretches, as lists of steps."""
        if self.dead:
            return []
        try:
            self.process.stdin.write(f"{word} {steps} {order}\n".encode())
            stretches = [list(map(int, part.split())) for part in self.hear().split(";")]
        except OSError as e:
            self.dead = str(e)
            return []
        self.raw.append([word, order, stretches])
        return stretches

    def turn(self, guess):
        steps = 1 + max(1, round(STRETCH_NS / guess))
        order = "0110" * max(1, round(TURN_MS * 1e6 / (4 * steps * guess)))
        for word in self.words:
            stretches = self.order(word, steps, "0" + order)[1:]  # the first one follows a rest
            for i in range(0, len(stretches), 2):
                off, on = (stretches[i + (order[i] != n)] for n in "01")
                self.pairs[word].add(off, on)

    def short_turn(self, guess):
        for ns in self.order("none", 2 + max(4, round(10 * STRETCH_NS / guess)), "0"):
            self.short.append(ns[1:])

    def long_turn(self, guess):
        self.order("none", int(BUDGET_FIRST * 1e9 / guess), "0")
        for ns in self.order("none", int(BUDGET_SECONDS * 1e9 / guess), "0"):
            self.long.append(statistics.fmean(ns))  # what a budget lets through is uneven

    def end(self):
        """Reads what the collector and the program said."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.err.seek(0)
        text = self.err.read()
        self.err.close()
        said = [line for line in text.splitlines() if line.startswith(("gpuprof-collect: ", "bare_cupti: "))]
        self.said = said[-1].partition(": ")[2] if said else ""
        self.debug = [line for line in text.splitlines() if "ns from launch to launch" in line]


def say(program, pairs, bare_ns, launches):
    n, differences = len(pairs.on), pairs.differences()
    if n < 3:
        print(f"{program:9} {pairs.name:20} {n:4} pairs", flush=True)
        return
    middle_low_high = [middle(differences), *interval(differences)]
    words = [f"{program:9} {pairs.name:20} {n:4} pairs {middle(pairs.on) / 1e6:9.3f} ms"]
    words.append("{:+6.2f}% [{:+.2f}, {:+.2f}]".format(*(v / bare_ns * 100 for v in middle_low_high)))
    if launches:
        words.append("{:+6.2f} us per launch [{:+.2f}, {:+.2f}]".format(*(v / launches / 1e3 for v in middle_low_high)))
    words.append(f"first steps {middle(pairs.first) / bare_ns * 100:+.1f}%")
    print(*words, sep="  ", flush=True)


def measure(program, configs, out):
    sides = [Side(program, c, out) for c in configs]
    begin = time.monotonic()
    guess = max([s.ready() for s in sides] + [1])
    bare = sides[0]
    print(f"{program:9} up after {time.monotonic() - begin:.0f} s, {guess / 1e6:.1f} ms per step", flush=True)
    deadline, turn = time.monotonic() + SECONDS, 0
    alone, budgets = ([s for s in sides if s.kind in kinds] for kinds in (("bare", "run"), ("bare", "budget")))
    while time.monotonic() < deadline:
        for i in range(4):
            for side in alone if i % 2 == 0 else reversed(alone):
                side.short_turn(guess)
        for side in sides if turn % 2 == 0 else reversed(sides):
            if turn % 3 == 0 or side.kind != "torch":  # what it adds is large
                side.turn(guess)
        turn += 1
    for turn in range(LONG_TURNS if len(budgets) > 1 else 0):
        for side in budgets if turn % 2 == 0 else reversed(budgets):
            side.long_turn(guess)
    for side in sides:
        side.end()
    report(program, sides, bare, out)


def work_per_step(side):
    """Kernels, copies and sets, of what a side has recorded."""
    done = re.search(r"^steps (\d+)$", pathlib.Path(side.err.name).read_text(), re.M)
    found = re.search(r"(\d+) kernels, (\d+) copies, (\d+) sets", side.said)
    return sum(map(int, found.groups())) / int(done[1]) if done and found else 0


def report(program, sides, bare, out):
    turns = [statistics.median(ns) for ns in bare.short]
    bare_ns = middle(turns)
    low, high = interval(turns)
    launches = sum(work_per_step(s) for s in sides if s.name == "run")
    print(f"{program:9} {'bare':20} {len(turns):4} turns {bare_ns / 1e6:9.3f} ms [{low / 1e6:.3f}, {high / 1e6:.3f}], {launches:.0f} launches", flush=True)
    for side in sides[1:]:
        if side.dead:
            print(f"{program:9} {side.name:20} failed: {side.dead}", flush=True)
        if side.kind == "run":
            pairs = Pairs(side.name)
            for off, on in zip(bare.short, side.short):
                pairs.add(off, on)
            say(program, pairs, bare_ns, launches)
        for pairs in side.pairs.values():
            say(program, pairs, bare_ns, launches)
        if side.long:
            ratios = [100 * (b / a - 1) for a, b in zip(bare.long, side.long)]
            part = work_per_step(side) / launches if launches else 0
            print(f"{program:9} {side.name:20} {' '.join(f'{r:+.1f}%' for r in ratios)} in turns of {BUDGET_SECONDS} s, {part:.1%} of the launches recorded")
        for line in [*side.debug, side.said]:
            if line:
                print(f"{'':9} {'':20} {line}", flush=True)
    if "COST_RAW" in os.environ:
        (out / f"{program}.json").write_text(json.dumps({s.name: s.raw for s in sides}, separators=(",", ":")))


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
