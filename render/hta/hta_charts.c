#include "render/hta/hta_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/draw/chart_svg.h"
#include "render/draw/palette.h"
#include "render/page/graph_svg.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"
#include "render/report/label_disambiguate.h"

enum {
    MAX_ROWS = 24,     /* more bars than this stand instead of lying */
    MAX_COLUMNS = 280, /* more are taken together */
    TOP_KERNELS = 12,
    TOP_CULPRITS = 8,
    TOP_RANKS = 16,
    TOP_PATHS = 8,
};

enum { PARTS = 4 };
static const struct gp_chart_series parts[PARTS] = {{"computing", "gemm"},
                                                    {"exposed communication", "communication"},
                                                    {"exposed copies and sets", "memcpy"},
                                                    {"idle", "idle"}};

static void parts_of(const struct gp_breakdown *b, int64_t *v)
{
    v[0] = b->compute_ns;
    v[1] = b->exposed_communication_ns;
    v[2] = b->exposed_memory_ns;
    v[3] = b->idle_ns;
}

/* A figure being written: strings and rows live in its arena. */
struct figure {
    struct gp_svg *w;
    struct gp_arena mem;
    struct gp_buf text; /* scratch */
    GP_VEC(struct gp_chart_row) rows;
};

/* The scratch text as a string of the figure; empty after. */
static const char *keep(struct figure *f)
{
    const char *s = gp_arena_strndup(&f->mem, f->text.n ? f->text.data : "", f->text.n);
    f->text.n = 0;
    return s;
}

static struct gp_chart_row *add_row(struct figure *f, size_t values)
{
    int64_t *v = gp_arena_zalloc(&f->mem, values * sizeof *v);
    GP_VEC_PUSH(&f->rows, (struct gp_chart_row){.values = v});
    return &f->rows.at[f->rows.n - 1];
}
static int64_t *values_of(const struct figure *f, size_t row)
{
    return (int64_t *)f->rows.at[row].values; /* they are ours */
}

/* NOTE may be NULL. */
static void begin_figure(struct figure *f, struct gp_svg *w, const char *title, const char *note)
{
    f->w = w;
    gp_page_captioned(w, title, note);
}

/* The chart of the figure's rows. */
#define CHART(f, label_, series_, n_, ...)                                                                   \
    &(struct gp_chart)                                                                                       \
    {                                                                                                        \
        .label = (label_), .series = (series_), .series_n = (n_), .rows = (f)->rows.at,                      \
        .rows_n = (f)->rows.n, __VA_ARGS__                                                                   \
    }

static void end_figure(struct figure *f)
{
    gp_svg_close_line(f->w);
    GP_VEC_FREE(&f->rows);
    gp_arena_release(&f->mem);
    gp_buf_release(&f->text);
}

/* Names and shares of the series; SUMS is NULL for names only. Series with a sum of 0 are left out. */
static void put_legend(struct figure *f, const struct gp_chart_series *series, size_t n, const int64_t *sums)
{
    int64_t whole = 0;
    for (size_t i = 0; sums && i < n; i++) whole += sums[i];
    gp_page_open(f->w, "ul", "legend");
    for (size_t i = 0; i < n; i++) {
        if (sums && sums[i] <= 0) continue;
        gp_page_open(f->w, "li", NULL);
        gp_page_swatch(f->w, series[i].k);
        gp_page_text(f->w, series[i].name);
        if (sums) {
            gp_svg_text(f->w, GP_TEXT(" "));
            gp_scale_put_share(&f->text, sums[i], whole);
            gp_page_take(f->w, &f->text, "b", NULL);
        }
        gp_svg_close(f->w);
    }
    gp_svg_close(f->w);
}

/* As much of rank, process and GPU as needed to distinguish the device from the others. */
static void put_device(struct gp_buf *b, const struct gp_hta *h, const struct gp_hta_device *d)
{
    bool alone = true, twin = false; /* the rank's only device; two processes use one */
    GP_EACH(const struct gp_hta_device, other, h->devices) {
        if (other == d || other->rank != d->rank) continue;
        alone = false;
        twin = twin || other->device == d->device;
    }
    if (d->rank >= 0) gp_buf_printf(b, "rank %d%s", d->rank, alone ? "" : ", ");
    if (twin) gp_buf_printf(b, "process %u, ", d->producer);
    if (d->rank < 0 || !alone) gp_buf_printf(b, "GPU %lld", (long long)d->device);
}

