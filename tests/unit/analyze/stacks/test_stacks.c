// From traces to the tree of a flame graph. Every expected line is worked out by hand from the times above
// it.
#include <stdio.h>
#include <stdlib.h>

#include "analyze/names/classify.h"
#include "analyze/stacks/stacks.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/pc_make.h"
#include "tests/unit/unit.h"

/* The tree as text, "a;b;c weight" a line in the order of the tree. */
static char text[1 << 20];

static void put_path(struct gp_buf *b, const struct gp_flame *f, uint32_t node)
{
    uint32_t path[64];
    int n = 0;
    for (; node != GP_CALLTREE_ROOT; node = f->tree.nodes.at[node].parent) path[n++] = node;
    while (n--) {
        gp_buf_puts(b, gp_string(&f->strings, f->tree.nodes.at[path[n]].name));
        if (n) gp_buf_putc(b, ';');
    }
}

static void put_node(struct gp_buf *b, const struct gp_flame *f, uint32_t node)
{
    const struct gp_calltree_node *n = &f->tree.nodes.at[node];
    if (n->count) {
        put_path(b, f, node);
        gp_buf_putc(b, ' ');
        gp_buf_put_i64(b, n->self);
        gp_buf_putc(b, '\n');
    }
    for (uint32_t c = n->first_child; c; c = f->tree.nodes.at[c].next_sibling) put_node(b, f, c);
}

static const char *folded(const struct gp_flame *f)
{
    struct gp_buf b = {0};
    put_node(&b, f, GP_CALLTREE_ROOT);
    snprintf(text, sizeof text, "%s", gp_buf_str(&b));
    gp_buf_release(&b);
    return text;
}

static struct gp_flame flame_of(struct gp_trace *t, struct gp_stacks_opts opts)
{
    gp_trace_finish(t);
    struct gp_stacks *b = gp_stacks_new(&opts, NULL);
    assert_non_null(b);
    assert_int_equal(gp_stacks_add_trace(&b, 1, t, false, NULL), 0);
    struct gp_flame f;
    gp_stacks_finish(b, 0, &f);
    return f;
}

static void expect(struct gp_trace *t, struct gp_stacks_opts opts, const char *lines)
{
    struct gp_flame f = flame_of(t, opts);
    assert_string_equal(folded(&f), lines);
    gp_flame_release(&f);
    gp_trace_release(t);
}

#define PLAIN ((struct gp_stacks_opts){0})

struct made {
    struct gp_trace t;
    uint32_t process, thread, stream;
};

static struct made make(void)
{
    struct made m;
    gp_trace_init(&m.t, GP_NEED_ALL);
    m.process = mk_process(&m.t, 100, 0);
    m.thread = mk_thread(&m.t, m.process, 100);
    m.stream = mk_stream(&m.t, m.process, 0, 7);
    return m;
}

TEST(a_kernel_lies_below_everything_around_its_launch)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 100000, "train");
    mk_host(&m.t, GP_PYTHON, m.thread, 10, 90000, "model.py(3): forward");
    mk_host(&m.t, GP_PYTHON, m.thread, 20, 80000, "nn.Module: Linear_3");
    mk_host(&m.t, GP_OP, m.thread, 30, 70000, "aten::linear");
    mk_host(&m.t, GP_OP, m.thread, 40, 60000, "aten::addmm");
    mk_call(&m.t, m.thread, 50, 60, "cudaLaunchKernel", 5);
    mk_kernel(&m.t, m.stream, 200000, 200345, "sgemm", 5);
    expect(&m.t, PLAIN, "train;model.py(3): forward;nn.Module: Linear;aten::linear;aten::addmm;sgemm 345\n");
}

TEST(threads_and_streams_do_not_mix)
{
    struct made m = make();
    uint32_t second = mk_thread(&m.t, m.process, 101), other = mk_stream(&m.t, m.process, 0, 13);
    mk_host(&m.t, GP_OP, m.thread, 0, 1000000, "a");
    mk_host(&m.t, GP_OP, second, 10, 900000, "b");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_call(&m.t, second, 20, 30, "cudaLaunchKernel", 2);
    mk_call(&m.t, second, 40, 50, "cudaLaunchKernel", 3);
    mk_kernel(&m.t, m.stream, 100, 103, "k", 1);
    mk_kernel(&m.t, other, 100, 110, "k", 2);
    mk_kernel(&m.t, m.stream, 110, 125, "k", 3);
    /* b: 10 + 15, a: 3 */
    expect(&m.t, PLAIN, "a;k 3\nb;k 25\n");
}

TEST(work_without_a_launch_is_told_by_stream)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 1000000, "a");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_kernel(&m.t, m.stream, 100, 110, "k", 1);
    mk_kernel(&m.t, m.stream, 200, 207, "k", 99);
    mk_kernel(&m.t, m.stream, 300, 305, "k", GP_NO_ID);
    mk_kernel(&m.t, m.stream, 400, 402, "k", 0);
    struct gp_flame f = flame_of(&m.t, PLAIN);
    assert_string_equal(folded(&f), "[unattributed];stream 7;k 14\na;k 10\n");
    assert_int_equal(f.stats.gpu_events, 4);
    assert_int_equal(f.stats.unattributed, 3);
    assert_int_equal(f.stats.unattributed_weight, 14);
    gp_flame_release(&f);
    gp_trace_release(&m.t);
}

TEST(all_kernels_of_a_graph_lie_below_its_launch)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 1000000, "decode");
    mk_call(&m.t, m.thread, 20, 30, "cudaGraphLaunch", 8);
    mk_kernel(&m.t, m.stream, 100, 110, "k1", 8);
    mk_kernel(&m.t, m.stream, 110, 130, "k2", 8);
    mk_kernel(&m.t, m.stream, 130, 131, "k1", 8);
    expect(&m.t, PLAIN, "decode;cudaGraphLaunch;k1 11\ndecode;cudaGraphLaunch;k2 20\n");
}

