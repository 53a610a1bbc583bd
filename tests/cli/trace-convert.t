#!/bin/sh
test_description='trace-convert: any trace in, any format out, nothing lost on the way'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

data=$GP_SOURCE/tests/cli/data
same=$GP_SOURCE/tests/cli/same_events.py
command -v python3 >/dev/null && test_set_prereq PYTHON
"$GP_SOURCE/tests/tap/on_terminal.py" 0 true 2>/dev/null && test_set_prereq TERMINAL

# in_terminal COMMAND: run it with a terminal as standard input and output; what it says goes to `out`.
in_terminal() {
    python3 - "$@" >out <<'EOF'
import os, pty, sys
said = b''
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    said += piece
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.buffer.write(said.replace(b'\r\n', b'\n'))
print('status', status)
EOF
}

test_expect_success PYTHON 'every kind of event comes back from the binary format' '
    trace-convert "$data/every_kind.json" >every.trace &&
    trace-convert --to chrome every.trace >every.json &&
    python3 "$same" "$data/every_kind.json" every.json
'

# stacks_of FILE: kind, start and stack of calls and GPU events, and the pace
stacks_of() {
    "$GP_BIN/../tests/gpt_dump" "$1" | awk '/^(api|gpu) / { print $1, $2, $(NF - 1) } /^pace/'
}

test_expect_success 'stacks survive copies, and the way through JSON' '
    "$GP_BIN/../tests/gpt_dump" -g 2 2000 stacks.trace && stacks_of stacks.trace >want &&
    grep "!" want >/dev/null && grep "^pace" want >/dev/null &&
    trace-convert -q -o copy.trace stacks.trace && stacks_of copy.trace >got && test_cmp want got &&
    trace-convert -q --to chrome stacks.trace >stacks.json && trace-convert -q -o json.trace stacks.json &&
    stacks_of json.trace >got && test_cmp want got
'

test_expect_success PYTHON 'the old name of External id comes back, beside the new one' '
    cat >old.json <<-\END &&
	{"traceEvents": [
	{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 9, "args": {"External id": 5}},
	{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 3, "args": {"external id": 5, "correlation": 7}},
	{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20, "dur": 3, "args": {"external id": 5, "correlation": 7, "stream": 7, "device": 0}}
	]}
	END
    trace-convert old.json >old.trace && trace-convert --to chrome old.trace >back.json && python3 "$same" old.json back.json &&
    jq -e "[.traceEvents[] | select(.ph == \"X\") | .args | [.[\"External id\"], .[\"external id\"]]] == [[5, null], [null, 5], [null, 5]]" back.json &&
    trace2flame -q -f folded old.trace | grep "aten::mm;.*k 3000"
'

