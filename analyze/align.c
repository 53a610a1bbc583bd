#include "analyze/align.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/calltree.h"
#include "analyze/lcs.h"
#include "formats/base/map.h"

/* One of the sides. */
struct side {
    const struct gp_align_item *item;
    uint32_t n;
    uint32_t *symbol;  /* keys, numbered from 0 on both sides together */
    uint32_t *form;    /* families, likewise; each unknown one is a number of its own */
    uint32_t *barrier; /* places of barriers */
    uint32_t n_barriers;
};

/* Everything that a run knows. */
struct run {
    struct gp_align *al;
    struct side a, b;
    struct gp_lcs lcs;                 /* by symbol, or by form where symbols say little */
    struct gp_lcs inner;               /* by form, within what lcs has left */
    GP_VEC(struct gp_align_pair) cuts; /* barriers that begin a segment on both sides */
    uint8_t *left_on_a, *left_on_b;    /* by form: is one left over on that side, in this segment? */
    struct gp_map block_groups, segment_groups;
    uint32_t at_a, at_b; /* all before is in pairs and blocks */
    uint32_t segment;    /* that is being worked on */
};

const char *gp_align_change_word(enum gp_align_change c)
{
    static const char *const words[] = {
#define X(id, word) word,
        GP_ALIGN_CHANGES(X)
#undef X
    };
    return words[c];
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

static void add_ns(int64_t *sum, int64_t v)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)v);
}

static int64_t sum_ns(const struct side *s, uint32_t from, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = from; i < from + n; i++) add_ns(&sum, s->item[i].dur_ns);
    return sum;
}

static bool is_barrier(const struct gp_align_item *i)
{
    return i->kind == GP_FRAME_GEMM || i->kind == GP_FRAME_ATTENTION || i->kind == GP_FRAME_COMMUNICATION;
}

/* ---- levels of identity ---- */

enum level { BY_KEY, BY_FAMILY, BY_ROLE, LEVELS };

/* 0 for what is not known at that level. */
static uint64_t id_at(const struct gp_align_item *i, enum level level)
{
    return level == BY_KEY ? (uint64_t)i->key + 1 : level == BY_FAMILY ? i->family : i->role;
}

static bool stands_for(const struct gp_align_item *a, const struct gp_align_item *b)
{
    return (a->family && a->family == b->family) || (a->role && a->role == b->role);
}

/* ---- where to cut ---- */

/* How often an id occurs among the barriers of a kind. */
struct frequency {
    uint32_t a, b;
};

/* The frequencies of a level's ids, by a number that the map gives each. */
struct census {
    struct gp_map number;
    GP_VEC(struct frequency) of;
};

