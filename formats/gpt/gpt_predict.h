/* gpt_predict.h -- the predictors of the binary trace, forwards for the writer and backwards for the reader,
 * in one place so that they stay inverse to each other. All arithmetic is modulo 2^64, so every value
 * survives. Knows columns of numbers; does not know blocks, bytes or the model.
 */
#ifndef GP_FORMATS_GPT_PREDICT_H
#define GP_FORMATS_GPT_PREDICT_H

#include <stddef.h>
#include <stdint.h>
#include "formats/gpt/gpt_columns.h"

/* What is known about the N rows of a block while one of its columns is coded. Members that the current
 * predictor does not need may be NULL. */
struct gp_pred_rows {
    size_t n;
    uint64_t first;         /* the value before the first row: the block's base for times, otherwise 0 */
    uint64_t dflt;          /* GP_PRED_LAST: the column's default */
    const uint32_t *track;  /* the track of each row, numbered 0.. within the block; ... */
    const uint32_t *key;    /* ... and its name or config */
    const uint64_t *dur;    /* GP_PRED_TRACK_END, GP_PRED_LAUNCH */
    const uint64_t *launch; /* GP_PRED_LAUNCH: start of the API call of each row */
    const uint64_t *other;  /* GP_PRED_OTHER, GP_PRED_CONFIG_NAME */
    uint64_t *state;        /* scratch: one cell per track or key number */
    uint32_t nstate;        /* cells in use; they are cleared first */
    int64_t gap, latency;   /* GP_PRED_LAUNCH: g and l */
};

/* Values V to differences D. False if the predictor cannot represent these values (GP_PRED_FLOAT,
 * GP_PRED_LAST).
 */
bool gp_pred_forward(enum gp_gpt_predictor pred, const struct gp_pred_rows *r, const uint64_t *v,
                     uint64_t *d);
/* Back to values V from S, which may be the same array and holds the differences, or, with ZIGZAG, their
 * zigzag. */
void gp_pred_inverse(enum gp_gpt_predictor pred, const struct gp_pred_rows *r, const uint64_t *s, uint64_t *v,
                     bool zigzag);

/* Is the number in the stream the zigzag of the difference (otherwise the difference itself)? */
bool gp_pred_is_signed(enum gp_gpt_predictor pred);

/* Dictionaries. Number the values of V in order of appearance: LOCAL gets the numbers, DICT the values. SLOTS
 * is scratch of NSLOTS cells, a power of two and at least 2 * n. Returns how many values there are. */
uint32_t gp_dict_number(const uint64_t *v, size_t n, uint32_t *local, uint64_t *dict, uint32_t *slots,
                        size_t nslots);
/* The numbers as codes: 0 is the number that followed last time, 1 the first number not used yet, otherwise
 * the number + 2. What follows is predicted from the number before it, or, with CONTEXT, from CONTEXT[i].
 * NEXT is scratch of at least as many cells as there are numbers and contexts, and 1. Returns how many codes
 * are not 0. */
size_t gp_dict_forward(const uint32_t *local, size_t n, const uint32_t *context, uint64_t *codes,
                       uint32_t *next, size_t nnext);
/* Codes to LOCAL, numbers below NDICT. -1 if the codes are invalid. */
int gp_dict_inverse(const uint64_t *codes, size_t n, uint32_t ndict, const uint32_t *context, uint32_t *local,
                    uint32_t *next, size_t nnext);

#endif
