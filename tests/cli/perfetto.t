#!/bin/sh
test_description='trace-convert --to perfetto: nothing is lost, times are exact, a cut file opens'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

decode=$GP_SOURCE/tests/perfetto/decode.py
same=$GP_SOURCE/tests/perfetto/same.py
command -v python3 >/dev/null || { echo '1..0 # SKIP python3 is missing'; exit 0; }

# check FILE...: their slices survive. sample FILE...: the same, but in a sanitizer build they are only written.
check() {
    rm -rf written && mkdir written && for f; do
        n=$(basename "$f") && trace-convert -q --to chrome "$f" >"written/$n.json" 2>/dev/null &&
        trace-convert -q --to perfetto "$f" >"written/$n.pf" 2>/dev/null || { echo "$f"; return 1; }
    done && if [ -z "$only_written" ]; then
        set -- && for f in written/*.json; do set -- "$@" "$f" "${f%.json}.pf"; done && PYTHONDONTWRITEBYTECODE=1 python3 -S "$same" "$@"
    fi
}
only_written=
sample() { only_written=$GP_SANITIZED && check "$@" && only_written=; }

test_expect_success PLAIN 'every sample of an H200: slices in = slices out, sums equal to the nanosecond' '
    sample "$samples"/h200/*
'

# All pairs take minutes; these have every kind of work.
test_expect_success 'the same of pairs: compiled, captured, ranks, copies on streams of their own' '
    set -- && for f in activation_compiled.trace ddp_bucket1.rank0.json.gz ddp_even.trace decode_graph.json.gz heads.trace \
        loading_workers.trace mlp_prefetch.trace pieces_async.json.gz; do
        set -- "$@" "$samples/pairs/$f"
    done && sample "$@"
'

test_expect_success 'the same of broken files, as far as they can be read' '
    set -- && for f in "$samples"/broken/*.json "$GP_SOURCE/tests/cli/data/every_kind.json"; do
        ! trace-convert -q --to chrome "$f" >/dev/null 2>&1 || set -- "$@" "$f"
    done && test $# -gt 10 && sample "$@"
'

test_expect_success 'work that overlaps on a stream goes to tracks beside it' '
    cat >overlap.json <<-END &&
	[{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 0, "dur": 10, "args": {"stream": 7, "device": 0}},
	 {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 5, "dur": 10, "args": {"stream": 7, "device": 0}},
	 {"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 6, "dur": 2, "args": {"stream": 7, "device": 0}},
	 {"ph": "X", "cat": "kernel", "name": "d", "pid": 0, "tid": 7, "ts": 10, "dur": 1, "args": {"stream": 7, "device": 0}},
	 {"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
	 {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 2, "dur": 3},
	 {"ph": "X", "cat": "cpu_op", "name": "across", "pid": 1, "tid": 1, "ts": 8, "dur": 9}]
	END
    check overlap.json && python3 -S "$decode" written/overlap.json.pf >a.decoded &&
    jq -e ".tracks | map(select(startswith(\"stream 7\"))) | length == 3" a.decoded &&
    jq -e ".tracks | map(select(startswith(\"thread 1\"))) | length == 2" a.decoded
'

test_expect_success 'arrows go from each launch to its work, with args and counters' '
    trace-convert -q --to perfetto "$samples/h200/decode_graph.trace" >a.pf && python3 -S "$decode" a.pf >a.decoded &&
    jq -e ".arrows == .arrow_ends and .arrows == 1993" a.decoded &&
    jq -e ".args.kernel | contains([\"grid\", \"block\", \"correlation\", \"graph node id\"])" a.decoded &&
    jq -e ".counters[\"GPU queue\"] > 0 and .last[\"GPU queue\"] == 0" a.decoded &&
    jq -e ".names | keys | map(select(startswith(\"_Z\"))) == []" a.decoded
'

test_expect_success 'args of a launch and args of an event have names of their own' '
    cat >args.json <<-\END &&
	[{"ph": "X", "cat": "kernel", "name": "nccl", "pid": 0, "tid": 7, "ts": 0, "dur": 10,
	  "args": {"stream": 7, "device": 0, "grid": [1, 1, 1], "est. achieved occupancy %": 3, "Collective name": "all_reduce"}}]
	END
    trace-convert -q --to perfetto args.json >a.pf && python3 -S "$decode" a.pf >a.decoded &&
    jq -e ".args.kernel | contains([\"args\", \"launch args\"])" a.decoded
'

test_expect_success 'allocated memory is a counter' '
    cat >memory.json <<-END &&
	[{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 0, "dur": 10, "args": {"stream": 7}},
	 {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "args": {"Bytes": 512, "Addr": 1}},
	 {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 2, "args": {"Bytes": 256, "Addr": 2}},
	 {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 3, "args": {"Bytes": -512, "Addr": 1}}]
	END
    check memory.json && python3 -S "$decode" written/memory.json.pf >a.decoded && jq -e ".counters[\"allocated memory\"] == 3 and .last[\"allocated memory\"] == 256" a.decoded
'

test_expect_success 'times before 0 are moved, all by the same' '
    echo "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": -5, \"dur\": 7.001}]" >early.json &&
    check early.json
'

test_expect_success 'a cut file opens: what lies before the cut is there' '
    trace-convert -q --to perfetto "$samples/long/train.trace" >whole.pf &&
    python3 -S "$decode" whole.pf >whole.decoded &&
    size=$(wc -c <whole.pf) && head -c $((size * 3 / 4)) whole.pf >cut.pf &&
    python3 -S "$decode" cut.pf --cut >cut.decoded &&
    test "$(jq "[.slices[]] | add" cut.decoded)" -gt $(($(jq "[.slices[]] | add" whole.decoded) / 3))
'

test_expect_success 'the same bytes for any number of threads, and no other compression' '
    trace-convert -q --threads 1 --to perfetto "$samples/long/train.trace" >one.pf && cmp one.pf whole.pf &&
    trace-convert -q --threads 5 --to perfetto "$samples/long/train.trace" >five.pf && cmp five.pf whole.pf &&
    status_of trace-convert --to perfetto --compress gzip "$samples/h200/eager.trace" && test "$status" = 2
'

test_done
