// The model of a log: each kind of record, damage of every sort, and a cut at every byte.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/buf.h"
#include "formats/base/input.h"
#include "formats/compile_log/compile_log.h"
#include "tests/unit/unit.h"

#define PREFIX(pid) "V1122 12:05:49.468000 " pid " torch/_dynamo/utils.py:2126] "
#define P           PREFIX("456")
#define ID          "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0"
#define ARTIFACT(name)                                                                                       \
    P "{\"artifact\": {\"name\": \"" name "\", \"encoding\": \"string\"}, " ID ", \"has_payload\": \"\"}\n"
#define EVENT(name, ph, ts)                                                                                  \
    P "{\"chromium_event\": {}, " ID ", \"has_payload\": \"\"}\n"                                            \
      "\t{\n\t\"name\": \"" name "\",\n\t\"ts\": " ts                                                        \
      ",\n\t\"args\": {\n\t\"compile_id\": \"0/0\"\n\t},\n\t\"ph\": \"" ph "\"\n\t}\n"

static struct gp_compile_log log_of(const char *text, size_t n)
{
    struct gp_compile_log log = {0};
    struct gp_input *in = gp_input_memory(text, n, 1);
    gp_compile_log_read(&log, in, "log");
    gp_input_close(in);
    return log;
}

static struct gp_compile_log read_text(const char *text) { return log_of(text, strlen(text)); }

static uint64_t issues(const struct gp_compile_log *log, enum gp_clog_issue_kind kind)
{
    return log->inputs.at[0].issues[kind].count;
}

static void is(const struct gp_compile_log *log, gp_sid sid, const char *want)
{
    assert_string_equal(gp_clog_str(log, sid), want);
}

TEST(spans_nest_and_self_times_sum_to_the_roots)
{
    struct gp_compile_log log = read_text(EVENT("dynamo", "B", "1000.5") EVENT(
        "backend_compile", "B", "1100") EVENT("backend_compile", "E", "1400") EVENT("dynamo", "E", "1500.5"));
    assert_int_equal(log.spans.n, 2);
    const struct gp_clog_span *root = &log.spans.at[0], *child = &log.spans.at[1];
    is(&log, root->name, "dynamo");
    is(&log, root->compile_id, "0/0");
    assert_int_equal(root->begin_ns, 1000500);
    assert_int_equal(root->dur_ns, 500000);
    assert_int_equal(root->self_ns, 200000);
    assert_int_equal(child->parent, 0);
    assert_int_equal(child->self_ns, 300000);
    assert_false(root->open || child->open);
    assert_true(log.processes.at[0].has_events);
    gp_compile_log_release(&log);
}

TEST(spans_that_do_not_end_are_closed_and_counted)
{
    struct gp_compile_log log =
        read_text(EVENT("dynamo", "B", "1000") EVENT("gc", "B", "1100") EVENT("x", "E", "1250"));
    assert_int_equal(log.spans.n, 2);
    assert_true(log.spans.at[0].open && log.spans.at[1].open);
    assert_int_equal(log.spans.at[0].dur_ns, 250000);
    assert_int_equal(log.spans.at[0].self_ns + log.spans.at[1].self_ns, 250000);
    assert_int_equal(issues(&log, GP_CLOG_OPEN), 2);
    assert_int_equal(issues(&log, GP_CLOG_UNMATCHED), 1);
    assert_int_equal(log.inputs.at[0].issues[GP_CLOG_OPEN].first_offset, 0);
    gp_compile_log_release(&log);
}

TEST(a_clock_that_steps_back_makes_no_negative_span)
{
    struct gp_compile_log log = read_text(EVENT("dynamo", "B", "1000") EVENT("gc", "B", "1100")
                                              EVENT("gc", "E", "1050") EVENT("dynamo", "E", "1200"));
    assert_int_equal(log.spans.at[1].dur_ns, 0);
    assert_int_equal(log.spans.at[0].self_ns, 200000);
    gp_compile_log_release(&log);
}

