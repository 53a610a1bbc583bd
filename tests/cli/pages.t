#!/bin/sh
# The pages that are read from top to bottom, each of an input with something wrong in it: what that is stands before the verdict,
# and the rest in the order that render/page/README.md gives (check_page.py). The page of gpuprof-measure --op: pipe/calibrate.t.
test_description='pages: what stands where'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

"$GP_BIN"/../tests/make_metrics hand.trace
# A trace that was cut off after its only kernel.
echo '[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":100,"dur":40,"args":{"device":0,"stream":7}},{"ph":' >cut.json

# in_order TOOL ARG... -- the page of TOOL says what is wrong with the input, then the verdict.
in_order() {
    "$@" >page.html &&
        grep '<section class="quality"' page.html && grep '<section class="verdict"' page.html &&
        python3 -S "$GP_SOURCE"/tests/cli/check_page.py page.html
}

test_expect_success 'trace-hta' 'in_order trace-hta -q -f html cut.json'
test_expect_success 'trace-suggest' 'in_order trace-suggest -q -f html "$samples/h200/eager.json.gz"'
test_expect_success 'trace-diff' '
    in_order trace-diff -q -f html --gate none "$samples/pairs/small_fused.trace" "$samples/pairs/small_forloop.trace"
'
test_expect_success 'trace-memory' 'in_order trace-memory -q -f html "$samples/memory/tail.pickle.gz"'
test_expect_success 'trace-compile' 'in_order trace-compile -q -f html "$samples/compile/h200/killed"'
test_expect_success 'trace-metrics' 'in_order trace-metrics -q -f html hand.trace'

# An order that is wrong is seen: the page of trace-metrics with its verdict first.
test_expect_success 'a page in another order is refused' '
    python3 -S -c "
import re, sys
quality, verdict = re.search(r\"(<section class=.quality.*?</section>\s*)(<section class=.verdict.*?</section>\s*)\", (s := sys.stdin.read()), re.S).groups()
print(s.replace(quality + verdict, verdict + quality))" <page.html >wrong.html &&
    test_must_fail python3 -S "$GP_SOURCE"/tests/cli/check_page.py wrong.html 2>err && grep "AssertionError: .*verdict.*quality" err
'

test_done
