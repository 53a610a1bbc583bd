"""The Python module on a GPU that is not there. Each case that needs a fresh process runs a program of its own."""

import dataclasses
import json
import os
import subprocess
import sys
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PURE = os.environ.get("GPUTRACE_PURE") == "1"


# Warnings that are not about what the trace holds: the clock of the mock runs on while a busy machine does not.
OWN = "def own(s): return [w for w in s.warnings if not w.startswith('trace: ')]\n"


def program(text, status=0, **environment):
    """Run TEXT as a program; its last line of output as JSON."""
    env = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + HERE, **environment}
    env = {k: v for k, v in env.items() if v is not None}
    head = "import json, sys, gputrace as gp\ndef out(*x): print(json.dumps(x))\n" + OWN
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(text)], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120)
    if done.returncode != status:
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")
    assert status or not done.stderr, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    return json.loads(lines[-1]) if lines and not status else done.stderr.decode()


def traced(text, **environment):
    """The same, with the mock driver."""
    return program("import gpu\n" + textwrap.dedent(text), **environment)


class Sessions(unittest.TestCase):
    def test_before_cuda_is_up(self):
        counts, ns, hta_ns, ranges, warnings, steps = traced("""
            with gp.session("step", warmup=3, iterations=10) as s:
                for i in s:
                    if i == 0: gpu.start()
                    with gp.range("forward"): gpu.launch(2)
                    gpu.launch(1, "_Z4reluPf")
            gpu.launch(50)
            import subprocess
            hta = json.loads(subprocess.run([gp.tool("trace-hta"), "--whole", "-n", "0", "-f", "json", s.trace],
                                            stdout=subprocess.PIPE, check=True).stdout)
            out({k.label: k.count for k in s.kernels}, [s.gpu_ns, s.kernel_ns],
                [sum(d["busy_ns"] for d in hta["devices"]), sum(k["total_ns"] for k in hta["kernels"])],
                {r.name: r.calls for r in s.ranges}, own(s), s.iterations)
        """)
        self.assertEqual(counts, {"gemm": 20, "relu": 10})
        self.assertEqual(ns, hta_ns)
        self.assertGreater(ns[0], 0)
        self.assertEqual(ranges["forward"], 10)
        self.assertEqual((warnings, steps), ([], 10))

    def test_after_cuda_is_up_and_again(self):
        first, second, linked, warnings = traced("""
            gpu.start(); gpu.launch(4)
            with gp.session("late") as s: gpu.launch(5)
            gpu.launch(6)
            with gp.session("later") as t:
                with gp.range("r"): gpu.launch(7)
            out(s.kernels[0].count, t.kernels[0].count, t.hta["launches"]["linked"], own(s))
        """)
        self.assertEqual((first, second, linked), (5, 7, 7))
        self.assertEqual(len(warnings), 1)
        self.assertIn("attached after CUDA", warnings[0])

    def test_under_gpuprof_collect(self):
        collect, trace = os.path.join(os.environ["GP_BIN"], "gpuprof-collect"), os.path.join(os.environ["TMPDIR"], "all.trace")
        text = OWN + textwrap.dedent("""
            import gputrace as gp, gpu
            gpu.start(); gpu.launch(4)
            with gp.session("part") as s:
                with gp.range("in"): gpu.launch(5)
            gp.off(); gpu.launch(100); gp.on(); gpu.launch(1)
            print(s.kernels[0].count, len(own(s)))
        """)
        env = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + HERE}
        done = subprocess.run([collect, "-o", trace, sys.executable, "-c", text], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout, b"5 0\n")
        self.assertIn(b"10 kernels", done.stderr)

    def test_counters_are_summed_up_per_range(self):
        """Each launch reads 1,000 bytes on the mock; and what is missing where no counters are read."""
        collect = os.path.join(os.environ["GP_BIN"], "gpuprof-collect")
        text = textwrap.dedent("""
            import json, warnings, gputrace as gp, gpu
            gpu.start()
            missing = gp.on(counters=True)
            for n in (2, 3):
                with gp.session("s"):
                    for m in (n, 1):
                        with gp.range("train"): gpu.launch(m)
                    with gp.range("other"): gpu.launch()
            with warnings.catch_warnings(record=True) as caught:
                c = {r.name: r.counters for r in gp.summary()}
            t = c["train"]
            print(json.dumps([len(missing), t.get("gpu__time_duration.sum"), t.get("dram__bytes_read.sum"),
                              t.get("smsp__issue_active.avg.pct_of_peak_sustained_active"), c["other"], len(caught)]))
        """)
        env = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + HERE}
        results = []
        for how in ([collect, "-q", "--metrics", "basic", "--metrics-per", "range:train", "-o", os.devnull], []):
            done = subprocess.run([*how, sys.executable, "-c", text], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, done.stderr)
            results.append(json.loads(done.stdout))
        self.assertEqual(results, [[0, 4000, 7000, 50.0, {}, 0], [1, None, None, None, {}, 2]])

    def test_the_loop_without_with(self):
        self.assertEqual(traced("""
            gpu.start()
            s = gp.session("loop", warmup=1, iterations=2)
            n = [gpu.launch() for _ in s]
            out(len(n), s.kernels[0].count, s.iterations)
        """), [3, 2, 2])

    def test_an_exception_and_a_break_end_it(self):
        self.assertEqual(traced("""
            gpu.start()
            try:
                with gp.session("a") as s: gpu.launch(3); raise KeyError
            except KeyError: pass
            with gp.session("b", iterations=9) as t:
                for i in t:
                    gpu.launch()
                    if i == 1: break
            out(s.kernels[0].count, t.kernels[0].count, gp.enabled())
        """), [3, 2, False])

    def test_nested_and_threads(self):
        self.assertEqual(traced("""
            import threading
            gpu.start()
            counts = []
            def work():
                with gp.session("thread") as s: gpu.launch(3)
                counts.append(s.kernels[0].count >= 3)
            with gp.session("outer") as o:
                gpu.launch(1)
                with gp.session("inner") as i: gpu.launch(2)
                threads = [threading.Thread(target=work) for _ in range(4)]
                for t in threads: t.start()
                for t in threads: t.join()
            out(o.kernels[0].count, i.kernels[0].count, counts)
        """), [15, 2, [True] * 4])

    def test_results_do_not_change_and_can_be_written(self):
        names, text, document, flame, html, rows = traced("""
            import os, dataclasses
            gpu.start()
            with gp.session("x") as s: gpu.launch(3); gpu.copy(1000)
            try: s.kernels[0].count = 1; frozen = False
            except dataclasses.FrozenInstanceError: frozen = True
            s.to_json("x.json")
            out(frozen, str(s), json.loads(s.to_json()), s.html()[:15], s._repr_html_()[-60:], len(gp.read(s.trace)) + len(gp.read("x.json")))
        """)
        self.assertTrue(names)
        self.assertIn("GPU time by kernel:", text)
        self.assertEqual(document["schema"], "gputrace/session/1")
        self.assertEqual(sum(k["count"] for k in document["kernels"]), 4)
        self.assertTrue(flame.lower().startswith("<!doctype html>"), flame)
        self.assertEqual(rows, 4)

    def test_an_attribute_is_what_json_calls_so(self):
        compared, wrong, class_ = traced("""
            import os
            from gputrace import _results, _tools
            gpu.start()
            with gp.session("x") as s:
                with gp.range("r"): gpu.launch(3); gpu.copy(1000)
            def wrongs(rows, objects):
                for row, o in zip(rows, objects, strict=True):
                    members = {k.rstrip("_"): v for k, v in vars(row).items()}
                    yield from (f"{type(row).__name__}.{k}" for k in members.keys() | o.keys()
                                if k not in members or members[k] != o.get(k))
            with gp.session("y") as t: gpu.launch(5)
            d = s.compare(t)
            sample = os.environ["GP_SOURCE"] + "/samples/h200/eager.trace"
            hta, suggest = (_tools.document(tool, "-q", sample) for tool in ("trace-hta", "trace-suggest"))
            pairs = [(s.kernels, s.hta["kernels"]), (s.ranges, s.hta["ranges"]), (d.kernels, d.document["operations"]),
                     (_results.findings(hta), hta["findings"]), (_results.advice(suggest), suggest["suggestions"])]
            out([len(rows) > 0 for rows, _ in pairs], [w for p in pairs for w in wrongs(*p)],
                [k.class_ for k in s.kernels] == [k["class"] for k in json.loads(s.to_json())["kernels"]])
        """)
        self.assertEqual((compared, wrong, class_), ([True] * 5, [], True))

    def test_compare_measure_and_classify(self):
        verdict, count, value, regime, change = traced("""
            gpu.start()
            def f(n): gpu.launch(n); return n
            a = gp.measure(f, 2, warmup=1, iterations=5)
            b = gp.measure(f, 6, warmup=1, iterations=5)
            r, c = gp.classify(f, 3)
            d = a.compare(b)
            assert str(d) and str(c)
            out(d.comparable, [a.kernels[0].count, b.kernels[0].count], [a.result, r, gp.profile_with_result(f, 1)[0]],
                c.regime, sum(k.change_ns for k in d.kernels) == d.document["total"]["change_ns"])
        """)
        self.assertEqual((count, value, change), ([10, 30], [2, 3, 1], True))
        self.assertIn(regime, ("launch", "neither", "memory", "compute"))
        self.assertTrue(verdict)

    def test_light_leaves_cupti_alone(self):
        self.assertEqual(traced("""
            gpu.start()
            def f(n): gpu.launch(n); return gp.enabled()
            seen, s = gp.profile_with_result(f, 2, light=True)
            t = gp.measure(f, 2, iterations=4, light=True)
            out(seen, s.trace, s.total_ns > 0, t.iterations, t.kernels, all("no trace" not in w for w in s.warnings))
        """), [False, None, True, 4, [], True])

    def test_memory(self):
        peak, unused = traced("""
            gpu.start()
            with gp.memory() as m: gpu.allocate(5000); gpu.allocate(2000); gpu.launch()
            assert str(m) and max(t.bytes for t in m.timeline) == 7000
            out(m.peak_bytes, [h.bytes for h in m.holders])
        """)
        self.assertEqual(peak, 7000)
        self.assertEqual(sum(unused), 7000)

    def test_misuse_says_what_to_do(self):
        texts = program("""
            def why(f):
                try: f()
                except Exception as e: return f"{type(e).__name__}: {e}"
            s = gp.session("s")
            def again():
                with s: pass
            def close(r): r.__exit__(None, None, None)
            early = why(lambda: s.total_ms)
            with s: pass
            out(early, why(again), why(lambda: gp.session(7)), why(lambda: gp.range(7)), why(lambda: close(gp.range("r"))),
                why(lambda: gp.session("s", warmup=-1)), why(lambda: list(s)), why(lambda: gp.range("m", metrics={"a": "b"})),
                why(lambda: gp.compare(s, 3)))
        """)
        for text, expected in zip(texts, ("RuntimeError: session 's' has not ended", "RuntimeError: session 's' was used before",
                                          "TypeError: session: the name is text", "TypeError: range: the name is text",
                                          "RuntimeError: range 'r' ends on a thread", "ValueError: session: warmup",
                                          "RuntimeError: session 's' can be iterated over once", "TypeError: metrics",
                                          "TypeError: compare: takes two sessions")):
            self.assertTrue(text.startswith(expected), text)


    def test_what_was_not_measured_is_none(self):
        unknown, known, texts, compared = program("""
            def why(f):
                try: f()
                except Exception as e: return f"{type(e).__name__}: {e}"
            with gp.session("a", light=True) as a: sum(range(1000))
            with gp.session("n", iterations=2, light=True) as n: pass
            b = gp.measure(lambda: None, iterations=4, light=True)
            c = gp.measure(lambda: sum(range(100000)), iterations=2, light=True)
            d = b.compare(c)
            out([a.gpu_ns, a.gpu_ms, a.kernel_ns, a.peak_bytes, a.hta, n.total_ns, n.total_ms, n.cpu_ns, n.cpu_ms],
                [a.total_ms > 0, a.total_ns > 0, a.cpu_ns >= 0], [str(a), str(n), why(lambda: a.compare(3)), d.text],
                [d.comparable, d.verdict, d.unit, d.baseline_ns == round(b.total_ns / 4), d.current_ns == round(c.total_ns / 2),
                 d.speedup == d.baseline_ns / d.current_ns, d.speedup_low, d.kernels, d.document])
        """)
        self.assertEqual(unknown, [None] * 9)
        self.assertEqual(known, [True, True, True])
        self.assertIn("GPU time unknown", texts[0])
        self.assertIn("nothing was measured", texts[1])
        self.assertTrue(texts[2].startswith("TypeError: compare: takes two sessions"), texts[2])
        self.assertIn("kernels are not compared; session '<lambda>' has no trace: ", texts[3].replace("Session.", ""))
        self.assertEqual(compared, [True, "inconclusive", "step", True, True, True, None, [], {}])


