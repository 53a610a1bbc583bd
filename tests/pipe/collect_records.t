#!/bin/sh
# The kinds of records beside kernels, copies and calls, on a GPU that is not there.
test_description='gpuprof-collect: events, memory, modules and graphs, with mock libcuda and libcupti'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

command -v python3 >/dev/null 2>&1 && test_set_prereq PYTHON
command -v node >/dev/null 2>&1 && test_set_prereq NODE

# ---- CUDA events ----

kind='{"cuda_sync_kind":"'
test_expect_success '--api all: records of events, and which of them is waited for, from other threads too' '
    $collect --api all $app events >t 2>err && facts t && has verdict:clean 1 && has sync:cudaEvent 2 && has api:cudaEventRecord 3 &&
    has "event:3:Stream Wait Event:stream8:of_cuda_event_on_stream7:${kind}Stream Wait Event\",\"wait_on_stream\":7}" 1 &&
    has "event:3:Event Sync:stream-1:of_cuda_event_on_stream9:${kind}Event Sync\",\"wait_on_stream\":9}" 1 &&
    has "event:4:Stream Wait Event:stream8:${kind}Stream Wait Event\"}" 1 &&
    test "$(grep -c "^event_after_call 5000$" facts)" = 2
'

test_expect_success 'by default the calls tell the same: events have numbers of ours, records are there that are waited for' '
    $collect $app events >t 2>err && facts t && has verdict:clean 1 && has sync:cudaEvent 2 && lacks api:cudaEventRecord &&
    has "event:1:Stream Wait Event:stream8:of_cuda_event_on_stream7:${kind}Stream Wait Event\",\"wait_on_stream\":7}" 1 &&
    has "event:1:Event Sync:stream-1:of_cuda_event_on_stream9:${kind}Event Sync\",\"wait_on_stream\":9}" 1 &&
    has "event:2:Stream Wait Event:stream8:${kind}Stream Wait Event\"}" 1 && has sync 5
'

test_expect_success 'no events below; CUDA 12 neither numbers nor times their records' '
    $collect --api launch $app events >t 2>err && facts t && has sync 0 && has gpu 2 &&
    MOCK_CUPTI_VERSION=24 $collect --api all $app events >t 2>err && facts t && has verdict:clean 1 &&
    has "event:3:Event Sync:stream-1:of_cuda_event_on_stream9:${kind}Event Sync\",\"wait_on_stream\":9}" 1 &&
    test "$(grep -c "^event_after_call 300$" facts)" = 2
'

test_expect_success PYTHON 'events survive as Chrome trace JSON, in the form that Kineto gives them' '
    $collect --api all $app events >t 2>err && trace-convert --to chrome t >t.json && trace-convert t.json >back && facts t && mv facts first &&
    facts back && grep "^event" first >a && grep "^event" facts >b && test_cmp a b &&
    python3 -c "
