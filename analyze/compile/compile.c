
#include <stdlib.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"

/* ---- all of it ---- */

void gp_compile_init(struct gp_compile *c, struct gp_compile_log *log, const struct gp_compile_opts *opts)
{
    *c = (struct gp_compile){.log = log};
    if (opts) c->opts = *opts;
}

void gp_compile_finish(struct gp_compile *c)
{
    gp_compile_find_mode(c);
    gp_compile_find_frames(c);
    gp_compile_add_time(c);
    gp_compile_find_recompiles(c);
    gp_compile_find_breaks(c);
    gp_compile_count_caches(c);
    gp_compile_find_graphs(c);
    gp_compile_find_cudagraphs(c);
    gp_compile_join_trace(c);
    gp_compile_compare_modes(c);
    gp_compile_compare_findings(c);
    gp_compile_advise(c);
}

void gp_compile_release(struct gp_compile *c)
{
    GP_EACH(struct gp_compile_trace, t, c->traces) {
        gp_profile_release(&t->profile);
        GP_RELEASE(gp_vec_free, &t->regions, &t->calls, &t->steps, &t->busy, &t->kernels, &t->products,
                   &t->graphs);
    }
    GP_RELEASE(gp_vec_free, &c->traces, &c->frames, &c->breaks, &c->recompiles, &c->caches.bypass, &c->graphs,
               &c->kernels, &c->cudagraphs.skips, &c->modes, &c->advice, &c->ids, &c->values, &c->ranks);
    gp_map_release(&c->of_frame);
    *c = (struct gp_compile){0};
}
