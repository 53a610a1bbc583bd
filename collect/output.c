#include "collect/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include "formats/base/mem.h"
#include "formats/gpt/gpt.h"
#include "formats/base/buf.h"

int gp_output_is_pattern(const char *name, struct gp_err *err)
{
    int any = 0;
    for (const char *p = name; (p = strchr(p, '%')); p += 2) {
        if (!p[1] || !strchr("rph%", p[1]))
            return gp_fail(err, GP_E_USAGE, -1,
                           "%s: unknown '%%%.1s'; only %%r, %%p, %%h and %%%% are replaced", name, p + 1);
        any |= p[1] != '%';
    }
    return any;
}

void gp_output_expand(struct gp_buf *to, const char *pattern, const struct gp_hub_process *process)
{
    char host[256] = "";
    for (const char *p = pattern; *p; p++) {
        if (*p != '%') {
            gp_buf_putc(to, *p);
            continue;
        }
        switch (*++p) {
        case 'r':
            if (process->rank >= 0) gp_buf_printf(to, "%d", (int)process->rank);
            else gp_buf_puts(to, "none");
            break;
        case 'p': gp_buf_printf(to, "%d", (int)process->pid); break;
        case 'h':
            if (gethostname(host, sizeof host - 1)) strcpy(host, "host");
            gp_buf_puts(to, host);
            break;
        default: gp_buf_putc(to, '%'); break;
        }
    }
}

static int write_block(void *ctx, const void *data, size_t n)
{
    struct gp_output *o = ctx;
    gp_sink_put(o->sink, data, n);
    return 0;
}

struct gp_output *gp_outputs_open(struct gp_outputs *outs, const char *path, int fd, struct gp_err *err)
{
    struct gp_sink *sink = gp_sink_open(path, fd, outs->wake_fd, err);
    if (!sink) return NULL;
    struct gp_output *o = gp_zalloc(sizeof *o);
    o->sink = sink;
    if (path) o->path = gp_strdup(path);
    gp_trace_init(&o->trace, GP_NEED_ALL);
    o->writer = gp_gpt_writer_new(NULL, write_block, o);
    GP_VEC_PUSH(&outs->list, o);
    return o;
}

static bool is_taken(const struct gp_outputs *outs, const char *path)
{
    for (size_t i = 0; i < outs->list.n; i++)
        if (outs->list.at[i]->path && !strcmp(outs->list.at[i]->path, path)) return true;
    return false;
}

struct gp_output *gp_outputs_add(struct gp_outputs *outs, const char *pattern,
                                 const struct gp_hub_process *process, struct gp_err *err)
{
    struct gp_buf path = {0};
    gp_output_expand(&path, pattern, process);
    size_t n = path.n;
    for (unsigned serial = 2; is_taken(outs, gp_buf_str(&path)); serial++) {
        path.n = n;
        gp_buf_printf(&path, ".%u", serial);
    }
    struct gp_output *o = gp_outputs_open(outs, gp_buf_str(&path), -1, err);
    if (o) o->process = *process;
    gp_buf_release(&path);
    return o;
}

struct gp_output *gp_outputs_of(const struct gp_outputs *outs, int32_t pid)
{
    for (size_t i = 0; i < outs->list.n; i++) {
        const struct gp_hub_process *process = &outs->list.at[i]->process;
        if (!process->producer || process->pid == pid) return outs->list.at[i];
    }
    return NULL;
}

/* Where blocks of PRODUCER go; NULL: nowhere. */
static struct gp_output *output_for(const struct gp_outputs *outs, uint32_t producer)
{
    for (size_t i = 0; i < outs->list.n; i++) {
        struct gp_output *o = outs->list.at[i];
        if (!o->process.producer || o->process.producer == producer) return o;
        for (size_t k = 0; k < o->more.n; k++)
            if (o->more.at[k] == producer) return o;
    }
    return NULL;
}

