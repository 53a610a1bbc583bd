// Exact stacks of calls and ranges as trees: equal steps, ranges among frames, threads that wait for others.
#include <stdio.h>
#include "analyze/view/host_stack.h"
#include "formats/base/buf.h"
#include "formats/model/samples.h"
#include "formats/model/stack_tree.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct scene {
    struct gp_trace t;
    uint32_t main, autograd;
    int64_t now;
    uint64_t seed, corr;
    bool samples;
};

static void begin(struct scene *s)
{
    memset(s, 0, sizeof *s);
    gp_trace_init(&s->t, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES);
    GP_VEC_PUSH(&s->t.stacks, (struct gp_stack){0});
    /* the thread that waits has the larger number */
    s->autograd = mk_thread(&s->t, mk_process(&s->t, 5, 1), 11);
    s->main = mk_thread(&s->t, mk_process(&s->t, 5, 1), 10);
    s->now = 1000;
}

/* The stack of "f:3 g:4 autograd h:5", functions with the lines that they stand at. */
static uint32_t stack(struct gp_trace *t, const char *text)
{
    uint32_t at = 0;
    char name[64];
    for (int n = 0; sscanf(text, "%63[^: ]%n", name, &n) == 1; text += n + (text[n] == ' ')) {
        unsigned line = 0;
        struct gp_stack k = {.parent = at, .name = mk_name(t, name)};
        if (text[n] == ':') {
            line = (unsigned)strtoul(text + n + 1, NULL, 10);
            k.file = mk_name(t, "/srv/m.py");
            while (text[n] && text[n] != ' ') n++;
        }
        k.line = line;
        uint32_t known = 0;
        for (uint32_t i = 1; i < t->stacks.n && !known; i++)
            if (!memcmp(&t->stacks.at[i], &k, sizeof k)) known = i;
        if (!known) {
            known = (uint32_t)t->stacks.n;
            GP_VEC_PUSH(&t->stacks, k);
        }
        at = known;
    }
    return at;
}

static int64_t pass(struct scene *s)
{
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return s->now += 500 + (int64_t)(s->seed >> 33) % 20000;
}

static size_t launch(struct scene *s, uint32_t track, const char *text)
{
    int64_t at = pass(s);
    size_t row = mk_call(&s->t, track, at, s->now = at + 3000, "cudaLaunchKernel", ++s->corr);
    gp_set_stack(&s->t.events[GP_API], row, stack(&s->t, text));
    if (track != s->main) gp_set_waiter(&s->t.events[GP_API], row, s->main);
    return row;
}

static size_t push(struct scene *s, const char *name, const char *text)
{
    size_t row = mk_host(&s->t, GP_RANGE, s->main, pass(s), s->now, name);
    gp_set_stack(&s->t.events[GP_RANGE], row, stack(&s->t, text));
    return row;
}

static void pop(struct scene *s, size_t row)
{
    s->t.events[GP_RANGE].dur_ns[row] = pass(s) - s->t.events[GP_RANGE].start_ns[row];
}

static void sample(struct scene *s, const char *text)
{
    if (!s->samples) return;
    size_t row = gp_events_add(&s->t.events[GP_SAMPLE], pass(s), 0, s->main, mk_name(&s->t, "running"));
    gp_set_id(&s->t.events[GP_SAMPLE], row, stack(&s->t, text));
}

/* The events around the call, outermost first. */
static void put_path(const struct gp_host_stack *hs, uint32_t node, struct gp_buf *to)
{
    if (node == GP_HOST_NONE) return;
    const struct gp_host_event *ev = &hs->nodes[node];
    put_path(hs, ev->parent, to);
    gp_buf_printf(to, "%s%s", to->n ? ";" : "", gp_trace_str(hs->t, hs->t->events[ev->table].name[ev->row]));
}

