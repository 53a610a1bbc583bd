// What is written of a comparison that is made by hand, so that nothing but the writing is tested.
#include <math.h>
#include <string.h>

#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "render/diff/diff_priv.h"
#include "render/diff/diff_formats.h"
#include "render/report/report.h"
#include "tests/unit/unit.h"

static gp_sid name(struct gp_diff *d, const char *s) { return gp_intern_cstr(&d->strings, s); }

// A step of 1000 ns that took 900 ns: 300 less idle, gemm 150 more, and twenty kernels of 5 ns each 2.5 more.
static void make(struct gp_diff *d)
{
    gp_diff_init(d, NULL);
    d->comparable = true;
    d->side[GP_DIFF_BASE].step_ns = 1000;
    d->side[GP_DIFF_CUR].step_ns = 900;
    GP_VEC_PUSH(&d->causes, (struct gp_diff_cause){.sort = GP_CAUSE_IDLE,
                                                   .index = GP_IDLE_HOST,
                                                   .name = name(d, "idle: host"),
                                                   .side_ns = {700, 400},
                                                   .change_ns = -300});
    GP_VEC_PUSH(&d->causes, (struct gp_diff_cause){.sort = GP_CAUSE_OP,
                                                   .index = 0,
                                                   .name = name(d, "gemm"),
                                                   .side_ns = {100, 250},
                                                   .change_ns = 150});
    for (int i = 0; i < 20; i++)
        GP_VEC_PUSH(&d->causes, (struct gp_diff_cause){.sort = GP_CAUSE_OTHER,
                                                       .name = name(d, "small"),
                                                       .side_ns = {10, i < 15 ? 15 : 5},
                                                       .change_ns = i < 15 ? 5 : -5});
    static const struct {
        const char *stack;
        int64_t base, cur;
    } stacks[] = {{"a;b;gemm", 100, 250}, {"a;gone", 40, 0}, {"a;new 7", 0, 30}, {"x;same", 60, 60}};
    for (size_t i = 0; i < GP_COUNT(stacks); i++)
        GP_VEC_PUSH(&d->stacks, (struct gp_diff_stack){.stack = name(d, stacks[i].stack),
                                                       .kind = GP_FRAME_COMPUTE,
                                                       .op = GP_PROFILE_NONE,
                                                       .side_ns = {stacks[i].base, stacks[i].cur}});
}

TEST(terms_sum_whatever_is_shown_alone)
{
    struct gp_diff d;
    struct gp_diff_term t[GP_DIFF_TERMS];
    make(&d);
    for (size_t top = 0; top < 30; top++) {
        size_t n = gp_diff_terms(&d, top, t);
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++) sum += t[i].change_ns;
        assert_int_equal(sum, -100); // -300 + 150 + 15 * 5 - 5 * 5
    }
    size_t n = gp_diff_terms(&d, 2, t);
    assert_int_equal(n, 4);
    assert_int_equal(t[2].change_ns, 75);
    assert_int_equal(t[2].n, 15);
    assert_int_equal(t[3].change_ns, -25);
    struct gp_buf b = {0};
    gp_diff_put_term(&b, &d, &t[2]);
    assert_string_equal(gp_buf_str(&b), "15 others that grew");
    gp_buf_release(&b);
    gp_diff_release(&d);
}

TEST(the_waterfall_of_the_text_adds_up_line_by_line)
{
    struct gp_diff d;
    struct gp_report r = {0};
    struct gp_buf b = {0};
    make(&d);
    gp_diff_report(&r, &d, &(struct gp_diff_report_opts){.top = 2, .brief = true});
    gp_report_text_write(&b, &r, &(struct gp_report_text_opts){.verdict_first = true});
    const char *s = gp_buf_str(&b);
    static const char *const lines[] = {"1.000\n", "-0.300 ", "0.700\n", "+0.150 ", "0.850\n", "+0.075 ",
                                        "0.925\n", "-0.025 ", "0.900\n", "-0.100 ", "0.900\n"};
    for (size_t i = 0; i < GP_COUNT(lines); i++) {
        s = strstr(s, lines[i]);
        assert_non_null(s);
    }
    gp_buf_release(&b);
    gp_report_release(&r);
    gp_diff_release(&d);
}

