"""Trials without a GPU: the design on a simulated clock, where what a change saves is planted, and programs on a stand-in for PyTorch."""

import json
import os
import random
import re
import subprocess
import sys
import textwrap
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake_torch")

import gputrace  # noqa: E402
from gputrace import _trial_design as design  # noqa: E402
from gputrace import _trial_hook as hook  # noqa: E402
from gputrace import _trial_stat as stat  # noqa: E402

_clock = threading.local()


def setUpModule():
    time.perf_counter_ns = lambda: int(_clock.now)


class Simulated:
    """A program whose steps take ``step(number)`` ns, less what ``saves`` says while a change is on."""
    step_name = "a step"

    def __init__(self, step):
        _clock.now = 0
        self.step, self.saves, self.number, self.results = step, {}, 0, (None, None)
        self.schedule = []

    def want_inputs(self):
        pass

    reset_peak = want_inputs
    mark = lambda self: _clock.now
    since = lambda self, mark: _clock.now - mark

    def peak_bytes(self):
        return 1000 + len(self.saves)

    def choose(self, runner):
        yield from ()
        return runner.changes

    def difference(self, kind, turn):
        turn(True)
        turn(False)
        return self.results

    def change(self, name, saves, **more):
        def on(program):
            program.saves[name] = saves
        return design.Change(name, on, lambda program: program.saves.pop(name, None), **more)

    def run(self, runner, steps=10 ** 7):
        for _ in range(steps):
            if runner.done:
                return
            self.number += 1
            _clock.now += self.step(self.number) - sum(self.saves.values())
            self.schedule.append(tuple(self.saves))
            runner.step_ended()


def trial(step, changes, plan=None, steps=10 ** 7, results=(None, None)):
    """(rows by name, kinds, program) of the trials of CHANGES(program)."""
    program, rows, kinds = Simulated(step), {}, {}
    program.results = results

    def emit(kind, row):
        rows[row.get("change", kind)], kinds[row.get("change", kind)] = row, kind
    runner = design.Runner(program, changes(program), plan or design.Plan(time_limit_ns=10 ** 10), emit)
    program.run(runner, steps)
    runner.close("the program ended")
    return rows, kinds, program


class Statistics(unittest.TestCase):
    def test_interval_is_the_table_of_signed_ranks(self):
        # Of 10 differences, 8 of the 55 means are cut off at each end at 95%: from tables of the signed ranks.
        self.assertEqual([stat._cut(n) for n in (5, 6, 7, 8, 10)], [0, 1, 2, 4, 8])
        d = [1, 2, 3, 4, 5, 6]
        self.assertEqual(stat.interval(d), (3.5, 1, 6))
        self.assertEqual(stat.interval(d[:5]), (3, None, None))

    def test_normal_approximation_joins_the_exact_one(self):
        exact = stat._cut(stat._EXACT)
        self.assertLess(abs(stat._cut(stat._EXACT + 1) - exact - (exact - stat._cut(stat._EXACT - 1))), 3)

    def test_coverage_of_the_whole_design(self):
        # Steps of 50 ms that vary by 0.2 to 3%, some with stalls; 2,000 trials with sequential stopping.
        held = pairs = 0
        for number in range(2000):
            rng = random.Random(number)
            spread, stalls = rng.choice((0.002, 0.006, 0.01, 0.03)), rng.random() < 0.5

            def step(_):
                stall = abs(rng.gauss(0, 20 * spread)) if stalls and rng.random() < 0.02 else 0
                return 5e7 * (1 + rng.gauss(0, spread) + stall)
            rows, _, _ = trial(step, lambda p: [p.change("x", 1.5e6)], design.Plan(time_limit_ns=2 * 10 ** 10, seed=number))
            row = rows["x"]
            held += row["low_ns"] <= 1.5e6 <= row["high_ns"]
            pairs += row["pairs"]
        print(f"# {held / 20:.2f}% of 2,000 intervals hold the truth, {pairs / 2000:.1f} pairs each")
        self.assertTrue(0.935 <= held / 2000 <= 0.965, (held / 2000, pairs / 2000))

    def test_drift(self):
        self.assertEqual(stat.drift([100, 101, 99, 100, 102, 98, 100, 101]), 0)
        self.assertAlmostEqual(stat.drift([100 + i for i in range(21)]), 20 / 110, 3)

    def test_outliers(self):
        self.assertEqual(stat.outliers([(10 + (i % 3), 8) for i in range(12)] + [(100, 8)]), 1)