TEST(metrics_of_all_versions_are_one_row)
{
    struct gp_compile_log log = read_text(
        P "{\"compilation_metrics\": {\"co_name\": \"f\", \"co_filename\": \"a.py\", \"co_firstlineno\": 7, "
          "\"graph_op_count\": 3,"
          " \"entire_frame_compile_time_s\": 4.276225, \"dynamo_cumulative_compile_time_us\": 4276225, "
          "\"fail_type\": null,"
          " \"restart_reasons\": [\"x\", \"y\"], \"restart_reasons\": [\"b\", \"a\"], \"pytorch_version\": "
          "\"2.11.0\", \"gc_time_us\": 1.5e1,"
          " \"triton_kernel_compile_times_us\": \"[[\\\"k\\\", 100], [\\\"l\\\", 50]]\", \"new_field\": "
          "{\"x\": [1]}}, " ID
          "}\n" PREFIX("139872345678912") "{\"compilation_metrics\": {\"entire_frame_compile_time_s\": 2.5, "
                                          "\"cache_size\": 1.0},"
                                          " \"frame_id\": 1, \"frame_compile_id\": null}\n");
    const struct gp_clog_metrics *m = &log.metrics.at[0];
    assert_int_equal(log.metrics.n, 2);
    is(&log, m->name, "f");
    assert_int_equal(m->line, 7);
    assert_int_equal(m->frame_ns, 4276225000);
    assert_int_equal(m->frame_s_ns, m->frame_ns); /* the same by both fields */
    assert_int_equal(m->gc_ns, 15000);
    assert_int_equal(m->kernel_compile_ns, 150000);
    assert_int_equal(m->has_guarded_code, -1);
    assert_int_equal(m->n_restarts, 2);
    is(&log, log.restarts.at[m->first_restart], "a"); /* a set: sorted */
    is(&log, log.processes.at[0].torch, "2.11.0");
    assert_int_equal(m[1].frame_ns, 2500000000);
    assert_int_equal(m[1].cache_size, 1);
    is(&log, m[1].compile_id, "1/0");
    assert_int_equal(log.processes.at[1].pid, 0); /* a thread's address identifies nothing */
    gp_compile_log_release(&log);
}

TEST(a_break_has_kind_number_place_and_hint)
{
    struct gp_compile_log log = read_text(
        ARTIFACT("dynamo_graph_break_reason") "\tGraph break in user code at /p/site-packages/x.py:9\n"
                                              "\tGraph Break Reason: Encountered graph break when attempting "
                                              "to trace CALL: a function call, e.g. f(x, y):\n\t\n"
                                              "\tUnsupported Tensor.item() call\n\t  Explanation: why\n\t  "
                                              "Hint: This graph break is fundamental\n"
                                              "\t  Hint: do that\n\t\n\t  Developer debug context: "
                                              "item()\n\t\n\t For more, visit: https://x/gb/gb0124.html\n\t\n"
                                              "\tUser code traceback:\n\t  File \"/a/m.py\", line 5, in "
                                              "torch_dynamo_resume_in_f_at_3\n\t    g(x)\n"
                                              "\t  File \"/p/site-packages/x.py\", line 9, in g\n\t    "
                                              "item()\n\t\n\tTraceback (most recent call last):\n"
                                              "\t  File \"/p/y.py\", line 1, in z\n");
    const struct gp_clog_break *b = &log.breaks.at[0];
    assert_int_equal(log.breaks.n, 1);
    assert_int_equal(b->number, 124);
    is(&log, b->kind, "Unsupported Tensor.item() call");
    is(&log, b->explanation, "why");
    is(&log, b->hint, "do that");
    is(&log, b->context, "item()");
    is(&log, b->file, "/a/m.py"); /* the innermost line outside libraries */
    assert_int_equal(b->line, 5);
    is(&log, b->function, "f");
    is(&log, b->via_file, "/p/site-packages/x.py");
    assert_int_equal(b->via_line, 9);
    assert_false(b->whole_frame);
    assert_int_equal(b->code, 0); /* source is kept only when asked for */
    gp_compile_log_release(&log);
}

