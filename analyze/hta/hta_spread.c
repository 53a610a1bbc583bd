#include "analyze/hta/hta_spread.h"

#include <math.h>
#include <stdlib.h>
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "analyze/view/steps.h"
#include "formats/base/order.h"

void gp_hta_add_breakdown(struct gp_breakdown *to, const struct gp_breakdown *b)
{
    to->span_ns += b->span_ns;
    to->busy_ns += b->busy_ns;
    to->idle_ns += b->idle_ns;
    to->compute_ns += b->compute_ns;
    to->communication_ns += b->communication_ns;
    to->memory_ns += b->memory_ns;
    to->exposed_communication_ns += b->exposed_communication_ns;
    to->exposed_memory_ns += b->exposed_memory_ns;
    to->overlap_ns += b->overlap_ns;
    to->gpu_events += b->gpu_events;
    to->gpu_ns += b->gpu_ns;
}

static bool is_steady(const struct gp_hta_step *s) { return !s->partial && !s->warm_up; }

static struct gp_step_spread spread_of(const struct gp_hta_step *first, size_t n, bool warm_up)
{
    struct gp_step_spread s = {.first = first, .count = n};
    int64_t *wall = gp_alloc(n * sizeof *wall);
    size_t whole = 0;
    for (size_t i = 0; i < n; i++) whole += warm_up ? !first[i].partial : is_steady(&first[i]);
    GP_EACH_OF(const struct gp_hta_step, st, first, n) {
        s.warm_up += st->warm_up;
        s.cut += st->partial;
        if (whole && !(warm_up ? !st->partial : is_steady(st))) continue;
        wall[s.used++] = st->b.span_ns;
        gp_hta_add_breakdown(&s.sum, &st->b);
        if (!s.fastest || st->b.span_ns < s.fastest->b.span_ns) s.fastest = st;
        if (!s.slowest || st->b.span_ns > s.slowest->b.span_ns) s.slowest = st;
    }
    qsort(wall, s.used, sizeof *wall, gp_order_i64);
    s.median_ns = wall[(s.used - 1) / 2];
    s.mean_ns = (double)s.sum.span_ns / (double)s.used;
    s.step_ns = s.sum.span_ns / (int64_t)s.used;
    double squares = 0;
    for (size_t i = 0; i < s.used; i++) {
        double off = (double)wall[i] - s.mean_ns;
        squares += off * off;
    }
    s.stddev_ns = sqrt(squares / (double)s.used);
    free(wall);
    return s;
}

void gp_hta_step_spreads(const struct gp_hta *h, bool warm_up, gp_step_spreads *out)
{
    for (size_t i = 0, end; i < h->steps.n; i = end) {
        for (end = i + 1; end < h->steps.n && gp_hta_same_device(&h->steps.at[i], &h->steps.at[end]); end++)
            continue;
        GP_VEC_PUSH(out, spread_of(&h->steps.at[i], end - i, warm_up));
    }
}

void gp_hta_find_spreads(const struct gp_hta *h, bool each, gp_hta_spreads *out)
{
    gp_step_spreads all = {0}, steady = {0};
    gp_hta_step_spreads(h, true, &all);
    gp_hta_step_spreads(h, false, &steady);
    for (size_t i = 0; i < all.n; i++) {
        const struct gp_hta_step *s = all.at[i].first;
        GP_VEC_PUSH(
            out, ((struct gp_hta_spread){{s->rank, s->producer, s->device}, all.at[i], steady.at[i], each}));
    }
    GP_VEC_FREE(&all);
    GP_VEC_FREE(&steady);
}

/* ---- fields ---- */

GP_GET(get_source, struct gp_hta_spread,
       gp_cell_text(c, gp_step_source_name((enum gp_step_source)r->all.first->source)))

static const struct gp_step_spread *spread_at(const void *row, const struct gp_field *f)
{
    return gp_member_at(row, f);
}

GP_GETTER(get_min) { c->i = spread_at(row, f)->fastest->b.span_ns; }

GP_GETTER(get_max) { c->i = spread_at(row, f)->slowest->b.span_ns; }

GP_GETTER(get_slowest) { gp_cell_sid(c, x->strings, spread_at(row, f)->slowest->name); }

/* A time of the steps in percent of their sum. */
GP_GET(get_pct, struct gp_hta_spread,
       gp_cell_real(c, gp_pct(*(const int64_t *)gp_member_at(row, f), r->all.sum.span_ns)))

GP_GET(get_steady_idle, struct gp_hta_spread,
       gp_cell_real(c, gp_pct(r->steady.sum.idle_ns, r->steady.sum.span_ns)))

GP_GET_IF(get_each, struct gp_hta_spread, r->each, gp_cell_list(c, r->all.first, r->all.count))

