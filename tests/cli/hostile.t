#!/bin/sh
test_description='hostile input: times that cannot be, shapes that are dear, files that are no regular files'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# ---- times ----

mkdir times && python3 -S "$GP_SOURCE/tests/cli/make_times.py" times || exit 1

test_expect_success 'times that cannot be have a place in binary traces, too: that of their block' '
    for f in corrupt_duration early_ts zero_ts; do
        trace-convert -q --to gpuprof -o outlier.trace "$samples/broken/$f.json" && trace-hta outlier.trace >out 2>err &&
        at=$(sed -n "s/.*impossible [a-z]*: 1 (first at byte \([0-9]*\)).*/\1/p" err) &&
        test GPBK = "$(tail -c +$((at + 1)) outlier.trace | head -c 4)" &&
        test_expect_code 2 trace-convert --strict --to chrome -o out.json outlier.trace 2>err &&
        grep "outlier.trace: byte $at: GPU events with an impossible" err || return 1
    done
'

# What a tool may end with: done, a finding, unusable input, not comparable.
ends_in_order() {
    status_of "$@"
    [ "$status" -le 3 ] && return
    echo "status $status: $*"
    cat err
    return 1
}

test_expect_success 'times that cannot be: every tool ends in order' '
    for f in times/*.json; do
        ends_in_order trace-convert --to chrome -o out.json $f &&
        ends_in_order trace2timeline -o out.html $f &&
        ends_in_order trace2timeline -f svg -o out.svg $f &&
        ends_in_order trace2timeline --max-size 100K -o out.html $f &&
        ends_in_order trace2flame -w idle -o out.svg $f &&
        ends_in_order trace-hta -f html -o out.html $f &&
        ends_in_order trace-suggest -f html -o out.html $f &&
        ends_in_order trace-diff --any-work --cross-gpu -f html -o out.html times/ts_1.json $f || return 1
    done
'

test_expect_success 'times that cannot be: sums still close, and do not exceed the time there is' '
    for f in times/*.json; do trace-hta -q -f json --top 0 -o ${f%.json}.hta $f || { echo $f; return 1; }; done &&
    python3 -S - times/*.hta <<END
import json, sys
for path in sys.argv[1:]:
    doc = json.load(open(path))
    assert len(doc["devices"]) == 2, path
    for d in doc["devices"]:
        parts = d["compute_ns"], d["exposed_communication_ns"], d["exposed_memory_ns"], d["idle_ns"]
        assert min(parts) >= 0 and sum(parts) == d["span_ns"], (path, d)
        assert sum(d["idle"].values()) == d["idle_ns"], (path, d)
    assert sum(k["total_ns"] for k in doc["kernels"]) <= 1 << 58, path
END
'

test_expect_success 'what is out of range is counted, with its place' '
    status_of trace-convert --strict -o out.json times/ts_2.json && test $status = 2 &&
    grep "byte [0-9]*: events without a valid time, skipped" err &&
    status_of trace-convert --strict -o out.json times/dur_2.json && test $status = 2 &&
    grep "byte [0-9]*: durations that are missing or invalid, read as 0" err
'

# ---- shapes ----

# Twice the events must not take four times the work; so that no clock is needed, the processor time is bounded by a limit
# that the square of 100,000 events passes (it was a minute) and what is sound does not come near (0.2 s).
python3 -S "$GP_SOURCE/tests/cli/make_shapes.py" . "$([ -n "$GP_SANITIZED" ] && echo 20000 || echo 100000)" || exit 1

test_expect_success 'deep nesting and equal times are read once' '
    for f in nested_ranges.json nested_ops.json same_times.json open_begins.json deep_modules.json late_memory.json many_counters.json; do
        (
            ulimit -t 20 &&
            ends_in_order trace-suggest -q -o out $f && ends_in_order trace-hta -q -f html -o out $f &&
            ends_in_order trace2flame -q -f html -o out $f && ends_in_order trace2timeline -q -o out $f &&
            ends_in_order trace-diff -q --any-work --cross-gpu -o out $f $f &&
            ends_in_order trace-diff -q --any-work --cross-gpu --by op -f json -o out $f $f
        ) || return 1
    done
'

# ---- names ----

make_names="$GP_SOURCE/tests/cli/make_names.py" check_names="$GP_SOURCE/tests/cli/check_names.py"
python3 -S "$make_names" names.json && python3 -S "$make_names" --raw raw.json || exit 1

test_expect_success 'no output holds a control, or what reorders its neighbours, whatever the names' '
    mkdir outputs &&
    for in in names raw; do
        for f in svg html folded speedscope; do ends_in_order trace2flame -q -f $f -o outputs/$in.flame.$f $in.json || return 1; done
        for f in svg html chrome; do ends_in_order trace2timeline -q -f $f -o outputs/$in.line.$f $in.json || return 1; done
        for f in text json csv html dot; do ends_in_order trace-hta -q -f $f -o outputs/$in.hta.$f $in.json || return 1; done
        for f in text json html dot; do ends_in_order trace-suggest -q -f $f -o outputs/$in.suggest.$f $in.json || return 1; done
        for f in text json csv folded; do ends_in_order trace-memory -q -f $f -o outputs/$in.memory.$f $in.json || return 1; done
        for f in text json html svg folded dot; do
            ends_in_order trace-diff -q --any-work --cross-gpu -f $f -o outputs/$in.diff.$f $in.json $in.json || return 1
        done
        trace-convert -q --to chrome -o outputs/$in.chrome $in.json &&
        trace-convert -q --to gpuprof -o $in.trace $in.json &&
        trace-convert -q --to chrome -o outputs/$in.twice.chrome $in.trace || return 1
        ends_in_order trace-hta -q -f openmetrics -o outputs/$in.metrics $in.json || return 1
    done &&
    python3 -S "$check_names" outputs/* && ls outputs | wc -l >n && test "$(cat n)" -ge 58
'

# Counters and compile logs have names of their own: every file of a real log has controls in its name.
"$GP_BIN"/../tests/make_metrics counters.trace hostile || exit 1
python3 -S - "$samples/compile/h200/zoo" <<\END || exit 1
import glob, gzip, json, sys
quoted = json.dumps("x\x1b[31m\x9b31m\u202egnp\u2028\u0085\x7f\ufeffy")[1:-1]
text = gzip.open(glob.glob(sys.argv[1] + "/dedicated_log_torch_trace_*.log.gz")[0], "rt").read()
with open("compile.log", "w") as f:
    f.write(text.replace(".py\"", quoted + ".py\"").replace("zoo.py", "zoo" + quoted + ".py"))
END

test_expect_success 'names of counters, of compile logs and of files: the same' '
    mkdir more && for f in text csv json; do ends_in_order trace-metrics -q -f $f -o more/metrics.$f counters.trace || return 1; done &&
    for f in text json html; do ends_in_order trace-compile -q -f $f -o more/compile.$f compile.log || return 1; done &&
    grep product more/metrics.text && grep gnp more/metrics.csv && grep gnp more/compile.text &&
    name=$(printf "a\033[31m\302\233\342\200\256\342\200\250\377.json") && cp names.json "$name" && printf "{" >"bad$name" &&
    for tool in trace-hta trace-suggest trace-memory trace-diff trace-metrics trace-compile trace2flame trace2timeline trace-fleet trace-convert; do
        for f in "none$name" "bad$name" "$name"; do
            $tool "$f" "$f" >/dev/null 2>>more/messages
            $tool "$f" >/dev/null 2>>more/messages
        done
    done
    python3 -S "$check_names" more/* && grep "^trace-fleet: " more/messages && grep "^trace-hta: " more/messages
'

test_expect_success 'names that are escaped are the same names when they are read again' '
    trace-hta -q -f json --top 0 raw.json >raw.hta && trace-hta -q -f json --top 0 outputs/raw.twice.chrome >twice.hta &&
    python3 -S - raw.hta twice.hta <<END
import json, sys
one, two = ([k["name"] for k in json.load(open(p))["kernels"]] for p in sys.argv[1:])
assert one == two and "\x9b31m" in one and "\u202egnp.exe\u202c" in one and "\U0010ffff" in one, one
END
'

test_expect_success 'no cell of a table is a formula' '
    for f in outputs/*.csv; do ! grep -E "(^|,)\"?[=+@]" $f && ! grep -E "(^|,)\"?-[^0-9]" $f || { echo $f; return 1; }; done
'

# ---- what is private ----

test_expect_success 'trace-convert --redact: own texts are gone, and the figures are the same' '
    sed "s/=cmd|[^\"]*A0/SECRET/g; s/@SUM[^\"]*/SECRET 7/g" names.json >secret.json && grep SECRET secret.json >/dev/null &&
    trace-convert -q --redact --to chrome -o hidden.json secret.json && trace-convert -q --redact --to gpuprof -o hidden.trace secret.json &&
    trace-hta -q -f json --top 0 secret.json >secret.hta && trace-hta -q -f json --top 0 hidden.json >hidden.hta &&
    trace-hta -q -f json --top 0 hidden.trace >hidden2.hta &&
    python3 -S - hidden.json secret.hta hidden.hta hidden2.hta <<END
