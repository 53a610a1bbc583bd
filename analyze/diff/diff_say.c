/* The result in one line, as a person who knows the program would put it, and notes for the reader. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"

/* ---- numbers ---- */

static void put_ns(struct gp_buf *b, int64_t ns)
{
    if (ns < 0) gp_buf_putc(b, '-');
    gp_scale_put(b, GP_UNIT_NS, ns < 0 ? -ns : ns);
}

static void put_change(struct gp_buf *b, int64_t ns)
{
    if (ns > 0) gp_buf_putc(b, '+');
    put_ns(b, ns);
}

/* " (-11.7%)"; nothing where there is no baseline. */
static void put_pct(struct gp_buf *b, double pct)
{
    if (isnan(pct)) return;
    gp_buf_puts(b, " (");
    gp_diff_put_pct(b, pct);
    gp_buf_putc(b, ')');
}

/* ---- parts of the change of the step ---- */

/* What the host did otherwise. */
static bool say_host(struct gp_buf *b, const struct gp_diff *d)
{
    const struct gp_diff_metric *graphs = &d->metrics[GP_METRIC_GRAPHS];
    const struct gp_diff_metric *launches = &d->metrics[GP_METRIC_LAUNCHES];
    const struct gp_diff_metric *syncs = &d->metrics[GP_METRIC_SYNCS];
    const struct gp_diff_metric *blocking = &d->metrics[GP_METRIC_BLOCKING];
    size_t before = b->n;
    bool fewer = launches->side[GP_DIFF_CUR] < launches->side[GP_DIFF_BASE] / 2;
    bool more = launches->side[GP_DIFF_BASE] < launches->side[GP_DIFF_CUR] / 2;
    if ((fewer && graphs->change > 0) || (more && graphs->change < 0))
        gp_buf_printf(b, "; kernels are launched %s (%" PRId64 " launch%s instead of %" PRId64 ")",
                      graphs->change > 0 ? "by CUDA graphs" : "one by one", launches->side[GP_DIFF_CUR],
                      launches->side[GP_DIFF_CUR] == 1 ? "" : "es", launches->side[GP_DIFF_BASE]);
    if (syncs->d.significant)
        gp_buf_printf(b, "; %+" PRId64 " synchronising call%s per %s", syncs->change,
                      llabs(syncs->change) == 1 ? "" : "s", gp_diff_unit_name((enum gp_diff_unit)d->unit));
    if (blocking->d.significant)
        gp_buf_printf(b, "; %+" PRId64 " blocking call%s per %s", blocking->change,
                      llabs(blocking->change) == 1 ? "" : "s", gp_diff_unit_name((enum gp_diff_unit)d->unit));
    return b->n > before;
}

/* GPU time in operations that run as often as before over other grids. */
static int64_t reshaped_ns(const struct gp_diff *d)
{
    int64_t sum = 0;
    for (size_t i = 0; i < d->ops.n; i++)
        if (d->ops.at[i].reshaped && !d->ops.at[i].count_changed)
            sum = gp_add_saturated(sum, d->ops.at[i].side[GP_DIFF_CUR].total_ns);
    return sum;
}

/* Differences in the GPU's kernels. */
static void say_kernels(struct gp_buf *b, const struct gp_diff *d)
{
    const struct gp_diff_metric *events = &d->metrics[GP_METRIC_EVENTS];
    const struct gp_diff_summary *s = &d->summary;
    int64_t reshaped = reshaped_ns(d);
    if (events->change)
        gp_buf_printf(b, "; %" PRId64 " GPU events instead of %" PRId64 "%s", events->side[GP_DIFF_CUR],
                      events->side[GP_DIFF_BASE],
                      s->fused && events->change < 0     ? ": operations are fused"
                      : s->defused && events->change > 0 ? ": operations are no longer fused"
                                                         : "");
    if (reshaped > d->side[GP_DIFF_CUR].gpu_ns / 4 && fabs(d->metrics[GP_METRIC_GPU].change_pct) > 20)
        gp_buf_puts(b, d->metrics[GP_METRIC_GPU].change > 0 ? "; the same kernels over larger grids"
                                                            : "; the same kernels over other grids");
}

