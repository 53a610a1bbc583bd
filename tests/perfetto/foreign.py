#!/usr/bin/env python3
"""foreign.py KIND SEED FILE: writes a file as another recorder does, from the published field numbers, and prints what it holds:
{"spans": [[track, name, start_ns, dur_ns], ...], ...}, sorted, found by a decoder that shares nothing with the writer.

KIND: torch (render stages, ends after all beginnings), rocprofv3 (track events on named tracks), sdk (several writers, interned
or not, clocks of their own, compressed packets, losses, unknown fields)."""
import json
import random
import re
import struct
import sys
import zlib

BEGIN, END, INSTANT, COUNT = 1, 2, 3, 4


# ---- encoding ----

def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 0x7f:
        out += bytes([v & 0x7f | 0x80])
        v >>= 7
    return out + bytes([v])


def field(number, v):
    """A number, a text, bytes of a message, or a double."""
    if isinstance(v, float):
        return varint(number << 3 | 1) + struct.pack("<d", v)
    if isinstance(v, bool) or isinstance(v, int):
        return varint(number << 3) + varint(int(v))
    v = v.encode() if isinstance(v, str) else v
    return varint(number << 3 | 2) + varint(len(v)) + v


def message(*fields):
    return b"".join(field(n, v) for n, v in fields if v is not None)


def packet(*fields):
    return field(1, message(*fields))


def fixed(number, v):
    return varint(number << 3 | 1) + struct.pack("<Q", v)


def value(v):
    if isinstance(v, list):
        return b"".join(field(12, value(x)) for x in v)
    if isinstance(v, dict):
        return b"".join(field(11, arg(k, x)) for k, x in v.items())
    return message((6 if isinstance(v, str) else 5 if isinstance(v, float) else 4, v))


def arg(key, v):
    return message((10, key)) + value(v)


def torch(rand):
    """One process, calls as track events, work as render stages with extra data, synchronization on tracks of the device."""
    pid, out = 4711, [packet((8, 1000), (10, 1), (6, message((1, message((1, 6), (2, 1000))),
                                                             (1, message((1, 1), (2, 1_700_000_000_000_001_000))))))]
    out.append(packet((60, message((1, 1), (3, message((1, pid), (6, "python")))))))
    out.append(packet((60, message((1, 2), (5, 1), (4, message((1, pid), (2, 77), (5, "main")))))))
    out.append(packet((60, message((1, 3), (3, message((1, 0), (6, "GPU 0")))))))
    out.append(packet((60, message((1, 4), (5, 3), (4, message((1, 0), (2, 7), (5, "stream 7")))))))
    names = ["aten::mm", "cudaLaunchKernel", "cudaStreamSynchronize", "Stream Sync"]
    interned = b"".join(field(2, message((1, i + 1), (2, n))) for i, n in enumerate(names))
    interned += b"".join(field(1, message((1, i + 1), (2, n))) for i, n in enumerate(["cpu_op", "cuda_runtime"]))
    for iid, name, category in (1, "Kernel", 2), (2, "Memcpy", 0), (3, "Memset", 0), (4, "Annotation", 0), (20, "stream 07", 0), (21, "stream 13", 0):
        interned += field(24, message((1, iid), (2, name), (4, category)))
    interned += field(18, message((1, 1), (2, pid)))
    kernels = ["void gemm<float>(int)", "relu", "softmax"]
    interned += b"".join(field(1000, message((1, i + 1), (3, n))) for i, n in enumerate(kernels))
    interned += field(1001, message((1, 1), (2, "registers_per_thread"))) + field(1001, message((1, 2), (2, "shared_mem_static")))
    out.append(packet((10, 1), (13, 1), (12, interned)))
    begins, ends, stages, at = [], [], [], 2000
    for i in range(rand.randrange(5, 60)):
        op, call = at, at + 10
        begins.append(packet((8, op), (10, 1), (13, 2), (11, message((9, BEGIN), (11, 2), (10, 1), (3, 1), (
            4, arg("External id", 100 + i)), (4, arg("Sequence number", i)), (4, arg("Input Dims", [[2, 3], [3, 4]][i % 2]))))))
        begins.append(packet((8, call), (10, 1), (13, 2), (11, message((9, BEGIN), (11, 2), (10, 2), (3, 2), (
            4, arg("cbid", 211)), (4, arg("correlation", 500 + i)), (3000, message((1, i + 1)))))))
        ends.append(packet((8, op + 40), (10, 1), (11, message((9, END), (11, 2)))))
        ends.append(packet((8, call + 20), (10, 1), (11, message((9, END), (11, 2)))))
        kind = rand.choice([1, 1, 1, 2, 3])
        start, dur, which = call + 30, rand.randrange(1, 60), rand.randrange(3)
        extra = b"".join(field(6, message((1, k), (2, str(v)))) for k, v in (("device id", 0), ("stream id", 7), ("correlation", 500 + i)))
        stage = message((1, i + 1), (2, dur), (11, 0), (13, rand.choice([20, 21])), (14, kind), (5, 1))
        if kind == 1:
            stage += message((19, which + 1), (21, message((1, message((1, 4), (2, 2), (3, 1))), (2, message((1, 128), (2, 1), (3, 1))), (
                3, message((1, 1), (4, 32))), (3, message((1, 2), (4, 1024))))))
        stages.append(packet((8, start), (10, 1), (13, 2), (53, stage + extra)))
        at += 100 + rand.randrange(50)
    begins.append(packet((8, at), (10, 1), (13, 2), (11, message((9, BEGIN), (11, 4), (10, 4), (4, arg("stream", 7)), (
        4, arg("cuda_sync_kind", "Stream Sync"))))))
    ends.append(packet((8, at + 5), (10, 1), (11, message((9, END), (11, 4)))))
    return out + begins + ends + stages


