#!/usr/bin/env python3
"""How does the time of the tools grow with the number of whatever a file may hold many of? growth.py [-n MOST] [--count] [SHAPE...]
For each shape and tool: processor seconds at 1/16, 1/4 and all of MOST (160,000), and the exponent from the first to the last:
1 is in proportion, 2 the square. The tools are those of GP_BIN. Nothing is judged but exponents above LIMIT, which end it with 1.
With --count, for tools of build_counted.sh: basic blocks instead of seconds, which are the same on each machine, and COUNT_LIMIT."""
import argparse, json, math, os, pickle, resource, sqlite3, struct, subprocess, sys, tempfile

LIMIT, COUNT_LIMIT = 1.3, 1.15
MASK = (1 << 64) - 1


def kernel(i, name="k", **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": i * 10, "dur": 5,
            "args": {"device": 0, "stream": 7, "correlation": i + 1, **args}}


def call(i, pid=1, tid=1, ts=None):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": pid, "tid": tid, "ts": i * 10 - 1 if ts is None else ts,
            "dur": .5, "args": {"correlation": i + 1}}


def one_slot(n):
    """Keys that a hash of (key * constant, h ^ h >> 32) puts in one slot of any table."""
    inverse, a, got = pow(0x9e3779b97f4a7c15, -1, 1 << 64), 1, []
    while len(got) < n:
        key = a * 0x100000001 * inverse & MASK
        if 0 < key < 1 << 63:
            got.append(key)
        a += 1
    return got


# ---- Chrome JSON, an event per item ----

def threads(n):
    """Each launches a kernel."""
    for i in range(n):
        yield call(i, tid=i + 1)
        yield kernel(i)


def groups(n):
    """Process groups of a collective each."""
    for i in range(n):
        yield kernel(i, "ncclDevKernel_AllReduce", **{
            "Process Group Name": str(i), "Process Group Ranks": "[0,%d]" % i, "Collective name": "allreduce",
            "In msg nelems": 5, "Out msg nelems": 5, "Group size": 2, "dtype": "BFloat16"})


def devices(n):
    """Each runs a kernel of its own."""
    for i in range(n):
        yield {**kernel(i, "k%d" % i, device=i), "pid": i}


def streams(n):
    for i in range(n):
        yield call(i)
        yield {**kernel(i, stream=i), "tid": i}


def steps(n):
    for i in range(n):
        yield {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % i, "pid": 1, "tid": 1, "ts": i * 10 - 2, "dur": 9}
        yield call(i)
        yield kernel(i)


