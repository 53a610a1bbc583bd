"""The programs of pairs.py: small workloads, and variants of them that differ in one thing each.

Run by itself it prints the names of the variants, with --kineto of those that torch.profiler records too, or with --pairs
the pairs: before, after, and what was changed.
"""

import sys

# What a variant is made of unless it says otherwise.
PLAIN = {
    "work": "train",  # train: a GPT; mlp: a perceptron with wide inputs; decode: text token by token; gemm: products; or
    # one of parts.py
    "changed": False,  # of those in parts.py: the second side of their pair
    "layers": 2,
    "batch": 8,
    "length": 128,  # tokens of a sequence
    "width": 512,
    "dtype": "bf16",  # fp32, tf32 (fp32 weights, products in TF32), amp (fp32 weights, autocast), bf16
    "attention": "",  # math, flash, or what PyTorch chooses
    "optimizer": "foreach",  # forloop: a kernel a parameter and operation; foreach: many parameters a kernel; fused
    "compiled": False,  # through torch.compile
    "broken": False,  # with a graph break in every block
    "graph": False,  # each step the replay of one CUDA graph
    "wait": "",  # item: read the result each step; previous: wait for the step before; synchronize: for everything;
    # empty_cache: give cached memory back to the driver
    "norms": "",  # of every gradient: kept on the GPU, or read one by one
    "zeroed": False,  # gradients are filled with zeros, not taken away
    "shuffle": 0,  # samples that the host shuffles to choose a batch: host time without launches
    "pinned": True,  # inputs in pinned memory, copied without waiting; otherwise pageable
    "prefetch": False,  # the next input is copied on a stream of its own meanwhile
    "memory": False,  # torch.profiler records allocations too
}

# The GPU has more to do than the host here ...
TRAIN = {"batch": 128, "length": 512, "optimizer": "fused", "shuffle": 200_000, "memory": True}
PRECISION = {"batch": 16, "length": 512, "width": 1024, "optimizer": "fused"}
ATTENTION = {"batch": 16, "length": 1024, "optimizer": "fused"}
MLP = {"work": "mlp", "layers": 3, "batch": 4096, "width": 4096, "optimizer": "fused"}
# ... and the host more than the GPU here.
SMALL = {}
DECODE = {"work": "decode", "layers": 4}
# One thing each, see parts.py.
POINTWISE = {"work": "pointwise", "layers": 4, "batch": 16384, "width": 4096}
ACTIVATION = {"work": "activation", "layers": 4, "batch": 16384, "width": 2048}
EPILOGUE = {"work": "epilogue", "layers": 4, "batch": 16384, "width": 1024}
CASTS = {"work": "casts", "layers": 8, "batch": 2048, "width": 4096}
PIECES = {"work": "pieces", "layers": 3, "batch": 256, "width": 4096}
FEATURES = {"work": "features", "layers": 8, "batch": 4096, "width": 4096}
CONV = {"work": "conv", "layers": 6, "batch": 64, "width": 256}
HEADS = {"work": "heads", "width": 1024}
CONSTANTS = {"work": "constants", "width": 1 << 20}
LOADING = {"work": "loading", "layers": 16, "batch": 4096, "width": 2048}

VARIANTS = {
    "small": SMALL,
    "small_compiled": {**SMALL, "compiled": True},
    "small_break": {**SMALL, "compiled": True, "broken": True},
    "decode": DECODE,
    "decode_graph": {**DECODE, "graph": True},
    "train": TRAIN,
    "train_item": {**TRAIN, "wait": "item"},
    "train_double": {**TRAIN, "batch": 2 * TRAIN["batch"]},
    "small_forloop": {**SMALL, "optimizer": "forloop"},
    "small_fused": {**SMALL, "optimizer": "fused"},
    "mlp_pageable": {**MLP, "pinned": False},
    "mlp_pinned": MLP,
    "fp32": {**PRECISION, "dtype": "fp32"},
    "tf32": {**PRECISION, "dtype": "tf32"},
    "amp": {**PRECISION, "dtype": "amp"},
    "bf16": PRECISION,
    "math": {**ATTENTION, "attention": "math"},
    "flash": {**ATTENTION, "attention": "flash"},
    "train_previous": {**TRAIN, "wait": "previous"},
    "decode_item": {**DECODE, "wait": "item"},
    "decode_compiled_graph": {**DECODE, "compiled": True, "graph": True},
    "gemm": {"work": "gemm", "layers": 10, "width": 4096},
    "pointwise": POINTWISE,
    "pointwise_compiled": {**POINTWISE, "changed": True},
    "activation": ACTIVATION,
    "activation_compiled": {**ACTIVATION, "changed": True},
    "epilogue": EPILOGUE,
    "epilogue_fused": {**EPILOGUE, "changed": True},
    "casts": CASTS,
    "casts_none": {**CASTS, "changed": True},
    "pieces": PIECES,
    "pieces_async": {**PIECES, "changed": True},
    "features": FEATURES,
    "features_packed": {**FEATURES, "changed": True},
    "conv": CONV,
    "conv_last": {**CONV, "changed": True},
    "heads": HEADS,
    "heads_batched": {**HEADS, "changed": True},
    "constants": CONSTANTS,
    "constants_kept": {**CONSTANTS, "changed": True},
    "loading": LOADING,
    "loading_workers": {**LOADING, "changed": True},
    "gemm_odd": {"work": "gemm", "layers": 10, "width": 4095},
    "train_synchronize": {**TRAIN, "wait": "synchronize"},
    "mlp_prefetch": {**MLP, "prefetch": True},
    "mlp_norms_read": {**MLP, "norms": "read"},
    "mlp_norms_kept": {**MLP, "norms": "kept"},
    "mlp_zeroed": {**MLP, "zeroed": True},
    "mlp_empty_cache": {**MLP, "wait": "empty_cache"},
}

