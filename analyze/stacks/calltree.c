#include "analyze/stacks/calltree.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/order.h"

static size_t hash_of(const struct gp_calltree *ct, uint32_t parent, gp_sid name, uint32_t kind)
{
    return (size_t)gp_hash_u64((uint64_t)parent << 32 | name, ct->seed + kind);
}

static void grow_slots(struct gp_calltree *ct)
{
    size_t size = ct->slots ? (ct->mask + 1) * 2 : 64;
    free(ct->slots);
    ct->slots = gp_zalloc(size * sizeof *ct->slots);
    ct->mask = size - 1;
    ct->seed = gp_hash_seed();
    for (uint32_t i = 1; i < ct->nodes.n; i++) {
        const struct gp_calltree_node *n = &ct->nodes.at[i];
        size_t s = hash_of(ct, n->parent, n->name, n->kind) & ct->mask;
        while (ct->slots[s]) s = (s + 1) & ct->mask;
        ct->slots[s] = i;
    }
}

static void ensure_root(struct gp_calltree *ct)
{
    if (ct->nodes.n) return;
    GP_VEC_PUSH(&ct->nodes, (struct gp_calltree_node){.kind = GP_FRAME_ROOT});
    grow_slots(ct);
}

uint32_t gp_calltree_child(struct gp_calltree *ct, uint32_t parent, gp_sid name, enum gp_frame_kind kind)
{
    ensure_root(ct);
    assert(parent < ct->nodes.n);
    size_t s = hash_of(ct, parent, name, kind) & ct->mask;
    for (; ct->slots[s]; s = (s + 1) & ct->mask) {
        const struct gp_calltree_node *n = &ct->nodes.at[ct->slots[s]];
        if (n->parent == parent && n->name == name && n->kind == (uint32_t)kind) return ct->slots[s];
    }
    if (ct->nodes.n >= UINT32_MAX - 1) gp_out_of_memory(ct->nodes.n);
    uint32_t id = (uint32_t)ct->nodes.n;
    ct->slots[s] = id;
    uint32_t sibling = ct->nodes.at[parent].first_child;
    GP_VEC_PUSH(&ct->nodes, (struct gp_calltree_node){
                                .name = name, .parent = parent, .next_sibling = sibling, .kind = kind});
    ct->nodes.at[parent].first_child = id;
    if (ct->nodes.n * 3 > (ct->mask + 1) * 2) grow_slots(ct);
    return id;
}

void gp_calltree_add_many(struct gp_calltree *ct, uint32_t node, int64_t weight, uint64_t count)
{
    ensure_root(ct);
    assert(node < ct->nodes.n && weight >= 0);
    struct gp_calltree_node *n = &ct->nodes.at[node];
    n->self = gp_add_saturated(n->self, weight);
    n->count = count > UINT32_MAX - n->count ? UINT32_MAX : n->count + (uint32_t)count;
}

void gp_calltree_add(struct gp_calltree *ct, uint32_t node, int64_t weight)
{
    gp_calltree_add_many(ct, node, weight, 1);
}

void gp_calltree_add_extra(struct gp_calltree *ct, uint32_t node, struct gp_calltree_extra extra)
{
    if (node >= ct->extra.n) {
        ensure_root(ct);
        assert(node < ct->nodes.n && extra.events >= 0 && extra.bytes >= 0);
        GP_VEC_RESERVE(&ct->extra, ct->nodes.n);
        memset(ct->extra.at + ct->extra.n, 0, (ct->nodes.n - ct->extra.n) * sizeof *ct->extra.at);
        ct->extra.n = ct->nodes.n;
    }
    struct gp_calltree_extra *x = &ct->extra.at[node];
    x->events = gp_add_saturated(x->events, extra.events);
    x->bytes = gp_add_saturated(x->bytes, extra.bytes);
}

/* ---- finishing ---- */

GP_COMPARE_IN(by_bytes, gp_sid, struct gp_strings,
              GP_THEN(gp_order_bytes(gp_string(of, *x), gp_string_len(of, *x), gp_string(of, *y),
                                     gp_string_len(of, *y))))

