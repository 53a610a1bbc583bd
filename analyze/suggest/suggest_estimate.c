// What a suggestion saves. The model: a saving is what two replays of the steps differ by, one with the
// rule's edits and one without, in a program freed of its recorder. Where somebody timed the steps, the ends
// are what measured changes became beside their replays; otherwise they span the recorder's least and most
// cost and the rule's low and high edits, plus the error of the model and the noise between two runs. No end
// passes what there is to gain. README.md, "Intervals", gives the reasons and the measurements.
#include "analyze/suggest/rules_priv.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"

enum {
    MODEL_PCT = 15, /* of a saving: error of a replay with a change, downwards */
    MORE_PCT = 25,  /* upwards: changes that were measured took something beside the cause along */
    LEFT_PCT = 80,  /* and of what that leaves of the step no more than this */
    HOST_PCT =
        30, /* downwards where the host decides and nobody timed steps: unrecorded, waits are shorter */
    WIDE_PCT = 10, /* of a step: an interval worth narrowing */
    UNMEASURED_PART = 4,
    NOISE_PCT = 1, /* of a step, between two runs of the same program; measured on an H200: 0.6 and 0.8% */
    /* of waits and host copies: hosts varied by 13 to 45% in validation */
    HOST_NOISE_PCT = 3,
};

/* Of wall time per step. */
struct saving {
    int64_t low_ns, high_ns;
    bool known_low; /* the low end is what changes of the kind gained */
};

/* ---- the interval and its bounds ---- */

/* By how much two runs of the program differ: the host more than the GPU, except where loading data or one
 * long gap holds it. */
static int64_t noise_of(const struct gp_rule_ctx *c)
{
    const struct gp_suggest_step *step = &c->s->step;
    int64_t waits_ns = step->unprofiled_high_ns - step->busy_ns - c->held_ns;
    int64_t noise_ns = step->unprofiled_high_ns / 100 * NOISE_PCT;
    return waits_ns > 0 ? noise_ns + waits_ns / 100 * HOST_NOISE_PCT : noise_ns;
}

/* NS, or MOST_NS if that is less, but then not below 0. */
static int64_t at_most(int64_t ns, int64_t most_ns)
{
    if (ns <= most_ns) return ns;
    return most_ns > 0 ? most_ns : 0;
}

/* The REPLAYED interval, widened by the error of the model (LOW_PCT at the low end, MORE_PCT at the high
 * end) and by NOISE_NS. No end passes what is left above LEAST_NS: the low end if the recorder cost most, the
 * high end if it cost least. */
static struct saving bound_saving(const struct gp_rule_ctx *c, struct saving replayed, int low_pct,
                                  int64_t noise_ns, int64_t least_ns)
{
    const struct gp_suggest_step *step = &c->s->step;
    int64_t whole = step->unprofiled_high_ns, most = whole - least_ns;
    int64_t low = at_most(replayed.low_ns, step->unprofiled_low_ns - least_ns),
            high = at_most(replayed.high_ns, most);
    int64_t noise = noise_ns < high ? noise_ns : high;
    struct saving s = {low / 100 * (100 - low_pct) - noise, high / 100 * (100 + MORE_PCT) + noise, false};
    if (s.low_ns < 0) s.low_ns = 0;
    int64_t left = gp_part(whole - high, LEFT_PCT, 100); /* nothing takes no time */
    if (most > high + left) most = high + left;
    if (most >= whole) most = whole - 1;
    s.high_ns = at_most(s.high_ns, most);
    if (s.low_ns > s.high_ns) s.low_ns = s.high_ns;
    return s;
}

/* An unrecorded step may be longer than the recorded one, but a saving is of recorded time: MOST_NS. */
static void keep_within(int64_t most_ns, int64_t *low, int64_t *high)
{
    if (*high > most_ns) *high = most_ns;
    if (*low > *high) *low = *high;
}

/* What the replays say of a suggestion, and what bounds it. */
struct replays {
    struct saving saved;
    int64_t least_ns;                 /* that the step takes after it */
    bool of_host, gaps;               /* it changes no kernel; it may take long gaps */
    int low_pct;                      /* error of SAVED, downwards */
    struct gp_unprofiled_saving sure; /* the saving of which least_pct is certain */
    int64_t certain_ns;               /* of timed steps: SURE, or that of the low edits */
};

