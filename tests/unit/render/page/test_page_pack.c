// Packed data in a page: base64 and deflate undone by decoders of another hand (the test's own base64, zlib's
// inflate).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/base/count.h"
#include "render/page/page_pack.h"
#include "tests/unit/unit.h"

static int value_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

// The bytes of the element with that id; *N bytes. The caller frees.
static uint8_t *unpack(const char *page, const char *id, size_t *n)
{
    char tag[100];
    snprintf(tag, sizeof tag, "<script type=\"application/octet-stream\" id=\"%s\">", id);
    const char *at = strstr(page, tag);
    assert_non_null(at);
    at += strlen(tag);
    size_t len = strcspn(at, "<"), raw_n = 0;
    assert_int_equal(len % 4, 0);
    uint8_t *raw = malloc(len + 1);
    uint32_t bits = 0;
    for (size_t i = 0; i < len && at[i] != '='; i++) {
        assert_true(value_of(at[i]) >= 0);
        bits = bits << 6 | (uint32_t)value_of(at[i]);
        if (i % 4) raw[raw_n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    uLongf most = 1 << 20;
    uint8_t *data = malloc(most);
    assert_int_equal(uncompress(data, &most, raw, raw_n), Z_OK);
    *n = most;
    free(raw);
    return data;
}

TEST(what_goes_in_comes_out)
{
    // 0 and 1 bytes, one and two bytes beyond whole groups of three, more than one piece of output
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 1000, 300000};
    for (size_t k = 0; k < GP_COUNT(sizes); k++) {
        uint8_t *data = malloc(sizes[k] + 1);
        uint32_t x = 12345;
        for (size_t i = 0; i < sizes[k]; i++) data[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
        struct gp_buf b = {0};
        struct gp_svg w = {.out = &b, .html = true};
        gp_page_pack(&w, "data", data, sizes[k]);
        size_t n;
        uint8_t *back = unpack(gp_buf_str(&b), "data", &n);
        assert_int_equal(n, sizes[k]);
        assert_memory_equal(back, data, n);
        assert_null(strstr(gp_buf_str(&b), "data.1"));
        free(back);
        free(data);
        gp_buf_release(&b);
    }
}

TEST(numbers_are_leb128)
{
    struct gp_buf b = {0};
    gp_pack_u64(&b, 0);
    gp_pack_u64(&b, 127);
    gp_pack_u64(&b, 300); // 300 = 2 * 128 + 44
    gp_pack_i64(&b, -1);
    gp_pack_i64(&b, 64);
    gp_pack_u64(&b, UINT64_MAX);
    static const uint8_t expected[] = {0,   127, 128 + 44, 2,   1,   128, 1,   255, 255,
                                       255, 255, 255,      255, 255, 255, 255, 1};
    assert_int_equal(b.n, sizeof expected);
    assert_memory_equal(b.data, expected, sizeof expected);
    gp_buf_release(&b);
}

TEST(text_is_made_fit_to_read)
{
    struct gp_buf b = {0};
    gp_pack_text(&b, "a\xff\n", 3); // a byte that is not UTF-8, and a control character as its picture
    static const char expected[] = "\7a\xEF\xBF\xBD\xE2\x90\x8A";
    assert_int_equal(b.n, 8);
    assert_memory_equal(b.data, expected, 8);
    gp_buf_release(&b);
}
