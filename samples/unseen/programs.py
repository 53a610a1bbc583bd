#!/usr/bin/env python3
"""Twelve small programs, each with one large inefficiency of a kind that people write, and the same program with the known fix.

usage: programs.py list
       programs.py NAME [--fixed] [--steps N] [--window | --torch FILE | --jax FILE]

See running.py.
"""

from running import CUDA, main, program


@program("transformers", "a reranker scores 24 documents of a request one after the other", "one padded batch", "repeated_work", "batching")
def serving(fixed):
    import random

    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

    config = XLMRobertaConfig(
        vocab_size=32000, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, num_labels=1, pad_token_id=1
    )
    model = XLMRobertaForSequenceClassification(config).half().to(CUDA).eval()
    rng = random.Random(0)
    documents = [[rng.randrange(5, 32000) for _ in range(rng.randrange(40, 200))] for _ in range(24)]

    @torch.no_grad()
    def score_each():
        scores = []
        for document in documents:
            ids = torch.tensor([document]).to(CUDA)
            scores.append(model(input_ids=ids).logits.item())
        return scores

    @torch.no_grad()
    def score_batch():
        longest = max(len(document) for document in documents)
        ids = torch.tensor([document + [1] * (longest - len(document)) for document in documents])
        mask = (ids != 1).long()
        return model(input_ids=ids.to(CUDA), attention_mask=mask.to(CUDA)).logits[:, 0].tolist()

    return score_batch if fixed else score_each


@program("torch", "soft actor-critic: an update of small networks is hundreds of launches", "the update as one CUDA graph", "cuda_graph")
def reinforcement(fixed):
    import copy

    import torch
    from torch import nn
    from torch.nn import functional as F

    def network(inputs, outputs):
        return nn.Sequential(nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, outputs)).to(CUDA)

    actor, q1, q2 = network(17, 12), network(23, 1), network(23, 1)
    q1_target, q2_target = copy.deepcopy(q1), copy.deepcopy(q2)
    log_alpha = torch.zeros(1, device=CUDA, requires_grad=True)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4, capturable=fixed)
    q_optimizer = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=3e-4, capturable=fixed)
    alpha_optimizer = torch.optim.Adam([log_alpha], lr=3e-4, capturable=fixed)
    size = 100000
    observations, next_observations = torch.randn(size, 17, device=CUDA), torch.randn(size, 17, device=CUDA)
    actions, rewards = torch.rand(size, 6, device=CUDA) * 2 - 1, torch.randn(size, 1, device=CUDA)
    dones = (torch.rand(size, 1, device=CUDA) < 0.01).float()

    def act(observation):
        mean, log_std = actor(observation).chunk(2, dim=-1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp(), validate_args=False)
        x = normal.rsample()
        action = torch.tanh(x)
        log_prob = normal.log_prob(x) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(1, keepdim=True)

    def update():
        index = torch.randint(0, size, (256,), device=CUDA)
        observation, action, next_observation = observations[index], actions[index], next_observations[index]
        with torch.no_grad():
            next_action, next_log_prob = act(next_observation)
            pair = torch.cat([next_observation, next_action], 1)
            value = torch.min(q1_target(pair), q2_target(pair)) - log_alpha.exp() * next_log_prob
            goal = rewards[index] + 0.99 * (1 - dones[index]) * value
        pair = torch.cat([observation, action], 1)
        q_loss = F.mse_loss(q1(pair), goal) + F.mse_loss(q2(pair), goal)
        q_optimizer.zero_grad()
        q_loss.backward()
        q_optimizer.step()

        new_action, log_prob = act(observation)
        pair = torch.cat([observation, new_action], 1)
        actor_loss = (log_alpha.exp().detach() * log_prob - torch.min(q1(pair), q2(pair))).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()

        alpha_loss = (-log_alpha.exp() * (log_prob.detach() - 6)).mean()
        alpha_optimizer.zero_grad()
        alpha_loss.backward()
        alpha_optimizer.step()

        with torch.no_grad():
            for online, target in ((q1, q1_target), (q2, q2_target)):
                for p, t in zip(online.parameters(), target.parameters()):
                    t.mul_(0.995).add_(0.005 * p)

    if not fixed:
        return update
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            update()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update()
    return graph.replay


@program("torch_geometric", "a message per edge is written to memory and read again", "the graph as a sparse matrix, whose product needs no messages", "graph_messages")
def graph_network(fixed):
    import torch
    from torch_geometric.nn import GraphSAGE
    from torch_geometric.utils import to_torch_csr_tensor

    nodes = 100000
    x = torch.randn(nodes, 128, device=CUDA)
    edges = torch.randint(0, nodes, (2, 2000000), device=CUDA)
    model = GraphSAGE(in_channels=128, hidden_channels=256, num_layers=3, out_channels=40).to(CUDA).eval()
    if fixed:
        edges = to_torch_csr_tensor(edges.flip(0), size=(nodes, nodes))

    @torch.no_grad()
    def embed():
        return model(x, edges)

    return embed