void gp_outputs_join(struct gp_outputs *outs, uint32_t owner, uint32_t producer)
{
    struct gp_output *o = output_for(outs, owner);
    if (o) GP_VEC_PUSH(&o->more, producer);
}

void gp_outputs_put(struct gp_outputs *outs, const void *block, size_t n)
{
    struct gp_gpt_block_header h;
    if (n < GP_GPT_BLOCK_HEADER_SIZE || !gp_gpt_get_header(block, &h)) return;
    struct gp_output *o = output_for(outs, h.producer);
    if (o) gp_sink_put(o->sink, block, n);
}

bool gp_outputs_full(const struct gp_outputs *outs)
{
    bool full = false;
    for (size_t i = 0; i < outs->list.n && !full; i++) full = gp_sink_full(outs->list.at[i]->sink);
    return full;
}

int gp_outputs_failed(const struct gp_outputs *outs)
{
    int failed = 0;
    for (size_t i = 0; i < outs->list.n && !failed; i++) failed = gp_sink_failed(outs->list.at[i]->sink);
    return failed;
}

bool gp_outputs_replace(const struct gp_outputs *outs)
{
    for (size_t i = 0; i < outs->list.n; i++)
        if (gp_sink_replaces(outs->list.at[i]->sink)) return true;
    return false;
}

int gp_outputs_close(struct gp_outputs *outs, bool commit, struct gp_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < outs->list.n; i++) {
        struct gp_output *o = outs->list.at[i];
        struct gp_err own = {0};
        if (gp_sink_close(o->sink, commit, &own) && !rc) {
            rc = -1;
            *err = own; /* the first error is reported */
        }
        gp_gpt_writer_free(o->writer);
        gp_trace_release(&o->trace);
        GP_VEC_FREE(&o->more);
        free(o->path);
        free(o);
    }
    GP_VEC_FREE(&outs->list);
    return rc;
}

/* ---- one of them: a descriptor or a file ---- */

enum { FULL_BYTES = 64 << 20 };

struct chunk {
    struct chunk *next;
    size_t n;
    unsigned char data[];
};

struct gp_sink {
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_t thread;
    struct chunk *head, **tail;
    size_t queued;
    bool closing, was_full;
    int failed;
    int fd, wake_fd;
    char *name;           /* for messages; NULL: standard output */
    char *path, *partial; /* NULL if there is nothing to rename */
    uint64_t whole;       /* bytes of the chunks that were written whole */
};

static void wake(struct gp_sink *s)
{
    char c = 's';
    ssize_t rc = write(s->wake_fd, &c, 1); /* a full pipe wakes as well */
    (void)rc;
}

static int write_all(int fd, const unsigned char *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return errno;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static struct chunk *next_chunk(struct gp_sink *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->head && !s->closing) pthread_cond_wait(&s->more, &s->lock);
    struct chunk *c = s->head;
    if (c) {
        s->head = c->next;
        if (!s->head) s->tail = &s->head;
    }
    pthread_mutex_unlock(&s->lock);
    return c;
}

static void *writer(void *arg)
{
    struct gp_sink *s = arg;
    for (struct chunk *c; (c = next_chunk(s));) {
        int rc = gp_sink_failed(s) ? 0 : write_all(s->fd, c->data, c->n);
        pthread_mutex_lock(&s->lock);
        s->queued -= c->n;
        bool tell = rc || (s->was_full && s->queued < FULL_BYTES / 2);
        if (tell) s->was_full = false;
        if (rc) s->failed = rc;
        else if (!s->failed) s->whole += c->n;
        pthread_mutex_unlock(&s->lock);
        if (tell) wake(s);
        free(c);
    }
    return NULL;
}

static int open_as_it_is(struct gp_sink *s, const char *path, struct gp_err *err)
{
    s->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return s->fd < 0 ? gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno)) : 0;
}

/* A new file beside PATH, or beside the target of a link. Anything other than a regular file (/dev/null, a
 * named pipe), and a link to nothing, is opened directly. */
