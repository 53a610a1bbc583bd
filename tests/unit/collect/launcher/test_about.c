// The line that sums a run up.
#include <string.h>
#include "collect/launcher/about.h"
#include "formats/base/buf.h"
#include "tests/unit/unit.h"

/* WANT is the line up to the CPU times, which differ from run to run and stand only in the verbose one. */
static void assert_sum(const struct gp_about *a, const char *want)
{
    struct gp_buf b = {0};
    gp_about_sum(&b, a);
    char *cpu = strstr((char *)(uintptr_t)gp_buf_str(&b), ", collector CPU ");
    assert_int_equal(cpu != NULL, a->opts->verbose);
    if (cpu) *cpu = '\0';
    assert_string_equal(b.data, want);
    gp_buf_release(&b);
}

TEST(the_sum_says_what_was_collected_and_what_was_lost)
{
    struct gp_collect_opts o = {GP_COLLECT_DEFAULTS};
    struct gp_about a = {
        .opts = &o,
        .totals = {.processes = 1,
                   .stats = {.kernels = 27, .copies = 4, .sets = 2, .dropped = 3, .bad_time = 1}}};
    assert_sum(&a, "27 kernels, 4 copies, 2 sets, 1 process, 4 lost");
    a.totals.processes = 2;
    a.totals.cut = 1;
    a.totals.live = 1;
    a.totals.stats.inversions = 1;
    a.totals.stats.worst_inversion_ns = 500;
    a.reader_left = true;
    assert_sum(&a, "27 kernels, 4 copies, 2 sets, 2 processes, 4 lost, 1 ended early, 1 still running, "
                   "stopped because the reader exited, 1 clock inversion (max 500 ns)");
}

TEST(a_run_without_cuda_is_named)
{
    struct gp_collect_opts o = {GP_COLLECT_DEFAULTS};
    struct gp_about a = {.opts = &o};
    assert_sum(&a, "no process used CUDA, or the recording library was not loaded: nothing was recorded");
    a.totals.unserved = 1; // what went wrong stands in a line of its own
    assert_sum(&a, "nothing was recorded");
    a.totals.unserved = 0;
    o.filter = "rank:3";
    assert_sum(&a, "no rank of --filter used CUDA: nothing was recorded");
}

TEST(samples_are_named_where_there_is_nothing_else)
{
    struct gp_collect_opts o = {GP_COLLECT_DEFAULTS};
    struct gp_about a = {.opts = &o, .sampled = true, .samples = {.samples = {.whole = 390, .partial = 10}}};
    assert_sum(&a, "no process used CUDA, or the recording library was not loaded: no GPU work was recorded, "
                   "only 400 samples");
    a.counters_sampled = true;
    a.counter_samples = 7;
    assert_sum(&a, "no process used CUDA, or the recording library was not loaded: no GPU work was recorded, "
                   "only 400 samples, "
                   "7 counter samples");
    a.samples.samples.whole = a.samples.samples.partial = 0;
    a.counter_samples = 0;
    assert_sum(&a, "no process used CUDA, or the recording library was not loaded: nothing was recorded");
}

TEST(a_command_that_fails_is_named_with_how_it_ended)
{
    struct gp_collect_opts o = {GP_COLLECT_DEFAULTS};
    struct gp_about a = {.opts = &o, .status = 3, .totals = {.processes = 1}};
    assert_sum(&a, "0 kernels, 0 copies, 0 sets, 1 process, 0 lost, the command exited with status 3");
    a.status = 137;
    a.signal = 9;
    assert_sum(&a,
               "0 kernels, 0 copies, 0 sets, 1 process, 0 lost, the command was ended by signal 9 (Killed)");
    a.totals.processes = 0;
    assert_sum(&a, "no process used CUDA, or the recording library was not loaded: nothing was recorded, the "
                   "command was ended by "
                   "signal 9 (Killed)");
}

TEST(verbose_and_options_add_their_figures)
{
    struct gp_collect_opts o = {GP_COLLECT_DEFAULTS, .verbose = true, .memory = true, .last_ns = 1500000000};
    struct gp_about a = {
        .opts = &o,
        .kept = true,
        .totals = {
            .processes = 1,
            .cut = 1,
            .stats = {
                .dropped = 3, .bad_time = 1, .calls = 9, .ranges = 5, .allocations = 7, .salvaged = 6}}};
    assert_sum(
        &a,
        "0 kernels, 0 copies, 0 sets, 1 process, 4 lost (3 dropped, 1 without a time), 9 calls, 5 ranges, "
        "the last 1.5 s kept, 7 allocations, 1 ended early (6 records salvaged), 0 clock inversions");
}
