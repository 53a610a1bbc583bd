#include "render/hta_mpi/hta_mpi.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/order.h"

enum { TAG_REQUEST = 1, TAG_DEAL, TAG_SIZE, TAG_BYTES, MOST_BYTES = 1 << 30 };

/* A request for an input, with the input that failed before, -1 none, and its error. */
struct request {
    int64_t failed;
    struct gp_err err;
};

/* ---- reading ---- */

static int end_batch(struct gp_hta_mpi *m, struct gp_err *err)
{
    int failed = m->n && m->spills.dir ? gp_spills_write(&m->spills, m->inputs, m->n, &m->batch, err) : 0;
    gp_hta_merge(&m->r.h, &m->batch);
    m->n = 0;
    return failed;
}

static int read_input(struct gp_hta_mpi *m, size_t i, struct gp_err *err)
{
    struct gp_hta one;
    int failed = gp_hta_main_read(&m->r, i, &one, err);
    if (!failed) {
        gp_hta_merge(&m->batch, &one);
        m->inputs[m->n++] = i;
        if (m->n == GP_SPILL_INPUTS) failed = end_batch(m, err);
    } else if (m->r.keep_going) {
        gp_hta_main_skip(&m->r, &m->r.h, i, err); /* not in the batch: the next run tries it again */
        failed = 0;
    }
    gp_hta_release(&one);
    return failed;
}

/* ---- dealing ---- */

struct sized {
    int64_t bytes;
    size_t input;
};

/* Large ones first, so that none is left for the end; the output of a command may be larger still. */
GP_COMPARE(largest_first, struct sized, GP_DOWN(bytes) GP_UP(input))

static struct sized *sort_inputs(const struct gp_hta_mpi *m, size_t *left)
{
    const struct gp_app *f = &m->r.app;
    struct sized *all = gp_alloc((f->n + 1) * sizeof *all);
    *left = 0;
    for (size_t i = 0; i < f->n; i++) {
        struct stat st;
        bool command = f->commands && f->commands[i];
        if (m->spills.done[i]) continue;
        int64_t bytes = command ? INT64_MAX : stat(f->paths[i], &st) ? 0 : (int64_t)st.st_size;
        all[(*left)++] = (struct sized){bytes, i};
    }
    qsort(all, *left, sizeof *all, largest_first);
    return all;
}

/* Process 0: an input to each that asks, until there are none or one failed. */
static int deal(struct gp_hta_mpi *m, struct gp_err *err)
{
    size_t left, next = 0;
    struct sized *all = sort_inputs(m, &left);
    int64_t failed = -1;
    for (; next < left && m->size == 1 && failed < 0; next++)
        if (read_input(m, all[next].input, err)) failed = (int64_t)all[next].input;
    for (int working = m->size - 1; working > 0;) {
        struct request a;
        MPI_Status from;
        MPI_Recv(&a, sizeof a, MPI_BYTE, MPI_ANY_SOURCE, TAG_REQUEST, MPI_COMM_WORLD, &from);
        bool earlier = a.failed >= 0 && (failed < 0 || a.failed < failed);
        if (earlier) { /* of several failures the first input's, as in one process */
            failed = a.failed;
            *err = a.err;
        }
        int64_t give = failed < 0 && next < left ? (int64_t)all[next++].input : -1;
        working -= give < 0;
        MPI_Send(&give, sizeof give, MPI_BYTE, from.MPI_SOURCE, TAG_DEAL, MPI_COMM_WORLD);
    }
    free(all);
    return failed < 0 ? 0 : -1;
}

