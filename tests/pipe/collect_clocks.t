#!/bin/sh
# The real launcher reads planted values of a GPU (tests/mock/mock_nvml.c) while a program runs.
test_description='gpuprof-collect: clocks, power, heat and neighbours'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
collect='gpuprof-collect --flush-interval 50ms'

# gauges FILE -- the rows of gauges as "NAME<tab>UNIT<tab>VALUE".
gauges() {
    trace-convert -q --to chrome "$1" | sed -n 's/.*"ph":"C","cat":"device","name":"\([^"]*\)".*"args":{"\([^"]*\)": *\([^}]*\)}.*/\1\t\2\t\3/p' >rows
}
# row NAME UNIT VALUE -- there is such a row.
row() { grep -Fx "$(printf '%s\t%s\t%s' "$1" "$2" "$3")" rows >/dev/null || { echo "expected: $*"; cat rows; return 1; }; }

test_expect_success 'by default: gauges of the GPU that is used, and of no other' '
    $collect -o t $app storm 1 1 2500 2>err && cat err && gauges t &&
    row "SM clock" MHz 1980 && row "SM clock" MHz 1485 && row "memory clock" MHz 3201 && row power W 300 && row power W 600 &&
    row temperature "°C" 50 && row "clock reasons" bits 0 && row "clock reasons" bits 4 && row "memory used" byte 5368709120 &&
    row energy J 0 && test "$(grep -c "^energy.J.0$" rows)" -le 2 && test "$(trace-convert -q --to chrome t | grep -c "name\":\"GPU 0\"")" = 1 &&
    grep "^PCIe received" rows && ! grep NVLink rows && ! grep "MHz.345" rows &&
    trace-convert -q --to chrome t | grep "\"max_sm_mhz\":1980,\"power_limit_w\":600,\"energy_step_j\":6,"
'

test_expect_success 'a trace per process: each has the gauges of the GPU that it uses, from its own beginning on' '
    $collect -o "p%p" sh -c "$app storm 1 1 2500 & $app storm 1 1 2500; wait" 2>err && cat err && set -- p[0-9]* && test $# = 2 &&
    for f in "$@"; do
        gauges $f && row "SM clock" MHz 1485 && row power W 600 && grep "^energy" rows && ! grep "MHz.345" rows &&
        test "$(trace-convert -q --to chrome $f | grep -c "name\":\"GPU 0\"")" = 1 && trace-hta -q -t clocks $f >out && grep "power cap" out || return 1
    done
'

test_expect_success '--no-clocks: nothing of the kind' '
    $collect --no-clocks -o t $app storm 1 1 300 2>err && gauges t && test ! -s rows
'

test_expect_success 'a process of others with its share, and one that is hidden' '
    sleep 60 & other=$! && MOCK_NVML="other=$other" $collect -o t $app storm 1 1 2500 2>err && MOCK_NVML="other=$other" $collect --redact -o r $app storm 1 1 2500 2>err; kill $other
    gauges t && row "utilization by others" % 65 && row "utilization by process $other (sleep)" % 40 && row "utilization by process hidden" % 25 &&
    row "utilization by process hidden" % 0 && test "$(grep -c "by process $other.*40" rows)" -ge 1 &&
    trace-convert -q --redact --to gpuprof -o s t && gauges s && row "utilization by process hidden" % 40 && row temperature "°C" 50 && ! grep sleep rows &&
    gauges r && row "utilization by others" % 65 && row "utilization by process hidden" % 40 && ! grep sleep rows &&
    trace-hta -q -t energy t >out && grep "Others %" out
'

test_expect_success 'processes numbered as elsewhere: which of them are ours is not known, nor what others use' '
    MOCK_NVML=foreign $collect -o t $app storm 1 1 1500 2>err && gauges t && row power W 300 && ! grep utilization rows
'

# A link of the first generation needs 1.07 s for 4 GiB: a second that is read late is left out.
test_expect_success 'sums of 32 bits that start again are rates all the same' '
    MOCK_NVML=narrow $collect -o t $app storm 1 1 4500 2>err && gauges t &&
    awk -F "\t" "/^PCIe/ { n++; if (\$3 < 3.7e9 || \$3 > 4.1e9) { print; bad = 1 } } END { exit bad || n < 2 }" rows
'

test_expect_success 'an old NVML: what it has' '
    MOCK_NVML=bare $collect -o t $app storm 1 1 500 2>err && gauges t && row power W 300 && ! grep -e energy -e PCIe -e others rows
'

test_expect_success 'without NVML, or without rights: said once, and the rest is as ever' '
    GPUPROF_LIBNVML=/nowhere.so $collect -o t $app launch 3 2>err && test "$(grep -c "no clocks and no power in the trace" err)" = 1 &&
    grep "no clocks and no power in the trace: libnvidia-ml.so.1 (NVML) was not found" err && grep "3 kernels" err && gauges t && test ! -s rows &&
    MOCK_NVML=denied $collect -o t $app launch 3 2>err && grep "NVML cannot be used: not permitted" err && grep "3 kernels" err
'

test_expect_success 'a program without a GPU: not a word' '
    GPUPROF_LIBNVML=/nowhere.so $collect -o t true 2>err; ! grep clocks err
'

test_done
