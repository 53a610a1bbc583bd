#!/usr/bin/env python3
"""seeds.py -- makes corpus/traces (a few events of a trace of each producer in samples/, without paths, and tiny traces by
hand, as JSON and in the binary format) and the seeds of single targets. Inputs that found something are not made here.

    tests/fuzz/seeds.py build/release/bin

Small seeds are what makes a fuzzer fast: an execution takes as long as its input is long.
"""
import gzip
import json
import os
import pickle
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(HERE, "../../samples")
TO = os.path.join(HERE, "corpus/traces")
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
CALLS = {"cuda_runtime", "cuda_driver"}


def load(tool, path):
    """The trace as an object, whatever its format."""
    if path.endswith(".json.gz"):
        return json.loads(gzip.open(path).read().decode(errors="replace"), strict=False)
    return json.loads(subprocess.run([tool, "-q", "--to", "chrome", path], check=True, capture_output=True).stdout)


def scrub(value):
    """Paths lose all but their last part."""
    if isinstance(value, str):
        return re.sub(r"(?<![\w])/(?:[\w.+-]+/)+", "/x/", value)
    if isinstance(value, list):
        return [scrub(v) for v in value]
    if isinstance(value, dict):
        return {k: scrub(v) for k, v in value.items() if k not in ("traceName", "command", "trace_id")}
    return value


def corr(event):
    return event.get("args", {}).get("correlation")


