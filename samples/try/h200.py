#!/usr/bin/env python3
"""Trials of the programs of programs.py on a machine with GPUs, unattended, and what they are compared with:

  trials  gpuprof-try with controls, with changes that fail, and, where --prototype names one, another program that makes trials
  hand    changes made permanently, five processes a side, without gpuprof-try
  rest    what trace-suggest finds, and the rows of the table that are left, those that need processes of their own included

    samples/try/h200.py FOLDER [--part trials,hand,rest] [--seconds 480] [--tool BIN/gpuprof-try] [--gpus 4]
        [--prototype 'python3 FILE'] [--resume RESULTS...] [--only NAME,...] [--changes CHANGE,...] [--limit SECONDS]

Each GPU runs one program at a time, on its share of the cores; what is compared runs on the same GPU. FOLDER gets results.jsonl, a line
as soon as something is measured or has failed, and logs.txt. --resume names results.jsonl of earlier calls: what they have is not run
again. With --changes, only these are tried and made by hand, without further controls, each for --limit. report.py prints tables of
any number of results.jsonl.
"""

import argparse
import collections
import json
import os
import queue
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROUNDS = 5
LOG_LINES = 40
# One fails where it goes on, one in a call of a module, one runs out of memory in a step.
FAILING = ["fails_at_once=1 / 0 // pass",
           "fails_in_forward=inner.__dict__.update(forward=lambda *a, **k: 1 / 0) // inner.__dict__.pop('forward', None)",
           "fails_for_memory=torch.cuda.empty_cache(); hog.append(torch.empty(torch.cuda.mem_get_info()[0] - (64 << 20), dtype=torch.uint8, device='cuda')) "
           "// hog.clear(); torch.cuda.empty_cache()"]
CONTROLS = [f"control{n}=pass // pass" for n in range(1, 8)]  # with the one of gpuprof-try itself, eight

# A limit of each change and one of the run, in seconds, and further options.
Trial = collections.namedtuple("Trial", "program changes sets limit seconds more", defaults=((), (), 5, 200, ()))
LOOP_OR_FUSED = "loop_or_fused=loop_or_fused(True) // loop_or_fused(False)"  # what a prototype does that sets fused=False, not None
OURS = {"item": "reads", "fused": "loop_or_fused"}  # what a prototype does, in our words
# Of each program: what is compared with changes by hand, what a prototype tries and in how many steps, and what else is tried, with controls.
PROGRAMS = {
    "resnet": (Trial("resnet", ("fused", "channels_last", "set_to_none", "benchmark"), [LOOP_OR_FUSED], 20),
               {"fused": 2500, "benchmark": 2000}, Trial("resnet", ("tf32", "gc"), CONTROLS, 3)),
    "bert": (Trial("bert", ("tf32", "bf16", "fused", "attention=eager", "gc"), limit=15), {"tf32": 300},
             Trial("bert", ("sdp=flash", "sdp=efficient", "sdp=math", "batch=x2", "batch=half"), FAILING + CONTROLS, 3)),
    "llama": (Trial("llama", ("fused", "attention=eager", "no_checkpointing", "reads"), limit=25), {},
              Trial("llama", ("gc", "sdp=flash", "sdp=efficient", "sdp=cudnn", "sdp=math", "batch=x2", "batch=half"), CONTROLS, 3)),
    "vit": (Trial("vit", ("tf32", "bf16", "channels_last", "graph"), limit=15), {}, Trial("vit", ("pinned", "benchmark"), CONTROLS, 3)),
    "graph_network": (Trial("graph_network", ("reads", "fused", "tf32"), limit=15), {"item": 2500},
                      Trial("graph_network", ("gc", "bf16"), CONTROLS, 3)),
}
_OTHER = f"{shlex.quote(sys.executable)} {shlex.quote(os.path.join(HERE, 'programs.py'))} loader --change workers"
# The rest, those that matter most first. Without changes: what trace-suggest finds.
REST = {
    "bert_found": Trial("bert", None, limit=4),
    "resnet_found": Trial("resnet", None, limit=4),
    "llama_found": Trial("llama", None, limit=4),
    "vit_found": Trial("vit", None, limit=4),
    "graph_network_found": Trial("graph_network", None, limit=4),
    "mixtral_found": Trial("mixtral", None, limit=5),
    "loader_found": Trial("loader", None, limit=4, seconds=300),
    "loader": Trial("loader", ("prefetch", "pinned", "benchmark", "set_to_none", "foreach", "fused", "graphed_callables", "batch=x2")),
    "mixtral": Trial("mixtral", ("experts=grouped_mm", "experts=batched_mm", "attention=sdpa", "attention=flash_attention_2", "foreach")),
    "mixtral_grouped": Trial("mixtral_grouped", ("experts=eager",)),
    "rollout": Trial("rollout", ("no_validation", "no_waits", "reads", "pinned", "gc")),
    "vit_compile": Trial("vit", ("compile", "compile=blocks", "compile=reduce-overhead"), limit=4),
    "bert_compile": Trial("bert", ("compile", "compile=blocks"), limit=4),
    "loader_processes": Trial("loader", ("workers",), seconds=300, more=("--other", _OTHER)),
    "rollout_processes": Trial("rollout", ("allocator=expandable", "allocator=async", "threads=1", "threads=half"), seconds=400),
    "vit_autotune": Trial("vit", ("compile=max-autotune",), limit=4),
}


