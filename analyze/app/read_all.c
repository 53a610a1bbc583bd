
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/app/app.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"

/* Parts per worker that may be read and not merged, so that a slow one does not pile up others. */
enum { AHEAD = 2 };

struct part {
    struct gp_err err;
    bool failed, done;
};

struct pool {
    const struct gp_read_all *job;
    struct part *parts; /* SLOTS of them, as no more are read and not merged; part I is at I modulo SLOTS */
    size_t workers, slots;
    pthread_mutex_t lock; /* of all below, and of the parts' done */
    pthread_cond_t changed;
    size_t next, merged;
    bool stop;
};

static struct part *part_of(const struct pool *p, size_t i) { return &p->parts[i % p->slots]; }

static void read_part(struct pool *p, size_t i)
{
    part_of(p, i)->failed = p->job->read(p->job->ctx, i, &part_of(p, i)->err) != 0;
}

/* A worker reads the next part that nobody has, but not too far ahead of those that are merged. */
static void *work(void *arg)
{
    struct pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->stop && p->next < p->job->n && p->next >= p->merged + p->slots)
            pthread_cond_wait(&p->changed, &p->lock);
        if (p->stop || p->next >= p->job->n) break;
        size_t i = p->next++;
        pthread_mutex_unlock(&p->lock);
        read_part(p, i);
        pthread_mutex_lock(&p->lock);
        part_of(p, i)->done = true;
        p->stop |= part_of(p, i)->failed && !p->job->skip;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Wait for part I, or read it here where there are no workers; empties its slot. */
static struct part take(struct pool *p, size_t i)
{
    if (!p->workers) {
        read_part(p, i);
        p->next = i + 1;
    }
    pthread_mutex_lock(&p->lock);
    while (p->workers && !part_of(p, i)->done) pthread_cond_wait(&p->changed, &p->lock);
    struct part taken = *part_of(p, i);
    memset(part_of(p, i), 0, sizeof taken);
    pthread_mutex_unlock(&p->lock);
    return taken;
}

static void mark_merged(struct pool *p, size_t n, bool stop)
{
    pthread_mutex_lock(&p->lock);
    p->merged = n;
    p->stop |= stop;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static int merge_all(struct pool *p, struct gp_err *err)
{
    const struct gp_read_all *job = p->job;
    for (size_t i = 0; i < job->n; i++) {
        struct part part = take(p, i);
        bool failed = part.failed;
        if (failed && job->skip && job->skip(job->ctx, i, &part.err)) {
            if (job->drop) job->drop(job->ctx, i);
            mark_merged(p, i + 1, false);
            continue;
        }
        if (!failed && job->merge) job->merge(job->ctx, i);
        mark_merged(p, i + !failed, failed);
        if (!failed) continue;
        if (err) *err = part.err;
        return -1;
    }
    return 0;
}

int gp_read_all(const struct gp_read_all *job, struct gp_err *err)
{
    pthread_t ids[GP_MOST_WORKERS];
    struct pool p = {.job = job, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    size_t wanted = job->workers < GP_MOST_WORKERS ? job->workers : GP_MOST_WORKERS;
    p.slots = AHEAD * (wanted ? wanted : 1);
    p.parts = gp_zalloc(p.slots * sizeof *p.parts);
    pthread_mutex_lock(&p.lock); /* nobody looks at the number of workers before it is known */
    while (wanted > 1 && p.workers < wanted && !pthread_create(&ids[p.workers], NULL, work, &p)) p.workers++;
    pthread_mutex_unlock(&p.lock);
    int failed = merge_all(&p, err);
    for (size_t i = 0; i < p.workers; i++) pthread_join(ids[i], NULL);
    for (size_t i = p.merged; i < p.next; i++)
        if (job->drop) job->drop(job->ctx, i);
    free(p.parts);
    return failed;
}
