// Which traces a command line compares, and what it must not ask for.
#include "analyze/diff/sides.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

static const char *const files[] = {"x/a.json", "x/b.json", "c.json", "d.json"};
static const char *const dashes[] = {"-", "-"};

static void assert_refused(struct gp_sides_asked asked, const char *message)
{
    struct gp_sides s;
    struct gp_err err = {0};
    assert_int_equal(gp_sides_sort(&s, &asked, &err), -1);
    assert_string_equal(err.msg, message);
    assert_int_equal(err.code, GP_E_USAGE);
}

static void assert_names(struct gp_sides_asked asked, size_t n, size_t n_base, bool compares,
                         const char *names)
{
    struct gp_sides s;
    struct gp_buf b = {0};
    assert_int_equal(gp_sides_sort(&s, &asked, NULL), 0);
    assert_int_equal(s.n, n);
    assert_int_equal(s.n_base, n_base);
    assert_int_equal(gp_sides_compare(&s), compares);
    gp_sides_put_names(&b, &s);
    assert_string_equal(gp_buf_str(&b), names);
    gp_buf_release(&b);
    gp_sides_release(&s);
}

TEST(the_first_of_two_operands_is_the_baseline)
{
    assert_names((struct gp_sides_asked){.args = {files, 2}}, 2, 1, true, "a.json \xE2\x86\x92 b.json");
    assert_names((struct gp_sides_asked){.args = {files, 2}, .save = "main", .folder = "f"}, 2, 1, true,
                 "a.json \xE2\x86\x92 b.json");
}

TEST(groups_are_listed_by_options)
{
    assert_names((struct gp_sides_asked){.base = {files, 3}, .current = {files + 3, 1}}, 4, 3, true,
                 "a.json and 2 more \xE2\x86\x92 d.json");
}

TEST(a_saved_baseline_is_compared_with_all_operands)
{
    struct gp_sides_asked asked = {.args = {files, 2}, .against = "main", .folder = "f"};
    assert_names(asked, 2, 0, true, "main \xE2\x86\x92 a.json and 1 more");
    assert_names((struct gp_sides_asked){.args = {files, 1}, .save = "main", .folder = "f"}, 1, 0, false,
                 " \xE2\x86\x92 a.json");
}

TEST(what_makes_no_comparison_is_refused)
{
    const char *two = "two traces are required, BASE and CUR; to compare several, use --base and --current";
    assert_refused((struct gp_sides_asked){.args = {files, 1}}, two);
    assert_refused((struct gp_sides_asked){.args = {files, 3}}, two);
    assert_refused((struct gp_sides_asked){.args = {files, 1}, .base = {files, 1}},
                   "unexpected operand 'x/a.json' with --base/--current");
    assert_refused((struct gp_sides_asked){.base = {files, 2}}, "no trace to compare with the baseline");
    assert_refused((struct gp_sides_asked){.current = {files, 2}}, "no baseline: use --base or --against");
    assert_refused((struct gp_sides_asked){.args = {dashes, 2}},
                   "only one trace can be read from standard input");
    assert_refused((struct gp_sides_asked){.args = {files, 1}, .against = "main"},
                   "--against requires --baseline-dir");
    assert_refused((struct gp_sides_asked){.args = {files, 1}, .save = "main"},
                   "--save requires --baseline-dir");
    assert_refused((struct gp_sides_asked){.base = {files, 1}, .against = "main", .folder = "f"},
                   "--against and --base both name the baseline: use one of them");
}
