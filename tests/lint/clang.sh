#!/bin/sh
# The second compiler is content, too: clang warns about other things than gcc, it is what many programs that include
# gpuprof.h are built with, and the fuzzers are built with it.
. "$(dirname "$0")/lib.sh"
clang=
for c in clang clang-14 clang-16 clang-18 clang-19; do
    command -v "$c" >/dev/null 2>&1 && { clang=$c; break; }
done
[ -n "$clang" ] || skip_all "clang is missing"
commands=${GP_BIN%/bin}/compile_commands.json
[ -f "$commands" ] || skip_all "$commands is missing: this generator writes none"

# warned FILE.json: what clang says of each C file in it, compiled as the build compiles it. Rows of tables may leave their last
# fields out. Files with the same flags are read by one compiler, up to 32 of them, which reads their headers once: its own option
# -cc1 takes several, with the flags that -### prints.
warned() {
    jq -r 'map(select(.file | endswith(".c"))) | unique_by(.file) |
        map({file, flags: (.command | sub("^([^ ]*ccache )?[^ ]+ "; "") | sub(" -o [^ ]+"; "") | sub(" -c [^ ]+$"; ""))}) |
        group_by(.flags)[] | range(0; length; 32) as $i | .[0].flags + "\t" + (.[$i:$i + 32] | map(.file) | join(" "))' "$1" >"$scratch/commands"
    [ -s "$scratch/commands" ] || echo "$1: no C file"
    clang=$clang xargs -d '\n' -n 1 -P "$(nproc)" sh -c 'flags=${1%	*} files=${1#*	}
        cc1=$(eval "$clang -### -x c -fsyntax-only -Wno-unknown-warning-option $flags -Wno-missing-field-initializers -Werror /dev/null" 2>&1 |
            sed -n "s, \"-x\" \"c\" \"/dev/null\"\$,,p")
        eval "${cc1:-false} -x c $files" 2>&1 || echo "error: $files"' sh <"$scratch/commands" | grep -E '(error|warning): '
    return 0
}

# A fault in the second of two files that one compiler reads.
plant() {
    printf 'int g(int a);\nint g(int a) { return a; }\n' >"$scratch/o.c"
    printf 'static int planted;\nint f(int a);\nint f(int a) { a = a; return a; }\n' >"$scratch/p.c"
    for f in o p; do printf '{"directory": ".", "command": "cc -Wall -o %s.o -c %s/%s.c", "file": "%s/%s.c"}\n' $f "$scratch" $f "$scratch" $f; done |
        jq -s . >"$scratch/p.json"
    warned "$scratch/p.json"
}

clean "clang has nothing to say about any C file" warned "$commands"
finds "planted: an assignment to itself, which gcc accepts" "p.c:3:.*self-assign" plant
done_checking
