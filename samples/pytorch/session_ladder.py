"""Every situation in which a session can begin, each in a process of its own: what it has, what it lacks, and whether its
figures agree with those of the programs and of torch.profiler. Needs PyTorch and a GPU.

    PYTHONPATH=build/release/python python3 samples/pytorch/session_ladder.py [CASE...]
"""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

WARMUP, STEPS = 3, 10
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def make_step():
    """A function that trains once."""
    import torch
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(64, 512, device="cuda")

    def step():
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def graph_of(step):
    import torch
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def make_product():
    """Work that can be captured: products and sums only."""
    import torch
    a, b = torch.randn(256, 256, device="cuda"), torch.randn(256, 256, device="cuda")

    def product():
        c = a @ b
        return (c + a).relu().sum()
    return product


def profiled(call, n=STEPS):
    """Events on the GPU of N calls, by kind, as torch.profiler counts them; and its file."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        for _ in range(n):
            call()
        torch.cuda.synchronize()
    path = os.path.join(tempfile.mkdtemp(), "torch.json")
    p.export_chrome_trace(path)
    return events_of(path), path


def events_of(chrome):
    """How many events of each kind on the GPU a Chrome trace has, and their time in ns."""
    with open(chrome) as f:
        document = json.load(f)
    events = document["traceEvents"] if isinstance(document, dict) else document
    kinds, ns = collections.Counter(), 0
    for e in events:
        if e.get("ph") == "X" and e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            kinds[e["cat"].replace("gpu_", "")] += 1
            ns += round(e["dur"] * 1000)
    return {**kinds, "ns": ns}


def measured(step, **options):
    import gputrace as gp
    with gp.session("step", warmup=WARMUP, iterations=STEPS, **options) as s:
        for _ in s:
            step()
    return s


def facts(s, **more):
    """What a session has, and whether it equals what the programs read in its trace."""
    import gputrace as gp
    row = {"trace": s.trace and s.trace.rsplit(".", 1)[1], "events": sum(k.count for k in s.kernels), "gpu_ns": s.gpu_ns,
           "kernel_ns": s.kernel_ns, "total_ns": s.total_ns, "advice": len(s.advice), "ranges": sum(r.calls for r in s.ranges)}
    if s.trace:
        hta = json.loads(subprocess.run([gp.tool("trace-hta"), "-q", "--whole", "-n", "0", "-f", "json", s.trace],
                                        stdout=subprocess.PIPE, check=True).stdout)
        row["equal"] = [s.gpu_ns, s.kernel_ns] == [sum(d["busy_ns"] for d in hta["devices"]),
                                                   sum(k["total_ns"] for k in hta["kernels"])]
        chrome = s.trace + ".chrome"
        subprocess.run([gp.tool("trace-convert"), "-q", "--to", "chrome", "-o", chrome, s.trace], check=True)
        row["chrome"] = events_of(chrome)
        row["linked"] = (hta.get("launches") or {}).get("linked")
        row["device"] = [d["name"] for d in hta["devices"]]
    return {**row, **more, "warnings": s.warnings}


@case
def plain_before():
    """The program is started plainly, and CUDA is not up when the session begins."""
    import gputrace as gp
    step = None
    with gp.session("step", warmup=WARMUP, iterations=STEPS) as s:
        for _ in s:
            step = step or make_step()
            step()
    print(s)
    return facts(s)


@case
def plain_up():
    """CUDA is up, and the program has worked."""
    step = make_step()
    step()
    return facts(measured(step))


@case
def plain_initialized():
    """After cuInit(), before there is a context."""
    import ctypes
    assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    import gputrace as gp
    step = None
    with gp.session("step", warmup=WARMUP, iterations=STEPS) as s:
        for _ in s:
            step = step or make_step()
            step()
    return facts(s)


@case
def graph_before():
    """A graph was captured before the session, which replays it."""
    replay = graph_of(make_product())
    return facts(measured(replay))


@case
def graph_inside():
    """A graph is captured and replayed in a session."""
    import gputrace as gp
    product = make_product()
    with gp.session("step") as s:
        with gp.range("capture"):
            replay = graph_of(product)
        for _ in range(STEPS):
            with gp.range("replay"):
                replay()
    return facts(s, of={r.name: r.gpu_events for r in s.ranges})


@case
def graph_reference():
    """The graph by torch.profiler."""
    return {"profiler": profiled(graph_of(make_product()))[0]}


@case
def profiler_before():
    """torch.profiler was used before."""
    step = make_step()
    reference, _ = profiled(step)
    return facts(measured(step), profiler=reference)


@case
def profiler_during():
    """torch.profiler records meanwhile; its file is added at the end."""
    import gputrace as gp
    import torch
    step = make_step()
    held = []

    def both():
        held.append(measured(step))
    counted, path = profiled(both, 1)
    s = held[0]
    before = {"source": "events", "gpu_ns": s.gpu_ns, "warnings": s.warnings}
    s.add(path)
    return facts(s, before=before, profiler=counted)


@case
def profiler_after():
    """torch.profiler is used after a session, and then again a session."""
    step = make_step()
    first = facts(measured(step))
    reference, _ = profiled(step)
    again = measured(step)
    return {**first, "profiler": reference, "again": facts(again)["events"], "again_warnings": again.warnings}


@case
def twice():
    """One session after the other."""
    step = make_step()
    return {**facts(measured(step)), "again": facts(measured(step))["events"]}


@case
def collected():
    """Under gpuprof-collect."""
    import gputrace as gp
    if "GPUPROF_LADDER_CHILD" not in os.environ:
        path = os.path.join(tempfile.mkdtemp(), "all.trace")
        done = subprocess.run([gp.tool("gpuprof-collect"), "-o", path, sys.executable, __file__, "--one", "collected"],
                              env={**os.environ, "GPUPROF_LADDER_CHILD": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        row = json.loads(done.stdout.splitlines()[-1])
        return {**row, "launcher": done.stderr.splitlines()[-1:]}
    return facts(measured(make_step()))


@case
def switched_off():
    os.environ["GPUPROF_OFF"] = "1"
    return facts(measured(make_step()))


@case
def memory_and_operators():
    """memory=True, and ops=True, which records operators with their shapes."""
    step = make_step()
    s = measured(step, memory=True)
    t = measured(step, ops=True)
    kept = os.environ.get("OUT")
    if kept:
        t.save(os.path.join(kept, "ops.trace"))
    return facts(t, peak=s.peak_bytes, operators=[(o.name, o.calls, o.gpu_events) for o in t.operators][:6],
                 names=sorted({r.name for r in t.ranges if r.name})[:6])


@case
def threads():
    """Two threads with a session each, at the same time."""
    import threading
    import gputrace as gp
    steps = [make_step(), make_step()]
    for step in steps:
        step()
    sessions = [None, None]

    def run(i):
        with gp.session(f"thread {i}") as s:
            for _ in range(STEPS):
                with gp.range(f"step {i}"):
                    steps[i]()
        sessions[i] = s
    workers = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return facts(sessions[0], other=sum(k.count for k in sessions[1].kernels), names=sorted({r.name for r in sessions[0].ranges if r.name}))


@case
def tasks():
    """Tasks of asyncio, whose ranges overlap on one thread."""
    import asyncio
    import gputrace as gp
    step = make_step()

    async def work(i):
        for _ in range(5):
            with gp.range(f"task {i}"):
                step()
                await asyncio.sleep(0)

    async def both():
        await asyncio.gather(work(0), work(1))
    with gp.session("tasks") as s:
        asyncio.run(both())
    return facts(s, calls={r.name: r.calls for r in s.ranges if r.name and r.name.startswith("task")})


@case
def forked():
    """A fork child of a process that uses CUDA."""
    import gputrace as gp
    step = make_step()
    with gp.session("parent") as s:
        for _ in range(STEPS):
            step()
        r, w = os.pipe()
        child = os.fork()
        if not child:
            with gp.session("child") as c:
                pass
            os.write(w, json.dumps(c.warnings).encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
    return facts(s, child=json.loads(os.read(r, 10000)), status=status)


def _spawned(queue):
    row = facts(measured(make_step()))
    queue.put((row["events"], row["warnings"]))


@case
def spawned():
    """A child by multiprocessing's spawn, beside a session of the parent."""
    import multiprocessing
    import gputrace as gp
    context = multiprocessing.get_context("spawn")
    step = make_step()
    with gp.session("parent") as s:
        for _ in range(STEPS):
            step()
        queue = context.Queue()
        child = context.Process(target=_spawned, args=(queue,))
        child.start()
        of_child = queue.get(timeout=100)
        child.join()
    return facts(s, child=of_child, status=child.exitcode)


