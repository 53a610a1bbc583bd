"""What the programs of this folder share: a transformer, the processes of torchrun, and how steps are timed and recorded.

Each program is run by torchrun with a process per GPU: bare, under gpuprof-collect, or with --kineto FILE.json.gz, where
rank N writes FILE.rankN.json.gz with torch.profiler. The measured steps lie between cudaProfilerStart() and
cudaProfilerStop(). Every rank prints its median step by its own clock. The sizes keep the GPU busy for longer than the host
needs to launch a step: where the host is what limits a job, the rank with the slowest host holds up the others.
"""

import argparse
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

# NVLink multicast is not allowed everywhere; a run that wants it says so itself.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if CUDA else torch.device("cpu")
DTYPE = torch.bfloat16 if CUDA else torch.float32


class Attention(nn.Module):
    """How many heads there are follows from what q, k and v give: under tensor parallelism a rank has some of them."""

    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (f(x).view(batch, length, -1, 64).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, -1))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, width, layers, vocabulary):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.token(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def next_token_loss(logits, tokens):
    return F.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten())


def begin(description, **extra):
    """The options of a program, and its process group."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--kineto", metavar="FILE")
    parser.add_argument("--seconds", type=float, default=0, help="as many steps as fit, instead of --steps")
    sizes = {"steps": 10, "warmup": 5, "slow": 1, "width": 1024, "layers": 4, "batch": 48, "length": 1024, "vocabulary": 4096}
    for name, default in {**sizes, **extra}.items():
        parser.add_argument("--" + name, type=type(default), default=default)
    args = parser.parse_args()
    # A script that starts the next job while one runs holds it here, before it touches a GPU.
    gate = os.environ.get("DDP_GATE")
    while gate and not os.path.exists(gate):
        time.sleep(0.01)
    if CUDA:
        torch.cuda.set_device(DEVICE)
    dist.init_process_group("nccl" if CUDA else "gloo")
    torch.manual_seed(RANK)
    return args


def say(text):
    """A line at once: ranks share their standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4, fused=CUDA)


def synchronize():
    if CUDA:
        torch.cuda.synchronize()


def steps_that_fit(args, step):
    """Rank 0 times a few steps, and all ranks do as many as it says."""
    at = time.perf_counter()
    for _ in range(5):
        step()
    synchronize()
    steps = torch.tensor([max(10, int(args.seconds / ((time.perf_counter() - at) / 5)))], device=DEVICE)
    dist.broadcast(steps, 0)
    return int(steps)


def recorded(args, step):
    """The same steps by torch.profiler, after one more in which it warms up."""
    stem, ending = args.kineto.split(".json", 1)
    activities = [torch.profiler.ProfilerActivity.CPU] + [torch.profiler.ProfilerActivity.CUDA] * CUDA
    with torch.profiler.profile(
        activities=activities,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=args.steps, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(f"{stem}.rank{RANK}.json{ending}"),
    ) as profiler:
        for _ in range(1 + args.steps):
            yield step
            profiler.step()


def plain(args, step):
    if CUDA:
        torch.cuda.cudart().cudaProfilerStart()
    for _ in range(args.steps):
        yield step
    synchronize()
    if CUDA:
        torch.cuda.cudart().cudaProfilerStop()


def run(args, name, step):
    """Call STEP() again and again; what it returns, if anything, is a loss, which is read as most programs do."""

    def whole():
        loss = step()
        if loss is None:
            synchronize()
        elif not loss.item() < 1e9:
            raise SystemExit(f"the loss is {loss.item()}")

    for _ in range(args.warmup):
        whole()
    if args.seconds:
        args.steps = steps_that_fit(args, whole)
    synchronize()
    dist.barrier()
    if RANK == 0:
        say(f"ddp program={name} begins_unix_ns={time.time_ns()}")
    times = []
    for one in recorded(args, whole) if args.kineto else plain(args, whole):
        at = time.perf_counter_ns()
        one()
        times.append(time.perf_counter_ns() - at)
    times = times[-args.steps :]
    say(
        f"ddp program={name} rank={RANK} world={WORLD} steps={args.steps} step_median_ns={int(statistics.median(times))}"
        f" step_mean_ns={sum(times) // len(times)}"
    )
    dist.destroy_process_group()
