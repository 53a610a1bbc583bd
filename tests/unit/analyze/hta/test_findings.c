// Findings: what is worth a sentence, what is not, and that the sentence's numbers are those of the figures.
#include <stdio.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/buf.h"
#include "tests/unit/unit.h"

/* One device with a span of 1 ms, all of it busy computing. */
static struct gp_hta_device *begin(struct gp_hta *h)
{
    gp_hta_init(h, NULL);
    struct gp_hta_device d;
    memset(&d, 0, sizeof d);
    d.b.span_ns = d.b.busy_ns = d.b.compute_ns = 1000000;
    GP_VEC_PUSH(&h->devices, d);
    return &h->devices.at[0];
}

static const struct gp_finding *find(const struct gp_hta *h, const char *id)
{
    for (size_t i = 0; i < h->findings.n; i++)
        if (!strcmp(gp_hta_str(h, h->findings.at[i].id), id)) return &h->findings.at[i];
    return NULL;
}

TEST(a_busy_device_has_no_findings)
{
    struct gp_hta h;
    begin(&h);
    gp_hta_finish_findings(&h);
    assert_int_equal(h.findings.n, 0);
    gp_hta_release(&h);
}

TEST(nothing_at_all_has_no_findings)
{
    struct gp_hta h;
    gp_hta_init(&h, NULL);
    gp_hta_finish_findings(&h);
    assert_int_equal(h.findings.n, 0);
    gp_hta_release(&h);
}

TEST(idle_time_is_told_by_cause_largest_first)
{
    struct gp_hta h;
    struct gp_hta_device *d = begin(&h);
    d->idle_cause_ns[GP_IDLE_SYNC] = 100000;
    d->idle_cause_ns[GP_IDLE_HOST] = 300000;
    d->idle_cause_ns[GP_IDLE_QUEUED] = 19000; // 1.9%: not worth it
    struct gp_idle_culprit c = {.cause = GP_IDLE_HOST, .idle_ns = 200000};
    c.op = gp_intern_cstr(&h.strings, "aten::item");
    c.range = gp_intern_cstr(&h.strings, "forward");
    GP_VEC_PUSH(&d->culprits, c);
    gp_hta_finish_findings(&h);
    assert_int_equal(h.findings.n, 2);
    const struct gp_finding *f = &h.findings.at[0];
    assert_string_equal(gp_hta_str(&h, f->id), "idle_host");
    assert_int_equal(f->time_ns, 300000);
    assert_true(f->share_pct == 30.0);
    assert_string_equal(gp_hta_str(&h, f->text),
                        "The GPU was idle for 300 \xC2\xB5s (30.0%): the host had launched nothing.");
    assert_string_equal(gp_hta_str(&h, f->where), "aten::item in forward");
    assert_string_equal(gp_hta_str(&h, h.findings.at[1].id), "idle_synchronisation");
    assert_int_equal(h.findings.at[1].where, 0);
    gp_hta_release(&h);
}

// 700 of 1000 us idle, of which 400 in one gap: of which nothing is recorded, or in aten::mm; the sentence
// says it where the line below leads elsewhere, to forward.
TEST(one_long_gap_is_named)
{
    static const struct {
        const char *op, *said, *where;
        int64_t forward_ns;
    } cases[] = {
        {NULL, " of it in one gap with no host activity recorded.", "forward", 250000},
        {"aten::mm", " of it in one gap.", "aten::mm", 250000},
        {"aten::mm", " of it in one gap, in aten::mm.", "forward", 450000},
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_hta h;
        struct gp_hta_device *d = begin(&h);
        d->idle_cause_ns[GP_IDLE_HOST] = 700000;
        struct gp_idle_culprit c = {
            .cause = GP_IDLE_HOST, .idle_ns = cases[i].forward_ns, .longest_ns = 200000};
        c.range = gp_intern_cstr(&h.strings, "forward");
        GP_VEC_PUSH(&d->culprits, c);
        c = (struct gp_idle_culprit){.cause = GP_IDLE_HOST, .idle_ns = 400000, .longest_ns = 400000};
        if (cases[i].op) c.op = gp_intern_cstr(&h.strings, cases[i].op);
        GP_VEC_PUSH(&d->culprits, c);
        gp_hta_finish_findings(&h);
        const struct gp_finding *f = find(&h, "idle_host");
        char want[200];
        snprintf(
            want, sizeof want,
            "The GPU was idle for 700 \xC2\xB5s (70.0%%): the host had launched nothing; 400 \xC2\xB5s%s",
            cases[i].said);
        assert_string_equal(gp_hta_str(&h, f->text), want);
        assert_string_equal(gp_hta_str(&h, f->where), cases[i].where);
        GP_VEC_FREE(&d->culprits);
        gp_hta_release(&h);
    }
}

