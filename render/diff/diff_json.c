#include "render/diff/diff_json.h"

#include <stdio.h>
#include "analyze/names/classify.h"
#include "analyze/view/steps.h"
#include "formats/base/json_write.h"
#include "render/diff/diff_verdict.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"

static const char *const side_names[GP_DIFF_SIDES] = {"baseline", "current"};

struct field {
    char name[48];
};
static struct field field_of(const char *word, const char *unit)
{
    struct field f;
    snprintf(f.name, sizeof f.name, "%s_%s", word, unit);
    return f;
}

/* "ns", "bytes"; names of counts have no unit. */
static struct field metric_field(const char *word, uint32_t metric)
{
    const char *unit = gp_metric_unit((enum gp_metric_id)metric);
    if (unit[0] != 'c') return field_of(word, unit);
    struct field f;
    snprintf(f.name, sizeof f.name, "%s", word);
    return f;
}

/* ---- the sides ---- */

static void put_env(struct gp_doc *o, const struct gp_profile_env *e)
{
    gp_doc_object(o, "environment");
    gp_doc_name(o, "gpu", e->gpu);
    gp_doc_u64(o, "devices", e->devices);
    gp_doc_known(o, "driver", e->driver > 0 ? e->driver : -1);
    gp_doc_known(o, "runtime", e->runtime > 0 ? e->runtime : -1);
    gp_doc_name(o, "recorder", e->recorder);
    gp_doc_name(o, "framework", e->framework);
    gp_doc_name(o, "command", e->command);
    gp_doc_known(o, "world_size", e->world_size);
    gp_doc_bool(o, "record_shapes", e->record_shapes);
    gp_doc_bool(o, "profile_memory", e->profile_memory);
    gp_doc_bool(o, "with_flops", e->with_flops);
    gp_doc_bool(o, "with_stack", e->with_stack);
    gp_doc_end(o, '}');
}

/* A figure that needs times between launches. */
static void put_timed(struct gp_doc *o, const struct gp_diff *d, const char *k, int64_t v)
{
    if (d->untimed) gp_doc_null(o, k);
    else gp_doc_i64(o, k, v);
}

static void put_steps(struct gp_doc *o, const struct gp_diff *d, const struct gp_diff_side *s)
{
    gp_doc_object(o, "steps");
    gp_doc_cstr(o, "source", gp_step_source_name((enum gp_step_source)s->step_source));
    gp_doc_u64(o, "found", s->steps_found);
    gp_doc_u64(o, "used", s->steps_used);
    gp_doc_u64(o, "timed", s->windows);
    gp_doc_u64(o, "cut", s->steps_cut);
    gp_doc_u64(o, "open", s->steps_open);
    gp_doc_u64(o, "warm_up", s->steps_warm);
    gp_doc_u64(o, "other_program", s->steps_other);
    gp_doc_bool(o, "drifts", s->drifts);
    put_timed(o, d, "before_ns", s->before_ns);
    put_timed(o, d, "warm_up_ns", s->warm_up_ns);
    put_timed(o, d, "after_ns", s->after_ns);
    put_timed(o, d, "recorded_ns", s->recorded_ns);
    gp_doc_end(o, '}');
}

static void put_idle(struct gp_doc *o, const struct gp_diff *d, const struct gp_diff_side *s)
{
    if (d->untimed) {
        gp_doc_null(o, "idle");
        return;
    }
    gp_doc_object(o, "idle");
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++)
        gp_doc_i64(o, field_of(gp_idle_cause_name((enum gp_idle_cause)c), "ns").name, s->idle_ns[c]);
    gp_doc_end(o, '}');
}

static void put_side(struct gp_doc *o, const struct gp_diff *d, int side)
{
    const struct gp_diff_side *s = &d->side[side];
    gp_doc_object(o, side_names[side]);
    gp_doc_u64(o, "inputs", side == GP_DIFF_BASE ? d->n_base_inputs : d->inputs.n - d->n_base_inputs);
    gp_doc_u64(o, "runs", s->runs);
    gp_doc_u64(o, "devices", s->lanes);
    put_steps(o, d, s);
    put_timed(o, d, "step_ns", s->step_ns);
    put_timed(o, d, "busy_ns", s->busy_ns);
    gp_doc_i64(o, "gpu_ns", s->gpu_ns);
    gp_doc_known(o, "peak_bytes", s->peak_bytes);
    put_idle(o, d, s);
    put_env(o, &s->env);
    gp_doc_end(o, '}');
}