static void count_barriers(struct census *c, const struct side *s, uint32_t kind, enum level level, bool is_b)
{
    for (uint32_t k = 0; k < s->n_barriers; k++) {
        const struct gp_align_item *i = &s->item[s->barrier[k]];
        uint64_t id = id_at(i, level);
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

/* The next barrier of that kind, from K on, whose id occurs equally often on both sides and, if ONLY is an id, is that.
 * n_barriers when there is none. */
static uint32_t next_even(const struct census *c, const struct side *s, uint32_t k, uint32_t kind,
                          enum level level, uint64_t only)
{
    for (; k < s->n_barriers; k++) {
        const struct gp_align_item *i = &s->item[s->barrier[k]];
        uint64_t id = id_at(i, level);
        if (i->kind != kind || !id || (only && id != only)) continue;
        struct frequency f = c->of.at[*gp_map_get(&c->number, id)];
        if (f.a == f.b) return k;
    }
    return k;
}

/* Fill r->cuts with those barriers. False, and no cuts, when their order differs or there are none. */
static bool cut_at(struct run *r, const struct census *c, uint32_t kind, enum level level, uint64_t only)
{
    uint32_t i = 0, j = 0;
    r->cuts.n = 0;
    for (;; i++, j++) {
        i = next_even(c, &r->a, i, kind, level, only);
        j = next_even(c, &r->b, j, kind, level, only);
        if (i == r->a.n_barriers || j == r->b.n_barriers)
            return r->cuts.n > 0; /* then both: they occur equally often */
        struct gp_align_pair cut = {r->a.barrier[i], r->b.barrier[j]};
        if (id_at(&r->a.item[cut.a], level) != id_at(&r->b.item[cut.b], level)) {
            r->cuts.n = 0;
            return false;
        }
        GP_VEC_PUSH(&r->cuts, cut);
    }
}

/* The matrix product that occurs least often, but three times if there is such a one: once a layer, if there are layers. */
static uint64_t rarest(const struct census *c, const struct side *s, uint32_t kind, enum level level)
{
    uint64_t best = 0;
    uint32_t times = 0;
    for (uint32_t k = 0; (k = next_even(c, s, k, kind, level, 0)) < s->n_barriers; k++) {
        uint64_t id = id_at(&s->item[s->barrier[k]], level);
        uint32_t n = c->of.at[*gp_map_get(&c->number, id)].a;
        if (!times || (n >= 3 && (times < 3 || n < times)) || (times < 3 && n > times)) best = id, times = n;
    }
    return best;
}

/* Barriers as a multiset: what a segment computes. */
static uint64_t work_of(const struct side *s, uint32_t from, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = from; i < from + n; i++)
        if (is_barrier(&s->item[i])) sum += mix(mix(1, s->item[i].kind), s->item[i].work);
    return sum;
}

/* Segment K of the cuts there are; there is one more than cuts. */
static struct gp_align_segment segment_of(const struct run *r, size_t k)
{
    struct gp_align_pair begin = k ? r->cuts.at[k - 1] : (struct gp_align_pair){0, 0};
    struct gp_align_pair end = k < r->cuts.n ? r->cuts.at[k] : (struct gp_align_pair){r->a.n, r->b.n};
    return (struct gp_align_segment){
        .a = begin.a, .na = end.a - begin.a, .b = begin.b, .nb = end.b - begin.b};
}

/* Is at least half of both sides in segments with the same work? */
static bool is_good_cut(const struct run *r)
{
    uint64_t same = 0;
    for (size_t k = 0; k <= r->cuts.n; k++) {
        struct gp_align_segment s = segment_of(r, k);
        if (work_of(&r->a, s.a, s.na) == work_of(&r->b, s.b, s.nb)) same += (uint64_t)s.na + s.nb;
    }
    return same * 2 >= (uint64_t)r->a.n + r->b.n;
}

static bool try_cuts(struct run *r, uint32_t kind, enum level level)
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

/* Attention first: it is there once a layer and pass, and libraries keep it whole. */
static void choose_cuts(struct run *r)
{
    static const uint32_t kinds[] = {GP_FRAME_ATTENTION, GP_FRAME_COMMUNICATION, GP_FRAME_GEMM};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (enum level level = BY_KEY; level < LEVELS; level++)
            if (try_cuts(r, kinds[k], level)) return;
    r->cuts.n = 0;
}

/* ---- what a block is ---- */

static uint64_t multiset(const struct side *s, uint32_t from, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = from; i < from + n; i++) sum += mix(2, s->item[i].key);
    return sum;
}

static bool any_fused(const struct side *s, uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < from + n; i++)
        if (s->item[i].fused) return true;
    return false;
}

/* Are all roles of the N kernels among those of the M? Not, where one is not known. */
static bool roles_within(const struct side *s, uint32_t from, uint32_t n, const struct side *t, uint32_t of,
                         uint32_t m)
{
    struct gp_map roles = {0};
    for (uint32_t i = of; i < of + m; i++) *gp_map_put(&roles, t->item[i].role, 0) = 1;
    bool all = true;
    for (uint32_t i = from; i < from + n && all; i++)
        all = s->item[i].role && gp_map_get(&roles, s->item[i].role);
    gp_map_release(&roles);
    return all;
}

static bool one_for_one(const struct run *r, const struct gp_align_block *k)
{
    if (k->na != k->nb) return false;
    for (uint32_t i = 0; i < k->na; i++)
        if (!stands_for(&r->a.item[k->a + i], &r->b.item[k->b + i])) return false;
    return true;
}

static bool has_kind(const struct side *s, uint32_t from, uint32_t n, uint32_t kind)
{
    for (uint32_t i = from; i < from + n; i++)
        if (s->item[i].kind == kind) return true;
    return false;
}

