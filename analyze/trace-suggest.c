/* trace-suggest -- a trace in; suggestions, their savings, and the evidence for them, out. */
#include <stdlib.h>
#include <string.h>
#include "analyze/app/app.h"
#include "analyze/app/app_ceilings.h"
#include "analyze/app/app_join.h"
#include "analyze/suggest/suggest.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "render/suggest/suggest_formats.h"

struct opts {
    struct gp_app_opts app;
    struct gp_opt_list rules;
    const char *ceilings, *counters, *fail_on, *expect, *roofline;
    int64_t min_saving_ns, step_time_ns;
    bool list_rules, three_regimes;
};

static const struct gp_option options[] = {
    {0, "rule", "NAME", "apply only this rule; may be repeated", GP_OPT_LIST, offsetof(struct opts, rules)},
    {0, "list-rules", NULL, "list the rules with what they need and their thresholds, and exit", GP_OPT_FLAG,
     offsetof(struct opts, list_rules)},
    {0, "min-saving", "TIME", "omit suggestions that save less per step, such as 50us", GP_OPT_DURATION,
     offsetof(struct opts, min_saving_ns)},
    {0, "step-time", "TIME", "how long a step takes without a recorder (default: estimated)", GP_OPT_DURATION,
     offsetof(struct opts, step_time_ns)},
    {0, "fail-on", "low|medium|high|critical",
     "exit with 1 if a suggestion has this priority or a higher one", GP_OPT_CHOICE,
     offsetof(struct opts, fail_on)},
    {0, "expect", "FILE", "write the expected effect of the changes to FILE, for trace-diff --expect",
     GP_OPT_STRING, offsetof(struct opts, expect)},
    {0, "roofline", "FILE", "write a roofline chart to FILE, as SVG", GP_OPT_STRING,
     offsetof(struct opts, roofline)},
    GP_OPTIONS_ANALYSIS,
    {0, "ceilings", "FILE|none",
     "peak rates of the device, as gpuprof-collect measures them (default: those kept for its model, then "
     "the trace's, then data sheets)",
     GP_OPT_STRING, offsetof(struct opts, ceilings)},
    {0, "counters", "FILE",
     "measured FLOPs and bytes from FILE, a trace of the same program with hardware counters (default: those "
     "in the input)",
     GP_OPT_STRING, offsetof(struct opts, counters)},
    {0, "three-regimes", NULL, "distinguish only overhead, memory and compute", GP_OPT_FLAG,
     offsetof(struct opts, three_regimes)},
    GP_OPTION_TOP("maximum number of kernels listed in JSON, 0 for all (default: 20)"),
    GP_OPTION_ALLOW_EMPTY,
    GP_OPTION_WIDTH,
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct opts *opts;
    const struct gp_answer_format *format;
    struct gp_app app;
    struct gp_ceilings ceilings;
    struct gp_suggest suggest;
    struct gp_buf title;
    const char *input; /* the name of the inputs */
};

/* ---- reading ---- */

static int check_rules(const struct opts *o, struct gp_err *err)
{
    for (size_t i = 0; i < o->rules.n; i++)
        if (!gp_rule_find(o->rules.at[i]))
            return gp_fail(err, GP_E_USAGE, -1, "--rule: no rule \"%s\"; --list-rules lists them",
                           o->rules.at[i]);
    return 0;
}

static int suggest(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_trace t, counters = {0};
    struct gp_app_joined in = {0};
    bool measured = false;
    struct gp_suggest_opts so = {.classes = j->app.classes,
                                 .step_marker = o->app.step_marker,
                                 .rules = o->rules.at,
                                 .n_rules = o->rules.n,
                                 .min_saving_ns = o->min_saving_ns,
                                 .unprofiled_ns = o->step_time_ns};
    int failed = gp_app_join(&j->app, GP_SUGGEST_NEED, &t, &in, err);
    if (failed) {
        gp_app_joined_release(&in);
        return -1;
    }
    if (o->counters) so.counters = &counters;
    if (o->counters) failed = gp_app_counters(&j->app, o->counters, &counters, err);
    const char *device = t.devices.n ? gp_trace_str(&t, t.devices.at[0].name) : "";
    failed = failed || gp_app_ceilings(&j->app, o->ceilings, device, &j->ceilings, &measured, err);
    if (measured) so.ceilings = &j->ceilings;
    gp_suggest_init(&j->suggest, &so);
    gp_app_phase(&j->app, "analysing");
    failed = failed || gp_app_check_empty(&j->app, t.events[GP_GPU].n, gp_trace_truncated(&t), err) ||
             gp_suggest_run(&j->suggest, &t, err);
    gp_app_phase(&j->app, NULL);
    gp_suggest_set_inputs(&j->suggest, in.inputs.at, in.inputs.n, &in.strings);
    gp_trace_release(&t);
    gp_trace_release(&counters);
    gp_app_joined_release(&in);
    gp_app_put_title(&j->app, &j->title);
    j->input = gp_buf_str(&j->title);
    return failed;
}

