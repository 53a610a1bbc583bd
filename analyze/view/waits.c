#include "analyze/view/waits.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/math/nth.h"
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "formats/base/mem.h"
#include "formats/base/map.h"
#include "formats/base/order.h"

#define NONE UINT32_MAX

/* Profilers round both ends of both clocks: an event may appear to end this long after the call that waited
 * for it. */
enum { CLOCK_SLACK_NS = 2000, LOOK_BACK = 256 };

/* A launch waits for room if it takes so many times the median, and so long. */
enum { SLOW_TIMES = 10, SLOW_NS = 50000 };

static int64_t gpu_end(const struct gp_view *v, uint32_t row)
{
    const struct gp_events *gpu = &v->t->events[GP_GPU];
    return gpu->start_ns[row] + gpu->dur_ns[row];
}

/* ---- rows by process ---- */

GP_COMPARE(by_producer, struct gp_wait_row, GP_UP(producer) GP_UP(row))

static void sort_rows(gp_wait_rows *rows)
{
    if (rows->n) qsort(rows->at, rows->n, sizeof *rows->at, by_producer);
}

void gp_wait_index_build(struct gp_wait_index *index, const struct gp_view *v)
{
    const struct gp_trace *t = v->t;
    const struct gp_events *api = &t->events[GP_API], *sync = &t->events[GP_SYNC];
    memset(index, 0, sizeof *index);
    for (uint32_t i = 0; i < api->n; i++)
        if (gp_call_synchronizes(gp_trace_str(t, api->name[i])))
            GP_VEC_PUSH(&index->calls, ((struct gp_wait_row){gp_track_producer(t, api->track[i]), i}));
    for (uint32_t i = 0; i < sync->n; i++)
        if (gp_get_corr(sync, i) != GP_NO_ID && !strcmp(gp_trace_str(t, sync->name[i]), "Stream Sync"))
            GP_VEC_PUSH(&index->streams, ((struct gp_wait_row){gp_track_producer(t, sync->track[i]), i}));
    for (uint32_t i = 0; i < v->devices.n; i++)
        GP_VEC_PUSH(&index->devices, ((struct gp_wait_row){v->devices.at[i].producer, i}));
    for (uint32_t i = 0; i < v->streams.n; i++) {
        const struct gp_view_stream *s = &v->streams.at[i];
        if (s->n < GP_QUEUE_FULL) continue;
        GP_VEC_PUSH(&index->queues, ((struct gp_wait_row){v->devices.at[s->device].producer, i}));
    }
    for (uint32_t k = 0; k < v->t->tracks.n; k++)
        if (v->hs.first[k] < v->hs.end[k])
            GP_VEC_PUSH(&index->threads, ((struct gp_wait_row){gp_track_producer(v->t, k), k}));
    sort_rows(&index->calls);
    sort_rows(&index->streams);
    sort_rows(&index->devices);
    sort_rows(&index->queues);
    sort_rows(&index->threads);
}

void gp_wait_index_release(struct gp_wait_index *index)
{
    GP_RELEASE(gp_vec_free, &index->calls, &index->streams, &index->devices, &index->queues, &index->threads);
}

size_t gp_wait_rows_of(const gp_wait_rows *rows, uint32_t producer, size_t *end)
{
    GP_SEARCH(lo, 0, rows->n, mid, rows->at[mid].producer < producer);
    for (*end = lo; *end < rows->n && rows->at[*end].producer == producer;) ++*end;
    return lo;
}

/* ---- GPU events by their end ---- */

GP_COMPARE(by_end, struct gp_ended, GP_UP(end_ns) GP_UP(row))

static void index_ends(struct gp_waits *w, const struct gp_view *v, const struct gp_wait_index *index,
                       uint32_t producer, int64_t begin_ns, int64_t end_ns)
{
    size_t end, d = gp_wait_rows_of(&index->devices, producer, &end);
    for (; d < end; d++) {
        const struct gp_view_device *device = &v->devices.at[index->devices.at[d].row];
        for (size_t i = device->first; i < device->first + device->n; i++) {
            uint32_t row = v->rows[i];
            if (gpu_end(v, row) > begin_ns && v->t->events[GP_GPU].start_ns[row] <= end_ns)
                GP_VEC_PUSH(&w->by_end, ((struct gp_ended){gpu_end(v, row), row}));
        }
    }
    if (w->by_end.n) qsort(w->by_end.at, w->by_end.n, sizeof *w->by_end.at, by_end);
}

