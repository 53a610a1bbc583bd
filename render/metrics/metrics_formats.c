#include "render/metrics/metrics_formats.h"

#include "render/metrics/metrics_csv.h"
#include "render/metrics/metrics_html.h"
#include "render/metrics/metrics_json.h"
#include "render/metrics/metrics_tables.h"
#include "render/report/report_text.h"

static void put_text(void *answer, struct gp_buf *b)
{
    const struct gp_metrics_answer *a = answer;
    struct gp_report r = {0};
    gp_metrics_report(&r, a->m, a->values);
    gp_report_text_write(b, &r, &(struct gp_report_text_opts){.color = a->color, .width = a->width});
    gp_report_release(&r);
}

static void put_csv(void *answer, struct gp_buf *b)
{
    const struct gp_metrics_answer *a = answer;
    if (a->wide) gp_metrics_csv_wide(b, a->m, a->reduce);
    else gp_metrics_csv_long(b, a->m, a->reduce);
}

static void put_json(void *answer, struct gp_buf *b)
{
    const struct gp_metrics_answer *a = answer;
    gp_metrics_json_write(b, a->m, GP_VERSION);
}

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_metrics_answer *a = answer;
    gp_metrics_html_write(b, a->m, a->measured, a->input, a->options);
}

const struct gp_answer_format gp_metrics_formats[] = {
    {"text", 20, 0, .put = put_text},
    {"csv", 0, GP_METRICS_TAKES_WIDE | GP_METRICS_TAKES_REDUCE, .put = put_csv},
    {"json", 0, 0, .put = put_json},
    {"html", 500, GP_METRICS_TAKES_CEILINGS, .put = put_html},
    {0},
};
