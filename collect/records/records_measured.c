/* Kernels that were measured. CUPTI hands out a record without times of each, and, where it ran only once,
 * another one with them; otherwise the counters know how long it took. */
#include "collect/records/records_priv.h"

static const uint32_t TIMED = UINT32_MAX - 1; /* a record with times was there */

void gp_records_hold_known(struct gp_records *r, struct gp_held_work *w, uint32_t kind)
{
    w->tick = r->tick;
    gp_records_note_time(r, w->end_ns);
    GP_VEC_PUSH(&r->work, *w);
    if (kind == GP_KERNEL) r->stats.kernels++;
    else if (kind == GP_MEMCPY) r->stats.copies++;
    else r->stats.sets++;
}

void gp_records_hold_timeless(struct gp_records *r, struct gp_held_work *w, const struct gp_config *c)
{
    uint32_t *at = gp_map_put(&r->timeless_at, w->corr, UINT32_MAX);
    if (*at == TIMED) return;
    w->config = gp_trace_config(&r->trace, c);
    *at = (uint32_t)r->timeless.n;
    GP_VEC_PUSH(&r->timeless, *w);
}

void gp_records_timed(struct gp_records *r, uint32_t corr)
{
    uint32_t *at = gp_map_put(&r->timeless_at, corr, UINT32_MAX);
    if (*at < TIMED) r->timeless.at[*at].corr = 0;
    *at = TIMED;
}

void gp_records_measured(struct gp_records *r, uint32_t corr, int64_t start_ns, int64_t end_ns)
{
    *gp_map_put(&r->measured_at, corr, 0) = (uint32_t)r->measured.n;
    GP_VEC_PUSH(&r->measured, (struct gp_measured_time){start_ns, end_ns});
}

uint64_t gp_records_vanished(const struct gp_records *r)
{
    return r->stats.kernels || r->timeless.n ? 0 : r->measured.n;
}

uint64_t gp_records_end_timeless(struct gp_records *r)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < r->timeless.n; i++) {
        struct gp_held_work *w = &r->timeless.at[i];
        const uint32_t *at = w->corr ? gp_map_get(&r->measured_at, w->corr) : NULL;
        if (at) {
            w->start_ns = r->measured.at[*at].start_ns;
            w->end_ns = r->measured.at[*at].end_ns;
            gp_records_hold_known(r, w, GP_KERNEL);
        } else {
            lost += w->corr != 0;
        }
    }
    r->stats.bad_time += lost;
    r->timeless.n = 0;
    return lost;
}

void gp_records_release_timeless(struct gp_records *r)
{
    gp_map_release(&r->timeless_at);
    gp_map_release(&r->measured_at);
    GP_VEC_FREE(&r->timeless);
    GP_VEC_FREE(&r->measured);
}
