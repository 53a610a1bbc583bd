#include "formats/model/stack_tree.h"

#include <string.h>
#include "formats/base/buf.h"

const char *gp_stack_short_path(const char *path)
{
    static const char *const places[] = {"/site-packages/", "/dist-packages/", "/lib/python3."};
    for (size_t i = 0; i < GP_COUNT(places); i++) {
        const char *at = strstr(path, places[i]);
        if (!at) continue;
        at += strlen(places[i]);
        if (i < 2) return at;
        at = strchr(at, '/');
        if (at) return at + 1;
    }
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void put_name(const struct gp_trace *t, const struct gp_stack *s, uint32_t line, struct gp_buf *to)
{
    const char *file = gp_trace_str(t, s->file);
    if (*file || !s->symbol) gp_buf_puts(to, gp_stack_short_path(file));
    if (*file && line) gp_buf_printf(to, "(%u)", (unsigned)line);
    if (to->n) gp_buf_puts(to, ": ");
    gp_buf_puts(to, gp_trace_str(t, s->name));
}

void gp_stack_tree_name(const struct gp_stack_tree *tree, uint32_t function, struct gp_buf *to)
{
    const struct gp_stack_function *f = &tree->functions.at[function];
    put_name(tree->t, &tree->t->stacks.at[f->stack], f->line, to);
}

/* How many observations each stack is part of: work that a graph replays counts where it was captured, as it
 * does where it is launched one by one. */
static uint64_t *weigh(const struct gp_trace *t)
{
    static const enum gp_table exact[] = {GP_API, GP_RANGE, GP_GPU};
    const struct gp_events *e = &t->events[GP_SAMPLE];
    uint64_t *weight = gp_zalloc((t->stacks.n + 1) * sizeof *weight);
    for (size_t i = 0; i < e->n; i++)
        if (gp_sample_stack(e, i) < t->stacks.n)
            weight[gp_sample_stack(e, i)] += 1 + (uint64_t)gp_get_total(e, i);
    for (size_t k = 0; k < GP_COUNT(exact); k++) {
        e = &t->events[exact[k]];
        for (size_t i = 0; e->stack && i < e->n; i++)
            if (e->stack[i] < t->stacks.n) weight[e->stack[i]]++;
    }
    for (size_t i = t->stacks.n; i-- > 1;)
        if (t->stacks.at[i].parent < i) weight[t->stacks.at[i].parent] += weight[i];
    return weight;
}

/* Each function of each file once, with its line. Returns the function of each stack. */
static uint32_t *find_functions(struct gp_stack_tree *tree)
{
    const struct gp_trace *t = tree->t;
    struct gp_map known = {0}, lines = {0};
    uint64_t *weight = weigh(t);
    GP_VEC(uint64_t) at_line = {0};
    uint32_t *of = gp_zalloc((t->stacks.n + 1) * sizeof *of);
    for (size_t i = 1; i < t->stacks.n; i++) {
        const struct gp_stack *s = &t->stacks.at[i];
        uint32_t *k = gp_map_put(&known, (uint64_t)s->name << 32 | s->file, (uint32_t)tree->functions.n);
        of[i] = *k;
        if (*k == tree->functions.n)
            GP_VEC_PUSH(&tree->functions, ((struct gp_stack_function){.stack = (uint32_t)i}));
        uint32_t *l = gp_map_put(&lines, (uint64_t)of[i] << 32 | s->line, (uint32_t)at_line.n);
        if (*l == at_line.n) GP_VEC_PUSH(&at_line, 0);
        uint64_t sum = at_line.at[*l] += weight[i];
        struct gp_stack_function *f = &tree->functions.at[of[i]];
        if (sum > f->weight || (sum == f->weight && s->line < f->line) || !f->line) {
            f->weight = sum;
            f->line = s->line;
        }
    }
    GP_VEC_FREE(&at_line);
    GP_RELEASE(gp_map_release, &known, &lines);
    free(weight);
    return of;
}

/* No recorder goes deeper; what a damaged file has beyond counts for the frame around it. */
enum { MOST_DEPTH = 1024 };

/* The call of FUNCTION below PARENT; PLACE is where in the function it stands. */
static uint32_t child(struct gp_stack_tree *tree, uint32_t parent, uint32_t function, uint32_t place)
{
    if (tree->nodes.at[parent].depth == MOST_DEPTH) return parent;
    uint32_t here = *gp_map_put(&tree->places, (uint64_t)function << 32 | place, (uint32_t)tree->places.n);
    uint32_t *known = gp_map_put(&tree->children, (uint64_t)parent << 32 | here, (uint32_t)tree->nodes.n);
    if (*known == tree->nodes.n)
        GP_VEC_PUSH(&tree->nodes,
                    ((struct gp_stack_node){parent, function, tree->nodes.at[parent].depth + 1}));
    return *known;
}

static bool is_autograd(const struct gp_trace *t, const struct gp_stack *s)
{
    return !s->symbol && !*gp_trace_str(t, s->file) && !strcmp(gp_trace_str(t, s->name), GP_STACK_AUTOGRAD);
}

void gp_stack_tree_build(struct gp_stack_tree *tree, const struct gp_trace *t)
{
    *tree = (struct gp_stack_tree){.t = t};
    uint32_t *function = find_functions(tree);
    tree->node_of = gp_zalloc((t->stacks.n + 1) * sizeof *tree->node_of);
    tree->waiting = gp_zalloc((t->stacks.n + 1) * sizeof *tree->waiting);
    GP_VEC_PUSH(&tree->nodes, (struct gp_stack_node){0});
    for (size_t i = 1; i < t->stacks.n; i++) {
        const struct gp_stack *s = &t->stacks.at[i];
        bool border = is_autograd(t, s);
        uint32_t above = s->parent < i ? s->parent : 0, parent = border ? 0 : tree->node_of[above];
        tree->waiting[i] = border ? tree->node_of[above] : tree->waiting[above];
        /* lines are below 2^31: a symbol and a line never meet */
        tree->node_of[i] = child(tree, parent, function[i], s->symbol ? s->symbol | GP_STACK_STATE : s->line);
    }
    free(function);
}

void gp_stack_tree_release(struct gp_stack_tree *tree)
{
    GP_RELEASE(free, tree->node_of, tree->waiting);
    GP_RELEASE(gp_vec_free, &tree->nodes, &tree->functions);
    GP_RELEASE(gp_map_release, &tree->places, &tree->children);
    *tree = (struct gp_stack_tree){0};
}

uint32_t gp_stack_tree_state(struct gp_stack_tree *tree, uint32_t node, gp_sid name)
{
    return child(tree, node, name | GP_STACK_STATE, 0);
}

uint32_t gp_stack_tree_common(const struct gp_stack_tree *tree, uint32_t a, uint32_t b)
{
    const struct gp_stack_node *n = tree->nodes.at;
    uint32_t below_a = 0, below_b = 0;
    while (a != b) {
        bool up_a = n[a].depth >= n[b].depth, up_b = n[b].depth >= n[a].depth;
        if (up_a) below_a = a, a = n[a].parent;
        if (up_b) below_b = b, b = n[b].parent;
    }
    return n[a].depth + (below_a && below_b && n[below_a].function == n[below_b].function);
}

uint32_t gp_stack_tree_alike(const struct gp_stack_tree *tree, uint32_t a, uint32_t b)
{
    const struct gp_stack_node *n = tree->nodes.at;
    uint32_t alike = 0;
    a = gp_stack_tree_up(tree, a, n[b].depth);
    b = gp_stack_tree_up(tree, b, n[a].depth);
    for (; a; a = n[a].parent, b = n[b].parent) alike = n[a].function == n[b].function ? alike + 1 : 0;
    return alike;
}

uint32_t gp_stack_tree_up(const struct gp_stack_tree *tree, uint32_t node, uint32_t depth)
{
    while (tree->nodes.at[node].depth > depth) node = tree->nodes.at[node].parent;
    return node;
}
