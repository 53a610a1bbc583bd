#!/usr/bin/env python3
"""Records the loops of programs.py while another process uses the same GPU at random: each again and again as it is, and once with each change.

    recordings.py --bin DIR --out DIR [--gpus 0,1] [--seconds 400] [--rounds 10] [--only PROGRAM[.CHANGE],...]

OUT gets PROGRAM.CHANGE.trace and PROGRAM.rN.trace in archives of at most 15 MiB (recordings.N.tar), and results.json: the machine, each
recording with its command, and what was changed where. Rounds come last, so that time that runs out costs rounds.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tarfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST_ROUNDS, ARCHIVE_BYTES, PROCESS_S = 6, 15 << 20, 60
COUNTERS = "smsp__inst_executed.sum,sm__inst_executed_pipe_tensor.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum"
COUNTED = [("mlp", None), ("decode", None), ("own", None), ("own", "unroll"), ("decode", "cast")]  # three times each


def neighbour(seed):
    """Uses the GPU at random until it is ended: bursts of products and of copies of random length, then pauses."""
    import torch
    draw = random.Random(seed)
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    while True:
        until, size = time.monotonic() + draw.uniform(0.002, 0.3), draw.choice([512, 2048, 8192])
        part, copies = x[:size, :size], draw.random() < 0.3
        while time.monotonic() < until:
            part.clone() if copies else torch.mm(part, part)
            torch.cuda.current_stream().synchronize()
        time.sleep(draw.uniform(0.0, 0.3))


class Machine:
    """GPUs with a neighbour each, and a queue of what is recorded on them."""

    def __init__(self, options):
        self.o, self.began, self.lock = options, time.monotonic(), threading.Lock()
        self.jobs, self.done, self.neighbours = [], [], []

    def left(self):
        return self.o.seconds - (time.monotonic() - self.began)

    def environment(self, gpu):
        return {**os.environ, "CUDA_VISIBLE_DEVICES": gpu}

    def begin(self):
        for i, gpu in enumerate(self.o.gpus.split(",")):
            argv = [sys.executable, os.path.join(HERE, "recordings.py"), "--neighbour", str(i)]
            self.neighbours.append(subprocess.Popen(argv, env=self.environment(gpu), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(0 if self.o.dry_run else 10)  # until they compute
        threads = [threading.Thread(target=self.work, args=(gpu,)) for gpu in self.o.gpus.split(",")]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        alive = [p.poll() is None for p in self.neighbours]
        for p in self.neighbours:
            p.kill()
            p.wait()
        return alive

    def work(self, gpu):
        """Take what comes next, while there is time for one more."""
        longest = 5
        while True:
            with self.lock:
                if not self.jobs or self.left() < 1.5 * longest:
                    return
                job = self.jobs.pop(0)
            before = time.monotonic()
            entry = self.record(gpu, **job)
            longest = max(longest, time.monotonic() - before)
            with self.lock:
                self.done.append({**entry, "gpu": gpu, "seconds": round(time.monotonic() - before, 1)})

    def record(self, gpu, name, program, change, options):
        path = os.path.join(self.o.out, name + ".trace")
        run = [sys.executable, "programs.py", program, *([change] if change else [])]
        argv = [os.path.join(self.o.bin, "gpuprof-collect"), "-q", "-o", path, "--start", "profiler", *options, "--", *run]
        p = subprocess.Popen(argv, cwd=HERE, env=self.environment(gpu), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
        try:
            said, error = p.communicate(timeout=max(1, min(PROCESS_S, self.left())))
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            said, error = p.communicate()
            error += "\nkilled: it took too long"
        entry = {"name": name, "program": program, "change": change, "options": options, "status": p.returncode}
        try:
            entry["machine"] = json.loads(said.splitlines()[-1])
        except (IndexError, ValueError):
            entry["error"] = error[-1500:]
        if error.strip():
            entry["messages"] = error[-500:]
        return entry


def jobs(changes, rounds, only):
    """What is recorded, in order; of ONLY named changes, and of their programs as they are."""
    changes = [c for c in changes if not only or c["program"] in only or f"{c['program']}.{c['change']}" in only]
    programs = list(dict.fromkeys(c["program"] for c in changes))

    def plain(i):
        return [{"name": f"{p}.r{i}", "program": p, "change": None, "options": ["--memory"]} for p in programs if i <= rounds]
    yield from plain(1)
    for i in range(2, LEAST_ROUNDS + 1):
        yield from [{"name": f"{c['program']}.{c['change']}", "program": c["program"], "change": c["change"], "options": ["--memory"]}
                    for c in changes[i - 2::LEAST_ROUNDS - 1]]
        yield from plain(i)
    for i in range(3):
        yield from [{"name": f"{p}.{c or 'none'}.m{i + 1}", "program": p, "change": c, "options": ["--metrics", COUNTERS, "--metrics-passes", "4"]}
                    for p, c in COUNTED if p in programs]
    for i in range(LEAST_ROUNDS + 1, rounds + 1):
        yield from plain(i)


def pack(out):
    """The traces in archives, each below the limit, and nothing else beside them."""
    number, archive, size = 0, None, 0
    for name in sorted(os.listdir(out)):
        path = os.path.join(out, name)
        if not name.endswith(".trace"):
            continue
        of = os.path.getsize(path) + 2048
        if archive is None or size + of > ARCHIVE_BYTES:
            if archive:
                archive.close()
            number, size = number + 1, 0
            archive = tarfile.open(os.path.join(out, f"recordings.{number}.tar"), "w")
        archive.add(path, name)
        size += of
        os.remove(path)
    if archive:
        archive.close()


def gpus():
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True)
    except OSError:
        return []
    return asked.stdout.splitlines()


def compress(o, name):
    path = os.path.join(o.out, name)
    argv = [os.path.join(o.bin, "trace-convert"), "-q", "--compress", "zstd", "-o", path + ".z", "-f", "gpuprof", path]
    if subprocess.run(argv, stderr=subprocess.DEVNULL).returncode == 0:
        os.replace(path + ".z", path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default="build/release/bin")
    p.add_argument("--out", default="recordings")
    p.add_argument("--gpus", default="0")
    p.add_argument("--seconds", type=float, default=400)
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--only", type=lambda text: text.split(","))
    p.add_argument("--neighbour", type=int, help=argparse.SUPPRESS)
    p.add_argument("--dry-run", action="store_true", help="do not wait for the neighbours")
    o = p.parse_args()
    if o.neighbour is not None:
        return neighbour(o.neighbour)
    o.bin, o.out = os.path.abspath(o.bin), os.path.abspath(o.out)
    os.makedirs(o.out, exist_ok=True)
    changes = json.loads(subprocess.run([sys.executable, "programs.py", "--list"], cwd=HERE, check=True, capture_output=True).stdout)
    machine = Machine(o)
    o.seconds -= 15  # to pack
    machine.jobs = list(jobs(changes, o.rounds, o.only))
    alive = machine.begin()
    for entry in machine.done:
        name = entry["name"] + ".trace"
        if os.path.exists(os.path.join(o.out, name)):
            compress(o, name)
    results = {"command": sys.argv[1:], "gpus": gpus(), "neighbours_alive": alive, "seconds": round(time.monotonic() - machine.began),
               "left_out": [job["name"] for job in machine.jobs], "changes": changes, "recordings": machine.done}
    with open(os.path.join(o.out, "results.json"), "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)
    pack(o.out)
    failed = [e["name"] for e in machine.done if e["status"] or "error" in e]
    print(f"{len(machine.done)} recordings, {len(failed)} failed {failed}, {len(machine.jobs)} left out, {results['seconds']} s")


if __name__ == "__main__":
    main()
