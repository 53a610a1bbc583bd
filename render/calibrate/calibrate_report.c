#include "render/calibrate/calibrate_priv.h"

#include <math.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/page/chart_roofline.h"

/* ---- amounts ---- */

/* Append V as figure F is written: "4.30 TB/s", "797 TFLOP/s", "2.77 us". */
static void put_figure(struct gp_buf *b, enum gp_figure f, double v)
{
    switch (gp_figure_facts(f)->unit) {
    case GP_FIGURE_BYTES: gp_roofline_put_rate(b, v, "B/s"); break;
    case GP_FIGURE_FLOPS:
    case GP_FIGURE_FLOPS_MEDIAN: gp_roofline_put_rate(b, v, f == GP_FIGURE_INT8 ? "OP/s" : "FLOP/s"); break;
    case GP_FIGURE_NS: gp_scale_put(b, GP_UNIT_NS, llround(v)); break;
    }
}

void gp_calibrate_put_elements(struct gp_buf *b, double n)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    size_t i = 0;
    for (; n >= 999.5 && i + 1 < sizeof units / sizeof *units; i++) n /= 1000;
    gp_buf_printf(b, "%.*f%s", !i || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2, n, units[i]);
}

/* ---- figures ---- */

static void put_text(struct gp_report *r, struct gp_report_table *t, struct gp_buf *b)
{
    gp_report_put_text(r, t, gp_buf_str(b));
    b->n = 0;
}

static bool any_has(const struct gp_calibration *c, enum gp_figure f)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->devices[i].value[f] > 0) return true;
    return false;
}

static const char *device_label(struct gp_report *r, const struct gp_calibration *c, size_t i)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "GPU %d", c->ids[i]);
    const char *label = gp_report_str(r, b.data, b.n);
    gp_buf_release(&b);
    return label;
}

static void add_figures(struct gp_report *r, const struct gp_calibration *c)
{
    struct gp_buf b = {0};
    struct gp_report_table *t = gp_report_add(r, "ceilings", "Ceilings");
    gp_report_column(t, "figure", "Figure", GP_CELL_TEXT, 0, NULL);
    for (size_t i = 0; i < c->n; i++)
        gp_report_column(t, device_label(r, c, i), device_label(r, c, i), GP_CELL_TEXT, 0, NULL);
    for (int f = 0; f < GP_FIGURE_COUNT; f++) {
        if (!any_has(c, (enum gp_figure)f)) continue;
        gp_report_put_text(r, t, gp_figure_facts((enum gp_figure)f)->words);
        for (size_t i = 0; i < c->n; i++) {
            double v = c->devices[i].value[f];
            if (v > 0) put_figure(&b, (enum gp_figure)f, v);
            else gp_buf_putc(&b, '-');
            put_text(r, t, &b);
        }
    }
    gp_buf_release(&b);
}

static void add_peers(struct gp_report *r, const struct gp_calibration *c)
{
    struct gp_buf b = {0};
    if (!c->peer) return;
    struct gp_report_table *t = gp_report_add(r, "peers", "Copies between devices");
    gp_report_column(t, "from", "From", GP_CELL_TEXT, 0, NULL);
    for (size_t i = 0; i < c->n; i++)
        gp_report_column(t, device_label(r, c, i), device_label(r, c, i), GP_CELL_TEXT, 0, NULL);
    for (size_t i = 0; i < c->n; i++) {
        gp_report_put_text(r, t, device_label(r, c, i));
        for (size_t k = 0; k < c->n; k++) {
            double v = c->peer[i * c->n + k];
            if (v > 0) gp_roofline_put_rate(&b, v, "B/s");
            else gp_buf_putc(&b, '-');
            put_text(r, t, &b);
        }
    }
    gp_buf_release(&b);
}

/* Figures that are missing, and the reasons. */
static void add_notes(struct gp_report *r, const struct gp_calibration *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct gp_figures *f = &c->devices[i];
        for (size_t k = 0; k < f->missing.n; k++)
            gp_report_note(r, GP_TONE_WARN, "GPU %d: not measured: %s: %s", c->ids[i], f->missing.at[k].name,
                           f->missing.at[k].why);
    }
    if (c->strange)
        gp_report_note(r, GP_TONE_WARN, "%zu lines of gpuprof-bench could not be read", c->strange);
}

