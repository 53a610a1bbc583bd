#include "render/metrics/metrics_formats.h"

#include <math.h>
#include <string.h>
#include "analyze/cost/regime.h"
#include "analyze/cost/roofline.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/json_write.h"
#include "formats/base/scale.h"
#include "render/metrics/stall_code.h"
#include "render/page/chart_roofline.h"
#include "render/page/page_doc.h"
#include "render/page/page_html.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"
#include "render/report/report.h"

/* ---- CSV ---- */

static const char *const reduces[] = {"sum", "mean", "max", "min"}; /* as in enum gp_metric_reduce */

static double value_of(const struct gp_metrics_stat *s, size_t reduce)
{
    const double v[] = {s->sum, s->mean, s->max, s->min};
    return v[reduce];
}

static void put_csv_text(struct gp_buf *b, const char *s) { gp_report_csv_put(b, s, strlen(s)); }

static bool is_wanted(const struct gp_metrics *m, size_t column, size_t reduce, int only)
{
    if (only >= 0 && reduce != (size_t)only) return false;
    return reduce != GP_REDUCE_SUM || m->columns.at[column].reduce == GP_REDUCE_SUM;
}

/* Members of a group that are one value in JSON; of its names only the demangled one, which is long
 * enough. */
static bool is_column(const struct gp_field *f)
{
    return f->heading && f->type < GP_CELL_ANY && !(f->flags & GP_FIELD_TABLES);
}

/* Of group G; NULL: their names. */
static void put_group(struct gp_buf *b, const struct gp_metrics *m, const struct gp_metrics_group *g)
{
    struct gp_arena mem = {0};
    struct gp_row_of of = gp_metrics_rows_of(m);
    bool first = true;
    of.mem = &mem;
    for (size_t i = 0; i < gp_metrics_groups.n; i++) {
        const struct gp_field *f = &gp_metrics_groups.fields[i];
        if (!is_column(f)) continue;
        if (!first) gp_buf_putc(b, ',');
        first = false;
        const struct gp_cell c = g ? gp_field_cell(f, g, &of) : (struct gp_cell){0};
        if (g) gp_report_csv_cell(b, &c);
        else gp_buf_puts(b, f->id);
    }
    gp_arena_release(&mem);
}

/* A line per value, or if WIDE a column. */
static void put_csv_values(struct gp_buf *b, const struct gp_metrics *m, int reduce, bool wide)
{
    struct gp_buf text = {0};
    put_group(b, m, NULL);
    if (!wide) gp_buf_puts(b, ",metric,unit,reduce,value");
    for (size_t i = 0; wide && i < m->columns.n * 4; i++) {
        text.n = 0;
        gp_buf_printf(&text, "%s %s", gp_metrics_str(m, m->columns.at[i / 4].name), reduces[i % 4]);
        if (!is_wanted(m, i / 4, i % 4, reduce)) continue;
        gp_buf_putc(b, ',');
        gp_report_csv_put(b, gp_buf_str(&text), text.n);
    }
    gp_buf_puts(b, "\r\n");
    for (size_t g = 0; g < m->groups.n; g++) {
        text.n = 0;
        put_group(&text, m, &m->groups.at[g]);
        if (wide) gp_buf_put(b, text.data, text.n);
        for (size_t i = 0; i < m->columns.n * 4; i++) {
            double v = value_of(gp_metrics_stat(m, g, i / 4), i % 4);
            if (!is_wanted(m, i / 4, i % 4, reduce)) continue;
            if (!wide) {
                gp_buf_put(b, text.data, text.n);
                gp_buf_putc(b, ',');
                put_csv_text(b, gp_metrics_str(m, m->columns.at[i / 4].name));
                gp_buf_putc(b, ',');
                put_csv_text(b, gp_metrics_str(m, m->columns.at[i / 4].unit));
                gp_buf_printf(b, ",%s", reduces[i % 4]);
            }
            gp_buf_putc(b, ',');
            if (!isnan(v)) gp_json_put_double(b, v);
            if (!wide) gp_buf_puts(b, "\r\n");
        }
        if (wide) gp_buf_puts(b, "\r\n");
    }
    gp_buf_release(&text);
}

/* ---- the report ---- */

struct tables {
    struct gp_report *r;
    const struct gp_metrics *m;
    struct gp_buf text, label; /* scratch */
    size_t top;                /* rows of tables that the analysis does not cut; 0: all */
};

/* "GH100", or all chips of the trace; "" unknown. Borrowed from B. */
static const char *put_chips(struct gp_buf *b, const struct gp_metrics *m)
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

