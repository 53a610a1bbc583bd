/* outputs.h -- what the outputs of the tools must always be, whatever was read: whole, balanced, and of
 * characters that neither a terminal nor another program takes for something of its own. Each check ends the
 * program where that is not so.
 *
 *     fuzz_check_output(FUZZ_JSON, out.data, out.n);
 */
#ifndef GP_TESTS_FUZZ_OUTPUTS_H
#define GP_TESTS_FUZZ_OUTPUTS_H

#include <stddef.h>
#include <stdint.h>

enum fuzz_form {
    FUZZ_TEXT,    /* lines for a terminal */
    FUZZ_JSON,    /* one value */
    FUZZ_HTML,    /* a page */
    FUZZ_SVG,     /* a picture */
    FUZZ_DOT,     /* a graph */
    FUZZ_CSV,     /* as many fields in each row as in the first */
    FUZZ_FOLDED,  /* "frame;frame N" */
    FUZZ_TRACE,   /* our binary format */
    FUZZ_PACKED,  /* gzip or zstd of something */
    FUZZ_PACKETS, /* of a trace of Perfetto */
};

void fuzz_check_output(enum fuzz_form form, const char *p, size_t n);

/* The sum of the numbers at the ends of folded stacks; with two columns, of the last one. Modulo 2^64. */
uint64_t fuzz_folded_sum(const char *p, size_t n);

/* The times of trace-hta's JSON: the parts of each device make its span, the causes of idle time make
 * that. */
void fuzz_check_hta_sums(const char *p, size_t n);

#endif
