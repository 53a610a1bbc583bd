// The base modules that have no test of their own: err, mem, vec, buf, intern, map.
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/intern.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/base/order.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"
#include "tests/unit/unit.h"

TEST(fail_fills_the_error_and_context_goes_before_it)
{
    struct gp_err err = {0};
    assert_int_equal(gp_fail(&err, GP_E_SYNTAX, 17, "bad %s", "digit"), -1);
    assert_int_equal(gp_err_context(&err, "%s", "a.json"), -1);
    assert_string_equal(err.msg, "a.json: bad digit");
    assert_int_equal(err.code, GP_E_SYNTAX);
    assert_int_equal(err.offset, 17);
    assert_int_equal(gp_fail(NULL, GP_E_IO, -1, "nobody listens"), -1);
}

TEST(a_long_message_is_cut_and_stays_a_string)
{
    struct gp_err err = {0};
    gp_fail(&err, GP_E_IO, -1, "%0500d", 1);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    gp_err_context(&err, "%0300d", 2);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    gp_err_context(&err, "%0600d", 3); // does not fit at all: the message is kept
    assert_int_equal(err.msg[299], '2');
}

TEST(arena_memory_is_aligned_and_survives_growth)
{
    struct gp_arena a = {0};
    char *first = gp_arena_strndup(&a, "abc\0def", 7);
    for (int i = 0; i < 1000; i++) assert_int_equal((uintptr_t)gp_arena_alloc(&a, (size_t)i * 7) % 16, 0);
    char *big = gp_arena_zalloc(&a, 3 << 20);
    assert_int_equal(big[(3 << 20) - 1], 0);
    assert_memory_equal(first, "abc\0def\0", 8);
    gp_arena_release(&a);
    assert_null(a.head);
}

TEST(vectors_grow_and_keep_what_they_hold)
{
    GP_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) GP_VEC_PUSH(&v, i);
    assert_int_equal(v.n, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(v.at[i], i);
    GP_VEC_RESERVE(&v, 5000);
    assert_true(v.cap >= 5000);
    GP_VEC_FREE(&v);
    assert_int_equal(v.cap, 0);
}

TEST(each_element_is_gone_through_once)
{
    int array[] = {3, 1, 4, 1, 5}, *none = NULL, sum = 0, n = 0;
    GP_VEC(int) v = {0}, empty = {0};
    GP_EACH_OF(const int, p, array, GP_COUNT(array)) GP_VEC_PUSH(&v, *p);
    GP_EACH(int, p, v) sum = sum * 10 + *p;
    assert_int_equal(sum, 31415);
    GP_EACH(int, p, empty) n++;
    GP_EACH_OF(int, p, none, 0) n++;
    GP_EACH_OF(int, p, array, 0) n++;
    assert_int_equal(n, 0);
    GP_VEC_FREE(&v);
}

TEST(buffers_print_every_integer)
{
    struct gp_buf b = {0};
    gp_buf_put_i64(&b, INT64_MIN);
    gp_buf_putc(&b, ' ');
    gp_buf_put_i64(&b, 0);
    gp_buf_putc(&b, ' ');
    gp_buf_put_u64(&b, UINT64_MAX);
    assert_string_equal(gp_buf_str(&b), "-9223372036854775808 0 18446744073709551615");
    gp_buf_release(&b);
}

TEST(printf_grows_the_buffer)
{
    struct gp_buf b = {0};
    gp_buf_puts(&b, "x");
    gp_buf_printf(&b, "%05000d", 7);
    assert_int_equal(b.n, 5001);
    assert_int_equal(gp_buf_str(&b)[5000], '7');
    gp_buf_release(&b);
}

