#!/usr/bin/env python3
"""Twelve programs more, like those of programs.py and second.py to seventh.py, each drawn from what is most common in its domain.

usage: eighth.py list
       eighth.py NAME [--fixed] [--steps N] [--window | --torch FILE | --jax FILE]

See running.py.
"""

from running import CUDA, main, program


@program("transformers", "a service ranks texts with weights left in float32", "the weights in float16", "tensor_cores", "low_precision")
def reranker(fixed):
    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification

    n, longest, padding = 48, 192, 1
    config = RobertaConfig(vocab_size=50265, max_position_embeddings=514, num_labels=1)
    model = RobertaForSequenceClassification(config).to(CUDA).eval()
    if fixed:
        model = model.half()
    lengths = torch.randint(150, longest + 1, (n,))
    lengths[0] = longest
    mask = (torch.arange(longest)[None, :] < lengths[:, None]).long()
    ids = torch.randint(10, 50265, (n, longest)).masked_fill(mask == 0, padding)

    @torch.inference_mode()
    def serve():
        logits = model(input_ids=ids.to(CUDA), attention_mask=mask.to(CUDA)).logits
        return logits.float().sigmoid().squeeze(1).cpu()

    return serve


@program("torch", "a replay is a list of transitions, of which each field goes to the GPU by itself", "the replay as tensors on the GPU, indexed", "input_stall", "small_copies")
def learner(fixed):
    import copy

    import numpy as np
    import torch
    from torch import nn

    kept, wide, actions = 20000, 32, 8
    random = np.random.default_rng(0)
    states = random.standard_normal((kept + 1, wide), dtype=np.float32)
    chosen = random.integers(0, actions, kept)
    rewards = random.standard_normal(kept, dtype=np.float32)
    ends = (random.random(kept) < 0.01).astype(np.float32)
    types = (torch.float32, torch.int64, torch.float32, torch.float32, torch.float32)
    if fixed:
        columns = (states[:-1], chosen, rewards, states[1:], ends)
        replay = [torch.tensor(column, dtype=kind, device=CUDA) for column, kind in zip(columns, types)]
    else:
        replay = [(states[i], int(chosen[i]), float(rewards[i]), states[i + 1], float(ends[i])) for i in range(kept)]
    online = nn.Sequential(nn.Linear(wide, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, actions)).to(CUDA)
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam(online.parameters(), lr=3e-4, fused=True)
    followed, followers = list(online.parameters()), list(target.parameters())

    def sample():
        at = random.integers(0, kept, 256)
        if fixed:
            at = torch.from_numpy(at).to(CUDA)
            return [column[at] for column in replay]
        taken = [replay[i] for i in at]
        return [torch.stack([torch.tensor(one[k], dtype=kind, device=CUDA) for one in taken]) for k, kind in enumerate(types)]

    def train():
        state, action, reward, after, end = sample()
        value = online(state).gather(1, action[:, None]).squeeze(1)
        with torch.no_grad():
            best = online(after).argmax(1, keepdim=True)
            wanted = reward + 0.99 * (1 - end) * target(after).gather(1, best).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(followers, followed, 0.005)
        return loss.detach()

    return train


