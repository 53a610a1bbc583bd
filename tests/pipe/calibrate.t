#!/bin/sh
# What a device can do, of a device that is not there (tests/mock/mock_device.c), whose rates are known.
test_description='gpuprof-measure: --calibrate, --compare, --op: figures, refusals, documents'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

mock=${GP_BIN%/bin}/tests/mock/mock_device.so
GPUPROF_LIBCUDA=$mock GPUPROF_LIBNVML=$mock GPUPROF_LIBCUBLASLT=$mock
GPUPROF_BENCH=$GP_LIB/gpuprof-bench
GPUPROF_BENCH_RESTLESS=yes
XDG_CACHE_HOME=$PWD/cache
export GPUPROF_LIBCUDA GPUPROF_LIBNVML GPUPROF_LIBCUBLASLT GPUPROF_BENCH GPUPROF_BENCH_RESTLESS XDG_CACHE_HOME
if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi

# in_schema SCHEMA FILE
in_schema() {
    python3 -c "
import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))" "$GP_SOURCE/schemas/$1" "$2"
}

# is FILE PATH VALUE -- within a thousandth: the driver's times have 24 bits.
is() {
    test -s "$1" && jq -e "(.$2 / $3 - 1) | fabs < 0.001" "$1" >/dev/null || { echo "$2: $(jq ".$2" "$1"), not $3"; return 1; }
}

test_expect_success 'the best of all ways is what counts' '
    gpuprof-measure --calibrate >quick.json 2>text &&
    is quick.json memory_bytes_per_s 4e12 && is quick.json memory_read_bytes_per_s 4e12 &&
    is quick.json memory_write_bytes_per_s 4e12 && is quick.json l2_bytes_per_s 8e12 &&
    is quick.json flops_per_s.bf16 8e14 && is quick.json flops_per_s.fp8 1.5e15 && is quick.json flops_per_s.int8 1.6e15 &&
    is quick.json h2d_bytes_per_s 5e10 && is quick.json d2h_bytes_per_s 4e10 &&
    is quick.json launch_interval_ns 3000 && is quick.json graph_kernel_ns 500
'

test_expect_success 'multiply-adds and products are two ways to the same ceiling' '
    is quick.json flops_per_s.fp32 6e13 && is quick.json flops_per_s.fp64 6e13
'

test_expect_success 'the conditions are in the document, the table is beside it' '
    jq -e ".conditions | .method == \"quick\" and .driver == \"580.0\" and .ecc and (.mig | not) and .power_limit_w == 700
        and .users == 0 and .power_w == 120.5" quick.json &&
    grep "^Mock H200: memory copies at 4.00 TB/s, bf16 products at 800 TFLOP/s\.$" text && grep "L2 cache, read  *8.00 TB/s" text
'

test_expect_success JSONSCHEMA 'documents are as described' '
    in_schema ceilings.schema.json quick.json
'

test_expect_success 'it is kept where trace-suggest looks' '
    test_cmp quick.json cache/gpuprof/ceilings/mock-h200.json
'

test_expect_success '-o has the document, standard output the table' '
    gpuprof-measure -q --calibrate=quick -o own.json >table && jq -e .memory_bytes_per_s own.json && grep "^Ceilings" table
'

test_expect_success 'a bundle for another machine measures there, too' '
    GPUPROF_BIN=$GP_BIN "$GP_SOURCE/samples/bundle.sh" bundle >listed && test -x bundle/libexec/gpuprof/gpuprof-bench &&
    (unset GPUPROF_BENCH && bundle/bin/gpuprof-measure -q --calibrate -o bundled.json >table) &&
    is bundled.json memory_bytes_per_s 4e12
'

test_expect_success 'in full: sustained load, and the state of the device under it' '
    gpuprof-measure -q --calibrate=full -o full.json >table && is full.json sustained.bf16_flops_per_s 8e14 &&
    jq -e ".sustained | .sm_mhz == 1980 and .power_w == 120.5 and .temperature_c == 35" full.json &&
    grep "^Under sustained load bf16 keeps 100% of that, at 1980 MHz, 121 W and 35" table
'

