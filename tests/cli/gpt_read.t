#!/bin/sh
test_description='the binary trace as described: a reader written from schemas/gpt-1.md alone sees what the C reader sees'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

dump=$GP_BIN/../tests/gpt_dump
read=$GP_SOURCE/schemas/gpt_read.py
command -v python3 >/dev/null && test_set_prereq PYTHON

# agree FILE EVENTS: both readers print the same events, at least so many, and no issue; a sanitizer build only reads them
agree() {
    "$dump" "$1" >by_c && test "$(wc -l <by_c)" -ge "$2" || return 1
    if [ -n "$GP_SANITIZED" ]; then cp by_c by_python; else python3 "$read" "$1" >by_python; fi && test_cmp by_c by_python
}

for seed in 1 3 5; do
    test_expect_success PYTHON "random columns, seed $seed" "
        '$dump' -g $seed 700 random.trace &&
        agree random.trace 9100
    "
done

test_expect_success PYTHON 'launches' "
    '$dump' -g 2 2000 launches.trace &&
    agree launches.trace 4000
"

test_expect_success PYTHON 'events of every kind, in compressed blocks' "
    '$dump' -w '$GP_SOURCE/tests/cli/data/every_kind.json' kinds.trace &&
    agree kinds.trace 23 &&
    grep -q ' none ' by_python && ! grep ' 18446744073709551615' by_python
"

test_expect_success PYTHON 'a damaged block is reported and left out' "
    '$dump' -g 2 2000 hurt.trace &&
    size=\$(wc -c <hurt.trace) &&
    printf X | dd of=hurt.trace bs=1 seek=\$((size / 2)) conv=notrunc 2>/dev/null &&
    python3 '$read' hurt.trace >out &&
    grep '^issue bad_block' out &&
    '$dump' hurt.trace >by_c &&
    grep -v '^issue' out >by_python &&
    test_cmp by_c by_python
"

test_done