/* ---- where the time went ---- */

static void lying_devices(struct figure *f, const struct gp_hta *h)
{
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        struct gp_chart_row *row = add_row(f, PARTS);
        parts_of(&d->b, values_of(f, i));
        put_device(&f->text, h, d);
        row->label = keep(f);
        gp_buf_printf(&f->text, "%s busy", GP_SHARE(d->b.busy_ns, d->b.span_ns));
        row->text = keep(f);
    }
    gp_chart_rows(f->w, CHART(f, "Parts of each device's time", parts, PARTS, .unit = GP_UNIT_NS));
}

enum { MILLION = 1000000 };

/* Shares of the span; many devices next to each other are one column, their mean weighted by span. */
static void standing_devices(struct figure *f, const struct gp_hta *h)
{
    size_t each = (h->devices.n + MAX_COLUMNS - 1) / MAX_COLUMNS;
    for (size_t i = 0; i < h->devices.n; i += each) {
        size_t end = i + each < h->devices.n ? i + each : h->devices.n;
        double sum[PARTS] = {0}, whole = 0;
        for (size_t j = i; j < end; j++) {
            int64_t v[PARTS];
            parts_of(&h->devices.at[j].b, v);
            for (int k = 0; k < PARTS; k++) sum[k] += (double)v[k];
            whole += (double)h->devices.at[j].b.span_ns;
        }
        struct gp_chart_row *row = add_row(f, PARTS);
        put_device(&f->text, h, &h->devices.at[i]);
        if (end > i + 1) {
            gp_buf_puts(&f->text, " to ");
            put_device(&f->text, h, &h->devices.at[end - 1]);
        }
        row->label = keep(f);
        int64_t *v = values_of(f, f->rows.n - 1), left = MILLION;
        for (int k = 0; k < PARTS; k++) {
            v[k] = whole > 0 ? (int64_t)(sum[k] * MILLION / whole + 0.5) : 0;
            if (v[k] > left) v[k] = left;
            left -= v[k];
        }
    }
    gp_chart_columns(f->w, CHART(f, "Parts of each device's time, in order of the ranks", parts, PARTS,
                                 .x_axis = "devices, in order of the ranks", .whole = MILLION));
}

void gp_hta_chart_devices(struct gp_svg *w, const struct gp_hta *h)
{
    struct figure f = {0};
    if (!h->devices.n) return;
    begin_figure(&f, w, "Time of each GPU", "from its first to its last event; the parts add up");
    struct gp_hta_totals all = gp_hta_totals(h);
    int64_t sums[PARTS];
    parts_of(&all.b, sums);
    put_legend(&f, parts, PARTS, sums);
    if (h->devices.n <= MAX_ROWS) lying_devices(&f, h);
    else standing_devices(&f, h);
    end_figure(&f);
}

/* ---- idle ---- */

/* Time and share of the whole, beside a bar. */
static const char *time_and_share(struct figure *f, int64_t ns, int64_t whole)
{
    gp_buf_printf(&f->text, "%s  %s", GP_NS(ns), GP_SHARE(ns, whole));
    return keep(f);
}

static void draw_bars(struct figure *f, const char *label, const struct gp_chart_series *series)
{
    gp_chart_rows(f->w, CHART(f, label, series, 1, .unit = GP_UNIT_NS));
}

GP_COMPARE(by_first_value, struct gp_chart_row, GP_DOWN(values[0]) GP_THEN(strcmp(x->label, y->label)))

void gp_hta_chart_idle(struct gp_svg *w, const struct gp_hta *h)
{
    static const struct gp_chart_series series = {NULL, "idle"};
    struct gp_hta_totals all = gp_hta_totals(h);
    struct figure f = {0};
    if (all.b.idle_ns <= 0) return;
    begin_figure(&f, w, "Idle by cause", "time, and share of the GPUs' total time");
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
        if (all.idle_cause_ns[c] <= 0) continue;
        struct gp_chart_row *row = add_row(&f, 1);
        values_of(&f, f.rows.n - 1)[0] = all.idle_cause_ns[c];
        row->label = gp_idle_cause_text((enum gp_idle_cause)c);
        row->text = time_and_share(&f, all.idle_cause_ns[c], all.b.span_ns);
    }
    if (f.rows.n) qsort(f.rows.at, f.rows.n, sizeof *f.rows.at, by_first_value);
    draw_bars(&f, "Idle time by cause", &series);
    end_figure(&f);
}

