#!/bin/sh
test_description='trace-metrics -f json: what the schema describes, in agreement with itself'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi
check() { python3 "$GP_SOURCE/tests/schema/check_metrics.py" "$GP_SOURCE/schemas/trace-metrics.schema.json" "$@"; }

test_expect_success JSONSCHEMA 'reports per kernel, range and launch are what the schema says' '
    "$GP_BIN"/../tests/make_metrics hand.trace && mkdir reports &&
    for per in kernel range launch; do
        trace-metrics -q -f json --per $per hand.trace >reports/$per || return 1
    done &&
    trace-metrics -q -f json --join hand.trace hand.trace >reports/join &&
    trace-metrics -q -f json --metric dram__bytes_read hand.trace >reports/some &&
    for f in copies products step; do
        trace-metrics -q -f json "$samples"/counters/$f.trace >reports/$f || return 1
    done &&
    trace-metrics -q -f json --per range "$samples"/counters/range.trace >reports/recorded &&
    check reports/*
'

test_expect_success JSONSCHEMA 'the check itself finds what is wrong' '
    trace-metrics -q -f json hand.trace >good.json && check good.json &&
    sed "s/\"measured\": /\"new\": 1, \"measured\": /" good.json >named.json && test_must_fail check named.json >out &&
    grep "new is not in the schema" out &&
    sed "s/\"sum\": null/\"sum\": 1/" good.json >sum.json && test_must_fail check sum.json >out &&
    grep "must not be summed" out
'

test_done