TEST(hidden_communication_is_no_finding_and_exposed_is)
{
    struct gp_hta h;
    struct gp_hta_device *d = begin(&h);
    d->b.communication_ns = d->b.overlap_ns = 500000;
    gp_hta_finish_findings(&h);
    assert_null(find(&h, "exposed_communication"));
    d->b.overlap_ns = 150000;
    d->b.exposed_communication_ns = 50000;
    gp_hta_finish_findings(&h);
    const struct gp_finding *f = find(&h, "exposed_communication");
    assert_non_null(f);
    assert_int_equal(f->time_ns, 50000);
    assert_non_null(strstr(gp_hta_str(&h, f->text), "75.0% of all communication was hidden"));
    gp_hta_release(&h);
}

TEST(short_kernels_matter_only_where_the_gpu_waits)
{
    struct gp_hta h;
    struct gp_hta_device *d = begin(&h);
    h.launches.linked = 1000;
    h.launches.short_kernels = 900;
    gp_hta_finish_findings(&h);
    assert_null(find(&h, "short_kernels"));
    d->idle_cause_ns[GP_IDLE_HOST] = 460000;
    d->idle_cause_ns[GP_IDLE_LAUNCH] = 40000;
    for (int i = 0; i < 7; i++) gp_histogram_add(&d->gaps, 14); // below 16 the histogram is exact
    gp_histogram_add(&d->gaps, 400000);                         // a gap of its own kind
    gp_hta_finish_findings(&h);
    assert_null(find(&h, "short_kernels")); // 98 ns
    for (int i = 0; i < 7993; i++) gp_histogram_add(&d->gaps, 14);
    gp_hta_finish_findings(&h);
    assert_non_null(find(&h, "short_kernels"));
    assert_int_equal(find(&h, "short_kernels")->time_ns, 500000);
    assert_string_equal(
        gp_hta_str(&h, find(&h, "short_kernels")->text),
        "The GPU waited for launches for 500 µs (50.0%), 112 µs of it in gaps of up to 140 ns: "
        "900 of 1,000 GPU events are shorter than their launch call.");
    // The causes are its parts, largest first.
    h.findings.n = 0;
    gp_hta_finish_findings(&h);
    assert_int_equal(h.findings.n, 3);
    assert_int_equal(h.findings.at[0].part_of, 0);
    static const char *const parts[] = {"short_kernels", "idle_host", "idle_launch_latency"};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(gp_hta_str(&h, h.findings.at[i].id), parts[i]);
        assert_int_equal(h.findings.at[i].part_of, i ? h.findings.at[0].id : 0);
    }
    struct gp_buf text = {0};
    gp_finding_put_part(&text, &h, &h.findings.at[2]);
    assert_string_equal(gp_buf_str(&text), "of which: launch latency.");
    gp_buf_release(&text);
    gp_histogram_release(&d->gaps);
    gp_hta_release(&h);
}

// Several findings about computing are parts of one, none of them longer than it; memory is its own.
TEST(findings_about_computing_are_parts_of_one)
{
    struct gp_hta h;
    struct gp_hta_device *d = begin(&h);
    d->b.busy_ns = 600000;
    d->b.exposed_memory_ns = 100000;
    d->kernel_ns = d->sm_known_ns = d->b.compute_ns = 1000000;
    d->sm_ns = 250000;
    struct gp_clock_stat clocks = {
        .slower_ns = 100000, .busy_ns = 600000, .low_mhz = 1000, .high_mhz = 1000, .boost_mhz = 1980};
    GP_VEC_PUSH(&h.clocks, clocks);
    gp_hta_finish_findings(&h);
    static const char *const ids[] = {"kernels", "small_grids", "clock_low", "exposed_memory"};
    assert_int_equal(h.findings.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(gp_hta_str(&h, h.findings.at[i].id), ids[i]);
        assert_true(h.findings.at[i].time_ns <= 500000);
        assert_int_equal(h.findings.at[i].part_of, i % 3 ? h.findings.at[0].id : 0);
    }
    gp_hta_release(&h);
}

// A quarter of the blocks that the device could hold, of all kernel time or of half of it.
TEST(small_grids_are_told_where_blocks_are_known)
{
    for (int known = 0; known <= 2; known++) {
        struct gp_hta h;
        struct gp_hta_device *d = begin(&h);
        d->kernel_ns = 1000000;
        d->sm_known_ns = known * 500000;
        d->sm_ns = known * 125000.0;
        gp_hta_finish_findings(&h);
        const struct gp_finding *f = find(&h, "small_grids");
        assert_int_equal(f != NULL, known == 2);
        if (f) assert_int_equal(f->time_ns, 750000);
        if (f) assert_non_null(strstr(gp_hta_str(&h, f->text), "only 25.0% of the multiprocessors"));
        gp_hta_release(&h);
    }
}

