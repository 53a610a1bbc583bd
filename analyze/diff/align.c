
#include <stdlib.h>
#include "analyze/diff/align_priv.h"
#include "formats/base/order.h"

/* ---- segments ---- */

/* The barriers of part of a side. */
struct barriers {
    const uint32_t *at;
    uint32_t n;
};

static struct barriers barriers_in(const struct gp_align_side *s, uint32_t from, uint32_t n)
{
    GP_SEARCH(low, 0, s->n_barriers, mid, s->barrier[mid] < from);
    uint32_t end = low;
    while (end < s->n_barriers && s->barrier[end] < from + n) end++;
    return (struct barriers){s->barrier + low, end - low};
}

/* Do both sides have the same barriers, one for one? At any level, but the same level for all of them. */
static bool in_one_order(const struct gp_align_work *r, struct barriers a, struct barriers b)
{
    if (a.n != b.n) return false;
    for (enum gp_align_level level = GP_ALIGN_BY_KEY; level < GP_ALIGN_LEVELS; level++) {
        uint32_t i = 0;
        for (; i < a.n; i++) {
            uint64_t id = gp_align_id(&r->a.item[a.at[i]], level);
            if (!id || id != gp_align_id(&r->b.item[b.at[i]], level)) break;
        }
        if (i == a.n) return true;
    }
    return false;
}

/* Do the sides have no barrier id in common? */
static bool are_foreign(const struct gp_align_work *r, struct barriers a, struct barriers b,
                        enum gp_align_level level)
{
    struct gp_map of_a = {0};
    bool foreign = true;
    for (uint32_t i = 0; i < a.n; i++) *gp_map_put(&of_a, gp_align_id(&r->a.item[a.at[i]], level), 0) = 1;
    for (uint32_t i = 0; i < b.n && foreign; i++) {
        uint64_t id = gp_align_id(&r->b.item[b.at[i]], level);
        foreign = !id || !gp_map_get(&of_a, id);
    }
    gp_map_release(&of_a);
    return foreign;
}

/* With other libraries or another data type, only the kinds show an order, and nothing shows that it is a
 * different one. */
static bool in_order_of_kinds(const struct gp_align_work *r, struct barriers a, struct barriers b)
{
    if (a.n != b.n) return false;
    for (enum gp_align_level level = GP_ALIGN_BY_KEY; level < GP_ALIGN_LEVELS; level++)
        if (!are_foreign(r, a, b, level)) return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (r->a.item[a.at[i]].kind != r->b.item[b.at[i]].kind) return false;
    return true;
}

/* Between one barrier and the next. */
static void refine(struct gp_align_work *r, const struct gp_align_segment *s, struct barriers a,
                   struct barriers b)
{
    for (uint32_t i = 0; i <= a.n; i++) {
        uint32_t end_a = i < a.n ? a.at[i] : s->a + s->na, end_b = i < a.n ? b.at[i] : s->b + s->nb;
        uint32_t from_a = r->at_a, from_b = r->at_b;
        gp_align_match(r, from_a, end_a, from_b, end_b);
        gp_align_put_matched(r, from_a, from_b, end_a, end_b, true);
        if (i == a.n) return;
        gp_align_put_one(r, end_a, end_b);
    }
}

/* The forms that the latest match of a whole segment has left over. */
static void note_left(struct gp_align_work *r, const struct gp_align_segment *s, uint8_t is_left)
{
    size_t i = 0, j = 0;
    for (uint32_t k = 0; k < s->na; k++) {
        if (i < r->lcs.pairs.n && r->lcs.pairs.at[i].a == k) i++;
        else r->left_on_a[r->a.form[s->a + k]] = is_left;
    }
    for (uint32_t k = 0; k < s->nb; k++) {
        if (j < r->lcs.pairs.n && r->lcs.pairs.at[j].b == k) j++;
        else r->left_on_b[r->b.form[s->b + k]] = is_left;
    }
}

/* Without an order: match what is the same, or of the same family, if that is at least half of the smaller
 * side; otherwise common beginnings and ends, and one block. */
