#!/usr/bin/env python3
"""sample_stress.py BUILD [SAMPLES [PYTHON...]] -- a long test of gpuprof-collect --sample, not part of the ordinary run.

Programs whose stacks change as fast as they can are sampled at 1,000 Hz, kind by kind and interpreter by interpreter, until
SAMPLES samples (default: a million) were read in all. Each program must end with the status that it would have without us, the
trace must open, and at least 99.9% of all samples must be valid; the others must be counted. It fails if one of these does not
hold, or if stacks that stand still are not what their program reports. The column "impossible" is the share of time in stacks that no moment of the program had: of each function it is known who
calls it; of the kind "parked", whose stacks stand still, the share in stacks that differ from what the program itself reports in
a function, a file or a line. STRESS_KINDS has the names of the kinds to run, STRESS_SECONDS how long each runs.
"""
import ctypes
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

RATE, SECONDS, COPIES, LEAST_VALID_PCT = 1000, float(os.environ.get("STRESS_SECONDS", "5")), 3, 99.9

BORDER_NS = 5 * 1000000000 // RATE  # a row may go on so long after its last sample, or begin before its first

# ---- the programs ----

callers = {"leaf_a": {"caller_a"}, "leaf_b": {"caller_b"}, "yield_a": {"drain_a"}, "yield_b": {"drain_b"},
           "made_leaf": {"made_caller"}}


def leaf_a():
    return 1


def leaf_b():
    return 2


def caller_a():
    return leaf_a() + leaf_a()


def caller_b():
    return leaf_b() + leaf_b()


def flutter(end):
    while time.monotonic() < end:
        for _ in range(2000):
            caller_a()
            caller_b()


def yield_a(n):
    while n:
        n -= 1
        yield leaf_a


def yield_b(n):
    while n:
        n -= 1
        yield leaf_b


def drain_a():
    for _ in yield_a(50):
        pass


def drain_b():
    for _ in yield_b(50):
        pass


def generators(end):
    while time.monotonic() < end:
        for _ in range(200):
            drain_a()
            drain_b()


def code(end):
    n = 0
    while time.monotonic() < end:
        n += 1
        names = {}
        exec(compile("\n" * (n % 90) + "def made_leaf(x):\n    return x + 1\ndef made_caller(n):\n    for i in range(n):\n"
                     "        made_leaf(i)\n", "made%d.py" % (n % 40), "exec"), names)
        names["made_caller"](300)


def deep(n):
    return n and 1 + deep(n - 1)


def recursion(end):
    while time.monotonic() < end:
        deep(900)


def deeper(end):
    sys.setrecursionlimit(20000)
    threading.stack_size(256 << 20)
    t = threading.Thread(target=recurse_deeper, args=(end,))
    t.start()
    t.join()


def recurse_deeper(end):
    while time.monotonic() < end:
        deep(3500)


def threads(end):
    while time.monotonic() < end:
        all_of_them = [threading.Thread(target=flutter, args=(min(end, time.monotonic() + 0.01),)) for _ in range(4)]
        for t in all_of_them:
            t.start()
        for t in all_of_them:
            t.join()


def exits(end):
    while time.monotonic() < end:
        subprocess.run([sys.executable, "-S", "-E", "-c", "import sys\nfor i in range(20000): divmod(i, 7)\nsys.exit(3)"],
                       check=False)


def forks(end):
    while time.monotonic() < end:
        child = os.fork()
        if not child:
            flutter(min(end, time.monotonic() + 0.03))
            os._exit(0)
        flutter(min(end, time.monotonic() + 0.02))
        os.waitpid(child, 0)


def execs(end):
    flutter(min(end, time.monotonic() + 0.1))
    left = end - time.monotonic()
    if left > 0.1:
        os.execv(sys.executable, [sys.executable, __file__, "--run", "execs", str(left), "1"])


def garbage(end):
    while time.monotonic() < end:
        ring = []
        for _ in range(2000):
            ring = [ring, {}, caller_a()]
            ring[1]["self"] = ring


