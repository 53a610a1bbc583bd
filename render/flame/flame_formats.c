#include "render/flame/flame_formats.h"

#include <inttypes.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "render/flame/flame_priv.h"
#include "render/flame/flame_svg.h"
#include "render/report/report.h"

/* ---- weights ---- */

/* NULL: GPU time. */
static enum gp_weight weight_called(const char *name)
{
    for (int w = 0; name && w < GP_WEIGHT_COUNT_; w++)
        if (!strcmp(gp_weight_name((enum gp_weight)w), name)) return (enum gp_weight)w;
    return GP_WEIGHT_GPU;
}

/* ---- the kind of an answer ---- */

static bool is_folded(const struct gp_flame_answer *a) { return a->folded && !a->traces; }

/* Folded stacks whose numbers have no name. */
static bool is_samples(const struct gp_flame_answer *a) { return is_folded(a) && !a->weight; }

static const char *measure_of(const struct gp_flame_answer *a, enum gp_weight weight)
{
    return is_samples(a) ? "samples" : gp_weight_text(weight);
}

static enum gp_unit unit_in(const struct gp_flame_answer *a, enum gp_weight weight)
{
    return is_samples(a)                                             ? GP_UNIT_COUNT
           : weight == GP_WEIGHT_BYTES                               ? GP_UNIT_BYTES
           : weight == GP_WEIGHT_COUNT || weight == GP_WEIGHT_STALLS ? GP_UNIT_COUNT
                                                                     : GP_UNIT_NS;
}

/* "in 5 steps, 4.30 ms of 30.1 ms (--whole: all); a step takes 860 us (mean of 4 whole steps; median 850
 * us)": the first two times are sums over devices. */
static void put_steps(struct gp_buf *note, const struct gp_stacks_stats *st, bool untimed)
{
    const struct gp_step_stretch *s = &st->slowest;
    gp_buf_printf(note, "in %s step%s", GP_COUNTED(st->steps), st->steps == 1 ? "" : "s");
    if (untimed) {
        gp_buf_puts(note, " (--whole: all)");
        return;
    }
    gp_buf_printf(note, ", %s", GP_NS(st->steps_ns));
    if (st->outside_ns)
        gp_buf_printf(note, " of %s (--whole: all)", GP_NS(gp_add_saturated(st->steps_ns, st->outside_ns)));
    if (!s->whole) return;
    gp_buf_puts(note, "; a step takes ");
    gp_step_time_put(note, s->mean_ns, s->median_ns, s->timed, true);
    gp_buf_putc(note, ')');
    gp_recorder_added_put(note, &st->added);
}

/* Further facts about a tree, in a few words; NULL: none. */
static const char *note_of(const struct gp_flame_answer *a, const struct gp_flame *flame, struct gp_buf *note)
{
    const struct gp_stacks_stats *st = &flame->stats;
    if (st->steps && flame->weight != GP_WEIGHT_CPU) put_steps(note, st, a->untimed);
    if (st->unattributed_weight > 0) {
        if (note->n) gp_buf_puts(note, ", ");
        gp_scale_put_share(note, st->unattributed_weight, flame->tree.total[GP_CALLTREE_ROOT]);
        gp_buf_puts(note, " without a launch record");
    }
    if (flame->weight == GP_WEIGHT_IDLE && flame->tree.nodes.n) {
        if (note->n) gp_buf_puts(note, ", ");
        /* "host 60.0%, sync 40.0%" */
        struct gp_idle_share causes[GP_IDLE_SHARES];
        size_t n = gp_idle_shares(flame, causes);
        for (size_t i = 0; i < n; i++) {
            gp_buf_printf(note, "%s%s ", i ? ", " : "", causes[i].name);
            gp_scale_put_share(note, causes[i].ns, flame->tree.total[GP_CALLTREE_ROOT]);
        }
    }
    if (a->untimed) gp_buf_printf(note, "%s" GP_UNTIMED_TEXT, note->n ? ", " : "");
    if (a->damaged) gp_buf_puts(note, note->n ? ", input damaged" : "input damaged");
    return note->n ? gp_buf_str(note) : NULL;
}

