// Arithmetic on intervals. The oracle is a row of 64 marks, one a nanosecond.
#include <stdlib.h>

#include "analyze/math/intervals.h"
#include "tests/unit/unit.h"

static uint64_t bits(int64_t begin, int64_t end)
{
    uint64_t m = 0;
    for (int64_t i = begin; i < end; i++) m |= UINT64_C(1) << i;
    return m;
}

static int64_t ones(uint64_t m)
{
    int64_t n = 0;
    for (; m; m &= m - 1) n++;
    return n;
}

/* S must be exactly the runs of marks of M. */
static void expect(const struct gp_intervals *s, uint64_t m)
{
    size_t k = 0;
    for (int64_t i = 0; i < 64; i++) {
        if (!(m >> i & 1) || (i && m >> (i - 1) & 1)) continue;
        int64_t end = i;
        while (end < 64 && m >> end & 1) end++;
        assert_in_range(k, 0, s->v.n - 1);
        assert_int_equal(s->v.at[k].begin_ns, i);
        assert_int_equal(s->v.at[k++].end_ns, end);
    }
    assert_int_equal(s->v.n, k);
    assert_int_equal(gp_intervals_length(s), ones(m));
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* A few random intervals, empty and touching ones among them, in any order. */
static uint64_t fill(struct gp_intervals *s, uint32_t *state)
{
    uint64_t m = 0;
    s->v.n = 0;
    for (uint32_t n = next_random(state) % 9; n; n--) {
        int64_t begin = next_random(state) % 60, end = begin + next_random(state) % 10;
        if (end > 63) end = 63;
        gp_intervals_add(s, begin, end);
        m |= bits(begin, end);
    }
    gp_intervals_normalise(s);
    return m;
}

TEST(test_against_marks)
{
    struct gp_intervals a = {0}, b = {0};
    uint32_t seed = 7;
    for (int round = 0; round < 3000; round++) {
        uint64_t ma = fill(&a, &seed), mb = fill(&b, &seed);
        expect(&a, ma);
        assert_int_equal(gp_intervals_overlap(&a, &b), ones(ma & mb));
        int64_t from = next_random(&seed) % 64, to = next_random(&seed) % 64;
        assert_int_equal(gp_intervals_within(&a, from, to), ones(ma & bits(from, to)));
    }
    gp_intervals_release(&a);
    gp_intervals_release(&b);
}

TEST(test_in_order_stays_normal)
{
    struct gp_intervals s = {0};
    for (int64_t i = 0; i < 1000; i++) gp_intervals_add(&s, i * 10, i * 10 + 10); /* each touches the last */
    assert_int_equal(s.v.n, 1);
    gp_intervals_add(&s, 9995, 9997);   /* inside */
    gp_intervals_add(&s, 20000, 20000); /* empty */
    gp_intervals_add(&s, 20000, 19000); /* less than empty */
    assert_int_equal(s.v.n, 1);
    assert_int_equal(gp_intervals_length(&s), 10000);
    gp_intervals_release(&s);
}

TEST(test_empty)
{
    struct gp_intervals none = {0};
    gp_intervals_normalise(&none);
    assert_int_equal(gp_intervals_overlap(&none, &none), 0);
    assert_int_equal(gp_intervals_length(&none), 0);
    assert_int_equal(gp_intervals_within(&none, 0, 100), 0);
}
