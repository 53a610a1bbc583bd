#include "render/serve/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/output.h"
#include "formats/base/vec.h"

/* ---- blobs ---- */

enum { PACK_LEAST = 1 << 10, PACK_MOST = 16 << 20 };

struct gp_blob {
    pthread_mutex_t lock;
    unsigned users;
    struct gp_blob_part whole, packed;
    bool tried; /* to pack it */
    void *map;
};

int gp_blob_fd(void) { return memfd_create("gpuprof-answer", MFD_CLOEXEC); }

int gp_blob_write(int fd, const void *data, size_t n)
{
    for (const char *p = data; n;) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

struct gp_blob *gp_blob_take(int fd)
{
    struct gp_blob *b = gp_zalloc(sizeof *b);
    struct stat st;
    pthread_mutex_init(&b->lock, NULL);
    b->users = 1;
    b->whole.fd = fd;
    b->whole.n = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
    b->packed.fd = -1;
    if (b->whole.n) {
        void *map = mmap(NULL, b->whole.n, PROT_READ, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) b->map = map;
    }
    uint64_t hash = XXH3_64bits(b->map ? b->map : "", b->map ? b->whole.n : 0);
    snprintf(b->whole.tag, sizeof b->whole.tag, "%016llx", (unsigned long long)hash);
    return b;
}

struct gp_blob *gp_blob_keep(struct gp_blob *b)
{
    pthread_mutex_lock(&b->lock);
    b->users++;
    pthread_mutex_unlock(&b->lock);
    return b;
}

void gp_blob_drop(struct gp_blob *b)
{
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    bool last = !--b->users;
    pthread_mutex_unlock(&b->lock);
    if (!last) return;
    if (b->map) munmap(b->map, b->whole.n);
    close(b->whole.fd);
    if (b->packed.fd >= 0) close(b->packed.fd);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

const struct gp_blob_part *gp_blob_whole(const struct gp_blob *b) { return &b->whole; }

static int put(void *ctx, const void *data, size_t n) { return gp_blob_write(*(const int *)ctx, data, n); }

static void pack(struct gp_blob *b)
{
    int fd = gp_blob_fd();
    if (fd < 0) return;
    struct gp_pack *p = gp_pack_new(GP_PACK_GZIP, put, &fd);
    int failed = gp_pack_write(p, b->map, b->whole.n) || gp_pack_end(p);
    gp_pack_free(p);
    struct stat st;
    if (failed || fstat(fd, &st) || (uint64_t)st.st_size >= b->whole.n - b->whole.n / 8) {
        close(fd);
        return;
    }
    b->packed.fd = fd;
    b->packed.n = (uint64_t)st.st_size;
    snprintf(b->packed.tag, sizeof b->packed.tag, "%.16s-gz", b->whole.tag);
}

const struct gp_blob_part *gp_blob_packed(struct gp_blob *b)
{
    if (!b->map || b->whole.n < PACK_LEAST || b->whole.n > PACK_MOST) return NULL;
    pthread_mutex_lock(&b->lock);
    if (!b->tried) pack(b);
    b->tried = true;
    pthread_mutex_unlock(&b->lock);
    return b->packed.fd >= 0 ? &b->packed : NULL;
}

/* Its size in bytes, with that of the gzip. */
static uint64_t blob_bytes(struct gp_blob *b)
{
    pthread_mutex_lock(&b->lock);
    uint64_t n = b->whole.n + b->packed.n;
    pthread_mutex_unlock(&b->lock);
    return n;
}

const char *gp_blob_map(struct gp_blob *b) { return b->map; }

/* ---- the cache ---- */

struct gp_cache_entry {
    char *key;
    struct gp_blob *blob;
    struct gp_err err;
    int status;
    bool ready, gone; /* gone: not in the list any more */
    unsigned users;
    uint64_t used; /* when it was asked for last */
};

struct gp_cache {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    GP_VEC(struct gp_cache_entry *) entries;
    uint64_t most_bytes, clock;
    size_t most_entries;
};

struct gp_cache *gp_cache_new(uint64_t most_bytes, size_t most_entries)
{
    struct gp_cache *k = gp_zalloc(sizeof *k);
    k->most_bytes = most_bytes;
    k->most_entries = most_entries;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->ready, NULL);
    return k;
}

static void release(struct gp_cache_entry *e)
{
    gp_blob_drop(e->blob);
    free(e->key);
    free(e);
}

static struct gp_cache_entry *find(const struct gp_cache *k, const char *key)
{
    for (size_t i = 0; i < k->entries.n; i++)
        if (!strcmp(k->entries.at[i]->key, key)) return k->entries.at[i];
    return NULL;
}

static void take_out(struct gp_cache *k, size_t i)
{
    struct gp_cache_entry *e = k->entries.at[i];
    k->entries.at[i] = k->entries.at[--k->entries.n];
    e->gone = true;
    if (!e->users) release(e);
}

static uint64_t sum(const struct gp_cache *k)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < k->entries.n; i++)
        if (k->entries.at[i]->blob) bytes += blob_bytes(k->entries.at[i]->blob);
    return bytes;
}

/* Drop the least recently used until the rest fits. False if none could go. */
static bool make_room(struct gp_cache *k, size_t most_entries)
{
    bool any = false;
    while (sum(k) > k->most_bytes || k->entries.n > most_entries) {
        size_t oldest = SIZE_MAX;
        for (size_t i = 0; i < k->entries.n; i++) {
            const struct gp_cache_entry *e = k->entries.at[i];
            if (e->ready && (oldest == SIZE_MAX || e->used < k->entries.at[oldest]->used)) oldest = i;
        }
        if (oldest == SIZE_MAX) break;
        take_out(k, oldest);
        any = true;
    }
    return any;
}

bool gp_cache_evict(struct gp_cache *k)
{
    pthread_mutex_lock(&k->lock);
    bool any = make_room(k, k->entries.n / 2);
    pthread_mutex_unlock(&k->lock);
    return any;
}

struct gp_cache_entry *gp_cache_get(struct gp_cache *k, const char *key, bool *mine)
{
    pthread_mutex_lock(&k->lock);
    struct gp_cache_entry *e = find(k, key);
    *mine = !e;
    if (!e) {
        e = gp_zalloc(sizeof *e);
        e->key = gp_strdup(key);
        GP_VEC_PUSH(&k->entries, e);
    }
    e->users++;
    e->used = ++k->clock;
    while (!*mine && !e->ready) pthread_cond_wait(&k->ready, &k->lock);
    pthread_mutex_unlock(&k->lock);
    return e;
}

void gp_cache_set(struct gp_cache *k, struct gp_cache_entry *e, int status, struct gp_blob *blob,
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

int gp_cache_entry_status(const struct gp_cache_entry *e, struct gp_err *err)
{
    if (e->status && err) *err = e->err;
    return e->status;
}

struct gp_blob *gp_cache_entry_blob(const struct gp_cache_entry *e) { return e->blob; }

void gp_cache_release(struct gp_cache *k, struct gp_cache_entry *e)
{
    pthread_mutex_lock(&k->lock);
    bool last = !--e->users && e->gone;
    pthread_mutex_unlock(&k->lock);
    if (last) release(e);
}

void gp_cache_free(struct gp_cache *k)
{
    if (!k) return;
    while (k->entries.n) take_out(k, k->entries.n - 1);
    GP_VEC_FREE(&k->entries);
    pthread_cond_destroy(&k->ready);
    pthread_mutex_destroy(&k->lock);
    free(k);
}
