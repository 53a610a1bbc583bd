/* trace2flame -- any GPU trace, or folded stacks, in; a flame graph out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/names/classify.h"
#include "analyze/stacks/stacks.h"
#include "analyze/view/quality_line.h"
#include "formats/base/buf.h"
#include "formats/base/cli.h"
#include "formats/base/input.h"
#include "formats/base/output.h"
#include "formats/folded_read.h"
#include "formats/reader.h"
#include "render/flame/flame_html.h"
#include "render/flame/flame_svg.h"
#include "render/flame/folded_write.h"
#include "render/flame/pprof_write.h"
#include "render/flame/speedscope_write.h"

enum {
    SNIFF = 4096,
    MAX_PROFILES = 3,
    MAX_CLASSES_FILE = 1 << 20,
    DEFAULT_FRAMES = 5000,
    MOST_FRAMES = 1000000,
    MAX_CAUSES = 16
};
#define NOT_GIVEN UINT64_MAX
enum { MIN_WIDTH = 320, MAX_WIDTH = 32768 };

struct opts {
    struct gp_common_opts common;
    const char *weight, *filter, *classes, *title; /* NULL: not given */
    int64_t min_duration_ns;
    double group_small_pct;
    uint64_t max_depth, max_frames, width;
    bool ignore_case, invert, raw, api, glue;
};

static const char *format_name(size_t i)
{
    static const char *const names[] = {"svg", "html", "folded", "speedscope", "pprof", NULL};
    return names[i];
}

static const struct gp_option options[] = {
    {'w', "weight", "gpu|cpu|count|bytes|idle",
     "width of a frame: GPU time, CPU time, number of GPU events, bytes moved, GPU idle time by cause "
     "(default: gpu)",
     GP_OPT_CHOICE, offsetof(struct opts, weight)},
    {0, "filter", "REGEX", "only stacks with a frame that matches (POSIX extended)", GP_OPT_STRING,
     offsetof(struct opts, filter)},
    {'i', "ignore-case", NULL, "the filter ignores case", GP_OPT_FLAG, offsetof(struct opts, ignore_case)},
    {0, "min-duration", "TIME", "group GPU events shorter than TIME, such as 10us", GP_OPT_DURATION,
     offsetof(struct opts, min_duration_ns)},
    {0, "max-depth", "N", "draw at most N levels; deeper frames count for the last one", GP_OPT_UINT,
     offsetof(struct opts, max_depth)},
    {0, "group-small", "PCT", "group siblings below PCT percent of the whole", GP_OPT_PERCENT,
     offsetof(struct opts, group_small_pct)},
    {0, "invert", NULL, "leaves first: which stacks lead to each kernel", GP_OPT_FLAG,
     offsetof(struct opts, invert)},
    {0, "raw", NULL, "names as recorded, and every Python frame", GP_OPT_FLAG, offsetof(struct opts, raw)},
    {0, "show-api", NULL, "show runtime calls (cudaLaunchKernel and the like) as frames", GP_OPT_FLAG,
     offsetof(struct opts, api)},
    {0, "show-glue", NULL, "show Python frames that only pass on calls", GP_OPT_FLAG,
     offsetof(struct opts, glue)},
    {0, "classes", "FILE", "rules that say which kernels are of which class: lines of REGEX CLASS",
     GP_OPT_STRING, offsetof(struct opts, classes)},
    {0, "title", "TEXT", "heading of the picture", GP_OPT_STRING, offsetof(struct opts, title)},
    {0, "width", "PIXELS", "width of the picture (default: 1200, fitted to the window where scripts run)",
     GP_OPT_UINT, offsetof(struct opts, width)},
    {0, "max-frames", "N", "draw at most N boxes, the widest (default: 5000; on paper with html: 1000)",
     GP_OPT_UINT, offsetof(struct opts, max_frames)},
    GP_OPTIONS_COMMON,
    {0},
};

struct job {
    const struct gp_tool *tool;
    const struct opts *opts;
    struct gp_read_opts read;
    struct gp_classes classes;
    struct gp_stacks *stacks[MAX_PROFILES];
    enum gp_weight weights[MAX_PROFILES];
    size_t profiles;
    size_t traces, folded; /* inputs */
    bool damaged;
};

static enum gp_weight weight_of(const char *name)
{
    for (int w = 0; w < GP_WEIGHT_COUNT_; w++)
        if (!strcmp(gp_weight_name((enum gp_weight)w), name)) return (enum gp_weight)w;
    return GP_WEIGHT_GPU;
}

static uint64_t max_frames(const struct opts *o)
{
    return o->max_frames == NOT_GIVEN ? DEFAULT_FRAMES : o->max_frames;
}

