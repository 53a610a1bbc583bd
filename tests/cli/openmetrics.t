#!/bin/sh
test_description='trace-hta -f openmetrics: valid text, figures of the report, a bounded number of series'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

check=$GP_SOURCE/tests/openmetrics/check.py
command -v python3 >/dev/null || { echo '1..0 # SKIP python3 is missing'; exit 0; }

# sum FAMILY [FILTER]: the sum of its samples, in ns.
sum() {
    jq ".families[\"gpuprof_$1\"].samples | map(select(${2:-true}) | .[2] | tonumber) | add * 1e9 | round" parsed
}

test_expect_success 'every kind of trace gives valid text, at most 200 series per process' '
    for f in eager.trace eager.json.gz decode_graph.trace managed.trace; do
        trace-hta -q -f openmetrics "$samples/h200/$f" >out && python3 -S "$check" out >parsed &&
        jq -e ".series <= 200" parsed || { echo "$f"; return 1; }
    done &&
    for f in twoproc_exec.trace nccl.trace ddp.trace; do
        trace-hta -q -f openmetrics "$samples/h200/$f" >out && python3 -S "$check" out >parsed &&
        jq -e ".series <= 400" parsed || { echo "$f"; return 1; }
    done
'

test_expect_success 'its figures are those of the JSON' '
    trace-hta -q -f openmetrics "$samples/h200/ddp.trace" >out && python3 -S "$check" out >parsed &&
    trace-hta -q -f json --top 0 --each-step "$samples/h200/ddp.trace" >json &&
    test "$(sum gpu_seconds)" = "$(jq "[.devices[].span_ns] | add" json)" &&
    test "$(sum gpu_seconds ".[1].state == \"idle\"")" = "$(jq "[.devices[].idle_ns] | add" json)" &&
    test "$(sum gpu_idle_seconds)" = "$(jq "[.devices[].idle_ns] | add" json)" &&
    test "$(sum kernel_seconds)" = "$(jq "[.kernels[:20][].total_ns] | add" json)" &&
    test "$(jq ".families.gpuprof_kernel_info | .samples | length" parsed)" -le 20 &&
    grep -q "^gpuprof_kernel_info{.*name=\"ncclDevKernel" out
'

test_expect_success 'names with quotes, backslashes and line ends stay one label' '
    printf "%s" "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\\\"b\\\\c\\nd\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":2,\"args\":{\"stream\":7,\"device\":0}}]" >odd.json &&
    trace-hta -q -f openmetrics odd.json >out && python3 -S "$check" out >parsed &&
    grep -F "name=\"a\\\"b\\\\c\\nd\"" out
'

test_expect_success 'nothing recorded is valid, too' '
    echo "{\"traceEvents\": []}" >empty.json &&
    trace-hta -q --allow-empty -f openmetrics empty.json >out && python3 -S "$check" out
'

test_done
