#include "analyze/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/math/sums.h"
#include "analyze/metrics/launch_match.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/base/order.h"

/* What is needed while the trace is gone through. */
struct find {
    struct gp_metrics *m;
    const struct gp_trace *t;
    const struct gp_metrics_opts *o;
    uint32_t *column_of; /* by entry of the trace's metrics: column, UINT32_MAX: not asked for */
    uint32_t *time_of;   /* by set: which of its values is the time; UINT32_MAX */
    struct gp_launch_keys keys;
    double *weights;      /* by group and column: the sum of what means are weighted by */
    int64_t *recorded_ns; /* by group of kernels: durations of GPU events; NULL: per launch */
};

static gp_sid keep(struct find *f, gp_sid sid)
{
    return gp_intern(&f->m->strings, gp_trace_str(f->t, sid), gp_string_len(&f->t->strings, sid));
}

/* ---- columns ---- */

/* Is NAME among the names of LIST, which may lack the rollup? */
static bool is_asked_for(const char *list, const char *name)
{
    size_t base = strcspn(name, ".");
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        if ((n == strlen(name) || n == base) && !strncmp(at, name, n)) return true;
        at += n + (at[n] == ',');
    }
    return !list;
}

static int find_columns(struct find *f, struct gp_err *err)
{
    const struct gp_trace *t = f->t;
    struct gp_map seen = {0};
    f->column_of = gp_alloc((t->metrics.n + 1) * sizeof *f->column_of);
    f->time_of = gp_alloc((t->metric_sets.n + 1) * sizeof *f->time_of);
    for (size_t i = 0; i < t->metrics.n; i++) {
        const struct gp_metric *k = &t->metrics.at[i];
        uint32_t *at = gp_map_put(&seen, k->name, UINT32_MAX);
        f->column_of[i] = UINT32_MAX;
        if (!is_asked_for(f->o->only, gp_trace_str(t, k->name))) continue;
        if (*at == UINT32_MAX) {
            *at = (uint32_t)f->m->columns.n;
            GP_VEC_PUSH(&f->m->columns,
                        ((struct gp_metrics_column){keep(f, k->name), keep(f, k->unit), k->type, k->reduce}));
        }
        f->column_of[i] = *at;
    }
    gp_map_release(&seen);
    for (size_t s = 0; s < t->metric_sets.n; s++) {
        f->time_of[s] = UINT32_MAX;
        for (uint32_t i = 0; i < t->metric_sets.at[s].n; i++)
            if (!strcmp(gp_trace_str(t, t->metrics.at[t->metric_sets.at[s].first + i].name),
                        "gpu__time_duration.sum"))
                f->time_of[s] = i;
    }
    if (f->m->columns.n || !f->o->only || !t->metrics.n) return 0;
    return gp_fail(err, GP_E_USAGE, -1, "--metric: no such metric in this trace: %s", f->o->only);
}

static void find_conditions(struct find *f)
{
    struct gp_metrics *m = f->m;
    for (size_t i = 0; i < f->t->metrics.n; i++) {
        const struct gp_metric *k = &f->t->metrics.at[i];
        gp_sid chip = keep(f, k->chip);
        bool known = !chip;
        for (size_t c = 0; c < m->chips.n; c++) known |= m->chips.at[c] == chip;
        if (!known) GP_VEC_PUSH(&m->chips, chip);
        if (k->passes > m->passes) m->passes = k->passes;
    }
    m->distorted = gp_trace_distorted(f->t);
    for (size_t i = 0; i < f->t->losses.n; i++) {
        struct gp_loss l = f->t->losses.at[i];
        l.what = keep(f, l.what);
        l.reason = keep(f, l.reason);
        size_t at = 0;
        while (at < m->losses.n && (m->losses.at[at].what != l.what || m->losses.at[at].reason != l.reason))
            at++;
        if (at < m->losses.n) m->losses.at[at].count += l.count;
        else GP_VEC_PUSH(&m->losses, l);
    }
}

