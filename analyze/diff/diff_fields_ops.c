/* The rows of an answer as they are described once: what changed. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analyze/diff/diff.h"
#include "formats/base/buf.h"
#include "formats/base/declare.h"

/* ---- words ---- */

static const char *const change_words[] = {GP_CHANGES(GP_SECOND) NULL};
static const char *const test_words[] = {GP_DIFF_TESTS(GP_SECOND) NULL};

/* ---- results of a test ---- */

#define AT(member) offsetof(struct gp_diff_decision, member)

/* "+3.2", "-0.4", "0" */
static void put_signed(struct gp_buf *b, double pct)
{
    if (fabs(pct) < 0.05) gp_buf_putc(b, '0');
    else gp_buf_printf(b, "%+.1f", pct);
}

GP_GETTER_OF(get_interval, struct gp_diff_decision, e)
{
    struct gp_buf b = {0};
    if (isfinite(e->ci_low_pct) && isfinite(e->ci_high_pct)) {
        put_signed(&b, e->ci_low_pct);
        gp_buf_puts(&b, " to ");
        put_signed(&b, e->ci_high_pct);
        gp_buf_putc(&b, '%');
    }
    gp_cell_take(c, &b, x);
}

GP_GET_UNLESS(get_needed, void, gp_member_u32, !c->i)