/* A kernel of a graph that was captured under RANGES, with '>' between them. */
static void replayed(struct made *m, int64_t start, int64_t end, const char *name, const char *ranges)
{
    char path[200];
    snprintf(path, sizeof path, "%s", ranges);
    for (char *c = path; *c; c++)
        if (*c == '>') *c = GP_CAPTURED_END;
    size_t row = mk_kernel(&m->t, m->stream, start, end, name, 8);
    gp_set_captured(&m->t.events[GP_GPU], row, mk_name(&m->t, path));
}

TEST(the_ranges_of_its_capture_lie_between_a_graph_and_its_kernels)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 1000000, "decode");
    mk_call(&m.t, m.thread, 20, 30, "cudaGraphLaunch", 8);
    replayed(&m, 100, 110, "k1", "layer a>attention");
    replayed(&m, 110, 130, "k2", "layer a");
    replayed(&m, 130, 131, "k1", "layer b>attention");
    mk_kernel(&m.t, m.stream, 140, 145, "k1", 8);
    expect(&m.t, PLAIN,
           "decode;cudaGraphLaunch;k1 5\n"
           "decode;cudaGraphLaunch;layer a;attention;k1 10\n"
           "decode;cudaGraphLaunch;layer a;k2 20\n"
           "decode;cudaGraphLaunch;layer b;attention;k1 1\n");
}

TEST(ranges_around_both_the_capture_and_the_replay_are_there_once)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 1000000, "main");
    mk_host(&m.t, GP_RANGE, m.thread, 10, 900000, "epoch 2");
    mk_host(&m.t, GP_OP, m.thread, 11, 890000, "aten::op");
    mk_host(&m.t, GP_RANGE, m.thread, 12, 800000, "step 7");
    mk_call(&m.t, m.thread, 20, 30, "cudaGraphLaunch", 8);
    /* one step is the step of another number; the epoch is not around the capture */
    replayed(&m, 100, 110, "k1", "main>step 0>layer");
    replayed(&m, 110, 130, "k2", "main>step 0");
    /* what the capture has of its own ends what is common, and "step" inside it is not the step around */
    replayed(&m, 130, 134, "k3", "main>warm-up>step 0>layer");
    /* the other way round they do not enclose each other in the same order */
    replayed(&m, 140, 145, "k4", "step 0>main");
    replayed(&m, 150, 157, "k5", "layer>main");
    expect(&m.t, PLAIN,
           "main;epoch;aten::op;step;cudaGraphLaunch;k2 20\n"
           "main;epoch;aten::op;step;cudaGraphLaunch;layer;k1 10\n"
           "main;epoch;aten::op;step;cudaGraphLaunch;layer;main;k5 7\n"
           "main;epoch;aten::op;step;cudaGraphLaunch;main;k4 5\n"
           "main;epoch;aten::op;step;cudaGraphLaunch;warm-up;step;layer;k3 4\n");
}

/* The stack whose outermost frame is the last: "conv forward step main", all of one file, at LINE each. */
static uint32_t stack_of(struct gp_trace *t, const char *frames, uint32_t line)
{
    const char *rest = strchr(frames, ' ');
    if (!t->stacks.n) GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    uint32_t parent = rest ? stack_of(t, rest + 1, line) : 0;
    size_t n = rest ? (size_t)(rest - frames) : strlen(frames);
    struct gp_stack s = {.parent = parent, .file = mk_name(t, "m.py"), .line = line};
    s.name = gp_trace_intern(t, frames, n);
    GP_VEC_PUSH(&t->stacks, s);
    return (uint32_t)t->stacks.n - 1;
}

/* Frames that are around the replay as well are there once, whatever their lines are; ranges of the capture
 * lie among its frames where such ranges were pushed. */
TEST(the_frames_of_its_capture_lie_between_a_graph_and_its_kernels)
{
    struct made m = make();
    struct gp_events *range = &m.t.events[GP_RANGE], *gpu = &m.t.events[GP_GPU];
    size_t pushed = mk_host(&m.t, GP_RANGE, m.thread, 1, 2, "layer 0");
    gp_set_stack(range, pushed, stack_of(&m.t, "push forward warm_up main", 3));
    mk_host(&m.t, GP_PYTHON, m.thread, 10, 1000000, "m.py(3): main");
    mk_host(&m.t, GP_PYTHON, m.thread, 11, 900000, "m.py(3): step");
    mk_call(&m.t, m.thread, 20, 30, "cudaGraphLaunch", 8);
    replayed(&m, 100, 110, "k1", "layer 0");
    gp_set_stack(gpu, 0, stack_of(&m.t, "conv forward warm_up main", 4));
    size_t plain = mk_kernel(&m.t, m.stream, 110, 130, "k2", 8);
    gp_set_stack(gpu, plain, stack_of(&m.t, "step main", 5));
    replayed(&m, 130, 131, "k3", "unknown");
    gp_set_stack(gpu, plain + 1, 4000); /* no such stack */
    mk_kernel(&m.t, m.stream, 140, 145, "k4", 8);
    expect(&m.t, PLAIN,
           "m.py(3): main;m.py(3): step;cudaGraphLaunch;k2 20\n"
           "m.py(3): main;m.py(3): step;cudaGraphLaunch;k4 5\n"
           "m.py(3): main;m.py(3): step;cudaGraphLaunch;m.py(3): warm_up;m.py(3): forward;layer;"
           "m.py(4): conv;k1 10\n"
           "m.py(3): main;m.py(3): step;cudaGraphLaunch;unknown;k3 1\n");
}