/* ---- groups ---- */

static uint32_t add_group(struct find *f, gp_sid name, const struct gp_config *config)
{
    struct gp_metrics_group g = {
        .name = keep(f, name), .kernel = config, .ordinal = GP_NO_ID, .time_ns = -1, .joined_ns = -1};
    if (config) {
        g.config = *config;
        g.config.name = g.name;
        g.config.cat = g.config.extra = 0;
    }
    GP_VEC_PUSH(&f->m->groups, g);
    return (uint32_t)f->m->groups.n - 1;
}

static const struct gp_config *config_of(const struct gp_trace *t, size_t row)
{
    uint32_t config = gp_get_config(&t->events[GP_METRIC], row);
    return config < t->configs.n ? &t->configs.at[config] : NULL;
}

/* The group of a row; UINT32_MAX: it is not asked for. */
static uint32_t group_row(struct find *f, struct gp_map *ranges, size_t row)
{
    const struct gp_events *e = &f->t->events[GP_METRIC];
    const bool range = !strcmp(gp_trace_str(f->t, gp_get_cat(e, row)), GP_METRIC_RANGE);
    if (range != (f->o->per == GP_METRICS_PER_RANGE)) return UINT32_MAX;
    uint32_t *at;
    if (range) {
        at = gp_map_put(ranges, e->name[row], UINT32_MAX);
        if (*at == UINT32_MAX) *at = add_group(f, e->name[row], NULL);
        return *at;
    }
    const struct gp_config *config = config_of(f->t, row);
    if (!config) return UINT32_MAX;
    at = gp_launch_keys_put(&f->keys, config);
    if (*at == UINT32_MAX) *at = add_group(f, config->name, config);
    return *at;
}

static void find_groups(struct find *f)
{
    const struct gp_events *e = &f->t->events[GP_METRIC];
    struct gp_map ranges = {0};
    uint32_t last_config = UINT32_MAX, last = UINT32_MAX; /* launches of one kernel often follow each other */
    f->m->group_of = gp_alloc((e->n + 1) * sizeof *f->m->group_of);
    for (size_t row = 0; row < e->n; row++) {
        uint32_t config = gp_get_config(e, row);
        bool again = config == last_config && !gp_get_cat(e, row);
        f->m->group_of[row] = again ? last : group_row(f, &ranges, row);
        last_config = gp_get_cat(e, row) ? UINT32_MAX : config;
        last = f->m->group_of[row];
    }
    gp_map_release(&ranges);
}

/* Launches of each group, as GPU events; a kernel that was never measured has no group. */
static void count_launches(struct find *f)
{
    const struct gp_events *gpu = &f->t->events[GP_GPU];
    uint32_t *group = gp_alloc((f->t->configs.n + 1) * sizeof *group);
    for (size_t c = 0; c < f->t->configs.n; c++) {
        const uint32_t *at = gp_launch_keys_get(&f->keys, &f->t->configs.at[c]);
        group[c] = at && f->t->configs.at[c].kind == GP_KERNEL ? *at : UINT32_MAX;
    }
    if (f->o->per != GP_METRICS_PER_LAUNCH)
        f->recorded_ns = gp_zalloc((f->m->groups.n + 1) * sizeof *f->recorded_ns);
    for (size_t i = 0; i < gpu->n; i++) {
        uint32_t config = gp_get_config(gpu, i);
        f->m->launches += f->t->configs.at[config].kind == GP_KERNEL;
        if (group[config] == UINT32_MAX) continue;
        f->m->groups.at[group[config]].count++;
        if (f->recorded_ns) f->recorded_ns[group[config]] += gpu->dur_ns[i];
    }
    free(group);
}

/* ---- values ---- */

static void add_value(struct gp_metrics_stat *s, double *weights, double v, double weight)
{
    s->n++;
    s->sum += v;
    s->mean += v * weight;
    *weights += weight;
    if (v < s->min) s->min = v;
    if (v > s->max) s->max = v;
}

