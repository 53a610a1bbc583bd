#!/usr/bin/env python3
"""Predicted against measured savings of trace-suggest: the tables of samples/pairs/SCORES.md.

usage: samples/score.py [BIN_DIR]

For each pair of samples of a rule, the saving is predicted from the first trace only and measured with the second one.
Prints a table. Exits 1 if fewer than eight in ten measured savings lie inside the predicted interval, or if a critical
suggestion gained less than 1%.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BOTH, KINETO = ("trace", "json.gz"), ("json.gz",)  # who recorded it: gpuprof-collect, torch.profiler
# before, after, rule, what was changed, recordings that have what the rule needs
PAIRS = [
    ("decode", "decode_graph", "cuda_graph", "each token by one CUDA graph"),
    ("../h200/decode", "../h200/decode_graph", "cuda_graph", "the same, another program"),
    ("small", "small_compiled", "compile", "torch.compile"),
    ("../h200/eager", "../h200/compiled", "compile", "the same, another program"),
    ("small", "small_fused", "optimizer", "fused AdamW instead of foreach"),
    ("small_forloop", "small_fused", "optimizer", "fused AdamW instead of a loop"),
    ("mlp_pageable", "mlp_pinned", "pageable_copy", "pinned input, non_blocking"),
    ("train_item", "train", "scalar_read", "the loss is not read each step"),
    ("fp32", "tf32", "tensor_cores", "TF32 products"),
    ("math", "flash", "attention", "flash attention"),
    ("ddp_bucket1", "ddp_bucket25", "small_collectives", "25 MB buckets instead of 1 MB"),
    ("pointwise", "pointwise_compiled", "fusion", "elementwise operators compiled"),
    ("activation", "activation_compiled", "fusion", "the same in training"),
    ("epilogue", "epilogue_fused", "epilogue", "GELU by the product's kernel"),
    ("casts", "casts_none", "cast_churn", "weights in bf16, not cast each step"),
    ("conv", "conv_last", "layout_churn", "channels_last"),
    ("heads", "heads_batched", "batching", "one batch of 64 products"),
    ("constants", "constants_kept", "caching", "a constant made once", KINETO),
    ("gemm_odd", "gemm", "odd_dimensions", "4096 rows and columns, not 4095", KINETO),
    ("pieces", "pieces_async", "synchronous_copy", "pinned copies with non_blocking"),
    ("features", "features_packed", "small_copies", "one copy instead of 64"),
    ("mlp_pinned", "mlp_prefetch", "copy_overlap", "copies on a stream of their own"),
    ("mlp_norms_read", "mlp_norms_kept", "scalar_read", "norms stay on the GPU"),
    ("train_synchronize", "train", "blocking_sync", "no wait at the end of a step"),
    ("mlp_zeroed", "mlp_pinned", "zero_fill", "gradients set to None"),
    ("mlp_empty_cache", "mlp_pinned", "allocation", "cached memory is kept", KINETO),
    ("loading", "loading_workers", "input_stall", "a DataLoader with workers", KINETO),
    ("small_break", "small_compiled", "graph_breaks", "no graph breaks", KINETO),
    ("ddp_each", "ddp_flat", "small_collectives", "one collective, not one for each gradient"),
    ("ddp_skewed", "ddp_even", "straggler", "batches of equal size"),
]


def answer(tool, path, *options):
    return json.loads(subprocess.run([tool, "-q", "-f", "json", *options, path], check=True, capture_output=True).stdout)


def main():
    tool = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "../build/release/bin") / "trace-suggest"
    inside = scored = false_alarms = 0
    print("| change | rule | priority | predicted | measured | inside |")
    print("|---|---|---|---|---|---|")
    # NAME_2 is the same program in another size.
    for before, after, rule, what, *recorded in PAIRS + [(f"{a}_2", f"{b}_2", rule, f"{what}, other sizes", *more) for a, b, rule, what, *more in PAIRS]:
        for kind in recorded[0] if recorded else BOTH:
            first, second = (HERE / "pairs" / f"{name}.{kind}" for name in (before, after))
            if not (first.exists() and second.exists()):
                continue
            report = answer(tool, first, "--rule", rule)
            found = report["suggestions"] + report["not_worth_it"]
            step = report["step"]["step_ns"]
            saved = step - answer(tool, second)["step"]["step_ns"]
            low, high = (found[0]["saving_low_ns"], found[0]["saving_high_ns"]) if found else (0, 0)
            # No suggestion predicts a saving below what is worth reporting.
            margin = step // 100 if high == 0 else 0
            good = low - margin <= saved <= high + margin
            priority = found[0].get("priority", "none") if found else "none"
            scored += 1
            inside += good
            false_alarms += priority == "critical" and saved < step // 100
            print(f"| {what} ({'gpuprof' if kind == 'trace' else 'Kineto'}) | `{rule}` | {priority} "
                  f"| {low / 1e6:.2f} to {high / 1e6:.2f} ms | {saved / 1e6:.2f} of {step / 1e6:.2f} ms "
                  f"| {'yes' if good else 'no'} |")
    print(f"\n{inside} of {scored} inside; critical ones that gained less than 1%: {false_alarms}")
    return 1 if inside * 10 < scored * 8 or false_alarms else 0


if __name__ == "__main__":
    sys.exit(main())