def rocprofv3(rand):
    out = [packet((10, 1), (13, 1), (60, message((1, 9), (3, message((1, 31), (6, "app"))))))]
    for uuid, name in (100, "THREAD 1 (55)"), (200, "COMPUTE AGENT [4] STREAM [1] (GPU)"), (300, "COPY to AGENT [4] STREAM [0] (GPU)"):
        out.append(packet((10, 1), (60, message((1, uuid), (5, 9), (2, name)))))
    at = 10_000
    for i in range(rand.randrange(5, 60)):
        corr = i + 1
        for uuid, cat, name, start, dur, args in (
                (100, "hip_api", "hipLaunchKernel", at, 9, {"corr_id": corr, "tid": 55}),
                (200, "kernel_dispatch", "saxpy(float*)", at + 20, rand.randrange(5, 40),
                 {"corr_id": corr, "queue": 3, "workgroup_size": 256, "grid_size": 1024, "group_segment_size": 512}),
                (300, "memory_copy", "MEMORY_COPY_HOST_TO_DEVICE", at + 70, 5, {"corr_id": corr, "copy_bytes": 4096})):
            event = message((9, BEGIN), (11, uuid), (22, cat), (23, name)) + fixed(47, corr)
            event += b"".join(field(4, arg(k, v)) for k, v in args.items())
            out.append(packet((10, 1), (8, start), (11, event)))
            out.append(packet((10, 1), (8, start + dur), (11, message((9, END), (11, uuid)))))
        at += 100
    return out


