#!/bin/sh
# A comment behind code fits in its line: one that does not makes the formatter tear the code, or is torn itself.
. "$(dirname "$0")/lib.sh"

torn() {
    our_files | grep '\.[ch]$' | tr '\n' '\0' | xargs -0 -r perl "$lint/torn.pl"
}

plant() {
    mkdir -p "$scratch/torn"
    cd "$scratch/torn" || exit 1
    cat >p.c <<'END'
struct a {
    const char
        *name; /* a comment that is so long that nothing is left for the type in this line, but it stays there */
    int n;     /* a comment that goes on
                * in the next line */
    X(ONE, one,  \
      "one") /* of a macro */ \
    int fine; /* a comment */
    /* the same
     * above */
    const struct gp_rather_long_name_of_a_struct_that_fills_the_line_as_far_as_it_goes_and_further_than
        *such_code_cannot_be_joined; /* right */
};
struct b {
    int64_t
        /* inside a declaration */
        longer;
    int64_t one,
        two; /* of two names */
};
int f(void)
{
    call("a string with /* in it (", 1); /* a comment */
    if (a)   /* why */
        b(); /* what */
    return 0; /* ( */
}
END
    torn
}

clean "no comment tears code" torn
finds "planted: a type alone on its line" "p.c:3: its comment has torn" plant
finds "planted: a comment that goes on" "p.c:4: this comment goes on" plant
finds "planted: a comment inside a declaration" "p.c:16: this comment tears a type" plant
finds "planted: the second of two names" "p.c:19: its comment has torn" plant
finds "planted: the row of a table" "p.c:7: its comment has torn" plant
clean "other comments pass" eval '(plant | grep -vE "p.c:([347]|1[69]):"; :)'
done_checking