import json, sys
trace, *reports = (json.load(open(p)) for p in sys.argv[1:])
for e in trace["traceEvents"]:
    if e.get("cat") not in ("kernel", "cpu_op", "cuda_runtime") and e["ph"] != "C":
        assert "SECRET" not in json.dumps(e), e
figures = [([{k: v for k, v in d.items() if isinstance(v, int)} for d in r["devices"]], [(k["name"], k["count"], k["total_ns"]) for k in r["kernels"]], len(r["steps"])) for r in reports]
assert figures[0] == figures[1] == figures[2] and len(figures[0][1]) > 20
END
'

# ---- what is not what it is called ----

# Of a file that is not what it should be, only the beginning is read: /dev/zero has no end.
test_expect_success 'a file that no tool of ours has saved is refused by its first bytes' '
    status_of trace-hta --merge /dev/zero && test $status = 2 &&
    echo "trace-hta: /dev/zero: not a saved partial result" | test_cmp - err
'

test_expect_success 'a saved file that unpacks to more than 256 MiB is refused' '
    mkdir -p base/big && {
        printf "gphta\r\n\032" && head -c 300000000 /dev/zero
    } | zstd -q -c >partial.bin &&
    { printf "gpprof\n\032" && head -c 300000000 /dev/zero; } | zstd -q -c >base/big/000001-0123456789abcdef.profile &&
    cp base/big/000001-0123456789abcdef.profile saved.profile &&
    test $(wc -c <partial.bin) -lt 100000 &&
    status_of trace-hta --merge partial.bin && test $status = 2 &&
    echo "trace-hta: partial.bin: longer than 268435456 bytes" | test_cmp - err &&
    status_of trace-diff --baseline-dir base --against big names.json && test $status = 2 &&
    grep "^trace-diff: base/big/000001-0123456789abcdef.profile: longer than 268435456 bytes" err &&
    status_of trace-diff saved.profile names.json && test $status = 2 &&
    echo "trace-diff: saved.profile: longer than 268435456 bytes" | test_cmp - err