static void put_total(struct gp_doc *o, const struct gp_diff *d)
{
    const struct gp_diff_metric *m = &d->metrics[GP_METRIC_GPU];
    gp_doc_object(o, "total");
    gp_doc_cstr(o, "unit", gp_diff_unit_name((enum gp_diff_unit)d->unit));
    gp_doc_i64(o, "baseline_ns", m->side[GP_DIFF_BASE]);
    gp_doc_i64(o, "current_ns", m->side[GP_DIFF_CUR]);
    gp_doc_i64(o, "change_ns", m->change);
    gp_doc_real(o, "change_pct", m->change_pct);
    gp_doc_end(o, '}');
}

/* ---- what decided ---- */

static void put_decision(struct gp_doc *o, const struct gp_diff_decision *e)
{
    gp_doc_real(o, "p_value", e->p);
    gp_doc_real(o, "q_value", e->q);
    gp_doc_real(o, "ci_low_pct", e->ci_low_pct);
    gp_doc_real(o, "ci_high_pct", e->ci_high_pct);
    gp_doc_real(o, "estimate_pct", e->estimate_pct);
    gp_doc_bool(o, "significant", e->significant);
    gp_doc_cstr(o, "test", gp_diff_test_name((enum gp_diff_test)e->test));
    gp_doc_u64(o, "baseline_samples", e->n[GP_DIFF_BASE]);
    gp_doc_u64(o, "current_samples", e->n[GP_DIFF_CUR]);
    gp_doc_bool(o, "within_run", e->within_run);
    gp_doc_known(o, "samples_needed", e->needed ? (int64_t)e->needed : -1);
    gp_doc_name(o, "why", e->why);
}

static void put_settings(struct gp_doc *o, const struct gp_diff *d)
{
    gp_doc_object(o, "settings");
    gp_doc_cstr(o, "by", gp_diff_by_name(d->opts.by));
    gp_doc_cstr(o, "mode", gp_diff_mode_name(d->opts.mode));
    gp_doc_real(o, "alpha", d->opts.alpha);
    gp_doc_real(o, "threshold_pct", d->opts.threshold_pct);
    gp_doc_bool(o, "gate_none", d->opts.gate_none);
    gp_doc_bool(o, "gate_wall_single", d->opts.gate_wall_single);
    gp_doc_bool(o, "require_power", d->opts.require_power);
    gp_doc_bool(o, "cross_gpu", d->opts.cross_gpu);
    gp_doc_bool(o, "any_work", d->opts.any_work);
    gp_doc_u64(o, "tested", d->tested);
    gp_doc_u64(o, "least_steps", d->least_steps);
    gp_doc_real(o, "noise_pct", d->noise_pct);
    gp_doc_real(o, "noise_measured_pct", d->noise_measured_pct);
    gp_doc_real(o, "noise_wall_pct", d->noise_wall_pct);
    gp_doc_i64(o, "guard_percall_ns", d->guard_percall_ns);
    gp_doc_real(o, "guard_share_pct", d->guard_share_pct);
    gp_doc_i64(o, "guard_weight_ns", d->guard_weight_ns);
    gp_doc_real(o, "step_bound_pct", d->step_bound_pct);
    gp_doc_i64(o, "tick_ns", d->tick_ns);
    gp_doc_end(o, '}');
}

/* ---- operations ---- */

