/* trace-hta -- traces of one GPU or a thousand in; where the time went out. */
#include <stdlib.h>
#include <string.h>
#include "analyze/front/front.h"
#include "analyze/hta/hta.h"
#include "render/hta/hta_formats.h"
#include "render/hta/hta_tables.h"
#include "render/hta/hta_verdict.h"

#define MAX_PARTIAL ((size_t)1 << 28)

struct opts {
    struct gp_front_opts front;
    const char *table, *repair, *save_partial, *flame, *timeline;
    bool steps, merge;
};

static const struct gp_option options[] = {
    GP_OPTION_TOP("maximum number of rows in long tables, 0 for all (default: 10; HTML: 100; CSV: all)"),
    {'t', "table", "NAME", "print only this table; \"help\" lists them (default for CSV: kernels)",
     GP_OPT_STRING, offsetof(struct opts, table)},
    {'s', "steps", NULL, "include figures for every step", GP_OPT_FLAG, offsetof(struct opts, steps)},
    GP_OPTION_WHOLE,
    {0, "repair", "clip|drop|none", "what to do with impossible times: fix, drop, or keep (default: none)",
     GP_OPT_CHOICE, offsetof(struct opts, repair)},
    GP_OPTIONS_ANALYSIS,
    {0, "flame", "FILE", "trace2flame page that the findings of an HTML report link to", GP_OPT_STRING,
     offsetof(struct opts, flame)},
    {0, "timeline", "FILE", "trace2timeline page that the findings of an HTML report link to", GP_OPT_STRING,
     offsetof(struct opts, timeline)},
    GP_OPTION_ALLOW_EMPTY,
    {0, "save-partial", "FILE", "write a partial result for --merge to FILE, and no report", GP_OPT_STRING,
     offsetof(struct opts, save_partial)},
    {0, "merge", NULL, "treat operands as files written by --save-partial", GP_OPT_FLAG,
     offsetof(struct opts, merge)},
    GP_OPTION_WIDTH,
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct opts *opts;
    const struct gp_answer_format *format;
    struct gp_front front;
    struct gp_hta_opts hta_opts;
    struct gp_hta h, *parts; /* a part for each input */
};

/* ---- reading ---- */

static int load_partial(void *h, const char *bytes, size_t n, struct gp_err *err)
{
    return gp_hta_load(h, bytes, n, err);
}

static int read_part(void *ctx, size_t i, struct gp_err *err)
{
    struct job *j = ctx;
    struct gp_trace t;
    gp_hta_init(&j->parts[i], &j->hta_opts);
    if (j->opts->merge)
        return gp_front_saved(j->front.paths[i], gp_hta_is_saved, MAX_PARTIAL, load_partial, &j->parts[i],
                              err);
    if (gp_front_trace(&j->front, i, GP_HTA_NEED, &t, err)) return -1;
    int failed = gp_hta_add_trace(&j->parts[i], &t, err);
    gp_trace_release(&t);
    return failed;
}

static void drop_part(void *ctx, size_t i)
{
    struct job *j = ctx;
    gp_hta_release(&j->parts[i]);
}

static void merge_part(void *ctx, size_t i)
{
    struct job *j = ctx;
    gp_hta_merge(&j->h, &j->parts[i]);
    drop_part(j, i);
}

static int read_inputs(struct job *j, struct gp_err *err)
{
    struct gp_read_all all = {.read = read_part, .merge = merge_part, .drop = drop_part, .ctx = j};
    j->parts = gp_zalloc(j->front.n * sizeof *j->parts);
    int failed = gp_front_read_all(&j->front, &all, err);
    free(j->parts);
    return failed;
}

/* ---- writing ---- */

