#include "render/suggest/suggest_priv.h"

#include <math.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/page/page_doc.h"
#include "render/page/page_report.h"
#include "render/report/record.h"

static const char NOTE[] = "A saving is wall time of a step, from a replay of the recorded steps with the "
                           "change. It is an interval, because a trace does not show everything.";

struct page {
    struct gp_svg w;
    struct gp_buf text; /* scratch */
    const struct gp_suggest *s;
    const struct gp_suggest_answer *a;
    size_t worth; /* suggestions that would save something */
    struct gp_report r;
    const struct gp_report_table *kernels, *chains, *work; /* NULL: there are none */
    struct gp_page_doc doc;
};

static void put_sid(struct page *p, const char *element, const char *class, gp_sid sid)
{
    gp_page_element(&p->w, element, class, gp_suggest_str(p->s, sid), gp_string_len(&p->s->strings, sid));
}

/* ---- the top of the page ---- */

static void put_facts(struct page *p)
{
    const struct gp_suggest_step *t = &p->s->step;
    struct gp_buf *b = &p->doc.facts;
    if (p->s->untimed) {
        gp_scale_put_count(b, p->s->input.gpu_events);
        gp_buf_puts(b, " GPU events, measured kernel by kernel");
        return;
    }
    if (t->found) gp_buf_printf(b, "%u step%s", (unsigned)t->steps, t->steps == 1 ? "" : "s");
    else gp_buf_puts(b, "the whole trace: it has no steps");
    if (t->warm_up) gp_buf_printf(b, ", %u warm-up left out", (unsigned)t->warm_up);
    if (t->rank >= 0) gp_buf_printf(b, " \xC2\xB7 rank %d", (int)t->rank);
    gp_buf_printf(b, " \xC2\xB7 %s GPU events and %s launches %s", GP_COUNTED(t->kernels),
                  GP_COUNTED(t->launches), t->found ? "per step" : "in all");
}

static struct gp_page_figure *figure(struct page *p, const char *name, const char *words)
{
    struct gp_page_figure *f = gp_page_figure(&p->doc, name);
    gp_buf_puts(&f->words, words);
    return f;
}

static void put_figures(struct page *p)
{
    const struct gp_suggest *s = p->s;
    const struct gp_suggest_step *t = &s->step;
    struct gp_page_figure *f =
        figure(p, t->found ? "Step" : "Trace", t->found ? "mean wall time" : "wall time");
    gp_scale_put(&f->value, GP_UNIT_NS, t->step_ns);
    /* as long as all steps last on average, of which not all are whole */
    gp_page_figure_share(figure(p, "GPU busy", "of the time, with kernels and copies"), t->busy_ns,
                         s->regime_parts.whole_ns / (t->steps ? (int64_t)t->steps : 1));
    if (t->trusted && p->worth) {
        f = figure(p, "Possible saving", "expected of all suggestions together");
        gp_page_figure_share(f, s->joint_ns, t->unprofiled_ns);
    }
    if (t->queue_p50_ns > 0) {
        f = figure(p, "From call to kernel", "median; short if the GPU waits for the host");
        gp_scale_put(&f->value, GP_UNIT_NS, t->queue_p50_ns);
    }
    f = figure(p, "Replay error",
               t->trusted                      ? "within the 2% limit for claiming savings"
               : fabs(t->replay_error_pct) > 2 ? "more than 2%, so no saving is claimed"
                                               : "but no saving is claimed, as the warning says");
    gp_buf_printf(&f->value, "%.2f%%", fabs(t->replay_error_pct));
}

/* ---- suggestions ---- */

/* "cuda_graph" as people write it: "CUDA graph". */
static void put_words(struct gp_buf *b, const char *name)
{
    static const char *const capitals[] = {"cuda", "gemm", "gpu"};
    while (*name) {
        size_t n = strcspn(name, "_");
        bool capital = false;
        for (size_t i = 0; i < GP_COUNT(capitals); i++)
            capital |= n == strlen(capitals[i]) && !memcmp(name, capitals[i], n);
        for (size_t i = 0; i < n; i++) gp_buf_putc(b, capital ? (char)(name[i] - 'a' + 'A') : name[i]);
        name += n;
        if (*name == '_') gp_buf_putc(b, ' ');
        name += *name == '_';
    }
}

/* "best_bandwidth_per_us" */
static bool is_rate(const char *name) { return gp_ends(name, strlen(name), "_per_us"); }

