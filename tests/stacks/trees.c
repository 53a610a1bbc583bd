/* trees.c -- are the trees of a trace's calls what its exact stacks say? trees FILE...: a line for each file,
 * with how many ranges whose stack is known lie below a function that they called, and how many ranges, such
 * as steps, that launched the same from the same stacks as the one before have another tree. Status 1 if
 * there is one. */
#include <stdio.h>
#include <string.h>
#include "analyze/names/names.h"
#include "analyze/view/host_stack.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/model/stack_tree.h"
#include "formats/model/samples.h"
#include "formats/reader.h"

struct scene {
    struct gp_trace t;
    struct gp_host_stack hs;
    struct gp_stack_tree tree;
    uint64_t *path; /* by host event: what it and those around it are named, 0: not worked out yet */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* ---- ranges ---- */

static bool is_exact(const struct scene *s, const struct gp_host_event *ev)
{
    if (ev->table != GP_PYTHON) return false;
    gp_sid category = gp_get_cat(&s->t.events[GP_PYTHON], ev->row);
    return !strcmp(gp_trace_str(&s->t, category), GP_PYTHON_STACK_CATEGORY);
}

/* Is that function one of those of the stack? */
static bool is_in(const struct scene *s, const char *function, uint32_t node)
{
    struct gp_buf name = {0};
    bool found = false;
    for (; node && !found; node = s->tree.nodes.at[node].parent) {
        name.n = 0;
        if (s->tree.nodes.at[node].function & GP_STACK_STATE) continue;
        gp_stack_tree_name(&s->tree, s->tree.nodes.at[node].function, &name);
        found = !strcmp(gp_buf_str(&name), function);
    }
    gp_buf_release(&name);
    return found;
}

/* Does a function lie around the range that was not there when it was pushed? */
static bool is_below_callee(const struct scene *s, uint32_t node, uint32_t stack)
{
    const struct gp_host_event *nodes = s->hs.nodes;
    for (node = nodes[node].parent; node != GP_HOST_NONE; node = nodes[node].parent) {
        if (!is_exact(s, &nodes[node])) continue;
        const char *name = gp_trace_str(&s->t, s->t.events[GP_PYTHON].name[nodes[node].row]);
        if (!is_in(s, name, s->tree.node_of[stack]) && !is_in(s, name, s->tree.waiting[stack])) return true;
    }
    return false;
}

static void count_ranges(const struct scene *s, size_t *known, size_t *wrong)
{
    const struct gp_events *e = &s->t.events[GP_RANGE];
    for (size_t i = 0; e->stack && i < e->n; i++) {
        uint32_t node = e->stack[i] ? gp_host_node(&s->hs, GP_RANGE, i) : GP_HOST_NONE;
        if (node == GP_HOST_NONE) continue;
        ++*known;
        *wrong += is_below_callee(s, node, e->stack[i]);
    }
}

/* ---- steps ---- */

/* What an event is named; names of ranges differ in numbers, as in "step 3". */
static uint64_t name_of(const struct scene *s, const struct gp_host_event *ev)
{
    gp_sid name = s->t.events[ev->table].name[ev->row];
    uint64_t h = ev->table;
    struct gp_buf label = {0};
    if (ev->table == GP_RANGE)
        gp_name_range_label(&label, gp_trace_str(&s->t, name), gp_string_len(&s->t.strings, name));
    else gp_buf_puts(&label, gp_trace_str(&s->t, name));
    for (size_t i = 0; i < label.n; i++) h = mix(h, (uint8_t)label.data[i]);
    gp_buf_release(&label);
    return h;
}

static uint64_t path_of(struct scene *s, uint32_t node)
{
    if (node == GP_HOST_NONE) return 1;
    if (s->path[node]) return s->path[node];
    const struct gp_host_event *ev = &s->hs.nodes[node];
    return s->path[node] = mix(path_of(s, ev->parent), name_of(s, ev)) | 1;
}

/* Sums over the calls in a range, so that the order makes no difference. */
struct step {
    uint64_t calls, stacks, tree;
};

/* By row of GP_RANGE. Calls of threads that wait for nobody count only where they lie below the range. */
static struct step *sum_steps(struct scene *s)
{
    const struct gp_events *e = &s->t.events[GP_API];
    struct step *steps = gp_zalloc((s->t.events[GP_RANGE].n + 1) * sizeof *steps);
    for (size_t i = 0; i < e->n; i++) {
        uint32_t node = gp_host_node(&s->hs, GP_API, i), stack = e->stack ? e->stack[i] : 0;
        if (!stack || node == GP_HOST_NONE) continue;
        uint64_t name = gp_string_hash(&s->t.strings, e->name[i]);
        for (uint32_t at = node; at != GP_HOST_NONE; at = s->hs.nodes[at].parent) {
            if (s->hs.nodes[at].table != GP_RANGE) continue;
            struct step *step = &steps[s->hs.nodes[at].row];
            step->calls++;
            step->stacks += mix(mix(name, s->tree.node_of[stack]), s->tree.waiting[stack]);
            step->tree += path_of(s, node);
        }
    }
    return steps;
}

/* The ranges around it: modules of XLA may call a function that each compiled for itself. */
static uint64_t ranges_of(const struct scene *s, uint32_t node)
{
    uint64_t h = 1;
    for (; node != GP_HOST_NONE; node = s->hs.nodes[node].parent)
        if (s->hs.nodes[node].table == GP_RANGE) h = mix(h, name_of(s, &s->hs.nodes[node]));
    return h;
}

/* Each range against the one before it in ranges of the same names, its own included, but for numbers, that
 * the same stack pushed. */
static void count_steps(struct scene *s, size_t *compared, size_t *unequal)
{
    struct step *steps = sum_steps(s);
    struct gp_map last = {0};
    for (size_t i = 0; i < s->t.events[GP_RANGE].n; i++) {
        if (!steps[i].calls) continue;
        uint64_t name = ranges_of(s, gp_host_node(&s->hs, GP_RANGE, i));
        uint32_t pushed = s->tree.node_of[gp_get_stack(&s->t.events[GP_RANGE], i)];
        uint32_t *before = gp_map_put(&last, mix(name, pushed), UINT32_MAX);
        const struct step *b = *before == UINT32_MAX ? NULL : &steps[*before];
        if (b && b->calls == steps[i].calls && b->stacks == steps[i].stacks) {
            ++*compared;
            *unequal += b->tree != steps[i].tree;
        }
        *before = (uint32_t)i;
    }
    gp_map_release(&last);
    free(steps);
}

static bool look_at(const char *path)
{
    struct scene s;
    struct gp_err err;
    size_t known = 0, below = 0, compared = 0, unequal = 0;
    struct gp_read_opts opts = {.need = GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES};
    if (gp_trace_read(&s.t, path, &opts, &err)) {
        printf("%s: %s\n", path, err.msg);
        return false;
    }
    gp_host_stack_build_self(&s.hs, &s.t);
    gp_stack_tree_build(&s.tree, &s.t);
    s.path = gp_zalloc(((size_t)s.hs.n + 1) * sizeof *s.path);
    count_ranges(&s, &known, &below);
    count_steps(&s, &compared, &unequal);
    printf("%s: %zu ranges with a stack, %zu below a callee; %zu equal ranges, %zu with another tree\n", path,
           known, below, compared, unequal);
    free(s.path);
    gp_stack_tree_release(&s.tree);
    gp_host_stack_release(&s.hs);
    gp_trace_release(&s.t);
    return !below && !unequal;
}

int main(int argc, char **argv)
{
    bool right = true;
    for (int i = 1; i < argc; i++) right &= look_at(argv[i]);
    return !right;
}
