/* trace-diff -- two traces, or two groups of them, in; what changed, whether it is real, and an exit status out. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/diff/baseline.h"
#include "analyze/names/classify.h"
#include "analyze/diff/diff.h"
#include "analyze/diff/profile.h"
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/input.h"
#include "formats/base/num.h"
#include "formats/base/output.h"
#include "formats/expect_read.h"
#include "formats/reader.h"
#include "render/diff/diff_charts.h"
#include "render/diff/diff_dot.h"
#include "render/diff/diff_flame.h"
#include "render/diff/diff_folded.h"
#include "render/diff/diff_html.h"
#include "render/diff/diff_json.h"
#include "render/diff/diff_tables.h"
#include "render/diff/diff_verdict.h"
#include "render/report/quality_text.h"
#include "render/report/report_text.h"

enum { MAX_SMALL_FILE = 1 << 20, MAX_WORKERS = 8, MAX_THREADS = 64, TOP = 10, TOP_HTML = 100 };
#define MAX_SAVED ((size_t)1 << 32)
#define TOP_UNSET UINT64_MAX

struct opts {
    struct gp_common_opts common;
    struct gp_opt_list base, current, gates;
    const char *by, *mode, *alpha, *step_marker, *classes, *view, *folder, *save, *against, *expect;
    double threshold;
    uint64_t top;
    bool gate_wall_single, require_power, cross_gpu, any_work, whole;
};

static const char *format_name(size_t i)
{
    static const char *const names[] = {"text", "json", "html", "svg", "folded", "dot", NULL};
    return names[i];
}

static const struct gp_option options[] = {
    {0, "base", "FILE...", "the traces of the baseline, up to the next option", GP_OPT_FILES,
     offsetof(struct opts, base)},
    {0, "current", "FILE...", "the traces that are compared with it", GP_OPT_FILES,
     offsetof(struct opts, current)},
    {0, "by", "kernel|op|range", "what the operations are (default: kernel)", GP_OPT_CHOICE,
     offsetof(struct opts, by)},
    {0, "mode", "test|simple", "decide by a test, or by --threshold alone (default: test)", GP_OPT_CHOICE,
     offsetof(struct opts, mode)},
    {0, "threshold", "PCT", "of --mode simple (default: 5%)", GP_OPT_PERCENT,
     offsetof(struct opts, threshold)},
    {0, "alpha", "P", "chance of a false finding (default: 0.05)", GP_OPT_STRING,
     offsetof(struct opts, alpha)},
    {0, "gate", "METRIC:LIMIT",
     "fail when METRIC grows by more, as busy:3% or launches:0; \"op\" is every operation, "
     "\"none\" never fails; may be repeated",
     GP_OPT_LIST, offsetof(struct opts, gates)},
    {0, "gate-wall-single", NULL, "let one run a side break gates of step, idle and host time", GP_OPT_FLAG,
     offsetof(struct opts, gate_wall_single)},
    {0, "require-power", NULL, "a gate that could not be decided is broken", GP_OPT_FLAG,
     offsetof(struct opts, require_power)},
    {0, "expect", "FILE", "check the predictions in FILE", GP_OPT_STRING, offsetof(struct opts, expect)},
    {0, "baseline-dir", "DIR", "where --save and --against keep summaries", GP_OPT_STRING,
     offsetof(struct opts, folder)},
    {0, "save", "NAME", "keep a summary of the current side, unless it fails", GP_OPT_STRING,
     offsetof(struct opts, save)},
    {0, "against", "NAME", "the baseline is what was saved as NAME", GP_OPT_STRING,
     offsetof(struct opts, against)},
    {0, "cross-gpu", NULL, "compare different GPUs", GP_OPT_FLAG, offsetof(struct opts, cross_gpu)},
    {0, "any-work", NULL, "compare different work", GP_OPT_FLAG, offsetof(struct opts, any_work)},
    {0, "step-marker", "REGEX", "ranges that are steps (default: found by themselves)", GP_OPT_STRING,
     offsetof(struct opts, step_marker)},
    {0, "whole", NULL, "compare the traces as a whole, without steps", GP_OPT_FLAG,
     offsetof(struct opts, whole)},
    {0, "classes", "FILE", "rules that say which kernels are of which class: lines of REGEX CLASS",
     GP_OPT_STRING, offsetof(struct opts, classes)},
    {'n', "top", "N", "rows of long tables, 0 for all (default: 10; HTML: 100)", GP_OPT_UINT,
     offsetof(struct opts, top)},
    {0, "view", "waterfall|flame|flame-base", "the picture of -f svg (default: waterfall)", GP_OPT_CHOICE,
     offsetof(struct opts, view)},
    GP_OPTIONS_COMMON,
    {0},
};

/* What comes of one file. */
struct part {
    const char *path;
    struct gp_profile p;
    struct gp_err err;
    bool failed, done;
};

