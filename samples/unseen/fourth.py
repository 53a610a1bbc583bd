#!/usr/bin/env python3
"""Twelve programs more, like those of programs.py, second.py and third.py, with other inefficiencies.

usage: fourth.py list
       fourth.py NAME [--fixed] [--steps N] [--window | --torch FILE | --jax FILE]

See running.py.
"""

from running import CUDA, main, program


@program("transformers", "a classifier ends each request with `gc.collect()` and `torch.cuda.empty_cache()`", "the request ends without them", "step_end")
def requests(fixed):
    import gc
    import random

    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification

    model = RobertaForSequenceClassification(RobertaConfig(num_labels=8, max_position_embeddings=514)).half().to(CUDA).eval()
    rng = random.Random(0)
    texts = [[rng.randrange(1000, 30000) for _ in range(256)] for _ in range(32)]

    @torch.no_grad()
    def answer():
        ids = torch.tensor(texts).to(CUDA)
        scores = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.float().softmax(-1).cpu()
        if not fixed:
            gc.collect()
            torch.cuda.empty_cache()
        return scores

    return answer


@program("torch", "PPO: autograd's anomaly detection, switched on to debug, was left on", "it is switched off", "anomaly_detection")
def policy(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.autograd.set_detect_anomaly(not fixed)
    n, parts, actions = 2048, 4, 8

    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
            self.actor, self.critic = nn.Linear(256, actions), nn.Linear(256, 1)

        def forward(self, seen):
            h = self.body(seen)
            return F.log_softmax(self.actor(h), -1), self.critic(h)[:, 0]

    agent = Agent().to(CUDA)
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4)
    seen, chosen = torch.randn(n, 64, device=CUDA), torch.randint(0, actions, (n, 1), device=CUDA)
    advantages, returns = torch.randn(n, device=CUDA), torch.randn(n, device=CUDA)
    with torch.no_grad():
        before = agent(seen)[0].gather(1, chosen)[:, 0]

    def update():
        losses = []
        for part in torch.randperm(n, device=CUDA).chunk(parts):
            logs, values = agent(seen[part])
            ratio = (logs.gather(1, chosen[part])[:, 0] - before[part]).exp()
            gain = torch.min(ratio * advantages[part], ratio.clamp(0.8, 1.2) * advantages[part]).mean()
            spread = -(logs.exp() * logs).sum(-1).mean()
            loss = -gain + 0.5 * F.mse_loss(values, returns[part]) - 0.01 * spread
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    return update


