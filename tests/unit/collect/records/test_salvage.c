// Buffers that nobody vouches for: whole records come out, torn and impossible ones do not, hostile bytes do
// no harm.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/records/salvage.h"
#include "tests/unit/record_make.h"
#include "tests/unit/unit.h"

enum { EARLIEST = 1000, LATEST = 1000000, ROUNDS = 5, PER_ROUND = 4 };

/* What came out. */
struct got {
    unsigned n, kernels, calls, sets;
    int64_t last_end_ns;
    const uint16_t *bytes;
};

static size_t known_bytes(void *ctx, uint32_t kind)
{
    (void)ctx;
    switch (kind) {
    case GP_ACTIVITY_CONCURRENT_KERNEL: return KERNEL_BYTES;
    case GP_ACTIVITY_RUNTIME: return CALL_BYTES;
    case GP_ACTIVITY_MEMSET: return SET_BYTES;
    case GP_ACTIVITY_STREAM: /* known, and of no use */ return 24;
    default: return 0;
    }
}

static void take(void *ctx, const void *record)
{
    struct got *g = ctx;
    uint8_t all[GP_RECORD_BYTES];
    uint32_t kind;
    memcpy(all, record, sizeof all); /* all of it may be read */
    memcpy(&kind, all, sizeof kind);
    g->n++;
    g->kernels += kind == GP_ACTIVITY_CONCURRENT_KERNEL;
    g->calls += kind == GP_ACTIVITY_RUNTIME;
    g->sets += kind == GP_ACTIVITY_MEMSET;
    if (kind == GP_ACTIVITY_STREAM) return;
    size_t at = kind == GP_ACTIVITY_RUNTIME             ? GP_AT_CALL_end
                : kind == GP_ACTIVITY_CONCURRENT_KERNEL ? GP_AT_KERNEL_end
                                                        : GP_AT_MEMSET_end;
    memcpy(&g->last_end_ns, all + at, sizeof g->last_end_ns);
    assert_true(g->last_end_ns >= EARLIEST && g->last_end_ns <= LATEST);
}

static struct gp_salvage salvage(struct got *g)
{
    memset(g, 0, sizeof *g);
    return (struct gp_salvage){.bytes = known_bytes,
                               .take = take,
                               .ctx = g,
                               .pid = PID,
                               .earliest_ns = EARLIEST,
                               .latest_ns = LATEST};
}

/* A call, a stream, a kernel and a set, five times; the ends of the records in ENDS. */
static size_t fill(uint8_t *data, size_t ends[ROUNDS * PER_ROUND])
{
    uint8_t *p = data;
    size_t k = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        int64_t t = 2000 + 1000 * i;
        ends[k++] = (size_t)((p = make_call(p, i + 1, t, t + 100)) - data);
        memset(p, 0x11, 24);
        PUT(p, 0, uint32_t, GP_ACTIVITY_STREAM);
        ends[k++] = (size_t)((p += 24) - data);
        ends[k++] = (size_t)((p = make_kernel(p, 0x1234, i + 1, t + 200, t + 300)) - data);
        ends[k++] = (size_t)((p = make_set(p, i + 1, t + 400, t + 500)) - data);
    }
    return (size_t)(p - data);
}

TEST(whole_records_come_out_up_to_the_zeros)
{
    static uint8_t data[8192];
    size_t ends[ROUNDS * PER_ROUND];
    struct got g;
    struct gp_salvage s = salvage(&g);
    memset(data, 0, sizeof data);
    fill(data, ends);
    gp_salvage_buffer(&s, data, sizeof data);
    assert_int_equal(g.n, 15);
    assert_int_equal(g.kernels, 5);
    assert_int_equal(g.calls, 5);
    assert_int_equal(g.sets, 5);
    assert_int_equal(s.taken, 15);
    assert_int_equal(s.unfinished + s.refused, 0);
}

/* In a block of its own size, so that reading beyond it is noticed. */
TEST(a_buffer_may_end_anywhere)
{
    static uint8_t data[8192];
    size_t ends[ROUNDS * PER_ROUND], n = fill(data, ends);
    for (size_t cut = 0; cut <= n; cut++) {
        struct got g;
        struct gp_salvage s = salvage(&g);
        uint8_t *copy = malloc(cut ? cut : 1);
        memcpy(copy, data, cut);
        gp_salvage_buffer(&s, copy, cut);
        unsigned whole = 0, useful = 0;
        for (size_t k = 0; k < ROUNDS * PER_ROUND; k++) {
            whole += ends[k] <= cut;
            useful += ends[k] <= cut && k % PER_ROUND != 1;
        }
        assert_int_equal(g.n, useful);
        memset(&g, 0, sizeof g);
        gp_salvage_returned(&s, copy, cut, whole);
        assert_int_equal(g.n, whole);
        free(copy);
    }
}

