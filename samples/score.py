#!/usr/bin/env python3
"""Predicted against measured savings of trace-suggest: the tables of samples/pairs/SCORES.md.

usage: samples/score.py [--jury | --timed | --fit] [BIN_DIR]

For each pair of samples of a rule, the saving is predicted from the first trace only. It was measured by the programs' own
clocks, without a recorder: rows "plain_NAME" of steps.tsv. Where a program was not timed, the times are those that
trace-suggest estimates for both traces (marked ~). Prints a table of the pairs and one of the rules: how often a measured saving lay inside the
interval, how wide that was, and how far a promise called critical or high passed what there was to gain. Exits 1 if fewer than eight in ten measured
savings lie inside the predicted interval, or if a critical suggestion gained less than 1%.

--jury: changes in programs of other people's libraries, by set.

--timed: what is predicted where the step without the recorder is known, in percent of the step, since hosts differ: programs of unseen, whose times
are in unseen/times.tsv; our own pairs in pairs/paced; and the jury's, whose times are given with --step-time. By what was gained, with the constants of
suggest_estimate.c and with those that come from all programs but the one (see odds()). --fit prints these constants.
"""

import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
LISTS = ("programs", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
# The odds of a rule: see odds(). The first is of the logarithm, the second in programs, the others in standard deviations.
ODDS_MOST, FEW, LOW_SIGMAS, HIGH_SIGMAS = 1.5, 5, 1.6, 2
OF_GPU = ("algorithm", "fusion", "memory", "overlap", "parallelization", "transfer")  # types of changes of the GPU's work
BOTH, KINETO = ("trace", "json.gz"), ("json.gz",)  # who recorded it: gpuprof-collect, torch.profiler
# before, after, rule, what was changed, recordings that have what the rule needs
PAIRS = [
    ("decode", "decode_graph", "cuda_graph", "each token by one CUDA graph"),
    ("../h200/decode", "../h200/decode_graph", "cuda_graph", "the same, another program"),
    ("small", "small_compiled", "compile", "torch.compile"),
    ("../h200/eager", "../h200/compiled", "compile", "the same, another program"),
    ("small", "small_fused", "optimizer", "fused AdamW instead of foreach"),
    ("small_forloop", "small_fused", "optimizer", "fused AdamW instead of a loop"),
    ("mlp_pageable", "mlp_pinned", "pageable_copy", "pinned input, non_blocking"),
    ("train_item", "train", "scalar_read", "the loss is not read each step"),
    ("fp32", "tf32", "tensor_cores", "TF32 products"),
    ("math", "flash", "attention", "flash attention"),
    ("ddp_bucket1", "ddp_bucket25", "small_collectives", "25 MB buckets instead of 1 MB"),
    ("pointwise", "pointwise_compiled", "fusion", "elementwise operators compiled"),
    ("activation", "activation_compiled", "fusion", "the same in training"),
    ("decode_graph", "decode_compiled_graph", "fusion", "compiled before it is captured"),
    ("epilogue", "epilogue_fused", "epilogue", "GELU by the product's kernel"),
    ("casts", "casts_none", "cast_churn", "weights in bf16, not cast each step"),
    ("conv", "conv_last", "layout_churn", "channels_last"),
    ("heads", "heads_batched", "batching", "one batch of 64 products"),
    ("constants", "constants_kept", "caching", "a constant made once", KINETO),
    ("gemm_odd", "gemm", "odd_dimensions", "4096 rows and columns, not 4095", KINETO),
    ("pieces", "pieces_async", "synchronous_copy", "pinned copies with non_blocking"),
    ("features", "features_packed", "small_copies", "one copy instead of 64"),
    ("mlp_pinned", "mlp_prefetch", "copy_overlap", "copies on a stream of their own"),
    ("mlp_norms_read", "mlp_norms_kept", "scalar_read", "norms stay on the GPU"),
    ("train_synchronize", "train", "blocking_sync", "no wait at the end of a step"),
    ("mlp_zeroed", "mlp_pinned", "zero_fill", "gradients set to None"),
    ("mlp_empty_cache", "mlp_pinned", "allocation", "cached memory is kept", KINETO),
    ("loading", "loading_workers", "input_stall", "a DataLoader with workers", KINETO),
    ("small_break", "small_compiled", "graph_breaks", "no graph breaks", KINETO),
    ("ddp_each", "ddp_flat", "small_collectives", "one collective, not one for each gradient"),
    ("ddp_skewed", "ddp_even", "straggler", "batches of equal size"),
]
# NAME_2 is the same program in another size.
PAIRS += [(f"{a}_2", f"{b}_2", rule, f"{what}, other sizes", *more) for a, b, rule, what, *more in PAIRS]


def answer(tool, path, *options):
    return json.loads(subprocess.run([tool, "-q", "-f", "json", *options, path], check=True, capture_output=True).stdout)


def times(path, kind="plain_"):
    """The unprofiled step times by name, ns, from a steps.tsv."""
    plain = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        name, _, words = line.partition("\t")
        for word in words.split():
            if name.startswith(kind) and word.startswith("step_mean_ns="):
                plain[name.removeprefix(kind)] = int(word.partition("=")[2])
    return plain


def spreads(path):
    """By name the range of the savings of neighbouring rounds, ns, without the quarter at each end: how well they were measured."""
    rounds = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        name, _, words = line.partition("\t")
        for word in words.split():
            if name.startswith("plain_") and word.startswith("rounds_ns="):
                rounds[name.removeprefix("plain_")] = [int(ns) for ns in word.partition("=")[2].split(",")]
    found = {}
    for name in rounds:
        if f"{name}_after" in rounds:
            low, _, high = statistics.quantiles((a - b for a, b in zip(rounds[name], rounds[f"{name}_after"])), n=4)
            found[name] = (low, high)
    return found


def first_of(report, rule):
    """The suggestion of RULE, which alone was asked for; one that saves nothing where there is none."""
    nothing = {"rule": rule, "formula": "", "evidence": {"replayed_low_ns": 0, "replayed_high_ns": 0}, "saving_ns": 0, "saving_low_ns": 0, "saving_high_ns": 0}
    return (report["suggestions"] + report["not_worth_it"] + [nothing])[0]


def predict(tool, path, rule):
    """Priority, low and high end of what RULE predicts, and the step."""
    report = answer(tool, path, "--rule", rule)
    found = first_of(report, rule)
    return found.get("priority", "none"), found["saving_low_ns"], found["saving_high_ns"], report["step"]


class Score:
    def __init__(self):
        self.rules = {}
        self.false_alarms = self.beyond = self.medians = 0

    def add(self, rule, priority, low, high, saved, step, left, spread=None):
        """A measured saving of a step, and from where to where it was measured; LEFT: what there is to gain, the step less the GPU's work."""
        margin = step // 100 if high == 0 else 0  # no suggestion predicts a saving below what is worth reporting
        least, most = spread or (saved, saved)

        def inside(from_ns, to_ns):
            # Where nothing is suggested, a change that makes the step longer does not count as a miss.
            return (high == 0 or low - margin <= to_ns) and from_ns <= high + margin

        good = inside(min(saved, least), max(saved, most))
        self.medians += inside(saved, saved)
        self.rules.setdefault(rule, []).append((good, 100 * (high - low) / step))
        self.false_alarms += priority == "critical" and saved < step // 100
        self.beyond += priority in ("critical", "high") and low > max(saved, left)
        return good

    def print_rules(self):
        print("\n| rule | inside | median width, % of the step |")
        print("|---|---|---|")
        for rule, rows in sorted(self.rules.items()):
            print(f"| `{rule}` | {sum(good for good, _ in rows)} of {len(rows)} | {statistics.median(w for _, w in rows):.0f} |")

    def total(self):
        rows = [row for rows in self.rules.values() for row in rows]
        return sum(good for good, _ in rows), len(rows), statistics.median([w for _, w in rows] or [0])


# Rules that ask for more than a window of gpuprof-collect records: all calls of the driver, inputs of operators.
NOT_IN_WINDOWS = ("allocation", "caching")


def changes(folder, plain):
    """(name, rule, what, [(recorder, path), ...]) of the changes in programs of other people's libraries that are timed in PLAIN: pytorch/jury_programs.py has
    them, FOLDER the recordings before each."""
    for name, rule, what in re.findall(r'@pair\("(\w+)", "(\w+)", "([^"]*)"', (HERE / "pytorch/jury_programs.py").read_text()):
        if name in plain and f"{name}_after" in plain:
            paths = [(recorder, next(folder.glob(f"{name}{ends}*"), None)) for recorder, ends in (("Kineto", ".kineto.trace"), ("gpuprof", ".trace"))]
            yield name, rule, what, [(recorder, path) for recorder, path in paths if path]  # compressed or not


def jury(tool, folder):
    score, agreed, both, known, recordings = Score(), 0, 0, 0, 0
    plain, spread = times(folder / "steps.tsv"), spreads(folder / "steps.tsv")
    print("| change | rule | recorder | priority | predicted | measured | inside |")
    print("|---|---|---|---|---|---|---|")
    for name, rule, what, paths in changes(folder, plain):
        first = []
        for recorder, path in paths:
            everything = answer(tool, path)["suggestions"]
            first.append(everything[0]["rule"] if everything else None)
            known, recordings = known + (first[-1] == rule), recordings + 1
            if recorder == "gpuprof" and rule in NOT_IN_WINDOWS:
                continue
            priority, low, high, now = predict(tool, path, rule)
            step, saved = plain[name], plain[name] - plain[f"{name}_after"]
            good = score.add(rule, priority, low, high, saved, step, step - now["busy_ns"], spread.get(name))
            print(f"| {what} | `{rule}` | {recorder} | {priority} | {low / 1e6:.2f} to {high / 1e6:.2f} ms "
                  f"| {saved / 1e6:.2f} of {step / 1e6:.2f} ms | {'yes' if good else 'no'} |")
        if len(first) == 2:
            both += 1
            agreed += first[0] == first[1]
    score.print_rules()
    inside, scored, width = score.total()
    print(f"\n{inside} of {scored} inside ({score.medians} the median itself), median width {width:.0f}% of the step; "
          f"low ends of critical or high ones beyond what there was to gain: {score.beyond}; both recordings agree on the first advice in {agreed} of {both}; "
          f"the change that was made comes first in {known} of {recordings} recordings")


class Timed:
    """A change in a program whose steps were timed, in parts of the step: LEAST and MOST of the replay, EXPECTED between LOW and HIGH, and GAINED."""

    def __init__(self, program, suggestion, step, gained):
        step_ns = step["unprofiled_ns"]
        self.program, self.rule, self.gained = program, suggestion["rule"], gained
        self.of_gpu = suggestion.get("type") in OF_GPU
        self.low, self.expected, self.high = (suggestion[f"saving{end}_ns"] / step_ns for end in ("_low", "", "_high"))
        self.beyond = suggestion.get("priority") in ("critical", "high") and self.low > max(gained, 1 - step["busy_ns"] / step_ns)
        self.unsure = "of what is certain to" in suggestion["formula"]
        self.least, self.most = (suggestion["evidence"][f"replayed_{end}_ns"] / step_ns for end in ("low", "high"))

    def inside(self, low, high):
        return (high == 0 or low <= self.gained) and self.gained <= (high or 0.01)


def timed_lists(tool):
    """The first suggestion that names the fix, of the programs of the lists, by the clock of the process that was recorded where that is known."""
    sys.path.insert(0, str(HERE / "unseen"))
    for name in LISTS:
        __import__(name)
    programs, rows = __import__("running").PROGRAMS, []
    for line in (HERE / "unseen/times.tsv").read_text().splitlines()[2:]:
        name, before, fixed, own = line.split("\t")
        path = next((HERE / "unseen").glob(f"h*/{name}.trace"), None)
        report = answer(tool, path) if path else {"suggestions": []}
        named = next((s for s in report["suggestions"] if s["rule"] in programs[name].rules), None)
        if named and report["step"]["unprofiled_source"] == "measured":
            rows.append(Timed(name, named, report["step"], 1 - float(fixed) / float(own if own != "-" else before)))
    return rows


def timed_pairs(tool):
    """Our own pairs, recorded again with the pace (pytorch/pairs_times.py), by the clock of the process that was recorded."""
    path, rows = HERE / "pairs/paced", []
    after, own = times(path / "steps.tsv"), times(path / "steps.tsv", "own_")
    for before, changed, rule, *_ in PAIRS:
        report = answer(tool, path / f"{before}.trace", "--rule", rule) if before in own and changed in after else None
        if report and report["step"]["unprofiled_source"] == "measured":
            rows.append(Timed(before, first_of(report, rule), report["step"], 1 - after[changed] / own[before]))
    return rows


def timed_jury(tool):
    """The programs of the jury, whose steps their own clocks timed without a recorder; not those whose recorded steps were shorter."""
    rows = []
    for folder in sorted(HERE.glob("pairs/jury*")):
        plain = times(folder / "steps.tsv")
        for name, rule, _, paths in changes(folder, plain):
            for recorder, path in paths:
                if recorder == "gpuprof" and rule in NOT_IN_WINDOWS:
                    continue
                try:
                    report = answer(tool, path, "--rule", rule, "--step-time", f"{plain[name]}ns")
                except subprocess.CalledProcessError:
                    continue
                rows.append(Timed(name, first_of(report, rule), report["step"], 1 - plain[f"{name}_after"] / plain[name]))
    return rows


def log_odds(part):
    part = min(max(part, 0.002), 0.998)
    return math.log(part / (1 - part))


def at_odds(part, factor):
    return part * factor / (part * factor + 1 - part)


def odds(rows, rule, of_gpu):
    """By which factors the odds of what was gained differ from those of the replay: of the low end, in the mean, of the high end. By mean and spread of a
    rule's programs, together with FEW programs of all rules that change the GPU's work, or (not OF_GPU) the host's. RULE None: of all these."""
    programs = {}
    for row in rows:
        if row.most >= 0.05 and row.of_gpu == of_gpu:
            off = [max(-ODDS_MOST, min(ODDS_MOST, log_odds(row.gained) - log_odds(of))) for of in (row.least, row.most)]
            for end in (0, 1):
                if end or not row.unsure:
                    programs.setdefault((end, row.rule, row.program), []).append(off[end])
    off, factors = {key: statistics.mean(value) for key, value in programs.items()}, []
    for end, sigmas in ((0, -LOW_SIGMAS), (1, 0), (1, HIGH_SIGMAS)):
        every, mine = [o for key, o in off.items() if key[0] == end], [o for key, o in off.items() if key[:2] == (end, rule)]
        middle = statistics.median(every)
        mean = (sum(mine) + FEW * middle) / (len(mine) + FEW)

        def spread(offs, around):  # of those beyond it on this side
            return 2 * sum((o - around) ** 2 for o in offs if (o - around) * sigmas > 0) / len(offs)

        beyond = (len(mine) * spread(mine or [0], mean) + FEW * spread(every, middle)) / (len(mine) + FEW)
        factors.append(math.exp(mean + sigmas * math.sqrt(beyond)))
    return factors


def without(row, rows):
    """The ends of ROW if the odds come from the other programs."""
    left = [r for r in rows if r.program != row.program]
    mine, others = odds(rows, row.rule, row.of_gpu), odds(left, row.rule, row.of_gpu)
    if row.unsure:
        mine[0], others[0] = odds(rows, None, row.of_gpu)[0], odds(left, None, row.of_gpu)[0]
    ends = []
    for part, end, with_it, left_out in ((row.least, row.low, mine[0], others[0]), (row.most, row.high, mine[2], others[2])):
        usual, other = at_odds(part, with_it), at_odds(part, left_out)
        if end < usual - 0.001:  # something else limits it
            other = min(other, end)
        elif end > usual + 0.001:
            other = max(other, end)
        ends.append(other)
    return ends


def timed(tool):
    sets = {"lists": timed_lists(tool), "pairs": timed_pairs(tool), "jury": timed_jury(tool)}
    rows = [row for part in sets.values() for row in part]
    left_out = {row: without(row, rows) for row in rows}
    print("| program | rule | predicted, % | gained, % | inside | without it |\n|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda r: (r.rule, r.gained)):
        print(f"| {row.program} | `{row.rule}` | {100 * row.expected:.1f} ({100 * row.low:.1f} to {100 * row.high:.1f}) | {100 * row.gained:.1f} "
              f"| {'yes' if row.inside(row.low, row.high) else 'no'} | {'yes' if row.inside(*left_out[row]) else 'no'} |")
    for name, part in (*sets.items(), ("all", rows)):
        print(f"\n{name}: {sum(r.inside(r.low, r.high) for r in part)} of {len(part)} inside, median width {100 * statistics.median(r.high - r.low for r in part):.1f}% of the step; "
              f"if each program is left out {sum(r.inside(*left_out[r]) for r in part)}, {100 * statistics.median(left_out[r][1] - left_out[r][0] for r in part):.1f}%; "
              f"the expected saving is off by {100 * statistics.median(abs(r.expected - r.gained) for r in part):.0f}% of the step in the median, "
              f"{100 * statistics.median(r.expected - r.gained for r in part):+.0f}% with its sign; "
              f"low ends of critical or high ones beyond what there was to gain: {sum(r.beyond for r in part)}")


def fit(tool):
    """The table of suggest_estimate.c: rules of two programs or more, and all rules."""
    rows = timed_lists(tool) + timed_pairs(tool) + timed_jury(tool)
    programs, found = {}, []
    for r in rows:
        if r.most >= 0.05:
            programs.setdefault((r.rule, r.of_gpu), set()).add(r.program)
    for rule, of_gpu in sorted(key for key in programs if len(programs[key]) > 1):
        percents = ",~".join(f"{100 * factor:.0f}" for factor in odds(rows, rule, of_gpu))
        found.append(f'{{"{rule}",~{percents}}},')
    print(textwrap.fill(" ".join(found), 106, initial_indent="    ", subsequent_indent="    ").replace("~", " "))
    for of_gpu, name in ((True, "gpu"), (False, "host")):
        percents = ", ".join(f"{100 * factor:.0f}" for factor in odds(rows, None, of_gpu))
        print(f"static const struct odds odds_of_{name} = {{NULL, {percents}}};")


def main():
    args = [a for a in sys.argv[1:] if a not in ("--jury", "--timed", "--fit")]
    tool = pathlib.Path(args[0] if args else HERE / "../build/release/bin") / "trace-suggest"
    if "--timed" in sys.argv or "--fit" in sys.argv:
        (timed if "--timed" in sys.argv else fit)(tool)
        return 0
    if "--jury" in sys.argv:
        for folder in sorted(HERE.glob("pairs/jury*")):
            print(f"{folder.name}:")
            jury(tool, folder)
        return 0
    plain, score = times(HERE / "pairs/steps.tsv"), Score()
    print("| change | rule | priority | predicted | measured | inside |")
    print("|---|---|---|---|---|---|")
    for before, after, rule, what, *recorded in PAIRS:
        for kind in recorded[0] if recorded else BOTH:
            first, second = (HERE / "pairs" / f"{name}.{kind}" for name in (before, after))
            if not (first.exists() and second.exists()):
                continue
            priority, low, high, now = predict(tool, first, rule)
            step, then = plain.get(before), plain.get(after)
            known = step is not None and then is not None
            if not known:
                step, then = now["unprofiled_ns"], answer(tool, second)["step"]["unprofiled_ns"]
            good = score.add(rule, priority, low, high, step - then, step, step - now["busy_ns"])
            print(f"| {what} ({'gpuprof' if kind == 'trace' else 'Kineto'}) | `{rule}` | {priority} "
                  f"| {low / 1e6:.2f} to {high / 1e6:.2f} ms | {'' if known else '~'}{(step - then) / 1e6:.2f} of {step / 1e6:.2f} ms "
                  f"| {'yes' if good else 'no'} |")
    score.print_rules()
    inside, scored, width = score.total()
    print(f"\n{inside} of {scored} inside, median width {width:.0f}% of the step; critical or high ones whose low end passed what there was to gain: {score.beyond}; "
          f"critical ones that gained less than 1%: {score.false_alarms}")
    return 1 if inside * 10 < scored * 8 or score.false_alarms else 0


if __name__ == "__main__":
    sys.exit(main())
