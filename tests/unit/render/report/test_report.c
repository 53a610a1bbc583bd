// A report as text, as CSV, and cell by cell.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/utf8.h"
#include "render/report/label_disambiguate.h"
#include "render/report/report.h"
#include "tests/unit/unit.h"

#define MICRO "\xC2\xB5"

static void put_name(struct gp_report *r, struct gp_report_table *t, const char *s)
{
    gp_report_put_name(r, t, s, strlen(s), NULL, 0);
}

static void expect_cell(const struct gp_report_table *t, size_t column, const char *text)
{
    struct gp_buf b = {0};
    gp_cell_put(&b, gp_report_cell(t, 0, column));
    assert_string_equal(gp_buf_str(&b), text);
    gp_buf_release(&b);
}

static void expect_text(const struct gp_report *r, size_t width, const char *text)
{
    struct gp_buf b = {0};
    gp_report_text_write(&b, r, &(struct gp_report_text_opts){.width = width});
    assert_string_equal(gp_buf_str(&b), text);
    gp_buf_release(&b);
}

static void expect_csv(const struct gp_report_table *t, const char *text)
{
    struct gp_buf b = {0};
    gp_report_csv_write(&b, t, NULL);
    assert_string_equal(gp_buf_str(&b), text);
    gp_buf_release(&b);
}

TEST(a_cell_is_shown_by_its_type)
{
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "t", "T");
    static const enum gp_cell_type types[] = {
        GP_CELL_ID,  GP_CELL_COUNT, GP_CELL_NS,   GP_CELL_NS,    GP_CELL_BYTES, GP_CELL_PCT,    GP_CELL_PCT,
        GP_CELL_PCT, GP_CELL_GBPS,  GP_CELL_REAL, GP_CELL_COUNT, GP_CELL_PCT,   GP_CELL_NS_REAL};
    for (size_t i = 0; i < GP_COUNT(types); i++) gp_report_column(t, "c", "C", types[i], 0, NULL);
    gp_report_put(t, 1234567);
    gp_report_put(t, 1234567);
    gp_report_put(t, 1234567);
    gp_report_put(t, -1500);
    gp_report_put(t, 2500000);
    gp_report_put_real(t, 12.34);
    gp_report_put_real(t, 0.001);
    gp_report_put_real(t, 0);
    gp_report_put_real(t, 450.2);
    gp_report_put_real(t, 1.5);
    gp_report_put_none(t);
    gp_report_put_real(t, NAN);       // nothing is known of it
    gp_report_put_real(t, 1234567.5); // a mean or a deviation has its unit, too
    static const char *const shown[] = {"1234567", "1,234,567", "1.23 ms", "-1.50 " MICRO "s", "2.50 MB",
                                        "12.3%",   "<0.01%",    "0%",      "450 GB/s",         "1.50",
                                        "-",       "-",         "1.23 ms"};
    for (size_t i = 0; i < GP_COUNT(shown); i++) expect_cell(t, i, shown[i]);
    gp_report_release(&r);
}

TEST(csv_quotes_what_must_be_and_keeps_numbers_raw)
{
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "t", "T");
    gp_report_column(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    gp_report_column(t, "time_ns", "Time", GP_CELL_NS, GP_COLUMN_WIDE, NULL);
    gp_report_column(t, "share_pct", "Share", GP_CELL_PCT, 0, NULL);
    gp_report_put_name(&r, t, "f<1, 2>(\"x\")", 12, "f", 1);
    gp_report_put(t, 1234567);
    gp_report_put_real(t, 0.1);
    put_name(&r, t, "two\nlines");
    gp_report_put_none(t);
    gp_report_put_real(t, 50);
    put_name(&r, t, "plain");
    gp_report_put(t, -1);
    gp_report_put_none(t);
    expect_csv(t, "name,time_ns,share_pct\r\n"
                  "\"f<1, 2>(\"\"x\"\")\",1234567,0.1\r\n"
                  "\"two\nlines\",,50\r\n"
                  "plain,-1,\r\n");
    expect_csv(NULL, "");
    gp_report_release(&r);
}

TEST(csv_is_utf8_whatever_the_names_are)
{
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "t", "T");
    gp_report_column(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    put_name(&r, t, "a\xFF,b");
    expect_csv(t, "name\r\n\"a\xEF\xBF\xBD,b\"\r\n");
    gp_report_release(&r);
}

