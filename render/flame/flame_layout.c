#include "render/flame/flame_layout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/classify.h"
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

enum { DEFAULT_FRAMES = 5000 };

/* A node that may be shown. */
struct candidate {
    int64_t total;
    uint32_t node;
};

/* The state of a layout. */
struct work {
    const struct gp_calltree *tree;
    const struct gp_strings *strings;
    /* the heaviest nodes: a heap with the lightest on top, then sorted, heaviest first */
    struct candidate *heap;
    size_t n;
    uint64_t *counts; /* by node: events in the subtree */
};

/* Heavier first; of equals the one that was there first, which is never below the other. */
static bool before(struct candidate a, struct candidate b)
{
    return a.total != b.total ? a.total > b.total : a.node < b.node;
}

GP_COMPARE(compare_candidates, struct candidate, GP_DOWN(total) GP_UP(node))

static void heap_replace_top(struct candidate *h, size_t n, struct candidate c)
{
    size_t i = 0;
    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= n) break;
        if (k + 1 < n && before(h[k], h[k + 1])) k++;
        if (before(h[k], c)) break;
        h[i] = h[k];
        i = k;
    }
    h[i] = c;
}

static void heap_push(struct candidate *h, size_t n, struct candidate c)
{
    size_t i = n;
    while (i && before(h[(i - 1) / 2], c)) {
        h[i] = h[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h[i] = c;
}

/* Is it the "N more" of its parent? Its count is N then, not of events. */
static bool is_more(const struct gp_calltree_node *node)
{
    return node->kind == GP_FRAME_OTHER && !node->first_child;
}

/* The MAX heaviest nodes, heaviest first, without those that already stand for several: they are grouped with
 * the other frames that are not shown. Totals never grow on the way down, so every prefix of the list is
 * connected to the root. */
static void find_heaviest(struct work *w, size_t max)
{
    w->heap = gp_alloc(max * sizeof *w->heap);
    for (size_t i = 0; i < w->tree->nodes.n; i++) {
        struct candidate c = {w->tree->total[i], (uint32_t)i};
        if (c.total <= 0 || is_more(&w->tree->nodes.at[i])) continue;
        if (w->n < max) heap_push(w->heap, w->n++, c);
        else if (before(c, w->heap[0])) heap_replace_top(w->heap, max, c);
    }
    qsort(w->heap, w->n, sizeof *w->heap, compare_candidates);
}

/* The number of candidates that fit when each with children left out needs another rectangle for these. */
static size_t fit(const struct work *w, size_t max)
{
    struct gp_map place = {0};
    int64_t *left = gp_alloc(w->n * sizeof *left); /* weight of children that are not shown yet */
    size_t rects = 0, best = 0;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t node = w->heap[i].node;
        left[i] = w->heap[i].total - w->tree->nodes.at[node].self;
        rects += left[i] > 0 ? 2 : 1;
        *gp_map_put(&place, node, 0) = (uint32_t)i;
        if (i) {
            const uint32_t *p = gp_map_get(&place, w->tree->nodes.at[node].parent);
            assert(p && "a child outweighs its parent");
            bool open = left[*p] > 0;
            left[*p] -= w->heap[i].total < left[*p] ? w->heap[i].total : left[*p];
            if (open && left[*p] == 0) rects--;
        }
        if (rects <= max) best = i + 1;
    }
    free(left);
    gp_map_release(&place);
    return best;
}

/* Length of the digits at S, and the run without leading zeros. */
static size_t digits_at(const char *s, size_t n, const char **run, size_t *run_n)
{
    size_t len = 0, zeros = 0;
    while (len < n && gp_is_digit(s[len])) len++;
    while (zeros + 1 < len && s[zeros] == '0') zeros++;
    *run = s + zeros;
    *run_n = len - zeros;
    return len;
}

int gp_flame_name_compare(const char *a, size_t an, const char *b, size_t bn)
{
    size_t i = 0, j = 0;
    while (i < an && j < bn) {
        if (!gp_is_digit(a[i]) || !gp_is_digit(b[j])) {
            if (a[i] != b[j]) return (unsigned char)a[i] < (unsigned char)b[j] ? -1 : 1;
            i++, j++;
            continue;
        }
        const char *x, *y;
        size_t xn, yn;
        i += digits_at(a + i, an - i, &x, &xn);
        j += digits_at(b + j, bn - j, &y, &yn);
        if (xn != yn) return xn < yn ? -1 : 1;
        int c = memcmp(x, y, xn);
        if (c) return c;
    }
    return an - i < bn - j ? -1 : an - i > bn - j ? 1 : 0;
}

struct sibling {
    int64_t total;
    uint32_t parent, node, kind;
    const char *name;
    size_t len;
};

/* Children of one parent together, each group in drawing order. */
GP_COMPARE(compare_siblings, struct sibling,
           GP_UP(parent) GP_DOWN(kind == GP_FRAME_ROOT)
               GP_THEN(x->kind == GP_FRAME_ROOT ? gp_flame_name_compare(x->name, x->len, y->name, y->len) : 0)
                   GP_DOWN(total) GP_THEN(gp_order_bytes(x->name, x->len, y->name, y->len)) GP_UP(kind)
                       GP_UP(node))

/* The shown nodes but the root, children of a parent side by side. The caller frees. */
static struct sibling *sort_siblings(const struct work *w, size_t shown)
{
    struct sibling *s = gp_alloc(shown * sizeof *s);
    for (size_t i = 1; i < shown; i++) {
        const struct gp_calltree_node *n = &w->tree->nodes.at[w->heap[i].node];
        s[i - 1] = (struct sibling){w->heap[i].total,
                                    n->parent,
                                    w->heap[i].node,
                                    n->kind,
                                    gp_string(w->strings, n->name),
                                    gp_string_len(w->strings, n->name)};
    }
    qsort(s, shown - 1, sizeof *s, compare_siblings);
    return s;
}

static uint32_t saturate(uint64_t v) { return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v; }

/* The rectangle for the other children of frame P, which begins at START. */
static void add_more(struct gp_flame_layout *l, const struct work *w, uint32_t p, int64_t start,
                     int64_t weight, uint32_t shown, uint64_t shown_count)
{
    struct gp_flame_frame parent = l->frames.at[p];
    const struct gp_calltree_node *nodes = w->tree->nodes.at;
    uint64_t children = 0;
    for (uint32_t c = nodes[parent.node].first_child; c; c = nodes[c].next_sibling)
        if (w->tree->total[c] > 0) children += is_more(&nodes[c]) ? nodes[c].count : 1;
    uint64_t own = nodes[parent.node].count;
    GP_VEC_PUSH(&l->frames, (struct gp_flame_frame){.node = parent.node,
                                                    .parent = p,
                                                    .depth = parent.depth + 1,
                                                    .more = saturate(children - shown),
                                                    .start = start,
                                                    .weight = weight,
                                                    .count = parent.count - shown_count - own});
    l->kind_seen[GP_FRAME_OTHER] = true;
    if (parent.depth + 2 > l->depth) l->depth = parent.depth + 2;
}

/* Sums of weights stop at the largest number (calltree.h), so a child is never drawn wider than the ROOM it
 * has. */
static uint32_t add_frame(struct gp_flame_layout *l, const struct work *w, uint32_t node, uint32_t parent,
                          int64_t start, int64_t room)
{
    uint32_t at = (uint32_t)l->frames.n;
    uint32_t depth = at ? l->frames.at[parent].depth + 1 : 0;
    int64_t total = w->tree->total[node];
    GP_VEC_PUSH(&l->frames, (struct gp_flame_frame){.node = node,
                                                    .parent = parent,
                                                    .depth = depth,
                                                    .start = start,
                                                    .weight = total < room ? total : room,
                                                    .count = w->counts[node]});
    if (at) l->kind_seen[w->tree->nodes.at[node].kind] = true;
    if (depth + 1 > l->depth) l->depth = depth + 1;
    return at;
}

/* An open frame on the way down. */
struct open {
    uint32_t frame, node;
    uint32_t next;  /* in the sorted siblings */
    uint32_t shown; /* children so far */
    int64_t at;     /* where the next child begins */
    uint64_t count; /* of the children so far */
};

static struct open open_frame(const struct gp_flame_layout *l, uint32_t frame, const struct gp_map *group,
                              uint32_t none)
{
    uint32_t node = l->frames.at[frame].node;
    const uint32_t *first = gp_map_get(group, node);
    return (struct open){
        .frame = frame, .node = node, .next = first ? *first : none, .at = l->frames.at[frame].start};
}

static void place_frames(struct gp_flame_layout *l, const struct work *w, size_t shown)
{
    struct sibling *s = sort_siblings(w, shown);
    uint32_t n = (uint32_t)(shown - 1);
    struct gp_map group = {0};
    /* Position of the children of each shown node in the sorted list. */
    for (size_t i = n; i-- > 0;) *gp_map_put(&group, s[i].parent, 0) = (uint32_t)i;
    GP_VEC(struct open) path = {0};
    add_frame(l, w, GP_CALLTREE_ROOT, 0, 0, INT64_MAX);
    GP_VEC_PUSH(&path, open_frame(l, 0, &group, n));
    while (path.n) {
        struct open *o = &path.at[path.n - 1];
        const struct gp_flame_frame *f = &l->frames.at[o->frame];
        int64_t room = f->start + f->weight - o->at;
        if (o->next < n && s[o->next].parent == o->node) {
            uint32_t frame = add_frame(l, w, s[o->next].node, o->frame, o->at, room);
            o->at += l->frames.at[frame].weight;
            o->count += l->frames.at[frame].count;
            o->shown++;
            o->next++;
            GP_VEC_PUSH(&path, open_frame(l, frame, &group, n));
            continue;
        }
        int64_t left = room - w->tree->nodes.at[o->node].self;
        if (left > 0) add_more(l, w, o->frame, o->at, left, o->shown, o->count);
        path.n--;
    }
    GP_VEC_FREE(&path);
    gp_map_release(&group);
    free(s);
}

/* Events by subtree, from the tips. */
static void sum_events(struct gp_flame_layout *l, struct work *w)
{
    size_t n = w->tree->nodes.n;
    w->counts = gp_zalloc(n * sizeof *w->counts);
    for (size_t i = n; i-- > 0;) {
        const struct gp_calltree_node *node = &w->tree->nodes.at[i];
        if (is_more(node)) {
            l->grouped = true;
        } else {
            w->counts[i] += node->count;
            l->hidden += w->tree->total[i] > 0;
        }
        if (i) w->counts[node->parent] += w->counts[i];
    }
    l->events = w->counts[0];
}

/* Weight by kind: all weight below the first frame of GPU work on the way from the root belongs to it,
 * whichever end of the stacks the root is. */
static void sum_kinds(struct gp_flame_layout *l, const struct work *w)
{
    size_t n = w->tree->nodes.n;
    bool *taken = gp_zalloc(n * sizeof *taken);
    for (size_t i = 0; i < n; i++) {
        const struct gp_calltree_node *node = &w->tree->nodes.at[i];
        taken[i] = i && taken[node->parent];
        if (taken[i]) continue;
        taken[i] = gp_frame_kind_word((enum gp_frame_kind)node->kind) != NULL;
        int64_t *sum = &l->kind_weight[node->kind];
        *sum = gp_add_saturated(*sum, taken[i] ? w->tree->total[i] : node->self);
    }
    free(taken);
}

void gp_flame_layout_init(struct gp_flame_layout *l, const struct gp_calltree *tree,
                          const struct gp_strings *strings, const struct gp_flame_layout_opts *opts)
{
    *l = (struct gp_flame_layout){0};
    if (!tree->nodes.n || tree->total[GP_CALLTREE_ROOT] <= 0) return;
    size_t max = opts && opts->max_frames ? opts->max_frames : DEFAULT_FRAMES;
    if (max < 2) max = 2;
    struct work w = {.tree = tree, .strings = strings};
    l->total = tree->total[GP_CALLTREE_ROOT];
    sum_events(l, &w);
    sum_kinds(l, &w);
    find_heaviest(&w, max < tree->nodes.n ? max : tree->nodes.n);
    l->shown = fit(&w, max);
    l->hidden -= l->shown;
    place_frames(l, &w, l->shown);
    free(w.counts);
    free(w.heap);
}

void gp_flame_layout_release(struct gp_flame_layout *l)
{
    GP_VEC_FREE(&l->frames);
    *l = (struct gp_flame_layout){0};
}
