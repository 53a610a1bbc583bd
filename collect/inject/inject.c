/* The life of the injected library: libcuda loads it in cuInit() and calls InitializeInjection(). The
 * program's threads only fill buffers and rings; the flush thread hands them over to the launcher, with the
 * names that the launcher cannot look up itself. Whatever goes wrong here, the program keeps running. */
#include "collect/inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "collect/inject/inject_budget.h"
#include "collect/inject/inject_cuts.h"
#include "collect/inject/inject_link.h"
#include "collect/inject/inject_metrics.h"
#include "collect/inject/inject_pc.h"
#include "collect/inject/inject_stacks.h"
#include "collect/inject/inject_window.h"
#include "collect/inject/nvtx.h"
#include "collect/inject/thread_ring.h"
#include "collect/inject/tracer.h"
#include "collect/inject/wakeup.h"
#include "collect/records/notes.h"
#include "collect/records/records.h"
#include "collect/wire/rate.h"
#include "formats/base/buf.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/str.h"

enum {
    FIRST_BUFFERS = 2,       /* created before cuInit() continues */
    READY_BUFFERS = 4,       /* kept ready */
    NOTES_BYTES = 256 << 10, /* are sent at once */
};
/* FIRST_NS: the first launch that is recorded takes long, and a launcher that is killed may end it at once */
static const int64_t GIVE_UP_NS = 3000000000, SETTLE_NS = 2000000000, FIRST_NS = 1000000000;

enum state { IDLE, RUNNING, CLOSING, DONE, DISABLED, FORKED };

