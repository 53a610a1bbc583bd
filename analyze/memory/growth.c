/* What is alive at the end of each step and grows from one to the next: leaks, by where they are made. */
#include <stdlib.h>
#include "analyze/memory/memory_priv.h"

enum { RISES_LEAST = 2, RISES_CERTAIN = 4, RISES_STAIRS = 3 };

/* Alive at the ends of steps FIRST to LAST - 1. Sites of one name are one: the same line is called from several. */
struct across {
    gp_sid key;
    uint32_t site, first, last;
    int64_t bytes;
};

typedef GP_VEC(struct across) acrosses;

/* The first step that ends at POSITION or later. */
static uint32_t first_end(const struct gp_memory_device *d, uint32_t position)
{
    size_t lo = 0, hi = d->steps.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->steps.at[mid].end < position) lo = mid + 1;
        else hi = mid;
    }
    return (uint32_t)lo;
}

static int by_key(const void *a, const void *b)
{
    const struct across *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    if (x->last != y->last) return x->last < y->last ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

static void collect(const struct gp_memory_device *d, acrosses *all)
{
    for (size_t i = 0; i < d->lives.n; i++) {
        const struct gp_memory_life *l = &d->lives.at[i];
        struct across a = {d->sites.at[l->site].key, l->site, first_end(d, l->begin), first_end(d, l->end),
                           l->bytes};
        if (a.first < a.last) GP_VEC_PUSH(all, a);
    }
    if (all->n) qsort(all->at, all->n, sizeof *all->at, by_key);
}

/* How well a line fits N values. */
static double fit(const int64_t *v, size_t n)
{
    double mx = (double)(n - 1) / 2, my = 0, sxy = 0, sxx = 0, syy = 0;
    for (size_t i = 0; i < n; i++) my += (double)v[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double dx = (double)i - mx, dy = (double)v[i] - my;
        sxy += dx * dy;
        sxx += dx * dx;
        syy += dy * dy;
    }
    return sxx > 0 && syy > 0 ? sxy * sxy / (sxx * syy) : 0;
}

/* BYTES and BLOCKS at the N ends of steps. */
static void judge(struct gp_memory_device *d, uint32_t site, const int64_t *bytes, const int64_t *blocks,
                  size_t n)
{
    uint32_t rises = 0;
    for (size_t i = 1; i < n; i++) {
        if (bytes[i] < bytes[i - 1]) return;
        rises += bytes[i] > bytes[i - 1];
    }
    size_t spans = n - 1;
    double r2 = fit(bytes, n);
    bool each = rises == spans;
    if (rises < RISES_LEAST || (!each && (rises < RISES_STAIRS || r2 < 0.9))) return;
    struct gp_memory_growth g = {.site = site,
                                 .bytes = bytes[n - 1] - bytes[0],
                                 .bytes_per_step = (bytes[n - 1] - bytes[0]) / (int64_t)spans,
                                 .blocks = blocks[n - 1] - blocks[0],
                                 .steps = (uint32_t)spans,
                                 .rises = rises,
                                 .r2 = r2,
                                 .certain = each && rises >= RISES_CERTAIN};
    GP_VEC_PUSH(&d->growth, g);
}

static int most_first(const void *a, const void *b)
{
    const struct gp_memory_growth *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

void gp_growth_find(struct gp_memory_device *d)
{
    size_t n = d->steps.n;
    acrosses all = {0};
    if (n <= RISES_LEAST) return;
    collect(d, &all);
    int64_t *bytes = gp_alloc((n + 1) * sizeof *bytes), *blocks = gp_alloc((n + 1) * sizeof *blocks);
    for (size_t i = 0; i < all.n;) {
        gp_sid key = all.at[i].key;
        uint32_t site = all.at[i].site;
        for (size_t k = 0; k <= n; k++) bytes[k] = blocks[k] = 0;
        for (; i < all.n && all.at[i].key == key; i++) {
            bytes[all.at[i].first] += all.at[i].bytes;
            bytes[all.at[i].last] -= all.at[i].bytes;
            blocks[all.at[i].first]++;
            blocks[all.at[i].last]--;
        }
        for (size_t k = 1; k < n; k++) {
            bytes[k] += bytes[k - 1];
            blocks[k] += blocks[k - 1];
        }
        judge(d, site, bytes, blocks, n);
    }
    free(bytes);
    free(blocks);
    GP_VEC_FREE(&all);
    if (d->growth.n) qsort(d->growth.at, d->growth.n, sizeof *d->growth.at, most_first);
}
