// JSON text: where values end, what strings say, and the repair of what is not quite JSON.
#include <stdio.h>
#include <string.h>

#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/json_scan.h"
#include "tests/unit/unit.h"

/* The text with the zero bytes that the scanner wants, at an odd address. */
static char room[4096];

static const char *pad(const char *text, const char **end)
{
    size_t n = strlen(text);
    memset(room, 0, sizeof room);
    memcpy(room + 1, text, n);
    *end = room + 1 + n;
    return room + 1;
}

static void value_is(const char *text, enum gp_json_kind kind, const char *want, size_t used)
{
    const char *end, *at, *p = pad(text, &end);
    struct gp_json_value v;
    const char *q = gp_json_value(p, end, &v, &at);
    if (!q) fail_msg("%s: no value", text);
    assert_int_equal(v.kind, kind);
    assert_int_equal(v.n, strlen(want));
    assert_memory_equal(v.p, want, v.n);
    assert_int_equal(q - p, used);
}

TEST(values_end_where_they_end)
{
    value_is("\"abc\",", GP_JSON_STRING, "abc", 5);
    value_is(" \"a\\\"b\" ", GP_JSON_ODD_STRING, "a\\\"b", 7);
    value_is("-12.5e3}", GP_JSON_NUMBER, "-12.5e3", 7);
    value_is("null]", GP_JSON_WORD, "null", 4);
    value_is("N/A,", GP_JSON_BARE, "N/A", 3);
    value_is("-,", GP_JSON_BARE, "-", 1);
    value_is("[1,[2],\"]\\\"]\"] ", GP_JSON_ARRAY, "[1,[2],\"]\\\"]\"]", 14);
    value_is("{\"a\":{}} ", GP_JSON_OBJECT, "{\"a\":{}}", 8);
}

static void fails_at(const char *text, size_t want)
{
    const char *end, *at = NULL, *p = pad(text, &end);
    struct gp_json_value v;
    assert_null(gp_json_value(p, end, &v, &at));
    assert_int_equal(at - p, want);
}

TEST(a_value_that_is_cut_fails_at_the_end)
{
    fails_at("\"abc", 4);
    fails_at("\"abc\\", 5);
    fails_at("\"abc\\\"", 6);
    fails_at("[1,2", 4);
    fails_at("[\"]", 3);
    fails_at("12", 2);
    fails_at("nul", 3);
    fails_at("", 0);
    fails_at(":", 0);
}

/* A bracket or quote at every place around the borders of the blocks that are looked at together. */
TEST(containers_of_every_length_are_found)
{
    char text[512];
    for (int n = 0; n < 300; n++) {
        int len = snprintf(text, sizeof text, "[\"%*s\\\\\\\"]\",{}]x", n, "");
        const char *end, *at, *p = pad(text, &end);
        const char *q = gp_json_container_end(p, end, &at);
        assert_non_null(q);
        assert_int_equal(q - p, len - 1);
    }
}

/* Backslashes in runs of any length, across the blocks that are searched at once, against a walk byte by
 * byte. */
TEST(strings_with_escapes_end_at_the_quote)
{
    enum { LENGTH = 200, TRIES = 20000 };
    static const char letters[] = "\\\\\"ab\\a{]aaaaaaa";
    uint32_t seed = 1;
    for (int i = 0; i < TRIES; i++) {
        char text[LENGTH + 1];
        size_t n = 0, want = 0;
        while (n < LENGTH && (seed = seed * 1664525u + 1013904223u) >> 24)
            text[n++] = letters[(seed >> 16) % (sizeof letters - 1)];
        text[n] = '\0';
        while (want < n && text[want] != '"') want += text[want] == '\\' ? 2 : 1;
        const char *end, *p = pad(text, &end);
        assert_int_equal(gp_json_odd_string_end(p, end) - p, want < n ? want : n);
    }
}

TEST(nesting_has_a_limit)
{
    char text[GP_JSON_DEPTH * 2 + 8];
    const char *end, *at;
    for (int depth = GP_JSON_DEPTH; depth <= GP_JSON_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        const char *p = pad(text, &end), *q = gp_json_container_end(p, end, &at);
        if (depth == GP_JSON_DEPTH) assert_ptr_equal(q, end);
        else assert_null(q);
    }
    assert_int_equal(at - (room + 1), GP_JSON_DEPTH);
}

