#!/usr/bin/env python3
"""Twelve more programs like those of programs.py, of other kinds and with other inefficiencies.

usage: second.py list
       second.py NAME [--fixed] [--steps N] [--window | --torch FILE | --jax FILE]

See running.py.
"""

from running import CUDA, main, program


@program("transformers", "speculative decoding checks eight drafted tokens one at a time", "one call for all of them", "repeated_work", "batching")
def speculation(fixed):
    import torch
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16, num_key_value_heads=4
    )
    model = LlamaForCausalLM(config).to(CUDA).eval()
    prompt = torch.randint(0, 32000, (1, 512), device=CUDA)
    cache = DynamicCache()

    @torch.no_grad()
    def best_after(tokens):
        """The model's choice after each of TOKENS."""
        ids = torch.tensor([tokens], device=CUDA)
        return model(input_ids=ids, past_key_values=cache, use_cache=True).logits[0].argmax(-1).tolist()

    with torch.no_grad():
        last = model(input_ids=prompt, past_key_values=cache, use_cache=True).logits[0, -1].argmax().item()
    draft = [last]
    while len(draft) < 8:
        draft += best_after(draft[-1:])
    cache.crop(512)

    def check_each():
        chosen = []
        for i, token in enumerate(draft):
            chosen += best_after([token])
            if i + 1 < len(draft) and chosen[-1] != draft[i + 1]:
                break
        return chosen

    def check_all():
        chosen = best_after(draft)
        right = 0
        while right + 1 < len(draft) and chosen[right] == draft[right + 1]:
            right += 1
        return chosen[: right + 1]

    def step():
        chosen = check_all() if fixed else check_each()
        cache.crop(512)
        return chosen

    return step


