#!/bin/sh
test_description='eight GPUs, in one trace and in one per rank: every tool, every format, sums by hand'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

make_gpus=$GP_SOURCE/tests/cli/make_gpus.py
for n in 1 2 6 7 8 16; do python3 -S "$make_gpus" $n >gpus$n.json || exit 1; done
for rank in 0 1 2 3 4 5 6 7; do python3 -S "$make_gpus" 8 $rank >rank$rank.json || exit 1; done

# Of each device: 3 x (300 + 200 + 40 + 100) us busy, from 10100 us to 12800 us.
test_expect_success 'the sums of eight devices' '
    trace-hta -q -f json -o hta.json gpus8.json &&
    python3 -S - hta.json <<END
import json, sys
d = json.load(open(sys.argv[1]))["devices"]
assert len(d) == 8, len(d)
for k in d:
    assert (k["span_ns"], k["busy_ns"], k["compute_ns"], k["memory_ns"], k["communication_ns"]) == \
        (2700000, 1920000, 1500000, 120000, 300000), k
END
'

test_expect_success 'binary and back: the same events' '
    trace-convert -q -o gpus8.trace gpus8.json &&
    trace-convert -q --to chrome -o back.json gpus8.trace &&
    python3 -S "$GP_SOURCE/tests/cli/same_events.py" gpus8.json back.json
'

test_expect_success 'flame graphs hold the time of all devices' '
    trace2flame -q -f folded gpus8.json | awk "{ sum += \$NF } END { print sum }" >sum &&
    echo $((8 * 1920000)) >expect && test_cmp expect sum &&
    for format in svg html folded speedscope pprof; do
        for weight in gpu cpu count bytes idle; do
            trace2flame -q -f $format -w $weight -o flame.out gpus8.json || return 1
        done
    done
'

# Counters of later devices are made while those of earlier ones are there: 6 and 8 used to end in a crash.
test_expect_success 'timelines of 1 to 16 devices' '
    for n in 1 2 6 7 8 16; do
        for format in html svg chrome; do
            trace2timeline -q -f $format -o timeline.out gpus$n.json || return 1
        done
    done &&
    trace2timeline -q --max-size 100K -o timeline.out gpus8.json
'

command -v node >/dev/null 2>&1 && test_set_prereq NODE
test_expect_success NODE 'every device has its three counters in the page' '
    trace2timeline -q -o page.html gpus8.json &&
    node "$GP_SOURCE/tests/timeline/dump.js" page.html >dump &&
    for device in 0 1 2 3 4 5 6 7; do
        for counter in busy queue copies; do
            grep -q "gpu $device/$counter" dump || { echo "no $counter of $device"; return 1; }
        done
    done
'

test_expect_success 'reports of one trace' '
    for format in text json csv html dot; do
        trace-hta -q -f $format -o hta.out gpus8.json || return 1
    done &&
    for format in text json html dot; do
        trace-suggest -q -f $format -o suggest.out gpus8.json || return 1
    done
'

test_expect_success 'reports of eight ranks, together and merged from parts' '
    for format in text json csv html dot; do
        trace-hta -q -f $format -o all.$format rank?.json || return 1
    done &&
    trace-hta -q --save-partial a.part rank[0-3].json &&
    trace-hta -q --save-partial b.part rank[4-7].json &&
    trace-hta -q --merge -f csv -o merged.csv a.part b.part &&
    test_cmp all.csv merged.csv
'

test_expect_success 'eight ranks against eight ranks, and one trace against itself' '
    for format in text json html svg folded dot; do
        trace-diff -q -f $format -o diff.out gpus8.json gpus8.json || return 1
    done &&
    trace-diff -q -f json -o diff.json --base rank?.json --current rank?.json &&
    python3 -S -c "import json; assert json.load(open(\"diff.json\"))[\"total\"][\"change_ns\"] == 0"
'

test_done