@program("torch_geometric", "point clouds: each of six layers finds the nearest points again, from the same positions", "they are found once for all layers")
def clouds(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch_geometric.nn import SAGEConv

    n, points, near, wide = 8, 4096, 16, 64
    positions = torch.rand(n, points, 3, device=CUDA)
    kinds = torch.randint(0, 40, (n,), device=CUDA)
    to = torch.arange(n * points, device=CUDA).repeat_interleave(near)
    first = (torch.arange(n, device=CUDA) * points)[:, None, None]

    def neighbours():
        found = torch.cdist(positions, positions).topk(near, largest=False).indices + first
        return torch.stack([found.flatten(), to])

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.points = nn.Linear(3, wide)
            self.layers = nn.ModuleList(SAGEConv(wide, wide) for _ in range(6))
            self.head = nn.Linear(wide, 40)

        def forward(self):
            h = self.points(positions.view(-1, 3))
            edges = neighbours() if fixed else None
            for layer in self.layers:
                h = h + F.relu(layer(h, edges if fixed else neighbours()))
            return self.head(h.view(n, points, wide).mean(1))

    model = Model().to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train():
        loss = F.cross_entropy(model(), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("transformers", "wav2vec 2.0: only a new head is trained, but gradients go through the whole encoder", "the encoder runs under `torch.no_grad`")
def keywords(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    encoder = Wav2Vec2Model(Wav2Vec2Config()).to(CUDA).eval()
    head = nn.Sequential(nn.Linear(768, 256), nn.ReLU(), nn.Linear(256, 35)).to(CUDA)
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
    sound, words = torch.randn(32, 80000, device=CUDA), torch.randint(0, 35, (32,), device=CUDA)

    def train():
        with torch.set_grad_enabled(not fixed), torch.autocast(CUDA, torch.bfloat16):
            hidden = encoder(sound).last_hidden_state
        loss = F.cross_entropy(head(hidden.float().mean(1)), words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "private training on a table: a backward pass for each row, to clip its gradient", "`torch.func.vmap` of the gradient, for all rows", "repeated_work", "batching")
def private(fixed):
    import torch
    from torch import nn
    from torch.func import functional_call, grad_and_value, vmap
    from torch.nn import functional as F

    rows, most, rate = 64, 1.0, 0.1
    model = nn.Sequential(nn.Linear(40, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2)).to(CUDA)
    names, weights = zip(*model.named_parameters())
    x, y = torch.randn(rows, 40, device=CUDA), torch.randint(0, 2, (rows,), device=CUDA)

    def each():
        total, losses = [torch.zeros_like(w) for w in weights], []
        for i in range(rows):
            loss = F.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
            found = torch.autograd.grad(loss, weights)
            norm = torch.stack([g.norm() for g in found]).norm()
            factor = (most / (norm + 1e-6)).clamp(max=1)
            for t, g in zip(total, found):
                t += factor * g
            losses.append(loss.detach())
        return total, torch.stack(losses)

    def loss_of(given, row, label):
        return F.cross_entropy(functional_call(model, given, (row[None],)), label[None])

    of_rows = vmap(grad_and_value(loss_of), in_dims=(None, 0, 0))

    def together():
        found, losses = of_rows({name: w.detach() for name, w in zip(names, weights)}, x, y)
        found = [found[name] for name in names]
        norm = torch.stack([g.flatten(1).norm(dim=1) for g in found]).norm(dim=0)
        factor = (most / (norm + 1e-6)).clamp(max=1)
        return [torch.einsum("r,r...->...", factor, g) for g in found], losses

    def train():
        total, losses = together() if fixed else each()
        with torch.no_grad():
            for w, g in zip(weights, total):
                w -= rate * (g + 0.5 * most * torch.randn_like(g)) / rows
        return torch.cat([torch.stack([g.norm() for g in total]), losses])

    return train


@program("jax", "Monte Carlo for a regression: the data are a NumPy array, which each call of the compiled function copies", "`jax.device_put` of the data, once", "input_stall")
def regression(fixed):
    import itertools

    import jax
    import jax.numpy as jnp
    import numpy as np

    rows, columns, rate = 131072, 256, 1e-3
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, columns), dtype=np.float32)
    y = (x[:, 0] + random.standard_normal(rows, dtype=np.float32) > 0).astype(np.float32)
    if fixed:
        x, y = jax.device_put(x), jax.device_put(y)

    def energy(weights, x, y):
        scores = x @ weights
        return jnp.sum(jax.nn.softplus(scores) - y * scores) + 0.5 * jnp.sum(weights**2)

    @jax.jit
    def propose(key, weights, x, y):
        slope = jax.grad(energy)
        start = jax.random.normal(key, weights.shape)

        def leap(_, state):
            at, momentum = state
            at = at + rate * momentum
            return at, momentum - rate * slope(at, x, y)

        at, momentum = jax.lax.fori_loop(0, 40, leap, (weights, start - rate / 2 * slope(weights, x, y)))
        momentum = momentum + rate / 2 * slope(at, x, y)
        change = energy(weights, x, y) - energy(at, x, y) + 0.5 * (jnp.sum(start**2) - jnp.sum(momentum**2))
        return jnp.where(jnp.log(jax.random.uniform(jax.random.fold_in(key, 1))) < change, at, weights)

    keys, state = itertools.count(), [jnp.zeros(columns)]

    def sample():
        state[0] = jax.block_until_ready(propose(jax.random.PRNGKey(next(keys)), state[0], x, y))
        return state[0]

    return sample


@program("triton", "linear layers with ReLU are computed in tiles of 32 by 32", "tiles of 128 by 128, by eight warps")
def tiles(fixed):
    import torch
    from linear_relu import large_tiles, small_tiles

    linear = large_tiles if fixed else small_tiles
    rows, wide = 8192, 4096
    x = torch.randn(rows, wide, device=CUDA, dtype=torch.float16)
    layers = [
        (torch.randn(wide, wide, device=CUDA, dtype=torch.float16) * (2 / wide) ** 0.5, torch.zeros(wide, device=CUDA, dtype=torch.float16))
        for _ in range(8)
    ]

    @torch.no_grad()
    def step():
        h = x
        for weight, bias in layers:
            h = linear(h, weight, bias)
        return h[0]

    return step


@program("torchvision", "a ResNet-50 is trained in float32", "autocast to bfloat16, with images and weights in `channels_last`", "layout_churn", "low_precision")
def photographs(fixed):
    import torch
    from torch.nn import functional as F
    from torchvision.models import resnet50

    model = resnet50().to(CUDA)
    images, kinds = torch.randn(64, 3, 224, 224, device=CUDA), torch.randint(0, 1000, (64,), device=CUDA)
    if fixed:
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def train():
        with torch.autocast(CUDA, torch.bfloat16, enabled=fixed):
            scores = model(images)
        loss = F.cross_entropy(scores.float(), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("cupy", "Hodgkin-Huxley neurons: each operation of the formulas is a kernel and an array of 16 million", "one `cupy.ElementwiseKernel`", "fusion")
def neurons(fixed):
    import cupy as cp

    n, dt = 1 << 24, 0.01
    random = cp.random.RandomState(0)
    v = random.uniform(-70, -55, n).astype(cp.float32)
    state = [v, *(cp.full(n, share, dtype=cp.float32) for share in (0.05, 0.6, 0.32))]
    drive = random.uniform(0, 15, n).astype(cp.float32)

    def formulas(v, m, h, k):
        m_opens, m_closes = 0.1 * (v + 40) / (1 - cp.exp(-(v + 40) / 10)), 4 * cp.exp(-(v + 65) / 18)
        h_opens, h_closes = 0.07 * cp.exp(-(v + 65) / 20), 1 / (1 + cp.exp(-(v + 35) / 10))
        k_opens, k_closes = 0.01 * (v + 55) / (1 - cp.exp(-(v + 55) / 10)), 0.125 * cp.exp(-(v + 65) / 80)
        current = 120 * m**3 * h * (v - 50) + 36 * k**4 * (v + 77) + 0.3 * (v + 54.4)
        return [
            v + dt * (drive - current),
            m + dt * (m_opens * (1 - m) - m_closes * m),
            h + dt * (h_opens * (1 - h) - h_closes * h),
            k + dt * (k_opens * (1 - k) - k_closes * k),
        ]

    kernel = cp.ElementwiseKernel(
        "float32 v, float32 m, float32 h, float32 k, float32 drive, float32 dt",
        "float32 v_next, float32 m_next, float32 h_next, float32 k_next",
        """
        float m_opens = 0.1f * (v + 40.0f) / (1.0f - expf(-(v + 40.0f) / 10.0f)), m_closes = 4.0f * expf(-(v + 65.0f) / 18.0f);
        float h_opens = 0.07f * expf(-(v + 65.0f) / 20.0f), h_closes = 1.0f / (1.0f + expf(-(v + 35.0f) / 10.0f));
        float k_opens = 0.01f * (v + 55.0f) / (1.0f - expf(-(v + 55.0f) / 10.0f)), k_closes = 0.125f * expf(-(v + 65.0f) / 80.0f);
        float current = 120.0f * m * m * m * h * (v - 50.0f) + 36.0f * k * k * k * k * (v + 77.0f) + 0.3f * (v + 54.4f);
        v_next = v + dt * (drive - current);
        m_next = m + dt * (m_opens * (1.0f - m) - m_closes * m);
        h_next = h + dt * (h_opens * (1.0f - h) - h_closes * h);
        k_next = k + dt * (k_opens * (1.0f - k) - k_closes * k);
        """,
        "hodgkin_huxley",
    )

    def step():
        for _ in range(4):
            state[:] = kernel(*state, drive, cp.float32(dt)) if fixed else formulas(*state)
        cp.cuda.Device().synchronize()
        return state[0][:64]

    return step


@program("torch", "latent diffusion: training encodes the same images anew by the frozen autoencoder", "their latents are computed once, before training")
def latents(fixed):
    import itertools

    import torch
    from torch import nn
    from torch.nn import functional as F

    n, batches, wide, patches = 32, 4, 512, 256

    def stage(inside, outside):
        return [nn.Conv2d(inside, outside, 3, 2, 1), nn.GroupNorm(32, outside), nn.SiLU(), nn.Conv2d(outside, outside, 3, 1, 1),
                nn.GroupNorm(32, outside), nn.SiLU()]  # fmt: skip

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(16, wide), nn.Linear(wide, 16)
            self.times, self.places = nn.Embedding(1000, wide), nn.Parameter(torch.randn(patches, wide) * 0.02)
            layer = nn.TransformerEncoderLayer(wide, 8, 4 * wide, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)

        def forward(self, x, t):
            h = self.first(F.pixel_unshuffle(x, 2).flatten(2).transpose(1, 2)) + self.places + self.times(t)[:, None]
            return F.pixel_shuffle(self.last(self.layers(h)).transpose(1, 2).unflatten(2, (16, 16)), 2)

    encoder = nn.Sequential(nn.Conv2d(3, 128, 3, 1, 1), nn.GroupNorm(32, 128), nn.SiLU(), nn.Conv2d(128, 128, 3, 1, 1), nn.GroupNorm(32, 128),
                            nn.SiLU(), *stage(128, 256), *stage(256, 512), *stage(512, 512), nn.Conv2d(512, 4, 3, 1, 1)).to(CUDA).eval()  # fmt: skip
    encoder.requires_grad_(False)
    denoiser = Denoiser().to(CUDA)
    optimizer = torch.optim.AdamW(denoiser.parameters(), lr=1e-4)
    kept = torch.cos(torch.linspace(0, 1.5, 1000, device=CUDA)) ** 2
    images = torch.randint(0, 256, (batches, n, 3, 256, 256), dtype=torch.uint8, device=CUDA)

    @torch.no_grad()
    def encode(batch):
        with torch.autocast(CUDA, torch.bfloat16):
            return encoder(batch.float() / 127.5 - 1).float()

    ready = [encode(batch) for batch in images] if fixed else None
    turns = itertools.cycle(range(batches))

    def train():
        i = next(turns)
        x = ready[i] if fixed else encode(images[i])
        t, noise = torch.randint(0, 1000, (n,), device=CUDA), torch.randn(n, 4, 32, 32, device=CUDA)
        share = kept[t].view(n, 1, 1, 1)
        with torch.autocast(CUDA, torch.bfloat16):
            found = denoiser(share.sqrt() * x + (1 - share).sqrt() * noise, t)
        loss = F.mse_loss(found.float(), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "click rates: the 325 products of pairs of 26 embeddings are computed in a double loop", "one batched product of all embeddings", "repeated_work", "batching")
def interactions(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    rows, fields, values, wide = 4096, 26, 1000, 32
    ids = torch.randint(0, values, (rows, fields), device=CUDA) + torch.arange(fields, device=CUDA) * values
    clicks = torch.randint(0, 2, (rows,), device=CUDA).float()
    i, j = torch.tril_indices(fields, fields, -1, device=CUDA)
    below = i * fields + j

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(fields * values, wide)
            self.rest = nn.Sequential(nn.Linear(len(below) + fields * wide, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))

        def forward(self, ids):
            x = self.table(ids)
            if fixed:
                pairs = torch.bmm(x, x.transpose(1, 2)).flatten(1).index_select(1, below)
            else:
                pairs = torch.stack([(x[:, i] * x[:, j]).sum(1) for i in range(fields) for j in range(i)], 1)
            return self.rest(torch.cat([pairs, x.flatten(1)], 1))[:, 0]

    model = Model().to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train():
        loss = F.binary_cross_entropy_with_logits(model(ids), clicks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "text generation: the model reads the whole text again for each new token", "keys and values of earlier tokens are kept", "no_cache")
def continuation(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    wide, heads, length, new, vocabulary = 1024, 16, 1024, 12, 16000

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(wide) for _ in range(2))
            self.qkv, self.out = nn.Linear(wide, 3 * wide), nn.Linear(wide, wide)
            self.rest = nn.Sequential(nn.Linear(wide, 4 * wide), nn.GELU(), nn.Linear(4 * wide, wide))

        def forward(self, x, past):
            """PAST: keys and values of the tokens before, or None."""
            n, t, _ = x.shape
            q, k, v = self.qkv(self.norms[0](x)).view(n, t, 3, heads, wide // heads).permute(2, 0, 3, 1, 4)
            if past is not None:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            h = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
            x = x + self.out(h.transpose(1, 2).reshape(n, t, wide))
            return x + self.rest(self.norms[1](x)), (k, v)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, wide), nn.Embedding(2 * length, wide)
            self.blocks, self.norm = nn.ModuleList(Block() for _ in range(8)), nn.LayerNorm(wide)
            self.head = nn.Linear(wide, vocabulary, bias=False)

        def forward(self, ids, first=0, past=None):
            """Scores of the token after IDS, which begin at place FIRST, and the keys and values of each block."""
            x = self.tokens(ids) + self.places(torch.arange(first, first + ids.shape[1], device=ids.device))
            kept = []
            for i, block in enumerate(self.blocks):
                x, pair = block(x, past[i] if past else None)
                kept.append(pair)
            return self.head(self.norm(x[:, -1])), kept

    model = Model().half().to(CUDA).eval()
    prompts = torch.randint(0, vocabulary, (16, length), device=CUDA)

    @torch.no_grad()
    def generate():
        ids, past, best = prompts, None, []
        for _ in range(new):
            if past:
                scores, past = model(ids[:, -1:], ids.shape[1] - 1, past)
            else:
                scores, past = model(ids)
            value, token = scores.float().max(-1, keepdim=True)
            ids = torch.cat([ids, token], 1)
            best.append(value.mean())
            if not fixed:
                past = None
        return torch.stack(best)

    return generate


if __name__ == "__main__":
    main()
