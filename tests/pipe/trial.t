#!/bin/sh
# Trials without a GPU: each class of tests/python/test_trial.py is a test.
test_description='trials of gputrace on a simulated clock'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
if [ -n "$GP_SANITIZED" ] || ! command -v python3 >/dev/null; then
    skip_all='no python3, or a sanitizer build, in which Python is the same'
    test_done
fi
PYTHONPATH=${GP_BIN%/bin}/python
PYTHONDONTWRITEBYTECODE=1
TMPDIR=$PWD
export PYTHONPATH PYTHONDONTWRITEBYTECODE TMPDIR
unset GPUPROF_TRY GPUPROF_TRY_PLAN RANK WORLD_SIZE
tests="python3 $GP_SOURCE/tests/python/test_trial.py"

test_expect_success 'intervals, and how often they hold the truth' '$tests Statistics'
test_expect_success 'the design: planted savings, drift, failures, ends' '$tests Design'
test_expect_success 'which changes are tried' '$tests Suggested'
test_expect_success 'ranks follow one schedule' '$tests Ranks'
test_expect_success 'programs on a stand-in for PyTorch' '$tests Programs'
test_expect_success 'gputrace.trial()' '$tests Api'
test_done
