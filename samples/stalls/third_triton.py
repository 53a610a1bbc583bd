#!/usr/bin/env python3
"""Ten more Triton kernels, each with one known fault, and its fix.

    third_triton.py --list
    third_triton.py NAME... [--fixed | --both] [--steps N] [--seconds S] [--lock FILE]

frame.py has the steps and what is printed. The comment FAULT marks the line at fault; one fault is on two lines.
"""

import sys

import frame
import torch
import triton
import triton.language as tl
from second_triton import copies, empty, floats, products


@triton.jit
def channel_energy(x, out, channel_pitch, time_pitch, BLOCK: tl.constexpr):
    """The samples of a channel are 16 words apart, for those of the other channels lie between them. The fix stores channel by channel."""
    channel = tl.program_id(1)
    time = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + channel * channel_pitch + time * time_pitch)  # FAULT t_channels
    tl.store(out + channel * tl.num_programs(0) + tl.program_id(0), tl.sum(value * value, 0))


@triton.jit
def log_sum_exp(x, out, columns, BLOCK: tl.constexpr):
    """Long rows are read once for their largest value, and again for the sum."""
    first = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), -1e30, tl.float32)
    for start in range(0, columns, BLOCK):
        most = tl.maximum(most, tl.load(x + first + start))  # FAULT t_log_sum_exp
    top = tl.max(most, 0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.exp(tl.load(x + first + start) - top)  # FAULT t_log_sum_exp
    tl.store(out + tl.program_id(0), top + tl.log(tl.sum(total, 0)))


@triton.jit
def log_sum_exp_fixed(x, out, columns, BLOCK: tl.constexpr):
    """Each lane has its largest value so far, and a sum that it scales when there is a larger one."""
    first = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), -1e30, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        value = tl.load(x + first + start)
        now = tl.maximum(most, value)
        total = total * tl.exp(most - now) + tl.exp(value - now)
        most = now
    top = tl.max(most, 0)
    tl.store(out + tl.program_id(0), top + tl.log(tl.sum(total * tl.exp(most - top), 0)))


@triton.jit
def absolute_difference(a, b, out, turns, BLOCK: tl.constexpr):
    """64 programs add up everything; the fix is 4,096."""
    first = tl.program_id(0) * turns * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(turns):
        total += tl.abs(tl.load(a + first + k * BLOCK) - tl.load(b + first + k * BLOCK))  # FAULT t_difference
    tl.atomic_add(out, tl.sum(total, 0))


