/* trace2timeline -- any GPU trace in; a timeline to look at out. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analyze/view/activity.h"
#include "analyze/view/quality_line.h"
#include "analyze/names/classify.h"
#include "analyze/hta/hta.h"
#include "analyze/lanes/lanes.h"
#include "analyze/names/names.h"
#include "formats/base/amount.h"
#include "formats/base/cli.h"
#include "formats/base/input.h"
#include "formats/base/output.h"
#include "formats/base/scale.h"
#include "formats/reader.h"
#include "formats/writer.h"
#include "render/timeline/timeline_html.h"
#include "render/timeline/timeline_pack.h"
#include "render/timeline/timeline_svg.h"

enum { MAX_WORKERS = 8, MAX_THREADS = 64, MAX_CLASSES_FILE = 1 << 20, MOST_WINDOWS = 10000 };
enum { MIN_WIDTH = 480, MAX_WIDTH = 32768 };

struct opts {
    struct gp_common_opts common;
    const char *range, *steps, *step_marker, *detail, *classes, *title;
    uint64_t max_size, width;
    bool no_args;
};

static const char *format_name(size_t i)
{
    static const char *const names[] = {"html", "svg", "chrome", NULL};
    return names[i];
}

static const struct gp_option options[] = {
    {'r', "range", "FROM-TO", "only this time after the first event, such as 12ms-14ms", GP_OPT_STRING,
     offsetof(struct opts, range)},
    {'s', "steps", "N|N-M", "only these steps, by the numbers in their names", GP_OPT_STRING,
     offsetof(struct opts, steps)},
    {0, "step-marker", "REGEX", "ranges that are steps (default: found by themselves)", GP_OPT_STRING,
     offsetof(struct opts, step_marker)},
    {0, "max-size", "SIZE", "largest page; what passes it is told by an overview (default: 64M)", GP_OPT_UINT,
     offsetof(struct opts, max_size)},
    {0, "detail", "LIST", "where all events stay then: steps:N, gaps:N, FROM-TO (default: steps:20,gaps:200)",
     GP_OPT_STRING, offsetof(struct opts, detail)},
    {0, "no-args", NULL, "leave out what was recorded beside names and times", GP_OPT_FLAG,
     offsetof(struct opts, no_args)},
    {0, "classes", "FILE", "rules that say which kernels are of which class: lines of REGEX CLASS",
     GP_OPT_STRING, offsetof(struct opts, classes)},
    {0, "title", "TEXT", "heading of the page or picture", GP_OPT_STRING, offsetof(struct opts, title)},
    {0, "width", "PIXELS", "width of the SVG picture (default: 1200)", GP_OPT_UINT,
     offsetof(struct opts, width)},
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct gp_tool *tool;
    const struct opts *opts;
    int threads;
    const char *path, *title;
    struct gp_classes classes;
    struct gp_trace t;
    struct gp_view v;
    struct gp_hta h;
    struct gp_lanes l;
    struct gp_timeline_window view; /* what was asked for; equal: all */
    GP_VEC(struct gp_timeline_window) windows;
};

/* ---- words to times ---- */

/* "12ms-14ms", "12ms-", "-14ms": times after the first event. */
static int parse_range(const struct job *j, const char *option, const char *text, size_t n,
                       struct gp_timeline_window *w, struct gp_err *err)
{
    char words[128];
    int64_t origin = gp_lanes_origin(&j->t), from = 0, to = INT64_MAX / 4;
    const char *dash = memchr(text, '-', n);
    if (!dash || n >= sizeof words)
        return gp_fail(err, GP_E_USAGE, -1, "--%s: '%.*s' is no range of time: 12ms-14ms", option,
                       (int)(n < 60 ? n : 60), text);
    memcpy(words, text, n);
    words[n] = '\0';
    words[dash - text] = '\0';
    const char *end = words + (dash - text) + 1;
    if (words[0] && gp_parse_duration(words, &from, err)) return gp_err_context(err, "--%s", option);
    if (end[0] && gp_parse_duration(end, &to, err)) return gp_err_context(err, "--%s", option);
    if (from >= to)
        return gp_fail(err, GP_E_USAGE, -1, "--%s: '%.*s' ends before it begins", option, (int)n, text);
    int64_t most = INT64_MAX / 2;
    w->begin_ns = from > most - origin && origin > 0 ? most : origin + from;
    w->end_ns = to > most - origin && origin > 0 ? most : origin + to;
    return 0;
}

