/* The rows of an answer as they are described once: what was compared, how, and what came of it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analyze/diff/diff.h"
#include "analyze/view/idle_cause.h"
#include "analyze/view/steps.h"
#include "formats/base/buf.h"

/* ---- sides ---- */

#define AT(member) offsetof(struct gp_diff_side, member)

#define COUNT(member) GP_CELL_COUNT, gp_member_u32, AT(member)
#define NS(member)    GP_CELL_NS, gp_member_i64, AT(member)
static const struct gp_field steps_fields[] = {
    {"source", NULL, GP_CELL_TEXT, gp_member_word, AT(step_source), .words = gp_step_source_words},
    {"found", "steps found", COUNT(steps_found), .flags = 0},
    {"used", "steps used", COUNT(steps_used), .help = "for GPU time"},
    {"timed", "steps with a known time", COUNT(windows), .help = "steps used whose step time is known"},
    {"cut", "steps cut off", COUNT(steps_cut), .flags = 0},
    {"open", "steps without an end", COUNT(steps_open), .flags = 0},
    {"warm_up", "warm-up steps", COUNT(steps_warm), .flags = 0},
    {"other_program", "steps of another program", COUNT(steps_other), .flags = 0},
    {"drifts", NULL, GP_CELL_BOOL, gp_member_bool, AT(drifts), .help = "its steps change level: see notes"},
    {"before_ns", NULL, NS(before_ns), .help = "before the first step, per device with steps; not compared",
     .flags = GP_FIELD_TIMED},
    {"warm_up_ns", NULL, NS(warm_up_ns), .help = "in warm-up steps before the others",
     .flags = GP_FIELD_TIMED},
    {"after_ns", NULL, NS(after_ns), .help = "after the last step", .flags = GP_FIELD_TIMED},
    {"recorded_ns", NULL, NS(recorded_ns), .help = "from the first GPU event to the last one",
     .flags = GP_FIELD_TIMED},
};

const struct gp_record gp_diff_side_steps = {"steps", NULL, GP_FIELDS(steps_fields),
                                             .size = sizeof(struct gp_diff_side)};

GP_GETTER(get_inputs)
{
    const struct gp_diff *d = x->of;
    c->i = (int64_t)(row == &d->side[GP_DIFF_BASE] ? d->n_base_inputs : d->inputs.n - d->n_base_inputs);
}

static const struct gp_field side_fields[] = {
    {"inputs", NULL, GP_CELL_COUNT, get_inputs, 0, .help = "files"},
    {"runs", "recordings", COUNT(runs), .help = "recordings; the ranks of one job are one"},
    {"devices", "devices", COUNT(lanes), .help = "over all runs"},
    {"steps", NULL, GP_CELL_ROW, gp_member_row, 0, .rows = &gp_diff_side_steps},
    {"step_ns", "step time", NS(step_ns),
     .help = "mean step time: from a step's first GPU event to the next step's first; null, as are busy_ns, "
             "idle and all other times between launches: the GPU was measured kernel by kernel",
     .flags = GP_FIELD_TIMED},
    {"busy_ns", "GPU busy", NS(busy_ns), .help = "of the step time", .flags = GP_FIELD_TIMED},
    {"gpu_ns", "GPU time", NS(gpu_ns), .help = "mean sum of durations of the GPU events of a step"},
    {"peak_bytes", NULL, GP_CELL_BYTES, gp_member_known_i64, AT(peak_bytes),
     .help = "most memory allocated; null: not recorded", .flags = GP_FIELD_NULL},
    {"sm_mhz", "SM clock, MHz", GP_CELL_REAL, gp_member_double, AT(sm_mhz),
     .help = "mean of the steps; null: not recorded", .flags = GP_FIELD_NULL},
    {"others_pct", NULL, GP_CELL_PCT, gp_member_double, AT(others_pct),
     .help = "use of the GPU by processes of others; null: not recorded", .flags = GP_FIELD_NULL},
    {"idle", NULL, GP_CELL_ROW, gp_member_row, AT(idle_ns),
     .help = "idle time by cause; sums to step_ns - busy_ns", .flags = GP_FIELD_TIMED,
     .rows = &gp_idle_causes},
    {"environment", NULL, GP_CELL_ROW, gp_member_row, AT(env), .rows = &gp_profile_env_row},
};
#undef AT
#undef COUNT
#undef NS

const struct gp_record gp_diff_side_row = {"sides", "What was compared", GP_FIELDS(side_fields),
                                           sizeof(struct gp_diff_side), .note = "one side"};

/* ---- total ---- */

#define AT(member)  offsetof(struct gp_diff, member)
#define GPU(member) AT(metrics[GP_METRIC_GPU].member)

static const char *const unit_words[] = {"step", "trace", NULL};

