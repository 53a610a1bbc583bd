/* The samples of counters, as integers. */
#include <math.h>
#include "render/page/page_pack.h"
#include "render/timeline/timeline_priv.h"

int64_t gp_timeline_scale(const struct gp_lanes_counter *c)
{
    for (size_t i = 0; i < c->samples.n; i++) {
        double v = c->samples.at[i].value;
        if (v != rint(v)) return 1000;
    }
    return 1;
}

void gp_timeline_add_counters(struct gp_timeline *tl)
{
    const struct gp_lanes *l = tl->l;
    struct gp_buf b = {0};
    static const double MOST = 4503599627370496.0; /* 2^52 */
    for (size_t k = 0; k < l->tracks.n; k++) {
        if (l->tracks.at[k].sort != GP_LANES_COUNTER) continue;
        const struct gp_lanes_counter *c = &l->counters.at[l->tracks.at[k].counter];
        int64_t last = 0, scale = gp_timeline_scale(c);
        for (size_t i = 0; i < c->samples.n; i++) {
            int64_t at = c->samples.at[i].at_ns < l->begin_ns ? 0 : c->samples.at[i].at_ns - l->begin_ns;
            gp_pack_u64(&b, (uint64_t)(at - last));
            last = at;
        }
        last = 0;
        for (size_t i = 0; i < c->samples.n; i++) {
            double v = c->samples.at[i].value * (double)scale;
            if (!(v > -MOST)) v = -MOST;
            int64_t value = (int64_t)((v < MOST ? v : MOST) + (v < 0 ? -0.5 : 0.5));
            gp_pack_i64(&b, value - last);
            last = value;
        }
    }
    if (l->counters.n) gp_timeline_add(tl, "counters", b.data, b.n);
    gp_buf_release(&b);
}
