// Unified memory and pools: what becomes a copy, what an instant, and what is lost.
#include <string.h>

#include "collect/records/records.h"
#include "tests/unit/unit.h"

static struct gp_records records(void)
{
    struct gp_records r;
    struct gp_records_opts o = {
        .pid = 100, .rank = -1, .cupti = 130001, .api = GP_API_LEVEL_NONE, .memory = true};
    gp_records_init(&r, &o);
    return r;
}

#define PUT(rec, at, type, value)                                                                            \
    do {                                                                                                     \
        type gp_v_ = (type)(value);                                                                          \
        memcpy((rec) + (at), &gp_v_, sizeof gp_v_);                                                          \
    } while (0)

static void add_unified(struct gp_records *r, uint32_t counter, uint64_t value, int64_t start, int64_t end,
                        uint32_t from, uint32_t to, uint32_t flags)
{
    uint8_t rec[104] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_UNIFIED_MEMORY);
    PUT(rec, GP_AT_UNIFIED_counterKind, uint32_t, counter);
    PUT(rec, GP_AT_UNIFIED_value, uint64_t, value);
    PUT(rec, GP_AT_UNIFIED_start, int64_t, start);
    PUT(rec, GP_AT_UNIFIED_end, int64_t, end);
    PUT(rec, GP_AT_UNIFIED_address, uint64_t, 0xabc000);
    PUT(rec, GP_AT_UNIFIED_srcId, uint32_t, from);
    PUT(rec, GP_AT_UNIFIED_dstId, uint32_t, to);
    PUT(rec, GP_AT_UNIFIED_flags, uint32_t, flags);
    gp_records_add(r, rec);
}

static void add_pool(struct gp_records *r, uint32_t operation, int64_t at)
{
    uint8_t rec[80] = {0};
    PUT(rec, 0, uint32_t, GP_ACTIVITY_MEMORY_POOL);
    PUT(rec, GP_AT_POOL_memoryPoolOperationType, uint32_t, operation);
    PUT(rec, GP_AT_POOL_deviceId, uint32_t, 2);
    PUT(rec, GP_AT_POOL_minBytesToKeep, uint64_t, 5);
    PUT(rec, GP_AT_POOL_address, uint64_t, 9);
    PUT(rec, GP_AT_POOL_size, uint64_t, 100);
    PUT(rec, GP_AT_POOL_utilizedSize, uint64_t, 40);
    PUT(rec, GP_AT_POOL_releaseThreshold, uint64_t, 60);
    PUT(rec, GP_AT_POOL_timestamp, int64_t, at);
    gp_records_add(r, rec);
}

enum { HOST = -1 };

TEST(a_migration_is_a_copy_on_its_device)
{
    struct gp_records r = records();
    add_unified(&r, 1, 4096, 1000, 1500, (uint32_t)HOST, 1, 3); /* to the device, prefetch */
    add_unified(&r, 2, 512, 2000, 2100, 1, (uint32_t)HOST, 4);  /* back, eviction */
    add_unified(&r, 8, 64, 3000, 3010, 1, 2, 99); /* on to another device, for a cause of later times */
    add_unified(&r, 1, 64, 0, 0, (uint32_t)HOST, 1, 3);
    gp_records_commit(&r, false);
    const struct gp_events *e = &r.trace.events[GP_GPU];
    static const char *const names[] = {"Memcpy HtoD (Unified Memory, Prefetch)",
                                        "Memcpy DtoH (Unified Memory, Eviction)",
                                        "Memcpy PtoP (Unified Memory, Unknown)"};
    static const int64_t bytes[] = {4096, 512, 64}, durations[] = {500, 100, 10}, devices[] = {1, 1, 2};
    static const uint32_t kinds[] = {1, 2, 10};
    assert_int_equal(e->n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct gp_config *c = gp_gpu_config(&r.trace, i);
        assert_string_equal(gp_trace_str(&r.trace, e->name[i]), names[i]);
        assert_int_equal(c->kind, GP_MEMCPY);
        assert_int_equal(c->copy_kind, kinds[i]);
        assert_int_equal(gp_get_bytes(e, i), bytes[i]);
        assert_int_equal(gp_get_addr(e, i), 0xabc000);
        assert_int_equal(e->dur_ns[i], durations[i]);
        assert_int_equal(gp_get_corr(e, i), GP_NO_ID);
        assert_int_equal(gp_get_graph(e, i), GP_NO_ID);
        assert_int_equal(r.trace.tracks.at[e->track[i]].device, devices[i]);
        assert_int_equal(r.trace.tracks.at[e->track[i]].stream, -1);
    }
    assert_int_equal(e->track[0], e->track[1]);
    assert_int_equal(r.stats.copies, 3);
    assert_int_equal(r.stats.bad_time, 1);
    gp_records_release(&r);
}

TEST(faults_are_spans_or_instants_and_no_work)
{
    struct gp_records r = records();
    add_unified(&r, 3, 0x401000, 1000, 0, 0, 0, 1); /* by the CPU: its end means nothing */
    add_unified(&r, 4, 3, 2000, 2500, 1, 0, 2);     /* by device 1, a write */
    add_unified(&r, 6, 0, 3000, 2000, 1, 0, 0);     /* throttling that ends before it begins */
    add_unified(&r, 5, 4096, 0, 0, 3, 0, 0);        /* no time */
    add_unified(&r, 77, 0, 1, 2, 0, 0, 0);          /* of later times */
    gp_records_commit(&r, false);
    const struct gp_events *marks = &r.trace.events[GP_MARK], *spans = &r.trace.events[GP_OTHER];
    assert_int_equal(r.trace.events[GP_GPU].n, 0);
    assert_int_equal(marks->n, 1);
    assert_int_equal(marks->start_ns[0], 1000);
    assert_string_equal(gp_trace_str(&r.trace, gp_get_extra(marks, 0)), "{\"pc\":4198400}");
    assert_int_equal(spans->n, 2);
    assert_int_equal(spans->dur_ns[0], 500);
    assert_int_equal(spans->dur_ns[1], 0);
    assert_string_equal(gp_trace_str(&r.trace, gp_get_extra(spans, 0)),
                        "{\"fault groups\":3,\"access\":\"Write\"}");
    assert_int_equal(r.trace.losses.n, 1);
    assert_int_equal(r.unknown, 1);
    gp_records_release(&r);
}

TEST(what_is_done_to_pools_is_marked)
{
    struct gp_records r = records();
    add_pool(&r, 1, 10);
    add_pool(&r, 3, 20);
    add_pool(&r, 4, 30); /* of later times */
    add_pool(&r, 2, 0);
    gp_records_commit(&r, false);
    const struct gp_events *marks = &r.trace.events[GP_MARK];
    assert_int_equal(marks->n, 2);
    assert_int_equal(r.trace.events[GP_MEMORY].n, 0);
    assert_string_equal(gp_trace_str(&r.trace, marks->name[0]), "pool created");
    assert_string_equal(
        gp_trace_str(&r.trace, gp_get_extra(marks, 1)),
        "{\"Pool\":9,\"Device Id\":2,\"Size\":100,\"Used\":40,\"Release Threshold\":60,\"Kept At Least\":5}");
    assert_int_equal(r.trace.losses.n, 2);
    assert_int_equal(r.stats.allocations, 0);
    gp_records_release(&r);
}
