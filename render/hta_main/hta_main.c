#include "render/hta_main/hta_main.h"

#include <stdlib.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"

enum { MOST_PARTIAL = 1 << 28 };

/* ---- opening ---- */

int gp_hta_main_list_tables(struct gp_err *err)
{
    struct gp_buf b = {0};
    for (size_t i = 0; gp_hta_table_id(i); i++) gp_buf_printf(&b, "%s\n", gp_hta_table_id(i));
    return gp_answer_file(NULL, &b, err);
}

static int check_opts(const struct gp_hta_main *r, struct gp_err *err)
{
    const struct gp_hta_main_opts *o = r->opts;
    if (o->table && !gp_hta_has_table(o->table))
        return gp_fail(err, GP_E_USAGE, -1, "--table: no table \"%s\"; --table help lists them", o->table);
    if (o->save_partial && o->app.common.output)
        return gp_fail(err, GP_E_USAGE, -1, "--save-partial writes no report, so --output does not apply");
    if (o->max_skipped < 0) return gp_fail(err, GP_E_USAGE, -1, "--max-skipped: expected 0%% to 100%%");
    const char *link = o->flame ? "--flame" : o->timeline ? "--timeline" : NULL;
    if (gp_answer_check(gp_hta_formats, r->format, GP_HTA_TAKES_TABLE, o->table ? "--table" : NULL, err))
        return -1;
    if (gp_answer_check(gp_hta_formats, r->format, GP_HTA_TAKES_FULL, o->full ? "--full" : NULL, err))
        return -1;
    return gp_answer_check(gp_hta_formats, r->format, GP_HTA_TAKES_LINKS, link, err) ||
           gp_app_check_pages(&o->app, o->flame, o->timeline, err);
}

/* The operands, then those of --from. */
static int list_inputs(struct gp_hta_main *r, const struct gp_tool *tool, struct gp_err *err)
{
    if (!r->opts->from) return 0;
    for (int i = 0; i < tool->nargs; i++) gp_operands_add(&r->operands, tool->args[i], false);
    if (gp_operands_read(&r->operands, r->opts->from, err)) return -1;
    gp_app_inputs(&r->app, r->operands.paths, r->operands.n);
    r->app.commands = r->operands.commands;
    return 0;
}

int gp_hta_main_open(struct gp_hta_main *r, const struct gp_tool *tool, const struct gp_hta_main_opts *o,
                     struct gp_err *err)
{
    *r = (struct gp_hta_main){.opts = o, .format = gp_answer_format(gp_hta_formats, o->app.common.format)};
    gp_hta_init(&r->h, NULL);
    r->keep_going = o->keep_going;
    if (check_opts(r, err) || gp_app_open(&r->app, tool, &o->app, err) || list_inputs(r, tool, err))
        return -1;
    r->hta_opts = (struct gp_hta_opts){.repair = gp_repair_called(o->repair),
                                       .step_marker = o->app.step_marker,
                                       .classes = r->app.classes,
                                       .threads = r->app.threads.each,
                                       .items = o->items,
                                       .per_step = o->steps,
                                       .all_ranks = o->all_ranks};
    gp_hta_release(&r->h);
    gp_hta_init(&r->h, &r->hta_opts);
    return 0;
}

void gp_hta_main_close(struct gp_hta_main *r)
{
    gp_hta_release(&r->h);
    gp_app_close(&r->app);
    gp_operands_release(&r->operands);
}

/* ---- reading ---- */

static int load_partial(struct gp_hta_main *r, size_t i, struct gp_hta *to, struct gp_err *err)
{
    enum { HEAD = 64 };
    size_t n;
    int child;
    struct gp_buf bytes = {0};
    struct gp_input *in = gp_app_input(&r->app, i, &child, err);
    if (!in) return -1;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    int failed = 0;
    if (gp_hta_is_saved(head, n)) failed = gp_input_rest(in, MOST_PARTIAL, &bytes, err);
    if (!failed) failed = gp_hta_load(to, bytes.n ? bytes.data : "", bytes.n, err);
    if (failed) gp_err_context(err, "%s", gp_input_path(in));
    failed = gp_app_finish(&r->app, i, in, child, failed, err);
    gp_buf_release(&bytes);
    return failed;
}

int gp_hta_main_read(struct gp_hta_main *r, size_t i, struct gp_hta *to, struct gp_err *err)
{
    struct gp_trace t;
    gp_hta_init(to, &r->hta_opts);
    if (r->opts->merge) return load_partial(r, i, to, err);
    if (gp_app_trace(&r->app, i, GP_HTA_NEED, &t, err)) return -1;
    gp_app_phase(&r->app, "analysing");
    int failed = gp_hta_add_trace(to, &t, err);
    gp_app_phase(&r->app, NULL);
    gp_trace_release(&t);
    return failed;
}

