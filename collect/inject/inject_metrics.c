/* Hardware counters of launches and ranges. A context is measured between Start and Stop; what is launched
 * there gets ranges in the order of its launches, so every launch that is measured is noted, and what must
 * not be measured is launched outside. Whatever fails here switches counters off, and the program runs on. */
#include "collect/inject/inject_metrics.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <stdatomic.h>
#include "collect/counters/measure_plan.h"
#include "collect/inject/inject.h"
#include "collect/inject/inject_window.h"
#include "collect/inject/select.h"
#include "collect/inject/wakeup.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

enum {
    RELAXED = 2,       /* CU_STREAM_CAPTURE_MODE_RELAXED */
    BATCH_LEAST = 128, /* ranges that are decoded at once: the more, the cheaper each is */
    BATCH_MOST = 1000,
    IMAGE_BYTES = 32 << 20, /* a range has 1 to 100 KB there */
    QUEUE_BYTES = 512 << 10,
    MAX_CONTEXTS = 64,
};
static const int64_t BATCH_NS = 1000000000; /* a batch is decoded at the first launch after that */

/* A launch that was measured; its name is of the module, or copied. */
struct measured_launch {
    struct gp_measured_row row;
    const char *name;
};

struct context {
    void *handle;
    pthread_mutex_t lock; /* held during each measured launch */
    void *object;         /* of the range profiler */
    bool ready, started, open;
    bool spent; /* it was stopped since it was configured */
    uint8_t *data;
    size_t data_bytes;
    struct measured_launch *rows;
    size_t n, batch; /* how many there are, and can be */
    uint64_t ordinal;
    int64_t batch_ns;
    struct gp_select select;
};

static void end_batch(struct context *c);