TEST(equal_bytes_get_one_number_in_order_of_appearance)
{
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

TEST(a_map_finds_every_key_it_was_given)
{
    struct gp_map m = {0};
    assert_null(gp_map_get(&m, 0));
    for (uint32_t i = 0; i < 10000; i++) *gp_map_put(&m, (uint64_t)i << 40, UINT32_MAX) = i; // equal low bits
    for (uint32_t i = 0; i < 10000; i++) assert_int_equal(*gp_map_get(&m, (uint64_t)i << 40), i);
    assert_int_equal(*gp_map_put(&m, 0, 7), 0); // known: the default is not taken
    assert_int_equal(*gp_map_put(&m, UINT64_MAX, 7), 7);
    assert_null(gp_map_get(&m, 1));
    gp_map_release(&m);
}

/* ---- keys that are chosen by whoever writes a file ---- */

enum { FLOOD = 1 << 14 };

/* How far keys lie from where their hash says, in all: the steps that looking for each of them once takes. */
static size_t steps_of_map(const struct gp_map *m)
{
    size_t steps = 0;
    for (size_t i = 0; i <= m->mask; i++)
        if (m->used[i]) steps += (i - (size_t)gp_hash_u64(m->keys[i], m->seed)) & m->mask;
    return steps;
}

static size_t steps_of_strings(const struct gp_strings *s)
{
    size_t steps = 0;
    for (size_t i = 0; i <= s->mask; i++)
        if (s->slots[i]) steps += (i - (size_t)s->hash[s->slots[i] - 1]) & s->mask;
    return steps;
}

/* A table that is half full takes half a step per key on average; a quarter of a million would be one slot
 * for all. */
TEST(keys_cannot_be_chosen_to_meet_in_a_map)
{
    const uint64_t inverse =
        0xf1de83e19937733d; /* of 0x9e3779b97f4a7c15, which an unseeded hash multiplies with */
    assert_true(inverse * 0x9e3779b97f4a7c15 == 1);
    for (int kind = 0; kind < 4; kind++) {
        struct gp_map m = {0};
        for (uint64_t i = 1; i <= FLOOD; i++) {
            const uint64_t keys[] = {i * 0x100000001 * inverse, i << 40, i << 49, i * 0x100000001};
            gp_map_put(&m, keys[kind], 0);
        }
        assert_int_equal(m.n, FLOOD);
        assert_true(steps_of_map(&m) < 4 * FLOOD);
        gp_map_release(&m);
    }
}

/* Two of their three words are what the hash's secret cancels, so that the third one does not count: the
 * stored hash, which has no seed, is the same for all. */
TEST(names_cannot_be_chosen_to_meet_in_a_table)
{
    const uint64_t first = 0xbe4ba423396cfeb8, last = 0x1f67b3b7a4a44072;
    struct gp_strings s = {0};
    for (uint64_t i = 0; i < FLOOD; i++) {
        const uint64_t name[3] = {first, i, last};
        assert_true(gp_hash_bytes(name, sizeof name) ==
                    gp_hash_bytes((uint64_t[]){first, 0, last}, sizeof name));
        gp_intern(&s, (const char *)name, sizeof name);
    }
    assert_int_equal(s.n, FLOOD + 1);
    assert_true(steps_of_strings(&s) < 4 * FLOOD);
    gp_strings_release(&s);
}

TEST(values_are_sorted_up_and_down)
{
    int64_t a[] = {3, INT64_MIN, INT64_MAX, -1};
    qsort(a, 4, sizeof *a, gp_order_i64);
    assert_true(a[0] == INT64_MIN && a[1] == -1 && a[2] == 3 && a[3] == INT64_MAX);
    qsort(a, 4, sizeof *a, gp_order_i64_down);
    assert_true(a[0] == INT64_MAX && a[1] == 3 && a[2] == -1 && a[3] == INT64_MIN);
    uint64_t b[] = {UINT64_MAX, 0, INT64_MAX};
    qsort(b, 3, sizeof *b, gp_order_u64);
    assert_true(b[0] == 0 && b[1] == INT64_MAX && b[2] == UINT64_MAX);
    const char *texts[] = {"b", "", "a"};
    qsort(texts, 3, sizeof *texts, gp_order_text);
    assert_string_equal(texts[0], "");
    assert_string_equal(texts[2], "b");
    assert_int_equal(GP_ORDER(1, 2), -1);
    assert_int_equal(GP_ORDER(2, 2), 0);
}

struct ordered {
    int group;
    double weight;
    const char *name;
};

GP_COMPARE(by_keys, struct ordered,
           GP_UP(group) GP_DOWN(weight) GP_KEY(x->name[0] == 'z', y->name[0] == 'z')
               GP_THEN(gp_order_bytes(x->name, strlen(x->name), y->name, strlen(y->name))))

TEST(each_key_counts_where_those_before_it_are_equal)
{
    struct ordered a[] = {{2, 9, "a"}, {1, 3, "zero"}, {1, 3, "ab"}, {1, 3, "a"}, {1, 4, "zoo"}, {1, 3, "b"}};
    static const char *const sorted[] = {"zoo", "a", "ab", "b", "zero", "a"};
    qsort(a, GP_COUNT(a), sizeof *a, by_keys);
    for (size_t i = 0; i < GP_COUNT(a); i++) assert_string_equal(a[i].name, sorted[i]);
    assert_int_equal(a[5].group, 2);
    assert_int_equal(by_keys(&a[1], &a[2]), -1);
    assert_int_equal(by_keys(&a[2], &a[1]), 1);
    assert_int_equal(by_keys(&a[3], &a[3]), 0);
}

TEST(a_search_finds_the_first_place_that_is_not_before)
{
    static const int sorted[] = {1, 3, 3, 3, 8};
    static const size_t place[] = {0, 0, 1, 1, 4, 4, 4, 4, 4, 5};
    for (int value = 0; value < 10; value++) {
        GP_SEARCH(at, 0, GP_COUNT(sorted), mid, sorted[mid] < value);
        assert_int_equal(at, place[value]);
    }
    GP_SEARCH(none, 2, 2, mid, sorted[mid] < 9);
    assert_int_equal(none, 2);
    uint32_t lo = 1, hi = 4;
    GP_NARROW(lo, hi, mid, sorted[mid] <= 3);
    assert_int_equal(lo, 4);
}

GP_COMPARE_IN(by_rank, unsigned, unsigned, GP_KEY(of[*x % 7], of[*y % 7]))

TEST(rows_are_sorted_by_what_they_stand_for_and_equal_ones_stay_in_order)
{
    static const unsigned rank[] = {3, 0, 2, 2, 1, 0, 3};
    for (unsigned n = 0; n <= 70; n++) {
        unsigned rows[70];
        for (unsigned i = 0; i < n; i++) rows[i] = i;
        gp_sort_in(n ? rows : NULL, n, sizeof *rows, by_rank, rank);
        unsigned long seen = 0;
        for (unsigned i = 0; i < n; i++) seen += rows[i];
        assert_int_equal(seen, n ? (unsigned long)n * (n - 1) / 2 : 0);
        for (unsigned i = 1; i < n; i++) {
            unsigned before = rank[rows[i - 1] % 7], after = rank[rows[i] % 7];
            assert_true(before < after || (before == after && rows[i - 1] < rows[i]));
        }
    }
}

const char *gp_test_word(int value);
GP_WORDS(gp_test_word, int, "none", "one", "two")

TEST(a_value_without_a_word_has_the_first)
{
    assert_string_equal(gp_test_word(2), "two");
    assert_string_equal(gp_test_word(3), "none");
    assert_string_equal(gp_test_word(-1), "none");
}

TEST(choices_and_parts_are_whole_and_inside)
{
    assert_true(gp_is_choice("off|first|all", "first") && gp_is_choice("off|first|all", "all"));
    assert_false(gp_is_choice("off|first|all", "fir") || gp_is_choice("off|first|all", "first|all"));
    assert_false(gp_is_choice("", "off") || gp_is_choice("off", ""));
    assert_true(gp_contains("abcabd", 6, "abd") && gp_contains("abc", 3, ""));
    assert_false(gp_contains("abcabd", 5, "abd") || gp_contains("ab", 2, "abc"));
}

TEST(only_ascii_digits_are_digits)
{
    int n = 0;
    for (int c = 0; c < 256; c++) n += gp_is_digit((char)c);
    assert_int_equal(n, 10);
    assert_true(gp_is_digit('0') && gp_is_digit('9'));
}
