// Folded stacks: which lines count, what they weigh, and where the bad ones are.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/folded_read.h"
#include "tests/unit/unit.h"

static struct gp_buf seen;

static void see(void *ctx, const char *stack, size_t n, int64_t weight)
{
    (void)ctx;
    gp_buf_printf(&seen, "%.*s=%lld|", (int)n, stack, (long long)weight);
}

static int read_bytes(const char *text, size_t n, struct gp_folded_stats *st, struct gp_err *err)
{
    struct gp_input *in = gp_input_memory(text, n, 1);
    gp_buf_release(&seen);
    int rc = gp_folded_read(in, see, NULL, NULL, NULL, st, err);
    gp_input_close(in);
    return rc;
}

static void expect(const char *text, const char *want, uint64_t bad, int64_t first_bad)
{
    struct gp_folded_stats st;
    struct gp_err err = {0};
    assert_int_equal(read_bytes(text, strlen(text), &st, &err), 0);
    assert_string_equal(gp_buf_str(&seen), want);
    assert_int_equal(st.bad, bad);
    assert_int_equal(st.first_bad, first_bad);
    assert_int_equal(st.bytes, strlen(text));
    gp_buf_release(&seen);
}

TEST(the_last_space_comes_before_the_weight)
{
    expect("main;a b;c 12\nmain 3", "main;a b;c=12|main=3|", 0, -1);
    expect("main 3\r\n\n  \nmain;x\t0\n", "main=3|main;x=0|", 0, -1);
}

TEST(fractions_are_rounded) { expect("a 1.5\na 1.49\na 2.\na .7\n", "a=2|a=1|a=2|a=1|", 0, -1); }

TEST(of_two_columns_the_last_counts)
{
    expect("a;b 10 12\n", "a;b=12|", 0, -1);
    expect("10 12\n", "10=12|", 0, -1);
}

TEST(bad_lines_are_counted_and_located)
{
    /* "a 1\n" is 4 bytes */
    expect("a 1\nb\nc x\nd -1\ne 1e3\n7\n.\nf .\ng 2\n", "a=1|g=2|", 7, 4);
    expect("a 9223372036854775807\na 9223372036854775808\n", "a=9223372036854775807|", 1, 22);
}

TEST(input_without_a_good_line_is_refused)
{
    struct gp_folded_stats st;
    struct gp_err err = {0};
    assert_int_equal(read_bytes("", 0, &st, &err), -1);
    assert_int_equal(err.code, GP_E_FORMAT);
    assert_int_equal(read_bytes("\nhello\n", 7, &st, &err), -1);
    assert_int_equal(err.offset, 1);
}

TEST(lines_longer_than_the_limit_are_bad)
{
    struct gp_buf text = {0};
    gp_buf_puts(&text, "a 1\n");
    for (size_t i = 0; i < GP_FOLDED_LINE_MAX + (3 << 18); i++) gp_buf_putc(&text, 'x');
    gp_buf_puts(&text, ";y 5\nb 2\n");
    struct gp_folded_stats st;
    assert_int_equal(read_bytes(text.data, text.n, &st, NULL), 0);
    assert_string_equal(gp_buf_str(&seen), "a=1|b=2|");
    assert_int_equal(st.lines, 3);
    assert_int_equal(st.bad, 1);
    assert_int_equal(st.first_bad, 4);
    gp_buf_release(&seen);
    gp_buf_release(&text);
}

TEST(lines_may_cross_chunks)
{
    struct gp_buf text = {0}, want = {0};
    /* 40,000 lines of 9 to 14 bytes: more than one chunk of any size up to 360,000 */
    for (int i = 0; i < 40000; i++) {
        gp_buf_printf(&text, "main;f %d\n", i);
        gp_buf_printf(&want, "main;f=%d|", i);
    }
    struct gp_folded_stats st;
    assert_int_equal(read_bytes(text.data, text.n, &st, NULL), 0);
    assert_string_equal(gp_buf_str(&seen), gp_buf_str(&want));
    assert_int_equal(st.lines, 40000);
    gp_buf_release(&seen);
    gp_buf_release(&text);
    gp_buf_release(&want);
}

static bool sniff(const char *s) { return gp_folded_sniff((const uint8_t *)s, strlen(s)); }

TEST(folded_text_is_told_from_everything_else)
{
    assert_true(sniff("main;a;b 12\n"));
    assert_true(sniff("main;a;b 12"));
    assert_true(sniff("[unknown];main 7\nmain 3\n"));
    assert_true(sniff("{lambda()#1}::x;main 7\n"));
    assert_true(sniff("\xc3\xa9t\xc3\xa9 1\n"));
    assert_false(sniff(""));
    assert_false(sniff("hello world\n"));
    assert_false(sniff("{\"traceEvents\": 1\n"));
    assert_false(sniff("[ {\"ts\": 1\n"));
    assert_false(sniff("[\n 5\n 6\n"));
    assert_false(gp_folded_sniff((const uint8_t *)"a\0b 1\n", 6));
    assert_false(sniff("one\ntwo\nthree 3\n"));
}
