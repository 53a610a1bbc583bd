"""Instance normalization of volumes, as kernels of Triton: a program for a whole volume, or many programs for each."""

import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x, y, n, eps, BLOCK: tl.constexpr):
    x += tl.program_id(0) * n
    y += tl.program_id(0) * n
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
        total += v
        squares += v * v
    mean = tl.sum(total, axis=0) / n
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n - mean * mean + eps)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
        tl.store(y + i, ((v - mean) * scale).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def sums_kernel(x, sums, n, part, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = tl.program_id(1) * part
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, part, BLOCK):
        i = first + start + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
        total += v
        squares += v * v
    tl.atomic_add(sums + 2 * row, tl.sum(total, axis=0))
    tl.atomic_add(sums + 2 * row + 1, tl.sum(squares, axis=0))


@triton.jit
def scale_kernel(x, y, sums, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mean = tl.load(sums + 2 * row) / n
    scale = 1.0 / tl.sqrt(tl.load(sums + 2 * row + 1) / n - mean * mean + eps)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + row * n + i, ((v - mean) * scale).to(y.dtype.element_ty), mask=i < n)


def norm_whole(x):
    """x: (batch, channels, depth, height, width)"""
    y = torch.empty_like(x)
    rows = x.shape[0] * x.shape[1]
    norm_kernel[(rows,)](x, y, x.numel() // rows, 1e-5, BLOCK=4096, num_warps=8)
    return y


def norm_split(x):
    y = torch.empty_like(x)
    rows = x.shape[0] * x.shape[1]
    n = x.numel() // rows
    sums = torch.zeros(rows, 2, device=x.device)
    sums_kernel[(rows, 64)](x, sums, n, triton.cdiv(n, 64), BLOCK=2048, num_warps=8)
    scale_kernel[(rows, triton.cdiv(n, 2048))](x, y, sums, n, 1e-5, BLOCK=2048, num_warps=8)
    return y
