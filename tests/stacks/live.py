#!/usr/bin/env python3
"""live.py LIBRARY [STACKS]: stacks as the launch's hook reads them, in this process, beside what Python itself says of them: files,
lines, functions, in programs whose stacks change in every way, until STACKS (1,000) have been compared. Prints TAP. With --time: what a
reading costs, by depth."""
import ctypes
import functools
import re
import sys
import threading

lib = ctypes.CDLL(sys.argv[1])
lib.gp_live_stack.restype = ctypes.c_char_p
lib.gp_live_time.restype = ctypes.c_double
held = ctypes.PyDLL(sys.argv[1])  # the same, called without letting go of the lock
held.gp_live_stack.restype = ctypes.c_char_p

checked = 0
different = []


def expected(frame):
    lines = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        lines.append("%s:%d %s" % (code.co_filename, frame.f_lineno or 0, name))
        frame = frame.f_back
    return list(reversed(lines))


def check(which=lib):
    """Compares this function's caller's stack. Both are read on one line, so that the own line is the same."""
    global checked
    seen, wanted = which.gp_live_stack(), expected(sys._getframe())
    seen = seen.decode("utf-8", "replace").splitlines()
    checked += 1
    if seen != wanted:
        different.append((seen, wanted))


def recurse(n, which=lib):
    if n:
        return recurse(n - 1, which)
    check(which)
    check(which)


def generator(n):
    for i in range(n):
        check()
        yield i
        if i % 2:
            check(held)


class Model:
    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        check(); check()
        return [self.part(i) for i in range(x)]

    @functools.lru_cache(maxsize=None)
    def cached(self, i):
        check()
        return i

    def part(self, i):
        check()
        return self.cached(i)

    def __lt__(self, other):
        check()
        return id(self) < id(other)

    @property
    def size(self):
        check()
        return 1


def made_anew(i):
    """Functions that are made and thrown away at the same place, with other names and lines."""
    space = {"check": check}
    code = compile("\n" * (i % 7) + "def f%d():\n    check()\n    check()\nf%d()\n" % (i, i), "made%d.py" % (i % 5), "exec")
    exec(code, space)


def callbacks():
    sorted([Model() for _ in range(4)])
    re.sub("a", lambda m: (check(), "b")[1], "aaa")
    list(map(lambda i: check(), range(3)))
    model = Model()
    model.size
    with Manager():
        check()


class Manager:
    def __enter__(self):
        check()

    def __exit__(self, *args):
        check()


def two_callers(i):
    """The callee's frame stands at the same address, its callers have moved on."""
    if i % 2:
        check(); leaf()
    else:
        leaf(); leaf()


def leaf():
    check()


async def coroutine(n):
    check()
    if n:
        await coroutine(n - 1)
    check()


def run_coroutine():
    c = coroutine(5)
    try:
        c.send(None)
    except StopIteration:
        pass


def unicode_nämes():
    check()


def work():
    model = Model()
    for i in range(12):
        recurse(i)
        recurse(i, held)
        list(generator(4))
        model(3)
        made_anew(i)
        callbacks()
        two_callers(i)
        run_coroutine()
        unicode_nämes()
    recurse(300)


def measure():
    def at_depth(n):
        return at_depth(n - 1) if n else min(lib.gp_live_time(1000) for _ in range(100))
    for depth in (10, 40, 100):
        print("# depth %d: %.0f ns" % (depth, at_depth(depth - 3)))  # this function, its caller and the module are three


wanted = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else 1000
if "--time" in sys.argv:
    measure()
    sys.exit()
work()
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
while checked < wanted:
    work()
counts = (ctypes.c_uint64 * 6)()
lib.gp_live_counts(counts)
for seen, wanted in different[:3]:
    for a, b in zip(seen + [""] * len(wanted), wanted + [""] * (len(seen) - len(wanted))):
        print("#", "==" if a == b else "!=", a, "|", b)
print("1..2")
print("%sok 1 - %d of %d stacks are what Python says" % ("not " if different else "", checked - len(different), checked))
print("%sok 2 - nothing was broken, cut or refused: %s" % ("not " if any(counts[2:]) else "", list(counts)))
sys.exit(bool(different) or any(counts[2:]))