static struct {
    _Atomic bool restarts; /* Start after Stop goes on with the same image */
    struct gp_measure_opts opts;
    struct gp_perfworks api;
    void *library;
    pthread_mutex_t lock; /* of the list, the plan and the queue */
    struct context *contexts[MAX_CONTEXTS];
    _Atomic size_t ncontexts;
    struct gp_measure_plan plan;
    char chip[16];
    bool planned;
    _Atomic bool on;
    _Atomic uint64_t taken; /* launches, for --metrics-count */
    struct gp_buf queue;    /* rows that wait for the flush thread */
    struct gp_buf set;      /* the frame of the set, until it is sent */
    _Atomic uint64_t unmatched, graphs, talking, overlapping, forms;
    int (*device_of)(void *context, uint32_t *device);
    int (*is_capturing)(void *stream, int *status);
    int (*exchange_capture_mode)(int *mode);
    int (*context_now)(void **context);
    int (*synchronize)(void);
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct context *pending; /* whose lock this thread holds for a launch */
static _Thread_local bool pending_measured;   /* that launch is */
static _Thread_local unsigned open_ranges;
static _Thread_local unsigned measured_at; /* how deep the range that is measured lies, 0 none */

static void find_symbol(void *library, const char *name, void *to)
{
    void *p = library ? dlsym(library, name) : NULL;
    memcpy(to, &p, sizeof p);
}

static void fail(const char *what, int code)
{
    char why[200];
    if (!atomic_exchange(&self.on, false)) return;
    gp_perfworks_why(why, sizeof why, code, &self.api, *self.chip ? self.chip : NULL);
    gp_say("cannot read counters: %s", why);
    gp_debug("counters: %s: %d", what, code);
}

/* ---- getting ready ---- */

/* The frame that describes the set. Under the lock. */
static void describe_set(void)
{
    struct gp_measured_set set = {0, (uint32_t)self.plan.names.n, self.plan.passes, 0, ""};
    snprintf(set.chip, sizeof set.chip, "%.*s", (int)sizeof set.chip - 1, self.chip);
    gp_buf_put(&self.set, &set, sizeof set);
    for (size_t i = 0; i < self.plan.names.n; i++) {
        struct gp_measured_metric m = {.type = self.plan.types[i]};
        snprintf(m.name, sizeof m.name, "%.*s", (int)sizeof m.name - 1, self.plan.names.at[i]);
        snprintf(m.unit, sizeof m.unit, "%.*s", (int)sizeof m.unit - 1, self.plan.units[i]);
        gp_buf_put(&self.set, &m, sizeof m);
    }
}

/* Once per process, at the first launch to measure: 0.2 s. Under the lock. */
static bool make_plan(struct context *c)
{
    struct gp_err err = {0};
    uint32_t device = 0;
    struct gp_pw_plain init = {sizeof init, NULL};
    if (self.planned) return true;
    int code = self.api.initialize(&init);
    if (self.device_of) self.device_of(c->handle, &device);
    struct gp_pw_chip chip = {sizeof chip, NULL, device, NULL};
    if (!code) code = self.api.chip_name(&chip);
    if (code) {
        fail("chip", code);
        return false;
    }
    snprintf(self.chip, sizeof self.chip, "%s", chip.name);
    int64_t begin_ns = gp_now_ns();
    if (gp_measure_plan_make(&self.plan, &self.api, GP_PLAN_RANGES, self.chip, self.opts.set,
                             self.opts.passes, &err)) {
        atomic_store(&self.on, false);
        gp_say("--metrics: %s", err.msg);
        return false;
    }
    gp_debug("counters: %zu metrics on %s, %u passes, planned in %lld us", self.plan.names.n, self.chip,
             (unsigned)self.plan.passes, (long long)(gp_now_ns() - begin_ns) / 1000);
    describe_set();
    return self.planned = true;
}

static int image_bytes(struct context *c, size_t ranges, size_t *bytes)
{
    struct gp_pw_data_size s = {.size = sizeof s,
                                .object = c->object,
                                .names = (const char **)(uintptr_t)self.plan.names.at,
                                .n = self.plan.names.n,
                                .ranges = ranges,
                                .nodes = (uint32_t)ranges};
    int code = self.api.data_size(&s);
    *bytes = s.bytes;
    return code;
}

/* An empty image, and the configuration with it. */
static int configure(struct context *c)
{
    bool kernels = self.opts.per == GP_MEASURE_KERNELS;
    struct gp_pw_data_init init = {sizeof init, NULL, c->object, c->data_bytes, c->data};
    struct gp_pw_set_config s = {.size = GP_PW_SIZE(struct gp_pw_set_config, target_level),
                                 .object = c->object,
                                 .config_bytes = self.plan.config_bytes,
                                 .config = self.plan.config,
                                 .data_bytes = c->data_bytes,
                                 .data = c->data,
                                 .range = kernels ? GP_PW_AUTO_RANGE : GP_PW_USER_RANGE,
                                 .replay = kernels && self.plan.passes > 1 ? GP_PW_KERNEL_REPLAY
                                                                           : GP_PW_USER_REPLAY,
                                 .ranges_per_pass = c->batch,
                                 .levels = 1,
                                 .least_level = 1,
                                 .target_level = 1};
    int code = self.api.data_init(&init);
    c->spent = false;
    return code ? code : self.api.set_config(&s);
}

/* Room for a batch. */
static int make_image(struct context *c)
{
    size_t bytes = 0;
    int code = image_bytes(c, BATCH_LEAST, &bytes);
    size_t each = bytes / BATCH_LEAST + 1, batch = IMAGE_BYTES / each;
    c->batch = batch < BATCH_LEAST ? BATCH_LEAST : batch > BATCH_MOST ? BATCH_MOST : batch;
    if (!code) code = image_bytes(c, c->batch, &c->data_bytes);
    if (code) return code;
    c->data = malloc(c->data_bytes);
    c->rows = calloc(c->batch, sizeof *c->rows);
    return c->data && c->rows ? 0 : 8;
}

static bool get_ready(struct context *c)
{
    if (c->ready) return true;
    pthread_mutex_lock(&self.lock);
    bool planned = make_plan(c);
    pthread_mutex_unlock(&self.lock);
    if (!planned) return false;
    struct gp_pw_enable e = {sizeof e, NULL, c->handle, NULL};
    int64_t begin_ns = gp_now_ns();
    int code = self.api.enable(&e);
    c->object = e.object;
    if (!code) code = make_image(c);
    if (!code) code = configure(c);
    if (code) fail("enable", code);
    gp_debug("counters: context ready in %lld us, image of %zu bytes: %d",
             (long long)(gp_now_ns() - begin_ns) / 1000, c->data_bytes, code);
    return c->ready = !code;
}

/* The context of HANDLE; new ones are made. NULL: there are too many. */
static struct context *context_of(void *handle)
{
    size_t n = atomic_load(&self.ncontexts);
    for (size_t i = 0; i < n; i++)
        if (self.contexts[i]->handle == handle) return self.contexts[i];
    struct context *c = NULL;
    pthread_mutex_lock(&self.lock);
    n = atomic_load(&self.ncontexts);
    for (size_t i = 0; i < n && !c; i++)
        if (self.contexts[i]->handle == handle) c = self.contexts[i];
    if (!c && n < MAX_CONTEXTS && (c = calloc(1, sizeof *c))) {
        c->handle = handle;
        c->select.opts = &self.opts;
        pthread_mutex_init(&c->lock, NULL);
        self.contexts[n] = c;
        atomic_store(&self.ncontexts, n + 1);
    }
    pthread_mutex_unlock(&self.lock);
    return c;
}

/* ---- start, stop, decode; under the context's lock ---- */

/* While any thread captures a graph, these calls of CUPTI are not allowed unless this thread says so. Returns
 * the mode before. */
static int relax(int mode)
{
    if (self.exchange_capture_mode && self.exchange_capture_mode(&mode)) return 0;
    return mode;
}

static bool start(struct context *c)
{
    struct gp_pw_object o = {sizeof o, NULL, c->object};
    if (c->started) return true;
    if (c->spent && c->n && !atomic_load(&self.restarts)) end_batch(c);
    int code = atomic_load(&self.on) ? self.api.start(&o) : 7;
    if (code && c->spent) { /* this version wants a new configuration each time */
        gp_debug("counters: start after stop: %d", code);
        atomic_store(&self.restarts, false);
        end_batch(c);
        if (c->spent && configure(c) == 0) c->spent = false;
        code = self.api.start(&o);
    }
    if (code) fail("start", code);
    return c->started = !code;
}

static void stop(struct context *c)
{
    struct gp_pw_stop s = {.size = GP_PW_SIZE(struct gp_pw_stop, all_submitted), .object = c->object};
    if (!c->started) return;
    c->started = false;
    c->spent = true;
    int code = self.api.stop(&s);
    if (code) fail("stop", code);
}

static void forget(struct context *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->rows[i].row.range) free((char *)(uintptr_t)c->rows[i].name);
    c->n = 0;
}

