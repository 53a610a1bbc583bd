/* trace-convert -- any trace in, any trace format out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/app/app.h"
#include "analyze/app/app_join.h"
#include "analyze/names/names.h"
#ifdef GP_HAVE_SQLITE
#include "analyze/query/query.h"
#include "analyze/query/query_sql.h"
#endif
#include "analyze/view/repair.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/redact.h"
#include "formats/writer.h"

/* Tables, which no writer of a stream can write. */
static const struct gp_writer sqlite = {"sqlite", "none", true, NULL};

struct opts {
    struct gp_app_opts app;
    const char *compress;
    bool redact;
};

static const struct gp_option options[] = {
    {0, "to", NULL, "same as --format", GP_OPT_FORMAT, offsetof(struct gp_common_opts, format)},
    {0, "compress", "none|gzip|zstd|zlib",
     "compress the output: gpuprof blocks with zstd or zlib, Chrome JSON with gzip or zstd (default: none)",
     GP_OPT_CHOICE, offsetof(struct opts, compress)},
    {0, "redact", NULL, "replace range names and text arguments with hashes, and omit the command line",
     GP_OPT_FLAG, offsetof(struct opts, redact)},
    GP_OPTIONS_COMMON,
    {0},
};

static void describe(const struct gp_tool *tool, const struct gp_trace *t, bool several)
{
    const struct gp_input_info *in = &t->input;
    const char *what = several ? "together" : in->path;
    if (!several)
        gp_cli_warn(tool, "%s: %s, compression %s, %" PRIu64 " bytes, %" PRIu64 " events, %s", in->path,
                    in->format, in->compression, in->bytes, in->events, gp_trace_verdict(t));
    for (int table = 0; table < GP_TABLE_COUNT; table++)
        if (t->events[table].n)
            gp_cli_warn(tool, "%s: %s: %zu", what, gp_table_name((enum gp_table)table), t->events[table].n);
    gp_cli_warn(tool, "%s: tracks: %zu, launch configurations: %zu", what, t->tracks.n, t->configs.n);
}

static int check_output(const struct gp_writer *w, const struct opts *o, struct gp_err *err)
{
    const char *output = o->app.common.output, *why = NULL;
    bool binary = w->binary || strcmp(o->compress, "none") != 0;
    if (!gp_writer_accepts(w, o->compress)) why = "this format cannot be compressed that way";
    else if (binary && (!output || !strcmp(output, "-")) && isatty(STDOUT_FILENO))
        why = "not written to a terminal; redirect the output or name a file with -o";
    return why ? gp_fail(err, GP_E_USAGE, -1, "%s, compression %s: %s", w->name, o->compress, why) : 0;
}

/* Impossible times are reported as the other tools do, and not stored with the trace, as its readers count
 * them. */
static int check_quality(struct gp_app *f, struct gp_trace *t, struct gp_err *err)
{
    struct gp_issue as_read[GP_ISSUE_COUNT];
    memcpy(as_read, t->issues, sizeof as_read);
    gp_repair(t, GP_REPAIR_NONE);
    gp_events_drop(&t->events[GP_GPU], GP_COL_PLACE);
    int failed = f->opts->common.strict ? gp_trace_refuse_damage(t, err) : 0;
    if (!failed) gp_app_warn_issues(f, t);
    memcpy(t->issues, as_read, sizeof as_read);
    return failed ? gp_err_context(err, "%s", t->input.path) : 0;
}

/* The same of several inputs, each of which was judged when it was read. */
static int judge_inputs(struct gp_app *f, const struct gp_app_joined *in, struct gp_trace *t,
                        struct gp_err *err)
{
    gp_events_drop(&t->events[GP_GPU], GP_COL_PLACE);
    gp_app_warn_inputs(f, &in->strings, in->inputs.at, in->inputs.n);
    for (size_t i = 0; i < in->inputs.n && f->opts->common.strict; i++) {
        struct gp_trace as_judged = {0};
        memcpy(as_judged.issues, in->inputs.at[i].issues, sizeof as_judged.issues);
        as_judged.issues[GP_Q_NO_CORRELATION].count = as_judged.issues[GP_Q_BEFORE_LAUNCH].count = 0;
        if (gp_trace_refuse_damage(&as_judged, err)) return gp_err_context(err, "%s", f->paths[i]);
    }
    return 0;
}

/* Read all inputs into T, which is released after a failure. IN is released by the caller. */
static int read_all(struct gp_app *f, uint32_t need, struct gp_trace *t, struct gp_app_joined *in,
                    struct gp_err *err)
{
    if (gp_app_join(f, need | GP_NEED_PLACES, t, in, err)) return -1;
    if (f->opts->common.verbose) describe(f->tool, t, f->n > 1);
    int failed = f->n == 1 ? check_quality(f, t, err) : judge_inputs(f, in, t, err);
    if (failed) gp_trace_release(t);
    return failed;
}

