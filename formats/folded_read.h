/* folded_read.h -- folded stacks, one per line: "frame;frame;frame N". Hands out lines; their meaning is up
 * to the caller. A last column that is a decimal fraction is rounded to the nearest integer. Of two columns
 * ("stack 10 12", as difference tools write them) the last one counts.
 *
 *     struct gp_folded_stats st;
 *     if (gp_folded_sniff(head, n)) gp_folded_read(in, on_stack, ctx, &st, &err);
 */
#ifndef GP_FORMATS_FOLDED_READ_H
#define GP_FORMATS_FOLDED_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

struct gp_input; /* formats/base/input.h */

/* Longer lines are counted as bad. */
enum { GP_FOLDED_LINE_MAX = 1 << 20 };

struct gp_folded_stats {
    uint64_t lines;    /* non-empty lines */
    uint64_t bad;      /* no number at the end, a negative number, one beyond 2^63, no frame, or too long */
    int64_t first_bad; /* byte offset of the first bad line, -1: none */
    uint64_t bytes;    /* of the (decompressed) input */
    int64_t cut;       /* byte offset of a last line that has no line end, -1: none */
};

/* Takes the N bytes of one stack at STACK, without the number; valid only during the call. */
typedef void gp_folded_sink(void *ctx, const char *stack, size_t n, int64_t weight);

/* Do the first N bytes look like folded stacks: text whose first complete line (or only line) ends in a space
 * and a number, and that is neither JSON nor a binary trace? */
bool gp_folded_sniff(const uint8_t *head, size_t n);

/* Read all of IN. PROGRESS (may be NULL) is called now and then with PROGRESS_CTX and the bytes read so far.
 * Damaged compression ends the input early; gp_input_status() reports it. -1 if there was not one good
 * line. */
GP_MUST_CHECK int gp_folded_read(struct gp_input *in, gp_folded_sink *sink, void *ctx,
                                 void (*progress)(void *ctx, uint64_t bytes), void *progress_ctx,
                                 struct gp_folded_stats *st, struct gp_err *err);

#endif
