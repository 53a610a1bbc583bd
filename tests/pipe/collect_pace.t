#!/bin/sh
# The application runs steps of a known number and least duration: those before the recording, those in it, and those after it.
test_description='gpuprof-collect: steps that are timed while nothing is recorded'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"

[ -n "$GP_SANITIZED" ] || test_set_prereq PYTHON # a sanitizer cannot be loaded into an interpreter without it

# paces FILE -- how each was timed, and its milliseconds, rounded down.
paces() { python3 "$GP_SOURCE/schemas/gpt_read.py" "$1" | awk '$1 == "pace" {print ($4 == 0 ? "bare" : "pause"), int($3 / 1e6)}' >paces; }
counted() { test "$(grep -c "^$1" paces)" = "$2" || { echo "expected: $2 of $1"; cat paces; return 1; }; }

test_expect_success '--start range: steps before it are bare, the later half of them; CUPTI came after them' '
    $collect --start "range:step 20" -o t $app steps 30 2 20 9 2>err && paces t && facts t && has gpu 5 && has joined 5 &&
    counted bare 10 && counted pause 8 && ! grep -E "bare [01]$" paces && ! grep -E "pause [0-8]$" paces
'

test_expect_success 'trace-suggest takes them before its model, and says so' '
    $collect --start "range:step 20" --stop "range:step 39" -o t $app steps 40 20 20 40 && paces t && counted bare 10 &&
    trace-suggest -f json t | grep -E "unprofiled_source.: .measured" &&
    trace-suggest -f json --step-time 30ms t | grep -E "unprofiled_source.: .given" &&
    $collect --start "range:step 20" --stop "range:step 39" -o t $app steps 40 2 20 40 && paces t && counted bare 10 &&
    trace-suggest -f json t | grep -E "unprofiled_source.: .model" # nobody makes steps so much longer: these are others
'

test_expect_success 'CUPTI stays out until then: what is recorded is the same, names of calls and devices included' '
    $collect --start "range:step 5" --stop "range:step 8" -o t $app steps 10 2 && facts t && has gpu 20 && has joined 20 && has range 4 &&
    cp facts later && $collect --no-pace --start "range:step 5" --stop "range:step 8" -o u $app steps 10 2 && facts u &&
    grep "^device:Mock H200 of the driver:132_sms:" later && grep -v ^device facts >now && grep -v ^device later >out && test_cmp now out
'

test_expect_success '--no-pace, and what only CUPTI sees: it is there from the beginning, and nothing is bare' '
    for options in "--no-pace --start range:x" "--start profiler" "--start launch:30" "--start range:x --stop launch:3"; do
        $collect $options -o t $app steps 12 2 && paces t && counted bare 0 || return 1
    done
'

test_expect_success 'a whole run has no pace; with an end, there is what comes after it' '
    $collect -o t $app steps 12 2 && paces t && test_must_be_empty paces &&
    $collect --stop "range:step 4" -o t $app steps 12 2 && paces t && counted bare 0 && counted pause 6
'

test_expect_success 'another tool has CUPTI when recording begins: a message, the program runs on, the pace is there' '
    MOCK_CUPTI_HOLDER=Tool $collect --start "range:step 20" -o t $app steps 30 2 2>err && grep "CUPTI is held by Tool" err &&
    facts t && has gpu 0 && paces t && counted bare 18
'

test_expect_success 'a signal begins it as well; a window that never opens leaves CUPTI out' '
    rm -f said && { $collect --start SIGUSR1 -o t $app steps 400 10 >said 2>err & } && pid=$! &&
    until grep "20 steps" said; do sleep 0.05; done && kill -USR1 $pid && wait $pid && paces t && grep bare paces &&
    facts t && has "mark:recording starts" 1 && ! has gpu 0 >/dev/null && ! has gpu 2000 >/dev/null &&
    GPUPROF_DEBUG=1 $collect --start 3600s -o t $app steps 12 2 2>err && ! grep "subscribe: 0" err && paces t && counted bare 6
'

