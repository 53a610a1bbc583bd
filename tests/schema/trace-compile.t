#!/bin/sh
test_description='trace-compile -f json: what the schema describes, in agreement with itself'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi
schema=$GP_SOURCE/schemas/trace-compile.schema.json
runs=$samples/compile/h200
check() { python3 "$GP_SOURCE/tests/schema/check_compile.py" "$schema" "$@"; }

test_expect_success 'all runs can be reported' '
    mkdir reports &&
    for run in "$runs"/*; do
        trace-compile -q -f json "$run"/*[ze] >"reports/$(basename "$run")" || return 1
    done &&
    trace-compile -q -f json --code "$runs/zoo" >reports/code &&
    trace-compile -q -f json --eager "$runs/eager/steps.json.gz" --other-mode "cold=$runs/cold/steps.json.gz" \
        "$runs/reduce" "$runs/reduce/text.log.gz" "$runs/reduce/steps.json.gz" >reports/modes &&
    for log in "$GP_SOURCE"/tests/fuzz/corpus/compile_log/*.log; do
        trace-compile -q -f json "$log" >"reports/$(basename "$log")" || return 1
    done
'

test_expect_success JSONSCHEMA 'their reports are what the schema says' 'check reports/*'

test_expect_success JSONSCHEMA 'the check itself finds what is wrong' '
    check reports/zoo &&
    sed "s/\"dynamo_ns\": /\"dynamo_ns\": 1/" reports/zoo >time && test_must_fail check time >out && grep "classes" out &&
    sed "s/\"effort\": /\"newer\": 1, \"effort\": /" reports/zoo >named && test_must_fail check named >out
'

test_done
