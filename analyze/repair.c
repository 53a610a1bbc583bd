#include <stdlib.h>
#include <string.h>
#include "analyze/hta_parts.h"

void gp_hta_count_launches(struct gp_trace *t, const struct gp_view *v)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *api = &t->events[GP_API];
    uint64_t none = 0, before = 0;
    for (uint32_t i = 0; i < gpu->n; i++) {
        uint32_t call = gp_view_launch(v, i);
        if (call == UINT32_MAX) none++;
        else before += gpu->start_ns[i] < api->start_ns[call];
    }
    gp_trace_issue(t, GP_Q_NO_CORRELATION, none, -1);
    gp_trace_issue(t, GP_Q_BEFORE_LAUNCH, before, -1);
}