@triton.jit
def manhattan(a, b, out, n, depth, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """Distances of all pairs. A tile of 128 x 256 is 512 sums for each thread of two warps; the fix is 64 x 64."""
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    total = tl.zeros((HEIGHT, WIDTH), tl.float32)
    for k in range(depth):
        total += tl.abs(tl.load(a + k * n + row)[:, None] - tl.load(b + k * n + column)[None, :])  # FAULT t_manhattan
    tl.store(out + row[:, None] * n + column[None, :], total)


@triton.jit
def linear_relu(x, weight, bias, out, n, SIDE: tl.constexpr, DEPTH: tl.constexpr):
    """A layer by tiles of 32 x 32, which read each value for 32 products only; the fix is 128 x 128."""
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    depth = tl.arange(0, DEPTH)
    left = x + row[:, None] * n + depth[None, :]
    right = weight + depth[:, None] * n + column[None, :]
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for k in range(0, n, DEPTH):
        total += tl.dot(tl.load(left + k), tl.load(right + k * n))  # FAULT t_linear
    total += tl.load(bias + column)[None, :]
    tl.store(out + row[:, None] * n + column[None, :], tl.maximum(total, 0.0))


@triton.jit
def relative_entropy(p, q, out, columns, BLOCK: tl.constexpr):
    """One warp works for a row, and there are fewer rows than multiprocessors; the fix is eight warps."""
    first = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        value = tl.load(p + first + start)
        total += value * (tl.log(value) - tl.log(tl.load(q + first + start)))  # FAULT t_relative_entropy
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def decaying_state(decay, x, out, steps, n, BLOCK: tl.constexpr):
    """A state that decays and takes up what comes, step by step: each waits for its loads, and for the step before."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    state = tl.zeros((BLOCK,), tl.float32)
    for t in range(steps):
        state = tl.load(decay + t * n + i) * state + tl.load(x + t * n + i)  # FAULT t_state
        tl.store(out + t * n + i, state)


@triton.jit
def two_steps(decay, x, next_decay, next_x):
    return decay * next_decay, next_decay * x + next_x


@triton.jit
def decaying_state_fixed(decay, x, out, steps, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Many steps are loaded at once, and combined by a scan."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    step = tl.arange(0, STEPS)
    state = tl.zeros((BLOCK,), tl.float32)
    for t in range(0, steps, STEPS):
        at = (t + step)[:, None] * n + i[None, :]
        left, total = tl.associative_scan((tl.load(decay + at), tl.load(x + at)), 0, two_steps)
        total += left * state[None, :]
        tl.store(out + at, total)
        state = tl.sum(tl.where(step[:, None] == STEPS - 1, total, 0.0), 0)


@triton.jit
def embedding(table, token, out, token_pitch, column_pitch, TOKENS: tl.constexpr, WIDTH: tl.constexpr):
    """The table lies by columns: of each line that a token gathers, one value is its own. The fix is a table by tokens."""
    at = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    column = tl.arange(0, WIDTH)
    word = tl.load(token + at)
    value = tl.load(table + word[:, None] * token_pitch + column[None, :] * column_pitch)  # FAULT t_embedding
    tl.store(out + at[:, None] * WIDTH + column[None, :], value)


@triton.jit
def activity(time, rate, amount, out, ISOTOPES: tl.constexpr, BLOCK: tl.constexpr):
    """The rates came from NumPy as doubles, so all that is computed from them is double, too. The fix makes them single."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    when = tl.load(time + i)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(ISOTOPES):
        total += tl.load(amount + k) * tl.exp(-tl.load(rate + k) * when)  # FAULT t_activity
    tl.store(out + i, total)


@triton.jit
def kepler(anomaly, eccentricity, out, observations, BLOCK: tl.constexpr):
    """Rows of 96 values in blocks of 1,024: nine of ten lanes are masked off, and compute all the same. The fix is blocks of 128."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mean = tl.load(anomaly + row * observations + column, mask=column < observations, other=0.0)
    e = tl.load(eccentricity + row)
    angle = mean
    for _ in range(8):
        angle -= (angle - e * tl.sin(angle) - mean) / (1.0 - e * tl.cos(angle))  # FAULT t_kepler
    tl.store(out + row * observations + column, angle, mask=column < observations)


# ---- data and launches ----


def t_channels():
    channels, times, block = 16, 1 << 23, 1024
    x, out = floats(channels * times), empty(channels * (times // block))
    planar = x.view(times, channels).t().contiguous()
    programs = (times // block, channels)
    return frame.Work(lambda: channel_energy[programs](x, out, 1, channels, BLOCK=block, num_warps=4),
                      lambda: channel_energy[programs](planar, out, times, 1, BLOCK=block, num_warps=4), copies(5), products(5), out)


def t_log_sum_exp():
    rows, columns = 2048, 1 << 17
    x, out = floats(rows * columns).mul_(8), empty(rows)
    return frame.Work(lambda: log_sum_exp[(rows,)](x, out, columns, BLOCK=4096, num_warps=8),
                      lambda: log_sum_exp_fixed[(rows,)](x, out, columns, BLOCK=4096, num_warps=8), products(3), copies(5), out)


def t_difference():
    n, block, few, many = 1 << 26, 1024, 64, 4096
    a, out = floats(n), empty(1)
    b = a.square()
    return frame.Work(lambda: absolute_difference[(few,)](a, b, out, n // (few * block), BLOCK=block, num_warps=4),
                      lambda: absolute_difference[(many,)](a, b, out, n // (many * block), BLOCK=block, num_warps=4), copies(5), products(3), out)


def t_manhattan():
    n, depth = 8192, 128
    a, out = floats(depth * n), empty(n * n)
    b = a.flip(0)
    return frame.Work(lambda: manhattan[(n // 128, n // 256)](a, b, out, n, depth, HEIGHT=128, WIDTH=256, num_warps=2),
                      lambda: manhattan[(n // 64, n // 64)](a, b, out, n, depth, HEIGHT=64, WIDTH=64, num_warps=2), products(10), copies(6), out)


def t_linear():
    n = 4096
    x, weight, bias, out = floats(n * n, torch.float16), floats(n * n, torch.float16), floats(n), empty(n * n)
    return frame.Work(lambda: linear_relu[(n // 32, n // 32)](x, weight, bias, out, n, SIDE=32, DEPTH=32, num_warps=4),
                      lambda: linear_relu[(n // 128, n // 128)](x, weight, bias, out, n, SIDE=128, DEPTH=64, num_warps=4),
                      products(6), copies(8), out)


def t_relative_entropy():
    rows, columns = 128, 1 << 20
    p, out = floats(rows * columns).add_(0.01), empty(rows)
    q = p.flip(0)
    return frame.Work(lambda: relative_entropy[(rows,)](p, q, out, columns, BLOCK=2048, num_warps=1),
                      lambda: relative_entropy[(rows,)](p, q, out, columns, BLOCK=2048, num_warps=8), copies(5), products(4), out)


def t_state():
    n, steps = 32768, 2048
    decay, out = floats(n * steps), empty(n * steps)
    x = decay.flip(0)
    return frame.Work(lambda: decaying_state[(n // 128,)](decay, x, out, steps, n, BLOCK=128, num_warps=4),
                      lambda: decaying_state_fixed[(n // 32,)](decay, x, out, steps, n, STEPS=32, BLOCK=32, num_warps=4),
                      products(5), copies(5), out)


def t_embedding():
    words, width, tokens = 1 << 17, 128, 1 << 19
    table, out = floats(words * width), empty(tokens * width)
    by_columns = table.view(words, width).t().contiguous()
    token = torch.randint(0, words, (tokens,), device="cuda", dtype=torch.int32, generator=torch.Generator("cuda").manual_seed(3))
    programs = (tokens // 32,)
    return frame.Work(lambda: embedding[programs](by_columns, token, out, 1, words, TOKENS=32, WIDTH=width, num_warps=4),
                      lambda: embedding[programs](table, token, out, width, 1, TOKENS=32, WIDTH=width, num_warps=4), copies(6), products(4), out)


def t_activity():
    n, isotopes = 1 << 25, 8
    time, out = floats(n), empty(n)
    rate = torch.linspace(0.1, 3.0, isotopes, dtype=torch.float64).cuda()
    amount = torch.linspace(1.0, 2.0, isotopes, dtype=torch.float64).cuda()
    single = rate.float(), amount.float()
    return frame.Work(lambda: activity[(n // 1024,)](time, rate, amount, out, ISOTOPES=isotopes, BLOCK=1024, num_warps=4),
                      lambda: activity[(n // 1024,)](time, *single, out, ISOTOPES=isotopes, BLOCK=1024, num_warps=4), products(4), copies(5), out)


def t_kepler():
    rows, observations = 1 << 16, 96
    anomaly, eccentricity, out = floats(rows * observations), floats(rows).mul_(0.6), empty(rows * observations)
    return frame.Work(lambda: kepler[(rows,)](anomaly, eccentricity, out, observations, BLOCK=1024, num_warps=4),
                      lambda: kepler[(rows,)](anomaly, eccentricity, out, observations, BLOCK=128, num_warps=1), products(4), copies(5), out)


PROGRAMS = {f.__name__: f for f in (t_channels, t_log_sum_exp, t_difference, t_manhattan, t_linear, t_relative_entropy, t_state, t_embedding,
                                    t_activity, t_kepler)}

if __name__ == "__main__":
    sys.exit(frame.main(__doc__, list(PROGRAMS), lambda name: PROGRAMS[name]()))
