#include "collect/wire/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "formats/base/err.h"

enum {
    PAGE = 4096,
    MORE_SLOTS = 4096,   /* that CUPTI may have, one or two per thread */
    BEYOND = 64 << 10,   /* CUPTI may have begun records after those that it reports as valid */
    MAX_RECORD = 1 << 12 /* the maximum size of a record */
};
static const uint64_t MORE_BYTES = UINT64_C(16) << 30; /* of addresses, not of memory */

struct head {
    _Atomic uint64_t logged, read; /* all bytes of the log ever written, and read */
    _Atomic int64_t earliest_ns;
    _Atomic uint16_t record_bytes[GP_SHARED_KINDS];
};
_Static_assert(sizeof(struct head) <= PAGE, "the head is one page");
_Static_assert(sizeof(struct gp_slot) == 64, "a slot is a cache line");

struct name_head {
    uint32_t size, kind; /* SIZE including this head and the NUL, a multiple of 8 */
    uint64_t key;
};

static struct head *head_of(const struct gp_shared *s) { return (struct head *)(void *)s->map; }

/* ---- layout ---- */

struct gp_shared_opts gp_shared_size(uint32_t buffer_bytes)
{
    uint64_t more = MORE_BYTES / buffer_bytes;
    size_t slots = GP_SHARED_WAITING / buffer_bytes + (more < MORE_SLOTS ? more : MORE_SLOTS);
    return (struct gp_shared_opts){(uint32_t)slots, buffer_bytes};
}

static void lay_out(struct gp_shared *s, const struct gp_shared_opts *opts)
{
    size_t table = (opts->slots * sizeof(struct gp_slot) + PAGE - 1) & ~(size_t)(PAGE - 1);
    memset(s, 0, sizeof *s);
    s->opts = *opts;
    s->log_at = PAGE + table;
    s->buffers_at = s->log_at + GP_SHARED_LOG;
    s->bytes = s->buffers_at + (size_t)opts->slots * opts->buffer_bytes;
}

size_t gp_shared_bytes(const struct gp_shared_opts *opts)
{
    struct gp_shared s;
    lay_out(&s, opts);
    return s.bytes;
}

