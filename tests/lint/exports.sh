#!/bin/sh
# What a library exports begins with gp_, so that it can be linked into anything.
. "$(dirname "$0")/lib.sh"
command -v nm >/dev/null 2>&1 || skip_all "nm is missing (package binutils)"
[ -n "$(ls "$GP_LIB"/libgp_*.a 2>/dev/null)" ] || { echo "Bail out! no libraries in $GP_LIB"; exit 1; }

foreign() {
    for a; do
        nm -g --defined-only "$a" 2>/dev/null |
            awk -v a="${a##*/}" 'NF == 3 && $3 !~ /^(gp_|__?(asan|odr_asan|ubsan|tsan))/ { print a ": " $3 }'
    done
}

# The injected library is loaded into other people's programs: there only the entry points that CUDA and NVTX look for.
foreign_dynamic() {
    for so in "$GP_LIB"/*.so; do
        [ -f "$so" ] || continue
        nm -D --defined-only "$so" |
            awk -v a="${so##*/}" '$NF !~ /^(InitializeInjection.*|gpuprof_table_v1)$/ && $2 !~ /^[wWvV]$/ { print a ": " $NF }'
    done
}

plant() {
    echo 'int helper(void); int helper(void) { return 1; } int gp_ok(void); int gp_ok(void) { return 2; }' >"$scratch/p.c"
    "${CC:-cc}" -c "$scratch/p.c" -o "$scratch/p.o" && ar rc "$scratch/libgp_p.a" "$scratch/p.o" &&
        foreign "$scratch/libgp_p.a"
}

clean "exported symbols begin with gp_" foreign "$GP_LIB"/libgp_*.a
clean "the injected library exports its entry points only" foreign_dynamic
finds "planted: a function without prefix" "helper" plant
clean "a function with prefix passes" eval 'plant | grep gp_ok; :'
done_checking