test_expect_success 'trace-suggest judges by what was kept, and reports it, or by a file that is named' '
    sed "s/Mock H200/NVIDIA H200/" quick.json >cache/gpuprof/ceilings/nvidia-h200.json &&
    trace-suggest -f json "$samples/pairs/bf16.json.gz" >kept 2>err &&
    grep "^trace-suggest: ceilings: measured on this machine, $XDG_CACHE_HOME/gpuprof/ceilings/nvidia-h200.json" err &&
    trace-suggest -f json --ceilings quick.json "$samples/pairs/bf16.json.gz" >told 2>err && test_must_be_empty err &&
    trace-suggest -f json --ceilings none "$samples/pairs/bf16.json.gz" >none 2>err && test_must_be_empty err &&
    jq .regime kept >a && jq .regime told >b && test_cmp a b && jq .regime none >c && ! cmp -s a c &&
    echo "{" >cache/gpuprof/ceilings/nvidia-h200.json &&
    trace-suggest -f json "$samples/pairs/bf16.json.gz" >damaged 2>err && grep "nvidia-h200.json.*not used" err &&
    jq .regime damaged >d && test_cmp c d
'

test_expect_success 'a device that is as fast as before is 0, a slower one is 1 and named' '
    gpuprof-measure -q --calibrate --compare quick.json --tolerance 50% >same && grep "^AS FAST as quick.json" same &&
    test_expect_code 1 env MOCK_DEVICE=slow gpuprof-measure -q --calibrate --compare quick.json >slow &&
    grep "^SLOWER than quick.json" slow && grep "memory, copy .* -10.0% slower" slow && grep "memory, read .* -10.0% slower" slow &&
    ! grep "fp16 .* slower" slow
'

test_expect_success 'two devices: a list, copies between them, siblings' '
    MOCK_DEVICE=two gpuprof-measure -q --calibrate -o two.json >table &&
    jq -e ".devices | length == 2 and .[1].index == 1" two.json &&
    jq -e ".peer_bytes_per_s | .[0][0] == null and (.[0][1] / 3.7e11 - 1 | fabs < 0.001)" two.json &&
    grep "^Copies between devices" table &&
    MOCK_DEVICE=two gpuprof-measure -q --calibrate --device 1 -o one.json >table && jq -e "has(\"devices\") | not" one.json
'

test_expect_success JSONSCHEMA 'its document is as described, too' 'in_schema ceilings.schema.json two.json'

test_expect_success 'what cannot be measured is left out, with the reason' '
    MOCK_DEVICE=no-fp8 gpuprof-measure -q --calibrate -o no.json >table &&
    jq -e "(.flops_per_s | has(\"fp8\") | not) and .flops_per_s.bf16 > 0" no.json &&
    jq -e ".missing == [{name: \"fp8\", reason: \"cublasLtMatmulAlgoGetHeuristic: cuBLASLt error 15\"}]" no.json &&
    grep "not measured: fp8" table &&
    GPUPROF_LIBCUBLASLT=/nowhere gpuprof-measure -q --calibrate -o none.json >table &&
    jq -e ".flops_per_s | keys == [\"fp32\", \"fp64\"]" none.json && grep "libcublasLt was not found" table
'

test_expect_success 'a driver that crashes keeps what was measured until then' '
    MOCK_DEVICE=crash gpuprof-measure -q --calibrate -o crash.json >table &&
    is crash.json memory_bytes_per_s 4e12 && jq -e ".missing[0].reason | test(\"signal 6\")" crash.json
'

test_expect_success 'a device that is in use, divided or capped is refused, unless it is forced' '
    for how in "users:2 other processes run on it" "mig:it is divided into instances (MIG)" \
        "capped:its power is capped at 400 of 700 W"; do
        test_expect_code 2 env MOCK_DEVICE="${how%%:*}" gpuprof-measure --calibrate >out 2>err && test_must_be_empty out &&
        grep -F "device 0, Mock H200, is not measured: ${how#*:}; use --force to measure it anyway" err || return 1
    done &&
    MOCK_DEVICE=users gpuprof-measure -q --calibrate --force >forced.json 2>err && jq -e ".conditions.users == 2" forced.json
'

test_expect_success 'no driver, no device, no memory: one line, status 2' '
    test_expect_code 2 env GPUPROF_LIBCUDA=/nowhere gpuprof-measure --calibrate 2>err && grep "no NVIDIA driver" err &&
    test_expect_code 2 env MOCK_DEVICE=none gpuprof-measure --calibrate 2>err && grep "CUDA_ERROR_NO_DEVICE" err &&
    MOCK_DEVICE=little gpuprof-measure -q --calibrate -o little.json >table && jq -e ".launch_ns > 0 and .missing[0].name == \"memory\"" little.json &&
    test_expect_code 2 env GPUPROF_BENCH=/nowhere gpuprof-measure --calibrate 2>err && grep "/nowhere" err
