/* intern.h -- a string table: the same bytes always get the same small number (a gp_sid), and numbers are
 * handed out in the order of first appearance, so that equal input gives equal output. Strings may hold any
 * byte, NUL included. Sid 0 is the empty string. A zeroed table is ready for use.
 *
 *     struct gp_strings s = {0};
 *     gp_sid a = gp_intern(&s, GP_TEXT("gemm"));
 *     assert(a == gp_intern(&s, GP_TEXT("gemm")) && !strcmp(gp_string(&s, a), "gemm"));
 */
#ifndef GP_BASE_INTERN_H
#define GP_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/hash.h"
#include "formats/base/mem.h"

typedef uint32_t gp_sid;

struct gp_strings {
    struct gp_arena bytes; /* the NUL-terminated copies */
    const char **at;       /* by sid */
    uint32_t *len;         /* by sid, without the NUL */
    uint64_t *hash;        /* by sid: gp_hash_place(), the same in all tables of the process */
    uint32_t *slots;       /* open addressing, sid + 1, 0 = free */
    uint64_t seed;
    uint32_t n, cap, mask;
};

/* The sid of N bytes at S, which are copied if they are new. Strings over 4 GiB abort. */
gp_sid gp_intern(struct gp_strings *s, const char *p, size_t n);
gp_sid gp_intern_cstr(struct gp_strings *s, const char *p);
/* Of what B holds, which is released. */
gp_sid gp_intern_buf(struct gp_strings *s, struct gp_buf *b);
/* With their `hash` in another table. */
gp_sid gp_intern_hashed(struct gp_strings *s, const char *p, size_t n, uint64_t hash);
/* The sid of the bytes, or UINT32_MAX if they were never interned. */
gp_sid gp_intern_find(const struct gp_strings *s, const char *p, size_t n);
void gp_strings_release(struct gp_strings *s);

/* NUL-terminated; valid for the life of the table. SID must have come from this table (or be 0). */
static inline const char *gp_string(const struct gp_strings *s, gp_sid sid)
{
    return sid < s->n ? s->at[sid] : "";
}
static inline size_t gp_string_len(const struct gp_strings *s, gp_sid sid)
{
    return sid < s->n ? s->len[sid] : 0;
}

/* Of the bytes, the same always. */
static inline uint64_t gp_string_hash(const struct gp_strings *s, gp_sid sid)
{
    return gp_hash_bytes(gp_string(s, sid), gp_string_len(s, sid));
}

/* The sid in TO of string SID of FROM, which is copied if it is new. 0 for a sid that FROM does not have. */
static inline gp_sid gp_intern_from(struct gp_strings *to, const struct gp_strings *from, gp_sid sid)
{
    if (!sid || sid >= from->n) return 0;
    return gp_intern_hashed(to, from->at[sid], from->len[sid], from->hash[sid]);
}

#endif
