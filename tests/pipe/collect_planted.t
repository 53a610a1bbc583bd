#!/bin/sh
# Idle time of programs that measure themselves: what the samples say is compared with that, in the same run.
test_description='gpuprof-collect --sample: culprits of idle time, against the truth'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
. "$GP_SOURCE/tests/pipe/python.sh"
planted=$GP_SOURCE/tests/pipe/planted.py
mkdir modules && printf 'import time\nend = time.perf_counter() + 0.016\nwhile time.perf_counter() < end:\n    pass\n' >modules/planted_module.py

# planted WHAT CAUSE FUNCTION [RULE] -- FUNCTION is the first culprit, with CAUSE, and RULE gives the first advice. Which functions a busy machine runs when is up to it,
# so it may take more than one try.
planted() {
    gpuprof-collect --sample=500 -o "$1.trace" python3 -B "$planted" "$mock/libcuda.so.1" "$1" truth modules 2>err &&
    trace-hta -q --whole -f json --top 0 "$1.trace" >"$1.json" &&
    python3 "$GP_SOURCE/tests/pipe/planted_check.py" "$1.json" truth "$2" "$3" &&
    { [ -z "$4" ] || trace-suggest -q -f json "$1.trace" | python3 -c "import json, sys
rules = [s['rule'] for s in json.load(sys.stdin)['suggestions']]
sys.exit(0 if rules[:1] == ['$4'] else 'first advice: ' + repr(rules))"; }
}
test_expect_success 'a loader in the main process' 'on_some_try "planted loader data_loading spin input_stall"'
test_expect_success 'a loader in a worker' 'on_some_try "planted workers data_loading load_data input_stall"'
test_expect_success 'a garbage collection' 'on_some_try "planted garbage garbage_collection collect_garbage garbage_collection"'
test_expect_success 'a logging call' 'on_some_try "planted logging logging spin logging"'
test_expect_success 'a lock' 'on_some_try "planted lock lock take_lock lock_wait"'
# Without steps, an import may be the program's start-up, so nothing is advised.
test_expect_success 'an import' 'on_some_try "planted import import import_module"'
test_expect_success 'workers that are started afresh' 'on_some_try "planted spawned data_loading load_data input_stall"'
test_expect_success 'a wait for the GPU' 'on_some_try "planted item synchronisation .*item"'
test_expect_success 'a long call of C that sleeps' 'on_some_try "planted c_call host call_c python_overhead"'
test_expect_success 'a long call of C that computes' 'on_some_try "planted busy_c python_overhead call_busy_c python_overhead"'
test_expect_success 'Python code' 'on_some_try "planted python python_overhead run_python python_overhead"'
test_done
