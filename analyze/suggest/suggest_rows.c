/* What the answer consists of, field by field. */
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/classify.h"
#include "analyze/suggest/suggest.h"
#include "analyze/view/idle_cause.h"
#include "analyze/view/steps.h"
#include "formats/base/buf.h"
#include "formats/base/str.h"

struct gp_row_of gp_suggest_rows_of(const struct gp_suggest_shown *v, int64_t whole_ns)
{
    return (struct gp_row_of){
        .of = v, .strings = &v->s->strings, .whole_ns = whole_ns, .untimed = !gp_suggest_is_timed(v->s)};
}

static const char *const regimes[] = {GP_REGIMES(GP_WORD_1) NULL};
static const char *const ariths[] = {GP_ARITHS(GP_WORD_1) NULL};

static enum gp_regime regime_shown(const struct gp_row_of *x, uint32_t regime, uint32_t roof)
{
    const struct gp_suggest_shown *v = x->of;
    return v->three_regimes ? gp_regime_classic((enum gp_regime)regime, (enum gp_regime)roof)
                            : (enum gp_regime)regime;
}

static const struct gp_suggest *answer_of(const struct gp_row_of *x)
{
    return ((const struct gp_suggest_shown *)x->of)->s;
}

/* ---- kernels and operators ---- */

#define AT(member) offsetof(struct gp_suggest_kernel, member)

GP_GETTER(get_name)
{
    const struct gp_suggest_kernel *k = row;
    gp_sid label = k->label ? k->label : k->name;
    gp_cell_label(c, gp_string(x->strings, k->name), gp_string_len(x->strings, k->name),
                  gp_string(x->strings, label), gp_string_len(x->strings, label));
}

GP_GETTER(get_class)
{
    const struct gp_suggest_kernel *k = row;
    gp_cell_text(c, gp_class_name(gp_class_of((enum gp_frame_kind)k->kind)));
}

GP_GETTER(get_kind)
{
    gp_cell_text(c, gp_frame_kind_word((enum gp_frame_kind)((const struct gp_suggest_kernel *)row)->kind));
}

GP_GETTER(get_regime)
{
    static const char *const neither[] = {
#define X(id, name, text) "neither: " text,
        GP_INEFFICIENTS(X)
#undef X
    };
    const struct gp_suggest_kernel *k = row;
    enum gp_regime regime = regime_shown(x, k->regime, k->roof);
    const char *name = gp_regime_name(regime), *text = gp_regime_text(regime);
    if (regime == GP_REGIME_INEFFICIENT) text = neither[k->reason];
    if (regime == GP_REGIME_UNKNOWN) text = name;
    gp_cell_label(c, name, strlen(name), text, strlen(text));
}

GP_GETTER(get_reason)
{
    const struct gp_suggest_kernel *k = row;
    c->none = k->regime != GP_REGIME_INEFFICIENT;
    gp_cell_text(c, gp_inefficient_name((enum gp_inefficient)k->reason));
}

GP_GETTER(get_mean)
{
    const struct gp_suggest_kernel *k = row;
    c->none = !k->count;
    if (k->count) c->i = k->total_ns / (int64_t)k->count;
}

GP_GETTER(get_tier)
{
    gp_cell_text(c, gp_work_tier_name((enum gp_work_tier)((const struct gp_suggest_kernel *)row)->tier));
}

GP_GETTER(get_some_ns)
{
    gp_member_i64(c, f, row, x);
    c->none = c->i <= 0;
}

/* Figures of launches whose work is known. */
static bool is_known(const struct gp_suggest_kernel *k) { return k->known_ns > 0; }

GP_GETTER(get_work)
{
    gp_member_double(c, f, row, x);
    c->none |= !is_known(row);
}

GP_GETTER(get_arith)
{
    const struct gp_suggest_kernel *k = row;
    c->none = !is_known(k) || k->arith == GP_ARITH_NONE;
    gp_cell_text(c, gp_arith_name((enum gp_arith)k->arith));
}

GP_GETTER(get_tflops)
{
    const struct gp_suggest_kernel *k = row;
    c->none = !is_known(k);
    if (!c->none) gp_cell_real(c, k->flops / (double)k->known_ns / 1e3);
}

