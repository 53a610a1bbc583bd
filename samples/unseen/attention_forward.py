"""Attention that keeps no matrix of scores, as a kernel of Triton: its products are of tiles as they are loaded, or of float32 copies of them."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q, k, v, out, length, scale, WIDEN: tl.constexpr, M: tl.constexpr, N: tl.constexpr, WIDE: tl.constexpr):
    first = tl.program_id(1).to(tl.int64) * length * WIDE
    wide = tl.arange(0, WIDE)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    at = first + rows[:, None] * WIDE + wide[None, :]
    queries = tl.load(q + at)
    if WIDEN:
        queries = queries.to(tl.float32)
    largest = tl.zeros([M], dtype=tl.float32) - float("inf")
    total = tl.zeros([M], dtype=tl.float32)
    sums = tl.zeros([M, WIDE], dtype=tl.float32)
    for start in range(0, length, N):
        columns = start + tl.arange(0, N)
        keys = tl.load(k + first + columns[None, :] * WIDE + wide[:, None])
        values = tl.load(v + first + columns[:, None] * WIDE + wide[None, :])
        if WIDEN:
            keys = keys.to(tl.float32)
            values = values.to(tl.float32)
        scores = tl.dot(queries, keys) * scale
        now = tl.maximum(largest, tl.max(scores, 1))
        shares = tl.exp2(scores - now[:, None])
        before = tl.exp2(largest - now)
        total = total * before + tl.sum(shares, 1)
        sums = sums * before[:, None] + tl.dot(shares.to(values.dtype), values)
        largest = now
    tl.store(out + at, (sums / total[:, None]).to(out.dtype.element_ty))


def attention(q, k, v, widen):
    """q, k, v: (heads, length, width), of lengths that are multiples of 128."""
    out = torch.empty_like(q)
    heads, length, wide = q.shape
    scale = 1.4426950408889634 / wide**0.5  # exp2 of it is exp
    attention_kernel[(length // 128, heads)](
        q, k, v, out, length, scale, WIDEN=widen, M=128, N=64, WIDE=wide, num_warps=4, num_stages=3
    )
    return out
