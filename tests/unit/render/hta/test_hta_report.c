// The answer of trace-hta as tables, sentences and JSON, from an answer made by hand.
#include <stdio.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/view/steps.h"
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "render/hta/hta_priv.h"
#include "render/hta/hta_formats.h"
#include "tests/unit/unit.h"

static gp_sid name_of(struct gp_hta *h, const char *s) { return gp_intern_cstr(&h->strings, s); }

/* 1000 ns: 500 of compute, 100 of exposed communication (of 200), 50 of exposed copies, 350 idle. */
static void add_device(struct gp_hta *h, int32_t rank)
{
    struct gp_hta_device d;
    memset(&d, 0, sizeof d);
    d.rank = rank;
    d.name = name_of(h, "NVIDIA H200");
    d.b = (struct gp_breakdown){.begin_ns = 5000,
                                .end_ns = 6000,
                                .span_ns = 1000,
                                .busy_ns = 650,
                                .idle_ns = 350,
                                .compute_ns = 500,
                                .communication_ns = 200,
                                .memory_ns = 60,
                                .exposed_communication_ns = 100,
                                .exposed_memory_ns = 50,
                                .overlap_ns = 100,
                                .gpu_events = 3,
                                .gpu_ns = 760};
    d.idle_cause_ns[GP_IDLE_HOST] = 300;
    d.idle_cause_ns[GP_IDLE_QUEUED] = 50;
    gp_histogram_add(&d.gaps, 350);
    GP_VEC_PUSH(&d.culprits, (struct gp_idle_culprit){.cause = GP_IDLE_HOST,
                                                      .op = name_of(h, "aten::mm"),
                                                      .api = name_of(h, "cudaMalloc"),
                                                      .idle_ns = 300,
                                                      .longest_ns = 200,
                                                      .gaps = 2});
    GP_VEC_PUSH(&h->devices, d);
}

static void add_kernel(struct gp_hta *h, const char *name, enum gp_frame_kind kind, int64_t ns)
{
    struct gp_kernel_stat k;
    memset(&k, 0, sizeof k);
    k.name = name_of(h, name);
    k.kind = kind;
    gp_histogram_add(&k.dur, ns);
    GP_VEC_PUSH(&h->kernels, k);
}

static void add_step(struct gp_hta *h, const char *name, bool partial, int64_t ns)
{
    struct gp_hta_step s;
    memset(&s, 0, sizeof s);
    s.name = name_of(h, name);
    s.source = GP_STEPS_MARKER;
    s.partial = partial;
    s.b.span_ns = s.b.idle_ns = ns;
    GP_VEC_PUSH(&h->steps, s);
}

/* One input and one device; RANK -1 for none. */
static void make(struct gp_hta *h, int32_t rank)
{
    gp_hta_init(h, NULL);
    struct gp_input_quality in;
    memset(&in, 0, sizeof in);
    in.path = name_of(h, "a.json");
    in.format = name_of(h, "chrome");
    in.compression = name_of(h, "none");
    in.verdict = name_of(h, "clean");
    in.rank = rank;
    in.events = 9;
    in.gpu_events = 3;
    GP_VEC_PUSH(&h->inputs, in);
    add_device(h, rank);
}

static void expect_verdict(const struct gp_hta *h, size_t i, const char *text)
{
    struct gp_report r = {0};
    gp_hta_report(&r, h, &(struct gp_hta_report_opts){0});
    assert_true(i < r.verdict.n);
    assert_string_equal(r.verdict.at[i].text, text);
    gp_report_release(&r);
}

static void expect_quality(const struct gp_hta *h, const char *text)
{
    struct gp_report r = {0};
    gp_hta_quality(&r, h, false);
    assert_int_equal(r.quality.n, 1);
    assert_string_equal(r.quality.at[0].text, text);
    gp_report_release(&r);
}