class Ladder(unittest.TestCase):
    def one(self, text="with gp.session('s') as s: pass\nout(s.warnings, s.trace, s.total_ns > 0, len(s.kernels), str(s))", **env):
        return program(text, **env)

    def test_switched_off(self):
        warnings, trace, timed, kernels, _ = self.one(GPUPROF_OFF="1")
        self.assertEqual((warnings, trace, timed, kernels), (["switched off by GPUPROF_OFF"], None, True, 0))

    def test_no_cupti_and_no_gpu(self):
        warnings, trace, timed, _, text = self.one(GPUPROF_LIBCUPTI="/nowhere", CUDA_HOME=None, CUDA_PATH=None)
        if trace is None:  # no libcupti elsewhere on this machine
            self.assertIn("no trace: CUPTI was not found", warnings[0])
            self.assertIn("no GPU is in use", warnings[1])
        self.assertTrue(timed)
        self.assertIn("note: " if trace is None else "s:", text)

    def test_held_by_another_tool(self):
        warnings, trace, *_ = self.one(MOCK_CUPTI_HOLDER="Nsight")
        self.assertIsNone(trace)
        self.assertEqual(warnings[0], "no trace: CUPTI is held by Nsight")

    def test_the_holder_leaves(self):
        self.assertEqual(traced("""
            import os
            gpu.start()
            os.environ["MOCK_CUPTI_HOLDER"] = "Nsight"
            with gp.session("a") as a: gpu.launch()
            del os.environ["MOCK_CUPTI_HOLDER"]
            with gp.session("b") as b: gpu.launch(2)
            os.environ["MOCK_CUPTI_HOLDER"] = "Nsight"
            with gp.session("c") as c: gpu.launch(2)
            out(a.trace, b.kernels[0].count, c.trace, c.warnings[0])
        """), [None, 2, None, "no trace: CUPTI is held by Nsight"])

    def test_no_library_and_no_launcher(self):
        warnings, trace, *_ = self.one(GPUPROF_INJECT="/nowhere.so")
        self.assertIn("libgpuprof-inject.so was not found", warnings[0])
        warnings, trace, *_ = self.one(GPUPROF_COLLECT="/nowhere")
        self.assertIn("gpuprof-collect --hub did not start", warnings[0])

    def test_a_folder_that_is_not_there(self):
        warnings, trace, *_ = self.one("with gp.session('s', trace='/no/such/x.trace') as s: pass\nout(s.warnings, s.trace)")
        self.assertIsNone(trace)
        self.assertIn("No such file", warnings[0])

    def test_torch_profiler_takes_over_where_it_holds_cupti(self):
        """A module torch with the functions that are touched, whose profiler writes a small trace."""
        trace, count, warnings = traced("""
            import os, types
            os.environ["MOCK_CUPTI_HOLDER"] = "torch.profiler"
            class Profile:
                def __init__(self, **k): pass
                def __enter__(self): return self
                def __exit__(self, *e): pass
                def export_chrome_trace(self, path):
                    json.dump({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "pid": 0, "tid": 7,
                        "args": {"device": 0, "stream": 7, "correlation": 1}}]}, open(path, "w"))
            class Annotation:
                def __init__(self, name): self.name = name
                def __enter__(self): return self
                def __exit__(self, *e): pass
            class Event:
                def record(self): pass
            torch = types.ModuleType("torch")
            torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, _is_in_bad_fork=lambda: False, synchronize=lambda: None)
            torch.autograd = types.SimpleNamespace(_profiler_enabled=lambda: False, profiler=types.SimpleNamespace(record_function=Annotation))
            torch.profiler = types.SimpleNamespace(profile=Profile, record_function=Annotation,
                                                   ProfilerActivity=types.SimpleNamespace(CPU=0, CUDA=1))
            sys.modules["torch"] = torch
            with gp.session("s") as s: pass
            out(s.trace, s.kernels[0].count, s.warnings)
        """)
        self.assertTrue(trace.endswith(".json"))
        self.assertEqual(count, 1)
        self.assertIn("CUPTI is held by torch.profiler, as after any use of torch.profiler: torch.profiler records this session", warnings[0])

    def test_record_function_becomes_a_range(self):
        self.assertEqual(traced("""
            import types
            class Annotation:
                def __init__(self, name): self.name = name
                def __enter__(self): return self
                def __exit__(self, *e): pass
            torch = types.ModuleType("torch")
            torch.autograd = types.SimpleNamespace(_profiler_enabled=lambda: False, profiler=types.SimpleNamespace(record_function=Annotation))
            sys.modules["torch"] = torch
            gpu.start()
            before = Annotation.__enter__
            with gp.session("s") as s:
                with Annotation("DistributedDataParallel.forward"): gpu.launch(2)
            out({r.name: r.gpu_events for r in s.ranges}.get("DistributedDataParallel.forward"), Annotation.__enter__ is before)
        """), [2, True])


    def test_operators_by_emit_nvtx(self):
        """It makes ranges of record_function itself, so that there must not be two of each."""
        self.assertEqual(traced("""
            import types
            calls = []
            class Annotation:
                def __init__(self, name): self.name = name
                def __enter__(self): return self
                def __exit__(self, *e): pass
            class Emit:
                def __init__(self, record_shapes): calls.append(record_shapes)
                def __enter__(self): calls.append("in")
                def __exit__(self, *e): calls.append("out")
            torch = types.ModuleType("torch")
            torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, _is_in_bad_fork=lambda: False, synchronize=lambda: None)
            torch.autograd = types.SimpleNamespace(_profiler_enabled=lambda: False,
                                                   profiler=types.SimpleNamespace(record_function=Annotation, emit_nvtx=Emit))
            sys.modules["torch"] = torch
            gpu.start()
            with gp.session("s", ops=True) as s:
                with Annotation("train"): gpu.launch(2)
            torch.cuda.is_initialized = lambda: False
            with gp.session("early", ops=True) as t: pass
            out(calls, [r.name for r in s.ranges if r.name == "train"], s.operators, [w for w in own(t) if "operators" in w])
        """), [[True, "in", "out"], [], [],
               ["operators are not recorded: PyTorch used no GPU when the session began; give it a warmup"]])


