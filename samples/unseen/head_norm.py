"""RMS normalization of short rows, as two kernels of Triton: a program for each row, or for 32 rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(x, weight, out, epsilon, WIDE: tl.constexpr):
    columns = tl.arange(0, WIDE)
    at = tl.program_id(0).to(tl.int64) * WIDE + columns
    row = tl.load(x + at).to(tl.float32)
    row = row / tl.sqrt(tl.sum(row * row, 0) / WIDE + epsilon)
    tl.store(out + at, (row * tl.load(weight + columns).to(tl.float32)).to(tl.float16))


@triton.jit
def rows_kernel(x, weight, out, epsilon, ROWS: tl.constexpr, WIDE: tl.constexpr):
    columns = tl.arange(0, WIDE)
    at = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None] * WIDE + columns[None, :]
    rows = tl.load(x + at).to(tl.float32)
    rows = rows / tl.sqrt(tl.sum(rows * rows, 1) / WIDE + epsilon)[:, None]
    tl.store(out + at, (rows * tl.load(weight + columns).to(tl.float32)[None, :]).to(tl.float16))


def norm_of_row(x, weight):
    """X: float16, contiguous; its last dimension is a power of two."""
    out = torch.empty_like(x)
    row_kernel[(x.numel() // x.shape[-1],)](x, weight, out, 1e-6, WIDE=x.shape[-1])
    return out


def norm_of_rows(x, weight):
    """The same, of a number of rows that 32 divides."""
    out = torch.empty_like(x)
    rows_kernel[(x.numel() // x.shape[-1] // 32,)](x, weight, out, 1e-6, ROWS=32, WIDE=x.shape[-1])
    return out
