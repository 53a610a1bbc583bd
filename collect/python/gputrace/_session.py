"""A session: a block or a loop of the program, with a trace of its own where that is possible."""

import base64
import itertools
import json
import os
import re
import sys
import tempfile
import threading
import time
from typing import Iterator, Optional, Tuple

from . import _device, _results, _summary, _tools
from ._core_or_pure import core

_SYNC, _MEMORY = 1, 2
_E_OFF, _E_LIBRARY, _E_CUPTI, _E_HELD = 1, 2, 4, 5
_STEP = "gputrace.step"
_UNTIMED = "trace: the GPU was measured kernel by kernel, so times between launches are not meaningful"
_numbers = itertools.count(1)
_folder = None
_lock = threading.Lock()
on_iteration = None  # called after each measured iteration: _trial_torch.py takes them as steps
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: globals().update(_folder=None, _lock=threading.Lock()))


def _rank():
    """".rank3" where a launcher of several processes gives a rank, as the trace has it, else ""."""
    for variable in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"):
        value = os.environ.get(variable, "")
        if value.isascii() and value.isdigit() and int(value) < 2**31 - 1:
            return f".rank{int(value)}"
    return ""


def _path(name):
    """Where a trace goes: $GPUPROF_DIR, or a folder of this process among the temporary files, which stays."""
    global _folder
    chosen = os.environ.get("GPUPROF_DIR")
    if chosen:
        folder = os.path.abspath(chosen)
    else:
        with _lock:
            if not _folder:
                _folder = tempfile.mkdtemp(prefix="gputrace-")
        folder = _folder
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:100] or "session"
    return os.path.join(folder, f"{plain}{_rank()}.{os.getpid()}.{next(_numbers)}.trace")


def _ms(ns):
    return None if ns is None else ns / 1e6