/* Labels of functions that only samples show have the number of samples; those of exact stacks have none. */
TEST(functions_that_only_samples_show_are_marked)
{
    struct made m = make();
    uint32_t main = stack_of(&m.t, "main", 3), load = stack_of(&m.t, "load main", 3);
    mk_host(&m.t, GP_PYTHON, m.thread, 10, 1000000, "m.py(3): main");
    mk_host(&m.t, GP_PYTHON, m.thread, 11, 900000, "m.py(3): load");
    size_t call = mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 8);
    gp_set_stack(&m.t.events[GP_API], call, main);
    mk_kernel(&m.t, m.stream, 100, 500, "k", 8);
    size_t seen = mk_host(&m.t, GP_SAMPLE, m.thread, 200, 300, "running");
    gp_set_id(&m.t.events[GP_SAMPLE], seen, load);
    gp_set_total(&m.t.events[GP_SAMPLE], seen, 4);
    seen = mk_host(&m.t, GP_SAMPLE, m.thread, 600, 600, "running"); /* when the GPU's work is over */
    gp_set_id(&m.t.events[GP_SAMPLE], seen, load);
    struct gp_flame f = flame_of(&m.t, PLAIN);
    uint64_t marked = 0;
    for (gp_sid i = 0; i < f.full_n; i++) {
        if (f.samples[i]) assert_string_equal(gp_string(&f.strings, i), "m.py(3): load");
        marked += f.samples[i];
    }
    assert_int_equal(marked, 5);
    gp_flame_release(&f);
    gp_trace_release(&m.t);
}

TEST(without_a_launch_the_capture_is_told_all_the_same)
{
    struct made m = make();
    replayed(&m, 100, 110, "k1", "main>layer");
    expect(&m.t, PLAIN, "[unattributed];stream 7;main;layer;k1 10\n");
}

TEST(runtime_calls_are_frames_when_asked_for)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 1000000, "op");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 8);
    mk_kernel(&m.t, m.stream, 100, 110, "k", 8);
    expect(&m.t, (struct gp_stacks_opts){.show_api = true}, "op;cudaLaunchKernel;k 10\n");
}

TEST(equal_ids_of_two_producers_are_two_launches)
{
    struct made m = make();
    uint32_t other = mk_process(&m.t, 200, 1), thread = mk_thread(&m.t, other, 200),
             stream = mk_stream(&m.t, other, 0, 7);
    mk_host(&m.t, GP_OP, m.thread, 0, 1000000, "a");
    mk_host(&m.t, GP_OP, thread, 0, 1000000, "b");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_call(&m.t, thread, 25, 35, "cudaLaunchKernel", 1);
    mk_kernel(&m.t, m.stream, 100, 110, "k", 1);
    mk_kernel(&m.t, stream, 100, 103, "k", 1);
    expect(&m.t, PLAIN, "process 100;a;k 10\nprocess 200;b;k 3\n");
}

static struct made two_ops(void)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 100, "a");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_host(&m.t, GP_OP, m.thread, 200, 300, "b");
    mk_call(&m.t, m.thread, 220, 230, "cudaLaunchKernel", 2);
    mk_kernel(&m.t, m.stream, 1000, 1990, "void ns::k<int>(int*)", 1);
    mk_kernel(&m.t, m.stream, 2000, 2010, "other", 2);
    return m;
}

TEST(a_process_that_launches_nothing_makes_no_difference)
{
    struct made m = two_ops();
    uint32_t other = mk_thread(&m.t, mk_process(&m.t, 200, 0), 200);
    mk_host(&m.t, GP_OP, other, 0, 1000, "c");
    expect(&m.t, PLAIN, "a;ns::k 990\nb;other 10\n");
}

TEST(of_several_calls_with_one_id_the_last_before_the_kernel_counts)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 100, "a");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_host(&m.t, GP_OP, m.thread, 5000, 5100, "b");
    mk_call(&m.t, m.thread, 5020, 5030, "cudaLaunchKernel", 1);
    mk_kernel(&m.t, m.stream, 10, 11, "early", 1);
    mk_kernel(&m.t, m.stream, 200, 202, "k", 1);
    mk_kernel(&m.t, m.stream, 6000, 6004, "k", 1);
    struct gp_flame f = flame_of(&m.t, PLAIN);
    assert_string_equal(folded(&f), "a;early 1\na;k 2\nb;k 4\n");
    assert_int_equal(f.stats.duplicate_corr, 1);
    gp_flame_release(&f);
    gp_trace_release(&m.t);
}

TEST(without_a_call_the_operator_with_the_external_id_counts)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 100000, "r");
    size_t op = mk_host(&m.t, GP_OP, m.thread, 10, 100, "op");
    gp_set_ext(&m.t.events[GP_OP], op, 77);
    size_t k = mk_kernel(&m.t, m.stream, 500, 506, "k", 3);
    gp_set_ext(&m.t.events[GP_GPU], k, 77);
    expect(&m.t, PLAIN, "r;op;k 6\n");
}

TEST(without_either_an_arrow_counts)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 100000, "r");
    mk_host(&m.t, GP_OP, m.thread, 10, 100, "op");
    mk_host(&m.t, GP_OP, m.thread, 200, 300, "later");
    mk_kernel(&m.t, m.stream, 500, 506, "k", GP_NO_ID);
    struct gp_events *flow = &m.t.events[GP_FLOW];
    size_t s = gp_events_add(flow, 50, 0, m.thread, mk_name(&m.t, "ac2g"));
    gp_set_id(flow, s, 4);
    gp_set_phase(flow, s, 's');
    size_t e = gp_events_add(flow, 500, 0, m.stream, mk_name(&m.t, "ac2g"));
    gp_set_id(flow, e, 4);
    gp_set_phase(flow, e, 'f');
    expect(&m.t, PLAIN, "r;op;k 6\n");
}