// NCCL's kernels are small on purpose: of 1 ms of computing and 1 ms of communication nobody can tell.
TEST(small_grids_are_not_told_of_communication)
{
    struct gp_hta h;
    struct gp_hta_device *d = begin(&h);
    d->b.span_ns = 2000000;
    d->b.communication_ns = d->b.exposed_communication_ns = 1000000;
    d->kernel_ns = d->sm_known_ns = 2000000;
    d->sm_ns = 500000;
    gp_hta_finish_findings(&h);
    assert_null(find(&h, "small_grids"));
    gp_hta_release(&h);
}

TEST(a_rank_that_is_often_last_is_named)
{
    struct gp_hta h;
    begin(&h);
    struct gp_straggler s = {.rank = 3, .matched = 10, .times_last = 9, .caused_wait_ns = 400000};
    GP_VEC_PUSH(&h.stragglers, s);
    gp_hta_finish_findings(&h);
    assert_non_null(find(&h, "straggler"));
    assert_int_equal(find(&h, "straggler")->rank, 3);
    assert_non_null(strstr(gp_hta_str(&h, find(&h, "straggler")->text), "Rank 3 came last in 9 of 10"));
    assert_null(strstr(gp_hta_str(&h, find(&h, "straggler")->text), "clocks"));
    h.findings.n = 0;
    h.stragglers.at[0].lateness_ns = 9 * 3000; // three residuals each time
    GP_VEC_PUSH(&h.offsets, ((struct gp_rank_offset){.rank = 3, .error_ns = 1000, .pairs = 10}));
    gp_hta_finish_findings(&h);
    assert_non_null(strstr(gp_hta_str(&h, find(&h, "straggler")->text),
                           "The clocks of the ranks agree to within 1.00 µs."));
    h.findings.n = 0;
    h.stragglers.at[0].lateness_ns = 9 * 3000 - 9;
    gp_hta_finish_findings(&h);
    assert_null(find(&h, "straggler"));
    h.offsets.at[0].error_ns = 0;
    h.stragglers.at[0].times_last = 4; // as often first as last: nobody's fault
    gp_hta_finish_findings(&h);
    assert_null(find(&h, "straggler"));
    GP_VEC_FREE(&h.stragglers);
    GP_VEC_FREE(&h.offsets);
    gp_hta_release(&h);
}

/* The others compute while they wait: only what they do not hide is lost. */
TEST(a_wait_that_computing_hides_is_not_lost)
{
    struct gp_hta h;
    begin(&h);
    for (int rank = 1; rank < 4; rank++) GP_VEC_PUSH(&h.devices, h.devices.at[0]);
    for (int rank = 0; rank < 4; rank++) {
        h.devices.at[rank].rank = rank;
        h.devices.at[rank].b.exposed_communication_ns = rank == 3 ? 20000 : 40000;
        h.devices.at[rank].b.compute_ns -= h.devices.at[rank].b.exposed_communication_ns;
    }
    struct gp_straggler s = {.rank = 3, .matched = 10, .times_last = 9, .caused_wait_ns = 400000};
    GP_VEC_PUSH(&h.stragglers, s);
    gp_hta_finish_findings(&h);
    assert_null(find(&h, "straggler")); // 60 of 4000 us
    for (int rank = 0; rank < 3; rank++) h.devices.at[rank].b.exposed_communication_ns = 70000;
    h.findings.n = 0;
    gp_hta_finish_findings(&h);
    assert_int_equal(find(&h, "straggler")->time_ns, 150000);
    assert_non_null(strstr(gp_hta_str(&h, find(&h, "straggler")->text),
                           "the others waited 400 µs for it in total, 150 µs of it without computing."));
    for (int rank = 0; rank < 3; rank++) h.devices.at[rank].b.exposed_communication_ns = 900000;
    h.findings.n = 0;
    gp_hta_finish_findings(&h);
    assert_int_equal(find(&h, "straggler")->time_ns, 400000);
    GP_VEC_FREE(&h.stragglers);
    gp_hta_release(&h);
}

TEST(one_slow_step_of_a_device_is_named)
{
    struct gp_hta h;
    begin(&h);
    const int64_t length[] = {100000, 100000, 400000, 100000, 100000};
    int64_t at = 0;
    for (int i = 0; i < 5; i++) {
        struct gp_hta_step s = {.rank = 0, .begin_ns = at, .end_ns = at + length[i]};
        at += length[i];
        s.name = gp_intern_cstr(&h.strings, i == 2 ? "step 2" : "step");
        GP_VEC_PUSH(&h.steps, s);
    }
    gp_hta_finish_findings(&h);
    assert_non_null(find(&h, "slow_step"));
    assert_int_equal(find(&h, "slow_step")->time_ns, 300000);
    assert_string_equal(gp_hta_str(&h, find(&h, "slow_step")->where), "step 2");
    h.findings.n = 0;
    h.steps.at[2].partial = true; // cut by the edge of the trace: says nothing
    gp_hta_finish_findings(&h);
    assert_null(find(&h, "slow_step"));
    GP_VEC_FREE(&h.steps);
    gp_hta_release(&h);
}
