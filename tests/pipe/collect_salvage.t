#!/bin/sh
# Processes that end without a farewell, in all the ways there are: what was in their buffers must be in the trace, once.
test_description='gpuprof-collect: what is left of processes that are killed, abort, hang or leave'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

collect='gpuprof-collect -v --no-clocks --flush-interval 50ms'
late='gpuprof-collect -v --no-clocks --flush-interval 30s'
# The pretended programs end as they like, and no sanitizer is to tell us how.
app="env ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_abort=0 TSAN_OPTIONS=handle_segv=0:handle_abort=0 $mock/app"

# cut_short HOW -- the trace is valid, was cut short, and says how the process ended.
cut_short() { grep "^lost:ends of processes:process [0-9]* $1: [0-9]* records salvaged" facts && has issue:truncated 1 && ! grep broken: facts; }
# salvaged COUNT -- the last line says that so many records were.
salvaged() { grep ", 1 ended early ($1 records salvaged)" err; }

# ---- at any time ----

# kill_one MS: a run that is killed after MS; the trace opens, holds all that was launched, and says what happened.
kill_one() {
    gpuprof-collect -o killed$1.trace $app killed $1 2>killed$1.err
    test $? = 137 && "$mock/facts" killed$1.trace >killed$1.facts &&
        grep "process [0-9]* was ended by signal 9" killed$1.facts &&
        ! grep broken: killed$1.facts &&
        awk '/^gpu /{gpu=$2} /^api /{api=$2} /^joined /{joined=$2} /^app: launched /{n=$3; told=1}
            END {exit !(told && gpu >= n && api >= gpu && api <= gpu + 1 && joined == gpu)}' killed$1.facts killed$1.err
}

test_expect_success '50 kills at random times: every trace opens, lacks nothing that was in a buffer, and says so' '
    awk "BEGIN {srand(); for (i = 0; i < 50; i++) print 12 * i + int(rand() * 12)}" >times &&
    for first in 0 5 10 15 20 25 30 35 40 45; do
        for ms in $(sed -n "$((first + 1)),$((first + 5))p" times); do
            { kill_one $ms >out$ms 2>&1 || { echo "after $ms ms"; cat killed$ms.err; } >>failed; } &
        done
        wait
    done
    if test -e failed; then cat failed; false; fi
'

# ---- at once ----

