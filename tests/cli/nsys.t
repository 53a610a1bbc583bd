#!/bin/sh
test_description='exports of Nsight Systems: every table, every layout, and files that mean harm'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

export=$GP_SOURCE/tests/nsys/nsys_export.py
hostile=$GP_SOURCE/tests/nsys/hostile.py
python3 -S -c 'import sqlite3' 2>/dev/null || { echo '1..0 # SKIP python3 without sqlite3'; exit 0; }
printf 'SQLite format 3' >head.sqlite
printf '\0' >>head.sqlite
if trace-convert head.sqlite 2>&1 | grep -q 'this build cannot read'; then
    test_expect_success 'a build without SQLite names the package' '
        status_of trace-hta head.sqlite &&
        test "$status" = 2 &&
        grep libsqlite3-dev err
    '
    test_done
    exit
fi

# events FILE: what trace-convert reads, one event per line, without what is not one.
events() {
    trace-convert -q --to chrome "$1" | jq -c '.traceEvents[] | select(.ph != "M" and .cat != "ac2g")'
}

# The fields of trace-hta that two recordings of one program share.
answer() {
    trace-hta -q -f json --top 0 "$1" |
        jq -S '{kernels: [.kernels[] | {name, class, count, total_ns}], idle: [.devices[].idle],
            busy: [.devices[].busy_ns], span: [.devices[].span_ns]}'
}

# Without the savings: their low end leaves out what the recorder added, which differs by recorder.
advice() {
    trace-suggest -q -f json "$1" | jq '[.suggestions[] | {rule, priority, operation, current_ns}]'
}

for schema in 3.1 3.16 3.24; do
    test_expect_success "schema $schema: every table becomes what it should" "
        python3 -S '$export' --schema $schema p$schema.sqlite &&
        events p$schema.sqlite | jq -c 'select(.name != \"cudaEvent\")' >p$schema.events &&
        test_cmp '$GP_SOURCE/tests/nsys/program.events' p$schema.events
    "
done

test_expect_success 'the time of a CUDA event is the end of its call where the export lacks one' '
    events p3.16.sqlite | jq -c "select(.name == \"cudaEvent\") | [.ts, .args.event_id, .args.correlation]" >out &&
    echo "[1.953,2,30]" >expected && test_cmp expected out &&
    events p3.24.sqlite | jq -c "select(.name == \"cudaEvent\") | [.ts, .args.event_id, .args.correlation]" >out &&
    echo "[5,2,30]" >expected && test_cmp expected out
'

test_expect_success 'equal correlation ids of two processes are two launches' '
    trace-hta -q -f json p3.24.sqlite >p.json &&
    jq -e "[.devices[] | {device, kernels: .busy_ns}] | length == 2" p.json &&
    jq -e ".quality.issues | map(select(.kind == \"no_correlation\")) | length == 0 or .[0].count <= 1" p.json
'

test_expect_success 'the clock among GPU metrics is that of the device, as gpuprof-collect records it' '
    trace-hta -q -f json p3.24.sqlite >p.json &&
    jq -e "[.clocks[] | [.device, .busy_ns, .boost_mhz, .p10_mhz, .p90_mhz, .below_ns]] == [[0, 6000, 1980, 1320, 1980, 4500]]" p.json
'

test_expect_success 'facts: devices by ordinal, ranks, clock, versions, warnings' '
    trace-convert -q --to chrome p3.24.sqlite >p.json &&
    jq -e ".deviceProperties | map([.id, .uuid, .numSms]) == [[0, \"GPU-0\", 132], [1, \"GPU-1\", 132]]" p.json &&
    jq -e ".baseTimeNanoseconds == 1700000000000000000" p.json &&
    jq -e ".collector == \"Nsight Systems 2026.1.1.204\" and .nsys_schema == \"3.24.1\"" p.json &&
    jq -e ".gpuprofLosses[0].reason | contains(\"dropped\")" p.json
'

