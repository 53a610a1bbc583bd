#!/bin/sh
test_description='trace-compile: what it reports of real runs, in which form, and how it ends'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

runs=$samples/compile/h200
q="'"
second() { python3 -S "$GP_SOURCE/tests/cli/compile_logs.py" "$@"; }
log_of() { echo "$runs/$1"/dedicated_log_torch_trace_*; }

test_expect_success 'a second reader finds the same time, records and digests' '
    for log in "$runs"/*/dedicated_log_torch_trace_*; do
        trace-compile -q -f json "$log" >out && second spans "$log" out || return 1
    done
'

test_expect_success 'compiles of a frame are numbered without gaps, and a lost one is seen' '
    for run in cold warm reduce autotune reduce_gpt zoo; do
        trace-compile -q -f json "$runs/$run" >out && second chain "$(log_of $run)" out || return 1
    done &&
    for log in "$runs"/ranks/dedicated*; do trace-compile -q -f json "$log" >out && second chain "$log" out || return 1; done &&
    gzip -dc <"$(log_of zoo)" >whole.log && trace-compile whole.log >out 2>err && test_must_be_empty err &&
    awk "/^V/ { lost = /\"frame_id\": 37, \"frame_compile_id\": 3,/ } !lost" whole.log >less.log &&
    trace-compile less.log >out 2>err && grep "^trace-compile: 1 compile is missing in the log" err
'

test_expect_success 'each planted break is listed once, with its place and family' '
    trace-compile -q -f json "$runs/zoo" >out && second planted "$runs/zoo/zoo.planted.json" out &&
    jq -e ".breaks | length > 24" out
'

test_expect_success 'breaks are the union of all records of them' '
    for log in "$runs"/zoo/dedicated* "$runs"/ranks/dedicated* "$runs"/cold/dedicated*; do
        trace-compile -q -f json "$log" >out && second union "$log" out || return 1
    done
'

test_expect_success 'the text log adds no break, and lists the same ones' '
    trace-compile -q -f json "$runs/zoo" >structured && trace-compile -q -f json "$runs/zoo" "$runs/zoo/text.log.gz" >both &&
    trace-compile -q -f json "$runs/zoo/text.log.gz" >text &&
    jq -S "[.breaks[] | [.id, .file, .line, .count, .family]]" structured >a && jq -S "[.breaks[] | [.id, .file, .line, .count, .family]]" both >b &&
    test_cmp a b && second sources structured text
'

test_expect_success 'keys of graphs join log and trace' '
    for run in cold warm; do second keys "$(log_of $run)" "$runs/$run/steps.json.gz" || return 1; done
'

test_expect_success 'a warm cache saves what the cold run took' 'second saved "$(log_of cold)" "$(log_of warm)"'

test_expect_success 'calls of generated kernels are those of a step, nodes those that the compiler counted' '
    for run in cold warm reduce; do
        trace-compile -q -f json "$runs/$run"/* >out &&
        jq -e ".fusion.calls.triton == 38 and .fusion.triton_calls_per_step == 38" out || return 1
    done &&
    for run in cold reduce autotune zoo; do
        trace-compile -q -f json "$runs/$run" "$runs/$run/text.log.gz" >out && second nodes "$runs/$run/text.log.gz" out || return 1
    done &&
    trace-compile -q -f json "$runs/cold"/* >out &&
    jq -e "[.fusion.calls.triton, .fusion.scheduler_before]" out >seen &&
    jq -e "[.generated_kernel_count, .ir_nodes_pre_fusion]" "$samples/compile/counted.json" >counted && test_cmp counted seen
'

test_expect_success 'the first lines say what to do first' '
    trace-compile "$runs/zoo"/dedicated* "$runs/zoo/text.log.gz" "$runs/zoo/steps.json.gz" >out 2>err && test_must_be_empty err &&
    head -n 5 out >top && grep "^First: zoo.py:172 f_limit: 8 compiles" top &&
    grep "^Then: zoo.py:120 f_numpy: the compiler fails 9 times" top && ! LC_ALL=C.UTF-8 grep -E "^.{110}" out
'

test_expect_success 'text that is not for a terminal fits 80 columns, and each break and recompile has its reason and what to do' '
    for run in "$runs"/*; do
        trace-compile -q "$run"/*[ze] >out && ! python3 -S -c "import sys; sys.exit(not [l for l in open(\"out\", encoding=\"utf-8\") if len(l) > 81])" || return 1
    done &&
    trace-compile -q "$runs/zoo"/*.gz >out && grep "#  Place  .*Reason  .*Per step  Do$" out && grep "#  Function  .*Because$" out
'

test_expect_success 'a healthy model gets no advice' '
    for run in cold warm reduce reduce_gpt autotune; do
        trace-compile "$runs/$run"/* >out && head -n 1 out | grep "^Nothing to do" || return 1
        trace-compile -q -f json "$runs/$run"/* >json && jq -e ".suggestions == [] and .breaks == []" json || return 1
    done
'

test_expect_success 'cold or warm, and the mode, by the log' '
    for row in "cold cold default" "warm warm default" "reduce cold reduce-overhead" "autotune cold max-autotune"; do
        set -- $row
        trace-compile -q -f json "$runs/$1" >out && jq -e ".caches.state == \"$2\" and .environment.mode == \"$3\"" out || return 1
    done &&
    trace-compile -q -f json "$runs/zoo" >out && jq -e ".environment.mode == \"mixed\"" out
'

# record META [PAYLOAD]: a record of a structured log.
record() {
    echo "V1122 12:05:49.468000 456 torch/_dynamo/utils.py:2126] $1" && if test $# -gt 1; then printf "%s\n" "$2" | sed "s/^/	/"; fi
}

# Of 14/3, the entry 14/2 fails where the check of x begins; 14/1 and 14/0 pass that, and fail on what is new.
test_expect_success 'the entry that fits best explains a recompile, not the newest' '
    record "{\"artifact\": {\"name\": \"recompile_reasons\", \"encoding\": \"json\"}, \"frame_id\": 14, \"frame_compile_id\": 3, \"attempt\": 0, \"has_payload\": \"\"}" \
        "[\"14/2: tensor ${q}x${q} dtype mismatch. expected Half, actual Float\", \"14/1: tensor ${q}x${q} requires_grad mismatch. expected requires_grad=0\", \"14/0: tensor ${q}x${q} requires_grad mismatch. expected requires_grad=0\"]" >reasons.log &&
    record "{\"artifact\": {\"name\": \"recompile_reasons\", \"encoding\": \"json\"}, \"frame_id\": 15, \"frame_compile_id\": 2, \"attempt\": 0, \"has_payload\": \"\"}" \
        "[\"15/1: tensor ${q}x${q} size mismatch at index 0. expected 3, actual 5\", \"15/0: tensor ${q}x${q} dtype mismatch. expected Half, actual Float\"]" >>reasons.log &&
    trace-compile -q -f json reasons.log >out &&
    jq -e "[.recompiles[] | [.kind, .expression]] | sort == [[\"requires_grad\", \"x\"], [\"size\", \"x.shape[0]\"]]" out
'

test_expect_success 'kernels in C++ are called as functions, and count' '
    record "{\"inductor_output_code\": {\"filename\": \"a.py\"}, \"frame_id\": 19, \"frame_compile_id\": 0, \"attempt\": 0, \"has_payload\": \"\"}" \
        "cpp_fused_0 = async_compile.cpp_pybinding([$q*float*$q], $q$q$q
void cpp_fused_0(float* a, float* b) {}
$q$q$q)
def call(args):
    arg0_1, = args
    buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)
    cpp_fused_0(arg0_1, buf0)
    extern_kernels.mm(buf0, arg0_1, out=buf1)
    return (buf0, )" >cpp.log &&
    trace-compile -q -f json cpp.log >out &&
    jq -e ".graphs[0] | .calls == {\"triton\": 1, \"extern\": 1, \"fallback\": 0} and [.kernels[] | [.name, .calls]] == [[\"cpp_fused_0\", 1]]" out
'

# Compiles of 5, 3, 2 and 1 ms, and half a millisecond of none; the second and the fourth are recompiles.
span() {
    record "{\"chromium_event\": {}, \"has_payload\": \"\"}" "{\"name\": \"dynamo\", \"ts\": $2, \"args\": {$1}, \"ph\": \"B\"}" &&
    record "{\"chromium_event\": {}, \"has_payload\": \"\"}" "{\"name\": \"dynamo\", \"ts\": $3, \"args\": {$1}, \"ph\": \"E\"}"
}
again() {
    record "{\"artifact\": {\"name\": \"recompile_reasons\"}, \"frame_id\": $1, \"frame_compile_id\": 1, \"has_payload\": \"\"}" "[\"$1/0: n$1 == 0\"]"
}

test_expect_success 'rows that are cut have their sum beside them: with it, they add up' '
    {
        span "\"compile_id\": \"0/0\"" 0 5000 && span "\"compile_id\": \"0/1\"" 6000 9000 && again 0 &&
        span "\"compile_id\": \"1/0\"" 10000 12000 && span "\"compile_id\": \"1/1\"" 13000 14000 && again 1 && span "" 20000 20500
    } >sums.log &&
    trace-compile -q -f json sums.log >out && jq -e ".time.total_ns == 11500000 and .time.outside_ns == 500000 and ([.frames[].total_ns] == [5000000, 3000000, 2000000, 1000000])" out &&
    trace-compile -q -n 1 sums.log >out && grep "^  and 3 more, together 6.00 ms; 500 µs outside any compile$" out && grep "^  and 1 more, 1.00 ms$" out &&
    trace-compile -q -n 0 sums.log >out && grep "^  and 500 µs outside any compile$" out && ! grep " more" out &&
    trace-compile -q -n 10 "$runs/cold" >out && grep "^Generated kernels" out && grep "^  and 10 more, together .* s$" out
'

test_expect_success 'why there is no CUDA graph is one clean line' '
    record "{\"compilation_metrics\": {\"co_name\": \"f\", \"cudagraph_skip_reason\": \"skipping cudagraphs due to mutated inputs (1 instances). Found from : \\\\n   File \\\"m.py\\\", line 3\"}, \"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0}" >skip.log &&
    trace-compile -q skip.log >out && grep "mutated inputs (1 instance)$" out && ! grep -e "␊" -e " : no CUDA" -e "instances" out
'

test_expect_success 'recompiles by guard, the limit as critical' '
    trace-compile -q -f json "$runs/zoo" >out &&
    jq -e ".recompiles[0] | .frame == \"f_limit\" and .limit and .count == 8 and .expression == \"n\" and .values == [\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\"]" out &&
    jq -e "[.recompiles[].kind] | sort == [\"dtype\", \"flag\", \"number\", \"number\", \"requires_grad\", \"size\", \"size\"]" out &&
    jq -e "[.suggestions[] | select(.rule == \"recompile_limit\")] | length == 1 and .[0].priority == \"critical\"" out
'

test_expect_success 'breaks cost idle time, recompiles inside steps are found' '
    trace-compile -q -f json "$runs/zoo"/dedicated* "$runs/zoo/steps.json.gz" >out &&
    jq -e "[.breaks[] | select(.cost_ns != null)] | length >= 12" out &&
    jq -e ".recompiles[] | select(.frame == \"f_late\") | .stalls == 1" out && jq -e ".time.stall_ns > 500000000" out
'

test_expect_success 'trace-suggest names the tool where it sees breaks or compiling in steps, and only there' '
    named="[.suggestions[] | select(.action | test(\"trace-compile logs\")) | .rule] | sort" &&
    trace-suggest -q -f json "$runs/zoo/steps.json.gz" | jq -ce "$named" >out && echo "[\"graph_breaks\",\"recompilation\"]" >want && test_cmp want out &&
    for run in eager cold reduce; do
        trace-suggest -q -f json "$runs/$run/steps.json.gz" | jq -e "$named == []" || return 1
    done
'

test_expect_success 'CUDA graphs: recorded, and skipped with the reason' '
    trace-compile -q -f json "$runs/reduce"/* >out &&
    jq -e ".cudagraphs | .asked and .recorded == 2 and .launches_per_step == 2 and .skips == []" out &&
    trace-compile -q -f json "$runs/zoo" "$runs/zoo/text.log.gz" >out &&
    jq -e ".cudagraphs.skips == [{reason: \"mutated inputs (1 instances)\", file: \"model/zoo.py\", line: 193, function: \"f_mut\", compile_id: null, count: 1, new: false}]" out
'

test_expect_success 'modes against eager, and when compiling pays back' '
    trace-compile -q -f json --eager "$runs/eager/steps.json.gz" --other-mode "default=$runs/cold/steps.json.gz" "$runs/reduce"/* >out &&
    jq -e ".speedup.modes | [.[].name] == [\"eager\", \"reduce-overhead\", \"default\"]" out &&
    jq -e ".speedup.modes[1] | .speedup > 2 and .speedup_low > 1 and .speedup_low < .speedup and .within_run and .graph_launches == 2" out &&
    jq -e ".speedup.modes | .[1].break_even_steps == ((.[1].compile_ns / (.[0].step_ns - .[1].step_ns)) | ceil)" out &&
    jq -e ".speedup.modes[2] | .compile_ns == null and .break_even_steps == null" out
'

test_expect_success 'other work is not compared' '
    trace-compile -q -f json --eager "$samples/h200/decode.json.gz" "$runs/warm"/* >out &&
    jq -e ".speedup.modes[1] | (.refused | test(\"other shapes\")) and .speedup == null" out &&
    trace-compile --eager "$samples/h200/decode.json.gz" "$runs/warm"/* >out && grep "^default: not compared with eager: other work" out
'

test_expect_success 'ranks side by side, a break once with its ranks' '
    trace-compile -q -f json "$runs/ranks" >out &&
    jq -e ".environment.processes == 2 and ([.inputs[].rank] == [0, 1])" out &&
    jq -e "[.breaks[] | [.id, .count, .ranks]] == [[\"GB0007\", 4, [0, 1]], [\"GB0156\", 2, [0, 1]]]" out &&
    jq -e "[.breaks[].via_file] | all(. != null)" out
'

test_expect_success 'a process that was killed: what there is, and that it is cut' '
    trace-compile --width 100 "$runs/killed" >out 2>err && grep "13, the first at byte 0" err &&
    tr "\\n" " " <out | grep "^The log ends while train.py:39 forward is being compiled (in Scheduler.fused_nodes): the process was killed" && ! grep "Nothing to do" out &&
    trace-compile -q -f json "$runs/killed" >json && jq -e ".environment.cut and .frames[0].outcome == \"cut\" and .frames[0].name == \"forward\"" json
'

test_expect_success '--fail-on' '
    test_expect_code 1 trace-compile -q --fail-on break "$runs/zoo" >out && test -s out &&
    test_expect_code 1 trace-compile -q --fail-on recompile "$runs/zoo" >out &&
    trace-compile -q --fail-on skip "$runs/zoo" >out &&
    test_expect_code 1 trace-compile -q --fail-on skip "$runs/zoo/text.log.gz" >out &&
    trace-compile -q --fail-on break --fail-on recompile --fail-on skip "$runs/cold" "$runs/cold/text.log.gz" >out &&
    test_expect_code 2 trace-compile --fail-on nothing "$runs/cold" 2>err && grep "not break, recompile or skip" err
'

test_expect_success '--save and --against: only what is new fails' '
    trace-compile -q --baseline-dir ci --save main "$runs/zoo" >out &&
    trace-compile -q --baseline-dir ci --against main --fail-on break --fail-on recompile "$runs/zoo" >out &&
    grep "^Against the baseline: 0 new graph breaks, 0 new recompiles" out &&
    sed "/GB0124/d" ci/main.findings >less && mv less ci/main.findings &&
    test_expect_code 1 trace-compile -q --baseline-dir ci --against main --fail-on break "$runs/zoo" >out &&
    grep "^Against the baseline: 1 new graph break," out &&
    test_expect_code 2 trace-compile -q --baseline-dir ci --against other "$runs/zoo" 2>err && grep other err &&
    test_expect_code 2 trace-compile -q --against main "$runs/zoo" 2>err && grep "baseline-dir" err &&
    test_expect_code 2 trace-compile -q --baseline-dir ci --save ../x "$runs/zoo" 2>err
'

test_expect_success 'source is in the answer only with --code' '
    trace-compile -q -f json "$runs/zoo" >out && ! grep -q "tl\.load\|planted: " out &&
    trace-compile -q -f html "$runs/zoo" >out && ! grep -q "tl\.load\|planted: " out &&
    trace-compile -q -f json --code "$runs/zoo" >out && grep -q "tl\.load" out && grep -q "planted: scalar" out
'

test_expect_success 'the page is below 1 MB and loads nothing' '
    trace-compile -q -f html "$runs/zoo"/*.gz >page.html && test "$(wc -c <page.html)" -lt 1000000 &&
    grep -q "Content-Security-Policy" page.html && ! grep -E "(src|href)=\"https?:" page.html
'

test_expect_success 'logs from standard input, compressed or not, give the same' '
    log=$(log_of warm) && gzip -dc <"$log" >plain.log && zstd -q plain.log -o log.zst &&
    trace-compile -q -f json <plain.log | jq "del(.inputs)" >a && trace-compile -q -f json - <log.zst | jq "del(.inputs)" >b &&
    trace-compile -q -f json "$log" | jq "del(.inputs)" >c && test_cmp a b && test_cmp a c
'

test_expect_success 'a log that is cut is used up to the cut; --strict makes that an error' '
    gzip -dc <"$(log_of cold)" >cut.log && head -c 100000 cut.log >half.log &&
    trace-compile -f json half.log >out 2>err && grep "half.log: " err && jq -e ".quality.truncated and .environment.cut" out &&
    test_expect_code 2 trace-compile --strict half.log >out 2>err
'

test_expect_success 'what loggers, shippers and editors do to a log changes nothing but the counts' '
    log=$(log_of zoo) && trace-compile -q -f json "$log" | jq "del(.inputs, .quality)" >want &&
    for kind in crlf blank decorated level digests foreign unknown; do
        second odd $kind "$log" >odd.log && trace-compile -q -f json odd.log >out && jq "del(.inputs, .quality)" out >got && test_cmp want got &&
        jq -c "[.quality.verdict] + [.quality.issues[] | .kind, .count]" out >>counts || return 1
    done &&
    cat counts && test "$(grep -c "^\[\"clean\"" counts)" = 6 && grep "^\[\"repaired\",\"digest\"," counts
'

test_expect_success 'an empty log is a process that compiled nothing' '
    mkdir some && : >some/dedicated_log_torch_trace_rank_1_x.log && trace-compile some >out && grep "^Nothing was compiled" out &&
    cp "$(log_of warm)" some/ && trace-compile -q -f json some >out && jq -e ".frames | length == 1" out &&
    test_expect_code 2 trace-compile some/dedicated_log_torch_trace_rank_1_x.log 2>err && grep "the file is empty" err
'

test_expect_success 'what cannot be used is one line' '
    mkdir none && test_expect_code 2 trace-compile none 2>err && grep "none: is a directory without dedicated_log_torch_trace_" err &&
    echo hello >other.txt && test_expect_code 2 trace-compile other.txt 2>err && grep "other.txt" err && test "$(wc -l <err)" = 1 &&
    test_expect_code 2 trace-compile --other-mode x "$runs/cold" 2>err && grep "NAME=TRACE" err
'

test_expect_success 'a trace alone gives its half' '
    trace-compile -q -f json "$runs/reduce/steps.json.gz" >out && jq -e ".speedup.modes[0].graph_launches == 2 and .time.total_ns == 0" out
'

test_done