def interpreters(end):
    """Other interpreters in threads of this one; before 3.12 they share its lock."""
    try:
        import _interpreters as made
    except ImportError:
        import _xxsubinterpreters as made
    text = ("import time\ndef leaf_a(): return 1\ndef caller_a(): return leaf_a() + leaf_a()\n"
            "end = time.monotonic() + 0.2\nwhile time.monotonic() < end:\n    for i in range(2000): caller_a()\n")

    def one():
        while time.monotonic() < end:
            i = made.create()
            made.run_string(i, text)
            made.destroy(i)

    # 3.9 to 3.11 crash by themselves where several threads run interpreters, sampled or not
    if sys.version_info < (3, 12):
        return one()
    all_of_them = [threading.Thread(target=one) for _ in range(3)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    return None


# ---- stacks that stand still: the program itself says what they are ----


def by_recursion(park, depth=300):
    return by_recursion(park, depth - 1) if depth else park()


def by_generators(park):
    def inner():
        yield park()

    def outer():
        yield from inner()

    return [x for x in outer()]


def by_sorting(park):
    return sorted([2, 1], key=lambda x: park() if x == 1 else x)


def by_matching(park):
    return re.sub("b", lambda match: park() or "", "abc")


def by_property(park):
    class Thing:
        @property
        def value(self):
            return park()

        def __enter__(self):
            return self.value

        def __exit__(self, *what):
            return None

    with Thing() as value:
        return value


def by_coroutine(park):
    async def inner():
        return park()

    async def outer():
        return await inner()

    try:
        outer().send(None)
    except StopIteration:
        pass


def by_callback(park):
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    done = []
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare(lambda a, b: done.append(done or park() or 1) or 0))


def by_made_code(park):
    long = "long_" * 300
    names = {"park": park}
    exec(compile("def %s():\n    return park()\ndef größe():\n    return %s()\ndef 大きさ():\n    return größe()\n" % (long, long),
                 "made.py", "exec"), names)
    return names["大きさ"]()


def by_many_lines(park):
    names = {"park": park}
    exec(compile("def many_lines():\n    n = 0\n" + "    n += 1\n" * 6000 + "    return park()\n", "lines.py", "exec"), names)
    return names["many_lines"]()


def by_class(park):
    class Made:
        value = [park() for _ in range(1)]

    return Made


PARKED = (by_recursion, by_generators, by_sorting, by_matching, by_property, by_coroutine, by_callback, by_made_code, by_many_lines,
          by_class)


def frames_of(frame):
    """Function, file and line, outermost first."""
    found = []
    while frame:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found[::-1]


def parked(end):
    """Threads stand still while the program writes down what they do: TRUTH is the file."""
    go, at = threading.Event(), {}

    def run_one(how):
        at[how] = threading.get_native_id()
        how(lambda: go.wait() * 0)

    all_of_them = [threading.Thread(target=run_one, args=(how,), daemon=True) for how in PARKED]
    for t in all_of_them:
        t.start()

    def look():
        frames = sys._current_frames()
        return {str(at.get(how)): frames_of(frames.get(t.ident)) for how, t in zip(PARKED, all_of_them)}

    while True:  # a thread that is where it was has not moved: it only gets to the event
        truth, begin = look(), time.monotonic_ns()
        time.sleep(max(end - time.monotonic(), 0.3))
        finish = time.monotonic_ns()
        if look() == truth and len(at) == len(PARKED):
            break
    with open(os.environ["STRESS_TRUTH"] + ".%d" % os.getpid(), "w", encoding="utf-8") as f:
        json.dump({"stacks": truth, "qualified": sys.version_info >= (3, 11), "begin": begin, "end": finish}, f)
    go.set()
    for t in all_of_them:
        t.join()


KINDS = (parked, flutter, generators, code, recursion, deeper, threads, exits, forks, execs, garbage, interpreters)

# ---- sampling them ----


def name_of(function, file, line):
    """As rows made of samples are named."""
    for place in ("/site-packages/", "/dist-packages/"):
        file = file.rpartition(place)[2]
    library = re.search("/lib/python3[.][^/]*/(.*)", file)
    file = library.group(1) if library else file.rpartition("/")[2]
    if len(function) > 1000:
        function = function[:1000] + "..."
    return "%s(%d): %s" % (file, line, function)


def without_line(name):
    return re.sub("[(][0-9]+[)]: ", ": ", name)


def unlike_truth(rows, folder):
    """Of stacks that stand still: the share of their time in which the trace says something else than the program, in percent."""
    wrong = total = whole = 0
    for path in glob.glob(os.path.join(folder, "truth.*")):
        with open(path, encoding="utf-8") as f:
            truth = json.load(f)
        os.unlink(path)
        truth["begin"] += BORDER_NS
        truth["end"] -= BORDER_NS
        for tid, stack in truth["stacks"].items():
            names = [name_of(*frame) for frame in stack]
            if not truth["qualified"]:  # functions of one name in a file are one, at one line
                names = [without_line(name) for name in names]
            mine = [r for r in rows if r["tid"] == int(tid) and r["end"] > truth["begin"] and r["begin"] < truth["end"]]
            borders = sorted({max(r["begin"], truth["begin"]) for r in mine} | {min(r["end"], truth["end"]) for r in mine})
            if not mine:
                sys.exit("thread %s has no samples" % tid)
            for begin, end in zip(borders, borders[1:]):
                found = [r["name"] for r in mine if r["begin"] <= begin and r["end"] >= end]
                found = found if truth["qualified"] else [without_line(name) for name in found]
                if not found:  # the sampler was late
                    continue
                total += end - begin
                functions = [name for name in found if ": " in name]  # without what the thread waits for
                whole += (end - begin) * (functions == names)
                if functions == names[:len(functions)]:  # partial samples lack inner frames
                    continue
                wrong += end - begin
                if os.environ.get("STRESS_SHOW"):
                    print("\n".join("%-60s %s" % pair for pair in zip(names, found) if pair[0] != pair[1]))
    return 100 * wrong / total if 10 * whole > 9 * total else 100.0


