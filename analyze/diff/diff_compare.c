/* What must not be compared, and why. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/diff/diff_priv.h"
#include "analyze/view/steps.h"
#include "formats/base/buf.h"

static const char *side_name(int side) { return side == GP_DIFF_BASE ? "baseline" : "current trace"; }

/* ---- nothing there ---- */

static void check_empty(struct gp_diff_work *w, int side)
{
    struct gp_diff *d = w->d;
    const struct gp_diff_group *g = &w->side[side];
    for (size_t i = 0; i < g->n; i++) {
        const struct gp_profile *p = g->profiles[i];
        if (p->events.n) continue;
        gp_diff_reason(d, "no_gpu_events", true, GP_DIFF_ALL_CLASSES,
                       gp_diff_text(d, "the %s has no GPU events: %s", side_name(side),
                                    gp_profile_str(p, p->input.path)));
    }
    if (!g->n)
        gp_diff_reason(d, "no_gpu_events", true, GP_DIFF_ALL_CLASSES,
                       gp_diff_text(d, "there is no %s", side_name(side)));
}

/* More than one in a hundred launches has no record: the sums are too small by an unknown amount. */
static void check_lost(struct gp_diff_work *w, int side)
{
    const struct gp_diff_group *g = &w->side[side];
    for (size_t i = 0; i < g->n; i++) {
        const struct gp_profile *p = g->profiles[i];
        if (!p->lost) continue;
        bool many = p->lost > p->events.n / 100;
        gp_diff_reason(w->d, "lost_records", many, many ? GP_DIFF_ALL_CLASSES : 0,
                       gp_diff_text(w->d, "%" PRIu64 " launches in the %s have no GPU event: %s", p->lost,
                                    side_name(side), gp_profile_str(p, p->input.path)));
    }
}

static void check_input(struct gp_diff_work *w, int side)
{
    const struct gp_diff_group *g = &w->side[side];
    for (size_t i = 0; i < g->n; i++) {
        const struct gp_profile *p = g->profiles[i];
        if (p->input.truncated)
            gp_diff_reason(w->d, "truncated", false, 0,
                           gp_diff_text(w->d, "the %s ends early: %s", side_name(side),
                                        gp_profile_str(p, p->input.path)));
    }
}

/* ---- how it was recorded ---- */

/* Kernels that were measured one by one, after caches were flushed or the launch repeated, are not those of a
 * normal run. */
static void check_counters(struct gp_diff *d)
{
    size_t n = d->n_base_inputs, all[GP_DIFF_SIDES] = {n, d->inputs.n - n}, some[GP_DIFF_SIDES] = {0};
    for (size_t i = 0; i < d->inputs.n; i++)
        some[i < n ? GP_DIFF_BASE : GP_DIFF_CUR] += gp_input_quality_untimed(&d->inputs.at[i], 1);
    if (!d->untimed || (some[0] == all[0] && some[1] == all[1])) return;
    gp_diff_reason(d, "counters", true, GP_DIFF_ALL_CLASSES,
                   gp_diff_text(d,
                                "the GPU was measured kernel by kernel in %zu of %zu traces: compare those "
                                "with each other, or traces without --metrics",
                                some[0] + some[1], d->inputs.n));
}

/* Every trace of both sides against the first one of the baseline. */
static void check_gpu(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    gp_sid first = 0, other = 0;
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        for (size_t i = 0; i < w->side[side].n; i++) {
            const struct gp_profile *p = w->side[side].profiles[i];
            gp_sid gpu = gp_intern_from(&d->strings, &p->strings, p->env.gpu);
            if (!first) first = gpu;
            if (gpu && gpu != first && !other) other = gpu;
        }
    if (!other) return;
    gp_diff_reason(
        d, "gpu_model", !d->opts.cross_gpu, d->opts.cross_gpu ? 0 : GP_DIFF_ALL_CLASSES,
        gp_diff_text(d, "different GPUs: %s and %s", gp_diff_str(d, first), gp_diff_str(d, other)));
}

static void put_flag(struct gp_buf *b, const char *name, bool base, bool cur)
{
    if (base == cur) return;
    if (b->n) gp_buf_puts(b, ", ");
    gp_buf_printf(b, "%s only in the %s", name, base ? "baseline" : "current trace");
}

