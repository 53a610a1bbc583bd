#!/usr/bin/env python3
"""Ten Triton kernels, each with one known fault, and its fix.

    stalls_triton.py --list
    stalls_triton.py NAME... [--fixed | --both] [--steps N] [--seconds S] [--lock FILE]

A step is other work, the kernel, and a wait for both. With --both, blocks of steps with the fault and with the fix take turns, until N steps
or S seconds are over, and the medians are printed as a line of JSON per side. With --lock, the GPU is used while FILE is locked, until the
process ends, so that several processes can import PyTorch at the same time (frame.py).

The comment FAULT marks the line at fault.
The lines keep their numbers, which recordings name: what is new stands
below the kernels.
"""

import functools
import sys

import frame
import torch
import triton
import triton.language as tl

CELLS = 1 << 24


@triton.jit
def row_sums(x, out, rows, columns, BLOCK: tl.constexpr):
    """The loads of a warp are in 32 lines of memory."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for c in range(columns):
        total += tl.load(x + row * columns + c)  # FAULT t_uncoalesced
    tl.store(out + row, total)


@triton.jit
def row_sums_fixed(x, out, rows, columns, BLOCK: tl.constexpr):
    """The matrix is stored by columns."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for c in range(columns):
        total += tl.load(x + c * rows + row)
    tl.store(out + row, total)


@triton.jit
def transpose(x, out, side, BLOCK: tl.constexpr):
    """The loads of a warp are one line, its stores are 32."""
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + column * side + row, tl.load(x + row * side + column))  # FAULT t_strided_store


@triton.jit
def transpose_fixed(x, out, side, BLOCK: tl.constexpr):
    """Tiles are turned around within a program."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + row[:, None] * side + column[None, :])
    tl.store(out + column[:, None] * side + row[None, :], tl.trans(tile))


@triton.jit
def scale(x, out, BLOCK: tl.constexpr):
    """With a BLOCK of 32, programs are so short that starting them takes longer; the fix is one of 1024."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2.0)  # FAULT t_tiny_programs


@triton.jit
def block_sums(x, out, n, BLOCK: tl.constexpr):
    """One warp per multiprocessor cannot keep enough loads under way; the fix is more programs, with more warps."""
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        total += tl.load(x + start + tl.arange(0, BLOCK))  # FAULT t_low_occupancy
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def rounds_of(x, out, rounds, BLOCK: tl.constexpr):
    """A block of 16,384 values in one warp takes 512 registers per thread, and 255 is the most; the fix is four warps of 1024."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    for k in range(rounds):
        value = value * 0.5 + k  # FAULT t_spills
    tl.store(out + i, value)


@triton.jit
def total_of(x, out, BLOCK: tl.constexpr):
    """All lanes add to one word."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i * 0, tl.load(x + i))  # FAULT t_atomics


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def total_of_fixed(x, out, BLOCK: tl.constexpr):
    """Each program adds up first."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.reduce(tl.load(x + i), 0, plus))


@triton.jit
def weighted(x, out, rounds, BLOCK: tl.constexpr):
    """The same values are read again in each round, past the L1 cache."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(rounds):
        total += tl.load(x + i, cache_modifier=".cg") * k  # FAULT t_read_again
    tl.store(out + i, total)


@triton.jit
def weighted_fixed(x, out, rounds, BLOCK: tl.constexpr):
    """They are read once."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(rounds):
        total += value * k
    tl.store(out + i, total)


@triton.jit
def follow(links, out, n, hops, BLOCK: tl.constexpr):
    """Each load needs the address that the one before read."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = i
    total = i
    for k in range(hops):
        at = tl.load(links + at)  # FAULT t_dependent_loads
        total += at
    tl.store(out + i, total)


@triton.jit
def follow_fixed(table, out, n, hops, BLOCK: tl.constexpr):
    """A table has the address after each hop."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = i
    for k in range(hops):
        total += tl.load(table + k * n + i)
    tl.store(out + i, total)


@triton.jit
def logistic(x, out, rounds, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """In double precision, which the result does not need; the fix is single precision."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i).to(tl.float64 if WIDE else tl.float32)
    for k in range(rounds):
        value = value * value - 0.5  # FAULT t_double
    tl.store(out + i, value.to(tl.float32))