/* The low end where nearly every measured change of this kind gained a certain part of the high end. Two
 * limits hold: the gain possible, and the saving of the high edits with a slow host, since a step whose GPU
 * has less to do may wait for the host instead. */
static int64_t measured_low(const struct gp_rule_ctx *c, const struct gp_suggestion *s,
                            const struct replays *r, int64_t high_ns, int64_t noise_ns)
{
    if (s->unsure) return 0;
    int64_t high = r->sure.more_ns / 100 * (100 + MORE_PCT) + noise_ns;
    if (high > high_ns || !s->sure.n) high = high_ns;
    int64_t low = high / 100 * s->rule->least_pct - noise_ns;
    int64_t most = (c->s->step.unprofiled_low_ns - r->least_ns) / 100 * (100 - HOST_PCT) - noise_ns;
    if (low > most) low = most;
    most = gp_part(r->sure.slow_ns, 100 - MODEL_PCT, 100) - noise_ns;
    return low < most ? low : most;
}

/* A change of the host's work cannot save host time held by loading data or by one long gap, whatever the
 * model leaves out. HIGH_NS: the high end of the replays. */
static void exclude_held(const struct gp_rule_ctx *c, struct saving *s, int64_t high_ns)
{
    int64_t most = c->ideal_ns;
    if (high_ns > most) high_ns = most;
    most = high_ns + gp_part(most - high_ns, LEFT_PCT, 100); /* nothing takes no time */
    if (s->high_ns > most) s->high_ns = most;
    if (s->low_ns > most) s->low_ns = most;
}

/* ---- timed steps ---- */

/* clang-format off */
/* Odds of what goes to what stays: of most measured changes, in percent of those of the replay. Written by
 * samples/score.py --fit, which says how. */
static const struct odds {
    const char *rule;
    int low_pct, likely_pct, high_pct; /* the first of those of what is certain */
} odds_of_rules[] = {
    {"attention", 66, 63, 125}, {"batching", 72, 181, 1048}, {"blocking_sync", 25, 91, 370},
    {"cast_churn", 21, 61, 124}, {"compile", 15, 77, 427}, {"copy_overlap", 57, 88, 171},
    {"cuda_graph", 31, 94, 253}, {"epilogue", 40, 82, 184}, {"fusion", 51, 86, 171},
    {"input_stall", 39, 96, 329}, {"layout_churn", 49, 70, 147}, {"odd_dimensions", 44, 86, 184},
    {"optimizer", 25, 95, 373}, {"pageable_copy", 65, 107, 261}, {"repeated_work", 47, 140, 787},
    {"round_trip", 49, 94, 218}, {"scalar_read", 61, 137, 524}, {"small_copies", 32, 115, 745},
    {"synchronous_copy", 30, 96, 389}, {"tensor_cores", 62, 86, 208},
};
static const struct odds odds_of_gpu = {NULL, 43, 89, 231};
static const struct odds odds_of_host = {NULL, 31, 108, 564};
/* clang-format on */

/* Types of changes of the GPU's work. */
enum {
    OF_GPU = 1 << GP_SUGGEST_ALGORITHM | 1 << GP_SUGGEST_FUSION | 1 << GP_SUGGEST_MEMORY |
             1 << GP_SUGGEST_OVERLAP | 1 << GP_SUGGEST_PARALLELIZATION | 1 << GP_SUGGEST_TRANSFER
};

static struct odds odds_of(const struct gp_suggestion *s)
{
    const struct odds *of_all = OF_GPU >> s->rule->type & 1 ? &odds_of_gpu : &odds_of_host;
    struct odds odds = *of_all;
    for (size_t i = 0; i < sizeof odds_of_rules / sizeof *odds_of_rules; i++)
        if (!strcmp(odds_of_rules[i].rule, s->rule->name)) odds = odds_of_rules[i];
    if (s->unsure) odds.low_pct = of_all->low_pct; /* the rule's are of what is not certain here */
    return odds;
}

/* The part of WHOLE_NS of which PCT percent as much goes for each part that stays as if NS went. */
static int64_t at_odds(int64_t ns, int64_t whole_ns, int pct)
{
    double goes = (double)ns * pct, stays = (double)(whole_ns - ns) * 100;
    return goes > 0 ? (int64_t)((double)whole_ns * (goes / (goes + stays))) : 0;
}

