#!/usr/bin/env python3
"""What must hold of every suggestion of every trace: usage: check_suggestions.py TRACE-SUGGEST FILE...

No saving exceeds the recorded step or what its evidence says is there to gain, the first line does not promise the saving of a
change for looking at something, and rules about the host speak where the GPU is idle for their cause 5% of the step at least.
Prints a line per fault, and at the end how many traces and suggestions there were; exits 1 if there is a fault.
"""

import json
import re
import subprocess
import sys

# The causes of idle time that rules about the host are about; those with None name theirs in the evidence only.
CAUSES = {"lock_wait": "lock", "garbage_collection": "garbage_collection", "logging": "logging", "import": "import",
          "python_overhead": None, "input_stall": None}
LEAST_PCT = 5
# Things to do first that save nothing by themselves.
PREPARES = re.compile(r"(check|find out|look at|record|run it with|read no value|give generation)\b")


def faults_of(report):
    """Faults of one answer, and the number of its suggestions."""
    step, faults = report["step"], []
    everything = report["suggestions"] + report["not_worth_it"]
    if step is None:  # the GPU was measured kernel by kernel: nothing is known of steps, so nothing is advised
        known = everything + [v for v in report["together"].values() if v is not None]
        return (["advice without a step"] if known else []), 0
    for s in everything + [dict(report["together"], rule="together", evidence={})]:
        rule, low, high, evidence = s["rule"], s["saving_low_ns"], s["saving_high_ns"], s["evidence"]
        if not 0 <= low <= high <= step["step_ns"]:
            faults.append(f"{rule} saves {low} to {high} of {step['step_ns']} ns")
        if not step["trusted"] and high:
            faults.append(f"{rule} saves {high} ns in a replay that is not trusted")
        if rule not in CAUSES:
            continue
        idle = evidence.get("idle_ns")
        if idle is None or 100 * idle < LEAST_PCT * step["step_ns"] or evidence["idle_pct"] < LEAST_PCT:
            faults.append(f"{rule} speaks of {idle} ns idle in a step of {step['step_ns']} ns")
        elif rule != "input_stall" and high > idle:
            faults.append(f"{rule} saves {high} of {idle} ns idle")
        if idle is not None and CAUSES[rule] and idle != step["idle"][f"{CAUSES[rule]}_ns"]:
            faults.append(f"{rule} speaks of {idle} ns idle, and the step of {step['idle'][f'{CAUSES[rule]}_ns']}")
    headline = report["summary"]["headline"]
    advice = re.search(r"(?:First|What to do): (.*?)\. That saves ", headline)
    if advice and PREPARES.match(advice[1]) and ", then " not in advice[1]:
        faults.append(f"the first line promises the saving of a change for: {advice[1]}")
    if step.get("recorder") == "gpuprof-collect" and any("with_stack" in json.dumps(s) for s in everything):
        faults.append("an option of torch.profiler for a trace of gpuprof-collect")
    return faults, len(everything)


def main():
    tool, files = sys.argv[1], sys.argv[2:]
    traces = suggestions = host = 0
    failed = False
    for path in files:
        answer = subprocess.run([tool, "-q", "-f", "json", path], capture_output=True)
        if answer.returncode:
            continue  # nothing of the GPU in it
        report = json.loads(answer.stdout)
        faults, n = faults_of(report)
        traces += 1
        suggestions += n
        host += sum(s["rule"] in CAUSES for s in report["suggestions"] + report["not_worth_it"])
        for fault in faults:
            print(f"{path}: {fault}")
            failed = True
    print(f"{traces} traces, {suggestions} suggestions, {host} about the host")
    return failed


if __name__ == "__main__":
    sys.exit(main())
