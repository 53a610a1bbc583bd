#include "render/calibrate/calibrate_formats.h"

#include "formats/base/buf.h"
#include "render/calibrate/calibrate_json.h"
#include "render/calibrate/calibrate_report.h"
#include "render/calibrate/sweep_svg.h"
#include "render/page/page_doc.h"
#include "render/report/report_text.h"

static void put_report(struct gp_buf *b, struct gp_report *r, const struct gp_calibrate_answer *a)
{
    gp_report_text_write(
        b, r, &(struct gp_report_text_opts){.color = a->color, .width = a->width, .verdict_first = true});
    gp_report_release(r);
}

void gp_ceilings_text(struct gp_buf *b, const struct gp_calibrate_answer *a)
{
    struct gp_report r = {0};
    if (a->compare) gp_calibrate_compare_report(&r, a->c, a->compare, a->base);
    else gp_calibrate_report(&r, a->c);
    put_report(b, &r, a);
}

static void put_ceilings_text(void *answer, struct gp_buf *b)
{
    gp_ceilings_text(b, answer);
}

static void put_ceilings_json(void *answer, struct gp_buf *b)
{
    const struct gp_calibrate_answer *a = answer;
    gp_ceilings_json_write(b, a->c);
}

static void put_sweep_text(void *answer, struct gp_buf *b)
{
    const struct gp_calibrate_answer *a = answer;
    struct gp_report r = {0};
    gp_sweep_report(&r, a->c);
    put_report(b, &r, a);
}

static void put_sweep_json(void *answer, struct gp_buf *b)
{
    const struct gp_calibrate_answer *a = answer;
    gp_sweep_json_write(b, a->c);
}

static void put_sweep_svg(void *answer, struct gp_buf *b)
{
    const struct gp_calibrate_answer *a = answer;
    gp_sweep_svg(b, a->c);
}

struct page {
    struct gp_svg w;
    const struct gp_sweep *sweep;
};

static void put_panels(void *page)
{
    struct page *p = page;
    for (int i = 0; i < GP_SWEEP_PANELS; i++) gp_sweep_panel(&p->w, p->sweep, (enum gp_sweep_panel)i);
}

static void put_sweep_html(void *answer, struct gp_buf *b)
{
    const struct gp_calibration *c = ((const struct gp_calibrate_answer *)answer)->c;
    struct gp_buf json = {0};
    struct gp_report r = {0};
    struct page p = {.sweep = &c->sweep};
    gp_sweep_report(&r, c);
    gp_sweep_json_write(&json, c);
    const struct gp_page_section section = {.id = "sizes",
                                            .title = "Operations over their sizes",
                                            .draw = put_panels,
                                            .box = "sweeps",
                                            .all = true,
                                            .open = r.tables.n < 3 ? 2 : GP_PAGE_FOLDED};
    struct gp_page_doc doc = {.tool = "gpuprof-measure --op",
                              .parts = &gp_page_sweep,
                              .report = &r,
                              .input = c->devices[0].device,
                              .sections = &section,
                              .sections_n = 1,
                              .page = &p,
                              .json = json.data,
                              .json_n = json.n};
    gp_page_write(&p.w, b, &doc);
    gp_buf_release(&json);
    gp_report_release(&r);
}

const struct gp_answer_format gp_ceilings_formats[] = {
    {"json", 0, 0, .put = put_ceilings_json},
    {"text", 0, 0, .put = put_ceilings_text},
    {0},
};

const struct gp_answer_format gp_sweep_formats[] = {
    {"text", 0, 0, .put = put_sweep_text},
    {"json", 0, 0, .put = put_sweep_json},
    {"svg", 0, 0, .put = put_sweep_svg},
    {"html", 0, 0, .put = put_sweep_html},
    {0},
};
