#!/usr/bin/env python3
"""A sixth set of ten Triton kernels, each with one known fault, and its fix.

    sixth_triton.py --list
    sixth_triton.py NAME... [--fixed | --both] [--steps N] [--seconds S] [--lock FILE]

frame.py has the steps and what is printed. The comment FAULT marks the line at fault.
"""

import sys

import frame
import torch
import triton
import triton.language as tl
from fifth_triton import integers
from second_triton import copies, empty, floats, products
from triton.language.extra import libdevice


@triton.jit
def montage(x, out, SITES: tl.constexpr, BLOCK: tl.constexpr):
    """Each of 64 electrodes less the mean of the two beside it. A program has one electrode, whose values lie 256 bytes apart."""
    site = tl.program_id(0)
    row = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)) * SITES
    left = (site + SITES - 1) % SITES
    right = (site + 1) % SITES
    tl.store(out + row + site, tl.load(x + row + site) - 0.5 * (tl.load(x + row + left) + tl.load(x + row + right)))  # FAULT t_montage


@triton.jit
def montage_fixed(x, out, SITES: tl.constexpr, BLOCK: tl.constexpr):
    """A program has all electrodes, which lie side by side."""
    site = tl.arange(0, SITES)[None, :]
    row = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]) * SITES
    left = (site + (SITES - 1)) % SITES
    right = (site + 1) % SITES
    tl.store(out + row + site, tl.load(x + row + site) - 0.5 * (tl.load(x + row + left) + tl.load(x + row + right)))


@triton.jit
def stretched(x, out, size, BLOCK: tl.constexpr):
    """The contrast of images is stretched. The least, the greatest and the mean value are looked for one after the other; each reads all of
    the image again."""
    at = tl.program_id(0) * size + tl.arange(0, BLOCK)
    low = tl.full((BLOCK,), 1e30, tl.float32)
    high = tl.full((BLOCK,), -1e30, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, size, BLOCK):
        low = tl.minimum(low, tl.load(x + at + k))  # FAULT t_contrast
    for k in range(0, size, BLOCK):
        high = tl.maximum(high, tl.load(x + at + k))  # FAULT t_contrast
    for k in range(0, size, BLOCK):
        total += tl.load(x + at + k)  # FAULT t_contrast
    mean = tl.sum(total, 0) / size
    scale = 1.0 / (tl.max(high, 0) - tl.min(low, 0))
    for k in range(0, size, BLOCK):
        tl.store(out + at + k, (tl.load(x + at + k) - mean) * scale)


@triton.jit
def stretched_fixed(x, out, size, BLOCK: tl.constexpr):
    """All three are looked for at once."""
    at = tl.program_id(0) * size + tl.arange(0, BLOCK)
    low = tl.full((BLOCK,), 1e30, tl.float32)
    high = tl.full((BLOCK,), -1e30, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, size, BLOCK):
        value = tl.load(x + at + k)
        low = tl.minimum(low, value)
        high = tl.maximum(high, value)
        total += value
    mean = tl.sum(total, 0) / size
    scale = 1.0 / (tl.max(high, 0) - tl.min(low, 0))
    for k in range(0, size, BLOCK):
        tl.store(out + at + k, (tl.load(x + at + k) - mean) * scale)


