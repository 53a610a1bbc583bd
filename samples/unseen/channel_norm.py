"""Normalization over the channels of images, as kernels of Triton: a program for a pixel, or for neighbouring pixels."""

import torch
import triton
import triton.language as tl


@triton.jit
def pixel_kernel(x, weight, bias, y, channels, pixels, eps, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    known = c < channels
    at = (tl.program_id(1) * channels + c) * pixels + tl.program_id(0)
    v = tl.load(x + at, mask=known, other=0.0).to(tl.float32)
    v = tl.where(known, v - tl.sum(v, axis=0) / channels, 0.0)
    v = v / tl.sqrt(tl.sum(v * v, axis=0) / channels + eps)
    v = v * tl.load(weight + c, mask=known, other=0.0) + tl.load(bias + c, mask=known, other=0.0)
    tl.store(y + at, v.to(y.dtype.element_ty), mask=known)


@triton.jit
def tile_kernel(x, weight, bias, y, channels, pixels, eps, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    c = tl.arange(0, BLOCK)[:, None]
    p = tl.program_id(0) * WIDE + tl.arange(0, WIDE)[None, :]
    known = (c < channels) & (p < pixels)
    at = (tl.program_id(1) * channels + c) * pixels + p
    v = tl.load(x + at, mask=known, other=0.0).to(tl.float32)
    v = tl.where(known, v - (tl.sum(v, axis=0) / channels)[None, :], 0.0)
    v = v / tl.sqrt(tl.sum(v * v, axis=0) / channels + eps)[None, :]
    v = v * tl.load(weight + c, mask=c < channels, other=0.0) + tl.load(bias + c, mask=c < channels, other=0.0)
    tl.store(y + at, v.to(y.dtype.element_ty), mask=known)


def norm_pixels(x, weight, bias):
    """x: (batch, channels, height, width)"""
    y = torch.empty_like(x)
    channels, pixels = x.shape[1], x.shape[2] * x.shape[3]
    pixel_kernel[(pixels, len(x))](x, weight, bias, y, channels, pixels, 1e-6, BLOCK=triton.next_power_of_2(channels))
    return y


def norm_tiles(x, weight, bias):
    y = torch.empty_like(x)
    channels, pixels = x.shape[1], x.shape[2] * x.shape[3]
    tile_kernel[(triton.cdiv(pixels, 64), len(x))](
        x, weight, bias, y, channels, pixels, 1e-6, BLOCK=triton.next_power_of_2(channels), WIDE=64, num_warps=8
    )
    return y
