#!/usr/bin/env python3
"""Loops of training and inference, each with small changes for the worse: less than half a percent of the GPU time of a step.

    programs.py PROGRAM [CHANGE] [--steps N]        run PROGRAM, with CHANGE, and let a recorder see the last N steps
    programs.py --list                              the changes as JSON: program, change, text, and the lines at which it shows

on("CHANGE") is where a change is made. Where its work is launched elsewhere, that line says "# shows CHANGE".
"""

import argparse
import json
import re

WARM_UP = 6
made = None  # the change

CHANGES = {
    "mlp": {"cast": "logits cast to double", "pageable": "labels copied from pageable memory", "bias": "a bias that is added by its own kernel",
            "item": "the loss is read in each step", "wait": "a wait for the device", "fill": "a buffer filled with zeros",
            "clone": "the loss is cloned"},
    "transformer": {"cast": "positions cast to float32 and back", "layout": "the queries of a layer made contiguous",
                    "scale": "a product with 1 in a layer", "nan": "the loss is checked for NaN on the host", "positions": "positions looked up",
                    "groups": "the optimizer in two groups", "norm": "the norm of a gradient"},
    "conv": {"layout": "images come in another layout", "unfused": "images normalized by two kernels", "smoothing": "labels are smoothed",
             "event": "a wait for an event", "count": "batches are counted on the GPU", "cpu": "the loss is copied to pageable memory",
             "cache": "the cache of the allocator is emptied"},
    "decode": {"cast": "logits cast to float32", "softmax": "a softmax before the largest logit is found", "item": "each token is read",
               "wait": "a wait for the stream", "mask": "a layer makes its mask anew", "layout": "the query of a layer made contiguous",
               "position": "the position comes from the host", "max": "the largest logit is kept, too"},
    "graph": {"cast": "one node more: a cast", "node_copy": "one node more: a copy", "node_fill": "one node more: zeros",
              "eager": "a kernel beside the graph", "staging": "input copied twice", "pageable": "output copied to pageable memory",
              "event": "a second wait for an event", "second": "a second graph"},
    "own": {"spill": "at most 24 registers per thread", "block": "blocks of 128 threads instead of 256", "grid": "a block that does nothing",
                "shared": "shared memory that is not used", "unroll": "more registers per thread", "memset": "a buffer is set",
                "malloc": "memory allocated and freed"},
    "triton": {"spill": "at most 32 registers per thread", "warps": "8 warps instead of 4", "block": "blocks of half the size"},
}


def on(change):
    return made == change


def lines():
    """By change, the lines of this file at which it shows; by program, which is a function here."""
    found, program = {}, None
    with open(__file__, encoding="utf-8") as f:
        text = f.read().split("# ---- programs ----\n")
    first = text[0].count("\n") + 2
    for number, line in enumerate(text[1].split("\n"), first):
        program = (re.match(r"def (\w+)\(\):", line) or [None, program])[1]
        for how, change in re.findall(r'(on\("|# shows )(\w+)', line):
            found.setdefault((program, change), {}).setdefault(how, []).append(number)
    return {key: of.get("# shows ") or of['on("'] for key, of in found.items()}


# ---- programs ----

