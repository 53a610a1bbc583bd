#include "render/serve/keep.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

struct gp_kept {
    char *key;
    struct gp_blob *blob;
    struct gp_err err;
    int status;
    bool ready, gone; /* gone: not in the list any more */
    unsigned users;
    uint64_t used; /* when it was asked for last */
};

struct gp_keep {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    GP_VEC(struct gp_kept *) entries;
    uint64_t most_bytes, clock;
    size_t most_entries;
};

struct gp_keep *gp_keep_new(uint64_t most_bytes, size_t most_entries)
{
    struct gp_keep *k = gp_zalloc(sizeof *k);
    k->most_bytes = most_bytes;
    k->most_entries = most_entries;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->ready, NULL);
    return k;
}

static void release(struct gp_kept *e)
{
    gp_blob_drop(e->blob);
    free(e->key);
    free(e);
}

static struct gp_kept *find(const struct gp_keep *k, const char *key)
{
    for (size_t i = 0; i < k->entries.n; i++)
        if (!strcmp(k->entries.at[i]->key, key)) return k->entries.at[i];
    return NULL;
}

static void take_out(struct gp_keep *k, size_t i)
{
    struct gp_kept *e = k->entries.at[i];
    k->entries.at[i] = k->entries.at[--k->entries.n];
    e->gone = true;
    if (!e->users) release(e);
}

static uint64_t sum(const struct gp_keep *k)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < k->entries.n; i++)
        if (k->entries.at[i]->blob) bytes += gp_blob_bytes(k->entries.at[i]->blob);
    return bytes;
}

/* Let go of what nobody asked for longest, until the rest fits. False if
 * nothing could go. */
static bool make_room(struct gp_keep *k, size_t most_entries)
{
    bool any = false;
    while (sum(k) > k->most_bytes || k->entries.n > most_entries) {
        size_t oldest = SIZE_MAX;
        for (size_t i = 0; i < k->entries.n; i++) {
            const struct gp_kept *e = k->entries.at[i];
            if (e->ready && (oldest == SIZE_MAX || e->used < k->entries.at[oldest]->used)) oldest = i;
        }
        if (oldest == SIZE_MAX) break;
        take_out(k, oldest);
        any = true;
    }
    return any;
}

bool gp_keep_shed(struct gp_keep *k)
{
    pthread_mutex_lock(&k->lock);
    bool any = make_room(k, k->entries.n / 2);
    pthread_mutex_unlock(&k->lock);
    return any;
}

struct gp_kept *gp_keep_get(struct gp_keep *k, const char *key, bool *mine)
{
    pthread_mutex_lock(&k->lock);
    struct gp_kept *e = find(k, key);
    *mine = !e;
    if (!e) {
        e = gp_zalloc(sizeof *e);
        e->key = strcpy(gp_alloc(strlen(key) + 1), key);
        GP_VEC_PUSH(&k->entries, e);
    }
    e->users++;
    e->used = ++k->clock;
    while (!*mine && !e->ready) pthread_cond_wait(&k->ready, &k->lock);
    pthread_mutex_unlock(&k->lock);
    return e;
}

void gp_keep_set(struct gp_keep *k, struct gp_kept *e, int status, struct gp_blob *blob,
                 const struct gp_err *err, bool lasting)
{
    pthread_mutex_lock(&k->lock);
    e->status = status;
    e->blob = blob;
    if (err) e->err = *err;
    e->ready = true;
    for (size_t i = 0; !lasting && i < k->entries.n; i++)
        if (k->entries.at[i] == e) {
            take_out(k, i);
            break;
        }
    make_room(k, k->most_entries);
    pthread_cond_broadcast(&k->ready);
    pthread_mutex_unlock(&k->lock);
}

int gp_kept_status(const struct gp_kept *e, struct gp_err *err)
{
    if (e->status && err) *err = e->err;
    return e->status;
}

struct gp_blob *gp_kept_blob(const struct gp_kept *e)
{
    return e->blob;
}

void gp_keep_put(struct gp_keep *k, struct gp_kept *e)
{
    pthread_mutex_lock(&k->lock);
    bool last = !--e->users && e->gone;
    pthread_mutex_unlock(&k->lock);
    if (last) release(e);
}

uint64_t gp_keep_bytes(struct gp_keep *k, size_t *n)
{
    pthread_mutex_lock(&k->lock);
    uint64_t bytes = sum(k);
    *n = k->entries.n;
    pthread_mutex_unlock(&k->lock);
    return bytes;
}

void gp_keep_free(struct gp_keep *k)
{
    if (!k) return;
    while (k->entries.n) take_out(k, k->entries.n - 1);
    GP_VEC_FREE(&k->entries);
    pthread_cond_destroy(&k->ready);
    pthread_mutex_destroy(&k->lock);
    free(k);
}
