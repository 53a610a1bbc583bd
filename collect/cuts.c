#include "collect/cuts.h"

#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "formats/base/mem.h"
#include "formats/gpt/gpt_write.h"

struct gp_cut {
    uint64_t id;
    int64_t start_ns, end_ns;
    char path[sizeof((struct gp_wire_cut *)0)->path];
    char partial[sizeof((struct gp_wire_cut *)0)->path + 16];
    FILE *file;
    int error; /* the first one */
    struct gp_gpt_writer *writer;
};

static int write_bytes(void *ctx, const void *data, size_t n)
{
    struct gp_cut *c = ctx;
    if (c->error) return -1;
    if (fwrite(data, 1, n, c->file) == n) return 0;
    c->error = errno ? errno : EIO;
    return -1;
}

/* Nobody else's file is touched: the name is new. */
static void open_file(struct gp_cut *c)
{
    snprintf(c->partial, sizeof c->partial, "%s.partial-XXXXXX", c->path);
    int fd = c->path[0] == '/' ? mkostemp(c->partial, O_CLOEXEC) : (errno = EINVAL, -1);
    if (fd >= 0) c->file = fdopen(fd, "w");
    if (c->file) return;
    c->error = errno;
    c->partial[0] = 0;
    if (fd >= 0) close(fd);
}

static struct gp_cut *open_cut(const struct gp_wire_cut *frame, uint32_t producer)
{
    struct gp_cut *c = gp_zalloc(sizeof *c);
    struct gp_gpt_write_opts o = {.producer = producer};
    c->id = frame->id;
    c->start_ns = frame->start_ns;
    c->end_ns = INT64_MAX;
    memcpy(c->path, frame->path, sizeof c->path);
    c->path[sizeof c->path - 1] = 0;
    open_file(c);
    c->writer = gp_gpt_writer_new(&o, write_bytes, c);
    if (gp_gpt_begin(c->writer) && !c->error) c->error = EIO;
    return c;
}

static void *copy_column(const void *column, size_t bytes)
{
    return column ? memcpy(gp_alloc(bytes ? bytes : 1), column, bytes) : NULL;
}

/* The rows of E that start within the cut. */
static struct gp_events rows_of(const struct gp_cut *c, const struct gp_events *e)
{
    struct gp_events copy = *e;
    copy.shared = 0;
    copy.cap = e->n;
#define X(id, member, type, dflt, name) copy.member = copy_column(e->member, e->n * sizeof(type));
    GP_COLUMNS(X)
#undef X
    uint8_t *keep = gp_alloc(e->n + 1);
    for (size_t i = 0; i < e->n; i++) keep[i] = e->start_ns[i] >= c->start_ns && e->start_ns[i] < c->end_ns;
    if (e->n) gp_events_keep(&copy, keep);
    free(keep);
    return copy;
}

/* With its own rows in the place of T's, since a writer must always see the same trace. */
static void put(struct gp_cut *c, struct gp_trace *t, int (*write)(struct gp_gpt_writer *, struct gp_trace *))
{
    struct gp_events all[GP_TABLE_COUNT];
    if (c->error) return;
    memcpy(all, t->events, sizeof all);
    for (size_t i = 0; i < GP_TABLE_COUNT; i++) t->events[i] = rows_of(c, &all[i]);
    int failed = write(c->writer, t);
    for (size_t i = 0; i < GP_TABLE_COUNT; i++) gp_events_release(&t->events[i]);
    memcpy(t->events, all, sizeof all);
    if (c->file && fflush(c->file)) failed = -1; /* a kill leaves the rows so far */
    if (failed && !c->error) c->error = errno ? errno : EIO;
}

static void drop_cut(struct gp_cut *c)
{
    if (!c) return;
    if (c->file) fclose(c->file);
    if (c->partial[0]) unlink(c->partial);
    gp_gpt_writer_free(c->writer);
    free(c);
}

static void end_cut(const struct gp_cuts *cuts, struct gp_cut *c, struct gp_trace *t,
                    struct gp_wire_cut_done *done)
{
    memset(done, 0, sizeof *done);
    done->id = c->id;
    if (cuts->beside && !c->error) cuts->beside(cuts->ctx, t, c->start_ns, c->end_ns, write_bytes, c);
    put(c, t, gp_gpt_end);
    if (c->file && fclose(c->file) && !c->error) c->error = errno;
    c->file = NULL;
    if (!c->error && rename(c->partial, c->path)) c->error = errno;
    if (!c->error) c->partial[0] = 0;
    else snprintf(done->why, sizeof done->why, "%.120s: %s", c->path, strerror(c->error));
    drop_cut(c);
}

/* ---- those of a process ---- */

static size_t find(const struct gp_cuts *cuts, uint64_t id)
{
    size_t i = 0;
    while (i < cuts->open.n && cuts->open.at[i]->id != id) i++;
    return i;
}

bool gp_cuts_begin(struct gp_cuts *cuts, const struct gp_wire_cut *frame, uint32_t producer)
{
    if (cuts->open.n >= GP_CUTS_MOST || find(cuts, frame->id) < cuts->open.n) return false;
    GP_VEC_PUSH(&cuts->open, open_cut(frame, producer));
    return true;
}

void gp_cuts_put(struct gp_cuts *cuts, struct gp_trace *t)
{
    for (size_t i = 0; i < cuts->open.n; i++) put(cuts->open.at[i], t, gp_gpt_flush);
}

bool gp_cuts_until(struct gp_cuts *cuts, const struct gp_wire_cut *frame)
{
    size_t i = find(cuts, frame->id);
    if (i < cuts->open.n) cuts->open.at[i]->end_ns = frame->end_ns;
    return i < cuts->open.n;
}

void gp_cuts_end(struct gp_cuts *cuts, uint64_t id, struct gp_trace *t, struct gp_wire_cut_done *done)
{
    size_t i = find(cuts, id);
    end_cut(cuts, cuts->open.at[i], t, done);
    memmove(&cuts->open.at[i], &cuts->open.at[i + 1], (cuts->open.n - i - 1) * sizeof *cuts->open.at);
    cuts->open.n--;
}

void gp_cuts_finish(struct gp_cuts *cuts, struct gp_trace *t)
{
    struct gp_wire_cut_done done; /* nobody waits for it */
    while (cuts->open.n) gp_cuts_end(cuts, cuts->open.at[0]->id, t, &done);
}

void gp_cuts_release(struct gp_cuts *cuts)
{
    for (size_t i = 0; i < cuts->open.n; i++) drop_cut(cuts->open.at[i]);
    GP_VEC_FREE(&cuts->open);
}