/* The innermost frame, and the one around it; 0: there is none. */
static gp_sid innermost(const struct gp_idle_culprit *c, gp_sid *around)
{
    const gp_sid frames[] = {c->range, c->python, c->op, c->api};
    gp_sid inner = 0;
    *around = 0;
    for (size_t i = 0; i < GP_COUNT(frames); i++) {
        if (!frames[i] || frames[i] == inner) continue;
        *around = inner;
        inner = frames[i];
    }
    return inner;
}

/* Has another one of the first N the same name as number I? */
static bool is_twin(const struct gp_idle_culprit *list, size_t n, size_t i)
{
    gp_sid around, inner = innermost(&list[i], &around);
    for (size_t k = 0; k < n; k++)
        if (k != i && list[k].cause == list[i].cause && innermost(&list[k], &around) == inner) return true;
    return false;
}

/* The most informative frame, innermost first, and all frames; of a TWIN the frame around it, too. */
static void name_culprit(struct figure *f, const struct gp_hta *h, const struct gp_idle_culprit *c, bool twin,
                         struct gp_chart_row *row)
{
    const gp_sid frames[] = {c->range, c->python, c->op, c->api};
    gp_sid around, inner = innermost(c, &around);
    gp_buf_puts(&f->text, gp_idle_cause_text((enum gp_idle_cause)c->cause));
    for (size_t i = 0; i < GP_COUNT(frames); i++) {
        if (!frames[i]) continue;
        gp_buf_puts(&f->text, "\xE2\x80\x82\xE2\x80\xBA\xE2\x80\x82"); /* en space, angle, en space */
        gp_buf_puts(&f->text, gp_hta_str(h, frames[i]));
    }
    if (c->samples) gp_buf_printf(&f->text, ", %" PRIu64 " samples", c->samples);
    row->full = keep(f);
    gp_buf_puts(&f->text, inner ? gp_hta_str(h, inner) : "nothing recorded");
    if (twin && around) gp_buf_printf(&f->text, " in %s", gp_hta_str(h, around));
    if (c->cause != GP_IDLE_HOST) { /* the usual cause is omitted */
        gp_buf_puts(&f->text, ", ");
        gp_buf_puts(&f->text, gp_idle_cause_text((enum gp_idle_cause)c->cause));
    }
    row->label = keep(f);
}

void gp_hta_chart_culprits(struct gp_svg *w, const struct gp_hta *h)
{
    static const struct gp_chart_series series = {NULL, "idle"};
    gp_idle_culprits list = {0};
    gp_hta_culprit_sums(h, &list);
    struct gp_hta_totals all = gp_hta_totals(h);
    if (list.n) {
        struct figure f = {0};
        begin_figure(&f, w, "What the host did meanwhile", "innermost frame; the tooltip has the rest");
        for (size_t i = 0; i < list.n && i < TOP_CULPRITS && !list.at[i].rest; i++) {
            struct gp_chart_row *row = add_row(&f, 1);
            values_of(&f, i)[0] = list.at[i].idle_ns;
            name_culprit(&f, h, &list.at[i],
                         is_twin(list.at, list.n < TOP_CULPRITS ? list.n : TOP_CULPRITS, i), row);
            row->text = time_and_share(&f, list.at[i].idle_ns, all.b.span_ns);
        }
        draw_bars(&f, "Idle time by what the host was doing", &series);
        end_figure(&f);
    }
    GP_VEC_FREE(&list);
}

/* ---- kernels ---- */

static void put_kinds(struct figure *f, const struct gp_hta *h)
{
    struct gp_chart_series kinds[GP_FRAME_KIND_COUNT];
    int64_t sums[GP_FRAME_KIND_COUNT] = {0};
    for (int i = 0; i < GP_FRAME_KIND_COUNT; i++) {
        enum gp_frame_kind kind = gp_palette_legend(i);
        kinds[i] = (struct gp_chart_series){gp_palette_label(kind), gp_palette_class(kind)};
        for (size_t j = 0; j < h->kernels.n; j++)
            if (h->kernels.at[j].kind == kind) sums[i] += h->kernels.at[j].dur.sum;
    }
    put_legend(f, kinds, GP_FRAME_KIND_COUNT, sums);
}

