/* nsys_priv.h -- private to nsys_*.c: strings, processes, threads and streams of the export as those of the
 * trace.
 *
 *     struct gp_nsys n = {.t = trace, .db = db};
 *     gp_sid name = gp_nsys_string(&n, id);
 *     uint32_t track = gp_nsys_thread(&n, global_tid);
 */
#ifndef GP_FORMATS_NSYS_PRIV_H
#define GP_FORMATS_NSYS_PRIV_H

#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/sqlite/sqlite_db.h"
#include "formats/model/trace.h"

#define GP_NSYS_NONE UINT32_MAX

/* The events of NVTX, by the numbers that exports have had so far. */
enum gp_nsys_event_type {
    GP_NSYS_MARK = 34,
    GP_NSYS_THREAD_NAME = 39,
    GP_NSYS_PUSH_POP = 59,
    GP_NSYS_START_END = 60,
    GP_NSYS_DOMAIN = 75
};

/* A global id holds hardware (8 bits), machine (8), process (24) and thread (24). Without the thread it names
 * a process. */
#define GP_NSYS_PROCESS(global) ((uint64_t)(global) >> 24)
#define GP_NSYS_THREAD(global)  ((int64_t)((uint64_t)(global)&0xffffff))
#define GP_NSYS_PID(process)    ((int64_t)((process)&0xffffff))

/* A stream, or a device without one. */
struct gp_nsys_place {
    uint64_t process;
    int64_t device, context, stream;
    uint32_t track;
};

/* A call, for events inside it. */
struct gp_nsys_call {
    uint32_t track;
    int64_t end_ns;
};

/* A range that was pushed on a thread, for finding the ranges around the capture of a graph's node. */
struct gp_nsys_push {
    int64_t start_ns, end_ns;
    uint32_t track;
    gp_sid name;
};

struct gp_nsys {
    struct gp_trace *t;
    struct gp_sqlite *db;
    struct gp_sqlite_texts texts;
    struct gp_map processes, threads, locals;  /* process -> process, global tid -> track */
    struct gp_map thread_names, process_names; /* global tid, process -> sid */
    GP_VEC(uint64_t) process_ids;              /* by producer */
    /* the meaning of small integers, from the ENUM_ tables */
    struct gp_map copy_kinds, memory_kinds, syncs, frees, event_types;
    struct gp_nsys_place last;
    uint64_t only_process; /* for tables without a column of the process */
    int64_t last_ns;       /* the latest end of any event */
    struct gp_map domains; /* process and NVTX domain -> sid of its name */
    bool keep_calls;
    struct gp_map calls; /* process and correlation id -> index of a call */
    GP_VEC(struct gp_nsys_call) call_list;
    GP_VEC(struct gp_nsys_push) pushes;
};

/* ---- nsys_ids.c ---- */

/* The sid of string ID of the export; 0 if it has none. */
static inline gp_sid gp_nsys_string(struct gp_nsys *n, int64_t id)
{
    return gp_sqlite_texts_sid(&n->texts, n->t, id);
}
void gp_nsys_load_names(struct gp_nsys *n);
void gp_nsys_load_enums(struct gp_nsys *n);
/* The track of a thread or of a stream; a negative device, context or stream is unknown. */
uint32_t gp_nsys_thread(struct gp_nsys *n, int64_t global_tid);
uint32_t gp_nsys_stream(struct gp_nsys *n, uint64_t process, int64_t device, int64_t context, int64_t stream);
uint32_t gp_nsys_track(struct gp_nsys *n, uint64_t process, const char *name);
/* A key of things that are unique within a process only. */
uint64_t gp_nsys_key(uint64_t process, uint64_t id);
/* A span of the row that SCAN is at, by the indices of its columns. False, and counted, if it has no usable
 * time. */
bool gp_nsys_span(struct gp_nsys *n, struct gp_sqlite_scan *scan, int start, int end, int64_t *start_ns,
                  int64_t *dur_ns);
/* The correlation id of a column, GP_NO_ID if there is none. */
uint64_t gp_nsys_corr(struct gp_sqlite_scan *scan, int column);
/* The process of a row with a column of global ids. */
uint64_t gp_nsys_process(struct gp_nsys *n, struct gp_sqlite_scan *scan, int column);
/* The call with that correlation id; NULL if there is none. */
const struct gp_nsys_call *gp_nsys_call(const struct gp_nsys *n, uint64_t process, uint64_t corr);
void gp_nsys_release(struct gp_nsys *n);

/* ---- the other files: a family of tables each ---- */

void gp_nsys_read_gpu(struct gp_nsys *n);     /* kernels, copies, sets, whole graphs */
void gp_nsys_read_host(struct gp_nsys *n);    /* calls, overhead, waits in the operating system */
void gp_nsys_read_ranges(struct gp_nsys *n);  /* NVTX */
void gp_nsys_read_syncs(struct gp_nsys *n);   /* CUDA events and waits */
void gp_nsys_read_memory(struct gp_nsys *n);  /* allocations, page faults */
void gp_nsys_read_graphs(struct gp_nsys *n);  /* ranges around captures of graph nodes */
void gp_nsys_read_samples(struct gp_nsys *n); /* of the CPUs */

#endif
