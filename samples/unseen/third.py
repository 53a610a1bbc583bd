#!/usr/bin/env python3
"""Twelve programs more, like those of programs.py and second.py, of other kinds and with other inefficiencies.

usage: third.py list
       third.py NAME [--fixed] [--steps N] [--window | --torch FILE | --jax FILE]

See running.py.
"""

from running import CUDA, main, program


@program("accelerate", "a language model's weights lie on the host, and each request copies them", "the weights stay on the GPU", "caching")
def offloading(fixed):
    import torch
    from accelerate import cpu_offload
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=16000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=16
    )
    model = LlamaForCausalLM(config).half().eval()
    if fixed:
        model.to(CUDA)
    else:
        cpu_offload(model, torch.device(CUDA, 0))
    ids = torch.randint(0, 16000, (8, 128), device=CUDA)

    @torch.no_grad()
    def answer():
        return model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[:, -1].float().softmax(-1)[0]

    return answer


@program("transformers", "short sentences are padded to the 512 tokens that the encoder can take", "padding to the longest of them")
def sentences(fixed):
    import random

    import torch
    from torch.nn import functional as F
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig()).half().to(CUDA).eval()
    rng = random.Random(0)
    texts = [[rng.randrange(1000, 30000) for _ in range(rng.randrange(8, 48))] for _ in range(128)]

    @torch.no_grad()
    def embed():
        length = max(len(text) for text in texts) if fixed else 512
        ids = torch.tensor([text + [0] * (length - len(text)) for text in texts]).to(CUDA)
        mask = (ids != 0).long()
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        return F.normalize((hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True), dim=1)

    return embed


@program("torch", "deep Q-learning: a batch is a tensor of a list of NumPy arrays", "`np.stack` of the list, converted on the GPU", "input_stall", "routing")
def replay(fixed):
    import random

    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F

    def network():
        return nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(),
                             nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 6)).to(CUDA)  # fmt: skip

    online, target = network(), network()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-4)
    values, rng = np.random.default_rng(0), random.Random(0)
    seen = [values.integers(0, 256, (4, 84, 84), dtype=np.uint8) for _ in range(1001)]
    memory = [(seen[i], rng.randrange(6), rng.random(), seen[i + 1]) for i in range(1000)]

    def images(frames):
        if fixed:
            return torch.from_numpy(np.stack(frames)).to(CUDA).float() / 255
        return torch.tensor(frames, dtype=torch.float32, device=CUDA) / 255

    def train():
        states, actions, rewards, following = zip(*rng.sample(memory, 16))
        actions, rewards = torch.tensor(actions, device=CUDA), torch.tensor(rewards, device=CUDA)
        with torch.no_grad():
            goal = rewards + 0.99 * target(images(following)).max(1).values
        loss = F.smooth_l1_loss(online(images(states)).gather(1, actions[:, None])[:, 0], goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "offline actor-critic: twenty critics are called one after the other", "the critics as batched products", "repeated_work", "batching")
def critics(fixed):
    import copy

    import torch
    from torch import nn
    from torch.nn import functional as F

    n, rows, wide = 20, 256, 256

    class Each(nn.Module):
        def __init__(self):
            super().__init__()
            self.members = nn.ModuleList(
                nn.Sequential(nn.Linear(23, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, 1)) for _ in range(n)
            )

        def forward(self, x):
            return torch.stack([member(x)[:, 0] for member in self.members])

    class All(nn.Module):
        def __init__(self, each):
            super().__init__()
            layers = [[member[i] for member in each.members] for i in (0, 2, 4)]
            self.weights = nn.ParameterList(nn.Parameter(torch.stack([m.weight.detach().T for m in layer])) for layer in layers)
            self.biases = nn.ParameterList(nn.Parameter(torch.stack([m.bias.detach()[None] for m in layer])) for layer in layers)

        def forward(self, x):
            x = x.expand(n, *x.shape)
            for i in range(3):
                x = torch.baddbmm(self.biases[i], F.relu(x) if i else x, self.weights[i])
            return x[:, :, 0]

    actor = nn.Sequential(nn.Linear(17, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, 6), nn.Tanh()).to(CUDA)
    online = (All(Each()) if fixed else Each()).to(CUDA)
    target = copy.deepcopy(online)
    actor_optimizer, optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4), torch.optim.Adam(online.parameters(), lr=3e-4)
    states, following, actions = (torch.randn(rows, width, device=CUDA) for width in (17, 17, 6))
    rewards = torch.randn(rows, device=CUDA)

    def train():
        with torch.no_grad():
            goal = rewards + 0.99 * target(torch.cat([following, actor(following)], 1)).min(0).values
        loss = (online(torch.cat([states, actions], 1)) - goal).square().mean(1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        actor_loss = -online(torch.cat([states, actor(states)], 1)).min(0).values.mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(target.parameters()), list(online.parameters()), 0.005)
        return torch.stack([loss.detach(), actor_loss.detach()])

    return train


