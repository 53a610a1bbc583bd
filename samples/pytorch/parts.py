"""Workloads of pairs.py that are about one thing each, with little beside it: what one rule of trace-suggest looks for,
and, where the variant says `changed`, what it recommends instead. All but one only compute forward."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

DTYPE = torch.bfloat16


def weight(device, *shape, dtype=DTYPE):
    """Of a size that keeps what goes through it in range."""
    return torch.randn(*shape, device=device, dtype=dtype) / shape[-1] ** 0.5


def compiled_if(v, function):
    return torch.compile(function, fullgraph=True, dynamic=False) if v["changed"] else function


def pointwise(x, scale, bias, gate, residual):
    return F.gelu(x * scale + bias) * gate + residual


class Pointwise:
    """Five elementwise operators between small products, on tensors of 128 MB. Changed: through torch.compile, these alone."""

    def __init__(self, v, device):
        self.layers, self.function = v["layers"], compiled_if(v, pointwise)
        self.x, self.gate = (torch.randn(v["batch"], v["width"], device=device, dtype=DTYPE) for _ in range(2))
        self.scale, self.bias = (torch.rand(v["width"], device=device, dtype=DTYPE) for _ in range(2))
        self.down, self.up = weight(device, v["width"] // 8, v["width"]), weight(device, v["width"], v["width"] // 8)

    def step(self):
        x = self.x
        for _ in range(self.layers):
            x = self.function(F.linear(F.linear(x, self.down), self.up), self.scale, self.bias, self.gate, self.x)
        return x[0, 0]


def gated(a, b, residual):
    return residual + 0.5 * F.silu(a) * torch.tanh(b)


class Activation(nn.Module):
    def __init__(self, v):
        super().__init__()
        self.function = compiled_if(v, gated)
        self.a, self.b = (nn.Linear(v["width"], v["width"], bias=False) for _ in range(2))

    def forward(self, x):
        return self.function(self.a(x), self.b(x), x)


class TrainActivation:
    """Training of layers whose activation is five operators. Changed: through torch.compile, these alone."""

    def __init__(self, v, device):
        self.model = nn.Sequential(*(Activation(v) for _ in range(v["layers"]))).to(device, DTYPE)
        kind = {"fused": True} if device == "cuda" else {}
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, **kind)
        self.x = torch.randn(v["batch"], v["width"], device=device, dtype=DTYPE)

    def step(self):
        with torch.enable_grad():
            loss = self.model(self.x).square().mean()
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()


class Epilogue:
    """Products with a bias and GELU behind them. Changed: GELU at the end of the product's kernel."""

    def __init__(self, v, device):
        self.layers, self.changed, wide = v["layers"], v["changed"], 8 * v["width"]
        self.x = torch.randn(v["batch"], v["width"], device=device, dtype=DTYPE)
        self.up, self.down = weight(device, wide, v["width"]), weight(device, v["width"], wide)
        self.bias = torch.rand(wide, device=device, dtype=DTYPE)

    def step(self):
        x = self.x
        for _ in range(self.layers):
            if self.changed:
                y = torch._addmm_activation(self.bias, x, self.up.t(), use_gelu=True)
            else:
                y = F.gelu(F.linear(x, self.up, self.bias), approximate="tanh")
            x = F.linear(y, self.down)
        return x[0, 0]


class Casts:
    """Weights in FP32 under autocast, which casts them each step. Changed: weights in bf16."""

    def __init__(self, v, device):
        self.device = device
        dtype = DTYPE if v["changed"] else torch.float32
        self.weights = [weight(device, v["width"], v["width"], dtype=dtype) for _ in range(v["layers"])]
        self.x = torch.randn(v["batch"], v["width"], device=device, dtype=dtype)

    def step(self):
        x = self.x
        with torch.autocast(self.device, DTYPE):
            for one in self.weights:
                x = F.relu(F.linear(x, one))
        return x[0, 0]