/* What is certain of S, and what the replays say at most, in timed steps. */
static struct saving timed_replays(const struct gp_rule_ctx *c, const struct gp_suggestion *s,
                                   const struct replays *r)
{
    int64_t high = at_most(r->saved.high_ns, c->s->step.unprofiled_ns - r->least_ns);
    struct saving e = {at_most(r->certain_ns, high), high, false};
    if (s->limit_ns > 0) keep_within(s->limit_ns, &e.low_ns, &e.high_ns);
    return e;
}

/* Where somebody timed the steps, nothing is to be guessed of the recorder, and the replay is as good as the
 * changes of a kind that were measured show. Kernels without gaps between them take a little less. */
static struct saving timed_ends(const struct gp_rule_ctx *c, const struct gp_suggestion *s,
                                const struct replays *r, int64_t noise_ns)
{
    struct odds odds = odds_of(s);
    int64_t whole = c->s->step.unprofiled_ns, most = whole - r->least_ns;
    struct saving of = timed_replays(c, s, r);
    struct saving e = {at_odds(of.low_ns, whole, odds.low_pct), at_odds(of.high_ns, whole, odds.high_pct),
                       false};
    if (c->held_ns && !r->gaps && r->of_host) exclude_held(c, &e, of.high_ns);
    if (e.low_ns > of.low_ns - noise_ns) e.low_ns = of.low_ns > noise_ns ? of.low_ns - noise_ns : 0;
    if (e.high_ns < of.high_ns + noise_ns) e.high_ns = of.high_ns + noise_ns;
    if (s->limit_ns > 0 && most > s->limit_ns) most = s->limit_ns;
    int64_t percent = whole / 100 * NOISE_PCT, half = (whole - most) / 2;
    most += percent < half ? percent : half;
    if (e.high_ns > most) e.high_ns = most;
    keep_within(c->s->step.step_ns, &e.low_ns, &e.high_ns);
    return e;
}

/* ---- steps that nobody timed ---- */

/* The interval of S if two runs differ by NOISE_NS and what the host copies by MORE_NS. */
static struct saving modelled_ends(const struct gp_rule_ctx *c, const struct gp_suggestion *s,
                                   const struct replays *r, int64_t noise_ns, int64_t more_ns)
{
    struct saving e = bound_saving(c, r->saved, r->low_pct, noise_ns + more_ns, r->least_ns);
    if (c->held_ns && !r->gaps && r->of_host) exclude_held(c, &e, r->saved.high_ns);
    int64_t low = measured_low(c, s, r, e.high_ns, noise_ns);
    e.known_low = low > e.low_ns;
    if (e.known_low) e.low_ns = low;
    keep_within(c->s->step.step_ns, &e.low_ns, &e.high_ns);
    if (s->limit_ns <= 0) return e;
    keep_within(s->limit_ns, &e.low_ns, &e.high_ns);
    int64_t sure = gp_part(s->limit_ns, 100 - MODEL_PCT, 100); /* the replays overstate it */
    if (e.low_ns > sure) e.low_ns = sure;
    return e;
}

/* ---- priority, and what to record next ---- */

/* By the expected saving. Critical is worth doing even at the low end. What may save a percent (MOST_NS,
 * before noise is added) is worth a look in any case. */
static enum gp_priority priority_of(const struct gp_suggest_step *step, const struct gp_suggestion *s,
                                    int64_t most_ns)
{
    double low = gp_pct(s->saving_low_ns, step->unprofiled_ns);
    double expected = gp_pct(s->saving_ns, step->unprofiled_ns), high = gp_pct(most_ns, step->unprofiled_ns);
    if (expected >= 20 && low >= 5) return GP_PRIORITY_CRITICAL;
    if (expected >= 5) return GP_PRIORITY_HIGH;
    if (expected >= 1) return GP_PRIORITY_MEDIUM;
    return expected >= 0.3 || high >= 1 ? GP_PRIORITY_LOW : GP_PRIORITY_NONE;
}

/* The expected saving: the middle of the interval QUIET, in which two runs do not differ, or of what is
 * likely, which is nearer to what was measured than the middle of the likely replays. A rule that was never
 * compared with a measurement gets a quarter of the way. */
