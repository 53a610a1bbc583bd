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
    $collect --api all $app events >t 2>err && facts t && has verdict:clean 1 && has sync:cudaEvent 2 && has api:cudaEventRecord 2 &&
    has "event:3:Stream Wait Event:stream8:of_cuda_event_on_stream7:${kind}Stream Wait Event\",\"wait_on_stream\":7}" 1 &&
    has "event:3:Event Sync:stream-1:of_cuda_event_on_stream9:${kind}Event Sync\",\"wait_on_stream\":9}" 1 &&
    has "event:4:Stream Wait Event:stream8:${kind}Stream Wait Event\"}" 1 &&
    test "$(grep -c "^event_after_call 5000$" facts)" = 2
'

test_expect_success 'no events below; CUDA 12 neither numbers nor times their records' '
    $collect $app events >t 2>err && facts t && lacks sync:cudaEvent && has "sync:Stream Wait Event" 2 && lacks api:cudaEventRecord &&
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

test_done
