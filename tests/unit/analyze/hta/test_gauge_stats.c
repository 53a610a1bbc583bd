// Clocks while busy and energy, worked out by hand; the GPU of a program by its number; another process as
// the cause of idle time.
#include <math.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/err.h"
#include "tests/unit/gauge_make.h"
#include "tests/unit/unit.h"

enum { MS = 1000000 };

/* The clock is 2000 until 200 ms, then 1500 by the power cap until 400, then 1000 by heat until 500 ms. Power
 * 100 W, 300 W from 200 ms; the counter says 10% more, 121 J. Kernels: 100-300 ms, 350-450 ms. The GPU has
 * number 1 in the driver and 0 in the program. */
static void make(struct gp_trace *t, double others)
{
    gp_trace_init(t, GP_NEED_ALL);
    uint32_t p = mk_process(t, 10, 0);
    uint32_t thread = mk_thread(t, p, 1), stream = mk_stream(t, p, 0, 7);
    mk_device(t, 0, 0, "{\"gpu\":77}");
    uint32_t wrong = mk_gauge_gpu(t, 1, 0, "{\"gpu\":5,\"max_sm_mhz\":3000}");
    uint32_t gpu = mk_gauge_gpu(t, 2, 1,
                                "{\"gpu\":77,\"max_sm_mhz\":2000,\"power_limit_w\":300,\"energy_step_j\":0.5,"
                                "\"energy_period_ns\":10000000}");
    mk_gauge(t, wrong, 0, GP_GAUGE_SM_CLOCK, 7);
    mk_gauge(t, wrong, 900 * MS, GP_GAUGE_SM_CLOCK, 7);
    mk_gauge(t, gpu, 0, GP_GAUGE_SM_CLOCK, 2000);
    mk_gauge(t, gpu, 0, GP_GAUGE_REASONS, 0);
    mk_gauge(t, gpu, 0, GP_GAUGE_POWER, 100);
    mk_gauge(t, gpu, 0, GP_GAUGE_ENERGY, 0);
    mk_gauge(t, gpu, 0, GP_GAUGE_OTHERS, others);
    mk_gauge(t, gpu, 200 * MS, GP_GAUGE_SM_CLOCK, 1500);
    mk_gauge(t, gpu, 200 * MS, GP_GAUGE_REASONS, 4);
    mk_gauge(t, gpu, 200 * MS, GP_GAUGE_POWER, 300);
    mk_gauge(t, gpu, 400 * MS, GP_GAUGE_SM_CLOCK, 1000);
    mk_gauge(t, gpu, 400 * MS, GP_GAUGE_REASONS, 0x24); /* both: the power cap comes first */
    mk_gauge(t, gpu, 420 * MS, GP_GAUGE_REASONS, 0x20);
    mk_gauge(t, gpu, 500 * MS, GP_GAUGE_SM_CLOCK, 1000);
    mk_gauge(t, gpu, 500 * MS, GP_GAUGE_ENERGY, 121);
    mk_call(t, thread, 99 * MS, 100 * MS - 2000, "cudaLaunchKernel", 1);
    mk_call(t, thread, 120 * MS, 121 * MS, "cudaLaunchKernel", 2);
    mk_kernel(t, stream, 100 * MS, 300 * MS, "a", 1);
    mk_kernel(t, stream, 350 * MS, 450 * MS, "b", 2);
    gp_trace_finish(t);
}

static void answer(struct gp_hta *h, double others)
{
    struct gp_trace t;
    struct gp_err err = {0};
    make(&t, others);
    gp_hta_init(h, NULL);
    assert_int_equal(gp_hta_add_trace(h, &t, &err), 0);
    gp_hta_finish(h);
    gp_trace_release(&t);
}

TEST(clocks_while_busy_by_reason)
{
    struct gp_hta h;
    answer(&h, 0);
    assert_int_equal(h.clocks.n, 1);
    const struct gp_clock_stat *s = &h.clocks.at[0];
    assert_int_equal(s->busy_ns, 300 * MS);
    assert_true(fabs(s->mean_mhz - (2000 * 100 + 1500 * 150 + 1000 * 50) / 300.) < 1e-9);
    assert_true(s->p10_mhz == 1000 && s->p50_mhz == 1500 && s->p90_mhz == 2000 && s->boost_mhz == 2000);
    assert_int_equal(s->below_ns, 200 * MS);
    assert_int_equal(s->reason_ns[GP_CLOCK_REASON_power_cap], 170 * MS);
    assert_int_equal(s->reason_ns[GP_CLOCK_REASON_sw_thermal], 30 * MS);
    assert_int_equal(s->reason, GP_CLOCK_REASON_power_cap);
    assert_true(s->low_mhz == 1000 && s->high_mhz == 1500);
    assert_int_equal(s->slower_ns, (int64_t)(150 * MS * .25 + 50 * MS * .5));
    gp_hta_release(&h);
}

TEST(the_finding_has_the_numbers)
{
    struct gp_hta h;
    answer(&h, 0);
    const char *text = NULL;
    for (size_t i = 0; i < h.findings.n; i++)
        if (!strcmp(gp_hta_str(&h, h.findings.at[i].id), "clock_low"))
            text = gp_hta_str(&h, h.findings.at[i].text);
    assert_non_null(text);
    assert_string_equal(
        text, "For 56.7% of the GPU's busy time the power cap held the SM clock at 1,000 to 1,500 MHz "
              "of 2,000: work bound by the clock takes up to 2.00 times as long.");
    gp_hta_release(&h);
}

TEST(energy_is_that_of_the_counter)
{
    struct gp_hta h;
    answer(&h, 0);
    assert_true(h.energy.n >= 1);
    const struct gp_energy_stat *s = &h.energy.at[0];
    /* 100 W for 100 ms and 300 W for 250 ms of the 110 J that the power makes from 0 to 500 ms */
    assert_int_equal(s->span_ns, 350 * MS);
    assert_true(fabs(s->joules - 85 * 1.1) < 1e-6);
    assert_true(fabs(s->mean_w - 85 * 1.1 / .35) < 1e-6);
    assert_true(fabs(s->error_j - (.5 + s->mean_w * .01)) < 1e-9);
    assert_true(fabs(s->idle_pct - 100 * 15 / 85.) < 1e-6); /* 300 to 350 ms */
    gp_hta_release(&h);
}

static int64_t idle(const struct gp_hta *h, enum gp_idle_cause cause)
{
    return h->devices.at[0].idle_cause_ns[cause];
}

TEST(another_process_explains_what_nothing_else_does)
{
    struct gp_hta h;
    answer(&h, 40);
    assert_int_equal(h.devices.at[0].b.idle_ns, 50 * MS);
    assert_true(idle(&h, GP_IDLE_OTHER) > 49 * MS);
    assert_int_equal(idle(&h, GP_IDLE_UNKNOWN), 0);
    assert_true(h.energy.at[0].others_pct == 40);
    gp_hta_release(&h);
    answer(&h, 1);
    assert_int_equal(idle(&h, GP_IDLE_OTHER), 0);
    assert_true(idle(&h, GP_IDLE_UNKNOWN) > 49 * MS);
    gp_hta_release(&h);
}
