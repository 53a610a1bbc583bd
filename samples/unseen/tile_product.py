"""The product of two float16 matrices, as a kernel of Triton, by tiles of a size that the caller gives."""

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a, b, out, n, k, TALL: tl.constexpr, WIDE: tl.constexpr, DEEP: tl.constexpr):
    rows = tl.program_id(0) * TALL + tl.arange(0, TALL)
    columns = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    depth = tl.arange(0, DEEP)
    at_a = a + rows[:, None] * k + depth[None, :]
    at_b = b + depth[:, None] * n + columns[None, :]
    total = tl.zeros((TALL, WIDE), dtype=tl.float32)
    for i in range(0, k, DEEP):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total)
        at_a += DEEP
        at_b += DEEP * n
    tl.store(out + rows[:, None] * n + columns[None, :], total.to(tl.float16))


def product(a, b, tall, wide, deep, warps, stages):
    """A, B: contiguous; the sizes of the tiles divide theirs."""
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    out = torch.empty((m, n), device=a.device, dtype=a.dtype)
    product_kernel[(m // tall, n // wide)](a, b, out, n, k, TALL=tall, WIDE=wide, DEEP=deep, num_warps=warps, num_stages=stages)
    return out
