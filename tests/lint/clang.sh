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
# fields out.
warned() {
    jq -r 'map(select(.file | endswith(".c"))) | unique_by(.file)[] | .command' "$1" >"$scratch/commands"
    [ -s "$scratch/commands" ] || echo "$1: no C file"
    sed -E "s/^([^ ]*ccache )?[^ ]+ /$clang -fsyntax-only -Wno-unknown-warning-option /
        s/ -o [^ ]+//; s/$/ -Wno-missing-field-initializers -Werror/" "$scratch/commands" | tr '\n' '\0' |
        xargs -0 -n 8 -P "$(nproc)" sh -c 'for c; do eval "$c" 2>&1; done' sh | grep -E '(error|warning): '
    return 0
}

plant() {
    printf 'static int planted;\nint f(int a);\nint f(int a) { a = a; return a; }\n' >"$scratch/p.c"
    printf '[{"directory": ".", "command": "cc -Wall -o p.o -c %s/p.c", "file": "%s/p.c"}]\n' "$scratch" "$scratch" >"$scratch/p.json"
    warned "$scratch/p.json"
}

clean "clang has nothing to say about any C file" warned "$commands"
finds "planted: an assignment to itself, which gcc accepts" "p.c:3:.*self-assign" plant
done_checking
