#!/bin/sh
# The real launcher and the real library on a mock CUPTI whose counters are known: 1000 ns per launch, 1 kB read and 2 kB
# written per block. "app launch 30" launches gemm, relu and an all-reduce in turn, over 1 to 5 blocks.
test_description='gpuprof-collect --metrics: what is measured, what is not, and every way to fail'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

# sum METRIC FILE [OPTION...] -- over all groups; nothing where it is missing
sum() {
    metric=$1 file=$2
    shift 2
    trace-metrics -q -f csv --metric "$metric" --reduce sum --top 0 "$@" "$file" | tr -d '\r' |
        awk -F, 'NR > 1 && $NF != "" {s += $NF} END {print s + 0}'
}
measured() { trace-metrics -q -f json "$1" | tr -d ' ",' | sed -n 's/^launches_measured://p'; }

test_expect_success 'kernels: every launch once, communication left out, times of measured kernels from their counters' '
    $collect --metrics basic -o t $app launch 30 2>err &&
    test "$(measured t)" = 20 && grep "30 kernels" err && grep "10 lost" err &&
    trace-metrics -q -f json t | grep "communication would hang if it was measured" &&
    test "$(sum dram__bytes_read t)" = 60000 && test "$(sum dram__bytes_write t)" = 120000 &&
    test "$(sum gpu__time_duration t)" = 20000 && test "$(sum smsp__inst_executed t)" = 1000 &&
    trace-hta -q -f json --top 0 t | tr -d " " | grep "\"name\":\"gemm(float\*)\",.*\"count\":10,"
'

test_expect_success 'the trace is marked, and filters warn' '
    trace-metrics t >out && grep "launches waited for each other" out &&
    trace-suggest t 2>err >out; cat err out | grep "measured kernel by kernel" &&
    trace-hta t 2>err >out && cat err out | grep "measured kernel by kernel"
'

test_expect_success 'several threads, and more launches than one batch' '
    $collect --metrics basic -o t $app launch 600 4 3 2>err && test "$(measured t)" = 1600 &&
    test "$(sum gpu__time_duration t)" = 1600000
'

test_expect_success '--metrics-every, --metrics-count, --filter' '
    $collect --metrics basic --metrics-every 2 -o t $app launch 60 2>/dev/null && test "$(measured t)" = 20 &&
    $collect --metrics basic --metrics-count 7 -o t $app launch 60 2>/dev/null && test "$(measured t)" = 7 &&
    $collect --metrics basic --filter "kernel:*gemm*" -o t $app launch 30 2>/dev/null && test "$(measured t)" = 10
'

test_expect_success 'Start after Stop that is refused: a new configuration each time' '
    MOCK_METRICS_ONCE=1 $collect --metrics basic -o t $app launch 30 2>/dev/null && test "$(measured t)" = 20
'

test_expect_success 'a range that is missing: launches of its batch have no counters, and none has those of another' '
    MOCK_METRICS_LOSE=1 $collect --metrics basic -o t $app launch 30 2>err && trace-metrics -q -f json t >json; 
    $GP_BIN/../tests/mock/facts t >facts; grep "could not be matched" err facts json
'

test_expect_success 'kernel records that vanish while counters are on are reported, with their number' '
    MOCK_METRICS_QUIET=1 $collect --metrics basic -o t $app launch 3 2>err && test "$(measured t)" = 2 &&
    trace-metrics t | tr "\n" " " >out && grep "2 kernels: no kernel records while counters are on" out &&
    $collect --metrics basic -o t $app launch 3 2>err && trace-metrics t >out && ! grep "no kernel records" out
'

test_expect_success 'ranges: each by its own name, outermost or by name' '
    $collect --metrics basic --metrics-per range -o t $app scopes 2>err && trace-metrics --per range t >out &&
    grep "^ *step  *2  *2.00 " out && ! grep "could not be matched" out &&
    $collect --metrics basic --metrics-per range:train -o t $app gate 2>/dev/null && # 7, 1 and 11 launches: 18, 1 and 31 blocks
    test "$(sum dram__bytes_read t --per range)" = 50000 &&
    $collect --metrics basic --metrics-per range:other -o t $app gate 2>/dev/null && test "$(sum dram__bytes_read t --per range)" = 0
'

