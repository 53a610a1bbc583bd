// Schemas from parts: what stands between two @, and what is refused.
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "render/schema/schema.h"
#include "tests/unit/unit.h"

/* Parts that the tests know. */
static int read_part(GP_UNUSED void *ctx, const char *name, struct gp_buf *to, struct gp_err *err)
{
    static const char *const parts[][2] = {{"plain.json", "{}\n\n"},
                                           {"outer.json", "[@file plain.json@]\n"},
                                           {"itself.json", "@file itself.json@"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i][0], name)) continue;
        gp_buf_puts(to, parts[i][1]);
        return 0;
    }
    return gp_fail(err, GP_E_IO, -1, "%s: no such part", name);
}

/* What PART of TOOL becomes; the message where it is refused. */
static const char *made(const char *tool, const char *part)
{
    static char text[100000];
    struct gp_buf b = {0};
    struct gp_err err = {0};
    int failed = gp_schema_make(&b, tool, part, strlen(part), read_part, NULL, &err);
    snprintf(text, sizeof text, "%s", failed ? err.msg : gp_buf_str(&b));
    gp_buf_release(&b);
    return text;
}

TEST(parts_are_put_in_without_the_ends_of_their_lines)
{
    assert_string_equal(made("trace-hta", "{\"a\": 1}"), "{\"a\": 1}");
    assert_string_equal(made("trace-hta", "x @file outer.json@ y"), "x [{}] y");
    assert_string_equal(made("trace-hta", "@file none.json@"), "none.json: no such part");
}

TEST(parts_that_contain_each_other_end)
{
    assert_string_equal(made("trace-hta", "@file itself.json@"), "itself.json: parts contain each other");
}

TEST(a_record_is_a_row_a_list_or_a_member)
{
    char row[20000], want[40000];
    snprintf(row, sizeof row, "%s", made("trace-hta", "@row findings@"));
    assert_non_null(strstr(row, "\"type\": \"object\""));
    assert_non_null(strstr(row, "\"description\": \"stable identifier of the finding\""));
    snprintf(want, sizeof want, "{\"type\": \"array\", \"items\": %s}", row);
    assert_string_equal(made("trace-hta", "@list findings@"), want);
    snprintf(want, sizeof want, "\"findings\": {\"type\": \"array\", \"items\": %s}", row);
    assert_int_equal(strncmp(made("trace-hta", "@rows findings@"), want, strlen(want)), 0);
}

TEST(records_are_those_of_the_tool)
{
    assert_string_equal(made("trace-diff", "@row kernels@"), "trace-diff has no record 'kernels'");
    assert_string_equal(made("trace-hta", "@row nothing@"), "trace-hta has no record 'nothing'");
}

TEST(formats_are_those_that_are_named_and_those_that_are_read)
{
    const char *text = made("trace-hta", "[@formats snapshot@]");
    assert_int_equal(strncmp(text, "[\"snapshot\", \"", 14), 0);
    assert_non_null(strstr(text, "\"chrome\""));
    assert_non_null(strstr(text, "\"hatchet\""));
    assert_null(strstr(text, "\"\""));
}

TEST(other_words_are_refused)
{
    assert_string_equal(made("trace-hta", "@what is this@"),
                        "'what is this' is neither rows, list, row, file nor formats");
}

TEST(python_gets_a_class_per_kind_of_row)
{
    struct gp_buf b = {0};
    gp_schema_python(&b);
    const char *text = gp_buf_str(&b);
    assert_non_null(strstr(text, "class Kernel"));
    assert_non_null(strstr(text, "class Change"));
    assert_null(strstr(text, "    class: ")); /* a keyword of Python has a _ behind it */
    gp_buf_release(&b);
}
