"""Trials inside a process: which changes are tried, how ranks agree, and where rows go. _trial_site/sitecustomize.py calls ``start()``
when a process of ``gpuprof-try`` imports PyTorch; the plan is a JSON file that GPUPROF_TRY_PLAN names:

    {"out": FOLDER, "changes": [NAME] | null, "sets": [TEXT], "precision": 0.01, "time_limit_ns": N, "max_steps": N | null,
     "seed": 1, "marker": REGEX | null, "quiet": false, "side": null | {"seconds": 10, "apply": NAME | null}}

Rows go to FOLDER/PID.jsonl, a line each: {"kind": "steps" | "trial" | "control" | "together" | "wanted" | "time" | "refused",
"row": {...}}.
"""

import atexit
import itertools
import json
import os
import sys

from . import _trial_changes as table
from ._trial_design import Alone, Plan, Runner, Timed, _Stopped, put, say

_WINDOW = 6  # steps that are recorded to see what to try


class Store:
    """The exchange of several ranks: the key-value store of torch.distributed, which needs no GPU and enters no collective."""

    def __init__(self, store, rank, world):
        self._store, self.rank, self._world = store, rank, world
        self._numbers = itertools.count()

    def _key(self):
        return f"gputrace.trial/{next(self._numbers)}"

    def _get(self, key):
        try:
            return json.loads(self._store.get(key))
        except Exception as e:
            raise _Stopped(f"another rank does not answer ({type(e).__name__})") from e

    def decide(self, value):
        key = self._key()
        if self.rank == 0:
            self._store.set(key, json.dumps(value()))
        return self._get(key)

    def agree(self, reason):
        key = self._key()
        self._store.set(f"{key}/{self.rank}", json.dumps(reason))
        reasons = [self._get(f"{key}/{rank}") for rank in range(self._world)]
        return next((r for r in reasons if r), None)


def exchange_of(torch):
    """How the ranks of this program agree. Raises RuntimeError where they cannot."""
    distributed = getattr(torch, "distributed", None)
    if distributed and distributed.is_available() and distributed.is_initialized():
        if distributed.get_world_size() == 1:
            return Alone()
        return Store(distributed.distributed_c10d._get_default_store(), distributed.get_rank(), distributed.get_world_size())
    world = os.environ.get("WORLD_SIZE", "1")
    if world.isdigit() and int(world) > 1:
        raise RuntimeError(f"one of {world} ranks, which do not use torch.distributed and so cannot agree on when to switch")
    return Alone()


# ---- what is tried ----

def choose(program, runner):
    """The changes to try, in their order. Those that were named; otherwise what trace-suggest finds in a few recorded steps, the largest
    saving first; otherwise, all that apply."""
    named = [c for c in runner.changes if c.named]
    if named or program.plan.get("changes") is not None:
        return named
    found = yield from _suggested(program, runner)
    return [c for c in runner.changes if not c.only_named] if found is None else found


def _suggested(program, runner):
    """Changes that rules of trace-suggest ask for, with the savings that they predict; None where nothing can be recorded."""
    session = None
    if runner.exchange.rank == 0 and program.on_gpu():
        from ._session import Session
        session = Session("gpuprof-try", iterations=_WINDOW)
        try:
            session.__enter__()
            loop = iter(session)
            next(loop)
        except Exception as e:
            session = None
            runner.say(f"nothing was recorded ({e})")
    for _ in range(_WINDOW):
        yield
        if session:
            next(loop, None)
    rows = None
    if session:
        session.__exit__(None, None, None)
        rows = _rows_of(session, runner.step_ns, runner.say)
    found = runner.exchange.decide(lambda: rows)
    return None if found is None else mapped(found, runner)


def _advice(session, step_ns):
    """What trace-suggest says of steps that take STEP_NS when nobody records, unless it refuses that as the time of others."""
    try:
        return session._advice(step_ns)
    except Exception:
        return session.suggest