static enum gp_unit unit_of(enum gp_weight weight)
{
    return weight == GP_WEIGHT_BYTES ? GP_UNIT_BYTES : weight == GP_WEIGHT_COUNT ? GP_UNIT_COUNT : GP_UNIT_NS;
}

/* ---- reading ---- */

static int read_classes(struct job *j, struct gp_err *err)
{
    struct gp_input *in = gp_input_open(j->opts->classes, 1, err);
    if (!in) return -1;
    char *text = gp_alloc(MAX_CLASSES_FILE);
    size_t n = gp_input_read(in, text, MAX_CLASSES_FILE);
    int failed = gp_input_status(in, err);
    gp_input_close(in);
    if (!failed && n == MAX_CLASSES_FILE)
        failed = gp_fail(err, GP_E_LIMIT, -1, "longer than %d bytes", MAX_CLASSES_FILE - 1);
    if (!failed) failed = gp_classes_parse(&j->classes, text, n, err);
    free(text);
    return failed ? gp_err_context(err, "%s", j->opts->classes) : 0;
}

static bool is_format(const struct opts *o, const char *name)
{
    return !strcmp(o->common.format, name);
}

/* The weights of the sets of stacks: one, or those that the format has room for. Where events and bytes stand beside the
 * GPU time there are three sets for a page and two for a profile. */
static void choose_weights(struct job *j)
{
    static const enum gp_weight page[] = {GP_WEIGHT_GPU, GP_WEIGHT_CPU, GP_WEIGHT_IDLE};
    static const enum gp_weight profile[] = {GP_WEIGHT_GPU, GP_WEIGHT_CPU};
    static const enum gp_weight speedscope[] = {GP_WEIGHT_GPU, GP_WEIGHT_COUNT, GP_WEIGHT_BYTES};
    const struct opts *o = j->opts;
    j->weights[0] = weight_of(o->weight ? o->weight : "gpu");
    const enum gp_weight *several = j->weights;
    j->profiles = 1;
    if (is_format(o, "html")) several = page, j->profiles = 3;
    else if (is_format(o, "pprof") && j->weights[0] != GP_WEIGHT_IDLE) several = profile, j->profiles = 2;
    else if (is_format(o, "speedscope") && !o->weight) several = speedscope, j->profiles = 3;
    for (size_t i = 0; i < j->profiles; i++) j->weights[i] = several[i];
}

static int open_stacks(struct job *j, struct gp_err *err)
{
    const struct opts *o = j->opts;
    bool html = is_format(o, "html"), pprof = is_format(o, "pprof");
    if (o->classes && read_classes(j, err)) return -1;
    choose_weights(j);
    for (size_t i = 0; i < j->profiles; i++) {
        struct gp_stacks_opts so = {.weight = j->weights[i],
                                    .min_duration_ns = o->min_duration_ns,
                                    .max_depth =
                                        o->max_depth < UINT32_MAX ? (uint32_t)o->max_depth : UINT32_MAX,
                                    .group_small_pct = o->group_small_pct,
                                    .filter = o->filter,
                                    .filter_ignore_case = o->ignore_case,
                                    .invert = o->invert && !html, /* a page turns them over itself */
                                    .extra = (html || pprof) && j->weights[i] == GP_WEIGHT_GPU,
                                    .places = pprof,
                                    .raw = o->raw,
                                    .show_api = o->api,
                                    .show_python_glue = o->glue,
                                    .classes = o->classes ? &j->classes : NULL};
        j->stacks[i] = gp_stacks_new(&so, err);
        if (!j->stacks[i]) return -1;
    }
    return 0;
}

/* What was wrong with the input, in one line. */
static void tell_quality(struct job *j, const struct gp_trace *t)
{
    struct gp_buf b = {0};
    gp_quality_line(&b, t->issues);
    if (b.n && !j->opts->common.quiet) gp_cli_warn(j->tool, "%s: %s", t->input.path, gp_buf_str(&b));
    j->damaged |= b.n > 0;
    gp_buf_release(&b);
}

static int add_trace(struct job *j, struct gp_input *in, struct gp_err *err)
{
    struct gp_trace t;
    if (gp_trace_read_input(&t, in, &j->read, err)) return -1;
    tell_quality(j, &t);
    int failed = 0;
    if (!strcmp(gp_trace_verdict(&t), "unusable"))
        failed = gp_fail(err, GP_E_FORMAT, -1, "nothing in it can be used");
    if (!failed) gp_stacks_add_trace_to(j->stacks, j->profiles, &t, j->tool->nargs > 1);
    j->traces++;
    gp_trace_release(&t);
    return failed;
}

