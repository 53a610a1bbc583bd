"""Cross entropy of rows of logits, as a kernel of Triton: a program for each row, which reads it block by block."""

import torch
import triton
import triton.language as tl


@triton.jit
def loss_kernel(logits, labels, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    begin = logits + row * columns
    top = float("-inf")
    total = 0.0
    for at in range(0, columns, BLOCK):
        block = tl.load(begin + at + tl.arange(0, BLOCK)).to(tl.float32)
        higher = tl.maximum(top, tl.max(block, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(block - higher), 0)
        top = higher
    right = tl.load(begin + tl.load(labels + row)).to(tl.float32)
    tl.store(out + row, top + tl.log(total) - right)


def row_loss(logits, labels, block, warps):
    """LOGITS: contiguous, of two dimensions; BLOCK, a power of two, divides the last."""
    rows, columns = logits.shape
    out = torch.empty(rows, dtype=torch.float32, device=logits.device)
    loss_kernel[(rows,)](logits, labels, out, columns, BLOCK=block, num_warps=warps)
    return out