test_expect_success 'a value that the device does not give is missing' '
    $collect --metrics missing__x.sum,dram__bytes_read.sum -o t $app launch 3 2>/dev/null &&
    trace-metrics -q -f csv --metric missing__x --reduce sum t | tr -d "\r" | grep -c ",sum,$" &&
    trace-metrics t | tr "\n" " " >out && grep "missing__x.sum has no value in any launch" out
'

# fails TEXT CODE@CALL: that message, the program runs on, and its status is passed on
fails() {
    MOCK_METRICS_ERROR=$2 status_of $collect --metrics basic -o t $app launch 30 &&
    test $status = 0 && grep "$1" err && grep " kernels, 0 copies" err && test "$(grep -c "cannot read counters" err)" = 1
}

test_expect_success 'each way to fail is one line with the way out, and the program runs on' '
    fails "not permitted (needs root, CAP_SYS_ADMIN" 35@enable &&
    fails "another profiler (DCGM?) holds them; .dcgmi profile --pause. frees them" 26@enable &&
    fails "refused in this combination" 27@set_config &&
    fails "libnvperf_host.so is not beside libcupti" 15@host &&
    fails "another tool uses CUPTI in this process" 39@enable &&
    fails "MIG" 43@enable && fails "virtual GPU" 40@enable && fails "confidential" 41@enable && fails "WSL" 45@start &&
    fails "virtual GPU" 33@enable && fails "mining GPUs" 42@enable && fails "with SLI" 44@set_config &&
    fails "another profiling API is in use in this process" 36@enable && fails "only the old interface" 38@enable &&
    fails "refused in this state" 7@start && fails "invalid parameter" 1@set_config && fails "error 12345 of CUPTI" 12345@enable &&
    fails "internal error of CUPTI" 999@initialize && fails "not permitted (needs root, CAP_SYS_ADMIN" 35@set_config &&
    fails "internal error of CUPTI" 999@decode
'

test_expect_success 'a chip that this CUPTI does not know is named' '
    MOCK_METRICS_ERROR=46@host status_of $collect --metrics basic -o t $app launch 30 && test $status = 0 &&
    grep "GH100: this CUPTI does not know the chip; a later CUDA may" err && grep " kernels, 0 copies" err
'

test_expect_success 'names that do not exist, and sets that need more passes' '
    $collect --metrics nonsense__x.sum -o t $app launch 3 2>err && grep "no metric .nonsense__x.sum. on GH100" err &&
    $collect --metrics dram__bytes_red.sum,x__nonsense.sum -o t $app launch 3 2>err && grep "no metric" err &&
    $collect --metrics roofline+ -o t $app launch 3 2>err &&
    grep "needs 2 passes on GH100, 1 allowed: drop smsp__sass.*or give --metrics-passes 2" err &&
    $collect --metrics roofline+ --metrics-passes 2 -o t $app launch 3 2>err && test "$(measured t)" = 2
'

test_expect_success 'misuse is refused before the command runs' '
    status_of $collect --metrics nothing -o t $app launch 3 && test $status = 125 && grep "no set .nothing." err &&
    status_of $collect --metrics dram__bytes -o t $app launch 3 && test $status = 125 && grep "needs a rollup" err &&
    status_of $collect --metrics basic --last 1 -o t $app launch 3 && test $status = 125 &&
    status_of $collect --metrics-passes 2 -o t $app launch 3 && test $status = 125 && grep "requires --metrics" err &&
    status_of $collect --metrics basic --metrics-per range --metrics-passes 2 $app launch 3 && test $status = 125 &&
    status_of $collect --metrics basic --metrics-per nothing $app launch 3 && test $status = 125 &&
    status_of $collect --metrics "$(printf "%0600d" 0)" $app launch 3 && test $status = 125 && grep -e "--metrics: 599 characters at most" err
'

test_expect_success '--list-metrics needs no GPU; an unknown chip is an error' '
    gpuprof-collect --list-metrics=GH100 >out && grep "^  basic  *1 pass " out && grep "^  roofline+ *2 passes" out &&
    grep "dram__bytes_read \[byte\]" out &&
    status_of gpuprof-collect --list-metrics=XX100 && test $status = 125 && grep "no chip .XX100.: GA100, GH100, GB202" err
'

test_done