static int64_t expected_of(const struct gp_suggestion *s, struct saving quiet)
{
    int64_t ns = quiet.low_ns + (quiet.high_ns - quiet.low_ns) / (s->rule->measured ? 2 : UNMEASURED_PART);
    if (ns < s->saving_low_ns) ns = s->saving_low_ns;
    return ns < s->saving_high_ns ? ns : s->saving_high_ns;
}

/* The recording that would narrow a wide interval: the step's time without the recorder, where that makes a
 * third of the difference, otherwise what the rule asks for. */
static gp_sid to_know_of(struct gp_rule_ctx *c, const struct gp_suggestion *s, int64_t recorder_ns)
{
    int64_t width = s->saving_high_ns - s->saving_low_ns;
    if (gp_pct(width, c->s->step.unprofiled_ns) < WIDE_PCT) return 0;
    if (gp_mul_saturated(recorder_ns, 3) >= width)
        return gp_rule_text(c, "time the steps without the recorder and give that with --step-time");
    if (s->rule->frames && !gp_rule_python_is_known(c))
        return gp_rule_text(c, "record Python frames (%s), %s", gp_rule_shows_python(c), s->rule->frames);
    const int64_t *of = c->s->tier_ns;
    bool sizes_known = of[GP_WORK_SHAPES] > of[GP_WORK_NAMES] + of[GP_WORK_UNKNOWN]; /* of most GPU work */
    if (!s->rule->to_know || (s->rule->sizes && sizes_known)) return 0;
    if (c->counted.n && strstr(s->rule->to_know, "--metrics")) return 0;
    return gp_intern_cstr(&c->s->strings, s->rule->to_know);
}

/* ---- one suggestion ---- */

static bool same_edits(const struct gp_edit *a, size_t n_a, const struct gp_edit *b, size_t n_b)
{
    if (n_a != n_b) return false;
    for (size_t i = 0; i < n_a; i++)
        if (a[i].kind != b[i].kind || a[i].index != b[i].index || a[i].ns != b[i].ns) return false;
    return true;
}

/* Says what the ends rest on beside the replays. */
static void describe_ends(struct gp_rule_ctx *c, struct gp_suggestion *s, const struct replays *r,
                          const struct saving *ends, bool timed)
{
    const char *formula = gp_suggest_str(c->s, s->formula);
    struct odds odds = odds_of(s);
    if (ends->known_low)
        s->formula = gp_rule_text(
            c,
            "%s; at least %d%% of the most, which nearly every measured change of this kind gained "
            "where the host kept up",
            formula, s->rule->least_pct);
    if (!timed) return;
    struct saving of = timed_replays(c, s, r);
    gp_rule_evidence_ns(s, "replayed_low", of.low_ns);
    gp_rule_evidence_ns(s, "replayed_high", of.high_ns);
    s->formula = gp_rule_text(
        c, "%s; what goes, for each part of the step that stays, is %d%s to %d%% of the replay's%s", formula,
        odds.low_pct, s->unsure ? "% of what is certain" : "", odds.high_pct,
        odds.rule ? ", as in most measured changes of this kind" : "");
}

static double speedup(int64_t step_ns, int64_t saving_ns)
{
    return saving_ns > 0 && saving_ns < step_ns ? (double)step_ns / (double)(step_ns - saving_ns) : 1;
}

