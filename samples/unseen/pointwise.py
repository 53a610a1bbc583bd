"""What follows a layer's product, as kernels of Triton: bias, GELU, dropout and residual in a kernel each, or in one."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def gelu(v):
    return 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))


@triton.jit
def bias_kernel(x, bias, y, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) + tl.load(bias + i % width))


@triton.jit
def gelu_kernel(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, gelu(tl.load(x + i).to(tl.float32)).to(y.dtype.element_ty))


@triton.jit
def dropout_kernel(x, y, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i).to(tl.float32) / (1.0 - p)
    tl.store(y + i, tl.where(tl.rand(seed, i) >= p, v, 0.0).to(y.dtype.element_ty))


@triton.jit
def residual_kernel(x, residual, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) + tl.load(residual + i))


@triton.jit
def fused_kernel(x, bias, residual, y, p, seed, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = gelu((tl.load(x + i) + tl.load(bias + i % width)).to(tl.float32)) / (1.0 - p)
    v = tl.where(tl.rand(seed, i) >= p, v, 0.0).to(y.dtype.element_ty)
    tl.store(y + i, v + tl.load(residual + i))


def separate(x, bias, residual, p, seed):
    grid = (x.numel() // BLOCK,)
    a, b, c, d = (torch.empty_like(x) for _ in range(4))
    bias_kernel[grid](x, bias, a, x.shape[1], BLOCK=BLOCK)
    gelu_kernel[grid](a, b, BLOCK=BLOCK)
    dropout_kernel[grid](b, c, p, seed, BLOCK=BLOCK)
    residual_kernel[grid](c, residual, d, BLOCK=BLOCK)
    return d


def fused(x, bias, residual, p, seed):
    y = torch.empty_like(x)
    fused_kernel[(x.numel() // BLOCK,)](x, bias, residual, y, p, seed, x.shape[1], BLOCK=BLOCK)
    return y
