#!/bin/sh
# Processes that run already: the library asleep in them, and the library brought into them.
test_description='gpuprof-collect --pid: processes that run already'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

mkdir -m 700 run
XDG_RUNTIME_DIR=$PWD/run
ASAN_OPTIONS=detect_leaks=0
GPUPROF_INJECT=$(cd "$GP_LIB" && pwd)/libgpuprof-inject.so
export XDG_RUNTIME_DIR ASAN_OPTIONS GPUPROF_INJECT
asleep="env GPUPROF_DORMANT=1 CUDA_INJECTION64_PATH=$GPUPROF_INJECT"
collect='gpuprof-collect --no-clocks --flush-interval 20ms'

# until COMMAND ARG... -- wait until it succeeds; a minute at most.
until_true() {
    for i in $(seq 600); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "waited in vain: $*"
    return 1
}

# start NAME COMMAND ARG... -- the mock application that serves NAME.in and answers in NAME.out; $pid is its number.
start() {
    name=$1
    shift
    rm -f $name.in
    mkfifo $name.in
    : >$name.out
    "$@" <$name.in >$name.out 2>$name.err &
    pid=$!
    exec 9>$name.in
    ask $name 1
}
# ask NAME N -- it launches N kernels and says so: it lives and runs.
ask() {
    lines=$(grep -c done $1.out)
    echo $2 >&9
    until_true answered $1 $lines
}
answered() { test "$(grep -c done $1.out)" -gt $2; }
# finish -- the application ends by itself, and well.
finish() {
    exec 9>&-
    wait $pid
}
# window NAME N ARG... -- N launches while NAME is recorded, not counting those before and after.
window() {
    name=$1 n=$2
    shift 2
    : >collect.err
    $collect -o t --pid $pid "$@" 2>collect.err &
    collector=$!
    until_true grep "recording" collect.err && ask $name $n && kill -INT $collector && wait $collector && facts t
}
# counter FILE -- how often its threads have been switched out.
switches() { cat /proc/$pid/task/$1/status | grep ctxt_switches; }
sleeper() { grep -l "^\(288\|242\) .* 0x80000 " /proc/$pid/task/*/syscall | tail -1 | cut -d/ -f5; }

# ---- asleep ----

test_expect_success 'asleep: a private socket, one thread in accept(), no CUPTI, and not one call of the system' '
    start a $asleep $app_file serve && test -S run/gpuprof/$pid && test "$(stat -c %a run/gpuprof)" = 700 &&
    { test "$GP_SANITIZED" || test $(ls /proc/$pid/task | wc -l) = 2; } && grep libgpuprof-inject /proc/$pid/maps && ! grep libcupti /proc/$pid/maps &&
    tid=$(sleeper) && test "$tid" && switches $tid >before && ask a 100 && switches $tid >after && test_cmp before after &&
    if command -v strace; then
        { strace -p $tid -o calls & } && tracer=$! && until_true test -s calls && ask a 100 && kill $tracer && wait $tracer
        test $(grep -c "(" calls) = 1
    fi
'
test_expect_success 'it is listed as such' '
    gpuprof-collect --list >out && grep "$pid  app *dormant$" out
'
test_expect_success '20 windows: each holds what was launched in it, and CUPTI is left in between' '
    for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        window a $n && has gpu $n && has api $n && has joined $n && has lost 0 || return 1
        ask a 7
    done
'
test_expect_success 'options are those of each window' '
    window a 3 --api none && has gpu 3 && has api 0 &&
    window a 4 --memory --stacks none --buffer-size 64K && has gpu 4 && has api 4 &&
    window a 5 --api all && has gpu 5 && has api 5 && window a 6 && has gpu 6 && has api 6
'
test_expect_success 'what cannot be known is said; --duration ends it' '
    grep "mark:attached: graphs, ranges and names of streams" facts &&
    $collect -o t --pid $pid --duration 0.2 2>err && facts t && grep "mark:recording stops" facts && has lost 0
'
test_expect_success 'two at once: the second one is refused, and the first one goes on' '
    : >collect.err && { $collect -o t --pid $pid --duration 60 2>collect.err & } && collector=$! &&
    until_true grep recording collect.err && status_of $collect -o u --pid $pid --duration 0.1 && test $status = 125 &&
    grep "not recorded: it is being recorded already" err && ask a 2 && kill -INT $collector && wait $collector && facts t && has gpu 2
'
test_expect_success 'a launcher that is killed: the process goes on, sleeps, and can be recorded again' '
    : >collect.err && { $collect -o t --pid $pid 2>collect.err & } && collector=$! && until_true grep recording collect.err &&
    kill -KILL $collector && ask a 10 && window a 11 && has gpu 11 && finish && ! test -e run/gpuprof/$pid
'
test_expect_success 'a variable and a file switch it off, also later' '
    start b env GPUPROF_DORMANT=0 CUDA_INJECTION64_PATH=$GPUPROF_INJECT $app_file serve && ! test -e run/gpuprof/$pid && finish &&
    touch run/gpuprof/off && start b $asleep $app_file serve && ! test -e run/gpuprof/$pid && finish && rm run/gpuprof/off &&
    start b $asleep $app_file serve && touch run/gpuprof/off && status_of $collect -o t --pid $pid && test $status = 125 &&
    grep "not recorded: switched off by .*run/gpuprof/off" err && rm run/gpuprof/off && window b 4 && has gpu 4 && finish
'
test_expect_success 'a folder that others can write to is not used' '
    chmod 755 run/gpuprof && start b $asleep env TMPDIR=/nowhere $app_file serve && ! test -e run/gpuprof/$pid && finish && chmod 700 run/gpuprof
'
test_expect_success 'a child by fork does not keep the socket, and one that becomes a program has its own' '
    setsid $asleep $app_file fork stays 1 & session=$! && until_true test -d /proc/$session && wait $session
    child=$(ps -o pid= -s $session | tr -d " ") && test -n "$child" && ! ls -l /proc/$child/fd | grep socket: && kill $child
    $asleep $app_file fork exec 3 &&
    status_of gpuprof-collect --no-clocks -o t $asleep $app_file fork exec 3 && facts t && has processes 2 && has gpu 36
'

# ---- brought into a process ----

test_expect_success 'by ptrace, under load: it is listed, it is recorded, and it sleeps from then on' '
    start c $app_file serve 3 && gpuprof-collect --list >out && grep "$pid  app *ptrace$" out &&
    window c 50 && grep "gpu 5[0-9]\|gpu [0-9][0-9][0-9]" facts && has lost 0 && grep "mark:attached" facts &&
    gpuprof-collect --list >out && grep "$pid  app *dormant$" out &&
    window c 5 && finish && start d $app_file serve && window d 12 && has gpu 12 && window d 13 && has gpu 13 && finish
'

test_expect_success 'calls that are under way when a window ends are reported to their end' '
    start n env MOCK_CUPTI_NESTED=12 MOCK_CUPTI_COST=5000000 $app_file serve 2 &&
    for i in $(seq 30); do $collect -o t --pid $pid --duration 0.02 2>collect.err || { cat collect.err n.err; return 1; }; done &&
    ask n 3 && finish
'

test_expect_success 'work that goes on when a window ends: its buffer stays with CUPTI, the launcher reads it, and the program runs on' '
    start w $asleep env MOCK_CUPTI_MISSED=1 $app_file serve && : >collect.err && { $collect -o t --pid $pid 2>collect.err & } && collector=$! &&
    until_true grep recording collect.err && ask w s && ask w 4 && kill -INT $collector && wait $collector &&
    facts t && has gpu 4 && has "lost:GPU events:had not ended when the recording did" 1 && ask w 3 &&
    : >collect.err && { $collect -o t --pid $pid 2>collect.err & } && collector=$! && until_true grep recording collect.err &&
    ask w s && kill -KILL $collector && ask w 10 && window w 11 && finish
'

# kill_one: the tool is killed at some instant of an attach; the process answers, is not stopped, and can be recorded afterwards.
kill_one() {
    start k $app_file serve 2 && { setsid $collect -o k --pid $pid 2>k.collect & } && collector=$! &&
    sleep $(awk "BEGIN {srand($1); print rand() * ${2:-0.15}}") && kill -KILL $collector
    ask k 3 && ! grep "^State:.*[tT]" /proc/$pid/status && : >collect.err && $collect -o k --pid $pid --duration 0.05 2>collect.err &&
    grep "1 process, 0 lost" collect.err && finish
}
test_expect_success 'the tool is killed at random instants: the process always runs on' '
    for i in $(seq ${GP_KILLS:-8}); do
        kill_one $i$(date +%N) >out 2>&1 || { cat out collect.err; return 1; }
    done
'

# ---- refused ----

refused() { status_of $collect -o t --pid $1 && test $status = 125 && grep "is not recorded: $2" err && ! test -e t.trace; }
test_expect_success 'refused with the reason: no such process, no CUDA, stopped, traced already' '
    refused 4194304 "there is no such process" && refused $$ "it does not use CUDA" &&
    start e $app_file serve && kill -STOP $pid && until_true grep "^State:.T" /proc/$pid/status && refused $pid "it is stopped by a signal" &&
    kill -CONT $pid && ask e 1 &&
    if command -v strace; then
        { strace -o calls -p $pid & } && tracer=$! && until_true grep "TracerPid:.[1-9]" /proc/$pid/status &&
        refused $pid "process $tracer traces it already" && kill $tracer && { wait $tracer || :; }
    fi && ask e 1 && finish
'
test_expect_success 'CUPTI is held by another tool, or refuses: the reason comes from the process, which goes on' '
    for how in MOCK_CUPTI_HOLDER=ncu MOCK_CUPTI_REFUSE=1; do
        start f $asleep $how $app_file serve && status_of $collect -o t --pid $pid && test $status = 125 &&
        grep "is not recorded: \(CUPTI is held by ncu\|cannot trace kernels\)" err && ask f 3 &&
        status_of $collect -o t --pid $pid && test $status = 125 && ask f 3 && finish || return 1
    done
'
# Python 3.14 and later, in a folder GP_PYTHON_ROOT of its own or installed.
in_root=${GP_PYTHON_ROOT:+chroot $GP_PYTHON_ROOT}
for python in python3.14 python3.15; do
    $in_root $python -c pass 2>/dev/null || continue
    test_set_prereq ASK && break
done
cat >busy.py <<\EOF
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
class Event(ctypes.Structure):
    _fields_ = [(n, t) for n, t in zip("op stream kernel grid count bytes".split(), [ctypes.c_int, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64])]
cuda.cuInit(0)
event = Event(0, 7, b"_Z4gemmPf", 1, 0, 0)
while True:
    cuda.mock_do(ctypes.byref(event))
EOF
test_expect_success ASK 'a Python that never waits is asked, and can forbid it' '
    cp busy.py $GP_PYTHON_ROOT/tmp/busy.$$.py && for how in A=1 PYTHON_DISABLE_REMOTE_DEBUG=1; do
        env $how $in_root $python /tmp/busy.$$.py $(cd "$mock" && pwd)/libcuda.so.1 & pid=$! && until_true eval "gpuprof-collect --list | grep $pid" &&
        status_of $collect -o t --pid $pid --duration 0.3
        kill $pid
        if test $how = A=1; then test $status = 0 && facts t && has lost 0 && grep "^gpu [0-9]*[0-9][0-9]$" facts
        else test $status = 125 && grep "none of its threads waits\|another C library" err
        fi || { cat err; return 1; }
    done && rm $GP_PYTHON_ROOT/tmp/busy.$$.py
'
test_expect_success 'misuse' '
    status_of gpuprof-collect --pid 1 true && test $status = 125 && grep "does not run a command" err &&
    status_of gpuprof-collect --tree true && test $status = 125 && grep "tree: requires --pid" err &&
    status_of gpuprof-collect -o t --pid 1 --pace && test $status = 125 && grep "cannot be combined" err
'

# ---- a tree ----

both_run() { gpuprof-collect --list --pid $parent >out && test $(grep -c " app " out) = 2; }

test_expect_success '--tree: all below a process, in one trace, with their ranks' '
    mkfifo tree.in && exec 8<>tree.in &&
    { sh -c "RANK=0 $app_file serve 1 <tree.in & RANK=1 $asleep $app_file serve 1 <tree.in & wait" & } && parent=$! && until_true both_run && : >collect.err &&
    $collect -o t --pid $parent --tree --duration 0.3 2>collect.err && grep "2 processes, 0 lost" collect.err && facts t &&
    grep "gpu_of_rank:0" facts && grep "gpu_of_rank:1" facts && kill $(cat /proc/$parent/task/$parent/children)
'
test_done
