#!/bin/sh
# What the compiler can do against a fault in a parser is in the programs and in the injected library.
. "$(dirname "$0")/lib.sh"
command -v readelf >/dev/null 2>&1 || skip_all "readelf is missing (package binutils)"
cache=${GP_BIN%/bin}/CMakeCache.txt
[ -f "$cache" ] || { echo "Bail out! no $cache"; exit 1; }
grep -q '^GPUPROF_SANITIZE:.*=.' "$cache" && skip_all "sanitizers bring checks of their own"

has() { grep -q "^GPUPROF_HAS$1:INTERNAL=1" "$cache"; }

built() {
    for tool in $(tools); do [ ! -x "$GP_BIN/$tool" ] || printf '%s\n' "$GP_BIN/$tool"; done
    for so in "$GP_LIB"/*.so; do [ ! -f "$so" ] || printf '%s\n' "$so"; done
}

# soft FILE... -- which of them lack what.
soft() {
    for f; do
        readelf -dlW "$f" >"$scratch/dynamic"
        readelf --dyn-syms -W "$f" >"$scratch/symbols"
        grep -q GNU_RELRO "$scratch/dynamic" && grep -q 'FLAGS_1.*NOW' "$scratch/dynamic" || echo "${f##*/}: no full RELRO"
        grep -q __stack_chk_fail "$scratch/symbols" || echo "${f##*/}: no stack protector"
        grep -qE '__[a-z]+_chk' "$scratch/symbols" || echo "${f##*/}: no _FORTIFY_SOURCE"
        readelf -hW "$f" | grep -q 'Type:.*DYN' || echo "${f##*/}: not position-independent"
    done
}

# Of the code itself: libraries that are linked in may have been built without.
unmarked() {
    has -fcf-protection && uname -m | grep -q x86 || return 0
    for a in "$GP_LIB"/libgp_base.a "$GP_LIB"/libgp_render_serve.a "$GP_LIB"/libgp_collect.a; do
        [ ! -f "$a" ] || readelf -n "$a" 2>/dev/null | grep -q 'IBT' || echo "${a##*/}: no control-flow protection"
    done
}

plant() {
    echo 'int main(void) { return 0; }' >"$scratch/p.c"
    "${CC:-cc}" -O2 -no-pie -fno-stack-protector -U_FORTIFY_SOURCE -Wl,-z,norelro,-z,lazy -o "$scratch/p" "$scratch/p.c" && soft "$scratch/p"
}

clean "programs and the injected library are hardened" eval 'soft $(built)'
clean "branches have landing places" unmarked
clean "there is something to look at" eval '[ "$(built | wc -l)" -gt 5 ] || built'
for what in RELRO protector FORTIFY position; do finds "planted: $what" "$what" plant; done
done_checking