TEST(a_break_while_handling_another_is_its_consequence)
{
    struct gp_compile_log log = read_text(ARTIFACT(
        "dynamo_graph_break_reason") "\tGraph break in user code at a.py:9\n"
                                     "\tGraph Break Reason: Failed to handle graph break gracefully. "
                                     "Skipping the function and falling back to eager. Graph break "
                                     "encountered:\n\t\n"
                                     "\tfirst\n\t  Explanation: x\n\t\n\t /gb/gb0025.html\n\t\n"
                                     "\t*** While handling this graph break, another graph break occurred: "
                                     "***\n\t\n\tsecond\n\t  Explanation: y\n\t\n\t /gb/gb7000.html\n");
    assert_int_equal(log.breaks.n, 2);
    assert_true(log.breaks.at[0].whole_frame && log.breaks.at[1].whole_frame);
    assert_int_equal(log.breaks.at[0].caused_by, GP_CLOG_NONE);
    assert_int_equal(log.breaks.at[1].caused_by, 0);
    assert_int_equal(log.breaks.at[1].number, 7000);
    is(&log, log.breaks.at[1].kind, "second");
    assert_int_equal(log.breaks.at[1].line, 9);
    gp_compile_log_release(&log);
}

TEST(old_prose_is_a_kind)
{
    struct gp_compile_log log =
        read_text(ARTIFACT("dynamo_graph_break_reason") "\tGraph break in user code at /a/m.py:3\n"
                                                        "\tReason: Unsupported: generic_jump "
                                                        "TensorVariable()\n\tUser code traceback:\n"
                                                        "\t  File \"/a/m.py\", line 3, in m\n\t    if x:\n");
    assert_int_equal(log.breaks.n, 1);
    is(&log, log.breaks.at[0].kind, "generic_jump TensorVariable()");
    assert_int_equal(log.breaks.at[0].number, -1);
    assert_int_equal(log.breaks.at[0].line, 3);
    gp_compile_log_release(&log);
}

TEST(one_reason_is_a_bare_string_and_several_are_a_list)
{
    struct gp_compile_log log = read_text(
        ARTIFACT("recompile_reasons") "\t0/0: n == 0      # return x * n  # ork/brk.py:32 in "
                                      "f_lim\n" ARTIFACT(
                                          "recompile_reasons") "\t[\n\t\"0/1: n == 1   # y  # b.py:3 in "
                                                               "g\\nUser stack trace:\\n  File "
                                                               "\\\"/w/b.py\\\", line 3, in g\",\n"
                                                               "\t\"0/0: tensor 'x' size mismatch at index "
                                                               "0. expected 3, actual 5\"\n\t]\n");
    assert_int_equal(log.recompiles.n, 3);
    is(&log, log.recompiles.at[0].reason, "n == 0");
    is(&log, log.recompiles.at[0].against, "0/0");
    is(&log, log.recompiles.at[0].file, "ork/brk.py");
    assert_int_equal(log.recompiles.at[0].line, 32);
    is(&log, log.recompiles.at[0].function, "f_lim");
    is(&log, log.recompiles.at[1].file, "/w/b.py");
    assert_int_equal(log.recompiles.at[2].order, 1);
    gp_compile_log_release(&log);
}

