/* trace_check.h -- the invariants of a trace that every filter relies on: indices in range, durations not
 * negative, tables sorted, sids known.
 */
#ifndef GP_TESTS_TRACE_CHECK_H
#define GP_TESTS_TRACE_CHECK_H

#include "formats/base/err.h"
#include "formats/model/samples.h"
#include "formats/model/trace.h"

static inline int check_indices(const struct gp_trace *t, enum gp_table table, size_t i, struct gp_err *err)
{
    const struct gp_events *e = &t->events[table];
    const char *what = gp_table_name(table);
    if (e->dur_ns[i] < 0) return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: negative duration", what, i);
    if (!gp_time_fits(e->start_ns[i]) || e->dur_ns[i] > GP_DURATION_MOST)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: time out of range", what, i);
    if (e->track[i] >= t->tracks.n)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such track", what, i);
    if (e->name[i] >= t->strings.n) return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such name", what, i);
    if (gp_get_extra(e, i) >= t->strings.n || gp_get_cat(e, i) >= t->strings.n ||
        gp_get_series(e, i) >= t->strings.n || gp_get_id_text(e, i) >= t->strings.n ||
        gp_get_captured(e, i) >= t->strings.n)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such string", what, i);
    if (gp_get_stack(e, i) && gp_get_stack(e, i) >= t->stacks.n)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such stack", what, i);
    if (gp_get_waiter(e, i) != UINT32_MAX && gp_get_waiter(e, i) >= t->tracks.n)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such waiting track", what, i);
    if (table == GP_SAMPLE && gp_sample_stack(e, i) && gp_sample_stack(e, i) >= t->stacks.n)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such stack", what, i);
    if (table == GP_METRIC && gp_get_set(e, i) >= t->metric_sets.n)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such set", what, i);
    if (table == GP_METRIC &&
        (gp_get_values(e, i) > t->metric_values.n ||
         t->metric_sets.at[gp_get_set(e, i)].n > t->metric_values.n - gp_get_values(e, i)))
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such values", what, i);
    if ((table == GP_GPU || (table == GP_METRIC && e->config)) && gp_get_config(e, i) >= t->configs.n)
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: no such config", what, i);
    if (i && (e->start_ns[i - 1] > e->start_ns[i] ||
              (e->start_ns[i - 1] == e->start_ns[i] && e->dur_ns[i - 1] < e->dur_ns[i])))
        return gp_fail(err, GP_E_SYNTAX, -1, "%s row %zu: not sorted", what, i);
    return 0;
}

/* 0, or -1 with ERR naming the first violation. O(n). */
GP_MUST_CHECK static inline int gp_trace_check(const struct gp_trace *t, struct gp_err *err)
{
    for (size_t i = 0; i < t->tracks.n; i++)
        if (t->tracks.at[i].process >= t->processes.n)
            return gp_fail(err, GP_E_SYNTAX, -1, "track %zu: no such process", i);
    for (size_t i = 0; i < t->configs.n; i++)
        if (t->configs.at[i].name >= t->strings.n || t->configs.at[i].kind > GP_MEMSET)
            return gp_fail(err, GP_E_SYNTAX, -1, "config %zu: no such name or kind", i);
    for (size_t i = 0; i < t->node_runs.n; i++)
        if (t->node_runs.at[i].captured >= t->strings.n ||
            (t->node_runs.at[i].stack && t->node_runs.at[i].stack >= t->stacks.n))
            return gp_fail(err, GP_E_SYNTAX, -1, "graph nodes %zu: no such string or stack", i);
    for (size_t i = 0; i < t->stacks.n; i++)
        if (t->stacks.at[i].name >= t->strings.n || t->stacks.at[i].file >= t->strings.n ||
            (t->stacks.at[i].parent && t->stacks.at[i].parent >= i) ||
            (t->stacks.at[i].symbol && t->stacks.at[i].symbol >= t->symbols.n))
            return gp_fail(err, GP_E_SYNTAX, -1, "stack %zu: no such string, parent or symbol", i);
    for (size_t i = 0; i < t->symbols.n; i++) {
        const struct gp_symbol *s = &t->symbols.at[i];
        if (s->module >= t->strings.n || s->name >= t->strings.n || s->file >= t->strings.n ||
            (s->caller && s->caller >= t->symbols.n))
            return gp_fail(err, GP_E_SYNTAX, -1, "symbol %zu: no such string or symbol", i);
    }
    for (size_t i = 0; i < t->paces.n; i++)
        if (t->paces.at[i].process >= t->processes.n || t->paces.at[i].dur_ns < 0)
            return gp_fail(err, GP_E_SYNTAX, -1, "pace %zu: no such process, or negative duration", i);
    for (int table = 0; table < GP_TABLE_COUNT; table++)
        for (size_t i = 0; i < t->events[table].n; i++)
            if (check_indices(t, (enum gp_table)table, i, err)) return -1;
    return 0;
}

#endif
