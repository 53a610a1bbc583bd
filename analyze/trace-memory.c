/* trace-memory -- snapshots of an allocator and traces in; the contents of GPU memory, their holders, leaks,
 * out. */
#include <string.h>
#include "analyze/app/app.h"
#include "analyze/app/app_join.h"
#include "analyze/memory/memory.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/num.h"
#include "formats/pickle/pickle.h"
#include "formats/pickle/snapshot.h"
#include "render/memory/memory_formats.h"

struct opts {
    struct gp_app_opts app; /* first */
    const char *at, *by, *step_marker, *base, *table, *flame, *timeline;
    const char *device;
    uint64_t min_bytes, device_memory;
};

static const struct gp_option options[] = {
    {0, "at", "peak|end|oom|TIME", "moment to report; TIME is from the start, such as 1.5s (default: peak)",
     GP_OPT_STRING, offsetof(struct opts, at)},
    {0, "by", "stack|range|op|module|category", "group the memory held by this (default: stack)",
     GP_OPT_CHOICE, offsetof(struct opts, by)},
    {0, "base", "FILE", "compare the memory held with FILE, a snapshot or trace of another run",
     GP_OPT_STRING, offsetof(struct opts, base)},
    {0, "device", "N", "report only device N", GP_OPT_STRING, offsetof(struct opts, device)},
    {0, "step-marker", "REGEX", "ranges to treat as steps (default: auto-detect)", GP_OPT_STRING,
     offsetof(struct opts, step_marker)},
    {0, "min-bytes", "N", "fold holders of less than N bytes into one row", GP_OPT_UINT,
     offsetof(struct opts, min_bytes)},
    {0, "device-memory", "N", "size of the device, such as 80G, if no trace records it", GP_OPT_UINT,
     offsetof(struct opts, device_memory)},
    {'t', "table", "NAME", "print only this table; CSV also has allocations (its default) and stacks",
     GP_OPT_STRING, offsetof(struct opts, table)},
    {0, "flame", "FILE", "trace2flame page that an HTML report links to", GP_OPT_STRING,
     offsetof(struct opts, flame)},
    {0, "timeline", "FILE", "trace2timeline page that an HTML report links to", GP_OPT_STRING,
     offsetof(struct opts, timeline)},
    GP_OPTION_TOP("maximum number of rows per table, 0 for all (default: 10)"),
    GP_OPTION_WIDTH,
    GP_OPTIONS_COMMON,
    {0},
};

static const struct gp_renamed renamed[] = {{"steps", "step-marker"}, {0}};

/* ---- reading ---- */

static int take_snapshot(struct gp_app *f, struct gp_snapshot *s, struct gp_memory *m, struct gp_err *err)
{
    gp_memory_add_snapshot(m, s);
    const struct gp_input_quality *q = &m->inputs.at[m->inputs.n - 1];
    for (int i = 0; f->opts->common.strict && i < GP_ISSUE_COUNT; i++)
        if (q->issues[i].count)
            return gp_fail(err, GP_E_SYNTAX, q->issues[i].first_offset, "byte %lld: %s",
                           (long long)q->issues[i].first_offset, gp_issue_text((enum gp_issue_kind)i));
    return 0;
}

/* Read IN, whose kind its first bytes tell. Errors of traces name the file already. */
static int read_open(struct gp_app *f, struct gp_input *in, struct gp_memory *m, bool *is_trace,
                     struct gp_err *err)
{
    struct gp_snapshot s;
    struct gp_app_meter meter = {.app = f};
    size_t n;
    const uint8_t *head = gp_input_peek(in, 4096, &n);
    if (gp_pickle_sniff(head, n))
        return gp_snapshot_read(&s, in, gp_app_bytes, &meter, err) || take_snapshot(f, &s, m, err);
    if (gp_export_sniff(head, n)) return gp_export_read(&s, in, err) || take_snapshot(f, &s, m, err);
    if (gp_snapshot_is_zip(head, n))
        return gp_fail(err, GP_E_FORMAT, 0,
                       "a zip file, as torch.save writes it; write the snapshot with "
                       "torch.cuda.memory._dump_snapshot(FILE) or pickle.dump");
    *is_trace = true;
    struct gp_trace t;
    if (gp_app_trace_input(f, in, GP_MEMORY_NEED, &t, err)) return -1;
    gp_memory_add_trace(m, &t);
    gp_trace_release(&t);
    return 0;
}

static int read_input(struct gp_app *f, const char *path, struct gp_memory *m, struct gp_err *err)
{
    struct gp_input *in = gp_input_open(path, f->threads.each, err);
    if (!in) return -1;
    bool is_trace = false;
    int failed = read_open(f, in, m, &is_trace, err);
    gp_app_phase(f, NULL);
    gp_input_close(in);
    return failed && !is_trace ? gp_err_context(err, "%s", path) : failed;
}

