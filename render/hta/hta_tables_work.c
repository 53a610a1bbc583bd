#include "render/hta/hta_priv.h"

#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/names/names.h"

/* ---- kernels ---- */

void gp_hta_table_kernels(struct gp_hta_tables *m)
{
    struct gp_row_of of = gp_hta_kernels_of(m->h);
    gp_record_table(m->r, &gp_hta_kernels, m->h->kernels.at, m->h->kernels.n, m->top, &of);
}

/* Owners of one sort; nothing when nothing of that sort launched anything. */
static void add_owners(struct gp_hta_tables *m, enum gp_owner_sort sort)
{
    struct gp_owner_rows r = gp_hta_owner_rows(m->h, sort);
    struct gp_row_of of = gp_hta_rows_of(m->h, r.gpu_ns);
    if (r.named) gp_record_table(m->r, &gp_hta_owners[sort], r.at, r.launched, m->top, &of);
}

void gp_hta_table_operators(struct gp_hta_tables *m) { add_owners(m, GP_OWNER_OP); }

void gp_hta_table_op_shapes(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    struct gp_row_of of = gp_hta_op_shapes_of(h);
    size_t shaped = 0;
    for (size_t i = 0; i < h->op_shapes.n; i++) shaped += h->op_shapes.at[i].shapes != 0;
    if (shaped) gp_record_table(m->r, &gp_hta_op_shapes, h->op_shapes.at, h->op_shapes.n, m->top, &of);
}

void gp_hta_table_ranges(struct gp_hta_tables *m) { add_owners(m, GP_OWNER_RANGE); }

void gp_hta_table_modules(struct gp_hta_tables *m) { add_owners(m, GP_OWNER_MODULE); }

void gp_hta_table_functions(struct gp_hta_tables *m)
{
    struct gp_owner_rows r = gp_hta_owner_rows(m->h, GP_OWNER_FUNCTION);
    struct gp_row_of of = gp_hta_rows_of(m->h, gp_hta_kernels_of(m->h).whole_ns);
    if (r.n) gp_record_table(m->r, &gp_hta_owners[GP_OWNER_FUNCTION], r.at, r.launched, m->top, &of);
}

/* ---- launches ---- */

void gp_hta_table_launches(struct gp_hta_tables *m)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    if (m->h->launches.calls) gp_record_figures(m->r, &gp_hta_launch_sums, &m->h->launches, &of);
}

/* A distribution of times, or of numbers of events. */
struct dist_row {
    const char *figure, *what; /* as JSON has it, as people read it */
    bool times;
    const struct gp_histogram *dist;
};

GP_GET(get_what, struct dist_row, gp_cell_named(c, r->figure, r->what))
GP_GET(get_unit, struct dist_row, gp_cell_text(c, r->times ? "ns" : "events"))

/* Of the distribution, the value of another getter. */
static void put_of(struct gp_cell *c, const struct gp_field *f, const void *row, const struct gp_row_of *x,
                   gp_field_get *get)
{
    const struct dist_row *r = row;
    if (!r->times) c->type = f->type == GP_CELL_NS ? GP_CELL_COUNT : GP_CELL_REAL;
    get(c, f, r->dist, x);
}

