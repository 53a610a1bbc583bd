#!/usr/bin/env python3
"""Times and records the programs of programs.py, or others, on the GPUs of this machine, and asks trace-suggest what to change in each.

usage: record.py OUT [--programs programs|second|third|fourth|fifth|sixth|seventh|eighth] [--bin DIR] [--only NAME,...] [--gpus N|INDEX,INDEX...]
                 [--seconds S] [--limit S] [--once] [--again]

OUT gets results.json, table.txt, and the recordings of all programs in recordings-N.tar of at most 15 MiB: NAME.trace by
gpuprof-collect, which times the steps before those that it records, and NAME.json.gz by torch.profiler, and of a program of JAX
NAME.xplane.pb.gz by jax.profiler. Every program runs on a GPU and on cores of its own, each run in a process
of its own with a limit of time: what fails is named with the end of its standard error and costs the others nothing. First each program
is recorded by gpuprof-collect and timed with and without the fix, then each is timed again, then recorded by the others. Ended by a
signal or after --seconds, it keeps what it has. --again only asks trace-suggest again about what is in OUT.
"""

import argparse
import glob
import importlib
import json
import os
import queue
import re
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CORES, PACK = 16, 15 << 20
NO_TIME = "no time was left"
RECORDERS = {"gpuprof": ".trace", "torch": ".json.gz", "jax": ".xplane.pb.gz"}


class Runner:
    def __init__(self, o, folder, known):
        """FOLDER: for the recordings, until they are packed; KNOWN: the programs."""
        self.o, self.folder, self.known, self.end = o, folder, known, time.monotonic() + o.seconds
        self.lock, self.running, self.results = threading.RLock(), set(), {}

    def stop(self, *_):
        """No new process; those that run end now."""
        with self.lock:
            self.end = 0
            for child in self.running:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def process(self, gpu, words):
        """Run WORDS on a GPU and its cores: (exit status, standard output, end of standard error, seconds)."""
        began = time.monotonic()
        cpus = sorted(os.sched_getaffinity(0))
        share = max(1, min(CORES, len(cpus) // max(self.o.of, len(self.o.gpus))))
        first = gpu * share % len(cpus)
        words = ["taskset", "-c", ",".join(str(cpu) for cpu in cpus[first : first + share]), *words]
        with self.lock:
            if self.end - began < 5:
                return None, "", NO_TIME, 0.0
            child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                                     env={**os.environ, "CUDA_VISIBLE_DEVICES": str(gpu)})  # fmt: skip
            self.running.add(child)
        try:
            out, err = child.communicate(timeout=min(self.o.limit, self.end - began))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            err += f"\nended after {time.monotonic() - began:.0f} s\n"
        with self.lock:
            self.running.discard(child)
        return child.returncode, out, err[-4000:], time.monotonic() - began

    def step(self, name, what, gpu, words):
        """A run of a program, whose line step_ms= is kept."""
        status, out, err, took = self.process(gpu, words)
        found, given = re.search(r"step_ms=([0-9.]+)", out), re.search(r"result=(\[.*\])", out)
        with self.lock:
            r = self.results[name]
            r["seconds"][what] = r["seconds"].get(what, 0) + round(took, 1)
            if found and not status:
                r[what].append(float(found[1]))
                r["results"].update({what: json.loads(given[1])} if given else {})
            else:
                r["failed"].append({"run": what, "status": status, "error": err})
            if found and err.strip() and "error" not in r:
                r["said"] = err[-600:]
            self.keep()

    def keep(self):
        path = os.path.join(self.o.out, "results.json")
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.results, f, indent=1)
        os.replace(path + ".new", path)

    def words(self, name):
        return [sys.executable, os.path.join(HERE, self.o.programs + ".py"), name]

    def recording(self, name, recorder):
        return os.path.join(self.folder, name + RECORDERS[recorder])

    def first(self, name, gpu):
        """A recording by gpuprof-collect, and the first times."""
        collect = [os.path.join(self.o.bin, "gpuprof-collect"), "-q", "--start", "range:step 60", "--stop", "range:step 65",
                   "-o", self.recording(name, "gpuprof"), "--"]  # fmt: skip
        self.step(name, "gpuprof", gpu, [*collect, *self.words(name), "--window"])
        self.times(name, gpu)
        self.ask(name, "gpuprof", gpu)

    def times(self, name, gpu):
        self.step(name, "bare", gpu, self.words(name))
        self.step(name, "fixed", gpu, [*self.words(name), "--fixed"])

    def others(self, name, gpu):
        """Recordings by the profilers of the program's libraries."""
        for recorder in ("torch", "jax") if self.known[name]["library"] == "jax" else ("torch",):
            self.step(name, recorder, gpu, [*self.words(name), "--" + recorder, self.recording(name, recorder)])
            self.ask(name, recorder, gpu)

    def ask(self, name, recorder, gpu):
        path = self.recording(name, recorder)
        if not os.path.exists(path):
            return
        status, out, err, _ = self.process(gpu, [os.path.join(self.o.bin, "trace-suggest"), "-q", "-f", "json", path])
        try:
            answer = json.loads(out)
        except ValueError:
            answer = {"error": f"exit status {status}: {err}"}
        with self.lock:
            self.results[name]["advice"][recorder] = answer
            self.keep()

    def all(self, names):
        waiting = queue.SimpleQueue()
        for name in names:
            self.results[name] = {"bare": [], "fixed": [], **{r: [] for r in RECORDERS}, "failed": [], "seconds": {}, "advice": {}, "results": {}}
        for part in (self.first, self.others) if self.o.once else (self.first, self.times, self.others):
            for name in names:
                waiting.put((part, name))

        def work(gpu):
            while True:
                try:
                    part, name = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    part(name, gpu)
                except Exception as e:  # of this runner: the other programs go on
                    with self.lock:
                        self.results[name]["failed"].append({"run": "record.py", "status": None, "error": repr(e)})
                print(f"{name}: {part.__name__} done after {self.o.seconds - (self.end - time.monotonic()):.0f} s", flush=True)

        threads = [threading.Thread(target=work, args=(gpu,)) for gpu in self.o.gpus]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def ms(ns):
    return "-" if ns is None else f"{ns / 1e6:.3g}"


