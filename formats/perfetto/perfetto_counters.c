/* Counters: those of the trace, allocated memory, and work that was launched and has not ended. */
#include <math.h>
#include <stdlib.h>
#include "formats/base/order.h"
#include "formats/perfetto/perfetto_priv.h"

static void put_count(struct gp_pf *w, int64_t at_ns, int64_t v)
{
    char *p = gp_pf_prepare(w, at_ns, 0);
    p = gp_put_field(p, GP_PF_TYPE, GP_PF_COUNT);
    gp_pf_event(w, at_ns, gp_put_field(p, GP_PF_COUNTER_VALUE, (uint64_t)v));
}

static void put_value(struct gp_pf *w, int64_t at_ns, double v)
{
    static const double most = 9e15;
    if (v == floor(v) && fabs(v) < most) {
        put_count(w, at_ns, (int64_t)v);
        return;
    }
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    char *p = gp_pf_prepare(w, at_ns, 0);
    p = gp_put_field(p, GP_PF_TYPE, GP_PF_COUNT);
    gp_pf_event(w, at_ns, gp_put_fixed64(p, GP_PF_DOUBLE_VALUE, bits));
}

/* ---- counters of the trace ---- */

static uint64_t series_key(const struct gp_trace *t, size_t row)
{
    const struct gp_events *e = &t->events[GP_COUNTER];
    uint64_t key[5] = {t->tracks.at[e->track[row]].process, e->name[row], gp_get_series(e, row),
                       gp_get_id(e, row), gp_get_id_text(e, row)};
    return gp_hash_place(key, sizeof key, gp_hash_seed());
}

static void put_series(struct gp_pf *w, const uint32_t *rows, size_t n)
{
    const struct gp_events *e = &w->t->events[GP_COUNTER];
    struct gp_buf name = {0};
    gp_buf_puts(&name, gp_trace_str(w->t, e->name[rows[0]]));
    const char *series = gp_trace_str(w->t, gp_get_series(e, rows[0]));
    if (*series) gp_buf_printf(&name, ": %s", series);
    uint64_t uuid =
        gp_pf_counter(w, w->t->tracks.at[e->track[rows[0]]].process, gp_buf_str(&name), name.n, false);
    gp_pf_begin(w, uuid, e->start_ns[rows[0]]);
    for (size_t i = 0; i < n; i++) put_value(w, e->start_ns[rows[i]], gp_get_value(e, rows[i]));
    gp_buf_release(&name);
}

static void put_recorded(struct gp_pf *w)
{
    const struct gp_events *e = &w->t->events[GP_COUNTER];
    struct gp_map at = {0};
    uint32_t *series = gp_alloc((e->n + 1) * sizeof *series), *rows = gp_alloc((e->n + 1) * sizeof *rows),
             n = 0;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t *known = gp_map_put(&at, series_key(w->t, i), n);
        n += *known == n;
        series[i] = *known;
    }
    uint32_t *first = gp_zalloc(((size_t)n + 2) * sizeof *first);
    for (size_t i = 0; i < e->n; i++) first[series[i] + 2]++;
    for (uint32_t k = 2; k < n + 2; k++) first[k] += first[k - 1];
    for (size_t i = 0; i < e->n; i++) rows[first[series[i] + 1]++] = (uint32_t)i;
    for (uint32_t k = 0; k < n; k++) put_series(w, rows + first[k], first[k + 1] - first[k]);
    gp_map_release(&at);
    GP_RELEASE(free, series, rows, first);
}

/* ---- memory ---- */

static void put_memory(struct gp_pf *w, uint32_t process)
{
    static const char name[] = "allocated memory";
    const struct gp_events *e = &w->t->events[GP_MEMORY];
    bool begun = false;
    int64_t sum = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (w->t->tracks.at[e->track[i]].process != process) continue;
        if (!begun) gp_pf_begin(w, gp_pf_counter(w, process, name, sizeof name - 1, true), e->start_ns[i]);
        begun = true;
        sum = (int64_t)((uint64_t)sum + (uint64_t)gp_get_bytes(e, i));
        put_count(w, e->start_ns[i], e->total ? e->total[i] : sum);
    }
}

/* ---- the queue ---- */

struct times {
    GP_VEC(int64_t) at;
};

/* Times of one stream come in order. */
static void sort(struct times *t)
{
    size_t i = 1;
    while (i < t->at.n && t->at.at[i - 1] <= t->at.at[i]) i++;
    if (i < t->at.n) qsort(t->at.at, t->at.n, sizeof *t->at.at, gp_order_i64);
}

/* When work of PROCESS was launched, and when it ended. */
static void find_times(const struct gp_pf *w, uint32_t process, struct times *begun, struct times *ended)
{
    const struct gp_events *gpu = &w->t->events[GP_GPU], *api = &w->t->events[GP_API];
    for (size_t i = 0; i < gpu->n; i++) {
        if (w->launch_of[i] == GP_PF_NONE || w->t->tracks.at[gpu->track[i]].process != process) continue;
        int64_t end = gpu->start_ns[i] + gpu->dur_ns[i], launch = api->start_ns[w->launch_of[i]];
        GP_VEC_PUSH(&begun->at, launch < end ? launch : end);
        GP_VEC_PUSH(&ended->at, end);
    }
    sort(begun);
    sort(ended);
}

/* How many GPU events of a process are launched and not over, at most every 10 us. */
static void put_queue(struct gp_pf *w, uint32_t process)
{
    enum { STEP_NS = 10000 };
    static const char name[] = "GPU queue";
    struct times begun = {{0}}, ended = {{0}};
    find_times(w, process, &begun, &ended);
    size_t n = ended.at.n, b = 0, e = 0;
    int64_t written_ns = INT64_MIN / 2;
    if (n) gp_pf_begin(w, gp_pf_counter(w, process, name, sizeof name - 1, false), begun.at.at[0]);
    while (e < n) {
        int64_t at_ns = b < n && begun.at.at[b] < ended.at.at[e] ? begun.at.at[b] : ended.at.at[e];
        while (b < n && begun.at.at[b] == at_ns) b++;
        while (e < n && ended.at.at[e] == at_ns) e++;
        if (e < n && at_ns - written_ns < STEP_NS) continue;
        put_count(w, at_ns, (int64_t)(b - e));
        written_ns = at_ns;
    }
    GP_VEC_FREE(&begun.at);
    GP_VEC_FREE(&ended.at);
}

void gp_pf_counters(struct gp_pf *w)
{
    put_recorded(w);
    for (uint32_t i = 0; i < w->t->processes.n; i++) {
        put_memory(w, i);
        if (w->launch_of) put_queue(w, i);
    }
}