@triton.jit
def tile_sums(x, out, tiles, BLOCK: tl.constexpr):
    """The warps of a program wait for each other in every turn."""
    first = tl.program_id(0) * tiles * BLOCK + tl.arange(0, BLOCK)
    total = 0.0
    for k in range(tiles):
        total += tl.reduce(tl.load(x + first + k * BLOCK), 0, plus)  # FAULT t_barrier
    tl.store(out + tl.program_id(0), total)


@triton.jit
def tile_sums_fixed(x, out, tiles, BLOCK: tl.constexpr):
    """They do so once, at the end."""
    first = tl.program_id(0) * tiles * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(tiles):
        total += tl.load(x + first + k * BLOCK)
    tl.store(out + tl.program_id(0), tl.reduce(total, 0, plus))


class Kernels:
    """Data, and for each name the launches with the fault and with the fix."""

    def __init__(self):
        self.x = torch.zeros(CELLS, device="cuda")
        self.out = torch.zeros(CELLS, device="cuda")
        self.other = torch.ones(CELLS, device="cuda")
        self.points = 1 << 17
        self.links = torch.randperm(self.points, device="cuda", dtype=torch.int32)
        self.table = self.links.repeat(32)
        self.words = torch.zeros(self.points, device="cuda", dtype=torch.int32)
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count
        x, out, sms, side = self.x, self.out, self.sms, 4096
        rows, columns = CELLS // 128, 128
        self.launches = {
            "t_uncoalesced": (lambda: row_sums[(rows // 256,)](x, out, rows, columns, BLOCK=256, num_warps=8),
                              lambda: row_sums_fixed[(rows // 256,)](x, out, rows, columns, BLOCK=256, num_warps=8)),
            "t_strided_store": (lambda: transpose[(side, side // 1024)](x, out, side, BLOCK=1024, num_warps=8),
                                lambda: transpose_fixed[(side // 64, side // 64)](x, out, side, BLOCK=64, num_warps=8)),
            "t_tiny_programs": (lambda: scale[(CELLS // 32,)](x, out, BLOCK=32, num_warps=1),
                                lambda: scale[(CELLS // 1024,)](x, out, BLOCK=1024, num_warps=4)),
            "t_low_occupancy": (lambda: block_sums[(sms,)](x, out, CELLS, BLOCK=128, num_warps=1),
                                lambda: block_sums[(sms * 8,)](x, out, CELLS, BLOCK=1024, num_warps=8)),
            "t_spills": (lambda: rounds_of[(CELLS // 16384,)](x, out, 100, BLOCK=16384, num_warps=1),
                         lambda: rounds_of[(CELLS // 1024,)](x, out, 100, BLOCK=1024, num_warps=4)),
            "t_atomics": (lambda: total_of[(CELLS // 16384,)](x, out, BLOCK=1024, num_warps=4),
                          lambda: total_of_fixed[(CELLS // 16384,)](x, out, BLOCK=1024, num_warps=4)),
            "t_read_again": (lambda: weighted[(CELLS // 4096,)](x, out, 64, BLOCK=1024, num_warps=4),
                             lambda: weighted_fixed[(CELLS // 4096,)](x, out, 64, BLOCK=1024, num_warps=4)),
            "t_dependent_loads": (lambda: follow[(self.points // 256,)](self.links, self.words, self.points, 32, BLOCK=256, num_warps=8),
                                  lambda: follow_fixed[(self.points // 256,)](self.table, self.words, self.points, 32, BLOCK=256, num_warps=8)),
            "t_double": (lambda: logistic[(CELLS // 4096,)](x, out, 200, WIDE=True, BLOCK=1024, num_warps=4),
                         lambda: logistic[(CELLS // 4096,)](x, out, 200, WIDE=False, BLOCK=1024, num_warps=4)),
            "t_barrier": (lambda: tile_sums[(CELLS // 65536,)](x, out, 64, BLOCK=1024, num_warps=8),
                          lambda: tile_sums_fixed[(CELLS // 65536,)](x, out, 64, BLOCK=1024, num_warps=8)),
        }


NAMES = ["t_uncoalesced", "t_strided_store", "t_tiny_programs", "t_low_occupancy", "t_spills", "t_atomics", "t_read_again", "t_dependent_loads",
         "t_double", "t_barrier"]


@functools.cache
def kernels():
    return Kernels()


def prepare(name):
    def before():
        for _ in range(4):
            kernels().other.add_(kernels().x, alpha=0.5)

    faulty, fixed = kernels().launches[name]
    return frame.Work(faulty, fixed, before, lambda: None, None)


if __name__ == "__main__":
    sys.exit(frame.main(__doc__, NAMES, prepare))