static void on_stack(void *ctx, const char *stack, size_t n, int64_t weight)
{
    gp_stacks_add_folded(ctx, stack, n, weight);
}

static int add_folded(struct job *j, struct gp_input *in, struct gp_err *err)
{
    struct gp_folded_stats st;
    const char *path = gp_input_path(in);
    if (gp_folded_read(in, on_stack, j->stacks[0], j->read.progress, j->read.progress_ctx, &st, err))
        return -1;
    j->folded++;
    struct gp_err damage = {0};
    bool cut = gp_input_status(in, &damage) != 0;
    if (!cut && !st.bad) return 0;
    j->damaged = true;
    if (j->read.strict && cut) return gp_fail(err, damage.code, damage.offset, "%s", damage.msg);
    if (j->read.strict)
        return gp_fail(err, GP_E_SYNTAX, st.first_bad,
                       "byte %" PRId64 ": lines that are no folded stack: %" PRIu64, st.first_bad, st.bad);
    if (j->opts->common.quiet) return 0;
    if (cut) gp_cli_warn(j->tool, "%s: %s", path, damage.msg);
    if (st.bad)
        gp_cli_warn(j->tool, "%s: lines that are no folded stack: %" PRIu64 " (first at byte %" PRId64 ")",
                    path, st.bad, st.first_bad);
    return 0;
}

static int add_input(struct job *j, const char *path, struct gp_err *err)
{
    struct gp_input *in = gp_input_open(path, j->read.threads, err);
    if (!in) return -1;
    size_t n;
    const uint8_t *head = gp_input_peek(in, SNIFF, &n);
    int failed = gp_folded_sniff(head, n) ? add_folded(j, in, err) : add_trace(j, in, err);
    gp_input_close(in);
    return failed ? gp_err_context(err, "%s", path) : 0;
}

static int read_inputs(struct job *j, struct gp_err *err)
{
    struct gp_progress progress;
    gp_cli_progress(j->tool, &j->opts->common, &progress);
    j->read =
        (struct gp_read_opts){.need = GP_STACKS_NEED,
                              .threads = j->opts->common.threads < 64 ? (int)j->opts->common.threads : 64,
                              .strict = j->opts->common.strict,
                              .progress = gp_progress_bytes,
                              .progress_ctx = &progress};
    int failed = j->tool->nargs ? 0 : add_input(j, "-", err);
    for (int i = 0; i < j->tool->nargs && !failed; i++) failed = add_input(j, j->tool->args[i], err);
    gp_progress_end(&progress);
    return failed;
}

/* ---- writing ---- */

/* The inputs as they were given, for people. */
static void put_inputs(struct gp_buf *b, const struct gp_tool *tool)
{
    if (!tool->nargs) gp_buf_puts(b, "standard input");
    for (int i = 0; i < tool->nargs; i++) {
        if (i) gp_buf_puts(b, ", ");
        gp_buf_puts(b, strcmp(tool->args[i], "-") ? tool->args[i] : "standard input");
    }
}

/* The causes of idle time and their shares, the largest first; equal ones of several devices together. */
static void put_causes(struct gp_buf *b, const struct gp_flame *flame)
{
    struct {
        gp_sid name;
        int64_t weight;
    } causes[MAX_CAUSES];
    int n = 0;
    for (size_t i = 1; i < flame->tree.nodes.n; i++) {
        const struct gp_calltree_node *node = &flame->tree.nodes.at[i];
        const char *name = gp_string(&flame->strings, node->name);
        if (node->kind != GP_FRAME_IDLE || strncmp(name, "idle: ", strlen("idle: "))) continue;
        int k = 0;
        while (k < n && causes[k].name != node->name) k++;
        if (k == n && n == MAX_CAUSES) continue;
        if (k == n) causes[n].name = node->name, causes[n++].weight = 0;
        causes[k].weight += flame->tree.total[i];
    }
    for (int i = 1; i < n; i++) /* the largest first; few */
        for (int k = i; k > 0 && causes[k].weight > causes[k - 1].weight; k--) {
            gp_sid name = causes[k].name;
            int64_t weight = causes[k].weight;
            causes[k] = causes[k - 1];
            causes[k - 1].name = name;
            causes[k - 1].weight = weight;
        }
    for (int i = 0; i < n; i++) {
        if (i) gp_buf_puts(b, ", ");
        gp_buf_puts(b, gp_string(&flame->strings, causes[i].name) + strlen("idle: "));
        gp_buf_putc(b, ' ');
        gp_scale_put_share(b, causes[i].weight, flame->tree.total[GP_CALLTREE_ROOT]);
    }
}