'

# ---- impossible times ----

python3 -S - <<END
import json
def line(i, **more):
    return json.dumps({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1000 + 20 * i, "dur": 10,
                       "args": {"device": 0, "stream": 7, "correlation": i + 1}, **more})
lines = [line(i) for i in range(100)]
lines[40] = line(40, dur=3400000)
lines[60] = line(60, ts=1e14)
with open("odd.json", "w") as f, open("odd.places", "w") as places:
    f.write("[")
    for i, text in enumerate(lines):
        if i in (40, 60):
            places.write("%d\n" % f.tell())
        f.write(text + ("," if i < 99 else "]") + "\n")
END

test_expect_success 'an impossible time or duration is reported with its byte, by trace-convert as well' '
    { read duration && read time; } <odd.places &&
    line="GPU events with an impossible time: 1 (first at byte $time); GPU events with an impossible duration: 1 (first at byte $duration)" &&
    trace-convert --to gpuprof -o odd.trace odd.json 2>err && echo "trace-convert: odd.json: $line" | test_cmp - err &&
    trace-hta -f json -o hta.json odd.json 2>err && grep -F "$line" err &&
    trace-hta -f json odd.trace 2>&1 >hta.json | grep -E "impossible time: 1 \(first at byte [0-9]+\); GPU events with an impossible duration: 1 \(first at byte [0-9]+\)$" &&
    status_of trace-convert --strict --to chrome -o strict.json odd.json && test $status = 2 && test ! -e strict.json &&
    echo "trace-convert: odd.json: byte $time: GPU events with an impossible time" | test_cmp - err
'