TEST(calls_are_counted_in_the_body_of_call_only)
{
    struct gp_compile_log log = read_text(
        ARTIFACT("inductor_post_grad_graph") "\ta = torch.ops.aten.add.Tensor(x, 1)\n\tb = "
                                             "torch.ops.aten.view.default(a, [4])\n\t# c = "
                                             "torch.ops.aten.mul\n" P
                                             "{\"inductor_output_code\": {\"filename\": \"c/m.py\"}, " ID
                                             ", \"has_payload\": \"\"}\n"
                                             "\t# AOT ID: ['0_backward']\n\t# kernel path: c/k.py\n"
                                             "\t# Topologically Sorted Source Nodes: [a, b, c], Original "
                                             "ATen: [aten.add, aten.mul]\n"
                                             "\ttriton_poi_fused_add_mul_0 = "
                                             "async_compile.triton('triton_poi_fused_add_mul_0', "
                                             "'''\n\tx.run(\n\t''', device_str='cuda')\n"
                                             "\tclass Runner:\n\t    def call(self, args):\n\t        # "
                                             "x.run(\n\t        triton_poi_fused_add_mul_0.run(buf0)\n"
                                             "\t        triton_poi_fused_add_mul_0.run(buf1)\n\t        "
                                             "extern_kernels.mm(a, b)\n\t        c = "
                                             "torch.ops.aten.sdpa.default(q)\n"
                                             "\t        assert_alignment(c, 16, "
                                             "'torch.ops.aten.sdpa.default')\n\t        return "
                                             "(buf0,)\n\tdef benchmark():\n\t    "
                                             "triton_poi_fused_add_mul_0.run(x)\n" ARTIFACT(
                                                 "triton_kernel_info") "\t{\"triton_poi_fused_add_mul_0\": "
                                                                       "{\"only_config\": [[\"XBLOCK\", 4]], "
                                                                       "\"compile_time_us\": "
                                                                       "205}}\n" ARTIFACT("fx_graph_cache_"
                                                                                          "hit") "\t{\"key\":"
                                                                                                 " \"fabc\", "
                                                                                                 "\"time_"
                                                                                                 "saved_ns\":"
                                                                                                 " 77}\n");
    const struct gp_clog_graph *g = &log.graphs.at[0];
    const struct gp_clog_kernel *k = &log.kernels.at[0];
    assert_int_equal(log.graphs.n, 1);
    assert_int_equal(g->direction, GP_CLOG_BACKWARD_GRAPH);
    assert_int_equal(g->operators, 2);
    assert_int_equal(g->views, 1);
    assert_int_equal(g->triton_calls, 2);
    assert_int_equal(g->extern_calls, 1);
    assert_int_equal(g->fallback_calls, 1);
    is(&log, g->key, "fabc");
    assert_int_equal(log.kernels.n, 1);
    assert_int_equal(k->calls, 2);
    assert_int_equal(k->sources, 3);
    assert_int_equal(k->n_operators, 2);
    is(&log, log.operators.at[k->first_operator + 1], "aten.mul");
    is(&log, k->path, "c/k.py");
    assert_int_equal(k->compile_ns, 205000);
    assert_int_equal(log.caches.at[0].state, GP_CLOG_HIT);
    assert_int_equal(log.caches.at[0].saved_ns, 77);
    gp_compile_log_release(&log);
}

TEST(a_text_log_belongs_to_its_process)
{
    struct gp_compile_log log = {0};
    static const char structured[] = P "{\"compilation_metrics\": {\"co_name\": \"f\"}, " ID "}\n";
    static const char text[] =
        P "[0/0] [__graph_breaks] Graph break in user code at /a/m.py:3\n" P
          "[0/0] [__graph_breaks] Graph Break Reason: kind\n" P "[0/0] [__graph_breaks]   Explanation: x\n" P
          "[0/0] [__fusion] completed fusion round (1/10): fused 43 nodes into 28 nodes\n" P
          "[0/0] [__fusion] cannot fuse op0 with op1: no shared data\n" P
          "[0/0] [__fusion] cannot fuse op0 with op2: no shared data\n"
          "W1122 14:53:09.761000 456 u.py:2] [__cudagraphs] skipping cudagraphs due to mutated inputs (1 "
          "instances). Found from : \n"
          "W1122 14:53:09.761000 456 u.py:2] [__cudagraphs]   File \"/a/m.py\", line 9, in f_mut\n"
          "I1122 14:53:10.915000 456 u.py:3] [__cudagraphs] [36/0] Recording function=partition_0, "
          "cuda_graph_id=0\n" P "[0/1] [__recompiles] Recompiling function f in /a/m.py:1\n" P
          "[0/1] [__recompiles]     triggered by the following guard failure(s):\n" P
          "[0/1] [__recompiles]     - 0/0: n == 0\n";
    const char *const both[] = {text, structured}; /* whichever comes first */
    for (int i = 0; i < 2; i++) {
        struct gp_input *in = gp_input_memory(both[i], strlen(both[i]), 1);
        gp_compile_log_read(&log, in, "log");
        gp_input_close(in);
    }
    assert_int_equal(log.processes.n, 1);
    assert_int_equal(log.processes.at[0].input, 1);
    assert_int_equal(log.breaks.n, 1);
    assert_int_equal(log.breaks.at[0].line, 3);
    assert_int_equal(log.rounds.n, 1);
    assert_int_equal(log.rounds.at[0].before, 43);
    assert_int_equal(log.rounds.at[0].after, 28);
    assert_int_equal(log.unfused.n, 1);
    assert_int_equal(log.unfused.at[0].count, 2);
    is(&log, log.skips.at[0].reason, "mutated inputs (1 instances)");
    assert_int_equal(log.skips.at[0].line, 9);
    is(&log, log.recordings.at[0].compile_id, "36/0");
    is(&log, log.recompiles.at[0].reason, "n == 0");
    assert_int_equal(log.inputs.at[0].texts, 12);
    gp_compile_log_release(&log);
}

