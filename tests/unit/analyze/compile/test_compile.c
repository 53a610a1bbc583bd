// From a log's model to the answer: time by class, breaks each once, recompiles, fusion; with a trace what
// breaks cost.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compile/compile.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/reader.h"
#include "tests/unit/compile_make.h"
#include "tests/unit/unit.h"

static void is(const struct gp_compile *c, gp_sid sid, const char *want)
{
    assert_string_equal(gp_compile_str(c, sid), want);
}

TEST(names_have_classes)
{
    static const struct {
        const char *name;
        enum gp_compile_class class;
    } rows[] = {{"dynamo", GP_COMPILE_DYNAMO},
                {"compile_attempt_0", GP_COMPILE_DYNAMO},
                {"backend_compile", GP_COMPILE_AOT},
                {"additional_fake_tensor_prop", GP_COMPILE_AOT},
                {"_recursive_post_grad_passes", GP_COMPILE_PASSES},
                {"pass.post_grad_passes.stable_sort", GP_COMPILE_PASSES},
                {"compile_fx.<locals>.bw_compiler", GP_COMPILE_INDUCTOR},
                {"Scheduler.codegen", GP_COMPILE_INDUCTOR},
                {"async_compile.wait", GP_COMPILE_KERNELS},
                {"CachingAutotuner.benchmark_all_configs", GP_COMPILE_AUTOTUNE},
                {"mm_template_autotuning", GP_COMPILE_AUTOTUNE},
                {"CUDAGraphNode.record", GP_COMPILE_CUDAGRAPHS},
                {"cudagraphify.get_container", GP_COMPILE_CUDAGRAPHS},
                {"gc", GP_COMPILE_OTHER}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(gp_compile_class_of(rows[i].name), rows[i].class);
}

TEST(classes_and_frames_sum_to_the_total)
{
    struct gp_compile c;
    struct gp_compile_log log = compile_log_of(
        EVENT("0/0", "dynamo", "B", "1000") EVENT("0/0", "backend_compile", "B", "1100")
            EVENT("0/0", "gc", "B", "1150") EVENT("0/0", "gc", "E", "1160")
                EVENT("0/0", "backend_compile", "E", "1400") EVENT("0/0", "dynamo", "E", "1500")
                    METRICS("0", "0", "\"co_name\": \"f\", \"graph_op_count\": 2")
                        EVENT("1/0", "dynamo", "B", "2000") EVENT("1/0", "dynamo", "E", "2050")
                            EVENT("0/0", "CUDAGraphNode.record", "B", "3000")
                                EVENT("0/0", "CUDAGraphNode.record", "E", "3007"));
    compile_finish(&c, &log);
    assert_int_equal(c.time.total_ns, 557000);
    assert_int_equal(c.time.class_ns[GP_COMPILE_DYNAMO], 250000);
    assert_int_equal(c.time.class_ns[GP_COMPILE_AOT], 290000);
    assert_int_equal(c.time.class_ns[GP_COMPILE_OTHER], 10000);
    assert_int_equal(c.time.runtime_ns, 7000);
    assert_int_equal(c.frames.n, 2);
    assert_int_equal(c.frames.at[0].total_ns, 507000);
    assert_int_equal(c.frames.at[0].outcome, GP_COMPILE_OK);
    assert_int_equal(c.frames.at[1].total_ns, 50000);
    assert_int_equal(c.cudagraphs.recorded, 1);
    assert_int_equal(c.advice.n, 0);
    compile_release(&c, &log);
}

TEST(old_logs_are_split_by_their_nested_fields)
{
    struct gp_compile c;
    struct gp_compile_log log = compile_log_of(METRICS(
        "0", "0",
        "\"co_name\": \"f\", \"graph_op_count\": 2, \"entire_frame_compile_time_s\": 2.5,"
        "\"backend_compile_time_s\": 1.5, \"inductor_compile_time_s\": 1.0, \"code_gen_time_s\": 0.25"));
    compile_finish(&c, &log);
    assert_false(c.time.from_spans);
    assert_int_equal(c.time.total_ns, 2500000000);
    assert_int_equal(c.time.class_ns[GP_COMPILE_DYNAMO], 1000000000);
    assert_int_equal(c.time.class_ns[GP_COMPILE_AOT], 500000000);
    assert_int_equal(c.time.class_ns[GP_COMPILE_INDUCTOR], 750000000);
    assert_int_equal(c.time.class_ns[GP_COMPILE_KERNELS], 250000000);
    compile_release(&c, &log);
}

TEST(a_break_is_listed_once_per_kind_and_place)
{
    struct gp_compile c;
    struct gp_compile_log log = compile_log_of(
        BREAK("0", "0", "0124", "5") BREAK("0", "0", "0124", "5") BREAK("0", "1", "0124", "5")
            BREAK("0", "0", "0170", "5") BREAK("1", "0", "0124", "9") METRICS(
                "0", "0", "\"co_name\": \"f\", \"co_filename\": \"a.py\", \"restart_reasons\": [\"k0124\"]")
                METRICS("2", "0",
                        "\"co_name\": \"g\", \"co_filename\": \"a.py\", \"fail_type\": \"Unsupported\", "
                        "\"fail_reason\": \"k0025\\n  Explanation: x /gb/gb0025.html\","
                        "\"fail_user_frame_filename\": \"a.py\", \"fail_user_frame_lineno\": 30")
                    METRICS(
                        "3", "0",
                        "\"co_name\": \"h\", \"co_filename\": \"a.py\", \"restart_reasons\": [\"of old\"]"));
    compile_finish(&c, &log);
    assert_int_equal(c.breaks.n, 5);
    uint32_t of_line_5 = 0, whole = 0, old = 0;
    for (size_t i = 0; i < c.breaks.n; i++) {
        const struct gp_compile_break *b = &c.breaks.at[i];
        if (b->number == 124 && b->line == 5) {
            of_line_5++;
            assert_int_equal(b->count, 2); /* compiles 0/0 and 0/1 */
            assert_int_equal(b->family, GP_FAMILY_SCALAR);
        }
        whole += b->whole_frame && b->number == 25 && b->line == 30;
        old += b->number < 0 && b->line < 0 && b->sources == 1u << GP_CLOG_FROM_RESTART;
    }
    assert_int_equal(of_line_5, 1);
    assert_int_equal(whole, 1);
    assert_int_equal(old, 1);
    assert_int_equal(c.breaks.at[0].number, 25); /* whole functions come first */
    compile_release(&c, &log);
}

TEST(recompiles_are_grouped_by_guard_and_the_limit_is_critical)
{
    struct gp_compile c;
    struct gp_compile_log log = compile_log_of(
        METRICS("0", "0",
                "\"co_name\": \"f\", \"co_filename\": \"a.py\", \"co_firstlineno\": 3, \"graph_op_count\": 1")
            RECOMPILE("0", "1", "0/0: n == 0") METRICS(
                "0", "1",
                "\"co_name\": \"f\", \"co_filename\": \"a.py\", \"co_firstlineno\": 3, \"graph_op_count\": 1")
                RECOMPILE("0", "2", "[\"0/1: n == 1\", \"0/0: n == 0\"]") METRICS(
                    "0", "2",
                    "\"fail_type\": \"Unsupported\", \"fail_reason\": \"limit\\n  Explanation: x "
                    "/gb/gb0039.html\"") METRICS("1", "0", "\"co_name\": \"g\", \"graph_op_count\": 1")
                    RECOMPILE("1", "1", "1/0: tensor 'x' size mismatch at index 0. expected 3, actual 5")
                        METRICS("1", "1", "\"co_name\": \"g\", \"graph_op_count\": 1"));
    compile_finish(&c, &log);
    assert_int_equal(c.recompiles.n, 2);
    const struct gp_compile_recompile *r = &c.recompiles.at[0];
    assert_true(r->limit);
    assert_int_equal(r->count, 2);
    assert_int_equal(r->kind, GP_RECOMPILE_NUMBER);
    is(&c, r->expression, "n");
    is(&c, r->function, "f");
    assert_int_equal(r->n_values, 2);
    is(&c, c.values.at[r->first_value + 1], "1");
    is(&c, c.recompiles.at[1].expression, "x.shape[0]");
    assert_false(c.recompiles.at[1].limit);
    assert_int_equal(c.breaks.at[0].recompile, 0);
    assert_int_equal(c.breaks.at[0].line, 3); /* the place of the function: the record has none */
    assert_int_equal(c.frames.at[2].outcome, GP_COMPILE_EAGER);
    assert_int_equal(c.gaps, 0);
    assert_string_equal(c.advice.at[0].rule, "recompile_limit");
    assert_int_equal(c.advice.at[0].priority, GP_COMPILE_CRITICAL);
    compile_release(&c, &log);
}

TEST(a_gap_in_the_compiles_of_a_frame_is_seen)
{
    struct gp_compile c;
    struct gp_compile_log log =
        compile_log_of(METRICS("0", "0", "\"co_name\": \"f\"") METRICS("0", "2", "\"co_name\": \"f\""));
    compile_finish(&c, &log);
    assert_int_equal(c.gaps, 1);
    compile_release(&c, &log);
}

TEST(only_new_findings_count_against_a_baseline)
{
    struct gp_compile c;
    struct gp_buf key = {0};
    struct gp_compile_log log = compile_log_of(BREAK("0", "0", "0124", "5"));
    compile_finish(&c, &log);
    gp_compile_key(&c, GP_FINDING_BREAK, 0, &key);
    assert_string_equal(gp_buf_str(&key), "break\tGB0124\ta.py\tf");
    assert_int_equal(gp_compile_findings(&c, GP_FINDING_BREAK), 1);
    compile_release(&c, &log);

    const char *known[] = {gp_buf_str(&key)};
    log = compile_log_of(BREAK("0", "0", "0124", "7") BREAK("1", "0", "0170", "9")); /* the first has moved */
    gp_compile_init(&c, &log, &(struct gp_compile_opts){.against = true, .known = known, .n_known = 1});
    gp_compile_finish(&c);
    assert_int_equal(gp_compile_findings(&c, GP_FINDING_BREAK), 1);
    for (size_t i = 0; i < c.breaks.n; i++)
        assert_int_equal(c.breaks.at[i].is_new, c.breaks.at[i].number == 170);
    compile_release(&c, &log);
    gp_buf_release(&key);
}

/* Steps of 1000 us. In each the region of f holds a graph that ends at 300, the resumed region begins at 500,
 * and the GPU is busy until 350: it is idle for 150 us at the break. */
TEST(a_break_costs_the_idle_time_before_the_rest)
{
    struct gp_buf json = {0};
    struct gp_trace t;
    struct gp_err err = {0};
    struct gp_compile c;
    struct gp_compile_log log = compile_log_of(
        BREAK("0", "0", "0124", "5") METRICS(
            "0", "0",
            "\"co_name\": \"f\", \"co_filename\": \"a.py\", \"co_firstlineno\": 3, \"graph_op_count\": 1")
            METRICS("1", "0",
                    "\"co_name\": \"torch_dynamo_resume_in_f_at_5\", \"co_filename\": \"a.py\", "
                    "\"co_firstlineno\": 5, \"graph_op_count\": 1") EVENT("2/0", "dynamo", "B", "3100")
                EVENT("2/0", "dynamo", "E", "3140"));
    gp_buf_puts(&json, "{\"baseTimeNanoseconds\": 0, \"traceEvents\": [");
    for (int i = 0; i < 6; i++) {
        int at = 1000 * i;
        gp_buf_printf(&json,
                      "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,"
                      "\"tid\":1,\"ts\":%d,\"dur\":990}",
                      i ? "," : "", i, at);
        gp_buf_printf(&json,
                      ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"Torch-Compiled Region: "
                      "0/0\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":600}",
                      at + 100);
        gp_buf_printf(&json,
                      ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"## Call CompiledFxGraph k "
                      "##\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":180}",
                      at + 120);
        gp_buf_printf(&json,
                      ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
                      "\"tid\":1,\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}}",
                      at + 150, 2 * i + 1);
        gp_buf_printf(
            &json,
            ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"triton_poi_fused_add_0\",\"pid\":0,\"tid\":7,"
            "\"ts\":%d,\"dur\":190,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}",
            at + 160, 2 * i + 1);
        gp_buf_printf(&json,
                      ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"Torch-Compiled Region: "
                      "1/0\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":150}",
                      at + 500);
        gp_buf_printf(&json,
                      ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
                      "\"tid\":1,\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}}",
                      at + 520, 2 * i + 2);
        gp_buf_printf(
            &json,
            ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"triton_poi_fused_mul_0\",\"pid\":0,\"tid\":7,"
            "\"ts\":%d,\"dur\":50,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}",
            at + 530, 2 * i + 2);
    }
    gp_buf_puts(&json, "]}");
    assert_int_equal(gp_trace_read_memory(&t, json.data, json.n, &(struct gp_read_opts){.threads = 1}, &err),
                     0);
    gp_compile_init(&c, &log, NULL);
    assert_int_equal(gp_compile_add_trace(&c, GP_COMPILE_RUN, NULL, &t, &err), 0);
    gp_trace_release(&t);
    gp_compile_finish(&c);
    assert_int_equal(c.breaks.n, 1);
    assert_int_equal(c.breaks.at[0].cost_ns, 150000);
    assert_int_equal(c.time.stall_ns, 40000); /* a compile at 3100 us, inside step 3 */
    assert_int_equal(c.time.stalls, 1);
    assert_true(c.fusion.triton_per_step == 2);
    assert_true(c.frames.at[0].calls_per_step == 1);
    assert_int_equal(c.advice.at[0].saving_ns, 150000);
    compile_release(&c, &log);
    gp_buf_release(&json);
}
