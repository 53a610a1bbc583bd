#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/answer.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

enum { TABLES = 1, LINKS = 2 };

static void put_it(void *answer, struct gp_buf *b) { gp_buf_printf(b, "answer %d\n", *(int *)answer); }

static void write_it(void *answer, struct gp_output *to)
{
    char text[20];
    gp_output_write(to, "written ", 8);
    gp_output_write(to, text, (size_t)snprintf(text, sizeof text, "answer %d\n", *(int *)answer));
}

static const struct gp_answer_format formats[] = {
    {"text", 10, TABLES, .put = put_it},
    {"json", 0, 0, .put = put_it},
    {"csv", 0, TABLES, .write = write_it},
    {"html", 100, TABLES | LINKS, .put = put_it},
    {0},
};

TEST(a_format_is_found_by_its_name)
{
    assert_ptr_equal(gp_answer_format(formats, "csv"), &formats[2]);
    assert_null(gp_answer_format(formats, "cs"));
    assert_null(gp_answer_format(formats, ""));
}

TEST(a_format_is_found_by_the_name_of_its_file)
{
    static const struct {
        const char *path, *format, *ending;
    } cases[] = {
        {"a.json", "json", ".json"},    {"runs.d/a.b.html", "html", ".html"},
        {"a.csv.gz", "csv", ".csv.gz"}, {"a.txt.zst", "text", ".txt.zst"},
        {"a.svg", NULL, ".svg"}, /* not a format of this table */
        {"a.jsonl", NULL, ".jsonl"},    {"a.gz", NULL, NULL},
        {"runs.json/a", NULL, NULL},    {".json", NULL, NULL}, /* a hidden file without an ending */
        {"json", NULL, NULL},           {"", NULL, NULL},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        const char *ending = "unset";
        const struct gp_answer_format *f = gp_answer_named(formats, cases[i].path, &ending);
        assert_int_equal(!f, !cases[i].format);
        if (f) assert_string_equal(f->name, cases[i].format);
        assert_int_equal(!ending, !cases[i].ending);
        if (ending) assert_string_equal(ending, cases[i].ending);
    }
}

TEST(top_overrides_the_rows_of_the_format)
{
    assert_int_equal(gp_answer_rows(&formats[3], GP_ROWS_UNSET), 100);
    assert_int_equal(gp_answer_rows(&formats[3], 7), 7);
    assert_int_equal(gp_answer_rows(&formats[3], 0), 0); /* all */
}

TEST(an_option_names_the_formats_that_it_applies_to)
{
    struct gp_err err = {0};
    assert_int_equal(gp_answer_check(formats, &formats[2], TABLES, "--table", &err), 0);
    assert_int_equal(gp_answer_check(formats, &formats[1], TABLES, "--table", &err), -1);
    assert_string_equal(err.msg, "--table requires --format text, csv or html");
    assert_int_equal(err.code, GP_E_USAGE);
    assert_int_equal(gp_answer_check(formats, &formats[2], TABLES | LINKS, "--flame", &err), -1);
    assert_string_equal(err.msg, "--flame requires --format html");
}

static void assert_file(const char *path, const char *want)
{
    char text[100] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, want);
}

TEST(an_answer_is_written_to_a_file)
{
    char folder[] = "/tmp/gpuprof-answer-XXXXXX", path[80];
    int n = 42;
    struct gp_buf b = {0};
    struct gp_err err = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a", folder);
    assert_int_equal(gp_answer_write(&formats[0], &n, path, &err), 0);
    assert_file(path, "answer 42\n");
    assert_int_equal(gp_answer_write(&formats[2], &n, path, &err), 0);
    assert_file(path, "written answer 42\n");
    gp_buf_puts(&b, "bytes");
    assert_int_equal(gp_answer_file(path, &b, &err), 0);
    assert_null(b.data);
    assert_file(path, "bytes");
    unlink(path);
    rmdir(folder);
    assert_int_equal(gp_answer_write(&formats[0], &n, path, &err), -1); /* the folder is gone */
    assert_int_equal(err.code, GP_E_IO);
    gp_buf_puts(&b, "bytes");
    assert_int_equal(gp_answer_file(path, &b, &err), -1);
    assert_null(b.data);
}
