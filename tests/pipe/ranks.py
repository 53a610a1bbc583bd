#!/usr/bin/env python3
"""The ranks of a job on the mock GPU: ranks.py GPU RANKS STEPS FAULT starts that many processes, which compute and then communicate
in every step. The last one has a FAULT: work (its kernel takes a quarter longer), sleep (its host sleeps), load (its data come
late), or none. Steps begin, and collectives end, at the same times in all processes."""
import ctypes
import os
import sys
import time

STEP_NS, COMPUTE_NS, LATE_NS = 50_000_000, 12_000_000, 6_000_000


class Event(ctypes.Structure):
    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p),
                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]


class Gpu:
    LAUNCH, WAIT = 0, 9

    def __init__(self, library):
        self.cuda, self.libc, self.names = ctypes.CDLL(library), ctypes.CDLL(None), {}
        self.libc.strdup.restype = ctypes.c_void_p
        self.cuda.cuInit(0)

    def do(self, op, name, ns):
        if name not in self.names:
            self.names[name] = self.libc.strdup(name)
        self.cuda.mock_do(ctypes.byref(Event(op, 7, self.names[name], 1, 0, max(1000, ns))))


def rest(ns):
    if ns > 0:
        time.sleep(ns / 1e9)


def load_data(ns):
    rest(ns)


def step(gpu, begin_ns, load_ns, sleep_ns, compute_ns):
    load_data(load_ns)
    rest(sleep_ns)
    for i in range(20):
        gpu.do(gpu.LAUNCH, b"small_kernel_%c" % (65 + i), 1000)
    gpu.do(gpu.LAUNCH, b"matmul_kernel", compute_ns)
    gpu.do(gpu.WAIT, b"", compute_ns)
    left_ns = begin_ns + STEP_NS * 9 // 10 - time.monotonic_ns()
    gpu.do(gpu.LAUNCH, b"ncclDevKernel_AllReduce_Sum_f32_RING_LL", left_ns)
    gpu.do(gpu.WAIT, b"", left_ns)


def main(library, ranks, steps, fault):
    first_ns = time.monotonic_ns() + 700_000_000
    for rank in range(ranks):
        if rank and not os.fork():
            break
    else:
        rank = 0
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
    os.execv(sys.executable, [sys.executable, __file__, library, str(rank == ranks - 1), str(steps), fault, str(first_ns)])


def run(library, is_last, steps, fault, first_ns):
    fault = fault if is_last else "none"
    gpu = Gpu(library)
    for i in range(steps):
        rest(first_ns + i * STEP_NS - time.monotonic_ns())
        step(gpu, first_ns + i * STEP_NS, LATE_NS if fault == "load" else 0, LATE_NS if fault == "sleep" else 0,
             COMPUTE_NS * 5 // 4 if fault == "work" else COMPUTE_NS)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        run(sys.argv[1], sys.argv[2] == "True", int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
