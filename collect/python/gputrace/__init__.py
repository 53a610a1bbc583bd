"""Measure and trace GPU work from inside a Python program.

    import gputrace as gp

    with gp.session("train", warmup=3, iterations=10) as s:
        for _ in s:
            step(batch)
    print(s)                       # where the time went and what to do about it
    s.gpu_ms, s.kernels[:5], s.advice, s.trace

Importing this changes nothing: a session attaches to CUPTI when it begins and gives it back when it ends. Without a GPU,
without CUPTI, or with GPUPROF_OFF=1 in the environment everything runs; ``session.warnings`` says what is missing.
Names that end in _ns are integer nanoseconds, _ms floating milliseconds, _bytes integer bytes, _pct percent.
"""

from ._api import classify, compare, events, include, lib, measure, profile_with_result, query, read, stalls, tool
from ._core_or_pure import core as _core
from ._memory import Memory, memory
from ._results import Advice, Change, Classification, Comparison, Cost, Finding, Kernel, Operator, RangeTime
from ._session import Session, session
from ._rows import Trial
from ._summary import (bottlenecks, off, on, print_summary, reset, summary, to_csv, to_json, RangeSummary)
from ._trial import Trials, trial
from ._version import __version__

range = _core.range


def mark(name: str, value: int = 0) -> None:
    """Note a moment, with a non-negative integer, in the trace of whoever records this program."""
    _core.mark(name, value)


def enabled() -> bool:
    """Is this process being recorded now?"""
    return _core.enabled()


__all__ = ["Advice", "Change", "Classification", "Comparison", "Cost", "Finding", "Kernel", "Memory", "Operator", "RangeSummary",
           "RangeTime", "Session", "Trial", "Trials", "bottlenecks", "classify", "compare", "enabled", "events", "include", "lib", "mark",
           "measure", "memory", "off", "on", "print_summary", "profile_with_result", "query", "range", "read", "reset", "session", "stalls", "summary",
           "to_csv", "to_json", "tool", "trial"]