TEST(cpu_weight_is_the_time_in_a_frame_itself)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 1000, 9000, "r");
    mk_host(&m.t, GP_OP, m.thread, 2000, 5000, "op");
    mk_call(&m.t, m.thread, 3000, 3500, "cudaLaunchKernel", 1);
    mk_host(&m.t, GP_OP, m.thread, 6000, 6100, "op");
    mk_kernel(&m.t, m.stream, 4000, 9999, "k", 1);
    /* r: 8000 - 3000 - 100; op: 3000 - 500 + 100; call: 500. In all 8000. */
    expect(&m.t, (struct gp_stacks_opts){.weight = GP_WEIGHT_CPU},
           "r 4900\nr;op 2600\nr;op;cudaLaunchKernel 500\n");
}

TEST(short_host_frames_give_their_time_to_the_frame_around)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 1000, 9000, "r");
    mk_host(&m.t, GP_OP, m.thread, 2000, 5000, "op");
    mk_host(&m.t, GP_OP, m.thread, 6000, 6100, "op");
    expect(&m.t, (struct gp_stacks_opts){.weight = GP_WEIGHT_CPU, .min_duration_ns = 101},
           "r 5000\nr;op 3000\n");
}

TEST(time_of_hidden_frames_is_never_lost)
{
    struct made m = make();
    mk_host(&m.t, GP_PYTHON, m.thread, 0, 100, "<built-in function len>");
    mk_host(&m.t, GP_PYTHON, m.thread, 200, 1000, "train.py(3): main");
    mk_host(&m.t, GP_PYTHON, m.thread, 300, 400, "<built-in function len>");
    expect(&m.t, (struct gp_stacks_opts){.weight = GP_WEIGHT_CPU},
           "[not shown] 100\ntrain.py(3): main 800\n");
}

TEST(count_and_bytes_weigh_events_and_copies)
{
    for (int bytes = 0; bytes < 2; bytes++) {
        struct made m = make();
        mk_call(&m.t, m.thread, 20, 30, "cudaMemcpyAsync", 1);
        mk_call(&m.t, m.thread, 40, 50, "cudaLaunchKernel", 2);
        size_t c = mk_gpu(&m.t, m.stream, 100, 200, GP_MEMCPY, "Memcpy HtoD (Pageable -> Device)", 1);
        gp_set_bytes(&m.t.events[GP_GPU], c, 4096);
        mk_kernel(&m.t, m.stream, 200, 201, "k", 2);
        if (bytes)
            expect(&m.t, (struct gp_stacks_opts){.weight = GP_WEIGHT_BYTES},
                   "Memcpy HtoD (Pageable -> Device) 4096\nk 0\n");
        else
            expect(&m.t, (struct gp_stacks_opts){.weight = GP_WEIGHT_COUNT},
                   "Memcpy HtoD (Pageable -> Device) 1\nk 1\n");
    }
}

// "a;b;c events bytes" a line, of what is counted beside the weight.
static void put_extra(struct gp_buf *b, const struct gp_flame *f, uint32_t node)
{
    struct gp_calltree_extra x = gp_calltree_extra_of(&f->tree, node);
    if (x.events) {
        put_path(b, f, node);
        gp_buf_printf(b, " %d %d\n", (int)x.events, (int)x.bytes);
    }
    for (uint32_t c = f->tree.nodes.at[node].first_child; c; c = f->tree.nodes.at[c].next_sibling)
        put_extra(b, f, c);
}

static void expect_extra(struct gp_stacks_opts opts, const char *lines)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 10, 60, "op");
    mk_call(&m.t, m.thread, 20, 30, "cudaMemcpyAsync", 1);
    mk_call(&m.t, m.thread, 40, 50, "cudaLaunchKernel", 2);
    size_t c = mk_gpu(&m.t, m.stream, 100, 200, GP_MEMCPY, "Memcpy HtoD (Pageable -> Device)", 1);
    gp_set_bytes(&m.t.events[GP_GPU], c, 4096);
    mk_kernel(&m.t, m.stream, 200, 201, "k", 2);
    mk_kernel(&m.t, m.stream, 201, 202, "k", 2);
    mk_kernel(&m.t, m.stream, 202, 203, "l", 2);
    opts.extra = true;
    struct gp_flame f = flame_of(&m.t, opts);
    struct gp_buf b = {0};
    put_extra(&b, &f, GP_CALLTREE_ROOT);
    assert_string_equal(gp_buf_str(&b), lines);
    gp_buf_release(&b);
    gp_flame_release(&f);
    gp_trace_release(&m.t);
}

TEST(events_and_bytes_are_counted_beside_the_time_whatever_is_done_to_the_tree)
{
    expect_extra(PLAIN, "op;Memcpy HtoD (Pageable -> Device) 1 4096\nop;k 2 0\nop;l 1 0\n");
    expect_extra((struct gp_stacks_opts){.invert = true},
                 "Memcpy HtoD (Pageable -> Device);op 1 4096\nk;op 2 0\nl;op 1 0\n");
    expect_extra((struct gp_stacks_opts){.max_depth = 1}, "op 4 4096\n");
    // all of 103 ns: k has 2, l has 1, both less than a tenth
    expect_extra((struct gp_stacks_opts){.group_small_pct = 10},
                 "op;Memcpy HtoD (Pageable -> Device) 1 4096\nop;2 more 3 0\n");
}

