"""Functions that torch.compile cannot keep in one graph, one reason each, and functions that it compiles again and again.

A line that is marked `planted: FAMILY` is a place where the program breaks the graph on purpose; --planted writes the list
of them. --kineto records a few steps after everything is compiled, with one recompile in the middle.
"""

import argparse
import ast
import contextlib
import json
import logging
import zlib
from pathlib import Path

import numpy
import torch

log = logging.getLogger("zoo")
SIDE = 64


class Strange:
    """Every attribute goes through code of its own."""

    def __init__(self):
        self.factor = 2.0

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)  # planted: object


class Span:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


strange = Strange()


def count_up():
    n = 0
    while True:
        n += 1
        yield n


numbers = count_up()


@torch.compiler.disable
def left_alone(x):
    return x.sin()


def f_print(x):
    y = x + 1
    print("in f_print", end="\r")  # planted: output
    return y * 2


def f_log(x):
    y = x + 2
    log.warning("in f_log")  # planted: output
    return y * 2


def f_item(x):
    scale = x.sum().item()  # planted: scalar
    return x * scale


def f_list(x):
    row = x[0].tolist()  # planted: scalar
    return x * len(row)


def f_branch(x):
    if x.sum() > 0:  # planted: branch
        return x + 1
    return x - 1


def f_while(x):
    while x.abs().max() > 1e-3:  # planted: branch
        x = x / 1000
    return x


def f_nonzero(x):
    rows = torch.nonzero(x > 0)  # planted: shape
    return x[rows[:, 0]].sum()


def f_mask(x):
    kept = x[x > 0]  # planted: shape
    return kept.sum()


def f_asked(x):
    y = x * 3
    torch._dynamo.graph_break()  # planted: asked
    return y + 1


def f_disabled(x):
    y = left_alone(x * 3)  # planted: asked
    return y + 1


def f_foreign(x):
    check = zlib.crc32(b"what is not Python")  # planted: foreign
    return x + check % 3


def f_numpy(x):
    table = numpy.frombuffer(b"\0" * 16, dtype=numpy.float32)  # planted: numpy
    return x + float(table[0])  # planted: compiler


def f_raise(x):
    y = x + 4
    raise RuntimeError(f"planted, {y.dim()}")  # planted: exception


def f_context(x):
    with Span():
        y = x + 5
        torch._dynamo.graph_break()  # planted: context
    return y * 2


def f_backward(x, w):
    loss = (x * w).sum()
    loss.backward()  # planted: autograd
    return w.grad * 2


def f_loop(x):
    for i in range(3):
        x = x + i
        torch._dynamo.graph_break()  # planted: asked
    return x


def f_lstm(x, layer):
    return layer(x)[0] * 2  # planted: tensor


def f_sparse(x):
    y = x.to_sparse()  # planted: tensor
    return y.to_dense() + 1  # planted: tensor


def f_generator(x):
    n = next(numbers)  # planted: iterator
    return x + n % 2


def f_object(x):
    return x * strange.factor


def f_full(x):
    y = x * 6
    torch._dynamo.graph_break()  # planted: asked
    return y + 1


def f_limit(x, n):
    return x * n


def f_flag(x, flag):
    return x + 1 if flag == "add" else x * 2


def f_shape(x):
    return x.sum(0) * 2


def f_dtype(x):
    return x * 2 + 1


def f_grad(x):
    return x * 5


def f_mut(x):
    x.add_(1)
    return x * 2


def f_cpu(x, c):
    return x * 2 + c.to(x.device)


def f_late(x):
    return x.cos() * 3


def planted():
    """Every marked line, with the function that it is in."""
    source = Path(__file__).read_text()
    spans = [(n.lineno, n.end_lineno, n.name) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
    rows = []
    for number, text in enumerate(source.splitlines(), 1):
        if "  # planted: " in text:
            name = [s[2] for s in spans if s[0] <= number <= s[1]][-1]
            rows.append({"file": Path(__file__).name, "line": number, "function": name,
                         "family": text.split("# planted: ")[1].strip()})
    return rows


def calls(device):
    """What a step runs: a compiled function and its arguments."""
    x = torch.randn(SIDE, SIDE, device=device)
    w = torch.ones(SIDE, SIDE, device=device, requires_grad=True)
    lstm = torch.nn.LSTM(SIDE, SIDE, batch_first=True).to(device)
    plain = [f_print, f_log, f_item, f_list, f_branch, f_while, f_nonzero, f_mask, f_asked, f_disabled, f_foreign,
             f_numpy, f_context, f_loop, f_sparse, f_generator, f_object]
    rows = [(torch.compile(f), (x,)) for f in plain]
    rows.append((torch.compile(f_backward), (x, w)))
    rows.append((torch.compile(f_lstm), (x[None], lstm)))
    rows.append((torch.compile(f_mut, mode="reduce-overhead"), (x.clone(),)))
    rows.append((torch.compile(f_cpu, mode="reduce-overhead"), (x, torch.ones(SIDE))))
    return rows


def recompiles(device):
    x = torch.randn(SIDE, SIDE, device=device)
    limit = torch.compile(f_limit, dynamic=False)
    flag, shape, dtype, grad = (torch.compile(f) for f in (f_flag, f_shape, f_dtype, f_grad))
    for n in range(10):
        limit(x, n)
    for word in ("add", "double"):
        flag(x, word)
    for rows in (3, 5, 7):
        shape(torch.randn(rows, SIDE, device=device))
    for kind in (torch.float32, torch.float16):
        dtype(x.to(kind))
    grad(x)
    grad(x.clone().requires_grad_())


def failing(device):
    x = torch.randn(SIDE, SIDE, device=device)
    for f in (torch.compile(f_raise), torch.compile(f_full, fullgraph=True)):
        try:
            f(x)
        except Exception as e:  # what it is differs between versions
            print(f"{type(e).__name__} as planned")


def step(rows):
    for f, args in rows:
        try:
            f(*args)
        except Exception as e:
            print(f"{f}: {type(e).__name__}: {str(e)[:200]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--planted", metavar="FILE")
    parser.add_argument("--kineto", metavar="FILE")
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()
    if args.planted:
        Path(args.planted).write_text(json.dumps({"planted": planted()}, indent=1) + "\n")
    rows = calls(args.device)
    for _ in range(3):
        step(rows)
    recompiles(args.device)
    failing(args.device)
    late = torch.compile(f_late, dynamic=False)
    late(torch.randn(8, SIDE, device=args.device))
    profiler = contextlib.nullcontext()
    if args.kineto:
        kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        profiler = torch.profiler.profile(activities=kinds, record_shapes=True)
    with profiler as p:
        for n in range(args.steps):
            step(rows)
            late(torch.randn(16 if n == args.steps // 2 else 8, SIDE, device=args.device))
            if args.device == "cuda":
                torch.cuda.synchronize()
            if p:
                p.step()
    if args.kineto:
        p.export_chrome_trace(args.kineto)


if __name__ == "__main__":
    main()
