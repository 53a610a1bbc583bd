#!/bin/sh
test_description='trace2flame: what it draws, and what it says about its input'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# One operator with a kernel of 30.5 us, and a copy of 2 us and 4096 bytes whose launch was not recorded.
cat >tiny.json <<'END'
[{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100},
 {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":20,"args":{"External id":1}},
 {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":15,"dur":5,"args":{"correlation":1}},
 {"ph":"X","cat":"kernel","name":"void gemm<float, 128>(float*)","pid":0,"tid":7,"ts":50,"dur":30.5,
  "args":{"stream":7,"correlation":1}},
 {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":90,"dur":2,
  "args":{"stream":7,"correlation":99,"bytes":4096}}]
END
printf 'main;a;b 30\nmain;c 10\n' >plain.folded
well_formed() { xmllint --noout "$1" 2>/dev/null || python3 -S -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1"; }
copy='[unattributed];stream_7;Memcpy HtoD (Pageable -> Device)'

test_expect_success 'GPU time by the stack that launched it' '
    { echo "ProfilerStep;aten::mm;gemm 30500"; echo "$copy 2000"; } >expect &&
    trace2flame -f folded tiny.json >out && test_cmp expect out
'

test_expect_success 'the other weights' '
    { echo "ProfilerStep;aten::mm;gemm 1"; echo "$copy 1"; } >expect &&
    trace2flame -f folded -w count tiny.json >out && test_cmp expect out &&
    echo "$copy 4096" >expect &&
    trace2flame -f folded --weight=bytes tiny.json >out && test_cmp expect out &&
    # 100 us less 20 in the operator, 20 less 5 in the call, 5
    printf "%s\n" "ProfilerStep 80000" "ProfilerStep;aten::mm 15000" "ProfilerStep;aten::mm;cudaLaunchKernel 5000" >expect &&
    trace2flame -f folded -w cpu tiny.json >out && test_cmp expect out
'

# Between the kernel's end at 80.5 and the copy's start at 90 us nothing is known; a second kernel, launched at 150 and
# running from 160, leaves 92..150 to the host, of which 92..100 is the step's, and 10 us to the launch.
test_expect_success 'idle time by cause' '
    sed "\$s/\]\$/,/" tiny.json >idle.json &&
    cat >>idle.json <<-\END &&
	{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":150,"dur":4,"args":{"correlation":2}},
	{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":160,"dur":1,"args":{"stream":7,"correlation":2}}]
	END
    { echo "idle: launch latency;cudaLaunchKernel 10000"; echo "idle: nothing recorded explains it 9500"
      echo "idle: the host had launched nothing 50000"; echo "idle: the host had launched nothing;ProfilerStep 8000"; } >expect &&
    trace2flame -f folded --weight idle idle.json >out && test_cmp expect out &&
    { echo "idle: launch latency;[shorter than 1 ms] 10000"; echo "idle: nothing recorded explains it;[shorter than 1 ms] 9500"
      echo "idle: the host had launched nothing;[shorter than 1 ms] 58000"; } >expect &&
    trace2flame -f folded --weight idle --min-duration 1ms idle.json >out && test_cmp expect out &&
    trace2flame --whole --weight idle idle.json >idle.svg && well_formed idle.svg &&
    grep "idle time 77.5 .* the host had launched nothing 74.8%, launch latency 12.9%, nothing recorded explains it 12.3%" idle.svg &&
    grep "url(#gpf-idle)" idle.svg && grep "<pattern id=\"gpf-idle\"" idle.svg &&
    trace2flame plain.folded >plain.svg && ! grep "<pattern id=\"gpf-idle\"" plain.svg
'

test_expect_success 'a device that is never idle says so' '
    echo "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1}]" >busy.json &&
    trace2flame --weight idle busy.json | grep "No device was idle" &&
    trace2flame -f folded --weight idle busy.json >out && test_must_be_empty out
'

test_expect_success 'names as recorded, and runtime calls' '
    { echo "ProfilerStep#1;aten::mm;cudaLaunchKernel;void gemm<float, 128>(float*) 30500"; echo "$copy 2000"; } >expect &&
    trace2flame -f folded --raw --show-api tiny.json >out && test_cmp expect out
'

test_expect_success 'what is small, short, deep or not wanted' '
    { echo "ProfilerStep;aten::mm;gemm 30500"; echo "1 more 2000"; } >expect &&
    trace2flame -f folded --group-small 10% tiny.json >out && test_cmp expect out &&
    { echo "ProfilerStep;aten::mm 30500"; echo "[unattributed];stream_7 2000"; } >expect &&
    trace2flame -f folded --max-depth 2 tiny.json >out && test_cmp expect out &&
    echo "ProfilerStep;aten::mm;gemm 30500" >expect &&
    trace2flame -f folded --filter "^GEMM" -i tiny.json >out && test_cmp expect out &&
    trace2flame -f folded --filter "^GEMM" tiny.json >out && test_must_be_empty out &&
    trace2flame -f folded --min-duration 10us tiny.json >out &&
    awk "{ sum += \$NF } END { exit sum != 32500 }" out && grep "^\[unattributed\];stream_7;\[shorter.* 2000$" out
'

test_expect_success 'leaves first' '
    printf "%s\n" "b;a;main 30" "c;main 10" >expect &&
    trace2flame -f folded --invert plain.folded >out && test_cmp expect out
'

test_expect_success 'several ranks are one picture' '
    sed "1s/^\[/{\"distributedInfo\":{\"rank\":3},\"traceEvents\":[/; \$s/\$/}/" tiny.json >three.json &&
    sed "1s/^\[/{\"distributedInfo\":{\"rank\":12},\"traceEvents\":[/; \$s/\$/}/" tiny.json >twelve.json &&
    trace2flame -f folded twelve.json three.json >out &&
    grep "^rank_3;ProfilerStep;aten::mm;gemm 30500" out && grep "^rank_12;ProfilerStep;aten::mm;gemm 30500" out &&
    trace2flame twelve.json three.json >out.svg && well_formed out.svg &&
    grep -o "<title>rank [0-9]*" out.svg >ranks && printf "<title>rank 3\n<title>rank 12\n" >expect && test_cmp expect ranks
'

test_expect_success 'the picture: well-formed, with title, figures and legend' '
    trace2flame --whole --title "My <run>" tiny.json >tiny.svg && well_formed tiny.svg &&
    grep ">My &lt;run&gt;</text>" tiny.svg &&
    grep ">GPU time 32.5 .*s .* 2 events .* 6.15% without a launch record .* tiny.json</text>" tiny.svg &&
    grep "memory copy<tspan dx=\"5\">6.15%</tspan>" tiny.svg &&
    grep "<title>void gemm&lt;float, 128&gt;(float\*)" tiny.svg
'

# Of eight kernels the five of the step window, 300 us each; the steps take 4.3 of 30.1 ms.
test_expect_success 'pictures are about the steps, what programs read is about everything' '
    started=$GP_SOURCE/tests/cli/data/start_up.json &&
    trace2flame $started >steps.svg && grep ">GPU time 1.50 ms .* 5 events .* in 5 steps, 4.30 ms of 30.1 ms (--whole: all); a step takes 1.00 ms (mean of 4 whole steps; median 1.00 ms)" steps.svg &&
    ! grep -E "teardown|init" steps.svg &&
    trace2flame -f html $started | grep "in 5 steps, 4.30 ms" &&
    trace2flame --whole $started >whole.svg && grep ">GPU time 2.90 ms .* 8 events" whole.svg && grep "teardown" whole.svg &&
    printf "%s\n" "ProfilerStep;work 1800000" "init 1000000" "teardown 100000" >expect &&
    trace2flame -f folded $started >out && test_cmp expect out &&
    trace2flame -q --step-marker "Step#[56]" $started | grep "in 2 steps, 1.30 ms"
'

test_expect_success 'folded stacks are read as they are, from standard input and compressed' '
    printf "%s\n" "main;a;b 30" "main;c 10" >expect &&
    trace2flame -f folded <plain.folded >out && test_cmp expect out &&
    gzip -c plain.folded | trace2flame -f folded - >out && test_cmp expect out &&
    trace2flame plain.folded >plain.svg && well_formed plain.svg && grep ">40 samples .* plain.folded</text>" plain.svg &&
    trace2flame -w gpu plain.folded | grep ">GPU time 40 ns .* plain.folded</text>"
'

test_expect_success 'a folded file drawn and folded again stays the same' '
    trace2flame -f folded tiny.json >once && trace2flame -f folded once >twice && test_cmp once twice
'

test_expect_success 'speedscope: what its format asks for, and the same sums' '
    trace2flame -f speedscope tiny.json >tiny.speedscope.json &&
    python3 -S "$GP_SOURCE/tests/cli/check_speedscope.py" tiny.speedscope.json >out &&
    printf "%s\n" "GPU time nanoseconds 32500" "GPU events none 2" "bytes copied and set bytes 4096" >expect && test_cmp expect out &&
    trace2flame -f speedscope -w bytes tiny.json >bytes.json &&
    python3 -S "$GP_SOURCE/tests/cli/check_speedscope.py" bytes.json >out &&
    echo "bytes copied and set bytes 4096" >expect && test_cmp expect out
'

check_pprof() { python3 -S "$GP_SOURCE/tests/cli/check_pprof.py" "$@"; }
test_expect_success 'pprof: what its format asks for, all weights, and where the work ran' '
    sed "1s/^\[/{\"distributedInfo\":{\"rank\":3},\"traceEvents\":[/; \$s/\$/}/" tiny.json >placed.json &&
    trace2flame -f pprof placed.json >tiny.pb.gz && check_pprof tiny.pb.gz >out &&
    # 100 us of the step on the host; the copy has no launch record
    printf "%s\n" "gpu_time nanoseconds 32500" "cpu_time nanoseconds 100000" "launches count 2" "bytes bytes 4096" \
        "labels rank=3 stream=7" "function ProfilerStep ProfilerStep#1  0" "function gemm void gemm<float, 128>(float*)  0" >expect &&
    test_cmp expect out &&
    check_pprof tiny.pb.gz gpu_time >out &&
    { echo "ProfilerStep;aten::mm;gemm 30500"; echo "[unattributed];stream 7;Memcpy HtoD (Pageable -> Device) 2000"; } >expect &&
    test_cmp expect out &&
    check_pprof tiny.pb.gz cpu_time >out && trace2flame -f folded -w cpu tiny.json >expect && test_cmp expect out &&
    trace2flame -f pprof plain.folded >plain.pb.gz && check_pprof plain.pb.gz >out &&
    printf "%s\n" "samples count 40" "labels" >expect && test_cmp expect out &&
    trace2flame -f pprof -w cpu plain.folded >cpu.pb.gz && check_pprof cpu.pb.gz >out &&
    printf "%s\n" "cpu_time nanoseconds 40" "labels" >expect && test_cmp expect out &&
    trace2flame -f pprof -w idle placed.json >idle.pb.gz && check_pprof idle.pb.gz | grep "^idle_time nanoseconds 9500" &&
    status_of trace2flame -f pprof --group-small 1% tiny.json && test $status = 2 && test_must_be_empty out
'

test_expect_success 'pprof: of stacks deeper than 1024 frames both ends are kept, and the time for all' '
    deep() { awk -v n=$1 "BEGIN { for (i = 0; i < n; i++) printf \"f%d%s\", i, i + 1 < n ? \";\" : \" 7\\n\" }"; } &&
    deep 1024 >limit.folded && deep 1025 >beyond.folded && deep 3000 >>beyond.folded &&
    trace2flame -q -f pprof limit.folded >limit.pb.gz && check_pprof limit.pb.gz samples >out && test_cmp limit.folded out &&
    trace2flame -q -f pprof beyond.folded >beyond.pb.gz && check_pprof beyond.pb.gz samples | sort >out &&
    for n in 1025 3000; do
        deep $n | tr ";" "\n" | sed "513,$((n - 512))d; 512a[frames left out]" | paste -sd ";" -
    done | sort >expect && test_cmp expect out
'

test_expect_success 'pprof: a Python frame has its file and line, and shaped stacks keep their sums' '
    sed "1s/^\[/[{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"a b\/net.py(12): forward\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":90},/" \
        tiny.json >python.json &&
    trace2flame -f pprof --raw python.json >python.pb.gz && check_pprof python.pb.gz >out &&
    grep "^function a b/net.py(12): forward  a b/net.py 12$" out &&
    for how in --invert "--max-depth 1" "--filter aten" "--min-duration 10us"; do
        trace2flame -f pprof $how python.json >shaped.pb.gz && check_pprof shaped.pb.gz gpu_time | sed "s/stream /stream_/" >out &&
        trace2flame -f folded $how python.json | sort >sorted && sort out >expect && test_cmp expect sorted || return 1
    done
'

test_expect_success 'pprof: every sample has the stacks that the other formats have' '
    for sample in "$GP_SOURCE"/samples/h200/*.trace "$GP_SOURCE"/samples/h200/*.json.gz; do
        trace2flame -q -f pprof "$sample" >sample.pb.gz && set -- || return 1
        for pair in gpu=gpu_time cpu=cpu_time count=launches bytes=bytes; do
            trace2flame -q -f folded -w ${pair%=*} "$sample" >want.${pair%=*} && set -- "$@" ${pair#*=}=want.${pair%=*} || return 1
        done
        test -n "$GP_SANITIZED" || check_pprof sample.pb.gz "$@" || { echo "$sample"; return 1; }
    done
'

cat >evil.json <<'END'
[{"ph":"X","cat":"kernel","name":"</title></script><script>alert(1)</script>]]>\u0001\n\u202e\ud800\"';b 7","pid":0,"tid":7,
  "ts":1,"dur":2,"args":{"stream":7}}]
END
test_expect_success 'names cannot break out of any format' '
    for format in svg html speedscope folded pprof; do trace2flame -q -f $format evil.json >evil.$format || return 1; done &&
    well_formed evil.svg && test $(grep -c "<script" evil.svg) = 1 && test $(grep -c "]]>" evil.svg) = 2 &&
    python3 -S "$GP_SOURCE/tests/cli/check_speedscope.py" evil.speedscope && check_pprof evil.pprof &&
    test $(grep -c "<script" evil.html) = 6 && test $(grep -c "alert(1)</script>" evil.html) = 0 &&
    test $(wc -l <evil.folded) = 1 && ! grep -a "$(printf "\001")" evil.folded &&
    grep -a ":b_7 2000$" evil.folded
'

test_expect_success 'damage is reported in one line and the rest is drawn' '
    head -c 500 tiny.json >cut.json && status_of trace2flame -f folded cut.json && test $status = 0 &&
    test $(wc -l <err) = 1 && grep "^trace2flame: cut.json: the input ends early (first at byte 500)" err &&
    status_of trace2flame -q -f folded cut.json && test $status = 0 && test_must_be_empty err &&
    status_of trace2flame --strict cut.json && test $status = 2 && test_must_be_empty out &&
    grep "^trace2flame: cut.json: byte 500: " err &&
    printf "a;b 1\nbroken\nc 2\n" >bad.folded && status_of trace2flame -f folded bad.folded && test $status = 0 &&
    printf "a;b 1\nc 2\n" >expect && test_cmp expect out &&
    echo "trace2flame: bad.folded: lines that are not folded stacks: 1 (first at byte 6)" >expect && test_cmp expect err &&
    status_of trace2flame --strict bad.folded && test $status = 2
'

test_expect_success 'a trace without GPU events is a friendly picture' '
    echo "{\"traceEvents\":[]}" >none.json && trace2flame none.json >none.svg && well_formed none.svg &&
    grep "No GPU events in this trace" none.svg &&
    trace2flame --filter nothing tiny.json | grep "No stack matches the filter"
'

test_expect_success 'misuse' '
    for args in "--width 5" "--max-frames 1" "--weight time" "--format png" "--filter (" "--group-small x"; do
        status_of trace2flame $args tiny.json && test $status = 2 && test_must_be_empty out &&
        grep "^trace2flame: " err || return 1
    done
'

test_expect_success 'the page: nothing is loaded, and names stay text' '
    trace2flame -f html --whole --title "My <run>" tiny.json >tiny.html &&
    grep "<title>trace2flame: My &lt;run&gt;</title>" tiny.html && grep "default-src .none." tiny.html &&
    ! grep -E "<link|<img|(src|href)=\"(https?:|//)" tiny.html &&
    grep "GPU time 32.5 .*s in 2 events .* CPU time 100 .*s .* 6.15% without a launch record .* tiny.json</p>" tiny.html &&
    test $(wc -c <tiny.html) -lt 150000 &&
    test $(trace2flame -f html --max-frames 2 tiny.json | grep -c "data-d=") = 2 &&
    echo "{\"traceEvents\":[]}" | trace2flame -f html | grep "No GPU events in this trace"
'

test_expect_success 'the number of boxes is limited and sums still close' '
    awk "BEGIN { for (i = 0; i < 20000; i++) print \"all;op\" i % 100 \";k\" i, i % 37 + 1 }" >many.folded &&
    trace2flame --max-frames 300 many.folded >many.svg && well_formed many.svg &&
    test $(grep -c "data-d=" many.svg) -le 300 && test $(grep -c "data-d=" many.svg) -ge 290 &&
    awk "{ sum += \$NF } END { print sum }" many.folded >expect &&
    sed -n "s/.*data-d=\"2\" data-v=\"\([0-9]*\)\".*/\1/p" many.svg | awk "{ sum += \$1 } END { print sum }" >out && test_cmp expect out
'

test_expect_success 'user classes colour kernels' '
    echo "^void gemm communication" >classes && trace2flame --whole --classes classes tiny.json | grep "communication<tspan dx=\"5\">93.8%" &&
    echo "[ communication" >classes && status_of trace2flame --classes classes tiny.json && test $status = 2 &&
    grep "^trace2flame: classes: " err
'

test_expect_success 'equal input gives equal bytes, whatever the threads' '
    for format in svg html folded speedscope pprof; do
        trace2flame -f $format --threads 1 tiny.json >one && trace2flame -f $format --threads 4 tiny.json >four &&
        test_cmp one four || return 1
    done
'

test_done