/* The largest term, if it is at least a sixth of the whole change. */
static void say_cause(struct gp_buf *b, const struct gp_diff *d)
{
    int64_t step = d->metrics[GP_METRIC_STEP].change;
    if (!step || !d->causes.n) return;
    const struct gp_diff_cause *c = &d->causes.at[0];
    int64_t part = llabs(c->change_ns), whole = llabs(step);
    if (part < whole / 6 || (c->change_ns > 0) != (step > 0)) return;
    gp_buf_puts(b, part < whole / 2 ? ", main cause: " : ": ");
    if (c->sort == GP_CAUSE_IDLE)
        gp_buf_printf(b, "idle time (%s)", gp_idle_cause_text((enum gp_idle_cause)c->index));
    else gp_buf_puts(b, gp_diff_str(d, c->name));
    gp_buf_putc(b, ' ');
    put_change(b, c->change_ns);
}

static bool is_step_known(const struct gp_diff *d)
{
    const struct gp_diff_metric *m = &d->metrics[GP_METRIC_STEP];
    return m->known && !m->refused && m->side[GP_DIFF_BASE];
}

/* "1 run per side", "5 and 1 runs" */
static void put_runs(struct gp_buf *b, const struct gp_diff *d)
{
    uint32_t was = d->side[GP_DIFF_BASE].runs, is = d->side[GP_DIFF_CUR].runs;
    if (was == is) gp_buf_printf(b, "%u run%s per side", (unsigned)is, is == 1 ? "" : "s");
    else gp_buf_printf(b, "%u and %u runs", (unsigned)was, (unsigned)is);
}

/* "step time 35.2 ms -> 39.5 ms (+11.9%), not decided (1 run per side)": a change that is not decided is
 * called so, and a change that is noise does not look like one. */
static void say_whole(struct gp_buf *b, const struct gp_diff *d, enum gp_metric_id id)
{
    const struct gp_diff_metric *m = &d->metrics[id];
    if (id == GP_METRIC_STEP) gp_buf_printf(b, "%s time ", gp_diff_unit_name((enum gp_diff_unit)d->unit));
    else gp_buf_printf(b, "%s ", gp_metric_text(id));
    /* "10.3 ms -> 9.1 ms (-11.7%)" */
    put_ns(b, m->side[GP_DIFF_BASE]);
    gp_buf_puts(b, " -> ");
    put_ns(b, m->side[GP_DIFF_CUR]);
    put_pct(b, m->change_pct);
    if (m->verdict == GP_CHANGE_INCONCLUSIVE) {
        gp_buf_puts(b, ", not decided");
        if (id != GP_METRIC_STEP) return;
        gp_buf_puts(b, " (");
        put_runs(b, d);
        gp_buf_putc(b, ')');
    } else if (m->verdict == GP_CHANGE_NONE && fabs(m->change_pct) >= 1) {
        if (m->d.why) gp_buf_printf(b, ": %s", gp_diff_str(d, m->d.why));
        else gp_buf_printf(b, ", within the noise of %.2g%%", d->noise_pct);
    }
    if (id == GP_METRIC_STEP && m->verdict != GP_CHANGE_NONE && d->summary.by == GP_METRIC_STEP)
        say_cause(b, d);
}

/* Operations of one verdict that weigh enough, as far as there is room: "gemm +20.0 us (+20.0%), 3 more". */
static void say_ops(struct gp_buf *b, const struct gp_diff *d, enum gp_change change)
{
    enum { NAMED = 2 };
    uint32_t n = 0;
    GP_EACH(const struct gp_diff_op, op, d->ops) {
        if (op->change != (uint32_t)change || !gp_diff_op_decides(d, op) || ++n > NAMED) continue;
        gp_buf_printf(b, "%s%s ", n > 1 ? ", " : "", gp_diff_str(d, op->label));
        put_change(b, op->change_ns);
        put_pct(b, op->change_pct);
    }
    if (n > NAMED) gp_buf_printf(b, ", %u more", (unsigned)(n - NAMED));
}

/* What decided: a figure of the whole, or operations. */
static void say_decided(struct gp_buf *b, const struct gp_diff *d)
{
    const struct gp_diff_summary *s = &d->summary;
    bool slower = s->verdict == GP_CHANGE_REGRESSION;
    if (s->by < GP_METRIC_COUNT) say_whole(b, d, (enum gp_metric_id)s->by);
    else say_ops(b, d, slower ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT);
    if (!(slower ? s->faster : s->slower)) return;
    gp_buf_puts(b, slower ? "; faster: " : "; slower: ");
    say_ops(b, d, slower ? GP_CHANGE_IMPROVEMENT : GP_CHANGE_REGRESSION);
}

