/* The injected library's life: libcuda loads it in cuInit() and calls InitializeInjection(). One thread of
 * ours does all the work; the program's threads only fill buffers and rings. Whatever goes wrong here, the
 * program runs on. */
#include "collect/inject.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "formats/gpt_write.h"

enum {
    FIRST_BUFFERS = 2,         /* made before cuInit() goes on */
    READY_BUFFERS = 24,        /* kept ready */
    WAITING_BYTES = 160 << 20, /* filled buffers that wait, at most */
    BUFFERS_PER_WRITE = 16,    /* rows are written after so many buffers, which bounds the memory for rows */
    WELCOME_MS = 10000,
    HEAR_MS = 1000, /* for the rest of a frame that has begun to arrive */
};
static const int64_t GIVE_UP_NS = 3000000000, CLOCK_NS = 1000000000;

enum state { IDLE, RUNNING, CLOSING, DONE, DISABLED };

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    enum state state; /* under lock */
    unsigned work;    /* under lock: what there is to do before the next flush */
    pid_t pid;
    _Atomic uint64_t progress; /* changes while the flush thread gets anything done */
    _Atomic bool forked;
    _Atomic unsigned handlers; /* how often our exit handler was registered */
    int fd;
    dev_t fd_dev; /* of the socket: programs that close every descriptor must not get our bytes in their files
                   */
    ino_t fd_ino;
    pthread_t thread;
    struct gp_wire_welcome opts;
    struct gp_pool *pool;
    struct gp_records records;
    struct gp_ranges ranges;
    struct gp_gpt_writer *writer;
    int64_t last_clock_ns;
    uint64_t pool_dropped;
    bool owns;   /* some of what records point at is ours to free */
    bool broken; /* the launcher is gone */
} self = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* ---- messages ---- */

GP_PRINTF(1, 0) static void print_line(const char *fmt, va_list ap)
{
    char line[600];
    int n = snprintf(line, sizeof line, "gpuprof-collect: pid %ld: ", (long)getpid());
    int k = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    if (k < 0) return;
    n = (size_t)(n + k) < sizeof line - 1 ? n + k : (int)sizeof line - 2;
    line[n++] = '\n';
    ssize_t rc =
        write(STDERR_FILENO, line, (size_t)n); /* one write, so that lines of several processes stay whole */
    (void)rc;
}

void gp_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_line(fmt, ap);
    va_end(ap);
}

void gp_debug(const char *fmt, ...)
{
    static _Atomic int on; /* 0 not known yet, 1 no, 2 yes */
    if (!on) {
        const char *v = getenv(GP_ENV_DEBUG);
        on = v && *v && strcmp(v, "0") != 0 ? 2 : 1;
    }
    if (on != 2) return;
    va_list ap;
    va_start(ap, fmt);
    print_line(fmt, ap);
    va_end(ap);
}

int64_t gp_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    return clock_gettime(id, &t) ? 0 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- what the records need to know ---- */

static const char *call_name(void *ctx, bool driver, uint32_t cbid)
{
    (void)ctx;
    return gp_tracer_call_name(driver, cbid);
}

static const char *text_at(void *ctx, uint64_t address)
{
    (void)ctx;
    return (const char *)(uintptr_t)address;
}

/* A thread that is gone by now most likely had the name that threads have by default: the process's. */
static void thread_name(void *ctx, int64_t tid, char *name, size_t size)
{
    (void)ctx;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%lld/comm", (long long)tid);
    FILE *f = fopen(path, "re");
    if (!f) f = fopen("/proc/self/comm", "re");
    if (!f) return;
    if (fgets(name, (int)size, f)) name[strcspn(name, "\n")] = 0;
    fclose(f);
}

static int32_t rank_from_environment(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                                        "LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *v = getenv(names[i]);
        char *end;
        if (!v || !*v) continue;
        long rank = strtol(v, &end, 10);
        if (!*end && rank >= 0 && rank < INT32_MAX) return (int32_t)rank;
    }
    return -1;
}

/* ---- writing ---- */

static bool socket_is_ours(void)
{
    struct stat st;
    return !fstat(self.fd, &st) && st.st_dev == self.fd_dev && st.st_ino == self.fd_ino;
}

static int send_frame(enum gp_wire_type type, const void *data, size_t n)
{
    if (self.broken || gp_wire_send(self.fd, type, data, n)) {
        if (!self.broken) gp_debug("the launcher is gone: %s", strerror(errno));
        self.broken = true;
        return -1;
    }
    atomic_fetch_add(&self.progress, 1);
    return 0;
}

