#!/bin/sh
# Every header compiles by itself, twice in a row, without a warning.
. "$(dirname "$0")/lib.sh"

compile() {
    { printf '#include "%s"\n#include "%s"\ntypedef int nothing_else;\n' "$1" "$1"; } >"$scratch/h.c"
    "${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -DGP_VERSION='""' -I. -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
        "$scratch/h.c" 2>&1 | grep -E 'error|warning' | head -5
}

# Headers of CUPTI and NVTX are not everywhere.
needs_foreign() {
    grep -Eq '#[ \t]*include[ \t]*[<"](cupti|cuda|nvtx3|nvml)' "$1"
}

plant() {
    printf '#ifndef P_H\n#define P_H\nsize_t gp_planted(void);\n#endif\n' >"$scratch/p.h"
    compile "$scratch/p.h"
}

for h in $(find formats analyze render collect -name '*.h' -type f | sort); do
    needs_foreign "$h" || clean "$h" compile "$h"
done
finds "planted: a header that forgot an include" "size_t" plant
done_checking