/* Which of the launches or ranges range I of the image is; SIZE_MAX: none. User ranges come in any order,
 * with our names. */
static size_t place_of(struct context *c, size_t i)
{
    if (self.opts.per == GP_MEASURE_KERNELS) return i;
    struct gp_pw_range r = {sizeof r, NULL, c->data, c->data_bytes, i, "/", NULL};
    uint64_t at;
    if (self.api.range_info(&r) || !r.name || !gp_u64_from_text(r.name, strlen(r.name), &at)) return SIZE_MAX;
    return at < c->n ? (size_t)at : SIZE_MAX;
}

/* The values of range I of the image. */
static int evaluate(struct context *c, size_t i, double *values)
{
    struct gp_pw_evaluate e = {sizeof e,
                               NULL,
                               self.plan.host,
                               c->data,
                               c->data_bytes,
                               i,
                               (const char **)(uintptr_t)self.plan.names.at,
                               self.plan.names.n,
                               values};
    for (size_t k = 0; k < self.plan.names.n; k++) values[k] = NAN;
    return self.api.evaluate(&e);
}

static void hand_over(struct context *c)
{
    double values[GP_METRICS_MOST];
    pthread_mutex_lock(&self.lock);
    for (size_t i = 0; i < c->n; i++) {
        size_t at = place_of(c, i);
        if (at == SIZE_MAX || evaluate(c, i, values)) {
            atomic_fetch_add(&self.unmatched, 1);
            continue;
        }
        gp_measured_put_row(&self.queue, &c->rows[at].row, values, self.plan.names.n, c->rows[at].name);
    }
    pthread_mutex_unlock(&self.lock);
    gp_inject_wake(true);
}

/* Decode the launches since the last time, and begin anew. Ranges whose number is not that of the
 * launches are left out. */