TEST(every_table_is_complete_and_known)
{
    struct gp_hta h;
    struct gp_report r = {0};
    make(&h, 0);
    add_kernel(&h, "gemm", GP_FRAME_GEMM, 7);
    add_step(&h, "s", false, 7);
    gp_hta_report(&r, &h, &(struct gp_hta_report_opts){.steps = true});
    for (size_t i = 0, k = 0; i < r.tables.n; i++) {
        const struct gp_report_table *t = r.tables.at[i];
        assert_int_equal(t->cells.n, gp_report_rows(t) * t->columns.n);
        assert_true(gp_report_rows(t) > 0);
        while (gp_hta_table_id(k) && strcmp(gp_hta_table_id(k), t->id) != 0) k++; // in the order of the list
        assert_non_null(gp_hta_table_id(k));
    }
    gp_report_release(&r);
    gp_hta_release(&h);
}

TEST(the_verdict_tells_the_shares)
{
    struct gp_hta h;
    make(&h, -1);
    expect_verdict(&h, 0,
                   "NVIDIA H200 over 1.00 \xC2\xB5s: computing 50.0%, only communicating 10.0%, "
                   "only copying 5.00%, idle 35.0% (350 ns).");
    // 300 of 350
    expect_verdict(&h, 1,
                   "Largest cause of idle time: the host had launched nothing, 300 ns (85.7% of it), mainly "
                   "in aten::mm.");
    gp_hta_release(&h);
}

TEST(devices_that_differ_are_named)
{
    struct gp_hta h;
    make(&h, 0);
    add_device(&h, 5);
    h.devices.at[1].b.idle_ns = 850;
    h.devices.at[1].b.compute_ns = 0;
    expect_verdict(&h, 1, "They differ: idle time ranges from 35.0% (rank 0) to 85.0% (rank 5).");
    gp_hta_release(&h);
}

TEST(one_device_of_two_processes_is_not_two_devices)
{
    struct gp_hta h;
    make(&h, -1);
    add_device(&h, -1);
    h.devices.at[1].producer = 1;
    expect_verdict(&h, 0,
                   "NVIDIA H200 in 2 processes over 1.00 \xC2\xB5s each: computing 50.0%, only communicating "
                   "10.0%, only copying 5.00%, idle 35.0% (350 ns each).");
    gp_hta_release(&h);
}

TEST(damage_is_told_with_its_place)
{
    struct gp_hta h;
    make(&h, 0);
    h.inputs.at[0].issues[GP_Q_TRUNCATED] = (struct gp_issue){1, 1234567};
    h.inputs.at[0].issues[GP_Q_BAD_DURATION] = (struct gp_issue){3, 12};
    expect_quality(
        &h, "a.json: the input ends early (first at byte 1234567); durations that are missing or invalid, "
            "read as 0: 3 (first at byte 12)");
    gp_hta_release(&h);
}

TEST(missing_ranks_are_told_in_runs)
{
    struct gp_hta h;
    make(&h, 0);
    static const int32_t missing[] = {1, 3, 4, 5, 9};
    for (int i = 0; i < 5; i++) GP_VEC_PUSH(&h.missing_ranks, missing[i]);
    h.world_size = 10;
    GP_VEC_PUSH(&h.inputs, h.inputs.at[0]); // one input alone was chosen: then nothing is missing
    expect_quality(&h, "missing ranks of 10: 1, 3 to 5, 9");
    gp_hta_release(&h);
}

TEST(the_rest_of_a_long_table_is_counted)
{
    struct gp_hta h;
    struct gp_report r = {0};
    make(&h, 0);
    add_kernel(&h, "a", GP_FRAME_GEMM, 700);
    add_kernel(&h, "b", GP_FRAME_GEMM, 40);
    add_kernel(&h, "c", GP_FRAME_MEMCPY, 20);
    gp_hta_report(&r, &h, &(struct gp_hta_report_opts){.top = 1});
    const struct gp_report_table *t = gp_report_find(&r, "kernels");
    assert_int_equal(gp_report_rows(t), 1);
    assert_string_equal(t->more, "and 2 more, together 60 ns");
    gp_report_release(&r);
    gp_hta_release(&h);
}

