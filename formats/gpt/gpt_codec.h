/* gpt_codec.h -- the streams of the binary trace: N unsigned 64-bit numbers as few bytes, the first of which
 * names the encoding. Knows nothing about events; predictors give the numbers a meaning (gpt_columns.h).
 *
 *     gp_stream_encode(&buf, values, n);                        // picks the cheapest of the encodings
 *     if (gp_stream_decode(values, n, p, len)) ...              // exactly LEN bytes, which may be hostile
 */
#ifndef GP_FORMATS_GPT_CODEC_H
#define GP_FORMATS_GPT_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* First byte of a stream. */
enum gp_stream_kind {
    GP_STREAM_ZERO = 0,  /* nothing follows: all values are 0 */
    GP_STREAM_CONST = 1, /* varint: all values are equal */
    GP_STREAM_LEB = 2,   /* one varint per value */
    GP_STREAM_SPARSE =
        3, /* varint count, then (varint zeros before it, varint value) each; all other values are 0 */
    GP_STREAM_BUCKET =
        4, /* u8 k; 2^k buckets of {u8 width, varint base}; n codes of k bits; n offsets of width bits */
    GP_STREAM_KINDS
};

enum {
    GP_STREAM_SLACK = 8,    /* bytes after the end of encoded data that may be read but are not used */
    GP_STREAM_MAX_BITS = 4, /* largest k */
    GP_VARINT_MAX = 10,     /* bytes of the longest varint */
};

/* ---- numbers ---- */

static inline uint64_t gp_zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static inline int64_t gp_unzigzag(uint64_t v) { return (int64_t)(v >> 1 ^ -(v & 1)); }
/* Little-endian groups of seven bits; the top bit of a byte is set if more follow. */
void gp_varint_put(struct gp_buf *b, uint64_t v);

/* Reads forward through hostile bytes; BAD is set, and stays set, if they end too early or a varint is
 * malformed. */
struct gp_cursor {
    const uint8_t *p, *end;
    bool bad;
};
uint64_t gp_cursor_varint(struct gp_cursor *c);
uint8_t gp_cursor_u8(struct gp_cursor *c);
/* The next N bytes, or NULL. */
const uint8_t *gp_cursor_bytes(struct gp_cursor *c, uint64_t n);

/* ---- streams ---- */

/* Append the cheapest stream of the N values at V to B. O(n). */
void gp_stream_encode(struct gp_buf *b, const uint64_t *v, size_t n);
/* The same of one value or more as KIND, which is GP_STREAM_LEB or a later one: for tests. */
void gp_stream_encode_as(struct gp_buf *b, enum gp_stream_kind kind, const uint64_t *v, size_t n);
/* Decode N values from the LEN bytes at P, after which GP_STREAM_SLACK more must be readable. -1 if the bytes
 * are not a stream of exactly N values; OUT is then undefined. */
int gp_stream_decode(uint64_t *out, size_t n, const uint8_t *p, size_t len) GP_MUST_CHECK;
/* The approximate number of bits of a stream of these values, for choosing between predictors. */
uint64_t gp_stream_cost(const uint64_t *v, size_t n);

#endif
