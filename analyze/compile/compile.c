
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
        GP_VEC_FREE(&t->regions);
        GP_VEC_FREE(&t->calls);
        GP_VEC_FREE(&t->steps);
        GP_VEC_FREE(&t->busy);
        GP_VEC_FREE(&t->kernels);
        GP_VEC_FREE(&t->products);
        GP_VEC_FREE(&t->graphs);
    }
    GP_VEC_FREE(&c->traces);
    GP_VEC_FREE(&c->frames);
    gp_map_release(&c->of_frame);
    GP_VEC_FREE(&c->breaks);
    GP_VEC_FREE(&c->recompiles);
    GP_VEC_FREE(&c->caches.bypass);
    GP_VEC_FREE(&c->graphs);
    GP_VEC_FREE(&c->kernels);
    GP_VEC_FREE(&c->cudagraphs.skips);
    GP_VEC_FREE(&c->modes);
    GP_VEC_FREE(&c->advice);
    GP_VEC_FREE(&c->ids);
    GP_VEC_FREE(&c->values);
    GP_VEC_FREE(&c->ranks);
    *c = (struct gp_compile){0};
}
