/* A history as a curve and as moments: sums worked out by hand, and that they close where points are left
 * out. */
#include <stdio.h>
#include <string.h>

#include "analyze/memory/moments.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

static const char DEVICE[] = "{\"Device Type\":1,\"Device Id\":0}";

struct making {
    struct gp_trace t;
    uint32_t thread;
    int64_t total;
};

static void begin(struct making *k)
{
    gp_trace_init(&k->t, GP_NEED_ALL);
    k->thread = mk_thread(&k->t, mk_process(&k->t, 1, 0), 1);
    k->total = 0;
}

static void op(struct making *k, int64_t from, int64_t to, const char *name)
{
    mk_host(&k->t, GP_OP, k->thread, from, to, name);
}

static void change(struct making *k, int64_t at, uint64_t addr, int64_t bytes)
{
    struct gp_events *e = &k->t.events[GP_MEMORY];
    size_t row = gp_events_add(e, at, 0, k->thread, mk_name(&k->t, "[memory]"));
    k->total += bytes;
    gp_set_bytes(e, row, bytes);
    gp_set_total(e, row, k->total);
    gp_set_reserved(e, row, 4096);
    gp_set_addr(e, row, addr);
    gp_set_extra(e, row, mk_name(&k->t, DEVICE));
}

static void finish(struct making *k, struct gp_memory *m)
{
    struct gp_err err;
    gp_trace_finish(&k->t);
    gp_memory_init(m, &(struct gp_memory_opts){.device = -1});
    gp_memory_add_trace(m, &k->t);
    assert_int_equal(gp_memory_finish(m, &err), 0);
    gp_trace_release(&k->t);
    assert_int_equal(m->devices.n, 1);
}

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
    struct making k;
    struct gp_memory m;
    struct gp_memory_moments at;
    static const int64_t allocated[] = {1000, 1500, 1800, 800}, a[] = {1000, 1500, 1500, 500},
                         b[] = {0, 0, 300, 300};
    begin(&k);
    op(&k, 100, 250, "aten::a");
    op(&k, 300, 350, "aten::b");
    change(&k, 110, 0x1000, 1000);
    change(&k, 210, 0x2000, 500);
    change(&k, 310, 0x3000, 300);
    change(&k, 410, 0x1000, -1000);
    finish(&k, &m);
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
    struct making k;
    struct gp_memory m;
    struct gp_memory_moments at;
    begin(&k);
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "aten::op%d", i % 50);
        op(&k, i * 100, i * 100 + 90, name);
        change(&k, i * 100 + 10, 0x100000u + (uint64_t)i * 0x10000, i == 1500 ? 50000 : 512 * (1 + i % 7));
        if (i >= 20)
            change(&k, i * 100 + 50, 0x100000u + (uint64_t)(i - 20) * 0x10000,
                   i - 20 == 1500 ? -50000 : -512 * (1 + (i - 20) % 7));
    }
    finish(&k, &m);
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
