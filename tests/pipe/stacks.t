#!/bin/sh
# Stacks of launches: a program that knows them, on the mock GPU; what is in the trace is what Python says there.
test_description='gpuprof-collect --stacks: the exact Python stack of each launch'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
. "$GP_SOURCE/tests/pipe/python.sh"
program="$GP_SOURCE/tests/pipe/stacks.py"

# record WHAT OPTION... -- into WHAT.trace, WHAT.json and WHAT.truth.
record() {
    what=$1
    shift
    rm -f "$what.truth"
    $collect "$@" -o "$what.trace" python3 "$program" "$mock/libcuda.so.1" "$what" "$what.truth" 2>err
    ended=$?
    trace-convert -q --to chrome "$what.trace" >"$what.json"
}
# same WHAT -- every launch of it has its stack; their number is in the file `compared`.
same() { python3 "$program" check "$1.json" "$1.truth" >compared; }
no_stacks() { ! grep "stackFrames\|\"sf\":" "$1.json"; }

test_expect_success 'functions, generators, lambdas, callbacks, coroutines, code that is made and thrown away' '
    record functions && same functions && test "$(cat compared)" -ge 250
'

test_expect_success 'the same without records of calls: the work has the stacks' '
    record functions --api none && same functions && ! grep cuda_runtime functions.json
'

test_expect_success 'threads that come and go' 'record threads && same threads && test "$(cat compared)" -ge 3600'

test_expect_success 'a replayed kernel has the stack of its capture, the call that replayed it has its own' '
    record graph && same graph && test "$(cat compared)" = 15 && record graph --api none && same graph
'

test_expect_success 'processes of one trace, one of which became another program' '
    record several && same several && test "$(cat compared)" -ge 800 && facts several.trace && has processes 3
'

test_expect_success 'a program that forks and runs others while it uses the GPU' 'record fork && same fork'

killed() { record killed; test $ended = 137 && same killed; }
test_expect_success 'a program that is killed keeps the stacks that were flushed' 'on_some_try killed'

test_expect_success 'stacks that cannot be had are counted: at the end, in the trace and by trace-hta' '
    record deep && no_stacks deep && grep " 0 lost, 5 calls whose stack could not be read" err &&
    facts deep.trace && has gpu 5 && grep "\"what\":\"stacks\",\"reason\":\"too deep\",\"count\":" deep.json &&
    trace-hta deep.trace >hta 2>&1 && grep "calls whose stack the collector could not read: 5" hta && ! grep "collector lost" hta
'

test_expect_success 'a trace in another format and back has the same stacks' '
    record functions && trace-convert -q --to gpuprof functions.json >back.trace &&
    trace-convert -q --to chrome back.trace >functions.json && same functions
'

test_expect_success 'none, samples, and what is neither' '
    record functions --stacks=none && no_stacks functions && facts functions.trace && has sample 0 &&
    record functions --stacks=sample && no_stacks functions &&
    trace-convert -q --to chrome functions.trace >functions.json && grep " samples" err &&
    for word in bad "" LAUNCH; do
        status_of gpuprof-collect --stacks=$word -o t true && test $status = 125 && grep -e --stacks err || return 1
    done
'

test_expect_success 'samples do not replace the stacks of launches' '
    record functions --sample=400 && same functions && grep " samples" err
'

test_expect_success 'a program without Python has native stacks' '
    $collect -o t $app launch 100 2>err && facts t && has gpu 100 && ! grep -i "python\|stack" err &&
    trace2flame -q -f folded t >app.folded && grep "^app\.c([0-9]*): launch_thread;app\.c([0-9]*): launch;gemm" app.folded
'

test_expect_success 'with --stacks=native, native frames lie below those of Python' '
    record functions --stacks=native && grep "\"category\":\"native\"" functions.json
'

test_expect_success 'hashes instead of names and files with --redact' '
    record functions --redact && grep stackFrames functions.json && ! grep "recurse\|stacks\.py\|made[0-9]" functions.json
'

test_done
