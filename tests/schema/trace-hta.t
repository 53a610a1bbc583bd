#!/bin/sh
test_description='trace-hta -f json: what the schema describes, and sums that close'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi
schema=$GP_SOURCE/schemas/trace-hta.schema.json
check() { python3 "$GP_SOURCE/tests/schema/check_hta.py" "$schema" "$@"; }

# REPORT and what Python can sum its kernels from, for all samples: one line each, checked at once.
# report FILE NAME AGAINST OPTION... -- what cannot be used ends with status 2 and is not checked.
report() {
    file=$1 name=$2 against=$3
    shift 3
    status_of trace-hta -q -f json --allow-empty "$@" "$file"
    case $status in
    0) mv out "$name" && printf '%s%s\n' "$name" "${against:+	$against}" >>list ;;
    2) test ! -s out && echo "$name" >>unusable ;;
    *) return 1 ;;
    esac
}

test_expect_success 'all samples can be reported on, or cannot be used' '
    : >list && : >unusable &&
    for f in "$samples"/h200/*.json.gz; do
        name=$(basename "$f") && report "$f" "$name.all" "$f" -n 0 -s && report "$f" "$name.top" "" || return 1
    done &&
    for f in "$samples"/h200/*.trace "$samples"/broken/*.json*; do
        name=$(basename "$f") && report "$f" "$name.all" - -n 0 -s || return 1
    done &&
    test "$(wc -l <list)" -gt 40 && ! grep -v "^\(no_events\|truncated\)" unusable
'

test_expect_success JSONSCHEMA 'their reports are what the schema says, and add up' '
    check <list
'

test_expect_success JSONSCHEMA 'several ranks' '
    trace-hta -q -f json -n 0 "$samples"/h200/ddp.rank*.json.gz >out &&
    check out "$samples"/h200/ddp.rank*.json.gz
'

test_expect_success JSONSCHEMA 'the check itself finds what does not add up, and what the schema does not name' '
    trace-hta -q -f json "$samples"/h200/streams.trace >good.json &&
    sed "s/\"idle_ns\": /\"idle_ns\": 1/" good.json >sum.json && test_must_fail check sum.json >out && grep "sum" out &&
    sed "s/\"launches\": {/\"launches\": {\"new_ns\": 1,/" good.json >named.json &&
    test_must_fail check named.json >out && grep "new_ns is not in the schema" out &&
    sed "s/\"rank\": null/\"rank\": \"x\"/" good.json >typed.json && test_must_fail check typed.json
'

test_done
