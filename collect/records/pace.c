#include "collect/records/pace.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/order.h"
#include "formats/model/step_name.h"

enum {
    MARKERS_MOST = 256,
    NUMBERED_ONLY = 3, /* ranks from here on do not suggest a step */
    LEAST = 3,         /* steps that are a pace */
    PACES_MOST = 1 << 16,
    MANY = 20, /* steps that are more than warm-up, if they took ENOUGH_NS */
    FEW = 8,   /* the same, if they took LONG_NS */
};
static const int64_t ENOUGH_NS = 1000000000, LONG_NS = 10000000000;

static struct gp_pace_marker *marker_of(struct gp_pace_markers *m, int64_t tid, const char *name)
{
    struct {
        int64_t tid;
        char base[GP_STEP_BASE];
    } key = {.tid = tid};
    size_t base, n = strlen(name);
    uint64_t number;
    int rank = gp_step_name_rank(name, n, &base, &number);
    bool numbered = number != GP_NO_ID;
    if (rank >= NUMBERED_ONLY) return NULL;
    n = gp_step_name_base(key.base, name, base, numbered);
    gp_sid sid = gp_intern(&m->names, (const char *)&key, sizeof key.tid + n);
    uint32_t at = *gp_map_put(&m->of_name, sid, (uint32_t)m->list.n);
    if (at == m->list.n && at < MARKERS_MOST)
        GP_VEC_PUSH(&m->list,
                    (struct gp_pace_marker){.rank = numbered || !rank ? rank : rank + NUMBERED_ONLY});
    return at < m->list.n ? &m->list.at[at] : NULL;
}

bool gp_pace_begins(struct gp_pace_markers *m, int64_t tid, const char *name, int64_t ns, uint64_t gap)
{
    struct gp_pace_marker *k = marker_of(m, tid, name);
    if (!k) return false;
    if (k->last_ns && k->last_gap == gap && ns > k->last_ns) {
        struct gp_pace_steps *s = gap ? &k->after : &k->before;
        size_t at = s->n++ % GP_PACE_KEPT;
        s->start_ns[at] = k->last_ns;
        s->dur_ns[at] = ns - k->last_ns;
        k->sum_ns += ns - k->last_ns < INT64_MAX - k->sum_ns ? ns - k->last_ns : 0;
    }
    k->last_ns = ns;
    k->last_gap = gap;
    return true;
}

static bool is_better(const struct gp_pace_marker *a, const struct gp_pace_marker *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->sum_ns > b->sum_ns;
}

static uint32_t choose(const struct gp_pace_markers *m)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < m->list.n; i++) {
        const struct gp_pace_marker *k = &m->list.at[i];
        if (k->before.n + k->after.n < LEAST) continue;
        if (!best || is_better(k, &m->list.at[best - 1])) best = i + 1;
    }
    return best;
}

/* Those that are kept, without the first LEFT_OUT of them, in their order. */
static void put(struct gp_pace_steps *s, uint64_t left_out, struct gp_trace *t, uint32_t process,
                int64_t entered_ns)
{
    uint64_t kept = s->n < GP_PACE_KEPT ? s->n : GP_PACE_KEPT;
    for (uint64_t i = s->n - kept + left_out; i < s->n && t->paces.n < PACES_MOST; i++) {
        int64_t start_ns = s->start_ns[i % GP_PACE_KEPT], dur_ns = s->dur_ns[i % GP_PACE_KEPT];
        bool bare = start_ns + dur_ns <= entered_ns;
        GP_VEC_PUSH(&t->paces,
                    ((struct gp_pace){start_ns, dur_ns, bare ? GP_PACE_BARE : GP_PACE_PAUSE, process}));
    }
    s->n = 0;
}

void gp_pace_put(struct gp_pace_markers *m, struct gp_trace *t, uint32_t process, int64_t entered_ns)
{
    if (!m->chosen) m->chosen = choose(m);
    if (!m->chosen) return;
    struct gp_pace_marker *k = &m->list.at[m->chosen - 1];
    uint64_t kept = k->before.n < GP_PACE_KEPT ? k->before.n : GP_PACE_KEPT;
    put(&k->before, kept < 2 * LEAST ? kept : kept / 2, t, process, entered_ns);
    put(&k->after, 0, t, process, entered_ns);
}

bool gp_pace_settled(const struct gp_pace_markers *m)
{
    uint32_t best = choose(m);
    const struct gp_pace_marker *k = best ? &m->list.at[best - 1] : NULL;
    return k &&
           ((k->before.n >= MANY && k->sum_ns >= ENOUGH_NS) || (k->before.n >= FEW && k->sum_ns >= LONG_NS));
}

/* The median of those that are kept, with or without the LATEST; 0 if there are fewer than FEW. */
static int64_t median(const struct gp_pace_steps *s, bool latest)
{
    int64_t sorted[GP_PACE_KEPT];
    size_t n = 0;
    for (uint64_t i = 0; i < GP_PACE_KEPT && i < s->n; i++)
        if (latest || i != (s->n - 1) % GP_PACE_KEPT) sorted[n++] = s->dur_ns[i];
    qsort(sorted, n, sizeof *sorted, gp_order_i64);
    return n >= FEW ? sorted[n / 2] : 0;
}

static const struct gp_pace_steps *steps_of(const struct gp_pace_markers *m, bool after)
{
    static const struct gp_pace_steps none;
    uint32_t best = choose(m);
    const struct gp_pace_marker *k = best ? &m->list.at[best - 1] : NULL;
    return !k ? &none : after ? &k->after : &k->before;
}

int64_t gp_pace_median(const struct gp_pace_markers *m, bool after)
{
    return median(steps_of(m, after), true);
}

int64_t gp_pace_mean(const struct gp_pace_markers *m, bool after)
{
    const struct gp_pace_steps *s = steps_of(m, after);
    int64_t most_ns = 2 * median(s, true), n = 0;
    double sum_ns = 0;
    for (; n < GP_PACE_KEPT && (uint64_t)n < s->n; n++)
        sum_ns += (double)(s->dur_ns[n] < most_ns ? s->dur_ns[n] : most_ns);
    return n ? (int64_t)(sum_ns / (double)n) : 0;
}

bool gp_pace_look(const struct gp_pace_markers *m, bool runs, struct gp_pace_view *view)
{
    uint32_t best = choose(m);
    const struct gp_pace_marker *k = best ? &m->list.at[best - 1] : NULL;
    if (!k || !k->before.n) return false;
    uint64_t last = (k->before.n - 1) % GP_PACE_KEPT;
    *view = (struct gp_pace_view){.median_ns = median(&k->before, runs),
                                  .start_ns = runs ? k->last_ns : k->before.start_ns[last],
                                  .dur_ns = runs ? 0 : k->before.dur_ns[last]};
    return view->median_ns > 0;
}

void gp_pace_release(struct gp_pace_markers *m)
{
    gp_strings_release(&m->names);
    gp_map_release(&m->of_name);
    GP_VEC_FREE(&m->list);
}
