#!/bin/sh
test_description='trace-query: SQL over traces'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

eager=$samples/h200/eager.trace
ask() { trace-query -q -f csv "$@"; }
# refused PATTERN ARG...: no answer, status 2, and one line with the pattern.
refused() {
    pattern=$1 && shift && status_of trace-query "$@" </dev/null && test $status = 2 && test $(wc -l <err) = 1 && grep "$pattern" err
}

test_expect_success 'every table and view has rows to ask for, and the columns that --explain lists' '
    trace-query --tables -f csv | sed 1d | cut -d, -f1,2 >all && test $(wc -l <all) -gt 30 &&
    while IFS=, read -r name kind; do
        ask "$eager" "SELECT * FROM $name LIMIT 1" | head -n 1 >columns && test -s columns &&
        trace-query -f csv --explain $name >explained && test $kind = view || {
            tr , "\n" <columns >have && sed 1d explained | cut -d, -f1 >said && test_cmp said have || return 1
        }
    done <all
'

test_expect_success 'devices and causes of idle time are those of trace-hta, to the nanosecond' '
    trace-hta -q -f json --whole "$eager" >hta.json &&
    jq -r ".devices[0].idle | to_entries[] | select(.value > 0) | \"\(.key | rtrimstr(\"_ns\")),\(.value)\"" hta.json | sort >expect &&
    ask "$eager" "SELECT cause, sum(dur_ns) FROM idle GROUP BY 1" | sed 1d >got && test_cmp expect got &&
    jq -r ".devices[0] | [.span_ns, .busy_ns, .compute_ns, .idle_ns] | @csv" hta.json >expect &&
    ask "$eager" "SELECT span_ns, busy_ns, compute_ns, idle_ns FROM devices" | sed 1d >got && test_cmp expect got
'

test_expect_success 'text cuts nothing; CSV, JSON and Markdown have the same rows' '
    sql="SELECT name, count(*) AS n, NULL AS missing, avg(dur_ns) FROM kernels GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3" &&
    trace-query -q "$eager" "$sql" >text && trace-query -q -f markdown "$eager" "$sql" >md &&
    trace-query -q -f json "$eager" "$sql" >json && ask "$eager" "$sql" >csv &&
    jq -e ".schema == \"gpuprof/trace-query/1\" and (.columns | length) == 4 and (.rows | length) == 3 and .rows[0][2] == null and
        .sql == \"$sql\" and .inputs[0].gpu_events == 437" json &&
    jq -r ".rows[][1]" json >expect && sed 1d csv | sed "s/.*,\([0-9]*\),,.*/\1/" >got && test_cmp expect got &&
    jq -r ".rows[0][0]" json >name && grep -F -f name text && test $(wc -l <text) = 4 &&
    sed -n 2p md | grep -Fx "|:---|---:|:---|---:|" && test $(wc -l <md) = 5
'

test_expect_success 'standard input, a dash and a file are the same input; -o is written whole or not at all' '
    sql="SELECT kind, count(*) FROM events GROUP BY 1" && ask "$eager" "$sql" >expect && test $(wc -l <expect) = 4 &&
    ask "$sql" <"$eager" >got && test_cmp expect got && ask - "$sql" <"$eager" >got && test_cmp expect got &&
    for threads in 1 8; do ask --threads $threads "$eager" "$sql" >got && test_cmp expect got || return 1; done &&
    ask -o file "$eager" "$sql" >out && test_must_be_empty out && test_cmp expect file &&
    refused "string or blob too big" -o file "$eager" "SELECT zeroblob(1000000000)" && test_cmp expect file &&
    test_expect_code 2 sh -c "trace-query -q \"$eager\" \"$sql\" >/dev/full 2>err" && grep "standard output: write failed" err
'

cat >more <<'END'
DELETE FROM tables
VACUUM INTO 'gone'
ATTACH 'gone' AS x
PRAGMA page_size
SELECT load_extension('x')
CREATE TABLE gone(a)
END
test_expect_success 'what does more than read is refused, and does nothing' '
    while read -r sql; do refused "only statements that read are run" "$eager" "$sql" || return 1; done <more && ! test -e gone &&
    refused "syntax error" "$eager" "SELEC 1" && refused "no such column: no_such" "$eager" "SELECT no_such FROM kernels" &&
    refused "more than one statement" "$eager" "SELECT 1; SELECT 2" && refused "no statement" "$eager" "" && refused "no statement" &&
    refused "is a file: the last operand is the SQL" "$eager" &&
    refused "too long" --timeout 100ms "$eager" "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r" &&
    refused "no table or view \"none\"" --explain none
'

test_expect_success '-i answers statement after statement, and goes on after one that fails' '
    printf "SELECT 1 AS a;\nSELECT\n 2\n AS b;\nSELEC;\nSELECT count(*) AS c FROM events; SELECT 3 AS d" |
        trace-query -q -i -f csv "$eager" >out 2>err &&
    printf "a\n1\nb\n2\nc\n437\nd\n3\n" >expect && test_cmp expect out && test $(wc -l <err) = 1 && grep "syntax error" err &&
    refused "no trace" -i </dev/null
