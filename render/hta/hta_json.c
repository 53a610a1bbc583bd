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

static size_t shown(const struct out *o, size_t n)
{
    return o->top && o->top < n ? o->top : n;
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
    struct gp_row_of of = gp_hta_rows_of(o->h, 0);
    gp_record_members(&o->d, &gp_hta_breakdown, b, &of);
}

static void put_window(struct out *o, const struct gp_breakdown *b)
{
    struct gp_row_of of = gp_hta_rows_of(o->h, 0);
    gp_record_members(&o->d, &gp_hta_window, b, &of);
}

static void put_causes(struct out *o, const int64_t cause_ns[GP_IDLE_CAUSE_COUNT])
{
    if (o->h->untimed) {
        gp_doc_null(&o->d, "idle");
        return;
    }
    struct gp_row_of of = gp_hta_rows_of(o->h, 0);
    gp_doc_object(&o->d, "idle");
    gp_record_members(&o->d, &gp_hta_idle_causes, cause_ns, &of);
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
        if (o->h->untimed) gp_doc_null(&o->d, "idle_gaps");
        else gp_dist_json(&o->d, "idle_gaps", &d->gaps, "_ns");
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
    gp_record_json(&o->d, &gp_hta_kernels, o->h->kernels.at, o->h->kernels.n, o->top, &of);
}

/* All rows of a record of H, whatever --top is. */
static void put_all(struct out *o, const struct gp_record *rec, const void *rows, size_t n)
{
    struct gp_row_of of = gp_hta_rows_of(o->h, 0);
    gp_record_json(&o->d, rec, rows, n, 0, &of);
}

/* The first ones. */
static void put_rows(struct out *o, const struct gp_record *rec, const void *rows, size_t n)
{
    struct gp_row_of of = gp_hta_rows_of(o->h, 0);
    gp_record_json(&o->d, rec, rows, n, o->top, &of);
}

static void put_owners(struct out *o, enum gp_owner_sort sort)
{
    struct gp_owner_rows r = gp_hta_owner_rows(o->h, sort);
    struct gp_row_of of = gp_hta_rows_of(o->h, r.gpu_ns);
    gp_record_json(&o->d, &gp_hta_owners[sort], r.at, r.n, o->top, &of);
}

static void put_op_shapes(struct out *o)
{
    struct gp_row_of of = gp_hta_op_shapes_of(o->h);
    gp_record_json(&o->d, &gp_hta_op_shapes, o->h->op_shapes.at, o->h->op_shapes.n, o->top, &of);
}

static void put_launches(struct out *o)
{
    struct gp_row_of of = gp_hta_rows_of(o->h, 0);
    gp_doc_object(&o->d, "launches");
    gp_record_members(&o->d, &gp_hta_launch_sums, &o->h->launches, &of);
    gp_doc_end(&o->d, '}');
}

/* ---- steps ---- */

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
        struct gp_row_of of = gp_hta_rows_of(o->h, 0);
        gp_record_json(&o->d, &gp_hta_step_list, s->first, s->count, 0, &of);
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

/* ---- communication ---- */

/* How the collectives of the ranks were put together; all of them with --top 0. */
static void put_matches(struct out *o)
{
    const struct gp_hta *h = o->h;
    gp_doc_object(&o->d, "collective_matching");
    gp_doc_u64(&o->d, "seen", h->collectives.n);
    gp_doc_u64(&o->d, "matched", h->matches.n);
    gp_doc_u64(&o->d, "unmatched", h->unmatched_collectives);
    gp_doc_u64(&o->d, "mismatched", h->mismatched_collectives);
    put_rows(o, &gp_hta_matches, h->matches.at, h->matches.n);
    gp_doc_end(&o->d, '}');
}

static void put_path(struct out *o, const struct gp_hta_path *p)
{
    gp_path_sums sums = {0};
    uint64_t count = p->pieces.n;
    int64_t rest_ns = p->end_ns - p->begin_ns; /* with what is not kept of a path */
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
        count -= s->count;
        rest_ns -= s->total_ns;
    }
    gp_doc_end(&o->d, ']');
    gp_doc_object(&o->d, "names_rest");
    gp_doc_u64(&o->d, "rows", sums.n - shown(o, sums.n));
    gp_doc_u64(&o->d, "count", count);
    gp_doc_i64(&o->d, "total_ns", rest_ns);
    gp_doc_end(&o->d, '}');
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
    put_all(&o, &gp_hta_parts, h->parts.at, h->parts.n);
    put_steps(&o);
    put_rows(&o, &gp_hta_collectives, h->collective_stats.at, h->collective_stats.n);
    put_rows(&o, &gp_hta_stragglers, h->stragglers.at, h->stragglers.n);
    put_paths(&o);
    put_ranks(&o);
    put_owners(&o, GP_OWNER_OP);
    put_op_shapes(&o);
    put_owners(&o, GP_OWNER_RANGE);
    put_owners(&o, GP_OWNER_MODULE);
    put_rows(&o, &gp_hta_api, h->api.at, h->api.n);
    put_rows(&o, &gp_hta_graphs, h->graphs.at, h->graphs.n);
    put_matches(&o);
    put_all(&o, &gp_hta_offsets, h->offsets.at, h->offsets.n);
    put_rows(&o, &gp_hta_copies, h->copies.at, h->copies.n);
    put_all(&o, &gp_hta_memory, h->memory.at, h->memory.n);
    put_rows(&o, &gp_hta_range_memory, h->range_memory.at, h->range_memory.n);
    put_all(&o, &gp_hta_sampled, h->sampled.at, h->sampled.n);
    put_findings(&o);
    gp_hta_json_fleet(&o.d, h);
    gp_doc_end(&o.d, '}');
    gp_buf_putc(b, '\n');
}
