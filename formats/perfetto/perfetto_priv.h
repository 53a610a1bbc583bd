/* perfetto_priv.h -- private to perfetto_*.c: events in the order of their tracks, the packets of one
 * sequence, and chunks.
 *
 *     gp_pf_begin(&w, uuid, first_ns);
 *     char *p = gp_pf_prepare(&w, time_ns, 0);                  // room for GP_PF_EVENT_MOST bytes
 *     p = gp_put_field(p, GP_PF_TYPE, GP_PF_INSTANT);
 *     gp_pf_event(&w, time_ns, p);                              // the packet with its body up to p
 */
#ifndef GP_FORMATS_PERFETTO_PRIV_H
#define GP_FORMATS_PERFETTO_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/perfetto/perfetto_fields.h"
#include "formats/perfetto/perfetto_write.h"

/* ---- protobuf ----
 * Protobuf's wire format, appended to a buffer.
 *
 *     char *p = gp_buf_reserve(&b, 64), *start = p;
 *     p = gp_put_field(p, GP_PF_TIMESTAMP, 17);
 *     b.n += (size_t)(p - start);
 */

enum { GP_FIELD_MOST = 16 }; /* bytes of a field with a number */

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
static inline size_t gp_varint_size(uint64_t v) { return (size_t)(70 - __builtin_clzll(v | 1)) / 7; }

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

/* ---- the writer ---- */

#define GP_PF_NONE UINT32_MAX

enum { GP_PF_CHUNK = 1 << 20 }; /* bytes of packets after which a chunk is complete */
enum {
    GP_PF_EVENT_MOST = 1 << 10
}; /* bytes of the body of an event without arrows: two dozen fields and args */

/* What is interned: each kind has numbers of its own. */
enum gp_pf_kind { GP_PF_NAMES, GP_PF_KEYS, GP_PF_CATEGORIES, GP_PF_TEXTS, GP_PF_KINDS };

/* A piece of packets, before and after it is compressed; `packed` counts from byte `from` on. */
struct gp_pf_chunk {
    struct gp_buf raw, packed, work;
    size_t from;
};

struct gp_pf_chunks {
    GP_VEC(struct gp_pf_chunk) at; /* as many as there are threads, `n` of them used */
    size_t used;
    int threads;
    gp_perfetto_sink *sink;
    void *ctx;
    bool stopped;
};

/* An event in the order of its track. */
struct gp_pf_ref {
    uint32_t table, row;
};

/* What events of a configuration share: texts, and the bytes of its args in a segment. */
struct gp_pf_config {
    uint32_t segment, at, n; /* the args are config_args[at] up to config_args[at + n] */
    gp_sid category;         /* of events that have none; 0 until it is asked for */
    gp_sid grid, block, cluster;
};

/* What texts of a sequence have been written since its state was cleared. */
struct gp_pf_known {
    uint32_t segment, iid;
};

struct gp_pf {
    const struct gp_trace *t;
    gp_perfetto_plain_name *plain_name;
    struct gp_pf_chunks chunks;
    int64_t shift_ns; /* added to all times: the format has none below 0 */

    /* the sequence that is written */
    uint32_t sequences, segment;
    uint64_t uuid;
    int64_t last_ns;
    char head[GP_FIELD_MOST * 2]; /* of each packet, after its time; then the event that ends a slice */
    size_t head_n;
    struct gp_buf interned;                        /* of the next packet */
    struct gp_buf event;                           /* its body */
    GP_VEC(struct gp_pf_known) known[GP_PF_KINDS]; /* by sid */
    uint32_t iids[GP_PF_KINDS];
    struct gp_strings own; /* texts that the trace lacks; their sids follow those of the trace */

    uint64_t uuids; /* handed out */
    uint64_t *process_uuids;
    struct gp_map group_uuids; /* process and device -> uuid - first_group */

    gp_sid keys[GP_PF_KEY_COUNT];
    GP_VEC(uint8_t) class_of;         /* by sid of a category: 1 + gp_pf_table_of(), of spans */
    gp_sid usual[GP_TABLE_COUNT + 3]; /* categories by table, then by kind of GPU event */
    GP_VEC(struct gp_pf_config) configs;
    struct gp_buf config_args;
    uint32_t args_segment;

    /* which GPU events a call launched: those of row i are at launches[first[i]] up to first[i + 1] */
    uint32_t *launch_of, *first, *launches;
};

/* ---- perfetto_chunks.c ---- */

