#!/usr/bin/env python3
"""Ten more Triton kernels, each with one known fault, and its fix.

    second_triton.py --list
    second_triton.py NAME... [--fixed | --both] [--steps N] [--seconds S] [--lock FILE]

frame.py has the steps and what is printed. The comment FAULT marks the line at fault; one fault is on three lines.
"""

import sys

import frame
import torch
import triton
import triton.language as tl


@triton.jit
def gather(table, index, out, turns, BLOCK: tl.constexpr):
    """The lanes of a warp read anywhere in the table. The fix sorts the indices once: the sum is the same in any order."""
    first = tl.program_id(0) * turns * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(turns):
        total += tl.load(table + tl.load(index + first + k * BLOCK))  # FAULT t_gather
    tl.atomic_add(out, tl.sum(total, 0))


@triton.jit
def bias_gradient(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Sums of columns: every value is added to global memory."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    values = tl.load(x + row[:, None] * COLUMNS + column[None, :])
    tl.atomic_add(out + column[None, :] + row[:, None] * 0, values)  # FAULT t_bias_gradient


@triton.jit
def bias_gradient_fixed(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Each program adds up its rows first."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    values = tl.load(x + row[:, None] * COLUMNS + column[None, :])
    tl.atomic_add(out + column, tl.sum(values, 0))


@triton.jit
def layer_norm(x, out, columns, BLOCK: tl.constexpr):
    """A program reads its row three times."""
    first = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.load(x + first + start)  # FAULT t_layer_norm
    mean = tl.sum(total, 0) / columns
    square = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        centered = tl.load(x + first + start) - mean  # FAULT t_layer_norm
        square += centered * centered
    scale = 1.0 / tl.sqrt(tl.sum(square, 0) / columns + 1e-5)
    for start in range(0, columns, BLOCK):
        tl.store(out + first + start, (tl.load(x + first + start) - mean) * scale)  # FAULT t_layer_norm


@triton.jit
def layer_norm_fixed(x, out, COLUMNS: tl.constexpr):
    """It holds the row in registers."""
    i = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    value = tl.load(x + i)
    centered = value - tl.sum(value, 0) / COLUMNS
    scale = 1.0 / tl.sqrt(tl.sum(centered * centered, 0) / COLUMNS + 1e-5)
    tl.store(out + i, centered * scale)


@triton.jit
def product(a, b, out, n, BLOCK: tl.constexpr):
    """A matrix product without tiles: for each value of a row, a row of the other matrix is read."""
    row = tl.program_id(0) * n
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(n):
        total += tl.load(a + row + k).to(tl.float32) * tl.load(b + k * n + column).to(tl.float32)  # FAULT t_product
    tl.store(out + row + column, total)


@triton.jit
def product_fixed(a, b, out, n, SIDE: tl.constexpr, DEPTH: tl.constexpr):
    """By tiles."""
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    depth = tl.arange(0, DEPTH)
    left = a + row[:, None] * n + depth[None, :]
    right = b + depth[:, None] * n + column[None, :]
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for k in range(0, n, DEPTH):
        total += tl.dot(tl.load(left + k), tl.load(right + k * n))
    tl.store(out + row[:, None] * n + column[None, :], total)


@triton.jit
def softplus(x, out, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Exponential and logarithm in double precision, of which the result keeps half; the fix is single precision."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i).to(tl.float64 if WIDE else tl.float32)
    tl.store(out + i, tl.log(1.0 + tl.exp(value)).to(tl.float32))  # FAULT t_softplus


@triton.jit
def recurrence(x, out, steps, n, BLOCK: tl.constexpr):
    """Few programs, and each waits for the value of a step before it asks for that of the next."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    state = tl.zeros((BLOCK,), tl.float32)
    for t in range(steps):
        state = state * 0.9 + tl.load(x + t * n + i)  # FAULT t_recurrence
    tl.store(out + i, state)


@triton.jit
def recurrence_fixed(x, out, steps, n, BLOCK: tl.constexpr):
    """Unrolled: it asks for eight."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    state = tl.zeros((BLOCK,), tl.float32)
    for t in range(0, steps, 8):
        for k in tl.static_range(8):
            state = state * 0.9 + tl.load(x + (t + k) * n + i)
    tl.store(out + i, state)


@triton.jit
def running_sum(x, out, columns, BLOCK: tl.constexpr):
    """The warps of a program wait for each other in every turn; the fix takes eight times as much in a turn."""
    first = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    carried = 0
    for start in range(0, columns, BLOCK):
        value = tl.load(x + first + start)
        tl.store(out + first + start, tl.cumsum(value, 0) + carried)  # FAULT t_running_sum
        carried += tl.sum(value, 0)


@triton.jit
def ragged_sums(x, start, length, out, longest, BLOCK: tl.constexpr):
    """Every row takes as many turns as the longest, with all lanes masked off in most of them."""
    row = tl.program_id(0)
    first = tl.load(start + row)
    n = tl.load(length + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, longest, BLOCK):
        i = k + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(x + first + i, mask=i < n, other=-1000.0))  # FAULT t_ragged
    tl.store(out + row, tl.sum(total, 0))


@triton.jit
def ragged_sums_fixed(x, start, length, out, longest, BLOCK: tl.constexpr):
    """Every row takes its own."""
    row = tl.program_id(0)
    first = tl.load(start + row)
    n = tl.load(length + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(x + first + i, mask=i < n, other=-1000.0))
    tl.store(out + row, tl.sum(total, 0))


@triton.jit
def causal(keys, queries, out, LAST_FIRST: tl.constexpr, BLOCK: tl.constexpr):
    """Each row needs all keys up to its own, and the longest rows come last; the fix begins with them."""
    row = tl.program_id(0)
    if LAST_FIRST:
        row = tl.num_programs(0) - 1 - row
    query = tl.load(queries + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, (row + 1) * BLOCK, BLOCK):
        total += tl.exp(query * tl.load(keys + start + tl.arange(0, BLOCK)))  # FAULT t_causal
    tl.store(out + row, tl.sum(total, 0))


@triton.jit
def large_tile(a, b, out, n, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr):
    """A tile of 256 x 128 sums is 256 registers for each thread of four warps; the fix is eight warps."""
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    depth = tl.arange(0, DEPTH)
    left = a + row[:, None] * n + depth[None, :]
    right = b + depth[:, None] * n + column[None, :]
    total = tl.zeros((HEIGHT, WIDTH), tl.float32)
    for k in range(0, n, DEPTH):
        total += tl.dot(tl.load(left + k), tl.load(right + k * n))  # FAULT t_large_tile
    tl.store(out + row[:, None] * n + column[None, :], total)


# ---- data and launches ----


def floats(n, kind=torch.float32):
    return torch.rand(n, device="cuda", generator=torch.Generator("cuda").manual_seed(1)).to(kind)


def empty(n, kind=torch.float32):
    return torch.zeros(n, device="cuda", dtype=kind)


def copies(times):
    source, target = floats(1 << 26), empty(1 << 26)

    def work():
        for _ in range(times):
            target.copy_(source)

    return work


def products(times, n=4096):
    a, b = floats(n * n, torch.float16).view(n, n), floats(n * n, torch.float16).view(n, n)
    out = torch.empty_like(a)

    def work():
        for _ in range(times):
            torch.mm(a, b, out=out)

    return work


def t_gather():
    table, n, turns = floats(1 << 26), 1 << 25, 16
    generator = torch.Generator("cuda").manual_seed(2)
    index = torch.randint(0, table.numel(), (n,), device="cuda", dtype=torch.int32, generator=generator)
    ordered, out = index.sort().values, empty(1)
    programs = (n // (turns * 1024),)
    return frame.Work(lambda: gather[programs](table, index, out, turns, BLOCK=1024, num_warps=4),
                      lambda: gather[programs](table, ordered, out, turns, BLOCK=1024, num_warps=4), products(2), copies(4), out)


def t_bias_gradient():
    rows, columns, tile = 1 << 20, 64, 64
    x, out = floats(rows * columns), empty(columns)
    return frame.Work(lambda: bias_gradient[(rows // tile,)](x, out, ROWS=tile, COLUMNS=columns, num_warps=4),
                      lambda: bias_gradient_fixed[(rows // tile,)](x, out, ROWS=tile, COLUMNS=columns, num_warps=4), copies(5), products(2), out)


def t_layer_norm():
    rows, columns = 8192, 16384
    x, out = floats(rows * columns), empty(rows * columns)
    return frame.Work(lambda: layer_norm[(rows,)](x, out, columns, BLOCK=2048, num_warps=8),
                      lambda: layer_norm_fixed[(rows,)](x, out, COLUMNS=columns, num_warps=8), products(3), products(3), out)


def t_product():
    n = 2048
    a, b, out = floats(n * n, torch.float16), floats(n * n, torch.float16), empty(n * n)
    return frame.Work(lambda: product[(n, n // 1024)](a, b, out, n, BLOCK=1024, num_warps=4),
                      lambda: product_fixed[(n // 128, n // 128)](a, b, out, n, SIDE=128, DEPTH=64, num_warps=8), copies(4), copies(4), out)


def t_softplus():
    n = 1 << 27
    x, out = floats(n), empty(n)
    return frame.Work(lambda: softplus[(n // 1024,)](x, out, WIDE=True, BLOCK=1024, num_warps=4),
                      lambda: softplus[(n // 1024,)](x, out, WIDE=False, BLOCK=1024, num_warps=4), copies(3), products(3), out)


def t_recurrence():
    n, steps = 32768, 2048
    x, out = floats(n * steps), empty(n)
    return frame.Work(lambda: recurrence[(n // 128,)](x, out, steps, n, BLOCK=128, num_warps=4),
                      lambda: recurrence_fixed[(n // 128,)](x, out, steps, n, BLOCK=128, num_warps=4), products(4), copies(3), out)


def t_running_sum():
    rows, columns = 128, 1 << 19
    x, out = (floats(rows * columns) * 100).to(torch.int32), empty(rows * columns, torch.int32)
    return frame.Work(lambda: running_sum[(rows,)](x, out, columns, BLOCK=1024, num_warps=8),
                      lambda: running_sum[(rows,)](x, out, columns, BLOCK=8192, num_warps=8), copies(3), products(3), out)


def t_ragged():
    rows, longest = 1 << 18, 8192
    length = (floats(rows) * 511).to(torch.int32) + 1
    length[rows // 2] = longest
    start = (length.cumsum(0) - length).to(torch.int32)
    x, out = floats(int(length.sum().item())), empty(rows)
    return frame.Work(lambda: ragged_sums[(rows,)](x, start, length, out, longest, BLOCK=128, num_warps=1),
                      lambda: ragged_sums_fixed[(rows,)](x, start, length, out, longest, BLOCK=128, num_warps=1), products(2), copies(5), out)


def t_causal():
    rows = torch.cuda.get_device_properties(0).multi_processor_count * 64
    keys, queries, out = floats(rows * 32), floats(rows), empty(rows)
    return frame.Work(lambda: causal[(rows,)](keys, queries, out, LAST_FIRST=False, BLOCK=32, num_warps=1),
                      lambda: causal[(rows,)](keys, queries, out, LAST_FIRST=True, BLOCK=32, num_warps=1), copies(7), products(3), out)


def t_large_tile():
    n, height, width = 6144, 256, 128
    a, b, out = floats(n * n, torch.float16), floats(n * n, torch.float16), empty(n * n)
    grid = (n // height, n // width)
    return frame.Work(lambda: large_tile[grid](a, b, out, n, HEIGHT=height, WIDTH=width, DEPTH=64, num_warps=4),
                      lambda: large_tile[grid](a, b, out, n, HEIGHT=height, WIDTH=width, DEPTH=64, num_warps=8), copies(8), copies(4), out)


PROGRAMS = {f.__name__: f for f in (t_gather, t_bias_gradient, t_layer_norm, t_product, t_softplus, t_recurrence, t_running_sum, t_ragged,
                                    t_causal, t_large_tile)}

if __name__ == "__main__":
    sys.exit(frame.main(__doc__, list(PROGRAMS), lambda name: PROGRAMS[name]()))
