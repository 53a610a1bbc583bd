#!/usr/bin/env python3
"""Another ten Triton kernels, each with one known fault, and its fix.

    fifth_triton.py --list
    fifth_triton.py NAME... [--fixed | --both] [--steps N] [--seconds S] [--lock FILE]

frame.py has the steps and what is printed. The comment FAULT marks the line at fault.
"""

import sys

import frame
import torch
import triton
import triton.language as tl
from second_triton import copies, empty, floats, products
from triton.language.extra import libdevice


@triton.jit
def pooled(x, out, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    """The largest of each 32 values. A lane has a window, so the lanes of a warp are 128 bytes apart."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), -1e30, tl.float32)
    for k in range(WINDOW):
        largest = tl.maximum(largest, tl.load(x + i * WINDOW + k))  # FAULT t_pooling
    tl.store(out + i, largest)


@triton.jit
def pooled_fixed(x, out, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    """A warp reads a window along its values."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, WINDOW)
    tl.store(out + i, tl.max(tl.load(x + i[:, None] * WINDOW + k[None, :]), 1))


@triton.jit
def covariance(x, out, n, share, BLOCK: tl.constexpr):
    """The ten sums of products of four series, each in a block of sums. Of blocks of 4,096, a thread would hold 320; the fix is 512."""
    aa = tl.zeros((BLOCK,), tl.float32)
    ab = tl.zeros((BLOCK,), tl.float32)
    ac = tl.zeros((BLOCK,), tl.float32)
    ad = tl.zeros((BLOCK,), tl.float32)
    bb = tl.zeros((BLOCK,), tl.float32)
    bc = tl.zeros((BLOCK,), tl.float32)
    bd = tl.zeros((BLOCK,), tl.float32)
    cc = tl.zeros((BLOCK,), tl.float32)
    cd = tl.zeros((BLOCK,), tl.float32)
    dd = tl.zeros((BLOCK,), tl.float32)
    begin = tl.program_id(0) * share
    for first in range(begin, begin + share, BLOCK):
        at = x + first + tl.arange(0, BLOCK)
        a = tl.load(at)  # FAULT t_covariance
        b = tl.load(at + n)  # FAULT t_covariance
        c = tl.load(at + 2 * n)  # FAULT t_covariance
        d = tl.load(at + 3 * n)  # FAULT t_covariance
        aa += a * a  # FAULT t_covariance
        ab += a * b  # FAULT t_covariance
        ac += a * c  # FAULT t_covariance
        ad += a * d  # FAULT t_covariance
        bb += b * b  # FAULT t_covariance
        bc += b * c  # FAULT t_covariance
        bd += b * d  # FAULT t_covariance
        cc += c * c  # FAULT t_covariance
        cd += c * d  # FAULT t_covariance
        dd += d * d  # FAULT t_covariance
    tl.atomic_add(out, tl.sum(aa, 0))
    tl.atomic_add(out + 1, tl.sum(ab, 0))
    tl.atomic_add(out + 2, tl.sum(ac, 0))
    tl.atomic_add(out + 3, tl.sum(ad, 0))
    tl.atomic_add(out + 4, tl.sum(bb, 0))
    tl.atomic_add(out + 5, tl.sum(bc, 0))
    tl.atomic_add(out + 6, tl.sum(bd, 0))
    tl.atomic_add(out + 7, tl.sum(cc, 0))
    tl.atomic_add(out + 8, tl.sum(cd, 0))
    tl.atomic_add(out + 9, tl.sum(dd, 0))


@triton.jit
def gram(x, out, signals, length, share, TILE: tl.constexpr, DEPTH: tl.constexpr):
    """The products of 256 long signals with each other. There are only 16 tiles of results, each of one program; in the fix, 32 share a tile."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    depth = tl.program_id(2) * share + tl.arange(0, DEPTH)
    left = x + row[:, None] * length + depth[None, :]
    right = x + column[None, :] * length + depth[:, None]
    total = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, share, DEPTH):
        total += tl.dot(tl.load(left + k), tl.load(right + k))  # FAULT t_gram
    tl.atomic_add(out + row[:, None] * signals + column[None, :], total)


@triton.jit
def bucket(x, edges, begin, out, cells, STEPS: tl.constexpr, TABLE: tl.constexpr, BLOCK: tl.constexpr):
    """How many of the sorted edges are below each value, by halves: each of 16 loads waits for the one before. The fix has a table of
    where to begin, and four are left."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    below = tl.zeros((BLOCK,), tl.int32)
    if TABLE:
        below = tl.load(begin + (value * cells).to(tl.int32))
    for k in tl.static_range(STEPS):
        step = 1 << (STEPS - 1 - k)
        below = tl.where(tl.load(edges + below + (step - 1)) < value, below + step, below)  # FAULT t_buckets
    tl.store(out + i, below)


@triton.jit
def filters(x, tap, out, n, TAPS: tl.constexpr, FILTERS: tl.constexpr, BLOCK: tl.constexpr):
    """A signal through each filter of a bank. A program has one filter, so all of the signal is read again for each; the fix has 16."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    number = tl.program_id(1) * FILTERS + tl.arange(0, FILTERS)[:, None]
    total = tl.zeros((FILTERS, BLOCK), tl.float32)
    for k in range(TAPS):
        total += tl.load(tap + number * TAPS + k) * tl.load(x + i + k)  # FAULT t_filters
    tl.store(out + number * n + i, total)


@triton.jit
def messages(source, target, weight, feature, out, EDGES: tl.constexpr, WIDTH: tl.constexpr):
    """What the vertices of a graph send along its edges is added to each target. The edges are in the order of their targets."""
    edge = tl.program_id(0) * EDGES + tl.arange(0, EDGES)
    column = tl.arange(0, WIDTH)
    sent = tl.load(feature + tl.load(source + edge)[:, None] * WIDTH + column[None, :]) * tl.load(weight + edge)[:, None]
    tl.atomic_add(out + tl.load(target + edge)[:, None] * WIDTH + column[None, :], sent)  # FAULT t_messages


@triton.jit
def messages_fixed(source, start, weight, feature, out, EDGES: tl.constexpr, WIDTH: tl.constexpr):
    """A program adds up what arrives at one target."""
    vertex = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    total = tl.zeros((EDGES, WIDTH), tl.float32)
    end = tl.load(start + vertex + 1)
    for first in range(tl.load(start + vertex), end, EDGES):
        edge = first + tl.arange(0, EDGES)
        share = tl.load(weight + edge, mask=edge < end, other=0.0)
        origin = tl.load(source + edge, mask=edge < end, other=0)
        total += tl.load(feature + origin[:, None] * WIDTH + column[None, :]) * share[:, None]
    tl.store(out + vertex * WIDTH + column, tl.sum(total, 0))


@triton.jit
def sparse(tiles, start, column_of, dense, out, programs, share, ROUND: tl.constexpr, TILE: tl.constexpr):
    """A matrix of few tiles times a dense one. Each program has rows of tiles that lie side by side, and the last rows have most tiles; in
    the fix, its rows are far apart."""
    i = tl.arange(0, TILE)
    at = i[:, None] * TILE + i[None, :]
    for k in range(share):
        row = tl.program_id(0) * share + k
        if ROUND:
            row = k * programs + tl.program_id(0)
        total = tl.zeros((TILE, TILE), tl.float32)
        for t in range(tl.load(start + row), tl.load(start + row + 1)):
            below = tl.load(column_of + t)
            total += tl.dot(tl.load(tiles + t * TILE * TILE + at), tl.load(dense + below * TILE * TILE + at))  # FAULT t_sparse
        tl.store(out + row * TILE * TILE + at, total)


@triton.jit
def balanced(x, out, ROUNDS: tl.constexpr, SIDE: tl.constexpr):
    """Small matrices, whose rows and columns are divided by their sums in turn. Eight warps share a matrix, and wait for each other at every
    sum; the fix is one warp."""
    i = tl.arange(0, SIDE)
    at = tl.program_id(0) * SIDE * SIDE + i[:, None] * SIDE + i[None, :]
    share = tl.load(x + at) + 0.1
    for _ in range(ROUNDS):
        share *= (1.0 / tl.sum(share, 1))[:, None]  # FAULT t_sinkhorn
        share *= (1.0 / tl.sum(share, 0))[None, :]  # FAULT t_sinkhorn
    tl.store(out + at, share)


@triton.jit
def toned(x, out, n, BLOCK: tl.constexpr):
    """Three colours are made linear, mixed, and encoded again, with a general power for each."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    red = libdevice.pow(tl.load(x + i).to(tl.float32) + 0.01, 2.4)  # FAULT t_tone
    green = libdevice.pow(tl.load(x + n + i).to(tl.float32) + 0.01, 2.4)  # FAULT t_tone
    blue = libdevice.pow(tl.load(x + 2 * n + i).to(tl.float32) + 0.01, 2.4)  # FAULT t_tone
    tl.store(out + i, libdevice.pow(0.8 * red + 0.15 * green + 0.05 * blue, 0.41))  # FAULT t_tone
    tl.store(out + n + i, libdevice.pow(0.1 * red + 0.7 * green + 0.2 * blue, 0.41))  # FAULT t_tone
    tl.store(out + 2 * n + i, libdevice.pow(0.05 * red + 0.25 * green + 0.7 * blue, 0.41))  # FAULT t_tone


@triton.jit
def toned_fixed(x, out, n, BLOCK: tl.constexpr):
    """The values are positive: a logarithm and an exponential of base 2 are enough."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    red = tl.exp2(2.4 * tl.log2(tl.load(x + i).to(tl.float32) + 0.01))
    green = tl.exp2(2.4 * tl.log2(tl.load(x + n + i).to(tl.float32) + 0.01))
    blue = tl.exp2(2.4 * tl.log2(tl.load(x + 2 * n + i).to(tl.float32) + 0.01))
    tl.store(out + i, tl.exp2(0.41 * tl.log2(0.8 * red + 0.15 * green + 0.05 * blue)))
    tl.store(out + n + i, tl.exp2(0.41 * tl.log2(0.1 * red + 0.7 * green + 0.2 * blue)))
    tl.store(out + 2 * n + i, tl.exp2(0.41 * tl.log2(0.05 * red + 0.25 * green + 0.7 * blue)))


@triton.jit
def precise(a, b, out, n, PRECISION: tl.constexpr, TILE: tl.constexpr, DEPTH: tl.constexpr):
    """A matrix product in full single precision, without tensor cores; the fix is tensor cores, which take 10 bits of each operand."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, DEPTH)
    left = a + row[:, None] * n + depth[None, :]
    right = b + depth[:, None] * n + column[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, n, DEPTH):
        total += tl.dot(tl.load(left + k), tl.load(right + k * n), input_precision=PRECISION)  # FAULT t_precise
    tl.store(out + row[:, None] * n + column[None, :], total)


# ---- data and launches ----


def integers(high, n):
    return torch.randint(0, high, (n,), device="cuda", dtype=torch.int32, generator=torch.Generator("cuda").manual_seed(5))


def from_zero(counts):
    """Where the parts of that many begin, and the last ends."""
    return torch.nn.functional.pad(torch.cumsum(counts, 0), (1, 0)).int()


def t_pooling():
    n, window = 1 << 22, 32
    x, out = floats(n * window), empty(n)
    return frame.Work(lambda: pooled[(n // 128,)](x, out, WINDOW=window, BLOCK=128, num_warps=4),
                      lambda: pooled_fixed[(n // 128,)](x, out, WINDOW=window, BLOCK=128, num_warps=4), products(3), copies(5), out)


def t_covariance():
    n, programs = 1 << 26, 1024
    x, out = floats(4 * n), empty(10)
    return frame.Work(lambda: covariance[(programs,)](x, out, n, n // programs, BLOCK=4096, num_warps=4),
                      lambda: covariance[(programs,)](x, out, n, n // programs, BLOCK=512, num_warps=4), products(3), copies(5), out)


def t_gram():
    signals, length, programs, tile = 256, 1 << 17, 32, 64
    x, out = floats(signals * length, torch.float16), empty(signals * signals)
    side = signals // tile
    return frame.Work(lambda: gram[(side, side, 1)](x, out, signals, length, length, TILE=tile, DEPTH=64, num_warps=4),
                      lambda: gram[(side, side, programs)](x, out, signals, length, length // programs, TILE=tile, DEPTH=64, num_warps=4),
                      copies(5), products(3), out)


def t_buckets():
    n, cells, block = 1 << 24, 1 << 16, 512
    x, out = floats(n), empty(n, torch.int32)
    edges = (integers(1 << 24, cells - 1).double() / (1 << 24)).float().sort().values
    begin = torch.searchsorted(edges, torch.arange(cells, device="cuda").float() / cells).int()
    beyond = torch.cat([edges, torch.full((16,), 2.0, device="cuda")])
    return frame.Work(lambda: bucket[(n // block,)](x, beyond, begin, out, cells, STEPS=16, TABLE=False, BLOCK=block, num_warps=4),
                      lambda: bucket[(n // block,)](x, beyond, begin, out, cells, STEPS=4, TABLE=True, BLOCK=block, num_warps=4),
                      copies(7), products(4), out)


def t_filters():
    n, count, taps, block = 1 << 20, 64, 64, 256
    x, tap, out = floats(n + taps), floats(count * taps), empty(count * n)
    return frame.Work(lambda: filters[(n // block, count)](x, tap, out, n, TAPS=taps, FILTERS=1, BLOCK=block, num_warps=4),
                      lambda: filters[(n // block, count // 16)](x, tap, out, n, TAPS=taps, FILTERS=16, BLOCK=block, num_warps=4),
                      products(5), copies(6), out)


def t_messages():
    vertices, edges, width = 1 << 15, 1 << 21, 64
    source, weight, feature, out = integers(vertices, edges), floats(edges), floats(vertices * width), empty(vertices * width)
    target = integers(vertices, edges + 1)[1:].sort().values.contiguous()
    start = from_zero(torch.bincount(target, minlength=vertices))
    return frame.Work(lambda: messages[(edges // 32,)](source, target, weight, feature, out, EDGES=32, WIDTH=width, num_warps=4),
                      lambda: messages_fixed[(vertices,)](source, start, weight, feature, out, EDGES=32, WIDTH=width, num_warps=4),
                      products(3), copies(5), out)


def t_sparse():
    tile, share, columns = 64, 16, 256
    programs = 2 * torch.cuda.get_device_properties(0).multi_processor_count
    rows = programs * share
    start = from_zero(2 + (96 * (torch.arange(rows, device="cuda") / rows) ** 8).long())
    count = int(start[-1])
    tiles, column_of = floats(count * tile * tile, torch.float16), integers(columns, count)
    dense, out = floats(columns * tile * tile, torch.float16), empty(rows * tile * tile)
    return frame.Work(lambda: sparse[(programs,)](tiles, start, column_of, dense, out, programs, share, ROUND=False, TILE=tile, num_warps=4),
                      lambda: sparse[(programs,)](tiles, start, column_of, dense, out, programs, share, ROUND=True, TILE=tile, num_warps=4),
                      products(4), copies(6), out)


def t_sinkhorn():
    matrices, side = 1 << 16, 32
    x, out = floats(matrices * side * side), empty(matrices * side * side)
    return frame.Work(lambda: balanced[(matrices,)](x, out, ROUNDS=32, SIDE=side, num_warps=8),
                      lambda: balanced[(matrices,)](x, out, ROUNDS=32, SIDE=side, num_warps=1), copies(6), products(4), out)


def t_tone():
    n = 1 << 25
    x, out = floats(3 * n, torch.float16), empty(3 * n)
    return frame.Work(lambda: toned[(n // 1024,)](x, out, n, BLOCK=1024, num_warps=4),
                      lambda: toned_fixed[(n // 1024,)](x, out, n, BLOCK=1024, num_warps=4), products(4), copies(6), out)


def t_precise():
    n, tile = 2048, 64
    a, b, out = floats(n * n, torch.float16).float(), floats(n * n, torch.float16).float(), empty(n * n)  # both precisions hold them
    programs = (n // tile, n // tile)
    return frame.Work(lambda: precise[programs](a, b, out, n, PRECISION="ieee", TILE=tile, DEPTH=32, num_warps=4),
                      lambda: precise[programs](a, b, out, n, PRECISION="tf32", TILE=tile, DEPTH=32, num_warps=4), copies(6), products(4), out)


PROGRAMS = {f.__name__: f for f in (t_pooling, t_covariance, t_gram, t_buckets, t_filters, t_messages, t_sparse, t_sinkhorn, t_tone, t_precise)}

if __name__ == "__main__":
    sys.exit(frame.main(__doc__, list(PROGRAMS), lambda name: PROGRAMS[name]()))