static void put_evidence_value(struct page *p, const struct gp_evidence *e)
{
    if (e->unit == GP_EVIDENCE_BYTES && is_rate(e->name)) {
        gp_buf_printf(&p->text, "%.3g GB/s", (double)e->value / 1000);
        gp_page_take(&p->w, &p->text, "dd", NULL);
        return;
    }
    switch (e->unit) {
    case GP_EVIDENCE_NS:
    case GP_EVIDENCE_BYTES:
    case GP_EVIDENCE_COUNT:
        if (e->value < 0) gp_buf_putc(&p->text, '-');
        gp_scale_put(&p->text,
                     e->unit == GP_EVIDENCE_NS      ? GP_UNIT_NS
                     : e->unit == GP_EVIDENCE_BYTES ? GP_UNIT_BYTES
                                                    : GP_UNIT_COUNT,
                     e->value < 0 ? -e->value : e->value);
        break;
    case GP_EVIDENCE_PCT: gp_buf_printf(&p->text, "%.1f%%", e->pct); break;
    case GP_EVIDENCE_TEXT: put_sid(p, "dd", NULL, e->text); return;
    }
    gp_page_take(&p->w, &p->text, "dd", NULL);
}

/* Does another piece of evidence have the same name but a different unit? */
static bool is_twice(const struct gp_suggestion *one, size_t i)
{
    for (size_t k = 0; k < one->evidence.n; k++)
        if (k != i && !strcmp(one->evidence.at[k].name, one->evidence.at[i].name)) return true;
    return false;
}

static void put_evidence(struct page *p, const struct gp_suggestion *one)
{
    if (!one->evidence.n) return;
    gp_page_open(&p->w, "dl", "evidence");
    gp_svg_attr(&p->w, "aria-label", "Evidence");
    for (size_t i = 0; i < one->evidence.n; i++) {
        gp_page_open(&p->w, "div", NULL);
        if (one->evidence.at[i].unit == GP_EVIDENCE_NS && is_twice(one, i)) gp_buf_puts(&p->text, "time of ");
        put_words(&p->text, one->evidence.at[i].name);
        if (is_rate(one->evidence.at[i].name)) p->text.n -= strlen(" per us");
        gp_page_take(&p->w, &p->text, "dt", NULL);
        put_evidence_value(p, &one->evidence.at[i]);
        gp_svg_close(&p->w);
    }
    gp_page_close(&p->w);
}

static void put_reason(struct page *p, const char *name, const char *text, size_t n)
{
    if (!n) return;
    gp_page_put(&p->w, "dt", NULL, name);
    gp_page_element(&p->w, "dd", NULL, text, n);
    gp_svg_newline(&p->w);
}

static void put_reason_sid(struct page *p, const char *name, gp_sid sid)
{
    if (sid) put_reason(p, name, gp_suggest_str(p->s, sid), gp_string_len(&p->s->strings, sid));
}

static void put_reasons(struct page *p, const struct gp_suggestion *one)
{
    gp_page_open(&p->w, "dl", "why");
    put_reason_sid(p, "How the saving was calculated", one->formula);
    put_reason_sid(p, "Assumptions", one->assumes);
    gp_suggest_put_check(&p->text, p->s, one);
    if (p->text.n) put_reason(p, "How to check", p->text.data, p->text.n);
    p->text.n = 0;
    put_reason_sid(p, "For a narrower interval", one->to_know);
    if (one->resource_high_ns > 0) {
        if (one->resource_low_ns > 0) gp_scale_put(&p->text, GP_UNIT_NS, one->resource_low_ns);
        gp_buf_printf(&p->text, "%s%s of the %s that it takes now",
                      one->resource_low_ns > 0 ? " to " : "at most ", GP_NS(one->resource_high_ns),
                      GP_NS(one->current_ns));
        put_reason(p, "Saved by the change itself", p->text.data, p->text.n);
        p->text.n = 0;
    }
    gp_page_close(&p->w);
}

static void put_card_head(struct page *p, const struct gp_suggestion *one)
{
    const char *priority = gp_priority_name(one->priority);
    gp_page_open(&p->w, "header", NULL);
    gp_page_put(&p->w, "span", "priority", priority);
    gp_page_text(&p->w, " ");
    put_words(&p->text, one->rule->name);
    gp_page_take(&p->w, &p->text, "h3", NULL);
    gp_page_text(&p->w, " ");
    gp_suggest_put_saving(&p->text, p->s, one);
    gp_page_take(&p->w, &p->text, "span", "saves");
    gp_page_close(&p->w);
}

