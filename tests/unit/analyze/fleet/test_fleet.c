// A fleet as a value: spreads, worst lists, axes that get coarser, and the same bytes for every order and
// grouping.
#include <stdlib.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/fleet/sim_member.h"
#include "tests/unit/unit.h"

TEST(test_spread)
{
    struct gp_sketch s = {0}, other = {0};
    for (int64_t v = 1; v <= 100; v++) gp_sketch_add(&s, v);
    assert_int_equal(gp_sketch_median(&s), 50); /* below 128 exact */
    assert_int_equal(s.sum, 5050);
    assert_int_equal(gp_sketch_deviation(&s, 50), (int64_t)(25 * 1.4826));
    for (int64_t v = 1000000; v < 1000000000; v = v * 9 / 8) { /* within 0.4% */
        int64_t middle = gp_sketch_middle(gp_sketch_bucket_of(v));
        assert_true(llabs((long long)(middle - v)) * 1000 <= v * 4);
    }
    gp_sketch_add(&other, -5);
    gp_sketch_add(&other, INT64_MAX);
    gp_sketch_merge(&s, &other);
    assert_int_equal(s.n, 102);
    assert_int_equal(s.sum, INT64_MAX);
    assert_true(s.at.at[s.at.n - 1].index < GP_SKETCH_BUCKETS);
    gp_sketch_release(&s);
    gp_sketch_release(&other);
}

TEST(test_worst)
{
    struct gp_topk w = {.most = 3};
    const int64_t values[] = {5, 9, 9, 1, 7};
    for (int32_t i = 0; i < 5; i++) gp_topk_add(&w, values[i], (struct gp_fleet_key){10 - i, 0});
    assert_int_equal(w.n, 3);
    assert_int_equal(w.at[0].key.rank, 8); /* of equal values the lower rank */
    assert_int_equal(w.at[1].key.rank, 9);
    assert_int_equal(w.at[2].value, 7);
    gp_topk_add(&w, 6, (struct gp_fleet_key){1, 0});
    assert_int_equal(w.at[2].value, 7);
}

TEST(test_axes_get_coarser)
{
    struct gp_fleet f;
    struct gp_strings none = {0};
    struct gp_fleet_member m = {.device = -1};
    gp_fleet_init(&f);
    for (int32_t rank = 0; rank < 2048; rank += 1) {
        struct gp_fleet_step s[] = {{100, 1000 + rank}, {100 + rank / 8, 500}};
        m.key.rank = rank;
        gp_fleet_add(&f, &m, &none, s, 2);
    }
    assert_int_equal(f.row_shift, 2);
    assert_int_equal(f.rows, 512);
    assert_int_equal(f.column_shift, 2); /* 100 to 355 in at most 64 columns */
    assert_int_equal(f.columns.at[0].index, 25);
    /* of ranks 4 to 7 in steps 100 to 103 the longest is 1007 */
    assert_int_equal(f.columns.at[0].cells[1], 1 + gp_sketch_bucket_of(1007));
    assert_int_equal(f.columns.at[0].worst.at[0].key.rank, 2047);
    assert_true(gp_fleet_has_rank(&f, 2047));
    assert_false(gp_fleet_has_rank(&f, 2048));
    assert_false(gp_fleet_repeats_rank(&f, 7));
    m.key.rank = 7;
    gp_fleet_add(&f, &m, &none, NULL, 0);
    assert_true(gp_fleet_repeats_rank(&f, 7));
    gp_fleet_release(&f);
}

/* ---- orders and groupings of whole results ---- */

enum { RANKS = 200 };
static const struct sim job = {.ranks = RANKS,
                               .steps = 3,
                               .per_node = 8,
                               .seed = 3,
                               .faults = {{SIM_COMPUTE, 17, 5, 0}, {SIM_KERNEL, 120, 20, 4}},
                               .n_faults = 2};

static struct gp_buf parts[RANKS];

static int make_parts(GP_UNUSED void **state)
{
    for (int32_t rank = 0; rank < RANKS; rank++) {
        struct gp_hta h;
        struct gp_trace t;
        gp_hta_init(&h, NULL);
        sim_trace(&job, rank, &t);
        if (gp_hta_add_trace(&h, &t, NULL)) return -1;
        gp_trace_release(&t);
        gp_hta_save(&h, &parts[rank]);
        gp_hta_release(&h);
    }
    return 0;
}

static int drop_parts(GP_UNUSED void **state)
{
    for (int32_t rank = 0; rank < RANKS; rank++) gp_buf_release(&parts[rank]);
    return 0;
}

TESTS_BETWEEN(make_parts, drop_parts);

static void load(struct gp_hta *h, const struct gp_buf *b)
{
    struct gp_err err = {0};
    gp_hta_init(h, NULL);
    if (gp_hta_load(h, b->data, b->n, &err)) fail_msg("%s", err.msg);
}

