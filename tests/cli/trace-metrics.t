#!/bin/sh
test_description='trace-metrics: counters by kernel, range and launch, with numbers worked out by hand (tests/unit/metrics_make.h)'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

"$GP_BIN"/../tests/make_metrics hand.trace

test_expect_success 'text: kernels with traffic, rates and peaks' '
    trace-metrics hand.trace >out 2>err &&
    grep "5 of 6 launches measured: 7 metrics on GH100, 1 pass" out &&
    grep "^ *product .* 3  *8.00 " out &&
    grep "^ *copy .* 3  *4.00 .*120 kB" out &&
    ! grep " 3.00 kB" out && grep "launches waited for each other" out
'

test_expect_success 'CSV, long: a line per value, percentages without a sum, what is missing empty' '
    trace-metrics -q -f csv hand.trace | tr -d "\r" >out &&
    grep -c . out >lines && test "$(cat lines)" = $((1 + 2 * (5 * 4 + 2 * 3))) &&
    grep "^copy,\"grid 16, block 128\",,3,3,4000,,dram__bytes_read.sum,byte,sum,60000$" out &&
    grep "^copy,.*,sm__warps_active.avg.pct_of_peak_sustained_active,%,mean,65$" out &&
    ! grep "pct_of_peak_sustained_active,%,sum" out &&
    trace-metrics -q -f csv --per launch hand.trace | tr -d "\r" >launches &&
    grep "^product,\"grid 132, block 128\",4,1,1,4000,,dram__bytes_read.sum,byte,sum,$" launches
'

test_expect_success 'CSV, wide: a line per group' '
    trace-metrics -q -f csv --wide --reduce sum hand.trace | tr -d "\r" >out &&
    head -n 1 out >head && test "$(tr , "\n" <head | wc -l)" = 12 && test "$(wc -l <out)" = 3 &&
    grep "^copy,\"grid 16, block 128\",,3,3,4000,,4000,60000,60000,138000,0$" out
'

test_expect_success 'ranges, one metric, order and top' '
    trace-metrics --per range hand.trace >out && grep "^ *step  *2  *10.0 " out &&
    trace-metrics -q -f csv --metric dram__bytes_read --reduce max --sort dram__bytes_read hand.trace | tr -d "\r" >out &&
    sed -n 2p out >first && grep "^copy,.*,max,40000$" first &&
    trace-metrics --top 1 hand.trace >out && grep "and 1 more" out && ! grep "^ *copy" out
'

# The product takes 2 x 4 us, the copies 1, 1 and 2 us: what is cut is the shorter part.
test_expect_success 'groups that are cut carry what is left' '
    trace-metrics -q -f json --top 1 hand.trace >out && jq -e ".groups_rest == {\"rows\": 1, \"count\": 3, \"measured\": 3, \"time_ns\": 4000} and
        .groups_left_out == 1 and .launches_measured == .groups[0].measured + 3" out &&
    trace-metrics -q -f json --per launch --top 3 hand.trace >out &&
    jq -e ".groups_rest == {\"rows\": 2, \"count\": 2, \"measured\": 2, \"time_ns\": 2000} and .launches_measured == 5" out &&
    trace-metrics -q -f json hand.trace >out && jq -e ".groups_rest == {\"rows\": 0, \"count\": 0, \"measured\": 0, \"time_ns\": 0}" out &&
    trace-metrics --top 1 hand.trace >out && grep "and 1 more, 4.00 .*s$" out &&
    trace-metrics --per launch --top 3 hand.trace >out && grep "^5 of 6 launches measured" out && grep "and 2 more, together 2.00 .*s$" out
'