GP_GETTER(get_gbps)
{
    const struct gp_suggest_kernel *k = row;
    c->none = !is_known(k);
    if (!c->none) gp_cell_real(c, *(const double *)gp_member_at(row, f) / (double)k->known_ns);
}

GP_GETTER(get_fits_cache)
{
    gp_member_bool(c, f, row, x);
    c->none = !is_known(row);
}

GP_GETTER(get_roof)
{
    const struct gp_suggest_kernel *k = row;
    const char *memory = k->from_cache ? "cache" : "memory";
    bool is_memory = k->roof_arith == GP_ARITH_NONE;
    c->none = !is_known(k) || !(k->roof_pct > 0);
    gp_cell_text(c, is_memory ? memory : gp_arith_name((enum gp_arith)k->roof_arith));
}

GP_GETTER(get_roof_pct)
{
    gp_member_positive_double(c, f, row, x);
    c->none |= !is_known(row);
}

GP_GETTER(get_roof_source)
{
    const struct gp_suggest_kernel *k = row;
    const struct gp_ceilings *top = &answer_of(x)->ceilings;
    const struct gp_ceiling *roof =
        k->roof_arith == GP_ARITH_NONE ? &top->memory : &top->flops[k->roof_arith];
    c->none = !is_known(k) || !(k->roof_pct > 0);
    gp_cell_text(c, gp_ceiling_source_name((enum gp_ceiling_source)roof->source));
}

/* Times and bytes of launches whose bytes were measured. */
GP_GETTER(get_measured_ns)
{
    gp_member_i64(c, f, row, x);
    c->none = ((const struct gp_suggest_kernel *)row)->measured_ns <= 0;
}

GP_GETTER(get_stall)
{
    const struct gp_suggest_kernel *k = row;
    c->none = k->stall == GP_STALL_COUNT;
    if (c->none) return;
    const char *name = gp_stall_name((enum gp_stall)k->stall), *text = gp_stall_text((enum gp_stall)k->stall);
    gp_cell_label(c, name, strlen(name), text, strlen(text));
}

static const char *const reasons[] = {GP_INEFFICIENTS(GP_WORD_1) NULL};
static const char *const stalls[] = {GP_STALLS(GP_WORD_1) NULL};

