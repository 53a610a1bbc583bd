#!/bin/sh
test_description='gputrace.events() and query() as DataFrames, and the notebook of samples'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import pandas' 2>/dev/null; then break; fi
    python=
done
if [ -z "$python" ]; then
    skip_all='no python3 with pandas'
    test_done
fi
PYTHONPATH=$GP_BIN/../python
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE

test_expect_success 'the notebook answers ten questions, and shows what it has stored' '
    "$python" "$GP_SOURCE/tests/cli/notebook.py" "$samples/notebook/questions.ipynb" >out && test "$(cat out)" = "11 answers"
'

cat >frames.py <<'END'
import sys
import gputrace
path = sys.argv[1]
if sys.argv[2:]:
    sys.modules["pandas"] = None  # as if it were not there
f = gputrace.events(path)
if sys.argv[2:]:
    print(type(f).__name__, len(f["start_ns"]), sum(f["dur_ns"]), sum(d for d in f["delay_ns"] if d is not None), f["step"].count(None))
else:
    print(len(f), f.dur_ns.sum(), f.delay_ns.sum(), f.step.isna().sum(), f.start_ns.dtype, f.step.dtype, f.graph.dtype, f.start_ns.is_monotonic_increasing)
    print(gputrace.query(path, "SELECT 9007199254740993 AS a, 1 AS a UNION ALL SELECT NULL, 2").values.tolist())
    print(len(gputrace.query(path, "SELECT id, name FROM kernels WHERE 0").columns))
END
test_expect_success 'events: numbers are those of trace-query, and integers where some are missing' '
    "$python" frames.py "$samples/h200/plain.trace" >out && "$python" frames.py "$samples/h200/plain.trace" none >bare &&
    trace-query -q -f csv "$samples/h200/plain.trace" \
        "SELECT count(*), sum(dur_ns), sum(delay_ns), sum(step IS NULL) FROM events" | sed 1d | tr , " " >expect &&
    echo "$(cat expect) int64 Int64 object True" >all && sed -n 1p out >got && test_cmp all got &&
    echo "dict $(cat expect)" >all && test_cmp all bare &&
    sed -n 2p out | grep "9007199254740993, 1\], \[.*, 2\]" && sed -n 3p out | grep -x 2
'

test_done