test_expect_success '--join takes times from another trace' '
    trace-metrics -q -f csv --wide --join hand.trace hand.trace | tr -d "\r" >out &&
    grep "^label,config,ordinal,count,measured,time_ns,timing_ns," out && grep "^copy,\"grid 16, block 128\",,3,3,4000,4000," out &&
    trace-metrics -q -f csv --wide --per launch --join hand.trace hand.trace | tr -d "\r" >out &&
    grep "^copy,\"grid 16, block 128\",2,1,1,2000,2000," out && grep "^copy,\"grid 16, block 128\",1,1,1,1000,1000," out &&
    grep "^product,\"grid 132, block 128\",3,1,1,4000,4000," out &&
    trace-metrics --join hand.trace hand.trace | tr "\n" " " >text && grep "their times *are *means" text
'

# The samples are of kernels that hand.trace did not count.
test_expect_success '--counters takes those of another trace for the stalls, and says when there are none' '
    "$GP_BIN"/../tests/make_metrics stalls.trace stalls && trace-metrics -q -f json stalls.trace >without &&
    trace-metrics -q -f json --counters hand.trace stalls.trace >with &&
    jq -e ".stalls | length == 2 and all(.memory_pct == null and .lanes_pct == null)" with &&
    jq -S ".stalls" without >a && jq -S ".stalls" with >b && test_cmp a b &&
    status_of trace-metrics --counters stalls.trace stalls.trace && test $status = 2 && grep "stalls.trace: no hardware counters" err &&
    status_of trace-metrics --counters missing.trace stalls.trace && test $status = 2 && grep "missing.trace" err &&
    trace-metrics -f html --counters hand.trace stalls.trace | grep -c "counters hand.trace"
'

test_expect_success 'the page has the roofline and the answer' '
    trace-metrics -f html -o page.html hand.trace && grep -c "class=\"roofline\"" page.html && grep -c "class=\"roofline narrow\"" page.html && grep "gpuprof-answer" page.html &&
    trace-metrics -f html hand.trace | cmp - page.html
'

test_expect_success 'the roofline lies below measured ceilings where there are any, and each line says which it is' '
    trace-metrics -q -f html --ceilings none "$samples"/counters/step.trace >peaks.html &&
    grep ">L2 cache 15.4 TB/s, peak<" peaks.html && grep ">bf16 955 TFLOP/s<" peaks.html && grep ">peak<" peaks.html && ! grep "[>,] *measured<" peaks.html &&
    trace-metrics -q -f html --ceilings "$samples"/calibrate/h200.ceilings.json "$samples"/counters/step.trace >measured.html &&
    grep ">L2 cache 8.64 TB/s, measured<" measured.html && grep ">memory 4.30 TB/s, measured<" measured.html &&
    grep ">bf16 834 TFLOP/s<" measured.html && grep ">measured<" measured.html && ! grep "[>,] *peak<" measured.html && grep "10 of 54 kernels are drawn" measured.html &&
    status_of trace-metrics --ceilings none hand.trace && test $status = 2 && grep "requires --format html" err
'

# 1 GB is copied three times; 132 blocks of 128 threads do 1000 FFMAs each, or 1000 HFMA2s and two that move constants.
test_expect_success 'recorded on an H200: bytes and instructions of kernels that are known' '
    trace-metrics -q -f csv --reduce sum "$GP_SOURCE"/tests/cli/data/h200_counters.trace | tr -d "\r" >out &&
    grep "^\"ffma.*block 128.*op_ffma_pred_on.sum,instruction,sum,16896000$" out &&
    grep "^\"half2fma.*op_hfma_pred_on.sum,instruction,sum,16929792$" out &&
    awk -F, "/copy1g/ && /dram__bytes_(read|write).sum,/ {n++; if (\$NF < 2.94e9 || \$NF > 3.06e9) exit 1} END {exit n != 2}" out
'

