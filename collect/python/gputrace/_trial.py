"""Trials of a function of this program: ``trial()``."""

import sys
import time
from dataclasses import dataclass, field
from typing import Optional, Tuple

from . import _results, _rows
from . import _trial_changes as table
from ._trial_design import Change, Plan, Runner


@dataclass(frozen=True)
class Trials:
    """What changes save, per step."""
    step_ns: Optional[int]  #: a step as it is, each on its own
    trials: Tuple[_rows.Trial, ...]
    control: Optional[_rows.Trial]  #: nothing changed: its interval must hold zero
    together: Optional[_rows.Trial]  #: all that help at once; None where fewer than two do
    refused: Optional[str] = field(default=None)  #: why nothing was measured

    @property
    def trusted(self) -> bool:
        """Does the control's interval hold zero?"""
        c = self.control
        return bool(c and c.status == "measured" and c.low_ns <= 0 <= c.high_ns)

    def __str__(self):
        lines = [self.refused] if self.refused else []
        rows = sorted(self.trials, key=lambda t: -(t.saving_ns if t.saving_ns is not None else -sys.maxsize))
        for t in [*rows, *(t for t in (self.control, self.together) if t)]:
            if t.status == "measured":
                lines.append(f"{t.change}: {t.off_ns / 1e6:.3f} -> {t.on_ns / 1e6:.3f} ms, saves {t.saving_ns / 1e6:.3f} ms "
                             f"({t.low_ns / 1e6:.3f} to {t.high_ns / 1e6:.3f}), {t.pairs} pairs")
            else:
                lines.append(f"{t.change}: {t.status.replace('_', ' ')}: {t.reason}")
        return "\n".join(lines)


class _Plain:
    """A program without PyTorch."""
    step_name = "a step is a call"
    torch = None
    reset_peak = peak_bytes = want_inputs = lambda self: None
    mark = lambda self: time.perf_counter_ns()
    since = lambda self, mark: time.perf_counter_ns() - mark

    def difference(self, kind, turn):
        return None, "results were not compared: PyTorch is not in use"

    def choose(self, runner):
        yield from ()
        return runner.changes


def _own(entry):
    """A change that is given as (name, on, off), functions without arguments."""
    if isinstance(entry, Change):
        return entry
    name, on, off = entry
    if not isinstance(name, str) or not callable(on) or not callable(off):
        raise TypeError(f"trial: a change is a name or (name, on, off), not {entry!r}")
    return Change(name, lambda program: on(), lambda program: off(), may_change="whatever it does", named=True)


def _changes(given):
    return [c for entry in given for c in (table.select([entry], table.changes()) if isinstance(entry, str) else [_own(entry)])]


def trial(step, changes=None, *, precision: float = 0.01, time_limit: float = 30.0, seed: int = 1) -> Trials:
    """Call STEP() again and again with changes on and off in turn, and measure what each saves::

        result = gputrace.trial(lambda: train(batch), ["tf32", "fused", ("flag", lambda: use(True), lambda: use(False))])
        print(result)

    CHANGES are names (``gpuprof-try --changes=list``) or (name, on, off) with two functions; without them, those that trace-suggest
    finds in a few recorded calls, or all that apply. PRECISION is the width of an interval, as a share of a step, at which measuring
    ends; TIME_LIMIT the seconds of one change. What STEP trains is not to be used afterwards.
    """
    if not callable(step):
        raise TypeError(f"trial: a step is a function, not {step!r}")
    if not 0 < precision < 1 or time_limit <= 0:
        raise ValueError("trial: precision is a share between 0 and 1, time_limit a positive number of seconds")
    torch, rows = sys.modules.get("torch"), {"trial": []}
    every = _changes(changes) if changes is not None else table.changes() if torch else []

    def emit(kind, values):
        if kind == "trial":
            rows["trial"].append(values)
        else:
            rows[kind] = values
    exchange, program = None, _Plain()
    if torch:
        from ._trial_hook import exchange_of
        from ._trial_torch import install
        program = install(torch, {"by_call": True, "changes": None if changes is None else list(map(str, changes))}, None)
        program.step_name = _Plain.step_name
        for _ in range(3):  # to see its modules and optimizers
            step()
        program.settle_hooks()
        exchange = exchange_of(torch)
    runner = Runner(program, every, Plan(precision, int(time_limit * 1e9), None, seed), emit, exchange=exchange)
    program.runner = runner
    try:
        while not runner.done:
            step()
            runner.step_ended()
    finally:
        runner.close("the function failed")
        if torch:
            program.ended()
    return Trials(runner.step_ns and round(runner.step_ns), _results._rows(_rows.Trial, rows["trial"]),
                  *(_results._rows(_rows.Trial, [rows[k]])[0] if k in rows else None for k in ("control", "together")),
                  rows.get("refused", {}).get("reason"))
