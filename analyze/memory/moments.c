/* The history as a limited number of points. What lives at a position is counted with differences: a block
 * adds its bytes at the first point at or behind its begin, and subtracts them at the first at or behind its
 * end. */
#include "analyze/memory/memory.h"
#include "formats/base/order.h"

#include <stdlib.h>
#include <string.h>

enum { RANKING = 16 }; /* moments that decide which sites are shown */

/* ---- which points ---- */

static bool higher(const struct gp_memory_point *a, const struct gp_memory_point *b)
{
    return a->allocated > b->allocated || (a->allocated == b->allocated && a->reserved > b->reserved);
}

/* Marks the highest and, if LOW, the lowest of [FROM, TO). */
static void mark_extremes(const struct gp_memory_device *d, size_t from, size_t to, bool low, uint8_t *keep)
{
    const struct gp_memory_point *p = d->series.at;
    size_t top = from, bottom = from;
    if (from >= to) return;
    for (size_t i = from; i < to; i++) {
        if (higher(&p[i], &p[top])) top = i;
        if (higher(&p[bottom], &p[i])) bottom = i;
    }
    keep[top] = 1;
    if (low) keep[bottom] = 1;
}

/* One point per piece of the history, pieces of equal numbers of points. */
static void mark_by_index(const struct gp_memory_device *d, size_t pieces, bool low, uint8_t *keep)
{
    size_t n = d->series.n;
    for (size_t k = 0; k < pieces; k++) mark_extremes(d, k * n / pieces, (k + 1) * n / pieces, low, keep);
}

/* The same with pieces of equal times. */
static void mark_by_time(const struct gp_memory_device *d, size_t pieces, uint8_t *keep)
{
    double span = (double)d->series.at[d->series.n - 1].time_ns - (double)d->series.at[0].time_ns;
    size_t from = 0;
    for (size_t k = 0; k < pieces && span > 0; k++) {
        double end = (double)d->series.at[0].time_ns + span * (double)(k + 1) / (double)pieces;
        size_t to = from;
        while (to < d->series.n && (double)d->series.at[to].time_ns <= end) to++;
        mark_extremes(d, from, to, false, keep);
        from = to;
    }
}

/* Those that no picture may miss. */
static void mark_ends(const struct gp_memory_device *d, uint8_t *keep)
{
    keep[0] = keep[d->series.n - 1] = 1;
    for (size_t i = 0; i < d->series.n; i++)
        if (d->series.at[i].position == d->peak_position) keep[i] = 1;
}

static void take(const struct gp_memory_device *d, const uint8_t *keep, gp_memory_points *to)
{
    int64_t last = 0;
    for (size_t i = 0; i < d->series.n; i++) {
        if (!keep[i]) continue;
        struct gp_memory_point p = d->series.at[i];
        p.time_ns -= d->begin_ns;
        if (p.time_ns < last) p.time_ns = last; /* clocks are set */
        last = p.time_ns;
        GP_VEC_PUSH(to, p);
    }
}

/* The last point at or before POSITION. */
static size_t index_of(const gp_memory_points *p, uint32_t position)
{
    size_t i = 0;
    while (i + 1 < p->n && p->at[i + 1].position <= position) i++;
    return i;
}

static void choose_moments(const struct gp_memory_device *d, size_t limit, gp_memory_points *to)
{
    uint8_t *keep = gp_zalloc(d->series.n + 1);
    if (d->series.n <= limit) {
        memset(keep, 1, d->series.n);
    } else {
        mark_by_index(d, limit / 2, false, keep);
        mark_by_time(d, limit / 2, keep);
    }
    mark_ends(d, keep);
    take(d, keep, to);
    /* Memory ran out at a position that may lie between the points. */
    enum { MOST = 8 };
    for (size_t k = d->ooms.n > MOST ? d->ooms.n - MOST : 0; k < d->ooms.n; k++) {
        const struct gp_memory_oom *o = &d->ooms.at[k];
        size_t i = index_of(to, o->position);
        struct gp_memory_point p = {
            o->time_ns - d->begin_ns, o->allocated, o->active, o->reserved, o->position, o->device};
        if (to->at[i].position == o->position || to->at[i].position > o->position) continue;
        if (p.time_ns < to->at[i].time_ns) p.time_ns = to->at[i].time_ns;
        if (i + 1 < to->n && p.time_ns > to->at[i + 1].time_ns) p.time_ns = to->at[i + 1].time_ns;
        GP_VEC_PUSH(to, p);
        memmove(to->at + i + 2, to->at + i + 1, (to->n - i - 2) * sizeof *to->at);
        to->at[i + 1] = p;
    }
    free(keep);
}

