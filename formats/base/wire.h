/* wire.h -- protobuf's wire format, read field by field. Nothing is read beyond the message, nothing is
 * copied, and what a field means is up to the caller: unknown ones are skipped by not asking for them.
 *
 *     struct gp_wire w = gp_wire_begin(data, n);
 *     for (struct gp_wire_field f; gp_wire_next(&w, &f);)
 *         if (f.tag == GP_WIRE_TAG(8, 0)) time = f.value;
 *     if (w.broken) ...                          // at w.p: cut, or not protobuf
 */
#ifndef GP_BASE_WIRE_H
#define GP_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "formats/base/declare.h"

/* The number of a field and its wire type: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes. */
#define GP_WIRE_TAG(number, type) ((uint32_t)(number) << 3 | (type))

struct gp_wire {
    const uint8_t *p, *end;
    bool broken;
};

struct gp_wire_field {
    uint32_t tag;
    uint64_t value;      /* of types 0, 1 and 5; of type 2 the number of bytes */
    const uint8_t *data; /* of type 2; otherwise NULL */
    const uint8_t *at;   /* where the field begins */
};

static inline struct gp_wire gp_wire_begin(const void *data, size_t n)
{
    return (struct gp_wire){data, n ? (const uint8_t *)data + n : data, false};
}

/* The message in a field of type 2. */
static inline struct gp_wire gp_wire_message(const struct gp_wire_field *f)
{
    return gp_wire_begin(f->data, f->data ? f->value : 0);
}

/* False at the end of the message, and where the number is longer than 10 bytes. */
static inline bool gp_wire_varint(struct gp_wire *w, uint64_t *v)
{
    enum { BITS = 64 };
    if (GP_LIKELY(w->p < w->end && *w->p < 0x80)) {
        *v = *w->p++;
        return true;
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < BITS && w->p < w->end; shift += 7) {
        uint8_t byte = *w->p++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *v = value;
            return true;
        }
    }
    return false;
}

static inline uint64_t gp_wire_fixed(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* The next field; false at the end of the message and where it is broken. */
static inline bool gp_wire_next(struct gp_wire *w, struct gp_wire_field *f)
{
    enum { VARINT, EIGHT, BYTES, FOUR = 5, MOST = 1 << 29 };
    uint64_t tag;
    f->at = w->p;
    f->data = NULL;
    if (w->p >= w->end || w->broken) return false;
    w->broken = true;
    if (!gp_wire_varint(w, &tag) || tag < 8 || tag >> 3 >= MOST) return false;
    f->tag = (uint32_t)tag;
    size_t left = (size_t)(w->end - w->p), n = 0;
    switch (tag & 7) {
    case VARINT:
        if (!gp_wire_varint(w, &f->value)) return false;
        break;
    case EIGHT:
    case FOUR:
        n = (tag & 7) == EIGHT ? 8 : 4;
        if (left < n) return false;
        f->value = gp_wire_fixed(w->p, (unsigned)n);
        w->p += n;
        break;
    case BYTES:
        if (!gp_wire_varint(w, &f->value) || f->value > (uint64_t)(w->end - w->p)) return false;
        f->data = w->p;
        w->p += f->value;
        break;
    default: return false; /* groups, which nobody writes any more, and no type at all */
    }
    w->broken = false;
    return true;
}

static inline double gp_wire_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#endif
