#include "analyze/view/captured.h"

#include <string.h>
#include "analyze/names/names.h"
#include "formats/base/buf.h"

enum { RANGE, FRAME };

void gp_captured_init(struct gp_captured *c, const struct gp_host_stack *hs, bool glue)
{
    memset(c, 0, sizeof *c);
    c->hs = hs;
    c->glue = glue;
}

void gp_captured_release(struct gp_captured *c)
{
    if (c->tree) gp_stack_tree_release(c->tree);
    free(c->tree);
    gp_strings_release(&c->labels);
    GP_RELEASE(gp_map_release, &c->label_of[RANGE], &c->label_of[FRAME], &c->path_of, &c->pushed);
    GP_RELEASE(gp_vec_free, &c->paths, &c->names, &c->rest, &c->around[RANGE], &c->around[FRAME], &c->pushes);
}

/* A function has one name whatever line its frames are named after. */
static void put_without_line(struct gp_buf *to, const char *text, size_t n)
{
    const char *at = memchr(text, '(', n), *end = text + n, *after = at ? at + 1 : end;
    while (after < end && *after >= '0' && *after <= '9') after++;
    bool line = at && after > at + 1 && after < end && *after == ')';
    gp_buf_put(to, text, line ? (size_t)(at - text) : n);
    if (line) gp_buf_put(to, after + 1, (size_t)(end - after - 1));
}

static gp_sid make_label(struct gp_captured *c, int what, const char *text, size_t n)
{
    struct gp_buf label = {0};
    if (what == RANGE) gp_name_range_label(&label, text, n);
    else put_without_line(&label, text, n);
    return gp_intern_buf(&c->labels, &label);
}

static gp_sid label_of_event(struct gp_captured *c, int what, gp_sid name)
{
    const struct gp_trace *t = c->hs->t;
    uint32_t *known = gp_map_put(&c->label_of[what], name, UINT32_MAX);
    if (*known == UINT32_MAX)
        *known = make_label(c, what, gp_trace_str(t, name), gp_string_len(&t->strings, name));
    return *known;
}

/* ---- what is around a capture ---- */

enum { MOST_PUSHES = 64 }; /* of one name, at different places */

static void find_pushes(struct gp_captured *c)
{
    const struct gp_events *e = &c->hs->t->events[GP_RANGE];
    struct gp_map known = {0};
    c->tree = gp_alloc(sizeof *c->tree);
    gp_stack_tree_build(c->tree, c->hs->t);
    for (size_t i = 0; e->stack && i < e->n; i++) {
        uint32_t stack = e->stack[i] < c->hs->t->stacks.n ? e->stack[i] : 0;
        gp_sid label = label_of_event(c, RANGE, e->name[i]);
        if (!stack || *gp_map_put(&known, (uint64_t)label << 32 | stack, 0)) continue;
        *gp_map_put(&known, (uint64_t)label << 32 | stack, 0) = 1;
        uint32_t *last = gp_map_put(&c->pushed, label, 0);
        GP_VEC_PUSH(&c->pushes, ((struct gp_captured_push){c->tree->node_of[stack], *last}));
        *last = (uint32_t)c->pushes.n;
    }
    gp_map_release(&known);
}

/* How many frames of NODE are around a range of that label, AT least. */
static uint32_t depth_of_range(const struct gp_captured *c, gp_sid label, uint32_t node, uint32_t at)
{
    const uint32_t *last = gp_map_get(&c->pushed, label);
    int most = MOST_PUSHES;
    for (uint32_t i = last ? *last : 0; i && most--; i = c->pushes.at[i - 1].before) {
        uint32_t depth = gp_stack_tree_alike(c->tree, c->pushes.at[i - 1].node, node);
        if (depth > at) at = depth;
    }
    return at;
}

