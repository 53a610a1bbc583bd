// CUDA events: where their records come to lie, and which record a wait is for.
#include <string.h>

#include "collect/records/records.h"
#include "tests/unit/unit.h"

static const char *call_name(void *ctx, bool driver, uint32_t cbid)
{
    (void)ctx;
    (void)driver;
    return cbid == 1 ? "cudaEventRecord_v3020" : "cudaStreamWaitEvent_v3020";
}

static struct gp_records records(uint32_t cupti)
{
    struct gp_records r;
    struct gp_records_opts o = {
        .pid = 100, .rank = -1, .cupti = cupti, .api = GP_API_LEVEL_ALL, .call_name = call_name};
    gp_records_init(&r, &o);
    return r;
}

#define PUT(rec, at, type, value)                                                                            \
    do {                                                                                                     \
        type gp_v_ = (type)(value);                                                                          \
        memcpy((rec) + (at), &gp_v_, sizeof gp_v_);                                                          \
    } while (0)

static void add_call(struct gp_records *r, uint32_t corr, int64_t start, int64_t end)
{
    uint8_t rec[40] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_RUNTIME);
    PUT(rec, GP_AT_CALL_cbid, uint32_t, 1);
    PUT(rec, GP_AT_CALL_start, int64_t, start);
    PUT(rec, GP_AT_CALL_end, int64_t, end);
    PUT(rec, GP_AT_CALL_threadId, uint32_t, 101);
    PUT(rec, GP_AT_CALL_correlationId, uint32_t, corr);
    gp_records_add(r, rec);
}

static void add_event(struct gp_records *r, uint32_t stream, uint32_t event, uint64_t sync_id, uint32_t corr,
                      int64_t at)
{
    uint8_t rec[56] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_CUDA_EVENT);
    PUT(rec, GP_AT_EVENT_correlationId, uint32_t, corr);
    PUT(rec, GP_AT_EVENT_contextId, uint32_t, 1);
    PUT(rec, GP_AT_EVENT_streamId, uint32_t, stream);
    PUT(rec, GP_AT_EVENT_eventId, uint32_t, event);
    PUT(rec, GP_AT_EVENT_deviceTimestamp, int64_t, at);
    PUT(rec, GP_AT_EVENT_cudaEventSyncId, uint64_t, sync_id);
    gp_records_add(r, rec);
}

static void add_wait(struct gp_records *r, uint32_t stream, uint32_t event, uint64_t sync_id, uint32_t corr)
{
    uint8_t rec[56] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_SYNCHRONIZATION);
    PUT(rec, GP_AT_SYNC_type, uint32_t, 2);
    PUT(rec, GP_AT_SYNC_start, int64_t, 10 * corr);
    PUT(rec, GP_AT_SYNC_end, int64_t, 10 * corr + 1);
    PUT(rec, GP_AT_SYNC_correlationId, uint32_t, corr);
    PUT(rec, GP_AT_SYNC_contextId, uint32_t, 1);
    PUT(rec, GP_AT_SYNC_streamId, uint32_t, stream);
    PUT(rec, GP_AT_SYNC_cudaEventId, uint32_t, event);
    PUT(rec, GP_AT_SYNC_cudaEventSyncId, uint64_t, sync_id);
    gp_records_add(r, rec);
}

static void add_context(struct gp_records *r)
{
    uint8_t rec[32] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_CONTEXT);
    PUT(rec, GP_AT_CONTEXT_contextId, uint32_t, 1);
    PUT(rec, GP_AT_CONTEXT_deviceId, uint32_t, 3);
    gp_records_add(r, rec);
}

/* The row of the sync table with that correlation id. */
static size_t row_of(const struct gp_records *r, uint32_t corr)
{
    const struct gp_events *e = &r->trace.events[GP_SYNC];
    for (size_t i = 0; i < e->n; i++)
        if (gp_get_corr(e, i) == corr) return i;
    fail_msg("no row %u", corr);
    return 0;
}

