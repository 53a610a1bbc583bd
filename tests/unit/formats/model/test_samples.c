// Samples as time: rows of frames that consecutive samples share, with borders in the middle, by hand.
#include "formats/model/trace.h"
#include "formats/model/samples.h"
#include "tests/unit/gpt_util.h"
#include "tests/unit/unit.h"

static uint32_t add_stack(struct gp_trace *t, uint32_t parent, const char *name, const char *file,
                          uint32_t line)
{
    if (!t->stacks.n) GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    struct gp_stack s = {.parent = parent,
                         .name = gp_intern_cstr(&t->strings, name),
                         .file = gp_intern_cstr(&t->strings, file),
                         .line = line};
    GP_VEC_PUSH(&t->stacks, s);
    return (uint32_t)t->stacks.n - 1;
}

static uint32_t add_thread(struct gp_trace *t, uint32_t producer, int64_t tid)
{
    struct gp_process p = gp_process_unknown();
    struct gp_track k = gp_track_unknown();
    p.pid = 5;
    p.producer = producer;
    k.kind = GP_TRACK_THREAD;
    k.process = gp_trace_process(t, &p);
    k.tid = tid;
    return gp_trace_track(t, &k);
}

static void add_sample(struct gp_trace *t, uint32_t track, int64_t at, int64_t dur, uint32_t repeats,
                       uint32_t stack, const char *does)
{
    struct gp_events *e = &t->events[GP_SAMPLE];
    size_t row = gp_events_add(e, at, dur, track, gp_intern_cstr(&t->strings, does));
    gp_set_id(e, row, stack);
    gp_set_total(e, row, repeats);
}

/* main calls load (twice at line 7, once at 8), then log; the period is 100 us. */
static void make(struct gp_trace *t, uint32_t *track)
{
    gp_trace_init(t, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES);
    gp_trace_set_meta(t, GP_META_SAMPLE_PERIOD, "100000", 6);
    *track = add_thread(t, 1, 9);
    uint32_t sampled = add_thread(t, 2, 9);
    uint32_t main1 = add_stack(t, 0, "main", "/srv/app/train.py", 1),
             main2 = add_stack(t, 0, "main", "/srv/app/train.py", 2);
    uint32_t a = add_stack(t, main1, "load", "/opt/x/site-packages/lib/data.py", 7);
    uint32_t b = add_stack(t, main1, "load", "/opt/x/site-packages/lib/data.py", 8);
    uint32_t c = add_stack(t, main2, "log", "/usr/lib/python3.11/logging/__init__.py", 3);
    add_sample(t, sampled, 1000000, 100000, 1, a, "running");
    add_sample(t, sampled, 1200000, 0, 0, b, "running");
    add_sample(t, sampled, 1300000, 0, 0, c, "running");
    add_sample(t, sampled, 1400000, 0, 0, c, "garbage collection");
    add_sample(t, sampled, 2000000, 0, 0, a, "running"); /* after six periods without samples */
}

static void check_row(const struct gp_trace *t, size_t i, int64_t start, int64_t end, const char *name,
                      uint32_t track)
{
    const struct gp_events *e = &t->events[GP_PYTHON];
    assert_true(i < e->n);
    assert_string_equal(gp_trace_str(t, e->name[i]), name);
    assert_int_equal(e->start_ns[i], start);
    assert_int_equal(e->start_ns[i] + e->dur_ns[i], end);
    assert_int_equal(e->track[i], track);
    assert_string_equal(gp_trace_str(t, gp_get_cat(e, i)), GP_SAMPLED_CATEGORY);
}

TEST(consecutive_samples_are_one_row)
{
    struct gp_trace t;
    uint32_t track;
    make(&t, &track);
    gp_samples_expand(&t);
    gp_trace_finish(&t);
    assert_int_equal(t.events[GP_PYTHON].n, 6);
    check_row(&t, 0, 950000, 1450000, "train.py(1): main", track);
    check_row(&t, 1, 950000, 1250000, "lib/data.py(7): load", track);
    check_row(&t, 2, 1250000, 1450000, "logging/__init__.py(3): log", track);
    check_row(&t, 3, 1350000, 1450000, "garbage collection", track);
    check_row(&t, 4, 1950000, 2050000, "train.py(1): main", track);
    check_row(&t, 5, 1950000, 2050000, "lib/data.py(7): load", track);
    assert_int_equal(gp_samples_period(&t), 100000);
    gp_trace_release(&t);
}

