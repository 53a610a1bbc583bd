#include "analyze/hta/hta_spread.h"

#include <math.h>
#include <stdlib.h>

void gp_hta_add_breakdown(struct gp_breakdown *to, const struct gp_breakdown *b)
{
    to->span_ns += b->span_ns;
    to->busy_ns += b->busy_ns;
    to->idle_ns += b->idle_ns;
    to->compute_ns += b->compute_ns;
    to->communication_ns += b->communication_ns;
    to->memory_ns += b->memory_ns;
    to->exposed_communication_ns += b->exposed_communication_ns;
    to->exposed_memory_ns += b->exposed_memory_ns;
    to->overlap_ns += b->overlap_ns;
    to->gpu_events += b->gpu_events;
    to->gpu_ns += b->gpu_ns;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool same_device(const struct gp_hta_step *a, const struct gp_hta_step *b)
{
    return a->rank == b->rank && a->producer == b->producer && a->device == b->device;
}

static bool is_steady(const struct gp_hta_step *s)
{
    return !s->partial && !s->warm_up;
}

static struct gp_step_spread spread_of(const struct gp_hta_step *first, size_t n, bool warm_up)
{
    struct gp_step_spread s = {.first = first, .count = n};
    int64_t *wall = gp_alloc(n * sizeof *wall);
    size_t whole = 0;
    for (size_t i = 0; i < n; i++) whole += warm_up ? !first[i].partial : is_steady(&first[i]);
    for (size_t i = 0; i < n; i++) {
        const struct gp_hta_step *st = &first[i];
        s.warm_up += st->warm_up;
        s.cut += st->partial;
        if (whole && !(warm_up ? !st->partial : is_steady(st))) continue;
        wall[s.used++] = st->b.span_ns;
        gp_hta_add_breakdown(&s.sum, &st->b);
        if (!s.fastest || st->b.span_ns < s.fastest->b.span_ns) s.fastest = st;
        if (!s.slowest || st->b.span_ns > s.slowest->b.span_ns) s.slowest = st;
    }
    qsort(wall, s.used, sizeof *wall, by_value);
    s.median_ns = wall[(s.used - 1) / 2];
    s.mean_ns = (double)s.sum.span_ns / (double)s.used;
    s.step_ns = s.sum.span_ns / (int64_t)s.used;
    double squares = 0;
    for (size_t i = 0; i < s.used; i++) {
        double off = (double)wall[i] - s.mean_ns;
        squares += off * off;
    }
    s.stddev_ns = sqrt(squares / (double)s.used);
    free(wall);
    return s;
}

void gp_hta_step_spreads(const struct gp_hta *h, bool warm_up, gp_step_spreads *out)
{
    for (size_t i = 0, end; i < h->steps.n; i = end) {
        for (end = i + 1; end < h->steps.n && same_device(&h->steps.at[i], &h->steps.at[end]); end++)
            continue;
        GP_VEC_PUSH(out, spread_of(&h->steps.at[i], end - i, warm_up));
    }
}

bool gp_hta_step_time(const struct gp_hta *h, struct gp_step_spread *out)
{
    gp_step_spreads all = {0};
    gp_hta_step_spreads(h, false, &all);
    const struct gp_step_spread *most = NULL;
    for (size_t i = 0; i < all.n; i++)
        if (!most || all.at[i].step_ns > most->step_ns) most = &all.at[i];
    bool whole = most && most->used && !most->fastest->partial;
    if (whole) *out = *most;
    GP_VEC_FREE(&all);
    return whole;
}
