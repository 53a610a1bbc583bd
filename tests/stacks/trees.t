#!/bin/sh
# The trees of calls of every sample that has stacks: trees.c.
test_description='trees of calls: equal steps have equal trees, and no range lies below what it called'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

test_expect_success 'in every sample' '
    "${GP_BIN%/bin}/tests/trees" $(find "$GP_SOURCE/samples" -name "*.trace") >trees || { cat trees; false; }
'

test_expect_success 'some have ranges with stacks, and some that are equal' '
    grep ": [1-9][0-9]* ranges with a stack, 0 below" trees && grep "; [1-9][0-9]* equal ranges, 0 with" trees
'

test_done
