#!/usr/bin/env python3
"""Does a trace hold what the program that was traced says it did?

    check_counts.py [--bin DIR] [--expect FILE] TRACE      counts of TRACE against the `expect` lines in FILE
    check_counts.py [--bin DIR] --same TRACE OTHER         the same GPU work and ranges, to the nanosecond?
    check_counts.py [--bin DIR] --like TRACE OTHER         two runs of one program: names come equally often?
    check_counts.py [--bin DIR] --collectives TRACE RANK...  the same bytes by operation as in one trace of each rank?

A TRACE is our binary format, read through trace-convert, or Chrome trace JSON, plain or gzip, read as it is. A key of
the `expect` line may end in _least or _most; those that begin with nccl_ are calls and bytes by operation, and bytes by
operation and type, as trace-hta has them. Three sums are checked on every trace: the stacks of `trace2flame -f
folded` add up to the durations of the GPU events and, with `--weight count`, to their number; and nothing on the GPU
starts before the call that launched it. Prints one line; exit status 1 when something does not fit.
"""

import argparse
import bisect
import collections
import gzip
import json
import os
import subprocess
import sys

GPU = {"kernel": "kernels", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}


def ns(value):
    """A Chrome time, microseconds as a string or an int, in exact nanoseconds."""
    if isinstance(value, int):
        return value * 1000
    whole, _, part = value.partition(".")
    if "e" in part.lower() or "e" in whole.lower():
        return round(float(value) * 1000)
    sign = -1 if whole.startswith("-") else 1
    return int(whole) * 1000 + sign * int((part + "000")[:3])


def load(path, tools):
    """The events of a trace, numbers with a point left as text."""
    with open(path, "rb") as f:
        head = f.read(4)
    if head[:2] == b"\x1f\x8b":
        data = gzip.open(path).read()
    elif head[:1] in b"{[":
        data = open(path, "rb").read()
    else:
        command = [os.path.join(tools, "trace-convert"), "--to", "chrome", path]
        data = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    document = json.loads(data.decode("utf-8", "replace"), parse_float=str, strict=False)
    return document if isinstance(document, list) else document["traceEvents"]


def folded_sum(path, tools, weight):
    command = [os.path.join(tools, "trace2flame"), "-q", "-f", "folded", "--weight", weight, path]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode == 2 and b"nothing in it can be used" in run.stderr:
        return 0  # a program that died before the first flush
    run.check_returncode()
    lines = run.stdout.splitlines()
    return sum(int(line.rsplit(b" ", 1)[1]) for line in lines)


def is_range(event):
    category = event.get("cat", "")
    return event["ph"] in "Xb" and (category == "user_annotation" or "nvtx" in category.lower())


def unranged(kernels, calls, spans):
    """Kernels whose launch is inside no range of its thread."""
    merged = {}
    for thread, list_ in spans.items():
        merged[thread] = out = []
        for begin, end in sorted(list_):
            if out and begin <= out[-1][1]:
                out[-1][1] = max(out[-1][1], end)
            else:
                out.append([begin, end])
    count = 0
    for correlation in kernels:
        call = calls.get(correlation)
        blocks = merged.get(call[1], []) if call else []
        at = bisect.bisect_right(blocks, [call[0], 1 << 63]) - 1 if call else -1
        count += at < 0 or call[0] > blocks[at][1]
    return count


def measure(events):
    n = collections.Counter()
    calls, spans, kernels, gpu = {}, collections.defaultdict(list), [], []
    pids, devices, paths = set(), set(), set()
    by_node, whole = set(), set()  # correlation ids of graph launches: of those with nodes, and of those that are one row
    for e in events:
        phase, category, args = e.get("ph"), e.get("cat", ""), e.get("args") or {}
        n["faults"] += category == "unified_memory" and "Page Fault" in e["name"]
        n["pools"] += category == "memory_pool"
        n["events"] += category == "cuda_event"
        n["event_waits"] += category == "cuda_sync" and "wait_on_cuda_event_record_corr_id" in args
        if phase not in ("X", "b"):
            continue
        if category in GPU and phase == "X":
            key, start = GPU[category], ns(e["ts"])
            if "(Unified Memory" in e["name"]:
                key = "unified"  # no copy of the program's
            n[key] += 1
            n["gpu"] += 1
            n["gpu_ns"] += ns(e["dur"])
            if key != "kernels":
                n[key + "_bytes"] += int(args.get("bytes", 0))
            elif args.get("graph node id") or args.get("graph id"):
                n["graph_kernels"] += 1
                (whole if e["name"].startswith("CUDA graph ") else by_node).add(args.get("correlation"))
            if args.get("graph node id"):
                n["uncaptured_graph_work"] += "capture ranges" not in args
                paths.add(tuple(args.get("capture ranges", ())))
            gpu.append((args.get("correlation"), start))
            devices.add((e["pid"], args.get("device")))
            if key == "kernels":
                kernels.append(args.get("correlation"))
        elif category in ("cuda_runtime", "cuda_driver"):
            n["calls"] += 1
            n["graph_launches"] += "GraphLaunch" in e["name"]
            pids.add(e["pid"])
            if "correlation" in args:
                calls.setdefault(args["correlation"], (ns(e["ts"]), (e["pid"], e["tid"])))
        elif is_range(e):
            n["ranges"] += 1
            n["steps"] += e["name"].startswith("ProfilerStep#")
            if phase == "X":
                spans[(e["pid"], e["tid"])].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])))
    n["replays"], n["replays_twice"], n["whole_graphs"] = len(by_node | whole), len(by_node & whole), len(whole)
    n["processes"], n["devices"] = len(pids), len(devices)
    n["capture_paths"] = len(paths - {()})
    n["unlaunched"] = sum(c not in calls for c, _ in gpu)
    n["early"] = sum(c in calls and start < calls[c][0] for c, start in gpu)
    n["unranged_kernels"] = unranged(kernels, calls, spans)
    return n


