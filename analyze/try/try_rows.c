#include <math.h>
#include "analyze/try/try.h"
#include "formats/base/buf.h"

static const char *const modes[] = {"steps", "processes", NULL};
static const char *const states[] = {"measured", "not_applicable", "failed", NULL};

GP_GET_UNLESS(get_known, void, gp_member_i64, c->i == GP_TRY_UNKNOWN)

GP_GET_UNLESS(get_difference, struct gp_trial, gp_member_row, !r->compared)

bool gp_try_trusted(const struct gp_try *t)
{
    bool measured = false;
    for (size_t i = 0; i < t->trials.n; i++) measured |= gp_trial_measured(&t->trials.at[i]);
    const struct gp_trial *c = t->control.n ? &t->control.at[0] : NULL;
    return measured && c && gp_trial_measured(c) && c->low_ns <= 0 && c->high_ns >= 0;
}

/* ---- what else a change does, in words ---- */

static void put_relative(struct gp_buf *b, const char *what, double v)
{
    if (!isfinite(v)) return;
    gp_buf_puts(b, b->n ? ", " : "");
    if (v <= 0) gp_buf_printf(b, "%s equal", what);
    else if (v < 0.1) gp_buf_printf(b, "%s equal to %d digits", what, (int)floor(-log10(v)));
    else gp_buf_printf(b, "%s %s by %.0f%%", what, *what == 'l' ? "differs" : "differ", 100 * v);
}

static void put_memory(struct gp_buf *b, int64_t more)
{
    int64_t size = more < 0 ? -more : more;
    bool small = size < 100000000;
    gp_buf_puts(b, b->n ? ", " : "");
    if (size < 500000) gp_buf_puts(b, "no more memory");
    else
        gp_buf_printf(b, "%.3g %s %s memory", (double)size / (small ? 1e6 : 1e9), small ? "MB" : "GB",
                      more > 0 ? "more" : "less");
}

void gp_trial_put_effect(struct gp_buf *b, const struct gp_trial *r)
{
    if (r->compared) {
        put_relative(b, "loss", r->difference.loss_relative);
        if (!isfinite(r->difference.loss_relative))
            put_relative(b, "outputs", r->difference.outputs_relative);
        put_relative(b, "updates", r->difference.update_relative);
    }
    if (r->peak_bytes_on >= 0 && r->peak_bytes_off >= 0) put_memory(b, r->peak_bytes_on - r->peak_bytes_off);
}

#define AT(member) offsetof(struct gp_try_difference, member)
static const struct gp_field difference_fields[] = {
    {"loss_off", NULL, GP_CELL_REAL, gp_member_double, AT(loss_off), .help = "null: no loss was seen",
     .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"loss_on", NULL, GP_CELL_REAL, gp_member_double, AT(loss_on), .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"loss_relative", NULL, GP_CELL_REAL, gp_member_double, AT(loss_relative),
     .help = "their distance as a share of the first", .flags = GP_FIELD_NULL},
    {"outputs_relative", NULL, GP_CELL_REAL, gp_member_double, AT(outputs_relative),
     .help = "distance of the outputs of an outermost module from the same state, inputs and random numbers, "
             "as a share of their length",
     .flags = GP_FIELD_NULL},
    {"update_relative", NULL, GP_CELL_REAL, gp_member_double, AT(update_relative),
     .help = "the same of an optimizer's step from the same state and gradients", .flags = GP_FIELD_NULL},
    {"noise_relative", NULL, GP_CELL_REAL, gp_member_double, AT(noise_relative),
     .help = "the same of two runs without the change", .flags = GP_FIELD_NULL},
};
const struct gp_record gp_try_differences = {"difference", NULL, GP_FIELDS(difference_fields),
                                             sizeof(struct gp_try_difference),
                                             .note = "what the change does to results"};
#undef AT

#define AT(member) offsetof(struct gp_try_sample, member)
static const struct gp_field sample_fields[] = {
    {"off_ns", NULL, GP_CELL_NS, gp_member_i64, AT(off_ns), .help = "per step"},
    {"on_ns", NULL, GP_CELL_NS, gp_member_i64, AT(on_ns), .help = "per step"},
};
const struct gp_record gp_try_samples = {"samples", NULL, GP_FIELDS(sample_fields),
                                         sizeof(struct gp_try_sample),
                                         .note = "neighbouring blocks without and with the change"};
#undef AT

