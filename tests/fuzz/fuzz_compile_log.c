/* fuzz_compile_log.c -- hostile logs of torch.compile, from the text to every format of the answer. What must
 * always hold is checked: each record counts once, and self times sum to the roots. */
#include <stdint.h>
#include <string.h>
#include "analyze/compile/compile.h"
#include "formats/base/buf.h"
#include "formats/base/input.h"
#include "formats/base/json_write.h"
#include "formats/compile_log/compile_log.h"
#include "render/compile/compile_priv.h"
#include "render/report/report.h"
#include "tests/fuzz/help/fuzz.h"

static void check_log(const struct gp_compile_log *log)
{
    int64_t self = 0, roots = 0;
    for (size_t i = 0; i < log->inputs.n; i++) {
        const struct gp_clog_input *in = &log->inputs.at[i];
        FUZZ_CHECK(in->used + in->skipped + in->damaged == in->records);
    }
    for (size_t i = 0; i < log->spans.n; i++) {
        const struct gp_clog_span *s = &log->spans.at[i];
        FUZZ_CHECK(s->dur_ns >= 0 && (s->parent == GP_CLOG_NONE || s->parent < i));
        self += s->self_ns / 1024; /* sums of hostile times stay in range */
        if (s->parent == GP_CLOG_NONE) roots += s->dur_ns / 1024;
    }
    int64_t off = self - roots, most = (int64_t)log->spans.n + 1;
    FUZZ_CHECK(off <= most && -off <= most);
    for (size_t i = 0; i < log->breaks.n; i++)
        FUZZ_CHECK(log->breaks.at[i].caused_by == GP_CLOG_NONE || log->breaks.at[i].caused_by < i);
}

static void check_answer(const struct gp_compile *c)
{
    for (size_t i = 0; i < c->breaks.n; i++) {
        const struct gp_compile_break *b = &c->breaks.at[i];
        FUZZ_CHECK(b->count > 0 && b->count == b->n_ids && b->first_id + b->n_ids <= c->ids.n);
        FUZZ_CHECK(b->family < GP_BREAK_FAMILY_COUNT);
        FUZZ_CHECK(b->caused_by == GP_CLOG_NONE || b->caused_by < i);
    }
    for (size_t i = 0; i < c->recompiles.n; i++) {
        const struct gp_compile_recompile *r = &c->recompiles.at[i];
        FUZZ_CHECK(r->count > 0 && r->first_value + r->n_values <= c->values.n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_compile_log log = {.keep_code = size % 2};
    struct gp_compile c;
    struct gp_buf json = {0}, other = {0};
    struct gp_report r = {0};
    struct gp_input *in = gp_input_memory(data, size, 1);
    gp_compile_log_sniff(data, size);
    gp_compile_log_read(&log, in, "log");
    gp_input_close(in);
    check_log(&log);
    gp_compile_init(&c, &log, NULL);
    gp_compile_finish(&c);
    check_answer(&c);
    gp_compile_json_write(&json, &c, "0");
    FUZZ_CHECK(gp_json_is_valid(json.data, json.n));
    gp_compile_report(&r, &c, 5);
    gp_report_text_write(&other, &r, &(struct gp_report_text_opts){.width = 100});
    gp_compile_html_write(&other, &(struct gp_compile_answer){.c = &c}, &json);
    gp_report_release(&r);
    gp_buf_release(&json);
    gp_buf_release(&other);
    gp_compile_release(&c);
    gp_compile_log_release(&log);
    return 0;
}