static struct {
    pthread_mutex_t beginning; /* one thread begins at a time */
    pthread_mutex_t lock;
    pthread_cond_t done;
    enum state state;          /* under lock */
    _Atomic pid_t pid;         /* the program may end while a recording begins */
    _Atomic unsigned handlers; /* how often our exit handler was registered */
    bool again;                /* failures may be tried again: the program asked for it, or a launcher */
    /* from here on: of one recording */
    struct gp_wire_welcome opts;
    struct gp_shared shared;
    struct gp_pool *pool;
    struct gp_strings texts; /* written to the log: texts by address, threads */
    struct gp_map names, threads;
    uint16_t record_bytes[GP_SHARED_KINDS]; /* as seen in buffers, 0: not yet */
    struct gp_buf notes;                    /* to be sent */
    struct gp_buf stacks; /* of calls of thread STACKS_TID, to be added to the notes as one */
    int64_t stacks_tid;
    uint64_t names_lost, records;
    bool names_new;             /* since the last flush */
    struct gp_rate rate;        /* of nodes of CUDA graphs */
    uint64_t nodes;             /* seen since it was reported */
    struct gp_inject_work work; /* in all */
    bool whole_graphs;          /* they are seen no longer */
    uint64_t pool_dropped;
    bool owns;    /* some memory that records point at must be freed here */
    bool entered; /* CUPTI is in the process, and the launcher knows it */
    bool later;   /* it was not from the beginning, and makes no records of devices */
    bool leaves;  /* it may leave in pauses */
    bool devices; /* which have been described therefore */
} self = {.beginning = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

static void send_losses(void)
{
    uint64_t pool = gp_pool_dropped(self.pool) - self.pool_dropped;
    self.pool_dropped += pool;
    gp_link_lose("activity records", "dropped by CUPTI", gp_tracer_dropped());
    gp_link_lose("activity records", "the reader is too slow", pool);
    gp_link_lose("names", "the reader is too slow", self.names_lost);
    self.names_lost = 0;
}

/* Windows go before the notes within them. */
static void send_notes(void)
{
    gp_inject_window_windows(gp_link_window, NULL);
    if (self.notes.n) gp_link_send(GP_WIRE_NOTES, self.notes.data, self.notes.n);
    self.notes.n = 0;
}

/* ---- names, which the launcher cannot look up ---- */

static void log_name(enum gp_name_kind kind, uint64_t key, const char *text, uint32_t *known, uint32_t value)
{
    bool ok = gp_shared_log(&self.shared, kind, key, text);
    *known = ok ? value : UINT32_MAX;
    self.names_lost += !ok;
}

/* A thread that is already gone most likely had the default name, that of the process. */
static void log_thread(int64_t tid)
{
    uint32_t *known = gp_map_put(&self.threads, (uint64_t)tid, UINT32_MAX);
    if (*known != UINT32_MAX) return;
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%lld/comm", (long long)tid);
    FILE *f = fopen(path, "re");
    if (!f) f = fopen("/proc/self/comm", "re");
    if (f && fgets(name, sizeof name, f)) name[strcspn(name, "\n")] = 0;
    if (f) fclose(f);
    log_name(GP_NAME_THREAD, (uint64_t)tid, name, known, 1);
}

/* A module may have been unloaded and another name stored at the same address, so the bytes decide. */
static void log_text(uint64_t address)
{
    const char *text = (const char *)(uintptr_t)address;
    uint32_t *sid = gp_map_put(&self.names, address, UINT32_MAX);
    if (*sid != UINT32_MAX && !strcmp(gp_string(&self.texts, *sid), text)) return;
    log_name(GP_NAME_TEXT, address, text, sid, gp_intern_cstr(&self.texts, text));
    self.names_new = true;
}

/* ---- buffers that are handed over ---- */

/* The state of walking a buffer. */
struct look {
    const uint8_t *last; /* record */
    uint32_t kind;       /* of it */
    uint64_t n;          /* records so far */
    int64_t tid;         /* that was named last */
    /* one of them was longer than others of its kind: the launcher could not walk them */
    bool odd;
};

static void learn(struct look *k, const uint8_t *record)
{
    if (!k->last || k->kind >= GP_SHARED_KINDS) return;
    size_t bytes = (size_t)(record - k->last);
    uint16_t *known = &self.record_bytes[k->kind];
    if (!*known && bytes <= UINT16_MAX) {
        *known = (uint16_t)bytes;
        gp_shared_learn(&self.shared, k->kind, bytes);
    }
    k->odd |= *known != bytes;
}

static bool is_work(uint32_t kind)
{
    return kind == GP_ACTIVITY_CONCURRENT_KERNEL || kind == GP_ACTIVITY_MEMCPY ||
           kind == GP_ACTIVITY_MEMCPY2 || kind == GP_ACTIVITY_MEMSET;
}

static void look_at(void *ctx, const void *record)
{
    struct look *k = ctx;
    struct gp_record_pointer p;
    learn(k, record);
    k->last = record;
    memcpy(&k->kind, record, sizeof k->kind);
    k->n += !k->odd;
    bool node = gp_record_is_node(record);
    self.nodes += node;
    self.work.nodes += node;
    self.work.launches += !node && is_work(k->kind);
    int64_t tid = gp_record_thread(record);
    if (tid && tid != k->tid) log_thread(k->tid = tid);
    uint64_t source = gp_record_source(record, gp_tracer_version());
    if (source) log_text(source);
    if (!gp_record_points(record, &p)) return;
    if (p.text) log_text(p.address);
    if (self.owns && p.ours) free((void *)(uintptr_t)p.address);
}

static void hand_over_buffers(void)
{
    uint8_t *data;
    size_t valid;
    while (!gp_link_is_broken() && gp_pool_next(self.pool, &data, &valid)) {
        struct look k = {.last = NULL};
        uint64_t all = gp_tracer_read(data, valid, look_at, &k);
        struct gp_wire_filled f = {gp_pool_deliver(self.pool, k.n), 0};
        self.records += k.n;
        gp_debug("buffer: %zu bytes, %llu records", valid, (unsigned long long)k.n);
        gp_link_send(GP_WIRE_FILLED, &f, sizeof f);
        gp_link_lose("activity records", "of a size that varies", all - k.n);
    }
}

/* This many nodes are not useful: from here on the launcher makes one row per launch. CUPTI is not asked for
 * whole graphs, since it crashes if that is requested after a graph has run. */
static void watch_graphs(void)
{
    struct gp_wire_graphs g = {gp_now_ns()};
    uint64_t n = self.nodes;
    self.nodes = 0;
    if (self.opts.graphs != GP_GRAPHS_AUTO || self.whole_graphs || !gp_rate_add(&self.rate, g.at_ns, n))
        return;
    self.whole_graphs = true;
    gp_say("more than %llu graph nodes per second: CUDA graphs are recorded as wholes from here on (see "
           "--graphs)",
           (unsigned long long)self.opts.graph_rate);
    gp_link_send(GP_WIRE_GRAPHS, &g, sizeof g);
}

/* Stacks of calls are many and small: those that follow each other in a thread's ring become one note. */
static void put_stacks(void)
{
    if (!self.stacks.n) return;
    struct gp_note note = {.op = GP_NOTE_STACK, .args_n = (uint16_t)self.stacks.n, .domain = "", .text = ""};
    gp_notes_put_with(&self.notes, self.stacks_tid, &note, self.stacks.data);
    self.stacks.n = 0;
}

static void take_stack(int64_t tid, const struct gp_note *note)
{
    enum { MOST = 4096 * sizeof(struct gp_note_stack) };
    if (tid != self.stacks_tid || self.stacks.n >= MOST) put_stacks();
    self.stacks_tid = tid;
    gp_buf_put(&self.stacks, gp_note_args(note), note->args_n);
}

/* ---- the budget ---- */

static const struct gp_inject_budget_switches costs = {gp_tracer_leave_out, gp_inject_window_pause,
                                                       gp_tracer_moved_ns, gp_link_send};

static void note_step(int64_t tid, const struct gp_note *note)
{
    bool recording;
    if (note->op != GP_NOTE_PUSH && note->op != GP_NOTE_START && note->op != GP_NOTE_MARK) return;
    uint64_t windows = gp_inject_window_before(note->time_ns, &recording);
    gp_inject_budget_begins(tid, gp_note_text(note), note->time_ns, recording, windows);
}

static void take_note(void *ctx, int64_t tid, const struct gp_note *note)
{
    (void)ctx;
    log_thread(tid);
    if (note->op == GP_NOTE_STACK) take_stack(tid, note);
    else gp_notes_put(&self.notes, tid, note);
    if (gp_inject_budget_is_on()) note_step(tid, note);
    if (self.notes.n >= NOTES_BYTES) send_notes();
}

/* Before our calls of the driver would be recorded. */
static void describe_devices(void)
{
    if (self.later && !self.devices) self.devices = gp_inject_devices(gp_link_device);
}

/* CUPTI has come into the process: what the launcher must know before any of its records. */
static void greet_tracer(void)
{
    if (self.entered || !gp_tracer_entered_ns()) return;
    self.entered = true;
    self.owns = gp_tracer_version() >= 130000;
    describe_devices();
    gp_link_fact("cupti_version", gp_tracer_version());
    gp_link_fact("recorder_entered_ns", gp_tracer_entered_ns());
}

static void drain(void)
{
    greet_tracer();
    hand_over_buffers();
    watch_graphs();
    uint64_t refused[GP_NOTE_OPS];
    gp_thread_ring_drain(take_note, NULL, refused);
    put_stacks();
    send_notes();
    for (unsigned op = 0; op < GP_NOTE_OPS; op++)
        gp_link_lose(gp_note_plural(op), gp_note_reason(op), refused[op]);
    gp_inject_metrics_drain(gp_link_send, gp_link_lose);
    gp_inject_pc_drain();
    int64_t left_ns = gp_tracer_left_ns();
    if (left_ns) gp_link_fact("recorder_left_ns", left_ns);
}

/* ---- requests of the program ---- */

static void flush_all(void)
{
    gp_tracer_flush(false);
    gp_link_tick(false);
    send_losses();
    drain();
    gp_link_write();
}

static void serve(void)
{
    static const struct gp_inject_flusher flusher = {flush_all, gp_link_send, gp_link_hear_cut};
    gp_inject_cuts_serve(&flusher);
}

/* Parts of the request that may be left out. */
static uint32_t parts_of(const struct gp_wire_welcome *w)
{
    return (w->memory ? GP_BUDGET_MEMORY : 0) | (w->api >= GP_API_LEVEL_SYNC ? GP_BUDGET_EVENTS : 0) |
           (w->api >= GP_API_LEVEL_LAUNCH ? GP_BUDGET_CALLS : 0);
}

/* ---- the flush thread ---- */

/* While there are new names, the next flush comes sooner: if the program dies before it, they are lost. */
static int64_t sooner(int64_t due_ns, int64_t now_ns)
{
    int64_t soon_ns = now_ns + self.opts.flush_ns / 8;
    return due_ns < soon_ns ? due_ns : soon_ns;
}

/* OTHER_NS may be 0: never. */
static int64_t first_of(int64_t due_ns, int64_t other_ns)
{
    return other_ns && other_ns < due_ns ? other_ns : due_ns;
}

static void finish(bool sleeps)
{
    gp_tracer_flush(false);
    gp_link_progress(true);
    drain();
    if (!sleeps) gp_tracer_flush(true); /* hands out unfinished records as well, so it comes last */
    gp_link_progress(true);
    drain();
    send_losses();
    gp_inject_budget_end(&costs, gp_now_ns());
    gp_link_tick(true);
    gp_link_write();
    struct gp_wire_bye bye = {gp_now_ns()};
    gp_link_send(GP_WIRE_BYE, &bye, sizeof bye);
    gp_debug("finished: %llu records, %zu buffers", (unsigned long long)self.records,
             gp_pool_buffers(self.pool));
    gp_thread_ring_off();
    gp_tracer_mute();
}

/* Only in pauses of the budget: graphs that are captured meanwhile have neither ranges nor stacks. */
static void leave_after(int64_t now_ns)
{
    int64_t since_ns = now_ns - self.opts.flush_ns;
    if (gp_tracer_is_lent() || gp_pool_out(self.pool) || !gp_inject_window_leave(since_ns, NULL)) return;
    gp_inject_window_leave(since_ns, gp_tracer_lend);
}

static bool is_running(void) { return gp_inject_state() == GP_INJECT_RUNS; }

/* ---- from one recording to the next ---- */

/* Work that was launched while it was recorded ends; CUPTI returns a buffer when all of its work has. One
 * that is forced out before then is missed at a later launch, and the program dies: seen with CUPTI 13.0. */
static void settle(void)
{
    int64_t give_up_ns = gp_now_ns() + SETTLE_NS;
    do {
        gp_rest_ms(5);
        gp_tracer_flush(false);
        if (!gp_link_is_broken()) gp_link_tick(false);
        if (!gp_link_is_broken()) drain();
    } while (gp_pool_out(self.pool) && gp_now_ns() < give_up_ns && is_running());
    gp_debug("settled: CUPTI has %zu buffers", gp_pool_out(self.pool)); /* the launcher reads them */
}

static void go_to_sleep(void)
{
    bool all = gp_tracer_sleep();
    gp_link_end();
    for (size_t i = 0; !all && i < self.opts.slots; i++)
        if (atomic_load(&gp_shared_slot(&self.shared, i)->state) != GP_SLOT_OUT)
            gp_shared_trim(&self.shared, i);
    if (all) gp_shared_unmap(&self.shared); /* otherwise CUPTI may still write to it */
    gp_pool_free(self.pool);
    gp_strings_release(&self.texts);
    gp_map_release(&self.names);
    gp_map_release(&self.threads);
    gp_buf_release(&self.notes);
    gp_buf_release(&self.stacks);
    size_t from = offsetof(__typeof__(self), opts);
    memset((char *)&self + from, 0, sizeof self - from);
}

static void *flush_thread(void *arg)
{
    (void)arg;
    greet_tracer();
    gp_link_fact("cuda_driver_version", gp_tracer_driver_version());
    gp_link_tick(true);
    int64_t due_ns = gp_now_ns() + self.opts.flush_ns;
    bool preparing = true;
    while (!gp_link_is_broken() && !gp_link_leaves()) {
        int64_t wait_ns = first_of(first_of(due_ns, gp_inject_window_due()), gp_inject_budget_due());
        unsigned work = gp_inject_wakeup_wait(preparing ? gp_now_ns() : wait_ns);
        if (!is_running()) break;
        int64_t now_ns = gp_now_ns();
        gp_inject_window_tick(now_ns);
        gp_inject_budget_turn(&costs, now_ns, &self.work);
        gp_link_hear();
        serve();
        bool due = now_ns >= due_ns;
        if (due) {
            gp_inject_stacks_refresh();
            describe_devices();
            gp_tracer_flush(false);
            gp_link_tick(false);
            send_losses();
            if (self.leaves) leave_after(now_ns);
            due_ns = now_ns + self.opts.flush_ns;
        }
        drain();
        if (due || work & GP_WORK_WRITE) gp_link_write();
        if (self.names_new || work & GP_WORK_SOON) due_ns = sooner(due_ns, now_ns);
        self.names_new = false;
        preparing = gp_pool_prepare(self.pool, 1);
    }
    gp_inject_cuts_close();
    bool sleeps = is_running() && gp_dormant_is_on();
    if (sleeps) gp_inject_window_end(gp_link_is_broken() ? FIRST_NS : 0);
    if (sleeps) settle();
    if (gp_link_is_broken()) {
        /* The launcher is gone: the program continues as if we were not here. What was already handed over
         * belongs to the launcher, even if that could not be reported. */
        gp_thread_ring_off();
        if (!sleeps) gp_tracer_stop();
        if (gp_link_is_gone()) gp_pool_abandon(self.pool);
    } else {
        finish(sleeps);
    }
    pthread_mutex_lock(&self.beginning);
    if (sleeps) go_to_sleep();
    pthread_mutex_lock(&self.lock);
    self.state = sleeps && self.state == RUNNING ? IDLE : DONE;
    pthread_mutex_unlock(&self.beginning);
    pthread_cond_broadcast(&self.done);
    pthread_mutex_unlock(&self.lock);
    return NULL;
}

/* ---- the end, and forks ---- */

/* Let the flush thread finish, but not forever: CUPTI has been seen to hang once the driver is shutting down.
 * A reader that is slow but still reads is waited for. */
static void on_exit_wait(void)
{
    if (getpid() != self.pid) return;
    gp_inject_metrics_finish();
    gp_inject_pc_record(false);
    pthread_mutex_lock(&self.lock);
    if (self.state == RUNNING) {
        self.state = CLOSING;
        gp_inject_wake(false);
    }
    uint64_t seen = gp_link_progress(false);
    int64_t give_up_ns = gp_now_ns() + GIVE_UP_NS;
    while (self.state == CLOSING && gp_now_ns() < give_up_ns) {
        int64_t until = gp_now_ns() + 100000000;
        struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
        pthread_cond_timedwait(&self.done, &self.lock, &t);
        uint64_t now = gp_link_progress(false);
        if (now != seen) give_up_ns = gp_now_ns() + GIVE_UP_NS;
        seen = now;
    }
    if (self.state == CLOSING) gp_say("final flush timed out; the end of this process is missing");
    pthread_mutex_unlock(&self.lock);
}

/* Exit handlers run in reverse order, and CUDA registers its own in cuInit() and with the first context.
 * Running twice is harmless. */
static void outlast(void)
{
    enum { ENOUGH = 3 };
    if (atomic_fetch_add(&self.handlers, 1) >= ENOUGH || getpid() != self.pid) return;
    if (atexit(on_exit_wait) || at_quick_exit(on_exit_wait))
        gp_debug("no exit handler: the last flush may be missing");
}

/* A child of a process that uses CUDA cannot use CUDA, so it is not traced; before cuInit() it starts fresh.
 */
static void in_child(void)
{
    bool traced = self.state != IDLE;
    gp_inject_cuts_forked();
    gp_dormant_forked();
    gp_link_end();
    pthread_mutex_init(&self.beginning, NULL);
    pthread_mutex_init(&self.lock, NULL);
    if (traced) self.state = FORKED;
    if (traced) {
        gp_shared_forget(&self.shared);
        gp_tracer_forked();
    }
    gp_inject_wakeup_forked(traced);
    gp_thread_ring_forked(traced);
    gp_nvtx_watch(false);
    gp_inject_window_forked();
    gp_inject_metrics_forked();
    gp_inject_pc_forked();
}

/* Runs when the library is loaded, for CUDA or for NVTX. */
static __attribute__((constructor)) void on_load(void)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    gp_inject_wakeup_init(&attr);
    pthread_cond_init(&self.done, &attr);
    pthread_condattr_destroy(&attr);
    pthread_atfork(NULL, NULL, in_child);
}