TEST(places_say_where_work_ran_as_the_last_node_of_a_stack)
{
    struct made m = make();
    m.t.rank = 3;
    mk_host(&m.t, GP_OP, m.thread, 10, 60, "op");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_kernel(&m.t, m.stream, 100, 150, "k", 1);
    struct gp_flame f = flame_of(&m.t, (struct gp_stacks_opts){.places = true});
    assert_int_equal(f.places.n, 1);
    assert_int_equal(f.places.at[0].rank, 3);
    assert_int_equal(f.places.at[0].device, m.t.tracks.at[m.stream].device);
    assert_int_equal(f.places.at[0].stream, m.t.tracks.at[m.stream].stream);
    char want[200];
    snprintf(want, sizeof want, "op;k;%s 50\n", gp_string(&f.strings, f.places.at[0].name));
    assert_string_equal(folded(&f), want);
    gp_flame_release(&f);
    f = flame_of(&m.t, (struct gp_stacks_opts){.places = true, .filter = "stream"}); // which is not a frame
    assert_string_equal(folded(&f), "");
    gp_flame_release(&f);
    gp_trace_release(&m.t);
}

TEST(several_sets_from_one_look_at_a_trace_are_those_of_many)
{
    static const enum gp_weight weights[] = {GP_WEIGHT_GPU, GP_WEIGHT_CPU, GP_WEIGHT_IDLE};
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 10, 250, "op");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_call(&m.t, m.thread, 240, 245, "cudaLaunchKernel", 2);
    mk_kernel(&m.t, m.stream, 100, 200, "k", 1);
    mk_kernel(&m.t, m.stream, 300, 301, "k", 2);
    gp_trace_finish(&m.t);
    struct gp_stacks *sets[3];
    for (int i = 0; i < 3; i++) sets[i] = gp_stacks_new(&(struct gp_stacks_opts){.weight = weights[i]}, NULL);
    assert_int_equal(gp_stacks_add_trace(sets, 3, &m.t, true, NULL), 0);
    for (int i = 0; i < 3; i++) {
        struct gp_stacks *alone = gp_stacks_new(&(struct gp_stacks_opts){.weight = weights[i]}, NULL);
        assert_int_equal(gp_stacks_add_trace(&alone, 1, &m.t, true, NULL), 0);
        struct gp_flame a, b;
        gp_stacks_finish(alone, 0, &a);
        gp_stacks_finish(sets[i], 0, &b);
        struct gp_buf want = {0};
        gp_buf_puts(&want, folded(&a));
        assert_true(want.n > 0);
        assert_string_equal(folded(&b), gp_buf_str(&want));
        gp_buf_release(&want);
        gp_flame_release(&a);
        gp_flame_release(&b);
    }
    gp_trace_release(&m.t);
}

TEST(short_gpu_events_are_told_together_and_sums_close)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 1000000, "op");
    for (uint64_t i = 1; i < 5; i++)
        mk_call(&m.t, m.thread, (int64_t)i * 10, (int64_t)i * 10 + 1, "cudaLaunchKernel", i);
    mk_kernel(&m.t, m.stream, 20000, 29999, "a", 1); /*  9,999: short */
    mk_kernel(&m.t, m.stream, 30000, 30007, "b", 2); /*      7: short */
    mk_kernel(&m.t, m.stream, 40000, 50000, "a", 3); /* 10,000: not shorter than 10 us */
    mk_gpu(&m.t, m.stream, 50000, 50100, GP_MEMSET, "Memset", 4);
    expect(&m.t, (struct gp_stacks_opts){.min_duration_ns = 10000},
           "op;[shorter than 10 us] 10006\nop;[shorter than 10 us] 100\nop;a 10000\n");
}

TEST(a_depth_limit_counts_deeper_frames_for_their_ancestor)
{
    struct made m = make();
    mk_host(&m.t, GP_OP, m.thread, 0, 1000000, "a");
    mk_host(&m.t, GP_OP, m.thread, 10, 900000, "b");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_kernel(&m.t, m.stream, 100, 107, "k", 1);
    expect(&m.t, (struct gp_stacks_opts){.max_depth = 2}, "a;b 7\n");
}

TEST(a_filter_keeps_stacks_with_a_matching_frame)
{
    struct made m = two_ops();
    expect(&m.t, (struct gp_stacks_opts){.filter = "^oth"}, "b;other 10\n");
    m = two_ops();
    /* the full name counts, too */
    expect(&m.t, (struct gp_stacks_opts){.filter = "INT\\*", .filter_ignore_case = true}, "a;ns::k 990\n");
    m = two_ops();
    struct gp_flame f = flame_of(&m.t, (struct gp_stacks_opts){.filter = "nothing"});
    assert_string_equal(folded(&f), "");
    assert_int_equal(f.stats.filtered, 2);
    gp_flame_release(&f);
    gp_trace_release(&m.t);
}

TEST(a_filter_that_is_no_regular_expression_is_refused)
{
    struct gp_err err = {0};
    assert_null(gp_stacks_new(&(struct gp_stacks_opts){.filter = "("}, &err));
    assert_int_equal(err.code, GP_E_USAGE);
}

TEST(inverted_stacks_begin_with_the_kernel)
{
    struct made m = two_ops();
    expect(&m.t, (struct gp_stacks_opts){.invert = true}, "ns::k;a 990\nother;b 10\n");
}

TEST(small_siblings_become_one)
{
    struct made m = two_ops();
    /* b has 10 of 1000: exactly 1 % */
    expect(&m.t, (struct gp_stacks_opts){.group_small_pct = 1.5}, "a;ns::k 990\n1 more 10\n");
    m = two_ops();
    expect(&m.t, (struct gp_stacks_opts){.group_small_pct = 1.0}, "a;ns::k 990\nb;other 10\n");
}

