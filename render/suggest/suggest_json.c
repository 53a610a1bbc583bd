#include "render/suggest/suggest_json.h"

#include <stdio.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "formats/base/json_write.h"
#include "render/report/json_doc.h"
#include "render/report/record.h"
#include "render/suggest/suggest_text.h"

/* ---- suggestions ---- */

static void put_evidence(struct gp_doc *d, const struct gp_suggestion *s)
{
    static const char *const units[] = {"_ns", "", "_bytes", "_pct", ""};
    gp_doc_object(d, "evidence");
    for (size_t i = 0; i < s->evidence.n; i++) {
        const struct gp_evidence *e = &s->evidence.at[i];
        char key[64];
        snprintf(key, sizeof key, "%s%s", e->name, units[e->unit]);
        if (e->unit == GP_EVIDENCE_PCT) gp_doc_real(d, key, e->pct);
        else if (e->unit == GP_EVIDENCE_TEXT) gp_doc_sid(d, key, e->text);
        else gp_doc_i64(d, key, e->value);
    }
    gp_doc_end(d, '}');
}

static void put_suggestion(struct gp_doc *d, const struct gp_suggestion *s, int64_t step_ns, bool worth)
{
    gp_doc_element(d);
    gp_doc_cstr(d, "rule", s->rule->name);
    gp_doc_cstr(d, "type", gp_suggest_type_name(s->rule->type));
    if (worth) gp_doc_cstr(d, "priority", gp_priority_name(s->priority));
    gp_doc_name(d, "operation", s->operation);
    gp_doc_sid(d, "description", s->description);
    put_evidence(d, s);
    gp_doc_sid(d, "action", s->action);
    gp_doc_i64(d, "current_ns", s->current_ns);
    gp_doc_i64(d, "saving_ns", s->saving_ns);
    gp_doc_i64(d, "saving_low_ns", s->saving_low_ns);
    gp_doc_i64(d, "saving_high_ns", s->saving_high_ns);
    gp_doc_real(d, "width_pct", gp_pct(s->saving_high_ns - s->saving_low_ns, step_ns));
    gp_doc_i64(d, "ceiling_ns", s->ceiling_ns);
    gp_doc_i64(d, "resource_low_ns", s->resource_low_ns);
    gp_doc_i64(d, "resource_high_ns", s->resource_high_ns);
    gp_doc_real(d, "speedup_low", s->speedup_low);
    gp_doc_real(d, "speedup_high", s->speedup_high);
    gp_doc_sid(d, "formula", s->formula);
    gp_doc_name(d, "assumes", s->assumes);
    gp_doc_sid(d, "check", s->check);
    if (s->to_know) gp_doc_sid(d, "to_know", s->to_know);
    gp_doc_end(d, '}');
}

static void put_suggestions(struct gp_doc *d, const struct gp_suggest *s, const char *key, bool worth)
{
    gp_doc_list(d, key);
    for (size_t i = 0; i < s->suggestions.n; i++)
        if ((s->suggestions.at[i].priority != GP_PRIORITY_NONE) == worth)
            put_suggestion(d, &s->suggestions.at[i], s->step.unprofiled_ns, worth);
    gp_doc_end(d, ']');
}

/* ---- the step and its regime ---- */

static void put_step(struct gp_doc *d, const struct gp_suggest *s)
{
    const struct gp_suggest_step *t = &s->step;
    if (s->untimed) {
        gp_doc_null(d, "step");
        return;
    }
    gp_doc_object(d, "step");
    gp_doc_cstr(d, "unit", t->found ? "step" : "trace");
    gp_doc_cstr(d, "source", gp_step_source_name((enum gp_step_source)t->source));
    gp_doc_u64(d, "steps", t->steps);
    gp_doc_u64(d, "warm_up", t->warm_up);
    gp_doc_u64(d, "timed", t->timed);
    gp_doc_i64(d, "step_ns", t->step_ns);
    gp_doc_i64(d, "step_median_ns", t->found ? t->median_ns : t->step_ns);
    if (t->recorder) gp_doc_cstr(d, "recorder", t->recorder);
    gp_doc_i64(d, "unprofiled_ns", t->unprofiled_ns);
    gp_doc_i64(d, "unprofiled_low_ns", t->unprofiled_low_ns);
    gp_doc_i64(d, "unprofiled_high_ns", t->unprofiled_high_ns);
    gp_doc_i64(d, "busy_ns", t->busy_ns);
    gp_doc_i64(d, "gpu_ns", t->gpu_ns);
    gp_doc_object(d, "idle");
    for (int i = 0; i < GP_IDLE_CAUSE_COUNT; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s_ns", gp_idle_cause_name((enum gp_idle_cause)i));
        gp_doc_i64(d, key, t->idle_ns[i]);
    }
    gp_doc_end(d, '}');
    gp_doc_u64(d, "gpu_events", t->kernels);
    gp_doc_u64(d, "launches", t->launches);
    gp_doc_i64(d, "queue_p50_ns", t->queue_p50_ns);
    gp_doc_i64(d, "launch_ns", t->launch_ns);
    gp_doc_i64(d, "gap_ns", t->gap_ns);
    gp_doc_i64(d, "replay_ns", t->replay_ns);
    gp_doc_real(d, "replay_error_pct", t->replay_error_pct);
    gp_doc_bool(d, "trusted", t->trusted);
    gp_doc_end(d, '}');
}

