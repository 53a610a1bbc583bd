#!/bin/sh
# CUDA graphs are captured in one place and replayed in another: what each kernel folds under is written down here by hand.
test_description='gpuprof-collect: graphs, with the ranges that their nodes were captured under'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
collect="$collect --stacks=none" # only ranges; stacks.t has the others

# folded FILE -- its stacks, with names as they were recorded.
folded() { trace2flame -f folded --raw "$@" 2>draw.err; }

# The application captures five kernels of 100, 200, 300, 400 and 500 ns and replays them three times, on another thread:
#   main { warm-up { layer 0 { attention { attn } mlp } layer 1 { attention { attn } mlp } } head }
# (Folded text has no digits behind spaces.) "main" is around the capture and around the replay, and is there once.
cat >expected <<'END'
main;step;cudaGraphLaunch;head(float*) 1500
main;step;cudaGraphLaunch;warm-up;layer_0;attention;attn(float*) 300
main;step;cudaGraphLaunch;warm-up;layer_0;mlp(float*) 600
main;step;cudaGraphLaunch;warm-up;layer_1;attention;attn(float*) 900
main;step;cudaGraphLaunch;warm-up;layer_1;mlp(float*) 1200
END

test_expect_success 'captured on one thread, replayed on another: both the step and the layer are in the stack' '
    $collect -o t $app graph plain && folded t >out && test_cmp expected out
'

test_expect_success 'labels for people: names without numbers' '
    cat >labels <<-\END &&
	main;step;cudaGraphLaunch;head 1500
	main;step;cudaGraphLaunch;warm-up;layer;attention;attn 1200
	main;step;cudaGraphLaunch;warm-up;layer;mlp 1800
	END
    trace2flame -f folded t >out && test_cmp labels out &&
    trace2flame -f folded --weight count t | awk "{n += \$NF} END {exit n != 15}"
'

test_expect_success 'a clone of a clone, made by another thread, is as good as its original' '
    $collect -o c $app graph clones && folded c >out && test_cmp expected out
'

test_expect_success 'captured before recording is started' '
    $collect --start profiler -o late $app graph late && folded late >out && test_cmp expected out
'

test_expect_success 'the process is killed' '
    status_of $collect -o killed $app graph kill && test $status = 137 && folded killed >out && test_cmp expected out
'

test_expect_success 'without records of calls the capture is all there is' '
    $collect --api none -o bare $app graph plain && folded bare >out && cat >bare.expected <<-\END &&
	[unattributed];stream_7;main;head(float*) 1500
	[unattributed];stream_7;main;warm-up;layer_0;attention;attn(float*) 300
	[unattributed];stream_7;main;warm-up;layer_0;mlp(float*) 600
	[unattributed];stream_7;main;warm-up;layer_1;attention;attn(float*) 900
	[unattributed];stream_7;main;warm-up;layer_1;mlp(float*) 1200
	END
    test_cmp bare.expected out
'

test_expect_success 'without NVTX a graph is what it was' '
    $collect --no-nvtx -o none $app graph plain && folded none >out && cat >none.expected <<-\END &&
	cudaGraphLaunch;attn(float*) 1200
	cudaGraphLaunch;head(float*) 1500
	cudaGraphLaunch;mlp(float*) 1800
	END
    test_cmp none.expected out
'

test_expect_success 'the flight recorder keeps what was captured long before' '
    $collect --last 300ms -o last $app graph late && folded last >out && test_cmp expected out
'

# Two processes whose nodes have the same numbers.
test_expect_success 'each process of a merged trace has nodes of its own' '
    $collect -o both sh -c "RANK=0 $app graph plain; RANK=1 $app graph clones" &&
    { sed "s/^/rank_0;/" expected; sed "s/^/rank_1;/" expected; } >both.expected &&
    folded both >out && test_cmp both.expected out
'

test_expect_success 'conversion keeps it: binary, Chrome JSON and back' '
    sed "s/^rank_[01];//" both.expected | sort >both.here && cp expected t.here &&
    for to in gpuprof chrome; do
        for from in t both; do
            trace-convert --to $to $from >there 2>err && trace-convert --to gpuprof there >back 2>err &&
            for file in there back; do # Chrome JSON knows no ranks: processes have other names there
                folded $file | sed "s/^rank_[01];//; s/^app_[0-9]*;//" | sort >out && test_cmp $from.here out || return 1
            done
        done
    done
'

# By innermost range: two layers of attention (100 and 300 ns) and mlp (200 and 400), the rest in the step itself (500).
test_expect_success 'trace-hta: ranges own what was captured in them; each replay is a call' '
    trace-hta -f json --top 0 t >hta.json && python3 -c "
import json
got = {r[\"name\"]: (r[\"calls\"], r[\"gpu_events\"], r[\"gpu_ns\"]) for r in json.load(open(\"hta.json\"))[\"ranges\"] if r[\"gpu_events\"]}
assert got == {\"attention\": (6, 6, 1200), \"layer\": (6, 6, 1800), \"step\": (3, 3, 1500)}, got"
'

test_expect_success 'trace-diff: what was captured in a range matches that range' '
    trace-diff --whole --gate none --by range -f json t c >diff.json && python3 -c "
import json
d = json.load(open(\"diff.json\"))
got = {o[\"name\"]: [(o[s][\"calls\"], o[s][\"sum_ns\"], o[s][\"host_count\"]) for s in (\"baseline\", \"current\")] for o in d[\"operations\"]}
assert got == {\"attention\": 2 * [(6, 1200, 6)], \"layer\": 2 * [(6, 1800, 6)], \"step\": 2 * [(3, 1500, 3)]}, got
assert d[\"total\"][\"baseline_ns\"] == d[\"total\"][\"current_ns\"] == 4500"
'

command -v node >/dev/null && test_set_prereq NODE
test_expect_success NODE 'trace2timeline: a selected kernel tells where it was captured' '
    trace2timeline -q t >page.html && node -e "
const { load } = require(\"$GP_SOURCE/tests/timeline/page.js\");
load(\"page.html\").then(async (data) => {
  const t = data.tracks.find((k) => k.lanes && k.lanes.some((l) => l.n === 15));
  for (let i = 0; i < 5; i++) console.log(new Map(await data.details(t.index, 0, i)).get(\"captured in\"));
});" >out && cat >captured <<-\END && test_cmp captured out
	main > warm-up > layer 0 > attention
	main > warm-up > layer 0
	main > warm-up > layer 1 > attention
	main > warm-up > layer 1
	main
	END
'

# 2000 times five new nodes, and what is said of them takes no more room than what is said of five.
test_expect_success 'many graphs of one capture take little room, and lose nothing' '
    $collect -o many $app graph many 2000 2>err && grep ", 0 lost" err && folded many >out &&
    ! grep -v -e "layer_[01];" -e "head" out
'

test_done