/* The first columns name the rows. */
static void summarize_groups(struct tables *k)
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

static void summarize_values(struct tables *k, bool shown)
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

static void summarize_measured(struct tables *k)
{
    const struct gp_metrics *m = k->m;
    k->text.n = k->label.n = 0;
    gp_buf_printf(&k->text, "%s of %s launches measured: %zu metrics", GP_COUNTED(m->launches_measured),
                  GP_COUNTED(m->launches), m->columns.n);
    put_chips(&k->label, m);
    if (k->label.n) gp_buf_printf(&k->text, " on %s", gp_buf_str(&k->label));
    if (m->passes) gp_buf_printf(&k->text, ", %u %s", m->passes, m->passes == 1 ? "pass" : "passes");
    gp_report_verdict(k->r, GP_TONE_PLAIN, "%s", gp_buf_str(&k->text));
}

/* The nearer roof, if P reaches half of it. */
static enum gp_regime bound_of(const struct gp_roofline *r, const struct gp_roofline_point *p)
{
    static const double REACHED = 0.5;
    double memory_per_s = 0, memory = 0, compute = 0;
    for (size_t i = 0; i < r->roofs.n; i++)
        if (r->roofs.at[i].memory && (memory_per_s <= 0 || r->roofs.at[i].per_s < memory_per_s))
            memory_per_s = r->roofs.at[i].per_s; /* the slowest: the device's memory */
    if (memory_per_s > 0) memory = gp_roofline_bytes_per_s(p) / memory_per_s;
    if (p->roof < r->roofs.n) compute = gp_roofline_flops_per_s(p) / r->roofs.at[p->roof].per_s;
    if (memory <= 0 && compute <= 0) return GP_REGIME_UNKNOWN;
    if (memory < REACHED && compute < REACHED) return GP_REGIME_INEFFICIENT;
    return memory > compute ? GP_REGIME_MEMORY : GP_REGIME_COMPUTE;
}

/* What bounds the measured kernels, by time, with the one that takes the most of it. */
static void summarize_bound(struct tables *k, const struct gp_ceilings *measured)
{
    struct gp_roofline r = {0};
    struct gp_strings names = {0};
    int64_t of[GP_REGIME_COUNT] = {0}, all_ns = 0, unplaced_ns = 0;
    const struct gp_roofline_point *largest[GP_REGIME_COUNT] = {NULL};
    gp_metrics_roofline(&r, &names, k->m, measured);
    for (size_t i = 0; i < r.points.n; i++) {
        const struct gp_roofline_point *p = &r.points.at[i];
        enum gp_regime bound = bound_of(&r, p);
        of[bound] += p->total_ns;
        if (!largest[bound]) largest[bound] = p; /* they are in order */
    }
    unplaced_ns = of[GP_REGIME_UNKNOWN] + r.unknown_ns;
    of[GP_REGIME_UNKNOWN] = 0;
    int most = 0;
    for (int i = 0; i < GP_REGIME_COUNT; i++) {
        all_ns += of[i];
        if (of[i] > of[most]) most = i;
    }
    k->text.n = 0;
    bool known = of[most] >= unplaced_ns;
    if (known) gp_buf_printf(&k->text, "Bound by %s: ", gp_regime_text((enum gp_regime)most));
    gp_scale_put_share(&k->text, known ? of[most] : unplaced_ns, all_ns + unplaced_ns);
    gp_buf_puts(&k->text, " of the measured kernel time");
    if (!known) gp_buf_puts(&k->text, " has an unknown bound, as its work was not counted");
    for (int i = 0; i < GP_REGIME_COUNT; i++) {
        if ((known && i == most) || of[i] * 20 <= all_ns) continue;
        gp_buf_printf(&k->text, ", %s is bound by %s", GP_SHARE(of[i], all_ns + unplaced_ns),
                      gp_regime_text((enum gp_regime)i));
    }
    if (known && unplaced_ns * 20 > all_ns)
        gp_buf_printf(&k->text, ", %s is unknown", GP_SHARE(unplaced_ns, all_ns + unplaced_ns));
    if (known && largest[most])
        gp_buf_printf(&k->text, "; mainly %s", gp_string(&names, largest[most]->label));
    if (of[most] > 0) gp_report_verdict(k->r, GP_TONE_PLAIN, "%s.", gp_buf_str(&k->text));
    gp_roofline_release(&r);
    gp_strings_release(&names);
}