TEST(raw_names_are_as_recorded)
{
    struct made m = two_ops();
    mk_host(&m.t, GP_RANGE, m.thread, 400, 500, "ProfilerStep#3");
    mk_host(&m.t, GP_PYTHON, m.thread, 401, 490, "<built-in function len>");
    mk_call(&m.t, m.thread, 420, 430, "cudaLaunchKernel", 3);
    mk_kernel(&m.t, m.stream, 3000, 3001, "_Z3fooi", 3);
    expect(&m.t, (struct gp_stacks_opts){.raw = true},
           "ProfilerStep#3;<built-in function len>;foo(int) 1\na;void ns::k<int>(int*) 990\nb;other 10\n");
}

TEST(labels_keep_their_full_names)
{
    struct made m = two_ops();
    mk_call(&m.t, m.thread, 420, 430, "cudaLaunchKernel", 3);
    mk_kernel(&m.t, m.stream, 3000, 3001, "void ns::k<float>(float*)", 3);
    struct gp_flame f = flame_of(&m.t, PLAIN);
    gp_sid k = gp_intern_find(&f.strings, "ns::k", 5), other = gp_intern_find(&f.strings, "other", 5);
    assert_string_equal(gp_string(&f.strings, f.full[k]), "void ns::k<int>(int*)");
    assert_int_equal(f.full_count[k], 2);
    assert_int_equal(f.full[other], 0);
    gp_flame_release(&f);
    gp_trace_release(&m.t);
}

TEST(two_traces_add_up_below_their_ranks)
{
    struct gp_stacks *b = gp_stacks_new(&PLAIN, NULL);
    for (int rank = 0; rank < 2; rank++) {
        struct made m = two_ops();
        m.t.rank = rank;
        gp_trace_finish(&m.t);
        assert_int_equal(gp_stacks_add_trace(&b, 1, &m.t, true, NULL), 0);
        gp_trace_release(&m.t);
    }
    struct gp_flame f;
    gp_stacks_finish(b, 0, &f);
    assert_string_equal(folded(&f),
                        "rank 0;a;ns::k 990\nrank 0;b;other 10\nrank 1;a;ns::k 990\nrank 1;b;other 10\n");
    assert_int_equal(f.tree.total[GP_CALLTREE_ROOT], 2000);
    gp_flame_release(&f);
}

TEST(several_devices_of_one_process_have_frames)
{
    struct made m = make();
    uint32_t second = mk_stream(&m.t, m.process, 1, 7);
    mk_host(&m.t, GP_OP, m.thread, 0, 1000, "op");
    mk_call(&m.t, m.thread, 20, 30, "cudaLaunchKernel", 1);
    mk_call(&m.t, m.thread, 40, 50, "cudaLaunchKernel", 2);
    mk_kernel(&m.t, m.stream, 100, 103, "k", 1);
    mk_kernel(&m.t, second, 100, 104, "k", 2);
    mk_kernel(&m.t, second, 110, 115, "k", 9);
    expect(&m.t, PLAIN, "GPU 0;op;k 3\nGPU 1;[unattributed];stream 7;k 5\nGPU 1;op;k 4\n");
}

TEST(glue_between_python_frames_is_left_out)
{
    for (int show = 0; show < 2; show++) {
        struct made m = make();
        mk_host(&m.t, GP_PYTHON, m.thread, 0, 100000, "train.py(7): step");
        mk_host(&m.t, GP_PYTHON, m.thread, 10, 90000, "torch/nn/modules/module.py(1779): _call_impl");
        mk_host(&m.t, GP_PYTHON, m.thread, 20, 80000, "nn.Module: MLP_0");
        mk_call(&m.t, m.thread, 50, 60, "cudaLaunchKernel", 5);
        mk_kernel(&m.t, m.stream, 200000, 200005, "k", 5);
        expect(&m.t, (struct gp_stacks_opts){.show_python_glue = show},
               show ? "train.py(7): step;torch/nn/modules/module.py(1779): _call_impl;nn.Module: MLP;k 5\n"
                    : "train.py(7): step;nn.Module: MLP;k 5\n");
    }
}

TEST(the_backward_pass_is_told_as_such)
{
    for (int raw = 0; raw < 2; raw++) {
        struct made m = make();
        mk_host(&m.t, GP_OP, m.thread, 0, 1000, "autograd::engine::evaluate_function: MulBackward0");
        mk_host(&m.t, GP_OP, m.thread, 10, 900, "MulBackward0");
        mk_host(&m.t, GP_OP, m.thread, 20, 800, "aten::mul");
        mk_call(&m.t, m.thread, 50, 60, "cudaLaunchKernel", 5);
        mk_kernel(&m.t, m.stream, 2000, 2005, "k", 5);
        expect(&m.t, (struct gp_stacks_opts){.raw = raw},
               raw ? "autograd::engine::evaluate_function: MulBackward0;MulBackward0;aten::mul;k 5\n"
                   : "backward;MulBackward0;aten::mul;k 5\n");
    }
}

TEST(the_backward_pass_lies_below_the_modules_of_the_forward_pass)
{
    for (int clash = 0; clash < 2; clash++) {
        struct made m = make();
        uint32_t engine = mk_thread(&m.t, m.process, 200), other = mk_thread(&m.t, m.process, 300);
        struct gp_events *op = &m.t.events[GP_OP];
        mk_host(&m.t, GP_PYTHON, m.thread, 0, 1000, "nn.Module: Net_0");
        mk_host(&m.t, GP_PYTHON, m.thread, 5, 20, "nn.Module: Norm_0");
        mk_host(&m.t, GP_PYTHON, m.thread, 30, 900, "nn.Module: Linear_0");
        mk_host(&m.t, GP_PYTHON, m.thread, 40, 800, "linear.py(3): forward");
        gp_set_seq(op, mk_host(&m.t, GP_OP, m.thread, 10, 15, "aten::view"), 7); /* made no node: 7 again */
        gp_set_seq(op, mk_host(&m.t, GP_OP, m.thread, 50, 700, "aten::linear"), 7);
        gp_set_seq(
            op, mk_host(&m.t, GP_OP, engine, 2000, 3000, "autograd::engine::evaluate_function: MmBackward0"),
            7);
        gp_set_seq(op, mk_host(&m.t, GP_OP, engine, 2010, 2900, "aten::mm"), 7);
        if (clash) gp_set_seq(op, mk_host(&m.t, GP_OP, other, 100, 200, "aten::mul"), 7);
        mk_call(&m.t, engine, 2050, 2060, "cudaLaunchKernel", 5);
        mk_kernel(&m.t, m.stream, 5000, 5005, "k", 5);
        expect(&m.t, PLAIN,
               clash ? "backward;MmBackward0;aten::mm;k 5\n"
                     : "backward;nn.Module: Net;nn.Module: Linear;MmBackward0;aten::mm;k 5\n");
    }
}

