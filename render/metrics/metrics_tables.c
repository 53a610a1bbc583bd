#include "render/metrics/metrics_tables.h"

#include <math.h>
#include <string.h>
#include "analyze/names/names.h"
#include "formats/base/scale.h"

struct tables {
    struct gp_report *r;
    const struct gp_metrics *m;
    struct gp_buf text, label; /* scratch */
};

void gp_metrics_put_name(struct gp_buf *b, const struct gp_metrics *m, size_t g)
{
    gp_sid name = m->groups.at[g].name;
    const char *s = gp_metrics_str(m, name);
    size_t n = gp_string_len(&m->strings, name);
    if (m->groups.at[g].kernel) gp_name_demangle(b, s, n);
    else gp_buf_put(b, s, n);
}

static void put_dims(struct gp_buf *b, const char *what, const uint32_t v[3])
{
    gp_buf_printf(b, "%s %u", what, (unsigned)v[0]);
    if (v[1] > 1 || v[2] > 1) gp_buf_printf(b, "x%u", (unsigned)v[1]);
    if (v[2] > 1) gp_buf_printf(b, "x%u", (unsigned)v[2]);
}

void gp_metrics_put_config(struct gp_buf *b, const struct gp_metrics_group *g)
{
    if (!g->kernel || !(g->config.has & GP_HAS_GRID)) return;
    put_dims(b, "grid", g->config.grid);
    put_dims(b, ", block", g->config.block);
}

const char *gp_metrics_chips(struct gp_buf *b, const struct gp_metrics *m)
{
    for (size_t i = 0; i < m->chips.n; i++)
        gp_buf_printf(b, "%s%s", i ? ", " : "", gp_metrics_str(m, m->chips.at[i]));
    return gp_buf_str(b);
}

/* ---- cells ---- */

static void put_real(struct gp_report_table *t, double v)
{
    if (isnan(v)) gp_report_put_none(t);
    else gp_report_put_real(t, v);
}

static bool is_whole(double v)
{
    return v >= 0 && v < 9e15 && v == floor(v);
}

static void put_bytes(struct gp_report_table *t, double v)
{
    if (v >= 0 && v < 9e18) gp_report_put(t, (int64_t)(v + 0.5));
    else gp_report_put_none(t);
}

/* A value in the unit of its metric. */
static void put_value(struct gp_report_table *t, const char *unit, double v)
{
    if (isnan(v)) gp_report_put_none(t);
    else if (!strcmp(unit, "byte") && is_whole(v)) gp_report_put_as(t, GP_CELL_BYTES, (int64_t)v);
    else if (!strcmp(unit, "nanosecond") && is_whole(v)) gp_report_put_as(t, GP_CELL_NS, (int64_t)v);
    else if (is_whole(v)) gp_report_put_as(t, GP_CELL_COUNT, (int64_t)v);
    else gp_report_put_real(t, v);
}

static void put_group(struct tables *k, struct gp_report_table *t, size_t g)
{
    k->text.n = k->label.n = 0;
    gp_metrics_put_name(&k->text, k->m, g);
    if (k->m->groups.at[g].kernel) gp_name_kernel_label(&k->label, gp_buf_str(&k->text), k->text.n);
    else gp_buf_put(&k->label, k->text.data, k->text.n);
    gp_report_put_name(k->r, t, gp_buf_str(&k->text), k->text.n, gp_buf_str(&k->label), k->label.n);
    k->text.n = 0;
    gp_metrics_put_config(&k->text, &k->m->groups.at[g]);
    gp_report_put_text(k->r, t, gp_buf_str(&k->text));
}

static const char *what_groups_are(const struct gp_metrics *m)
{
    if (!m->groups.n || m->groups.at[0].kernel)
        return m->groups.n && m->groups.at[0].ordinal != GP_NO_ID ? "Launches" : "Kernels";
    return "Ranges";
}

/* ---- what the counters say ---- */

