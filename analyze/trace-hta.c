/* trace-hta -- traces of one GPU or a thousand in; where the time went out. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/names/classify.h"
#include "analyze/hta/hta.h"
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/input.h"
#include "formats/base/output.h"
#include "formats/reader.h"
#include "render/hta/hta_json.h"
#include "render/hta/hta_tables.h"
#include "render/hta/hta_verdict.h"
#include "render/hta/path_dot.h"
#include "render/report/report_csv.h"
#include "render/hta/hta_html.h"
#include "render/report/report_text.h"

enum {
    MAX_CLASSES_FILE = 1 << 20,
    MAX_WORKERS = 8,
    MAX_THREADS = 64,
    AHEAD =
        2, /* traces per worker that may be read and not merged, so that a slow one does not pile up others */
    TOP = 10,
    TOP_HTML = 100,
};
#define MAX_PARTIAL ((size_t)1 << 32)
#define TOP_UNSET   UINT64_MAX

struct opts {
    struct gp_common_opts common;
    const char *table, *step_marker, *repair, *classes, *save_partial, *flame, *timeline;
    uint64_t top;
    bool steps, allow_empty, merge;
};

static const struct gp_option options[] = {
    {'n', "top", "N", "rows of long tables, 0 for all (default: 10; HTML: 100; CSV: all)", GP_OPT_UINT,
     offsetof(struct opts, top)},
    {'t', "table", "NAME", "one table alone; \"help\" lists them (default of CSV: kernels)", GP_OPT_STRING,
     offsetof(struct opts, table)},
    {'s', "steps", NULL, "the figures of every step", GP_OPT_FLAG, offsetof(struct opts, steps)},
    {0, "step-marker", "REGEX", "ranges that are steps (default: found by themselves)", GP_OPT_STRING,
     offsetof(struct opts, step_marker)},
    {0, "repair", "clip|drop|none", "impossible times: mend, leave out, or keep (default: none)",
     GP_OPT_CHOICE, offsetof(struct opts, repair)},
    {0, "classes", "FILE", "rules that say which kernels are of which class: lines of REGEX CLASS",
     GP_OPT_STRING, offsetof(struct opts, classes)},
    {0, "flame", "FILE", "page of trace2flame that the findings of an HTML report link to", GP_OPT_STRING,
     offsetof(struct opts, flame)},
    {0, "timeline", "FILE", "page of trace2timeline that they link to", GP_OPT_STRING,
     offsetof(struct opts, timeline)},
    {0, "allow-empty", NULL, "no GPU events are no error", GP_OPT_FLAG, offsetof(struct opts, allow_empty)},
    {0, "save-partial", "FILE", "save what was read for --merge, and report nothing", GP_OPT_STRING,
     offsetof(struct opts, save_partial)},
    {0, "merge", NULL, "the operands are files of --save-partial", GP_OPT_FLAG, offsetof(struct opts, merge)},
    GP_OPTIONS_COMMON("text|json|csv|html|dot", "text"),
    {0},
};

/* What comes of one operand. */
struct part {
    struct gp_hta h;
    struct gp_err err;
    bool failed, done;
};

struct job {
    const struct gp_tool *tool;
    const struct opts *opts;
    struct gp_classes classes;
    struct gp_hta_opts hta_opts;
    struct gp_hta h;
    const char *const *paths;
    size_t n;
    struct part *parts;
    size_t workers;
    int threads; /* of each worker */
    /* shared by the workers */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next, merged;
    bool stop;
    uint64_t bytes;
    struct gp_progress progress;
};

/* ---- small files ---- */