/* What a spreadsheet would run, and what a terminal would obey. */
/* U+FF1D, U+FF0B, U+FF0D and U+FF20; U+FF1E and a cut one begin no formula. */
TEST(csv_full_width_formulas_are_quoted)
{
    static const char *const cells[][2] = {{"\xEF\xBC\x9D"
                                            "1",
                                            "'\xEF\xBC\x9D"
                                            "1"},
                                           {"\xEF\xBC\x8B", "'\xEF\xBC\x8B"},
                                           {"\xEF\xBC\x8D"
                                            "1",
                                            "'\xEF\xBC\x8D"
                                            "1"},
                                           {"\xEF\xBC\xA0"
                                            "A",
                                            "'\xEF\xBC\xA0"
                                            "A"},
                                           {"\xEF\xBC\x9E", "\xEF\xBC\x9E"},
                                           {"\xEF\xBC", "\xEF\xBF\xBD"},
                                           {"a\xEF\xBC\x9D", "a\xEF\xBC\x9D"}};
    for (size_t i = 0; i < GP_COUNT(cells); i++) {
        struct gp_buf b = {0};
        gp_report_csv_put(&b, cells[i][0], strlen(cells[i][0]));
        assert_string_equal(gp_buf_str(&b), cells[i][1]);
        gp_buf_release(&b);
    }
}

TEST(csv_is_safe_to_open_and_to_print)
{
    static const char *const names[] = {"=cmd|' /C calc'!A0",
                                        "@SUM(1)",
                                        "+1+1",
                                        "-1-1",
                                        "a\x1b[31m\x07"
                                        "b",
                                        "x\xC2\x9B"
                                        "1m",
                                        "\xE2\x80\xAE"
                                        "gnp.exe",
                                        "a=b"};
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "t", "T");
    gp_report_column(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) put_name(&r, t, names[i]);
    expect_csv(t, "name\r\n'=cmd|' /C calc'!A0\r\n'@SUM(1)\r\n'+1+1\r\n'-1-1\r\na\xE2\x90\x9B[31m\xE2\x90\x87"
                  "b\r\n"
                  "x\xEF\xBF\xBD"
                  "1m\r\n\xEF\xBF\xBDgnp.exe\r\na=b\r\n");
    gp_report_release(&r);
}

static struct gp_report_table *kernels(struct gp_report *r, const char *name)
{
    struct gp_report_table *t = gp_report_add(r, "kernels", "Kernels");
    gp_report_column(t, "name", "Kernel", GP_CELL_NAME, 0, NULL);
    gp_report_column(t, "count", "Count", GP_CELL_COUNT, 0, NULL);
    gp_report_column(t, "full", "Full", GP_CELL_NAME, GP_COLUMN_WIDE, NULL);
    gp_report_column(t, "total_ns", "Total", GP_CELL_NS, 0, NULL);
    put_name(r, t, name);
    gp_report_put(t, 1000);
    put_name(r, t, "x");
    gp_report_put(t, 1230000);
    put_name(r, t, "b");
    gp_report_put(t, 2);
    put_name(r, t, "x");
    gp_report_put(t, 5);
    return t;
}

TEST(numbers_stand_under_each_other)
{
    struct gp_report r = {0};
    kernels(&r, "gemm")->more = "and 3 more";
    expect_text(&r, 0,
                "\nKernels\n"
                "  Kernel  Count    Total\n"
                "  gemm    1,000  1.23 ms\n"
                "  b           2     5 ns\n"
                "  and 3 more\n");
    gp_report_release(&r);
}

TEST(long_names_are_cut_so_that_lines_fit)
{
    struct gp_report r = {0};
    struct gp_buf b = {0};
    char name[300];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    kernels(&r, name);
    gp_report_verdict(&r, GP_TONE_PLAIN, "%s and words that follow it to the end of the line and beyond",
                      name);
    gp_report_text_write(&b, &r, &(struct gp_report_text_opts){0});
    for (const char *line = gp_buf_str(&b), *end; (end = strchr(line, '\n')); line = end + 1)
        assert_true(gp_utf8_width(line, (size_t)(end - line)) <= 80);
    gp_buf_release(&b);
    gp_report_release(&r);
}