@program("torch_geometric", "a graph of 16384 nodes is a dense matrix, which has few edges", "a list of its edges")
def citations(fixed):
    import torch
    from torch.nn import functional as F
    from torch_geometric.nn import DenseGCNConv, GCNConv

    nodes, classes = 16384, 40
    generator = torch.Generator().manual_seed(1)
    pairs = torch.randint(0, nodes, (2, 8 * nodes), generator=generator).to(CUDA)
    graph = torch.zeros(nodes, nodes, device=CUDA)
    graph[pairs[0], pairs[1]] = 1
    graph[pairs[1], pairs[0]] = 1
    graph.fill_diagonal_(0)
    x, y = torch.randn(nodes, 128, device=CUDA), torch.randint(0, classes, (nodes,), device=CUDA)
    layers = [DenseGCNConv(*sizes).to(CUDA) for sizes in ((128, 256), (256, 256), (256, classes))]
    if fixed:
        graph = graph.nonzero().T.contiguous()
        dense, layers = layers, [GCNConv(layer.in_channels, layer.out_channels).to(CUDA) for layer in layers]
        for layer, other in zip(layers, dense):
            layer.load_state_dict(other.state_dict())
    optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=0.01)

    def train():
        h = x
        for layer in layers:
            h = layer(F.relu(h) if h is not x else h, graph)
        loss = F.cross_entropy(h.view(nodes, classes), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch_geometric", "the nodes of each of 256 molecules are picked by a mask and averaged", "`global_mean_pool`", "repeated_work", "batching")
def readout(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch_geometric.nn import GINConv, global_mean_pool

    n, wide = 256, 128
    generator = torch.Generator().manual_seed(1)
    sizes = torch.randint(12, 36, (n,), generator=generator)
    of = torch.repeat_interleave(torch.arange(n), sizes)
    chain = torch.arange(len(of) - 1)[of[1:] == of[:-1]]
    edges = torch.cat([torch.stack([chain, chain + 1]), torch.stack([chain + 1, chain])], 1).to(CUDA)
    of = of.to(CUDA)
    atoms, y = torch.randint(0, 20, (len(of),), generator=generator).to(CUDA), torch.randn(n, generator=generator).to(CUDA)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.atoms = nn.Embedding(20, wide)
            self.layers = nn.ModuleList(GINConv(nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, wide))) for _ in range(4))
            self.head = nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, 1))

        def forward(self, atoms):
            h = self.atoms(atoms)
            for layer in self.layers:
                h = F.relu(layer(h, edges))
            if fixed:
                return self.head(global_mean_pool(h, of, n))[:, 0]
            return self.head(torch.stack([h[of == i].mean(0) for i in range(n)]))[:, 0]

    model = Model().to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train():
        loss = F.mse_loss(model(atoms), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("transformers", "Whisper: the sound is encoded anew for each token of the transcript", "it is encoded once, before the loop", "caching")
def dictation(fixed):
    import torch
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
                           encoder_ffn_dim=2048, decoder_ffn_dim=2048)  # fmt: skip
    model = WhisperForConditionalGeneration(config).half().to(CUDA).eval()
    sound = torch.randn(48, 80, 3000, device=CUDA, dtype=torch.float16)

    @torch.no_grad()
    def transcribe():
        ids = torch.full((len(sound), 1), config.decoder_start_token_id, device=CUDA)
        given = {"encoder_outputs": model.get_encoder()(sound)} if fixed else {"input_features": sound}
        best = []
        for _ in range(10):
            value, token = model(**given, decoder_input_ids=ids, use_cache=False).logits[:, -1].max(-1, keepdim=True)
            ids = torch.cat([ids, token], 1)
            best.append(value.float().mean())
        return torch.stack(best)

    return transcribe


@program("torch", "augmentation of 256 spectrograms: each of 1024 bands is set to zero by itself", "one mask for all bands", "repeated_work", "batching")
def bands(fixed):
    import random

    import torch
    from torch import nn
    from torch.nn import functional as F

    n, mels, frames = 256, 80, 400
    generator = torch.Generator().manual_seed(1)
    spectrograms = torch.randn(n, mels, frames, generator=generator).to(CUDA)
    words = torch.randint(0, 35, (n,), generator=generator).to(CUDA)
    model = nn.Sequential(nn.Conv1d(mels, 256, 5, 2, 2), nn.BatchNorm1d(256), nn.ReLU(), nn.Conv1d(256, 256, 5, 2, 2), nn.BatchNorm1d(256),
                          nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(256, 35)).to(CUDA)  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rng = random.Random(0)

    def hidden():
        """Begin and end of two bands of frequencies and two of time."""
        found = []
        for size, widest in ((mels, 15), (mels, 15), (frames, 40), (frames, 40)):
            begin = rng.randrange(size - widest)
            found.append((begin, begin + rng.randrange(1, widest)))
        return found

    def masked_each():
        x = spectrograms.clone()
        for i in range(n):
            first, second, third, fourth = hidden()
            for begin, end in (first, second):
                x[i, begin:end] = 0
            for begin, end in (third, fourth):
                x[i, :, begin:end] = 0
        return x

    def masked_all():
        begin, end = torch.tensor([hidden() for _ in range(n)]).to(CUDA).unsqueeze(-1).unbind(2)
        inside = [(begin[:, i : i + 2] <= at) & (at < end[:, i : i + 2]) for i, at in ((0, every_mel), (2, every_frame))]
        return spectrograms.masked_fill(inside[0].any(1)[:, :, None] | inside[1].any(1)[:, None, :], 0)

    every_mel, every_frame = torch.arange(mels, device=CUDA), torch.arange(frames, device=CUDA)

    def train():
        x = masked_all() if fixed else masked_each()
        with torch.autocast(CUDA, torch.bfloat16):
            scores = model(x)
        loss = F.cross_entropy(scores.float(), words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "a table's eight columns of 10000 categories become one-hot rows for a layer", "the layer as a table that is looked up")