/* What else there is to say of a tree, in a few words. */
static void put_note(const struct job *j, const struct gp_flame *flame, struct gp_buf *note)
{
    const struct gp_stacks_stats *st = &flame->stats;
    if (st->unattributed_weight > 0) {
        gp_scale_put_share(note, st->unattributed_weight, flame->tree.total[GP_CALLTREE_ROOT]);
        gp_buf_puts(note, " without a launch record");
    }
    if (flame->weight == GP_WEIGHT_IDLE && flame->tree.nodes.n) put_causes(note, flame);
    if (j->damaged) gp_buf_puts(note, note->n ? ", input damaged" : "input damaged");
}

/* What to say instead of a picture. */
static const char *empty_text(const struct job *j, const struct gp_flame *flame)
{
    return flame->stats.filtered                          ? "No stack matches the filter"
           : flame->weight == GP_WEIGHT_IDLE && j->traces ? "No device was idle between its GPU events"
           : j->folded && !j->traces                      ? "No stack weighs anything"
                                                          : NULL;
}

/* Folded stacks whose numbers nobody has named. */
static bool is_samples(const struct job *j)
{
    return j->folded && !j->traces && !j->opts->weight;
}

static void write_svg(const struct job *j, const struct gp_flame *flame, struct gp_output *out)
{
    struct gp_buf svg = {0}, inputs = {0}, note = {0};
    bool folded = j->folded && !j->traces;
    put_inputs(&inputs, j->tool);
    put_note(j, flame, &note);
    struct gp_flame_svg_opts so = {
        .title = j->opts->title,
        .measure = is_samples(j) ? "samples" : gp_weight_text(flame->weight),
        .unit = is_samples(j) ? GP_UNIT_COUNT : unit_of(flame->weight),
        .input = gp_buf_str(&inputs),
        .note = note.n ? gp_buf_str(&note) : NULL,
        .empty = empty_text(j, flame),
        .hint = flame->stats.filtered || folded || flame->weight != GP_WEIGHT_GPU
                    ? NULL
                    : "trace2flame --weight cpu shows the time of the host",
        .events = j->traces && flame->weight != GP_WEIGHT_CPU && flame->weight != GP_WEIGHT_IDLE,
        .width = (int)j->opts->width,
        .max_frames = (uint32_t)max_frames(j->opts),
    };
    gp_flame_svg_write(&svg, flame, &so);
    gp_output_write(out, svg.data, svg.n);
    gp_buf_release(&svg);
    gp_buf_release(&inputs);
    gp_buf_release(&note);
}

/* The numbers of folded stacks are what the user says they are, and there is nothing else to see. */
static void write_html(const struct job *j, struct gp_flame *flames, struct gp_output *out)
{
    struct gp_buf html = {0}, inputs = {0}, note = {0};
    bool folded = j->folded && !j->traces;
    enum gp_weight opened = weight_of(j->opts->weight ? j->opts->weight : "gpu");
    put_inputs(&inputs, j->tool);
    put_note(j, &flames[0], &note);
    if (folded) flames[0].weight = opened;
    struct gp_flame_html_opts so = {
        .title = j->opts->title,
        .input = gp_buf_str(&inputs),
        .note = note.n ? gp_buf_str(&note) : NULL,
        .opened = opened,
        .inverted = j->opts->invert,
        .samples = is_samples(j),
        .empty = empty_text(j, &flames[0]),
        .width = (int)j->opts->width,
        .still_frames = j->opts->max_frames == NOT_GIVEN ? 0 : (uint32_t)j->opts->max_frames,
    };
    gp_flame_html_write(&html, flames, folded ? 1 : j->profiles, &so);
    gp_output_write(out, html.data, html.n);
    gp_buf_release(&html);
    gp_buf_release(&inputs);
    gp_buf_release(&note);
}

static void write_speedscope(const struct job *j, const struct gp_flame *flames, struct gp_output *out)
{
    struct gp_speedscope_profile profiles[MAX_PROFILES];
    struct gp_buf name = {0};
    size_t n = 0;
    bool folded = is_samples(j);
    for (size_t i = 0; i < j->profiles; i++) {
        if (i && flames[i].tree.total[GP_CALLTREE_ROOT] == 0) continue;
        profiles[n++] = (struct gp_speedscope_profile){folded ? "samples" : gp_weight_text(j->weights[i]),
                                                       folded ? GP_UNIT_COUNT : unit_of(j->weights[i]),
                                                       &flames[i].tree, &flames[i].strings};
    }
    if (j->opts->title) gp_buf_puts(&name, j->opts->title);
    else put_inputs(&name, j->tool);
    gp_speedscope_write(out, gp_buf_str(&name), profiles, n);
    gp_buf_release(&name);
}