def mlp():
    """Training in float32, from pinned memory."""
    import torch
    from torch.nn import functional as F
    layers = [(parameter(2048, 2048), parameter(2048)) for _ in range(4)]
    head, bias = parameter(16, 2048), parameter(16)
    images, labels = torch.randn(2048, 2048).pin_memory(), torch.randint(0, 16, (2048,))
    pinned, buffer = labels.pin_memory(), torch.ones(4096, device="cuda")
    optimizer = torch.optim.AdamW([*sum(layers, ()), head, bias], 1e-4, fused=True)
    kept = []

    def step():
        x = images.to("cuda", non_blocking=True)
        y = (labels if on("pageable") else pinned).to("cuda", non_blocking=True)
        for w, b in layers:
            x = F.relu(F.linear(x, w, b))
        x = F.linear(x, head) + bias if on("bias") else F.linear(x, head, bias)
        x = x.double() if on("cast") else x
        loss = F.cross_entropy(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        kept[:] = [loss.detach().clone() if on("clone") else loss.detach()]
        if on("fill"):
            buffer.zero_()  # shows fill
        if on("item"):
            loss.item()  # shows item
        if on("wait"):
            torch.cuda.synchronize()  # shows wait
    return step


def transformer():
    """Training in bfloat16."""
    import torch
    from torch.nn import functional as F
    batch, length, width, heads, words = 8, 1024, 1024, 16, 8192
    layers = [attention_layer(width) for _ in range(3)]
    table, places = parameter(words, width, dtype=torch.bfloat16), parameter(length, width, dtype=torch.bfloat16)
    groups = [[p for layer in layers for p in layer.values()], [table, places]]
    if not on("groups"):
        groups = [sum(groups, [])]
    optimizer = torch.optim.AdamW([{"params": g} for g in groups], 1e-4, fused=True)
    tokens = torch.randint(0, words, (batch, length), device="cuda")

    def step():
        at = F.embedding(torch.arange(length, device="cuda"), places) if on("positions") else places
        at = at.float().bfloat16() if on("cast") else at
        x = F.embedding(tokens, table) + at
        for i, p in enumerate(layers):
            h = F.layer_norm(x, (width,), p["norm1"])
            q, k, v = F.linear(h, p["qkv"]).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            q = q.contiguous() if on("layout") and i == 1 else q
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + F.linear(a.transpose(1, 2).reshape(batch, length, width), p["out"])
            h = F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), p["norm2"]), p["up"])), p["down"])
            x = x + (h * 1.0 if on("scale") and i == 1 else h)
        loss = F.cross_entropy(F.linear(x, table).view(-1, words), tokens.view(-1))
        loss.backward()
        if on("norm"):
            places.grad.norm()  # shows norm
        optimizer.step()  # shows groups
        optimizer.zero_grad()
        if on("nan") and torch.isnan(loss):
            raise SystemExit("the loss is not a number")
    return step


def conv():
    """Training of convolutions in channels_last."""
    import torch
    from torch.nn import functional as F
    channels = [3, 64, 64, 64, 128, 128]
    weights = [parameter(n, m, 3, 3).detach().contiguous(memory_format=torch.channels_last).requires_grad_() for m, n in zip(channels, channels[1:])]
    scales, shifts, head = [parameter(n) for n in channels[1:]], [parameter(n) for n in channels[1:]], parameter(16, channels[-1])
    means, variances = [torch.zeros(n, device="cuda") for n in channels[1:]], [torch.ones(n, device="cuda") for n in channels[1:]]
    optimizer = torch.optim.SGD([*weights, *scales, *shifts, head], 1e-3, momentum=0.9, foreach=True)
    images = torch.randn(128, 3, 128, 128)
    images = (images if on("layout") else images.contiguous(memory_format=torch.channels_last)).pin_memory()
    labels = torch.randint(0, 16, (128,)).pin_memory()
    mean, spread = torch.zeros(1, 3, 1, 1, device="cuda"), torch.ones(1, 3, 1, 1, device="cuda")
    counter, event = torch.zeros((), dtype=torch.long, device="cuda"), torch.cuda.Event()

    def step():
        x, y = images.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
        x = x.contiguous(memory_format=torch.channels_last) if on("layout") else x
        x = (x - mean) * spread if on("unfused") else torch.addcmul(mean, x, spread)
        for i, w in enumerate(weights):
            x = F.conv2d(x, w, stride=2 if i in (0, 3) else 1, padding=1)
            x = F.relu(F.batch_norm(x, means[i], variances[i], scales[i], shifts[i], training=True))
        x = F.linear(x.mean((2, 3)), head)
        loss = F.cross_entropy(x, y, label_smoothing=0.1 if on("smoothing") else 0.0)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if on("count"):
            counter.add_(1)  # shows count
        if on("event"):
            event.record()
            event.synchronize()  # shows event
        if on("cpu"):
            loss.detach().cpu()  # shows cpu
        if on("cache"):
            torch.cuda.empty_cache()  # shows cache
    return step


