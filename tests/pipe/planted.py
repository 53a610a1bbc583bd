#!/usr/bin/env python3
"""A program of known behaviour on the mock GPU: planted.py LIBCUDA WHAT TRUTH launches work in steps and does WHAT
between them. It writes the share of the time between the launches in which it did WHAT to the file TRUTH, in ppm."""
import ctypes
import gc
import logging
import multiprocessing
import sys
import threading
import time

STEPS, PAUSE_S = 25, 0.016


class Event(ctypes.Structure):
    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_char_p),
                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def load_data(queue):
    if queue:
        return queue.get()
    return spin(PAUSE_S)


def worker(queue):
    for _ in range(STEPS):
        spin(PAUSE_S)
        queue.put(1)


def collect_garbage():
    gc.collect()


class Slow(logging.Handler):
    def emit(self, record):
        spin(PAUSE_S)


def write_log():
    logging.getLogger().warning("step")


def take_lock(lock):
    with lock:
        pass


def hold(lock, held):
    with lock:
        held.set()
        time.sleep(PAUSE_S)


def import_module(path):
    sys.modules.pop("planted_module", None)
    sys.path.insert(0, path)
    import planted_module  # noqa: F401


def call_c(library):
    library.usleep(int(PAUSE_S * 1e6))


def main():
    cuda, what = ctypes.CDLL(sys.argv[1]), sys.argv[2]
    event = Event(0, 7, b"step_kernel", 1, 0, 0)
    libc = ctypes.CDLL(None)
    lock, queue = threading.Lock(), None
    heap = [[] for _ in range(300000)] if what == "garbage" else []
    if what == "workers":
        queue = multiprocessing.get_context("fork").Queue(maxsize=1)
        multiprocessing.get_context("fork").Process(target=worker, args=(queue,), daemon=True).start()
    logging.getLogger().handlers = [Slow()]
    cuda.cuInit(0)
    begin = done = 0
    for step in range(STEPS + 1):
        for _ in range(5):
            cuda.mock_do(ctypes.byref(event))
        if step == 0:
            begin = time.perf_counter_ns()
        if step == STEPS:
            break
        if what == "lock":
            held = threading.Event()
            holder = threading.Thread(target=hold, args=(lock, held))
            holder.start()
            held.wait()
        start = time.perf_counter_ns()
        if what in ("loader", "workers"):
            load_data(queue)
        elif what == "garbage":
            collect_garbage()
        elif what == "logging":
            write_log()
        elif what == "lock":
            take_lock(lock)
        elif what == "import":
            import_module(sys.argv[4])
        elif what == "c_call":
            call_c(libc)
        done += time.perf_counter_ns() - start
        if what == "lock":
            holder.join()
    del heap
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        print(done * 1000000 // (time.perf_counter_ns() - begin), file=f)


main()
