#include "collect/inject/thread_ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_BYTES = 4 << 20 };

struct gp_thread_rings gp_thread_rings;
_Thread_local struct gp_thread_ring *gp_thread_ring_own;

static struct {
    pthread_mutex_t lock;
    struct gp_thread_ring *threads; /* under lock */
    pthread_key_t key;
    pthread_once_t once;
    uint64_t refused_gone[GP_NOTE_OPS]; /* by freed threads; flush thread only */
    uint64_t refused_reported[GP_NOTE_OPS];
    _Atomic bool off;
    _Atomic bool used;      /* some thread has a ring */
    _Atomic unsigned forks; /* of the processes that led here */
} rings = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void thread_ends(void *arg)
{
    struct gp_thread_ring *t = arg;
    gp_thread_ring_own = NULL;
    atomic_store(&t->gone, true);
}

static void make_key(void) { pthread_key_create(&rings.key, thread_ends); }

/* The one of the recording before. */
static struct gp_thread_ring *use_again(struct gp_thread_ring *t)
{
    gp_launch_stack_free(t->stack); /* its numbers mean nothing to another launcher */
    t->stack = NULL;
    t->counted = (struct gp_launch_counts){0};
    t->open = t->skipped = t->placed = 0;
    memset(t->watch, 0, sizeof t->watch);
    t->epoch = atomic_load(&gp_thread_rings.epoch);
    return t;
}

struct gp_thread_ring *gp_thread_ring_new(void)
{
    if (atomic_load(&rings.off)) return NULL;
    if (gp_thread_ring_own && gp_thread_ring_own->forks == atomic_load(&rings.forks))
        return use_again(gp_thread_ring_own);
    pthread_once(&rings.once, make_key);
    struct gp_thread_ring *t = calloc(1, sizeof *t);
    if (t) t->ring = gp_ring_new(RING_BYTES);
    if (!t || !t->ring) {
        free(t);
        return NULL;
    }
    t->tid = syscall(SYS_gettid);
    t->epoch = atomic_load(&gp_thread_rings.epoch);
    t->forks = atomic_load(&rings.forks);
    pthread_setspecific(rings.key, t);
    pthread_mutex_lock(&rings.lock);
    t->next = rings.threads;
    rings.threads = t;
    pthread_mutex_unlock(&rings.lock);
    atomic_store(&rings.used, true);
    return gp_thread_ring_own = t;
}

bool gp_thread_ring_used(void) { return atomic_load_explicit(&rings.used, memory_order_relaxed); }

/* ---- the reading side ---- */

typedef void take_note(void *ctx, int64_t tid, const struct gp_note *note);

static void drain_thread(struct gp_thread_ring *t, take_note *take, void *ctx)
{
    atomic_store(&t->woke, false);
    for (const struct gp_note *note; (note = gp_ring_peek(t->ring));) {
        if (take) take(ctx, t->tid, note);
        gp_ring_pop(t->ring, note);
    }
}

static void add_refused(uint64_t sum[GP_NOTE_OPS], const struct gp_ring *r)
{
    for (size_t op = 0; op < GP_NOTE_OPS; op++) sum[op] += atomic_load(&r->refused[op]);
}

void gp_thread_ring_drain(take_note *take, void *ctx, uint64_t refused[GP_NOTE_OPS])
{
    pthread_mutex_lock(&rings.lock);
    struct gp_thread_ring *first = rings.threads;
    pthread_mutex_unlock(&rings.lock);
    memcpy(refused, rings.refused_gone, sizeof rings.refused_gone);
    struct gp_thread_ring *before = NULL;
    for (struct gp_thread_ring *t = first, *next; t; t = next) {
        bool gone = atomic_load(&t->gone); /* read before draining, so that nothing is written after */
        next = t->next;
        drain_thread(t, take, ctx);
        bool frees = gone && before; /* the first one stays: a new thread may just be linking to it */
        add_refused(refused, t->ring);
        if (frees) {
            add_refused(rings.refused_gone, t->ring);
            before->next = next;
            gp_ring_free(t->ring);
            gp_launch_stack_free(t->stack);
            free(t->args.data);
            free(t);
        } else {
            before = t;
        }
    }
    for (size_t op = 0; op < GP_NOTE_OPS; op++) {
        uint64_t all = refused[op];
        refused[op] -= rings.refused_reported[op];
        rings.refused_reported[op] = all;
    }
}

void gp_thread_ring_off(void)
{
    atomic_store(&rings.off, true);
    atomic_fetch_add(&gp_thread_rings.epoch, 1); /* no thread's ring is of this one */
}

void gp_thread_ring_on(void)
{
    uint64_t refused[GP_NOTE_OPS];
    if (!atomic_load(&rings.off)) return;
    gp_thread_ring_drain(NULL, NULL, refused);
    atomic_store(&rings.off, false);
}

void gp_thread_ring_forked(bool off)
{
    atomic_fetch_add(&rings.forks, 1);
    pthread_mutex_init(&rings.lock, NULL); /* another thread of the parent may have held it */
    rings.threads = NULL;
    atomic_fetch_add(&gp_thread_rings.epoch, 1);
    if (off) gp_thread_ring_off();
}
