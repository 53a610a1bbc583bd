#include "analyze/metrics/measured.h"

#include <math.h>
#include <stdlib.h>
#include "formats/model/metric.h"

void gp_measured_init(struct gp_measured *m, const struct gp_trace *counters, const struct gp_trace *timing)
{
    memset(m, 0, sizeof *m);
    m->counters = counters;
    gp_launch_match_find(&m->match, counters, timing);
    m->sets = gp_alloc((counters->metric_sets.n + 1) * sizeof *m->sets);
    m->means = gp_alloc((m->match.groups.n + 1) * sizeof *m->means);
    m->has_mean = gp_zalloc(m->match.groups.n + 1);
    for (size_t s = 0; s < counters->metric_sets.n; s++) {
        const struct gp_metric_set *set = &counters->metric_sets.at[s];
        const char *names[GP_METRICS_MOST];
        uint32_t n = set->n < GP_METRICS_MOST ? set->n : GP_METRICS_MOST;
        for (uint32_t i = 0; i < n; i++)
            names[i] = gp_trace_str(counters, counters->metrics.at[set->first + i].name);
        gp_counters_init(&m->sets[s], names, n);
    }
}

/* Of all launches of the group that have the first one's set: the plain mean of each value that was
 * measured. */
static void find_mean(struct gp_measured *m, uint32_t group)
{
    const struct gp_launch_group *g = &m->match.groups.at[group];
    const struct gp_events *e = &m->counters->events[GP_METRIC];
    uint32_t set = gp_get_set(e, m->match.rows[g->first]), n = m->counters->metric_sets.at[set].n;
    double sum[GP_METRICS_MOST] = {0}, mean[GP_METRICS_MOST];
    uint64_t count[GP_METRICS_MOST] = {0};
    if (n > GP_METRICS_MOST) n = GP_METRICS_MOST;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t row = m->match.rows[g->first + i];
        if (gp_get_set(e, row) != set) continue;
        const double *v = gp_metric_values(m->counters, row);
        for (uint32_t k = 0; k < n; k++) {
            if (isnan(v[k])) continue;
            sum[k] += v[k];
            count[k]++;
        }
    }
    for (uint32_t k = 0; k < n; k++) mean[k] = count[k] ? sum[k] / (double)count[k] : NAN;
    gp_counters_read(&m->sets[set], mean, &m->means[group]);
    m->has_mean[group] = 1;
}

enum gp_measured_as gp_measured_at(struct gp_measured *m, size_t row, struct gp_counted *k)
{
    uint32_t at = m->match.row[row], group = m->match.group[row];
    if (at != UINT32_MAX) {
        uint32_t set = gp_get_set(&m->counters->events[GP_METRIC], at);
        gp_counters_read(&m->sets[set], gp_metric_values(m->counters, at), k);
        return GP_MEASURED_LAUNCH;
    }
    if (group == UINT32_MAX) return GP_MEASURED_NOT;
    if (!m->has_mean[group]) find_mean(m, group);
    *k = m->means[group];
    return GP_MEASURED_MEAN;
}

bool gp_measured_parts(const struct gp_measured *m, size_t row, double mean[GP_COUNTER_PART_COUNT])
{
    const uint32_t group = m->match.group[row];
    uint64_t n[GP_COUNTER_PART_COUNT] = {0};
    if (group == UINT32_MAX) return false;
    const struct gp_launch_group *g = &m->match.groups.at[group];
    for (int p = 0; p < GP_COUNTER_PART_COUNT; p++) mean[p] = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t at = m->match.rows[g->first + i];
        const struct gp_counters *set = &m->sets[gp_get_set(&m->counters->events[GP_METRIC], at)];
        for (int p = 0; p < GP_COUNTER_PART_COUNT; p++) {
            const double v =
                gp_counters_part(set, gp_metric_values(m->counters, at), (enum gp_counter_part)p);
            if (isnan(v)) continue;
            mean[p] += v;
            n[p]++;
        }
    }
    for (int p = 0; p < GP_COUNTER_PART_COUNT; p++) mean[p] = n[p] ? mean[p] / (double)n[p] : NAN;
    return true;
}

void gp_measured_release(struct gp_measured *m)
{
    gp_launch_match_release(&m->match);
    free(m->sets);
    free(m->means);
    free(m->has_mean);
    memset(m, 0, sizeof *m);
}