TEST(columns_and_tables_that_say_nothing_are_left_out)
{
    struct gp_report r = {0};
    gp_report_column(gp_report_add(&r, "none", "Nothing"), "a", "A", GP_CELL_NS, 0, NULL);
    struct gp_report_table *t = gp_report_add(&r, "some", "Some");
    gp_report_column(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    gp_report_column(t, "zero_ns", "Zero", GP_CELL_NS, 0, NULL);
    gp_report_column(t, "device", "GPU", GP_CELL_ID, 0, NULL);
    gp_report_put_none(t);
    gp_report_put(t, 0);
    gp_report_put(t, 0); // a number of something, not a quantity: it stays
    t = gp_report_add(&r, "long", "Long");
    t->detail = true;
    gp_report_column(t, "device", "GPU", GP_CELL_ID, 0, NULL);
    gp_report_put(t, 7);
    expect_text(&r, 0, "\nSome\n  GPU\n    0\n");
    gp_report_release(&r);
}

TEST(what_is_wrong_stands_before_the_verdict)
{
    struct gp_report r = {0};
    gp_report_verdict(&r, GP_TONE_BAD, "Idle %d%% of the time.", 99);
    gp_report_note(&r, GP_TONE_WARN, "a.json: the input ends early");
    expect_text(&r, 0, "! a.json: the input ends early\n\nIdle 99% of the time.\n");
    gp_report_release(&r);
}

TEST(sentences_wrap_but_not_before_a_unit)
{
    struct gp_report r = {0};
    // 30 columns: "ms)." would fit no more on the first line, and does not stand alone on the second
    gp_report_verdict(&r, GP_TONE_PLAIN, "The device was idle (for 86.7 ms).");
    expect_text(&r, 30, "The device was idle (for\n86.7 ms).\n");
    gp_report_release(&r);
}

TEST(shares_are_drawn_as_bars_and_groups_named_once)
{
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "b", "Parts");
    gp_report_column(t, "device", "GPU", GP_CELL_ID, 0, NULL);
    gp_report_column(t, "part", "Part", GP_CELL_TEXT, 0, NULL);
    gp_report_column(t, "share_pct", "Share", GP_CELL_PCT, GP_COLUMN_BAR, NULL);
    for (int i = 0; i < 2; i++) {
        gp_report_put(t, 3);
        gp_report_put_text(&r, t, i ? "idle" : "busy");
        gp_report_put_real(t, i ? 75 : 25);
    }
    // 2 + 3 + 2 + 4 + 2 + 5 + 2 columns, 10 of 30 are left: 2.5 and 7.5 blocks
    expect_text(
        &r, 30,
        "\nParts\n  GPU  Part  Share\n"
        "    3  busy  25.0%  \xE2\x96\x88\xE2\x96\x88\xE2\x96\x8C\n"
        "       idle  75.0%  "
        "\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x8C\n");
    gp_report_release(&r);
}

TEST(a_finding_is_followed_by_where_to_look)
{
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "f", "Findings");
    gp_report_column(t, "time_ns", "Time", GP_CELL_NS, 0, NULL);
    gp_report_column(t, "finding", "Finding", GP_CELL_TEXT, 0, NULL);
    gp_report_column(t, "where", "Where", GP_CELL_NAME, GP_COLUMN_BELOW, NULL);
    gp_report_put(t, 5000000);
    gp_report_put_text(&r, t, "one two three four five six");
    put_name(&r, t, "aten::mm");
    expect_text(&r, 30,
                "\nFindings\n     Time  Finding\n"
                "  5.00 ms  one two three four\n"
                "           five six\n"
                "           in aten::mm\n");
    gp_report_release(&r);
}

TEST(names_cannot_speak_to_the_terminal)
{
    struct gp_report r = {0};
    struct gp_buf b = {0};
    kernels(&r, "evil\033[2J\n");
    gp_report_text_write(&b, &r, &(struct gp_report_text_opts){0});
    assert_null(strchr(gp_buf_str(&b), '\033'));
    gp_buf_release(&b);
    gp_report_release(&r);
}

/* A table of names and counts, at WIDTH columns. */
static void expect_names(const char *const *names, const char *const *labels, size_t n, size_t width,
                         const char *text)
{
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "t", "T");
    gp_report_column(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    gp_report_column(t, "count", "N", GP_CELL_COUNT, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        gp_report_put_name(&r, t, names[i], strlen(names[i]), labels[i], strlen(labels[i]));
        gp_report_put(t, (int64_t)i + 1);
    }
    expect_text(&r, width, text);
    gp_report_release(&r);
}

TEST(no_two_rows_read_the_same)
{
    static const char *const twins[] = {"f<int>", "f<float>", "g"}, *const same[] = {"f", "f", "g"};
    expect_names(twins, same, 3, 80, "\nT\n  Name  N\n  f     1\n  f #2  2\n  g     3\n");
    static const char *const gemm[] = {"gemm_128x128_aaaaaaaaaaaa_nn_tail",
                                       "gemm_128x128_bbbbbbbbbbbb_nn_tail", "short"};
    expect_names(gemm, gemm, 3, 25,
                 "\nT\n  Name                  N\n  gemm_1…aaaaaaaaaaaa…  1\n"
                 "  gemm_1…bbbbbbbbbbbb…  2\n  short                 3\n");
}

