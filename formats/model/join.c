#include "formats/model/join.h"

#include <stdlib.h>
#include <string.h>
#include "formats/model/metric.h"

/* Appends FROM to TO. Everything that one refers to by index or sid is found in the other through a table. */
struct joint {
    struct gp_trace *to;
    const struct gp_trace *from;
    int64_t later_ns;
    uint32_t producer; /* the first one of FROM */
    gp_sid *sids;      /* 0: not looked up yet */
    uint32_t *processes, *tracks, *configs;
    uint32_t stacks, symbols; /* added to the number of a stack, of a symbol */
};

static gp_sid sid_of(struct joint *j, gp_sid sid)
{
    if (!sid) return 0;
    if (!j->sids[sid]) j->sids[sid] = gp_intern_from(&j->to->strings, &j->from->strings, sid);
    return j->sids[sid];
}

static int64_t later(int64_t at_ns, int64_t by_ns)
{
    int64_t sum; /* on overflow out of range, and removed by gp_trace_sort */
    return __builtin_add_overflow(at_ns, by_ns, &sum) ? (by_ns < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* ---- small arrays ---- */

static uint32_t first_free_producer(const struct gp_trace *t)
{
    uint32_t next = 0;
    for (size_t i = 0; i < t->processes.n; i++)
        if (t->processes.at[i].producer >= next) next = t->processes.at[i].producer + 1;
    for (size_t i = 0; i < t->devices.n; i++)
        if (t->devices.at[i].producer >= next) next = t->devices.at[i].producer + 1;
    for (size_t i = 0; i < t->clocks.n; i++)
        if (t->clocks.at[i].producer >= next) next = t->clocks.at[i].producer + 1;
    return next;
}

static void join_processes(struct joint *j)
{
    for (size_t i = 0; i < j->from->processes.n; i++) {
        struct gp_process p = j->from->processes.at[i];
        p.producer += j->producer;
        p.pid_text = sid_of(j, p.pid_text);
        p.name = sid_of(j, p.name);
        p.labels = sid_of(j, p.labels);
        if (p.rank < 0) p.rank = j->from->rank;
        j->processes[i] = gp_trace_process(j->to, &p);
    }
}

static void join_facts(struct joint *j)
{
    const struct gp_trace *from = j->from;
    struct gp_trace *to = j->to;
    for (size_t i = 0; i < from->devices.n; i++) {
        struct gp_device d = from->devices.at[i];
        d.producer += j->producer;
        d.name = sid_of(j, d.name);
        d.extra = sid_of(j, d.extra);
        GP_VEC_PUSH(&to->devices, d);
    }
    for (size_t i = 0; i < from->clocks.n; i++) {
        struct gp_clock c = from->clocks.at[i];
        c.producer += j->producer;
        c.trace_ns = later(c.trace_ns, j->later_ns);
        GP_VEC_PUSH(&to->clocks, c);
    }
    for (size_t i = 0; i < from->losses.n; i++) {
        struct gp_loss l = from->losses.at[i];
        l.what = sid_of(j, l.what);
        l.reason = sid_of(j, l.reason);
        if (l.process != UINT32_MAX) l.process = j->processes[l.process];
        GP_VEC_PUSH(&to->losses, l);
    }
    for (size_t i = 0; i < from->paces.n; i++) {
        struct gp_pace p = from->paces.at[i];
        p.start_ns = later(p.start_ns, j->later_ns);
        p.process = j->processes[p.process];
        GP_VEC_PUSH(&to->paces, p);
    }
    for (size_t i = 0; i < from->meta.n; i++) {
        const char *key = gp_trace_str(from, from->meta.at[i].key);
        gp_sid value = from->meta.at[i].value;
        if (!gp_trace_get_meta(to, key))
            gp_trace_set_meta(to, key, gp_trace_str(from, value), gp_string_len(&from->strings, value));
    }
    for (int i = 0; i < GP_ISSUE_COUNT; i++) /* an offset would be one in another file */
        gp_trace_issue(to, (enum gp_issue_kind)i, from->issues[i].count, -1);
}

/* Entry 0 is none in both. */
static void join_stacks(struct joint *j)
{
    struct gp_trace *to = j->to;
    if (j->from->symbols.n && !to->symbols.n) GP_VEC_PUSH(&to->symbols, (struct gp_symbol){0});
    j->symbols = to->symbols.n ? (uint32_t)to->symbols.n - 1 : 0;
    for (size_t i = 1; i < j->from->symbols.n; i++) {
        struct gp_symbol s = j->from->symbols.at[i];
        s.module = sid_of(j, s.module);
        s.name = sid_of(j, s.name);
        s.file = sid_of(j, s.file);
        if (s.caller) s.caller += j->symbols;
        GP_VEC_PUSH(&to->symbols, s);
    }
    if (j->from->stacks.n && !to->stacks.n) GP_VEC_PUSH(&to->stacks, (struct gp_stack){0});
    j->stacks = to->stacks.n ? (uint32_t)to->stacks.n - 1 : 0;
    for (size_t i = 1; i < j->from->stacks.n; i++) {
        struct gp_stack s = j->from->stacks.at[i];
        s.name = sid_of(j, s.name);
        s.file = sid_of(j, s.file);
        if (s.parent) s.parent += j->stacks;
        if (s.symbol) s.symbol += j->symbols;
        GP_VEC_PUSH(&to->stacks, s);
    }
}

/* ---- events ---- */

static void append_column(struct gp_events *to, const struct gp_events *from, enum gp_column col)
{
    const struct gp_column_info *info = &gp_column_infos[col];
    const void *cells = gp_events_column(from, col);
    if (!cells && !gp_events_column(to, col)) return;
    gp_events_materialise(to, col);
    char *at = (char *)gp_events_column(to, col) + to->n * info->width;
    if (cells) memcpy(at, cells, from->n * info->width);
    else memset(at, info->dflt ? 0xff : 0, from->n * info->width); /* as defaults are */
}

/* Rows of counters from FIRST on: their values, and the sets that describe these. */
static void join_values(struct joint *j, struct gp_events *to, size_t first)
{
    const struct gp_trace *from = j->from;
    uint64_t at = j->to->metric_values.n;
    uint32_t *sets = gp_alloc((from->metric_sets.n + 1) * sizeof *sets);
    for (size_t s = 0; s < from->metric_sets.n; s++) {
        const struct gp_metric_set *set = &from->metric_sets.at[s];
        struct gp_metric metrics[GP_METRICS_MOST];
        for (uint32_t i = 0; i < set->n; i++) {
            metrics[i] = from->metrics.at[set->first + i];
            metrics[i].name = sid_of(j, metrics[i].name);
            metrics[i].unit = sid_of(j, metrics[i].unit);
            metrics[i].chip = sid_of(j, metrics[i].chip);
        }
        sets[s] = gp_trace_metric_set(j->to, metrics, set->n);
    }
    for (size_t i = 0; i < from->metric_values.n; i++)
        GP_VEC_PUSH(&j->to->metric_values, from->metric_values.at[i]);
    for (size_t i = first; i < to->n; i++) {
        gp_set_set(to, i, sets[gp_get_set(&from->events[GP_METRIC], i - first)]);
        gp_set_values(to, i, at + gp_get_values(&from->events[GP_METRIC], i - first));
    }
    free(sets);
}

static void join_events(struct joint *j, enum gp_table table)
{
    const struct gp_events *from = &j->from->events[table];
    struct gp_events *to = &j->to->events[table];
    size_t first = to->n;
    if (!from->n) return;
    gp_events_reserve(to, first + from->n);
    for (int col = 0; col < GP_COLUMN_COUNT; col++) append_column(to, from, (enum gp_column)col);
    to->n += from->n;
    for (size_t i = first; i < to->n; i++) {
        to->start_ns[i] = later(to->start_ns[i], j->later_ns);
        to->track[i] = j->tracks[to->track[i]];
    }
    for (size_t i = first; (table == GP_GPU || table == GP_METRIC) && i < to->n; i++)
        gp_set_config(to, i,
                      from->config || table == GP_GPU ? j->configs[gp_get_config(from, i - first)] : 0);
    for (size_t i = first; table == GP_SAMPLE && i < to->n; i++)
        if (gp_sample_stack(from, i - first)) gp_set_id(to, i, gp_sample_stack(from, i - first) + j->stacks);
    for (size_t i = first; from->stack && i < to->n; i++)
        if (to->stack[i]) to->stack[i] += j->stacks;
    for (size_t i = first; from->waiter && i < to->n; i++)
        if (to->waiter[i] != UINT32_MAX) to->waiter[i] = j->tracks[to->waiter[i]];
    /* Which of the further columns hold a sid. */
    gp_sid *const columns[] = {to->name, to->cat, to->id_text, to->series, to->extra, to->captured};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        for (size_t i = first; columns[c] && i < to->n; i++) columns[c][i] = sid_of(j, columns[c][i]);
    if (table == GP_METRIC) join_values(j, to, first);
}

static void append(struct gp_trace *to, const struct gp_trace *from, int64_t later_ns)
{
    struct joint j = {.to = to, .from = from, .later_ns = later_ns, .producer = first_free_producer(to)};
    j.sids = gp_zalloc((from->strings.n + 1) * sizeof *j.sids);
    j.processes = gp_alloc((from->processes.n + 1) * sizeof *j.processes);
    j.tracks = gp_alloc((from->tracks.n + 1) * sizeof *j.tracks);
    j.configs = gp_alloc((from->configs.n + 1) * sizeof *j.configs);
    join_processes(&j);
    for (size_t i = 0; i < j.from->tracks.n; i++) {
        struct gp_track k = j.from->tracks.at[i];
        k.process = j.processes[k.process];
        k.tid_text = sid_of(&j, k.tid_text);
        k.name = sid_of(&j, k.name);
        j.tracks[i] = gp_trace_track(j.to, &k);
    }
    for (size_t i = 0; i < j.from->configs.n; i++) {
        struct gp_config c = j.from->configs.at[i];
        c.name = sid_of(&j, c.name);
        c.cat = sid_of(&j, c.cat);
        c.extra = sid_of(&j, c.extra);
        j.configs[i] = gp_trace_config(j.to, &c);
    }
    join_facts(&j);
    join_stacks(&j);
    for (int i = 0; i < GP_TABLE_COUNT; i++) join_events(&j, (enum gp_table)i);
    if (from->world_size > to->world_size) to->world_size = from->world_size;
    to->input.events += from->input.events;
    to->input.bytes += from->input.bytes;
    GP_RELEASE(free, j.sids, j.processes, j.tracks, j.configs);
}

/* ---- all ---- */

static bool have_one_rank(const struct gp_trace *parts, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (parts[i].rank != parts[0].rank) return false;
    return true;
}

/* The first part as the trace that the others are appended to: its rank is a fact about its processes from
 * now on. */
static void begin(struct gp_trace *t, bool one_rank, int64_t later_ns)
{
    for (size_t i = 0; i < t->processes.n; i++)
        if (t->processes.at[i].rank < 0) t->processes.at[i].rank = t->rank;
    if (!one_rank) t->rank = -1;
    for (int k = 0; k < GP_TABLE_COUNT && later_ns; k++)
        for (size_t i = 0; i < t->events[k].n; i++)
            t->events[k].start_ns[i] = later(t->events[k].start_ns[i], later_ns);
    for (size_t i = 0; i < t->clocks.n; i++)
        t->clocks.at[i].trace_ns = later(t->clocks.at[i].trace_ns, later_ns);
    for (size_t i = 0; i < t->paces.n; i++)
        t->paces.at[i].start_ns = later(t->paces.at[i].start_ns, later_ns);
}

/* What the first part has of its own rank is not about the whole. */
static void drop_meta(struct gp_trace *t, const char *key)
{
    size_t n = 0;
    for (size_t i = 0; i < t->meta.n; i++)
        if (strcmp(gp_trace_str(t, t->meta.at[i].key), key) != 0) t->meta.at[n++] = t->meta.at[i];
    t->meta.n = n;
}

void gp_trace_join(struct gp_trace *t, struct gp_trace *parts, size_t n, const int64_t *later_ns)
{
    bool one_rank = have_one_rank(parts, n);
    *t = parts[0];
    begin(t, one_rank, later_ns[0]);
    for (size_t i = 1; i < n; i++) {
        append(t, &parts[i], later_ns[i]);
        gp_trace_release(&parts[i]);
    }
    if (!one_rank) drop_meta(t, "distributedInfo");
    memset(parts, 0, sizeof *parts);
    gp_trace_sort(t);
}
