#include "analyze/fleet/quantile_sketch.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/order.h"

enum { PER_POWER = 128, FIRST_POWER = 7 };

uint32_t gp_sketch_bucket_of(int64_t v)
{
    if (v < PER_POWER) return v < 0 ? 0 : (uint32_t)v;
    unsigned e = 63 - (unsigned)__builtin_clzll((uint64_t)v);
    return PER_POWER + (e - FIRST_POWER) * PER_POWER + (uint32_t)((uint64_t)v >> (e - FIRST_POWER) & 127);
}

int64_t gp_sketch_middle(uint32_t index)
{
    if (index < PER_POWER) return index;
    unsigned e = (index - PER_POWER) / PER_POWER;
    uint64_t width = UINT64_C(1) << e;
    return (int64_t)((PER_POWER + (index - PER_POWER) % PER_POWER) * width + width / 2);
}

/* Where bucket INDEX is, or belongs. */
static size_t place_of(const struct gp_sketch *s, uint32_t index)
{
    GP_SEARCH(lo, 0, s->at.n, mid, s->at.at[mid].index < index);
    return lo;
}

static void add_to(struct gp_sketch *s, uint32_t index, uint64_t n)
{
    size_t at = place_of(s, index);
    if (at < s->at.n && s->at.at[at].index == index) {
        s->at.at[at].n += n;
        return;
    }
    GP_VEC_PUSH(&s->at, ((struct gp_sketch_bucket){0}));
    memmove(s->at.at + at + 1, s->at.at + at, (s->at.n - 1 - at) * sizeof *s->at.at);
    s->at.at[at] = (struct gp_sketch_bucket){index, n};
}

void gp_sketch_add(struct gp_sketch *s, int64_t v)
{
    add_to(s, gp_sketch_bucket_of(v), 1);
    s->n++;
    s->sum = gp_add_saturated(s->sum, v < 0 ? 0 : v);
}

void gp_sketch_merge(struct gp_sketch *to, const struct gp_sketch *from)
{
    for (size_t i = 0; i < from->at.n; i++) add_to(to, from->at.at[i].index, from->at.at[i].n);
    to->n += from->n;
    to->sum = gp_add_saturated(to->sum, from->sum);
}

/* ---- reading ---- */

int64_t gp_sketch_median(const struct gp_sketch *s)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < s->at.n; i++) {
        seen += s->at.at[i].n;
        if (seen >= s->n - s->n / 2) return gp_sketch_middle(s->at.at[i].index);
    }
    return 0;
}

struct apart {
    int64_t by;
    uint64_t n;
};

GP_COMPARE(by_distance, struct apart, GP_UP(by))

int64_t gp_sketch_deviation(const struct gp_sketch *s, int64_t middle)
{
    struct apart *all = gp_alloc((s->at.n + 1) * sizeof *all);
    for (size_t i = 0; i < s->at.n; i++) {
        int64_t by = gp_sketch_middle(s->at.at[i].index) - middle;
        all[i] = (struct apart){by < 0 ? -by : by, s->at.at[i].n};
    }
    qsort(all, s->at.n, sizeof *all, by_distance);
    int64_t median = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < s->at.n && seen < s->n - s->n / 2; i++) {
        seen += all[i].n;
        median = all[i].by;
    }
    free(all);
    return (int64_t)((double)median * 1.4826);
}

/* ---- saving, releasing ---- */

void gp_sketch_serialize(struct gp_serializer *x, struct gp_sketch *s)
{
    size_t n = gp_serialize_count(x, s->at.n, 2);
    uint32_t last = 0;
    gp_serialize_i64(x, &s->sum);
    if (!x->save) GP_VEC_RESERVE(&s->at, n);
    for (size_t i = 0; i < n && !x->failed; i++) {
        struct gp_sketch_bucket b = {0, 0};
        if (x->save) b = s->at.at[i];
        uint32_t step = b.index - last;
        gp_serialize_u32(x, &step);
        gp_serialize_u64(x, &b.n);
        if (x->save) {
            last = b.index;
            continue;
        }
        if ((i && !step) || step >= GP_SKETCH_BUCKETS - last || !b.n || b.n > INT64_MAX - s->n) {
            x->failed = true;
            return;
        }
        last = b.index = last + step;
        s->n += b.n;
        GP_VEC_PUSH(&s->at, b);
    }
}

void gp_sketch_release(struct gp_sketch *s)
{
    GP_VEC_FREE(&s->at);
    memset(s, 0, sizeof *s);
}