/* As in the chart above the table, and as classes where a terminal shows it. */
TEST(rows_of_kernels_have_the_colour_of_their_kind)
{
    struct gp_hta h;
    struct gp_report r = {0};
    gp_hta_init(&h, NULL);
    add_kernel(&h, "softmax", GP_FRAME_REDUCTION, 3);
    add_kernel(&h, "ncclDevKernel_AllReduce", GP_FRAME_COMMUNICATION, 2);
    add_kernel(&h, "Memset (Device)", GP_FRAME_MEMSET, 1);
    gp_hta_report(&r, &h, &(struct gp_hta_report_opts){.only = "kernels"});
    const struct gp_report_table *t = gp_report_find(&r, "kernels");
    static const enum gp_frame_kind kinds[] = {GP_FRAME_REDUCTION, GP_FRAME_COMMUNICATION, GP_FRAME_MEMSET};
    static const enum gp_class classes[] = {GP_CLASS_COMPUTE, GP_CLASS_COMMUNICATION, GP_CLASS_MEMORY};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(gp_row_kind(t->classes.at[i]), kinds[i]);
        assert_int_equal(gp_row_class(t->classes.at[i]), 1 + classes[i]);
    }
    gp_report_release(&r);
    gp_hta_release(&h);
}

/* 1000 pieces of 1 ns, and 3 of 100 among them: these stand alone, the others between them together. */
TEST(a_long_path_is_folded_and_sums_stay)
{
    struct gp_hta_path p = {.rank = 0};
    int64_t at = 0;
    for (int i = 0; i < 1003; i++) {
        int64_t end = at + (i == 0 || i == 500 || i == 501 ? 100 : 1);
        GP_VEC_PUSH(&p.pieces,
                    (struct gp_path_piece){at, end, i % 3 ? GP_PATH_HOST : GP_PATH_LAUNCH, 0, 0, -1, 7});
        at = end;
    }
    gp_path_runs runs = {0};
    gp_hta_path_fold(&p, 7, &runs);
    static const int64_t want[] = {100, 499, 100, 100, 501};
    assert_int_equal(runs.n, 5);
    for (size_t i = 0; i < 5; i++) assert_int_equal(runs.at[i].total_ns, want[i]);
    assert_int_equal(runs.at[1].bound, GP_PATH_HOST);
    assert_int_equal(runs.at[1].end - runs.at[1].first, 499);
    GP_VEC_FREE(&runs);
    gp_hta_path_fold(&p, 0, &runs);
    assert_int_equal(runs.n, 1003);
    GP_VEC_FREE(&runs);
    GP_VEC_FREE(&p.pieces);
}

/* Steps of 10, 20, ... 50 ns: the two longest are listed, in order of time, the others counted. */
TEST(the_longest_steps_are_listed)
{
    struct gp_hta h;
    struct gp_report r = {0};
    gp_hta_init(&h, NULL);
    for (int i = 0; i < 5; i++) {
        struct gp_hta_step s;
        memset(&s, 0, sizeof s);
        s.b.span_ns = 10 * (5 - i);
        GP_VEC_PUSH(&h.steps, s);
    }
    gp_hta_report(&r, &h, &(struct gp_hta_report_opts){.steps = true, .step_rows = 2});
    const struct gp_report_table *t = gp_report_find(&r, "step_list");
    assert_int_equal(gp_report_rows(t), 2);
    assert_non_null(strstr(t->more, "and 3 more, together 60 ns"));
    gp_report_release(&r);
    gp_hta_release(&h);
}

