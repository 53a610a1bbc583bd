/* trace-diff -- two traces, or two groups of them, in; the changes, whether they are real, and an exit status
 * out. */
#include <string.h>
#include "analyze/diff/comparison.h"
#include "analyze/app/app.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "render/diff/diff_formats.h"

#define MAX_SAVED ((size_t)1 << 28)

struct opts {
    struct gp_app_opts app;
    struct gp_opt_list base, current, gates;
    struct gp_sides_asked asked;
    const char *by, *mode, *view, *expect;
    bool whole;
    struct gp_diff_opts d; /* of it, members with options of their own */
};

#define AT(member) offsetof(struct opts, member)
static const struct gp_option options[] = {
    {0, "base", "FILE...", "the baseline traces, up to the next option", GP_OPT_FILES, AT(base)},
    {0, "current", "FILE...", "the traces to compare with the baseline, up to the next option", GP_OPT_FILES,
     AT(current)},
    {0, "by", "kernel|op|range|line", "what to compare (default: kernel)", GP_OPT_CHOICE, AT(by)},
    {0, "mode", "test|simple", "decide with a statistical test, or only by --threshold (default: test)",
     GP_OPT_CHOICE, AT(mode)},
    {0, "threshold", "PCT", "smallest change that counts with --mode simple (default: 5%)", GP_OPT_PERCENT,
     AT(d.threshold_pct)},
    {0, "alpha", "P", "probability of a false finding (default: 0.05)", GP_OPT_PROBABILITY, AT(d.alpha)},
    {0, "gate", "METRIC:LIMIT",
     "fail if METRIC grows by more, such as busy:3% or launches:0; \"op\" is every operation, \"counts\" "
     "every count, \"none\" never fails; may be repeated",
     GP_OPT_LIST, AT(gates)},
    {0, "step-bound", "PCT",
     "smallest change of the step time that fewer than five runs can decide (default: 25%)", GP_OPT_PERCENT,
     AT(d.step_bound_pct)},
    {0, "gate-wall-single", NULL, "let a single run per side break gates on step, idle and host time",
     GP_OPT_FLAG, AT(d.gate_wall_single)},
    {0, "equal-clocks", NULL, "let gates of GPU time look at that at equal clocks", GP_OPT_FLAG,
     AT(d.equal_clocks)},
    {0, "require-power", NULL, "treat an undecidable gate as failed", GP_OPT_FLAG, AT(d.require_power)},
    {0, "expect", "FILE", "check the predictions in FILE", GP_OPT_STRING, AT(expect)},
    {0, "base-step", "TIME", "step time of the baseline without a recorder, for --expect", GP_OPT_DURATION,
     AT(d.base_step_ns)},
    {0, "current-step", "TIME", "the same for the current side", GP_OPT_DURATION, AT(d.current_step_ns)},
    {0, "baseline-dir", "DIR", "folder of the summaries of --save and --against", GP_OPT_STRING,
     AT(asked.folder)},
    {0, "save", "NAME", "save a summary of the current side as NAME, unless it fails", GP_OPT_STRING,
     AT(asked.save)},
    {0, "against", "NAME", "use the summaries saved as NAME as the baseline", GP_OPT_STRING,
     AT(asked.against)},
    {0, "cross-gpu", NULL, "allow different GPUs", GP_OPT_FLAG, AT(d.cross_gpu)},
    {0, "any-work", NULL, "allow another batch or model", GP_OPT_FLAG, AT(d.any_work)},
    GP_OPTIONS_ANALYSIS,
    {0, "whole", NULL, "compare whole traces, without steps", GP_OPT_FLAG, AT(whole)},
    GP_OPTION_TOP("maximum number of rows in long tables, 0 for all (default: 10; HTML: 100)"),
    {0, "view", "waterfall|flame|flame-base", "picture to draw with -f svg (default: waterfall)",
     GP_OPT_CHOICE, AT(view)},
    GP_OPTION_WIDTH,
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct opts *opts;
    struct gp_app app;
    struct gp_profile_opts profile_opts;
    struct gp_comparison c;
};

/* ---- reading ---- */

static int parse_expects(void *expects, const char *text, size_t n, struct gp_err *err)
{
    struct gp_expect_file f = {0};
    int failed = gp_expect_read(&f, text, n, err) || gp_expects_of_file(expects, &f, err);
    gp_expect_file_release(&f);
    return failed;
}

/* A trace, or a summary written by --save. */
static int read_part(void *ctx, size_t i, struct gp_err *err)
{
    struct job *j = ctx;
    struct gp_profile *p = &j->c.parts[i];
    struct gp_trace t;
    struct gp_buf saved = {0};
    gp_profile_init(p, &j->profile_opts);
    int failed =
        gp_app_trace_or(&j->app, i, GP_PROFILE_NEED, &t, gp_profile_is_saved, MAX_SAVED, &saved, err);
    if (!failed && saved.n) {
        failed =
            gp_profile_load(p, saved.data, saved.n, err) ? gp_err_context(err, "%s", j->app.paths[i]) : 0;
    } else if (!failed) {
        gp_app_phase(&j->app, "analysing");
        failed = gp_profile_add_trace(p, &t, err);
        gp_trace_release(&t);
    }
    gp_buf_release(&saved);
    return failed;
}

