#include "render/suggest/suggest_priv.h"

#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/view/idle_cause.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "render/draw/text.h"

enum { INDENT = 4 };

static const char *unit_of(const struct gp_suggest *s) { return s->step.found ? "per step" : "in all"; }

/* ---- sentences ---- */

/* Where " ms" of "1.47 ms" begins. */
static size_t unit_at(const struct gp_buf *b)
{
    size_t at = b->n;
    while (at && b->data[at - 1] != ' ') at--;
    return at ? at - 1 : b->n;
}

static bool same_unit(struct gp_buf *a, struct gp_buf *b)
{
    return !strcmp(gp_buf_str(a) + unit_at(a), gp_buf_str(b) + unit_at(b));
}

/* LOW, if not negative, to HIGH; a unit that follows anyway, with HIGH or with WHOLE_NS, is left out. */
static void put_interval(struct gp_buf *b, int64_t low, int64_t high, int64_t whole_ns)
{
    struct gp_buf from = {0}, to = {0}, whole = {0};
    gp_scale_put(&from, GP_UNIT_NS, low);
    gp_scale_put(&to, GP_UNIT_NS, high);
    gp_scale_put(&whole, GP_UNIT_NS, whole_ns);
    bool several = low >= 0 && strcmp(gp_buf_str(&from), gp_buf_str(&to)) != 0, alike = same_unit(&from, &to);
    if (several) gp_buf_put(b, from.data, alike ? unit_at(&from) : from.n);
    if (several) gp_buf_puts(b, " to ");
    gp_buf_put(b, to.data, same_unit(&to, &whole) && (!several || alike) ? unit_at(&to) : to.n);
    GP_RELEASE(gp_buf_release, &from, &to, &whole);
}

/* " (31 to 121)", no more than there is: a step may be longer, and then more may be saved. */
static void put_range(struct gp_buf *b, int64_t low, int64_t high, int64_t whole_ns)
{
    gp_buf_puts(b, low > 0 ? " (" : " (up to ");
    put_interval(b, low > 0 ? low : -1, high < whole_ns ? high : whole_ns, whole_ns);
    gp_buf_puts(b, low > 0 ? ")" : "; may save nothing)");
}

/* "about 75 of 119 ms per step (31 to 121)" */
static void put_saving(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggestion *one)
{
    int64_t whole_ns = s->step.unprofiled_ns;
    gp_buf_puts(b, "about ");
    put_interval(b, -1, one->saving_ns, whole_ns);
    gp_buf_printf(b, " of %s %s", GP_NS(whole_ns), unit_of(s));
    put_range(b, one->saving_low_ns, one->saving_high_ns, whole_ns);
}

void gp_suggest_put_where(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggestion *one)
{
    if (one->place) gp_buf_puts(b, gp_suggest_str(s, one->place));
    if (!one->operation) return;
    gp_buf_printf(b, one->place ? " (%s)" : "%s", gp_suggest_str(s, one->operation));
}

void gp_suggest_put_saving(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggestion *one)
{
    gp_buf_puts(b, one->looks ? "may show how to save " : "saves ");
    put_saving(b, s, one);
}

/* A part of a step and its description. */
struct part {
    int64_t ns;
    const char *words;
};
enum { PARTS = 10, PARTS_TOLD = 4 };

/* The largest parts that are a hundredth at least, largest first; the largest of all in any case. */
static void put_parts(struct gp_buf *b, const struct gp_regime_step *p)
{
    struct part parts[PARTS] = {
        {p->idle_ns, "idle"},
        {p->lead_ns, "on the host before the first kernel"},
        {p->waiting_ns, "waiting for other streams or for work launched before the recording"},
        {p->compute_ns, "in compute-bound kernels"},
        {p->memory_ns, "in memory-bound kernels"},
        {p->inefficient_ns, "in kernels far below what the device can do"},
        {p->latency_ns, "in kernels barely longer than an empty one"},
        {p->communication_ns, "in exposed communication, waits for other ranks included"},
        {p->transfer_ns, "in exposed copies"},
        {p->unknown_ns, "in kernels with an unknown bound"}};
    for (int told = 0; told < PARTS_TOLD; told++) {
        struct part *most = &parts[0];
        for (int i = 1; i < PARTS; i++)
            if (parts[i].ns > most->ns) most = &parts[i];
        if (told && most->ns < p->whole_ns / 100) return;
        if (told) gp_buf_puts(b, ", ");
        gp_buf_printf(b, "%s %s", GP_SHARE(most->ns, p->whole_ns), most->words);
        most->ns = -1;
    }
}

