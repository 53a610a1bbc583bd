// The sums of a running collection: busy time once, steps, launches, bounded text.
#include <stdio.h>
#include "analyze/live/meter.h"
#include "formats/base/buf.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

#define US 1000
#define S  INT64_C(1000000000)

/* What M writes, in a buffer that the caller releases. */
static const char *text_of(struct gp_meter *m, struct gp_buf *b)
{
    b->n = 0;
    gp_meter_write(m, 3, b);
    return gp_buf_str(b);
}

static void assert_has(const char *text, const char *line)
{
    if (strstr(text, line)) return;
    print_error("%s", text);
    fail_msg("missing: %s", line);
}

/* Two streams: 10 us and 10 us that overlap by 5; in a second flush, a kernel between the two that came late,
 * and a collective of 3 s. */
TEST(busy_time_counts_what_overlaps_once)
{
    struct gp_meter *m = gp_meter_new();
    struct gp_buf b = {0};
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    uint32_t p = mk_process(&t, 1, 0), thread = mk_thread(&t, p, 1);
    uint32_t one = mk_stream(&t, p, 0, 7), two = mk_stream(&t, p, 0, 8);
    mk_call(&t, thread, 0, 2 * US, "cudaLaunchKernel", 1);
    mk_call(&t, thread, 3 * US, 4 * US, "cudaDeviceSynchronize", 2);
    mk_host(&t, GP_RANGE, thread, 0, 1500 * US, "step 7");
    mk_host(&t, GP_RANGE, thread, 0, 900 * US, "optimizer step"); /* a part of a step */
    mk_kernel(&t, one, 0, 10 * US, "gemm", 1);
    mk_kernel(&t, two, 5 * US, 15 * US, "gemm", 3);
    gp_meter_add(m, 4, 2, &t);
    gp_trace_clear_events(&t);
    mk_kernel(&t, one, 12 * US, 20 * US, "gemm", 5);
    mk_kernel(&t, one, S, 4 * S, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 6);
    gp_meter_add(m, 4, 2, &t);
    const char *text = text_of(m, &b);
    assert_has(text, "gpuprof_gpu_busy_seconds_total{gpu=\"0\",process=\"4\",rank=\"2\"} 3.00002\n");
    assert_has(text, "class=\"compute\"} 0.000028\n");
    assert_has(text, "class=\"communication\"} 3.0\n");
    assert_has(text, "gpuprof_collective_seconds_total 3.0\n");
    assert_has(text, "gpuprof_launches_total 1\n");
    assert_has(text, "gpuprof_launch_seconds_total 0.000002\n");
    assert_has(text, "gpuprof_events_lost_total 3\n");
    assert_has(text, "gpuprof_step_seconds_bucket{le=\"0.0025\"} 1\n");
    assert_has(text, "gpuprof_step_seconds_count 1\n");
    assert_has(text, "name=\"gemm\",class=\"compute\"} 1\n");
    gp_trace_release(&t);
    gp_buf_release(&b);
    gp_meter_free(m);
}

TEST(many_kernels_and_devices_stay_within_200_series)
{
    struct gp_meter *m = gp_meter_new();
    struct gp_buf b = {0};
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    uint32_t p = mk_process(&t, 1, 0);
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%d", i);
        mk_kernel(&t, mk_stream(&t, p, i % 60, 7), i * US, (i + 1) * US, name, 0);
    }
    gp_meter_add(m, 1, -1, &t);
    size_t lines = 0;
    for (const char *at = text_of(m, &b); *at; at++)
        lines += *at != '#' && (at == gp_buf_str(&b) || at[-1] == '\n');
    assert_in_range(lines, 190, 200);
    gp_trace_release(&t);
    gp_buf_release(&b);
    gp_meter_free(m);
}

TEST(nothing_recorded_is_valid)
{
    struct gp_meter *m = gp_meter_new();
    struct gp_buf b = {0};
    assert_has(text_of(m, &b), "gpuprof_processes_total 0\n");
    assert_has(gp_buf_str(&b), "# EOF\n");
    gp_buf_release(&b);
    gp_meter_free(m);
}
