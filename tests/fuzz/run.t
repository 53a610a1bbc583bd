#!/bin/sh
# The table of run.sh: sums over runs, minimums, findings. The targets here are scripts.
test_description='tests/fuzz/run.sh: executions against a minimum'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

FUZZ_BUILD=$PWD/build FUZZ_JOBS=2 FUZZ_LEAST=100
export FUZZ_BUILD FUZZ_JOBS FUZZ_LEAST
mkdir -p build/tests

# target NAME EXECUTIONS [STATUS [FINDING]]: one that says that it made so many.
target() {
    printf '#!/bin/sh\n' >build/tests/fuzz_$1_replay
    cat >build/tests/fuzz_$1 <<END
#!/bin/sh
echo "#2	INITED cov: 7 ft: 8"
echo "#$2	DONE   cov: 9 ft: 9"
echo "stat::number_of_executed_units: $2"
[ -z "$4" ] || touch "$FUZZ_BUILD/runs/$1/findings/$4"
exit ${3:-0}
END
    chmod +x build/tests/fuzz_$1 build/tests/fuzz_$1_replay
}
run() { status_of "$GP_SOURCE/tests/fuzz/run.sh" "$@"; }
# row NAME FIELD...: the fields in which a row of the table begins.
row() { sed 's/  */ /g' out | grep "^$*"; }

test_expect_success 'what has not run enough fails, and the executions of further runs are added' '
    target gpt 60 && target names 100 &&
    run 1 gpt names && test $status = 1 &&
    row gpt "[0-9]*" 60 "[0-9]*" 60 7 "->" 9 "40 executions are missing" &&
    row names "[0-9]*" 100 "[0-9]*" 100 7 "->" 9 clean &&
    run 1 gpt && test $status = 0 &&
    row gpt "[0-9]*" 60 "[0-9]*" 120 7 "->" 9 clean
'
test_expect_success 'with no minutes nothing runs, and the table shows what there is' '
    run 0 gpt names decode && test $status = 1 &&
    row gpt "[0-9]*" 60 "[0-9]*" 120 &&
    row decode 0 0 0 0 - "100 executions are missing"
'
test_expect_success 'readers need a million executions, whole tools and analyses a hundred thousand' '
    (unset FUZZ_LEAST && run 0 gpt trace-hta hta && test $status = 1 &&
    row gpt "[0-9]*" 60 "[0-9]*" 120 7 "->" 9 "999880 executions are missing" &&
    row trace-hta 0 0 0 0 - "100000 executions are missing" &&
    row hta 0 0 0 0 - "100000 executions are missing")
'
test_expect_success 'a finding fails, and the count begins anew once it is gone' '
    target gpt 500 77 crash-1 &&
    run 1 gpt && test $status = 1 &&
    row gpt "[0-9]*" 500 "[0-9]*" 0 7 "->" 9 "1 in .*runs/gpt/findings" &&
    rm build/runs/gpt/findings/crash-1 && target gpt 60 &&
    run 1 gpt && test $status = 1 &&
    row gpt "[0-9]*" 60 "[0-9]*" 60 7 "->" 9 "40 executions are missing"
'
test_expect_success 'a target that ends without a finding and without success fails' '
    target gpt 500 1 &&
    run 1 gpt && test $status = 1 &&
    row gpt "[0-9]*" 500 "[0-9]*" 0 7 "->" 9 "ended with 1"
'
test_done