static void say_headline(struct gp_diff *d)
{
    struct gp_buf b = {0};
    if (d->identical) {
        gp_buf_puts(&b, "both sides contain the same measurements");
    } else {
        say_decided(&b, d);
        if (d->summary.by != GP_METRIC_GPU) {
            gp_buf_puts(&b, "; ");
            say_whole(&b, d, GP_METRIC_GPU);
        }
        if (d->summary.by != GP_METRIC_STEP && is_step_known(d)) { /* its reader asks about the step */
            gp_buf_puts(&b, "; ");
            say_whole(&b, d, GP_METRIC_STEP);
        }
        say_host(&b, d);
        say_kernels(&b, d);
        /* Work done by another algorithm. */
        for (size_t i = 0; i < d->reasons.n; i++)
            if (!strcmp(gp_diff_str(d, d->reasons.at[i].id), "algorithm"))
                gp_buf_printf(&b, "; %s", gp_diff_str(d, d->reasons.at[i].text));
    }
    d->summary.headline = gp_intern_buf(&d->strings, &b);
}

/* ---- notes ---- */

static void note_steps(struct gp_diff *d, int side)
{
    const struct gp_diff_side *s = &d->side[side];
    const char *name = side == GP_DIFF_BASE ? "baseline" : "current trace";
    if (s->steps_other)
        gp_diff_note(d, "other_program", "%u of %u steps of the %s are left out: they ran different kernels",
                     s->steps_other, s->steps_found, name);
    if (s->steps_warm)
        gp_diff_note(d, "warm_up", "the first %u step%s of the %s %s left out as warm-up", s->steps_warm,
                     s->steps_warm == 1 ? "" : "s", name, s->steps_warm == 1 ? "is" : "are");
    if (s->steps_cut)
        gp_diff_note(d, "cut", "%u step%s of the %s %s left out: the trace begins or ends inside",
                     s->steps_cut, s->steps_cut == 1 ? "" : "s", name, s->steps_cut == 1 ? "is" : "are");
    if (s->drifts)
        gp_diff_note(
            d, "unsteady",
            "step times of the %s change to another level during the recording, which their mean hides",
            name);
}

static void find_drift(struct gp_diff_work *w, int side)
{
    size_t n_all = w->side[side].samples.n;
    int64_t *values = gp_alloc((n_all + 1) * sizeof *values);
    size_t n = gp_diff_metric_values(w, side, GP_METRIC_STEP, values), half = n / 2;
    int64_t low[2] = {INT64_MAX, INT64_MAX}, high[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        int part = i >= half;
        if (values[i] < low[part]) low[part] = values[i];
        if (values[i] > high[part]) high[part] = values[i];
    }
    enum { STEPS_LEAST = 10 };
    w->d->side[side].drifts = n >= STEPS_LEAST && (low[1] > high[0] || low[0] > high[1]);
    free(values);
}

static void note_runs(struct gp_diff *d)
{
    const struct gp_diff_metric *m = &d->metrics[GP_METRIC_STEP];
    if (d->identical || !m->known || m->refused || !m->d.within_run) return;
    struct gp_buf runs = {0};
    put_runs(&runs, d);
    gp_diff_note(d, "one_run", "with %s, step, idle and host times are shown, but cannot break a gate",
                 gp_buf_str(&runs));
    gp_buf_release(&runs);
    if (m->d.test == GP_BY_WAITS)
        gp_diff_note(d, "step_waits",
                     "the step time is decided nevertheless: one side makes the GPU wait at calls that the "
                     "other does not make; how long depends on the speed of the host");
    if (m->d.test != GP_BY_SEPARATION) return;
    gp_diff_note(d, "step_apart",
                 "the step time is decided nevertheless: the sides make other calls, and all steps "
                 "differ, by more than the %.3g%% by which runs of one program differ",
                 d->step_bound_pct);
}

/* Where a tenth of the GPU time is concerned. */
static void note_relaunched(struct gp_diff *d)
{
    int64_t sum = 0;
    for (size_t i = 0; i < d->ops.n; i++)
        if (d->ops.at[i].relaunched) sum = gp_add_saturated(sum, d->ops.at[i].side[GP_DIFF_CUR].total_ns);
    if (!sum || sum < d->side[GP_DIFF_CUR].gpu_ns / 10) return;
    gp_diff_note(d, "relaunched",
                 "graphs launch kernels without pauses; this by itself makes short kernels a few percent "
                 "longer or shorter");
}

void gp_diff_say(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        find_drift(w, side);
        note_steps(d, side);
    }
    note_runs(d);
    note_relaunched(d);
    say_headline(d);
}