#define PART      .flags = GP_FIELD_OPTIONAL
#define WIDE_PART .flags = GP_FIELD_OPTIONAL | GP_COLUMN_WIDE
static const struct gp_field kernel_fields[] = {
    {"name", "Kernel", GP_CELL_NAME, get_name, 0, .help = "full name"},
    {"class", NULL, GP_CELL_TEXT, get_class, 0, .words = gp_class_words},
    {"kind", "Kind", GP_CELL_TEXT, get_kind, 0,
     .help = "what it does, from its name; of an operator, its longest kernel", .words = gp_frame_kind_words},
    {"regime", "Bound by", GP_CELL_TEXT, get_regime, 0, .help = "what limits most of its time",
     .after = "name", .words = regimes},
    {"reason", NULL, GP_CELL_TEXT, get_reason, 0, .help = "why it is inefficient, as far as the trace shows",
     PART, .words = reasons + 1},
    {"count", "Count", GP_CELL_COUNT, gp_member_u64, AT(count), .help = "runs in all steps"},
    {"total_ns", "Total", GP_CELL_NS, gp_member_i64, AT(total_ns), .help = "sum of durations over all steps"},
    {"share_pct", "Share", GP_CELL_PCT, gp_member_share, AT(total_ns), .help = "of the total kernel time",
     .flags = GP_COLUMN_BAR | GP_FIELD_TABLES},
    {"mean_ns", "Mean", GP_CELL_NS, get_mean, 0, .help = "total / count", .flags = GP_FIELD_TABLES},
    {"evidence", "Evidence", GP_CELL_TEXT, get_tier, 0,
     .help = "how its work is known, for most of its time: measured by hardware counters (tier 3), from "
             "shapes of the operator's inputs (tier 2), from the kernel's name and grid (tier 1), or only "
             "from the kind of kernel",
     .after = "roof_pct", .words = gp_work_tier_words},
    {"impossible_ns", NULL, GP_CELL_NS, get_some_ns, AT(impossible_ns),
     .help = "time of launches whose stated work is impossible, since no device is so fast; they count as "
             "unknown",
     PART},
    {"known_ns", NULL, GP_CELL_NS, get_some_ns, AT(known_ns),
     .help = "time of launches whose work is known; the sums below are of these", PART},
    {"flops", NULL, GP_CELL_REAL, get_work, AT(flops), .help = "floating point operations", PART},
    {"low_bytes", NULL, GP_CELL_REAL, get_work, AT(bytes_low), .help = "bytes that have to be moved", PART},
    {"high_bytes", NULL, GP_CELL_REAL, get_work, AT(bytes_high),
     .help = "bytes moved if caches keep nothing between passes", PART},
    {"arithmetic", NULL, GP_CELL_TEXT, get_arith, 0, .help = "arithmetic type of the operations", PART,
     .words = ariths},
    {"achieved_tflops", NULL, GP_CELL_REAL, get_tflops, 0, .help = "1e12 operations per second", PART},
    {"achieved_low_gbps", NULL, GP_CELL_GBPS, get_gbps, AT(bytes_low), PART},
    {"achieved_high_gbps", NULL, GP_CELL_GBPS, get_gbps, AT(bytes_high), PART},
    {"fits_cache", NULL, GP_CELL_BOOL, get_fits_cache, AT(fits_cache),
     .help = "the bytes of a launch may stay in the L2 cache, so nothing is claimed about memory", PART},
    {"roof", NULL, GP_CELL_TEXT, get_roof, 0,
     .help = "the nearer roof: memory, memory and L2 cache together (cache) for what was faster than memory, "
             "or the type of the arithmetic",
     PART},
    {"roof_pct", "Of its roof", GP_CELL_PCT, get_roof_pct, AT(roof_pct),
     .help =
         "of the device's arithmetic or memory limit, whichever is nearer; with the L2 cache for what was "
         "faster than memory",
     PART},
    {"roof_source", NULL, GP_CELL_TEXT, get_roof_source, 0, .help = "source of that ceiling", PART,
     .words = gp_ceiling_source_words},
    {"measured_ns", NULL, GP_CELL_NS, get_measured_ns, AT(measured_ns),
     .help = "time of the launches whose bytes hardware counters measured", PART},
    {"flops_measured_ns", NULL, GP_CELL_NS, get_measured_ns, AT(flops_measured_ns),
     .help = "of these, time of those whose operations were measured as well", PART},
    {"by_mean_ns", NULL, GP_CELL_NS, get_measured_ns, AT(by_mean_ns),
     .help = "of these, time of those for which other launches of the kernel stand", PART},
    {"l2_bytes", NULL, GP_CELL_REAL, gp_member_double, AT(l2_bytes),
     .help = "that passed the L2 cache, in the measured launches", PART},
    {"l1_bytes", NULL, GP_CELL_REAL, gp_member_double, AT(l1_bytes),
     .help = "that passed L1, in the measured launches", PART},
    {"occupancy_pct", "Occupancy", GP_CELL_PCT, gp_member_double, AT(occupancy_pct),
     .help = "measured: warps on active multiprocessors, of those that fit, weighted by time", WIDE_PART},
    {"issue_pct", "Issue", GP_CELL_PCT, gp_member_double, AT(issue_pct),
     .help = "measured: cycles in which an instruction was issued", WIDE_PART},
    {"tensor_pct", "Tensor", GP_CELL_PCT, gp_member_double, AT(tensor_pct),
     .help = "measured: cycles in which the matrix units worked", WIDE_PART},
    {"stall", "Warps wait for", GP_CELL_TEXT, get_stall, 0,
     .help = "measured: the most frequent of the reasons that were counted", WIDE_PART, .words = stalls},
};
#undef WIDE_PART
#undef PART
#undef AT

static uint8_t kernel_colour(const void *row)
{
    const uint32_t kind = ((const struct gp_suggest_kernel *)row)->kind;
    return gp_row_of_kind(kind, (unsigned)gp_class_of((enum gp_frame_kind)kind));
}

#define BOUND                                                                                                \
    GP_FIELDS(kernel_fields), .size = sizeof(struct gp_suggest_kernel),                                      \
                              .rest = {{"count", "count"}, {"total_ns", "total_ns"}},                        \
                              .colour = kernel_colour
const struct gp_record gp_suggest_kernels = {"kernels", "Kernels", BOUND,
                                             .note = "times and sums over all launches of all steps"};
