#!/bin/sh
# Digests of a recording while it runs: --digest, and trace-fleet at the other end.
test_description='gpuprof-collect --digest: steps arrive, and nothing waits for the receiver'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

short=$(mktemp -d) || exit 1
running=
trap 'kill $running 2>/dev/null; wait; rm -rf "$short"; exit' EXIT

# fleet NAME ARG... -- a trace-fleet that listens at $short/NAME, its digests in the file NAME, and its number in fleet_pid.
fleet() {
    name=$1
    shift
    trace-fleet --duration 120 -l "$short/$name" --record $name -o $name.metrics -f openmetrics "$@" 2>$name.err &
    fleet_pid=$!
    running="$running $fleet_pid"
    for i in $(seq 600); do [ ! -S "$short/$name" ] || return 0; sleep 0.05; done
    return 1
}
gone() { kill $fleet_pid && wait $fleet_pid; }

test_expect_success 'the digests of a run arrive, and the trace is what it is without them' '
    echo a secret of this job >secret && chmod 600 secret && fleet job --secret secret &&
    RANK=3 $collect --digest "$short/job" --digest-secret secret -o with.trace $app launch 300 2>err &&
    ! grep "digest" err && gone && grep "^gpuprof_fleet_digests_total [1-9]" job.metrics &&
    grep "^gpuprof_fleet_dropped_total 0$" job.metrics && RANK=3 $collect -o without.trace $app launch 300 2>err &&
    count() { trace-hta -q -f json $1 | jq "[.kernels[].count] | add"; } && test "$(count with.trace)" = "$(count without.trace)"
'

test_expect_success 'nobody listens: the command runs, the trace is whole, the loss is reported' '
    $collect --digest "$short/nobody" -o whole.trace $app launch 300 2>err && facts whole.trace && has gpu 300 &&
    grep "trace-fleet: .*nobody: cannot connect" err &&
    status_of $collect --digest "$short/nobody" -o none.trace sh -c "exit 7" && test "$status" -eq 7
'

test_expect_success 'a sender that is killed costs only digests' '
    fleet lost && $collect --digest "$short/lost" -o killed.trace sh -c "
        for c in \$(cat /proc/\$PPID/task/\$PPID/children); do [ \$c = \$\$ ] || kill -KILL \$c; done; exec \"\$@\"" sh $app launch 300 2>err && gone &&
    trace-hta -q -f json killed.trace | jq -e "[.kernels[].count] | add == 300"
'

test_expect_success 'what cannot be had is refused before the command starts' '
    for wrong in "--digest nonsense" "--digest-secret secret" "--hub --digest $short/x"; do
        status_of $collect $wrong $(case $wrong in --hub*) ;; *) echo -o x.trace touch ran ;; esac) </dev/null &&
        test "$status" -eq 125 && grep -e "--digest\|--hub" err || return 1
    done && test ! -e ran
'

test_done
