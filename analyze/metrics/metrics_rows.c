/* What the answer consists of, field by field. */
#include <math.h>
#include <string.h>
#include "analyze/metrics/metrics.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"

struct gp_row_of gp_metrics_rows_of(const struct gp_metrics *m)
{
    return (struct gp_row_of){.of = m, .strings = &m->strings};
}

/* ---- metrics and losses ---- */

static const char *const types[] = {"counter", "ratio", "throughput", NULL}; /* enum gp_metric_type */
static const char *const reduces[] = {"sum", "mean", NULL};

GP_GETTER(get_type) { gp_cell_text(c, types[((const struct gp_metrics_column *)row)->type]); }

GP_GETTER(get_reduce)
{
    gp_cell_text(c, reduces[((const struct gp_metrics_column *)row)->reduce != GP_REDUCE_SUM]);
}

#define AT(member) offsetof(struct gp_metrics_column, member)
static const struct gp_field column_fields[] = {
    {"name", NULL, GP_CELL_TEXT, gp_member_sid, AT(name), .help = "in PerfWorks"},
    {"unit", NULL, GP_CELL_TEXT, gp_member_sid, AT(unit), .help = "of its values"},
    {"type", NULL, GP_CELL_TEXT, get_type, 0, .words = types},
    {"reduce", NULL, GP_CELL_TEXT, get_reduce, 0, .help = "how values of several launches are made into one",
     .words = reduces},
};
#undef AT
const struct gp_record gp_metrics_columns = {"metrics", "Metrics", GP_FIELDS(column_fields),
                                             .size = sizeof(struct gp_metrics_column)};

#define AT(member) offsetof(struct gp_loss, member)
static const struct gp_field loss_fields[] = {
    {"what", NULL, GP_CELL_TEXT, gp_member_sid, AT(what), .help = "what was not recorded"},
    {"reason", NULL, GP_CELL_TEXT, gp_member_sid, AT(reason), .help = "why"},
    {"count", NULL, GP_CELL_COUNT, gp_member_u64, AT(count), .help = "how much of it"},
};
#undef AT
const struct gp_record gp_metrics_losses = {"losses", "Losses", GP_FIELDS(loss_fields),
                                            .size = sizeof(struct gp_loss)};

/* ---- what the counters of a group say ---- */

/* It did some, but nobody counted them. */
static double flops_of(const struct gp_counted *k)
{
    return k->tensor_unknown && !(k->flops > 0) ? NAN : k->flops;
}

GP_GETTER(get_flops) { gp_cell_real(c, flops_of(row)); }

GP_GETTER(get_arith)
{
    const struct gp_counted *k = row;
    c->none = k->arith == GP_ARITH_NONE;
    gp_cell_text(c, gp_arith_name((enum gp_arith)k->arith));
}

GP_GETTER(get_giga) { gp_cell_real(c, *(const double *)gp_member_at(row, f) / 1e9); }

static const char *const ariths[] = {GP_ARITHS(GP_WORD_1) NULL};

