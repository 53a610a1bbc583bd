/* CUDA events: where they were recorded, and which record each wait is for. */
#include <stdio.h>
#include <stdlib.h>
#include "collect/records/records_priv.h"
#include "formats/model/cuda_names.h"
#include "formats/base/order.h"

enum {
    TABLE_BITS = 15, /* maximum number of event records that are kept: the latest with each hash */
};
static const uint64_t NO_SYNC_ID = UINT64_MAX;
static const int64_t EARLY_NS = 1000000, FAR_NS = 3600000000000;

/* ---- which record of an event ---- */

/* CUPTI 13 numbers the records of events; before, a wait only names the event. */
static uint64_t key_of(uint32_t context, uint32_t event, uint64_t sync_id)
{
    if (sync_id && sync_id != NO_SYNC_ID && sync_id != UINT32_MAX) return sync_id;
    return UINT64_C(1) << 63 | (uint64_t)(context & 0x7fffffff) << 32 | event;
}

static struct gp_event_record *place_of(struct gp_records *r, uint64_t key)
{
    if (!r->event_records) r->event_records = gp_zalloc(sizeof *r->event_records << TABLE_BITS);
    return &r->event_records[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_BITS)];
}

/* The track of a stream whose context is known; records that identify its device may come later. */
static uint32_t track_of(struct gp_records *r, uint32_t context, uint32_t stream)
{
    const uint32_t *device = gp_map_get(&r->contexts, context);
    return gp_records_stream(r, device ? *device : (uint32_t)GP_INVALID_ID32, context, stream);
}

/* ---- events ---- */

void gp_records_add_event(struct gp_records *r, const void *rec)
{
    bool grown = r->opts.cupti >= GP_CUPTI_GROWN;
    uint32_t context = AT(u32, rec, EVENT_contextId), stream = AT(u32, rec, EVENT_streamId);
    struct gp_held_event e = {
        .device_ns = grown ? (int64_t)AT(u64, rec, EVENT_deviceTimestamp) : 0,
        .event = AT(u32, rec, EVENT_eventId),
        .corr = AT(u32, rec, EVENT_correlationId),
        .context = context,
        .stream = stream,
        .tick = r->tick,
    };
    GP_VEC_PUSH(&r->held_events, e);
    uint64_t keys[] = {key_of(context, e.event, 0),
                       key_of(context, e.event, grown ? AT(u64, rec, EVENT_cudaEventSyncId) : 0)};
    for (size_t i = 0; i < 2; i++)
        *place_of(r, keys[i]) = (struct gp_event_record){.key = keys[i],
                                                         .corr = e.corr,
                                                         .stream = stream,
                                                         .context = context,
                                                         .event = e.event,
                                                         .used = true};
}

/* The GPU's time if it was recorded and is on the clock of the trace: not before the call, nor hours away. */
static int64_t time_of(const struct gp_records *r, const struct gp_held_event *e,
                       const struct gp_held_call *call)
{
    int64_t from = call ? call->start_ns - EARLY_NS : r->tick_ns - FAR_NS;
    int64_t to = (call ? call->start_ns : r->tick_ns) + FAR_NS;
    if (e->device_ns > 0 && e->device_ns >= from && e->device_ns <= to) return e->device_ns;
    return call ? call->end_ns : 0;
}

static void write_record(struct gp_records *r, int64_t at_ns, uint32_t context, uint32_t stream,
                         uint32_t event, uint32_t corr)
{
    struct gp_events *to = &r->trace.events[GP_SYNC];
    gp_sid name = gp_intern_cstr(&r->trace.strings, "cudaEvent");
    size_t row = gp_events_add(to, at_ns, 0, track_of(r, context, stream), name);
    gp_set_cat(to, row, gp_intern_cstr(&r->trace.strings, "cuda_event"));
    gp_set_corr(to, row, corr);
    gp_set_event(to, row, event);
}

static void write_records(struct gp_records *r, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->held_events.n; i++) {
        struct gp_held_event e = r->held_events.at[i];
        const struct gp_held_call *call = gp_records_call(r, e.corr);
        if (!call && !all && gp_records_may_come(r, e.tick)) {
            r->held_events.at[kept++] = e;
            continue;
        }
        int64_t at_ns = time_of(r, &e, call);
        if (at_ns <= 0) {
            gp_records_lose(r, "CUDA events", "no usable time", 1);
            continue;
        }
        write_record(r, at_ns, e.context, e.stream, e.event, e.corr);
    }
    r->held_events.n = kept;
}

/* ---- waits ---- */

