#include "render/hta_json.h"

#include <stdio.h>
#include <string.h>
#include "analyze/names.h"
#include "formats/base/json_write.h"
#include "render/hta_sums.h"

/* The outer levels get a line for each member, the inner ones are kept on one line. */
enum { LINES_TO = 2 };

struct out {
    struct gp_buf *b;
    const struct gp_hta *h;
    size_t top;
    bool steps;
    int depth;
    bool comma; /* something stands before the next member */
};

/* ---- syntax ---- */

static void next(struct out *o)
{
    if (o->comma) gp_buf_putc(o->b, ',');
    if (o->depth <= LINES_TO && o->depth > 0) {
        gp_buf_putc(o->b, '\n');
        for (int i = 0; i < o->depth; i++) gp_buf_puts(o->b, "  ");
    } else if (o->comma) {
        gp_buf_putc(o->b, ' ');
    }
    o->comma = true;
}

static void key(struct out *o, const char *k)
{
    next(o);
    gp_buf_putc(o->b, '"');
    gp_buf_puts(o->b, k);
    gp_buf_puts(o->b, "\": ");
}

static void begin(struct out *o, char bracket)
{
    gp_buf_putc(o->b, bracket);
    o->depth++;
    o->comma = false;
}

static void end(struct out *o, char bracket)
{
    o->depth--;
    if (o->comma && o->depth < LINES_TO) {
        gp_buf_putc(o->b, '\n');
        for (int i = 0; i < o->depth; i++) gp_buf_puts(o->b, "  ");
    }
    gp_buf_putc(o->b, bracket);
    o->comma = true;
}

static void begin_list(struct out *o, const char *k)
{
    key(o, k);
    begin(o, '[');
}

static void begin_object(struct out *o, const char *k)
{
    key(o, k);
    begin(o, '{');
}

static void begin_element(struct out *o)
{
    next(o);
    begin(o, '{');
}

/* ---- members ---- */

static void put_i64(struct out *o, const char *k, int64_t v)
{
    key(o, k);
    gp_buf_put_i64(o->b, v);
}

static void put_u64(struct out *o, const char *k, uint64_t v)
{
    key(o, k);
    gp_buf_put_u64(o->b, v);
}

static void put_real(struct out *o, const char *k, double v)
{
    key(o, k);
    gp_json_put_double(o->b, v);
}

static void put_null(struct out *o, const char *k)
{
    key(o, k);
    gp_buf_puts(o->b, "null");
}

static void put_bool(struct out *o, const char *k, bool v)
{
    key(o, k);
    gp_buf_puts(o->b, v ? "true" : "false");
}

static void put_cstr(struct out *o, const char *k, const char *s)
{
    key(o, k);
    gp_json_put_string(o->b, s, strlen(s));
}

/* A string that is always there. */
static void put_str(struct out *o, const char *k, gp_sid sid)
{
    key(o, k);
    gp_json_put_string(o->b, gp_hta_str(o->h, sid), gp_string_len(&o->h->strings, sid));
}

/* A string that may be unknown. */
static void put_name(struct out *o, const char *k, gp_sid sid)
{
    if (gp_string_len(&o->h->strings, sid)) put_str(o, k, sid);
    else put_null(o, k);
}

/* A number that is negative when it is unknown. */
static void put_known(struct out *o, const char *k, int64_t v)
{
    if (v < 0) put_null(o, k);
    else put_i64(o, k, v);
}

static void put_id(struct out *o, const char *k, uint64_t id)
{
    if (id == GP_NO_ID) put_null(o, k);
    else put_u64(o, k, id);
}

/* PART of WHOLE in percent, null when there is no whole. */
static void put_share(struct out *o, const char *k, double part, int64_t whole)
{
    if (whole > 0) put_real(o, k, 100 * part / (double)whole);
    else put_null(o, k);
}

