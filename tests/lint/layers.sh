#!/bin/sh
# Who includes whom. Layers: formats/base < formats < analyze < render, and collect beside analyze. A layer has wings, its
# subfolders, each a library whose gp_wing() says what it may include. A file named like a tool may include anything and nobody
# includes it.
# Includes are written from the root; tests may name what lies beside them.
. "$(dirname "$0")/lib.sh"

# FILE:LINE: INCLUDED, for every #include "..." of the tree in the current folder.
includes() {
    find formats analyze render collect tests -name '*.[ch]' -type f 2>/dev/null | sort |
        xargs -r grep -nE '^[ \t]*#[ \t]*include[ \t]*"' /dev/null |
        sed -E 's/^([^:]*):([0-9]+):[^"]*"([^"]*)".*/\1 \2 \3/'
}

# WING DEPENDENCY, for each wing and each folder that CMake lets it include; WING - where there is none.
rows() {
    cat formats/*/CMakeLists.txt formats/CMakeLists.txt analyze/CMakeLists.txt render/CMakeLists.txt \
        collect/CMakeLists.txt 2>/dev/null | sed 's/#.*//' | tr '\n' ' ' | grep -oE 'gp_(wing|reader)\([^)]*\)' |
        sed -E 's/gp_reader\(([a-z_]+)/gp_wing(formats\/\1 formats\/model/; s/^gp_wing\(//; s/\)$//' |
        awk '$1 !~ /[$]/ {
            print $1, "-"
            for (i = 2; i <= NF; i++) if ($i ~ /^(formats|analyze|render|collect)($|\/)/) print $1, $i
        }'
}