/* ---- the beginning ---- */

/* FD: -1, or connected. */
static bool connect_launcher(int fd)
{
    int memory = -1;
    if (!gp_link_open(fd, &self.opts, &memory)) return false;
    struct gp_shared_opts o = {self.opts.slots, self.opts.buffer_bytes};
    bool ok = gp_shared_map(&self.shared, memory, &o);
    if (!ok) gp_say("cannot create buffers: %s: this process runs untraced", strerror(errno));
    close(memory); /* the mapping stays, even if the program closes the descriptor */
    if (!ok) gp_link_close();
    return ok;
}

static uint64_t count_records(uint8_t *data, size_t valid) { return gp_tracer_read(data, valid, NULL, NULL); }

static bool start_thread(void)
{
    self.state = RUNNING;
    if (gp_inject_thread(flush_thread)) return true;
    gp_tracer_stop();
    self.state = DISABLED;
    return false;
}

/* Does libcuda call from there? If it does not, it has been loaded and initialized before. */
static bool is_cuda(const void *caller)
{
    Dl_info where;
    if (!dladdr(caller, &where) || !where.dli_fname) return true;
    const char *slash = strrchr(where.dli_fname, '/');
    return gp_starts(slash ? slash + 1 : where.dli_fname, "libcuda.so");
}

