#include "formats/base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input_priv.h"
#include "formats/base/mem.h"

enum {
    RAW_BYTES = 256 << 10,
    PEEK_MOST = 64 << 10,
    SLOT_BYTES = 1 << 20,
    SLOTS = 4,
    PRODUCE_MOST = 1 << 28, /* at once; the decoders count in 32 bits */
};

/* What the decompressing thread hands over: it fills slots in turn, and the reader empties them in turn.
 */
struct ring {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint8_t *data[SLOTS];
    size_t n[SLOTS];
    uint64_t taken[SLOTS];    /* compressed bytes that were read for it and those before */
    unsigned filled, emptied; /* slots, counted from the start */
    bool ended;               /* after the last filled slot nothing comes */
    bool stop;                /* the reader has gone */
    int wake[2];              /* a pipe: closing it ends a waiting read */
};

struct gp_input {
    char *path;
    bool close_fd, regular;
    uint64_t size; /* of a regular file */
    struct gp_raw raw;
    const struct gp_decoder *decoder; /* NULL: plain */
    void *state;
    struct gp_err err; /* how the input ended; written by the thread before it sets `ended` */
    struct ring *ring; /* NULL: the reader's thread does everything */
    bool slot_held;    /* `at` points into the oldest filled slot */
    uint8_t *buf;      /* decompressed here if there is no ring */
    uint8_t *peeked;   /* a peek that spans two slots or buffers is joined here */
    const uint8_t *at; /* decompressed, unread */
    size_t n;
    bool ended;
    /* compressed bytes that the reader has consumed; others may ask while it reads */
    _Atomic uint64_t taken;
};

/* ---- decompressed bytes ---- */

/* Plain bytes: first the buffered ones, then directly from the system. */
static size_t read_plain(struct gp_raw *raw, uint8_t *to, size_t n)
{
    size_t done = 0;
    while (done < n) {
        size_t got = raw->n < n - done ? raw->n : n - done;
        if (got > 0) {
            memcpy(to + done, raw->at, got);
            gp_raw_skip(raw, got);
        } else {
            got = gp_raw_read(raw, to + done, n - done);
            if (got == 0) break;
            raw->offset += got;
        }
        done += got;
    }
    return done;
}

/* Fewer than N: the end. */
static size_t produce(struct gp_input *in, uint8_t *to, size_t n)
{
    size_t got =
        in->decoder ? in->decoder->run(in->state, &in->raw, to, n, &in->err) : read_plain(&in->raw, to, n);
    if (got < n && in->raw.error && in->err.code == GP_E_NONE) {
        char why[128] = "";
        if (strerror_r(in->raw.error, why, sizeof why)) why[0] = '\0';
        gp_fail(&in->err, GP_E_IO, (int64_t)in->raw.offset, "reading failed at byte %llu: %s",
                (unsigned long long)in->raw.offset, why);
    }
    return got;
}

