#include "render/hta/hta_json.h"

#include <stdio.h>
#include <string.h>
#include "analyze/names/names.h"
#include "formats/base/json_write.h"
#include "render/hta/hta_sums.h"
#include "render/hta/hta_fleet.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"
#include "render/hta/hta_verdict.h"

struct out {
    struct gp_doc d;
    const struct gp_hta *h;
    size_t top;
    bool steps, whole;
};

/* ---- members ---- */

static void put_id(struct out *o, const char *k, uint64_t id)
{
    if (id == GP_NO_ID) gp_doc_null(&o->d, k);
    else gp_doc_u64(&o->d, k, id);
}

/* A figure that needs times between launches. */
static void put_timed(struct out *o, const char *k, int64_t v)
{
    if (o->h->untimed) gp_doc_null(&o->d, k);
    else gp_doc_i64(&o->d, k, v);
}

/* PART of WHOLE in percent, null if WHOLE is 0. */
static void put_share(struct out *o, const char *k, double part, int64_t whole)
{
    if (whole > 0) gp_doc_real(&o->d, k, 100 * part / (double)whole);
    else gp_doc_null(&o->d, k);
}

static void put_rate(struct out *o, const char *k, double gbps)
{
    if (gbps > 0) gp_doc_real(&o->d, k, gbps);
    else gp_doc_null(&o->d, k);
}

static double mean(const struct gp_dist *d)
{
    return d->n ? (double)d->sum / (double)d->n : 0;
}

/* WORD and UNIT in one name. */
struct field {
    char name[48];
};
static struct field field_of(const char *word, const char *unit)
{
    struct field f;
    snprintf(f.name, sizeof f.name, "%s%s", word, unit);
    return f;
}

