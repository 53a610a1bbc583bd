#include "collect/clocks/clock_sampler.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/clocks/nvml.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

enum { SAMPLES_MOST = 1 << 16, USES_MOST = 4096, FAMILY_MOST = 64, ENERGY_CHANGES = 4 };
static const int64_t RARELY_NS = 1000000000, PROBE_NS = 450000000, PROBE_PAUSE_NS = 1000000;

/* Changes of the energy counter. */
struct probe {
    double last_j;
    int64_t first_ns, last_ns, end_ns; /* end: of looking at it; 0: that has not begun */
    unsigned changes;
    uint64_t step_mj;
};

struct device {
    struct probe probe;
    /* of what counts up: its latest reading (NAN: none), and how much has come since rarely_ns */
    double last[GP_GAUGE_COUNT], sums[GP_GAUGE_COUNT];
    double first_energy_j;       /* NAN: none yet */
    int64_t often_ns, rarely_ns; /* when what is read often and rarely was read; 0: never */
    int64_t wrap_ns;             /* see gp_nvml_wrap_ns() */
    uint64_t uses_us;            /* the latest use that was seen */
    bool shows_ours;             /* a use of ours was seen, so one that is hidden is of others */
};

struct gp_clock_sampler {
    const char *path;
    pthread_t thread;
    bool started;
    atomic_bool begun;
    _Atomic uint64_t wanted, known; /* devices, as bits; nothing wanted: all are read */
    struct gp_clock_device infos[GP_NVML_DEVICES];
    struct gp_nvml_library nvml;
    struct device devices[GP_NVML_DEVICES];
    struct gp_nvml_use uses[USES_MOST]; /* NVML wants room for all that it has, with many empty ones */
    pthread_mutex_t lock;               /* of all below */
    pthread_cond_t wake;
    bool stop;
    struct gp_err err;
    GP_VEC(struct gp_clock_sample) samples;
    GP_VEC(int32_t) own;
};

#define BIT(device) (UINT64_C(1) << (device))

static bool is_wanted(struct gp_clock_sampler *s, uint32_t device)
{
    uint64_t wanted = s->wanted;
    return !wanted || wanted & BIT(device);
}

/* ---- whose process is it ---- */

