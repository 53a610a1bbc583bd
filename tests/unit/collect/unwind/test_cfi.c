/* Expressions, and what is not one. Tables are tested by walks and by fuzz_cfi. */
#include "collect/unwind/cfi.h"

#include "tests/unit/unit.h"

static bool reg(void *ctx, uint64_t r, uint64_t *value)
{
    (void)ctx;
    *value = 1000 + r;
    return r < 17;
}

static bool load(void *ctx, uint64_t at, uint64_t *value)
{
    (void)ctx;
    *value = at * 0x100000001;
    return at < 2000;
}

static const struct gp_cfi_machine machine = {reg, load, NULL};

static const struct {
    uint8_t expr[16];
    uint32_t n;
    uint64_t value;
} good[] = {
    {{0x77, 8}, 2, 1015},                                  /* breg7 8 */
    {{0x76, 0x78, 0x06}, 3, 998ULL * 0x100000001},         /* breg6 -8, deref */
    {{0x77, 0, 0x94, 4}, 4, 1007},                         /* deref_size 4 */
    {{0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24}, 8, 0}, /* (1016 & 15) >= 11) << 3, as in a PLT */
    {{0x3d, 0x3b, 0x2a, 0x33, 0x24, 0x77, 8, 0x22}, 8, 1023},
    {{0x09, 0xf0, 0x32, 0x26}, 4, (uint64_t)-4},             /* -16 shra 2 */
    {{0x09, 0xf0, 0x08, 0xff, 0x26}, 5, UINT64_MAX},         /* -16 shra 255 */
    {{0x0a, 0x34, 0x12, 0x23, 0x80, 0x01}, 6, 0x1234 + 128}, /* const2u, plus_uconst */
    {{0x31, 0x32, 0x16, 0x1c}, 4, 1},                        /* 1 2 swap - */
    {{0x35, 0x36, 0x14, 0x13, 0x13}, 5, 5},                  /* over, drop, drop */
    {{0x35, 0x36, 0x15, 1, 0x1f, 0x20}, 6, 4},               /* pick 1, neg, not */
    {{0x92, 16, 0, 0x96}, 4, 1016},                          /* bregx, nop */
};

static const uint8_t bad[][4] = {
    {0x22}, {0x06},    {0x08}, {0x31, 0x15, 9}, {0x1b}, {0x2f, 0xfd, 0xff}, {0x92, 17, 0},
    {0xff}, {0x0e, 1}, {0},
};

TEST(expressions_have_their_values)
{
    uint64_t v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(gp_cfi_eval(&machine, good[i].expr, good[i].n, NULL, &v));
        assert_int_equal(v, good[i].value);
    }
    uint64_t first = 5;
    assert_true(gp_cfi_eval(&machine, good[0].expr, 0, &first, &v));
    assert_int_equal(v, 5);
}

TEST(what_is_no_expression_has_no_value)
{
    uint64_t v;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(gp_cfi_eval(&machine, bad[i], bad[i][1] ? bad[i][2] ? 3 : 2 : 1, NULL, &v));
    uint8_t pushes[40];
    for (size_t i = 0; i < sizeof pushes; i++) pushes[i] = 0x30;
    assert_true(gp_cfi_eval(&machine, pushes, 32, NULL, &v));
    assert_false(gp_cfi_eval(&machine, pushes, 33, NULL, &v));
}
