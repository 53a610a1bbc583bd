#include "render/calibrate/calibrate_formats.h"

#include <math.h>
#include "formats/base/buf.h"
#include "render/calibrate/calibrate_priv.h"
#include "render/page/page_doc.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"

/* ---- JSON ---- */

static void put_missing(struct gp_doc *d, const struct gp_figures *f, const struct gp_row_of *of)
{
    if (f->missing.n) gp_record_json(d, &gp_missing_rows, f->missing.at, f->missing.n, 0, of);
}

static void put_peers(struct gp_doc *d, const struct gp_calibration *c)
{
    bool any = false;
    for (size_t i = 0; c->peer && i < c->n * c->n; i++) any |= c->peer[i] > 0;
    if (!any) return;
    gp_doc_list(d, "peer_bytes_per_s");
    for (size_t i = 0; i < c->n; i++) {
        gp_doc_next(d);
        gp_doc_begin(d, '[');
        for (size_t k = 0; k < c->n; k++) {
            gp_doc_next(d);
            if (c->peer[i * c->n + k] > 0) gp_buf_put_i64(d->b, llround(c->peer[i * c->n + k]));
            else gp_buf_puts(d->b, "null");
        }
        gp_doc_end(d, ']');
    }
    gp_doc_end(d, ']');
}

/* Of one device its figures; of several, the median of each figure, and the devices in a list. */
static void put_ceilings_json(void *answer, struct gp_buf *b)
{
    const struct gp_calibration *c = ((const struct gp_calibrate_answer *)answer)->c;
    struct gp_doc d = {.b = b};
    const struct gp_row_of of = {.of = c};
    struct gp_figures all = c->devices[0];
    gp_compare_siblings(all.value, c->devices, c->n); /* of one device, its own */
    gp_doc_begin(&d, '{');
    gp_doc_cstr(&d, "schema", "gpuprof/ceilings/1");
    gp_record_members(&d, &gp_figure_members, &all, &of);
    put_peers(&d, c);
    if (c->n > 1) {
        gp_record_json(&d, &gp_calibrated_devices, c->devices, c->n, 0, &of);
    } else {
        gp_record_object(&d, "conditions", &gp_figure_conditions, &c->devices[0], &of);
        put_missing(&d, &c->devices[0], &of);
    }
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}

static void put_sweep_json(void *answer, struct gp_buf *b)
{
    const struct gp_calibration *c = ((const struct gp_calibrate_answer *)answer)->c;
    struct gp_doc d = {.b = b};
    const struct gp_row_of of = {.of = c};
    gp_doc_begin(&d, '{');
    gp_doc_cstr(&d, "schema", "gpuprof/sweep/1");
    gp_record_object(&d, "ceilings", &gp_figure_members, &c->devices[0], &of);
    gp_record_object(&d, "conditions", &gp_figure_conditions, &c->devices[0], &of);
    gp_record_json(&d, &gp_sweep_ops, c->sweep.ops.at, c->sweep.ops.n, 0, &of);
    put_missing(&d, &c->devices[0], &of);
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}

/* ---- formats ---- */

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

static void put_ceilings_text(void *answer, struct gp_buf *b) { gp_ceilings_text(b, answer); }

static void put_sweep_text(void *answer, struct gp_buf *b)
{
    const struct gp_calibrate_answer *a = answer;
    struct gp_report r = {0};
    gp_sweep_report(&r, a->c);
    put_report(b, &r, a);
}

GP_PUT_ANSWER(put_sweep_svg, struct gp_calibrate_answer, gp_sweep_svg(b, a->c))

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
    put_sweep_json(answer, &json);
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
                              .json = &json};
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
