// JSON text: escaping, UTF-8 repair, exact times, numbers, the check of foreign text.
#include <stdlib.h>

#include <math.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/json_write.h"
#include "tests/unit/unit.h"

static void check_string(const char *bytes, size_t n, const char *want)
{
    struct gp_buf b = {0};
    gp_json_put_string(&b, bytes, n);
    assert_string_equal(gp_buf_str(&b), want);
    assert_int_equal(gp_json_is_clean(bytes, n), b.n == n + 2 && !memcmp(b.data + 1, bytes, n));
    gp_buf_release(&b);
}

#define CHECK_STRING(bytes, want) check_string(bytes, sizeof(bytes) - 1, want)

TEST(strings_are_escaped_where_json_demands_it)
{
    CHECK_STRING("", "\"\"");
    CHECK_STRING("plain </script>", "\"plain </script>\"");
    CHECK_STRING("a\"b\\c", "\"a\\\"b\\\\c\"");
    CHECK_STRING("\n\t\r", "\"\\n\\t\\r\"");
    CHECK_STRING("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"");
    CHECK_STRING("a\0b", "\"a\\u0000b\"");
}

/* The examples of the Unicode standard, 3.9 (table 3-8 to 3-11): one replacement for each maximal subpart. */
TEST(bytes_that_are_no_utf8_are_replaced)
{
    CHECK_STRING("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
#define R "\xef\xbf\xbd"
    CHECK_STRING("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", "\"a" R R R "b" R "c" R R "d\"");
    CHECK_STRING("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "\"" R R R R R R R R "A\"");
    CHECK_STRING("\xed\xa0\x80", "\"" R R R "\"");       /* a surrogate */
    CHECK_STRING("\xf4\x90\x80\x80", "\"" R R R R "\""); /* above U+10FFFF */
    CHECK_STRING("\xe2\x82", "\"" R "\"");               /* cut off */
#undef R
}

/* A terminal obeys U+009B, an editor shows what follows U+202E from right to left. */
TEST(what_is_hostile_to_a_reader_is_escaped)
{
    CHECK_STRING("a\xc2\x9b"
                 "31m",
                 "\"a\\u009b31m\"");
    CHECK_STRING("\xe2\x80\xae"
                 "exe.gnp\xe2\x80\xac",
                 "\"\\u202eexe.gnp\\u202c\"");
    CHECK_STRING("\xe2\x80\xa8\xef\xbb\xbf", "\"\\u2028\\ufeff\"");
    CHECK_STRING("\xf3\xa0\x81\x81", "\"\\udb40\\udc41\"");           /* U+E0041 */
    CHECK_STRING("\xf4\x8f\xbf\xbf", "\"\\udbff\\udfff\"");           /* U+10FFFF */
    CHECK_STRING("\xef\xbf\xbd\xc2\xa0", "\"\xef\xbf\xbd\xc2\xa0\""); /* U+FFFD, a hard space */
    struct gp_buf b = {0};
    const char text[] = "{\"a\xc2\x9b\": \"\\u009b \xe2\x80\xae\",\n\"\xc3\xa4\": 1}";
    gp_json_put_valid(&b, text, sizeof text - 1);
    assert_string_equal(gp_buf_str(&b), "{\"a\\u009b\": \"\\u009b \\u202e\",\n\"\xc3\xa4\": 1}");
    gp_buf_release(&b);
}

static void check_us(int64_t ns, const char *want)
{
    struct gp_buf b = {0};
    gp_json_put_us(&b, ns);
    assert_string_equal(gp_buf_str(&b), want);
    gp_buf_release(&b);
}

TEST(times_are_exact_decimals)
{
    check_us(0, "0");
    check_us(123456, "123.456");
    check_us(5000, "5");
    check_us(5100, "5.100");
    check_us(7, "0.007");
    check_us(-1, "-0.001");
    check_us(-2500, "-2.500");
    check_us(INT64_MAX, "9223372036854775.807");
    check_us(INT64_MIN, "-9223372036854775.808");
}

static void check_double(double v, const char *want)
{
    struct gp_buf b = {0};
    gp_json_put_double(&b, v);
    assert_string_equal(gp_buf_str(&b), want);
    gp_buf_release(&b);
}

TEST(doubles_read_back_as_they_were)
{
    check_double(0, "0");
    check_double(-0.0, "-0.0");
    check_double(12, "12");
    check_double(-3.5, "-3.5");
    check_double(0.1, "0.1");
    check_double(1.0 / 3, "0.3333333333333333");
    check_double(1e300, "1e+300");
    check_double(NAN, "null");
    check_double(-INFINITY, "null");
}

TEST(valid_json_is_told_from_the_rest)
{
    static const char *const good[] = {"{}", " [1, -0.5e+3, true, false, null] ", "\"\\u00e4\\n\"",
                                       "0",  "{\"a\": {\"b\": [[], {}]}}",        "\"\xc3\xa4\""};
    static const char *const bad[] = {"",    "{",     "{\"a\"}",  "[1,]",      "{\"a\":1,}", "01",     "1.",
                                      "+1",  "nul",   "\"\\x\"",  "\"\\u12\"", "\"a",        "\"\n\"", "1 2",
                                      "NaN", "{a:1}", "\"\xff\"", "[1}",       "\"\\",       "-"};
    for (size_t i = 0; i < GP_COUNT(good); i++) assert_true(gp_json_is_valid(good[i], strlen(good[i])));
    for (size_t i = 0; i < GP_COUNT(bad); i++) assert_false(gp_json_is_valid(bad[i], strlen(bad[i])));
}

TEST(half_a_character_is_no_valid_json)
{
    static const char *const good[] = {"\"\\ud83d\\ude00\"", "\"\\uDBFF\\uDFFF\"", "\"\\ud7ff\\ue000\""};
    static const char *const bad[] = {"\"\\ud800\"",       "\"\\udc00\"",        "\"\\ud83dx\"",
                                      "\"\\ud83d\\n\"",    "\"\\ud83d\\ud83d\"", "\"\\ud83d\\u0041\"",
                                      "\"\\ud83d\\ude0\"", "{\"\\ud800\":1}"};
    for (size_t i = 0; i < GP_COUNT(good); i++) assert_true(gp_json_is_valid(good[i], strlen(good[i])));
    for (size_t i = 0; i < GP_COUNT(bad); i++) assert_false(gp_json_is_valid(bad[i], strlen(bad[i])));
}

TEST(nesting_without_end_is_no_valid_json)
{
    char text[200];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_true(gp_json_is_valid(text, 128));
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_false(gp_json_is_valid(text, 130));
}

static void check_members(const char *text, const char *want)
{
    size_t n = 99;
    const char *p = gp_json_members(text, strlen(text), &n);
    if (!want) {
        assert_null(p);
        return;
    }
    assert_non_null(p);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(p, want, n);
}

TEST(the_members_of_an_object_are_found)
{
    check_members("{\"a\": 1}", "\"a\": 1");
    check_members(" { \"a\": {\"b\": 2} } ", "\"a\": {\"b\": 2}");
    check_members("{}", "");
    check_members("{ }", "");
    check_members("[1]", NULL);
    check_members("{\"a\": }", NULL);
    check_members("", NULL);
}