/* Nothing is recorded: NVTX is not either, and whether that may change. */
static void fail_start(void)
{
    if (!self.again || gp_dormant_is_on()) gp_thread_ring_off(); /* nobody will ever read its notes */
    if (!gp_link_is_open()) return;
    if (gp_say_caught()) {
        struct gp_wire_say say = {""};
        snprintf(say.text, sizeof say.text, "%s", gp_say_caught());
        gp_link_send(GP_WIRE_SAY, &say, sizeof say);
    }
    self.state = self.again ? IDLE : DISABLED;
    gp_link_close();
}

enum gp_inject_state gp_inject_state(void)
{
    pthread_mutex_lock(&self.lock);
    enum state s = self.state;
    pthread_mutex_unlock(&self.lock);
    return s == IDLE      ? GP_INJECT_NONE
           : s == RUNNING ? GP_INJECT_RUNS
           : s == FORKED  ? GP_INJECT_FORKED
                          : GP_INJECT_OVER;
}

static void start_metrics(void)
{
    if (!gp_inject_metrics_start(&self.opts.metrics, gp_tracer_library())) return;
    if (self.opts.metrics.per == GP_MEASURE_RANGES) gp_nvtx_watch(true);
    else gp_tracer_measure();
}

static void start_counters(bool late)
{
    if (!gp_inject_pc_start(&self.opts.pc, gp_tracer_library(), late)) return;
    gp_tracer_watch_code();
    if (self.opts.pc.mode == GP_PC_LAUNCHES) gp_tracer_measure();
}

