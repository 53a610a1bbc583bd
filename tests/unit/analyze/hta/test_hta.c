// The whole analysis: inputs and ranks, merging that does not show, saving, and bytes that are damaged.
#include <stdlib.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* A rank with two devices and a bit of everything. The same SEED gives the same trace; names differ with
 * it. */
static struct gp_trace make_trace(int32_t rank, uint32_t seed)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    t.rank = rank;
    t.world_size = 4;
    t.input = (struct gp_input_info){
        .path = "rank.json", .format = "chrome", .compression = "gzip", .bytes = 1000, .events = 500};
    uint32_t p = mk_process(&t, 100 + rank, 0), thread = mk_thread(&t, p, 1), streams[4];
    for (int i = 0; i < 4; i++) streams[i] = mk_stream(&t, p, i / 2, 7 + i % 2);
    static const char *const names[] = {"gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "_Z3addv",
                                        "softmax"};
    mk_host(&t, GP_RANGE, thread, 900, 200000, "ProfilerStep#3");
    mk_host(&t, GP_PYTHON, thread, 950, 150000, "nn.Module: Linear_0");
    for (uint32_t i = 1; i <= 60; i++) {
        int64_t at = 1000 + i * 2000;
        uint32_t r = next_random(&seed);
        if (i % 3 == 0) mk_host(&t, GP_OP, thread, at - 50, at + 500, r % 2 ? "aten::mm" : "aten::add");
        mk_call(&t, thread, at, at + 100, "cudaLaunchKernel", i);
        int64_t start = at + 200 + r % 3000, end = start + r % 5000;
        if (r % 5 == 0) {
            size_t row =
                mk_gpu(&t, streams[r % 4], start, end, GP_MEMCPY, "Memcpy HtoD (Pinned -> Device)", i);
            gp_set_bytes(&t.events[GP_GPU], row, r);
        } else {
            mk_kernel(&t, streams[r % 4], start, end, names[(r + seed) % 4], i);
        }
    }
    gp_trace_issue(&t, GP_Q_SYNTAX, rank == 2, 77);
    gp_trace_finish(&t);
    return t;
}

static void add(struct gp_hta *h, int32_t rank, uint32_t seed)
{
    struct gp_trace t = make_trace(rank, seed);
    struct gp_err err = {0};
    if (gp_hta_add_trace(h, &t, &err)) fail_msg("%s", err.msg);
    gp_trace_release(&t);
}

static void init(struct gp_hta *h) { gp_hta_init(h, &(struct gp_hta_opts){.repair = GP_REPAIR_NONE}); }

static struct gp_buf saved(struct gp_hta *h)
{
    struct gp_buf b = {0};
    gp_hta_save(h, &b);
    return b;
}

static void expect_same_bytes(struct gp_hta *a, struct gp_hta *b)
{
    struct gp_buf x = saved(a), y = saved(b);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.data, y.data, x.n);
    gp_buf_release(&x);
    gp_buf_release(&y);
}

TEST(test_merging_does_not_show)
{
    struct gp_hta one, left, right, third;
    init(&one);
    init(&left);
    init(&right);
    init(&third);
    for (int32_t rank = 0; rank < 4; rank++) add(&one, rank, (uint32_t)rank + 7);
    add(&left, 0, 7);
    add(&right, 1, 8);
    add(&third, 2, 9);
    add(&third, 3, 10);
    gp_hta_merge(&right, &third); /* in another grouping, in the same order */
    gp_hta_merge(&left, &right);
    assert_int_equal(right.inputs.n, 0);
    expect_same_bytes(&one, &left);
    gp_hta_finish(&one);
    gp_hta_finish(&left);
    assert_int_equal(left.devices.n, 8);
    assert_int_equal(left.devices.at[7].input, 3);
    expect_same_bytes(&one, &left);
    gp_hta_release(&one);
    gp_hta_release(&left);
    gp_hta_release(&right);
    gp_hta_release(&third);
}

