#include "analyze/app/app.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analyze/app/operands.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"
#include "formats/base/err.h"
#include "formats/base/input.h"

/* ---- opening ---- */

static int parse_classes(void *ctx, const char *text, size_t n, struct gp_err *err)
{
    return gp_classes_parse(ctx, text, n, err);
}

int gp_app_file(const char *path, size_t most,
                int (*parse)(void *ctx, const char *text, size_t n, struct gp_err *err), void *ctx,
                struct gp_err *err)
{
    struct gp_buf text = {0};
    int failed = gp_input_all(path, NULL, most, &text, err);
    if (!failed && parse(ctx, text.n ? text.data : "", text.n, err)) failed = gp_err_context(err, "%s", path);
    gp_buf_release(&text);
    return failed;
}

void gp_app_inputs(struct gp_app *f, const char *const *paths, size_t n)
{
    f->paths = paths;
    f->n = n;
    f->threads = gp_threads_share(f->opts->common.threads, n);
}

int gp_app_open(struct gp_app *f, const struct gp_tool *tool, const struct gp_app_opts *opts,
                struct gp_err *err)
{
    static const char *const standard_input[] = {"-"};
    *f = (struct gp_app){.tool = tool, .opts = opts, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (tool->nargs) gp_app_inputs(f, tool->args, (size_t)tool->nargs);
    else gp_app_inputs(f, standard_input, 1);
    gp_cli_progress(tool, &opts->common, &f->progress);
    if (opts->width && strcmp(opts->common.format, "text") != 0)
        return gp_fail(err, GP_E_USAGE, -1, "--width requires --format text");
    const char *format = opts->common.format;
    if (!opts->common.output && format && gp_is_choice("html|svg|pprof", format) && isatty(STDOUT_FILENO))
        return gp_fail(err, GP_E_USAGE, -1,
                       "%s is not written to a terminal; redirect the output or name a file with -o", format);
    if (!opts->classes) return 0;
    f->classes = &f->own_classes;
    return gp_app_file(opts->classes, GP_SMALL_FILE_BYTES, parse_classes, &f->own_classes, err);
}

void gp_app_close(struct gp_app *f)
{
    gp_progress_end(&f->progress);
    gp_classes_release(&f->own_classes);
}

/* ---- reading ---- */

/* Of all inputs together; 0 if the size of one is not known. */
static uint64_t total_of(const struct gp_app *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        uint64_t n = f->commands && f->commands[i] ? 0 : gp_input_total(f->paths[i]);
        if (!n) return 0;
        sum += n;
    }
    return sum;
}

void gp_app_bytes(void *ctx, uint64_t bytes)
{
    struct gp_app_meter *m = ctx;
    struct gp_app *f = m->app;
    if (!f->progress.enabled) return;
    pthread_mutex_lock(&f->lock);
    if (!f->progress.began_ns) f->progress.total = total_of(f);
    f->bytes += bytes - m->last;
    m->last = bytes;
    gp_progress_bytes(&f->progress, f->bytes);
    pthread_mutex_unlock(&f->lock);
}

/* Where nobody else reads, the line goes before messages about this input. */
static int end_reading(struct gp_app *f, const struct gp_trace *t, int failed)
{
    if (f->threads.workers == 1) gp_progress_end(&f->progress);
    if (!failed && t->input.spooled && f->opts->common.verbose)
        gp_cli_warn(f->tool, "%s: read through a temporary file, because %s needs seeks", t->input.path,
                    t->input.format);
    return failed;
}

static struct gp_read_opts read_opts(struct gp_app_meter *m, uint32_t need)
{
    return (struct gp_read_opts){.need = need,
                                 .threads = m->app->threads.each,
                                 .strict = m->app->opts->common.strict,
                                 .progress = gp_app_bytes,
                                 .progress_ctx = m};
}

