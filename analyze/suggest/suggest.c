// Conducts: the plan, its facts (suggest_facts.c), the rules (rules_*.c) and the estimates of what they
// suggest (suggest_estimate.c).
#include "analyze/suggest/suggest.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/view/quality.h"
#include "analyze/view/repair.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/scale.h"
#include "formats/model/metric.h"
#include "formats/base/str.h"

enum {
    STEPS_FEW = 3,
    NOTE_PARTS = 3,  /* of a step: a recorder that adds less is not worth a note */
    SAID_PARTS = 10, /* of a step: what is said of the rest of it matters more */
};

#define X(rule) &gp_rule_##rule,
const struct gp_rule *const gp_rules[] = {GP_RULES(X) NULL};
#undef X

const struct gp_rule *gp_rule_find(const char *name)
{
    for (size_t i = 0; gp_rules[i]; i++)
        if (!strcmp(gp_rules[i]->name, name)) return gp_rules[i];
    return NULL;
}

GP_WORD(gp_suggest_type_name, enum gp_suggest_type, GP_SUGGEST_TYPES, 1)

GP_WORD(gp_unprofiled_source_text, enum gp_unprofiled_source, GP_UNPROFILED_SOURCES, 2)

const char *gp_priority_name(enum gp_priority p)
{
    static const char *const names[] = {"none", "low", "medium", "high", "critical"};
    return names[p];
}

void gp_suggest_init(struct gp_suggest *s, const struct gp_suggest_opts *opts)
{
    memset(s, 0, sizeof *s);
    s->regime = GP_REGIME_UNKNOWN;
    if (opts) s->opts = *opts;
}

void gp_suggest_release(struct gp_suggest *s)
{
    for (size_t i = 0; i < s->suggestions.n; i++) gp_suggestion_release(&s->suggestions.at[i]);
    GP_VEC_FREE(&s->suggestions);
    GP_VEC_FREE(&s->inputs);
    GP_VEC_FREE(&s->notes);
    GP_VEC_FREE(&s->kernels);
    GP_VEC_FREE(&s->ops);
    gp_roofline_release(&s->roofline);
    GP_VEC_FREE(&s->chains);
    GP_VEC_FREE(&s->chain_kernels);
    gp_strings_release(&s->strings);
    memset(s, 0, sizeof *s);
}

void gp_suggest_set_inputs(struct gp_suggest *s, const struct gp_input_quality *in, size_t n,
                           const struct gp_strings *strings)
{
    for (size_t i = 0; i < n; i++)
        GP_VEC_PUSH(&s->inputs, gp_input_quality_copy(&in[i], &s->strings, strings));
}

const struct gp_input_quality *gp_suggest_inputs(const struct gp_suggest *s, size_t *n)
{
    *n = s->inputs.n ? s->inputs.n : 1;
    return s->inputs.n ? s->inputs.at : &s->input;
}

/* ---- chains ---- */

static void list_chains(struct gp_rule_ctx *c)
{
    struct gp_suggest *s = c->s;
    for (size_t k = 0; k < c->chains->kinds.n; k++) {
        const struct gp_chain_kind *kind = &c->chains->kinds.at[k];
        const struct gp_chain *chain = &c->chains->all.at[kind->example];
        struct gp_suggest_chain one = {.signature = kind->signature, .n = chain->n, .count = kind->count};
        one.first = (uint32_t)s->chain_kernels.n;
        one.counts = kind->counts;
        one.total_ns = gp_rule_per_step(c, kind->total_ns);
        one.saved_low_ns = gp_rule_per_step(c, kind->low_ns);
        one.saved_high_ns = gp_rule_per_step(c, kind->high_ns);
        GP_VEC_PUSH(&s->chains, one);
        for (uint32_t i = chain->first; i < chain->first + chain->n; i++) {
            const struct gp_chain_kernel *kernel = &c->chains->kernels.at[i];
            GP_VEC_PUSH(&s->chain_kernels,
                        ((struct gp_suggest_chain_kernel){.name = gp_rule_full_name(c, kernel->item),
                                                          .label = gp_rule_item_label(c, kernel->item),
                                                          .kind = c->items[kernel->item].kind,
                                                          .ns = c->p->replay.items.at[kernel->item].dur_ns,
                                                          .bytes = kernel->read_bytes + kernel->written_bytes,
                                                          .passed_bytes = kernel->passed_bytes}));
        }
    }
}

/* ---- what limits the answer ---- */

static bool is_set(const struct gp_trace *t, const char *key)
{
    const char *value = gp_trace_get_meta(t, key);
    return value && (value[0] == '1' || value[0] == 't');
}