TEST(frames_that_hold_themselves_are_one)
{
    struct made m = make();
    mk_host(&m.t, GP_RANGE, m.thread, 0, 1000, "step 1");
    mk_host(&m.t, GP_RANGE, m.thread, 1, 999, "step 2");
    mk_host(&m.t, GP_OP, m.thread, 10, 900, "step"); /* another kind of frame */
    mk_call(&m.t, m.thread, 50, 60, "cudaLaunchKernel", 5);
    mk_kernel(&m.t, m.stream, 2000, 2005, "k", 5);
    expect(&m.t, PLAIN, "step;step;k 5\n");
}

TEST(a_user_decides_what_a_kernel_is)
{
    struct gp_classes classes = {0};
    const char *rules = "^other$ communication\n";
    assert_int_equal(gp_classes_parse(&classes, rules, strlen(rules), NULL), 0);
    struct made m = two_ops();
    struct gp_flame f = flame_of(&m.t, (struct gp_stacks_opts){.classes = &classes});
    gp_sid other = gp_intern_find(&f.strings, "other", 5);
    int found = 0;
    for (size_t i = 0; i < f.tree.nodes.n; i++)
        found += f.tree.nodes.at[i].name == other && f.tree.nodes.at[i].kind == GP_FRAME_COMMUNICATION;
    assert_int_equal(found, 1);
    gp_flame_release(&f);
    gp_trace_release(&m.t);
    gp_classes_release(&classes);
}

TEST(ten_thousand_events_with_one_id_take_no_time)
{
    struct made m = make();
    enum { N = 100000 };
    mk_host(&m.t, GP_OP, m.thread, 0, 10 * N, "op");
    for (int i = 0; i < N; i++) mk_call(&m.t, m.thread, i * 4, i * 4 + 2, "cudaLaunchKernel", 6);
    for (int i = 0; i < N; i++) mk_kernel(&m.t, m.stream, i * 4 + 1, i * 4 + 3, "k", 6);
    char want[64];
    snprintf(want, sizeof want, "op;k %d\n", 2 * N);
    expect(&m.t, PLAIN, want);
}

/* The next of a fixed series of numbers below N. */
static uint64_t series;
static int64_t below(int64_t n)
{
    series = series * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((series >> 33) % (uint64_t)n);
}

enum { TICKS = 400, TICK_NS = 10000 };

/* Random host events, crossing each other as they like, at whole ticks of 10 us, so that none ends a little
 * late. Marks the ticks that each of three threads covers. */
static void add_random_host(struct made *m, const uint32_t *threads, bool (*covered)[TICKS])
{
    static const enum gp_table tables[] = {GP_RANGE, GP_PYTHON, GP_OP, GP_API};
    for (int i = 0; i < 200; i++) {
        int64_t thread = below(3), start = below(TICKS), end = start + below(TICKS - start);
        enum gp_table table = tables[below(4)];
        size_t row =
            mk_host(&m->t, table, threads[thread], start * TICK_NS, end * TICK_NS, i % 2 ? "f" : "g");
        if (table == GP_API) gp_set_corr(&m->t.events[GP_API], row, (uint64_t)below(40));
        for (int64_t k = start; k < end; k++) covered[thread][k] = true;
    }
}

TEST(sums_close_whatever_the_events)
{
    for (int round = 0; round < 100; round++) {
        bool covered[3][TICKS] = {{false}};
        struct made m = make();
        uint32_t threads[3] = {m.thread, mk_thread(&m.t, m.process, 101), mk_thread(&m.t, m.process, 102)};
        add_random_host(&m, threads, covered);
        int64_t gpu_ns = 0, cpu_ns = 0;
        for (int i = 0; i < 100; i++) {
            int64_t start = below(TICKS * TICK_NS), dur = below(5000);
            mk_kernel(&m.t, m.stream, start, start + dur, "k", (uint64_t)below(60));
            gpu_ns += dur;
        }
        for (int t = 0; t < 3; t++)
            for (int k = 0; k < TICKS; k++) cpu_ns += covered[t][k] ? TICK_NS : 0;
        struct gp_flame f =
            flame_of(&m.t, (struct gp_stacks_opts){.min_duration_ns = 1000, .group_small_pct = 3});
        assert_int_equal(f.tree.total[GP_CALLTREE_ROOT], gpu_ns);
        gp_flame_release(&f);
        f = flame_of(&m.t, (struct gp_stacks_opts){.weight = GP_WEIGHT_CPU, .invert = true, .max_depth = 3});
        assert_int_equal(f.tree.total[GP_CALLTREE_ROOT], cpu_ns);
        gp_flame_release(&f);
        gp_trace_release(&m.t);
    }
}