violations() {
    { rows; echo --; includes; } | awk -v tools="$(tools | tr '\n' ' ')" '
    # The wing that a file lies in: its folder. Of tests only that they are tests.
    function wing(path) {
        if (path ~ /^tests\//) return "tests"
        if (path !~ /^(formats|analyze|render|collect)\//) return "?"
        sub(/\/[^\/]*$/, "", path)
        return path
    }
    function base_name(path) { sub(/.*\//, "", path); sub(/\.[ch]$/, "", path); return path }
    # What only mains may include, and the wings that are their bodies.
    function for_mains(path) {
        return path ~ /^formats\/base\/(cli|completion|progress)\.[ch]$/ || path ~ /^analyze\/app\//
    }
    function is_body(name) { return name ~ /^render\/(fleet|hta_main|hta_mpi|measure)$/ }
    function complain(why) { printf "%s:%s: includes \"%s\": %s\n", $1, $2, $3, why }
    BEGIN {
        n = split(tools, t, " ")
        for (i = 1; i <= n; i++) is_tool[t[i]] = 1
    }
    $0 == "--" { including = 1; next }
    !including { known[$1] = allowed[$1, $2] = 1; next }
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
        if (for_mains($3) && !for_mains($1) && from != "tests" && !is_body(from)) complain("only mains use it")
        if (from == "tests" || from == to || to == "formats/base" || $3 == "collect/gpuprof.h") next
        if (!known[from]) { complain(from " has no gp_wing()"); next }
        used[from, to] = 1
        if (!allowed[from, to]) complain(from " does not know " to)
    }
    END {
        for (pair in allowed) {
            split(pair, w, SUBSEP)
            if (w[2] != "-" && !((w[1], w[2]) in used) && including)
                print w[1] " depends on " w[2] " and includes nothing of it"
        }
    }'
}

# Dependencies that point upwards: formats < analyze and collect < render.
upwards() {
    rows | awk '
    function rank(wing) { return wing ~ /^formats/ ? 1 : wing ~ /^render/ ? 3 : 2 }
    function layer(wing) { sub(/\/.*/, "", wing); return wing }
    $2 != "-" && (rank($2) > rank($1) || (rank($2) == rank($1) && layer($1) != layer($2))) { print $1 " depends on " $2 }'
}

rings() {
    rows | awk '$2 != "-"' | tsort 2>&1 >/dev/null | sed 's/^tsort: //'
}

# Layers get their input, the time and the environment from mains: only they, their bodies and formats/base ask the system, and
# only formats/net makes sockets.
asking() {
    find formats analyze render -name '*.[ch]' ! -path 'formats/base/*' ! -path 'analyze/app/*' ! -path 'render/serve/*' ! -path 'render/mcp/*' ! -path 'render/catalog/*' \
        ! -path 'render/fleet/*' ! -path 'render/hta_main/*' ! -path 'render/hta_mpi/*' ! -path 'render/measure/*' -type f | sort |
        while IFS= read -r f; do
            [ -f "${f%.c}.1" ] || [ "$f" = render/schema/gp_schema.c ] ||
                grep -nE '\<(getenv|fopen|clock_gettime|gp_clock_ns|gp_now_ns)\(' /dev/null "$f"
        done
    find formats analyze render -name '*.[ch]' ! -path 'formats/net/*' -exec grep -nE '\<socket\(' /dev/null {} +
    :
}

plant() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/formats/base" "$scratch/tree/formats/model" "$scratch/tree/formats/chrome" "$scratch/tree/collect" \
        "$scratch/tree/analyze/math" "$scratch/tree/analyze/hta" "$scratch/tree/analyze/diff" "$scratch/tree/render/hta" \
        "$scratch/tree/analyze/app"
    cd "$scratch/tree" || exit 1
    printf 'gp_wing(formats/base)\ngp_wing(formats DEPENDS formats/chrome)\n' >formats/CMakeLists.txt
    echo 'gp_reader(chrome)' >formats/chrome/CMakeLists.txt
    printf 'gp_wing(analyze/math)\ngp_wing(analyze/diff DEPENDS m\n    analyze/math)\ngp_wing(analyze/app DEPENDS formats)\n' \
        >analyze/CMakeLists.txt
    printf 'gp_wing(analyze/hta DEPENDS analyze/math formats/model)\ngp_tool(trace-hta DEPENDS analyze)\n' >>analyze/CMakeLists.txt
    printf 'gp_wing(render/hta DEPENDS analyze/hta)\n' >render/CMakeLists.txt
    printf 'gp_wing(collect)\n' >collect/CMakeLists.txt
    for h in formats/base/err.h formats/base/cli.h formats/base/x_priv.h analyze/hta/x_table.h formats/model/trace.h formats/reader.h \
        formats/chrome/c.h analyze/app/f.h analyze/math/a.h analyze/hta/a.h analyze/hta/a_priv.h render/hta/r.h collect/c.h; do : >$h; done
    {
        echo '#include "formats/reader.h"'
        echo '#include "render/hta/r.h"'
        echo '#include "formats/base/cli.h"'
        echo '#include "analyze/app/f.h"'
    } >analyze/trace-hta.c # all of it allowed
    printf '#include "formats/base/cli.h"\n#include "formats/reader.h"\n' >analyze/app/good.c
    printf '#include "formats/model/trace.h"\n#include "analyze/math/a.h"\n#include <stdio.h>\n' >analyze/hta/good.c
    printf '#include "formats/model/trace.h"\n' >formats/chrome/good.c
    printf '#include "formats/chrome/c.h"\n' >formats/good.c
    printf '#include "analyze/math/a.h"\n' >analyze/diff/good.c
    printf '#include "analyze/hta/a.h"\n' >render/hta/good.c
    mkdir -p "$(dirname "$1")"
    printf '\n#include "%s"\n' "$2" >"$1"
    violations
}

self_test() {
    finds "planted: $1 includes $2" "^$1:2: .*$3" eval "(plant $1 $2)"
}

# planted FILE LINE CHECK: what CHECK finds when LINE is added to FILE.
planted() {
    (plant render/hta/ok.c analyze/hta/a.h; echo "$2" >>"$1"; "$3")
}

clean "a wing includes what CMake says that it depends on" violations
clean "dependencies point downwards" upwards
clean "no wings depend on each other in a ring" rings
clean "the system is asked in formats/base, formats/net, the collector and the mains" asking
clean "an allowed tree has no complaints" eval '(plant render/hta/ok.c analyze/hta/a.h; upwards; rings; asking)'
finds "planted: a dependency that points upwards" "^analyze/math depends on render/hta" planted analyze/CMakeLists.txt 'gp_wing(analyze/math DEPENDS render/hta)' upwards
finds "planted: two wings in a ring" "analyze/math" planted analyze/CMakeLists.txt 'gp_wing(analyze/math DEPENDS analyze/hta)' rings
finds "planted: a dependency that nothing needs" "^render/hta depends on analyze/math and" planted render/CMakeLists.txt 'gp_wing(render/hta DEPENDS analyze/math)' violations
finds "planted: a wing that reads the environment" "^analyze/hta/good.c:4:" planted analyze/hta/good.c 'x = getenv("X");' asking
self_test formats/base/bad.c formats/model/trace.h "formats/base does not know formats"
self_test formats/bad.h analyze/math/a.h "formats does not know analyze/math"
self_test formats/chrome/bad.c collect/c.h "formats/chrome does not know collect"
self_test analyze/hta/bad.c formats/reader.h "analyze/hta does not know formats"
self_test analyze/hta/bad.c render/hta/r.h "analyze/hta does not know render/hta"
self_test analyze/math/bad.c analyze/hta/a.h "analyze/math does not know analyze/hta"
self_test analyze/diff/bad.c analyze/hta/a.h "analyze/diff does not know analyze/hta"
self_test analyze/new/bad.c analyze/math/a.h "analyze/new has no gp_wing"
self_test render/hta/bad.c formats/reader.h "render/hta does not know formats"
self_test collect/bad.c analyze/hta/a.h "collect does not know analyze/hta"
self_test render/hta/bad.c formats/base/cli.h "only mains use it"
self_test render/hta/bad.c analyze/app/f.h "only mains use it"
self_test analyze/app/bad.c render/hta/r.h "analyze/app does not know render/hta"
self_test render/hta/bad.c analyze/trace-hta.c "a tool is a leaf"
self_test render/hta/bad.c r.h "not written from the root"
self_test render/hta/bad.c render/hta/none.h "no such file"
self_test render/hta/bad.c formats/base/x_priv.h "private to formats/base"
self_test analyze/diff/bad.c analyze/hta/a_priv.h "private to analyze/hta"
self_test analyze/diff/bad.c analyze/hta/x_table.h "private to analyze/hta"
self_test tests/unit/bad.c analyze/hta/good.c "sources are not included"
done_checking