const struct gp_record gp_suggest_operators = {"operators", "Operators", BOUND,
                                               .note = "the same, for the operators that launched kernels"};
#undef BOUND

/* ---- suggestions ---- */

#define AT(member) offsetof(struct gp_suggestion, member)

GP_GETTER(get_evidence_name)
{
    static const char *const units[] = {"_ns", "", "_bytes", "_pct", ""};
    const struct gp_evidence *e = row;
    struct gp_buf b = {0};
    gp_buf_puts(&b, e->name);
    gp_buf_puts(&b, units[e->unit]);
    gp_cell_take(c, &b, x);
}

GP_GETTER(get_evidence_value)
{
    static const uint8_t types[] = {GP_CELL_NS, GP_CELL_COUNT, GP_CELL_BYTES, GP_CELL_PCT, GP_CELL_TEXT};
    const struct gp_evidence *e = row;
    c->type = types[e->unit];
    if (e->unit == GP_EVIDENCE_PCT) gp_cell_real(c, e->pct);
    else if (e->unit == GP_EVIDENCE_TEXT)
        gp_cell_label(c, gp_string(x->strings, e->text), gp_string_len(x->strings, e->text), NULL, 0);
    else c->i = e->value;
}

static const struct gp_field evidence_fields[] = {
    {"name", NULL, GP_CELL_TEXT, get_evidence_name, 0, .help = "with its unit"},
    {"value", NULL, GP_CELL_ANY, get_evidence_value, 0, .help = "in that unit"},
};
static const struct gp_record evidence = {"evidence", NULL, GP_FIELDS(evidence_fields),
                                          .size = sizeof(struct gp_evidence),
                                          .note = "figures by name, with their units"};

GP_GETTER(get_rule) { gp_cell_text(c, ((const struct gp_suggestion *)row)->rule->name); }

GP_GETTER(get_type)
{
    gp_cell_text(c, gp_suggest_type_name(((const struct gp_suggestion *)row)->rule->type));
}

GP_GETTER(get_priority) { gp_cell_text(c, gp_priority_name(((const struct gp_suggestion *)row)->priority)); }

GP_GETTER(get_width)
{
    const struct gp_suggestion *s = row;
    gp_cell_real(c, gp_pct(s->saving_high_ns - s->saving_low_ns, answer_of(x)->step.unprofiled_ns));
}

static const char *const types[] = {GP_SUGGEST_TYPES(GP_WORD_1) NULL};
static const char *const priorities[] = {"critical", "high", "medium", "low", NULL};

static const struct gp_field change_fields[] = {
    {"operation", NULL, GP_CELL_NAME, gp_member_name, AT(operation),
     .help = "kernel, operator, range or call; null: the step", .flags = GP_FIELD_NULL},
    {"place", NULL, GP_CELL_NAME, gp_member_name, AT(place),
     .help = "line of the program that makes the calls; null: their stacks are not known",
     .flags = GP_FIELD_NULL},
    {"description", NULL, GP_CELL_TEXT, gp_member_sid, AT(description),
     .help = "what is there, with its numbers"},
    {"evidence", NULL, GP_CELL_NAMED, gp_member_rows, AT(evidence), .rows = &evidence},
    {"action", NULL, GP_CELL_TEXT, gp_member_sid, AT(action), .help = "what to do"},
    {"current_ns", NULL, GP_CELL_NS, gp_member_i64, AT(current_ns),
     .help = "what it takes now per step, on any resource"},
    {"saving_ns", NULL, GP_CELL_NS, gp_member_i64, AT(saving_ns),
     .help = "expected, as text prints it; priorities follow it"},
    {"saving_low_ns", NULL, GP_CELL_NS, gp_member_i64, AT(saving_low_ns),
     .help = "wall time saved per step, at least"},
    {"saving_high_ns", NULL, GP_CELL_NS, gp_member_i64, AT(saving_high_ns),
     .help = "wall time saved per step, at most"},
    {"width_pct", NULL, GP_CELL_PCT, get_width, 0,
     .help = "of the interval, in percent of the step without the recorder"},
    {"ceiling_ns", NULL, GP_CELL_NS, gp_member_i64, AT(ceiling_ns),
     .help = "wall time saved if the resource were free"},
    {"resource_low_ns", NULL, GP_CELL_NS, gp_member_i64, AT(resource_low_ns),
     .help = "saved on the resource itself, at least"},
    {"resource_high_ns", NULL, GP_CELL_NS, gp_member_i64, AT(resource_high_ns),
     .help = "saved on the resource itself, at most"},
    {"speedup_low", NULL, GP_CELL_REAL, gp_member_double, AT(speedup_low),
     .help = "of the step; 1 where nothing is claimed"},
    {"speedup_high", NULL, GP_CELL_REAL, gp_member_double, AT(speedup_high), .help = "the same, at most"},
    {"formula", NULL, GP_CELL_TEXT, gp_member_sid, AT(formula),
     .help = "how the saving was worked out, with the numbers filled in"},
    {"assumes", NULL, GP_CELL_TEXT, gp_member_name, AT(assumes),
     .help = "null: nothing beyond what the trace shows", .flags = GP_FIELD_NULL},
    {"check", NULL, GP_CELL_TEXT, gp_member_sid, AT(check), .help = "how to find out whether it was right"},
    {"to_know", NULL, GP_CELL_TEXT, gp_member_name, AT(to_know),
     .help = "what to record for a narrower interval", .flags = GP_FIELD_OPTIONAL},
};
#undef AT
static const struct gp_record change = {"change", NULL, GP_FIELDS(change_fields),
                                        .size = sizeof(struct gp_suggestion)};

