#!/usr/bin/env python3
"""Twelve programs more, like those of programs.py and second.py to sixth.py, each with what is most common in its domain.

usage: seventh.py list
       seventh.py NAME [--fixed] [--steps N] [--window | --torch FILE | --jax FILE]

See running.py.
"""

from running import CUDA, main, program


@program("transformers", "a service embeds texts one at a time", "one batch of them, padded", "repeated_work", "batching")
def embeddings(fixed):
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from transformers import BertConfig, BertModel

    n = 24
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    model = BertModel(config, add_pooling_layer=False).half().to(CUDA).eval()
    texts = [torch.randint(1000, 30522, (length,)) for length in torch.randint(12, 65, (n,)).tolist()]

    def embed(ids, mask):
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return torch.nn.functional.normalize(mean, dim=-1)

    @torch.no_grad()
    def serve():
        if fixed:
            ids = pad_sequence(texts, batch_first=True)
            mask = pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
            found = embed(ids.to(CUDA), mask.to(CUDA)).cpu()
        else:
            found = []
            for text in texts:
                ids = text[None].to(CUDA)
                found.append(embed(ids, torch.ones_like(ids)).cpu())
            found = torch.cat(found)
        return found[:, :2]

    return serve


@program("torch", "Q-learning of games: frames of the replay memory become float32 on the host, and are copied to the GPU so", "bytes are copied, and become float32 on the GPU", "input_stall", "routing")
def arcade(fixed):
    import copy

    import numpy as np
    import torch
    from torch import nn

    capacity, n, actions = 10000, 128, 6
    net = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
                        nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, actions)).to(CUDA)  # fmt: skip
    target = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), 1e-4, fused=True)
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (capacity, 4, 84, 84), dtype=np.uint8)
    chosen = rng.integers(0, actions, capacity)
    rewards = rng.standard_normal(capacity, dtype=np.float32)
    going = (rng.random(capacity) > 0.01).astype(np.float32)

    def on_gpu(array):
        return torch.from_numpy(array).to(CUDA)

    def images(array):
        return on_gpu(array).float() / 255 if fixed else on_gpu(array.astype(np.float32) / 255)

    def learn():
        picks = rng.integers(0, capacity - 1, n)
        states, following = images(frames[picks]), images(frames[picks + 1])
        values = net(states).gather(1, on_gpu(chosen[picks])[:, None])[:, 0]
        with torch.no_grad():
            goals = on_gpu(rewards[picks]) + 0.99 * on_gpu(going[picks]) * target(following).amax(1)
        loss = nn.functional.smooth_l1_loss(values, goals)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return learn


