/* Pairs and blocks, in order, and the kinds of blocks. */
#include "analyze/diff/align_priv.h"

/* ---- kinds of blocks ---- */

static uint64_t multiset(const struct gp_align_side *s, uint32_t from, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = from; i < from + n; i++) sum += gp_hash_u64(2, s->item[i].key);
    return sum;
}

static bool any_fused(const struct gp_align_side *s, uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < from + n; i++)
        if (s->item[i].fused) return true;
    return false;
}

/* Are all roles of the N kernels among those of the M? No, if one is unknown. */
static bool roles_within(const struct gp_align_side *s, uint32_t from, uint32_t n,
                         const struct gp_align_side *t, uint32_t of, uint32_t m)
{
    struct gp_map roles = {0};
    for (uint32_t i = of; i < of + m; i++) *gp_map_put(&roles, t->item[i].role, 0) = 1;
    bool all = true;
    for (uint32_t i = from; i < from + n && all; i++)
        all = s->item[i].role && gp_map_get(&roles, s->item[i].role);
    gp_map_release(&roles);
    return all;
}

static bool one_for_one(const struct gp_align_work *r, const struct gp_align_block *k)
{
    if (k->na != k->nb) return false;
    for (uint32_t i = 0; i < k->na; i++)
        if (!gp_align_stands_for(&r->a.item[k->a + i], &r->b.item[k->b + i])) return false;
    return true;
}

static bool has_kind(const struct gp_align_side *s, uint32_t from, uint32_t n, uint32_t kind)
{
    for (uint32_t i = from; i < from + n; i++)
        if (s->item[i].kind == kind) return true;
    return false;
}

/* Attention in place of products and the kernels between them replaces all of those. */
static bool is_attention_of(const struct gp_align_side *s, uint32_t from, uint32_t n,
                            const struct gp_align_side *t, uint32_t of, uint32_t m)
{
    return m > n && has_kind(s, from, n, GP_FRAME_ATTENTION) && !has_kind(t, of, m, GP_FRAME_ATTENTION) &&
           has_kind(t, of, m, GP_FRAME_GEMM);
}

enum gp_align_change gp_align_classify(const struct gp_align_work *r, const struct gp_align_block *k,
                                       bool claims)
{
    if (!k->na) return GP_ALIGN_ADDED;
    if (!k->nb) return GP_ALIGN_REMOVED;
    if (k->na == k->nb && multiset(&r->a, k->a, k->na) == multiset(&r->b, k->b, k->nb))
        return GP_ALIGN_REORDERED;
    if (one_for_one(r, k)) return GP_ALIGN_RETILED;
    if (is_attention_of(&r->b, k->b, k->nb, &r->a, k->a, k->na)) return GP_ALIGN_FUSED;
    if (is_attention_of(&r->a, k->a, k->na, &r->b, k->b, k->nb)) return GP_ALIGN_DEFUSED;
    if (!claims) return GP_ALIGN_CHANGED;
    if (k->na == 1 && k->nb == 1)
        return GP_ALIGN_RETILED; /* what else could it be, between the same barriers */
    if (k->na > k->nb &&
        (any_fused(&r->b, k->b, k->nb) || roles_within(&r->b, k->b, k->nb, &r->a, k->a, k->na)))
        return GP_ALIGN_FUSED;
    if (k->nb > k->na &&
        (any_fused(&r->a, k->a, k->na) || roles_within(&r->a, k->a, k->na, &r->b, k->b, k->nb)))
        return GP_ALIGN_DEFUSED;
    return GP_ALIGN_CHANGED;
}

/* ---- results, in order ---- */

static uint64_t hash_keys(const struct gp_align_side *s, uint32_t from, uint32_t n)
{
    uint64_t h = 3;
    for (uint32_t i = from; i < from + n; i++) h = gp_hash_u64(h, s->item[i].key);
    return h;
}

