#!/bin/sh
test_description='traces that were recorded with counters per kernel: every tool says so, and gives no time between launches'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# step.trace and timing.trace are the same program, with counters and without: a step takes 292 ms and 7.86 ms.
counted=$samples/counters/step.trace
timing=$samples/counters/timing.trace
said="measured kernel by kernel, so times between launches are not meaningful"

# all_null JQ -- every member that JQ selects of `out` is null, and there is one.
all_null() { jq -e "[$1] | length > 0 and all(. == null)" out; }
# says FILE -- however its lines are broken.
says() { tr -s ' \n' '  ' <"$1" | grep "$said"; }

test_expect_success 'trace-hta: what each kernel took stays, and all parts of the span are unknown' '
    trace-hta -q -f json -n 0 -s "$counted" >out &&
    all_null ".devices[] | .span_ns, .busy_ns, .idle_ns, .compute_ns, .communication_ns, .memory_ns, .exposed_communication_ns,
        .exposed_memory_ns, .compute_pct, .idle_pct, .idle, .idle_gaps, .begin_ns, .end_ns, .sm_efficiency_pct" &&
    all_null ".launches | .delay, .call, .queue_length, .short_kernels, .max_queue, .queue_full_ns" &&
    all_null "(.ranges + .operators)[] | .host_ns, .delay" &&
    jq -e "(.steps + .parts + .findings + .api + .graphs + .stragglers + .collectives + .critical_path.paths + .devices[0].streams +
        .devices[0].idle_culprits) == [] and .about == \"trace\"" out &&
    jq -e ".quality.verdict == \"clean\" and (.quality.issues | map(.kind) == [\"counters\"])" out &&
    jq -e ".devices[0].gpu_ns == ([.kernels[].total_ns] | add) and .launches.calls == 918" out
'

test_expect_success 'trace-hta: text, page, CSV, DOT and OpenMetrics say it' '
    for f in text html dot openmetrics; do trace-hta -q -f $f "$counted" >$f && says $f || return 1; done &&
    test_must_fail grep -E "A step takes|idle [0-9]|Step time|Launch-bound" text &&
    sed "s/<script.*//" html >page && test_must_fail grep -E "A step takes|Step time|Launch-bound|Why the GPUs were idle" page &&
    test_must_fail grep -E "idle|busy_ratio|step_seconds|launch_seconds|gpu_seconds" openmetrics &&
    grep "^gpuprof_measured_by_kernel 1$" openmetrics && grep "^gpuprof_kernel_seconds_total" openmetrics &&
    trace-hta -q -f csv "$counted" | tr -d "\r" >csv && head -n 1 csv | grep ",note$" &&
    test "$(grep -c "$said" csv)" -eq $(($(wc -l <csv) - 1)) &&
    for t in steps idle breakdown devices critical_path; do
        trace-hta -q -f csv -t $t "$counted" | tr -d "\r" >csv && test "$(wc -l <csv)" -eq 2 && tail -n 1 csv | grep "$said" || return 1
    done
'

test_expect_success 'one such trace among others, and in a partial, is enough' '
    trace-hta -q -f json "$timing" "$counted" >out && all_null ".devices[] | .span_ns, .idle_ns, .idle" && jq -e ".steps == []" out &&
    trace-hta -q --save part "$counted" && trace-hta -q -f json --merge part >out && all_null ".devices[] | .span_ns, .idle"
'

test_expect_success 'trace-suggest: no step, no regime of it and no advice, but what bounds each kernel' '
    trace-suggest -q -f json "$counted" >out && all_null ".step, .together.saving_high_ns, .regime.whole_ns, .regime.idle_ns" &&
    jq -e "(.suggestions + .not_worth_it) == [] and .regime.step == \"unknown\" and (.regime.kernels | length) > 10" out &&
    for f in text html dot; do trace-suggest -q -f $f "$counted" >$f && says $f || return 1; done &&
    test_must_fail grep -E "A step takes|idle [0-9]|[0-9]% idle" text && trace-suggest -q --fail-on low "$counted" >text
'