test_expect_success 'a folded file whose last line has no end: its number may have lost digits' '
    printf "main;a 100\nmain;b 12" >cut.folded && status_of trace2flame -f folded cut.folded && test $status = 0 &&
    echo "trace2flame: cut.folded: byte 11: the last line has no line end; its number may be cut" | test_cmp - err &&
    grep "main;b 12" out && status_of trace2flame --strict -f folded cut.folded && test $status = 2
'

# PRIVATE stands in each place where a library's name, key or track can carry a text of the program.
test_expect_success 'trace-convert --redact: private texts behind the names of libraries, in known keys, tracks and counters' '
    private=$GP_SOURCE/tests/cli/data/private.json &&
    for to in gpuprof chrome perfetto; do
        trace-convert -q --redact --to $to -o private.out $private && ! grep -a -c PRIVATE private.out || return 1
    done &&
    trace-convert -q --redact --to gpuprof -o private.trace $private && trace-convert -q --to chrome -o private.out private.trace &&
    ! grep PRIVATE private.out && for kept in "ProfilerStep#1" "aten::mm" "Total allocated" cudaLaunchKernel gemm "NVIDIA H200"; do
        grep -F "\"$kept\"" private.out || return 1
    done
'

# ---- regular expressions ----

# refused OPTION COMMAND ARG... -- with each pattern that would take long, as the value of OPTION.
refused() {
    option=$1
    shift
    for pattern in "(a{1,100}){1,100}" "(((((((((((a+)+)+)+)+)+)+)+)+)+)+)+" '(.*)(.*)\1\2'; do
        status_of "$@" "$option" "$pattern" && test $status = 2 && grep "$pattern_of" err >said && test $(wc -l <said) = 1 &&
        grep -e "repetition makes it longer than 1,000" -e "back-references are not supported" said || return 1
    done
}

test_expect_success 'every option that takes a regular expression refuses what would take gigabytes or hours' '
    t=$samples/h200/eager.trace pattern_of="regular expression" && refused --filter trace2flame $t &&
    pattern_of="step marker" && refused --step-marker trace2flame $t && refused --step-marker trace-hta $t &&
    refused --step-marker trace-suggest $t && refused --step-marker trace2timeline $t && refused --step-marker trace-diff $t $t &&
    pattern_of="regular expression" && refused --step-marker trace-memory $samples/memory/steady.pickle.gz || { cat err; false; }
'

test_expect_success 'a file of classes: the line of such a pattern is named' '
    printf "my_kernel compute\n(a{1,100}){1,100} compute\n" >long.classes &&
    for tool in trace-hta trace2flame trace2timeline trace-suggest; do
        status_of $tool --classes long.classes $samples/h200/eager.trace && test $status = 2 &&
        grep "long.classes: .*line 2: bad pattern: repetition makes it longer than 1,000" err || return 1
    done
'

# ---- figures that cannot be ----

# 64 warps of 1,000,000,032 threads; counters that no integer holds are whole numbers all the same, and drawn as such.
test_expect_success 'properties of devices and counters that are out of range' '
    gunzip -c "$GP_SOURCE/tests/cli/data/attacks/warp_size.sqlite.gz" >warp.sqlite &&
    trace-convert -q --to chrome -o warp.json warp.sqlite && jq -ce ".deviceProperties | map(.warpSize)" warp.json >out &&
    echo "[32,32]" | test_cmp - out &&
    python3 -S - <<END && trace2timeline -q -o huge.html huge.json && python3 -S - <<END
import json
events = [{"ph": "C", "name": "c", "pid": 1, "tid": 1, "ts": i, "args": {"v": v}} for i, v in enumerate([1, 9.3e18, -1e300, 1e308, 2])]
events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 5, "args": {"device": 0, "stream": 7}})
json.dump({"traceEvents": events}, open("huge.json", "w"))
END
import base64, re, zlib
packed = re.search("id=\"timeline\">([^<]*)", open("huge.html").read())
head = zlib.decompress(base64.b64decode(packed.group(1)), 47)
assert set(re.findall(rb"\"scale\":(\d+)", head)) == {b"1"}, head[:300]
END
'

# ---- outputs ----

test_expect_success 'a limit on the size of files: an error like a full disk, and no half file' '
    mkdir limited && (
        ulimit -f 8 &&
        status_of trace-convert --to chrome -o limited/out.json nested_ops.json && test $status = 2 &&
        grep "^trace-convert: limited/out.json: write failed: File too large" err
    ) && ls limited >names && test_must_be_empty names
'

test_done
