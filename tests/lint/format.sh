#!/bin/sh
# C files are laid out by clang-format with the repository's .clang-format. Versions differ: 14 decides.
. "$(dirname "$0")/lib.sh"
format=
for f in clang-format-14 clang-format; do
    "$f" --version 2>/dev/null | grep -q 'version 14\.' && { format=$f; break; }
done
[ -n "$format" ] || skip_all "clang-format 14 is missing"

misplaced() {
    "$format" --style="file:$GP_SOURCE/.clang-format" --dry-run -Werror "$@" 2>&1 | grep -E '^[^ ]+:[0-9]+:[0-9]+: (error|warning)' |
        awk -F : '!seen[$1]++ { print $1 ":" $2 ": not laid out by clang-format" }'
}

plant() {
    printf 'int f(void) {\n  return 1; }\n' >"$scratch/p.c"
    misplaced "$scratch/p.c"
}

c_files() {
    sed -n 's/^\([^ #][^ ]*\) [A-Za-z].*/\1/p' "$lint/format.allow" >"$scratch/allowed"
    our_files | grep '\.[ch]$' | grep -vxFf "$scratch/allowed"
}

clean "C files are laid out by clang-format" eval 'misplaced $(c_files)'
finds "planted: a brace in the wrong place" "p.c:1" plant
done_checking
