"""What tools that look on cost a server: decoded tokens per second of a transformers model (random weights, made from a configuration), and
steps per second of a plain CUDA program (attach_loop.c), which launch all the time.

usage: serving.py [--seconds S] [--turn S] [--only WAY,...] [--program transformers,cuda] [-o FILE]

bare            as it is
dormant         the library loaded and asleep: GPUPROF_DORMANT=1, CUDA_INJECTION64_PATH
attached        the same, and for the middle sixth of each turn `gpuprof-collect --pid` records, as in 10 seconds of each minute
windows         under gpuprof-collect from the start, which records for the middle sixth of each turn (--start and --stop by signal)
whole           under gpuprof-collect, recorded whole
nsys            under nsys profile -t cuda
torch.profiler  CUDA activities only, for each whole turn (only transformers)

All run at once on one GPU and take turns of --turn seconds (default: 6); the other processes sleep meanwhile. A round has a turn of each; of
each round the ratio to the bare process counts, and the interval is from resampling the rounds. --seconds (default: 600) is the time of
all turns of one program. What is not there (nsys, --pid) has a line that says so.

GPUPROF_BIN   where gpuprof-collect is (default: build/release/bin); the library is in ../lib
ATTACH_LOOP   attach_loop.c, compiled (default: build/release/tests/bench/attach_loop)
"""

import argparse
import os
import pathlib
import random
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / "../../build/release"
BIN = pathlib.Path(os.environ.get("GPUPROF_BIN", BUILD / "bin")).resolve()
LIBRARY = BIN / "../lib/libgpuprof-inject.so"
LOOP = pathlib.Path(os.environ.get("ATTACH_LOOP", BUILD / "tests/bench/attach_loop")).resolve()
WAYS = ["bare", "dormant", "attached", "windows", "whole", "nsys", "torch.profiler"]
BATCH = 8


