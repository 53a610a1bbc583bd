/* trace2timeline -- any GPU trace in; a timeline to look at out. */
#include <string.h>
#include "analyze/app/app.h"
#include "analyze/app/app_join.h"
#include "analyze/hta/hta.h"
#include "analyze/tracks/tracks.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "render/timeline/timeline_formats.h"

enum { MIN_WIDTH = 480, MAX_WIDTH = 32768 };

struct opts {
    struct gp_app_opts app;
    const char *range, *steps, *detail, *title;
    uint64_t max_size, width;
    bool no_args;
};

static const struct gp_option options[] = {
    {'r', "range", "FROM-TO", "show only this time after the first event, such as 12ms-14ms", GP_OPT_STRING,
     offsetof(struct opts, range)},
    {'s', "steps", "N|N-M", "show only these steps, by the numbers in their names", GP_OPT_STRING,
     offsetof(struct opts, steps)},
    GP_OPTION_WHOLE,
    {0, "max-size", "SIZE", "maximum page size; beyond it, events are summarised (default: 64M)", GP_OPT_UINT,
     offsetof(struct opts, max_size)},
    {0, "detail", "LIST",
     "where a page beyond its size keeps all events: steps:N, gaps:N, FROM-TO (default: steps:20,gaps:200)",
     GP_OPT_STRING, offsetof(struct opts, detail)},
    {0, "no-args", NULL, "omit recorded arguments: names and times only", GP_OPT_FLAG,
     offsetof(struct opts, no_args)},
    GP_OPTIONS_ANALYSIS,
    {0, "title", "TEXT", "heading of the page or picture", GP_OPT_STRING, offsetof(struct opts, title)},
    {0, "width", "PIXELS", "width of the SVG picture (default: 0, that is 1200)", GP_OPT_UINT,
     offsetof(struct opts, width)},
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct opts *opts;
    const struct gp_answer_format *format;
    struct gp_app app;
    struct gp_trace t;
    struct gp_view v;
    struct gp_hta h;
    struct gp_tracks l;
    struct gp_timeline_windows windows;
    struct gp_timeline_answer answer;
    struct gp_buf input; /* the name of the inputs */
};

static int read_input(struct job *j, struct gp_err *err)
{
    unsigned needs = j->format->needs;
    uint32_t extra = needs & GP_TIMELINE_ARGS && !j->opts->no_args ? GP_NEED_EXTRA : 0;
    uint32_t need = needs & GP_TIMELINE_ALL ? GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES : GP_TRACKS_NEED | extra;
    struct gp_app_joined in = {0};
    j->app.read = gp_app_trace_or_snapshot;
    int failed = gp_app_join(&j->app, need, &j->t, &in, err);
    if (!failed && j->app.n == 1) gp_app_warn_issues(&j->app, &j->t);
    else if (!failed) gp_app_warn_inputs(&j->app, &in.strings, in.inputs.at, in.inputs.n);
    gp_app_joined_release(&in);
    if (failed) return -1;
    if (!gp_app_check_usable(&j->t, err)) return 0;
    gp_trace_release(&j->t);
    return -1;
}

/* What to show, and where all of it, in times. */
static int find_windows(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_timeline_window *view = &j->answer.view;
    int64_t origin = gp_tracks_origin(&j->t);
    if (o->steps && gp_timeline_steps(view, o->steps, &j->h, err)) return -1;
    if (o->range && (gp_timeline_range(view, "range", o->range, strlen(o->range), origin, err) ||
                     gp_timeline_check_range(view, o->range, &j->t, err)))
        return -1;
    gp_app_warn_marker(&j->app, j->h.steps.n);
    bool part = !o->range && !o->steps && !o->app.whole;
    if (part && (j->t.events[GP_GPU].n ? !gp_timeline_all_steps(&j->answer.open, &j->h)
                                       : !gp_timeline_named_steps(&j->answer.open, &j->t)))
        gp_timeline_all_events(&j->answer.open, &j->t);
    gp_tracks_build(&j->l, &j->v, &j->h, &(struct gp_tracks_opts){view->begin_ns, view->end_ns});
    if (!(j->format->needs & GP_TIMELINE_DETAIL)) return 0;
    return gp_timeline_detail(&j->windows, o->detail, &j->l, &j->h, origin, err);
}

