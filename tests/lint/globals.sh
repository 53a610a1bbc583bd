#!/bin/sh
# No library has a variable that outlives a call. (Sanitizers add their own: those builds are not looked at.)
. "$(dirname "$0")/lib.sh"
command -v objdump >/dev/null 2>&1 || skip_all "objdump is missing (package binutils)"
[ -n "$(ls "$GP_LIB"/libgp_*.a 2>/dev/null)" ] || { echo "Bail out! no libraries in $GP_LIB"; exit 1; }

# ARCHIVE: SECTION SYMBOL, of every object in writable memory. Constant tables that hold pointers are .data.rel.ro.
writable() {
    for a; do
        objdump -t "$a" | awk -v a="${a##*/}" '
            / O / {
                for (i = 1; i < NF; i++) if ($i ~ /^(\.t?(data|bss)|\*COM\*)/ && $i !~ /^\.data\.rel\.ro/) {
                    name = $NF
                    sub(/\.[0-9]+$/, "", name) # of a static in a function
                    print a ": " $i " " name
                }
            }
            / \*COM\*/ && !/ O / { print a ": common " $NF }' | sort -u
    done
}

not_allowed() {
    writable "$@" | while read -r archive section name; do
        grep -q "^${archive%:} $name  *[A-Za-z]" "$lint/globals.allow" 2>/dev/null ||
            echo "$archive $name is in $section: no mutable globals in libraries"
    done
}

plant() {
    cat >"$scratch/p.c" <<'END'
static int calls;
int gp_count(void);
int gp_count(void)
{
    static int more = 7;
    static const char *const names[] = {"a", "b"};
    return ++calls + ++more + names[calls & 1][0];
}
END
    "${CC:-cc}" -O1 -fPIC -c "$scratch/p.c" -o "$scratch/p.o" && ar rc "$scratch/libgp_p.a" "$scratch/p.o" &&
        not_allowed "$scratch/libgp_p.a"
}

clean "no mutable globals in libraries" not_allowed "$GP_LIB"/libgp_*.a
finds "planted: a static variable" "calls is in .bss" plant
finds "planted: a static variable in a function" "more is in .data" plant
clean "a constant table of pointers is no global" eval 'plant | grep names; :'
done_checking