TEST(samples_go_through_a_file)
{
    struct gp_trace t, back;
    struct gp_buf file = {0};
    uint32_t track;
    make(&t, &track);
    gp_trace_finish(&t);
    write_trace(&t, NULL, &file, NULL);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    const struct gp_events *x = &t.events[GP_SAMPLE], *y = &back.events[GP_SAMPLE];
    assert_int_equal(y->n, 5);
    assert_int_equal(back.stacks.n, t.stacks.n);
    for (size_t i = 0; i < x->n; i++) {
        assert_int_equal(gp_get_total(x, i), gp_get_total(y, i));
        uint32_t a = gp_sample_stack(x, i), b = gp_sample_stack(y, i);
        for (; a; a = t.stacks.at[a].parent, b = back.stacks.at[b].parent) {
            assert_true(b);
            assert_string_equal(gp_trace_str(&t, t.stacks.at[a].name),
                                gp_trace_str(&back, back.stacks.at[b].name));
            assert_string_equal(gp_trace_str(&t, t.stacks.at[a].file),
                                gp_trace_str(&back, back.stacks.at[b].file));
            assert_int_equal(t.stacks.at[a].line, back.stacks.at[b].line);
        }
        assert_int_equal(b, 0);
    }
    gp_trace_release(&t);
    gp_trace_release(&back);
    gp_buf_release(&file);
}

static void add_row(struct gp_trace *t, enum gp_table table, uint32_t track, int64_t start, int64_t end,
                    const char *name)
{
    gp_events_add(&t->events[table], start, end - start, track, gp_intern_cstr(&t->strings, name));
}

/* A call that was not sampled has what the samples around it have in common; what they do not stands before
 * and after it. One that was has the stack of the sample, from begin to end. */
TEST(calls_have_what_both_samples_have)
{
    static const struct {
        int64_t begin, end; /* of the call */
        int64_t step[2];    /* where the frame of the first sample ends, that of the second begins */
    } cases[] = {
        {1020000, 1030000, {1050000, 1050000}}, /* before the middle */
        {1040000, 1060000, {1040000, 1060000}}, /* around it */
        {1049000, 1050000, {1049000, 1050000}}, /* up to it */
        {900000, 1070000, {1085000, 1085000}},  /* the first sample is in it */
        {1020000, 1170000, {1010000, 1010000}}, /* the second is */
    };
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_trace t;
        gp_trace_init(&t, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES);
        gp_trace_set_meta(&t, GP_META_SAMPLE_PERIOD, "100000", 6);
        uint32_t track = add_thread(&t, 1, 9), root = add_stack(&t, 0, "main", "train.py", 1);
        uint32_t a = add_stack(&t, root, "step", "train.py", 2),
                 b = add_stack(&t, root, "load", "data.py", 3);
        add_sample(&t, track, 1000000, 0, 0, a, "running");
        add_sample(&t, track, 1100000, 200000, 2, b, "running");
        add_row(&t, GP_API, track, cases[i].begin, cases[i].end, "cudaLaunchKernel");
        gp_samples_expand(&t);
        gp_trace_finish(&t);
        const struct gp_events *e = &t.events[GP_PYTHON];
        int64_t first = cases[i].begin < 950000 ? cases[i].begin : 950000, step_ends = 0,
                load_begins = INT64_MAX;
        check_row(&t, 0, first, 1350000, "train.py(1): main", track);
        for (size_t k = 1; k < e->n; k++) {
            bool step = !strcmp(gp_trace_str(&t, e->name[k]), "train.py(2): step");
            int64_t end = e->start_ns[k] + e->dur_ns[k];
            if (step && end > step_ends) step_ends = end;
            if (!step && e->start_ns[k] < load_begins) load_begins = e->start_ns[k];
            bool in_call = e->start_ns[k] < cases[i].end && end > cases[i].begin;
            assert_true(!in_call || i >= 3);
        }
        assert_int_equal(step_ends, cases[i].step[0]);
        assert_int_equal(load_begins, cases[i].step[1]);
        gp_trace_release(&t);
    }
}

/* Of a long call in which one sample was taken, the stack is known from begin to end. */
TEST(one_sample_in_a_long_call_is_enough)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES);
    gp_trace_set_meta(&t, GP_META_SAMPLE_PERIOD, "100000", 6);
    uint32_t track = add_thread(&t, 1, 9), a = add_stack(&t, 0, "wait", "train.py", 2);
    add_sample(&t, track, 5000000, 0, 0, a, "running");
    add_row(&t, GP_API, track, 1000000, 9000000, "cudaStreamSynchronize");
    gp_samples_expand(&t);
    gp_trace_finish(&t);
    assert_int_equal(t.events[GP_PYTHON].n, 1);
    check_row(&t, 0, 1000000, 9000000, "train.py(2): wait", track);
    gp_trace_release(&t);
}

/* What a thread does is known from its third equal stack on, and holds for those before; the collection of
 * garbage is known at once. */
