"""The design of trials: when changes go on and off, what is timed, and when it is enough. Knows nothing of PyTorch: what changes,
tells the time, counts memory and compares results is given as an object (``Program`` of _trial_torch.py, or the tests' own).

    runner = Runner(program, changes, Plan(precision=0.01), emit)
    ... at the end of each step of the program: runner.step_ended()

A step's end resumes ``_script``, a generator that reads like the protocol: it yields once for each step that is to run. All ranks of a
program run the same script and count the same steps. What depends on a clock or may fail on one rank only goes through
``exchange``: rank 0 decides, or all agree, so that no rank waits in a collective that another one never enters.
"""

import json
import random
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Optional

from . import _trial_stat as stat

_SETTLED = 1.1  # the last steps differ by less
_SETTLE_MOST = 24  # steps after a change's first switch
_DROP_MOST = 4  # steps dropped after each later switch
_BLOCK_NS = 50_000_000  # blocks are at least so long, where steps are short
_BLOCK_STEPS = 5, 400  # the least, where there is time, and the most
_FIRST_STEPS = 5  # left alone: the program starts


@dataclass
class Plan:
    precision: float = 0.01  #: width of the interval as a share of the step
    time_limit_ns: int = 30_000_000_000  #: of the pairs of one change
    max_steps: Optional[int] = None
    seed: int = 1


@dataclass(eq=False)
class Change:
    """Something that can be switched on and off at the end of a step.

    ``on(program)`` and ``off(program)`` switch it; ``needs(program)`` is None, or why it cannot be tried; ``group``: of several
    only one can be on; ``compare``: results are held side by side by a forward pass ("outputs"), an optimizer's step ("update") or
    not (None), and may differ by ``tolerance``; ``scale(program)``: items per step while it is on, in those of a step without.
    """
    name: str
    on: object
    off: object
    permanent: str = ""
    may_change: str = "nothing"
    needs: object = None
    group: Optional[str] = None
    compare: Optional[str] = None
    tolerance: float = 0.0
    scale: float = 1.0
    what_if: bool = False  # not a change to make: an upper end
    rules: tuple = ()
    only_named: bool = False  # or if a rule asks for it
    named: bool = False  # by the user
    predicted: tuple = (None, None)
    rule: Optional[str] = None
    variables: Optional[dict] = None  # of the environment: it needs a process of its own
    members: tuple = ()  # names of the changes that this one is


class Failed(Exception):
    """A change that cannot go on, with its reason."""


class _Stopped(Exception):
    """The program ends, or has had its steps."""


class Alone:
    """The exchange of a program of one process."""
    rank = 0

    def decide(self, value):
        """VALUE() of rank 0, on all ranks."""
        return value()

    def agree(self, reason):
        """The first reason of any rank, on all ranks; None if none has one."""
        return reason


def say(text):
    """A line for people."""
    sys.stderr.write(f"gpuprof-try: {text}\n")
    sys.stderr.flush()


def put(path, kind, values):
    """A row for the answer."""
    with open(path, "a", encoding="utf-8") as f:
        f.write(json.dumps({"kind": kind, "row": values}) + "\n")


def row(change, status, reason=None, **values):
    """One of ``trials`` in the answer, without measurements unless VALUES has them."""
    low, high = change.predicted
    empty = dict.fromkeys(("off_ns", "on_ns", "saving_ns", "low_ns", "high_ns", "peak_bytes_off", "peak_bytes_on", "difference"))
    return {"change": change.name, "rule": change.rule, "mode": "steps", "status": status, "reason": reason, **empty, "pairs": 0,
            "predicted_low_ns": low, "predicted_high_ns": high, "permanent": change.permanent, "may_change": change.may_change,
            "what_if": change.what_if, "steps_per_block": None, "outliers": 0, "drift_pct": None, "changes": list(change.members), "notes": [], "samples": [],
            **values}


