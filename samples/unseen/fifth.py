#!/usr/bin/env python3
"""Twelve programs more, like those of programs.py to fourth.py, with inefficiencies that people meet often.

usage: fifth.py list
       fifth.py NAME [--fixed] [--steps N] [--window | --torch FILE | --jax FILE]

See running.py.
"""

from running import CUDA, main, program


@program("transformers", "text generation: repeated tokens are made less likely score by score, in a double loop", "`gather` and `scatter` of their scores", "scalar_read", "repeated_work", "batching")
def penalties(fixed):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    n, length, new, factor = 8, 48, 3, 1.3
    model = GPT2LMHeadModel(GPT2Config()).half().to(CUDA).eval()
    prompts = torch.randint(0, 50257, (n, length), device=CUDA)

    def each(scores, ids):
        for i in range(n):
            for token in set(ids[i].tolist()):
                if scores[i, token] < 0:
                    scores[i, token] *= factor
                else:
                    scores[i, token] /= factor
        return scores

    def together(scores, ids):
        found = scores.gather(1, ids)
        return scores.scatter(1, ids, torch.where(found < 0, found * factor, found / factor))

    @torch.no_grad()
    def generate():
        ids, given, past, best = prompts, prompts, None, []
        for _ in range(new):
            out = model(input_ids=given, past_key_values=past, use_cache=True)
            past = out.past_key_values
            scores = (together if fixed else each)(out.logits[:, -1].float(), ids)
            value, given = scores.max(-1, keepdim=True)
            ids = torch.cat([ids, given], 1)
            best.append(value[:, 0])
        return torch.stack(best)

    return generate


@program("torch", "PPO: the policy is asked for the action of each of 32 environments by itself", "it is asked once for all of them", "repeated_work", "batching")
def rollout(fixed):
    import math

    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F

    n, length = 32, 8
    rng = np.random.default_rng(0)

    class Pendulum:
        def __init__(self):
            self.angle, self.speed = rng.uniform(-3, 3), rng.uniform(-1, 1)

        def seen(self):
            return np.array([math.cos(self.angle), math.sin(self.angle), self.speed], dtype=np.float32)

        def move(self, torque):
            """The reward."""
            torque = max(-2.0, min(2.0, torque))
            off = (self.angle + math.pi) % (2 * math.pi) - math.pi
            cost = off**2 + 0.1 * self.speed**2 + 0.001 * torque**2
            self.speed = max(-8.0, min(8.0, self.speed + 0.05 * (15 * math.sin(self.angle) + 3 * torque)))
            self.angle += 0.05 * self.speed
            return -cost

    class Agent(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
            self.actor, self.critic, self.spread = nn.Linear(256, 1), nn.Linear(256, 1), nn.Parameter(torch.zeros(1))

        def forward(self, seen):
            h = self.body(seen)
            return self.actor(h)[:, 0], self.critic(h)[:, 0]

        def logs(self, mean, actions):
            return -0.5 * ((actions - mean) / self.spread.exp()) ** 2 - self.spread

    environments, agent = [Pendulum() for _ in range(n)], Agent().to(CUDA)
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4)

    @torch.no_grad()
    def act(seen, noise):
        mean, values = agent(torch.from_numpy(seen).to(CUDA))
        actions = mean + agent.spread.exp() * torch.from_numpy(noise).to(CUDA)
        return actions.cpu().numpy(), values.cpu().numpy()

    def collect():
        """What was seen, done, expected and rewarded in LENGTH time steps of each environment."""
        found = []
        for _ in range(length):
            seen, noise = np.stack([e.seen() for e in environments]), rng.standard_normal(n, dtype=np.float32)
            if fixed:
                actions, values = act(seen, noise)
            else:
                actions, values = (np.concatenate(part) for part in zip(*(act(seen[i : i + 1], noise[i : i + 1]) for i in range(n))))
            rewards = np.array([e.move(float(a)) for e, a in zip(environments, actions)], dtype=np.float32)
            found.append((seen, actions, values, rewards))
        return [np.stack(part) for part in zip(*found)]

    def update():
        seen, actions, values, rewards = collect()
        returns, after = np.empty_like(rewards), 0.0
        for t in reversed(range(length)):
            after = returns[t] = rewards[t] + 0.99 * after
        seen, actions, values, returns = (torch.from_numpy(x).to(CUDA).flatten(0, 1) for x in (seen, actions, values, returns))
        gains = returns - values
        gains = (gains - gains.mean()) / (gains.std() + 1e-8)
        with torch.no_grad():
            before = agent.logs(agent(seen)[0], actions)
        losses = []
        for _ in range(4):
            mean, expected = agent(seen)
            ratio = (agent.logs(mean, actions) - before).exp()
            loss = 0.5 * F.mse_loss(expected, returns) - torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    return update