class Processes(unittest.TestCase):
    def test_fork(self):
        parent, child = traced("""
            import os
            gpu.start()
            with gp.session("s") as s:
                gpu.launch(2)
                r, w = os.pipe()
                if not os.fork():
                    with gp.session("child") as c: pass
                    os.write(w, json.dumps(c.warnings).encode()); os._exit(0)
                os.wait(); gpu.launch(1)
            out(s.kernels[0].count, json.loads(os.read(r, 10000)))
        """)
        self.assertEqual(parent, 3)
        self.assertIn("a fork child of a process that uses CUDA", child[0])

    def test_spawned_children_have_sessions_of_their_own(self):
        own, children = traced("""
            import subprocess
            gpu.start()
            child = "import gpu, gputrace as gp\\ngpu.start()\\nwith gp.session('c') as c: gpu.launch(4)\\nprint(c.kernels[0].count, 'attached' in c.warnings[0])"
            with gp.session("s") as s:
                gpu.launch(2)
                children = [subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE) for _ in range(3)]
                outputs = [c.communicate()[0].decode() for c in children]
            out(s.kernels[0].count, outputs)
        """)
        self.assertEqual((own, children), (2, ["4 True\n"] * 3))

    def test_ranks_of_torchrun_are_read_together(self):
        """What torchrun does: four processes with a rank each in their environment."""
        rank = "import gpu, os, gputrace as gp\ngpu.start()\n" \
               "with gp.session('train') as s: gpu.launch(1 + int(os.environ['RANK']))\nprint(s.trace)"
        names, counts, ranks, refused = traced(f"""
            import os, subprocess
            children = [subprocess.Popen([sys.executable, "-c", {rank!r}], stdout=subprocess.PIPE, text=True,
                                         env={{**os.environ, "RANK": str(i), "LOCAL_RANK": str(i % 2), "WORLD_SIZE": "4"}})
                        for i in range(4)]
            traces = [c.communicate()[0].strip() for c in children]
            def rows(x): return x if isinstance(x, list) else x.to_dict("records")
            try: gp.read([])
            except ValueError as e: refused = str(e)
            out([".".join(os.path.basename(t).split(".")[:2]) for t in traces],
                [[row["count"] for row in rows(gp.read(t))] for t in traces + [traces]],
                [row["rank"] for row in rows(gp.read(traces, "devices"))], refused)
        """)
        self.assertEqual(names, ["train.rank0", "train.rank1", "train.rank2", "train.rank3"])
        self.assertEqual(counts, [[1], [2], [3], [4], [10]])
        self.assertEqual(ranks, [0, 1, 2, 3])
        self.assertEqual(refused, "read: no file is given")

    def test_exit_in_a_session(self):
        self.assertIn("SystemExit", traced("gpu.start()\ns = gp.session('s').__enter__()\ngpu.launch(2)\nout('SystemExit')\nsys.exit(0)")[0])
        traced("import os\ngpu.start()\ns = gp.session('s').__enter__()\ngpu.launch(2)\nout(1)\nsys.stdout.flush()\nos._exit(0)")
        self.assertIn("KeyError", program("import gpu\ngpu.start()\nr = gp.range('r').__enter__()\ns = gp.session('s').__enter__()\nraise KeyError(1)", status=1))

    def test_the_launcher_is_killed(self):
        first, second = traced("""
            import ctypes, os
            getenv = ctypes.CDLL(None).getenv
            getenv.restype = ctypes.c_void_p
            gpu.start()
            with gp.session("a") as a:
                gpu.launch(1)
                os.kill(int(ctypes.string_at(getenv(b"GPUPROF_SOCKET")).split(b"-")[1]), 9)
            with gp.session("b") as b: gpu.launch(1)
            out(a.warnings, b.warnings)
        """)
        self.assertIn("no trace: the recording process has ended", first)
        self.assertIn("no trace: the recording process has ended", second)

    def test_importing_changes_nothing(self):
        self.assertEqual(program("""
            import os, threading
            before = sys.argv
            out(threading.active_count(), [k for k in os.environ if k.endswith("INJECTION64_PATH") or k == "GPUPROF_SOCKET"],
                [l for l in open("/proc/self/maps") if "gpuprof-inject" in l or "cupti" in l], "numpy" in sys.modules, "torch" in sys.modules)
        """), [1, [], [], False, False])


