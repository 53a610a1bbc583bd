// The repeating part of sequences: exact, with noise, inside other things, nested, and where there is none.
#include <stdlib.h>

#include "analyze/math/period.h"
#include "formats/base/vec.h"
#include "tests/unit/unit.h"

typedef GP_VEC(uint32_t) symbols;

static uint32_t next_random(uint32_t *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static void push(symbols *s, const char *text)
{
    for (; *text; text++) GP_VEC_PUSH(s, (uint32_t)*text);
}

/* LAYERS layers of 12 symbols, then HEAD symbols: a step of a model. */
static void push_step(symbols *s, int layers, uint32_t head)
{
    for (int i = 0; i < layers * 12; i++) GP_VEC_PUSH(s, (uint32_t)(100 + i % 12));
    for (uint32_t i = 0; i < head; i++) GP_VEC_PUSH(s, 1000 + i);
}

static size_t period_of(symbols *s, size_t least, struct gp_period *p)
{
    bool found = gp_period_find(p, s->at, s->n, least);
    GP_VEC_FREE(s);
    return found ? p->length : 0;
}

TEST(test_plain)
{
    symbols s = {0};
    struct gp_period p;
    for (int i = 0; i < 5; i++) push(&s, "AABAB"); /* no symbol is five places from the next like it */
    assert_int_equal(period_of(&s, 2, &p), 5);
    assert_int_equal(p.first, 0);
    assert_int_equal(p.end, 25);
    assert_int_equal(p.differences, 0);
}

TEST(test_three_times_and_no_less)
{
    symbols s = {0};
    struct gp_period p;
    push(&s, "abcdefghabcdefghabcdefgh");
    assert_int_equal(period_of(&s, 2, &p), 8);
    push(&s, "abcdefghabcdefghabcdefg");
    assert_int_equal(period_of(&s, 2, &p), 0);
}

TEST(test_a_symbol_again_and_again_is_no_step)
{
    symbols s = {0};
    struct gp_period p;
    push(&s, "aaaaaaaaaaaaaaaaaaaaaaaa");
    assert_int_equal(period_of(&s, 2, &p), 0);
    push(&s, "aaaaaaaaaaaaaaaaaaaaaaaa");
    assert_int_equal(period_of(&s, 1, &p), 1);
}

/* 80 layers and a head of 6: 98 of 100 symbols come again after a layer, but all after a step. */
TEST(test_steps_not_layers)
{
    symbols s = {0};
    struct gp_period p;
    for (int i = 0; i < 6; i++) push_step(&s, 80, 6);
    assert_int_equal(period_of(&s, 2, &p), 966);
}

/* Four passes and an update: the period is all of that. */
TEST(test_accumulation)
{
    symbols s = {0};
    struct gp_period p;
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < 4; i++) push_step(&s, 3, 5);
        for (uint32_t i = 0; i < 20; i++) GP_VEC_PUSH(&s, 5000 + i);
    }
    assert_int_equal(period_of(&s, 2, &p), 4 * 41 + 20);
}

TEST(test_a_beginning_and_an_end_that_differ)
{
    symbols s = {0};
    struct gp_period p;
    uint32_t random = 1;
    for (int i = 0; i < 500; i++) GP_VEC_PUSH(&s, 100000 + next_random(&random));
    for (int i = 0; i < 7; i++) push_step(&s, 10, 30);
    for (int i = 0; i < 300; i++) GP_VEC_PUSH(&s, 100000 + next_random(&random));
    assert_int_equal(period_of(&s, 2, &p), 150);
    assert_int_equal(p.first, 500);
    assert_int_equal(p.end, 500 + 7 * 150);
}

TEST(test_noise)
{
    symbols s = {0};
    struct gp_period p;
    uint32_t random = 7;
    for (int i = 0; i < 20; i++) push_step(&s, 10, 30);
    for (int i = 0; i < 15; i++) s.at[next_random(&random) % s.n] = 100000; /* half a percent, each twice */
    assert_int_equal(period_of(&s, 2, &p), 150);
    assert_in_range(p.differences, 1, 30);
}

/* A library takes turns with its kernels for five places of a long step: it is one step, not two. */
TEST(test_long_steps_that_take_turns)
{
    symbols s = {0};
    struct gp_period p;
    for (int step = 0; step < 10; step++) {
        push_step(&s, 28, 10);
        for (size_t i = 0; i < 5; i++) s.at[s.n - 100 + i] = (uint32_t)(5000 + step % 2);
    }
    assert_int_equal(period_of(&s, 2, &p), 346);
    assert_int_equal(p.differences, 45);
    for (int step = 0; step < 10; step++) { /* a tenth of it: two programs in turn */
        push_step(&s, 28, 10);
        for (size_t i = 0; i < 35; i++) s.at[s.n - 100 + i] = (uint32_t)(5000 + step % 2);
    }
    assert_int_equal(period_of(&s, 2, &p), 692);
}

TEST(test_no_period)
{
    symbols s = {0};
    struct gp_period p;
    uint32_t random = 3;
    for (int i = 0; i < 20000; i++) GP_VEC_PUSH(&s, next_random(&random) % 50);
    assert_int_equal(period_of(&s, 2, &p), 0);
    for (int i = 0; i < 20000; i++) GP_VEC_PUSH(&s, (uint32_t)i);
    assert_int_equal(period_of(&s, 2, &p), 0);
    push(&s, "ab");
    assert_int_equal(period_of(&s, 1, &p), 0);
    assert_int_equal(period_of(&s, 1, &p), 0);
}
