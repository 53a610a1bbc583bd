#!/usr/bin/env python3
"""Programs of other people's libraries for trials, each with the changes that are made permanently in it, by hand. Their models are made from
configurations, so that no network is needed.

    programs.py NAME [--change CHANGE] [--steps N]  run NAME as its users do
    programs.py NAME --time SECONDS                 for each line of standard input, a change or "none", time its steps in a process of its
                                                    own, and print {"step_ns": ..., ...} as JSON

With --time, libraries are imported first, and each process is forked from there, before CUDA is in use. Steps are timed between
synchronizations of the device, and the answer is the median of all blocks. No part of gpuprof is in use.
"""

import argparse
import contextlib
import gc
import importlib
import json
import os
import statistics
import sys
import time

change = None  # what is made permanent
IMPORTS = {"bert": "transformers.models.bert.modeling_bert", "llama": "transformers.models.llama.modeling_llama",
           "mixtral": "transformers.models.mixtral.modeling_mixtral", "mixtral_grouped": "transformers.models.mixtral.modeling_mixtral",
           "resnet": "torchvision", "vit": "torchvision", "loader": "torchvision"}  # not torch_geometric, which begins to use CUDA
SETTLED_S, SETTLE_MOST_S = 1.5, 30
BLOCK_NS, BLOCK_STEPS, LEAST_BLOCKS = 500_000_000, 10, 4  # long blocks: the device has no work at their beginning


def made(name):
    return change == name


def products(torch, usual=None):
    """The scope of a forward pass, which is under autocast to USUAL."""
    dtype = torch.bfloat16 if made("bf16") else usual
    return torch.autocast("cuda", dtype) if dtype else contextlib.nullcontext()


def layout(torch, value):
    """A module or a tensor of images."""
    if not made("channels_last"):
        return value
    return value.contiguous(memory_format=torch.channels_last) if isinstance(value, torch.Tensor) else value.to(memory_format=torch.channels_last)


def fused():
    return {"fused": True} if made("fused") else {}


def configured(config, attention="sdpa", experts=None):
    config._attn_implementation = change.split("=")[1] if change and change.startswith("attention=") else attention
    if experts:
        config._experts_implementation = experts
    return config


def bert():
    """Training in float32."""
    import torch
    from transformers import BertConfig, BertForMaskedLM
    model = BertForMaskedLM(configured(BertConfig(num_hidden_layers=6))).to("cuda").train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5, **fused())
    x = torch.randint(0, 30000, (32, 256), device="cuda")
    globals().update(inner=model.bert.embeddings.word_embeddings, hog=[], torch=torch)

    def step():
        with products(torch):
            loss = model(input_ids=x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def resnet():
    """Training in float16 with a GradScaler and clipping."""
    import torch
    import torchvision
    model = layout(torch, torchvision.models.resnet18(num_classes=10).to("cuda"))
    optimizer, scaler = torch.optim.Adam(model.parameters(), **fused()), torch.amp.GradScaler("cuda")
    x, y = torch.randn(16, 3, 64, 64, device="cuda"), torch.randint(0, 10, (16,), device="cuda")

    def step():
        with torch.autocast("cuda", torch.float16):
            loss = torch.nn.functional.cross_entropy(model(layout(torch, x)), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=made("set_to_none"))

    def loop_or_fused(on):
        """A fused optimizer against a loop over parameters, and waits for GradScaler's scale either way."""
        for group in optimizer.param_groups:
            group["fused"], group["foreach"] = on, False
            for state in (optimizer.state[p] for p in group["params"] if p in optimizer.state):
                state["step"] = state["step"].to("cuda" if on else "cpu")
        optimizer._need_device_dtype_check_for_fused = True
    globals().update(loop_or_fused=loop_or_fused)
    return step


def graph_network():
    """Two convolutions on a graph, and a loss that is read in each step."""
    import torch
    from torch_geometric.nn import GCNConv

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = GCNConv(128, 256), GCNConv(256, 40)

        def forward(self, x, edges):
            return self.b(torch.relu(self.a(x, edges)), edges)
    model = Network().to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), **fused())
    x, edges = torch.randn(50000, 128, device="cuda"), torch.randint(0, 50000, (2, 500000), device="cuda")
    y = torch.randint(0, 40, (50000,), device="cuda")

    def step():
        optimizer.zero_grad()
        with products(torch):
            output = model(x, edges)
        loss = torch.nn.functional.cross_entropy(output, y)
        loss.backward()
        optimizer.step()
        if not made("reads"):
            loss.item()
    return step


def vit():
    """Inference on images in pageable memory."""
    import torch
    import torchvision
    model, images = torchvision.models.vit_b_16(weights=None), torch.randn(32, 3, 224, 224)
    torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # it is made of zeros
    model = layout(torch, model.to("cuda").eval())

    def step():
        with torch.no_grad(), products(torch):
            model(layout(torch, images.to("cuda")))
    if not made("graph"):
        return step
    with torch.no_grad():
        held, graph, side = images.to("cuda"), torch.cuda.CUDAGraph(), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(held)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            model(held)

    def replay():
        held.copy_(images.to("cuda"), non_blocking=True)
        graph.replay()
    return replay


