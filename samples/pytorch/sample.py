"""What the PyTorch samples share: a small GPT, ranges for both kinds of profiler, and recording with torch.profiler.

Run a script bare, under `gpuprof-collect`, or with `--kineto FILE.json.gz`, which records the same steps with
torch.profiler. `span()` makes a range that either sees: an NVTX range and a record_function annotation.
"""

import argparse
import contextlib
import math
import time

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x, cache=None, position=None):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if cache is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys, values = cache
            keys.index_copy_(2, position, k)
            values.index_copy_(2, position, v)
            seen = torch.arange(keys.shape[2], device=x.device) <= position
            y = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen.view(1, 1, 1, -1))
        return self.proj(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, cache=None, position=None):
        x = x + self.attention(self.norm1(x), cache, position)
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary=4096, context=256, width=512, heads=8, layers=2):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, caches=None, position=None):
        at = torch.arange(tokens.shape[1], device=tokens.device) if position is None else position
        x = self.token(tokens) + self.place(at)
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i], position)
        return self.head(self.norm(x))


class Decoder:
    """Generates one sequence: the last token, its place and the caches stay where they are, for a graph to be replayed."""

    def __init__(self, model, device, context=256, width=512, heads=8):
        self.context = context
        shape = (1, heads, context, width // heads)
        self.model = model
        self.caches = [
            (torch.zeros(shape, device=device, dtype=torch.bfloat16), torch.zeros(shape, device=device, dtype=torch.bfloat16))
            for _ in model.blocks
        ]
        self.token = torch.zeros(1, 1, device=device, dtype=torch.long)
        self.position = torch.zeros(1, device=device, dtype=torch.long)
        self.replay = None

    def step(self):
        logits = self.model(self.token, self.caches, self.position)
        self.token.copy_(logits[:, -1].argmax(-1, keepdim=True))
        self.position.add_(1).remainder_(self.context)

    def capture(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        self.replay = graph.replay

    def advance(self):
        (self.replay or self.step)()


class Ranges:
    """Counts the ranges that were opened, so that a script can say what a trace has to hold."""

    opened = 0


@contextlib.contextmanager
def span(name):
    Ranges.opened += 1
    if torch.cuda.is_available():
        torch.cuda.nvtx.range_push(name)
    try:
        with torch.profiler.record_function(name):
            yield
    finally:
        if torch.cuda.is_available():
            torch.cuda.nvtx.range_pop()


def mark_modules(model, backward=True):
    """An NVTX range for every call of a module, forward and BACKWARD, named as in the model. The backward ones are
    opened on autograd's own thread, where the backward kernels are launched."""

    def opener(name):
        def hook(*_):
            Ranges.opened += 1
            torch.cuda.nvtx.range_push(name)

        return hook

    def closer(*_):
        torch.cuda.nvtx.range_pop()

    if not torch.cuda.is_available():
        return
    for name, module in model.named_modules():
        if name and not isinstance(module, nn.ModuleList):
            module.register_forward_pre_hook(opener(name))
            module.register_forward_hook(closer)
            if backward:
                module.register_full_backward_pre_hook(opener("backward " + name))
                module.register_full_backward_hook(closer)


def arguments(description, **extra):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--kineto", metavar="FILE", help="record with torch.profiler into FILE (.json or .json.gz)")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, default in extra.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(default, bool):
            parser.add_argument(flag, action="store_true")
        else:
            parser.add_argument(flag, type=type(default), default=default)
    args = parser.parse_args()
    torch.manual_seed(0)
    return args


@contextlib.contextmanager
def recording(path, **options):
    """Record what runs inside with torch.profiler and write it to PATH; without a PATH, just run it."""
    if not path:
        yield
        return
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities, **options) as profiler:
        yield
        synchronize()
    profiler.export_chrome_trace(path)


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def train_step(model, optimizer, step, batch=8, length=128, vocabulary=4096, reduce=None):
    """REDUCE, which may be None, is called between the backward pass and the optimizer."""
    device = next(model.parameters()).device
    with span(f"ProfilerStep#{step}"):
        with span("load"):
            tokens = torch.randint(vocabulary, (batch, length + 1)).to(device, non_blocking=True)
        with span("forward"):
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        with span("backward"):
            loss.backward()
        if reduce:
            with span("reduce"):
                reduce()
        with span("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    return loss


def check_loss(loss):
    value = loss.item()
    if not math.isfinite(value):
        raise SystemExit(f"the loss is {value}")
    return value


def timed(steps, run):
    """Wall time of each of STEPS calls of RUN(step), in nanoseconds, the GPU's work included."""
    times = []
    for step in range(steps):
        synchronize()
        begin = time.perf_counter_ns()
        run(step)
        synchronize()
        times.append(time.perf_counter_ns() - begin)
    return times
