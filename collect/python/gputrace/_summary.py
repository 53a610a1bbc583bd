"""Sums per range over the whole run, without a trace."""

import csv
import io
import json
import math
import os
import threading
import warnings
from collections import deque
from dataclasses import asdict, dataclass, field, fields
from typing import Dict, List, Optional, Tuple

from . import _device, _tools
from ._core_or_pure import core

_PENDING = 4096  # pairs of events that may wait to be read


@dataclass(frozen=True)
class RangeSummary:
    """All calls of a range since the start or ``reset()``. Times are ns; those of the GPU are between two CUDA events on the
    current stream, and None without ``on(gpu=True)``; memory is None without ``on(memory=True)``."""
    name: str
    count: int
    total_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    stddev_ns: float  #: of all calls, not of a sample
    gpu_count: Optional[int] = None
    gpu_total_ns: Optional[int] = None
    gpu_mean_ns: Optional[float] = None
    gpu_min_ns: Optional[int] = None
    gpu_max_ns: Optional[int] = None
    gpu_stddev_ns: Optional[float] = None
    memory_total_bytes: Optional[int] = None  #: growth of PyTorch's allocated memory over all calls
    memory_mean_bytes: Optional[float] = None
    memory_min_bytes: Optional[int] = None
    memory_max_bytes: Optional[int] = None
    memory_stddev_bytes: Optional[float] = None
    allocations: Optional[int] = None
    frees: Optional[int] = None
    metrics: Dict[str, float] = field(default_factory=dict)  #: of the calls' numbers, each the sum, maximum or mean
    counters: Dict[str, float] = field(default_factory=dict)  #: of the GPU's counters, each the sum, maximum or mean of its calls


class _Numbers:
    """Count, sum, extremes and spread of integers."""
    __slots__ = ("count", "total", "least", "most", "squares")

    def __init__(self):
        self.count = self.total = self.squares = 0
        self.least = self.most = None

    def add(self, value):
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)
        self.count += 1
        self.total += value
        self.squares += value * value

    def row(self):
        if not self.count:
            return None, None, None, None, None
        return self.total, self.total / self.count, self.least, self.most, _spread(self.count, self.total, self.squares)


def _spread(count, total, squares):
    mean = total / count
    return math.sqrt(max(0.0, squares / count - mean * mean))


class _More:
    """What a range has besides host time."""
    __slots__ = ("gpu", "memory", "allocations", "frees")

    def __init__(self):
        self.gpu, self.memory, self.allocations, self.frees = _Numbers(), _Numbers(), 0, 0


class _Counter:
    """A metric of a range, combined over its calls and over sessions by RULE."""
    __slots__ = ("rule", "value", "measured")

    def __init__(self, rule):
        self.rule, self.value, self.measured = rule, None, 0

    def add(self, value, measured):
        if value is None or not measured:
            return
        if self.value is None:
            self.value = value
        elif self.rule == "sum":
            self.value += value
        elif self.rule == "mean":
            self.value = (self.value * self.measured + value * measured) / (self.measured + measured)
        else:
            self.value = max(self.value, value) if self.rule == "max" else min(self.value, value)
        self.measured += measured


_lock = threading.RLock()
_more: Dict[str, _More] = {}
_pending: deque = deque()
_counters: Dict[str, Dict[str, _Counter]] = {}  # by range and metric
_traces: deque = deque()  # of sessions, whose counters were not read yet
_wants = {"gpu": False, "memory": False, "counters": False}


def _enter(range_):
    return (_device.event() if _wants["gpu"] else None, _device.allocated() if _wants["memory"] else None)


def _leave(range_, token):
    begin, before = token
    with _lock:
        more = _more.setdefault(range_.name, _More())
        if before is not None:
            after = _device.allocated()
            if after is not None:
                more.memory.add(after[0] - before[0])
                more.allocations += after[1] - before[1]
                more.frees += after[2] - before[2]
        if begin is not None:
            end = _device.event()
            if end is not None:
                _pending.append((more, begin, end))
        _read(len(_pending) > _PENDING)


def _read(wait):
    """Take the times of pairs that the GPU has passed; with WAIT, wait for the oldest ones."""
    while _pending and (wait or _pending[0][2].query()):
        more, begin, end = _pending.popleft()
        more.gpu.add(_device.elapsed_ns(begin, end))
        if wait is not True or len(_pending) <= _PENDING // 2:
            wait = wait == "all"


def session_ended(path):
    """A session has left its trace at PATH, which may hold counters."""
    if _wants["counters"]:
        with _lock:
            _traces.append(path)


def _read_counters():
    while _traces:
        path = _traces.popleft()
        try:
            document = _tools.document("trace-metrics", "--per", "range", "-n", "0", "--", path)
        except RuntimeError as error:
            warnings.warn(f"no counters per range: {error}", RuntimeWarning, stacklevel=4)
            continue
        rules = {m["name"]: m["reduce"] for m in document["metrics"]}
        for group in document["groups"]:
            of_range = _counters.setdefault(group["name"], {})
            for metric, values in group["values"].items():
                counter = of_range.setdefault(metric, _Counter(rules[metric]))
                counter.add(values.get(counter.rule), group["measured"])


