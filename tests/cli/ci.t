#!/bin/sh
test_description='for builds: gates of counts, and the formats that runners, comments and dashboards take'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

command -v python3 >/dev/null || { echo '1..0 # SKIP python3 is missing'; exit 0; }
steps="python3 $GP_SOURCE/tests/cli/make_steps.py"
$steps 1 >base.json && $steps 2 >again.json || exit 1

test_expect_success 'counts of the same work hold, whatever its times: all pairs of six recordings' '
    for i in 1 2 3 4 5 6; do $steps $i >run$i.json || return 1; done &&
    for a in 1 2 3 4 5 6; do for b in 1 2 3 4 5 6; do
        trace-diff -q --gate counts run$a.json run$b.json >out || { cat out; return 1; }
    done; done && grep "counts: launches  *holds" out && grep "counts: by name  *holds" out
'

# found CHANGE LINE WHAT -- the gate of counts names it and its line; one of 5% of GPU time sees nothing.
found() {
    $steps 7 $1 >change.json && trace-diff -q --gate gpu_time:5% base.json change.json >out 2>err &&
        status_of trace-diff -q -f json --gate counts base.json change.json && test "$status" -eq 1 &&
        jq -e --arg line "train.py:$2 forward" --arg what "$3" "[.gates[] | select(.broken)] | length > 0 and all(.place == \$line) and
            any(.why | contains(\$what))" out || { echo "$1"; jq .gates out; return 1; }
}

test_expect_success 'one kernel, copy or set more in a step is found, with its line; no gate of time sees it' '
    found cast 21 "vectorized_elementwise_kernel<to_float> +1 (new)" && found layout 22 "nchwToNhwcKernel +1 (new)" &&
    found split 23 "softmax_warp_forward +1" && found collective 24 "communication kernels: 1 in most steps, 0 before" &&
    found pageable 25 "copies of pageable memory: 1 in most steps, 0 before" && found set 26 "sets: 1 in most steps, 0 before"
'

test_expect_success 'what a kernel needs: registers that spill, blocks, shared memory; that it came from another recorder breaks nothing' '
    found spill 12 "softmax_warp_forward: 96 bytes of local memory per thread, 0 before" &&
    found registers 12 "softmax_warp_forward: 40 registers per thread, 32 before" &&
    found shared 12 "softmax_warp_forward: 2048 bytes of shared memory per block, 1024 before" &&
    $steps 7 block >change.json && status_of trace-diff -q -f json --gate counts base.json change.json && test "$status" -eq 1 &&
    jq -e "[.gates[] | select(.broken).gate] == [\"counts: blocks\", \"counts: threads\"]" out &&
    sed "s/, \"registers per thread\": 32, \"shared memory\": 1024//g" base.json >other.json && ! cmp -s base.json other.json &&
    trace-diff -q --gate counts other.json base.json >out
'

