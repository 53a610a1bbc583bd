/* CUDA graphs: each launch is one call that starts many GPU events; launches of one graph are compared node
 * by node. */
#include <stdlib.h>
#include "analyze/hta/graphs.h"
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/result/keep.h"
#include "formats/base/buf.h"

GP_GETTER(get_worst_name)
{
    gp_member_kernel(c, f, row, x);
    c->none = !c->text_len;
}

#define AT(member) offsetof(struct gp_graph_stat, member)
#define TABLES     GP_FIELD_TABLES
static const struct gp_field fields[] = {
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .flags = GP_FIELD_NULL, .keep = GP_KEEP_I32},
    {"graph", "Graph", GP_CELL_ID, gp_member_id, AT(graph), .help = "id; none where the launches carry no id",
     .flags = GP_FIELD_NULL, .keep = GP_KEEP_U64},
    {"launches", "Launches", GP_CELL_COUNT, gp_member_u64, AT(launches), .keep = GP_KEEP_U64},
    {"gpu_events", "Kernels", GP_CELL_COUNT, gp_member_u64, AT(gpu_events),
     .help = "GPU events of all launches", .keep = GP_KEEP_U64},
    {"nodes", "Nodes", GP_CELL_COUNT, gp_member_u64, AT(nodes), .help = "distinct nodes", .after = "launches",
     .keep = GP_KEEP_U64},
    {"span", NULL, GP_CELL_DIST, gp_member_dist, AT(span), .help = "of one launch, first start to last end",
     .unit = "_ns", .keep = GP_KEEP_DIST},
    {"span_mean_ns", "Mean", GP_CELL_NS_REAL, gp_member_mean, AT(span),
     .help = "of one launch, first start to last end", .flags = TABLES},
    {"span_min_ns", "Min", GP_CELL_NS, gp_member_min, AT(span), .flags = TABLES},
    {"span_max_ns", "Max", GP_CELL_NS, gp_member_max, AT(span), .flags = TABLES},
    {"span_stddev_ns", "Std. dev.", GP_CELL_NS_REAL, gp_member_stddev, AT(span),
     .flags = TABLES | GP_COLUMN_WIDE},
    {"busy", NULL, GP_CELL_DIST, gp_member_dist, AT(busy), .help = "sum of durations of one launch",
     .unit = "_ns", .keep = GP_KEEP_DIST},
    {"busy_mean_ns", "Busy", GP_CELL_NS_REAL, gp_member_mean, AT(busy),
     .help = "mean sum of durations of one launch", .flags = TABLES | GP_COLUMN_SPARE},
    {"worst_node", "Worst node", GP_CELL_ID, gp_member_id, AT(worst_node),
     .help = "node whose duration varies most", .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_U64},
    {"worst_node_name", "Its kernel", GP_CELL_NAME, get_worst_name, AT(worst_node_name),
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL, .keep = GP_KEEP_STR},
    {"worst_node_min_ns", "Its min", GP_CELL_NS, gp_member_i64, AT(worst_node_min_ns),
     .flags = GP_COLUMN_WIDE, .keep = GP_KEEP_I64},
    {"worst_node_max_ns", "Its max", GP_CELL_NS, gp_member_i64, AT(worst_node_max_ns),
     .flags = GP_COLUMN_WIDE, .keep = GP_KEEP_I64},
    {.at = AT(api), .keep = GP_KEEP_STR},
};
#undef TABLES
#undef AT

const struct gp_record gp_hta_graphs = {"graphs", "CUDA graphs", GP_FIELDS(fields),
                                        sizeof(struct gp_graph_stat), .note = "a graph and its launches"};

/* A GPU event that a graph launch started. */
struct node_event {
    uint32_t graph;    /* index into adder.graphs */
    uint32_t instance; /* which launch: row of the call, or otherwise a unique number */
    uint32_t row;
};

/* What launches have in common that belong together. */
struct graph {
    int32_t rank;
    uint32_t producer;
    uint64_t id; /* GP_NO_ID: not recorded; the call's name is used instead */
    gp_sid api;  /* of the trace; 0: no launch record */
};

struct adder {
    struct gp_hta *h;
    const struct gp_view *v;
    uint8_t *is_launch; /* by name of a call: 1 no, 2 yes; 0: not examined */
    GP_VEC(struct graph) graphs;
    GP_VEC(struct node_event) events;
    struct gp_map graph_of; /* hash of a graph -> index */
    /* correlation id, without a call -> number, counted down from UINT32_MAX - 1 */
    struct gp_map instance_of;
};

