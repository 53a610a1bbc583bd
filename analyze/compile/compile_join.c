/* The log and the trace of one run: what compiling cost in steady steps, what breaks cost, what kernels
 * take. */
#include <stdlib.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "analyze/math/sums.h"
#include "formats/base/order.h"

/* ---- compile time inside steps ---- */

static void find_stalls(struct gp_compile *c, const struct gp_compile_trace *t)
{
    const struct gp_compile_log *log = c->log;
    if (!t->has_clock || !t->steps.n) return;
    struct gp_map stalled = {0}; /* compile ids */
    c->time.stall_ns = 0;
    GP_EACH(const struct gp_clog_span, s, log->spans) {
        int64_t begin, end, inside = 0;
        if (s->parent != GP_CLOG_NONE || __builtin_sub_overflow(s->begin_ns, t->to_unix_ns, &begin)) continue;
        end = gp_add_saturated(begin, s->dur_ns);
        for (size_t w = 0; w < t->steps.n; w++) {
            int64_t from = begin > t->steps.at[w].begin_ns ? begin : t->steps.at[w].begin_ns;
            int64_t to = end < t->steps.at[w].end_ns ? end : t->steps.at[w].end_ns;
            if (to > from) inside += to - from;
        }
        if (!inside) continue;
        c->time.stall_ns += inside;
        c->time.stalls++;
        if ((*gp_map_put(&stalled, s->compile_id, 0))++) continue;
        GP_EACH(struct gp_compile_recompile, k, c->recompiles) {
            for (uint32_t j = 0; j < k->n_ids; j++) k->stalls += c->ids.at[k->first_id + j] == s->compile_id;
        }
    }
    gp_map_release(&stalled);
}

/* ---- regions ---- */

static void count_calls(struct gp_compile *c, const struct gp_compile_trace *t)
{
    struct gp_map calls = {0};
    for (size_t k = 0; k < t->regions.n; k++)
        if (t->regions.at[k].steady) ++*gp_map_put(&calls, t->regions.at[k].compile_id, 0);
    for (size_t i = 0; i < c->frames.n && t->regions.n; i++) {
        const uint32_t *n = gp_map_get(&calls, c->frames.at[i].compile_id);
        c->frames.at[i].calls_per_step = n ? (double)*n / (double)t->steps.n : 0;
    }
    gp_map_release(&calls);
}

/* How long the GPU was busy between BEGIN and END. */
static int64_t busy_in(const struct gp_compile_trace *t, int64_t begin, int64_t end)
{
    int64_t sum = 0;
    GP_SEARCH(low, 0, t->busy.n, middle, t->busy.at[middle].end_ns <= begin);
    for (; low < t->busy.n && t->busy.at[low].begin_ns < end; low++) {
        int64_t from = t->busy.at[low].begin_ns > begin ? t->busy.at[low].begin_ns : begin;
        int64_t to = t->busy.at[low].end_ns < end ? t->busy.at[low].end_ns : end;
        sum += to - from;
    }
    return sum;
}

static bool breaks_in(const struct gp_compile *c, const struct gp_compile_break *b, gp_sid compile_id)
{
    for (uint32_t i = 0; i < b->n_ids; i++)
        if (c->ids.at[b->first_id + i] == compile_id) return true;
    return false;
}

/* Is that the compile of what follows the break? */
static bool resumes(const struct gp_compile *c, const struct gp_compile_break *b, gp_sid compile_id)
{
    GP_EACH(const struct gp_compile_frame, f, c->frames)
        if (f->compile_id == compile_id)
            return f->resumed_line == b->line && f->function == b->function && f->file == b->file;
    return false;
}

GP_COMPARE(by_track, struct gp_compile_region, GP_UP(track) GP_UP(begin_ns))

/* Where the graph before a break ends: the last call of a graph between BEGIN and END, or else BEGIN. */
static int64_t graph_end(const struct gp_compile_trace *t, uint32_t track, int64_t begin, int64_t end)
{
    size_t low = 0, high = t->calls.n;
    while (low < high) { /* calls are sorted as regions are */
        size_t middle = (low + high) / 2;
        const struct gp_compile_region *r = &t->calls.at[middle];
        if (r->track < track || (r->track == track && r->begin_ns < end)) low = middle + 1;
        else high = middle;
    }
    const struct gp_compile_region *last = low ? &t->calls.at[low - 1] : NULL;
    if (!last || last->track != track || last->end_ns < begin || last->end_ns > end) return begin;
    return last->end_ns;
}

/* GPU idle time between the graph before a break and the part of the function behind it, which lies in the
 * region of the whole. */
static void cost_of(const struct gp_compile *c, const struct gp_compile_trace *t, struct gp_compile_break *b)
{
    int64_t idle = 0;
    bool found = false;
    if (gp_input_quality_untimed(&t->input, 1)) return; /* it is not known when the GPU was idle */
    for (size_t i = 0; i < t->regions.n; i++) {
        const struct gp_compile_region *r = &t->regions.at[i];
        if (!r->steady || !breaks_in(c, b, r->compile_id)) continue;
        for (size_t k = i + 1; k < t->regions.n; k++) {
            const struct gp_compile_region *rest = &t->regions.at[k];
            if (rest->track != r->track || rest->begin_ns >= r->end_ns) break;
            if (!resumes(c, b, rest->compile_id)) continue;
            int64_t from = graph_end(t, r->track, r->begin_ns, rest->begin_ns);
            found = true;
            idle += rest->begin_ns - from - busy_in(t, from, rest->begin_ns);
            break;
        }
    }
    if (found) b->cost_ns = idle / (int64_t)t->steps.n;
}

