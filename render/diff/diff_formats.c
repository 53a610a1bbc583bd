#include "render/diff/diff_formats.h"

#include <inttypes.h>
#include <string.h>
#include "formats/base/buf.h"
#include "render/diff/diff_priv.h"
#include "render/flame/flame_formats.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"

/* ---- JSON ---- */

void gp_diff_json_write(struct gp_buf *b, const struct gp_diff *d)
{
    struct gp_doc o = {.b = b, .strings = &d->strings};
    struct gp_arena mem = {0};
    const struct gp_row_of rows = gp_diff_rows_of(d);
    struct gp_row_of one = rows;
    one.mem = &mem;
    gp_doc_begin(&o, '{');
    gp_doc_head(&o, "trace-diff", GP_VERSION, d->inputs.at, d->inputs.n);
    gp_doc_bool(&o, "comparable", d->comparable);
    gp_doc_bool(&o, "identical", d->identical);
    gp_record_json(&o, &gp_diff_reason_rows, d->reasons.at, d->reasons.n, 0, &rows);
    gp_doc_cstr(&o, "unit", gp_diff_unit_name((enum gp_diff_unit)d->unit));
    gp_record_object(&o, "baseline", &gp_diff_side_row, &d->side[GP_DIFF_BASE], &one);
    gp_record_object(&o, "current", &gp_diff_side_row, &d->side[GP_DIFF_CUR], &one);
    gp_record_object(&o, "total", &gp_diff_total_row, d, &one);
    gp_record_object(&o, "summary", &gp_diff_summary_row, d, &one);
    gp_record_json(&o, &gp_diff_gate_rows, d->gates.at, d->gates.n, 0, &rows);
    gp_record_json(&o, &gp_diff_expect_rows, d->expects.at, d->expects.n, 0, &rows);
    gp_record_json(&o, &gp_diff_note_rows, d->notes.at, d->notes.n, 0, &rows);
    gp_record_object(&o, "settings", &gp_diff_setting_row, d, &one);
    struct gp_diff_metric known[GP_METRIC_COUNT];
    size_t n = 0;
    for (int m = 0; m < GP_METRIC_COUNT; m++)
        if (d->metrics[m].known) known[n++] = d->metrics[m];
    gp_record_json(&o, &gp_diff_metric_rows, known, n, 0, &rows);
    gp_record_json(&o, &gp_diff_op_rows, d->ops.at, d->ops.n, 0, &rows);
    gp_record_json(&o, &gp_diff_cause_rows, d->causes.at, d->causes.n, 0, &rows);
    gp_doc_i64(&o, "residual_ns", d->residual_ns);
    gp_record_json(&o, &gp_diff_block_rows, d->blocks.at, d->blocks.n, 0, &rows);
    gp_record_json(&o, &gp_diff_step_rows, d->steps.at, d->steps.n, 0, &rows);
    gp_doc_end(&o, '}');
    gp_buf_putc(b, '\n');
    gp_arena_release(&mem);
}

/* ---- folded stacks ---- */

void gp_diff_folded_write(struct gp_buf *b, const struct gp_diff *d)
{
    GP_EACH(const struct gp_diff_stack, s, d->stacks) {
        const char *stack = gp_diff_str(d, s->stack);
        size_t n = gp_string_len(&d->strings, s->stack);
        if (!s->side_ns[GP_DIFF_BASE] && !s->side_ns[GP_DIFF_CUR]) continue;
        for (size_t at = 0; at <= n;) {
            const char *semicolon = n > at ? memchr(stack + at, ';', n - at) : NULL;
            size_t len = semicolon ? (size_t)(semicolon - stack) - at : n - at;
            if (at) gp_buf_putc(b, ';');
            gp_folded_put_frame(b, stack + at, len);
            at += len + 1;
        }
        gp_buf_printf(b, " %" PRId64 " %" PRId64 "\n", s->side_ns[GP_DIFF_BASE], s->side_ns[GP_DIFF_CUR]);
    }
}

/* ---- formats ---- */

#define BRIEF gp_diff_report(&r, a->d, &(struct gp_diff_report_opts){.top = a->top, .brief = true})
GP_PUT_TEXT(put_text, struct gp_diff_answer, BRIEF)

GP_PUT_MARKDOWN(put_markdown, struct gp_diff_answer, BRIEF)

GP_PUT_ANSWER(put_json, struct gp_diff_answer, gp_diff_json_write(b, a->d))

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_diff_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf json = {0}, names = {0};
    gp_diff_report(&r, a->d, &(struct gp_diff_report_opts){.top = a->top});
    put_json(answer, &json);
    gp_sides_put_names(&names, a->sides);
    gp_diff_html_write(b, a, &r, gp_buf_str(&names), &json);
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

GP_PUT_ANSWER(put_folded, struct gp_diff_answer, gp_diff_folded_write(b, a->d))
GP_PUT_ANSWER(put_dot, struct gp_diff_answer, gp_diff_dot(b, a->d, a->top))
GP_PUT_ANSWER(put_junit, struct gp_diff_answer, gp_diff_junit_write(b, a->d))
GP_PUT_ANSWER(put_github, struct gp_diff_answer, gp_diff_github_write(b, a->d))
GP_PUT_ANSWER(put_benchmark, struct gp_diff_answer, gp_diff_benchmark_write(b, a->d))

const struct gp_answer_format gp_diff_formats[] = {
    {"text", 10, 0, .put = put_text},
    {"markdown", 10, 0, .put = put_markdown},
    {"json", 0, 0, .put = put_json},
    {"html", 100, 0, .put = put_html},
    {"svg", 0, 0, .put = put_svg},
    {"folded", 0, 0, .put = put_folded},
    {"dot", 0, 0, .put = put_dot},
    {"junit", 0, 0, .put = put_junit},
    {"github", 0, 0, .put = put_github},
    {"benchmark", 0, 0, .put = put_benchmark},
    {0},
};
