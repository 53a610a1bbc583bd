// Clocks of the device that fall while it is recorded.
#include <stdlib.h>
#include "analyze/math/sums.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

static const double SLOWER_PCT = 3; /* all kernels together, from the first to the last third of the steps */
static const double TOGETHER_PCT = 90; /* of the kernels' time, in kernels that are slower */
static const double DRIFT_PCT = 1;     /* beyond which a kernel counts as slower */
static const double COMPARED_PCT = 50; /* of the busy time, in kernels that are compared */

enum {
    STEPS_LEAST = 6,
    LONG_NS = 10000, /* shorter kernels vary from run to run anyway */
};

/* One place in the step. */
struct place {
    int64_t first_ns, last_ns; /* in the first and in the last third of the steps, in all */
};

struct drift {
    struct place *places; /* by position in the step */
    size_t n, third;      /* places; steps of a third */
    int64_t first_ns, last_ns, slower_ns;
};

static bool is_compared(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_class_of((enum gp_frame_kind)c->items[item].kind) == GP_CLASS_COMPUTE;
}

static void measure(const struct gp_rule_ctx *c, struct drift *d)
{
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        size_t step = c->p->items.at[i].step;
        if (!is_compared(c, i)) continue;
        struct place *place = &d->places[c->items[i].position];
        if (step < d->third) place->first_ns += gp_rule_dur(c, i);
        if (step >= c->n_steps - d->third) place->last_ns += gp_rule_dur(c, i);
    }
    for (size_t k = 0; k < d->n; k++) {
        struct place *place = &d->places[k];
        if (place->first_ns < LONG_NS * (int64_t)d->third) {
            place->first_ns = 0;
            continue;
        }
        d->first_ns += place->first_ns;
        d->last_ns += place->last_ns;
        if (gp_pct(place->last_ns - place->first_ns, place->first_ns) > DRIFT_PCT)
            d->slower_ns += place->first_ns;
    }
}

static void suggest_clocks(struct gp_rule_ctx *c, const struct drift *d)
{
    struct gp_suggestion *s = gp_rule_suggest(c);
    int64_t excess = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        int64_t first = d->places[c->items[i].position].first_ns / (int64_t)d->third;
        int64_t dur = gp_rule_dur(c, i);
        if (!is_compared(c, i) || !first || dur <= first) continue;
        excess += dur - first;
        gp_rule_edit_high(s, GP_EDIT_DUR, i, first);
    }
    double pct = gp_pct(d->last_ns - d->first_ns, d->first_ns);
    s->current_ns = s->resource_high_ns = gp_rule_per_step(c, excess);
    s->description =
        gp_rule_text(c,
                     "The same kernels take %.1f%% longer in the last third of the steps than in the first, "
                     "nearly all of them alike: the device's clocks appear to drop",
                     pct);
    gp_rule_evidence_pct(s, "slower", pct);
    gp_rule_evidence_pct(s, "slower_together", gp_pct(d->slower_ns, d->first_ns));
    gp_rule_evidence_ns(s, "excess", s->current_ns);
}

static void check_throttling(struct gp_rule_ctx *c)
{
    if (!c->same_steps || c->n_steps < STEPS_LEAST) return;
    struct drift d = {.n = c->p->steps.at[0].n_items, .third = c->n_steps / 3};
    d.places = gp_zalloc((d.n + 1) * sizeof *d.places);
    measure(c, &d);
    bool enough = gp_pct(d.first_ns, (int64_t)d.third * gp_rule_per_step(c, c->busy_ns)) >= COMPARED_PCT;
    if (enough && gp_pct(d.last_ns - d.first_ns, d.first_ns) > SLOWER_PCT &&
        gp_pct(d.slower_ns, d.first_ns) >= TOGETHER_PCT)
        suggest_clocks(c, &d);
    free(d.places);
}

const struct gp_rule gp_rule_throttling = {
    .name = "throttling",
    .type = GP_SUGGEST_ALGORITHM,
    .summary = "kernels that all become slower during the run",
    .needs = "six steps that run the same kernels",
    .threshold =
        "3% slower in the last third of the steps than in the first, over kernels of more than 10 us",
    .guard = "drift of only some kernels: nine tenths of the time must drift, and half of the busy time must "
             "be comparable",
    .action = "check power, temperature and clocks during the run (nvidia-smi -q -d "
              "PERFORMANCE,CLOCK); cool the device, or measure with locked clocks",
    .change = "keep the clocks of the device as high as at the beginning",
    .formula = "between nothing and all kernels as fast as in the first third",
    .assumes = "the work is the same, as the equal grids suggest; the first third was not faster by chance",
    .check = "make a longer recording that includes the device's clocks",
    .run = check_throttling,
};
