/* perfetto_priv.h -- private to perfetto_*.c: events in the order of their tracks, the packets of one sequence, and chunks.
 *
 *     gp_pf_begin(&w, uuid, first_ns);
 *     gp_pf_event(&w, time_ns, body, n);
 */
#ifndef GP_FORMATS_PERFETTO_PRIV_H
#define GP_FORMATS_PERFETTO_PRIV_H

#include <stdbool.h>
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/perfetto/perfetto_write.h"
#include "formats/perfetto/proto_priv.h"

#define GP_PF_NONE UINT32_MAX

/* What is interned: each kind has numbers of its own. */
enum gp_pf_kind { GP_PF_NAMES, GP_PF_KEYS, GP_PF_CATEGORIES, GP_PF_TEXTS, GP_PF_KINDS };

/* A piece of packets, before and after it is compressed. */
struct gp_pf_chunk {
    struct gp_buf raw, packed;
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

/* The args that slices have. X(enumerator, its key) */
#define GP_PF_ARGS(X)                                                                                        \
    X(GP_PF_KEY_CORR, "correlation")                                                                         \
    X(GP_PF_KEY_EXT, "External id")                                                                          \
    X(GP_PF_KEY_SEQ, "Sequence number")                                                                      \
    X(GP_PF_KEY_GRAPH, "graph id")                                                                           \
    X(GP_PF_KEY_NODE, "graph node id")                                                                       \
    X(GP_PF_KEY_EVENT, "CUDA event")                                                                         \
    X(GP_PF_KEY_SOURCE, "waits for correlation")                                                             \
    X(GP_PF_KEY_BYTES, "bytes")                                                                              \
    X(GP_PF_KEY_RET, "return value")                                                                         \
    X(GP_PF_KEY_GRID, "grid")                                                                                \
    X(GP_PF_KEY_BLOCK, "block")                                                                              \
    X(GP_PF_KEY_CLUSTER, "cluster")                                                                          \
    X(GP_PF_KEY_REGISTERS, "registers per thread")                                                           \
    X(GP_PF_KEY_SHARED, "shared memory")                                                                     \
    X(GP_PF_KEY_CAPTURED, "capture ranges")                                                                  \
    X(GP_PF_KEY_ARGS, "args")

enum gp_pf_key {
#define X(id, key) id,
    GP_PF_ARGS(X)
#undef X
        GP_PF_KEY_COUNT
};

/* The args of a configuration in a segment: where they are in `config_args`. */
struct gp_pf_config {
    uint32_t segment;
    size_t at, n;
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
    struct gp_buf interned;                        /* of the next packet */
    struct gp_buf event;                           /* its body */
    GP_VEC(struct gp_pf_known) known[GP_PF_KINDS]; /* by sid */
    uint32_t iids[GP_PF_KINDS];
    struct gp_strings own; /* texts that the trace lacks; their sids follow those of the trace */

    uint64_t uuids; /* handed out */
    uint64_t *process_uuids;
    struct gp_map group_uuids; /* process and device -> uuid - first_group */

    gp_sid keys[GP_PF_KEY_COUNT];
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
struct gp_buf *gp_pf_raw(struct gp_pf_chunks *c);
/* Is the chunk full? Then the next packet must be the first of a segment. */
bool gp_pf_is_full(const struct gp_pf_chunks *c);
/* The chunk is complete. */
void gp_pf_next_chunk(struct gp_pf_chunks *c);
/* Write what is left. */
void gp_pf_flush(struct gp_pf_chunks *c);
void gp_pf_chunks_release(struct gp_pf_chunks *c);

/* ---- perfetto_packets.c ---- */

/* Begin the sequence of the track UUID, whose events follow in the order of their times. */
void gp_pf_begin(struct gp_pf *w, uint64_t uuid, int64_t at_ns);
/* The number of text SID in the current segment. */
uint32_t gp_pf_intern(struct gp_pf *w, enum gp_pf_kind kind, gp_sid sid);
/* A sid of a text of our own. */
gp_sid gp_pf_text(struct gp_pf *w, const char *text, size_t n);
/* Call before the body of an event is made: the segment may have to end before it. */
void gp_pf_prepare(struct gp_pf *w, int64_t at_ns);
/* Write a packet with w->event as its body. */
void gp_pf_event(struct gp_pf *w, int64_t at_ns);
/* A packet outside of sequences. */
void gp_pf_packet(struct gp_pf *w, uint32_t tag, const struct gp_buf *message);

/* ---- perfetto_tracks.c ---- */

/* Write all processes, and the group of each device when it is first asked for. */
void gp_pf_processes(struct gp_pf *w);
/* A new track for events of the model's track K: its name is that of K, with SUFFIX unless that is "". */
uint64_t gp_pf_track(struct gp_pf *w, uint32_t k, const char *suffix);
/* A new counter of process PROCESS. */
uint64_t gp_pf_counter(struct gp_pf *w, uint32_t process, const char *name, size_t n, bool bytes);
void gp_pf_clocks(struct gp_pf *w);

/* ---- perfetto_events.c, perfetto_args.c, perfetto_counters.c ---- */

void gp_pf_tracks_of_events(struct gp_pf *w);
/* Append the args of an event to w->event. */
void gp_pf_args(struct gp_pf *w, enum gp_table table, uint32_t row);
void gp_pf_counters(struct gp_pf *w);

#endif
