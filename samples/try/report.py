#!/usr/bin/env python3
"""Tables of what h200.py measured.

    report.py RESULTS... [--markdown]

By hand: the 95% interval of Welch's t, of the difference of the means of processes' medians. A program's processes by hand are those of the
last RESULTS with that change, because machines differ. --markdown prints advice, predicted and measured
savings as rows of pairs/SCORES.md.
"""

import argparse
import json
import math
import re
import statistics


# ---- statistics ----

def t_quantile(df, p=0.975):
    """The quantile of Student's t with DF degrees of freedom, by bisection of its distribution."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)

    def beyond_zero(t, n=2000):
        h = t / n
        f = [(1 + (i * h) ** 2 / df) ** (-(df + 1) / 2) for i in range(n + 1)]
        return scale * h / 3 * (f[0] + f[-1] + 4 * sum(f[1:-1:2]) + 2 * sum(f[2:-1:2]))
    low, high = 0.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 0.5 + beyond_zero(middle) < p else (low, middle)
    return low


def welch(a, b):
    """(difference of the means of A and B, low, high)."""
    va, vb = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    difference = statistics.mean(a) - statistics.mean(b)
    if not va + vb:
        return difference, difference, difference
    half = t_quantile((va + vb) ** 2 / (va ** 2 / (len(a) - 1) + vb ** 2 / (len(b) - 1))) * math.sqrt(va + vb)
    return difference, difference - half, difference + half


# ---- what is in the rows ----

def answers(rows):
    """(run, program, answer) of all trials that gave one."""
    return [(r["run"], r["program"], r["answer"]) for r in rows if r["kind"] == "trial" and "answer" in r]


def trials(rows):
    """(run, program, row of a trial, device) of everything that was tried, controls and those together included."""
    return [(run, program, t, a["device"]) for run, program, a in answers(rows)
            for t in [*a["trials"], *(t for t in (a["control"], a["together"]) if t)]]


def is_control(t):
    return re.fullmatch(r"control\d*", t["change"])


def measured(rows, program, change, preferred=None):
    """The last row of CHANGE in PROGRAM, of run PREFERRED or the one called like the program if these have one, or None."""
    found = [((run == preferred, run == program), t) for run, p, t, _ in trials(rows) if p == program and t["change"] == change and t["status"] == "measured"]
    return max(enumerate(found), key=lambda f: (f[1][0], f[0]))[1][1] if found else None


def by_hand(rows):
    """{(program, change): (ns of processes without it, ns of processes with it)}, of the last call that has both."""
    calls = {}
    for r in rows:
        if r["kind"] == "hand" and "error" not in r:
            calls.setdefault((r.get("call"), r["program"]), {}).setdefault(r["change"], []).append(r["step_ns"])
    return {(program, change): (of[None], on) for (_, program), of in calls.items() if None in of for change, on in of.items() if change}


def ms(ns):
    return f"{ns / 1e6:.3f}" if ns is not None else "-"


def told(low, high):
    return f"{ms(low)} to {ms(high)}"


# ---- tables ----

def line(t):
    if t["status"] != "measured":
        return f"  {t['change'][:24]:<24} {t['status'].replace('_', ' ')}: {t['reason'][:160]}"
    d, more = t["difference"] or {}, []
    more += [f"{key.split('_')[0]} {d[key]:.1e}" for key in ("loss_relative", "outputs_relative", "update_relative") if d.get(key) is not None]
    if t["predicted_low_ns"] is not None:
        more.append(f"predicted {told(t['predicted_low_ns'], t['predicted_high_ns'])}")
    if t["peak_bytes_off"]:
        more.append(f"{(t['peak_bytes_on'] - t['peak_bytes_off']) / 1e6:+.0f} MB")
    return (f"  {t['change'][:24]:<24}{ms(t['off_ns']):>10}{ms(t['on_ns']):>10}{ms(t['saving_ns']):>10} ({told(t['low_ns'], t['high_ns'])}) "
            f"{t['pairs']:4d}x{t['steps_per_block'] or 0:<4d} {', '.join(more)}")


def show_runs(rows):
    for r in rows:
        if r["kind"] == "trial":
            print(f"{r['run']}: exit status {r.get('status')}, {r.get('took_s', 0):.0f} s" + (f"; {r['error']}" if "error" in r else ""))
        if r["kind"] == "trial" and "answer" in r:
            a = r["answer"]
            print(f"  {a['steps']}; {a['device']}" + (f"; {a['refused']}" if a["refused"] else ""))
            for t in [*a["trials"], *(t for t in (a["control"], a["together"]) if t)]:
                if not is_control(t) or t["status"] != "measured":
                    print(line(t))
        if r["kind"] == "fault":
            print(f"{r['run']}: {r['error']}")


def show_controls(rows):
    found = [(run, p, t) for run, p, t, _ in trials(rows) if is_control(t) and t["status"] == "measured" and t["mode"] == "steps"]
    outside = [(run, t) for run, _, t in found if not t["low_ns"] <= 0 <= t["high_ns"]]
    print(f"controls: {len(found)} in {len({p for _, p, _ in found})} programs; zero outside {len(outside)} times")
    for run, t in outside:
        print(f"  {run}: {t['change']}: {ms(t['saving_ns'])} ({told(t['low_ns'], t['high_ns'])}) of {ms(t['off_ns'])}, {t['pairs']}x{t['steps_per_block']}")


def show_prototypes(rows):
    """A prototype prints `CHANGE: X ms off, Y ms on, saves Z ms (LOW to HIGH)`; ours has other names for what it does."""
    from h200 import OURS
    for r in rows:
        if r["kind"] != "prototype":
            continue
        number = re.search(r"([\d.]+) ms off, ([\d.]+) ms on, saves (-?[\d.]+) ms \((-?[\d.]+) to (-?[\d.]+)\)", r["line"] or "")
        of_call = [row for row in rows if row.get("call") == r.get("call")]
        t = measured(of_call, r["program"], OURS.get(r["change"], r["change"]), f"{r['program']}_prototype_{r['change']}")
        if not number or not t:
            print(f"prototype {r['program']} {r['change']}: {r.get('error') or 'no trial to compare it with'}")
            continue
        off, _, saves, low, high = map(float, number.groups())
        apart = abs(saves - t["saving_ns"] / 1e6) / off
        print(f"prototype {r['program']} {r['change']}: {saves:.3f} ({low:.3f} to {high:.3f}) of {off:.3f} ms; ours {ms(t['saving_ns'])} "
              f"({told(t['low_ns'], t['high_ns'])}) of {ms(t['off_ns'])}: apart by {100 * apart:.2f}% of the step")


def show_hand(rows):
    found, held, narrow, compared = by_hand(rows), 0, 0, 0
    for (program, change), (off, on) in sorted(found.items()):
        t = measured(rows, program, change)
        if len(on) < 2 or len(off) < 2:
            print(f"  {program} {change}: {len(off)} and {len(on)} processes")
            continue
        saves, low, high = welch(off, on)
        text = f"  {program:<14}{change:<18}{len(off)}+{len(on)} {ms(statistics.mean(off)):>9} {ms(saves):>9} ({told(low, high)})"
        if t:
            overlap, ratio = t["low_ns"] <= high and low <= t["high_ns"], (t["high_ns"] - t["low_ns"]) / max(1, high - low)
            compared, held, narrow = compared + 1, held + overlap, narrow + (ratio <= 1 / 3)
            text += f"  trial {ms(t['saving_ns'])} ({told(t['low_ns'], t['high_ns'])}) of {ms(t['off_ns'])}, {ratio:.2f} as wide" + ("" if overlap else "  APART")
        print(text)
    failed = [r for r in rows if r["kind"] == "hand" and "error" in r]
    print(f"by hand: {compared} changes compared, {held} overlap, {narrow} trials at most a third as wide; {len(failed)} processes failed"
          + "".join(f"\n  {r['program']} {r['change']}: {r['error'][:160]}" for r in failed[:6]))


def show_table(rows):
    """Each row of the table of changes: in which programs it was measured, or why it was not."""
    listed = [name for r in rows if r["kind"] == "table" for name in re.findall(r"(?m)^  ([a-z0-9_=-]+) ", r["text"])]
    names = list(dict.fromkeys(listed)) or sorted({t["change"] for _, _, t, _ in trials(rows)})
    twice = 0
    for name in names:
        programs = {p for _, p, t, _ in trials(rows) if t["change"] == name and t["status"] == "measured"}
        reasons = dict.fromkeys(f"{t['status'].replace('_', ' ')}: {t['reason']}" for _, _, t, _ in trials(rows) if t["change"] == name and t["reason"])
        twice += len(programs) > 1
        print(f"  {name:<24}{', '.join(sorted(programs)) or 'NOT MEASURED: ' + '; '.join(reasons)[:200]}")
    print(f"changes measured in two programs or more: {twice}")


def predictions(rows):
    """(program, row of a trial, device) with a prediction."""
    return [(p, t, device) for _, p, t, device in trials(rows) if t["predicted_low_ns"] is not None and t["status"] == "measured"]


def inside(t):
    return t["predicted_low_ns"] <= t["high_ns"] and t["low_ns"] <= t["predicted_high_ns"]


def show_predictions(rows):
    found = predictions(rows)
    for program, t, _ in found:
        print(f"  {program:<14}{t['change']:<18}{t['rule']:<18} predicted {told(t['predicted_low_ns'], t['predicted_high_ns'])}, measured "
              f"{ms(t['saving_ns'])} ({told(t['low_ns'], t['high_ns'])}) of {ms(t['off_ns'])}" + ("" if inside(t) else "  OUTSIDE"))
    print(f"predictions that the measured interval meets: {sum(inside(t) for _, t, _ in found)} of {len(found)}")


def markdown(rows):
    print("| program | advice | rule | predicted | measured | inside |\n|---|---|---|---|---|---|")
    for program, t, _ in predictions(rows):
        print(f"| {program} | `{t['change']}` | `{t['rule']}` | {t['predicted_low_ns'] / 1e6:.2f} to {t['predicted_high_ns'] / 1e6:.2f} ms | "
              f"{t['saving_ns'] / 1e6:.2f} ({t['low_ns'] / 1e6:.2f} to {t['high_ns'] / 1e6:.2f}) of {t['off_ns'] / 1e6:.2f} ms | "
              f"{'yes' if inside(t) else 'no'} |")


def show(rows):
    print("devices: " + ", ".join(sorted({a["device"] or "none" for _, _, a in answers(rows)} | {r["device"] for r in rows if "device" in r})))
    for title, table in (("trials", show_runs), ("controls", show_controls), ("prototype", show_prototypes), ("by hand", show_hand),
                         ("table of changes", show_table), ("predicted", show_predictions)):
        print(f"== {title}")
        try:
            table(rows)
        except Exception as e:  # a table that fails must not cost the others
            print(f"{type(e).__name__}: {e}")


def main():
    from h200 import read
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("results", nargs="+")
    p.add_argument("--markdown", action="store_true")
    o = p.parse_args()
    rows = [{**row, "call": number} for number, path in enumerate(o.results) for row in read(path)]
    markdown(rows) if o.markdown else show(rows)


if __name__ == "__main__":
    main()
