"""Functions that measure functions, compare sessions and read files."""

import csv
import io
import json
import os
import sys
import tempfile
import time
from typing import Any, Callable, Tuple

from . import _device, _results, _tools
from ._session import Session


def _name(function):
    return getattr(function, "__qualname__", None) or type(function).__name__


def measure(function: Callable, *args, warmup: int = 3, iterations: int = 10, memory: bool = False, name: str = None,
            light: bool = False, **keywords) -> Session:
    """Call FUNCTION(*args, **keywords) WARMUP + ITERATIONS times in a session; ``session.result`` is what the last call
    returned. Keywords of this function's own names cannot be passed on: use a lambda."""
    s = Session(name or _name(function), warmup=warmup, iterations=iterations, memory=memory, light=light)
    with s:
        for _ in s:
            s.result = function(*args, **keywords)
    return s


def profile_with_result(function: Callable, *args, light: bool = False, **keywords) -> Tuple[Any, Session]:
    """Call FUNCTION once in a session, with ``light`` one that needs no CUPTI; returns what it returned, and the session."""
    with Session(_name(function), light=light) as s:
        result = function(*args, **keywords)
    return result, s


def compare(baseline: Session, current: Session) -> _results.Comparison:
    """What changed between two sessions, by ``trace-diff``. Where one has no trace: the times that both have, and ``text`` says
    what is missing."""
    for s in (baseline, current):
        if not isinstance(s, Session):
            raise TypeError(f"compare: takes two sessions, not {s!r}")
    if not baseline.trace or not current.trace:
        return _results.comparison_of_times(baseline, current)
    marker = baseline._marker() if baseline.iterations and current.iterations else []
    document = _tools.document("trace-diff", "--any-work", "--gate", "none", "-n", "0", *marker, "--", baseline.trace,
                               current.trace, ok=(0, 1, 3))
    peaks = baseline.peak_bytes, current.peak_bytes
    return _results.comparison(document, peaks[1] - peaks[0] if None not in peaks else None)


_REGIMES = {"overhead_bound": "launch", "memory_bound": "memory", "compute_bound": "compute",
            "communication_bound": "communication", "transfer_bound": "transfer", "mixed": "neither"}
_SHORT_NS = 10_000  # events add some microseconds: what is shorter is bound by launching it
_BOUND = 0.7  # of the ceiling


def classify(function: Callable, *args, light: bool = False, iterations: int = 10, flops: float = None,
             bytes: float = None, ceilings=None, **keywords) -> Tuple[Any, _results.Classification]:
    """Call FUNCTION and find out what bounds it; returns its result and a Classification::

        product, c = gputrace.classify(torch.mm, a, b)
        c.regime, c.share_of_ceiling

    By default from a trace, by ``trace-suggest``. With ``light``, from CUDA events only, which needs no CUPTI: the least of at
    least 20 calls or 50 ms, held against the rates in the file CEILINGS (of ``gpuprof-measure --calibrate``) or, without it, of
    a large product and copy of PyTorch; ``flops`` and ``bytes`` are those of one call, by default what PyTorch's counter and the tensors among arguments and results give.
    """
    if light:
        return _classify_light(function, args, keywords, flops, bytes, ceilings)
    _, flops, bytes = _count(function, args, keywords, flops, bytes)
    s = measure(function, *args, warmup=2, iterations=iterations, **keywords)
    suggest = s.suggest
    if not suggest or not s.kernels:
        time_ns = s.gpu_ns // iterations if s.gpu_ns else None
        return s.result, _results.Classification("unknown", time_ns, None, None, None, False,
                                                 s.warnings or ("nothing ran on a GPU",))
    busy_ns = s.gpu_ns if s.gpu_ns is not None else s.kernel_ns
    time_ns = busy_ns // max(1, s.iterations)
    regime = _REGIMES.get(suggest["regime"]["step"], "unknown" if not suggest["step"] else "neither")
    rates, share = _rates(time_ns, flops, bytes), None
    peaks = _peaks(ceilings, args) or _peaks_of(suggest, args) or _probe(args, rates)
    if any(rates):
        share = _share(regime, rates, peaks)
    return s.result, _results.Classification(regime, time_ns, share, *rates, False, s.warnings)