/* May CUPTI stay out of the process while nothing is recorded, so that its steps can be timed without it?
 * What opens the window must be seen without it, and nothing else may need it. */
static bool may_stay_out(const struct gp_wire_welcome *w)
{
    const struct gp_capture_opts *c = &w->capture;
    bool seen = c->start.when != GP_WHEN_PROFILER && c->start.when != GP_WHEN_LAUNCH;
    return w->pace && seen && c->stop.when != GP_WHEN_LAUNCH && w->metrics.per == GP_MEASURE_OFF &&
           !w->pc.mode && !w->alone;
}

/* LATE: CUDA is up. FD: -1, or connected to the launcher. */
static void begin(bool late, int fd)
{
    if (self.state != IDLE) return;
    if (!connect_launcher(fd)) {
        fail_start();
        return;
    }
    if (self.again) gp_thread_ring_on();
    self.pid = getpid();
    struct gp_pool_opts p = {
        .shared = &self.shared,
        .ready = READY_BUFFERS,
        .max_waiting = GP_SHARED_WAITING,
        .count = count_records,
    };
    self.pool = gp_pool_new(&p);
    gp_pool_prepare(self.pool, FIRST_BUFFERS);
    bool stays_out = may_stay_out(&self.opts);
    self.later = !late && !self.again && stays_out && !self.opts.capture.open &&
                 self.opts.capture.start.when != GP_WHEN_UNSET;
    self.leaves = stays_out && self.opts.budget_ppm && self.opts.capture.stop.when != GP_WHEN_PROFILER;
    struct gp_tracer_opts t = {(enum gp_api_level)self.opts.api,
                               self.opts.memory,
                               self.opts.graphs == GP_GRAPHS_WHOLE,
                               late,
                               self.later,
                               self.opts.metrics.per == GP_MEASURE_KERNELS,
                               self.opts.budget_ppm != 0,
                               outlast,
                               self.pool,
                               &self.shared};
    static const struct gp_inject_switches switches = {gp_tracer_record, gp_tracer_await_end,
                                                       gp_tracer_count_launches, gp_nvtx_watch};
    gp_rate_init(&self.rate, self.opts.graph_rate);
    gp_inject_stacks_start((enum gp_stacks_mode)self.opts.stacks);
    gp_inject_budget_start(self.opts.budget_ppm, parts_of(&self.opts));
    bool ready = gp_tracer_start(&t);
    log_thread(self.pid); /* after the names of calls: when the launcher has this one, it has those */
    if (ready && late)
        gp_inject_devices(gp_link_device); /* before our calls of the driver would be recorded */
    if (ready && fd >= 0) gp_link_fact("attached_ns", gp_now_ns());
    bool ok = ready && gp_inject_window_start(&self.opts.capture, &switches);
    if (!ok) {
        if (ready) gp_tracer_stop();
        fail_start();
        return;
    }
    gp_inject_cuts_start(self.opts.alone);
    start_metrics();
    start_counters(late);
    if (start_thread()) outlast();
    gp_debug("tracing as producer %u, flush every %lld ms", (unsigned)self.opts.producer,
             (long long)(self.opts.flush_ns / 1000000));
}

