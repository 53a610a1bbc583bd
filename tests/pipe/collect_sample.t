#!/bin/sh
# Samples of the host: programs whose Python stacks are known, on the mock GPU.
test_description='gpuprof-collect --sample: what the host was doing'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
. "$GP_SOURCE/tests/pipe/python.sh"

cat >planted.py <<\EOF
import ctypes, gc, sys, threading, time
class Event(ctypes.Structure):
    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p),
                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]
cuda = ctypes.CDLL(sys.argv[1])
cuda.cuInit(0)
libc = ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
event = Event(0, 7, libc.strdup(b"step_kernel"), 1, 0, 0)
def launch():
    for i in range(5):
        cuda.mock_do(ctypes.byref(event))
def spin(ms):
    end = time.perf_counter() + ms / 1e3
    while time.perf_counter() < end:
        pass
def load_batch():
    spin(12)
def write_log():
    time.sleep(0.004)
def take_lock(lock):
    lock.acquire()
    lock.release()
def hold(lock):
    with lock:
        time.sleep(0.008)
what = sys.argv[2]
lock = threading.Lock()
if what == "garbage":
    heap = [[] for i in range(400000)]
for step in range(25):
    launch()
    if what == "loader":
        load_batch()
        write_log()
    elif what == "garbage":
        gc.collect()
    elif what == "lock":
        holder = threading.Thread(target=hold, args=(lock,))
        holder.start()
        time.sleep(0.001)
        take_lock(lock)
        holder.join()
    elif what == "sleep":
        write_log()
launch()
EOF

# sampled WHAT -- runs it; the idle time by culprit is in the file idle, in ns.
sampled() {
    gpuprof-collect --no-clocks --sample=400 -o "$1.trace" python3 planted.py "$mock/libcuda.so.1" "$1" 2>err && facts "$1.trace" &&
    trace2flame --weight idle -f folded "$1.trace" >stacks &&
    sed "s/ [0-9]*$//" stacks >/dev/null
}

# first TEXT -- the largest stack of the idle time holds it.
first() { sort -t " " -k 1,1 stacks >/dev/null; awk '{n=$NF; if (n > most) {most = n; line = $0}} END {print line}' stacks | grep -F "$1" >/dev/null || { cat stacks; return 1; }; }

loader() { sampled loader && first "planted.py(" && first "load_batch"; }
test_expect_success 'a slow loader is what most of the idle time is spent in, with its line' 'on_some_try loader &&
    grep "load_batch;planted.py([0-9]*): spin" stacks && has processes 2 && has verdict:clean 1 && grep " samples" err'

test_expect_success 'rows of Python functions are made of the samples, marked as such' '
    trace-convert --to chrome loader.trace >loader.json && grep "\"cat\":\"python_sampled\"" loader.json >rows &&
    grep "planted.py([0-9]*): write_log" rows && ! grep "\"cat\":\"sample\"" loader.json &&
    trace-convert --to gpuprof loader.trace >copy.trace && facts loader.trace && cp facts before && facts copy.trace &&
    grep -v "^processes\|^threads" before >a && grep -v "^processes\|^threads" facts >b && test_cmp a b
'

garbage() { sampled garbage && first "garbage collection"; }
test_expect_success 'garbage collection is named' 'on_some_try garbage'

locked() { sampled lock && first "take_lock"; }
test_expect_success 'a lock that another thread holds' 'on_some_try locked'

standing() { STRESS_KINDS=parked STRESS_SECONDS=0.5 python3 "$GP_SOURCE/tests/bench/sample_stress.py" "${GP_BIN%/bin}" 1 python3; }
test_expect_success 'stacks that stand still are what the program itself reports: functions, files and lines' 'on_some_try standing'

# Before cuInit() a process has no trace: what was sampled until then waits.
each() {
    rm -f each.*.trace
    gpuprof-collect --sample=400 -o "each.%r.trace" sh -c "python3 -c pass
        RANK=0 python3 planted.py $mock/libcuda.so.1 loader & RANK=1 python3 planted.py $mock/libcuda.so.1 sleep & wait" 2>err &&
    test "$(echo each.*.trace)" = "each.0.trace each.1.trace" &&
    trace2flame --weight idle -f folded each.0.trace >stacks && first "load_batch" &&
    trace2flame --weight idle -f folded each.1.trace >stacks && first "write_log" && ! grep "load_batch" stacks &&
    for rank in 0 1; do # of a process: itself, its samples, and its GPU
        facts each.$rank.trace && has processes 3 && has gpu 130 && has verdict:clean 1 || return 1
    done
}
test_expect_success 'with a trace per process, each has its own samples' 'on_some_try each'

test_expect_success 'hashes instead of names with --redact' '
    gpuprof-collect --redact --sample -o secret.trace python3 planted.py "$mock/libcuda.so.1" loader 2>err &&
    trace-convert --to chrome secret.trace >secret.json && ! grep "load_batch\|planted" secret.json
'

test_expect_success 'what cannot be sampled is refused or named, and everything else goes on' '
    for rate in 0 1001 fast 10x -5; do
        status_of gpuprof-collect --sample=$rate -o t true && test $status = 125 && grep "^gpuprof-collect: --sample" err || return 1
    done &&
    $collect --sample $app launch 100 1 1 >t 2>err && facts t && has gpu 100 && has sample 0 && grep "no samples" err
'

test_done
