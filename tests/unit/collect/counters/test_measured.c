// Counters on their way from a process to its trace: whatever arrives is checked before it is used.
#include <math.h>
#include <string.h>
#include "collect/counters/measured.h"
#include "formats/base/buf.h"
#include "formats/model/trace.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct fixture {
    struct gp_trace t;
    struct gp_measured m;
    uint32_t thread, corr;
    int64_t start_ns, end_ns; /* of the launch that was reported last */
    int launches;
};

static uint32_t thread_of(void *ctx, int64_t tid)
{
    const struct fixture *f = ctx;
    assert_int_equal(tid, 77);
    return f->thread;
}

static void launched(void *ctx, uint32_t corr, int64_t start_ns, int64_t end_ns)
{
    struct fixture *f = ctx;
    f->corr = corr;
    f->start_ns = start_ns;
    f->end_ns = end_ns;
    f->launches++;
}

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    gp_trace_init(&f->t, GP_NEED_ALL);
    f->thread = mk_thread(&f->t, mk_process(&f->t, 1, 0), 77);
    f->m = (struct gp_measured){.trace = &f->t, .thread = thread_of, .launch = launched, .ctx = f};
}

static void end(struct fixture *f)
{
    gp_measured_release(&f->m);
    gp_trace_release(&f->t);
}

/* Time, and bytes that were read. */
static struct gp_buf set_of(uint32_t number)
{
    struct gp_buf b = {0};
    struct gp_measured_set set = {.number = number, .n = 2, .passes = 1, .chip = "GH100"};
    struct gp_measured_metric metrics[2] = {
        {.name = "gpu__time_duration.sum", .unit = "ns"},
        {.name = "dram__bytes_read.sum", .unit = "byte"},
    };
    gp_buf_put(&b, &set, sizeof set);
    gp_buf_put(&b, metrics, sizeof metrics);
    return b;
}

static bool take_set(struct fixture *f, uint32_t number, size_t n)
{
    struct gp_buf b = set_of(number);
    bool taken = gp_measured_take_set(&f->m, b.data, n < b.n ? n : b.n);
    gp_buf_release(&b);
    return taken;
}

/* A launch from 1000 to 5000 whose kernel took 600 ns, and the range around it. */
static struct gp_buf rows(void)
{
    const double values[][2] = {{600, 4096}, {4000, NAN}};
    struct gp_buf b = {0};
    struct gp_measured_rows head;
    memset(&head, 0, sizeof head);
    gp_buf_put(&b, &head, sizeof head);
    gp_measured_put_row(&b,
                        &(struct gp_measured_row){.start_ns = 1000,
                                                  .end_ns = 5000,
                                                  .tid = 77,
                                                  .ordinal = 3,
                                                  .corr = 9,
                                                  .grid = {2, 1, 1},
                                                  .block = {32, 1, 1}},
                        values[0], 2, "gemm");
    gp_measured_put_row(&b, &(struct gp_measured_row){.start_ns = 900, .end_ns = 6000, .tid = 77, .range = 1},
                        values[1], 2, "step");
    return b;
}

TEST(rows_become_metrics_and_say_when_the_kernel_ran)
{
    struct fixture f;
    begin(&f);
    assert_true(take_set(&f, 0, SIZE_MAX));
    struct gp_buf b = rows();
    assert_int_equal(b.n % 8, 0);
    assert_true(gp_measured_take_rows(&f.m, b.data, b.n));
    const struct gp_events *e = &f.t.events[GP_METRIC];
    assert_int_equal(e->n, 2);
    assert_string_equal(gp_trace_str(&f.t, e->name[0]), "gemm");
    assert_true(e->start_ns[0] == 1000 && e->dur_ns[0] == 4000);
    assert_int_equal(gp_get_corr(e, 0), 9);
    assert_int_equal(gp_get_id(e, 0), 3);
    assert_string_equal(gp_trace_str(&f.t, gp_get_cat(e, 1)), GP_METRIC_RANGE);
    /* the call waited for the kernel, which was over when it returned; a range is not a launch */
    assert_int_equal(f.launches, 1);
    assert_true(f.corr == 9 && f.start_ns == 4400 && f.end_ns == 5000);
    assert_string_equal(gp_trace_get_meta(&f.t, GP_META_DISTORTED), "true");
    gp_buf_release(&b);
    end(&f);
}

TEST(a_time_that_does_not_fit_into_the_call_is_not_used)
{
    struct fixture f;
    const double values[] = {7000, 1};
    struct gp_buf b = {0};
    struct gp_measured_rows head;
    memset(&head, 0, sizeof head);
    begin(&f);
    assert_true(take_set(&f, 0, SIZE_MAX));
    gp_buf_put(&b, &head, sizeof head);
    gp_measured_put_row(&b, &(struct gp_measured_row){.start_ns = 1000, .end_ns = 5000, .tid = 77}, values, 2,
                        "k");
    assert_true(gp_measured_take_rows(&f.m, b.data, b.n));
    assert_true(f.start_ns == 1000 && f.end_ns == 5000);
    gp_buf_release(&b);
    end(&f);
}

TEST(sets_come_in_order_and_whole)
{
    struct fixture f;
    struct gp_buf b = set_of(0);
    begin(&f);
    for (size_t n = 0; n < b.n; n++) assert_false(take_set(&f, 0, n));
    assert_false(take_set(&f, 1, SIZE_MAX));
    assert_true(take_set(&f, 0, SIZE_MAX));
    assert_false(take_set(&f, 0, SIZE_MAX));
    assert_true(take_set(&f, 1, SIZE_MAX));
    gp_buf_release(&b);
    end(&f);
}

/* Cut anywhere but between rows, the rest is refused; a copy of the bytes lets the sanitizers see reading
 * beyond. */
TEST(rows_that_are_cut_are_refused)
{
    struct fixture f;
    struct gp_buf b = rows(), first = {0};
    begin(&f);
    assert_false(gp_measured_take_rows(&f.m, b.data, b.n)); /* of a set that nobody sent */
    assert_true(take_set(&f, 0, SIZE_MAX));
    const size_t head = sizeof(struct gp_measured_rows),
                 row = sizeof(struct gp_measured_row) + 2 * sizeof(double) + 8;
    assert_int_equal(b.n, head + 2 * row);
    for (size_t n = 0; n <= b.n; n++) {
        first.n = 0;
        gp_buf_put(&first, b.data, n);
        bool whole = n >= head && (n - head) % row == 0;
        assert_int_equal(gp_measured_take_rows(&f.m, n ? first.data : "", n), whole);
    }
    gp_buf_release(&b);
    gp_buf_release(&first);
    end(&f);
}

TEST(a_request_that_our_launcher_cannot_have_made_is_seen)
{
    struct gp_measure_opts o;
    memset(&o, 0, sizeof o);
    assert_true(gp_measure_opts_fit(&o));
    o.per = GP_MEASURE_RANGES + 1;
    assert_false(gp_measure_opts_fit(&o));
    o.per = GP_MEASURE_KERNELS;
    memset(o.kernel, 'x', sizeof o.kernel); /* without an end */
    assert_false(gp_measure_opts_fit(&o));
}