/* The recorder's cost per step, which savings exclude. */
static void note_recorder(struct gp_rule_ctx *c)
{
    const struct gp_suggest_step *s = &c->s->step;
    static const char *const keys[] = {"with_stack", "record_shapes", "profile_memory"};
    struct gp_buf flags = {0};
    for (size_t i = 0; i < GP_COUNT(keys); i++)
        if (is_set(c->t, keys[i])) gp_buf_printf(&flags, "%s%s", flags.n ? ", " : " (", keys[i]);
    if (flags.n) gp_buf_putc(&flags, ')');
    const char *who = s->recorder ? s->recorder : "the recorder";
    gp_rule_note(c,
                 gp_rule_text(c, "%s%s added %s%s to each step: savings are those without it", who,
                              gp_buf_str(&flags), s->unprofiled_source == GP_UNPROFILED_MODEL ? "about " : "",
                              gp_rule_ns(c, s->step_ns - s->unprofiled_ns)));
    gp_buf_release(&flags);
}

/* Why no saving is claimed. */
static void note_distrust(struct gp_rule_ctx *c)
{
    static const char claims[] = "no saving of wall time is claimed, only less work for the GPU or the host";
    const struct gp_suggest_step *s = &c->s->step;
    if (s->damaged)
        gp_rule_note(c, gp_rule_text(c, "events of the input are lost or damaged, so steps may lack some: %s",
                                     claims));
    else if (!gp_rule_is_step_replayed(c))
        gp_rule_note(c, gp_rule_text(c, "a replayed step takes %s and a recorded one %s: %s",
                                     gp_rule_ns(c, s->replay_ns), gp_rule_ns(c, s->step_ns), claims));
    else
        gp_rule_note(c,
                     gp_rule_text(c, "a replay of the unchanged steps misses the recorded time by %.1f%%: %s",
                                  s->replay_error_pct, claims));
}

static void note_capture(struct gp_rule_ctx *c)
{
    const struct gp_suggest_step *s = &c->s->step;
    if (!s->found)
        gp_rule_note(
            c, gp_rule_text(c, "no steps were found, so the whole trace counts as one step; mark steps with "
                               "ranges, or name them with --step-marker"));
    else if (s->steps < STEPS_FEW)
        gp_rule_note(c, gp_rule_text(c, "only %u whole %s recorded: record five or more", s->steps,
                                     s->steps == 1 ? "step is" : "steps are"));
    if (s->step_ns - s->unprofiled_ns >= s->step_ns / NOTE_PARTS) note_recorder(c);
    int64_t other_ns = c->unprofiled->other_ns;
    const char *why = other_ns > s->step_ns ? "; savings are of the recorded ones, which took less"
                      : other_ns < s->busy_ns
                          ? ", so they are left out: the host ran ahead, or the GPU is slower while recorded"
                          : ", so they are left out: not the recorded ones";
    if (other_ns)
        gp_rule_note(c, gp_rule_text(c, "steps that were timed without recording took %s%s",
                                     gp_rule_ns(c, other_ns), why));
    if (!s->trusted) note_distrust(c);
    uint64_t lost = gp_trace_lost(c->t, false);
    if (lost)
        gp_rule_note(c, gp_rule_text(c, "%llu events were lost while recording", (unsigned long long)lost));
}

/* What to record of a kernel that is most of the GPU's work, if nothing is known of it and what else is said
 * saves less than a tenth of the step. */
static void note_unknown_kernel(struct gp_rule_ctx *c)
{
    const struct gp_suggest_kernel *k = c->s->kernels.at; /* the longest */
    if (c->s->joint_high_ns > c->s->step.step_ns / SAID_PARTS) return;
    if (!c->s->kernels.n || k->known_ns || c->stalls.kernels.n || k->total_ns * 2 < c->gpu_ns) return;
    bool own = k->kind == GP_FRAME_ATTENTION &&
               !gp_name_has_one_of(gp_suggest_str(c->s, k->label), " : < _sm "); /* of no library */
    if ((k->kind != GP_FRAME_COMPUTE && !own) || k->regime == GP_REGIME_OVERHEAD) return;
    gp_rule_note(
        c,
        gp_rule_text(c,
                     "%s takes %.0f%% of the GPU's time, and its operations and bytes are not known: record "
                     "it with gpuprof-collect --pc-sample, which shows the lines on which it stalls, or "
                     "with --metrics roofline, which shows what bounds it",
                     gp_suggest_str(c->s, k->label), gp_pct(k->total_ns, c->gpu_ns)));
}

/* ---- all of it ---- */

static bool wanted(const struct gp_suggest *s, const struct gp_rule *rule)
{
    for (size_t i = 0; i < s->opts.n_rules; i++)
        if (!strcmp(s->opts.rules[i], rule->name)) return true;
    return !s->opts.n_rules;
}

