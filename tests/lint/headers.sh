#!/bin/sh
# Every header compiles on its own, twice in a row, without a warning; it begins with its own name; and the example in its
# opening comment shows names and members that exist.
. "$(dirname "$0")/lib.sh"

compile() {
    { printf '#include "%s"\n#include "%s"\ntypedef int nothing_else;\n' "$1" "$1"; } >"$scratch/h.c"
    said=$("${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -DGP_VERSION='""' -I. -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        "$scratch/h.c" 2>&1) || printf '%s\n' "$said" | grep -E 'error|warning' | head -5
}

headers() {
    find formats analyze render collect -name '*.h' -type f 2>/dev/null | sort
}

misnamed() {
    headers | xargs -r awk '
    FNR == 1 {
        n = split(FILENAME, part, "/")
        if (index($0, "/* " part[n] " -- ") != 1) print FILENAME ": does not begin with its name"
        if (/-- private/ && FILENAME !~ /_(priv|table)\.h$/) print FILENAME ": private headers are called *_priv.h or *_table.h"
    }'
}

# Code without comments gives the names and the members of each struct. An example is what is indented in an opening
# comment. There, each name of ours must stand somewhere in the code; a member must be one of the struct that its variable
# is declared with, where the example shows that, and otherwise of any struct.
untrue_examples() {
    # shellcheck disable=SC2016
    find formats analyze render collect -name '*.[ch]' -type f | sort | xargs -r awk '
    function without_comments(s,    at, end) {
        gsub(/"([^"\\]|\\.)*"/, "\"\"", s)
        while (1) {
            if (open) {
                at = index(s, "*/")
                if (!at) return ""
                s = " " substr(s, at + 2)
                open = 0
            }
            sub(/\/\/.*/, "", s)
            at = index(s, "/*")
            if (!at) return s
            end = index(substr(s, at + 2), "*/")
            open = !end
            if (open) return substr(s, 1, at - 1)
            s = substr(s, 1, at - 1) " " substr(s, at + 2 + end + 1)
        }
    }
    # The words of S: names of the tree, and members of the struct or of the macro that S lies in.
    function take(s,    word) {
        while (match(s, /[A-Za-z_][A-Za-z0-9_]*/)) {
            word = substr(s, RSTART, RLENGTH)
            s = substr(s, RSTART + RLENGTH)
            if (word ~ /^(gp|GP)_/) names[word] = 1
            if (struct != "") { members[struct, word] = 1; any[word] = 1; body[struct] = body[struct] " " word }
            if (macro != "") in_macro[macro] = in_macro[macro] " " word
        }
    }
    FNR == 1 { open = 0; struct = ""; depth = 0; macro = ""; opening = FILENAME ~ /\.h$/ }
    opening && /^ \*     / { example[++n] = substr($0, 8); where[n] = FILENAME ":" FNR; file[n] = FILENAME }
    opening && /\*\// { opening = 0 }
    {
        code = without_comments($0)
        if (match(code, /^[ \t]*#[ \t]*define[ \t]+[A-Za-z_][A-Za-z0-9_]*/)) {
            macro = substr(code, RSTART, RLENGTH)
            sub(/.*[ \t]/, "", macro)
        }
        if (struct == "" && match(code, /struct gp_[a-z0-9_]+[ \t]*\{/)) {
            struct = substr(code, RSTART + 7, RLENGTH - 7)
            sub(/[ \t]*\{$/, "", struct)
            known[struct] = 1
            depth = 0
        }
        take(code)
        if (macro != "" && code !~ /\\$/) macro = ""
        if (struct != "") {
            depth += gsub(/\{/, "{", code) - gsub(/\}/, "}", code)
            if (depth <= 0) struct = ""
        }
    }
    function expand(s,    i, k, m, words, more) {
        m = split(body[s], words, " ")
        for (i = 1; i <= m; i++) if (words[i] in in_macro) {
            k = split(in_macro[words[i]], more, " ")
            for (; k; k--) { members[s, more[k]] = 1; any[more[k]] = 1 }
        }
    }
    function say(i, what) { print where[i] ": its example shows " what ", which does not exist" }
    function check_member(i, type, member) {
        if (type != "" ? (type in known) && !((type, member) in members) : !(member in any))
            say(i, (type != "" ? "member " member " of struct " type : "a member " member))
    }
    END {
        any["at"] = any["n"] = any["cap"] = 1
        for (s in known) expand(s)
        for (i = 1; i <= n; i++) {
            if (file[i] != last) split("", type)
            last = file[i]
            line = example[i]
            sub(/[ \t]\/\/.*/, "", line)
            gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
            for (s = line; match(s, /struct gp_[a-z0-9_]+ \*?[a-z_][a-z0-9_]*/);) {
                split(substr(s, RSTART, RLENGTH), part, / \*?/)
                s = substr(s, RSTART + RLENGTH)
                type[part[3]] = part[2]
                rest = s
                while (match(rest, /^(\[[^]]*\])?( = [^;,]*)?, \*?[a-z_][a-z0-9_]*( |,|;)/)) {
                    more = substr(rest, RSTART, RLENGTH - 1)
                    rest = substr(rest, RSTART + RLENGTH - 1)
                    sub(/.*, \*?/, "", more)
                    type[more] = part[2]
                }
            }
            for (s = line; match(s, /(gp|GP)_[A-Za-z0-9_]+/);) {
                word = substr(s, RSTART, RLENGTH)
                before = RSTART > 1 ? substr(s, RSTART - 1, 1) : " "
                s = substr(s, RSTART + RLENGTH)
                if (before !~ /[A-Za-z0-9_]/ && !(word in names)) say(i, word)
            }
            for (s = line; match(s, /[A-Za-z_][A-Za-z0-9_]*(->|\.)[a-z_][a-z0-9_]*/);) {
                word = substr(s, RSTART, RLENGTH)
                before = RSTART > 1 ? substr(s, RSTART - 1, 1) : " "
                split(word, part, /->|\./)
                s = substr(s, RSTART + length(part[1]))
                if (before ~ /[.>]/) check_member(i, "", part[2])
                else check_member(i, type[part[1]], part[2])
            }
            for (s = line; match(s, /[(){, ]\.[a-z_][a-z0-9_]* = /);) {
                word = substr(s, RSTART + 2, RLENGTH - 5)
                s = substr(s, RSTART + RLENGTH)
                check_member(i, "", word)
            }
        }
    }'
}

plant() {
    printf '#ifndef P_H\n#define P_H\nsize_t gp_planted(void);\n#endif\n' >"$scratch/p.h"
    compile "$scratch/p.h"
}

# plant_example LINE: what is said of a header with LINE as its example.
plant_example() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/formats" "$scratch/tree/analyze" "$scratch/tree/render" "$scratch/tree/collect"
    cat >"$scratch/tree/formats/planted.h" <<END
/* ${3:-}planted.h -- something.
 *
 *     struct gp_thing t, u;
 *     $1
 */
#define GP_THINGS(X) X(weight)
struct gp_thing {
    int size; /* not depth */
#define X(member) int member;
    GP_THINGS(X)
#undef X
};
struct gp_other {
    int depth;
};
int gp_thing_grow(struct gp_thing *t);
END
    (cd "$scratch/tree" && "$2")
}

plant_private() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/formats"
    echo '/* planted.h -- private to planted.c: something. */' >"$scratch/tree/formats/planted.h"
    (cd "$scratch/tree" && misnamed)
}

# Headers of CUPTI and NVTX are not everywhere.
for h in $(headers | xargs grep -LE '#[ \t]*include[ \t]*[<"](cupti|cuda|nvtx3|nvml)'); do
    clean "$h" compile "$h"
done
clean "every header begins with its name" misnamed
clean "examples show what exists" untrue_examples
finds "planted: a header that forgot an include" "size_t" plant
finds "planted: a header with another's name" "planted.h: does not begin" plant_example "" misnamed un
finds "planted: a private header without saying so in its name" "planted.h: private headers" plant_private
finds "planted: a function that is gone" "shows gp_thing_shrink" plant_example "gp_thing_shrink(&t);" untrue_examples
finds "planted: a member of another struct" "member depth of struct gp_thing" plant_example "t.depth = 1;" untrue_examples
finds "planted: a member of the second variable" "member depth of" plant_example "use(u.depth);" untrue_examples
finds "planted: an initializer of nothing" "a member heavy" plant_example "grow((struct gp_thing){.heavy = 1});" untrue_examples
clean "an example that shows what exists passes" plant_example "t.size = t.weight; gp_thing_grow(&t); // t.none" untrue_examples
done_checking