struct job {
    const struct gp_tool *tool;
    const struct opts *opts;
    struct gp_classes classes;
    struct gp_expects expects;
    GP_VEC(struct gp_gate) gates;
    bool gate_none;
    double alpha;
    struct gp_profile_opts profile_opts;
    gp_baseline_profiles saved; /* of --against */
    struct gp_diff diff;
    /* the files, those of the baseline first, and what the workers share */
    GP_VEC(struct part) parts;
    size_t n_base, next;
    size_t workers;
    int threads; /* of each worker */
    bool stop;
    pthread_mutex_t lock;
    uint64_t bytes;
    struct gp_progress progress;
};

/* ---- small files and words ---- */

static int read_classes(struct job *j, struct gp_err *err)
{
    struct gp_buf text = {0};
    int failed = gp_input_all(j->opts->classes, MAX_SMALL_FILE, &text, err);
    if (!failed && gp_classes_parse(&j->classes, text.n ? text.data : "", text.n, err))
        failed = gp_err_context(err, "%s", j->opts->classes);
    gp_buf_release(&text);
    j->profile_opts.classes = &j->classes;
    return failed;
}

/* What a prediction of a file is about, in the words of gp_expect; UINT32_MAX: there is no such thing. */
static uint32_t subject_of(const struct gp_expect_item *item, struct gp_buf *subject)
{
    subject->n = 0;
    if (item->sort == GP_EXPECT_OPERATION) {
        gp_buf_printf(subject, "op %s", item->name);
        return GP_METRIC_COUNT;
    }
    if (item->sort == GP_EXPECT_IDLE) {
        gp_buf_printf(subject, "idle.%s", item->name);
        for (uint32_t c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
            if (!strcmp(gp_idle_cause_name((enum gp_idle_cause)c), item->name))
                return GP_METRIC_COUNT + 1 + c;
        return UINT32_MAX;
    }
    gp_buf_puts(subject, item->name);
    for (uint32_t m = 0; m < GP_METRIC_COUNT; m++)
        if (!strcmp(gp_metric_name((enum gp_metric_id)m), item->name)) return m;
    return UINT32_MAX;
}

static int take_prediction(struct job *j, const struct gp_expect_item *item, uint32_t number,
                           struct gp_err *err)
{
    struct gp_buf subject = {0};
    struct gp_expect e = {.metric = subject_of(item, &subject),
                          .percent = item->percent,
                          .low = item->low,
                          .high = item->high,
                          .line = number};
    e.subject = gp_intern(&j->expects.strings, subject.data, subject.n);
    gp_buf_release(&subject);
    if (e.metric == UINT32_MAX)
        return gp_fail(err, GP_E_SYNTAX, -1, "prediction %" PRIu32 ": there is no %s \"%.100s\"", number,
                       item->sort == GP_EXPECT_IDLE ? "idle cause" : "metric", item->name);
    if (item->sort == GP_EXPECT_OPERATION) e.op = gp_intern_cstr(&j->expects.strings, item->name);
    GP_VEC_PUSH(&j->expects.at, e);
    return 0;
}

static int read_predictions(struct job *j, struct gp_err *err)
{
    struct gp_buf text = {0};
    struct gp_expect_file f = {0};
    int failed = gp_input_all(j->opts->expect, MAX_SMALL_FILE, &text, err);
    if (!failed) {
        failed = gp_expect_read(&f, text.n ? text.data : "", text.n, err);
        for (size_t i = 0; i < f.items.n && !failed; i++)
            failed = take_prediction(j, &f.items.at[i], (uint32_t)i + 1, err);
        if (failed) failed = gp_err_context(err, "%s", j->opts->expect);
    }
    gp_expect_file_release(&f);
    gp_buf_release(&text);
    return failed;
}

static int read_gates(struct job *j, struct gp_err *err)
{
    for (size_t i = 0; i < j->opts->gates.n; i++) {
        struct gp_gate g;
        const char *text = j->opts->gates.at[i];
        if (!strcmp(text, "none")) {
            j->gate_none = true;
        } else {
            if (gp_gate_parse(&g, text, err)) return gp_err_context(err, "--gate");
            GP_VEC_PUSH(&j->gates, g);
        }
    }
    if (j->gate_none && j->gates.n)
        return gp_fail(err, GP_E_USAGE, -1, "--gate none: with other gates it makes no sense");
    return 0;
}

static int read_alpha(struct job *j, struct gp_err *err)
{
    const char *s = j->opts->alpha;
    if (!s) return 0;
    if (gp_double_from_text(s, strlen(s), &j->alpha) && j->alpha > 0 && j->alpha < 1) return 0;
    return gp_fail(err, GP_E_USAGE, -1, "--alpha: '%s' is no probability, such as 0.05", s);
}

/* ---- reading ---- */

struct reading {
    struct job *job;
    uint64_t last;
};

static void on_bytes(void *ctx, uint64_t bytes)
{
    struct reading *r = ctx;
    pthread_mutex_lock(&r->job->lock);
    r->job->bytes += bytes - r->last;
    r->last = bytes;
    gp_progress_bytes(&r->job->progress, r->job->bytes);
    pthread_mutex_unlock(&r->job->lock);
}

static int read_saved(const struct job *j, struct gp_input *in, struct part *part)
{
    enum { PIECE = 1 << 16 };
    struct gp_buf bytes = {0};
    size_t n = 1;
    while (n && bytes.n <= MAX_SAVED) {
        n = gp_input_read(in, gp_buf_reserve(&bytes, PIECE), PIECE);
        bytes.n += n;
    }
    int failed = gp_input_status(in, &part->err);
    gp_profile_init(&part->p, &j->profile_opts);
    if (!failed) failed = gp_profile_load(&part->p, bytes.n ? bytes.data : "", bytes.n, &part->err);
    gp_buf_release(&bytes);
    return failed ? gp_err_context(&part->err, "%s", part->path) : 0;
}

static int read_trace(struct job *j, struct gp_input *in, struct part *part)
{
    struct gp_trace t;
    struct reading r = {.job = j};
    struct gp_read_opts o = {.need = GP_PROFILE_NEED,
                             .threads = j->threads,
                             .strict = j->opts->common.strict,
                             .progress = j->progress.enabled ? on_bytes : NULL,
                             .progress_ctx = &r};
    if (gp_trace_read_input(&t, in, &o, &part->err)) return gp_err_context(&part->err, "%s", part->path);
    gp_profile_init(&part->p, &j->profile_opts);
    int failed = gp_profile_add_trace(&part->p, &t, &part->err);
    gp_trace_release(&t);
    return failed;
}

/* A trace, or what --save keeps of one. */
static void read_part(struct job *j, struct part *part)
{
    size_t n;
    struct gp_input *in = gp_input_open(part->path, j->threads, &part->err);
    part->failed = !in;
    if (!in) return;
    const uint8_t *head = gp_input_peek(in, 64, &n);
    part->failed = gp_profile_is_saved(head, n) ? read_saved(j, in, part) : read_trace(j, in, part);
    gp_input_close(in);
}

static void *work(void *arg)
{
    struct job *j = arg;
    for (;;) {
        pthread_mutex_lock(&j->lock);
        struct part *part = !j->stop && j->next < j->parts.n ? &j->parts.at[j->next++] : NULL;
        pthread_mutex_unlock(&j->lock);
        if (!part) return NULL;
        read_part(j, part);
        part->done = true;
        if (!part->failed) continue;
        pthread_mutex_lock(&j->lock);
        j->stop = true;
        pthread_mutex_unlock(&j->lock);
    }
}

/* As many files at once as there are threads, and the threads that are left for the inside of each. */
static void share_threads(struct job *j)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = j->opts->common.threads;
    if (!threads) threads = online < 1 ? 1 : online > MAX_WORKERS ? MAX_WORKERS : (uint64_t)online;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    j->workers = threads < j->parts.n ? (size_t)threads : j->parts.n;
    if (j->workers > MAX_WORKERS) j->workers = MAX_WORKERS;
    j->threads = (int)(threads / (j->workers ? j->workers : 1));
}