static int send_block(void *ctx, const void *data, size_t n)
{
    (void)ctx;
    return send_frame(GP_WIRE_BLOCK, data, n);
}

static void note_losses(void)
{
    uint64_t cupti = gp_tracer_dropped(), pool = gp_pool_dropped(self.pool) - self.pool_dropped;
    self.pool_dropped += pool;
    gp_records_lose(&self.records, "activity records", "dropped by CUPTI", cupti);
    gp_records_lose(&self.records, "activity records", "the reader is too slow", pool);
    self.records.stats.dropped += cupti + pool;
    if (cupti || pool)
        gp_debug("dropped: %llu by CUPTI, %llu by us", (unsigned long long)cupti, (unsigned long long)pool);
}

static void note_clock(bool now)
{
    int64_t t = gp_now_ns();
    if (!now && t - self.last_clock_ns < CLOCK_NS) return;
    struct gp_clock c = {t, clock_ns(CLOCK_REALTIME), 0};
    self.last_clock_ns = t;
    GP_VEC_PUSH(&self.records.trace.clocks, c);
}

/* Everything that is ready goes to the launcher. */
static void write_rows(bool all)
{
    gp_records_commit(&self.records, all);
    if (!socket_is_ours()) self.broken = true;
    if (!self.broken && gp_gpt_flush(self.writer, &self.records.trace)) self.broken = true;
    gp_trace_clear_events(&self.records.trace);
    self.records.stats.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!self.broken) send_frame(GP_WIRE_STATS, &self.records.stats, sizeof self.records.stats);
}

static void take_record(void *ctx, const void *record)
{
    struct gp_record_pointer p;
    gp_records_add(ctx, record);
    if (self.owns && gp_record_points(record, &p) && p.ours) free((void *)(uintptr_t)p.address);
}

/* What the launcher has to say. That it is gone shows when we send. */
static void hear(void)
{
    struct gp_wire_record r;
    while (!self.broken && socket_is_ours() && gp_wire_readable(self.fd)) {
        if (gp_wire_receive(self.fd, GP_WIRE_RECORD, &r, sizeof r, HEAR_MS)) {
            gp_debug("the launcher is gone");
            self.broken = true;
        } else {
            gp_inject_gate_set(r.open);
        }
    }
}

static void drain(void)
{
    uint8_t *data;
    size_t valid;
    for (unsigned n = 1; gp_pool_next(self.pool, &data, &valid); n++) {
        uint64_t count = gp_tracer_read(data, valid, take_record, &self.records);
        gp_debug("buffer: %zu bytes, %llu records; so far %llu kernels, %llu of unknown kind", valid,
                 (unsigned long long)count, (unsigned long long)self.records.stats.kernels,
                 (unsigned long long)self.records.unknown);
        gp_pool_give(self.pool, data, valid);
        atomic_fetch_add(&self.progress, 1);
        if (n % BUFFERS_PER_WRITE == 0) write_rows(false);
    }
    uint64_t refused = gp_nvtx_drain(&self.ranges);
    gp_records_lose(&self.records, "ranges", "too many at once", refused);
    gp_inject_gate_marks(&self.records);
    self.records.stats.dropped += refused;
}

/* ---- the flush thread ---- */

enum { WORK = 1, WRITE = 2 };

/* Wait until the next flush is due, somebody wakes us, or it is time to end. Tells what there is to do. */
static unsigned wait_for_work(int64_t due_ns, enum state *state)
{
    struct timespec t = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};
    pthread_mutex_lock(&self.lock);
    int rc = 0;
    while (self.state == RUNNING && !self.work && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&self.wake, &self.lock, &t);
    unsigned work = self.work;
    self.work = 0;
    *state = self.state;
    pthread_mutex_unlock(&self.lock);
    return work;
}

static void write_facts(void)
{
    struct gp_trace *t = &self.records.trace;
    char text[32];
    int n = snprintf(text, sizeof text, "%u", (unsigned)gp_tracer_version());
    gp_trace_set_meta(t, "cupti_version", text, (size_t)n);
    n = snprintf(text, sizeof text, "%d", gp_tracer_driver_version());
    gp_trace_set_meta(t, "cuda_driver_version", text, (size_t)n);
    note_clock(true);
}

