// Longest common subsequences against the quadratic table, and bounded on any input.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/math/lcs.h"
#include "tests/unit/unit.h"

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % n;
}

/* Pairs are of equal symbols and ascend on both sides. */
static void assert_common(const struct gp_lcs *l, const uint32_t *a, size_t na, const uint32_t *b, size_t nb)
{
    for (size_t i = 0; i < l->pairs.n; i++) {
        struct gp_lcs_pair p = l->pairs.at[i];
        assert_true(p.a < na && p.b < nb && a[p.a] == b[p.b]);
        if (i) assert_true(l->pairs.at[i - 1].a < p.a && l->pairs.at[i - 1].b < p.b);
    }
}

static size_t length_by_table(const uint32_t *a, size_t na, const uint32_t *b, size_t nb)
{
    static size_t t[101][101];
    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            if (!i || !j) t[i][j] = 0;
            else if (a[i - 1] == b[j - 1]) t[i][j] = t[i - 1][j - 1] + 1;
            else t[i][j] = t[i - 1][j] > t[i][j - 1] ? t[i - 1][j] : t[i][j - 1];
        }
    return t[na][nb];
}

TEST(small_sequences_have_a_longest_one)
{
    uint64_t seed = 1;
    struct gp_lcs l = {.edits = 512};
    uint32_t a[100], b[100];
    for (int round = 0; round < 3000; round++) {
        size_t na = random_below(&seed, 101), nb = random_below(&seed, 101);
        uint64_t symbols = 1 + random_below(&seed, 30);
        for (size_t i = 0; i < na; i++) a[i] = (uint32_t)random_below(&seed, symbols);
        for (size_t i = 0; i < nb; i++) b[i] = (uint32_t)random_below(&seed, symbols);
        if (round % 3 == 0 && nb)
            memcpy(b, a, (na < nb ? na : nb) * sizeof *a), b[nb / 2] = 0; // mostly the same
        l.budget = 1 << 20, l.bounded = false;
        gp_lcs_match(&l, a, na, b, nb);
        assert_common(&l, a, na, b, nb);
        assert_int_equal(l.pairs.n, length_by_table(a, na, b, nb));
        assert_false(l.bounded);
    }
    gp_lcs_release(&l);
}

/* With few differences at a time, or a small budget, pairs are still pairs, there are fewer of them, and it
 * is said. */
TEST(cut_searches_stay_right)
{
    uint64_t seed = 2;
    uint32_t a[100], b[100];
    int bounded = 0, shorter = 0;
    for (int round = 0; round < 3000; round++) {
        size_t na = random_below(&seed, 101), nb = random_below(&seed, 101);
        uint64_t symbols = 2 + random_below(&seed, 60);
        for (size_t i = 0; i < na; i++) a[i] = (uint32_t)random_below(&seed, symbols);
        for (size_t i = 0; i < nb; i++) b[i] = (uint32_t)random_below(&seed, symbols);
        struct gp_lcs l = {.edits = 1 + (uint32_t)random_below(&seed, 20),
                           .budget = 1 + (int64_t)random_below(&seed, 3000)};
        gp_lcs_match(&l, a, na, b, nb);
        assert_common(&l, a, na, b, nb);
        size_t longest = length_by_table(a, na, b, nb);
        assert_true(l.pairs.n <= longest);
        if (!l.bounded) assert_int_equal(l.pairs.n, longest);
        bounded += l.bounded, shorter += l.pairs.n < longest;
        gp_lcs_release(&l);
    }
    assert_true(bounded > 500 && shorter > 200);
}

/* A kernel that moved from the beginning to the end is not a place to cut. */
TEST(a_moved_symbol_does_not_hide_the_rest)
{
    enum { N = 3000 };
    static uint32_t a[N], b[N];
    a[0] = 9, b[N - 1] = 9;
    for (int i = 1; i < N; i++) a[i] = b[i - 1] = (uint32_t)(i % 7);
    struct gp_lcs l = {.edits = 512, .budget = 1 << 24};
    gp_lcs_match(&l, a, N, b, N);
    assert_int_equal(l.pairs.n, N - 1);
    assert_false(l.bounded);
    gp_lcs_release(&l);
}

