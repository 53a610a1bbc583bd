#include "analyze/stacks/stacks_priv.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/order.h"

void gp_stackset_add(struct gp_stackset *set, const gp_sid *frames, size_t n, int64_t weight)
{
    if (set->lines.n >= UINT32_MAX - 1) gp_out_of_memory(set->lines.n);
    GP_VEC_PUSH(&set->lines, (struct gp_stackset_line){set->frames.n, weight});
    GP_VEC_RESERVE(&set->frames, set->frames.n + n);
    if (n) memcpy(set->frames.at + set->frames.n, frames, n * sizeof *frames);
    set->frames.n += n;
}

void gp_stackset_release(struct gp_stackset *set)
{
    GP_VEC_FREE(&set->frames);
    GP_VEC_FREE(&set->lines);
}

static size_t length(const struct gp_stackset *set, uint32_t line)
{
    uint64_t end = line + 1 < set->lines.n ? set->lines.at[line + 1].first : set->frames.n;
    return end - set->lines.at[line].first;
}

/* ---- all of it ---- */

/* Folded text is mostly sorted: frames shared with the previous stack need no search. */
static void expand_all(const struct gp_stackset *set, struct gp_calltree *ct)
{
    GP_VEC(uint32_t) path = {0}; /* nodes of the stack before */
    const gp_sid *before = NULL;
    for (uint32_t i = 0; i < set->lines.n; i++) {
        const gp_sid *f = GP_VEC_FROM(&set->frames, set->lines.at[i].first);
        size_t n = length(set, i), k = 0;
        while (k < n && k < path.n && f[k] == before[k]) k++;
        uint32_t node = k ? path.at[k - 1] : GP_CALLTREE_ROOT;
        path.n = k;
        for (; k < n; k++) {
            node = gp_calltree_child(ct, node, f[k], GP_FRAME_UNKNOWN);
            GP_VEC_PUSH(&path, node);
        }
        gp_calltree_add(ct, node, set->lines.at[i].weight);
        before = f;
    }
    GP_VEC_FREE(&path);
}

/* ---- the heaviest frames ---- */

/* A frame that may become a node: the lines order[lo..hi) share its path, which is DEPTH frames long. */
struct candidate {
    int64_t weight;
    uint64_t born; /* earlier ones win ties */
    uint32_t lo, hi, depth;
    uint32_t parent; /* node */
    gp_sid name;
};

/* One child of the frame that is being taken apart. */
struct child {
    gp_sid name;
    uint32_t count;
    int64_t weight;
};

struct expansion {
    const struct gp_stackset *set;
    struct gp_calltree *ct;
    uint32_t *order;               /* line numbers, grouped by path as far as it was looked at */
    uint32_t *scratch;             /* as many, for one grouping */
    uint32_t *child_of;            /* by name: 1 + index into children; all 0 between groupings */
    GP_VEC(struct child) children; /* of the frame at hand, in order of their first line */
    GP_VEC(struct candidate) heap; /* the heaviest on top */
    uint64_t born;
};

static bool lighter(const struct candidate *a, const struct candidate *b)
{
    return a->weight != b->weight ? a->weight < b->weight : a->born > b->born;
}

static void heap_push(struct expansion *x, struct candidate c)
{
    GP_VEC_PUSH(&x->heap, c);
    size_t i = x->heap.n - 1;
    for (; i && lighter(&x->heap.at[(i - 1) / 2], &c); i = (i - 1) / 2)
        x->heap.at[i] = x->heap.at[(i - 1) / 2];
    x->heap.at[i] = c;
}

static struct candidate heap_pop(struct expansion *x)
{
    struct candidate top = x->heap.at[0], last = x->heap.at[--x->heap.n];
    size_t i = 0;
    for (size_t c; (c = 2 * i + 1) < x->heap.n; i = c) {
        if (c + 1 < x->heap.n && lighter(&x->heap.at[c], &x->heap.at[c + 1])) c++;
        if (!lighter(&last, &x->heap.at[c])) break;
        x->heap.at[i] = x->heap.at[c];
    }
    if (x->heap.n) x->heap.at[i] = last;
    return top;
}