static const struct gp_field total_fields[] = {
    {"unit", NULL, GP_CELL_TEXT, gp_member_word, AT(unit), .words = unit_words},
    {"baseline_ns", NULL, GP_CELL_NS, gp_member_i64, GPU(side[GP_DIFF_BASE]), .flags = 0},
    {"current_ns", NULL, GP_CELL_NS, gp_member_i64, GPU(side[GP_DIFF_CUR]), .flags = 0},
    {"change_ns", NULL, GP_CELL_CHANGE_NS, gp_member_i64, GPU(change), .flags = 0},
    {"change_pct", NULL, GP_CELL_CHANGE_PCT, gp_member_double, GPU(change_pct), .flags = GP_FIELD_NULL},
};
#undef GPU

const struct gp_record gp_diff_total_row = {"total", NULL, GP_FIELDS(total_fields), sizeof(struct gp_diff),
                                            .note = "GPU time: sum of durations"};

/* ---- summary ---- */

static const char *const verdict_words[] = {"regression",   "improvement",    "no_change",
                                            "inconclusive", "not_comparable", NULL};

GP_GET(get_verdict, struct gp_diff,
       gp_cell_text(c, r->comparable ? gp_change_name((enum gp_change)r->summary.verdict) : "not_comparable"))

GP_GET_TEXT(get_sentence, struct gp_diff, gp_diff_put_sentence(&b, r))

GP_GETTER(get_status) { c->i = gp_diff_status(row); }

#define COUNT(member) GP_CELL_COUNT, gp_member_u32, AT(summary.member)
static const struct gp_field summary_fields[] = {
    {"regressions", NULL, COUNT(regressions), .help = "operations"},
    {"improvements", NULL, COUNT(improvements), .flags = 0},
    {"new", NULL, COUNT(added), .flags = 0},
    {"removed", NULL, COUNT(removed), .flags = 0},
    {"no_change", NULL, COUNT(no_change), .flags = 0},
    {"inconclusive", NULL, COUNT(inconclusive), .flags = 0},
    {"fused", NULL, COUNT(fused), .flags = 0},
    {"defused", NULL, COUNT(defused), .flags = 0},
    {"retiled", NULL, COUNT(retiled), .flags = 0},
    {"verdict", NULL, GP_CELL_TEXT, get_verdict, AT(summary.verdict), .words = verdict_words},
    {"verdict_why", NULL, GP_CELL_TEXT, gp_member_name, AT(summary.verdict_why),
     .help = "the figure or operation that decided", .flags = GP_FIELD_NULL},
    {"word", NULL, GP_CELL_TEXT, gp_member_name, AT(summary.word),
     .help = "the verdict as people read it: REGRESSION, IMPROVEMENT, \"FASTER, 1 kernel slower\", NO "
             "CHANGE, ...",
     .flags = GP_FIELD_NULL},
    {"mixed", NULL, GP_CELL_BOOL, gp_member_bool, AT(summary.mixed),
     .help = "something that weighs enough goes the other way, or a step shown to be the same has rows that "
             "changed"},
    {"headline", NULL, GP_CELL_TEXT, gp_member_name, AT(summary.headline), .flags = GP_FIELD_NULL},
    {"sentence", NULL, GP_CELL_TEXT, get_sentence, 0,
     .help = "word and headline, or why the sides cannot be compared"},
    {"exit_status", NULL, GP_CELL_ID, get_status, 0, .help = "0, 1 or 3"},
};
#undef COUNT

const struct gp_record gp_diff_summary_row = {"summary", NULL, GP_FIELDS(summary_fields),
                                              .size = sizeof(struct gp_diff)};

/* ---- settings ---- */

static const char *const by_words[] = {"kernel", "op", "range", "line", NULL};
static const char *const mode_words[] = {"test", "simple", NULL};

GP_GETTER(get_tick) { c->i = ((const struct gp_diff *)row)->tick_ns; }

