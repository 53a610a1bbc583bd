"""Record the pairs of jury_programs.py: unprofiled step times, torch.profiler, and windows for gpuprof-collect.

usage: jury.py list | jury.py plain|window OUT SECONDS [NAME...]

`plain` times the steps of every variant without any recorder (rows plain_NAME for steps.tsv) and writes NAME.json.gz of those before the
change with torch.profiler. `window` is to be run under `gpuprof-collect --start profiler`: it starts and stops the profiler around a
few steps of each variant before its change, in a range `program:NAME`, which jury_split.py cuts out.
"""

import gc
import gzip
import importlib
import os
import pathlib
import shutil
import signal
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
WARMUP, ROUNDS, RECORDED = 4, 3, 4
ROUND_S = 0.1  # a round of timing lasts so long
LIMIT = 6  # seconds for a variant


def variants(chosen):
    import jury_programs

    for name, rule, what, make in jury_programs.PAIRS:
        if not chosen or name in chosen:
            for after in (False, True):
                yield f"{name}_after" if after else name, make, after


def timed(step):
    """The median round: steps, and ns per step with the GPU's work."""
    import torch

    def once(n):
        torch.cuda.synchronize()
        begin = time.perf_counter_ns()
        for _ in range(n):
            step()
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - begin) // n

    n = max(4, min(50, int(ROUND_S * 1e9 / once(2))))
    return n, sorted(once(n) for _ in range(ROUNDS))[ROUNDS // 2]


def warmed(make, after):
    import torch

    torch.manual_seed(1)
    step = make(after)
    for _ in range(WARMUP):
        step()
    torch.cuda.synchronize()
    return step


def plain(out, name, make, after):
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    step = warmed(make, after)
    n, ns = timed(step)
    print(f"plain_{name}\tvariant={name} steps={n} step_mean_ns={ns}", flush=True)
    if after:
        return
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as p:
        for i in range(RECORDED + 1):
            with record_function(f"ProfilerStep#{i}"):
                step()
        torch.cuda.synchronize()
    path = out / f"{name}.json"
    p.export_chrome_trace(str(path))
    with open(path, "rb") as plain_file, gzip.open(f"{path}.gz", "wb", 6) as packed:
        shutil.copyfileobj(plain_file, packed)
    path.unlink()


def window(out, name, make, after):
    import torch

    if after:
        return
    step = warmed(make, after)
    torch.cuda.cudart().cudaProfilerStart()
    torch.cuda.nvtx.range_push(f"program:{name}")
    for i in range(RECORDED + 1):
        torch.cuda.nvtx.range_push(f"ProfilerStep#{i}")
        step()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    torch.cuda.cudart().cudaProfilerStop()
    print(f"window\t{name}", flush=True)


def too_slow(*_):
    raise TimeoutError("too slow")


def run_one(work, out, name, make, after):
    import torch

    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(LIMIT)
    try:
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = True
        work(out, name, make, after)
    except Exception as e:
        print(f"failed\t{name}\t{type(e).__name__}: {str(e)[:200]}", flush=True)
    signal.alarm(0)
    gc.collect()
    try:
        torch.cuda.empty_cache()
    except Exception as e:
        print(f"failed\t{name}\t{str(e)[:100]}", flush=True)


def main():
    mode, deadline = sys.argv[1], time.monotonic() + float(sys.argv[3]) if len(sys.argv) > 3 else 0
    if mode == "list":
        print("\n".join(name for name, *_ in variants(())))
        return
    out = pathlib.Path(sys.argv[2])
    for module in ("torch", "torch.profiler", "transformers", "transformers.models.gpt2.modeling_gpt2", "transformers.models.bert.modeling_bert", "torchvision", "timm"):
        try:
            importlib.import_module(module)
        except Exception as e:
            print(f"absent\t{module}\t{e}", flush=True)
    print(f"imported\t{time.monotonic() - deadline + float(sys.argv[3]):.1f} s", flush=True)
    for name, make, after in variants(sys.argv[4:]):
        if time.monotonic() > deadline:
            print(f"skipped\t{name}", flush=True)
            continue
        begin = time.monotonic()
        run_one({"plain": plain, "window": window}[mode], out, name, make, after)
        print(f"took\t{name}\t{time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
