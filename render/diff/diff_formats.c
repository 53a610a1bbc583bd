#include "render/diff/diff_formats.h"

#include <string.h>
#include "render/diff/diff_charts.h"
#include "render/diff/diff_dot.h"
#include "render/diff/diff_flame.h"
#include "render/diff/diff_folded.h"
#include "render/diff/diff_html.h"
#include "render/diff/diff_json.h"
#include "render/diff/diff_tables.h"
#include "render/report/report_text.h"

static void write_text(void *answer, struct gp_output *to)
{
    const struct gp_diff_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf b = {0};
    gp_diff_report(&r, a->d, &(struct gp_diff_report_opts){.top = a->top, .brief = true});
    gp_report_text_write(
        &b, &r, &(struct gp_report_text_opts){.color = a->color, .width = a->width, .verdict_first = true});
    gp_report_release(&r);
    gp_answer_put(to, &b);
}

static void put_json(struct gp_buf *b, const struct gp_diff_answer *a)
{
    gp_diff_json_write(b, a->d, &(struct gp_diff_json_opts){.version = GP_VERSION});
}

static void write_json(void *answer, struct gp_output *to)
{
    struct gp_buf b = {0};
    put_json(&b, answer);
    gp_answer_put(to, &b);
}

static void write_html(void *answer, struct gp_output *to)
{
    const struct gp_diff_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf json = {0}, names = {0}, b = {0};
    gp_diff_report(&r, a->d, &(struct gp_diff_report_opts){.top = a->top});
    put_json(&json, a);
    gp_sides_put_names(&names, a->sides);
    gp_diff_html_write(
        &b, a->d, &r,
        &(struct gp_diff_html_opts){
            .input = gp_buf_str(&names), .options = a->options, .json = json.data, .json_n = json.n});
    gp_buf_release(&json);
    gp_buf_release(&names);
    gp_report_release(&r);
    gp_answer_put(to, &b);
}

static void write_svg(void *answer, struct gp_output *to)
{
    const struct gp_diff_answer *a = answer;
    struct gp_buf b = {0}, names = {0};
    int side = strcmp(a->view, "flame") ? GP_DIFF_BASE : GP_DIFF_CUR;
    gp_sides_put_names(&names, a->sides);
    const char *input = gp_buf_str(&names);
    if (!strcmp(a->view, "waterfall")) gp_diff_waterfall_svg(&b, a->d, a->top, input);
    else gp_diff_flame_svg(&b, a->d, &(struct gp_diff_flame_opts){.side = side, .input = input});
    gp_buf_release(&names);
    gp_answer_put(to, &b);
}

static void write_folded(void *answer, struct gp_output *to)
{
    const struct gp_diff_answer *a = answer;
    struct gp_buf b = {0};
    gp_diff_folded_write(&b, a->d);
    gp_answer_put(to, &b);
}

static void write_dot(void *answer, struct gp_output *to)
{
    const struct gp_diff_answer *a = answer;
    struct gp_buf b = {0};
    gp_diff_dot(&b, a->d, a->top);
    gp_answer_put(to, &b);
}

const struct gp_answer_format gp_diff_formats[] = {
    {"text", 10, 0, write_text},
    {"json", 0, 0, write_json},
    {"html", 100, 0, write_html},
    {"svg", 0, 0, write_svg},
    {"folded", 0, 0, write_folded},
    {"dot", 0, 0, write_dot},
    {0},
};

const char *gp_diff_format_name(size_t i)
{
    return gp_diff_formats[i].name;
}