/* The labels of the first N kernels, no two alike, which F keeps. */
static void label_kernels(struct figure *f, const struct gp_hta *h, const char *labels[TOP_KERNELS], size_t n)
{
    struct gp_label names[TOP_KERNELS] = {{0}};
    for (size_t i = 0; i < n; i++) {
        gp_sid name = h->kernels.at[i].name;
        names[i] = (struct gp_label){.full = gp_hta_str(h, name), .full_n = gp_string_len(&h->strings, name)};
        gp_name_kernel_label(&f->text, names[i].full, names[i].full_n);
        names[i].label = keep(f);
        names[i].label_n = strlen(names[i].label);
    }
    gp_label_tag(names, n);
    for (size_t i = 0; i < n; i++) {
        gp_buf_printf(&f->text, "%s%s", names[i].label, names[i].tag);
        labels[i] = keep(f);
    }
}

void gp_hta_chart_kernels(struct gp_svg *w, const struct gp_hta *h)
{
    const char *labels[TOP_KERNELS];
    static const struct gp_chart_series series = {NULL, "compute"};
    struct figure f = {0};
    int64_t whole = 0;
    for (size_t i = 0; i < h->kernels.n; i++) whole += h->kernels.at[i].dur.sum;
    if (!whole) return;
    begin_figure(&f, w, "Kernels, copies and sets with the most GPU time", "and their share of it");
    put_kinds(&f, h);
    label_kernels(&f, h, labels, h->kernels.n < TOP_KERNELS ? h->kernels.n : TOP_KERNELS);
    for (size_t i = 0; i < h->kernels.n && i < TOP_KERNELS; i++) {
        const struct gp_kernel_stat *k = &h->kernels.at[i];
        struct gp_chart_row *row = add_row(&f, 1);
        values_of(&f, i)[0] = k->dur.sum;
        row->label = labels[i];
        row->full = gp_hta_str(h, k->name);
        row->k = gp_palette_class((enum gp_frame_kind)k->kind);
        row->text = time_and_share(&f, k->dur.sum, whole);
    }
    draw_bars(&f, "GPU time by kernel", &series);
    end_figure(&f);
}

/* ---- distributions ---- */

/* Bins 1, 2, 5, 10, 20, 50 ... ns; a bucket belongs to the bin of its middle. */
enum { BINS = 40 };
struct histogram {
    double count[BINS], time[BINS];
    int64_t edge[BINS + 1];
};

static void set_edges(struct histogram *hist)
{
    int64_t power = 1;
    for (int i = 0; i <= BINS; i++) {
        hist->edge[i] = power * (i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 5);
        if (i % 3 == 2) power *= 10;
    }
}

static void add_dist(struct histogram *hist, const struct gp_histogram *d)
{
    for (unsigned b = 0; d->buckets && b < GP_HISTOGRAM_BUCKETS; b++) {
        if (!d->buckets[b]) continue;
        int64_t middle = b;
        if (b >= 16) {
            unsigned e = (b - 16) / 8 + 4;
            double width = (double)(UINT64_C(1) << (e - 3));
            double at = (8.5 + (b - 16) % 8) * width;
            middle = at < 9e18 ? (int64_t)at : INT64_MAX;
        }
        int bin = 0;
        while (bin + 1 < BINS && hist->edge[bin + 1] <= middle) bin++;
        hist->count[bin] += d->buckets[b];
        hist->time[bin] += (double)d->buckets[b] * (double)middle;
    }
}

