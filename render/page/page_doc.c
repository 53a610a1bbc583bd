#include "render/page/page_doc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/page/page_report.h"

/* ---- the top ---- */

static void put_header(struct gp_svg *w, struct gp_page_doc *d)
{
    struct gp_buf brand = {0};
    gp_page_open(w, "header", NULL);
    if (!gp_starts(d->tool, "gpuprof")) gp_buf_puts(&brand, "gpuprof ");
    gp_buf_puts(&brand, d->tool);
    gp_page_take(w, &brand, "p", "brand");
    gp_page_put(w, "h1", NULL, d->input);
    if (d->facts.n) gp_page_take(w, &d->facts, "p", "facts");
    if (d->links) d->links(d->page);
    gp_page_close(w);
    gp_buf_release(&brand);
}

/* LINES as elements of a section; an arrow before a figure is one sign, which no line ends in. */
static void put_lines(struct gp_svg *w, const char *element, const struct gp_report_line *lines, size_t n)
{
    static const char *const classes[] = {
        [GP_TONE_PLAIN] = NULL, [GP_TONE_GOOD] = "good", [GP_TONE_WARN] = "warn", [GP_TONE_BAD] = "bad"};
    struct gp_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        for (const char *p = lines[i].text; *p; p++) {
            bool arrow = gp_starts(p, "-> ") && p[3] >= '0' && p[3] <= '9';
            if (arrow) gp_buf_puts(&b, "\xE2\x86\x92");
            else gp_buf_putc(&b, *p);
            p += arrow;
        }
        gp_page_take(w, &b, element, classes[lines[i].tone]);
    }
    gp_buf_release(&b);
}

static void put_quality(struct gp_svg *w, const struct gp_report *r)
{
    if (!r->quality.n) return;
    gp_page_open(w, "section", "quality");
    gp_svg_attr(w, "aria-label", "Quality of the input");
    gp_page_put(w, "h2", NULL, "Before you trust the numbers");
    gp_page_open(w, "ul", NULL);
    put_lines(w, "li", r->quality.at, r->quality.n);
    gp_svg_close(w);
    gp_page_close(w);
}

static void put_verdict(struct gp_svg *w, const struct gp_report *r)
{
    if (!r->verdict.n) return;
    gp_page_open(w, "section", "verdict");
    gp_svg_attr(w, "aria-label", "Verdict");
    put_lines(w, "p", r->verdict.at, r->verdict.n);
    gp_page_close(w);
}

/* ---- figures ---- */

struct gp_page_figure *gp_page_figure(struct gp_page_doc *d, const char *name)
{
    GP_VEC_PUSH(&d->figures, ((struct gp_page_figure){.name = name, .pct = NAN}));
    return &d->figures.at[d->figures.n - 1];
}

