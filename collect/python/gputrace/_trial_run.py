"""The body of gpuprof-try: runs the command with trials inside, then pairs of processes for what needs one of its own. Writes rows as
JSON lines for gpuprof-try, which presents them.

    main(["--result", FILE, OPTION..., "--", CMD, ARG...])
    main(["--list"])
"""

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import _trial_changes as table
from . import _trial_stat as stat
from ._trial_design import CONTROL, Change, measured, put, row, say

_MOST_PROCESS_PAIRS = 12
_USAGE = 2


class _Run:
    def __init__(self, options):
        self.o = options
        self.child = self.folder = None
        self.stopped = False  # by a signal
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, self.passed_on)

    def passed_on(self, number, frame):
        self.stopped = True
        if self.child and number != signal.SIGINT:  # of which the terminal tells the command, too
            self.child.send_signal(number)

    def say(self, text):
        if not self.o.quiet:
            say(text)

    def emit(self, kind, values):
        put(self.o.result, kind, values)

    def plan(self, **more):
        return {"out": self.folder, "changes": None, "sets": [], "precision": self.o.precision, "time_limit_ns": self.o.time_limit_ns,
                "max_steps": self.o.max_steps, "seed": self.o.seed, "marker": self.o.step_marker, "quiet": self.o.quiet, "side": None,
                **more}

    def run(self, command, plan, variables=()):
        """Run COMMAND with PLAN; returns (rows of the process that wrote most, exit status)."""
        self.folder = plan["out"] = tempfile.mkdtemp(prefix="gpuprof-try-")
        try:
            path = os.path.join(self.folder, "plan.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(plan, f)
            site = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_trial_site")
            paths = [site] + [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "GPUPROF_TRY": "1", "GPUPROF_TRY_PLAN": path,
                           **dict(variables)}
            self.child = subprocess.Popen(command, env=environment)
            status = self.child.wait()
            self.child = None
            written = [[json.loads(line) for line in open(os.path.join(self.folder, name), encoding="utf-8")]
                       for name in sorted(os.listdir(self.folder)) if name.endswith(".jsonl")]
            return max(written, key=len, default=[]), status
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- inside one process ----

    def steps(self, names):
        """Trials inside the command. Returns the changes that a process of its own is wanted for."""
        rows, status = self.run(self.o.command, self.plan(changes=names, sets=self.o.set))
        wanted = []
        for line in rows:
            if line["kind"] == "wanted":
                change = table.select([line["row"]["change"]], table.processes())[0]
                change.rule, change.predicted = line["row"]["rule"], (line["row"]["low"], line["row"]["high"])
                wanted.append(change)
            else:
                self.emit(line["kind"], line["row"])
        if self.stopped or not any(line["kind"] in ("trial", "refused") for line in rows):
            self.emit("refused", {"reason": _no_rows(rows, status)})
        return wanted

    # ---- pairs of processes ----

    def side(self, command, variables, apply):
        """(ns per step, peak bytes, name of the steps) of a process."""
        if self.stopped:
            raise RuntimeError("not run: gpuprof-try was told to end")
        seconds = max(1.0, self.o.time_limit_ns / 1e9 / _MOST_PROCESS_PAIRS)
        rows, status = self.run(command, self.plan(side={"seconds": seconds, "apply": apply}, max_steps=None), variables)
        for line in rows:
            if line["kind"] == "time":
                return line["row"]["step_ns"], line["row"]["peak_bytes"], line["row"]["name"]
        refused = [line["row"]["reason"] for line in rows if line["kind"] == "refused"]
        raise RuntimeError(refused[0] if refused else _no_rows(rows, status))

    def processes(self, change, command, rng):
        """The row of a change by pairs of processes, in random order within each pair."""
        pairs, peaks, names, limit = [], ([], []), set(), 10 * self.o.time_limit_ns
        self.say(f"trying {change.name}: at least {stat.LEAST_PAIRS} pairs of processes")
        began = time.perf_counter_ns()
        while len(pairs) < stat.LEAST_PAIRS or not (
                stat.enough(pairs, self.o.precision) or len(pairs) >= _MOST_PROCESS_PAIRS or time.perf_counter_ns() - began > limit):
            times = {}
            for on in rng.sample((False, True), 2):
                try:
                    variables = (change.variables or {}) if on else {}
                    apply = change.name if on and callable(change.on) and change is not CONTROL else None
                    ns, peak, name = self.side(command if on else self.o.command, variables, apply)
                except (RuntimeError, OSError) as e:
                    return row(change, "failed", f"{'with' if on else 'without'} the change: {e}", mode="processes", pairs=len(pairs))
                times[on] = ns
                names.add(name)
                peaks[on].append(peak)
            pairs.append((times[False], times[True]))
        off, on = (None if None in p else max(p) for p in peaks)
        notes = ["steps of both sides do not end alike: " + ", ".join(sorted(names))] if len(names) > 1 else []
        return measured(change, pairs, off, on, None, notes, mode="processes")


def _no_rows(rows, status):
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    if any(line["kind"] == "steps" for line in rows):
        return f"the command {how} before all was measured"
    return f"no steps were found: the command {how}, and none of its processes stepped an optimizer, called a module or took a batch of PyTorch"


def _options(arguments):
    p = argparse.ArgumentParser(prog="gpuprof-try", add_help=False)
    p.add_argument("--list", action="store_true")
    p.add_argument("--result")
    p.add_argument("--changes")
    p.add_argument("--set", action="append", default=[])
    p.add_argument("--env", action="append", default=[])
    p.add_argument("--other", action="append", default=[])
    p.add_argument("--precision", type=float, default=0.01)
    p.add_argument("--time-limit-ns", type=int, default=30_000_000_000)
    p.add_argument("--max-steps", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--step-marker")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("command", nargs="*")
    return p.parse_args(arguments)


def _work(o):
    """What is to be tried: (names of changes within steps or None, [(change, command)] for processes)."""
    names, apart = None, []
    if o.changes is not None:
        known = table.processes()
        chosen = table.select([n for n in o.changes.split(",") if n], table.changes() + known)
        apart = [(c, o.command) for c in chosen if c in known]
        names = [c.name for c in chosen if c not in known]
    apart += [(table.environment(text), o.command) for text in o.env]
    for text in o.other:
        command = shlex.split(text)
        if not command:
            raise ValueError("--other names no command")
        apart.append((Change(f"other: {text}", None, None, text, "whatever it does"), command))
    for text in o.set:
        table.statement(text)
    if names is None and (apart or o.set):
        names = []
    return names, apart


def main(arguments):
    o = _options(arguments)
    if o.list:
        sys.stdout.write(table.listing())
        return 0
    try:
        names, apart = _work(o)
        if shutil.which(o.command[0]) is None:
            raise ValueError(f"{o.command[0]}: command not found")
    except ValueError as e:
        say(e)
        return _USAGE
    run, rng = _Run(o), random.Random(o.seed)
    run.say("this is an experiment: changes go on and off while the program runs, so its result is thrown away, and it ends when "
            "all is measured (GPUPROF_TRY=1 tells it so)")
    inside = names is None or names or o.set
    if inside:
        apart += [(c, o.command) for c in run.steps(names)]
    elif apart:
        run.emit("control", run.processes(CONTROL, o.command, rng))
    for change, command in apart:
        run.emit("trial", run.processes(change, command, rng))
    return 0