def _rates(time_ns, flops, bytes_):
    per_s = 1e9 / time_ns if time_ns else None
    return (flops * per_s if flops and per_s else None, bytes_ * per_s if bytes_ and per_s else None)


def _share(regime, rates, peaks):
    if not peaks:
        return None
    shares = [r / p if r and p else None for r, p in zip(rates, peaks)]
    chosen = shares[0] if regime == "compute" else shares[1] if regime == "memory" else None
    return chosen if chosen is not None else max((s for s in shares if s is not None), default=None)


def _kind(values):
    """The type that the first tensor among VALUES is computed in, by its name in files of ceilings."""
    torch = sys.modules.get("torch")
    names = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float64": "fp64", "torch.float32": "fp32"}
    for v in values:
        name = names.get(str(getattr(v, "dtype", None)))
        if name == "fp32" and torch and torch.backends.cuda.matmul.allow_tf32:
            return "tf32"
        if name:
            return name
    return "fp32"


def _peaks(path, args):
    """(FLOP/s of the type of ARGS, bytes/s) from a file of ceilings, or None."""
    if path is None:
        return None
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    return document.get("flops_per_s", {}).get(_kind(args)), document.get("memory_bytes_per_s")


def _peaks_of(suggest, args):
    c = suggest["regime"].get("ceilings") or {}
    tflops, gbps = (c.get(_kind(args)) or {}).get("tflops"), (c.get("memory") or {}).get("gbps")
    return (tflops * 1e12 if tflops else None, gbps * 1e9 if gbps else None) if tflops or gbps else None


_probed = {}