/* The number at the end of a step's name; false: it has none. */
static bool number_of(const char *name, uint64_t *number)
{
    size_t n = strlen(name), i = n;
    while (i && isdigit((unsigned char)name[i - 1])) i--;
    if (i == n || n - i > 18) return false;
    *number = strtoull(name + i, NULL, 10);
    return true;
}

static void widen(struct gp_timeline_window *w, int64_t begin_ns, int64_t end_ns)
{
    if (w->begin_ns == w->end_ns) *w = (struct gp_timeline_window){begin_ns, end_ns};
    if (begin_ns < w->begin_ns) w->begin_ns = begin_ns;
    if (end_ns > w->end_ns) w->end_ns = end_ns;
}

/* From the host's side of the first step to the end of the last one on any device. */
static int find_steps(struct job *j, struct gp_err *err)
{
    const char *text = j->opts->steps;
    char *end;
    uint64_t from = strtoull(text, &end, 10), to = from, number;
    bool good = isdigit((unsigned char)text[0]);
    if (good && *end == '-') {
        good = isdigit((unsigned char)end[1]);
        to = strtoull(end + 1, &end, 10);
    }
    if (!good || *end || to < from)
        return gp_fail(err, GP_E_USAGE, -1, "--steps: '%s' is no step and no range of steps: 3 or 3-5", text);
    for (size_t i = 0; i < j->h.steps.n; i++) {
        const struct gp_hta_step *s = &j->h.steps.at[i];
        if (!number_of(gp_hta_str(&j->h, s->name), &number) || number < from || number > to) continue;
        widen(&j->view, s->begin_ns, s->end_ns);
        if (s->host_end_ns > s->host_begin_ns) widen(&j->view, s->host_begin_ns, s->host_end_ns);
    }
    if (j->view.begin_ns < j->view.end_ns) return 0;
    if (!j->h.steps.n) return gp_fail(err, GP_E_USAGE, -1, "--steps: no steps were found in the trace");
    return gp_fail(err, GP_E_USAGE, -1, "--steps: no step has such a number; the first of %zu is '%s'",
                   j->h.steps.n, gp_hta_str(&j->h, j->h.steps.at[0].name));
}

/* ---- what keeps its events in a page that cannot hold all ---- */

static int longest_first(const void *a, const void *b)
{
    const struct gp_timeline_window *x = a, *y = b;
    int64_t dx = x->end_ns - x->begin_ns, dy = y->end_ns - y->begin_ns;
    if (dx != dy) return dx > dy ? -1 : 1;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* The longest of many: now and then all but the N longest of what was taken go. */
struct longest {
    GP_VEC(struct gp_timeline_window) all;
    size_t n;
    int64_t least_ns; /* what is no longer does not belong to them */
};

static void keep_longest(struct longest *g)
{
    if (g->all.n) qsort(g->all.at, g->all.n, sizeof *g->all.at, longest_first);
    if (g->all.n > g->n) g->all.n = g->n;
    if (g->all.n && g->all.n == g->n) g->least_ns = g->all.at[g->n - 1].end_ns - g->all.at[g->n - 1].begin_ns;
}

static void consider(struct longest *g, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns - begin_ns <= g->least_ns) return;
    GP_VEC_PUSH(&g->all, ((struct gp_timeline_window){begin_ns, end_ns}));
    if (g->all.n > 8 * g->n + 1024) keep_longest(g);
}

/* Append them, with an eighth of their length at both sides. */
static void take_longest(struct job *j, struct longest *g)
{
    keep_longest(g);
    for (size_t i = 0; i < g->all.n && j->windows.n < MOST_WINDOWS; i++) {
        const struct gp_timeline_window *w = &g->all.at[i];
        int64_t more = (w->end_ns - w->begin_ns) / 8;
        GP_VEC_PUSH(&j->windows, ((struct gp_timeline_window){w->begin_ns - more, w->end_ns + more}));
    }
    GP_VEC_FREE(&g->all);
}