@program("torch", "PPO: advantages are computed backwards, one time step of 64 environments after the other", "all time steps at once, as a scan", "repeated_work", "batching")
def advantages(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    steps, environments, gamma, smoothing = 256, 64, 0.99, 0.95
    observations = torch.randn(steps + 1, environments, 24, device=CUDA)
    rewards = torch.randn(steps, environments, device=CUDA)
    dones = (torch.rand(steps + 1, environments, device=CUDA) < 0.01).float()
    actions = torch.randint(0, 6, (steps * environments,), device=CUDA)
    body = nn.Sequential(nn.Linear(24, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh()).to(CUDA)
    policy, critic = nn.Linear(128, 6).to(CUDA), nn.Linear(128, 1).to(CUDA)
    optimizer = torch.optim.Adam([*body.parameters(), *policy.parameters(), *critic.parameters()], lr=1e-4)

    def one_by_one(values):
        result = torch.zeros_like(rewards)
        last = 0
        for t in reversed(range(steps)):
            goes_on = 1.0 - dones[t + 1]
            delta = rewards[t] + gamma * values[t + 1] * goes_on - values[t]
            result[t] = last = delta + gamma * smoothing * goes_on * last
        return result

    def scan(values):
        goes_on = 1.0 - dones[1:]
        total = rewards + gamma * values[1:] * goes_on - values[:-1]
        weight = gamma * smoothing * goes_on
        ahead = 1
        while ahead < steps:
            total = torch.cat([total[:-ahead] + weight[:-ahead] * total[ahead:], total[-ahead:]])
            weight = torch.cat([weight[:-ahead] * weight[ahead:], torch.zeros_like(weight[-ahead:])])
            ahead *= 2
        return total

    def update():
        with torch.no_grad():
            values = critic(body(observations))[..., 0]
            advantage = (scan if fixed else one_by_one)(values)
            goal = (advantage + values[:-1]).flatten()
            old = policy(body(observations[:-1].flatten(0, 1))).log_softmax(-1).gather(1, actions[:, None])[:, 0]
        seen, advantage = observations[:-1].flatten(0, 1), advantage.flatten()
        for index in torch.randperm(len(seen), device=CUDA).chunk(4):
            hidden = body(seen[index])
            ratio = (policy(hidden).log_softmax(-1).gather(1, actions[index, None])[:, 0] - old[index]).exp()
            a = (advantage[index] - advantage[index].mean()) / (advantage[index].std() + 1e-8)
            loss = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2)).mean() + 0.5 * F.mse_loss(critic(hidden)[:, 0], goal[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return goal

    return update


@program("torch_geometric", "the features of sampled neighbours are collected on the host and copied", "the features lie on the GPU", "input_stall")
def neighbours(fixed):
    import numpy as np
    import torch
    from torch.nn import functional as F
    from torch_geometric.nn import SAGEConv

    nodes, width, fanout = 500000, 256, 10
    random = np.random.default_rng(0)
    edges = random.integers(0, nodes, (nodes, 15))
    features, labels = torch.randn(nodes, width), torch.randint(0, 40, (nodes,))
    if fixed:
        features, labels = features.to(CUDA), labels.to(CUDA)
    first, second = SAGEConv(width, 256).to(CUDA), SAGEConv(256, 40).to(CUDA)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-3)

    def some_of(wanted):
        """FANOUT neighbours of each of WANTED, and the edges from them."""
        found = edges[wanted[:, None], random.integers(0, 15, (len(wanted), fanout))]
        return found.reshape(-1), np.repeat(wanted, fanout)

    def sample():
        seeds = random.choice(nodes, 1024, replace=False)
        sources, targets = some_of(seeds)
        near = np.unique(np.concatenate([seeds, sources]))
        more, those = some_of(near)
        known, place = np.unique(np.concatenate([seeds, sources, targets, more, those]), return_inverse=True)
        inner = 1024 + len(sources)
        graph = np.concatenate([np.stack([place[1024:inner], place[inner : inner + len(targets)]]),
                                np.stack([place[inner + len(targets) :][: len(more)], place[inner + len(targets) + len(more) :]])], 1)  # fmt: skip
        return seeds, torch.from_numpy(known), torch.from_numpy(place[:1024].copy()), torch.from_numpy(graph)

    def train():
        seeds, known, at, graph = sample()
        seeds = torch.from_numpy(seeds)
        if fixed:
            known, seeds = known.to(CUDA), seeds.to(CUDA)
        x, y = features[known].to(CUDA), labels[seeds].to(CUDA)
        at, graph = at.to(CUDA), graph.to(CUDA)
        loss = F.cross_entropy(second(F.relu(first(x, graph)), graph)[at], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torchaudio", "spectrograms of a batch of sound are computed on the host", "the sound is copied, and the GPU computes them", "routing", "input_stall")
def spectrograms(fixed):
    import torch
    import torchaudio
    from torch import nn
    from torch.nn import functional as F

    mel = torchaudio.transforms.MelSpectrogram(16000, n_fft=512, hop_length=160, n_mels=80)
    sound = torch.randn(256, 128000)
    if fixed:
        mel = mel.to(CUDA)

    class Recognizer(nn.Module):
        def __init__(self):
            super().__init__()
            self.subsample = nn.Sequential(nn.Conv1d(80, 256, 3, 2, 1), nn.GELU(), nn.Conv1d(256, 256, 3, 2, 1), nn.GELU())
            layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
            self.letters = nn.Linear(256, 32)

        def forward(self, x):
            return self.letters(self.layers(self.subsample(x).transpose(1, 2))).log_softmax(-1)

    model = Recognizer().to(CUDA)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    text = torch.randint(1, 32, (32, 40), device=CUDA)
    lengths = torch.full((32,), 40)
    generator = torch.Generator().manual_seed(1)

    def train():
        x = sound[torch.randint(0, len(sound), (32,), generator=generator)]
        if fixed:
            x = x.to(CUDA)
        x = (mel(x) + 1e-6).log().to(CUDA)
        with torch.autocast("cuda", torch.bfloat16):
            letters = model(x).float()
        frames = torch.full((32,), letters.shape[1])
        loss = F.ctc_loss(letters.transpose(0, 1), text, frames, lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "a table's 64 columns have a layer each, called one after the other", "one product for all columns", "repeated_work", "batching")
def columns(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    n, width = 64, 96

    class Each(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(1, width) for _ in range(n))

        def forward(self, x):
            return torch.stack([F.relu(layer(x[:, i : i + 1])) for i, layer in enumerate(self.layers)], 1)

    class All(nn.Module):
        def __init__(self):
            super().__init__()
            layers = [nn.Linear(1, width) for _ in range(n)]
            self.weight = nn.Parameter(torch.stack([layer.weight[:, 0] for layer in layers]).detach())
            self.bias = nn.Parameter(torch.stack([layer.bias for layer in layers]).detach())

        def forward(self, x):
            return F.relu(x[:, :, None] * self.weight + self.bias)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = All() if fixed else Each()
            layer = nn.TransformerEncoderLayer(width, 4, 192, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(width, 1)

        def forward(self, x):
            return self.head(self.layers(self.tokens(x)).mean(1))[:, 0]

    model = Model().to(CUDA)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x, y = torch.randn(256, n, device=CUDA), torch.randn(256, device=CUDA)

    def train():
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("jax", "waves: a Python loop calls a compiled time step 100 times", "`jax.lax.scan` over the time steps, compiled as one", "low_utilisation", "cuda_graph", "compile")
def waves(fixed):
    import jax
    import jax.numpy as jnp

    n = 256
    x = jnp.linspace(-1.0, 1.0, n)
    speed = 1.0 + 0.5 * jnp.exp(-8.0 * (x[:, None] ** 2 + x[None, :] ** 2))
    start = (jnp.exp(-3.0 * ((x[:, None] - 0.3) ** 2 + x[None, :] ** 2)), jnp.zeros((n, n)))

    def advance(state):
        u, v = state
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        v = 0.999 * v + 0.2 * speed**2 * (around - 4.0 * u)
        return u + 0.2 * v, v

    one = jax.jit(advance)
    all_steps = jax.jit(lambda state: jax.lax.scan(lambda s, _: (advance(s), None), state, None, length=100)[0])

    def simulate():
        state = start
        if fixed:
            state = all_steps(state)
        else:
            for _ in range(100):
                state = one(state)
        return jax.block_until_ready(state)[0]

    return simulate


@program("triton", "bias, GELU, dropout and residual are a kernel each", "one kernel", "fusion")
def activations(fixed):
    import torch
    from pointwise import fused, separate

    x, residual = (torch.randn(8192, 8192, device=CUDA, dtype=torch.float16) for _ in range(2))
    bias = torch.randn(8192, device=CUDA, dtype=torch.float16)

    @torch.no_grad()
    def step():
        y = x
        for seed in range(10, 14):
            y = (fused if fixed else separate)(y, bias, residual, 0.1, seed)
        return y[0]

    return step


@program("torch", "a diffusion sampler limits and updates the image with NumPy, on the host", "the same arithmetic on the GPU", "round_trip", "routing")
def sampler(fixed):
    import numpy as np
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.body = nn.Sequential(nn.GroupNorm(8, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1),
                                      nn.GroupNorm(8, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1))  # fmt: skip
            self.skip = nn.Conv2d(inputs, outputs, 1)

        def forward(self, x):
            return self.body(x) + self.skip(x)

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Embedding(1000, 64)
            self.first = nn.Conv2d(3, 64, 3, padding=1)
            self.down, self.middle, self.up = Block(64, 128), Block(128, 128), Block(192, 64)
            self.last = nn.Conv2d(64, 3, 3, padding=1)

        def forward(self, x, t):
            h = self.first(x) + self.time(t)[:, :, None, None]
            low = self.middle(self.down(nn.functional.avg_pool2d(h, 2)))
            return self.last(self.up(torch.cat([h, nn.functional.interpolate(low, scale_factor=2)], 1)))

    model = Denoiser().to(CUDA, memory_format=torch.channels_last).half().eval()
    noise = torch.randn(16, 3, 128, 128)
    kept = np.linspace(0.9999, 0.01, 1000, dtype=np.float32)
    times = [int(t) for t in np.linspace(999, 0, 13)]

    def by_numpy(x, e, t, to):
        e = e.cpu().numpy()
        clean = (x - np.sqrt(1 - kept[t]) * e) / np.sqrt(kept[t])
        limit = np.quantile(np.abs(clean).reshape(len(x), -1), 0.995, axis=1).astype(np.float32)
        limit = np.maximum(limit, 1)[:, None, None, None]
        return np.sqrt(kept[to]) * np.clip(clean, -limit, limit) / limit + np.sqrt(1 - kept[to]) * e

    def by_torch(x, e, t, to):
        now, then = float(kept[t]), float(kept[to])
        clean = (x - (1 - now) ** 0.5 * e) / now**0.5
        limit = torch.quantile(clean.abs().flatten(1), 0.995, dim=1).clamp(min=1)[:, None, None, None]
        return then**0.5 * torch.maximum(torch.minimum(clean, limit), -limit) / limit + (1 - then) ** 0.5 * e

    @torch.no_grad()
    def sample():
        x = noise.to(CUDA) if fixed else noise.numpy()
        for t, to in zip(times, times[1:]):
            given = (x if fixed else torch.from_numpy(x).to(CUDA)).half().contiguous(memory_format=torch.channels_last)
            e = model(given, torch.full((len(x),), t, device=CUDA)).float()
            x = (by_torch if fixed else by_numpy)(x, e, t, to)
        return x[0, 0]

    return sample


@program("gpytorch", "a Gaussian process for each of ten outputs, one after the other", "one batch of Gaussian processes", "repeated_work", "batching")
def outputs(fixed):
    import gpytorch
    import torch

    n, tasks = 256, 10
    x = torch.rand(n, 4, device=CUDA)
    y = torch.sin(6 * x @ torch.randn(4, tasks, device=CUDA)).T + 0.1 * torch.randn(tasks, n, device=CUDA)

    class Process(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood, batch):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean(batch_shape=batch)
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=4, batch_shape=batch), batch_shape=batch)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    def made(x, y, batch):
        likelihood = gpytorch.likelihoods.GaussianLikelihood(batch_shape=batch).to(CUDA)
        model = Process(x, y, likelihood, batch).to(CUDA).train()
        return model, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood.train(), model), x, y

    if fixed:
        processes = [made(x.expand(tasks, n, 4).contiguous(), y, torch.Size([tasks]))]
    else:
        processes = [made(x, y[i], torch.Size([])) for i in range(tasks)]
    optimizer = torch.optim.Adam([p for model, *_ in processes for p in model.parameters()], lr=0.01)

    def train():
        loss = sum(-likely(model(x), y).sum() for model, likely, x, y in processes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "two towers: the gradient of an embedding of 4 million items is dense", "`sparse=True`")
def towers(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    users, items = (nn.Embedding(n, 64, sparse=fixed).to(CUDA) for n in (1000000, 4000000))
    deep = nn.ModuleList(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)) for _ in range(2)).to(CUDA)
    optimizer = torch.optim.SGD([*users.parameters(), *items.parameters(), *deep.parameters()], lr=0.05)
    user, item = torch.randint(0, 1000000, (4096,), device=CUDA), torch.randint(0, 4000000, (4096,), device=CUDA)

    def train():
        u, i = F.normalize(deep[0](users(user)), dim=1), F.normalize(deep[1](items(item)), dim=1)
        loss = F.cross_entropy(u @ i.T / 0.1, torch.arange(len(u), device=CUDA))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("lightning", "metrics of training are computed and read in each step", "they are updated in each step, and computed after the epoch", "scalar_read")