static int open_beside(struct gp_sink *s, const char *path, struct gp_err *err)
{
    struct stat st;
    s->name = gp_strdup(path);
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) return open_as_it_is(s, path, err);
    bool link = !lstat(path, &st) && S_ISLNK(st.st_mode);
    char *target = link ? realpath(path, NULL) : gp_strdup(path);
    if (!target) return open_as_it_is(s, path, err);
    struct gp_buf b = {0};
    gp_buf_printf(&b, "%s.partial-XXXXXX", target);
    s->partial = gp_strdup(gp_buf_str(&b));
    s->path = target;
    gp_buf_release(&b);
    s->fd = mkstemp(s->partial);
    if (s->fd < 0) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    fcntl(s->fd, F_SETFD, FD_CLOEXEC);
    mode_t mask = umask(0);
    umask(mask);
    fchmod(s->fd, 0666 & ~mask);
    return 0;
}

static void sink_free(struct gp_sink *s)
{
    for (struct chunk *c = s->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->more);
    GP_RELEASE(free, s->name, s->path, s->partial, s);
}

struct gp_sink *gp_sink_open(const char *path, int fd, int wake_fd, struct gp_err *err)
{
    struct gp_sink *s = gp_zalloc(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->more, NULL);
    s->tail = &s->head;
    s->fd = fd;
    s->wake_fd = wake_fd;
    if (path && open_beside(s, path, err)) {
        sink_free(s);
        return NULL;
    }
    sigset_t all, before; /* the main thread handles signals */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int rc = pthread_create(&s->thread, NULL, writer, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!rc) return s;
    gp_fail(err, GP_E_IO, -1, "thread: %s", strerror(rc));
    if (s->partial) unlink(s->partial);
    sink_free(s);
    return NULL;
}

void gp_sink_put(struct gp_sink *s, const void *data, size_t n)
{
    struct chunk *c = gp_alloc(sizeof *c + n);
    c->next = NULL;
    c->n = n;
    memcpy(c->data, data, n);
    pthread_mutex_lock(&s->lock);
    if (s->failed) {
        pthread_mutex_unlock(&s->lock);
        free(c);
        return;
    }
    *s->tail = c;
    s->tail = &c->next;
    s->queued += n;
    if (s->queued > FULL_BYTES) s->was_full = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
}

bool gp_sink_full(struct gp_sink *s)
{
    pthread_mutex_lock(&s->lock);
    bool full = s->was_full;
    pthread_mutex_unlock(&s->lock);
    return full;
}

bool gp_sink_replaces(const struct gp_sink *s)
{
    struct stat st;
    return s->partial && !stat(s->path, &st) && st.st_size > 0;
}

int gp_sink_failed(struct gp_sink *s)
{
    pthread_mutex_lock(&s->lock);
    int rc = s->failed;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int gp_sink_close(struct gp_sink *s, bool commit, struct gp_err *err)
{
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    int rc = s->failed;
    bool broken = rc && rc != EPIPE, keep = broken && s->partial && commit && s->whole > 0;
    /* What was written whole can be read; a block that was cut off at the end only makes a reader
     * complain. */
    if (keep && ftruncate(s->fd, (off_t)s->whole)) keep = true;
    if (close(s->fd) && !rc) rc = errno;
    bool done = commit && (!rc || keep);
    if (s->partial && done && rename(s->partial, s->path)) {
        rc = rc ? rc : errno;
        keep = done = false;
    }
    if (s->partial && !done) unlink(s->partial);
    const char *name = s->name ? s->name : "standard output";
    if (keep)
        gp_fail(err, GP_E_IO, -1, "%s: %s: kept the first %llu bytes, up to a whole block", name,
                strerror(rc), (unsigned long long)s->whole);
    else if (rc && rc != EPIPE) gp_fail(err, GP_E_IO, -1, "%s: %s", name, strerror(rc));
    sink_free(s);
    return rc && rc != EPIPE ? -1 : 0;
}