#ifdef GP_HAVE_SQLITE
static int copy_file(const char *from, const char *to, struct gp_err *err)
{
    struct gp_input *in = gp_input_open(from, 1, err);
    struct gp_output *out = in ? gp_output_open(to, err) : NULL;
    char piece[1 << 16];
    for (size_t n; out && (n = gp_input_read(in, piece, sizeof piece)) > 0;) gp_output_write(out, piece, n);
    int failed = !out || gp_output_close(out, true, err);
    if (in) gp_input_close(in);
    return failed;
}

/* All tables of T into the empty file PATH. */
static int export_to(const char *path, struct gp_trace *t, struct gp_app_joined *in, struct gp_err *err)
{
    struct gp_query q;
    struct gp_input_quality one;
    if (!in->inputs.n) {
        gp_input_quality_read(&one, &in->strings, t);
        gp_input_quality_damage(&one, &in->strings, t);
        GP_VEC_PUSH(&in->inputs, one);
    }
    struct gp_query_opts o = {.inputs = in->inputs.at, .n_inputs = in->inputs.n, .strings = &in->strings};
    struct gp_sql *sql = gp_sql_open(&(struct gp_sql_limits){.exports = true}, err);
    if (!sql) return -1;
    int failed = gp_query_make(&q, t, &o, GP_QUERY_ALL, err);
    if (!failed) {
        gp_sql_bind(sql, &q);
        failed = gp_sql_export(sql, path, err);
    }
    gp_sql_close(sql);
    gp_query_release(&q);
    return failed;
}

/* SQLite writes here and there in a file, which no pipe can take: a temporary file comes first. */
static int convert_to_sqlite(struct gp_app *f, const struct opts *o, struct gp_err *err)
{
    struct gp_trace t;
    struct gp_app_joined in = {0};
    struct gp_buf path = {0};
    const char *folder = getenv("TMPDIR");
    int failed = read_all(f, GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES, &t, &in, err);
    if (!failed) {
        if (o->redact) gp_redact_trace(&t);
        gp_app_phase(f, "writing");
        gp_buf_printf(&path, "%s/gpuprof-XXXXXX", folder && *folder ? folder : "/tmp");
        gp_buf_str(&path);
        int fd = mkstemp(path.data);
        if (fd < 0) failed = gp_fail(err, GP_E_IO, -1, "%s: cannot write a temporary file", path.data);
        failed =
            failed || export_to(path.data, &t, &in, err) || copy_file(path.data, o->app.common.output, err);
        if (fd >= 0) close(fd), unlink(path.data);
        gp_app_phase(f, NULL);
        gp_trace_release(&t);
    }
    gp_app_joined_release(&in);
    gp_buf_release(&path);
    return failed;
}
#endif

static int convert(struct gp_app *f, const struct opts *o, const struct gp_writer *w, struct gp_err *err)
{
    struct gp_trace t;
    struct gp_write_opts wo = {
        .compression = o->compress, .plain_name = gp_name_demangle, .threads = f->threads.each};
    /* only our own format has samples; others have ranges made of them */
    uint32_t samples = strcmp(w->name, "gpuprof") != 0 ? GP_NEED_RAW_SAMPLES : 0;
    struct gp_app_joined in = {0};
    int failed = read_all(f, GP_NEED_ALL & ~samples, &t, &in, err);
    gp_app_joined_release(&in);
    if (failed) return failed;
    if (o->redact) gp_redact_trace(&t);
    struct gp_output *out = gp_output_open(o->app.common.output, err);
    if (out) gp_app_phase(f, "writing");
    if (out) w->write(&t, &wo, out);
    gp_app_phase(f, NULL);
    failed = !out || gp_output_close(out, true, err);
    gp_trace_release(&t);
    return failed;
}

int main(int argc, char **argv)
{
    struct gp_answer_format formats[16] = {0};
    size_t n = 0;
    for (; gp_writers[n] && n + 2 < GP_COUNT(formats); n++) formats[n].name = gp_writers[n]->name;
#ifdef GP_HAVE_SQLITE
    formats[n].name = sqlite.name;
#endif
    struct gp_tool tool = {
        .name = "trace-convert",
        .summary = "convert GPU traces between formats",
        .operands = "[FILE...]",
        .example = "trace-convert --to gpuprof kineto.json.gz > run.trace\n"
                   "gpuprof-collect ./app | trace-convert --to chrome > app.json\n"
                   "trace-convert --to perfetto -o ranks.pftrace rank*.json.gz\n",
        .options = options,
        .formats = formats,
        .max_operands = -1,
        .stdin_default = true,
    };
    struct opts o = {.compress = "none"};
    struct gp_err err = {0};
    struct gp_app f = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    const struct gp_writer *w = gp_writer_find(o.app.common.format);
    int failed = check_output(w ? w : &sqlite, &o, &err) || gp_app_open(&f, &tool, &o.app, &err);
#ifdef GP_HAVE_SQLITE
    if (!failed && !w) failed = convert_to_sqlite(&f, &o, &err);
#endif
    if (!failed && w) failed = convert(&f, &o, w, &err);
    gp_app_close(&f);
    return gp_cli_end(&tool, failed, &err, GP_EXIT_OK);
}