class _Numbers:
    def __len__(self):
        return STEPS * 64

    def __getitem__(self, i):
        import torch
        return torch.full((512,), float(i))


@case
def loader():
    """Workers of a DataLoader, by fork and by spawn."""
    import gputrace as gp
    import torch
    out = {}
    for how in ("fork", "spawn"):
        data = torch.utils.data.DataLoader(_Numbers(), batch_size=64, num_workers=2, multiprocessing_context=how)
        model = torch.nn.Linear(512, 512).cuda()
        with gp.session(how) as s:
            for batch in data:
                model(batch.cuda())
        out[how] = facts(s)
    return {**out["fork"], "by_spawn": out["spawn"]["events"], "spawn_warnings": out["spawn"]["warnings"]}


@case
def torchrun():
    """Two ranks on one GPU, started by torchrun; their traces are read together."""
    import gputrace as gp
    if "RANK" in os.environ:
        row = facts(measured(make_step()))
        return row
    folder = tempfile.mkdtemp()
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", __file__, "--one", "torchrun"],
                          env={**os.environ, "GPUPROF_DIR": folder}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    traces = sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".trace"))
    rows = gp.read(traces, "devices") if traces else []
    rows = rows if isinstance(rows, list) else rows.to_dict("records")
    return {"status": done.returncode, "traces": [os.path.basename(t).split(".")[1] for t in traces], "ranks": [r["rank"] for r in rows],
            "error": done.stderr[-300:] if done.returncode else ""}


