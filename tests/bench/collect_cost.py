"""What recording adds to a step of real programs (programs.py).

usage: collect_cost.py OUTDIR PROGRAM:CONFIG+CONFIG+... ...
       collect_cost.py OUTDIR PROGRAM ...                      report once more what OUTDIR/PROGRAM.json holds

CONFIG    the program runs                                             and is compared
bare      as it is                                                     with itself
run       under gpuprof-collect                                        with bare
whole     the same, but recording begins right after cuInit()          recorded and not, in one process
window    under gpuprof-collect --start profiler                       in the window and outside, in one process
sample    under gpuprof-collect --sample, nothing recorded             with the launcher, which samples, running and stopped
control   the same without --sample                                    likewise
torch     as it is                                                     under torch.profiler (CUDA only) and without, in one process
floorN,N  with bare_cupti.c, which only counts what CUPTI records      recording the parts N and nothing, in one process
leastN    the same, but recording begins right after cuInit()          likewise
budgetP   under gpuprof-collect --budget P                             with bare, in long turns

CONFIG@OPTION@OPTION adds options of gpuprof-collect, or, for floor, BARE_CUPTI_ATTRIBUTES. The first is bare.

All sides of a program start together and then take turns. In one process, short stretches of steps follow each other: off, on, on, off,
and so on, which what slows the machine down meets alike. The first step of a stretch is left out. A stretch counts by the median of its
steps, a pair of neighbours by their difference, all pairs by the mean of their middle 60%; the 95% interval is from resampling the pairs.
What stays when something is switched off is not in that, so the steps of each kind are also compared with those of the bare process, by
the one that a tenth is faster than, which the neighbours of a virtual machine disturb least; there, rounds of turns are resampled. A launch
is a kernel, copy or set, as recorded.

GPUPROF_BIN    where gpuprof-collect is       (default: build/release/bin)
BARE_CUPTI     where libbare_cupti.so is      (default: build/release/tests/bench)
LAUNCHES       launches.cu, compiled: nvcc -O2 -shared -Xcompiler -fPIC -o launches.so tests/bench/launches.cu
COST_SECONDS   of turns per program           (default: 60)
COST_TURN_MS   of a turn                      (default: 1000)
COST_LONG      long turns                     (default: 3)
"""

import itertools
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
SHORT_TURNS = 4  # of bare and run in each round, beside each other
BUDGET_SECONDS, BUDGET_FIRST = 6, 3  # a budget weighs whole seconds of work: of its turns, and until it has done so
WINDOWS = ["--start", "profiler"]
OPTIONS = {"run": [], "whole": WINDOWS, "window": WINDOWS, "sample": ["--sample", *WINDOWS], "control": WINDOWS}
SWITCHES = {"whole": ["window"], "window": ["window"], "sample": ["launcher"], "control": ["launcher"], "torch": ["profile"]}


def middle(values):
    """Mean of the middle 60%."""
    values = sorted(values)
    cut = len(values) // 5
    return statistics.fmean(values[cut : len(values) - cut])


def interval(values, of=middle):
    rng = random.Random(1)
    figures = sorted(of(rng.choices(values, k=len(values))) for _ in range(1000))
    return figures[25], figures[974]


def tenth(turns):
    """The step that a tenth is faster than."""
    return statistics.quantiles(itertools.chain(*turns), n=10)[0]


class Side:
    """A process: a program under one configuration."""

    def __init__(self, program, config, out):
        self.config, *self.options = config.split("@")
        self.name, self.pending, self.dead, self.said, self.done = config, b"", None, [], 0
        self.kind = kind = re.match("[a-z]*", self.config).group()
        self.words = SWITCHES.get(kind, [])
        if kind == "floor":
            self.words = ["floor" + n for n in self.config[5:].split(",")]
        if kind == "least":
            self.words = ["floor" + self.config[5:]]
        self.raw = []  # [what it did, the order, the stretches] of each turn
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
        if self.kind in ("floor", "least"):
            parts = "0" if self.kind == "floor" else self.config[5:]
            env.update(CUDA_INJECTION64_PATH=str(BARE_CUPTI.resolve()), BARE_CUPTI_PARTS=parts, BARE_CUPTI_ATTRIBUTES=" ".join(self.options))
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

    def order(self, word, steps, order, label):
        """Keeps the ns of each step, by stretches."""
        if self.dead:
            return
        try:
            self.process.stdin.write(f"{word} {steps} {order}\n".encode())
            stretches = [list(map(int, part.split())) for part in self.hear().split(";")]
        except OSError as e:
            self.dead = str(e)
            return
        self.raw.append([label, order, stretches])

    def turn(self, guess):
        steps = 1 + max(1, round(STRETCH_NS / guess))
        order = "0110" * max(1, round(TURN_MS * 1e6 / (4 * steps * guess)))
        for word in self.words:
            self.order(word, steps, "0" + order, word)  # the first one follows a rest

    def short_turn(self, guess):
        self.order("none", 2 + max(4, round(10 * STRETCH_NS / guess)), "0", "short")

    def long_turn(self, guess):
        """In one window if it waits for one."""
        word, order = ("window", "1") if self.options == WINDOWS else ("none", "0")
        self.order(word, int(BUDGET_FIRST * 1e9 / guess), order, "first")
        self.order(word, int(BUDGET_SECONDS * 1e9 / guess), order, "long")

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
        done = re.search(r"^steps (\d+)$", text, re.M)
        self.done = int(done[1]) if done else 0
        said = [line.partition(": ")[2] for line in text.splitlines() if line.startswith(("gpuprof-collect: ", "bare_cupti: "))]
        self.said = [line for line in said if "from launch to launch" in line] + said[-1:]
        if self.dead:
            self.said.append(f"failed: {self.dead}")

    def as_json(self):
        return {"done": self.done, "said": self.said, "turns": self.raw}