def decode():
    """Text is generated token by token, with caches of keys and values that are made once."""
    import torch
    from torch.nn import functional as F
    batch, context, width, heads, words = 16, 512, 2048, 16, 16384
    layers = [{name: p.detach() for name, p in attention_layer(width).items()} for _ in range(24)]
    table = parameter(words, width, dtype=torch.bfloat16).detach()
    caches = [torch.zeros(2, batch, heads, context, width // heads, device="cuda", dtype=torch.bfloat16) for _ in layers]
    token, at = torch.zeros(batch, dtype=torch.long, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
    places, steps = torch.arange(context, device="cuda"), [0]

    def step():
        if on("position"):
            at.copy_(torch.tensor([steps[0] % context]))  # shows position
        x, seen = F.embedding(token, table), (places <= at).view(1, 1, 1, -1)
        for i, p in enumerate(layers):
            q, k, v = F.linear(F.layer_norm(x, (width,), p["norm1"]), p["qkv"]).view(batch, 1, 3, heads, -1).permute(2, 0, 3, 1, 4)
            caches[i][0].index_copy_(2, at, k)
            caches[i][1].index_copy_(2, at, v)
            q = q.clone() if on("layout") and i == 7 else q
            mask = (places <= at).view(1, 1, 1, -1) if on("mask") and i == 7 else seen
            a = F.scaled_dot_product_attention(q, caches[i][0], caches[i][1], attn_mask=mask)
            x = x + F.linear(a.reshape(batch, width), p["out"])
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), p["norm2"]), p["up"])), p["down"])
        x = F.linear(x, table)
        x = x.float() if on("cast") else x
        x = x.softmax(-1) if on("softmax") else x
        best = x.max(-1).indices if on("max") else x.argmax(-1)
        token.copy_(best)
        at.add_(1).remainder_(context)
        steps[0] += 1
        if on("item"):
            int(token[0])  # shows item
        if on("wait"):
            torch.cuda.current_stream().synchronize()  # shows wait
    return step


def graph():
    """Inference by one CUDA graph, whose input and output are in pinned memory."""
    import torch
    from torch.nn import functional as F
    batch, length, width, heads = 8, 512, 1024, 16
    layers = [{name: p.detach() for name, p in attention_layer(width).items()} for _ in range(4)]
    host, answer = torch.randn(batch, length, width).bfloat16().pin_memory(), torch.zeros(batch, width, dtype=torch.bfloat16).pin_memory()
    held, buffer, small = torch.zeros(batch, length, width, device="cuda", dtype=torch.bfloat16), torch.ones(4096, device="cuda"), torch.ones(16, device="cuda")
    done, results = torch.cuda.Event(), []

    def forward():
        x = held
        for p in layers:
            q, k, v = F.linear(F.layer_norm(x, (width,), p["norm1"]), p["qkv"]).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
            a = F.scaled_dot_product_attention(q, k, v)
            x = x + F.linear(a.transpose(1, 2).reshape(batch, length, width), p["out"])
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), p["norm2"]), p["up"])), p["down"])
        x = x.mean(1)
        if on("node_fill"):
            buffer.zero_()  # shows node_fill
        x = x.clone() if on("node_copy") else x
        results[:] = [x, x.float() if on("cast") else x]

    captured = capture(forward)
    second = capture(lambda: small.add_(1)) if on("second") else None  # shows second

    def step():
        if on("staging"):
            held.copy_(host.to("cuda", non_blocking=True))  # shows staging
        else:
            held.copy_(host, non_blocking=True)
        captured.replay()
        if on("second"):
            second.replay()  # shows second
        if on("eager"):
            results[0].softmax(-1)  # shows eager
        if on("pageable"):
            results[0].cpu()  # shows pageable
        else:
            answer.copy_(results[0], non_blocking=True)
        done.record()
        done.synchronize()
        if on("event"):
            done.synchronize()  # shows event
    return step


