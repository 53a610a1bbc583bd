#!/bin/sh
# Who includes whom: formats/base < formats < analyze < render, and collect beside analyze. A file named like a tool may
# include anything and nobody includes it. Includes are written from the root; tests may name what lies beside them.
. "$(dirname "$0")/lib.sh"

# FILE:LINE: INCLUDED, for every #include "..." of the tree in the current folder.
includes() {
    find formats analyze render collect tests -name '*.[ch]' -type f 2>/dev/null | sort |
        xargs -r grep -nE '^[ \t]*#[ \t]*include[ \t]*"' /dev/null |
        sed -E 's/^([^:]*):([0-9]+):[^"]*"([^"]*)".*/\1 \2 \3/'
}

violations() {
    includes | awk -v tools="$(tools | tr '\n' ' ')" '
    function layer(path) {
        if (path ~ /^formats\/base\//) return "base"
        if (path ~ /^(formats|analyze|render|collect|tests)\//) return substr(path, 1, index(path, "/") - 1)
        return "?"
    }
    function base_name(path) { sub(/.*\//, "", path); sub(/\.[ch]$/, "", path); return path }
    function for_mains(path) { return path ~ /^formats\/base\/(cli|progress)\.[ch]$/ }
    function complain(why) { printf "%s:%s: includes \"%s\": %s\n", $1, $2, $3, why }
    BEGIN {
        n = split(tools, t, " ")
        for (i = 1; i <= n; i++) is_tool[t[i]] = 1
        allowed["base"] = " base "
        allowed["formats"] = " base formats "
        allowed["analyze"] = " base analyze "     # and formats/trace.h
        allowed["render"] = " base analyze render " # and formats/trace.h
        allowed["collect"] = " base formats collect "
        allowed["tests"] = " base formats analyze render collect tests "
    }
    {
        from = layer($1); to = layer($3)
        if (to == "?") {
            beside = $1
            sub(/[^\/]*$/, "", beside)
            if (from == "tests" && $3 !~ /\// && (getline line < (beside $3)) >= 0) { close(beside $3); next }
            if ($3 !~ /^nvtx3\// || from != "collect") complain("not written from the root")
            next
        }
        if ((getline line < $3) < 0) { complain("no such file"); next }
        close($3)
        if ($3 ~ /\.c$/) complain("sources are not included")
        if ($3 ~ /_priv\.h$/ && layer($1) != to) complain("private to " to)
        if (base_name($1) in is_tool && from != "tests") next
        if (base_name($3) in is_tool) complain("a tool is a leaf")
        if (for_mains($3) && !for_mains($1) && from != "tests") complain("only mains use it")
        if (index(allowed[from], " " to " ")) next
        if ((from == "analyze" || from == "render") && $3 == "formats/trace.h") next
        complain(from " does not know " to)
    }'
}

plant() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/formats/base" "$scratch/tree/analyze" "$scratch/tree/render" "$scratch/tree/collect"
    cd "$scratch/tree" || exit 1
    echo 'gp_tool(trace-hta DEPENDS gp_analyze)' >analyze/CMakeLists.txt
    for h in formats/base/err.h formats/base/cli.h formats/base/x_priv.h formats/trace.h formats/reader.h \
        analyze/a.h render/r.h collect/c.h; do : >$h; done
    {
        echo '#include "formats/reader.h"'
        echo '#include "render/r.h"'
        echo '#include "formats/base/cli.h"'
    } >analyze/trace-hta.c # all of it allowed
    printf '#include "formats/trace.h"\n#include "formats/base/err.h"\n#include <stdio.h>\n' >analyze/good.c
    mkdir -p "$(dirname "$1")"
    printf '\n#include "%s"\n' "$2" >"$1"
    violations
}

self_test() {
    finds "planted: $1 includes $2" "^$1:2: .*$3" eval "(plant $1 $2)"
}

clean "includes point downwards" violations
clean "an allowed tree has no complaints" eval '(plant render/ok.c analyze/a.h)'
self_test formats/base/bad.c formats/trace.h "base does not know formats"
self_test formats/bad.h analyze/a.h "formats does not know analyze"
self_test analyze/bad.c formats/reader.h "analyze does not know formats"
self_test analyze/bad.c render/r.h "analyze does not know render"
self_test render/bad.c formats/reader.h "render does not know formats"
self_test collect/bad.c analyze/a.h "collect does not know analyze"
self_test render/bad.c formats/base/cli.h "only mains use it"
self_test render/bad.c analyze/trace-hta.c "a tool is a leaf"
self_test render/bad.c r.h "not written from the root"
self_test render/bad.c render/none.h "no such file"
self_test render/bad.c formats/base/x_priv.h "private to base"
self_test tests/unit/bad.c analyze/good.c "sources are not included"
done_checking
