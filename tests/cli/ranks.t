#!/bin/sh
test_description='training on four H200s with planted faults: who is slow and why, collectives, clocks, sums'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if ! command -v jq >/dev/null; then
    skip_all='needs jq'
    test_done
fi
ddp=$GP_SOURCE/samples/ddp/h200

# report NAME -- trace-hta of the ranks of that job, in one file or in one per rank, as hta.json.
report() {
    if [ -f "$ddp/$1.trace" ]; then set -- "$ddp/$1.trace"; else set -- "$ddp/$1".rank?.trace; fi
    trace-hta -q -f json -n 0 -o hta.json "$@"
}

# job NAME RANK CAUSE COLLECTIVES [OF_RANK] -- who is slow, RANK none: nobody; so many collectives, each of known size and matched on
# all ranks that take part, as many of each rank unless OF_RANK says how many. All GPUs are of one machine, so that the offsets of clocks are errors: 0.1 ms at most.
job() {
    name=$1 rank=$2 cause=$3 collectives=$4 of_rank=${5:-$4}
    test_expect_success "$name: slow is rank $rank, by $cause" '
        report $name && jq -r "[.fleet.slow[] | \"\\(.what) \\(.rank) \\(.cause)\"] | join(\", \")" hta.json >got &&
        jq -r "[.findings[].id | select(test(\"^slow_|straggler\"))] | join(\", \")" hta.json >>got &&
        if [ $rank = none ]; then printf "\n\n"; else printf "rank %s %s\nslow_rank\n" $rank $cause; fi >expect &&
        test_cmp expect got && { [ $rank = none ] || jq -e ".findings[0].id == \"slow_rank\" and .findings[0].rank == $rank" hta.json; }
    '
    test_expect_success "$name: sums, collectives, clocks" '
        jq -e "[.devices[] | ([.idle[]] | add) == .idle_ns and
                .compute_ns + .exposed_communication_ns + .exposed_memory_ns + .idle_ns == .span_ns] | length == 4 and all" hta.json &&
        jq -e ".collective_matching | .seen == 4 * $of_rank and .matched == $collectives and .mismatched == 0" hta.json &&
        jq -e "[.collectives[] | .bytes != null] | all" hta.json &&
        jq -e "[.clock_offsets[].offset_ns | fabs < 100000] | length == 4 and all" hta.json
    '
}

job work 1 compute 50
job sleep 1 host 50
job load 1 data_loading 50
job even none none 50
job fsdp none none 140
job experts 1 compute 380 # exchanges of unequal size, which do not end together
job pipeline none none 800 400 # of two stages: other kernels, and each stage waits for the other
job capped none none 50
test_expect_success 'capped: kernels of GPU 0 take longer by what its clock is lower, which is the finding' '
    jq -e "[.findings[] | select(.id == \"clock_low\")][0].rank == 0" hta.json &&
    jq -e ".clocks[0].mean_mhz < 0.92 * .clocks[3].mean_mhz and .clocks[0].reason == \"power_cap\"" hta.json
'

test_done