@triton.jit
def density(x, centre, out, share, BLOCK: tl.constexpr):
    """How dense values lie about each of 64 centres. A centre has one program, which goes through all values; in the fix, 32 share them."""
    here = tl.load(centre + tl.program_id(0))
    total = tl.zeros((BLOCK,), tl.float32)
    begin = tl.program_id(1) * share
    for first in range(begin, begin + share, BLOCK):
        total += tl.exp2(tl.abs(tl.load(x + first + tl.arange(0, BLOCK)) - here) * -8.0)  # FAULT t_density
    tl.atomic_add(out + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def epidemic(infected, contact, onset, out, days, BLOCK: tl.constexpr):
    """Who is still well in each region when a disease has gone round. Of blocks of 16,384, a thread would hold 640 values; the fix is 512."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ill = 0.01 * tl.load(infected + i)
    rate = 0.5 * tl.load(contact + i)
    speed = 0.5 * tl.load(onset + i)
    well = 1.0 - ill
    caught = tl.zeros((BLOCK,), tl.float32)
    for _ in range(days):
        new = rate * well * ill  # FAULT t_epidemic
        fallen = speed * caught  # FAULT t_epidemic
        well -= new  # FAULT t_epidemic
        caught += new - fallen  # FAULT t_epidemic
        ill += fallen - 0.1 * ill  # FAULT t_epidemic
    tl.store(out + i, well)


@triton.jit
def similar(query, document, out, documents, width, TILE: tl.constexpr, DEPTH: tl.constexpr):
    """How similar queries are to documents. A tile of 16 x 16 uses each value that it reads 16 times; the fix is 64 x 64."""
    row = tl.program_id(1) * TILE + tl.arange(0, TILE)
    column = tl.program_id(0) * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, DEPTH)
    left = query + row[:, None] * width + depth[None, :]
    right = document + column[None, :] * width + depth[:, None]
    total = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, width, DEPTH):
        total += tl.dot(tl.load(left + k), tl.load(right + k))  # FAULT t_retrieval
    tl.store(out + row[:, None] * documents + column[None, :], total)


@triton.jit
def mixdown(x, gain, out, n, tracks, share, BLOCK: tl.constexpr):
    """Many tracks of sound are mixed into one. There are 128 programs of one warp; in the fix, 2,048."""
    begin = tl.program_id(0) * share
    for first in range(begin, begin + share, BLOCK):
        i = first + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for track in range(tracks):
            total += tl.load(gain + track) * tl.load(x + track * n + i)  # FAULT t_mixdown
        tl.store(out + i, total)


@triton.jit
def discounted(reward, out, n, turns, BLOCK: tl.constexpr):
    """What each turn of a game is worth: its reward, and 0.97 of the worth of the next. Each turn of the loop waits for its own reward."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    worth = tl.zeros((BLOCK,), tl.float32)
    for k in range(turns):
        at = (turns - 1 - k) * n + i
        worth = tl.load(reward + at) + 0.97 * worth  # FAULT t_returns
        tl.store(out + at, worth)


@triton.jit
def discounted_fixed(reward, power, later, out, n, turns, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Takes 16 turns at once, by a product with the powers of 0.97."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    step = tl.arange(0, STEPS)
    share = tl.load(power + step[:, None] * STEPS + step[None, :])
    left = tl.load(later + step)
    worth = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, turns, STEPS):
        at = (turns - STEPS - k + step[:, None]) * n + i[None, :]
        part = tl.dot(share, tl.load(reward + at), input_precision="ieee") + left[:, None] * worth[None, :]
        tl.store(out + at, part)
        worth = tl.sum(tl.where(step[:, None] == 0, part, 0.0), 0)


@triton.jit
def scored(table, weight, candidate, out, rows, features, BLOCK: tl.constexpr):
    """The scores of candidates, in any order, from a table of 64 features, which lies column by column: each value that is read is alone."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(candidate + i)
    total = tl.zeros((BLOCK,), tl.float32)
    for f in range(features):
        total += tl.load(weight + f) * tl.load(table + f * rows + row)  # FAULT t_candidates
    tl.store(out + i, total)


@triton.jit
def scored_fixed(table, weight, candidate, out, FEATURES: tl.constexpr, BLOCK: tl.constexpr):
    """The table lies row by row."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    f = tl.arange(0, FEATURES)
    row = tl.load(candidate + i)
    tl.store(out + i, tl.sum(tl.load(table + row[:, None] * FEATURES + f[None, :]) * tl.load(weight + f)[None, :], 1))


@triton.jit
def landed(east, north, heading, out, runways, BLOCK: tl.constexpr):
    """How well the wind suits the best of eight runways, from the angle between wind and runway."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(east + i) - 0.5
    v = tl.load(north + i) - 0.5
    speed = tl.sqrt(u * u + v * v)
    angle = libdevice.atan2(v, u)
    best = tl.full((BLOCK,), -1e30, tl.float32)
    for k in range(runways):
        off = angle - tl.load(heading + k)
        best = tl.maximum(best, speed * (libdevice.cos(off) - tl.abs(libdevice.sin(off))))  # FAULT t_crosswind
    tl.store(out + i, best)


@triton.jit
def landed_fixed(east, north, cosine, sine, out, runways, BLOCK: tl.constexpr):
    """From the directions of the runways: no angle is needed."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(east + i) - 0.5
    v = tl.load(north + i) - 0.5
    best = tl.full((BLOCK,), -1e30, tl.float32)
    for k in range(runways):
        x = tl.load(cosine + k)
        y = tl.load(sine + k)
        best = tl.maximum(best, u * x + v * y - tl.abs(v * x - u * y))
    tl.store(out + i, best)


@triton.jit
def currents(light, out, rounds, CELLS: tl.constexpr, BLOCK: tl.constexpr):
    """The currents of solar cells, by Newton's method. A program has a module of 144 cells, so 112 of 256 lanes are masked; in the fix, it has
    256 cells."""
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * CELLS + i
    sun = tl.load(light + at, mask=i < CELLS, other=0.0)
    current = sun
    for _ in range(rounds):
        lost = tl.exp(current - 1.9)  # FAULT t_solar
        current -= (current + lost - sun) / (1.0 + lost)  # FAULT t_solar
    tl.store(out + at, current, mask=i < CELLS)


# ---- data and launches ----


def t_montage():
    times, sites = 1 << 19, 64
    x, out = floats(times * sites), empty(times * sites)
    return frame.Work(lambda: montage[(sites, times // 256)](x, out, SITES=sites, BLOCK=256, num_warps=4),
                      lambda: montage_fixed[(times // 32,)](x, out, SITES=sites, BLOCK=32, num_warps=4), products(4), copies(6), out)


def t_contrast():
    images, size = 4 * torch.cuda.get_device_properties(0).multi_processor_count, 1 << 18
    x, out = floats(images * size), empty(images * size)
    return frame.Work(lambda: stretched[(images,)](x, out, size, BLOCK=4096, num_warps=8),
                      lambda: stretched_fixed[(images,)](x, out, size, BLOCK=4096, num_warps=8), products(5), copies(4), out)


def t_density():
    n, centres, programs = 1 << 21, 64, 32
    x, centre, out = floats(n), floats(2 * centres)[centres:].contiguous(), empty(centres)
    return frame.Work(lambda: density[(centres, 1)](x, centre, out, n, BLOCK=1024, num_warps=4),
                      lambda: density[(centres, programs)](x, centre, out, n // programs, BLOCK=1024, num_warps=4), copies(5), products(3), out)


def t_epidemic():
    n, days = 1 << 22, 128
    infected, rates, out = floats(n), floats(3 * n), empty(n)
    contact, onset = rates[n : 2 * n].contiguous(), rates[2 * n :].contiguous()
    return frame.Work(lambda: epidemic[(n // 16384,)](infected, contact, onset, out, days, BLOCK=16384, num_warps=4),
                      lambda: epidemic[(n // 512,)](infected, contact, onset, out, days, BLOCK=512, num_warps=4), products(4), copies(5), out)


def t_retrieval():
    queries, documents, width = 8192, 8192, 256
    both, out = floats((queries + documents) * width, torch.float16), empty(queries * documents)
    query, document = both[: queries * width], both[queries * width :]
    small, large = ((documents // tile, queries // tile) for tile in (16, 64))
    return frame.Work(lambda: similar[small](query, document, out, documents, width, TILE=16, DEPTH=64, num_warps=4),
                      lambda: similar[large](query, document, out, documents, width, TILE=64, DEPTH=64, num_warps=4), copies(6), products(3), out)


def t_mixdown():
    n, tracks = 1 << 22, 16
    x, gain, out = floats(n * tracks), floats(tracks), empty(n)
    return frame.Work(lambda: mixdown[(128,)](x, gain, out, n, tracks, n // 128, BLOCK=512, num_warps=1),
                      lambda: mixdown[(2048,)](x, gain, out, n, tracks, n // 2048, BLOCK=512, num_warps=1), products(3), copies(5), out)


def t_returns():
    n, turns, steps = 1 << 14, 2048, 16
    reward, out = floats(n * turns), empty(n * turns)
    step = torch.arange(steps, device="cuda")
    power = torch.triu(0.97 ** (step[None, :] - step[:, None]).double()).float().contiguous()
    later = (0.97 ** (steps - step).double()).float()
    return frame.Work(lambda: discounted[(n // 128,)](reward, out, n, turns, BLOCK=128, num_warps=4),
                      lambda: discounted_fixed[(n // 128,)](reward, power, later, out, n, turns, STEPS=steps, BLOCK=128, num_warps=4),
                      products(4), copies(5), out)


def t_candidates():
    rows, features, n = 1 << 20, 64, 1 << 20
    table, weight, candidate, out = floats(rows * features), floats(features), integers(rows, n), empty(n)
    columns = table.view(rows, features).t().contiguous()
    return frame.Work(lambda: scored[(n // 256,)](columns, weight, candidate, out, rows, features, BLOCK=256, num_warps=4),
                      lambda: scored_fixed[(n // 64,)](table, weight, candidate, out, FEATURES=features, BLOCK=64, num_warps=4),
                      copies(6), products(4), out)


def t_crosswind():
    n, runways = 1 << 24, 8
    wind, out = floats(2 * n), empty(n)
    heading = torch.arange(runways, device="cuda").float() * 0.7
    cosine, sine = torch.cos(heading), torch.sin(heading)
    return frame.Work(lambda: landed[(n // 1024,)](wind[:n], wind[n:], heading, out, runways, BLOCK=1024, num_warps=4),
                      lambda: landed_fixed[(n // 1024,)](wind[:n], wind[n:], cosine, sine, out, runways, BLOCK=1024, num_warps=4),
                      copies(5), products(3), out)


def t_solar():
    modules, cells = 1 << 17, 144
    n = modules * cells
    light, out = floats(n), empty(n)
    return frame.Work(lambda: currents[(modules,)](light, out, 16, CELLS=cells, BLOCK=256, num_warps=4),
                      lambda: currents[(n // 256,)](light, out, 16, CELLS=256, BLOCK=256, num_warps=4), products(4), copies(5), out)


PROGRAMS = {f.__name__: f for f in (t_montage, t_contrast, t_density, t_epidemic, t_retrieval, t_mixdown, t_returns, t_candidates, t_crosswind, t_solar)}

if __name__ == "__main__":
    sys.exit(frame.main(__doc__, list(PROGRAMS), lambda name: PROGRAMS[name]()))
