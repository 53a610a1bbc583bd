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
    trace-hta -f json --top 0 many.hatchet 2>err >json && at=$(grep -b -o 4000000000 many.hatchet | cut -d: -f 1) &&
    grep "exceed a limit, skipped or joined: [0-9,]* (first at byte $at)" err &&
    size=$(wc -c <many.hatchet) && jq -e ".inputs[0].gpu_events > 65000 and .inputs[0].gpu_events <= 65536 + $size / 16" json &&
    jq -ce ".kernels | map([.name, .total_ns])" json >out &&
    echo "[[\"matmul_kernel\",120002],[\"_layer_norm_fwd\",6001]]" | test_cmp - out &&
    jq -e ".kernels[1].count == 2" json
'

# Nodes of 80 bytes for 10,000 kernels each: 20 million and 200 million.
test_expect_success 'memory is in proportion to the text, whatever it says it stands for' '
    for n in 2000 20000; do
        python3 "$GP_SOURCE/tests/bench/growth.py" --make hatchet_counts $n counts.$n && (
            test -n "$GP_SANITIZED" || ulimit -v 400000
            trace-hta -f json --top 0 counts.$n >json 2>err
        ) && size=$(wc -c <counts.$n) &&
        jq -e ".inputs[0].gpu_events > 65536 and .inputs[0].gpu_events <= 65536 + $size / 16" json &&
        jq -e ".kernels[0].total_ns == 20000 * $n" json &&
        grep "skipped or joined: 19[0-9,]* (first at byte" err || return 1
    done
'

test_done
