/* Answers about host events and those around them: the same as walking up, each event asked once. */
#include "analyze/view/host_stack.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

static uint32_t count_up(void *ctx, uint32_t node, uint32_t around)
{
    (void)node;
    ++*(size_t *)ctx;
    return around == GP_HOST_NONE ? 1 : around + 1;
}

/* N operators inside each other, and a range around every tenth. */
static void make(struct gp_trace *t, struct gp_host_stack *hs, int64_t n)
{
    gp_trace_init(t, GP_NEED_ALL);
    uint32_t thread = mk_thread(t, mk_process(t, 1, 0), 1);
    for (int64_t i = 0; i < n; i++) {
        if (i % 10 == 0) mk_host(t, GP_RANGE, thread, 10 * i, 30 * n - 10 * i, "r");
        mk_host(t, GP_OP, thread, 10 * i + 1, 30 * n - 10 * i - 1, "o");
    }
    gp_trace_finish(t);
    gp_host_stack_build(hs, t);
}

TEST(depths_are_counted_and_every_event_is_asked_once)
{
    struct gp_trace t;
    struct gp_host_stack hs;
    make(&t, &hs, 1000);
    struct gp_host_memo m = {.hs = &hs};
    size_t asked = 0;
    assert_int_equal(hs.n, 1100);
    assert_int_equal(gp_host_memo_get(&m, GP_HOST_NONE, count_up, &asked), GP_HOST_NONE);
    for (uint32_t node = hs.n; node-- > 0;) {
        uint32_t depth = 0;
        for (uint32_t up = node; up != GP_HOST_NONE; up = hs.nodes[up].parent) depth++;
        assert_int_equal(gp_host_memo_get(&m, node, count_up, &asked), depth);
    }
    assert_int_equal(asked, hs.n);
    gp_host_memo_release(&m);
    gp_host_stack_release(&hs);
    gp_trace_release(&t);
}

TEST(the_innermost_of_a_table_is_what_walking_up_finds)
{
    struct gp_trace t;
    struct gp_host_stack hs;
    make(&t, &hs, 100);
    struct gp_host_memo ranges = {.hs = &hs}, python = {.hs = &hs};
    for (uint32_t node = 0; node < hs.n; node++) {
        uint32_t up = node;
        while (up != GP_HOST_NONE && hs.nodes[up].table != GP_RANGE) up = hs.nodes[up].parent;
        assert_int_equal(gp_host_memo_innermost(&ranges, node, GP_RANGE), up);
        assert_int_equal(gp_host_memo_innermost(&python, node, GP_PYTHON), GP_HOST_NONE);
    }
    gp_host_memo_release(&ranges);
    gp_host_memo_release(&python);
    gp_host_stack_release(&hs);
    gp_trace_release(&t);
}
