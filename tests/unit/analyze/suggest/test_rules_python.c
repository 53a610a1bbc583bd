// What samples of Python functions make of the host's time: a rule that names the function, and launch rules
// that leave that time to it.
#include <stdio.h>
#include <string.h>

#include "formats/model/samples.h"
#include "tests/unit/program_make.h"
#include "tests/unit/unit.h"

#define GEMM "sm90_xmma_gemm_f32f32_tn"

static void sampled(struct program *p, const char *name, const char *state, int64_t ns)
{
    struct gp_events *e = &p->t.events[GP_PYTHON];
    gp_sid category = gp_intern_cstr(&p->t.strings, GP_SAMPLED_CATEGORY);
    gp_set_cat(e, mk_host(&p->t, GP_PYTHON, p->main, p->now, p->now + ns, name), category);
    if (state) gp_set_cat(e, mk_host(&p->t, GP_PYTHON, p->main, p->now, p->now + ns, state), category);
    gp_events_add(&p->t.events[GP_SAMPLE], p->now, ns, p->main,
                  gp_intern_cstr(&p->t.strings, state ? state : "running"));
    host(p, ns);
}

static void ten_kernels(struct program *p)
{
    for (int i = 0; i < 10; i++) host(p, 30 * US), kernel(p, GEMM, 2 * US);
    wait(p, "cudaDeviceSynchronize");
}

static void python_step(struct program *p)
{
    sampled(p, "train.py(12): shuffle", NULL, 5 * MS);
    ten_kernels(p);
}

static void waiting_step(struct program *p)
{
    sampled(p, "train.py(20): fetch_rates", "sleeping", 5 * MS);
    ten_kernels(p);
}

static void short_step(struct program *p)
{
    sampled(p, "train.py(12): shuffle", NULL, 900 * US);
    ten_kernels(p);
}

static void loading_step(struct program *p)
{
    sampled(p, "torch/utils/data/dataloader.py(9): __next__", NULL, 5 * MS);
    ten_kernels(p);
}

static int64_t evidence(const struct gp_suggestion *s, const char *name)
{
    for (size_t i = 0; i < s->evidence.n; i++)
        if (!strcmp(s->evidence.at[i].name, name)) return s->evidence.at[i].value;
    return -1;
}

static void says(const struct program *p, const char *what, const char *action)
{
    const struct gp_suggestion *s = said(p, "python_overhead");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p->s, s->description), what));
    assert_non_null(strstr(gp_suggest_str(&p->s, s->action), action));
}

/* Idle time begins with the first kernel: 5,328 us of each of nine steps of 5,348 us, and 288 us of the last
 * one. Of those 48,240 us 9 times 5 ms pass in Python. */
TEST(long_python_code_is_named)
{
    struct program p;
    speaks(python_step, "python_overhead", 5 * MS / 2, 5 * MS);
    speaks(waiting_step, "python_overhead", 5 * MS / 2, 5 * MS);
    is_silent(short_step, "python_overhead");
    is_silent(loading_step, "python_overhead");
    run(&p, python_step);
    says(&p, "runs Python code for 4.97 ms per step, mainly in train.py(12): shuffle", "one call of NumPy");
    const struct gp_suggestion *s = said(&p, "python_overhead");
    assert_int_equal(s->limit_ns, 5328 * 45000LL * US / 48240);
    // 15% more for the model would be more than the idle time:
    assert_int_equal(s->saving_high_ns, s->limit_ns);
    end(&p);
    run(&p, waiting_step);
    says(&p, "sleeps or waits for 4.97 ms per step, mainly in train.py(20): fetch_rates",
         "to another thread");
    end(&p);
}

#define BACKWARD "torch/autograd/graph.py(869): _engine_run_backward"

/* What a thread does for NS while the GPU waits, and what the rule for it is called. */
static struct pause {
    const char *function, *state, *rule;
    int64_t ns;
} pause;

static void paused_step(struct program *p)
{
    sampled(p, pause.function, pause.state, pause.ns);
    ten_kernels(p);
}

