// Replays of programs that fit on a piece of paper, and what changes in them.
#include <string.h>

#include "analyze/suggest/replay.h"
#include "tests/unit/unit.h"

#define NONE GP_REPLAY_NONE /* too large for an enumerator */

/* Two kernels of 10 ns launched by calls of 20 ns that follow 30 ns of host work; 5 ns from call to kernel, a
 * gap of 1 ns between kernels, 2 ns to wake up. */
static void late_host(struct gp_replay *r)
{
    memset(r, 0, sizeof *r);
    r->launch_ns = 5;
    r->wake_ns = 2;
    GP_VEC_PUSH(&r->free_ns, 0);
    for (uint32_t i = 0; i < 2; i++) {
        GP_VEC_PUSH(&r->items, ((struct gp_replay_item){.dur_ns = 10, .gap_ns = 1, .after = NONE}));
        GP_VEC_PUSH(&r->calls, ((struct gp_replay_call){30, 20, i, 1, NONE, false, 0, 0}));
    }
}

static int64_t with(const struct gp_replay *r, enum gp_edit_kind kind, uint32_t index, int64_t ns)
{
    struct gp_edit e = {kind, index, ns};
    return gp_replay_run(r, &e, 1, NULL);
}

TEST(a_late_host_hides_what_kernels_take)
{
    struct gp_replay r;
    late_host(&r);
    // calls 30..50 and 80..100; kernels 35..45 and 85..95; the host ends last
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 100);
    assert_int_equal(with(&r, GP_EDIT_DUR, 0, 0), 100);
    assert_int_equal(with(&r, GP_EDIT_GONE, 1, 0), 100);
    assert_int_equal(with(&r, GP_EDIT_BEFORE, 1, 10), 80);
    assert_int_equal(with(&r, GP_EDIT_OWN, 0, 0), 80);
    // a kernel of 100 ns: 35..135, the next 136..146
    assert_int_equal(with(&r, GP_EDIT_DUR, 0, 100), 146);
    gp_replay_release(&r);
}

TEST(a_busy_gpu_hides_what_the_host_takes)
{
    struct gp_replay r;
    late_host(&r);
    r.items.at[0].dur_ns = r.items.at[1].dur_ns = 100;
    // kernels 35..135 and 136..236
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 236);
    assert_int_equal(with(&r, GP_EDIT_BEFORE, 1, 0), 236);
    assert_int_equal(with(&r, GP_EDIT_GAP, 1, 0), 235);
    assert_int_equal(with(&r, GP_EDIT_DUR, 1, 40), 176);
    // 35..135; the host comes to 100 before
    assert_int_equal(with(&r, GP_EDIT_GONE, 1, 0), 135);
    // what ran before ends at 60: 61..161, 162..262
    r.free_ns.at[0] = 60;
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 262);
    gp_replay_release(&r);
}

TEST(a_call_that_waits_holds_up_the_host)
{
    struct gp_replay r;
    late_host(&r);
    r.items.at[0].dur_ns = 100;
    GP_VEC_PUSH(&r.calls, ((struct gp_replay_call){0, 3, 2, 0, 1, false, 0, 0}));
    r.tail_ns = 7;
    // kernels 35..135, 136..146; the wait ends at 148, the host at 155
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 155);
    // without: the host is through at 100 + 3 + 7, the GPU at 146
    assert_int_equal(with(&r, GP_EDIT_NO_WAIT, 2, 0), 146);
    // the first call waits for its own kernel: until 137; then 167..187, kernel 172..182, wait until 190, 197
    r.calls.at[0].waits_for = 0;
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 197);
    gp_replay_release(&r);
}

TEST(a_wait_for_a_device_is_for_whatever_is_last_on_it)
{
    struct gp_replay r;
    late_host(&r);
    GP_VEC_PUSH(&r.free_ns, 0);
    r.items.at[0].dur_ns = 200;
    r.items.at[1].dur_ns = 100;
    r.items.at[1].stream = 1;
    GP_VEC_PUSH(&r.calls, ((struct gp_replay_call){0, 3, 2, 0, 0, true, 0, 0}));
    // kernels 35..235 beside 85..185; the wait ends at 237
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 237);
    // the first shorter than the second: 187; gone, too
    assert_int_equal(with(&r, GP_EDIT_DUR, 0, 10), 187);
    assert_int_equal(with(&r, GP_EDIT_GONE, 0, 0), 187);
    assert_int_equal(with(&r, GP_EDIT_DUR, 1, 500), 587);
    // another device's stream is none of its business
    GP_VEC_PUSH(&r.device, 0);
    GP_VEC_PUSH(&r.device, 1);
    r.tail_ns = 1000;
    assert_int_equal(with(&r, GP_EDIT_DUR, 1, 500), 1237);
    r.calls.at[2].waits_for_all = false;
    r.device.n = 0;
    assert_int_equal(with(&r, GP_EDIT_DUR, 1, 500), 1237);
    gp_replay_release(&r);
}

TEST(streams_wait_for_each_other_where_something_says_so)
{
    struct gp_replay r;
    late_host(&r);
    GP_VEC_PUSH(&r.free_ns, 0);
    r.items.at[0].dur_ns = 100;
    r.items.at[1].stream = 1;
    // 35..135 beside 85..95
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 135);
    // 85 -> 135 + delay of 4: 149
    r.items.at[1].after = 0;
    r.items.at[1].delay_ns = 4;
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 149);
    assert_int_equal(with(&r, GP_EDIT_DELAY, 1, 0), 145);
    // what it waits for is gone: 85 + 4 + 10, and the host ends at 100
    assert_int_equal(with(&r, GP_EDIT_GONE, 0, 0), 100);
    gp_replay_release(&r);
}

TEST(an_item_aside_holds_nothing_up)
{
    struct gp_replay r;
    late_host(&r);
    r.items.at[0].dur_ns = 100;
    // 35..135 then 136..146; aside: 35..135 beside 85..95
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 146);
    assert_int_equal(with(&r, GP_EDIT_ASIDE, 0, 0), 135);
    gp_replay_release(&r);
}

TEST(of_several_edits_the_smallest_counts)
{
    struct gp_replay r;
    late_host(&r);
    struct gp_edit edits[] = {{GP_EDIT_DUR, 0, 300}, {GP_EDIT_DUR, 0, 200}, {GP_EDIT_DUR, 0, 250}};
    // 35..235, 236..246
    assert_int_equal(gp_replay_run(&r, edits, 3, NULL), 246);
    assert_int_equal(r.items.at[0].dur_ns, 10);
    gp_replay_release(&r);
}

TEST(another_thread_may_begin_before_the_last_call_is_over)
{
    struct gp_replay r;
    late_host(&r);
    r.calls.at[1].before_ns = -10;
    // 30..50 and 40..60; kernels 35..45, 46..56
    assert_int_equal(gp_replay_run(&r, NULL, 0, NULL), 60);
    gp_replay_release(&r);
}