static void put_card(struct page *p, size_t i)
{
    const struct gp_suggestion *one = &p->s->suggestions.at[i];
    char class[40] = "card ";
    strncat(class, gp_priority_name(one->priority), sizeof class - 6);
    gp_page_open(&p->w, "li", class);
    put_card_head(p, one);
    gp_suggest_chart_saving(&p->w, p->s, one->saving_low_ns, one->saving_high_ns, one->ceiling_ns);
    gp_page_open(&p->w, "div", "what");
    put_sid(p, "p", NULL, one->description);
    struct gp_buf where = {0};
    gp_suggest_put_where(&where, p->s, one);
    if (where.n) {
        gp_page_open(&p->w, "p", "where");
        gp_page_text(&p->w, "Where: ");
        gp_page_put(&p->w, "code", NULL, gp_buf_str(&where));
        gp_svg_close(&p->w);
    }
    gp_buf_release(&where);
    gp_page_open(&p->w, "p", "do");
    gp_page_put(&p->w, "strong", NULL, "Do: ");
    gp_svg_text(&p->w, gp_suggest_str(p->s, one->action), gp_string_len(&p->s->strings, one->action));
    gp_svg_close(&p->w);
    put_evidence(p, one);
    gp_page_close(&p->w);
    put_reasons(p, one);
    gp_page_open(&p->w, "details", "rule");
    gp_buf_printf(&p->text, "The rule %s", one->rule->name);
    gp_page_take(&p->w, &p->text, "summary", NULL);
    gp_page_open(&p->w, "dl", NULL);
    put_reason(p, "Looks for", one->rule->summary, strlen(one->rule->summary));
    put_reason(p, "Needs", one->rule->needs, strlen(one->rule->needs));
    put_reason(p, "Threshold", one->rule->threshold, strlen(one->rule->threshold));
    put_reason(p, "Exceptions", one->rule->guard, strlen(one->rule->guard));
    gp_svg_close(&p->w);
    gp_page_close(&p->w);
    gp_page_close(&p->w);
}

static void put_suggestions(void *page)
{
    struct page *p = page;
    gp_page_put(&p->w, "p", "note",
                "Each bar is the step, as recorded or as long as it may be without the recorder; its filled "
                "part is what the change saves in a replay of the recorded steps.");
    if (p->worth >= 2) {
        gp_page_open(&p->w, "div", "together");
        gp_page_put(&p->w, "h3", NULL, p->worth == 2 ? "Both together" : "All together");
        gp_suggest_chart_saving(&p->w, p->s, p->s->joint_low_ns, p->s->joint_high_ns, 0);
        gp_page_close(&p->w);
    }
    gp_page_open(&p->w, "ol", "cards");
    for (size_t i = 0; i < p->worth; i++) put_card(p, i);
    gp_page_close(&p->w);
}

/* ---- changes that would not shorten the step ---- */

static void put_other(struct page *p, const struct gp_suggestion *one)
{
    gp_page_open(&p->w, "li", NULL);
    gp_page_open(&p->w, "div", "cost");
    if (one->current_ns > 0) gp_scale_put(&p->text, GP_UNIT_NS, one->current_ns);
    else gp_buf_puts(&p->text, "-");
    gp_page_take(&p->w, &p->text, "b", NULL);
    gp_page_put(&p->w, "span", NULL, p->s->step.found ? "per step" : "in all");
    gp_svg_close(&p->w);
    gp_page_open(&p->w, "div", NULL);
    gp_page_open(&p->w, "p", NULL);
    put_words(&p->text, one->rule->name);
    gp_buf_puts(&p->text, ": ");
    gp_page_take(&p->w, &p->text, "strong", NULL);
    gp_svg_text(&p->w, gp_suggest_str(p->s, one->description),
                gp_string_len(&p->s->strings, one->description));
    gp_svg_close(&p->w);
    gp_buf_puts(&p->text, "Possible change: ");
    gp_buf_puts(&p->text, gp_suggest_str(p->s, one->action));
    gp_page_take(&p->w, &p->text, "p", "at");
    if (one->formula) {
        gp_buf_puts(&p->text, "Calculated from: ");
        gp_buf_puts(&p->text, gp_suggest_str(p->s, one->formula));
        gp_page_take(&p->w, &p->text, "p", "at");
    }
    if (one->saving_high_ns > 0) {
        gp_suggest_put_saving(&p->text, p->s, one);
        gp_page_take(&p->w, &p->text, "p", "at");
    }
    gp_svg_close(&p->w);
    gp_page_close(&p->w);
}