TEST(what_a_thread_does_is_a_row)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES);
    gp_trace_set_meta(&t, GP_META_SAMPLE_PERIOD, "100000", 6);
    uint32_t track = add_thread(&t, 1, 9), a = add_stack(&t, 0, "take", "train.py", 2),
             b = add_stack(&t, 0, "spin", "train.py", 3);
    add_sample(&t, track, 1000000, 100000, 1, a, "running"); /* twice: not asked yet */
    add_sample(&t, track, 1200000, 200000, 2, a, GP_SAMPLED_LOCK);
    add_sample(&t, track, 1500000, 200000, 2, b, "running"); /* three times: asked */
    add_sample(&t, track, 1800000, 0, 0, b, "sleeping");
    add_sample(&t, track, 1900000, 0, 0, a, "running");
    add_sample(&t, track, 2000000, 0, 0, a, GP_SAMPLED_GARBAGE);
    gp_samples_expand(&t);
    gp_trace_finish(&t);
    assert_int_equal(t.events[GP_PYTHON].n, 6);
    check_row(&t, 0, 950000, 1450000, "train.py(2): take", track);
    check_row(&t, 1, 950000, 1450000, GP_SAMPLED_LOCK, track);
    check_row(&t, 2, 1450000, 1850000, "train.py(3): spin", track);
    check_row(&t, 3, 1750000, 1850000, "sleeping", track);
    check_row(&t, 4, 1850000, 2050000, "train.py(2): take", track);
    check_row(&t, 5, 1950000, 2050000, GP_SAMPLED_GARBAGE, track);
    gp_trace_release(&t);
}

/* A range lies below what the samples around its begin have in common, and is above every other frame:
 * those are rows on either side of its borders. Ranges of one name are at one depth. */
TEST(ranges_are_above_what_was_called_in_them)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES);
    gp_trace_set_meta(&t, GP_META_SAMPLE_PERIOD, "100000", 6);
    uint32_t track = add_thread(&t, 1, 9), root = add_stack(&t, 0, "main", "train.py", 1);
    uint32_t a = add_stack(&t, root, "step", "train.py", 2), b = add_stack(&t, root, "load", "data.py", 3);
    add_sample(&t, track, 1000000, 0, 0, b, "running");
    add_sample(&t, track, 1100000, 300000, 3, a, "running");
    add_row(&t, GP_RANGE, track, 1060000, 1190000, "step 1"); /* of another frame's time on one side */
    add_row(&t, GP_RANGE, track, 1200000, 1300000, "step 2"); /* of step's alone */
    gp_samples_expand(&t);
    gp_trace_finish(&t);
    assert_int_equal(t.events[GP_PYTHON].n, 7);
    check_row(&t, 0, 950000, 1450000, "train.py(1): main", track);
    check_row(&t, 1, 950000, 1050000, "data.py(3): load", track);
    check_row(&t, 2, 1050000, 1060000, "train.py(2): step", track);
    check_row(&t, 3, 1060000, 1190000, "train.py(2): step", track);
    check_row(&t, 4, 1190000, 1200000, "train.py(2): step", track);
    check_row(&t, 5, 1200000, 1300000, "train.py(2): step", track);
    check_row(&t, 6, 1300000, 1450000, "train.py(2): step", track);
    gp_trace_release(&t);
}

/* While only another thread is sampled, a thread runs no Python: a call then is below nothing, though the
 * samples before and after it agree. Without that thread they decide. */
TEST(a_thread_that_is_not_sampled_with_the_others_runs_no_python)
{
    for (int others = 0; others < 2; others++) {
        struct gp_trace t;
        gp_trace_init(&t, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES);
        gp_trace_set_meta(&t, GP_META_SAMPLE_PERIOD, "100000", 6);
        uint32_t track = add_thread(&t, 1, 9), other = add_thread(&t, 1, 10);
        uint32_t hook = add_stack(&t, 0, "hook", "train.py", 2);
        add_sample(&t, track, 1000000, 0, 0, hook, "running");
        add_sample(&t, track, 1300000, 0, 0, hook, "running");
        if (others) add_sample(&t, other, 1000000, 300000, 3, hook, "running");
        add_row(&t, GP_API, track, 1140000, 1160000, "cudaLaunchKernel");
        gp_samples_expand(&t);
        gp_trace_finish(&t);
        check_row(&t, others ? 1 : 0, 950000, others ? 1050000 : 1350000, "train.py(2): hook", track);
        gp_trace_release(&t);
    }
}

/* 100,000 samples of 500 stacks in runs of 10: the aim is 2 bytes for each. */
TEST(samples_are_small)
{
    struct gp_trace t;
    struct gp_buf file = {0};
    struct gp_gpt_write_opts opts = {.codec = GP_GPT_PLAIN};
    uint64_t seed = 3;
    gp_trace_init(&t, GP_NEED_ALL);
    uint32_t track = add_thread(&t, 1, 9), root = add_stack(&t, 0, "main", "train.py", 1);
    for (uint32_t i = 0; i < 500; i++) add_stack(&t, i % 7 ? root + i / 2 : root, "function", "model.py", i);
    for (int64_t i = 0; i < 10000; i++)
        add_sample(&t, track, 50000000 * i + (int64_t)pick(&seed, 2500000), 45000000, 9,
                   1 + (uint32_t)pick(&seed, 500), "running");
    gp_trace_finish(&t);
    write_trace(&t, &opts, &file, NULL);
    assert_true(file.n < 100000 * 2);
    gp_trace_release(&t);
    gp_buf_release(&file);
}