TEST(folded_stacks_have_both_columns_and_no_stray_numbers)
{
    struct gp_diff d;
    struct gp_buf b = {0};
    make(&d);
    gp_diff_folded_write(&b, &d);
    assert_string_equal(gp_buf_str(&b), "a;b;gemm 100 250\na;gone 40 0\na;new_7 0 30\nx;same 60 60\n");
    gp_buf_release(&b);
    gp_diff_release(&d);
}

TEST(flames_mark_what_is_new_in_one_direction_and_gone_in_the_other)
{
    struct gp_diff d;
    struct gp_buf cur = {0}, base = {0};
    make(&d);
    gp_diff_flame_svg(&cur, &d, &(struct gp_diff_flame_opts){.side = GP_DIFF_CUR});
    gp_diff_flame_svg(&base, &d, &(struct gp_diff_flame_opts){.side = GP_DIFF_BASE});
    const char *c = gp_buf_str(&cur), *b = gp_buf_str(&base);
    assert_non_null(strstr(c, "<g class=\"new\" data-d=\"2\" data-v=\"30\""));
    assert_null(strstr(c, "data-v=\"40\"")); // what is gone has no width here
    assert_non_null(strstr(b, "<g class=\"gone\" data-d=\"2\" data-v=\"40\""));
    assert_null(strstr(b, "data-v=\"30\""));
    // +150 is the largest of -40, 0, +140, +150
    assert_non_null(strstr(c, "<g class=\"dp5\" data-d=\"3\" data-v=\"250\""));
    assert_non_null(strstr(b, "<g class=\"dp5\" data-d=\"3\" data-v=\"100\""));
    assert_non_null(strstr(c, "<g class=\"dp0\" data-d=\"2\" data-v=\"60\""));
    assert_non_null(strstr(c, "was 100 ns \xC2\xB7 +150 ns (+150.0%)"));
    assert_non_null(strstr(b, "now 250 ns \xC2\xB7 +150 ns (+150.0%)"));
    gp_buf_release(&cur);
    gp_buf_release(&base);
    gp_diff_release(&d);
}

// gemm grew by 150 but is undecided, and so is what contains nothing but it: grey; what is new and gone still
// counts.
TEST(flames_are_grey_where_nothing_is_decided)
{
    struct gp_diff d;
    struct gp_buf b = {0};
    make(&d);
    GP_VEC_PUSH(&d.ops, (struct gp_diff_op){.change = GP_CHANGE_INCONCLUSIVE});
    d.stacks.at[0].op = 0;
    gp_diff_flame_svg(&b, &d, &(struct gp_diff_flame_opts){.side = GP_DIFF_CUR});
    assert_non_null(strstr(gp_buf_str(&b), "<g class=\"dp0\" data-d=\"3\" data-v=\"250\""));
    assert_non_null(
        strstr(gp_buf_str(&b), "was 100 ns \xC2\xB7 +150 ns (+150.0%), no change that is decided"));
    // 30 - 40 in all, which is where the scale ends
    assert_non_null(strstr(gp_buf_str(&b), "<g class=\"dm5\" data-d=\"0\""));
    assert_non_null(strstr(gp_buf_str(&b), "\xE2\x88\x92"
                                           "10 ns ("));
    gp_buf_release(&b);
    gp_diff_release(&d);
}