/* Of several that failed, the first operand is told. */
static int read_files(struct job *j, struct gp_err *err)
{
    pthread_t ids[MAX_WORKERS];
    size_t started = 0;
    share_threads(j);
    gp_cli_progress(j->tool, &j->opts->common, &j->progress);
    while (started + 1 < j->workers && !pthread_create(&ids[started], NULL, work, j)) started++;
    work(j);
    for (size_t i = 0; i < started; i++) pthread_join(ids[i], NULL);
    gp_progress_end(&j->progress);
    for (size_t i = 0; i < j->parts.n; i++) {
        if (!j->parts.at[i].done || !j->parts.at[i].failed) continue;
        *err = j->parts.at[i].err;
        return -1;
    }
    return 0;
}

/* ---- which file is on which side ---- */

static void take_files(struct job *j, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++) GP_VEC_PUSH(&j->parts, (struct part){.path = paths[i]});
}

static int check_standard_input(const struct job *j, struct gp_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < j->parts.n; i++) n += !strcmp(j->parts.at[i].path, "-");
    return n < 2 ? 0 : gp_fail(err, GP_E_USAGE, -1, "standard input can be one of the traces only");
}

static int sort_files(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    const char *const *args = j->tool->args;
    size_t n = (size_t)j->tool->nargs;
    bool listed = o->base.n || o->current.n;
    if (o->against && o->base.n)
        return gp_fail(err, GP_E_USAGE, -1, "--against: it is the baseline, as --base would be");
    if (listed && n)
        return gp_fail(err, GP_E_USAGE, -1, "'%s' is on no side: --base and --current name all files",
                       args[0]);
    if (listed) {
        take_files(j, (const char *const *)o->base.at, o->base.n);
        take_files(j, (const char *const *)o->current.at, o->current.n);
        j->n_base = o->base.n;
    } else if (o->against || (o->save && n == 1)) {
        take_files(j, args, n);
    } else if (n == 2) {
        take_files(j, args, n);
        j->n_base = 1;
    } else {
        return gp_fail(err, GP_E_USAGE, -1,
                       "two traces are needed, BASE and CUR; several go behind --base and --current");
    }
    if (j->parts.n == j->n_base) return gp_fail(err, GP_E_USAGE, -1, "nothing to compare the baseline with");
    if (!j->n_base && !o->against && !o->save) return gp_fail(err, GP_E_USAGE, -1, "there is no baseline");
    return check_standard_input(j, err);
}