/* Does a run without the recorder take another time than this one, as far as can be known, or was it
 * timed? */
static bool differs_unprofiled(const struct gp_suggest_step *s)
{
    int64_t little = s->step_ns / 20;
    if (s->unprofiled_source == GP_UNPROFILED_MEASURED && s->unprofiled_ns >= s->step_ns) return false;
    return s->unprofiled_source != GP_UNPROFILED_MODEL || s->step_ns - s->unprofiled_low_ns > little ||
           s->unprofiled_high_ns - s->step_ns > little;
}

/* ", about 28 ms without torch.profiler (25 to 31, modelled)," where that makes a difference. */
static void put_unprofiled(struct gp_buf *b, const struct gp_suggest_step *s)
{
    if (!differs_unprofiled(s)) return;
    gp_buf_printf(b, ", %s%s without %s (", s->unprofiled_source == GP_UNPROFILED_MODEL ? "about " : "",
                  GP_NS(s->unprofiled_ns), s->recorder ? s->recorder : "the recorder");
    if (s->unprofiled_low_ns < s->unprofiled_high_ns) {
        put_interval(b, s->unprofiled_low_ns, s->unprofiled_high_ns, s->unprofiled_ns);
        gp_buf_puts(b, ", ");
    }
    gp_buf_printf(b, "%s),", gp_unprofiled_source_text((enum gp_unprofiled_source)s->unprofiled_source));
}

static void summarize_step(struct gp_report *r, const struct gp_suggest *s, bool three_regimes)
{
    struct gp_buf b = {0};
    if (s->step.found) {
        gp_buf_puts(&b, "A step takes ");
        gp_step_time_put(&b, s->step.step_ns, s->step.median_ns, s->step.timed, s->step.whole);
        gp_buf_puts(&b, s->step.warm_up ? ", without the warm-up)" : ")");
    } else {
        gp_buf_printf(&b, "The trace takes %s", GP_NS(s->step.step_ns));
    }
    put_unprofiled(&b, &s->step);
    enum gp_regime regime = (enum gp_regime)s->regime;
    if (three_regimes) regime = gp_regime_classic(regime, GP_REGIME_UNKNOWN);
    gp_buf_printf(&b, " and is bound by %s: ", gp_regime_text(regime));
    put_parts(&b, &s->regime_parts);
    gp_report_verdict(r, GP_TONE_PLAIN, "%s.", gp_buf_str(&b));
    gp_buf_release(&b);
}

size_t gp_suggest_worth(const struct gp_suggest *s)
{
    size_t n = 0;
    while (n < s->suggestions.n && s->suggestions.at[n].priority != GP_PRIORITY_NONE) n++;
    return n;
}

/* The first thing that an action names: "capture the step as a CUDA graph". Only if it begins with the change
 * itself. */
static size_t first_clause(const char *action)
{
    int depth = 0;
    size_t n = 0;
    for (; action[n]; n++) {
        if (strchr("([", action[n])) depth++;
        if (strchr(")]", action[n])) depth--;
        if (!depth && strchr(",:;", action[n]) && action[n + 1] == ' ') break;
    }
    return n;
}

/* The first thing to do, before all details. */
static void summarize_first(struct gp_report *r, const struct gp_suggest *s)
{
    struct gp_buf b = {0};
    if (!s->step.trusted || !gp_suggest_worth(s)) return;
    const struct gp_suggestion *one = &s->suggestions.at[0];
    const char *action = gp_suggest_str(s, one->action);
    gp_buf_puts(&b, gp_suggest_worth(s) > 1 ? "First: " : "What to do: ");
    if (one->change) gp_buf_puts(&b, gp_suggest_str(s, one->change));
    else gp_buf_put(&b, action, first_clause(action));
    gp_buf_puts(&b, one->looks ? ". What that shows may save " : ". That saves ");
    put_saving(&b, s, one);
    gp_buf_putc(&b, '.');
    gp_report_verdict(r, GP_TONE_PLAIN, "%s", gp_buf_str(&b));
    gp_buf_release(&b);
}