class Ranges(unittest.TestCase):
    def test_names_of_any_kind(self):
        names = traced("""
            gpu.start()
            names = ["", "a;b", 'q"\\\\', "\\ud800", "nul\\0nul", "x" * 5000, "\\n\\t\\x1b[31m", "日本語", "%s%n"]
            with gp.session("\\ud800;\\0/..") as s:
                for n in names:
                    with gp.range(n): gpu.launch(1)
                    gp.mark(n, 3)
            assert s.html() and str(s)
            out(sum(r.gpu_events for r in s.ranges), [r.name for r in s.ranges], gp.to_csv("x.csv") and len(gp.read("x.csv")))
        """)
        self.assertEqual(names[0], 9)
        for expected in ("a;b", 'q"\\', "nul nul", "日本語", "%s%n", "\\ud800"):
            self.assertIn(expected, names[1])

    def test_nesting_decorators_generators_and_threads(self):
        calls = program("""
            import threading, time
            @gp.range
            def plain(x): return x + 1
            class C:
                @gp.range("method")
                def m(self): return plain(1)
            @gp.range("generator")
            def items():
                yield 1; yield 2
            assert plain(1) == 2 and C().m() == 2 and list(items()) == [1, 2] and plain.__name__ == "plain"
            kept = gp.range("kept")
            def nest(n):
                with kept:
                    if n: nest(n - 1)
            threads = [threading.Thread(target=nest, args=(9,)) for _ in range(8)]
            for t in threads: t.start()
            for t in threads: t.join()
            try:
                with gp.range("raises"): raise KeyError
            except KeyError: pass
            out({r.name: r.count for r in gp.summary()})
        """)[0]
        self.assertEqual(calls, {"plain": 2, "method": 1, "generator": 1, "kept": 80, "raises": 1})

    def test_asyncio(self):
        counts, means, ranges = traced("""
            import asyncio
            gpu.start()
            @gp.range
            async def job(n):
                await asyncio.sleep(0.002 * n)
                with gp.range("inside"): await asyncio.sleep(0.001)
            async def main(): await asyncio.gather(*(job(n) for n in (3, 2, 1)))
            with gp.session("s") as s: asyncio.run(main())
            rows = {r.name: r for r in gp.summary()}
            out({n: r.count for n, r in rows.items() if n != "s"}, rows["job"].min_ns >= 3e6 and rows["job"].max_ns >= 7e6,
                {r.name: r.calls for r in s.ranges if r.name in ("job", "inside")})
        """)
        self.assertEqual((counts, means), ({"job": 3, "inside": 3}, True))

    def test_a_range_that_was_never_entered_cannot_be_left(self):
        """Frames that another thread abandoned point to ranges; a later range may have the address of one of those."""
        left, at_end = program("""
            import threading
            def items(i):
                with gp.range("items%d" % i, flops=1.0): yield 1
            def close(items):
                try: items.close()
                except RuntimeError: pass
            left = 0
            for i in range(200):
                begun = items(i)
                next(begun)
                t = threading.Thread(target=close, args=(begun,))
                t.start(); t.join()
                del begun
                fresh = gp.range("fresh%d" % i, flops=1.0)
                try: fresh.__exit__(None, None, None); left += 1
                except RuntimeError: pass
            out(left, [r.name for r in gp.summary() if r.name.startswith("fresh")])
        """)
        self.assertEqual((left, at_end), (0, []))

    def test_files_are_replaced_whole_and_cells_are_no_formulas(self):
        rows, text, kept, names = program("""
            import io, os, tempfile
            from gputrace import _tools
            os.chdir(tempfile.mkdtemp(dir="."))
            for name in ("=1+1", "\uff1d1", "@x", "-x", "plain"):
                with gp.range(name): pass
            text = gp.to_csv("sums.csv")
            rows = sorted(line.split(",")[0] for line in text.splitlines()[1:])
            class Broken(io.BytesIO):
                def read(self, *n): raise OSError("broken")
            try: _tools.write("sums.csv", Broken())
            except OSError: pass
            kept = open("sums.csv", encoding="utf-8").read()
            os.symlink("sums.csv", "link.csv")
            _tools.write("link.csv", "new")
            out(rows, text, kept, [n for n in sorted(os.listdir(".")) if ".csv" in n] + [open("sums.csv").read()])
        """)
        self.assertEqual(rows, ["'-x", "'=1+1", "'@x", "'\uff1d1", "plain"])
        self.assertEqual(text, kept)
        self.assertEqual(names, ["link.csv", "sums.csv", "new"])

    def test_what_a_hook_returns_is_released(self):
        grown = program("""
            import sys
            from gputrace._core_or_pure import core
            class Result: pass
            result = Result()
            before = sys.getrefcount(None), sys.getrefcount(result)
            for value in (None, result):
                core.hooks(lambda r: 1, lambda r, token: value)
                for i in range(1000):
                    with gp.range("x"): pass
            core.hooks(None, None)
            out([sys.getrefcount(o) - n > 500 for o, n in zip((None, result), before)])
        """)[0]
        self.assertEqual(grown, [False, False])

    def test_the_summary_adds_up(self):
        rows, csv, table, after = program("""
            import io
            for _ in range(100):
                with gp.range("a"): pass
            out_file = io.StringIO()
            gp.print_summary(out_file)
            r = gp.summary()[0]
            d = json.loads(gp.to_json())
            assert r.min_ns <= r.mean_ns <= r.max_ns and r.total_ns == round(r.mean_ns * 100) and r.stddev_ns >= 0
            text = gp.to_csv()
            gp.off()
            with gp.range("a"): pass
            off = gp.summary()[0].count
            gp.on()
            with gp.range("a"): pass
            on = gp.summary()[0].count
            gp.reset()
            out([d["schema"], d["ranges"][0]["count"]], text.splitlines()[0][:20], out_file.getvalue().splitlines()[0][:5],
                [off, on, len(gp.summary())])
        """)
        self.assertEqual((rows, csv, table, after), (["gputrace/summary/1", 100], "name,count,total_ns,", "range", [100, 101, 0]))

    def test_metrics_add_up_by_their_rules(self):
        self.assertEqual(program("""
            for v in (1, 5, 3):
                with gp.range("r", flops=v, metrics={"most": (v, "max"), "mean": (v, "mean")}): pass
            with gp.range("none"): pass
            one = {r.name: r.metrics for r in gp.summary()}
            gp.reset()
            with gp.range("r", flops=2): pass
            out(one, gp.summary()[0].metrics, gp.to_csv().splitlines()[1].endswith('"{""flops"": 2.0}",{}'))
        """), [{"r": {"flops": 9.0, "most": 5.0, "mean": 3.0}, "none": {}}, {"flops": 2.0}, True])

    def test_metrics_are_in_the_trace(self):
        self.assertEqual(traced("""
            import subprocess
            gpu.start()
            with gp.session("s") as s:
                with gp.range("gemm", flops=2e9, bytes=100, metrics={"level": (0.5, "max"), "n": (3, "mean")}): gpu.launch(1)
                gp.mark("loss", 42)
            text = subprocess.run([gp.tool("trace-convert"), "--to", "chrome", s.trace], stdout=subprocess.PIPE, check=True).stdout.decode()
            out([x in text for x in ('"flops":2000000000', '"bytes":100', '"level (max)":0.5', '"n (mean)":3', '"Payload":42')])
        """), [[True] * 5])

    def test_a_million_ranges_do_not_grow(self):
        number = 20_000 if PURE else 1_000_000
        grown, = traced(f"""
            import resource
            gpu.start()
            def memory(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            def run(n):
                r = gp.range("kept")
                for i in range(n):
                    with r: pass
                    if i % 100 == 0:
                        with gp.range(f"name {{i}}"): pass
            with gp.session("s"): run({number} // 2)
            before = memory()
            with gp.session("t"): run({number} // 2)
            assert sum(r.count for r in gp.summary() if r.name == "kept") == {number}
            assert len(gp.summary()) <= 4100
            out(memory() - before)
        """)
        self.assertLess(grown, 20_000)


if __name__ == "__main__":
    unittest.main()
