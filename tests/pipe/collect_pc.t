#!/bin/sh
# The real launcher and the real library on a mock CUPTI that plants samples of program counters: 8 per launch in two
# instructions, 4 of them when no warp could issue, and 2 of kernels that are not the program's (tests/mock/mock_pc.c).
# "app launch 30" launches gemm, relu and an all-reduce ten times each; relu's code has no lines.
test_description='gpuprof-collect --pc-sample: where warps are and why they stall, and every way to fail'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

# closes TOTAL -- so many samples, and rows, drops and what has no row add up to them.
closes() {
    has pc.samples "$1" && has pc.unattributed 0 &&
        test "$(sed -n 's/^pc\.\(recorded\|dropped\|other\) //p' facts | awk '{s += $1} END {print s}')" = "$1" &&
        has pc_samples "$(sed -n 's/^pc.recorded //p' facts)"
}

test_expect_success 'windows: each instruction and reason, what no warp hid, lines where the code has them' '
    $collect --pc-sample -o t $app launch 30 2>err && grep ", 0 lost, 300 samples of program counters" err &&
    facts t && closes 300 && has pc.other 60 && has pc_stalled 120 && has pc_of_launch 0 &&
    has "pc:_Z4gemmPf+16:long_scoreboard:/src/kernel.cu:11" 50 && has "pc:_Z4gemmPf+32:selected:/src/kernel.cu:12" 20 &&
    has "pc:_Z4gemmPf+32:wait:/src/kernel.cu:12" 10 && has "pc:_Z4reluPf+16:long_scoreboard::0" 50 &&
    has "pc:ncclDevKernel_AllReduce+16:long_scoreboard:/src/kernel.cu:11" 50 &&
    has pc.mode "\"continuous\"" && has pc.period_cycles 65536 && has pc_code 32 && has verdict:clean 1 && lacks broken
'

test_expect_success 'launches: exact, each with the launch that it belongs to' '
    $collect --pc-sample=4096 --pc-sample-per launch -o t $app launch 30 2>err && facts t && closes 300 &&
    has pc 91 && has pc_of_launch 90 && has pc.mode "\"launch\"" && has pc.period_cycles 4096 &&
    has "pc:_Z4gemmPf+16:long_scoreboard:/src/kernel.cu:11" 50 && has gpu 30 &&
    trace-hta t 2>err >out && cat err out | grep "measured kernel by kernel"
'

test_expect_success 'several threads, and kernels of a graph' '
    $collect --pc-sample -o t $app launch 600 4 3 2>err && facts t && closes 24000 && has gpu 2400 &&
    $collect --pc-sample -o t $app graph plain 2>err && facts t && closes $((10 * $(sed -n "s/^gpu //p" facts)))
'

test_expect_success 'nothing is sampled while nothing is recorded' '
    $collect --pc-sample --start range:train -o t $app gate 2>err && facts t && closes $((10 * $(sed -n "s/^gpu //p" facts)))
'

test_expect_success '--filter leaves out samples of the kernels that it leaves out, and counts them' '
    $collect --pc-sample --filter "kernel:*gemm*" -o t $app launch 30 2>err && facts t && closes 300 &&
    has pc_samples 80 && has pc.other 220 && lacks relu
'

test_expect_success 'drops and a full buffer are counted and reported' '
    MOCK_PC_DROP=5 MOCK_PC_FULL=1 $collect --pc-sample -o t $app launch 30 2>err && facts t && closes 305 &&
    has pc.dropped 5 && has pc.buffer_full 1 && grep "(5 dropped by the GPU), .*full 1 time: take a longer period" err
'

test_expect_success 'one trace per process: each has its own sums' '
    $collect --pc-sample -o "t.%p" $app launch 30 2>err && facts t.[0-9]* && closes 300
'

test_expect_success '--redact keeps names of functions and reasons, not paths and code' '
    $collect --pc-sample --redact -o t $app launch 30 2>err && facts t && closes 300 && lacks kernel.cu && lacks /src && lacks pc_code &&
    grep "^pc:_Z4gemmPf+16:long_scoreboard:.*:11 50" facts
'

# fails TEXT CODE@CALL: that message, the program runs on, and its status is passed on
fails() {
    MOCK_METRICS_ERROR=$2 status_of $collect --pc-sample -o t $app launch 30 &&
        test $status = 0 && grep "cannot sample program counters: .*$1" err && grep "30 kernels, 0 copies" err &&
        test "$(grep -c "cannot sample" err)" = 1
}

test_expect_success 'each way to fail is one line with the way out, and the program runs on' '
    fails "not permitted (needs root, CAP_SYS_ADMIN" 35@pc_enable &&
    fails "another profiler (DCGM?) holds them" 26@pc_set && fails "another profiling API" 36@pc_enable &&
    fails "internal error of CUPTI.*; perhaps another profiler" 999@pc_enable && fails "internal error" 999@pc_data && fails "virtual GPU" 40@pc_reasons && fails "MIG" 43@pc_reason_count
'

test_expect_success 'a CUPTI without the calls' '
    GPUPROF_LIBCUPTI=$mock/libcupti_few.so status_of $collect --pc-sample -o t $app launch 30 && test $status = 0 &&
    grep "cannot sample program counters: this CUPTI has no cuptiPCSampling" err && facts t && has gpu 30 && has pc 0
'

test_expect_success 'misuse is refused before the command runs' '
    status_of $collect --pc-sample=1000 -o t $app launch 3 && test $status = 125 && grep "not a power of two.*nearest is 1024" err &&
    status_of $collect --pc-sample=7 -o t $app launch 3 && test $status = 125 && grep "the nearest is 32" err &&
    status_of $collect --pc-sample=often -o t $app launch 3 && test $status = 125 && grep "not a number of cycles" err &&
    status_of $collect --pc-sample --metrics basic -o t $app launch 3 && test $status = 125 && grep "one of them at a time" err &&
    status_of $collect --pc-sample --sample-metrics -o t $app launch 3 && test $status = 125 &&
    status_of $collect --pc-sample --last 1 -o t $app launch 3 && test $status = 125 &&
    status_of $collect --pc-sample-per launch -o t $app launch 3 && test $status = 125 && grep "requires --pc-sample" err &&
    status_of $collect --pc-sample --pc-sample-per nothing $app launch 3 && test $status = 125
'

test_expect_success 'what reads them: lines and reasons of a kernel, and frames' '
    $collect --pc-sample -o t $app launch 6000 2>err && trace-metrics -f json t >m.json && trace-metrics -f csv t >m.csv &&
    grep "\"place\": \"/src/kernel.cu:11\", \"cause\": \"memory_access\", \"stalled_pct\": 62.5," m.json &&
    grep "^gemm(float\*),/src/kernel.cu:11,memory_access,62.5," m.csv &&
    trace-metrics t | grep "gemm .*kernel.cu:11  *memory_access  *62.5%" &&
    trace2flame --weight stalls -f folded t >f && grep ";gemm;kernel.cu:11;long_scoreboard 10000$" f &&
    grep ";relu;+0x20;wait 2000$" f
'

test_done