/* ---- what is told on standard error ---- */

/* The text says it itself. */
static bool is_text(const struct job *j)
{
    return !strcmp(j->opts->common.format, "text") && !j->opts->common.output;
}

static void tell_quality(const struct job *j)
{
    struct gp_report r = {0};
    if (j->opts->common.quiet || (is_text(j) && isatty(STDOUT_FILENO))) return;
    gp_inputs_say(&r, &j->diff.strings, j->diff.inputs.at, j->diff.inputs.n, true);
    for (size_t i = 0; i < r.quality.n; i++) gp_cli_warn(j->tool, "%s", r.quality.at[i].text);
    gp_report_release(&r);
}

static void tell_inputs(const struct job *j)
{
    const struct gp_diff *d = &j->diff;
    for (size_t i = 0; i < d->inputs.n; i++) {
        const struct gp_input_quality *in = &d->inputs.at[i];
        gp_cli_warn(j->tool, "%s: %s: %s, compression %s: %" PRIu64 " events, %" PRIu64 " of the GPU, %s",
                    i < d->n_base_inputs ? "baseline" : "current", gp_diff_str(d, in->path),
                    gp_diff_str(d, in->format), gp_diff_str(d, in->compression), in->events, in->gpu_events,
                    gp_diff_str(d, in->verdict));
    }
}