def in_steps(n):
    """Four steps of equal parts of N."""
    for s in range(4):
        yield {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % s, "pid": 1, "tid": 1, "ts": s * n // 4 * 10 - 2, "dur": n // 4 * 10}


def uploads(n):
    """Copies to the GPU in a row, and a kernel of PyTorch at the end."""
    yield from in_steps(n)
    for i in range(n):
        yield call(i)
        copy = kernel(i, "Memcpy HtoD (Pageable -> Device)", bytes=1 << 20)
        yield kernel(i, "at::native::k") if i == n - 1 else {**copy, "cat": "gpu_memcpy"}


def waits(n):
    """A convolution by cuDNN and a wait for it, again and again."""
    yield from in_steps(n)
    for i in range(n):
        yield call(i)
        yield kernel(i, "cudnn_infer_ampere_scudnn_128x64_relu_medium_nn_v1")
        yield {**call(i, ts=i * 10), "name": "cudaStreamSynchronize", "dur": 6, "args": {"correlation": n + i + 1}}
    yield kernel(n, "at::native::k")


def names(n):
    """Kernels, operators and ranges of a name each."""
    for i in range(n):
        yield {"ph": "X", "cat": "user_annotation", "name": "range %d" % i, "pid": 1, "tid": 1, "ts": i * 10 - 3, "dur": 8}
        yield {"ph": "X", "cat": "cpu_op", "name": "aten::op%d" % i, "pid": 1, "tid": 1, "ts": i * 10 - 2, "dur": 6}
        yield call(i)
        yield kernel(i, "kernel_%d" % i)


def processes(n):
    """Each with a thread and a device."""
    for i in range(n):
        yield call(i, pid=10 * i, tid=10 * i)
        yield {**kernel(i, device=0), "pid": 10 * i + 1}


# ---- other formats ----

def node(name, ns, count, device):
    return {"frame": {"name": name}, "metrics": {"time (ns)": ns, "count": count, "device_id": device}, "children": []}


def alloc(address, time_us, action="alloc"):
    return {"action": action, "addr": address, "size": 512, "stream": 0, "time_us": time_us, "frames": []}


def snapshot(traces, path):
    with open(path, "wb") as f:
        pickle.dump({"segments": [], "device_traces": traces}, f, 4)


def nsys(keys, path, name=lambda i: b"k%d" % i):
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous=OFF")
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
               "correlationId INTEGER, nameId INTEGER, returnValue INTEGER)")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
               "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER)")
    rows = list(enumerate(keys))
    db.executemany("INSERT INTO StringIds VALUES(?,CAST(? AS TEXT))", ((k, name(i)) for i, k in rows))
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,0,?,?,?,0)", ((i * 1000 - 10, i * 1000 - 5, k, k, k) for i, k in rows))
    db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,0,1,7,?,0,?,?)", ((i * 1000, i * 1000 + 500, k, k, k) for i, k in rows))
    db.commit()
    db.close()


def flood_addr(n, path):
    """Addresses that met in one slot of every map before its places were drawn."""
    keys = one_slot(n)
    snapshot([[alloc(k, i) for i, k in enumerate(keys)] + [alloc(k, n + i, "free_completed") for i, k in enumerate(keys)]], path)


def flood_nsys(n, path):
    nsys(one_slot(n), path)


def nsys_threads(n, path):
    nsys(range(1, n + 1), path)


def pickle_devices(n, path):
    snapshot([[alloc(1, i)] for i in range(n)], path)


def pickle_segments(n, path):
    """One on each stream, and beside it the driver's records of as many blocks, of which only the last is a segment."""
    with open(path, "wb") as f:
        pickle.dump({"device_traces": [], "segments": [
            {"device": 0, "address": 1 << 40 | i << 21, "total_size": 1 << 20, "allocated_size": 0, "active_size": 0, "requested_size": 0,
             "stream": i, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": i % 2 == 1, "frames": [],
             "blocks": [{"address": 1 << 40 | i << 21, "size": 1 << 20, "requested_size": 0, "state": "inactive", "frames": []}]}
            for i in range(n)]}, f, 4)
    with open(path + ".json", "w") as f:
        json.dump({"traceEvents": [
            {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": i, "args": {
                "Bytes": 512, "Addr": 1 << 40 | (i << 21) + (0 if i == n - 1 else 1 << 20), "Device Type": 1, "Device Id": 0, "Memory": "Device"}}
            for i in range(n)]}, f)


def hatchet_devices(n, path):
    with open(path, "w") as f:
        json.dump([node("k%d" % i, 5, 1, i) for i in range(n)], f)


def hatchet_counts(n, path):
    """Nodes that stand for 10,000 kernels each."""
    with open(path, "w") as f:
        json.dump([node("a", 20000, 10000, 0) for i in range(n)], f)


def flood_names(n, path):
    """Names of 24 bytes whose unseeded XXH3 is the same: 16 of them cancel the secret that the other 8 are multiplied with."""
    first, last = struct.pack("<Q", 0xbe4ba423396cfeb8), struct.pack("<Q", 0x1f67b3b7a4a44072)
    nsys(range(1, n + 1), path, lambda i: first + b"%08d" % i + last)


def chrome(events):
    def write(n, path):
        with open(path, "w") as f:
            f.write('{"traceEvents":[')
            f.write(",\n".join(json.dumps(e) for e in events(n)))
            f.write("]}")
    return write