class Pieces:
    """A batch that is copied from pinned memory and computed in pieces. The host waits for each copy; changed: it does not."""

    PIECES = 16

    def __init__(self, v, device):
        self.device, self.changed = device, v["changed"]
        self.pieces = [torch.randn(v["batch"], v["width"]) for _ in range(self.PIECES)]
        if device == "cuda":
            self.pieces = [piece.pin_memory() for piece in self.pieces]
        self.weights = [weight(device, v["width"], v["width"]) for _ in range(v["layers"])]

    def step(self):
        total = torch.zeros((), device=self.device)
        for piece in self.pieces:
            x = piece.to(self.device, non_blocking=self.changed).to(DTYPE)
            for one in self.weights:
                x = F.relu(F.linear(x, one))
            total += x[0, 0]
        return total


class Features:
    """Many small inputs beside a large product, copied one by one from pinned memory. Changed: as one."""

    COUNT, WIDTH = 64, 4096

    def __init__(self, v, device):
        self.device, self.changed = device, v["changed"]
        self.packed = torch.randn(self.COUNT, self.WIDTH)
        self.features = [torch.randn(self.WIDTH) for _ in range(self.COUNT)]
        if device == "cuda":
            self.packed, self.features = self.packed.pin_memory(), [one.pin_memory() for one in self.features]
        self.weights = [weight(device, v["width"], v["width"]) for _ in range(v["layers"])]
        self.x = torch.randn(v["batch"], v["width"], device=device, dtype=DTYPE)

    def step(self):
        if self.changed:
            features = self.packed.to(self.device, non_blocking=True)
        else:
            features = torch.stack([one.to(self.device, non_blocking=True) for one in self.features])
        x = self.x
        for one in self.weights:
            x = F.relu(F.linear(x, one))
        return x[0, 0] + features[0, 0]


class Convolutions:
    """Convolutions of tensors in NCHW, which the kernels turn into NHWC and back. Changed: channels_last throughout."""

    def __init__(self, v, device):
        layout = torch.channels_last if v["changed"] else torch.contiguous_format
        n = v["width"]
        self.x = torch.randn(v["batch"], n, 56, 56, device=device, dtype=DTYPE).to(memory_format=layout)
        self.weights = [
            (torch.randn(n, n, 3, 3, device=device, dtype=DTYPE) / (3 * n**0.5)).to(memory_format=layout)
            for _ in range(v["layers"])
        ]

    def step(self):
        x = self.x
        for one in self.weights:
            x = F.relu(F.conv2d(x, one, padding=1))
        return x[0, 0, 0, 0]


class Heads:
    """Independent products of one size, one by one. Changed: as one batch."""

    COUNT = 64

    def __init__(self, v, device):
        self.changed = v["changed"]
        self.a, self.b = (torch.randn(self.COUNT, v["width"], v["width"], device=device, dtype=DTYPE) for _ in range(2))

    def step(self):
        if self.changed:
            return torch.bmm(self.a, self.b)[0, 0, 0]
        for i in range(self.COUNT):
            c = torch.mm(self.a[i], self.b[i])
        return c[0, 0]


class Constants:
    """The same constant made again for every use. Changed: made once."""

    COUNT = 160

    def __init__(self, v, device):
        self.device, self.width = device, v["width"]
        self.constant = self.make() if v["changed"] else None

    def make(self):
        return torch.full((self.width,), 0.5, device=self.device)

    def step(self):
        total = torch.zeros(self.width, device=self.device)
        for _ in range(self.COUNT):
            total += self.make() if self.constant is None else self.constant
        return total[0]


class Items(Dataset):
    """Takes the host about 60 us for each."""

    def __init__(self, width):
        self.width = width

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return torch.randperm(4 * self.width)[: self.width].float()


class Loading:
    """Batches from a DataLoader in the process itself. Changed: from four workers."""

    def __init__(self, v, device):
        self.device = device
        self.loader = iter(DataLoader(Items(v["width"]), batch_size=64, num_workers=4 if v["changed"] else 0))
        self.repeats = v["batch"] // 64
        self.weights = [weight(device, v["width"], v["width"]) for _ in range(v["layers"])]

    def step(self):
        x = next(self.loader).to(self.device).to(DTYPE).repeat(self.repeats, 1) / 4096
        for one in self.weights:
            x = F.relu(F.linear(x, one))
        return x[0, 0]


WORK = {
    "pointwise": Pointwise,
    "activation": TrainActivation,
    "epilogue": Epilogue,
    "casts": Casts,
    "pieces": Pieces,
    "features": Features,
    "conv": Convolutions,
    "heads": Heads,
    "constants": Constants,
    "loading": Loading,
}
