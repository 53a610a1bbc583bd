#include "render/metrics/metrics_tables.h"

#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/report/record.h"

struct tables {
    struct gp_report *r;
    const struct gp_metrics *m;
    struct gp_buf text, label; /* scratch */
};

const char *gp_metrics_chips(struct gp_buf *b, const struct gp_metrics *m)
{
    for (size_t i = 0; i < m->chips.n; i++)
        gp_buf_printf(b, "%s%s", i ? ", " : "", gp_metrics_str(m, m->chips.at[i]));
    return gp_buf_str(b);
}

/* ---- tables ---- */

static const char *what_groups_are(const struct gp_metrics *m)
{
    if (!m->groups.n || m->groups.at[0].kernel)
        return m->groups.n && m->groups.at[0].ordinal != GP_NO_ID ? "Launches" : "Kernels";
    return "Ranges";
}

/* The first columns say what the rows are. */
static void tell_groups(struct tables *k)
{
    const struct gp_metrics *m = k->m;
    const struct gp_row_of of = gp_metrics_rows_of(m);
    struct gp_record rec = gp_metrics_groups;
    rec.title = what_groups_are(m);
    struct gp_report_table *t = gp_record_table(k->r, &rec, m->groups.at, m->groups.n, 0, &of);
    if (!t) return;
    gp_record_more(k->r, t, m->rest.rows, m->rest.time_ns);
    if (m->groups.at[0].kernel) return;
    gp_report_head(t, "label", "Range");
    gp_report_head(t, "count", "Times");
}

static void tell_values(struct tables *k, bool shown)
{
    const struct gp_metrics *m = k->m;
    const struct gp_row_of of = gp_metrics_rows_of(m);
    struct gp_report_table *t =
        gp_record_table(k->r, &gp_metrics_values, m->stats, m->groups.n * m->columns.n, 0, &of);
    if (!t) return;
    t->detail = !shown;
    t->note = gp_metrics_values.note;
    gp_report_head(t, "label", what_groups_are(m));
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
        n += k->m->groups.at[g].counted.tensor_unknown && k->m->counters.ntensor > 0;
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
    for (size_t c = 0; c < m->columns.n && m->groups.n && !m->rest.rows; c++) {
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
    tell_groups(&k);
    tell_values(&k, values);
    gp_buf_release(&k.text);
    gp_buf_release(&k.label);
}