void gp_hta_main_skip(struct gp_hta_main *r, struct gp_hta *h, size_t i, const struct gp_err *err)
{
    gp_cli_warn(r->app.tool, "skipped: %s", err->msg);
    gp_hta_skip(h, r->app.paths[i], err->msg);
}

static int read_part(void *ctx, size_t i, struct gp_err *err)
{
    struct gp_hta_main *r = ctx;
    r->parts[i] = gp_alloc(sizeof *r->parts[i]);
    return gp_hta_main_read(r, i, r->parts[i], err);
}

static void drop_part(void *ctx, size_t i)
{
    struct gp_hta_main *r = ctx;
    gp_hta_release(r->parts[i]);
    free(r->parts[i]);
}

static void merge_part(void *ctx, size_t i)
{
    struct gp_hta_main *r = ctx;
    gp_hta_merge(&r->h, r->parts[i]);
    drop_part(r, i);
}

static bool skip_part(void *ctx, size_t i, const struct gp_err *err)
{
    struct gp_hta_main *r = ctx;
    gp_hta_main_skip(r, &r->h, i, err);
    return true;
}

int gp_hta_main_read_all(struct gp_hta_main *r, struct gp_err *err)
{
    struct gp_read_all all = {.read = read_part,
                              .merge = merge_part,
                              .drop = drop_part,
                              .skip = r->keep_going ? skip_part : NULL,
                              .ctx = r};
    r->parts = gp_zalloc(r->app.n * sizeof *r->parts);
    int failed = gp_app_read_all(&r->app, &all, err);
    free(r->parts);
    return failed;
}

/* ---- writing ---- */

static int write_answer(struct gp_hta_main *r, struct gp_err *err)
{
    const struct gp_hta_main_opts *o = r->opts;
    struct gp_buf typed = {0};
    gp_cli_put_given(&typed, r->app.tool, o, "top whole step-marker repair classes all-ranks");
    struct gp_hta_answer a = {.h = &r->h,
                              .tool = r->app.tool->name,
                              .top = gp_answer_rows(r->format, o->app.top),
                              .steps = o->steps,
                              .whole = o->app.whole,
                              .full = o->full,
                              .color = gp_app_color(&r->app),
                              .width = gp_app_width(&r->app),
                              .table = o->table,
                              .options = gp_buf_str(&typed),
                              .flame = o->flame,
                              .timeline = o->timeline};
    int failed = gp_app_answer(&r->app, r->format, &a, err);
    if (a.empty && !o->app.common.quiet) gp_cli_warn(r->app.tool, "%s: this table is empty", a.table);
    gp_buf_release(&typed);
    return failed;
}

static int check_skipped(const struct gp_hta_main *r, struct gp_err *err)
{
    uint64_t skipped = r->h.fleet.skipped, all = skipped + r->h.inputs.n + r->h.bound.inputs;
    if (!skipped) return 0;
    if (skipped == all)
        return gp_fail(err, GP_E_FORMAT, -1, "none of the %llu inputs could be read",
                       (unsigned long long)all);
    if ((double)skipped * 100 <= r->opts->max_skipped * (double)all) return 0;
    return gp_fail(err, GP_E_FORMAT, -1, "%llu of %llu inputs were skipped, more than --max-skipped %g%%",
                   (unsigned long long)skipped, (unsigned long long)all, r->opts->max_skipped);
}

int gp_hta_main_end(struct gp_hta_main *r, struct gp_err *err)
{
    struct gp_buf partial = {0};
    if (check_skipped(r, err)) return -1;
    gp_app_describe(&r->app, &r->h.strings, r->h.inputs.at, r->h.inputs.n, 0);
    if (r->opts->save_partial) {
        gp_hta_save(&r->h, &partial);
        return gp_answer_file(r->opts->save_partial, &partial, err);
    }
    gp_app_phase(&r->app, "analysing");
    gp_hta_finish(&r->h);
    gp_app_phase(&r->app, NULL);
    struct gp_report report = {0}; /* of problems, unless the text has them */
    if (!(r->opts->app.common.quiet || (gp_app_is_terminal(&r->app) && !r->opts->table))) {
        gp_hta_quality(&report, &r->h, true);
        gp_report_lines(report.quality.at, report.quality.n, GP_TONE_PLAIN, gp_cli_say, r->app.tool);
        gp_report_release(&report);
    }
    gp_app_warn_marker(&r->app, r->h.steps.n);
    return gp_app_check_inputs(&r->app, r->h.inputs.at, r->h.inputs.n, err) ? -1 : write_answer(r, err);
}
