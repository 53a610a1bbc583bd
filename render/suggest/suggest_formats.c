#include "render/suggest/suggest_formats.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "render/draw/text.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"
#include "render/suggest/suggest_priv.h"

/* ---- JSON ---- */

static void put_json(void *answer, struct gp_buf *b)
{
    const struct gp_suggest_answer *a = answer;
    const struct gp_suggest *s = a->s;
    struct gp_doc d = {.b = b, .strings = &s->strings};
    struct gp_arena mem = {0};
    const struct gp_suggest_shown shown = {s, a->three_regimes};
    struct gp_row_of of = gp_suggest_rows_of(&shown, 0);
    of.mem = &mem;
    gp_doc_begin(&d, '{');
    size_t inputs;
    const struct gp_input_quality *in = gp_suggest_inputs(s, &inputs);
    gp_doc_head(&d, "trace-suggest", GP_VERSION, in, inputs);
    struct gp_report r = {0};
    gp_suggest_summary(&r, s, a->three_regimes);
    gp_doc_summary(&d, &r);
    gp_report_release(&r);
    const size_t worth = gp_suggest_worth(s), n = s->suggestions.n;
    gp_record_json(&d, &gp_suggest_suggestions, s->suggestions.at, worth, 0, &of);
    gp_record_object(&d, gp_suggest_together.id, &gp_suggest_together, s, &of);
    gp_record_json(&d, &gp_suggest_seen, n ? &s->suggestions.at[worth] : NULL, n - worth, 0, &of);
    if (gp_suggest_is_timed(s)) gp_record_object(&d, gp_suggest_steps.id, &gp_suggest_steps, &s->step, &of);
    else gp_doc_null(&d, "step");
    gp_doc_object(&d, "regime");
    gp_record_members(&d, &gp_suggest_regime, s, &of);
    gp_record_json(&d, &gp_suggest_kernels, s->kernels.at, s->kernels.n, a->top, &of);
    gp_record_json(&d, &gp_suggest_operators, s->ops.at, s->ops.n, a->top, &of);
    gp_doc_end(&d, '}');
    gp_doc_sids(&d, "notes", s->notes.at, s->notes.n);
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
    gp_arena_release(&mem);
}

void gp_suggest_expect_write(struct gp_buf *b, const struct gp_suggest *s)
{
    struct gp_doc d = {.b = b, .strings = &s->strings};
    gp_doc_begin(&d, '{');
    gp_doc_cstr(&d, "schema", "gpuprof/expect/1");
    gp_doc_list(&d, "rules");
    for (size_t i = 0; i < s->suggestions.n && s->suggestions.at[i].priority != GP_PRIORITY_NONE; i++) {
        gp_doc_next(&d);
        gp_json_put_string(b, s->suggestions.at[i].rule->name, strlen(s->suggestions.at[i].rule->name));
    }
    gp_doc_end(&d, ']');
    gp_doc_list(&d, "predictions");
    if (s->joint_high_ns > 0) {
        gp_doc_element(&d);
        gp_doc_cstr(&d, "metric", "step");
        gp_doc_i64(&d, "low_ns", -s->joint_high_ns);
        gp_doc_i64(&d, "high_ns", -s->joint_low_ns);
        gp_doc_end(&d, '}');
    }
    gp_doc_end(&d, ']');
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}

/* ---- formats ---- */

enum { TOP = 20, FACT_INDENT = 13, RULES_COLUMNS = 80 };

GP_PUT_ANSWER(put_text, struct gp_suggest_answer, gp_suggest_text_write(b, a))

static void put_markdown(void *answer, struct gp_buf *b)
{
    const struct gp_suggest_answer *a = answer;
    struct gp_report r = {0};
    gp_suggest_summary(&r, a->s, a->three_regimes);
    struct gp_report_table *t = gp_report_add(&r, "suggestions", "What to change");
    static const char *const columns[][2] = {{"priority", "Priority"},
                                             {"rule", "Rule"},
                                             {"saving", "Saving"},
                                             {"place", "Where"},
                                             {"action", "Do"}};
    for (size_t i = 0; i < GP_COUNT(columns); i++)
        gp_report_column(t, columns[i][0], columns[i][1], GP_CELL_TEXT, 0, NULL);
    GP_EACH_OF(const struct gp_suggestion, one, a->s->suggestions.at, gp_suggest_worth(a->s)) {
        struct gp_buf saving = {0}, place = {0};
        gp_suggest_put_saving(&saving, a->s, one);
        gp_suggest_put_where(&place, a->s, one);
        gp_report_put_text(&r, t, gp_priority_name(one->priority));
        gp_report_put_text(&r, t, one->rule->name);
        gp_report_put_text(&r, t, gp_buf_str(&saving));
        gp_report_put_text(&r, t, gp_buf_str(&place));
        gp_report_put_text(&r, t, gp_suggest_str(a->s, one->action));
        gp_buf_release(&saving);
        gp_buf_release(&place);
    }
    gp_report_markdown_write(b, &r);
    gp_report_release(&r);
}

static void put_html(void *answer, struct gp_buf *b)
{
    struct gp_buf json = {0};
    put_json(answer, &json);
    gp_suggest_html_write(b, answer, &json);
    gp_buf_release(&json);
}

GP_PUT_ANSWER(put_dot, struct gp_suggest_answer, gp_suggest_dot_write(b, a->s, 0))

const struct gp_answer_format gp_suggest_formats[] = {
    {"text", 0, 0, .put = put_text},   {"markdown", 0, 0, .put = put_markdown},
    {"json", TOP, 0, .put = put_json}, {"html", TOP, 0, .put = put_html},
    {"dot", 0, 0, .put = put_dot},     {0},
};

/* A line of a rule, wrapped behind its name. */
static void put_fact(struct gp_buf *b, const char *name, const char *text)
{
    gp_buf_printf(b, "  %-9s  ", name);
    gp_text_wrap(b, text, strlen(text), FACT_INDENT, RULES_COLUMNS);
    gp_buf_putc(b, '\n');
}

void gp_suggest_rules_write(struct gp_buf *b)
{
    for (size_t i = 0; gp_rules[i]; i++) {
        const struct gp_rule *r = gp_rules[i];
        gp_buf_printf(b, "%s%s (%s)\n", i ? "\n" : "", r->name, gp_suggest_type_name(r->type));
        put_fact(b, "looks for", r->summary);
        put_fact(b, "needs", r->needs);
        put_fact(b, "threshold", r->threshold);
        if (*r->guard) put_fact(b, "except", r->guard);
    }
}
