"""Does CUPTI leave a process between windows, and what stays? A program opens windows itself while everything is in flight, and times the
same block of work before the first window and in the pauses. A bare process of the same program has its turn beside each block, so that
what changes on the machine is not taken for a cost.

usage: attach_loop.py OUTDIR [--program c|torch] [--windows N] [--seconds S] [--before N] [--profiler EVERY]

--program c      attach_loop.c: threads that launch at every moment, graphs from before and from the pauses, long kernels (default)
--program torch  PyTorch: eager operations, a CUDA graph from before, and torch.profiler in every EVERYth pause (default: 10)
--windows N      windows to open (default: 200), the pauses filled up to --seconds S in all (default: 60)
--before N       pairs of blocks before the first window (default: a quarter of S, in seconds)

GPUPROF_BIN      where gpuprof-collect is (default: build/release/bin); the library is beside it, or where GPUPROF_INJECT says
ATTACH_LOOP      attach_loop.c, compiled (default: build/release/tests/bench/attach_loop)

Writes OUTDIR/PROGRAM.json with all blocks and windows, and prints: cycles, crashes, windows whose kernels differ from the program's own
count, how long beginnings and ends took, and the blocks in the pauses against those before, with 95% intervals.
"""

import argparse
import json
import os
import pathlib
import random
import re
import select
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / "../../build/release"
BIN = pathlib.Path(os.environ.get("GPUPROF_BIN", BUILD / "bin")).resolve()
LOOP = pathlib.Path(os.environ.get("ATTACH_LOOP", BUILD / "tests/bench/attach_loop")).resolve()
BLOCK_NS = 40_000_000


def torch_program():
    """The orders of attach_loop.c, by PyTorch: block N, window PATH, and profile."""
    import gputrace
    import torch

    x = torch.ones(1024, device="cuda")
    long = torch.cuda.Stream()

    def step():
        for _ in range(16):
            x.add_(1).mul_(0.5)

    def captured():
        with torch.cuda.graph(g):
            for _ in range(20):
                x.exp_()

    g = torch.cuda.CUDAGraph()
    step(), x.exp_(), x.sin_(), torch.cuda.synchronize()
    captured()
    torch.cuda._sleep(1000)
    torch.cuda.synchronize()
    print("ready", flush=True)
    for line in sys.stdin:
        order, _, rest = line.strip().partition(" ")
        if order == "block":
            begin = time.monotonic_ns()
            for _ in range(int(rest)):
                step()
                torch.cuda.synchronize()
            print(time.monotonic_ns() - begin)
        elif order == "profile":
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as p:
                for _ in range(100):
                    x.sin_()
                torch.cuda.synchronize()
            print(sum(e.count for e in p.key_averages() if "sin" in e.key))
        elif order == "window":
            with torch.cuda.stream(long):
                torch.cuda._sleep(8_000_000)
            t = [time.monotonic_ns()]
            s = gputrace.session("window", trace=rest)
            error = 0
            try:
                s.__enter__()
                t.append(time.monotonic_ns())
                for _ in range(100):
                    x.sin_()
                for _ in range(5):
                    g.replay()
                torch.cuda.synchronize()
                t.append(time.monotonic_ns())
                s.__exit__(None, None, None)
            except Exception as e:  # an answer in any case
                error = repr(e)[:200].replace(" ", "_")
            t += [time.monotonic_ns()] * (4 - len(t))
            said = ";".join(s.warnings).replace("\n", " ")
            print(error, "sin=100", "exp=100", t[1] - t[0], t[3] - t[2], said)
        sys.stdout.flush()