static void decodes_to(const char *text, const char *want, bool repaired)
{
    struct gp_buf b = {0};
    bool got = gp_json_decode(&b, text, strlen(text));
    assert_string_equal(gp_buf_str(&b), want);
    assert_int_equal(got, repaired);
    gp_buf_release(&b);
}

TEST(strings_are_decoded)
{
    decodes_to("a\\n\\t\\\"\\\\\\/\\b\\f\\r", "a\n\t\"\\/\b\f\r", false);
    decodes_to("\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac", false);
    decodes_to("\\ud83d\\ude00", "\xf0\x9f\x98\x80", false);
    decodes_to("caf\xc3\xa9 \xef\xbf\xbd", "caf\xc3\xa9 \xef\xbf\xbd", false);
}

TEST(strings_are_repaired)
{
    decodes_to("a\nb", "a\nb", true);
    decodes_to("a\\pb", "a\\pb", true);
    decodes_to("\\u12", "\\u12", true);
    decodes_to("\\ud83d!", "\xef\xbf\xbd!", true);
    decodes_to("\\ude00", "\xef\xbf\xbd", true);
    decodes_to("a\xe9z", "a\xef\xbf\xbdz", true);
    decodes_to("a\\", "a\\", true);
}

static void cleans_to(const char *text, const char *want, unsigned changes)
{
    struct gp_buf b = {0};
    unsigned got = 99;
    const char *end, *p = pad(text, &end);
    if (gp_json_clean(&b, p, end, &got)) fail_msg("%s: refused", text);
    assert_string_equal(gp_buf_str(&b), want);
    assert_int_equal(got, changes);
    gp_buf_release(&b);
}

TEST(sound_text_stays_as_it_is)
{
    const char *good[] = {
        "{}", "[]", "1", "{\"a\":[1, 2.5e-3,\n true],\"b\":{\"c\":null}}", "\"\\u00e9\\\\\"", "[[],[[]]]"};
    for (size_t i = 0; i < GP_COUNT(good); i++) cleans_to(good[i], good[i], 0);
}

TEST(what_can_be_repaired_is)
{
    cleans_to("{\"a\":inf,\"b\":N/A}", "{\"a\":\"inf\",\"b\":\"N/A\"}", GP_JSON_CLEANED_WORD);
    cleans_to("[01,1.,.5]", "[\"01\",\"1.\",\".5\"]", GP_JSON_CLEANED_WORD);
    cleans_to("[\"a\nb\"]", "[\"a\\u000ab\"]", GP_JSON_CLEANED_TEXT);
    cleans_to("[\"a\\pb\"]", "[\"a\\\\pb\"]", GP_JSON_CLEANED_TEXT);
    cleans_to("[1,]", "[1 ]", 0);
    cleans_to("{\"a\":1,}", "{\"a\":1 }", 0);
}

TEST(what_cannot_be_repaired_is_refused)
{
    const char *bad[] = {"",    "[1",       "1]",    "[1}",   "{\"a\"}",           "{\"a\":}",
                         "[,]", "[1 2]",    "{1:2}", "[\"a]", "{\"a\":1 \"b\":2}", "[1,,2]",
                         "1 2", "{\"a\",1}"};
    for (size_t i = 0; i < GP_COUNT(bad); i++) {
        struct gp_buf b = {0};
        unsigned changes;
        const char *end, *p = pad(bad[i], &end);
        if (!gp_json_clean(&b, p, end, &changes)) fail_msg("%s: accepted", bad[i]);
        gp_buf_release(&b);
    }
}

TEST(members_and_elements_are_stepped_through)
{
    const char *end, *p = pad("{\"a\": 1, \"b\": [2], }", &end) + 1;
    struct gp_json_value key, v;
    assert_true(gp_json_next(&p, end, &key, &v));
    assert_true(key.n == 1 && *key.p == 'a' && v.kind == GP_JSON_NUMBER);
    assert_true(gp_json_next(&p, end, &key, &v));
    assert_true(key.n == 1 && *key.p == 'b' && v.kind == GP_JSON_ARRAY);
    assert_false(gp_json_next(&p, end, &key, &v));
}

TEST(a_faulty_member_leaves_the_place_where_it_is)
{
    const char *end, *object = pad("{\"a\": 1, \"b\": \x01}", &end), *p = object + 1;
    struct gp_json_value key, v;
    assert_true(gp_json_next(&p, end, &key, &v));
    assert_false(gp_json_next(&p, end, &key, &v));
    assert_ptr_equal(p, object + strlen("{\"a\": 1"));
}