/* How long the launch of ROW took; not a number where that is unknown or impossible. */
static double time_of(const struct find *f, size_t row)
{
    uint32_t set = gp_get_set(&f->t->events[GP_METRIC], row);
    if (f->time_of[set] == UINT32_MAX) return NAN;
    double ns = gp_metric_values(f->t, row)[f->time_of[set]];
    return ns > 0 && ns < (double)GP_DURATION_MOST ? ns : NAN;
}

static void add_row(struct find *f, size_t row, uint32_t group)
{
    struct gp_metrics *m = f->m;
    const struct gp_trace *t = f->t;
    uint32_t number = gp_get_set(&t->events[GP_METRIC], row);
    const struct gp_metric_set *set = &t->metric_sets.at[number];
    const double *v = gp_metric_values(t, row);
    struct gp_metrics_group *g = &m->groups.at[group];
    double time = time_of(f, row);
    bool timed = !isnan(time);
    size_t n = m->columns.n;
    g->measured++;
    if (timed) g->time_ns = (g->time_ns < 0 ? 0 : g->time_ns) + (int64_t)(time + 0.5);
    for (uint32_t i = 0; i < set->n; i++) {
        uint32_t c = f->column_of[set->first + i];
        if (c == UINT32_MAX || isnan(v[i])) continue;
        bool weighted = m->columns.at[c].reduce != GP_REDUCE_SUM && timed;
        add_value(&m->stats[group * n + c], &f->weights[group * n + c], v[i], weighted ? time : 1);
    }
}

static void begin_stats(struct find *f)
{
    size_t n = f->m->groups.n * f->m->columns.n;
    f->m->stats = gp_alloc((n + 1) * sizeof *f->m->stats);
    f->weights = gp_zalloc((n + 1) * sizeof *f->weights);
    for (size_t i = 0; i < n; i++) f->m->stats[i] = (struct gp_metrics_stat){0, 0, 0, INFINITY, -INFINITY};
}

static void end_stats(struct find *f)
{
    size_t columns = f->m->columns.n;
    for (size_t i = 0; i < f->m->groups.n * columns; i++) {
        struct gp_metrics_stat *s = &f->m->stats[i];
        bool sums = f->m->columns.at[i % columns].reduce == GP_REDUCE_SUM;
        if (!s->n) *s = (struct gp_metrics_stat){0, NAN, NAN, NAN, NAN};
        else s->mean /= f->weights[i];
        if (!sums) s->sum = NAN;
    }
    for (size_t g = 0; g < f->m->groups.n; g++) {
        struct gp_metrics_group *group = &f->m->groups.at[g];
        if (group->kernel) f->m->launches_measured += group->measured;
        if (group->time_ns < 0 && f->recorded_ns && group->count == group->measured)
            group->time_ns = f->recorded_ns[g];
        if (group->count < group->measured) group->count = group->measured; /* their records are missing */
    }
    if (f->m->launches < f->m->launches_measured) f->m->launches = f->m->launches_measured;
}

/* ---- launches one by one ---- */

/* What launches are sorted by: the metric that was asked for, or the time. NAN: unknown. */
static double sort_value(const struct find *f, size_t row)
{
    const struct gp_trace *t = f->t;
    uint32_t number = gp_get_set(&t->events[GP_METRIC], row);
    const struct gp_metric_set *set = &t->metric_sets.at[number];
    const double *v = gp_metric_values(t, row);
    if (!f->o->sort) return f->time_of[number] == UINT32_MAX ? NAN : v[f->time_of[number]];
    for (uint32_t i = 0; i < set->n; i++)
        if (is_asked_for(f->o->sort, gp_trace_str(t, t->metrics.at[set->first + i].name))) return v[i];
    return NAN;
}

struct place {
    double by;
    uint32_t at;
};