static void put_figure(struct gp_doc *o, const struct gp_diff *d, const char *k,
                       const struct gp_diff_figure *f)
{
    if (!f->present) {
        gp_doc_null(o, k);
        return;
    }
    gp_doc_object(o, k);
    gp_doc_real(o, "count", f->count);
    gp_doc_i64(o, "total_ns", f->total_ns);
    gp_doc_real(o, "mean_ns", f->mean_ns);
    gp_doc_i64(o, "min_ns", f->min_ns);
    gp_doc_i64(o, "max_ns", f->max_ns);
    put_timed(o, d, "share_ns", f->share_ns);
    gp_doc_u64(o, "calls", f->calls);
    gp_doc_i64(o, "sum_ns", f->sum_ns);
    gp_doc_i64(o, "bytes", f->bytes);
    if (d->opts.by != GP_DIFF_BY_KERNEL) gp_doc_real(o, "host_count", f->host_count);
    gp_doc_sids(o, "names", GP_VEC_FROM(&d->names, f->names), f->n_names);
    gp_doc_end(o, '}');
}

static void put_samples(struct gp_doc *o, const struct gp_diff *d, const struct gp_diff_op *op, int side)
{
    size_t first = op->first_sample + (side == GP_DIFF_CUR ? op->n_samples[GP_DIFF_BASE] : 0);
    gp_doc_list(o, side == GP_DIFF_BASE ? "baseline_samples_ns" : "current_samples_ns");
    for (size_t i = first; i < first + op->n_samples[side] && i < d->samples.n; i++) {
        gp_doc_next(o);
        gp_buf_put_i64(o->b, d->samples.at[i]);
    }
    gp_doc_end(o, ']');
}

static void put_op(struct gp_doc *o, const struct gp_diff *d, const struct gp_diff_op *op)
{
    static const char *const matches[] = {"full_name", "normalised_name", "family"};
    gp_doc_element(o);
    gp_doc_sid(o, "name", op->name);
    gp_doc_cstr(o, "change_type", gp_change_name((enum gp_change)op->change));
    put_figure(o, d, "baseline", &op->side[GP_DIFF_BASE]);
    put_figure(o, d, "current", &op->side[GP_DIFF_CUR]);
    gp_doc_i64(o, "change_ns", op->change_ns);
    gp_doc_real(o, "change_pct", op->change_pct);
    put_decision(o, &op->d);
    gp_doc_sid(o, "label", op->label);
    gp_doc_sid(o, "key", op->key);
    if (d->opts.by == GP_DIFF_BY_KERNEL) {
        gp_doc_cstr(o, "class", gp_class_name(gp_class_of((enum gp_frame_kind)op->kind)));
        gp_doc_cstr(o, "matched_by", matches[op->match <= 2 ? op->match : 2]);
    }
    gp_doc_bool(o, "count_changed", op->count_changed);
    gp_doc_bool(o, "retiled", op->retiled);
    gp_doc_bool(o, "reshaped", op->reshaped);
    gp_doc_bool(o, "relaunched", op->relaunched);
    gp_doc_known(o, "block", op->block == GP_PROFILE_NONE ? -1 : (int64_t)op->block);
    gp_doc_i64(o, "count_effect_ns", op->count_effect_ns);
    gp_doc_i64(o, "percall_effect_ns", op->percall_effect_ns);
    put_timed(o, d, "overlap_effect_ns", op->overlap_effect_ns);
    put_samples(o, d, op, GP_DIFF_BASE);
    put_samples(o, d, op, GP_DIFF_CUR);
    gp_doc_end(o, '}');
}

static void put_metric(struct gp_doc *o, const struct gp_diff_metric *m)
{
    enum gp_metric_id id = (enum gp_metric_id)m->id;
    if (!m->known) return;
    gp_doc_element(o);
    gp_doc_cstr(o, "metric", gp_metric_name(id));
    gp_doc_cstr(o, "class", gp_metric_class_name(gp_metric_class(id)));
    gp_doc_cstr(o, "unit", gp_metric_unit(id));
    gp_doc_cstr(o, "change_type", gp_change_name((enum gp_change)m->verdict));
    gp_doc_i64(o, metric_field("baseline", m->id).name, m->side[GP_DIFF_BASE]);
    gp_doc_i64(o, metric_field("current", m->id).name, m->side[GP_DIFF_CUR]);
    gp_doc_i64(o, metric_field("change", m->id).name, m->change);
    gp_doc_real(o, "change_pct", m->change_pct);
    put_decision(o, &m->d);
    gp_doc_bool(o, "refused", m->refused);
    gp_doc_end(o, '}');
}

