#!/bin/sh
test_description='a column of a table is what JSON calls by that name: values, nulls, numbers'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

columns() { python3 -S "$GP_SOURCE/tests/schema/columns.py" "$@"; }

# sums LIST OF < OUT -- of what columns says of several tables of OF: appends to `compared` each table, and 1 if it has as many columns
# as its line in LIST says at least; and to `wrong` what differs.
sums() {
    awk -v of="$2" '
        NR == FNR { least[$1] = $NF; next }
        { name = $1; sub(/:$/, "", name); sub(/^csv\.|^page#/, "", name) }
        NF == 3 && $3 == "columns" { print name, ($2 >= least[name]) >>"compared"; next }
        { print of ": " $0 >>"wrong" }' "$1" -
}

# Those of trace-hta that are lists of JSON: TABLE PATH, and the columns that every one of them shares at least.
cat >tables <<'END'
kernels kernels 18
operators operators 7
operators_by_shape operators_by_shape 14
ranges ranges 7
modules modules 7
api api 8
graphs graphs 13
collectives collectives 13
collective_list collective_matching.matches 14
stragglers stragglers 5
offsets clock_offsets 4
copies copies 9
memory memory 9
range_memory range_memory 9
findings findings 6
devices devices 22
streams devices.streams 17
steps steps 8
step_list steps.each 20
critical_names critical_path.paths.names 5
inputs inputs 7
quality inputs.issues 3
END

test_expect_success 'tables of trace-hta, for every sample' '
    : >compared && : >wrong &&
    for f in "$samples"/h200/*.json.gz "$samples"/h200/*.trace; do
        trace-hta -q -f json -n 0 --each-step --whole "$f" >report 2>/dev/null || continue
        set -- &&
        while read -r table path least; do
            trace-hta -q -f csv -n 0 --whole -t "$table" "$f" >csv.$table && test -s csv.$table && set -- "$@" csv.$table "$path"
        done <tables
        columns report "$@" | sums tables "$(basename "$f")" || return 1
    done &&
    head -n 20 wrong && test ! -s wrong && ! grep " 0\$" compared && test "$(sort -u compared | wc -l)" -ge 21
'

test_expect_success 'several ranks' '
    trace-hta -q -f json -n 0 --whole "$samples"/h200/ddp.rank*.json.gz >report &&
    for t in "collective_list collective_matching.matches" "stragglers stragglers" "offsets clock_offsets"; do
        trace-hta -q -f csv -n 0 --whole -t ${t% *} "$samples"/h200/ddp.rank*.json.gz >csv && test -s csv || continue
        columns report csv ${t#* } >out && test "$(wc -l <out)" = 1 || { cat out; return 1; }
    done
'

test_expect_success 'figures of trace-hta have the names and values of JSON' '
    for f in "$samples"/h200/eager.json.gz "$samples"/h200/graph.trace; do
        trace-hta -q -f json --whole "$f" >report && trace-hta -q -f csv -t launches "$f" >csv || return 1
        python3 -S -c "if True:
            import csv, json
            launches, lines = json.load(open(\"report\"))[\"launches\"], list(csv.DictReader(open(\"csv\")))
            assert len(lines) >= 5
            for line in lines:
                if line[\"figure\"] != \"unlinked\":
                    assert int(line[\"value\"]) == launches[line[\"figure\"]], line" || return 1
    done
'

# trace-diff has its tables on a page only: TABLE PATH, and the columns that every one of them shares at least.
cat >diff_tables <<'END'
operations operations 17
blocks blocks 6
metrics metrics 7
gates gates 3
predictions predictions 2
step_list step_list 8
END

test_expect_success 'tables of trace-diff' '
    : >compared && : >wrong &&
    echo "{\"schema\": \"gpuprof/expect/1\", \"predictions\": [{\"metric\": \"step\", \"low_ns\": -3, \"high_ns\": 1},
        {\"idle\": \"host\", \"low_pct\": -80, \"high_pct\": -60}, {\"metric\": \"peak_mem\", \"low\": 1, \"high\": 2}]}" >expected &&
    for pair in "small small_compiled" "decode decode_graph" "mlp_pageable mlp_pinned"; do
        set -- "$samples/pairs/${pair% *}.trace" "$samples/pairs/${pair#* }.trace" &&
        status_of trace-diff -q --gate op:5% --gate step:1ms --expect expected -f json "$@" &&
        jq ".metrics |= map(select([.baseline_ns, .baseline_bytes, .baseline, .current_ns, .current_bytes, .current] |
            any(. != null and . != 0)))" out >report && # the page leaves out what is 0
        status_of trace-diff -q --gate op:5% --gate step:1ms --expect expected -f html "$@" && mv out page || return 1
        while read -r table path least; do
            columns report "page#$table" "$path" >out || return 1
            tail -n 1 out | { read -r n rest && { test "$n" = 0 || echo "$table $((n >= least))" >>compared; }; }
            sed "\$d; s|^|$pair $table: |" out >>wrong
        done <diff_tables
    done &&
    head -n 20 wrong && test ! -s wrong && ! grep " 0\$" compared && test "$(sort -u compared | wc -l)" = 6
'

# trace-suggest has no CSV: its page.
test_expect_success 'tables of the page of trace-suggest, for every sample' '
    for f in "$samples"/h200/*.trace "$samples"/pairs/train.json.gz "--counters $samples/counters/step.trace $samples/counters/timing.trace"; do
        trace-suggest -q -f json -n 0 $f >report && trace-suggest -q -f html -n 0 $f >page || return 1
        columns report "page#kernels" regime.kernels >out && test "$(wc -l <out)" = 1 || { echo "$f" && cat out; return 1; }
        cat out >>counts
    done &&
    test "$(sort -n counts | head -n 1)" = "6 columns" && test "$(sort -n counts | tail -n 1)" = "8 columns"
'

# Those of trace-memory. Holders by stack are rows of JSON; people see stacks of one name as one row.
cat >memory_tables <<'END'
devices devices 25
holders holders 11
growth growth 11
ooms ooms 11
pools fragmentation.by_pool 12
outside outside 5
churn churn 8
ranges ranges 8
operators operators 8
lifetimes lifetimes 5
END

test_expect_success 'tables of trace-memory, for every sample' '
    : >compared && : >wrong &&
    for f in "$samples"/memory/*.pickle.gz "$samples"/memory/*.json.gz "$samples"/h200/managed.trace \
        "$samples/memory/ddp.rank0.pickle.gz $samples/memory/ddp.rank1.pickle.gz" \
        "$samples/memory/leak_collected.pickle.gz $samples/memory/leak.trace"; do
        trace-memory -q -f json --by range $f >report || return 1
        set -- &&
        while read -r table path least; do
            trace-memory -q -f csv --by range -t "$table" $f >csv.$table 2>/dev/null && test -s csv.$table && set -- "$@" csv.$table "$path"
        done <memory_tables
        columns report "$@" | sums memory_tables "$(basename "$f")" || return 1
    done &&
    head -n 20 wrong && test ! -s wrong && ! grep " 0\$" compared && test "$(sort -u compared | wc -l)" = 10
'

test_expect_success 'tables of the page of trace-memory' '
    m="$samples"/memory && : >pages &&
    for f in $m/leak.pickle.gz $m/profile.json.gz $m/oom_others.pickle.gz "$m/ddp.rank0.pickle.gz $m/ddp.rank1.pickle.gz"; do
        trace-memory -q -f json --by range $f >report && trace-memory -q -f html -n 0 --by range $f >page || return 1
        for t in devices holders growth ooms churn ranges operators lifetimes; do
            grep -q "<details class=\"table\" id=\"$t\"" page || continue
            columns report "page#$t" $t >out && test "$(wc -l <out)" = 1 || { echo "$f $t" && cat out; return 1; }
            echo "$t $(cat out)" >>pages
        done
    done &&
    test "$(cut -d" " -f1 pages | sort -u | wc -l)" = 8 && ! grep " 0 columns" pages
'

test_expect_success 'what trace-memory compares' '
    set -- --base "$samples"/memory/leak.pickle.gz "$samples"/memory/steady.pickle.gz &&
    trace-memory -q -f json "$@" >report && trace-memory -q -f csv -t comparison "$@" >csv &&
    columns report csv comparison.holders >out && test "$(cat out)" = "7 columns"
'

# That of trace-compile has the longest compiles first, and the kernels of all graphs: ID, and the columns that JSON has, too, in
# the run that knows most.
cat >compile_tables <<'END'
breaks 9
recompiles 4
frames 5
kernels 5
modes 7
END

test_expect_success 'tables of the page of trace-compile, for every run' '
    : >compared && : >wrong && runs=$samples/compile/h200 &&
    for run in "$runs"/* modes; do
        set -- "$run"/*[ze] && if test "$run" = modes; then set -- --eager "$runs/eager/steps.json.gz" "$runs"/warm/*; fi &&
        trace-compile -q -f html -n 0 "$@" >page && trace-compile -q -f json "$@" >whole &&
        jq "{breaks, recompiles, modes: .speedup.modes, frames: .frames | sort_by(-.total_ns),
             kernels: [.graphs[].kernels[]] | sort_by(-(.gpu_ns // -1), -(.compile_ns // -1))}" whole >report || return 1
        columns report $(while read -r table least; do echo "page#$table $table"; done <compile_tables) |
            sums compile_tables "$(basename "$run")" || return 1
    done &&
    head -n 20 wrong && test ! -s wrong && test "$(sort -u compared | grep -c " 1\$")" = 5
'

# Of trace-metrics, seven columns and four or three for each metric; and the page.
test_expect_success 'tables of trace-metrics, by kernel, launch and range' '
    for f in "$samples"/counters/step.trace "--per launch $samples/counters/step.trace" "--per range $samples/counters/range.trace" \
        "--join $samples/counters/timing.trace $samples/counters/step.trace"; do
        trace-metrics -q -f json -n 0 $f >report && trace-metrics -q -f csv --wide -n 0 $f >csv && trace-metrics -q -f html -n 0 $f >page || return 1
        jq ".metrics | 7 + 3 * length + (map(select(.reduce == \"sum\")) | length) | \"\(.) columns\"" -r report >expect &&
        columns report csv groups >out && test_cmp expect out && columns report "page#groups" groups >out && test "$(wc -l <out)" = 1 && cat out || return 1
    done >counts && test "$(sort -u counts | tr "\n" " ")" = "7 columns 8 columns 9 columns "
'

test_expect_success 'the comparison finds a value, a null and a number of another kind' '
    echo "{\"rows\": [{\"a_ns\": 1.5, \"b\": null, \"c\": {\"d\": 2}, \"e\": true}]}" >report &&
    printf "a_ns,b,c_d,e\n1.5,,2,true\n" >csv && columns report csv rows >out && test "$(cat out)" = "4 columns" &&
    printf "a_ns,b,c_d,e\n1,0,2.0,yes\n" >csv && columns report csv rows >out && test "$(wc -l <out)" = 5 &&
    { echo "<details id=t><table><tr><th data-id=a_ns><th data-id=b><tbody>" &&
      echo "<tr><td class=n data-v=1.50001>1.50<td>-</tr></tbody>"; } >page && columns report "page#t" rows >out && test "$(cat out)" = "2 columns" &&
    sed "s/1.50001/1.501/; s/-</x</" page >other && columns report "other#t" rows >out && test "$(wc -l <out)" = 3
'

test_done
