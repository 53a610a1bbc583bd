#include "analyze/view/activity.h"

#include "analyze/math/intervals.h"

static void add_clipped(struct gp_intervals *s, const struct gp_events *e, size_t row, int64_t begin_ns,
                        int64_t end_ns)
{
    int64_t start = e->start_ns[row], end = start + e->dur_ns[row];
    gp_intervals_add(s, start < begin_ns ? begin_ns : start, end > end_ns ? end_ns : end);
}

struct gp_activity gp_activity_of(const struct gp_view *v, int64_t begin_ns, int64_t end_ns)
{
    static const enum gp_table host[] = {GP_OP, GP_API};
    const struct gp_trace *t = v->t;
    struct gp_intervals cpu = {0}, gpu = {0};
    for (size_t k = 0; k < GP_COUNT(host); k++)
        for (size_t i = 0; i < t->events[host[k]].n; i++)
            if (t->tracks.at[t->events[host[k]].track[i]].kind == GP_TRACK_THREAD)
                add_clipped(&cpu, &t->events[host[k]], i, begin_ns, end_ns);
    for (size_t i = 0; i < t->events[GP_GPU].n; i++)
        add_clipped(&gpu, &t->events[GP_GPU], i, begin_ns, end_ns);
    gp_intervals_normalise(&cpu);
    gp_intervals_normalise(&gpu);
    struct gp_activity a = {end_ns - begin_ns, gp_intervals_length(&cpu), gp_intervals_length(&gpu),
                            gp_intervals_overlap(&cpu, &gpu)};
    gp_intervals_release(&cpu);
    gp_intervals_release(&gpu);
    return a;
}