/* Attention in place of products, and what stood between them, is those in one. */
static bool is_attention_of(const struct side *s, uint32_t from, uint32_t n, const struct side *t,
                            uint32_t of, uint32_t m)
{
    return m > n && has_kind(s, from, n, GP_FRAME_ATTENTION) && !has_kind(t, of, m, GP_FRAME_ATTENTION) &&
           has_kind(t, of, m, GP_FRAME_GEMM);
}

/* CLAIMS: what is fused may be said. */
static enum gp_align_change classify(const struct run *r, const struct gp_align_block *k, bool claims)
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

static uint64_t hash_keys(const struct side *s, uint32_t from, uint32_t n)
{
    uint64_t h = 3;
    for (uint32_t i = from; i < from + n; i++) h = mix(h, s->item[i].key);
    return h;
}

/* What blocks of one group have in common. */
static uint64_t signature(const struct run *r, const struct gp_align_block *k)
{
    uint64_t h = mix(mix(4, k->change), k->whole);
    if (k->whole) return mix(mix(h, work_of(&r->a, k->a, k->na)), work_of(&r->b, k->b, k->nb));
    if (k->change == GP_ALIGN_REORDERED)
        return mix(h, k->na ? multiset(&r->a, k->a, k->na) : multiset(&r->b, k->b, k->nb));
    return mix(mix(h, hash_keys(&r->a, k->a, k->na)), hash_keys(&r->b, k->b, k->nb));
}

static void add_to_group(struct run *r, uint32_t block)
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
    add_ns(&g->a_ns, sum_ns(&r->a, k->a, k->na));
    add_ns(&g->b_ns, sum_ns(&r->b, k->b, k->nb));
}

/* Of the blocks from FIRST on, which are those of one segment: what was removed in one place and added in another has
 * moved. Then all find their groups. */
static void settle(struct run *r, size_t first)
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

static void put_block(struct run *r, struct gp_align_block k)
{
    k.segment = r->segment;
    GP_VEC_PUSH(&r->al->blocks, k);
    r->at_a = k.a + k.na, r->at_b = k.b + k.nb;
}

/* A block of all that lies before (a, b). */
static void put_rest(struct run *r, uint32_t a, uint32_t b, bool claims)
{
    struct gp_align_block k = {.a = r->at_a, .na = a - r->at_a, .b = r->at_b, .nb = b - r->at_b};
    if (!k.na && !k.nb) return;
    k.change = classify(r, &k, claims);
    put_block(r, k);
}

static void put_pair(struct run *r, uint32_t a, uint32_t b)
{
    GP_VEC_PUSH(&r->al->pairs, (struct gp_align_pair){a, b});
    add_ns(&r->al->paired_a_ns, r->a.item[a].dur_ns);
    add_ns(&r->al->paired_b_ns, r->b.item[b].dur_ns);
    r->at_a = a + 1, r->at_b = b + 1;
}

/* Two that stand for each other. */
static void put_one(struct run *r, uint32_t a, uint32_t b)
{
    if (r->a.symbol[a] == r->b.symbol[b]) put_pair(r, a, b);
    else put_block(r, (struct gp_align_block){.a = a, .na = 1, .b = b, .nb = 1, .change = GP_ALIGN_RETILED});
}

static uint32_t next_barrier(const struct side *s, uint32_t i, uint32_t end)
{
    while (i < end && !is_barrier(&s->item[i])) i++;
    return i;
}

/* Are both barriers of one kind, and neither of a form of which the other side has one left over? Then neither has moved. */
static bool replaces(const struct run *r, uint32_t a, uint32_t b)
{
    return r->a.item[a].kind == r->b.item[b].kind && !r->left_on_b[r->a.form[a]] &&
           !r->left_on_a[r->b.form[b]];
}

/* Do the barriers before (a, b) replace each other, one by one? */
static bool all_replaced(const struct run *r, uint32_t a, uint32_t b)
{
    uint32_t i = next_barrier(&r->a, r->at_a, a), j = next_barrier(&r->b, r->at_b, b);
    for (; i < a && j < b; i = next_barrier(&r->a, i + 1, a), j = next_barrier(&r->b, j + 1, b))
        if (!replaces(r, i, j)) return false;
    return i == a && j == b;
}

