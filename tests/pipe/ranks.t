#!/bin/sh
# Four ranks on the mock GPU, one of them with a planted fault: who is slow, and why.
test_description='a slow rank is named with its cause: in one trace, in one per rank, and live'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
. "$GP_SOURCE/tests/pipe/python.sh"

short=$(mktemp -d) || exit 1
fleet=
trap '[ -z "$fleet" ] || kill $fleet 2>/dev/null; wait; rm -rf "$short"; exit' EXIT

# ranks FAULT STEPS OPTION... -- records that job.
ranks() {
    fault=$1 steps=$2
    shift 2
    gpuprof-collect --sample "$@" python3 "$GP_SOURCE/tests/pipe/ranks.py" "$mock/libcuda.so.1" 4 $steps $fault 2>err
}
# slow EXPECTED FILE... -- rank and cause of those that trace-hta names, the first finding first.
slow() {
    expect=$1
    shift
    trace-hta -q -f json -o hta.json "$@" && jq -r "[.findings[0].id, (.fleet.slow[] | .rank, .cause)] | join(\" \")" hta.json >got &&
    test "$(cat got)" = "$expect" || { cat got; return 1; }
}
closes() { jq -e "[.devices[] | ([.idle[]] | add) == .idle_ns] | length == 4 and all" hta.json >all; }

nobody() { ranks none 40 -o none.trace && slow "exposed_communication" none.trace && closes; }
test_expect_success 'nobody is slow' 'on_some_try nobody'

work() { ranks work 40 -o work.trace && slow "slow_rank 3 compute" work.trace && jq -e ".fleet.slow[0].kernel == \"matmul_kernel\"" hta.json; }
test_expect_success 'a rank with more work, by its kernel' 'on_some_try work'

sleeps() { ranks sleep 40 -o sleep.trace && slow "slow_rank 3 host" sleep.trace && closes; }
test_expect_success 'a rank whose host sleeps' 'on_some_try sleeps'

loads() { ranks load 40 -o load.trace && slow "slow_rank 3 data_loading" load.trace && closes; }
test_expect_success 'a rank whose data come late' 'on_some_try loads'

each() { rm -f load.*.trace; ranks load 40 -o load.%r.trace && slow "slow_rank 3 data_loading" load.0.trace load.1.trace load.2.trace load.3.trace; }
test_expect_success 'the same from a trace per rank' 'on_some_try each'

live() {
    rm -f "$short/job" events
    trace-fleet --duration 120 -l "$short/job" -f json -o events 2>fleet.err &
    fleet=$!
    for i in $(seq 600); do [ ! -S "$short/job" ] || break; sleep 0.05; done
    ranks load 280 --digest "$short/job" -o /dev/null
    kill $fleet && wait $fleet
    fleet=
    jq -r "select(.event == \"slow\") | [.rank, .cause] | join(\" \")" events >got && test "$(head -n 1 got)" = "3 data_loading" || { cat got; return 1; }
}
test_expect_success 'and while the job runs: samples come as soon as the work of the GPU' 'on_some_try live'

test_done