static void compare(struct gp_align_work *r, const struct gp_align_segment *s)
{
    uint32_t end_a = s->a + s->na, end_b = s->b + s->nb, smaller = s->na < s->nb ? s->na : s->nb;
    gp_align_match(r, s->a, end_a, s->b, end_b);
    if (r->lcs.pairs.n * 2 < smaller) gp_align_match_forms(r, s->a, end_a, s->b, end_b);
    if (r->lcs.pairs.n * 2 >= smaller) {
        note_left(r, s, 1);
        gp_align_put_matched(r, s->a, s->b, end_a, end_b, false);
        note_left(r, s, 0);
        return;
    }
    uint32_t tail = 0;
    while (r->at_a < end_a && r->at_b < end_b && r->a.symbol[r->at_a] == r->b.symbol[r->at_b])
        gp_align_put_pair(r, r->at_a, r->at_b);
    while (tail < end_a - r->at_a && tail < end_b - r->at_b &&
           r->a.symbol[end_a - 1 - tail] == r->b.symbol[end_b - 1 - tail])
        tail++;
    struct gp_align_block k = {.a = r->at_a,
                               .na = end_a - tail - r->at_a,
                               .b = r->at_b,
                               .nb = end_b - tail - r->at_b,
                               .whole = true};
    k.change = gp_align_classify(r, &k, false);
    gp_align_put_block(r, k); /* not empty: then all of the smaller side would be the same */
    for (; tail; tail--) gp_align_put_pair(r, end_a - tail, end_b - tail);
}

static uint32_t segment_group(struct gp_align_work *r, struct barriers a, struct barriers b)
{
    uint64_t sum[2] = {0};
    for (uint32_t i = 0; i < a.n; i++)
        sum[0] += gp_hash_u64(gp_hash_u64(4, r->a.item[a.at[i]].kind), r->a.item[a.at[i]].family);
    for (uint32_t i = 0; i < b.n; i++)
        sum[1] += gp_hash_u64(gp_hash_u64(4, r->b.item[b.at[i]].kind), r->b.item[b.at[i]].family);
    uint32_t *g = gp_map_put(&r->segment_groups, gp_hash_u64(gp_hash_u64(5, sum[0]), sum[1]), UINT32_MAX);
    if (*g == UINT32_MAX) *g = r->al->segment_groups++;
    return *g;
}

static void align_segments(struct gp_align_work *r)
{
    for (size_t k = 0; k <= r->cuts.n; k++) {
        struct gp_align_segment s = gp_align_segment_at(r, k);
        if (!s.na && !s.nb) continue;
        struct barriers a = barriers_in(&r->a, s.a, s.na), b = barriers_in(&r->b, s.b, s.nb);
        s.same_work = a.n == b.n && gp_align_work_of(&r->a, s.a, s.na) == gp_align_work_of(&r->b, s.b, s.nb);
        s.same_order = s.same_work && (in_one_order(r, a, b) || in_order_of_kinds(r, a, b));
        s.group = segment_group(r, a, b);
        s.a_ns = gp_align_sum_ns(&r->a, s.a, s.na), s.b_ns = gp_align_sum_ns(&r->b, s.b, s.nb);
        r->segment = (uint32_t)r->al->segments.n;
        GP_VEC_PUSH(&r->al->segments, s);
        size_t first = r->al->blocks.n;
        if (s.same_order) refine(r, &s, a, b);
        else compare(r, &s);
        gp_align_settle(r, first);
    }
}

/* ---- sides ---- */

/* Numbers from 0 for keys and families, the same on both sides. */
struct numbers {
    struct gp_map key, family;
};

static void prepare(struct gp_align_side *s, const struct gp_align_item *item, size_t n, struct numbers *of)
{
    *s = (struct gp_align_side){.item = item, .n = (uint32_t)n};
    s->symbol = gp_alloc((n + 1) * sizeof *s->symbol);
    s->form = gp_alloc((n + 1) * sizeof *s->form);
    s->barrier = gp_alloc((n + 1) * sizeof *s->barrier);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t family = item[i].family ? item[i].family : UINT64_C(1) << 32 | of->family.n;
        s->symbol[i] = *gp_map_put(&of->key, item[i].key, (uint32_t)of->key.n);
        s->form[i] = *gp_map_put(&of->family, family, (uint32_t)of->family.n);
        if (gp_align_is_barrier(&item[i])) s->barrier[s->n_barriers++] = i;
    }
}

/* Which side becomes A: only one of two mirror images may be searched, because searches have preferences. */
static int order_of_sides(const struct gp_align_item *a, size_t na, const struct gp_align_item *b, size_t nb)
{
    if (na != nb) return na < nb ? -1 : 1;
    for (size_t i = 0; i < na; i++) {
        if (a[i].key != b[i].key) return a[i].key < b[i].key ? -1 : 1;
        if (a[i].kind != b[i].kind) return a[i].kind < b[i].kind ? -1 : 1;
        if (a[i].family != b[i].family) return a[i].family < b[i].family ? -1 : 1;
        if (a[i].role != b[i].role) return a[i].role < b[i].role ? -1 : 1;
        if (a[i].work != b[i].work) return a[i].work < b[i].work ? -1 : 1;
        if (a[i].fused != b[i].fused) return a[i].fused < b[i].fused ? -1 : 1;
    }
    return 0;
}

