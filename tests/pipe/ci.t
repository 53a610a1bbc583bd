#!/bin/sh
# The action for builds, step by step; tests/long.sh --site has the linters of npm.
test_description='samples/ci: records, compares, comments, and keeps the baseline'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
if ! python3 -c 'import yaml' 2>/dev/null || ! command -v bash >/dev/null; then
    skip_all='no bash, or no yaml for Python (package python3-yaml)'
    test_done
fi
mkdir bin
printf '#!/bin/sh\necho "$@" >>comments\n' >bin/gh
chmod +x bin/gh
PATH=$PWD/bin:$PATH
# act EVENT LAUNCHES [INPUT=VALUE...] -- the action, as a pull request or a push to the main branch runs it.
act() {
    event=$1 launches=$2 && shift 2 && rm -rf gpuprof summary comments &&
        status_of python3 "$GP_SOURCE/tests/pipe/ci_steps.py" "$samples/ci/action.yml" "$event" "command=$app launch $launches 1 1" \
            "options=--no-clocks" "$@" && cat out err
}

test_expect_success 'a pull request before there is a baseline passes, and says so; it keeps none' '
    act pull_request 20 && test "$status" -eq 0 && grep "no baseline of gpu" summary && grep "7 --edit-last" comments && test ! -d gpuprof-baseline
'
test_expect_success 'the main branch keeps its recording, and comments nowhere' '
    act push 20 && test "$status" -eq 0 && test -d gpuprof-baseline/gpu && test ! -e comments && ! grep "step: verdict" out
'
test_expect_success 'the same work passes; a launch more fails, after the comment, the annotation and the report' '
    act pull_request 20 runs=2 gates=counts && test "$status" -eq 0 && test -f gpuprof/2.trace && grep "counts: launches.*holds" summary &&
    act pull_request 21 gates=counts && test "$status" -eq 1 && grep "counts: launches.*BROKEN" summary && test -f comments &&
    grep "^::error file=app.c,line=[0-9]*,title=counts%3A launches::launch calls: 21 in most steps, 20 before" out && grep "<failure message=.launch calls: 21" gpuprof/junit
'
test_expect_success 'what is merged is the baseline from then on; another name begins afresh' '
    act push 21 gates=counts && test "$status" -eq 0 && act pull_request 21 gates=counts && test "$status" -eq 0 &&
    act pull_request 20 gates=counts && test "$status" -eq 0 && act pull_request 25 name=other && test "$status" -eq 0 && grep "no baseline of other" summary
'
test_expect_success 'no comment without a token; a command that fails is a job that fails' '
    act pull_request 20 token= && test ! -e comments && act pull_request x "command=false" && test "$status" -ne 0
'
test_done