# ---- what was measured ----

class Results:
    """results.jsonl and logs.txt of a folder, and what earlier calls have."""

    def __init__(self, folder, resumed):
        self.folder, self.lock, self.rows = folder, threading.Lock(), []
        self.earlier = [row for path in resumed for row in read(path)]

    def put(self, **row):
        with self.lock:
            self.rows.append(row)
            with open(os.path.join(self.folder, "results.jsonl"), "a", encoding="utf-8") as f:
                f.write(json.dumps(row) + "\n")

    def log(self, name, text):
        lines = text.splitlines()[-LOG_LINES:]
        with self.lock, open(os.path.join(self.folder, "logs.txt"), "a", encoding="utf-8") as f:
            f.write(f"==== {name}\n" + "\n".join(line[:400] for line in lines) + "\n")

    def has(self, kind, **wanted):
        return any(row["kind"] == kind and "error" not in row and all(row.get(k) == v for k, v in wanted.items())
                   for row in self.earlier)

    def tried(self, run):
        """Names of the changes that trials called RUN have an answer on, or that have ended their program."""
        found = set()
        for row in self.earlier + self.rows:
            if row["kind"] == "trial" and row["run"] == run:
                answered = row["answer"]["trials"] if "answer" in row else ()
                found |= {t["change"] for t in answered if not (t["reason"] or "").startswith("not ")} | set(row.get("fatal", ()))
        return found


def read(path):
    """The rows of a results.jsonl, without a last line that was cut."""
    rows = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            try:
                rows.append(json.loads(line))
            except ValueError:
                print(f"{path}: a line is cut")
    return rows


# ---- running a process ----

def stop(child, patience):
    """End CHILD, which leads a process group, and what it started."""
    try:
        child.send_signal(signal.SIGTERM)
        child.wait(patience)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


class Server:
    """A program that times its steps in a process for each change that it is asked for."""

    def __init__(self, machine, program):
        self.errors, self.lines = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"), queue.Queue()
        self.child = machine.start(machine.program(program, "--time", str(machine.o.hand_seconds)), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=self.errors)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            if line.startswith("{"):
                self.lines.put(line)
        self.lines.put("")

    def ask(self, change, seconds):
        began = time.monotonic()
        try:
            self.child.stdin.write(change + "\n")
            self.child.stdin.flush()
            line = self.lines.get(timeout=seconds)
            answer = json.loads(line) if line else {"error": "the process ended"}
        except (OSError, ValueError, queue.Empty) as e:
            answer = {"error": f"{type(e).__name__}: {e}"}
        return {**answer, "took_s": round(time.monotonic() - began, 1)}

    def stop(self):
        """What it wrote for people."""
        stop(self.child, 1)
        self.errors.seek(0)
        return self.errors.read()