/* The largest first, then unknown ones, each in their order. */
GP_COMPARE(compare_places, struct place, GP_KEY(isnan(x->by), isnan(y->by)) GP_DOWN(by) GP_UP(at))

static void leave_out(struct gp_metrics *m, uint64_t count, uint64_t measured, int64_t time_ns)
{
    m->rest.rows++;
    m->rest.count += count;
    m->rest.measured += measured;
    if (time_ns > 0) m->rest.time_ns = gp_add_saturated(m->rest.time_ns, time_ns);
}

/* A group for each of the first launches instead of those of kernels. */
static void split_launches(struct find *f)
{
    const struct gp_events *e = &f->t->events[GP_METRIC];
    struct place *rows = gp_alloc((e->n + 1) * sizeof *rows);
    size_t n = 0;
    for (size_t row = 0; row < e->n; row++)
        if (f->m->group_of[row] != UINT32_MAX) rows[n++] = (struct place){sort_value(f, row), (uint32_t)row};
    qsort(rows, n, sizeof *rows, compare_places);
    size_t kept = f->o->top && f->o->top < n ? f->o->top : n;
    for (size_t i = kept; i < n; i++) {
        double ns = time_of(f, rows[i].at);
        leave_out(f->m, 1, 1, isnan(ns) ? -1 : (int64_t)(ns + 0.5));
    }
    f->m->launches_measured = n - kept; /* and those of the groups */
    f->m->groups.n = 0;
    for (size_t row = 0; row < e->n; row++) f->m->group_of[row] = UINT32_MAX;
    for (size_t i = 0; i < kept; i++) {
        const struct gp_config *config = config_of(f->t, rows[i].at);
        uint32_t g = add_group(f, config->name, config);
        f->m->group_of[rows[i].at] = g;
        f->m->groups.at[g].ordinal = gp_get_id(e, rows[i].at);
    }
    free(rows);
}

/* ---- order ---- */

static int find_sort_column(const struct gp_metrics *m, const char *sort, size_t *column, struct gp_err *err)
{
    for (*column = 0; *column < m->columns.n; ++*column)
        if (is_asked_for(sort, gp_metrics_str(m, m->columns.at[*column].name))) return 0;
    return gp_fail(err, GP_E_USAGE, -1, "--sort: no such metric in this answer: %s", sort);
}

/* Sort the groups, and cut all beyond the top. */
static int sort_groups(struct gp_metrics *m, const struct gp_metrics_opts *o, size_t rows, struct gp_err *err)
{
    size_t n = m->groups.n, columns = m->columns.n, by = 0;
    if (o->sort && find_sort_column(m, o->sort, &by, err)) return -1;
    struct place *places = gp_alloc((n + 1) * sizeof *places);
    struct gp_metrics_group *groups = gp_alloc((n + 1) * sizeof *groups);
    struct gp_metrics_stat *stats = gp_alloc((n * columns + 1) * sizeof *stats);
    for (size_t g = 0; g < n; g++)
        places[g] = (struct place){o->sort ? gp_metrics_usual(m, g, by) : (double)m->groups.at[g].time_ns,
                                   (uint32_t)g};
    qsort(places, n, sizeof *places, compare_places);
    for (size_t g = 0; g < n; g++) {
        groups[g] = m->groups.at[places[g].at];
        memcpy(&stats[g * columns], &m->stats[places[g].at * columns], columns * sizeof *stats);
    }
    if (n) memcpy(m->groups.at, groups, n * sizeof *groups);
    free(m->stats);
    m->stats = stats;
    for (size_t g = o->top; o->top && g < n; g++)
        leave_out(m, groups[g].count, groups[g].measured, groups[g].time_ns);
    if (o->top && n > o->top) m->groups.n = o->top;
    /* Group PLACES[G].at is now group G, or beyond the top. */
    uint32_t *to = gp_alloc((n + 1) * sizeof *to);
    for (size_t g = 0; g < n; g++) to[places[g].at] = g < m->groups.n ? (uint32_t)g : UINT32_MAX;
    for (size_t row = 0; row < rows; row++)
        if (m->group_of[row] != UINT32_MAX) m->group_of[row] = to[m->group_of[row]];
    free(to);
    free(groups);
    free(places);
    return 0;
}

