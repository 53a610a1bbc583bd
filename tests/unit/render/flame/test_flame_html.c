// The page of a flame graph: what is packed in it, taken apart by the test's own base64 and zlib's inflate.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/stacks/stacks.h"
#include "formats/base/buf.h"
#include "render/flame/flame_priv.h"
#include "tests/unit/unit.h"

#define HOSTILE "</script><script>alert(1)</script><!--"

static struct gp_flame folded(const char *const *stacks, const int64_t *weights, size_t n)
{
    struct gp_stacks *b = gp_stacks_new(&(struct gp_stacks_opts){0}, NULL);
    for (size_t i = 0; i < n; i++) gp_stacks_add_folded(b, stacks[i], strlen(stacks[i]), weights[i]);
    struct gp_flame f;
    gp_stacks_finish(b, 0, &f);
    return f;
}

static int value_of(char c)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

// The bytes that the element ID holds. The caller frees.
static uint8_t *unpack(const char *page, const char *id, size_t *n)
{
    char tag[100];
    snprintf(tag, sizeof tag, " id=\"%s\">", id);
    const char *at = strstr(page, tag);
    assert_non_null(at);
    at += strlen(tag);
    uint8_t *raw = malloc(strlen(at)), *data = malloc(1 << 16);
    size_t raw_n = 0;
    uint32_t bits = 0;
    for (size_t i = 0; value_of(at[i]) >= 0; i++) {
        bits = bits << 6 | (uint32_t)value_of(at[i]);
        if (i % 4) raw[raw_n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    uLongf len = 1 << 16;
    assert_int_equal(uncompress(data, &len, raw, raw_n), Z_OK);
    free(raw);
    *n = len;
    return data;
}

TEST(trees_are_columns_in_the_order_of_the_input)
{
    // root(0) > b > c(300), a(5) > c(7): depth first in the order in which they were met, b before a
    static const char *const stacks[] = {"b;c", "a;c", "a"};
    static const int64_t weights[] = {300, 7, 5};
    struct gp_flame f = folded(stacks, weights, 3);
    struct gp_buf page = {0};
    gp_flame_html_write(&page, &f, 1, &(struct gp_flame_html_opts){.samples = true});
    size_t n;
    uint8_t *data = unpack(gp_buf_str(&page), "flame-trees", &n);
    // five nodes; levels left on the way to each: b 0, c 0, a 2, c 0; frames b, c, a, c by first use; their
    // own weights after that of the root, of which 300 is 2 * 128 + 44
    static const uint8_t expected[] = {5, 0, 0, 2, 0, 0, 1, 2, 1, 0, 0, 128 + 44, 2, 5, 7};
    assert_int_equal(n, sizeof expected);
    assert_memory_equal(data, expected, n);
    free(data);
    data = unpack(gp_buf_str(&page), "flame-frames", &n);
    // three frames of kind 0, each with one full name, which is the label, none from samples
    static const uint8_t frames[] = {3, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 'b', 0, 1, 'c', 0, 1, 'a', 0};
    assert_int_equal(n, sizeof frames);
    assert_memory_equal(data, frames, n);
    free(data);
    gp_buf_release(&page);
    gp_flame_release(&f);
}

TEST(names_and_words_are_never_markup)
{
    static const char *const stacks[] = {HOSTILE ";b"};
    static const int64_t weights[] = {1};
    struct gp_flame f = folded(stacks, weights, 1);
    struct gp_buf page = {0};
    gp_flame_html_write(&page, &f, 1,
                        &(struct gp_flame_html_opts){.title = HOSTILE, .input = HOSTILE, .note = HOSTILE});
    const char *text = gp_buf_str(&page);
    assert_null(strstr(text, "<script>alert"));
    assert_null(strstr(text, "<!--"));
    assert_non_null(strstr(text, "default-src 'none'"));
    assert_non_null(strstr(text, "&lt;/script&gt;&lt;script&gt;alert(1)"));
    gp_buf_release(&page);
    gp_flame_release(&f);
}

TEST(nothing_is_a_page_too)
{
    struct gp_flame f = folded(NULL, NULL, 0);
    struct gp_buf page = {0};
    gp_flame_html_write(&page, &f, 1, &(struct gp_flame_html_opts){.empty = "Nothing here"});
    assert_non_null(strstr(gp_buf_str(&page), "Nothing here"));
    assert_non_null(strstr(gp_buf_str(&page), "</html>"));
    gp_buf_release(&page);
    gp_flame_release(&f);
}
