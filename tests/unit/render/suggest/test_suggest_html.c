// The page of trace-suggest from an answer made by hand: what stands where, what is drawn how long, and that
// nothing of a trace becomes markup.
#include <string.h>

#include "analyze/view/idle_cause.h"
#include "formats/base/buf.h"
#include "render/page/page_report.h"
#include "render/suggest/suggest_priv.h"
#include "tests/unit/unit.h"

#define HOSTILE "</script><script>alert(1)</script>\"'&--><img src=x onerror=alert(2)>"

static const struct gp_rule rule = {.name = "cuda_graph",
                                    .type = GP_SUGGEST_LAUNCH,
                                    .summary = "steps alike",
                                    .needs = "launches",
                                    .threshold = "a tenth",
                                    .guard = "already graphs"};

struct sample {
    struct gp_suggest s;
    struct gp_suggestion suggestions[2];
    struct gp_suggest_kernel kernels[3];
    struct gp_evidence evidence[3];
    gp_sid notes[1];
};

// Two steps of 1 ms: 300 us arithmetic, 100 us copies, 500 us without launches; 100 us are neither. One
// suggestion saves 200 to 400 us, with a ceiling of 500; another nothing.
static void make(struct sample *m)
{
    memset(m, 0, sizeof *m);
    struct gp_suggest *s = &m->s;
    gp_sid evil = gp_intern_cstr(&s->strings, HOSTILE);
    s->step = (struct gp_suggest_step){.found = true,
                                       .steps = 2,
                                       .rank = -1,
                                       .step_ns = 1000000,
                                       .unprofiled_low_ns = 1000000,
                                       .unprofiled_high_ns = 1000000,
                                       .unprofiled_ns = 1000000,
                                       .busy_ns = 400000,
                                       .idle_ns = {[GP_IDLE_HOST] = 500000},
                                       .kernels = 7,
                                       .launches = 6,
                                       .trusted = true};
    s->regime = GP_REGIME_OVERHEAD;
    s->regime_parts = (struct gp_regime_step){
        .whole_ns = 1800000, .idle_ns = 1000000, .compute_ns = 600000, .transfer_ns = 200000};
    m->evidence[0] = (struct gp_evidence){.name = "host_late", .unit = GP_EVIDENCE_PCT, .pct = 55.5};
    m->evidence[1] = (struct gp_evidence){.name = "copied", .unit = GP_EVIDENCE_BYTES, .value = 67100000};
    m->evidence[2] = (struct gp_evidence){.name = "longest_in", .unit = GP_EVIDENCE_TEXT, .text = evil};
    m->suggestions[0] = (struct gp_suggestion){.rule = &rule,
                                               .priority = GP_PRIORITY_CRITICAL,
                                               .operation = evil,
                                               .description = evil,
                                               .action = evil,
                                               .formula = evil,
                                               .assumes = evil,
                                               .check = evil,
                                               .evidence = {.at = m->evidence, .n = 3, .cap = 3},
                                               .current_ns = 500000,
                                               .resource_low_ns = 210000,
                                               .resource_high_ns = 420000,
                                               .saving_ns = 300000,
                                               .saving_low_ns = 200000,
                                               .saving_high_ns = 400000,
                                               .ceiling_ns = 500000,
                                               .speedup_low = 1.25,
                                               .speedup_high = 1.67};
    m->suggestions[1] =
        (struct gp_suggestion){.rule = &rule,
                               .priority = GP_PRIORITY_NONE,
                               .description = gp_intern_cstr(&s->strings, "waits for nothing"),
                               .action = evil,
                               .current_ns = 123000,
                               .speedup_low = 1,
                               .speedup_high = 1};
    s->suggestions.at = m->suggestions;
    s->suggestions.n = 2;
    m->kernels[0] = (struct gp_suggest_kernel){
        .name = evil, .kind = GP_FRAME_GEMM, .regime = GP_REGIME_COMPUTE, .count = 4, .total_ns = 600000};
    m->kernels[1] = (struct gp_suggest_kernel){.name = gp_intern_cstr(&s->strings, "Memcpy HtoD"),
                                               .kind = GP_FRAME_MEMCPY,
                                               .regime = GP_REGIME_TRANSFER,
                                               .count = 2,
                                               .total_ns = 200000};
    m->kernels[2] = (struct gp_suggest_kernel){.name = gp_intern_cstr(&s->strings, "third"),
                                               .kind = GP_FRAME_COMPUTE,
                                               .regime = GP_REGIME_UNKNOWN,
                                               .count = 1,
                                               .total_ns = 1000};
    s->kernels.at = m->kernels;
    s->kernels.n = 3;
    m->notes[0] = evil;
    s->notes.at = m->notes;
    s->notes.n = 1;
    s->joint_ns = 300000;
    s->joint_low_ns = 200000;
    s->joint_high_ns = 400000;
}

