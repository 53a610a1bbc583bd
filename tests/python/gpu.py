"""A GPU that is not there: the mock driver of tests/mock, called through ctypes as a program calls CUDA."""

import ctypes
import os

mock = os.environ["GP_MOCK"]
_LAUNCH, _COPY, _GRAPH, _SYNC, _MALLOC = 0, 2, 5, 9, 18


class _Event(ctypes.Structure):
    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p), ("grid", ctypes.c_uint32),
                ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]


cuda = ctypes.CDLL(os.path.join(mock, "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)


def start():
    assert cuda.cuInit(0) == 0


_names = {}  # CUPTI points at names, which stay where they are, also after this interpreter
_libc = ctypes.CDLL(None)
_libc.strdup.restype = ctypes.c_void_p


def _name(text):
    if text not in _names:
        _names[text] = _libc.strdup(text.encode())
    return _names[text]


def _do(op, **fields):
    assert cuda.mock_do(ctypes.byref(_Event(op=op, stream=7, grid=1, **fields))) == 0


def launch(n=1, kernel="_Z4gemmPf"):
    for _ in range(n):
        _do(_LAUNCH, kernel=_name(kernel))


def graph(nodes):
    _do(_GRAPH, kernel=_name("_Z4nodePf"), count=nodes)


def allocate(size):
    _do(_MALLOC, bytes=size)


def copy(size):
    _do(_COPY, bytes=size)


def wait():
    _do(_SYNC, bytes=1000)