/* Of a step of 348 us and the pause, 17 us are less than 5%, and 40 us are more. */
TEST(a_pause_that_the_gpu_waits_for_matters_from_5_percent_on)
{
    static const struct pause pauses[] = {
        {"train.py(9): step", "garbage collection", "garbage_collection", 0},
        {"queue.py(180): get", "waiting for a lock", "lock_wait", 0},
        {"logging/__init__.py(1151): emit", NULL, "logging", 0},
        {"<frozen importlib._bootstrap>(1): _load", NULL, "import", 0}};
    for (size_t i = 0; i < GP_COUNT(pauses); i++) {
        struct program p;
        pause = pauses[i], pause.ns = 17 * US;
        is_silent(paused_step, pause.rule);
        pause.ns = 40 * US;
        run(&p, paused_step);
        const struct gp_suggestion *s = said(&p, pause.rule);
        assert_non_null(s);
        // As above: 9 times 40 us of 9 times 368 us and 288, in a step 368.
        assert_int_equal(s->limit_ns, 36800);
        assert_true(s->saving_high_ns <= s->limit_ns);
        assert_string_equal(gp_suggest_str(&p.s, s->operation), pause.function);
        // how often it happened is not known from samples
        assert_null(strstr(gp_suggest_str(&p.s, s->description), "time"));
        for (size_t e = 0; e < s->evidence.n; e++)
            assert_int_not_equal(s->evidence.at[e].unit, GP_EVIDENCE_COUNT);
        end(&p);
    }
}

/* 5 ms of waiting in backward(), in which autograd's thread launches and the GPU works: nothing to gain. */
static void backward_step(struct program *p)
{
    int64_t from = p->now;
    uint32_t main = p->main;
    p->main = mk_thread(&p->t, mk_process(&p->t, 1, 0), 200);
    for (int i = 0; i < 50; i++) host(p, 96 * US), kernel(p, GEMM, 2 * US);
    p->main = main;
    int64_t until = p->now;
    p->now = from;
    sampled(p, BACKWARD, pause.state, until - from + 400 * US);
    ten_kernels(p);
}

TEST(waiting_for_the_backward_pass_is_not_waiting_for_a_lock)
{
    static const char *const states[] = {"waiting for a lock", "waiting for the GIL", "sleeping"};
    for (size_t i = 0; i < GP_COUNT(states); i++) {
        pause.state = states[i];
        is_silent(backward_step, "lock_wait");
        is_silent(backward_step, "python_overhead");
    }
}

/* A value is read in FUNCTION after GPU work of DUR, which is over by then if it is LATE. */
static void read_in(struct program *p, const char *function, int64_t dur, bool late)
{
    int64_t from = p->now;
    kernel(p, GEMM, dur);
    copy(p, "Memcpy DtoH (Device -> Pinned)", 1 * US, 4, false);
    if (late) host(p, dur + 50 * US);
    wait(p, "cudaStreamSynchronize");
    gp_set_cat(&p->t.events[GP_PYTHON], mk_host(&p->t, GP_PYTHON, p->main, from, p->now, function),
               gp_intern_cstr(&p->t.strings, GP_SAMPLED_CATEGORY));
    host(p, 20 * US);
}

/* The longest wait is in another function than most of the waiting, and one read of four waits for
 * nothing. */
static void reading_step(struct program *p)
{
    int64_t from = p->now;
    read_in(p, "apps.py(168): log", 200 * US, false);
    read_in(p, "torch/optim/adam.py(151): Adam._init_group", 250 * US, false);
    read_in(p, "apps.py(168): log", 200 * US, false);
    read_in(p, "apps.py(168): log", 10 * US, true);
    gp_set_cat(&p->t.events[GP_PYTHON], mk_host(&p->t, GP_PYTHON, p->main, from, p->now, "apps.py(99): main"),
               gp_intern_cstr(&p->t.strings, GP_SAMPLED_CATEGORY));
}

TEST(all_reads_count_and_are_placed_where_most_of_the_waiting_is)
{
    struct program p;
    run(&p, reading_step);
    const struct gp_suggestion *s = said(&p, "scalar_read");
    assert_non_null(s);
    assert_non_null(strstr(gp_suggest_str(&p.s, s->description), "from the GPU 4 times per step"));
    assert_string_equal(gp_suggest_str(&p.s, s->operation), "apps.py(168): log");
    assert_int_equal(evidence(s, "reads"), 4);
    assert_int_equal(evidence(s, "waits"), 3);
    assert_int_equal(s->to_know, 0); // frames are there
    end(&p);
}

/* A compiler saves the time between launches, which is 30 us before each of ten kernels, not the 5 ms of
 * Python before them. */
TEST(launch_rules_leave_that_time_alone)
{
    struct program p;
    run(&p, python_step);
    for (size_t i = 0; i < p.s.suggestions.n; i++) {
        const struct gp_suggestion *s = &p.s.suggestions.at[i];
        if (strcmp(s->rule->name, "python_overhead") != 0) assert_true(s->saving_high_ns < MS);
    }
    end(&p);
}

