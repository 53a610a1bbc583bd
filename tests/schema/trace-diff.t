#!/bin/sh
test_description='trace-diff -f json: what the schema describes, and sums that close'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi
schema=$GP_SOURCE/schemas/trace-diff.schema.json
check() { python3 "$GP_SOURCE/tests/schema/check_diff.py" "$@"; }

# report NAME OPTION... -- of whatever can be compared, or not; nothing else may happen.
report() {
    name=$1
    shift
    status_of trace-diff -q -f json "$@"
    case $status in
    0 | 1 | 3) mv out "$name.json" ;;
    *) return 1 ;;
    esac
}

test_expect_success 'each sample can be compared with the next, or it is said why not' '
    for a in "$samples"/h200/*.trace "$samples"/pairs/*.trace; do
        [ -z "$last" ] || report "near.$(basename "$a")" "$last" "$a" || return 1
        last=$a
    done &&
    report same "$last" "$last" && test "$(ls near.*.json | wc -l)" -gt 60
'

test_expect_success 'in every way of comparing' '
    set -- "$samples/pairs/small.trace" "$samples/pairs/small_compiled.trace" &&
    report way1 --by op "$@" && report way2 --by range "$@" && report way3 --mode simple "$@" &&
    report way4 --whole "$@" && report way5 --gate op:5% --gate launches:0 --gate step:1% "$@" &&
    report way6 --any-work "$samples/pairs/math.trace" "$samples/pairs/decode.trace" &&
    report way7 --base "$1" "$1" --current "$2" "$2" "$2" &&
    report way8 "$samples/h200/eager.json.gz" "$samples/h200/compiled.json.gz"
'

test_expect_success JSONSCHEMA 'their reports are what the schema says, and add up' '
    check "$schema" same.json near.*.json way*.json
'

test_expect_success JSONSCHEMA 'swapped sides have every delta with the opposite sign' '
    for pair in "small small_compiled" "small_forloop small_fused" "decode decode_graph" "mlp_pageable mlp_pinned" \
        "fp32 tf32" "small small_break"; do
        set -- $pair &&
        report there "$samples/pairs/$1.trace" "$samples/pairs/$2.trace" &&
        report back "$samples/pairs/$2.trace" "$samples/pairs/$1.trace" &&
        check --mirrored "$schema" there.json back.json || return 1
    done
'

test_expect_success JSONSCHEMA 'GPU time and names are those in the text of the traces' '
    for pair in "small small_compiled" "decode decode_graph" "small_forloop small_fused"; do
        set -- "$samples/pairs/${pair% *}.json.gz" "$samples/pairs/${pair#* }.json.gz" &&
        report whole --whole "$@" && check --sums "$schema" whole.json "$@" || return 1
    done
'

test_expect_success JSONSCHEMA 'the check itself finds what does not add up, and what the schema does not name' '
    report good "$samples/pairs/small.trace" "$samples/pairs/small_compiled.trace" && check "$schema" good.json &&
    jq ".operations[0].change_ns += 1" good.json >sum.json && test_must_fail check "$schema" sum.json >out &&
    grep "operations sum to the total" out &&
    jq ".attribution[0].change_ns += 1" good.json >step.json && test_must_fail check "$schema" step.json >out &&
    grep "attribution sums to the step" out &&
    jq ".total.new_ns = 1" good.json >named.json && test_must_fail check "$schema" named.json >out &&
    grep "new_ns is not in the schema" out &&
    jq ".operations[0].p_value = \"x\"" good.json >typed.json && test_must_fail check "$schema" typed.json &&
    test_must_fail check --mirrored "$schema" good.json good.json
'

test_expect_success JSONSCHEMA 'the schema of predictions is one, and takes what is documented' '
    python3 - "$GP_SOURCE/schemas/expect.schema.json" <<END
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
check = jsonschema.Draft202012Validator(schema)
good = {"schema": "gpuprof/expect/1", "predictions": [
    {"metric": "step", "low_ns": -3, "high_ns": 1}, {"metric": "launches", "low": -2, "high": -1},
    {"idle": "host", "low_pct": -80, "high_pct": -60}, {"operation": "gemm", "low_ns": 1, "high_ns": 2, "rule": "fuse"}]}
assert check.is_valid(good)
for wrong in ({}, {"metric": "step"}, {"metric": "step", "idle": "host", "low": 1, "high": 2}):
    assert not check.is_valid({"schema": "gpuprof/expect/1", "predictions": [wrong]})
END
'

test_done