/* ---- kernels ---- */

static const struct gp_compile_seen *seen_in(const struct gp_compile_seen *at, size_t n, gp_sid name)
{
    for (size_t i = 0; i < n; i++)
        if (at[i].name == name) return &at[i];
    return NULL;
}

static void find_kernels(struct gp_compile *c, const struct gp_compile_trace *t)
{
    const struct gp_compile_log *log = c->log;
    double steps = (double)t->steps.n;
    uint64_t all = 0;
    for (size_t i = 0; i < t->kernels.n; i++) all += t->kernels.at[i].count;
    c->fusion.triton_per_step = (double)all / steps;
    struct gp_map owners = {0};
    for (size_t i = 0; i < c->kernels.n; i++) ++*gp_map_put(&owners, log->kernels.at[i].name, 0);
    for (size_t i = 0; i < c->kernels.n; i++) {
        const struct gp_compile_seen *s = seen_in(t->kernels.at, t->kernels.n, log->kernels.at[i].name);
        if (*gp_map_get(&owners, log->kernels.at[i].name) != 1) continue;
        c->kernels.at[i].count = s ? (double)s->count / steps : 0;
        c->kernels.at[i].gpu_ns = s ? s->gpu_ns / (int64_t)t->steps.n : 0;
    }
    gp_map_release(&owners);
    for (size_t i = 0; i < c->graphs.n && t->graphs.n; i++) {
        const struct gp_compile_seen *s = seen_in(t->graphs.at, t->graphs.n, log->graphs.at[i].key);
        c->graphs.at[i].calls_per_step = s ? (double)s->count / steps : 0;
    }
}

/* ---- order ---- */

/* Breaks that cost most come first; then whole frames, then those of many compiles, then by place. What
 * another one causes comes behind it. gp_compile_advise() keeps this order. */
static int by_cost(const void *a, const void *b, const void *of)
{
    const struct gp_compile *c = of;
    const struct gp_compile_break *x = &c->breaks.at[*(const uint32_t *)a],
                                  *y = &c->breaks.at[*(const uint32_t *)b];
    GP_KEY(y->family == GP_FAMILY_RECOMPILES, x->family == GP_FAMILY_RECOMPILES);
    GP_KEY(gp_compile_in_vain(y), gp_compile_in_vain(x));
    GP_KEY(y->cost_ns > 0 ? y->cost_ns : 0, x->cost_ns > 0 ? x->cost_ns : 0);
    GP_DOWN(whole_frame);
    GP_DOWN(count);
    GP_THEN(strcmp(gp_compile_str(c, x->file), gp_compile_str(c, y->file)));
    GP_UP(line);
    return 0;
}

static void sort_breaks(struct gp_compile *c)
{
    size_t n = c->breaks.n, at = 0;
    if (!n) return;
    uint32_t *order = gp_alloc(n * sizeof *order);
    struct gp_compile_break *sorted = gp_alloc(n * sizeof *sorted);
    uint32_t *place = gp_alloc(n * sizeof *place);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    gp_sort_in(order, n, sizeof *order, by_cost, c);
    for (size_t i = 0; i < n; i++) {
        if (c->breaks.at[order[i]].caused_by != GP_CLOG_NONE) continue;
        place[order[i]] = (uint32_t)at;
        sorted[at++] = c->breaks.at[order[i]];
        for (uint32_t k = 0; k < n; k++) {
            if (c->breaks.at[k].caused_by != order[i]) continue;
            place[k] = (uint32_t)at;
            sorted[at++] = c->breaks.at[k];
        }
    }
    for (size_t i = 0; i < at; i++)
        if (sorted[i].caused_by != GP_CLOG_NONE) sorted[i].caused_by = place[sorted[i].caused_by];
    memcpy(c->breaks.at, sorted, at * sizeof *sorted);
    c->breaks.n = at;
    GP_RELEASE(free, order, sorted, place);
}

void gp_compile_join_trace(struct gp_compile *c)
{
    struct gp_compile_trace *t = NULL;
    for (size_t i = 0; i < c->traces.n && !t; i++)
        if (c->traces.at[i].role == GP_COMPILE_RUN) t = &c->traces.at[i];
    if (t && t->regions.n) qsort(t->regions.at, t->regions.n, sizeof *t->regions.at, by_track);
    if (t && t->calls.n) qsort(t->calls.at, t->calls.n, sizeof *t->calls.at, by_track);
    if (t && t->steps.n) {
        find_stalls(c, t);
        count_calls(c, t);
        for (size_t i = 0; i < c->breaks.n; i++)
            if (!c->breaks.at[i].whole_frame && c->breaks.at[i].line >= 0) cost_of(c, t, &c->breaks.at[i]);
        find_kernels(c, t);
    }
    sort_breaks(c);
}
