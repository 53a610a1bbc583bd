#!/bin/sh
# The real launcher samples a mock GPU whose counters are known: two bytes read and two written per nanosecond, everything else 50%.
# The first sample lasts a second too long, and each decoding ends with one of no length (tests/mock/mock_pm.c).
test_description='gpuprof-collect --sample-metrics: counters of all GPUs beside a recording'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
# The process that samples opens the driver, too.
LD_LIBRARY_PATH=$mock${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# samples FILE -- how many rows of counters, and of which values.
samples() {
    python3 "$GP_SOURCE/schemas/gpt_read.py" "$1" | awk '$1 == "counter" {n[$5]++} END {for (k in n) print k, n[k]}' | LC_ALL=C sort
}

test_expect_success 'the program is recorded as ever, and counters beside it' '
    $collect --sample-metrics=@100kHz -o t $app scopes 2>err && grep "3 copies" err && grep ", [1-9][0-9]* counter samples" err &&
    grep " 0 lost" err && $collect -o plain $app scopes 2>/dev/null &&
    trace-hta -q -f csv --table copies t >one && trace-hta -q -f csv --table copies plain >two && test "$(cut -d, -f1-5 one)" = "$(cut -d, -f1-5 two)" &&
    test "$(samples t | wc -l)" = 8
'

test_expect_success 'means over the device and over ranges, as they are' '
    trace-hta -q -f csv --table sampled t | tr -d "\r" >out && head -n 1 out | grep ",dram__bytes_read.sum,dram__bytes_write.sum,gr__cycles_active.sum" &&
    grep "^,.*,0,(all of it),[0-9]*,2,2,50,2,2,50,50,50$" out && grep "^,.*,0,layer,4000,2,2,50,2,2,50,50,50$" out &&
    trace-hta -q -f json t >json && tr -d " \n" <json | grep "\"over\":\"range\",\"name\":\"layer\",\"metric\":\"dram__bytes_read.sum\",\"unit\":\"byte/second\",\"sampled_ns\":4000,\"mean\":2000000000" &&
    trace-hta --full t | grep "^Hardware counters"
'

test_expect_success 'only these metrics, at this rate; other formats have them' '
    $collect --sample-metrics=dram__bytes_read.sum@50kHz -o t $app launch 30 2>/dev/null && samples t | grep "^dram__bytes_read.sum [1-9]" &&
    test "$(samples t | wc -l)" = 1 &&
    trace2timeline -q t >page.html && trace-convert --to chrome t >json && grep "\"name\":\"hardware counters of GPU 0\"" json &&
    grep "\"ph\":\"C\",\"cat\":\"hardware\",\"name\":\"dram__bytes_read.sum\".*{\"byte/second\":" json &&
    trace-convert --to gpuprof t >again && trace-hta -q -f csv --table sampled t >one && trace-hta -q -f csv --table sampled again >two && test_cmp one two
'

test_expect_success 'a buffer that ran over: the loss is in the trace' '
    MOCK_PM_OVERFLOW=1 $collect --sample-metrics=@1kHz -o t $app launch 30 2>err && grep "counter samples" err &&
    facts t && grep "the hardware buffer was full" facts
'

# fails TEXT CODE@CALL: that message, and the program is recorded all the same
fails() {
    MOCK_METRICS_ERROR=$2 status_of $collect --sample-metrics -o t $app launch 30 && test $status = 0 && grep "$1" err &&
        grep "^gpuprof-collect: 30 kernels, 0 copies, 0 sets, 1 process, 0 lost$" err
}

test_expect_success 'each way to fail is one line, and the program is recorded' '
    fails "GPU 0: cannot sample counters: not permitted (needs root, CAP_SYS_ADMIN" 35@pm_enable &&
    fails "another profiler (DCGM?) holds them" 26@pm_set_config && fails "refused in this combination" 27@pm_set_config &&
    fails "internal error of CUPTI" 999@pm_start && fails "libnvperf_host.so is not beside libcupti" 15@host && fails "MIG" 43@pm_enable &&
    LD_LIBRARY_PATH= status_of $collect --sample-metrics -o t $app launch 30 && test $status = 0 && grep "no GPU, or no driver of CUDA" err
'

test_expect_success 'a GPU that stops giving samples is reported at the end' '
    MOCK_METRICS_ERROR=999@pm_decode $collect --sample-metrics -o t $app launch 30 2>err &&
    grep "GPU 0: no more counter samples: internal error of CUPTI" err && grep "30 kernels" err
'

test_expect_success 'misuse is refused before the command runs' '
    status_of $collect --sample-metrics=@1MHz -o t $app launch 3 && test $status = 125 && grep "not a rate from 1Hz to 100kHz" err &&
    status_of $collect --sample-metrics=basic -o t $app launch 3 && test $status = 125 && grep "is not a metric with a rollup" err &&
    status_of $collect --sample-metrics --metrics basic -o t $app launch 3 && test $status = 125 && grep "cannot be combined" err &&
    status_of $collect --sample-metrics -o "t.%p" $app launch 3 && test $status = 125 && grep "needs one trace of all processes" err
'

test_done
