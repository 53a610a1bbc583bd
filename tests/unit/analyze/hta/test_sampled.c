// Means of sampled hardware counters, worked out by hand: two counters of a GPU, three kernels in three
// ranges.
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/hta_rows.h"
#include "formats/model/metric.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

static void counter(struct gp_trace *t, uint32_t track, int64_t at, const char *metric, const char *unit,
                    double value)
{
    struct gp_events *e = &t->events[GP_COUNTER];
    size_t row = gp_events_add(e, at, 0, track, mk_name(t, metric));
    gp_set_cat(e, row, mk_name(t, GP_METRIC_SAMPLED));
    gp_set_series(e, row, mk_name(t, unit));
    gp_set_value(e, row, value);
}

/* busy: 0 until 100, 40 until 200, 80 until 300, where samples end; read: 1000 until 250, then 3000. Another
 * GPU has 7 all the time. Kernels: 100-150 in the layer, 180-260 in the step around it, 290-400 in "late". */
static void make(struct gp_trace *t, int32_t rank)
{
    gp_trace_init(t, GP_NEED_ALL);
    uint32_t p = mk_process(t, 1, 0), gpu = mk_process(t, 0, 1), other = mk_process(t, 1, 2);
    t->processes.at[p].rank = rank;
    uint32_t thread = mk_thread(t, p, 1), stream = mk_stream(t, p, 0, 7);
    uint32_t zero = mk_stream(t, gpu, 0, -1), one = mk_stream(t, other, 1, -1);
    mk_host(t, GP_RANGE, thread, 0, 60, "step");
    mk_host(t, GP_RANGE, thread, 10, 30, "layer");
    mk_host(t, GP_RANGE, thread, 70, 90, "late");
    mk_call(t, thread, 12, 14, "cudaLaunchKernel", 1);
    mk_call(t, thread, 40, 42, "cudaLaunchKernel", 2);
    mk_call(t, thread, 75, 77, "cudaLaunchKernel", 3);
    mk_kernel(t, stream, 100, 150, "a", 1);
    mk_kernel(t, stream, 180, 260, "b", 2);
    mk_kernel(t, stream, 290, 400, "c", 3);
    counter(t, zero, 0, "busy", "%", 0);
    counter(t, zero, 100, "busy", "%", 40);
    counter(t, zero, 200, "busy", "%", 80);
    counter(t, zero, 300, "busy", "%", 0);
    counter(t, zero, 0, "read", "byte/second", 1000);
    counter(t, zero, 250, "read", "byte/second", 3000);
    counter(t, one, 0, "busy", "%", 7);
    counter(t, one, 300, "busy", "%", 0);
    size_t row = gp_events_add(&t->events[GP_COUNTER], 100, 0, zero, mk_name(t, "loss")); /* of the program */
    gp_set_value(&t->events[GP_COUNTER], row, 3);
    gp_trace_finish(t);
}

static void add(struct gp_hta *h, int32_t rank)
{
    struct gp_trace t;
    struct gp_view v;
    make(&t, rank);
    gp_view_init(&v, &t, NULL);
    gp_hta_sampled_section.add(h, &v);
    gp_view_release(&v);
    gp_trace_release(&t);
}

static void assert_row(const struct gp_hta *h, size_t i, enum gp_sampled_over over, const char *name,
                       const char *metric, int64_t ns, double mean)
{
    const struct gp_sampled *s = &h->sampled.at[i];
    assert_int_equal(s->device, 0);
    assert_int_equal(s->over, over);
    assert_string_equal(s->name ? gp_hta_str(h, s->name) : "", name);
    assert_string_equal(gp_hta_str(h, s->metric), metric);
    assert_int_equal(s->ns, ns);
    assert_true(s->mean == mean);
}

TEST(a_mean_is_the_integral_over_the_time_of_what_ran)
{
    struct gp_hta h;
    gp_hta_init(&h, NULL);
    add(&h, 0);
    gp_hta_section_sort(&gp_hta_sampled_section, &h);
    assert_int_equal(h.sampled.n, 8);
    assert_row(&h, 0, GP_SAMPLED_WHOLE, "", "busy", 200, (40 * 100 + 80 * 100) / 200.0);
    assert_row(&h, 1, GP_SAMPLED_WHOLE, "", "read", 200, (1000 * 150 + 3000 * 50) / 200.0);
    assert_row(&h, 2, GP_SAMPLED_RANGE, "step", "busy", 80, (40 * 20 + 80 * 60) / 80.0);
    assert_row(&h, 3, GP_SAMPLED_RANGE, "step", "read", 80, (1000 * 70 + 3000 * 10) / 80.0);
    assert_row(&h, 4, GP_SAMPLED_RANGE, "layer", "busy", 50, 40);
    assert_row(&h, 5, GP_SAMPLED_RANGE, "layer", "read", 50, 1000);
    assert_row(&h, 6, GP_SAMPLED_RANGE, "late", "busy", 10, 80);
    assert_row(&h, 7, GP_SAMPLED_RANGE, "late", "read", 10, 3000);
    gp_hta_release(&h);
}

TEST(each_rank_has_its_own_rows_in_any_order_of_merging)
{
    struct gp_hta h, other;
    gp_hta_init(&h, NULL);
    gp_hta_init(&other, NULL);
    add(&h, 1);
    add(&other, 0);
    gp_hta_section_merge(&gp_hta_sampled_section, &h, &other);
    gp_hta_section_sort(&gp_hta_sampled_section, &h);
    assert_int_equal(h.sampled.n, 16);
    for (size_t i = 0; i < 16; i++) assert_int_equal(h.sampled.at[i].rank, i / 8);
    assert_row(&h, 10, GP_SAMPLED_RANGE, "step", "busy", 80, 70);
    gp_hta_release(&h);
    gp_hta_release(&other);
}
