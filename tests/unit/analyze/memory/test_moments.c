/* A history as a curve and as moments: sums worked out by hand, and that they close where points are left
 * out. */
#include <stdio.h>
#include <string.h>

#include "analyze/memory/memory.h"
#include "tests/unit/memory_make.h"
#include "tests/unit/unit.h"

static void check_sums(const struct gp_memory_moments *at)
{
    for (size_t i = 0; i < at->curve.n; i++) {
        int64_t sum = 0;
        for (int c = 0; c < GP_CATEGORY_COUNT; c++)
            sum += gp_memory_moments_category(at, (enum gp_category)c, i);
        assert_int_equal(sum, at->curve.at[i].allocated);
        if (i) assert_true(at->curve.at[i - 1].time_ns <= at->curve.at[i].time_ns);
    }
    for (size_t i = 0; i < at->moments.n; i++) {
        int64_t sum = 0;
        for (size_t s = 0; s <= at->sites.n; s++) sum += gp_memory_moments_bytes(at, s, i);
        assert_int_equal(sum, at->moments.at[i].allocated);
    }
}

/* aten::a allocates 1000 and 500, aten::b 300; the first goes when 1800 are there: 1000, 1500, 1800, 800. */
TEST(test_small)
{
    struct memory_made k;
    struct gp_memory m;
    struct gp_memory_moments at;
    static const int64_t allocated[] = {1000, 1500, 1800, 800}, a[] = {1000, 1500, 1500, 500},
                         b[] = {0, 0, 300, 300};
    memory_begin(&k);
    memory_op(&k, 100, 250, "aten::a");
    memory_op(&k, 300, 350, "aten::b");
    memory_change(&k, 110, 0x1000, 1000);
    memory_change(&k, 210, 0x2000, 500);
    memory_change(&k, 310, 0x3000, 300);
    memory_change(&k, 410, 0x1000, -1000);
    memory_finish(&k, &m);
    gp_memory_moments_init(&at, &m, 0, &(struct gp_memory_moments_opts){100, 100, 10});
    assert_int_equal(at.sites.n, 2);
    assert_string_equal(gp_memory_str(&m, m.devices.at[0].sites.at[at.sites.at[0]].key), "aten::a");
    assert_int_equal(at.other_sites, 0);
    assert_int_equal(at.oom, SIZE_MAX);
    check_sums(&at);
    size_t first = at.moments.n - 4; /* the state before the first entry may come before */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(at.moments.at[first + i].allocated, allocated[i]);
        assert_int_equal(at.moments.at[first + i].time_ns, (int64_t)i * 100);
        assert_int_equal(gp_memory_moments_bytes(&at, 0, first + i), a[i]);
        assert_int_equal(gp_memory_moments_bytes(&at, 1, first + i), b[i]);
    }
    assert_int_equal(at.peak, first + 2);
    assert_int_equal(gp_memory_moments_blocks(&at, 0, at.peak), 2);
    assert_int_equal(gp_memory_moments_blocks(&at, 0, first + 3), 1);
    gp_memory_moments_release(&at);
    gp_memory_release(&m);
}

/* Fifty operators; 6,000 changes, the peak a lone one in the middle: few points, few sites, and still the
 * peak. */
TEST(test_limits)
{
    struct memory_made k;
    struct gp_memory m;
    struct gp_memory_moments at;
    memory_begin(&k);
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "aten::op%d", i % 50);
        memory_op(&k, i * 100, i * 100 + 90, name);
        memory_change(&k, i * 100 + 10, 0x100000u + (uint64_t)i * 0x10000,
                      i == 1500 ? 50000 : 512 * (1 + i % 7));
        if (i >= 20)
            memory_change(&k, i * 100 + 50, 0x100000u + (uint64_t)(i - 20) * 0x10000,
                          i - 20 == 1500 ? -50000 : -512 * (1 + (i - 20) % 7));
    }
    memory_finish(&k, &m);
    gp_memory_moments_init(&at, &m, 0, &(struct gp_memory_moments_opts){200, 60, 10});
    assert_in_range(at.curve.n, 50, 210);
    assert_in_range(at.moments.n, 20, 70);
    assert_int_equal(at.sites.n, 10);
    assert_int_equal(at.other_sites, 40);
    assert_int_equal(at.moments.at[at.peak].position, m.devices.at[0].peak_position);
    assert_int_equal(at.moments.at[at.peak].allocated, m.devices.at[0].peak_bytes);
    check_sums(&at);
    assert_string_equal(gp_memory_str(&m, m.devices.at[0].sites.at[at.sites.at[0]].key), "aten::op0");
    gp_memory_moments_release(&at);
    gp_memory_release(&m);
}