@program("torch_geometric", "features and edges of the whole graph go to the GPU in each step", "they stay on the GPU", "pageable_copy")
def papers(fixed):
    import torch
    from torch import nn
    from torch_geometric.nn import GCNConv

    nodes, edges, wide, hidden, classes = 120000, 600000, 602, 128, 40
    features = torch.randn(nodes, wide)
    edge_index = torch.randint(nodes, (2, edges))
    labels = torch.randint(classes, (nodes,), device=CUDA)
    known = torch.randperm(nodes)[:60000].to(CUDA)
    if fixed:
        features, edge_index = features.to(CUDA), edge_index.to(CUDA)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = GCNConv(wide, hidden, cached=True)
            self.second = GCNConv(hidden, classes, cached=True)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index).relu(), edge_index)

    net = Net().to(CUDA)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, fused=True)

    def train():
        found = net(features.to(CUDA), edge_index.to(CUDA))
        loss = nn.functional.cross_entropy(found[known], labels[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torchaudio", "mel spectra of each utterance by the CPU, between the steps", "of the batch, by the GPU", "input_stall", "routing")
def accents(fixed):
    import itertools

    import torch
    import torchaudio
    from torch import nn

    n, samples, wide, classes = 32, 96000, 256, 16
    waves = torch.randn(8, n, samples) * 0.1
    labels = torch.randint(classes, (8, n), device=CUDA)
    mel = torchaudio.transforms.MelSpectrogram(sample_rate=16000, n_fft=512, hop_length=160, n_mels=80)
    if fixed:
        mel = mel.to(CUDA)
    layer = nn.TransformerEncoderLayer(wide, 4, 4 * wide, dropout=0.0, batch_first=True, norm_first=True)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.shorten = nn.Sequential(
                nn.Conv1d(80, wide, 3, stride=2, padding=1), nn.GELU(), nn.Conv1d(wide, wide, 3, stride=2, padding=1), nn.GELU()
            )
            self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.head = nn.Linear(wide, classes)

        def forward(self, spectra):
            return self.head(self.encoder(self.shorten(spectra).transpose(1, 2)).mean(1))

    net = Net().to(CUDA)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    turns = itertools.cycle(range(8))

    def log_mel(wave):
        return (mel(wave) + 1e-5).log()

    def train():
        turn = next(turns)
        if fixed:
            spectra = log_mel(waves[turn].to(CUDA))
        else:
            spectra = torch.stack([log_mel(wave) for wave in waves[turn]]).to(CUDA)
        with torch.autocast(CUDA, torch.bfloat16):
            loss = nn.functional.cross_entropy(net(spectra).float(), labels[turn])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "a DataLoader takes a table row by row and stacks the rows", "the table on the GPU, indexed by batches of rows", "input_stall")
def subscribers(fixed):
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset

    n, size, numeric, categories, values, wide = 307200, 2048, 32, 8, 100, 16
    amounts = torch.randn(n, numeric)
    codes = torch.randint(values, (n, categories))
    labels = (torch.rand(n) < 0.2).float()
    order = torch.randperm(n)

    class Table(Dataset):
        def __len__(self):
            return n

        def __getitem__(self, row):
            return amounts[row], codes[row], labels[row]

    def batches():
        if fixed:
            columns = [column.to(CUDA) for column in (amounts, codes, labels)]
            parts = order.to(CUDA).split(size)
            while True:
                for rows in parts:
                    yield [column[rows] for column in columns]
        loader = DataLoader(Table(), batch_size=size, sampler=order.tolist())
        while True:
            yield from loader

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(categories * values, wide)
            self.register_buffer("begins", torch.arange(categories) * values)
            self.layers = nn.Sequential(
                nn.Linear(numeric + categories * wide, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1)
            )

        def forward(self, amounts, codes):
            return self.layers(torch.cat([amounts, self.table(codes + self.begins).flatten(1)], 1)).squeeze(1)

    net = Net().to(CUDA)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    source = batches()

    def train():
        amount, code, label = (column.to(CUDA) for column in next(source))
        loss = nn.functional.binary_cross_entropy_with_logits(net(amount, code), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("jax", "a Python loop calls a compiled forecast for each member of an ensemble", "one call, of `vmap`", "repeated_work", "batching")
def ensemble(fixed):
    import jax
    import jax.numpy as jnp
    import numpy as np

    members, wide, steps, dt = 64, 1024, 25, 0.01
    random = np.random.default_rng(0)
    states = jnp.asarray(8 + random.standard_normal((members, wide)).astype(np.float32))
    forcings = jnp.asarray((8 + 0.2 * random.standard_normal(members)).astype(np.float32))

    def slope(x, forcing):
        return (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + forcing

    def forecast(x, forcing):
        def advance(x, _):
            a = slope(x, forcing)
            b = slope(x + dt / 2 * a, forcing)
            c = slope(x + dt / 2 * b, forcing)
            d = slope(x + dt * c, forcing)
            return x + dt / 6 * (a + 2 * b + 2 * c + d), None

        return jax.lax.scan(advance, x, None, length=steps)[0]

    one, every = jax.jit(forecast), jax.jit(jax.vmap(forecast))

    def step():
        if fixed:
            after = every(states, forcings)
        else:
            after = jnp.stack([one(states[i], forcings[i]) for i in range(members)])
        return np.asarray(after.mean(0)[:16])

    return step


@program("triton", "a kernel of the loss reads rows of 32768 by blocks of 128", "blocks of 4096, 8 warps")
def perplexity(fixed):
    import torch
    from row_loss import row_loss

    texts, long, wide, words = 32, 1024, 256, 32768
    hidden = torch.randn(texts * long, wide, device=CUDA, dtype=torch.bfloat16)
    head = torch.randn(words, wide, device=CUDA, dtype=torch.bfloat16) / 16
    labels = torch.randint(words, (texts * long,), device=CUDA)

    @torch.no_grad()
    def evaluate():
        logits = hidden @ head.T
        losses = row_loss(logits, labels, 4096, 8) if fixed else row_loss(logits, labels, 128, 4)
        return losses.view(texts, long).mean(1).cpu()

    return evaluate


@program("torchvision", "crops, colours and blur of each picture by the main process, between the steps", "by 8 workers of the DataLoader", "input_stall")
def crops(fixed):
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    from torchvision.models import resnet18
    from torchvision.transforms.v2 import functional as change

    photos = torch.randint(256, (256, 3, 256, 256), dtype=torch.uint8)

    class Photos(Dataset):
        def __len__(self):
            return 1 << 18

        def __getitem__(self, index):
            random = np.random.default_rng(index)
            side = int(random.integers(96, 224))
            top, left = (int(one) for one in random.integers(0, 256 - side, 2))
            bright, contrast, colour = (float(one) for one in random.uniform(0.6, 1.4, 3))
            photo = change.resized_crop(photos[index % len(photos)], top, left, side, side, [128, 128], antialias=True)
            if random.random() < 0.5:
                photo = change.horizontal_flip(photo)
            photo = change.adjust_brightness(photo, bright)
            photo = change.adjust_contrast(photo, contrast)
            photo = change.adjust_saturation(photo, colour)
            sigma = float(random.uniform(0.1, 2.0))
            return change.gaussian_blur(photo, [9, 9], [sigma, sigma]), index % 10

    model = resnet18(num_classes=10).to(CUDA, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    loader = DataLoader(Photos(), batch_size=32, num_workers=8 if fixed else 0, persistent_workers=fixed, pin_memory=True)
    batches = iter(loader)

    def train():
        pictures, labels = next(batches)
        pictures = pictures.to(CUDA, non_blocking=True).float().sub_(128).div_(64).contiguous(memory_format=torch.channels_last)
        with torch.autocast(CUDA, torch.bfloat16):
            loss = nn.functional.cross_entropy(model(pictures).float(), labels.to(CUDA, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("cupy", "a Python loop over the rows of a matrix", "the same for all rows at once, along an axis", "repeated_work", "batching")
def electrodes(fixed):
    import cupy as cp
    import numpy as np

    channels, samples = 256, 20000
    signals = cp.asarray(np.random.default_rng(0).standard_normal((channels, samples), dtype=np.float32))

    def features(x):
        x = x - x.mean(-1, keepdims=True)
        x = x / x.std(-1, keepdims=True)
        square = x * x
        length = cp.abs(cp.diff(x)).mean(-1)
        energy = (square[..., 1:-1] - x[..., :-2] * x[..., 2:]).mean(-1)
        peaked = (square * square).mean(-1)
        crossed = (x[..., 1:] * x[..., :-1] < 0).astype(cp.float32).mean(-1)
        return cp.stack([length, energy, peaked, crossed], axis=-1)

    def step():
        if fixed:
            found = features(signals)
        else:
            found = cp.empty((channels, 4), dtype=cp.float32)
            for i in range(channels):
                found[i] = features(signals[i])
        return cp.asnumpy(found)

    return step


@program("torch", "a U-Net denoises in float32", "in float16", "tensor_cores", "low_precision")
def denoiser(fixed):
    import math

    import torch
    from torch import nn
    from torch.nn import functional as F

    n, rounds, narrow, wide = 32, 3, 192, 384

    class Block(nn.Module):
        def __init__(self, taken, given):
            super().__init__()
            self.before, self.after = nn.GroupNorm(32, taken), nn.GroupNorm(32, given)
            self.first = nn.Conv2d(taken, given, 3, padding=1)
            self.second = nn.Conv2d(given, given, 3, padding=1)
            self.time = nn.Linear(wide, given)
            self.around = nn.Conv2d(taken, given, 1) if taken != given else nn.Identity()

        def forward(self, x, time):
            y = self.first(F.silu(self.before(x))) + self.time(time)[:, :, None, None]
            return self.around(x) + self.second(F.silu(self.after(y)))

    class Look(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.GroupNorm(32, wide)
            self.three, self.out = nn.Conv2d(wide, 3 * wide, 1), nn.Conv2d(wide, wide, 1)

        def forward(self, x):
            size, _, high, across = x.shape
            three = self.three(self.norm(x)).view(size, 3, wide // 64, 64, high * across).transpose(3, 4).contiguous()
            seen = F.scaled_dot_product_attention(three[:, 0], three[:, 1], three[:, 2])
            return x + self.out(seen.transpose(2, 3).reshape(size, wide, high, across))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(narrow, wide), nn.SiLU(), nn.Linear(wide, wide), nn.SiLU())
            self.begin, self.end = nn.Conv2d(4, narrow, 3, padding=1), nn.Conv2d(narrow, 4, 3, padding=1)
            self.norm = nn.GroupNorm(32, narrow)
            self.down1 = nn.ModuleList([Block(narrow, narrow), Block(narrow, narrow)])
            self.down2 = nn.ModuleList([Block(narrow, wide), Block(wide, wide)])
            self.down3 = nn.ModuleList([Block(wide, wide), Block(wide, wide)])
            self.look = Look()
            self.up3 = nn.ModuleList([Block(wide, wide), Block(wide, wide)])
            self.up2 = nn.ModuleList([Block(2 * wide, wide), Block(wide, wide)])
            self.up1 = nn.ModuleList([Block(wide + narrow, narrow), Block(narrow, narrow)])

        def forward(self, x, time):
            time = self.time(time)

            def through(blocks, x):
                for block in blocks:
                    x = block(x, time)
                return x

            first = through(self.down1, self.begin(x))
            second = through(self.down2, F.avg_pool2d(first, 2))
            x = through(self.up3, self.look(through(self.down3, F.avg_pool2d(second, 2))))
            x = through(self.up2, torch.cat([F.interpolate(x, scale_factor=2.0), second], 1))
            x = through(self.up1, torch.cat([F.interpolate(x, scale_factor=2.0), first], 1))
            return self.end(F.silu(self.norm(x)))

    kind = torch.float16 if fixed else torch.float32
    net = Net().to(CUDA, kind).eval()
    noise = torch.randn(n, 4, 64, 64).to(CUDA)
    waves = torch.exp(-math.log(10000.0) * torch.arange(narrow // 2, device=CUDA) / (narrow // 2))
    left = [0.9, 0.6, 0.3, 0.05]  # the part of the noise, before each round and after the last

    @torch.inference_mode()
    def sample():
        x = noise
        for at in range(rounds):
            angle = (1000 * left[at] * waves)[None, :].expand(n, -1)
            time = torch.cat([angle.sin(), angle.cos()], 1)
            guess = net(x.to(kind), time.to(kind)).float()
            clean = (x - left[at] * guess) / math.sqrt(1 - left[at] ** 2)
            x = math.sqrt(1 - left[at + 1] ** 2) * clean + left[at + 1] * guess
        return x.square().mean((1, 2, 3))

    return sample


@program("torch", "a Python loop draws the items that a user has not bought, one by one", "drawn at once, by the GPU, those bought drawn again", "input_stall", "routing")
def basket(fixed):
    import numpy as np
    import torch
    from torch import nn

    users, items, bought, size, drawn, wide = 20000, 50000, 40, 4096, 4, 64
    random = np.random.default_rng(0)
    table = random.integers(0, items, (users, bought))
    pairs = np.stack([np.repeat(np.arange(users), bought), table.reshape(-1)], 1)
    pairs = random.permutation(pairs)
    parts = len(pairs) // size
    sets = None if fixed else [set(row) for row in table.tolist()]
    keys = torch.from_numpy(np.unique(pairs[:, 0] * items + pairs[:, 1])).to(CUDA)
    np.random.seed(0)
    of_user, of_item = nn.Embedding(users, wide).to(CUDA), nn.Embedding(items, wide).to(CUDA)
    nn.init.normal_(of_user.weight, std=0.01)
    nn.init.normal_(of_item.weight, std=0.01)
    optimizer = torch.optim.Adam([of_user.weight, of_item.weight], lr=1e-3, fused=True)
    turn = 0

    def others(who):
        """Items for each of the users WHO, a tensor of the CPU."""
        if fixed:
            who = who.to(CUDA)
            found = torch.randint(items, (size, drawn), device=CUDA)
            wanted = who[:, None] * items + found
            at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
            return torch.where(keys[at] == wanted, torch.randint(items, (size, drawn), device=CUDA), found)
        found = []
        for user in who.tolist():
            for _ in range(drawn):
                item = np.random.randint(items)
                while item in sets[user]:
                    item = np.random.randint(items)
                found.append(item)
        return torch.tensor(found).view(size, drawn).to(CUDA)

    def train():
        nonlocal turn
        batch = torch.from_numpy(pairs[turn * size : (turn + 1) * size])
        turn = (turn + 1) % parts
        who, what = batch[:, 0].contiguous(), batch[:, 1].contiguous()
        user = of_user(who.to(CUDA))
        good = (user * of_item(what.to(CUDA))).sum(1)
        bad = (user[:, None, :] * of_item(others(who))).sum(2)
        loss = nn.functional.softplus(bad - good[:, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return torch.cat([loss.detach()[None], good.detach()[:7]])

    return train


@program("transformers", "a language model is trained in float32", "in bfloat16, by autocast", "tensor_cores", "low_precision")
def tales(fixed):
    import itertools

    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=8,
        num_attention_heads=12,
        num_key_value_heads=12,
        max_position_embeddings=512,
    )
    model = LlamaForCausalLM(config).to(CUDA).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    texts = torch.randint(32000, (8, 16, 512), device=CUDA)
    turns = itertools.cycle(range(8))

    def train():
        ids = texts[next(turns)]
        with torch.autocast(CUDA, torch.bfloat16, enabled=fixed):
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


if __name__ == "__main__":
    main()