def measured(change, pairs, off_peak=None, on_peak=None, difference=None, notes=(), **values):
    """The row of a change with its PAIRS, (off, on) in ns per step."""
    estimate, low, high = stat.interval([off - on for off, on in pairs])
    if low is None:
        return row(change, "failed", f"only {len(pairs)} pairs were measured, and an interval needs {stat.LEAST_PAIRS}",
                   pairs=len(pairs))
    off, on = (statistics.median(side) for side in zip(*pairs))
    drift, outliers, notes = stat.drift([p[0] for p in pairs]), stat.outliers(pairs), list(notes)
    if drift:
        notes.append(f"steps without the change drifted by {100 * drift:+.1f}% from first to last; pairs cancel that")
    if outliers:
        notes.append(f"{outliers} of {len(pairs)} pairs are outliers; they count, and widen the interval")
    return row(change, "measured", None, off_ns=round(off), on_ns=round(on), saving_ns=round(estimate), low_ns=round(low),
               high_ns=round(high), pairs=len(pairs), peak_bytes_off=off_peak, peak_bytes_on=on_peak, difference=difference,
               outliers=outliers, drift_pct=round(100 * drift, 3) if drift else None, notes=notes,
               samples=[{"off_ns": round(a), "on_ns": round(b)} for a, b in pairs], **values)


CONTROL = Change("control", lambda program: None, lambda program: None)