/* The N results at AT merged FAN_IN at a time, through saved bytes, until one is left. */
static struct gp_buf merge_all(const struct gp_buf *at, const uint32_t *order, size_t n, size_t fan_in)
{
    struct gp_buf *now = gp_zalloc(n * sizeof *now);
    size_t left = 0;
    for (size_t i = 0; i < n; i += fan_in) {
        struct gp_hta sum;
        gp_hta_init(&sum, NULL);
        for (size_t k = i; k < n && k < i + fan_in; k++) {
            struct gp_hta one;
            load(&one, order ? &at[order[k]] : &at[k]);
            gp_hta_merge(&sum, &one);
            gp_hta_release(&one);
        }
        gp_hta_save(&sum, &now[left++]);
        gp_hta_release(&sum);
    }
    struct gp_buf all = left > 1 ? merge_all(now, NULL, left, fan_in) : now[0];
    for (size_t i = 0; left > 1 && i < left; i++) gp_buf_release(&now[i]);
    free(now);
    return all;
}

TEST(test_every_order_and_fan_in)
{
    uint32_t order[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) order[i] = i;
    struct gp_buf expect = merge_all(parts, order, RANKS, 1000);
    assert_true(expect.n < 1 << 20);
    static const size_t fan_ins[] = {2, 3, 32, 1000};
    for (size_t k = 0; k < sizeof fan_ins / sizeof *fan_ins; k++) {
        for (uint32_t i = RANKS; i-- > 1;) { /* another order each time */
            uint32_t other = (uint32_t)(sim_hash(k, i, 1, 2) % (i + 1)), held = order[i];
            order[i] = order[other];
            order[other] = held;
        }
        struct gp_buf got = merge_all(parts, order, RANKS, fan_ins[k]);
        assert_int_equal(got.n, expect.n);
        assert_memory_equal(got.data, expect.data, got.n);
        gp_buf_release(&got);
    }
    gp_buf_release(&expect);
}

/* What is left out is in the sums. */
TEST(test_sums_are_whole)
{
    struct gp_hta h, all, one;
    struct gp_buf merged = merge_all(parts, NULL, RANKS, 32);
    load(&h, &merged);
    gp_hta_init(&all, &(struct gp_hta_opts){.all_ranks = true});
    for (int32_t rank = 0; rank < RANKS; rank++) {
        load(&one, &parts[rank]);
        gp_hta_merge(&all, &one);
        gp_hta_release(&one);
    }
    gp_hta_finish(&h);
    gp_hta_finish(&all);
    int64_t busy_ns = h.bound.b.busy_ns, expect_ns = 0;
    for (size_t i = 0; i < h.devices.n; i++) busy_ns += h.devices.at[i].b.busy_ns;
    for (size_t i = 0; i < all.devices.n; i++) expect_ns += all.devices.at[i].b.busy_ns;
    assert_int_equal(all.devices.n, RANKS);
    assert_int_equal(h.devices.n + h.bound.devices, RANKS);
    assert_true(h.devices.n <= 64);
    assert_int_equal(busy_ns, expect_ns);
    assert_int_equal(h.kernels.n, all.kernels.n);
    for (size_t i = 0; i < h.kernels.n; i++)
        assert_int_equal(h.kernels.at[i].dur.sum, all.kernels.at[i].dur.sum);
    assert_true(h.paths.n <= 32);
    assert_int_equal(h.paths.n + h.bound.paths, RANKS);
    assert_int_equal(h.missing_ranks.n, 0);
    assert_true(h.slow.at.n >= 2);
    assert_int_equal(h.slow.at.at[0].key.rank, 17);
    gp_hta_release(&h);
    gp_hta_release(&all);
    gp_buf_release(&merged);
}

/* More names than are kept: which of them are does not depend on the order, and nothing is lost. */
TEST(test_too_many_names)
{
    struct gp_buf bytes[2] = {{0}, {0}};
    for (int turn = 0; turn < 2; turn++) {
        struct gp_fleet f;
        gp_fleet_init(&f);
        uint64_t times = 0;
        for (int32_t i = 0; i < 100; i++) {
            int32_t rank = turn ? 99 - i : i;
            struct gp_strings names = {0};
            struct gp_fleet_member m = {.key = {rank, 0}, .device = -1};
            for (int k = 0; k < 20; k++) {
                char name[32];
                snprintf(name, sizeof name, "kernel_%d_%d", (int)rank, k);
                struct gp_fleet_kernel_time t = {gp_intern_cstr(&names, name), 1, k + 1, k + 1};
                GP_VEC_PUSH(&m.kernels, t);
            }
            gp_fleet_add(&f, &m, &names, NULL, 0);
            if (i % 10 == 0) gp_fleet_settle(&f);
            GP_VEC_FREE(&m.kernels);
            gp_strings_release(&names);
        }
        gp_fleet_settle(&f);
        assert_true(f.kernels.n <= GP_FLEET_NAMES && f.kernels.n > GP_FLEET_NAMES - 2);
        for (size_t i = 0; i < f.kernels.n; i++) times += f.kernels.at[i].step.n;
        assert_int_equal(times + f.names_left_out, 2000);
        struct gp_serializer x = {.save = &bytes[turn], .strings = &f.strings};
        gp_fleet_serialize(&x, &f);
        gp_fleet_release(&f);
    }
    assert_int_equal(bytes[0].n, bytes[1].n);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].n);
    gp_buf_release(&bytes[0]);
    gp_buf_release(&bytes[1]);
}