static void finish(struct scene *s, struct gp_host_stack *hs)
{
    gp_samples_expand(&s->t);
    gp_trace_finish(&s->t);
    gp_host_stack_build_self(hs, &s->t);
}

static void end(struct scene *s, struct gp_host_stack *hs)
{
    gp_host_stack_release(hs);
    gp_trace_release(&s->t);
}

static void check_path(const struct gp_host_stack *hs, size_t call, const char *path)
{
    struct gp_buf b = {0};
    put_path(hs, gp_host_node(hs, GP_API, call), &b);
    assert_string_equal(gp_buf_str(&b), path);
    gp_buf_release(&b);
}

static void one_step(struct scene *s)
{
    sample(s, "main:3 load:70");
    size_t step = push(s, "step", "main:4 step:10 push:1");
    launch(s, s->main, "main:4 step:11 forward:20 linear:30");
    sample(s, "main:4 step:11 forward:20 linear:30 check:90");
    size_t layer = push(s, "layer", "main:4 step:11 forward:21 push:1");
    launch(s, s->main, "main:4 step:11 forward:22 attend:41");
    launch(s, s->main, "main:4 step:11 forward:22 attend:41 u:50");
    sample(s, "main:4 step:11 forward:22 attend:41 u:51");
    pop(s, layer);
    launch(s, s->main, "main:4 step:11 forward:23 linear:30");
    launch(s, s->main, "main:4 step:11 forward:24 linear:30");
    for (int i = 0; i < 3; i++) launch(s, s->autograd, "main:4 step:12 backward:60 autograd");
    launch(s, s->autograd, "main:4 step:12 backward:60 autograd hook:80");
    launch(s, s->autograd, "main:4 step:12 backward:60 autograd");
    sample(s, "main:4 step:12 backward:60");
    launch(s, s->main, "main:4 step:13 update:65");
    pop(s, step);
    launch(s, s->main, "main:5 report:75");
}

/* Whenever its calls come, and whatever samples see between them, a step has one tree. */
static void check_equal_steps(bool samples)
{
    enum { STEPS = 50, CALLS = 12 };
    static const char *const paths[CALLS] = {
        "m.py(4): main;m.py(11): step;step;m.py(22): forward;m.py(30): linear;cudaLaunchKernel",
        "m.py(4): main;m.py(11): step;step;m.py(22): forward;layer;m.py(41): attend;cudaLaunchKernel",
        ("m.py(4): main;m.py(11): step;step;m.py(22): forward;layer;m.py(41): attend;m.py(50): "
         "u;cudaLaunchKernel"),
        "m.py(4): main;m.py(11): step;step;m.py(22): forward;m.py(30): linear;cudaLaunchKernel",
        "m.py(4): main;m.py(11): step;step;m.py(22): forward;m.py(30): linear;cudaLaunchKernel",
        "m.py(4): main;m.py(11): step;step;m.py(60): backward;autograd;cudaLaunchKernel",
        "m.py(4): main;m.py(11): step;step;m.py(60): backward;autograd;cudaLaunchKernel",
        "m.py(4): main;m.py(11): step;step;m.py(60): backward;autograd;cudaLaunchKernel",
        "m.py(4): main;m.py(11): step;step;m.py(60): backward;autograd;m.py(80): hook;cudaLaunchKernel",
        "m.py(4): main;m.py(11): step;step;m.py(60): backward;autograd;cudaLaunchKernel",
        "m.py(4): main;m.py(11): step;step;m.py(65): update;cudaLaunchKernel",
        "m.py(4): main;m.py(75): report;cudaLaunchKernel",
    };
    struct scene s;
    struct gp_host_stack hs;
    begin(&s);
    s.samples = samples;
    if (samples) gp_trace_set_meta(&s.t, GP_META_SAMPLE_PERIOD, "100000", 6);
    for (int i = 0; i < STEPS; i++) one_step(&s);
    finish(&s, &hs);
    assert_int_equal(s.t.events[GP_API].n, STEPS * CALLS);
    for (size_t i = 0; i < s.t.events[GP_API].n; i++) check_path(&hs, i, paths[i % CALLS]);
    int64_t self = 0, covered = 0;
    for (uint32_t i = 0; i < hs.n; i++) self += hs.self_ns[i];
    for (uint32_t k = 0; k < s.t.tracks.n; k++)
        for (uint32_t i = hs.first[k]; i < hs.end[k]; i++) {
            uint32_t up = hs.nodes[i].parent;
            if (up == GP_HOST_NONE || gp_host_track(&hs, up) != k)
                covered += hs.nodes[i].end_ns - hs.nodes[i].start_ns;
        }
    assert_int_equal(self, covered);
    assert_int_equal(hs.overlapping, 0);
    end(&s, &hs);
}

