/* serialize.h -- saves and loads results: one function per struct handles both directions, so they cannot
 * drift apart. Little-endian varints in a buffer; a damaged buffer fails but never crashes. Knows nothing
 * about its contents.
 *
 *     static void serialize_device(struct gp_serializer *x, struct gp_hta_device *d)
 *     {
 *         gp_serialize_i64(x, &d->kernel_ns);           // writes it when saving, fills it when loading
 *         gp_serialize_str(x, &d->name);
 *     }
 */
#ifndef GP_ANALYZE_SERIALIZE_H
#define GP_ANALYZE_SERIALIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"

/* The strings of one table that were transferred so far: each is written once and then referred to by its
 * place. */
struct gp_serialize_seen {
    GP_VEC(gp_sid) at;
    struct gp_map place_of; /* sid -> index of at */
};

struct gp_serializer {
    struct gp_buf *save;            /* saving: bytes go here; NULL when loading */
    const uint8_t *load, *end;      /* loading: the rest */
    struct gp_strings *strings;     /* of the result that is saved or filled */
    struct gp_serialize_seen *seen; /* NULL: strings are written out each time */
    bool failed;                    /* loading: the bytes made no sense; everything after is zero */
    bool inside; /* for the caller: within a part that must not contain another one like it */
};

void gp_serialize_u64(struct gp_serializer *x, uint64_t *v);
void gp_serialize_i64(struct gp_serializer *x, int64_t *v);
void gp_serialize_u32(struct gp_serializer *x, uint32_t *v);
void gp_serialize_i32(struct gp_serializer *x, int32_t *v);
void gp_serialize_bool(struct gp_serializer *x, bool *v);
void gp_serialize_double(struct gp_serializer *x, double *v); /* by bits */
/* A string of x->strings, by its bytes, or by its place in x->seen. */
void gp_serialize_str(struct gp_serializer *x, gp_sid *v);
void gp_serialize_seen_release(struct gp_serialize_seen *seen);
/* The number of elements that follow: writes N, or returns what was saved. At least MIN_BYTES must be left
 * for each element, so that a damaged count cannot ask for more memory than the input is long (times the
 * element's size). */
size_t gp_serialize_count(struct gp_serializer *x, size_t n, size_t min_bytes);

/* The header of saved bytes in a file: magic, version, length and hash of what follows; little endian. */
struct gp_serialize_head {
    char magic[8];
    uint32_t version; /* changes with any struct that is saved */
    const char *what; /* for messages: "partial result" */
};
enum { GP_SERIALIZE_HEAD = 8 + 4 + 8 + 8 };
/* Reserve room for the header in TO and return its position. After everything is saved, gp_serialize_end()
 * writes it. */
size_t gp_serialize_begin(struct gp_buf *to);
void gp_serialize_end(struct gp_buf *to, size_t start, const struct gp_serialize_head *head);
/* Check the head of N bytes and what follows against it, and set X to load that. */
GP_MUST_CHECK int gp_serialize_open(struct gp_serializer *x, const void *data, size_t n,
                                    const struct gp_serialize_head *head, struct gp_err *err);

/* The elements of a GP_VEC, each by a call that is given, of &(vec)->at[gp_i_]; and by FN(x, &element). */
#define GP_SERIALIZE_EACH(x, vec, ...)                                                                       \
    do {                                                                                                     \
        size_t gp_n_ = gp_serialize_count((x), (vec)->n, 1);                                                 \
        if (!(x)->save) {                                                                                    \
            GP_VEC_RESERVE((vec), gp_n_);                                                                    \
            if (gp_n_) memset((vec)->at, 0, gp_n_ * sizeof *(vec)->at);                                      \
            (vec)->n = gp_n_;                                                                                \
        }                                                                                                    \
        for (size_t gp_i_ = 0; gp_i_ < (vec)->n; gp_i_++) __VA_ARGS__;                                       \
    } while (0)
#define GP_SERIALIZE_VEC(x, vec, fn) GP_SERIALIZE_EACH(x, vec, fn((x), &(vec)->at[gp_i_]))

#endif
