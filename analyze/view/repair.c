#include "analyze/view/repair.h"

/* Finds impossible times, from the order of work on a stream and from launches. README.md has the rules; they
 * would rather miss a damaged event than flag a sound one. */
#include <stdlib.h>
#include <string.h>
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/vec.h"

/* No real event is farther than this from everything else, or from its own launch. */
static const int64_t FAR_NS = INT64_C(1000000000000); /* 1000 s */
/* Reaching this far into the next event of the stream is not a rounding error. */
static const int64_t OVERRUN_NS = 1000000;
/* ... and this many times the time until that one began. */
enum { OVERRUN_FACTOR = 100 };
/* For streams whose events may overlap: this many times the median of the same name, over at least this
 * many. */
enum { NAME_FACTOR = 1000, NAME_LEAST = 5 };

enum { KEEP, BAD_TIME, BAD_DURATION }; /* verdict for a row */

struct repair {
    struct gp_trace *t;
    struct gp_events *gpu;
    uint8_t *found;   /* by row */
    int64_t *clip_ns; /* by row with BAD_DURATION: where it must have ended. NULL until one is found */
    struct gp_issue times, durations;
};

static void count(const struct repair *r, struct gp_issue *q, size_t row)
{
    int64_t at = r->gpu->place && r->gpu->place[row] != GP_NO_ID ? (int64_t)r->gpu->place[row] : -1;
    if (q->count++ == 0 || at < q->first_offset) q->first_offset = at;
}

static void find(struct repair *r, size_t row, uint8_t what)
{
    if (r->found[row] != KEEP) return;
    r->found[row] = what;
    count(r, what == BAD_TIME ? &r->times : &r->durations, row);
}

/* ---- starts ---- */

/* The first call with that correlation id; UINT32_MAX if there is none. Processes may share ids: a start near
 * the call of one of them is enough to accept it. */
struct calls {
    const struct gp_events *api;
    struct gp_map by_corr;
    bool ready;
};

static uint32_t call_of(struct calls *c, uint64_t corr)
{
    if (!c->api->corr || !corr || corr == GP_NO_ID) return UINT32_MAX;
    for (uint32_t i = 0; !c->ready && i < c->api->n; i++) gp_map_put(&c->by_corr, c->api->corr[i], i);
    c->ready = true;
    const uint32_t *row = gp_map_get(&c->by_corr, corr);
    return row ? *row : UINT32_MAX;
}

static bool is_far(int64_t a, int64_t b) { return (a > b ? a - b : b - a) > FAR_NS; }

/* Events far from the middle of all: their launch decides; where none is known, whether nearly all others are
 * far. */
static void find_far_starts(struct repair *r, struct calls *calls)
{
    const struct gp_events *gpu = r->gpu;
    size_t n = gpu->n, edge = n / 100;
    if (n < 2 || !is_far(gpu->start_ns[0], gpu->start_ns[n - 1])) return;
    int64_t middle = gpu->start_ns[n / 2];
    int64_t low = edge ? gpu->start_ns[edge] : middle, high = edge ? gpu->start_ns[n - 1 - edge] : middle;
    for (size_t i = 0; i < n; i++) {
        int64_t start = gpu->start_ns[i];
        if (!is_far(start, middle)) continue;
        uint32_t call = call_of(calls, gp_get_corr(gpu, i));
        bool bad = call != UINT32_MAX ? is_far(start, calls->api->start_ns[call])
                                      : n > 2 && ((start < low && is_far(start, low)) ||
                                                  (start > high && is_far(start, high)));
        if (bad) find(r, i, BAD_TIME);
    }
}

/* The correlation id of the first event of each track after row FROM; GP_NO_ID if there is none. */
static uint64_t *first_ids(const struct repair *r, size_t from)
{
    const struct gp_events *gpu = r->gpu;
    uint64_t *ids = gp_alloc_ones((r->t->tracks.n + 1) * sizeof *ids);
    for (size_t i = gpu->n; i-- > from;) ids[gpu->track[i]] = gp_get_corr(gpu, i);
    return ids;
}

/* Recorders write a start of exactly 0 if there is none, unless the trace begins there. It does not begin
 * there if the event was launched later, or follows an event on its stream that had to run first. */
static void find_zero_starts(struct repair *r, struct calls *calls)
{
    const struct gp_events *gpu = r->gpu;
    size_t first = 0, end;
    while (first < gpu->n && gpu->start_ns[first] < 0) first++;
    for (end = first; end < gpu->n && gpu->start_ns[end] == 0;) end++;
    if (first == end) return;
    uint64_t *later = first_ids(r, end);
    for (size_t i = first; i < end; i++) {
        uint64_t corr = gp_get_corr(gpu, i), next = later[gpu->track[i]];
        uint32_t call = call_of(calls, corr);
        bool overtakes = corr && corr != GP_NO_ID && next && next < corr;
        if (overtakes || (call != UINT32_MAX && calls->api->start_ns[call] > 0)) find(r, i, BAD_TIME);
    }
    free(later);
}

/* ---- durations ---- */

/* The next event of a track, while rows are looked at from the last one to the first. */
struct next {
    int64_t start_ns, end_ns; /* the end as mended */
    bool any;
};