def inside(saving, s):
    """Where a measured SAVING of ms lies in the range of a suggestion."""
    low, high = s["saving_low_ns"] / 1e6, s["saving_high_ns"] / 1e6
    return "inside" if low <= saving <= high else "below" if saving < low else "above"


def advice(said, rules, bare, saving):
    """Lines about what trace-suggest said, beside what was measured: ms of a step and of the fix's SAVING, or None."""
    if "error" in said:
        return [said["error"][:300]]
    step = said.get("step") or {}
    lines = [f"step {ms(step.get('step_ns'))} ms, unrecorded {ms(step.get('unprofiled_ns'))} ({ms(step.get('unprofiled_low_ns'))} to "
             f"{ms(step.get('unprofiled_high_ns'))}, {step.get('unprofiled_source')})"]  # fmt: skip
    if bare and step.get("unprofiled_ns"):
        lines[0] += f": {(step['unprofiled_ns'] / 1e6 / bare - 1) * 100:+.0f}%"
    for i, s in enumerate(said["suggestions"][:4]):
        mark, where = ("*", f", measured {saving:.3g} is {inside(saving, s)}") if s["rule"] in rules and saving else (" ", "")
        lines.append(f"{mark}{i + 1}. {s['rule']:<16} {ms(s['saving_ns']):>7} ({ms(s['saving_low_ns'])} to {ms(s['saving_high_ns'])}{where}) "
                     f"{s['priority']}: {s['action'][:90]} | {s['place'] or ''}")  # fmt: skip
    return lines if said["suggestions"] else [*lines, " no suggestion"]


def same(results):
    """Did the first steps with and without the fix give the same numbers, but for rounding?"""
    a, b = results.get("bare"), results.get("fixed")
    if not a or not b:
        return "not compared"
    scale = max(1e-6, *(abs(x) for x in a))
    worst = max(abs(x - y) for x, y in zip(a, b)) / scale if len(a) == len(b) else float("inf")
    return f"{'equal' if worst < 0.02 else 'DIFFERENT'} ({worst:.1g})"


def paces(results):
    """Lines about the step without the recorder: what was said, the program's own clock before it was recorded, and other processes."""
    out, right, own_right = [], 0, 0
    for name, r in results.items():
        step = (r["advice"].get("gpuprof") or {}).get("step") or {}
        if not r["bare"] or not step.get("unprofiled_ns"):
            out.append(f"{name:<16} no recording, or no time without it")
            continue
        said, truth = step["unprofiled_ns"] / 1e6, statistics.mean(r["bare"])
        off = said / truth - 1
        own = (r["gpuprof"] or [0])[0]
        right += abs(off) <= 0.05
        own_right += abs(said - own) <= 0.05 * own
        out.append(f"{name:<16} said {said:8.3f} ({step.get('unprofiled_source')}), own clock {own:8.3f}, other processes "
                   f"{', '.join(f'{ms_:.3f}' for ms_ in r['bare'])}: {off * 100:+.1f}% of their mean")  # fmt: skip
    return [*out, f"the step without the recorder within 5% of the program's own clock: {own_right}, of other processes: {right} of {len(results)}"]