struct gp_input *gp_app_input(struct gp_app *f, size_t i, int *child, struct gp_err *err)
{
    *child = 0;
    if (!f->commands || !f->commands[i]) return gp_input_open(f->paths[i], f->threads.each, err);
    pthread_mutex_lock(&f->lock); /* no other command must inherit the pipe */
    int fd = gp_command_start(f->paths[i], child, err);
    pthread_mutex_unlock(&f->lock);
    return fd < 0 ? NULL : gp_input_open_fd(fd, f->paths[i], f->threads.each);
}

int gp_app_finish(struct gp_app *f, size_t i, struct gp_input *in, int child, int failed, struct gp_err *err)
{
    gp_input_close(in);
    if (!child) return failed;
    struct gp_err why;
    if (!gp_command_end(child, &why)) return failed;
    *err = why; /* its earlier output is of little use, and its own failure explains the other one */
    return gp_err_context(err, "%s", f->paths[i]);
}

static int trace_of_command(struct gp_app *f, size_t i, const struct gp_read_opts *o, struct gp_trace *t,
                            struct gp_err *err)
{
    int child;
    struct gp_input *in = gp_app_input(f, i, &child, err);
    if (!in) return -1;
    int unread = gp_trace_read_input(t, in, o, err);
    if (unread) gp_err_context(err, "%s", f->paths[i]);
    int failed = gp_app_finish(f, i, in, child, unread, err);
    if (failed && !unread) gp_trace_release(t);
    return failed;
}

int gp_app_trace(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t, struct gp_err *err)
{
    struct gp_app_meter m = {.app = f};
    struct gp_read_opts o = read_opts(&m, need);
    bool command = f->commands && f->commands[i];
    return end_reading(f, t,
                       command ? trace_of_command(f, i, &o, t, err) : gp_trace_read(t, f->paths[i], &o, err));
}

int gp_app_trace_input(struct gp_app *f, struct gp_input *in, uint32_t need, struct gp_trace *t,
                       struct gp_err *err)
{
    struct gp_app_meter m = {.app = f};
    struct gp_read_opts o = read_opts(&m, need);
    int failed = gp_trace_read_input(t, in, &o, err);
    return end_reading(f, t, failed ? gp_err_context(err, "%s", gp_input_path(in)) : 0);
}

int gp_app_trace_or(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t,
                    bool (*is_other)(const void *head, size_t n), size_t most, struct gp_buf *other,
                    struct gp_err *err)
{
    enum { HEAD = 4096 };
    size_t n;
    struct gp_input *in = gp_input_open(f->paths[i], f->threads.each, err);
    if (!in) return -1;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    int failed;
    if (!is_other(head, n)) failed = gp_app_trace_input(f, in, need, t, err);
    else if ((failed = gp_input_rest(in, most, other, err))) gp_err_context(err, "%s", f->paths[i]);
    gp_input_close(in);
    return failed;
}

int gp_app_read_all(struct gp_app *f, struct gp_read_all *job, struct gp_err *err)
{
    struct gp_threads shared = f->threads;
    job->n = f->n;
    if (job->workers == 1) f->threads = gp_threads_share(f->opts->common.threads, 1);
    else job->workers = shared.workers;
    int failed = gp_read_all(job, err);
    gp_progress_end(&f->progress);
    f->threads = shared;
    return failed;
}

int gp_app_check_usable(const struct gp_trace *t, struct gp_err *err)
{
    if (strcmp(gp_trace_verdict(t), "unusable")) return 0;
    return gp_fail(err, GP_E_FORMAT, -1, "%s: contains nothing that can be used", t->input.path);
}

/* Why there are no GPU events, where the input shows it. */
static const char *why_empty(bool cut)
{
    return cut ? "; the input ends early, and profilers write GPU events last" : "";
}

int gp_app_check_empty(const struct gp_app *f, uint64_t gpu_events, bool cut, struct gp_err *err)
{
    if (gpu_events || f->opts->allow_empty) return 0;
    if (f->n > 1)
        return gp_fail(err, GP_E_FORMAT, -1, "none of %zu inputs has GPU events%s", f->n, why_empty(cut));
    return gp_fail(err, GP_E_FORMAT, -1, "%s: no GPU events%s", f->paths[0], why_empty(cut));
}

