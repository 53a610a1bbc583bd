#include "formats/model/nodes.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/order.h"

/* ---- making ---- */

static struct gp_node_run *run_at(const struct gp_nodes *nodes, size_t i)
{
    return &nodes->trace->node_runs.at[nodes->sorted.at[i]];
}

/* How many runs begin at or before NODE. Ids usually come in order, so the position of the last one is tried
 * first. */
static size_t runs_until(struct gp_nodes *nodes, uint64_t node)
{
    size_t lo = 0, hi = nodes->sorted.n, at = nodes->hint;
    if (at <= hi && (!at || run_at(nodes, at - 1)->first <= node) &&
        (at == hi || run_at(nodes, at)->first > node))
        return at;
    GP_NARROW(lo, hi, mid, run_at(nodes, mid)->first <= node);
    return nodes->hint = lo;
}

static void add_run(struct gp_nodes *nodes, size_t at, struct gp_node_run run)
{
    struct gp_trace *t = nodes->trace;
    if (t->node_runs.n >= GP_NODES_MAX_RUNS) {
        nodes->refused += run.count;
        return;
    }
    GP_VEC_PUSH(&nodes->sorted, 0);
    memmove(&nodes->sorted.at[at + 1], &nodes->sorted.at[at],
            (nodes->sorted.n - 1 - at) * sizeof *nodes->sorted.at);
    nodes->sorted.at[at] = (uint32_t)t->node_runs.n;
    GP_VEC_PUSH(&t->node_runs, run);
}

/* The rest of a run, from its node OFFSET on. */
static struct gp_node_run tail_of(struct gp_node_run run, uint64_t offset)
{
    run.first += offset;
    run.count -= offset;
    if (run.original) run.original += offset;
    return run;
}

/* Has the node at OFFSET of RUN the facts of ONE? */
static bool says(const struct gp_node_run *run, uint64_t offset, const struct gp_node_run *one)
{
    return run->captured == one->captured && run->stack == one->stack &&
           (run->original ? run->original + offset : 0) == one->original;
}

/* Take a node out of the middle of the run before place AT, whose OFFSET it has. */
static void cut_run(struct gp_nodes *nodes, size_t at, uint64_t offset, struct gp_node_run node)
{
    struct gp_node_run *run = run_at(nodes, at - 1), was = *run;
    if (offset) run->count = offset;
    else *run = node;
    if (offset) add_run(nodes, at++, node);
    if (was.count - offset > 1) add_run(nodes, at, tail_of(was, offset + 1));
}

/* ONE is a run of one node. */
static void put_node(struct gp_nodes *nodes, struct gp_node_run one)
{
    size_t at = runs_until(nodes, one.first);
    struct gp_node_run *run = at ? run_at(nodes, at - 1) : NULL;
    uint64_t offset = run ? one.first - run->first : 0;
    bool same = run && says(run, offset, &one);
    if (run && offset < run->count) {
        if (!same) cut_run(nodes, at, offset, one);
    } else if (same && offset == run->count) {
        run->count++;
    } else {
        add_run(nodes, at, one);
    }
}

void gp_nodes_set(struct gp_nodes *nodes, uint64_t node, gp_sid captured, uint32_t stack)
{
    put_node(nodes, (struct gp_node_run){.first = node, .count = 1, .captured = captured, .stack = stack});
}

static const struct gp_node_run *run_of(struct gp_nodes *nodes, uint64_t node)
{
    size_t at = runs_until(nodes, node);
    const struct gp_node_run *run = at ? run_at(nodes, at - 1) : NULL;
    return run && node - run->first < run->count ? run : NULL;
}

void gp_nodes_clone(struct gp_nodes *nodes, uint64_t node, uint64_t original)
{
    const struct gp_node_run *run = run_of(nodes, original);
    if (run && run->original) original = run->original + (original - run->first); /* fewer hops */
    put_node(nodes, (struct gp_node_run){.first = node, .count = 1, .original = original});
}

void gp_nodes_release(struct gp_nodes *nodes) { GP_VEC_FREE(&nodes->sorted); }

/* ---- reading ---- */

GP_COMPARE(compare_runs, struct gp_node_run, GP_UP(producer) GP_UP(first))

/* Runs that begin at the same node are damage; the order of the remaining ones is deterministic. */
GP_COMPARE(sort_runs, struct gp_node_run,
           GP_THEN(compare_runs(x, y)) GP_UP(count) GP_UP(original) GP_UP(captured) GP_UP(stack))

/* The last of the N sorted RUNS that begins at or before NODE of PRODUCER; NULL if it does not extend that
 * far. */
static const struct gp_node_run *find_run(const struct gp_node_run *runs, size_t n, uint32_t producer,
                                          uint64_t node)
{
    const struct gp_node_run want = {.first = node, .producer = producer};
    GP_SEARCH(lo, 0, n, mid, compare_runs(&runs[mid], &want) <= 0);
    const struct gp_node_run *run = lo ? &runs[lo - 1] : NULL;
    return run && run->producer == producer && node - run->first < run->count ? run : NULL;
}

/* The one of the N sorted RUNS that has the facts of NODE; *RUN is where the last one was found. */
static const struct gp_node_run *facts_of(const struct gp_node_run *runs, size_t n, uint32_t producer,
                                          uint64_t node, const struct gp_node_run **run)
{
    const struct gp_node_run *r = *run;
    if (!r || r->producer != producer || node - r->first >= r->count) r = find_run(runs, n, producer, node);
    *run = r;
    for (int hop = 0; r && r->original && hop < GP_NODES_MAX_HOPS; hop++) {
        node = r->original + (node - r->first);
        r = find_run(runs, n, producer, node);
    }
    return r && !r->original ? r : NULL;
}

void gp_nodes_resolve(struct gp_trace *t)
{
    struct gp_events *gpu = &t->events[GP_GPU];
    struct gp_node_run *runs = t->node_runs.at;
    const struct gp_node_run *run = NULL;
    size_t n = t->node_runs.n;
    if (n && gpu->node) qsort(runs, n, sizeof *runs, sort_runs);
    for (size_t i = 1; i < n && gpu->node; i++) { /* each extends to the next one */
        uint64_t room = runs[i].first - runs[i - 1].first;
        if (runs[i].producer == runs[i - 1].producer && runs[i - 1].count > room) runs[i - 1].count = room;
    }
    for (size_t i = 0; n && gpu->node && i < gpu->n; i++) {
        uint32_t producer = t->processes.at[t->tracks.at[gpu->track[i]].process].producer;
        bool captured = gp_get_captured(gpu, i), stack = gp_get_stack(gpu, i);
        if (gpu->node[i] == GP_NO_ID || (captured && stack)) continue;
        const struct gp_node_run *facts = facts_of(runs, n, producer, gpu->node[i], &run);
        if (facts && !captured) gp_set_captured(gpu, i, facts->captured);
        if (facts && !stack) gp_set_stack(gpu, i, facts->stack);
    }
    GP_VEC_FREE(&t->node_runs);
}