static void take_steps(struct job *j, uint64_t n)
{
    struct longest g = {.n = (size_t)n};
    for (size_t i = 0; i < j->h.steps.n; i++)
        if (!j->h.steps.at[i].partial) consider(&g, j->h.steps.at[i].begin_ns, j->h.steps.at[i].end_ns);
    take_longest(j, &g);
}

static void take_gaps(struct job *j, uint64_t n)
{
    struct longest g = {.n = (size_t)n};
    const struct gp_lanes_gap *gaps = j->l.gaps.at;
    for (size_t i = 0, next; i < j->l.gaps.n; i = next) { /* pieces that touch are one gap */
        for (next = i + 1; next < j->l.gaps.n && gaps[next].begin_ns == gaps[next - 1].end_ns; next++)
            continue;
        consider(&g, gaps[i].begin_ns, gaps[next - 1].end_ns);
    }
    take_longest(j, &g);
}

/* WORD is "steps:" or "gaps:"; what follows must be a number. */
static bool parse_count(const char *text, size_t n, const char *word, uint64_t *count)
{
    size_t len = strlen(word);
    if (n <= len || n > len + 6 || strncmp(text, word, len)) return false;
    *count = 0;
    for (size_t i = len; i < n; i++) {
        if (!isdigit((unsigned char)text[i])) return false;
        *count = *count * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

static int find_windows(struct job *j, struct gp_err *err)
{
    for (const char *at = j->opts->detail; at && *at;) {
        const char *end = strchr(at, ',');
        size_t n = end ? (size_t)(end - at) : strlen(at);
        struct gp_timeline_window w = {0, 0};
        uint64_t count;
        if (parse_count(at, n, "steps:", &count)) take_steps(j, count);
        else if (parse_count(at, n, "gaps:", &count)) take_gaps(j, count);
        else if (parse_range(j, "detail", at, n, &w, err)) return -1;
        else GP_VEC_PUSH(&j->windows, w);
        at += n + (end != NULL);
    }
    return 0;
}

/* ---- reading ---- */

static int read_classes(struct job *j, struct gp_err *err)
{
    struct gp_buf text = {0};
    int failed = gp_input_all(j->opts->classes, MAX_CLASSES_FILE, &text, err);
    if (!failed && gp_classes_parse(&j->classes, text.n ? text.data : "", text.n, err))
        failed = gp_err_context(err, "%s", j->opts->classes);
    gp_buf_release(&text);
    return failed;
}

static void tell_quality(const struct job *j)
{
    struct gp_buf b = {0};
    gp_quality_line(&b, j->t.issues);
    if (b.n) gp_cli_warn(j->tool, "%s: %s", j->t.input.path, gp_buf_str(&b));
    gp_buf_release(&b);
}

static int read_input(struct job *j, struct gp_err *err)
{
    struct gp_progress progress;
    bool chrome = !strcmp(j->opts->common.format, "chrome"), html = !strcmp(j->opts->common.format, "html");
    gp_cli_progress(j->tool, &j->opts->common, &progress);
    struct gp_read_opts o = {.need = chrome ? GP_NEED_ALL
                                            : GP_LANES_NEED | (html && !j->opts->no_args ? GP_NEED_EXTRA : 0),
                             .threads = j->threads,
                             .strict = j->opts->common.strict,
                             .progress = gp_progress_bytes,
                             .progress_ctx = &progress};
    int failed = gp_trace_read(&j->t, j->path, &o, err);
    gp_progress_end(&progress);
    if (failed) return -1;
    if (!j->opts->common.quiet) tell_quality(j);
    if (strcmp(gp_trace_verdict(&j->t), "unusable")) return 0;
    gp_trace_release(&j->t);
    return gp_fail(err, GP_E_FORMAT, -1, "%s: nothing in it can be used", j->path);
}

/* ---- writing ---- */

static void put_share(struct gp_buf *b, const char *what, int64_t part, const struct gp_activity *a)
{
    gp_buf_puts(b, what);
    gp_scale_put_share(b, part, a->span_ns);
}

/* "1.20 s: CPU active 80.1%, GPU active 45.0%, both 40.2%" */
static void put_activity(const struct job *j, struct gp_buf *b)
{
    int64_t begin = gp_lanes_origin(&j->t), end = j->l.end_ns;
    if (j->view.begin_ns < j->view.end_ns) {
        begin = j->view.begin_ns > begin ? j->view.begin_ns : begin;
        end = j->view.end_ns < end ? j->view.end_ns : end;
    }
    struct gp_activity a = gp_activity_of(&j->v, begin, end > begin ? end : begin);
    gp_scale_put(b, GP_UNIT_NS, a.span_ns);
    put_share(b, ": CPU active ", a.cpu_ns, &a);
    put_share(b, ", GPU active ", a.gpu_ns, &a);
    put_share(b, ", both ", a.both_ns, &a);
}

static void tell_lanes(const struct job *j)
{
    const struct gp_lanes *l = &j->l;
    uint64_t crossed = 0, clamped = 0, crowded = 0;
    for (size_t i = 0; i < l->tracks.n; i++) {
        crossed += l->tracks.at[i].crossed;
        clamped += l->tracks.at[i].clamped;
        crowded += l->tracks.at[i].crowded;
    }
    gp_cli_warn(j->tool,
                "events: %zu, tracks: %zu, lanes: %zu, names: %zu, events that cross others: %" PRIu64
                ", that end with what holds them but for rounding: %" PRIu64
                ", without a free lane: %" PRIu64,
                l->n, l->tracks.n, l->lanes.n, l->names.n, crossed, clamped, crowded);
}

static int write_html(struct job *j, const char *facts, struct gp_err *err)
{
    struct gp_timeline tl;
    struct gp_buf line = {0};
    if (find_windows(j, err)) return -1;
    struct gp_timeline_opts o = {.input = j->path,
                                 .max_bytes = j->opts->max_size,
                                 .args = !j->opts->no_args,
                                 .threads = j->threads,
                                 .view = j->view,
                                 .windows = j->windows.at,
                                 .windows_n = j->windows.n};
    struct gp_output *out = gp_output_open(j->opts->common.output, err);
    if (!out) return -1;
    gp_timeline_pack(&tl, &j->l, &o);
    gp_scale_put_count(&line, j->l.n);
    gp_buf_printf(&line, " events \xC2\xB7 %s", facts);
    gp_timeline_html_write(&tl, j->title, gp_buf_str(&line), out);
    if (tl.overview && !j->opts->common.quiet)
        gp_cli_warn(
            j->tool,
            "%s: %zu of %zu events are in the page, the others in an overview: see --max-size and --detail",
            j->path, tl.n, j->l.n);
    else if (tl.args_left_out && !j->opts->common.quiet)
        gp_cli_warn(j->tool, "%s: recorded args are left out: see --max-size", j->path);
    gp_timeline_release(&tl);
    gp_buf_release(&line);
    return gp_output_close(out, true, err);
}

static int write_svg(const struct job *j, const char *facts, struct gp_err *err)
{
    struct gp_buf svg = {0};
    struct gp_output *out = gp_output_open(j->opts->common.output, err);
    if (!out) return -1;
    gp_timeline_svg_write(
        &svg, &j->l,
        &(struct gp_timeline_svg_opts){.title = j->title,
                                       .note = facts,
                                       .begin_ns = j->view.begin_ns,
                                       .end_ns = j->view.end_ns < j->l.end_ns ? j->view.end_ns : j->l.end_ns,
                                       .width = (int)j->opts->width});
    gp_output_write(out, svg.data, svg.n);
    gp_buf_release(&svg);
    return gp_output_close(out, true, err);
}

/* Rows that touch the range; frames and threads stay as they are. */
static void keep_range(struct job *j)
{
    if (j->view.begin_ns >= j->view.end_ns) return;
    for (int table = 0; table < GP_TABLE_COUNT; table++) {
        struct gp_events *e = &j->t.events[table];
        uint8_t *keep = gp_zalloc(e->n + 1);
        for (size_t i = 0; i < e->n; i++) {
            int64_t start = e->start_ns[i];
            keep[i] = start < j->view.end_ns &&
                      (start >= j->view.begin_ns || e->dur_ns[i] > j->view.begin_ns - start);
        }
        gp_events_keep(e, keep);
        free(keep);
    }
}

static int write_chrome(struct job *j, struct gp_err *err)
{
    struct gp_output *out = gp_output_open(j->opts->common.output, err);
    struct gp_write_opts o = {.compression = "none", .plain_name = gp_name_demangle, .threads = j->threads};
    if (!out) return -1;
    keep_range(j);
    gp_writer_find("chrome")->write(&j->t, &o, out);
    return gp_output_close(out, true, err);
}

/* ---- all ---- */

static int write_all(struct job *j, struct gp_err *err)
{
    struct gp_buf facts = {0};
    if (j->opts->steps && find_steps(j, err)) return -1;
    if (j->opts->range && parse_range(j, "range", j->opts->range, strlen(j->opts->range), &j->view, err))
        return -1;
    gp_lanes_build(&j->l, &j->v, &j->h, &(struct gp_lanes_opts){j->view.begin_ns, j->view.end_ns});
    put_activity(j, &facts);
    if (j->opts->common.verbose) tell_lanes(j);
    int failed = 0;
    if (!strcmp(j->opts->common.format, "html")) failed = write_html(j, gp_buf_str(&facts), err);
    else if (!strcmp(j->opts->common.format, "svg")) failed = write_svg(j, gp_buf_str(&facts), err);
    if (!failed && !j->opts->common.quiet) gp_cli_warn(j->tool, "%s: %s", j->path, gp_buf_str(&facts));
    gp_lanes_release(&j->l);
    GP_VEC_FREE(&j->windows);
    gp_buf_release(&facts);
    return failed;
}

static int draw(struct job *j, struct gp_err *err)
{
    if (j->opts->classes && read_classes(j, err)) return -1;
    if (read_input(j, err)) return -1;
    struct gp_hta_opts o = {.step_marker = j->opts->step_marker,
                            .classes = j->opts->classes ? &j->classes : NULL,
                            .per_step = true,
                            .threads = j->threads};
    gp_hta_init(&j->h, &o);
    int failed = gp_hta_add_viewed(&j->h, &j->t, &j->v, err);
    if (!failed) {
        gp_hta_finish(&j->h);
        failed = write_all(j, err);
    }
    gp_view_release(&j->v);
    gp_hta_release(&j->h);
    if (!failed && !strcmp(j->opts->common.format, "chrome")) failed = write_chrome(j, err);
    gp_trace_release(&j->t);
    return failed;
}

static int check_opts(const struct opts *o, struct gp_err *err)
{
    if (o->width && (o->width < MIN_WIDTH || o->width > MAX_WIDTH))
        return gp_fail(err, GP_E_USAGE, -1, "--width: from %d to %d", MIN_WIDTH, MAX_WIDTH);
    if (o->range && o->steps) return gp_fail(err, GP_E_USAGE, -1, "--range and --steps: one of them");
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace2timeline",
        .summary = "draw a GPU trace as a timeline",
        .operands = "[FILE]",
        .example = "gpuprof-collect ./app | trace2timeline > timeline.html\n"
                   "trace2timeline --steps 3-5 -o steps.html kineto.json.gz\n"
                   "trace2timeline -f svg --range 12ms-14ms app.trace > range.svg\n",
        .options = options,
        .format_name = format_name,
        .max_operands = 1,
        .stdin_default = true,
    };
    struct opts o = {.common.format = "html", .max_size = (uint64_t)64 << 20, .detail = "steps:20,gaps:200"};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    struct job j = {.tool = &tool, .opts = &o, .path = tool.nargs ? tool.args[0] : "-"};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t most = cpus < 1 ? 1 : cpus < MAX_WORKERS ? (uint64_t)cpus : MAX_WORKERS;
    if (o.common.threads) most = o.common.threads < MAX_THREADS ? o.common.threads : MAX_THREADS;
    j.threads = (int)most;
    j.title = o.title ? o.title : strcmp(j.path, "-") ? j.path : "standard input";
    struct gp_err err = {0};
    int failed = check_opts(&o, &err) || draw(&j, &err);
    gp_classes_release(&j.classes);
    if (!failed) return GP_EXIT_OK;
    gp_cli_error(&tool, &err);
    return GP_EXIT_ERROR;
}
