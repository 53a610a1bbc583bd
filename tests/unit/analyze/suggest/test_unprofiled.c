// What a recorder added is taken out of the host's time, and no saving passes what there is to gain. Figures
// by hand.
#include "analyze/view/recorder.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define ELEMENTWISE "void at::native::vectorized_elementwise_kernel<4, F, std::array<char*, 2ul> >(int, F)"
#define GEMM        "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT"
#define OURS        "\"gpuprof-collect 0.2.0\""

TEST(costs_are_per_event_and_part_of_a_gap)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    assert_null(gp_recorder_of(&t));
    gp_trace_set_meta(&t, "schemaVersion", "1", 1);
    assert_null(gp_recorder_of(&t)); // without operators it may be anybody's
    uint32_t main = mk_thread(&t, mk_process(&t, 1, 0), 100);
    mk_host(&t, GP_OP, main, 0, 1, "aten::add");
    const struct gp_recorder *torch = gp_recorder_of(&t);
    assert_string_equal(torch->name, "torch.profiler");
    gp_trace_set_meta(&t, "collector", OURS, strlen(OURS));
    const struct gp_recorder *ours = gp_recorder_of(&t);
    assert_string_equal(ours->name, "gpuprof-collect");
    gp_trace_set_meta(&t, "collector", "\"another\"", 9);
    assert_null(gp_recorder_of(&t));
    gp_trace_release(&t);
    struct gp_recorder_events n = {.launches = 2, .ops = 3};
    // 2 launches at 3 us and 3 operators at 0.9; at 14 us and 5 us
    // and 5% of the time that an unrecorded run may take longer; 15% where gpuprof-collect recorded
    assert_int_equal(gp_recorder_least_ns(torch, &n, 1 * MS), 2 * 3000 + 3 * 900 - 50 * US);
    assert_int_equal(gp_recorder_most_ns(torch, &n, 1 * MS), 2 * 14000 + 3 * 5000);
    // no more than 33% and 65% of a short gap
    assert_int_equal(gp_recorder_least_ns(torch, &n, 4 * US), 1320 - 200);
    assert_int_equal(gp_recorder_most_ns(torch, &n, 10 * US), 6500);
    assert_int_equal(gp_recorder_least_ns(ours, &n, 1 * MS), 2 * 900 - 150 * US);
    assert_int_equal(gp_recorder_most_ns(ours, &n, 10 * US), 5000);
    struct gp_recorder_events after_a_wait = {.launches = 1, .waits = 1};
    assert_int_equal(gp_recorder_most_ns(ours, &after_a_wait, 1 * MS), 14200 + 200000);
    struct gp_recorder_events with_stack = {.launches = 1, .frames = 4};
    assert_int_equal(gp_recorder_most_ns(torch, &with_stack, 10 * US), 8000); // 80% of the gap
    assert_int_equal(gp_recorder_most_ns(torch, &n, -5), 0);
}

/* A step takes 340 us: ten times 30 us of the host and a call of 4 us. */
static void same_step(struct program *p)
{
    for (int i = 0; i < 10; i++) host(p, 30 * US), kernel(p, ELEMENTWISE, 2 * US);
}

TEST(the_step_without_the_recorder)
{
    struct program p;
    run_with(&p, same_step, NULL, OURS);
    const struct gp_suggest_step *s = &p.s.step;
    assert_string_equal(s->recorder, "gpuprof-collect");
    assert_int_equal(s->step_ns, 340 * US);
    // each launch: 0.9 to 14.2 us of its 34, the step's range at the first of them; and 15% that the host may
    // be slower in another run
    assert_in_range(s->unprofiled_high_ns, (340 - 9 + 51) * US - 400, (340 - 9 + 51) * US + 100);
    assert_in_range(s->unprofiled_low_ns, (340 - 142) * US - 400, (340 - 142) * US + 100);
    assert_int_equal(s->unprofiled_ns,
                     s->unprofiled_low_ns + (s->unprofiled_high_ns - s->unprofiled_low_ns) * 35 / 100);
    const struct gp_suggestion *graph = said(&p, "cuda_graph");
    // all but the 20 us of the GPU, where the recorder cost least, would be 362 us: no more than the recorded
    // step can go
    assert_int_equal(graph->saving_high_ns, 340 * US);
    // at worst 93.5 us are left of 198, but 38% of the high end less 14.7 us (1% of the step, 3% of what the
    // GPU waits) are more: 114.5, of which the slowest host leaves 70% of 178 less 14.7 us
    assert_in_range(graph->saving_low_ns, 109 * US, 110 * US);
    assert_int_equal(graph->priority, GP_PRIORITY_CRITICAL);
    assert_non_null(strstr(gp_suggest_str(&p.s, graph->to_know), "--step-time"));
    end(&p);
}

