"""Run one variant of a small workload: a pair of variants, recorded one after the other, shows what a change does.

variants.py has the names. Every variant has the same seed, a few steps to warm up, and then its steps, each in a range
`ProfilerStep#N`. With --kineto the warm-up is left out of the file, but for one step. Prints the mean time of a step, for
the file or the trace to be held against.
"""

import contextlib
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import parts
import sample
from sample import GPT, Ranges, arguments, check_loss, recording, span, synchronize
from variants import VARIANTS, settings

WARMUP = 3
VOCABULARY = 4096
CORPUS = 1024  # sequences
STAGING = 32  # batches in pinned memory


class BrokenBlock(sample.Block):
    """A block in which torch.compile has to stop and start again."""

    def forward(self, x, cache=None, position=None):
        x = x + self.attention(self.norm1(x), cache, position)
        torch._dynamo.graph_break()
        return x + self.mlp(self.norm2(x))


def gpt(v, device):
    model = GPT(VOCABULARY, max(256, v["length"]), v["width"], v["width"] // 64, v["layers"])
    if v["broken"]:
        for block in model.blocks:
            block.__class__ = BrokenBlock
    return model.to(device, torch.bfloat16 if v["dtype"] == "bf16" else torch.float32)


def perceptron(v, device):
    layers = []
    for _ in range(v["layers"]):
        layers += [nn.Linear(v["width"], v["width"]), nn.GELU()]
    return nn.Sequential(*layers).to(device, torch.bfloat16)


def adamw(v, model):
    kind = {"forloop": {"foreach": False, "fused": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
    return torch.optim.AdamW(model.parameters(), lr=1e-4, **kind[v["optimizer"]])


def in_settings(v, device):
    """The context in which the forward pass runs: autocast, and the kernels of attention."""
    stack = contextlib.ExitStack()
    if v["dtype"] == "amp":
        stack.enter_context(torch.autocast(device, torch.bfloat16))
    if v["attention"]:
        stack.enter_context(sdpa_kernel(SDPBackend.MATH if v["attention"] == "math" else SDPBackend.FLASH_ATTENTION))
    return stack


class Training:
    """What the two training workloads share; a subclass has a model, batches and a loss."""

    def __init__(self, v, device, model):
        self.v, self.device = v, device
        self.model = torch.compile(model) if v["compiled"] else model
        self.optimizer = adamw(v, model)
        self.previous = None

    def step(self):
        with span("load"):
            batch = self.batch()
        with span("forward"), in_settings(self.v, self.device):
            loss = self.loss(batch)
        with span("backward"):
            loss.backward()
        if self.v["norms"]:
            with span("norms"):
                self.norms()
        with span("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=not self.v["zeroed"])
        with span("wait"):
            self.wait(loss)
        return loss

    def norms(self):
        norms = [p.grad.norm() for p in self.optimizer.param_groups[0]["params"]]
        self.largest = max(n.item() for n in norms) if self.v["norms"] == "read" else torch.stack(norms).max()

    def wait(self, loss):
        if self.v["wait"] == "item":
            loss.item()
        elif self.v["wait"] == "synchronize":
            synchronize()
        elif self.v["wait"] == "empty_cache":
            torch.cuda.empty_cache()
        elif self.v["wait"] == "previous":
            done = torch.cuda.Event()
            done.record()
            if self.previous is not None:
                self.previous.synchronize()
            self.previous = done


class TrainGPT(Training):
    def __init__(self, v, device):
        super().__init__(v, device, gpt(v, device))
        shape = (v["batch"], v["length"] + 1)
        self.corpus = torch.randint(VOCABULARY, (CORPUS, shape[1]))
        # More of them than steps are ever under way, so that none is written while it is still being copied.
        self.staging = [torch.empty(shape, dtype=torch.long, pin_memory=device == "cuda") for _ in range(STAGING)]

    def batch(self):
        chosen = torch.randperm(max(CORPUS, self.v["shuffle"]))[: self.v["batch"]] % CORPUS
        tokens = self.staging.pop(0)
        self.staging.append(tokens)
        torch.index_select(self.corpus, 0, chosen, out=tokens)
        return tokens.to(self.device, non_blocking=True)

    def loss(self, tokens):
        logits = self.model(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())


class TrainPerceptron(Training):
    """Two batches of floats wait on the host; each step copies one of them."""

    def __init__(self, v, device):
        super().__init__(v, device, perceptron(v, device))
        self.batches = [torch.randn(v["batch"], v["width"]) for _ in range(2)]
        if v["pinned"] and device == "cuda":
            self.batches = [batch.pin_memory() for batch in self.batches]
        if v["prefetch"]:
            self.side = torch.cuda.Stream()
            # By turns: what the GPU computes with, and what the next batch is copied into.
            self.inputs = [torch.empty_like(batch, device=device) for batch in self.batches]
            self.done = torch.cuda.Event()
            self.ready = self.copy_next()

    def batch(self):
        self.batches.reverse()
        if self.v["prefetch"]:
            return self.prefetched()
        return self.batches[0].to(self.device, non_blocking=self.v["pinned"])

    def copy_next(self):
        """Into the input that is not in use, once the step before has done with it."""
        ready = torch.cuda.Event()
        with torch.cuda.stream(self.side):
            self.side.wait_event(self.done)
            self.inputs[1].copy_(self.batches[1], non_blocking=True)
            ready.record()
        return ready

    def prefetched(self):
        torch.cuda.current_stream().wait_event(self.ready)
        self.done.record()
        self.inputs.reverse()
        self.ready = self.copy_next()
        return self.inputs[0]

    def loss(self, x):
        return self.model(x.to(torch.bfloat16)).float().square().mean()


class Decoding:
    def __init__(self, v, device):
        self.decoder = sample.Decoder(gpt(v, device), device)
        if v["compiled"]:
            self.decoder.model = torch.compile(self.decoder.model)
        self.read = v["wait"] == "item"
        if v["graph"]:
            for _ in range(WARMUP):
                self.decoder.step()
            self.decoder.capture()

    def step(self):
        self.decoder.advance()
        if self.read:
            self.decoder.token.item()
        return self.decoder.token


class Products:
    """Large matrix products, one after the other."""

    def __init__(self, v, device):
        n = v["width"]
        self.count = v["layers"]
        self.a, self.b = (torch.randn(n, n, device=device, dtype=torch.bfloat16) / n**0.5 for _ in range(2))
        self.c = torch.empty_like(self.a)

    def step(self):
        for _ in range(self.count):
            torch.mm(self.a, self.b, out=self.c)
        return self.c[0, 0]


WORK = {"train": TrainGPT, "mlp": TrainPerceptron, "decode": Decoding, "gemm": Products, **parts.WORK}


def measured(steps, step):
    """Run them, each in its range; the wall time of all, the GPU's work included, and the last result."""
    synchronize()
    begin = time.perf_counter_ns()
    for index in range(steps):
        with span(f"ProfilerStep#{index}"):
            result = step()
    synchronize()
    return time.perf_counter_ns() - begin, result


def main():
    args = arguments(__doc__.split("\n\n")[0], variant="small")
    if args.variant not in VARIANTS:
        raise SystemExit(f"pairs.py: no variant '{args.variant}', only {' '.join(VARIANTS)}")
    v = settings(args.variant)
    torch.set_float32_matmul_precision("high" if v["dtype"] == "tf32" else "highest")
    with torch.set_grad_enabled(v["work"] in ("train", "mlp")):
        work = WORK[v["work"]](v, args.device)
        with span("warm-up"):
            for _ in range(WARMUP):
                work.step()
        synchronize()
        before = Ranges.opened
        with recording(args.kineto, record_shapes=True, profile_memory=v["memory"]):
            with span("warm-up"):
                work.step()
            elapsed, result = measured(args.steps, work.step)
    ranges = Ranges.opened - before if args.kineto else Ranges.opened
    print(f"pairs variant={args.variant} steps={args.steps} step_mean_ns={elapsed // args.steps} result={check_loss(result):.4g}")
    print(f"expect steps={args.steps} ranges_least={ranges}")


if __name__ == "__main__":
    main()
