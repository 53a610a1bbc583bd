"""The C extension in Python, through ctypes: for a checkout without a compiler. See core.c, which this mirrors."""

import ctypes as c
import os
import sys
import threading
import time

_now = time.monotonic_ns
_E_OFF, _E_LIBRARY, _E_OPEN = 1, 2, 8
_RULES = {"sum": 0, "max": 1, "mean": 2}
_MAX_METRICS, _MAX_NAMES = 16, 4096


class _Metric(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_double), ("rule", c.c_int)]


class _Cut(c.Structure):
    _fields_ = [("name", c.c_char * 128), ("path", c.c_char * 1024), ("start_ns", c.c_int64), ("end_ns", c.c_int64),
                ("id", c.c_uint64), ("flags", c.c_int), ("late", c.c_int), ("error", c.c_int)]


class _Table(c.Structure):
    _fields_ = [("size", c.c_uint32), ("version", c.c_uint32),
                ("name", c.PYFUNCTYPE(c.c_uint64, c.c_char_p)),
                ("push", c.PYFUNCTYPE(None, c.c_uint64, c.c_void_p, c.c_size_t)),
                ("pop", c.PYFUNCTYPE(None)),
                ("start", c.PYFUNCTYPE(c.c_uint64, c.c_uint64, c.c_void_p, c.c_size_t)),
                ("stop", c.PYFUNCTYPE(None, c.c_uint64)),
                ("mark", c.PYFUNCTYPE(None, c.c_uint64, c.POINTER(c.c_uint64), c.c_void_p, c.c_size_t)),
                ("attach", c.CFUNCTYPE(c.c_int)),
                ("record", c.CFUNCTYPE(c.c_int, c.c_int)),
                ("enabled", c.CFUNCTYPE(c.c_int)),
                ("begin", c.CFUNCTYPE(c.c_int, c.POINTER(_Cut))),
                ("end", c.CFUNCTYPE(c.c_int, c.POINTER(_Cut))),
                ("reason", c.PYFUNCTYPE(c.c_char_p, c.c_int))]


_REASONS = ["no error", "switched off by GPUPROF_OFF",
            "libgpuprof-inject.so was not found: set GPUPROF_INJECT to its path",
            "the recording process could not be started or does not answer",
            "CUPTI was not found or refuses: set GPUPROF_LIBCUPTI to a libcupti", "CUPTI is held by another tool",
            "a fork child of a process that uses CUDA cannot be recorded: use spawn, or fork before the first session",
            "the recording process has ended", "the session was not begun, or has ended",
            "the trace could not be written",
            "this process is not to be recorded now: see --start, --stop and --filter of gpuprof-collect"]
_looked = False
_table = None
_summing = True
_enter = _leave = _decorate = None
_names = {}
_local = threading.local()


def _is_off():
    return os.environ.get("GPUPROF_OFF", "") not in ("", "0")


def _open(path, mode=0):
    try:
        library = c.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_LOCAL | mode)
        table = _Table.in_dll(library, "gpuprof_table_v1")
        return table if table.size >= c.sizeof(_Table) else None
    except (OSError, ValueError):
        return None


def _find():
    global _looked, _table
    if not _looked and not _is_off():
        _table = _open("libgpuprof-inject.so", os.RTLD_NOLOAD)
        for variable in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
            path = os.environ.get(variable, "")
            if not _table and path.endswith("libgpuprof-inject.so"):
                _table = _open(path)
    _looked = True
    return _table


def _load(library=None):
    global _table
    if _is_off():
        return _E_OFF
    if not _find():
        _table = _open(library or os.environ.get("GPUPROF_INJECT") or "libgpuprof-inject.so")
    return 0 if _table else _E_LIBRARY


def _reason(error):
    text = _table.reason(error) if _table and error else b""
    return text.decode(errors="replace") if text else _REASONS[error]


def _text(name):
    return name.encode("utf-8", "backslashreplace").replace(b"\0", b" ")


class _Sums:
    def __init__(self, name):
        self.name, self.text, self.id = name, _text(name), 0
        self.clear()

    def clear(self):
        self.count = self.total_ns = self.min_ns = self.max_ns = 0
        self.squares = 0.0
        self.numbers = {}

    def add(self, ns):
        self.min_ns = ns if not self.count else min(self.min_ns, ns)
        self.max_ns = max(self.max_ns, ns)
        self.count += 1
        self.total_ns += ns
        self.squares += float(ns) * ns

    def add_numbers(self, metrics):
        for m in metrics:
            key = (m.name, m.rule)
            if key not in self.numbers and len(self.numbers) >= _MAX_METRICS:
                continue
            count, value = self.numbers.get(key, (0, 0.0))
            value = m.value if m.rule == 1 and (not count or m.value > value) else value if m.rule == 1 else value + m.value
            self.numbers[key] = (count + 1, value)

    def metrics(self):
        return {n.decode(): v / c if rule == 2 else v for (n, rule), (c, v) in self.numbers.items()}

    def of(self, table):
        if not self.id:
            self.id = table.name(self.text)
        return self.id