GPU = [["trace-hta", "-f", f] for f in ("json", "html", "text", "csv", "openmetrics", "dot")] + [
    ["trace2timeline", "-f", "html"], ["trace2flame", "-f", "svg"], ["trace2flame", "-f", "folded"], ["trace-suggest", "-f", "json"],
    ["trace-convert", "--to", "gpuprof"], ["trace-convert", "--to", "chrome"], ["trace-diff", "--any-work", "--cross-gpu", "-f", "json", "@"]]
MEMORY = [["trace-memory", "-f", "json"], ["trace-memory", "-f", "html"], ["trace2timeline", "-f", "html"]]
SHAPES = {f.__name__: (chrome(f), GPU) for f in (threads, groups, devices, streams, steps, names, processes)}
SHAPES.update({f.__name__: (f, GPU) for f in (flood_names, flood_nsys, nsys_threads, hatchet_devices, hatchet_counts)})
SHAPES.update({f.__name__: (f, MEMORY) for f in (flood_addr, pickle_devices)})
SHAPES.update({f.__name__: (chrome(f), [["trace-suggest", "-f", "json"]]) for f in (uploads, waits)})
SHAPES["pickle_segments"] = (pickle_segments, [["trace-memory", "-f", f, "@.json"] for f in ("json", "html")])


def line_of(command, path):
    return [os.path.join(os.environ["GP_BIN"], command[0]), "-q", "-o", path + ".out"] + [path + a[1:] if a.startswith("@") else a for a in command[1:]] + [path]


def blocks(command, path):
    """How many basic blocks the tool ran."""
    out = path + ".blocks"
    done = subprocess.run(line_of(command, path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "GP_BLOCKS": out})
    if not 0 <= done.returncode <= 3:
        sys.exit("%s: %d: %s" % (command, done.returncode, done.stderr.decode()))
    with open(out) as f:
        return int(f.read())


def seconds(command, path):
    """Processor time, the smallest of three runs where it is short."""
    line = line_of(command, path)
    best = math.inf
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
        except subprocess.TimeoutExpired:
            return math.inf
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode > 3 or done.returncode < 0:
            sys.exit("%s: %d: %s" % (line, done.returncode, done.stderr.decode()))
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if best > 1:
            break
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=160000)
    parser.add_argument("--count", action="store_true", help="count blocks")
    parser.add_argument("--list", action="store_true", help="print the shapes, and end")
    parser.add_argument("--make", action="store_true", help="write SHAPE with N items to OUT, and end: SHAPE N OUT")
    parser.add_argument("shapes", nargs="*")
    args = parser.parse_args()
    if args.make:
        name, n, out = args.shapes
        SHAPES[name][0](int(n), out)
        return 0
    if args.list:
        print(*SHAPES)
        return 0
    limit, steep = COUNT_LIMIT if args.count else LIMIT, 0
    if args.count:
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # so that each tool has one thread
    with tempfile.TemporaryDirectory() as folder:
        for name in args.shapes or SHAPES:
            write, tools = SHAPES[name]
            sizes = [args.n // 16, args.n // 4, args.n] if not args.count else [args.n // 16, args.n]
            paths = [os.path.join(folder, "%s.%d" % (name, n)) for n in sizes]
            for n, path in zip(sizes, paths):
                write(n, path)
            for tool in tools:
                took = [(blocks if args.count else seconds)(tool, path) for path in paths]
                exponent = math.log(took[-1] / took[0]) / math.log(sizes[-1] / sizes[0]) if took[-1] < math.inf else math.inf
                print("%-16s %-44s %s  %5.2f%s" % (name, " ".join(tool[:3]), "".join("%12d" % t if args.count else "%9.3f" % t for t in took),
                                                  exponent, "  steep" if exponent > limit else ""), flush=True)
                steep += exponent > limit
            for path in paths:
                os.unlink(path)
    return steep > 0


sys.exit(main())