#define OF(name)                                                                                             \
    GP_GETTER(get_##name) { put_of(c, f, row, x, gp_member_##name); }
OF(mean)
OF(min)
OF(p50)
OF(p90)
OF(p99)
OF(max)

GP_GET(get_count, struct dist_row, gp_member_count(c, f, r->dist, x))

static const struct gp_field dist_fields[] = {
    {"figure", "Of each launch", GP_CELL_TEXT, get_what, 0, .help = NULL},
    {"count", "Count", GP_CELL_COUNT, get_count, 0, .flags = GP_COLUMN_SPARE},
    {"mean", "Mean", GP_CELL_NS_REAL, get_mean, 0, .help = NULL},
    {"min", "Min", GP_CELL_NS, get_min, 0, .flags = GP_COLUMN_WIDE},
    {"p50", "Median", GP_CELL_NS, get_p50, 0, .help = "within 1/16"},
    {"p90", "p90", GP_CELL_NS, get_p90, 0, .help = "within 1/16", .flags = GP_COLUMN_SPARE},
    {"p99", "p99", GP_CELL_NS, get_p99, 0, .help = "within 1/16"},
    {"max", "Max", GP_CELL_NS, get_max, 0, .help = NULL},
    {"unit", "Unit", GP_CELL_TEXT, get_unit, 0, .flags = GP_COLUMN_RAW},
};
static const struct gp_record dist_rows = {"launch_times", "From the call to the GPU", GP_FIELDS(dist_fields),
                                           sizeof(struct dist_row), .note = NULL};

void gp_hta_table_launch_times(struct gp_hta_tables *m)
{
    const struct gp_hta_launches *l = &m->h->launches;
    const struct dist_row all[] = {{"call", "the call itself", true, &l->api_dur},
                                   {"delay", "end of call to start on GPU", true, &l->delay},
                                   {"queue_length", "queued before it", false, &l->queue_len}};
    struct dist_row rows[GP_COUNT(all)];
    size_t n = 0;
    for (size_t i = 0; i < GP_COUNT(all); i++)
        if (all[i].dist->n) rows[n++] = all[i];
    gp_hta_table(m, &dist_rows, rows, n, 0);
}

/* ---- copies and memory ---- */

void gp_hta_table_memory(struct gp_hta_tables *m)
{
    struct gp_row_of of = gp_hta_rows_of(m->h, 0);
    gp_record_table(m->r, &gp_hta_memory, m->h->memory.at, m->h->memory.n, 0, &of);
}

void gp_hta_table_range_memory(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    if (h->range_memory.n == 1 && !h->range_memory.at[0].name) return; /* no ranges */
    struct gp_report_table *t =
        gp_hta_table(m, &gp_hta_range_memory, h->range_memory.at, h->range_memory.n, m->top);
    if (t) t->note = "Activity counts only for the innermost range.";
}

/* ---- sampled counters ---- */

enum { SAMPLED_COLUMNS = 8 };

/* The means over one thing; a column for each metric comes behind these. */
struct sampled_row {
    struct gp_hta_place at;
    gp_sid name;
    uint32_t over;
    int64_t ns;
};

GP_GETTER_OF(get_over, struct sampled_row, s)
{
    static const char *const overs[] = {"(all of it)", "(whole steps)", "(no name)"};
    gp_member_sid(c, f, s, x);
    if (!s->name) gp_cell_text(c, overs[s->over]);
}

#define AT(member) offsetof(struct sampled_row, member)
static const struct gp_field sampled_fields[] = {
    GP_PLACE(sampled_row, at),
    {"name", "Over", GP_CELL_NAME, get_over, AT(name),
     .help = "the device's time, its whole steps, or the kernels, copies and sets of a range"},
    {"sampled_ns", "Time", GP_CELL_NS, gp_member_i64, AT(ns), .help = "covered by the averages"},
};
#undef AT
static const struct gp_record sampled_rows = {"sampled", "Hardware counters", GP_FIELDS(sampled_fields),
                                              sizeof(struct sampled_row), .note = NULL};

/* Metrics that people have no other name for are called by theirs, without rollup. */
static const char *sampled_title(struct gp_hta_tables *m, gp_sid metric)
{
    const char *name = gp_hta_str(m->h, metric);
    const char *title = gp_metric_title(name);
    return title ? title : gp_report_str(m->r, name, strcspn(name, "."));
}

static bool is_bytes(struct gp_hta_tables *m, gp_sid unit)
{
    return !strcmp(gp_hta_str(m->h, unit), "byte/second");
}

/* The metrics, in the order of their first rows. */
static size_t sampled_metrics(struct gp_hta_tables *m, gp_sid metrics[SAMPLED_COLUMNS],
                              struct gp_report_table *t)
{
    size_t n = 0;
    GP_EACH(const struct gp_sampled, s, m->h->sampled) {
        size_t k = 0;
        while (k < n && metrics[k] != s->metric) k++;
        if (k < n || n == SAMPLED_COLUMNS) continue;
        metrics[n++] = s->metric;
        bool pct = !strcmp(gp_hta_str(m->h, s->unit), "%");
        gp_report_column(t, gp_hta_str(m->h, s->metric), sampled_title(m, s->metric),
                         pct                    ? GP_CELL_PCT
                         : is_bytes(m, s->unit) ? GP_CELL_GBPS
                                                : GP_CELL_REAL,
                         0, gp_hta_str(m->h, s->metric));
    }
    return n;
}

static bool same_row(const struct gp_sampled *a, const struct gp_sampled *b)
{
    return a->rank == b->rank && a->device == b->device && a->over == b->over && a->name == b->name;
}

static void put_means(struct gp_hta_tables *m, struct gp_report_table *t, const struct gp_sampled *rows,
                      size_t n, const gp_sid *metrics, size_t columns)
{
    for (size_t c = 0; c < columns; c++) {
        size_t i = 0;
        while (i < n && rows[i].metric != metrics[c]) i++;
        if (i == n) gp_report_put_none(t);
        else gp_report_put_real(t, is_bytes(m, rows[i].unit) ? rows[i].mean / 1e9 : rows[i].mean);
    }
}

void gp_hta_table_sampled(struct gp_hta_tables *m)
{
    const struct gp_hta *h = m->h;
    struct gp_row_of of = gp_hta_rows_of(h, 0);
    struct gp_columns fixed;
    gp_sid metrics[SAMPLED_COLUMNS];
    if (!h->sampled.n) return;
    gp_columns_find(&fixed, &sampled_rows);
    struct gp_report_table *t = gp_columns_table(m->r, &sampled_rows, &fixed, &of);
    t->note = "Averages over time of counters sampled during the recording; for ranges, while the work "
              "that they launched was running.";
    size_t columns = sampled_metrics(m, metrics, t), shown = 0;
    for (size_t i = 0, end; i < h->sampled.n && (!m->top || shown < m->top); i = end, shown++) {
        const struct gp_sampled *s = &h->sampled.at[i];
        for (end = i + 1; end < h->sampled.n && same_row(s, &h->sampled.at[end]);) end++;
        struct sampled_row row = {{.rank = s->rank, .device = s->device}, s->name, s->over, s->ns};
        gp_columns_put(m->r, t, &fixed, &row, &of);
        put_means(m, t, s, end - i, metrics, columns);
    }
    gp_columns_release(&fixed);
}
