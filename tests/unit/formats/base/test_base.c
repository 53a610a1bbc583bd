// The base modules that have no test of their own: err, mem, vec, buf, intern, map.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/base/vec.h"

static void fail_fills_the_error_and_context_goes_before_it(void **state)
{
    (void)state;
    struct gp_err err = {0};
    assert_int_equal(gp_fail(&err, GP_E_SYNTAX, 17, "bad %s", "digit"), -1);
    assert_int_equal(gp_err_context(&err, "%s", "a.json"), -1);
    assert_string_equal(err.msg, "a.json: bad digit");
    assert_int_equal(err.code, GP_E_SYNTAX);
    assert_int_equal(err.offset, 17);
    assert_int_equal(gp_fail(NULL, GP_E_IO, -1, "nobody listens"), -1);
}

static void a_long_message_is_cut_and_stays_a_string(void **state)
{
    (void)state;
    struct gp_err err = {0};
    gp_fail(&err, GP_E_IO, -1, "%0500d", 1);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    gp_err_context(&err, "%0300d", 2);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    gp_err_context(&err, "%0600d", 3); // does not fit at all: the message is kept
    assert_int_equal(err.msg[299], '2');
}

static void arena_memory_is_aligned_and_survives_growth(void **state)
{
    (void)state;
    struct gp_arena a = {0};
    char *first = gp_arena_strndup(&a, "abc\0def", 7);
    for (int i = 0; i < 1000; i++) assert_int_equal((uintptr_t)gp_arena_alloc(&a, (size_t)i * 7) % 16, 0);
    char *big = gp_arena_zalloc(&a, 3 << 20);
    assert_int_equal(big[(3 << 20) - 1], 0);
    assert_memory_equal(first, "abc\0def\0", 8);
    gp_arena_release(&a);
    assert_null(a.head);
}

static void vectors_grow_and_keep_what_they_hold(void **state)
{
    (void)state;
    GP_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) GP_VEC_PUSH(&v, i);
    assert_int_equal(v.n, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(v.at[i], i);
    GP_VEC_RESERVE(&v, 5000);
    assert_true(v.cap >= 5000);
    GP_VEC_FREE(&v);
    assert_int_equal(v.cap, 0);
}

static void buffers_print_every_integer(void **state)
{
    (void)state;
    struct gp_buf b = {0};
    gp_buf_put_i64(&b, INT64_MIN);
    gp_buf_putc(&b, ' ');
    gp_buf_put_i64(&b, 0);
    gp_buf_putc(&b, ' ');
    gp_buf_put_u64(&b, UINT64_MAX);
    assert_string_equal(gp_buf_str(&b), "-9223372036854775808 0 18446744073709551615");
    gp_buf_release(&b);
}

static void printf_grows_the_buffer(void **state)
{
    (void)state;
    struct gp_buf b = {0};
    gp_buf_puts(&b, "x");
    gp_buf_printf(&b, "%05000d", 7);
    assert_int_equal(b.n, 5001);
    assert_int_equal(gp_buf_str(&b)[5000], '7');
    gp_buf_release(&b);
}

static void equal_bytes_get_one_number_in_order_of_appearance(void **state)
{
    (void)state;
    struct gp_strings s = {0};
    assert_int_equal(gp_intern_find(&s, "x", 1), UINT32_MAX);
    assert_int_equal(gp_intern(&s, "a", 1), 1); // 0 is the empty string
    assert_int_equal(gp_intern(&s, "a\0b", 3), 2);
    assert_int_equal(gp_intern_cstr(&s, "a"), 1);
    assert_int_equal(gp_intern(&s, "", 0), 0);
    assert_int_equal(gp_string_len(&s, 2), 3);
    for (int i = 0; i < 5000; i++) {
        char name[16];
        int n = snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(gp_intern(&s, name, (size_t)n), 3 + i);
    }
    assert_int_equal(gp_intern_find(&s, "k4999", 5), 3 + 4999);
    assert_string_equal(gp_string(&s, 3), "k0");
    assert_string_equal(gp_string(&s, 99999), ""); // out of range is empty, never a crash
    gp_strings_release(&s);
}

static void a_map_finds_every_key_it_was_given(void **state)
{
    (void)state;
    struct gp_map m = {0};
    assert_null(gp_map_get(&m, 0));
    for (uint32_t i = 0; i < 10000; i++) *gp_map_put(&m, (uint64_t)i << 40, UINT32_MAX) = i; // equal low bits
    for (uint32_t i = 0; i < 10000; i++) assert_int_equal(*gp_map_get(&m, (uint64_t)i << 40), i);
    assert_int_equal(*gp_map_put(&m, 0, 7), 0); // known: the default is not taken
    assert_int_equal(*gp_map_put(&m, UINT64_MAX, 7), 7);
    assert_null(gp_map_get(&m, 1));
    gp_map_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_the_error_and_context_goes_before_it),
        cmocka_unit_test(a_long_message_is_cut_and_stays_a_string),
        cmocka_unit_test(arena_memory_is_aligned_and_survives_growth),
        cmocka_unit_test(vectors_grow_and_keep_what_they_hold),
        cmocka_unit_test(buffers_print_every_integer),
        cmocka_unit_test(printf_grows_the_buffer),
        cmocka_unit_test(equal_bytes_get_one_number_in_order_of_appearance),
        cmocka_unit_test(a_map_finds_every_key_it_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