#define BOOL(member) GP_CELL_BOOL, gp_member_bool, AT(opts.member)
#define PCT(member)  GP_CELL_PCT, gp_member_double, AT(member)
static const struct gp_field setting_fields[] = {
    {"by", "operations are", GP_CELL_TEXT, gp_member_word, AT(opts.by), .words = by_words},
    {"mode", "mode", GP_CELL_TEXT, gp_member_word, AT(opts.mode), .words = mode_words},
    {"alpha", "alpha", GP_CELL_REAL, gp_member_double, AT(opts.alpha), .help = "of the tests"},
    {"threshold_pct", "threshold of mode simple", PCT(opts.threshold_pct), .flags = 0},
    {"gate_none", NULL, BOOL(gate_none), .flags = 0},
    {"gate_wall_single", NULL, BOOL(gate_wall_single), .flags = 0},
    {"equal_clocks", NULL, BOOL(equal_clocks), .flags = 0},
    {"require_power", NULL, BOOL(require_power), .flags = 0},
    {"cross_gpu", NULL, BOOL(cross_gpu), .flags = 0},
    {"any_work", NULL, BOOL(any_work), .flags = 0},
    {"tested", "operations tested", GP_CELL_COUNT, gp_member_u32, AT(tested), .help = "what q corrects for"},
    {"least_steps", "fewest steps per side that can decide", GP_CELL_COUNT, gp_member_u32, AT(least_steps),
     .flags = 0},
    {"noise_pct", "noise floor of kernels", PCT(noise_pct), .flags = 0},
    {"noise_measured_pct", "measured noise of kernels", PCT(noise_measured_pct), .flags = GP_FIELD_NULL},
    {"noise_wall_pct", "measured noise of step times", PCT(noise_wall_pct), .flags = GP_FIELD_NULL},
    {"guard_percall_ns", "smallest change per call", GP_CELL_NS, gp_member_i64, AT(guard_percall_ns),
     .flags = 0},
    {"guard_share_pct", "smallest share of the GPU time", PCT(guard_share_pct), .flags = 0},
    {"guard_weight_ns", "smallest change of an operation that decides", GP_CELL_NS, gp_member_i64,
     AT(guard_weight_ns),
     .help = "operations whose GPU time changed by less do not decide: 1% of the longer step"},
    {"step_bound_pct", "smallest change of the step that few runs decide", PCT(step_bound_pct),
     .help = "smallest change of the step time that fewer than five runs per side decide"},
    {"tick_ns", "clock tick of durations", GP_CELL_NS, get_tick, AT(tick_ns), .flags = 0},
};
#undef BOOL
#undef PCT
#undef AT

const struct gp_record gp_diff_setting_row = {"settings", "What the decisions depend on",
                                              GP_FIELDS(setting_fields), sizeof(struct gp_diff),
                                              .note = "what the decisions depend on"};

/* ---- gates ---- */

#define AT(member) offsetof(struct gp_diff_gate, member)

/* As a person reads it; programs get the number. */
static void put_limit(struct gp_cell *c, const struct gp_row_of *x, bool percent, uint32_t metric, double v,
                      bool sign)
{
    struct gp_buf number = {0}, label = {0};
    if (isfinite(v)) gp_buf_printf(&number, "%.17g", v);
    gp_diff_put_limit(&label, percent, metric, v, sign);
    gp_cell_text(c, gp_arena_strndup(x->mem, gp_buf_str(&number), number.n));
    gp_cell_shown(c, &label, x);
    gp_buf_release(&number);
}

static const char *const limit_units[] = {"pct", "ns", "count", "bytes", NULL};

GP_GET(get_gate_metric, struct gp_diff_gate,
       gp_cell_text(c, r->metric < GP_METRIC_COUNT ? gp_metric_name((enum gp_metric_id)r->metric) : "op"))

GP_GET(get_limit_unit, struct gp_diff_gate,
       gp_cell_text(c, !r->absolute                  ? "pct"
                       : r->metric < GP_METRIC_COUNT ? gp_metric_unit((enum gp_metric_id)r->metric)
                                                     : "ns"))

GP_GET(get_gate_outcome, struct gp_diff_gate,
       gp_cell_text(c, r->broken         ? "BROKEN"
                       : r->undecided    ? "undecided"
                       : isnan(r->value) ? "unknown"
                                         : "holds"))

GP_GET(get_gate_limit, struct gp_diff_gate,
       put_limit(c, x, !r->absolute, r->metric, *(const double *)gp_member_at(row, f), f->at == AT(value)))

GP_GETTER_OF(get_gate_operation, struct gp_diff_gate, g)
{
    const struct gp_diff *d = x->of;
    c->none = g->op >= d->ops.n;
    if (c->none) return;
    const struct gp_diff_op *op = &d->ops.at[g->op];
    gp_cell_label(c, gp_diff_str(d, op->name), gp_string_len(&d->strings, op->name),
                  op->label ? gp_diff_str(d, op->label) : NULL, gp_string_len(&d->strings, op->label));
}