TEST(cut_steps_do_not_count_for_the_spread)
{
    struct gp_hta h;
    gp_step_spreads all = {0};
    make(&h, 0);
    add_step(&h, "a", true, 1);
    add_step(&h, "b", false, 30);
    add_step(&h, "c", false, 10);
    gp_hta_step_spreads(&h, false, &all);
    assert_int_equal(all.n, 1);
    assert_int_equal(all.at[0].count, 3);
    assert_int_equal(all.at[0].used, 2);
    assert_int_equal(all.at[0].median_ns, 10);
    assert_true(all.at[0].mean_ns == 20 && all.at[0].stddev_ns == 10);
    assert_ptr_equal(all.at[0].slowest, &h.steps.at[1]);
    GP_VEC_FREE(&all);
    gp_hta_release(&h);
}

TEST(culprits_of_all_devices_are_summed)
{
    struct gp_hta h;
    gp_idle_culprits all = {0};
    make(&h, 0);
    add_device(&h, 1);
    h.devices.at[1].culprits.at[0].longest_ns = 250;
    h.devices.at[1].culprits.at[0].longest_at_ns = 77;
    gp_hta_culprit_sums(&h, &all);
    assert_int_equal(all.n, 1);
    assert_int_equal(all.at[0].idle_ns, 600);
    assert_int_equal(all.at[0].gaps, 4);
    assert_int_equal(all.at[0].longest_ns, 250);
    assert_int_equal(all.at[0].longest_at_ns, 77);
    GP_VEC_FREE(&all);
    gp_hta_release(&h);
}

TEST(json_begins_as_the_contract_says)
{
    static const char expect[] =
        "{\n  \"schema\": \"gpuprof/trace-hta/1\",\n  \"tool\": \"trace-hta\",\n  \"version\": \"" GP_VERSION
        "\",\n"
        "  \"inputs\": [\n"
        "    {\"path\": \"a.json\", \"format\": \"chrome\", \"compression\": \"none\", \"rank\": null, "
        "\"events\": 9, "
        "\"gpu_events\": 3, ";
    struct gp_hta h;
    struct gp_buf b = {0};
    make(&h, -1);
    gp_hta_json_write(&b, &(struct gp_hta_answer){.h = &h});
    assert_true(gp_json_is_valid(b.data, b.n));
    assert_true(b.n > sizeof expect && !memcmp(b.data, expect, sizeof expect - 1));
    assert_non_null(strstr(
        gp_buf_str(&b), "\"span_ns\": 1000, \"busy_ns\": 650, \"idle_ns\": 350, \"compute_ns\": 500, "
                        "\"communication_ns\": 200, \"memory_ns\": 60, \"exposed_communication_ns\": 100, "
                        "\"exposed_memory_ns\": 50, \"compute_pct\": 50, \"exposed_communication_pct\": 10, "
                        "\"exposed_memory_pct\": 5, \"idle_pct\": 35, \"overlap_pct\": 50, \"idle\": {"));
    gp_buf_release(&b);
    gp_hta_release(&h);
}

TEST(json_holds_whatever_names_there_are)
{
    struct gp_hta h;
    struct gp_buf b = {0};
    make(&h, 0);
    add_kernel(&h, "\"\\\n\x01\xFF", GP_FRAME_COMPUTE, 5);
    gp_hta_json_write(&b, &(struct gp_hta_answer){.h = &h});
    assert_true(gp_json_is_valid(b.data, b.n));
    gp_buf_release(&b);
    gp_hta_release(&h);
}

TEST(one_unusable_input_of_several_does_not_condemn_all)
{
    struct gp_hta h;
    struct gp_buf b = {0};
    make(&h, 0);
    GP_VEC_PUSH(&h.inputs, h.inputs.at[0]);
    h.inputs.at[1].verdict = name_of(&h, "unusable");
    gp_hta_json_write(&b, &(struct gp_hta_answer){.h = &h});
    assert_non_null(strstr(gp_buf_str(&b), "\"quality\": {\n    \"verdict\": \"repaired\""));
    gp_buf_release(&b);
    gp_hta_release(&h);
}