static void add_soak(struct gp_report *r, const struct gp_figures *f)
{
    double burst = f->value[GP_FIGURE_BF16], lasting = f->value[GP_FIGURE_SUSTAINED_BF16];
    if (burst <= 0 || lasting <= 0) return;
    struct gp_buf b = {0};
    gp_buf_printf(&b, "Under sustained load bf16 keeps %.0f%% of that", 100 * lasting / burst);
    if (f->soaked[GP_FACT_sm_mhz] >= 0)
        gp_buf_printf(&b, ", at %lld MHz", (long long)f->soaked[GP_FACT_sm_mhz]);
    if (f->soaked[GP_FACT_power_mw] >= 0)
        gp_buf_printf(&b, ", %lld W", (long long)(f->soaked[GP_FACT_power_mw] + 500) / 1000);
    if (f->soaked[GP_FACT_temperature_c] >= 0)
        gp_buf_printf(&b,
                      " and %lld \xC2\xB0"
                      "C",
                      (long long)f->soaked[GP_FACT_temperature_c]);
    gp_report_verdict(r, GP_TONE_PLAIN, "%s.", gp_buf_str(&b));
    gp_buf_release(&b);
}

void gp_calibrate_report(struct gp_report *r, const struct gp_calibration *c)
{
    struct gp_buf memory = {0}, bf16 = {0};
    const struct gp_figures *f = &c->devices[0];
    put_figure(&memory, GP_FIGURE_MEMORY_COPY, f->value[GP_FIGURE_MEMORY_COPY]);
    put_figure(&bf16, GP_FIGURE_BF16, f->value[GP_FIGURE_BF16]);
    gp_report_verdict(r, GP_TONE_PLAIN, "%s%s: memory copies at %s, bf16 products at %s.", f->device,
                      c->n > 1 ? " (the first of the devices below)" : "",
                      f->value[GP_FIGURE_MEMORY_COPY] > 0 ? gp_buf_str(&memory) : "an unknown rate",
                      f->value[GP_FIGURE_BF16] > 0 ? gp_buf_str(&bf16) : "an unknown rate");
    add_soak(r, f);
    add_figures(r, c);
    add_peers(r, c);
    add_notes(r, c);
    gp_buf_release(&memory);
    gp_buf_release(&bf16);
}

/* ---- comparison ---- */

static void put_worst(struct gp_report *r, const struct gp_calibration *c, const struct gp_compare *k,
                      const char *base)
{
    double least = INFINITY;
    int figure = 0;
    size_t device = 0;
    for (size_t i = 0; i < k->n; i++)
        for (int f = 0; f < GP_FIGURE_COUNT; f++) {
            double change = gp_compare_change(k, (enum gp_figure)f, i);
            if (isnan(change) || change >= least) continue;
            least = change;
            figure = f;
            device = i;
        }
    const char *words = gp_figure_facts((enum gp_figure)figure)->words;
    if (!k->compared)
        gp_report_verdict(r, GP_TONE_WARN, "Nothing to compare: %s has none of these figures.", base);
    else if (k->worse)
        gp_report_verdict(r, GP_TONE_BAD, "SLOWER than %s in %zu of %zu figures: GPU %d, %s, by %.1f%%.",
                          base, k->worse, k->compared, c->ids[device], words, -least);
    else
        gp_report_verdict(r, GP_TONE_GOOD,
                          "AS FAST as %s, within %g%%, in %zu figures; the lowest is %s of GPU %d, %+.1f%%.",
                          base, k->tolerance, k->compared, words, c->ids[device], least);
}

void gp_calibrate_compare_report(struct gp_report *r, const struct gp_calibration *c,
                                 const struct gp_compare *k, const char *base)
{
    struct gp_buf b = {0};
    put_worst(r, c, k, base);
    struct gp_report_table *t = gp_report_add(r, "compare", "Compared");
    gp_report_column(t, "figure", "Figure", GP_CELL_TEXT, 0, NULL);
    gp_report_column(t, "base", "Base", GP_CELL_TEXT, 0, NULL);
    for (size_t i = 0; i < c->n; i++)
        gp_report_column(t, device_label(r, c, i), device_label(r, c, i), GP_CELL_TEXT, 0, NULL);
    for (int f = 0; f < GP_FIGURE_COUNT; f++) {
        if (k->base[f] <= 0 || !any_has(c, (enum gp_figure)f)) continue;
        gp_report_put_text(r, t, gp_figure_facts((enum gp_figure)f)->words);
        put_figure(&b, (enum gp_figure)f, k->base[f]);
        put_text(r, t, &b);
        for (size_t i = 0; i < c->n; i++) {
            double change = gp_compare_change(k, (enum gp_figure)f, i);
            if (isnan(change)) gp_buf_putc(&b, '-');
            else
                gp_buf_printf(&b, "%+.1f%%%s", change,
                              gp_compare_is_worse(k, (enum gp_figure)f, i) ? " slower" : "");
            put_text(r, t, &b);
        }
    }
    add_notes(r, c);
    gp_buf_release(&b);
}

