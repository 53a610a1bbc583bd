#!/bin/sh
test_description='samples/stalls and bench/pc_cost.py: marks and names agree, and the runners keep what they have'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
stalls=$samples/stalls

test_expect_success 'each kernel has a mark, and a row in the README' '
    PYTHONPATH=$stalls python3 -c "
import measure
for name, sources in measure.SETS.items():
    for fault in measure.faults(sources):
        print(name, fault.name, len(fault.lines))" >marks &&
    test "$(wc -l <marks)" = 120 && test "$(grep -c " 1$" marks)" = 96 && grep "second t_layer_norm 3" marks && grep "third median 2" marks &&
    cut -d" " -f2 marks | while read -r name; do grep -q "^|.*\`$name\`" "$stalls/README.md" || echo "$name"; done >missing &&
    test_must_be_empty missing
'

test_expect_success 'the other programs have the names that are marked' '
    for set in second third fourth fifth sixth; do
        grep "^$set [a-z]" marks | cut -d" " -f2 | sort >marked &&
        { sed -n "/^} programs\[\]/,/^};/p" "$stalls/$set.cu" | grep -o "\"[a-z_]*\"" | tr -d "\""
          grep -o "^def t_[a-z_]*" "$stalls/${set}_triton.py" | sed "s/^def //"; } | sort >named &&
        test_cmp marked named || return 1
    done
'

# Stand-ins: kernels that need no GPU, and a recorder that never samples regions, and masked only the second time.
cat >kernels <<'EOF'
#!/bin/sh
test "$1" != ring || { sleep 1000 & wait; }
echo "{\"name\": \"$1\", \"fixed\": false, \"kernel_us\": 4.0, \"step_us\": 8.0}"
test "$2" != --both || echo "{\"name\": \"$1\", \"fixed\": true, \"kernel_us\": 1.0, \"step_us\": 5.0}"
EOF
cat >collect <<'EOF'
#!/bin/sh
while test "$1" != --; do test "$1" != -o || out=$2; shift; done
shift
"$@" || exit
: >"$out"
seq 100 | sed "s/^/said /" >&2
case $2 in
regions) refused=yes ;;
masked) test -e tried || refused=yes; : >tried ;;
esac
test -z "$refused" || { echo "0 samples of program counters" >&2; exit 0; }
echo "gpuprof-collect: 9 kernels, 42 samples of program counters" >&2
EOF
chmod +x kernels collect

test_expect_success 'a recording without samples is tried once more, and the end of what it printed is kept' '
    python3 "$stalls/measure.py" record --set second --out out --stalls ./kernels --collect ./collect --gpus 2 \
        --only masked regions particles >log &&
    grep "^masked: recording failed, and succeeded when tried once more" log && grep "^regions: recording failed, and failed again" log &&
    grep "^regions: no samples" log && grep "^masked: recorded" log && grep "^particles: recorded" log &&
    test "$(cat out/particles.log)" = "gpuprof-collect: 9 kernels, 42 samples of program counters" &&
    test "$(grep -c said out/masked.log)" = 49 && grep "said 100" out/masked.log && grep "tried again" out/masked.log &&
    test "$(wc -l <out/masked.times)" = 2
'

test_expect_success 'what hangs is ended with its children, and nothing begins after the limit' '
    python3 "$stalls/measure.py" record --set second --out late --stalls ./kernels --collect ./collect --only ring --limit 2 >log &&
    grep "^ring: no samples" log && grep "still running after" late/ring.log && grep "not begun: 2 s are over" late/ring.log
'

test_expect_success 'a report without readable traces has what was saved' '
    python3 "$stalls/measure.py" report --set second --bin "$GP_BIN" out >table &&
    grep "^{.*\"masked\"" table >row && grep "\"kernel_saved_pct\": 75.0" row && grep "\"step_saved_pct\": 37.5" row &&
    grep "hottest line right: 0 of 20" table
'

