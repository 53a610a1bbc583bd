/* inject.h -- what the parts of the injected library share: its life (inject.c), CUPTI (tracer.c) and NVTX
 * (nvtx.c). Unlike all other code, these parts run inside another program: they have state, read the
 * environment, and print only errors, or, with GPUPROF_DEBUG, what they do.
 */
#ifndef GP_COLLECT_INJECT_H
#define GP_COLLECT_INJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#define GPUPROF_TYPES_ONLY
#include "collect/wire/capture_window.h"
#include "collect/gpuprof.h"
#include "collect/inject/pool.h"
#include "collect/wire/ring.h"
#include "collect/wire/shared.h"
#include "collect/wire/wire.h"
#include "formats/base/clock.h"

#define GP_EXPORT __attribute__((visibility("default")))

/* ---- inject_say.c ---- */

/* "gpuprof-collect: pid N: MESSAGE" on standard error. gp_debug() only with GPUPROF_DEBUG. */
void gp_say(const char *fmt, ...) GP_PRINTF(1, 2);
void gp_debug(const char *fmt, ...) GP_PRINTF(1, 2);
/* Print nothing from now on, or print again: somebody asks for reasons instead. */
void gp_say_quiet(bool quiet);

/* ---- inject_bell.c ---- */

enum { GP_WORK = 1, GP_WORK_WRITE = 2, GP_WORK_SOON = 4 };

/* Wake the flush thread early: buffers wait, or a ring is half full; with WRITE, their content is written at
 * once, because the program may be about to end. Cheap, callable from any thread. */
void gp_inject_wake(bool write);
/* Recording has begun: flush sooner than usual. */
void gp_inject_soon(void);

/* Call before any thread exists: MONOTONIC is on CLOCK_MONOTONIC. */
void gp_inject_wakeup_init(const pthread_condattr_t *monotonic);
/* Wait until DUE or until there is work. Returns what to do; flush thread only. */
unsigned gp_inject_wakeup_wait(int64_t due_ns);
/* In a fork child; with MUTE, nobody will ever wait. */
void gp_inject_wakeup_forked(bool mute);

/* ---- inject_gate.c ---- */

/* What the capture window switches on and off. `record` returns false if the process must run untraced. */
struct gp_inject_switches {
    bool (*record)(bool on);
    void (*count_launches)(bool on);
    void (*watch_ranges)(bool on);
};
/* From now on the process is recorded as OPTS specify. Whatever opens or closes the window operates the
 * SWITCHES, which are static, at once. False if the process must run untraced. */
bool gp_inject_window_start(const struct gp_capture_opts *opts, const struct gp_inject_switches *switches);
void gp_inject_profiler(bool start);
void gp_inject_launch(bool begins); /* otherwise it has ended */
void gp_inject_window_set(bool open);
/* Is the process being recorded, except for pauses? */
bool gp_inject_window_is_open(void);
/* Record nothing for a while, whatever else opens the window, or no longer. */
void gp_inject_window_pause(bool paused);
/* See gp_capture_range_begins(). */
bool gp_inject_range_begins(unsigned which, const char *domain, const char *text, int64_t ns);
void gp_inject_range_ends(unsigned which, int64_t ns);
/* When to call gp_inject_window_tick(), 0: no need. */
int64_t gp_inject_window_due(void);
void gp_inject_window_tick(int64_t now_ns);
/* Report each window that has begun or ended since the last call; flush thread only. */
void gp_inject_window_windows(void (*tell)(void *ctx, const struct gp_wire_window *w), void *ctx);
void gp_inject_window_forked(void);

/* ---- inject_budget.c: what recording costs this process ---- */

/* Things that are recorded, and cost something: calls other than launches. */
enum gp_inject_cost { GP_INJECT_CALL, GP_INJECT_WAIT, GP_INJECT_ALLOCATION };
enum { GP_INJECT_COSTS = GP_INJECT_ALLOCATION + 1 };

/* What the records that have been handed over so far show: kernels, copies and sets that calls have launched,
 * and nodes of graphs. */