@program("transformers", "a transcript is decoded frame by frame from a tensor on the GPU", "`.tolist()` before the loop", "scalar_read")
def speech(fixed):
    import torch
    from transformers import HubertConfig, HubertForCTC

    letters = "-|ETAONIHSRDLUMWCFGYPBVK'XJQZ"
    model = HubertForCTC(HubertConfig(vocab_size=len(letters))).half().to(CUDA).eval()
    sound = torch.randn(4, 64000, device=CUDA, dtype=torch.float16)

    def decode(frames):
        text, last = "", -1
        for frame in frames:
            if frame != last and frame != 0:
                text += letters[frame]
            last = frame
        return text

    @torch.no_grad()
    def transcribe():
        best = model(sound).logits.argmax(-1)
        return [decode(frames) for frames in (best.tolist() if fixed else best)]

    return transcribe


@program("torch", "a DataLoader in the main process joins a batch from 2048 rows", "the rows lie on the GPU, and a batch is one lookup", "input_stall")
def tabular(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Rows(torch.utils.data.Dataset):
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __len__(self):
            return len(self.x)

        def __getitem__(self, i):
            return self.x[i], self.y[i]

    rows = 1000000
    x, y = torch.randn(rows, 40), torch.randint(0, 2, (rows,)).float()
    model = nn.Sequential(nn.Linear(40, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 512), nn.BatchNorm1d(512),
                          nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 1)).to(CUDA)  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def batches():
        loader = torch.utils.data.DataLoader(Rows(x, y), batch_size=2048, shuffle=True, drop_last=True)
        while True:
            for a, b in loader:
                yield a.to(CUDA), b.to(CUDA)

    def lookups():
        a, b = x.to(CUDA), y.to(CUDA)
        while True:
            for index in torch.randperm(rows, device=CUDA).split(2048):
                yield a[index], b[index]

    data = lookups() if fixed else batches()

    def train():
        features, labels = next(data)
        loss = F.binary_cross_entropy_with_logits(model(features)[:, 0], labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return train


@program("jax", "molecular dynamics: forces are compiled, the 50 time steps around them are not", "`jax.jit` on the loop, as `lax.fori_loop`", "compile", "cuda_graph")
def molecules(fixed):
    import jax
    import jax.numpy as jnp

    def energy(x):
        d = x[:, None, :] - x[None, :, :]
        r2 = jnp.sum(d * d, axis=-1) + 4.0 * jnp.eye(len(x))
        s6 = 1.0 / (r2 + 0.5) ** 3
        return jnp.sum(s6 * s6 - s6)

    def advance(x, v, f):
        v = v + 0.5 * 0.001 * f
        x = x + 0.001 * v
        x = x - 8.0 * jnp.round(x / 8.0)
        f = forces(x)
        v = v + 0.5 * 0.001 * f
        return x, v, f

    forces = jax.jit(lambda x: -jax.grad(energy)(x))
    x = jax.random.uniform(jax.random.PRNGKey(0), (512, 3), minval=-4.0, maxval=4.0)
    start = (x, jnp.zeros_like(x), forces(x))
    compiled = jax.jit(lambda state: jax.lax.fori_loop(0, 50, lambda _, s: advance(*s), state))

    def simulate():
        state = start
        if fixed:
            state = compiled(state)
        else:
            for _ in range(50):
                state = advance(*state)
        return jax.block_until_ready(state)

    return simulate


@program("triton", "instance normalization of 32 large volumes, one program for each", "many programs for each volume", "small_grid")
def volumes(fixed):
    import torch
    from torch.nn import functional as F
    from volume_norm import norm_split, norm_whole

    norm = norm_split if fixed else norm_whole
    volume = torch.randn(2, 16, 128, 128, 128, device=CUDA, dtype=torch.float16)

    @torch.no_grad()
    def step():
        x = volume
        for _ in range(4):
            x = F.silu(norm(x))
        return x

    return step


@program("torch", "a diffusion transformer samples in float32 without TF32", "`torch.set_float32_matmul_precision(\"high\")`", "tensor_cores")
def diffusion(fixed):
    import torch
    from torch import nn

    torch.set_float32_matmul_precision("high" if fixed else "highest")

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(4, 768, 2, stride=2)
            self.position = nn.Parameter(torch.randn(1, 256, 768) * 0.02)
            self.time = nn.Embedding(1000, 768)
            layer = nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
            self.out = nn.Linear(768, 16)

        def forward(self, x, t):
            h = self.patches(x).flatten(2).transpose(1, 2) + self.position + self.time(t)[:, None]
            h = self.out(self.layers(h)).view(-1, 16, 16, 4, 2, 2)
            return h.permute(0, 3, 1, 4, 2, 5).reshape(-1, 4, 32, 32)

    model = Denoiser().to(CUDA).eval()
    noise = torch.randn(16, 4, 32, 32, device=CUDA)
    kept = torch.linspace(0.99, 0.01, 1000, device=CUDA)

    @torch.no_grad()
    def sample():
        x = noise
        for noisy, cleaner in ((999, 749), (749, 499), (499, 249), (249, 0)):
            t = torch.full((16,), noisy, device=CUDA)
            e = model(x, t)
            clean = (x - (1 - kept[noisy]).sqrt() * e) / kept[noisy].sqrt()
            x = kept[cleaner].sqrt() * clean + (1 - kept[cleaner]).sqrt() * e
        return x

    return sample


@program("torch", "26 tables of embeddings are looked up and updated one after the other", "one table with offsets", "repeated_work", "batching")
def recommendation(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 64), nn.ReLU())
            if fixed:
                self.table = nn.EmbeddingBag(26 * 10000, 64, mode="sum")
                self.register_buffer("offsets", torch.arange(26) * 10000)
            else:
                self.tables = nn.ModuleList(nn.EmbeddingBag(10000, 64, mode="sum") for _ in range(26))
            self.top = nn.Sequential(nn.Linear(64 + 351, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))
            self.register_buffer("pairs", torch.tril_indices(27, 27, -1))

        def forward(self, numbers, ids):
            d = self.dense(numbers)
            if fixed:
                e = self.table((ids + self.offsets).view(-1, 1)).view(-1, 26, 64)
                rows = torch.cat([d[:, None], e], 1)
            else:
                e = [table(ids[:, i : i + 1]) for i, table in enumerate(self.tables)]
                rows = torch.stack([d, *e], 1)
            products = torch.bmm(rows, rows.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
            return self.top(torch.cat([d, products], 1))[:, 0]

    model = Model().to(CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    numbers, ids = torch.randn(2048, 13, device=CUDA), torch.randint(0, 10000, (2048, 26), device=CUDA)
    clicked = torch.randint(0, 2, (2048,), device=CUDA).float()

    def train():
        loss = F.binary_cross_entropy_with_logits(model(numbers, ids), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return train


@program("cupy", "N bodies: a Python loop over the bodies", "all pairs at once", "repeated_work", "batching")
def bodies(fixed):
    import cupy as cp

    n = 256
    random = cp.random.RandomState(0)
    position = random.standard_normal((n, 3)).astype(cp.float32)
    velocity = cp.zeros((n, 3), cp.float32)
    mass = random.uniform(0.5, 1.5, n).astype(cp.float32)

    def accelerations_each():
        a = cp.empty_like(position)
        for i in range(n):
            d = position - position[i]
            r2 = (d * d).sum(axis=1) + 0.01
            a[i] = (mass[:, None] * d / r2[:, None] ** 1.5).sum(axis=0)
        return a

    def accelerations_all():
        d = position[None, :, :] - position[:, None, :]
        r2 = (d * d).sum(axis=2) + 0.01
        return (mass[None, :, None] * d / r2[:, :, None] ** 1.5).sum(axis=1)

    accelerations = accelerations_all if fixed else accelerations_each

    def step():
        velocity[...] += 1e-4 * accelerations()
        position[...] += 1e-4 * velocity
        cp.cuda.Device().synchronize()

    return step


@program("torch", "an LSTM of cuDNN is called for each of 96 time steps", "one call for the sequence", "repeated_work")
def series(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Forecast(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(16, 128, batch_first=True)
            self.head = nn.Linear(128, 1)

        def forward(self, x):
            if fixed:
                hidden, _ = self.lstm(x)
                return self.head(hidden)
            outputs, state = [], None
            for t in range(x.shape[1]):
                hidden, state = self.lstm(x[:, t : t + 1], state)
                outputs.append(self.head(hidden))
            return torch.cat(outputs, 1)

    model = Forecast().to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(256, 96, 16, device=CUDA), torch.randn(256, 96, 1, device=CUDA)

    def train():
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return train


@program("torchvision", "contrastive learning: the host makes float32 images of bytes", "the bytes are copied, and the GPU converts them", "routing", "input_stall")
def contrastive(fixed):
    import numpy as np
    import torch
    import torchvision
    from torch.nn import functional as F

    random = np.random.default_rng(0)
    images = random.integers(0, 256, (512, 160, 160, 3), dtype=np.uint8)
    where = CUDA if fixed else "cpu"
    mean = torch.tensor([0.485, 0.456, 0.406], device=where).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225], device=where).view(3, 1, 1)
    model = torchvision.models.resnet18(num_classes=128).to(CUDA, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def batch():
        x = torch.from_numpy(images[random.integers(0, len(images), 256)])
        if fixed:
            x = x.to(CUDA)
        x = x.permute(0, 3, 1, 2).float() / 255
        return ((x - mean) / std).to(CUDA)

    def view(x):
        top, left = random.integers(0, 32, 2)
        x = x[:, :, top : top + 128, left : left + 128]
        x = x.flip(3) if random.random() < 0.5 else x
        return x * (0.8 + 0.4 * torch.rand(len(x), 1, 1, 1, device=CUDA))

    def train():
        x = batch()
        with torch.autocast("cuda", torch.bfloat16):
            z = F.normalize(model(torch.cat([view(x), view(x)])), dim=1)
            likeness = (z @ z.T / 0.1).float()
        itself = torch.eye(len(z), dtype=torch.bool, device=CUDA)
        other = torch.arange(len(z), device=CUDA).roll(len(z) // 2)
        loss = F.cross_entropy(likeness.masked_fill(itself, float("-inf")), other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return train


if __name__ == "__main__":
    main()
