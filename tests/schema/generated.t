#!/bin/sh
test_description='schemas are made from the records of the answers (--update writes them)'
update=
[ "${1:-}" != --update ] || { update=yes; shift; }
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

make=${GP_BIN%/bin}/tests/gp_schema
parts=$GP_SOURCE/schemas/parts
for part in "$parts"/*.json; do
    tool=$(basename "$part" .json)
    grep -q "\"\$schema\":" "$part" || continue
    [ -z "$update" ] || "$make" "$parts" "$tool" >"$GP_SOURCE/schemas/$tool.schema.json" || exit 1
    test_expect_success "$tool" "
        '$make' '$parts' '$tool' >made && test_cmp '$GP_SOURCE/schemas/$tool.schema.json' made
    "
done

rows=$GP_SOURCE/collect/python/gputrace/_rows.py
[ -z "$update" ] || "$make" --python >"$rows" || exit 1
test_expect_success "the rows of gputrace's results" '
    "$make" --python >made && test_cmp "$rows" made
'

test_expect_success 'a record that does not exist is named' '
    mkdir wrong && echo "{ \"rows\": @list nothing@ }" >wrong/trace-hta.json &&
    test_must_fail "$make" wrong trace-hta 2>err && grep "trace-hta has no record .nothing." err
'

test_done