def expectations(path):
    found = {}
    for line in open(path, errors="replace"):
        words = line.split()
        if words[:1] == ["expect"]:
            found.update((k, int(v)) for k, v in (w.split("=") for w in words[1:]))
    return found


def collectives(paths, tools):
    """Calls and bytes of collectives by operation, bytes also by operation and type."""
    command = [os.path.join(tools, "trace-hta"), "-q", "-f", "json", "--top", "0", *paths]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    n = collections.Counter()
    for c in json.loads(run.stdout)["collectives"]:
        name = "nccl_" + c["operation"]
        n[name + "_calls"] += c["calls"] or 0
        n[name + "_bytes"] += c["bytes"] or 0
        n[f"{name}_{c['type']}_bytes"] += c["bytes"] or 0
    return n


def compare_collectives(path, ranks, tools):
    """Of the operations that torch.profiler has every size of: those that are in no group."""
    ours, theirs = collectives([path], tools), collectives(ranks, tools)
    keys = [f"nccl_{op}_bytes" for op in ("all_gather", "reduce_scatter", "broadcast")]
    bad = [f"{key}: {ours[key]}, and {theirs[key]} by rank" for key in keys if not ours[key] or ours[key] != theirs[key]]
    return bad, " ".join(f"{key}={ours[key]}" for key in keys)


def misfits(found, expected):
    for key, want in expected.items():
        name, how = key, "=="
        for suffix, sign in (("_least", ">="), ("_most", "<=")):
            if key.endswith(suffix):
                name, how = key[: -len(suffix)], sign
        have = found[name]
        fits = have == want if how == "==" else have >= want if how == ">=" else have <= want
        if not fits:
            yield f"{name}: {have}, not {how} {want}"


def check(path, tools, expect):
    found = measure(load(path, tools))
    bad = []
    if expect:
        expected = expectations(expect)
        if any(key.startswith("nccl_") for key in expected):
            found += collectives([path], tools)
        bad += misfits(found, expected) if expected else ["the program printed no expect line"]
    for weight, want in (("gpu", found["gpu_ns"]), ("count", found["gpu"])):
        have = folded_sum(path, tools, weight)
        if have != want:
            bad.append(f"folded --weight {weight} adds up to {have}, not {want}")
    if found["early"]:
        bad.append(f"{found['early']} GPU events start before their launch")
    keys = ("kernels", "graph_kernels", "memcpy", "memset", "graph_launches", "ranges", "processes", "unlaunched")
    return bad, " ".join(f"{k}={found[k]}" for k in keys) + f" gpu_ms={found['gpu_ns'] / 1e6:.3f}"


def essence(events, names_only):
    """What must be equal in two traces of the same run, or (NAMES_ONLY) of two runs of the same program. For two runs:
    how many names of a category come how often, since one profiler demangles names and another does not."""
    kept = collections.Counter()
    for e in events:
        category, args = e.get("cat", ""), e.get("args") or {}
        if e.get("ph") != "X" or not (category in GPU or (category == "user_annotation" and not names_only)):
            continue
        item = (category, e["name"])
        if not names_only:
            item += (ns(e["ts"]), ns(e["dur"]), args.get("correlation"), str(args.get("stream")), str(args.get("bytes")))
        kept[item] += 1
    if names_only:
        return collections.Counter((category, f"{count} times") for (category, _), count in kept.items())
    return kept


def compare(a, b, tools, names_only):
    left, right = essence(load(a, tools), names_only), essence(load(b, tools), names_only)
    bad = []
    for label, one, other in ((a, left, right), (b, right, left)):
        only = one - other
        if only:
            item = next(iter(only))
            what = "names" if names_only else "events"
            bad.append(f"{sum(only.values())} {what} only in {os.path.basename(label)}, e.g. {' '.join(map(str, item))[:90]}")
    return bad, f"{sum(left.values())} {'names' if names_only else 'events'}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1], description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=os.environ.get("GPUPROF_BIN", ""))
    parser.add_argument("--expect")
    parser.add_argument("--same", action="store_true")
    parser.add_argument("--like", action="store_true")
    parser.add_argument("--collectives", action="store_true")
    parser.add_argument("trace", nargs="+")
    args = parser.parse_args()
    tools = args.bin or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release", "bin")
    try:
        if args.collectives:
            bad, summary = compare_collectives(args.trace[0], args.trace[1:], tools)
        elif args.same or args.like:
            bad, summary = compare(args.trace[0], args.trace[1], tools, args.like)
        else:
            bad, summary = check(args.trace[0], tools, args.expect)
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        bad, summary = [f"{type(error).__name__}: {error}"], ""
    print(f"{'BAD' if bad else 'ok '} {summary}" + "".join(f" | {b}" for b in bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