size_t gp_waits_ended_by(const struct gp_waits *w, int64_t at_ns)
{
    GP_SEARCH(lo, 0, w->by_end.n, mid, w->by_end.at[mid].end_ns <= at_ns);
    return lo;
}

/* ---- calls ---- */

/* The event that a synchronising call waited for: of those launched before it, on STREAM if that is known,
 * the last that ended inside it. */
static uint32_t waited_for(const struct gp_waits *w, const struct gp_view *v, int64_t begin_ns,
                           int64_t end_ns, uint32_t stream)
{
    const struct gp_trace *t = v->t;
    const struct gp_events *gpu = &t->events[GP_GPU], *api = &t->events[GP_API];
    size_t i = gp_waits_ended_by(w, end_ns + CLOCK_SLACK_NS);
    for (int tries = 0; i-- && tries < LOOK_BACK && w->by_end.at[i].end_ns > begin_ns; tries++) {
        uint32_t row = w->by_end.at[i].row, launch = gp_view_launch(v, row);
        if (stream != NONE && t->tracks.at[gpu->track[row]].stream != t->tracks.at[stream].stream) continue;
        if (launch == NONE || api->start_ns[launch] < begin_ns) return row;
    }
    return NONE;
}

GP_COMPARE(by_track_and_end, struct gp_wait, GP_UP(track) GP_UP(end_ns) GP_UP(begin_ns) GP_UP(row))

static void add_call(struct gp_waits *w, const struct gp_view *v, uint32_t call, uint32_t row, bool own)
{
    const struct gp_events *api = &v->t->events[GP_API];
    int64_t begin = api->start_ns[call], end = begin + api->dur_ns[call];
    if (row == NONE || gpu_end(v, row) <= begin) return;
    GP_VEC_PUSH(&w->calls, ((struct gp_wait){api->track[call], call, row, own, begin, end}));
}

static void add_synchronising(struct gp_waits *w, const struct gp_view *v, const struct gp_wait_index *index,
                              uint32_t producer, int64_t begin_ns, int64_t end_ns)
{
    const struct gp_events *api = &v->t->events[GP_API], *sync = &v->t->events[GP_SYNC];
    struct gp_map stream_of = {0}; /* correlation id -> track of its "Stream Sync" record */
    size_t end_of, i = gp_wait_rows_of(&index->streams, producer, &end_of);
    for (; i < end_of; i++) {
        uint32_t row = index->streams.at[i].row;
        *gp_map_put(&stream_of, gp_get_corr(sync, row), NONE) = sync->track[row];
    }
    i = gp_wait_rows_of(&index->calls, producer, &end_of);
    for (; i < end_of; i++) {
        uint32_t row = index->calls.at[i].row;
        int64_t end = api->start_ns[row] + api->dur_ns[row];
        if (end <= begin_ns || api->start_ns[row] >= end_ns) continue;
        const uint32_t *stream = gp_map_get(&stream_of, gp_get_corr(api, row));
        add_call(w, v, row, waited_for(w, v, api->start_ns[row], end, stream ? *stream : NONE), false);
    }
    gp_map_release(&stream_of);
}

/* The call that started ROW, if it ended after it. */
static uint32_t outlasting(const struct gp_view *v, uint32_t row)
{
    const struct gp_events *api = &v->t->events[GP_API];
    uint32_t call = gp_view_launch(v, row);
    return call != NONE && gpu_end(v, row) <= api->start_ns[call] + api->dur_ns[call] ? call : NONE;
}

/* Such a copy never waits for itself: where its call outlasts it, the call was slow. */
static bool is_asynchronous(const struct gp_view *v, uint32_t row, uint32_t call)
{
    const char *copy = gp_trace_str(v->t, gp_gpu_config(v->t, row)->name);
    if (!strstr(gp_trace_str(v->t, v->t->events[GP_API].name[call]), "Async")) return false;
    return gp_copy_is_pinned(copy) || strstr(copy, "DtoD") != NULL;
}

