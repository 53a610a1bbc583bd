#!/bin/sh
test_description='trace-hta: what it tells, in which form, and how it ends'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# A kernel of 40 us from 100 on, communication of 30 us from 130 on, of which 10 are under the kernel, nothing for 35 us,
# and a copy of 5 us: the span is 100 us = 40 compute + 20 exposed communication + 5 exposed memory + 35 idle. Of the gap
# the host had launched nothing until 190, where the call of the copy begins: 30 us, and 5 us of launch latency.
trace() {
    cat <<EOT
{"distributedInfo": {"rank": $1, "world_size": $2}, "traceEvents": [
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":4,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cuLaunchKernelEx","pid":1,"tid":1,"ts":5,"dur":2,"args":{"correlation":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":190,"dur":3,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"void gemm<float, 128>(float*)","pid":0,"tid":7,"ts":100,"dur":40,
 "args":{"device":0,"stream":7,"correlation":1}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL()","pid":0,"tid":9,"ts":130,"dur":30,
 "args":{"device":0,"stream":9,"correlation":3}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":195,"dur":5,
 "args":{"device":0,"stream":7,"correlation":2,"bytes":4096}}]}
EOT
}
trace 0 2 >zero.json
trace 1 2 >one.json
trace 0 1 >alone.json

test_expect_success 'the text begins with the verdict' '
    trace-hta --full alone.json >out 2>err && test_must_be_empty err &&
    head -n 1 out | grep -F "The GPU over 100 µs: computing 40.0%, only communicating" &&
    grep -E "^ +0 +0  compute +40.0 µs  40.0%" out &&
    grep -E "^ +exposed communication +20.0 µs  20.0%" out &&
    grep -E "^ +exposed memory +5.00 µs  5.00%" out &&
    grep -E "^ +idle +35.0 µs  35.0%" out &&
    grep -E "^  gemm  " out
'

# Start-up 10.05 ms, a first step of 5 ms, five of 1 ms with a kernel of 300 us at 50 us, and 10.75 ms after them. The step
# window runs from 15.05 to 19.35 ms: 4.3 ms, of which 1.5 ms busy. Four of its steps are whole.
started=$GP_SOURCE/tests/cli/data/start_up.json

test_expect_success 'what is said first is about the steps, the rest is one line and one table' '
    trace-hta --full $started >out && tr "\n" " " <out >line &&
    head -n 1 out | grep -F "The GPU in 5 steps, 4.30 ms: computing 34.9%, idle 65.1% (2.80 ms)." &&
    grep -F "A step takes 1.00 ms (mean of 4 whole steps; median 1.00 ms, 1.00 ms to 1.00 ms)." line &&
    grep -F "Outside the steps: 10.1 ms before them, 5.00 ms of warm-up, 10.8 ms after them; idle 94.6%." line &&
    grep -E "^  start-up, before the first step +0 +10.1 ms +9.95%" out &&
    grep -E "^  warm-up steps +1 +5.00 ms +6.00%" out &&
    grep -E "^  steps +5 +4.30 ms +34.9%" out &&
    grep -E "^  after the last step +0 +10.8 ms +0.93%" out &&
    grep -E "^  work +compute +5 +1.50 ms +100.0%" out && ! grep "^  teardown" out
'

test_expect_success '--whole is about everything' '
    trace-hta --whole $started >out &&
    head -n 1 out | grep -F "The GPU over 30.1 ms: computing 9.63%, idle 90.4% (27.2 ms)." &&
    ! grep -F "Outside the steps" out && grep -E "^  teardown +compute +1 " out
'

