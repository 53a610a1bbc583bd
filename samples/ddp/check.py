#!/usr/bin/env python3
"""What the tools say of recordings of the programs in this folder, against what was planted: rows of name, verdict and text.

    check.py recordings PROGRAM FOLDER GPUS SLOW   FOLDER has PROGRAM.one.trace, PROGRAM.each.rankN.trace and
                                                   PROGRAM.kineto.rankN.json.gz, as far as they were recorded
    check.py live PROGRAM EVENTS LOG SLOW          EVENTS: what trace-fleet -f json wrote; LOG: what the program printed
    check.py cost LOG...                           LOG: cost_PROGRAM_VARIANT_ROUND.out
    check.py traffic TRACE                         sampled counters of links against the collectives
    check.py switches LOG GPUS                     the notes of data_parallel.py under gpuprof-try

GPUPROF_BIN is where the tools are."""

import collections
import glob
import json
import os
import re
import statistics
import subprocess
import sys

BIN = os.environ.get("GPUPROF_BIN") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release/bin")
# What the rank --slow spends its longer time on; None: no rank is slow.
PLANTED = {
    "even": None,
    "work": "compute",
    "sleep": "host",
    "load": "data_loading",
    "fsdp": None,
    "tensor": None,
    "pipeline": None,
    "experts": "compute",
}


def row(name, verdict, text):
    print(f"{name:<18} {verdict:<4} {text}", flush=True)


def ms(ns):
    return "-" if ns is None else f"{ns / 1e6:.2f} ms"


