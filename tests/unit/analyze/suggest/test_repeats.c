// Runs of equal parts, against a search by hand and against one that tries everything.
#include "analyze/suggest/repeats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"

static struct gp_repeats find(const char *text)
{
    struct gp_repeats r = {0};
    uint32_t symbols[256], n = 0;
    for (; text[n]; n++) symbols[n] = (unsigned char)text[n];
    gp_repeats_find(&r, symbols, n);
    return r;
}

static void has(const struct gp_repeats *r, size_t i, uint32_t first, uint32_t period, uint32_t count)
{
    assert_true(i < r->v.n);
    assert_int_equal(r->v.at[i].first, first);
    assert_int_equal(r->v.at[i].period, period);
    assert_int_equal(r->v.at[i].count, count);
}

TEST(runs_of_four_parts_and_more)
{
    struct gp_repeats r = find("xabababab");
    assert_int_equal(r.v.n, 1);
    has(&r, 0, 1, 2, 4);
    gp_repeats_release(&r);
    r = find("abcabcabcxaaaa"); // three are too few; a part is not made of equal parts
    assert_int_equal(r.v.n, 1);
    has(&r, 0, 10, 1, 4);
    gp_repeats_release(&r);
    r = find("paaaaqpaaaaqpaaaaqpaaaaq"); // one within the other
    assert_int_equal(r.v.n, 5);
    has(&r, 0, 0, 6, 4);
    has(&r, 1, 1, 1, 4);
    has(&r, 4, 19, 1, 4);
    gp_repeats_release(&r);
    r = find("");
    assert_int_equal(r.v.n, 0);
    gp_repeats_release(&r);
}

/* The part of PERIOD at FIRST is repeated as often as can be, and could not begin earlier. */
static uint32_t count_at(const uint32_t *s, uint32_t n, uint32_t first, uint32_t period)
{
    uint32_t same = 0;
    if (first && s[first - 1] == s[first - 1 + period]) return 0;
    while (first + same + period < n && s[first + same] == s[first + same + period]) same++;
    return same / period + 1;
}

static bool is_whole(const uint32_t *s, uint32_t first, uint32_t period)
{
    for (uint32_t part = 1; part < period; part++)
        if (period % part == 0 && !memcmp(s + first, s + first + part, (period - part) * sizeof *s))
            return false;
    return true;
}

TEST(what_trying_everything_finds)
{
    uint32_t s[48], seed = 1;
    for (int round = 0; round < 2000; round++) {
        struct gp_repeats r = {0};
        size_t expected = 0;
        for (size_t i = 0; i < GP_COUNT(s); i++) {
            seed = seed * 1103515245 + 12345;
            s[i] = i >= 5 && (seed >> 16) % 8 ? s[i - 1 - (unsigned)round % 5] : (seed >> 20) % 3;
        }
        gp_repeats_find(&r, s, GP_COUNT(s));
        for (uint32_t period = 1; period <= GP_COUNT(s) / 4; period++)
            for (uint32_t first = 0; first + 4 * period <= GP_COUNT(s); first++) {
                uint32_t count = count_at(s, GP_COUNT(s), first, period);
                if (count < GP_REPEATS_LEAST || !is_whole(s, first, period)) continue;
                expected++;
                bool found = false;
                for (size_t i = 0; i < r.v.n; i++)
                    found |=
                        r.v.at[i].first == first && r.v.at[i].period == period && r.v.at[i].count == count;
                assert_true(found);
            }
        assert_int_equal(r.v.n, expected);
        gp_repeats_release(&r);
    }
}
