// The page of trace-hta from an answer made by hand: what stands where, that nothing of a trace becomes
// markup, and that every element is closed.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/buf.h"
#include "render/page/page_html.h"
#include "render/hta/hta_priv.h"
#include "render/page/page_report.h"
#include "tests/unit/unit.h"

#define HOSTILE "</script><script>alert(1)</script>\"'&--><img src=x onerror=alert(2)>"

struct sample {
    struct gp_hta h;
    struct gp_report r;
    struct gp_hta_device device;
    struct gp_kernel_stat kernels[2];
};

static void add_row(struct sample *s, struct gp_report_table *t, int i)
{
    gp_report_put_name(&s->r, t, HOSTILE, strlen(HOSTILE), i ? "short" : NULL, i ? 5 : 0);
    gp_report_put_none(t);
    gp_report_put(t, 1234567);
    if (i == 2) gp_report_put_none(t);
    else gp_report_put_real(t, 12.345);
}

// One device: 100 us, of which 60 compute, 10 exposed communication, 30 idle.
static void make(struct sample *s)
{
    memset(s, 0, sizeof *s);
    gp_sid evil = gp_intern(&s->h.strings, HOSTILE, strlen(HOSTILE));
    s->device = (struct gp_hta_device){
        .rank = 0,
        .name = evil,
        .b = {.span_ns = 100000,
              .busy_ns = 70000,
              .idle_ns = 30000,
              .compute_ns = 60000,
              .communication_ns = 10000,
              .exposed_communication_ns = 10000,
              .gpu_events = 3,
              .gpu_ns = 70000},
        .idle_cause_ns = {[GP_IDLE_HOST] = 20000, [GP_IDLE_SYNC] = 10000},
    };
    s->h.devices.at = &s->device;
    s->h.devices.n = 1;
    s->kernels[0] =
        (struct gp_kernel_stat){.name = evil, .kind = GP_FRAME_GEMM, .dur = {.n = 2, .sum = 60000}};
    s->kernels[1] = (struct gp_kernel_stat){.name = gp_intern_cstr(&s->h.strings, "ncclDevKernel_AllReduce"),
                                            .kind = GP_FRAME_COMMUNICATION,
                                            .dur = {.n = 1, .sum = 10000}};
    s->h.kernels.at = s->kernels;
    s->h.kernels.n = 2;
    s->r.title = "trace-hta: " HOSTILE;
    gp_report_note(&s->r, GP_TONE_WARN, "3 events skipped in %s", HOSTILE);
    gp_report_verdict(&s->r, GP_TONE_PLAIN, "Idle 30%% of the time: %s", HOSTILE);
    struct gp_report_table *t = gp_report_add(&s->r, "kernels", "Kernels");
    gp_report_column(t, "name", "Kernel", GP_CELL_NAME, 0, "full name");
    gp_report_column(t, "rank", "Rank", GP_CELL_ID, 0, "who");
    gp_report_column(t, "total_ns", "Total", GP_CELL_NS, 0, NULL);
    gp_report_column(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, NULL);
    for (int i = 0; i < 3; i++) add_row(s, t, i);
}

static void drop(struct sample *s)
{
    gp_strings_release(&s->h.strings);
    gp_report_release(&s->r);
}

static const char *page_of(struct sample *s, struct gp_buf *b, const char *json)
{
    struct gp_hta_answer a = {.h = &s->h, .options = "--top 3"};
    struct gp_buf text = {0};
    if (json) gp_buf_puts(&text, json);
    gp_hta_html_write(b, &a, &s->r, &text);
    gp_buf_release(&text);
    return gp_buf_str(b);
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) n++;
    return n;
}

// Fails with the name of the first element that is closed in the wrong place, or not at all.
static void check_nesting(const char *s)
{
    char stack[32][16] = {{0}};
    int depth = 0;
    while ((s = strchr(s, '<'))) {
        bool closing = s[1] == '/';
        const char *at = s + 1 + closing;
        char name[16] = {0};
        for (size_t n = 0; n < sizeof name - 1 && isalnum((unsigned char)*at); n++) name[n] = *at++;
        s = strchr(s, '>');
        assert_non_null(s);
        if (!name[0] || !strcmp(name, "meta")) continue;
        if (closing) {
            assert_true(depth > 0);
            assert_string_equal(stack[--depth], name);
            continue;
        }
        assert_true(depth < 32);
        strcpy(stack[depth++], name);
        if (strcmp(name, "script") != 0 && strcmp(name, "style") != 0) continue;
        char end[20];
        snprintf(end, sizeof end, "</%s>", name);
        s = strstr(s, end); // what is inside is not markup
        assert_non_null(s);
        depth--;
        s++;
    }
    assert_int_equal(depth, 0);
}