static void put_rate(struct out *o, const char *k, double gbps)
{
    if (gbps > 0) put_real(o, k, gbps);
    else put_null(o, k);
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
    begin_object(o, k);
    put_u64(o, "count", d->n);
    const int64_t ints[] = {d->sum, d->n ? d->min : 0, d->n ? d->max : 0};
    const char *const int_names[] = {"total", "min", "max"};
    for (int i = 0; i < 3; i++) {
        put_i64(o, field_of(int_names[i], unit).name, ints[i]);
    }
    put_real(o, field_of("mean", unit).name, mean(d));
    put_real(o, field_of("stddev", unit).name, gp_dist_stddev(d));
    for (int i = 0; i < 3; i++) {
        put_i64(o, field_of(quantiles[i].name, unit).name, gp_dist_quantile(d, quantiles[i].q));
    }
    end(o, '}');
}

static size_t shown(const struct out *o, size_t n)
{
    return o->top && o->top < n ? o->top : n;
}

/* ---- inputs and quality ---- */

static void put_issues(struct out *o, const struct gp_issue issues[GP_ISSUE_COUNT])
{
    begin_list(o, "issues");
    for (int k = 0; k < GP_ISSUE_COUNT; k++) {
        if (!issues[k].count) continue;
        begin_element(o);
        put_cstr(o, "kind", gp_issue_name((enum gp_issue_kind)k));
        put_u64(o, "count", issues[k].count);
        put_known(o, "first_offset", issues[k].first_offset);
        end(o, '}');
    }
    end(o, ']');
}

static void put_inputs(struct out *o)
{
    begin_list(o, "inputs");
    for (size_t i = 0; i < o->h->inputs.n; i++) {
        const struct gp_hta_input *in = &o->h->inputs.at[i];
        begin_element(o);
        put_str(o, "path", in->path);
        put_str(o, "format", in->format);
        put_str(o, "compression", in->compression);
        put_known(o, "rank", in->rank);
        put_u64(o, "events", in->events);
        put_u64(o, "gpu_events", in->gpu_events);
        put_str(o, "verdict", in->verdict);
        put_bool(o, "truncated", in->truncated);
        put_u64(o, "events_skipped", in->skipped);
        put_issues(o, in->issues);
        end(o, '}');
    }
    end(o, ']');
}

static int badness(const char *verdict)
{
    return !strcmp(verdict, "clean") ? 0 : !strcmp(verdict, "unusable") ? 2 : 1;
}

/* Of all inputs together: the worst verdict, unless others can be used. An offset is told when there is one input. */
static void put_quality(struct out *o)
{
    static const char *const words[] = {"clean", "repaired", "unusable"};
    struct gp_issue sum[GP_ISSUE_COUNT] = {{0}};
    uint64_t skipped = 0;
    bool truncated = false;
    int worst = 0;
    size_t unusable = 0;
    for (size_t i = 0; i < o->h->inputs.n; i++) {
        const struct gp_hta_input *in = &o->h->inputs.at[i];
        int bad = badness(gp_hta_str(o->h, in->verdict));
        if (bad > worst) worst = bad;
        unusable += bad == 2;
        truncated |= in->truncated;
        skipped += in->skipped;
        for (int k = 0; k < GP_ISSUE_COUNT; k++) {
            sum[k].count += in->issues[k].count;
            sum[k].first_offset = o->h->inputs.n == 1 ? in->issues[k].first_offset : -1;
        }
    }
    if (unusable && unusable < o->h->inputs.n) worst = 1;
    begin_object(o, "quality");
    put_cstr(o, "verdict", words[worst]);
    put_bool(o, "truncated", truncated);
    put_u64(o, "events_skipped", skipped);
    put_issues(o, sum);
    end(o, '}');
}

static void put_ranks(struct out *o)
{
    const struct gp_hta *h = o->h;
    begin_object(o, "ranks");
    put_known(o, "world_size", h->world_size);
    begin_list(o, "missing");
    for (size_t i = 0; i < h->missing_ranks.n; i++) {
        next(o);
        gp_buf_put_i64(o->b, h->missing_ranks.at[i]);
    }
    end(o, ']');
    begin_list(o, "repeated");
    for (size_t i = 0; i < h->repeated_ranks.n; i++) {
        next(o);
        gp_buf_put_i64(o->b, h->repeated_ranks.at[i]);
    }
    end(o, ']');
    end(o, '}');
}

/* ---- devices ---- */