/* Whatever one byte becomes: what comes out lies in time, and is no more than there is room for. */
TEST(any_byte_may_be_any_other)
{
    static uint8_t data[4096];
    size_t ends[ROUNDS * PER_ROUND], n = fill(data, ends);
    static const uint8_t masks[] = {0x01, 0x80, 0xff};
    for (size_t i = 0; i < n; i++)
        for (size_t m = 0; m < sizeof masks; m++) {
            struct got g;
            struct gp_salvage s = salvage(&g);
            data[i] ^= masks[m];
            gp_salvage_buffer(&s, data, n);
            assert_true(g.n <= n / 8);
            data[i] ^= masks[m];
        }
}

TEST(noise_is_not_taken_for_records)
{
    static uint8_t data[65536];
    uint64_t seed = 1;
    struct got g;
    struct gp_salvage s = salvage(&g);
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof data; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            data[i] = (uint8_t)(seed >> 56);
        }
        for (size_t at = 0; at + 8 <= sizeof data; at += 40) PUT(data, at, uint32_t, GP_ACTIVITY_RUNTIME);
        gp_salvage_buffer(&s, data, sizeof data);
    }
    assert_int_equal(g.n, 0);
    assert_true(s.refused > 1000);
}

TEST(work_that_has_not_ended_is_counted)
{
    uint8_t data[4096] = {0};
    uint8_t *p = make_kernel(data, 1, 1, 2000, 0);
    p = make_kernel(p, 1, 2, 0, 0);
    p = make_kernel(p, 1, 3, 2000, 3000);
    make_set(p, 4, 0, 0);
    struct got g;
    struct gp_salvage s = salvage(&g);
    gp_salvage_buffer(&s, data, sizeof data);
    assert_int_equal(g.n, 1);
    assert_int_equal(s.unfinished, 3);
    assert_int_equal(s.refused, 0);
}

TEST(what_cannot_be_true_is_refused)
{
    static const struct {
        size_t at;
        uint64_t value;
    } bad[] = {
        {GP_AT_KERNEL_start, EARLIEST - 1},
        {GP_AT_KERNEL_end, LATEST + 1},
        {GP_AT_KERNEL_end, 1500},
        {GP_AT_KERNEL_start, UINT64_MAX - 5},
        {GP_AT_KERNEL_deviceId, 1 << 20},
        {GP_AT_KERNEL_correlationId, 0},
        {GP_AT_KERNEL_gridX, 0},
        {GP_AT_KERNEL_gridX + 8, 0},
        {GP_AT_KERNEL_blockX + 4, 5000},
    };
    for (size_t i = 0; i < GP_COUNT(bad); i++) {
        uint8_t data[4096] = {0};
        struct got g;
        struct gp_salvage s = salvage(&g);
        make_kernel(make_kernel(data, 1, 1, 2000, 3000), 1, 2, 4000, 5000);
        if (bad[i].at == GP_AT_KERNEL_start || bad[i].at == GP_AT_KERNEL_end)
            PUT(data, bad[i].at, uint64_t, bad[i].value);
        else PUT(data, bad[i].at, uint32_t, bad[i].value);
        gp_salvage_buffer(&s, data, sizeof data);
        assert_int_equal(s.refused, 1);
        assert_int_equal(g.n, 1); /* the one behind it stays */
        assert_int_equal(g.last_end_ns, 5000);
    }
    uint8_t data[4096] = {0};
    struct got g;
    struct gp_salvage s = salvage(&g);
    make_call(data, 1, 2000, 3000);
    s.pid = PID + 1; /* another process's call */
    gp_salvage_buffer(&s, data, sizeof data);
    assert_int_equal(g.n, 0);
    assert_int_equal(s.refused, 1);
}

TEST(times_are_not_compared_with_another_clock)
{
    uint8_t data[4096] = {0};
    struct got g;
    struct gp_salvage s = salvage(&g);
    make_kernel(data, 1, 1, 900000, 1000000);
    s.earliest_ns = 0;
    s.latest_ns = 10;
    gp_salvage_buffer(&s, data, sizeof data);
    assert_int_equal(g.n, 1);
}

TEST(a_returned_buffer_is_read_to_its_last_record)
{
    uint8_t data[4096] = {0};
    uint8_t *p = make_call(data, 1, 2000, 3000),
            *end = make_kernel(p, 1, 1, 0, 0); /* without a time, but vouched for */
    struct got g;
    struct gp_salvage s = salvage(&g);
    /* of a kind whose size was never seen: there is nothing behind it */
    PUT(p, 0, uint32_t, GP_ACTIVITY_MEMCPY);
    PUT(p, GP_AT_MEMSET_end, int64_t, 2000);
    gp_salvage_returned(&s, data, (size_t)(end - data), 5);
    assert_int_equal(g.n, 2);
}