/* The frames of NODE deeper than FROM, up to TO. */
static void add_frames(struct gp_captured *c, uint32_t node, uint32_t from, uint32_t to)
{
    size_t first = c->names.n;
    for (node = gp_stack_tree_up(c->tree, node, to); c->tree->nodes.at[node].depth > from;
         node = c->tree->nodes.at[node].parent) {
        struct gp_buf b = {0};
        gp_stack_tree_name(c->tree, c->tree->nodes.at[node].function, &b);
        gp_sid text = gp_intern(&c->labels, gp_buf_str(&b), b.n);
        struct gp_captured_name name = {gp_string(&c->labels, text), b.n, GP_PYTHON, GP_FRAME_PYTHON,
                                        make_label(c, FRAME, gp_buf_str(&b), b.n)};
        GP_VEC_PUSH(&c->names, name);
        gp_buf_release(&b);
    }
    for (size_t last = c->names.n; first + 1 < last; first++) { /* they came from the inside */
        struct gp_captured_name swap = c->names.at[--last];
        c->names.at[last] = c->names.at[first];
        c->names.at[first] = swap;
    }
}

uint32_t gp_captured_path(struct gp_captured *c, gp_sid captured, uint32_t stack)
{
    uint32_t *known = gp_map_put(&c->path_of, (uint64_t)captured << 32 | stack, UINT32_MAX);
    if (*known != UINT32_MAX) return *known;
    uint32_t path = *known = (uint32_t)c->paths.n;
    const struct gp_trace *t = c->hs->t;
    if (stack >= t->stacks.n) stack = 0;
    if (stack && !c->tree) find_pushes(c);
    const char *at = gp_trace_str(t, captured), *end = at + gp_string_len(&t->strings, captured);
    GP_VEC_PUSH(&c->paths, ((struct gp_captured_path){.first = (uint32_t)c->names.n}));
    uint32_t node = stack ? c->tree->node_of[stack] : 0, depth = 0;
    /* captured in the backward pass: the frames of the thread that waited for it come first */
    if (stack) add_frames(c, c->tree->waiting[stack], 0, UINT32_MAX);
    struct gp_captured_name name = {.table = GP_RANGE, .kind = GP_FRAME_RANGE};
    while ((name.text = gp_captured_next(&at, end, &name.n))) {
        name.label = make_label(c, RANGE, name.text, name.n);
        uint32_t below = stack ? depth_of_range(c, name.label, node, depth) : 0;
        if (below > depth) add_frames(c, node, depth, below);
        depth = below;
        GP_VEC_PUSH(&c->names, name);
    }
    if (stack) add_frames(c, node, depth, UINT32_MAX);
    c->paths.at[path].n = (uint32_t)c->names.n - c->paths.at[path].first;
    return path;
}

size_t gp_captured_rest(struct gp_captured *c, uint32_t node, uint32_t path,
                        const struct gp_captured_name **rest)
{
    const struct gp_host_event *nodes = c->hs->nodes;
    c->rest.n = c->around[RANGE].n = c->around[FRAME].n = 0; /* innermost first */
    for (; node != GP_HOST_NONE; node = nodes[node].parent) {
        if (nodes[node].table != GP_RANGE && nodes[node].table != GP_PYTHON) continue;
        int what = nodes[node].table == GP_RANGE ? RANGE : FRAME;
        gp_sid name = c->hs->t->events[nodes[node].table].name[nodes[node].row];
        GP_VEC_PUSH(&c->around[what], label_of_event(c, what, name));
    }
    size_t ranges = c->around[RANGE].n, frames = c->around[FRAME].n;
    for (uint32_t i = 0; i < c->paths.at[path].n; i++) {
        const struct gp_captured_name *name = &c->names.at[c->paths.at[path].first + i];
        bool common = false, frame = name->table == GP_PYTHON;
        if (frame) {
            common = frames && c->around[FRAME].at[frames - 1] == name->label;
            frames = common ? frames - 1 : 0;
        }
        while (!frame && ranges && !common) common = c->around[RANGE].at[--ranges] == name->label;
        if (!common && (!frame || c->glue || !gp_name_is_glue(name->text, name->n)))
            GP_VEC_PUSH(&c->rest, *name);
    }
    *rest = GP_VEC_FROM(&c->rest, 0);
    return c->rest.n;
}
