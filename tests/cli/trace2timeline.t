#!/bin/sh
test_description='trace2timeline: what is in the page, ranges, sizes, pictures, and how it ends'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

command -v node >/dev/null 2>&1 && test_set_prereq NODE
dump=$GP_SOURCE/tests/timeline/dump.js
sums=$GP_SOURCE/tests/cli/timeline_sums.py

# Two steps of 100 us; in each an operator of 40 us with a launch in it, and a kernel of 30 us. The second launch waits.
cat >steps.json <<'END'
{"traceEvents": [
{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1000,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1010,"dur":40,"args":{"Input Dims":[[2,3],[3,4]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1020,"dur":10,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1040,"dur":30,"args":{"device":0,"stream":7,"correlation":1,"grid":[2,1,1]}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":1100,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1110,"dur":40},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1120,"dur":10,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1140,"dur":30,"args":{"device":0,"stream":7,"correlation":2}}]}
END

test_expect_success NODE 'ranks in several files are one view' '
    trace2timeline -q -o ranks.html "$GP_SOURCE"/samples/h200/ddp.rank*.json.gz &&
    node "$dump" ranks.html >out &&
    grep -F "Rank 0, GPU 0, NVIDIA H200" out && grep -F "Rank 1, GPU 1, NVIDIA H200" out &&
    grep -F "<title>ddp.rank0.json.gz, ddp.rank1.json.gz" ranks.html
'

# Two kernels of 5 us, the first before time 0 of the clock: 10 us in 95.
test_expect_success 'times before 0 count like any others' '
    cat >early.json <<END &&
[{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":-50,"dur":5,"args":{"device":0,"stream":7}},
 {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":40,"dur":5,"args":{"device":0,"stream":7}}]
END
    trace2timeline early.json 2>err >/dev/null &&
    echo "trace2timeline: early.json: 95.0 µs from the first to the last GPU event: GPU busy 10.5%, CPU active 0%, both 0%" >expect &&
    test_cmp expect err
'

# One microsecond, twelve seconds into the trace: each tick has a label of its own.
test_expect_success 'the labels of a late range differ' '
    cat >late.json <<END &&
[{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":0,"dur":1,"args":{"device":0,"stream":7}},
 {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":12000000,"dur":2,"args":{"device":0,"stream":7}}]
END
    trace2timeline -q -f svg --range 12s-12000001us late.json >late.svg &&
    grep -o ">1[0-9.]* s<" late.svg | sort >labels &&
    test 4 -le $(wc -l <labels) && sort -u labels >different && test_cmp different labels &&
    grep -q ">12.0000002 s<" late.svg
'

# Track, events and sum of durations as the page has them.
held() { node "$dump" "$1" | awk -F'\t' '$1 != "counter" { print $2 "\t" $3 "\t" $4 }'; }

test_expect_success 'one page, and one line that says how much of the time was used' '
    trace2timeline steps.json >page.html 2>err &&
    head -n 1 page.html | grep -i "<!doctype html>" &&
    echo "trace2timeline: steps.json: a step takes 100 µs (1 whole step); 2 steps, 130 µs of 200 µs recorded: GPU busy 46.2%, CPU active 38.5%, both 15.4%" >expect &&
    test_cmp expect err &&
    trace-hta -q -f json steps.json | jq -e ".devices[0] | .span_ns == 130000 and .busy_ns == 60000"
'

test_expect_success 'quiet: nothing on standard error' '
    trace2timeline -q steps.json 2>err >/dev/null && test_must_be_empty err
'

# The GPU window of a step ends where the next one begins: 100 us, and 30 us of the last.
test_expect_success NODE 'the tracks of the page' '
    held page.html >tracks &&
    cat >expect <<END &&
gpu 0/steps	2	130000
gpu 0/idle	4	70000
gpu 0/stream 7	2	60000
process 1/thread 1	6	300000
END
    cut -f 1,3 expect >expect.sums && cut -f 1,3 tracks >sums && test_cmp expect.sums sums
'

test_expect_success NODE 'what was recorded, what launched what' '
    cat >ask.js <<END &&
const { load } = require("$GP_SOURCE/tests/timeline/page.js");
load("page.html").then(async (d) => {
    const k = d.find("gpu 0/stream 7"), op = d.find("process 1/thread 1");
    console.log(JSON.stringify(await d.details(k.index, 0, 0)));
    console.log(JSON.stringify(await d.details(op.index, 1, 0)));
    const [a] = await d.arrows(k.index, 0, 1);
    console.log(a.what, d.at(a.from.track, a.from.lane, a.from.i).name, d.at(a.from.track, a.from.lane, a.from.i).t0);
    const back = await d.arrows(a.from.track, a.from.lane, a.from.i);
    console.log(JSON.stringify(back) === JSON.stringify([a]));
});
END
    node ask.js >out &&
    cat >expect <<END &&
[["grid","2 × 1 × 1"],["correlation","1"]]
[["Input Dims","[[2,3],[3,4]]"]]
launch cudaLaunchKernel 120000
true
END
    test_cmp expect out
'

for sample in eager.json.gz decode_graph.json.gz ddp.rank0.json.gz; do
    test_expect_success NODE "$sample: counts and sums of every stream and thread are those of the file" '
        trace2timeline -q "$samples/h200/'$sample'" >s.html &&
        "$sums" "$samples/h200/'$sample'" >expect &&
        held s.html | grep -E "/(stream|thread) [^/]*	" | sed "s/^rank [0-9]* //" | sort >got &&
        test -s expect && test_cmp expect got
    '
done

test_expect_success NODE 'every track holds as many events, and as much time, as it tells' '
    for f in "$samples"/h200/*.trace; do
        trace2timeline -q "$f" >s.html && node "$dump" s.html >d || return 1
        awk -F"\t" "\$1 != \"counter\" && (\$3 != \$5 || \$4 != \$6) { print; bad = 1 } END { exit bad }" d || return 1
    done
'

test_expect_success 'the same bytes, whatever the number of threads' '
    trace2timeline -q --threads 1 "$samples/h200/compiled.trace" >one &&
    trace2timeline -q --threads 4 "$samples/h200/compiled.trace" >four &&
    cmp one four
'

test_expect_success NODE 'a range holds what touches it, with its whole length' '
    trace2timeline -q --range 45us-105us steps.json >r.html && held r.html >got &&
    grep "^gpu 0/stream 7	1	30000" got && grep "^process 1/thread 1	3	240000" got
'

test_expect_success NODE 'steps by number; from the host side to the last kernel' '
    trace2timeline -q --steps 2 steps.json >s.html && held s.html >got &&
    grep "^process 1/thread 1	3	150000" got &&
    trace2timeline -q --steps 1-2 steps.json >s.html && held s.html >got &&
    grep "^process 1/thread 1	6	300000" got
'

test_expect_success 'a range of a Chrome trace is one again' '
    trace2timeline -q -f chrome --range 45us-105us steps.json >r.json &&
    jq -r ".traceEvents[] | select(.ph == \"X\") | .name" r.json | sort >got &&
    printf "%s\n" ProfilerStep#1 ProfilerStep#2 aten::mm gemm >expect &&
    test_cmp expect got
'

test_expect_success 'a picture: well-formed, few shapes, every label escaped' '
    trace2timeline -q -f svg "$samples/h200/eager.json.gz" >p.svg &&
    xmllint --noout p.svg &&
    test $(grep -o "<rect" p.svg | wc -l) -lt 5200 &&
    grep -q "NVIDIA H200" p.svg
'

evil='</script><script>alert(1)</script><img src=x onerror=alert(2)>\\\"]]>&\u0000\u001b[31m\u202e'
test_expect_success 'names and args full of markup do no harm' '
    for i in 1 2 3; do
        printf "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":\"%s\",\"tid\":\"%s\",\"ts\":%d,\"dur\":5,\"args\":{\"%s\":\"%s\"}},\n" \
            "$evil" "$evil" "$evil" $i "$evil" "$evil"
        printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":5,\"args\":{\"stream\":7,\"device\":0}},\n" "$evil" $((i * 10))
    done >lines &&
    { echo "["; sed "\$s/,\$/]/" lines; } >evil.json &&
    trace2timeline -q --title "</title><script>alert(3)</script>" evil.json >evil.html &&
    ! grep -F "<img" evil.html && ! grep -F "<script>alert" evil.html &&
    test $(grep -c -F "<script>" evil.html) -le 2 &&
    trace2timeline -q -f svg --title "a<b>&" evil.json >evil.svg && xmllint --noout evil.svg
'

test_expect_success NODE 'the names come back as they were' '
    node "$dump" -e evil.html >got && grep -aqF "</script><script>alert(1)</script><img src=x onerror=alert(2)>" got
'

# 40,000 kernels, one in ten longer: about 500 kB of events.
awk 'BEGIN {
    srand(1); print "["
    for (i = 0; i < 40000; i++)
        printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":7,\"ts\":%d.%03d,\"dur\":%d.%03d,\"args\":{\"device\":0,\"stream\":7}}%s\n",
            i % 50, i * 40, rand() * 1000, rand() * 20, rand() * 1000, i == 39999 ? "]" : ","
}' >many.json

test_expect_success NODE 'larger than --max-size: an overview of all, every event of the windows, and it says so' '
    trace2timeline --max-size 500k --detail 100ms-110ms,gaps:2 many.json >small.html 2>err &&
    grep "events are in the page, the others only in its overview" err &&
    test $(wc -c <small.html) -lt 512000 &&
    cat >ask.js <<END &&
const { load } = require("$GP_SOURCE/tests/timeline/page.js");
load("small.html").then((d) => {
    const t = d.find("gpu 0/stream 7"), lane = t.lanes[0], busy = new Float32Array(100), kind = new Uint8Array(100);
    const inside = lane.start.filter((s) => s >= 100e6 && s < 110e6).length;
    console.log(t.count, d.windows.length > 0, inside, d.notes.length > 0);
    d.columns(lane, 0, d.span, 100, busy, kind);
    const mean = busy.reduce((a, b) => a + b, 0) / 100;
    console.log(Math.abs(mean - t.total / d.span) < 0.02);
});
END
    node ask.js >got &&
    printf "40000 true 250 true\ntrue\n" >expect && test_cmp expect got
'

test_expect_success 'misuse is one line' '
    test_expect_code 2 trace2timeline --range 5 steps.json 2>err && grep "^trace2timeline: --range: .5. is not a time range" err &&
    test_expect_code 2 trace2timeline --range 5ms-1ms steps.json 2>err && grep "ends before it begins" err &&
    test_expect_code 2 trace2timeline --steps x steps.json 2>err && grep "^trace2timeline: --steps: " err &&
    test_expect_code 2 trace2timeline --steps 7 steps.json 2>err && grep "ProfilerStep#1" err &&
    test_expect_code 2 trace2timeline --detail steps:x steps.json 2>err && grep "^trace2timeline: --detail: " err &&
    test_expect_code 2 trace2timeline --range 1us-2us --steps 1 steps.json 2>err && grep "use one of --range and --steps" err
'

test_expect_success 'an empty trace has a page' '
    echo "[]" >none.json &&
    trace2timeline -q none.json >none.html && trace2timeline -q -f svg none.json >none.svg && xmllint --noout none.svg
'

test_done
