#!/usr/bin/env python3
"""make_gpus.py GPUS [RANK] -- a trace of a training job on GPUS devices, as Chrome JSON on standard output. With RANK it is
the file of that rank: one device, and the same communicator. All times and sums follow from the numbers below:

each device has 3 steps of 1000 us; in each, a kernel of 300 us on stream 7, one of 200 us there, a copy of 40 us on stream
9 under nothing, and a collective of 100 us on stream 20 under nothing."""
import json
import sys

STEPS = 3


def call(pid, ts, corr, name="cudaLaunchKernel"):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": pid, "tid": 1, "ts": ts, "dur": 5,
            "args": {"correlation": corr, "External id": corr}}


def gpu(device, stream, ts, dur, corr, name, cat="kernel", **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": device, "tid": stream, "ts": ts, "dur": dur,
            "args": {"device": device, "stream": stream, "correlation": corr, **args}}


def rank_events(rank, device, ranks):
    pid, corr = 1000 + rank, rank * 100
    yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "python"}}
    for step in range(STEPS):
        t = 10000 + 1000 * step
        yield {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": pid, "tid": 1, "ts": t, "dur": 990}
        yield {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": pid, "tid": 1, "ts": t + 10, "dur": 20,
               "args": {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"], "External id": corr + 1}}
        yield call(pid, t + 15, corr + 1)
        yield gpu(device, 7, t + 100, 300, corr + 1, "ampere_sgemm_64x64_nn", grid=[8, 1, 1], block=[128, 1, 1])
        yield call(pid, t + 40, corr + 2)
        yield gpu(device, 7, t + 400, 200, corr + 2, "void relu<float>(float*, int)", grid=[64, 1, 1], block=[256, 1, 1])
        yield call(pid, t + 50, corr + 3, "cudaMemcpyAsync")
        yield gpu(device, 9, t + 600, 40, corr + 3, "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", bytes=40000000)
        yield call(pid, t + 60, corr + 4)
        yield gpu(device, 20, t + 700, 100, corr + 4, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  **{"Collective name": "allreduce", "In msg nelems": 1000000, "Out msg nelems": 1000000, "dtype": "Float",
                     "Group size": ranks, "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))})
        yield {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": pid, "tid": 1, "ts": t + 12,
               "args": {"Bytes": 1024, "Addr": 4096 * (step + 1), "Total Allocated": 1024 * (step + 1), "Total Reserved": 8192,
                        "Device Type": 1, "Device Id": device}}
        corr += 10


ranks = int(sys.argv[1])
doc = {"schemaVersion": 1, "traceEvents": []}
if len(sys.argv) > 2:
    rank = int(sys.argv[2])
    doc["distributedInfo"] = {"rank": rank, "world_size": ranks, "backend": "nccl"}
    doc["traceEvents"] += rank_events(rank, 0, ranks)
else:
    for rank in range(ranks):
        doc["traceEvents"] += rank_events(rank, rank, ranks)
doc["traceEvents"].sort(key=lambda e: e.get("ts", 0))
json.dump(doc, sys.stdout)