static void put_breakdown(struct out *o, const struct gp_breakdown *b)
{
    put_i64(o, "span_ns", b->span_ns);
    put_i64(o, "busy_ns", b->busy_ns);
    put_i64(o, "idle_ns", b->idle_ns);
    put_i64(o, "compute_ns", b->compute_ns);
    put_i64(o, "communication_ns", b->communication_ns);
    put_i64(o, "memory_ns", b->memory_ns);
    put_i64(o, "exposed_communication_ns", b->exposed_communication_ns);
    put_i64(o, "exposed_memory_ns", b->exposed_memory_ns);
    put_real(o, "compute_pct", gp_pct(b->compute_ns, b->span_ns));
    put_real(o, "exposed_communication_pct", gp_pct(b->exposed_communication_ns, b->span_ns));
    put_real(o, "exposed_memory_pct", gp_pct(b->exposed_memory_ns, b->span_ns));
    put_real(o, "idle_pct", gp_pct(b->idle_ns, b->span_ns));
    put_share(o, "overlap_pct", (double)b->overlap_ns, b->communication_ns);
}

static void put_window(struct out *o, const struct gp_breakdown *b)
{
    put_u64(o, "gpu_events", b->gpu_events);
    put_i64(o, "gpu_ns", b->gpu_ns);
    put_i64(o, "begin_ns", b->begin_ns);
    put_i64(o, "end_ns", b->end_ns);
}

static void put_causes(struct out *o, const int64_t cause_ns[GP_IDLE_CAUSE_COUNT])
{
    begin_object(o, "idle");
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
        put_i64(o, field_of(gp_idle_cause_name((enum gp_idle_cause)c), "_ns").name, cause_ns[c]);
    end(o, '}');
}

static void put_culprits(struct out *o, const struct gp_hta_device *d)
{
    size_t n = shown(o, d->culprits.n);
    begin_list(o, "idle_culprits");
    for (size_t i = 0; i < n; i++) {
        const struct gp_idle_culprit *c = &d->culprits.at[i];
        begin_element(o);
        put_cstr(o, "cause", gp_idle_cause_name((enum gp_idle_cause)c->cause));
        put_name(o, "range", c->range);
        put_name(o, "python", c->python);
        put_name(o, "operator", c->op);
        put_name(o, "api", c->api);
        put_i64(o, "idle_ns", c->idle_ns);
        put_u64(o, "gaps", c->gaps);
        put_i64(o, "longest_ns", c->longest_ns);
        put_i64(o, "longest_at_ns", c->longest_at_ns);
        end(o, '}');
    }
    end(o, ']');
}

static void put_streams(struct out *o, const struct gp_hta_device *d)
{
    begin_list(o, "streams");
    for (size_t i = 0; i < d->streams.n; i++) {
        begin_element(o);
        put_known(o, "stream", d->streams.at[i].stream);
        put_name(o, "name", d->streams.at[i].name);
        put_breakdown(o, &d->streams.at[i].b);
        put_window(o, &d->streams.at[i].b);
        end(o, '}');
    }
    end(o, ']');
}

static void put_devices(struct out *o)
{
    begin_list(o, "devices");
    for (size_t i = 0; i < o->h->devices.n; i++) {
        const struct gp_hta_device *d = &o->h->devices.at[i];
        begin_element(o);
        put_known(o, "rank", d->rank);
        put_known(o, "device", d->device);
        put_breakdown(o, &d->b);
        put_causes(o, d->idle_cause_ns);
        put_streams(o, d);
        put_u64(o, "process", d->producer);
        put_name(o, "name", d->name);
        put_window(o, &d->b);
        put_dist(o, "idle_gaps", &d->gaps, "_ns");
        put_culprits(o, d);
        put_share(o, "sm_efficiency_pct", d->sm_ns, d->sm_known_ns ? d->b.span_ns : 0);
        put_share(o, "occupancy_pct", d->occupancy_ns, d->occupancy_known_ns);
        put_share(o, "tensor_core_pct", (double)d->tensor_core_ns, d->kernel_ns);
        end(o, '}');
    }
    end(o, ']');
}

/* ---- kernels ---- */

