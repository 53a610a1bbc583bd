#!/bin/sh
# The collector on a GPU that is not there: what the mock application does decides what the trace must hold.
test_description='gpuprof-collect: whole runs with mock libcuda and libcupti'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

# A sanitizer wants to be the first library of a program, and Python is built without.
preload=$(ldd "$app_file" | sed -n 's/.*=> \(.*lib[at]san\.so[^ ]*\) .*/\1/p' | head -n 1)
env ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$preload" python3 -c "" >/dev/null 2>&1 && test_set_prereq PYTHON

# ---- counts ----

test_expect_success 'launches of one thread: one kernel and one call each, driver calls inside are not counted' '
    $collect $app launch 100 1 1 >t 2>err && facts t &&
    has gpu 100 && has api 100 && has api:__cudaLaunchKernel 100 && has joined 100 &&
    has streams 1 && has threads 1 && has processes 1 && has verdict:clean 1 && has lost 0
'

test_expect_success 'launches of 4 threads over 3 streams, with buffers that fill up' '
    $collect --buffer-size 64K $app launch 5000 4 3 >t 2>err && facts t &&
    has gpu 20000 && has api 20000 && has joined 20000 && has streams 3 && has threads 4 && has lost 0 &&
    has verdict:clean 1
'

test_expect_success 'every kind of record' '
    $collect $app mix >t 2>err && facts t &&
    has gpu 33 && has joined 33 && has bytes 3600 && has graph_nodes 20 &&
    has api 20 && has api:cudaMemcpyAsync 3 && has api:cudaMemcpyPeerAsync 1 && has api:cudaMemsetAsync 2 &&
    has api:cudaStreamSynchronize 4 && has api:cudaGraphLaunch 2 && has api:cuLaunchKernel 6 &&
    has "sync:Stream Sync" 4 && has "overhead:Command Buffer Full" 1 &&
    has "device:Mock H200:132_sms:4800000000_bytes_per_s" 1
'

test_expect_success 'a kernel without times is lost and counted; one that starts before its launch is reported' '
    has "lost:GPU events:no usable time" 1 && has issue:loss 1 &&
    grep "^gpuprof-collect: 27 kernels, 4 copies, 2 sets, 1 process, 1 lost, 1 clock inversion (max 500 ns)" err
'

test_expect_success PYTHON '--metrics-file has what the trace has, as OpenMetrics text' '
    $collect --metrics-file sums.txt $app mix >t 2>err && facts t && has gpu 33 &&
    python3 "$GP_SOURCE/tests/openmetrics/check.py" sums.txt >parsed && jq -e ".series <= 200" parsed &&
    grep -Fx "gpuprof_gpu_events_total 33" sums.txt && grep -Fx "gpuprof_events_lost_total 1" sums.txt &&
    trace-hta -q -f json --top 0 t >json &&
    total() { jq ".families[\"gpuprof_$1\"].samples | map(.[2] | tonumber) | add * 1e9 | round" parsed; } &&
    test "$(total gpu_busy_seconds)" = "$(jq "[.devices[].busy_ns] | add" json)" &&
    test "$(total kernel_seconds)" = "$(jq "[.kernels[].total_ns] | add" json)" &&
    test "$(ls -a | grep -c "sums")" = 1
'

test_expect_success '--metrics-file that cannot be written is reported once, and the program runs on' '
    $collect --metrics-file no-such-folder/sums.txt $app launch 100 1 1 >t 2>err && facts t && has gpu 100 &&
    test "$(grep -c "^gpuprof-collect: --metrics-file: no-such-folder/sums.txt" err)" = 1
'

test_expect_success '--api: none, launch and all' '
    $collect --api none $app mix >t 2>err && facts t && has gpu 33 && has api 0 && has sync 0 &&
    $collect --api launch $app mix >t 2>err && facts t && has gpu 33 && has api 16 && has sync 0 && lacks api:cudaStreamSync &&
    $collect --api all $app mix >t 2>err && facts t && has gpu 33 && has api 25 && has api:cudaMalloc 5
'

test_expect_success 'the record layouts of CUDA 12' '
    MOCK_CUPTI_VERSION=24 $collect $app mix >t 2>err && facts t &&
    has gpu 33 && has joined 33 && has bytes 3600 && has graph_nodes 20 && has api 20 && has "sync:Stream Sync" 4 &&
    has "device:Mock H200:132_sms:4800000000_bytes_per_s" 1
'

# ---- memory ----

