"""What a range costs in Python, best of several rounds, in ns: with nobody listening, in a session, and switched off; beside
nvtx.annotate and torch's record_function where these are installed. Needs PYTHONPATH=build/release/python.

    PYTHONPATH=build/release/python python3 tests/bench/range_cost.py [ROUNDS]
"""

import sys
import time

import gputrace as gp
from gputrace._core_or_pure import fast

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
N = 1000


def best(run):
    least = None
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        run()
        took = time.perf_counter_ns() - began
        least = took if least is None else min(least, took)
    return least / N


def empty():
    for _ in range(N):
        pass


def plain():
    pass


def calls():
    for _ in range(N):
        plain()


kept = gp.range("kept")
decorated = gp.range("decorated")(plain)


def with_kept():
    for _ in range(N):
        with kept:
            pass


def with_new():
    for _ in range(N):
        with gp.range("new"):
            pass


def with_decorator():
    for _ in range(N):
        decorated()


def others():
    """Name and loop of each peer that is installed."""
    try:
        import nvtx

        def annotate():
            for _ in range(N):
                with nvtx.annotate("peer"):
                    pass
        yield "nvtx.annotate", annotate
    except ImportError:
        pass
    try:
        from torch.profiler import record_function

        def record():
            for _ in range(N):
                with record_function("peer"):
                    pass
        yield "torch record_function", record
    except ImportError:
        pass


def report(when):
    loop, call = best(empty), best(calls)
    print(f"{when:<12} with kept {best(with_kept) - loop:6.0f}   with range(...) {best(with_new) - loop:6.0f}   "
          f"decorator, over a call {best(with_decorator) - call:6.0f}")
    return loop


print(f"Python {sys.version.split()[0]}, {'C extension' if fast else 'pure Python'}, listening: nobody; ns per range")
loop = report("no tool")
for name, run in others():
    print(f"{'no tool':<12} {name} {best(run) - loop:.0f}")
gp.off()
report("off")
gp.on()
with gp.session("cost") as s:
    loop = report("recorded")
print("session:", *(s.warnings or ("no warnings",)))