/* Why the exit status is not 0; standard output may go where nobody looks. */
static void tell_verdict(const struct job *j)
{
    struct gp_report r = {0};
    if (!gp_diff_status(&j->diff) || (j->opts->common.quiet && j->diff.comparable) || is_text(j)) return;
    gp_diff_tell(&r, &j->diff);
    for (size_t i = 0; i < r.verdict.n; i++)
        if (r.verdict.at[i].tone == GP_TONE_BAD) gp_cli_warn(j->tool, "%s", r.verdict.at[i].text);
    gp_report_release(&r);
}

/* ---- writing ---- */

static size_t top_of(const struct job *j, size_t otherwise)
{
    return j->opts->top != TOP_UNSET ? (size_t)j->opts->top : otherwise;
}

/* "a.json -> b.json" */
static void put_names(const struct job *j, struct gp_buf *b)
{
    for (size_t side = 0; side < 2; side++) {
        size_t first = side ? j->n_base : 0, n = side ? j->parts.n - j->n_base : j->n_base;
        if (side) gp_buf_puts(b, " \xE2\x86\x92 ");
        if (!side && j->opts->against) {
            gp_buf_puts(b, j->opts->against);
            continue;
        }
        const char *path = n ? j->parts.at[first].path : "", *slash = strrchr(path, '/');
        gp_buf_puts(b, slash && slash[1] ? slash + 1 : path);
        if (n > 1) gp_buf_printf(b, " and %zu more", n - 1);
    }
}

/* The options that the answer depends on, as typed. */
static void put_options(const struct job *j, struct gp_buf *b)
{
    const struct opts *o = j->opts;
    if (strcmp(o->by, "kernel") != 0) gp_buf_printf(b, " --by %s", o->by);
    if (strcmp(o->mode, "test") != 0) gp_buf_printf(b, " --mode %s --threshold %g%%", o->mode, o->threshold);
    if (o->alpha) gp_buf_printf(b, " --alpha %s", o->alpha);
    for (size_t i = 0; i < o->gates.n; i++) gp_buf_printf(b, " --gate %s", o->gates.at[i]);
    if (o->gate_wall_single) gp_buf_puts(b, " --gate-wall-single");
    if (o->require_power) gp_buf_puts(b, " --require-power");
    if (o->cross_gpu) gp_buf_puts(b, " --cross-gpu");
    if (o->any_work) gp_buf_puts(b, " --any-work");
    if (o->whole) gp_buf_puts(b, " --whole");
    if (o->step_marker) gp_buf_printf(b, " --step-marker %s", o->step_marker);
    if (o->classes) gp_buf_printf(b, " --classes %s", o->classes);
}

