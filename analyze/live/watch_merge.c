#include <stdlib.h>
#include "analyze/live/watch_priv.h"
#include "formats/base/order.h"

GP_COMPARE(by_step_time, struct gp_watch_kernel, GP_KEY(y->step_ns / y->n, x->step_ns / x->n) GP_UP(name))

/* What a call of K took before, so that the receiver finds the same change. */
static int64_t usual_ns(const struct gp_watch_kernel *k)
{
    return k->change_pm > -1000 ? (int64_t)((double)(k->call_ns / k->n) * 1000 / (1000 + k->change_pm)) : 0;
}

static void pass_on(struct gp_watch *w, struct gp_watch_rank *r)
{
    struct gp_digest d = {.run = r->run,
                          .seq = r->seq,
                          .time_ns = r->sent_ns,
                          .last_step = r->last_step,
                          .dropped = r->dropped,
                          .merged = r->merged < GP_DIGEST_MERGED ? r->merged : GP_DIGEST_MERGED,
                          .member = {.key = r->key, .device = r->device, .gpu = r->gpu}};
    if (r->fresh && r->n) {
        d.member.steps = r->steps;
        for (int i = 0; i < GP_FLEET_METRIC_COUNT; i++) d.member.ns[i] = r->ns[i] / r->n;
        qsort(r->kernels, r->n_kernels, sizeof *r->kernels, by_step_time);
        for (size_t i = 0; i < r->n_kernels; i++) {
            const struct gp_watch_kernel *k = &r->kernels[i];
            struct gp_fleet_kernel_time t = {k->name, k->n, k->step_ns / k->n, k->call_ns / k->n};
            GP_VEC_PUSH(&d.member.kernels, t);
            d.usual_ns[i] = k->change_pm ? usual_ns(k) : t.call_ns;
        }
    }
    w->on_digest(w->ctx, &d, &w->names);
    GP_VEC_FREE(&d.member.kernels);
    r->merged = 0;
    r->fresh = false;
}

void gp_watch_pass_on(struct gp_watch *w)
{
    for (size_t i = 0; i < w->ranks.n; i++)
        if (w->ranks.at[i].merged) pass_on(w, &w->ranks.at[i]);
}
