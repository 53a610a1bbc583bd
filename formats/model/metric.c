#include "formats/model/metric.h"

#include "formats/base/str.h"

static bool same_metric(const struct gp_metric *a, const struct gp_metric *b)
{
    return a->name == b->name && a->unit == b->unit && a->type == b->type && a->reduce == b->reduce &&
           a->passes == b->passes && a->chip == b->chip;
}

static bool same_set(const struct gp_trace *t, const struct gp_metric_set *set,
                     const struct gp_metric *metrics, size_t n)
{
    if (set->n != n) return false;
    for (size_t i = 0; i < n; i++)
        if (!same_metric(&t->metrics.at[set->first + i], &metrics[i])) return false;
    return true;
}

uint32_t gp_trace_metric_set(struct gp_trace *t, const struct gp_metric *metrics, size_t n)
{
    for (size_t i = 0; i < t->metric_sets.n; i++)
        if (same_set(t, &t->metric_sets.at[i], metrics, n)) return (uint32_t)i;
    struct gp_metric_set set = {(uint32_t)t->metrics.n, (uint32_t)n};
    for (size_t i = 0; i < n; i++) GP_VEC_PUSH(&t->metrics, metrics[i]);
    GP_VEC_PUSH(&t->metric_sets, set);
    return (uint32_t)t->metric_sets.n - 1;
}

void gp_metric_put(struct gp_trace *t, size_t row, uint32_t set, const double *values)
{
    struct gp_events *e = &t->events[GP_METRIC];
    gp_set_set(e, row, set);
    gp_set_values(e, row, t->metric_values.n);
    for (uint32_t i = 0; i < t->metric_sets.at[set].n; i++) GP_VEC_PUSH(&t->metric_values, values[i]);
}

enum gp_metric_reduce gp_metric_reduce_of(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot && gp_is_choice(".sum|.avg|.min|.max", dot) ? GP_REDUCE_SUM : GP_REDUCE_MEAN;
}

bool gp_trace_distorted(const struct gp_trace *t)
{
    const char *v = gp_trace_get_meta(t, GP_META_DISTORTED);
    return t->issues[GP_Q_COUNTERS].count || (v && !strcmp(v, "true"));
}
