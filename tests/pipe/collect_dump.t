#!/bin/sh
# Planted: each kind of moment at which the flight recorder writes, twice. What is written then is looked at before the program ends.
test_description='gpuprof-collect --dump: what sets it off, the right window, and how often'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
clocked='gpuprof-collect --flush-interval 50ms'

# planted RECORDER DUMP APP... -- run APP in the flight recorder; `early` is the trace just after the first dump, t the whole.
planted() {
    recorder=$1 dump=$2; shift 2
    rm -f pipe t early err && >err && mkfifo pipe && { cat pipe >t & } && { $recorder --last 30s --dump "$dump" $app "$@" >pipe 2>err & } && pid=$! &&
    until grep "wrote the kept events" err || ! kill -0 $pid; do sleep 0.05; done &&
    sleep 0.2 && cp t early && { wait $pid; status=$?; wait; true; } && cat err && facts early
}

# window FILE MARK -- the first mark that begins so, and what of the trace lies before it: "MS RANGE..." of the last ranges, ms of the latest kernel.
window() {
    trace-convert -q --to chrome $1 | python3 -c "
import json, sys
e = json.load(sys.stdin)['traceEvents']
m = [x['ts'] for x in e if x.get('ph') in 'iI' and x['name'].startswith(sys.argv[1])]
k = [x['ts'] + x['dur'] for x in e if x.get('cat') == 'kernel']
r = sorted((x['ts'], x['name'], x['dur']) for x in e if x.get('ph') == 'X' and x['name'].startswith('step '))
print('marks', len(m))
print('kernel', int((m[0] - max(x for x in k if x <= m[0])) / 1000) if k and m else None)
print('range', *[name for ts, name, dur in r if m and ts + dur <= m[0] + 2e4][-1:], [int(dur / 1000) for ts, name, dur in r if m and ts + dur <= m[0] + 2e4][-1:])
" "$2" >window; cat window
}
# lately KERNEL -- the last kernel before the mark is at most so many ms older.
lately() { test "$(sed -n 's/^kernel //p' window)" -le $1; }

test_expect_success 'step: one that took longer is in what is written, with its mark' '
    planted "$collect" step:1.5x steps 40 40 20 90 && grep -E "wrote the kept events: a step (took|has been running for) [0-9]" err &&
    window early "--dump: a step" && grep "marks 1" window && lately 1000 && ! grep "^range.*step [0-9] " window
'
test_expect_success 'step: one that does not end is written while it runs' '
    planted "$collect" step:3x steps 16 30 15 2500 && grep -E "a step has been running for [0-9.]+ ms, [3-9]\.[0-9]+ times the median" err &&
    window early "--dump: a step has been" && grep "marks 1" window && grep "range step 14" window && has gpu 80 &&
    window t "--dump: a step has been" && grep "marks 1" window
'
test_expect_success 'collective: one whose kernel does not end' '
    planted "$collect" collective:300ms nccl stuck && grep "wrote the kept events: ncclAllReduce has not ended for 0\.3" err &&
    window early "--dump: ncclAllReduce has not ended" && grep "marks 1" window && has gpu 7
'
test_expect_success 'collective: one that took too long, without a word of NCCL' '
    planted "$collect" "collective:800ms,idle:20s" nccl long && grep "wrote the kept events: a collective took 0\.900 s" err &&
    window early "--dump: a collective took" && grep "marks 1" window && has gpu 8
'
for n in 1 2; do
    test_expect_success "memory: nearly full ($n)" '
        MOCK_NVML=well=${n}0 planted "$clocked" memory:9${n}% steps 120 30 && grep "wrote the kept events: memory in use on GPU 0: 96\.0%" err &&
        window early "--dump: memory in use" && grep "marks 1" window && lately 1000 && test "$(grep -c "wrote the kept" err)" = 1
    '
done
for n in 7 8; do
    test_expect_success "clock: lower than before ($n)" '
        MOCK_NVML=well=${n}0 planted "$clocked" "clock:-$n%" steps 220 30 &&
        grep "wrote the kept events: SM clock of GPU 0: 1485 MHz, 25\.0% below its median before (1980 MHz)" err &&
        window early "--dump: SM clock" && grep "marks 1" window && lately 1000
    '
done

test_expect_success 'a program in which nothing happens is not written' '
    planted "$clocked" "step:9x,collective:9s,memory:97%,clock:-30%" steps 30 20 && ! grep "wrote the kept" err && facts t && has gpu 150
'

test_expect_success '--dump-limit, and apart by what --last keeps: the others are counted' '
    $collect --last 300ms --dump idle:100ms --dump-limit 1 -o t $app gate 5 0 2>err; $collect --last 200ms --dump step:1.3x -o t $app steps 60 20 30 60 2>err &&
    cat err && test "$(grep -c "wrote the kept" err)" -ge 1 &&
    $collect --last 100ms --dump step:1.3x --dump-limit 1 -o t $app steps 60 20 40 60 2>err && cat err && test "$(grep -c "wrote the kept" err)" = 1 &&
    grep -E "[0-9]+ more moments? (was|were) not written: --dump-limit" err
'

test_expect_success 'one trace per process: each has the mark, and --redact changes nothing about it' '
    $collect --redact --last 30s --dump step:1.5x -o "d.%r" sh -c "RANK=0 $app steps 30 30 20 70 & RANK=1 $app steps 30 30; wait" 2>err && cat err &&
    for f in d.0 d.1; do window $f "--dump: a step" && ! grep "marks 0" window || return 1; done
'

test_expect_success 'wrong words are refused, with those that are right' '
    for word in step:1x step:x collective: memory:101% clock:10% SIGTERM "step:2x,"; do
        status_of $collect --last 1s --dump "$word" true && test $status = 125 && grep "is not one of SIGUSR1, SIGUSR2, idle:TIME, step:1.5x" err || return 1
    done
'
test_done
