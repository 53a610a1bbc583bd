#include "render/hta/hta_sums.h"

#include <stdlib.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/map.h"

struct gp_hta_totals gp_hta_totals(const struct gp_hta *h)
{
    struct gp_hta_totals all = {0};
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        gp_hta_add_breakdown(&all.b, &d->b);
        for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) all.idle_cause_ns[c] += d->idle_cause_ns[c];
        all.ranks += i == 0 || d->rank != d[-1].rank;
    }
    gp_hta_add_breakdown(&all.b, &h->bound.b);
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) all.idle_cause_ns[c] += h->bound.idle_cause_ns[c];
    all.devices = h->devices.n + h->bound.devices;
    all.ranks += h->bound.devices; /* each its own rank */
    return all;
}

/* ---- culprits ---- */

static int compare_frames(const struct gp_idle_culprit *x, const struct gp_idle_culprit *y)
{
    const uint32_t a[] = {x->cause, x->rest, x->range, x->python, x->op, x->api};
    const uint32_t b[] = {y->cause, y->rest, y->range, y->python, y->op, y->api};
    for (int i = 0; i < 6; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int by_frames(const void *a, const void *b)
{
    return compare_frames(a, b);
}

static int by_idle(const void *a, const void *b)
{
    const struct gp_idle_culprit *x = a, *y = b;
    if (x->rest != y->rest) return x->rest - y->rest;
    if (x->idle_ns != y->idle_ns) return x->idle_ns > y->idle_ns ? -1 : 1;
    return compare_frames(x, y);
}

static void add_rest(gp_idle_culprits *out, int cause, int64_t ns)
{
    if (ns)
        GP_VEC_PUSH(out, ((struct gp_idle_culprit){.cause = (uint32_t)cause, .rest = true, .idle_ns = ns}));
}

void gp_hta_culprit_sums(const struct gp_hta *h, gp_idle_culprits *out)
{
    for (size_t i = 0; i < h->devices.n; i++)
        for (size_t j = 0; j < h->devices.at[i].culprits.n; j++)
            GP_VEC_PUSH(out, h->devices.at[i].culprits.at[j]);
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
        for (size_t i = 0; i < h->devices.n; i++) add_rest(out, c, h->devices.at[i].culprit_rest_ns[c]);
        add_rest(out, c, h->bound.idle_cause_ns[c]);
    }
    if (!out->n) return;
    qsort(out->at, out->n, sizeof *out->at, by_frames);
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++) {
        const struct gp_idle_culprit *c = &out->at[i];
        struct gp_idle_culprit *to = n ? &out->at[n - 1] : NULL;
        if (!to || compare_frames(to, c)) {
            out->at[n++] = *c;
            continue;
        }
        to->idle_ns += c->idle_ns;
        to->gaps += c->gaps;
        to->samples += c->samples;
        if (c->longest_ns > to->longest_ns) {
            to->longest_ns = c->longest_ns;
            to->longest_at_ns = c->longest_at_ns;
        }
    }
    out->n = n;
    qsort(out->at, n, sizeof *out->at, by_idle);
}

/* ---- the critical path ---- */

static int by_total(const void *a, const void *b)
{
    const struct gp_path_sum *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns > y->total_ns ? -1 : 1;
    if (x->bound != y->bound) return x->bound < y->bound ? -1 : 1;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return (x->full > y->full) - (x->full < y->full);
}

void gp_hta_path_sums(const struct gp_hta_path *p, gp_path_sums *out)
{
    struct gp_map rows[GP_PATH_BOUND_COUNT] = {{0}}; /* name and full name -> row of OUT */
    for (size_t i = 0; i < p->pieces.n; i++) {
        const struct gp_path_piece *q = &p->pieces.at[i];
        int64_t ns = q->end_ns - q->begin_ns;
        uint32_t *row = gp_map_put(&rows[q->bound], (uint64_t)q->name << 32 | q->full, (uint32_t)out->n);
        if (*row == out->n) GP_VEC_PUSH(out, ((struct gp_path_sum){p, q->bound, q->name, q->full, 0, 0, 0}));
        struct gp_path_sum *to = &out->at[*row];
        to->count++;
        to->total_ns += ns;
        if (ns > to->longest_ns) to->longest_ns = ns;
    }
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++) gp_map_release(&rows[b]);
    if (out->n) qsort(out->at, out->n, sizeof *out->at, by_total);
}

/* ---- runs of short pieces ---- */

static int64_t length(const struct gp_path_piece *p)
{
    return p->end_ns - p->begin_ns;
}

static int longest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* The length from which a piece is listed separately, so that with the runs in between there are at most
 * MAX. */
static int64_t threshold(const struct gp_hta_path *p, size_t max)
{
    if (!max || p->pieces.n <= max) return 0;
    int64_t *lengths = gp_alloc(p->pieces.n * sizeof *lengths);
    for (size_t i = 0; i < p->pieces.n; i++) lengths[i] = length(&p->pieces.at[i]);
    qsort(lengths, p->pieces.n, sizeof *lengths, longest_first);
    int64_t least = lengths[(max - 1) / 2] + 1; /* (max - 1) / 2 longer ones at most, and a run around each */
    free(lengths);
    return least;
}

static struct gp_path_run run_of(const struct gp_hta_path *p, size_t first, size_t end)
{
    struct gp_path_run run = {first, end, 0, GP_PATH_HOST};
    int64_t ns[GP_PATH_BOUND_COUNT] = {0};
    for (size_t i = first; i < end; i++) {
        ns[p->pieces.at[i].bound] += length(&p->pieces.at[i]);
        run.total_ns += length(&p->pieces.at[i]);
    }
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++)
        if (ns[b] > ns[run.bound]) run.bound = (enum gp_path_bound)b;
    return run;
}

void gp_hta_path_fold(const struct gp_hta_path *p, size_t max, gp_path_runs *out)
{
    int64_t least = threshold(p, max);
    for (size_t i = 0; i < p->pieces.n;) {
        size_t end = i + 1;
        if (length(&p->pieces.at[i]) < least)
            while (end < p->pieces.n && length(&p->pieces.at[end]) < least) end++;
        GP_VEC_PUSH(out, run_of(p, i, end));
        i = end;
    }
}