static void summarize_joint(struct gp_report *r, const struct gp_suggest *s)
{
    size_t n = gp_suggest_worth(s);
    struct gp_buf b = {0};
    if (!s->step.trusted) return;
    if (!n) {
        gp_report_verdict(r, GP_TONE_GOOD, "No rule finds a saving of 0.3%% or more.");
    } else if (n > 1) {
        gp_buf_printf(&b, "Together: about %s", GP_NS(s->joint_ns));
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++) sum = gp_add_saturated(sum, s->suggestions.at[i].saving_ns);
        gp_buf_printf(&b, " %s%s.", unit_of(s), s->joint_ns < sum ? "; they overlap" : "");
        gp_report_verdict(r, GP_TONE_PLAIN, "%s", gp_buf_str(&b));
    }
    gp_buf_release(&b);
}

void gp_suggest_summary(struct gp_report *r, const struct gp_suggest *s, bool three_regimes)
{
    size_t inputs;
    const struct gp_input_quality *in = gp_suggest_inputs(s, &inputs);
    gp_inputs_quality(r, &s->strings, in, inputs, true);
    for (size_t i = 0; i < s->notes.n; i++)
        gp_report_note(r, GP_TONE_WARN, "%s", gp_suggest_str(s, s->notes.at[i]));
    if (s->untimed)
        gp_report_verdict(
            r, GP_TONE_WARN,
            "The GPU was measured kernel by kernel, so there is no advice about steps, idle time or the "
            "host: record without --metrics for that, and give this trace with --counters.");
    if (!s->step.steps) return;
    summarize_step(r, s, three_regimes);
    summarize_first(r, s);
    summarize_joint(r, s);
}

/* ---- suggestions ---- */

static const char *color_of(enum gp_priority p)
{
    static const char *const codes[] = {"\033[2m", "\033[0m", "\033[33m", "\033[1;33m", "\033[1;31m"};
    return codes[p];
}

/* " Do: text", wrapped at its own indent. */
static void put_part(struct gp_buf *b, const char *head, const char *text, size_t width)
{
    if (!*text) return;
    size_t indent = INDENT + strlen(head);
    for (int i = 0; i < INDENT; i++) gp_buf_putc(b, ' ');
    gp_buf_puts(b, head);
    gp_text_wrap(b, text, strlen(text), indent, width);
    gp_buf_putc(b, '\n');
}

static void put_suggestion(struct gp_buf *b, size_t i, const struct gp_suggest_answer *a)
{
    const struct gp_suggest *s = a->s;
    const struct gp_suggestion *one = &s->suggestions.at[i];
    const size_t width = gp_report_prose_width(a->width);
    struct gp_buf head = {0};
    gp_buf_printf(b, "\n%2zu. ", i + 1);
    if (a->color) gp_buf_puts(b, color_of(one->priority));
    gp_buf_puts(b, gp_priority_name(one->priority));
    if (a->color) gp_buf_puts(b, "\033[0m");
    gp_buf_printf(&head, "%s: ", one->rule->name);
    gp_suggest_put_saving(&head, s, one);
    size_t indent = INDENT + strlen(gp_priority_name(one->priority)) + 1;
    gp_buf_putc(b, ' ');
    gp_text_wrap(b, head.data, head.n, indent, width);
    gp_buf_putc(b, '\n');
    gp_buf_release(&head);
    put_part(b, "", gp_suggest_str(s, one->description), width);
    gp_suggest_put_where(&head, s, one);
    if (head.n) put_part(b, "Where: ", gp_buf_str(&head), width);
    gp_buf_release(&head);
    put_part(b, "Do: ", gp_suggest_str(s, one->action), width);
    if (one->to_know) put_part(b, "To narrow this: ", gp_suggest_str(s, one->to_know), width);
    if (!a->verbose) return;
    put_part(b, "Saving: ", gp_suggest_str(s, one->formula), width);
    put_part(b, "If: ", gp_suggest_str(s, one->assumes), width);
    gp_suggest_put_check(&head, s, one);
    put_part(b, "Check: ", gp_buf_str(&head), width);
    gp_buf_release(&head);
}

void gp_suggest_put_check(struct gp_buf *b, const struct gp_suggest *s, const struct gp_suggestion *one)
{
    static const char word[] = "idle_";
    const char *text = gp_suggest_str(s, one->check);
    while (*text) {
        const char *at = strstr(text, word), *name = at ? at + sizeof word - 1 : NULL;
        size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz_") : 0;
        int c = 0;
        while (at && c < GP_IDLE_CAUSE_COUNT &&
               (strlen(gp_idle_cause_name((enum gp_idle_cause)c)) != n ||
                strncmp(gp_idle_cause_name((enum gp_idle_cause)c), name, n)))
            c++;
        if (!at || c == GP_IDLE_CAUSE_COUNT) {
            gp_buf_puts(b, text);
            return;
        }
        gp_buf_put(b, text, (size_t)(at - text));
        gp_buf_printf(b, "\"idle: %s\"", gp_idle_cause_text((enum gp_idle_cause)c));
        text = name + n;
    }
}

