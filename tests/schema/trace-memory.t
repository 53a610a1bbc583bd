#!/bin/sh
test_description='trace-memory -f json: what the schema describes, in agreement with itself'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi
schema=$GP_SOURCE/schemas/trace-memory.schema.json
check() { python3 "$GP_SOURCE/tests/schema/check_memory.py" "$schema" "$@"; }

test_expect_success 'all samples can be reported on, or cannot be used' '
    mkdir reports &&
    for f in "$samples"/memory/*.pickle.gz "$samples"/memory/*.trace "$samples"/memory/*.json.gz "$samples"/h200/*; do
        status_of trace-memory -q -f json "$f" && test $status = 0 && mv out "reports/$(basename "$f").report" ||
            return 1
    done &&
    for by in range op module category; do
        trace-memory -q -f json --by $by "$samples"/memory/profile.pickle.gz >reports/$by.report || return 1
    done &&
    trace-memory -q -f json --at oom "$samples"/memory/oom_others.pickle.gz >reports/oom.report &&
    trace-memory -q -f json "$samples"/memory/ddp.rank*.pickle.gz >reports/ranks.report
'

test_expect_success JSONSCHEMA 'their reports are what the schema says' 'check reports/*'

test_expect_success JSONSCHEMA 'the check itself finds what is wrong' '
    trace-memory -q -f json "$samples"/memory/leak.pickle.gz >good.json && check good.json &&
    sed "s/\"peak_bytes\": /\"peak_bytes\": 1/" good.json >peak.json && test_must_fail check peak.json >out &&
    grep "holders of cuda:0" out &&
    sed "s/\"allocations\": /\"new\": 1, \"allocations\": /" good.json >named.json && test_must_fail check named.json >out &&
    grep "new is not in the schema" out
'

test_done
