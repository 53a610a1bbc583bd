/* trace_make.h -- hand-built traces for the tests of analyze/: a call an event, times in plain numbers of ns.
 */
#ifndef GP_TESTS_TRACE_MAKE_H
#define GP_TESTS_TRACE_MAKE_H

#include <string.h>
#include "formats/model/trace.h"

static inline gp_sid mk_name(struct gp_trace *t, const char *s) { return gp_trace_intern(t, s, strlen(s)); }

static inline uint32_t mk_process(struct gp_trace *t, int64_t pid, uint32_t producer)
{
    struct gp_process p = gp_process_unknown();
    p.pid = pid;
    p.producer = producer;
    return gp_trace_process(t, &p);
}

static inline uint32_t mk_thread(struct gp_trace *t, uint32_t process, int64_t tid)
{
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_THREAD;
    k.process = process;
    k.tid = tid;
    return gp_trace_track(t, &k);
}

static inline uint32_t mk_stream(struct gp_trace *t, uint32_t process, int64_t device, int64_t stream)
{
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_STREAM;
    k.process = process;
    k.device = device;
    k.stream = stream;
    return gp_trace_track(t, &k);
}

/* A host event; returns its row, which holds until gp_trace_finish when rows are made in order. */
static inline size_t mk_host(struct gp_trace *t, enum gp_table table, uint32_t track, int64_t start,
                             int64_t end, const char *name)
{
    return gp_events_add(&t->events[table], start, end - start, track, mk_name(t, name));
}

static inline size_t mk_call(struct gp_trace *t, uint32_t track, int64_t start, int64_t end, const char *name,
                             uint64_t corr)
{
    size_t row = mk_host(t, GP_API, track, start, end, name);
    gp_set_corr(&t->events[GP_API], row, corr);
    return row;
}

static inline size_t mk_gpu(struct gp_trace *t, uint32_t track, int64_t start, int64_t end,
                            enum gp_gpu_kind kind, const char *name, uint64_t corr)
{
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.kind = kind;
    c.name = mk_name(t, name);
    struct gp_events *gpu = &t->events[GP_GPU];
    size_t row = gp_events_add(gpu, start, end - start, track, c.name);
    gp_set_config(gpu, row, gp_trace_config(t, &c));
    gp_set_corr(gpu, row, corr);
    return row;
}

static inline size_t mk_kernel(struct gp_trace *t, uint32_t track, int64_t start, int64_t end,
                               const char *name, uint64_t corr)
{
    return mk_gpu(t, track, start, end, GP_KERNEL, name, corr);
}

/* A kernel with a grid of BLOCKS in one dimension. */
static inline size_t mk_grid(struct gp_trace *t, uint32_t track, int64_t start, int64_t end, const char *name,
                             uint32_t blocks, uint64_t corr)
{
    struct gp_config c;
    memset(&c, 0, sizeof c);
    c.kind = GP_KERNEL;
    c.name = mk_name(t, name);
    c.grid[0] = blocks;
    c.grid[1] = c.grid[2] = 1;
    c.has |= GP_HAS_GRID;
    struct gp_events *gpu = &t->events[GP_GPU];
    size_t row = gp_events_add(gpu, start, end - start, track, c.name);
    gp_set_config(gpu, row, gp_trace_config(t, &c));
    gp_set_corr(gpu, row, corr);
    return row;
}

#endif
