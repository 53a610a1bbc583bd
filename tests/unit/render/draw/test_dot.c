// Texts of graphs for Graphviz: they stay within their quotes, and are short enough for it.
#include <stdbool.h>
#include <string.h>
#include "formats/base/buf.h"
#include "render/draw/text.h"
#include "tests/unit/unit.h"

TEST(quotes_and_backslashes_are_escaped)
{
    struct gp_buf b = {0};
    gp_dot_text(&b, "a\"b\\c", strlen("a\"b\\c"));
    assert_string_equal(gp_buf_str(&b), "a\\\"b\\\\c");
    gp_buf_release(&b);
}

/* N times WHAT, as a text of a graph: how long it is, and whether it ends in an ellipsis. */
static void expect(const char *what, size_t n, size_t bytes, bool cut)
{
    struct gp_buf in = {0}, out = {0};
    gp_buf_puts(&out, "x");
    for (size_t i = 0; i < n; i++) gp_buf_puts(&in, what);
    gp_dot_text(&out, in.data, in.n);
    const char *text = gp_buf_str(&out), *end = text + strlen(text);
    size_t mark = strlen("\u2026");
    assert_int_equal(!memcmp(end - mark, "\u2026", mark), cut);
    assert_int_equal(strlen(text) - 1 - (cut ? mark : 0), bytes);
    /* whole characters, all as they were */
    for (size_t i = 0; i < bytes; i += strlen(what)) assert_memory_equal(text + 1 + i, what, strlen(what));
    gp_buf_release(&in);
    gp_buf_release(&out);
}

TEST(a_long_text_is_cut_at_a_character)
{
    expect("a", 16000, 16000, false);
    expect("a", 16001, 16000, true);
    expect("a", 100000, 16000, true);
    expect("\u65e5", 5333, 15999, false);
    expect("\u65e5", 5335, 16002, true); /* the character that passes the limit is whole */
}