/* What blocks of one group have in common. */
static uint64_t signature(const struct gp_align_work *r, const struct gp_align_block *k)
{
    uint64_t h = gp_hash_u64(gp_hash_u64(4, k->change), k->whole);
    if (k->whole)
        return gp_hash_u64(gp_hash_u64(h, gp_align_work_of(&r->a, k->a, k->na)),
                           gp_align_work_of(&r->b, k->b, k->nb));
    if (k->change == GP_ALIGN_REORDERED)
        return gp_hash_u64(h, k->na ? multiset(&r->a, k->a, k->na) : multiset(&r->b, k->b, k->nb));
    return gp_hash_u64(gp_hash_u64(h, hash_keys(&r->a, k->a, k->na)), hash_keys(&r->b, k->b, k->nb));
}

static void add_to_group(struct gp_align_work *r, uint32_t block)
{
    struct gp_align_block *k = &r->al->blocks.at[block];
    uint32_t *number = gp_map_put(&r->block_groups, signature(r, k), UINT32_MAX);
    if (*number == UINT32_MAX) {
        *number = (uint32_t)r->al->groups.n;
        struct gp_align_group new = {.change = k->change, .whole = k->whole, .first = block};
        GP_VEC_PUSH(&r->al->groups, new);
    }
    k->group = *number;
    struct gp_align_group *g = &r->al->groups.at[k->group];
    g->times += k->change != GP_ALIGN_REORDERED || k->na; /* what moved is removed here and added there */
    g->na += k->na;
    g->nb += k->nb;
    gp_align_add_ns(&g->a_ns, gp_align_sum_ns(&r->a, k->a, k->na));
    gp_align_add_ns(&g->b_ns, gp_align_sum_ns(&r->b, k->b, k->nb));
}

void gp_align_settle(struct gp_align_work *r, size_t first)
{
    struct gp_map removed = {
        0}; /* by keys, the latest such block; its `group` is the one before, until it has one */
    struct gp_align_block *k = r->al->blocks.at;
    for (uint32_t i = (uint32_t)first; i < r->al->blocks.n; i++) {
        if (k[i].change != GP_ALIGN_REMOVED) continue;
        uint32_t *latest = gp_map_put(&removed, hash_keys(&r->a, k[i].a, k[i].na), UINT32_MAX);
        k[i].group = *latest, *latest = i;
    }
    for (uint32_t i = (uint32_t)first; i < r->al->blocks.n && removed.n; i++) {
        if (k[i].change != GP_ALIGN_ADDED) continue;
        uint32_t *latest = gp_map_put(&removed, hash_keys(&r->b, k[i].b, k[i].nb), UINT32_MAX);
        if (*latest == UINT32_MAX) continue;
        k[i].change = k[*latest].change = GP_ALIGN_REORDERED;
        *latest = k[*latest].group;
    }
    gp_map_release(&removed);
    for (uint32_t i = (uint32_t)first; i < r->al->blocks.n; i++) add_to_group(r, i);
}

void gp_align_put_block(struct gp_align_work *r, struct gp_align_block k)
{
    k.segment = r->segment;
    GP_VEC_PUSH(&r->al->blocks, k);
    r->at_a = k.a + k.na, r->at_b = k.b + k.nb;
}

/* A block of everything before (a, b). */
static void put_rest(struct gp_align_work *r, uint32_t a, uint32_t b, bool claims)
{
    struct gp_align_block k = {.a = r->at_a, .na = a - r->at_a, .b = r->at_b, .nb = b - r->at_b};
    if (!k.na && !k.nb) return;
    k.change = gp_align_classify(r, &k, claims);
    gp_align_put_block(r, k);
}

void gp_align_put_pair(struct gp_align_work *r, uint32_t a, uint32_t b)
{
    GP_VEC_PUSH(&r->al->pairs, (struct gp_align_pair){a, b});
    gp_align_add_ns(&r->al->paired_a_ns, r->a.item[a].dur_ns);
    gp_align_add_ns(&r->al->paired_b_ns, r->b.item[b].dur_ns);
    r->at_a = a + 1, r->at_b = b + 1;
}