/* RECORD: its event, NULL: unknown. There are few different texts, so they do not add up. */
static void write_wait(struct gp_records *r, const struct gp_held_wait *w, struct gp_event_record *record)
{
    if (record && record->untold_ns) {
        write_record(r, record->untold_ns, record->context, record->stream, record->event, record->corr);
        record->untold_ns = 0;
    }
    struct gp_events *to = &r->trace.events[GP_SYNC];
    const char *name = gp_cuda_wait(w->type);
    char text[120];
    int n = snprintf(text, sizeof text, "{\"cuda_sync_kind\":\"%s\"", name);
    if (record)
        n += snprintf(text + n, sizeof text - (size_t)n, ",\"wait_on_stream\":%u", (unsigned)record->stream);
    n += snprintf(text + n, sizeof text - (size_t)n, "}");
    size_t row = gp_events_add(to, w->start_ns, w->end_ns - w->start_ns, track_of(r, w->context, w->stream),
                               gp_intern_cstr(&r->trace.strings, name));
    gp_set_corr(to, row, w->corr);
    gp_set_extra(to, row, gp_trace_intern(&r->trace, text, (size_t)n));
    if (w->type != GP_WAIT_EVENT && w->type != GP_WAIT_STREAM_EVENT) return;
    gp_set_event(to, row, w->event == (uint32_t)GP_INVALID_ID32 ? GP_NO_ID : w->event);
    gp_set_source(to, row, record ? record->corr : GP_NO_ID);
}

/* A record after the wait cannot be the one that it waits for. */
static struct gp_event_record *record_of(struct gp_records *r, const struct gp_held_wait *w)
{
    struct gp_event_record *found = place_of(r, w->key);
    return found->used && found->key == w->key && found->corr < w->corr ? found : NULL;
}

static void take_wait(struct gp_records *r, const struct gp_held_wait *w)
{
    struct gp_event_record *record = w->key ? record_of(r, w) : NULL;
    /* A missing record may be in a buffer of another thread. */
    bool complete = gp_map_get(&r->contexts, w->context) && (record || !w->key);
    if (complete) write_wait(r, w, record);
    else GP_VEC_PUSH(&r->held_waits, *w);
}

void gp_records_add_sync(struct gp_records *r, const void *rec)
{
    struct gp_held_wait w = {
        .start_ns = (int64_t)AT(u64, rec, SYNC_start),
        .end_ns = (int64_t)AT(u64, rec, SYNC_end),
        .corr = AT(u32, rec, SYNC_correlationId),
        .context = AT(u32, rec, SYNC_contextId),
        .stream = AT(u32, rec, SYNC_streamId),
        .event = AT(u32, rec, SYNC_cudaEventId),
        .type = AT(u32, rec, SYNC_type),
        .tick = r->tick,
    };
    if (w.start_ns <= 0 || w.end_ns < w.start_ns) return;
    uint64_t sync_id = r->opts.cupti >= GP_CUPTI_GROWN ? AT(u64, rec, SYNC_cudaEventSyncId) : 0;
    if (r->opts.api >= GP_API_LEVEL_ALL && (w.type == GP_WAIT_EVENT || w.type == GP_WAIT_STREAM_EVENT))
        w.key = key_of(w.context, w.event, sync_id);
    take_wait(r, &w);
}

/* ---- reports of calls ---- */

/* Handles are long and are reused after events are destroyed, so each gets a number. */
static uint32_t event_number(struct gp_records *r, uint64_t handle)
{
    return *gp_map_put(&r->event_ids, handle, (uint32_t)r->event_ids.n + 1);
}

static void take_told(struct gp_records *r, int64_t start_ns, const struct gp_note_wait *wait)
{
    uint32_t event = wait->event ? event_number(r, wait->event) : (uint32_t)GP_INVALID_ID32;
    /* One context may wait for an event of another. */
    uint64_t key = wait->event ? key_of(0, event, 0) : 0;
    if (wait->type == GP_WAIT_RECORD) {
        *place_of(r, key) = (struct gp_event_record){.key = key,
                                                     .untold_ns = wait->end_ns,
                                                     .corr = wait->corr,
                                                     .stream = wait->stream,
                                                     .context = wait->context,
                                                     .event = event,
                                                     .used = true};
        return;
    }
    struct gp_held_wait w = {
        .start_ns = start_ns,
        .end_ns = wait->end_ns,
        .key = key,
        .event = event,
        .corr = wait->corr,
        .context = wait->context,
        .stream = wait->stream,
        .type = wait->type,
        .tick = r->tick,
    };
    take_wait(r, &w);
}

void gp_records_add_wait(struct gp_records *r, int64_t start_ns, const struct gp_note_wait *wait)
{
    if (start_ns <= 0 || wait->end_ns < start_ns || wait->type > GP_WAIT_CONTEXT) return;
    GP_VEC_PUSH(&r->told_waits, ((struct gp_told_wait){start_ns, *wait, r->tick}));
}

GP_COMPARE(by_call, struct gp_told_wait, GP_UP(wait.corr))

/* In the order of the calls: an event may be recorded again before another thread has reported that it waited
 * for it. Everything reported up to a flush ago is complete. */
static void take_all_told(struct gp_records *r, bool all)
{
    uint32_t latest = 0;
    bool any = false;
    GP_EACH(const struct gp_told_wait, t, r->told_waits) {
        if (!all && gp_records_may_come(r, t->tick)) continue;
        any = true;
        if (t->wait.corr > latest) latest = t->wait.corr;
    }
    if (!any) return;
    qsort(r->told_waits.at, r->told_waits.n, sizeof *r->told_waits.at, by_call);
    size_t n = 0;
    while (n < r->told_waits.n && r->told_waits.at[n].wait.corr <= latest) {
        take_told(r, r->told_waits.at[n].start_ns, &r->told_waits.at[n].wait);
        n++;
    }
    memmove(r->told_waits.at, r->told_waits.at + n, (r->told_waits.n - n) * sizeof *r->told_waits.at);
    r->told_waits.n -= n;
}