/* The only step has a hole of 43 ms between two kernels of its optimizer: no rule but those that look for
 * holes takes it. */
TEST(one_long_gap_is_left_alone)
{
    struct program p;
    struct gp_err err;
    begin(&p);
    for (int i = 0; i < 40; i++) {
        host(&p, i == 20 ? 43 * MS : 50 * US);
        kernel(&p, "void at::native::multi_tensor_apply_kernel<TensorListMetadata<3>, F>(F)", 20 * US);
    }
    mk_host(&p.t, GP_RANGE, p.main, 0, p.now, "ProfilerStep#0");
    gp_trace_finish(&p.t);
    gp_suggest_init(&p.s, NULL);
    assert_int_equal(gp_suggest_run(&p.s, &p.t, &err), 0);
    const struct gp_suggestion *s = said(&p, "optimizer");
    assert_non_null(s);
    // at most 40 times 54 us of the host, 25% of that, and 1% of the step of 45 ms
    assert_in_range(s->saving_high_ns, 1, 40 * 54 * US * 125 / 100 + 460 * US);
    end(&p);
}

TEST(a_measured_step_time_decides)
{
    struct program p;
    run_with(&p, same_step, &(struct gp_suggest_opts){.unprofiled_ns = 280 * US}, OURS);
    assert_int_equal(p.s.step.unprofiled_ns, 280 * US);
    assert_int_equal(p.s.step.unprofiled_low_ns, 280 * US);
    assert_int_equal(p.s.step.unprofiled_high_ns, 280 * US);
    // all but the 20 us of the kernels, give or take what two runs differ by
    assert_int_equal(said(&p, "cuda_graph")->saving_high_ns, 280 * US - 20 * US + 280 * US / 100);
    end(&p);
    // as recorded, whatever recorded it
    run_with(&p, same_step, &(struct gp_suggest_opts){.unprofiled_ns = 340 * US}, NULL);
    assert_int_equal(p.s.step.unprofiled_ns, 340 * US);
    end(&p);
    // the recorder cost 142 us at most, and 1.7 times that elsewhere: the host was slower for other reasons,
    // too
    run_with(&p, same_step, &(struct gp_suggest_opts){.unprofiled_ns = 60 * US}, OURS);
    assert_int_equal(p.s.step.unprofiled_ns, 60 * US);
    assert_in_range(said(&p, "cuda_graph")->saving_high_ns, 30 * US, 41 * US); // all but 20 us
    end(&p);
}

TEST(a_step_time_that_cannot_be_is_refused)
{
    static const struct {
        int64_t given_ns;
        const char *why;
    } wrong[] = {
        {19 * US, "--step-time: 19.0 \xC2\xB5s is shorter than the GPU works in a step, 20.0 \xC2\xB5s"},
        {341 * US, "--step-time: 341 \xC2\xB5s is longer than the recorded step, 340 \xC2\xB5s"}};
    for (size_t i = 0; i < GP_COUNT(wrong); i++) {
        struct program p;
        struct gp_err err = {0};
        write_steps(&p, same_step, OURS);
        gp_suggest_init(&p.s, &(struct gp_suggest_opts){.unprofiled_ns = wrong[i].given_ns});
        assert_int_equal(gp_suggest_run(&p.s, &p.t, &err), -1);
        assert_int_equal(err.code, GP_E_USAGE);
        assert_string_equal(err.msg, wrong[i].why);
        end(&p);
    }
}

TEST(a_damaged_trace_is_not_trusted)
{
    struct program p;
    struct gp_err err;
    for (uint64_t lost = 0; lost < 2; lost++) {
        write_steps(&p, same_step, OURS);
        p.t.input.events = 210; // ten steps of a range, ten calls and ten kernels
        gp_trace_issue(&p.t, GP_Q_SYNTAX, 2 + lost, 0);
        gp_suggest_init(&p.s, NULL);
        assert_int_equal(gp_suggest_run(&p.s, &p.t, &err), 0);
        assert_int_equal(p.s.step.trusted, !lost); // 2 of 210 are less than 1%, 3 are more
        assert_int_equal(p.s.step.damaged, lost);
        const struct gp_suggestion *s = said(&p, "cuda_graph");
        assert_non_null(s);
        assert_int_equal(s->saving_high_ns > 0, !lost);
        end(&p);
    }
}