def steady(ns=5e6, spread=0.01, seed=1):
    rng = random.Random(seed)
    return lambda number: ns * (1 + rng.gauss(0, spread))


class Design(unittest.TestCase):
    def holds(self, row, true):
        self.assertEqual(row["status"], "measured", row["reason"])
        self.assertTrue(row["low_ns"] <= true <= row["high_ns"], row)

    def test_planted_savings(self):
        rows, kinds, program = trial(steady(), lambda p: [p.change("a", 1e6), p.change("b", -3e5), p.change("c", 0)])
        for name, true in (("a", 1e6), ("b", -3e5), ("c", 0), ("control", 0)):
            self.holds(rows[name], true)
            self.assertLess(rows[name]["high_ns"] - rows[name]["low_ns"], 0.011 * 5e6)
        self.assertEqual((kinds["control"], kinds["a"]), ("control", "trial"))
        self.assertEqual((rows["a"]["peak_bytes_off"], rows["a"]["peak_bytes_on"]), (1000, 1001))
        self.assertEqual(program.saves, {})
        self.assertNotIn("together", rows)

    def test_together(self):
        rows, _, _ = trial(steady(), lambda p: [p.change("a", 1e6, group="g"), p.change("b", 2e6, group="g"), p.change("c", 5e5),
                                                p.change("up", 1e6, what_if=True), p.change("d", -1e6)])
        self.assertEqual(rows["together"]["changes"], ["b", "c"])
        self.holds(rows["together"], 2.5e6)

    def test_drift_cancels_and_is_told(self):
        noise = random.Random(2)
        rows, _, _ = trial(lambda n: 5e6 * (1 + n / 3000 + noise.gauss(0, 0.01)), lambda p: [p.change("a", 1e6)],
                           design.Plan(precision=0.001, time_limit_ns=5 * 10 ** 9))
        self.holds(rows["a"], 1e6)
        self.assertGreater(rows["a"]["drift_pct"], 5)
        self.assertTrue(any("drift" in note for note in rows["a"]["notes"]))

    def test_steps_of_changing_length(self):
        lengths, noise = (1, 3, 2, 1, 1, 5), random.Random(4)
        rows, _, _ = trial(lambda n: 2e6 * noise.choice(lengths), lambda p: [p.change("a", 1e6)])
        self.holds(rows["a"], 1e6)
        self.assertGreater(rows["a"]["high_ns"] - rows["a"]["low_ns"], 1e5)

    def test_slow_first_steps_do_not_count(self):
        noise = random.Random(5)

        def step(number):
            fresh = len(program.schedule) > 0 and program.schedule[-1] != tuple(program.saves)
            return 5e6 * (1 + noise.gauss(0, 0.01)) + (4e7 if fresh else 0)
        program, rows = Simulated(step), {}
        runner = design.Runner(program, [program.change("a", 1e6)], design.Plan(time_limit_ns=10 ** 10),
                               lambda kind, row: rows.update({row["change"]: row}))
        program.run(runner)
        self.holds(rows["a"], 1e6)

    def test_a_device_that_has_been_waited_for_is_not_timed(self):
        noise = random.Random(6)

        class Dry(Simulated):
            waited = False

            def since(self, mark):
                self.waited = True
                return _clock.now - mark

        def step(number):
            late, program.waited = (2e6 if program.waited else 0), False
            return 5e6 * (1 + noise.gauss(0, 0.001)) + late
        program, rows = Dry(step), {}
        runner = design.Runner(program, [program.change("a", 1e6)], design.Plan(time_limit_ns=10 ** 10),
                               lambda kind, row: rows.update({row["change"]: row}))
        program.run(runner)
        self.assertLess(abs(rows["a"]["off_ns"] - 5e6), 5e4)
        self.holds(rows["a"], 1e6)

    def test_long_steps_have_an_interval_in_the_end(self):
        rows, _, _ = trial(steady(3e9), lambda p: [p.change("a", 1e9)], design.Plan(time_limit_ns=10 ** 9))
        self.assertEqual((rows["a"]["pairs"], rows["a"]["steps_per_block"]), (stat.LEAST_PAIRS, 1))
        self.holds(rows["a"], 1e9)

    def test_changes_that_fail(self):
        def fails(program):
            program.saves["bad"] = 0
            raise ValueError("first line\nsecond")
        changes = lambda p: [design.Change("bad", fails, lambda q: q.saves.pop("bad", None)), p.change("good", 1e6),
                             p.change("no", 0, needs=lambda q: "there is no GPU")]
        rows, _, program = trial(steady(), changes)
        self.assertEqual((rows["bad"]["status"], rows["bad"]["reason"]), ("failed", "ValueError: first line"))
        self.assertEqual((rows["no"]["status"], rows["no"]["reason"]), ("not_applicable", "there is no GPU"))
        self.assertEqual(program.saves, {})
        self.holds(rows["good"], 1e6)
        self.assertIsNone(rows["bad"]["saving_ns"])

    def test_a_step_that_fails(self):
        program, rows = Simulated(steady()), {}
        runner = design.Runner(program, [program.change("a", 1e6), program.change("b", 1e6)], design.Plan(time_limit_ns=10 ** 9),
                               lambda kind, row: rows.update({row["change"]: row}))
        while not runner.done:
            program.number += 1
            if "b" in program.saves and program.number % 50 == 0:
                self.assertTrue(runner.fault(RuntimeError("out of memory")))
                self.assertNotIn("b", program.saves)
                self.assertFalse(runner.fault(RuntimeError("again")))
            _clock.now += program.step(0) - sum(program.saves.values())
            runner.step_ended()
        self.assertEqual((rows["b"]["status"], rows["b"]["reason"]), ("failed", "RuntimeError: out of memory"))
        self.holds(rows["a"], 1e6)

    def test_other_results_are_left_out(self):
        far = {"loss_relative": 0.2, "outputs_relative": None, "update_relative": None, "noise_relative": 0.0}
        for results, status in (((far, None), "failed"), (({**far, "noise_relative": 0.1}, None), "measured"),
                                ((None, "no copy"), "measured")):
            rows, _, _ = trial(steady(), lambda p: [p.change("a", 1e6, compare="outputs", tolerance=0.05)], results=results)
            self.assertEqual(rows["a"]["status"], status)
        self.assertEqual(rows["a"]["notes"], ["no copy"])

    def test_items_per_step(self):
        rows, _, _ = trial(steady(), lambda p: [p.change("batch", -2e6, scale=2)])
        self.holds(rows["batch"], 5e6 - 7e6 / 2)

    def test_the_program_ends(self):
        rows, _, _ = trial(steady(), lambda p: [p.change("a", 1e6), p.change("b", 1e6)], design.Plan(precision=1e-6), 8000)
        statuses = [rows[n]["status"] for n in ("a", "b", "control")]
        self.assertIn("measured", statuses)
        self.assertTrue(any("the program ended" in (rows[n]["reason"] or "") for n in ("a", "b", "control")))
        rows, kinds, _ = trial(steady(), lambda p: [p.change("a", 1e6)], steps=3)
        self.assertEqual(rows["refused"]["reason"], "the program ended before anything was measured")

    def test_max_steps(self):
        rows, _, program = trial(steady(), lambda p: [p.change("a", 1e6)], design.Plan(max_steps=700, precision=1e-6))
        self.assertEqual(program.number, 700)
        self.assertEqual({rows["a"]["status"], rows["control"]["status"]}, {"measured", "failed"})

    def test_a_fault_of_ours_ends_the_trials_only(self):
        program, rows = Simulated(steady()), {}
        program.choose = lambda runner: 1 / 0
        runner = design.Runner(program, [], design.Plan(), lambda kind, row: rows.update({kind: row}))
        program.run(runner, 100)
        self.assertEqual(rows["refused"]["reason"], "the trials ended: ZeroDivisionError: division by zero")
        self.assertLess(program.number, 12)