static void warn_left_out(const struct job *j)
{
    const struct gp_timeline_answer *a = &j->answer;
    if (a->overview)
        gp_cli_warn(j->app.tool,
                    "%s: %zu of %zu events are in the page, the others only in its overview: see --max-size "
                    "and --detail",
                    a->input, a->shown, j->l.n);
    else if (a->args_left_out)
        gp_cli_warn(j->app.tool, "%s: recorded args do not fit and are omitted: see --max-size", a->input);
}

static int write_answer(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_timeline_answer *a = &j->answer;
    struct gp_buf line = {0}, facts = {0};
    a->t = &j->t;
    a->v = &j->v;
    a->l = &j->l;
    a->windows = &j->windows;
    gp_app_put_title(&j->app, &j->input);
    a->input = gp_buf_str(&j->input);
    a->title = o->title;
    a->max_bytes = o->max_size;
    a->args = !o->no_args;
    a->threads = j->app.threads.each;
    a->width = (int)o->width;
    gp_timeline_put_activity(&facts, a);
    gp_timeline_put_stats(&line, &j->l);
    if (o->app.common.verbose) gp_cli_say(j->app.tool, gp_buf_str(&line));
    int failed = gp_app_answer(&j->app, j->format, a, err);
    if (!failed && !j->l.n && o->range && !o->app.common.quiet)
        gp_cli_warn(j->app.tool, "--range: %s: nothing was recorded there", o->range);
    if (!failed) gp_app_warn_empty(&j->app, &j->t, NULL);
    if (!failed && !o->app.common.quiet) {
        warn_left_out(j);
        gp_cli_warn(j->app.tool, "%s: %s", a->input, gp_buf_str(&facts));
    }
    GP_RELEASE(gp_buf_release, &line, &j->input, &facts);
    return failed;
}

static int draw(struct job *j, struct gp_err *err)
{
    struct gp_hta_opts o = {.step_marker = j->opts->app.step_marker,
                            .classes = j->app.classes,
                            .per_step = true,
                            .threads = j->app.threads.each};
    if (read_input(j, err)) return -1;
    gp_app_phase(&j->app, "analysing");
    gp_hta_init(&j->h, &o);
    int failed = gp_hta_add_viewed(&j->h, &j->t, &j->v, err);
    if (!failed) gp_hta_finish(&j->h);
    gp_app_phase(&j->app, NULL);
    if (!failed) failed = find_windows(j, err) || write_answer(j, err);
    gp_tracks_release(&j->l);
    GP_VEC_FREE(&j->windows);
    gp_view_release(&j->v);
    gp_hta_release(&j->h);
    gp_trace_release(&j->t);
    return failed;
}

static int check_opts(const struct opts *o, struct gp_err *err)
{
    if (o->width && (o->width < MIN_WIDTH || o->width > MAX_WIDTH))
        return gp_fail(err, GP_E_USAGE, -1, "--width: must be between %d and %d", MIN_WIDTH, MAX_WIDTH);
    if (o->range && o->steps) return gp_fail(err, GP_E_USAGE, -1, "use one of --range and --steps");
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace2timeline",
        .summary = "draw a GPU trace as a timeline",
        .operands = "[FILE...]",
        .example = "gpuprof-collect ./app | trace2timeline > timeline.html\n"
                   "trace2timeline -o ranks.html rank*.json.gz\n"
                   "trace2timeline --steps 3-5 -o steps.html kineto.json.gz\n"
                   "trace2timeline -f svg --range 12ms-14ms app.trace > range.svg\n",
        .options = options,
        .formats = gp_timeline_formats,
        .max_operands = -1,
        .stdin_default = true,
    };
    struct opts o = {.app = {GP_APP_DEFAULTS}, .max_size = (uint64_t)64 << 20, .detail = "steps:20,gaps:200"};
    struct job j = {.opts = &o};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    j.format = gp_answer_format(gp_timeline_formats, o.app.common.format);
    int failed = check_opts(&o, &err) || gp_app_open(&j.app, &tool, &o.app, &err) || draw(&j, &err);
    gp_app_close(&j.app);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