def _probe(args, rates):
    """Without a file of ceilings: what a large product and a large copy reach here, measured once per process, or what a call
    has reached, if that is more. Up to 1.4 GB of memory, but an eighth of what is free."""
    torch, kind = _device.torch(), _kind(args)
    if torch and kind not in _probed:
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp64": torch.float64}.get(kind, torch.float32)
        free, _ = torch.cuda.mem_get_info()
        n = 8192 if kind in ("bf16", "fp16") and free > 8 << 30 else 2048 if kind == "fp64" else 4096
        a, data = torch.randn(n, n, device="cuda").to(dtype), torch.empty(min(1 << 29, free // 16), dtype=torch.uint8, device="cuda")
        _probed[kind] = (2.0 * n ** 3 * 1e9 / _best(lambda: torch.mm(a, a)), 2.0 * data.nelement() * 1e9 / _best(data.clone))
    if kind in _probed:
        _probed[kind] = tuple(max(p, r or 0) for p, r in zip(_probed[kind], rates))
    return _probed.get(kind)


def _tensor_bytes(*values):
    total = 0
    for v in values:
        if isinstance(v, (list, tuple)):
            total += _tensor_bytes(*v)
        elif hasattr(v, "element_size") and hasattr(v, "nelement"):
            total += v.element_size() * v.nelement()
    return total


def _count(function, args, keywords, flops, bytes_):
    """One call outside of the measurement: its result, and what it computes and moves at least."""
    torch = _device.torch()
    if torch and flops is None:
        try:
            from torch.utils.flop_counter import FlopCounterMode
            with FlopCounterMode(display=False) as counter:
                result = function(*args, **keywords)
            flops = counter.get_total_flops() or None
        except ImportError:
            result = function(*args, **keywords)
    else:
        result = function(*args, **keywords)
    return result, flops, bytes_ if bytes_ is not None else _tensor_bytes(args, tuple(keywords.values()), result) or None


def _best(call):
    """The least GPU time of at least 20 calls or 50 ms, in ns."""
    times, began = [], time.monotonic()
    while len(times) < 20 or time.monotonic() - began < 0.05:
        begin = _device.event()
        call()
        times.append(_device.elapsed_ns(begin, _device.event()))
    return min(times)


def _classify_light(function, args, keywords, flops, bytes_, ceilings):
    result, flops, bytes_ = _count(function, args, keywords, flops, bytes_)
    if _device.event() is None:
        return result, _results.Classification("unknown", None, None, None, None, True,
                                               ("no GPU is in use here, so there is nothing to time",))
    best = _best(lambda: function(*args, **keywords))
    rates = _rates(best, flops, bytes_)
    peaks, warnings = _peaks(ceilings, args) or _probe(args, rates), []
    share = _share(None, rates, peaks)
    if best < _SHORT_NS:
        regime = "launch"
    elif not peaks or not any(rates):
        regime = "unknown"
        warnings.append("the regime needs flops= or bytes= of a call, and without PyTorch ceilings=, a file of "
                        "gpuprof-measure --calibrate")
    else:
        shares = [r / p if r and p else 0.0 for r, p in zip(rates, peaks)]
        regime = "neither" if max(shares) < _BOUND else "compute" if shares[0] >= shares[1] else "memory"
    return result, _results.Classification(regime, best, share, *rates, True, tuple(warnings))


def read(path, table: str = "kernels"):
    """A trace of any format, or a file of ``to_json()`` or ``to_csv()``, as a pandas DataFrame; without pandas, a list of
    dicts. TABLE is one of those of ``trace-hta --table help``; of a session's JSON: kernels, ranges, operators, bottlenecks, advice.
    PATH may be several paths: traces of ranks are read together, and rows of results follow one another."""
    paths = [os.fspath(p) for p in ([path] if isinstance(path, (str, bytes, os.PathLike)) else path)]
    if not paths:
        raise ValueError("read: no file is given")
    results = [_read_results(p, table) for p in paths]
    if all(r is None for r in results):
        text = _tools.run("trace-hta", "-q", "--allow-empty", "--whole", "-n", "0", "-f", "csv", "-t", table, "--", *paths)
        rows = _rows(text)
    elif any(r is None for r in results):
        raise ValueError(f"{paths[results.index(None)]} is a trace, and others are results: read them separately")
    else:
        rows = [row for r in results for row in r]
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def query(path, sql: str):
    """The answer of ``trace-query`` to one statement about a trace of any format, or about several, which are ranks: a pandas
    DataFrame; without pandas, a dict with the list of values of each column. Times are integers, in ns."""
    paths = [os.fspath(p) for p in ([path] if isinstance(path, (str, bytes, os.PathLike)) else path)]
    answer = _tools.document("trace-query", "--", *paths, sql)
    columns = [[row[i] for row in answer["rows"]] for i in range(len(answer["columns"]))]
    try:
        import pandas
    except ImportError:
        return dict(zip(answer["columns"], columns))
    frame = pandas.concat([pandas.Series(c, dtype=_type_of(c)) for c in columns], axis=1)
    frame.columns = answer["columns"]
    return frame


def _type_of(column):
    """For pandas: integers stay integers where some are missing, which would become floating-point numbers otherwise."""
    kinds = {type(v) for v in column}
    return "Int64" if kinds == {int, type(None)} else None if column else object


def events(path):
    """All kernels, copies and sets of a trace, in the order of their starts; ``query()`` says how."""
    return query(path, "SELECT * FROM events ORDER BY start_ns")


def stalls(path):
    """Why the warps of kernels stall: samples of program counters by kernel, file, line, offset of the instruction and reason, most
    samples first; of ``latency_samples`` of them, no warp could issue. ``query()`` says how."""
    return query(path, "SELECT * FROM per_instruction ORDER BY samples DESC, name, offset, reason")


def _read_results(path, table):
    with open(path, "rb") as f:
        head = f.read(64)
        if head.startswith(b"name,count,total_ns,"):
            with open(path, encoding="utf-8", newline="") as text:
                return _rows(text.read())
        if b'"schema": "gputrace/' not in head:
            return None
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    table = "ranges" if document["schema"].startswith("gputrace/summary/") else table
    if table not in document or not isinstance(document[table], list):
        raise ValueError(f"{path}: has no table {table!r}")
    return document[table]


def _rows(text):
    return [{k: _number(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(text))]


def _number(text):
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def tool(name: str) -> str:
    """The path of a program of the suite, such as ``trace2flame``."""
    return _tools.program(name)


def lib() -> str:
    """The path of the library that records a process. Raises FileNotFoundError."""
    path = _tools.library()
    if not path:
        raise FileNotFoundError("libgpuprof-inject.so was not found: set GPUPROF_INJECT to its path")
    return path


def include() -> str:
    """The folder that holds gpuprof.h. Raises FileNotFoundError."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ("include", "../../include", "../../../../include", "../../../include"):
        path = os.path.normpath(os.path.join(here, folder))
        if os.path.exists(os.path.join(path, "gpuprof.h")):
            return path
    raise FileNotFoundError("gpuprof.h was not found")
