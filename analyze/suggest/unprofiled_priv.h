/* unprofiled_priv.h -- private to suggest.c: the steps as they run without the recorder. Two models of them,
 * with the least and with the most that the recorder may have cost taken out of the host's time, and what
 * edits save in both. Knows nothing of rules' reasons, priorities or text.
 *
 *     struct gp_unprofiled b;
 *     gp_unprofiled_build(&b, c, 0);
 *     struct gp_unprofiled_saving s = gp_unprofiled_saved(&b, c, edits, n, false);
 *     gp_unprofiled_release(&b);
 */
#ifndef GP_ANALYZE_UNPROFILED_PRIV_H
#define GP_ANALYZE_UNPROFILED_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/view/recorder.h"
#include "analyze/suggest/replay.h"

struct gp_rule_ctx;
struct gp_suggestion;

struct gp_unprofiled_model {
    struct gp_replay replay;             /* its items, streams and devices are the plan's */
    GP_VEC(struct gp_replay_item) items; /* empty, or in their place */
    int64_t step_ns;                     /* unchanged */
};

struct gp_unprofiled {
    const struct gp_recorder *recorder; /* NULL: unknown; both models are the plan */
    struct gp_unprofiled_model least, most;
    int64_t *cost_ns; /* by call: the most that was the recorder's */
    bool same;        /* the two models are one */
    uint32_t source;  /* enum gp_unprofiled_source: where the length of an unrecorded step is from */
    int64_t step_ns;  /* that length, unless it is modelled */
    int64_t other_ns; /* a pace that is not of these steps: longer, or left out; 0: there is none */
};

/* What edits save per step. */
struct gp_unprofiled_saving {
    int64_t less_ns, more_ns; /* in the model where that is less, and where it is more */
    int64_t slow_ns;          /* with the slowest host */
    int64_t fastest_after_ns; /* with a likely host before the edits, and the fastest after them */
};

/* GIVEN_NS: how long a step takes without a recorder, 0: not given. If it is, or else if the recorder timed
 * steps while it did not record, the models are those that take 1% more and less, or as near as the
 * host's time can be made to. Needs c->calls and the view. O(events + calls + items). */
void gp_unprofiled_build(struct gp_unprofiled *b, const struct gp_rule_ctx *c, int64_t given_ns);
void gp_unprofiled_release(struct gp_unprofiled *b);

/* GAPS: the edits may take host time that input or one long gap holds (held_ns of the calls); otherwise they
 * leave it. */
struct gp_unprofiled_saving gp_unprofiled_saved(const struct gp_unprofiled *b, const struct gp_rule_ctx *c,
                                                const struct gp_edit *edits, size_t n, bool gaps);

/* A step takes at least so long after the change of S, by its edits, whatever the host does: the GPU's busy
 * time if it changes no kernel, otherwise the longest stream's, without the kernels that change and with what
 * goes aside as a stream of its own. ns per step. */
int64_t gp_unprofiled_least_ns(const struct gp_rule_ctx *c, const struct gp_suggestion *s);
/* What would be saved per step if the host took no time but what is held, and waited for nothing: in the
 * model where that is more. */
int64_t gp_unprofiled_ideal_ns(const struct gp_unprofiled *b, const struct gp_rule_ctx *c);

#endif