static int write_answer(const struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_buf typed = {0};
    gp_cli_put_given(&typed, j->front.tool, o, "top whole step-marker repair classes");
    struct gp_hta_answer a = {.h = &j->h,
                              .top = gp_answer_rows(j->format, o->front.top),
                              .steps = o->steps,
                              .whole = o->front.whole,
                              .color = gp_front_color(&j->front),
                              .width = gp_front_width(&j->front),
                              .table = o->table,
                              .options = gp_buf_str(&typed),
                              .flame = o->flame,
                              .timeline = o->timeline};
    int failed = gp_answer_write(j->format, &a, o->front.common.output, err);
    if (a.empty && !o->front.common.quiet) gp_cli_warn(j->front.tool, "%s: this table is empty", a.table);
    gp_buf_release(&typed);
    return failed;
}

/* Unless the text itself says it. */
static void warn_quality(const struct job *j)
{
    struct gp_report r = {0};
    if (j->opts->front.common.quiet || (gp_front_is_terminal(&j->front) && !j->opts->table)) return;
    gp_hta_say_quality(&r, &j->h, true);
    gp_report_lines(r.quality.at, r.quality.n, GP_TONE_PLAIN, gp_cli_say, j->front.tool);
    gp_report_release(&r);
}

static int analyze(struct job *j, struct gp_err *err)
{
    struct gp_buf partial = {0};
    if (read_inputs(j, err)) return -1;
    gp_front_describe(&j->front, &j->h.strings, j->h.inputs.at, j->h.inputs.n, 0);
    if (j->opts->save_partial) {
        gp_hta_save(&j->h, &partial);
        return gp_answer_file(j->opts->save_partial, &partial, err);
    }
    gp_hta_finish(&j->h);
    warn_quality(j);
    gp_front_warn_marker(&j->front, j->h.steps.n);
    return gp_front_check_inputs(&j->front, j->h.inputs.at, j->h.inputs.n, err) ? -1 : write_answer(j, err);
}

/* ---- options ---- */

static int list_tables(struct gp_err *err)
{
    struct gp_buf b = {0};
    for (size_t i = 0; gp_hta_table_id(i); i++) gp_buf_printf(&b, "%s\n", gp_hta_table_id(i));
    return gp_answer_file(NULL, &b, err);
}

static int check_opts(const struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    if (o->table && !gp_hta_has_table(o->table))
        return gp_fail(err, GP_E_USAGE, -1, "--table: no table \"%s\"; --table help lists them", o->table);
    if (o->save_partial && o->front.common.output)
        return gp_fail(err, GP_E_USAGE, -1, "--save-partial writes no report, so --output does not apply");
    const char *link = o->flame ? "--flame" : o->timeline ? "--timeline" : NULL;
    if (gp_answer_check(gp_hta_formats, j->format, GP_HTA_TAKES_TABLE, o->table ? "--table" : NULL, err))
        return -1;
    return gp_answer_check(gp_hta_formats, j->format, GP_HTA_TAKES_LINKS, link, err);
}

static int run(struct job *j, const struct gp_tool *tool, struct gp_err *err)
{
    const struct opts *o = j->opts;
    if (o->table && !strcmp(o->table, "help")) return list_tables(err);
    j->format = gp_answer_format(gp_hta_formats, o->front.common.format);
    if (check_opts(j, err) || gp_front_open(&j->front, tool, &o->front, err)) return -1;
    j->hta_opts = (struct gp_hta_opts){.repair = gp_repair_called(o->repair),
                                       .step_marker = o->front.step_marker,
                                       .classes = j->front.classes,
                                       .threads = j->front.threads.each,
                                       .per_step = o->steps};
    gp_hta_init(&j->h, &j->hta_opts);
    return analyze(j, err);
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-hta",
        .summary = "report where the time of one or many GPUs went",
        .operands = "[FILE...]",
        .example = "gpuprof-collect ./app | trace-hta\n"
                   "trace-hta rank*.json.gz\n"
                   "trace-hta -f csv --table kernels kineto.json.gz > kernels.csv\n",
        .options = options,
        .format_name = gp_hta_format_name,
        .max_operands = -1,
        .stdin_default = true,
    };
    struct opts o = {.front = {GP_FRONT_DEFAULTS}, .repair = "none"};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    struct job j = {.opts = &o};
    int failed = run(&j, &tool, &err);
    gp_hta_release(&j.h);
    gp_front_close(&j.front);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