def llama():
    """Training in bfloat16 with checkpointed activations, and a loss that is read in each step."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(configured(LlamaConfig(hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8,
                                                    num_key_value_heads=4, vocab_size=8000))).to("cuda").train()
    if not made("no_checkpointing"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, **fused())
    x = torch.randint(0, 8000, (8, 512), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(input_ids=x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if not made("reads"):
            float(loss)
    return step


def mixtral(experts="eager"):
    """Training of a mixture of experts in bfloat16: a loop over the experts, and attention written out."""
    import torch
    from transformers import MixtralConfig, MixtralForCausalLM
    config = MixtralConfig(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4,
                           vocab_size=8000, num_local_experts=16, num_experts_per_tok=2)
    model = MixtralForCausalLM(configured(config, "eager", experts)).to("cuda").bfloat16().train()
    optimizer, x = torch.optim.AdamW(model.parameters(), fused=True), torch.randint(0, 8000, (4, 512), device="cuda")

    def step():
        model(input_ids=x, labels=x).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def mixtral_grouped():
    """The same, its experts as one grouped product."""
    return mixtral("grouped_mm")


def rollout():
    """A policy acts, the environment steps on the host, and the device is waited for."""
    import numpy
    import torch
    policy = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 256), torch.nn.Tanh(),
                                 torch.nn.Linear(256, 8)).to("cuda")
    start, effect = numpy.random.randn(16, 64).astype("float32"), numpy.random.randn(8, 64).astype("float32") * 0.1
    state = [start]

    def step():
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=policy(torch.from_numpy(state[0]).to("cuda"))).sample()
            torch.cuda.synchronize()
            state[0] = numpy.tanh(state[0] + effect[action.cpu().numpy()])
    return step


def loader():
    """Training in float32 on data that the main process makes."""
    import torch
    import torchvision

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 1000000

        def __getitem__(self, i):
            g = torch.randn(3, 96, 96)
            return (g - g.mean()) / g.std() + g.sort(-1).values, i % 10
    model = torchvision.models.resnet18(num_classes=10).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1, foreach=False)
    workers = 8 if made("workers") else 0
    batches = iter(torch.utils.data.DataLoader(Data(), 32, num_workers=workers, persistent_workers=workers > 0))

    def step():
        x, y = next(batches)
        torch.nn.functional.cross_entropy(model(x.to("cuda")), y.to("cuda")).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    return step


# ---- running them ----

def begin(name):
    """The step of program NAME."""
    import torch
    torch.manual_seed(0)
    if made("tf32"):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    if made("benchmark"):
        torch.backends.cudnn.benchmark = True
    return globals()[name]()


def blocks(step, seconds):
    """ns per step, of each block of steps between two synchronizations."""
    import torch

    def of(length):
        torch.cuda.synchronize()
        began = time.perf_counter_ns()
        for _ in range(length):
            step()
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - began) / length
    began, last = time.perf_counter_ns(), []
    while True:
        last = [*last[-2:], of(1)]
        took = (time.perf_counter_ns() - began) / 1e9
        if took > SETTLE_MOST_S or took > SETTLED_S and len(last) == 3 and max(last) < 1.1 * min(last):
            break
        if took > 3 * SETTLED_S and len(last) == 3 and max(last) < 2 * min(last):
            break  # steps that vary
    if made("gc"):
        gc.collect()
        gc.freeze()
        gc.disable()
    torch.cuda.reset_peak_memory_stats()
    length, found, began = int(max(BLOCK_STEPS, BLOCK_NS / statistics.median(last))), [], time.perf_counter_ns()
    while len(found) < LEAST_BLOCKS or time.perf_counter_ns() - began < seconds * 1e9:
        found.append(of(length))
    return found


def timed(name, seconds):
    """One process: its answer as a line."""
    import torch
    found = blocks(begin(name), seconds)
    print(json.dumps({"step_ns": round(statistics.median(found)), "blocks": [round(ns) for ns in found],
                      "peak_bytes": torch.cuda.max_memory_allocated(), "device": torch.cuda.get_device_name()}), flush=True)


def serve(name, seconds):
    global change
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # otherwise some imports begin to use CUDA, and no forked process could
    importlib.import_module("torch")
    importlib.import_module(IMPORTS.get(name, "torch"))
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if not child:
            change = None if line.strip() == "none" else line.strip()
            try:
                timed(name, seconds)
            except BaseException as e:
                print(json.dumps({"error": f"{type(e).__name__}: {str(e)[:300]}"}), flush=True)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            print(json.dumps({"error": f"exit status {status}"}), flush=True)


def main():
    global change
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("name")
    p.add_argument("--change")
    p.add_argument("--steps", type=int, default=1000000)
    p.add_argument("--time", type=float)
    o = p.parse_args()
    change = o.change
    if o.time:
        return serve(o.name, o.time)
    step = begin(o.name)
    for _ in range(o.steps):
        step()


if __name__ == "__main__":
    main()