/* ---- writing ---- */

static int write_answer(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_buf b = {0};
    gp_cli_put_given(&b, j->app.tool, o,
                     "rule min-saving step-time step-marker classes ceilings counters three-regimes top");
    struct gp_suggest_answer a = {.s = &j->suggest,
                                  .top = gp_answer_rows(j->format, o->app.top),
                                  .three_regimes = o->three_regimes,
                                  .color = gp_app_color(&j->app),
                                  .width = gp_app_width(&j->app),
                                  .verbose = o->app.common.verbose,
                                  .input = j->input,
                                  .options = gp_buf_str(&b)};
    int failed = gp_app_answer(&j->app, j->format, &a, err);
    gp_buf_release(&b);
    if (!failed && o->expect) {
        gp_suggest_expect_write(&b, &j->suggest);
        failed = gp_answer_file(o->expect, &b, err);
    }
    if (!failed && o->roofline) {
        gp_roofline_svg(&b, &j->suggest.roofline, &j->suggest.strings, j->input);
        failed = gp_answer_file(o->roofline, &b, err);
    }
    return failed;
}

static int list_rules(const struct opts *o, struct gp_err *err)
{
    struct gp_buf b = {0};
    gp_suggest_rules_write(&b);
    return gp_answer_file(o->app.common.output, &b, err);
}

static enum gp_priority priority_of(const char *name)
{
    enum gp_priority p = GP_PRIORITY_LOW;
    while (p < GP_PRIORITY_CRITICAL && strcmp(gp_priority_name(p), name) != 0) p++;
    return p;
}

static int run(struct job *j, const struct gp_tool *tool, int *status, struct gp_err *err)
{
    const struct opts *o = j->opts;
    const struct gp_suggest *s = &j->suggest;
    if (o->list_rules) return list_rules(o, err);
    j->format = gp_answer_format(gp_suggest_formats, o->app.common.format);
    if (check_rules(o, err) || gp_app_open(&j->app, tool, &o->app, err) || suggest(j, err)) return -1;
    size_t inputs;
    const struct gp_input_quality *in = gp_suggest_inputs(s, &inputs);
    gp_app_warn_inputs(&j->app, &s->strings, in, inputs);
    if (write_answer(j, err)) return -1;
    if (o->fail_on && s->suggestions.n && s->suggestions.at[0].priority >= priority_of(o->fail_on))
        *status = GP_EXIT_FINDING;
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-suggest",
        .summary = "suggest what to do next, how much it would save, and why",
        .operands = "[FILE...]",
        .example = "trace-suggest trace.json.gz\n"
                   "trace-suggest rank*.json.gz\n"
                   "gpuprof-collect ./app | trace-suggest -v\n"
                   "trace-suggest -f html -o suggestions.html app.trace\n"
                   "trace-suggest -f dot trace.json.gz | dot -Tsvg -o chains.svg\n"
                   "trace-suggest --rule cuda_graph --expect graph.json before.trace\n",
        .options = options,
        .formats = gp_suggest_formats,
        .max_operands = -1,
        .stdin_default = true,
    };
    struct opts o = {.app = {GP_APP_DEFAULTS}};
    struct gp_err err = {0};
    struct job j = {.opts = &o};
    int status = GP_EXIT_OK, failed = 0;
    if (gp_cli_parse(&tool, argc, argv, &o)) status = tool.status;
    else failed = run(&j, &tool, &status, &err);
    gp_suggest_release(&j.suggest);
    gp_buf_release(&j.title);
    gp_app_close(&j.app);
    GP_VEC_FREE(&o.rules);
    return gp_cli_end(&tool, failed, &err, status);
}
