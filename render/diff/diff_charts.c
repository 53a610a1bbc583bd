#include "render/diff/diff_charts.h"

#include <math.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/page/assets.h"
#include "render/diff/diff_tables.h"
#include "render/diff/diff_verdict.h"
#include "render/page/page_html.h"
#include "render/draw/plot.h"
#include "render/draw/text.h"
#include "render/draw/volcano_svg.h"
#include "render/draw/waterfall_svg.h"

enum { TERMS = 14, DOTS = 5000, MARGIN = 24, HEAD = 78, FOOT = 30, TITLE_COLUMNS = 120 };

/* ---- the waterfall ---- */

/* The terms with their names, for as long as the picture is being drawn. */
struct falls {
    struct gp_arena mem;
    struct gp_waterfall_bar bars[GP_DIFF_TERMS];
    struct gp_waterfall f;
};

static const char *kept(struct gp_arena *mem, struct gp_buf *b)
{
    const char *s = gp_arena_strndup(mem, b->n ? b->data : "", b->n);
    b->n = 0;
    return s;
}

static void put_sides(struct gp_buf *b, int64_t base, int64_t cur)
{
    gp_buf_puts(b, "Was ");
    gp_scale_put(b, GP_UNIT_NS, base);
    gp_buf_puts(b, ", is ");
    gp_scale_put(b, GP_UNIT_NS, cur);
}

static void fill_bar(struct falls *w, const struct gp_diff *d, const struct gp_diff_term *t,
                     struct gp_waterfall_bar *bar)
{
    struct gp_buf b = {0};
    gp_diff_put_term(&b, d, t);
    bar->label = kept(&w->mem, &b);
    bar->change = t->change_ns;
    if (t->cause < d->causes.n) {
        const struct gp_diff_cause *c = &d->causes.at[t->cause];
        if (c->sort == GP_CAUSE_OP && c->index < d->ops.n)
            bar->full = gp_diff_str(d, d->ops.at[c->index].name);
        put_sides(&b, c->side_ns[GP_DIFF_BASE], c->side_ns[GP_DIFF_CUR]);
        if (c->sort == GP_CAUSE_IDLE && c->index < GP_IDLE_CAUSE_COUNT)
            gp_buf_printf(&b, ": %s", gp_idle_cause_text((enum gp_idle_cause)c->index));
        bar->note = kept(&w->mem, &b);
    }
    gp_buf_release(&b);
}

/* How many terms can be seen at all; the rest goes into the sums. */
static size_t worth_a_bar(const struct gp_diff *d, const int64_t ends[GP_DIFF_SIDES])
{
    int64_t longer = ends[GP_DIFF_BASE] > ends[GP_DIFF_CUR] ? ends[GP_DIFF_BASE] : ends[GP_DIFF_CUR];
    int64_t all = ends[GP_DIFF_CUR] - ends[GP_DIFF_BASE];
    int64_t range = all < 0 ? -all : all, least = (range > longer / 50 ? range : longer / 50) / 100;
    size_t n = 0;
    while (n < d->causes.n && n < TERMS &&
           (d->causes.at[n].change_ns > least || d->causes.at[n].change_ns < -least))
        n++;
    return n > 3 ? n : 3;
}

/* At most TOP single terms; 0: as many as can be seen. */
static void fill(struct falls *w, const struct gp_diff *d, size_t top)
{
    struct gp_diff_term terms[GP_DIFF_TERMS];
    int64_t ends[GP_DIFF_SIDES];
    gp_diff_term_ends(d, ends);
    size_t n = gp_diff_terms(d, top ? top : worth_a_bar(d, ends), terms);
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < n; i++) fill_bar(w, d, &terms[i], &w->bars[i]);
    w->f = (struct gp_waterfall){
        .label = d->unit == GP_DIFF_PER_STEP ? "How the step's time changed, by cause"
                                             : "How the time changed, by cause",
        .from_name = "baseline",
        .to_name = "current",
        .from = ends[GP_DIFF_BASE],
        .to = ends[GP_DIFF_CUR],
        .unit = GP_UNIT_NS,
        .bars = w->bars,
        .bars_n = n,
    };
}

static void put_entry(struct gp_svg *w, const char *k, const char *words)
{
    gp_page_open(w, "li", NULL);
    gp_page_swatch(w, k);
    gp_page_text(w, words);
    gp_svg_close(w);
}

static void open_figure(struct gp_svg *w, const char *title, const char *words)
{
    gp_page_open(w, "figure", NULL);
    gp_page_open(w, "figcaption", NULL);
    gp_page_element(w, "strong", NULL, title, strlen(title));
    gp_page_text(w, " ");
    gp_page_element(w, "span", NULL, words, strlen(words));
    gp_svg_close(w);
    gp_page_open(w, "ul", "legend");
}

void gp_diff_chart_waterfall(struct gp_svg *w, const struct gp_diff *d, size_t top)
{
    struct falls falls;
    fill(&falls, d, top);
    bool step = d->unit == GP_DIFF_PER_STEP;
    open_figure(w,
                step ? "From the baseline's step to the current one"
                     : "From the baseline's time to the current one",
                "each cause starts where the previous one ended; they sum exactly");
    put_entry(w, "worse", "more time");
    put_entry(w, "better", "less time");
    gp_svg_close(w);
    gp_waterfall_svg(w, &falls.f);
    gp_svg_close(w);
    gp_svg_newline(w);
    gp_arena_release(&falls.mem);
}

