#!/bin/sh
test_description='many ranks: bounded partial results, lists of inputs, inputs that cannot be read'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

make_fleet=${GP_BIN%/bin}/tests/make_fleet
mkdir job && "$make_fleet" job 120 4 7 compute:50:5 kernel:90:20:4 || exit 1

test_expect_success 'a slow rank and a slow kernel are named first, with their causes' '
    trace-hta --merge --from job/list -f json -o all.json &&
    python3 - all.json <<END
import json, sys
d = json.load(open(sys.argv[1]))
slow = {s["rank"]: s for s in d["fleet"]["slow"]}
assert sorted(slow) == [50, 90], slow
assert (slow[50]["what"], slow[50]["cause"], slow[50]["kernel"], slow[50]["pattern"]) == ("rank", "compute", None, "always")
assert (slow[90]["what"], slow[90]["kernel"]) == ("kernel", "sm90_xmma_gemm_bf16_up")
assert d["findings"][0]["id"] == "slow_rank" and d["findings"][0]["rank"] == 50
assert d["summary"]["headline"].startswith("Rank 50 holds up the others")
f = d["fleet"]
assert f["members"] == f["inputs"] == 120 and f["shown"] == len(d["devices"]) == 120 - f["devices_not_shown"]
assert len(f["map"]["rows"]) == 120 and "2" in f["map"]["rows"][50] and set(f["map"]["rows"][0]) <= set("01")
END
'

test_expect_success 'every order and grouping: the same bytes, of partial results and of reports' '
    trace-hta --merge --save-partial all.part --from job/list &&
    sort -r job/list >reversed && trace-hta --merge --save-partial reversed.part --from reversed &&
    cmp all.part reversed.part &&
    split -l 32 job/list group. && for g in group.*; do
        trace-hta --merge --save-partial "$g.part" --from "$g" || return 1
    done && trace-hta --merge --save-partial grouped.part group.*.part && cmp all.part grouped.part &&
    trace-hta --merge -f json -o again.json grouped.part && cmp all.json again.json &&
    test "$(wc -c <all.part)" -lt 1000000 && test "$(wc -c <all.json)" -lt 1000000
'

# Two H200s, of which the second has the larger batches; recorded with the start of the program, which is cut off here.
test_expect_success 'real traces: the GPU with more work is named first, with and without the start of the program' '
    trace2timeline -q -f chrome --steps 3-11 -o late.json "$samples/pairs/ddp_skewed.trace" &&
    for trace in "$samples/pairs/ddp_skewed.trace" late.json; do
        trace-hta -q -f json "$trace" | jq -e ".findings[0].id == \"slow_rank\" and (.summary.headline |
            startswith(\"GPU 1 holds up the others\") and contains(\"Cause: computing takes 4.5\"))" || return 1
    done
'

test_expect_success '--all-ranks: every rank has its row' '
    trace-hta --merge --all-ranks --from job/list -f json -o full.json &&
    test "$(jq ".devices | length" full.json)" -eq 120 &&
    test "$(jq .fleet.devices_not_shown full.json)" -eq 0 &&
    test "$(jq "[.kernels[].count] | add" full.json)" -eq "$(jq "[.kernels[].count] | add" all.json)"
'

test_expect_success 'the answers fit their schema' '
    python3 - all.json full.json <<END
import json, os, sys
try:
    import jsonschema
except ImportError:
    sys.exit(0)
schema = json.load(open(os.environ["GP_SOURCE"] + "/schemas/trace-hta.schema.json"))
for path in sys.argv[1:]:
    jsonschema.validate(json.load(open(path)), schema)
END
'

test_expect_success 'the page has a map of ranks by steps' '
    trace-hta --merge --from job/list -f html -o page.html && grep -q "Own time of ranks by steps" page.html &&
    test "$(wc -c <page.html)" -lt 1000000
'

test_expect_success 'inputs from a list: paths, comments and commands' '
    printf "# a comment\n\njob/rank00001.part\n|cat job/rank00002.part\n" >list &&
    trace-hta --merge -f json --from list job/rank00000.part >out &&
    test "$(jq -c "[.inputs[].rank]" out)" = "[0,1,2]" &&
    trace-hta --merge -f json --from - <list >out && test "$(jq -c "[.inputs[].rank]" out)" = "[1,2]"
'

test_expect_success 'a command that fails is an input that cannot be read' '
    printf "|cat job/rank00002.part; exit 3\n" >list && status_of trace-hta --merge --from list &&
    test "$status" -eq 2 && grep "cat job/rank00002.part; exit 3: the command failed with status 3" err &&
    printf "|\n" >list && status_of trace-hta --from list && test "$status" -eq 2 && grep "list: line 1: no command" err &&
    : >list && status_of trace-hta --from list && test "$status" -eq 2 && grep "names no input" err &&
    status_of trace-hta "|true" && test "$status" -eq 2 && grep "cannot open" err
'

test_expect_success '--keep-going: what cannot be read is left out, named and counted' '
    echo nonsense >bad.json && printf "{\"traceEvents\":[]}" >empty.json &&
    status_of trace-hta job/none.json bad.json "$samples/h200/ddp.rank0.json.gz" && test "$status" -eq 2 &&
    grep "job/none.json: cannot open" err && test_must_be_empty out &&
    status_of trace-hta --keep-going -f json job/none.json bad.json "$samples/h200/ddp.rank0.json.gz" &&
    test "$status" -eq 0 && grep "^trace-hta: skipped: job/none.json: cannot open" err &&
    test "$(jq .fleet.skipped_inputs out)" -eq 2 && test "$(jq -r ".fleet.skipped[0].operand" out)" = bad.json &&
    status_of trace-hta --keep-going job/none.json "$samples/h200/ddp.rank0.json.gz" && test "$status" -eq 0 &&
    { cat out err | tr "\n" " " | grep "1 input was skipped: job/none.json: cannot open"; }
'

test_expect_success '--max-skipped' '
    status_of trace-hta --merge --keep-going --max-skipped 1% --from job/list -f json &&
    test "$status" -eq 0 &&
    status_of trace-hta --merge --keep-going --max-skipped 1% --from job/list job/none job/none2 &&
    test "$status" -eq 2 && test_must_be_empty out &&
    grep "2 of 122 inputs were skipped, more than --max-skipped 1%" err &&
    status_of trace-hta --keep-going job/none && test "$status" -eq 2 && grep "none of the 1 inputs" err
'

test_expect_success 'a skipped input goes through a partial result' '
    trace-hta --merge --keep-going --save-partial s.part job/rank00003.part job/none 2>err &&
    trace-hta --merge -f json s.part job/rank00004.part >out && test "$(jq .fleet.skipped_inputs out)" -eq 1
'

test_done