TEST(every_element_is_closed_whatever_the_names)
{
    struct sample s;
    struct gp_buf b = {0};
    make(&s);
    check_nesting(page_of(&s, &b, "{}"));
    gp_buf_release(&b);
    drop(&s);
}

TEST(nothing_from_a_trace_becomes_markup)
{
    struct sample s;
    struct gp_buf b = {0};
    make(&s);
    const char *page = page_of(&s, &b,
                               "{\"name\":\""
                               "</script><script>alert(1)</script><!--"
                               "\"}");
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "<!--"));
    assert_int_equal(count(page, "<script"), 3); // the data, the shell and the program
    assert_int_equal(count(page, "</script>"), 3);
    assert_non_null(
        strstr(page, "{\"name\":\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--\"}"));
    gp_buf_release(&b);
    drop(&s);
}

TEST(quality_comes_before_the_verdict_and_the_verdict_before_all_numbers)
{
    struct sample s;
    struct gp_buf b = {0};
    make(&s);
    const char *page = page_of(&s, &b, NULL);
    const char *quality = strstr(page, "3 events skipped"), *verdict = strstr(page, "Idle 30% of the time");
    const char *figures = strstr(page, "class=\"kpis\""), *table = strstr(page, "<table");
    assert_true(quality && verdict && figures && table);
    assert_true(quality < verdict && verdict < figures && figures < table);
    gp_buf_release(&b);
    drop(&s);
}

TEST(figures_have_their_unit_and_what_they_are_a_share_of)
{
    struct sample s;
    struct gp_buf b = {0};
    make(&s);
    const char *page = page_of(&s, &b, NULL);
    const char *busy = strstr(page, "<dt>GPU busy</dt>"),
               *exposed = strstr(page, "<dt>Exposed communication</dt>");
    assert_true(busy && exposed);
    assert_non_null(strstr(busy, "<b>70.0%</b>"));
    assert_true(strstr(busy, "70.0 \xC2\xB5s of 100 \xC2\xB5s</dd>") < exposed);
    assert_non_null(strstr(exposed, "<b>10.0%</b>"));
    gp_buf_release(&b);
    drop(&s);
}

TEST(numbers_are_exact_behind_what_is_shown)
{
    struct sample s;
    struct gp_buf b = {0};
    make(&s);
    const char *page = page_of(&s, &b, NULL);
    assert_int_equal(count(page, "<td class=\"n\" data-v=\"1234567\">1.23 ms</td>"), 3);
    assert_int_equal(count(page, "<td class=\"n bar\" data-v=\"12.345\" style=\"--p:12.3%\">12.3%</td>"), 2);
    gp_buf_release(&b);
    drop(&s);
}

TEST(rows_that_are_left_out_are_told_and_columns_that_know_nothing_are_not_there)
{
    struct sample s;
    struct gp_buf b = {0};
    make(&s);
    for (int i = 3; i <= GP_TABLE_HTML_ROWS; i++) add_row(&s, s.r.tables.at[0], i);
    const char *page = page_of(&s, &b, NULL);
    assert_non_null(strstr(page, "<span class=\"count\">1,000 of 1,001 rows</span>"));
    assert_non_null(strstr(page, "The first 1,000 of 1,001 rows;"));
    assert_null(strstr(page, ">Rank<"));
    assert_null(strstr(page, "<dd>who</dd>"));
    gp_buf_release(&b);
    drop(&s);
}

TEST(nothing_is_loaded_and_the_shell_is_small)
{
    struct sample s;
    struct gp_buf b = {0};
    make(&s);
    const char *page = page_of(&s, &b, NULL);
    assert_non_null(strstr(page, "default-src 'none'"));
    static const char svg[] = "http://www.w3.org/2000/svg"; // a namespace, never asked for
    for (const char *at = page; (at = strstr(at, "http")); at++)
        assert_true(!strncmp(at, svg, strlen(svg)) || (at[4] != ':' && at[4] != 's'));
    assert_null(strstr(page, "<link"));
    assert_null(strstr(page, "@import"));
    assert_true(b.n < 150000);
    gp_buf_release(&b);
    drop(&s);
}

TEST(the_same_answer_is_the_same_page)
{
    struct sample s, again;
    struct gp_buf a = {0}, b = {0};
    make(&s);
    make(&again);
    page_of(&s, &a, "{}");
    page_of(&again, &b, "{}");
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    gp_buf_release(&a);
    gp_buf_release(&b);
    drop(&s);
    drop(&again);
}

TEST(an_empty_answer_is_a_page_too)
{
    struct gp_hta h = {0};
    struct gp_report r = {0};
    struct gp_buf b = {0};
    gp_hta_html_write(&b, &(struct gp_hta_answer){.h = &h}, &r, &(struct gp_buf){0});
    check_nesting(gp_buf_str(&b));
    gp_buf_release(&b);
}