static bool launches_graph(struct adder *a, gp_sid name)
{
    if (!a->is_launch[name]) a->is_launch[name] = gp_call_launches_graph(gp_trace_str(a->v->t, name)) ? 2 : 1;
    return a->is_launch[name] == 2;
}

static uint32_t graph_index(struct adder *a, const struct graph *g)
{
    uint64_t key = gp_hash_u64((uint64_t)g->producer << 32 | g->api, gp_hash_seed());
    key = gp_hash_u64((uint32_t)g->rank, gp_hash_u64(g->id, key));
    for (;; key++) { /* hashes that meet go to the next key */
        uint32_t at = *gp_map_put(&a->graph_of, key, (uint32_t)a->graphs.n);
        if (at == a->graphs.n) GP_VEC_PUSH(&a->graphs, *g);
        const struct graph *known = &a->graphs.at[at];
        if (known->rank == g->rank && known->producer == g->producer && known->id == g->id &&
            known->api == g->api)
            return at;
    }
}

static void collect(struct adder *a)
{
    const struct gp_trace *t = a->v->t;
    const struct gp_events *gpu = &t->events[GP_GPU];
    for (uint32_t i = 0; i < gpu->n; i++) {
        uint32_t call = gp_view_launch(a->v, i);
        uint64_t id = gp_get_graph(gpu, i), corr = gp_get_corr(gpu, i);
        gp_sid api = call == UINT32_MAX ? 0 : t->events[GP_API].name[call];
        bool by_graph = api && launches_graph(a, api);
        if (id == 0) id = GP_NO_ID; /* profilers write 0 if there is none */
        if (!by_graph && (id == GP_NO_ID || call != UINT32_MAX || corr == GP_NO_ID || corr == 0)) continue;
        const struct gp_view_device *d = &a->v->devices.at[a->v->device_of_row[i]];
        struct graph g = {d->rank, d->producer, id, api};
        struct node_event e = {graph_index(a, &g), call, i};
        if (call == UINT32_MAX) {
            uint64_t key = gp_hash_u64(corr, d->producer);
            e.instance = *gp_map_put(&a->instance_of, key, UINT32_MAX - 1 - (uint32_t)a->instance_of.n);
        }
        GP_VEC_PUSH(&a->events, e);
    }
}

static int by_instance(const void *a, const void *b)
{
    const struct node_event *x = a, *y = b;
    if (x->graph != y->graph) return x->graph < y->graph ? -1 : 1;
    if (x->instance != y->instance) return x->instance < y->instance ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* ---- nodes of one graph over its launches ---- */

struct node {
    uint64_t id; /* or the position among the events of a launch */
    gp_sid name;
    int64_t min_ns, max_ns;
};

struct nodes {
    GP_VEC(struct node) all;
    struct gp_map index;
};

static void add_node(struct nodes *n, uint64_t id, gp_sid name, int64_t dur_ns)
{
    uint32_t at = *gp_map_put(&n->index, id, (uint32_t)n->all.n);
    if (at == n->all.n) GP_VEC_PUSH(&n->all, (struct node){id, name, dur_ns, dur_ns});
    struct node *node = &n->all.at[at];
    if (dur_ns < node->min_ns) node->min_ns = dur_ns;
    if (dur_ns > node->max_ns) node->max_ns = dur_ns;
}

static const struct node *worst_node(const struct nodes *n)
{
    const struct node *worst = NULL;
    for (size_t i = 0; i < n->all.n; i++) {
        const struct node *x = &n->all.at[i];
        int64_t spread = x->max_ns - x->min_ns, most = worst ? worst->max_ns - worst->min_ns : -1;
        if (spread > most || (spread == most && x->id < worst->id)) worst = x;
    }
    return worst;
}

/* One launch: N events in order of their start. */
static void add_launch(struct adder *a, struct gp_graph_stat *s, struct nodes *nodes,
                       const struct node_event *e, size_t n)
{
    const struct gp_events *gpu = &a->v->t->events[GP_GPU];
    int64_t begin = gpu->start_ns[e[0].row], end = begin, busy = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t row = e[i].row;
        uint64_t id = gp_get_node(gpu, row);
        int64_t event_end = gp_add_saturated(gpu->start_ns[row], gpu->dur_ns[row]);
        if (event_end > end) end = event_end;
        busy = gp_add_saturated(busy, gpu->dur_ns[row]);
        add_node(nodes, id == GP_NO_ID ? i : id, gp_gpu_config(a->v->t, row)->name, gpu->dur_ns[row]);
    }
    uint64_t span = (uint64_t)end - (uint64_t)begin;
    gp_histogram_add(&s->span, span > INT64_MAX ? INT64_MAX : (int64_t)span);
    gp_histogram_add(&s->busy, busy);
    s->launches++;
    s->gpu_events += n;
}