TEST(processes_in_one_file_are_told_apart)
{
    struct gp_compile_log log = read_text(
        PREFIX("1") "{\"chromium_event\": {}, \"rank\": 3, " ID
                    ", \"has_payload\": \"\"}\n\t{\"name\": \"dynamo\", \"ts\": 10, \"ph\": \"B\"}\n" PREFIX(
                        "2") "{\"chromium_event\": {}, " ID
                             ", \"has_payload\": \"\"}\n\t{\"name\": \"dynamo\", \"ts\": 20, \"ph\": "
                             "\"B\"}\n" PREFIX("1") "{\"chromium_event\": {}, " ID
                                                    ", \"has_payload\": \"\"}\n\t{\"name\": \"dynamo\", "
                                                    "\"ts\": 30, \"ph\": \"E\"}\n" PREFIX(
                                                        "2") "{\"chromium_event\": {}, " ID
                                                             ", \"has_payload\": \"\"}\n\t{\"name\": "
                                                             "\"dynamo\", \"ts\": 40, \"ph\": \"E\"}\n");
    assert_int_equal(log.processes.n, 2);
    assert_int_equal(log.processes.at[0].rank, 3);
    assert_int_equal(log.processes.at[1].rank, -1);
    assert_int_equal(log.spans.at[0].dur_ns, 20000);
    assert_int_equal(log.spans.at[1].dur_ns, 20000);
    assert_int_equal(log.spans.at[1].parent, GP_CLOG_NONE);
    gp_compile_log_release(&log);
}

TEST(damage_is_counted_where_it_is)
{
    struct gp_compile_log log = read_text(
        P "{\"str\": [\"a.py\", 1]}\n" P "{\"broken\": \n" P "{\"new_record\": {}, " ID "}\n" P
          "{\"chromium_event\": {}, " ID
          ", \"has_payload\": \"900150983cd24fb0d6963f7d28e17f72\"}\n\tabcd\n" P
          "{\"chromium_event\": {}, " ID ", \"has_payload\": \"900150983cd24fb0d6963f7d28e17f72\"}\n" P
          "{\"dynamo_start\": {\"stack\": [{\"line\": 1, \"name\": \"f\", \"filename\": 9}]}, " ID "}\n"
          "\tz\n");
    const struct gp_clog_input *in = &log.inputs.at[0];
    assert_int_equal(in->records, 6);
    assert_int_equal(in->used, 4);
    assert_int_equal(in->skipped, 1);
    assert_int_equal(in->damaged, 1);
    assert_int_equal(issues(&log, GP_CLOG_DAMAGED), 1);
    assert_int_equal(in->issues[GP_CLOG_DAMAGED].first_offset,
                     (int64_t)strlen(P "{\"str\": [\"a.py\", 1]}\n"));
    assert_int_equal(issues(&log, GP_CLOG_DIGEST), 1); /* counted, and still used: but no event comes of it */
    assert_int_equal(issues(&log, GP_CLOG_PAYLOAD), 3);
    assert_int_equal(issues(&log, GP_CLOG_STRING), 1);
    assert_int_equal(issues(&log, GP_CLOG_TRUNCATED), 0);
    gp_compile_log_release(&log);
}

