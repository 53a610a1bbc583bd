/* The figures of what lies in the step windows: the same parts as of the whole trace. */
#include <string.h>
#include "analyze/hta/hta_priv.h"

void gp_hta_add_inside(struct gp_hta *h, const struct gp_trace *t, const struct gp_view *v)
{
    struct gp_hta_idle idle;
    struct gp_view inside = {.hs = v->hs};
    gp_view_init_on(&inside, t, h->opts.classes);
    gp_hta_start_idle(&idle, &h->opts, &inside);
    gp_hta_add_devices(h, &inside);
    gp_hta_add_kernels(h, &inside, 0);
    gp_hta_add_op_shapes(h, &inside);
    gp_hta_add_launches(h, &inside);
    gp_hta_add_copies(h, &inside);
    gp_hta_finish_idle(&idle, h, 0);
    memset(&inside.hs, 0, sizeof inside.hs); /* belongs to V */
    gp_view_release(&inside);
}