static void figure_columns(struct tables *k, struct gp_report_table *t, bool ranges)
{
    gp_report_column(t, "name", ranges ? "Range" : "Kernel", GP_CELL_NAME, 0, "full name");
    gp_report_column(t, "config", "Launch", GP_CELL_TEXT, GP_COLUMN_WIDE, "grid and block");
    gp_report_column(t, "count", ranges ? "Times" : "Launches", GP_CELL_COUNT, 0,
                     "launches, measured or not");
    gp_report_column(t, "measured", "Measured", GP_CELL_COUNT, GP_COLUMN_WIDE,
                     "launches with counters; all other columns cover only these");
    gp_report_column(t, "time_ns", "GPU time", GP_CELL_NS, 0,
                     "GPU time of the measured launches while counters were read");
    if (k->m->joined)
        gp_report_column(t, "timing_ns", "Undistorted", GP_CELL_NS, 0,
                         "time of as many launches in the trace of --join");
    gp_report_column(t, "dram_bytes", "DRAM", GP_CELL_BYTES, 0,
                     "bytes read from and written to device memory");
    gp_report_column(t, "dram_gbps", "DRAM rate", GP_CELL_GBPS, 0, "these bytes divided by the time");
    gp_report_column(t, "dram_pct", "of peak", GP_CELL_PCT, GP_COLUMN_SPARE,
                     "share of the peak that the counters report");
    gp_report_column(t, "l2_bytes", "L2", GP_CELL_BYTES, GP_COLUMN_WIDE, "bytes through the L2 cache");
    gp_report_column(t, "l1_bytes", "L1", GP_CELL_BYTES, GP_COLUMN_WIDE, "bytes through the L1 caches");
    gp_report_column(t, "l2_hit_pct", "L2 hits", GP_CELL_PCT, GP_COLUMN_SPARE,
                     "sectors found in the L2 cache");
    gp_report_column(t, "l1_hit_pct", "L1 hits", GP_CELL_PCT, GP_COLUMN_SPARE,
                     "sectors found in the L1 caches");
    gp_report_column(t, "gflop", "GFLOP", GP_CELL_REAL, 0,
                     "10^9 floating point operations, of the types that were counted");
    gp_report_column(t, "tflops", "TFLOP/s", GP_CELL_REAL, 0, "these by the time");
    gp_report_column(t, "flops_pct", "of peak", GP_CELL_PCT, GP_COLUMN_SPARE,
                     "share of that type's peak, as the counters report it");
    gp_report_column(t, "intensity", "FLOP/B", GP_CELL_REAL, GP_COLUMN_SPARE,
                     "operations per byte of device memory");
    gp_report_column(t, "tensor_pct", "Tensor", GP_CELL_PCT, 0, "cycles in which the matrix units worked");
    gp_report_column(t, "occupancy_pct", "Occupancy", GP_CELL_PCT, 0,
                     "warps on an active multiprocessor, of those that it can hold");
    gp_report_column(t, "issue_pct", "Issue", GP_CELL_PCT, GP_COLUMN_SPARE,
                     "active cycles in which an instruction was issued");
}

static void put_figures(struct tables *k, struct gp_report_table *t, size_t g)
{
    const struct gp_metrics_group *group = &k->m->groups.at[g];
    struct gp_counted c;
    gp_metrics_counted(k->m, g, &c);
    double ns = group->time_ns > 0 ? (double)group->time_ns : NAN;
    if (k->m->joined && group->joined_ns > 0) ns = (double)group->joined_ns;
    put_group(k, t, g);
    gp_report_put(t, (int64_t)group->count);
    gp_report_put(t, (int64_t)group->measured);
    if (group->time_ns >= 0) gp_report_put(t, group->time_ns);
    else gp_report_put_none(t);
    if (k->m->joined && group->joined_ns >= 0) gp_report_put(t, group->joined_ns);
    else if (k->m->joined) gp_report_put_none(t);
    put_bytes(t, c.dram_bytes);
    put_real(t, c.dram_bytes / ns);
    put_real(t, 100 * c.dram_bytes / ns * 1e9 / c.peak_dram_bps);
    put_bytes(t, c.l2_bytes);
    put_bytes(t, c.l1_bytes);
    put_real(t, c.l2_hit_pct);
    put_real(t, c.l1_hit_pct);
    if (c.tensor_unknown && !(c.flops > 0)) c.flops = NAN; /* it did some, but nobody counted them */
    put_real(t, c.flops / 1e9);
    put_real(t, c.flops / ns / 1e3);
    put_real(t, 100 * c.flops / ns * 1e9 / c.peak_flops);
    put_real(t, c.dram_bytes > 0 ? c.flops / c.dram_bytes : NAN);
    put_real(t, c.tensor_pct);
    put_real(t, c.occupancy_pct);
    put_real(t, c.issue_pct);
}

static void tell_figures(struct tables *k)
{
    bool ranges = k->m->groups.n && !k->m->groups.at[0].kernel;
    struct gp_report_table *t = gp_report_add(k->r, "groups", what_groups_are(k->m));
    figure_columns(k, t, ranges);
    for (size_t g = 0; g < k->m->groups.n; g++) put_figures(k, t, g);
    if (!k->m->left_out) return;
    k->text.n = 0;
    gp_buf_puts(&k->text, "and ");
    gp_scale_put_count(&k->text, k->m->left_out);
    gp_buf_puts(&k->text, " more");
    t->more = gp_report_str(k->r, gp_buf_str(&k->text), k->text.n);
}

/* ---- single values ---- */