/* A record names a payload that is not there, unless the digest is that of nothing. */
TEST(only_the_whole_digest_of_nothing_needs_no_payload)
{
#define NOTHING "d41d8cd98f00b204e9800998ecf8427e"
#define BREAK(digest)                                                                                        \
    P "{\"artifact\": {\"name\": \"dynamo_graph_break_reason\"}, " ID ", \"has_payload\": \"" digest "\"}\n"
    static const struct {
        const char *text;
        uint64_t missing;
    } cases[] = {{BREAK(NOTHING), 0}, {BREAK("d41d8cd9"), 1}, {BREAK(NOTHING NOTHING), 1}};
#undef BREAK
#undef NOTHING
    for (size_t i = 0; i < GP_COUNT(cases); i++) {
        struct gp_compile_log log = read_text(cases[i].text);
        assert_int_equal(issues(&log, GP_CLOG_PAYLOAD), cases[i].missing);
        gp_compile_log_release(&log);
    }
}

TEST(odd_values_are_survived)
{
    struct gp_compile_log log =
        read_text(P "{\"compilation_metrics\": {\"co_name\": 7, \"co_firstlineno\": \"x\", "
                    "\"start_time_us\": NaN, \"cache_size\": {}, \"restart_reasons\": 3},"
                    " \"frame_id\": null, \"frame_compile_id\": null, \"compiled_autograd_id\": 2}\n" P
                    "{\"chromium_event\": {}, \"has_payload\": null}\n\t{\"name\": \"a\", \"ts\": 1e400, "
                    "\"ph\": \"B\"}\n" P "{\"artifact\": 3}\n" P "{}\n" P
                    "{\"artifact\": {\"name\": \"recompile_reasons\"}}\n\t[1, {\"a\": [\n");
    is(&log, log.metrics.at[0].compile_id, "!2");
    assert_int_equal(log.metrics.at[0].begin_ns, -1);
    assert_int_equal(log.spans.n, 0);
    assert_int_equal(log.inputs.at[0].used + log.inputs.at[0].skipped, 5);
    gp_compile_log_release(&log);
    log = read_text(P "{\"compilation_metrics\": {\"co_name\": \"f\", \"triton_kernel_compile_times_us\": "
                      "\"[[\\\"a\\\", NaN], [\\\"b\\\", 3]]\"}, " ID "}\n");
    assert_int_equal(log.metrics.at[0].kernel_compile_ns, 3000);
    gp_compile_log_release(&log);
    log = read_text("");
    assert_int_equal(log.inputs.n, 1);
    assert_int_equal(log.processes.n, 0);
    gp_compile_log_release(&log);
}

/* Whatever is cut off, each record counts once, and what is left says so. */
TEST(a_cut_at_every_byte_is_survived)
{
    static const char text[] = EVENT("dynamo", "B", "1000.5")
        ARTIFACT("recompile_reasons") "\t0/0: n == 0\n" P
                                      "{\"compilation_metrics\": {\"co_name\": \"f\", \"fail_type\": "
                                      "\"Unsupported\", \"fail_reason\": \"k\\n  Explanation: x\"}, " ID
                                      "}\n" P "[0/0] [__fusion] completed fusion round (1/10): fused 43 "
                                      "nodes into 28 nodes\n" EVENT("dynamo", "E", "1500.5");
    for (size_t n = 0; n < sizeof text - 1; n++) {
        struct gp_compile_log log = log_of(text, n);
        const struct gp_clog_input *in = &log.inputs.at[0];
        assert_int_equal(in->used + in->skipped + in->damaged, in->records);
        assert_int_equal(in->bytes, n);
        bool told =
            issues(&log, GP_CLOG_TRUNCATED) || issues(&log, GP_CLOG_OPEN) || issues(&log, GP_CLOG_NOISE);
        assert_true(told || !n || text[n - 1] == '\n');
        gp_compile_log_release(&log);
    }
}