static void read_counters(struct gp_metrics *m)
{
    double *v = gp_alloc((m->columns.n + 1) * sizeof *v);
    for (size_t g = 0; g < m->groups.n; g++) {
        struct gp_metrics_group *group = &m->groups.at[g];
        for (size_t i = 0; i < m->columns.n; i++) {
            bool whole = gp_metrics_stat(m, g, i)->n == group->measured;
            v[i] = whole || m->columns.at[i].reduce != GP_REDUCE_SUM ? gp_metrics_usual(m, g, i) : NAN;
        }
        gp_counters_read(&m->counters, v, &group->counted);
    }
    free(v);
}

/* Groups of one kernel have its name read once. */
static void name_groups(struct gp_metrics *m)
{
    struct gp_map seen = {0};
    for (uint32_t g = 0; g < m->groups.n; g++) {
        struct gp_metrics_group *group = &m->groups.at[g];
        const struct gp_metrics_group *first = &m->groups.at[*gp_map_put(&seen, group->name, g)];
        group->label = first->label;
        group->brief = first->brief;
        if (first != group) continue;
        group->label = group->brief = group->name;
        if (group->kernel) gp_kernel_names(&m->strings, group->name, &group->label, &group->brief);
    }
    gp_map_release(&seen);
}

int gp_metrics_of(struct gp_metrics *m, const struct gp_trace *t, const struct gp_metrics_opts *o,
                  struct gp_err *err)
{
    struct find f = {.m = m, .t = t, .o = o};
    memset(m, 0, sizeof *m);
    gp_intern(&m->strings, "", 0);
    gp_input_quality_read(&m->input, &m->strings, t);
    m->input.verdict = gp_intern_cstr(&m->strings, gp_trace_verdict(t));
    memcpy(m->input.issues, t->issues, sizeof m->input.issues);
    m->input.truncated = gp_trace_truncated(t);
    m->input.skipped = gp_trace_skipped(t);
    gp_stalls_of(&m->stalls, t, o->counters, &m->strings);
    int failed = find_columns(&f, err);
    if (!failed) {
        find_conditions(&f);
        find_groups(&f);
        count_launches(&f);
        if (o->per == GP_METRICS_PER_LAUNCH) split_launches(&f);
        begin_stats(&f);
        for (size_t row = 0; row < t->events[GP_METRIC].n; row++)
            if (m->group_of[row] != UINT32_MAX) add_row(&f, row, m->group_of[row]);
        end_stats(&f);
        const char **names = gp_alloc((m->columns.n + 1) * sizeof *names);
        for (size_t i = 0; i < m->columns.n; i++) names[i] = gp_metrics_str(m, m->columns.at[i].name);
        gp_counters_init(&m->counters, names, m->columns.n);
        free(names);
        failed = sort_groups(m, o, t->events[GP_METRIC].n, err);
        if (!failed) {
            name_groups(m);
            read_counters(m);
        }
    }
    gp_launch_keys_release(&f.keys);
    free(f.column_of);
    free(f.time_of);
    free(f.weights);
    free(f.recorded_ns);
    return failed;
}

void gp_metrics_release(struct gp_metrics *m)
{
    gp_stalls_release(&m->stalls);
    gp_strings_release(&m->strings);
    GP_VEC_FREE(&m->columns);
    GP_VEC_FREE(&m->groups);
    GP_VEC_FREE(&m->chips);
    GP_VEC_FREE(&m->losses);
    free(m->stats);
    free(m->group_of);
    memset(m, 0, sizeof *m);
}