class Program:
    def __init__(self, kind, out, name):
        self.err = open(out / f"{kind}.{name}.err", "wb")
        command = [str(LOOP)] if kind == "c" else [sys.executable, __file__, "--be-torch"]
        env = dict(os.environ, GPUPROF_INJECT=os.environ.get("GPUPROF_INJECT", str(BIN / "../lib/libgpuprof-inject.so")), GPUPROF_COLLECT=str(BIN / "gpuprof-collect"))
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(BIN / "../python"), env.get("PYTHONPATH")]))
        if name == "windows":
            env["GPUPROF_DEBUG"] = "1"
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, env=env, bufsize=0)
        self.pending = b""
        while self.hear(120) != "ready":
            pass

    def hear(self, patience=20):
        while b"\n" not in self.pending:
            more = os.read(self.process.stdout.fileno(), 65536) if select.select([self.process.stdout], [], [], patience)[0] else b""
            if not more:
                code = self.process.poll()
                raise OSError(f"hangs for {patience} s" if code is None else f"ended with {code}")
            self.pending += more
        line, _, self.pending = self.pending.partition(b"\n")
        return line.decode(errors="replace").strip()

    def ask(self, order):
        self.process.stdin.write(order.encode() + b"\n")
        return self.hear()

    def end(self):
        try:
            self.process.stdin.close()
            return self.process.wait(timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            return self.process.wait()


def interval(values, of=statistics.median):
    rng = random.Random(1)
    found = sorted(of(rng.choices(values, k=len(values))) for _ in range(1000))
    return found[25], found[974]


def longer(before, after):
    """By how many percent the ratio to the bare process has grown, and its interval."""
    rng = random.Random(2)
    rows = [(rng.choices(before, k=len(before)), rng.choices(after, k=len(after))) for _ in range(2000)]
    found = sorted(100 * (statistics.median(a) / statistics.median(b) - 1) for b, a in rows)
    return 100 * (statistics.median(after) / statistics.median(before) - 1), found[50], found[1949]


def counted(path, expected):
    """What the trace has of each kind of kernel, where it differs from the program's own count; and the first correlation."""
    sql = "SELECT name, count(*) n, min(correlation), count(distinct node), min(node), min(context), max(delay_ns) FROM kernels GROUP BY name"
    try:
        p = subprocess.run([BIN / "trace-query", "-f", "json", "--threads", "1", path, sql], capture_output=True, text=True, timeout=30)
        document = json.loads(p.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as e:
        return {"error": repr(e)[:200]}, []
    rows = document["rows"] if isinstance(document, dict) else document
    rows = [list(r.values()) if isinstance(r, dict) else r for r in rows]
    wrong = {}
    for word, n in expected.items():
        found = sum(r[1] for r in rows if word in r[0])
        if found != n:
            wrong[word] = found - n
    return wrong, rows


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--program", default="c")
    p.add_argument("--windows", type=int, default=200)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--before", type=float)
    p.add_argument("--profiler", type=int, default=10)
    o = p.parse_args()
    out = pathlib.Path(o.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + o.seconds
    bare, program = Program(o.program, out, "bare"), Program(o.program, out, "windows")
    n = 64
    while int(bare.ask(f"block {n}")) < BLOCK_NS:
        n = n * 5 // 4
    program.ask(f"block {n}")
    pairs, windows, profiles, died = {"before": [], "pause": []}, [], [], None

    def pair(where):
        a = int(bare.ask(f"block {n}"))
        b = int(program.ask(f"block {n}"))
        pairs[where].append((a, b))

    until = time.monotonic() + (o.before if o.before is not None else o.seconds / 4)
    while time.monotonic() < until:
        pair("before")
    each = (end - time.monotonic()) / max(1, o.windows)
    try:
        for i in range(o.windows):
            if time.monotonic() > end + 4:
                break
            due = time.monotonic() + each
            path = out / f"{o.program}.{i}.trace"
            answer = program.ask(f"window {path}").split(" ")
            expected = {k: int(v) for k, v in (w.split("=") for w in answer if re.fullmatch(r"\w+=\d+", w))}
            numbers = [int(w) for w in answer[1:] if w.isdigit()]
            windows.append({"error": answer[0], "begin_ns": numbers[0], "end_ns": numbers[1], "said": " ".join(answer)[-120:], "expected": expected})
            if o.program == "torch" and o.profiler and i % o.profiler == o.profiler - 1:
                profiles.append(int(program.ask("profile")))
            pair("pause")
            while time.monotonic() + 2.2 * BLOCK_NS / 1e9 < due:
                pair("pause")
    except OSError as e:
        died = f"in cycle {len(windows) + 1}: {e}"
    codes = bare.end(), program.end()
    for i, w in enumerate(windows):
        path = out / f"{o.program}.{i}.trace"
        w["wrong"], w["rows"] = counted(path, w["expected"])
        if i > 2 and not w["wrong"]:
            path.unlink(missing_ok=True)
    text = (out / f"{o.program}.windows.err").read_text(errors="replace")
    left = text.count("CUPTI has left the process")
    ratios = {k: [b / a for a, b in v] for k, v in pairs.items()}
    document = {"pairs": pairs, "windows": windows, "profiles": profiles, "died": died, "codes": codes, "left": left, "launches": n}
    (out / f"{o.program}.json").write_text(json.dumps(document))
    wrong = [(i, w["wrong"], w["error"]) for i, w in enumerate(windows) if w["wrong"] or w["error"] != "0"]
    say = [f"{o.program}: {len(windows)} windows, CUPTI left {left} times; " + (f"DIED {died}" if died else f"ended with {codes[1]}")]
    say.append(f"  windows with other counts than the program's own, or an error: {len(wrong)} {wrong[:6]}")
    if profiles:
        say.append(f"  torch.profiler in between: {len(profiles)} times, kernels of 100: {sorted(set(profiles))}")
    for key in ("begin_ns", "end_ns"):
        values = [w[key] / 1e6 for w in windows] or [0]
        say.append(f"  {key[:-3]}: first {values[0]:.1f} ms, median {statistics.median(values):.1f}, most {max(values[1:] or [0]):.1f}")
    if all(ratios.values()):
        change, low, high = longer(ratios["before"], ratios["pause"])
        own = [statistics.median(b for _, b in pairs[k]) / 1e6 for k in ("before", "pause")]
        say.append(f"  a block in the pauses: {change:+.2f}% [{low:+.2f}, {high:+.2f}] against before the first window, by {len(ratios['before'])} and "
                   f"{len(ratios['pause'])} pairs with a bare process ({own[0]:.2f} and {own[1]:.2f} ms)")
        third = len(ratios["pause"]) // 3
        if third > 3:
            parts = [longer(ratios["before"], ratios["pause"][k * third : (k + 1) * third])[0] for k in range(3)]
            say.append("  by thirds of the pauses: " + ", ".join(f"{v:+.2f}%" for v in parts))
    if len(windows) > 1 and windows[0]["rows"]:
        def ids(w):
            return [[r[0][-24:], r[2], r[4], r[5]] for r in w["rows"] if "early" in r[0] or "exp" in r[0] or "sin" in r[0] or "main" in r[0]]
        say.append(f"  ids (name, correlation, node, context) of the first: {ids(windows[0])}")
        say.append(f"  of the last: {ids(windows[-1])}")
    print("\n".join(say), flush=True)
    return 1 if died or wrong else 0


if __name__ == "__main__":
    sys.exit(torch_program() if "--be-torch" in sys.argv else main())