TEST(unknown_recorders_cost_nothing)
{
    struct program p;
    run(&p, same_step);
    assert_null(p.s.step.recorder);
    assert_int_equal(p.s.step.unprofiled_low_ns, p.s.step.step_ns);
    assert_int_equal(p.s.step.unprofiled_high_ns, p.s.step.step_ns);
    end(&p);
}

/* The copy takes longer than what could run beside it. */
static void mostly_copies(struct program *p)
{
    copy(p, "Memcpy HtoD (Pinned -> Device)", 900 * US, 40 << 20, false);
    kernel(p, GEMM, 600 * US);
    wait(p, "cudaDeviceSynchronize");
}

TEST(a_copy_beside_kernels_saves_the_shorter_of_them)
{
    struct program p;
    run(&p, mostly_copies);
    const struct gp_suggestion *s = said(&p, "copy_overlap");
    assert_non_null(s);
    assert_true(s->saving_high_ns <= p.s.step.step_ns - 900 * US);
    assert_true(s->speedup_high <= (double)p.s.step.step_ns / (900.0 * US));
    end(&p);
}

/* Ten launches in 340 us, and then 8 ms of something else. */
static void one_long_gap(struct program *p)
{
    host(p, 8 * MS);
    same_step(p);
}

TEST(launches_do_not_take_what_one_long_gap_holds)
{
    static const char *const rules[] = {"cuda_graph", "compile"};
    struct program p;
    run(&p, one_long_gap);
    assert_in_range(p.s.step.step_ns, 8339 * US, 8341 * US);
    for (size_t i = 0; i < GP_COUNT(rules); i++) {
        const struct gp_suggestion *s = said(&p, rules[i]);
        // neither the error of the model nor noise reaches into the gap
        assert_non_null(s);
        assert_in_range(s->saving_high_ns, 240 * US, 340 * US);
    }
    end(&p);
}

/* The step was timed five times before the recording, and in pauses of it, in which it drifted by 5%. */
static void add_paces(struct program *p)
{
    static const int64_t bare[] = {240 * US, 260 * US, 900 * US, 240 * US, 260 * US},
                         pause[] = {300 * US, 300 * US, 300 * US, 315 * US, 315 * US, 315 * US, 315 * US};
    uint32_t process = p->t.tracks.at[p->main].process;
    for (size_t i = 0; i < GP_COUNT(bare); i++)
        GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){(int64_t)i, bare[i], GP_PACE_BARE, process}));
    for (size_t i = 0; i < GP_COUNT(pause); i++)
        GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){(int64_t)i + 10, pause[i], GP_PACE_PAUSE, process}));
    GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){0, 20 * US, GP_PACE_BARE, process + 1})); /* of another */
}

/* What the step is said to take with the paces of ADD, and STEP_TIME of the user. NOTE: of a pace of other
 * steps, which is left out; NULL: none. */
static struct gp_suggest_step step_with(void (*add)(struct program *), int64_t step_time, const char *note)
{
    struct program p;
    struct gp_err err;
    write_steps(&p, same_step, OURS);
    if (add) add(&p);
    gp_suggest_init(&p.s, &(struct gp_suggest_opts){.unprofiled_ns = step_time});
    assert_int_equal(gp_suggest_run(&p.s, &p.t, &err), 0);
    struct gp_suggest_step step = p.s.step;
    const char *said = NULL;
    for (size_t i = 0; i < p.s.notes.n && !said; i++)
        said = strstr(gp_suggest_str(&p.s, p.s.notes.at[i]), "timed without recording took ");
    assert_int_equal(said != NULL, note != NULL);
    if (note) assert_non_null(strstr(said, note));
    assert_true(step.unprofiled_low_ns <= step.unprofiled_ns &&
                step.unprofiled_ns <= step.unprofiled_high_ns);
    end(&p);
    return step;
}

/* Twice as long after the recording as in the pauses before, from when the last kernel is launched, but has
 * not begun. */