def metrics(fixed):
    import torch
    import torchmetrics
    import torchvision
    from lightning_fabric import Fabric
    from torch.nn import functional as F
    from torchmetrics import classification as c

    try:
        from lightning_fabric import Fabric
    except ImportError:
        from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cuda", devices=1, precision="bf16-mixed")
    model = torchvision.models.resnet18(num_classes=50)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
    kept = torchmetrics.MetricCollection({
        "accuracy": c.MulticlassAccuracy(50), "f1": c.MulticlassF1Score(50), "kappa": c.MulticlassCohenKappa(50),
        "average": c.MulticlassAveragePrecision(50, thresholds=50), "area": c.MulticlassAUROC(50, thresholds=50),
    }).to(fabric.device)  # fmt: skip
    x, y = torch.randn(64, 3, 112, 112, device=CUDA), torch.randint(0, 50, (64,), device=CUDA)
    shown = {}

    def train():
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        scores = scores.detach().float().softmax(-1)
        if fixed:
            kept.update(scores, y)
        else:
            shown.update({name: value.item() for name, value in kept(scores, y).items()})
        return loss.detach()

    return train


@program("cupy", "spectra are cleaned and normalized row by row", "all rows at once", "repeated_work", "batching")
def spectra(fixed):
    import cupy as cp

    rows, width = 400, 8192
    random = cp.random.RandomState(0)
    x = random.standard_normal((rows, width)).astype(cp.float32) + cp.linspace(0, 5, width, dtype=cp.float32)
    at = cp.linspace(-1, 1, width, dtype=cp.float32)

    def row_by_row():
        result = cp.empty_like(x)
        for i in range(rows):
            y = x[i] - x[i].mean()
            y = y - at * (y * at).sum() / (at * at).sum()
            result[i] = y / cp.sqrt((y * y).mean())
        return result

    def all_rows():
        y = x - x.mean(axis=1, keepdims=True)
        y = y - at * (y * at).sum(axis=1, keepdims=True) / (at * at).sum()
        return y / cp.sqrt((y * y).mean(axis=1, keepdims=True))

    def step():
        result = (all_rows if fixed else row_by_row)()
        cp.cuda.Device().synchronize()
        return result[0]

    return step


if __name__ == "__main__":
    main()