TEST(a_wait_names_the_record_that_its_number_tells)
{
    struct gp_records r = records(130001);
    const struct gp_events *e = &r.trace.events[GP_SYNC];
    add_context(&r);
    add_event(&r, 7, 3, 1001, 5, 0);
    add_event(&r, 9, 3, 1002, 6, 0); /* the same event again */
    add_wait(&r, 8, 3, 1001, 7);     /* ordered before that on another thread */
    add_wait(&r, 8, 3, 1002, 8);
    gp_records_commit(&r, true);
    size_t first = row_of(&r, 7), second = row_of(&r, 8);
    assert_int_equal(gp_get_source(e, first), 5);
    assert_int_equal(gp_get_source(e, second), 6);
    assert_int_equal(gp_get_event(e, second), 3);
    assert_string_equal(gp_trace_str(&r.trace, gp_get_extra(e, first)),
                        "{\"cuda_sync_kind\":\"Stream Wait Event\",\"wait_on_stream\":7}");
    assert_int_equal(r.trace.tracks.at[e->track[first]].device, 3);
    gp_records_release(&r);
}

TEST(a_record_may_come_after_the_wait_for_it)
{
    struct gp_records r = records(130001);
    const struct gp_events *e = &r.trace.events[GP_SYNC];
    add_wait(&r, 8, 3, 1001, 7);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 0);
    add_context(&r);
    add_event(&r, 7, 3, 1001, 5, 0);
    add_call(&r, 5, 40, 45);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 2);
    assert_int_equal(gp_get_source(e, row_of(&r, 7)), 5);
    add_wait(&r, 8, 4, 1009, 9); /* its record never comes */
    gp_records_tick(&r, 1000);
    gp_records_commit(&r, false);
    assert_int_equal(gp_get_source(e, row_of(&r, 9)), GP_NO_ID);
    assert_int_equal(gp_get_event(e, row_of(&r, 9)), 4);
    gp_records_release(&r);
}

TEST(without_numbers_the_latest_record_before_the_wait_counts)
{
    struct gp_records r = records(24);
    const struct gp_events *e = &r.trace.events[GP_SYNC];
    add_context(&r);
    add_event(&r, 7, 3, 77, 5, 0); /* what lies behind the record of CUDA 12 is not looked at */
    add_wait(&r, 8, 3, 78, 6);
    add_event(&r, 9, 3, 77, 7, 0);
    add_wait(&r, 8, 3, 78, 8);
    add_event(&r, 9, 4, 77, 20, 0);
    add_wait(&r, 8, 4, 78, 19); /* before the record */
    gp_records_commit(&r, true);
    assert_int_equal(gp_get_source(e, row_of(&r, 6)), 5);
    assert_int_equal(gp_get_source(e, row_of(&r, 8)), 7);
    assert_int_equal(gp_get_source(e, row_of(&r, 19)), GP_NO_ID);
    gp_records_release(&r);
}

TEST(an_event_is_where_the_gpu_came_to_it_or_its_call_ended)
{
    struct gp_records r = records(130001);
    const struct gp_events *e = &r.trace.events[GP_SYNC];
    int64_t hour = INT64_C(3600000000000), base = 5 * hour;
    for (uint32_t corr = 1; corr <= 4; corr++)
        add_call(&r, corr, base + 1000 * corr, base + 1000 * corr + 300);
    add_event(&r, 7, 1, 1, 1, 0);
    add_event(&r, 7, 2, 2, 2, base + 9000);
    add_event(&r, 7, 3, 3, 3, base - hour);     /* on another clock */
    add_event(&r, 7, 4, 4, 4, base + 2 * hour); /* so is this */
    add_event(&r, 7, 5, 5, 5, 0);               /* without a call */
    gp_records_commit(&r, true);
    assert_int_equal(e->n, 4);
    assert_int_equal(e->start_ns[row_of(&r, 1)], base + 1300);
    assert_int_equal(e->start_ns[row_of(&r, 2)], base + 9000);
    assert_int_equal(e->start_ns[row_of(&r, 3)], base + 3300);
    assert_int_equal(e->start_ns[row_of(&r, 4)], base + 4300);
    assert_string_equal(gp_trace_str(&r.trace, gp_get_cat(e, 0)), "cuda_event");
    assert_int_equal(r.trace.losses.n, 1);
    assert_int_equal(r.trace.losses.at[0].count, 1);
    gp_records_release(&r);
}

