#include "render/serve/blob.h"

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
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/base/pack.h"

enum { PACK_LEAST = 1 << 10, PACK_MOST = 16 << 20 };

struct gp_blob {
    pthread_mutex_t lock;
    unsigned users;
    struct gp_blob_part whole, packed;
    bool tried; /* to pack it */
    void *map;
};

int gp_blob_fd(void)
{
    return memfd_create("gpuprof-answer", MFD_CLOEXEC);
}

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

struct gp_blob *gp_blob_of(const struct gp_buf *from)
{
    int fd = gp_blob_fd();
    if (fd < 0) return NULL;
    if (!gp_blob_write(fd, from->data, from->n)) return gp_blob_take(fd);
    close(fd);
    return NULL;
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

const struct gp_blob_part *gp_blob_whole(const struct gp_blob *b)
{
    return &b->whole;
}

static int put(void *ctx, const void *data, size_t n)
{
    return gp_blob_write(*(const int *)ctx, data, n);
}

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

uint64_t gp_blob_bytes(struct gp_blob *b)
{
    pthread_mutex_lock(&b->lock);
    uint64_t n = b->whole.n + b->packed.n;
    pthread_mutex_unlock(&b->lock);
    return n;
}

const char *gp_blob_map(struct gp_blob *b)
{
    return b->map;
}