/* Costs whose removal would not shorten the step, or is not known to. */
static void put_rest(struct gp_buf *b, const struct gp_suggest_answer *a)
{
    const struct gp_suggest *s = a->s;
    size_t n = gp_suggest_worth(s);
    const size_t width = gp_report_prose_width(a->width);
    if (n == s->suggestions.n) return;
    gp_buf_puts(b, s->step.trusted ? "\nFound, but not expected to shorten the step\n"
                                   : "\nFound, but the saving is unknown\n");
    for (; n < s->suggestions.n; n++) {
        const struct gp_suggestion *one = &s->suggestions.at[n];
        struct gp_buf head = {0};
        gp_buf_printf(&head, "%s: ", one->rule->name);
        put_part(b, gp_buf_str(&head), gp_suggest_str(s, one->description), width);
        if (a->verbose) put_part(b, "Do: ", gp_suggest_str(s, one->action), width);
        gp_buf_release(&head);
    }
}

void gp_suggest_put_ceilings(struct gp_buf *b, const struct gp_suggest *s)
{
    int64_t all = 0;
    for (int i = 0; i < GP_WORK_TIERS; i++) all += s->tier_ns[i];
    if (!s->roofline.roofs.n || all <= 0) return;
    gp_buf_puts(b, "Kernels are compared with ");
    for (size_t i = 0; i < s->roofline.roofs.n; i++) {
        if (i) gp_buf_puts(b, i + 1 == s->roofline.roofs.n ? " and " : ", ");
        /* "4.69 TB/s of memory", "786 TFLOP/s in bf16" */
        const struct gp_roof *roof = &s->roofline.roofs.at[i];
        const char *unit = roof->memory ? "B/s of" : "FLOP/s in";
        const char *name = gp_suggest_str(s, roof->name);
        const struct gp_ceilings *c = &s->ceilings;
        gp_buf_printf(b, "%.3g T%s %s", roof->per_s / 1e12, unit, name);
        if (roof->memory && !strcmp(name, "memory") && c->memory_read_per_s > 0 && c->memory_write_per_s > 0)
            gp_buf_printf(b, " for a copy, %.3g for reads, %.3g for writes", c->memory_read_per_s / 1e12,
                          c->memory_write_per_s / 1e12);
        gp_buf_printf(b, " (%s)", gp_ceiling_source_text((enum gp_ceiling_source)roof->source));
    }
    gp_buf_puts(b, ". ");
    if (s->tier_ns[GP_WORK_COUNTERS] > 0) {
        gp_buf_printf(
            b, "Hardware counters measured their bytes for %s of their time and their operations for %s",
            GP_SHARE(s->tier_ns[GP_WORK_COUNTERS], all), GP_SHARE(s->flops_measured_ns, all));
        if (s->by_mean_ns > 0)
            gp_buf_printf(b, " (for %s, other launches of the kernel stand for the one)",
                          GP_SHARE(s->by_mean_ns, all));
        gp_buf_puts(b, ". The rest is modelled: ");
    } else gp_buf_puts(b, "Their work is known ");
    gp_buf_printf(
        b, "from shapes for %s%s, from names and grids for %s.", GP_SHARE(s->tier_ns[GP_WORK_SHAPES], all),
        s->tier_ns[GP_WORK_COUNTERS] > 0 ? "" : " of their time", GP_SHARE(s->tier_ns[GP_WORK_NAMES], all));
}

void gp_suggest_text_write(struct gp_buf *b, const struct gp_suggest_answer *a)
{
    const struct gp_suggest *s = a->s;
    struct gp_report r = {0};
    struct gp_report_text_opts to = {.color = a->color, .width = a->width};
    gp_suggest_summary(&r, s, a->three_regimes);
    gp_report_text_write(b, &r, &to);
    gp_report_release(&r);
    if (a->verbose || a->three_regimes || s->tier_ns[GP_WORK_COUNTERS] > 0) {
        struct gp_buf text = {0};
        gp_suggest_put_ceilings(&text, s);
        if (text.n) {
            gp_text_wrap(b, text.data, text.n, 0, gp_report_prose_width(a->width));
            gp_buf_putc(b, '\n');
        }
        gp_buf_release(&text);
    }
    for (size_t i = 0; i < gp_suggest_worth(s); i++) put_suggestion(b, i, a);
    put_rest(b, a);
}
