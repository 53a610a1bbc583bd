#include "render/timeline/timeline_html.h"

#include <string.h>
#include "render/page/page_html.h"
#include "render/page/page_pack.h"
#include "render/timeline/timeline_svg.h"

static const struct gp_page_parts parts = {.css = &gp_asset_timeline_css, .js = &gp_asset_timeline_js};

static void flush(struct gp_buf *b, struct gp_output *out)
{
    gp_output_write(out, b->data, b->n);
    b->n = 0;
}

/* For paper, and where no script runs. */
static void put_still(struct gp_svg *w, const struct gp_timeline *tl)
{
    enum { STILL_RECTS = 1500 };
    struct gp_timeline_svg_opts o = {.still = true, .max_rects = STILL_RECTS};
    const struct gp_timeline_opts *p = &tl->opts;
    const struct gp_timeline_window *shown = p->open.end_ns > p->open.begin_ns ? &p->open : &p->view;
    if (shown->end_ns > shown->begin_ns) {
        o.begin_ns = shown->begin_ns;
        o.end_ns = shown->end_ns;
    }
    gp_page_open(w, "figure", "still");
    gp_svg_text(w, "", 0);
    gp_timeline_svg_write(w->out, tl->l, &o);
    gp_svg_close(w);
    gp_svg_newline(w);
}

void gp_timeline_html_write(const struct gp_timeline *tl, const char *title, const char *facts,
                            struct gp_output *out)
{
    struct gp_svg w;
    struct gp_buf b = {0};
    gp_page_begin(&w, &b, title, &parts);
    gp_page_open(&w, "main", "timeline");
    gp_page_open(&w, "header", NULL);
    gp_page_element(&w, "h1", NULL, title, strlen(title));
    gp_page_element(&w, "p", "facts", facts, strlen(facts));
    gp_svg_close(&w);
    put_still(&w, tl);
    gp_svg_close(&w);
    gp_svg_newline(&w);
    gp_page_palette(&w);
    for (size_t i = 0; i < tl->sections.n; i++) {
        const struct gp_timeline_section *s = &tl->sections.at[i];
        gp_page_packed(&w, s->id, s->bytes.data, s->bytes.n);
        flush(&b, out);
    }
    gp_page_end(&w, &parts);
    flush(&b, out);
    gp_buf_release(&b);
}