static void swap_u32(uint32_t *x, uint32_t *y)
{
    uint32_t t = *x;
    *x = *y, *y = t;
}

static void swap_ns(int64_t *x, int64_t *y)
{
    int64_t t = *x;
    *x = *y, *y = t;
}

static uint32_t mirrored(uint32_t change)
{
    switch (change) {
    case GP_ALIGN_FUSED: return GP_ALIGN_DEFUSED;
    case GP_ALIGN_DEFUSED: return GP_ALIGN_FUSED;
    case GP_ALIGN_ADDED: return GP_ALIGN_REMOVED;
    case GP_ALIGN_REMOVED: return GP_ALIGN_ADDED;
    default: return change;
    }
}

static void mirror(struct gp_align *al)
{
    for (size_t i = 0; i < al->pairs.n; i++) swap_u32(&al->pairs.at[i].a, &al->pairs.at[i].b);
    GP_EACH(struct gp_align_block, k, al->blocks) {
        swap_u32(&k->a, &k->b), swap_u32(&k->na, &k->nb);
        k->change = mirrored(k->change);
    }
    GP_EACH(struct gp_align_group, g, al->groups) {
        uint64_t n = g->na;
        g->na = g->nb, g->nb = n;
        swap_ns(&g->a_ns, &g->b_ns);
        g->change = mirrored(g->change);
    }
    GP_EACH(struct gp_align_segment, s, al->segments)
        swap_u32(&s->a, &s->b), swap_u32(&s->na, &s->nb), swap_ns(&s->a_ns, &s->b_ns);
    swap_ns(&al->paired_a_ns, &al->paired_b_ns);
}

/* ---- groups by size ---- */

static uint64_t size_of(const struct gp_align_group *g)
{
    return g->b_ns < g->a_ns ? (uint64_t)g->a_ns - (uint64_t)g->b_ns : (uint64_t)g->b_ns - (uint64_t)g->a_ns;
}

GP_COMPARE(by_size, struct gp_align_group, GP_KEY(size_of(y), size_of(x)) GP_UP(first))

static void sort_groups(struct gp_align *al)
{
    if (!al->groups.n) return;
    uint32_t *place = gp_alloc(al->blocks.n * sizeof *place); /* by first block of a group */
    uint32_t *first = gp_alloc(al->groups.n * sizeof *first);
    for (size_t i = 0; i < al->groups.n; i++) first[i] = al->groups.at[i].first;
    qsort(al->groups.at, al->groups.n, sizeof *al->groups.at, by_size);
    for (size_t i = 0; i < al->groups.n; i++) place[al->groups.at[i].first] = (uint32_t)i;
    for (size_t i = 0; i < al->blocks.n; i++) al->blocks.at[i].group = place[first[al->blocks.at[i].group]];
    free(place);
    free(first);
}

/* ---- all of it ---- */

void gp_align_run(struct gp_align *al, const struct gp_align_item *a, size_t na,
                  const struct gp_align_item *b, size_t nb)
{
    bool swap = order_of_sides(a, na, b, nb) > 0;
    struct gp_lcs search = {.budget = GP_ALIGN_BUDGET, .edits = GP_ALIGN_EDITS};
    struct gp_align_work r = {.al = al, .lcs = search, .inner = search};
    struct numbers of = {0};
    prepare(&r.a, swap ? b : a, swap ? nb : na, &of);
    prepare(&r.b, swap ? a : b, swap ? na : nb, &of);
    r.left_on_a = gp_zalloc(of.family.n + 1);
    r.left_on_b = gp_zalloc(of.family.n + 1);
    gp_align_choose_cuts(&r);
    align_segments(&r);
    al->bounded = r.lcs.bounded || r.inner.bounded;
    if (swap) mirror(al);
    sort_groups(al);
    struct gp_align_side *sides[] = {&r.a, &r.b};
    for (size_t i = 0; i < 2; i++) {
        GP_RELEASE(free, sides[i]->symbol, sides[i]->form, sides[i]->barrier);
    }
    GP_RELEASE(free, r.left_on_a, r.left_on_b);
    GP_RELEASE(gp_map_release, &of.key, &of.family, &r.block_groups, &r.segment_groups);
    GP_VEC_FREE(&r.cuts);
    gp_lcs_release(&r.lcs);
    gp_lcs_release(&r.inner);
}

void gp_align_release(struct gp_align *al)
{
    GP_RELEASE(gp_vec_free, &al->pairs, &al->blocks, &al->groups, &al->segments);
    *al = (struct gp_align){0};
}
