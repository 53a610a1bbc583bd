#include "render/diff/diff_html.h"

#include <math.h>
#include <string.h>
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/diff/diff_charts.h"
#include "render/diff/diff_dot.h"
#include "render/diff/diff_flame.h"
#include "render/diff/diff_verdict.h"
#include "render/page/graph_svg.h"
#include "render/page/page_html.h"
#include "render/page/page_report.h"
#include "render/page/table_html.h"

enum { FLAME_FRAMES = 1500, BLOCKS = 12 };

static const char NOTE[] =
    "Times are means over steps, in exact integer nanoseconds; a change is current minus "
    "baseline, and the changes by cause sum exactly to that of the step.";

struct page {
    struct gp_svg w;
    struct gp_buf text; /* scratch */
    const struct gp_diff *d;
    const struct gp_report *r;
    const struct gp_diff_html_opts *o;
};

/* ---- pictures ---- */

static void put_waterfall(struct page *p)
{
    if (p->d->comparable && !p->d->untimed) gp_diff_chart_waterfall(&p->w, p->d, 0);
}

static void put_volcano(struct page *p)
{
    gp_diff_chart_volcano(&p->w, p->d);
}

static void put_flame(struct page *p, int side, const char *title, const char *words)
{
    gp_page_open(&p->w, "figure", "wide-figure");
    gp_page_open(&p->w, "figcaption", NULL);
    gp_page_element(&p->w, "strong", NULL, title, strlen(title));
    gp_page_text(&p->w, " ");
    gp_page_element(&p->w, "span", NULL, words, strlen(words));
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
    gp_diff_flame_svg(
        p->w.out, p->d,
        &(struct gp_diff_flame_opts){.side = side, .embedded = true, .max_frames = FLAME_FRAMES});
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

static void put_flames(struct page *p)
{
    if (!p->d->stacks.n) return;
    put_flame(p, GP_DIFF_CUR, "Scaled to the current trace", "what is new, and what grew or shrank");
    put_flame(p, GP_DIFF_BASE, "Scaled to the baseline", "what is gone, and what became of the rest");
}

/* The blocks that changed most, each with what it was and what it is. The table has all of them. */
static void put_blocks(struct page *p)
{
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

enum { MAX_TABLES = 4 };
struct theme {
    const char *id, *title;
    void (*picture)(struct page *p);
    const char *tables[MAX_TABLES]; /* ids; the first OPEN are unfolded */
    int open;
};

static const struct theme themes[] = {
    {"why", "Why the time changed", put_waterfall, {"gates", "predictions", "waterfall"}, 2},
    {"which",
     "Which operations changed",
     put_volcano,
     {"regressions", "improvements", "others", "operations"},
     3},
    {"where", "Where they are called", put_flames, {NULL}, 0},
    {"became", "What replaced what", put_blocks, {"blocks"}, 1},
    {"whole", "The step as a whole", NULL, {"metrics", "step_list"}, 1},
    {"compared", "What was compared, and how", NULL, {"sides", "settings"}, 0},
};
enum { THEMES = GP_COUNT(themes) };

static bool is_there(const struct page *p, const struct theme *t)
{
    if (t->picture == put_flames) return p->d->stacks.n > 0;
    for (int i = 0; i < MAX_TABLES && t->tables[i]; i++)
        if (gp_report_find(p->r, t->tables[i])) return true;
    return false;
}

static const char *change_swatch(int class)
{
    switch (class - 1) {
    case GP_CHANGE_REGRESSION:
        return "worse";
    case GP_CHANGE_IMPROVEMENT:
        return "better";
    case GP_CHANGE_NONE:
        return "same";
    default:
        return "unsure";
    }
}

static void put_theme(struct page *p, const struct theme *t)
{
    if (!is_there(p, t)) return;
    gp_page_open(&p->w, "section", "theme");
    gp_svg_attr(&p->w, "id", t->id);
    gp_page_element(&p->w, "h2", NULL, t->title, strlen(t->title));
    if (t->picture == put_blocks) {
        put_blocks(p);
    } else if (t->picture) {
        gp_page_open(&p->w, "div", t->picture == put_flames ? "flames" : "charts");
        t->picture(p);
        gp_svg_close(&p->w);
        gp_svg_newline(&p->w);
    }
    for (int i = 0; i < MAX_TABLES && t->tables[i]; i++) {
        const struct gp_report_table *table = gp_report_find(p->r, t->tables[i]);
        if (!table) continue;
        gp_table_html_write(&p->w, table,
                            &(struct gp_table_html_opts){
                                .open = i < t->open, .max_rows = p->o->max_rows, .swatch = change_swatch});
    }
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

/* ---- the top of the page ---- */

static void put_facts(struct page *p)
{
    const struct gp_diff *d = p->d;
    const struct gp_diff_side *a = &d->side[GP_DIFF_BASE], *b = &d->side[GP_DIFF_CUR];
    if (d->unit == GP_DIFF_PER_STEP)
        gp_buf_printf(&p->text, "%u steps against %u", (unsigned)a->steps_used, (unsigned)b->steps_used);
    else gp_buf_puts(&p->text, "whole traces: they have no steps");
    gp_buf_printf(&p->text, " \xC2\xB7 %zu and %zu file%s", d->n_base_inputs, d->inputs.n - d->n_base_inputs,
                  d->inputs.n - d->n_base_inputs == 1 ? "" : "s");
    if (a->env.gpu) gp_buf_printf(&p->text, " \xC2\xB7 %s", gp_diff_str(d, a->env.gpu));
    gp_page_take(&p->w, &p->text, "p", "facts");
}

static void put_header(struct page *p)
{
    gp_page_open(&p->w, "header", NULL);
    gp_page_element(&p->w, "p", "brand", GP_TEXT("gpuprof trace-diff"));
    const char *input = p->o->input ? p->o->input : "comparison";
    gp_page_element(&p->w, "h1", NULL, input, strlen(input));
    put_facts(p);
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

/* ---- figures that matter ---- */

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
    const char *name = gp_metric_text(id);
    if (!m->known || (!m->side[GP_DIFF_BASE] && !m->side[GP_DIFF_CUR])) return;
    gp_page_open(&p->w, "div", "kpi");
    gp_page_element(&p->w, "dt", NULL, name, strlen(name));
    gp_page_open(&p->w, "dd", NULL);
    if (isfinite(m->change_pct) && fabs(m->change_pct) < 99.95) gp_diff_put_pct(&p->text, m->change_pct);
    else if (isfinite(m->change_pct)) gp_buf_printf(&p->text, "%+.0f%%", m->change_pct);
    else gp_diff_put_change(&p->text, gp_metric_unit(id), m->change);
    gp_page_take(&p->w, &p->text, "b", NULL);
    gp_svg_close(&p->w);
    put_value(&p->text, id, m->side[GP_DIFF_BASE]);
    gp_buf_puts(&p->text, " \xE2\x86\x92 ");
    put_value(&p->text, id, m->side[GP_DIFF_CUR]);
    gp_buf_printf(&p->text, "; %s",
                  m->refused                     ? "not compared"
                  : m->verdict == GP_CHANGE_NONE ? "no change"
                                                 : gp_change_name((enum gp_change)m->verdict));
    gp_page_take(&p->w, &p->text, "dd", "of");
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

static void put_figures(struct page *p)
{
    static const enum gp_metric_id shown[] = {GP_METRIC_STEP,  GP_METRIC_GPU,      GP_METRIC_BUSY,
                                              GP_METRIC_IDLE,  GP_METRIC_LAUNCHES, GP_METRIC_EVENTS,
                                              GP_METRIC_SYNCS, GP_METRIC_PEAK_MEM};
    gp_page_open(&p->w, "dl", "kpis");
    for (size_t i = 0; i < GP_COUNT(shown); i++) put_figure(p, shown[i]);
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

static void put_contents(struct page *p)
{
    gp_page_contents(&p->w);
    for (int i = 0; i < THEMES; i++)
        if (is_there(p, &themes[i])) gp_page_entry(&p->w, themes[i].id, themes[i].title);
    gp_page_close(&p->w);
}

void gp_diff_html_write(struct gp_buf *out, const struct gp_diff *d, const struct gp_report *r,
                        const struct gp_diff_html_opts *o)
{
    struct page p = {.d = d, .r = r, .o = o};
    gp_buf_printf(&p.text, "trace-diff: %s", o->input ? o->input : "comparison");
    struct gp_buf title = p.text;
    p.text = (struct gp_buf){0};
    gp_page_begin(&p.w, out, gp_buf_str(&title), &gp_page_diff);
    gp_page_open(&p.w, "main", NULL);
    put_header(&p);
    gp_page_verdict(&p.w, r);
    gp_page_quality(&p.w, r);
    put_figures(&p);
    put_contents(&p);
    for (int i = 0; i < THEMES; i++) put_theme(&p, &themes[i]);
    gp_page_foot(&p.w, "trace-diff", o->options, NOTE, o->json != NULL);
    gp_svg_close(&p.w);
    if (o->json) gp_page_json(&p.w, "gpuprof-answer", o->json, o->json_n);
    gp_page_end(&p.w, &gp_page_diff);
    gp_buf_release(&p.text);
    gp_buf_release(&title);
}