def on(*, gpu: bool = False, memory: bool = False, counters: bool = False) -> Tuple[str, ...]:
    """Sum up ranges from now on (which is so from the start), with ``gpu`` also GPU time by CUDA events and with ``memory``
    the growth, allocations and frees of PyTorch's allocator; these cost some microseconds per range. With ``counters`` also
    what the GPU's counters measure in sessions, in the ranges that are named to ``gpuprof-collect --metrics SET --metrics-per
    range:NAME``, which starts the program. Under gpuprof-collect recording continues, too. Returns what is missing."""
    missing = []
    _wants.update(gpu=gpu, memory=memory, counters=counters)
    core.hooks(*((_enter, _leave) if gpu or memory else (None, None)))
    core.summing(True)
    if gpu and _device.event() is None:
        missing.append("GPU time: no GPU is in use here so far")
    if memory and _device.torch() is None:
        missing.append("memory: PyTorch does not use a GPU here so far")
    if counters and core.listening() != "gpuprof":
        missing.append("counters: start this program with gpuprof-collect --metrics SET --metrics-per range:NAME")
    if core.listening() == "gpuprof":
        error, reason = core.record(True)
        if error:
            missing.append(reason)
    return tuple(missing)


def off() -> None:
    """Sum up nothing, and stop recording this process if it is recorded, until ``on()``."""
    core.hooks(None, None)
    core.summing(False)
    if core.listening() == "gpuprof":
        core.record(False)


def reset() -> None:
    """Forget all sums."""
    with _lock:
        core.reset()
        _pending.clear()
        _more.clear()
        _counters.clear()
        _traces.clear()


if hasattr(os, "register_at_fork"):
    def _forked():
        global _lock
        _lock = threading.RLock()
        _pending.clear()
        _more.clear()
        _counters.clear()
        _traces.clear()
    os.register_at_fork(after_in_child=_forked)


def summary() -> Tuple[RangeSummary, ...]:
    """Ranges that have ended, the longest total host time first."""
    rows = []
    with _lock:
        _read("all")
        _read_counters()
        for name, count, total, least, most, squares, metrics in core.sums():
            more = _more.get(name)
            extra = ()
            counted = {m: c.value for m, c in _counters.get(name, {}).items() if c.value is not None}
            if more:
                gpu, memory = more.gpu.row(), more.memory.row()
                measured = more.memory.count > 0
                extra = (more.gpu.count or None, *gpu, *memory, more.allocations if measured else None,
                         more.frees if measured else None)
            rows.append(RangeSummary(name, count, total, total / count, least, most, _spread(count, total, squares), *extra,
                                     metrics=metrics, counters=counted))
    return tuple(sorted(rows, key=lambda r: (-r.total_ns, r.name)))


def bottlenecks(n: int = 5) -> Tuple[RangeSummary, ...]:
    """The N ranges with the most GPU time, or, where that is not known, host time."""
    return tuple(sorted(summary(), key=lambda r: (-(r.gpu_total_ns or 0), -r.total_ns, r.name))[:n])


def print_summary(file=None) -> None:
    """Print the summary as a table."""
    rows = summary()
    if not rows:
        print("no range has ended so far", file=file)
        return
    with_gpu, with_memory = any(r.gpu_count for r in rows), any(r.memory_total_bytes is not None for r in rows)
    head = f"{'range':<30} {'count':>8} {'total ms':>11} {'mean ms':>10} {'min ms':>10} {'max ms':>10} {'stddev':>10}"
    head += f" {'GPU ms':>11} {'mean':>10}" if with_gpu else ""
    head += f" {'memory MB':>10} {'allocs':>8} {'frees':>8}" if with_memory else ""
    print(head, file=file)
    for r in rows:
        line = (f"{_cut(r.name):<30} {r.count:>8} {r.total_ns / 1e6:>11.3f} {r.mean_ns / 1e6:>10.3f} {r.min_ns / 1e6:>10.3f} "
                f"{r.max_ns / 1e6:>10.3f} {r.stddev_ns / 1e6:>10.3f}")
        if with_gpu:
            line += f" {_or_dash(r.gpu_total_ns, 1e6):>11} {_or_dash(r.gpu_mean_ns, 1e6):>10}"
        if with_memory:
            line += f" {_or_dash(r.memory_total_bytes, 1e6):>10} {_or_dash(r.allocations):>8} {_or_dash(r.frees):>8}"
        print(line, file=file)


def _cut(name):
    name = "".join(ch if ch.isprintable() else "?" for ch in name)
    return name if len(name) <= 30 else name[:27] + "..."


def _or_dash(value, unit=None):
    return "-" if value is None else f"{value / unit:.3f}" if unit else str(value)


def to_json(path=None) -> str:
    """The summary as JSON: {"schema": "gputrace/summary/1", "ranges": [...]}; written to PATH if given."""
    text = json.dumps({"schema": "gputrace/summary/1", "ranges": [asdict(r) for r in summary()]}, indent=2)
    return _write(text + "\n", path)


_FORMULAS = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")  # what begins like this is a formula to a spreadsheet


def to_csv(path=None) -> str:
    """The summary as CSV with a heading; written to PATH if given."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    names: List[str] = [f.name for f in fields(RangeSummary)]
    writer.writerow(names)
    for r in summary():
        writer.writerow([_cell(getattr(r, n)) for n in names])
    return _write(buffer.getvalue(), path)


def _cell(value):
    if isinstance(value, str) and value.startswith(_FORMULAS):
        return "'" + value
    return "" if value is None else json.dumps(value) if isinstance(value, dict) else value


def _write(text, path):
    if path is not None:
        _tools.write(path, text)
    return text
