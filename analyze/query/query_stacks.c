#include "analyze/query/query_stacks.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/model/stack_tree.h"

static gp_sid name_of(const struct gp_query_stacks *s, gp_sid of_trace)
{
    return gp_intern_from(s->names, &s->v->t->strings, of_trace);
}

static enum gp_frame_kind kind_of(const struct gp_trace *t, enum gp_table table, gp_sid name)
{
    if (table == GP_RANGE) return GP_FRAME_RANGE;
    if (table == GP_OP) return GP_FRAME_OP;
    if (table == GP_API) return GP_FRAME_API;
    bool module = gp_name_is_module(gp_trace_str(t, name), gp_string_len(&t->strings, name));
    return module ? GP_FRAME_MODULE : GP_FRAME_PYTHON;
}

static gp_sid name_of_node(const struct gp_query_stacks *s, uint32_t node)
{
    const struct gp_host_event *ev = &s->v->hs.nodes[node];
    return s->v->t->events[ev->table].name[ev->row];
}

/* The modules around the forward operator of a node of the backward pass, below STACK. */
static uint32_t below_forward(struct gp_query_stacks *s, uint32_t stack, uint32_t node)
{
    static const char backward[] = "backward";
    const struct gp_host_stack *hs = &s->v->hs;
    stack = gp_calltree_child(&s->tree, stack, gp_intern(s->names, backward, sizeof backward - 1),
                              GP_FRAME_RANGE);
    s->modules.n = 0;
    for (uint32_t id = gp_backward_origin(&s->backward, node); id != GP_HOST_NONE; id = hs->nodes[id].parent)
        if (hs->nodes[id].table == GP_PYTHON &&
            kind_of(s->v->t, GP_PYTHON, name_of_node(s, id)) == GP_FRAME_MODULE)
            GP_VEC_PUSH(&s->modules, id);
    while (s->modules.n) {
        uint32_t id = s->modules.at[--s->modules.n];
        stack = gp_calltree_child(&s->tree, stack, name_of(s, name_of_node(s, id)), GP_FRAME_MODULE);
    }
    return stack;
}

/* 3: a line of Python that is in no library; 2: of one in a library; 1: of native code; 0: nothing known. */
static int rank_of_line(const struct gp_trace *t, const struct gp_stack *k)
{
    if (!k->file || !k->line) return 0;
    if (k->symbol) return 1;
    return strchr(gp_stack_short_path(gp_trace_str(t, k->file)), '/') ? 2 : 3;
}

/* The line of the program that an exact stack stands at, below STACK: the innermost of the best rank. */
static uint32_t below_line(struct gp_query_stacks *s, uint32_t stack, uint32_t exact)
{
    const struct gp_trace *t = s->v->t;
    const struct gp_stack *found = NULL;
    for (int best = 0; exact && exact < t->stacks.n && best < 3; exact = t->stacks.at[exact].parent) {
        int rank = rank_of_line(t, &t->stacks.at[exact]);
        if (rank > best) found = &t->stacks.at[exact], best = rank;
    }
    if (!found) return stack;
    struct gp_buf line = {0};
    gp_buf_printf(&line, "%s:%u", gp_stack_short_path(gp_trace_str(t, found->file)), found->line);
    gp_sid name = gp_intern_buf(s->names, &line);
    return gp_calltree_child(&s->tree, stack, name, GP_FRAME_PYTHON);
}

static uint32_t below(struct gp_query_stacks *s, uint32_t stack, uint32_t node)
{
    const struct gp_trace *t = s->v->t;
    const struct gp_host_event *ev = &s->v->hs.nodes[node];
    enum gp_table table = (enum gp_table)ev->table;
    gp_sid name = name_of_node(s, node);
    if (table == GP_OP && gp_name_is_backward(gp_trace_str(t, name), gp_string_len(&t->strings, name)))
        stack = below_forward(s, stack, node);
    if (table == GP_API) stack = below_line(s, stack, gp_get_stack(&t->events[GP_API], ev->row));
    return gp_calltree_child(&s->tree, stack, name_of(s, name), kind_of(t, table, name));
}

/* What only the capture of a graph's work has follows the call that replayed it. */
static void place_captured(struct gp_query_stacks *s, uint32_t row, gp_sid captured, uint32_t exact)
{
    const struct gp_captured_name *rest;
    uint32_t node = s->v->at.node[row], stack = gp_query_stack_of_node(s, node);
    size_t n = gp_captured_rest(&s->captured, node, gp_captured_path(&s->captured, captured, exact), &rest);
    for (size_t i = 0; i < n; i++) {
        gp_sid name = gp_intern(s->names, rest[i].text, rest[i].n);
        stack = gp_calltree_child(&s->tree, stack, name, rest[i].kind);
    }
    *gp_map_put(&s->of_event, row, 0) = below_line(s, stack, exact);
}