# Three copies of 1 GB; two products of 2048 x 2048 x 2048 in each type, 2 x 2048^3 operations each.
test_expect_success 'recorded on an H200: a copy counts what it copies, a product 2MNK' '
    trace-metrics -q -f csv --reduce sum "$samples"/counters/copies.trace | tr -d "\r" >out &&
    awk -F, "/copy1g/ && /dram__bytes_(read|write).sum,/ {n++; if (\$NF < 2.94e9 || \$NF > 3.06e9) exit 1} END {exit n != 2}" out &&
    for f in products products_fp64; do trace-metrics -q -f csv --reduce sum "$samples"/counters/$f.trace || return 1; done | tr -d "\r" >out &&
    for type in hgmma_src_bf16_dst_fp32 hgmma_src_fp16 hgmma_src_tf32_dst_fp32 src_fp64; do
        grep ",sm__ops_path_tensor_.*$type.sum,math_op,sum,34359738368\$" out || return 1
    done && grep "src_fp8.sum,math_op,sum,17179869184$" out
'

test_expect_success 'recorded on an H200: a training step per kernel and per range' '
    trace-metrics -q "$samples"/counters/step.trace >out && grep "^715 of 715 launches measured" out &&
    trace-metrics -q "$samples"/counters/products_fp64.trace | grep "^Bound by arithmetic: 60.9% of the measured kernel time" &&
    trace-metrics -q "$samples"/counters/products.trace | grep "^76.0% of the measured kernel time has an unknown bound" &&
    trace-metrics -q -f csv --per range --reduce sum "$samples"/counters/range.trace | tr -d "\r" >out &&
    grep "^step,,,3,3,433555168,,sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum,math_op,sum,2216203124736$" out &&
    trace-metrics -q -f csv --wide --join "$samples"/counters/timing.trace "$samples"/counters/step.trace >out
'

test_expect_success 'misuse and traces without counters' '
    for trace in streams sampled; do
        status_of trace-metrics "$samples"/h200/$trace.trace && test $status = 2 &&
        grep "no hardware counters per kernel or range in this trace: record it with" err || return 1
    done &&
    status_of trace-metrics --metric nonsense hand.trace && test $status = 2 && grep "no such metric in this trace" err &&
    status_of trace-metrics --sort nonsense hand.trace && test $status = 2 && grep "no such metric in this answer" err &&
    status_of trace-metrics --wide hand.trace && test $status = 2 && grep "requires --format csv" err
'

test_expect_success 'trace-convert keeps counters' '
    trace-convert --to gpuprof hand.trace >again.trace && trace-metrics -q -f csv hand.trace >one && trace-metrics -q -f csv again.trace >two &&
    test_cmp one two
'

# ---- the code beside stalls: tests/unit/pc_make.h, recorded at 1,700,000,000 s, has lines 7 and 9 of k.cu and a kernel without ----

"$GP_BIN"/../tests/make_metrics stalls.trace stalls
mkdir -p src/deep other
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do printf '\tline %s & <b>\n' $i; done >src/deep/k.cu
touch -d @1600000000 src/deep/k.cu
# page ARG...: the words of the section of code, a line of the page a line, and the page itself.
page() {
    trace-metrics -q -f html "$@" -o page.html stalls.trace && sed -n '/id="where"/,/id="lines"/p' page.html | sed 's/<[^>]*>/ /g; s/  */ /g' >words
}

test_expect_success 'the page has a bar per line, and no file is opened that nobody named' '
    page && grep "70.0% ±0.90 7 long_scoreboard" words && grep "30.0% ±0.90 9 barrier" words && grep "20.0% ±2.5 0030 math_pipe_throttle" words &&
    ! grep "line 7" words && grep "There is no code here" words && test $(grep -c "class=\"sampled" page.html) = 5 && test $(grep -c "<h2>Stalls" page.html) = 0 &&
    grep "title=\"70.00% of the kernel&#39;s samples, +-0.90 points; 7,000 samples; long_scoreboard 6,000, 85.7%; wait 500, 7.14%; issued 500, 7.14%\"" page.html
'

test_expect_success '--source: lines of files below the folder, and whether they are newer than the recording' '
    page --source src/deep && grep "70.0% ±0.90 7 line 7 &amp; &lt;b&gt;" words && grep "^ 4 line 4" words && ! grep " line 3 " words &&
    grep "k.cu , not changed since the recording began" words && ! grep "There is no code here" words &&
    touch src/deep/k.cu && page --source src/deep && grep "k.cu , which is newer than the recording, so lines may have moved" words &&
    grep "class=\"file warn\"" page.html && grep "7 line 7" words