@program("torch_geometric", "positional encodings of graphs are computed in the transform of their dataset, each time that a graph is read", "computed once, before training, as a `pre_transform`", "input_stall")
def peptides(fixed):
    import copy

    import torch
    from torch import nn
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.nn import GINConv, global_mean_pool

    graphs, n, walk, width = 4096, 128, 20, 128

    def graph(nodes):
        chain = torch.arange(nodes - 1)
        edges = torch.cat([torch.stack([chain, chain + 1]), torch.randint(0, nodes, (2, nodes // 4))], 1)
        return Data(x=torch.randn(nodes, 32), edge_index=torch.cat([edges, edges.flip(0)], 1), y=torch.randn(1))

    def encode(data):
        """The probabilities to be back after 1 to WALK random steps, as new features of nodes."""
        step = torch.zeros(data.num_nodes, data.num_nodes)
        step[data.edge_index[0], data.edge_index[1]] = 1
        step = step / step.sum(1, keepdim=True)
        now, back = step, []
        for _ in range(walk):
            back.append(now.diagonal())
            now = now @ step
        data = copy.copy(data)
        data.back = torch.stack(back, 1)
        return data

    class Peptides(torch.utils.data.Dataset):
        def __init__(self, transform=None, pre_transform=None):
            self.graphs = [graph(nodes) for nodes in torch.randint(20, 61, (graphs,)).tolist()]
            if pre_transform:
                self.graphs = [pre_transform(data) for data in self.graphs]
            self.transform = transform

        def __len__(self):
            return len(self.graphs)

        def __getitem__(self, i):
            return self.transform(self.graphs[i]) if self.transform else self.graphs[i]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(32 + walk, width), nn.Linear(width, 1)
            self.layers = nn.ModuleList(
                GINConv(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))) for _ in range(4)
            )

        def forward(self, data):
            hidden = self.first(torch.cat([data.x, data.back], 1))
            for layer in self.layers:
                hidden = hidden + layer(hidden, data.edge_index).relu()
            return self.last(global_mean_pool(hidden, data.batch, data.num_graphs))[:, 0]

    dataset = Peptides(pre_transform=encode) if fixed else Peptides(transform=encode)
    loader = DataLoader(dataset, batch_size=n, shuffle=True)
    net = Net().to(CUDA)
    optimizer = torch.optim.Adam(net.parameters(), 1e-4, fused=True)

    def endless():
        while True:
            yield from loader

    batches = endless()

    def train():
        data = next(batches).to(CUDA)
        loss = nn.functional.mse_loss(net(data), data.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("transformers", "speech recognition: short and long utterances share batches, which are padded to the longest", "batches of similar lengths, by sorting")
def utterances(fixed):
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    n, batch = 64, 16
    config = Wav2Vec2Config(feat_extract_norm="layer", do_stable_layer_norm=True)
    model = Wav2Vec2ForCTC(config).half().to(CUDA).eval()
    seconds = 1 + 3 * torch.rand(n)
    seconds[::8] = 12 + 3 * torch.rand(n // 8)
    voices = [torch.randn(int(s * 16000), device=CUDA, dtype=torch.float16) for s in seconds.tolist()]
    order = sorted(range(n), key=lambda i: len(voices[i])) if fixed else list(range(n))
    groups = [order[i : i + batch] for i in range(0, n, batch)]
    groups = [([voices[i] for i in g], torch.tensor([len(voices[i]) for i in g], device=CUDA), torch.tensor(g, device=CUDA)) for g in groups]

    def until(sizes, length):
        return torch.arange(length, device=CUDA) < sizes[:, None]

    @torch.no_grad()
    def recognize():
        scores = torch.empty(n, device=CUDA)
        for waves, sizes, places in groups:
            waves = pad_sequence(waves, batch_first=True)
            logits = model(input_values=waves, attention_mask=until(sizes, waves.shape[1]).long()).logits
            best = logits.float().log_softmax(-1).amax(-1)
            for kernel, stride in zip(config.conv_kernel, config.conv_stride):
                sizes = (sizes - kernel) // stride + 1
            mask = until(sizes, best.shape[1])
            scores[places] = (best * mask).sum(1) / sizes
        return scores

    return recognize


@program("torch", "a network for tables: a `DataLoader` takes rows one by one from a dataset in memory and joins them", "the table is on the GPU, and a batch is taken by one index", "input_stall")
def churn(fixed):
    import numpy as np
    import torch
    from torch import nn

    rows, features, n, width = 204800, 64, 2048, 512
    rng = np.random.default_rng(0)
    table = rng.standard_normal((rows, features), dtype=np.float32)
    left = (rng.random(rows) < 0.2).astype(np.float32)
    shuffling = torch.Generator().manual_seed(1)

    class Table(torch.utils.data.Dataset):
        def __len__(self):
            return rows

        def __getitem__(self, i):
            return torch.tensor(table[i]), torch.tensor(left[i])

    class Shuffled(torch.utils.data.Sampler):
        def __init__(self):
            pass

        def __len__(self):
            return rows

        def __iter__(self):
            return iter(torch.randperm(rows, generator=shuffling).tolist())

    net = nn.Sequential(nn.Linear(features, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width), nn.BatchNorm1d(width),
                        nn.ReLU(), nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 1)).to(CUDA)  # fmt: skip
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3, fused=True)

    def by_row():
        loader = torch.utils.data.DataLoader(Table(), batch_size=n, sampler=Shuffled())
        while True:
            for x, y in loader:
                yield x.to(CUDA), y.to(CUDA)

    def by_index():
        x, y = torch.from_numpy(table).to(CUDA), torch.from_numpy(left).to(CUDA)
        while True:
            for picks in torch.randperm(rows, generator=shuffling).to(CUDA).split(n):
                yield x[picks], y[picks]

    batches = by_index() if fixed else by_row()

    def train():
        x, y = next(batches)
        loss = nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("jax", "a reaction with diffusion on a grid: a time step is not compiled, each of its operations runs by itself", "`jax.jit` of the time step", "compile", "cuda_graph")
def reaction(fixed):
    import jax
    import jax.numpy as jnp

    size, inner, feed, kill = 512, 20, 0.037, 0.06
    patch = jnp.zeros((size, size)).at[192:320, 192:320].set(1)
    noise = jax.random.uniform(jax.random.PRNGKey(0), (size, size))
    state = [1 - 0.5 * patch, 0.25 * patch * (0.5 + noise)]

    def around(a):
        return jnp.roll(a, 1, 0) + jnp.roll(a, -1, 0) + jnp.roll(a, 1, 1) + jnp.roll(a, -1, 1) - 4 * a

    def advance(u, v):
        reacting = u * v * v
        return u + 0.2 * around(u) - reacting + feed * (1 - u), v + 0.1 * around(v) + reacting - (feed + kill) * v

    if fixed:
        advance = jax.jit(advance)

    def simulate():
        u, v = state
        for _ in range(inner):
            u, v = advance(u, v)
        state[:] = u, v
        return jnp.mean(v).block_until_ready()

    return simulate


@program("triton", "a product of matrices, as a kernel of Triton: its tiles are small, 32 x 32, as first written", "tiles of 128 x 256 with 8 warps, as tuning finds")
def feedforward(fixed):
    import torch
    from tile_product import product

    tokens, width, inner = 4096, 4096, 8192
    tiles = (128, 256, 64, 8, 3) if fixed else (32, 32, 32, 4, 3)
    x = torch.randn(tokens, width, device=CUDA, dtype=torch.float16)
    up = torch.randn(width, inner, device=CUDA, dtype=torch.float16) / width**0.5
    down = torch.randn(inner, width, device=CUDA, dtype=torch.float16) / inner**0.5

    def step():
        return product(torch.nn.functional.silu(product(x, up, *tiles)), down, *tiles)[0, :64]

    return step


@program("torchvision", "training on photographs: the process that trains decodes and resizes them, a `DataLoader` without workers", "`num_workers=8`", "input_stall")
def flowers(fixed):
    import io

    import numpy as np
    import torch
    from PIL import Image
    from torchvision import transforms
    from torchvision.models import resnet50

    files, length, n, classes = 128, 2880, 24, 102
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, length).tolist()
    jpegs = []
    for _ in range(files):
        file = io.BytesIO()
        colors = rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(colors).resize((400, 300)).save(file, "JPEG", quality=90)
        jpegs.append(file.getvalue())
    change = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.PILToTensor()])
    mean = torch.tensor([123.7, 116.3, 103.5], device=CUDA)[:, None, None]
    deviation = torch.tensor([58.4, 57.1, 57.4], device=CUDA)[:, None, None]

    class Flowers(torch.utils.data.Dataset):
        def __len__(self):
            return length

        def __getitem__(self, i):
            return change(Image.open(io.BytesIO(jpegs[i % files])).convert("RGB")), labels[i]

    workers = {"num_workers": 8, "persistent_workers": True} if fixed else {"num_workers": 0}
    loader = torch.utils.data.DataLoader(Flowers(), batch_size=n, shuffle=True, pin_memory=True, **workers)
    model = resnet50(num_classes=classes).to(CUDA, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def endless():
        while True:
            yield from loader

    batches = endless()

    def train():
        images, classed = next(batches)
        images, classed = images.to(CUDA, non_blocking=True), classed.to(CUDA, non_blocking=True)
        images = ((images.float() - mean) / deviation).contiguous(memory_format=torch.channels_last)
        with torch.autocast(CUDA, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), classed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("cupy", "photometry: a loop over the stars of an image adds up the light of each, and reads it as a `float`", "one index takes what is around all stars, and one sum adds it up", "repeated_work", "batching", "scalar_read")
def stars(fixed):
    import itertools

    import cupy as cp
    import numpy as np

    size, n, radius = 2048, 400, 10
    rng = np.random.default_rng(0)
    ys, xs = rng.integers(radius, size - radius, (2, n))
    raw = rng.integers(90, 130, (4, size, size), dtype=np.uint16)
    raw[:, ys, xs] += rng.integers(2000, 20000, n, dtype=np.uint16)
    raw = cp.asarray(raw)
    dark = cp.full((size, size), 20, dtype=cp.float32)
    flat = cp.asarray(0.9 + 0.2 * rng.random((size, size), dtype=np.float32))
    box = np.arange(-radius, radius + 1)
    distance = np.hypot(box[:, None], box[None, :])
    aperture = cp.asarray((distance <= 6).astype(np.float32))
    ring = cp.asarray(((distance > 8) & (distance <= 10)).astype(np.float32))
    share = float(aperture.sum() / ring.sum())
    rows, columns = cp.asarray(ys[:, None] + box), cp.asarray(xs[:, None] + box)
    places = list(zip(ys.tolist(), xs.tolist()))
    turns = itertools.cycle(range(len(raw)))

    def each(image):
        found = []
        for y, x in places:
            cut = image[y - radius : y + radius + 1, x - radius : x + radius + 1]
            found.append(float((cut * aperture).sum() - share * (cut * ring).sum()))
        return found

    def together(image):
        cuts = image[rows[:, :, None], columns[:, None, :]]
        return cp.asnumpy((cuts * aperture).sum(axis=(1, 2)) - share * (cuts * ring).sum(axis=(1, 2)))

    def measure():
        image = (raw[next(turns)].astype(cp.float32) - dark) / flat
        return together(image) if fixed else each(image)

    return measure


@program("torch", "images by diffusion: attention is written out, its scores of all pairs of pixels are in memory", "`scaled_dot_product_attention`", "attention")
def pictures(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    n, side, width, heads, blocks, steps = 8, 64, 320, 5, 4, 4

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv, self.out = nn.GroupNorm(32, width), nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            pixels = self.norm(x).flatten(2).transpose(1, 2)
            q, k, v = self.qkv(pixels).reshape(n, side * side, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            if fixed:
                mixed = F.scaled_dot_product_attention(q, k, v)
            else:
                scores = q @ k.transpose(-2, -1) * (width // heads) ** -0.5
                mixed = scores.softmax(-1) @ v
            mixed = self.out(mixed.transpose(1, 2).reshape(n, side * side, width))
            return x + mixed.transpose(1, 2).reshape(n, width, side, side)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(nn.GroupNorm(32, width) for _ in range(2))
            self.convolutions = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
            self.time, self.attention = nn.Linear(width, width), Attention()

        def forward(self, x, time):
            hidden = self.convolutions[0](F.silu(self.norms[0](x))) + self.time(time)[:, :, None, None]
            return self.attention(x + self.convolutions[1](F.silu(self.norms[1](hidden))))

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Embedding(1000, width)
            self.first, self.last = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
            self.blocks = nn.ModuleList(Block() for _ in range(blocks))

        def forward(self, x, time):
            x, time = self.first(x), F.silu(self.time(time))
            for block in self.blocks:
                x = block(x, time)
            return self.last(x)

    model = Denoiser().half().to(CUDA).eval()
    noise = torch.randn(n, 4, side, side, device=CUDA, dtype=torch.float16)
    times = [torch.full((n,), 999 - 250 * i, device=CUDA) for i in range(steps)]

    @torch.no_grad()
    def sample():
        x = noise
        for time in times:
            x = x - model(x, time) / steps
        return x[0, 0, 0]

    return sample


@program("torch", "recommendation: Adam updates all rows of large embeddings, of which a batch reads few", "`sparse=True` and `SparseAdam` for the embeddings")
def films(fixed):
    import itertools

    import torch
    from torch import nn

    users, items, width, n, pool = 8_000_000, 500_000, 64, 8192, 32
    of_user = nn.Embedding(users, width, sparse=fixed, device=CUDA)
    of_item = nn.Embedding(items, width, sparse=fixed, device=CUDA)
    judge = nn.Sequential(nn.Linear(3 * width, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1)).to(CUDA)
    embedded = [of_user.weight, of_item.weight]
    if fixed:
        optimizers = [torch.optim.SparseAdam(embedded, 1e-3), torch.optim.Adam(judge.parameters(), 1e-3)]
    else:
        optimizers = [torch.optim.Adam([*embedded, *judge.parameters()], 1e-3)]
    who = torch.randint(0, users, (pool, n), device=CUDA)
    what = torch.randint(0, items, (pool, n), device=CUDA)
    liked = (torch.rand(pool, n, device=CUDA) < 0.3).float()
    turns = itertools.cycle(range(pool))

    def train():
        i = next(turns)
        a, b = of_user(who[i]), of_item(what[i])
        loss = nn.functional.binary_cross_entropy_with_logits(judge(torch.cat([a, b, a * b], 1))[:, 0], liked[i])
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.detach()

    return train


@program("accelerate", "a language model is trained in float32", '`mixed_precision="bf16"`', "tensor_cores", "low_precision")
def novels(fixed):
    import itertools

    import torch
    from accelerate import Accelerator
    from transformers import GPT2Config, GPT2LMHeadModel

    n, length, pool = 5, 1024, 16
    accelerator = Accelerator(mixed_precision="bf16" if fixed else "no")
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)).to(CUDA)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    model, optimizer = accelerator.prepare(model, optimizer)
    model.train()
    texts = torch.randint(0, 50257, (pool, n, length), device=CUDA)
    turns = itertools.cycle(range(pool))

    def train():
        ids = texts[next(turns)]
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        return loss.detach()

    return train


if __name__ == "__main__":
    main()