/* Damaged counters may give any number. */
#define FIGURE     .flags = GP_FIELD_NULL | GP_FIELD_SIGNED
#define AT(member) offsetof(struct gp_counted, member)
static const struct gp_field figure_fields[] = {
    {"dram_bytes", NULL, GP_CELL_REAL, gp_member_double, AT(dram_bytes),
     .help = "read from and written to device memory", FIGURE},
    {"l2_bytes", NULL, GP_CELL_REAL, gp_member_double, AT(l2_bytes), .help = "through the L2 cache", FIGURE},
    {"l1_bytes", NULL, GP_CELL_REAL, gp_member_double, AT(l1_bytes), .help = "through the L1 caches", FIGURE},
    {"flops", NULL, GP_CELL_REAL, get_flops, 0,
     .help = "floating point operations, of the types that were counted", FIGURE},
    {"tensor_flops", NULL, GP_CELL_REAL, gp_member_double, AT(tensor_flops), .help = "of matrix units",
     FIGURE},
    {"vector_flops", NULL, GP_CELL_REAL, gp_member_double, AT(vector_flops), .help = "of the ordinary units",
     FIGURE},
    {"arith", NULL, GP_CELL_TEXT, get_arith, 0, .help = "type of most of the operations",
     .flags = GP_FIELD_NULL, .words = ariths},
    {"l1_hit_pct", NULL, GP_CELL_PCT, gp_member_double, AT(l1_hit_pct),
     .help = "sectors found in the L1 caches", FIGURE},
    {"l2_hit_pct", NULL, GP_CELL_PCT, gp_member_double, AT(l2_hit_pct),
     .help = "sectors found in the L2 cache", FIGURE},
    {"occupancy_pct", NULL, GP_CELL_PCT, gp_member_double, AT(occupancy_pct),
     .help = "warps on an active multiprocessor, of those that it can hold", FIGURE},
    {"issue_pct", NULL, GP_CELL_PCT, gp_member_double, AT(issue_pct),
     .help = "active cycles in which an instruction was issued", FIGURE},
    {"tensor_pct", NULL, GP_CELL_PCT, gp_member_double, AT(tensor_pct),
     .help = "cycles in which the matrix units worked", FIGURE},
    {"peak_dram_gbps", NULL, GP_CELL_GBPS, get_giga, AT(peak_dram_bps),
     .help = "of device memory, as the counters report it", FIGURE},
    {"peak_l2_gbps", NULL, GP_CELL_GBPS, get_giga, AT(peak_l2_bps),
     .help = "of the L2 cache, as the counters report it", FIGURE},
    {"peak_flops_per_s", NULL, GP_CELL_REAL, gp_member_double, AT(peak_flops), .help = "of the type arith",
     FIGURE},
};
#undef AT
static const struct gp_record figures = {"figures", NULL, GP_FIELDS(figure_fields),
                                         .size = sizeof(struct gp_counted)};

/* ---- the values of a group ---- */

static const struct gp_metrics_group *group_of(const struct gp_metrics *m, const struct gp_metrics_stat *s)
{
    return &m->groups.at[(size_t)(s - m->stats) / m->columns.n];
}

static const struct gp_metrics_column *column_of(const struct gp_metrics *m, const struct gp_metrics_stat *s)
{
    return &m->columns.at[(size_t)(s - m->stats) % m->columns.n];
}

static void put_dims(struct gp_buf *b, const char *what, const uint32_t v[3])
{
    gp_buf_printf(b, "%s %u", what, (unsigned)v[0]);
    if (v[1] > 1 || v[2] > 1) gp_buf_printf(b, "x%u", (unsigned)v[1]);
    if (v[2] > 1) gp_buf_printf(b, "x%u", (unsigned)v[2]);
}

GP_GETTER(get_config)
{
    const struct gp_metrics_group *g = row;
    struct gp_buf b = {0};
    if (g->kernel && g->config.has & GP_HAS_GRID) {
        put_dims(&b, "grid", g->config.grid);
        put_dims(&b, ", block", g->config.block);
    }
    gp_cell_take(c, &b, x);
}

GP_GETTER(get_stat_label) { gp_member_label(c, f, group_of(x->of, row), x); }

GP_GETTER(get_stat_config) { get_config(c, f, group_of(x->of, row), x); }

GP_GETTER(get_of_column) { gp_member_sid(c, f, column_of(x->of, row), x); }

/* A person reads it in the unit of its metric. */
GP_GETTER(get_value)
{
    gp_member_double(c, f, row, x);
    if (c->none || !x->labels || c->d < 0 || c->d >= 9e15 || c->d != floor(c->d)) return;
    const char *unit = gp_string(x->strings, column_of(x->of, row)->unit);
    c->type = !strcmp(unit, "byte")         ? GP_CELL_BYTES
              : !strcmp(unit, "nanosecond") ? GP_CELL_NS
                                            : GP_CELL_COUNT;
    c->i = (int64_t)c->d;
}