// Every operation that is decided has a dot: tested, counted, new and gone; what is not decided and not
// tested has none.
TEST(the_volcano_has_every_decided_operation)
{
    struct gp_diff d;
    struct gp_buf b = {0};
    struct gp_svg w = {.out = &b, .html = true};
    gp_diff_init(&d, NULL);
    const struct gp_diff_op ops[] = {
        {.change = GP_CHANGE_REGRESSION,
         .change_ns = 20,
         .change_pct = 20,
         .d = {.q = 0.01, .estimate_pct = 20, .significant = true}},
        {.change = GP_CHANGE_IMPROVEMENT,
         .change_ns = -50,
         .change_pct = -50,
         .d = {.q = NAN, .estimate_pct = NAN, .significant = true}},
        {.change = GP_CHANGE_NEW, .change_ns = 30, .change_pct = NAN, .d = {.q = NAN, .significant = true}},
        {.change = GP_CHANGE_FUSED,
         .change_ns = -30,
         .change_pct = -100,
         .d = {.q = NAN, .significant = true}},
        {.change = GP_CHANGE_INCONCLUSIVE, .change_ns = 1, .change_pct = 1, .d = {.q = NAN}},
    };
    for (size_t i = 0; i < GP_COUNT(ops); i++) {
        GP_VEC_PUSH(&d.ops, ops[i]);
        d.ops.at[i].name = d.ops.at[i].label = name(&d, "gemm");
        d.ops.at[i].side[GP_DIFF_BASE].total_ns = 100;
    }
    gp_diff_chart_volcano(&w, &d);
    size_t worse = 0, better = 0, all = 0;
    for (const char *s = gp_buf_str(&b); (s = strstr(s, "<circle class=\"v-")) != NULL; s++) {
        worse += !strncmp(s + 17, "worse", 5);
        better += !strncmp(s + 17, "better", 6);
        all++;
    }
    assert_true(worse == 2 && better == 2 && all == 4);
    assert_non_null(strstr(gp_buf_str(&b), ">new</text>"));
    assert_non_null(strstr(gp_buf_str(&b), ">gone</text>"));
    gp_buf_release(&b);
    gp_diff_release(&d);
}

TEST(json_is_json_even_when_nothing_is_known)
{
    struct gp_diff d;
    struct gp_buf b = {0};
    make(&d);
    d.noise_measured_pct = NAN;
    d.noise_wall_pct = INFINITY;
    gp_diff_json_write(&b, &d);
    assert_true(gp_json_is_valid(b.data, b.n));
    assert_non_null(strstr(gp_buf_str(&b), "\"noise_wall_pct\": null"));
    assert_non_null(
        strstr(gp_buf_str(&b), "{\"cause\": \"gemm\", \"change_ns\": 150, \"sort\": \"operation\""));
    gp_buf_release(&b);
    gp_diff_release(&d);
}

TEST(blocks_are_drawn_escaped_and_the_rest_is_told)
{
    struct gp_diff d;
    struct gp_buf b = {0};
    make(&d);
    GP_VEC_PUSH(&d.names, name(&d, "a\"b\\"));
    for (int i = 0; i < 3; i++)
        GP_VEC_PUSH(&d.blocks, (struct gp_diff_block){.change = GP_CHANGE_FUSED,
                                                      .label = name(&d, "norm \"x\""),
                                                      .times = 2,
                                                      .n_names = {1, 1},
                                                      .kernels = {6, 3},
                                                      .side_ns = {100, 70},
                                                      .change_ns = -30});
    gp_diff_dot(&b, &d, 1);
    const char *s = gp_buf_str(&b);
    assert_non_null(strstr(s, "a\\\"b\\\\\\l6 launches, 100 ns"));
    assert_non_null(strstr(s, "label=\"norm \\\"x\\\"\\nfused, 2 times per step\\n\xE2\x88\x92"
                              "30 ns\""));
    assert_non_null(strstr(s, "2 smaller blocks are not drawn: \xE2\x88\x92"
                              "60 ns in all"));
    assert_null(strstr(s, "b1 "));
    gp_buf_release(&b);
    gp_diff_release(&d);
}

TEST(outcomes_of_predictions)
{
    struct gp_diff_expect e = {.low = -10, .high = -5};
    static const struct {
        double value;
        bool holds;
        const char *word;
    } cases[] = {{-7, true, "met"}, {-20, false, "better"}, {-1, false, "worse"}, {NAN, false, "unknown"}};
    for (size_t i = 0; i < 4; i++) {
        e.value = cases[i].value;
        e.holds = cases[i].holds;
        assert_string_equal(gp_diff_outcome(&e), cases[i].word);
    }
}