for how in "_exit:3:ended by _exit" "abort:134:was ended by signal 6" "kill:137:was ended by signal 9" \
    "segv:139:was ended by signal 11" "term:143:was ended by signal 15"; do
    name=${how%%:*} rest=${how#*:}
    test_expect_success "$name right behind the last launch: every launch and kernel is there once" '
        status_of $late -o t $app die $name 1000 0 && test $status = ${rest%%:*} && facts t &&
        has gpu 1000 && has api 1000 && has joined 1000 && cut_short "${rest#*:}" && salvaged 3003
    '
done

test_expect_success 'many threads and full buffers: those that were handed over and those that were not' '
    status_of $late --buffer-size 64K -o t sh -c "exec $app die kill 20000 0" && test $status = 137 && facts t &&
    has gpu 20000 && has api 20000 && has joined 20000 && has lost 1 && cut_short "was ended by signal 9"
'

test_expect_success 'names that were flushed are known, soon after they come up; newer ones are not' '
    status_of $collect -o t $app die kill 300 300 && facts t && has gpu:_Z4gemmPf 100 && has gpu:ncclDevKernel_AllReduce 100 &&
    status_of gpuprof-collect --flush-interval 2s -o t $app die kill 300 800 && facts t && has gpu:_Z4gemmPf 100 &&
    status_of $late -o t $app die kill 300 0 && facts t && has "gpu:[unnamed kernel]" 300 &&
    has api:__cudaLaunchKernel 300 && has "device::132_sms:4800000000_bytes_per_s" 1
'

test_expect_success 'a record that was being written is left out and told' '
    status_of $late -o t $app die torn 100 0 && test $status = 137 && facts t && has gpu 100 && has api 100 &&
    has "lost:records:torn when the process ended" 1 && cut_short "was ended by signal 9"
'

unended_kernel() {
    MOCK_CUPTI_HANG=2 status_of $late -o t timeout -s KILL 0.5 $mock/app stuck 10 && facts t && has gpu 10 && has api 11 &&
    has "lost:GPU events:had not ended when the process did" 1
}

test_expect_success 'a kernel that has not ended is left out and told' 'on_some_try unended_kernel'

test_expect_success 'the record layouts of CUDA 12: their sizes are known after the first flush' '
    MOCK_CUPTI_VERSION=24 status_of $collect -o t $app open _exit 300 && test $status = 3 && facts t &&
    has gpu 11 && has api 11 && has joined 11 &&
    MOCK_CUPTI_VERSION=24 status_of $late -o t $app die kill 10 0 && facts t && ! grep broken: facts
'

test_expect_success '--memory and every kind of record' '
    status_of $late --memory -o t sh -c "$app mix & sleep 0.3; kill -KILL \$\$" && facts t && has gpu 33 &&
    has "sync:Stream Sync" 4 && has "overhead:Command Buffer Full" 1 && has bytes 3600 && has graph_nodes 20
'

# ---- ranges ----

test_expect_success 'ranges that are open end with the last that was seen, and say so' '
    status_of $collect -o t $app open abort 300 && test $status = 134 && facts t && has gpu 11 &&
    has range 2 && has range:outer 1 && has range:done 1 &&
    trace-convert --to chrome t >t.json && python3 -c "
import json
events = json.load(open(\"t.json\"))[\"traceEvents\"]
outer = [e for e in events if e.get(\"name\") == \"outer\"][0]
end = max(e[\"ts\"] + e[\"dur\"] for e in events if e.get(\"cat\") == \"kernel\")
assert outer[\"args\"][\"open\"] is True and abs(outer[\"ts\"] + outer[\"dur\"] - end) < 0.001, (outer, end)"
'

# ---- hanging ----

hanging_flush() {
    MOCK_CUPTI_HANG=2 status_of $collect -o t timeout -s KILL 0.7 $mock/app long 60000 && test $status = 137 && facts t &&
    awk "/^gpu /{n=\$2} /^joined /{m=\$2} END{exit !(n >= 1000 && n == m)}" facts && ! grep broken: facts
}

test_expect_success 'a flush that never returns, and then a kill: everything is there' 'on_some_try hanging_flush'

test_expect_success 'a last flush that hangs: the program ends, and everything is there' '
    MOCK_CUPTI_HANG=2 status_of $collect -o t $app die return 100 0 && test $status = 5 && facts t && has gpu 100 && has api 100 &&
    grep "final flush timed out" err && cut_short "ended by _exit"
'

# ---- others beside it ----

test_expect_success 'a fork child that uses CUDA all the same does not write into its parent'\''s buffers' '
    $late $app fork uses 100 >t 2>err && facts t && has gpu 300 && has api 300 && has joined 300 && has processes 1 &&
    has verdict:clean 1 && has lost 0
'

outliving_child() {
    status_of timeout 2 $late -o t $app fork stays 100 && test $status = 137 && facts t && has gpu 100 && has joined 100 &&
    cut_short "was ended by signal 9"
}

test_expect_success 'a fork child that outlives its parent holds nothing back' 'on_some_try outliving_child'

test_expect_success 'one of three processes is killed: it alone is cut short' '
    status_of $late -o t sh -c "$app launch 10 1 1 & $app die kill 20 0 & $app launch 40 1 1 & wait" && facts t &&
    has gpu 70 && has joined 70 && has processes 3 && cut_short "was killed or ended by _exit" && salvaged 63
'

test_expect_success 'the flight recorder keeps what was salvaged' '
    status_of $late --last 10s -o t $app die kill 100 0 && facts t && has gpu 100 && cut_short "was ended by signal 9"
'

test_expect_success 'a slow reader gets what was salvaged' '
    { $late $app die kill 20000 0 2>err; } | { sleep 1; cat; } >t && facts t && has gpu 20000 && salvaged "[1-9][0-9]*"
'

# ---- limits ----

test_expect_success 'a limit on the size of files: less is shared, or the process runs untraced and we say so' '
    (ulimit -f 400000 && status_of $late -o t $app die kill 1000 0 && test $status = 137) && facts t && has gpu 1000 &&
    cut_short "was ended by signal 9" &&
    rm t && (ulimit -f 20000 && status_of $late -o t $app die exit 10 0 && test $status = 4) && facts t && has gpu 0 &&
    grep "1 process runs untraced: cannot create the memory shared" err
'

test_done