/* Nobody listens any more: the program goes on as if we were not here. */
static void abandon(void)
{
    gp_nvtx_off();
    gp_tracer_stop();
    uint8_t *data;
    size_t valid;
    while (gp_pool_next(self.pool, &data, &valid)) gp_pool_give(self.pool, data, valid);
}

static void finish(void)
{
    gp_tracer_flush(false);
    atomic_fetch_add(&self.progress, 1);
    drain();
    gp_tracer_flush(true); /* hands out unfinished records as well, so it comes last */
    atomic_fetch_add(&self.progress, 1);
    drain();
    note_losses();
    note_clock(true);
    gp_ranges_close(&self.ranges, gp_now_ns());
    write_rows(true);
    if (!self.broken && gp_gpt_end(self.writer, &self.records.trace)) self.broken = true;
    if (!self.broken) send_frame(GP_WIRE_BYE, NULL, 0);
    gp_debug("finished: %llu kernels, %llu calls, %zu buffers",
             (unsigned long long)self.records.stats.kernels, (unsigned long long)self.records.stats.calls,
             gp_pool_buffers(self.pool));
    gp_nvtx_off();
    gp_tracer_mute();
}

static void *flush_thread(void *arg)
{
    (void)arg;
    write_facts();
    int64_t due_ns = gp_now_ns() + self.opts.flush_ns;
    bool preparing = true;
    while (!self.broken) {
        enum state state;
        int64_t gate_ns = gp_inject_gate_due(), wait_ns = gate_ns && gate_ns < due_ns ? gate_ns : due_ns;
        unsigned work = wait_for_work(preparing ? gp_now_ns() : wait_ns, &state);
        if (state != RUNNING) break;
        int64_t now_ns = gp_now_ns();
        gp_inject_gate_tick(now_ns);
        hear();
        bool due = now_ns >= due_ns;
        if (due) {
            gp_tracer_flush(false);
            gp_records_tick(&self.records, now_ns);
            note_clock(false);
            note_losses();
            due_ns = now_ns + self.opts.flush_ns;
        }
        drain();
        if (due || work & WRITE) write_rows(work & WRITE);
        preparing = gp_pool_prepare(self.pool, 1);
    }
    if (self.broken) abandon();
    else finish();
    pthread_mutex_lock(&self.lock);
    self.state = DONE;
    pthread_cond_broadcast(&self.done);
    pthread_mutex_unlock(&self.lock);
    return NULL;
}

void gp_inject_wake(bool write)
{
    if (atomic_load(&self.forked)) return;
    pthread_mutex_lock(&self.lock);
    self.work |= write ? WORK | WRITE : WORK;
    if (self.state == RUNNING) pthread_cond_signal(&self.wake);
    pthread_mutex_unlock(&self.lock);
}

/* ---- the end, and forks ---- */

/* Let the flush thread finish, but not for ever: CUPTI has been seen to hang once the driver is going down. A
 * reader that is slow but reads is waited for. */
static void on_exit_wait(void)
{
    if (getpid() != self.pid) return;
    pthread_mutex_lock(&self.lock);
    if (self.state == RUNNING) {
        self.state = CLOSING;
        pthread_cond_signal(&self.wake);
    }
    uint64_t seen = atomic_load(&self.progress);
    int64_t give_up_ns = gp_now_ns() + GIVE_UP_NS;
    while (self.state == CLOSING && gp_now_ns() < give_up_ns) {
        int64_t until = gp_now_ns() + 100000000;
        struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
        pthread_cond_timedwait(&self.done, &self.lock, &t);
        uint64_t now = atomic_load(&self.progress);
        if (now != seen) give_up_ns = gp_now_ns() + GIVE_UP_NS;
        seen = now;
    }
    if (self.state == CLOSING) gp_say("the last flush does not end: the trace lacks the end of this process");
    pthread_mutex_unlock(&self.lock);
}

/* Exit handlers run in the reverse order, and CUDA registers its own in cuInit() and with the first context. Being
 * called twice does no harm. */
void gp_inject_outlast(void)
{
    enum { ENOUGH = 3 };
    if (atomic_fetch_add(&self.handlers, 1) >= ENOUGH || getpid() != self.pid) return;
    if (atexit(on_exit_wait) || at_quick_exit(on_exit_wait))
        gp_debug("no exit handler: the last flush may be missing");
}

/* A child of a process that uses CUDA cannot use it, so it is none of ours; before cuInit() it starts afresh.
 */