static void put_regime_name(struct gp_doc *d, const char *key, uint32_t regime, uint32_t roof, bool fold)
{
    enum gp_regime r = (enum gp_regime)regime;
    gp_doc_cstr(d, key, gp_regime_name(fold ? gp_regime_classic(r, (enum gp_regime)roof) : r));
}

static void put_ceiling(struct gp_doc *d, const char *key, const struct gp_ceiling *c, double unit)
{
    if (c->per_s <= 0) return;
    gp_doc_object(d, key);
    gp_doc_real(d, unit < 1e12 ? "gbps" : "tflops", c->per_s / unit);
    gp_doc_cstr(d, "source", gp_ceiling_source_name((enum gp_ceiling_source)c->source));
    gp_doc_end(d, '}');
}

static void put_ceilings(struct gp_doc *d, const struct gp_ceilings *c)
{
    gp_doc_object(d, "ceilings");
    if (c->sheet) gp_doc_cstr(d, "data_sheet", c->sheet);
    put_ceiling(d, "memory", &c->memory, 1e9);
    const struct gp_ceiling read = {c->memory_read_per_s, c->memory.source};
    const struct gp_ceiling write = {c->memory_write_per_s, c->memory.source};
    put_ceiling(d, "memory_read", &read, 1e9);
    put_ceiling(d, "memory_write", &write, 1e9);
    put_ceiling(d, "l2", &c->l2, 1e9);
    if (c->l2_bytes > 0) gp_doc_i64(d, "l2_bytes", (int64_t)c->l2_bytes);
    for (int a = 0; a < GP_ARITH_COUNT; a++)
        put_ceiling(d, gp_arith_name((enum gp_arith)a), &c->flops[a], 1e12);
    gp_doc_end(d, '}');
}

/* What most of the time of kernels rests on. */
static const char *evidence_of(const struct gp_suggest *s)
{
    int best = GP_WORK_COUNTERS;
    for (int i = GP_WORK_SHAPES; i >= 0; i--)
        if (s->tier_ns[i] > s->tier_ns[best]) best = i;
    return gp_work_tier_name((enum gp_work_tier)best);
}

/* How much of the kernels' time is measured and not modelled. */
static void put_measured(struct gp_doc *d, const struct gp_suggest *s)
{
    int64_t all = 0;
    for (int i = 0; i < GP_WORK_TIERS; i++) all += s->tier_ns[i];
    gp_doc_i64(d, "from_counters_ns", s->tier_ns[GP_WORK_COUNTERS]);
    gp_doc_i64(d, "flops_from_counters_ns", s->flops_measured_ns);
    gp_doc_i64(d, "by_mean_ns", s->by_mean_ns);
    gp_doc_real(d, "measured_pct", gp_pct(s->tier_ns[GP_WORK_COUNTERS], all));
}

/* A figure that needs times between launches. */
static void put_timed(struct gp_doc *d, const struct gp_suggest *s, const char *key, int64_t ns)
{
    if (s->untimed) gp_doc_null(d, key);
    else gp_doc_i64(d, key, ns);
}