/* Place of each name in bytewise order, so that siblings are compared by one integer. */
static uint32_t *rank_names(const struct gp_calltree *ct, const struct gp_strings *strings)
{
    gp_sid top = 0;
    for (size_t i = 0; i < ct->nodes.n; i++)
        if (ct->nodes.at[i].name > top) top = ct->nodes.at[i].name;
    uint32_t *rank = gp_zalloc(((size_t)top + 1) * sizeof *rank);
    for (size_t i = 0; i < ct->nodes.n; i++) rank[ct->nodes.at[i].name] = 1;
    size_t n = 0;
    for (size_t sid = 0; sid <= top; sid++) n += rank[sid];
    gp_sid *order = gp_alloc(n * sizeof *order);
    n = 0;
    for (gp_sid sid = 0; sid <= top; sid++)
        if (rank[sid]) order[n++] = sid;
    gp_sort_in(order, n, sizeof *order, by_bytes, strings);
    for (size_t i = 0; i < n; i++) rank[order[i]] = (uint32_t)i;
    free(order);
    return rank;
}

struct sibling {
    uint64_t key; /* "N more" last, then by name, then by kind */
    uint32_t node;
};

GP_COMPARE(compare_siblings, struct sibling, GP_UP(key) GP_UP(node))

static uint64_t sibling_key(const struct gp_calltree_node *n, const uint32_t *rank)
{
    uint64_t other = n->kind == GP_FRAME_OTHER;
    return other << 63 | (uint64_t)rank[n->name] << 8 | n->kind;
}

void gp_calltree_finish(struct gp_calltree *ct, const struct gp_strings *strings)
{
    ensure_root(ct);
    free(ct->total);
    ct->total = gp_alloc(ct->nodes.n * sizeof *ct->total);
    for (size_t i = 0; i < ct->nodes.n; i++) ct->total[i] = ct->nodes.at[i].self;
    /* Parents are made before their children, so one pass from the end adds everything up. */
    for (size_t i = ct->nodes.n; i-- > 1;) {
        int64_t *up = &ct->total[ct->nodes.at[i].parent];
        *up = gp_add_saturated(*up, ct->total[i]);
    }
    uint32_t *rank = rank_names(ct, strings);
    GP_VEC(struct sibling) v = {0};
    for (size_t p = 0; p < ct->nodes.n; p++) {
        uint32_t c = ct->nodes.at[p].first_child;
        if (!c || !ct->nodes.at[c].next_sibling) continue;
        v.n = 0;
        for (; c; c = ct->nodes.at[c].next_sibling)
            GP_VEC_PUSH(&v, (struct sibling){sibling_key(&ct->nodes.at[c], rank), c});
        qsort(v.at, v.n, sizeof *v.at, compare_siblings);
        ct->nodes.at[p].first_child = v.at[0].node;
        for (size_t i = 0; i < v.n; i++)
            ct->nodes.at[v.at[i].node].next_sibling = i + 1 < v.n ? v.at[i + 1].node : 0;
    }
    GP_VEC_FREE(&v);
    free(rank);
}

void gp_calltree_release(struct gp_calltree *ct)
{
    GP_RELEASE(gp_vec_free, &ct->nodes, &ct->extra);
    GP_RELEASE(free, ct->slots, ct->total);
    memset(ct, 0, sizeof *ct);
}

static bool is_wanted(const struct gp_calltree_shape *shape, const struct gp_calltree_frame *frames, size_t n)
{
    if (!shape->wanted) return true;
    for (size_t i = 0; i < n; i++)
        if (frames[i].name < shape->wanted_n && shape->wanted[frames[i].name]) return true;
    return false;
}

/* Shape one stack of N frames, outermost first, in place. Returns how many frames are left, or SIZE_MAX when
 * the stack is not wanted. */
static size_t shape_stack(const struct gp_calltree_shape *shape, struct gp_calltree_frame *frames, size_t n)
{
    if (!is_wanted(shape, frames, n)) return SIZE_MAX;
    for (size_t i = 0; shape->invert && i < n / 2; i++) {
        struct gp_calltree_frame f = frames[i];
        frames[i] = frames[n - 1 - i];
        frames[n - 1 - i] = f;
    }
    return shape->max_depth && n > shape->max_depth ? shape->max_depth : n;
}

