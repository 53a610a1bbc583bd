#include <stdlib.h>
#include "analyze/metrics/launch_match.h"
#include "analyze/metrics/metrics.h"

/* The times of what one measured launch is in the other trace, or of all launches of its kernel there. */
struct timing {
    double total_ns; /* exact up to 2^53 ns, 104 days */
    uint64_t n;
};

void gp_metrics_join(struct gp_metrics *m, const struct gp_trace *counters, const struct gp_trace *timing)
{
    struct gp_launch_match match;
    gp_launch_match_find(&match, counters, timing);
    struct timing *rows = gp_zalloc((counters->events[GP_METRIC].n + 1) * sizeof *rows),
                  *kernels = gp_zalloc((match.groups.n + 1) * sizeof *kernels);
    double *ns = gp_zalloc((m->groups.n + 1) * sizeof *ns);
    /* Launches that are not one measured launch count for their kernel only. */
    const struct gp_events *gpu = &timing->events[GP_GPU];
    for (size_t i = 0; i < gpu->n; i++) {
        if (match.group[i] == UINT32_MAX) continue;
        struct timing *of[] = {&kernels[match.group[i]],
                               match.row[i] != UINT32_MAX ? &rows[match.row[i]] : NULL};
        for (int k = 0; k < 2 && of[k]; k++) of[k]->total_ns += (double)gpu->dur_ns[i], of[k]->n++;
    }
    m->joined = true;
    for (size_t k = 0; k < match.groups.n; k++) {
        const struct gp_launch_group *g = &match.groups.at[k];
        for (uint32_t i = 0; i < g->n && kernels[k].n; i++) {
            uint32_t row = match.rows[g->first + i], at = m->group_of[row];
            if (at == UINT32_MAX) continue;
            const struct timing *t = rows[row].n ? &rows[row] : &kernels[k];
            ns[at] += t->total_ns / (double)t->n;
            m->groups.at[at].joined_by_mean |= t->n != 1 || !rows[row].n;
            m->groups.at[at].joined_ns = (int64_t)(ns[at] + 0.5);
        }
    }
    free(rows);
    free(kernels);
    free(ns);
    gp_launch_match_release(&match);
}