static void end_batch(struct context *c)
{
    if (!c->ready || !c->n) return;
    int64_t begin_ns = gp_now_ns();
    bool once = !c->spent;
    stop(c);
    struct gp_pw_decode d = {sizeof d, NULL, c->object, 0};
    struct gp_pw_info info = {sizeof info, NULL, c->data, c->data_bytes, 0};
    int code = self.api.decode(&d);
    if (!code) code = self.api.data_info(&info);
    if (code) fail("decode", code);
    gp_debug("counters: %zu launches, %zu ranges, %zu dropped, decoded in %lld us", c->n, info.ranges,
             d.dropped, (long long)(gp_now_ns() - begin_ns) / 1000);
    if (!code && info.ranges == c->n) hand_over(c);
    else atomic_fetch_add(&self.unmatched, c->n);
    if (info.ranges != c->n && !once)
        atomic_store(&self.restarts, false); /* from now on an image for each Start */
    forget(c);
    if (atomic_load(&self.on) && (code = configure(c))) fail("configure", code);
}

/* ---- launches ---- */

/* The beginnings of the parameters of launch calls, which all versions have. */
struct launch_params {
    void *function;
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
};
struct launch_config {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
};

/* False: not a call of one kernel. */
static bool read_launch(const struct gp_launch_call *l, struct launch_config *to)
{
    if (!l->params || !l->kernel) return false;
    if (gp_starts(l->call, "cuLaunchKernelEx")) {
        const struct launch_config *const *config = l->params;
        if (!*config) return false;
        *to = **config;
        return true;
    }
    if (!strcmp(l->call, "cuLaunchCooperativeKernelMultiDevice")) return false;
    if (!gp_starts(l->call, "cuLaunchKernel") && !gp_starts(l->call, "cuLaunchCooperativeKernel"))
        return false;
    const struct launch_params *p = l->params;
    memcpy(to->grid, p->grid, sizeof to->grid);
    memcpy(to->block, p->block, sizeof to->block);
    to->shared_bytes = p->shared_bytes;
    to->stream = p->stream;
    return true;
}

/* A launch that is captured does not run now. */
static bool is_captured(void *stream)
{
    int status = 0;
    return self.is_capturing && !self.is_capturing(stream, &status) && status != 0;
}

static bool is_left(void) { return !self.opts.count || atomic_load(&self.taken) < self.opts.count; }

static bool wanted(struct context *c, const struct gp_launch_call *l, struct launch_config *config,
                   bool *runs)
{
    *runs = true;
    if (!gp_inject_window_is_open() || !is_left()) return false;
    if (!read_launch(l, config)) {
        if (strstr(l->call, "Graph")) atomic_fetch_add(&self.graphs, 1);
        else atomic_fetch_add(&self.forms, 1);
        return false;
    }
    *runs = !is_captured(config->stream);
    if (!*runs) return false;
    enum gp_selected s = gp_select_launch(&c->select, l->kernel, config->grid);
    if (s == GP_SELECT_COMMUNICATION) atomic_fetch_add(&self.talking, 1);
    return s == GP_SELECT_MEASURE;
}

static void launch_begins(const struct gp_launch_call *l)
{
    struct context *c = context_of(l->context);
    struct launch_config config;
    bool runs = true;
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    bool measure = atomic_load(&self.on) && wanted(c, l, &config, &runs);
    if (measure ? !c->started : runs && c->started) {
        int before = relax(RELAXED);
        measure = measure && get_ready(c) && start(c);
        if (!measure) stop(c); /* or this launch would be measured */
        relax(before);
    }
    pending_measured = measure;
    if (!measure) { /* until it is over, no other thread may start: it would be measured after all */
        if (c->ready) pending = c;
        else pthread_mutex_unlock(&c->lock);
        return;
    }
    struct measured_launch *m = &c->rows[c->n];
    memset(m, 0, sizeof *m);
    m->name = l->kernel;
    m->row.tid = (int64_t)syscall(SYS_gettid);
    m->row.ordinal = c->ordinal++;
    m->row.corr = l->corr;
    memcpy(m->row.grid, config.grid, sizeof m->row.grid);
    memcpy(m->row.block, config.block, sizeof m->row.block);
    m->row.shared_bytes = config.shared_bytes;
    m->row.start_ns = gp_now_ns();
    if (!c->n) c->batch_ns = m->row.start_ns;
    pending = c;
}

