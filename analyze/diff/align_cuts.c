/* Where both sides are cut into segments. */
#include "analyze/diff/align_priv.h"

/* How often an id occurs among the barriers of a kind. */
struct frequency {
    uint32_t a, b;
};

/* The frequencies of a level's ids, by a number that the map gives each. */
struct census {
    struct gp_map number;
    GP_VEC(struct frequency) of;
};

static void count_barriers(struct census *c, const struct gp_align_side *s, uint32_t kind,
                           enum gp_align_level level, bool is_b)
{
    for (uint32_t k = 0; k < s->n_barriers; k++) {
        const struct gp_align_item *i = &s->item[s->barrier[k]];
        uint64_t id = gp_align_id(i, level);
        if (i->kind != kind || !id) continue;
        uint32_t *number = gp_map_put(&c->number, id, UINT32_MAX);
        if (*number == UINT32_MAX) {
            *number = (uint32_t)c->of.n;
            GP_VEC_PUSH(&c->of, (struct frequency){0, 0});
        }
        if (is_b) c->of.at[*number].b++;
        else c->of.at[*number].a++;
    }
}

/* The next barrier of that kind, from K on, whose id occurs equally often on both sides and equals ONLY if
 * that is an id. n_barriers if there is none. */
static uint32_t next_even(const struct census *c, const struct gp_align_side *s, uint32_t k, uint32_t kind,
                          enum gp_align_level level, uint64_t only)
{
    for (; k < s->n_barriers; k++) {
        const struct gp_align_item *i = &s->item[s->barrier[k]];
        uint64_t id = gp_align_id(i, level);
        if (i->kind != kind || !id || (only && id != only)) continue;
        struct frequency f = c->of.at[*gp_map_get(&c->number, id)];
        if (f.a == f.b) return k;
    }
    return k;
}

/* Fill r->cuts with those barriers. False, with no cuts, if their order differs or there are none. */
static bool cut_at(struct gp_align_work *r, const struct census *c, uint32_t kind, enum gp_align_level level,
                   uint64_t only)
{
    uint32_t i = 0, j = 0;
    r->cuts.n = 0;
    for (;; i++, j++) {
        i = next_even(c, &r->a, i, kind, level, only);
        j = next_even(c, &r->b, j, kind, level, only);
        if (i == r->a.n_barriers || j == r->b.n_barriers)
            return r->cuts.n > 0; /* then both: they occur equally often */
        struct gp_align_pair cut = {r->a.barrier[i], r->b.barrier[j]};
        if (gp_align_id(&r->a.item[cut.a], level) != gp_align_id(&r->b.item[cut.b], level)) {
            r->cuts.n = 0;
            return false;
        }
        GP_VEC_PUSH(&r->cuts, cut);
    }
}

/* The matrix product that occurs least often, but at least three times if there is one: once per layer, if
 * there are layers. */
static uint64_t rarest(const struct census *c, const struct gp_align_side *s, uint32_t kind,
                       enum gp_align_level level)
{
    uint64_t best = 0;
    uint32_t times = 0;
    for (uint32_t k = 0; (k = next_even(c, s, k, kind, level, 0)) < s->n_barriers; k++) {
        uint64_t id = gp_align_id(&s->item[s->barrier[k]], level);
        uint32_t n = c->of.at[*gp_map_get(&c->number, id)].a;
        if (!times || (n >= 3 && (times < 3 || n < times)) || (times < 3 && n > times)) best = id, times = n;
    }
    return best;
}

uint64_t gp_align_work_of(const struct gp_align_side *s, uint32_t from, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = from; i < from + n; i++)
        if (gp_align_is_barrier(&s->item[i]))
            sum += gp_hash_u64(gp_hash_u64(1, s->item[i].kind), s->item[i].work);
    return sum;
}

struct gp_align_segment gp_align_segment_at(const struct gp_align_work *r, size_t k)
{
    struct gp_align_pair begin = k ? r->cuts.at[k - 1] : (struct gp_align_pair){0, 0};
    struct gp_align_pair end = k < r->cuts.n ? r->cuts.at[k] : (struct gp_align_pair){r->a.n, r->b.n};
    return (struct gp_align_segment){
        .a = begin.a, .na = end.a - begin.a, .b = begin.b, .nb = end.b - begin.b};
}

/* Is at least half of both sides in segments with the same work? */
static bool is_good_cut(const struct gp_align_work *r)
{
    uint64_t same = 0;
    for (size_t k = 0; k <= r->cuts.n; k++) {
        struct gp_align_segment s = gp_align_segment_at(r, k);
        if (gp_align_work_of(&r->a, s.a, s.na) == gp_align_work_of(&r->b, s.b, s.nb))
            same += (uint64_t)s.na + s.nb;
    }
    return same * 2 >= (uint64_t)r->a.n + r->b.n;
}

static bool try_cuts(struct gp_align_work *r, uint32_t kind, enum gp_align_level level)
{
    struct census c = {0};
    count_barriers(&c, &r->a, kind, level, false);
    count_barriers(&c, &r->b, kind, level, true);
    uint64_t only = kind == GP_FRAME_GEMM ? rarest(&c, &r->a, kind, level) : 0;
    bool found = (kind != GP_FRAME_GEMM || only) && cut_at(r, &c, kind, level, only) && is_good_cut(r);
    gp_map_release(&c.number);
    GP_VEC_FREE(&c.of);
    return found;
}

/* Attention first: it occurs once per layer and pass, and libraries keep it whole. */
void gp_align_choose_cuts(struct gp_align_work *r)
{
    static const uint32_t kinds[] = {GP_FRAME_ATTENTION, GP_FRAME_COMMUNICATION, GP_FRAME_GEMM};
    for (size_t k = 0; k < GP_COUNT(kinds); k++)
        for (enum gp_align_level level = GP_ALIGN_BY_KEY; level < GP_ALIGN_LEVELS; level++)
            if (try_cuts(r, kinds[k], level)) return;
    r->cuts.n = 0;
}
