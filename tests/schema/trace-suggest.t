#!/bin/sh
test_description='trace-suggest -f json: what the schema describes, in agreement with itself'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi
schema=$GP_SOURCE/schemas/trace-suggest.schema.json
check() { python3 "$GP_SOURCE/tests/schema/check_suggest.py" "$schema" "$@"; }

test_expect_success 'all samples can be reported on, or cannot be used' '
    mkdir reports && : >unusable &&
    for f in "$samples"/h200/* "$samples"/pairs/*.trace "$samples"/pairs/*.json.gz "$samples"/broken/*.json*; do
        status_of trace-suggest -q -f json --allow-empty -n 0 "$f" &&
        case $status in
        0) mv out "reports/$(basename "$f").report" ;;
        2) test ! -s out && basename "$f" >>unusable ;;
        *) return 1 ;;
        esac || return 1
    done &&
    trace-suggest -q -f json -n 0 --counters "$samples"/counters/step.trace "$samples"/counters/timing.trace >reports/counters.report &&
    test "$(ls reports | wc -l)" -gt 80 && ! grep -v "^\(no_events\|truncated\)" unusable
'

test_expect_success JSONSCHEMA 'their reports are what the schema says' 'check reports/*'

test_expect_success JSONSCHEMA 'the check itself finds what is wrong' '
    trace-suggest -q -f json "$samples"/pairs/decode.trace >good.json && check good.json &&
    sed "s/\"speedup_low\": /\"speedup_low\": 1/" good.json >factor.json && test_must_fail check factor.json >out &&
    grep "speedup_low" out &&
    sed "s/\"action\": /\"new\": 1, \"action\": /" good.json >named.json && test_must_fail check named.json >out &&
    grep "new is not in the schema" out
'

test_expect_success JSONSCHEMA 'the schema of ceilings is one, and takes the example of the man page' '
    sed -n "/^{/,/^}/p" "$GP_SOURCE/analyze/trace-suggest.1" >example.json && test -s example.json &&
    trace-suggest -q -f json --ceilings example.json "$samples"/pairs/decode.trace >out &&
    python3 - "$GP_SOURCE/schemas/ceilings.schema.json" <<-\END
	import json, sys
	import jsonschema
	schema = json.load(open(sys.argv[1]))
	jsonschema.Draft202012Validator.check_schema(schema)
	check = jsonschema.Draft202012Validator(schema)
	good = json.load(open("example.json"))
	check.validate(good)
	for wrong in ({"memory_bytes_per_s": 0}, {"flops_per_s": {"bf17": 1}}, {"empty_kernel_ns": "1"}, {"schema": "gpuprof/ceilings/2"}):
	    assert not check.is_valid({**good, **wrong})
	assert not check.is_valid({"schema": "gpuprof/ceilings/1"})
	END
'

test_done
