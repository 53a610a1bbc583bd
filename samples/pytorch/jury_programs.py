"""Changes in programs of other people's libraries: each program is a function that makes one step, before or after one change.

PAIRS: name, the rule whose advice the change is, what was changed, the function, called with False before and True after the change, and
how many seconds the pair may take, None for the usual limit. A program that cannot run raises: it is named and left out.
Random weights; nothing is downloaded. The first eleven were recorded first; pairs/SCORES.md says which sets there are.
"""

import collections
import functools

import torch
from torch import nn
from torch.nn import functional as F

PAIRS = []
CUDA = "cuda"
Pair = collections.namedtuple("Pair", "name rule what make limit")


def pair(name, rule, what, limit=None):
    def add(make):
        PAIRS.append(Pair(name, rule, what, make, limit))
        return make

    return add


def graphed(step):
    """The step captured as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def training(model, inputs, loss, optimizer, zero=True, after=None):
    def step():
        value = loss(model(inputs()))
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=zero)
        if after:
            after(value)

    return step


def inferring(model, x):
    model.eval()

    def step():
        with torch.no_grad():
            return model(x)

    return step


# ---- transformers ----


def prefetching(model, batch, ahead):
    """Inference of images in half precision; AHEAD: the next are copied on a stream of their own meanwhile."""
    host = [torch.randn(batch, 3, 256, 256).half().pin_memory() for _ in range(2)]
    device = [torch.empty(batch, 3, 256, 256, device=CUDA, dtype=torch.float16) for _ in range(2)]
    side, done, ready = torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.Event()
    done.record()

    def fetch():
        with torch.cuda.stream(side):
            side.wait_event(done)
            device[1].copy_(host[1], non_blocking=True)
            ready.record()

    if ahead:
        fetch()

    def step():
        host.reverse()
        if ahead:
            torch.cuda.current_stream().wait_event(ready)
            done.record()
            device.reverse()
            fetch()
        else:
            device[0].copy_(host[0], non_blocking=True)
        with torch.no_grad():
            model(device[0])

    return step


def bert(layers=4, hidden=512, attention="sdpa"):
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=8, intermediate_size=4 * hidden, vocab_size=8192)
    config._attn_implementation = attention
    return BertModel(config).to(CUDA)


def gpt2(layers=4, width=512, vocab=8192, attention="sdpa", length=512):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=layers, n_embd=width, n_head=8, vocab_size=vocab, n_positions=length, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    config._attn_implementation = attention
    return GPT2LMHeadModel(config).to(CUDA)


def llama(layers=4, hidden=512):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=8, num_key_value_heads=8, intermediate_size=1408, vocab_size=8192)
    return LlamaForCausalLM(config).to(CUDA)


def tokens(batch, length, vocab=8192):
    return torch.randint(vocab, (batch, length), device=CUDA)


@pair("bert_adamw", "optimizer", "BERT training: fused AdamW, not a loop over parameters")
def bert_adamw(after):
    model, ids = bert(), tokens(8, 128)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({"fused": True} if after else {"foreach": False}))
    return training(model, lambda: ids, lambda out: out.last_hidden_state.float().square().mean(), optimizer)


@pair("gpt2_attention", "attention", "GPT-2 training: SDPA, not eager attention")
def gpt2_attention(after):
    model, ids = gpt2(attention="sdpa" if after else "eager", length=1024).to(torch.bfloat16), tokens(8, 1024)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    return training(lambda x: model(x, labels=x), lambda: ids, lambda out: out.loss, optimizer)


@pair("bert_tf32", "tensor_cores", "BERT inference: TF32 products")
def bert_tf32(after):
    torch.set_float32_matmul_precision("high" if after else "highest")
    return inferring(bert(layers=6), tokens(32, 256))


@pair("bert_graph", "cuda_graph", "BERT inference of one sentence: a CUDA graph")
def bert_graph(after):
    model, ids = bert().half(), tokens(1, 64)
    model.eval()

    def one():
        with torch.no_grad():
            model(ids)

    return graphed(one) if after else one


@pair("llama_adamw", "optimizer", "Llama training: fused AdamW, not foreach")
def llama_adamw(after):
    model, ids = llama().to(torch.bfloat16), tokens(4, 256)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({"fused": True} if after else {"foreach": True}))
    return training(lambda x: model(x, labels=x), lambda: ids, lambda out: out.loss, optimizer)


@pair("gpt2_read", "scalar_read", "GPT-2 training: the loss is not read in each step")
def gpt2_read(after):
    model, ids = gpt2(layers=6, width=1024, length=512).to(torch.bfloat16), tokens(16, 512)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True)
    return training(lambda x: model(x, labels=x), lambda: ids, lambda out: out.loss, optimizer, after=None if after else lambda loss: loss.item())


@pair("gpt2_vocabulary", "odd_dimensions", "GPT-2 training in bf16: 50304 words, not 50257")
def gpt2_vocabulary(after):
    vocab = 50304 if after else 50257
    model, ids = gpt2(layers=2, vocab=vocab, length=512).to(torch.bfloat16), tokens(8, 512, vocab)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    return training(lambda x: model(x, labels=x), lambda: ids, lambda out: out.loss, optimizer)


@pair("t5_zeros", "zero_fill", "T5 training: gradients set to None")
def t5_zeros(after):
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(T5Config(vocab_size=16384, d_model=768, d_ff=3072, num_layers=3, num_heads=12, d_kv=64, decoder_start_token_id=0)).to(CUDA)
    ids = tokens(4, 128)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True)
    return training(lambda x: model(input_ids=x, labels=x), lambda: ids, lambda out: out.loss, optimizer, zero=after)


@pair("vit_pinned", "pageable_copy", "ViT inference: pinned images, non_blocking")
def vit_pinned(after):
    from transformers import ViTConfig, ViTModel

    model = ViTModel(ViTConfig(num_hidden_layers=4)).to(CUDA, torch.bfloat16).eval()
    images = [torch.randn(64, 3, 224, 224) for _ in range(2)]
    images = [i.pin_memory() for i in images] if after else images

    def step():
        images.reverse()
        with torch.no_grad():
            model(images[0].to(CUDA, non_blocking=after).to(torch.bfloat16))

    return step


@pair("gpt2_clip", "scalar_read", "GPT-2 training: clipping without a check for infinite norms")
def gpt2_clip(after):
    model, ids = gpt2(layers=6, width=1024, length=512).to(torch.bfloat16), tokens(8, 512)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        model(ids, labels=ids).loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=not after)
        optimizer.step()
        optimizer.zero_grad()

    return step


@pair("roberta_casts", "cast_churn", "RoBERTa inference: weights in bf16, not autocast")
def roberta_casts(after):
    from transformers import RobertaConfig, RobertaModel

    model = RobertaModel(RobertaConfig(vocab_size=8192, hidden_size=1024, num_attention_heads=16, intermediate_size=4096, num_hidden_layers=4)).to(CUDA).eval()
    model, ids = (model.to(torch.bfloat16) if after else model), tokens(8, 128)

    def step():
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=not after):
            model(ids)

    return step


@pair("llama_graph", "cuda_graph", "Llama, a prompt of 16 tokens: a CUDA graph")
def llama_graph(after):
    # No cache: one that counts its tokens would be written beyond its end by a graph that is replayed often.
    model, ids = llama(layers=6).to(torch.bfloat16).eval(), tokens(1, 16)

    def step():
        with torch.no_grad():
            model(ids, use_cache=False)

    return graphed(step) if after else step


# ---- torchvision ----


def images(batch, size=224, dtype=torch.float32):
    return torch.randn(batch, 3, size, size, device=CUDA, dtype=dtype)


@pair("resnet_last", "layout_churn", "ResNet-50 training in bf16: channels_last")
def resnet_last(after):
    import torchvision

    layout = torch.channels_last if after else torch.contiguous_format
    model = torchvision.models.resnet50().to(CUDA, torch.bfloat16).to(memory_format=layout)
    x, y = images(64, dtype=torch.bfloat16).to(memory_format=layout), torch.randint(1000, (64,), device=CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    return training(model, lambda: x, lambda out: F.cross_entropy(out.float(), y), optimizer)


@pair("resnet_graph", "cuda_graph", "ResNet-18 inference of one image: a CUDA graph")
def resnet_graph(after):
    import torchvision

    step = inferring(torchvision.models.resnet18().to(CUDA), images(1))
    return graphed(step) if after else step


@pair("mobilenet_graph", "cuda_graph", "MobileNetV3 inference of four images: a CUDA graph")
def mobilenet_graph(after):
    import torchvision

    step = inferring(torchvision.models.mobilenet_v3_small().to(CUDA).half(), images(4, dtype=torch.float16))
    return graphed(step) if after else step


@pair("convnext_tf32", "tensor_cores", "ConvNeXt inference: TF32 products and convolutions")
def convnext_tf32(after):
    import torchvision

    torch.set_float32_matmul_precision("high" if after else "highest")
    torch.backends.cudnn.allow_tf32 = after
    return inferring(torchvision.models.convnext_tiny().to(CUDA), images(32))


@pair("resnet_synchronize", "blocking_sync", "ResNet-50 training: no wait at the end of a step")
def resnet_synchronize(after):
    import torchvision

    model, x, y = torchvision.models.resnet50().to(CUDA), images(16), torch.randint(1000, (16,), device=CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    return training(model, lambda: x, lambda out: F.cross_entropy(out, y), optimizer, after=None if after else lambda _: torch.cuda.synchronize())


@pair("resnet_loader", "input_stall", "ResNet-18 training: eight workers load, not none", limit=60)
def resnet_loader(after):
    import torchvision
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset):
        turn = torchvision.transforms.Compose([torchvision.transforms.RandomResizedCrop(160), torchvision.transforms.RandomHorizontalFlip()])

        def __len__(self):
            return 1 << 16

        def __getitem__(self, i):
            return self.turn(torch.rand(3, 256, 256, generator=torch.Generator().manual_seed(i))), i % 1000

    torch.set_num_threads(1)
    loader = DataLoader(Pictures(), 32, num_workers=8 if after else 0, pin_memory=True, persistent_workers=after, prefetch_factor=4 if after else None)
    batches = iter(loader)
    model = torchvision.models.resnet18().to(CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)

    def step():
        x, y = next(batches)
        loss = F.cross_entropy(model(x.to(CUDA, non_blocking=True)), y.to(CUDA, non_blocking=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@pair("vgg_cache", "allocation", "VGG inference: cached memory is kept")
def vgg_cache(after):
    import torchvision

    model, x = torchvision.models.vgg11().to(CUDA).eval(), images(16)

    def step():
        with torch.no_grad():
            model(x)
        if not after:
            torch.cuda.empty_cache()

    return step


@pair("segment_prefetch", "copy_overlap", "DeepLab inference: the next images are copied on a stream of their own")
def segment_prefetch(after):
    import torchvision

    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None).to(CUDA).half().eval()
    return prefetching(model, 64, after)


# ---- timm, torch_geometric, torchaudio ----


@pair("timm_adamw", "optimizer", "timm's ViT training: fused AdamW, not a loop over parameters")
def timm_adamw(after):
    import timm

    model = timm.create_model("vit_tiny_patch16_224", depth=6).to(CUDA, torch.bfloat16)
    x, y = images(32, dtype=torch.bfloat16), torch.randint(1000, (32,), device=CUDA)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({"fused": True} if after else {"foreach": False}))
    return training(model, lambda: x, lambda out: F.cross_entropy(out.float(), y), optimizer)


@pair("timm_graph", "cuda_graph", "timm's EfficientNet inference of one image: a CUDA graph")
def timm_graph(after):
    import timm

    step = inferring(timm.create_model("efficientnet_lite0").to(CUDA).half(), images(1, dtype=torch.float16))
    return graphed(step) if after else step


@pair("timm_attention", "attention", "timm's ViT inference: fused attention")
def timm_attention(after):
    import timm

    timm.layers.set_fused_attn(after)
    return inferring(timm.create_model("vit_small_patch16_384", depth=4).to(CUDA, torch.bfloat16), images(32, 384, torch.bfloat16))


@pair("gcn_read", "scalar_read", "GCN training: the loss is not read in each step")
def gcn_read(after):
    from torch_geometric.nn import GCNConv

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(GCNConv(256, 256, cached=True) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x, edges).relu()
            return x

    edges, x = torch.randint(20000, (2, 200000), device=CUDA), torch.randn(20000, 256, device=CUDA)
    model = Net().to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    return training(model, lambda: x, lambda out: out.square().mean(), optimizer, after=None if after else lambda loss: loss.item())


@pair("sage_packed", "small_copies", "GraphSAGE: one copy of 40 features, not 40")
def sage_packed(after):
    from torch_geometric.nn import SAGEConv

    edges = torch.randint(4096, (2, 65536), device=CUDA)
    parts = [torch.randn(4096, 2).pin_memory() for _ in range(40)]
    whole = torch.cat(parts, 1).pin_memory()
    model = nn.ModuleList([SAGEConv(80, 128), SAGEConv(128, 64)]).to(CUDA)

    def step():
        x = whole.to(CUDA, non_blocking=True) if after else torch.cat([p.to(CUDA, non_blocking=True) for p in parts], 1)
        with torch.no_grad():
            model[1](model[0](x, edges).relu(), edges)

    return step


@pair("conformer_adamw", "optimizer", "Conformer training: fused Adam, not foreach")
def conformer_adamw(after):
    import torchaudio

    model = torchaudio.models.Conformer(80, 4, 512, 4, 31).to(CUDA)
    x, n = torch.randn(4, 200, 80, device=CUDA), torch.full((4,), 200, device=CUDA)
    optimizer = torch.optim.Adam(model.parameters(), **({"fused": True} if after else {"foreach": True}))
    return training(lambda x: model(x, n)[0], lambda: x, lambda out: out.square().mean(), optimizer)


# ---- diffusion, tables, sparse work ----


class Denoiser(nn.Module):
    """A U-Net of ResNet blocks with time, as diffusion models have."""

    def __init__(self, width=128):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1)) for _ in range(8))
        self.time = nn.Linear(64, width)
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x, t):
        angle = t[:, None] * torch.arange(32, device=t.device)
        h = self.enter(x) + self.time(torch.cat([angle.sin(), angle.cos()], 1).to(x.dtype))[:, :, None, None]
        for block in self.blocks:
            h = h + block(h)
        return self.leave(h)


@pair("diffusion_graph", "cuda_graph", "a denoising step of one small picture: a CUDA graph")
def diffusion_graph(after):
    model, x, t = Denoiser(64).to(CUDA).half().eval(), torch.randn(1, 3, 32, 32, device=CUDA).half(), torch.tensor([7.0], device=CUDA)

    def step():
        with torch.no_grad():
            noise = model(x, t)
            x.copy_(x - 0.01 * noise)

    return graphed(step) if after else step


@pair("diffusion_last", "layout_churn", "denoising in half precision: channels_last")
def diffusion_last(after):
    layout = torch.channels_last if after else torch.contiguous_format
    model = Denoiser(256).to(CUDA).half().to(memory_format=layout)
    x, t = torch.randn(16, 3, 128, 128, device=CUDA).half().to(memory_format=layout), torch.rand(16, device=CUDA)

    def step():
        with torch.no_grad():
            model(x, t)

    return step


@pair("tables_batched", "batching", "26 products of small layers as one batch")
def tables_batched(after):
    x, w = torch.randn(26, 256, 64, device=CUDA), torch.randn(26, 64, 64, device=CUDA)

    def step():
        if after:
            torch.bmm(x, w)
        else:
            for i in range(26):
                torch.mm(x[i], w[i])

    return step


@pair("torchdiffeq_constants", "caching", "an integrator that makes its constants once")
def torchdiffeq_constants(after):
    field = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64)).to(CUDA).eval()
    y, kept = torch.randn(512, 64, device=CUDA), [torch.full((), 1 / (i + 1), device=CUDA) for i in range(110)]

    def step():
        h = y
        with torch.no_grad():
            for i in range(110):
                h = h + (kept[i] if after else torch.full((), 1 / (i + 1), device=CUDA)) * 1e-3
            field(h)

    return step


@pair("cupy_batched", "batching", "CuPy: one batch of 48 products")
def cupy_batched(after):
    import cupy

    a, b = cupy.random.rand(48, 128, 128, dtype=cupy.float32), cupy.random.rand(48, 128, 128, dtype=cupy.float32)

    def step():
        if after:
            cupy.matmul(a, b)
        else:
            for i in range(48):
                cupy.matmul(a[i], b[i])

    return step


@pair("cupy_fused", "fusion", "CuPy: elementwise work as one kernel")
def cupy_fused(after):
    import cupy

    x = cupy.random.rand(1 << 26, dtype=cupy.float32)

    def work(v):
        return cupy.sqrt(v * v + 1) * 0.5 + cupy.exp(-v) * v

    call = cupy.fuse(work) if after else work
    return functools.partial(call, x)


@pair("norms_compiled", "fusion", "LayerNorm, GELU and residual, compiled", limit=90)
def norms_compiled(after):
    x, r = torch.randn(32768, 2048, device=CUDA), torch.randn(32768, 2048, device=CUDA)

    def work(x, r):
        return F.gelu(F.layer_norm(x * 1.1 + r, (2048,))) * 0.5 + x

    call = torch.compile(work) if after else work
    return lambda: call(x, r)


# ---- added for the second set ----


@pair("whisper_pinned", "pageable_copy", "Whisper's encoder: pinned spectrograms, non_blocking")
def whisper_pinned(after):
    from transformers import WhisperConfig, WhisperModel

    model = WhisperModel(WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=1, encoder_attention_heads=6, decoder_attention_heads=6))
    encoder = model.get_encoder().to(CUDA, torch.bfloat16).eval()
    sounds = [torch.randn(16, 80, 3000) for _ in range(2)]
    sounds = [s.pin_memory() for s in sounds] if after else sounds

    def step():
        sounds.reverse()
        with torch.no_grad():
            encoder(sounds[0].to(CUDA, non_blocking=after).to(torch.bfloat16))

    return step


@pair("t5_casts", "cast_churn", "T5's encoder: weights in bf16, not autocast")
def t5_casts(after):
    from transformers import T5Config, T5EncoderModel

    model = T5EncoderModel(T5Config(vocab_size=16384, d_model=1024, d_ff=4096, num_layers=4, num_heads=16, d_kv=64)).to(CUDA).eval()
    model, ids = (model.to(torch.bfloat16) if after else model), tokens(16, 256)

    def step():
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=not after):
            model(input_ids=ids)

    return step


@pair("llama_width", "odd_dimensions", "Llama training in bf16: layers of 2736, not 2731")
def llama_width(after):
    from transformers import LlamaConfig, LlamaForCausalLM

    width = 2736 if after else 2731
    config = LlamaConfig(hidden_size=1024, num_hidden_layers=3, num_attention_heads=16, num_key_value_heads=16, intermediate_size=width, vocab_size=8192)
    model, ids = LlamaForCausalLM(config).to(CUDA, torch.bfloat16), tokens(16, 512)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    return training(lambda x: model(x, labels=x), lambda: ids, lambda out: out.loss, optimizer)


@pair("gpt2_stop", "scalar_read", "GPT-2, eight tokens at a time: the end is looked for after them, not after each")
def gpt2_stop(after):
    model, end = gpt2(layers=4, width=768).to(torch.bfloat16).eval(), torch.tensor(8191, device=CUDA)
    start = tokens(4, 256)

    def step():
        ids = start
        with torch.no_grad():
            for i in range(8):
                ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1:].argmax(-1)], 1)
                if (not after or i == 7) and bool((ids[:, -1] == end).all()):
                    break

    return step


@pair("bert_compiled", "compile", "BERT inference of one sentence: torch.compile", limit=120)
def bert_compiled(after):
    model = bert(layers=3).half().eval()
    return inferring(torch.compile(model) if after else model, tokens(1, 64))


@pair("unet_zeros", "zero_fill", "training of a denoiser: gradients set to None")
def unet_zeros(after):
    model, x, t = Denoiser(128).to(CUDA, torch.bfloat16), torch.randn(16, 3, 64, 64, device=CUDA).bfloat16(), torch.rand(16, device=CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    return training(lambda v: model(v, t), lambda: x, lambda out: (out - x).float().square().mean(), optimizer, zero=after)


@pair("unet_result", "synchronous_copy", "denoising: the pictures before are waited for, not the new ones")
def unet_result(after):
    model, x, t = Denoiser(128).to(CUDA).half().eval(), torch.randn(64, 3, 128, 128, device=CUDA).half(), torch.rand(64, device=CUDA)
    host, done = [torch.empty(64, 3, 128, 128, dtype=torch.float16).pin_memory() for _ in range(2)], [torch.cuda.Event() for _ in range(2)]

    def step():
        host.reverse()
        done.reverse()
        with torch.no_grad():
            host[0].copy_(model(x, t), non_blocking=after)
        done[0].record()
        done[1].synchronize()

    return step


@pair("sparse_read", "scalar_read", "power iteration on a sparse matrix: looked at after 16 products, not after each")
def sparse_read(after):
    n, entries = 1 << 18, 1 << 22
    indices = torch.randint(n, (2, entries), device=CUDA)
    matrix = torch.sparse_coo_tensor(indices, torch.rand(entries, device=CUDA), (n, n)).coalesce().to_sparse_csr()

    def step():
        x = torch.ones(n, 1, device=CUDA)
        for i in range(16):
            y = matrix @ x
            norm = y.norm()
            if (not after or i == 15) and norm.item() < 1e-30:
                break
            x = y / norm

    return step


@pair("gat_fused", "optimizer", "a graph attention network: fused AdamW, not a loop over parameters")
def gat_fused(after):
    from torch_geometric.nn import GATConv

    edges, x = torch.randint(8192, (2, 65536), device=CUDA), torch.randn(8192, 128, device=CUDA)
    layers = nn.ModuleList([GATConv(128, 64, heads=4), GATConv(256, 64, heads=4), GATConv(256, 64, heads=4), GATConv(256, 32)]).to(CUDA)

    def forward(h):
        for layer in layers:
            h = layer(h, edges).relu()
        return h

    optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-3, **({"fused": True} if after else {"foreach": False}))
    return training(forward, lambda: x, lambda out: out.square().mean(), optimizer)


@pair("jax_jit", "compile", "JAX: layers as one compiled function", limit=60)
def jax_jit(after):
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(0), 9)
    weights, x = [jax.random.normal(k, (512, 512)) * 0.04 for k in keys[:8]], jax.random.normal(keys[8], (256, 512))

    def work(x):
        for w in weights:
            h = jnp.dot(x, w)
            h = (h - h.mean(1, keepdims=True)) / jnp.sqrt(h.var(1, keepdims=True) + 1e-5)
            x = x + h * jax.nn.sigmoid(h)
        return x

    call = jax.jit(work) if after else work
    return lambda: call(x).block_until_ready()


# ---- added for the third set ----


@pair("vit_tf32", "tensor_cores", "torchvision's ViT inference: TF32 products")
def vit_tf32(after):
    import torchvision

    torch.set_float32_matmul_precision("high" if after else "highest")
    return inferring(torchvision.models.VisionTransformer(224, 16, 4, 12, 768, 3072).to(CUDA), images(16))


@pair("swin_pinned", "pageable_copy", "Swin inference: pinned images, non_blocking")
def swin_pinned(after):
    import torchvision

    model = torchvision.models.swin_t().to(CUDA).half().eval()
    host = [torch.randn(96, 3, 224, 224) for _ in range(2)]
    host = [i.pin_memory() for i in host] if after else host

    def step():
        host.reverse()
        with torch.no_grad():
            model(host[0].to(CUDA, non_blocking=after).half())

    return step


@pair("distilbert_casts", "cast_churn", "DistilBERT inference: weights in bf16, not autocast")
def distilbert_casts(after):
    from transformers import DistilBertConfig, DistilBertModel

    model = DistilBertModel(DistilBertConfig(vocab_size=8192, dim=1024, n_heads=16, hidden_dim=4096, n_layers=4)).to(CUDA).eval()
    model, ids = (model.to(torch.bfloat16) if after else model), tokens(32, 256)

    def step():
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=not after):
            model(input_ids=ids)

    return step


@pair("gin_read", "scalar_read", "training of a graph isomorphism network: the accuracy is not read in each step")
def gin_read(after):
    from torch_geometric.nn import GINConv

    edges, x, y = torch.randint(16384, (2, 262144), device=CUDA), torch.randn(16384, 128, device=CUDA), torch.randint(64, (16384,), device=CUDA)
    layers = nn.ModuleList(GINConv(nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128))) for _ in range(4)).to(CUDA)
    leave = nn.Linear(128, 64).to(CUDA)
    optimizer = torch.optim.Adam([*layers.parameters(), *leave.parameters()], fused=True)

    def step():
        h = x
        for layer in layers:
            h = layer(h, edges).relu()
        out = leave(h)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        optimizer.zero_grad()
        correct = (out.argmax(1) == y).sum()
        if not after:
            correct.item()

    return step


@pair("vae_prefetch", "copy_overlap", "a convolutional encoder: the next images are copied on a stream of their own")
def vae_prefetch(after):
    widths = (3, 64, 128, 256, 256)
    model = nn.Sequential(*(m for a, b in zip(widths, widths[1:]) for m in (nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.SiLU()))).to(CUDA).half().eval()
    return prefetching(model, 128, after)


@pair("sd_attention", "attention", "a block of a diffusion model: attention in one kernel")
def sd_attention(after):
    width, heads = 640, 10
    lay = nn.ModuleDict({n: nn.Linear(width, width) for n in ("q", "k", "v", "o")}).to(CUDA, torch.float16)
    norm = nn.LayerNorm(width).to(CUDA, torch.float16)
    x = torch.randn(8, 2304, width, device=CUDA, dtype=torch.float16)

    def step():
        with torch.no_grad():
            h = norm(x)
            q, k, v = (lay[n](h).unflatten(-1, (heads, -1)).transpose(1, 2) for n in "qkv")
            if after:
                h = F.scaled_dot_product_attention(q, k, v)
            else:
                h = torch.softmax(q @ k.transpose(-1, -2) * (width // heads) ** -0.5, -1) @ v
            return x + lay["o"](h.transpose(1, 2).flatten(2))

    return step


# ---- added for the fourth set ----


@pair("wav2vec_graph", "cuda_graph", "wav2vec 2.0, one second of sound: a CUDA graph")
def wav2vec_graph(after):
    import torchaudio

    model, sound = torchaudio.models.wav2vec2_base().to(CUDA).half().eval(), torch.randn(1, 16000, device=CUDA).half()

    def step():
        with torch.no_grad():
            model(sound)

    return graphed(step) if after else step


@pair("regnet_sgd", "optimizer", "RegNet training: fused SGD, not foreach")
def regnet_sgd(after):
    import torchvision

    model = torchvision.models.regnet_x_400mf().to(CUDA)
    x, y = images(16), torch.randint(1000, (16,), device=CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, **({"fused": True} if after else {}))
    return training(model, lambda: x, lambda out: F.cross_entropy(out, y), optimizer)


@pair("video_pinned", "pageable_copy", "video classification: pinned clips, non_blocking")
def video_pinned(after):
    import torchvision

    model = torchvision.models.video.r3d_18().to(CUDA).half().eval()
    clips = [torch.randn(8, 3, 16, 112, 112).half() for _ in range(2)]
    clips = [c.pin_memory() for c in clips] if after else clips

    def step():
        clips.reverse()
        with torch.no_grad():
            model(clips[0].to(CUDA, non_blocking=after))

    return step


@pair("speech_loader", "input_stall", "keyword spotting: six workers make spectrograms, not none", limit=90)
def speech_loader(after):
    import torchaudio
    from torch.utils.data import DataLoader, Dataset

    class Words(Dataset):
        turn = nn.Sequential(torchaudio.transforms.MelSpectrogram(16000, 1024, n_mels=64), torchaudio.transforms.AmplitudeToDB())

        def __len__(self):
            return 1 << 16

        def __getitem__(self, i):
            return self.turn(torch.randn(1, 16000, generator=torch.Generator().manual_seed(i))), i % 35

    torch.set_num_threads(1)
    loader = DataLoader(Words(), 32, num_workers=6 if after else 0, pin_memory=True, persistent_workers=after, prefetch_factor=4 if after else None)
    batches = iter(loader)
    widths = (1, 64, 128, 256)
    convolutions = [m for a, b in zip(widths, widths[1:]) for m in (nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.ReLU())]
    model = nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 35)).to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def step():
        x, y = next(batches)
        loss = F.cross_entropy(model(x.to(CUDA, non_blocking=True)), y.to(CUDA, non_blocking=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@pair("clip_tf32", "tensor_cores", "training of CLIP's image encoder: TF32 products")
def clip_tf32(after):
    from transformers import CLIPVisionConfig, CLIPVisionModel

    torch.set_float32_matmul_precision("high" if after else "highest")
    model, x = CLIPVisionModel(CLIPVisionConfig(num_hidden_layers=4)).to(CUDA), images(32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    return training(lambda v: model(pixel_values=v), lambda: x, lambda out: out.pooler_output.square().mean(), optimizer)


@pair("densenet_last", "layout_churn", "DenseNet inference in half precision: channels_last")
def densenet_last(after):
    import torchvision

    layout = torch.channels_last if after else torch.contiguous_format
    model = torchvision.models.densenet121().to(CUDA).half().to(memory_format=layout)
    return inferring(model, images(64, dtype=torch.float16).to(memory_format=layout))


@pair("whisper_attention", "attention", "Whisper's encoder: SDPA, not eager attention")
def whisper_attention(after):
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(d_model=512, encoder_layers=4, decoder_layers=1, encoder_attention_heads=8, decoder_attention_heads=8)
    config._attn_implementation = "sdpa" if after else "eager"
    encoder = WhisperModel(config).get_encoder().to(CUDA, torch.bfloat16)
    return inferring(encoder, torch.randn(8, 80, 3000, device=CUDA, dtype=torch.bfloat16))


@pair("metrics_read", "scalar_read", "ShuffleNet with torchmetrics: the accuracy does not check its arguments")
def metrics_read(after):
    import torchmetrics
    import torchvision

    model, x, y = torchvision.models.shufflenet_v2_x1_0().to(CUDA).half().eval(), images(128, dtype=torch.float16), torch.randint(1000, (128,), device=CUDA)
    accuracy = torchmetrics.classification.MulticlassAccuracy(1000, validate_args=not after).to(CUDA)

    def step():
        with torch.no_grad():
            accuracy.update(model(x).argmax(1), y)

    return step


@pair("cupy_gradients", "scalar_read", "CuPy: conjugate gradients, the residual is looked at after 20 iterations, not after each")
def cupy_gradients(after):
    import cupy

    n = 4096
    a = cupy.random.rand(n, n, dtype=cupy.float32)
    a, b = a @ a.T / n + cupy.eye(n, dtype=cupy.float32), cupy.ones(n, dtype=cupy.float32)

    def step():
        x, r, p = cupy.zeros_like(b), b.copy(), b.copy()
        rr = r @ r
        for i in range(20):
            ap = a @ p
            alpha = rr / (p @ ap)
            x, r = x + alpha * p, r - alpha * ap
            new = r @ r
            if (not after or i == 19) and float(new) < 1e-30:
                break
            p, rr = r + new / rr * p, new

    return step


@pair("experts_batched", "batching", "a mixture of 32 experts: their products as one batch")
def experts_batched(after):
    x = torch.randn(32, 64, 512, device=CUDA, dtype=torch.bfloat16)
    up, down = (torch.randn(32, a, b, device=CUDA, dtype=torch.bfloat16) * 0.03 for a, b in ((512, 1024), (1024, 512)))

    def step():
        with torch.no_grad():
            if after:
                torch.bmm(F.gelu(torch.bmm(x, up)), down)
            else:
                hidden = [x[i] @ up[i] for i in range(32)]
                hidden = F.gelu(torch.stack(hidden))
                torch.stack([hidden[i] @ down[i] for i in range(32)])

    return step


@pair("upscale_overlap", "copy_overlap", "super-resolution: the pictures before are copied back on a stream of their own")
def upscale_overlap(after):
    model = nn.Sequential(nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 12, 3, padding=1), nn.PixelShuffle(2))
    model, x = model.to(CUDA).half().eval(), images(16, 256, torch.float16)
    host = [torch.empty(16, 3, 512, 512, dtype=torch.float16).pin_memory() for _ in range(2)]
    side, done, old = torch.cuda.Stream(), torch.cuda.Event(), [None]

    def step():
        host.reverse()
        with torch.no_grad():
            if after and old[0] is not None:
                with torch.cuda.stream(side):
                    side.wait_event(done)
                    host[0].copy_(old[0], non_blocking=True)
                    old[0].record_stream(side)
            new = model(x)
            if after:
                old[0] = new
                done.record()
            else:
                host[0].copy_(new, non_blocking=True)

    return step


@pair("timm_timers", "blocking_sync", "timm's ResNet training: no waits for timers around forward, backward and update")
def timm_timers(after):
    import timm

    model, x, y = timm.create_model("resnet26").to(CUDA), images(32), torch.randint(1000, (32,), device=CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    wait = (lambda: None) if after else torch.cuda.synchronize

    def step():
        loss = F.cross_entropy(model(x), y)
        wait()
        loss.backward()
        wait()
        optimizer.step()
        optimizer.zero_grad()
        wait()

    return step


@pair("flax_update", "compile", "Flax: the optimizer's update is compiled with the gradients", limit=90)
def flax_update(after):
    import flax.linen
    import jax
    import jax.numpy as jnp
    import optax

    class Net(flax.linen.Module):
        @flax.linen.compact
        def __call__(self, x):
            for _ in range(4):
                x = flax.linen.relu(flax.linen.Dense(512)(x))
            return flax.linen.Dense(64)(x)

    net, optimizer = Net(), optax.adamw(1e-3)
    x, y = jnp.ones((256, 512)), jnp.zeros((256, 64))
    params = net.init(jax.random.PRNGKey(0), x)
    state = [params, optimizer.init(params)]
    gradients = jax.value_and_grad(lambda p: jnp.square(net.apply(p, x) - y).mean())

    def work(params, moments):
        loss, grads = (gradients if after else compiled)(params)
        updates, moments = optimizer.update(grads, moments, params)
        return optax.apply_updates(params, updates), moments, loss

    compiled = jax.jit(gradients)
    call = jax.jit(work) if after else work

    def step():
        state[0], state[1], loss = call(*state)
        loss.block_until_ready()

    return step


@pair("hue_compiled", "fusion", "images are changed in hue and contrast: compiled", limit=120)
def hue_compiled(after):
    from torchvision.transforms.v2 import functional as change

    x = torch.rand(64, 3, 256, 256, device=CUDA)

    def work(v):
        return change.adjust_contrast(change.adjust_hue(v, 0.1), 1.2)

    return functools.partial(torch.compile(work) if after else work, x)


@pair("mixer_compiled", "compile", "timm's MLP-Mixer inference of four images: torch.compile", limit=150)
def mixer_compiled(after):
    import timm

    model = timm.create_model("mixer_s32_224").to(CUDA).half().eval()
    return inferring(torch.compile(model) if after else model, images(4, dtype=torch.float16))


@pair("llama_static", "compile", "Llama generates eight tokens: a static cache, which is compiled", limit=150)
def llama_static(after):
    model, ids = llama(layers=3).to(torch.bfloat16).eval(), tokens(1, 32)
    lengths = {"max_new_tokens": 8, "min_new_tokens": 8, "do_sample": False, "pad_token_id": 0}

    def step():
        with torch.no_grad():
            model.generate(ids, **lengths, **({"cache_implementation": "static"} if after else {}))

    return step


# ---- added for the fifth set ----


@pair("convnext_graph", "cuda_graph", "ConvNeXt inference of one image: a CUDA graph")
def convnext_graph(after):
    import torchvision

    step = inferring(torchvision.models.convnext_tiny().to(CUDA).half(), images(1, dtype=torch.float16))
    return graphed(step) if after else step


@pair("mobilenet_adam", "optimizer", "MobileNetV3 training: fused Adam, not a loop over parameters")
def mobilenet_adam(after):
    import torchvision

    model = torchvision.models.mobilenet_v3_large().to(CUDA)
    x, y = images(32), torch.randint(1000, (32,), device=CUDA)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if after else {"foreach": False}))
    return training(model, lambda: x, lambda out: F.cross_entropy(out, y), optimizer)


@pair("mixer_tf32", "tensor_cores", "training of timm's MLP-Mixer: TF32 products")
def mixer_tf32(after):
    import timm

    torch.set_float32_matmul_precision("high" if after else "highest")
    model, x, y = timm.create_model("mixer_s16_224").to(CUDA), images(64), torch.randint(1000, (64,), device=CUDA)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    return training(model, lambda: x, lambda out: F.cross_entropy(out, y), optimizer)


@pair("siglip_attention", "attention", "training of SigLIP's image encoder: SDPA, not eager attention")
def siglip_attention(after):
    from transformers import SiglipVisionConfig, SiglipVisionModel

    config = SiglipVisionConfig(num_hidden_layers=4, image_size=384)
    config._attn_implementation = "sdpa" if after else "eager"
    model, x = SiglipVisionModel(config).to(CUDA, torch.bfloat16), images(16, 384, torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    return training(lambda v: model(pixel_values=v), lambda: x, lambda out: out.last_hidden_state.float().square().mean(), optimizer)


@pair("fcn_pinned", "pageable_copy", "segmentation: pinned images, non_blocking")
def fcn_pinned(after):
    import torchvision

    model = torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None).to(CUDA).half().eval()
    host = [torch.randn(8, 3, 384, 384) for _ in range(2)]
    host = [h.pin_memory() for h in host] if after else host

    def step():
        host.reverse()
        with torch.no_grad():
            model(host[0].to(CUDA, non_blocking=after).half())

    return step


@pair("t5_finite", "scalar_read", "T5 training: no look at whether the loss is finite in each step")
def t5_finite(after):
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(T5Config(vocab_size=16384, d_model=512, d_ff=2048, num_layers=4, num_heads=8, decoder_start_token_id=0)).to(CUDA, torch.bfloat16)
    ids = tokens(16, 256)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        loss = model(input_ids=ids, labels=ids).loss
        if after or bool(loss.isfinite()):
            loss.backward()
            optimizer.step()
        optimizer.zero_grad()

    return step


@pair("wide_last", "layout_churn", "Wide ResNet inference in bf16: channels_last")
def wide_last(after):
    import torchvision

    layout = torch.channels_last if after else torch.contiguous_format
    model = torchvision.models.wide_resnet50_2().to(CUDA, torch.bfloat16).to(memory_format=layout)
    return inferring(model, images(32, dtype=torch.bfloat16).to(memory_format=layout))


@pair("adapters_batched", "batching", "24 low-rank adapters: their products as one batch")
def adapters_batched(after):
    x, a = torch.randn(24, 128, 768, device=CUDA, dtype=torch.float16), torch.randn(24, 768, 16, device=CUDA, dtype=torch.float16)

    def step():
        if after:
            torch.bmm(x, a)
        else:
            for i in range(24):
                x[i] @ a[i]

    return step


@pair("deit_casts", "cast_churn", "timm's DeiT inference: weights in bf16, not autocast")
def deit_casts(after):
    import timm

    model, x = timm.create_model("deit_base_patch16_224").to(CUDA).eval(), images(16)
    model, x = (model.to(torch.bfloat16), x.to(torch.bfloat16)) if after else (model, x)

    def step():
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=not after):
            model(x)

    return step


@pair("mobilenet_prefetch", "copy_overlap", "MobileNetV3 inference: the next images are copied on a stream of their own")
def mobilenet_prefetch(after):
    import torchvision

    return prefetching(torchvision.models.mobilenet_v3_large().to(CUDA).half().eval(), 128, after)


@pair("bert_vocabulary", "odd_dimensions", "training of BERT's masked language model in bf16: 30528 words, not 30522")
def bert_vocabulary(after):
    from transformers import BertConfig, BertForMaskedLM

    vocab = 30528 if after else 30522
    config = BertConfig(vocab_size=vocab, hidden_size=768, num_hidden_layers=3, num_attention_heads=12)
    model, ids = BertForMaskedLM(config).to(CUDA, torch.bfloat16), tokens(32, 256, vocab)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    return training(lambda x: model(input_ids=x, labels=x), lambda: ids, lambda out: out.loss, optimizer)


@pair("swiglu_compiled", "fusion", "RMSNorm and a gate written out by hand: compiled", limit=90)
def swiglu_compiled(after):
    x, w = torch.randn(16384, 2048, device=CUDA, dtype=torch.bfloat16), torch.randn(1024, device=CUDA, dtype=torch.bfloat16)

    def work(x):
        gate, value = x.chunk(2, -1)
        gate = gate * torch.rsqrt(gate.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(gate.dtype) * w
        return gate * torch.sigmoid(gate) * value

    return functools.partial(torch.compile(work) if after else work, x)


@pair("jax_recurrent", "compile", "JAX: a recurrent cell over 32 time steps as one compiled function", limit=90)
def jax_recurrent(after):
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    w, u = (jax.random.normal(k, (256, 256)) * 0.05 for k in keys[:2])
    xs = jax.random.normal(keys[2], (32, 64, 256))

    def work(xs):
        h = jnp.zeros((64, 256))
        for i in range(32):
            h = jnp.tanh(jnp.dot(xs[i], w) + jnp.dot(h, u))
        return h

    call = jax.jit(work) if after else work
    return lambda: call(xs).block_until_ready()


@pair("vit_compiled", "compile", "timm's ViT inference of one image: torch.compile", limit=150)
def vit_compiled(after):
    import timm

    model = timm.create_model("vit_small_patch16_224", depth=6).to(CUDA).half().eval()
    return inferring(torch.compile(model) if after else model, images(1, dtype=torch.float16))
