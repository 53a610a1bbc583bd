#include "render/calibrate/calibrate_json.h"

#include <math.h>
#include "analyze/calibrate/compare.h"
#include "formats/base/buf.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"

static void put_object(struct gp_doc *d, const char *id, const struct gp_record *rec, const void *row,
                       const struct gp_row_of *of)
{
    gp_doc_object(d, id);
    gp_record_members(d, rec, row, of);
    gp_doc_end(d, '}');
}

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

void gp_ceilings_json_write(struct gp_buf *b, const struct gp_calibration *c)
{
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
        put_object(&d, "conditions", &gp_figure_conditions, &c->devices[0], &of);
        put_missing(&d, &c->devices[0], &of);
    }
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}

void gp_sweep_json_write(struct gp_buf *b, const struct gp_calibration *c)
{
    struct gp_doc d = {.b = b};
    const struct gp_row_of of = {.of = c};
    gp_doc_begin(&d, '{');
    gp_doc_cstr(&d, "schema", "gpuprof/sweep/1");
    put_object(&d, "ceilings", &gp_figure_members, &c->devices[0], &of);
    put_object(&d, "conditions", &gp_figure_conditions, &c->devices[0], &of);
    gp_record_json(&d, &gp_sweep_ops, c->sweep.ops.at, c->sweep.ops.n, 0, &of);
    put_missing(&d, &c->devices[0], &of);
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}