/* Under a limit on file sizes (ulimit -f), this is an error, not a fatal signal. */
static int set_size(int fd, size_t bytes)
{
    sigset_t limit, before;
    struct timespec now = {0, 0};
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    int rc = ftruncate(fd, (off_t)bytes), saved = errno;
    if (rc) sigtimedwait(&limit, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return rc;
}

int gp_shared_make(const struct gp_shared_opts *opts, struct gp_err *err)
{
    struct gp_shared s;
    lay_out(&s, opts);
    int fd = memfd_create("gpuprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && !set_size(fd, s.bytes) &&
        !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return fd;
    gp_fail(err, GP_E_IO, -1, "shared memory: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

bool gp_shared_map(struct gp_shared *s, int fd, const struct gp_shared_opts *opts)
{
    struct stat st;
    lay_out(s, opts);
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0) return false;
    if (!(seals & F_SEAL_SHRINK)) { /* its owner could take it away while it is in use */
        errno = EPERM;
        return false;
    }
    if (fstat(fd, &st)) return false;
    if ((uint64_t)st.st_size < s->bytes) {
        errno = EINVAL;
        return false;
    }
    void *m = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (m == MAP_FAILED) return false;
    madvise(m, s->bytes, MADV_DONTDUMP); /* a core file should have only the program */
    s->map = m;
    return true;
}

void gp_shared_unmap(struct gp_shared *s)
{
    if (s->map) munmap(s->map, s->bytes);
    s->map = NULL;
}

void gp_shared_forget(struct gp_shared *s)
{
    if (!s->map) return;
    void *m = mmap(s->map, s->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (m == MAP_FAILED) s->map = NULL; /* nothing is mapped there now */
}

struct gp_slot *gp_shared_slot(const struct gp_shared *s, size_t i)
{
    return (struct gp_slot *)(void *)(s->map + PAGE) + i;
}

uint8_t *gp_shared_buffer(const struct gp_shared *s, size_t i)
{
    return s->map + s->buffers_at + i * s->opts.buffer_bytes;
}

bool gp_shared_find(const struct gp_shared *s, const uint8_t *p, size_t *i)
{
    uintptr_t at = (uintptr_t)p, first = (uintptr_t)s->map + s->buffers_at;
    if (!s->map || at < first || at >= (uintptr_t)s->map + s->bytes) return false;
    *i = (at - first) / s->opts.buffer_bytes;
    return true;
}

void gp_shared_clear(const struct gp_shared *s, size_t i, size_t valid)
{
    size_t all = s->opts.buffer_bytes;
    memset(gp_shared_buffer(s, i), 0, valid < all && all - valid > BEYOND ? valid + BEYOND : all);
}

void gp_shared_trim(const struct gp_shared *s, size_t i)
{
    madvise(gp_shared_buffer(s, i), s->opts.buffer_bytes, MADV_REMOVE);
}

/* ---- names ---- */

/* Where the log continues after WRITTEN bytes; an entry never wraps around. */
static uint8_t *log_place(const struct gp_shared *s, uint64_t written, size_t *to_end)
{
    size_t at = (size_t)(written % GP_SHARED_LOG);
    *to_end = GP_SHARED_LOG - at;
    return s->map + s->log_at + at;
}

static void put_head(uint8_t *to, uint32_t size, enum gp_name_kind kind, uint64_t key)
{
    struct name_head h = {size, (uint32_t)kind, key};
    memcpy(to, &h, size < sizeof h ? size : sizeof h); /* padding may be smaller */
}

bool gp_shared_log(struct gp_shared *s, enum gp_name_kind kind, uint64_t key, const char *text)
{
    struct head *head = head_of(s);
    size_t n = strnlen(text, GP_SHARED_TEXT), to_end, size = (sizeof(struct name_head) + n + 8) & ~(size_t)7;
    uint64_t logged = atomic_load_explicit(&head->logged, memory_order_relaxed);
    uint64_t read = atomic_load_explicit(&head->read, memory_order_acquire);
    uint8_t *to = log_place(s, logged, &to_end);
    size_t pad = size > to_end ? to_end : 0;
    if (logged - read + pad + size > GP_SHARED_LOG) return false;
    if (pad) {
        put_head(to, (uint32_t)pad, GP_NAME_PAD, 0);
        logged += pad;
        to = log_place(s, logged, &to_end);
    }
    put_head(to, (uint32_t)size, kind, key);
    memcpy(to + sizeof(struct name_head), text, n);
    memset(to + sizeof(struct name_head) + n, 0, size - sizeof(struct name_head) - n);
    atomic_store_explicit(&head->logged, logged + size, memory_order_release);
    return true;
}

uint64_t gp_shared_logged(const struct gp_shared *s)
{
    return atomic_load_explicit(&head_of(s)->logged, memory_order_relaxed);
}

bool gp_shared_read_log(struct gp_shared *s, uint64_t until, struct gp_name *name)
{
    struct head *head = head_of(s);
    uint64_t logged = atomic_load_explicit(&head->logged, memory_order_acquire);
    if (logged - s->log_read > GP_SHARED_LOG) return false; /* impossible: damaged */
    /* the previous one is no longer in use */
    atomic_store_explicit(&head->read, s->log_read, memory_order_release);
    if (until > logged) until = logged;
    while (s->log_read < until) {
        struct name_head h;
        size_t to_end;
        const uint8_t *p = log_place(s, s->log_read, &to_end);
        memset(&h, 0, sizeof h);
        memcpy(&h, p, to_end < sizeof h ? to_end : sizeof h);
        if (h.size < 8 || h.size % 8 || h.size > to_end || h.size > logged - s->log_read) return false;
        s->log_read += h.size;
        if (h.kind == GP_NAME_PAD || h.size < sizeof h) continue;
        const char *text = (const char *)p + sizeof h;
        *name = (struct gp_name){(enum gp_name_kind)h.kind, h.key, text, strnlen(text, h.size - sizeof h)};
        return true;
    }
    return false;
}

/* ---- the rest of the head ---- */

void gp_shared_learn(struct gp_shared *s, uint32_t kind, size_t bytes)
{
    if (kind < GP_SHARED_KINDS && bytes && bytes <= MAX_RECORD && bytes % 8 == 0)
        atomic_store_explicit(&head_of(s)->record_bytes[kind], (uint16_t)bytes, memory_order_relaxed);
}

size_t gp_shared_record_bytes(const struct gp_shared *s, uint32_t kind)
{
    if (kind >= GP_SHARED_KINDS) return 0;
    size_t n = atomic_load_explicit(&head_of(s)->record_bytes[kind], memory_order_relaxed);
    return n <= MAX_RECORD && n % 8 == 0 ? n : 0;
}

void gp_shared_set_earliest(struct gp_shared *s, int64_t ns)
{
    atomic_store_explicit(&head_of(s)->earliest_ns, ns, memory_order_relaxed);
}

int64_t gp_shared_earliest(const struct gp_shared *s)
{
    return atomic_load_explicit(&head_of(s)->earliest_ns, memory_order_relaxed);
}