@program("torch", "graph attention: the features of all pairs of nodes are laid side by side, to score the pairs", "two scores for each node, added by broadcasting")
def attentive(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    nodes, inputs, wide, heads, classes = 2708, 1433, 8, 8, 7
    generator = torch.Generator().manual_seed(1)
    links = torch.randint(0, nodes, (2, 2 * nodes), generator=generator).to(CUDA)
    apart = ~torch.eye(nodes, dtype=torch.bool, device=CUDA)
    apart[links[0], links[1]] = False
    apart[links[1], links[0]] = False
    x = (torch.rand(nodes, inputs, generator=generator) < 0.02).float().to(CUDA)
    y = torch.randint(0, classes, (nodes,), generator=generator).to(CUDA)

    class Head(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight, self.score = nn.Linear(inputs, outputs, bias=False), nn.Linear(2 * outputs, 1, bias=False)

        def forward(self, x):
            h = self.weight(x)
            if fixed:
                one, other = self.score.weight[0].chunk(2)
                scores = (h @ one)[:, None] + (h @ other)[None, :]
            else:
                pairs = torch.cat([h.repeat_interleave(nodes, 0), h.repeat(nodes, 1)], 1)
                scores = self.score(pairs).view(nodes, nodes)
            return F.leaky_relu(scores, 0.2).masked_fill(apart, float("-inf")).softmax(1) @ h

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads, self.last = nn.ModuleList(Head(inputs, wide) for _ in range(heads)), Head(heads * wide, classes)

        def forward(self, x):
            return self.last(torch.cat([F.elu(head(x)) for head in self.heads], 1))

    model = Model().to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)

    def train():
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "speaker recognition: `cudnn.benchmark` is on, and each batch of speech has another length", "it is off", "cudnn_benchmark")
def voices(fixed):
    import random

    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.backends.cudnn.benchmark = not fixed
    n, rng = 8, random.Random(0)

    def stage(inside, outside, stride):
        return [nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(),
                nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU()]  # fmt: skip

    class Speaker(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(*stage(1, 32, 1), *stage(32, 64, 2), *stage(64, 128, 2))
            self.head = nn.Linear(2 * 128 * 20, 192, bias=False)

        def forward(self, x):
            h = self.body(x).flatten(1, 2)
            return F.normalize(self.head(torch.cat([h.mean(2), h.std(2)], 1)).float(), dim=1)

    model = Speaker().half().to(CUDA).eval()
    sound = torch.randn(n, 1, 80, 2000, device=CUDA, dtype=torch.float16)

    @torch.no_grad()
    def embed():
        return model(sound[..., : rng.randrange(300, 2000)].contiguous())

    return embed


@program("torch", "a network for a table: histograms of all weights and gradients are written in each step", "they are written every 100 steps", "logging", "host_results")
def histograms(fixed):
    import atexit
    import itertools
    import shutil
    import tempfile

    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.tensorboard import SummaryWriter

    folder, steps, every = tempfile.mkdtemp(), itertools.count(), 100 if fixed else 1
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    writer = SummaryWriter(folder)
    x, y = torch.randn(500000, 100, device=CUDA), torch.randint(0, 2, (500000,), device=CUDA).float()
    model = nn.Sequential(nn.Linear(100, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)).to(CUDA)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train():
        i, rows = next(steps), torch.randint(0, len(x), (4096,), device=CUDA)
        loss = F.binary_cross_entropy_with_logits(model(x[rows])[:, 0], y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % every == 0:
            writer.add_scalar("loss", loss.item(), i)
            for name, p in model.named_parameters():
                writer.add_histogram("weights/" + name, p, i)
                writer.add_histogram("gradients/" + name, p.grad, i)
        return loss.detach()

    return train


@program("jax", "light curves: a linear recurrence over 2048 points of time is a `jax.lax.scan`", "`jax.lax.associative_scan`", "repeated_work", "scan_loop")
def recurrence(fixed):
    import jax
    import jax.numpy as jnp

    points, stars, rate = 2048, 256, 1.0
    flux = jnp.cumsum(0.1 * jax.random.normal(jax.random.PRNGKey(0), (points, stars)), axis=0)

    def smooth(keep):
        """Y, whose row t is KEEP times row t - 1 and 1 - KEEP times row t of the flux."""
        if fixed:
            of_rows = jnp.broadcast_to(keep, flux.shape), (1 - keep) * flux
            return jax.lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), of_rows)[1]

        def one(y, seen):
            y = keep * y + (1 - keep) * seen
            return y, y

        return jax.lax.scan(one, jnp.zeros(stars), flux)[1]

    def loss(raw):
        return jnp.sum((flux[1:] - smooth(jax.nn.sigmoid(raw))[:-1]) ** 2) / points

    @jax.jit
    def update(raw):
        return raw - rate * jax.grad(loss)(raw)

    state = [jnp.zeros(stars)]

    def fit():
        state[0] = jax.block_until_ready(update(state[0]))
        return state[0]

    return fit