void gp_align_put_one(struct gp_align_work *r, uint32_t a, uint32_t b)
{
    if (r->a.symbol[a] == r->b.symbol[b]) gp_align_put_pair(r, a, b);
    else
        gp_align_put_block(
            r, (struct gp_align_block){.a = a, .na = 1, .b = b, .nb = 1, .change = GP_ALIGN_RETILED});
}

static uint32_t next_barrier(const struct gp_align_side *s, uint32_t i, uint32_t end)
{
    while (i < end && !gp_align_is_barrier(&s->item[i])) i++;
    return i;
}

/* Do both barriers have the same kind, and does the other side have no barrier of either form left? Then
 * neither moved. */
static bool replaces(const struct gp_align_work *r, uint32_t a, uint32_t b)
{
    return r->a.item[a].kind == r->b.item[b].kind && !r->left_on_b[r->a.form[a]] &&
           !r->left_on_a[r->b.form[b]];
}

/* Do the barriers before (a, b) replace each other, one by one? */
static bool all_replaced(const struct gp_align_work *r, uint32_t a, uint32_t b)
{
    uint32_t i = next_barrier(&r->a, r->at_a, a), j = next_barrier(&r->b, r->at_b, b);
    for (; i < a && j < b; i = next_barrier(&r->a, i + 1, a), j = next_barrier(&r->b, j + 1, b))
        if (!replaces(r, i, j)) return false;
    return i == a && j == b;
}

/* One block of everything before (a, b), or several, cut at barriers that replace each other. */
static void put_replaced(struct gp_align_work *r, uint32_t a, uint32_t b, bool claims)
{
    if (!claims && all_replaced(r, a, b)) {
        for (;;) {
            uint32_t i = next_barrier(&r->a, r->at_a, a), j = next_barrier(&r->b, r->at_b, b);
            if (i == a) break;
            put_rest(r, i, j, false);
            gp_align_put_one(r, i, j);
        }
    }
    put_rest(r, a, b, claims);
}

/* Blocks of everything before (a, b): those of one family in the same order become separate blocks. */
static void put_before(struct gp_align_work *r, uint32_t a, uint32_t b, bool claims)
{
    uint32_t from_a = r->at_a, from_b = r->at_b;
    if (a > from_a && b > from_b && r->inner.budget > 0) {
        uint32_t na = a - from_a, nb = b - from_b;
        gp_lcs_match(&r->inner, r->a.form + from_a, na, r->b.form + from_b, nb);
        bool mostly =
            r->inner.pairs.n * 2 > (na > nb ? na : nb); /* or else what is fused would be torn apart */
        for (size_t i = 0; mostly && i < r->inner.pairs.n; i++) {
            struct gp_lcs_pair p = r->inner.pairs.at[i];
            put_replaced(r, from_a + p.a, from_b + p.b, claims);
            gp_align_put_one(r, from_a + p.a, from_b + p.b);
        }
    }
    put_replaced(r, a, b, claims);
}

void gp_align_put_matched(struct gp_align_work *r, uint32_t a, uint32_t b, uint32_t end_a, uint32_t end_b,
                          bool claims)
{
    for (size_t i = 0; i < r->lcs.pairs.n; i++) {
        struct gp_lcs_pair p = r->lcs.pairs.at[i];
        put_before(r, a + p.a, b + p.b, claims);
        gp_align_put_one(r, a + p.a, b + p.b);
    }
    put_before(r, end_a, end_b, claims);
}

void gp_align_match(struct gp_align_work *r, uint32_t a, uint32_t end_a, uint32_t b, uint32_t end_b)
{
    gp_lcs_match(&r->lcs, r->a.symbol + a, end_a - a, r->b.symbol + b, end_b - b);
}

void gp_align_match_forms(struct gp_align_work *r, uint32_t a, uint32_t end_a, uint32_t b, uint32_t end_b)
{
    gp_lcs_match(&r->lcs, r->a.form + a, end_a - a, r->b.form + b, end_b - b);
}