static int read_all(struct job *j, const struct gp_tool *tool, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_sides_asked asked = o->asked;
    struct gp_read_all all = {.read = read_part, .ctx = j};
    asked.args = (struct gp_paths){tool->args, (size_t)tool->nargs};
    asked.base = (struct gp_paths){o->base.at, o->base.n};
    asked.current = (struct gp_paths){o->current.at, o->current.n};
    if (gp_comparison_open(&j->c, &asked, &(struct gp_paths){o->gates.at, o->gates.n}, err) ||
        gp_app_open(&j->app, tool, &o->app, err) ||
        (o->expect && gp_app_file(o->expect, GP_SMALL_FILE_BYTES, parse_expects, &j->c.expects, err)))
        return -1;
    j->profile_opts = (struct gp_profile_opts){
        .step_marker = o->app.step_marker, .no_steps = o->whole, .classes = j->app.classes};
    gp_app_inputs(&j->app, (const char *const *)j->c.sides.paths, j->c.sides.n);
    return gp_app_read_all(&j->app, &all, err);
}

/* Why the exit status is not 0, unless the text says it; standard output may go where nobody looks. */
static void warn_verdict(const struct job *j)
{
    const struct gp_common_opts *c = &j->opts->app.common;
    struct gp_report r = {0};
    if (!gp_diff_status(&j->c.diff) || (c->quiet && j->c.diff.comparable)) return;
    if (!strcmp(c->format, "text") && !c->output) return;
    gp_diff_summary(&r, &j->c.diff);
    gp_report_lines(r.verdict.at, r.verdict.n, GP_TONE_BAD, gp_cli_say, j->app.tool);
    gp_report_release(&r);
}

static int write_answer(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    const struct gp_answer_format *f = gp_answer_format(gp_diff_formats, o->app.common.format);
    struct gp_buf typed = {0};
    gp_cli_put_given(
        &typed, j->app.tool, o,
        "by mode threshold alpha step-bound gate gate-wall-single equal-clocks require-power cross-gpu "
        "any-work whole step-marker classes");
    struct gp_diff_answer a = {.d = &j->c.diff,
                               .top = gp_answer_rows(f, o->app.top),
                               .color = gp_app_color(&j->app),
                               .width = gp_app_width(&j->app),
                               .view = o->view,
                               .sides = &j->c.sides,
                               .options = gp_buf_str(&typed)};
    int failed = gp_app_answer(&j->app, f, &a, err);
    gp_buf_release(&typed);
    return failed;
}

static int run(struct job *j, const struct gp_tool *tool, int *status, struct gp_err *err)
{
    const struct opts *o = j->opts;
    const struct gp_diff *d = &j->c.diff;
    struct gp_diff_opts opts = o->d;
    opts.by = gp_diff_by_called(o->by);
    opts.mode = !strcmp(o->mode, "simple") ? GP_DIFF_SIMPLE : GP_DIFF_TEST;
    if (read_all(j, tool, err)) return -1;
    if (gp_sides_compare(&j->c.sides)) {
        gp_comparison_run(&j->c, &opts);
        *status = gp_diff_status(d);
        gp_app_describe(&j->app, &d->strings, d->inputs.at, d->inputs.n, d->n_base_inputs);
        gp_app_warn_inputs(&j->app, &d->strings, d->inputs.at, d->inputs.n);
        warn_verdict(j);
        if (write_answer(j, err)) return -1;
    }
    return o->asked.save && !*status ? gp_comparison_save(&j->c, &o->asked, err) : 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-diff",
        .summary = "report what changed between two traces, and whether the change is real",
        .operands = "[BASE CUR]",
        .example = "trace-diff before.json.gz after.json.gz\n"
                   "trace-diff --gate op:5% --gate launches:0 main.trace branch.trace\n"
                   "trace-diff -f html -o diff.html --base a?.trace --current b?.trace\n",
        .options = options,
        .formats = gp_diff_formats,
        .max_operands = -1,
    };
    struct opts o = {.app = {GP_APP_DEFAULTS},
                     .by = "kernel",
                     .mode = "test",
                     .view = "waterfall",
                     .d.step_bound_pct = 25};
    struct gp_err err = {0};
    struct job j = {.opts = &o};
    int status = GP_EXIT_OK, failed = 0;
    if (gp_cli_parse(&tool, argc, argv, &o)) status = tool.status;
    else failed = run(&j, &tool, &status, &err);
    gp_comparison_release(&j.c);
    gp_app_close(&j.app);
    GP_RELEASE(gp_vec_free, &o.base, &o.current, &o.gates);
    return gp_cli_end(&tool, failed, &err, status);
}
