#!/usr/bin/env python3
"""A program that knows its stacks: stacks.py GPU WHAT TRUTH launches kernels on the mock GPU, whose library is GPU, each with a name of
its own, and appends to TRUTH a line of JSON for each: its name and what Python says of the stack there.

stacks.py check TRACE TRUTH compares: every kernel, and every call that launched one, of the Chrome trace TRACE has the stack of TRUTH.
With --some, kernels may be missing from the trace. Prints how many it compared."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback

LAUNCH, CAPTURE, INSTANTIATE, REPLAY = 0, 6, 7, 8
THREADS, DEPTH, DEEP = 4, 60, 2500


class Event(ctypes.Structure):
    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p),
                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]


def stack_of(frame):
    lines, f = [], frame
    while f:
        lines.insert(0, [f.f_code.co_filename, f.f_lineno, getattr(f.f_code, "co_qualname", f.f_code.co_name)])
        f = f.f_back
    assert [line[:2] for line in lines] == [[s.filename, s.lineno] for s in traceback.extract_stack(frame)]
    return lines


class Gpu:
    """The mock, by calls that let go of the lock of the interpreter and by calls that do not, in turns."""

    def __init__(self, library, truth, prefix="k"):
        self.ways = [ctypes.CDLL(library), ctypes.PyDLL(library)]
        self.strdup = ctypes.CDLL(None).strdup
        self.strdup.restype = ctypes.c_void_p  # names must outlive this interpreter
        self.truth, self.prefix, self.n, self.lock = open(truth, "a", encoding="utf-8"), prefix, 0, threading.Lock()
        self.ways[0].cuInit(0)

    def note(self, name, stack, graph=False):
        with self.lock:
            self.truth.write(json.dumps({"kernel": name, "stack": stack, "graph": graph}) + "\n")
            self.truth.flush()

    def launch(self, op=LAUNCH, count=0):
        with self.lock:
            self.n += 1
            name, do = "%s%d" % (self.prefix, self.n), self.ways[self.n % 2].mock_do
        event = Event(op, 7, self.strdup(name.encode()), 1, count, 0)
        do(ctypes.byref(event)); stack = stack_of(sys._getframe())
        self.note(name, stack, op == CAPTURE)

    def graph(self, op, count, other=0):
        self.ways[0].mock_do(ctypes.byref(Event(op, 7, None, 1, count, other)))


def recurse(gpu, n):
    if n:
        recurse(gpu, n - 1)
        if n % 7 == 0:
            gpu.launch()
    else:
        gpu.launch()
        gpu.launch()


def generate(gpu, n):
    for i in range(n):
        gpu.launch()
        yield i


class Model:
    def __init__(self, gpu):
        self.gpu = gpu

    def __call__(self, n):
        self.gpu.launch()
        return [self.part(i) for i in range(n)]

    def part(self, i):
        self.gpu.launch(); self.gpu.launch()
        return (lambda: self.gpu.launch())()

    def __lt__(self, other):
        self.gpu.launch()
        return id(self) < id(other)


def made_anew(gpu, i):
    """Code objects that come and go at the same place."""
    source = "\n" * (i % 5) + "def made%d():\n    gpu.launch()\n    gpu.launch()\nmade%d()\n" % (i, i)
    code = compile(source, "made%d.py" % (i % 3), "exec")
    exec(code, {"gpu": gpu})


async def coroutine(gpu, n):
    gpu.launch()
    if n:
        await coroutine(gpu, n - 1)
    gpu.launch()


def functions(gpu):
    for i in range(10):
        recurse(gpu, i)
        sum(generate(gpu, 4))
        Model(gpu)(3)
        sorted(Model(gpu) for _ in range(3))
        made_anew(gpu, i)
        for _ in coroutine(gpu, 3).__await__():
            pass
    recurse(gpu, DEPTH)


def threads(gpu):
    for _ in range(3):  # numbers of threads that ended may be used again
        running = [threading.Thread(target=functions, args=(gpu,)) for _ in range(THREADS)]
        for t in running:
            t.start()
        functions(gpu)
        for t in running:
            t.join()


def deep(gpu, n=DEEP):
    """Stacks that are deeper than any that is read."""
    if n:
        return deep(gpu, n - 1)
    for _ in range(5):
        gpu.ways[0].mock_do(ctypes.byref(Event(LAUNCH, 7, gpu.strdup(b"deep"), 1, 0, 0)))


def capture_layer(gpu):
    gpu.launch(CAPTURE)
    gpu.launch(CAPTURE)


def capture_all(gpu):
    for _ in range(2):
        capture_layer(gpu)
    gpu.launch(CAPTURE)


def replay(gpu):
    gpu.graph(REPLAY, 2)
    time.sleep(0.001)


def graph(gpu):
    """The graph that is replayed is a clone of a clone, replayed by another thread."""
    capture_all(gpu)
    gpu.graph(INSTANTIATE, 1, 0)
    gpu.graph(INSTANTIATE, 2, 1)
    for _ in range(3):
        t = threading.Thread(target=replay, args=(gpu,))
        t.start()
        t.join()


def several(gpu_of):
    """Processes that were forked, one of which becomes another program."""
    children = []
    for prefix in ("one", "two", "three"):
        pid = os.fork()
        if not pid:
            if prefix == "three":
                os.execv(sys.executable, [sys.executable, __file__, sys.argv[1], "functions", sys.argv[3], prefix])
            functions(gpu_of(prefix))
            time.sleep(0.3)  # names are flushed meanwhile
            os._exit(0)
        children.append(pid)
    for pid in children:
        assert not os.waitpid(pid, 0)[1]


def fork_inside(gpu):
    """Children of a process that uses the GPU are left alone."""
    functions(gpu)
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    subprocess.run(["true"], check=True)
    functions(gpu)


def check(trace, truth, some):
    with open(trace, encoding="utf-8") as f:
        data = json.load(f)
    frames, stacks = data.get("stackFrames", {}), {}
    with open(truth, encoding="utf-8") as f:
        wanted = {t["kernel"]: t for t in map(json.loads, f)}

    def stack_at(number):
        if number is None:
            return []
        if number not in stacks:
            f = frames[str(number)]
            text, line = f["name"][:-1].rsplit(":", 1)
            name, file = text.split(" (", 1)
            stacks[number] = stack_at(f.get("parent")) + [[file, int(line), name]]
        return stacks[number]

    seen, kernels, calls = set(), 0, {}
    for e in data["traceEvents"]:  # several processes may have the same correlation ids
        if e.get("cat") in ("cuda_runtime", "cuda_driver"):
            calls.setdefault(e["args"]["correlation"], []).append(stack_at(e.get("sf")))
    for e in data["traceEvents"]:
        if e.get("cat") != "kernel":
            continue
        wanted_here, own, of_call = wanted[e["name"]], stack_at(e.get("sf")), calls.get(e["args"]["correlation"], [])
        kernels += 1
        seen.add(e["name"])
        if wanted_here["graph"]:  # captured here, replayed there
            assert own == wanted_here["stack"], (e["name"], own, wanted_here["stack"])
            assert not calls or any(len(s) > 1 and s[-2][2] == "replay" for s in of_call), (e, of_call)
        else:  # the work has the stack of its call
            assert wanted_here["stack"] in ([own] if own else of_call), (e["name"], own, of_call, wanted_here["stack"])
    assert seen and (some or seen == set(wanted)), (len(seen), len(wanted))
    print(kernels)


def main():
    if sys.argv[1] == "check":
        check(sys.argv[2], sys.argv[3], "--some" in sys.argv)
        return
    what = sys.argv[2]
    if what == "several":
        several(lambda prefix: Gpu(sys.argv[1], sys.argv[3], prefix))
        return
    sys.setrecursionlimit(2 * DEEP)
    gpu = Gpu(sys.argv[1], sys.argv[3], *sys.argv[4:])
    {"functions": functions, "killed": functions, "threads": threads, "deep": deep, "graph": graph, "fork": fork_inside}[what](gpu)
    if what == "killed":
        time.sleep(0.5)  # it is flushed meanwhile
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
