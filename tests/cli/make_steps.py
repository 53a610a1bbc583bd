#!/usr/bin/env python3
"""make_steps.py SEED [CHANGE...] >FILE.json: ten steps of a training as PyTorch's profiler writes them, with stacks, whose kernels' times
vary by a percent; and in each step what CHANGE adds: cast, wait, layout, split, pageable, set, allocation, collective; or what its softmax
needs more of: spill, registers, shared, block. "sometimes" waits in every third step, on which no gate may rest."""
import json
import random
import sys

MODEL = [("sgemm_128x64", 90), ("vectorized_elementwise_kernel<add>", 20), ("softmax_warp_forward", 30), ("sgemm_128x64", 95), ("adamw_kernel", 40)]
EXTRA = {  # kernels, copies and calls, each with the line that makes it
    "cast": ("kernel", "vectorized_elementwise_kernel<to_float>", "cudaLaunchKernel", 21),
    "layout": ("kernel", "nchwToNhwcKernel", "cudaLaunchKernel", 22),
    "split": ("kernel", "softmax_warp_forward", "cudaLaunchKernel", 23),
    "collective": ("kernel", "ncclDevKernel_AllReduce", "cudaLaunchKernel", 24),
    "pageable": ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "cudaMemcpyAsync", 25),
    "set": ("gpu_memset", "Memset (Device)", "cudaMemsetAsync", 26),
    "wait": (None, None, "cudaStreamSynchronize", 27),
    "allocation": (None, None, "cudaMalloc", 28),
}
NEEDS = {"spill": ("local memory per thread", 96), "registers": ("registers per thread", 40), "shared": ("shared memory", 2048), "block": ("grid", [31, 1, 1])}
FRAMES = {"1": {"name": "<module> (/srv/train.py:40)", "category": "python"}, "2": {"name": "forward (/srv/train.py:12)", "category": "python", "parent": 1}}


def main():
    rand, changes = random.Random(int(sys.argv[1])), sys.argv[2:]
    events, corr, now = [], 0, 1000.0
    for name in EXTRA:
        FRAMES[str(EXTRA[name][3])] = {"name": "forward (/srv/train.py:%d)" % EXTRA[name][3], "category": "python", "parent": 1}
    FRAMES["122"] = FRAMES["22"]  # whose kernel a function of PyTorch launches
    FRAMES["22"] = {"name": "pad (/opt/lib/python3.12/site-packages/torch/nn/functional.py:9)", "category": "python", "parent": 122}

    def put(cat, name, ts, dur, tid, args, frame=None):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": round(ts, 3), "dur": round(dur, 3), "args": args})
        if frame:
            events[-1]["sf"] = frame

    for step in range(10):
        begin, gpu = now, now + 10
        work = [("kernel", name, "cudaLaunchKernel", us, 2) for name, us in MODEL]
        for c in changes:
            if c == "sometimes" and step % 3 == 0:
                work.append((None, None, "cudaStreamSynchronize", 1, 2))
            elif c in EXTRA:
                kind, name, call, line = EXTRA[c]
                work.append((kind, name, call, 1, line))
        for kind, name, call, us, frame in work:
            corr += 1
            put("cuda_runtime", call, now, 3, 10, {"correlation": corr}, frame)
            now += 5
            if not kind:
                continue
            dur = us * rand.uniform(0.99, 1.01)
            gpu = max(gpu, now)
            args = {"correlation": corr, "device": 0, "context": 1, "stream": 7}
            if kind == "kernel":
                args.update({"grid": [us, 1, 1], "block": [128, 1, 1], "registers per thread": 32, "shared memory": 1024})
                args.update(NEEDS[c] for c in changes if c in NEEDS and name.startswith("softmax"))
            else:
                args["bytes"] = 4096
            put(kind, name, gpu, dur, 7, args)
            gpu += dur + 0.5
        now = max(now, gpu) + 5
        put("user_annotation", "ProfilerStep#%d" % step, begin, now - begin, 10, {})
        now += 2
    json.dump({"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "stackFrames": FRAMES, "traceEvents": events}, sys.stdout)


main()