static void drop(struct sample *m) { gp_strings_release(&m->s.strings); }

static const char *page_of(struct sample *m, struct gp_buf *b, struct gp_suggest_answer a, const char *json)
{
    struct gp_buf text = {0};
    b->n = 0;
    a.s = &m->s;
    if (json) gp_buf_puts(&text, json);
    gp_suggest_html_write(b, &a, &text);
    gp_buf_release(&text);
    return gp_buf_str(b);
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

TEST(names_and_words_are_never_markup)
{
    struct sample m;
    struct gp_buf b = {0};
    static const char json[] = "{\"name\":\""
                               "</script><script>alert(1)</script>"
                               "\"}";
    make(&m);
    const char *page =
        page_of(&m, &b, (struct gp_suggest_answer){.input = HOSTILE, .options = HOSTILE}, json);
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "-->"));
    // where, what is there, what to do, how it was worked out, if, check, evidence; the action of the other;
    // the note
    assert_true(count(page, "&lt;/script&gt;&lt;script&gt;alert(1)") >= 9);
    assert_int_equal(count(page, "<script"), count(page, "</script>"));
    gp_buf_release(&b);
    drop(&m);
}

TEST(the_worth_doing_are_cards_and_the_others_are_not)
{
    struct sample m;
    struct gp_buf b = {0};
    make(&m);
    const char *page = page_of(&m, &b, (struct gp_suggest_answer){0}, NULL);
    assert_int_equal(count(page, "<li class=\"card critical\">"), 1);
    assert_int_equal(count(page, "<li class=\"card"), 1);
    assert_non_null(strstr(page, "<b>30.0%</b>"));
    assert_non_null(strstr(page, "CUDA graph"));
    assert_non_null(strstr(page, "saves about 300 \xC2\xB5s of 1.00 ms per step (200 to 400 \xC2\xB5s)"));
    assert_non_null(strstr(page, "<dt>host late</dt><dd>55.5%</dd>"));
    assert_non_null(strstr(page, "<details class=\"rule\"><summary>The rule cuda_graph</summary>"));
    assert_non_null(strstr(page, "<dt>copied</dt><dd>67.1 MB</dd>"));
    assert_non_null(strstr(page, "210 \xC2\xB5s to 420 \xC2\xB5s of the 500 \xC2\xB5s that it takes now"));
    const char *rest = strstr(page, "Found, but not expected to shorten the step");
    assert_non_null(rest);
    assert_true(strstr(page, "waits for nothing") > rest);
    assert_non_null(strstr(rest, "<b>123 \xC2\xB5s</b>"));
    assert_true(strstr(page, "class=\"quality\"") < strstr(page, "class=\"verdict\""));
    gp_buf_release(&b);
    drop(&m);
}

TEST(what_is_not_trusted_is_only_seen)
{
    struct sample m;
    struct gp_buf b = {0};
    make(&m);
    m.s.step.trusted = false;
    m.s.step.replay_error_pct = -7.25;
    m.suggestions[0].priority = GP_PRIORITY_NONE;
    const char *page = page_of(&m, &b, (struct gp_suggest_answer){0}, NULL);
    assert_null(strstr(page, "<li class=\"card"));
    assert_null(strstr(page, "Found, but not expected to shorten the step"));
    assert_null(strstr(page, "Can be saved"));
    assert_non_null(strstr(page, "but the saving is unknown"));
    assert_non_null(strstr(page, "7.25%"));
    gp_buf_release(&b);
    drop(&m);
}

