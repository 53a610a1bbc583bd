/* Launches: durations of calls, delays of their work, and queue lengths per stream. */
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/names/names.h"
#include "analyze/view/waits.h"
#include "formats/base/buf.h"

/* ---- fields ---- */

#define AT(member) offsetof(struct gp_api_stat, member)
static const struct gp_field api_fields[] = {
    {"name", "Call", GP_CELL_NAME, gp_member_sid, AT(name), .keep = GP_KEEP_STR, .merge = GP_MERGE_KEY},
    {"duration_count", "Count", GP_CELL_COUNT, gp_member_count, AT(dur), .flags = GP_FIELD_TABLES},
    {"duration_total_ns", "Total", GP_CELL_NS, gp_member_total, AT(dur), .help = "sum of durations",
     .flags = GP_FIELD_TABLES},
    {"duration_mean_ns", "Mean", GP_CELL_NS_REAL, gp_member_mean, AT(dur), .flags = GP_FIELD_TABLES},
    {"duration_p50_ns", "Median", GP_CELL_NS, gp_member_p50, AT(dur), .help = "within 1/16",
     .flags = GP_FIELD_TABLES},
    {"duration_max_ns", "Max", GP_CELL_NS, gp_member_max, AT(dur), .flags = GP_FIELD_TABLES},
    {"launches", "Launched", GP_CELL_COUNT, gp_member_u64, AT(launches), .help = "GPU events they started",
     .flags = GP_COLUMN_SPARE, .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"outliers", "Outliers", GP_CELL_COUNT, gp_member_u64, AT(outliers),
     .help = "longer than 50 us and 10 times the median of that call", .flags = GP_COLUMN_SPARE,
     .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {"duration", NULL, GP_CELL_DIST, gp_member_dist, AT(dur), .unit = "_ns", .keep = GP_KEEP_DIST},
};
#undef AT

const struct gp_record gp_hta_api = {
    "api",
    "Runtime and driver calls",
    GP_FIELDS(api_fields),
    sizeof(struct gp_api_stat),
    .note = "calls by name, by total time",
    .rest = {{"count", "duration_count"}, {"total_ns", "duration_total_ns"}}};

#define AT(member) offsetof(struct gp_hta_launches, member)

GP_GET(get_unlinked, struct gp_hta_launches, c->i = (int64_t)(r->gpu_events - r->linked))

#define SUM    .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM
#define SUM_NS .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM
static const struct gp_field launch_fields[] = {
    {"gpu_events", NULL, GP_CELL_COUNT, gp_member_u64, AT(gpu_events), .help = "all", SUM},
    {"linked", "GPU events with a launch record", GP_CELL_COUNT, gp_member_u64, AT(linked), .after = "calls",
     .unit = "events", SUM},
    {"unlinked", "GPU events without a launch record", GP_CELL_COUNT, get_unlinked, 0, .after = "linked",
     .unit = "events", .flags = GP_FIELD_TABLES | GP_COLUMN_SPARE},
    {"calls", "launch calls", GP_CELL_COUNT, gp_member_u64, AT(calls),
     .help = "launching calls; a graph launch is one", .unit = "calls", SUM},
    {"graph_calls", "graph launches", GP_CELL_COUNT, gp_member_u64, AT(graph_calls), .unit = "calls",
     .flags = GP_COLUMN_SPARE, SUM},
    {"graph_events", "GPU events started by graphs", GP_CELL_COUNT, gp_member_u64, AT(graph_events),
     .unit = "events", .flags = GP_COLUMN_SPARE, SUM},
    {"short_kernels", "kernels shorter than the call that launched them", GP_CELL_COUNT, gp_member_u64,
     AT(short_kernels), .unit = "events", .flags = GP_FIELD_TIMED, SUM},
    {"short_kernel_ns", "their GPU time", GP_CELL_NS, gp_member_i64, AT(short_kernel_ns), .unit = "ns",
     .flags = GP_FIELD_TIMED | GP_COLUMN_SPARE, SUM_NS},
    {"before_launch", "GPU events that start before their launch", GP_CELL_COUNT, gp_member_u64,
     AT(before_launch), .help = "GPU events that start before their launch call does: clocks disagree",
     .unit = "events", .flags = GP_FIELD_TIMED | GP_COLUMN_SPARE, SUM},
    {"worst_before_launch_ns", "the earliest of them, early by", GP_CELL_NS, gp_member_i64,
     AT(worst_before_ns), .unit = "ns", .flags = GP_FIELD_TIMED | GP_COLUMN_SPARE, .keep = GP_KEEP_I64,
     .merge = GP_MERGE_MAX},
    {"max_queue", "longest queue of a stream", GP_CELL_COUNT, gp_member_u64, AT(max_queue),
     .help = "most GPU events launched and not started, on one stream", .unit = "events",
     .flags = GP_FIELD_TIMED, .keep = GP_KEEP_U64, .merge = GP_MERGE_MAX},
    {"queue_full_ns", "time with 1,000 or more queued", GP_CELL_NS, gp_member_i64, AT(queue_full_ns),
     .help = "time with 1,000 or more queued on a stream, summed over devices", .unit = "ns",
     .flags = GP_FIELD_TIMED | GP_COLUMN_SPARE, SUM_NS},
    {"delay", NULL, GP_CELL_DIST, gp_member_dist, AT(delay),
     .help = "from the end of the call to the GPU event's start, not negative; not those of graphs",
     .unit = "_ns", .keep = GP_KEEP_DIST, .flags = GP_FIELD_TIMED},
    {"call", NULL, GP_CELL_DIST, gp_member_dist, AT(api_dur), .help = "durations of launching calls",
     .unit = "_ns", .keep = GP_KEEP_DIST, .flags = GP_FIELD_TIMED},
    {"queue_length", NULL, GP_CELL_DIST, gp_member_dist, AT(queue_len),
     .help = "GPU events queued on the stream at each launch", .unit = "", .keep = GP_KEEP_DIST,
     .flags = GP_FIELD_TIMED},
};
#undef SUM_NS
#undef SUM
#undef AT

const struct gp_record gp_hta_launch_sums = {"launches", "Launches", GP_FIELDS(launch_fields),
                                             sizeof(struct gp_hta_launches),
                                             .note = "launch calls and what they started"};

/* Launches that a stream takes before the host has to wait: 1022 to 1024, as measured on V100 and H200. */
enum { QUEUE_FULL = GP_QUEUE_FULL };
enum { SLOW_CALL_NS = 50000, SLOW_CALL_TIMES = 10 };

/* The calls of one trace, by name. */
struct call_stat {
    gp_sid name; /* of the trace */
    struct gp_histogram dur;
    uint64_t launches, outliers;
    bool graph;
};

struct adder {
    struct gp_hta *h;
    const struct gp_view *v;
    uint32_t *started; /* by row of GP_API: GPU events that it started */
    uint32_t *stat_of; /* by name: index into stats, UINT32_MAX: none */
    GP_VEC(struct call_stat) stats;
};

/* A - B, which damaged input can have further apart than 2^63; A >= B. */
static int64_t distance(int64_t a, int64_t b)
{
    uint64_t d = (uint64_t)a - (uint64_t)b;
    return d > INT64_MAX ? INT64_MAX : (int64_t)d;
}

/* ---- calls ---- */

static struct call_stat *stat_of(struct adder *a, gp_sid name)
{
    uint32_t *known = &a->stat_of[name];
    if (*known == UINT32_MAX) {
        *known = (uint32_t)a->stats.n;
        bool graph = gp_call_launches_graph(gp_trace_str(a->v->t, name));
        GP_VEC_PUSH(&a->stats, (struct call_stat){.name = name, .graph = graph});
    }
    return &a->stats.at[*known];
}

/* A call that is far longer than its like. */
static void count_outliers(struct adder *a)
{
    const struct gp_events *api = &a->v->t->events[GP_API];
    int64_t *limit = gp_alloc((a->stats.n + 1) * sizeof *limit);
    for (size_t i = 0; i < a->stats.n; i++) {
        limit[i] = gp_mul_saturated(gp_histogram_quantile(&a->stats.at[i].dur, 0.5), SLOW_CALL_TIMES);
        if (limit[i] < SLOW_CALL_NS) limit[i] = SLOW_CALL_NS;
    }
    for (size_t i = 0; i < api->n; i++) {
        uint32_t s = a->stat_of[api->name[i]];
        a->stats.at[s].outliers += api->dur_ns[i] > limit[s];
    }
    free(limit);
}

GP_COMPARE_IN(by_total, struct gp_api_stat, struct gp_hta,
              GP_DOWN(dur.sum) GP_THEN(gp_hta_order(of, x->name, y->name)))

static const struct gp_hta_list lists[] = {
    {&gp_hta_launch_sums, offsetof(struct gp_hta, launches), .one = true},
    {&gp_hta_api, offsetof(struct gp_hta, api), .map = offsetof(struct gp_hta_work, api), .order = by_total},
};

/* ---- GPU events ---- */

static void count_event(struct adder *a, size_t row, uint32_t call)
{
    const struct gp_events *gpu = &a->v->t->events[GP_GPU], *api = &a->v->t->events[GP_API];
    struct gp_hta_launches *l = &a->h->launches;
    int64_t start = gpu->start_ns[row], end = gp_add_saturated(api->start_ns[call], api->dur_ns[call]);
    l->linked++;
    a->started[call]++;
    if (start < api->start_ns[call]) {
        int64_t before = distance(api->start_ns[call], start);
        if (before > l->worst_before_ns) l->worst_before_ns = before;
        l->before_launch++;
    }
    if (stat_of(a, api->name[call])->graph) return;
    gp_histogram_add(&l->delay, start > end ? distance(start, end) : 0);
    if (gp_gpu_config(a->v->t, row)->kind != GP_KERNEL || gpu->dur_ns[row] >= api->dur_ns[call]) return;
    l->short_kernels++;
    l->short_kernel_ns += gpu->dur_ns[row];
}

/* ---- queues ---- */

/* One GPU event on its way: when it was launched. */
struct entry {
    int64_t launched_ns;
    uint32_t call;
};

GP_COMPARE(by_launch, struct entry, GP_UP(launched_ns) GP_UP(call))

/* The launches of a stream in order of time, and their starts in the order of the stream. Events without a
 * launch, or that began before it, say nothing about a queue. CALLS_ONLY: only the first event of each call,
 * such as a graph launch. */
static size_t collect(const struct adder *a, const struct gp_view_stream *s, bool calls_only,
                      struct entry *entries, int64_t *starts)
{
    const struct gp_events *gpu = &a->v->t->events[GP_GPU], *api = &a->v->t->events[GP_API];
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 0; i < s->n; i++) {
        uint32_t row = a->v->stream_rows[s->first + i], call = gp_view_launch(a->v, row);
        if (call == UINT32_MAX || api->start_ns[call] > gpu->start_ns[row]) continue;
        if (calls_only && n && entries[n - 1].call == call) continue;
        entries[n] = (struct entry){api->start_ns[call], call};
        starts[n] = gpu->start_ns[row];
        if (n && by_launch(&entries[n - 1], &entries[n]) > 0) sorted = false;
        n++;
    }
    if (!sorted) qsort(entries, n, sizeof *entries, by_launch);
    return n;
}