test_expect_success 'JSON and CSV keep their figures of everything, with the parts beside them' '
    trace-hta -f json $started >out &&
    jq -e ".devices[0].span_ns == 30100000 and .devices[0].busy_ns == 2900000 and (.kernels | map(.count) | add) == 8" out &&
    jq -e "[.parts[] | [.part, .steps, .span_ns, .busy_ns]] == [[\"start_up\", 0, 10050000, 1000000],
        [\"warm_up\", 1, 5000000, 300000], [\"steps\", 5, 4300000, 1500000], [\"after\", 0, 10750000, 100000]]" out &&
    jq -e "(.parts[2].idle | add) == 2800000 and .about == \"steps\"" out &&
    jq -e ".findings[0].time_ns <= 2800000" out &&
    jq -e ".steps[0] | .step_ns == 1000000 and .timed == 4 and .warm_up == 1 and .whole == 5 and .mean_ns == 1800000" out &&
    trace-hta -f json --whole $started | jq -e ".about == \"trace\" and .findings[0].time_ns > 2800000" &&
    trace-hta -f csv --table kernels $started | grep "^teardown,"
'

test_expect_success 'ranks with and without start-up: merged, saved and loaded, the same' '
    trace-hta --save-partial a.part $started && trace-hta --save-partial b.part alone.json &&
    trace-hta $started alone.json >direct && trace-hta --merge a.part b.part >merged && test_cmp direct merged &&
    trace-hta alone.json $started >turned && trace-hta --merge b.part a.part >merged && test_cmp turned merged &&
    head -n 1 direct | grep -F "in 5 steps, 2.20 ms each"
'

test_expect_success 'the same figures in JSON' '
    trace-hta -f json alone.json >out &&
    jq -e ".devices[0] | .span_ns == 100000 and .busy_ns == 65000 and .compute_ns == 40000
        and .communication_ns == 30000 and .memory_ns == 5000 and .exposed_communication_ns == 20000
        and .exposed_memory_ns == 5000 and .idle_ns == 35000 and .rank == 0 and .device == 0
        and (.streams | length) == 2 and (.idle | add) == 35000" out &&
    jq -e ".devices[0].idle | .host_ns == 30000 and .launch_latency_ns == 5000" out &&
    jq -e "[.kernels[] | [.name, .class, .count, .total_ns]] ==
        [[\"void gemm<float, 128>(float*)\", \"compute\", 1, 40000],
         [\"ncclDevKernel_AllReduce_Sum_f32_RING_LL()\", \"communication\", 1, 30000],
         [\"Memcpy HtoD (Pinned -> Device)\", \"memory\", 1, 5000]]" out
'

test_expect_success 'no line of text is longer than 80 columns, whatever the names' '
    trace-hta alone.json >out && test -z "$(awk "{ gsub(/[^ -~]/, \"\") } length > 80" out)" &&
    { printf "[{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"stream\":7},\"name\":\"" &&
      head -c 5000 /dev/zero | tr "\0" x && printf "\"}]"; } >long.json &&
    trace-hta long.json >out && test -z "$(awk "{ gsub(/[^ -~]/, \"\") } length > 80" out)"
'

test_expect_success 'one table as CSV, with full names and raw integers' '
    trace-hta -f csv --table kernels alone.json | tr -d "\r" >out &&
    head -n 1 out | grep "^name,class,count,total_ns,share_pct,mean_ns,min_ns,max_ns," &&
    grep -F "\"void gemm<float, 128>(float*)\",compute,1,40000," out &&
    trace-hta -f csv alone.json | tr -d "\r" >again && test_cmp out again &&
    trace-hta -f csv --table devices alone.json | tr -d "\r" | grep "^0,0,0,,100000,40," &&
    trace-hta -f csv --table streams alone.json >out && test "$(wc -l <out)" -eq 3
'

test_expect_success 'tables by name' '
    trace-hta --table help >out && grep -x kernels out && grep -x critical_path out &&
    for t in $(cat out); do trace-hta -q -f csv -t "$t" alone.json >/dev/null || return 1; done &&
    trace-hta --table kernels alone.json >out && grep gemm out && ! grep "Where the time went" out &&
    status_of trace-hta --table kernel alone.json && test "$status" -eq 2 && grep "no table \"kernel\"" err &&
    status_of trace-hta -f json --table kernels alone.json && test "$status" -eq 2
'

test_expect_success '--top cuts lists and says what is left' '
    trace-hta -n 1 alone.json >out && grep "and 2 more, together 35.0 µs" out &&
    trace-hta -f json -n 1 alone.json >out && test "$(jq ".kernels | length" out)" -eq 1 &&
    trace-hta -f json -n 0 alone.json >out && test "$(jq ".kernels | length" out)" -eq 3
'

test_expect_success 'several ranks, in any number of threads, are the same bytes' '
    for n in 1 2 3 4 5 6 7; do trace $n 8 >"r$n.json" || return 1; done &&
    trace-hta -f json --threads 1 r?.json >one 2>err1 && trace-hta -f json --threads 4 r?.json >four 2>err4 &&
    test_cmp one four && test_cmp err1 err4 &&
    test "$(jq "[.devices[].rank] | join(\" \")" one)" = "\"1 2 3 4 5 6 7\""
'

test_expect_success 'the parts of one trace, in any number of threads, are the same bytes' '
    for format in json html; do
        trace-hta -f $format --top 0 --threads 1 "$samples/h200/decode.json.gz" >one &&
        trace-hta -f $format --top 0 --threads 3 "$samples/h200/decode.json.gz" >three &&
        test_cmp one three || return 1
    done
'

test_expect_success 'missing and repeated ranks are reported, and work goes on' '
    trace-hta r1.json r2.json r2.json r5.json >out 2>err &&
    grep -x "trace-hta: repeated rank: 2" err &&
    grep -x "trace-hta: missing ranks of 8: 0, 3 to 4, 6 to 7" err && grep "^! missing ranks" out &&
    trace-hta -q r1.json r2.json r2.json >out 2>err && test_must_be_empty err &&
    trace-hta r1.json >out 2>err && test_must_be_empty err && head -n 1 out | grep "^Rank 1 of 8, one GPU over"
'

test_expect_success 'partial results merge to the same answer' '
    trace-hta -f json -n 0 r?.json >all 2>err &&
    trace-hta --save-partial a.part r1.json r2.json r3.json && trace-hta --save-partial b.part r4.json &&
    trace-hta --save-partial c.part r5.json r6.json r7.json >out && test_must_be_empty out &&
    trace-hta --merge -f json -n 0 a.part b.part c.part >merged 2>err && test_cmp all merged &&
    trace-hta --merge --save-partial d.part a.part b.part &&
    trace-hta --merge -f json -n 0 d.part c.part >merged 2>err && test_cmp all merged &&
    trace-hta --merge -f json -n 0 - <a.part >merged 2>err &&
    trace-hta -f json -n 0 r1.json r2.json r3.json >three 2>err && test_cmp three merged
'

test_expect_success 'a file that is not a partial result is refused' '
    status_of trace-hta --merge r1.json && test "$status" -eq 2 &&
    grep "^trace-hta: r1.json: not a saved partial result" err &&
    head -c 100 a.part >cut.part && status_of trace-hta --merge cut.part && test "$status" -eq 2 &&
    grep "^trace-hta: cut.part: " err &&
    status_of trace-hta a.part && test "$status" -eq 2
'

test_expect_success 'partial results of samples merge to the same answer' '
    ls "$samples"/h200/ddp.rank*.json.gz >list && test -s list &&
    trace-hta -f json -n 0 -s $(cat list) >all &&
    i=0 && for f in $(cat list); do i=$((i + 1)); trace-hta --save-partial "$i.part" "$f" || return 1; done &&
    trace-hta --merge -f json -n 0 -s 1.part 2.part >merged && test_cmp all merged
'

test_expect_success 'no GPU events are an error unless they are allowed' '
    echo "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1}]" >cpu.json &&
    status_of trace-hta cpu.json && test "$status" -eq 2 && test_must_be_empty out &&
    grep -x "trace-hta: cpu.json: no GPU events" err &&
    trace-hta --allow-empty cpu.json >out && grep "There are no GPU events" out &&
    trace-hta --allow-empty -f json cpu.json >out && jq -e ".devices == []" out &&
    trace-hta cpu.json alone.json >out && grep gemm out
'

test_expect_success 'damage is reported before any number, with its position' '
    head -c $(($(wc -c <alone.json) - 60)) alone.json >cut.json &&
    trace-hta cut.json >out 2>err && head -n 1 out | grep "^! cut.json: the input ends early" &&
    grep "^trace-hta: cut.json: the input ends early" err &&
    trace-hta -f json cut.json 2>err >out && jq -e ".quality | .verdict == \"repaired\" and .truncated" out &&
    status_of trace-hta --strict cut.json && test "$status" -eq 2 && test_must_be_empty out
'

test_expect_success 'classes of the user' '
    echo "gemm communication" >classes &&
    trace-hta -f json --classes classes alone.json >out && jq -e ".devices[0].compute_ns == 0" out &&
    echo "gemm nonsense" >classes && status_of trace-hta --classes classes alone.json && test "$status" -eq 2 &&
    grep "^trace-hta: classes: " err
'

test_expect_success 'wrong use' '
    status_of trace-hta --step-marker "(" alone.json && test "$status" -eq 2 &&
    status_of trace-hta --repair maybe alone.json && test "$status" -eq 2 &&
    status_of trace-hta nowhere.json && test "$status" -eq 2 && grep "^trace-hta: nowhere.json: " err &&
    status_of trace-hta alone.json nowhere.json one.json && test "$status" -eq 2 && test_must_be_empty out &&
    status_of trace-hta --save-partial p -o q alone.json && test "$status" -eq 2 && test ! -e q
'

test_expect_success 'output goes where it is wanted, whole or not at all' '
    trace-hta -o report.txt alone.json >out && test_must_be_empty out && grep gemm report.txt &&
    status_of trace-hta -o nowhere/report.txt alone.json && test "$status" -eq 2 &&
    if test -e /dev/full; then status_of trace-hta -o /dev/stdout alone.json >/dev/full; fi &&
    trace-hta <alone.json >out && grep gemm out
'

test_expect_success 'colour only where it is wanted' '
    trace-hta alone.json >out && ! grep "$(printf "\033")" out &&
    NO_COLOR= trace-hta --color always alone.json >out && grep "$(printf "\033")" out
'

test_expect_success 'the critical path as a graph' '
    trace-hta -f dot alone.json >out && head -n 1 out | grep digraph &&
    if command -v dot >/dev/null; then dot -Tsvg out >out.svg && grep "<svg" out.svg; fi
'

test_expect_success 'the page is HTML and has the figures' '
    trace-hta -f html alone.json >out && head -c 15 out | grep -i "<!doctype html>" && grep -q "ncclDevKernel" out &&
    grep -q "<title>trace-hta: alone.json<" out && trace-hta -f html <alone.json | grep -q "<title>trace-hta: standard input<"
'

test_expect_success 'findings lead to pages of the same traces' '
    mkdir -p "a b" sub && touch "a b/flame.html" time.html sub/near.html &&
    trace-hta -f html --flame "a b/flame.html" --timeline time.html alone.json >out &&
    grep -q "href=\"./a%20b/flame.html#[^\"]*s=[^\"]*\">flame graph</a>" out && grep -q "href=\"./time.html#find=idle_[a-z_]*\">timeline</a>" out &&
    trace-hta -f html alone.json >out && ! grep -q ">flame graph</a>" out &&
    status_of trace-hta --flame time.html alone.json && test $status = 2 && test_must_be_empty out &&
    trace-hta -q -f html -o sub/page.html --flame near.html alone.json && trace-hta -q -f html --flame /traces/3/flame alone.json >out &&
    for page in "--flame nosuch.html" "--timeline nosuch.html" "--flame near.html" "--flame /nosuch.html"; do
        status_of trace-hta -f html $page alone.json && test $status = 2 && test_must_be_empty out &&
        grep "^trace-hta: ${page% *}: ${page#* }: No such file or directory$" err || return 1
    done
'

test_expect_success '--verbose tells what was read' '
    trace-hta -v alone.json >out 2>err &&
    grep -x "trace-hta: alone.json: chrome, compression none, rank 0: 7 events, 3 on the GPU, clean" err
'

test_expect_success 'the input may be compressed, piped or ours' '
    gzip -c alone.json >alone.json.gz && trace-hta -f csv alone.json.gz >gz && trace-hta -f csv alone.json >plain &&
    test_cmp plain gz && trace-convert -q -o alone.trace alone.json && trace-hta -f csv alone.trace >ours &&
    test_cmp plain ours && trace-hta -f csv - <alone.trace >ours && test_cmp plain ours
'

test_expect_success 'the page draws the critical path where it can, and has it as a table in any case' '
    trace-hta -q -f html "$samples/h200/ddp.rank0.json.gz" "$samples/h200/ddp.rank1.json.gz" >page &&
    grep "<details class=.table. id=.critical_path." page >/dev/null &&
    if grep -q "<svg class=.graph." page; then
        sed -n "/<svg class=.graph./,/<\/svg>/p" page >one.svg && xmllint --noout one.svg &&
        test "$(grep -c "class=.cluster." one.svg)" = 2 && test "$(grep -c "class=.node" one.svg)" -le 32
    fi &&
    trace-hta -q -f html "$samples/h200/ddp.rank0.json.gz" "$samples/h200/ddp.rank1.json.gz" | cmp - page
'

# 3 of a million floats, 2 of a million bf16, a group of 3 of 100,000 floats; the rest twice: see samples/pytorch/collectives.py.
# Bytes are those of both ranks.
test_expect_success 'NCCL tells sizes and types in our own traces, on two H200' '
    trace-hta -q -f json "$samples/h200/nccl.trace" >out &&
    jq -r ".collectives[] | [.operation, .type // \"-\", .count, .calls, .bytes, .group_size] | @tsv" out | tr "\t" " " | sort >got &&
    cat >want <<-\EOF &&
	all_gather - 4 4 8000000 2
	all_reduce bf16 4 4 8000000 2
	all_reduce f32 2 6 2400000 2
	all_reduce f32 6 6 24000000 2
	all_to_all - 4 4 3200000 2
	broadcast - 4 4 1600000 2
	reduce_scatter bf16 4 4 1600000 2
	send_recv - 2 4 800000 2
	EOF
    test_cmp want got
'

test_expect_success 'a graph that an H200 replayed folds under the ranges that captured it' '
    trace2flame -q -f folded --weight count "$samples/h200/graphs.trace" >folded &&
    awk "/;capture;(clear;Memset|layer;(increment|square)|Memcpy)/ { n += \$NF } END { exit n != 25 * 42 }" folded
'

"$GP_SOURCE/tests/tap/on_terminal.py" 0 true 2>/dev/null && test_set_prereq TERMINAL
# in_terminal COLUMNS COMMAND...: run it where standard output is a terminal of that width.
in_terminal() {
    python3 - "$@" <<'END'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
out = b""
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    out += part
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.buffer.write(out.replace(b"\r\n", b"\n"))
sys.exit(status)
END
}
widest() { python3 -c 'import sys; print(max(len(line.rstrip("\n")) for line in sys.stdin))'; }

test_expect_success TERMINAL 'text is as wide as the terminal, and 80 columns where there is none' '
    trace=$samples/h200/eager.json.gz &&
    trace-hta $trace >piped && test $(widest <piped) -le 80 && grep "…" piped &&
    in_terminal 160 env -u COLUMNS NO_COLOR=1 trace-hta --progress=never -t kernels $trace >wide &&
    test $(widest <wide) -gt 100 && test $(widest <wide) -le 160 && ! grep "…" wide &&
    in_terminal 160 env COLUMNS=120 NO_COLOR=1 trace-hta --progress=never $trace >set &&
    test $(widest <set) -gt 80 && test $(widest <set) -le 120 &&
    COLUMNS=160 trace-hta $trace >plain && test_cmp piped plain
'

test_expect_success '--width: that many columns, or as many as the names have' '
    trace=$samples/h200/eager.json.gz &&
    trace-hta --width 60 $trace >narrow && test $(widest <narrow) -le 60 &&
    trace-hta --width full $trace >full && ! grep "…" full && test $(widest <full) -gt 100 &&
    for bad in 39 x 10% 2G; do
        test_expect_code 2 trace-hta --width $bad $trace 2>err && grep "^trace-hta: --width: .$bad. is not" err || return 1
    done &&
    test_expect_code 2 trace-hta --width 100 -f json $trace 2>err &&
    echo "trace-hta: --width requires --format text" >expect && test_cmp expect err
'

test_expect_success 'no two kernels of the table read the same with their class, at any width' '
    for width in 60 80 100 full; do
        trace-hta --top 0 -t kernels --width $width $samples/h200/eager.json.gz |
            sed "1,3d; s/^ *//; s/   *\\([a-z]*\\).*/ \\1/" | sort | uniq -d >twice && test_must_be_empty twice || return 1
    done
'

# One product of 64 x 128 with 128 x 256 in bf16: 2 * 64 * 128 * 256 FLOP, and (64 * 128 + 128 * 256 + 64 * 256) * 2 bytes at
# least. Its call launches two kernels of 6 and 4 us, and another of the same shape one of 10 us.
cat >shapes.json <<'END'
{"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 8, "args": {"External id": 1,
 "Input Dims": [[64, 128], [128, 256]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 4, "dur": 2, "args": {"correlation": 2}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 8, "args": {"External id": 2,
 "Input Dims": [[64, 128], [128, 256]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 11, "dur": 2, "args": {"correlation": 3}},
{"ph": "X", "cat": "cpu_op", "name": "aten::secret", "pid": 1, "tid": 1, "ts": 20, "dur": 8, "args": {"External id": 3,
 "Input Dims": [[7], []], "Input type": ["long int", "Scalar"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 21, "dur": 2, "args": {"correlation": 4}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 6, "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "splitk", "pid": 0, "tid": 7, "ts": 40, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 50, "dur": 10, "args": {"device": 0, "stream": 7, "correlation": 3}},
{"ph": "X", "cat": "kernel", "name": "s", "pid": 0, "tid": 7, "ts": 60, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 4}},
{"ph": "X", "cat": "kernel", "name": "s", "pid": 0, "tid": 7, "ts": 70, "dur": 1, "args": {"device": 0, "stream": 7}}
]}
END

test_expect_success 'operators by input shape: count, time, arithmetic, bytes and the share of the ceiling' '
    trace-hta -q -f json shapes.json >json &&
    jq -e ".operators_by_shape | length == 3 and (.[0] |
        .name == \"aten::mm\" and .shapes == \"bf16[64,128] [128,256]\" and .calls == 2 and .gpu_events == 3 and
        .gpu_ns == 20000 and .known_ns == 20000 and .flops == 2 * 4194304 and .bytes_low == 2 * 114688 and
        (.tflops - 0.4194304 | fabs) < 1e-9 and .ceiling_pct > 0.03 and .ceiling_pct < 0.05) and
        (.[1] | .name == \"aten::secret\" and .shapes == \"int64[7]\" and .gpu_ns == 5000 and .tflops == null) and
        (.[2] | .name == null and .gpu_ns == 1000)" json &&
    trace-hta -q -t operators_by_shape shapes.json >text && grep "aten::mm *bf16.64,128. .128,256. *2 *20.0 .*s *0.42" text &&
    trace-hta -q -f csv -t operators_by_shape shapes.json | grep "^aten::mm,\"bf16.64,128. .128,256.\",2,3,20000," &&
    trace-hta -q --save-partial part shapes.json && trace-hta -q --merge -f json part >merged &&
    jq -c .operators_by_shape json >expect && jq -c .operators_by_shape merged >out && test_cmp expect out &&
    trace-hta -q -f html shapes.json | grep "GPU time by operator and input shape"
'

# 130 kernels of 20 us, one every 100 us, each launched in an operator of its own: 129 gaps of 80 us, and more culprits than are kept.
awk 'BEGIN {
    printf "["
    for (i = 0; i < 130; i++) {
        t = 100 * i
        printf "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op%c%c\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":90}\n",
            i ? "," : "", 97 + i / 26, 97 + i % 26, t
        printf ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}}\n", t + 70, i + 1
        printf ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":20,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}\n", i % 3, t + 80, i + 1
    }
    print "]"
}' >many.json
test_expect_success 'rows that are cut carry what is left: rows and rest are the whole' '
    for top in 0 1 7 200; do
        trace-hta -q -f json -n $top many.json >out &&
        jq -e ".devices[0] | .idle_ns == 10320000 and ([.idle_culprits[].idle_ns] | add) + .idle_culprits_rest_ns == 10320000
            and .idle_culprits_rest_ns > 0" out &&
        jq -e "([.kernels[].count] | add) + .kernels_rest.count == 130 and ([.kernels[].total_ns] | add) + .kernels_rest.total_ns == 2600000" out &&
        jq -e "([.operators[].gpu_ns] | add) + .operators_rest.gpu_ns == 2600000" out &&
        jq -e ".critical_path.paths[0] | ([.names[].total_ns] | add) + .names_rest.total_ns == .length_ns" out &&
        for t in culprits:idle_ns:10320000 kernels:total_ns:2600000 operators:gpu_ns:2600000; do
            column=${t#*:} && trace-hta -q -f csv -n $top -t "${t%%:*}" many.json | tr -d "\r" >rows &&
            awk -F, -v name="${column%:*}" "NR == 1 { for (i = 1; i <= NF; i++) if (\$i == name) at = i } NR > 1 { n += \$at } END { print n }" rows >sum &&
            echo "${t##*:}" >expect && test_cmp expect sum || return 1
        done || return 1
    done &&
    trace-hta -q -t culprits -n 0 many.json >text && grep "^  (other) " text && trace-hta -q -t critical_names many.json | grep "and .* more, together"
'

test_expect_success 'three headlines say in one sentence what the recorder likely cost' '
    said="torch\.profiler likely added [0-9.]+ [^ ]+s of it \([0-9.]+%\)" &&
    for f in "$samples/pairs/decode.json.gz" "$samples/pairs/small.json.gz"; do
        trace-hta -q "$f" | tr "\n" " " >hta && trace2flame -o flame.svg "$f" 2>/dev/null &&
        trace2timeline -o timeline.html "$f" 2>timeline && grep -oE "$said" hta >one && test "$(wc -l <one)" = 1 &&
        grep -oE "$said" timeline | test_cmp one - && grep -oE "$said" flame.svg | head -n 1 | test_cmp one - || return 1
    done &&
    trace-hta -q -f json "$samples/pairs/decode.json.gz" >out &&
    jq -e ".parts[] | select(.part == \"steps\") | .recorder == \"torch.profiler\" and .recorder_added_ns > 0 and
        .recorder_measured == false" out && ! jq -e ".parts[] | select(.part == \"after\") | has(\"recorder\")" out
'

test_expect_success 'files of unlike programs are not a job; runs of one and ranks are' '
    programs() { trace-hta -q "$@" | tr "\n" " " >out; grep -o "These are [0-9]* programs" out; }
    programs "$samples/h200/eager.json.gz" "$samples/h200/decode.trace" "$samples/h200/random.trace" >said &&
    grep "3 programs" said && ! programs "$samples/h200/eager.json.gz" "$samples/h200/eager.trace" &&
    ! programs "$samples"/h200/ddp.rank*.json.gz && ! programs "$samples/h200/eager.trace"
'

test_done