uint64_t gp_calltree_reshape(const struct gp_calltree *from, const struct gp_calltree_shape *shape,
                             struct gp_calltree *to)
{
    GP_VEC(struct gp_calltree_frame) path = {0};
    uint64_t left_out = 0;
    for (uint32_t i = 0; i < from->nodes.n; i++) {
        const struct gp_calltree_node *leaf = &from->nodes.at[i];
        if (!leaf->count) continue;
        path.n = 0;
        for (uint32_t k = i; k != GP_CALLTREE_ROOT; k = from->nodes.at[k].parent)
            GP_VEC_PUSH(&path, (struct gp_calltree_frame){from->nodes.at[k].name, from->nodes.at[k].kind});
        for (size_t a = 0, b = path.n; a + 1 < b--; a++) {
            struct gp_calltree_frame f = path.at[a];
            path.at[a] = path.at[b];
            path.at[b] = f;
        }
        size_t n = shape_stack(shape, path.at, path.n);
        if (n == SIZE_MAX) {
            left_out += leaf->count;
            continue;
        }
        uint32_t node = GP_CALLTREE_ROOT;
        for (size_t k = 0; k < n; k++)
            node = gp_calltree_child(to, node, path.at[k].name, (enum gp_frame_kind)path.at[k].kind);
        gp_calltree_add_many(to, node, leaf->self, leaf->count);
        if (from->extra.n) gp_calltree_add_extra(to, node, gp_calltree_extra_of(from, i));
    }
    GP_VEC_FREE(&path);
    return left_out;
}

uint32_t gp_calltree_add_more(struct gp_calltree *ct, uint32_t parent, struct gp_strings *strings,
                              int64_t weight, uint64_t n)
{
    char name[40];
    int len = snprintf(name, sizeof name, "%" PRIu64 " more", n);
    uint32_t node = gp_calltree_child(ct, parent, gp_intern(strings, name, (size_t)len), GP_FRAME_OTHER);
    gp_calltree_add_many(ct, node, weight, n);
    return node;
}

struct pending {
    uint32_t from, to;
};

static void add_extra(struct gp_calltree_extra *to, struct gp_calltree_extra x)
{
    to->events = gp_add_saturated(to->events, x.events);
    to->bytes = gp_add_saturated(to->bytes, x.bytes);
}

/* By node: itself and all below. NULL where nothing is counted. */
static struct gp_calltree_extra *sum_extra(const struct gp_calltree *from)
{
    if (!from->extra.n) return NULL;
    struct gp_calltree_extra *sums = gp_zalloc(from->nodes.n * sizeof *sums);
    memcpy(sums, from->extra.at, from->extra.n * sizeof *sums);
    for (size_t i = from->nodes.n; i-- > 1;) add_extra(&sums[from->nodes.at[i].parent], sums[i]);
    return sums;
}

void gp_calltree_group_small(const struct gp_calltree *from, double share_pct, struct gp_strings *strings,
                             struct gp_calltree *to)
{
    double least = (double)from->total[GP_CALLTREE_ROOT] * share_pct / 100;
    struct gp_calltree_extra *sums = sum_extra(from);
    GP_VEC(struct pending) todo = {0};
    GP_VEC_PUSH(&todo, (struct pending){GP_CALLTREE_ROOT, GP_CALLTREE_ROOT});
    while (todo.n) {
        struct pending p = todo.at[--todo.n];
        const struct gp_calltree_node *n = &from->nodes.at[p.from];
        if (n->count) gp_calltree_add_many(to, p.to, n->self, n->count);
        if (sums) gp_calltree_add_extra(to, p.to, gp_calltree_extra_of(from, p.from));
        int64_t weight = 0;
        struct gp_calltree_extra extra = {0};
        uint64_t more = 0;
        for (uint32_t c = n->first_child; c; c = from->nodes.at[c].next_sibling) {
            const struct gp_calltree_node *child = &from->nodes.at[c];
            if (child->kind == GP_FRAME_OTHER || (double)from->total[c] < least) {
                more += child->kind == GP_FRAME_OTHER ? child->count : 1;
                weight = gp_add_saturated(weight, from->total[c]);
                if (sums) add_extra(&extra, sums[c]);
                continue;
            }
            uint32_t node = gp_calltree_child(to, p.to, child->name, (enum gp_frame_kind)child->kind);
            GP_VEC_PUSH(&todo, (struct pending){c, node});
        }
        if (!more) continue;
        uint32_t node = gp_calltree_add_more(to, p.to, strings, weight, more);
        if (sums) gp_calltree_add_extra(to, node, extra);
    }
    GP_VEC_FREE(&todo);
    free(sums);
}