class Runner:
    """Drives the trials of CHANGES in a program whose steps end with ``step_ended()``. EMIT gets rows, as (kind, dict): "trial",
    "control", "together". SAY gets lines for people. ``done`` is true when nothing is left to do."""

    def __init__(self, program, changes, plan, emit, say=lambda text: None, exchange=None):
        self.program, self.changes, self.plan = program, list(changes), plan
        self.emit, self.say = emit, say
        self.exchange = exchange or Alone()
        self.done = False
        self.busy = False  # a step's end is being handled: what runs now is not the program's
        self.steps = 0
        self.step_ns = None
        self._active = ()  # the changes that are on
        self._fault = None
        self._rows = {}
        self._script = self._run()

    # ---- what the program calls ----

    def step_ended(self):
        if self.busy or self.done:
            return
        self.busy = True
        self.steps += 1
        try:
            next(self._script)
        except StopIteration:
            self.done = True
        except _Stopped as e:
            self.emit("refused", {"reason": str(e)})
            self.done = True
        except Exception as e:  # a fault of ours must not become the program's
            self._turn(())
            self.emit("refused", {"reason": f"the trials ended: {_reason(e)}"})
            self.done = True
        finally:
            self.busy = False
        if self.plan.max_steps and self.steps >= self.plan.max_steps:
            self.close(f"the program had its {self.plan.max_steps} steps")

    def close(self, reason):
        """No more steps come, for that REASON: what was measured so far is the answer."""
        if self.busy or self.done:
            return
        self.busy = True
        try:
            self._script.throw(_Stopped(reason))
        except StopIteration:
            pass
        except _Stopped:
            self.emit("refused", {"reason": f"{reason} before anything was measured"})
        finally:
            self.busy, self.done = False, True

    def fault(self, exception):
        """Something of the program raised EXCEPTION. True if a change was on: it is off now, and is not tried again, so that what
        failed may be tried once more."""
        if not self._active or self.busy:
            return False
        self._fault = self._fault or _reason(exception)
        self._turn(())
        return True

    # ---- switching ----

    def _turn(self, changes):
        """Only CHANGES are on. What fails becomes the fault."""
        for change in reversed(self._active):
            if change not in changes:
                self._switch(change, change.off)
        for change in changes:
            if change not in self._active and not self._fault:
                self._switch(change, change.on)
        self._active = () if self._fault else tuple(changes)
        if self._fault:
            for change in reversed(changes):
                self._switch(change, change.off)

    def _switch(self, change, how):
        try:
            how(self.program)
        except Exception as e:  # whatever a change raises must not end the program
            self._fault = self._fault or _reason(e)

    def _check(self):
        """Raises Failed on all ranks where a change failed on one of them."""
        reason = self.exchange.agree(self._fault)
        if reason:
            self._turn(())
            self._fault = None
            raise Failed(reason)

    # ---- the protocol ----

    def _run(self):
        self.program.want_inputs()  # some changes need to know them
        for _ in range(_FIRST_STEPS):
            yield
        level = yield from self._settle(self.plan.time_limit_ns)
        self.step_ns = self.exchange.decide(lambda: level)
        asked = yield from self.program.choose(self)
        order = list(self.exchange.decide(lambda: [c.name for c in asked]))
        known = {c.name: c for c in asked + self.changes}
        asked = [known[name] for name in order]
        self._announce(asked)
        rng = random.Random(self.plan.seed)
        place = rng.randrange(len(asked) + 1)
        everything = asked[:place] + [CONTROL] + asked[place:]
        try:
            for change in everything:
                self._put(change, (yield from self._trial([change], change, rng)))
            yield from self._together(asked, rng)
        except _Stopped as e:
            for change in everything:
                if change.name not in self._rows:
                    self._put(change, row(change, "failed", f"not tried: {e}"))
        self.say("all is measured")

    def _put(self, change, result):
        self._rows[change.name] = result
        if change.members:
            self.emit("together", result)
        else:
            self.emit("control" if change is CONTROL else "trial", result)

    def _announce(self, asked):
        limit = self.plan.time_limit_ns / 1e9
        self.say(f"{self.program.step_name}: {self.step_ns / 1e6:.3f} ms; {len(asked)} change(s) and a control that changes "
                 f"nothing, at most {limit:.0f} s each and the time to settle: about {limit * (len(asked) + 1) / 60:.1f} min "
                 f"at most")

    def _together(self, asked, rng):
        """All that help at once; of a group, the one that saves most."""
        best = {}
        for change in asked:
            result = self._rows[change.name]
            helps = result["status"] == "measured" and result["low_ns"] > 0
            if helps and not change.what_if and change.scale == 1:
                key = change.group or change.name
                if key not in best or self._rows[best[key].name]["saving_ns"] < result["saving_ns"]:
                    best[key] = change
        names = self.exchange.decide(lambda: [c.name for c in best.values()])
        chosen = [c for c in asked if c.name in names]
        if len(chosen) < 2:
            return
        whole = Change("together", None, None, members=tuple(c.name for c in chosen), permanent="\n".join(c.permanent for c in chosen),
                       compare="outputs" if any(c.compare == "outputs" for c in chosen) else None,
                       tolerance=sum(c.tolerance for c in chosen),
                       may_change="; ".join(dict.fromkeys(c.may_change for c in chosen if c.may_change != "nothing")) or "nothing")
        self._put(whole, (yield from self._trial(chosen, whole, rng)))

    def _trial(self, changes, whole, rng):
        """The row of WHOLE, which is CHANGES at once."""
        reason = None
        for change in changes:
            try:
                reason = reason or (change.needs(self.program) if change.needs else None)
            except Exception as e:
                reason = _reason(e)
        reason = self.exchange.agree(reason)
        if reason:
            return row(whole, "not_applicable", reason)
        self.say(f"trying {whole.name}")
        so_far = {"pairs": []}
        try:
            yield from self._measure(changes, whole, rng, so_far)
        except Failed as e:
            self.say(f"{whole.name}: {e}; it is left out")
            return row(whole, "failed", str(e))
        except _Stopped as e:
            if len(so_far["pairs"]) < stat.LEAST_PAIRS:
                raise
            self._put(whole, measured(whole, **so_far))
            raise
        finally:
            self._turn(())
        return measured(whole, **so_far)

    def _measure(self, changes, whole, rng, so_far):
        """Fills SO_FAR, the arguments of measured()."""
        self._turn(changes)
        self._check()
        on_level = yield from self._settle(4 * self.plan.time_limit_ns)
        drop = 1
        for state in ((), changes):
            self._turn(state)
            self._check()
            drop = max(drop, (yield from self._dropped(on_level if state else self.step_ns)))
        so_far["difference"], so_far["notes"] = yield from self._compare(changes, whole)
        so_far["steps_per_block"] = length = self.exchange.decide(lambda: self._length(on_level, drop))
        pairs, peaks = so_far["pairs"], {False: None, True: None}
        began = time.perf_counter_ns()
        while not self.exchange.decide(lambda: self._over(pairs, began)):
            times = {}
            for on in rng.choice(((False, True), (True, False))):
                self._turn(changes if on else ())
                times[on] = yield from self._block(drop, length)
                peak = self.program.peak_bytes()
                peaks[on] = peak if peaks[on] is None or peak is None else max(peak, peaks[on])
            self._check()
            pairs.append((times[False], times[True] / whole.scale))
            so_far["off_peak"], so_far["on_peak"] = peaks[False], peaks[True]

    def _over(self, pairs, began):
        if len(pairs) >= stat.LEAST_PAIRS and time.perf_counter_ns() - began >= self.plan.time_limit_ns:
            return True
        return stat.enough(pairs, self.plan.precision)

    def _length(self, on_level, drop):
        """Steps of a block: long enough for the clock, short enough for eight pairs in the time."""
        step = max(1, min(self.step_ns, on_level))
        room = self.plan.time_limit_ns / (2 * 8) / max(self.step_ns, on_level) - drop
        least, most = _BLOCK_STEPS
        return int(max(1, min(max(least, _BLOCK_NS / step), room, most)))

    def _block(self, drop, length):
        """ns per step of LENGTH steps, after DROP that are not counted. The device is waited for at the end only, so that it has work
        when counting begins: otherwise the host's speed at the first launches would count where the device is what takes time."""
        for _ in range(drop):
            yield
        self.program.reset_peak()
        began = self.program.mark()
        for _ in range(length):
            yield
        return self.program.since(began) / length

    def _settle(self, limit_ns):
        """Run steps until they take the same time; returns what they take, each on its own."""
        began, times = time.perf_counter_ns(), []

        def settled():
            alike = max(times[-3:]) <= _SETTLED * min(times[-3:])
            return len(times) >= 3 and (alike or len(times) >= _SETTLE_MOST or time.perf_counter_ns() - began > limit_ns)
        while True:
            times.append((yield from self._block(0, 1)))
            if self.exchange.decide(settled):
                self._check()
                return statistics.median(times[-5:] if len(times) >= _SETTLE_MOST else times[-3:])

    def _dropped(self, level):
        """How many steps after a switch take longer than LEVEL; runs _DROP_MOST."""
        last = 1
        for i in range(_DROP_MOST):
            if (yield from self._block(0, 1)) > 1.25 * level:
                last = i + 1
        self._check()
        return self.exchange.decide(lambda: last)

    def _compare(self, changes, whole):
        """(difference or None, notes): results with and without the change, from the same state, inputs and random numbers."""
        if not whole.compare:
            return None, []
        self._turn(())
        self.program.want_inputs()
        yield
        try:
            difference, note = self.program.difference(whole.compare, lambda on: self._turn(changes if on else ()))
        except Exception as e:  # a copy that fails spoils nothing else
            difference, note = None, f"results were not compared: {_reason(e)}"
        self._check()
        found = max((v for k, v in (difference or {}).items() if k.endswith("_relative") and k != "noise_relative" and
                     v is not None), default=0)
        allowed = max(whole.tolerance, 3 * ((difference or {}).get("noise_relative") or 0))
        self._fault = f"results differ by {found:.2g}, more than {allowed:.2g}" if found > allowed or found != found else None
        self._check()
        return difference, [note] if note else []


class Timed(Runner):
    """Times the steps of a process that runs one side of a comparison: emits ("time", {"step_ns", "peak_bytes", "name"}) after SECONDS of
    steps; start-up is left out."""

    def __init__(self, program, seconds, plan, emit, exchange=None):
        super().__init__(program, (), plan, emit, exchange=exchange)
        self._limit_ns = int(seconds * 1e9)

    def _run(self):
        for _ in range(_FIRST_STEPS):
            yield
        level = yield from self._settle(self.plan.time_limit_ns)
        length = self.exchange.decide(lambda: int(max(1, min(_BLOCK_NS / level, _BLOCK_STEPS[1]))))
        self.program.reset_peak()
        times, began = [], time.perf_counter_ns()
        while self.exchange.decide(lambda: len(times) < 3 or time.perf_counter_ns() - began < self._limit_ns):
            times.append((yield from self._block(1, length)))
        self.emit("time", {"step_ns": round(statistics.median(times)), "peak_bytes": self.program.peak_bytes(),
                           "name": self.program.step_name})


def _reason(exception):
    """One line on EXCEPTION."""
    lines = str(exception).strip().splitlines()
    return f"{type(exception).__name__}: {lines[0][:200]}" if lines else type(exception).__name__