/* A distribution; UNIT is "_ns", "_bytes" or "". */
static void put_dist(struct out *o, const char *k, const struct gp_dist *d, const char *unit)
{
    static const struct {
        const char *name;
        double q;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
    gp_doc_object(&o->d, k);
    gp_doc_u64(&o->d, "count", d->n);
    const int64_t ints[] = {d->sum, d->n ? d->min : 0, d->n ? d->max : 0};
    const char *const int_names[] = {"total", "min", "max"};
    for (int i = 0; i < 3; i++) {
        gp_doc_i64(&o->d, field_of(int_names[i], unit).name, ints[i]);
    }
    gp_doc_real(&o->d, field_of("mean", unit).name, mean(d));
    gp_doc_real(&o->d, field_of("stddev", unit).name, gp_dist_stddev(d));
    for (int i = 0; i < 3; i++) {
        gp_doc_i64(&o->d, field_of(quantiles[i].name, unit).name, gp_dist_quantile(d, quantiles[i].q));
    }
    gp_doc_end(&o->d, '}');
}

static void put_timed_dist(struct out *o, const char *k, const struct gp_dist *d, const char *unit)
{
    if (o->h->untimed) gp_doc_null(&o->d, k);
    else put_dist(o, k, d, unit);
}

static size_t shown(const struct out *o, size_t n)
{
    return o->top && o->top < n ? o->top : n;
}

/* What the list before it does not show: its rows, and two of their sums; with these, the rows add up to what was split. */
static void put_rest(struct out *o, const char *list, size_t rows, const char *count, uint64_t n,
                     const char *time, int64_t ns)
{
    gp_doc_object(&o->d, field_of(list, "_rest").name);
    gp_doc_u64(&o->d, "rows", rows);
    gp_doc_u64(&o->d, count, n);
    gp_doc_i64(&o->d, time, ns);
    gp_doc_end(&o->d, '}');
}

static void put_ranks(struct out *o)
{
    const struct gp_hta *h = o->h;
    gp_doc_object(&o->d, "ranks");
    gp_doc_known(&o->d, "world_size", h->world_size);
    gp_doc_list(&o->d, "missing");
    for (size_t i = 0; i < h->missing_ranks.n; i++) {
        gp_doc_next(&o->d);
        gp_buf_put_i64(o->d.b, h->missing_ranks.at[i]);
    }
    gp_doc_end(&o->d, ']');
    gp_doc_list(&o->d, "repeated");
    for (size_t i = 0; i < h->repeated_ranks.n; i++) {
        gp_doc_next(&o->d);
        gp_buf_put_i64(o->d.b, h->repeated_ranks.at[i]);
    }
    gp_doc_end(&o->d, ']');
    gp_doc_end(&o->d, '}');
}

/* ---- devices ---- */

static void put_breakdown(struct out *o, const struct gp_breakdown *b)
{
    int64_t span = o->h->untimed ? 0 : b->span_ns > 0 ? b->span_ns : 1; /* of nothing: 0% */
    put_timed(o, "span_ns", b->span_ns);
    put_timed(o, "busy_ns", b->busy_ns);
    put_timed(o, "idle_ns", b->idle_ns);
    put_timed(o, "compute_ns", b->compute_ns);
    put_timed(o, "communication_ns", b->communication_ns);
    put_timed(o, "memory_ns", b->memory_ns);
    put_timed(o, "exposed_communication_ns", b->exposed_communication_ns);
    put_timed(o, "exposed_memory_ns", b->exposed_memory_ns);
    put_share(o, "compute_pct", (double)b->compute_ns, span);
    put_share(o, "exposed_communication_pct", (double)b->exposed_communication_ns, span);
    put_share(o, "exposed_memory_pct", (double)b->exposed_memory_ns, span);
    put_share(o, "idle_pct", (double)b->idle_ns, span);
    put_share(o, "overlap_pct", (double)b->overlap_ns, b->communication_ns);
}

static void put_window(struct out *o, const struct gp_breakdown *b)
{
    gp_doc_u64(&o->d, "gpu_events", b->gpu_events);
    gp_doc_i64(&o->d, "gpu_ns", b->gpu_ns);
    put_timed(o, "begin_ns", b->begin_ns);
    put_timed(o, "end_ns", b->end_ns);
}

static void put_causes(struct out *o, const int64_t cause_ns[GP_IDLE_CAUSE_COUNT])
{
    if (o->h->untimed) {
        gp_doc_null(&o->d, "idle");
        return;
    }
    gp_doc_object(&o->d, "idle");
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
        gp_doc_i64(&o->d, field_of(gp_idle_cause_name((enum gp_idle_cause)c), "_ns").name, cause_ns[c]);
    gp_doc_end(&o->d, '}');
}

static void put_culprits(struct out *o, const struct gp_hta_device *d)
{
    size_t n = shown(o, d->culprits.n);
    int64_t rest = d->b.idle_ns; /* what the rows do not add up to */
    gp_doc_list(&o->d, "idle_culprits");
    for (size_t i = 0; i < n; i++) {
        const struct gp_idle_culprit *c = &d->culprits.at[i];
        gp_doc_element(&o->d);
        gp_doc_cstr(&o->d, "cause", gp_idle_cause_name((enum gp_idle_cause)c->cause));
        gp_doc_name(&o->d, "range", c->range);
        gp_doc_name(&o->d, "python", c->python);
        gp_doc_name(&o->d, "operator", c->op);
        gp_doc_name(&o->d, "api", c->api);
        gp_doc_i64(&o->d, "idle_ns", c->idle_ns);
        gp_doc_u64(&o->d, "gaps", c->gaps);
        gp_doc_u64(&o->d, "samples", c->samples);
        gp_doc_i64(&o->d, "longest_ns", c->longest_ns);
        gp_doc_i64(&o->d, "longest_at_ns", c->longest_at_ns);
        gp_doc_end(&o->d, '}');
        rest -= c->idle_ns;
    }
    gp_doc_end(&o->d, ']');
    put_timed(o, "idle_culprits_rest_ns", rest);
}

static void put_streams(struct out *o, const struct gp_hta_device *d)
{
    gp_doc_list(&o->d, "streams");
    for (size_t i = 0; i < d->streams.n; i++) {
        gp_doc_element(&o->d);
        gp_doc_known(&o->d, "stream", d->streams.at[i].stream);
        gp_doc_name(&o->d, "name", d->streams.at[i].name);
        put_breakdown(o, &d->streams.at[i].b);
        put_window(o, &d->streams.at[i].b);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

static void put_devices(struct out *o)
{
    gp_doc_list(&o->d, "devices");
    for (size_t i = 0; i < o->h->devices.n; i++) {
        const struct gp_hta_device *d = &o->h->devices.at[i];
        gp_doc_element(&o->d);
        gp_doc_known(&o->d, "rank", d->rank);
        gp_doc_known(&o->d, "device", d->device);
        put_breakdown(o, &d->b);
        put_causes(o, d->idle_cause_ns);
        put_streams(o, d);
        gp_doc_u64(&o->d, "process", d->producer);
        gp_doc_name(&o->d, "name", d->name);
        put_window(o, &d->b);
        put_timed_dist(o, "idle_gaps", &d->gaps, "_ns");
        put_culprits(o, d);
        put_share(o, "sm_efficiency_pct", d->sm_ns, gp_sm_known(d) ? d->b.span_ns : 0);
        put_share(o, "occupancy_pct", (double)d->occupancy_ns, d->occupancy_known_ns);
        put_share(o, "tensor_core_pct", (double)d->tensor_core_ns, d->kernel_ns);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

/* ---- kernels ---- */

static void put_kernels(struct out *o)
{
    struct gp_row_of of = gp_hta_kernels_of(o->h);
    size_t n = shown(o, o->h->kernels.n);
    uint64_t count = 0;
    int64_t rest_ns = 0;
    gp_record_json(&o->d, &gp_hta_kernels, o->h->kernels.at, n, &of);
    for (size_t i = n; i < o->h->kernels.n; i++) {
        count += o->h->kernels.at[i].dur.n;
        rest_ns = gp_add_saturated(rest_ns, o->h->kernels.at[i].dur.sum);
    }
    put_rest(o, "kernels", o->h->kernels.n - n, "count", count, "total_ns", rest_ns);
}

static void put_owners(struct out *o, enum gp_owner_sort sort, const char *k)
{
    const struct gp_hta *h = o->h;
    int64_t all_ns = 0;
    size_t rows = 0;
    uint64_t events = 0;
    for (size_t i = 0; i < h->owners.n; i++)
        if (h->owners.at[i].sort == (uint32_t)sort) all_ns += h->owners.at[i].gpu_ns;
    int64_t rest_ns = all_ns;
    gp_doc_list(&o->d, k);
    for (size_t i = 0; i < h->owners.n; i++) {
        const struct gp_owner_stat *w = &h->owners.at[i];
        if (w->sort != (uint32_t)sort) continue;
        if (o->top && rows++ >= o->top) {
            events += w->gpu_events;
            continue;
        }
        rest_ns -= w->gpu_ns;
        gp_doc_element(&o->d);
        gp_doc_name(&o->d, "name", w->name);
        gp_doc_u64(&o->d, "calls", w->calls);
        gp_doc_u64(&o->d, "gpu_events", w->gpu_events);
        gp_doc_i64(&o->d, "gpu_ns", w->gpu_ns);
        gp_doc_real(&o->d, "share_pct", gp_pct(w->gpu_ns, all_ns));
        put_timed(o, "host_ns", w->host_ns);
        put_timed_dist(o, "delay", &w->delay, "_ns");
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
    put_rest(o, k, o->top && rows > o->top ? rows - o->top : 0, "gpu_events", events, "gpu_ns", rest_ns);
}

/* ---- launches ---- */

static void put_launches(struct out *o)
{
    const struct gp_hta_launches *l = &o->h->launches;
    gp_doc_object(&o->d, "launches");
    gp_doc_u64(&o->d, "gpu_events", l->gpu_events);
    gp_doc_u64(&o->d, "linked", l->linked);
    gp_doc_u64(&o->d, "calls", l->calls);
    gp_doc_u64(&o->d, "graph_calls", l->graph_calls);
    gp_doc_u64(&o->d, "graph_events", l->graph_events);
    put_timed(o, "short_kernels", (int64_t)l->short_kernels);
    put_timed(o, "short_kernel_ns", l->short_kernel_ns);
    put_timed(o, "before_launch", (int64_t)l->before_launch);
    put_timed(o, "worst_before_launch_ns", l->worst_before_ns);
    put_timed(o, "max_queue", (int64_t)l->max_queue);
    put_timed(o, "queue_full_ns", l->queue_full_ns);
    put_timed_dist(o, "delay", &l->delay, "_ns");
    put_timed_dist(o, "call", &l->api_dur, "_ns");
    put_timed_dist(o, "queue_length", &l->queue_len, "");
    gp_doc_end(&o->d, '}');
}

static void put_api(struct out *o)
{
    size_t n = shown(o, o->h->api.n);
    gp_doc_list(&o->d, "api");
    for (size_t i = 0; i < n; i++) {
        const struct gp_api_stat *a = &o->h->api.at[i];
        gp_doc_element(&o->d);
        gp_doc_sid(&o->d, "name", a->name);
        gp_doc_u64(&o->d, "launches", a->launches);
        gp_doc_u64(&o->d, "outliers", a->outliers);
        put_dist(o, "duration", &a->dur, "_ns");
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
    uint64_t count = 0;
    int64_t rest_ns = 0;
    for (size_t i = n; i < o->h->api.n; i++) {
        count += o->h->api.at[i].dur.n;
        rest_ns = gp_add_saturated(rest_ns, o->h->api.at[i].dur.sum);
    }
    put_rest(o, "api", o->h->api.n - n, "count", count, "total_ns", rest_ns);
}

static void put_graphs(struct out *o)
{
    size_t n = shown(o, o->h->graphs.n);
    gp_doc_list(&o->d, "graphs");
    for (size_t i = 0; i < n; i++) {
        const struct gp_graph_stat *g = &o->h->graphs.at[i];
        gp_doc_element(&o->d);
        gp_doc_known(&o->d, "rank", g->rank);
        put_id(o, "graph", g->graph);
        gp_doc_u64(&o->d, "launches", g->launches);
        gp_doc_u64(&o->d, "gpu_events", g->gpu_events);
        gp_doc_u64(&o->d, "nodes", g->nodes);
        put_dist(o, "span", &g->span, "_ns");
        put_dist(o, "busy", &g->busy, "_ns");
        put_id(o, "worst_node", g->worst_node);
        gp_doc_name(&o->d, "worst_node_name", g->worst_node_name);
        gp_doc_i64(&o->d, "worst_node_min_ns", g->worst_node_min_ns);
        gp_doc_i64(&o->d, "worst_node_max_ns", g->worst_node_max_ns);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

/* ---- steps ---- */

static void put_step(struct out *o, const struct gp_hta_step *s)
{
    gp_doc_element(&o->d);
    gp_doc_name(&o->d, "name", s->name);
    gp_doc_bool(&o->d, "cut", s->partial);
    gp_doc_bool(&o->d, "warm_up", s->warm_up);
    gp_doc_i64(&o->d, "host_begin_ns", s->host_begin_ns);
    gp_doc_i64(&o->d, "host_end_ns", s->host_end_ns);
    gp_doc_u64(&o->d, "launches", s->launches);
    put_breakdown(o, &s->b);
    put_window(o, &s->b);
    gp_doc_end(&o->d, '}');
}

/* S is of all whole steps; STEADY, of the same device, without warm-up. */
static void put_spread(struct out *o, const struct gp_step_spread *s, const struct gp_step_spread *steady)
{
    gp_doc_element(&o->d);
    gp_doc_known(&o->d, "rank", s->first->rank);
    gp_doc_known(&o->d, "device", s->first->device);
    gp_doc_u64(&o->d, "process", s->first->producer);
    gp_doc_cstr(&o->d, "source", gp_step_source_name((enum gp_step_source)s->first->source));
    gp_doc_u64(&o->d, "count", s->count);
    gp_doc_u64(&o->d, "whole", s->used);
    gp_doc_u64(&o->d, "warm_up", s->warm_up);
    gp_doc_u64(&o->d, "timed", steady->used);
    gp_doc_i64(&o->d, "step_ns", steady->step_ns);
    gp_doc_i64(&o->d, "step_median_ns", steady->median_ns);
    gp_doc_i64(&o->d, "median_ns", s->median_ns);
    gp_doc_real(&o->d, "mean_ns", s->mean_ns);
    gp_doc_real(&o->d, "stddev_ns", s->stddev_ns);
    gp_doc_i64(&o->d, "min_ns", s->fastest->b.span_ns);
    gp_doc_i64(&o->d, "max_ns", s->slowest->b.span_ns);
    gp_doc_name(&o->d, "slowest", s->slowest->name);
    gp_doc_real(&o->d, "compute_pct", gp_pct(s->sum.compute_ns, s->sum.span_ns));
    gp_doc_real(&o->d, "exposed_communication_pct", gp_pct(s->sum.exposed_communication_ns, s->sum.span_ns));
    gp_doc_real(&o->d, "exposed_memory_pct", gp_pct(s->sum.exposed_memory_ns, s->sum.span_ns));
    gp_doc_real(&o->d, "idle_pct", gp_pct(s->sum.idle_ns, s->sum.span_ns));
    if (o->steps) {
        gp_doc_list(&o->d, "each");
        for (size_t i = 0; i < s->count; i++) put_step(o, &s->first[i]);
        gp_doc_end(&o->d, ']');
    }
    gp_doc_end(&o->d, '}');
}

static void put_steps(struct out *o)
{
    gp_step_spreads all = {0}, steady = {0};
    gp_hta_step_spreads(o->h, true, &all);
    gp_hta_step_spreads(o->h, false, &steady);
    gp_doc_list(&o->d, "steps");
    for (size_t i = 0; i < all.n; i++) put_spread(o, &all.at[i], &steady.at[i]);
    gp_doc_end(&o->d, ']');
    GP_VEC_FREE(&all);
    GP_VEC_FREE(&steady);
}

/* The device of a part in the answer about the steps: its idle time there by cause. */
static const struct gp_hta_device *device_of(const struct gp_hta *about, const struct gp_hta_part *p)
{
    for (size_t i = 0; i < about->devices.n; i++) {
        const struct gp_hta_device *d = &about->devices.at[i];
        if (d->rank == p->rank && d->producer == p->producer && d->device == p->device &&
            d->b.idle_ns == p->b.idle_ns)
            return d;
    }
    return NULL;
}

static void put_parts(struct out *o)
{
    gp_doc_list(&o->d, "parts");
    for (size_t i = 0; i < o->h->parts.n; i++) {
        const struct gp_hta_part *p = &o->h->parts.at[i];
        const struct gp_hta_device *d =
            p->kind == GP_PART_STEPS ? device_of(gp_hta_about(o->h, false), p) : NULL;
        gp_doc_element(&o->d);
        gp_doc_known(&o->d, "rank", p->rank);
        gp_doc_known(&o->d, "device", p->device);
        gp_doc_u64(&o->d, "process", p->producer);
        gp_doc_cstr(&o->d, "part", gp_hta_part_name((enum gp_hta_part_kind)p->kind));
        gp_doc_u64(&o->d, "steps", p->steps);
        put_breakdown(o, &p->b);
        if (d) put_causes(o, d->idle_cause_ns);
        put_window(o, &p->b);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

/* ---- communication ---- */

static void put_collectives(struct out *o)
{
    size_t n = shown(o, o->h->collective_stats.n);
    gp_doc_list(&o->d, "collectives");
    for (size_t i = 0; i < n; i++) {
        const struct gp_collective_stat *c = &o->h->collective_stats.at[i];
        gp_doc_element(&o->d);
        gp_doc_sid(&o->d, "operation", c->op);
        gp_doc_name(&o->d, "group", c->group);
        gp_doc_name(&o->d, "type", c->dtype);
        gp_doc_known(&o->d, "group_size", c->group_size ? (int64_t)c->group_size : -1);
        gp_doc_u64(&o->d, "count", c->count);
        gp_doc_known(&o->d, "calls", c->calls ? (int64_t)c->calls : -1);
        gp_doc_known(&o->d, "bytes", c->bytes);
        put_dist(o, "duration", &c->dur, "_ns");
        put_dist(o, "start_skew", &c->skew, "_ns");
        put_rate(o, "algorithm_bandwidth_gbps", c->algbw_gbps);
        put_rate(o, "bus_bandwidth_gbps", c->busbw_gbps);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
    uint64_t count = 0;
    int64_t rest_ns = 0;
    for (size_t i = n; i < o->h->collective_stats.n; i++) {
        count += o->h->collective_stats.at[i].count;
        rest_ns = gp_add_saturated(rest_ns, o->h->collective_stats.at[i].dur.sum);
    }
    put_rest(o, "collectives", o->h->collective_stats.n - n, "count", count, "total_ns", rest_ns);
}

static void put_match(struct out *o, const struct gp_collective_match *c)
{
    gp_doc_element(&o->d);
    gp_doc_sid(&o->d, "operation", c->op);
    gp_doc_name(&o->d, "group", c->group);
    gp_doc_name(&o->d, "type", c->dtype);
    put_id(o, "sequence", c->seq);
    gp_doc_cstr(&o->d, "matched_by", c->by_seq ? "sequence" : "order");
    gp_doc_u64(&o->d, "ranks", c->ranks);
    gp_doc_known(&o->d, "bytes", c->bytes);
    gp_doc_i64(&o->d, "start_skew_ns", c->start_skew_ns);
    gp_doc_i64(&o->d, "end_skew_ns", c->end_skew_ns);
    gp_doc_i64(&o->d, "duration_ns", c->duration_ns);
    gp_doc_i64(&o->d, "wait_ns", c->wait_ns);
    gp_doc_known(&o->d, "last_rank", c->last_rank);
    put_rate(o, "algorithm_bandwidth_gbps", c->algbw_gbps);
    put_rate(o, "bus_bandwidth_gbps", c->busbw_gbps);
    gp_doc_end(&o->d, '}');
}

/* How the collectives of the ranks were put together; all of them with --top 0. */
static void put_matches(struct out *o)
{
    const struct gp_hta *h = o->h;
    size_t n = shown(o, h->matches.n);
    gp_doc_object(&o->d, "collective_matching");
    gp_doc_u64(&o->d, "seen", h->collectives.n);
    gp_doc_u64(&o->d, "matched", h->matches.n);
    gp_doc_u64(&o->d, "unmatched", h->unmatched_collectives);
    gp_doc_u64(&o->d, "mismatched", h->mismatched_collectives);
    gp_doc_list(&o->d, "matches");
    for (size_t i = 0; i < n; i++) put_match(o, &h->matches.at[i]);
    gp_doc_end(&o->d, ']');
    gp_doc_end(&o->d, '}');
}

static void put_stragglers(struct out *o)
{
    size_t n = shown(o, o->h->stragglers.n);
    gp_doc_list(&o->d, "stragglers");
    for (size_t i = 0; i < n; i++) {
        const struct gp_straggler *s = &o->h->stragglers.at[i];
        gp_doc_element(&o->d);
        gp_doc_known(&o->d, "rank", s->rank);
        gp_doc_u64(&o->d, "collectives", s->matched);
        gp_doc_u64(&o->d, "times_last", s->times_last);
        gp_doc_i64(&o->d, "lateness_ns", s->lateness_ns);
        gp_doc_i64(&o->d, "caused_wait_ns", s->caused_wait_ns);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

static void put_offsets(struct out *o)
{
    gp_doc_list(&o->d, "clock_offsets");
    for (size_t i = 0; i < o->h->offsets.n; i++) {
        const struct gp_rank_offset *f = &o->h->offsets.at[i];
        gp_doc_element(&o->d);
        gp_doc_known(&o->d, "rank", f->rank);
        gp_doc_i64(&o->d, "offset_ns", f->offset_ns);
        gp_doc_i64(&o->d, "error_ns", f->error_ns);
        gp_doc_u64(&o->d, "collectives", f->pairs);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

/* ---- copies, memory, path, findings ---- */

static void put_copies(struct out *o)
{
    size_t n = shown(o, o->h->copies.n);
    gp_doc_list(&o->d, "copies");
    for (size_t i = 0; i < n; i++) {
        const struct gp_copy_stat *c = &o->h->copies.at[i];
        gp_doc_element(&o->d);
        gp_doc_sid(&o->d, "name", c->name);
        gp_doc_u64(&o->d, "count", c->count);
        gp_doc_i64(&o->d, "total_bytes", c->bytes);
        gp_doc_i64(&o->d, "total_ns", c->dur_ns);
        put_rate(o, "bandwidth_gbps", c->dur_ns > 0 ? (double)c->bytes / (double)c->dur_ns : 0);
        put_dist(o, "size", &c->size, "_bytes");
        gp_doc_bool(&o->d, "pageable", c->pageable);
        gp_doc_u64(&o->d, "sync_calls", c->sync_calls);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
    uint64_t count = 0;
    int64_t rest_ns = 0;
    for (size_t i = n; i < o->h->copies.n; i++) {
        count += o->h->copies.at[i].count;
        rest_ns = gp_add_saturated(rest_ns, o->h->copies.at[i].dur_ns);
    }
    put_rest(o, "copies", o->h->copies.n - n, "count", count, "total_ns", rest_ns);
}

static void put_memory(struct out *o)
{
    gp_doc_list(&o->d, "memory");
    for (size_t i = 0; i < o->h->memory.n; i++) {
        const struct gp_memory_stat *s = &o->h->memory.at[i];
        gp_doc_element(&o->d);
        gp_doc_known(&o->d, "rank", s->rank);
        gp_doc_known(&o->d, "device", s->device);
        gp_doc_u64(&o->d, "allocations", s->allocations);
        gp_doc_u64(&o->d, "frees", s->frees);
        gp_doc_i64(&o->d, "allocated_bytes", s->allocated_bytes);
        gp_doc_i64(&o->d, "peak_bytes", s->peak_bytes);
        gp_doc_i64(&o->d, "peak_at_ns", s->peak_at_ns);
        gp_doc_i64(&o->d, "peak_reserved_bytes", s->peak_reserved_bytes);
        gp_doc_name(&o->d, "peak_operator", s->peak_op);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

static void put_range_memory(struct out *o)
{
    size_t n = shown(o, o->h->range_memory.n);
    gp_doc_list(&o->d, "range_memory");
    for (size_t i = 0; i < n; i++) {
        const struct gp_range_memory *m = &o->h->range_memory.at[i];
        gp_doc_element(&o->d);
        gp_doc_name(&o->d, "name", m->name);
        gp_doc_u64(&o->d, "allocations", m->allocations);
        gp_doc_u64(&o->d, "frees", m->frees);
        gp_doc_i64(&o->d, "allocated_bytes", m->allocated_bytes);
        gp_doc_i64(&o->d, "freed_bytes", m->freed_bytes);
        gp_doc_i64(&o->d, "peak_bytes", m->peak_bytes);
        gp_doc_u64(&o->d, "host_allocations", m->host_allocations);
        gp_doc_i64(&o->d, "host_bytes", m->host_bytes);
        gp_doc_u64(&o->d, "copies", m->copies);
        gp_doc_i64(&o->d, "copied_bytes", m->copied_bytes);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

static void put_sampled(struct out *o)
{
    gp_doc_list(&o->d, "sampled");
    for (size_t i = 0; i < o->h->sampled.n; i++) {
        const struct gp_sampled *s = &o->h->sampled.at[i];
        const char *over = gp_sampled_over_name((enum gp_sampled_over)s->over);
        gp_doc_element(&o->d);
        gp_doc_known(&o->d, "rank", s->rank);
        gp_doc_i64(&o->d, "device", s->device);
        gp_doc_cstr(&o->d, "over", over);
        gp_doc_name(&o->d, "name", s->name);
        gp_doc_name(&o->d, "metric", s->metric);
        gp_doc_name(&o->d, "unit", s->unit);
        gp_doc_i64(&o->d, "sampled_ns", s->ns);
        gp_doc_real(&o->d, "mean", s->mean);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
}

static void put_path(struct out *o, const struct gp_hta_path *p)
{
    gp_path_sums sums = {0};
    gp_hta_path_sums(p, &sums);
    gp_doc_element(&o->d);
    gp_doc_known(&o->d, "rank", p->rank);
    gp_doc_u64(&o->d, "process", p->producer);
    gp_doc_name(&o->d, "window", p->window);
    gp_doc_i64(&o->d, "begin_ns", p->begin_ns);
    gp_doc_i64(&o->d, "end_ns", p->end_ns);
    gp_doc_i64(&o->d, "length_ns", p->end_ns - p->begin_ns);
    gp_doc_object(&o->d, "bound");
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++)
        gp_doc_i64(&o->d, field_of(gp_path_bound_name((enum gp_path_bound)b), "_ns").name, p->bound_ns[b]);
    gp_doc_end(&o->d, '}');
    gp_doc_u64(&o->d, "pieces", p->pieces.n);
    gp_doc_list(&o->d, "names");
    for (size_t i = 0, n = shown(o, sums.n); i < n; i++) {
        const struct gp_path_sum *s = &sums.at[i];
        gp_doc_element(&o->d);
        gp_doc_sid(&o->d, "name", s->full ? s->full : s->name);
        gp_doc_cstr(&o->d, "bound", gp_path_bound_name((enum gp_path_bound)s->bound));
        gp_doc_u64(&o->d, "count", s->count);
        gp_doc_i64(&o->d, "total_ns", s->total_ns);
        gp_doc_i64(&o->d, "longest_ns", s->longest_ns);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
    uint64_t count = p->pieces.n;
    int64_t rest_ns = p->end_ns - p->begin_ns; /* with what is not kept of a path */
    size_t n = shown(o, sums.n);
    for (size_t i = 0; i < n; i++) {
        count -= sums.at[i].count;
        rest_ns -= sums.at[i].total_ns;
    }
    put_rest(o, "names", sums.n - n, "count", count, "total_ns", rest_ns);
    gp_doc_end(&o->d, '}');
    GP_VEC_FREE(&sums);
}

static void put_paths(struct out *o)
{
    gp_doc_object(&o->d, "critical_path");
    gp_doc_list(&o->d, "paths");
    for (size_t i = 0; i < o->h->paths.n; i++) put_path(o, &o->h->paths.at[i]);
    gp_doc_end(&o->d, ']');
    gp_doc_end(&o->d, '}');
}

static void put_findings(struct out *o)
{
    const struct gp_hta *h = gp_hta_about(o->h, o->whole);
    struct gp_doc *d = &o->d;
    const struct gp_strings *strings = d->strings;
    gp_doc_cstr(d, "about", h == o->h ? "trace" : "steps");
    d->strings = &h->strings;
    gp_doc_list(&o->d, "findings");
    for (size_t i = 0; i < h->findings.n; i++) {
        const struct gp_finding *f = &h->findings.at[i];
        gp_doc_element(&o->d);
        gp_doc_sid(&o->d, "id", f->id);
        gp_doc_known(&o->d, "rank", f->rank);
        gp_doc_i64(&o->d, "time_ns", f->time_ns);
        gp_doc_real(&o->d, "share_pct", f->share_pct);
        gp_doc_sid(&o->d, "text", f->text);
        gp_doc_name(&o->d, "where", f->where);
        gp_doc_end(&o->d, '}');
    }
    gp_doc_end(&o->d, ']');
    d->strings = strings;
}

static void put_share_of(struct out *o, const char *key, double v, int64_t ns, double scale)
{
    if (v > 0 && ns > 0) gp_doc_real(&o->d, key, v / (double)ns * scale);
    else gp_doc_null(&o->d, key);
}

static void put_op_shape(struct out *o, const struct gp_op_shape *s, int64_t all_ns)
{
    gp_doc_element(&o->d);
    gp_doc_name(&o->d, "name", s->name);
    gp_doc_name(&o->d, "shapes", s->shapes);
    gp_doc_u64(&o->d, "calls", s->calls);
    gp_doc_u64(&o->d, "gpu_events", s->gpu_events);
    gp_doc_i64(&o->d, "gpu_ns", s->gpu_ns);
    gp_doc_real(&o->d, "share_pct", gp_pct(s->gpu_ns, all_ns));
    gp_doc_i64(&o->d, "known_ns", s->known_ns);
    gp_doc_i64(&o->d, "flops", s->flops);
    gp_doc_i64(&o->d, "bytes_low", s->bytes_low);
    gp_doc_i64(&o->d, "bytes_high", s->bytes_high);
    put_share_of(o, "tflops", (double)s->flops, s->known_ns, 1e-3);
    put_share_of(o, "gbps", ((double)s->bytes_low + (double)s->bytes_high) / 2, s->known_ns, 1);
    put_share_of(o, "ceiling_pct", (double)s->ceiling_ns, s->ceiling_known_ns, 100);
    gp_doc_cstr(&o->d, "arithmetic", gp_arith_name((enum gp_arith)s->arith));
    gp_doc_end(&o->d, '}');
}

static void put_op_shapes(struct out *o)
{
    const struct gp_hta *h = o->h;
    int64_t all_ns = 0;
    for (size_t i = 0; i < h->op_shapes.n; i++) all_ns += h->op_shapes.at[i].gpu_ns;
    gp_doc_list(&o->d, "operators_by_shape");
    for (size_t i = 0; i < h->op_shapes.n && (!o->top || i < o->top); i++)
        put_op_shape(o, &h->op_shapes.at[i], all_ns);
    gp_doc_end(&o->d, ']');
    size_t n = shown(o, h->op_shapes.n);
    uint64_t events = 0;
    int64_t rest_ns = 0;
    for (size_t i = n; i < h->op_shapes.n; i++) {
        events += h->op_shapes.at[i].gpu_events;
        rest_ns = gp_add_saturated(rest_ns, h->op_shapes.at[i].gpu_ns);
    }
    put_rest(o, "operators_by_shape", h->op_shapes.n - n, "gpu_events", events, "gpu_ns", rest_ns);
}

static void put_summary(struct out *o)
{
    struct gp_report r = {0};
    gp_hta_say(&r, o->h, o->whole);
    gp_doc_summary(&o->d, &r);
    gp_report_release(&r);
}

void gp_hta_json_write(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_json_opts *opts)
{
    struct out o = {.d = {.b = b, .strings = &h->strings},
                    .h = h,
                    .top = opts->top,
                    .steps = opts->steps,
                    .whole = opts->whole};
    gp_doc_begin(&o.d, '{');
    gp_doc_head_of(&o.d,
                   &(struct gp_doc_tool){"trace-hta", opts->tool ? opts->tool : "trace-hta", opts->version},
                   h->inputs.at, h->bound.listed ? h->bound.listed : h->inputs.n, h->inputs.n);
    put_summary(&o);
    put_devices(&o);
    put_kernels(&o);
    put_launches(&o);
    put_parts(&o);
    put_steps(&o);
    put_collectives(&o);
    put_stragglers(&o);
    put_paths(&o);
    put_ranks(&o);
    put_owners(&o, GP_OWNER_OP, "operators");
    put_op_shapes(&o);
    put_owners(&o, GP_OWNER_RANGE, "ranges");
    put_owners(&o, GP_OWNER_MODULE, "modules");
    put_api(&o);
    put_graphs(&o);
    put_matches(&o);
    put_offsets(&o);
    put_copies(&o);
    put_memory(&o);
    put_range_memory(&o);
    put_sampled(&o);
    put_findings(&o);
    gp_hta_json_fleet(&o.d, h);
    gp_doc_end(&o.d, '}');
    gp_buf_putc(b, '\n');
}