def _rows_of(session, step_ns, say):
    try:
        document = _advice(session, step_ns)
    except Exception as e:
        say(f"trace-suggest failed: {e}")
        return None
    if not document or not document.get("suggestions"):
        say("all changes that apply are tried: " + ("; ".join(session.warnings[:1]) or "no rule of trace-suggest found anything"))
        return None
    per_step = (document.get("step") or {}).get("unit") == "step"
    rows = [{"rule": s["rule"], "low": s["saving_low_ns"] if per_step else None, "high": s["saving_high_ns"] if per_step else None}
            for s in document["suggestions"]]
    say(f"trace-suggest found {', '.join(dict.fromkeys(r['rule'] for r in rows))}")
    return rows


def mapped(rows, runner):
    """The changes for suggestions, which are sorted by saving; those for which another process is needed are emitted as wanted."""
    chosen = []
    wanted = {}
    for r in rows:
        for change in runner.changes:
            if r["rule"] in change.rules and change not in chosen:
                change.rule, change.predicted = r["rule"], (r["low"], r["high"])
                chosen.append(change)
        for change in table.processes():
            if r["rule"] in change.rules and change.name not in wanted:
                wanted[change.name] = r
    for name, r in wanted.items():
        runner.emit("wanted", {"change": name, **r})
    return chosen or None


# ---- a process of gpuprof-try ----

class _Process:
    """What a process of the command does: finds steps, runs its trials, writes rows, and ends it."""

    def __init__(self, torch, plan):
        from ._trial_torch import install
        self.plan = plan
        self.rank = 0
        self.program = install(torch, plan, self.ready)
        self.program.ended = self.ended
        side = plan.get("side")
        if side and side.get("apply"):
            table.select([side["apply"]], table.processes())[0].on(torch)
        self.pid = os.getpid()
        atexit.register(self.at_exit)

    def say(self, text):
        if self.rank == 0 and not self.plan.get("quiet"):
            say(text)

    def emit(self, kind, row):
        if not self.rank:
            put(os.path.join(self.plan["out"], f"{os.getpid()}.jsonl"), kind, row)

    def ready(self, program):
        plan = self.plan
        try:
            exchange = exchange_of(program.torch)
            self.rank = exchange.rank
            every = table.changes()
            if plan.get("changes") is not None:
                every = table.select(plan["changes"], every) if plan["changes"] else []
            every += [table.statement(text) for text in plan.get("sets", ())]
        except (RuntimeError, ValueError) as e:
            self.emit("refused", {"reason": str(e)})
            return None
        settings = Plan(plan["precision"], plan["time_limit_ns"], plan.get("max_steps"), plan.get("seed", 1))
        self.emit("steps", {"name": program.step_name, "device": program.torch.cuda.get_device_name() if program.on_gpu() else None})
        if plan.get("side"):
            return Timed(program, plan["side"]["seconds"], settings, self.emit, exchange)
        return Runner(program, every, settings, self.emit, self.say, exchange)

    def ended(self):
        """All is measured, and the run's result is thrown away: it ends here, without saving anything more."""
        self.program.enabled = False
        if self.program.runner is None:
            return
        self.say("the program ends here")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def at_exit(self):
        """The program ends by itself."""
        program = self.program
        if os.getpid() != self.pid or not program.enabled:
            return
        if program.runner:
            program.runner.close("the program ended")
        else:
            seen = ", ".join(f"{program.count(kind)} {words}" for kind, words in
                             (("optimizer", "steps of optimizers"), ("module", "calls of outermost modules"),
                              ("batch", "batches"), ("range", "ranges of --step-marker")) if program.count(kind))
            if seen or program.optimizers_made:
                self.emit("refused", {"reason": f"too few steps: the program ended after {seen or 'no step of its optimizer'}"})


def start(torch):
    """PyTorch was imported in a process of gpuprof-try."""
    try:
        with open(os.environ["GPUPROF_TRY_PLAN"], encoding="utf-8") as f:
            plan = json.load(f)
        _Process(torch, plan)
    except Exception as e:  # the program runs on without trials
        say(f"trials cannot be made in process {os.getpid()}: {type(e).__name__}: {e}")