struct gp_inject_work {
    uint64_t launches, nodes;
};
/* What the budget moves; LEAVE_OUT: enum gp_budget_part, as bits. */
struct gp_inject_budget_switches {
    void (*leave_out)(uint32_t parts);
    void (*time_launches)(bool on);
    void (*pause)(bool paused);
    void (*send)(enum gp_wire_type type, const void *data, size_t n);
};
/* PARTS: those that are recorded now, as bits. */
void gp_inject_budget_start(uint32_t limit_ppm, uint32_t parts);
bool gp_inject_budget_is_on(void);
/* Called by any thread: one more was recorded; a launch has taken so long. */
void gp_inject_budget_count(enum gp_inject_cost what);
void gp_inject_budget_launch(bool recorded, int64_t ns);
/* When to call gp_inject_budget_turn(), 0: no need. Flush thread only. */
int64_t gp_inject_budget_due(void);
void gp_inject_budget_turn(const struct gp_inject_budget_switches *to, int64_t now_ns,
                           const struct gp_inject_work *work);
void gp_inject_budget_end(const struct gp_inject_budget_switches *to, int64_t now_ns);

/* ---- inject_cuts.c: sessions of the program, and recording switched by it ---- */

/* What the flush thread offers for that. */
struct gp_inject_flusher {
    void (*flush)(void); /* hand over everything that there is */
    void (*send)(enum gp_wire_type type, const void *data, size_t n);
    bool (*hear)(struct gp_wire_cut_done *done); /* wait for the answer; false if there will be none */
};

enum gp_ask { GP_ASK_BEGIN, GP_ASK_END, GP_ASK_RECORD, GP_ASK_STOP };

/* Ask the flush thread, and wait until it has answered. FRAME is of the first two, WHY what a launcher
 * complains of. Returns 0 or an enum gpuprof_error. */
int gp_inject_ask(enum gp_ask ask, struct gp_wire_cut *frame, bool memory, struct gp_wire_cut_done *done);
/* ALONE: nobody else records this process, so CUPTI is lent when nothing is recorded. */
void gp_inject_cuts_start(bool alone);
/* Answer whoever has asked; flush thread only. */
void gp_inject_cuts_serve(const struct gp_inject_flusher *f);
/* There will be no more answers. */
void gp_inject_cuts_close(void);
void gp_inject_cuts_forked(void);

/* ---- inject.c, for the program's own calls ---- */

enum gp_inject_state { GP_INJECT_NONE, GP_INJECT_RUNS, GP_INJECT_OVER, GP_INJECT_FORKED };
enum gp_inject_state gp_inject_state(void);
/* As libcuda does, but quietly, and it may be tried again. 0 or an enum gpuprof_error; GPUPROF_E_LAUNCH:
 * nobody listens. LATE: CUDA is up. */
int gp_inject_attach(bool late);

/* ---- inject_device.c ---- */

/* Call TELL for each device that the driver shows this process; for none if CUDA is not up. */
void gp_inject_devices(void (*tell)(const struct gp_wire_device *device));

/* ---- tracer*.c: everything that calls CUPTI ---- */

struct gp_tracer_opts {
    enum gp_api_level api;
    bool memory;       /* allocations as well */
    bool whole_graphs; /* one record per launch of a CUDA graph, none of its nodes */
    bool late;         /* CUDA is initialized already */
    bool one_by_one;   /* kernels wait for each other anyway, and are recorded as such */
    bool budget;       /* parts may be left out later, and what is recorded is counted */
    void (*up)(void);  /* called once CUDA is initialized, and for each new context */
    struct gp_pool *pool;
    struct gp_shared *shared; /* gets the names of calls and the sizes of records that are known in advance */
};

/* Find and open libcupti and subscribe, before gp_tracer_start(), which does that otherwise; and undo it. */
bool gp_tracer_open(void);
void gp_tracer_shut(void);
/* Find and open libcupti, subscribe, get ready; nothing is recorded yet. False, after a message, if the
 * program must run untraced. */