static void summarize_uncounted(struct tables *k)
{
    size_t n = 0;
    for (size_t g = 0; g < k->m->groups.n; g++)
        n += k->m->groups.at[g].counted.tensor_unknown && k->m->counters.ntensor > 0;
    if (n)
        gp_report_verdict(
            k->r, GP_TONE_WARN,
            "%zu %s did tensor work of a type that was not counted: use --metrics roofline:TYPE or tensor", n,
            n == 1 ? "kernel" : "kernels");
}

/* ---- stalls ---- */

/* The program's kernel with the most samples. */
static void summarize_stalls(struct tables *k)
{
    const struct gp_stalls *s = &k->m->stalls;
    const struct gp_row_of of = gp_metrics_rows_of(k->m);
    if (!s->kernels.n) return;
    size_t i = 0;
    while (i < s->kernels.n && !gp_stalled_is_theirs(&k->m->strings, &s->kernels.at[i])) i++;
    k->text.n = 0;
    gp_buf_printf(&k->text, "%s samples of program counters in %zu %s", GP_COUNTED(s->samples), s->kernels.n,
                  s->kernels.n == 1 ? "kernel" : "kernels");
    if (i < s->kernels.n && gp_stalled_is_sure(&s->kernels.at[i])) {
        gp_buf_puts(&k->text, "; ");
        gp_stall_put_saving(&k->text, &k->m->strings, &s->kernels.at[i]);
    }
    gp_report_verdict(k->r, GP_TONE_PLAIN, "%s.", gp_buf_str(&k->text));
    gp_record_table(k->r, &gp_stalls_kernels, s->kernels.at, s->kernels.n, k->top, &of);
    gp_record_table(k->r, &gp_stalls_lines, s->hottest.at, s->hottest.n, k->top, &of);
}

/* Metrics that were asked for and never had a value. */
static void summarize_missing(struct tables *k)
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

static void summarize_conditions(struct tables *k)
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
    summarize_missing(k);
    for (size_t i = 0; i < m->losses.n; i++)
        gp_report_note(k->r, GP_TONE_WARN, "%llu %s: %s", (unsigned long long)m->losses.at[i].count,
                       gp_metrics_str(m, m->losses.at[i].what), gp_metrics_str(m, m->losses.at[i].reason));
}

/* With VALUES, the table of single values is not a detail. */
static void fill_report(struct gp_report *r, const struct gp_metrics_answer *a, bool values)
{
    struct tables k = {.r = r, .m = a->m, .top = a->top};
    summarize_bound(&k, a->measured);
    if (a->m->columns.n || !a->m->stalls.kernels.n) summarize_measured(&k);
    summarize_uncounted(&k);
    summarize_conditions(&k);
    summarize_groups(&k);
    summarize_values(&k, values);
    summarize_stalls(&k);
    gp_buf_release(&k.text);
    gp_buf_release(&k.label);
}

/* ---- JSON ---- */

static void put_json(void *answer, struct gp_buf *b)
{
    const struct gp_metrics *m = ((const struct gp_metrics_answer *)answer)->m;
    struct gp_doc d = {.b = b, .strings = &m->strings};
    struct gp_buf text = {0};
    const struct gp_row_of of = gp_metrics_rows_of(m);
    gp_doc_begin(&d, '{');
    gp_doc_head(&d, "trace-metrics", GP_VERSION, &m->input, 1);
    if (m->chips.n) gp_doc_cstr(&d, "chip", put_chips(&text, m));
    else gp_doc_null(&d, "chip");
    gp_doc_u64(&d, "passes", m->passes);
    gp_doc_bool(&d, "distorted", m->distorted);
    gp_doc_u64(&d, "launches", m->launches);
    gp_doc_u64(&d, "launches_measured", m->launches_measured);
    gp_record_json(&d, &gp_metrics_columns, m->columns.at, m->columns.n, 0, &of);
    gp_record_json(&d, &gp_metrics_groups, m->groups.at, m->groups.n, 0, &of);
    gp_record_object(&d, gp_metrics_rests.id, &gp_metrics_rests, &m->rest, &of);
    gp_doc_u64(&d, "groups_left_out", m->rest.rows);
    gp_record_json(&d, &gp_metrics_losses, m->losses.at, m->losses.n, 0, &of);
    gp_record_json(&d, &gp_stalls_kernels, m->stalls.kernels.at, m->stalls.kernels.n, 0, &of);
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
    gp_buf_release(&text);
}

/* ---- the page ---- */

