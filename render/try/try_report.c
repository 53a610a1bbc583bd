#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "render/report/record.h"
#include "render/try/try_priv.h"

static const char *count_word(size_t n)
{
    static const char *const words[] = {"no",   "one", "two",   "three", "four",
                                        "five", "six", "seven", "eight", "nine"};
    return n < sizeof words / sizeof *words ? words[n] : "many";
}

/* "24.9 -> 11.2 ms per step (11.1 to 11.4)": the interval is that of the saving, below the step without. */
static void put_steps(struct gp_buf *b, const struct gp_trial *r)
{
    double off = (double)r->off_ns / 1e6, on = (double)r->on_ns / 1e6;
    gp_buf_printf(b, "%.3f -> %.3f ms per step (%.3f to %.3f)", off, on, off - (double)r->high_ns / 1e6,
                  off - (double)r->low_ns / 1e6);
}

static void put_effect(struct gp_buf *b, const struct gp_trial *r)
{
    struct gp_buf effect = {0};
    gp_trial_put_effect(&effect, r);
    if (effect.n) gp_buf_printf(b, ", %s", gp_buf_str(&effect));
    gp_buf_release(&effect);
}

/* ---- the verdict ---- */

GP_COMPARE(by_saving, struct gp_trial, GP_DOWN(saving_ns) GP_THEN(strcmp(x->change, y->change)))

static void add_best(struct gp_report *r, const struct gp_trial *rows, size_t n)
{
    size_t measured = 0, helping = 0;
    const struct gp_trial *best = NULL;
    struct gp_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        measured += gp_trial_measured(&rows[i]);
        if (rows[i].what_if || !gp_trial_helps(&rows[i])) continue;
        helping++;
        if (!best) best = &rows[i];
    }
    if (best) {
        gp_buf_printf(&b, "%s: ", best->change);
        put_steps(&b, best);
        put_effect(&b, best);
        if (helping > 1) gp_buf_printf(&b, "; the most of %zu changes that help", helping);
        gp_report_verdict(r, GP_TONE_GOOD, "%s.", gp_buf_str(&b));
    } else if (measured) {
        gp_report_verdict(r, GP_TONE_PLAIN, "None of %zu measured change%s is sure to shorten the step.",
                          measured, measured == 1 ? "" : "s");
    } else {
        gp_report_verdict(r, GP_TONE_BAD, "Nothing was measured.");
    }
    gp_buf_release(&b);
}

static void add_together(struct gp_report *r, const struct gp_trial *all)
{
    struct gp_buf b = {0};
    gp_buf_printf(&b, "These %s changes together: ", count_word(all->changes.n));
    put_steps(&b, all);
    put_effect(&b, all);
    gp_report_verdict(r, gp_trial_helps(all) ? GP_TONE_GOOD : GP_TONE_PLAIN, "%s.", gp_buf_str(&b));
    gp_buf_release(&b);
}

static void add_control(struct gp_report *r, const struct gp_try *t)
{
    const struct gp_trial *c = t->control.n ? &t->control.at[0] : NULL;
    if (!c || !gp_trial_measured(c)) {
        if (t->trials.n)
            gp_report_verdict(r, GP_TONE_BAD,
                              "The control was not measured%s%s, so that nothing vouches for the rest.",
                              c && c->reason ? ": " : "", c && c->reason ? c->reason : "");
        return;
    }
    bool holds = c->low_ns <= 0 && c->high_ns >= 0;
    gp_report_verdict(r, holds ? GP_TONE_PLAIN : GP_TONE_BAD,
                      "The control, which changes nothing, saves %.3f ms (%.3f to %.3f)%s",
                      (double)c->saving_ns / 1e6, (double)c->low_ns / 1e6, (double)c->high_ns / 1e6,
                      holds ? "." : ": zero lies outside, so do not trust the other figures; try again.");
}

/* ---- tables ---- */

static bool is_part(const struct gp_trial *all, const char *change)
{
    for (size_t i = 0; i < all->changes.n; i++)
        if (!strcmp(all->changes.at[i], change)) return true;
    return false;
}