def answer(tool, *args):
    done = subprocess.run([os.path.join(BIN, tool), "-q", *args], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1, 3) or not done.stdout:
        raise RuntimeError(f"{tool}: status {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout


def report(files):
    return json.loads(answer("trace-hta", "-f", "json", "-n", "0", *files))


def close(name, d):
    """Sums of integers: the parts of a device's time, and the causes of its idle time."""
    wrong = []
    for k in d["devices"]:
        parts = k["compute_ns"] + k["exposed_communication_ns"] + k["exposed_memory_ns"] + k["idle_ns"]
        causes = sum(k["idle"].values())
        culprits = sum(c["idle_ns"] for c in k["idle_culprits"]) + k["idle_culprits_rest_ns"]
        if not parts == k["span_ns"] or not causes == k["idle_ns"] == culprits:
            wrong.append(f"rank {k['rank']}: {k['span_ns'] - parts} {k['idle_ns'] - causes} {k['idle_ns'] - culprits}")
    row(name, "BAD" if wrong else "ok", "sums: " + ("; ".join(wrong) or f"close to the ns on {len(d['devices'])} devices"))
    for k in d["devices"]:
        idle = sorted(((ns, cause) for cause, ns in k["idle"].items() if ns), reverse=True)[:4]
        row("", "", f"rank {k['rank']}: idle {ms(k['idle_ns'])}: " + ", ".join(f"{c[:-3]} {ms(ns)}" for ns, c in idle))


def communication(name, d, gpus):
    m = d["collective_matching"]
    unsized = sum(c["count"] for c in d["collectives"] if c["bytes"] is None)
    fine = m["matched"] and not m["unmatched"] and not m["mismatched"] and not unsized
    text = f"collectives: {m['seen']} seen, {m['matched']} matched, {m['unmatched']} alone, {m['mismatched']} unclear"
    row(name, "ok" if fine else "BAD", f"{text}, {unsized} of unknown size")
    offsets = [c for c in d["clock_offsets"] if c["rank"] is not None]
    far = max((abs(c["offset_ns"]) for c in offsets), default=None)
    said = ", ".join(f"{c['rank']}: {c['offset_ns']} +- {c['error_ns']}" for c in offsets)
    # All ranks have the clock of one machine, so what is found is the error.
    row(name, "ok" if len(offsets) == gpus and far < 100000 else "BAD", f"clocks, ns: {said or 'none'}")


def named(name, d, planted, slow):
    """The first finding and the first row of slow ranks; True where they are what was planted."""
    rows = d["fleet"]["slow"]
    first = d["findings"][0] if d["findings"] else {"id": "none", "rank": None, "text": ""}
    others = [f"{f['id']} of rank {f['rank']}" for f in d["findings"] if re.match("slow_(rank|kernel|node|gpu|in)|straggler", f["id"])]
    steps = ", ".join(f"{s['rank']}: {s['whole']} {s['source']} {ms(s['step_median_ns'])}" for s in d["steps"])
    row("", "", f"steps: {steps or 'none'}")
    if planted is None:
        row(name, "BAD" if rows or others else "ok", f"nobody is slow: {', '.join(others) or 'nobody named'}")
        for r in rows:
            row("", "", r["text"])
        return not rows and not others
    fine = rows and rows[0]["what"] == "rank" and rows[0]["rank"] == slow and rows[0]["cause"] == planted
    fine = bool(fine and first["id"] == "slow_rank" and first["rank"] == slow)
    row(name, "ok" if fine else "BAD", f"rank {slow} by {planted}: {first['id']} of rank {first['rank']}: {first['text'][:300]}")
    for r in rows:
        row("", "", f"{r['what']} {r['rank']}: {r['cause']}, {ms(r['step_ns'])} of {ms(r['median_ns'])}, by the cause {ms(r['cause_ns'])}, {r['pattern']}")
    return fine


def by_operation(d):
    sums = collections.Counter()
    for c in d["collectives"]:
        sums[c["operation"], "calls"] += c["count"]
        sums[c["operation"], "bytes"] += c["bytes"] or 0
    return sums


def same(name, reports):
    """What several recorders counted of the same steps."""
    (base_name, base), *rest = reports.items()
    kernels = lambda d: collections.Counter({(k["label"], k["kind"]): k["count"] for k in d["kernels"]})
    events = lambda d: {k["rank"]: k["gpu_events"] for k in d["devices"]}
    for other_name, other in rest:
        a, b = kernels(base), kernels(other)
        differ = [f"{k[0][:40]} {a[k]} {b[k]}" for k in sorted(set(a) | set(b)) if a[k] != b[k]]
        fine = events(base) == events(other) and not differ
        counts = f"{events(base)} and {events(other)}"
        row(name, "ok" if fine else "BAD", f"{base_name} and {other_name}: GPU events by rank {counts}, {len(differ)} names differ")
        for text in differ[:4]:
            row("", "", text)
        a, b = by_operation(base), by_operation(other)
        differ = [f"{op} {what} {a[op, what]} {b[op, what]}" for op, what in sorted(set(a) | set(b)) if a[op, what] != b[op, what]]
        text = "; ".join(differ[:4]) or ", ".join(f"{op} {what} {n}" for (op, what), n in sorted(a.items()))
        row(name, "BAD" if differ else "ok", f"{base_name} and {other_name}: collectives {text}")


def recordings(program, folder, gpus, slow):
    gpus, slow = int(gpus), int(slow)
    kinds = {"one": ".one.trace", "each": ".each.rank*.trace", "kineto": ".kineto.rank*.json.gz"}
    reports, right = {}, []
    for kind, ending in kinds.items():
        files = sorted(glob.glob(os.path.join(folder, program + ending)))
        name = f"{program} {kind}"
        try:
            if not files and kind == "kineto":
                continue
            if not files:
                raise RuntimeError("not recorded")
            reports[kind] = d = report(files)
        except (RuntimeError, ValueError, subprocess.TimeoutExpired) as failure:
            row(name, "BAD", str(failure))
            right.append(kind + " BAD")
            continue
        ranks = sorted(k["rank"] for k in d["devices"] if k["rank"] is not None)
        row(name, "ok" if ranks == list(range(gpus)) else "BAD", f"{len(files)} files, {sum(os.path.getsize(f) for f in files)} bytes, ranks {ranks}")
        right.append(kind + (" ok" if named(name, d, PLANTED[program], slow) else " BAD"))
        close(name, d)
        communication(name, d, gpus)
    if len(reports) > 1:
        same(program, reports)
    row(f"NAMED {program}", "BAD" if "BAD" in " ".join(right) else "ok", f"{PLANTED[program] or 'nobody'}: " + ", ".join(right))


def live(program, events_file, log, slow):
    slow, events = int(slow), []
    with open(events_file) as f:
        events = [json.loads(line) for line in f if line.startswith("{")]
    began = os.path.exists(log) and "begins_unix_ns=" in open(log).read()
    for e in events[:6]:
        row("", "", f"{e['time_ns'] / 1e9:.1f} s: {e['event']} rank {e['rank']}: {e['cause']}: {e['text'][:200]}")
    found = [e for e in events if e["event"] == "slow"]
    planted = PLANTED[program]
    if planted is None:
        row(f"live {program}", "BAD" if found or not began else "ok", f"{len(found)} slow, {len(events)} events")
        return
    fine = found and (found[0]["rank"], found[0]["cause"]) == (slow, planted) and found[0]["time_ns"] <= 15e9
    when = f"after {found[0]['time_ns'] / 1e9:.1f} s: rank {found[0]['rank']} by {found[0]['cause']}" if found else "nobody"
    row(f"live {program}", "ok" if fine else "BAD", f"rank {slow} by {planted}: {when}")


def cost(*logs):
    """Median over rounds of the slowest rank's median step, and what a variant adds in the same round."""
    steps = collections.defaultdict(dict)
    for log in logs:
        _, program, variant, round_ = os.path.basename(log).rsplit(".", 1)[0].split("_")
        with open(log) as f:
            ranks = {int(r): int(ns) for r, ns in re.findall(r"rank=(\d+) .* step_median_ns=(\d+)", f.read())}
        if ranks:
            steps[program, variant][int(round_)] = ranks
    for (program, variant), rounds in sorted(steps.items()):
        bare = steps.get((program, "bare"), {})
        medians = [max(ranks.values()) for ranks in rounds.values()]
        text = f"step {ms(statistics.median(medians))} of {len(medians)} ({ms(min(medians))} to {ms(max(medians))})"
        both = sorted(set(rounds) & set(bare)) if variant != "bare" else []
        if both:
            added = [100 * (max(rounds[i].values()) / max(bare[i].values()) - 1) for i in both]
            by_rank = [
                f"{statistics.median(100 * (rounds[i][r] / bare[i][r] - 1) for i in both if r in rounds[i] and r in bare[i]):+.1f}"
                for r in sorted(rounds[both[0]])
            ]
            text += f", adds {statistics.median(added):+.1f}% ({min(added):+.1f} to {max(added):+.1f}), by rank {' '.join(by_rank)}"
        row(f"cost {program}", "", f"{variant:<8} {text}")


def traffic(trace):
    """The sampled rates of the links over the steps, times the length of a step, against what the collectives moved. A ring
    of n ranks sends 2(n-1)/n of an all-reduced message from each, (n-1)/n of one gathered or scattered."""
    d = report([trace])
    share = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "all_to_all": 1}
    moved, ranks = 0, max(1, len(d["devices"]))
    steps = {s["rank"]: s for s in d["steps"]}
    whole = sum(s["whole"] for s in steps.values())
    for c in d["collectives"]:
        n = c["group_size"] or ranks
        moved += (c["bytes"] or 0) * share.get(c["operation"], 1) * (n - 1) / n
        row("", "", f"{c['operation']}: {c['count']} with {c['bytes']} bytes together, group of {c['group_size']}")
    per_step = moved / whole if whole else 0
    row("traffic", "", f"collectives: {per_step / 1e6:.2f} MB sent per step and rank; {whole} steps on {len(steps)} ranks")
    for s in d["sampled"]:
        if s["over"] != "steps" or s["mean"] is None:
            continue
        step = steps.get(s["rank"], {}).get("step_ns")
        amount = s["mean"] * step / 1e9 if step else None
        text = "-" if amount is None else f"{amount / 1e6:.2f} MB per step, {amount / per_step:.3f} of the collectives'" if per_step else f"{amount / 1e6:.2f} MB"
        row("", "", f"rank {s['rank']} GPU {s['device']} {s['metric']}: mean {s['mean']:.4g} {s['unit']} over {ms(s['sampled_ns'])}: {text}")


def switches(log, gpus):
    seen = collections.defaultdict(list)
    with open(log) as f:
        for rank, number, step, on in re.findall(r"switch rank=(\d+) number=(\d+) step=(\d+) on=(\d)", f.read()):
            seen[int(rank)].append((int(number), int(step), int(on)))
    shortest = min((len(s) for s in seen.values()), default=0)
    same_steps = len({tuple(s[:shortest]) for s in seen.values()}) == 1
    fine = len(seen) == int(gpus) and shortest >= 2 and same_steps
    row("switches", "ok" if fine else "BAD", f"{shortest} on each of {len(seen)} ranks, at the same steps: {same_steps}")
    for rank, list_ in sorted(seen.items()):
        row("", "", f"rank {rank}: {len(list_)}, the first {list_[:6]}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    {"recordings": recordings, "live": live, "cost": cost, "traffic": traffic, "switches": switches}[sys.argv[1]](*sys.argv[2:])
