#!/bin/sh
test_description='trace-diff: what it tells, in which form, and how it ends'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# trace STEPS GEMM RELU [EXTRA] -- steps of 1000 us, in which kernels of so many us follow each other from 100 us on. So the
# window of a step is 1000 us, and what is not under a kernel is idle because the host launches nothing more.
trace() {
    awk -v steps="$1" -v gemm="$2" -v relu="$3" -v extra="$4" 'BEGIN {
        print "{\"traceEvents\": ["
        for (i = 0; i < steps; i++) {
            t = 1000 * i; id = 10 * i; at = t + 100
            printf "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",", i ? "," : "", i
            printf "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":900}\n", t
            n = split("gemm " gemm " relu " relu (extra ? " extra " extra : ""), w, " ")
            for (k = 1; k < n; k += 2) {
                id++
                printf ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
                printf "\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}}\n", t + 10 * k, id
                printf ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%.3f,\"dur\":%.3f,", w[k], at, w[k + 1]
                printf "\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}\n", id
                at += w[k + 1]
            }
        }
        print "]}"
    }'
}
trace 10 100 50 >base.json
trace 10 120 50 >slow.json
trace 10 100 50 30 >more.json
trace 10 100.2 50.1 >same.json
echo '[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":4}]' >cpu.json

test_expect_success 'by line: of launches and captures, of the backward pass that of who waits, of one function together' '
    trace-convert -q --to chrome "$GP_SOURCE/samples/h200/plain.trace" >lines.json &&
    sed "s/plain\.py:23)/plain.py:123)/g" lines.json >moved.json && ! cmp -s lines.json moved.json &&
    trace-diff -q -f json --by line lines.json moved.json >out &&
    jq -e "[.operations[].baseline.total_ns] | add" out >sum && jq -e ".total.baseline_ns" out | cmp - sum &&
    jq -e "[.operations[] | select(.name | test(\"^[^ ]+:[0-9]+ .\") | not) | .name] == []" out &&
    jq -e "[.operations[] | select(.name | startswith(\"plain.py:2\")) | [.name, .current.names[0], .change_ns]] | sort ==
        [[\"plain.py:20 Block.attend\", \"plain.py:20 Block.attend\", 0], [\"plain.py:23 Block.forward\", \"plain.py:123 Block.forward\", 0],
         [\"plain.py:24 Block.forward\", \"plain.py:24 Block.forward\", 0]]" out &&
    jq -e "[.operations[] | select(.name | endswith(\" train\")) | .baseline.total_ns] | max > 1000000" out &&
    trace-diff -q --by line lines.json moved.json >text && grep "^Of [0-9]* lines: [0-9]* the same" text
'

test_expect_success 'a slower kernel: found, sized, and part of an exact sum' '
    status_of trace-diff -f json base.json slow.json && test "$status" -eq 1 &&
    jq -e ".total == {unit: \"step\", baseline_ns: 150000, current_ns: 170000, change_ns: 20000,
                      change_pct: .total.change_pct} and (.total.change_pct - 13.3333 | fabs) < 0.001" out &&
    jq -e "[.operations[] | [.name, .change_type, .change_ns, .baseline.total_ns, .current.total_ns, .significant]] ==
        [[\"gemm\", \"regression\", 20000, 100000, 120000, true], [\"relu\", \"no_change\", 0, 50000, 50000, false]]" out &&
    jq -e ".operations[0] | .percall_effect_ns == 20000 and .count_effect_ns == 0 and .overlap_effect_ns == 0
           and (.change_pct - 20 | fabs) < 0.001 and .baseline.count == 1 and .p_value < 0.001" out &&
    jq -e "[.attribution[] | select(.change_ns != 0) | [.sort, .operation, .idle_cause, .change_ns]] ==
        [[\"operation\", \"gemm\", null, 20000], [\"idle\", null, \"host\", -20000]]" out &&
    jq -e ".baseline.step_ns == 1000000 and .current.step_ns == 1000000 and .residual_ns == 0
           and .baseline.busy_ns == 150000 and .summary.verdict == \"regression\" and .summary.exit_status == 1" out
'

test_expect_success 'the other way round every sign is the other one' '
    trace-diff -f json slow.json base.json >out &&
    jq -e ".total.change_ns == -20000 and .operations[0].change_ns == -20000
           and .operations[0].change_type == \"improvement\" and .summary.verdict == \"improvement\"" out &&
    jq -e "[.attribution[] | select(.change_ns != 0) | .change_ns] == [-20000, 20000]" out
'

test_expect_success 'a trace against itself: nothing changed' '
    trace-diff base.json base.json >out 2>err && test_must_be_empty err && head -n 1 out | grep "^NO CHANGE: " &&
    trace-diff -f json base.json base.json >out &&
    jq -e ".identical and .summary.verdict == \"no_change\" and ([.operations[].change_ns, .attribution[].change_ns,
           .total.change_ns] | all(. == 0))" out
'

test_expect_success 'a difference within the noise is not a change' '
    trace-diff -f json base.json same.json >out &&
    jq -e ".summary | .regressions == 0 and .no_change == 2 and .verdict == \"no_change\"" out
'

test_expect_success 'a kernel that is new, or gone' '
    status_of trace-diff -f json --gate none base.json more.json && test "$status" -eq 0 &&
    jq -e ".operations[0] | .name == \"extra\" and .change_type == \"new\" and .baseline == null and .change_ns == 30000
           and .change_pct == null" out &&
    trace-diff -f json --gate none more.json base.json >out &&
    jq -e ".operations[0] | .name == \"extra\" and .change_type == \"removed\" and .current == null
           and .change_ns == -30000 and (.change_pct == -100)" out
'

test_expect_success 'the text begins with the verdict, and its sums are sums' '
    status_of trace-diff base.json slow.json && test "$status" -eq 1 && test_must_be_empty err &&
    head -n 1 out | grep "^REGRESSION: .*150 µs -> 170 µs (+13.3%)" &&
    grep -E "^  gemm +\+20.000 +\+2.00% +1,020.000$" out &&
    grep -E "^  idle: the host had launched nothing +-20.000 +-2.00% +1,000.000$" out &&
    grep -E "^  current +0.000 +0% +1,000.000$" out &&
    grep -E "^  gemm +\+20.0 µs +\+20.0% .* 100 µs" out
'

test_expect_success 'no line of text is longer than 80 columns, whatever is compared' '
    for pair in "small small_compiled" "small_forloop small_fused" "decode decode_graph" "fp32 tf32" "math decode"; do
        set -- $pair &&
        status_of trace-diff -q "$samples/pairs/$1.trace" "$samples/pairs/$2.trace" &&
        test -z "$(LC_ALL=C sed "s/[\\x80-\\xbf]//g" out | awk "length > 80")" || return 1
    done
'

# ---- the whole and its parts ----

# verdict BASE CUR -- the word of the first line, in $word, and the exit status
verdict() { status_of trace-diff -q "$1" "$2" && word=$(sed -n "1s/:.*//p" out); }

test_expect_success 'what a change did decides, not one kernel; both recordings and both directions agree' '
    while read -r before after; do
        for kind in trace json.gz; do
            a="$samples/pairs/$before.$kind" b="$samples/pairs/$after.$kind" &&
            verdict "$a" "$b" && test "$status $word" = "0 IMPROVEMENT" &&
            verdict "$b" "$a" && test "$status $word" = "1 REGRESSION" || { echo "$before $after $kind: $status $word"; return 1; }
        done
    done <<-EOF
	small small_compiled
	small_break small_compiled
	small_forloop small_fused
	decode decode_graph
	mlp_pageable mlp_pinned
	fp32 bf16
	math flash
	pieces pieces_async
	mlp_empty_cache mlp_pinned
	EOF
'

test_expect_success 'an undecided figure says so, and never comes first where another one decided' '
    status_of trace-diff -f json --gate none "$samples/pairs/small.trace" "$samples/pairs/small_fused.trace" &&
    jq -e ".summary | .verdict == \"improvement\" and .word == \"IMPROVEMENT\" and (.mixed | not) and
           (.headline | test(\"^GPU time .*; step time .*, not decided \\\\(1 run per side\\\\)\")) and
           .sentence == \"IMPROVEMENT: \" + .headline" out
'

test_expect_success 'nothing is "no change" above rows that changed, and nothing is -0.0%' '
    for pair in "decode decode_item" "train train_previous" "epilogue_2 epilogue_fused_2"; do
        set -- $pair &&
        verdict "$samples/pairs/$1.trace" "$samples/pairs/$2.trace" && test "$status $word" = "0 INCONCLUSIVE" &&
        head -n 4 out | tr "\n" " " | grep "step time .*, not decided (1 run per side)" && ! grep -e "[-+]0\.0%" -e "[-+]0\.0 to" out ||
            return 1
    done
'

# Near misses are above: decode_item waits, but the host is late on both sides; the wait of train_previous costs nothing.
test_expect_success 'waits that only one side has decide the step time, but break no gate' '
    for pair in train_item.trace:train.trace train_synchronize.json.gz:train.json.gz \
        mlp_norms_read.json.gz:mlp_norms_kept.json.gz pieces_2.trace:pieces_async_2.trace; do
        slow=$samples/pairs/${pair%:*} fast=$samples/pairs/${pair#*:} &&
        verdict "$slow" "$fast" && test "$status $word" = "0 IMPROVEMENT" &&
        verdict "$fast" "$slow" && test "$status $word" = "1 REGRESSION" || return 1
    done &&
    status_of trace-diff -q -f json "$samples/pairs/train.trace" "$samples/pairs/train_item.trace" &&
    jq -e "[.metrics[] | select(.metric == \"step\") | .test] == [\"waits\"] and ([.notes[] | select(.id == \"step_waits\")] | length == 1)" out &&
    status_of trace-diff -q --gate step:10% "$samples/pairs/train.trace" "$samples/pairs/train_item.trace" && test "$status" -eq 0 &&
    grep -E "^  step:10% +undecided" out
'

test_expect_success 'a program recorded by both recorders has not changed' '
    for f in train train_item mlp_norms_read epilogue epilogue_fused; do
        verdict "$samples/pairs/$f.trace" "$samples/pairs/$f.json.gz" && test "$status" -eq 0 &&
        case $word in IMPROVEMENT | REGRESSION) return 1 ;; esac || return 1
    done
'

# The clock of the fused side falls by 13% while it is recorded; a kernel that both sides run is 1.7% longer there.
test_expect_success 'kernels of only one side are compared although a clock fell' '
    verdict "$samples/pairs/epilogue.trace" "$samples/pairs/epilogue_fused.trace" && test "$status $word" = "0 IMPROVEMENT" &&
    verdict "$samples/pairs/epilogue_fused.trace" "$samples/pairs/epilogue.trace" && test "$status $word" = "1 REGRESSION"
'

# Steps of MS, whose last 100 us are two kernels of LONG and 50 us.
step_of() {
    trace 6 "$2" 50 | awk -v f="$1" "{ while (match(\$0, /\"ts\":[0-9.]+/)) { v = substr(\$0, RSTART + 5, RLENGTH - 5)
        k = int(v / 1000); s = s substr(\$0, 1, RSTART - 1) \"\\\"ts\\\":\" (v + k * 1000 * (f - 1))
        \$0 = substr(\$0, RSTART + RLENGTH) } print s \$0; s = \"\" }"
}

test_expect_success 'one run per side decides no step time if both make the same calls, unless a gate asks' '
    step_of 1 100 >one.json && step_of 2 100 >double.json &&
    for pair in "one double" "double one"; do
        set -- $pair && verdict $1.json $2.json && test "$status $word" = "0 INCONCLUSIVE" &&
        tr "\n" " " <out | grep "step time .*, not decided (1 run per side)" || return 1
    done &&
    trace-diff -q -f json --gate none one.json double.json >out &&
    jq -e ".metrics[] | select(.metric == \"step\") | .why | test(\"the calls are the same\")" out &&
    status_of trace-diff -q --gate step:10% one.json double.json && test "$status" -eq 0 &&
    grep -E "^  step:10% +undecided" out &&
    status_of trace-diff -q --gate step:10% --gate-wall-single one.json double.json && test "$status" -eq 1 &&
    for name in loading loading_2; do
        status_of trace-diff -q "$samples/pairs/${name%_2}_workers${name#loading}.json.gz" "$samples/pairs/$name.json.gz" &&
        test "$status" -eq 0 || return 1
    done
'

# In pieces a product takes 4.9% longer in one of the two.
test_expect_success 'two recorders of one program are named, and decide nothing' '
    for f in train epilogue pieces; do
        for pair in "$f.trace $f.json.gz" "$f.json.gz $f.trace"; do
            set -- $pair && status_of trace-diff "$samples/pairs/$1" "$samples/pairs/$2" && test "$status" -eq 0 &&
            tr "\n" " " <out | grep "two recorders: .*torch.profiler" && tr "\n" " " <out | grep "two recorders: .*gpuprof-collect" || return 1
        done
    done &&
    trace-diff -q -f json --gate none "$samples/pairs/train.trace" "$samples/pairs/train.json.gz" >out &&
    jq -e "[.. | .noise_pct? // empty] | max >= 5" out &&
    jq -e "[.reasons[] | select(.id == \"recorders\" and (.fatal | not))] | length == 1" out &&
    trace-diff -f html --gate none "$samples/pairs/train.trace" "$samples/pairs/train.json.gz" | grep "two recorders: "
'

# ---- gates ----

test_expect_success 'gates: a broken one is named, and the exit status is 1' '
    status_of trace-diff --gate op:5% base.json slow.json && test "$status" -eq 1 &&
    grep "^Gate op:5% is broken: gemm is slower (+20%)" out && grep -E "^  op:5% +BROKEN +\+20% +gemm" out &&
    status_of trace-diff --gate busy:3% base.json slow.json && test "$status" -eq 1 && grep "^Gate busy:3% is broken" out &&
    status_of trace-diff --gate gpu_time:10us base.json slow.json && test "$status" -eq 1 &&
    grep "^Gate gpu_time:10us is broken" out &&
    status_of trace-diff --gate launches:0 base.json more.json && test "$status" -eq 1 &&
    grep "^Gate launches:0 is broken" out &&
    status_of trace-diff --gate gpu_events:0 base.json more.json && test "$status" -eq 1 &&
    grep "^Gate gpu_events:0 is broken" out
'

test_expect_success 'gates that hold' '
    trace-diff --gate op:30% --gate busy:20% --gate launches:0 --gate gpu_time:20us base.json slow.json >out &&
    ! grep broken out && test "$(grep -c " holds " out)" -eq 4 &&
    trace-diff --gate op:5% slow.json base.json >out &&
    trace-diff --gate none base.json slow.json >out && head -n 1 out | grep "^REGRESSION"
'

test_expect_success 'one of several gates is enough; where text does not go, standard error tells it' '
    status_of trace-diff -f json --gate op:30% --gate busy:3% base.json slow.json && test "$status" -eq 1 &&
    jq -e "[.gates[] | [.gate, .broken]] == [[\"op:30%\", false], [\"busy:3%\", true]]" out &&
    grep "^trace-diff: Gate busy:3% is broken" err && ! grep "op:30%" err
'

test_expect_success 'step time of one run a side breaks a gate only when it is asked to' '
    sed "s/\"ts\":\([0-9]*\)/\"ts\":\1/" base.json >copy.json &&
    trace-diff --gate step:1% base.json slow.json >out &&
    trace 10 100 50 | awk "{ while (match(\$0, /\"ts\":[0-9.]+/)) { v = substr(\$0, RSTART + 5, RLENGTH - 5);
        s = s substr(\$0, 1, RSTART - 1) \"\\\"ts\\\":\" (v * 1.5); \$0 = substr(\$0, RSTART + RLENGTH) } print s \$0; s = \"\" }" >late.json &&
    trace-diff --gate step:10% base.json late.json >out && grep -E "^  step:10% +(undecided|not known|holds)" out &&
    status_of trace-diff --gate step:10% --gate-wall-single base.json late.json && test "$status" -eq 1 &&
    grep "^Gate step:10% is broken" out
'

test_expect_success '--mode simple is a threshold, and reports that it is not a test' '
    status_of trace-diff --mode simple base.json slow.json && test "$status" -eq 1 && grep "no test" out &&
    status_of trace-diff --mode simple --threshold 25% --gate op:25% base.json slow.json && test "$status" -eq 0 &&
    trace-diff -f json --gate none --mode simple base.json slow.json >out &&
    jq -e ".operations[0] | .test == \"threshold\" and .p_value == null" out
'

test_expect_success 'the example of README fails a build as README shows it' '
    command=$(sed -n "s/^\$ \(trace-diff .*samples\/pairs.*\)/\1/p" "$GP_SOURCE/README.md") && test -n "$command" &&
    (cd "$GP_SOURCE" && test_expect_code 1 $command) >out 2>err &&
    grep -Fx "$(head -n 1 out)" "$GP_SOURCE/README.md" &&
    for gate in gpu_time:3% launches:0; do
        grep -Fx "$(grep "^Gate $gate is broken" out)" "$GP_SOURCE/README.md" || return 1
    done
'

# ---- what cannot be compared ----

test_expect_success 'an empty trace never passes, on either side' '
    status_of trace-diff base.json cpu.json && test "$status" -eq 3 && head -n 1 out | grep "^NOT COMPARABLE: .*GPU events" &&
    status_of trace-diff cpu.json base.json && test "$status" -eq 3 &&
    status_of trace-diff cpu.json cpu.json && test "$status" -eq 3 &&
    status_of trace-diff --gate none cpu.json base.json && test "$status" -eq 3 &&
    status_of trace-diff --any-work --cross-gpu base.json cpu.json && test "$status" -eq 3 &&
    status_of trace-diff -q -f json base.json cpu.json && test "$status" -eq 3 &&
    jq -e ".comparable == false and .summary.verdict == \"not_comparable\" and .reasons[0].fatal" out &&
    grep "^trace-diff: NOT COMPARABLE" err
'

on_gpu() { sed "s/^{\"traceEvents\"/{\"deviceProperties\": [{\"id\": 0, \"name\": \"$1\"}], \"traceEvents\"/" base.json; }

test_expect_success 'another GPU, unless it is wanted' '
    on_gpu "NVIDIA H200" >h200.json && on_gpu "NVIDIA A100" >a100.json &&
    status_of trace-diff h200.json a100.json && test "$status" -eq 3 &&
    head -n 1 out | grep "^NOT COMPARABLE: .*H200.*A100" &&
    trace-diff --cross-gpu h200.json a100.json >out && trace-diff h200.json h200.json >out
'

test_expect_success 'different work, unless it is wanted' '
    status_of trace-diff -q "$samples/pairs/math.trace" "$samples/pairs/decode.trace" && test "$status" -eq 3 &&
    head -n 1 out | grep "^NOT COMPARABLE: different work" &&
    status_of trace-diff -q --any-work --gate none "$samples/pairs/math.trace" "$samples/pairs/decode.trace" &&
    test "$status" -eq 0
'

test_expect_success 'another algorithm is compared and named' '
    for n in "" _2; do
        for kind in trace json.gz; do
            a="$samples/pairs/heads$n.$kind" b="$samples/pairs/heads_batched$n.$kind" &&
            verdict "$a" "$b" && test "$status $word" = "0 IMPROVEMENT" &&
            sed "/^Of /,\$d" out | tr "\n" " " | grep "another algorithm: 1 product per step instead of 64" &&
            verdict "$b" "$a" && test "$status $word" = "1 REGRESSION" || return 1
        done
    done
'

test_expect_success 'another batch is not compared, unless it is wanted' '
    for kind in trace json.gz; do
        a="$samples/pairs/train.$kind" b="$samples/pairs/train_double.$kind" &&
        status_of trace-diff -q "$a" "$b" && test "$status" -eq 3 &&
        head -n 2 out | tr "\n" " " | grep "^NOT COMPARABLE: another batch or model: .* grids 2 times as large" &&
        status_of trace-diff -q "$b" "$a" && test "$status" -eq 3 &&
        status_of trace-diff -q --any-work "$a" "$b" && test "$status" -eq 1 && grep "^! another batch or model" out || return 1
    done &&
    status_of trace-diff -q "$samples/pairs/small.trace" "$samples/pairs/small_2.trace" && test "$status" -eq 3
'

test_expect_success 'a warning that it may not be the same program' '
    status_of trace-diff -q "$samples/pairs/epilogue.trace" "$samples/pairs/mlp_pinned.trace" && test "$status" -ne 3 &&
    grep "^! these may be different programs: .* new" out &&
    status_of trace-diff -q "$samples/pairs/small.trace" "$samples/pairs/small_compiled.trace" && ! grep "different programs" out
'

# layers FILE FACTOR: ten steps of a product, four kernels over grids that are FACTOR times as large, and an optimizer
# with 20 times their GPU time, whose grids depend on the parameters.
layers() {
    awk -v f="$2" "BEGIN {
        n = split(\"norm gelu dropout add\", names, \" \")
        print \"{\\\"traceEvents\\\": [\"
        for (i = 0; i < 10; i++) {
            at = i * 2000
            printf \"%s{\\\"ph\\\":\\\"X\\\",\\\"cat\\\":\\\"user_annotation\\\",\\\"name\\\":\\\"ProfilerStep#%d\\\",\\\"pid\\\":1,\\\"tid\\\":1,\\\"ts\\\":%d,\\\"dur\\\":1900}\\n\", (i ? \",\" : \"\"), i, at
            for (k = 0; k <= n + 1; k++) {
                name = k == 0 ? \"sm90_xmma_gemm_bf16\" : k <= n ? \"void \" names[k] \"_kernel<float>(float*)\" : \"void multi_tensor_apply_kernel<Adam>(int)\"
                c = i * 10 + k + 1
                printf \",{\\\"ph\\\":\\\"X\\\",\\\"cat\\\":\\\"cuda_runtime\\\",\\\"name\\\":\\\"cudaLaunchKernel\\\",\\\"pid\\\":1,\\\"tid\\\":1,\\\"ts\\\":%d,\\\"dur\\\":3,\\\"args\\\":{\\\"correlation\\\":%d}}\\n\", at + 5 * k + 1, c
                printf \",{\\\"ph\\\":\\\"X\\\",\\\"cat\\\":\\\"kernel\\\",\\\"name\\\":\\\"%s\\\",\\\"pid\\\":0,\\\"tid\\\":7,\\\"ts\\\":%d,\\\"dur\\\":%d,\\\"args\\\":{\\\"correlation\\\":%d,\\\"device\\\":0,\\\"stream\\\":7,\\\"grid\\\":[%d,1,1],\\\"block\\\":[128,1,1]}}\\n\", name, at + 50 * k + 100, (k > n ? 800 : 10), c, (k == 0 || k > n ? 264 : 64 * k * f)
            }
        }
        print \"]}\" }" >"$1"
}

test_expect_success 'another batch is seen beside an optimizer that takes most of the time' '
    layers small_batch.json 1 && layers large_batch.json 4 && layers again.json 1 &&
    for pair in "small_batch large_batch" "large_batch small_batch"; do
        set -- $pair && status_of trace-diff -q $1.json $2.json && test "$status" -eq 3 &&
        tr "\n" " " <out | grep "^NOT COMPARABLE: another batch or model: 4 kernels run over grids" || return 1
    done &&
    status_of trace-diff -q small_batch.json again.json && test "$status" -eq 0
'

test_expect_success 'other programs are not compared, whichever is the baseline' '
    for pair in jury4/video_pinned:jury2/t5_casts jury5/convnext_graph:jury2/cupy_batched jury5/fcn_pinned:jury3/swin_pinned; do
        a=$samples/pairs/${pair%:*}.trace.zst b=$samples/pairs/${pair#*:}.trace.zst &&
        status_of trace-diff -q "$a" "$b" && test "$status" -eq 3 && head -n 1 out | grep "^NOT COMPARABLE: different work" &&
        status_of trace-diff -q "$b" "$a" && test "$status" -eq 3 || return 1
    done
'

test_expect_success 'a group of traces is of one program' '
    status_of trace-diff -q --base "$samples/pairs/small.trace" "$samples/pairs/decode.trace" --current "$samples/pairs/small.trace" &&
    test "$status" -eq 3 && tr "\n" " " <out | grep "^NOT COMPARABLE: different programs in the baseline: .*small.trace and .*decode.trace" &&
    status_of trace-diff -q --base "$samples/pairs/small.trace" --current "$samples/pairs/small.trace" "$samples/pairs/decode.trace" &&
    test "$status" -eq 3 &&
    status_of trace-diff -q --base "$samples/pairs/train.trace" "$samples/pairs/train.json.gz" --current "$samples/pairs/train.trace" &&
    test "$status" -eq 0
'

# By hand: three kernels of 100 us in a step of 1000 us, then of 130, 120 and 110: 60 us more of them and as much less idle time.
# One of the slower rows is shown, 30 us; the other two have 20 + 10.
test_expect_success 'rows that -n cuts off leave their sum; JSON has all' '
    trace 10 100 100 100 >three.json && trace 10 130 120 110 >longer.json &&
    status_of trace-diff -n 1 three.json longer.json && test "$status" -eq 1 &&
    grep "^  gemm  *+30.0 µs" out && grep "^  and 2 more, together +30.0 µs\$" out &&
    grep "^  idle: .* -60.000 " out && grep "^  3 others that grew  *+60.000 " out && ! grep -w relu out &&
    status_of trace-diff -n 1 -f json three.json longer.json &&
    jq -e "[.operations[].change_ns] == [30000, 20000, 10000] and .total.change_ns == 60000
           and ([.attribution[].change_ns] | add) == 0" out
'

# ---- groups, baselines, predictions ----

test_expect_success 'groups of traces' '
    status_of trace-diff -f json --gate op:5% --base base.json base.json --current slow.json slow.json same.json &&
    test "$status" -ne 2 && jq -e ".baseline.inputs == 2 and .current.inputs == 3" out &&
    status_of trace-diff --base base.json --current slow.json --gate op:5% && test "$status" -eq 1 &&
    status_of trace-diff --base base.json && test "$status" -eq 2 &&
    status_of trace-diff --base base.json --gate op:5% slow.json --current slow.json && test "$status" -eq 2
'

test_expect_success 'baselines that are kept' '
    trace-diff --baseline-dir kept --save main base.json >out 2>err && test_must_be_empty out && test_must_be_empty err &&
    test "$(ls kept/main | wc -l)" -eq 1 && test "$(cat kept/main/* | wc -c)" -lt "$(wc -c <base.json)" &&
    status_of trace-diff --baseline-dir kept --against main --gate op:5% slow.json && test "$status" -eq 1 &&
    grep "^Gate op:5% is broken: gemm" out &&
    trace-diff --baseline-dir kept --against main base.json >out && head -n 1 out | grep "^NO CHANGE" &&
    status_of trace-diff -f json kept/main/*.profile slow.json && test "$status" -eq 1 &&
    jq -e ".total.change_ns == 20000" out
'

test_expect_success 'what fails is not kept, and few are' '
    status_of trace-diff --baseline-dir kept --against main --save main slow.json && test "$status" -eq 1 &&
    test "$(ls kept/main | wc -l)" -eq 1 &&
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        trace-diff --baseline-dir kept --save main base.json || return 1
    done &&
    test "$(ls kept/main | wc -l)" -eq 10 && ls kept/main | head -n 1 | grep "^000004-" &&
    status_of trace-diff --baseline-dir kept --save main cpu.json && test "$status" -eq 2 && grep "no GPU events" err &&
    test "$(ls kept/main | wc -l)" -eq 10
'

# A baseline of 0.1: magic, version 1, length 3 and the hash of what follows; little endian.
test_expect_success 'baselines of 0.1 are refused with their version' '
    mkdir -p old/main &&
    printf "gpprof\\n\\032\\001\\000\\000\\000\\003\\000\\000\\000\\000\\000\\000\\000--------abc" \
        >old/main/000001-0123456789abcdef.profile &&
    status_of trace-diff --baseline-dir old --against main base.json && test "$status" -eq 2 && test_must_be_empty out &&
    grep "^trace-diff: old/main/000001-0123456789abcdef.profile: profile version 1 is not supported; expected version [0-9]" err
'

test_expect_success 'names of baselines stay within their folder' '
    for name in ../up a/b .hidden "" "a b" -x; do
        status_of trace-diff --baseline-dir kept --save="$name" base.json && test "$status" -eq 2 || return 1
        status_of trace-diff --baseline-dir kept --against="$name" base.json && test "$status" -eq 2 || return 1
    done &&
    test ! -e up && test "$(ls -A kept)" = main &&
    status_of trace-diff --baseline-dir kept --against nothing base.json && test "$status" -eq 2 &&
    grep "^trace-diff: kept/nothing: no baseline" err &&
    status_of trace-diff --save main base.json && test "$status" -eq 2 && grep -e "--baseline-dir" err &&
    head -c 100 kept/main/000004-* >kept/main/000001-0.profile &&
    status_of trace-diff --baseline-dir kept --against main base.json && test "$status" -eq 2
'

expect() { printf '{"schema": "gpuprof/expect/1", "predictions": [%s]}\n' "$1"; }

test_expect_success 'predictions: met, better, worse' '
    expect "{\"metric\": \"gpu_time\", \"low_ns\": -25000, \"high_ns\": -15000},
            {\"idle\": \"host\", \"low_ns\": 10000, \"high_ns\": 30000},
            {\"operation\": \"gemm\", \"low_pct\": -20, \"high_pct\": -10}" >met.json &&
    trace-diff -f json --expect met.json slow.json base.json >out &&
    jq -e "[.predictions[].outcome] == [\"met\", \"met\", \"met\"]" out &&
    expect "{\"operation\": \"gemm\", \"low_ns\": -90000, \"high_ns\": -50000}" >more_than.json &&
    status_of trace-diff --expect more_than.json slow.json base.json && test "$status" -eq 1 &&
    grep "prediction for .*gemm does not hold (worse)" out &&
    expect "{\"operation\": \"gemm\", \"low_ns\": -9000, \"high_ns\": -5000}" >less_than.json &&
    status_of trace-diff -f json --expect less_than.json slow.json base.json &&
    jq -e "[.predictions[].outcome] == [\"better\"]" out &&
    expect "{\"operation\": \"nothing\", \"low_pct\": 1, \"high_pct\": 2}" >unknown.json && # known in no unit, told in its own
    status_of trace-diff -f json --expect unknown.json slow.json base.json && test "$status" -eq 1 &&
    jq -e ".predictions[0] | .outcome == \"unknown\" and has(\"value_pct\") and .value_pct == null and (has(\"value\") | not)" out
'

test_expect_success 'predictions of the step are held against unprofiled times where those are given' '
    expect "{\"metric\": \"step\", \"low_ns\": -300000, \"high_ns\": -200000}" >step.json &&
    status_of trace-diff -f json --expect step.json --base-step 1ms --current-step 750us slow.json base.json &&
    jq -e ".predictions[0] | .outcome == \"met\" and .value == -250000" out &&
    status_of trace-diff --expect step.json --base-step 1ms --current-step 900us slow.json base.json && test "$status" -eq 1 &&
    expect "{\"metric\": \"step\", \"low_pct\": -30, \"high_pct\": -20}" >pct.json &&
    status_of trace-diff -f json --expect pct.json --base-step 1ms --current-step 750us slow.json base.json &&
    jq -e ".predictions[0].outcome == \"met\"" out
'

test_expect_success 'predictions that make no sense' '
    for text in "" "{}" "[]" "{\"schema\": \"gpuprof/expect/1\"}" "$(expect "")" "$(expect 1)" \
        "$(expect "{\"metric\": \"gpu_time\"}")" "$(expect "{\"metric\": \"speed\", \"low\": 1, \"high\": 2}")" \
        "$(expect "{\"metric\": \"step\", \"low_ns\": 2, \"high_ns\": 1}")" \
        "$(expect "{\"idle\": \"boredom\", \"low_ns\": 1, \"high_ns\": 2}")" \
        "$(expect "{\"metric\": \"step\", \"idle\": \"host\", \"low_ns\": 1, \"high_ns\": 2}")"; do
        printf "%s" "$text" >wrong.json &&
        status_of trace-diff --expect wrong.json base.json slow.json && test "$status" -eq 2 &&
        test_must_be_empty out && grep "^trace-diff: wrong.json: " err || return 1
    done
'

# ---- forms ----

test_expect_success 'folded stacks have two columns that sum to the sides' '
    trace-diff -f folded --gate none base.json more.json >out &&
    test "$(awk "{ b += \$(NF - 1); c += \$NF } END { print b, c }" out)" = "150000 180000" && grep "extra 0 30000$" out
'

test_expect_success 'pictures are well-formed' '
    for view in waterfall flame flame-base; do
        trace-diff -f svg --view $view --gate none base.json more.json >$view.svg &&
        head -c 5 $view.svg | grep "<?xml" && grep "</svg>" $view.svg >/dev/null || return 1
        if command -v xmllint >/dev/null; then xmllint --noout $view.svg || return 1; fi
    done &&
    grep "class=\"new\"" flame.svg >/dev/null && ! grep "class=\"new\"" flame-base.svg
'

test_expect_success 'the page has the figures, and the object for programs' '
    trace-diff -f html --gate none base.json slow.json >out && head -c 15 out | grep -i "<!doctype html>" &&
    grep -q "REGRESSION" out && grep -q "gpuprof/trace-diff/1" out &&
    for table in waterfall regressions operations metrics step_list sides settings; do
        grep -q "<details class=\"table\" id=\"$table\"" out || return 1
    done &&
    grep -q "<span>steps used</span></td><td class=\"n\" data-v=\"10\">10</td><td class=\"n\" data-v=\"10\">10</td>" out
'

test_expect_success 'a page without all rows says who has them: there is no CSV' '
    trace 600 100 50 >many.json && trace-diff -q -f html many.json many.json >out &&
    grep -q "The first 1,000 of 1,200 rows; --format json has them all[.]" out && ! grep -q "format csv" out &&
    trace-diff -q -f json many.json many.json | jq -e ".step_list | length == 1200"
'

# Start-up 10.05 ms, a warm-up step of 5 ms, five of 1 ms (four whole), 10.75 ms after them; against a copy 50% longer.
test_expect_success 'start-up is not compared, and one line says how long it took' '
    sed "s/\"dur\":300/\"dur\":450/" $GP_SOURCE/tests/cli/data/start_up.json >longer.json &&
    trace-diff --gate none $GP_SOURCE/tests/cli/data/start_up.json longer.json >out && tr "\n" " " <out >line &&
    grep -F "Outside the steps, not compared: 10.1 ms before them, 5.00 ms of warm-up, 10.8 ms after them in the baseline; 10.1 ms before them, 5.00 ms of warm-up, 10.6 ms after them in the current trace. " line &&
    grep -F "step time 1.00 ms -> 1.00 ms" line &&
    trace-diff --gate none base.json slow.json >out && ! grep "Outside the steps" out
'

test_expect_success 'blocks as a graph' '
    status_of trace-diff -q -f dot "$samples/pairs/small.trace" "$samples/pairs/small_compiled.trace" &&
    head -n 1 out | grep "^digraph" &&
    if command -v dot >/dev/null; then dot -Tsvg out >out.svg && grep "<svg" out.svg; fi
'

test_expect_success 'the same bytes with any number of threads, in any format of the input' '
    trace-diff -f json --threads 1 --gate none base.json slow.json >one && gzip -kf slow.json &&
    for n in 0 2 8; do
        trace-diff -f json --threads $n --gate none base.json slow.json >other && test_cmp one other || return 1
    done &&
    trace-convert -q -o slow.trace slow.json && trace-diff -f folded --gate none base.json slow.json >plain &&
    trace-diff -f folded --gate none base.json slow.trace >ours && test_cmp plain ours &&
    trace-diff -f folded --gate none base.json - <slow.json.gz >gz && test_cmp plain gz
'

# ---- wrong use ----

test_expect_success 'wrong use' '
    for args in "" "base.json" "base.json base.json base.json" "- -" "--gate speed:3% base.json base.json" \
        "--gate op base.json base.json" "--gate none --gate op:5% base.json base.json" "--alpha 2 base.json base.json" \
        "--by stream base.json base.json" "--against main --base base.json --current base.json" "--step-marker ( base.json base.json"; do
        status_of trace-diff --baseline-dir kept $args </dev/null && test "$status" -eq 2 && test_must_be_empty out || return 1
    done &&
    status_of trace-diff base.json nowhere.json && test "$status" -eq 2 && grep "^trace-diff: nowhere.json: " err
'

test_expect_success 'damage is reported; with --strict it is an error' '
    head -n $(($(wc -l <slow.json) - 3)) slow.json >cut.json &&
    status_of trace-diff --gate none base.json cut.json && test "$status" -eq 0 &&
    grep "^! cut.json: the input ends early" out && grep "^trace-diff: cut.json: " err &&
    status_of trace-diff --strict -o result base.json cut.json && test "$status" -eq 2 && test ! -e result
'

test_expect_success '--verbose tells what was read' '
    trace-diff -v base.json base.json >out 2>err &&
    grep -x "trace-diff: baseline: base.json: chrome, compression none: 50 events, 20 on the GPU, clean" err &&
    grep "^trace-diff: current: base.json: " err
'

test_done
