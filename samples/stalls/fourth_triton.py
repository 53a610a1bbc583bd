#!/usr/bin/env python3
"""Another ten Triton kernels, each with one known fault, and its fix.

    fourth_triton.py --list
    fourth_triton.py NAME... [--fixed | --both] [--steps N] [--seconds S] [--lock FILE]

frame.py has the steps and what is printed. The comment FAULT marks the line at fault.
"""

import sys

import frame
import torch
import triton
import triton.language as tl
from second_triton import copies, empty, floats, products


@triton.jit
def symmetric(a, out, n, BLOCK: tl.constexpr):
    """The half of a matrix that is symmetric. Along a row, the mirrored values are a row's length apart."""
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mirrored = tl.load(a + column * n + row)  # FAULT t_symmetric
    tl.store(out + row * n + column, (tl.load(a + row * n + column) + mirrored) * 0.5)


@triton.jit
def symmetric_fixed(a, out, n, SIDE: tl.constexpr):
    """By tiles, of which both are read along their rows."""
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    mirrored = tl.load(a + column[:, None] * n + row[None, :])
    tile = row[:, None] * n + column[None, :]
    tl.store(out + tile, (tl.load(a + tile) + tl.trans(mirrored)) * 0.5)


@triton.jit
def quantisation_error(x, code, out, points, codes, depth, POINTS: tl.constexpr, BLOCK: tl.constexpr):
    """How far each point is from the nearest code. Each four points read the whole book of codes; the fix is 32 points."""
    point = tl.program_id(0) * POINTS + tl.arange(0, POINTS)
    nearest = tl.full((POINTS, BLOCK), 1e30, tl.float32)
    for first in range(0, codes, BLOCK):
        entry = first + tl.arange(0, BLOCK)
        total = tl.zeros((POINTS, BLOCK), tl.float32)
        for k in range(depth):
            apart = tl.load(x + k * points + point)[:, None] - tl.load(code + k * codes + entry)[None, :]  # FAULT t_codebook
            total += apart * apart
        nearest = tl.minimum(nearest, total)
    tl.store(out + point, tl.min(nearest, 1))


