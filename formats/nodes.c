#include "formats/nodes.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static struct gp_node_run *run_at(const struct gp_nodes *nodes, size_t i)
{
    return &nodes->trace->node_runs.at[nodes->sorted.at[i]];
}

/* How many runs begin at or before NODE. Ids come in order as a rule, so the place of the last one is tried first. */
static size_t runs_until(struct gp_nodes *nodes, uint64_t node)
{
    size_t lo = 0, hi = nodes->sorted.n, at = nodes->hint;
    if (at <= hi && (!at || run_at(nodes, at - 1)->first <= node) &&
        (at == hi || run_at(nodes, at)->first > node))
        return at;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (run_at(nodes, mid)->first <= node) lo = mid + 1;
        else hi = mid;
    }
    return nodes->hint = lo;
}

/* A new run behind the first AT ones. */
static void add_run(struct gp_nodes *nodes, size_t at, uint64_t first, uint64_t count, gp_sid captured)
{
    struct gp_trace *t = nodes->trace;
    if (t->node_runs.n >= GP_NODES_MAX_RUNS) {
        nodes->refused += count;
        return;
    }
    GP_VEC_PUSH(&nodes->sorted, 0);
    memmove(&nodes->sorted.at[at + 1], &nodes->sorted.at[at],
            (nodes->sorted.n - 1 - at) * sizeof *nodes->sorted.at);
    nodes->sorted.at[at] = (uint32_t)t->node_runs.n;
    GP_VEC_PUSH(&t->node_runs, (struct gp_node_run){first, count, captured, 0});
}

void gp_nodes_set(struct gp_nodes *nodes, uint64_t node, gp_sid captured)
{
    size_t at = runs_until(nodes, node);
    struct gp_node_run *run = at ? run_at(nodes, at - 1) : NULL;
    uint64_t offset = run ? node - run->first : 0;
    if (run && offset < run->count) {
        struct gp_node_run was = *run;
        if (was.captured == captured) return;
        run->count = offset ? offset : 1;
        if (!offset) run->captured = captured;
        if (offset) add_run(nodes, at++, node, 1, captured);
        if (was.count - offset > 1) add_run(nodes, at, node + 1, was.count - offset - 1, was.captured);
    } else if (run && offset == run->count && run->captured == captured) {
        run->count++;
    } else {
        add_run(nodes, at, node, 1, captured);
    }
}

gp_sid gp_nodes_get(struct gp_nodes *nodes, uint64_t node)
{
    size_t at = runs_until(nodes, node);
    const struct gp_node_run *run = at ? run_at(nodes, at - 1) : NULL;
    return run && node - run->first < run->count ? run->captured : 0;
}

void gp_nodes_release(struct gp_nodes *nodes)
{
    GP_VEC_FREE(&nodes->sorted);
}

/* ---- reading ---- */

static int compare_runs(const void *a, const void *b)
{
    const struct gp_node_run *x = a, *y = b;
    if (x->producer != y->producer) return x->producer < y->producer ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Runs that begin at the same node are damage; the order of what is left is always the same. */
static int sort_runs(const void *a, const void *b)
{
    const struct gp_node_run *x = a, *y = b;
    int order = compare_runs(a, b);
    if (order) return order;
    if (x->count != y->count) return x->count < y->count ? -1 : 1;
    return x->captured < y->captured ? -1 : x->captured > y->captured;
}

/* The last of the N sorted RUNS that begins at or before NODE of PRODUCER; NULL: it does not reach that far. */
static const struct gp_node_run *find_run(const struct gp_node_run *runs, size_t n, uint32_t producer,
                                          uint64_t node)
{
    const struct gp_node_run want = {.first = node, .producer = producer};
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_runs(&runs[mid], &want) <= 0) lo = mid + 1;
        else hi = mid;
    }
    const struct gp_node_run *run = lo ? &runs[lo - 1] : NULL;
    return run && run->producer == producer && node - run->first < run->count ? run : NULL;
}

void gp_nodes_resolve(struct gp_trace *t)
{
    struct gp_events *gpu = &t->events[GP_GPU];
    struct gp_node_run *runs = t->node_runs.at;
    const struct gp_node_run *run = NULL;
    size_t n = t->node_runs.n;
    if (n && gpu->node) qsort(runs, n, sizeof *runs, sort_runs);
    for (size_t i = 1; i < n && gpu->node; i++) { /* each reaches as far as the next one */
        uint64_t room = runs[i].first - runs[i - 1].first;
        if (runs[i].producer == runs[i - 1].producer && runs[i - 1].count > room) runs[i - 1].count = room;
    }
    for (size_t i = 0; n && gpu->node && i < gpu->n; i++) {
        uint64_t node = gpu->node[i];
        uint32_t producer = t->processes.at[t->tracks.at[gpu->track[i]].process].producer;
        if (node == GP_NO_ID || gp_get_captured(gpu, i)) continue;
        if (!run || run->producer != producer || node - run->first >= run->count)
            run = find_run(runs, n, producer, node);
        if (run) gp_set_captured(gpu, i, run->captured);
    }
    GP_VEC_FREE(&t->node_runs);
}