static int read_classes(struct job *j, struct gp_err *err)
{
    struct gp_buf text = {0};
    int failed = gp_input_all(j->opts->classes, MAX_CLASSES_FILE, &text, err);
    if (!failed && gp_classes_parse(&j->classes, text.n ? text.data : "", text.n, err))
        failed = gp_err_context(err, "%s", j->opts->classes);
    gp_buf_release(&text);
    j->hta_opts.classes = &j->classes;
    return failed;
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

static int add_trace(struct job *j, const char *path, struct gp_hta *h, struct gp_err *err)
{
    struct gp_trace t;
    struct reading r = {.job = j};
    struct gp_read_opts o = {.need = GP_HTA_NEED,
                             .threads = j->threads,
                             .strict = j->opts->common.strict,
                             .progress = j->progress.enabled ? on_bytes : NULL,
                             .progress_ctx = &r};
    if (gp_trace_read(&t, path, &o, err)) return -1;
    int failed = gp_hta_add_trace(h, &t, err);
    gp_trace_release(&t);
    return failed;
}

static int add_partial(const char *path, struct gp_hta *h, struct gp_err *err)
{
    struct gp_buf bytes = {0};
    if (gp_input_all(path, MAX_PARTIAL, &bytes, err)) return -1;
    int failed = gp_hta_load(h, bytes.n ? bytes.data : "", bytes.n, err);
    gp_buf_release(&bytes);
    return failed ? gp_err_context(err, "%s", path) : 0;
}

static void read_part(struct job *j, size_t i)
{
    struct part *p = &j->parts[i];
    gp_hta_init(&p->h, &j->hta_opts);
    p->failed =
        j->opts->merge ? add_partial(j->paths[i], &p->h, &p->err) : add_trace(j, j->paths[i], &p->h, &p->err);
}

/* A worker reads the next operand that nobody has, but not too far before those that are merged. */
static void *work(void *arg)
{
    struct job *j = arg;
    pthread_mutex_lock(&j->lock);
    for (;;) {
        while (!j->stop && j->next < j->n && j->next >= j->merged + AHEAD * j->workers)
            pthread_cond_wait(&j->changed, &j->lock);
        if (j->stop || j->next >= j->n) break;
        size_t i = j->next++;
        pthread_mutex_unlock(&j->lock);
        read_part(j, i);
        pthread_mutex_lock(&j->lock);
        j->parts[i].done = true;
        j->stop |= j->parts[i].failed;
        pthread_cond_broadcast(&j->changed);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* Operands are merged in their order, whoever read them when: the result is the same with any number of threads. */
static int merge_parts(struct job *j, struct gp_err *err)
{
    int failed = 0;
    for (size_t i = 0; i < j->n && !failed; i++) {
        struct part *p = &j->parts[i];
        pthread_mutex_lock(&j->lock);
        while (j->workers > 1 && !p->done) pthread_cond_wait(&j->changed, &j->lock);
        pthread_mutex_unlock(&j->lock);
        if (j->workers <= 1) read_part(j, i);
        if (p->failed) {
            *err = p->err;
            failed = -1;
        } else {
            gp_hta_merge(&j->h, &p->h);
        }
        gp_hta_release(&p->h);
        pthread_mutex_lock(&j->lock);
        j->merged = i + 1;
        j->stop |= failed != 0;
        pthread_cond_broadcast(&j->changed);
        pthread_mutex_unlock(&j->lock);
    }
    return failed;
}

static int read_operands(struct job *j, struct gp_err *err)
{
    pthread_t ids[MAX_WORKERS];
    size_t started = 0;
    j->parts = gp_zalloc(j->n * sizeof *j->parts);
    if (j->workers > 1) {
        while (started < j->workers && !pthread_create(&ids[started], NULL, work, j)) started++;
        if (!started) j->workers = 1; /* the system has no threads left */
    }
    int failed = merge_parts(j, err);
    for (size_t i = 0; i < started; i++) pthread_join(ids[i], NULL);
    for (size_t i = j->merged; i < j->next; i++) gp_hta_release(&j->parts[i].h);
    free(j->parts);
    return failed;
}

/* As many files at once as there are threads, and the threads that are left for the inside of each. */
static void share_threads(struct job *j)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = j->opts->common.threads;
    if (!threads) threads = online < 1 ? 1 : online > MAX_WORKERS ? MAX_WORKERS : (uint64_t)online;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    j->workers = threads < j->n ? (size_t)threads : j->n;
    if (j->workers > MAX_WORKERS) j->workers = MAX_WORKERS;
    j->threads = (int)(threads / j->workers);
}

static int read_inputs(struct job *j, struct gp_err *err)
{
    static const char *const standard_input[] = {"-"};
    j->paths = j->tool->nargs ? j->tool->args : standard_input;
    j->n = j->tool->nargs ? (size_t)j->tool->nargs : 1;
    share_threads(j);
    j->hta_opts.threads = j->threads;
    gp_cli_progress(j->tool, &j->opts->common, &j->progress);
    int failed = read_operands(j, err);
    gp_progress_end(&j->progress);
    return failed;
}

/* ---- what is wrong with the input ---- */

/* On a terminal the text itself says it, in the lines above the verdict. */
static bool says_itself(const struct job *j)
{
    return !strcmp(j->opts->common.format, "text") && !j->opts->table && !j->opts->save_partial &&
           !j->opts->common.output && isatty(STDOUT_FILENO);
}

static void tell_quality(const struct job *j)
{
    struct gp_report r = {0};
    if (j->opts->common.quiet || says_itself(j)) return;
    gp_hta_say_quality(&r, &j->h, true);
    for (size_t i = 0; i < r.quality.n; i++) gp_cli_warn(j->tool, "%s", r.quality.at[i].text);
    gp_report_release(&r);
}

static void tell_inputs(const struct job *j)
{
    const struct gp_hta *h = &j->h;
    for (size_t i = 0; i < h->inputs.n; i++) {
        const struct gp_input_quality *in = &h->inputs.at[i];
        struct gp_buf rank = {0};
        if (in->rank >= 0) gp_buf_printf(&rank, ", rank %" PRId32, in->rank);
        gp_cli_warn(j->tool, "%s: %s, compression %s%s: %" PRIu64 " events, %" PRIu64 " of the GPU, %s",
                    gp_hta_str(h, in->path), gp_hta_str(h, in->format), gp_hta_str(h, in->compression),
                    gp_buf_str(&rank), in->events, in->gpu_events, gp_hta_str(h, in->verdict));
        gp_buf_release(&rank);
    }
}

static uint64_t gpu_events(const struct gp_hta *h)
{
    uint64_t n = 0;
    for (size_t i = 0; i < h->inputs.n; i++) n += h->inputs.at[i].gpu_events;
    return n;
}

static int check_empty(const struct job *j, struct gp_err *err)
{
    if (gpu_events(&j->h) || j->opts->allow_empty) return 0;
    if (j->n > 1) return gp_fail(err, GP_E_FORMAT, -1, "none of %zu inputs has GPU events", j->n);
    return gp_fail(err, GP_E_FORMAT, -1, "%s: no GPU events", j->paths[0]);
}

/* ---- writing ---- */

static void write_report(const struct job *j, struct gp_buf *b)
{
    const struct opts *o = j->opts;
    bool csv = !strcmp(o->common.format, "csv");
    const char *table = csv && !o->table ? "kernels" : o->table;
    struct gp_report r = {0};
    struct gp_hta_report_opts ro = {.top = o->top != TOP_UNSET ? (size_t)o->top
                                           : csv               ? 0
                                                               : TOP,
                                    .steps = o->steps || (table && !strcmp(table, "step_list")),
                                    .brief = true,
                                    .only = table};
    struct gp_report_text_opts to = {.color =
                                         gp_cli_color(&o->common, o->common.output ? -1 : STDOUT_FILENO)};
    gp_hta_report(&r, &j->h, &ro);
    const struct gp_report_table *t = table ? gp_report_find(&r, table) : NULL;
    if (csv) gp_report_csv_write(b, t);
    else if (t) gp_report_text_table(b, t, &to);
    else if (!table) gp_report_text_write(b, &r, &to);
    if (table && !t && !o->common.quiet) gp_cli_warn(j->tool, "%s: this table is empty", table);
    gp_report_release(&r);
}

/* The options that the answer depends on, as typed. */
static void put_options(struct gp_buf *b, const struct opts *o)
{
    if (o->top != TOP_UNSET) gp_buf_printf(b, " --top %" PRIu64, o->top);
    if (o->step_marker) gp_buf_printf(b, " --step-marker %s", o->step_marker);
    if (strcmp(o->repair, "none") != 0) gp_buf_printf(b, " --repair %s", o->repair);
    if (o->classes) gp_buf_printf(b, " --classes %s", o->classes);
}

static void write_page(const struct job *j, struct gp_buf *b)
{
    const struct opts *o = j->opts;
    size_t top = o->top != TOP_UNSET ? (size_t)o->top : TOP_HTML;
    struct gp_report r = {0};
    struct gp_buf json = {0}, typed = {0};
    gp_hta_report(&r, &j->h,
                  &(struct gp_hta_report_opts){.top = top, .steps = true, .step_rows = o->steps ? 0 : top});
    gp_hta_json_write(&json, &j->h,
                      &(struct gp_hta_json_opts){.version = GP_VERSION, .top = top, .steps = o->steps});
    put_options(&typed, o);
    gp_report_html_write(b, &j->h, &r,
                         &(struct gp_report_html_opts){.json = json.data,
                                                       .json_n = json.n,
                                                       .options = gp_buf_str(&typed),
                                                       .flame = j->opts->flame,
                                                       .timeline = j->opts->timeline});
    gp_buf_release(&json);
    gp_buf_release(&typed);
    gp_report_release(&r);
}

static int write_result(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    struct gp_buf b = {0};
    struct gp_output *out = gp_output_open(o->save_partial ? o->save_partial : o->common.output, err);
    if (!out) return -1;
    if (o->save_partial) {
        gp_hta_save(&j->h, &b);
    } else if (!strcmp(o->common.format, "json")) {
        struct gp_hta_json_opts jo = {
            .version = GP_VERSION, .top = o->top != TOP_UNSET ? (size_t)o->top : TOP, .steps = o->steps};
        gp_hta_json_write(&b, &j->h, &jo);
    } else if (!strcmp(o->common.format, "html")) {
        write_page(j, &b);
    } else if (!strcmp(o->common.format, "dot")) {
        gp_path_dot(&b, &j->h, NULL);
    } else {
        write_report(j, &b);
    }
    gp_output_write(out, b.data, b.n);
    gp_buf_release(&b);
    return gp_output_close(out, true, err);
}

static int analyze(struct job *j, struct gp_err *err)
{
    if (j->opts->classes && read_classes(j, err)) return -1;
    gp_hta_init(&j->h, &j->hta_opts);
    int failed = read_inputs(j, err);
    if (!failed && j->opts->common.verbose) tell_inputs(j);
    if (!failed && !j->opts->save_partial) {
        gp_hta_finish(&j->h);
        tell_quality(j);
        failed = check_empty(j, err);
    }
    if (!failed) failed = write_result(j, err);
    gp_hta_release(&j->h);
    gp_classes_release(&j->classes);
    return failed;
}

/* ---- options ---- */

static int check_table(const char *name, struct gp_err *err)
{
    for (size_t i = 0; gp_hta_table_id(i); i++)
        if (!strcmp(gp_hta_table_id(i), name)) return 0;
    return gp_fail(err, GP_E_USAGE, -1, "--table: no table \"%s\"; --table help lists them", name);
}

static int list_tables(struct gp_err *err)
{
    struct gp_output *out = gp_output_open(NULL, err);
    if (!out) return -1;
    for (size_t i = 0; gp_hta_table_id(i); i++) {
        gp_output_write(out, gp_hta_table_id(i), strlen(gp_hta_table_id(i)));
        gp_output_write(out, "\n", 1);
    }
    return gp_output_close(out, true, err);
}

static int check_opts(const struct opts *o, struct gp_err *err)
{
    if (o->table && check_table(o->table, err)) return -1;
    if (o->table && strcmp(o->common.format, "text") != 0 && strcmp(o->common.format, "csv") != 0)
        return gp_fail(err, GP_E_USAGE, -1, "--table: for text and csv alone");
    if ((o->flame || o->timeline) && strcmp(o->common.format, "html") != 0)
        return gp_fail(err, GP_E_USAGE, -1, "--flame and --timeline: for html alone");
    if (o->save_partial && o->common.output)
        return gp_fail(err, GP_E_USAGE, -1,
                       "--save-partial: writes no report, so there is nothing for --output");
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace-hta",
        .summary = "tell where the time of one or many GPUs went",
        .operands = "[FILE...]",
        .example = "gpuprof-collect ./app | trace-hta\n"
                   "trace-hta rank*.json.gz\n"
                   "trace-hta -f csv --table kernels kineto.json.gz > kernels.csv\n",
        .options = options,
        .max_operands = -1,
        .stdin_default = true,
    };
    struct opts o = {.common.format = "text", .repair = "none", .top = TOP_UNSET};
    struct gp_err err = {0};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    struct job j = {.tool = &tool,
                    .opts = &o,
                    .lock = PTHREAD_MUTEX_INITIALIZER,
                    .changed = PTHREAD_COND_INITIALIZER,
                    .hta_opts = {.repair = !strcmp(o.repair, "clip")   ? GP_REPAIR_CLIP
                                           : !strcmp(o.repair, "drop") ? GP_REPAIR_DROP
                                                                       : GP_REPAIR_NONE,
                                 .step_marker = o.step_marker,
                                 .per_step = o.steps}};
    int failed =
        o.table && !strcmp(o.table, "help") ? list_tables(&err) : check_opts(&o, &err) || analyze(&j, &err);
    if (!failed) return GP_EXIT_OK;
    gp_cli_error(&tool, &err);
    return GP_EXIT_ERROR;
}