static void write_waits(struct gp_records *r, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->held_waits.n; i++) {
        struct gp_held_wait w = r->held_waits.at[i];
        struct gp_event_record *record = w.key ? record_of(r, &w) : NULL;
        if (w.key && !record && !all && gp_records_may_come(r, w.tick)) r->held_waits.at[kept++] = w;
        else write_wait(r, &w, record);
    }
    r->held_waits.n = kept;
}

void gp_records_write_events(struct gp_records *r, bool all)
{
    if (r->told_waits.n) take_all_told(r, all);
    if (r->held_events.n) write_records(r, all);
    if (r->held_waits.n) write_waits(r, all);
}

void gp_records_release_events(struct gp_records *r)
{
    GP_RELEASE(gp_vec_free, &r->held_events, &r->held_waits, &r->told_waits);
    free(r->event_records);
    gp_map_release(&r->event_ids);
}

/* ---- hardware counters ---- */

static const uint32_t TIMED = UINT32_MAX - 1; /* a record with times was there */

static void hold_known(struct gp_records *r, struct gp_held_work *w, uint32_t kind)
{
    w->tick = r->tick;
    gp_records_note_time(r, w->end_ns);
    GP_VEC_PUSH(&r->work, *w);
    if (kind == GP_KERNEL) r->stats.kernels++;
    else if (kind == GP_MEMCPY) r->stats.copies++;
    else r->stats.sets++;
}

static void hold_timeless(struct gp_records *r, struct gp_held_work *w, const struct gp_config *c)
{
    uint32_t *at = gp_map_put(&r->timeless_at, w->corr, UINT32_MAX);
    if (*at == TIMED) return;
    w->config = gp_trace_config(&r->trace, c);
    *at = (uint32_t)r->timeless.n;
    GP_VEC_PUSH(&r->timeless, *w);
}

static void note_timed(struct gp_records *r, uint32_t corr)
{
    uint32_t *at = gp_map_put(&r->timeless_at, corr, UINT32_MAX);
    if (*at < TIMED) r->timeless.at[*at].corr = 0;
    *at = TIMED;
}

void gp_records_measured(struct gp_records *r, uint32_t corr, int64_t start_ns, int64_t end_ns)
{
    *gp_map_put(&r->measured_at, corr, 0) = (uint32_t)r->measured.n;
    GP_VEC_PUSH(&r->measured, (struct gp_measured_time){start_ns, end_ns});
}

uint64_t gp_records_vanished(const struct gp_records *r)
{
    return r->stats.kernels || r->timeless.n ? 0 : r->measured.n;
}

uint64_t gp_records_end_timeless(struct gp_records *r)
{
    uint64_t lost = 0;
    GP_EACH(struct gp_held_work, w, r->timeless) {
        const uint32_t *at = w->corr ? gp_map_get(&r->measured_at, w->corr) : NULL;
        if (at) {
            w->start_ns = r->measured.at[*at].start_ns;
            w->end_ns = r->measured.at[*at].end_ns;
            hold_known(r, w, GP_KERNEL);
        } else {
            lost += w->corr != 0;
        }
    }
    r->stats.bad_time += lost;
    r->timeless.n = 0;
    return lost;
}

void gp_records_release_timeless(struct gp_records *r)
{
    GP_RELEASE(gp_map_release, &r->timeless_at, &r->measured_at);
    GP_RELEASE(gp_vec_free, &r->timeless, &r->measured);
}

/* After the first recording CUPTI 13.0 goes on with graphs that were made in it, and gives their nodes the
 * number of the last call in it, which launched something else. */
static bool is_of_a_pause(struct gp_records *r, const struct gp_held_work *w)
{
    uint32_t *single = &r->single[w->corr % GP_COUNT(r->single)];
    if (w->node == GP_NO_ID) *single = w->corr;
    return w->node != GP_NO_ID && w->corr && *single == w->corr;
}

void gp_records_hold(struct gp_records *r, struct gp_held_work *w, const struct gp_config *c)
{
    if (is_of_a_pause(r, w)) return;
    if (r->opts.measured && gp_record_is_of_counters(gp_trace_str(&r->trace, c->name))) return;
    if (!gp_held_is_usable(w) && r->opts.measured && c->kind == GP_KERNEL) {
        hold_timeless(r, w, c);
        return;
    }
    if (!gp_held_is_usable(w)) {
        r->stats.bad_time++;
        gp_records_lose(r, "GPU events", "no usable time", 1);
        return;
    }
    if (r->opts.measured && c->kind == GP_KERNEL && w->node == GP_NO_ID) note_timed(r, w->corr);
    w->config = gp_trace_config(&r->trace, c);
    hold_known(r, w, c->kind);
}