/* ---- sweeps ---- */

void gp_sweep_put_words(struct gp_buf *b, const struct gp_sweep_op *o)
{
    static const char *const words[] = {"bound by its launch", "in the L2 cache", "bound by memory",
                                        "bound by arithmetic", "bound by something unknown"};
    if (!o->borders.n && o->points.n)
        gp_buf_printf(b, "%s at all of these sizes", words[o->points.at[0].regime]);
    for (size_t i = 0; i < o->borders.n; i++) {
        const struct gp_sweep_border *w = &o->borders.at[i];
        gp_buf_printf(b, "%s%s below ", i ? ", " : "", words[w->below]);
        gp_calibrate_put_elements(b, w->elements);
        if (i + 1 == o->borders.n) gp_buf_printf(b, " elements, %s above", words[w->above]);
    }
}

static void put_point(struct gp_report *r, struct gp_report_table *t, struct gp_buf *b,
                      const struct gp_sweep_point *p)
{
    gp_report_put(t, (int64_t)p->elements);
    gp_report_put_real(t, p->ns);
    gp_report_put_real(t, p->low_ns);
    gp_report_put_real(t, p->high_ns);
    gp_roofline_put_rate(b, (double)p->bytes / p->ns * 1e9, "B/s");
    put_text(r, t, b);
    if (p->flops) gp_roofline_put_rate(b, (double)p->flops / p->ns * 1e9, "FLOP/s");
    else gp_buf_putc(b, '-');
    put_text(r, t, b);
    if (p->memory_share > 0 || p->compute_share > 0)
        gp_report_put_real(t, 100 * fmax(p->memory_share, p->compute_share));
    else gp_report_put_none(t);
    gp_report_put_text(r, t, gp_sweep_regime_name(p->regime));
}

static void add_sweep(struct gp_report *r, const struct gp_sweep_op *o)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "%s, %s", o->name, o->type);
    const char *title = gp_report_str(r, b.data, b.n);
    b.n = 0;
    struct gp_report_table *t = gp_report_add(r, title, title);
    gp_report_column(t, "elements", "Elements", GP_CELL_COUNT, 0, NULL);
    gp_report_column(t, "ns", "Time", GP_CELL_NS_REAL, 0, "median of a call, launched back to back");
    gp_report_column(t, "low_ns", "Quarter", GP_CELL_NS_REAL, GP_COLUMN_SPARE,
                     "a quarter of the calls take less");
    gp_report_column(t, "high_ns", "3 quarters", GP_CELL_NS_REAL, GP_COLUMN_SPARE,
                     "three quarters take less");
    gp_report_column(t, "bytes_per_s", "Bytes", GP_CELL_TEXT, 0, "bytes read and written per second");
    gp_report_column(t, "flops_per_s", "Operations", GP_CELL_TEXT, 0, NULL);
    gp_report_column(t, "share_pct", "Ceiling", GP_CELL_PCT, 0,
                     "share of the nearer ceiling, measured on this device");
    gp_report_column(t, "regime", "Bound by", GP_CELL_TEXT, 0, NULL);
    for (size_t i = 0; i < o->points.n; i++) put_point(r, t, &b, &o->points.at[i]);
    gp_buf_release(&b);
}

void gp_sweep_report(struct gp_report *r, const struct gp_calibration *c)
{
    struct gp_buf b = {0};
    GP_EACH(const struct gp_sweep_op, o, c->sweep.ops) {
        b.n = 0;
        gp_sweep_put_words(&b, o);
        gp_report_verdict(r, GP_TONE_PLAIN, "%s of %s: %s.", o->name, o->type, gp_buf_str(&b));
    }
    if (!c->sweep.ops.n) gp_report_verdict(r, GP_TONE_BAD, "No operation could be measured.");
    for (size_t i = 0; i < c->sweep.ops.n; i++) add_sweep(r, &c->sweep.ops.at[i]);
    add_notes(r, c);
    gp_buf_release(&b);
}