class Suggested(unittest.TestCase):
    def chosen(self, document, timed=None):
        """(changes, what is wanted by processes) where trace-suggest says DOCUMENT; None: nothing can be recorded. TIMED: what it says of
        steps whose time it is given; None: it refuses that."""
        class Session:
            warnings = ("no GPU",)
            suggest = document

            def __init__(self, name, iterations):
                self.left = iterations

            def __enter__(self):
                return self

            def __exit__(self, *exception):
                assert self.left == -1  # all steps were recorded

            def __iter__(self):
                return self

            def __next__(self):
                self.left -= 1
                if self.left < 0:
                    raise StopIteration

            def _advice(self, step_ns):
                if timed is None:
                    raise RuntimeError("below the GPU's busy time")
                return timed(step_ns)
        program, wanted = Simulated(steady()), []
        program.plan, program.on_gpu = {"changes": None}, lambda: True
        runner = design.Runner(program, hook.table.changes(), design.Plan(), lambda kind, row: wanted.append((kind, row)))
        runner.step_ns = 7654321.5
        kept, gputrace._session.Session = gputrace._session.Session, Session
        try:
            script, steps = hook.choose(program, runner), 0
            while True:
                try:
                    next(script)
                    steps += 1
                except StopIteration as e:
                    self.assertEqual(steps, 6)
                    return e.value, wanted
        finally:
            gputrace._session.Session = kept

    def test_rules_become_changes_the_largest_first(self):
        rules = [("optimizer", 4, 6), ("input_stall", 3, 4), ("tensor_cores", 1, 2), ("no_such_rule", 1, 1), ("low_precision", 0, 1)]
        document = {"step": {"unit": "step"}, "suggestions": [
            {"rule": r, "saving_low_ns": low, "saving_high_ns": high} for r, low, high in rules]}
        changes, wanted = self.chosen(document)
        self.assertEqual([(c.name, c.rule, c.predicted) for c in changes],
                         [("fused", "optimizer", (4, 6)), ("tf32", "tensor_cores", (1, 2)), ("bf16", "tensor_cores", (1, 2))])
        self.assertEqual([(kind, r["rule"], r["low"]) for kind, r in wanted], [("wanted", "input_stall", 3)])

    def test_advice_is_of_steps_as_the_trials_timed_them(self):
        asked = []

        def timed(step_ns):
            asked.append(step_ns)
            return {"step": {"unit": "step"}, "suggestions": [{"rule": "optimizer", "saving_low_ns": 7, "saving_high_ns": 8}]}
        changes, _ = self.chosen({"step": {"unit": "step"}, "suggestions": []}, timed)
        self.assertEqual(([c.predicted for c in changes], asked), ([(7, 8)], [7654321.5]))

    def test_all_that_apply_where_nothing_is_found(self):
        for document in (None, {"step": None, "suggestions": []}):
            names = [c.name for c in self.chosen(document)[0]]
            self.assertIn("tf32", names)
            self.assertIn("compile", names)
            self.assertNotIn("compile=max-autotune", names)

    def test_every_rule_of_the_table_is_one_of_trace_suggest(self):
        later = {"experts", "recompute", "round_trip"}  # rules that a version of trace-suggest has or not
        done = subprocess.run([gputrace.tool("trace-suggest"), "--list-rules"], stdout=subprocess.PIPE, check=True).stdout.decode()
        for change in hook.table.changes() + hook.table.processes():
            for rule in set(change.rules) - later:
                self.assertRegex(done, rf"(?m)^{rule}\b")