# toggled NAME=VALUE... -- two windows by signals under a budget, in whose pauses CUPTI may leave.
toggled() {
    rm -f said && { env GPUPROF_DEBUG=1 "$@" $collect --budget 100% --start SIGUSR1 --stop SIGUSR1 -o t $app steps 500 10 500 10 $how >said 2>err & } && pid=$! &&
    until grep "20 steps" said; do sleep 0.05; done && kill -USR1 $pid && until grep "recording starts" err; do sleep 0.05; done &&
    sleep 0.3 && kill -USR1 $pid && until grep "CUPTI .* the process" err; do sleep 0.1; done && kill -USR1 $pid && wait $pid &&
    facts t && has "mark:recording starts" 2 && has verdict:clean 1 && has lost 0
}

test_expect_success '--budget: CUPTI leaves between windows, and all is recorded when it is back' '
    toggled A=B && grep "CUPTI has left the process" err && test $(grep -c "subscribe: 0" err) -le 2 && cp facts left &&
    test $(sed -n "s/^joined //p" facts) = $(sed -n "s/^gpu //p" facts)
'

test_expect_success 'of a version in which that was not tested, it is only given back' '
    toggled MOCK_CUPTI_VERSION=130300 && ! grep "has left" err && grep "CUPTI stays in the process" err &&
    test $(sed -n "s/^joined //p" facts) = $(sed -n "s/^gpu //p" facts)
'

test_expect_success 'graphs that were made while CUPTI was there keep it there' '
    how=graph && toggled A=B; how= && grep "CUPTI stays in the process" err && ! grep "has left" err && ! grep "mock:" err
'

test_expect_success '--pace: recording begins when the steps have been timed, whatever --start would say' '
    $collect --pace -o t $app steps 60 50 >out 2>err && facts t && has "mark:recording starts" 1 && paces t && grep bare paces &&
    ! grep pause paces && ! grep "bare [0-4]\?[0-9]$" paces && ! has gpu 0 >/dev/null && ! has gpu 300 >/dev/null &&
    $collect --pace -o t $app steps 12 2 2>err && grep "ended before its steps were timed" err && facts t && has gpu 0 && paces t && counted bare 6 &&
    for with in --no-pace --start=launch:3 --hub; do
        status_of $collect --pace $with true && test $status = 125 || return 1
    done
'

test_expect_success PYTHON '--pace finds the steps of PyTorch without a range, and leaves PyTorch as it was' '
    cat >train.py <<-\EOF &&
	import ctypes, sys, time
	import torch
	class Event(ctypes.Structure):
	    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p),
	                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]
	cuda = ctypes.CDLL(sys.argv[1])
	cuda.cuInit(0)
	name = ctypes.create_string_buffer(b"python_kernel")
	class Net(torch.nn.Module):
	    def __init__(self):
	        super().__init__()
	        self._children = [torch.Conv2d()]
	    def forward(self, x):
	        cuda.mock_do(ctypes.byref(Event(0, 7, ctypes.addressof(name), 1, 0, 0)))
	        time.sleep(0.05)
	        return torch.Tensor(1.0)
	net = Net()
	optimizer = torch.optim.Adam(net.parameters())
	for i in range(60):
	    loss = net(torch.Tensor(2.0))
	    if sys.argv[2:] != ["acts"]:
	        loss.backward()
	        optimizer.step()
	time.sleep(0.2) # the name must outlive the last flush
	print(hasattr(torch.optim.Adam.step, "gputrace"), hasattr(torch.Tensor.backward, "__wrapped__"), "forward" in vars(net))
	EOF
    PYTHONPATH=$GP_SOURCE/tests/python/fake_torch $collect --pace -o t python3 train.py $mock/libcuda.so.1 >out 2>err && cat err &&
    echo "False False False" >expected && test_cmp expected out && facts t && has "mark:recording starts" 1 && has mark 1 &&
    paces t && grep bare paces && ! grep pause paces && ! grep "bare [0-4]\?[0-9]$" paces &&
    PYTHONPATH=$GP_SOURCE/tests/python/fake_torch $collect --pace -o t python3 train.py $mock/libcuda.so.1 acts >out 2>err &&
    grep "ended before its steps were timed" err && paces t && test_must_be_empty paces # calls may be parts of a step
'

test_done
