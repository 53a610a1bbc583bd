// Folded stacks that every reader of the format reads the same.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/buf.h"
#include "formats/base/output.h"
#include "render/flame/flame_formats.h"
#include "tests/unit/unit.h"

static void expect_frame(const char *name, size_t n, const char *frame)
{
    struct gp_buf b = {0};
    gp_buf_puts(&b, "before;");
    gp_folded_put_frame(&b, name, n);
    assert_string_equal(gp_buf_str(&b) + 7, frame);
    gp_buf_release(&b);
}
#define FRAME(name, frame) expect_frame(name, sizeof name - 1, frame)

TEST(frames_have_no_separator_and_no_control_character)
{
    FRAME("plain<int, 4>(float*)", "plain<int, 4>(float*)");
    FRAME("[with T = int; U = float]", "[with T = int: U = float]");
    FRAME("a\nb\tc\x7F", "a_b_c_");
    FRAME("nul\0here", "nul_here");
    FRAME("line\xE2\x80\xA8separator", "line_separator");
    FRAME("bad\xFFutf8", "bad\xEF\xBF\xBDutf8");
    FRAME("\xE6\xB7\xB1", "\xE6\xB7\xB1");
}

TEST(no_frame_is_empty_or_ends_like_a_number_of_its_own)
{
    FRAME("", "[no name]");
    FRAME("  ", "[no name]");
    FRAME("stream 7", "stream_7");
    FRAME("stream  7", "stream__7");
    FRAME("version 1.5", "version_1.5");
    FRAME("stream 7 ", "stream_7");
    FRAME("a 7 b", "a 7 b");
    FRAME("k7", "k7");
    FRAME("7", "7");
    FRAME("a 7x", "a 7x");
}

static uint32_t child(struct gp_calltree *t, struct gp_strings *s, uint32_t parent, const char *name)
{
    return gp_calltree_child(t, parent, gp_intern_cstr(s, name), GP_FRAME_OP);
}

// What is written for TREE, as a string that the caller frees.
static char *folded(struct gp_calltree *tree, struct gp_strings *strings)
{
    char path[] = "/tmp/gpuprof-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct gp_output *out = gp_output_open(path, NULL);
    assert_non_null(out);
    gp_calltree_finish(tree, strings);
    gp_folded_write(out, tree, strings);
    assert_int_equal(gp_output_close(out, true, NULL), 0);
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 4096);
    assert_true(fread(text, 1, 4095, f) < 4095);
    fclose(f);
    close(fd);
    unlink(path);
    return text;
}

TEST(every_stack_that_weighs_something_is_a_line)
{
    struct gp_strings s = {0};
    struct gp_calltree t = {0};
    uint32_t a = child(&t, &s, GP_CALLTREE_ROOT, "a"), b = child(&t, &s, GP_CALLTREE_ROOT, "b");
    uint32_t leaf = child(&t, &s, child(&t, &s, a, "mid"), "leaf 2");
    gp_calltree_add(&t, leaf, 7);
    gp_calltree_add(&t, leaf, 5);
    gp_calltree_add(&t, a, 1);
    gp_calltree_add(&t, child(&t, &s, a, "zero"), 0); // no line
    gp_calltree_add(&t, b, INT64_C(5000000000));
    char *text = folded(&t, &s);
    assert_string_equal(text, "a 1\na;mid;leaf_2 12\nb 5000000000\n");
    free(text);
    gp_calltree_release(&t);
    gp_strings_release(&s);
}

TEST(weight_of_no_stack_is_not_lost)
{
    struct gp_strings s = {0};
    struct gp_calltree t = {0};
    gp_calltree_add(&t, GP_CALLTREE_ROOT, 3);
    char *text = folded(&t, &s);
    assert_string_equal(text, "all 3\n");
    free(text);
    gp_calltree_release(&t);
    gp_strings_release(&s);
}