'

test_expect_success '--source: nothing outside the folder, nothing but plain text, and no other version' '
    ln -s ../src/deep/k.cu other/k.cu && page --source other && ! grep "line 7" words && rm other/k.cu &&
    printf "a\0b" >other/k.cu && page --source other && grep "There is no code here" words &&
    mkfifo fifo && rm other/k.cu && mkfifo other/k.cu && page --source other && rm other/k.cu &&
    head -n 8 src/deep/k.cu >other/k.cu && page --source other && ! grep "line 7" words && grep "k.cu , which lacks lines that were sampled, so it is not" words &&
    status_of trace-metrics -f html --source missing stalls.trace && test $status = 2 && grep "^trace-metrics: --source missing: not a folder" err &&
    status_of trace-metrics -f html --source stalls.trace stalls.trace && test $status = 2 && grep "not a folder" err &&
    status_of trace-metrics --source src stalls.trace && test $status = 2 && grep "requires --format html" err
'

{
    printf '\tcode for sm_80\n\t\tFunction : _Z4bareiPf\n        /*0000*/                   WRONG ;\n\n\tcode for sm_90\n\t\tFunction : _Z4bareiPf\n'
    for at in "0000 LDC R1, c[0x0][0x28]" "0010 S2R R0, SR_TID.X" "0020 LDS R2, [R0.X4]" "0030 FFMA R3, R2, R2, R3" "0040 EXIT"; do
        printf '        /*%s*/                   %s ;    /* 0x000fea0003800000 */\n' ${at%% *} "${at#* }"
    done
} >bare.sass
test_expect_success '--sass: instructions of a kernel without lines, of a listing' '
    page --sass bare.sass && grep "70.0% ±2.8 0020 LDS R2, \[R0.X4\]" words && grep "^ 0040 EXIT" words && grep "as in bare.sass" words && ! grep WRONG words &&
    sed "/0030/d" bare.sass >short.sass && page --sass short.sass && grep "which lacks lines that were sampled" words && ! grep LDS words &&
    page --sass src/deep/k.cu && grep "There is no code here" words
'

# Programs of these names that print what CUDA prints.
mkdir toolkit
printf '#!/bin/sh\necho "$@" >asked\ncat bare.sass\n' >toolkit/cuobjdump
printf '#!/bin/sh\necho "$@" >asked\nsed "s/.*Function : \\(.*\\)/.text.\\1:/; /code for/d; /WRONG/d" bare.sass\n' >toolkit/nvdisasm
chmod +x toolkit/*
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0' >"a 'program"
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\276\0' >-k.cubin
test_expect_success '--sass: a program or a cubin goes through the tools of CUDA, and what they lack or how they fail is one line' '
    PATH="$PWD/toolkit:$PATH" page --sass "a '\''program" && grep "0020 LDS R2" words && grep -x -e "-sass -fun k,_Z4bareiPf $PWD/a .program" asked &&
    PATH="$PWD/toolkit:$PATH" page --sass=-k.cubin && grep "0020 LDS R2" words && grep -x -e "-c $PWD/-k.cubin" asked &&
    status_of trace-metrics -f html --sass=-k.cubin stalls.trace && test $status = 2 &&
    grep "^trace-metrics: --sass -k.cubin: nvdisasm of the CUDA toolkit: the command failed with status 127" err &&
    printf "#!/bin/sh\nkill -9 \$\$\n" >toolkit/nvdisasm && status_of env PATH="$PWD/toolkit:$PATH" trace-metrics -q -f html --sass=-k.cubin stalls.trace && test $status = 2 &&
    status_of trace-metrics -f html --sass missing stalls.trace && test $status = 2 && grep -x "trace-metrics: --sass: missing: cannot open: No such file or directory" err
'

test_done