/* SERIES: share of the number and share of the time, or only the first. */
static void draw_histogram(struct figure *f, const struct histogram *hist,
                           const struct gp_chart_series *series, size_t series_n, const char *label,
                           const char *x_axis)
{
    double count = 0, time = 0;
    int first = BINS, last = 0;
    for (int i = 0; i < BINS; i++) {
        count += hist->count[i];
        time += hist->time[i];
        if (hist->count[i] > 0 && first == BINS) first = i;
        if (hist->count[i] > 0) last = i;
    }
    const char *ticks[BINS];
    for (int i = first; i <= last; i++) {
        struct gp_chart_row *row = add_row(f, 2);
        int64_t *v = values_of(f, f->rows.n - 1);
        v[0] = (int64_t)(hist->count[i] * MILLION / count + 0.5);
        v[1] = time > 0 ? (int64_t)(hist->time[i] * MILLION / time + 0.5) : 0;
        gp_buf_printf(&f->text, "%s to %s", GP_NS(hist->edge[i]), GP_NS(hist->edge[i + 1]));
        row->label = keep(f);
        static const char *const units[] = {" ns", " \xC2\xB5s", " ms", " s", "000 s"};
        int64_t v3 = hist->edge[i];
        int u = 0;
        while (v3 >= 1000 && u < 4) v3 /= 1000, u++;
        gp_buf_put_i64(&f->text, v3);
        gp_buf_puts(&f->text, units[u]);
        const char *tick = keep(f);
        ticks[i - first] = last - first < 14 || i % 3 == 0 ? tick : NULL;
    }
    gp_chart_grouped(f->w,
                     CHART(f, label, series, series_n, .x_axis = x_axis, .whole = MILLION, .ticks = ticks));
}

void gp_hta_chart_durations(struct gp_svg *w, const struct gp_hta *h)
{
    static const struct gp_chart_series series[] = {{"share of events", "count"},
                                                    {"share of GPU time", "gemm"}};
    struct histogram hist = {0};
    uint64_t n = 0;
    set_edges(&hist);
    for (size_t i = 0; i < h->kernels.n; i++) {
        add_dist(&hist, &h->kernels.at[i].dur);
        n += h->kernels.at[i].dur.buckets ? h->kernels.at[i].dur.n : 0;
    }
    if (!n) return;
    struct figure f = {0};
    begin_figure(&f, w, "Durations", "short events cost more to launch than to run");
    put_legend(&f, series, 2, NULL);
    draw_histogram(&f, &hist, series, 2, "Distribution of the durations of GPU events",
                   "duration from (edges within 6%)");
    end_figure(&f);
}

void gp_hta_chart_skew(struct gp_svg *w, const struct gp_hta *h)
{
    static const struct gp_chart_series series = {"share of the collectives", "communication"};
    struct histogram hist = {0};
    uint64_t n = 0;
    set_edges(&hist);
    for (size_t i = 0; i < h->collective_stats.n; i++) {
        const struct gp_histogram *skew = &h->collective_stats.at[i].skew;
        add_dist(&hist, skew);
        n += skew->buckets ? skew->n : 0;
    }
    if (!n) return;
    struct figure f = {0};
    begin_figure(&f, w, "Start skew of collectives",
                 "last rank's start minus first rank's start, clocks aligned");
    draw_histogram(&f, &hist, &series, 1, "Distribution of the start skew of collectives",
                   "skew from (edges within 6%)");
    end_figure(&f);
}

/* ---- ranks ---- */

static void put_remark(struct figure *f) { gp_page_take(f->w, &f->text, "p", "more"); }

void gp_hta_chart_stragglers(struct gp_svg *w, const struct gp_hta *h)
{
    static const struct gp_chart_series series = {"wait of the other ranks", "communication"};
    struct figure f = {0};
    size_t causes = 0;
    for (size_t i = 0; i < h->stragglers.n; i++) causes += h->stragglers.at[i].caused_wait_ns > 0;
    if (!causes) return;
    begin_figure(&f, w, "Which rank the others wait for",
                 "total wait in collectives where the rank came last");
    for (size_t i = 0; i < h->stragglers.n && f.rows.n < TOP_RANKS; i++) {
        const struct gp_straggler *s = &h->stragglers.at[i];
        if (s->caused_wait_ns <= 0) continue;
        struct gp_chart_row *row = add_row(&f, 1);
        values_of(&f, f.rows.n - 1)[0] = s->caused_wait_ns;
        gp_buf_printf(&f.text, "rank %d, last %llu of %llu", s->rank, (unsigned long long)s->times_last,
                      (unsigned long long)s->matched);
        row->label = keep(&f);
        gp_scale_put(&f.text, GP_UNIT_NS, s->caused_wait_ns);
        row->text = keep(&f);
    }
    draw_bars(&f, "Waiting caused by each rank", &series);
    if (causes > f.rows.n) {
        gp_buf_printf(&f.text, "The worst %zu of %zu ranks that others waited for.", f.rows.n, causes);
        put_remark(&f);
    } else if (causes < h->stragglers.n) {
        size_t none = h->stragglers.n - causes;
        gp_buf_printf(&f.text, "No rank waited for the other %zu rank%s.", none, none == 1 ? "" : "s");
        put_remark(&f);
    }
    end_figure(&f);
}

