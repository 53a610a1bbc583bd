#include "render/metrics/metrics_json.h"

#include "formats/base/buf.h"
#include "render/metrics/metrics_tables.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"

void gp_metrics_json_write(struct gp_buf *b, const struct gp_metrics *m, const char *version)
{
    struct gp_doc d = {.b = b, .strings = &m->strings};
    struct gp_buf text = {0};
    const struct gp_row_of of = gp_metrics_rows_of(m);
    gp_doc_begin(&d, '{');
    gp_doc_head(&d, "trace-metrics", version, &m->input, 1);
    if (m->chips.n) gp_doc_cstr(&d, "chip", gp_metrics_chips(&text, m));
    else gp_doc_null(&d, "chip");
    gp_doc_u64(&d, "passes", m->passes);
    gp_doc_bool(&d, "distorted", m->distorted);
    gp_doc_u64(&d, "launches", m->launches);
    gp_doc_u64(&d, "launches_measured", m->launches_measured);
    gp_record_json(&d, &gp_metrics_columns, m->columns.at, m->columns.n, 0, &of);
    gp_record_json(&d, &gp_metrics_groups, m->groups.at, m->groups.n, 0, &of);
    gp_doc_object(&d, gp_metrics_rests.id);
    gp_record_members(&d, &gp_metrics_rests, &m->rest, &of);
    gp_doc_end(&d, '}');
    gp_doc_u64(&d, "groups_left_out", m->rest.rows);
    gp_record_json(&d, &gp_metrics_losses, m->losses.at, m->losses.n, 0, &of);
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
    gp_buf_release(&text);
}