class Session:
    """What ``session()`` gives: a context manager, to be iterated over for a loop with warm-up, and afterwards its results.

    Results that need a trace are read from it when they are first asked for. What was not measured is None, or has no rows where
    it is a table; ``warnings`` says why.
    """

    def __init__(self, name, warmup=0, iterations=None, sync=True, memory=False, trace=None, ops=False, light=False):
        if not isinstance(name, str):
            raise TypeError(f"session: the name is text, not {name!r}")
        if isinstance(warmup, bool) or not isinstance(warmup, int) or warmup < 0:
            raise ValueError(f"session: warmup is a number of iterations, not {warmup!r}")
        if iterations is not None and (isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1):
            raise ValueError(f"session: iterations is a positive number, not {iterations!r}")
        self.name = name
        self.warmup, self.iterations = warmup, 0
        self._planned, self._sync, self._memory, self._ops = iterations, sync, memory, ops
        self._light = light
        self._trace_path = os.path.abspath(os.fspath(trace)) if trace is not None else None
        self._state = "new"
        self._source = None  # "trace", "torch", "events" or None
        self._cut = self._events = self._profiler = self._annotations = None
        self._range = core.range(name)
        self._step = None
        self._warnings = []
        self._documents = {}
        self._trace = None
        self._total_ns = self._cpu_ns = self._gpu_ns = self._peak = None
        self._cost_begin = self._cost_end = 0

    # ---- the block ----

    def __enter__(self):
        if self._state != "new":
            raise RuntimeError(f"session {self.name!r} was used before: make a new one")
        self._state = "open"
        if not self.warmup and self._planned is None:
            self._begin()
        elif not self._light and not _device.torch_profiler_runs():
            core.attach(_tools.library())  # so that the warm-up is seen; nothing is recorded before the measurement
        return self

    def __exit__(self, *exception):
        if self._state == "open" and self.iterations == 0 and exception[0] is None:
            self._warn("the block did not iterate over the session, so nothing of it was measured: "
                       "write `for _ in s:`, or leave out warmup and iterations")
        if self._state == "open" and not core.enabled():
            core.record(False)  # gives CUPTI back
        if self._state == "measuring":
            self._end()
        self._state = "ended"

    def __iter__(self) -> Iterator[int]:
        """The numbers of the iterations, those of the warm-up included, which are outside of the measurement."""
        if self._state == "new":
            return self._whole_loop()
        if self._state != "open":
            raise RuntimeError(f"session {self.name!r} can be iterated over once, and not after a block that it has measured"
                               if self._state != "measuring" else
                               f"session {self.name!r}: give iterations= (or warmup=) to iterate over it")
        return self._loop()

    def _whole_loop(self):
        with self:
            if self._state == "measuring":  # neither warm-up nor a number: for ever, until the loop is left
                self._state = "looping"
                yield from self._steps(itertools.count())
                self._state = "measuring"
            else:
                yield from self._loop()

    def _loop(self):
        for number in range(self.warmup):
            if not core.enabled():
                core.mark(_STEP)  # how long iterations take while nothing is recorded
            yield number
        self._begin()
        self._state = "looping"
        total = itertools.count(self.warmup) if self._planned is None else range(self.warmup, self.warmup + self._planned)
        yield from self._steps(total)

    def _steps(self, numbers):
        try:
            for number in numbers:
                with core.range(_STEP):
                    yield number
                    self.iterations += 1
                if on_iteration:
                    on_iteration()
        finally:
            self._state = "measuring"
            self._end()
            self._state = "ended"

    # ---- beginning ----

    def _warn(self, text):
        if text not in self._warnings:
            self._warnings.append(text)

    def _begin(self):
        began = time.monotonic_ns()
        self._source = self._attach()
        self._state = "measuring"
        if self._source in ("events", "torch") and self._sync:
            _device.synchronize()
        self._open_memory()
        if self._source != "torch":
            self._events = (_device.event(), None) if self._source == "events" else None
        self._range.__enter__()
        self._cpu_ns = time.process_time_ns()
        self._total_ns = time.monotonic_ns()
        self._cost_begin = self._total_ns - began

    def _attach(self):
        """The ladder: a trace of our own, else torch.profiler, else CUDA events, else the clock."""
        if self._light:
            return self._or_events()
        if _device.torch_profiler_runs():
            self._warn("torch.profiler is recording and holds CUPTI: times are of the clock and of CUDA events; "
                       "for kernels, export its trace and call session.add(path)")
            self._annotate_torch()
            return self._or_events()
        if self._sync:
            _device.synchronize()
        path = self._trace_path or _path(self.name)
        error, reason = core.attach(_tools.library())
        late = 0
        if not error:
            flags = (_SYNC if self._sync else 0) | (_MEMORY if self._memory else 0)
            error, reason, self._cut, late = core.begin(_tools.text(self.name), path, flags)
        if not error:
            self._annotate(late)
            return "trace"
        self._cut = None
        if error == _E_OFF:
            self._warn("switched off by GPUPROF_OFF")
            return None
        if error == _E_HELD and _device.torch_profiler():
            return self._begin_torch(path, reason)
        self._warn(f"no trace: {reason}")
        return self._or_events()

    def _or_events(self):
        probe = _device.event()
        if probe is None:
            self._warn("no GPU is in use here: only the clock was read")
            return None
        self._warn("GPU time is between CUDA events on the current stream, idle time included; there are no kernels")
        return "events"

    def _annotate(self, late):
        """Ranges of others, for the time of the session; and what a late start has missed."""
        found = _device.torch() if self._ops else None
        if found:  # makes ranges of record_function itself
            self._annotations = found.autograd.profiler.emit_nvtx(record_shapes=True)
            self._annotations.__enter__()
        else:
            self._annotations = _device.Annotations().__enter__()
        if self._ops and not found:
            self._warn("operators are not recorded: PyTorch used no GPU when the session began; give it a warmup")
        if late:
            self._warn("attached after CUDA was initialized: graphs that were captured before have no ranges, modules that "
                       "have used NVTX before stay silent, and earlier allocations are unknown")

    def _annotate_torch(self):
        self._annotations = _device.torch().profiler.record_function(f"gputrace:{self.name}") if _device.torch() else None
        if self._annotations:
            self._annotations.__enter__()

    def _begin_torch(self, path, reason):
        profiler = _device.torch_profiler()
        self._warn(f"{reason}, as after any use of torch.profiler: torch.profiler records this session instead, so that "
                   "NVTX ranges and waits are missing")
        self._cut = path[:-len(".trace")] + ".json" if path.endswith(".trace") else path
        activity = profiler.ProfilerActivity
        self._profiler = profiler.profile(activities=[activity.CPU, activity.CUDA], record_shapes=self._ops,
                                          profile_memory=self._memory)
        self._profiler.__enter__()
        self._annotations = profiler.record_function(self.name)
        self._annotations.__enter__()
        return "torch"

    def _open_memory(self):
        found = _device.torch()
        if self._memory and found:
            found.cuda.reset_peak_memory_stats()

    # ---- the end ----

    def _end(self):
        self._state = "ended"
        if self._sync and self._source:
            _device.synchronize()
        if self._events:
            self._events = (self._events[0], _device.event())
            self._gpu_ns = _device.elapsed_ns(*self._events)
        ended = time.monotonic_ns()
        self._total_ns = ended - self._total_ns
        self._cpu_ns = time.process_time_ns() - self._cpu_ns
        self._range.__exit__(None, None, None)
        found = _device.torch()
        if self._memory and found:
            self._peak = found.cuda.max_memory_allocated()
        if self._annotations:
            self._annotations.__exit__(None, None, None)
        self._annotations = None
        if self._source == "trace":
            self._end_trace()
        elif self._source == "torch":
            self._end_torch()
        self._cost_end = time.monotonic_ns() - ended

    def _end_trace(self):
        error, reason, path, begin_ns, end_ns = core.end(self._cut)
        self._cut = None
        if error:
            self._warn(f"no trace: {reason}")
            self._source = None
            return
        self._trace = path
        _summary.session_ended(path)

    def _end_torch(self):
        self._profiler.__exit__(None, None, None)
        self._profiler.export_chrome_trace(self._cut)
        self._profiler = None
        self._trace = self._cut

    def add(self, path) -> None:
        """Take kernels and everything else from a trace that another profiler has written of this session: a file of
        torch.profiler, Nsight Systems or rocprofv3."""
        self._check()
        _tools.run("trace-hta", "-q", "-f", "json", os.fspath(path))
        self._trace = os.fspath(path)
        self._documents.clear()
        self._warn("kernels are those of the whole file of another profiler, which may hold more than this session")

    # ---- results ----

    def _check(self):
        if self._state != "ended":
            raise RuntimeError(f"session {self.name!r} has not ended: its results are there after the block")

    def _document(self, name, *args):
        self._check()
        if not self._trace:
            return None
        if (name, args) not in self._documents:
            self._documents[name, args] = _tools.document(name, "--allow-empty", *args, "--", self._trace)
        return self._documents[name, args]

    def _marker(self):
        return ["--step-marker", f"^{re.escape(_STEP)}$"] if self.iterations and self._source == "trace" else []

    @property
    def hta(self) -> Optional[dict]:
        """What ``trace-hta --whole --top 0 -f json`` says, as in its schema; None without a trace."""
        return self._document("trace-hta", "--whole", "-n", "0")

    @property
    def suggest(self) -> Optional[dict]:
        """What ``trace-suggest -f json`` says; None without a trace."""
        return self._document("trace-suggest", *self._marker())

    def _advice(self, step_ns):
        """The same if a step takes STEP_NS when nobody records; raises where that cannot be."""
        return self._document("trace-suggest", *self._marker(), "--step-time", f"{round(step_ns)}ns")

    @property
    def trace(self) -> Optional[str]:
        """Path of the trace, for the programs of the suite; None if there is none."""
        self._check()
        return self._trace

    @property
    def warnings(self) -> Tuple[str, ...]:
        """What this session lacks, and why."""
        lost = []
        if self._state == "ended" and self._trace:
            if any(d["name"] is None for d in self.hta["devices"]):
                lost.append("CUPTI did not report what the device is, so that advice has no ceilings of it")
            for issue in self.hta["quality"]["issues"]:
                lost.append(_UNTIMED if issue["kind"] == "counters" else f"trace: {issue['kind']}: {issue['count']}")
        return tuple(self._warnings + lost)

    @property
    def total_ns(self) -> Optional[int]:
        """Wall time of the measured part; None if nothing was measured."""
        self._check()
        return self._total_ns

    @property
    def cpu_ns(self) -> Optional[int]:
        """Processor time of this process, all threads, in the measured part; None if nothing was measured."""
        self._check()
        return self._cpu_ns

    @property
    def gpu_ns(self) -> Optional[int]:
        """Time in which a device was busy, summed over devices; without a trace, between CUDA events. None if it is not known:
        without either, or where counters made the GPU run kernel by kernel."""
        hta = self.hta
        if not hta:
            return self._gpu_ns
        busy = [d["busy_ns"] for d in hta["devices"]]
        return None if None in busy else sum(busy)

    @property
    def kernel_ns(self) -> Optional[int]:
        """Sum of the durations of all GPU events; more than gpu_ns where they overlap. None without a trace."""
        return sum(k.total_ns for k in self.kernels) if self.hta else None

    @property
    def total_ms(self) -> Optional[float]:
        return _ms(self.total_ns)

    @property
    def gpu_ms(self) -> Optional[float]:
        return _ms(self.gpu_ns)

    @property
    def cpu_ms(self) -> Optional[float]:
        return _ms(self.cpu_ns)

    @property
    def peak_bytes(self) -> Optional[int]:
        """Peak of allocated memory: of PyTorch's allocator, otherwise of allocations in the trace. None without memory=True."""
        self._check()
        if self._peak is not None or not self._memory:
            return self._peak
        rows = (self.hta or {}).get("memory") or []
        return max((r["peak_bytes"] for r in rows), default=None)

    @property
    def kernels(self) -> Tuple[_results.Kernel, ...]:
        """GPU events by name, the longest total first."""
        return _results.kernels(self.hta) if self.hta else ()

    @property
    def ranges(self) -> Tuple[_results.RangeTime, ...]:
        return _results.ranges(self.hta) if self.hta else ()

    @property
    def operators(self) -> Tuple[_results.Operator, ...]:
        """PyTorch's operators, the longest GPU time first; with ops=True, or from a trace of torch.profiler."""
        return _results.operators(self.hta) if self.hta else ()

    @property
    def bottlenecks(self) -> Tuple[_results.Finding, ...]:
        """Where the time went, the largest first."""
        return _results.findings(self.hta) if self.hta else ()

    @property
    def advice(self) -> Tuple[_results.Advice, ...]:
        """What to change, the largest saving first."""
        return _results.advice(self.suggest) if self.suggest else ()

    @property
    def cost(self) -> _results.Cost:
        self._check()
        size = os.path.getsize(self._trace) if self._trace and os.path.exists(self._trace) else 0
        return _results.Cost(self._cost_begin, self._cost_end, size)

    # ---- output ----

    def html(self, path=None) -> str:
        """The flame graph as a page; written to PATH if given. Raises RuntimeError without a trace."""
        return self._draw("html", path)

    def svg(self, path=None) -> str:
        return self._draw("svg", path)

    def _draw(self, form, path):
        self._check()
        if not self._trace:
            raise RuntimeError(f"session {self.name!r} has no trace: {'; '.join(self._warnings)}")
        text = _tools.run("trace2flame", "-q", "--whole", "-f", form, "--title", _tools.text(self.name), "--", self._trace)
        if path is not None:
            _tools.write(path, text)
        return text

    def save(self, path) -> None:
        """Copy the trace to PATH."""
        self._check()
        if not self._trace:
            raise RuntimeError(f"session {self.name!r} has no trace: {'; '.join(self._warnings)}")
        with open(self._trace, "rb") as f:
            _tools.write(path, f)

    def compare(self, other: "Session") -> _results.Comparison:
        """This session as the baseline of OTHER."""
        from ._api import compare
        return compare(self, other)

    def to_json(self, path=None) -> str:
        """Everything above as JSON."""
        cost = self.cost
        text = json.dumps({
            "schema": "gputrace/session/1", "name": self.name, "iterations": self.iterations, "total_ns": self.total_ns,
            "gpu_ns": self.gpu_ns, "cpu_ns": self.cpu_ns, "peak_bytes": self.peak_bytes, "trace": self.trace,
            "kernels": [_results.plain(k) for k in self.kernels], "ranges": [_results.plain(r) for r in self.ranges],
            "operators": [_results.plain(o) for o in self.operators],
            "bottlenecks": [_results.plain(b) for b in self.bottlenecks],
            "advice": [_results.plain(a) for a in self.advice], "warnings": list(self.warnings),
            "cost": _results.plain(cost)}, indent=2)
        if path is not None:
            _tools.write(path, text + "\n")
        return text

    def __str__(self):
        if self._state != "ended":
            return f"session {self.name!r}, not ended"
        lines = [self._headline()]
        if self.peak_bytes is not None:
            lines.append(f"peak memory {self.peak_bytes:,} bytes")
        if self.kernels:
            lines.append("GPU time by kernel:")
            lines += [f"  {k.share_pct:5.1f}%  {k.total_ns / 1e6:10.3f} ms  {k.count:7d}x  {k.label[:70]}"
                      for k in self.kernels[:5]]
        if self.bottlenecks:
            lines.append("where the time went:")
            lines += [f"  - {b.text}" for b in self.bottlenecks[:3]]
        if self.advice:
            lines.append("what to do:")
            lines += [f"  - [{a.priority}] {a.description}: {a.action} (saves {a.saving_low_ns / 1e6:.3f} to "
                      f"{a.saving_high_ns / 1e6:.3f} ms per {self.suggest['step']['unit']})" for a in self.advice[:3]]
        elif self._trace:
            lines.append("nothing ran on a GPU" if not self.kernels else "no advice: the times of its steps are not known"
                         if not self.suggest["step"] else "no advice: nothing was found that would shorten it")
        lines += [f"note: {w}" for w in self.warnings]
        cost = self.cost
        lines.append(f"this session cost {cost.begin_ns / 1e6:.1f} ms to begin and {cost.end_ns / 1e6:.1f} ms to end"
                     + (f"; trace ({cost.trace_bytes:,} bytes): {self._trace}" if self._trace else ""))
        return "\n".join(lines)

    def _headline(self):
        if self.total_ns is None:
            return f"{self.name}: nothing was measured"
        each = ""
        if self.iterations:
            each = f"{self.iterations} iterations of {self.total_ms / self.iterations:.3f} ms, "
        gpu = f"GPU busy {self.gpu_ms:.3f} ms" if self.gpu_ns is not None else "GPU time unknown"
        return f"{self.name}: {each}{self.total_ms:.3f} ms in total, {gpu}, CPU {self.cpu_ms:.3f} ms"

    def __repr__(self):
        return f"<gputrace.Session {self.name!r}, {self._state}>"

    def _repr_html_(self):
        """For notebooks: the text, and the flame graph."""
        import html
        text = f'<pre style="white-space:pre-wrap;word-break:normal">{html.escape(str(self))}</pre>'
        if self._state != "ended" or not self._trace or not self.kernels:
            return text
        picture = base64.b64encode(self.svg().encode()).decode()
        return f'{text}<img alt="flame graph of {html.escape(self.name)}" src="data:image/svg+xml;base64,{picture}">'


def session(name: str, *, warmup: int = 0, iterations: Optional[int] = None, sync: bool = True, memory: bool = False,
            trace=None, ops: bool = False, light: bool = False) -> Session:
    """Measure a block, or the iterations of a loop::

        with session("step") as s:
            step()

        with session("step", warmup=3, iterations=10) as s:
            for _ in s:
                step()

    ``warmup`` iterations come first and are not measured. ``sync`` waits for the device at both ends. ``memory`` records
    allocations, and the peak of PyTorch's allocator, whose peak statistics it resets. ``trace`` is where the trace goes.
    ``ops`` records PyTorch's operators with their shapes, which costs some microseconds each. ``light`` records nothing and
    leaves CUPTI alone: wall and processor time, and GPU time by CUDA events. Sessions may nest, and other threads may have
    their own; each has the work of the whole process in its time.
    """
    return Session(name, warmup, iterations, sync, memory, trace, ops, light)