test_expect_success 'the old name of External id comes back whatever the phase of the event' '
    cat >phases.json <<-\END &&
	{"traceEvents": [
	{"ph": "B", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "args": {"external id": 5}},
	{"ph": "B", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "args": {"External id": 6}},
	{"ph": "E", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 2},
	{"ph": "E", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 9},
	{"ph": "b", "cat": "request", "name": "r", "id": 3, "pid": 1, "tid": 1, "ts": 3, "args": {"external id": 7}},
	{"ph": "i", "s": "g", "name": "here", "pid": 1, "tid": 1, "ts": 4, "args": {"external id": 8}}
	]}
	END
    trace-convert phases.json >phases.trace && trace-convert --to chrome phases.trace >phases_back.json &&
    jq -e "[.traceEvents[] | select(.args[\"external id\"] or .args[\"External id\"]) | [.name, .ph, .args[\"External id\"], .args[\"external id\"]]] | sort ==
        [[\"aten::add\", \"X\", 6, null], [\"aten::mm\", \"X\", null, 5], [\"here\", \"i\", null, 8], [\"r\", \"b\", null, 7]]" phases_back.json &&
    jq -e "[.traceEvents[] | select(.name == \"here\") | .s] == [\"g\"]" phases_back.json
'

# 20 MB of JSON that is not a trace: an object with one huge value, as other profilers write, and arrays of other things.
test_expect_success PYTHON 'a large document that is not a trace is refused, however it comes' '
    python3 -c "
row = \"{\\\"metadata\\\": {\\\"pid\\\": 1, \\\"text\\\": \\\"\" + 60 * \"x\" + \"\\\"}, \\\"buffer\\\": [{\\\"kind\\\": 3}]}\"
rows = \", \".join([row] * (20000000 // len(row)))
open(\"object.json\", \"w\").write(\"{\\\"tool\\\": [\" + rows + \"]}\")
open(\"array.json\", \"w\").write(\"[\" + rows + \"]\")
open(\"one.json\", \"w\").write(\"[{\\\"tool\\\": [\" + rows + \"]}]\")" &&
    for f in object array one; do
        gzip -1 <$f.json >$f.json.gz && { zstd -q $f.json -o $f.json.zst 2>/dev/null || cp $f.json $f.json.zst; } &&
        for input in $f.json $f.json.gz $f.json.zst; do
            rm -f no.trace &&
            status_of trace-convert -o no.trace $input && test "$status" -eq 2 && grep "^trace-convert: $input: not a trace: " err && test ! -e no.trace || return 1
        done &&
        cat $f.json | { status_of trace-convert -o no.trace -; test "$status" -eq 2; } && test ! -e no.trace &&
        status_of trace-memory $f.json && test "$status" -eq 2 && status_of trace-hta $f.json.gz && test "$status" -eq 2 || return 1
    done
'

test_expect_success 'a trace with a huge value before its events is read' '
    { printf "{\"properties\": \""; head -c 20000000 /dev/zero | tr "\0" x
      printf "\", \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 2}]}"; } >large.json &&
    trace-convert --to chrome large.json >back.json && test "$(jq -c "[.traceEvents[] | select(.ph == \"X\") | .name]" back.json)" = "[\"k\"]"
'

test_expect_success PYTHON 'chrome to chrome keeps every event, too' '
    trace-convert -f chrome "$data/every_kind.json" >direct.json &&
    python3 "$same" "$data/every_kind.json" direct.json
'

test_expect_success PYTHON 'a bare array and a file without devices come back' '
    echo "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 0.5, \"dur\": 1}]" >bare.json &&
    echo "{\"deviceProperties\": [], \"traceEvents\": []}" >nothing.json &&
    for f in bare nothing; do
        trace-convert "$f.json" | trace-convert --to chrome >back.json &&
        python3 "$same" "$f.json" back.json || return 1
    done
'

test_expect_success 'a file that was written is written again byte for byte' '
    trace-convert --to chrome every.json >again.json &&
    test_cmp every.json again.json &&
    trace-convert --to gpuprof every.trace >again.trace &&
    trace-convert --to chrome again.trace >again.json &&
    test_cmp every.json again.json
'

# What trace-hta finds in the ranks, but for which process of the file they are.
test_expect_success 'the ranks of a job become one trace, on one clock' '
    ranks=$(echo "$GP_SOURCE"/samples/h200/ddp.rank*.json.gz) &&
    trace-convert -v $ranks 2>err >ranks.trace &&
    grep "rank1.json.gz: clock: moved back by 394 ns, aligned by 9 collectives, which agree to within 126 ns" err &&
    find="[.devices, .kernels, .launches] | walk(if type == \"object\" then with_entries(select(.key | test(\"begin|end_ns|at_ns|process|producer\") | not)) else . end)" &&
    trace-hta -f json --top 0 $ranks | jq "$find" >expect &&
    trace-hta -f json --top 0 ranks.trace | jq "$find" >out &&
    test_cmp expect out &&
    trace-hta -f json ranks.trace | jq -e "[.clock_offsets[] | .offset_ns] == [0, 0]"
'

test_expect_success 'what was not recorded at the same time is put side by side, and -q does not report it' '
    echo "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1}]" >early.json &&
    echo "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":0,\"tid\":7,\"ts\":900,\"dur\":1}]" >late.json &&
    trace-convert --to chrome early.json late.json >both.json 2>err &&
    grep "1 of 2 inputs were not recorded at the same time as early.json" err &&
    test "$(grep -c "\"ts\":5," both.json)" -eq 2 &&
    trace-convert -q early.json late.json 2>err >both.trace && test_must_be_empty err
'

# Processes, ranks, and whose ids are whose have no place of their own in Chrome JSON.
test_expect_success 'trace-hta finds the same in a trace that went through Chrome JSON' '
    for f in twoproc_exec ddp managed decode_graph; do
        trace-convert -q --to chrome "$samples/h200/$f.trace" >way.json && trace-convert -q way.json >back.trace &&
        trace-hta -q -f json --top 0 --each-step "$samples/h200/$f.trace" | jq "del(.inputs)" >expect &&
        for back in way.json back.trace; do
            trace-hta -q -f json --top 0 --each-step $back | jq "del(.inputs)" >out && test_cmp expect out || return 1
        done || { echo "$f"; return 1; }
    done &&
    trace-convert -q --to chrome ranks.trace >way.json &&
    trace-hta -q -f json --top 0 ranks.trace | jq "del(.inputs)" >expect &&
    trace-hta -q -f json --top 0 way.json | jq "del(.inputs)" >out && test_cmp expect out
'

test_expect_success 'what is wrong in the list of processes is passed over' '
    echo "{\"gpuprofProcesses\":[[1,2],\"x\",[0,-1,5,9],[0,0,3,99999999999],[0,0,3,2],{}],\"gpuprofDevices\":[\"a\",-1,2],
        \"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,\"args\":{\"device\":0,\"stream\":7}}]}" >list.json &&
    trace-hta -q -f json list.json | jq -e "[.devices[] | .rank, .process] == [2, 3]" &&
    echo "{\"gpuprofProcesses\":7,\"gpuprofDevices\":[[[\",\"traceEvents\":[]}" >list.json && trace-convert list.json >out 2>err || test $? = 2
'

test_expect_success 'one of several inputs that cannot be read is named' '
    test_expect_code 2 trace-convert early.json missing.json late.json 2>err >out &&
    grep "^trace-convert: missing.json: " err && test_must_be_empty out
'

test_expect_success PYTHON 'every committed sample comes back' '
    mkdir returned && set -- &&
    for f in "$samples"/*/*.json "$samples"/*/*.json.gz; do
        # cli.samples does the same with those of an H200. Statistics and time lines of allocators are not traces; second
        # recordings of a program have nothing that the first lacks.
        case $f in */h200/*|*/broken/*|*/site/*|*/calibrate/*|*/compile/counted.json|*.stats.json|*/memory/timeline*|*_2.json.gz|*"*"*) continue ;; esac &&
        set -- "$@" "$f" "returned/$#.json" && trace-convert "$f" | trace-convert --to chrome -o "returned/$(($# - 2)).json" &&
            test -s "returned/$(($# - 2)).json" ||
        { echo "not converted: $f"; return 1; }
    done &&
    test $# -gt 80 && { test -n "$GP_SANITIZED" || python3 "$same" "$@"; }
'

test_expect_success 'gpuprof is the default format' '
    trace-convert --to gpuprof every.json >named.trace &&
    trace-convert every.json >unnamed.trace &&
    test_cmp named.trace unnamed.trace
'

test_expect_success 'a pipe, a dash and a file read alike' '
    trace-convert every.json >file.trace &&
    trace-convert <every.json >redirected.trace &&
    cat every.json | trace-convert - >piped.trace &&
    test_cmp file.trace redirected.trace &&
    test_cmp file.trace piped.trace
'

test_expect_success 'compressed input gives the same bytes' '
    gzip -c every.json >every.json.gz &&
    zstd -qc every.json >every.json.zst &&
    cat every.json.gz | trace-convert >gz.trace &&
    trace-convert every.json.zst >zst.trace &&
    test_cmp file.trace gz.trace &&
    test_cmp file.trace zst.trace
'

test_expect_success 'the output does not depend on the number of threads' '
    trace-convert --threads 1 every.json >one.trace &&
    trace-convert --threads 4 every.json >four.trace &&
    test_cmp one.trace four.trace
'

test_expect_success 'chrome output is compressed as a whole' '
    trace-convert --to chrome --compress gzip every.trace >packed.gz &&
    gzip -dc packed.gz >unpacked.json &&
    test_cmp every.json unpacked.json &&
    trace-convert --to chrome --compress zstd every.trace | zstd -dc >unpacked.json &&
    test_cmp every.json unpacked.json
'

test_expect_success 'gpuprof output is compressed by block' '
    for how in zstd zlib; do
        trace-convert --compress "$how" every.json >packed.trace &&
        ! cmp -s packed.trace every.trace &&
        trace-convert --to chrome packed.trace >packed.json &&
        test_cmp every.json packed.json || return 1
    done
'

test_expect_success 'a format that cannot be compressed that way is refused' '
    status_of trace-convert --compress gzip every.json &&
    test "$status" = 2 &&
    echo "trace-convert: gpuprof, compression gzip: this format cannot be compressed that way" >expect &&
    test_cmp expect err &&
    test ! -s out &&
    status_of trace-convert --to chrome --compress zlib every.json &&
    test "$status" = 2
'

test_expect_success '-o writes the file, and --output, too' '
    trace-convert -o named.trace every.json >out &&
    test ! -s out &&
    test_cmp file.trace named.trace &&
    trace-convert --output=other.trace every.json &&
    test_cmp file.trace other.trace
'

test_expect_success 'damaged input is used as far as possible' '
    head -c 4000 "$data/every_kind.json" >cut.json &&
    status_of trace-convert --to chrome cut.json &&
    test "$status" = 0 &&
    grep -q "\"name\":\"aten::mm\"" out &&
    grep -q "^trace-convert: cut.json: the input ends early (first at byte 4000)$" err &&
    status_of trace-convert -q cut.json &&
    test "$status" = 0 &&
    test ! -s err
'

test_expect_success 'with --strict damaged input is an error and leaves no file' '
    status_of trace-convert --strict -o strict.trace cut.json &&
    test "$status" = 2 &&
    test ! -e strict.trace &&
    test ! -s out &&
    test "$(wc -l <err)" = 1 &&
    grep -q "^trace-convert: cut.json: " err
'

test_expect_success 'a flipped bit in a binary trace loses a block and says so' '
    size=$(wc -c <every.trace) &&
    { head -c $((size / 2)) every.trace && printf "\377\377\377\377" && tail -c +$((size / 2 + 5)) every.trace; } >flip &&
    status_of trace-convert --to chrome flip &&
    test "$status" = 0 &&
    grep -q "^trace-convert: flip: damaged blocks, skipped: 1 (first at byte [0-9]*)$" err
'

test_expect_success 'input that is not a trace is refused' '
    echo "hello, world" >text &&
    : >empty &&
    mkdir folder &&
    for f in text empty folder missing; do
        status_of trace-convert "$f" &&
        test "$status" = 2 &&
        test ! -s out &&
        test "$(wc -l <err)" = 1 &&
        grep -q "^trace-convert: $f: " err || return 1
    done
'

test_expect_success 'an option that is nearly one is recognised' '
    test_expect_code 2 trace-convert --fromat chrome every.json 2>err && grep "unknown option .--fromat.; did you mean --format?" err &&
    test_expect_code 2 trace-convert --compres=gzip --verbos --threds 2 every.json 2>err && grep "did you mean --threads?" err &&
    test_expect_code 2 trace-convert --elephant every.json 2>err && ! grep "did you mean" err
'

test_expect_success 'misuse is reported in one line and a hint' '
    for args in "--to otf2 every.json" "--compress lzma every.json" "--no-such-option"; do
        status_of trace-convert $args &&
        test "$status" = 2 &&
        test ! -s out &&
        test "$(wc -l <err)" = 2 || return 1
    done
'

test_expect_success 'a full disk is an error' '
    test -w /dev/full || return 0
    for format in gpuprof chrome perfetto; do
        status=0 && { trace-convert --to "$format" every.json >/dev/full 2>err || status=$?; } &&
        test "$status" = 2 &&
        test "$(wc -l <err)" = 1 &&
        grep -q "^trace-convert: standard output: " err || return 1
    done
'

test_expect_success 'a folder that cannot be written is an error' '
    status_of trace-convert -o no/such/folder/x.trace every.json &&
    test "$status" = 2 &&
    grep -q "^trace-convert: no/such/folder/x.trace: " err
'

test_expect_success 'a reader that goes away ends it without a word' '
    trace-convert --to chrome every.json 2>err | head -c 1 >out &&
    test ! -s err
'

test_expect_success '-v tells what was read' '
    status_of trace-convert -v -o quiet.trace "$data/every_kind.json" &&
    test "$status" = 0 &&
    grep -q "every_kind.json: gpu: 5$" err &&
    grep -q "every_kind.json: memory: 2$" err &&
    grep -q ", clean$" err
'

test_expect_success TERMINAL 'no binary for a terminal' '
    in_terminal trace-convert every.json &&
    grep -q "^trace-convert: gpuprof, compression none: not written to a terminal" out &&
    grep -q "^status 2$" out &&
    in_terminal trace-convert --to chrome --compress gzip every.json &&
    grep -q "^status 2$" out &&
    in_terminal trace-convert --to chrome every.json &&
    grep -q "^status 0$" out
'

test_expect_success TERMINAL 'no operand at a terminal does not hang' '
    in_terminal trace-convert --to chrome &&
    grep -q "^status 2$" out
'

mock=${GP_BIN%/bin}/tests/mock
[ ! -x "$mock/app" ] || test_set_prereq MOCK

# Two processes with the same device, stream and correlation ids: in Chrome only numbers tell things apart.
# The pretended program ends as it likes: a leak check after fork says nothing of ours.
test_expect_success PYTHON,MOCK 'a trace of two processes keeps its kernels apart in chrome' '
    cat >check.py <<-\EOF &&
	import collections, json
	events = json.load(open("two.json"))["traceEvents"]
	kernels = [e for e in events if e.get("cat") == "kernel"]
	calls = [e for e in events if e.get("cat") == "cuda_runtime"]
	assert len(kernels) == len(calls) == 20
	launches = {e["args"]["correlation"]: e for e in calls}
	assert len(launches) == 20
	rows = collections.defaultdict(set)
	for k in kernels:
	    rows[k["pid"], k["tid"]].add(launches[k["args"]["correlation"]]["pid"])
	assert len(rows) == 2 and all(len(pids) == 1 for pids in rows.values()), rows
	flows = collections.Counter((e["ph"], e["id"]) for e in events if e.get("cat") == "ac2g")
	assert flows == {(ph, c): 1 for ph in "sf" for c in launches}, flows
	assert sum(k["name"] == "gemm(float*)" for k in kernels) == 8
	EOF
    GPUPROF_LIBCUPTI=$mock/libcupti.so.13 gpuprof-collect -o two.trace env ASAN_OPTIONS=detect_leaks=0 "$mock/app" fork first 10 &&
    trace-convert --to chrome two.trace >two.json &&
    python3 check.py &&
    trace-convert -o back.trace two.json &&
    "$mock/facts" two.trace | grep "^gpu \|^api\|^device:\|^streams\|^threads" >before &&
    "$mock/facts" back.trace | grep "^gpu \|^api\|^device:\|^streams\|^threads" >after &&
    grep -Fx "gpu 20" before &&
    test_cmp before after
'

test_done
