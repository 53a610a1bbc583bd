#!/bin/sh
# No ring among object files: what calls a file does not stand in the file that it calls, however long the way round. A
# file that conducts owns no instruments: what several parts need is a file below them.
. "$(dirname "$0")/lib.sh"
command -v nm >/dev/null 2>&1 || skip_all "nm is missing (package binutils)"
command -v tsort >/dev/null 2>&1 || skip_all "tsort is missing (package coreutils)"
[ -n "$(ls "$GP_LIB"/libgp_*.a 2>/dev/null)" ] || { echo "Bail out! no libraries in $GP_LIB"; exit 1; }

# The libraries, and the objects that are linked into the injected module only.
ours() {
    ls "$GP_LIB"/libgp_*.a
    find "$GP_LIB/../collect" -path '*gpuprof-inject.dir*' -name '*.o' 2>/dev/null
}

# "USER DEFINER" for each symbol that one object of FILE... takes from another one.
edges() {
    nm -A -P -g "$@" 2>/dev/null | awk '
        {
            object = $1
            sub(/:$/, "", object)
            sub(/.*\//, "", object)
            gsub(/\.c\.o|^libgp_|\.a\[|\]$/, " ", object)
            gsub(/^ +| +$/, "", object)
            gsub(/ +/, "/", object)
            if ($3 ~ /^[UvwVW]$/) { users[++n] = object; symbols[n] = $2 } else defined[$2] = object
        }
        END {
            for (i = 1; i <= n; i++)
                if (symbols[i] in defined && defined[symbols[i]] != users[i]) print users[i], defined[symbols[i]]
        }' | sort -u
}

# A line for each ring among the objects of FILE...
rings() {
    edges "$@" | tsort 2>&1 >/dev/null | awk '
        /loop/ { if (ring) print ring; ring = "a ring of calls:"; next }
        { sub(/^[^ ]* /, ""); ring = ring " " $0 }
        END { if (ring) print ring }'
}

# plant BODY_OF_PART: a conductor that calls a part, which does BODY_OF_PART.
plant() {
    rm -f "$scratch"/*.[oa]
    echo 'int gp_part(void); int gp_all(void); int gp_all(void) { return gp_part(); }' >"$scratch/conductor.c"
    echo "int gp_part(void); int gp_all(void); int gp_help(void); int gp_part(void) { return $1; }" >"$scratch/part.c"
    echo 'int gp_help(void); int gp_help(void) { return 1; }' >"$scratch/help.c"
    for f in conductor part help; do
        "${CC:-cc}" -c "$scratch/$f.c" -o "$scratch/$f.c.o" || exit 1
    done
    ar rc "$scratch/libgp_a.a" "$scratch/conductor.c.o" && ar rc "$scratch/libgp_b.a" "$scratch/part.c.o" "$scratch/help.c.o"
    rings "$scratch"/libgp_*.a
}

# of_ours COMMAND: COMMAND with our objects as its arguments.
of_ours() {
    command=$1
    set --
    while IFS= read -r f; do set -- "$@" "$f"; done <"$scratch/ours"
    "$command" "$@"
}

some() {
    [ "$(of_ours edges | wc -l)" -gt 500 ] || echo "too few calls were found"
}

ours >"$scratch/ours"

clean "calls between object files were found" some
clean "no object files call each other in a ring" of_ours rings
finds "planted: a part that calls its conductor" "ring of calls:.* (a/conductor b/part|b/part a/conductor)" plant "gp_all()"
clean "a part that calls a helper is not a ring" plant "gp_help()"
done_checking