def serve_transformers():
    """Orders from standard input: serve MS, and profile MS, each answered by tokens and ns."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16, num_key_value_heads=8, vocab_size=32000)
    model = LlamaForCausalLM(config).to(torch.bfloat16).cuda().eval()
    prompt = torch.randint(0, 32000, (BATCH, 32), device="cuda")

    @torch.inference_mode()
    def decode(until_ns):
        tokens = 0
        while time.monotonic_ns() < until_ns:  # requests come without end; each is answered by 64 tokens
            out = model(prompt, use_cache=True)
            for _ in range(64):
                word = out.logits[:, -1:].argmax(-1)
                out = model(word, past_key_values=out.past_key_values, use_cache=True)
                tokens += BATCH
                if time.monotonic_ns() >= until_ns:
                    break
            torch.cuda.synchronize()
        return tokens

    decode(time.monotonic_ns() + 2_000_000_000)
    print("ready", flush=True)
    for line in sys.stdin:
        order, ms = line.split()
        begin = time.monotonic_ns()
        until = begin + int(ms) * 1_000_000
        if order == "profile":
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
                tokens, took = decode(until), time.monotonic_ns() - begin
        else:
            tokens, took = decode(until), time.monotonic_ns() - begin
        print(tokens, took, flush=True)


class Server:
    def __init__(self, program, way, folder):
        self.way, self.rates, self.dead = way, [], None
        run = [str(LOOP)] if program == "cuda" else [sys.executable, __file__, "--serve"]
        collect = [str(BIN / "gpuprof-collect"), "-q", "-o", str(folder / f"{program}.{way}.trace")]
        before = {
            "windows": [*collect, "--start", "SIGUSR1", "--stop", "SIGUSR1", "--"],
            "whole": [*collect, "--"],
            "nsys": ["nsys", "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-o", str(folder / f"{program}.nsys"), "--force-overwrite=true"],
        }.get(way, [])
        env = dict(os.environ)
        if way in ("dormant", "attached"):
            env.update(GPUPROF_DORMANT="1", CUDA_INJECTION64_PATH=str(LIBRARY.resolve()))
        self.folder, self.pending = folder, b""
        self.err = open(folder / f"{program}.{way}.err", "wb")
        self.process = subprocess.Popen(before + run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, env=env, bufsize=0)

    def hear(self, patience):
        while b"\n" not in self.pending:
            more = os.read(self.process.stdout.fileno(), 65536) if select.select([self.process.stdout], [], [], patience)[0] else b""
            if not more:
                raise OSError("it ended" if self.process.poll() is not None else f"no answer for {patience} s")
            self.pending += more
        line, _, self.pending = self.pending.partition(b"\n")
        return line.decode(errors="replace").strip()

    def ready(self):
        try:
            while self.hear(180) != "ready":
                pass
        except OSError as e:
            self.dead = str(e)

    def middle(self, seconds):
        """Records for the middle sixth of a turn."""
        time.sleep(seconds * 5 / 12)
        if self.way == "windows":
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(seconds / 6)
            self.process.send_signal(signal.SIGUSR1)
        else:
            trace = self.folder / f"attached.{len(self.rates)}.trace"
            command = [str(BIN / "gpuprof-collect"), "-q", "-o", str(trace), "--pid", str(self.process.pid), "--duration", f"{seconds / 6:g}"]
            subprocess.run(command, stderr=self.err, timeout=seconds + 30)

    def turn(self, seconds):
        if self.dead:
            return
        recorder = threading.Thread(target=self.middle, args=(seconds,)) if self.way in ("attached", "windows") else None
        try:
            if recorder:
                recorder.start()
            order = "profile" if self.way == "torch.profiler" else "serve"
            self.process.stdin.write(f"{order} {int(seconds * 1000)}\n".encode())
            done, ns = map(int, self.hear(seconds + 120).split())
            self.rates.append(done / ns * 1e9)
        except (OSError, ValueError) as e:
            self.dead = str(e)
        if recorder:
            recorder.join()

    def end(self):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=120)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.err.close()


def missing(way, program):
    """Why there is no such way here, or nothing."""
    if way in ("dormant", "attached"):
        said = subprocess.run([str(BIN / "gpuprof-collect"), "--help"], capture_output=True, text=True).stdout
        return "" if "--pid" in said else "this gpuprof-collect has no --pid"
    if way == "nsys" and not shutil.which("nsys"):
        return "nsys is not installed"
    return "not a program of PyTorch" if way == "torch.profiler" and program == "cuda" else ""


def row(program, server, bare, unit):
    n = min(len(server.rates), len(bare.rates))
    if server.dead and not n:
        return f"| {program} | {server.way} | failed: {server.dead} | | |"
    ratios = [100 * (b / a - 1) for a, b in zip(bare.rates, server.rates)]
    rng = random.Random(1)
    found = sorted(statistics.median(rng.choices(ratios, k=n)) for _ in range(2000))
    change = f"{statistics.median(ratios):+.2f}% ({found[50]:+.2f} to {found[1949]:+.2f})" if server is not bare else ""
    note = f" (then {server.dead})" if server.dead else ""
    return f"| {program} | {server.way}{note} | {statistics.median(server.rates[:n]):,.0f} {unit} | {change} | {n} |"


def measure(program, ways, seconds, turn, folder):
    gone = {way: missing(way, program) for way in ways}
    servers = [Server(program, way, folder) for way in ways if not gone[way]]
    for server in servers:
        server.ready()
    alive = [s for s in servers if not s.dead]
    for i in range(max(2, round(seconds / (turn * max(1, len(alive)))))):
        for server in servers[i % len(servers) :] + servers[: i % len(servers)]:
            server.turn(turn)
    for server in servers:
        server.end()
    unit = "tokens/s" if program == "transformers" else "steps/s"
    rows = [row(program, s, servers[0], unit) for s in servers]
    return rows + [f"| {program} | {way} | not measured: {why} | | |" for way, why in gone.items() if why]


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--turn", type=float, default=6)
    p.add_argument("--only", default=",".join(WAYS))
    p.add_argument("--program", default="transformers,cuda")
    p.add_argument("-o", "--output")
    o = p.parse_args()
    wanted = o.only.split(",")
    ways = ["bare"] + [w for w in WAYS[1:] if w in wanted]
    if set(wanted) - set(WAYS) or set(o.program.split(",")) - {"transformers", "cuda"}:
        p.error("ways are " + ", ".join(WAYS) + "; programs are transformers, cuda")
    table = ["| program | way | throughput | against bare (95% interval) | rounds |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for program in o.program.split(","):
            table += measure(program, ways, o.seconds, o.turn, pathlib.Path(folder))
            print("\n".join(table), file=sys.stderr, flush=True)
    text = "\n".join(table) + "\n"
    if o.output:
        pathlib.Path(o.output).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    serve_transformers() if "--serve" in sys.argv else main()