/* Names may come again in rows that something else sets apart, and rows without a name have nothing to
 * number. */
TEST(names_that_other_cells_set_apart_have_no_number)
{
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "t", "T");
    gp_report_column(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    gp_report_column(t, "rank", "Rank", GP_CELL_ID, 0, NULL);
    for (int i = 0; i < 2; i++) {
        put_name(&r, t, "f");
        gp_report_put(t, i);
    }
    for (int i = 0; i < 2; i++) {
        gp_report_put_none(t);
        gp_report_put(t, 2);
    }
    expect_text(&r, 80, "\nT\n  Name  Rank\n  f        0\n  f        1\n  -        2\n  -        2\n");
    gp_report_release(&r);
}

/* The tag of each of N names with the label "f". */
static void expect_tags(const char *const *names, const char *const *tags, size_t n)
{
    struct gp_label a[8] = {{0}};
    for (size_t i = 0; i < n; i++)
        a[i] = (struct gp_label){.full = names[i], .full_n = strlen(names[i]), .label = "f", .label_n = 1};
    gp_label_tag(a, n);
    for (size_t i = 0; i < n; i++) assert_string_equal(a[i].tag, tags[i]);
}

TEST(names_with_one_label_show_the_argument_that_differs)
{
    static const char *const types[] = {"void at::f<8, c10::BFloat16>(int)", "void at::f<4, float>(int)"};
    expect_tags(types, (const char *const[]){" [BFloat16]", " [float]"}, 2); // rather a word than a number
    static const char *const numbers[] = {"f<128, 2, g>()", "f<128, 4, g>()", "f<128, 2, g>()"};
    expect_tags(numbers, (const char *const[]){" [128, 2]", " [128, 4]", " [128, 2]"}, 3);
    static const char *const both[] = {"f<a, x>", "f<b, x>", "f<a, y>"};
    expect_tags(both, (const char *const[]){" [a, x]", " [b]", " [a, y]"}, 3);
    static const char *const forms[] = {"f<a, b<c>, d>", "f<a, e>"};
    expect_tags(forms, (const char *const[]){" [b]", " [e]"}, 2);
    static const char *const mangled[] = {"_Z1fIiEvT_",
                                          "_Z1fIfEvT_"}; // void f<int>(int), void f<float>(float)
    expect_tags(mangled, (const char *const[]){" [int]", " [float]"}, 2);
    static const char *const same[] = {"f<a>", "f<a>", "f<a >"};
    expect_tags(same, (const char *const[]){"", "", ""}, 3);
}

TEST(tags_are_in_the_labels_of_a_report)
{
    struct gp_report r = {0};
    struct gp_report_table *t = gp_report_add(&r, "t", "T");
    gp_report_column(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    gp_report_put_name(&r, t, "f<int>", 6, "f", 1);
    gp_report_put_name(&r, t, "g<int>", 6, "g", 1);
    gp_report_put_none(t);
    gp_report_put_name(&r, t, "f<long>", 7, "f", 1);
    gp_label_disambiguate(&r);
    expect_text(&r, 80, "\nT\n  Name\n  f [int]\n  g\n  -\n  f [long]\n");
    assert_string_equal(gp_report_cell(t, 0, 0)->text, "f<int>");
    gp_report_release(&r);
}

TEST(full_width_cuts_and_wraps_nothing)
{
    struct gp_report r = {0};
    char name[3001];
    memset(name, 'x', 3000);
    name[3000] = '\0';
    gp_report_verdict(&r, GP_TONE_PLAIN, "%s one %s", name + 2000, name + 2000);
    struct gp_report_table *t = gp_report_add(&r, "t", "T");
    gp_report_column(t, "name", "Name", GP_CELL_NAME, 0, NULL);
    put_name(&r, t, name);
    struct gp_buf b = {0};
    gp_report_text_write(&b, &r, &(struct gp_report_text_opts){.width = GP_TEXT_FULL});
    assert_non_null(strstr(gp_buf_str(&b), name));
    assert_null(strstr(gp_buf_str(&b), "one\n"));
    assert_int_equal(gp_report_prose_width(0), 80);
    assert_int_equal(gp_report_prose_width(90), 90);
    assert_int_equal(gp_report_prose_width(200), 100); // longer lines are hard to read
    gp_buf_release(&b);
    gp_report_release(&r);
}
