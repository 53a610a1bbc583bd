#!/bin/sh
test_description='AMD: databases of rocprofv3 in their three layouts, and what Kineto writes under ROCm'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

rocpd=$GP_SOURCE/tests/rocpd/rocpd.py
kineto=$samples/other/rocm_kineto.json

python3 -S -c 'import sqlite3' 2>/dev/null && python3 -S "$rocpd" inline a.db && trace-convert a.db >/dev/null 2>&1 &&
    test_set_prereq SQLITE

test_expect_success SQLITE 'kernels, copies, calls, ranges and allocations, joined by their stacks' '
    trace-convert -q --to chrome a.db >a.json &&
    jq -c ".traceEvents[] | select(.cat == \"kernel\" or .cat == \"gpu_memcpy\")
        | [.name, .pid, .tid, .ts, .dur, .args.correlation, .args.grid, .args.bytes]" a.json >out &&
    cat >expected <<-\END &&
	["add(float*, float*)",0,3,2,3,10,[4,2,1],null]
	["Memcpy HtoD (Host -> Device)",0,3,5.500,1,11,null,4096]
	["ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",0,3,7,1,null,[4,2,1],null]
	END
    jq -c . expected >wanted && test_cmp wanted out &&
    jq -ce "[.traceEvents[] | select(.cat == \"cuda_runtime\") | .name]" a.json >out &&
    echo "[\"hipLaunchKernel\",\"hipMemcpyAsync\",\"hipDeviceSynchronize\"]" >expected && test_cmp expected out &&
    jq -e "[.traceEvents[] | select(.cat == \"user_annotation\") | [.name, .dur]] == [[\"step 1\", 1.1]]" a.json &&
    jq -e "[.traceEvents[] | select(.name == \"[memory]\") | .args.Bytes] == [1048576, -1048576]" a.json &&
    jq -e ".deviceProperties[0].name == \"AMD Instinct MI300X\"" a.json &&
    ! grep secret a.json
'

test_expect_success SQLITE 'all layouts give the same trace' '
    for layout in tracks spine; do
        python3 -S "$rocpd" $layout b.db && trace-convert -q --to chrome b.db >b.json && test_cmp a.json b.json || return 1
    done
'

test_expect_success SQLITE 'the answer stays the same through our format and Chrome JSON' '
    trace-convert -q a.db >a.trace && trace-convert -q a.json >b.trace &&
    for f in a.db a.trace a.json b.trace; do
        trace-hta -q -f json --top 0 "$f" | jq -S "del(.inputs)" >"$f.hta" || return 1
    done &&
    jq -e ".devices[0].busy_ns == 5000 and .devices[0].communication_ns == 1000" a.db.hta &&
    test_cmp a.db.hta a.trace.hta && test_cmp a.db.hta a.json.hta && test_cmp a.db.hta b.trace.hta
'

test_expect_success 'Kineto under ROCm: wide streams stay apart, correlation 0 joins nothing' '
    trace-hta -q -f json --top 0 "$kineto" >k.json &&
    jq -e ".quality.issues | map(select(.kind == \"no_correlation\")) | .[0].count == 2" k.json &&
    jq -e "[.devices[0].streams[].stream] | sort == [94212345678912, 94212345680000, 94212345690000]" k.json &&
    jq -e ".devices[0].communication_ns == 25000" k.json
'

test_expect_success 'Kineto under ROCm: the calls of HIP wait, copy and launch like those of CUDA' '
    trace-hta -q -f json "$kineto" >k.json &&
    jq -e ".devices[0].idle.blocking_call_ns == 2000" k.json &&
    trace2flame -q -f folded "$kineto" >out && grep "^step;add 10000$" out
'

test_done