static void put_rest(void *page)
{
    struct page *p = page;
    gp_page_put(&p->w, "p", "note",
                p->s->step.trusted
                    ? "This takes time, but a replay without it makes the step hardly any shorter."
                    : "A replay of the unchanged steps misses the recorded time, so no saving is claimed.");
    gp_page_open(&p->w, "div", "findings");
    gp_page_open(&p->w, "ol", NULL);
    for (size_t i = p->worth; i < p->s->suggestions.n; i++) put_other(p, &p->s->suggestions.at[i]);
    gp_svg_close(&p->w);
    gp_page_close(&p->w);
}

/* ---- kernels ---- */

static void collect_kernels(struct page *p)
{
    const struct gp_suggest *s = p->s;
    const struct gp_suggest_shown shown = {s, p->a->three_regimes};
    int64_t all_ns = 0;
    for (size_t i = 0; i < s->kernels.n; i++) all_ns = gp_add_saturated(all_ns, s->kernels.at[i].total_ns);
    const struct gp_row_of of = gp_suggest_rows_of(&shown, all_ns);
    p->kernels =
        gp_record_table(&p->r, &gp_suggest_kernels, s->kernels.at, s->kernels.n, GP_TABLE_HTML_ROWS, &of);
}

static void put_kernels(void *page)
{
    struct page *p = page;
    if (p->s->empty_ns > 0) {
        gp_buf_printf(&p->text,
                      "An empty kernel takes about %s here; kernels barely longer are bound by overhead.",
                      GP_NS(p->s->empty_ns));
        gp_page_take(&p->w, &p->text, "p", "note");
    }
    gp_suggest_put_ceilings(&p->text, p->s);
    if (p->text.n) gp_page_take(&p->w, &p->text, "p", "note");
}

GP_PAGE_DRAW(put_chains, gp_suggest_chains_write(&p->w, p->s, p->chains))
GP_PAGE_DRAW(put_roofline, gp_roofline_section(&p->w, &p->s->roofline, &p->s->strings, p->work))

/* ---- all of it ---- */

GP_PAGE_DRAW(put_step, gp_suggest_chart_step(&p->w, p->s))

GP_PAGE_HAS(has_step, p->s->step.steps > 0)
GP_PAGE_HAS(has_suggestions, p->worth > 0)
GP_PAGE_HAS(has_rest, p->worth < p->s->suggestions.n)
GP_PAGE_HAS(has_chains, p->chains != NULL)
GP_PAGE_HAS(has_kernels, p->kernels != NULL)

void gp_suggest_html_write(struct gp_buf *out, const struct gp_suggest_answer *a, const struct gp_buf *json)
{
    const struct gp_suggest *s = a->s;
    bool found = s->step.found, trusted = s->step.trusted;
    const struct gp_page_section sections[] = {
        {"step", found ? "Where the time of a step goes" : "Where the time of the trace goes",
         found ? "The step" : "The trace", put_step, .there = has_step},
        {"suggestions", "What to do, most valuable first", "What to do", put_suggestions,
         .there = has_suggestions},
        {"rest", trusted ? "Found, but not expected to shorten the step" : "Found, but the saving is unknown",
         trusted ? "What would not help" : "What was found", put_rest, .there = has_rest},
        {"fusion", "Chains of kernels that a single kernel could replace", "Chains of kernels", put_chains,
         .there = has_chains},
        {"roofline", "How close kernels come to the device's limits", "Roofline", put_roofline,
         .there = has_kernels},
        {"regimes", "What limits the kernels", .draw = put_kernels, .tables = {"kernels"}},
    };
    struct page p = {.s = s,
                     .a = a,
                     .worth = gp_suggest_worth(s),
                     .doc = {.tool = "trace-suggest",
                             .parts = &gp_page_suggest,
                             .report = &p.r,
                             .input = a->input,
                             GP_PAGE_SECTIONS(sections),
                             .page = &p,
                             .options = a->options,
                             .note = NOTE,
                             .json = json,
                             .swatch = gp_table_kind_swatch}};
    gp_suggest_summary(&p.r, s, a->three_regimes);
    collect_kernels(&p);
    p.chains = gp_suggest_chains_table(&p.r, s);
    p.work = gp_roofline_summary(&p.r, &s->roofline, &s->strings);
    put_facts(&p);
    if (s->step.steps) put_figures(&p);
    gp_page_write(&p.w, out, &p.doc);
    gp_buf_release(&p.text);
    gp_report_release(&p.r);
}