#define AT(member) offsetof(struct gp_trial, member)
#define MAYBE      .flags = GP_FIELD_NULL
#define WIDE       .flags = GP_FIELD_NULL | GP_COLUMN_WIDE
#define SIGNED     .flags = GP_FIELD_NULL | GP_FIELD_SIGNED
static const struct gp_field trial_fields[] = {
    {"change", "Change", GP_CELL_TEXT, gp_member_text, AT(change), .help = "its name"},
    {"rule", NULL, GP_CELL_TEXT, gp_member_text, AT(rule),
     .help = "of trace-suggest, which asked for it; null: none did", MAYBE},
    {"mode", NULL, GP_CELL_TEXT, gp_member_text, AT(mode),
     .help = "switched between steps of one process, or by pairs of processes", .words = modes},
    {"status", NULL, GP_CELL_TEXT, gp_member_text, AT(status), .words = states},
    {"reason", NULL, GP_CELL_TEXT, gp_member_text, AT(reason), .help = "why it was not measured", MAYBE},
    {"off_ns", "Off", GP_CELL_NS, get_known, AT(off_ns), .help = "median step without the change", MAYBE},
    {"on_ns", "On", GP_CELL_NS, get_known, AT(on_ns), .help = "median step with it", MAYBE},
    {"saving_ns", "Saves", GP_CELL_CHANGE_NS, get_known, AT(saving_ns),
     .help = "per step, from the differences of pairs", SIGNED},
    {"low_ns", "At least", GP_CELL_CHANGE_NS, get_known, AT(low_ns), .help = "low end of the 95% interval",
     SIGNED},
    {"high_ns", "At most", GP_CELL_CHANGE_NS, get_known, AT(high_ns), .help = "high end of it", SIGNED},
    {"pairs", "Pairs", GP_CELL_COUNT, gp_member_i64, AT(pairs), .help = "of blocks, or of processes"},
    {"predicted_low_ns", "Predicted from", GP_CELL_NS, get_known, AT(predicted_low_ns),
     .help = "by the rule, at least", WIDE},
    {"predicted_high_ns", "to", GP_CELL_NS, get_known, AT(predicted_high_ns), .help = "by the rule, at most",
     WIDE},
    {"peak_bytes_off", "Peak off", GP_CELL_BYTES, get_known, AT(peak_bytes_off),
     .help = "of PyTorch's allocator during the blocks; null: no GPU", WIDE},
    {"peak_bytes_on", "Peak on", GP_CELL_BYTES, get_known, AT(peak_bytes_on), WIDE},
    {"difference", NULL, GP_CELL_ROW, get_difference, AT(difference),
     .help = "null: not compared; notes say why", .rows = &gp_try_differences, MAYBE},
    {"permanent", NULL, GP_CELL_TEXT, gp_member_text, AT(permanent),
     .help = "what makes the change permanent, a line each"},
    {"may_change", NULL, GP_CELL_TEXT, gp_member_text, AT(may_change), .help = "what else it may change"},
    {"what_if", NULL, GP_CELL_BOOL, gp_member_bool, AT(what_if),
     .help = "not a change to make, but the upper end of what one could save"},
    {"steps_per_block", NULL, GP_CELL_COUNT, get_known, AT(steps_per_block), MAYBE},
    {"outliers", NULL, GP_CELL_COUNT, gp_member_i64, AT(outliers),
     .help = "pairs far from the others; they count"},
    {"drift_pct", NULL, GP_CELL_PCT, gp_member_double, AT(drift_pct),
     .help = "by how much steps without the change have grown meanwhile; null: not by more than chance",
     SIGNED},
    {"changes", NULL, GP_CELL_LIST, gp_member_rows, AT(changes),
     .help = "of all together: which; otherwise none", .rows = &gp_each_word},
    {"notes", NULL, GP_CELL_LIST, gp_member_rows, AT(notes), .rows = &gp_each_word},
    {"samples", NULL, GP_CELL_ROWS, gp_member_rows, AT(samples), .rows = &gp_try_samples},
};

const struct gp_record gp_try_trials = {"trials", "Changes", GP_FIELDS(trial_fields), sizeof(struct gp_trial),
                                        .note = "a change, on and off in turn"};
#undef AT

/* ---- the answer ---- */

GP_GETTER(get_trusted) { c->i = gp_try_trusted(row); }

GP_GETTER(get_one)
{
    c->none = !gp_rows_n(gp_member_at(row, f));
    c->at = gp_rows_at(gp_member_at(row, f));
}

#define AT(member) offsetof(struct gp_try, member)
static const struct gp_field answer_fields[] = {
    {"steps", NULL, GP_CELL_TEXT, gp_member_text, AT(steps), .help = "how a step ends; null: none were found",
     MAYBE},
    {"device", NULL, GP_CELL_TEXT, gp_member_text, AT(device), .help = "the GPU; null: none was in use",
     MAYBE},
    {"refused", NULL, GP_CELL_TEXT, gp_member_text, AT(refused),
     .help = "why nothing, or no more, was measured", MAYBE},
    {"trusted", NULL, GP_CELL_BOOL, get_trusted, 0,
     .help = "something was measured, and the interval of the control holds zero"},
    {"trials", NULL, GP_CELL_ROWS, gp_member_rows, AT(trials), .rows = &gp_try_trials},
    {"control", NULL, GP_CELL_ROW, get_one, AT(control),
     .help = "nothing changes: its interval must hold zero; null: it was not measured",
     .rows = &gp_try_trials, MAYBE},
    {"together", NULL, GP_CELL_ROW, get_one, AT(together),
     .help = "all that help at once; null: fewer than two do", .rows = &gp_try_trials, MAYBE},
};
const struct gp_record gp_try_answers = {"answer", NULL, GP_FIELDS(answer_fields), sizeof(struct gp_try),
                                         .note = "what changes save, measured in a running program"};