/* A short kernel may end before its launch call returns, although the call did not wait for it; unless nearly
 * all do, as with CUDA_LAUNCH_BLOCKING. */
static void add_blocking(struct gp_waits *w, const struct gp_view *v)
{
    size_t kernels = 0, outlasted = 0;
    for (size_t i = 0; i < w->by_end.n; i++) {
        uint32_t row = w->by_end.at[i].row;
        if (gp_gpu_config(v->t, row)->kind != GP_KERNEL) continue;
        kernels++;
        outlasted += outlasting(v, row) != NONE;
    }
    for (size_t i = 0; i < w->by_end.n; i++) {
        uint32_t row = w->by_end.at[i].row, call = outlasting(v, row);
        if (call == NONE) continue;
        bool copy = gp_gpu_config(v->t, row)->kind == GP_MEMCPY && !is_asynchronous(v, row, call);
        if (copy || outlasted * 10 > kernels * 9) add_call(w, v, call, row, true);
    }
}

/* ---- full queues ---- */

struct queued {
    uint32_t call, row; /* of GP_API; the first event that it launched */
};

/* The calls that put something on stream S, in the order of their events. */
static size_t queue_of(const struct gp_view *v, const struct gp_view_stream *s, struct queued *q)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        uint32_t row = v->stream_rows[s->first + i], call = gp_view_launch(v, row);
        if (call == NONE || (n && q[n - 1].call == call)) continue;
        q[n++] = (struct queued){call, row};
    }
    return n;
}

/* Ten times the median duration of the calls in Q, at least SLOW_NS. */
static int64_t slow_from(const struct gp_view *v, const struct queued *q, size_t n)
{
    int64_t *dur = gp_alloc((n + 1) * sizeof *dur), median;
    for (size_t i = 0; i < n; i++) dur[i] = v->t->events[GP_API].dur_ns[q[i].call];
    median = gp_nth(dur, n, n / 2);
    free(dur);
    return median > SLOW_NS / SLOW_TIMES ? gp_mul_saturated(median, SLOW_TIMES) : SLOW_NS;
}

/* A launch that finds the queue of its stream full returns when an event has started and made room. */
static void add_full_queue(struct gp_waits *w, const struct gp_view *v, const struct gp_view_stream *s,
                           int64_t begin_ns, int64_t end_ns)
{
    const struct gp_events *api = &v->t->events[GP_API];
    struct queued *q = gp_alloc((s->n + 1) * sizeof *q);
    size_t n = queue_of(v, s, q), over = 0;
    int64_t slow_ns = n >= GP_QUEUE_FULL ? slow_from(v, q, n) : 0;
    for (size_t i = GP_QUEUE_FULL; i < n; i++) {
        int64_t begin = api->start_ns[q[i].call], end = begin + api->dur_ns[q[i].call];
        while (over < i && gpu_end(v, q[over].row) <= begin) over++;
        if (i - over < GP_QUEUE_FULL || end - begin < slow_ns || begin < begin_ns || begin >= end_ns)
            continue;
        size_t last = over;
        while (last + 1 < i && gpu_end(v, q[last + 1].row) <= end) last++;
        if (gpu_end(v, q[last].row) <= end) add_call(w, v, q[i].call, q[last].row, false);
    }
    free(q);
}

void gp_waits_find(struct gp_waits *w, const struct gp_view *v, const struct gp_wait_index *index,
                   uint32_t producer, int64_t begin_ns, int64_t end_ns)
{
    memset(w, 0, sizeof *w);
    index_ends(w, v, index, producer, begin_ns, end_ns);
    add_synchronising(w, v, index, producer, begin_ns, end_ns);
    add_blocking(w, v);
    size_t end, i = gp_wait_rows_of(&index->queues, producer, &end);
    for (; i < end; i++) add_full_queue(w, v, &v->streams.at[index->queues.at[i].row], begin_ns, end_ns);
    if (w->calls.n) qsort(w->calls.at, w->calls.n, sizeof *w->calls.at, by_track_and_end);
}

void gp_waits_release(struct gp_waits *w)
{
    GP_VEC_FREE(&w->by_end);
    GP_VEC_FREE(&w->calls);
}