class Machine:
    """One GPU and its share of the cores."""

    def __init__(self, number, of, options, results):
        cores = sorted(os.sched_getaffinity(0))
        share = max(1, len(cores) // of)
        mine = cores[number * share:(number + 1) * share] or cores
        self.prefix = ["taskset", "-c", ",".join(map(str, mine))] if shutil.which("taskset") else []
        self.environment = {**os.environ, "CUDA_VISIBLE_DEVICES": str(number), "TOKENIZERS_PARALLELISM": "false",
                            "TORCHINDUCTOR_CACHE_DIR": os.path.join(options.scratch, f"inductor{number}")}
        self.number, self.o, self.results = number, options, results

    def left(self):
        return self.o.end - time.monotonic()

    def start(self, command, **more):
        return subprocess.Popen([*self.prefix, *command], env=self.environment, start_new_session=True, text=True, errors="replace", **more)

    def program(self, *words):
        return [sys.executable, self.o.programs, *words]

    def logged(self, name, command, seconds):
        """Run COMMAND for SECONDS at most: (exit status, or None when it was ended; its output)."""
        end = time.monotonic() + seconds
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            child = self.start(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            while (status := child.poll()) is None and time.monotonic() < end and self.left() > 0:
                time.sleep(0.1)
            stop(child, 20)
            log.seek(0)
            text = log.read()
        self.results.log(name, text)
        return status, text

    # ---- the kinds of jobs ----

    def trial(self, run, spec):
        """gpuprof-try on a program; once more without the change at which the program died, if it did."""
        for _ in range(4):
            done = self.results.tried(run)
            changes = None if spec.changes is None else [c for c in spec.changes if not any(d == c or d.startswith(c + "=") for d in done)]
            sets = [s for s in spec.sets if s.split("=")[0] not in done]
            if self.results.has("trial", run=run, complete=True) or (done and not changes and not sets):
                return
            seconds = min(spec.seconds, self.left() - 22)
            if seconds < 25:
                return self.results.put(kind="trial", run=run, error="no time was left")
            row = self.tried_once(run, spec, changes, sets, seconds)
            answered = {t["change"] for t in row.get("answer", {"trials": ()})["trials"] if not (t["reason"] or "").startswith("not tried")}
            missing = [name for name in [*(changes or ()), *(s.split("=")[0] for s in sets)]
                       if not any(a == name or a.startswith(name + "=") for a in answered)]
            row["fatal"] = missing[:1] if row["status"] is not None and row.get("answer", {}).get("steps") else []
            row["complete"] = row["status"] is not None and not missing
            self.results.put(**row)
            if row["complete"] or not row["fatal"]:
                return

    def tried_once(self, run, spec, changes, sets, seconds):
        path = os.path.join(self.o.scratch, f"answer{self.number}")
        command = [self.o.tool, "--time-limit", f"{spec.limit}s", "--precision", "0.05", "-f", "json", "-o", path]
        command += [f"--changes={','.join(changes)}"] if changes else []
        command += [word for text in sets for word in ("--set", text)] + list(spec.more)
        began = time.monotonic()
        status, text = self.logged(run, [*command, "--", *self.program(spec.program)], seconds)
        row = {"kind": "trial", "run": run, "program": spec.program, "gpu": self.number, "status": status,
               "took_s": round(time.monotonic() - began, 1)}
        try:
            with open(path, encoding="utf-8") as f:
                row["answer"] = json.load(f)
            os.unlink(path)
        except (OSError, ValueError) as e:
            row["error"] = f"{e}: " + " / ".join(text.splitlines()[-3:])[-400:]
        return row

    def prototype(self, program, change, steps):
        again = self.o.changes is not None
        if not self.o.prototype or (self.results.has("prototype", program=program, change=change) and not again) or self.left() < 30:
            return
        ours, limit = OURS.get(change, change), self.o.limit or 20
        if again or self.results.has("trial", run=program):  # on another machine: so it is compared with one of this call
            own = [LOOP_OR_FUSED] if LOOP_OR_FUSED.startswith(ours + "=") else []
            self.trial(f"{program}_prototype_{change}", Trial(program, () if own else (ours,), own, limit))
        command = [*shlex.split(self.o.prototype), change, self.o.programs, program, "--steps", str(int(steps * limit / 20))]
        status, text = self.logged(f"prototype {program} {change}", command, min(4.5 * limit, self.left()))
        line = next((line for line in text.splitlines() if line.startswith(f"{change}")), None)
        self.results.put(kind="prototype", program=program, change=change, gpu=self.number, line=line,
                         **({} if line and " saves " in line else {"error": " / ".join(text.splitlines()[-3:])[-400:]}))

    def hand(self, program, changes):
        """ROUNDS processes without a change and as many with each, in rounds of one of each in random order."""
        rng, jobs = random.Random(1), []
        for number in range(ROUNDS):
            jobs += [(change, number) for change in rng.sample([None, *changes], 1 + len(changes))]
        if all(sum(row["kind"] == "hand" and row["program"] == program and row["change"] == change and "error" not in row
                   for row in self.results.earlier) >= ROUNDS - 1 for change in [None, *changes]):
            return  # no single process of another machine beside those that there are
        server = None
        try:
            for change, number in jobs:
                if self.results.has("hand", program=program, change=change, round=number):
                    continue
                if self.left() < 15:
                    return
                server = server or Server(self, program)
                answer = server.ask(change or "none", min(90, self.left()))
                self.results.put(kind="hand", program=program, change=change, round=number, gpu=self.number, **answer)
                if "error" in answer:
                    self.results.log(f"hand {program} {change}", server.stop())
                    server = None
        finally:
            if server:
                server.stop()

    # ---- jobs in turn ----

    def work(self, jobs):
        while True:
            try:
                what, run = jobs.get_nowait()
            except queue.Empty:
                return
            try:
                for job in what:
                    began = time.monotonic()
                    job(self)
                    print(f"GPU {self.number}: {run}: {time.monotonic() - began:.0f} s, {self.left():.0f} s are left", flush=True)
            except Exception as e:  # of one job: the others go on
                self.results.put(kind="fault", run=run, error=f"{type(e).__name__}: {e}")


def jobs_of(parts, only, changes, limit):
    """(functions of a machine, name) of all that is to run. What is compared is one of them, so that it runs on one GPU."""
    found = []
    for name, (trial, prototypes, more) in PROGRAMS.items():
        what = []
        trial = trial._replace(limit=limit or trial.limit)
        if changes is not None:
            trial = trial._replace(changes=tuple(c for c in trial.changes if c in changes), sets=[])
            prototypes = {c: steps for c, steps in prototypes.items() if OURS.get(c, c) in changes}
        if "trials" in parts and (trial.changes or trial.sets):
            what.append(lambda m, name=name, trial=trial: m.trial(name, trial))
        if "hand" in parts and trial.changes:
            what.append(lambda m, name=name, trial=trial: m.hand(name, trial.changes))
        if "trials" in parts:
            what += [lambda m, name=name, change=change, steps=steps: m.prototype(name, change, steps) for change, steps in prototypes.items()]
            if changes is None:
                what.append(lambda m, name=name, more=more: m.trial(f"{name}_controls", more))
        found.append((what, name))
    if "rest" in parts:
        found += [([lambda m, name=name, trial=trial: m.trial(name, trial)], name) for name, trial in REST.items()]
    return [(what, name) for what, name in found if what and (not only or name in only)]


def gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False, timeout=60).stdout
        return max(1, sum(line.startswith("GPU ") for line in listed.splitlines()))
    except (OSError, subprocess.TimeoutExpired):
        return 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--part", default="trials,hand,rest")
    p.add_argument("--only", help=f"of {', '.join([*PROGRAMS, *REST])}")
    p.add_argument("--changes", help="only these")
    p.add_argument("--limit", type=float, help="seconds for each change")
    p.add_argument("--seconds", type=float, default=480)
    p.add_argument("--hand-seconds", type=float, default=2, help="that the steps of a process are timed")
    p.add_argument("--tool", default=os.path.join(ROOT, "build", "release", "bin", "gpuprof-try"))
    p.add_argument("--prototype", help="a command that is run as: COMMAND CHANGE PROGRAM ARGUMENT...")
    p.add_argument("--gpus", type=int, default=0, help="how many are used (default: all)")
    p.add_argument("--resume", nargs="*", default=[], help="results.jsonl of earlier calls")
    p.add_argument("--programs", default=os.path.join(HERE, "programs.py"), help=argparse.SUPPRESS)
    o = p.parse_args()
    o.folder, o.end = os.path.abspath(o.folder), time.monotonic() + o.seconds
    os.makedirs(o.folder, exist_ok=True)
    o.scratch = tempfile.mkdtemp(prefix="trials-")
    results = Results(o.folder, [path for path in o.resume if os.path.exists(path)])
    listed = subprocess.run([o.tool, "--changes=list"], stdout=subprocess.PIPE, text=True, check=False)
    results.put(kind="table", text=listed.stdout)
    jobs = queue.Queue()
    for job in jobs_of(o.part.split(","), o.only and o.only.split(","), o.changes and o.changes.split(","), o.limit):
        jobs.put(job)
    machines = [Machine(n, o.gpus or gpus(), o, results) for n in range(o.gpus or gpus())]
    threads = [threading.Thread(target=m.work, args=(jobs,), daemon=True) for m in machines]
    signal.signal(signal.SIGTERM, lambda number, frame: setattr(o, "end", time.monotonic() + 15))
    for t in threads:
        t.start()
    for t in threads:
        while t.is_alive():
            t.join(1)
    shutil.rmtree(o.scratch, ignore_errors=True)
    sys.path.insert(0, HERE)
    import report
    report.show([*results.earlier, *results.rows])


if __name__ == "__main__":
    main()
