#include <string.h>
#include "analyze/metrics/launch_key.h"
#include "analyze/metrics/metrics.h"

/* The times of one kernel, grid and block in the other trace. */
struct timing {
    uint64_t count;
    int64_t total_ns;
};

void gp_metrics_join(struct gp_metrics *m, const struct gp_trace *timing)
{
    const struct gp_events *gpu = &timing->events[GP_GPU];
    struct gp_launch_keys keys = {0};
    GP_VEC(struct timing) times = {0};
    for (size_t i = 0; i < gpu->n; i++) {
        const struct gp_config *c = gp_gpu_config(timing, i);
        if (c->kind != GP_KERNEL) continue;
        uint32_t *at = gp_launch_keys_put(&keys, c);
        if (*at == UINT32_MAX) {
            *at = (uint32_t)times.n;
            GP_VEC_PUSH(&times, (struct timing){0, 0});
        }
        times.at[*at].count++;
        times.at[*at].total_ns += gpu->dur_ns[i];
    }
    m->joined = true;
    for (size_t g = 0; g < m->groups.n; g++) {
        struct gp_metrics_group *group = &m->groups.at[g];
        struct gp_config c = group->config;
        if (!group->kernel) continue;
        c.name = gp_intern_find(&timing->strings, gp_metrics_str(m, group->name),
                                gp_string_len(&m->strings, group->name));
        const uint32_t *at = c.name != UINT32_MAX ? gp_launch_keys_get(&keys, &c) : NULL;
        if (!at) continue;
        const struct timing *k = &times.at[*at];
        group->joined_by_mean = k->count != group->measured;
        group->joined_ns =
            group->joined_by_mean
                ? (int64_t)((double)k->total_ns / (double)k->count * (double)group->measured + 0.5)
                : k->total_ns;
    }
    GP_VEC_FREE(&times);
    gp_launch_keys_release(&keys);
}
