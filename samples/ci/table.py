#!/usr/bin/env python3
"""What the gates find in recordings of recordings.py: the table of analyze/diff/README.md.

    table.py --bin DIR FOLDER       FOLDER has results.json and the traces, unpacked

Of equal programs, all ordered pairs of recordings: alarms of counts, of a gate of 5% of GPU time, and of step times. Of each change,
compared with every recording of the program without it: what counts name, at which line, and whether gates of 5% of a time see it. Its
share of the GPU time is by the medians over steps of what operations with other calls, grids or needs take, at equal speed of the rest.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import random
import statistics
import subprocess

WAITS = {"counts: syncs", "counts: blocking"}
TIMES, SPLITS = ["gpu_time:5%", "step:5%"], 200
SQL = """SELECT name, grid_x, grid_y, grid_z, block_x, registers, shared_bytes, local_bytes, dur_ns, step FROM kernels
    UNION ALL SELECT name, bytes, 0, 0, 0, 0, 0, 0, dur_ns, step FROM copies UNION ALL SELECT name, bytes, 0, 0, 0, 0, 0, 0, dur_ns, step FROM sets"""


class Folder:
    def __init__(self, path, bin):
        self.path, self.bin = path, bin
        with open(os.path.join(path, "results.json"), encoding="utf-8") as f:
            self.results = json.load(f)
        self.there = {name[:-6] for name in os.listdir(path) if name.endswith(".trace")}

    def run(self, tool, *words):
        p = subprocess.run([os.path.join(self.bin, tool), "-q", "-f", "json", *words], capture_output=True, text=True)
        if p.returncode not in (0, 1, 3):
            raise SystemExit(p.stderr)
        return json.loads(p.stdout)

    def trace(self, name):
        return os.path.join(self.path, name + ".trace")

    def diff(self, base, cur, gates, *more):
        gates = [word for g in gates for word in ("--gate", g)]
        return self.run("trace-diff", *gates, *more, "--base", *map(self.trace, base), "--current", *map(self.trace, cur))

    def plain(self, program):
        return sorted((n for n in self.there if n.startswith(program + ".r")), key=lambda n: int(n.rpartition(".r")[2]))

    def operations(self, names):
        """By what an operation is: calls per step, and the median over steps of its time."""
        steps = []
        for name in names:
            of = collections.defaultdict(lambda: collections.defaultdict(list))
            for *what, ns, step in self.run("trace-query", self.trace(name), SQL)["rows"]:
                if step is not None:
                    of[step][tuple(what)].append(ns)
            steps += of.values()
        every = {what for step in steps for what in step}
        return {what: (round(sum(len(s.get(what, [])) for s in steps) / len(steps), 2), statistics.median(sum(s.get(what, [])) for s in steps))
                for what in every}


def share(off, on):
    same = [what for what in off if what in on and off[what][0] == on[what][0]]
    speed = sum(off[what][1] for what in same) / sum(on[what][1] for what in same)
    changed = sum(ns * speed for what, (_, ns) in on.items() if what not in same) - sum(ns for what, (_, ns) in off.items() if what not in same)
    return 100 * changed / sum(ns for _, ns in off.values())


def broken(document):
    return [g for g in document["gates"] if g["broken"]]


def pairs(folder, pool, programs):
    """Recordings of the same program."""
    every = [pair for p in programs for pair in itertools.permutations(folder.plain(p), 2)]
    found, examples = collections.Counter(), []
    for pair, document in zip(every, pool.map(lambda pair: folder.diff(pair[:1], pair[1:], ["counts", *TIMES, "op:5%"]), every)):
        gates = {g["gate"].split(":")[0] for g in broken(document)}
        found.update(gates)
        found["undecided"] += any(g["undecided"] and g["gate"].startswith("gpu_time") for g in document["gates"])
        found["not comparable"] += not document["comparable"]
        if gates & {"counts", "gpu_time", "step"} or not document["comparable"]:
            examples.append((pair, [(g["gate"], g["why"]) for g in broken(document)][:4], document["reasons"][:1]))
    return len(every), found, examples


def splits(folder, pool, programs, rows, runs=5):
    """The recordings of a program, five against five others, with or without changes of at most 0.5% that make no call that waits: how often a
    gate of 0% of a time is broken."""
    draw, rates = random.Random(0), {}
    for p in programs:
        of = folder.plain(p) + [f"{p}.{r['change']}" for r in rows if r["program"] == p and r["share"] <= 0.5 and not WAITS & set(r["by"])]
        if len(of) < 2 * runs:
            continue
        drawn = [draw.sample(of, 2 * runs) for _ in range(SPLITS)]
        documents = list(pool.map(lambda d: folder.diff(d[:runs], d[runs:], ["step:0%", "gpu_time:0%"]), drawn))
        rates[p] = {g: sum(any(x["gate"].startswith(g) for x in broken(d)) for d in documents) for g in ("step", "gpu_time")}
    return rates


def changes(folder, pool):
    for c in folder.results["changes"]:
        name, plain = f"{c['program']}.{c['change']}", folder.plain(c["program"])
        if name not in folder.there or not plain:
            continue
        documents = list(pool.map(lambda base: folder.diff([base], [name], ["counts", *TIMES, "op:5%"]), plain))
        gates = [{g["gate"] for g in broken(d)} for d in documents]
        places = collections.Counter(g["place"] for d in documents for g in broken(d) if g["gate"].startswith("counts"))
        lines = [f"programs.py:{n} " for n in c["lines"]]
        off, on = folder.operations(plain), folder.operations([name])
        yield {**c, "share": share(off, on), "of": len(plain), "found": sum(any(g.startswith("counts") for g in of) for of in gates),
               "line": sum(any(line in g["why"] for g in broken(d) if g["gate"].startswith("counts") for line in lines) for d in documents),
               "places": places.most_common(3), "by": sorted(set.intersection(*[{g for g in of if g.startswith("counts")} for of in gates])),
               "gpu_time": sum("gpu_time:5%" in of for of in gates), "step": sum("step:5%" in of for of in gates), "op": sum("op:5%" in of for of in gates),
               "why": [g["why"] for g in broken(documents[0])][-1:]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--bin", default="build/release/bin")
    p.add_argument("-v", action="store_true")
    o = p.parse_args()
    folder = Folder(o.folder, o.bin)
    programs = list(dict.fromkeys(c["program"] for c in folder.results["changes"]))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        n, found, examples = pairs(folder, pool, programs)
        print(f"{sum(len(folder.plain(p)) for p in programs)} recordings of {len(programs)} programs, {n} ordered pairs: " +
              ", ".join(f"{what} {found[what]}" for what in ("counts", "gpu_time", "step", "op", "undecided", "not comparable")))
        for e in examples if o.v else examples[:5]:
            print("  ", e)
        rows = list(changes(folder, pool))
        for program, rates in splits(folder, pool, programs, rows).items():
            print(f"{program}: of {SPLITS} splits, step {rates['step']}, GPU time {rates['gpu_time']}")
    print("| program | change | GPU time | by counts of | found, at the line |\n|---|---|---:|---|---|")
    for r in rows:
        of = ", ".join(g.removeprefix("counts: ").replace("_", " ") for g in r["by"] if g not in ("counts: gpu_events", "counts: copy_bytes"))
        print(f"| {r['program']} | {r['text']} | {r['share']:+.2f}% | {of} | {r['found']}, {r['line']} of {r['of']} |")
        if o.v:
            print("     ", r["change"], r["places"], r["lines"], r["why"], r["gpu_time"], r["step"], r["op"])
    small = [r for r in rows if r["share"] <= 0.5]
    print(f"{len(rows)} changes, {len(small)} of at most 0.5%: {sum(r['found'] == r['of'] for r in small)} found by counts against every recording, "
          f"{sum(r['line'] == r['of'] for r in small)} at the line; of all {sum(r['found'] == r['of'] for r in rows)} and {sum(r['line'] == r['of'] for r in rows)}; "
          f"by 5% of GPU time {sum(r['gpu_time'] > 0 for r in rows)}, of the step {sum(r['step'] > 0 for r in rows)}")


if __name__ == "__main__":
    main()