/* The stack of the last call: main > rollout, at LINE, > a function of torch. */
static void at_line(struct program *p, uint32_t line)
{
    static const struct {
        const char *name, *file;
    } frames[] = {{"main", "/srv/apps.py"},
                  {"rollout", "/srv/apps.py"},
                  {"item", "/opt/lib/python3.12/site-packages/torch/_tensor.py"}};
    for (size_t i = 0; i < GP_COUNT(frames); i++)
        frame(p, frames[i].name, frames[i].file, i == 1 ? line : 9, !i);
}

static void read_in_a_loop(struct program *p)
{
    for (int i = 0; i < 4; i++) {
        host(p, 30 * US);
        kernel(p, GEMM, 20 * US);
        at_line(p, 257);
        copy(p, "Memcpy DtoH (Device -> Pageable)", 2 * US, 4, true);
        at_line(p, 258);
    }
}

static void read_at_many_lines(struct program *p)
{
    for (uint32_t i = 0; i < 4; i++) {
        host(p, 30 * US);
        kernel(p, GEMM, 20 * US);
        at_line(p, 250 + i);
        copy(p, "Memcpy DtoH (Device -> Pageable)", 2 * US, 4, true);
        at_line(p, 260 + i);
    }
}

/* What PyTorch Geometric writes to a file and calls is not the user's; a script of theirs may have dots. */
static void read_in_file(struct program *p, const char *file, const char *script)
{
    for (int i = 0; i < 4; i++) {
        host(p, 30 * US), kernel(p, GEMM, 20 * US);
        copy(p, "Memcpy DtoH (Device -> Pageable)", 2 * US, 4, true);
        frame(p, "forward", script, 31, true);
        frame(p, "conv", "/opt/lib/python3.12/site-packages/torch_geometric/nn/conv/sage_conv.py", 9, false);
        if (file) frame(p, "propagate", file, 80, false);
        if (file) frame(p, "collect", file, 20, false);
    }
}

static void read_in_a_generated_file(struct program *p)
{
    read_in_file(p, "/tmp/u/torch_geometric.nn.conv.sage_conv_SAGEConv_propagate_ab1c.py", "/srv/model.py");
}

static void read_in_a_file_with_dots(struct program *p)
{
    read_in_file(p, "/srv/hooks.v2.py", "/srv/model.py");
}

static void placed_at(void (*step)(struct program *), const char *rule, const char *place)
{
    struct program p;
    run(&p, step);
    assert_string_equal(gp_suggest_str(&p.s, said(&p, rule)->place), place);
    end(&p);
}

#define CAST                                                                                                 \
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda()::LoadWithCast<1> "   \
    ">(int)"

static void cast_at(struct program *p, uint32_t line, int64_t dur)
{
    kernel(p, CAST, dur);
    frame(p, "train", "/srv/apps.py", line, true);
}

/* Most casts are short, and the longest is of the backward pass. */
static void casts(struct program *p, bool forward)
{
    uint32_t main = p->main;
    kernel(p, GEMM, 100 * US);
    for (int i = 0; i < 3 && forward; i++) cast_at(p, 10, 10 * US);
    if (forward) cast_at(p, 11, 60 * US);
    p->main = mk_thread(&p->t, p->t.tracks.at[main].process, 200);
    cast_at(p, 12, 200 * US);
    p->main = main;
    wait(p, "cudaDeviceSynchronize");
}

static void casts_of_both(struct program *p) { casts(p, true); }

static void casts_of_backward(struct program *p) { casts(p, false); }

TEST(the_place_is_one_that_can_be_changed)
{
    placed_at(read_in_a_generated_file, "scalar_read", "model.py:31 forward, 4 times per step");
    placed_at(read_in_a_file_with_dots, "scalar_read", "hooks.v2.py:20 collect, 4 times per step");
    placed_at(casts_of_both, "cast_churn", "apps.py:11 train");
    placed_at(casts_of_backward, "cast_churn", "apps.py:12 train");
}

/* The line of the user's code that reads, not that of torch, and how often per step. */
TEST(the_place_is_the_line_of_the_program)
{
    struct program p;
    run(&p, read_in_a_loop);
    const struct gp_suggestion *s = said(&p, "scalar_read");
    assert_non_null(s);
    assert_string_equal(gp_suggest_str(&p.s, s->place), "apps.py:258 rollout, 4 times per step");
    end(&p);
    run(&p, read_at_many_lines); // no line has most of them, but the function has
    assert_string_equal(gp_suggest_str(&p.s, said(&p, "scalar_read")->place),
                        "apps.py rollout, 4 times per step");
    end(&p);
    run(&p, python_step);
    assert_int_equal(said(&p, "python_overhead")->place, 0); /* no stacks are known */
    end(&p);
}