static int take_options(const struct opts *o, struct gp_memory_opts *to, struct gp_err *err)
{
    *to = (struct gp_memory_opts){.by = gp_memory_key_named(o->by),
                                  .device = -1,
                                  .steps = o->step_marker,
                                  .min_bytes = (int64_t)(o->min_bytes & INT64_MAX),
                                  .total_bytes = (int64_t)(o->device_memory & INT64_MAX)};
    if (o->device) {
        uint64_t device;
        if (!gp_u64_from_text(o->device, strlen(o->device), &device) || device > 4095)
            return gp_fail(err, GP_E_USAGE, -1, "--device: not the number of a device: %s", o->device);
        to->device = (int)device;
    }
    if (!o->at || !strcmp(o->at, "peak")) to->at = GP_AT_PEAK;
    else if (!strcmp(o->at, "end")) to->at = GP_AT_END;
    else if (!strcmp(o->at, "oom")) to->at = GP_AT_OOM;
    else {
        to->at = GP_AT_TIME;
        if (gp_parse_duration(o->at, &to->at_ns, err)) return gp_err_context(err, "--at");
    }
    return gp_app_check_pages(&o->app, o->flame, o->timeline, err);
}

static int write_answer(struct gp_app *f, const struct opts *o, const struct gp_answer_format *format,
                        struct gp_memory *m, struct gp_err *err)
{
    struct gp_buf typed = {0}, title = {0};
    gp_app_put_title(f, &title);
    gp_cli_put_given(&typed, f->tool, o, "at by base device step-marker min-bytes device-memory top");
    struct gp_memory_answer a = {.m = m,
                                 .input = gp_buf_str(&title),
                                 .options = typed.n ? gp_buf_str(&typed) : NULL,
                                 .flame = o->flame,
                                 .timeline = o->timeline,
                                 .top = gp_answer_rows(format, o->app.top),
                                 .table = o->table,
                                 .color = gp_app_color(f),
                                 .width = gp_app_width(f),
                                 .verbose = o->app.common.verbose};
    int failed = gp_app_answer(f, format, &a, err);
    gp_buf_release(&typed);
    gp_buf_release(&title);
    if (!failed && a.empty)
        return gp_fail(err, GP_E_USAGE, -1, "--table: no table \"%s\" in this answer", o->table);
    return failed;
}

/* Compare with the memory held in the file of --base. */
static int compare(struct gp_app *f, const struct opts *o, struct gp_memory *m, struct gp_err *err)
{
    struct gp_memory base;
    gp_memory_init(&base, &m->opts);
    int failed = read_input(f, o->base, &base, err);
    if (!failed) gp_app_warn_inputs(f, &base.strings, base.inputs.at, base.inputs.n);
    failed = failed || gp_memory_finish(&base, err);
    if (!failed) gp_memory_compare(m, &base);
    gp_memory_release(&base);
    return failed;
}

static int run(struct gp_app *f, const struct opts *o, struct gp_memory *m, struct gp_err *err)
{
    const struct gp_answer_format *format = gp_answer_format(gp_memory_formats, o->app.common.format);
    const char *link = o->flame ? "--flame" : o->timeline ? "--timeline" : NULL;
    struct gp_memory_opts mo;
    if (take_options(o, &mo, err) ||
        (o->table && gp_answer_check(gp_memory_formats, format, GP_MEMORY_TAKES_TABLE, "--table", err)) ||
        gp_answer_check(gp_memory_formats, format, GP_MEMORY_TAKES_PAGES, link, err))
        return -1;
    gp_memory_init(m, &mo);
    for (size_t i = 0; i < f->n; i++)
        if (read_input(f, f->paths[i], m, err)) return -1;
    gp_app_warn_inputs(f, &m->strings, m->inputs.at, m->inputs.n);
    gp_app_phase(f, "analysing");
    if (gp_memory_finish(m, err) || (o->base && compare(f, o, m, err))) return -1;
    return write_answer(f, o, format, m, err);
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {.name = "trace-memory",
                           .summary = "report what filled the memory of a GPU, who held it, and what leaks",
                           .operands = "[FILE...]",
                           .example =
                               "trace-memory snapshot.pickle\n"
                               "trace-memory --by op snapshot.pickle trace.json.gz\n"
                               "trace-memory -f folded --at peak snapshot.pickle | trace2flame > peak.svg\n"
                               "gpuprof-collect --memory ./app | trace-memory --by range\n",
                           .options = options,
                           .renamed = renamed,
                           .formats = gp_memory_formats,
                           .max_operands = -1,
                           .stdin_default = true};
    struct opts o = {.app = {GP_APP_DEFAULTS}};
    struct gp_app f = {0};
    struct gp_memory m = {0};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    int failed = gp_app_open(&f, &tool, &o.app, &err) || run(&f, &o, &m, &err);
    gp_memory_release(&m);
    gp_app_close(&f);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
