#!/bin/sh
# The Python module on a GPU that is not there: each class of tests/python/test_gputrace.py is a test.
test_description='gputrace: sessions and ranges in Python'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
# The library of a sanitizer build cannot be loaded into an interpreter that was built without; pipe/api.t covers it there.
if [ -n "$GP_SANITIZED" ] || ! command -v python3 >/dev/null; then
    skip_all='no python3, or a sanitizer build'
    test_done
fi
PYTHONPATH=${GP_BIN%/bin}/python
PYTHONDONTWRITEBYTECODE=1
GP_MOCK=$mock
TMPDIR=$PWD
export PYTHONPATH PYTHONDONTWRITEBYTECODE GP_MOCK TMPDIR
unset GPUPROF_OFF GPUPROF_DIR GPUPROF_BIN GPUPROF_INJECT GPUTRACE_PURE
tests="python3 $GP_SOURCE/tests/python/test_gputrace.py"
[ -f "$PYTHONPATH/gputrace/_core.abi3.so" ] && test_set_prereq EXTENSION

test_expect_success EXTENSION 'ranges, by the extension' '$tests Ranges'
test_expect_success EXTENSION 'sessions' '$tests Sessions'
test_expect_success EXTENSION 'the ladder: what each case has and lacks' '$tests Ladder'
test_expect_success EXTENSION 'fork, spawn, exit and a launcher that dies' '$tests Processes'
test_expect_success 'the same ranges without the extension' 'GPUTRACE_PURE=1 $tests Ranges'
test_done