def cut(trace, kernels, per_kind):
    """Some kernels in a row, the calls that launched them, what encloses those, and a few events of all other sorts."""
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    gpu = sorted((e for e in events if e.get("cat") in GPU and e.get("ph") == "X"), key=lambda e: e["ts"])
    some = gpu[len(gpu) // 3:][:kernels]
    some += [e for cat in GPU for e in [g for g in gpu if g["cat"] == cat][:2] if e not in some]
    ids = {corr(e) for e in some}
    keep = some + [e for e in events if e.get("cat") in CALLS and corr(e) in ids]
    tids = {(e["pid"], e["tid"]) for e in keep if e.get("cat") in CALLS}
    counts = {}
    for e in events:
        sort = (e.get("ph"), e.get("cat"), e.get("name") if e.get("ph") == "M" else None)
        if e in keep or e.get("cat") in GPU | CALLS:
            continue
        encloses = (e.get("ph") == "X" and (e.get("pid"), e.get("tid")) in tids
                    and any(e["ts"] <= c["ts"] <= e["ts"] + e.get("dur", 0) for c in keep if c.get("cat") in CALLS))
        counts[sort] = counts.get(sort, 0) + 1
        if counts[sort] <= (3 * per_kind if encloses else per_kind):
            keep.append(e)
    order = {id(e): i for i, e in enumerate(events)}
    keep.sort(key=lambda e: order[id(e)])
    out = {k: v for k, v in trace.items() if k != "traceEvents"} if isinstance(trace, dict) else {}
    out["traceEvents"] = keep
    return scrub(out)


def save(tool, name, trace):
    path = os.path.join(TO, name + ".json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(trace, f, separators=(",", ":"), ensure_ascii=False)
    subprocess.run([tool, "-q", "-o", os.path.join(TO, name + ".trace"), path], check=True)
    if name.startswith("collect_"):  # the collector writes the other format only
        os.remove(path)


def kernel(name, device, stream, ts, dur, id_, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": ts, "dur": dur,
            "args": {"device": device, "stream": stream, "correlation": id_, "External id": id_, "grid": [8, 1, 1],
                     "block": [128, 1, 1], **args}}


def copy(device, ts, id_):
    return {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": device, "tid": 7, "ts": ts,
            "dur": 4, "args": {"device": device, "stream": 7, "correlation": id_, "bytes": 4096}}


def host(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(ts, id_, name="cudaLaunchKernel"):
    return host("cuda_runtime", name, ts, 2, correlation=id_, **{"External id": id_})


def tiny():
    yield "tiny_steps", [e for i in range(3) for e in (
        host("user_annotation", f"ProfilerStep#{i}", 100 * i, 90), host("cpu_op", "aten::add", 100 * i + 1, 30),
        launch(100 * i + 3, 2 * i + 1), kernel("void add<float>(int)", 0, 7, 100 * i + 10, 20, 2 * i + 1),
        launch(100 * i + 6, 2 * i + 2), kernel("sgemm_nn", 0, 7, 100 * i + 32, 40 + i, 2 * i + 2))]
    yield "tiny_devices", [e for i in range(8) for e in (
        launch(10 * i, i + 1), kernel("k", i, 7, 10 * i + 5, 9, i + 1), launch(10 * i + 3, i + 9, "cudaMemcpyAsync"),
        copy(i, 10 * i + 16, i + 9))]
    yield "tiny_sorts", [
        host("python_function", "a.py(1): f", 0, 50, **{"Python id": 1}),
        host("python_function", "nn.Module: M_0", 1, 40, **{"Python id": 2, "Python parent id": 1, "Python module id": 0}),
        launch(5, 1), kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, 12, 8, 1, **{
            "Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64, "dtype": "Float", "Group size": 2,
            "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}),
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 9, "tid": 1, "ts": 5},
        {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 0, "tid": 20, "ts": 12, "bp": "e"},
        {"ph": "C", "name": "c", "pid": 9, "ts": 7, "args": {"s": 1, "t": 2.5}},
        {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 1, "ts": 8, "args": {
            "Bytes": 512, "Addr": 4096, "Total Allocated": 512, "Total Reserved": 1024, "Device Type": 1, "Device Id": 0}},
        {"ph": "b", "cat": "x", "name": "open", "id": 3, "pid": 9, "tid": 1, "ts": 9},
        {"ph": "e", "cat": "x", "name": "open", "id": 3, "pid": 9, "tid": 1, "ts": 11},
        {"ph": "B", "name": "b", "pid": 9, "tid": 2, "ts": 1}, {"ph": "E", "pid": 9, "tid": 2, "ts": 4},
        {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 20, "ts": 21, "dur": 3, "args": {
            "stream": 20, "device": 0, "correlation": 4, "wait_on_stream": 7, "wait_on_cuda_event_id": 1,
            "wait_on_cuda_event_record_corr_id": 3}},
        {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python"}}]
    yield "tiny_shapes", [e for i in range(3) for e in (
        host("cpu_op", ["aten::addmm", "aten::relu", "aten::add"][i], 50 * i, 20, **{
            "External id": i + 1, "Sequence number": i, "Input Dims": [[64, 32], [32, 16], []],
            "Input type": ["float", "c10::BFloat16", "Scalar"], "Concrete Inputs": ["", "", "1"]}),
        launch(50 * i + 2, i + 1), kernel("vectorized_elementwise_kernel<4, add>", 0, 7, 50 * i + 9, 12, i + 1))]


FRAMES = {"1": {"name": "<module> (a.py:3)", "category": "python"}, "f": {"name": "f (a.py:9)", "category": "python", "parent": 1},
          "3": {"name": "autograd", "category": "python", "parent": "f"}, "4": {"name": "5", "category": "python", "parent": "4"},
          "5": {"name": "c10::g(int) (b.cpp:7)", "category": "native", "parent": 3, "module": "/x/libc10.so", "offset": 4660}}


def tiny_stacks():
    """Calls with stacks, one of them on a thread that another one waits for, nodes of a graph, and the pace."""
    calls = [{**launch(10 * i, i + 1), "sf": frame} for i, frame in enumerate((1, "f", 5, "4", 5, "gone"))]
    calls[2]["args"]["waiting thread"] = 2
    kernels = [{**kernel("k", 0, 7, 10 * i + 5, 4, i + 1, **{"graph id": 1, "graph node id": i}), **({"sf": "f"} if i % 2 else {})}
               for i in range(6)]
    return {"gpuprofPace": [[-900, 80, 0, 9], [-700, 81, 1, 9]], "stackFrames": FRAMES,
            "traceEvents": calls + kernels + [{**host("user_annotation", "r", 0, 60), "sf": "f"}]}


def read(name):
    with open(os.path.join(TO, name), "rb") as f:
        return f.read()


def put(target, name, head, *parts):
    """An input of a target by itself: its head, with the place of the second part where there is one, and the parts."""
    if len(head) == 3 and len(parts) == 2:
        at = -(-len(parts[0]) * 65536 // sum(map(len, parts)))
        head = bytes([head[0], at >> 8, at & 255])
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(head + b"".join(parts))


def for_tools(tools):
    eager, compiled = read("torch_eager.trace"), read("torch_compiled.trace")
    for way in (0, 1, 2, 5, 6):
        put("trace-diff", f"two_{way}", bytes([way, 0, 0]), eager, compiled)
    for way, name in ((0, "tiny_devices"), (1, "torch_ddp"), (5, "tiny_sorts"), (6, "tiny_steps"), (7, "collect_nccl")):
        put("trace-hta", f"ranks_{way}", bytes([way, 0, 0]), read(name + ".trace"), read("torch_ddp.trace"))
    partial = os.path.join(TO, "partial")
    for way, name in enumerate(("torch_ddp", "tiny_sorts", "collect_graphs", "tiny_steps"), 8):
        subprocess.run([os.path.join(tools, "trace-hta"), "-q", "--save-partial", partial, f"{TO}/{name}.trace"], check=True)
        put("trace-hta", f"partial_{way}", bytes([way, 0, 0]), read("partial"))
        os.remove(partial)
    put("trace-suggest", "regimes", b"\x04", read("tiny_shapes.trace"))
    put("trace-suggest", "saving", b"\x05", read("tiny_steps.trace"))
    for way in (0, 1, 2, 3, 9):
        put("trace2flame", f"folded_{way}", bytes([way]), b"main;f;k 12\nmain;g 3.5\nmain;f;k 10 14\n")
    for way in range(6, 10):
        put("trace2flame", f"weights_{way}", bytes([way]), read("torch_eager.trace"))
    put("trace2timeline", "range_svg", b"\x04", read("tiny_steps.trace"))
    put("trace2timeline", "range_html", b"\x05", read("tiny_sorts.trace"))
    broken = bytearray(read("tiny_sorts.trace"))
    broken[len(broken) // 2] ^= 1
    put("trace-convert", "damaged", b"\x80", bytes(broken))
    for way in range(2, 5):
        put("trace-convert", f"packed_{way}", bytes([way]), gzip.compress(read("tiny_sorts.json"), mtime=0))


def for_readers(tools):
    for name, text in (("two", "main;f;k 12\nmain;g 3\n"), ("fractions", "a 1.5\na b;c 2.4999\n\n x\nlast 7"),
                       ("columns", "a;b 10 12\nc 18446744073709551616\nd -1\n"), ("spaces", "  \n;;; 5\r\na  9 \n")):
        put("folded", name, b"", text.encode())
    put("listing", "cuobjdump", b"", b"\tcode for sm_80\n\t\tFunction : k\n /*0000*/ NOP ;\n\tcode for sm_90\n\t\tFunction : j\n\t\tFunction : k\n"
        b"        /*0000*/                   LDC R1, c[0x0][0x28] ;    /* 0x00000a00ff017b82 */\n        /*0010*/ @!P0 EXIT ;\n")
    put("listing", "nvdisasm", b"", b"\t.section\t.text.k\n.text.k:\n        /*0000*/ BRA `(.L_x_0) ;\n.L_x_0:\n        /*0010*/ EXIT ;\n.text.j:\n")
    put("predictions", "expect", b"", json.dumps({"schema": "gpuprof/expect/1", "rules": ["compile"], "predictions": [
        {"metric": "step", "low_ns": -6167604, "high_ns": -1193751}, {"metric": "launches", "low": -3, "high": 0},
        {"idle": "host", "low_pct": -5, "high_pct": 1.5}, {"operation": "aten::add", "low_ns": -1, "high_ns": 1}]}).encode())
    put("predictions", "ceilings", b"", json.dumps({
        "schema": "gpuprof/ceilings/1", "device": "x", "memory_bytes_per_s": 4.1e12, "l2_bytes": 6e7, "l2_bytes_per_s": 1e13,
        "flops_per_s": {"bf16": 8e14, "tf32": 4e14, "fp8": 1.6e15}, "empty_kernel_ns": 1200}).encode())
    trial = {"change": "tf32", "rule": None, "mode": "steps", "status": "measured", "reason": None, "off_ns": 900, "on_ns": 700,
             "saving_ns": 200, "low_ns": 190, "high_ns": 210, "pairs": 8, "predicted_low_ns": 100, "predicted_high_ns": 300,
             "peak_bytes_off": 10, "peak_bytes_on": 900000000, "difference": {"loss_off": 1.5, "loss_relative": 1e-4}, "permanent": "x = 1",
             "drift_pct": 1.5, "changes": ["tf32", "fused"], "notes": ["noted"], "samples": [{"off_ns": 900, "on_ns": 700}] * 2}
    put("try", "all", b"", "".join(json.dumps({"kind": kind, "row": row}) + "\n" for kind, row in (
        ("steps", {"name": "a step", "device": "x"}), ("trial", trial), ("trial", {"change": "b", "status": "failed", "reason": "no"}),
        ("control", {**trial, "low_ns": -5}), ("together", trial), ("refused", {"reason": "ended"}))).encode())
    put("classes", "rules", b"", b"# mine\nmy_(all|reduce).*kernel communication\n\n^copy[0-9]{1,3}$ memory\nx gemm\n")
    put("classes", "wrong", b"", b"a( compute\n[b communication\nc nothing\n \n")
    with open(os.path.join(HERE, "../unit/kernel_keys.tsv"), encoding="utf-8") as f:
        names = [line.split("\t")[0] for line in f if line.strip() and not line.startswith("#")]
    for i, name in enumerate(sorted(names, key=len)[::-1][:: len(names) // 16]):
        put("names", f"kernel_{i:02}", b"", name.encode())
    for i, name in enumerate((
            "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffEEjfLi4EEEEEvT1_",
            "_ZN7cutlass6KernelINS_4gemm6kernel4GemmIvEEEEvNT_6ParamsE", "_Z1fIXadL_Z1gvEEEvv", "_ZNSt3mapIiSsE5clearEv",
            "_Z1gILi1EEvDpT_", "_ZZ1fvENKUlvE_clEv", "_R3foo", "_D3abcFZv", "ProfilerStep#12", "iter 17/100 (3, 4)",
            "nn.Module: Linear_3", "/x/site-packages/torch/nn/modules/module.py(1755): _call_impl",
            "autograd::engine::evaluate_function: MulBackward0", "void (anonymous namespace)::f<(int)3, float*[2]>(int) [clone]",
            "triton_poi_fused_add_mul_0d1d2de", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")):
        put("names", f"name_{i:02}", b"", name.encode())
    for i, text in enumerate((
            "12", "-9223372036854775808", "123.456", "1.5e3", "0x1F", "10us", "1.5ms", "64M", "5%", "1e400",
            '{"a":1,"b":"x\\u00e9\\ud83d\\ude00","c":[1,{"d":null}],}', "[NaN,1.2.3,N/A,]",
            '{"Input Dims":[[64,32],[32,16],[],[[2,3],[4]]],"Input type":["float","c10::BFloat16","Scalar","TensorList"],'
            '"Input Strides":[[32,1],[0,1],[],[]],"Concrete Inputs":["","","[1, 2]","True"]}',
            '{"Device Type":1,"Device Id":3,"dtype":"Float"}', "e\u0301\u4e2d\U0001f600 \u202e")):
        put("values", f"value_{i:02}", b"", text.encode())
    plain = b"main;f;k 12\n" * 40
    for i, data in enumerate((plain, gzip.compress(plain, mtime=0), gzip.compress(plain, mtime=0) * 2,
                              gzip.compress(plain, mtime=0) + b"\0" * 20, gzip.compress(plain, mtime=0)[:40])):
        put("decode", f"gzip_{i}", bytes([i + 1]), data)
        put("decode", f"gzip_thread_{i}", b"\xfd", data)
    zstd = subprocess.run(["zstd", "-qc"], input=plain, check=True, capture_output=True).stdout
    for i, data in enumerate((zstd, zstd + zstd, zstd[:-5], zstd + b"x")):
        put("decode", f"zstd_{i}", bytes([i]), data)
    for name in ("tiny_steps", "tiny_sorts"):
        folder = os.path.join(TO, "saved")
        subprocess.run([os.path.join(tools, "trace-diff"), "-q", "--any-work", "--baseline-dir", folder, "--save", "x",
                        f"{TO}/{name}.trace", f"{TO}/{name}.trace"], stdout=subprocess.DEVNULL, check=False)
        for root, _, files in os.walk(folder, topdown=False):
            for file in files:
                put("baseline", name, b"\x0a000007-abc\0", read(os.path.relpath(os.path.join(root, file), TO)))
                os.remove(os.path.join(root, file))
            os.rmdir(root)
    put("baseline", "name", b"\x03..a\0", b"gpprof")
    put("baseline", "last", b"\x09999999-aa\0", b"")


# Records of all kinds: a byte for the kind, one for changed fields (none), one for the correlation id.
FEW = bytes([4, 1, 0, 1, 0, 0, 1, 2, 0, 2, 3, 0, 3])
ALL = bytes([18] + [x for kind in range(18) for x in (kind, 0, kind + 1)])


PUSH, POP, NODE, CLONE, CALL, FUNCTION, FRAME, STACK = 1, 2, 6, 7, 9, 10, 11, 12  # of enum gp_note_op


def note(op, number=0, other=0, text=b"", args=b"", tid=7, at=1000):
    """A note as it is sent: where it is from, struct gp_note, its text, its args, its domain."""
    body = struct.pack("<IHHqQQQQ", 0, op, len(args), at, 0, 0, number, other) + text + b"\0" + args
    domain_at, body = len(body), body + b"\0"
    body += bytes(-len(body) % 8)
    return struct.pack("<qII", tid, len(body), domain_at) + body


def stack_notes():
    """What stacks stand for, and what has them: calls, ranges, nodes of graphs and their clones."""
    names = [note(FUNCTION, 1, text=b"main", args=b"/x/a.py"), note(FUNCTION, 2, text=b"autograd"),
             note(FUNCTION, 3, text=b"f", args=b"b.py")]
    stacks = [note(FRAME, i + 1, args=struct.pack("<IIII", *f, 0)) for i, f in enumerate(((0, 1, 10), (1, 3, 20), (1, 2, 0), (3, 3, 5)))]
    calls = [note(STACK, args=struct.pack("<9I", 1, 2, 0, 2, 4, 8, 3, 1, 0))]
    made = [note(CALL, args=struct.pack("<qIIiI", 2000 + i, i, 211, 0, 0), at=1000 + i) for i in (1, 2, 3)]
    ranges = [note(PUSH, other=2, text=b"step"), note(NODE, 9, 4, at=1100), note(CLONE, 12, 9, at=1200), note(POP, at=1500)]
    yield "stacks", names + stacks + calls + made + ranges
    again = [note(FUNCTION, 1, text=b"g", args=b"c.py"), note(FRAME, 1, args=struct.pack("<IIII", 0, 1, 7, 0))]
    yield "stacks_again", names + stacks + again + calls + made
    wrong = [note(FUNCTION, 9, text=b"f"), note(FRAME, 9, args=bytes(16)), note(FRAME, 5, args=struct.pack("<IIII", 9, 9, 9, 9)),
             note(STACK, args=struct.pack("<III", 1, 99, 0)), note(STACK, args=b"x" * 13), note(NODE, 9, 1 << 40)]
    yield "stacks_wrong", names[:1] + wrong + stacks[:1] + calls + made


def for_collector():
    put("salvage", "in_order", b"\0", FEW)
    put("salvage", "returned", b"\1", FEW)
    put("salvage", "all_kinds", b"\x08", ALL, b"\x09", ALL)
    put("salvage", "changed", bytes([0x10, 5, 3, 0, 193, 1, 4, 200, 1, 194, 1, 2, 5, 6, 130, 2, 195, 9, 2, 1, 7, 224, 1, 2, 3,
                                     4, 5, 6, 7, 8, 9, 1]))
    put("salvage", "cut", b"\x20", ALL, b"\7")
    put("salvage", "raw", b"\x40\x10", FEW, b"\3\0\0\0" * 4)

    def join(client):
        return bytes([0, client, client])

    def fill(client, slot=0, odd=0, records=FEW):
        return bytes([1, client, slot, odd]) + records

    def flush(client):
        return bytes([3, client, 5, 5])

    put("hub", "one_client", b"", join(0), fill(0), flush(0), b"\x08\0\x64")
    put("hub", "two_clients", b"", join(0), join(1), fill(0), fill(1, 1, 0, ALL), flush(1), flush(0), b"\x09\1\x08\0\x09")
    put("hub", "cut", b"", join(0), fill(0, 0, 64), b"\x09\0")
    put("hub", "all_kinds", b"", join(2), fill(2, 0, 0, ALL), flush(2), fill(2, 1, 0, ALL), flush(2), b"\x08\2\3")
    put("hub", "scribbles", b"", join(0), bytes([7, 0, 64, 0, 0, 0]), bytes(range(64)), bytes([7, 0, 32, 8, 0, 1]), b"\xff" * 32,
        fill(0, 2, 7, FEW + b"\x80\x81\x82"), flush(0))
    put("hub", "frames", b"", join(0), b"\4\0\3key" + bytes(29) + b"\1" * 8, b"\4\0\7\x1e" + bytes(30), b"\4\0\x08" + b"\1" * 88,
        b"\5\0\4\1\2\3\4\x09\0")
    for name, notes in stack_notes():
        # a frame of a hub's client has up to 255 bytes
        put("hub", name, b"", join(0), *(bytes([4, 0, 7, len(n)]) + n for n in notes), fill(0), flush(0), b"\x08\0\x64")
        frames = [(7, b"".join(notes)), (4, struct.pack("<qq", 5000, 0)), (9, struct.pack("<q", 4000))]
        put("session", name, b"\1", *(bytes([kind, len(f) & 255, len(f) >> 8]) + f for kind, f in frames))
    put("hub", "full", b"", join(0), b"\x0b\0", fill(0), flush(0), b"\x0b\0\x0a\1\5\1\x08\1\0\0\0\4\0\0\0\x0c\0\1")


def entry(body):
    body += bytes(-(len(body) + 4) % 8)
    return struct.pack("<I", len(body)) + body


def for_unwinder():
    """A search table, a CIE, and FDEs whose code is the table itself; two stacks."""
    programs = (
        bytes([0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6]),  # push rbp; mov rbp, rsp
        bytes([0x0e, 64, 0x83, 3, 0x8c, 4, 0x8d, 5, 0x0a, 0x41, 0x0e, 8, 0xc3, 0x0b]),
        bytes([0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76, 0x70]),  # a realigned stack
        bytes([0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22]),  # as in a PLT
        bytes([0x07, 16]),
    )
    count, at = len(programs), 12 + 8 * len(programs)
    cie = entry(struct.pack("<IB4sBbBBB", 0, 1, b"zRS\0", 1, -8 & 0x7f, 16, 1, 0x1b) + bytes([0x0c, 7, 8, 0x90, 1]))
    table, entries = b"", cie
    for i, program in enumerate(programs):
        here = at + len(entries)
        table += struct.pack("<ii", 64 * i, here)
        entries += entry(struct.pack("<IiIB", here + 4 - at, 64 * i - (here + 8), 64, 0) + program)
    module = struct.pack("<BBBBiI", 1, 0x1b, 3, 0x3b, at - 4, count) + table + entries
    for i in range(6):
        words = [(7 * k * k + 13 * i) % 250 << 2 | (k + i) % 3 for k in range(40)]
        put("cfi", f"chain_{i}", bytes([1 + 2 * (i % 4), 64 * (i % 4) + 9, 3 * i, 6]), struct.pack("<H", 40),
            struct.pack("<40Q", *words), module)


def for_pickles():
    """Snapshots of the allocator: the first entries of captured ones, as each protocol writes them, and what is refused."""
    def small(name, entries, segments):
        snapshot = pickle.loads(gzip.open(f"{SAMPLES}/memory/{name}.pickle.gz").read())
        del snapshot["segments"][segments:], snapshot["external_annotations"][6:]
        for trace in snapshot["device_traces"]:
            del trace[:-entries]
            for entry in trace:
                del entry.get("frames", [])[3:]
        for segment in snapshot["segments"]:
            del segment["blocks"][4:]
        return snapshot

    class Shell:
        def __reduce__(self):
            return os.system, ("true",)

    for name in ("oom_others", "oom_fragmented", "streams", "compiled", "cpp", "tail", "state", "off", "leak"):
        snapshot = small(name, 16, 3)
        for protocol in (2, 4) if name == "streams" else (4,):
            data = pickle.dumps(snapshot, protocol)
            put("pickle", f"{name}_{protocol}", bytes([len(name)]), data)
            put("trace-memory", f"{name}_{protocol}", bytes([len(name) % 7]), data)
    put("pickle", "shell", b"\0", pickle.dumps({"segments": [Shell()]}, 4))
    put("pickle", "several", b"\0", pickle.dumps([small("off", 1, 1), small("oom_others", 4, 1)], 5))
    put("pickle", "cut", b"\1", pickle.dumps(small("leak", 12, 2), 4)[:-400])


def for_fleets(tools):
    """Digests of small jobs, the first also cut; and spill files, without the heads that the target makes."""
    serialize_head, tools = 28, os.path.abspath(tools)
    for name, args in (("one", "1 2 99 7 -"), ("job", "4 6 2 7 - compute:1:30 kernel:2:40:4")):
        data = subprocess.run([os.path.join(tools, "../tests/make_digests"), *args.split()], check=True, capture_output=True).stdout
        put("digest", name, b"", data)
        if name == "one":
            put("digest", "half", b"", data[:len(data) // 3])
    put("digest", "none", b"", b"\4\0abcd")
    folder = os.path.join(TO, "spills")
    os.makedirs(folder)
    subprocess.run([os.path.join(tools, "trace-hta-mpi"), "-q", "-o", os.devnull, "--spill", "spills", "torch_ddp.json",
                    "tiny_devices.json"], check=True, cwd=TO)
    for file in sorted(os.listdir(folder)):
        put("spill", "whole", b"\0", read(f"spills/{file}")[serialize_head:])
        os.remove(os.path.join(folder, file))
    os.rmdir(folder)
    subprocess.run([os.path.join(tools, "trace-hta"), "-q", "--save-partial", "partial", "tiny_devices.json"], check=True, cwd=TO)
    for name, keys in (("no_keys", 0), ("two_keys", 2)):
        put("spill", name, bytes([keys << 1 | 1]), read("partial")[serialize_head:])
    os.remove(os.path.join(TO, "partial"))


def for_logs():
    """Logs of torch.compile, which are kept in the corpus of their reader."""
    folder = os.path.join(TO, "..", "compile_log")
    for way, name in enumerate(sorted(os.listdir(folder)) * 2):
        with open(os.path.join(folder, name), "rb") as f:
            put("trace-compile", f"{name.split('.')[0]}_{way % 6}", bytes([way % 6]), f.read())


def main():
    tool = os.path.join(sys.argv[1], "trace-convert")
    os.makedirs(TO, exist_ok=True)
    for name, events in tiny():
        save(tool, name, {"traceEvents": events})
    save(tool, "tiny_stacks", tiny_stacks())
    for name in ("eager.json.gz", "compiled.json.gz", "ddp.rank0.json.gz", "decode_graph.json.gz"):
        save(tool, "torch_" + name.split(".")[0], cut(load(tool, f"{SAMPLES}/h200/{name}"), 4, 1))
    for name in ("graph", "graphs", "managed", "nccl", "ranges", "streams", "twoproc_exec"):
        save(tool, "collect_" + name, cut(load(tool, f"{SAMPLES}/h200/{name}.trace"), 6, 1))
    for_tools(sys.argv[1])
    for_readers(sys.argv[1])
    for_collector()
    for_unwinder()
    for_logs()
    for_pickles()
    for_fleets(sys.argv[1])


if __name__ == "__main__":
    main()