static void *decompress(void *arg)
{
    struct gp_input *in = arg;
    struct ring *r = in->ring;
    for (bool go = true; go;) {
        pthread_mutex_lock(&r->lock);
        while (r->filled - r->emptied == SLOTS && !r->stop) pthread_cond_wait(&r->changed, &r->lock);
        go = !r->stop;
        unsigned slot = r->filled % SLOTS;
        pthread_mutex_unlock(&r->lock);
        if (!go) break;
        size_t n = produce(in, r->data[slot], SLOT_BYTES);
        go = n == SLOT_BYTES;
        pthread_mutex_lock(&r->lock);
        r->n[slot] = n;
        r->taken[slot] = in->raw.offset;
        r->filled++;
        r->ended = !go;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

static void free_ring(struct ring *r)
{
    for (int i = 0; i < SLOTS; i++) free(r->data[i]);
    for (int i = 0; i < 2; i++)
        if (r->wake[i] >= 0) close(r->wake[i]);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* If no thread or pipe can be created, the reader's own thread does the work. */
static void start_ring(struct gp_input *in)
{
    struct ring *r = gp_zalloc(sizeof *r);
    for (int i = 0; i < SLOTS; i++) r->data[i] = gp_alloc(SLOT_BYTES);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    r->wake[0] = r->wake[1] = -1;
    bool may_wait = in->raw.fd >= 0 && !in->regular;
    if (may_wait && pipe(r->wake)) {
        free_ring(r);
        return;
    }
    for (int i = 0; i < 2 && may_wait; i++) fcntl(r->wake[i], F_SETFD, FD_CLOEXEC);
    in->raw.wake_fd = r->wake[0];
    in->ring = r;
    if (pthread_create(&r->thread, NULL, decompress, in)) {
        in->ring = NULL;
        in->raw.wake_fd = -1;
        free_ring(r);
    }
}

static void stop_ring(struct gp_input *in)
{
    struct ring *r = in->ring;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    if (r->wake[1] >= 0) {
        close(r->wake[1]);
        r->wake[1] = -1;
    }
    pthread_join(r->thread, NULL);
    free_ring(r);
}

static void refill_from_ring(struct gp_input *in)
{
    struct ring *r = in->ring;
    pthread_mutex_lock(&r->lock);
    if (in->slot_held) {
        r->emptied++;
        in->slot_held = false;
        pthread_cond_broadcast(&r->changed);
    }
    while (r->filled == r->emptied && !r->ended) pthread_cond_wait(&r->changed, &r->lock);
    if (r->filled != r->emptied) {
        in->slot_held = true;
        in->at = r->data[r->emptied % SLOTS];
        in->n = r->n[r->emptied % SLOTS];
        atomic_store(&in->taken, r->taken[r->emptied % SLOTS]);
        if (in->n == 0) in->ended = true;
    } else {
        in->ended = true;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Get more if nothing is unread. */
static void refill(struct gp_input *in)
{
    if (in->ended) return;
    if (in->ring) {
        refill_from_ring(in);
        return;
    }
    size_t cap = in->decoder ? SLOT_BYTES : PEEK_MOST;
    if (!in->buf) in->buf = gp_alloc(cap);
    in->at = in->buf;
    in->n = produce(in, in->buf, cap);
    atomic_store(&in->taken, in->raw.offset);
    if (in->n < cap) in->ended = true;
}

const uint8_t *gp_input_peek(struct gp_input *in, size_t want, size_t *n)
{
    if (want > PEEK_MOST) want = PEEK_MOST;
    if (in->n == 0) refill(in);
    if (in->n < want && !in->ended) {
        /* Join the rest with the next bytes; the end of a long next one stays where it is until
         * needed. */
        uint8_t *joined = gp_alloc(PEEK_MOST + SLOT_BYTES);
        size_t have = 0;
        for (;;) {
            if (in->n > 0) memcpy(joined + have, in->at, in->n);
            have += in->n;
            in->n = 0;
            if (have >= want || in->ended) break;
            refill(in);
        }
        free(in->peeked);
        in->peeked = joined;
        in->at = joined;
        in->n = have;
    }
    *n = in->n;
    return in->at;
}

size_t gp_input_read(struct gp_input *in, void *to, size_t n)
{
    uint8_t *out = to;
    size_t done = 0;
    while (done < n) {
        if (in->n == 0) {
            if (in->ended) break;
            if (!in->ring && n - done >= PEEK_MOST) { /* not copied if it is large */
                size_t want = n - done < PRODUCE_MOST ? n - done : PRODUCE_MOST;
                size_t got = produce(in, out + done, want);
                atomic_store(&in->taken, in->raw.offset);
                if (got < want) in->ended = true;
                done += got;
                continue;
            }
            refill(in);
        }
        size_t k = in->n < n - done ? in->n : n - done;
        if (k > 0) memcpy(out + done, in->at, k);
        in->at += k;
        in->n -= k;
        done += k;
    }
    return done;
}

/* ---- opening and closing ---- */

static struct gp_input *begin(struct gp_input *in, int threads)
{
    in->decoder = gp_decoder_find(in->raw.at, gp_raw_need(&in->raw, 8));
    if (in->decoder) {
        in->state = in->decoder->open();
        if (threads != 1) start_ring(in);
    }
    return in;
}

static struct {
    int (*opener)(void *ctx, const char *path, struct gp_err *err);
    void *ctx;
} confined;

void gp_input_confine(int (*opener)(void *ctx, const char *path, struct gp_err *err), void *ctx)
{
    confined.opener = opener;
    confined.ctx = ctx;
}

static int open_path(const char *path, struct gp_err *err)
{
    int fd;
    if (confined.opener) return confined.opener(confined.ctx, path, err);
    do fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        char why[128] = "";
        if (strerror_r(errno, why, sizeof why)) why[0] = '\0';
        gp_fail(err, GP_E_IO, -1, "%s: cannot open: %s", path, why);
    }
    return fd;
}

static struct gp_input *of_descriptor(int fd, const char *path)
{
    struct gp_input *in = gp_zalloc(sizeof *in);
    in->path = gp_strdup(path);
    in->raw = (struct gp_raw){.fd = fd, .wake_fd = -1, .cap = RAW_BYTES, .buf = gp_alloc(RAW_BYTES)};
    in->raw.at = in->raw.buf;
    return in;
}

struct gp_input *gp_input_open(const char *path, int threads, struct gp_err *err)
{
    bool is_stdin = !path || !strcmp(path, "-");
    int fd = is_stdin ? STDIN_FILENO : open_path(path, err);
    if (fd < 0) return NULL;
    struct stat st;
    const char *name = is_stdin ? "standard input" : path;
    if (fstat(fd, &st)) {
        gp_fail(err, GP_E_IO, -1, "%s: cannot read: the descriptor is closed", name);
        if (!is_stdin) close(fd);
        return NULL;
    }
    if (S_ISDIR(st.st_mode)) {
        gp_fail(err, GP_E_IO, -1, "%s: is a directory: name the files in it, such as %s/*.json.gz", name,
                name);
        if (!is_stdin) close(fd);
        return NULL;
    }
    struct gp_input *in = of_descriptor(fd, is_stdin ? "-" : path);
    in->close_fd = !is_stdin;
    in->regular = S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
    in->size = in->regular ? (uint64_t)st.st_size : 0;
    if (S_ISREG(st.st_mode)) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return begin(in, threads);
}

struct gp_input *gp_input_open_fd(int fd, const char *name, int threads)
{
    struct gp_input *in = of_descriptor(fd, name);
    in->close_fd = true;
    return begin(in, threads);
}

struct gp_input *gp_input_memory(const void *data, size_t n, int threads)
{
    struct gp_input *in = gp_zalloc(sizeof *in);
    in->path = gp_strdup("");
    in->raw = (struct gp_raw){.fd = -1, .wake_fd = -1, .at = data, .n = n};
    return begin(in, threads);
}

const char *gp_input_compression(const struct gp_input *in)
{
    return in->decoder ? in->decoder->name : "none";
}

const char *gp_input_path(const struct gp_input *in) { return in->path; }

int gp_input_fd(const struct gp_input *in, uint64_t *size)
{
    if (!in->regular || in->decoder) return -1;
    *size = in->size;
    return in->raw.fd;
}

uint64_t gp_input_total(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && !stat(path, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

uint64_t gp_input_done(const struct gp_input *in, uint64_t bytes)
{
    return in->decoder ? atomic_load(&in->taken) : bytes;
}

int gp_input_status(const struct gp_input *in, struct gp_err *err)
{
    if (!in->ended || in->err.code == GP_E_NONE) return 0;
    if (err) *err = in->err;
    return -1;
}

void gp_input_close(struct gp_input *in)
{
    if (!in) return;
    if (in->ring) stop_ring(in);
    if (in->decoder) in->decoder->close(in->state);
    if (in->close_fd) close(in->raw.fd);
    GP_RELEASE(free, in->raw.buf, in->buf, in->peeked, in->path, in);
}

int gp_input_rest(struct gp_input *in, size_t max, struct gp_buf *to, struct gp_err *err)
{
    enum { PIECE = 1 << 16 };
    size_t before = to->n, n = 1;
    while (n && to->n - before <= max) {
        n = gp_input_read(in, gp_buf_reserve(to, PIECE), PIECE);
        to->n += n;
    }
    if (gp_input_status(in, err)) return -1;
    return to->n - before > max ? gp_fail(err, GP_E_LIMIT, -1, "longer than %zu bytes", max) : 0;
}

int gp_input_all(const char *path, bool (*is_it)(const void *head, size_t n), size_t max, struct gp_buf *to,
                 struct gp_err *err)
{
    enum { HEAD = 64 };
    size_t n = 0;
    struct gp_input *in = gp_input_open(path, 1, err);
    if (!in) return -1;
    const uint8_t *head = is_it ? gp_input_peek(in, HEAD, &n) : NULL;
    int failed = 0;
    if (is_it && n > HEAD) n = HEAD;
    if (is_it && !is_it(head, n)) gp_buf_put(to, (const char *)head, n);
    else failed = gp_input_rest(in, max, to, err);
    gp_input_close(in);
    return failed ? gp_err_context(err, "%s", path) : 0;
}