/* The frame of LINE at DEPTH, UINT32_MAX where the stack is shorter. */
static gp_sid frame_at(const struct gp_stackset *set, uint32_t line, uint32_t depth)
{
    return depth < length(set, line) ? set->frames.at[set->lines.at[line].first + depth] : UINT32_MAX;
}

/* Find the children of order[lo..hi) at DEPTH; lines that end there count for NODE and go first. Returns
 * where the lines of the first child begin. */
static uint32_t find_children(struct expansion *x, uint32_t lo, uint32_t hi, uint32_t depth, uint32_t node)
{
    uint32_t ended = 0;
    x->children.n = 0;
    for (uint32_t i = lo; i < hi; i++) {
        uint32_t line = x->order[i];
        int64_t weight = x->set->lines.at[line].weight;
        gp_sid name = frame_at(x->set, line, depth);
        if (name == UINT32_MAX) {
            gp_calltree_add(x->ct, node, weight);
            x->scratch[lo + ended++] = line;
            continue;
        }
        if (!x->child_of[name]) {
            GP_VEC_PUSH(&x->children, (struct child){.name = name});
            x->child_of[name] = (uint32_t)x->children.n;
        }
        struct child *c = &x->children.at[x->child_of[name] - 1];
        c->count++;
        c->weight = gp_add_saturated(c->weight, weight);
    }
    return lo + ended;
}

/* Take the frame of NODE apart: group its lines by their frame at DEPTH and make candidates of the groups. */
static void split(struct expansion *x, uint32_t lo, uint32_t hi, uint32_t depth, uint32_t node)
{
    uint32_t begin = find_children(x, lo, hi, depth, node), at = begin;
    GP_EACH(struct child, c, x->children) {
        heap_push(x, (struct candidate){c->weight, x->born++, at, at + c->count, depth + 1, node, c->name});
        at += c->count;
        c->count = at - c->count; /* from here on: where its next line goes */
    }
    for (uint32_t i = lo; i < hi && begin < hi; i++) {
        gp_sid name = frame_at(x->set, x->order[i], depth);
        if (name != UINT32_MAX) x->scratch[x->children.at[x->child_of[name] - 1].count++] = x->order[i];
    }
    if (hi > lo) memcpy(x->order + lo, x->scratch + lo, (hi - lo) * sizeof *x->order);
    for (size_t k = 0; k < x->children.n; k++) x->child_of[x->children.at[k].name] = 0;
}

GP_COMPARE(compare_parents, struct candidate, GP_UP(parent))

void gp_stackset_expand(const struct gp_stackset *set, size_t max_nodes, struct gp_calltree *ct,
                        struct gp_strings *strings)
{
    if (!max_nodes) {
        expand_all(set, ct);
        return;
    }
    uint32_t n = (uint32_t)set->lines.n;
    struct expansion x = {.set = set, .ct = ct};
    x.order = gp_alloc(n * sizeof *x.order);
    x.scratch = gp_alloc(n * sizeof *x.scratch);
    x.child_of = gp_zalloc(((size_t)strings->n + 1) * sizeof *x.child_of);
    for (uint32_t i = 0; i < n; i++) x.order[i] = i;
    split(&x, 0, n, 0, GP_CALLTREE_ROOT);
    while (x.heap.n && max_nodes--) {
        struct candidate c = heap_pop(&x);
        uint32_t node = gp_calltree_child(ct, c.parent, c.name, GP_FRAME_UNKNOWN);
        split(&x, c.lo, c.hi, c.depth, node);
    }
    /* The parent shows the frames without a node as "N more". */
    if (x.heap.n) qsort(x.heap.at, x.heap.n, sizeof *x.heap.at, compare_parents);
    for (size_t i = 0, k; i < x.heap.n; i = k) {
        int64_t weight = 0;
        for (k = i; k < x.heap.n && x.heap.at[k].parent == x.heap.at[i].parent; k++)
            weight = gp_add_saturated(weight, x.heap.at[k].weight);
        gp_calltree_add_more(x.ct, x.heap.at[i].parent, strings, weight, k - i);
    }
    GP_RELEASE(free, x.order, x.scratch, x.child_of);
    GP_RELEASE(gp_vec_free, &x.children, &x.heap);
}