struct page {
    struct gp_svg w;
    struct gp_roofline roofline;
    struct gp_strings names; /* of it */
    size_t all;              /* kernels or ranges */
    const struct gp_metrics_answer *a;
};

GP_PAGE_HAS(has_roofline, p->roofline.points.n > 0)

static void put_roofline(void *page)
{
    struct page *p = page;
    struct gp_buf text = {0};
    gp_page_put(
        &p->w, "p", NULL,
        "Each kernel has a circle for device memory, a square for the L2 cache and a triangle for L1, at the "
        "operations per byte of that level; the circle's area is its share of the time. All three are at the "
        "rate that the kernel reached; the farther apart they are, the more the caches save. The lines are "
        "what the device can do: as gpuprof-collect --calibrate measured it, or else the peaks that the "
        "counters report.");
    gp_page_open(&p->w, "figure", NULL);
    gp_chart_roofline(&p->w, &(struct gp_chart_roofline){&p->roofline, &p->names, .counted = true});
    gp_chart_roofline(&p->w,
                      &(struct gp_chart_roofline){&p->roofline, &p->names, .counted = true, .narrow = true});
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
    size_t points = p->roofline.points.n, shown = points < GP_ROOFLINE_POINTS ? points : GP_ROOFLINE_POINTS;
    if (shown == p->all) return;
    gp_buf_printf(&text,
                  "%zu of %zu kernels are drawn. The others did no operations that these counters count, or "
                  "took less time.",
                  shown, p->all);
    gp_page_take(&p->w, &text, "p", "note");
    gp_buf_release(&text);
}

GP_PAGE_DRAW(put_code, gp_stall_code(&p->w, &p->a->m->stalls, p->a->code, p->a->code_n))

static const struct gp_page_section sections[] = {
    {"roofline", "Roofline, as measured", .entry = "Roofline", .draw = put_roofline, .there = has_roofline},
    {"counters", "Counters", .tables = {"groups", "values"}},
    {"why", "Why kernels stall", .entry = "Stalls", .tables = {"stalls"}},
    {"where", "Where they stall", .entry = "Code", .draw = put_code, .tables = {"lines"},
     .open = GP_PAGE_FOLDED},
};

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_metrics_answer *a = answer;
    const struct gp_metrics *m = a->m;
    struct gp_report r = {0};
    struct gp_buf json = {0};
    struct page p = {.all = m->groups.n, .a = a};
    gp_metrics_roofline(&p.roofline, &p.names, m, a->measured);
    fill_report(&r, a, true);
    put_json(answer, &json);
    struct gp_page_doc doc = {.tool = "trace-metrics",
                              .parts = &gp_page_metrics,
                              .report = &r,
                              .input = a->input,
                              GP_PAGE_SECTIONS(sections),
                              .page = &p,
                              .options = a->options,
                              .json = &json};
    put_chips(&doc.facts, m);
    gp_page_write(&p.w, b, &doc);
    gp_report_release(&r);
    gp_buf_release(&json);
    gp_roofline_release(&p.roofline);
    gp_strings_release(&p.names);
}

/* ---- formats ---- */

static void put_text(void *answer, struct gp_buf *b)
{
    const struct gp_metrics_answer *a = answer;
    struct gp_report r = {0};
    fill_report(&r, a, a->values);
    gp_report_text_write(b, &r, &(struct gp_report_text_opts){.color = a->color, .width = a->width});
    gp_report_release(&r);
}

static void put_csv(void *answer, struct gp_buf *b)
{
    const struct gp_metrics_answer *a = answer;
    if (!a->m->columns.n && a->m->stalls.kernels.n) {
        struct gp_report r = {0};
        const struct gp_row_of of = gp_metrics_rows_of(a->m);
        const struct gp_stalls *s = &a->m->stalls;
        gp_report_csv_write(
            b, gp_record_table(&r, &gp_stalls_kernels, s->kernels.at, s->kernels.n, a->top, &of), NULL);
        gp_report_release(&r);
    } else put_csv_values(b, a->m, a->reduce, a->wide);
}

const struct gp_answer_format gp_metrics_formats[] = {
    {"text", 20, 0, .put = put_text},
    {"csv", 0, GP_METRICS_TAKES_WIDE | GP_METRICS_TAKES_REDUCE, .put = put_csv},
    {"json", 0, 0, .put = put_json},
    {"html", 500, GP_METRICS_TAKES_CEILINGS | GP_METRICS_TAKES_CODE, .put = put_html},
    {0},
};
