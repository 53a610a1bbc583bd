#!/usr/bin/env python3
"""make_shapes.py FOLDER N -- traces of about N events that are dear for whoever looks up or down for each of them."""
import json
import sys


def host(category, ts, dur, name, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": 1, "ts": ts, "dur": dur, "args": args}


def launch(i, ts, dur=.1):
    return host("cuda_runtime", ts, dur, "cudaLaunchKernel", correlation=i + 1)


def kernel(i, ts, dur=.1):
    return {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": 7, "correlation": i + 1}}


def nested_ranges(n):
    yield from (host("user_annotation", i, 4 * n - 2 * i, "n%d" % i) for i in range(n // 2))
    for i in range(n // 4):
        yield launch(i, n + i * .5)
        yield kernel(i, n + i * .5 + .2)


def nested_ops(n):
    yield from (host("cpu_op", i, 4 * n - 2 * i, "aten::op%d" % (i % 7)) for i in range(n // 2))
    for i in range(n // 4):
        yield launch(i, n + i * .5)
        yield kernel(i, n + i * .5 + .2)


def same_times(n):
    for i in range(n // 2):
        yield launch(i, 5, 1)
        yield kernel(i, 10, 10)


def open_begins(n):
    yield from ({"ph": "B", "cat": "cpu_op", "name": "b%d" % i, "pid": 9, "tid": 1, "ts": i} for i in range(n // 2))
    for i in range(n // 4):
        yield launch(i, n + i * .5)
        yield kernel(i, n + i * .5 + .2)


def deep_modules(n):
    """A forward operator under many modules, and the backward pass of it in a thread of its own."""
    yield from (host("python_function", i, 4 * n - 2 * i, "nn.Module: M_%d" % i) for i in range(n // 4))
    for i in range(n // 8):
        yield host("cpu_op", n + i, .5, "aten::mul", **{"Sequence number": i, "Fwd thread id": 0})
        back = host("cpu_op", 5 * n + i, .9, "autograd::engine::evaluate_function: MulBackward0",
                    **{"Sequence number": i, "Fwd thread id": 1})
        call = launch(i, 5 * n + i + .1)
        back["tid"] = call["tid"] = 2
        yield from (back, call, kernel(i, 5 * n + i + .5))


def late_memory(n):
    """Many events that have ended, one inside the other, and allocations after them."""
    yield from (host("user_annotation", i, 3 * n if not i else n - i, "n%d" % (i % 50)) for i in range(n // 2))
    for i in range(n // 4):
        yield {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 1, "ts": n + i,
               "args": {"Bytes": 64, "Addr": 64 * i, "Total Allocated": 64 * i, "Device Type": 1, "Device Id": 0}}
        yield kernel(i, n + i)


def many_counters(n):
    """Hardware counters of thousands of names."""
    yield from ({"ph": "C", "cat": "hardware", "name": "c%d" % i, "pid": 0, "ts": i, "args": {"%": 1}} for i in range(n // 2))
    for i in range(n // 4):
        yield launch(i, n + i * .5)
        yield kernel(i, n + i * .5 + .2)


for shape in (nested_ranges, nested_ops, same_times, open_begins, deep_modules, late_memory, many_counters):
    with open("%s/%s.json" % (sys.argv[1], shape.__name__), "w") as f:
        f.write(json.dumps({"traceEvents": list(shape(int(sys.argv[2])))}))  # dump() is in Python, and six times slower