# A tool that says which counters it was given.
cat >bin-trace-metrics <<'EOF'
#!/bin/sh
echo "$@" >>asked
EOF
test_expect_success 'with --counters, a second recording counts, and the report hands it to the tools' '
    mkdir tools && for t in trace-metrics trace-suggest; do cp bin-trace-metrics tools/$t && chmod +x tools/$t || return 1; done &&
    python3 "$stalls/measure.py" record --set second --out counted --stalls ./kernels --collect ./collect --only particles --counters >log &&
    test -e counted/particles.counters.trace && : >counted/triton.counters.trace && : >counted/t_gather.trace && : >counted/masked.trace &&
    python3 "$stalls/measure.py" report --set second --bin tools/ --counters counted >table &&
    grep -- "--counters counted/particles.counters.trace counted/particles.trace" asked &&
    grep -- "--counters counted/triton.counters.trace counted/t_gather.trace" asked &&
    rm asked && python3 "$stalls/measure.py" report --set second --bin tools/ counted >table && grep particles asked && ! grep counters asked
'

# A tool that predicts the same of all kernels; of masked, with a busy L1.
cat >predicts <<'EOF'
#!/bin/sh
for trace; do :; done
l1=null
case $trace in *masked.trace) l1=90 ;; esac
echo "{\"stalls\": [{\"label\": \"$(cat functions)\", \"place\": \"k.cu:1\", \"saved_low_pct\": 60, \"saved_high_pct\": 80, \"l1_pct\": $l1, \"lanes_pct\": 100}]}"
EOF
test_expect_success 'fit finds what was predicted before the correction, and leaves one set out' '
    PYTHONPATH=$stalls python3 -c "
import measure
print(*(f.function for sources in measure.SETS.values() for f in measure.faults(sources)))" >functions &&
    mkdir fits one two && cp predicts fits/trace-metrics && cp predicts fits/trace-suggest && chmod +x fits/* &&
    for k in one/particles one/long_rows one/masked two/opacity; do
        : >$k.trace
        { ./kernels "${k#*/}" && ./kernels "${k#*/}" | sed "s/false/true/; s/4.0/1.0/"; } >$k.times || return 1
    done &&
    ! python3 "$stalls/measure.py" fit --bin fits/ second=one 2>err && grep "two sets are needed" err &&
    python3 "$stalls/measure.py" fit --bin fits/ second=one third=two >fitted &&
    grep "^second: 3 of 3 inside, median width 20%, as it is" fitted && grep "^second: 3 of 3 inside, median width 19%, without" fitted &&
    grep "^third: 1 of 1 inside, median width 20%, as it is" fitted && test "$(grep -c "by the other sets" fitted)" = 2
'

# The cost: the bench beside a stand-in for its programs.
mkdir bench bin && cp "$GP_SOURCE/tests/bench/pc_cost.py" bench/
cat >bench/programs.py <<'EOF'
import os, sys
if sys.argv[1] == "gnn":
    sys.exit("no such library")
print("a library talks")
print("ready 1000000", flush=True)
for line in sys.stdin:
    name, steps, order = line.split()
    print(" ".join(["3000000" if os.environ.get("SAMPLED") else "2000000"] * int(steps)), flush=True)
EOF
cat >bin/gpuprof-collect <<'EOF'
#!/bin/sh
test "$1" != --pc-sample || export SAMPLED=1
while test "$1" != --; do shift; done
shift
exec "$@"
EOF
chmod +x bin/gpuprof-collect

test_expect_success 'pc_cost.py compares pairs, and counts what failed' '
    GPUPROF_BIN=bin python3 bench/pc_cost.py --out cost --programs jax gnn --pairs 2 --seconds 0.02 --recorded >report &&
    grep "^jax  *2.000 ms bare, sampled / bare 1.500 \[1.500, 1.500\], 2 pairs" report &&
    grep "^jax  *2.000 ms bare, sampled / recorded 1.500" report && grep "^gnn .*no pair.* 6 processes failed" report &&
    test "$(wc -l <cost/pc_cost.jsonl)" = 12 && grep "no such library" cost/gnn.sampled.1.err &&
    python3 bench/pc_cost.py --report cost/pc_cost.jsonl >again && test_cmp report again
'

test_done