static void tell_values(struct tables *k, bool shown)
{
    const struct gp_metrics *m = k->m;
    struct gp_report_table *t = gp_report_add(k->r, "values", "Values");
    t->detail = !shown;
    t->note = "sums only where values can be added; other means are weighted by the time of each launch";
    gp_report_column(t, "name", what_groups_are(m), GP_CELL_NAME, 0, "full name");
    gp_report_column(t, "config", "Launch", GP_CELL_TEXT, GP_COLUMN_WIDE, "grid and block");
    gp_report_column(t, "metric", "Metric", GP_CELL_TEXT, 0, "name in PerfWorks");
    gp_report_column(t, "unit", "Unit", GP_CELL_TEXT, GP_COLUMN_WIDE, NULL);
    gp_report_column(t, "sum", "Sum", GP_CELL_REAL, 0, NULL);
    gp_report_column(t, "mean", "Mean", GP_CELL_REAL, 0, NULL);
    gp_report_column(t, "min", "Min", GP_CELL_REAL, GP_COLUMN_SPARE, NULL);
    gp_report_column(t, "max", "Max", GP_CELL_REAL, GP_COLUMN_SPARE, NULL);
    for (size_t g = 0; g < m->groups.n; g++) {
        for (size_t c = 0; c < m->columns.n; c++) {
            const struct gp_metrics_stat *s = gp_metrics_stat(m, g, c);
            const char *unit = gp_metrics_str(m, m->columns.at[c].unit);
            put_group(k, t, g);
            gp_report_put_text(k->r, t, gp_metrics_str(m, m->columns.at[c].name));
            gp_report_put_text(k->r, t, unit);
            put_value(t, unit, s->sum);
            put_value(t, unit, s->mean);
            put_value(t, unit, s->min);
            put_value(t, unit, s->max);
        }
    }
}

/* ---- the verdict ---- */

static void tell_measured(struct tables *k)
{
    const struct gp_metrics *m = k->m;
    k->text.n = k->label.n = 0;
    gp_scale_put_count(&k->text, m->launches_measured);
    gp_buf_puts(&k->text, " of ");
    gp_scale_put_count(&k->text, m->launches);
    gp_buf_printf(&k->text, " launches measured: %zu metrics", m->columns.n);
    gp_metrics_chips(&k->label, m);
    if (k->label.n) gp_buf_printf(&k->text, " on %s", gp_buf_str(&k->label));
    if (m->passes) gp_buf_printf(&k->text, ", %u %s", m->passes, m->passes == 1 ? "pass" : "passes");
    gp_report_verdict(k->r, GP_TONE_PLAIN, "%s", gp_buf_str(&k->text));
}

static void tell_uncounted(struct tables *k)
{
    size_t n = 0;
    for (size_t g = 0; g < k->m->groups.n; g++) {
        struct gp_counted c;
        gp_metrics_counted(k->m, g, &c);
        n += c.tensor_unknown && k->m->counters.ntensor > 0;
    }
    if (n)
        gp_report_verdict(
            k->r, GP_TONE_WARN,
            "%zu %s did tensor work of a type that was not counted: use --metrics roofline:TYPE or "
            "tensor",
            n, n == 1 ? "kernel" : "kernels");
}

/* Metrics that were asked for and never had a value. */
static void tell_missing(struct tables *k)
{
    const struct gp_metrics *m = k->m;
    for (size_t c = 0; c < m->columns.n && m->groups.n && !m->left_out; c++) {
        uint64_t n = 0;
        for (size_t g = 0; g < m->groups.n; g++) n += gp_metrics_stat(m, g, c)->n;
        if (!n)
            gp_report_note(
                k->r, GP_TONE_WARN,
                "%s has no value in any launch: the device does not count it, or not in a MIG instance",
                gp_metrics_str(m, m->columns.at[c].name));
    }
}

static void tell_conditions(struct tables *k)
{
    const struct gp_metrics *m = k->m;
    bool by_mean = false;
    for (size_t g = 0; g < m->groups.n; g++) by_mean |= m->groups.at[g].joined_by_mean;
    if (m->distorted)
        gp_report_note(k->r, GP_TONE_WARN,
                       "recorded while counters were read: launches waited for each other, so the time "
                       "between them is meaningless");
    if (by_mean)
        gp_report_note(
            k->r, GP_TONE_WARN,
            "--join: some kernels have a different number of launches there; their times are means");
    tell_missing(k);
    for (size_t i = 0; i < m->losses.n; i++)
        gp_report_note(k->r, GP_TONE_WARN, "%llu %s: %s", (unsigned long long)m->losses.at[i].count,
                       gp_metrics_str(m, m->losses.at[i].what), gp_metrics_str(m, m->losses.at[i].reason));
}

void gp_metrics_report(struct gp_report *r, const struct gp_metrics *m, bool values)
{
    struct tables k = {.r = r, .m = m};
    tell_measured(&k);
    tell_uncounted(&k);
    tell_conditions(&k);
    tell_figures(&k);
    tell_values(&k, values);
    gp_buf_release(&k.text);
    gp_buf_release(&k.label);
}
