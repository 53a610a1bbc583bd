"""Train a small transformer in one mode of torch.compile; the steps after the warm-up may be recorded.

--mode eager does not compile. --rank trains two copies that exchange their gradients. --kill-after ends the process in the
middle of compiling, as a job that runs out of time is ended.
"""

import argparse
import json
import os
import signal
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, TOKENS, BATCH = 256, 4, 128, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (t.unflatten(2, (HEADS, -1)).transpose(1, 2) for t in self.qkv(self.first(x)).chunk(3, 2))
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return x + self.down(F.gelu(self.up(self.second(x))))


class Model(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        return self.norm(self.blocks(x)).float().pow(2).mean()


def train_step(model, optimizer, x):
    optimizer.zero_grad(set_to_none=True)
    loss = model(x)
    loss.backward()
    optimizer.step()
    return loss


def prepare(args):
    model = Model().to(args.device, torch.bfloat16)
    if args.rank is not None:
        store = f"file://{os.path.abspath(args.store)}"
        torch.distributed.init_process_group("gloo", init_method=store, rank=args.rank, world_size=2)
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if args.mode != "eager":
        model = torch.compile(model, mode=args.mode)
    return model, optimizer


def kill_later(seconds):
    def end():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=end, daemon=True).start()


def recorded(args, run):
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds, record_shapes=True) as p:
        for _ in range(args.steps):
            run()
            p.step()
        torch.cuda.synchronize()
    p.export_chrome_trace(args.kineto)


def counted():
    """What the compiler counted itself, for checks against its log."""
    from torch._inductor import metrics

    names = ("generated_kernel_count", "ir_nodes_pre_fusion")
    print(json.dumps({name: getattr(metrics, name, None) for name in names}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", default="default",
                        choices=["eager", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--warmup", type=int, default=6)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--kineto", metavar="FILE")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--store", metavar="FILE")
    parser.add_argument("--kill-after", type=float, metavar="SECONDS")
    args = parser.parse_args()
    torch.manual_seed(0)
    model, optimizer = prepare(args)
    x = torch.randn(BATCH, TOKENS, WIDTH, device=args.device, dtype=torch.bfloat16)
    if args.kill_after:
        kill_later(args.kill_after)

    def run():
        with torch.profiler.record_function("step"):
            return train_step(model, optimizer, x)

    begin = time.perf_counter()
    for _ in range(args.warmup):
        loss = run()
    if args.device == "cuda":
        torch.cuda.synchronize()
    print(f"warm-up {time.perf_counter() - begin:.1f} s, loss {loss.item():.4f}", flush=True)
    counted()
    if args.kineto:
        recorded(args, run)
    else:
        for _ in range(args.steps):
            torch.cuda.nvtx.range_push("step")
            run()
            torch.cuda.nvtx.range_pop()
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