static void put_kernel(struct out *o, const struct gp_kernel_stat *k, int64_t all_ns)
{
    struct gp_buf label = {0}, plain = {0};
    enum gp_class class = gp_class_of((enum gp_frame_kind)k->kind);
    gp_name_demangle(&plain, gp_hta_str(o->h, k->name), gp_string_len(&o->h->strings, k->name));
    gp_name_kernel_label(&label, plain.n ? plain.data : "", plain.n);
    begin_element(o);
    put_str(o, "name", k->name);
    put_cstr(o, "class", gp_class_name(class));
    put_u64(o, "count", k->dur.n);
    put_i64(o, "total_ns", k->dur.sum);
    put_i64(o, "min_ns", k->dur.min);
    put_i64(o, "max_ns", k->dur.max);
    put_real(o, "mean_ns", mean(&k->dur));
    put_real(o, "stddev_ns", gp_dist_stddev(&k->dur));
    put_real(o, "share_pct", gp_pct(k->dur.sum, all_ns));
    put_i64(o, "p50_ns", gp_dist_quantile(&k->dur, 0.5));
    put_i64(o, "p99_ns", gp_dist_quantile(&k->dur, 0.99));
    key(o, "label");
    gp_json_put_string(o->b, label.data, label.n);
    put_cstr(o, "kind", gp_frame_kind_word((enum gp_frame_kind)k->kind));
    put_bool(o, "tensor_core", k->tensor_core);
    put_share(o, "occupancy_pct", k->occupancy_ns, k->occupancy_known_ns);
    if (k->occupancy_known_ns) put_real(o, "waves", k->waves_ns / (double)k->occupancy_known_ns);
    else put_null(o, "waves");
    put_known(o, "blocks_min", k->grid_blocks_max ? (int64_t)k->grid_blocks_min : -1);
    put_known(o, "blocks_max", k->grid_blocks_max ? (int64_t)k->grid_blocks_max : -1);
    put_i64(o, "bytes", k->bytes);
    end(o, '}');
    gp_buf_release(&label);
    gp_buf_release(&plain);
}

static void put_kernels(struct out *o)
{
    int64_t all_ns = 0;
    size_t n = shown(o, o->h->kernels.n);
    for (size_t i = 0; i < o->h->kernels.n; i++) all_ns += o->h->kernels.at[i].dur.sum;
    begin_list(o, "kernels");
    for (size_t i = 0; i < n; i++) put_kernel(o, &o->h->kernels.at[i], all_ns);
    end(o, ']');
}

static void put_owners(struct out *o, enum gp_owner_sort sort, const char *k)
{
    const struct gp_hta *h = o->h;
    int64_t all_ns = 0;
    size_t rows = 0;
    for (size_t i = 0; i < h->owners.n; i++)
        if (h->owners.at[i].sort == (uint32_t)sort) all_ns += h->owners.at[i].gpu_ns;
    begin_list(o, k);
    for (size_t i = 0; i < h->owners.n; i++) {
        const struct gp_owner_stat *w = &h->owners.at[i];
        if (w->sort != (uint32_t)sort || (o->top && rows++ >= o->top)) continue;
        begin_element(o);
        put_name(o, "name", w->name);
        put_u64(o, "calls", w->calls);
        put_u64(o, "gpu_events", w->gpu_events);
        put_i64(o, "gpu_ns", w->gpu_ns);
        put_real(o, "share_pct", gp_pct(w->gpu_ns, all_ns));
        put_i64(o, "host_ns", w->host_ns);
        put_dist(o, "delay", &w->delay, "_ns");
        end(o, '}');
    }
    end(o, ']');
}

/* ---- launches ---- */

static void put_launches(struct out *o)
{
    const struct gp_hta_launches *l = &o->h->launches;
    begin_object(o, "launches");
    put_u64(o, "gpu_events", l->gpu_events);
    put_u64(o, "linked", l->linked);
    put_u64(o, "calls", l->calls);
    put_u64(o, "graph_calls", l->graph_calls);
    put_u64(o, "graph_events", l->graph_events);
    put_u64(o, "short_kernels", l->short_kernels);
    put_i64(o, "short_kernel_ns", l->short_kernel_ns);
    put_u64(o, "before_launch", l->before_launch);
    put_i64(o, "worst_before_launch_ns", l->worst_before_ns);
    put_u64(o, "max_queue", l->max_queue);
    put_i64(o, "queue_full_ns", l->queue_full_ns);
    put_dist(o, "delay", &l->delay, "_ns");
    put_dist(o, "call", &l->api_dur, "_ns");
    put_dist(o, "queue_length", &l->queue_len, "");
    end(o, '}');
}

