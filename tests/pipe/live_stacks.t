#!/bin/sh
# Stacks that a Python program reads of itself, by collect/stacks: tests/stacks/live.py.
test_description='collect/stacks: what is read in the process is what Python says'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/python.sh"

test_expect_success 'every planted stack is what Python says, and none was broken, cut or refused' '
    python3 "$GP_SOURCE/tests/stacks/live.py" "${GP_BIN%/bin}/tests/liblaunch_stack_live.so" >out || { cat out; false; }
'

test_done