static void in_child(void)
{
    bool traced = self.state != IDLE;
    if (traced) atomic_store(&self.forked, true);
    if (self.fd >= 0 && socket_is_ours()) close(self.fd);
    self.fd = -1;
    pthread_mutex_init(&self.lock, NULL);
    if (traced) self.state = DISABLED;
    gp_nvtx_forked(traced);
    gp_inject_gate_forked();
}

static void init_once(void)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&self.wake, &attr);
    pthread_cond_init(&self.done, &attr);
    pthread_condattr_destroy(&attr);
    pthread_atfork(NULL, NULL, in_child);
}

void gp_inject_once(void)
{
    pthread_once(&self.once, init_once);
}

/* ---- the beginning ---- */

static bool connect_launcher(void)
{
    struct gp_wire_hello hello = {GP_WIRE_VERSION, (int32_t)getpid(), rank_from_environment(), 0};
    struct stat st;
    int fd = gp_wire_connect(getenv(GP_ENV_SOCKET));
    if (fd < 0) {
        gp_debug("no launcher at %s: %s", getenv(GP_ENV_SOCKET) ? getenv(GP_ENV_SOCKET) : "(unset)",
                 strerror(errno));
        return false;
    }
    if (gp_wire_send(fd, GP_WIRE_HELLO, &hello, sizeof hello) ||
        gp_wire_receive(fd, GP_WIRE_WELCOME, &self.opts, sizeof self.opts, WELCOME_MS) || fstat(fd, &st)) {
        gp_debug("the launcher does not answer");
        close(fd);
        return false;
    }
    self.fd = fd;
    self.fd_dev = st.st_dev;
    self.fd_ino = st.st_ino;
    return true;
}

static uint64_t count_records(uint8_t *data, size_t valid)
{
    return gp_tracer_read(data, valid, NULL, NULL);
}

static void start_records(void)
{
    struct gp_records_opts r = {
        .pid = self.pid,
        .rank = rank_from_environment(),
        .api = (enum gp_api_level)self.opts.api,
        .memory = self.opts.memory,
        .kernel = self.opts.kernel,
        .text = text_at,
        .call_name = call_name,
        .thread_name = thread_name,
    };
    struct gp_gpt_write_opts w = {.producer = self.opts.producer};
    self.owns = gp_tracer_version() >= 130000;
    gp_records_init(&self.records, &r);
    self.records.trace.rank = r.rank;
    self.ranges.records = &self.records;
    self.ranges.clip = gp_inject_clip;
    self.writer = gp_gpt_writer_new(&w, send_block, NULL);
}

static bool start_thread(void)
{
    sigset_t all, before; /* signals are the program's */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    self.state = RUNNING;
    int rc = pthread_create(&self.thread, NULL, flush_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc) return !pthread_detach(self.thread);
    gp_say("cannot start a thread: %s: this process runs untraced", strerror(rc));
    gp_tracer_stop();
    self.state = DISABLED;
    return false;
}

GP_EXPORT int InitializeInjection(void);

/* Called by libcuda inside cuInit(). Not 0: "all is well", which is what the program should believe in any
 * case. */
GP_EXPORT int InitializeInjection(void)
{
    gp_inject_once();
    if (self.state != IDLE) return 1;
    if (!connect_launcher()) {
        gp_nvtx_off(); /* nobody will ever read what it notes */
        return 1;
    }
    self.pid = getpid();
    struct gp_pool_opts p = {
        .buffer_bytes = self.opts.buffer_bytes,
        .ready = READY_BUFFERS,
        .max_waiting = WAITING_BYTES / self.opts.buffer_bytes + 8,
        .count = count_records,
    };
    self.pool = gp_pool_new(&p);
    gp_pool_prepare(self.pool, FIRST_BUFFERS);
    struct gp_tracer_opts t = {(enum gp_api_level)self.opts.api, self.opts.memory, self.pool};
    bool ready = gp_tracer_start(&t), ok = ready && gp_inject_gate_start(&self.opts.gate);
    if (!ok) {
        if (ready) gp_tracer_stop();
        gp_nvtx_off();
        self.state = DISABLED;
        if (send_frame(GP_WIRE_BYE, NULL, 0)) gp_debug("no farewell");
        close(self.fd);
        self.fd = -1;
        return 1;
    }
    start_records();
    if (start_thread()) gp_inject_outlast();
    gp_debug("tracing as producer %u, flush every %lld ms", (unsigned)self.opts.producer,
             (long long)(self.opts.flush_ns / 1000000));
    return 1;
}