/* The GPU events that wait, as each launch finds them. */
static void measure_queue(struct adder *a, const struct entry *entries, const int64_t *starts, size_t n)
{
    struct gp_hta_launches *l = &a->h->launches;
    size_t started = 0;
    for (size_t i = 0; i < n;) {
        int64_t at = entries[i].launched_ns;
        while (started < n && starts[started] < at) started++;
        gp_histogram_add(&l->queue_len, (int64_t)(i - started));
        size_t end = i;
        while (end < n && entries[end].launched_ns == at && entries[end].call == entries[i].call) end++;
        if (end - started > l->max_queue) l->max_queue = end - started;
        i = end;
    }
}

/* When the queue holds QUEUE_FULL entries or more. */
static void find_full(const struct entry *entries, const int64_t *starts, size_t n, struct gp_intervals *full)
{
    for (size_t i = QUEUE_FULL - 1; i < n; i++) {
        /* This launch fills the queue until enough events have started, unless they already have. */
        int64_t until = starts[i - (QUEUE_FULL - 1)];
        gp_intervals_add(full, entries[i].launched_ns, until);
    }
}

static void measure_queues(struct adder *a)
{
    size_t most = 0;
    for (size_t i = 0; i < a->v->streams.n; i++)
        if (a->v->streams.at[i].n > most) most = a->v->streams.at[i].n;
    struct entry *entries = gp_alloc((most + 1) * sizeof *entries);
    int64_t *starts = gp_alloc((most + 1) * sizeof *starts);
    struct gp_intervals full = {0};
    GP_EACH(const struct gp_view_device, dev, a->v->devices) {
        for (size_t i = dev->first_stream; i < dev->first_stream + dev->n_streams; i++) {
            const struct gp_view_stream *s = &a->v->streams.at[i];
            measure_queue(a, entries, starts, collect(a, s, false, entries, starts));
            if (s->n >= QUEUE_FULL) find_full(entries, starts, collect(a, s, true, entries, starts), &full);
        }
        gp_intervals_normalise(&full);
        a->h->launches.queue_full_ns += gp_intervals_length(&full);
        gp_intervals_release(&full);
    }
    free(entries);
    free(starts);
}