TEST(folded_text_is_drawn_as_it_is)
{
    struct gp_stacks *b = gp_stacks_new(&PLAIN, NULL);
    gp_stacks_add_folded(b, "main;a;b", 8, 5);
    gp_stacks_add_folded(b, "main;a", 6, 1);
    gp_stacks_add_folded(b, ";main;;c;", 9, 3);
    gp_stacks_add_folded(b, "main;a;b", 8, 2);
    struct gp_flame f;
    gp_stacks_finish(b, 0, &f);
    assert_string_equal(folded(&f), "main;a 1\nmain;a;b 7\nmain;c 3\n");
    assert_int_equal(f.tree.total[GP_CALLTREE_ROOT], 11);
    gp_flame_release(&f);
}

static const char *folded_cut(struct gp_stacks_opts opts, size_t max_nodes)
{
    static const struct {
        const char *stack;
        int64_t weight;
    } lines[] = {{"m;a;x", 40}, {"m;b;y", 30}, {"m;c;z", 20}, {"m;d", 6}, {"m;a;w", 3}, {"n", 1}};
    struct gp_stacks *b = gp_stacks_new(&opts, NULL);
    for (size_t i = 0; i < GP_COUNT(lines); i++)
        gp_stacks_add_folded(b, lines[i].stack, strlen(lines[i].stack), lines[i].weight);
    struct gp_flame f;
    gp_stacks_finish(b, max_nodes, &f);
    folded(&f);
    assert_int_equal(f.tree.total[GP_CALLTREE_ROOT], 100);
    gp_flame_release(&f);
    return text;
}

TEST(of_many_folded_stacks_the_heaviest_frames_are_kept)
{
    /* By weight: m 99, a 43, x 40, b 30, y 30, c 20, ... Four nodes: m, a, x, b (b was met before y). */
    assert_string_equal(folded_cut(PLAIN, 4),
                        "m;a;x 40\nm;a;1 more 3\nm;b;1 more 30\nm;2 more 26\n1 more 1\n");
    static const char all[] = "m;a;w 3\nm;a;x 40\nm;b;y 30\nm;c;z 20\nm;d 6\nn 1\n";
    assert_string_equal(folded_cut(PLAIN, 100), all);
    assert_string_equal(folded_cut(PLAIN, 0), all);
    assert_string_equal(folded_cut((struct gp_stacks_opts){.invert = true, .max_depth = 1}, 3),
                        "x 40\ny 30\nz 20\n3 more 10\n");
}

TEST(folded_text_can_be_filtered_cut_and_turned)
{
    struct gp_stacks *b =
        gp_stacks_new(&(struct gp_stacks_opts){.filter = "^b$", .invert = true, .max_depth = 2}, NULL);
    gp_stacks_add_folded(b, "main;b;c", 8, 5);
    gp_stacks_add_folded(b, "main;abc", 8, 9);
    struct gp_flame f;
    gp_stacks_finish(b, 0, &f);
    assert_string_equal(folded(&f), "c;b 5\n");
    assert_int_equal(f.stats.filtered, 1);
    gp_flame_release(&f);
}

TEST(weights_beyond_the_largest_number_stop_there)
{
    struct gp_stacks *b = gp_stacks_new(&PLAIN, NULL);
    gp_stacks_add_folded(b, "a", 1, INT64_MAX);
    gp_stacks_add_folded(b, "a;b", 3, INT64_MAX);
    struct gp_flame f;
    gp_stacks_finish(b, 10, &f);
    assert_true(f.tree.total[GP_CALLTREE_ROOT] == INT64_MAX);
    gp_flame_release(&f);
}

TEST(nothing_gives_an_empty_tree)
{
    struct gp_stacks *b = gp_stacks_new(&PLAIN, NULL);
    struct gp_flame f;
    gp_stacks_finish(b, 5, &f);
    assert_int_equal(f.tree.nodes.n, 1);
    assert_int_equal(f.tree.total[GP_CALLTREE_ROOT], 0);
    gp_flame_release(&f);
}

/* The samples of "k" are those of its two stacks, one of which ran three times as long; "l" was not launched.
 */
TEST(stalls_lie_below_the_launches_of_their_function)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    uint32_t process = mk_process(&t, 1, 0), main = mk_thread(&t, process, 1),
             s = mk_stream(&t, process, 0, 7);
    struct pc pc = {.t = &t, .track = main, .name = "k", .dur_ns = 1000};
    mk_host(&t, GP_RANGE, main, 0, 50, "a");
    mk_host(&t, GP_RANGE, main, 100, 150, "b");
    mk_call(&t, main, 10, 20, "cudaLaunchKernel", 1);
    mk_call(&t, main, 110, 120, "cudaLaunchKernel", 2);
    mk_call(&t, main, 130, 140, "cudaLaunchKernel", 3);
    mk_kernel(&t, s, 200, 300, "k", 1);
    mk_kernel(&t, s, 300, 500, "k", 2);
    mk_kernel(&t, s, 500, 600, "k", 3);
    mk_kernel(&t, s, 600, 700, "other", 4);
    pc_line(&pc, "/src/k.cu", 7);
    pc_add(&pc, 0x10, "long_scoreboard", 10, 9);
    pc_add(&pc, 0x10, "long_scoreboard", 1, 0);
    pc_add(&pc, 0x10, "selected", 50, 0);
    pc_add(&pc, 0x10, "not_selected", 50, 0);
    pc_line(&pc, NULL, 0);
    pc_add(&pc, 0x1f0, "wait", 4, 4);
    pc.name = "l";
    pc_add(&pc, 0x20, "barrier", 5, 5);
    expect(&t, (struct gp_stacks_opts){.weight = GP_WEIGHT_STALLS},
           "+0x20;barrier 5\n"
           "a;k;+0x1f0;wait 1\na;k;k.cu:7;long_scoreboard 2\n"
           "b;k;+0x1f0;wait 3\nb;k;k.cu:7;long_scoreboard 9\n");
}
