/* CUDA events, and which of their records each wait is for. */
#include <stdio.h>
#include <stdlib.h>
#include "formats/model/cuda_names.h"
#include "formats/nsys/nsys_priv.h"
#include "formats/base/order.h"

enum { WAIT_EVENT = 1, WAIT_STREAM_EVENT = 2 };

struct record {
    uint64_t key; /* process, context and event */
    uint64_t corr;
    int64_t stream;
};

struct records {
    GP_VEC(struct record) list; /* by key, then correlation id */
    struct gp_map by_sync_id;   /* process and sync id -> index in `made` */
    GP_VEC(struct record) made; /* in the order of the file */
};

GP_COMPARE(by_key, struct record, GP_UP(key) GP_UP(corr) GP_UP(stream))

static int64_t known(int64_t id) { return id >= 0 && id < UINT32_MAX ? id : -1; }

static uint64_t key_of(uint64_t process, int64_t context, int64_t event)
{
    return gp_nsys_key(gp_nsys_key(process, (uint64_t)context), (uint64_t)event);
}

/* Newer exports have the time at which the GPU reached the event; otherwise it is the end of the call. */
static void read_records(struct gp_nsys *n, struct records *r)
{
    enum { TIME, DEVICE, CONTEXT, STREAM, CORR, PROCESS, EVENT, SYNC_ID };
    struct gp_events *e = &n->t->events[GP_SYNC];
    gp_sid name = gp_intern_cstr(&n->t->strings, "cudaEvent"),
           cat = gp_intern_cstr(&n->t->strings, "cuda_event");
    GP_SQLITE_EACH(scan, n->db, "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                   "timestamp deviceId contextId streamId correlationId globalPid eventId eventSyncId") {
        uint64_t process = gp_nsys_process(n, &scan, PROCESS), corr = gp_nsys_corr(&scan, CORR);
        int64_t context = gp_sqlite_int(&scan, CONTEXT, -1), stream = gp_sqlite_int(&scan, STREAM, -1);
        int64_t event = gp_sqlite_int(&scan, EVENT, -1), at_ns = gp_sqlite_int(&scan, TIME, 0), sync_id;
        struct record one = {key_of(process, context, event), corr, stream};
        if (gp_sqlite_get(&scan, SYNC_ID, &sync_id) && sync_id > 0 && sync_id < UINT32_MAX)
            gp_map_put(&r->by_sync_id, gp_nsys_key(process, (uint64_t)sync_id), (uint32_t)r->made.n);
        GP_VEC_PUSH(&r->made, one);
        GP_VEC_PUSH(&r->list, one);
        const struct gp_nsys_call *call = gp_nsys_call(n, process, corr);
        n->t->input.events++;
        if (at_ns <= 0 && call) at_ns = call->end_ns;
        if ((at_ns <= 0 && !call) || !gp_time_fits(at_ns)) {
            gp_trace_issue(n->t, GP_Q_BAD_TIME, 1, -1);
            continue;
        }
        uint32_t track = gp_nsys_stream(n, process, known(gp_sqlite_int(&scan, DEVICE, -1)), known(context),
                                        known(stream));
        size_t row = gp_events_add(e, at_ns, 0, track, name);
        gp_set_cat(e, row, cat);
        gp_set_corr(e, row, corr);
        gp_set_event(e, row, event >= 0 ? (uint64_t)event : GP_NO_ID);
    }
    if (r->list.n) qsort(r->list.at, r->list.n, sizeof *r->list.at, by_key);
}

/* The latest record of that event before call CORR; NULL if there is none. */
static const struct record *latest(const struct records *r, uint64_t key, uint64_t corr)
{
    struct record wanted = {key, corr, INT64_MIN};
    GP_SEARCH(lo, 0, r->list.n, mid, by_key(&r->list.at[mid], &wanted) < 0);
    return lo && r->list.at[lo - 1].key == key && r->list.at[lo - 1].corr != GP_NO_ID ? &r->list.at[lo - 1]
                                                                                      : NULL;
}

enum { START, END, DEVICE, CONTEXT, STREAM, CORR, PROCESS, TYPE, EVENT, SYNC_ID };

static const struct record *waited_for(const struct records *r, struct gp_sqlite_scan *scan, uint64_t process,
                                       uint64_t corr)
{
    int64_t sync_id;
    if (gp_sqlite_get(scan, SYNC_ID, &sync_id) && sync_id > 0 && sync_id < UINT32_MAX) {
        const uint32_t *at = gp_map_get(&r->by_sync_id, gp_nsys_key(process, (uint64_t)sync_id));
        if (at) return &r->made.at[*at];
    }
    int64_t event = gp_sqlite_int(scan, EVENT, -1);
    return event < 0 ? NULL : latest(r, key_of(process, gp_sqlite_int(scan, CONTEXT, -1), event), corr);
}

static void add_wait(struct gp_nsys *n, const struct records *r, struct gp_sqlite_scan *scan)
{
    struct gp_events *e = &n->t->events[GP_SYNC];
    int64_t start, dur, event = gp_sqlite_int(scan, EVENT, -1);
    if (!gp_nsys_span(n, scan, START, END, &start, &dur)) return;
    uint64_t process = gp_nsys_process(n, scan, PROCESS), corr = gp_nsys_corr(scan, CORR);
    const uint32_t *type = gp_map_get(&n->syncs, (uint64_t)gp_sqlite_int(scan, TYPE, 0));
    bool event_wait = type && (*type == WAIT_EVENT || *type == WAIT_STREAM_EVENT);
    const struct record *record = event_wait ? waited_for(r, scan, process, corr) : NULL;
    const char *name = gp_cuda_wait(type ? *type : 0);
    char text[120];
    int length = snprintf(text, sizeof text, "{\"cuda_sync_kind\":\"%s\"", name);
    if (record && record->stream >= 0)
        length += snprintf(text + length, sizeof text - (size_t)length, ",\"wait_on_stream\":%lld",
                           (long long)record->stream);
    length += snprintf(text + length, sizeof text - (size_t)length, "}");
    uint32_t track =
        gp_nsys_stream(n, process, known(gp_sqlite_int(scan, DEVICE, -1)),
                       known(gp_sqlite_int(scan, CONTEXT, -1)), known(gp_sqlite_int(scan, STREAM, -1)));
    size_t row = gp_events_add(e, start, dur, track, gp_intern_cstr(&n->t->strings, name));
    gp_set_corr(e, row, corr);
    gp_set_extra(e, row, gp_trace_intern(n->t, text, (size_t)length));
    if (!event_wait) return;
    gp_set_event(e, row, event >= 0 && event < UINT32_MAX ? (uint64_t)event : GP_NO_ID);
    gp_set_source(e, row, record ? record->corr : GP_NO_ID);
}

void gp_nsys_read_syncs(struct gp_nsys *n)
{
    struct records r = {0};
    if (!(n->t->need & GP_NEED(GP_SYNC))) return;
    read_records(n, &r);
    GP_SQLITE_EACH(
        scan, n->db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        "start end deviceId contextId streamId correlationId globalPid syncType eventId eventSyncId")
        add_wait(n, &r, &scan);
    GP_VEC_FREE(&r.list);
    GP_VEC_FREE(&r.made);
    gp_map_release(&r.by_sync_id);
}
