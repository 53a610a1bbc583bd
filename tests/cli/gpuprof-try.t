#!/bin/sh
test_description='gpuprof-try: trials of a program on a stand-in for PyTorch'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
if ! command -v python3 >/dev/null; then
    skip_all='no python3'
    test_done
fi
if python3 -c 'import jsonschema' 2>/dev/null; then test_set_prereq JSONSCHEMA; fi
PYTHONPATH=$GP_SOURCE/tests/python/fake_torch
PYTHONDONTWRITEBYTECODE=1
TMPDIR=$PWD/tmp
GPUPROF_OFF=1 # no recording: the GPU is simulated
export PYTHONPATH PYTHONDONTWRITEBYTECODE TMPDIR GPUPROF_OFF
unset GPUPROF_TRY GPUPROF_TRY_PLAN RANK WORLD_SIZE
mkdir tmp

cat >train.py <<'END'
import os, sys, torch
class Net(torch.nn.Module):
    def forward(self, x):
        tf32 = torch.backends.cuda.matmul.allow_tf32
        torch.spend((2e6 if tf32 else 6e6) * float(os.environ.get("FACTOR", "1")))
        return torch.Tensor(1.001 if tf32 else 1.0)
net = Net()
optimizer = torch.optim.Adam(net.parameters())
print("the program's own", os.environ.get("GPUPROF_TRY"), *sys.argv[1:])
for i in range(100000):
    optimizer.zero_grad()
    net(torch.Tensor(2.0)).backward()
    optimizer.step()
END

test_expect_success 'the answer is on standard output, the program writes to standard error' '
    gpuprof-try --time-limit 2s --changes=tf32,fused,foreach,benchmark -- python3 train.py --an-option >out 2>err &&
    sed -n 1,2p out | tr "\\n" " " >first &&
    grep -E "^These two changes together: 7\.[12][0-9]* -> 2\.[12][0-9]* ms per step \(2\.[0-9]* to 2\.[0-9]*\), loss equal to 3 digits" first &&
    grep "Here, a step ends with Adam.step()" out && grep "The control, which changes nothing, saves" out &&
    grep -E "^  tf32  +7\.[0-9]* ms  +3\.[0-9]* ms  +\+4\.[0-9]* ms" out &&
    grep -F "torch.backends.cuda.matmul.allow_tf32 = True" out && grep -F "torch.optim.Adam(..., fused=True)" out &&
    grep -E "foreach +it is what PyTorch chooses on a GPU" out && grep -E "benchmark +no module is a convolution" out &&
    ! grep "own 1" out && grep "own 1 --an-option" err &&
    sed -n 1p err | grep "^gpuprof-try: this is an experiment: .*its result is thrown away" &&
    grep "4 change(s) and a control that changes nothing, at most 2 s each .* min at most" err && ! ls tmp | grep .
'

test_expect_success 'with -o and -q the program keeps its standard output, and nothing is said' '
    gpuprof-try -q --time-limit 1s --changes=tf32 -f json -o tried.json python3 train.py >out 2>err &&
    test_must_be_empty err && echo "the program'"'"'s own 1" >expect && test_cmp expect out &&
    jq -e ".tool == \"gpuprof-try\" and .trusted and .together == null and .refused == null and .device == \"simulated GPU\"" tried.json &&
    jq -e ".trials[0] | .change == \"tf32\" and .mode == \"steps\" and .status == \"measured\" and .low_ns <= 4000000 and
        .high_ns >= 4000000 and .pairs == (.samples | length) and .peak_bytes_off == 2000000000 and .predicted_low_ns == null and
        (.difference.loss_relative - 0.001 | fabs) < 1e-9" tried.json
'

test_expect_success JSONSCHEMA 'JSON is what the schema says' '
    gpuprof-try -q --time-limit 1s --changes=tf32,fused,graph --set "x=1/0 // 0" -f json -o all.json python3 train.py >out &&
    python3 -c "import json, jsonschema, sys