void gp_page_figure_share(struct gp_page_figure *f, int64_t part, int64_t whole)
{
    gp_scale_put_share(&f->value, part, whole);
    f->pct = whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void put_figure(struct gp_svg *w, struct gp_page_figure *f)
{
    gp_page_open(w, "div", "kpi");
    gp_page_put(w, "dt", NULL, f->name);
    gp_page_open(w, "dd", NULL);
    if (f->help) gp_svg_attr(w, "title", f->help);
    gp_page_take(w, &f->value, "b", NULL);
    if (!isnan(f->pct)) {
        char style[32];
        snprintf(style, sizeof style, "--p:%.1f%%", f->pct < 0 ? 0 : f->pct > 100 ? 100 : f->pct);
        gp_page_open(w, "i", "meter");
        gp_svg_attr(w, "style", style);
        gp_svg_close(w);
    }
    gp_svg_close(w);
    gp_page_take(w, &f->words, "dd", "of");
    gp_page_close(w);
    gp_buf_release(&f->value);
    gp_buf_release(&f->words);
}

static void put_figures(struct gp_svg *w, struct gp_page_doc *d)
{
    if (!d->figures.n) return;
    gp_page_open(w, "dl", "kpis");
    for (size_t i = 0; i < d->figures.n; i++) put_figure(w, &d->figures.at[i]);
    gp_page_close(w);
}

/* ---- sections ---- */

/* The table at place I of S, if it has rows; *END: there are no more places. */
static const struct gp_report_table *table_at(const struct gp_page_doc *d, const struct gp_page_section *s,
                                              size_t i, bool *end)
{
    const struct gp_report *r = d->report;
    *end = s->all ? i >= r->tables.n : i >= GP_PAGE_TABLES || !s->tables[i];
    if (*end) return NULL;
    const struct gp_report_table *t = s->all ? r->tables.at[i] : gp_report_find(r, s->tables[i]);
    return t && gp_report_rows(t) ? t : NULL;
}

bool gp_page_has(const struct gp_page_doc *d, const struct gp_page_section *s)
{
    bool end = false;
    if (!s->all && !s->tables[0]) return !s->there || s->there(d->page);
    for (size_t i = 0; !end; i++)
        if (table_at(d, s, i, &end)) return true;
    return false;
}

static void put_section(struct gp_svg *w, const struct gp_page_doc *d, const struct gp_page_section *s)
{
    if (!gp_page_has(d, s)) return;
    gp_page_open(w, "section", "theme");
    gp_svg_attr(w, "id", s->id);
    gp_page_put(w, "h2", NULL, s->title);
    if (s->draw && s->box) gp_page_open(w, "div", s->box);
    if (s->draw) s->draw(d->page);
    if (s->draw && s->box) gp_page_close(w);
    bool first = true, end = false;
    for (size_t i = 0; !end; i++) {
        const struct gp_report_table *t = table_at(d, s, i, &end);
        if (!t) continue;
        bool open = s->open ? (int)i < s->open : first && !t->detail;
        gp_table_html_write(
            w, t,
            &(struct gp_table_html_opts){
                .open = open, .max_rows = d->max_rows, .only_json = d->only_json, .swatch = d->swatch});
        first = false;
    }
    gp_page_close(w);
}

/* Links to the sections, where there are several. */
static void put_contents(struct gp_svg *w, const struct gp_page_doc *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->sections_n; i++) n += gp_page_has(d, &d->sections[i]);
    if (n < 2) return;
    gp_page_open(w, "nav", NULL);
    gp_svg_attr(w, "aria-label", "Contents");
    GP_EACH_OF(const struct gp_page_section, s, d->sections, d->sections_n) {
        if (!gp_page_has(d, s)) continue;
        gp_page_link(w, s->id, s->entry ? s->entry : s->title);
        gp_svg_newline(w);
    }
    gp_page_close(w);
}

/* ---- the end ---- */

static void put_foot(struct gp_svg *w, const struct gp_page_doc *d)
{
    const char *options = d->options ? d->options + strspn(d->options, " ") : "";
    gp_page_open(w, "footer", NULL);
    gp_page_open(w, "p", NULL);
    gp_page_text(w, d->tool);
    gp_page_text(w, " (gpuprof) " GP_VERSION);
    if (*options) gp_page_text(w, ", ");
    gp_page_text(w, options);
    gp_svg_close(w);
    if (d->note) gp_page_put(w, "p", NULL, d->note);
    if (d->json && d->json->n)
        gp_page_put(w, "p", NULL,
                    "This file has the same answer for programs in the script element gpuprof-answer.");
    gp_svg_close(w);
}

void gp_page_write(struct gp_svg *w, struct gp_buf *out, struct gp_page_doc *d)
{
    struct gp_buf title = {0};
    if (!d->input) d->input = "standard input";
    gp_buf_printf(&title, "%s: %s", d->tool, d->input);
    gp_page_begin(w, out, gp_buf_str(&title), d->parts);
    gp_page_open(w, "main", NULL);
    put_header(w, d);
    put_quality(w, d->report);
    put_verdict(w, d->report);
    put_figures(w, d);
    if (d->findings) d->findings(d->page);
    put_contents(w, d);
    for (size_t i = 0; i < d->sections_n; i++) put_section(w, d, &d->sections[i]);
    put_foot(w, d);
    gp_svg_close(w);
    if (d->json && d->json->n) gp_page_json(w, "gpuprof-answer", d->json->data, d->json->n);
    gp_page_end(w, d->parts);
    GP_VEC_FREE(&d->figures);
    gp_buf_release(&d->facts);
    gp_buf_release(&title);
}