def table(results, programs):
    out, first = [], {recorder: 0 for recorder in RECORDERS}
    for name, r in results.items():
        rules = programs[name]["rules"]
        bare, fixed = (statistics.mean(r[side]) if r[side] else None for side in ("bare", "fixed"))
        saving = bare - fixed if bare and fixed else None
        saves = f", saves {saving:.3f}" if saving else ""
        out.append(f"{name} ({programs[name]['library']}): {r['bare']} -> {r['fixed']} ms{saves}, results {same(r['results'])}; "
                   f"fix: {programs[name]['fix']} ({', '.join(rules) or 'no rule'})")  # fmt: skip
        for recorder in RECORDERS:
            answer = r["advice"].get(recorder)
            if recorder != "jax" or r.get("jax"):
                out.append(f"  {recorder}: recorded {r[recorder]}")
            if answer:
                out += ["    " + line for line in advice(answer, rules, bare, saving)]
                said = answer.get("suggestions") or [{"rule": None}]
                first[recorder] += said[0]["rule"] in rules
        out += [f"  FAILED {f['run']}, exit status {f['status']}: {f['error'].strip()[-700:]}" for f in r["failed"] if f["error"] != NO_TIME]
        missing = [f["run"] for f in r["failed"] if f["error"] == NO_TIME]
        out += [f"  no time was left for {', '.join(missing)}"] if missing else []
    out += paces(results)
    out.append("the known fix first: " + ", ".join(f"{recorder} {n} of {len(programs)}" for recorder, n in first.items() if recorder != "jax"))
    return "\n".join(out) + "\n"


def pack(folder, out):
    """The recordings of FOLDER in few archives of at most PACK bytes; one that is larger is left out and named."""
    archives, left = [], 0
    for name in sorted(os.listdir(folder)):
        need = (os.path.getsize(os.path.join(folder, name)) + 1023) // 512 * 512
        if need > PACK - 10240:
            print(f"{name}: {need} bytes, left out of the archives")
            continue
        if need > left:
            archives.append(os.path.join(out, f"recordings-{len(archives)}.tar"))
            left = PACK - 10240
        with tarfile.open(archives[-1], "a") as archive:
            archive.add(os.path.join(folder, name), name)
        left -= need
    return archives


def gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
        return sum(line.startswith("GPU ") for line in listed.splitlines())
    except (OSError, subprocess.CalledProcessError):
        return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--programs", default="programs", help="the module that has them: programs, second, third, fourth, fifth, sixth, seventh or eighth")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--only", help="programs, all by default")
    parser.add_argument("--gpus", default="0", help="how many to use, or which, as a list: 1,2; all by default")
    parser.add_argument("--seconds", type=float, default=540, help="for everything")
    parser.add_argument("--limit", type=float, default=90, help="for one process")
    parser.add_argument("--once", action="store_true", help="time each program in one process of each kind, not in two")
    parser.add_argument("--again", action="store_true", help="only ask trace-suggest about the recordings in OUT")
    o = parser.parse_args()
    o.of = gpus()
    o.gpus = [int(gpu) for gpu in o.gpus.rstrip(",").split(",")] if "," in o.gpus else list(range(int(o.gpus) or o.of))
    sys.path.insert(0, HERE)
    importlib.import_module(o.programs)
    known = {name: {"library": p.library, "fix": p.fix, "rules": p.rules} for name, p in importlib.import_module("running").PROGRAMS.items()}
    names = o.only.split(",") if o.only else list(known)
    for name in names:
        if name not in known:
            parser.error(f"{name}: no such program")
    os.makedirs(o.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        answer(o, folder, names, known)


def answer(o, folder, names, known):
    runner = Runner(o, folder, known)
    signal.signal(signal.SIGTERM, runner.stop)
    signal.signal(signal.SIGINT, runner.stop)
    if o.again:
        for path in glob.glob(os.path.join(o.out, "recordings-*.tar")):
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
        with open(os.path.join(o.out, "results.json"), encoding="utf-8") as f:
            runner.results = json.load(f)
        for name in runner.results:
            for recorder in RECORDERS:
                runner.ask(name, recorder, 0)
    else:
        runner.all(names)
    ordered = {name: runner.results[name] for name in known if name in runner.results}
    text = table(ordered, known)
    with open(os.path.join(o.out, "table.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    print(text, end="")
    if not o.again:
        for path in pack(folder, o.out):
            print(path, os.path.getsize(path))


if __name__ == "__main__":
    main()
