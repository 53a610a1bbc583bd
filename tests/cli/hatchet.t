#!/bin/sh
test_description='trees of Triton Proton: in as a trace without times of day, out of any trace'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

tree=$samples/other/proton.hatchet

test_expect_success 'the tree becomes the same stacks' '
    printf "%s\n" "backward;attention;matmul_kernel 80000" "forward;_layer_norm_fwd 6001" "forward;matmul_kernel 40002" >expected &&
    trace2flame -f folded "$tree" >out && test_cmp expected out
'

test_expect_success 'counts and times of kernels are exact' '
    trace-hta -q -f json --top 0 "$tree" >json &&
    jq -e ".inputs[0].format == \"hatchet\"" json &&
    jq -ce ".kernels | map([.name, .count, .total_ns])" json >out &&
    echo "[[\"matmul_kernel\",12,120002],[\"_layer_norm_fwd\",2,6001]]" >expected && test_cmp expected out
'

test_expect_success 'two trees are compared' '
    sed "s/80000/160000/" "$tree" >slower.hatchet &&
    status_of trace-diff -f json "$tree" slower.hatchet && test "$status" = 1 &&
    jq -e ".total.change_ns == 80000" out
'

test_expect_success 'written and read again, the stacks of any trace stay what they are' '
    for f in "$tree" "$samples/h200/eager.trace" "$samples/h200/decode.json.gz"; do
        trace2flame -q -f hatchet "$f" >there.hatchet && jq -e ".[0].frame.name == \"ROOT\"" there.hatchet >/dev/null &&
        trace2flame -q -f folded "$f" | awk "{ n += \$NF } END { print n }" >before &&
        jq "[.. | .metrics? // empty | .[\"time (ns)\"] // 0] | add" there.hatchet >after && test_cmp before after &&
        trace2flame -q -f folded there.hatchet | awk "{ n += \$NF } END { print n }" >after && test_cmp before after || return 1
    done
'

test_expect_success 'damage is located, and what comes before it counts' '
    head -c 700 "$tree" >cut.hatchet &&
    trace2flame -f folded cut.hatchet >out 2>err && grep "forward;matmul_kernel 40002" out && grep "the input ends early" err &&
    status_of trace2flame --strict -f folded cut.hatchet && test "$status" = 2 &&
    sed "s/\"time (ns)\": 6001/\"time (ns)\": \"long\"/" "$tree" >odd.hatchet &&
    trace2flame -f folded odd.hatchet >out 2>err && grep "wrong type" err && test "$(wc -l <out)" = 2
'

test_expect_success 'a count out of proportion does not make as many events' '
    sed "s/\"count\": 8/\"count\": 4000000000/" "$tree" >many.hatchet &&
    trace-hta -f json many.hatchet 2>err | jq -e ".inputs[0].gpu_events < 20000" && grep "exceed a limit" err
'

test_done