/* A block of all that lies before (a, b), or several, cut at barriers that replace each other. */
static void put_replaced(struct run *r, uint32_t a, uint32_t b, bool claims)
{
    if (!claims && all_replaced(r, a, b)) {
        for (;;) {
            uint32_t i = next_barrier(&r->a, r->at_a, a), j = next_barrier(&r->b, r->at_b, b);
            if (i == a) break;
            put_rest(r, i, j, false);
            put_one(r, i, j);
        }
    }
    put_rest(r, a, b, claims);
}

/* Blocks of all that lies before (a, b): those of one family that are in the same order are told one by one. */
static void put_before(struct run *r, uint32_t a, uint32_t b, bool claims)
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
            put_one(r, from_a + p.a, from_b + p.b);
        }
    }
    put_replaced(r, a, b, claims);
}

/* What the latest match, which began at (a, b), has found, and blocks between, up to (end_a, end_b). */
static void put_matched(struct run *r, uint32_t a, uint32_t b, uint32_t end_a, uint32_t end_b, bool claims)
{
    for (size_t i = 0; i < r->lcs.pairs.n; i++) {
        struct gp_lcs_pair p = r->lcs.pairs.at[i];
        put_before(r, a + p.a, b + p.b, claims);
        put_one(r, a + p.a, b + p.b);
    }
    put_before(r, end_a, end_b, claims);
}

static void match(struct run *r, uint32_t a, uint32_t end_a, uint32_t b, uint32_t end_b)
{
    gp_lcs_match(&r->lcs, r->a.symbol + a, end_a - a, r->b.symbol + b, end_b - b);
}

static void match_forms(struct run *r, uint32_t a, uint32_t end_a, uint32_t b, uint32_t end_b)
{
    gp_lcs_match(&r->lcs, r->a.form + a, end_a - a, r->b.form + b, end_b - b);
}

/* ---- segments ---- */

/* The barriers of a part of a side. */
struct barriers {
    const uint32_t *at;
    uint32_t n;
};

static struct barriers barriers_in(const struct side *s, uint32_t from, uint32_t n)
{
    uint32_t low = 0, high = s->n_barriers;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (s->barrier[mid] < from) low = mid + 1;
        else high = mid;
    }
    uint32_t end = low;
    while (end < s->n_barriers && s->barrier[end] < from + n) end++;
    return (struct barriers){s->barrier + low, end - low};
}

/* Do both sides have the same barriers, one for one? At any level, but at the same for all of them. */
static bool in_one_order(const struct run *r, struct barriers a, struct barriers b)
{
    if (a.n != b.n) return false;
    for (enum level level = BY_KEY; level < LEVELS; level++) {
        uint32_t i = 0;
        for (; i < a.n; i++) {
            uint64_t id = id_at(&r->a.item[a.at[i]], level);
            if (!id || id != id_at(&r->b.item[b.at[i]], level)) break;
        }
        if (i == a.n) return true;
    }
    return false;
}

/* Do no two barriers of the sides have that id? */
static bool are_foreign(const struct run *r, struct barriers a, struct barriers b, enum level level)
{
    struct gp_map of_a = {0};
    bool foreign = true;
    for (uint32_t i = 0; i < a.n; i++) *gp_map_put(&of_a, id_at(&r->a.item[a.at[i]], level), 0) = 1;
    for (uint32_t i = 0; i < b.n && foreign; i++) {
        uint64_t id = id_at(&r->b.item[b.at[i]], level);
        foreign = !id || !gp_map_get(&of_a, id);
    }
    gp_map_release(&of_a);
    return foreign;
}

/* Other libraries, or another type of data, leave nothing to tell an order by but the kinds; and nothing that says that it
 * is another. */
static bool in_order_of_kinds(const struct run *r, struct barriers a, struct barriers b)
{
    if (a.n != b.n) return false;
    for (enum level level = BY_KEY; level < LEVELS; level++)
        if (!are_foreign(r, a, b, level)) return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (r->a.item[a.at[i]].kind != r->b.item[b.at[i]].kind) return false;
    return true;
}

