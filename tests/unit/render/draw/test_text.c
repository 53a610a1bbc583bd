// Names made fit for a reader.
#include <stdio.h>
#include <string.h>

#include "formats/base/buf.h"
#include "render/draw/text.h"
#include "tests/unit/unit.h"

static void expect_clean(const char *s, const char *shown)
{
    struct gp_buf b = {0};
    gp_text_clean(&b, s, strlen(s));
    assert_string_equal(gp_buf_str(&b), shown);
    gp_buf_release(&b);
}

static void expect_fit(const char *s, size_t columns, const char *shown)
{
    struct gp_buf b = {0};
    gp_text_fit(&b, s, strlen(s), columns);
    assert_string_equal(gp_buf_str(&b), shown);
    gp_buf_release(&b);
}

#define BAD "\xEF\xBF\xBD"

TEST(control_characters_become_pictures)
{
    expect_clean("a\tb\nc\x7F", "a\xE2\x90\x89"
                                "b\xE2\x90\x8A"
                                "c\xE2\x90\xA1");
    expect_clean("\x1B[31m", "\xE2\x90\x9B[31m");
    expect_clean("\xC2\x85", BAD); // a C1 control
}

TEST(what_is_not_utf8_or_reorders_text_is_replaced)
{
    expect_clean("a\xFFz", "a" BAD "z");
    expect_clean("\xC0\xAF", BAD BAD);           // an overlong slash
    expect_clean("x\xE2\x80\xAEy", "x" BAD "y"); // U+202E right-to-left override
    expect_clean("x\xE2\x81\xA7y", "x" BAD "y"); // U+2067 right-to-left isolate
    expect_clean("x\xE2\x80\x8By", "x" BAD "y"); // U+200B zero width space
    expect_clean("\xEF\xBF\xBF", BAD);           // U+FFFF is no XML character
    expect_clean("\xE2\x80\xA8", BAD);           // U+2028 line separator
    // é → 🔥 stay
    expect_clean("\xC3\xA9\xE2\x86\x92\xF0\x9F\x94\xA5", "\xC3\xA9\xE2\x86\x92\xF0\x9F\x94\xA5");
}

TEST(long_names_are_cut_in_the_middle)
{
    expect_fit("abcdefghijklmnop", 16, "abcdefghijklmnop");
    // 13 columns: (13 - 1) / 3 = 4 at the end, the ellipsis, 8 in front
    expect_fit("abcdefghijklmnop", 13, "abcdefgh\xE2\x80\xA6mnop");
    expect_fit("abcdefghijklmnop", 5, "abcd\xE2\x80\xA6");
    expect_fit("abcdefghijklmnop", 2, "");
    expect_fit("", 0, "");
}

TEST(wide_characters_take_two_columns)
{
    assert_int_equal(gp_text_width("\xE6\xB7\xB1\xE5\xBA\xA6", 6), 4);
    // 4 columns, the ellipsis takes one: one wide character fits in the other three
    expect_fit("\xE6\xB7\xB1\xE5\xBA\xA6\xE5\xAD\xA6", 4, "\xE6\xB7\xB1\xE2\x80\xA6");
}

static void expect_fit_place(const char *s, size_t columns, const char *shown)
{
    struct gp_buf b = {0};
    gp_text_fit_place(&b, s, strlen(s), columns);
    assert_string_equal(gp_buf_str(&b), shown);
    gp_buf_release(&b);
}

static void expect_fit_name(const char *s, size_t columns, const char *shown)
{
    struct gp_buf b = {0};
    gp_text_fit_name(&b, s, strlen(s), columns);
    assert_string_equal(gp_buf_str(&b), shown);
    gp_buf_release(&b);
}

TEST(names_lose_what_leads_to_their_last_part_first)
{
    expect_fit_name("aten::linear", 12, "aten::linear");
    expect_fit_name("aten::linear", 11, "linear");
    expect_fit_name("aten::linear", 5, "line\xE2\x80\xA6");
    expect_fit_name("torch/nn/linear.py(12): forward", 20, "forward");
    expect_fit_place("torch/nn/linear.py(12): forward", 31, "torch/nn/linear.py(12): forward");
    expect_fit_place("torch/nn/linear.py(12): forward", 30, "linear.py(12): forward");
    expect_fit_place("step > my/train.py(33): load", 20, "train.py(33): load");
    expect_fit_place("train.py(33): load_the_next_batch", 20, "train.py(33):\xE2\x80\xA6_batch");
    expect_fit_place("aten::linear", 11, "linear");
    expect_fit_place("a (12): ", 5, "a (1\xE2\x80\xA6");
    // 13 = 8 + 1 + 4; nothing is dropped inside brackets
    expect_fit_name("a::reduce<b::Sum>", 13, "reduce<b\xE2\x80\xA6Sum>");
    expect_fit_name("a::", 3, "a::");
}