static void put_regime(struct gp_doc *d, const struct gp_suggest *s, const struct gp_suggest_json_opts *o)
{
    const struct gp_regime_step *p = &s->regime_parts;
    gp_doc_object(d, "regime");
    put_regime_name(d, "step", s->regime, GP_REGIME_UNKNOWN, o->three_regimes);
    gp_doc_cstr(d, "evidence", evidence_of(s));
    put_measured(d, s);
    gp_doc_i64(d, "from_shapes_ns", s->tier_ns[GP_WORK_SHAPES]);
    gp_doc_i64(d, "from_names_ns", s->tier_ns[GP_WORK_NAMES]);
    put_timed(d, s, "whole_ns", p->whole_ns);
    put_timed(d, s, "idle_ns", p->idle_ns);
    put_timed(d, s, "lead_ns", p->lead_ns);
    put_timed(d, s, "waiting_ns", p->waiting_ns);
    put_timed(d, s, "latency_ns", p->latency_ns);
    put_timed(d, s, "communication_ns", p->communication_ns);
    put_timed(d, s, "transfer_ns", p->transfer_ns);
    put_timed(d, s, "compute_ns", p->compute_ns);
    put_timed(d, s, "memory_ns", p->memory_ns);
    put_timed(d, s, "inefficient_ns", p->inefficient_ns);
    put_timed(d, s, "unknown_ns", p->unknown_ns);
    gp_doc_i64(d, "empty_kernel_ns", s->empty_ns);
    if (s->ceilings.empty_ns > 0)
        gp_doc_cstr(d, "empty_kernel_source",
                    gp_ceiling_source_name((enum gp_ceiling_source)s->ceilings.empty_source));
    put_ceilings(d, &s->ceilings);
    const struct gp_suggest_shown shown = {s, o->three_regimes};
    const struct gp_row_of of = gp_suggest_rows_of(&shown, 0);
    gp_record_json(d, &gp_suggest_kernels, s->kernels.at, s->kernels.n, o->top, &of);
    gp_record_json(d, &gp_suggest_operators, s->ops.at, s->ops.n, o->top, &of);
    gp_doc_end(d, '}');
}

/* ---- all of it ---- */

static void put_summary(struct gp_doc *d, const struct gp_suggest *s, bool three_regimes)
{
    struct gp_report r = {0};
    gp_suggest_tell(&r, s, three_regimes);
    gp_doc_summary(d, &r);
    gp_report_release(&r);
}

void gp_suggest_json_write(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggest_json_opts *o)
{
    struct gp_doc d = {.b = b, .strings = &s->strings};
    gp_doc_begin(&d, '{');
    size_t inputs;
    const struct gp_input_quality *in = gp_suggest_inputs(s, &inputs);
    gp_doc_head(&d, "trace-suggest", o->version, in, inputs);
    put_summary(&d, s, o->three_regimes);
    put_suggestions(&d, s, "suggestions", true);
    gp_doc_object(&d, "together");
    put_timed(&d, s, "saving_low_ns", s->joint_low_ns);
    put_timed(&d, s, "saving_high_ns", s->joint_high_ns);
    gp_doc_end(&d, '}');
    put_suggestions(&d, s, "not_worth_it", false);
    put_step(&d, s);
    put_regime(&d, s, o);
    gp_doc_list(&d, "notes");
    for (size_t i = 0; i < s->notes.n; i++) {
        gp_doc_next(&d);
        gp_json_put_string(b, gp_suggest_str(s, s->notes.at[i]), gp_string_len(&s->strings, s->notes.at[i]));
    }
    gp_doc_end(&d, ']');
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}

void gp_suggest_expect_write(struct gp_buf *b, const struct gp_suggest *s)
{
    struct gp_doc d = {.b = b, .strings = &s->strings};
    gp_doc_begin(&d, '{');
    gp_doc_cstr(&d, "schema", "gpuprof/expect/1");
    gp_doc_list(&d, "rules");
    for (size_t i = 0; i < s->suggestions.n && s->suggestions.at[i].priority != GP_PRIORITY_NONE; i++) {
        gp_doc_next(&d);
        gp_json_put_string(b, s->suggestions.at[i].rule->name, strlen(s->suggestions.at[i].rule->name));
    }
    gp_doc_end(&d, ']');
    gp_doc_list(&d, "predictions");
    if (s->joint_high_ns > 0) {
        gp_doc_element(&d);
        gp_doc_cstr(&d, "metric", "step");
        gp_doc_i64(&d, "low_ns", -s->joint_high_ns);
        gp_doc_i64(&d, "high_ns", -s->joint_low_ns);
        gp_doc_end(&d, '}');
    }
    gp_doc_end(&d, ']');
    gp_doc_end(&d, '}');
    gp_buf_putc(b, '\n');
}