test_expect_success '--memory: allocations and frees with sizes, addresses, kinds and pools, on the thread that made them' '
    $collect --memory $app memory >t 2>err && facts t && has verdict:clean 1 && has memory 7 && has gpu 5 &&
    sed -n "s/^memory://p" facts >rows && device="{\"Device Type\":1,\"Device Id\":0,\"Memory\":\"Device\"" &&
    for n in 1 2 3; do grep -F "$device,\"Source\":\"libmock_s.so\"}:7f000000${n}000:0:thread" rows | grep " 1000$" || return 1; done &&
    grep -F "{\"Device Type\":0,\"Device Id\":-1,\"Memory\":\"Pinned\"}:7f0000004000:0:thread" rows | grep " 500$" &&
    grep -F "$device,\"Pool\":4660,\"Async\":true}:7f0000005000:4096:thread" rows | grep " 200$" &&
    grep -F "$device}:7f0000001000:0:thread" rows | grep " -1000$" &&
    grep -F "$device}:7f0000002000:0:thread" rows | grep " -1000$" &&
    test 2 = $(sed "s/.*:thread\([0-9]*\) .*/\1/" rows | sort -u | wc -l) &&
    has api:cudaMalloc 3 && has api:cudaFree 2 && has api:cudaHostAlloc 1 && has api:cudaMallocAsync 1 &&
    grep ", 5 allocations" err
'

test_expect_success '--memory: what is mapped is marked, and has no library of its own' '
    $collect --memory $app mapped >t 2>err && facts t && has verdict:clean 1 && has memory 3 && has api:cuMemMap 2 &&
    sed -n "s/^memory://p" facts >rows && device="{\"Device Type\":1,\"Device Id\":0,\"Memory\":\"Device\"" &&
    grep -F "$device,\"Source\":\"libmock_s.so\"}:7f0000001000:0:thread" rows | grep " 1000$" &&
    for n in 2 3; do grep -F "$device,\"Mapped\":true}:7f000000${n}000:0:thread" rows | grep " 2097152$" || return 1; done &&
    trace-memory -f json t >json && jq -e ".devices[0] | .peak_bytes == 4195304 and .allocations == 3" json &&
    jq -e "[.holders[].key] | map(select(test(\"libmock\"))) | length == 1" json
'

test_expect_success 'no --memory, no allocations; --memory without calls; the record layouts of CUDA 12' '
    $collect $app memory >t 2>err && facts t && has memory 0 && lacks api:cudaMalloc && ! grep allocations err &&
    $collect --memory --api none $app memory >t 2>err && facts t && has memory 7 && has api 0 &&
    MOCK_CUPTI_VERSION=24 $collect --memory $app memory >t 2>err && facts t && has memory 7 && has api:cudaMalloc 3 &&
    $collect --memory --start range:nothing $app memory >t 2>err && facts t && has memory 0
'

# ---- leaving out ----

test_expect_success '--filter kernel:PATTERN: other kernels and their calls are left out and counted' '
    $collect --filter "kernel:*gemm*" $app launch 300 1 1 >t 2>err && facts t && has gpu 100 && has api 100 && has joined 100 &&
    grep "^lost:kernels:left out by --filter" facts && awk "/^lost:kernels/{n+=\$NF} END{exit n != 200}" facts &&
    $collect --filter "kernel:*" $app mix >t 2>err && facts t && has gpu 33 && has api 20 &&
    $collect --filter "kernel:nothing" $app mix >t 2>err && facts t && has gpu 6 && has api 10
'

test_expect_success '--filter rank:LIST: the other processes run untraced' '
    $collect --filter "rank:1,3-4" sh -c "for r in 0 1 2 3; do RANK=\$r $app launch 1\$r 1 1; done; $app launch 9 1 1" >t 2>err &&
    facts t && has gpu 24 && has processes 2 && has rank 1 && has rank 3 && has verdict:clean 1 &&
    $collect --filter rank:0 -o "only.%r" sh -c "for r in 0 1; do RANK=\$r $app launch 10 1 1; done" 2>err &&
    test "$(ls | grep "^only")" = only.0 && facts only.0 && has gpu 10
'

test_expect_success 'a filter that says nothing is refused' '
    for what in gemm rank: rank:x kernel: "rank:0 rank:1"; do
        status_of $collect --filter "$what" true && test $status = 125 && grep "^gpuprof-collect: --filter: " err || return 1
    done
'

# ---- NVTX ----

test_expect_success 'ranges: nested, before CUDA, in domains, wide, across threads, left open' '
    $collect $app nvtx >t 2>err && facts t &&
    has range 8 && has range:outer 1 && has range:inner 3 && has range:lib:step 1 && has range:größe 1 &&
    has range:span 1 && has "range:left open" 1 && has mark:here 1 && has gpu 6
'