static void write_text(const struct job *j, struct gp_buf *b)
{
    const struct opts *o = j->opts;
    struct gp_report r = {0};
    gp_diff_report(&r, &j->diff, &(struct gp_diff_report_opts){.top = top_of(j, TOP), .brief = true});
    struct gp_report_text_opts to = {.color = gp_cli_color(&o->common, o->common.output ? -1 : STDOUT_FILENO),
                                     .verdict_first = true};
    gp_report_text_write(b, &r, &to);
    gp_report_release(&r);
}

static void write_page(const struct job *j, struct gp_buf *b)
{
    struct gp_report r = {0};
    struct gp_buf json = {0}, typed = {0}, names = {0};
    gp_diff_report(&r, &j->diff, &(struct gp_diff_report_opts){.top = top_of(j, TOP_HTML)});
    gp_diff_json_write(&json, &j->diff, &(struct gp_diff_json_opts){.version = GP_VERSION});
    put_options(j, &typed);
    put_names(j, &names);
    gp_diff_html_write(
        b, &j->diff, &r,
        &(struct gp_diff_html_opts){
            .input = gp_buf_str(&names), .options = gp_buf_str(&typed), .json = json.data, .json_n = json.n});
    gp_buf_release(&json);
    gp_buf_release(&typed);
    gp_buf_release(&names);
    gp_report_release(&r);
}

static void write_picture(const struct job *j, struct gp_buf *b)
{
    struct gp_buf names = {0};
    put_names(j, &names);
    if (!strcmp(j->opts->view, "waterfall")) {
        gp_diff_waterfall_svg(b, &j->diff, top_of(j, 0), gp_buf_str(&names));
    } else {
        int side = !strcmp(j->opts->view, "flame") ? GP_DIFF_CUR : GP_DIFF_BASE;
        gp_diff_flame_svg(b, &j->diff,
                          &(struct gp_diff_flame_opts){.side = side, .input = gp_buf_str(&names)});
    }
    gp_buf_release(&names);
}

static int write_result(const struct job *j, struct gp_err *err)
{
    const char *format = j->opts->common.format;
    struct gp_buf b = {0};
    struct gp_output *out = gp_output_open(j->opts->common.output, err);
    if (!out) return -1;
    if (!strcmp(format, "json"))
        gp_diff_json_write(&b, &j->diff, &(struct gp_diff_json_opts){.version = GP_VERSION});
    else if (!strcmp(format, "html")) write_page(j, &b);
    else if (!strcmp(format, "svg")) write_picture(j, &b);
    else if (!strcmp(format, "folded")) gp_diff_folded_write(&b, &j->diff);
    else if (!strcmp(format, "dot")) gp_diff_dot(&b, &j->diff, top_of(j, 0));
    else write_text(j, &b);
    gp_output_write(out, b.data, b.n);
    gp_buf_release(&b);
    return gp_output_close(out, true, err);
}

/* ---- the work ---- */

typedef GP_VEC(const struct gp_profile *) profiles;

static void compare(struct job *j)
{
    const struct opts *o = j->opts;
    profiles base = {0}, cur = {0};
    for (size_t i = 0; i < j->saved.n; i++) GP_VEC_PUSH(&base, &j->saved.at[i]);
    for (size_t i = 0; i < j->parts.n; i++)
        if (i < j->n_base) GP_VEC_PUSH(&base, &j->parts.at[i].p);
        else GP_VEC_PUSH(&cur, &j->parts.at[i].p);
    gp_diff_init(&j->diff, &(struct gp_diff_opts){
                               .by = !strcmp(o->by, "op")      ? GP_DIFF_BY_OP
                                     : !strcmp(o->by, "range") ? GP_DIFF_BY_RANGE
                                                               : GP_DIFF_BY_KERNEL,
                               .mode = !strcmp(o->mode, "simple") ? GP_DIFF_SIMPLE : GP_DIFF_TEST,
                               .alpha = j->alpha,
                               .threshold_pct = o->threshold,
                               .gates = j->gates.at,
                               .n_gates = j->gates.n,
                               .gate_none = j->gate_none,
                               .gate_wall_single = o->gate_wall_single,
                               .require_power = o->require_power,
                               .cross_gpu = o->cross_gpu,
                               .any_work = o->any_work,
                               .expects = o->expect ? &j->expects : NULL,
                           });
    gp_diff_run(&j->diff, base.at, base.n, cur.at, cur.n);
    GP_VEC_FREE(&base);
    GP_VEC_FREE(&cur);
}