'

test_expect_success 'several files are ranks on one clock' '
    set -- "$samples/h200/ddp.rank0.json.gz" "$samples/h200/ddp.rank1.json.gz" &&
    for f; do ask "$f" "SELECT count(*), sum(dur_ns) FROM events" | sed 1d || return 1; done >expect &&
    ask "$@" "SELECT count(*), sum(dur_ns) FROM events GROUP BY rank" | sed 1d >got && test_cmp expect got &&
    ask "$@" "SELECT rank, gpu_events FROM ranks" | sed 1d | cut -d, -f1 | tr "\n" " " >ranks && grep "^0 1 " ranks &&
    ask "$@" "SELECT count(*) > 0, min(last_rank), max(last_rank) FROM matches" | sed 1d | grep "^1,"
'

forward="SELECT count(*), sum(under(stack, 'Block[.]forward')) FROM kernels WHERE line(stack) = 'plain.py:24'"
test_expect_success 'an exact stack leads to the line of the program, and the backward pass to the line that runs it' '
    ask "$samples/h200/plain.trace" "SELECT line, backward FROM per_line ORDER BY gpu_ns DESC LIMIT 2" | sed 1d >got &&
    printf "plain.py:42,1\nplain.py:49,0\n" >expect && test_cmp expect got &&
    ask "$samples/h200/plain.trace" "$forward" | sed 1d | grep -x "320,320"
'

cat >list.py <<'END'
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
for (name,) in d.execute('SELECT name FROM tables').fetchall():
    print(f"- `{name}`: {', '.join(c[0] for c in d.execute(f'SELECT * FROM {name} LIMIT 0').description)}")