int gp_app_check_inputs(const struct gp_app *f, const struct gp_input_quality *in, size_t n,
                        struct gp_err *err)
{
    return gp_app_check_empty(f, gp_input_quality_gpu_events(in, n), gp_input_quality_cut(in, n), err);
}

static int check_page(const struct gp_app_opts *o, const char *option, const char *page, struct gp_err *err)
{
    const char *output = o->common.output, *folder = output ? strrchr(output, '/') : NULL;
    const char *name = page ? strrchr(page, '/') : NULL;
    bool absolute = page && *page == '/';
    if (!page || strstr(page, "://") || (absolute && !strchr(name, '.'))) return 0;
    struct gp_buf path = {0};
    if (folder && !absolute) gp_buf_put(&path, output, (size_t)(folder - output) + 1);
    gp_buf_puts(&path, page);
    int missing = access(gp_buf_str(&path), R_OK);
    if (missing) gp_fail(err, GP_E_USAGE, -1, "%s: %s: %s", option, gp_buf_str(&path), strerror(errno));
    gp_buf_release(&path);
    return missing;
}

int gp_app_check_pages(const struct gp_app_opts *o, const char *flame, const char *timeline,
                       struct gp_err *err)
{
    return check_page(o, "--flame", flame, err) || check_page(o, "--timeline", timeline, err) ? -1 : 0;
}

void gp_app_warn_marker(const struct gp_app *f, size_t steps)
{
    const char *marker = f->opts->step_marker;
    if (marker && !steps && !f->opts->common.quiet)
        gp_cli_warn(f->tool, "--step-marker: no range matches '%s', so there are no steps", marker);
}

void gp_app_warn_empty(const struct gp_app *f, const struct gp_trace *t, const char *else_do)
{
    bool host = t->events[GP_API].n || t->events[GP_OP].n || t->events[GP_RANGE].n || t->events[GP_PYTHON].n;
    bool snapshot = !strcmp(t->input.format, "snapshot"); /* never has any */
    if (t->events[GP_GPU].n || f->opts->common.quiet || snapshot) return;
    gp_cli_warn(f->tool, "%s: no GPU events%s%s", t->input.path, why_empty(gp_trace_truncated(t)),
                host && else_do ? else_do : "");
}

/* ---- the answer ---- */

void gp_app_phase(struct gp_app *f, const char *phase)
{
    pthread_mutex_lock(&f->lock); /* several inputs are read and analysed at once */
    if (phase) gp_progress_phase(&f->progress, phase);
    else gp_progress_end(&f->progress);
    pthread_mutex_unlock(&f->lock);
}

/* Does the answer go to a file? What reads a pipe may write to the terminal itself. */
static bool to_file(const struct gp_app *f)
{
    struct stat st;
    return f->opts->common.output || (!fstat(STDOUT_FILENO, &st) && S_ISREG(st.st_mode));
}

int gp_app_answer(struct gp_app *f, const struct gp_answer_format *format, void *answer, struct gp_err *err)
{
    gp_app_phase(f, to_file(f) ? "writing" : NULL);
    int failed = gp_answer_write(format, answer, f->opts->common.output, err);
    gp_app_phase(f, NULL);
    return failed;
}

/* ---- messages ---- */

bool gp_app_is_terminal(const struct gp_app *f)
{
    const struct gp_common_opts *c = &f->opts->common;
    return c->format && !strcmp(c->format, "text") && !c->output && isatty(STDOUT_FILENO);
}

bool gp_app_color(const struct gp_app *f)
{
    return gp_cli_color(&f->opts->common, f->opts->common.output ? -1 : STDOUT_FILENO);
}

size_t gp_app_width(const struct gp_app *f)
{
    return gp_cli_width(f->opts->width, f->opts->common.output ? -1 : STDOUT_FILENO);
}