/* ---- held bytes ---- */

/* The first of N points at or behind POSITION. */
static size_t first_from(const struct gp_memory_point *p, size_t n, uint32_t position)
{
    GP_SEARCH(lo, 0, n, mid, p[mid].position < position);
    return lo;
}

/* Sums over rows of N + 1 numbers each. */
struct table {
    const struct gp_memory_point *p;
    size_t n;
    int64_t *bytes, *blocks; /* blocks may be NULL */
};

static void add_life(struct table *t, size_t row, const struct gp_memory_life *l)
{
    size_t from = first_from(t->p, t->n, l->begin), to = first_from(t->p, t->n, l->end);
    if (from >= to) return;
    int64_t *bytes = t->bytes + row * (t->n + 1), *blocks = t->blocks ? t->blocks + row * (t->n + 1) : NULL;
    bytes[from] += l->bytes;
    bytes[to] -= l->bytes;
    if (!blocks) return;
    blocks[from]++;
    blocks[to]--;
}

static void add_up(int64_t *values, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 1; i <= n; i++) values[r * (n + 1) + i] += values[r * (n + 1) + i - 1];
}

/* ---- which sites ---- */

struct ranked {
    int64_t most;
    uint32_t site;
};

GP_COMPARE(most_first, struct ranked, GP_DOWN(most) GP_UP(site))

static void choose_ranking(const struct gp_memory_moments *at, gp_memory_points *to)
{
    size_t n = at->moments.n, last = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        bool even = n <= RANKING || i * RANKING / n != last;
        if (even) last = i * RANKING / n;
        if (even || i == at->peak || i == at->oom || i + 1 == n) GP_VEC_PUSH(to, at->moments.at[i]);
    }
}

static void choose_sites(struct gp_memory_moments *at, const struct gp_memory_device *d, size_t limit)
{
    gp_memory_points ranking = {0};
    choose_ranking(at, &ranking);
    struct table t = {.p = ranking.at, .n = ranking.n};
    struct ranked *all = gp_alloc((d->sites.n + 1) * sizeof *all);
    t.bytes = gp_zalloc((d->sites.n + 1) * (t.n + 1) * sizeof *t.bytes);
    for (size_t i = 0; i < d->lives.n; i++) add_life(&t, d->lives.at[i].site, &d->lives.at[i]);
    add_up(t.bytes, d->sites.n, t.n);
    for (size_t s = 0; s < d->sites.n; s++) {
        all[s] = (struct ranked){0, (uint32_t)s};
        for (size_t i = 0; i < t.n; i++)
            if (t.bytes[s * (t.n + 1) + i] > all[s].most) all[s].most = t.bytes[s * (t.n + 1) + i];
    }
    qsort(all, d->sites.n, sizeof *all, most_first);
    for (size_t s = 0; s < d->sites.n && s < limit && all[s].most > 0; s++)
        GP_VEC_PUSH(&at->sites, all[s].site);
    at->other_sites = d->sites.n - at->sites.n;
    free(all);
    free(t.bytes);
    GP_VEC_FREE(&ranking);
}

/* The row of each site of D. */
static uint32_t *rows_of(const struct gp_memory_moments *at, const struct gp_memory_device *d)
{
    uint32_t *rows = gp_alloc((d->sites.n + 1) * sizeof *rows);
    for (size_t s = 0; s < d->sites.n; s++) rows[s] = (uint32_t)at->sites.n;
    for (size_t s = 0; s < at->sites.n; s++) rows[at->sites.at[s]] = (uint32_t)s;
    return rows;
}

