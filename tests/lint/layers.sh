#!/bin/sh
# Who includes whom. Layers: formats/base < formats < analyze < render, and collect beside analyze. A layer has wings,
# its subfolders, each with a row of its own below. A file named like a tool may include anything and nobody includes it.
# Includes are written from the root; tests may name what lies beside them.
. "$(dirname "$0")/lib.sh"

# FILE:LINE: INCLUDED, for every #include "..." of the tree in the current folder.
includes() {
    find formats analyze render collect tests -name '*.[ch]' -type f 2>/dev/null | sort |
        xargs -r grep -nE '^[ \t]*#[ \t]*include[ \t]*"' /dev/null |
        sed -E 's/^([^:]*):([0-9]+):[^"]*"([^"]*)".*/\1 \2 \3/'
}

violations() {
    includes | awk -v tools="$(tools | tr '\n' ' ')" '
    # The wing that a file lies in: its folder. Of tests only that they are tests.
    function wing(path) {
        if (path ~ /^tests\//) return "tests"
        if (path !~ /^(formats|analyze|render|collect)\//) return "?"
        sub(/\/[^\/]*$/, "", path)
        return path
    }
    function base_name(path) { sub(/.*\//, "", path); sub(/\.[ch]$/, "", path); return path }
    # What only mains may include, and analyze/ranks, the body of two mains; of these the front door may include the others.
    function for_mains(path) {
        return path ~ /^formats\/base\/(cli|completion|option|progress)\.[ch]$/ || path ~ /^analyze\/front\//
    }
    function complain(why) { printf "%s:%s: includes \"%s\": %s\n", $1, $2, $3, why }
    # What a wing may include besides itself and formats/base; of a layer above it, a single header by its path.
    function row(name, wings) { known[name] = 1; allowed[name] = " " name " formats/base " wings " " }
    function model() { return "formats/trace.h" }
    BEGIN {
        n = split(tools, t, " ")
        for (i = 1; i <= n; i++) is_tool[t[i]] = 1
        row("formats/base", "")
        row("formats", "formats/chrome formats/gpt formats/perfetto formats/sqlite formats/nsys formats/rocpd")
        row("formats/chrome", "formats/trace.h formats/nodes.h formats/reader.h")
        row("formats/gpt", "formats/trace.h formats/metric.h formats/nodes.h formats/reader.h")
        row("formats/perfetto", "formats/trace.h")
        row("formats/pickle", "formats/trace.h")
        row("formats/sqlite", "formats/trace.h formats/reader.h")
        row("formats/nsys", "formats/trace.h formats/cuda_names.h formats/nvtx_op.h formats/sqlite")
        row("formats/rocpd", "formats/trace.h formats/cuda_names.h formats/sqlite")
        row("collect/counters", "formats/trace.h formats/metric.h formats/meta_keys.h")
        row("collect", "collect/counters collect/cut formats formats/gpt")
        row("collect/cut", "collect/wire.h formats formats/gpt")
        row("collect/python", "collect/gpuprof.h")
        row("collect/inject", "collect collect/counters formats formats/gpt")
        row("collect/metrics", model() " formats/openmetrics.h analyze/names analyze/view")
        row("collect/bench", "")
        row("collect/calibrate", "collect/launcher formats/ceilings_cache.h analyze/calibrate render/calibrate")
        row("collect/digest", "formats/gpt")
        row("collect/live", "formats/listen.h formats/gpt")
        row("collect/pm", "collect/counters formats formats/gpt")
        row("collect/launcher", "collect/pm collect/metrics collect/digest collect/live collect/sample collect collect/counters formats formats/gpt")
        row("collect/sample", "formats formats/gpt")
        row("analyze/math", "")
        row("analyze/names", model() " formats/samples.h")
        row("analyze/result", "analyze/math analyze/names")
        row("analyze/cost", model() " formats/ceilings_read.h analyze/math analyze/names analyze/result")
        row("analyze/calibrate", "formats/ceilings_read.h analyze/names analyze/cost analyze/result")
        row("analyze/view", model() " analyze/math analyze/names analyze/result")
        row("analyze/front", model() " formats/metric.h formats/join.h formats/pickle analyze/memory analyze/hta formats/ceilings_cache.h formats/ceilings_read.h analyze/cost formats/folded_read.h formats/reader.h formats/compile_log analyze/compile analyze/math analyze/names analyze/view")
        row("analyze/ranks", model() " formats/reader.h analyze/math analyze/result analyze/front analyze/fleet analyze/hta analyze/names analyze/view render/hta render/report")
        row("analyze/stacks", model() " analyze/math analyze/names analyze/view")
        row("analyze/fleet", "analyze/math analyze/result")
        row("analyze/hta", model() " analyze/result formats/meta_keys.h formats/metric.h analyze/math analyze/fleet analyze/names analyze/cost analyze/view")
        row("analyze/watch", model() " formats/listen.h formats/reader.h formats/gpt analyze/math analyze/result analyze/fleet analyze/hta")
        row("analyze/lanes", model() " formats/metric.h analyze/math analyze/names analyze/view analyze/hta")
        row("analyze/diff", model() " formats/expect_read.h analyze/math analyze/result analyze/names analyze/view analyze/stacks")
        row("formats/compile_log", "")
        row("analyze/compile", model() " formats/compile_log analyze/result analyze/math analyze/names analyze/cost analyze/view analyze/diff")
        row("analyze/suggest", model() " formats/metric.h analyze/result analyze/math analyze/names analyze/cost analyze/metrics analyze/view analyze/hta")
        row("analyze/memory", model() " formats/pickle analyze/result analyze/math analyze/names analyze/view")
        row("analyze/metrics", model() " formats/metric.h analyze/result analyze/math analyze/names analyze/cost analyze/view")
        row("render/draw", "analyze/names")
        row("render/report", "render/draw analyze/math analyze/names analyze/result analyze/view")
        row("render/page", "render/draw render/report analyze/cost")
        below = " analyze/math analyze/names analyze/result analyze/view render/draw render/report render/page "
        row("render/calibrate", "analyze/calibrate" below)
        row("render/flame", model() " analyze/stacks" below)
        row("render/timeline", model() " formats/writer.h analyze/lanes analyze/hta" below)
        row("render/hta", model() " formats/openmetrics.h analyze/fleet analyze/hta" below)
        row("render/schema", "render/hta formats/reader.h analyze/calibrate analyze/compile analyze/diff analyze/hta analyze/memory analyze/suggest analyze/metrics analyze/watch" below)
        row("render/watch", "formats/openmetrics.h analyze/result analyze/fleet analyze/watch")
        row("render/diff", model() " analyze/diff render/flame" below)
        row("render/compile", model() " analyze/compile formats/compile_log analyze/diff" below)
        row("render/suggest", model() " analyze/suggest analyze/cost" below)
        row("render/serve", "formats/reader.h formats/listen.h formats/trace.h formats/pickle formats/compile_log render/page")
        row("render/metrics", model() " formats/metric.h analyze/metrics analyze/cost" below)
        row("render/memory", model() " formats/pickle analyze/memory analyze/stacks render/flame" below)
    }
    {
        from = wing($1); to = wing($3)
        if (to == "?") {
            beside = $1
            sub(/[^\/]*$/, "", beside)
            if (from == "tests" && $3 !~ /\// && (getline line < (beside $3)) >= 0) { close(beside $3); next }
            if ($3 !~ /^nvtx3\// || from !~ /^collect/) complain("not written from the root")
            next
        }
        if ((getline line < $3) < 0) { complain("no such file"); next }
        close($3)
        if ($3 ~ /\.c$/) complain("sources are not included")
        if ($3 ~ /_(priv|table)\.h$/ && from != to && from != "tests") complain("private to " to)
        if (base_name($1) in is_tool && from != "tests") next
        if (base_name($3) in is_tool) complain("a tool is a leaf")
        if (for_mains($3) && !for_mains($1) && from != "tests" && from != "analyze/ranks") complain("only mains use it")
        if (from == "tests") next
        if (!known[from] && from ~ /^formats\/[^\/]+$/) row(from, "formats/trace.h formats/reader.h") # a reader
        if (!known[from]) { complain(from " has no row in layers.sh"); next }
        if (index(allowed[from], " " to " ") || index(allowed[from], " " $3 " ")) next
        complain(from " does not know " to)
    }'
}

plant() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/formats/base" "$scratch/tree/formats/chrome" "$scratch/tree/collect" \
        "$scratch/tree/analyze/math" "$scratch/tree/analyze/hta" "$scratch/tree/analyze/diff" "$scratch/tree/render/hta" \
        "$scratch/tree/analyze/front"
    cd "$scratch/tree" || exit 1
    echo 'gp_tool(trace-hta DEPENDS gp_analyze)' >analyze/CMakeLists.txt
    for h in formats/base/err.h formats/base/cli.h formats/base/x_priv.h analyze/hta/x_table.h formats/trace.h formats/reader.h \
        formats/chrome/c.h analyze/front/f.h analyze/math/a.h analyze/hta/a.h analyze/hta/a_priv.h render/hta/r.h collect/c.h; do : >$h; done
    {
        echo '#include "formats/reader.h"'
        echo '#include "render/hta/r.h"'
        echo '#include "formats/base/cli.h"'
        echo '#include "analyze/front/f.h"'
    } >analyze/trace-hta.c # all of it allowed
    printf '#include "formats/base/cli.h"\n#include "formats/reader.h"\n' >analyze/front/good.c
    printf '#include "formats/trace.h"\n#include "formats/base/err.h"\n#include <stdio.h>\n' >analyze/hta/good.c
    mkdir -p "$(dirname "$1")"
    printf '\n#include "%s"\n' "$2" >"$1"
    violations
}

self_test() {
    finds "planted: $1 includes $2" "^$1:2: .*$3" eval "(plant $1 $2)"
}

clean "includes point downwards" violations
clean "an allowed tree has no complaints" eval '(plant render/hta/ok.c analyze/hta/a.h)'
self_test formats/base/bad.c formats/trace.h "formats/base does not know formats"
self_test formats/bad.h analyze/math/a.h "formats does not know analyze/math"
self_test formats/chrome/bad.c collect/c.h "formats/chrome does not know collect"
self_test analyze/hta/bad.c formats/reader.h "analyze/hta does not know formats"
self_test analyze/hta/bad.c render/hta/r.h "analyze/hta does not know render/hta"
self_test analyze/math/bad.c analyze/hta/a.h "analyze/math does not know analyze/hta"
self_test analyze/diff/bad.c analyze/hta/a.h "analyze/diff does not know analyze/hta"
self_test analyze/new/bad.c analyze/math/a.h "analyze/new has no row"
self_test render/hta/bad.c formats/reader.h "render/hta does not know formats"
self_test collect/bad.c analyze/hta/a.h "collect does not know analyze/hta"
self_test render/hta/bad.c formats/base/cli.h "only mains use it"
self_test render/hta/bad.c analyze/front/f.h "only mains use it"
self_test analyze/front/bad.c render/hta/r.h "analyze/front does not know render/hta"
self_test render/hta/bad.c analyze/trace-hta.c "a tool is a leaf"
self_test render/hta/bad.c r.h "not written from the root"
self_test render/hta/bad.c render/hta/none.h "no such file"
self_test render/hta/bad.c formats/base/x_priv.h "private to formats/base"
self_test analyze/diff/bad.c analyze/hta/a_priv.h "private to analyze/hta"
self_test analyze/diff/bad.c analyze/hta/x_table.h "private to analyze/hta"
self_test tests/unit/bad.c analyze/hta/good.c "sources are not included"
done_checking