#define RULE                                                                                                 \
    {"rule", NULL, GP_CELL_TEXT, get_rule, 0, .help = "its name"},                                           \
    {                                                                                                        \
        "type", NULL, GP_CELL_TEXT, get_type, 0, .words = types                                              \
    }
#define CHANGE                                                                                               \
    {                                                                                                        \
        NULL, NULL, GP_CELL_PART, NULL, 0, .rows = &change                                                   \
    }
static const struct gp_field suggestion_fields[] = {
    RULE, {"priority", NULL, GP_CELL_TEXT, get_priority, 0, .words = priorities}, CHANGE};
static const struct gp_field seen_fields[] = {RULE, CHANGE};

const struct gp_record gp_suggest_suggestions = {
    "suggestions", "What to do", GP_FIELDS(suggestion_fields), sizeof(struct gp_suggestion),
    .note = "most valuable first; those that may save nothing last"};
const struct gp_record gp_suggest_seen = {"not_worth_it", "What would not help", GP_FIELDS(seen_fields),
                                          sizeof(struct gp_suggestion),
                                          .note = "found, but not expected to shorten the step"};

/* ---- the step ---- */

#define AT(member) offsetof(struct gp_suggest_step, member)

GP_GETTER(get_unit) { gp_cell_text(c, ((const struct gp_suggest_step *)row)->found ? "step" : "trace"); }

GP_GETTER(get_source)
{
    gp_cell_text(c, gp_step_source_name((enum gp_step_source)((const struct gp_suggest_step *)row)->source));
}

GP_GETTER(get_median)
{
    const struct gp_suggest_step *t = row;
    c->i = t->found ? t->median_ns : t->step_ns;
}

GP_GETTER(get_recorder)
{
    const struct gp_suggest_step *t = row;
    c->none = !t->recorder;
    if (t->recorder) gp_cell_text(c, t->recorder);
}

GP_GETTER(get_unprofiled_source)
{
    static const char *const names[] = {GP_UNPROFILED_SOURCES(GP_WORD_1)};
    gp_cell_text(c, names[((const struct gp_suggest_step *)row)->unprofiled_source]);
}

