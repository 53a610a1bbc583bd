// The members of extra text: every kind of value, and text that ends too early.
#include <stdlib.h>

#include "analyze/names/args.h"
#include "tests/unit/unit.h"

static bool has(const char **at, const char *key, const char *value, bool is_text)
{
    struct gp_arg a;
    return gp_args_next(at, &a) && gp_arg_is(&a, key) && a.n == strlen(value) &&
           !memcmp(a.value, value, a.n) && a.is_text == is_text;
}

TEST(test_every_kind_of_value)
{
    const char *at = "{\"a\": 12 ,\"b\":\"x, \\\"y\\\"\", \"c\":[1,[\"]\",2]],\"d\":{\"e\":1}, \"f\":true}";
    struct gp_arg a;
    assert_true(has(&at, "a", "12", false));
    assert_true(has(&at, "b", "x, \\\"y\\\"", true));
    assert_true(has(&at, "c", "[1,[\"]\",2]]", false));
    assert_true(has(&at, "d", "{\"e\":1}", false));
    assert_true(has(&at, "f", "true", false));
    assert_false(gp_args_next(&at, &a));
}

TEST(test_numbers)
{
    const char *at = "{\"a\":18446744073709551615,\"b\":\"7\",\"c\":-1,\"d\":\"\"}";
    struct gp_arg a;
    uint64_t v = 3;
    assert_true(gp_args_next(&at, &a) && gp_arg_u64(&a, &v));
    assert_true(v == UINT64_MAX);
    assert_true(gp_args_next(&at, &a) && gp_arg_u64(&a, &v));
    assert_int_equal(v, 7);
    assert_true(gp_args_next(&at, &a));
    assert_false(gp_arg_u64(&a, &v));
    assert_true(gp_args_next(&at, &a));
    assert_false(gp_arg_u64(&a, &v));
    assert_int_equal(v, 7);
}

TEST(test_text_that_ends_early)
{
    static const char whole[] = "{\"a\":\"b\\\"\",\"c\":[\"d\",{\"e\":1}],\"f\":2}";
    for (size_t n = 0; n < sizeof whole; n++) {
        char *text = malloc(n + 1); /* exactly as long, so that reading on is seen */
        memcpy(text, whole, n);
        text[n] = 0;
        const char *at = text;
        struct gp_arg a;
        int members = 0;
        while (gp_args_next(&at, &a)) members++;
        assert_true(members <= 3);
        assert_true(at <= text + n);
        free(text);
    }
}
