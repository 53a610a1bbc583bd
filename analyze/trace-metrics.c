/* trace-metrics -- a trace with hardware counters or samples of program counters in; the activity of the
 * hardware by kernel, range or launch, and why kernels stall, out. */
#include <string.h>
#include "analyze/app/app.h"
#include "analyze/app/app_ceilings.h"
#include "analyze/app/app_code.h"
#include "analyze/app/app_join.h"
#include "analyze/metrics/metrics.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "render/metrics/metrics_formats.h"

struct opts {
    struct gp_app_opts app; /* first */
    const char *per, *metric, *reduce, *sort, *join, *counters, *ceilings, *source, *sass;
    bool wide;
};

static const struct gp_option options[] = {
    {0, "per", "kernel|range|launch",
     "one row per kernel with its grid and block, per range, or per launch (default: kernel)", GP_OPT_CHOICE,
     offsetof(struct opts, per)},
    {0, "metric", "NAME[,NAME...]", "list every value of only these metrics, named with or without rollup",
     GP_OPT_STRING, offsetof(struct opts, metric)},
    {0, "reduce", "sum|mean|min|max", "report only this statistic of each metric; percentages have no sum",
     GP_OPT_CHOICE, offsetof(struct opts, reduce)},
    {0, "sort", "METRIC", "sort by this metric, largest first (default: GPU time)", GP_OPT_STRING,
     offsetof(struct opts, sort)},
    {0, "wide", NULL, "a column per metric instead of a line per value", GP_OPT_FLAG,
     offsetof(struct opts, wide)},
    {0, "join", "FILE", "read times from FILE, a trace of the same program without counters", GP_OPT_STRING,
     offsetof(struct opts, join)},
    {0, "counters", "FILE",
     "narrow what mending stalls saves by FILE, a trace of the same program recorded with --metrics why",
     GP_OPT_STRING, offsetof(struct opts, counters)},
    {0, "ceilings", "FILE|none",
     "draw the roofline of the page below these rates, as gpuprof-measure --calibrate measures them "
     "(default: those kept for the device, then the peaks that the counters report)",
     GP_OPT_STRING, offsetof(struct opts, ceilings)},
    {0, "source", "DIR", "show the code beside stalls on the page: of files that the trace names, below DIR",
     GP_OPT_STRING, offsetof(struct opts, source)},
    {0, "sass", "FILE",
     "show the instructions of kernels without lines: FILE is a listing of nvdisasm or cuobjdump, or the "
     "cubin, program or library for these",
     GP_OPT_STRING, offsetof(struct opts, sass)},
    GP_OPTION_TOP("maximum number of rows, 0 for all (default: 20 in text, 500 in HTML)"),
    GP_OPTION_WIDTH,
    GP_OPTIONS_COMMON,
    {0},
};

static enum gp_metrics_per per_of(const char *word)
{
    if (!strcmp(word, "range")) return GP_METRICS_PER_RANGE;
    return strcmp(word, "launch") != 0 ? GP_METRICS_PER_KERNEL : GP_METRICS_PER_LAUNCH;
}

static int reduce_of(const char *word)
{
    static const char *const words[] = {"sum", "mean", "max", "min"};
    for (int i = 0; word && i < 4; i++)
        if (!strcmp(word, words[i])) return i;
    return -1;
}

/* A trace without counters is nothing to report on, and the way to get some is not obvious. */
static int check(const struct gp_trace *t, const struct gp_metrics *m, const struct opts *o,
                 struct gp_err *err)
{
    if (!t->events[GP_METRIC].n && !t->events[GP_PC].n)
        return gp_fail(err, GP_E_FORMAT, -1,
                       "no hardware counters per kernel or range in this trace: record it with "
                       "gpuprof-collect --metrics basic, or --pc-sample for stalls");
    if (!m->groups.n && t->events[GP_METRIC].n)
        return gp_fail(err, GP_E_USAGE, -1, "--per %s: the counters of this trace were read per %s", o->per,
                       strcmp(o->per, "range") ? "range" : "kernel");
    return 0;
}

static int join(struct gp_app *f, const char *path, const struct gp_trace *counters, struct gp_metrics *m,
                struct gp_err *err)
{
    struct gp_trace t;
    gp_app_inputs(f, &path, 1);
    if (gp_app_trace(f, 0, GP_METRICS_TIMING_NEED, &t, err)) return -1;
    gp_app_warn_issues(f, &t);
    gp_metrics_join(m, counters, &t);
    gp_trace_release(&t);
    return 0;
}