static struct gp_report_table *add_table(struct gp_report *r, const char *id, const char *title,
                                         const char *column, const char *heading)
{
    struct gp_report_table *t = gp_report_add(r, id, title);
    gp_report_column(t, "change", "Change", GP_CELL_TEXT, 0, NULL);
    gp_report_column(t, column, heading, GP_CELL_TEXT, 0, NULL);
    return t;
}

static void add_lines(struct gp_report *r, const struct gp_trial *rows, size_t n, const struct gp_trial *all)
{
    struct gp_report_table *t = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!gp_trial_helps(&rows[i]) || rows[i].what_if || !*rows[i].permanent) continue;
        if (all && !is_part(all, rows[i].change)) continue;
        if (!t) t = add_table(r, "permanent", "What makes it permanent", "line", "Line to add");
        gp_report_put_text(r, t, rows[i].change);
        gp_report_put_text(r, t, rows[i].permanent);
    }
}

/* Memory and results; and what a rule said about time, to be held against what was measured. */
static void add_besides(struct gp_report *r, const struct gp_trial *rows, size_t n)
{
    struct gp_report_table *t = NULL;
    struct gp_buf b = {0};
    GP_EACH_OF(const struct gp_trial, x, rows, n) {
        b.n = 0;
        gp_trial_put_effect(&b, x);
        if (x->what_if) gp_buf_printf(&b, "%san upper end, not a change to make", b.n ? "; " : "");
        if (x->predicted_low_ns >= 0 && x->predicted_high_ns >= 0)
            gp_buf_printf(&b, "%spredicted by %s: %.3f to %.3f ms", b.n ? "; " : "",
                          x->rule ? x->rule : "a rule", (double)x->predicted_low_ns / 1e6,
                          (double)x->predicted_high_ns / 1e6);
        if (gp_trial_helps(x) && strcmp(x->may_change, "nothing") != 0)
            gp_buf_printf(&b, "%smay change: %s", b.n ? "; " : "", x->may_change);
        if (!b.n) continue;
        if (!t) t = add_table(r, "besides", "Besides time", "effect", "Results, memory, prediction");
        gp_report_put_text(r, t, x->change);
        gp_report_put_text(r, t, gp_buf_str(&b));
    }
    gp_buf_release(&b);
}

static void add_left_out(struct gp_report *r, const struct gp_trial *rows, size_t n)
{
    struct gp_report_table *t = NULL;
    for (size_t i = 0; i < n; i++) {
        if (gp_trial_measured(&rows[i])) continue;
        if (!t) t = add_table(r, "left_out", "Not measured", "reason", "Reason");
        gp_report_put_text(r, t, rows[i].change);
        gp_report_put_text(r, t, rows[i].reason ? rows[i].reason : rows[i].status);
    }
}

static void add_notes(struct gp_report *r, const struct gp_trial *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < rows[i].notes.n; k++)
            gp_report_note(r, GP_TONE_PLAIN, "%s: %s", rows[i].change, rows[i].notes.at[k]);
}

void gp_try_report(struct gp_report *r, const struct gp_try *t)
{
    struct gp_row_of of = {.of = t, .mem = &r->mem, .labels = true};
    size_t n = t->trials.n, measured = 0;
    struct gp_trial *rows = gp_arena_alloc(&r->mem, (n ? n : 1) * sizeof *rows);
    const struct gp_trial *all =
        t->together.n && gp_trial_measured(&t->together.at[0]) ? &t->together.at[0] : NULL;
    if (n) memcpy(rows, t->trials.at, n * sizeof *rows);
    if (n) qsort(rows, n, sizeof *rows, by_saving);
    while (measured < n && gp_trial_measured(&rows[measured])) measured++;
    r->title = "gpuprof-try";
    if (all) add_together(r, all);
    else add_best(r, rows, n);
    if (t->refused) gp_report_verdict(r, GP_TONE_BAD, "Stopped: %s.", t->refused);
    if (t->steps) gp_report_verdict(r, GP_TONE_PLAIN, "Here, %s.", t->steps);
    add_control(r, t);
    add_notes(r, rows, n);
    gp_record_table(r, &gp_try_trials, rows, measured, 0, &of);
    add_besides(r, rows, measured);
    add_lines(r, rows, measured, all);
    add_left_out(r, rows, n);
}