static const struct gp_field gate_fields[] = {
    {"gate", "gate", GP_CELL_TEXT, gp_member_sid, AT(text), .help = "as typed"},
    {"outcome", "", GP_CELL_TEXT, get_gate_outcome, 0,
     .help = "broken, holds, or beyond the limit but possibly by chance", .flags = GP_FIELD_TABLES},
    {"metric", NULL, GP_CELL_TEXT, get_gate_metric, AT(metric), .help = "op: every operation"},
    {"unit", NULL, GP_CELL_TEXT, get_limit_unit, 0, .words = limit_units},
    {"value", "value", GP_CELL_TEXT, get_gate_limit, AT(value), .help = "worst value found",
     .flags = GP_FIELD_TABLES},
    {"limit", "limit", GP_CELL_TEXT, get_gate_limit, AT(limit), .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
    {"limit", NULL, GP_CELL_REAL, gp_member_double, AT(limit), .flags = GP_FIELD_SIGNED},
    {"value", NULL, GP_CELL_REAL, gp_member_double, AT(value), .help = "worst value found; null: unknown",
     .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"broken", NULL, GP_CELL_BOOL, gp_member_bool, AT(broken), .flags = 0},
    {"undecided", NULL, GP_CELL_BOOL, gp_member_bool, AT(undecided),
     .help = "beyond the limit, but possibly by chance"},
    {"operation", "operation", GP_CELL_NAME, get_gate_operation, AT(op),
     .help = "operation that breaks it most", .flags = GP_FIELD_NULL},
    {"operations", NULL, GP_CELL_COUNT, gp_member_u32, AT(n_ops),
     .help = "number of operations that break it"},
    {"why", NULL, GP_CELL_TEXT, gp_member_name, AT(why), .flags = GP_FIELD_NULL},
    {"place", NULL, GP_CELL_TEXT, gp_member_name, AT(place),
     .help = "of a broken count: the line where it grew most", .flags = GP_FIELD_NULL},
    {"module", NULL, GP_CELL_TEXT, gp_member_name, AT(module), .help = "PyTorch's, around it",
     .flags = GP_FIELD_NULL},
    {"power_pct", NULL, GP_CELL_PCT, gp_member_double, AT(power_pct),
     .help = "of a time: the smallest growth that breaks it with a probability of 80%",
     .flags = GP_FIELD_NULL},
};
#undef AT

const struct gp_record gp_diff_gate_rows = {"gates", "Gates", GP_FIELDS(gate_fields),
                                            sizeof(struct gp_diff_gate),
                                            .note = "a limit, and the value compared with it"};

/* ---- predictions ---- */

#define AT(member) offsetof(struct gp_diff_expect, member)

static const char *const outcomes[] = {"met", "better", "worse", "unknown", NULL};

GP_GETTER(get_outcome) { gp_cell_text(c, gp_diff_outcome(row)); }

/* The subject's unit is in its metric; idle time and operations are times. */
GP_GETTER_OF(get_bound, struct gp_diff_expect, e)
{
    uint32_t metric = GP_METRIC_COUNT;
    for (uint32_t m = 0; m < GP_METRIC_COUNT; m++)
        if (!strcmp(gp_string(x->strings, e->subject), gp_metric_name((enum gp_metric_id)m))) metric = m;
    put_limit(c, x, e->percent, metric, *(const double *)gp_member_at(e, f), true);
}

/* In percent if the field is; the other one is not there. */
GP_GETTER_OF(get_bound_in, struct gp_diff_expect, e)
{
    gp_member_double(c, f, e, x);
    c->absent = e->percent != (f->type == GP_CELL_CHANGE_PCT);
    c->none |= c->absent;
}

#define BOUND(id, member, unknown)                                                                           \
    {id,           NULL,       GP_CELL_REAL,                                                                 \
     get_bound_in, AT(member), .flags = GP_FIELD_OPTIONAL | GP_FIELD_SIGNED | (unknown)},                    \
    {                                                                                                        \
        id "_pct", NULL, GP_CELL_CHANGE_PCT, get_bound_in, AT(member),                                       \
            .flags = GP_FIELD_OPTIONAL | (unknown)                                                           \
    }
static const struct gp_field expect_fields[] = {
    {"subject", "prediction for", GP_CELL_NAME, gp_member_sid, AT(subject), .flags = 0},
    {"outcome", "", GP_CELL_TEXT, get_outcome, 0, .help = "met, or how it was missed", .words = outcomes},
    {"change", "change", GP_CELL_TEXT, get_bound, AT(value), .flags = GP_FIELD_TABLES},
    {"best", "at best", GP_CELL_TEXT, get_bound, AT(low), .flags = GP_FIELD_TABLES},
    {"worst", "at worst", GP_CELL_TEXT, get_bound, AT(high), .flags = GP_FIELD_TABLES},
    BOUND("low", low, 0),
    BOUND("high", high, 0),
    BOUND("value", value, GP_FIELD_NULL),
    {"holds", NULL, GP_CELL_BOOL, gp_member_bool, AT(holds), .flags = 0},
    {"why", NULL, GP_CELL_TEXT, gp_member_name, AT(why), .flags = GP_FIELD_NULL},
};
#undef AT

const struct gp_record gp_diff_expect_rows = {"predictions", "Predictions", GP_FIELDS(expect_fields),
                                              sizeof(struct gp_diff_expect),
                                              .note = "what was predicted, and the outcome"};