static void find_changes(struct gp_rule_ctx *c)
{
    struct gp_chains chains = {0};
    note_capture(c);
    gp_rule_find_needless(c);
    gp_chains_find(&chains, c);
    c->chains = &chains;
    list_chains(c);
    struct gp_loops loops = {0};
    gp_loops_find(&loops, c);
    c->loops = &loops;
    gp_stalls_of(&c->stalls, c->t, c->s->opts.counters, &c->s->strings);
    for (size_t i = 0; gp_rules[i]; i++) {
        if (!wanted(c->s, gp_rules[i])) continue;
        c->rule = gp_rules[i];
        c->rule->run(c);
    }
    if (c->waits_pct >= GP_RULE_WAITS_PCT)
        gp_rule_note(c, gp_rule_text(c,
                                     "this rank waits %.0f%% of the time for another one: speed that one up "
                                     "first, since whatever this rank saves, it waits longer instead",
                                     c->waits_pct));
    gp_rule_estimate(c);
    note_unknown_kernel(c);
    gp_stalls_release(&c->stalls);
    gp_loops_release(&loops);
    gp_chains_release(&chains);
}

/* A step time that the user gave must be possible. */
static int check_step_time(const struct gp_rule_ctx *c, struct gp_err *err)
{
    const struct gp_suggest_step *s = &c->s->step;
    int64_t given_ns = c->s->opts.unprofiled_ns, bound_ns = s->step_ns;
    const char *what = "longer than the recorded step";
    if (given_ns <= 0 || c->s->untimed || (given_ns >= s->busy_ns && given_ns <= s->step_ns)) return 0;
    if (given_ns < s->busy_ns) what = "shorter than the GPU works in a step", bound_ns = s->busy_ns;
    struct gp_buf given = {0}, bound = {0};
    gp_scale_put(&given, GP_UNIT_NS, given_ns);
    gp_scale_put(&bound, GP_UNIT_NS, bound_ns);
    int failed = gp_fail(err, GP_E_USAGE, -1, "--step-time: %s is %s, %s", gp_buf_str(&given), what,
                         gp_buf_str(&bound));
    gp_buf_release(&given);
    gp_buf_release(&bound);
    return failed;
}

static int suggest_for(struct gp_suggest *s, const struct gp_view *v, const struct gp_plan *p,
                       struct gp_err *err)
{
    uint8_t *beside[GP_CLASS_COUNT] = {NULL};
    struct gp_rule_ctx c = {.s = s, .t = v->t, .v = v, .p = p, .beside = beside};
    gp_rule_collect_facts(&c);
    int failed = check_step_time(&c, err);
    if (!failed) {
        struct gp_unprofiled unprofiled;
        gp_unprofiled_build(&unprofiled, &c, s->opts.unprofiled_ns);
        c.unprofiled = &unprofiled;
        gp_rule_unprofiled_step(&c);
        gp_rule_note_lead(&c);
        gp_item_work_find(&c);
        gp_rule_sum_regimes(&c);
        if (s->untimed) { /* these rest on times between launches */
            memset(&s->step, 0, sizeof s->step);
            memset(&s->regime_parts, 0, sizeof s->regime_parts);
            s->step.rank = -1;
            s->regime = GP_REGIME_UNKNOWN;
        } else {
            find_changes(&c);
        }
        gp_unprofiled_release(&unprofiled);
    }
    gp_rule_release_facts(&c);
    return failed;
}

/* The program with the most GPU work. */
static const struct gp_steps_program *main_program(const struct gp_steps *steps, const struct gp_view *v)
{
    const struct gp_steps_program *best = NULL;
    int64_t most = -1;
    for (size_t i = 0; i < steps->v.n; i++) {
        const struct gp_steps_program *program = &steps->v.at[i];
        int64_t work = 0;
        for (size_t k = 0; k < program->n; k++)
            work = gp_add_saturated(work, v->t->events[GP_GPU].dur_ns[program->rows[k]]);
        if (work > most) most = work, best = program;
    }
    return best;
}

int gp_suggest_run(struct gp_suggest *s, struct gp_trace *t, struct gp_err *err)
{
    struct gp_view v;
    struct gp_steps steps;
    struct gp_plan plan;
    gp_input_quality_read(&s->input, &s->strings, t);
    s->untimed = gp_trace_distorted(t);
    gp_repair(t, GP_REPAIR_DROP);
    gp_view_init(&v, t, s->opts.classes);
    int failed = gp_steps_find(&steps, &v, s->opts.step_marker, err);
    const struct gp_steps_program *program = failed ? NULL : main_program(&steps, &v);
    if (program && gp_plan_build(&plan, &v, program)) {
        failed = suggest_for(s, &v, &plan, err);
        gp_plan_release(&plan);
    } else if (!failed) {
        struct gp_rule_ctx c = {.s = s};
        gp_rule_note(&c,
                     gp_rule_text(&c, "most GPU events have no launch record, so nothing can be replayed or "
                                      "suggested; record the launching calls as well"));
    }
    gp_input_quality_judge(&s->input, &s->strings, t, &v);
    gp_steps_release(&steps);
    gp_view_release(&v);
    return failed;
}
