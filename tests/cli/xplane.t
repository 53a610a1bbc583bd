#!/bin/sh
test_description='profiles of JAX (XPlane): lines as streams and threads, names and stats by number, operators as ranges'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

planes=$GP_SOURCE/tests/xplane/planes.py
held=$GP_SOURCE/tests/perfetto/held.py
command -v python3 >/dev/null || { echo '1..0 # SKIP python3 is missing'; exit 0; }

# agrees SEED: the spans that were encoded, to the nanosecond, and beside them only ranges made of operators and modules.
agrees() {
    python3 -S "$planes" "$1" a.xplane.pb >want.json && trace-convert -q --to chrome a.xplane.pb >all.json 2>err &&
        jq "del(.traceEvents[] | select(.cat == \"gpu_user_annotation\"))" all.json >work.json && python3 -S "$held" work.json >got.json &&
        jq -e -n --slurpfile a want.json --slurpfile b got.json "\$a == \$b" >/dev/null
}

test_expect_success 'spans of device and host lines are those that were encoded' '
    for seed in 1 2 3 4 5 6 7 8 9 10; do agrees $seed || { echo "$seed"; return 1; }; done
'

test_expect_success 'kernels have launches, configurations, operators, sources and FLOPs; copies have bytes' '
    python3 -S "$planes" 1 a.xplane.pb >want.json && trace-convert -q --to chrome a.xplane.pb >all.json &&
    jq -e ".traceEvents | map(select(.name == \"fusion\"))[0].args | .grid == [4, 2, 1] and .block == [128, 1, 1] and .flops == 12.5 and
        .[\"registers per thread\"] == 32 and .[\"shared memory\"] == 1040 and .source == \"net.py:7\" and .hlo_module == \"jit_step\"" all.json &&
    jq -e ".traceEvents | map(select(.cat == \"gpu_memcpy\"))[0].args.bytes >= 4096" all.json &&
    jq -e "([.traceEvents[] | select(.cat == \"cuda_driver\") | .args.correlation] | sort) ==
        ([.traceEvents[] | select(.cat == \"kernel\" or .cat == \"gpu_memcpy\") | .args.correlation] | sort)" all.json &&
    jq -e ".traceEvents | map(select(.cat == \"gpu_user_annotation\" and .name == \"jit_step\")) | length > 0" all.json
'

test_expect_success 'trace-hta answers, gzip or not, and knows the device' '
    python3 -S "$planes" 4 a.xplane.pb >want.json && gzip -k a.xplane.pb &&
    trace-hta -q -f json a.xplane.pb >a.json && trace-hta -q -f json a.xplane.pb.gz >b.json &&
    jq -e ".quality.verdict == \"clean\" and .inputs[0].format == \"xplane\"" a.json &&
    jq "del(.inputs)" a.json >plain && jq "del(.inputs)" b.json >packed && cmp plain packed &&
    jq -e "[.devices[].name] == [\"NVIDIA H200\"]" a.json
'

test_expect_success 'a profile of JAX on an H200: its own trace.json within a nanosecond, all work with its launch' '
    trace-convert -q --to chrome "$samples/other/jax.xplane.pb.gz" >jax.json &&
    python3 -S "$GP_SOURCE/tests/xplane/twin.py" jax.json "$samples/other/jax.trace.json.gz" >twin &&
    jq -e ".events == 1293 and .worst_ns <= 1" twin &&
    trace-hta -q -f json "$samples/other/jax.xplane.pb.gz" >jax.hta && jq -e ".quality.verdict == \"clean\" and
        .devices[0].name == \"NVIDIA H200\" and ([.kernels[].count] | add) + .kernels_rest.count == 411" jax.hta &&
    jq -e "[.traceEvents[] | select(.args.hlo_module == \"jit_update\" and .cat == \"kernel\")] | length == 396" jax.json
'

# known FILE -- [class, flops, their type, bytes, line] of each kernel.
known() {
    trace-convert -q --to chrome "$1" >known.json && trace-query -q -f json "$1" "select name, category, line(stack) as line from kernels" >rows.json &&
        jq -n --slurpfile e known.json --slurpfile r rows.json "[\$e[0].traceEvents[] | select(.cat == \"kernel\") | {(.name): .args}] | add as \$a |
            [\$r[0].rows[] | . as [\$name, \$class, \$line] | \$a[\$name] as \$x | {(\$name): [\$class, \$x.flops, \$x.flops_type, \$x.bytes_accessed, \$line]}] | add"
}

test_expect_success 'the program in a profile: classes, work as calculated by hand, the lines that were traced' '
    python3 -S "$GP_SOURCE/tests/xplane/programs.py" p.xplane.pb >want.json && known p.xplane.pb >got.json &&
    jq -e -n --slurpfile a want.json --slurpfile b got.json "\$a == \$b" >/dev/null || { jq -c . want.json got.json; false; }
'

test_expect_success 'the same by way of Chrome and Perfetto' '
    python3 -S "$GP_SOURCE/tests/xplane/programs.py" p.xplane.pb >want.json && trace-convert -q --to chrome p.xplane.pb >p.json &&
    trace-convert -q --to perfetto p.xplane.pb >p.pftrace && for f in p.json p.pftrace; do
        known $f >got.json && jq -e -n --slurpfile a want.json --slurpfile b got.json "\$a == \$b" >/dev/null || { echo $f; jq -c . want.json got.json; return 1; }
    done
'

test_expect_success 'kernels of a CUDA graph by the lines that JAX traced; what two lines share belongs to their caller' '
    jax=$samples/other/jax.xplane.pb.gz &&
    trace-query -q -f csv "$jax" "select distinct name, line(stack) from kernels" | tr -d "\r" >lines && grep "^gemm_fusion_dot_5,net.py:10$" lines &&
    grep "^gemm_fusion_dot_general_15,net.py:15$" lines && grep "^loop_reduce_fusion,net.py:13$" lines &&
    trace2flame -q -f folded "$jax" | grep "cuGraphLaunch;net.py(31): steps;net.py(20): update;net.py(13): loss;.*gemm_fusion_dot_5 " &&
    trace-suggest -q -f json "$jax" >advice.json &&
    jq -e ".regime | .evidence == \"shapes\" and .from_names_ns == 0 and .from_shapes_ns > 0" advice.json
'

test_expect_success 'a profile that was cut is read up to the cut, and says so' '
    python3 -S "$planes" 5 a.xplane.pb >want.json && head -c $(($(wc -c <a.xplane.pb) / 2)) a.xplane.pb >cut.xplane.pb &&
    trace-convert --to chrome cut.xplane.pb >cut.json 2>err && grep "the input ends early" err
'

test_done
