// Samples of counters as rows of a trace: rates from counts, changes only, and nothing where nothing is
// known.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "collect/pm/pm_writer.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/gpt/gpt.h"
#include "formats/model/format.h"
#include "formats/model/trace.h"
#include "tests/unit/unit.h"

extern const struct gp_reader gp_reader_gpt;

struct fixture {
    struct gp_buf file;
    struct gp_pm_writer *w;
    uint32_t producers;
    size_t blocks;
    char text[2000];
};

static uint32_t producer(void *ctx)
{
    struct fixture *f = ctx;
    return ++f->producers;
}

static int on_block(void *ctx, const void *block, size_t n)
{
    struct fixture *f = ctx;
    gp_buf_put(&f->file, block, n);
    f->blocks++;
    return 0;
}

enum { PERIOD = 1000 };

/* GPU 3 with a count of bytes and a share. */
static void begin(struct fixture *f)
{
    static const struct gp_measured_metric metrics[] = {
        {.name = "dram__bytes_read.sum", .unit = "byte"},
        {.name = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", .unit = "percent"},
    };
    uint8_t header[GP_GPT_HEADER_SIZE];
    memset(f, 0, sizeof *f);
    gp_gpt_file_header(header);
    gp_buf_put(&f->file, header, sizeof header);
    f->w = gp_pm_writer_new(&(struct gp_pm_writer_opts){
        .period_ns = PERIOD, .producer = producer, .on_block = on_block, .ctx = f});
    gp_pm_writer_device(f->w, 3, metrics, 2);
    assert_int_equal(gp_pm_writer_values(f->w, 3), 2);
    assert_int_equal(gp_pm_writer_values(f->w, 0), 0);
}

static void put(struct fixture *f, int64_t start_ns, double bytes, double share)
{
    gp_pm_writer_put(f->w, 3, start_ns, start_ns + PERIOD, (const double[]){bytes, share});
}

/* Ends the file; the rows of T as text: "TIME b=VALUE" and "TIME %=VALUE". */
static const char *rows(struct fixture *f, struct gp_trace *t)
{
    struct gp_err err = {0};
    const struct gp_read_opts opts = {.threads = 1};
    size_t n = 0;
    gp_pm_writer_end(f->w);
    struct gp_input *in = gp_input_memory(f->file.data, f->file.n, 1);
    gp_trace_init(t, GP_NEED_ALL);
    assert_int_equal(gp_reader_gpt.read(t, in, &opts, &err), 0);
    gp_input_close(in);
    gp_trace_finish(t);
    const struct gp_events *e = &t->events[GP_COUNTER];
    f->text[0] = '\0';
    for (size_t i = 0; i < e->n && n < sizeof f->text; i++)
        n += (size_t)snprintf(f->text + n, sizeof f->text - n, "%s%" PRId64 " %c=%g", i ? ", " : "",
                              e->start_ns[i], *gp_trace_str(t, gp_get_series(e, i)), gp_get_value(e, i));
    return f->text;
}

static void end(struct fixture *f, struct gp_trace *t)
{
    gp_pm_writer_free(f->w);
    gp_trace_release(t);
    gp_buf_release(&f->file);
}

/* 2000 bytes in a microsecond are 2e9 a second. A value that stays is written once; at the end all are 0. */
TEST(counts_are_rates_and_only_changes_are_written)
{
    struct fixture f;
    struct gp_trace t;
    begin(&f);
    put(&f, 1000, 2000, 50);
    put(&f, 2000, 2000, 50);
    put(&f, 3000, 4000, 50);
    assert_int_equal(gp_pm_writer_samples(f.w), 3);
    assert_string_equal(rows(&f, &t), "1000 b=2e+09, 1000 %=50, 3000 b=4e+09, 4000 b=0, 4000 %=0");
    assert_string_equal(gp_trace_get_meta(&t, GP_META_COUNTER_PERIOD), "1000");
    end(&f, &t);
}

TEST(between_samples_that_are_far_apart_nothing_is_claimed)
{
    struct fixture f;
    struct gp_trace t;
    begin(&f);
    put(&f, 1000, 2000, 50);
    put(&f, 9000, 2000, 50); /* 7000 ns later, which is more than a period */
    assert_string_equal(rows(&f, &t), "1000 b=2e+09, 1000 %=50, 2000 b=0, 2000 %=0, 9000 b=2e+09, 9000 %=50, "
                                      "10000 b=0, 10000 %=0");
    end(&f, &t);
}

TEST(values_that_are_none_and_times_that_go_back_are_left_out)
{
    struct fixture f;
    struct gp_trace t;
    begin(&f);
    put(&f, 5000, NAN, 50);
    put(&f, 4000, 1, 1);                                                   /* before the last */
    gp_pm_writer_put(f.w, 3, 8000, 8000, (const double[]){1, 1});          /* of no length */
    gp_pm_writer_put(f.w, 4, 9000, 9000 + PERIOD, (const double[]){1, 1}); /* of no device of ours */
    assert_int_equal(gp_pm_writer_samples(f.w), 1);
    const char *text = rows(&f, &t);
    assert_non_null(strstr(text, "5000 %=50"));
    assert_null(strstr(text, "b=1"));
    assert_null(strstr(text, "4000"));
    end(&f, &t);
}

TEST(what_was_lost_is_counted)
{
    struct fixture f;
    struct gp_trace t;
    begin(&f);
    put(&f, 1000, 2000, 50);
    gp_pm_writer_lost(f.w, 3, 2);
    gp_pm_writer_lost(f.w, 9, 5); /* of no device of ours */
    rows(&f, &t);
    assert_int_equal(t.losses.n, 1);
    assert_int_equal(t.losses.at[0].count, 2);
    end(&f, &t);
}

/* Rows wait for two seconds, so that blocks are not small. */
TEST(blocks_wait_until_they_are_due)
{
    struct fixture f;
    struct gp_trace t;
    begin(&f);
    put(&f, 1000, 2000, 50);
    gp_pm_writer_flush(f.w, 1000000000);
    assert_int_equal(f.blocks, 0);
    gp_pm_writer_flush(f.w, 2000000000);
    assert_true(f.blocks > 0);
    rows(&f, &t);
    end(&f, &t);
}
