#include "render/diff/diff_formats.h"

#include <string.h>
#include "formats/base/buf.h"
#include "render/diff/diff_charts.h"
#include "render/diff/diff_dot.h"
#include "render/diff/diff_flame.h"
#include "render/diff/diff_folded.h"
#include "render/diff/diff_html.h"
#include "render/diff/diff_json.h"
#include "render/diff/diff_tables.h"
#include "render/report/report_text.h"

static void put_text(void *answer, struct gp_buf *b)
{
    const struct gp_diff_answer *a = answer;
    struct gp_report r = {0};
    gp_diff_report(&r, a->d, &(struct gp_diff_report_opts){.top = a->top, .brief = true});
    gp_report_text_write(
        b, &r, &(struct gp_report_text_opts){.color = a->color, .width = a->width, .verdict_first = true});
    gp_report_release(&r);
}

static void put_json(void *answer, struct gp_buf *b)
{
    const struct gp_diff_answer *a = answer;
    gp_diff_json_write(b, a->d, &(struct gp_diff_json_opts){.version = GP_VERSION});
}

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_diff_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf json = {0}, names = {0};
    gp_diff_report(&r, a->d, &(struct gp_diff_report_opts){.top = a->top});
    put_json(answer, &json);
    gp_sides_put_names(&names, a->sides);
    gp_diff_html_write(
        b, a->d, &r,
        &(struct gp_diff_html_opts){
            .input = gp_buf_str(&names), .options = a->options, .json = json.data, .json_n = json.n});
    gp_buf_release(&json);
    gp_buf_release(&names);
    gp_report_release(&r);
}

static void put_svg(void *answer, struct gp_buf *b)
{
    const struct gp_diff_answer *a = answer;
    struct gp_buf names = {0};
    int side = strcmp(a->view, "flame") ? GP_DIFF_BASE : GP_DIFF_CUR;
    gp_sides_put_names(&names, a->sides);
    const char *input = gp_buf_str(&names);
    if (!strcmp(a->view, "waterfall")) gp_diff_waterfall_svg(b, a->d, a->top, input);
    else gp_diff_flame_svg(b, a->d, &(struct gp_diff_flame_opts){.side = side, .input = input});
    gp_buf_release(&names);
}

static void put_folded(void *answer, struct gp_buf *b)
{
    const struct gp_diff_answer *a = answer;
    gp_diff_folded_write(b, a->d);
}

static void put_dot(void *answer, struct gp_buf *b)
{
    const struct gp_diff_answer *a = answer;
    gp_diff_dot(b, a->d, a->top);
}

const struct gp_answer_format gp_diff_formats[] = {
    {"text", 10, 0, .put = put_text},
    {"json", 0, 0, .put = put_json},
    {"html", 100, 0, .put = put_html},
    {"svg", 0, 0, .put = put_svg},
    {"folded", 0, 0, .put = put_folded},
    {"dot", 0, 0, .put = put_dot},
    {0},
};