for pair in eager:3.1 eager:3.16 eager:3.24 decode:3.24 streams:3.16 ddp:3.24 compiled:3.1; do
    sample=${pair%:*} schema=${pair#*:}
    test_expect_success "$sample as $schema: the same kernels, idle causes and advice as our recording" "
        trace-convert -q --to chrome '$samples/h200/$sample.trace' >$sample.json &&
        rm -f like.sqlite &&
        python3 -S '$export' --schema $schema --like $sample.json like.sqlite &&
        answer '$samples/h200/$sample.trace' >ours && answer like.sqlite >theirs && test_cmp ours theirs &&
        advice '$samples/h200/$sample.trace' >ours && advice like.sqlite >theirs && test_cmp ours theirs
    "
done

test_expect_success 'through our format and Chrome JSON and back, the answer stays the same' '
    trace-convert -q --to chrome "$samples/h200/eager.trace" >eager.json &&
    rm -f like.sqlite && python3 -S "$export" --schema 3.24 --like eager.json like.sqlite &&
    trace-convert -q like.sqlite >a.trace && trace-convert -q --to chrome a.trace >a.json && trace-convert -q a.json >b.trace &&
    for f in like.sqlite a.trace a.json b.trace; do
        trace-hta -q -f json --top 0 "$f" | jq -S "del(.inputs)" >"$f.hta" || return 1
    done &&
    test_cmp like.sqlite.hta a.trace.hta && test_cmp like.sqlite.hta a.json.hta && test_cmp like.sqlite.hta b.trace.hta
'

test_expect_success 'from a pipe and compressed: the same, and -v reports the temporary file if there was one' '
    trace-hta -q -f json p3.24.sqlite | jq "del(.inputs)" >direct &&
    cat p3.24.sqlite | trace-hta -q -f json | jq "del(.inputs)" >piped && test_cmp direct piped &&
    gzip -c p3.24.sqlite >p.sqlite.gz && trace-hta -q -f json p.sqlite.gz | jq "del(.inputs)" >packed && test_cmp direct packed &&
    python3 -S "$hostile" large large.sqlite &&
    trace-hta -v -f json large.sqlite 2>err >/dev/null && ! grep "temporary file" err &&
    cat large.sqlite | trace-hta -v -f json 2>err >/dev/null && grep "temporary file" err
'

test_expect_success 'no SQL of a file is run: views, triggers, virtual tables, generated columns' '
    python3 -S "$hostile" views views.sqlite &&
    status_of trace-hta views.sqlite && test "$status" = 2 && grep "no GPU events" err &&
    python3 -S "$hostile" virtual virtual.sqlite &&
    status_of trace-hta virtual.sqlite && test "$status" = 2 && test_must_be_empty out &&
    python3 -S "$hostile" triggers triggers.sqlite &&
    answer p3.24.sqlite >plain && answer triggers.sqlite >other && test_cmp plain other &&
    python3 -S "$hostile" generated generated.sqlite &&
    trace-hta -f json generated.sqlite 2>err | jq -e ".devices[0].busy_ns == 0" &&
    grep "durations that are missing" err
'

test_expect_success 'a cut file gives what lies before the cut' '
    python3 -S "$hostile" large large.sqlite &&
    size=$(wc -c <large.sqlite) &&
    all=$(trace-hta -q -f json large.sqlite | jq ".inputs[0].gpu_events") &&
    for percent in 95 60 30; do
        head -c $((size * percent / 100)) large.sqlite >cut.sqlite &&
        trace-hta -f json cut.sqlite 2>err >cut.json && grep "the input ends early" err &&
        jq -e ".inputs[0].gpu_events as \$n | \$n > $all * $percent / 200 and \$n < $all" cut.json || return 1
    done &&
    head -c 50 large.sqlite >cut.sqlite && status_of trace-hta cut.sqlite && test "$status" = 2
'

test_expect_success 'a damaged page costs its rows; with --strict it is an error' '
    python3 -S "$hostile" damaged damaged.sqlite &&
    trace-hta -f json damaged.sqlite 2>err >damaged.json && grep "damaged blocks" err &&
    jq -e ".inputs[0].gpu_events | . > 39000 and . < 40000" damaged.json &&
    status_of trace-hta --strict damaged.sqlite && test "$status" = 2
'

test_expect_success 'a tree that leads back to itself ends' '
    python3 -S "$hostile" loop loop.sqlite &&
    timeout 60 trace-hta -f json loop.sqlite 2>err >loop.json && grep "damaged blocks" err &&
    jq -e ".inputs[0].gpu_events <= 40000" loop.json
'

test_expect_success 'a file that another process has locked is read, and what it has not written is said to be missing' '
    python3 -S "$hostile" locked locked.sqlite "trace-hta -f json locked.sqlite" >locked.json 2>err &&
    jq -e ".inputs[0].gpu_events == 40000" locked.json &&
    grep "the input ends early" err
'

test_expect_success 'foreign databases, wrong types and missing columns' '
    python3 -S "$hostile" foreign foreign.sqlite &&
    status_of trace-hta foreign.sqlite && test "$status" = 2 && grep "without the tables of Nsight Systems or rocpd" err &&
    python3 -S "$hostile" types types.sqlite &&
    trace-hta -f json types.sqlite 2>err >types.json && grep "wrong type" err &&
    jq -e ".inputs[0].gpu_events == 3" types.json
'

test_done