test_expect_success 'ranges that are popped with a payload end there' '
    $collect --stacks=none $app payload >t 2>err && trace2flame -f folded --weight count t >stacks &&
    awk -F ";" "{split(\$2, k, \" \"); if (NF != 2) bad++; n[\$1] += k[2]}
        END {exit bad || n[\"lib:all reduce\"] != 2 || n[\"lib:message size\"] != 3}" stacks
'

test_expect_success 'operators of PyTorch, with the shapes of their inputs' '
    $collect $app torch >t 2>err && facts t && has gpu 4 && has range:train 2 && has range 2 &&
    trace-hta -q --whole --top 0 -f json t >t.json && python3 -c "
import json
report = json.load(open(\"t.json\"))
rows = {(r[\"name\"], r[\"shapes\"], r[\"calls\"], r[\"gpu_events\"]) for r in report[\"operators_by_shape\"] if r[\"shapes\"]}
assert rows == {(\"aten::addmm\", \"[2048] [64,512] [512,2048]\", 2, 2), (\"aten::mm\", \"[64,2048] [2048,512]\", 2, 2)}, rows" &&
    $collect --redact $app torch >t 2>err && facts t && has range 2 && lacks range:train &&
    trace-hta -q --whole -f json t | grep "\"aten::addmm\""
'

test_expect_success '--no-nvtx' '
    $collect --no-nvtx $app nvtx >t 2>err && facts t && has range 0 && has mark 0 && has gpu 6
'

test_expect_success 'a hundred thousand ranges in a storm: recorded or counted as lost' '
    $collect $app ranges 100000 >t 2>err && facts t &&
    awk "/^range /{n=\$2} /^lost:ranges/{n+=\$NF} END{exit n!=100001}" facts
'

test_expect_success 'what does not fit beside the ends of open ranges is counted by its kind' '
    $collect $app deep 100000 >t 2>err && facts t && ! grep "^lost:ends of ranges" facts &&
    awk "/^range /{n+=\$2} /^lost:ranges/{n+=\$NF} /^mark /{m+=\$2} /^lost:marks/{m+=\$NF}
        END{exit n!=100000 || m!=100000}" facts
'

# ---- starting and stopping ----

# gated OPTIONS... -- a run of the phases of `gate`.
gated() { $collect "$@" $app gate >t 2>err && facts t && has verdict:clean 1; }

test_expect_success '--start profiler: between cudaProfilerStart and Stop, as often as they come' '
    gated --start profiler && has gpu 24 && has api 24 && has joined 24 && has range 0 &&
    has "mark:recording starts" 2 && has "mark:recording stops" 1 &&
    gated --stop profiler && has gpu 30 && has range 0 &&
    gated && has gpu 63 && has range 4 && has mark 0
'

# windows_of N -- windows hold the wanted calls, whoever records them; N: launches of graphs in one that such a launch opens.
windows_of() {
    gated --start profiler && has gpu 24 && has api 24 && has api:__cudaLaunchKernel 24 && has joined 24 &&
    $collect --start launch:1 $app mix >t 2>err && facts t && has gpu 17 && has joined 17 &&
    has api:cuLaunchKernel 6 && has api:__cudaLaunchKernel 2 && has api:cudaGraphLaunch $1 && has api $(($1 + 8)) &&
    $collect --start profiler $app mix window >t 2>err && facts t && has gpu 33 && has joined 33 && has api 20 &&
    has api:cuLaunchKernel 6 && has api:cudaMemcpyAsync 3 && has api:cudaMemcpyPeerAsync 1 && has api:cudaMemsetAsync 2 &&
    has api:cudaGraphLaunch 2 && has api:cudaStreamSynchronize 4 && has "sync:Stream Sync" 4
}

# by_cupti -- how many copies have the 1000 ns that the mock records, which no callback measures.
by_cupti() { trace-convert --to chrome t | jq "[.traceEvents[] | select(.name == \"cudaMemcpyAsync\" and .dur == 1)] | length"; }

test_expect_success 'CUPTI records the calls of a window as those of a whole run, without recording all calls' '
    export MOCK_CUPTI_NO_WHOLE=1 && windows_of 2 && test "$(by_cupti)" = 3
'

test_expect_success 'an older CUPTI cannot: the wanted calls are noted' '
    export MOCK_CUPTI_VERSION=120600 && windows_of 1 && test "$(by_cupti)" = 0
'
unset MOCK_CUPTI_NO_WHOLE MOCK_CUPTI_VERSION

test_expect_success '--start range:NAME: in every range of that name, only in the N-th, by name and domain' '
    gated --start range:train && has gpu 19 && has joined 19 && has range:train 2 && has range:inner 1 && has range 3 &&
    gated --start range:train@2 && has gpu 11 && has range:train 1 && has range 1 &&
    gated --start range:span && has gpu 2 && has range:span 1 && has range 1 &&
    gated --start range:inner --stop range:train@2 && has gpu 15 && has range:train 2 &&
    gated --start range:nothing && has gpu 0 && has api 0 && has range 0 && has mark 0 &&
    $collect --start range:lib:step $app nvtx >t 2>err && facts t && has range:lib:step 1 && has range:outer 1 && has range 2
'

test_expect_success 'ranges that reach out of the recording are cut there and say so' '
    gated --start range:inner && trace-convert --to chrome t >t.json &&
    python3 -c "
import json
ranges = {e[\"name\"]: e for e in json.load(open(\"t.json\"))[\"traceEvents\"] if e.get(\"cat\") == \"user_annotation\" or \"nvtx\" in e.get(\"cat\", \"\")}
assert ranges[\"train\"][\"ts\"] == ranges[\"inner\"][\"ts\"] and ranges[\"train\"][\"dur\"] == ranges[\"inner\"][\"dur\"], ranges
assert ranges[\"train\"][\"args\"][\"cut\"] is True and \"cut\" not in ranges[\"inner\"].get(\"args\", {}), ranges"
'

test_expect_success '--start launch:N and --stop launch:N count launches from the beginning' '
    gated --start launch:30 && has gpu 33 && has joined 33 &&
    gated --start launch:30 --stop launch:40 && has gpu 10 && has joined 10 &&
    gated --stop launch:15 && has gpu 15 && has api 15 && has joined 15 &&
    gated --start profiler --stop launch:15 && has gpu 9
'

signals_gate() {
    { $collect --start SIGUSR1 --stop SIGUSR1 $app long 1500 >t 2>err & } && pid=$! &&
    sleep 0.5 && kill -USR1 $pid && sleep 0.4 && kill -USR1 $pid && { wait $pid; test $? = 6; } && grep -x done err &&
    facts t && has "mark:recording starts" 1 && has "mark:recording stops" 1 &&
    awk "/^gpu /{n=\$2} END{exit !(n >= 20 && n <= 29000)}" facts
}

test_expect_success 'a signal starts and stops, and does not reach the command' 'on_some_try signals_gate'

times_gate() {
    status_of $collect --start 700ms --duration 200ms -o t $app long 1500 && test $status = 6 && facts t &&
    has "mark:recording starts" 1 && has "mark:recording stops" 1 &&
    awk "/^gpu /{n=\$2} END{exit !(n >= 20 && n <= 29000)}" facts &&
    status_of $collect --stop 700ms -o t $app long 1500 && test $status = 6 && facts t && has "mark:recording stops" 1 &&
    awk "/^gpu /{n=\$2} END{exit !(n >= 20 && n <= 29000)}" facts &&
    $collect --start 3600s $app launch 10 1 1 >t 2>err && facts t && has gpu 0
}

test_expect_success 'times start and stop, and --duration' 'on_some_try times_gate'

test_expect_success 'what cannot start or stop anything is refused' '
    for when in never range: range:@3 launch: launch:0 launch:x SIGKILL -5s 0s; do
        status_of $collect --start=$when true && test $status = 125 && grep "^gpuprof-collect: --start" err || return 1
    done &&
    status_of $collect --no-nvtx --start range:x true && test $status = 125 &&
    status_of $collect --duration=-1s true && test $status = 125
'

# ---- the budget ----

# budget OPTIONS... -- a run that lasts long enough to be weighed; $what it does all the time.
budget() { status_of $collect "$@" -o t $app long 2500 $what && test $status = 6 && facts t; }
marks() { awk "/^mark:$1/{n+=\$NF} END{print n+0}" facts; }
meta() { trace-convert --to chrome t | jq -e "$1"; }

waits_go() {
    what=waits budget --budget 0.004% && grep ", budget 0.004%, left out: waits and events from [1-9][0-9.]* s" err &&
    test "$(marks waits.and.events.are.left.out.from.here.on)" = 1 && has mark 1 && has gpu 4 && has api:__cudaLaunchKernel 4 &&
    n=$(awk "/^api:cudaStreamSynchronize /{print \$2}" facts) && test $n -gt 20 && test $n -lt 40000 &&
    meta ".budget_pct == 0.004 and .budget_left_out == [\"events\"]" &&
    python3 -c "
import sys
sys.path.insert(0, sys.argv[1])
import gpt_read
t = gpt_read.Trace(open(\"t\", \"rb\").read())
assert t.meta[b\"budget_left_out\"] == b\"[\\\"events\\\"]\", t.meta
assert sum(m[\"name\"].startswith(b\"waits and events are left out\") for m in t.tables[\"mark\"]) == 1" "$GP_SOURCE/schemas"
}

test_expect_success '--budget: what costs too much is left out, which is said, marked and in the metadata' 'on_some_try waits_go'

windows_come() {
    MOCK_CUPTI_COST=20000 what= budget --budget 1% && grep ", left out: everything outside of windows from [1-9]" err &&
    test "$(marks recorded.in.windows.from.here.on)" = 1 && test "$(marks recording.stops)" -ge 1 &&
    meta ".budget_left_out == [\"windows\"] and .budget_cost_ppm > 1000" && has lost 0
}

test_expect_success '--budget: launches that cost too much are recorded in windows' 'on_some_try windows_come'

all_stays() {
    what= budget --budget 100% && grep ", budget 100%" err && ! grep "left out" err &&
    has mark "$(marks recording)" && meta ".budget_left_out == []" && has lost 0
}

test_expect_success '--budget that is enough: everything is there' 'on_some_try all_stays'

by_steps() {
    env GPUPROF_DEBUG=1 MOCK_CUPTI_COST=2000000 $collect --budget 20% -o t $app steps 700 10 >out 2>err && facts t && has lost 0 &&
    grep "CUPTI has left the process" err && grep "by its steps" err && meta ".budget_launch_ns > 100000 and (.budget_stays_ppm // 0) < 200000" &&
    test "$(marks recording.starts)" -ge 1
}

test_expect_success '--budget: its steps show what it costs, and CUPTI leaves between windows' 'on_some_try by_steps'

# A thread that waits for another one, as the main one for that of autograd, is in no call meanwhile.
waits_for_another() {
    env GPUPROF_DEBUG=1 MOCK_CUPTI_COST=1000000 $collect --budget 20% -o t $app backward 1200 1 >out 2>err && facts t && has lost 0 &&
    grep "2 threads make calls, none of them are in one" err
}

test_expect_success '--budget: windows end at once where one thread waits for another' 'on_some_try waits_for_another'

test_expect_success '--budget that cannot be is refused' '
    for b in 0 0% 101% -1% x; do
        status_of $collect --budget=$b true && test $status = 125 && grep "^gpuprof-collect: --budget" err || return 1
    done &&
    for with in "--api all" "--hub" "--metrics sm__cycles_active.avg"; do
        status_of $collect --budget 2% $with true </dev/null && test $status = 125 || return 1
    done
'

# ---- the flight recorder ----

# span FILE -- milliseconds from the first kernel to the end of the last.
span() {
    trace-convert --to chrome $1 | python3 -c "
import json, sys
e = [x for x in json.load(sys.stdin)[\"traceEvents\"] if x.get(\"cat\") == \"kernel\"]
print(int((max(x[\"ts\"] + x[\"dur\"] for x in e) - min(x[\"ts\"] for x in e)) / 1000) if e else 0)"
}

keeps_the_end() {
    status_of $collect --last 300ms -o t $app long 1000 && test $status = 6 && facts t && has verdict:clean 1 && has lost 0 &&
    grep ", the last 0.3 s kept" err && ms=$(span t) && test $ms -ge 100 && test $ms -le 600 &&
    awk "/^gpu /{n=\$2} /^joined /{m=\$2} END{exit !(n >= 100 && n == m)}" facts
}

test_expect_success '--last: only the end of the run, complete and in order' 'on_some_try keeps_the_end'

test_expect_success '--last: a crash leaves what came before it' '
    status_of $collect --last 10s -o t $app die kill 100 800 && test $status = 137 && facts t && has gpu 100 &&
    grep "was ended by signal 9" facts
'

dumps_on_signal() {
    rm -f pipe && mkfifo pipe && { cat pipe >t & } && { $collect --last 10s --dump SIGUSR2 $app long 1500 >pipe 2>err & } && pid=$! &&
    sleep 0.6 && kill -USR2 $pid && sleep 0.3 && cp t early && { wait $pid; test $? = 6; } && wait &&
    grep "^gpuprof-collect: --dump: wrote the kept events: signal received" err &&
    facts early && grep "^gpu [1-9]" facts && has issue:truncated 1 && facts t && has verdict:clean 1 &&
    awk "/^gpu /{n=\$2} END{exit n != 30000}" facts
}

test_expect_success '--dump SIGUSR2: what is kept is written at once, and the command does not get the signal' 'on_some_try dumps_on_signal'

dumps_when_idle() {
    rm -f pipe && mkfifo pipe && { cat pipe >t & } && { $collect --last 10s --dump idle:200ms $app die exit 40 900 >pipe 2>err & } &&
    pid=$! && sleep 0.8 && cp t early && { wait $pid; test $? = 4; } && wait &&
    grep "^gpuprof-collect: --dump: wrote the kept events: no GPU work has ended for a while" err && facts early && has gpu 40 &&
    facts t && has gpu 40 && has verdict:clean 1
}

test_expect_success '--dump idle:DURATION: written when the GPU has nothing to do for so long' 'on_some_try dumps_when_idle'

test_expect_success 'a recorder that cannot work is refused' '
    for options in "--last=-1s" "--dump=SIGUSR1" "--last=1s --dump=profiler" "--last=1s --dump=idle:" \
        "--last=1s --start=SIGUSR1 --dump=SIGUSR1"; do
        status_of $collect $options true && test $status = 125 || return 1
    done
'

# ---- buffers ----

test_expect_success 'buffers whose rest was never filled' '
    MOCK_CUPTI_TAIL=1 $collect $app launch 1000 1 1 >t 2>err && facts t && has gpu 1000 && has api 1000
'

test_expect_success 'a buffer whose last record is cut: that record alone is missing' '
    MOCK_CUPTI_CUT=1 $collect --flush-interval 10s $app launch 10 1 1 >t 2>err && facts t && has gpu 9 && has api 10
'

test_expect_success 'records that CUPTI dropped are in the trace and in the last line' '
    MOCK_CUPTI_DROP=12 $collect $app launch 10 1 1 >t 2>err && facts t &&
    has gpu 10 && has "lost:activity records:dropped by CUPTI" 12 && has lost 12 && grep ", 12 lost" err
'

test_expect_success 'a kernel that never ends is left out, the rest is there' '
    $collect $app stuck 10 >t 2>err && facts t && has gpu 10 && has api 11 && has "lost:GPU events:no usable time" 1
'

test_expect_success 'a flush that hangs at the end: the program ends all the same, and what was flushed is there' '
    MOCK_CUPTI_HANG=1 status_of $collect -o t $app die return 100 200 && test $status = 5 &&
    facts t && has gpu 100 && has api 100 && grep "final flush timed out" err
'

# ---- ends ----

for how in _exit:3 abort:134 kill:137 term:143 exit:4; do
    test_expect_success "the program ends by ${how%:*}: its status is passed on, nothing before the last flush is lost" '
        status_of $collect -o t $app die ${how%:*} 100 300 && test $status = ${how#*:} &&
        facts t && has gpu 100 && has api 100
    '
done

test_expect_success 'a process that is killed is reported, one that ends in order is not' '
    status_of $collect -o t $app die kill 10 200 && grep ", 1 ended early" err && facts t &&
    grep "^lost:ends of processes" facts && has issue:truncated 1 &&
    status_of $collect -o t $app die exit 10 0 && ! grep "ended early" err && facts t && has verdict:clean 1
'

test_expect_success 'cudaDeviceReset and then _exit: what came before is there' '
    $collect --flush-interval 10s $app reset 10 >t 2>err && facts t && has gpu 10
'

test_expect_success 'a program that never touches CUDA: untouched, an empty trace' '
    status_of $collect $app none hello && test $status = 7 && grep -x hello err && cp out t && facts t &&
    has gpu 0 && has processes 0 && has verdict:clean 1 &&
    status_of $collect -q -o untouched $app none hello && test $status = 7 && test_must_be_empty err &&
    echo hello >expect && test_cmp expect out
'

# ---- several processes ----

test_expect_success 'a child that does nothing, or uses only NVTX, adds nothing' '
    $collect $app fork idle 10 >t 2>err && facts t && has gpu 20 && has processes 1 && has verdict:clean 1 &&
    $collect $app fork nvtx 10 >t 2>err && facts t && has gpu 20 && has processes 1 && has range 0
'

test_expect_success 'two processes, one trace: fork before CUDA, and another program' '
    $collect $app fork first 10 >t 2>err && facts t && has gpu 20 && has joined 20 && has processes 2 && has range 1 &&
    has verdict:clean 1 &&
    $collect $app fork exec 10 >t 2>err && facts t && has gpu 50 && has joined 50 && has processes 2 && has streams 2
'

test_expect_success 'two processes at once from a shell, with their ranks' '
    $collect sh -c "RANK=0 $app launch 500 2 1 & RANK=1 $app launch 700 2 1 & wait" >t 2>err && facts t &&
    has gpu 2400 && has joined 2400 && has rank 0 && has rank 1 && has processes 2 && has threads 4
'

test_expect_success '-o with %r and %p: a trace for each process, named after it' '
    $collect -o "own.%r.%p" sh -c "RANK=0 $app launch 500 2 1 & RANK=1 $app launch 700 2 1 & wait" 2>err &&
    test 2 = $(ls own.* | wc -l) && grep ": 2400 kernels, 0 copies, 0 sets, 2 processes" err &&
    facts own.0.[0-9]* && has gpu 1000 && has joined 1000 && has rank 0 && has processes 1 && has verdict:clean 1 &&
    facts own.1.[0-9]* && has gpu 1400 && has joined 1400 && has rank 1 && has processes 1 && has verdict:clean 1
'

test_expect_success '-o: names that come twice, no rank, a percent sign, no process at all' '
    $collect -o "twice.%r" sh -c "$app launch 5 1 1; $app launch 6 1 1" 2>err &&
    facts twice.none && has gpu 5 && facts twice.none.2 && has gpu 6 &&
    $collect -o "100%%.trace" $app launch 5 1 1 2>err && facts 100%.trace && has gpu 5 &&
    status_of $collect -o "nobody.%p" $app none hello && test $status = 7 && test -z "$(ls | grep nobody)" &&
    status_of $collect -o "bad.%x" true && test $status = 125 && grep "unknown .%x" err
'

test_expect_success '-o: a process that is killed has that in its own trace; a missing folder is reported' '
    $collect -o "kill.%r" sh -c "RANK=0 $app die kill 100 800; RANK=1 $app launch 10 1 1" 2>err &&
    facts kill.0 && has gpu 100 && grep "^lost:ends of processes" facts && facts kill.1 && has gpu 10 && has lost 0 &&
    status_of $collect -o "nowhere/%p" $app launch 10 1 1 && test $status = 125 && grep "^gpuprof-collect: nowhere/" err
'

test_expect_success 'the flight recorder with a trace for each process' '
    $collect --last 10s -o "last.%r" sh -c "RANK=0 $app launch 50 1 1; RANK=1 $app launch 60 1 1" 2>err &&
    facts last.0 && has gpu 50 && has verdict:clean 1 && facts last.1 && has gpu 60 && has verdict:clean 1
'

waits_for_the_rest() {
    $collect sh -c "$app die exit 50 800 >/dev/null 2>&1 & sleep 0.3" >t 2>err && facts t && has gpu 50 && has verdict:clean 1
}

test_expect_success 'a process that outlives the command is waited for' 'on_some_try waits_for_the_rest'

# ---- readers ----

test_expect_success 'a reader that goes away ends the tracing, not the program' '
    { $collect $app long 600 2>err; echo $? >status; } | head -c 100 >t &&
    echo 6 >expect && test_cmp expect status && grep -x done err && grep "stopped because the reader exited" err
'

collector_is_killed() {
    rm -f killed* && { $collect -o killed $app long 2000 >out 2>err & } && pid=$! && sleep 1.2 && kill -KILL $pid &&
    { wait $pid; test $? = 137; } && test ! -e killed && facts killed.partial-* && grep "^gpu [1-9]" facts &&
    has issue:truncated 1 && for n in 1 2 3 4 5 6 7 8; do grep -x done out && break; sleep 0.5; done && grep -x done out
}

test_expect_success 'the collector is killed: the program runs on, what was written is there and can be read' 'on_some_try collector_is_killed'

test_expect_success 'a slow reader gets everything' '
    $collect $app launch 20000 2 1 2>err | { sleep 1; cat; } >t && facts t && has gpu 40000 && has lost 0
'

test_expect_success 'a full disk: told, and the status says so' '
    status_of sh -c "$collect $app launch 1000 1 1 >/dev/full" && test $status = 125 &&
    grep "^gpuprof-collect: standard output: No space left on device" err &&
    status_of sh -c "$collect $app die exit 10 0 >/dev/full" && test $status = 4
'

# ---- neighbours ----

test_expect_success 'another tool holds CUPTI: it is named, the program runs untraced' '
    MOCK_CUPTI_HOLDER="Nsight Systems" $collect $app launch 10 1 1 >t 2>err &&
    grep "CUPTI is held by Nsight Systems: this process runs untraced" err && facts t && has gpu 0
'

test_expect_success 'CUPTI records no kernels: said so once, the program runs' '
    MOCK_CUPTI_REFUSE=1 $collect $app launch 10 1 1 >t 2>err && test 1 = $(grep -c "runs untraced" err) &&
    facts t && has gpu 0 && has api 0 &&
    MOCK_CUPTI_REFUSE=1 $collect --start profiler $app gate >t 2>err && grep "cannot trace kernels" err && facts t && has gpu 0
'

test_expect_success 'another injected library is named in a warning' '
    CUDA_INJECTION64_PATH=/other/tool.so $collect $app launch 10 1 1 >t 2>err &&
    grep "/other/tool.so" err && facts t && has gpu 10
'

test_expect_success 'no libcupti: said so once, the program runs' '
    GPUPROF_LIBCUPTI=/nonexistent CUDA_HOME=/nonexistent $collect $app launch 10 1 1 >t 2>err &&
    test 1 = $(grep -c "runs untraced" err) && facts t && has gpu 0
'

# Ten kernels before, ten after; on a busy machine even the first may not have been flushed by then, nor the process known.
test_expect_success 'a program that closes every descriptor gets none of our bytes in its files' '
    TSAN_OPTIONS=exitcode=0 $collect $app closefds own >t 2>err && facts t &&
    awk "\$1 == \"gpu\" {n = \$2} END {exit n > 10}" facts && { has gpu 0 || has verdict:repaired 1; } && test_must_be_empty own
'

test_expect_success PYTHON 'a Python program' '
    cat >train.py <<-\EOF &&
	import ctypes, os, sys
	class Event(ctypes.Structure):
	    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p),
	                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]
	cuda = ctypes.CDLL(sys.argv[1])
	cuda.cuInit(0)
	libc = ctypes.CDLL(None)
	libc.strdup.restype = ctypes.c_void_p
	name = libc.strdup(b"python_kernel") # outlives the interpreter
	for i in range(25):
	    cuda.mock_do(ctypes.byref(Event(0, 7, name, 1, 0, 0)))
	print("trained")
	EOF
    $collect -o t env ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=exitcode=0 LD_PRELOAD="$preload" python3 train.py $mock/libcuda.so.1 >out 2>err &&
    echo trained >expect && test_cmp expect out && facts t && has gpu 25 && has joined 25 && has verdict:clean 1
'

# late_calls SETTING... -- launches before and after the library is loaded; how many durations their calls have: the mock records one.
late_calls() {
    env "$@" $collect -o t env ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=exitcode=0 LD_PRELOAD="$preload" python3 late.py $mock/libcuda.so.1 >out 2>err &&
    facts t && has gpu 20 && has api 20 && has api:__cudaLaunchKernel 20 && has joined 20 && has verdict:clean 1 &&
    trace-convert --to chrome t | jq "[.traceEvents[] | select(.name == \"__cudaLaunchKernel\") | .dur] | unique | length" >durations
}

test_expect_success PYTHON 'a process that loads the library after cuInit(): calls and kernels from then on' '
    cat >late.py <<-\EOF &&
	import ctypes, os, sys
	class Event(ctypes.Structure):
	    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p),
	                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]
	library = os.environ.pop("CUDA_INJECTION64_PATH")
	cuda = ctypes.CDLL(sys.argv[1])
	cuda.cuInit(0)
	libc = ctypes.CDLL(None)
	libc.strdup.restype = ctypes.c_void_p
	name = libc.strdup(b"python_kernel") # outlives the interpreter
	def launch(n):
	    for i in range(n):
	        cuda.mock_do(ctypes.byref(Event(0, 7, name, 1, 0, 0)))
	launch(5)
	assert ctypes.CDLL(library).InitializeInjection() == 1
	launch(20)
	EOF
    late_calls && test "$(cat durations)" = 1
'

test_expect_success PYTHON 'the same where CUPTI refuses or is older: the calls are noted' '
    late_calls MOCK_CUPTI_NO_WHOLE=1 && test "$(cat durations)" -gt 1 &&
    late_calls MOCK_CUPTI_VERSION=120600 && test "$(cat durations)" -gt 1
'

# ---- status and command line ----

test_expect_success 'exit status of our own failures' '
    status_of $collect /nonexistent/program && test $status = 127 && grep "^gpuprof-collect: /nonexistent/program: " err &&
    echo text >file && chmod -x file && status_of $collect ./file && test $status = 126 &&
    status_of $collect && test $status = 125 &&
    status_of $collect --flush-interval 1us true && test $status = 125 &&
    status_of $collect -o /nonexistent/t true && test $status = 125
'

test_expect_success 'a command that cannot run leaves no file' '
    status_of $collect -o never /nonexistent/program && test ! -e never && test -z "$(ls | grep never)"
'

test_expect_success 'options of the command are its own' '
    $collect -o t -- sh -c "echo \$1" sh -q >out && echo -- "-q" | sed "s/-- //" >expect && test_cmp expect out
'

signals_pass() {
    { $collect -o t $app long 20000 >out 2>err & } && pid=$! && sleep 1 && kill -TERM $pid &&
    { wait $pid; test $? = 143; } && facts t && grep "^gpu [1-9]" facts
}

test_expect_success 'signals sent to the collector reach the command, and the trace is finished' 'on_some_try signals_pass'

test_done