import json
events = [e for e in json.load(open(\"t.json\"))[\"traceEvents\"] if e.get(\"cat\") == \"cuda_event\"]
waits = [e[\"args\"] for e in json.load(open(\"t.json\"))[\"traceEvents\"] if e.get(\"name\") == \"Stream Wait Event\"]
assert [e[\"args\"][\"event_id\"] for e in events] == [3, 3] and [e[\"tid\"] for e in events] == [7, 9]
wait, = [w for w in waits if w[\"wait_on_cuda_event_id\"] == 3]
assert wait[\"wait_on_cuda_event_record_corr_id\"] == events[0][\"args\"][\"correlation\"] and wait[\"wait_on_stream\"] == 7"
'

test_expect_success NODE 'events are in the timeline' '
    $collect --api all $app events >t 2>err && trace2timeline -q t >page.html && node "$GP_SOURCE/tests/timeline/dump.js" -e page.html >page &&
    test "$(grep -c "	cudaEvent$" page)" = 2
'

# ---- unified memory ----

test_expect_success '--memory: migrations of unified memory are copies with bytes and addresses, without a call' '
    $collect --memory $app unified >t 2>err && facts t && has verdict:clean 1 && has gpu 6 && has joined 2 && has bytes 9692 &&
    has "gpu:Memcpy HtoD (Unified Memory, Fault)" 2 && has "gpu:Memcpy DtoH (Unified Memory, Fault)" 1 &&
    has "gpu:Memcpy PtoP (Unified Memory, Fault)" 1 && grep "^gpuprof-collect: 2 kernels, 4 copies, " err &&
    trace-convert --to chrome t >t.json && test "$(grep -c "\"Addr\":138538465099776" t.json)" = 10 &&
    trace2flame -q -f folded --weight count t >stacks && awk "{n += \$NF} END {exit n != 6}" stacks
'

test_expect_success 'migrations are memory time of their device, and nobody misses their launch' '
    trace-hta -f json t >report.json && grep "\"verdict\": *\"clean\"" report.json
'

test_expect_success '--memory: page faults, throttling and the like, without a counter that the device lacks' '
    has "mark:CPU Page Fault" 3 && has "other:GPU Page Fault" 1 && has other:Throttling 1 && has "mark:Remote Map" 1 &&
    has mark 4 && lacks Thrashing && has "unified_memory:GPU Page Fault:{\"fault groups\":7,\"access\":\"Write\"}" 1 &&
    test "$(grep -c "^unified_memory:CPU Page Fault:{\"pc\":4194595}" facts)" = 3
'

test_expect_success 'no --memory, nothing of the kind; with --start from then on; the record layouts of CUDA 12' '
    $collect $app unified >t 2>err && facts t && has gpu 2 && has mark 0 && has other 0 &&
    $collect --memory --start launch:1 $app unified >t 2>err && facts t && has gpu 5 &&
    MOCK_CUPTI_VERSION=24 $collect --memory $app unified >t 2>err && facts t && has gpu 6 && has bytes 9692 && has mark:CPU\ Page\ Fault 3
'

# ---- pools, modules ----

test_expect_success '--memory: pools are created, trimmed and destroyed' '
    $collect --memory $app rare >t 2>err && facts t && has verdict:clean 1 && has mark 3 && has memory 0 && has api:cudaMemPoolTrimTo 1 &&
    pool="{\"Pool\":4660,\"Device Id\":0,\"Size\":4096,\"Used\":1000,\"Release Threshold\":0" &&
    has "memory_pool:pool created:$pool}" 1 && has "memory_pool:pool destroyed:$pool}" 1 &&
    has "memory_pool:pool trimmed:$pool,\"Kept At Least\":500}" 1 &&
    $collect $app rare >t 2>err && facts t && has mark 0 && lacks cudaMemPool
'

test_expect_success 'compiling at run time and loading of modules and functions are overheads' '
    has "overhead:JIT Cache Load" 1 && has "overhead:JIT Cache Store" 1 && has "overhead:JIT Compile (PTX to cubin)" 1 &&
    has "overhead:Runtime Triggered Module Loading" 1 && has "overhead:Lazy Function Loading" 1 && has threads 1 &&
    MOCK_CUPTI_VERSION=24 $collect --memory $app rare >t 2>err && facts t && has mark 3 && has overhead 6
'

# ---- CUDA graphs ----

# 2 times 200 launches of a graph of 10 nodes, and a kernel.
test_expect_success '--graphs node and, below its rate, auto: every node' '
    for graphs in node auto auto:1000000; do
        $collect --graphs $graphs $app storm 200 10 200 >t 2>err && facts t && has gpu 4001 && has graph_nodes 4000 && has joined 4001 &&
        has mark 0 && has verdict:clean 1 && ! grep "graph nodes" err || return 1
    done
'

test_expect_success '--graphs graph: one row per launch, which joins its call' '
    $collect --graphs graph $app storm 200 10 >t 2>err && facts t && has gpu 401 && has "gpu:CUDA graph 5" 400 && has joined 401 &&
    has graph_nodes 0 && has api:cudaGraphLaunch 400 && has verdict:clean 1 &&
    trace2flame -q -f folded --weight count t >stacks && grep "CUDA graph_5 400$" stacks &&
    MOCK_CUPTI_VERSION=24 $collect --graphs graph $app storm 200 10 >t 2>err && facts t && has gpu 401
'

test_expect_success 'above the rate graphs are recorded whole from then on, which is said, marked and counted' '
    $collect --graphs auto:1000 $app storm 200 10 400 >t 2>err && facts t && has gpu 2201 && has graph_nodes 2000 && has joined 2201 &&
    has "gpu:CUDA graph 5" 200 && has "mark:CUDA graphs are recorded whole from here on" 1 &&
    grep "^lost:graph nodes:graphs are recorded whole, see --graphs " facts && has lost 2000 && has api:cudaGraphLaunch 400 &&
    test "$(grep -c "more than 1000 graph nodes per second: CUDA graphs are recorded as wholes from here on (see --graphs)$" err)" = 1
'

test_expect_success 'nothing else changes: everything outside of graphs is there in any case' '
    $collect --graphs node $app mix >t 2>err && facts t && grep -v "Pf\|^graph\|^gpu \|^joined\|CUDA graph" facts >by_node &&
    $collect --graphs graph $app mix >t 2>err && facts t && has gpu 15 && grep -v "Pf\|^graph\|^gpu \|^joined\|CUDA graph" facts >by_graph &&
    test_cmp by_node by_graph
'

test_expect_success 'a rate that is none is refused' '
    for what in fast auto: auto:0 auto:x auto:5x; do
        status_of $collect --graphs $what true && test $status = 125 && grep "^gpuprof-collect: --graphs: " err || return 1
    done
'

# ---- what ranges allocate ----

# After the allocations: 1000, 1500, 1500 (500 are left, 1000 more), 2000.
test_expect_success '--memory: trace-hta tells allocations, frees, bytes, the peak and copies of each range' '
    $collect --memory $app scopes >t 2>err && trace-hta -f csv --table range_memory t >table.csv && cat table.csv &&
    grep "^step,2,2,2000,2000,1500,0,0,0,0" table.csv && grep "^layer,2,0,1000,0,2000,0,0,2,200" table.csv &&
    grep "^,0,0,0,0,0,0,0,1,7" table.csv &&
    trace-hta --full t >report && grep "Memory by range" report && grep "(outside any range) .* 1 *7 B" report
'

test_done
