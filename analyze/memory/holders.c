/* Who holds what is allocated at a position. */
#include <stdlib.h>
#include <string.h>
#include "analyze/memory/memory_priv.h"
#include "formats/base/buf.h"

struct holding {
    struct gp_memory *m;
    uint32_t device, position;
    enum gp_memory_key by;
    struct gp_map index; /* key -> index behind `first` */
    size_t first;
    gp_memory_holders *to;
};

/* The range that holds a block: from its stack, otherwise the innermost at its allocation. */
static gp_sid range_of(const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    const struct gp_memory_site *site = &d->sites.at[l->site];
    if (site->range) return site->range;
    return l->span == GP_NO_SPAN ? 0 : d->spans.at[l->span].label;
}

/* The key of a block: two words of KEYS that no other block has unless it is the same, and its name. */
static gp_sid key_of(struct holding *h, const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    const struct gp_memory_site *site = &d->sites.at[l->site];
    bool recorded;
    const char *none = "[outside any range]";
    gp_sid key = 0;
    switch (h->by) {
    case GP_BY_STACK:
        return site->key;
    case GP_BY_RANGE:
        key = range_of(d, l);
        if (!l->begin) none = "[before the history]";
        break;
    case GP_BY_OP:
        key = site->op;
        none = "[no operator]";
        break;
    case GP_BY_MODULE:
        key = site->module;
        none = site->stand_in ? gp_memory_str(h->m, site->key) : "[no module]";
        break;
    default:
        return gp_intern_cstr(&h->m->strings, gp_category_text(gp_memory_category(d, l, &recorded)));
    }
    return key ? key : gp_intern_cstr(&h->m->strings, none);
}

static void add_life(struct holding *h, const struct gp_memory_device *d, const struct gp_memory_life *l)
{
    gp_sid key = key_of(h, d, l);
    uint64_t hash = h->by == GP_BY_STACK ? (uint64_t)l->site << 32 : key;
    uint32_t *at = gp_map_put(&h->index, hash, (uint32_t)(h->to->n - h->first));
    bool recorded;
    enum gp_category category = gp_memory_category(d, l, &recorded);
    if (*at == h->to->n - h->first) {
        struct gp_memory_holder fresh = {.device = h->device,
                                         .key = key,
                                         .site = h->by == GP_BY_STACK ? l->site : UINT32_MAX,
                                         .since_ns = INT64_MAX,
                                         .since_step = UINT32_MAX,
                                         .category = category,
                                         .category_recorded = recorded};
        GP_VEC_PUSH(h->to, fresh);
    }
    struct gp_memory_holder *o = &h->to->at[h->first + *at];
    int64_t since = gp_memory_time(d, l->begin);
    o->blocks++;
    o->bytes += l->bytes;
    o->requested += l->requested;
    if (since < o->since_ns) {
        uint32_t step = l->begin ? gp_memory_step_at(d, l->begin) : UINT32_MAX;
        o->since_ns = since;
        o->since_step = step < d->steps.n ? step : UINT32_MAX;
    }
    if (o->category != category) o->category = GP_CAT_MIXED;
    o->category_recorded &= recorded;
}

struct order {
    const struct gp_memory *m;
    struct gp_memory_holder h;
};

static int most_first(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->h.bytes != y->h.bytes) return x->h.bytes > y->h.bytes ? -1 : 1;
    int c = strcmp(gp_memory_str(x->m, x->h.key), gp_memory_str(y->m, y->h.key));
    if (c) return c;
    return x->h.site < y->h.site ? -1 : x->h.site > y->h.site;
}

static void sort(const struct gp_memory *m, gp_memory_holders *to, size_t first)
{
    size_t n = to->n - first;
    if (n < 2) return;
    struct order *all = gp_alloc(n * sizeof *all);
    for (size_t i = 0; i < n; i++) all[i] = (struct order){m, to->at[first + i]};
    qsort(all, n, sizeof *all, most_first);
    for (size_t i = 0; i < n; i++) to->at[first + i] = all[i].h;
    free(all);
}

/* Add O to TO. */
static void add_holder(struct gp_memory_holder *to, const struct gp_memory_holder *o)
{
    to->blocks += o->blocks;
    to->bytes += o->bytes;
    to->requested += o->requested;
    if (o->since_ns < to->since_ns) {
        to->since_ns = o->since_ns;
        to->since_step = o->since_step;
    }
    if (o->category != to->category) to->category = GP_CAT_MIXED;
    to->category_recorded &= o->category_recorded;
}

/* Those that hold less than the limit become one. */
static void fold_small(struct holding *h)
{
    size_t keep = h->first;
    while (keep < h->to->n && h->to->at[keep].bytes >= h->m->opts.min_bytes) keep++;
    if (h->to->n - keep < 2) return;
    struct gp_memory_holder sum = h->to->at[keep];
    struct gp_buf b = {0};
    gp_buf_printf(&b, "[%zu smaller]", h->to->n - keep);
    for (size_t i = keep + 1; i < h->to->n; i++) add_holder(&sum, &h->to->at[i]);
    sum.key = gp_intern(&h->m->strings, b.data, b.n);
    sum.site = UINT32_MAX;
    gp_buf_release(&b);
    h->to->at[keep] = sum;
    h->to->n = keep + 1;
}

void gp_memory_holders_at(struct gp_memory *m, uint32_t device, uint32_t position, enum gp_memory_key key,
                          gp_memory_holders *to)
{
    const struct gp_memory_device *d = &m->devices.at[device];
    struct holding h = {.m = m, .device = device, .position = position, .by = key, .first = to->n, .to = to};
    for (size_t i = 0; i < d->lives.n; i++) {
        const struct gp_memory_life *l = &d->lives.at[i];
        if (l->begin <= position && position < l->end) add_life(&h, d, l);
    }
    sort(m, to, h.first);
    if (m->opts.min_bytes > 0) fold_small(&h);
    gp_map_release(&h.index);
}

void gp_holders_name(struct gp_memory *m)
{
    struct gp_map index = {0};
    size_t first = 0;
    for (size_t i = 0; i < m->holders.n; i++) {
        const struct gp_memory_holder *o = &m->holders.at[i];
        if (m->named.n && m->named.at[m->named.n - 1].device != o->device) {
            sort(m, &m->named, first);
            first = m->named.n;
        }
        uint32_t *at = gp_map_put(&index, (uint64_t)o->device << 32 | o->key, (uint32_t)m->named.n);
        if (*at < m->named.n) add_holder(&m->named.at[*at], o);
        else GP_VEC_PUSH(&m->named, *o);
    }
    sort(m, &m->named, first);
    gp_map_release(&index);
}