/* ---- attribution, blocks ---- */

static void put_cause(struct gp_doc *o, const struct gp_diff *d, const struct gp_diff_cause *c)
{
    static const char *const sorts[] = {
        [GP_CAUSE_OP] = "operation", [GP_CAUSE_IDLE] = "idle", [GP_CAUSE_OTHER] = "other"};
    gp_doc_element(o);
    gp_doc_sid(o, "cause", c->name);
    gp_doc_i64(o, "change_ns", c->change_ns);
    gp_doc_cstr(o, "sort", sorts[c->sort]);
    if (c->sort == GP_CAUSE_IDLE)
        gp_doc_cstr(o, "idle_cause", gp_idle_cause_name((enum gp_idle_cause)c->index));
    else gp_doc_null(o, "idle_cause");
    if (c->sort == GP_CAUSE_OP && c->index < d->ops.n) gp_doc_sid(o, "operation", d->ops.at[c->index].name);
    else gp_doc_null(o, "operation");
    gp_doc_i64(o, "baseline_ns", c->side_ns[GP_DIFF_BASE]);
    gp_doc_i64(o, "current_ns", c->side_ns[GP_DIFF_CUR]);
    gp_doc_end(o, '}');
}

static void put_block(struct gp_doc *o, const struct gp_diff *d, const struct gp_diff_block *k)
{
    gp_doc_element(o);
    gp_doc_cstr(o, "change_type", gp_change_name((enum gp_change)k->change));
    gp_doc_bool(o, "segment", k->segment);
    gp_doc_sid(o, "label", k->label);
    gp_doc_u64(o, "times", k->times);
    for (int s = 0; s < GP_DIFF_SIDES; s++) {
        gp_doc_object(o, side_names[s]);
        gp_doc_real(o, "kernels", k->kernels[s]);
        gp_doc_i64(o, "total_ns", k->side_ns[s]);
        gp_doc_sids(o, "names", GP_VEC_FROM(&d->names, k->first_name[s]), k->n_names[s]);
        gp_doc_end(o, '}');
    }
    gp_doc_i64(o, "change_ns", k->change_ns);
    gp_doc_end(o, '}');
}

/* ---- summary, gates, what else must be known ---- */

static void put_summary(struct gp_doc *o, const struct gp_diff *d)
{
    const struct gp_diff_summary *s = &d->summary;
    struct gp_buf sentence = {0};
    gp_diff_put_sentence(&sentence, d);
    gp_doc_object(o, "summary");
    gp_doc_u64(o, "regressions", s->regressions);
    gp_doc_u64(o, "improvements", s->improvements);
    gp_doc_u64(o, "new", s->added);
    gp_doc_u64(o, "removed", s->removed);
    gp_doc_u64(o, "no_change", s->no_change);
    gp_doc_u64(o, "inconclusive", s->inconclusive);
    gp_doc_u64(o, "fused", s->fused);
    gp_doc_u64(o, "defused", s->defused);
    gp_doc_u64(o, "retiled", s->retiled);
    gp_doc_cstr(o, "verdict", d->comparable ? gp_change_name((enum gp_change)s->verdict) : "not_comparable");
    gp_doc_name(o, "verdict_why", s->verdict_why);
    gp_doc_name(o, "word", s->word);
    gp_doc_bool(o, "mixed", s->mixed);
    gp_doc_name(o, "headline", s->headline);
    gp_doc_cstr(o, "sentence", gp_buf_str(&sentence));
    gp_doc_u64(o, "exit_status", (uint64_t)gp_diff_status(d));
    gp_doc_end(o, '}');
    gp_buf_release(&sentence);
}

static const char *limit_unit(uint32_t metric, bool percent)
{
    if (percent) return "pct";
    return metric < GP_METRIC_COUNT ? gp_metric_unit((enum gp_metric_id)metric) : "ns";
}