TEST(the_call_that_records_an_event_waits_for_its_record)
{
    struct gp_records r = records(130001);
    add_call(&r, 5, 1000, 1300);
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_API].n, 0);
    add_event(&r, 7, 3, 1, 5, 0);
    gp_records_commit(&r, false);
    assert_int_equal(r.trace.events[GP_API].n, 1);
    assert_int_equal(r.trace.events[GP_SYNC].start_ns[0], 1300);
    assert_true(gp_call_wanted(gp_call_classify("cuEventRecordWithFlags"), GP_API_LEVEL_ALL, false));
    assert_false(gp_call_wanted(gp_call_classify("cuEventRecordWithFlags"), GP_API_LEVEL_SYNC, true));
    gp_records_release(&r);
}

static struct gp_note_wait wait_of(enum gp_wait type, uint32_t stream, uint64_t event, uint32_t corr,
                                   int64_t end_ns)
{
    return (struct gp_note_wait){
        .end_ns = end_ns, .event = event, .corr = corr, .context = 1, .stream = stream, .type = type};
}

TEST(calls_tell_who_waits_for_what)
{
    struct gp_records r = records(130001);
    const struct gp_events *e = &r.trace.events[GP_SYNC];
    struct gp_note_wait unused = wait_of(GP_WAIT_RECORD, 6, 0xa0, 3, 100);
    struct gp_note_wait wait = wait_of(GP_WAIT_STREAM_EVENT, 8, 0xb0, 7, 310);
    struct gp_note_wait record = wait_of(GP_WAIT_RECORD, 7, 0xb0, 5, 250);
    struct gp_note_wait sync = wait_of(GP_WAIT_STREAM, 7, 0, 9, 500);
    gp_records_add_wait(&r, 90, &unused);
    /* another thread's: its record comes after it, as does the context */
    gp_records_add_wait(&r, 300, &wait);
    gp_records_add_wait(&r, 200, &record);
    gp_records_add_wait(&r, 400, &sync);
    assert_int_equal(e->n, 0);
    add_context(&r);
    gp_records_tick(&r, 1000);
    gp_records_commit(&r, true);
    assert_int_equal(e->n, 3); /* nobody waits for event 0xa0 */
    size_t at = row_of(&r, 7), from = row_of(&r, 5), stream = row_of(&r, 9);
    assert_int_equal(gp_get_source(e, at), 5);
    assert_int_equal(e->start_ns[at], 300);
    assert_int_equal(e->dur_ns[at], 10);
    assert_int_equal(e->start_ns[from], 250);
    assert_string_equal(gp_trace_str(&r.trace, e->name[from]), "cudaEvent");
    assert_int_equal(gp_get_event(e, from), gp_get_event(e, at));
    assert_int_equal(r.trace.tracks.at[e->track[from]].stream, 7);
    assert_string_equal(gp_trace_str(&r.trace, e->name[stream]), "Stream Sync");
    assert_int_equal(e->dur_ns[stream], 100);
    gp_records_release(&r);
}

TEST(what_threads_tell_is_taken_in_the_order_of_the_calls)
{
    struct gp_records r = records(130001);
    const struct gp_events *e = &r.trace.events[GP_SYNC];
    struct gp_note_wait first = wait_of(GP_WAIT_RECORD, 7, 0xb0, 5, 250);
    struct gp_note_wait again = wait_of(GP_WAIT_RECORD, 9, 0xb0, 8, 400);
    struct gp_note_wait wait = wait_of(GP_WAIT_STREAM_EVENT, 8, 0xb0, 7, 310);
    add_context(&r);
    gp_records_add_wait(&r, 200, &first);
    gp_records_add_wait(&r, 390, &again);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 0); /* another thread may still report on the time between */
    gp_records_add_wait(&r, 300, &wait);
    gp_records_tick(&r, 1000);
    gp_records_commit(&r, false);
    assert_int_equal(e->n, 2);
    assert_int_equal(gp_get_source(e, row_of(&r, 7)), 5);
    assert_int_equal(r.trace.tracks.at[e->track[row_of(&r, 5)]].stream, 7);
    gp_records_release(&r);
}

TEST(what_cannot_be_a_wait_is_none)
{
    struct gp_records r = records(130001);
    add_context(&r);
    struct gp_note_wait backwards = wait_of(GP_WAIT_STREAM, 7, 0, 1, 99), strange = wait_of(17, 7, 0, 2, 300);
    gp_records_add_wait(&r, 100, &backwards);
    gp_records_add_wait(&r, 0, &backwards);
    gp_records_add_wait(&r, 100, &strange);
    gp_records_commit(&r, true);
    assert_int_equal(r.trace.events[GP_SYNC].n, 0);
    gp_records_release(&r);
}