/* Between one barrier and the next. */
static void refine(struct run *r, const struct gp_align_segment *s, struct barriers a, struct barriers b)
{
    for (uint32_t i = 0; i <= a.n; i++) {
        uint32_t end_a = i < a.n ? a.at[i] : s->a + s->na, end_b = i < a.n ? b.at[i] : s->b + s->nb;
        uint32_t from_a = r->at_a, from_b = r->at_b;
        match(r, from_a, end_a, from_b, end_b);
        put_matched(r, from_a, from_b, end_a, end_b, true);
        if (i == a.n) return;
        put_one(r, end_a, end_b);
    }
}

/* Which forms the latest match, of all of a segment, has left over. */
static void note_left(struct run *r, const struct gp_align_segment *s, uint8_t is_left)
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

/* No order to go by: what is the same in it, or of the same family, if that is at least half of the smaller side; else
 * common beginnings and ends, and one block. */
static void compare(struct run *r, const struct gp_align_segment *s)
{
    uint32_t end_a = s->a + s->na, end_b = s->b + s->nb, smaller = s->na < s->nb ? s->na : s->nb;
    match(r, s->a, end_a, s->b, end_b);
    if (r->lcs.pairs.n * 2 < smaller) match_forms(r, s->a, end_a, s->b, end_b);
    if (r->lcs.pairs.n * 2 >= smaller) {
        note_left(r, s, 1);
        put_matched(r, s->a, s->b, end_a, end_b, false);
        note_left(r, s, 0);
        return;
    }
    uint32_t tail = 0;
    while (r->at_a < end_a && r->at_b < end_b && r->a.symbol[r->at_a] == r->b.symbol[r->at_b])
        put_pair(r, r->at_a, r->at_b);
    while (tail < end_a - r->at_a && tail < end_b - r->at_b &&
           r->a.symbol[end_a - 1 - tail] == r->b.symbol[end_b - 1 - tail])
        tail++;
    struct gp_align_block k = {.a = r->at_a,
                               .na = end_a - tail - r->at_a,
                               .b = r->at_b,
                               .nb = end_b - tail - r->at_b,
                               .whole = true};
    k.change = classify(r, &k, false);
    put_block(r, k); /* not empty: then all of the smaller side would be the same */
    for (; tail; tail--) put_pair(r, end_a - tail, end_b - tail);
}

static uint32_t segment_group(struct run *r, struct barriers a, struct barriers b)
{
    uint64_t sum[2] = {0};
    for (uint32_t i = 0; i < a.n; i++)
        sum[0] += mix(mix(4, r->a.item[a.at[i]].kind), r->a.item[a.at[i]].family);
    for (uint32_t i = 0; i < b.n; i++)
        sum[1] += mix(mix(4, r->b.item[b.at[i]].kind), r->b.item[b.at[i]].family);
    uint32_t *g = gp_map_put(&r->segment_groups, mix(mix(5, sum[0]), sum[1]), UINT32_MAX);
    if (*g == UINT32_MAX) *g = r->al->segment_groups++;
    return *g;
}

static void align_segments(struct run *r)
{
    for (size_t k = 0; k <= r->cuts.n; k++) {
        struct gp_align_segment s = segment_of(r, k);
        if (!s.na && !s.nb) continue;
        struct barriers a = barriers_in(&r->a, s.a, s.na), b = barriers_in(&r->b, s.b, s.nb);
        s.same_work = a.n == b.n && work_of(&r->a, s.a, s.na) == work_of(&r->b, s.b, s.nb);
        s.same_order = s.same_work && (in_one_order(r, a, b) || in_order_of_kinds(r, a, b));
        s.group = segment_group(r, a, b);
        s.a_ns = sum_ns(&r->a, s.a, s.na), s.b_ns = sum_ns(&r->b, s.b, s.nb);
        r->segment = (uint32_t)r->al->segments.n;
        GP_VEC_PUSH(&r->al->segments, s);
        size_t first = r->al->blocks.n;
        if (s.same_order) refine(r, &s, a, b);
        else compare(r, &s);
        settle(r, first);
    }
}

/* ---- sides ---- */

/* Numbers from 0 on for keys and families, which are the same on both sides. */
struct numbers {
    struct gp_map key, family;
};