static void estimate_saving(struct gp_rule_ctx *c, struct gp_suggestion *s)
{
    const struct gp_suggest_step *step = &c->s->step;
    bool gaps = s->rule->gaps, transfer = s->rule->type == GP_SUGGEST_TRANSFER;
    s->speedup_low = s->speedup_high = 1;
    if (!step->trusted) return;
    struct gp_unprofiled_saving low = gp_unprofiled_saved(c->unprofiled, c, s->low.at, s->low.n, gaps),
                                high = low;
    if (!same_edits(s->low.at, s->low.n, s->high.at, s->high.n))
        high = gp_unprofiled_saved(c->unprofiled, c, s->high.at, s->high.n, gaps);
    struct saving replayed = {low.less_ns < high.less_ns ? low.less_ns : high.less_ns,
                              high.more_ns > low.more_ns ? high.more_ns : low.more_ns, false};
    /* A host that does not wait works faster than one that does, by twice at most. */
    if (s->rule->type == GP_SUGGEST_SYNC && high.fastest_after_ns > replayed.high_ns) {
        int64_t twice = gp_mul_saturated(replayed.high_ns, 2);
        replayed.high_ns = high.fastest_after_ns < twice ? high.fastest_after_ns : twice;
    }
    struct replays r = {replayed, .least_ns = gp_unprofiled_least_ns(c, s), .gaps = gaps,
                        .low_pct = MODEL_PCT, .sure = high};
    r.of_host = r.least_ns == gp_rule_per_step(c, c->busy_ns);
    if (r.of_host || transfer) r.low_pct = HOST_PCT;
    bool compiles = s->rule->type == GP_SUGGEST_COMPILE || s->rule->type == GP_SUGGEST_LAUNCH;
    if (c->single_ops && compiles) r.least_ns /= 2; /* jax.jit joins kernels as well */
    if (s->sure.n) r.sure = gp_unprofiled_saved(c->unprofiled, c, s->sure.at, s->sure.n, gaps);
    bool timed = step->unprofiled_source != GP_UNPROFILED_MODEL;
    r.certain_ns = s->unsure || !s->rule->measured ? replayed.low_ns
                   : r.sure.slow_ns < high.slow_ns ? r.sure.slow_ns
                                                   : high.slow_ns;
    /* the host copies pageable memory */
    int64_t more_ns = transfer ? gp_part(s->current_ns, HOST_NOISE_PCT, 100) : 0;
    struct saving quiet = timed ? timed_ends(c, s, &r, 0) : modelled_ends(c, s, &r, 0, 0),
                  ends = timed ? timed_ends(c, s, &r, c->noise_ns)
                               : modelled_ends(c, s, &r, c->noise_ns, more_ns);
    if (timed && s->rule->measured && !s->unsure)
        quiet.low_ns = quiet.high_ns =
            at_odds(timed_replays(c, s, &r).high_ns, step->unprofiled_ns, odds_of(s).likely_pct);
    s->saving_low_ns = ends.low_ns;
    s->saving_high_ns = ends.high_ns;
    describe_ends(c, s, &r, &ends, timed);
    s->saving_ns = expected_of(s, quiet);
    s->ceiling_ns = replayed.high_ns;
    if (!same_edits(s->free.at, s->free.n, s->high.at, s->high.n))
        s->ceiling_ns = gp_unprofiled_saved(c->unprofiled, c, s->free.at, s->free.n, true).more_ns;
    if (s->ceiling_ns < s->saving_high_ns) s->ceiling_ns = s->saving_high_ns;
    s->speedup_low = speedup(step->unprofiled_low_ns, s->saving_low_ns);
    s->speedup_high = speedup(step->unprofiled_high_ns, s->saving_high_ns);
    s->priority = priority_of(step, s, replayed.high_ns);
    bool waits = c->waits_pct >= GP_RULE_WAITS_PCT && strcmp(s->rule->name, "straggler") != 0;
    if ((waits || s->looks) && s->priority > GP_PRIORITY_LOW) /* this rank would wait longer instead */
        s->priority = GP_PRIORITY_LOW;
    s->to_know = to_know_of(c, s, (high.more_ns - high.less_ns + low.more_ns - low.less_ns) / 2);
    if (s->saving_high_ns > 0)
        GP_VEC_PUSH(&s->predictions,
                    ((struct gp_prediction){"step", 0, -s->saving_high_ns, -s->saving_low_ns}));
}

/* ---- all of them ---- */

/* Changes that make all of the host's work or of what moves memory cheaper, and rules that were never
 * measured, count half: a change that removes the cause comes before them if it saves at least half as
 * much. */
static int64_t weight_of(const struct gp_suggestion *s)
{
    return s->rule->general || !s->rule->measured ? s->saving_ns / 2 : s->saving_ns;
}