/* ---- the part ---- */

static void add(struct gp_hta *h, const struct gp_view *v)
{
    struct adder a = {.h = h, .v = v};
    a.started = gp_zalloc((v->t->events[GP_API].n + 1) * sizeof *a.started);
    a.stat_of = gp_alloc_ones(((size_t)v->t->strings.n + 1) * sizeof *a.stat_of);
    const struct gp_events *gpu = &a.v->t->events[GP_GPU];
    a.h->launches.gpu_events += gpu->n;
    for (size_t i = 0; i < gpu->n; i++) {
        uint32_t call = gp_view_launch(a.v, (uint32_t)i);
        if (call != UINT32_MAX) count_event(&a, i, call);
    }
    const struct gp_events *api = &a.v->t->events[GP_API];
    struct gp_hta_launches *l = &a.h->launches;
    for (size_t i = 0; i < api->n; i++) {
        struct call_stat *s = stat_of(&a, api->name[i]);
        gp_histogram_add(&s->dur, api->dur_ns[i]);
        s->launches += a.started[i];
        if (!a.started[i]) continue;
        l->calls++;
        gp_histogram_add(&l->api_dur, api->dur_ns[i]);
        if (!s->graph) continue;
        l->graph_calls++;
        l->graph_events += a.started[i];
    }
    count_outliers(&a);
    GP_EACH(struct call_stat, from, a.stats) {
        gp_sid name = gp_intern_from(&a.h->strings, &a.v->t->strings, from->name);
        struct gp_api_stat *to = gp_hta_row(a.h, &lists[1], &(struct gp_api_stat){.name = name});
        gp_histogram_merge(&to->dur, &from->dur);
        to->launches += from->launches;
        to->outliers += from->outliers;
        gp_histogram_release(&from->dur);
    }
    free(a.started);
    free(a.stat_of);
    GP_VEC_FREE(&a.stats);
    measure_queues(&a);
}

