#!/bin/sh
test_description='Perfetto as an input: our own files give the same answers, those of others what an independent decoder finds'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

here=$GP_SOURCE/tests/perfetto
command -v python3 >/dev/null || { echo '1..0 # SKIP python3 is missing'; exit 0; }

test_expect_success 'there and back: trace-hta prints the same of Kineto traces, graphs, ranks, samples and stacks' '
    python3 -S "$here/round_trip.py" "$samples"/h200/eager.json.gz "$samples"/h200/ddp.rank0.json.gz "$samples"/h200/graphs.trace \
        "$samples"/h200/native.trace "$samples"/h200/sampled.trace "$samples"/h200/twoproc_exec.trace \
        "$samples"/counters/step.trace "$samples"/counters/range.trace "$samples"/memory/leak.trace "$GP_SOURCE"/tests/cli/data/every_kind.json
'

test_expect_success PLAIN 'the same of broken files and of rates before 0' '
    echo "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": -5, \"dur\": 7.001}]" >early.json &&
    python3 -S "$here/round_trip.py" "$samples"/broken/*.json early.json
'

# agrees KIND SEED: what another recorder's file holds, by two decoders.
agrees() {
    python3 -S "$here/foreign.py" "$1" "$2" other.pftrace >want.json && trace-convert -q --to chrome other.pftrace >chrome.json 2>err &&
        python3 -S "$here/held.py" chrome.json >got.json &&
        jq -e -n --slurpfile a want.json --slurpfile b got.json "(\$a[0] | del(.skipped)) == \$b[0]" >/dev/null
}

test_expect_success 'spans of torch, rocprofv3 and SDK files: those that the other decoder finds' '
    for kind in torch rocprofv3 sdk; do
        for seed in 1 2 3 4 5 6 7 8 9 10; do agrees $kind $seed || { echo "$kind $seed"; return 1; }; done
    done
'

test_expect_success 'work on streams, with launches, of torch and of rocprofv3' '
    python3 -S "$here/foreign.py" torch 3 a.pftrace >want.json && trace-hta -q -f json a.pftrace >a.json &&
    trace-convert -q --to chrome a.pftrace >a.chrome &&
    jq -e "[.traceEvents[] | select(.cat == \"kernel\") | .args | select(.correlation >= 500 and .grid == [4, 2, 1] and
        .block == [128, 1, 1] and .[\"registers per thread\"] == 32 and .[\"shared memory\"] == 1024 and .device == 0)] | length > 0" a.chrome &&
    jq -e ".quality.verdict == \"clean\" and ([.kernels[].count] | add) > 0" a.json &&
    jq -e "[.traceEvents[] | select(.cat == \"cuda_sync\")] | length == 1" a.chrome &&
    jq -e "[.traceEvents[] | select(.cat == \"cpu_op\" and .args[\"External id\"] == 101)][0].args[\"Input Dims\"] == [3, 4]" a.chrome &&
    python3 -S "$here/foreign.py" rocprofv3 3 b.pftrace >want.json && trace-convert -q --to chrome b.pftrace >b.chrome &&
    jq -e "[.traceEvents[] | select(.cat == \"kernel\" or .cat == \"kernel_dispatch\") | .args |
        select(.grid == [4, 1, 1] and .block == [256, 1, 1] and .device == 4 and .stream == 1)] | length > 0" b.chrome &&
    jq -e "[.traceEvents[] | select(.args.bytes == 4096)] | length > 0" b.chrome
'

test_expect_success 'packets that were lost, and those that needed them, are reported with their places' '
    seed=1 &&
    until python3 -S "$here/foreign.py" sdk $seed lost.pftrace >want.json && jq -e ".skipped > 0" want.json >/dev/null; do seed=$((seed + 1)); done &&
    trace-convert --to chrome lost.pftrace 2>err >lost.json && grep "damaged blocks, skipped: [0-9]* (first at byte [0-9]*)" err &&
    grep "missing blocks: 1 (first at byte" err
'

test_expect_success 'a file that was cut gives what lies before the cut, and says so' '
    trace-convert -q --to perfetto -o whole.pf "$samples/long/train.trace" &&
    head -c $(($(wc -c <whole.pf) * 3 / 4)) whole.pf >cut.pf &&
    trace-convert --to chrome cut.pf >cut.json 2>err && grep "the input ends early" err &&
    test "$(jq ".traceEvents | length" cut.json)" -gt 1000
'

test_expect_success 'hostile lengths, a bomb of compressed packets and args that nest without end are bounded, and reported' '
    python3 -S - <<-END &&
	import zlib
	def varint(v):
	    out = b""
	    while v > 0x7f:
	        out += bytes([v & 0x7f | 0x80])
	        v >>= 7
	    return out + bytes([v])
	def text(number, data):
	    return varint(number << 3 | 2) + varint(len(data)) + data
	def number(n, v):
	    return varint(n << 3) + varint(v)
	track = text(1, number(10, 1) + text(60, number(1, 5) + text(2, b"a")))
	def span(args):
	    begin = text(1, number(8, 10) + number(10, 1) + text(11, number(9, 1) + number(11, 5) + text(23, b"x") + args))
	    return begin + text(1, number(8, 20) + number(10, 1) + text(11, number(9, 2) + number(11, 5)))
	deep = number(4, 7)
	for i in range(20000):
	    deep = text(12, deep)
	open("deep", "wb").write(track + span(text(4, text(10, b"k") + deep)))
	open("long", "wb").write(track + span(b"") + varint(10) + varint(1 << 60) + b"abc")
	open("bomb", "wb").write(track + span(b"") + text(1, text(50, zlib.compress(bytes(200_000_000)))))
	open("count", "wb").write(track + span(b"") + text(1, number(8, 30) + number(10, 1) + text(11, number(9, 1) + number(11, 1 << 63) + number(10, 1 << 62))))
	END
    for f in deep long bomb count; do
        ([ -n "$GP_SANITIZED" ] || ulimit -v 4000000; trace-convert --to chrome $f >$f.json 2>$f.err) || { echo "$f"; return 1; }
    done &&
    grep "input ends early" long.err && grep "exceed a limit\|damaged" bomb.err && grep "begin events without an end" count.err &&
    jq -e "[.traceEvents[] | select(.name == \"x\" and .dur == 0.01)] | length == 1" deep.json long.json bomb.json count.json
'

test_expect_success 'gzip and zstd around it, and a pipe' '
    trace-convert -q --to perfetto -o a.pf "$samples/h200/graph.trace" && gzip -k a.pf && zstd -q a.pf &&
    for f in a.pf.gz a.pf.zst; do trace-hta -q -f csv "$f" >packed.csv && trace-hta -q -f csv a.pf >plain.csv && cmp packed.csv plain.csv || return 1; done &&
    trace-hta -q -f csv <a.pf >pipe.csv && cmp pipe.csv plain.csv
'

test_done
