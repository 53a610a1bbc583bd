/* inject.h -- what the parts of the injected library share: its life (inject.c), CUPTI (tracer.c) and NVTX
 * (nvtx.c). Unlike all other code, these parts run inside another program: they have state, read the
 * environment, and print only errors, or, with GPUPROF_DEBUG, what they do.
 */
#ifndef GP_COLLECT_INJECT_H
#define GP_COLLECT_INJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "collect/gate.h"
#include "collect/inject/pool.h"
#include "collect/ring.h"
#include "collect/shared.h"
#include "collect/wire.h"

#define GP_EXPORT __attribute__((visibility("default")))

/* ---- inject_say.c ---- */

/* "gpuprof-collect: pid N: MESSAGE" on standard error. gp_debug() only with GPUPROF_DEBUG. */
void gp_say(const char *fmt, ...) GP_PRINTF(1, 2);
void gp_debug(const char *fmt, ...) GP_PRINTF(1, 2);
/* CLOCK_MONOTONIC. */
static inline int64_t gp_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- inject_bell.c ---- */

enum { GP_WORK = 1, GP_WORK_WRITE = 2, GP_WORK_SOON = 4 };

/* Wake the flush thread early: buffers wait, or a ring is half full; with WRITE, their content is written at
 * once, because the program may be about to end. Cheap, callable from any thread. */
void gp_inject_wake(bool write);
/* Recording has begun: flush sooner than usual. */
void gp_inject_soon(void);

/* Call before any thread exists: MONOTONIC is on CLOCK_MONOTONIC. */
void gp_inject_bell_init(const pthread_condattr_t *monotonic);
/* Wait until DUE or until the bell rings. Returns what to do; flush thread only. */
unsigned gp_inject_bell_wait(int64_t due_ns);
/* In a fork child; with MUTE, nobody will ever wait. */
void gp_inject_bell_forked(bool mute);

/* ---- inject_gate.c ---- */

/* What the gate switches on and off. `record` returns false if the process must run untraced. */
struct gp_inject_switches {
    bool (*record)(bool on);
    void (*count_launches)(bool on);
    void (*watch_ranges)(bool on);
};
/* From now on the process is recorded as OPTS specify. Whatever moves the gate operates the SWITCHES, which
 * are static, at once. False if the process must run untraced. */
bool gp_inject_gate_start(const struct gp_gate_opts *opts, const struct gp_inject_switches *switches);
void gp_inject_profiler(bool start);
void gp_inject_launch(bool begins); /* otherwise it has ended */
void gp_inject_gate_set(bool open);
/* See gp_gate_range_begins(). */
bool gp_inject_range_begins(unsigned which, const char *domain, const char *text, int64_t ns);
void gp_inject_range_ends(unsigned which, int64_t ns);
/* When to call gp_inject_gate_tick(), 0: no need. */
int64_t gp_inject_gate_due(void);
void gp_inject_gate_tick(int64_t now_ns);
/* Report each window that has begun or ended since the last call; flush thread only. */
void gp_inject_gate_windows(void (*tell)(void *ctx, const struct gp_wire_window *w), void *ctx);
void gp_inject_gate_forked(void);

/* ---- tracer.c: everything that calls CUPTI ---- */

struct gp_tracer_opts {
    enum gp_api_level api;
    bool memory;       /* allocations as well */
    bool whole_graphs; /* one record per launch of a CUDA graph, none of its nodes */
    bool late;         /* CUDA is initialized already */
    void (*up)(void);  /* called once CUDA is initialized, and for each new context */
    struct gp_pool *pool;
    struct gp_shared *shared; /* gets the names of calls and the sizes of records that are known in advance */
};

/* Find and open libcupti, subscribe, get ready; nothing is recorded yet. False, after a message, if the
 * program must run untraced. */
bool gp_tracer_start(const struct gp_tracer_opts *opts);
/* Record from now on, or stop after fetching what there is. False, after a message, if kernels cannot be
 * recorded. One caller at a time. */
bool gp_tracer_record(bool on);
/* Call gp_inject_launch() at both ends of each launch, or stop doing so. */
void gp_tracer_count_launches(bool on);
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

/* ---- nvtx.c ---- */

/* This thread has created NODE of a CUDA graph, as a copy of node ORIGINAL unless that is 0. Recorded
 * together with the open ranges; costs next to nothing in a process that has never used NVTX. */
void gp_nvtx_node(uint64_t node, uint64_t original);
/* This thread's call, from START_NS on, has waited for something, or recorded an event. */
void gp_nvtx_wait(int64_t start_ns, const struct gp_note_wait *wait);
/* This thread's call, from START_NS on, has returned. */
void gp_nvtx_call(int64_t start_ns, const struct gp_note_call *call);
/* Hand over the notes of all threads, each thread's in order. Returns how many were refused since the last call. */
uint64_t gp_nvtx_drain(void (*take)(void *ctx, int64_t tid, const struct gp_note *note), void *ctx);
/* From now on report ranges to gp_inject_range_begins() and its like, or stop doing so. */
void gp_nvtx_watch(bool on);
/* In a fork child: discard the parent's threads; with OFF, record nothing. */
void gp_nvtx_forked(bool off);
void gp_nvtx_off(void);

#endif