static void launch_ends(bool failed)
{
    struct context *c = pending;
    if (!c) return;
    pending = NULL;
    if (!pending_measured) {
        pthread_mutex_unlock(&c->lock);
        return;
    }
    int64_t now_ns = gp_now_ns();
    if (!failed) {
        c->rows[c->n++].row.end_ns = now_ns;
        atomic_fetch_add(&self.taken, 1);
    }
    bool full = c->n == c->batch || (c->n && now_ns - c->batch_ns > BATCH_NS);
    if (full || self.plan.passes > 1) {
        int before = relax(RELAXED);
        if (self.plan.passes > 1) stop(c); /* copies between launches would be ranges, too */
        if (full) end_batch(c);
        relax(before);
    }
    pthread_mutex_unlock(&c->lock);
}

void gp_inject_metrics_launch(bool begins, const struct gp_launch_call *l)
{
    if (!begins) launch_ends(l->failed);
    else if (atomic_load_explicit(&self.on, memory_order_relaxed) && self.opts.per == GP_MEASURE_KERNELS &&
             l->context)
        launch_begins(l);
}

/* ---- ranges ---- */

/* Everything that was launched before must be over, or it would be counted, too. */
static void range_begins(const char *text)
{
    void *handle = NULL;
    if (!self.context_now || self.context_now(&handle) || !handle) return; /* nothing runs here yet */
    struct context *c = context_of(handle);
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    if (c->open) {
        atomic_fetch_add(&self.overlapping, 1);
    } else if (atomic_load(&self.on) && gp_inject_window_is_open() && is_left() && get_ready(c)) {
        if (self.synchronize) self.synchronize();
        char unique[24]; /* ranges of one name would be one */
        snprintf(unique, sizeof unique, "%zu", c->n);
        struct gp_pw_push p = {sizeof p, NULL, c->object, unique};
        int code = start(c) ? self.api.push(&p) : 0;
        if (code) fail("push", code);
        if (!code && c->started) {
            struct measured_launch *m = &c->rows[c->n];
            memset(m, 0, sizeof *m);
            m->name = strdup(text);
            m->row.range = 1;
            m->row.ordinal = c->ordinal++;
            m->row.tid = (int64_t)syscall(SYS_gettid);
            m->row.start_ns = gp_now_ns();
            if (!c->n) c->batch_ns = m->row.start_ns;
            c->open = true;
            pending = c;
            measured_at = open_ranges;
        }
    }
    pthread_mutex_unlock(&c->lock);
}

static void range_ends(void)
{
    struct context *c = pending;
    pending = NULL;
    measured_at = 0;
    pthread_mutex_lock(&c->lock);
    struct gp_pw_object o = {sizeof o, NULL, c->object};
    if (self.synchronize) self.synchronize();
    int code = c->started ? self.api.pop(&o) : 0;
    if (code) fail("pop", code);
    c->open = false;
    c->rows[c->n++].row.end_ns = gp_now_ns();
    atomic_fetch_add(&self.taken, 1);
    if (c->n == c->batch || c->rows[c->n - 1].row.end_ns - c->batch_ns > BATCH_NS) end_batch(c);
    pthread_mutex_unlock(&c->lock);
}

void gp_inject_metrics_range(bool begins, const char *domain, const char *text)
{
    if (self.opts.per != GP_MEASURE_RANGES) return;
    if (!begins) {
        if (pending && measured_at == open_ranges) range_ends();
        open_ranges -= open_ranges > 0;
        return;
    }
    open_ranges++;
    if (atomic_load(&self.on) && !pending && gp_select_range(&self.opts, domain, text, open_ranges - 1))
        range_begins(text);
}

/* ---- the end ---- */

static bool lock_soon(struct context *c)
{
    struct timespec until = gp_clock_after(1);
    return !pthread_mutex_timedlock(&c->lock, &until);
}

static void end_context(struct context *c)
{
    if (pending == c) return; /* the program ends inside of a launch or a range */
    if (!lock_soon(c)) {
        atomic_fetch_add(&self.unmatched, 1);
        return;
    }
    if (c->open) atomic_fetch_add(&self.unmatched, c->n);
    else end_batch(c);
    pthread_mutex_unlock(&c->lock);
}