test_expect_success 'trace-diff: with the same kind of trace only kernels and counts, with another one nothing' '
    trace-diff -q -f json "$counted" "$counted" >out &&
    all_null "(.baseline, .current) | .step_ns, .busy_ns, .idle" && all_null ".operations[].share_ns, .step_list[].wall_ns, .step_list[].busy_ns" &&
    jq -e ".comparable and .attribution == [] and ([.metrics[].metric] | index(\"step\", \"idle\", \"busy\", \"host\") == null) and
        .total.baseline_ns > 3000000" out &&
    for f in text html dot svg; do trace-diff -q -f $f "$counted" "$counted" >$f && says $f || return 1; done &&
    for pair in "$counted $timing" "$timing $counted"; do
        test_expect_code 3 trace-diff -q -f json $pair >out &&
        jq -e ".comparable == false and (.reasons | map(.id) | index(\"counters\") != null) and .summary.verdict == \"not_comparable\"" out || return 1
    done
'

test_expect_success 'trace2flame: time of kernels, and no idle time and no time of the host' '
    for f in svg html speedscope pprof; do trace2flame -q -f $f "$counted" >$f || return 1; done &&
    says svg && says html && says speedscope && (zcat -f pprof | strings | grep "$said") &&
    test_must_fail grep -o "a step takes" svg html && test_must_fail grep "idle: host" html &&
    trace2flame -q -f folded "$counted" | awk "{ n += \$NF } END { print n }" >sum && echo 16208006 >expect && test_cmp expect sum &&
    for w in cpu idle; do
        test_expect_code 2 trace2flame -q -w $w "$counted" >out 2>err && test_must_be_empty out && grep -- "--weight $w: .*$said" err || return 1
    done
'

test_expect_success 'trace2timeline: the events as recorded, without steps, findings and idle time' '
    for f in html svg; do trace2timeline -q -f $f "$counted" >$f && says $f || return 1; done &&
    test_must_fail grep -o "a step takes\|GPU busy\|GPU active" html svg && test_must_fail grep "idle time" svg &&
    trace2timeline -o page.html "$counted" 2>err && says err && test_must_fail grep "a step takes" err
'

test_expect_success 'trace-compile: no time of a step' '
    trace-compile -q -f json "$counted" >out && test_must_fail grep "\"step_ns\": [0-9]" out && trace-compile -q "$counted" >text && says text &&
    test_must_fail grep "292 ms" text
'

test_expect_success 'trace-memory: what is held stays, and no time that passed is given' '
    zcat "$samples"/memory/profile.json.gz | sed "1,/{/s/{/{\"metrics.distorted\": true,/" >distorted.json &&
    trace-memory -f json "$samples"/memory/profile.json.gz | jq "[.devices, .holders, .ranges, .churn]" >expect &&
    trace-memory -q -f json distorted.json >out && jq "[.devices, .holders, .ranges, .churn]" out >same && test_cmp expect same &&
    jq -e ".lifetimes == [] and (.quality.issues | map(.kind) == [\"counters\"])" out &&
    for f in text html; do trace-memory -q -v -f $f distorted.json >$f && says $f || return 1; done &&
    test_must_fail grep -E "[0-9] [mnµ]?s into|How long blocks live" text && tr -s " \n" "  " <text | grep "reserved, in step 4, in Optimizer" &&
    test_must_fail grep "How long blocks live" html &&
    for t in holders ranges allocations stacks; do
        trace-memory -q -f csv -t $t distorted.json | tr -d "\r" >csv && head -n 1 csv | grep ",note$" &&
        test "$(grep -c "$said" csv)" -eq $(($(wc -l <csv) - 1)) || return 1
    done
'

test_expect_success 'trace-convert keeps it: what it writes is such a trace, too' '
    for f in gpuprof chrome; do
        trace-convert -q --to $f "$counted" >copy && trace-hta -q -f json copy >out && all_null ".devices[].span_ns" || return 1
    done
'

test_expect_success '--quiet and --strict: it does not count as damage' '
    trace-hta --strict -f json "$counted" >out 2>err && grep "$said" err && trace-hta -q "$counted" >out 2>err && test_must_be_empty err
'

test_done
