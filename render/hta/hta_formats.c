#include "render/hta/hta_formats.h"

#include <string.h>
#include "analyze/hta/hta.h"
#include "formats/base/buf.h"
#include "formats/model/trace.h"
#include "render/hta/hta_html.h"
#include "render/hta/hta_json.h"
#include "render/hta/hta_openmetrics.h"
#include "render/hta/hta_tables.h"
#include "render/hta/path_dot.h"
#include "render/report/report_csv.h"
#include "render/report/report_text.h"

static void make_report(struct gp_report *r, const struct gp_hta_answer *a, const char *table, bool whole)
{
    struct gp_hta_report_opts o = {.top = a->top,
                                   .steps = a->steps || (table && !strcmp(table, "step_list")),
                                   .whole = whole,
                                   .brief = true,
                                   .only = table};
    gp_hta_report(r, a->h, &o);
}

static void put_text(void *answer, struct gp_buf *b)
{
    struct gp_hta_answer *a = answer;
    struct gp_report r = {0};
    struct gp_report_text_opts o = {.color = a->color, .width = a->width};
    make_report(&r, a, a->table, a->whole);
    const struct gp_report_table *t = a->table ? gp_report_find(&r, a->table) : NULL;
    if (t) gp_report_text_table(b, t, &o);
    else if (!a->table) gp_report_text_write(b, &r, &o);
    a->empty = a->table && !t;
    gp_report_release(&r);
}

static void put_csv(void *answer, struct gp_buf *b)
{
    struct gp_hta_answer *a = answer;
    const char *table = a->table ? a->table : "kernels";
    struct gp_report r = {0};
    make_report(&r, a, table, true); /* as JSON has it */
    const struct gp_report_table *t = gp_report_find(&r, table);
    gp_report_csv_write(b, t, a->h->untimed ? GP_UNTIMED_TEXT : NULL);
    a->empty = !t;
    gp_report_release(&r);
}

static void put_json(void *answer, struct gp_buf *b)
{
    const struct gp_hta_answer *a = answer;
    gp_hta_json_write(
        b, a->h,
        &(struct gp_hta_json_opts){
            .version = GP_VERSION, .tool = a->tool, .top = a->top, .steps = a->steps, .whole = a->whole});
}

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_hta_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf json = {0};
    gp_hta_report(&r, a->h,
                  &(struct gp_hta_report_opts){
                      .top = a->top, .steps = true, .whole = a->whole, .step_rows = a->steps ? 0 : a->top});
    put_json(answer, &json);
    gp_hta_html_write(b, a->h, &r,
                      &(struct gp_hta_html_opts){.json = json.data,
                                                 .json_n = json.n,
                                                 .options = a->options,
                                                 .whole = a->whole,
                                                 .flame = a->flame,
                                                 .timeline = a->timeline});
    gp_buf_release(&json);
    gp_report_release(&r);
}

static void put_dot(void *answer, struct gp_buf *b)
{
    const struct gp_hta_answer *a = answer;
    gp_path_dot(b, a->h, NULL);
}

static void put_openmetrics(void *answer, struct gp_buf *b)
{
    const struct gp_hta_answer *a = answer;
    gp_hta_openmetrics(b, a->h);
}

const struct gp_answer_format gp_hta_formats[] = {
    {"text", 10, GP_HTA_TAKES_TABLE, .put = put_text},
    {"json", 10, 0, .put = put_json},
    {"csv", 0, GP_HTA_TAKES_TABLE, .put = put_csv},
    {"html", 100, GP_HTA_TAKES_LINKS, .put = put_html},
    {"dot", 0, 0, .put = put_dot},
    {"openmetrics", 0, 0, .put = put_openmetrics},
    {0},
};
