#include "analyze/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/input.h"
#include "render/hta/hta_tables.h"
#include "render/hta/hta_verdict.h"

enum { MOST_PARTIAL = 1 << 28 };

/* ---- opening ---- */

int gp_ranks_list_tables(struct gp_err *err)
{
    struct gp_buf b = {0};
    for (size_t i = 0; gp_hta_table_id(i); i++) gp_buf_printf(&b, "%s\n", gp_hta_table_id(i));
    return gp_answer_file(NULL, &b, err);
}

static int check_opts(const struct gp_ranks *r, struct gp_err *err)
{
    const struct gp_ranks_opts *o = r->opts;
    if (o->table && !gp_hta_has_table(o->table))
        return gp_fail(err, GP_E_USAGE, -1, "--table: no table \"%s\"; --table help lists them", o->table);
    if (o->save_partial && o->front.common.output)
        return gp_fail(err, GP_E_USAGE, -1, "--save-partial writes no report, so --output does not apply");
    if (o->max_skipped < 0) return gp_fail(err, GP_E_USAGE, -1, "--max-skipped: expected 0%% to 100%%");
    const char *link = o->flame ? "--flame" : o->timeline ? "--timeline" : NULL;
    if (gp_answer_check(gp_hta_formats, r->format, GP_HTA_TAKES_TABLE, o->table ? "--table" : NULL, err))
        return -1;
    return gp_answer_check(gp_hta_formats, r->format, GP_HTA_TAKES_LINKS, link, err) ||
           gp_front_check_pages(&o->front, o->flame, o->timeline, err);
}

/* The operands, then those of --from. */
static int list_inputs(struct gp_ranks *r, const struct gp_tool *tool, struct gp_err *err)
{
    if (!r->opts->from) return 0;
    for (int i = 0; i < tool->nargs; i++) gp_operands_add(&r->operands, tool->args[i], false);
    if (gp_operands_read(&r->operands, r->opts->from, err)) return -1;
    gp_front_inputs(&r->front, r->operands.paths, r->operands.n);
    r->front.commands = r->operands.commands;
    return 0;
}

int gp_ranks_open(struct gp_ranks *r, const struct gp_tool *tool, const struct gp_ranks_opts *o,
                  struct gp_err *err)
{
    *r = (struct gp_ranks){.opts = o, .format = gp_answer_format(gp_hta_formats, o->front.common.format)};
    gp_hta_init(&r->h, NULL);
    r->keep_going = o->keep_going;
    if (check_opts(r, err) || gp_front_open(&r->front, tool, &o->front, err) || list_inputs(r, tool, err))
        return -1;
    r->hta_opts = (struct gp_hta_opts){.repair = gp_repair_called(o->repair),
                                       .step_marker = o->front.step_marker,
                                       .classes = r->front.classes,
                                       .threads = r->front.threads.each,
                                       .per_step = o->steps,
                                       .all_ranks = o->all_ranks};
    gp_hta_release(&r->h);
    gp_hta_init(&r->h, &r->hta_opts);
    return 0;
}

void gp_ranks_close(struct gp_ranks *r)
{
    gp_hta_release(&r->h);
    gp_front_close(&r->front);
    gp_operands_release(&r->operands);
}

/* ---- reading ---- */

static int load_partial(struct gp_ranks *r, size_t i, struct gp_hta *to, struct gp_err *err)
{
    enum { HEAD = 64 };
    size_t n;
    int child;
    struct gp_buf bytes = {0};
    struct gp_input *in = gp_front_input(&r->front, i, &child, err);
    if (!in) return -1;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    int failed = 0;
    if (gp_hta_is_saved(head, n)) failed = gp_input_rest(in, MOST_PARTIAL, &bytes, err);
    if (!failed) failed = gp_hta_load(to, bytes.n ? bytes.data : "", bytes.n, err);
    if (failed) gp_err_context(err, "%s", gp_input_path(in));
    failed = gp_front_finish(&r->front, i, in, child, failed, err);
    gp_buf_release(&bytes);
    return failed;
}

