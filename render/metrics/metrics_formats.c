#include "render/metrics/metrics_formats.h"

#include "render/metrics/metrics_csv.h"
#include "render/metrics/metrics_html.h"
#include "render/metrics/metrics_json.h"
#include "render/metrics/metrics_tables.h"
#include "render/report/report_text.h"

static void write_text(void *answer, struct gp_output *to)
{
    const struct gp_metrics_answer *a = answer;
    struct gp_buf b = {0};
    struct gp_report r = {0};
    gp_metrics_report(&r, a->m, a->values);
    gp_report_text_write(&b, &r, &(struct gp_report_text_opts){.color = a->color, .width = a->width});
    gp_report_release(&r);
    gp_answer_put(to, &b);
}

static void write_csv(void *answer, struct gp_output *to)
{
    const struct gp_metrics_answer *a = answer;
    struct gp_buf b = {0};
    if (a->wide) gp_metrics_csv_wide(&b, a->m, a->reduce);
    else gp_metrics_csv_long(&b, a->m, a->reduce);
    gp_answer_put(to, &b);
}

static void write_json(void *answer, struct gp_output *to)
{
    const struct gp_metrics_answer *a = answer;
    struct gp_buf b = {0};
    gp_metrics_json_write(&b, a->m, GP_VERSION);
    gp_answer_put(to, &b);
}

static void write_html(void *answer, struct gp_output *to)
{
    const struct gp_metrics_answer *a = answer;
    struct gp_buf b = {0};
    gp_metrics_html_write(&b, a->m, a->measured, a->input, a->options);
    gp_answer_put(to, &b);
}

const struct gp_answer_format gp_metrics_formats[] = {
    {"text", 20, 0, write_text},
    {"csv", 0, GP_METRICS_TAKES_WIDE | GP_METRICS_TAKES_REDUCE, write_csv},
    {"json", 0, 0, write_json},
    {"html", 500, GP_METRICS_TAKES_CEILINGS, write_html},
    {0},
};

const char *gp_metrics_format_name(size_t i)
{
    return gp_metrics_formats[i].name;
}
