#!/bin/sh
# report.sh [N] -- prints the N (20) largest, deepest and most included things of the sources, tests left out. Nothing here
# fails: sizes.sh has ceilings far above, and this says where to look before one is reached.
. "$(dirname "$0")/lib.sh"
most=${1:-20}

sources() {
    find formats analyze render collect \( -name '*.c' -o -name '*.h' \) -type f
}

# section TITLE: the largest of "NUMBER NAME" on standard input.
section() {
    printf '%s\n' "$1"
    sort -k1,1nr -k2 | head -n "$most" | awk '{ printf "%7d  %s\n", $1, $2 }'
    echo
}

lines_of_files() {
    sources | xargs awk '{ n[FILENAME]++ } END { for (f in n) print n[f], f }'
}

files_of_folders() {
    sources | sed 's|/[^/]*$||' | sort | uniq -c
}

# FIRST LAST FILE:FUNCTION of all functions.
functions() {
    sources | grep '\.c$' | ctags -f - --languages=C --kinds-C=f --fields=ne --excmd=number --sort=no -L - |
        awk -F '\t' '{
            for (i = 4; i <= NF; i++) { split($i, kv, ":"); at[kv[1]] = kv[2] }
            print at["line"], at["end"], $2 ":" $1
        }'
}

# How deep conditions, loops and switches lie in each other: the layout is clang-format's, so indentation tells.
depths() {
    awk '{
        file = $3
        sub(/:.*/, "", file)
        if (file != open) { if (open) close(open); open = file; at = 0 }
        deepest = 0
        while (at < $2 && (getline line <file) > 0)
            if (++at > $1 && line ~ /^ +(} )?(if|else|for|while|do|switch) /) {
                match(line, /^ +/)
                if (RLENGTH > 4 * deepest) deepest = RLENGTH / 4
            }
        print deepest, $3
    }' "$1"
}

# INCLUDERS HEADER: how many sources, tests too, are compiled again when the header changes.
includers() {
    { sources; find tests -name '*.[ch]' -type f; } | xargs grep -HE '^#[ \t]*include "' |
        sed -E 's/^([^:]*):[^"]*"([^"]*)".*/\1 \2/' | awk '
        function visit(file,    i) {
            if ((root, file) in seen) return
            seen[root, file] = 1
            if (file != root) count[file]++
            for (i = 1; i <= n[file]; i++) visit(what[file, i])
        }
        { what[$1, ++n[$1]] = $2 }
        END {
            for (file in n) if (file ~ /\.c$/) { root = file; visit(file) }
            for (file in count) print count[file], file
        }'
}

lines_of_files | section "lines of files"
files_of_folders | section "sources and headers of folders"
if ctags --version 2>/dev/null | grep -q Universal; then
    functions >"$scratch/functions"
    awk '{ print $2 - $1 + 1, $3 }' "$scratch/functions" | section "lines of functions"
    depths "$scratch/functions" | section "conditions, loops and switches inside each other"
else
    printf 'functions are left out: universal-ctags is missing\n\n'
fi
includers | section "sources that include a header, directly or not"