int gp_ranks_read(struct gp_ranks *r, size_t i, struct gp_hta *to, struct gp_err *err)
{
    struct gp_trace t;
    gp_hta_init(to, &r->hta_opts);
    if (r->opts->merge) return load_partial(r, i, to, err);
    if (gp_front_trace(&r->front, i, GP_HTA_NEED, &t, err)) return -1;
    gp_front_phase(&r->front, "analysing");
    int failed = gp_hta_add_trace(to, &t, err);
    gp_front_phase(&r->front, NULL);
    gp_trace_release(&t);
    return failed;
}

void gp_ranks_skip(struct gp_ranks *r, struct gp_hta *h, size_t i, const struct gp_err *err)
{
    gp_cli_warn(r->front.tool, "skipped: %s", err->msg);
    gp_hta_skip(h, r->front.paths[i], err->msg);
}

static int read_part(void *ctx, size_t i, struct gp_err *err)
{
    struct gp_ranks *r = ctx;
    r->parts[i] = gp_alloc(sizeof *r->parts[i]);
    return gp_ranks_read(r, i, r->parts[i], err);
}

static void drop_part(void *ctx, size_t i)
{
    struct gp_ranks *r = ctx;
    gp_hta_release(r->parts[i]);
    free(r->parts[i]);
}

static void merge_part(void *ctx, size_t i)
{
    struct gp_ranks *r = ctx;
    gp_hta_merge(&r->h, r->parts[i]);
    drop_part(r, i);
}

static bool skip_part(void *ctx, size_t i, const struct gp_err *err)
{
    struct gp_ranks *r = ctx;
    gp_ranks_skip(r, &r->h, i, err);
    return true;
}

int gp_ranks_read_all(struct gp_ranks *r, struct gp_err *err)
{
    struct gp_read_all all = {.read = read_part,
                              .merge = merge_part,
                              .drop = drop_part,
                              .skip = r->keep_going ? skip_part : NULL,
                              .ctx = r};
    r->parts = gp_zalloc(r->front.n * sizeof *r->parts);
    int failed = gp_front_read_all(&r->front, &all, err);
    free(r->parts);
    return failed;
}

/* ---- writing ---- */

static int write_answer(struct gp_ranks *r, struct gp_err *err)
{
    const struct gp_ranks_opts *o = r->opts;
    struct gp_buf typed = {0};
    gp_cli_put_given(&typed, r->front.tool, o, "top whole step-marker repair classes all-ranks");
    struct gp_hta_answer a = {.h = &r->h,
                              .tool = r->front.tool->name,
                              .top = gp_answer_rows(r->format, o->front.top),
                              .steps = o->steps,
                              .whole = o->front.whole,
                              .color = gp_front_color(&r->front),
                              .width = gp_front_width(&r->front),
                              .table = o->table,
                              .options = gp_buf_str(&typed),
                              .flame = o->flame,
                              .timeline = o->timeline};
    int failed = gp_front_answer(&r->front, r->format, &a, err);
    if (a.empty && !o->front.common.quiet) gp_cli_warn(r->front.tool, "%s: this table is empty", a.table);
    gp_buf_release(&typed);
    return failed;
}

/* Unless the text itself says it. */
static void warn_quality(const struct gp_ranks *r)
{
    struct gp_report report = {0};
    if (r->opts->front.common.quiet || (gp_front_is_terminal(&r->front) && !r->opts->table)) return;
    gp_hta_say_quality(&report, &r->h, true);
    gp_report_lines(report.quality.at, report.quality.n, GP_TONE_PLAIN, gp_cli_say, r->front.tool);
    gp_report_release(&report);
}

static int check_skipped(const struct gp_ranks *r, struct gp_err *err)
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

int gp_ranks_end(struct gp_ranks *r, struct gp_err *err)
{
    struct gp_buf partial = {0};
    if (check_skipped(r, err)) return -1;
    gp_front_describe(&r->front, &r->h.strings, r->h.inputs.at, r->h.inputs.n, 0);
    if (r->opts->save_partial) {
        gp_hta_save(&r->h, &partial);
        return gp_answer_file(r->opts->save_partial, &partial, err);
    }
    gp_front_phase(&r->front, "analysing");
    gp_hta_finish(&r->h);
    gp_front_phase(&r->front, NULL);
    warn_quality(r);
    gp_front_warn_marker(&r->front, r->h.steps.n);
    return gp_front_check_inputs(&r->front, r->h.inputs.at, r->h.inputs.n, err) ? -1 : write_answer(r, err);
}
