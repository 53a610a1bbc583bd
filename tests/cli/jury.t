#!/bin/sh
test_description='samples/pytorch/jury.py: a program that fails, dies or hangs is named and costs the others nothing'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# Just enough of torch for the programs below, whose steps do nothing.
mkdir -p stub/torch bin
cat >stub/torch/__init__.py <<'EOF'
class Any:
    def __getattr__(self, name):
        return Any()
    def __call__(self, *args, **kwargs):
        return Any()
cuda = backends = Any()
manual_seed = set_float32_matmul_precision = Any()
EOF
cat >stub/torch/profiler.py <<'EOF'
import contextlib
class ProfilerActivity:
    CPU = CUDA = 0
class profile:
    def __init__(self, **options):
        pass
    def __enter__(self):
        return self
    def __exit__(self, *error):
        pass
    def export_chrome_trace(self, path):
        open(path, "w").write('{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0,"stream":7}}]}')
record_function = contextlib.nullcontext
EOF
cat >stub/jury_programs.py <<'EOF'
import collections, os, time
Pair = collections.namedtuple("Pair", "name rule what make limit")
def broken(after):
    raise ValueError("no such layer")
def broken_after(after):
    return broken(after) if after else (lambda: None)
def dying(after):
    return os.abort
def hanging(after):
    return lambda: time.sleep(1000)
def fine(after):
    return lambda: time.sleep(0.001)
PAIRS = [Pair(f.__name__, "rule", "what", f, limit) for f, limit in ((broken, None), (dying, None), (hanging, 1), (broken_after, None), (fine, 300))]
EOF
# Runs the command, and writes the window of one program.
cat >bin/gpuprof-collect <<'EOF'
#!/bin/sh
while test "$1" != --; do test "$1" != -o || out=$2; shift; done
shift
"$@" && cat >"$out" <<END
{"traceEvents":[{"ph":"X","cat":"user_annotation","name":"program:fine","pid":1,"tid":1,"ts":1.5,"dur":10},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#0","pid":1,"tid":1,"ts":2,"dur":3.5},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":3,"dur":2,"args":{"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"of another program","pid":0,"tid":7,"ts":30,"dur":2,"args":{"device":0,"stream":7}}]}
END
EOF
chmod +x bin/gpuprof-collect && ln -s "$(command -v trace-convert)" bin/trace-convert
# The directory of the script comes before PYTHONPATH: it is a copy, without the programs.
cp "$GP_SOURCE/samples/pytorch/jury.py" "$GP_SOURCE/samples/pytorch/jury_split.py" stub/

test_expect_success 'what cannot run is named, the rest is timed and recorded' '
    python3 stub/jury.py record out 600 bin >log &&
    grep "^failed	broken	ValueError: no such layer (jury_programs.py:4)" log &&
    grep "^failed	dying	ended by signal 6" log && grep "^failed	hanging	took longer than its limit" log &&
    grep "^failed	broken_after	ValueError" log && grep "^window	fine" log &&
    grep "^recorded	1 of 5 pairs" log &&
    ls out | sort >files && printf "%s\n" fine.kineto.trace fine.trace steps.tsv >expected && test_cmp expected files
'

test_expect_success 'a row has the median of sixteen rounds, before and after in turns, in two processes each' '
    test "$(cut -f 1 out/steps.tsv)" = "plain_fine
plain_fine_after" &&
    awk -F "[=, \t]" "{ for (i = 1; i <= NF; i++) if (\$i == \"rounds_ns\") { n = NF - i; for (k = i + 1; k <= NF; k++) if (\$k < 1000000) exit 1 } if (n != 16) exit 1 }" out/steps.tsv
'

test_expect_success 'a window has only what is in it' '
    trace-hta -q -f json --top 0 out/fine.trace | jq -e "[.kernels[].name] == [\"k\"]"
'

test_expect_success 'a name that no pair has is an error' '
    test_expect_code 1 python3 stub/jury.py record other 600 bin no_such 2>err && grep "no_such: no such pair" err
'

test_done
