#!/usr/bin/env python3
"""planted.py FOLDER: logs of 40 jobs that hang, as PyTorch's flight recorder pickles them, 10 of each kind: a rank that did not join,
one that passed another size, one that called another collective, one that left no log. Runs trace-hta on each and checks the
sentence. Prints how many were named right, and ends with 1 unless all were."""
import json
import os
import pickle
import random
import subprocess
import sys

OPS = [("all_reduce", "[[{0}, 4]]"), ("broadcast", "[[{0}]]"), ("_all_gather_base", "[[{0}, 2]]"), ("_reduce_scatter_base", "[[{0}]]")]


def entry(seq, op, size, state, at, group="0"):
    sizes = {"all_reduce": [[size, 4]], "broadcast": [[size]]}.get(op, [[size, 2]])
    return {"frames": [{"name": "step", "filename": "train.py", "line": 7}], "record_id": seq, "pg_id": 0,
            "process_group": (group, "default_pg" if group == "0" else "undefined"), "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": seq,
            "profiling_name": "nccl:" + op, "time_created_ns": at, "input_sizes": sizes, "input_dtypes": ["Float"],
            "output_sizes": sizes, "output_dtypes": ["Float"], "state": state, "retired": state == "completed",
            "timeout_ms": 600000, "is_p2p": False}


def job(rand, kind, folder, buffer=30):
    world, last = rand.choice([2, 4, 8, 16]), rand.randrange(40, 90)
    if kind in ("other_op", "other_size"):
        world = max(world, 4)
    odd = rand.randrange(world)
    sizes = [rand.randrange(1, 99) * 8 for _ in range(last + 2)]
    ops = [rand.choice(OPS)[0] for _ in range(last + 2)]
    for rank in range(world):
        entries, out = [], rank == odd
        for seq in range(1, last + 1):
            op, size, state = ops[seq], sizes[seq], "completed"
            if seq == last:
                state = "started" if rand.random() < .5 else "scheduled"
                if out and kind == "missing":
                    continue
                if out and kind == "other_op":
                    op = next(o for o, _ in OPS if o != op)
                if out and kind == "other_size":
                    size += 1
            entries.append(entry(seq, op, size, state, 10**18 + seq * 10**6 + rank))
        if out and kind == "no_log":
            continue
        log = {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}},
               "pg_status": {"0": {"last_enqueued_collective": last, "last_started_collective": last, "last_completed_collective": last - 1}},
               "entries": entries[-buffer:]}
        with open(os.path.join(folder, "trace_%d" % rank), "wb") as f:
            pickle.dump(log, f, protocol=2)
    return {"cause": kind, "odd": odd, "seq": last, "op": ops[last], "world": world}


def main():
    rand, right, all_jobs = random.Random(41), 0, 40
    for i in range(all_jobs):
        kind = ["missing", "other_size", "other_op", "no_log"][i % 4]
        folder = os.path.join(sys.argv[1], str(i))
        os.mkdir(folder)
        want = job(rand, kind, folder)
        logs = [os.path.join(folder, f) for f in sorted(os.listdir(folder))]
        answer = json.loads(subprocess.run(["trace-hta", "-f", "json", *logs], capture_output=True, check=True).stdout)
        named = "rank %d " % want["odd"] in answer["sentence"].split(";")[0]
        roles = {r["rank"] for r in answer["ranks"] if r["role"] == kind}
        good = answer["cause"] == kind and answer["seq"] == want["seq"] and named and roles == {want["odd"]}
        good = good and "hangs in" in answer["sentence"] and len(answer["ranks"]) == want["world"]
        right += good
        if not good:
            print("job %d: wanted %s\n  %s" % (i, want, answer["sentence"]))
    print("%d of %d named right" % (right, all_jobs))
    return right < all_jobs


sys.exit(main())
