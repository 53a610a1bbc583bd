/* What ranges and operators allocate and free, how long blocks live, and what of it is mere churn. */
#include <stdlib.h>
#include "analyze/memory/memory_priv.h"

struct uses {
    struct gp_memory *m;
    struct gp_memory_device *d;
    struct gp_map ranges, operators; /* name -> index */
};

static struct gp_memory_use *use_of(struct gp_map *map, gp_memory_uses *all, gp_sid name)
{
    uint32_t *at = gp_map_put(map, name, (uint32_t)all->n);
    if (*at == all->n) GP_VEC_PUSH(all, (struct gp_memory_use){.name = name});
    return &all->at[*at];
}

static gp_sid label_of(const struct gp_memory_device *d, uint32_t span)
{
    return span == GP_NO_SPAN ? 0 : d->spans.at[span].label;
}

/* Was it freed before the range that made it ended? */
static bool stays_inside(const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    return l->span != GP_NO_SPAN && l->end <= d->spans.at[l->span].end;
}

static void add_use(struct gp_memory_use *u, const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    u->allocations++;
    u->allocated += l->bytes;
    u->inside += stays_inside(d, l);
}

static void add_free(struct gp_memory_use *u, const struct gp_memory_life *l)
{
    u->frees++;
    u->freed += l->bytes;
}

static void add_lifetime(struct gp_memory_device *d, const struct gp_memory_life *l)
{
    int64_t ns = gp_memory_time(d, l->end) - gp_memory_time(d, l->begin);
    int i = 0;
    for (int64_t most = 1000; i < GP_LIFETIMES - 1 && ns > most; most *= 10) i++;
    d->lifetimes[i].blocks++;
    d->lifetimes[i].bytes += l->bytes;
}

static void add_life(struct uses *u, const struct gp_memory_life *l)
{
    struct gp_memory_device *d = u->d;
    const struct gp_memory_site *site = &d->sites.at[l->site];
    bool made = l->begin > 0, freed = l->end <= d->rows;
    gp_sid range = site->range ? site->range : label_of(d, l->span);
    if (made) {
        add_use(use_of(&u->ranges, &d->ranges, range), d, l);
        if (site->op) add_use(use_of(&u->operators, &d->operators, site->op), d, l);
        d->churn.allocations++;
        d->churn.bytes += l->bytes;
        d->churn.inside += stays_inside(d, l);
    }
    if (freed && l->end) {
        gp_sid where = d->spans.n ? label_of(d, l->end_span) : range;
        add_free(use_of(&u->ranges, &d->ranges, where), l);
        if (site->op) add_free(use_of(&u->operators, &d->operators, site->op), l);
    }
    if (made && freed) add_lifetime(d, l);
}

static int most_first(const void *a, const void *b)
{
    const struct gp_memory_use *x = a, *y = b;
    int64_t p = x->allocated + x->freed, q = y->allocated + y->freed;
    if (p != q) return p > q ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

void gp_uses_count(struct gp_memory *m, struct gp_memory_device *d)
{
    struct uses u = {.m = m, .d = d};
    if (d->history == GP_HISTORY_SUMS) return;
    for (size_t i = 0; i < d->lives.n; i++) add_life(&u, &d->lives.at[i]);
    if (d->ranges.n) qsort(d->ranges.at, d->ranges.n, sizeof *d->ranges.at, most_first);
    if (d->operators.n) qsort(d->operators.at, d->operators.n, sizeof *d->operators.at, most_first);
    uint32_t warm = d->steps.n ? d->steps.at[0].end : 0;
    for (size_t p = warm; d->steps.n && p < d->rows; p++) {
        uint8_t action = d->s->rows.action[d->first_row + p];
        d->churn.segment_allocs_later += action == GP_ACT_SEGMENT_ALLOC || action == GP_ACT_SEGMENT_MAP;
    }
    gp_map_release(&u.ranges);
    gp_map_release(&u.operators);
}