class MemoryStore:
    """What torch.distributed's store does: get() waits."""

    def __init__(self):
        self._values, self._changed = {}, threading.Condition()

    def set(self, key, value):
        with self._changed:
            self._values[key] = value.encode()
            self._changed.notify_all()

    def get(self, key):
        with self._changed:
            if not self._changed.wait_for(lambda: key in self._values, 20):
                raise TimeoutError(key)
            return self._values[key]


class Ranks(unittest.TestCase):
    def run_ranks(self, world, changes):
        store, programs, rows = MemoryStore(), [None] * world, [[] for _ in range(world)]

        def rank(number):
            programs[number] = program = Simulated(steady(5e6 * (1 + number), 0.01, number))
            runner = design.Runner(program, changes(program, number), design.Plan(time_limit_ns=3 * 10 ** 9),
                                   lambda kind, row: rows[number].append(row), exchange=hook.Store(store, number, world))
            program.run(runner)
        threads = [threading.Thread(target=rank, args=(n,)) for n in range(world)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return programs, rows

    def test_all_follow_one_schedule(self):
        programs, rows = self.run_ranks(3, lambda p, n: [p.change("a", 1e6), p.change("b", 5e5)])
        self.assertEqual(programs[0].schedule, programs[1].schedule)
        self.assertEqual(programs[0].schedule, programs[2].schedule)
        self.assertEqual([r["change"] for r in rows[0]], [r["change"] for r in rows[2]])
        self.assertTrue(any("a" in on for on in programs[0].schedule))

    def test_a_change_that_fails_on_one_rank(self):
        def changes(program, rank):
            bad = program.change("bad", 0)
            if rank == 1:
                bad.on = lambda p: 1 / 0
            return [bad, program.change("a", 1e6)]
        programs, rows = self.run_ranks(2, changes)
        self.assertEqual(programs[0].schedule, programs[1].schedule)
        bad = [next(r for r in rows[n] if r["change"] == "bad") for n in (0, 1)]
        self.assertEqual([b["reason"] for b in bad], ["ZeroDivisionError: division by zero"] * 2)
        self.assertFalse(any("bad" in on for on in programs[0].schedule))


# ---- programs on the stand-in for PyTorch ----

def program(text, plan=None, **environment):
    """Run TEXT as a program with trials, as gpuprof-try does: (rows by kind, standard output)."""
    folder = os.path.join(os.environ["TMPDIR"], f"out{len(os.listdir(os.environ['TMPDIR']))}")
    os.mkdir(folder)
    settings = {"out": folder, "changes": None, "sets": [], "precision": 0.01, "time_limit_ns": 3 * 10 ** 9, "max_steps": None, "seed": 1,
                "marker": None, "quiet": False, "side": None, **(plan or {})}
    with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as f:
        json.dump(settings, f)
    site = os.path.join(os.environ["PYTHONPATH"].split(os.pathsep)[0], "gputrace", "_trial_site")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((site, FAKE)), "GPUPROF_TRY": "1", "GPUPROF_OFF": "1",
           "GPUPROF_TRY_PLAN": os.path.join(folder, "plan.json"), **environment}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120)
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr.decode()
    rows = {}
    for name in os.listdir(folder):
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                for line in map(json.loads, f):
                    rows.setdefault(line["kind"], []).append(line["row"])
    return rows, done.stdout.decode() + done.stderr.decode()