_rest = _Sums("(other names)")


def _sums(name):
    found = _names.get(name)
    if found is None:
        if len(_names) >= _MAX_NAMES:
            return _rest
        found = _names[name] = _Sums(name)
    return found


def _task():
    asyncio = sys.modules.get("asyncio")
    loop = asyncio._get_running_loop() if hasattr(asyncio, "_get_running_loop") else None
    return asyncio.current_task(loop) if loop is not None else None


def _metrics(given):
    if not isinstance(given, dict) or len(given) > _MAX_METRICS:
        raise TypeError(f"metrics: a dict of at most {_MAX_METRICS} numbers")
    rows = []
    for name, value in given.items():
        value, rule = value if isinstance(value, tuple) and len(value) == 2 else (value, "sum")
        try:
            rows.append(_Metric(_text(name), float(value), _RULES[rule]))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise TypeError("metrics: names are text, values are numbers or (number, \"sum\"|\"max\"|\"mean\")") from None
    return (_Metric * len(rows))(*rows)


class range:
    __slots__ = ("name", "_sums", "_metrics", "_n", "__weakref__")

    def __new__(cls, name, *, flops=None, bytes=None, metrics=None):
        function = None
        if not isinstance(name, str):
            if not callable(name):
                raise TypeError(f"range: the name is text, or the function to decorate, not {name!r}")
            function, name = name, getattr(name, "__qualname__", str(type(name)))
        self = object.__new__(cls)
        numbers = dict(metrics or {}) if not metrics or isinstance(metrics, dict) else metrics
        if isinstance(numbers, dict):
            numbers.update({k: v for k, v in (("flops", flops), ("bytes", bytes)) if v is not None})
        self.name, self._sums = name, _sums(name)
        self._metrics = _metrics(numbers) if numbers else None
        self._n = len(self._metrics) if numbers else 0
        return _decorate(self, function) if function else self

    def __call__(self, function):
        if not callable(function):
            raise TypeError(f"range: can decorate a function, not {function!r}")
        return _decorate(self, function)

    def __repr__(self):
        return f"gputrace.range({self.name!r})"

    def __enter__(self):
        table = _table if _looked else _find()
        task, token, id_ = _task(), None, 0
        if _enter:
            token = _enter(self)
        if table:
            name = self._sums.of(table)
            if task is not None:
                id_ = table.start(name, self._metrics, self._n)
            else:
                table.push(name, self._metrics, self._n)
        frames = _local.__dict__.setdefault("frames", [])
        frames.append((self, task, _now() if _summing else 0, id_, bool(table) and task is None, token))
        return self

    def __exit__(self, *unused):
        end = _now() if _summing else 0
        frames = _local.__dict__.get("frames", [])
        task = _task()
        for i in reversed(builtins_range(len(frames))):
            if frames[i][0] is self and frames[i][1] is task:
                break
        else:
            raise RuntimeError(f"range {self.name!r} ends on a thread or task that it did not begin on")
        _, _, start, id_, pushed, token = frames.pop(i)
        if _table and id_:
            _table.stop(id_)
        elif _table and pushed:
            _table.pop()
        if start and end:
            self._sums.add(end - start)
            if self._metrics:
                self._sums.add_numbers(self._metrics)
        if token is not None and _leave:
            _leave(self, token)


builtins_range = __builtins__["range"] if isinstance(__builtins__, dict) else __builtins__.range


def mark(name, value=0):
    if not isinstance(name, str):
        raise TypeError(f"mark: the name is text, not {name!r}")
    table = _table if _looked else _find()
    if table:
        table.mark(_sums(name).of(table), c.byref(c.c_uint64(value)), None, 0)


def attach(library=None):
    error = _load(library) or _table.attach()
    return error, _reason(error)


def record(on):
    if not on and not _table:
        return 0, ""
    error = _load() or _table.record(1 if on else 0)
    return error, _reason(error)


def enabled():
    return bool(_table and _table.enabled())


def begin(name, path, flags):
    cut = _Cut(name=_text(name)[:127], path=os.fsencode(path), flags=flags)
    error = _load() or _table.begin(c.byref(cut))
    return error, _reason(error), bytes(cut), cut.late


def end(cut):
    cut = _Cut.from_buffer_copy(cut)
    error = _table.end(c.byref(cut)) if _table and cut.id else _E_OPEN
    return error, _reason(error), os.fsdecode(cut.path), cut.start_ns, cut.end_ns


def sums():
    rows = list(_names.values()) + [_rest]
    return [(s.name, s.count, s.total_ns, s.min_ns, s.max_ns, s.squares, s.metrics()) for s in rows if s.count]


def reset():
    for s in list(_names.values()) + [_rest]:
        s.clear()


def summing(on):
    global _summing
    _summing = bool(on)


def listening():
    return "gpuprof" if _find() else "nobody"


def hooks(enter, leave):
    global _enter, _leave
    _enter, _leave = enter, leave


def decorator(function):
    global _decorate
    _decorate = function
