#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/utf8.h"
#include "tests/unit/unit.h"

static uint32_t next(const char *s, size_t *used) { return gp_utf8_next(s, strlen(s), used); }

TEST(the_first_and_last_code_point_of_every_length_decode)
{
    static const struct {
        const char *bytes;
        uint32_t c;
        size_t used;
    } cases[] = {
        {"\x01", 0x01, 1},
        {"\x7f", 0x7f, 1},
        {"\xc2\x80", 0x80, 2},
        {"\xdf\xbf", 0x7ff, 2},
        {"\xe0\xa0\x80", 0x800, 3},
        {"\xed\x9f\xbf", 0xd7ff, 3},
        {"\xee\x80\x80", 0xe000, 3},
        {"\xef\xbf\xbf", 0xffff, 3},
        {"\xf0\x90\x80\x80", 0x10000, 4},
        {"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        size_t used;
        assert_int_equal(next(cases[i].bytes, &used), cases[i].c);
        assert_int_equal(used, cases[i].used);
        assert_true(gp_utf8_valid(cases[i].bytes, strlen(cases[i].bytes)));
    }
}

TEST(every_four_bytes_of_one_code_point_agree_with_the_definition)
{
    for (uint32_t c = 1; c <= 0x10ffff; c += c < 0x3000 ? 1 : 97) {
        char s[5] = {0};
        size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const uint8_t lead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
        for (size_t i = 0; i < n; i++) {
            uint32_t bits = c >> (6 * (n - 1 - i));
            s[i] = (char)(i == 0 ? (lead[n] | bits) : (0x80 | (bits & 0x3f)));
        }
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        assert_int_equal(gp_utf8_valid(s, n), !surrogate);
        for (size_t cut = 1; cut < n; cut++) assert_false(gp_utf8_valid(s, cut));
    }
}

TEST(what_is_not_utf8_becomes_the_replacement_character)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                 /* overlong '/' */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* a surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* U+110000 */
        {"\xe2\x82"
         "x",
         "\xef\xbf\xbd"
         "x"},                            /* a cut euro sign: one mark */
        {"\xf0\x9f\x98", "\xef\xbf\xbd"}, /* cut at the end */
        {"\xe2\x82\xac", "\xe2\x82\xac"},
        {"\xef\xbf\xbd", "\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_buf b = {0};
        gp_utf8_repair(&b, cases[i].in, strlen(cases[i].in));
        assert_string_equal(gp_buf_str(&b), cases[i].out);
        assert_true(gp_utf8_valid(b.data, b.n));
        gp_buf_release(&b);
    }
}

TEST(a_nul_byte_is_a_character_like_others)
{
    assert_true(gp_utf8_valid("a\0b", 3));
    assert_int_equal(gp_utf8_width("a\0b", 3), 2);
    assert_true(gp_utf8_valid("", 0));
}

TEST(widths_are_those_of_a_terminal)
{
    assert_int_equal(gp_utf8_width("gemm", 4), 4);
    assert_int_equal(gp_utf8_width("\xc3\xa9", 2), 1);         /* e with acute */
    assert_int_equal(gp_utf8_width("e\xcc\x81", 3), 1);        /* e and a combining acute */
    assert_int_equal(gp_utf8_width("\xe4\xb8\xad", 3), 2);     /* a Chinese character */
    assert_int_equal(gp_utf8_width("\xf0\x9f\x94\xa5", 4), 2); /* fire */
    assert_int_equal(gp_utf8_width("\xff", 1), 1);
}

TEST(fitting_never_cuts_a_character)
{
    assert_int_equal(gp_utf8_fit_bytes("a\xe2\x82\xac", 4, 3), 1);
    assert_int_equal(gp_utf8_fit_bytes("a\xe2\x82\xac", 4, 4), 4);
    assert_int_equal(gp_utf8_fit_bytes("a\xe2\x82\xac"
                                       "b",
                                       5, 4),
                     4);
    assert_int_equal(gp_utf8_fit_bytes("\x80\x80\x80\x80\x80\x80", 6, 4), 4);
    assert_int_equal(gp_utf8_fit_bytes("abc", 3, 0), 0);
}