static int32_t parent_of(uint32_t pid)
{
    char path[40], text[512];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    const char *end = strrchr(text, ')'); /* behind the name, which may hold anything */
    int parent = 0;
    return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_own(struct gp_clock_sampler *s, uint32_t pid)
{
    pthread_mutex_lock(&s->lock);
    bool own = pid == (uint32_t)getpid();
    for (size_t i = 0; i < s->own.n; i++) own |= s->own.at[i] == (int32_t)pid;
    pthread_mutex_unlock(&s->lock);
    return own;
}

static bool is_ours(struct gp_clock_sampler *s, uint32_t pid)
{
    for (int i = 0; i < FAMILY_MOST && pid > 1; i++) {
        if (is_own(s, pid)) return true;
        pid = (uint32_t)parent_of(pid);
    }
    return false;
}

static void put(struct gp_clock_sampler *s, const struct gp_clock_sample *sample)
{
    pthread_mutex_lock(&s->lock);
    if (s->samples.n < SAMPLES_MOST) GP_VEC_PUSH(&s->samples, *sample);
    pthread_mutex_unlock(&s->lock);
}

static struct gp_clock_use name_use(const struct gp_nvml_use *u)
{
    struct gp_clock_use use = {.pid = u->pid, .percent = u->sm};
    char path[40];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", u->pid);
    FILE *f = u->pid ? fopen(path, "re") : NULL;
    if (!f) use.pid = 0; /* of another container */
    if (f && fgets(use.name, sizeof use.name, f)) use.name[strcspn(use.name, "\n")] = 0;
    if (f) fclose(f);
    return use;
}

/* From when on processes used the GPU is known from the second time on. In a container NVML may have other
 * numbers of processes: ours would look like a hidden one, so those count once one of ours was known. */
static void read_uses(struct gp_clock_sampler *s, uint32_t device, struct gp_clock_sample *sample)
{
    struct device *d = &s->devices[device];
    struct gp_nvml_use *uses = s->uses;
    int n = gp_nvml_uses(&s->nvml, device, d->uses_us, uses, USES_MOST);
    bool first = !d->rarely_ns, known = n >= 0 && !first;
    double others = 0;
    for (int i = 0; i < n; i++) {
        if (uses[i].time_us > d->uses_us) d->uses_us = uses[i].time_us;
        if (!uses[i].time_us || !uses[i].sm || uses[i].sm > 100) continue;
        bool ours = is_ours(s, uses[i].pid);
        struct gp_clock_use use = name_use(&uses[i]);
        d->shows_ours |= ours;
        known &= ours || use.pid || d->shows_ours;
        if (!known || ours) continue;
        others += uses[i].sm;
        put(s, &(struct gp_clock_sample){.at_ns = sample->at_ns,
                                         .since_ns = d->rarely_ns,
                                         .device = device,
                                         .is_use = true,
                                         .use = use});
    }
    if (known) sample->values[GP_GAUGE_OTHERS] = fmin(100, others);
}

/* ---- samples ---- */

/* Sums of CLASS. One of 32 bits starts again at 0, it is not known how often where the reading before is too
 * long ago. */
static void add_up(struct device *d, enum gp_nvml_class class, struct gp_clock_sample *sample)
{
    static const double WRAP = 4294967296;
    bool late = class == GP_NVML_OFTEN && sample->at_ns - d->often_ns >= d->wrap_ns;
    for (unsigned g = 0; g < GP_GAUGE_COUNT; g++) {
        if (!gp_nvml_is_sum((enum gp_gauge)g, class)) continue;
        double now = sample->values[g], by = now - d->last[g];
        bool wraps = now < WRAP && d->last[g] < WRAP;
        if (by < 0 && wraps) by += WRAP;
        d->sums[g] += by < 0 || (wraps && late) ? NAN : by;
        d->last[g] = now;
        sample->values[g] = NAN;
    }
}

static void read_rarely(struct gp_clock_sampler *s, uint32_t device, struct gp_clock_sample *sample)
{
    struct device *d = &s->devices[device];
    double seconds = (double)(sample->at_ns - d->rarely_ns) / 1e9;
    gp_nvml_read(&s->nvml, device, GP_NVML_RARELY, sample->values);
    gp_nvml_read(&s->nvml, device, GP_NVML_ENERGY, sample->values);
    add_up(d, GP_NVML_RARELY, sample);
    for (unsigned g = 0; g < GP_GAUGE_COUNT; g++) {
        if (!isnan(d->last[g])) sample->values[g] = d->sums[g] / seconds;
        d->sums[g] = 0;
    }
    if (isnan(d->first_energy_j)) d->first_energy_j = sample->values[GP_GAUGE_ENERGY];
    sample->values[GP_GAUGE_ENERGY] -= d->first_energy_j;
    read_uses(s, device, sample);
    sample->since_ns = d->rarely_ns ? d->rarely_ns : sample->at_ns;
    d->rarely_ns = sample->at_ns;
}

static void read_device(struct gp_clock_sampler *s, uint32_t device, bool all)
{
    struct gp_clock_sample sample = {.device = device};
    struct device *d = &s->devices[device];
    for (unsigned g = 0; g < GP_GAUGE_COUNT; g++) sample.values[g] = NAN;
    sample.at_ns = gp_now_ns();
    gp_nvml_read(&s->nvml, device, GP_NVML_OFTEN, sample.values);
    add_up(d, GP_NVML_OFTEN, &sample);
    d->often_ns = sample.at_ns;
    if (all || sample.at_ns - d->rarely_ns >= RARELY_NS) read_rarely(s, device, &sample);
    put(s, &sample);
}

/* Wait until DUE_NS; true: it is to end. */
static bool pause_until(struct gp_clock_sampler *s, int64_t due_ns)
{
    struct timespec t = {due_ns / 1000000000, due_ns % 1000000000};
    pthread_mutex_lock(&s->lock);
    while (!s->stop && gp_now_ns() < due_ns) pthread_cond_timedwait(&s->wake, &s->lock, &t);
    bool stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return stop;
}

/* ---- the energy counter ---- */

static uint64_t step_of(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* How often it moves on, and by multiples of what: some of its changes in a row tell. False: that is known,
 * or there is none. */
static bool probe_energy(struct gp_clock_sampler *s, uint32_t i)
{
    double values[GP_GAUGE_COUNT];
    struct probe *p = &s->devices[i].probe;
    gp_nvml_read(&s->nvml, i, GP_NVML_ENERGY, values);
    double j = values[GP_GAUGE_ENERGY];
    if (isnan(j)) return false;
    if (p->last_j > 0 && j > p->last_j) {
        p->step_mj = step_of((uint64_t)llround((j - p->last_j) * 1e3), p->step_mj);
        p->last_ns = gp_now_ns();
        if (!p->changes++) p->first_ns = p->last_ns;
    }
    p->last_j = j;
    return p->changes < ENERGY_CHANGES;
}

static void end_probe(struct gp_clock_sampler *s, uint32_t i)
{
    const struct probe *p = &s->devices[i].probe;
    s->infos[i].energy_step_j = (double)p->step_mj / 1e3;
    if (p->changes > 1) s->infos[i].energy_period_ns = (p->last_ns - p->first_ns) / (int64_t)(p->changes - 1);
    s->known |= BIT(i);
}

/* Until DUE_NS, look at the counter of a device that is wanted and was not looked at for long enough. */
static void probe_until(struct gp_clock_sampler *s, int64_t due_ns)
{
    uint64_t open = s->wanted & ~s->known;
    for (uint32_t i = 0; i < s->nvml.n; i++) {
        struct probe *p = &s->devices[i].probe;
        bool more = open & BIT(i);
        if (more && !p->end_ns) p->end_ns = gp_now_ns() + PROBE_NS;
        while (more && gp_now_ns() < due_ns && !pause_until(s, gp_now_ns() + PROBE_PAUSE_NS))
            more = probe_energy(s, i) && gp_now_ns() < p->end_ns;
        if (open & BIT(i) && !more) end_probe(s, i);
    }
}

/* ---- the thread ---- */

static void describe(struct gp_clock_sampler *s)
{
    for (size_t i = 0; i < s->nvml.n; i++) {
        memcpy(s->infos[i].uuid, s->nvml.uuids[i], sizeof s->infos[i].uuid);
        s->infos[i].most_sm_mhz = gp_nvml_most_sm_mhz(&s->nvml, i);
        s->infos[i].power_limit_w = gp_nvml_power_limit_w(&s->nvml, i);
        s->infos[i].memory_bytes = gp_nvml_memory_bytes(&s->nvml, i);
        s->devices[i].wrap_ns = gp_nvml_wrap_ns(&s->nvml, i);
        s->devices[i].first_energy_j = NAN;
        for (unsigned g = 0; g < GP_GAUGE_COUNT; g++) s->devices[i].last[g] = NAN;
    }
}

static void *run(void *arg)
{
    struct gp_clock_sampler *s = arg;
    struct gp_err err = {0};
    int failed = gp_nvml_open(&s->nvml, s->path, &err);
    if (!failed) describe(s);
    pthread_mutex_lock(&s->lock);
    s->err = err;
    pthread_mutex_unlock(&s->lock);
    s->begun = !failed;
    int64_t due_ns = gp_now_ns();
    for (bool all = true, stop = failed; !stop; all = false) {
        for (uint32_t i = 0; i < s->nvml.n; i++)
            if (is_wanted(s, i)) read_device(s, i, all);
        due_ns += GP_CLOCK_PERIOD_NS;
        if (gp_now_ns() > due_ns) due_ns = gp_now_ns(); /* it is slow today: no hurry afterwards */
        probe_until(s, due_ns);
        stop = pause_until(s, due_ns);
    }
    for (uint32_t i = 0; !failed && i < s->nvml.n; i++) {
        if (is_wanted(s, i)) read_device(s, i, true);
        end_probe(s, i);
    }
    if (!failed) gp_nvml_close(&s->nvml);
    return NULL;
}

struct gp_clock_sampler *gp_clock_sampler_start(const char *path)
{
    struct gp_clock_sampler *s = gp_zalloc(sizeof *s);
    pthread_condattr_t attr;
    sigset_t all, old;
    s->path = path;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the launcher's main thread */
    s->started = !pthread_create(&s->thread, NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (s->started) return s;
    gp_clock_sampler_free(s);
    return NULL;
}

void gp_clock_sampler_own(struct gp_clock_sampler *s, int32_t pid)
{
    pthread_mutex_lock(&s->lock);
    GP_VEC_PUSH(&s->own, pid);
    pthread_mutex_unlock(&s->lock);
}

const struct gp_clock_device *gp_clock_sampler_devices(struct gp_clock_sampler *s, size_t *n)
{
    bool begun = s->begun;
    *n = begun ? s->nvml.n : 0;
    return begun ? s->infos : NULL;
}

void gp_clock_sampler_want(struct gp_clock_sampler *s, uint32_t device) { s->wanted |= BIT(device); }

bool gp_clock_sampler_known(struct gp_clock_sampler *s, uint32_t device) { return s->known & BIT(device); }

const char *gp_clock_sampler_why(struct gp_clock_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    const char *why = s->err.code ? s->err.msg : "";
    pthread_mutex_unlock(&s->lock);
    return why;
}

void gp_clock_sampler_take(struct gp_clock_sampler *s,
                           void (*take)(void *ctx, const struct gp_clock_sample *sample), void *ctx)
{
    pthread_mutex_lock(&s->lock);
    GP_VEC(struct gp_clock_sample) mine = {s->samples.at, s->samples.n, s->samples.cap};
    s->samples.at = NULL;
    s->samples.n = s->samples.cap = 0;
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < mine.n; i++) take(ctx, &mine.at[i]);
    GP_VEC_FREE(&mine);
}

void gp_clock_sampler_stop(struct gp_clock_sampler *s)
{
    if (!s->started) return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    s->started = false;
}

void gp_clock_sampler_free(struct gp_clock_sampler *s)
{
    if (!s) return;
    gp_clock_sampler_stop(s);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    GP_VEC_FREE(&s->samples);
    GP_VEC_FREE(&s->own);
    free(s);
}