TEST(bars_are_as_long_as_the_times)
{
    struct sample m;
    struct gp_buf b = {0};
    make(&m);
    struct gp_svg w = {.out = &b, .html = true};
    gp_suggest_chart_saving(&w, &m.s, 200000, 400000, 500000);
    const char *svg = gp_buf_str(&b);
    assert_non_null(strstr(svg, "class=\"k-sure\" x=\"0.00%\" y=\"4\" width=\"20.00%\""));
    assert_non_null(strstr(svg, "class=\"k-perhaps\" x=\"20.00%\" y=\"4\" width=\"20.00%\""));
    assert_non_null(strstr(svg, "class=\"ceiling\" x1=\"50.00%\" x2=\"50.00%\""));
    b.n = 0;
    gp_suggest_chart_saving(&w, &m.s, 0, 4000000, 0); // more than there is ends with the step
    svg = gp_buf_str(&b);
    assert_non_null(strstr(svg, "class=\"k-perhaps\" x=\"0.00%\" y=\"4\" width=\"100.00%\""));
    assert_null(strstr(svg, "k-sure"));
    assert_null(strstr(svg, "ceiling"));
    b.n = 0;
    gp_suggest_chart_step(&w, &m.s); // 300, 100, 500 and the 100 us that are left of 1 ms
    svg = gp_buf_str(&b);
    assert_non_null(strstr(svg, "class=\"k-gemm\" x=\"0.00%\" y=\"0\" width=\"30.00%\""));
    assert_non_null(strstr(svg, "class=\"k-memcpy\" x=\"30.00%\" y=\"0\" width=\"10.00%\""));
    assert_non_null(strstr(svg, "class=\"k-host\" x=\"40.00%\" y=\"0\" width=\"50.00%\""));
    assert_non_null(strstr(svg, "class=\"k-idle\" x=\"90.00%\" y=\"0\" width=\"10.00%\""));
    assert_int_equal(count(svg, "<rect class=\"k-"), 4 + 4); // and in the list
    gp_buf_release(&b);
    drop(&m);
}

TEST(times_beyond_all_bounds_fit)
{
    struct sample m;
    struct gp_buf b = {0};
    make(&m);
    m.s.regime_parts.compute_ns = INT64_MAX;
    m.s.step.idle_ns[GP_IDLE_HOST] = INT64_MAX;
    m.s.step.idle_ns[GP_IDLE_SYNC] = INT64_MAX;
    struct gp_svg w = {.out = &b, .html = true};
    // the step's share of the greatest is 2^62 - 1 of 2^63 - 1, just below half; what follows ends with the
    // greatest
    gp_suggest_chart_step(&w, &m.s);
    const char *svg = gp_buf_str(&b);
    assert_non_null(strstr(svg, "class=\"k-gemm\" x=\"0.00%\" y=\"0\" width=\"49.99%\""));
    assert_null(strstr(svg, "k-sync"));
    assert_null(strstr(svg, "-0"));
    b.n = 0;
    gp_suggest_chart_saving(&w, &m.s, INT64_MIN, INT64_MAX, INT64_MAX);
    assert_non_null(strstr(gp_buf_str(&b), "class=\"k-perhaps\" x=\"0.00%\" y=\"4\" width=\"100.00%\""));
    gp_buf_release(&b);
    drop(&m);
}

TEST(kernels_that_are_left_out_are_told_of)
{
    struct sample m;
    struct gp_buf b = {0};
    make(&m);
    static struct gp_suggest_kernel many[GP_TABLE_HTML_ROWS + 1];
    for (size_t i = 0; i < GP_TABLE_HTML_ROWS; i++) many[i] = m.kernels[i ? 1 : 0];
    many[GP_TABLE_HTML_ROWS] = m.kernels[2];
    m.s.kernels.at = many;
    m.s.kernels.n = GP_COUNT(many);
    const char *page = page_of(&m, &b, (struct gp_suggest_answer){0}, NULL);
    assert_non_null(strstr(page, "and 1 more, 1.00 \xC2\xB5s"));
    assert_null(strstr(page, ">third<"));
    assert_non_null(strstr(page, ">copies<"));
    m.s.kernels.at = m.kernels;
    m.s.kernels.n = 3;
    page = page_of(&m, &b, (struct gp_suggest_answer){.three_regimes = true}, NULL);
    assert_non_null(strstr(page, ">third<"));
    assert_null(strstr(page, ">copies<"));
    assert_null(strstr(page, ">unknown<"));
    assert_int_equal(count(page, "<span>memory bandwidth</span>"), 1);
    assert_int_equal(count(page, "<span>overhead</span>"), 1);
    gp_buf_release(&b);
    drop(&m);
}

TEST(nothing_is_a_page_too)
{
    struct gp_suggest s = {.step = {.rank = -1}};
    struct gp_buf b = {0};
    gp_suggest_html_write(&b, &(struct gp_suggest_answer){.s = &s}, &(struct gp_buf){0});
    assert_non_null(strstr(gp_buf_str(&b), "standard input"));
    assert_non_null(strstr(gp_buf_str(&b), "</html>"));
    assert_null(strstr(gp_buf_str(&b), "<nav"));
    gp_buf_release(&b);
}
