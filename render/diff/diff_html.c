#include "render/diff/diff_priv.h"

#include <math.h>
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/page/graph_svg.h"
#include "render/page/page_doc.h"
#include "render/page/page_report.h"

enum { FLAME_FRAMES = 1500, BLOCKS = 12 };

static const char NOTE[] =
    "Times are means over steps, in exact integer nanoseconds; a change is current minus "
    "baseline, and the changes by cause sum exactly to that of the step.";

struct page {
    struct gp_svg w;
    struct gp_buf text; /* scratch */
    const struct gp_diff *d;
    struct gp_page_doc doc;
};

/* ---- pictures ---- */

GP_PAGE_DRAW(put_waterfall, if (p->d->comparable && !p->d->untimed) gp_diff_chart_waterfall(&p->w, p->d, 0))
GP_PAGE_DRAW(put_volcano, gp_diff_chart_volcano(&p->w, p->d))

static void put_flame(struct page *p, int side, const char *title, const char *words)
{
    gp_page_open(&p->w, "figure", "wide-figure");
    gp_page_open(&p->w, "figcaption", NULL);
    gp_page_put(&p->w, "strong", NULL, title);
    gp_page_text(&p->w, " ");
    gp_page_put(&p->w, "span", NULL, words);
    gp_svg_close_line(&p->w);
    gp_diff_flame_svg(
        p->w.out, p->d,
        &(struct gp_diff_flame_opts){.side = side, .embedded = true, .max_frames = FLAME_FRAMES});
    gp_svg_close_line(&p->w);
}

GP_PAGE_HAS(has_flames, p->d->stacks.n > 0)

static void put_flames(void *page)
{
    put_flame(page, GP_DIFF_CUR, "Scaled to the current trace", "what is new, and what grew or shrank");
    put_flame(page, GP_DIFF_BASE, "Scaled to the baseline", "what is gone, and what became of the rest");
}

/* The blocks that changed most, each with its launches before and after. The table has all of them. */
static void put_blocks(void *page)
{
    struct page *p = page;
    struct gp_buf dot = {0}, drawn = {0};
    struct gp_svg g = {.out = &drawn, .html = true};
    gp_diff_dot(&dot, p->d, BLOCKS);
    if (gp_graph_svg(&g, dot.data, dot.n,
                     &(struct gp_graph_opts){.label = "What replaced what, largest changes first; the table "
                                                      "below has the same content in words"}))
        gp_page_graph(&p->w, &drawn, "Blocks of kernels, before and after");
    if (drawn.n && p->d->blocks.n > BLOCKS) {
        gp_buf_printf(&p->text, "The graph shows the %d blocks that changed most; the table has all %zu.",
                      BLOCKS, p->d->blocks.n);
        gp_page_take(&p->w, &p->text, "p", "note");
    }
    gp_buf_release(&dot);
    gp_buf_release(&drawn);
}

/* ---- themes: pictures and tables that belong together ---- */

static const struct gp_page_section sections[] = {
    {"why", "Why the time changed", .draw = put_waterfall, .box = "charts",
     .tables = {"gates", "predictions", "waterfall"}, .open = 2},
    {"which", "Which operations changed", .draw = put_volcano, .box = "charts",
     .tables = {"regressions", "improvements", "others", "operations"}, .open = 3},
    {"where", "Where they are called", .draw = put_flames, .box = "flames", .there = has_flames},
    {"became", "What replaced what", .draw = put_blocks, .tables = {"blocks"}},
    {"whole", "The step as a whole", .tables = {"metrics", "step_list"}},
    {"compared", "What was compared, and how", .tables = {"sides", "settings"}, .open = GP_PAGE_FOLDED},
};

static const char *change_swatch(int class)
{
    switch (class - 1) {
    case GP_CHANGE_REGRESSION: return "worse";
    case GP_CHANGE_IMPROVEMENT: return "better";
    case GP_CHANGE_NONE: return "same";
    default: return "unsure";
    }
}

/* ---- the top of the page ---- */

static void put_value(struct gp_buf *b, enum gp_metric_id m, int64_t v)
{
    const char *unit = gp_metric_unit(m);
    gp_scale_put(b,
                 unit[0] == 'n'   ? GP_UNIT_NS
                 : unit[0] == 'b' ? GP_UNIT_BYTES
                                  : GP_UNIT_COUNT,
                 v < 0 ? 0 : v);
}

static void put_figure(struct page *p, enum gp_metric_id id)
{
    const struct gp_diff_metric *m = &p->d->metrics[id];
    if (!m->known || (!m->side[GP_DIFF_BASE] && !m->side[GP_DIFF_CUR])) return;
    struct gp_page_figure *f = gp_page_figure(&p->doc, gp_metric_text(id));
    if (isfinite(m->change_pct) && fabs(m->change_pct) < 99.95) gp_diff_put_pct(&f->value, m->change_pct);
    else if (isfinite(m->change_pct)) gp_buf_printf(&f->value, "%+.0f%%", m->change_pct);
    else gp_diff_put_change(&f->value, gp_metric_unit(id), m->change);
    put_value(&f->words, id, m->side[GP_DIFF_BASE]);
    gp_buf_puts(&f->words, " \xE2\x86\x92 ");
    put_value(&f->words, id, m->side[GP_DIFF_CUR]);
    gp_buf_printf(&f->words, "; %s",
                  m->refused                     ? "not compared"
                  : m->verdict == GP_CHANGE_NONE ? "no change"
                                                 : gp_change_name((enum gp_change)m->verdict));
}

void gp_diff_html_write(struct gp_buf *out, const struct gp_diff_answer *a, const struct gp_report *r,
                        const char *input, const struct gp_buf *json)
{
    const struct gp_diff *d = a->d;
    static const enum gp_metric_id shown[] = {GP_METRIC_STEP,  GP_METRIC_GPU,      GP_METRIC_BUSY,
                                              GP_METRIC_IDLE,  GP_METRIC_LAUNCHES, GP_METRIC_EVENTS,
                                              GP_METRIC_SYNCS, GP_METRIC_PEAK_MEM};
    struct page p = {.d = d,
                     .doc = {.tool = "trace-diff",
                             .parts = &gp_page_diff,
                             .report = r,
                             .input = input,
                             GP_PAGE_SECTIONS(sections),
                             .page = &p,
                             .options = a->options,
                             .note = NOTE,
                             .json = json,
                             .only_json = true,
                             .swatch = change_swatch}};
    const struct gp_diff_side *base = &d->side[GP_DIFF_BASE], *cur = &d->side[GP_DIFF_CUR];
    if (d->unit == GP_DIFF_PER_STEP)
        gp_buf_printf(&p.doc.facts, "%u steps against %u", (unsigned)base->steps_used,
                      (unsigned)cur->steps_used);
    else gp_buf_puts(&p.doc.facts, "whole traces: they have no steps");
    gp_buf_printf(&p.doc.facts, " \xC2\xB7 %zu and %zu file%s", d->n_base_inputs,
                  d->inputs.n - d->n_base_inputs, d->inputs.n - d->n_base_inputs == 1 ? "" : "s");
    if (base->env.gpu) gp_buf_printf(&p.doc.facts, " \xC2\xB7 %s", gp_diff_str(d, base->env.gpu));
    for (size_t i = 0; i < GP_COUNT(shown); i++) put_figure(&p, shown[i]);
    gp_page_write(&p.w, out, &p.doc);
    gp_buf_release(&p.text);
}