# The same in other sizes, to judge rules by what they were not made with: NAME_2 of every variant with such a name.
SECOND = {
    "small": {"layers": 4, "width": 768},
    "decode": {"layers": 8},
    "mlp": {"layers": 6, "batch": 2048},
    "pointwise": {"layers": 3, "batch": 32768, "width": 2048},
    "activation": {"layers": 2, "batch": 32768, "width": 1024},
    "epilogue": {"layers": 6, "batch": 8192, "width": 2048},
    "casts": {"layers": 4, "batch": 8192, "width": 2048},
    "pieces": {"layers": 6, "batch": 512},
    "features": {"layers": 16, "batch": 2048},
    "conv": {"layers": 8, "batch": 32, "width": 128},
    "heads": {"width": 512},
    "constants": {"width": 1 << 16},
    "loading": {"layers": 8, "batch": 8192, "width": 1024},
    "gemm": {"layers": 20, "width": 3072},
}
VARIANTS_2 = {
    f"{name}_2": {**variant, **SECOND[name.split("_")[0]]}
    for name, variant in VARIANTS.items()
    if name.split("_")[0] in SECOND and name not in ("decode_item", "decode_compiled_graph", "gemm_odd")
}
VARIANTS.update(VARIANTS_2, gemm_odd_2={"work": "gemm", "layers": 20, "width": 3071})

PAIRS = [
    ("small", "small_compiled", "through torch.compile"),
    ("small_compiled", "small_break", "a graph break in every block"),
    ("small_forloop", "small", "AdamW with many parameters a kernel, not a kernel a parameter"),
    ("small", "small_fused", "AdamW in one fused kernel"),
    ("small_forloop", "small_fused", "AdamW in one fused kernel, not a kernel a parameter and operation"),
    ("decode", "decode_graph", "every token by the replay of one CUDA graph"),
    ("decode", "decode_item", "every token read by the host"),
    ("decode_graph", "decode_compiled_graph", "the graph captured from a compiled model"),
    ("train", "train_item", "the loss read each step: the GPU waits while the host prepares the next one"),
    ("train", "train_previous", "a wait for the step before, which costs nothing"),
    ("train", "train_double", "twice the batch"),
    ("mlp_pageable", "mlp_pinned", "inputs from pinned memory, without waiting"),
    ("fp32", "tf32", "matrix products in TF32"),
    ("fp32", "amp", "autocast to bf16: casts come with it"),
    ("fp32", "bf16", "weights and activations in bf16"),
    ("math", "flash", "attention by one flash kernel"),
    ("pointwise", "pointwise_compiled", "elementwise operators through torch.compile, these alone"),
    ("activation", "activation_compiled", "the same in training"),
    ("epilogue", "epilogue_fused", "GELU at the end of the product's kernel"),
    ("casts", "casts_none", "weights in bf16, not cast each step"),
    ("pieces", "pieces_async", "copies from pinned memory that the host does not wait for"),
    ("features", "features_packed", "one copy instead of 64 small ones"),
    ("conv", "conv_last", "channels_last"),
    ("heads", "heads_batched", "one batch of 64 products"),
    ("constants", "constants_kept", "a constant made once"),
    ("loading", "loading_workers", "a DataLoader with four workers"),
    ("gemm_odd", "gemm", "4096 rows and columns, not 4095"),
    ("train_synchronize", "train", "no synchronisation at the end of each step"),
    ("mlp_pinned", "mlp_prefetch", "the next input copied meanwhile, on a stream of its own"),
    ("mlp_norms_read", "mlp_norms_kept", "norms of the gradients stay on the GPU"),
    ("mlp_zeroed", "mlp_pinned", "gradients taken away, not filled with zeros"),
    ("mlp_empty_cache", "mlp_pinned", "cached memory is kept"),
]
PAIRS += [(f"{a}_2", f"{b}_2", change) for a, b, change in PAIRS if f"{a}_2" in VARIANTS and f"{b}_2" in VARIANTS]

# Nothing in these is worth a suggestion.
CONTROLS = ["decode_compiled_graph", "gemm", "train_previous"]


# Recorded by torch.profiler, too: most, and of the second sizes those whose rules need what it alone records.
KINETO = [
    name
    for name in VARIANTS
    if name not in ("amp", "train_previous", "decode_item", "decode_compiled_graph")
    and not (name.endswith("_2") and name.split("_")[0] in ("decode", "mlp", "pointwise", "activation", "epilogue", "casts", "conv"))
]
KINETO += ["mlp_pinned_2", "mlp_empty_cache_2"]


def settings(name):
    return {**PLAIN, **VARIANTS[name]}


if __name__ == "__main__":
    if sys.argv[1:] == ["--pairs"]:
        for before, after, change in PAIRS:
            print(before, after, change, sep="\t")
    else:
        print("\n".join(KINETO if sys.argv[1:] == ["--kineto"] else VARIANTS))
