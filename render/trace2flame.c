/* trace2flame -- any GPU trace, or folded stacks, in; a flame graph out. */
#include <string.h>
#include "analyze/app/app.h"
#include "analyze/app/app_join.h"
#include "analyze/stacks/stacks.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/folded_read.h"
#include "render/flame/flame_formats.h"

enum { SNIFF = 4096, MOST_FRAMES = 1000000, MIN_WIDTH = 320, MAX_WIDTH = 32768 };

struct opts {
    struct gp_app_opts app;
    const char *weight, *title; /* NULL: not given */
    struct gp_stacks_opts s;    /* of it, members with options of their own */
    uint64_t max_depth, max_frames, width;
};

static const struct gp_option options[] = {
    {'w', "weight", "gpu|cpu|count|bytes|idle|stalls",
     "width of a frame: GPU time, CPU time, number of GPU events, bytes moved, GPU idle time by cause, "
     "samples of stalled warps by line and reason (default: gpu)",
     GP_OPT_CHOICE, offsetof(struct opts, weight)},
    {0, "filter", "REGEX", "draw only stacks with a frame that matches (POSIX extended)", GP_OPT_STRING,
     offsetof(struct opts, s.filter)},
    {'i', "ignore-case", NULL, "ignore case in the filter", GP_OPT_FLAG,
     offsetof(struct opts, s.filter_ignore_case)},
    {0, "min-duration", "TIME", "group GPU events shorter than TIME, such as 10us", GP_OPT_DURATION,
     offsetof(struct opts, s.min_duration_ns)},
    {0, "max-depth", "N", "draw at most N levels; deeper frames count towards the last one (default: 0, all)",
     GP_OPT_UINT, offsetof(struct opts, max_depth)},
    {0, "group-small", "PCT", "group siblings below PCT percent of the whole", GP_OPT_PERCENT,
     offsetof(struct opts, s.group_small_pct)},
    {0, "invert", NULL, "leaves first: which stacks lead to each kernel", GP_OPT_FLAG,
     offsetof(struct opts, s.invert)},
    {0, "raw", NULL, "names as recorded, and every Python frame", GP_OPT_FLAG, offsetof(struct opts, s.raw)},
    {0, "show-api", NULL, "show runtime calls (cudaLaunchKernel and the like) as frames", GP_OPT_FLAG,
     offsetof(struct opts, s.show_api)},
    {0, "show-glue", NULL, "show Python frames that only pass on calls", GP_OPT_FLAG,
     offsetof(struct opts, s.show_python_glue)},
    GP_OPTION_WHOLE,
    GP_OPTIONS_ANALYSIS,
    {0, "title", "TEXT", "heading of the picture", GP_OPT_STRING, offsetof(struct opts, title)},
    {0, "width", "PIXELS", "width of the picture (default: 0, the window's width, or 1200 without scripts)",
     GP_OPT_UINT, offsetof(struct opts, width)},
    {0, "max-frames", "N", "draw at most N boxes, the widest (default: 5000; HTML on paper: 1000)",
     GP_OPT_UINT, offsetof(struct opts, max_frames)},
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct opts *opts;
    const struct gp_answer_format *format;
    struct gp_app app;
    struct gp_stacks *stacks[GP_FLAME_WEIGHTS];
    struct gp_flame flames[GP_FLAME_WEIGHTS];
    struct gp_flame_answer answer;
};

/* ---- reading ---- */

static int open_stacks(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    enum gp_weight weights[GP_FLAME_WEIGHTS];
    unsigned needs = j->format->needs;
    j->answer.weight = o->weight;
    j->answer.n = gp_flame_weights(j->format, o->weight, weights);
    for (size_t i = 0; i < j->answer.n; i++) {
        struct gp_stacks_opts so = o->s;
        so.weight = weights[i];
        so.max_depth = o->max_depth < UINT32_MAX ? (uint32_t)o->max_depth : UINT32_MAX;
        so.invert = so.invert && !(needs & GP_FLAME_TURNS);
        so.extra = needs & GP_FLAME_EXTRA && weights[i] == GP_WEIGHT_GPU;
        so.places = needs & GP_FLAME_PLACES;
        so.classes = j->app.classes;
        so.steps = needs & GP_FLAME_STEPS && !o->app.whole;
        so.step_marker = o->app.step_marker;
        j->stacks[i] = gp_stacks_new(&so, err);
        if (!j->stacks[i]) return -1;
    }
    return 0;
}