/* A text instead of a picture; NULL: the usual. */
static const char *empty_text(const struct gp_flame_answer *a, const struct gp_flame *flame)
{
    return flame->stats.filtered                          ? "No stack matches the filter"
           : flame->weight == GP_WEIGHT_IDLE && a->traces ? "No device was idle between its GPU events"
           : flame->weight == GP_WEIGHT_STALLS && a->traces
               ? "No samples of stalled warps: record with gpuprof-collect --pc-sample"
           : is_folded(a) ? "No stack weighs anything"
                          : NULL;
}

/* The user names the numbers of folded stacks, of which there is one tree. */
static size_t name_folded(struct gp_flame_answer *a)
{
    if (!is_folded(a)) return a->n;
    a->flames[0].weight = weight_called(a->weight);
    return 1;
}

/* The title, with reservations, for formats that have no notes. */
static const char *called(const struct gp_flame_answer *a, struct gp_buf *b)
{
    gp_buf_puts(b, a->title ? a->title : a->inputs);
    if (a->untimed) gp_buf_puts(b, ": " GP_UNTIMED_TEXT);
    return gp_buf_str(b);
}

/* ---- writers ---- */

static void put_svg(void *answer, struct gp_buf *b)
{
    const struct gp_flame_answer *a = answer;
    const struct gp_flame *flame = &a->flames[0];
    struct gp_buf note = {0};
    bool hint = !flame->stats.filtered && !is_folded(a) && flame->weight == GP_WEIGHT_GPU;
    struct gp_flame_svg_opts o = {
        .title = a->title,
        .measure = measure_of(a, flame->weight),
        .unit = unit_in(a, flame->weight),
        .input = a->inputs,
        .note = note_of(a, flame, &note),
        .empty = empty_text(a, flame),
        .hint = hint ? "trace2flame --weight cpu shows the time of the host" : NULL,
        .events = a->traces && flame->weight != GP_WEIGHT_CPU && flame->weight != GP_WEIGHT_IDLE,
        .width = (int)a->width,
        .max_frames = (uint32_t)gp_answer_rows(gp_answer_format(gp_flame_formats, "svg"), a->max_frames),
    };
    gp_flame_svg_write(b, flame, &o);
    gp_buf_release(&note);
}

static void put_html(void *answer, struct gp_buf *b)
{
    struct gp_flame_answer *a = answer;
    struct gp_buf note = {0};
    struct gp_flame_html_opts o = {
        .title = a->title,
        .input = a->inputs,
        .note = note_of(a, &a->flames[0], &note),
        .opened = weight_called(a->weight),
        .inverted = a->invert,
        .samples = is_samples(a),
        .empty = empty_text(a, &a->flames[0]),
        .width = (int)a->width,
        .still_frames = a->max_frames == GP_ROWS_UNSET ? 0 : (uint32_t)a->max_frames,
    };
    size_t n = name_folded(a);
    gp_flame_html_write(b, a->flames, n, &o);
    gp_buf_release(&note);
}

static void write_folded(void *answer, struct gp_output *to)
{
    const struct gp_flame_answer *a = answer;
    gp_folded_write(to, &a->flames[0].tree, &a->flames[0].strings);
}

GP_PUT_ANSWER(put_hatchet, struct gp_flame_answer,
              gp_hatchet_write(b, &a->flames[0].tree, &a->flames[0].strings))

static void write_speedscope(void *answer, struct gp_output *to)
{
    const struct gp_flame_answer *a = answer;
    struct gp_speedscope_profile profiles[GP_FLAME_WEIGHTS];
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct gp_flame *f = &a->flames[i];
        if (i && f->tree.total[GP_CALLTREE_ROOT] == 0) continue;
        profiles[n++] = (struct gp_speedscope_profile){measure_of(a, f->weight), unit_in(a, f->weight),
                                                       &f->tree, &f->strings};
    }
    struct gp_buf name = {0};
    gp_speedscope_write(to, called(a, &name), profiles, n);
    gp_buf_release(&name);
}

