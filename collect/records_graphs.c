/* CUDA graphs that are recorded as wholes: one row a launch, and how many nodes are not seen for it. */
#include <limits.h>
#include <stdio.h>
#include "collect/records_priv.h"

bool gp_record_is_node(const void *rec)
{
    switch (gp_get_u32(rec, 0)) {
    case GP_ACTIVITY_KERNEL:
    case GP_ACTIVITY_CONCURRENT_KERNEL:
        return AT(u32, rec, KERNEL_graphId) != 0;
    case GP_ACTIVITY_MEMCPY:
        return AT(u32, rec, MEMCPY_graphId) != 0;
    case GP_ACTIVITY_MEMCPY2:
        return AT(u32, rec, PEER_graphId) != 0;
    case GP_ACTIVITY_MEMSET:
        return AT(u32, rec, MEMSET_graphId) != 0;
    default:
        return false;
    }
}

static struct gp_graph_size *size_of(struct gp_records *r, uint64_t graph)
{
    uint32_t *at = gp_map_put(&r->graphs, graph, (uint32_t)r->graph_sizes.n);
    if (*at == r->graph_sizes.n) GP_VEC_PUSH(&r->graph_sizes, (struct gp_graph_size){graph, 0, 0, 0});
    return &r->graph_sizes.at[*at];
}

/* The nodes of a launch come one after the other, those of the next launch of that graph behind them. */
void gp_records_note_node(struct gp_records *r, const struct gp_held_work *w)
{
    struct gp_graph_size *g = r->last_graph < r->graph_sizes.n ? &r->graph_sizes.at[r->last_graph] : NULL;
    if (!g || g->graph != w->graph) g = size_of(r, w->graph);
    r->last_graph = (uint32_t)(g - r->graph_sizes.at);
    if (g->corr != w->corr) g->count = 0;
    g->corr = w->corr;
    g->count++;
    if (g->count > g->most) g->most = g->count;
}

static uint32_t known(uint32_t id)
{
    return id == INT_MAX ? (uint32_t)GP_INVALID_ID32 : id; /* its first node runs on the host */
}

void gp_records_add_graph(struct gp_records *r, const void *rec)
{
    uint32_t graph = AT(u32, rec, GRAPH_graphId);
    struct gp_config c;
    char name[40];
    memset(&c, 0, sizeof c);
    c.kind = GP_KERNEL;
    snprintf(name, sizeof name, "CUDA graph %u", (unsigned)graph);
    c.name = gp_intern_cstr(&r->trace.strings, name);
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
    if (r->whole_graphs) r->unseen_nodes += size_of(r, graph)->most;
}

void gp_records_whole_graphs(struct gp_records *r, int64_t at_ns)
{
    r->whole_graphs = true;
    gp_events_add(&r->trace.events[GP_MARK], at_ns, 0, gp_records_thread(r, r->opts.pid),
                  gp_intern_cstr(&r->trace.strings, "CUDA graphs are recorded whole from here on"));
}
