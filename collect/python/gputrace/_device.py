"""CUDA and PyTorch as they are found in this process: neither is imported or initialized here."""

import ctypes
import os
import sys


def torch():
    """PyTorch with CUDA in use, or None."""
    module = sys.modules.get("torch")
    cuda = getattr(module, "cuda", None)
    try:
        return module if cuda and cuda.is_initialized() and not cuda._is_in_bad_fork() else None
    except AttributeError:
        return None


def synchronize():
    found = torch()
    if found:
        found.cuda.synchronize()


def torch_profiler_runs():
    """Is torch.profiler recording at this moment?"""
    module = sys.modules.get("torch")
    try:
        return bool(module and module.autograd._profiler_enabled())
    except AttributeError:
        return False


def torch_profiler():
    """torch.profiler, where PyTorch has CUDA in use; otherwise None."""
    return getattr(torch(), "profiler", None)


def _cuda():
    """libcuda, if this process has loaded it and has a context on this thread; otherwise None."""
    try:
        library = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_LAZY | os.RTLD_NOLOAD)
        context = ctypes.c_void_p()
        if library.cuCtxGetCurrent(ctypes.byref(context)) or not context:
            return None
        return library
    except (OSError, AttributeError):
        return None


class _DriverEvent:
    """A CUDA event of the driver, on the default stream."""

    def __init__(self, cuda):
        self._cuda, self._event = cuda, ctypes.c_void_p()
        if cuda.cuEventCreate(ctypes.byref(self._event), 0) or cuda.cuEventRecord(self._event, None):
            raise RuntimeError("CUDA events cannot be recorded")

    def synchronize(self):
        self._cuda.cuEventSynchronize(self._event)

    def query(self):
        return self._cuda.cuEventQuery(self._event) == 0

    def elapsed_time(self, end):
        ms = ctypes.c_float()
        return ms.value if not self._cuda.cuEventElapsedTime(ctypes.byref(ms), self._event, end._event) else 0.0

    def __del__(self):
        if self._event:
            self._cuda.cuEventDestroy_v2(self._event)


def event():
    """A CUDA event that is recorded now on the current stream; None without CUDA. Has synchronize(), query() and
    elapsed_time(end) in ms."""
    found = torch()
    if found:
        e = found.cuda.Event(enable_timing=True)
        e.record()
        return e
    cuda = _cuda()
    try:
        return _DriverEvent(cuda) if cuda else None
    except (AttributeError, RuntimeError):
        return None


def elapsed_ns(begin, end):
    """Between two events, of which the second is waited for; None without events."""
    if begin is None or end is None:
        return None
    end.synchronize()
    return round(begin.elapsed_time(end) * 1e6)


def allocated():
    """(bytes allocated, allocations, frees) of PyTorch's allocator on the current device so far, or None."""
    found = torch()
    if not found:
        return None
    s = found.cuda.memory_stats()
    return (s.get("allocated_bytes.all.current", 0), s.get("allocation.all.allocated", 0), s.get("allocation.all.freed", 0))


class Annotations:
    """While this is open, torch's record_function, which DistributedDataParallel uses as well, makes ranges of ours."""

    _open = 0
    _saved = None

    def __enter__(self):
        cls = type(self)
        cls._open += 1
        module = sys.modules.get("torch")
        target = getattr(getattr(getattr(module, "autograd", None), "profiler", None), "record_function", None)
        if cls._open > 1 or target is None:
            return self
        from ._core_or_pure import core
        enter, leave = target.__enter__, target.__exit__

        def on_enter(annotation):
            annotation._gputrace = core.range(str(annotation.name))
            annotation._gputrace.__enter__()
            return enter(annotation)

        def on_exit(annotation, *exception):
            result = leave(annotation, *exception)
            opened = annotation.__dict__.pop("_gputrace", None)
            if opened is not None:
                opened.__exit__(None, None, None)
            return result

        cls._saved = (target, enter, leave)
        target.__enter__, target.__exit__ = on_enter, on_exit
        return self

    def __exit__(self, *exception):
        cls = type(self)
        cls._open -= 1
        if cls._open == 0 and cls._saved:
            target, target.__enter__, target.__exit__ = cls._saved[0], cls._saved[1], cls._saved[2]
            cls._saved = None
