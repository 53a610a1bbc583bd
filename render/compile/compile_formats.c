#include "render/compile/compile_formats.h"

#include "render/compile/compile_html.h"
#include "render/compile/compile_json.h"
#include "render/compile/compile_tables.h"
#include "render/report/report_text.h"

static void write_text(void *answer, struct gp_output *to)
{
    const struct gp_compile_answer *a = answer;
    struct gp_buf b = {0};
    struct gp_report r = {0};
    gp_compile_report(&r, a->c, a->top);
    gp_report_text_write(
        &b, &r, &(struct gp_report_text_opts){.color = a->color, .width = a->width, .verdict_first = true});
    gp_report_release(&r);
    gp_answer_put(to, &b);
}

static void write_json(void *answer, struct gp_output *to)
{
    const struct gp_compile_answer *a = answer;
    struct gp_buf b = {0};
    gp_compile_json_write(&b, a->c, GP_VERSION);
    gp_answer_put(to, &b);
}

static void write_html(void *answer, struct gp_output *to)
{
    const struct gp_compile_answer *a = answer;
    struct gp_buf b = {0}, json = {0};
    gp_compile_json_write(&json, a->c, GP_VERSION);
    gp_compile_html_write(
        &b, a->c,
        &(struct gp_compile_html_opts){
            .input = a->input, .options = a->options, .json = json.data, .json_n = json.n, .top = a->top});
    gp_buf_release(&json);
    gp_answer_put(to, &b);
}

const struct gp_answer_format gp_compile_formats[] = {
    {"text", 25, 0, write_text},
    {"json", 0, 0, write_json},
    {"html", 200, 0, write_html},
    {0},
};

const char *gp_compile_format_name(size_t i)
{
    return gp_compile_formats[i].name;
}
