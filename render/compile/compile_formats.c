#include "render/compile/compile_formats.h"

#include <string.h>
#include "formats/base/buf.h"
#include "render/compile/compile_priv.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"

/* ---- JSON ---- */

struct writer {
    struct gp_doc d;
    struct gp_row_of of;
    const struct gp_compile *c;
};

/* ---- the head ---- */

static bool is_damaged(const struct gp_clog_input *in)
{
    for (int k = 0; k < GP_CLOG_ISSUE_COUNT; k++)
        if (in->issues[k].count && k != GP_CLOG_NOISE) return true;
    return false;
}

static void put_issues(struct gp_doc *d, const struct gp_clog_issue *issues)
{
    gp_doc_list(d, "issues");
    for (int k = 0; k < GP_CLOG_ISSUE_COUNT; k++)
        gp_doc_issue(d, gp_clog_issue_name((enum gp_clog_issue_kind)k), issues[k].count,
                     issues[k].first_offset);
    gp_doc_end(d, ']');
}

static int32_t rank_of(const struct gp_compile_log *log, uint32_t input)
{
    for (size_t i = 0; i < log->processes.n; i++)
        if (log->processes.at[i].input == input) return log->processes.at[i].rank;
    return -1;
}

static void put_log_input(struct writer *w, uint32_t i)
{
    const struct gp_clog_input *in = &w->c->log->inputs.at[i];
    gp_doc_element(&w->d);
    gp_doc_sid(&w->d, "path", in->path);
    gp_doc_cstr(&w->d, "format", in->records || !in->texts ? "torch_trace" : "torch_logs");
    gp_doc_sid(&w->d, "compression", in->compression);
    gp_doc_known(&w->d, "rank", rank_of(w->c->log, i));
    gp_doc_u64(&w->d, "events", in->records + in->texts);
    gp_doc_u64(&w->d, "gpu_events", 0);
    gp_doc_cstr(&w->d, "verdict", is_damaged(in) ? "repaired" : "clean");
    gp_doc_bool(&w->d, "truncated", in->issues[GP_CLOG_TRUNCATED].count > 0);
    gp_doc_u64(&w->d, "events_skipped", in->damaged);
    gp_doc_u64(&w->d, "records_used", in->used);
    gp_doc_u64(&w->d, "records_unknown", in->skipped);
    put_issues(&w->d, in->issues);
    gp_doc_end(&w->d, '}');
}

/* Of all logs together; an offset is written when there is one input. */
static void put_quality(struct writer *w)
{
    struct gp_clog_issue sum[GP_CLOG_ISSUE_COUNT] = {{0}};
    uint64_t skipped = 0;
    bool truncated = false, damaged = false;
    GP_EACH(const struct gp_clog_input, in, w->c->log->inputs) {
        skipped += in->damaged;
        truncated |= in->issues[GP_CLOG_TRUNCATED].count > 0;
        damaged |= is_damaged(in);
        for (int k = 0; k < GP_CLOG_ISSUE_COUNT; k++) {
            sum[k].count += in->issues[k].count;
            sum[k].first_offset =
                w->c->log->inputs.n == 1 && !w->c->traces.n ? in->issues[k].first_offset : -1;
        }
    }
    for (size_t i = 0; i < w->c->traces.n; i++) {
        const struct gp_input_quality *in = &w->c->traces.at[i].input;
        skipped += in->skipped;
        truncated |= in->truncated;
        damaged |= strcmp(gp_compile_str(w->c, in->verdict), "clean") != 0;
    }
    gp_doc_object(&w->d, "quality");
    gp_doc_cstr(&w->d, "verdict", damaged ? "repaired" : "clean");
    gp_doc_bool(&w->d, "truncated", truncated);
    gp_doc_u64(&w->d, "events_skipped", skipped);
    put_issues(&w->d, sum);
    gp_doc_end(&w->d, '}');
}

/* ---- rows ---- */

static void put_list(struct writer *w, const struct gp_record *rec, const void *rows, size_t n)
{
    gp_record_json(&w->d, rec, rows, n, 0, &w->of);
}

static void put_object(struct writer *w, const struct gp_record *rec, const void *row)
{
    struct gp_arena mem = {0};
    struct gp_row_of of = w->of;
    of.mem = &mem;
    gp_record_object(&w->d, rec->id, rec, row, &of);
    gp_arena_release(&mem);
}

void gp_compile_json_write(struct gp_buf *b, const struct gp_compile *c, const char *version)
{
    struct writer w = {.d = {.b = b, .strings = &c->log->strings}, .of = gp_compile_rows_of(c), .c = c};
    gp_doc_begin(&w.d, '{');
    gp_doc_cstr(&w.d, "schema", "gpuprof/trace-compile/1");
    gp_doc_cstr(&w.d, "tool", "trace-compile");
    gp_doc_cstr(&w.d, "version", version);
    gp_doc_list(&w.d, "inputs");
    for (uint32_t i = 0; i < w.c->log->inputs.n; i++) put_log_input(&w, i);
    for (size_t i = 0; i < w.c->traces.n; i++) gp_doc_input(&w.d, &w.c->traces.at[i].input);
    gp_doc_end(&w.d, ']');
    put_quality(&w);
    struct gp_report r = {0};
    gp_compile_summary(&r, w.c);
    gp_doc_summary(&w.d, &r);
    gp_report_release(&r);
    put_object(&w, &gp_compile_environment, c);
    put_object(&w, &gp_compile_times, &c->time);
    put_list(&w, &gp_compile_frames, c->frames.at, c->frames.n);
    put_list(&w, &gp_compile_breaks[c->log->keep_code], c->breaks.at, c->breaks.n);
    put_list(&w, &gp_compile_recompiles, c->recompiles.at, c->recompiles.n);
    put_object(&w, &gp_compile_cache_counts, &c->caches);
    put_list(&w, &gp_compile_graphs[c->log->keep_code], c->graphs.at, c->graphs.n);
    put_object(&w, &gp_compile_fused, &c->fusion);
    put_object(&w, &gp_compile_cuda_graphs, &c->cudagraphs);
    gp_doc_object(&w.d, "speedup");
    put_list(&w, &gp_compile_modes, c->modes.at, c->modes.n);
    gp_doc_end(&w.d, '}');
    put_list(&w, &gp_compile_suggestions, c->advice.at, c->advice.n);
    gp_doc_end(&w.d, '}');
    gp_buf_putc(b, '\n');
}

/* ---- formats ---- */

GP_PUT_TEXT(put_text, struct gp_compile_answer, gp_compile_report(&r, a->c, a->top))

GP_PUT_MARKDOWN(put_markdown, struct gp_compile_answer, gp_compile_report(&r, a->c, a->top))

GP_PUT_ANSWER(put_json, struct gp_compile_answer, gp_compile_json_write(b, a->c, GP_VERSION))

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_compile_answer *a = answer;
    struct gp_buf json = {0};
    gp_compile_json_write(&json, a->c, GP_VERSION);
    gp_compile_html_write(b, a, &json);
    gp_buf_release(&json);
}

const struct gp_answer_format gp_compile_formats[] = {
    {"text", 25, 0, .put = put_text},
    {"markdown", 25, 0, .put = put_markdown},
    {"json", 0, 0, .put = put_json},
    {"html", 200, 0, .put = put_html},
    {0},
};