'

test_expect_success 'wrong options are named' '
    test_expect_code 2 gpuprof-measure --calibrate --compare nothing.json 2>err && grep "nothing.json" err &&
    test_expect_code 2 gpuprof-measure --calibrate --device 3 2>err && grep "no device 3" err &&
    test_expect_code 2 gpuprof-measure --calibrate --sizes 1K:2K:x2 2>err && grep -e "--sizes requires --op" err &&
    test_expect_code 2 gpuprof-measure --op copy --sizes 2K:1K:x2 2>err && grep -e "--sizes" err &&
    test_expect_code 2 gpuprof-measure --calibrate true 2>err && grep "unexpected operand .true." err &&
    test_expect_code 2 gpuprof-measure --calibrate=never 2>err && grep "quick|full" err &&
    test_expect_code 2 gpuprof-measure --calibrate --compare siblings 2>err && grep "only one device" err
'

test_expect_success 'gpuprof-collect has given these options away, and still runs with them' '
    gpuprof-measure -q -o plain.json >table && gpuprof-collect --calibrate -o old.json >table 2>err &&
    for f in plain old; do jq "del(.launch_ns)" $f.json >$f || return 1; done && test_cmp plain old && # the launch takes time of this host
    grep "^gpuprof-collect: --calibrate is an option of gpuprof-measure, which runs instead" err &&
    gpuprof-measure -q --op add --sizes 1024,65536 >expect && gpuprof-collect -q --op=add --sizes 1024,65536 >got 2>err && test_cmp expect got &&
    test_expect_code 1 env MOCK_DEVICE=slow gpuprof-collect -q --compare quick.json >slow 2>err && grep "^SLOWER than quick.json" slow &&
    gpuprof-collect -o copied sh -c "echo --op \"\$@\"" sh --op --calibrate >out 2>err && echo "--op --op --calibrate" >expect && test_cmp expect out &&
    mkdir elsewhere && cp "$GP_BIN/gpuprof-collect" elsewhere && test_expect_code 125 elsewhere/gpuprof-collect --op add 2>err &&
    grep "elsewhere/gpuprof-measure: No such file" err
'

test_expect_success 'an operation over its sizes: times, rates, where the launch stops to matter' '
    gpuprof-measure -q --op copy,matmul --dtype bf16 --sizes 1K:64M:x4 -f json -o sweep.json &&
    jq -e "[.sweeps[].op] == [\"copy\", \"matmul\"]" sweep.json &&
    jq -e ".sweeps[0].points | length == 9 and (.[0] | .elements == 1024 and .bytes == 4096 and .ns == 3000 and .regime == \"launch\")" \
        sweep.json &&
    jq -e ".sweeps[0].points[-1] | (.bytes_per_s / 4e12 - 1 | fabs < 0.001) and .regime == \"memory\" and .memory_share > 0.99" \
        sweep.json &&
    jq -e ".sweeps[0].borders[0] | .below == \"launch\" and .elements > 5.9e6 and .elements < 6.1e6" sweep.json &&
    jq -e ".sweeps[1].points[-1] | (.flops_per_s / 8e14 - 0.8 | fabs < 0.01) and .regime == \"compute\"" sweep.json
'

test_expect_success JSONSCHEMA 'and its document is as described' '
    in_schema sweep.schema.json sweep.json
'

test_expect_success 'as text, picture and page' '
    gpuprof-measure -q --op add --sizes 1024,65536,16M >text && grep "^add of fp32: bound by its launch below" text &&
    gpuprof-measure -q --op add --sizes 1024,65536,16M -f svg >a.svg && grep "<svg" a.svg && grep "What bounds it" a.svg &&
    gpuprof-measure -q --op add,nothing --sizes 1024,65536,16M -f html >a.html && grep "gpuprof-answer" a.html &&
    grep "<section class=.quality" a.html && python3 "$GP_SOURCE"/tests/cli/check_page.py a.html &&
    gpuprof-measure -q --op nothing --sizes 1024 >text 2>err && grep "not measured: nothing: there is no such operation" text
'

test_done
