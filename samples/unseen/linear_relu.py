"""A linear layer with bias and ReLU as one kernel of Triton, in small or in large tiles."""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x, w, bias, y, width, wide, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """y (rows, wide) = relu(x (rows, width) @ w (width, wide) + bias); sizes are multiples of the tile's."""
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    a_at = x + row[:, None] * width + depth[None, :]
    b_at = w + depth[:, None] * wide + column[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, width, DEPTH):
        total += tl.dot(tl.load(a_at + start), tl.load(b_at + start * wide))
    total += tl.load(bias + column)[None, :].to(tl.float32)
    tl.store(y + row[:, None] * wide + column[None, :], tl.maximum(total, 0.0).to(y.dtype.element_ty))


def linear(x, w, bias, tile, **options):
    y = torch.empty(x.shape[0], w.shape[1], device=x.device, dtype=x.dtype)
    rows, columns, depth = tile
    grid = (w.shape[1] // columns, x.shape[0] // rows)
    linear_kernel[grid](x, w, bias, y, w.shape[0], w.shape[1], ROWS=rows, COLUMNS=columns, DEPTH=depth, **options)
    return y


def small_tiles(x, w, bias):
    return linear(x, w, bias, (32, 32, 32))


def large_tiles(x, w, bias):
    return linear(x, w, bias, (128, 128, 64), num_warps=8, num_stages=3)