static void work(struct gp_hta_mpi *m)
{
    struct request a = {.failed = -1};
    for (;;) {
        int64_t input;
        MPI_Send(&a, sizeof a, MPI_BYTE, 0, TAG_REQUEST, MPI_COMM_WORLD);
        MPI_Recv(&input, sizeof input, MPI_BYTE, 0, TAG_DEAL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (input < 0) return;
        if (read_input(m, (size_t)input, &a.err)) a.failed = input;
    }
}

/* ---- merging ---- */

static void send_bytes(const struct gp_buf *b, int to)
{
    uint64_t n = b->n;
    MPI_Send(&n, sizeof n, MPI_BYTE, to, TAG_SIZE, MPI_COMM_WORLD);
    for (uint64_t at = 0; at < n; at += MOST_BYTES)
        MPI_Send(b->data + at, (int)(n - at < MOST_BYTES ? n - at : MOST_BYTES), MPI_BYTE, to, TAG_BYTES,
                 MPI_COMM_WORLD);
}

static void receive_bytes(struct gp_buf *b, int from)
{
    uint64_t n;
    MPI_Recv(&n, sizeof n, MPI_BYTE, from, TAG_SIZE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char *to = gp_buf_reserve(b, n);
    for (uint64_t at = 0; at < n; at += MOST_BYTES)
        MPI_Recv(to + at, (int)(n - at < MOST_BYTES ? n - at : MOST_BYTES), MPI_BYTE, from, TAG_BYTES,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    b->n = n;
}

static int merge_tree(struct gp_hta_mpi *m, struct gp_err *err)
{
    for (int step = 1; step < m->size; step *= 2) {
        struct gp_buf b = {0};
        int failed = 0;
        if (m->rank & step) {
            gp_hta_save(&m->r.h, &b);
            send_bytes(&b, m->rank - step);
        } else if (m->rank + step < m->size) {
            struct gp_hta theirs;
            receive_bytes(&b, m->rank + step);
            gp_hta_init(&theirs, &m->r.hta_opts);
            failed = gp_hta_load(&theirs, b.data, b.n, err);
            if (!failed) gp_hta_merge(&m->r.h, &theirs);
            gp_hta_release(&theirs);
        }
        gp_buf_release(&b);
        if (failed) return -1;
        if (m->rank & step) return 0;
    }
    return 0;
}

/* ---- all ---- */

void gp_hta_mpi_share(struct gp_hta_mpi *m)
{
    struct gp_buf b = {0};
    uint64_t n = 0;
    for (size_t i = 0; i < m->r.app.n && !m->rank; i++) {
        gp_buf_putc(&b, m->r.app.commands && m->r.app.commands[i] ? '|' : ' ');
        gp_buf_put(&b, m->r.app.paths[i], strlen(m->r.app.paths[i]) + 1);
    }
    n = b.n;
    MPI_Bcast(&n, sizeof n, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (m->rank) b.n = (gp_buf_reserve(&b, n + 1), n);
    MPI_Bcast(b.data, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (const char *p = b.data; m->rank && p < b.data + n; p += strlen(p) + 1)
        gp_operands_add(&m->r.operands, p + 1, *p == '|');
    if (m->rank) {
        gp_app_inputs(&m->r.app, m->r.operands.paths, m->r.operands.n);
        m->r.app.commands = m->r.operands.commands;
    }
    gp_buf_release(&b);
}

/* What happened in any process: the first error, by process. */
static int share_failure(struct gp_hta_mpi *m, int failed, struct gp_err *err)
{
    struct request mine = {.failed = failed ? m->rank : -1, .err = *err};
    struct request *all = gp_zalloc((size_t)m->size * sizeof *all);
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    int first = 0;
    while (first < m->size && all[first].failed < 0) first++;
    if (first < m->size) *err = all[first].err;
    free(all);
    return first < m->size ? -1 : 0;
}

int gp_hta_mpi_read(struct gp_hta_mpi *m, const char *spill_dir, struct gp_err *err)
{
    gp_hta_init(&m->batch, &m->r.hta_opts);
    gp_spills_open(&m->spills, &m->r, spill_dir);
    if (spill_dir && !m->rank && gp_spills_load(&m->spills, &m->r.h) && m->r.opts->app.common.verbose)
        gp_cli_warn(m->r.app.tool, "%s: resumed from what was read before", spill_dir);
    int failed = 0;
    if (m->rank) work(m);
    else failed = deal(m, err);
    if (end_batch(m, failed ? &(struct gp_err){0} : err)) failed = -1;
    failed = share_failure(m, failed, err);
    if (!failed) failed = share_failure(m, merge_tree(m, err), err);
    gp_hta_release(&m->batch);
    gp_spills_close(&m->spills);
    return failed;
}