/* All launches of one graph: N events by launch, then start. */
static void add_graph(struct adder *a, const struct node_event *e, size_t n)
{
    const struct gp_events *gpu = &a->v->t->events[GP_GPU];
    const struct graph *g = &a->graphs.at[e[0].graph];
    struct gp_graph_stat s = {.rank = g->rank, .graph = g->id};
    struct nodes nodes = {0};
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && e[end].instance == e[first].instance;) end++;
        add_launch(a, &s, &nodes, e + first, end - first);
    }
    const struct node *worst = worst_node(&nodes);
    s.api = gp_intern_from(&a->h->strings, &a->v->t->strings, g->api);
    s.nodes = nodes.all.n;
    s.worst_node = gp_get_node(gpu, e[0].row) == GP_NO_ID ? GP_NO_ID : worst->id;
    struct gp_buf name = {0};
    gp_name_demangle(&name, gp_trace_str(a->v->t, worst->name),
                     gp_string_len(&a->v->t->strings, worst->name));
    s.worst_node_name = gp_intern(&a->h->strings, name.data ? name.data : "", name.n);
    gp_buf_release(&name);
    s.worst_node_min_ns = worst->min_ns;
    s.worst_node_max_ns = worst->max_ns;
    GP_VEC_PUSH(&a->h->graphs, s);
    GP_VEC_FREE(&nodes.all);
    gp_map_release(&nodes.index);
}

static void add(struct gp_hta *h, const struct gp_view *v)
{
    struct adder a = {.h = h, .v = v};
    a.is_launch = gp_zalloc((size_t)v->t->strings.n + 1);
    collect(&a);
    if (a.events.n) qsort(a.events.at, a.events.n, sizeof *a.events.at, by_instance);
    for (size_t first = 0, end; first < a.events.n; first = end) {
        for (end = first; end < a.events.n && a.events.at[end].graph == a.events.at[first].graph;) end++;
        add_graph(&a, a.events.at + first, end - first);
    }
    free(a.is_launch);
    GP_VEC_FREE(&a.graphs);
    GP_VEC_FREE(&a.events);
    gp_map_release(&a.graph_of);
    gp_map_release(&a.instance_of);
}

/* The order of insertion breaks ties: qsort is not stable. */
struct placed_graph {
    struct gp_graph_stat stat;
    size_t place;
};

static int by_busy(const void *a, const void *b)
{
    const struct placed_graph *x = a, *y = b;
    if (x->stat.rank != y->stat.rank) return x->stat.rank < y->stat.rank ? -1 : 1;
    if (x->stat.busy.sum != y->stat.busy.sum) return x->stat.busy.sum > y->stat.busy.sum ? -1 : 1;
    if (x->stat.graph != y->stat.graph) return x->stat.graph < y->stat.graph ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static void sort_graphs(struct gp_hta *h)
{
    if (!h->graphs.n) return;
    struct placed_graph *all = gp_alloc(h->graphs.n * sizeof *all);
    for (size_t i = 0; i < h->graphs.n; i++) all[i] = (struct placed_graph){h->graphs.at[i], i};
    qsort(all, h->graphs.n, sizeof *all, by_busy);
    for (size_t i = 0; i < h->graphs.n; i++) h->graphs.at[i] = all[i].stat;
    free(all);
}

/* Ids are those of one process: graphs of two traces are never the same one. */
static const struct gp_hta_list lists[] = {
    {&gp_hta_graphs, offsetof(struct gp_hta, graphs),
     .kept = {GP_HTA_KEPT_GRAPHS, GP_HTA_KEPT_UNRANKED, sizeof(int32_t),
              offsetof(struct gp_hta_bound, graphs)}},
};
const struct gp_hta_section gp_hta_graphs_section = {lists, GP_COUNT(lists), .add = add, .sort = sort_graphs,
                                                     .timed = true};
