#!/usr/bin/env python3
"""A program of known behaviour: planted.py GPU WHAT TRUTH [FOLDER] launches work in steps and does WHAT between them. It writes
the share of the time between the launches in which it did WHAT to the file TRUTH, in ppm. GPU is the library of the mock GPU, or
"torch" for PyTorch on a real one."""
import ctypes
import gc
import hashlib
import logging
import multiprocessing
import sys
import threading
import time

STEPS, PAUSE_S = 25, 0.016


class Event(ctypes.Structure):
    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p),
                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]


class Mock:
    """The GPU that is not there."""

    def __init__(self, library):
        self.cuda = ctypes.CDLL(library)
        self.cuda.cuInit(0)
        libc = ctypes.CDLL(None)
        libc.strdup.restype = ctypes.c_void_p
        self.kernel = Event(0, 7, libc.strdup(b"step_kernel"), 1, 0, 0)  # its name must outlive this interpreter
        self.wait = Event(9, 7, None, 0, 0, int(PAUSE_S * 1e9))

    def start(self):
        self.launch()

    def launch(self):
        self.cuda.mock_do(ctypes.byref(self.kernel))

    def item(self):
        self.cuda.mock_do(ctypes.byref(self.wait))


class Torch:
    def __init__(self):
        import torch
        self.torch = torch

    def start(self):
        self.x = self.torch.zeros(1024, device="cuda")
        self.torch.cuda.synchronize()

    def launch(self):
        self.x.add_(1)

    def item(self):
        end = time.perf_counter() + PAUSE_S
        while time.perf_counter() < end:
            self.x[0].item()

    def loader(self, start):
        """A DataLoader with two workers, each of which takes twice as long for a batch as this program waits."""
        import torch.utils.data
        loader = torch.utils.data.DataLoader(SlowData(), batch_size=None, num_workers=2, prefetch_factor=1,
                                             multiprocessing_context=start)
        it = iter(loader)
        next(it)
        return it


class SlowData:
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        spin(2 * PAUSE_S)
        return i


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


def next_batch(batches):
    return next(batches)


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


def call_busy_c(data):
    hashlib.sha256(data)


def run_python():
    n = 0
    for i in range(200000):
        n += i & 3
    return n


def main():
    what = sys.argv[2]
    libc, data = ctypes.CDLL(None), bytes(1 << 23)
    lock, queue = threading.Lock(), None
    heap = [[] for _ in range(300000)] if what == "garbage" else []
    if what in ("workers", "spawned"):
        context = multiprocessing.get_context("fork" if what == "workers" else "spawn")
        queue = context.Queue(maxsize=1)
        context.Process(target=worker, args=(queue,), daemon=True).start()
        queue.get()  # it has begun
    logging.getLogger().handlers = [Slow()]
    gpu = Torch() if sys.argv[1] == "torch" else Mock(sys.argv[1])
    batches = gpu.loader(what.split("_")[1]) if what.startswith("dataloader_") else None
    gpu.start()  # the GPU's time begins here, too
    begin, done = time.perf_counter_ns(), 0
    for _ in range(STEPS - 1):
        for _ in range(5):
            gpu.launch()
        if what == "lock":
            held = threading.Event()
            holder = threading.Thread(target=hold, args=(lock, held))
            holder.start()
            held.wait()
        start = time.perf_counter_ns()
        if what in ("loader", "workers", "spawned"):
            load_data(queue)
        elif batches:
            next_batch(batches)
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
        elif what == "busy_c":
            call_busy_c(data)
        elif what == "python":
            run_python()
        elif what == "item":
            gpu.item()
        done += time.perf_counter_ns() - start
        if what == "lock":
            holder.join()
    gpu.launch()
    del heap
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        print(done * 1000000 // (time.perf_counter_ns() - begin), file=f)


if __name__ == "__main__":
    main()
