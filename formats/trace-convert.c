/* trace-convert -- any trace in, any trace format out. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include "analyze/names/names.h"
#include "formats/base/cli.h"
#include "formats/base/output.h"
#include "formats/reader.h"
#include "formats/writer.h"

struct opts {
    struct gp_common_opts common;
    const char *compress;
};

static const struct gp_option options[] = {
    GP_OPTIONS_COMMON("gpuprof|chrome", "gpuprof"),
    {0, "to", "gpuprof|chrome", "the same as --format", GP_OPT_CHOICE,
     offsetof(struct gp_common_opts, format)},
    {0, "compress", "none|gzip|zstd|zlib",
     "compress the output: blocks of gpuprof with zstd or zlib, all of chrome with gzip or zstd (default: "
     "none)",
     GP_OPT_CHOICE, offsetof(struct opts, compress)},
    {0},
};

static void tell_input(const struct gp_tool *tool, const struct gp_trace *t)
{
    const struct gp_input_info *in = &t->input;
    gp_cli_warn(tool, "%s: %s, compression %s, %" PRIu64 " bytes, %" PRIu64 " events, %s", in->path,
                in->format, in->compression, in->bytes, in->events, gp_trace_verdict(t));
    for (int table = 0; table < GP_TABLE_COUNT; table++)
        if (t->events[table].n)
            gp_cli_warn(tool, "%s: %s: %zu", in->path, gp_table_name((enum gp_table)table),
                        t->events[table].n);
    gp_cli_warn(tool, "%s: tracks: %zu, launch configurations: %zu", in->path, t->tracks.n, t->configs.n);
}

static void tell_issues(const struct gp_tool *tool, const struct gp_trace *t)
{
    for (int kind = 0; kind < GP_ISSUE_COUNT; kind++) {
        const struct gp_issue *q = &t->issues[kind];
        const char *text = gp_issue_text((enum gp_issue_kind)kind);
        if (!q->count) continue;
        if (q->first_offset < 0) gp_cli_warn(tool, "%s: %s: %" PRIu64, t->input.path, text, q->count);
        else
            gp_cli_warn(tool, "%s: %s: %" PRIu64 ", first at byte %" PRId64, t->input.path, text, q->count,
                        q->first_offset);
    }
}

/* Why the output cannot be made that way, or NULL. */
static const char *refusal(const struct gp_writer *w, const struct opts *o)
{
    bool to_stdout = !o->common.output || !strcmp(o->common.output, "-");
    bool binary = w->binary || strcmp(o->compress, "none") != 0;
    if (!gp_writer_accepts(w, o->compress)) return "this format cannot be compressed that way";
    if (binary && to_stdout && isatty(STDOUT_FILENO))
        return "not written to a terminal; redirect the output or name a file with -o";
    return NULL;
}

static int convert(const struct gp_tool *tool, const struct opts *o, const struct gp_writer *w,
                   struct gp_err *err)
{
    struct gp_progress progress;
    gp_cli_progress(tool, &o->common, &progress);
    struct gp_read_opts read_opts = {.need = GP_NEED_ALL,
                                     .threads = o->common.threads < 64 ? (int)o->common.threads : 64,
                                     .strict = o->common.strict,
                                     .progress = gp_progress_bytes,
                                     .progress_ctx = &progress};
    struct gp_trace t;
    int failed = gp_trace_read(&t, tool->nargs ? tool->args[0] : "-", &read_opts, err);
    gp_progress_end(&progress);
    if (failed) return -1;
    if (o->common.verbose) tell_input(tool, &t);
    if (!o->common.quiet) tell_issues(tool, &t);
    struct gp_output *out = gp_output_open(o->common.output, err);
    struct gp_write_opts write_opts = {.compression = o->compress,
                                       .plain_name = gp_name_demangle,
                                       .threads = o->common.threads < 64 ? (int)o->common.threads : 64};
    if (out) w->write(&t, &write_opts, out);
    failed = !out || gp_output_close(out, true, err);
    gp_trace_release(&t);
    return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-convert",
        .summary = "turn a GPU trace of any format into another format",
        .operands = "[FILE]",
        .example = "trace-convert --to gpuprof kineto.json.gz > run.trace\n"
                   "gpuprof-collect ./app | trace-convert --to chrome > app.json\n",
        .options = options,
        .max_operands = 1,
        .stdin_default = true,
    };
    struct opts o = {.common.format = "gpuprof", .compress = "none"};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    const struct gp_writer *w = gp_writer_find(o.common.format);
    const char *no = refusal(w, &o);
    struct gp_err err = {0};
    if (no) {
        gp_cli_warn(&tool, "%s, compression %s: %s", w->name, o.compress, no);
        return GP_EXIT_ERROR;
    }
    if (!convert(&tool, &o, w, &err)) return GP_EXIT_OK;
    gp_cli_error(&tool, &err);
    return GP_EXIT_ERROR;
}