static const char *const unprofiled_sources[] = {GP_UNPROFILED_SOURCES(GP_WORD_1) NULL};
static const char *const units[] = {"step", "trace", NULL};
static const struct gp_field step_fields[] = {
    {"unit", NULL, GP_CELL_TEXT, get_unit, 0, .words = units},
    {"source", NULL, GP_CELL_TEXT, get_source, 0, .words = gp_step_source_words},
    {"steps", NULL, GP_CELL_COUNT, gp_member_u32, AT(steps), .help = "that were examined"},
    {"warm_up", NULL, GP_CELL_COUNT, gp_member_u32, AT(warm_up), .help = "steps left out"},
    {"timed", NULL, GP_CELL_COUNT, gp_member_u32, AT(timed),
     .help = "whole steps that step_ns is the mean of; 0: no steps"},
    {"step_ns", NULL, GP_CELL_NS, gp_member_i64, AT(step_ns),
     .help = "wall time: the step time of all tools"},
    {"step_median_ns", NULL, GP_CELL_NS, get_median, 0, .help = "of the same steps"},
    {"recorder", NULL, GP_CELL_TEXT, get_recorder, 0, .help = "what recorded it, if that is known",
     .flags = GP_FIELD_OPTIONAL},
    {"unprofiled_ns", NULL, GP_CELL_NS, gp_member_i64, AT(unprofiled_ns),
     .help = "step time without the recorder, between the next two; the highest can pass the recorded one, "
             "as hosts differ from run to run"},
    {"unprofiled_low_ns", NULL, GP_CELL_NS, gp_member_i64, AT(unprofiled_low_ns), .help = "at least"},
    {"unprofiled_high_ns", NULL, GP_CELL_NS, gp_member_i64, AT(unprofiled_high_ns), .help = "at most"},
    {"unprofiled_source", NULL, GP_CELL_TEXT, get_unprofiled_source, 0,
     .help = "measured while nothing was recorded, given by --step-time, or modelled from what the recorder "
             "costs",
     .words = unprofiled_sources},
    {"busy_ns", NULL, GP_CELL_NS, gp_member_i64, AT(busy_ns), .help = "of the device that works most"},
    {"gpu_ns", NULL, GP_CELL_NS, gp_member_i64, AT(gpu_ns), .help = "sum of durations"},
    {"idle", NULL, GP_CELL_ROW, gp_member_row, AT(idle_ns), .rows = &gp_idle_causes},
    {"gpu_events", NULL, GP_CELL_COUNT, gp_member_u64, AT(kernels), .help = "rounded"},
    {"launches", NULL, GP_CELL_COUNT, gp_member_u64, AT(launches), .help = "rounded"},
    {"queue_p50_ns", NULL, GP_CELL_NS, gp_member_i64, AT(queue_p50_ns),
     .help = "median from launch to start"},
    {"launch_ns", NULL, GP_CELL_NS, gp_member_i64, AT(launch_ns), .help = "the same on an idle GPU",
     .flags = GP_FIELD_SIGNED},
    {"gap_ns", NULL, GP_CELL_NS, gp_member_i64, AT(gap_ns), .help = "gaps between queued kernels",
     .flags = GP_FIELD_SIGNED},
    {"replay_ns", NULL, GP_CELL_NS, gp_member_i64, AT(replay_ns), .flags = GP_FIELD_SIGNED},
    {"replay_error_pct", NULL, GP_CELL_PCT, gp_member_double, AT(replay_error_pct), .flags = GP_FIELD_SIGNED},
    {"trusted", NULL, GP_CELL_BOOL, gp_member_bool, AT(trusted),
     .help = "the replay is within 2% of the recorded time and near the step, and at most 1% of the events "
             "are damaged or lost"},
};
#undef AT
const struct gp_record gp_suggest_steps = {"step", "The step", GP_FIELDS(step_fields),
                                           sizeof(struct gp_suggest_step),
                                           .note = "the steps examined, on average"};

/* ---- the regime ---- */

#define AT(member) offsetof(struct gp_suggest, member)

GP_GETTER(get_step_regime)
{
    gp_cell_text(
        c, gp_regime_name(regime_shown(x, ((const struct gp_suggest *)row)->regime, GP_REGIME_UNKNOWN)));
}

/* What most of the time of kernels rests on. */
GP_GETTER(get_evidence_of_most)
{
    const struct gp_suggest *s = row;
    int best = GP_WORK_COUNTERS;
    for (int i = GP_WORK_SHAPES; i >= 0; i--)
        if (s->tier_ns[i] > s->tier_ns[best]) best = i;
    if (!s->tier_ns[best]) best = GP_WORK_UNKNOWN;
    gp_cell_text(c, gp_work_tier_name((enum gp_work_tier)best));
}

GP_GETTER(get_measured_pct)
{
    const struct gp_suggest *s = row;
    int64_t all = 0;
    for (int i = 0; i < GP_WORK_TIERS; i++) all += s->tier_ns[i];
    gp_cell_real(c, gp_pct(s->tier_ns[GP_WORK_COUNTERS], all));
}