@triton.jit
def decode(query, key, value, out, weight, tokens, share, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    """Attention of one token to those before it, before the division by the weights. 64 heads are 64 programs; in the fix, 32 programs
    share a head."""
    head = tl.program_id(0)
    depth = tl.arange(0, DEPTH)
    asked = tl.load(query + head * DEPTH + depth)
    total = tl.zeros((DEPTH,), tl.float32)
    weights = tl.zeros((BLOCK,), tl.float32)
    begin = tl.program_id(1) * share
    for first in range(begin, begin + share, BLOCK):
        at = (head * tokens + first + tl.arange(0, BLOCK))[:, None] * DEPTH + depth[None, :]
        known = tl.exp(tl.sum(tl.load(key + at) * asked[None, :], 1))  # FAULT t_decode
        weights += known
        total += tl.sum(tl.load(value + at) * known[:, None], 0)  # FAULT t_decode
    tl.atomic_add(out + head * DEPTH + depth, total)
    tl.atomic_add(weight + head, tl.sum(weights, 0))


@triton.jit
def standardised(x, out, COLUMNS: tl.constexpr):
    """Rows of 16,384 values, by one warp, of which a thread would hold 512; the fix is eight warps."""
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    value = tl.load(x + at)  # FAULT t_standardise
    value -= tl.sum(value, 0) / COLUMNS  # FAULT t_standardise
    tl.store(out + at, value * tl.rsqrt(tl.sum(value * value, 0) / COLUMNS + 1e-5))  # FAULT t_standardise


@triton.jit
def particle_filter(state, seen, out, steps, EVERY: tl.constexpr, PARTICLES: tl.constexpr):
    """The mean of particles, weighted by what was seen. The weights are divided by their sum, for which the warps wait, after each
    observation; the fix does it after sixteen."""
    at = tl.load(state + tl.arange(0, PARTICLES))
    weight = tl.full((PARTICLES,), 1.0, tl.float32)
    for first in range(0, steps, EVERY):
        for k in tl.static_range(EVERY):
            off = at - tl.load(seen + tl.program_id(0) * steps + first + k)
            weight *= tl.exp(-0.5 * off * off)
        weight /= tl.sum(weight, 0)  # FAULT t_particle_filter
    tl.store(out + tl.program_id(0), tl.sum(weight * at, 0))


@triton.jit
def near_sum(x, out, n, reach, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A sum over the values within reach, which are far fewer than all: most turns have no lane with work."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    here = tl.load(x + row)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(0, n, BLOCK):
        column = first + tl.arange(0, BLOCK)
        off = tl.load(x + column)[None, :] - here[:, None]
        near = tl.abs(column[None, :] - row[:, None]) <= reach
        total += tl.where(near, tl.exp(-off * off), 0.0)  # FAULT t_band
    tl.store(out + row, tl.sum(total, 1))


@triton.jit
def near_sum_fixed(x, out, n, reach, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Only the turns within reach."""
    start = tl.program_id(0) * ROWS
    row = start + tl.arange(0, ROWS)
    here = tl.load(x + row)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(tl.maximum(start - reach, 0), tl.minimum(start + reach + ROWS, n), BLOCK):
        column = first + tl.arange(0, BLOCK)
        off = tl.load(x + column)[None, :] - here[:, None]
        near = tl.abs(column[None, :] - row[:, None]) <= reach
        total += tl.where(near, tl.exp(-off * off), 0.0)
    tl.store(out + row, tl.sum(total, 1))


@triton.jit
def table_gradient(word, gradient, out, TOKENS: tl.constexpr, WIDTH: tl.constexpr):
    """The gradients of tokens are added to the rows of their words. Half of the tokens are padding, and all of these add to one row."""
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    column = tl.arange(0, WIDTH)
    row = tl.load(word + token)
    value = tl.load(gradient + token[:, None] * WIDTH + column[None, :])
    tl.atomic_add(out + row[:, None] * WIDTH + column[None, :], value)  # FAULT t_padding


@triton.jit
def table_gradient_fixed(word, gradient, out, TOKENS: tl.constexpr, WIDTH: tl.constexpr):
    """A program adds up its padding first."""
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    column = tl.arange(0, WIDTH)
    row = tl.load(word + token)[:, None]
    value = tl.load(gradient + token[:, None] * WIDTH + column[None, :])
    tl.atomic_add(out + row * WIDTH + column[None, :], value, mask=row != 0)
    tl.atomic_add(out + column, tl.sum(tl.where(row == 0, value, 0.0), 0))


@triton.jit
def experts(x, weight, start, out, WIDTH: tl.constexpr, TILE: tl.constexpr):
    """The tokens of each expert times its matrix. A program has all tokens of an expert, and one expert has half of all."""
    expert = tl.program_id(0)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, TILE)
    for first in range(tl.load(start + expert), tl.load(start + expert + 1), TILE):
        row = first + tl.arange(0, TILE)
        left = x + row[:, None] * WIDTH + depth[None, :]
        right = weight + expert * WIDTH * WIDTH + depth[:, None] * WIDTH + column[None, :]
        total = tl.zeros((TILE, TILE), tl.float32)
        for k in range(0, WIDTH, TILE):
            total += tl.dot(tl.load(left + k), tl.load(right + k * WIDTH))  # FAULT t_experts
        tl.store(out + row[:, None] * WIDTH + column[None, :], total)


@triton.jit
def experts_fixed(x, weight, expert_of, out, WIDTH: tl.constexpr, TILE: tl.constexpr):
    """A program has one tile of tokens."""
    expert = tl.load(expert_of + tl.program_id(0))
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, TILE)
    left = x + row[:, None] * WIDTH + depth[None, :]
    right = weight + expert * WIDTH * WIDTH + depth[:, None] * WIDTH + column[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, WIDTH, TILE):
        total += tl.dot(tl.load(left + k), tl.load(right + k * WIDTH))
    tl.store(out + row[:, None] * WIDTH + column[None, :], total)


@triton.jit
def automaton(letters, after, out, words, n, BITS: tl.constexpr, SYMBOLS: tl.constexpr, BLOCK: tl.constexpr):
    """The state of an automaton after many letters of two bits, of which 32 are a word; the next word is asked for before it is needed.
    Each letter waits for the state after the one before; the fix has a table of the states after four letters."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    state = tl.zeros((BLOCK,), tl.int32)
    word = tl.load(letters + i)
    for k in range(1, words + 1):
        following = tl.load(letters + tl.minimum(k, words - 1) * n + i)
        for bit in tl.static_range(0, 64, BITS):
            state = tl.load(after + state * SYMBOLS + ((word >> bit) & (SYMBOLS - 1)))  # FAULT t_automaton
        word = following
    tl.store(out + i, state)


@triton.jit
def harmonics(angle, amount, out, HARMONICS: tl.constexpr, BLOCK: tl.constexpr):
    """A sum of harmonics, with a sine for each."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(angle + i) * 6.0
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(HARMONICS):
        total += tl.load(amount + k) * tl.sin(at * (k + 1))  # FAULT t_harmonics
    tl.store(out + i, total)


@triton.jit
def harmonics_fixed(angle, amount, out, HARMONICS: tl.constexpr, BLOCK: tl.constexpr):
    """Each sine is computed from the two before."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(angle + i) * 6.0
    total = tl.zeros((BLOCK,), tl.float32)
    before = tl.zeros((BLOCK,), tl.float32)
    sine = tl.sin(at)
    twice = 2.0 * tl.cos(at)
    for k in tl.static_range(HARMONICS):
        total += tl.load(amount + k) * sine
        following = twice * sine - before
        before = sine
        sine = following
    tl.store(out + i, total)


# ---- data and launches ----


def integers(high, n, kind=torch.int32):
    return torch.randint(0, high, (n,), device="cuda", dtype=kind, generator=torch.Generator("cuda").manual_seed(4))


def t_symmetric():
    n = 8192
    a, out = floats(n * n), empty(n * n)
    return frame.Work(lambda: symmetric[(n, n // 1024)](a, out, n, BLOCK=1024, num_warps=4),
                      lambda: symmetric_fixed[(n // 64, n // 64)](a, out, n, SIDE=64, num_warps=4), products(3), copies(4), out)


def t_codebook():
    points, codes, depth = 1 << 17, 1024, 32
    x, code, out = floats(points * depth), floats(codes * depth).mul_(0.5), empty(points)
    return frame.Work(lambda: quantisation_error[(points // 4,)](x, code, out, points, codes, depth, POINTS=4, BLOCK=128, num_warps=4),
                      lambda: quantisation_error[(points // 32,)](x, code, out, points, codes, depth, POINTS=32, BLOCK=128, num_warps=4),
                      products(6), copies(8), out)


def t_decode():
    heads, tokens, depth, programs = 64, 1 << 14, 64, 32
    key, value, query = floats(heads * tokens * depth), floats(heads * tokens * depth), floats(heads * depth).mul_(0.1)
    out, weight = empty(heads * depth), empty(heads)
    return frame.Work(lambda: decode[(heads, 1)](query, key, value, out, weight, tokens, tokens, BLOCK=64, DEPTH=depth, num_warps=4),
                      lambda: decode[(heads, programs)](query, key, value, out, weight, tokens, tokens // programs, BLOCK=64, DEPTH=depth,
                                                        num_warps=4), copies(5), products(3), out)


def t_standardise():
    rows, columns = 8192, 1 << 14
    x, out = floats(rows * columns), empty(rows * columns)
    return frame.Work(lambda: standardised[(rows,)](x, out, COLUMNS=columns, num_warps=1),
                      lambda: standardised[(rows,)](x, out, COLUMNS=columns, num_warps=8), products(4), copies(6), out)


def t_particle_filter():
    series, steps, particles = 8192, 256, 1024
    state, seen, out = floats(particles), floats(series * steps), empty(series)
    return frame.Work(lambda: particle_filter[(series,)](state, seen, out, steps, EVERY=1, PARTICLES=particles, num_warps=4),
                      lambda: particle_filter[(series,)](state, seen, out, steps, EVERY=16, PARTICLES=particles, num_warps=4),
                      copies(6), products(4), out)


def t_band():
    n, reach = 1 << 16, 8192
    x, out = floats(n), empty(n)
    return frame.Work(lambda: near_sum[(n // 64,)](x, out, n, reach, ROWS=64, BLOCK=64, num_warps=4),
                      lambda: near_sum_fixed[(n // 64,)](x, out, n, reach, ROWS=64, BLOCK=64, num_warps=4), products(4), copies(6), out)


def t_padding():
    words, width, tokens = 1 << 15, 128, 1 << 20
    gradient, out = floats(tokens * width), empty(words * width)
    word = integers(2 * words, tokens)
    word = torch.where(word % 2 == 0, 0, word // 2).int()
    programs = (tokens // 32,)
    return frame.Work(lambda: table_gradient[programs](word, gradient, out, TOKENS=32, WIDTH=width, num_warps=4),
                      lambda: table_gradient_fixed[programs](word, gradient, out, TOKENS=32, WIDTH=width, num_warps=4), copies(6), products(4), out)


def t_experts():
    tiles, width, tile = [128] + [8] * 16, 1024, 64
    tokens = sum(tiles) * tile
    x, weight, out = floats(tokens * width, torch.float16), floats(len(tiles) * width * width, torch.float16), empty(tokens * width)
    start = torch.tensor([sum(tiles[:k]) * tile for k in range(len(tiles) + 1)], dtype=torch.int32).cuda()
    expert_of = torch.tensor([expert for expert, count in enumerate(tiles) for _ in range(count)], dtype=torch.int32).cuda()
    return frame.Work(lambda: experts[(len(tiles), width // tile)](x, weight, start, out, WIDTH=width, TILE=tile, num_warps=4),
                      lambda: experts_fixed[(sum(tiles), width // tile)](x, weight, expert_of, out, WIDTH=width, TILE=tile, num_warps=4),
                      products(4), copies(5), out)


def t_automaton():
    n, words, states, block = 1 << 14, 512, 64, 128
    letters, one, out = integers(1 << 62, n * words, torch.int64), integers(states, states * 4), empty(n, torch.int32)
    state, four = torch.arange(states, device="cuda")[:, None], torch.arange(256, device="cuda")[None, :]
    for k in range(4):
        state = one[(state * 4 + (four >> (2 * k)) % 4).long()]
    table = state.contiguous()
    return frame.Work(lambda: automaton[(n // block,)](letters, one, out, words, n, BITS=2, SYMBOLS=4, BLOCK=block, num_warps=4),
                      lambda: automaton[(n // block,)](letters, table, out, words, n, BITS=8, SYMBOLS=256, BLOCK=block, num_warps=4),
                      copies(5), products(3), out)


def t_harmonics():
    n, count = 1 << 25, 32
    angle, amount, out = floats(n), floats(count), empty(n)
    return frame.Work(lambda: harmonics[(n // 1024,)](angle, amount, out, HARMONICS=count, BLOCK=1024, num_warps=4),
                      lambda: harmonics_fixed[(n // 1024,)](angle, amount, out, HARMONICS=count, BLOCK=1024, num_warps=4),
                      products(4), copies(6), out)


PROGRAMS = {f.__name__: f for f in (t_symmetric, t_codebook, t_decode, t_standardise, t_particle_filter, t_band, t_padding, t_experts, t_automaton,
                                    t_harmonics)}

if __name__ == "__main__":
    sys.exit(frame.main(__doc__, list(PROGRAMS), lambda name: PROGRAMS[name]()))
