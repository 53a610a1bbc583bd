// What the memory events of a trace say of a device: its peak, who held it, and what a comparison adds up to.
#include <string.h>
#include "analyze/memory/memory.h"
#include "formats/base/err.h"
#include "tests/unit/memory_make.h"
#include "tests/unit/unit.h"

static void holder_is(const struct gp_memory *m, const struct gp_memory_holder *h, const char *key,
                      int64_t bytes)
{
    assert_string_equal(gp_memory_str(m, h->key), key);
    assert_int_equal(h->bytes, bytes);
    assert_int_equal(h->blocks, 1);
}

TEST(holders_of_the_peak_sum_to_it)
{
    struct gp_memory m;
    memory_of_three(&m);
    const struct gp_memory_device *d = &m.devices.at[0];
    assert_int_equal(d->history, GP_HISTORY_WHOLE);
    assert_int_equal(d->peak_bytes, 1600);
    assert_int_equal(d->peak_ns, 2000);
    assert_int_equal(d->end_bytes, 1300);
    assert_int_equal(d->allocations, 3);
    assert_int_equal(d->frees, 1);
    assert_int_equal(m.holders.n, 2);
    holder_is(&m, &m.holders.at[0], "aten::linear", 1000);
    holder_is(&m, &m.holders.at[1], "aten::relu", 600);
    assert_int_equal(m.holders.at[1].since_ns, 2000);
    gp_memory_release(&m);
}

TEST(any_position_has_its_holders)
{
    struct gp_memory m;
    gp_memory_holders at = {0};
    memory_of_three(&m);
    gp_memory_holders_at(&m, 0, 0, GP_BY_STACK, &at);
    assert_int_equal(at.n, 0); /* nothing was there before */
    gp_memory_holders_at(&m, 0, (uint32_t)m.devices.at[0].rows, GP_BY_STACK, &at);
    assert_int_equal(at.n, 2);
    holder_is(&m, &at.at[0], "aten::linear", 1000);
    holder_is(&m, &at.at[1], "aten::add", 300);
    GP_VEC_FREE(&at);
    gp_memory_release(&m);
}

/* One block lived, for 500 ns; what lives at the end has no lifetime yet. */
TEST(operators_and_lifetimes_count_each_block_once)
{
    struct gp_memory m;
    int64_t allocated = 0, freed = 0;
    memory_of_three(&m);
    const struct gp_memory_device *d = &m.devices.at[0];
    for (size_t i = 0; i < d->operators.n; i++) {
        allocated += d->operators.at[i].allocated;
        freed += d->operators.at[i].freed;
    }
    assert_int_equal(d->operators.n, 3);
    assert_int_equal(allocated, 1900);
    assert_int_equal(freed, 600);
    assert_int_equal(d->churn.bytes, 1900);
    assert_int_equal(d->lifetimes.n, 1);
    assert_int_equal(d->lifetimes.at[0].up_to_ns, 1000);
    assert_int_equal(d->lifetimes.at[0].blocks, 1);
    gp_memory_release(&m);
}

/* The first event says that 5000 bytes were there when 100 were added: 4900 are of before. */
TEST(what_was_there_before_the_history_is_part_of_its_peak)
{
    struct memory_made k;
    struct gp_memory m;
    memory_begin(&k);
    k.total = 4900;
    memory_change(&k, 10, 0x1000, 100);
    memory_change(&k, 20, 0x2000, 50);
    memory_finish(&k, &m);
    const struct gp_memory_device *d = &m.devices.at[0];
    assert_int_equal(d->history, GP_HISTORY_TAIL);
    assert_int_equal(d->base_bytes, 4900);
    assert_int_equal(d->peak_bytes, 5050);
    assert_int_equal(d->end_bytes, 5050);
    gp_memory_release(&m);
}

/* The other run lacks the relu and its linear is 400 smaller: 1000 - 600 and 600 - 0. */
TEST(changes_sum_to_the_difference_of_two_runs)
{
    struct memory_made k;
    struct gp_memory m, base;
    int64_t sum = 0;
    memory_begin(&k);
    memory_op(&k, 0, 1000, "aten::linear");
    memory_change(&k, 100, 0x1000, 600);
    memory_finish(&k, &base);
    memory_of_three(&m);
    gp_memory_compare(&m, &base);
    assert_true(m.compared);
    assert_int_equal(m.base_bytes, 600);
    assert_int_equal(m.changes.n, 2);
    assert_string_equal(gp_memory_str(&m, m.changes.at[0].key), "aten::relu");
    assert_int_equal(m.changes.at[0].change_bytes, 600);
    assert_int_equal(m.changes.at[1].change_bytes, 400);
    for (size_t i = 0; i < m.changes.n; i++) sum += m.changes.at[i].change_bytes;
    assert_int_equal(sum, 1600 - 600);
    gp_memory_release(&m);
    gp_memory_release(&base);
}

TEST(steps_that_are_no_expression_are_refused)
{
    struct memory_made k;
    struct gp_memory m;
    struct gp_err err = {0};
    memory_begin(&k);
    memory_op(&k, 0, 1000, "aten::linear");
    memory_change(&k, 100, 0x1000, 600);
    gp_trace_finish(&k.t);
    gp_memory_init(&m, &(struct gp_memory_opts){.device = -1, .steps = "("});
    gp_memory_add_trace(&m, &k.t);
    gp_trace_release(&k.t);
    assert_int_equal(gp_memory_finish(&m, &err), -1);
    assert_true(err.msg[0]);
    gp_memory_release(&m);
}