/* Nor where there are more differences than are searched through at a time: of the symbols that occur once
 * most have changed places, so that they are not places to cut at. */
TEST(moved_symbols_are_no_places_to_cut)
{
    enum { N = 4000, MOVED = 3 };
    static uint32_t a[N], b[N];
    uint64_t seed = 4;
    for (uint32_t i = 0; i < N; i++)
        a[i] = (uint32_t)random_below(&seed, 3), b[i] = (uint32_t)random_below(&seed, 3);
    for (uint32_t i = 0; i < MOVED; i++) a[i] = 10 + i, b[N - 1 - i] = 10 + i;
    struct gp_lcs l = {.edits = 512, .budget = 1 << 24};
    gp_lcs_match(&l, a, N, b, N);
    assert_common(&l, a, N, b, N);
    assert_true(l.pairs.n > N / 2); // random sequences of three symbols have about 0.7 N in common
    gp_lcs_release(&l);
}

/* More differences than are searched through at a time, between symbols that occur once. */
TEST(single_symbols_cut_long_sequences)
{
    enum { N = 20000 };
    uint32_t *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    for (uint32_t i = 0; i < N; i++) {
        a[i] = i % 10 ? i * 7 % 5 : 100 + i;
        b[i] = i % 10 ? i * 3 % 5 : 100 + i;
    }
    struct gp_lcs l = {.edits = 512, .budget = 1 << 24};
    gp_lcs_match(&l, a, N, b, N);
    assert_common(&l, a, N, b, N);
    // 241302413 and 314203142, which lie between any two of those that occur once, have 3 in common, as 1, 0,
    // 1.
    assert_int_equal(l.pairs.n, N / 10 + 3 * (N / 10));
    assert_true(l.budget > (1 << 24) - 4000000);
    free(a);
    free(b);
    gp_lcs_release(&l);
}

/* Nothing in common in any order, or everything: what makes a quadratic search slow. */
TEST(no_input_costs_more_than_the_budget)
{
    enum { N = 100000 };
    uint32_t *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    for (int kind = 0; kind < 6; kind++) {
        uint64_t seed = 5;
        for (uint32_t i = 0; i < N; i++) {
            a[i] = kind == 0   ? i
                   : kind == 1 ? 0
                   : kind == 2 ? (uint32_t)random_below(&seed, 2)
                   : kind == 3 ? i / 2
                   : kind == 4 ? i * 7919 % N
                               : (uint32_t)random_below(&seed, 1000);
            b[i] = kind == 0   ? N - 1 - i
                   : kind == 1 ? 1
                   : kind == 2 ? (uint32_t)random_below(&seed, 2)
                   : kind == 3 ? (N - 1 - i) / 2
                   : kind == 4 ? i * 104729 % N
                               : (uint32_t)random_below(&seed, 1000);
        }
        struct gp_lcs l = {.edits = 512, .budget = 1 << 22};
        gp_lcs_match(&l, a, N, b, N);
        assert_common(&l, a, N, b, N);
        assert_true(l.budget > -(1 << 20)); // one row or one snake more at most
        gp_lcs_release(&l);
    }
    free(a);
    free(b);
}

TEST(empty_sides_have_nothing_in_common)
{
    struct gp_lcs l = {.edits = 512, .budget = 100};
    uint32_t a[] = {1, 2, 3};
    gp_lcs_match(&l, NULL, 0, NULL, 0);
    assert_int_equal(l.pairs.n, 0);
    gp_lcs_match(&l, a, 3, NULL, 0);
    assert_int_equal(l.pairs.n, 0);
    gp_lcs_match(&l, a, 3, a, 3);
    assert_int_equal(l.pairs.n, 3);
    assert_false(l.bounded);
    gp_lcs_release(&l);
}
