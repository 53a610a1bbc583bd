#include "render/suggest/suggest_formats.h"

#include <string.h>
#include "formats/base/buf.h"
#include "render/draw/text.h"
#include "render/suggest/suggest_dot.h"
#include "render/suggest/suggest_html.h"
#include "render/suggest/suggest_json.h"
#include "render/suggest/suggest_text.h"

enum { TOP = 20, FACT_INDENT = 13, RULES_COLUMNS = 80 };

static void put_json(void *answer, struct gp_buf *b)
{
    const struct gp_suggest_answer *a = answer;
    gp_suggest_json_write(b, a->s,
                          &(struct gp_suggest_json_opts){
                              .version = GP_VERSION, .top = a->top, .three_regimes = a->three_regimes});
}

static void put_text(void *answer, struct gp_buf *b)
{
    const struct gp_suggest_answer *a = answer;
    gp_suggest_text_write(
        b, a->s,
        &(struct gp_suggest_text_opts){
            .color = a->color, .width = a->width, .verbose = a->verbose, .three_regimes = a->three_regimes});
}

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_suggest_answer *a = answer;
    struct gp_buf json = {0};
    put_json(answer, &json);
    gp_suggest_html_write(b, a->s,
                          &(struct gp_suggest_html_opts){.input = a->input,
                                                         .options = a->options,
                                                         .three_regimes = a->three_regimes,
                                                         .json = json.data,
                                                         .json_n = json.n});
    gp_buf_release(&json);
}

static void put_dot(void *answer, struct gp_buf *b)
{
    const struct gp_suggest_answer *a = answer;
    gp_suggest_dot_write(b, a->s, NULL);
}

const struct gp_answer_format gp_suggest_formats[] = {
    {"text", 0, 0, .put = put_text},
    {"json", TOP, 0, .put = put_json},
    {"html", TOP, 0, .put = put_html},
    {"dot", 0, 0, .put = put_dot},
    {0},
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