TEST(test_saving_does_not_show)
{
    struct gp_hta one, first, second;
    struct gp_err err = {0};
    init(&one);
    init(&first);
    init(&second);
    add(&one, 0, 7);
    struct gp_buf b = saved(&one);
    assert_int_equal(gp_hta_load(&first, b.data, b.n, &err), 0);
    gp_buf_release(&b);
    add(&one, 1, 8);
    add(&second, 1, 8);
    b = saved(&second);
    gp_hta_release(&second);
    init(&second);
    assert_int_equal(gp_hta_load(&second, b.data, b.n, &err), 0);
    gp_buf_release(&b);
    gp_hta_merge(&first, &second);
    expect_same_bytes(&one, &first);
    gp_hta_finish(&one);
    gp_hta_finish(&first);
    expect_same_bytes(&one, &first);
    gp_hta_release(&one);
    gp_hta_release(&first);
    gp_hta_release(&second);
}

static void expect_failure(const uint8_t *data, size_t n, enum gp_err_code code, int64_t offset,
                           const char *msg)
{
    struct gp_hta h;
    struct gp_err err = {0};
    init(&h);
    assert_int_equal(gp_hta_load(&h, data, n, &err), -1);
    assert_int_equal(err.code, code);
    assert_int_equal(err.offset, offset);
    assert_string_equal(err.msg, msg);
    assert_int_equal(h.inputs.n, 0);
    gp_hta_release(&h);
}

enum { HEAD = 28, HASH_AT = 20 };

TEST(test_what_is_no_partial_result)
{
    struct gp_hta h;
    init(&h);
    add(&h, 0, 7);
    struct gp_buf b = saved(&h);
    uint8_t *p = (uint8_t *)b.data;
    expect_failure(p, 0, GP_E_FORMAT, 0, "not a saved partial result");
    expect_failure((const uint8_t *)"{\"traceEvents\":[]}", 18, GP_E_FORMAT, 0, "not a saved partial result");
    expect_failure(p, HEAD - 1, GP_E_SYNTAX, HEAD - 1, "the partial result ends early");
    expect_failure(p, b.n - 1, GP_E_SYNTAX, (int64_t)b.n - 1, "the partial result ends early");
    p[HEAD + 5] ^= 1;
    expect_failure(p, b.n, GP_E_SYNTAX, HEAD, "the partial result is damaged");
    p[HEAD + 5] ^= 1;
    p[9] ^= 1;
    struct gp_err err = {0};
    struct gp_hta to;
    init(&to);
    assert_int_equal(gp_hta_load(&to, p, b.n, &err), -1);
    assert_int_equal(err.code, GP_E_FORMAT);
    assert_non_null(strstr(err.msg, "version"));
    p[9] ^= 1;
    assert_int_equal(gp_hta_load(&to, p, b.n, &err), 0);
    gp_buf_putc(&b, 0);
    expect_failure((uint8_t *)b.data, b.n, GP_E_SYNTAX, (int64_t)b.n - 1,
                   "trailing data after the partial result");
    gp_hta_release(&to);
    gp_hta_release(&h);
    gp_buf_release(&b);
}

static void put_hash(uint8_t *p, size_t n)
{
    uint64_t hash = gp_hash_bytes(p + HEAD, n - HEAD);
    for (int i = 0; i < 8; i++) p[HASH_AT + i] = (uint8_t)(hash >> 8 * i);
}

/* Any byte changed fails. With a hash that fits again it may load, and then everything else must work. */
TEST(test_any_byte_changed)
{
    struct gp_hta h;
    init(&h);
    add(&h, 0, 7);
    struct gp_buf b = saved(&h);
    gp_hta_release(&h);
    uint8_t *copy = gp_alloc(b.n);
    uint32_t seed = 3;
    size_t loaded = 0;
    for (size_t i = 0; i < b.n; i++) {
        memcpy(copy, b.data, b.n);
        copy[i] ^= (uint8_t)(1 + next_random(&seed) % 255);
        init(&h);
        assert_int_equal(gp_hta_load(&h, copy, b.n, NULL), -1);
        if (i >= HEAD) {
            put_hash(copy, b.n);
            if (!gp_hta_load(&h, copy, b.n, NULL)) {
                struct gp_hta to;
                init(&to);
                add(&to, 1, 8);
                gp_hta_merge(&to, &h);
                gp_hta_finish(&to);
                gp_hta_release(&to);
                loaded++;
            }
        }
        gp_hta_release(&h);
    }
    assert_true(loaded > 0); /* most numbers may be anything */
    free(copy);
    gp_buf_release(&b);
}

