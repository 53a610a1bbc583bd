#!/bin/sh
# The traces in samples/ are what a stranger tries first, and the only real captures that every machine has.
test_description='every committed capture: counts of its program, sums, and the way through our format and back'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

if ! command -v python3 >/dev/null; then
    skip_all='needs python3'
    test_done
fi
samples=$GP_SOURCE/samples
check="python3 -S $samples/check_counts.py --bin $GP_BIN"
same="python3 -S $GP_SOURCE/tests/cli/same_events.py"

# counted NAME WORDS: the trace of that name holds what its program prints; see samples/cuda.
counted() {
    name=$1
    shift
    words=$*
    test_expect_success "$name.trace holds what the program did" '
        echo "expect $words" >expect && $check --expect expect "$samples/h200/$name.trace"
    '
}

# By construction of the programs, at their default arguments.
counted streams kernels=144 memcpy=120 memset=48 processes=1
counted graph kernels=240 graph_kernels=200 memcpy=10 memset=10 graph_launches=10 processes=1
counted ranges kernels=65 memcpy=5 memset=5 ranges=60 unranged_kernels=0 processes=1
counted twoproc_exec kernels=600 memcpy=0 memset=0 processes=2

# The hardware's own count of the time in which the GPU was active, against the records of what ran on it.
test_expect_success 'sampled.trace: what was sampled is what ran' '
    trace-hta -q -f json "$samples/h200/sampled.trace" >sampled.json && jq -e "
        (.devices[0] | 100 * .busy_ns / .span_ns) as \$busy |
        (.sampled[] | select(.over == \"whole\" and (.metric | startswith(\"gr__cycles_active\"))).mean) as \$active |
        \$busy > 26 and \$busy < 27 and (\$active - \$busy | fabs) < 0.5" sampled.json
'

# The same work at other clocks, by what the driver reported.
test_expect_success 'random.trace and zeros.trace: the clocks explain the difference' '
    trace-diff -q -f json "$samples/h200/random.trace" "$samples/h200/zeros.trace" >clocks.json && jq -e "
        .summary.verdict == \"no_change\" and .total.change_pct < -15 and
        (.metrics[] | select(.metric == \"equal_gpu_time\").change_pct | fabs) < 1 and
        (.notes[] | select(.id == \"clocks\").text | contains(\"the lower one by the power cap\"))" clocks.json &&
    trace-hta -q -f json --items 8 "$samples/h200/random.trace" >hta.json && jq -e "
        (.clocks[0] | .reason == \"power_cap\" and .mean_mhz > 1470 and .mean_mhz < 1480 and .boost_mhz == 1980) and
        (.energy[] | select(.over == \"steps\") | .joules_per_step > 1.1 and .joules_per_step < 1.2 and .error_j > 0 and
            .joules_per_item == .joules_per_step / 8)" hta.json &&
    trace-hta -q -f json "$samples/h200/random.trace" | jq -e "[.energy[].joules_per_item] | all(. == null)"
'

# check_counts.py adds up the durations itself, from the Chrome form, and compares with the stacks.
for trace in "$samples"/h200/*; do
    test_expect_success PLAIN "sums of stacks close: ${trace##*/}" '$check "$trace"'
done

for trace in "$samples"/h200/*.json.gz; do
    test_expect_success "there and back: ${trace##*/}" '
        trace-convert --to gpuprof -o there.trace "$trace" && trace-convert --to chrome -o back.json there.trace &&
        { test -n "$GP_SANITIZED" || $same "$trace" back.json; }
    '
done

for trace in "$samples"/h200/*.trace; do
    test_expect_success "written again, it is the same trace: ${trace##*/}" '
        trace-convert --to gpuprof -o again.trace "$trace" &&
        trace-convert --to chrome -o one.json "$trace" && trace-convert --to chrome -o two.json again.trace &&
        cmp one.json two.json
    '
done

# The shares of findings that are part of no other: at most all of the time. A sanitizer build reads each sample in one of two ways, by turns.
test_expect_success 'findings explain no time twice, in any sample' '
    mkdir reports && find "$samples" -name "*.trace" -o -name "*.json.gz" | sort >list && test -s list &&
    echo "$samples"/h200/ddp.rank*.json.gz >>list && n=0 && ways="default whole" &&
    while read -r files; do
        n=$((n + 1))
        if test -n "$GP_SANITIZED"; then case $((n % 2)) in 0) ways=default ;; *) ways=whole ;; esac; fi
        for way in $ways; do
            whole=--whole && if test $way = default; then whole=; fi
            trace-hta -q -f json --allow-empty $whole -o reports/$n.$way $files || rm -f reports/$n.$way
        done
    done <list &&
    jq -r "[.findings[] | select(.part_of == null) | .share_pct] | add // 0 | \"\(input_filename) \(.)\"" reports/* >sums &&
    test "$(wc -l <sums)" = "$(ls reports | wc -l)" && test "$(wc -l <sums)" -gt 250 &&
    awk "\$2 > 100.001 { print; bad = 1 } END { exit bad }" sums
'

test_done
