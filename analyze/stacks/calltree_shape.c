#include "analyze/stacks/calltree_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"

static bool is_wanted(const struct gp_shape *shape, const struct gp_frame *frames, size_t n)
{
    if (!shape->wanted) return true;
    for (size_t i = 0; i < n; i++)
        if (frames[i].name < shape->wanted_n && shape->wanted[frames[i].name]) return true;
    return false;
}

/* Shape one stack of N frames, outermost first, in place. Returns how many frames are left, or SIZE_MAX when
 * the stack is not wanted. */
static size_t shape_stack(const struct gp_shape *shape, struct gp_frame *frames, size_t n)
{
    if (!is_wanted(shape, frames, n)) return SIZE_MAX;
    for (size_t i = 0; shape->invert && i < n / 2; i++) {
        struct gp_frame f = frames[i];
        frames[i] = frames[n - 1 - i];
        frames[n - 1 - i] = f;
    }
    return shape->max_depth && n > shape->max_depth ? shape->max_depth : n;
}

uint64_t gp_calltree_reshape(const struct gp_calltree *from, const struct gp_shape *shape,
                             struct gp_calltree *to)
{
    GP_VEC(struct gp_frame) path = {0};
    uint64_t left_out = 0;
    for (uint32_t i = 0; i < from->nodes.n; i++) {
        const struct gp_calltree_node *leaf = &from->nodes.at[i];
        if (!leaf->count) continue;
        path.n = 0;
        for (uint32_t k = i; k != GP_CALLTREE_ROOT; k = from->nodes.at[k].parent)
            GP_VEC_PUSH(&path, (struct gp_frame){from->nodes.at[k].name, from->nodes.at[k].kind});
        for (size_t a = 0, b = path.n; a + 1 < b--; a++) {
            struct gp_frame f = path.at[a];
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