static void write_pprof(void *answer, struct gp_output *to)
{
    struct gp_flame_answer *a = answer;
    struct gp_buf name = {0};
    struct gp_pprof_opts o = {
        .comment = called(a, &name), .opened = weight_called(a->weight), .samples = is_samples(a)};
    size_t n = name_folded(a);
    gp_pprof_write(to, a->flames, n, &o);
    gp_buf_release(&name);
}

/* ---- the table ---- */

const struct gp_answer_format gp_flame_formats[] = {
    {"svg", 5000, GP_FLAME_LIMITED | GP_FLAME_TAKES_GROUPS | GP_FLAME_STEPS, .put = put_svg},
    {"html", 0, GP_FLAME_TIMES | GP_FLAME_EXTRA | GP_FLAME_TURNS | GP_FLAME_TAKES_GROUPS | GP_FLAME_STEPS,
     .put = put_html},
    {"folded", 0, GP_FLAME_TAKES_GROUPS, .write = write_folded},
    {"speedscope", 0, GP_FLAME_FIGURES | GP_FLAME_TAKES_GROUPS, .write = write_speedscope},
    {"pprof", 0, GP_FLAME_PAIR | GP_FLAME_EXTRA | GP_FLAME_PLACES, .write = write_pprof},
    {"hatchet", 0, GP_FLAME_TAKES_GROUPS, .put = put_hatchet},
    {0},
};

int gp_flame_untimed(struct gp_flame_answer *a, const struct gp_answer_format *f, const struct gp_trace *t,
                     struct gp_err *err)
{
    enum gp_weight weight = weight_called(a->weight);
    if (!t->issues[GP_Q_COUNTERS].count) return 0;
    a->untimed = true;
    if (weight == GP_WEIGHT_CPU || weight == GP_WEIGHT_IDLE)
        return gp_fail(err, GP_E_FORMAT, -1, "%s: --weight %s: " GP_UNTIMED_TEXT, t->input.path, a->weight);
    if (f->needs & (GP_FLAME_TIMES | GP_FLAME_PAIR)) a->n = 1;
    return 0;
}

size_t gp_flame_weights(const struct gp_answer_format *f, const char *asked,
                        enum gp_weight weights[GP_FLAME_WEIGHTS])
{
    static const struct {
        unsigned need;
        size_t n;
        enum gp_weight at[GP_FLAME_WEIGHTS];
    } sets[] = {{GP_FLAME_TIMES, 3, {GP_WEIGHT_GPU, GP_WEIGHT_CPU, GP_WEIGHT_IDLE}},
                {GP_FLAME_PAIR, 2, {GP_WEIGHT_GPU, GP_WEIGHT_CPU}},
                {GP_FLAME_FIGURES, 3, {GP_WEIGHT_GPU, GP_WEIGHT_COUNT, GP_WEIGHT_BYTES}}};
    unsigned needs = f->needs;
    weights[0] = weight_called(asked);
    if (asked) needs &= ~(unsigned)GP_FLAME_FIGURES;
    if (weights[0] == GP_WEIGHT_STALLS) return 1;
    if (weights[0] == GP_WEIGHT_IDLE) needs &= ~(unsigned)GP_FLAME_PAIR;
    for (size_t i = 0; i < GP_COUNT(sets); i++) {
        if (!(needs & sets[i].need)) continue;
        memcpy(weights, sets[i].at, sizeof sets[i].at);
        return sets[i].n;
    }
    return 1;
}

void gp_flame_put_stats(struct gp_buf *b, const struct gp_flame *flame)
{
    const struct gp_stacks_stats *st = &flame->stats;
    gp_buf_printf(b,
                  "GPU events: %" PRIu64 ", without a launch record: %" PRIu64 ", filtered out: %" PRIu64
                  ", host events that cross others: %" PRIu64 ", duplicate launch records: %" PRIu64
                  ", frames: %zu",
                  st->gpu_events, st->unattributed, st->filtered, st->overlapping, st->duplicate_corr,
                  flame->tree.nodes.n ? flame->tree.nodes.n - 1 : 0);
}
