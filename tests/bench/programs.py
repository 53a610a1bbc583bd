"""Programs of other people's libraries whose steps are timed on request, for collect_cost.py; weights are random, nothing is loaded.

usage: programs.py decoder|llama|resnet|gnn|jax|cupy|launches

Prints "ready NS" (per step, roughly), then answers each line "SWITCH STEPS ORDER" of standard input. ORDER is a row of 0 and 1: for each
of them the switch is off or on while so many steps run. The answer has the ns of each step, up to the end of its work on the GPU, and a
semicolon between two stretches. Switches:

none      nothing
window    from cudaProfilerStart() to cudaProfilerStop()
profile   torch.profiler, CUDA only
floorN    what bare_cupti.c records, by its parts; it is what CUDA_INJECTION64_PATH names
launcher  the parent, a gpuprof-collect, runs; else it is stopped

COST_BEGIN begins the window right after cuInit().
"""

import ctypes
import gc
import os
import signal
import sys
import time


def decoder():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(n_layer=12, n_embd=768, n_head=12, vocab_size=50257)).cuda().to(torch.bfloat16).eval()
    prompt = torch.randint(0, 50000, (1, 16), device="cuda")

    def step():
        with torch.inference_mode():
            model.generate(prompt, attention_mask=torch.ones_like(prompt), min_new_tokens=8, max_new_tokens=8, do_sample=False, pad_token_id=0)

    return step, torch.cuda.synchronize


def llama():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(hidden_size=512, intermediate_size=1376, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=8, vocab_size=32000)
    model = LlamaForCausalLM(config).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randint(0, 32000, (4, 256), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(input_ids=x, labels=x).loss
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)

    return step, torch.cuda.synchronize


def resnet():
    import torch
    import torchvision

    torch.manual_seed(1)
    model = torchvision.models.resnet50().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(8, 3, 160, 160, device="cuda"), torch.randint(0, 1000, (8,), device="cuda")

    def step():
        torch.nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        opt.zero_grad(set_to_none=True)

    return step, torch.cuda.synchronize


def gnn():
    import torch
    from torch_geometric.nn import GCNConv

    torch.manual_seed(1)
    x, e = torch.randn(3000, 64, device="cuda"), torch.randint(0, 3000, (2, 12000), device="cuda")
    y = torch.randint(0, 7, (3000,), device="cuda")
    layers = torch.nn.ModuleList([GCNConv(64, 64) for _ in range(6)] + [GCNConv(64, 7)]).cuda()
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)

    def step():
        h = x
        for layer in layers[:-1]:
            h = layer(h, e).relu()
        torch.nn.functional.cross_entropy(layers[-1](h, e), y).backward()
        opt.step()
        opt.zero_grad(set_to_none=True)

    return step, torch.cuda.synchronize


def jax():
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(1), 8)
    params = [jax.random.normal(k, (256, 256)) * 0.05 for k in keys]
    x = jax.random.normal(keys[0], (64, 256))

    def loss(p, v):
        for w in p:
            v = v + jnp.tanh(v @ w) * 0.5
            v = (v - v.mean(-1, keepdims=True)) / (v.std(-1, keepdims=True) + 1e-5)
        return (v * v).sum()

    grad = jax.jit(jax.value_and_grad(loss))
    update = jax.jit(lambda p, g: p - 0.01 * jnp.clip(g, -1, 1))
    state = {"p": params}

    def step():
        _, g = grad(state["p"], x)
        state["p"] = [update(p, d) for p, d in zip(state["p"], g)]
        for _ in range(20):  # eager operations between compiled ones
            state["m"] = [jnp.abs(d) for d in g[:4]]

    return step, lambda: jax.block_until_ready(state["p"])


def cupy():
    import cupy as cp

    a = cp.random.rand(1 << 16, dtype=cp.float32)
    b, r = cp.zeros_like(a), cp.zeros_like(a)

    def step():
        nonlocal b, r
        for _ in range(100):
            b = a * 0.5 + b
            r = cp.sqrt(b * b + 1.0)
            b = b - r.sum() * 1e-9

    return step, cp.cuda.Device().synchronize


def launches():
    lib = ctypes.CDLL(os.environ.get("LAUNCHES", "./launches.so"))
    return lib.step, lambda: None


def window():
    """By calls of the driver, which serve programs of every runtime."""
    lib = ctypes.CDLL("libcuda.so.1")
    return lambda on: lib.cuProfilerStart() if on else lib.cuProfilerStop()


def profile():
    import torch.profiler

    running = []

    def switch(on):
        if on == bool(running):
            return
        if on:
            running.append(torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]))
            running[0].start()
        else:
            running.pop().stop()

    return switch


def floor(parts):
    lib = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
    return lambda on: lib.bare_cupti_record(parts if on else 0)


def launcher():
    return lambda on: os.kill(os.getppid(), signal.SIGCONT if on else signal.SIGSTOP)


def find_switch(name):
    if name.startswith("floor"):
        return floor(int(name[5:]))
    return {"none": lambda: lambda on: None, "window": window, "profile": profile, "launcher": launcher}[name]()


def main():
    names = {"decoder": decoder, "llama": llama, "resnet": resnet, "gnn": gnn, "jax": jax, "cupy": cupy, "launches": launches}
    if os.environ.get("COST_BEGIN"):
        ctypes.CDLL("libcuda.so.1").cuInit(0)
        window()(True)
    step, wait = names[sys.argv[1]]()
    done, switches = 0, {}

    def steps(n):
        nonlocal done
        done += n
        took = []
        wait()
        for _ in range(n):
            begin = time.perf_counter_ns()
            step()
            wait()
            took.append(time.perf_counter_ns() - begin)
        return took

    steps(4)
    guess = min(steps(4))
    gc.collect()
    gc.disable()  # until nothing is timed
    print("ready", guess, flush=True)
    for line in sys.stdin:
        name, n, order = line.split()
        switch = switches.get(name) or switches.setdefault(name, find_switch(name))
        answer = []
        for on in order:
            switch(on == "1")
            answer.append(" ".join(map(str, steps(int(n)))))
        switch(name == "launcher")
        gc.collect()
        print(";".join(answer), flush=True)
    print("steps", done, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