def sampled_rows(path, build):
    trace = json.loads(subprocess.run([build + "/bin/trace-convert", "-q", "--to", "chrome", path], stdout=subprocess.PIPE,
                                      check=True).stdout)
    rows = [{"tid": e["tid"], "name": e["name"], "begin": round(e["ts"] * 1000), "end": round((e["ts"] + e["dur"]) * 1000)}
            for e in trace["traceEvents"] if e.get("cat") == "python_sampled"]
    return trace, sorted(rows, key=lambda r: (r["begin"], -r["end"]))


def impossible(path, build):
    """Stacks that no moment of the program had: how many samples of how many, from rows of Python functions."""
    text = subprocess.run([build + "/bin/trace2flame", "-q", "--weight", "cpu", "-f", "folded", path],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    wrong = total = 0
    for line in text.splitlines():
        stack, _, ns = line.rpartition(" ")
        frames = [f.rpartition(": ")[2] for f in stack.split(";") if ": " in f]
        total += int(ns)
        if any(f in callers and before not in callers[f] for before, f in zip(frames, frames[1:])):
            wrong += int(ns)
    return 100 * wrong / total if total else 0.0


def sample(build, python, kind, folder):
    """What the trace says that it holds, and the share of time in stacks that cannot be, in percent."""
    path = os.path.join(folder, "stress.trace")
    environment = dict(os.environ, STRESS_TRUTH=os.path.join(folder, "truth"))
    end = subprocess.run([build + "/bin/gpuprof-collect", "--sample=%d" % RATE, "-q", "-o", path, python, __file__, "--run", kind,
                          str(SECONDS)], env=environment, stderr=subprocess.PIPE, check=False)
    if end.returncode:
        sys.exit("%s: %s: status %d: %s" % (python, kind, end.returncode, end.stderr.decode()))
    meta, rows = sampled_rows(path, build)
    return {k: int(meta.get(k, 0)) for k in ("samples", "samples_partial", "samples_torn", "samples_late", "sampler_cpu_ns")}, \
        unlike_truth(rows, folder) if kind == "parked" else impossible(path, build)


def main():
    build = sys.argv[1]
    most = int(float(sys.argv[2])) if len(sys.argv) > 2 else 1000000
    pythons = sys.argv[3:] or [sys.executable]
    kinds = os.environ.get("STRESS_KINDS", " ".join(k.__name__ for k in KINDS)).split()
    every = torn = 0
    unlike = False
    print("%-32s %-12s %9s %8s %6s %8s %10s %6s" % ("interpreter", "kind", "samples", "partial", "torn", "valid %", "impossible",
                                                    "us"))
    with tempfile.TemporaryDirectory() as folder:
        while every < most:
            for python in pythons:
                for kind in kinds:
                    got, wrong_pct = sample(build, python, kind, folder)
                    n, bad = got["samples"], got["samples_torn"]
                    every += n
                    torn += bad
                    unlike |= kind == "parked" and wrong_pct > 0
                    print("%-32s %-12s %9d %8d %6d %8.3f %9.3f%% %6.1f" % (
                        python[-32:], kind, n, got["samples_partial"], bad, 100 * n / max(n + bad, 1), wrong_pct,
                        got["sampler_cpu_ns"] / 1e3 / max(n, 1)), flush=True)
            print("%d samples, %.4f%% of them valid" % (every + torn, 100 * every / max(every + torn, 1)), flush=True)
    if unlike:
        sys.exit("stacks that stand still are not what their program reports")
    if 100 * every < LEAST_VALID_PCT * (every + torn):
        sys.exit("fewer than %.1f%% are valid" % LEAST_VALID_PCT)


def run(kind, seconds, copies=COPIES):
    """The program, in several processes, each of which must end with 0."""
    children = []
    for _ in range(int(copies) - 1):
        children.append(os.fork())
        if not children[-1]:
            copies = 0
            break
    dict((k.__name__, k) for k in KINDS)[kind](time.monotonic() + float(seconds))
    if copies and any(os.waitpid(c, 0)[1] for c in children):
        sys.exit("a copy failed")


if len(sys.argv) > 1 and sys.argv[1] == "--run":
    run(*sys.argv[2:])
else:
    main()