int gp_inject_attach(bool late)
{
    gp_say_quiet(true);
    self.again = true;
    bool opened = self.state != IDLE || gp_tracer_open(); /* first, so that a failure costs no memory */
    if (opened) begin(late, -1);
    if (opened && self.state == IDLE && !gp_dormant_is_on()) gp_tracer_shut();
    self.again = false;
    gp_say_quiet(false);
    if (self.state == RUNNING) return GPUPROF_OK;
    if (opened) return gp_link_was_reached() ? GPUPROF_E_SHUT : GPUPROF_E_LAUNCH;
    return gp_tracer_holder() ? GPUPROF_E_HELD : GPUPROF_E_CUPTI;
}

bool gp_inject_record_for(int fd, char *why, size_t size)
{
    enum { PATIENCE = 400 };
    for (int i = 0; i < PATIENCE && is_running(); i++) gp_rest_ms(10); /* one that was killed ends */
    pthread_mutex_lock(&self.beginning);
    bool idle = gp_inject_state() == GP_INJECT_NONE;
    snprintf(why, size, idle ? "it did not start" : "it is being recorded already, or has ended");
    self.again = true;
    gp_say_to(why, size);
    if (idle) begin(gp_inject_cuda_is_up(), fd);
    gp_say_to(NULL, 0);
    self.again = false;
    if (idle && gp_inject_state() != GP_INJECT_RUNS) go_to_sleep();
    pthread_mutex_unlock(&self.beginning);
    return idle;
}

GP_EXPORT int InitializeInjection(void);
GP_EXPORT int InitializeInjectionDormant(void);

/* Called by whoever loads this library into a process that runs: sleep there. */
GP_EXPORT int InitializeInjectionDormant(void)
{
    if (gp_inject_state() == GP_INJECT_NONE) gp_thread_ring_off();
    return gp_dormant_start(gp_inject_record_for);
}

/* Called by libcuda inside cuInit(), or by whoever loads this library later. Always returns success (not 0),
 * so that the program continues in any case. */
GP_EXPORT int InitializeInjection(void)
{
    if (gp_dormant_wanted() && !getenv(GP_ENV_SOCKET)) return InitializeInjectionDormant();
    begin(!is_cuda(__builtin_return_address(0)), -1);
    return 1;
}