void gp_inject_metrics_finish(void)
{
    for (size_t i = 0; i < atomic_load(&self.ncontexts); i++) end_context(self.contexts[i]);
}

void gp_inject_metrics_settle(void)
{
    if (self.opts.per == GP_MEASURE_OFF) return;
    for (size_t i = 0; i < atomic_load(&self.ncontexts); i++) {
        struct context *c = self.contexts[i];
        if (pending == c || pthread_mutex_trylock(&c->lock)) continue; /* a range is open there */
        if (!c->open) end_batch(c);
        pthread_mutex_unlock(&c->lock);
    }
}

void gp_inject_metrics_context_ends(void *context)
{
    for (size_t i = 0; i < atomic_load(&self.ncontexts); i++) {
        struct context *c = self.contexts[i];
        if (c->handle != context) continue;
        end_context(c);
        c->ready = c->started = false;
        c->handle = NULL; /* another one may get its address */
    }
}

static void report_loss(gp_inject_metrics_lose *lose, _Atomic uint64_t *count, const char *what,
                        const char *why)
{
    uint64_t n = atomic_exchange(count, 0);
    if (n) lose(what, why, n);
}

void gp_inject_metrics_drain(gp_inject_metrics_send *send, gp_inject_metrics_lose *lose)
{
    struct gp_buf set = {0}, rows = {0};
    if (self.opts.per == GP_MEASURE_OFF) return;
    pthread_mutex_lock(&self.lock);
    set = self.set;
    rows = self.queue;
    memset(&self.set, 0, sizeof self.set);
    memset(&self.queue, 0, sizeof self.queue);
    size_t metrics = self.plan.names.n;
    pthread_mutex_unlock(&self.lock);
    if (set.n) send(GP_WIRE_METRIC_SET, set.data, set.n);
    struct gp_buf frame = {0};
    for (size_t at = 0; at < rows.n;) {
        static const struct gp_measured_rows head = {0, 0};
        size_t from = at;
        while (at < rows.n && at - from < QUEUE_BYTES) {
            struct gp_measured_row r;
            memcpy(&r, rows.data + at, sizeof r);
            at += sizeof r + metrics * sizeof(double) + (((size_t)r.name_n + 7) & ~(size_t)7);
        }
        frame.n = 0;
        gp_buf_put(&frame, &head, sizeof head);
        gp_buf_put(&frame, rows.data + from, at - from);
        send(GP_WIRE_METRIC_ROWS, frame.data, frame.n);
    }
    gp_buf_release(&frame);
    gp_buf_release(&set);
    gp_buf_release(&rows);
    report_loss(lose, &self.unmatched, "launches without counters", "could not be matched");
    report_loss(
        lose, &self.graphs, "launches without counters",
        "CUDA graphs are not measured, and their kernels have no times meanwhile: use --metrics-per range");
    report_loss(lose, &self.talking, "launches without counters",
                "communication would hang if it was measured");
    report_loss(lose, &self.overlapping, "ranges without counters", "another one is measured in the context");
    report_loss(lose, &self.forms, "launches without counters", "of a kind that is not measured");
}

/* ---- life ---- */

bool gp_inject_metrics_start(const struct gp_measure_opts *opts, void *libcupti)
{
    struct gp_err err = {0};
    void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    self.opts = *opts;
    if (opts->per == GP_MEASURE_OFF) return false;
    if (gp_perfworks_open(&self.api, libcupti, &err)) {
        gp_say("cannot read counters: %s", err.msg);
        return false;
    }
    find_symbol(libcupti, "cuptiGetDeviceId", &self.device_of);
    find_symbol(cuda, "cuStreamIsCapturing", &self.is_capturing);
    find_symbol(cuda, "cuThreadExchangeStreamCaptureMode", &self.exchange_capture_mode);
    find_symbol(cuda, "cuCtxGetCurrent", &self.context_now);
    find_symbol(cuda, "cuCtxSynchronize", &self.synchronize);
    atomic_store(&self.restarts, true);
    atomic_store(&self.on, true);
    return true;
}

void gp_inject_metrics_forked(void)
{
    atomic_store(&self.on, false);
    self.opts.per = GP_MEASURE_OFF;
    pending = NULL;
}
