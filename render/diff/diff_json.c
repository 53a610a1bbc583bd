#include "render/diff/diff_json.h"

#include "formats/base/buf.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"

static void put_row(struct gp_doc *o, const char *key, const struct gp_record *rec, const void *row,
                    const struct gp_row_of *x)
{
    gp_doc_object(o, key);
    gp_record_members(o, rec, row, x);
    gp_doc_end(o, '}');
}

static void put_metrics(struct gp_doc *o, const struct gp_diff *d, const struct gp_row_of *x)
{
    struct gp_diff_metric known[GP_METRIC_COUNT];
    size_t n = 0;
    for (int m = 0; m < GP_METRIC_COUNT; m++)
        if (d->metrics[m].known) known[n++] = d->metrics[m];
    gp_record_json(o, &gp_diff_metric_rows, known, n, 0, x);
}

void gp_diff_json_write(struct gp_buf *b, const struct gp_diff *d, const struct gp_diff_json_opts *opts)
{
    struct gp_doc o = {.b = b, .strings = &d->strings};
    struct gp_arena mem = {0};
    const struct gp_row_of rows = gp_diff_rows_of(d);
    struct gp_row_of one = rows;
    one.mem = &mem;
    gp_doc_begin(&o, '{');
    gp_doc_head(&o, "trace-diff", opts->version, d->inputs.at, d->inputs.n);
    gp_doc_bool(&o, "comparable", d->comparable);
    gp_doc_bool(&o, "identical", d->identical);
    gp_record_json(&o, &gp_diff_reason_rows, d->reasons.at, d->reasons.n, 0, &rows);
    gp_doc_cstr(&o, "unit", gp_diff_unit_name((enum gp_diff_unit)d->unit));
    put_row(&o, "baseline", &gp_diff_side_row, &d->side[GP_DIFF_BASE], &one);
    put_row(&o, "current", &gp_diff_side_row, &d->side[GP_DIFF_CUR], &one);
    put_row(&o, "total", &gp_diff_total_row, d, &one);
    put_row(&o, "summary", &gp_diff_summary_row, d, &one);
    gp_record_json(&o, &gp_diff_gate_rows, d->gates.at, d->gates.n, 0, &rows);
    gp_record_json(&o, &gp_diff_expect_rows, d->expects.at, d->expects.n, 0, &rows);
    gp_record_json(&o, &gp_diff_note_rows, d->notes.at, d->notes.n, 0, &rows);
    put_row(&o, "settings", &gp_diff_setting_row, d, &one);
    put_metrics(&o, d, &rows);
    gp_record_json(&o, &gp_diff_op_rows, d->ops.at, d->ops.n, 0, &rows);
    gp_record_json(&o, &gp_diff_cause_rows, d->causes.at, d->causes.n, 0, &rows);
    gp_doc_i64(&o, "residual_ns", d->residual_ns);
    gp_record_json(&o, &gp_diff_block_rows, d->blocks.at, d->blocks.n, 0, &rows);
    gp_record_json(&o, &gp_diff_step_rows, d->steps.at, d->steps.n, 0, &rows);
    gp_doc_end(&o, '}');
    gp_buf_putc(b, '\n');
    gp_arena_release(&mem);
}