static void put_gate(struct gp_doc *o, const struct gp_diff *d, const struct gp_diff_gate *g)
{
    gp_doc_element(o);
    gp_doc_sid(o, "gate", g->text);
    gp_doc_cstr(o, "metric",
                g->metric < GP_METRIC_COUNT ? gp_metric_name((enum gp_metric_id)g->metric) : "op");
    gp_doc_cstr(o, "unit", limit_unit(g->metric, !g->absolute));
    gp_doc_real(o, "limit", g->limit);
    gp_doc_real(o, "value", g->value);
    gp_doc_bool(o, "broken", g->broken);
    gp_doc_bool(o, "undecided", g->undecided);
    if (g->op < d->ops.n) gp_doc_sid(o, "operation", d->ops.at[g->op].name);
    else gp_doc_null(o, "operation");
    gp_doc_u64(o, "operations", g->n_ops);
    gp_doc_name(o, "why", g->why);
    gp_doc_end(o, '}');
}

static void put_prediction(struct gp_doc *o, const struct gp_diff_expect *e)
{
    gp_doc_element(o);
    gp_doc_sid(o, "subject", e->subject);
    gp_doc_cstr(o, "outcome", gp_diff_outcome(e));
    gp_doc_real(o, e->percent ? "low_pct" : "low", e->low);
    gp_doc_real(o, e->percent ? "high_pct" : "high", e->high);
    gp_doc_real(o, e->percent ? "value_pct" : "value", e->value);
    gp_doc_bool(o, "holds", e->holds);
    gp_doc_name(o, "why", e->why);
    gp_doc_end(o, '}');
}

/* The elements of D's vector LIST, each by PUT. */
#define PUT_LIST(o, key, list, put)                                                                          \
    do {                                                                                                     \
        gp_doc_list((o), (key));                                                                             \
        for (size_t i_ = 0; i_ < (list).n; i_++) put;                                                        \
        gp_doc_end((o), ']');                                                                                \
    } while (0)

void gp_diff_json_write(struct gp_buf *b, const struct gp_diff *d, const struct gp_diff_json_opts *opts)
{
    struct gp_doc o = {.b = b, .strings = &d->strings};
    const struct gp_row_of of = gp_diff_rows_of(d);
    gp_doc_begin(&o, '{');
    gp_doc_head(&o, "trace-diff", opts->version, d->inputs.at, d->inputs.n);
    gp_doc_bool(&o, "comparable", d->comparable);
    gp_doc_bool(&o, "identical", d->identical);
    gp_record_json(&o, &gp_diff_reason_rows, d->reasons.at, d->reasons.n, 0, &of);
    gp_doc_cstr(&o, "unit", gp_diff_unit_name((enum gp_diff_unit)d->unit));
    put_side(&o, d, GP_DIFF_BASE);
    put_side(&o, d, GP_DIFF_CUR);
    put_total(&o, d);
    put_summary(&o, d);
    PUT_LIST(&o, "gates", d->gates, put_gate(&o, d, &d->gates.at[i_]));
    PUT_LIST(&o, "predictions", d->expects, put_prediction(&o, &d->expects.at[i_]));
    gp_record_json(&o, &gp_diff_note_rows, d->notes.at, d->notes.n, 0, &of);
    put_settings(&o, d);
    gp_doc_list(&o, "metrics");
    for (int m = 0; m < GP_METRIC_COUNT; m++) put_metric(&o, &d->metrics[m]);
    gp_doc_end(&o, ']');
    PUT_LIST(&o, "operations", d->ops, put_op(&o, d, &d->ops.at[i_]));
    PUT_LIST(&o, "attribution", d->causes, put_cause(&o, d, &d->causes.at[i_]));
    gp_doc_i64(&o, "residual_ns", d->residual_ns);
    PUT_LIST(&o, "blocks", d->blocks, put_block(&o, d, &d->blocks.at[i_]));
    gp_record_json(&o, &gp_diff_step_rows, d->steps.at, d->steps.n, 0, &of);
    gp_doc_end(&o, '}');
    gp_buf_putc(b, '\n');
}