TEST(test_ranks)
{
    struct gp_hta h;
    init(&h);
    add(&h, 5, 1);
    add(&h, 2, 2);
    add(&h, 5, 3);
    add(&h, 0, 4);
    add(&h, 5, 5);
    h.world_size = 8;
    gp_hta_finish(&h);
    assert_int_equal(h.repeated_ranks.n, 1);
    assert_int_equal(h.repeated_ranks.at[0], 5);
    assert_int_equal(h.missing_ranks.n, 5); /* 1, 3, 4, 6, 7 */
    assert_int_equal(h.missing_ranks.at[1], 3);
    assert_int_equal(h.missing_ranks.at[4], 7);
    assert_int_equal(h.devices.at[0].rank, 0);
    assert_int_equal(h.devices.at[0].input, 0); /* the inputs are sorted by rank */
    assert_int_equal(h.devices.at[4].rank, 5);
    assert_int_equal(h.devices.at[4].input, 2);
    assert_int_equal(h.devices.at[9].input, 4);
    gp_hta_release(&h);
}

TEST(test_nobody_says_a_rank)
{
    struct gp_hta h;
    init(&h);
    add(&h, -1, 1);
    add(&h, -1, 2);
    gp_hta_finish(&h);
    assert_int_equal(h.repeated_ranks.n, 0);
    assert_int_equal(h.missing_ranks.n, 0);
    gp_hta_release(&h);
    init(&h); /* a world that cannot be */
    add(&h, 0, 1);
    h.world_size = INT32_MAX;
    gp_hta_finish(&h);
    assert_true(h.missing_ranks.n <= 1 << 16);
    gp_hta_release(&h);
}

/* Several processes with ranks of their own in one trace. */
TEST(test_ranks_of_processes)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    for (int32_t i = 0; i < 3; i++) {
        uint32_t p = mk_process(&t, i + 1, (uint32_t)i);
        t.processes.at[p].rank = i == 2 ? 3 : i;
        for (int64_t d = 0; d < 2; d++) mk_kernel(&t, mk_stream(&t, p, d, 7), 1, 2, "k", 1);
    }
    gp_trace_finish(&t);
    struct gp_hta h;
    init(&h);
    assert_int_equal(gp_hta_add_trace(&h, &t, NULL), 0);
    gp_hta_finish(&h);
    assert_int_equal(h.devices.n, 6);
    assert_int_equal(h.inputs.at[0].rank, -1);
    assert_int_equal(h.repeated_ranks.n, 0);
    assert_int_equal(h.missing_ranks.n, 1);
    assert_int_equal(h.missing_ranks.at[0], 2);
    gp_hta_release(&h);
    gp_trace_release(&t);
}

static void expect_verdict(int32_t rank, const char *verdict, uint64_t skipped)
{
    struct gp_hta h;
    init(&h);
    add(&h, rank, 1);
    const struct gp_input_quality *in = &h.inputs.at[0];
    assert_string_equal(gp_hta_str(&h, in->verdict), verdict);
    assert_int_equal(in->skipped, skipped);
    assert_int_equal(in->gpu_events, 60);
    assert_int_equal(in->events, 500);
    assert_string_equal(gp_hta_str(&h, in->path), "rank.json");
    assert_int_equal(in->issues[GP_Q_SYNTAX].count, skipped);
    gp_hta_release(&h);
}

TEST(test_inputs)
{
    expect_verdict(1, "clean", 0);
    expect_verdict(2, "repaired", 1); /* rank 2 comes with an event that could not be read */
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    mk_host(&t, GP_OP, mk_thread(&t, mk_process(&t, 1, 0), 1), 0, 10, "aten::mm");
    gp_trace_finish(&t);
    struct gp_hta h;
    init(&h);
    assert_int_equal(gp_hta_add_trace(&h, &t, NULL), 0);
    gp_hta_finish(&h);
    assert_string_equal(gp_hta_str(&h, h.inputs.at[0].verdict), "unusable"); /* no GPU events */
    assert_int_equal(h.devices.n + h.kernels.n, 0);
    gp_hta_release(&h);
    gp_trace_release(&t);
}