const struct gp_hta_section gp_hta_launches_section = {lists, GP_COUNT(lists), .add = add, .inside = true};

/* ---- graphs ---- */

/* CUDA graphs: each launch is one call that starts many GPU events; launches of one graph are compared node
 * by node. */

GP_GET_UNLESS(get_worst_name, void, gp_member_kernel, !c->text_len)

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

struct graph_adder {
    struct gp_hta *h;
    const struct gp_view *v;
    uint8_t *is_launch; /* by name of a call: 1 no, 2 yes; 0: not examined */
    GP_VEC(struct graph) graphs;
    GP_VEC(struct node_event) events;
    struct gp_map graph_of; /* hash of a graph -> index */
    /* correlation id, without a call -> number, counted down from UINT32_MAX - 1 */
    struct gp_map instance_of;
};

static bool launches_graph(struct graph_adder *a, gp_sid name)
{
    if (!a->is_launch[name]) a->is_launch[name] = gp_call_launches_graph(gp_trace_str(a->v->t, name)) ? 2 : 1;
    return a->is_launch[name] == 2;
}

static uint32_t graph_index(struct graph_adder *a, const struct graph *g)
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

static void collect_graphs(struct graph_adder *a)
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

GP_COMPARE(by_instance, struct node_event, GP_UP(graph) GP_UP(instance) GP_UP(row))

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
    GP_EACH(const struct node, x, n->all) {
        int64_t spread = x->max_ns - x->min_ns, most = worst ? worst->max_ns - worst->min_ns : -1;
        if (spread > most || (spread == most && x->id < worst->id)) worst = x;
    }
    return worst;
}

/* One launch: N events in order of their start. */
static void add_launch(struct graph_adder *a, struct gp_graph_stat *s, struct nodes *nodes,
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
static void add_graph(struct graph_adder *a, const struct node_event *e, size_t n)
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
    s.worst_node_name = gp_intern_buf(&a->h->strings, &name);
    s.worst_node_min_ns = worst->min_ns;
    s.worst_node_max_ns = worst->max_ns;
    GP_VEC_PUSH(&a->h->graphs, s);
    GP_VEC_FREE(&nodes.all);
    gp_map_release(&nodes.index);
}

static void add_graphs(struct gp_hta *h, const struct gp_view *v)
{
    struct graph_adder a = {.h = h, .v = v};
    a.is_launch = gp_zalloc((size_t)v->t->strings.n + 1);
    collect_graphs(&a);
    if (a.events.n) qsort(a.events.at, a.events.n, sizeof *a.events.at, by_instance);
    for (size_t first = 0, end; first < a.events.n; first = end) {
        for (end = first; end < a.events.n && a.events.at[end].graph == a.events.at[first].graph;) end++;
        add_graph(&a, a.events.at + first, end - first);
    }
    free(a.is_launch);
    GP_RELEASE(gp_vec_free, &a.graphs, &a.events);
    GP_RELEASE(gp_map_release, &a.graph_of, &a.instance_of);
}

GP_COMPARE_IN(by_busy, struct gp_graph_stat, void, GP_UP(rank) GP_DOWN(busy.sum) GP_UP(graph))

/* Ids are those of one process: graphs of two traces are never the same one. */
static const struct gp_hta_list graph_lists[] = {
    {&gp_hta_graphs, offsetof(struct gp_hta, graphs),
     .kept = {GP_HTA_KEPT_GRAPHS, GP_HTA_KEPT_UNRANKED, sizeof(int32_t),
              offsetof(struct gp_hta_bound, graphs)},
     .order = by_busy},
};
const struct gp_hta_section gp_hta_graphs_section = {graph_lists, GP_COUNT(graph_lists), .add = add_graphs,
                                                     .timed = true};