static void add_late_paces(struct program *p)
{
    uint32_t process = p->t.tracks.at[p->main].process;
    const struct gp_events *api = &p->t.events[GP_API], *gpu = &p->t.events[GP_GPU];
    int64_t since = api->start_ns[api->n - 1] + 1;
    assert_true(since < gpu->start_ns[gpu->n - 1]);
    add_paces(p);
    for (int64_t i = 0; i < 9; i++)
        GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){since + i * MS, 600 * US, GP_PACE_PAUSE, process}));
}

static void add_impossible_pace(struct program *p)
{
    uint32_t process = p->t.tracks.at[p->main].process;
    GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){0, 10 * US, GP_PACE_BARE, process}));
}

static void add_pace_of_parts(struct program *p)
{
    uint32_t process = p->t.tracks.at[p->main].process;
    GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){0, 110 * US, GP_PACE_BARE, process}));
}

static void add_longer_pace(struct program *p)
{
    uint32_t process = p->t.tracks.at[p->main].process;
    GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){0, 400 * US, GP_PACE_BARE, process}));
}

TEST(the_step_as_it_was_timed_while_nobody_recorded)
{
    // the mean, 304 us, in which 900 us count for 520, and 5% more as the pauses drifted
    struct gp_suggest_step s = step_with(add_paces, 0, NULL);
    assert_int_equal(s.unprofiled_source, GP_UNPROFILED_MEASURED);
    assert_in_range(s.unprofiled_ns, 319199, 319201);
    assert_int_equal(s.unprofiled_low_ns, s.unprofiled_high_ns);
    // what comes after the last recorded step tells nothing of it
    s = step_with(add_late_paces, 0, NULL);
    assert_in_range(s.unprofiled_ns, 319199, 319201);
    // what the user says holds
    s = step_with(add_paces, 320 * US, NULL);
    assert_int_equal(s.unprofiled_source, GP_UNPROFILED_GIVEN);
    assert_int_equal(s.unprofiled_ns, 320 * US);
    // a step is not shorter than the GPU works in it: that was timed of something else
    s = step_with(add_impossible_pace, 0, "took 10.0 \xC2\xB5s, so they are left out: the host ran ahead");
    assert_int_equal(s.unprofiled_source, GP_UNPROFILED_MODEL);
    // nor does a recorder make it three times as long: 340 us
    s = step_with(add_pace_of_parts, 0, "took 110 \xC2\xB5s, so they are left out: not the recorded ones");
    assert_int_equal(s.unprofiled_source, GP_UNPROFILED_MODEL);
    // a saving is of recorded time
    s = step_with(add_longer_pace, 0,
                  "took 400 \xC2\xB5s; savings are of the recorded ones, which took less");
    assert_int_equal(s.unprofiled_source, GP_UNPROFILED_MEASURED);
    assert_int_equal(s.unprofiled_ns, s.step_ns);
    s = step_with(NULL, 0, NULL);
    assert_int_equal(s.unprofiled_source, GP_UNPROFILED_MODEL);
}

/* A step takes 449 us: ten products of 40 us, for each of which the host takes 34. */
static void gpu_decides(struct program *p)
{
    if (!p->t.devices.n) {
        struct gp_device d = gp_device_unknown();
        d.id = 0, d.cc_major = 9, d.cc_minor = 0;
        GP_VEC_PUSH(&p->t.devices, d);
    }
    for (int i = 0; i < 10; i++)
        host(p, 30 * US),
            kernel(p, "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_ffma_aligna4", 40 * US);
    wait(p, "cudaDeviceSynchronize");
}

/* gpu_decides with a pace: N steps of BARE ns, and PAUSES, in which the host runs ahead. */
static void run_paced(struct program *p, const int64_t *bare, int64_t n, int64_t pauses)
{
    struct gp_err err;
    write_steps(p, gpu_decides, OURS);
    uint32_t process = p->t.tracks.at[p->main].process;
    for (int64_t i = 0; i < n; i++)
        GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){i, bare[i], GP_PACE_BARE, process}));
    for (int64_t i = 0; i < pauses; i++)
        GP_VEC_PUSH(&p->t.paces, ((struct gp_pace){i + n, (120 - i) * US, GP_PACE_PAUSE, process}));
    gp_suggest_init(&p->s, NULL);
    assert_int_equal(gp_suggest_run(&p->s, &p->t, &err), 0);
}

