#!/usr/bin/env python3
"""planes.py SEED FILE: writes a profile of XLA's kind (XSpace), from the published field numbers, and prints what it holds, as
tests/perfetto/foreign.py does: {"spans": [[line, name, start_ns, dur_ns], ...]}, with the args of the first kernel."""
import json
import random
import struct
import sys


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 0x7f:
        out += bytes([v & 0x7f | 0x80])
        v >>= 7
    return out + bytes([v])


def message(*fields):
    out = b""
    for n, v in fields:
        if isinstance(v, float):
            out += varint(n << 3 | 1) + struct.pack("<d", v)
        elif isinstance(v, int):
            out += varint(n << 3) + varint(v)
        elif v is not None:
            v = v.encode() if isinstance(v, str) else v
            out += varint(n << 3 | 2) + varint(len(v)) + v
    return out


class Plane:
    def __init__(self, number, name):
        self.fields, self.stats, self.events = [(1, number), (2, name)], {}, {}

    def stat(self, key, v):
        """Texts are sometimes by reference."""
        at = self.stats.setdefault(key, len(self.stats) + 1)
        if isinstance(v, str) and key in ("hlo_op", "hlo_module"):
            return message((1, at), (7, self.stats.setdefault(v, len(self.stats) + 1)))
        return message((1, at), (2, v) if isinstance(v, float) else (4, v) if isinstance(v, int) and v < 0 else (3, v) if isinstance(v, int) else (5, v))

    def event(self, name, offset, dur, stats, fixed=()):
        at = self.events.setdefault(name, (len(self.events) + 1, fixed))[0]
        return message((1, at), (2, offset), (3, dur), *[(4, self.stat(k, v)) for k, v in stats])

    def line(self, number, name, base, events):
        self.fields.append((3, message((1, number), (2, name), (3, base), *[(4, e) for e in events])))

    def bytes(self, stats=()):
        tail = [(6, self.stat(k, v)) for k, v in stats]
        metas = [(4, message((1, at), (2, message((1, at), (2, name), *[(5, self.stat(k, v)) for k, v in fixed]))))
                 for name, (at, fixed) in self.events.items()]
        names = [(5, message((1, at), (2, message((1, at), (2, key))))) for key, at in self.stats.items()]
        return message(*self.fields, *metas, *names, *tail)


def main():
    rand = random.Random(int(sys.argv[1]))
    gpu, host, spans = Plane(1, "/device:GPU:0"), Plane(0, "/host:CPU"), []
    launches, streams, at = [], {13: [], 14: []}, 1_000_000
    for i in range(rand.randrange(3, 50)):
        stream, kind = rand.choice([13, 13, 14]), rand.choice(["fusion", "gemm_kernel", "MemcpyH2D"])
        start, dur = at + rand.randrange(1000), rand.randrange(500_000, 5_000_000)
        stats = [("correlation_id", 100 + i), ("hlo_op", "%s.%d" % (kind, i % 3)), ("hlo_module", "jit_step")]
        if kind == "MemcpyH2D":
            stats.append(("memcpy_details", "kind_src:pageable kind_dst:device size:%d dest:0 async:1" % (4096 + i)))
        else:
            stats.append(("kernel_details", "regs:32 static_shared:16 dynamic_shared:1024 grid:4,2,1 block:128,1,1 occ_pct:50"))
        streams[stream].append(gpu.event(kind, start, dur, stats, [("flops", 12.5), ("source", "net.py:7")] if kind == "fusion" else []))
        names = {13: "Stream #13(Compute)", 14: "Stream #14(MemcpyH2D)"}
        spans.append([names[stream], kind, 5000 + start // 1000, (start + dur) // 1000 - start // 1000])
        call = rand.choice(["cuLaunchKernelEx (CudaGraph:11)", kind])  # most calls are named after their work
        launches.append(host.event(call, at, 2_000_000, [("correlation_id", 100 + i)]))
        named = "cuLaunchKernelEx" if call != kind else "cuMemcpyAsync" if kind == "MemcpyH2D" else "cuLaunchKernel"
        spans.append(["python", named, 5000 + at // 1000, 2000])
        at += dur + 3_000_000
    gpu.line(13, "Stream #13(Compute)", 5000, streams[13])
    gpu.line(14, "Stream #14(MemcpyH2D)", 5000, streams[14])
    launches.append(host.event("$train.py:12 step", 900_000, at, []))
    launches.append(host.event("train", 900_500, at, [("step_num", 3)]))
    spans += [["python", "train.py(12): step", 5900, (900_000 + at) // 1000 - 900], ["python", "train", 5900, (900_500 + at) // 1000 - 900]]
    launches.append(message((1, 1), (5, 17)))  # a sum, which has no time
    host.line(77, "python", 5000, launches)
    env = Plane(9, "Task Environment")
    data = message((1, host.bytes()), (1, gpu.bytes([("core_count", 132), ("compute_cap_major", 9), ("memory_bandwidth", 4_800_000_000_000),
                                                     ("gpu_device_name", "NVIDIA H200"), ("process_id", 4711)])),
                   (1, env.bytes([("profile_start_time", 1_700_000_000_000_000_000)])), (4, "host1"))
    with open(sys.argv[2], "wb") as f:
        f.write(data)
    json.dump({"spans": sorted(spans), "instants": 0}, sys.stdout)


if __name__ == "__main__":
    main()