def sdk(rand):
    out = []
    for sequence in range(2, 2 + rand.randrange(1, 5)):
        uuid, at, deltas = 1000 * sequence, 100_000, rand.random() < .5
        mine = [packet((10, sequence), (60, message((1, uuid), (4, message((1, 5), (2, sequence), (5, "worker %d" % sequence))))))]
        known, now, depth, lost = {}, at, 0, False

        def clear():
            known.clear()
            snapshot = message((1, message((1, 6), (2, at))), (1, message((1, 64), (2, at // 1000 if deltas else at), (
                3, 1 if deltas else None), (4, 1000 if deltas else None))))
            mine.append(packet((10, sequence), (13, 3), (87, 1), (6, snapshot), (59, message((58, 64 if deltas else 6), (11, message((11, uuid)))))))

        clear()
        now = at
        for _ in range(rand.randrange(4, 80)):
            at += rand.randrange(0, 9) * 1000
            if rand.random() < .05 and not depth:
                clear()
                now = at
            if rand.random() < .03 and not depth and not lost:  # until the state is cleared, what needs it is skipped
                lost = True
                mine.append(packet((10, sequence), (42, 1), (8, 0 if deltas else at), (13, 2), (11, message((9, INSTANT), (10, 1)))))
                at += 1000
                clear()
                now = at
            name, interned, event = rand.choice(["load", "train", "save"]), b"", b""
            kind = rand.choice([BEGIN, END, INSTANT]) if depth else rand.choice([BEGIN, INSTANT])
            if kind != END and rand.random() < .7:
                if name not in known:
                    known[name] = len(known) + 1
                    interned = field(2, message((1, known[name]), (2, name)))
                event = message((10, known[name]))
            elif kind != END:
                event = message((23, name))
            depth += {BEGIN: 1, END: -1, INSTANT: 0}[kind]
            event += message((9, kind), (4, arg("deep", {"a": [1, {"b": -2}]}) if rand.random() < .2 else None))
            time = (at - now) // 1000 if deltas else at
            now = at
            mine.append(packet((10, sequence), (8, time), (13, 2), (12, interned or None), (11, event), (777, "unknown")))
        for _ in range(depth):
            at += 1000
            mine.append(packet((10, sequence), (8, (at - now) // 1000 if deltas else at), (13, 2), (11, message((9, END)))))
            now = at
        if rand.random() < .5:
            mine = [packet((50, zlib.compress(b"".join(mine))))]
        out.append(mine)
    merged = []  # packets of one writer stay in order
    while any(out):
        merged.append(rand.choice([m for m in out if m]).pop(0))
    return merged


# ---- decoding ----

def fields(data):
    at = 0
    while at < len(data):
        key, at = number(data, at)
        if key & 7 == 2:
            n, at = number(data, at)
            yield key >> 3, data[at:at + n]
            at += n
        elif key & 7 == 1:
            yield key >> 3, data[at:at + 8]
            at += 8
        else:
            assert key & 7 == 0
            v, at = number(data, at)
            yield key >> 3, v


def number(data, at):
    v = shift = 0
    while True:
        v |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return v, at


def packets(data):
    for _, p in fields(data):
        f = dict(fields(p))
        if 50 in f:
            yield from packets(zlib.decompress(f[50]))
        else:
            yield f


def plain(track):
    """Torch pads the numbers of streams, but not on all tracks."""
    return re.sub(r"^stream 0+", "stream ", track)


def decode(data):
    tracks, events, spans, stages, skipped, state = {}, [], [], [], 0, {}
    for n, f in enumerate(packets(data)):
        s = state.setdefault(f.get(10), {"valid": False, "names": {}, "seen": False})
        if f.get(42) and s["seen"]:
            s["valid"] = False
        s["seen"] = True
        if f.get(13, 0) & 1:
            s.update(valid=True, names={}, track=0, clock=6)
        if f.get(13, 0) & 2 and not s["valid"]:
            skipped += 1
            continue
        for k, c in fields(f.get(6, b"")):
            c = dict(fields(c))
            if k == 1 and c[1] == 64:
                s.update(delta=c.get(3, 0), unit=c.get(4, 1), now=c[2] * c.get(4, 1))
        if 59 in f:
            d = dict(fields(f[59]))
            s.update(clock=d[58], track=dict(fields(d[11]))[11])
        for k, e in fields(f.get(12, b"")):
            e = dict(fields(e))
            s["names"][k, e[1]] = (e.get(3) or e.get(2, b"")) if k == 1000 else e.get(2, b"")
        if 60 in f:
            d = dict(fields(f[60]))
            own = dict(fields(d.get(4, d.get(3, b""))))
            tracks[d[1]] = (d.get(2) or own.get(5) or own.get(6) or b"").decode()
        if 11 in f or 53 in f:
            at = f[8]
            if s.get("clock", 6) == 64:
                at = s["now"] = s["now"] + at * s["unit"]
            if 53 in f:
                g = dict(fields(f[53]))
                name = s["names"].get((1000, g.get(19)), s["names"].get((24, g[14]))).decode()
                stages.append([plain(s["names"][24, g[13]].decode()), name, at, g[2]])
            else:
                g = dict(fields(f[11]))
                name = g[23] if 23 in g else s["names"].get((2, g.get(10)), b"")
                events.append((at, n, g[9], g.get(11, s.get("track", 0)), name.decode()))
    stacks, instants = {}, 0
    for at, _, kind, uuid, name in sorted(events):
        if kind == BEGIN:
            stacks.setdefault(uuid, []).append((at, name))
        elif kind == END:
            start, what = stacks[uuid].pop()
            spans.append([plain(tracks.get(uuid, "")), what, start, at - start])
        else:
            instants += 1
    assert not any(stacks.values())
    return {"spans": sorted(spans + stages), "instants": instants, "skipped": skipped}


def main():
    kind, seed, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    data = b"".join({"torch": torch, "rocprofv3": rocprofv3, "sdk": sdk}[kind](random.Random(seed)))
    with open(path, "wb") as f:
        f.write(data)
    json.dump(decode(data), sys.stdout)


main()
