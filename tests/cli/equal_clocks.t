#!/bin/sh
test_description='what clocks and other processes explain of a change (tests/cli/make_clocks.py)'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
make="python3 $GP_SOURCE/tests/cli/make_clocks.py"
# json FILTER -- a value of the report `out`.
json() { python3 -c "import json; r = json.load(open('out')); print($1)"; }

test_expect_success 'traces' '
    $make base seed=1 && $make same seed=2 && $make low mhz=1760 seed=3 && $make slow mhz=1760 slower=1.05 seed=4 && $make bare clocks=0 seed=5 &&
    $make real slower=1.05 seed=6 && $make busy slower=1.3 others=40 seed=7
'

test_expect_success 'lower clocks are not a regression, and the reason is reported' '
    trace-diff -q -f json base low >out && test "$(json "r[\"summary\"][\"verdict\"]")" = no_change &&
    json "[n[\"text\"] for n in r[\"notes\"] if n[\"id\"] == \"clocks\"]" >note && cat note &&
    grep "clocks were 11.1% lower; at equal clocks .*%.*mean SM clock 1980 and 1760 MHz, the lower one by the power cap" note &&
    trace-diff base low | grep "clocks were 11.1% lower" && trace-diff -q -f json low base >out && test "$(json "r[\"summary\"][\"verdict\"]")" = no_change
'

test_expect_success 'the clocks are a term, and the terms add up to the ns' '
    trace-diff -q -f json base low >out &&
    test "$(json "sum(c[\"change_ns\"] for c in r[\"attribution\"]) == r[\"current\"][\"step_ns\"] - r[\"baseline\"][\"step_ns\"]")" = True &&
    test "$(json "[115000 < c[\"change_ns\"] < 130000 for c in r[\"attribution\"] if c[\"sort\"] == \"clocks\"]")" = "[True]" &&
    python3 "$GP_SOURCE/tests/schema/check_diff.py" "$GP_SOURCE/schemas/trace-diff.schema.json" out
'

test_expect_success 'what is slower at equal clocks stays a regression' '
    test_must_fail trace-diff -q -f json base slow >out && test "$(json "r[\"summary\"][\"verdict\"]")" = regression &&
    test_must_fail trace-diff -q -f json base real >out && test "$(json "r[\"summary\"][\"verdict\"]")" = regression &&
    test "$(json "[c for c in r[\"attribution\"] if c[\"sort\"] == \"clocks\"]")" = "[]"
'

test_expect_success 'gates at equal clocks' '
    trace-diff -q --equal-clocks --gate gpu_time:3% base low >/dev/null && test_must_fail trace-diff -q --equal-clocks --gate gpu_time:3% base slow >/dev/null &&
    test_must_fail trace-diff -q --equal-clocks --gate gpu_time:3% base bare >out && grep "clocks are not recorded on both sides" out &&
    trace-diff -q --gate equal_gpu_time:3% base low >/dev/null && trace-diff -q base same >/dev/null
'

test_expect_success 'another process on one side: nothing is decided' '
    trace-diff -q -f json base busy >out && test "$(json "r[\"summary\"][\"verdict\"]")" = inconclusive &&
    json "[n[\"text\"] for n in r[\"notes\"]]" | grep "other processes used the GPU for 40% of the time, and 0% in the baseline"
'

test_expect_success 'summaries keep clocks' '
    trace-diff -q --baseline-dir d --save s base >/dev/null && trace-diff -q -f json --baseline-dir d --against s low >out &&
    test "$(json "r[\"summary\"][\"verdict\"]")" = no_change
'

test_done