/* Recording costs host time, so host-dependent times change with the settings. */
static void check_settings(struct gp_diff *d)
{
    const struct gp_profile_env *a = &d->side[GP_DIFF_BASE].env, *b = &d->side[GP_DIFF_CUR].env;
    struct gp_buf text = {0};
    put_flag(&text, "record_shapes", a->record_shapes, b->record_shapes);
    put_flag(&text, "profile_memory", a->profile_memory, b->profile_memory);
    put_flag(&text, "with_flops", a->with_flops, b->with_flops);
    put_flag(&text, "with_stack", a->with_stack, b->with_stack);
    if (a->recorder != b->recorder && a->recorder && b->recorder)
        gp_buf_printf(&text, "%srecorded by %s and by %s", text.n ? ", " : "", gp_diff_str(d, a->recorder),
                      gp_diff_str(d, b->recorder));
    if (text.n)
        gp_diff_reason(d, "capture_settings", false, 1 << GP_METRIC_WALL,
                       gp_diff_text(d, "host times are not compared: %s", gp_buf_str(&text)));
    gp_buf_release(&text);
}

/* Without the version. */
static size_t recorder_name(const char *s) { return strcspn(s, " "); }

/* Each recorder adds to the time of kernels in its own way. */
static void check_recorders(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    const char *first = NULL, *other = NULL;
    for (int side = 0; side < GP_DIFF_SIDES; side++)
        for (size_t i = 0; i < w->side[side].n; i++) {
            const struct gp_profile *p = w->side[side].profiles[i];
            const char *name = gp_profile_str(p, p->env.recorder);
            if (!*name) continue;
            if (!first) first = name;
            if (recorder_name(name) == recorder_name(first) && !memcmp(name, first, recorder_name(name)))
                continue;
            other = name;
        }
    if (!other) return;
    d->two_recorders = true;
    gp_diff_reason(d, "recorders", false, 0,
                   gp_diff_text(d,
                                "two recorders: %.*s and %.*s; GPU times that differ by less than 5%% decide "
                                "nothing, because the recorders differ by that",
                                (int)recorder_name(first), first, (int)recorder_name(other), other));
}

static void check_software(struct gp_diff *d)
{
    const struct gp_profile_env *a = &d->side[GP_DIFF_BASE].env, *b = &d->side[GP_DIFF_CUR].env;
    if (a->driver && b->driver && a->driver / 1000 != b->driver / 1000)
        gp_diff_reason(
            d, "driver", false, 0,
            gp_diff_text(d, "different CUDA drivers: %" PRId64 ".%" PRId64 " and %" PRId64 ".%" PRId64,
                         a->driver / 1000, a->driver % 1000 / 10, b->driver / 1000, b->driver % 1000 / 10));
    if (a->devices != b->devices)
        gp_diff_reason(
            d, "devices", false, 0,
            gp_diff_text(
                d, "different numbers of devices per trace: %u and %u; figures are means over the devices",
                a->devices, b->devices));
    if (a->world_size != b->world_size && a->world_size > 0 && b->world_size > 0)
        gp_diff_reason(d, "world_size", false, 0,
                       gp_diff_text(d, "different job sizes: %d and %d ranks", a->world_size, b->world_size));
}

static void check_steps(struct gp_diff *d)
{
    const struct gp_diff_side *a = &d->side[GP_DIFF_BASE], *b = &d->side[GP_DIFF_CUR];
    if (d->unit == GP_DIFF_PER_TRACE)
        gp_diff_reason(d, "no_steps", false, 0,
                       gp_diff_text(d, "no steps in the %s: whole traces are compared",
                                    a->steps_found && b->steps_found ? "part that is not cut off"
                                    : a->steps_found                 ? "current trace"
                                    : b->steps_found                 ? "baseline"
                                                                     : "traces"));
    else if (a->step_source != b->step_source)
        gp_diff_reason(d, "step_source", false, 0,
                       gp_diff_text(d, "steps were found in different ways: by %s and by %s",
                                    gp_step_source_name((enum gp_step_source)a->step_source),
                                    gp_step_source_name((enum gp_step_source)b->step_source)));
}

void gp_diff_compare(struct gp_diff_work *w)
{
    struct gp_diff *d = w->d;
    uint32_t refused = 0;
    for (int side = 0; side < GP_DIFF_SIDES; side++) {
        check_empty(w, side);
        check_lost(w, side);
        check_input(w, side);
    }
    check_gpu(w);
    check_counters(d);
    gp_diff_check_work(w);
    check_settings(d);
    check_recorders(w);
    check_software(d);
    check_steps(d);
    d->comparable = true;
    for (size_t i = 0; i < d->reasons.n; i++) {
        d->comparable &= !d->reasons.at[i].fatal;
        refused |= d->reasons.at[i].classes;
    }
    for (int m = 0; m < GP_METRIC_COUNT; m++)
        d->metrics[m].refused = refused >> gp_metric_class((enum gp_metric_id)m) & 1;
}