static void put_api(struct out *o)
{
    size_t n = shown(o, o->h->api.n);
    begin_list(o, "api");
    for (size_t i = 0; i < n; i++) {
        const struct gp_api_stat *a = &o->h->api.at[i];
        begin_element(o);
        put_str(o, "name", a->name);
        put_u64(o, "launches", a->launches);
        put_u64(o, "outliers", a->outliers);
        put_dist(o, "duration", &a->dur, "_ns");
        end(o, '}');
    }
    end(o, ']');
}

static void put_graphs(struct out *o)
{
    size_t n = shown(o, o->h->graphs.n);
    begin_list(o, "graphs");
    for (size_t i = 0; i < n; i++) {
        const struct gp_graph_stat *g = &o->h->graphs.at[i];
        begin_element(o);
        put_known(o, "rank", g->rank);
        put_id(o, "graph", g->graph);
        put_u64(o, "launches", g->launches);
        put_u64(o, "gpu_events", g->gpu_events);
        put_u64(o, "nodes", g->nodes);
        put_dist(o, "span", &g->span, "_ns");
        put_dist(o, "busy", &g->busy, "_ns");
        put_id(o, "worst_node", g->worst_node);
        put_name(o, "worst_node_name", g->worst_node_name);
        put_i64(o, "worst_node_min_ns", g->worst_node_min_ns);
        put_i64(o, "worst_node_max_ns", g->worst_node_max_ns);
        end(o, '}');
    }
    end(o, ']');
}

/* ---- steps ---- */

static void put_step(struct out *o, const struct gp_hta_step *s)
{
    begin_element(o);
    put_name(o, "name", s->name);
    put_bool(o, "cut", s->partial);
    put_i64(o, "host_begin_ns", s->host_begin_ns);
    put_i64(o, "host_end_ns", s->host_end_ns);
    put_u64(o, "launches", s->launches);
    put_breakdown(o, &s->b);
    put_window(o, &s->b);
    end(o, '}');
}

static void put_spread(struct out *o, const struct gp_step_spread *s)
{
    begin_element(o);
    put_known(o, "rank", s->first->rank);
    put_known(o, "device", s->first->device);
    put_u64(o, "process", s->first->producer);
    put_cstr(o, "source", gp_step_source_name((enum gp_step_source)s->first->source));
    put_u64(o, "count", s->count);
    put_u64(o, "whole", s->used);
    put_i64(o, "median_ns", s->median_ns);
    put_real(o, "mean_ns", s->mean_ns);
    put_real(o, "stddev_ns", s->stddev_ns);
    put_i64(o, "min_ns", s->fastest->b.span_ns);
    put_i64(o, "max_ns", s->slowest->b.span_ns);
    put_name(o, "slowest", s->slowest->name);
    put_real(o, "compute_pct", gp_pct(s->sum.compute_ns, s->sum.span_ns));
    put_real(o, "exposed_communication_pct", gp_pct(s->sum.exposed_communication_ns, s->sum.span_ns));
    put_real(o, "exposed_memory_pct", gp_pct(s->sum.exposed_memory_ns, s->sum.span_ns));
    put_real(o, "idle_pct", gp_pct(s->sum.idle_ns, s->sum.span_ns));
    if (o->steps) {
        begin_list(o, "each");
        for (size_t i = 0; i < s->count; i++) put_step(o, &s->first[i]);
        end(o, ']');
    }
    end(o, '}');
}

static void put_steps(struct out *o)
{
    gp_step_spreads all = {0};
    gp_hta_step_spreads(o->h, &all);
    begin_list(o, "steps");
    for (size_t i = 0; i < all.n; i++) put_spread(o, &all.at[i]);
    end(o, ']');
    GP_VEC_FREE(&all);
}

/* ---- communication ---- */