GP_GETTER(get_empty_source)
{
    const struct gp_ceilings *top = &((const struct gp_suggest *)row)->ceilings;
    c->none = !(top->empty_ns > 0);
    gp_cell_text(c, gp_ceiling_source_name((enum gp_ceiling_source)top->empty_source));
}

#define NS(member)   GP_CELL_NS, gp_member_i64, AT(member)
#define PART(member) NS(regime_parts.member), .flags = GP_FIELD_TIMED
static const struct gp_field regime_fields[] = {
    {"step", NULL, GP_CELL_TEXT, get_step_regime, 0, .words = regimes},
    {"evidence", NULL, GP_CELL_TEXT, get_evidence_of_most, 0,
     .help = "what most of the time of kernels rests on", .words = gp_work_tier_words},
    {"from_counters_ns", NULL, NS(tier_ns[GP_WORK_COUNTERS]),
     .help = "GPU time of kernels whose bytes hardware counters measured"},
    {"flops_from_counters_ns", NULL, NS(flops_measured_ns),
     .help = "of from_counters_ns: kernels whose operations were measured as well"},
    {"by_mean_ns", NULL, NS(by_mean_ns),
     .help = "of from_counters_ns: kernels that were not measured themselves, but other launches of the same "
             "kernel, grid and block"},
    {"measured_pct", NULL, GP_CELL_PCT, get_measured_pct, 0,
     .help = "from_counters_ns, in percent of the GPU time of all kernels"},
    {"from_shapes_ns", NULL, NS(tier_ns[GP_WORK_SHAPES]),
     .help = "GPU time of kernels whose work is known from shapes"},
    {"from_names_ns", NULL, NS(tier_ns[GP_WORK_NAMES]),
     .help = "GPU time of kernels whose work is known from their name and grid"},
    {"whole_ns", NULL, PART(whole_ns), .help = "wall time"},
    {"idle_ns", NULL, PART(idle_ns), .help = "of the GPU, for any cause but the next two"},
    {"lead_ns", NULL, PART(lead_ns), .help = "of an only step, on the host before its first kernel"},
    {"waiting_ns", NULL, PART(waiting_ns),
     .help = "idle for other streams, events, or work launched before the recording"},
    {"latency_ns", NULL, PART(latency_ns), .help = "kernels barely longer than an empty one"},
    {"communication_ns", NULL, PART(communication_ns), .help = "exposed"},
    {"transfer_ns", NULL, PART(transfer_ns), .help = "exposed copies and sets"},
    {"compute_ns", NULL, PART(compute_ns), .help = "of the other kernels, by their regime"},
    {"memory_ns", NULL, PART(memory_ns)},
    {"inefficient_ns", NULL, PART(inefficient_ns), .help = "kernels far below both roofs"},
    {"unknown_ns", NULL, PART(unknown_ns)},
    {"empty_kernel_ns", NULL, GP_CELL_NS, get_some_ns, AT(empty_ns),
     .help = "what an empty kernel takes here, at most", .flags = GP_FIELD_NULL},
    {"empty_kernel_source", NULL, GP_CELL_TEXT, get_empty_source, 0, .flags = GP_FIELD_OPTIONAL,
     .words = gp_ceiling_source_words},
    {"ceilings", NULL, GP_CELL_ROW, gp_member_row, AT(ceilings), .rows = &gp_cost_ceilings},
};
#undef PART
const struct gp_record gp_suggest_regime = {"regime", "What limits it", GP_FIELDS(regime_fields),
                                            sizeof(struct gp_suggest),
                                            .note = "what limits it; times over all steps"};

static const struct gp_field together_fields[] = {
    {"saving_ns", NULL, NS(joint_ns), .flags = GP_FIELD_TIMED},
    {"saving_low_ns", NULL, NS(joint_low_ns), .flags = GP_FIELD_TIMED},
    {"saving_high_ns", NULL, NS(joint_high_ns), .flags = GP_FIELD_TIMED},
};
#undef NS
#undef AT
const struct gp_record gp_suggest_together = {
    "together", "All together", GP_FIELDS(together_fields), sizeof(struct gp_suggest),
    .note = "all suggestions together: they may save the same time"};