/* Frames of stacks as they were read, for samples and allocations. Parents come first. */
static void place_exact(struct gp_query_stacks *s)
{
    const struct gp_trace *t = s->v->t;
    struct gp_stack_tree tree;
    if (t->stacks.n < 2) return;
    s->exact = gp_zalloc(t->stacks.n * sizeof *s->exact);
    gp_stack_tree_build(&tree, t);
    for (uint32_t i = 1; i < t->stacks.n; i++) {
        struct gp_buf name = {0};
        gp_stack_tree_name(&tree, tree.nodes.at[tree.node_of[i]].function, &name);
        uint32_t parent = t->stacks.at[i].parent < i ? s->exact[t->stacks.at[i].parent] : 0;
        s->exact[i] = gp_calltree_child(&s->tree, parent, gp_intern(s->names, gp_buf_str(&name), name.n),
                                        GP_FRAME_PYTHON);
        gp_buf_release(&name);
    }
    gp_stack_tree_release(&tree);
}

void gp_query_stacks_make(struct gp_query_stacks *s, const struct gp_view *v, struct gp_strings *names)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    s->v = v;
    s->names = names;
    s->place = gp_alloc(((size_t)v->hs.n + 1) * sizeof *s->place);
    gp_backward_build(&s->backward, v->t, &v->hs);
    gp_captured_init(&s->captured, &v->hs, true);
    for (uint32_t i = 0; i < v->hs.n; i++) /* parents come first */
        s->place[i] = below(s, gp_query_stack_of_node(s, v->hs.nodes[i].parent), i);
    for (uint32_t row = 0; row < gpu->n && (gpu->captured || gpu->stack); row++)
        if (gp_get_captured(gpu, row) || gp_get_stack(gpu, row))
            place_captured(s, row, gp_get_captured(gpu, row), gp_get_stack(gpu, row));
    place_exact(s);
}

void gp_query_stacks_release(struct gp_query_stacks *s)
{
    if (s->v) gp_backward_release(&s->backward);
    if (s->v) gp_captured_release(&s->captured);
    gp_calltree_release(&s->tree);
    gp_map_release(&s->of_event);
    GP_RELEASE(free, s->place, s->exact);
    GP_VEC_FREE(&s->modules);
    memset(s, 0, sizeof *s);
}

uint32_t gp_query_stack_of_event(const struct gp_query_stacks *s, uint32_t row)
{
    const uint32_t *own = gp_map_get(&s->of_event, row);
    return own ? *own : gp_query_stack_of_node(s, s->v->at.node[row]);
}

/* ---- what a frame says ---- */

/* "train.py:12" of "/src/train.py(12): step"; 0: NAME is not of that form. */
static gp_sid line_of_function(const struct gp_query_stacks *s, const char *name, bool *library)
{
    const char *open = strchr(name, '('), *end = open ? strstr(open, "): ") : NULL;
    if (!open || !end || open == name || end == open + 1 ||
        strspn(open + 1, "0123456789") != (size_t)(end - open - 1))
        return 0;
    struct gp_buf path = {0}, line = {0};
    gp_buf_put(&path, name, (size_t)(open - name));
    const char *file = gp_buf_str(&path);
    if (*file == '/') file = gp_stack_short_path(file);
    *library = strchr(file, '/') != NULL; /* of a library, names have the path from there on */
    gp_buf_printf(&line, "%s:%.*s", file, (int)(end - open - 1), open + 1);
    gp_sid sid = gp_intern(s->names, line.data, line.n);
    gp_buf_release(&path);
    gp_buf_release(&line);
    return sid;
}

/* The same of a frame that is a line already. */
static bool is_line(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

struct gp_query_frame gp_query_frame_of(const struct gp_query_stacks *s, uint32_t id,
                                        const struct gp_query_frame *around)
{
    const struct gp_calltree_node *node = &s->tree.nodes.at[id];
    const char *name = gp_string(s->names, node->name);
    struct gp_query_frame f = *around;
    f.name = node->name;
    f.parent = node->parent;
    f.kind = node->kind;
    f.depth = around->depth + 1;
    f.own_line = 0;
    if (f.kind == GP_FRAME_MODULE) f.module = id;
    if (f.kind == GP_FRAME_RANGE) f.range = id;
    f.backward |=
        (f.kind == GP_FRAME_RANGE && !strcmp(name, "backward")) ||
        (f.kind == GP_FRAME_PYTHON && (!strcmp(name, GP_STACK_AUTOGRAD) || gp_frame_runs_backward(name)));
    if (f.kind != GP_FRAME_PYTHON) return f;
    bool library = false;
    if (is_line(name)) f.own_line = f.name, library = strchr(name, '/') != NULL;
    else f.own_line = line_of_function(s, name, &library);
    if (f.own_line && (!library || !f.line || f.library)) f.line = f.own_line, f.library = library;
    return f;
}