bool gp_tracer_start(const struct gp_tracer_opts *opts);
/* Record from now on, or stop after fetching what there is. False, after a message, if kernels cannot be
 * recorded. One caller at a time. */
bool gp_tracer_record(bool on);
/* Call gp_inject_launch() at both ends of each launch, or stop doing so. */
void gp_tracer_count_launches(bool on);
/* Call gp_inject_budget_launch() at the end of each launch, or stop doing so. */
void gp_tracer_time_launches(bool on);
/* Record no more of these, enum gp_budget_part as bits; what is no longer among them is recorded from the
 * next gp_tracer_record() on. */
void gp_tracer_leave_out(uint32_t parts);
/* Give CUPTI up, so that another tool can have it, until gp_tracer_take(); nothing is being recorded. False
 * if it was not ours. Flush thread only, as the next one. */
bool gp_tracer_lend(void);
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
/* Call gp_inject_metrics_launch() at both ends of each launch. */
void gp_tracer_measure(void);

/* ---- inject_metrics.c ---- */

/* A call of the driver that launches something. */
struct gp_launch_call {
    void *context;
    uint32_t corr;
    bool failed;        /* at its end */
    const char *call;   /* "cuLaunchKernel" */
    const char *kernel; /* as recorded, of the module */
    const void *params;
};
typedef void gp_inject_metrics_send(enum gp_wire_type type, const void *data, size_t n);
typedef void gp_inject_metrics_lose(const char *what, const char *why, uint64_t count);

/* Read counters as OPTS ask, with the CUPTI that is in use. False, after a message unless nothing was asked
 * for, if there will be none. */
bool gp_inject_metrics_start(const struct gp_measure_opts *opts, void *libcupti);
void gp_inject_metrics_launch(bool begins, const struct gp_launch_call *l);
/* A range was pushed on this thread, or popped. */
void gp_inject_metrics_range(bool begins, const char *domain, const char *text);
/* What was measured so far is decoded, but where it is being measured; on a thread of the program. */
void gp_inject_metrics_settle(void);
/* CONTEXT is about to go, or the process: what was measured is decoded. */
void gp_inject_metrics_context_ends(void *context);
void gp_inject_metrics_finish(void);
/* Hand over what was measured; flush thread only. */
void gp_inject_metrics_drain(gp_inject_metrics_send *send, gp_inject_metrics_lose *lose);
void gp_inject_metrics_forked(void);

/* ---- nvtx.c ---- */

/* This thread has created NODE of a CUDA graph, as a copy of node ORIGINAL unless that is 0. Recorded
 * together with the open ranges; costs next to nothing in a process that has never used NVTX. */
void gp_nvtx_node(uint64_t node, uint64_t original);
/* This thread's call, from START_NS on, has waited for something, or recorded an event. */
void gp_nvtx_wait(int64_t start_ns, const struct gp_note_wait *wait);
/* This thread's call, from START_NS on, has returned. */
void gp_nvtx_call(int64_t start_ns, const struct gp_note_call *call);
/* Hand over the notes of all threads, each thread's in order. REFUSED: how many of each enum gp_note_op did
 * not fit since the last call. */
void gp_nvtx_drain(void (*take)(void *ctx, int64_t tid, const struct gp_note *note), void *ctx,
                   uint64_t refused[GP_NOTE_OPS]);
/* From now on report ranges to gp_inject_range_begins() and its like, or stop doing so. */
void gp_nvtx_watch(bool on);
/* What gpuprof.h calls; see there. */
uint64_t gp_nvtx_own_name(const char *text);
void gp_nvtx_own_push(uint64_t name, const struct gpuprof_metric *m, size_t n);
void gp_nvtx_own_pop(void);
uint64_t gp_nvtx_own_start(uint64_t name, const struct gpuprof_metric *m, size_t n);
void gp_nvtx_own_stop(uint64_t range);
void gp_nvtx_own_mark(uint64_t name, const uint64_t *value, const struct gpuprof_metric *m, size_t n);
/* In a fork child: discard the parent's threads; with OFF, record nothing. */
void gp_nvtx_forked(bool off);
void gp_nvtx_off(void);

#endif