#define ALL(member)    offsetof(struct gp_hta_spread, all.member)
#define STEADY(member) offsetof(struct gp_hta_spread, steady.member)
#define WHOLE          offsetof(struct gp_hta_spread, all)
#define TABLES         GP_FIELD_TABLES
static const struct gp_field fields[] = {
    GP_PLACE(gp_hta_spread, at),
    {"source", "Found by", GP_CELL_TEXT, get_source, 0, .help = "marker, graph or period",
     .words = gp_step_source_words},
    {"count", "Steps", GP_CELL_COUNT, gp_member_u64, ALL(count), .help = "including cut steps and warm-up"},
    {"cut", "Cut", GP_CELL_COUNT, gp_member_u64, ALL(cut), .help = "by the edge of the trace",
     .flags = GP_COLUMN_WIDE | TABLES},
    {"whole", NULL, GP_CELL_COUNT, gp_member_u64, ALL(used),
     .help = "steps that the figures are of, unless told otherwise: whole ones, or all if all are cut"},
    {"warm_up", "Warm-up", GP_CELL_COUNT, gp_member_u64, ALL(warm_up),
     .help = "first steps that take much longer than later ones", .flags = GP_COLUMN_WIDE},
    {"timed", NULL, GP_CELL_COUNT, gp_member_u64, STEADY(used),
     .help = "steps that step_ns is the mean of: whole ones, without warm-up"},
    {"step_ns", "Step time", GP_CELL_NS, gp_member_i64, STEADY(step_ns),
     .help = "the step time of all tools: the mean of the timed steps"},
    {"step_median_ns", "Median", GP_CELL_NS, gp_member_i64, STEADY(median_ns), .help = "of the timed steps"},
    {"step_stddev_ns", "Std. dev.", GP_CELL_NS_REAL, gp_member_double, STEADY(stddev_ns),
     .help = "population standard deviation", .flags = TABLES},
    {"step_min_ns", "Min", GP_CELL_NS, get_min, offsetof(struct gp_hta_spread, steady), .flags = TABLES},
    {"step_max_ns", "Max", GP_CELL_NS, get_max, offsetof(struct gp_hta_spread, steady), .flags = TABLES},
    {"step_idle_pct", "Idle", GP_CELL_PCT, get_steady_idle, 0, .help = "of the steps' time", .flags = TABLES},
    {"step_slowest", "Slowest", GP_CELL_NAME, get_slowest, offsetof(struct gp_hta_spread, steady),
     .flags = GP_COLUMN_SPARE | TABLES},
    {"median_ns", NULL, GP_CELL_NS, gp_member_i64, ALL(median_ns), .help = "the lower one of two"},
    {"mean_ns", NULL, GP_CELL_NS_REAL, gp_member_double, ALL(mean_ns), .help = "of the whole steps"},
    {"stddev_ns", NULL, GP_CELL_NS_REAL, gp_member_double, ALL(stddev_ns),
     .help = "population standard deviation"},
    {"min_ns", NULL, GP_CELL_NS, get_min, WHOLE, .help = "of the whole steps"},
    {"max_ns", NULL, GP_CELL_NS, get_max, WHOLE, .help = "of the whole steps"},
    {"slowest", NULL, GP_CELL_NAME, get_slowest, WHOLE, .help = "its name", .flags = GP_FIELD_NULL},
    {"compute_pct", NULL, GP_CELL_PCT, get_pct, ALL(sum.compute_ns), .help = "of the steps' time"},
    {"exposed_communication_pct", NULL, GP_CELL_PCT, get_pct, ALL(sum.exposed_communication_ns),
     .help = "of the steps' time"},
    {"exposed_memory_pct", NULL, GP_CELL_PCT, get_pct, ALL(sum.exposed_memory_ns),
     .help = "of the steps' time"},
    {"idle_pct", NULL, GP_CELL_PCT, get_pct, ALL(sum.idle_ns), .help = "of the steps' time"},
    {"each", NULL, GP_CELL_ROWS, get_each, 0, .help = "all of its steps, with --each-step",
     .flags = GP_FIELD_OPTIONAL, .rows = &gp_hta_step_list},
};

const struct gp_record gp_hta_spread_rows = {
    "steps", "Steps", GP_FIELDS(fields), sizeof(struct gp_hta_spread),
    .note = "spread over the steps of a device; figures are of whole steps, unless all are cut"};

bool gp_hta_step_time(const struct gp_hta *h, struct gp_step_spread *out)
{
    gp_step_spreads all = {0};
    gp_hta_step_spreads(h, false, &all);
    const struct gp_step_spread *most = NULL;
    for (size_t i = 0; i < all.n; i++)
        if (!most || all.at[i].step_ns > most->step_ns) most = &all.at[i];
    bool whole = most && most->used && !most->fastest->partial;
    if (whole) *out = *most;
    GP_VEC_FREE(&all);
    return whole;
}