static void put_collectives(struct out *o)
{
    size_t n = shown(o, o->h->collective_stats.n);
    begin_list(o, "collectives");
    for (size_t i = 0; i < n; i++) {
        const struct gp_collective_stat *c = &o->h->collective_stats.at[i];
        begin_element(o);
        put_str(o, "operation", c->op);
        put_name(o, "group", c->group);
        put_name(o, "type", c->dtype);
        put_known(o, "group_size", c->group_size ? (int64_t)c->group_size : -1);
        put_u64(o, "count", c->count);
        put_known(o, "bytes", c->bytes);
        put_dist(o, "duration", &c->dur, "_ns");
        put_dist(o, "start_skew", &c->skew, "_ns");
        put_rate(o, "algorithm_bandwidth_gbps", c->algbw_gbps);
        put_rate(o, "bus_bandwidth_gbps", c->busbw_gbps);
        end(o, '}');
    }
    end(o, ']');
}

static void put_match(struct out *o, const struct gp_collective_match *c)
{
    begin_element(o);
    put_str(o, "operation", c->op);
    put_name(o, "group", c->group);
    put_name(o, "type", c->dtype);
    put_id(o, "sequence", c->seq);
    put_cstr(o, "matched_by", c->by_seq ? "sequence" : "order");
    put_u64(o, "ranks", c->ranks);
    put_known(o, "bytes", c->bytes);
    put_i64(o, "start_skew_ns", c->start_skew_ns);
    put_i64(o, "end_skew_ns", c->end_skew_ns);
    put_i64(o, "duration_ns", c->duration_ns);
    put_i64(o, "wait_ns", c->wait_ns);
    put_known(o, "last_rank", c->last_rank);
    put_rate(o, "algorithm_bandwidth_gbps", c->algbw_gbps);
    put_rate(o, "bus_bandwidth_gbps", c->busbw_gbps);
    end(o, '}');
}

/* How the collectives of the ranks were put together; all of them with --top 0. */
static void put_matches(struct out *o)
{
    const struct gp_hta *h = o->h;
    size_t n = shown(o, h->matches.n);
    begin_object(o, "collective_matching");
    put_u64(o, "seen", h->collectives.n);
    put_u64(o, "matched", h->matches.n);
    put_u64(o, "unmatched", h->unmatched_collectives);
    put_u64(o, "mismatched", h->mismatched_collectives);
    begin_list(o, "matches");
    for (size_t i = 0; i < n; i++) put_match(o, &h->matches.at[i]);
    end(o, ']');
    end(o, '}');
}

static void put_stragglers(struct out *o)
{
    size_t n = shown(o, o->h->stragglers.n);
    begin_list(o, "stragglers");
    for (size_t i = 0; i < n; i++) {
        const struct gp_straggler *s = &o->h->stragglers.at[i];
        begin_element(o);
        put_known(o, "rank", s->rank);
        put_u64(o, "collectives", s->matched);
        put_u64(o, "times_last", s->times_last);
        put_i64(o, "lateness_ns", s->lateness_ns);
        put_i64(o, "caused_wait_ns", s->caused_wait_ns);
        end(o, '}');
    }
    end(o, ']');
}

static void put_offsets(struct out *o)
{
    begin_list(o, "clock_offsets");
    for (size_t i = 0; i < o->h->offsets.n; i++) {
        const struct gp_rank_offset *f = &o->h->offsets.at[i];
        begin_element(o);
        put_known(o, "rank", f->rank);
        put_i64(o, "offset_ns", f->offset_ns);
        put_i64(o, "error_ns", f->error_ns);
        put_u64(o, "collectives", f->pairs);
        end(o, '}');
    }
    end(o, ']');
}

/* ---- copies, memory, path, findings ---- */

static void put_copies(struct out *o)
{
    size_t n = shown(o, o->h->copies.n);
    begin_list(o, "copies");
    for (size_t i = 0; i < n; i++) {
        const struct gp_copy_stat *c = &o->h->copies.at[i];
        begin_element(o);
        put_str(o, "name", c->name);
        put_u64(o, "count", c->count);
        put_i64(o, "total_bytes", c->bytes);
        put_i64(o, "total_ns", c->dur_ns);
        put_rate(o, "bandwidth_gbps", c->dur_ns > 0 ? (double)c->bytes / (double)c->dur_ns : 0);
        put_dist(o, "size", &c->size, "_bytes");
        put_bool(o, "pageable", c->pageable);
        put_u64(o, "sync_calls", c->sync_calls);
        end(o, '}');
    }
    end(o, ']');
}