TEST(equal_steps_have_equal_trees) { check_equal_steps(false); }

TEST(samples_between_exact_stacks_change_no_tree) { check_equal_steps(true); }

static size_t rows_of(const struct scene *s, const char *name, const char *category)
{
    const struct gp_events *e = &s->t.events[GP_PYTHON];
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++)
        n += !strcmp(gp_trace_str(&s->t, e->name[i]), name) &&
             (!category || !strcmp(gp_trace_str(&s->t, gp_get_cat(e, i)), category));
    return n;
}

/* A function is one row for as long as it runs, and another one where its caller has moved on; frames that
 * only samples have seen are marked. */
TEST(rows_are_calls_of_functions)
{
    struct scene s;
    struct gp_host_stack hs;
    begin(&s);
    s.samples = true;
    gp_trace_set_meta(&s.t, GP_META_SAMPLE_PERIOD, "100000", 6);
    one_step(&s);
    finish(&s, &hs);
    assert_int_equal(rows_of(&s, "m.py(4): main", GP_PYTHON_STACK_CATEGORY), 1);
    assert_int_equal(rows_of(&s, "m.py(30): linear", GP_PYTHON_STACK_CATEGORY), 3);
    assert_int_equal(rows_of(&s, "m.py(60): backward", GP_PYTHON_STACK_CATEGORY), 1);
    assert_int_equal(rows_of(&s, "autograd", GP_PYTHON_STACK_CATEGORY), 1);
    assert_int_equal(rows_of(&s, "m.py(70): load", GP_SAMPLED_CATEGORY), 1);
    assert_int_equal(rows_of(&s, "m.py(90): check", GP_SAMPLED_CATEGORY), 1);
    assert_int_equal(rows_of(&s, "m.py(1): push", NULL), 0); /* seen at moments only */
    end(&s, &hs);
}

/* An operator lies below the frames of the calls in it, though it begins before the first of them is seen. */
TEST(operators_are_below_the_frames_of_their_calls)
{
    struct scene s;
    struct gp_host_stack hs;
    begin(&s);
    launch(&s, s.main, "main:4 step:10");
    size_t op = mk_host(&s.t, GP_OP, s.main, pass(&s), s.now, "aten::linear");
    launch(&s, s.main, "main:4 step:11 linear:30");
    launch(&s, s.main, "main:4 step:11 linear:30 inner:31");
    s.t.events[GP_OP].dur_ns[op] = pass(&s) - s.t.events[GP_OP].start_ns[op];
    launch(&s, s.main, "main:4 step:11 linear:32");
    finish(&s, &hs);
    check_path(&hs, 0, "m.py(4): main;m.py(11): step;cudaLaunchKernel");
    check_path(&hs, 1, "m.py(4): main;m.py(11): step;m.py(30): linear;aten::linear;cudaLaunchKernel");
    check_path(&hs, 2,
               "m.py(4): main;m.py(11): step;m.py(30): linear;aten::linear;m.py(31): inner;cudaLaunchKernel");
    check_path(&hs, 3, "m.py(4): main;m.py(11): step;m.py(30): linear;cudaLaunchKernel");
    end(&s, &hs);
}

