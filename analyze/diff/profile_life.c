#include "analyze/diff/profile.h"

#include <string.h>

void gp_profile_init(struct gp_profile *p, const struct gp_profile_opts *opts)
{
    memset(p, 0, sizeof *p);
    if (opts) p->opts = *opts;
    p->input.rank = p->env.world_size = -1;
    p->tick_ns = 1;
}

void gp_profile_release(struct gp_profile *p)
{
    GP_VEC_FREE(&p->kernels);
    GP_VEC_FREE(&p->places);
    GP_VEC_FREE(&p->lanes);
    GP_VEC_FREE(&p->steps);
    GP_VEC_FREE(&p->events);
    GP_VEC_FREE(&p->spills);
    gp_strings_release(&p->strings);
    memset(p, 0, sizeof *p);
}
