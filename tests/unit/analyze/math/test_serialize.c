// Saving and loading of numbers, strings and vectors; bytes that make no sense.
#include <stdlib.h>

#include <string.h>
#include "analyze/math/serialize.h"
#include "formats/base/buf.h"
#include "tests/unit/unit.h"

struct thing {
    uint64_t u64;
    int64_t i64;
    uint32_t u32;
    int32_t i32;
    bool flag;
    double real;
    gp_sid text;
};

static void serialize_thing(struct gp_serializer *x, struct thing *t)
{
    gp_serialize_u64(x, &t->u64);
    gp_serialize_i64(x, &t->i64);
    gp_serialize_u32(x, &t->u32);
    gp_serialize_i32(x, &t->i32);
    gp_serialize_bool(x, &t->flag);
    gp_serialize_double(x, &t->real);
    gp_serialize_str(x, &t->text);
}

struct box {
    struct gp_strings strings;
    GP_VEC(struct thing) things;
};

static void serialize_box(struct gp_serializer *x, struct box *b)
{
    GP_SERIALIZE_VEC(x, &b->things, serialize_thing);
}

static void release(struct box *b)
{
    gp_strings_release(&b->strings);
    GP_VEC_FREE(&b->things);
}

static struct gp_buf save_three(struct box *b)
{
    gp_sid name = gp_intern(&b->strings, "a\0b", 3);
    GP_VEC_PUSH(&b->things, (struct thing){0, 0, 0, 0, false, 0, 0});
    GP_VEC_PUSH(&b->things, (struct thing){UINT64_MAX, INT64_MIN, UINT32_MAX, INT32_MIN, true, -0.1, name});
    GP_VEC_PUSH(&b->things, (struct thing){127, INT64_MAX, 128, INT32_MAX, true, 1e300, name});
    struct gp_buf bytes = {0};
    struct gp_serializer x = {.save = &bytes, .strings = &b->strings};
    serialize_box(&x, b);
    return bytes;
}

static bool load(struct box *b, const void *data, size_t n)
{
    memset(b, 0, sizeof *b);
    const uint8_t *p = data;
    struct gp_serializer x = {.load = p, .end = p + n, .strings = &b->strings};
    serialize_box(&x, b);
    return !x.failed && x.load == x.end;
}

TEST(test_round_trip)
{
    struct box from = {0}, to;
    struct gp_buf bytes = save_three(&from);
    assert_true(load(&to, bytes.data, bytes.n));
    assert_int_equal(to.things.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct thing *a = &from.things.at[i], *b = &to.things.at[i];
        assert_true(a->u64 == b->u64 && a->i64 == b->i64 && a->u32 == b->u32 && a->i32 == b->i32);
        assert_true(a->flag == b->flag && a->real == b->real);
        assert_int_equal(gp_string_len(&to.strings, b->text), i ? 3 : 0);
        assert_memory_equal(gp_string(&to.strings, b->text), i ? "a\0b" : "", i ? 4 : 1);
    }
    release(&from);
    release(&to);
    gp_buf_release(&bytes);
}

TEST(test_cut_anywhere_fails)
{
    struct box from = {0}, to;
    struct gp_buf bytes = save_three(&from);
    for (size_t n = 0; n < bytes.n; n++) {
        uint8_t *copy = gp_alloc(n); /* of its own, so that a sanitizer sees a byte read too many */
        memcpy(copy, bytes.data, n);
        assert_false(load(&to, copy, n));
        release(&to);
        free(copy);
    }
    release(&from);
    gp_buf_release(&bytes);
}

static void expect_zero(void (*fn)(struct gp_serializer *), const char *bytes, size_t n)
{
    struct gp_strings strings = {0};
    struct gp_serializer x = {
        .load = (const uint8_t *)bytes, .end = (const uint8_t *)bytes + n, .strings = &strings};
    fn(&x);
    assert_true(x.failed);
    uint64_t after = 1;
    gp_serialize_u64(&x, &after);
    assert_int_equal(after, 0);
    gp_strings_release(&strings);
}

static void a_u32(struct gp_serializer *x)
{
    uint32_t v = 1;
    gp_serialize_u32(x, &v);
    assert_int_equal(v, 0);
}

static void an_i32(struct gp_serializer *x)
{
    int32_t v = 1;
    gp_serialize_i32(x, &v);
    assert_int_equal(v, 0);
}

static void a_bool(struct gp_serializer *x)
{
    bool v = true;
    gp_serialize_bool(x, &v);
    assert_false(v);
}

static void a_string(struct gp_serializer *x)
{
    gp_sid v = 1;
    gp_serialize_str(x, &v);
    assert_int_equal(v, 0);
}

static void a_count(struct gp_serializer *x) { assert_int_equal(gp_serialize_count(x, 0, 4), 0); }

TEST(test_what_does_not_fit_fails)
{
    expect_zero(a_u32, "\x80\x80\x80\x80\x10", 5);                      /* 2^32 */
    expect_zero(an_i32, "\x80\x80\x80\x80\x10", 5);                     /* 2^31, zigzag */
    expect_zero(a_u32, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10); /* 65 bits */
    expect_zero(a_bool, "\x02", 1);
    expect_zero(a_string,
                "\x04"
                "abc",
                4);
    expect_zero(a_count,
                "\x02"
                "1234567",
                8); /* two of four bytes each, and seven are left */
}