def categories(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    rows, columns, values, wide = 8192, 8, 10000, 128
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, values, (rows, columns), generator=generator).to(CUDA)
    y = torch.randint(0, 2, (rows,), generator=generator).float().to(CUDA)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            first = nn.Linear(columns * values, wide)
            if fixed:
                self.table = nn.EmbeddingBag.from_pretrained(first.weight.detach().T.contiguous(), freeze=False, mode="sum")
                self.bias = first.bias
                self.register_buffer("offsets", torch.arange(columns) * values)
            else:
                self.first = first
            self.rest = nn.Sequential(nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, 1))

        def forward(self, ids):
            if fixed:
                return self.rest(self.table(ids + self.offsets) + self.bias)[:, 0]
            return self.rest(self.first(F.one_hot(ids, values).flatten(1).float()))[:, 0]

    model = Model().to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train():
        loss = F.binary_cross_entropy_with_logits(model(ids), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("jax", "a field's trajectory is compiled again for each mass, a constant of a new lambda", "the mass is an argument of one compiled function", "recompilation")
def lattice(fixed):
    import itertools

    import jax
    import jax.numpy as jnp

    n = 512
    field, momentum = (jax.random.normal(jax.random.PRNGKey(seed), (n, n)) for seed in (0, 1))

    def energy(field, mass):
        slopes = sum(jnp.sum((jnp.roll(field, 1, axis) - field) ** 2) for axis in (0, 1))
        return 0.5 * slopes + jnp.sum(0.5 * mass * field**2 + 0.02 * field**4)

    def trajectory(field, momentum, mass):
        def move(_, state):
            field, momentum = state
            momentum = momentum - 0.02 * jax.grad(energy)(field, mass)
            return field + 0.02 * momentum, momentum

        return jax.lax.fori_loop(0, 20, move, (field, momentum))

    compiled = jax.jit(trajectory)
    steps = itertools.count()

    def simulate():
        mass = 0.5 + 0.001 * next(steps)
        if fixed:
            found = compiled(field, momentum, mass)
        else:
            found = jax.jit(lambda field, momentum: trajectory(field, momentum, mass))(field, momentum)
        return jax.block_until_ready(found)[0]

    return simulate


@program("cupy", "implicit time steps: the same 4096 equations are factorized in each", "`lu_factor` once, `lu_solve` in each step", "caching")
def implicit(fixed):
    import cupy as cp
    from cupyx.scipy.linalg import lu_factor, lu_solve

    n, dt = 4096, 0.01
    random = cp.random.RandomState(0)
    place = random.uniform(0, 1, n).astype(cp.float32)
    flow = cp.exp(-50 * (place[:, None] - place[None, :]) ** 2) / n
    flow = cp.diag(flow.sum(axis=1)) - flow
    after, before = (cp.eye(n, dtype=cp.float32) + sign * dt / 2 * flow for sign in (1, -1))
    u = random.standard_normal((n, 8)).astype(cp.float32)
    factors = lu_factor(after) if fixed else None

    def step():
        known = before @ u
        u[...] = lu_solve(factors, known, check_finite=False) if fixed else cp.linalg.solve(after, known)
        cp.cuda.Device().synchronize()
        return u

    return step


@program("triton", "normalization over channels: a program for each pixel, whose channels lie far apart", "a program for 64 neighbouring pixels", "memory_access")
def channels(fixed):
    import torch
    from channel_norm import norm_pixels, norm_tiles
    from torch.nn import functional as F

    norm = norm_tiles if fixed else norm_pixels
    images = torch.randn(16, 256, 128, 128, device=CUDA, dtype=torch.float16)
    weight, bias = torch.rand(256, device=CUDA) + 0.5, torch.randn(256, device=CUDA)

    @torch.no_grad()
    def step():
        x = images
        for _ in range(6):
            x = F.silu(norm(x, weight, bias))
        return x[0, 0]

    return step


if __name__ == "__main__":
    main()