static int write_answer(struct gp_app *f, const struct opts *o, const struct gp_answer_format *format,
                        const struct gp_metrics *m, const struct gp_ceilings *measured,
                        const struct gp_app_code *code, const char *title, struct gp_err *err)
{
    struct gp_buf typed = {0};
    gp_cli_put_given(&typed, f->tool, o, "per metric reduce sort join counters ceilings source sass top");
    struct gp_metrics_answer a = {.m = m,
                                  .measured = measured,
                                  .input = title,
                                  .options = typed.n ? gp_buf_str(&typed) : NULL,
                                  .reduce = reduce_of(o->reduce),
                                  .wide = o->wide,
                                  .values = o->metric != NULL,
                                  .code = code->all.at,
                                  .code_n = code->all.n,
                                  .top = gp_answer_rows(format, o->app.top),
                                  .color = gp_app_color(f),
                                  .width = gp_app_width(f)};
    int failed = gp_app_answer(f, format, &a, err);
    gp_buf_release(&typed);
    return failed;
}

static int run(struct gp_app *f, const struct opts *o, struct gp_err *err)
{
    const struct gp_answer_format *format = gp_answer_format(gp_metrics_formats, o->app.common.format);
    const char *input = f->paths[0];
    struct gp_buf title = {0};
    struct gp_metrics m = {0};
    struct gp_ceilings ceilings;
    struct gp_app_code code = {0};
    bool measured = false;
    struct gp_trace t, counters = {0};
    struct gp_metrics_opts mo = {
        .per = per_of(o->per), .only = o->metric, .sort = o->sort, .top = gp_answer_rows(format, o->app.top)};
    if ((o->wide && gp_answer_check(gp_metrics_formats, format, GP_METRICS_TAKES_WIDE, "--wide", err)) ||
        (o->reduce &&
         gp_answer_check(gp_metrics_formats, format, GP_METRICS_TAKES_REDUCE, "--reduce", err)) ||
        (o->ceilings &&
         gp_answer_check(gp_metrics_formats, format, GP_METRICS_TAKES_CEILINGS, "--ceilings", err)) ||
        ((o->source || o->sass) && gp_answer_check(gp_metrics_formats, format, GP_METRICS_TAKES_CODE,
                                                   o->source ? "--source" : "--sass", err)))
        return -1;
    if (o->counters && gp_app_counters(f, o->counters, &counters, err)) return -1;
    if (o->counters) mo.counters = &counters;
    if (gp_app_trace(f, 0, GP_METRICS_NEED, &t, err)) {
        gp_trace_release(&counters);
        return -1;
    }
    gp_app_warn_issues(f, &t);
    gp_app_put_title(f, &title);
    gp_app_phase(f, "analysing");
    int failed = t.events[GP_METRIC].n || t.events[GP_PC].n ? gp_metrics_of(&m, &t, &mo, err) : 0;
    failed = failed || check(&t, &m, o, err);
    if (failed) gp_err_context(err, "%s", input);
    if (!failed && o->join) failed = join(f, o->join, &t, &m, err);
    const char *device = t.devices.n ? gp_trace_str(&t, t.devices.at[0].name) : "";
    if (!failed && (format->needs & GP_METRICS_TAKES_CEILINGS))
        failed = gp_app_ceilings(f, o->ceilings, device, &ceilings, &measured, err);
    if (!failed) failed = gp_app_code(&code, &t, &m.stalls, o->source, o->sass, err);
    gp_trace_release(&t);
    gp_trace_release(&counters);
    if (!failed)
        failed = write_answer(f, o, format, &m, measured ? &ceilings : NULL, &code, gp_buf_str(&title), err);
    gp_app_code_release(&code);
    gp_buf_release(&title);
    gp_metrics_release(&m);
    return failed;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-metrics",
        .summary = "report the hardware counters of kernels and ranges in a trace, and why kernels stall",
        .operands = "[FILE]",
        .example = "gpuprof-collect --metrics basic -o app.trace ./app && trace-metrics app.trace\n"
                   "trace-metrics --per range --top 0 app.trace\n"
                   "trace-metrics -f csv --wide --join timing.trace app.trace > app.csv\n",
        .options = options,
        .formats = gp_metrics_formats,
        .max_operands = 1,
        .stdin_default = true};
    struct opts o = {.app = {GP_APP_DEFAULTS}, .per = "kernel"};
    struct gp_app f = {0};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    int failed = gp_app_open(&f, &tool, &o.app, &err) || run(&f, &o, &err);
    gp_app_close(&f);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