static void write_pprof(const struct job *j, struct gp_flame *flames, struct gp_output *out)
{
    struct gp_buf inputs = {0};
    bool folded = j->folded && !j->traces;
    put_inputs(&inputs, j->tool);
    if (folded) flames[0].weight = weight_of(j->opts->weight ? j->opts->weight : "gpu");
    struct gp_pprof_opts po = {.comment = j->opts->title ? j->opts->title : gp_buf_str(&inputs),
                               .opened = weight_of(j->opts->weight ? j->opts->weight : "gpu"),
                               .samples = is_samples(j)};
    gp_pprof_write(out, flames, folded ? 1 : j->profiles, &po);
    gp_buf_release(&inputs);
}

static void write_flames(const struct job *j, struct gp_flame *flames, struct gp_output *out)
{
    if (is_format(j->opts, "folded")) gp_folded_write(out, &flames[0].tree, &flames[0].strings);
    else if (is_format(j->opts, "speedscope")) write_speedscope(j, flames, out);
    else if (is_format(j->opts, "html")) write_html(j, flames, out);
    else if (is_format(j->opts, "pprof")) write_pprof(j, flames, out);
    else write_svg(j, &flames[0], out);
}

static void tell_stacks(const struct job *j, const struct gp_flame *flame)
{
    const struct gp_stacks_stats *st = &flame->stats;
    gp_cli_warn(j->tool,
                "GPU events: %" PRIu64 ", without a launch record: %" PRIu64 ", filtered out: %" PRIu64
                ", host events that cross others: %" PRIu64 ", launch records seen twice: %" PRIu64
                ", frames: %zu",
                st->gpu_events, st->unattributed, st->filtered, st->overlapping, st->duplicate_corr,
                flame->tree.nodes.n ? flame->tree.nodes.n - 1 : 0);
}

static int draw(struct job *j, struct gp_err *err)
{
    struct gp_flame flames[MAX_PROFILES];
    bool svg = is_format(j->opts, "svg");
    if (open_stacks(j, err) || read_inputs(j, err)) return -1;
    struct gp_output *out = gp_output_open(j->opts->common.output, err);
    if (!out) return -1;
    for (size_t i = 0; i < j->profiles; i++) {
        gp_stacks_finish(j->stacks[i], svg ? (size_t)max_frames(j->opts) : 0, &flames[i]);
        j->stacks[i] = NULL;
    }
    if (j->opts->common.verbose) tell_stacks(j, &flames[0]);
    write_flames(j, flames, out);
    int failed = gp_output_close(out, true, err);
    for (size_t i = 0; i < j->profiles; i++) gp_flame_release(&flames[i]);
    return failed;
}

static int check_opts(const struct opts *o, struct gp_err *err)
{
    if (o->width && (o->width < MIN_WIDTH || o->width > MAX_WIDTH))
        return gp_fail(err, GP_E_USAGE, -1, "--width: from %d to %d", MIN_WIDTH, MAX_WIDTH);
    if (max_frames(o) < 2 || max_frames(o) > MOST_FRAMES)
        return gp_fail(err, GP_E_USAGE, -1, "--max-frames: from 2 to %d", MOST_FRAMES);
    if (o->group_small_pct > 0 && is_format(o, "pprof"))
        return gp_fail(err, GP_E_USAGE, -1, "--group-small: not with --format pprof, whose viewers group");
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_tool tool = {
        .name = "trace2flame",
        .summary = "draw a GPU trace as a flame graph",
        .operands = "[FILE...]",
        .example = "gpuprof-collect ./app | trace2flame > flame.svg\n"
                   "trace2flame --weight count -o launches.svg kineto.json.gz\n"
                   "trace2flame -f folded rank0.trace rank1.trace > stacks.folded\n",
        .options = options,
        .format_name = format_name,
        .max_operands = -1,
        .stdin_default = true,
    };
    struct opts o = {.common.format = "svg", .max_frames = NOT_GIVEN};
    if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
    struct job j = {.tool = &tool, .opts = &o};
    struct gp_err err = {0};
    int failed = check_opts(&o, &err) || draw(&j, &err);
    for (size_t i = 0; i < j.profiles; i++) gp_stacks_free(j.stacks[i]);
    gp_classes_release(&j.classes);
    if (!failed) return GP_EXIT_OK;
    gp_cli_error(&tool, &err);
    return GP_EXIT_ERROR;
}