static int save_current(struct job *j, struct gp_err *err)
{
    for (size_t i = j->n_base; i < j->parts.n; i++)
        if (gp_baseline_save(j->opts->folder, j->opts->save, &j->parts.at[i].p, err)) return -1;
    return 0;
}

/* An empty trace would compare well with everything. */
static int check_saved(const struct job *j, struct gp_err *err)
{
    for (size_t i = j->n_base; i < j->parts.n; i++)
        if (!j->parts.at[i].p.events.n)
            return gp_fail(err, GP_E_FORMAT, -1, "%s: no GPU events, so it is no baseline",
                           j->parts.at[i].path);
    return 0;
}

static int run(struct job *j, int *status, struct gp_err *err)
{
    const struct opts *o = j->opts;
    if (sort_files(j, err) || read_gates(j, err) || read_alpha(j, err)) return -1;
    if ((o->save || o->against) && !o->folder)
        return gp_fail(err, GP_E_USAGE, -1, "--%s: --baseline-dir must say where",
                       o->save ? "save" : "against");
    if (o->save && gp_baseline_check_name(o->save, err)) return gp_err_context(err, "--save");
    if (o->classes && read_classes(j, err)) return -1;
    if (o->expect && read_predictions(j, err)) return -1;
    if (o->against && gp_baseline_load(&j->saved, o->folder, o->against, err)) return -1;
    if (read_files(j, err)) return -1;
    if (j->n_base || o->against) {
        compare(j);
        *status = gp_diff_status(&j->diff);
        if (o->common.verbose) tell_inputs(j);
        tell_quality(j);
        tell_verdict(j);
        if (write_result(j, err)) return -1;
    }
    if (!o->save || *status) return 0;
    return check_saved(j, err) || save_current(j, err) ? -1 : 0;
}

static void release(struct job *j)
{
    gp_diff_release(&j->diff);
    for (size_t i = 0; i < j->parts.n; i++) gp_profile_release(&j->parts.at[i].p);
    GP_VEC_FREE(&j->parts);
    GP_VEC_FREE(&j->gates);
    gp_baseline_release(&j->saved);
    gp_expects_release(&j->expects);
    gp_classes_release(&j->classes);
}

static void release_opts(struct opts *o)
{
    GP_VEC_FREE(&o->base);
    GP_VEC_FREE(&o->current);
    GP_VEC_FREE(&o->gates);
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-diff",
        .summary = "tell what changed between two traces, and whether it is real",
        .operands = "[BASE CUR]",
        .example = "trace-diff before.json.gz after.json.gz\n"
                   "trace-diff --gate op:5% --gate launches:0 main.trace branch.trace\n"
                   "trace-diff -f html -o diff.html --base a?.trace --current b?.trace\n",
        .options = options,
        .format_name = format_name,
        .max_operands = -1,
    };
    struct opts o = {.common.format = "text",
                     .by = "kernel",
                     .mode = "test",
                     .view = "waterfall",
                     .threshold = 5,
                     .top = TOP_UNSET};
    struct gp_err err = {0};
    int status = GP_EXIT_OK;
    if (gp_cli_parse(&tool, argc, argv, &o)) {
        release_opts(&o);
        return tool.status;
    }
    struct job j = {.tool = &tool,
                    .opts = &o,
                    .lock = PTHREAD_MUTEX_INITIALIZER,
                    .profile_opts = {.step_marker = o.step_marker, .no_steps = o.whole}};
    if (run(&j, &status, &err)) {
        gp_cli_error(&tool, &err);
        status = GP_EXIT_ERROR;
    }
    release(&j);
    release_opts(&o);
    return status;
}