void gp_pf_chunks_init(struct gp_pf_chunks *c, int threads, gp_perfetto_sink *sink, void *ctx);
/* Where packets go. */
static inline struct gp_buf *gp_pf_raw(struct gp_pf_chunks *c) { return &c->at.at[c->used].raw; }
/* Is the chunk full? Then the next packet must be the first of a segment. */
static inline bool gp_pf_is_full(const struct gp_pf_chunks *c)
{
    return c->at.at[c->used].raw.n >= GP_PF_CHUNK;
}
/* The chunk is complete. */
void gp_pf_next_chunk(struct gp_pf_chunks *c);
/* Write the rest. */
void gp_pf_flush(struct gp_pf_chunks *c);
void gp_pf_chunks_release(struct gp_pf_chunks *c);

/* ---- perfetto_packets.c ---- */

/* Begin the sequence of the track UUID, whose events follow in the order of their times. */
void gp_pf_begin(struct gp_pf *w, uint64_t uuid, int64_t at_ns);
/* Number text SID, which the current segment lacks. */
uint32_t gp_pf_intern_new(struct gp_pf *w, enum gp_pf_kind kind, gp_sid sid);
/* The number of text SID in the current segment. */
static inline uint32_t gp_pf_intern(struct gp_pf *w, enum gp_pf_kind kind, gp_sid sid)
{
    if (GP_LIKELY(sid < w->known[kind].n)) {
        const struct gp_pf_known *k = &w->known[kind].at[sid];
        if (GP_LIKELY(k->segment == w->segment)) return k->iid;
    }
    return gp_pf_intern_new(w, kind, sid);
}
/* An arg with a number, at P; returns where it ends. */
static inline char *gp_pf_arg(struct gp_pf *w, char *p, enum gp_pf_key key, uint32_t tag, uint64_t v)
{
    *p++ = (char)GP_PF_ANNOTATION;
    char *size = p++;
    p = gp_put_field(p, GP_PF_KEY_IID, gp_pf_intern(w, GP_PF_KEYS, w->keys[key]));
    p = gp_put_field(p, tag, v);
    *size = (char)(p - size - 1);
    return p;
}

/* A sid of a text of our own. */
gp_sid gp_pf_text(struct gp_pf *w, const char *text, size_t n);
/* The text of a sid, whoever's it is. */
static inline const char *gp_pf_string(const struct gp_pf *w, gp_sid sid)
{
    return sid < w->t->strings.n ? gp_trace_str(w->t, sid) : gp_string(&w->own, sid - w->t->strings.n);
}
/* Where the body of an event goes: there is room for GP_PF_EVENT_MOST + EXTRA bytes. The segment may end
 * before the event, so its texts must be interned after this call. */
char *gp_pf_prepare(struct gp_pf *w, int64_t at_ns, size_t extra);
/* Write the packet whose body begins where gp_pf_prepare() said and ends before END. */
void gp_pf_event(struct gp_pf *w, int64_t at_ns, const char *end);
/* Write the packet that ends the innermost slice. */
void gp_pf_end(struct gp_pf *w, int64_t at_ns);
/* A packet outside of sequences. */
void gp_pf_packet(struct gp_pf *w, uint32_t tag, const struct gp_buf *message);

/* ---- perfetto_rest.c ---- */

/* The table of a span or instant of a category, in files of ours; an event of another one has an arg. */
enum gp_table gp_pf_table_of(const char *category, size_t n, bool instant);
/* The packet with what Perfetto has no words for: all of the trace but its slices and instants. */
void gp_pf_put_rest(struct gp_pf *w);

/* ---- perfetto_tracks.c ---- */

/* Write all processes, and the group of each device when it is first asked for. */
void gp_pf_processes(struct gp_pf *w);
/* A new track for events of the model's track K: its name is that of K, with SUFFIX unless that is "". */
uint64_t gp_pf_track(struct gp_pf *w, uint32_t k, const char *suffix);
/* A new counter of process PROCESS. */
uint64_t gp_pf_counter(struct gp_pf *w, uint32_t process, const char *name, size_t n, bool bytes);
void gp_pf_clocks(struct gp_pf *w);

/* ---- perfetto_events.c, perfetto_packets.c, perfetto_counters.c ---- */

void gp_pf_tracks_of_events(struct gp_pf *w);
/* Put the args of an event at P; returns where they end. */
char *gp_pf_args(struct gp_pf *w, char *p, enum gp_table table, uint32_t row);
/* What events of a configuration share. Valid until the next call. */
struct gp_pf_config *gp_pf_config(struct gp_pf *w, uint32_t config);
void gp_pf_counters(struct gp_pf *w);

#endif