struct track_use {
    struct next next;
    size_t events, inside; /* events that the one before them encloses */
};

static bool overruns(int64_t start, int64_t end, const struct next *next)
{
    if (!next->any || next->end_ns >= end) return false;
    int64_t reach = end - next->start_ns, wait = next->start_ns - start;
    return reach >= OVERRUN_NS && reach / OVERRUN_FACTOR >= wait;
}

static void count_enclosed(const struct repair *r, struct track_use *use)
{
    const struct gp_events *gpu = r->gpu;
    for (size_t i = gpu->n; i-- > 0;) {
        struct track_use *u = &use[gpu->track[i]];
        int64_t end = gpu->start_ns[i] + gpu->dur_ns[i];
        u->events++;
        u->inside += u->next.any && u->next.end_ns < end;
        u->next = (struct next){gpu->start_ns[i], end, true};
    }
    for (size_t i = 0; i < r->t->tracks.n; i++) use[i].next.any = false;
}

/* The order of a row that merges several streams, or the branches of a graph, shows nothing. */
static bool keeps_order(const struct repair *r, const struct track_use *u, size_t row)
{
    return u->inside <= 1 + u->events / 100 && gp_get_graph(r->gpu, row) == GP_NO_ID;
}

/* The median duration of the events with that name; -1 for too few. KNOWN: name -> index into medians. */
struct medians {
    struct gp_map known;
    GP_VEC(int64_t) at;
};

static int64_t median_of(struct medians *m, const struct gp_events *gpu, gp_sid name)
{
    uint32_t *known = gp_map_put(&m->known, name, UINT32_MAX);
    if (*known != UINT32_MAX) return m->at.at[*known];
    GP_VEC(int64_t) dur = {0};
    for (size_t i = 0; i < gpu->n; i++)
        if (gpu->name[i] == name) GP_VEC_PUSH(&dur, gpu->dur_ns[i]);
    qsort(dur.at, dur.n, sizeof *dur.at, gp_order_i64);
    *known = (uint32_t)m->at.n;
    int64_t median = dur.n < NAME_LEAST ? -1 : dur.at[dur.n / 2];
    GP_VEC_PUSH(&m->at, median);
    GP_VEC_FREE(&dur);
    return median;
}

static bool is_extreme(struct medians *m, const struct gp_events *gpu, size_t row)
{
    int64_t median = median_of(m, gpu, gpu->name[row]);
    return median >= 0 && gpu->dur_ns[row] / NAME_FACTOR > median;
}

static void find_durations(struct repair *r)
{
    const struct gp_events *gpu = r->gpu;
    struct track_use *use = gp_zalloc((r->t->tracks.n + 1) * sizeof *use);
    struct medians medians = {0};
    count_enclosed(r, use);
    for (size_t i = gpu->n; i-- > 0;) {
        if (r->found[i] == BAD_TIME) continue;
        struct track_use *u = &use[gpu->track[i]];
        int64_t start = gpu->start_ns[i], end = start + gpu->dur_ns[i];
        if (overruns(start, end, &u->next) && (keeps_order(r, u, i) || is_extreme(&medians, gpu, i))) {
            find(r, i, BAD_DURATION);
            if (!r->clip_ns) r->clip_ns = gp_zalloc(gpu->n * sizeof *r->clip_ns);
            end = r->clip_ns[i] = u->next.start_ns;
        }
        u->next = (struct next){start, end, true};
    }
    gp_map_release(&medians.known);
    GP_VEC_FREE(&medians.at);
    free(use);
}

/* ---- mending ---- */

static void mend(struct repair *r, enum gp_repair repair)
{
    struct gp_events *gpu = r->gpu;
    for (size_t i = 0; i < gpu->n; i++) {
        if (r->found[i] == BAD_DURATION && repair == GP_REPAIR_CLIP) {
            gpu->dur_ns[i] = r->clip_ns[i] - gpu->start_ns[i];
            r->found[i] = KEEP;
        }
        r->found[i] = r->found[i] == KEEP; /* as gp_events_keep expects */
    }
    gp_events_keep(gpu, r->found);
    gp_events_sort(gpu); /* shorter events may come later among those that start together */
}

void gp_repair(struct gp_trace *t, enum gp_repair repair)
{
    struct repair r = {.t = t, .gpu = &t->events[GP_GPU]};
    struct calls calls = {.api = &t->events[GP_API]};
    r.found = gp_zalloc(r.gpu->n + 1);
    find_far_starts(&r, &calls);
    find_zero_starts(&r, &calls);
    find_durations(&r);
    gp_trace_issue(t, GP_Q_OUTLIER_TIME, r.times.count, r.times.first_offset);
    gp_trace_issue(t, GP_Q_OUTLIER_DURATION, r.durations.count, r.durations.first_offset);
    if (repair != GP_REPAIR_NONE && r.times.count + r.durations.count) mend(&r, repair);
    gp_map_release(&calls.by_corr);
    free(r.clip_ns);
    free(r.found);
}

enum gp_repair gp_repair_called(const char *word)
{
    return !strcmp(word, "clip") ? GP_REPAIR_CLIP : !strcmp(word, "drop") ? GP_REPAIR_DROP : GP_REPAIR_NONE;
}
