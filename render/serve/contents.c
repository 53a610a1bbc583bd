#include "render/serve/contents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "formats/base/err.h"
#include "formats/base/mem.h"

enum { CHUNK = 1 << 20 };
static const uint64_t MOST_READ = 256 << 20;
/* A file that was changed a moment ago may change again without another time. */
static const int64_t SETTLED_NS = 50000000;

void gp_contents_init(struct gp_contents *c)
{
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
}

static int64_t time_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int gp_content_state(int fd, struct gp_content_state *s, struct gp_err *err)
{
    struct stat st;
    if (fstat(fd, &st)) return gp_fail(err, GP_E_IO, -1, "%s", strerror(errno));
    memset(s, 0, sizeof *s);
    s->device = st.st_dev;
    s->inode = st.st_ino;
    s->size_bytes = (uint64_t)st.st_size;
    s->modified_ns = time_of(st.st_mtim);
    s->changed_ns = time_of(st.st_ctim);
    return 0;
}

bool gp_content_same(const struct gp_content_state *a, const struct gp_content_state *b)
{
    return !memcmp(a, b, sizeof *a);
}

static void put_tag(char *tag, XXH128_hash_t h, uint64_t n)
{
    snprintf(tag, GP_CONTENT_TAG, "%016llx%016llx.%llx", (unsigned long long)h.high64,
             (unsigned long long)h.low64, (unsigned long long)n);
}

static int hash_all(int fd, char *tag, struct gp_err *err)
{
    XXH3_state_t *x = XXH3_createState();
    char *chunk = gp_alloc(CHUNK);
    uint64_t n = 0;
    ssize_t got = 0;
    if (!x) gp_out_of_memory(sizeof x);
    XXH3_128bits_reset(x);
    while ((got = pread(fd, chunk, CHUNK, (off_t)n)) > 0 && n < 2 * MOST_READ) {
        XXH3_128bits_update(x, chunk, (size_t)got);
        n += (uint64_t)got;
    }
    if (got < 0) gp_fail(err, GP_E_IO, -1, "%s", strerror(errno));
    put_tag(tag, XXH3_128bits_digest(x), n);
    XXH3_freeState(x);
    free(chunk);
    return got < 0 ? -1 : 0;
}

int gp_contents_tag(struct gp_contents *c, int fd, char tag[GP_CONTENT_TAG], struct gp_err *err)
{
    struct gp_content_state s;
    struct timespec now;
    if (gp_content_state(fd, &s, err)) return -1;
    if (s.size_bytes > MOST_READ) {
        put_tag(tag, XXH3_128bits(&s, sizeof s), s.size_bytes);
        return 0;
    }
    size_t place = XXH3_64bits(&s, sizeof s) % GP_CONTENTS_KNOWN;
    pthread_mutex_lock(&c->lock);
    bool known = *c->known[place].tag && gp_content_same(&c->known[place].state, &s);
    if (known) memcpy(tag, c->known[place].tag, GP_CONTENT_TAG);
    pthread_mutex_unlock(&c->lock);
    if (known) return 0;
    if (hash_all(fd, tag, err)) return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    if (time_of(now) - s.changed_ns < SETTLED_NS) return 0;
    pthread_mutex_lock(&c->lock);
    c->known[place].state = s;
    memcpy(c->known[place].tag, tag, GP_CONTENT_TAG);
    pthread_mutex_unlock(&c->lock);
    return 0;
}

void gp_contents_release(struct gp_contents *c)
{
    pthread_mutex_destroy(&c->lock);
}
