#!/bin/sh
# The length of a text in quotes is never counted by hand: formats/base/str.h has GP_TEXT() and what compares texts.
. "$(dirname "$0")/lib.sh"

counted() {
    our_files | grep -E '^(formats|collect|analyze|render)/.*\.[ch]$' | tr '\n' '\0' | xargs -0 -r perl "$lint/lengths.pl"
}

plant() {
    mkdir -p "$scratch/tree/formats"
    cd "$scratch/tree" || exit 1
    cat >formats/p.c <<'END'
    put(b, "What costs the most", 19);
    if (!strncmp(s, "a\n\x41\0c", 5)) put(GP_TEXT("five"), 5);
    put(b, name("x", 2), "two", strlen("two"));
    gp_svg_int(s, "height", 6);
    name("seven", 7);
END
    counted
}

clean "no length of a text is counted by hand" counted
finds "planted: a text and its length" "p.c:1: .* of \"What costs" plant
finds "planted: a text with escapes" "p.c:2: " plant
finds "planted: the same text twice" "p.c:3: .* of \"two\"" plant
clean "other numbers pass" eval '(plant | grep -vE "p.c:[123]:"; :)'
done_checking