/* ---- steps ---- */

/* The steps of one device; of steps taken together the slowest is drawn. */
static void steps_of_one(struct figure *f, const struct gp_hta *h, const struct gp_step_spread *s,
                         size_t each)
{
    size_t seen = 0;
    GP_EACH_OF(const struct gp_hta_step, st, s->first, s->count) {
        if ((st->partial || st->warm_up) && s->used < s->count) continue;
        bool fresh = seen++ % each == 0;
        if (!fresh && st->b.span_ns <= values_of(f, f->rows.n - 1)[PARTS]) continue;
        struct gp_chart_row *row = fresh ? add_row(f, PARTS + 1) : &f->rows.at[f->rows.n - 1];
        parts_of(&st->b, values_of(f, f->rows.n - 1));
        values_of(f, f->rows.n - 1)[PARTS] = st->b.span_ns;
        gp_buf_printf(&f->text, "%s, %s", st->name ? gp_hta_str(h, st->name) : "step", GP_NS(st->b.span_ns));
        row->label = keep(f);
    }
    gp_buf_printf(&f->text, "%s mean", GP_NS(s->step_ns));
    gp_chart_columns(f->w,
                     CHART(f, "Parts of the time of each step", parts, PARTS, .x_axis = "steps, in order",
                           .unit = GP_UNIT_NS, .mark = s->step_ns, .mark_text = keep(f)));
}

/* The N-th step of every device: least, median, most. */
static void steps_of_many(struct figure *f, const gp_step_spreads *spreads, size_t each)
{
    static const struct gp_chart_series series[] = {
        {"fastest device", "count"}, {"median", "gemm"}, {"slowest device", "count"}};
    size_t most = 0;
    for (size_t i = 0; i < spreads->n; i++)
        if (spreads->at[i].count > most) most = spreads->at[i].count;
    int64_t *wall = gp_alloc(spreads->n * each * sizeof *wall);
    for (size_t i = 0; i < most; i += each) {
        size_t n = 0;
        for (size_t j = 0; j < spreads->n; j++)
            for (size_t k = i; k < i + each && k < spreads->at[j].count; k++)
                if (!spreads->at[j].first[k].partial) wall[n++] = spreads->at[j].first[k].b.span_ns;
        if (!n) continue;
        qsort(wall, n, sizeof *wall, gp_order_i64);
        struct gp_chart_row *row = add_row(f, 3);
        int64_t *v = values_of(f, f->rows.n - 1);
        v[0] = wall[0];
        v[1] = wall[(n - 1) / 2];
        v[2] = wall[n - 1];
        gp_buf_printf(&f->text, "step %zu", i + 1);
        if (each > 1) gp_buf_printf(&f->text, " to %zu", i + each < most ? i + each : most);
        gp_buf_printf(&f->text, ", %zu values", n);
        row->label = keep(f);
    }
    free(wall);
    if (!f->rows.n) return;
    gp_chart_dots(f->w, CHART(f, "Spread of each step over the devices", series, 3,
                              .x_axis = "steps, in order", .unit = GP_UNIT_NS));
}