TRAINING = """
    import torch
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self._children = [torch.Conv2d()]
        def forward(self, x):
            if torch.settings.get("forward_fails"): raise RuntimeError("no such kernel")
            torch.spend(2e6 if torch.backends.cuda.matmul.allow_tf32 else 6e6)
            return torch.Tensor(1.001 if torch.backends.cuda.matmul.allow_tf32 else 1.0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for i in range(100000):
        optimizer.zero_grad(set_to_none=False)
        loss = net(torch.Tensor(2.0))
        loss.backward()
        optimizer.step()
        if i % 2 == 0: loss.item()
    print("the end")
"""


class Programs(unittest.TestCase):
    def test_training(self):
        rows, said = program(TRAINING, {"changes": ["tf32", "fused", "set_to_none", "benchmark", "reads", "no_validation"]})
        by = {r["change"]: r for r in rows["trial"]}
        self.assertEqual(rows["steps"][0]["name"], "a step ends with Adam.step()")
        for name, saves in (("tf32", 4e6), ("fused", 1e6), ("set_to_none", 4e5), ("benchmark", 0), ("reads", 1e5)):
            self.assertEqual(by[name]["status"], "measured", by[name]["reason"])
            self.assertLess(abs(by[name]["saving_ns"] - saves), 1e5, name)
        self.assertTrue(by["tf32"]["low_ns"] > 0 and by["benchmark"]["low_ns"] <= 0)
        self.assertEqual(by["benchmark"]["peak_bytes_on"] - by["benchmark"]["peak_bytes_off"], 10 ** 9)
        self.assertAlmostEqual(by["tf32"]["difference"]["outputs_relative"], 0.001, 6)
        self.assertEqual((by["tf32"]["difference"]["loss_off"], by["tf32"]["difference"]["loss_on"]), (1.0, 1.001))
        self.assertTrue(by["reads"]["what_if"])
        self.assertEqual(by["no_validation"]["status"], "not_applicable")
        self.assertEqual(set(rows["together"][0]["changes"]), {"tf32", "fused", "set_to_none"})
        self.assertLess(abs(rows["together"][0]["saving_ns"] - 5.4e6), 2e5)
        self.assertNotIn("the end", said)
        self.assertIn("the program ends here", said)

    def test_without_a_list_all_that_apply(self):
        rows, said = program(TRAINING)
        names = {r["change"]: r["status"] for r in rows["trial"]}
        self.assertEqual({names[n] for n in ("tf32", "fused", "set_to_none", "gc")}, {"measured"})
        self.assertEqual(names["graph"], "not_applicable")
        self.assertNotIn("compile=max-autotune", names)

    def test_steps_that_fail_and_go_on(self):
        for fault in ("forward_fails", "step_fails", "backward_fails"):
            change = f"bad=torch.settings.update({fault}=True) // torch.settings.update({fault}=False)"
            rows, _ = program(TRAINING, {"changes": ["tf32"], "sets": [change]})
            by = {r["change"]: r for r in rows["trial"]}
            self.assertEqual((by["bad"]["status"], by["tf32"]["status"]), ("failed", "measured"), fault)
            self.assertIn("RuntimeError", by["bad"]["reason"])
            self.assertEqual(rows["control"][0]["status"], "measured")

    def test_results_with_dropout_are_compared_without_it(self):
        rows, _ = program(TRAINING.replace("            return torch.Tensor(", """
            if self.training:
                torch.settings["drawn"] = torch.settings.get("drawn", 0) + 1
                if torch.backends.cuda.matmul.allow_tf32: return torch.Tensor(7.0)
            return torch.Tensor("""), {"changes": ["tf32"]})
        row = rows["trial"][0]
        self.assertEqual(row["status"], "measured", row["reason"])
        self.assertAlmostEqual(row["difference"]["loss_relative"], 0.001, 6)
        self.assertIn("eval mode", row["notes"][0])

    def test_a_failure_without_a_change_is_the_programs(self):
        rows, said = program(TRAINING.replace("net = Net()", "net = Net(); torch.settings['forward_fails'] = True").replace(
            "        loss = net(", "        if i == 0:\n            try: net(1)\n            except RuntimeError: print('as it was')\n"
            "            torch.settings.clear()\n        loss = net("), {"changes": ["tf32"]})
        self.assertIn("as it was", said)
        self.assertEqual(rows["trial"][0]["status"], "measured")

    def test_of_two_optimizers_the_rarer_one_ends_the_step(self):
        rows, _ = program("""
            import torch
            torch.spend(1)
            p = [torch.Tensor()]
            often, seldom = torch.optim.Adam(p), torch.optim.SGD(p)
            for i in range(100000):
                for _ in range(3): often.step()
                seldom.step()
        """, {"changes": ["gc"]})
        self.assertEqual(rows["steps"][0]["name"], "a step ends with SGD.step()")
        self.assertLess(abs(rows["control"][0]["off_ns"] - 4.1e6), 1e5)

    def test_inference(self):
        rows, _ = program(TRAINING.split("optimizer =")[0] + """
    torch.settings["grad"] = False
    class Outer(torch.nn.Module):
        def forward(self, x): return net(net(x))
    outer = Outer()
    while True: outer(torch.Tensor())
""", {"changes": ["tf32"]})
        self.assertEqual(rows["steps"][0]["name"], "a step is a call of Outer")
        self.assertLess(abs(rows["trial"][0]["saving_ns"] - 8e6), 2e5)

    def test_no_steps(self):
        rows, _ = program("import torch\nopt = torch.optim.SGD([])\nopt.step()\nprint('done')")
        self.assertEqual(rows["refused"][0]["reason"], "too few steps: the program ended after 1 steps of optimizers")
        self.assertEqual(program("import torch")[0], {})

    def test_a_range_as_the_step(self):
        rows, _ = program("""
            import torch
            while True:
                for name in ("load", "iteration 7"):
                    torch.cuda.nvtx.range_push(name)
                    torch.spend(3e6)
                    torch.cuda.nvtx.range_pop()
        """, {"changes": ["gc"], "marker": "^iteration"})
        self.assertEqual(rows["steps"][0]["name"], "a step ends with the range ^iteration")
        self.assertLess(abs(rows["control"][0]["off_ns"] - 6e6), 1e5)

    def test_batches_as_steps(self):
        rows, _ = program("""
            import torch
            class Data:
                def __iter__(self): return torch.utils.data.dataloader._BaseDataLoaderIter()
            for batch in Data(): torch.spend(1e6 + 1e6 * len(batch))
        """, {"changes": ["gc", "prefetch"]})
        self.assertEqual(rows["steps"][0]["name"], "a step begins with a batch of a DataLoader")
        self.assertLess(abs(rows["control"][0]["off_ns"] - 9e6), 1e5)

    def test_batches_of_other_sizes_are_loaded(self):
        rows, said = program(TRAINING.replace("    for i in range", """
    def load():
        torch.spend(1e6)
        return [torch.Tensor(1.0, (6,)), "name"]
    torch.settings["load"] = load
    class Iterator(torch.utils.data.dataloader._BaseDataLoaderIter): pass
    data, seen = Iterator(), set()
    for i in range""").replace("        optimizer.zero_grad", """        batch = next(data)
        if batch[0].shape not in seen: print("sizes", *batch[0].shape, batch[1])
        seen.add(batch[0].shape)
        optimizer.zero_grad"""), {"changes": ["batch"]})
        self.assertEqual(sorted(re.findall("sizes (.*)", said)), ["12 name", "3 name", "6 name"], said)
        by = {r["change"]: r["saving_ns"] for r in rows["trial"]}
        self.assertLess(abs(by["batch=x2"] - 3.85e6), 1e5)  # of 8.7 ms, half of all but loading, which takes twice as long
        self.assertLess(abs(by["batch=half"] + 7.7e6), 2e5)  # every second step loads nothing

    def test_ranks_that_cannot_agree(self):
        rows, _ = program(TRAINING.replace("100000", "50"), {"changes": ["tf32"]}, WORLD_SIZE="4", RANK="0")
        self.assertIn("do not use torch.distributed", rows["refused"][0]["reason"])

    def test_one_side_of_a_pair_of_processes(self):
        rows, said = program(TRAINING, {"side": {"seconds": 1, "apply": None}})
        self.assertLess(abs(rows["time"][0]["step_ns"] - 7.7e6), 2e5)
        self.assertNotIn("the end", said)

    def test_an_own_sitecustomize_still_runs(self):
        folder = os.path.join(os.environ["TMPDIR"], "own")
        os.makedirs(folder)
        with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as f:
            f.write("print('mine')\n")
        site = os.path.join(os.environ["PYTHONPATH"].split(os.pathsep)[0], "gputrace", "_trial_site")
        done = subprocess.run([sys.executable, "-c", "print('program')"], stdout=subprocess.PIPE, check=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join((site, folder)), "GPUPROF_TRY_PLAN": "no such file"})
        self.assertEqual(done.stdout.decode().split(), ["mine", "program"])


