/* proto_priv.h -- protobuf's wire format, appended to a buffer, and the field numbers of Perfetto that are
 * written.
 *
 *     char *p = gp_buf_reserve(&b, 64), *start = p;
 *     p = gp_put_field(p, GP_PF_TIMESTAMP, 17);
 *     b.n += (size_t)(p - start);
 */
#ifndef GP_FORMATS_PERFETTO_PROTO_PRIV_H
#define GP_FORMATS_PERFETTO_PROTO_PRIV_H

#include <stdint.h>
#include <string.h>
#include "formats/base/buf.h"

enum { GP_VARINT_MOST = 10, GP_FIELD_MOST = 16 }; /* bytes of a varint, of a field with a number */

/* Tags: the number of a field and its wire type: 0 varint, 1 eight bytes, 2 length and bytes. */
#define GP_PF_TAG(number, wire) ((uint32_t)(number) << 3 | (wire))
enum {
    GP_PF_PACKET = GP_PF_TAG(1, 2), /* Trace */

    GP_PF_CLOCK_SNAPSHOT = GP_PF_TAG(6, 2), /* TracePacket */
    GP_PF_TIMESTAMP = GP_PF_TAG(8, 0),
    GP_PF_SEQUENCE = GP_PF_TAG(10, 0),
    GP_PF_TRACK_EVENT = GP_PF_TAG(11, 2),
    GP_PF_INTERNED = GP_PF_TAG(12, 2),
    GP_PF_FLAGS = GP_PF_TAG(13, 0),
    GP_PF_COMPRESSED = GP_PF_TAG(50, 2),
    GP_PF_DEFAULTS = GP_PF_TAG(59, 2),
    GP_PF_TRACK = GP_PF_TAG(60, 2),
    GP_PF_CLEARED = 1, /* flags */
    GP_PF_NEEDS = 2,

    GP_PF_DEFAULT_EVENT = GP_PF_TAG(11, 2), /* TracePacketDefaults */
    GP_PF_DEFAULT_CLOCK = GP_PF_TAG(58, 0),
    GP_PF_DEFAULT_TRACK = GP_PF_TAG(11, 0), /* TrackEventDefaults */

    GP_PF_CLOCK = GP_PF_TAG(1, 2), /* ClockSnapshot, Clock */
    GP_PF_CLOCK_ID = GP_PF_TAG(1, 0),
    GP_PF_CLOCK_TIME = GP_PF_TAG(2, 0),
    GP_PF_CLOCK_IS_DELTA = GP_PF_TAG(3, 0),
    GP_PF_REALTIME = 1, /* ids of clocks; 64: a sequence's own */
    GP_PF_MONOTONIC = 3,
    GP_PF_BOOTTIME = 6,
    GP_PF_DELTAS = 64,

    GP_PF_UUID = GP_PF_TAG(1, 0), /* TrackDescriptor */
    GP_PF_NAME = GP_PF_TAG(2, 2),
    GP_PF_PROCESS = GP_PF_TAG(3, 2),
    GP_PF_THREAD = GP_PF_TAG(4, 2),
    GP_PF_PARENT = GP_PF_TAG(5, 0),
    GP_PF_COUNTER = GP_PF_TAG(8, 2),
    GP_PF_MERGE = GP_PF_TAG(15, 0),
    GP_PF_MERGE_NONE = 2,
    GP_PF_PID = GP_PF_TAG(1, 0), /* ProcessDescriptor, ThreadDescriptor */
    GP_PF_TID = GP_PF_TAG(2, 0),
    GP_PF_THREAD_NAME = GP_PF_TAG(5, 2),
    GP_PF_PROCESS_NAME = GP_PF_TAG(6, 2),
    GP_PF_UNIT = GP_PF_TAG(3, 0), /* CounterDescriptor */
    GP_PF_UNIT_COUNT = 2,
    GP_PF_UNIT_BYTES = 3,

    GP_PF_CATEGORY_IID = GP_PF_TAG(3, 0), /* TrackEvent */
    GP_PF_ANNOTATION = GP_PF_TAG(4, 2),
    GP_PF_TYPE = GP_PF_TAG(9, 0),
    GP_PF_NAME_IID = GP_PF_TAG(10, 0),
    GP_PF_COUNTER_VALUE = GP_PF_TAG(30, 0),
    GP_PF_DOUBLE_VALUE = GP_PF_TAG(44, 1),
    GP_PF_FLOW = GP_PF_TAG(47, 1),
    GP_PF_FLOW_END = GP_PF_TAG(48, 1),
    GP_PF_BEGIN = 1, /* types */
    GP_PF_END = 2,
    GP_PF_INSTANT = 3,
    GP_PF_COUNT = 4,

    GP_PF_INTERNED_CATEGORY = GP_PF_TAG(1, 2), /* InternedData; each has an id and a text */
    GP_PF_INTERNED_NAME = GP_PF_TAG(2, 2),
    GP_PF_INTERNED_KEY = GP_PF_TAG(3, 2),
    GP_PF_INTERNED_TEXT = GP_PF_TAG(29, 2),
    GP_PF_IID = GP_PF_TAG(1, 0),
    GP_PF_TEXT = GP_PF_TAG(2, 2),

    GP_PF_KEY_IID = GP_PF_TAG(1, 0), /* DebugAnnotation */
    GP_PF_UINT = GP_PF_TAG(3, 0),
    GP_PF_INT = GP_PF_TAG(4, 0),
    GP_PF_TEXT_IID = GP_PF_TAG(17, 0),
};

static inline char *gp_put_varint(char *p, uint64_t v)
{
    while (v > 0x7f) {
        *p++ = (char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (char)v;
    return p;
}

static inline char *gp_put_field(char *p, uint32_t tag, uint64_t v)
{
    return gp_put_varint(gp_put_varint(p, tag), v);
}

static inline char *gp_put_fixed64(char *p, uint32_t tag, uint64_t v)
{
    p = gp_put_varint(p, tag);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

/* Bytes of V as a varint. */
static inline size_t gp_varint_size(uint64_t v)
{
    return (size_t)(70 - __builtin_clzll(v | 1)) / 7;
}

/* A message or text of N bytes. */
static inline void gp_put_bytes(struct gp_buf *b, uint32_t tag, const char *data, size_t n)
{
    char *to = gp_buf_reserve(b, n + GP_FIELD_MOST), *p = gp_put_field(to, tag, n);
    if (n) memcpy(p, data, n);
    b->n += (size_t)(p - to) + n;
}

static inline void gp_put_number(struct gp_buf *b, uint32_t tag, uint64_t v)
{
    char *to = GP_LIKELY(b->cap - b->n >= GP_FIELD_MOST) ? b->data + b->n : gp_buf_reserve(b, GP_FIELD_MOST);
    b->n += (size_t)(gp_put_field(to, tag, v) - to);
}

#endif
