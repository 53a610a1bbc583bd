/* CUDA graphs recorded as wholes: one row per launch, from CUPTI's own record of it, or made of its nodes. */
#include <limits.h>
#include <stdio.h>
#include "collect/records/records_priv.h"

bool gp_record_is_node(const void *rec)
{
    switch (gp_get_u32(rec, 0)) {
    case GP_ACTIVITY_KERNEL:
    case GP_ACTIVITY_CONCURRENT_KERNEL: return AT(u32, rec, KERNEL_graphId) != 0;
    case GP_ACTIVITY_MEMCPY: return AT(u32, rec, MEMCPY_graphId) != 0;
    case GP_ACTIVITY_MEMCPY2: return AT(u32, rec, PEER_graphId) != 0;
    case GP_ACTIVITY_MEMSET: return AT(u32, rec, MEMSET_graphId) != 0;
    default: return false;
    }
}

static struct gp_config graph_config(struct gp_records *r, uint64_t graph)
{
    char name[40];
    struct gp_config c = {.kind = GP_KERNEL};
    snprintf(name, sizeof name, "CUDA graph %llu", (unsigned long long)graph);
    c.name = gp_intern_cstr(&r->trace.strings, name);
    return c;
}

static struct gp_graph_launch *launch_of(struct gp_records *r, uint64_t graph)
{
    struct gp_graph_launch *last =
        r->last_graph < r->graph_launches.n ? &r->graph_launches.at[r->last_graph] : NULL;
    if (last && last->graph == graph) return last;
    uint32_t *at = gp_map_put(&r->graphs, graph, (uint32_t)r->graph_launches.n);
    if (*at == r->graph_launches.n) GP_VEC_PUSH(&r->graph_launches, (struct gp_graph_launch){.graph = graph});
    r->last_graph = *at;
    return &r->graph_launches.at[*at];
}

/* Write the row of a launch. */
static void end_launch(struct gp_records *r, struct gp_graph_launch *g)
{
    struct gp_config c = graph_config(r, g->graph);
    struct gp_held_work w = {.start_ns = g->start_ns,
                             .end_ns = g->end_ns,
                             .graph = g->graph,
                             .node = GP_NO_ID,
                             .corr = g->corr,
                             .track = g->track};
    r->folded_nodes += g->nodes;
    g->nodes = 0;
    gp_records_hold(r, &w, &c);
}

/* Launches of one graph run one after the other. */
bool gp_records_fold(struct gp_records *r, const struct gp_held_work *w)
{
    struct gp_graph_launch *g = launch_of(r, w->graph);
    if (!r->whole_graphs) g->began = w->corr;
    if (!r->whole_graphs || g->began == w->corr) return false;
    if (g->nodes && g->corr != w->corr) end_launch(r, g);
    if (!g->nodes++) {
        g->corr = w->corr;
        g->track = w->track;
        g->start_ns = w->start_ns;
        g->end_ns = w->end_ns;
    }
    if (w->start_ns < g->start_ns) g->start_ns = w->start_ns;
    if (w->end_ns > g->end_ns) g->end_ns = w->end_ns;
    g->tick = r->tick;
    return true;
}

void gp_records_end_launches(struct gp_records *r, bool all)
{
    enum { SURELY_OVER_TICKS = 20 };
    GP_EACH(struct gp_graph_launch, g, r->graph_launches)
        if (g->nodes && (all || r->tick - g->tick >= SURELY_OVER_TICKS)) end_launch(r, g);
    gp_records_lose(r, "graph nodes", "graphs are recorded whole, see --graphs", r->folded_nodes);
    r->folded_nodes = 0;
}

static uint32_t known(uint32_t id)
{
    return id == INT_MAX ? (uint32_t)GP_INVALID_ID32 : id; /* its first node runs on the host */
}

void gp_records_add_graph(struct gp_records *r, const void *rec)
{
    uint32_t graph = AT(u32, rec, GRAPH_graphId);
    struct gp_config c = graph_config(r, graph);
    struct gp_held_work w = {
        .start_ns = (int64_t)AT(u64, rec, GRAPH_start),
        .end_ns = (int64_t)AT(u64, rec, GRAPH_end),
        .graph = graph,
        .node = GP_NO_ID,
        .corr = AT(u32, rec, GRAPH_correlationId),
        .track = gp_records_stream(r, known(AT(u32, rec, GRAPH_deviceId)),
                                   known(AT(u32, rec, GRAPH_contextId)), AT(u32, rec, GRAPH_streamId)),
    };
    gp_records_hold(r, &w, &c);
}

void gp_records_whole_graphs(struct gp_records *r, int64_t at_ns)
{
    r->whole_graphs = true;
    gp_events_add(&r->trace.events[GP_MARK], at_ns, 0, gp_records_thread(r, r->opts.pid),
                  gp_intern_cstr(&r->trace.strings, "CUDA graphs are recorded whole from here on"));
}
