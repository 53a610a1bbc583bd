#include "render/compile/compile_formats.h"

#include "formats/base/buf.h"
#include "render/compile/compile_html.h"
#include "render/compile/compile_json.h"
#include "render/compile/compile_tables.h"
#include "render/report/report_text.h"

static void put_text(void *answer, struct gp_buf *b)
{
    const struct gp_compile_answer *a = answer;
    struct gp_report r = {0};
    gp_compile_report(&r, a->c, a->top);
    gp_report_text_write(
        b, &r, &(struct gp_report_text_opts){.color = a->color, .width = a->width, .verdict_first = true});
    gp_report_release(&r);
}

static void put_json(void *answer, struct gp_buf *b)
{
    const struct gp_compile_answer *a = answer;
    gp_compile_json_write(b, a->c, GP_VERSION);
}

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_compile_answer *a = answer;
    struct gp_buf json = {0};
    gp_compile_json_write(&json, a->c, GP_VERSION);
    gp_compile_html_write(
        b, a->c,
        &(struct gp_compile_html_opts){
            .input = a->input, .options = a->options, .json = json.data, .json_n = json.n, .top = a->top});
    gp_buf_release(&json);
}

const struct gp_answer_format gp_compile_formats[] = {
    {"text", 25, 0, .put = put_text},
    {"json", 0, 0, .put = put_json},
    {"html", 200, 0, .put = put_html},
    {0},
};