/* The pace after five steps in which the host ran ahead, six that took SETTLED_NS, and pauses in which it ran
 * ahead again; 0: none. */
static int64_t paced(int64_t settled_ns)
{
    struct program p;
    int64_t bare[11];
    for (int i = 0; i < 11; i++) bare[i] = i < 5 ? 100 * US : settled_ns;
    run_paced(&p, bare, 11, 6);
    int64_t ns = p.s.step.unprofiled_source == GP_UNPROFILED_MEASURED ? p.s.step.unprofiled_ns : 0;
    end(&p);
    return ns;
}

TEST(a_host_that_runs_ahead_tells_the_pace_once_its_launches_wait)
{
    assert_int_equal(paced(444 * US), 444 * US);
    // the GPU works for 400 us of a recorded step, and a few percent less where clocks are higher
    assert_int_equal(paced(390 * US), 400 * US);
    assert_int_equal(paced(210 * US), 0);
    assert_int_equal(paced(110 * US), 0);
}

/* NS of STEP_NS, if PCT percent as much goes for each part that stays. */
static int64_t at_odds(int64_t ns, int64_t step_ns, int pct)
{
    return step_ns * (ns * pct / 100) / (ns * pct / 100 + step_ns - ns);
}

TEST(a_pace_that_the_gpu_decides_tells_little_of_the_host)
{
    struct program p;
    static const int64_t bare[] = {444 * US, 444 * US, 444 * US, 444 * US, 444 * US};
    run_paced(&p, bare, GP_COUNT(bare), 0);
    assert_int_equal(p.s.step.unprofiled_source, GP_UNPROFILED_MEASURED);
    const struct gp_suggestion *s = said(&p, "tensor_cores");
    assert_non_null(s);
    // 5.4 us are left of a product, and then the host decides. With all that the recorder may have cost the
    // step would take 430 us: 444 and 1% more or less leave from nearly nothing of that to half
    int64_t low = evidence_ns(s, "replayed_low"), high = evidence_ns(s, "replayed_high");
    assert_in_range(low, 101 * US, 103 * US);
    assert_in_range(high, 177 * US, 179 * US);
    // and as the changes that were measured differed from their replays
    int low_pct = 0, high_pct = 0;
    const char *ends = strstr(gp_suggest_str(&p.s, s->formula), "; what goes,");
    assert_non_null(ends);
    assert_int_equal(
        sscanf(ends, "; what goes, for each part of the step that stays, is %d to %d%%", &low_pct, &high_pct),
        2);
    assert_true(0 < low_pct && low_pct < 100 && 100 < high_pct);
    assert_in_range(s->saving_low_ns, at_odds(low, 444 * US, low_pct) - 2,
                    at_odds(low, 444 * US, low_pct) + 2);
    assert_in_range(s->saving_high_ns, at_odds(high, 444 * US, high_pct) - 2,
                    at_odds(high, 444 * US, high_pct) + 2);
    end(&p);
}

/* The sentence of every headline about a step of ten launches, 340 us, as it is after ADD. */
static void says(void (*add)(struct program *), const char *collector, const char *sentence)
{
    struct program p;
    struct gp_view v;
    struct gp_buf b = {0};
    write_steps(&p, same_step, collector);
    if (add) add(&p);
    gp_view_init(&v, &p.t, NULL);
    struct gp_recorder_added a = gp_recorder_added(&v, &v.devices.at[0], 0, 10 * 340 * US, 10);
    gp_recorder_added_put(&b, &a);
    assert_string_equal(gp_buf_str(&b), sentence);
    gp_buf_release(&b);
    gp_view_release(&v);
    end(&p);
}

TEST(what_the_recorder_added_to_a_step)
{
    // 340 us, of which 319.2 were there without it
    says(add_paces, OURS, "; gpuprof-collect added 20.8 \xC2\xB5s of it (6.12%)");
    // in 10 steps 99 launches at 14.2 us, the last one, whose kernel starts later, as a call at 1 us, and
    // ranges at 0.3 cost 1.41 ms at most; at 0.9 and 0.075 us 90 us at least, less 15% of the 3.2 ms that
    // are idle; 35% of the way from the most to the least, divided by 10
    says(NULL, OURS, "; gpuprof-collect likely added 78.0 \xC2\xB5s of it (22.9%)");
    says(NULL, NULL, "");
}