/* "step 2.55 ms, was 14.0 ms (-81.8%) . a.json -> b.json" */
static void put_subtitle(struct gp_buf *b, const struct gp_diff *d, const struct gp_waterfall *f,
                         const char *input)
{
    if (d->untimed) {
        gp_buf_puts(b, GP_UNTIMED_TEXT);
        return;
    }
    gp_buf_puts(b, d->unit == GP_DIFF_PER_STEP ? "step " : "time ");
    gp_scale_put(b, GP_UNIT_NS, f->to);
    gp_buf_puts(b, ", was ");
    gp_scale_put(b, GP_UNIT_NS, f->from);
    if (f->from > 0) {
        gp_buf_puts(b, " (");
        gp_diff_put_pct(b, 100 * (double)(f->to - f->from) / (double)f->from);
        gp_buf_putc(b, ')');
    }
    if (input) gp_buf_printf(b, " \xC2\xB7 %s", input);
}

void gp_diff_waterfall_svg(struct gp_buf *out, const struct gp_diff *d, size_t top, const char *input)
{
    static const char foot[] = "gpuprof " GP_VERSION " \xC2\xB7 orange is more time, blue is less";
    struct falls falls;
    struct gp_svg s = {.out = out};
    struct gp_buf text = {0}, words = {0}, css = {0};
    fill(&falls, d, top);
    int width = GP_WATERFALL_WIDTH + 2 * MARGIN, height = HEAD + gp_waterfall_height(&falls.f) + FOOT;
    gp_buf_put(&css, gp_asset_change_svg_css.data, gp_asset_change_svg_css.n);
    gp_buf_put(&css, gp_asset_change_css.data, gp_asset_change_css.n);
    gp_plot_picture(&s, width, height, falls.f.label, &css);
    gp_buf_puts(&text, falls.f.label);
    gp_plot_text(&s, "h1", MARGIN, 34, &text);
    put_subtitle(&words, d, &falls.f, input);
    gp_text_fit(&text, words.data, words.n, TITLE_COLUMNS);
    gp_plot_text(&s, "h2", MARGIN, 58, &text);
    if (!d->untimed) {
        gp_svg_open(&s, "g");
        gp_svg_attr(&s, "transform", "translate(24 78)");
        gp_waterfall_svg(&s, &falls.f);
        gp_svg_close(&s);
    }
    gp_buf_puts(&text, foot);
    gp_plot_text(&s, "foot", MARGIN, height - 12, &text);
    gp_svg_end(&s);
    gp_buf_release(&css);
    gp_buf_release(&words);
    gp_buf_release(&text);
    gp_arena_release(&falls.mem);
}

/* ---- the volcano ---- */

static const char *class_of(const struct gp_diff_op *op)
{
    if (op->d.significant) return op->change_ns > 0 ? "worse" : "better";
    return op->change == GP_CHANGE_NONE ? "same" : "unsure";
}

static void put_interval(struct gp_buf *b, const struct gp_diff_decision *e)
{
    if (isfinite(e->estimate_pct)) gp_buf_printf(b, "\nper call: %+.2f%%", e->estimate_pct);
    if (isfinite(e->ci_low_pct) && isfinite(e->ci_high_pct))
        gp_buf_printf(b, ", %+.2f to %+.2f%%", e->ci_low_pct, e->ci_high_pct);
    if (!isnan(e->q)) gp_buf_printf(b, "\nq = %.2g, %s", e->q, gp_diff_test_name((enum gp_diff_test)e->test));
}

/* Operations that a test looked at, and those that changed for certain: by count, new, gone, replaced. */
static size_t fill_dots(const struct gp_diff *d, struct gp_arena *mem, struct gp_volcano_dot *dots)
{
    struct gp_buf b = {0};
    size_t n = 0;
    for (size_t i = 0; i < d->ops.n && n < DOTS; i++) {
        const struct gp_diff_op *op = &d->ops.at[i];
        bool tested = !isnan(op->d.q) && isfinite(op->d.estimate_pct);
        double change = tested ? op->d.estimate_pct : isnan(op->change_pct) ? INFINITY : op->change_pct;
        if (!tested && !op->d.significant) continue;
        gp_text_clean(&b, gp_diff_str(d, op->name), gp_string_len(&d->strings, op->name));
        gp_buf_putc(&b, '\n');
        gp_diff_put_change(&b, "ns", op->change_ns);
        gp_buf_puts(&b, " of GPU time");
        put_interval(&b, &op->d);
        int64_t was = op->side[GP_DIFF_BASE].total_ns, is = op->side[GP_DIFF_CUR].total_ns;
        dots[n++] = (struct gp_volcano_dot){.label = gp_diff_str(d, op->label),
                                            .full = kept(mem, &b),
                                            .change_pct = change,
                                            .q = tested ? op->d.q : 0,
                                            .weight = (double)(was > is ? was : is),
                                            .k = class_of(op)};
    }
    gp_buf_release(&b);
    return n;
}

void gp_diff_chart_volcano(struct gp_svg *w, const struct gp_diff *d)
{
    struct gp_arena mem = {0};
    struct gp_volcano_dot *dots = gp_arena_alloc(&mem, DOTS * sizeof *dots);
    size_t n = fill_dots(d, &mem, dots);
    if (n) {
        open_figure(w, "Size and certainty",
                    "each dot is an operation, sized by GPU time; what changed lies above the dashed line, "
                    "outside the grey band of noise, and is large enough to matter. Changed counts are at "
                    "the top, new and removed operations in the corners");
        put_entry(w, "worse", "more time");
        put_entry(w, "better", "less time");
        put_entry(w, "same", "shown to be the same");
        put_entry(w, "unsure", "undecided");
        gp_svg_close(w);
        gp_volcano_svg(w, &(struct gp_volcano){.label = "Changes in operations, by size and certainty",
                                               .dots = dots,
                                               .dots_n = n,
                                               .alpha = d->opts.alpha,
                                               .floor_pct = d->noise_pct});
        gp_svg_close(w);
        gp_svg_newline(w);
    }
    gp_arena_release(&mem);
}