class Api(unittest.TestCase):
    def run_text(self, text):
        env = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + FAKE, "GPUPROF_OFF": "1"}
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def test_a_function_without_pytorch(self):
        said = self.run_text("""
            import time, gputrace as gp
            now, slow = [0], [True]
            time.perf_counter_ns = lambda: now[0]
            def step(): now[0] += 3000000 if slow[0] else 1000000
            r = gp.trial(step, [("fast", lambda: slow.__setitem__(0, False), lambda: slow.__setitem__(0, True))], time_limit=1)
            print(r.trials[0].saving_ns, r.trials[0].low_ns, r.control.saving_ns, r.together, r.step_ns, r.trusted)
            print(r)
        """).splitlines()
        self.assertEqual(said[0], "2000000 2000000 0 None 3000000 True")
        self.assertTrue(said[1].startswith("fast: 3.000 -> 1.000 ms, saves 2.000 ms"))

    def test_twice_with_pytorch(self):
        said = self.run_text(TRAINING.split("for i in")[0] + """
    import gputrace as gp
    def step():
        net(torch.Tensor(2.0))
        optimizer.step()
    for names in (["tf32", "fused"], ["tf32"]):
        r = gp.trial(step, names, time_limit=2)
        print([t.saving_ns > 500000 for t in r.trials], r.trusted, "forward" in net.__dict__, torch._hooks.before)
""").splitlines()
        self.assertEqual(said, ["[True, True] True False []", "[True] True False []"])

    def test_misuse(self):
        said = self.run_text("""
            import gputrace as gp
            for bad in (lambda: gp.trial(3), lambda: gp.trial(print, ["no such"]), lambda: gp.trial(print, [("x", 1, 2)]),
                        lambda: gp.trial(print, [], precision=2)):
                try: bad()
                except (TypeError, ValueError) as e: print(e)
        """).splitlines()
        self.assertEqual(len(said), 4)
        self.assertIn("no change is called 'no such'", said[1])


if __name__ == "__main__":
    unittest.main()
