#!/bin/sh
# Stacks that a Python program reads of itself, by collect/stacks: tests/stacks/live.py.
test_description='collect/stacks: what is read in the process is what Python says'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
if [ -n "$GP_SANITIZED" ]; then
    skip_all='Python does not load sanitized libraries'
    test_done
fi
python3 -c 'import sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 15))' 2>/dev/null || {
    skip_all='no CPython 3.9 to 3.15'
    test_done
}

test_expect_success 'every planted stack is what Python says, and none was broken, cut or refused' '
    python3 "$GP_SOURCE/tests/stacks/live.py" "${GP_BIN%/bin}/tests/liblaunch_stack_live.so" >out || { cat out; false; }
'

test_done