static void count_sites(struct gp_memory_moments *at, const struct gp_memory_device *d)
{
    struct table t = {.p = at->moments.at, .n = at->moments.n};
    size_t rows = at->sites.n + 1;
    uint32_t *row = rows_of(at, d);
    int64_t *sums = gp_zalloc(rows * GP_CATEGORY_COUNT * sizeof *sums);
    t.bytes = gp_zalloc(rows * (t.n + 1) * sizeof *t.bytes);
    t.blocks = gp_zalloc(rows * (t.n + 1) * sizeof *t.blocks);
    GP_EACH(const struct gp_memory_life, l, d->lives) {
        bool recorded;
        add_life(&t, row[l->site], l);
        sums[row[l->site] * GP_CATEGORY_COUNT + gp_memory_category(d, l, &recorded)] += l->bytes;
    }
    add_up(t.bytes, rows, t.n);
    add_up(t.blocks, rows, t.n);
    for (size_t s = 0; s < at->sites.n; s++) {
        int64_t all = 0;
        uint8_t most = GP_CAT_UNKNOWN;
        for (uint8_t c = 0; c < GP_CATEGORY_COUNT; c++) {
            all += sums[s * GP_CATEGORY_COUNT + c];
            if (sums[s * GP_CATEGORY_COUNT + c] > sums[s * GP_CATEGORY_COUNT + most]) most = c;
        }
        if (sums[s * GP_CATEGORY_COUNT + most] <= all / 2) most = GP_CAT_MIXED;
        GP_VEC_PUSH(&at->categories, most);
    }
    at->bytes = t.bytes;
    at->blocks = t.blocks;
    free(sums);
    free(row);
}

/* ---- all of it ---- */

void gp_memory_moments_init(struct gp_memory_moments *at, const struct gp_memory *m, uint32_t device,
                            const struct gp_memory_moments_opts *o)
{
    const struct gp_memory_device *d = &m->devices.at[device];
    memset(at, 0, sizeof *at);
    at->oom = SIZE_MAX;
    if (!d->series.n) return;
    uint8_t *keep = gp_zalloc(d->series.n + 1);
    if (d->series.n <= o->points) memset(keep, 1, d->series.n);
    else mark_by_index(d, o->points > 6 ? (o->points - 3) / 2 : 1, true, keep);
    mark_ends(d, keep);
    take(d, keep, &at->curve);
    free(keep);
    choose_moments(d, o->moments, &at->moments);
    at->peak = index_of(&at->moments, d->peak_position);
    if (d->ooms.n) at->oom = index_of(&at->moments, d->ooms.at[d->ooms.n - 1].position);
    struct table t = {.p = at->curve.at, .n = at->curve.n};
    t.bytes = gp_zalloc(GP_CATEGORY_COUNT * (t.n + 1) * sizeof *t.bytes);
    for (size_t i = 0; i < d->lives.n; i++) {
        bool recorded;
        add_life(&t, gp_memory_category(d, &d->lives.at[i], &recorded), &d->lives.at[i]);
    }
    add_up(t.bytes, GP_CATEGORY_COUNT, t.n);
    at->category_bytes = t.bytes;
    choose_sites(at, d, o->sites);
    count_sites(at, d);
}

void gp_memory_moments_release(struct gp_memory_moments *at)
{
    GP_RELEASE(gp_vec_free, &at->curve, &at->moments, &at->sites, &at->categories);
    GP_RELEASE(free, at->category_bytes, at->bytes, at->blocks);
    memset(at, 0, sizeof *at);
}

int64_t gp_memory_moments_category(const struct gp_memory_moments *at, enum gp_category category, size_t i)
{
    return at->category_bytes[(size_t)category * (at->curve.n + 1) + i];
}

int64_t gp_memory_moments_bytes(const struct gp_memory_moments *at, size_t site, size_t i)
{
    return at->bytes[site * (at->moments.n + 1) + i];
}

int64_t gp_memory_moments_blocks(const struct gp_memory_moments *at, size_t site, size_t i)
{
    return at->blocks[site * (at->moments.n + 1) + i];
}
