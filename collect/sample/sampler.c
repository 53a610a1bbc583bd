#include "collect/sample/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>
#include <fcntl.h>
#include "collect/cpython/remote.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

enum { RUNS_MOST = 1 << 18, ATTACHES_MOST = 40, GAP_PERIODS = 4 };
static const int64_t FAMILY_NS = 100000000, FAMILY_LATER_NS = 500000000, EARLY_NS = 10000000000,
                     RUN_MOST_NS = 1000000000, ATTACH_NS = 8000000;

struct process {
    pid_t pid;
    char exe[256]; /* its program: another one may take its place */
    struct gp_remote_process mem;
    struct gp_py *py; /* NULL: it is no Python, as far as is known */
    bool attached, seen, counted;
    unsigned attaches;
    int64_t attach_ns; /* when to try again */
};

struct gp_sampler {
    int64_t period_ns;
    pthread_t thread;
    bool started;
    _Atomic bool stop;
    struct gp_family family;
    struct gp_py_reader *reader;
    GP_VEC(struct process *) processes;
    GP_VEC(struct gp_sample_run) open; /* the latest run of each thread */
    struct gp_map index;               /* pid << 32 | tid -> index of it */
    pthread_mutex_t lock;              /* of all below */
    struct gp_stacks stacks;
    GP_VEC(struct gp_sample_run) runs; /* to be taken */
    struct gp_sampler_counts counts;
    struct gp_py_counts ended; /* of processes that are gone */
    pid_t now_pid;             /* of the sample that is taken */
    int64_t now_ns;
};

/* ---- runs ---- */

static void put_run(struct gp_sampler *s, struct gp_sample_run *run)
{
    if (run->count && s->runs.n < RUNS_MOST) GP_VEC_PUSH(&s->runs, *run);
    else s->counts.runs_lost += run->count != 0;
    run->count = 0;
}

static bool continues(const struct gp_sampler *s, const struct gp_sample_run *run,
                      const struct gp_py_sample *sample)
{
    return run->count && run->stack == sample->stack && run->does == sample->does &&
           run->partial == sample->partial && s->now_ns - run->last_ns <= GAP_PERIODS * s->period_ns &&
           s->now_ns - run->first_ns < RUN_MOST_NS;
}

static void take_sample(void *ctx, const struct gp_py_sample *sample)
{
    struct gp_sampler *s = ctx;
    uint64_t key = (uint64_t)(uint32_t)s->now_pid << 32 | (uint32_t)sample->tid;
    uint32_t *at = gp_map_put(&s->index, key, (uint32_t)s->open.n);
    if (*at == s->open.n)
        GP_VEC_PUSH(&s->open, ((struct gp_sample_run){.pid = s->now_pid, .tid = sample->tid}));
    struct gp_sample_run *run = &s->open.at[*at];
    if (!continues(s, run, sample)) {
        put_run(s, run);
        run->first_ns = s->now_ns;
        run->stack = sample->stack;
        run->does = (uint8_t)sample->does;
        run->partial = sample->partial;
    }
    run->last_ns = s->now_ns;
    run->count++;
}

/* ---- processes ---- */

static void add_counts(struct gp_py_counts *to, const struct gp_py_counts *c)
{
    to->whole += c->whole;
    to->partial += c->partial;
    to->torn += c->torn;
    to->empty += c->empty;
    to->skipped += c->skipped;
}

static void detach(struct gp_sampler *s, struct process *p)
{
    if (p->py) add_counts(&s->ended, gp_py_counts(p->py));
    gp_py_free(p->py);
    p->py = NULL;
    p->attached = false;
    s->counts.calls += p->mem.calls;
    p->mem.calls = 0;
}

static void free_process(struct gp_sampler *s, struct process *p)
{
    detach(s, p);
    gp_remote_close(&p->mem);
    free(p);
}