/* What a thread is in does not follow from the thread that waits for it once it has ended. */
TEST(events_of_a_thread_stay_on_it)
{
    struct scene s;
    struct gp_host_stack hs;
    begin(&s);
    launch(&s, s.main, "main:4 step:10");
    launch(&s, s.autograd, "main:4 step:12 backward:60 autograd");
    int64_t after = s.now + 100;
    launch(&s, s.main, "main:4 step:13");
    finish(&s, &hs);
    check_path(&hs, 1, "m.py(4): main;m.py(10): step;m.py(60): backward;autograd;cudaLaunchKernel");
    assert_int_equal(gp_host_at(&hs, s.autograd, after), GP_HOST_NONE);
    uint32_t node = gp_host_at(&hs, s.main, after);
    assert_string_equal(gp_trace_str(&s.t, s.t.events[GP_PYTHON].name[hs.nodes[node].row]), "m.py(10): step");
    end(&s, &hs);
}

/* A function is named after the line where most of its work is from, whether that is launched or replayed. */
TEST(lines_are_those_of_most_work_in_graphs_too)
{
    static const char *const from[] = {"main:4 forward:20 linear:30", "main:4 forward:22 linear:31",
                                       "main:4 forward:22 linear:31"};
    for (int graph = 0; graph < 2; graph++) {
        struct scene s;
        struct gp_host_stack hs;
        begin(&s);
        uint32_t stream = mk_stream(&s.t, mk_process(&s.t, 5, 1), 0, 7);
        if (graph) launch(&s, s.main, "main:4 forward:20 linear:30"); /* it is captured, too */
        for (size_t k = 0; k < 2 * GP_COUNT(from); k++) {
            size_t i = k % GP_COUNT(from);
            if (!graph) launch(&s, s.main, from[i]);
            size_t row = mk_kernel(&s.t, stream, pass(&s), s.now + 100, "gemm", s.corr);
            if (graph) gp_set_stack(&s.t.events[GP_GPU], row, stack(&s.t, from[i]));
        }
        finish(&s, &hs);
        struct gp_stack_tree tree;
        struct gp_buf name = {0};
        gp_stack_tree_build(&tree, &s.t);
        for (size_t i = 0; i < tree.functions.n; i++) {
            if (i) gp_buf_puts(&name, "; ");
            struct gp_buf one = {0};
            gp_stack_tree_name(&tree, (uint32_t)i, &one);
            gp_buf_puts(&name, gp_buf_str(&one));
            gp_buf_release(&one);
        }
        assert_string_equal(gp_buf_str(&name), "m.py(4): main; m.py(22): forward; m.py(31): linear");
        gp_buf_release(&name);
        gp_stack_tree_release(&tree);
        end(&s, &hs);
    }
}

/* Anything may be in a file. */
TEST(damaged_columns_do_no_harm)
{
    struct scene s;
    struct gp_host_stack hs;
    begin(&s);
    launch(&s, s.main, "main:4 step:10");
    size_t a = launch(&s, s.autograd, "main:4 autograd"), b = launch(&s, s.autograd, "main:5 autograd");
    gp_set_stack(&s.t.events[GP_API], a, 4000000);
    gp_set_waiter(&s.t.events[GP_API], b, 77);
    a = launch(&s, s.main, "main:4 autograd autograd h:3");
    gp_set_waiter(&s.t.events[GP_API], a, s.autograd); /* both wait for each other */
    a = launch(&s, s.main, "main:4");
    gp_set_waiter(&s.t.events[GP_API], a, s.main);
    s.t.events[GP_API].dur_ns[0] = INT64_MAX;
    finish(&s, &hs);
    for (uint32_t i = 0; i < hs.n; i++)
        assert_true(hs.nodes[i].parent == GP_HOST_NONE || hs.nodes[i].parent < i);
    end(&s, &hs);
}