@program("triton", "attention: tiles of float16 are made float32 before they are multiplied", "products of float16 tiles, which are summed in float32 anyway", "tensor_cores")
def widened(fixed):
    import torch
    from attention_forward import attention

    q, k, v = (torch.randn(128, 4096, 64, device=CUDA, dtype=torch.float16) for _ in range(3))

    @torch.no_grad()
    def step():
        x = q
        for _ in range(4):
            x = attention(x, k, v, widen=not fixed)
        return x[0]

    return step


@program("torchvision", "JPEG images are decoded and cut in the process that trains", "eight worker processes of the DataLoader", "input_stall")
def workers(fixed):
    import io

    import numpy as np
    import torch
    from PIL import Image
    from torch.nn import functional as F
    from torch.utils.data import DataLoader, Dataset
    from torchvision import transforms
    from torchvision.models import resnet18

    n, rng = 24, np.random.default_rng(0)

    def photograph():
        file = io.BytesIO()
        spots = Image.fromarray(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8))
        spots.resize((500, 375), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
        return file.getvalue()

    class Photographs(Dataset):
        def __init__(self):
            self.files = [photograph() for _ in range(256)]
            self.change = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
                                              transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])  # fmt: skip

        def __len__(self):
            return 1 << 20

        def __getitem__(self, i):
            i %= len(self.files)
            return self.change(Image.open(io.BytesIO(self.files[i])).convert("RGB")), i % 100

    batches = iter(DataLoader(Photographs(), batch_size=n, num_workers=8 if fixed else 0, pin_memory=True))
    model = resnet18(num_classes=100).to(CUDA, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def train():
        images, kinds = (part.to(CUDA, non_blocking=True) for part in next(batches))
        with torch.autocast(CUDA, torch.bfloat16):
            scores = model(images.contiguous(memory_format=torch.channels_last))
        loss = F.cross_entropy(scores.float(), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("cupy", "a telescope's frames: each of five functions takes NumPy arrays and gives one", "the arrays stay on the GPU from the first to the last", "round_trip", "pageable_copy")
def frames(fixed):
    import cupy as cp
    import numpy as np

    n, height, width = 16, 512, 1024
    random = np.random.default_rng(0)
    raw = 100 + 5 * random.standard_normal((n, height, width), dtype=np.float32)
    dark, flat = (cp.asarray(level + 0.1 * random.standard_normal((height, width), dtype=np.float32)) for level in (10, 1.5))

    def given(x):
        return x if fixed else cp.asnumpy(x)

    def without_dark(x):
        return given(cp.asarray(x) - dark)

    def flattened(x):
        return given(cp.asarray(x) / flat)

    def without_background(x):
        x = cp.asarray(x)
        return given(x - x.mean(axis=(1, 2), keepdims=True))

    def smoothed(x):
        x = cp.asarray(x)
        return given((cp.roll(x, 1, axis=2) + 2 * x + cp.roll(x, -1, axis=2)) / 4)

    def in_deviations(x):
        x = cp.asarray(x)
        return given(x / x.std(axis=(1, 2), keepdims=True))

    def step():
        x = raw
        for change in (without_dark, flattened, without_background, smoothed, in_deviations):
            x = change(x)
        return cp.asnumpy(x)[0, 0]

    return step


@program("torch", "diffusion training: the noise is drawn on the host, and copied", "it is drawn on the GPU", "routing", "input_stall")
def noise(fixed):
    import torch
    from torch import nn
    from torch.nn import functional as F

    n, wide = 32, 128

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Embedding(1000, wide)
            self.first = nn.Sequential(nn.GroupNorm(8, wide), nn.SiLU(), nn.Conv2d(wide, wide, 3, padding=1))
            self.second = nn.Sequential(nn.GroupNorm(8, wide), nn.SiLU(), nn.Conv2d(wide, wide, 3, padding=1))

        def forward(self, x, t):
            return x + self.second(self.first(x) + self.time(t)[:, :, None, None])

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv2d(48, wide, 3, padding=1), nn.Conv2d(wide, 48, 3, padding=1)
            self.blocks = nn.ModuleList(Block() for _ in range(4))

        def forward(self, x, t):
            h = self.first(F.pixel_unshuffle(x, 4))
            for block in self.blocks:
                h = block(h, t)
            return F.pixel_shuffle(self.last(h), 4)

    model = Denoiser().to(CUDA, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    images = torch.randint(0, 256, (n, 3, 256, 256), dtype=torch.uint8, device=CUDA)
    kept = torch.cos(torch.linspace(0, 1.5, 1000, device=CUDA)) ** 2

    def train():
        x = images.float() / 127.5 - 1
        t = torch.randint(0, 1000, (n,), device=CUDA)
        drawn = torch.randn_like(x) if fixed else torch.randn(x.shape).to(CUDA)
        share = kept[t].view(n, 1, 1, 1)
        with torch.autocast(CUDA, torch.bfloat16):
            found = model(share.sqrt() * x + (1 - share).sqrt() * drawn, t)
        loss = F.mse_loss(found.float(), drawn)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


@program("torch", "recommendation: the scores of 400000 items are sorted, to take the best 20", "`torch.topk`", "full_sort")
def ranking(fixed):
    import torch

    users, items, wide, n, best = 100000, 400000, 64, 128, 20
    people, things = torch.randn(users, wide, device=CUDA), torch.randn(items, wide, device=CUDA)
    bought = torch.randint(0, items, (users, 50), device=CUDA)

    @torch.no_grad()
    def recommend():
        who = torch.randint(0, users, (n,), device=CUDA)
        scores = people[who] @ things.T
        scores.scatter_(1, bought[who], float("-inf"))
        first = scores.topk(best).indices if fixed else scores.argsort(dim=1, descending=True)[:, :best]
        return scores.gather(1, first).cpu()

    return recommend


@program("transformers", "a language model is trained with the `eager` attention, which writes all scores to memory", "the `sdpa` attention", "attention")
def pretraining(fixed):
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    config = LlamaConfig(vocab_size=16000, hidden_size=768, intermediate_size=2048, num_hidden_layers=8, num_attention_heads=12,
                         num_key_value_heads=12, max_position_embeddings=2048)  # fmt: skip
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa" if fixed else "eager").to(CUDA).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    ids = torch.randint(0, 16000, (4, 2048), device=CUDA)

    def train():
        with torch.autocast(CUDA, torch.bfloat16):
            loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


if __name__ == "__main__":
    main()
