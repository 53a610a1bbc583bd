// What counters say, from values that are worked out by hand.
#include <math.h>

#include "analyze/cost/counters.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

#define STALLED(x) "smsp__average_warps_issue_stalled_" x "_per_issue_active.ratio"

TEST(memory_and_what_of_it_is_written)
{
    static const char *const names[] = {"dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum",
                                        "l1tex__t_bytes.sum"};
    static const char *const blackwell[] = {"dram__bytes_op_read.sum", "dram__bytes_op_write.sum"};
    static const char *const whole[] = {"dram__bytes.sum"};
    const double v[] = {1e9, 5e8, 3e9, 4e9};
    struct gp_counters c;
    struct gp_counted k;
    gp_counters_init(&c, names, GP_COUNT(names));
    gp_counters_read(&c, v, &k);
    assert_true(k.dram_bytes == 1.5e9 && k.dram_written == 5e8 && k.l2_bytes == 3e9 && k.l1_bytes == 4e9);
    gp_counters_init(&c, blackwell, GP_COUNT(blackwell));
    gp_counters_read(&c, v, &k);
    assert_true(k.dram_bytes == 1.5e9 && k.dram_written == 5e8 && isnan(k.l2_bytes));
    gp_counters_init(&c, whole, GP_COUNT(whole));
    gp_counters_read(&c, v, &k);
    assert_true(k.dram_bytes == 1e9 && isnan(k.dram_written));
}

TEST(the_largest_stall)
{
    static const char *const names[] = {STALLED("long_scoreboard"), STALLED("barrier"), STALLED("gmma"),
                                        STALLED("selected")};
    struct gp_counters c;
    struct gp_counted k;
    gp_counters_init(&c, names, GP_COUNT(names));
    gp_counters_read(&c, (double[]){2.5, 4.25, 1, 9}, &k);
    assert_int_equal(k.stall, GP_STALL_BARRIER); // a selected warp does not wait
    assert_true(k.stall_warps == 4.25);
    assert_string_equal(gp_stall_name((enum gp_stall)k.stall), "barrier");
    gp_counters_read(&c, (double[]){2.5, NAN, 1, 9}, &k);
    assert_int_equal(k.stall, GP_STALL_LONG_SCOREBOARD);
    gp_counters_read(&c, (double[]){NAN, NAN, NAN, NAN}, &k);
    assert_int_equal(k.stall, GP_STALL_COUNT);
    assert_true(isnan(k.stall_warps));
}
