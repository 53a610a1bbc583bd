#!/bin/sh
# gpuprof.h in a program on a GPU that is not there.
test_description='gpuprof.h: sessions, ranges and what goes wrong'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

api="env ASAN_OPTIONS=detect_leaks=0 GPUPROF_INJECT=$GP_LIB/libgpuprof-inject.so GPUPROF_COLLECT=$GP_BIN/gpuprof-collect $mock/api"
# one NAME -- the trace of the session NAME, as facts
one() { set -- "$PWD/$1".*.trace && [ $# = 1 ] && [ -f "$1" ] && facts "$1"; }
# gone -- no launcher of ours is left
gone() {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -l "^GPUPROF_HUB_TEST=$$" /proc/[0-9]*/environ >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    return 1
}

test_expect_success 'a program started plainly: each session has a trace of its own, before and after cuInit()' '
    GPUPROF_HUB_TEST=$$ $api sessions >out 2>err && test_must_be_empty err && gone &&
    one early && has gpu 0 && has range:step 1 &&
    one first && has gpu 11 && has joined 11 && has range:step 1 && has range:inner 1 && has lost 0 && has verdict:clean 1 &&
    one second && has gpu 21 && has joined 21 && has range:step 1 && has range:inner 1
'
rm -f ./*.trace

test_expect_success 'under gpuprof-collect: the same, and the whole as before' '
    $collect -o whole.trace $api sessions >out 2>err && one first && has gpu 11 && one second && has gpu 21 &&
    facts whole.trace && has gpu 44 && has joined 44 && has range:step 3 && has verdict:clean 1 &&
    grep "44 kernels, 0 copies, 0 sets, 1 process, 0 lost" err && lacks refused && ! grep refused err
'
rm -f ./*.trace

test_expect_success 'a process that is attached after cuInit(): kernels are recorded, and the session says so' '
    $api late >out 2>err && test_must_be_empty err && grep -x "late 1" out && one late && has gpu 4 && has verdict:clean 1
'
rm -f ./*.trace

test_expect_success 'a device of which CUPTI makes no record, since it came late, is what the driver describes' '
    MOCK_CUPTI_NO_DEVICE=1 $api late >out 2>err && test_must_be_empty err && one late && has gpu 4 &&
    has "device:Mock H200 of the driver:132_sms:4916736000000_bytes_per_s" 1 && lacks "device:Mock H200:" &&
    trace-hta -f json late.*.trace >json && grep "Mock H200 of the driver" json
'
rm -f ./*.trace

test_expect_success 'sessions overlap: each has what starts in it' '
    $api overlap >out && one a && has gpu 8 && one b && has gpu 12
'
rm -f ./*.trace

test_expect_success 'metrics, marks, ranges across threads, and a longjmp out of a range' '
    $api ranges >out && grep -x "same 1" out && one ranges___quoted____ && has range:crossing 1 && has range:gemm 1 &&
    has range:other 1 && has range:outer 1 && has range:left 1 && has mark:loss 1 && has gpu 3 &&
    trace-convert --to chrome ranges___quoted____.*.trace >chrome &&
    grep "\"gemm\"" chrome | grep "\"flops\":2000000000" | grep "\"level (max)\":0.5" &&
    grep "\"loss\"" chrome | grep "\"Payload\":42"
'
rm -f ./*.trace

test_expect_success 'misuse has a reason, and does no harm' '
    $api misuse >out 2>err && test_must_be_empty err &&
    grep -x "end: 8 the session was not begun, or has ended" out &&
    grep -x "relative: 9 the path of the trace must be absolute" out &&
    grep -x "end: 9 /no/such/folder/x.trace: No such file or directory" out
'

test_expect_success 'a fork child is left alone and gets a reason; the program has no child that it does not know' '
    $api fork >out && grep "^child: 6 a fork child" out && grep -x "children -1" out && one fork && has gpu 3
'
rm -f ./*.trace

test_expect_success 'the launcher is killed in a session: the program goes on' '
    $api orphan >out && grep -x "end: 7 the recording process has ended" out && grep -x "begin: 7 the recording process has ended" out
'

test_expect_success 'nothing to attach to: GPUPROF_OFF, no library, no launcher, CUPTI held or missing' '
    GPUPROF_OFF=1 $api late >out; grep "^begin: 1 switched off by GPUPROF_OFF" out &&
    env -u GPUPROF_INJECT "$mock/api" late >out; grep "^begin: 2 libgpuprof-inject.so was not found" out &&
    GPUPROF_INJECT=$GP_LIB/libgpuprof-inject.so GPUPROF_COLLECT=/nowhere "$mock/api" late >out; grep "^begin: 3 " out &&
    MOCK_CUPTI_HOLDER=Tool $api late >out 2>err; grep -x "begin: 5 CUPTI is held by Tool" out && test_must_be_empty err
'

test_expect_success 'another tool listens to NVTX: ranges go there; under gpuprof-collect only into the trace' '
    NVTX_INJECTION64_PATH=$mock/nvtx_tool.so $api plain 2>err && grep -x "heard 3 3 1 1 1" err && grep -x "push plain" err &&
    grep -x "mark here 7" err && $api plain 2>err && test_must_be_empty err &&
    $collect -o plain.trace env NVTX_INJECTION64_PATH="$mock/nvtx_tool.so" $api plain 2>err &&
    facts plain.trace && has range:plain 3 && has range:started 1 && has mark:here 1 && ! grep heard err
'

# ---- the header ----

cat >part.c <<'END'
#include "collect/gpuprof.h"
void PART(void);
void PART(void)
{
    GPUPROF_RANGE("part");
    GPUPROF_RANGE("again");
    gpuprof_mark(gpuprof_name("mark"), 1);
}
END
cat >main.c <<'END'
void one(void); void two(void);
int cuInit(unsigned flags);
int main(void) { cuInit(0); one(); two(); return 0; }
END
warnings='-Wall -Wextra -Wpedantic -Wshadow -Werror -fPIC -shared -I'

command -v "${CXX:-c++}" >/dev/null && command -v "${CC:-cc}" >/dev/null && test_set_prereq COMPILERS
test_expect_success COMPILERS,PLAIN 'the header as C11 and as C++17, in two shared objects of one program, in both traced once' '
    "${CC:-cc}" -std=c11 $warnings "$GP_SOURCE" -DPART=one part.c -o libone.so &&
    { echo "extern \"C\" {"; sed 1d part.c; echo "}"; } | { echo "#include \"collect/gpuprof.h\""; cat; } >part.cpp &&
    "${CXX:-c++}" -std=c++17 $warnings "$GP_SOURCE" -DPART=two part.cpp -o libtwo.so &&
    "${CC:-cc}" -std=c11 -Wall -Werror main.c -L. -lone -ltwo "$mock/libcuda.so.1" -Wl,-rpath,"$PWD:$mock" -o both &&
    ./both && GPUPROF_OFF=1 ./both && $collect -o both.trace ./both 2>err && facts both.trace &&
    has range:part 2 && has range:again 2 && has mark:mark 2
'

test_done