def own():
    """A kernel of CUDA C among matrix products in bfloat16."""
    import cupy
    import torch
    n, size = 1 << 15, 4096
    x, y = torch.rand(48 * n, device="cuda"), torch.zeros(n, device="cuda")
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    text = MIX.replace("MANY", "48").replace("AHEAD", "8" if on("unroll") else "1")
    mix = cupy.RawKernel(text, "mix", options=("-maxrregcount=24",) if on("spill") else ())
    threads = 128 if on("block") else 256
    blocks, shared = n // threads + (1 if on("grid") else 0), 8192 if on("shared") else 0

    def step():
        for _ in range(12):
            torch.mm(a, b)
        mix((blocks,), (threads,), (x.data_ptr(), y.data_ptr(), cupy.int32(n)), shared_mem=shared)  # shows spill # shows block # shows grid # shows shared # shows unroll
        if on("memset"):
            cupy.cuda.runtime.memsetAsync(y.data_ptr(), 0, 4096, 0)  # shows memset
        if on("malloc"):
            cupy.cuda.runtime.free(cupy.cuda.runtime.malloc(1 << 20))  # shows malloc
    return step


def triton():
    """A kernel of Triton among matrix products in bfloat16."""
    import torch
    from softly import softly
    n, size = 1 << 20, 4096
    x, y = torch.rand(n, device="cuda"), torch.zeros(n, device="cuda")
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    block = 2048 if on("block") else 4096
    how = {"num_warps": 8 if on("warps") else 4, **({"maxnreg": 32} if on("spill") else {})}

    def step():
        for _ in range(12):
            torch.mm(a, b)
        softly[(n // block,)](x, y, BLOCK=block, **how)  # shows spill # shows warps # shows block
    return step


# ---- what they share ----

# Each thread holds MANY numbers, which are mixed: the fewer registers, the more of them spill.
MIX = """
extern "C" __global__ void mix(const float *x, float *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[MANY], w[AHEAD] = {0};
    #pragma unroll
    for (int k = 0; k < MANY; k++) v[k] = x[i + k * n];
    for (int r = 0; r < 4; r++) {
        #pragma unroll
        for (int k = 0; k < MANY; k++) v[k] = v[k] * v[(k + 7) % MANY] + v[(k + 13) % MANY];
        #pragma unroll
        for (int k = 0; k < AHEAD; k++) w[k] = w[k] * v[k] + v[MANY - 1 - k];
    }
    float sum = 0;
    #pragma unroll
    for (int k = 0; k < MANY; k++) sum += v[k];
    #pragma unroll
    for (int k = 0; k < AHEAD; k++) sum += w[k];
    y[i] = sum;
}
"""


def parameter(*shape, dtype=None):
    import torch
    return (torch.randn(*shape, device="cuda", dtype=dtype) * 0.02).requires_grad_()


def attention_layer(width):
    """The weights of a layer of a transformer."""
    import torch
    shapes = {"norm1": (width,), "qkv": (3 * width, width), "out": (width, width), "norm2": (width,), "up": (4 * width, width), "down": (width, 4 * width)}
    return {name: parameter(*shape, dtype=torch.bfloat16) for name, shape in shapes.items()}


def capture(function):
    """A CUDA graph of FUNCTION, which was called before."""
    import torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        function()
    return captured


def run(program, steps):
    import torch
    torch.manual_seed(0)
    inference = program in ("decode", "graph", "own", "triton")
    with torch.inference_mode() if inference else torch.enable_grad():
        step = globals()[program]()
        for i in range(WARM_UP + steps):
            if i == WARM_UP:
                torch.cuda.synchronize()
                torch.cuda.profiler.start()
            torch.cuda.nvtx.range_push(f"step {i}")
            step()
            torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
    print(json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}))


def main():
    global made
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", nargs="?", choices=CHANGES)
    p.add_argument("change", nargs="?")
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--list", action="store_true")
    o = p.parse_args()
    if o.list:
        where = lines()
        print(json.dumps([{"program": program, "change": change, "text": text, "lines": where[program, change]}
                          for program, of in CHANGES.items() for change, text in of.items()], indent=1))
        return
    if not o.program or o.change and o.change not in CHANGES[o.program]:
        p.error("no such program or change: see --list")
    made = o.change
    run(o.program, o.steps)


if __name__ == "__main__":
    main()