class Report:
    """What the turns of a program say."""

    def __init__(self, program, sides):
        self.program, self.sides = program, sides
        self.bare = self.rounds("bare", "short")
        self.bare_ns, self.bare_tenth = middle([statistics.median(r) for r in self.bare]), tenth(self.bare)
        self.launches = self.work_per_step("run") if "run" in sides else 0

    def work_per_step(self, name):
        """Kernels, copies and sets that a side has recorded."""
        found = re.search(r"(\d+) kernels, (\d+) copies, (\d+) sets", " ".join(self.sides[name]["said"]))
        return sum(map(int, found.groups())) / self.sides[name]["done"] if found and self.sides[name]["done"] else 0

    def stretches(self, name, word):
        """Of each turn, [on or off, steps] without the stretch that follows the rest and the first step of each."""
        for label, order, parts in self.sides[name]["turns"]:
            if label == word:
                yield [(flag, ns[1:]) for flag, ns in list(zip(order, parts))[1:]]

    def rounds(self, name, word, flag="0"):
        """The steps of each round of turns."""
        if word == "short":
            turns = [parts[0][2:] for label, _, parts in self.sides[name]["turns"] if label == word]
            return [sum(turns[i : i + SHORT_TURNS], []) for i in range(0, len(turns), SHORT_TURNS)]
        return [[ns for f, part in turn if f == flag for ns in part] for turn in self.stretches(name, word)]

    def pairs(self, name, word):
        """Differences of neighbours in ns, and in percent."""
        for turn in self.stretches(name, word):
            for pair in zip(turn[::2], turn[1::2]):
                off, on = (statistics.median(ns) for _, ns in sorted(pair, key=lambda p: p[0]))
                yield on - off, 100 * (on / off - 1)

    def say(self, name, what, ns, low, high, bare_ns):
        per_launch = f"{ns / self.launches / 1e3:+6.2f} us per launch [{low / self.launches / 1e3:+.2f}, {high / self.launches / 1e3:+.2f}]"
        share = f"{100 * ns / bare_ns:+6.1f}% [{100 * low / bare_ns:+.1f}, {100 * high / bare_ns:+.1f}]"
        print(f"{self.program:9} {name:20} {what:24} {share:24}", per_launch if self.launches else "", flush=True)

    def against_bare(self, name, word, flag="0", title="", what="bare process"):
        turns = list(zip(self.rounds(name, word, flag), self.bare))

        def longer(of):
            return tenth(t for t, _ in of) - tenth(b for _, b in of)

        if turns:
            self.say(title or name, what, longer(turns), *interval(turns, longer), self.bare_tenth)

    def long_turns(self, name):
        means = [
            [statistics.fmean(ns) for label, _, parts in self.sides[n]["turns"] if label == "long" for ns in parts] for n in ("bare", name)
        ]
        ratios = " ".join(f"{100 * (b / a - 1):+.1f}%" for a, b in zip(*means))
        part = f", {self.work_per_step(name) / self.launches:.1%} of all launches recorded" if self.launches else ""
        if ratios:
            print(f"{self.program:9} {name:20} {ratios} in turns of {BUDGET_SECONDS} s{part}", flush=True)

    def print(self, pool):
        print(
            f"{self.program:9} {'bare':20} {self.bare_tenth / 1e6:.3f} ms, middle of {len(self.bare)} rounds {self.bare_ns / 1e6:.3f} ms,"
            f" {self.launches:.0f} launches",
            flush=True,
        )
        for name, side in self.sides.items():
            for word in dict.fromkeys(label for label, _, _ in side["turns"] if label not in ("short", "first", "long")):
                title = word if name.startswith("floor") else name
                pairs = list(self.pairs(name, word))
                pool.setdefault(title, []).extend(percent for _, percent in pairs)
                ns = [n for n, _ in pairs]
                self.say(title, f"{len(ns)} pairs", middle(ns), *interval(ns), self.bare_ns)
                self.against_bare(name, word, "1", title, "on, against bare")
                self.against_bare(name, word, "0", title, "off, against bare")
            if name == "run":
                self.against_bare(name, "short", what="against bare")
            if name != "bare":
                self.long_turns(name)
            for line in side["said"]:
                print(f"{'':9} {'':20} {line}", flush=True)


def measure(program, configs, out):
    sides = [Side(program, c, out) for c in configs]
    begin = time.monotonic()
    guess = max([s.ready() for s in sides] + [1])
    print(f"{program:9} up after {time.monotonic() - begin:.0f} s, {guess / 1e6:.1f} ms per step", flush=True)
    deadline, turn = time.monotonic() + SECONDS, 0
    alone, budgets = ([s for s in sides if s.kind in kinds] for kinds in (("bare", "run"), ("bare", "budget")))
    while time.monotonic() < deadline:
        for i in range(SHORT_TURNS):
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
    return {s.name: s.as_json() for s in sides}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    pool = {}
    for item in sys.argv[2:]:
        program, colon, configs = item.partition(":")
        path = out / f"{program}.json"
        if colon:
            path.write_text(json.dumps(measure(program, configs.split("+"), out), separators=(",", ":")))
        Report(program, json.loads(path.read_text())).print(pool)
    for name, percent in pool.items():
        print("all       {:20} {:24} {:+6.1f}% [{:+.1f}, {:+.1f}]".format(name, f"{len(percent)} pairs", middle(percent), *interval(percent)))


if __name__ == "__main__":
    main()