bool gp_app_warn_issues(const struct gp_app *f, const struct gp_trace *t)
{
    struct gp_buf b = {0};
    bool any = gp_quality_line(&b, t->issues);
    if (any && !f->opts->common.quiet) gp_cli_warn(f->tool, "%s: %s", t->input.path, gp_buf_str(&b));
    gp_buf_release(&b);
    return any && strcmp(gp_trace_verdict(t), "clean") != 0;
}

static void warn_line(void *ctx, const char *line, bool usable)
{
    (void)usable;
    gp_cli_warn(ctx, "%s", line);
}

void gp_app_warn_inputs(const struct gp_app *f, const struct gp_strings *s, const struct gp_input_quality *in,
                        size_t n)
{
    struct gp_tool tool = *f->tool; /* the callback's context is not const */
    if (f->opts->common.quiet || gp_app_is_terminal(f)) return;
    gp_quality_lines(s, in, n, true, warn_line, &tool);
}

static void describe(const struct gp_app *f, const char *side, const struct gp_strings *s,
                     const struct gp_input_quality *in)
{
    struct gp_buf rank = {0};
    if (in->rank >= 0) gp_buf_printf(&rank, ", rank %" PRId32, in->rank);
    gp_cli_warn(f->tool, "%s%s: %s, compression %s%s: %" PRIu64 " events, %" PRIu64 " on the GPU, %s", side,
                gp_string(s, in->path), gp_string(s, in->format), gp_string(s, in->compression),
                gp_buf_str(&rank), in->events, in->gpu_events, gp_string(s, in->verdict));
    gp_buf_release(&rank);
}

void gp_app_describe(const struct gp_app *f, const struct gp_strings *s, const struct gp_input_quality *in,
                     size_t n, size_t n_base)
{
    for (size_t i = 0; f->opts->common.verbose && i < n; i++)
        describe(f, !n_base ? "" : i < n_base ? "baseline: " : "current: ", s, &in[i]);
}

/* ---- threads ---- */

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

struct gp_threads gp_threads_share(uint64_t asked, size_t inputs)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads =
        asked ? smaller(asked, GP_MOST_THREADS) : smaller(online < 1 ? 1 : (uint64_t)online, GP_MOST_WORKERS);
    uint64_t workers = smaller(smaller(threads, inputs ? inputs : 1), GP_MOST_WORKERS);
    return (struct gp_threads){(size_t)workers, (int)(threads / workers)};
}

/* ---- folded stacks ---- */

int gp_app_folded(struct gp_app *f, struct gp_input *in, gp_folded_sink *sink, void *ctx, bool *damaged,
                  struct gp_err *err)
{
    const struct gp_common_opts *c = &f->opts->common;
    const char *path = gp_input_path(in);
    struct gp_folded_stats st;
    struct gp_app_meter m = {.app = f};
    struct gp_err damage = {0};
    if (gp_folded_read(in, sink, ctx, gp_app_bytes, &m, &st, err)) return gp_err_context(err, "%s", path);
    bool cut = gp_input_status(in, &damage) != 0;
    if (!cut && st.cut >= 0)
        cut = gp_fail(&damage, GP_E_SYNTAX, st.cut,
                      "byte %" PRId64 ": the last line has no line end; its number may be cut", st.cut) != 0;
    *damaged |= cut || st.bad;
    if (c->strict && cut) return gp_fail(err, damage.code, damage.offset, "%s: %s", path, damage.msg);
    if (c->strict && st.bad)
        return gp_fail(err, GP_E_SYNTAX, st.first_bad, "%s: byte %" PRId64 ": not a folded stack", path,
                       st.first_bad);
    if (cut && !c->quiet) gp_cli_warn(f->tool, "%s: %s", path, damage.msg);
    if (st.bad && !c->quiet)
        gp_cli_warn(f->tool, "%s: lines that are not folded stacks: %" PRIu64 " (first at byte %" PRId64 ")",
                    path, st.bad, st.first_bad);
    return 0;
}