static void prepare(struct side *s, const struct gp_align_item *item, size_t n, struct numbers *of)
{
    *s = (struct side){.item = item, .n = (uint32_t)n};
    s->symbol = gp_alloc((n + 1) * sizeof *s->symbol);
    s->form = gp_alloc((n + 1) * sizeof *s->form);
    s->barrier = gp_alloc((n + 1) * sizeof *s->barrier);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t family = item[i].family ? item[i].family : UINT64_C(1) << 32 | of->family.n;
        s->symbol[i] = *gp_map_put(&of->key, item[i].key, (uint32_t)of->key.n);
        s->form[i] = *gp_map_put(&of->family, family, (uint32_t)of->family.n);
        if (is_barrier(&item[i])) s->barrier[s->n_barriers++] = i;
    }
}

/* Which side is taken for A: of mirror images only one may be worked on, because searches have their preferences. */
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
    case GP_ALIGN_FUSED:
        return GP_ALIGN_DEFUSED;
    case GP_ALIGN_DEFUSED:
        return GP_ALIGN_FUSED;
    case GP_ALIGN_ADDED:
        return GP_ALIGN_REMOVED;
    case GP_ALIGN_REMOVED:
        return GP_ALIGN_ADDED;
    default:
        return change;
    }
}

static void mirror(struct gp_align *al)
{
    for (size_t i = 0; i < al->pairs.n; i++) swap_u32(&al->pairs.at[i].a, &al->pairs.at[i].b);
    for (size_t i = 0; i < al->blocks.n; i++) {
        struct gp_align_block *k = &al->blocks.at[i];
        swap_u32(&k->a, &k->b), swap_u32(&k->na, &k->nb);
        k->change = mirrored(k->change);
    }
    for (size_t i = 0; i < al->groups.n; i++) {
        struct gp_align_group *g = &al->groups.at[i];
        uint64_t n = g->na;
        g->na = g->nb, g->nb = n;
        swap_ns(&g->a_ns, &g->b_ns);
        g->change = mirrored(g->change);
    }
    for (size_t i = 0; i < al->segments.n; i++) {
        struct gp_align_segment *s = &al->segments.at[i];
        swap_u32(&s->a, &s->b), swap_u32(&s->na, &s->nb), swap_ns(&s->a_ns, &s->b_ns);
    }
    swap_ns(&al->paired_a_ns, &al->paired_b_ns);
}

/* ---- groups by size ---- */

static uint64_t size_of(const struct gp_align_group *g)
{
    return g->b_ns < g->a_ns ? (uint64_t)g->a_ns - (uint64_t)g->b_ns : (uint64_t)g->b_ns - (uint64_t)g->a_ns;
}

static int by_size(const void *x, const void *y)
{
    const struct gp_align_group *a = x, *b = y;
    uint64_t p = size_of(a), q = size_of(b);
    if (p != q) return p < q ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

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
    struct run r = {.al = al, .lcs = search, .inner = search};
    struct numbers of = {0};
    prepare(&r.a, swap ? b : a, swap ? nb : na, &of);
    prepare(&r.b, swap ? a : b, swap ? na : nb, &of);
    r.left_on_a = gp_zalloc(of.family.n + 1);
    r.left_on_b = gp_zalloc(of.family.n + 1);
    choose_cuts(&r);
    align_segments(&r);
    al->bounded = r.lcs.bounded || r.inner.bounded;
    if (swap) mirror(al);
    sort_groups(al);
    struct side *sides[] = {&r.a, &r.b};
    for (size_t i = 0; i < 2; i++) {
        free(sides[i]->symbol);
        free(sides[i]->form);
        free(sides[i]->barrier);
    }
    free(r.left_on_a);
    free(r.left_on_b);
    gp_map_release(&of.key);
    gp_map_release(&of.family);
    gp_map_release(&r.block_groups);
    gp_map_release(&r.segment_groups);
    GP_VEC_FREE(&r.cuts);
    gp_lcs_release(&r.lcs);
    gp_lcs_release(&r.inner);
}

void gp_align_release(struct gp_align *al)
{
    GP_VEC_FREE(&al->pairs);
    GP_VEC_FREE(&al->blocks);
    GP_VEC_FREE(&al->groups);
    GP_VEC_FREE(&al->segments);
    *al = (struct gp_align){0};
}