void gp_hta_chart_steps(struct gp_svg *w, const struct gp_hta *h)
{
    gp_step_spreads spreads = {0};
    gp_hta_step_spreads(h, false, &spreads);
    size_t most = 0;
    for (size_t i = 0; i < spreads.n; i++)
        if (spreads.at[i].count > most) most = spreads.at[i].count;
    if (most > 1) {
        struct figure f = {0};
        size_t each = (most + MAX_COLUMNS - 1) / MAX_COLUMNS;
        bool one = spreads.n == 1;
        if (each > 1) gp_buf_printf(&f.text, "the slowest of every %zu", each);
        else gp_buf_puts(&f.text, "whole steps only, without warm-up");
        begin_figure(&f, w, "Step times", one ? keep(&f) : "median over the GPUs, from fastest to slowest");
        f.text.n = 0;
        int64_t sums[PARTS] = {0};
        if (one) parts_of(&spreads.at[0].sum, sums);
        if (one) put_legend(&f, parts, PARTS, sums);
        if (one) steps_of_one(&f, h, &spreads.at[0], each);
        else steps_of_many(&f, &spreads, each);
        end_figure(&f);
    }
    GP_VEC_FREE(&spreads);
}

/* ---- the critical path ---- */

void gp_hta_chart_path(struct gp_svg *w, const struct gp_hta *h)
{
    static const char *const colours[GP_PATH_BOUND_COUNT] = {
        [GP_PATH_HOST] = "host",     [GP_PATH_LAUNCH] = "launch",
        [GP_PATH_COMPUTE] = "gemm",  [GP_PATH_COMMUNICATION] = "communication",
        [GP_PATH_MEMORY] = "memcpy", [GP_PATH_KERNEL_GAP] = "idle",
        [GP_PATH_SYNC] = "sync"};
    struct gp_chart_series series[GP_PATH_BOUND_COUNT];
    int64_t sums[GP_PATH_BOUND_COUNT] = {0}, whole = 0;
    for (int b = 0; b < GP_PATH_BOUND_COUNT; b++)
        series[b] = (struct gp_chart_series){gp_path_bound_text((enum gp_path_bound)b), colours[b]};
    struct figure f = {0};
    for (size_t i = 0; i < h->paths.n && i < TOP_PATHS; i++) {
        const struct gp_hta_path *p = &h->paths.at[i];
        struct gp_chart_row *row = add_row(&f, GP_PATH_BOUND_COUNT);
        for (int b = 0; b < GP_PATH_BOUND_COUNT; b++) {
            values_of(&f, i)[b] = p->bound_ns[b];
            sums[b] += p->bound_ns[b];
            whole += p->bound_ns[b];
        }
        if (p->rank >= 0) gp_buf_printf(&f.text, "rank %d ", p->rank);
        gp_buf_puts(&f.text, p->window ? gp_hta_str(h, p->window) : "whole trace");
        row->label = keep(&f);
        gp_scale_put(&f.text, GP_UNIT_NS, p->end_ns - p->begin_ns);
        row->text = keep(&f);
    }
    if (whole) {
        begin_figure(&f, w, "What bounds the path",
                     "pieces of the critical path of one window; they add up to its time");
        put_legend(&f, series, GP_PATH_BOUND_COUNT, sums);
        gp_chart_rows(
            w, CHART(&f, "What bounds the critical path", series, GP_PATH_BOUND_COUNT, .unit = GP_UNIT_NS));
        if (h->paths.n > TOP_PATHS) {
            gp_buf_printf(&f.text, "The first %d of %zu.", TOP_PATHS, h->paths.n);
            put_remark(&f);
        }
        end_figure(&f);
        return;
    }
    GP_VEC_FREE(&f.rows);
    gp_arena_release(&f.mem);
}

void gp_hta_chart_path_graph(struct gp_svg *w, const struct gp_hta *h)
{
    enum { PIECES = 16, MOST_PATHS = 8 };
    struct gp_buf dot = {0}, drawn = {0};
    struct gp_svg g = {.out = &drawn, .html = true};
    if (!h->paths.n || h->paths.n > MOST_PATHS) return;
    gp_path_dot(&dot, h, PIECES);
    if (gp_graph_svg(&g, dot.data, dot.n,
                     &(struct gp_graph_opts){.label = "The critical path from beginning to end; the tables "
                                                      "below have the same content in words"})) {
        static const char words[] = "The path as a graph, with short pieces folded";
        gp_page_open(w, "details", "source");
        gp_page_element(w, "summary", NULL, words, sizeof words - 1);
        gp_page_graph(w, &drawn, "The critical path as a graph");
        gp_svg_close_line(w);
    }
    gp_buf_release(&dot);
    gp_buf_release(&drawn);
}