test_expect_success 'calls that wait, or ask the driver for memory, are found, with their line' '
    for change in wait:syncs:27 allocation:blocking:28; do
        gate=${change#*:} && $steps 7 ${change%%:*} >change.json && status_of trace-diff -q -f json --gate counts base.json change.json && test "$status" -eq 1 &&
            jq -e --arg gate "counts: ${gate%:*}" --arg line "train.py:${gate#*:} forward" \
                "[.gates[] | select(.broken) | .gate, .place] == [\$gate, \$line]" out || return 1
    done
'

test_expect_success 'recordings beside another process: counts hold, GPU times apart by 70% are not decided, changes are found at their line' '
    ci=$samples/ci/h200 && for a in 1 3 4; do for b in 1 3 4; do
        trace-diff -q -f json --gate counts --gate gpu_time:5% --gate step:5% "$ci/mlp.r$a.trace" "$ci/mlp.r$b.trace" >out || return 1
    done; done && trace-diff -q -f json --gate gpu_time:5% "$ci/mlp.r1.trace" "$ci/mlp.r4.trace" >out &&
    jq -e ".gates[0] | .undecided and .value > 70 and (.why | startswith(\"other processes used the GPU\"))" out &&
    python3 "$samples/ci/programs.py" --list >changes && for change in mlp.cast mlp.pageable mlp.wait own.spill own.shared graph.node_copy; do
        status_of trace-diff -q -f json --gate counts --gate gpu_time:5% --gate step:5% "$ci/${change%.*}.r1.trace" "$ci/$change.trace" && test "$status" -eq 1 &&
            jq -e --slurpfile changes changes --arg change $change "(\$changes[0][] | select(.program + \".\" + .change == \$change).lines[0]) as \$line |
                [.gates[] | select(.broken)] | all(.gate | startswith(\"counts: \")) and any(.why | contains(\"programs.py:\\(\$line) \"))" out ||
            { echo "$change"; return 1; }
    done
'

test_expect_success 'gates of times say what they would have noticed; those of step times nothing, from one run' '
    trace-diff -q -f json --gate gpu_time:0% --gate gpu_time:9% --gate step:5% base.json again.json >out &&
    jq -e "[.gates[].power_pct] | .[0] > 0.5 and .[0] < 5 and .[1] > 9 and .[1] < 10 and .[2] == null" out &&
    trace-diff -q -f markdown --gate gpu_time:9% --gate step:5% base.json again.json >out && tr "\n" " " <out >text &&
    grep "gate gpu.*_time:9%: 9[.0-9]*% more GPU time would have been noticed" text && grep "no growth of step time would have been noticed" text
'

test_expect_success 'less does not break a gate; a count that varies within the baseline is named and not gated' '
    $steps 7 cast >change.json && trace-diff -q --gate counts change.json base.json >out &&
    $steps 8 sometimes >odd.json && trace-diff --gate counts odd.json base.json >out && grep -A 2 "not gated, as they vary within the baseline" out >note &&
    tr "\n" " " <note | grep "syncs" && status_of trace-diff -q --gate counts odd.json change.json && test "$status" -eq 1
'

test_expect_success 'a limit of counts is refused with the reason' '
    status_of trace-diff --gate counts:5% base.json again.json && test "$status" -eq 2 && grep "counts takes no limit" err
'

test_expect_success 'JUnit: a test case per gate, or the verdict' '
    $steps 7 "cast" >change.json && status_of trace-diff -q --gate counts -o report.xml -f junit base.json change.json && test "$status" -eq 1 &&
    python3 - report.xml <<-\EOF
	import sys, xml.etree.ElementTree as tree
	suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
	cases = suite.findall("testcase")
	failed = {c.get("name"): c.find("failure").get("message") for c in cases if c.find("failure") is not None}
	assert int(suite.get("tests")) == len(cases) and int(suite.get("failures")) == len(failed) > 0
	assert failed["counts: by name"].startswith("vectorized_elementwise_kernel<to_float> +1 (new)"), failed
	assert "counts: copies" not in failed
	EOF
    trace-diff -q -f junit base.json again.json >verdict.xml && grep "tests=\"1\" failures=\"0\"" verdict.xml
'

test_expect_success 'annotations stand at the line; dashboards get figures' '
    status_of trace-diff -q -f github --gate counts base.json change.json && test "$status" -eq 1 &&
    grep "^::error file=train.py,line=21,title=counts%3A launches::launch calls: 6 in most steps, 5 before" out &&
    grep "^::notice title=trace-diff::" out && trace-diff -q -f benchmark base.json change.json --gate none >figures.json &&
    jq -e "map({(.name): .}) | add | .launches == {name: \"launches\", unit: \"count\", value: 6} and .gpu_time.unit == \"ns\"" figures.json
'

# rows FILE -- every table of it has as many cells in each row.
rows() {
    python3 - "$1" <<-\EOF
	import re, sys
	text = open(sys.argv[1]).read()
	assert 0 < len(text) < 60000 and "<script" not in text and not re.search(r"(^|[^&])@|(?<!&)#\d", text), text
	for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
	    cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
	    assert len(cells) == 1 and re.match(r"\|[^\n]*\n\|[:-]", block), block
	EOF
}

test_expect_success 'Markdown: every tool, tables that hold, names without markup' '
    sed "s/softmax_warp_forward/@team <script>x|y<\/script> #12/g" base.json >odd.json && trace-hta -q -o odd.md odd.json && rows odd.md &&
    grep "&#64;team &lt;script" odd.md && trace-diff -q -f markdown --gate none odd.json change.json >diff.md && rows diff.md && grep "^\*\*" diff.md &&
    trace-suggest -q -f markdown "$samples/pairs/jury/bert_adamw.trace" >advice.md && rows advice.md && grep "^| critical | " advice.md &&
    trace-hta -q -f markdown "$samples/h200/eager.json.gz" >hta.md && rows hta.md && grep "^<details><summary>" hta.md &&
    trace-memory -q -f markdown "$samples/memory/leak.trace" >memory.md && rows memory.md &&
    trace-compile -q -f markdown "$samples/compile/h200/zoo" >compile.md && rows compile.md
'

test_done