END
test_expect_success 'trace-convert --to sqlite writes what schemas/sqlite-1.md lists, whole or not at all' '
    trace-convert --to sqlite -o x.sqlite "$eager" && python3 list.py x.sqlite >have &&
    sed "1,/^## Tables/d; /^$/d" "$GP_SOURCE/schemas/sqlite-1.md" >said && test_cmp said have &&
    trace-convert --to sqlite "$eager" | cmp - x.sqlite && mkdir tmp &&
    TMPDIR="$PWD/tmp" trace-convert --to sqlite -o x.sqlite "$eager" && test -z "$(ls tmp)" &&
    test_expect_code 2 env "TMPDIR=$PWD/nowhere" trace-convert --to sqlite -o y.sqlite "$eager" 2>err && grep "temporary file" err && ! test -e y.sqlite &&
    test "$(python3 -c "import sqlite3; print(sqlite3.connect(\"x.sqlite\").execute(\"PRAGMA user_version\").fetchone()[0])")" = 1
'

# Statements over the tables and columns that the manual of Nsight Systems and collections of recipes use, and what they are to give.
cat >recipes.py <<'END'
import sqlite3, subprocess, sys
trace, exported = sys.argv[1:]
K, R, M = 'CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_MEMCPY'
same = [
    (f"select streamId, count(*), sum(end - start), max(end) - min(start) from {K} group by 1",
     "select stream, count(*), sum(dur_ns), max(end_ns) - min(start_ns) from kernels group by 1"),
    (f"select value, count(*), sum(k.end - k.start) from {K} as k left join StringIds as s on s.id = k.demangledName group by 1",
     "select name, count(*), sum(dur_ns) from kernels group by 1"),
    (f"select value, count(*), sum(k.end - k.start) from {K} as k join StringIds as s on s.id = k.shortName group by 1",
     "select label, count(*), sum(dur_ns) from kernels group by 1"),
    (f"select value, count(*), sum(r.end - r.start) from {R} as r left join StringIds as s on s.id = r.nameId group by 1",
     "select name, count(*), sum(dur_ns) from calls group by 1"),
    (f"select count(*), sum(k.start - r.end) from {K} as k join {R} as r on r.correlationId = k.correlationId",
     "select count(*), sum(k.start_ns - c.end_ns) from kernels k join calls c on c.id = k.call"),
    (f"select o.label, count(*), sum(bytes), sum(end - start) from {M} join ENUM_CUDA_MEMCPY_OPER o on o.id = copyKind group by 1",
     "select copy_kind, count(*), sum(bytes), sum(dur_ns) from copies group by 1"),
    (f"select a.label, b.label, count(*), sum(m.end - m.start) from {M} m left join ENUM_CUDA_MEM_KIND a on a.id = m.srcKind "
     "left join ENUM_CUDA_MEM_KIND b on b.id = m.dstKind group by 1, 2",
     "select from_memory, to_memory, count(*), sum(dur_ns) from copies group by 1, 2"),
    ("select coalesce(text, value), count(*), sum(n.end - n.start) from NVTX_EVENTS n left join StringIds s on s.id = n.textId "
     "where eventType = 59 group by 1", "select name, count(*), sum(dur_ns) from ranges where kind = 'range' group by 1"),
    (f"select distinct globalTid / 0x1000000 % 0x1000000, globalTid % 0x1000000 from {R}", "select distinct pid, tid from calls"),
    ("select sum(end - start), sum(bytes) from CUPTI_ACTIVITY_KIND_MEMSET", "select sum(dur_ns), sum(bytes) from sets"),
]
db = sqlite3.connect(exported)
for theirs, ours in same:
    asked = [sorted(subprocess.run(['trace-query', '-q', '-f', 'csv', trace, sql], capture_output=True, check=True).stdout.splitlines()[1:])
             for sql in (theirs, ours)]
    assert asked[0] == asked[1] and (asked[0] or 'NVTX' in theirs), (theirs, asked)
    assert sorted(db.execute(theirs), key=str) == sorted(db.execute(ours), key=str), theirs
for missing in 'PROFILER_OVERHEAD', 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION', 'TARGET_INFO_SESSION_START_TIME', 'TARGET_INFO_GPU_METRICS':
    assert not db.execute('SELECT count(*) FROM sqlite_master WHERE name = ?', (missing,)).fetchone()[0], missing
END
test_expect_success 'recipes for Nsight Systems give what our own tables do, in memory and in the exported file' '
    ask "$samples/h200/ranges.trace" "SELECT count(*) FROM NVTX_EVENTS" | sed 1d | grep "^[1-9]" &&
    for trace in eager.trace ranges.trace native.trace; do
        trace-convert -q --to sqlite -o recipes.sqlite "$samples/h200/$trace" && python3 recipes.py "$samples/h200/$trace" recipes.sqlite || return 1
    done
'

cat >events.py <<'END'
import gputrace, sys
def column(table, name): return list(table[name])
events, none = gputrace.events(sys.argv[1]), gputrace.query(sys.argv[1], 'SELECT 1 AS a WHERE 0')
starts = column(events, 'start_ns')
print(len(starts), sum(column(events, 'dur_ns')), starts == sorted(starts), len(column(none, 'a')))
try:
    gputrace.query(sys.argv[1], 'SELEC')
except RuntimeError as e:
    print(e)
END
test_expect_success 'gputrace.events() has all events, and what trace-query refuses is an exception' '
    PYTHONPATH="$GP_BIN/../python" python3 events.py "$eager" >got &&
    printf "437 3208798 True 0\ntrace-query: near \"SELEC\": syntax error\n" >expect && test_cmp expect got
'

# tests/unit/pc_make.h: line 7 of k.cu has 6,000 samples that wait for memory, in two rows; another kernel has no lines.
test_expect_success 'stalls: rows of program counters, and gputrace.stalls() sums them up by instruction and reason' '
    "$GP_BIN/../tests/make_metrics" stalls.trace stalls &&
    ask stalls.trace "SELECT sum(samples), sum(latency_samples), count(line), count(*), count(correlation) FROM stalls" | sed 1d >got &&
    echo 11000,8500,8,11,0 >expect && test_cmp expect got &&
    ask stalls.trace "SELECT recorded_name, name, file, line, offset, reason, samples FROM stalls WHERE line IS NULL ORDER BY offset LIMIT 1" | sed 1d >got &&
    echo "_Z4bareiPf,\"bare(int, float*)\",,,16,selected,100" >expect && test_cmp expect got &&
    echo "import gputrace; s = gputrace.stalls(\"stalls.trace\"); print(*(list(s[c])[0] for c in (\"name\", \"file\", \"line\", \"offset\", \"reason\", \"samples\", \"latency_samples\")))" >stalls.py &&
    PYTHONPATH="$GP_BIN/../python" python3 stalls.py >got && echo "k k.cu 7 16 long_scoreboard 6000 5700" >expect && test_cmp expect got
'

# GP_SAMPLES: others than a few; all of them take a minute.
test_expect_success PLAIN 'fifty questions have the answers of trace-hta, of sums made apart, and of the exported file' '
    python3 "$GP_SOURCE/tests/cli/query_questions.py" ${GP_SAMPLES:-"$eager" "$samples/h200/ddp.trace" "$samples/h200/plain.trace" \
        "$samples/h200/decode_graph.json.gz" "$samples/counters/step.trace" "$samples/broken/corrupt_duration.json" "$samples/broken/early_ts.json"}
'

test_expect_success 'of a trace measured kernel by kernel there are no steps, no idle time and no delays' '
    trace-query "$samples/counters/step.trace" "SELECT 1" 2>err && grep "measured kernel by kernel" err &&
    trace-query "$samples/broken/corrupt_duration.json" "SELECT verdict FROM ranks" >out 2>err && grep repaired out && grep "impossible duration: 1" err &&
    ask "$samples/counters/step.trace" "SELECT (SELECT count(*) FROM steps) + (SELECT count(*) FROM idle) + (SELECT count(*) FROM waits) AS n,
        count(*) > 0, count(delay_ns), count(step) FROM kernels" | sed 1d >got && echo 0,1,0,0 >expect && test_cmp expect got
'

test_done