a, s = (json.load(open(p)) for p in sys.argv[1:])
jsonschema.Draft202012Validator(s).validate(a)
assert set(a[\"trials\"][0]) == set(s[\"allOf\"][0][\"properties\"][\"trials\"][\"items\"][\"properties\"])" all.json "$GP_SOURCE/schemas/gpuprof-try.schema.json"
'

test_expect_success 'the same seed gives the same answer' '
    for i in 1 2; do gpuprof-try -q --time-limit 1s --changes=tf32 --seed 7 -f json -o same$i.json python3 train.py >out || return 1; done &&
    test_cmp same1.json same2.json
'

test_expect_success 'the page has charts, tables and the lines to add' '
    gpuprof-try -q --time-limit 1s --changes=tf32,fused -f html -o page.html python3 train.py >out &&
    grep -o "class=\"chart\"" page.html >n && test $(wc -l <n) -ge 4 && grep "What a step saves" page.html &&
    grep "What makes it permanent" page.html && grep "On and off in time" page.html && python3 "$GP_SOURCE"/tests/cli/check_page.py page.html
'

test_expect_success 'the table of changes' '
    gpuprof-try --changes=list >list && for name in tf32 bf16 channels_last fused foreach set_to_none compile=reduce-overhead compile=blocks \
        graph graphed_callables attention=sdpa experts=grouped_mm sdp=flash benchmark pinned prefetch no_checkpointing gc no_waits reads \
        no_validation batch=x2 allocator=expandable threads=1; do
        grep "^  $name " list || return 1
    done && grep -A 1 "^  tf32 " list | grep "may change: "
'

test_expect_success 'one of one'"'"'s own, and one that fails' '
    gpuprof-try -q --time-limit 1s --set "half=torch.backends.cuda.matmul.allow_tf32 = True // torch.backends.cuda.matmul.allow_tf32 = False" \
        --set "worse=nobody.knows // pass" python3 train.py >out 2>err &&
    grep -E "^half: .* -> .* ms per step" out && grep -E "worse +NameError: name .nobody. is not defined" out
'

test_expect_success 'variables and other commands are measured by pairs of processes' '
    gpuprof-try -q --time-limit 1s --env FACTOR=2 --other "env FACTOR=0.5 python3 train.py" -f json python3 train.py >out 2>err &&
    ! grep gpuprof-try err &&
    jq -e "[.trials[].mode] == [\"processes\", \"processes\"] and .control.mode == \"processes\" and .trusted" out &&
    jq -e ".trials[0] | .change == \"FACTOR=2\" and .high_ns < -5500000 and .low_ns > -6500000 and .permanent == \"export FACTOR=2\"" out &&
    jq -e ".trials[1] | .change == \"other: env FACTOR=0.5 python3 train.py\" and .low_ns > 2500000 and .high_ns < 3500000" out &&
    status_of gpuprof-try -q --other false -f json python3 train.py && test $status = 3 &&
    jq -e ".trials[0] | .status == \"failed\" and (.reason | startswith(\"with the change: \"))" out
'

test_expect_success 'nothing to measure: exit 3, with the reason' '
    status_of gpuprof-try -q python3 -c pass && test $status = 3 && grep "^Nothing was measured" out && grep "no steps were found" out &&
    status_of gpuprof-try -q -f json python3 -c "import torch; torch.optim.SGD([]).step()" && test $status = 3 &&
    jq -e ".refused | startswith(\"too few steps: \")" out && jq -e ".trials == [] and .control == null" out &&
    status_of gpuprof-try -q --time-limit 1s --max-steps 40 --changes=tf32 python3 train.py && test $status = 3 && grep "40 steps" out
'

test_expect_success 'a signal ends the program; what was measured until then is the answer' '
    sed "s/ torch.spend(/ import time; time.sleep(0.001); torch.spend(/" train.py >slow.py && { gpuprof-try --time-limit 1s --changes=tf32,fused \
        --other true -f json python3 slow.py >out 2>err & } && pid=$! && for i in $(seq 200); do
        grep -q "trying fused" err && break; sleep 0.1
    done && kill $pid && { wait $pid; true; } && jq -e ".trials[0].change == \"tf32\" and .trials[0].status == \"measured\"" out &&
    jq -e ".refused | contains(\"signal\")" out && ! ls tmp | grep .
'

test_expect_success 'misuse: exit 2 with one line' '
    for wrong in "" "--precision 0 true" "--time-limit 0 true" "--changes=nosuch true" "--set x true" "--env x true" "no-such-command" \
        "-o nowhere/x -q python3 -c pass"; do
        status_of gpuprof-try -q $wrong && test $status = 2 && test_must_be_empty out && grep "^gpuprof-try: " err || return 1
    done && ! ls tmp | grep .
'

test_done
