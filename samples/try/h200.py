#!/usr/bin/env python3
"""Trials of real programs on a GPU: runs gpuprof-try on programs of transformers and torchvision, whose models are made from
configurations, and prints a table of what was measured. Needs PyTorch, transformers and torchvision, but no network.

    samples/try/h200.py FOLDER [--tool build/release/bin/gpuprof-try] [--only bert,resnet] [--limit 5s] [--seconds 460]

FOLDER gets NAME.json and NAME.log of each run. --seconds limits all runs together; what was measured until then is kept.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.abspath(__file__)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
CONTROLS = ["control1=pass // pass", "control2=pass // pass"]
# One fails where it goes on, one in a call of a module, one runs out of memory in a step.
FAILING = ["fails_at_once=1 / 0 // pass",
           "fails_in_forward=inner.__dict__.update(forward=lambda *a, **k: 1 / 0) // inner.__dict__.pop('forward', None)",
           "fails_for_memory=torch.cuda.empty_cache(); hog.append(torch.empty(torch.cuda.mem_get_info()[0] - (64 << 20), dtype=torch.uint8, device='cuda')) "
           "// hog.clear(); torch.cuda.empty_cache()"]
# name: (program, changes or None for those that trace-suggest finds, changes of one's own)
RUNS = {
    "bert": ("bert", "tf32,bf16,fused,gc,compile", FAILING + CONTROLS),
    "resnet": ("resnet", "tf32,fused,benchmark,channels_last,set_to_none,gc", CONTROLS),
    "graph_network": ("graph_network", "reads,fused,no_waits,gc", CONTROLS),
    "vit": ("vit", "pinned,graph,tf32,benchmark,channels_last,sdp=math,compile", CONTROLS),
    "bert_found": ("bert", None, []),
    "resnet_found": ("resnet", None, []),
    "llama": ("llama", "fused,attention=eager,no_checkpointing,reads,batch=x2,compile=blocks", CONTROLS),
    "loader": ("loader", "prefetch,workers,benchmark", []),
}
USUAL = ("bert", "resnet", "graph_network", "vit", "bert_found", "resnet_found", "llama")


# ---- the programs ----

def bert():
    """Training in float32."""
    import torch
    from transformers import BertConfig, BertForMaskedLM
    model = BertForMaskedLM(BertConfig(num_hidden_layers=6)).to("cuda").train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
    x = torch.randint(0, 30000, (16, 256), device="cuda")
    globals().update(model=model, inner=model.bert.embeddings.word_embeddings, hog=[], torch=torch)

    def step():
        loss = model(input_ids=x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def resnet():
    """Training in float16 with a GradScaler and clipping."""
    import torch
    import torchvision
    model = torchvision.models.resnet18(num_classes=10).to("cuda")
    optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler("cuda")
    x, y = torch.randn(16, 3, 64, 64, device="cuda"), torch.randint(0, 10, (16,), device="cuda")

    def step():
        with torch.autocast("cuda", torch.float16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=False)
    return step


def graph_network():
    """Two convolutions on a graph, and a loss that is read in each step."""
    import torch

    class Convolution(torch.nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.linear = torch.nn.Linear(a, b)

        def forward(self, x, edges):
            x = self.linear(x)
            return torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Convolution(128, 256), Convolution(256, 40)

        def forward(self, x, edges):
            return self.b(torch.relu(self.a(x, edges)), edges)
    model = Network().to("cuda")
    optimizer = torch.optim.Adam(model.parameters())
    x, edges = torch.randn(50000, 128, device="cuda"), torch.randint(0, 50000, (2, 500000), device="cuda")
    y = torch.randint(0, 40, (50000,), device="cuda")

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x, edges), y)
        loss.backward()
        optimizer.step()
        loss.item()
    return step


def vit():
    """Inference on images in pageable memory."""
    import torch
    import torchvision
    model, images = torchvision.models.vit_b_16(weights=None).to("cuda").eval(), torch.randn(32, 3, 224, 224)

    def step():
        with torch.no_grad():
            model(images.to("cuda"))
    return step


def llama():
    """Training in bfloat16 with checkpointed activations."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8,
                                         num_key_value_heads=4, vocab_size=8000)).to("cuda").train()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    x = torch.randint(0, 8000, (8, 512), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(input_ids=x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        float(loss)
    return step


def loader():
    """Training on data that the main process makes."""
    import torch
    import torchvision

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 1000000

        def __getitem__(self, i):
            g = torch.randn(3, 96, 96)
            return (g - g.mean()) / g.std() + g.sort(-1).values, i % 10
    model = torchvision.models.resnet18(num_classes=10).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    batches = iter(torch.utils.data.DataLoader(Data(), 32))

    def step():
        x, y = next(batches)
        torch.nn.functional.cross_entropy(model(x.to("cuda")), y.to("cuda")).backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def program(name):
    import torch
    torch.manual_seed(0)
    step = globals()[name]()
    for _ in range(1000000):
        step()


# ---- running them ----

def run(tool, folder, name, limit, seconds):
    """One run, ended after SECONDS: its exit status."""
    what, changes, own = RUNS[name]
    command = [tool, "--time-limit", limit, "-f", "json", "-o", os.path.join(folder, f"{name}.json")]
    command += [f"--changes={changes}"] if changes else []
    command += [word for text in own for word in ("--set", text)]
    with open(os.path.join(folder, f"{name}.log"), "w", encoding="utf-8") as log:
        child = subprocess.Popen([*command, "--", sys.executable, HERE, "--program", what], stdout=log, stderr=log, start_new_session=True)
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)  # what was measured is written
        try:
            return child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.wait()


def ms(ns):
    return f"{ns / 1e6:10.3f}" if ns is not None else f"{'-':>10}"


def line(t):
    if t["status"] != "measured":
        return f"  {t['change'][:24]:<24} {t['status'].replace('_', ' ')}: {t['reason']}"
    d = t["difference"] or {}
    told = [f"{key.split('_')[0]} {d[key]:.1e}" for key in ("loss_relative", "outputs_relative", "update_relative") if d.get(key) is not None]
    if t["predicted_low_ns"] is not None:
        told.append(f"predicted {t['predicted_low_ns'] / 1e6:.3f} to {t['predicted_high_ns'] / 1e6:.3f}")
    if t["peak_bytes_off"]:
        told.append(f"{(t['peak_bytes_on'] - t['peak_bytes_off']) / 1e6:+.0f} MB")
    return (f"  {t['change'][:24]:<24}{ms(t['off_ns'])}{ms(t['on_ns'])}{ms(t['saving_ns'])} ({t['low_ns'] / 1e6:.3f} to "
            f"{t['high_ns'] / 1e6:.3f}) {t['pairs']:4d}x{t['steps_per_block'] or 0:<4d} {', '.join(told)}")


def show(folder, name, status, took):
    path = os.path.join(folder, f"{name}.json")
    print(f"{name}: exit status {status}, {took:.0f} s", flush=True)
    if not os.path.exists(path):
        with open(path[:-5] + ".log", encoding="utf-8", errors="replace") as f:
            print("  " + "  ".join(f.readlines()[-12:]))
        return
    with open(path, encoding="utf-8") as f:
        d = json.load(f)
    print(f"  {d['steps']}; {d['device']}" + (f"; {d['refused']}" if d["refused"] else ""))
    print(f"  {'change':<24}{'off, ms':>10}{'on':>10}{'saves':>10}")
    for t in [*d["trials"], *(t for t in (d["control"], d["together"]) if t)]:
        print(line(t))
    controls = [t for t in [*d["trials"], d["control"]] if t and t["change"].startswith("control") and t["status"] == "measured"]
    print(f"  controls whose interval holds zero: {sum(t['low_ns'] <= 0 <= t['high_ns'] for t in controls)} of {len(controls)}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", nargs="?")
    p.add_argument("--tool", default=os.path.join(ROOT, "build", "release", "bin", "gpuprof-try"))
    p.add_argument("--only", default=",".join(USUAL), help=f"of {', '.join(RUNS)}")
    p.add_argument("--limit", default="5s", help="of each change")
    p.add_argument("--seconds", type=float, default=460)
    p.add_argument("--program", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.program:
        return program(o.program)
    if not o.folder:
        p.error("name a folder for the answers")
    os.makedirs(o.folder, exist_ok=True)
    end = time.monotonic() + o.seconds
    for name in o.only.split(","):
        left = end - time.monotonic() - 25
        if left < 20:
            print(f"{name}: no time is left")
            continue
        began = time.monotonic()
        show(o.folder, name, run(o.tool, o.folder, name, o.limit, left), time.monotonic() - began)


if __name__ == "__main__":
    main()