static int add_trace(struct job *j, struct gp_input *in, struct gp_err *err)
{
    struct gp_trace t;
    if (gp_app_trace_input(&j->app, in, GP_STACKS_NEED, &t, err)) return -1;
    j->answer.damaged |= gp_app_warn_issues(&j->app, &t);
    int failed = gp_app_check_usable(&t, err);
    bool host = j->opts->weight && !strcmp(j->opts->weight, "cpu");
    if (!failed && !host) gp_app_warn_empty(&j->app, &t, "; --weight cpu draws the time of the host");
    if (!failed) gp_app_phase(&j->app, "analysing");
    if (!failed) failed = gp_stacks_add_trace(j->stacks, j->answer.n, &t, j->app.n > 1, err);
    j->answer.traces = true;
    failed = failed || gp_flame_untimed(&j->answer, j->format, &t, err);
    gp_trace_release(&t);
    return failed;
}

static void on_stack(void *ctx, const char *stack, size_t n, int64_t weight)
{
    gp_stacks_add_folded(ctx, stack, n, weight);
}

static int add_folded(struct job *j, struct gp_input *in, struct gp_err *err)
{
    j->answer.folded = true;
    return gp_app_folded(&j->app, in, on_stack, j->stacks[0], &j->answer.damaged, err);
}

/* Inputs are read one by one: their stacks meet in one tree. */
static int read_input(void *ctx, size_t i, struct gp_err *err)
{
    struct job *j = ctx;
    struct gp_input *in = gp_input_open(j->app.paths[i], j->app.threads.each, err);
    size_t n;
    if (!in) return -1;
    const uint8_t *head = gp_input_peek(in, SNIFF, &n);
    int failed = gp_folded_sniff(head, n) ? add_folded(j, in, err) : add_trace(j, in, err);
    gp_input_close(in);
    return failed;
}

/* ---- writing ---- */

static int write_answer(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_flame_answer *a = &j->answer;
    struct gp_buf inputs = {0}, stats = {0};
    size_t most = j->format->needs & GP_FLAME_LIMITED ? gp_answer_rows(j->format, o->max_frames) : 0;
    for (size_t i = 0; i < a->n; i++) {
        gp_stacks_finish(j->stacks[i], most, &j->flames[i]);
        j->stacks[i] = NULL;
    }
    gp_flame_put_stats(&stats, &j->flames[0]);
    if (o->s.filter && j->flames[0].tree.nodes.n < 2 && j->flames[0].stats.filtered && !o->app.common.quiet)
        gp_cli_warn(j->app.tool, "--filter: no frame matches '%s', so the picture is empty", o->s.filter);
    if (o->app.common.verbose) gp_cli_say(j->app.tool, gp_buf_str(&stats));
    gp_buf_release(&stats);
    gp_app_put_title(&j->app, &inputs);
    a->flames = j->flames;
    a->title = o->title;
    a->inputs = gp_buf_str(&inputs);
    a->invert = o->s.invert;
    a->width = o->width;
    a->max_frames = o->max_frames;
    int failed = gp_app_answer(&j->app, j->format, a, err);
    for (size_t i = 0; i < a->n; i++) gp_flame_release(&j->flames[i]);
    gp_buf_release(&inputs);
    return failed;
}

static int check_opts(const struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    if (o->width && (o->width < MIN_WIDTH || o->width > MAX_WIDTH))
        return gp_fail(err, GP_E_USAGE, -1, "--width: must be between %d and %d", MIN_WIDTH, MAX_WIDTH);
    if (o->max_frames != GP_ROWS_UNSET && (o->max_frames < 2 || o->max_frames > MOST_FRAMES))
        return gp_fail(err, GP_E_USAGE, -1, "--max-frames: must be between 2 and %d", MOST_FRAMES);
    return gp_answer_check(gp_flame_formats, j->format, GP_FLAME_TAKES_GROUPS,
                           o->s.group_small_pct > 0 ? "--group-small" : NULL, err);
}

static int run(struct job *j, const struct gp_tool *tool, struct gp_err *err)
{
    struct gp_read_all all = {.workers = 1, .read = read_input, .ctx = j};
    j->format = gp_answer_format(gp_flame_formats, j->opts->app.common.format);
    if (check_opts(j, err) || gp_app_open(&j->app, tool, &j->opts->app, err) || open_stacks(j, err) ||
        gp_app_read_all(&j->app, &all, err))
        return -1;
    return write_answer(j, err);
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace2flame",
        .summary = "draw a GPU trace as a flame graph",
        .operands = "[FILE...]",
        .example = "gpuprof-collect ./app | trace2flame > flame.svg\n"
                   "trace2flame --weight count -o launches.svg kineto.json.gz\n"
                   "trace2flame -f folded rank0.trace rank1.trace > stacks.folded\n",
        .options = options,
        .formats = gp_flame_formats,
        .max_operands = -1,
        .stdin_default = true,
    };
    struct opts o = {.app = {GP_APP_DEFAULTS}, .max_frames = GP_ROWS_UNSET};
    struct job j = {.opts = &o};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    int failed = run(&j, &tool, &err);
    for (size_t i = 0; i < GP_FLAME_WEIGHTS; i++) gp_stacks_free(j.stacks[i]);
    gp_app_close(&j.app);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