@case
def annotated():
    """Ranges of record_function, nvtx.annotate and torch.cuda.nvtx, first used before and in the session."""
    import torch
    import gputrace as gp
    try:
        import nvtx
    except ImportError:
        nvtx = None
    step = make_step()
    with gp.session("names") as s:
        with torch.profiler.record_function("by record_function"):
            step()
        with torch.cuda.nvtx.range("by torch.cuda.nvtx"):
            step()
        if nvtx:
            with nvtx.annotate("by nvtx.annotate"):
                step()
    return facts(s, of={r.name: r.gpu_events for r in s.ranges if r.name and r.name.startswith("by")}, nvtx=nvtx is not None)


@case
def reference():
    """The same steps by torch.profiler, without gputrace."""
    step = make_step()
    for _ in range(WARMUP):
        step()
    return {"profiler": profiled(step)[0]}


@case
def device():
    """What the trace of a late session has of the device, against PyTorch."""
    import torch
    p = torch.cuda.get_device_properties(0)
    step = make_step()
    s = measured(step)
    row = facts(s, torch=[p.name, p.multi_processor_count, p.total_memory],
                ceilings=(s.suggest or {}).get("regime", {}).get("ceilings"))
    with open(s.trace + ".chrome") as f:
        return {**row, "known": json.load(f).get("deviceProperties")}


def one(name):
    began = time.monotonic()
    row = CASES[name]()
    row["seconds"] = round(time.monotonic() - began, 1)
    print(json.dumps(row))


def run(name):
    try:
        done = subprocess.run([sys.executable, __file__, "--one", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=150, text=True)
    except subprocess.TimeoutExpired:
        return name, "timeout", {}, ""
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return name, f"exit status {done.returncode}", {}, done.stderr[-1500:]
    return name, "ok", json.loads(lines[-1]), "\n".join(lines[:-1]) + done.stderr[-400:]


def main(names):
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("LADDER_JOBS", "4"))) as pool:
        for name, status, row, text in pool.map(run, names or CASES):
            print(f"== {name}: {status}")
            for key, value in row.items():
                print(f"   {key}: {value}")
            if text:
                print("   | " + text.strip().replace("\n", "\n   | "))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        main(sys.argv[1:])
