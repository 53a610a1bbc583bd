/* tracer.h -- CUPTI: its buffers, its records, and calls of CUDA at which there is something to do.
 * Everything that calls CUPTI is in tracer*.c. */
#ifndef GP_COLLECT_INJECT_TRACER_H
#define GP_COLLECT_INJECT_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/inject/pool.h"
#include "collect/wire/shared.h"
#include "collect/wire/wire.h"

struct gp_tracer_opts {
    enum gp_api_level api;
    bool memory;       /* allocations as well */
    bool whole_graphs; /* one record per launch of a CUDA graph, none of its nodes */
    bool late;         /* CUDA is initialized already */
    bool later;        /* CUPTI is subscribed to when recording begins, and not before */
    bool one_by_one;   /* kernels wait for each other anyway, and are recorded as such */
    bool budget;       /* parts may be left out later, and records are counted */
    void (*up)(void);  /* called once CUDA is initialized, and for each new context */
    struct gp_pool *pool;
    struct gp_shared *shared; /* gets the names of calls and the sizes of records that are known in advance */
};

/* Set the pointer at TO to what NAME is in LIB; NULL: there is none. */
void gp_find_symbol(void *lib, const char *name, void *to);
/* Find and open libcupti and subscribe, before gp_tracer_start(), which does that otherwise; and undo it. */
bool gp_tracer_open(void);
/* When that first succeeded, 0: not yet, and the program runs as if there were no CUPTI. */
int64_t gp_tracer_entered_ns(void);
/* How long it took CUPTI to come and to leave since the last call, ns. */
int64_t gp_tracer_moved_ns(void);
void gp_tracer_shut(void);
/* Find and open libcupti, subscribe, get ready; nothing is recorded yet. False, after a message, if the
 * program must run untraced. */
bool gp_tracer_start(const struct gp_tracer_opts *opts);
/* Record from now on, or stop after fetching the rest. False, after a message, if kernels cannot be
 * recorded. One caller at a time. */
bool gp_tracer_record(bool on);
/* Call THEN where a call of the program ends, from that thread; it ends the recording. Returns how long to
 * wait for that, 0: do not. One caller at a time. */
int64_t gp_tracer_await_end(void (*then)(void));
/* Call gp_inject_launch() at both ends of each launch, or stop doing so. */
void gp_tracer_count_launches(bool on);
/* Record no more of these, enum gp_budget_part as bits; parts no longer among them are recorded from the
 * next gp_tracer_record() on. */
void gp_tracer_leave_out(uint32_t parts);
/* Give CUPTI up, so that another tool can have it, until gp_tracer_take(); nothing is being recorded, and all
 * was handed over, since names of kernels may be gone then. False if it was not ours. Flush thread only, as
 * the next one. */
bool gp_tracer_lend(void);
/* Give CUPTI and the pool up, until gp_tracer_start(); nothing is being recorded. True if CUPTI has no buffer
 * left, whose memory may go then. */
bool gp_tracer_sleep(void);
bool gp_tracer_is_lent(void);
/* When it last left the process, 0: it has not since the last call. */
int64_t gp_tracer_left_ns(void);
/* False, after a message, if it cannot be had. True if it was not lent. */
bool gp_tracer_take(void);
/* Who holds CUPTI, if that is why it cannot be had; otherwise NULL. */
const char *gp_tracer_holder(void);
/* Record allocations, too, or no longer, from the next recording on. */
void gp_tracer_want_memory(bool on);
/* cuptiGetVersion(). */
uint32_t gp_tracer_version(void);
/* The CUDA version of the driver (13000), 0 unknown. */
int gp_tracer_driver_version(void);
/* Ask CUPTI for the buffers that it has; with FORCED, also those with unfinished records. */
void gp_tracer_flush(bool forced);
/* Call TAKE for every record in a buffer. Returns their number; with TAKE NULL it only counts. */
uint64_t gp_tracer_read(uint8_t *data, size_t valid, void (*take)(void *ctx, const void *record), void *ctx);
/* Records that CUPTI dropped since the last call. */
uint64_t gp_tracer_dropped(void);
/* Accept no more records, without calling CUPTI: the process is ending. */
void gp_tracer_mute(void);
/* Switch everything off: the reader is gone. */
void gp_tracer_stop(void);
/* In a fork child: the pool and its buffers belong to the parent. */
void gp_tracer_forked(void);

/* The library, for dlsym(). */
void *gp_tracer_library(void);
/* Call gp_inject_pc_module() when code is loaded. */
void gp_tracer_watch_code(void);
/* Call gp_inject_metrics_launch() at both ends of each launch, and gp_inject_pc_launch_ends(). */
void gp_tracer_measure(void);

#endif
