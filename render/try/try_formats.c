#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "render/page/page_doc.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"
#include "render/try/try_formats.h"
#include "render/try/try_priv.h"

/* ---- text ---- */

GP_PUT_TEXT(put_text, struct gp_try_answer, gp_try_report(&r, a->t))

/* ---- JSON ---- */

static void put_json(void *answer, struct gp_buf *b)
{
    const struct gp_try_answer *a = answer;
    const struct gp_try *t = a->t;
    struct gp_strings none = {0};
    struct gp_doc d = {.b = b, .strings = &none};
    struct gp_report r = {0};
    struct gp_row_of of = {.of = t, .mem = &r.mem};
    gp_try_report(&r, t);
    gp_doc_begin(&d, '{');
    gp_doc_head(&d, "gpuprof-try", GP_VERSION, NULL, 0);
    gp_doc_summary(&d, &r);
    gp_record_members(&d, &gp_try_answers, t, &of);
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
    gp_report_release(&r);
}

/* ---- the page ---- */

struct page {
    struct gp_svg w;
    const struct gp_try *t;
};

static bool has_measured(const void *page)
{
    const struct gp_try *t = ((const struct page *)page)->t;
    for (size_t i = 0; i < t->trials.n; i++)
        if (gp_trial_measured(&t->trials.at[i])) return true;
    return t->control.n && gp_trial_measured(&t->control.at[0]);
}

static void draw_savings(void *page)
{
    struct page *p = page;
    gp_page_put(
        &p->w, "p", NULL,
        "Each dot is what a step saves, and the line through it the 95% interval. Hatched: what the rule of "
        "trace-suggest predicted.");
    gp_try_draw_savings(&p->w, p->t);
}

static void draw_blocks(void *page)
{
    struct page *p = page;
    const gp_trials *const lists[] = {&p->t->trials, &p->t->together, &p->t->control};
    gp_page_put(&p->w, "p", NULL,
                "Each line joins two neighbouring blocks of steps: grey without the change, blue with it.");
    for (size_t k = 0; k < GP_COUNT(lists); k++)
        for (size_t i = 0; i < lists[k]->n; i++)
            if (gp_trial_measured(&lists[k]->at[i])) gp_try_draw_blocks(&p->w, &lists[k]->at[i]);
}

static const struct gp_page_section sections[] = {
    {"savings", "What a step saves", .draw = draw_savings, .there = has_measured},
    {"changes", "Changes", .tables = {"trials", "besides", "permanent", "left_out"}, .open = 4},
    {"pairs", "On and off in time", .draw = draw_blocks, .there = has_measured},
};

static void put_html(void *answer, struct gp_buf *b)
{
    const struct gp_try_answer *a = answer;
    struct gp_report r = {0};
    struct gp_buf json = {0};
    struct page p = {.t = a->t};
    gp_try_report(&r, a->t);
    put_json(answer, &json);
    struct gp_page_doc doc = {.tool = "gpuprof-try",
                              .parts = &gp_page_report,
                              .report = &r,
                              .input = a->command ? a->command : "a program",
                              GP_PAGE_SECTIONS(sections),
                              .page = &p,
                              .json = &json};
    if (a->t->device) gp_buf_puts(&doc.facts, a->t->device);
    gp_page_write(&p.w, b, &doc);
    gp_report_release(&r);
    gp_buf_release(&json);
}

const struct gp_answer_format gp_try_formats[] = {
    {"text", 0, 0, .put = put_text},
    {"json", 0, 0, .put = put_json},
    {"html", 0, 0, .put = put_html},
    {0},
};