/* What may save nothing comes after what does not. */
static int compare_suggestions(const void *a, const void *b)
{
    const struct gp_suggestion *x = a, *y = b;
    bool x_worth = x->priority != GP_PRIORITY_NONE, y_worth = y->priority != GP_PRIORITY_NONE;
    if (x_worth != y_worth) return x_worth ? -1 : 1;
    if ((x->saving_low_ns > 0) != (y->saving_low_ns > 0)) return x->saving_low_ns > 0 ? -1 : 1;
    if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
    if (weight_of(x) != weight_of(y)) return weight_of(x) > weight_of(y) ? -1 : 1;
    if (x->saving_low_ns != y->saving_low_ns) return x->saving_low_ns > y->saving_low_ns ? -1 : 1;
    if (x->saving_high_ns != y->saving_high_ns) return x->saving_high_ns > y->saving_high_ns ? -1 : 1;
    if (x->resource_high_ns != y->resource_high_ns) return x->resource_high_ns > y->resource_high_ns ? -1 : 1;
    int order = strcmp(x->rule->name, y->rule->name);
    return order ? order : x->operation < y->operation ? -1 : x->operation > y->operation;
}

struct gp_edit gp_rule_left_gap(const struct gp_rule_ctx *c, const struct gp_edit *e,
                                const struct gp_rule *rule)
{
    struct gp_edit one = *e;
    if (e->kind == GP_EDIT_BEFORE && !rule->gaps && one.ns < c->calls[e->index].held_ns)
        one.ns = c->calls[e->index].held_ns;
    return one;
}

/* The joint saving of all suggestions with a priority, replayed as one. */
static void estimate_joint(struct gp_rule_ctx *c)
{
    struct gp_suggest *s = c->s;
    struct gp_suggestion all = {0};
    for (size_t i = 0; i < s->suggestions.n; i++) {
        const struct gp_suggestion *one = &s->suggestions.at[i];
        if (one->priority == GP_PRIORITY_NONE) continue;
        for (size_t k = 0; k < one->low.n; k++)
            GP_VEC_PUSH(&all.low, gp_rule_left_gap(c, &one->low.at[k], one->rule));
        for (size_t k = 0; k < one->high.n; k++)
            GP_VEC_PUSH(&all.high, gp_rule_left_gap(c, &one->high.at[k], one->rule));
        for (size_t k = 0; k < one->free.n; k++) GP_VEC_PUSH(&all.free, one->free.at[k]);
    }
    struct gp_unprofiled_saving low = gp_unprofiled_saved(c->unprofiled, c, all.low.at, all.low.n, true),
                                high = gp_unprofiled_saved(c->unprofiled, c, all.high.at, all.high.n, true);
    struct saving replayed = {low.less_ns, high.more_ns, false};
    struct saving joint = bound_saving(c, replayed, MODEL_PCT, c->noise_ns, gp_unprofiled_least_ns(c, &all));
    keep_within(s->step.step_ns, &joint.low_ns, &joint.high_ns);
    int64_t expected = 0;
    for (size_t i = 0; i < s->suggestions.n; i++) {
        const struct gp_suggestion *one = &s->suggestions.at[i];
        if (one->priority == GP_PRIORITY_NONE) continue; /* together they save at least what each does */
        if (joint.low_ns < one->saving_low_ns) joint.low_ns = one->saving_low_ns;
        if (expected < one->saving_ns) expected = one->saving_ns;
        if (joint.high_ns < one->saving_high_ns) joint.high_ns = one->saving_high_ns;
    }
    s->joint_ns = joint.low_ns + (joint.high_ns - joint.low_ns) / 2;
    if (s->joint_ns < expected) s->joint_ns = expected;
    s->joint_low_ns = joint.low_ns;
    s->joint_high_ns = joint.high_ns;
    gp_suggestion_release(&all);
}

void gp_rule_estimate(struct gp_rule_ctx *c)
{
    struct gp_suggest *s = c->s;
    size_t kept = 0;
    c->noise_ns = noise_of(c);
    if (c->held_ns && s->step.trusted) c->ideal_ns = gp_unprofiled_ideal_ns(c->unprofiled, c);
    for (size_t i = 0; i < s->suggestions.n; i++) {
        struct gp_suggestion *one = &s->suggestions.at[i];
        estimate_saving(c, one);
        if (!one->place) one->place = gp_rule_place(c, one); /* a rule may know the line of a kernel */
        if (one->saving_high_ns < s->opts.min_saving_ns) gp_suggestion_release(one);
        else s->suggestions.at[kept++] = *one;
    }
    s->suggestions.n = kept;
    if (s->step.trusted) estimate_joint(c);
    if (kept) qsort(s->suggestions.at, kept, sizeof *s->suggestions.at, compare_suggestions);
}