#define AT(member) offsetof(struct gp_metrics_stat, member)
static const struct gp_field value_fields[] = {
    {"label", "Kernel", GP_CELL_NAME, get_stat_label, offsetof(struct gp_metrics_group, label),
     .help = "full name", .flags = GP_FIELD_TABLES},
    {"config", "Launch", GP_CELL_TEXT, get_stat_config, 0, .help = "grid and block",
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
    {"metric", "Metric", GP_CELL_TEXT, get_of_column, offsetof(struct gp_metrics_column, name),
     .help = "name in PerfWorks"},
    {"unit", "Unit", GP_CELL_TEXT, get_of_column, offsetof(struct gp_metrics_column, unit),
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
    {"sum", "Sum", GP_CELL_REAL, get_value, AT(sum), FIGURE},
    {"mean", "Mean", GP_CELL_REAL, get_value, AT(mean), FIGURE},
    {"min", "Min", GP_CELL_REAL, get_value, AT(min), FIGURE | GP_COLUMN_SPARE},
    {"max", "Max", GP_CELL_REAL, get_value, AT(max), FIGURE | GP_COLUMN_SPARE},
};
#undef AT
const struct gp_record gp_metrics_values = {
    "values", "Values", GP_FIELDS(value_fields), sizeof(struct gp_metrics_stat),
    .note = "sums only where values can be added; other means are weighted by the time of each launch"};

/* ---- groups ---- */

GP_GETTER(get_values)
{
    const struct gp_metrics *m = x->of;
    const size_t group = (size_t)((const struct gp_metrics_group *)row - m->groups.at);
    gp_cell_list(c, m->stats + group * m->columns.n, m->columns.n);
}

GP_GETTER(get_bytes)
{
    const double v = *(const double *)gp_member_at(row, f);
    c->none = !(v >= 0 && v < 9e18);
    if (!c->none) c->i = (int64_t)(v + 0.5);
}

/* What rates divide by: the time that nothing distorted, where it is known. */
static double ns_of(const struct gp_metrics_group *g)
{
    int64_t ns = g->joined_ns > 0 ? g->joined_ns : g->time_ns;
    return ns > 0 ? (double)ns : NAN;
}

static const struct gp_counted *of(const struct gp_metrics_group *g) { return &g->counted; }

GP_GETTER(get_dram_gbps) { gp_cell_real(c, of(row)->dram_bytes / ns_of(row)); }

GP_GETTER(get_dram_pct)
{
    gp_cell_real(c, 100 * of(row)->dram_bytes / ns_of(row) * 1e9 / of(row)->peak_dram_bps);
}

GP_GETTER(get_gflop) { gp_cell_real(c, flops_of(of(row)) / 1e9); }

GP_GETTER(get_tflops) { gp_cell_real(c, flops_of(of(row)) / ns_of(row) / 1e3); }

GP_GETTER(get_flops_pct)
{
    gp_cell_real(c, 100 * flops_of(of(row)) / ns_of(row) * 1e9 / of(row)->peak_flops);
}

GP_GETTER(get_intensity)
{
    c->none = !(of(row)->dram_bytes > 0);
    if (!c->none) gp_cell_real(c, flops_of(of(row)) / of(row)->dram_bytes);
}

#define AT(member) offsetof(struct gp_metrics_group, member)
#define TABLE      .flags = GP_FIELD_TABLES
static const struct gp_field group_fields[] = {
    {"name", NULL, GP_CELL_NAME, gp_member_sid, AT(name), .help = "as recorded"},
    {"label", "Kernel", GP_CELL_NAME, gp_member_label, AT(label), .help = "full name, demangled"},
    {"config", "Launch", GP_CELL_TEXT, get_config, 0, .help = "grid and block",
     .flags = GP_FIELD_NULL | GP_COLUMN_WIDE},
    {"ordinal", "Ordinal", GP_CELL_ID, gp_member_id, AT(ordinal),
     .help = "of a launch: its position among the measured ones of its context",
     .flags = GP_FIELD_NULL | GP_COLUMN_RAW},
    {"count", "Launches", GP_CELL_COUNT, gp_member_u64, AT(count), .help = "launches, measured or not"},
    {"measured", "Measured", GP_CELL_COUNT, gp_member_u64, AT(measured),
     .help = "launches with counters; all other columns cover only these", .flags = GP_COLUMN_WIDE},
    {"time_ns", "GPU time", GP_CELL_NS, gp_member_known_i64, AT(time_ns),
     .help = "GPU time of the measured launches while counters were read", .flags = GP_FIELD_NULL},
    {"timing_ns", "Undistorted", GP_CELL_NS, gp_member_known_i64, AT(joined_ns),
     .help = "time of as many launches in the trace of --join", .flags = GP_FIELD_NULL},
    {"values", NULL, GP_CELL_NAMED, get_values, 0, .rows = &gp_metrics_values},
    {"figures", NULL, GP_CELL_ROW, gp_member_row, AT(counted), .rows = &figures},
    {"figures_dram_bytes", "DRAM", GP_CELL_BYTES, get_bytes, AT(counted.dram_bytes),
     .help = "bytes read from and written to device memory", TABLE},
    {"dram_gbps", "DRAM rate", GP_CELL_GBPS, get_dram_gbps, 0, .help = "these bytes divided by the time",
     TABLE},
    {"dram_pct", "of peak", GP_CELL_PCT, get_dram_pct, 0,
     .help = "share of the peak that the counters report", TABLE | GP_COLUMN_SPARE},
    {"figures_l2_bytes", "L2", GP_CELL_BYTES, get_bytes, AT(counted.l2_bytes),
     .help = "bytes through the L2 cache", TABLE | GP_COLUMN_WIDE},
    {"figures_l1_bytes", "L1", GP_CELL_BYTES, get_bytes, AT(counted.l1_bytes),
     .help = "bytes through the L1 caches", TABLE | GP_COLUMN_WIDE},
    {"figures_l2_hit_pct", "L2 hits", GP_CELL_PCT, gp_member_double, AT(counted.l2_hit_pct),
     .help = "sectors found in the L2 cache", TABLE | GP_COLUMN_SPARE},
    {"figures_l1_hit_pct", "L1 hits", GP_CELL_PCT, gp_member_double, AT(counted.l1_hit_pct),
     .help = "sectors found in the L1 caches", TABLE | GP_COLUMN_SPARE},
    {"gflop", "GFLOP", GP_CELL_REAL, get_gflop, 0,
     .help = "10^9 floating point operations, of the types that were counted", TABLE},
    {"tflops", "TFLOP/s", GP_CELL_REAL, get_tflops, 0, .help = "these by the time", TABLE},
    {"flops_pct", "of peak", GP_CELL_PCT, get_flops_pct, 0,
     .help = "share of that type's peak, as the counters report it", TABLE | GP_COLUMN_SPARE},
    {"intensity", "FLOP/B", GP_CELL_REAL, get_intensity, 0, .help = "operations per byte of device memory",
     TABLE | GP_COLUMN_SPARE},
    {"figures_tensor_pct", "Tensor", GP_CELL_PCT, gp_member_double, AT(counted.tensor_pct),
     .help = "cycles in which the matrix units worked", TABLE},
    {"figures_occupancy_pct", "Occupancy", GP_CELL_PCT, gp_member_double, AT(counted.occupancy_pct),
     .help = "warps on an active multiprocessor, of those that it can hold", TABLE},
    {"figures_issue_pct", "Issue", GP_CELL_PCT, gp_member_double, AT(counted.issue_pct),
     .help = "active cycles in which an instruction was issued", TABLE | GP_COLUMN_SPARE},
};
#undef TABLE
#undef AT
#undef FIGURE
const struct gp_record gp_metrics_groups = {"groups", "Kernels", GP_FIELDS(group_fields),
                                            .size = sizeof(struct gp_metrics_group)};

#define AT(member) offsetof(struct gp_metrics_rest, member)
static const struct gp_field rest_fields[] = {
    {"rows", NULL, GP_CELL_COUNT, gp_member_u64, AT(rows), .help = "groups that are not listed"},
    {"count", NULL, GP_CELL_COUNT, gp_member_u64, AT(count), .help = "their launches"},
    {"measured", NULL, GP_CELL_COUNT, gp_member_u64, AT(measured), .help = "of which had counters"},
    {"time_ns", NULL, GP_CELL_NS, gp_member_i64, AT(time_ns), .help = "of those, where it is known"},
};
#undef AT
const struct gp_record gp_metrics_rests = {
    "groups_rest", NULL, GP_FIELDS(rest_fields), sizeof(struct gp_metrics_rest),
    .note = "what groups does not list: groups and rest are the whole"};
