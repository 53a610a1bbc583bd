#!/usr/bin/env python3
"""mcp_answers.py FOLDER...: answers about every trace and trial in the folders.

Each answer is within its tokens, and its command, run by a shell, prints what the answer shows, byte for byte."""
import collections
import concurrent.futures
import json
import subprocess
import sys

from mcp_client import Server, parts

BUDGETS = 500, 2000, 8000
SQL = ["SELECT label, count(*), sum(dur_ns) FROM kernels GROUP BY 1 ORDER BY 3 DESC, 1",
       "SELECT kind,\n       count(*) AS n, sum(dur_ns)\n  FROM events -- it's all of them\n GROUP BY 1",
       "SELECT cause, sum(dur_ns) FROM idle GROUP BY 1 ORDER BY 2 DESC, 1"]
wrong = []


def check(ok, *what):
    if not ok:
        wrong.append(what)
        print("wrong:", *what, file=sys.stderr)


def questions(traces, trials):
    """(tool, arguments, budgets): of each file a summary with all of them, and one other question with one of them."""
    for i, trace in enumerate(traces):
        yield "summary", {"traces": [trace]}, BUDGETS
        yield *[("advice", {"traces": [trace]}), ("query", {"traces": [trace], "sql": SQL[i // 4 % 3]}),
               ("picture", {"traces": [trace], "range": "0ms-1ms", "width": 480}), ("summary", {"traces": [trace], "table": "kernels", "top": 5})][i % 4], BUDGETS[i // 4 % 3:][:1]
        if i % 16 == 0:
            yield "diff", {"base": [trace], "current": [traces[i - 1]]}, BUDGETS[i // 16 % 3:][:1]
    for trial in trials:
        yield "trials", {"answer": [trial]}, BUDGETS
    yield "traces", {}, BUDGETS
    yield "tables", {}, BUDGETS
    yield "tables", {"name": "kernels"}, BUDGETS


def run(command):
    done = subprocess.run(["sh", "-c", command], capture_output=True)
    return done.stdout, done.returncode


def main(*folders):
    server = Server(*folders)
    server.open()
    listed = parts(server.call("traces", tokens=100000)["result"])[1].splitlines()
    traces, trials = ([line.split("\t")[0] for line in listed if line.endswith("\ttrials") == t] for t in (False, True))
    check(len(traces) > 200 and trials, "few files", len(traces), len(trials))
    waiting, answers, tools = collections.deque(), [], collections.Counter()

    def collect():
        tool, arguments, budget, id = waiting.popleft()
        answer = server.wait(id)
        size = len(json.dumps(answer["result"], ensure_ascii=False, separators=(",", ":")).encode())
        check(size <= 4 * budget, "over its budget", tool, arguments, budget, size)
        answers.append((tool, arguments, budget, answer["result"]))

    for tool, arguments, budgets in questions(traces, trials):
        for budget in budgets:
            waiting.append((tool, arguments, budget, server.send("tools/call", {"name": tool, "arguments": {**arguments, "tokens": budget}})))
            if len(waiting) > 16:
                collect()
    while waiting:
        collect()
    check(server.close() == 0, "exit status")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        commands = sorted({parts(a[3])[0] for a in answers})
        outputs = dict(zip(commands, pool.map(run, commands)))
    for tool, arguments, budget, result in answers:
        command, shown, notes = parts(result)
        out, status = outputs[command]
        check(result["isError"] == (status == 2), "error", command, status, notes)
        check(out.startswith(shown.encode()), "other output", command, budget)
        cut = len(shown.encode()) < len(out)
        check(cut == ("Left out: " in notes), "cut, and not said", command, budget)
        check(shown == "" or shown.endswith("\n") or not cut, "cut within a line", command, budget)
        tools[tool] += not result["isError"] and shown != ""
    check(len(answers) >= 200 and len(commands) >= 200, "few answers", len(answers), len(commands))
    check(all(tools[t] for t in ("summary", "advice", "query", "picture", "diff", "trials", "traces", "tables")), "a tool has no answer", tools)
    print(f"{len(answers)} answers, {len(commands)} commands, shown by tool: {dict(tools)}")
    sys.exit(bool(wrong))


main(*sys.argv[1:])