/* A process that has just begun, or that runs another program now, is looked at anew. */
static void look_for_program(struct gp_sampler *s, struct process *p)
{
    char exe[sizeof p->exe];
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/exe", (long)p->pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    if (!strcmp(exe, p->exe)) return;
    memcpy(p->exe, exe, sizeof exe);
    detach(s, p);
    p->attaches = 0;
    p->attach_ns = 0;
}

static struct process *find_process(struct gp_sampler *s, pid_t pid)
{
    for (size_t i = 0; i < s->processes.n; i++)
        if (s->processes.at[i]->pid == pid) return s->processes.at[i];
    struct process *p = gp_zalloc(sizeof *p);
    p->pid = pid;
    gp_remote_open(&p->mem, pid);
    GP_VEC_PUSH(&s->processes, p);
    return p;
}

static void look_for_processes(struct gp_sampler *s)
{
    size_t kept = 0;
    gp_family_look(&s->family);
    for (size_t i = 0; i < s->processes.n; i++) s->processes.at[i]->seen = false;
    for (size_t i = 0; i < s->family.n; i++) {
        struct process *p = find_process(s, s->family.pid[i]);
        p->seen = true;
        look_for_program(s, p);
    }
    for (size_t i = 0; i < s->processes.n; i++) {
        if (s->processes.at[i]->seen) s->processes.at[kept++] = s->processes.at[i];
        else free_process(s, s->processes.at[i]);
    }
    s->processes.n = kept;
}

/* Soon again while it begins, later ever more rarely: it may load Python. */
static void attach(struct gp_sampler *s, struct process *p, int64_t now_ns)
{
    struct gp_py_place place = {0};
    const char *why = NULL;
    if (p->attaches >= ATTACHES_MOST || now_ns < p->attach_ns) return;
    p->attaches++;
    p->attach_ns = now_ns + ATTACH_NS * (1 + (int64_t)p->attaches * p->attaches / 8);
    if (!gp_py_find(p->pid, &place)) return;
    if (!p->py)
        p->py = gp_py_new(p->pid, (struct gp_remote){gp_remote_open(&p->mem, p->pid).read, &p->mem},
                          s->reader, &s->stacks);
    p->attached = gp_py_attach(p->py, &place, &why);
    if (p->attached && !p->counted) s->counts.processes += p->counted = true;
    if (why && !s->counts.unknown) s->counts.unknown = why;
    if (p->mem.error == EPERM && !p->attached) {
        if (!s->counts.forbidden) s->counts.forbidden_pid = p->pid;
        s->counts.forbidden = true;
        p->attaches = ATTACHES_MOST;
    }
}

static void look(struct gp_sampler *s)
{
    for (size_t i = 0; i < s->processes.n; i++) {
        struct process *p = s->processes.at[i];
        int64_t now_ns = gp_now_ns();
        if (!p->attached) attach(s, p, now_ns);
        if (!p->attached) continue;
        s->now_pid = p->pid;
        s->now_ns = now_ns;
        if (!gp_py_sample(p->py, take_sample, s)) {
            detach(s, p);
            p->exe[0] = 0; /* it has ended, or runs another program */
        }
    }
}

/* ---- the thread ---- */

/* Between three and five quarters of the period, so that no period of the program is met. */
static int64_t jitter(uint64_t *random, int64_t period_ns)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (int64_t)(*random % (uint64_t)(period_ns / 2 + 1)) - period_ns / 4;
}

static void sleep_until(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
}

