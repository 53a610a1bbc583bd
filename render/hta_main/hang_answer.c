/* Logs of collectives, one per rank, instead of traces: where the job hangs. */
#include <string.h>
#include "analyze/hang/hang.h"
#include "formats/base/err.h"
#include "formats/flight/flight_read.h"
#include "render/hta_main/hta_main.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"

struct answer {
    const struct gp_hang *h;
    bool color;
    size_t width, top;
};

bool gp_hta_main_is_hang(const struct gp_hta_main *r)
{
    enum { HEAD = 1 << 14 };
    struct gp_err err = {0};
    size_t n;
    if (!r->app.n || r->opts->merge || !strcmp(r->app.paths[0], "-")) return false;
    struct gp_input *in = gp_input_open(r->app.paths[0], 1, &err);
    if (!in) return false;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    bool is_log = gp_flight_sniff(head, n);
    gp_input_close(in);
    return is_log;
}

static void make_report(struct gp_report *r, const struct answer *a)
{
    const struct gp_hang *h = a->h;
    const struct gp_row_of of = {.of = h, .strings = &h->strings, .mem = &r->mem};
    gp_report_verdict(r, h->cause == GP_HANG_NONE ? GP_TONE_PLAIN : GP_TONE_BAD, "%s", h->summary.data);
    gp_record_table(r, &gp_hang_rank_rows, h->ranks.at, h->ranks.n, a->top, &of);
}

GP_PUT_TEXT(put_text, struct answer, make_report(&r, a))

GP_PUT_REPORT(put_csv, struct answer, if (r.tables.n) gp_report_csv_write(b, r.tables.at[0], NULL),
              make_report(&r, a))

static void put_json(void *answer, struct gp_buf *b)
{
    const struct answer *a = answer;
    const struct gp_hang *h = a->h;
    const struct gp_row_of of = {.of = h, .strings = &h->strings};
    const struct gp_doc_tool tool = {"trace-hta-hang", "trace-hta", GP_VERSION};
    struct gp_doc d = {.b = b, .strings = &h->strings};
    gp_doc_begin(&d, '{');
    gp_doc_head_of(&d, &tool, NULL, 0, 0);
    gp_record_members(&d, &gp_hang_answers, h, &of);
    gp_record_json(&d, &gp_hang_rank_rows, h->ranks.at, h->ranks.n, a->top, &of);
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}

static const struct gp_answer_format formats[] = {
    {"text", 0, 0, .put = put_text},
    {"json", 0, 0, .put = put_json},
    {"csv", 0, 0, .put = put_csv},
    {0},
};

static int read_log(struct gp_hta_main *r, size_t i, struct gp_hang *h, struct gp_err *err)
{
    int child;
    struct gp_flight f = {0};
    struct gp_input *in = gp_app_input(&r->app, i, &child, err);
    if (!in) return -1;
    int failed = gp_flight_read(&f, in, err);
    if (failed) gp_err_context(err, "%s", gp_input_path(in));
    failed = gp_app_finish(&r->app, i, in, child, failed, err);
    if (!failed) gp_hang_add(h, &f);
    gp_flight_release(&f);
    return failed;
}

int gp_hta_main_hang(struct gp_hta_main *r, struct gp_err *err)
{
    struct gp_hang h = {0};
    const struct gp_answer_format *format = gp_answer_format(formats, r->opts->app.common.format);
    int failed =
        format ? 0 : gp_fail(err, GP_E_USAGE, -1, "logs of collectives: --format is text, json or csv");
    for (size_t i = 0; i < r->app.n && !failed; i++) failed = read_log(r, i, &h, err);
    if (!failed) gp_hang_find(&h);
    struct answer a = {&h, gp_app_color(&r->app), gp_app_width(&r->app),
                       gp_answer_rows(format ? format : formats, r->opts->app.top)};
    if (!failed) failed = gp_app_answer(&r->app, format, &a, err);
    gp_hang_release(&h);
    return failed;
}