#define PCT(member) GP_CELL_CHANGE_PCT, gp_member_double, AT(member)
static const struct gp_field decision_fields[] = {
    {"interval", "interval", GP_CELL_TEXT, get_interval, 0, .help = "of the typical change, 1 - alpha",
     .flags = GP_COLUMN_SPARE | GP_FIELD_TABLES},
    {"p_value", "p", GP_CELL_REAL, gp_member_double, AT(p), .help = "0 to 1; null: not tested",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"q_value", "q", GP_CELL_REAL, gp_member_double, AT(q),
     .help = "p-value, corrected for all tested operations", .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
    {"ci_low_pct", NULL, PCT(ci_low_pct), .help = "interval of the typical change, 1 - alpha; null: unknown",
     .flags = GP_FIELD_NULL},
    {"ci_high_pct", NULL, PCT(ci_high_pct), .flags = GP_FIELD_NULL},
    {"estimate_pct", NULL, PCT(estimate_pct), .help = "the typical change", .flags = GP_FIELD_NULL},
    {"significant", NULL, GP_CELL_BOOL, gp_member_bool, AT(significant),
     .help = "not by chance, beyond the noise, and large enough to matter"},
    {"test", "by", GP_CELL_TEXT, gp_member_word, AT(test), .help = "the test", .flags = GP_COLUMN_WIDE,
     .words = test_words},
    {"baseline_samples", NULL, GP_CELL_COUNT, gp_member_u32, AT(n[GP_DIFF_BASE]),
     .help = "that the test had"},
    {"current_samples", NULL, GP_CELL_COUNT, gp_member_u32, AT(n[GP_DIFF_CUR]), .flags = 0},
    {"within_run", NULL, GP_CELL_BOOL, gp_member_bool, AT(within_run),
     .help = "from one run per side: the interval does not cover differences between runs"},
    {"samples_needed", NULL, GP_CELL_COUNT, get_needed, AT(needed),
     .help = "steps (of figures of the whole: runs) per side that would decide it; null: not applicable",
     .flags = GP_FIELD_NULL},
    {"why", "why", GP_CELL_TEXT, gp_member_name, AT(why), .help = "reason for the verdict",
     .flags = GP_COLUMN_WIDE | GP_FIELD_NULL},
};
#undef AT
static const struct gp_record decision = {"decision", NULL, GP_FIELDS(decision_fields),
                                          .size = sizeof(struct gp_diff_decision)};

/* ---- operations ---- */

#define AT(member) offsetof(struct gp_diff_figure, member)

/* N names of the answer from FIRST on. */
static void put_names(struct gp_cell *c, const struct gp_row_of *x, uint32_t first, uint32_t n)
{
    const struct gp_diff *d = x->of;
    gp_cell_list(c, n ? &d->names.at[first] : NULL, n);
}

GP_GET(get_names, struct gp_diff_figure, put_names(c, x, r->names, r->n_names))

GP_GET_UNLESS(get_host_count, void, gp_member_double,
              ((const struct gp_diff *)x->of)->opts.by == GP_DIFF_BY_KERNEL)

static const struct gp_field figure_fields[] = {
    {"count", NULL, GP_CELL_REAL, gp_member_double, AT(count), .help = "calls per step"},
    {"total_ns", NULL, GP_CELL_NS, gp_member_i64, AT(total_ns),
     .help = "GPU time per step; of all operations it sums to the side's gpu_ns"},
    {"mean_ns", NULL, GP_CELL_NS_REAL, gp_member_double, AT(mean_ns), .help = "of one call"},
    {"min_ns", NULL, GP_CELL_NS, gp_member_i64, AT(min_ns), .help = "shortest call"},
    {"max_ns", NULL, GP_CELL_NS, gp_member_i64, AT(max_ns), .help = "longest call"},
    {"share_ns", NULL, GP_CELL_NS, gp_member_i64, AT(share_ns),
     .help = "its share of the step's busy time; over all operations it sums to busy_ns",
     .flags = GP_FIELD_TIMED},
    {"calls", NULL, GP_CELL_COUNT, gp_member_u64, AT(calls), .help = "in all steps used"},
    {"sum_ns", NULL, GP_CELL_NS, gp_member_i64, AT(sum_ns), .help = "in all steps used"},
    {"bytes", NULL, GP_CELL_BYTES, gp_member_i64, AT(bytes), .help = "copied or set per step"},
    {"host_count", NULL, GP_CELL_REAL, get_host_count, AT(host_count),
     .help = "--by op, range: host events per step; --by line: launches", .flags = GP_FIELD_OPTIONAL},
    {"names", NULL, GP_CELL_LIST, get_names, AT(names),
     .help = "full names of its kernels, by time, longest first", .rows = &gp_each_sid},
};
#undef AT
static const struct gp_record figure = {"figure", NULL, GP_FIELDS(figure_fields),
                                        .size = sizeof(struct gp_diff_figure)};

#define AT(member) offsetof(struct gp_diff_op, member)

GP_GETTER_OF(get_name, struct gp_diff_op, op)
{
    const char *label = gp_string(x->strings, op->label);
    gp_member_sid(c, f, op, x);
    if (op->label) gp_cell_label(c, c->text, c->text_len, label, gp_string_len(x->strings, op->label));
}

/* A figure of one side, which AT is a member of. */
static const struct gp_diff_figure *figure_of(const struct gp_diff_op *op, const struct gp_field *f)
{
    return &op->side[f->at < AT(side[GP_DIFF_CUR]) ? GP_DIFF_BASE : GP_DIFF_CUR];
}

GP_GET_UNLESS(get_figure, void, gp_member_row, !figure_of(row, f)->present)

GP_GET_UNLESS(get_total, void, gp_member_i64, !figure_of(row, f)->present)

GP_GET_UNLESS(get_real, void, gp_member_double, !figure_of(row, f)->present)

static bool by_kernel(const struct gp_row_of *x)
{
    return ((const struct gp_diff *)x->of)->opts.by == GP_DIFF_BY_KERNEL;
}

GP_GETTER(get_class)
{
    c->none = !by_kernel(x);
    gp_cell_text(c, gp_class_name(gp_class_of((enum gp_frame_kind)((const struct gp_diff_op *)row)->kind)));
}

static const char *const matches[] = {"full_name", "normalised_name", "family", NULL};

GP_GETTER(get_match)
{
    uint32_t match = ((const struct gp_diff_op *)row)->match;
    c->none = !by_kernel(x);
    gp_cell_text(c, matches[match <= 2 ? match : 2]);
}

GP_GET_UNLESS(get_block, void, gp_member_u32, c->i == GP_PROFILE_NONE)

GP_GETTER_OF(get_samples, struct gp_diff_op, op)
{
    const struct gp_diff *d = x->of;
    bool base = f->at == AT(n_samples[GP_DIFF_BASE]);
    size_t first = op->first_sample + (base ? 0 : op->n_samples[GP_DIFF_BASE]);
    size_t n = op->n_samples[base ? GP_DIFF_BASE : GP_DIFF_CUR];
    if (first >= d->samples.n) n = 0;
    else if (n > d->samples.n - first) n = d->samples.n - first;
    gp_cell_list(c, n ? &d->samples.at[first] : NULL, n);
}

/* Longer or shorter, by any name; undecided is neither. */
static uint8_t op_colour(const void *row)
{
    const struct gp_diff_op *op = row;
    if (op->change == GP_CHANGE_NONE || op->change == GP_CHANGE_INCONCLUSIVE)
        return (uint8_t)(1 + op->change);
    return (uint8_t)(1 + (op->change_ns > 0 ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT));
}

#define EFFECT GP_CELL_CHANGE_NS, gp_member_i64
static const struct gp_field op_fields[] = {
    {"name", "operation", GP_CELL_NAME, get_name, AT(name),
     .help = "full name, from the baseline if present"},
    {"change_type", "what", GP_CELL_TEXT, gp_member_word, AT(change), .words = change_words},
    {"baseline", NULL, GP_CELL_ROW, get_figure, AT(side[GP_DIFF_BASE]), .help = "null: not there",
     .flags = GP_FIELD_NULL, .rows = &figure},
    {"current", NULL, GP_CELL_ROW, get_figure, AT(side[GP_DIFF_CUR]), .help = "null: not there",
     .flags = GP_FIELD_NULL, .rows = &figure},
    {"change_ns", "change", EFFECT, AT(change_ns), .help = "GPU time, current minus baseline total_ns"},
    {"change_pct", "in %", GP_CELL_CHANGE_PCT, gp_member_double, AT(change_pct),
     .help = "change / baseline; null: nothing in the baseline", .flags = GP_FIELD_NULL},
    {"baseline_total_ns", "was", GP_CELL_NS, get_total, AT(side[GP_DIFF_BASE].total_ns),
     .help = "GPU time in the baseline", .flags = GP_FIELD_TABLES, .after = "interval"},
    {"current_total_ns", "is", GP_CELL_NS, get_total, AT(side[GP_DIFF_CUR].total_ns),
     .help = "GPU time in the current trace", .flags = GP_FIELD_TABLES | GP_COLUMN_SPARE,
     .after = "baseline_total_ns"},
    {"baseline_count", "calls were", GP_CELL_REAL, get_real, AT(side[GP_DIFF_BASE].count),
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE, .after = "current_total_ns"},
    {"current_count", "calls are", GP_CELL_REAL, get_real, AT(side[GP_DIFF_CUR].count),
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE, .after = "baseline_count"},
    {"baseline_mean_ns", "mean was", GP_CELL_NS_REAL, get_real, AT(side[GP_DIFF_BASE].mean_ns),
     .help = "of one call", .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE, .after = "current_count"},
    {"current_mean_ns", "mean is", GP_CELL_NS_REAL, get_real, AT(side[GP_DIFF_CUR].mean_ns),
     .help = "of one call", .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE, .after = "baseline_mean_ns"},
    {.type = GP_CELL_PART, .at = AT(d), .rows = &decision},
    {"label", NULL, GP_CELL_TEXT, gp_member_sid, AT(label), .help = "short name"},
    {"key", NULL, GP_CELL_TEXT, gp_member_sid, AT(key), .help = "key by which both sides were matched"},
    {"class", NULL, GP_CELL_TEXT, get_class, AT(kind), .help = "--by kernel: the kind of work",
     .flags = GP_FIELD_OPTIONAL, .words = gp_class_words},
    {"matched_by", NULL, GP_CELL_TEXT, get_match, AT(match), .help = "--by kernel: what both sides share",
     .flags = GP_FIELD_OPTIONAL, .words = matches},
    {"count_changed", NULL, GP_CELL_BOOL, gp_member_bool, AT(count_changed), .help = "calls per step differ"},
    {"retiled", NULL, GP_CELL_BOOL, gp_member_bool, AT(retiled),
     .help = "other names for the same key on the sides"},
    {"reshaped", NULL, GP_CELL_BOOL, gp_member_bool, AT(reshaped), .help = "other grids on the sides"},
    {"relaunched", NULL, GP_CELL_BOOL, gp_member_bool, AT(relaunched),
     .help = "launched singly on one side, by graphs on the other"},
    {"block", NULL, GP_CELL_ID, get_block, AT(block), .help = "index into blocks", .flags = GP_FIELD_NULL},
    {"count_effect_ns", "by count", EFFECT, AT(count_effect_ns),
     .help =
         "part of the change of share_ns that comes from more or fewer calls; the three effects sum to it",
     .flags = GP_COLUMN_WIDE, .after = "test"},
    {"percall_effect_ns", "by call", EFFECT, AT(percall_effect_ns),
     .help = "effect of longer or shorter calls", .flags = GP_COLUMN_WIDE, .after = "count_effect_ns"},
    {"overlap_effect_ns", "by overlap", EFFECT, AT(overlap_effect_ns),
     .help = "effect of less or more overlap", .flags = GP_COLUMN_WIDE | GP_FIELD_TIMED,
     .after = "percall_effect_ns"},
    {"baseline_samples_ns", NULL, GP_CELL_LIST, get_samples, AT(n_samples[GP_DIFF_BASE]),
     .help = "GPU time in each step used", .rows = &gp_each_i64},
    {"current_samples_ns", NULL, GP_CELL_LIST, get_samples, AT(n_samples[GP_DIFF_CUR]), .rows = &gp_each_i64},
};
#undef AT

const struct gp_record gp_diff_op_rows = {
    "operations",
    "All operations",
    GP_FIELDS(op_fields),
    sizeof(struct gp_diff_op),
    .note = "all operations, by the size of their change; their change_ns sum to total.change_ns",
    .colour = op_colour};

/* ---- figures of the whole ---- */

#define AT(member) offsetof(struct gp_diff_metric, member)

static const char *const metric_words[] = {GP_METRICS(GP_SECOND) NULL};
static const char *const metric_classes[] = {"kernel", "wall", "exact", NULL};
static const char *const metric_units[] = {"ns", "count", "bytes", NULL};
static const char *const verdicts[] = {"regression", "improvement", "no_change", "inconclusive", NULL};

static enum gp_metric_id id_of(const struct gp_diff_metric *m) { return (enum gp_metric_id)m->id; }

GP_GETTER(get_metric) { gp_cell_named(c, gp_metric_name(id_of(row)), gp_metric_text(id_of(row))); }

GP_GETTER(get_metric_class) { gp_cell_text(c, gp_metric_class_name(gp_metric_class(id_of(row)))); }

GP_GETTER(get_unit) { gp_cell_text(c, gp_metric_unit(id_of(row))); }

GP_GETTER_OF(get_verdict, struct gp_diff_metric, m)
{
    const char *name = gp_change_name((enum gp_change)m->verdict);
    gp_cell_named(c, name, m->refused ? "not compared" : name);
}

/* Of metrics in the field's unit. */
GP_GET_UNLESS(get_in_unit, void, gp_member_i64, strcmp(gp_metric_unit(id_of(row)), f->unit) != 0)

/* The cell takes the metric's unit. */
GP_GETTER(get_figure_of)
{
    const char *unit = gp_metric_unit(id_of(row));
    bool change = f->type == GP_CELL_CHANGE_NS;
    gp_member_i64(c, f, row, x);
    if (unit[0] == 'b') c->type = change ? GP_CELL_CHANGE_BYTES : GP_CELL_BYTES;
    if (unit[0] == 'c') c->type = GP_CELL_COUNT;
}

#define IN_UNITS(word, member)                                                                               \
    {                                                                                                        \
        word "_ns", NULL,         GP_CELL_CHANGE_NS,         get_in_unit,                                    \
        AT(member), .unit = "ns", .flags = GP_FIELD_OPTIONAL},                                               \
        {word "_bytes",                                                                                      \
         NULL,                                                                                               \
         GP_CELL_CHANGE_BYTES,                                                                               \
         get_in_unit,                                                                                        \
         AT(member),                                                                                         \
         .unit = "bytes",                                                                                    \
         .flags = GP_FIELD_OPTIONAL},                                                                        \
    {                                                                                                        \
        word, NULL, GP_CELL_COUNT, get_in_unit, AT(member), .help = "a count", .unit = "count",              \
                                                            .flags = GP_FIELD_OPTIONAL | GP_FIELD_SIGNED     \
    }
static const struct gp_field metric_fields[] = {
    {"metric", "figure", GP_CELL_TEXT, get_metric, AT(id), .words = metric_words},
    {"class", NULL, GP_CELL_TEXT, get_metric_class, AT(id),
     .help = "kernel: sampled by step; wall: depends on the host, sampled by run; exact: no noise",
     .words = metric_classes},
    {"unit", NULL, GP_CELL_TEXT, get_unit, AT(id), .words = metric_units},
    {"change_type", "verdict", GP_CELL_TEXT, get_verdict, AT(verdict),
     .help = "test result; counts and bytes have no noise", .after = "change_pct", .words = verdicts},
    IN_UNITS("baseline", side[GP_DIFF_BASE]),
    {"baseline_value", "was", GP_CELL_NS, get_figure_of, AT(side[GP_DIFF_BASE]), .flags = GP_FIELD_TABLES},
    IN_UNITS("current", side[GP_DIFF_CUR]),
    {"current_value", "is", GP_CELL_NS, get_figure_of, AT(side[GP_DIFF_CUR]), .flags = GP_FIELD_TABLES},
    IN_UNITS("change", change),
    {"change_value", "change", GP_CELL_CHANGE_NS, get_figure_of, AT(change), .flags = GP_FIELD_TABLES},
    {"change_pct", "in %", GP_CELL_CHANGE_PCT, gp_member_double, AT(change_pct), .flags = GP_FIELD_NULL},
    {.type = GP_CELL_PART, .at = AT(d), .rows = &decision},
    {"refused", NULL, GP_CELL_BOOL, gp_member_bool, AT(refused), .help = "not compared: see reasons"},
};
#undef AT

const struct gp_record gp_diff_metric_rows = {"metrics", "The trace as a whole", GP_FIELDS(metric_fields),
                                              sizeof(struct gp_diff_metric),
                                              .note = "a figure of the step or trace as a whole"};

/* ---- terms of the change ---- */

#define AT(member) offsetof(struct gp_diff_cause, member)

static const char *const sorts[] = {[GP_CAUSE_OP] = "operation",
                                    [GP_CAUSE_IDLE] = "idle",
                                    [GP_CAUSE_OTHER] = "other",
                                    [GP_CAUSE_CLOCKS] = "clocks",
                                    NULL};

GP_GET_IF(get_idle_cause, struct gp_diff_cause, r->sort == GP_CAUSE_IDLE,
          gp_cell_text(c, gp_idle_cause_name((enum gp_idle_cause)r->index)))

GP_GETTER_OF(get_operation, struct gp_diff_cause, cause)
{
    const struct gp_diff *d = x->of;
    c->none = cause->sort != GP_CAUSE_OP || cause->index >= d->ops.n;
    if (c->none) return;
    gp_sid name = d->ops.at[cause->index].name;
    gp_cell_label(c, gp_diff_str(d, name), gp_string_len(&d->strings, name), NULL, 0);
}

static const struct gp_field cause_fields[] = {
    {"cause", NULL, GP_CELL_NAME, gp_member_sid, AT(name), .flags = 0},
    {"change_ns", NULL, GP_CELL_CHANGE_NS, gp_member_i64, AT(change_ns), .flags = 0},
    {"sort", NULL, GP_CELL_TEXT, gp_member_word, AT(sort), .words = sorts},
    {"idle_cause", NULL, GP_CELL_TEXT, get_idle_cause, AT(index), .flags = GP_FIELD_NULL},
    {"operation", NULL, GP_CELL_NAME, get_operation, AT(index), .flags = GP_FIELD_NULL},
    {"baseline_ns", NULL, GP_CELL_CHANGE_NS, gp_member_i64, AT(side_ns[GP_DIFF_BASE]), .flags = 0},
    {"current_ns", NULL, GP_CELL_CHANGE_NS, gp_member_i64, AT(side_ns[GP_DIFF_CUR]), .flags = 0},
};
#undef AT

const struct gp_record gp_diff_cause_rows = {
    "attribution", NULL, GP_FIELDS(cause_fields), sizeof(struct gp_diff_cause),
    .note = "a term of the change of the step's time: their change_ns sum to it exactly"};

/* ---- blocks ---- */

#define AT(member) offsetof(struct gp_diff_block, member)

static uint32_t names_of(const struct gp_diff *d, const struct gp_diff_block *k, int side)
{
    uint32_t n = k->n_names[side];
    size_t left = k->first_name[side] < d->names.n ? d->names.n - k->first_name[side] : 0;
    return n < left ? n : (uint32_t)left;
}

static int side_at(const struct gp_field *f)
{
    return f->at == AT(first_name[GP_DIFF_BASE]) ? GP_DIFF_BASE : GP_DIFF_CUR;
}

GP_GET(get_block_names, struct gp_diff_block,
       put_names(c, x, r->first_name[side_at(f)], names_of(x->of, r, side_at(f))))

/* "layer_norm, gelu, dropout + 3 more" */
GP_GETTER_OF(get_block_text, struct gp_diff_block, k)
{
    enum { SHOWN = 6 };
    const struct gp_diff *d = x->of;
    int side = side_at(f);
    uint32_t n = names_of(d, k, side);
    struct gp_buf b = {0};
    for (uint32_t i = 0; i < n && i < SHOWN; i++) {
        gp_sid name = d->names.at[k->first_name[side] + i];
        gp_buf_puts(&b, i ? ", " : "");
        gp_buf_put(&b, gp_diff_str(d, name), gp_string_len(&d->strings, name));
    }
    if (n > SHOWN) gp_buf_printf(&b, " and %u more", (unsigned)(n - SHOWN));
    gp_cell_take(c, &b, x);
}

/* "6 to 3" */
GP_GET_TEXT(get_launches, struct gp_diff_block, gp_buf_printf(&b, "%.3g", r->kernels[GP_DIFF_BASE]);
            if (r->kernels[GP_DIFF_BASE] != r->kernels[GP_DIFF_CUR])
                gp_buf_printf(&b, " to %.3g", r->kernels[GP_DIFF_CUR]))

GP_GET(get_block_pct, struct gp_diff_block,
       gp_cell_share(c, (double)r->change_ns, (double)r->side_ns[GP_DIFF_BASE]))

static uint8_t block_colour(const void *row)
{
    bool longer = ((const struct gp_diff_block *)row)->change_ns > 0;
    return (uint8_t)(1 + (longer ? GP_CHANGE_REGRESSION : GP_CHANGE_IMPROVEMENT));
}

#define BLOCK_SIDE(name, side)                                                                               \
    static const struct gp_field name##_fields[] = {                                                         \
        {"kernels", NULL, GP_CELL_REAL, gp_member_double, AT(kernels[side]),                                 \
         .help = "GPU events of one occurrence"},                                                            \
        {"total_ns", NULL, GP_CELL_NS, gp_member_i64, AT(side_ns[side]),                                     \
         .help = "over all occurrences in a step"},                                                          \
        {"names", NULL, GP_CELL_LIST, get_block_names, AT(first_name[side]), .rows = &gp_each_sid}};         \
    static const struct gp_record name = {.id = #name, .fields = name##_fields, .n = GP_COUNT(name##_fields)};
BLOCK_SIDE(block_was, GP_DIFF_BASE)
BLOCK_SIDE(block_is, GP_DIFF_CUR)

static const struct gp_field block_fields[] = {
    {"change_type", "what", GP_CELL_TEXT, gp_member_word, AT(change), .after = "label",
     .words = change_words},
    {"segment", NULL, GP_CELL_BOOL, gp_member_bool, AT(segment),
     .help = "a whole segment, compared by class: replacements inside are unknown"},
    {"label", "block", GP_CELL_NAME, gp_member_sid, AT(label), .flags = 0},
    {"launches", "launches", GP_CELL_TEXT, get_launches, 0, .help = "per occurrence, baseline to current",
     .flags = GP_FIELD_TABLES},
    {"times", "times", GP_CELL_COUNT, gp_member_u32, AT(times), .help = "occurrences in a step"},
    {"baseline", NULL, GP_CELL_ROW, gp_member_row, 0, .rows = &block_was},
    {"current", NULL, GP_CELL_ROW, gp_member_row, 0, .rows = &block_is},
    {"change_ns", "change", GP_CELL_CHANGE_NS, gp_member_i64, AT(change_ns), .help = "over all occurrences"},
    {"change_pct", "in %", GP_CELL_CHANGE_PCT, get_block_pct, 0, .flags = GP_FIELD_TABLES},
    {"baseline_total_ns", "was", GP_CELL_NS, gp_member_i64, AT(side_ns[GP_DIFF_BASE]),
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
    {"current_total_ns", "is", GP_CELL_NS, gp_member_i64, AT(side_ns[GP_DIFF_CUR]),
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
    {"was", "was launched", GP_CELL_TEXT, get_block_text, AT(first_name[GP_DIFF_BASE]),
     .help = "in this order", .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
    {"is", "is launched", GP_CELL_TEXT, get_block_text, AT(first_name[GP_DIFF_CUR]), .help = "in this order",
     .flags = GP_FIELD_TABLES | GP_COLUMN_WIDE},
};
#undef AT

const struct gp_record gp_diff_block_rows = {"blocks",
                                             "Blocks of launches that changed",
                                             GP_FIELDS(block_fields),
                                             sizeof(struct gp_diff_block),
                                             .note = "launches that changed into other launches",
                                             .colour = block_colour};