static void *run(void *arg)
{
    struct gp_sampler *s = arg;
    int64_t begin_ns = gp_now_ns(), due_ns = begin_ns, family_ns = 0;
    uint64_t random = 88172645463325252u;
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (!atomic_load(&s->stop)) {
        int64_t now_ns = gp_now_ns();
        pthread_mutex_lock(&s->lock);
        if (now_ns >= family_ns) {
            look_for_processes(s);
            family_ns = now_ns + (now_ns - begin_ns < EARLY_NS ? FAMILY_NS : FAMILY_LATER_NS);
        }
        look(s);
        s->counts.cpu_ns = gp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        pthread_mutex_unlock(&s->lock);
        due_ns += s->period_ns;
        now_ns = gp_now_ns();
        if (now_ns > due_ns + s->period_ns) { /* missed samples are not made up for */
            s->counts.late += (uint64_t)((now_ns - due_ns) / s->period_ns);
            due_ns = now_ns;
        }
        sleep_until(due_ns + jitter(&random, s->period_ns));
    }
    return NULL;
}

struct gp_sampler *gp_sampler_new(int64_t period_ns)
{
    struct gp_sampler *s = gp_zalloc(sizeof *s);
    s->period_ns = period_ns > 0 ? period_ns : 1;
    s->reader = gp_zalloc(sizeof *s->reader);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

int gp_sampler_start(struct gp_sampler *s, pid_t pid, struct gp_err *err)
{
    sigset_t all, before;
    s->family.root = pid;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&s->thread, NULL, run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->started = !rc;
    return rc ? gp_fail(err, GP_E_IO, -1, "cannot start a thread: %s", strerror(rc)) : 0;
}

void gp_sampler_stop(struct gp_sampler *s)
{
    if (!s->started) return;
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    s->started = false;
    for (size_t i = 0; i < s->open.n; i++) put_run(s, &s->open.at[i]);
}

void gp_sampler_take(struct gp_sampler *s,
                     void (*take)(void *ctx, const struct gp_sample_run *run, const struct gp_stacks *stacks),
                     void *ctx)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->runs.n; i++) take(ctx, &s->runs.at[i], &s->stacks);
    s->runs.n = 0;
    pthread_mutex_unlock(&s->lock);
}

struct gp_sampler_counts gp_sampler_counts(struct gp_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    struct gp_sampler_counts c = s->counts;
    c.samples = s->ended;
    for (size_t i = 0; i < s->processes.n; i++) {
        if (s->processes.at[i]->py) add_counts(&c.samples, gp_py_counts(s->processes.at[i]->py));
        c.calls += s->processes.at[i]->mem.calls;
    }
    pthread_mutex_unlock(&s->lock);
    return c;
}

void gp_sampler_free(struct gp_sampler *s)
{
    if (!s) return;
    gp_sampler_stop(s);
    for (size_t i = 0; i < s->processes.n; i++) free_process(s, s->processes.at[i]);
    GP_RELEASE(gp_vec_free, &s->processes, &s->open, &s->runs);
    gp_map_release(&s->index);
    gp_stacks_release(&s->stacks);
    free(s->reader);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- the processes to sample ---- */

static bool is_known(const struct gp_family *f, pid_t pid)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->pid[i] == pid) return true;
    return false;
}

/* The children of one thread: numbers with spaces between them. */
static void add_children(struct gp_family *f, pid_t pid, const char *tid)
{
    char path[96], text[4096], *at = text;
    if (snprintf(path, sizeof path, "/proc/%ld/task/%.20s/children", (long)pid, tid) >= (int)sizeof path)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return;
    text[n] = 0;
    while (*at && f->n < GP_FAMILY_MOST) {
        char *end;
        long child = strtol(at, &end, 10);
        if (end == at) break;
        at = end + (*end == ' ');
        if (child > 0 && !is_known(f, (pid_t)child)) f->pid[f->n++] = (pid_t)child;
    }
}

void gp_family_look(struct gp_family *f)
{
    f->n = 1;
    f->pid[0] = f->root;
    for (size_t i = 0; i < f->n; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/task", (long)f->pid[i]);
        DIR *d = opendir(path);
        if (!d) continue;
        for (struct dirent *e; (e = readdir(d));)
            if (e->d_name[0] != '.') add_children(f, f->pid[i], e->d_name);
        closedir(d);
    }
}