static void put_memory(struct out *o)
{
    begin_list(o, "memory");
    for (size_t i = 0; i < o->h->memory.n; i++) {
        const struct gp_memory_stat *s = &o->h->memory.at[i];
        begin_element(o);
        put_known(o, "rank", s->rank);
        put_known(o, "device", s->device);
        put_u64(o, "allocations", s->allocations);
        put_u64(o, "frees", s->frees);
        put_i64(o, "allocated_bytes", s->allocated_bytes);
        put_i64(o, "peak_bytes", s->peak_bytes);
        put_i64(o, "peak_at_ns", s->peak_at_ns);
        put_i64(o, "peak_reserved_bytes", s->peak_reserved_bytes);
        put_name(o, "peak_operator", s->peak_op);
        end(o, '}');
    }
    end(o, ']');
}

static void put_path(struct out *o, const struct gp_hta_path *p)
{
    gp_path_sums sums = {0};
    gp_hta_path_sums(p, &sums);
    begin_element(o);
    put_known(o, "rank", p->rank);
    put_u64(o, "process", p->producer);
    put_name(o, "window", p->window);
    put_i64(o, "begin_ns", p->begin_ns);
    put_i64(o, "end_ns", p->end_ns);
    put_i64(o, "length_ns", p->end_ns - p->begin_ns);
    begin_object(o, "bound");
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++)
        put_i64(o, field_of(gp_path_bound_name((enum gp_path_bound)b), "_ns").name, p->bound_ns[b]);
    end(o, '}');
    put_u64(o, "pieces", p->pieces.n);
    begin_list(o, "names");
    for (size_t i = 0, n = shown(o, sums.n); i < n; i++) {
        const struct gp_path_sum *s = &sums.at[i];
        begin_element(o);
        put_str(o, "name", s->full ? s->full : s->name);
        put_cstr(o, "bound", gp_path_bound_name((enum gp_path_bound)s->bound));
        put_u64(o, "count", s->count);
        put_i64(o, "total_ns", s->total_ns);
        put_i64(o, "longest_ns", s->longest_ns);
        end(o, '}');
    }
    end(o, ']');
    end(o, '}');
    GP_VEC_FREE(&sums);
}

static void put_paths(struct out *o)
{
    begin_object(o, "critical_path");
    begin_list(o, "paths");
    for (size_t i = 0; i < o->h->paths.n; i++) put_path(o, &o->h->paths.at[i]);
    end(o, ']');
    end(o, '}');
}

static void put_findings(struct out *o)
{
    begin_list(o, "findings");
    for (size_t i = 0; i < o->h->findings.n; i++) {
        const struct gp_finding *f = &o->h->findings.at[i];
        begin_element(o);
        put_str(o, "id", f->id);
        put_known(o, "rank", f->rank);
        put_i64(o, "time_ns", f->time_ns);
        put_real(o, "share_pct", f->share_pct);
        put_str(o, "text", f->text);
        put_name(o, "where", f->where);
        end(o, '}');
    }
    end(o, ']');
}

void gp_hta_json_write(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_json_opts *opts)
{
    struct out o = {.b = b, .h = h, .top = opts->top, .steps = opts->steps};
    begin(&o, '{');
    put_cstr(&o, "schema", "gpuprof/trace-hta/1");
    put_cstr(&o, "tool", "trace-hta");
    put_cstr(&o, "version", opts->version);
    put_inputs(&o);
    put_quality(&o);
    put_devices(&o);
    put_kernels(&o);
    put_launches(&o);
    put_steps(&o);
    put_collectives(&o);
    put_stragglers(&o);
    put_paths(&o);
    put_ranks(&o);
    put_owners(&o, GP_OWNER_OP, "operators");
    put_owners(&o, GP_OWNER_RANGE, "ranges");
    put_owners(&o, GP_OWNER_MODULE, "modules");
    put_api(&o);
    put_graphs(&o);
    put_matches(&o);
    put_offsets(&o);
    put_copies(&o);
    put_memory(&o);
    put_findings(&o);
    end(&o, '}');
    gp_buf_putc(b, '\n');
}
