// Allocations, frees and copies by the innermost range around them.
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "analyze/hta/hta_rows.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

static const char DEVICE[] = "{\"Device Type\":1,\"Device Id\":0}",
                  OTHER[] = "{\"Device Type\":1,\"Device Id\":1}";
static const char HOST[] = "{\"Device Type\":0,\"Device Id\":-1}";

static void allocate(struct gp_trace *t, uint32_t thread, int64_t at, int64_t bytes, int64_t total,
                     const char *args)
{
    struct gp_events *e = &t->events[GP_MEMORY];
    size_t row = gp_events_add(e, at, 0, thread, mk_name(t, "[memory]"));
    gp_set_bytes(e, row, bytes);
    gp_set_total(e, row, total);
    gp_set_extra(e, row, mk_name(t, args));
}

static void range(struct gp_trace *t, uint32_t thread, int64_t start, int64_t end, const char *name)
{
    gp_events_add(&t->events[GP_RANGE], start, end - start, thread, mk_name(t, name));
}

static void copy(struct gp_trace *t, uint32_t stream, int64_t start, int64_t bytes, uint64_t corr)
{
    size_t row = mk_gpu(t, stream, start, start + 5, GP_MEMCPY, "Memcpy HtoD (Pinned -> Device)", corr);
    gp_set_bytes(&t->events[GP_GPU], row, bytes);
}

/* step 0-100 { layer 20-40 }, another step 200-300, on thread 1; a thread beside it has no ranges. What is
 * allocated on the devices: 100 at 10, 400 at 30 (+300 in the layer), 1400 at 35 (+1000 on the other device),
 * 1150 at 50 (-250), 1160 at 60 (+10 by the other thread), 1100 at 210 (-60), 1200 at 220 (+100). */
static void make(struct gp_trace *t)
{
    gp_trace_init(t, GP_NEED_ALL);
    uint32_t p = mk_process(t, 1, 0), one = mk_thread(t, p, 1), two = mk_thread(t, p, 2),
             s = mk_stream(t, p, 0, 7);
    range(t, one, 0, 100, "step");
    range(t, one, 20, 40, "layer");
    range(t, one, 200, 300, "step");
    allocate(t, one, 10, 100, 0, DEVICE);
    allocate(t, one, 30, 300, 0, DEVICE);
    allocate(t, one, 35, 1000, 0, OTHER);
    allocate(t, one, 50, -250, 0, DEVICE);
    allocate(t, two, 60, 10, 0, DEVICE);
    allocate(t, one, 70, 4096, 0, HOST);
    allocate(t, one, 80, -4096, 0, HOST);
    allocate(t, one, 210, -60, 0, DEVICE);
    allocate(t, one, 220, 100, 0, DEVICE);
    mk_call(t, one, 25, 28, "cudaMemcpyAsync", 1);
    mk_call(t, one, 230, 235, "cudaMemcpyAsync", 2);
    mk_call(t, two, 240, 245, "cudaMemcpyAsync", 3);
    copy(t, s, 110, 64, 1); /* runs outside, but was started in the layer */
    copy(t, s, 240, 1000, 2);
    copy(t, s, 250, 8, 3);
    copy(t, s, 260, 512, GP_NO_ID); /* nobody started it */
    gp_trace_finish(t);
}

static void add(struct gp_hta *h, struct gp_trace *t)
{
    struct gp_view v;
    gp_view_init(&v, t, NULL);
    gp_hta_range_memory_section.add(h, &v);
    gp_view_release(&v);
}

static const struct gp_range_memory *find(const struct gp_hta *h, const char *name)
{
    for (size_t i = 0; i < h->range_memory.n; i++)
        if (!strcmp(gp_hta_str(h, h->range_memory.at[i].name), name)) return &h->range_memory.at[i];
    fail_msg("no range %s", name);
    return NULL;
}

static void assert_row(const struct gp_range_memory *m, const int64_t want[9])
{
    const int64_t have[] = {(int64_t)m->allocations, (int64_t)m->frees,  m->allocated_bytes,
                            m->freed_bytes,          m->peak_bytes,      (int64_t)m->host_allocations,
                            m->host_bytes,           (int64_t)m->copies, m->copied_bytes};
    for (size_t i = 0; i < 9; i++) assert_int_equal(have[i], want[i]);
}

TEST(the_innermost_range_counts)
{
    struct gp_trace t;
    struct gp_hta h;
    make(&t);
    gp_hta_init(&h, NULL);
    add(&h, &t);
    gp_hta_section_sort(&gp_hta_range_memory_section, &h);
    assert_int_equal(h.range_memory.n, 3);
    /* allocations, frees, allocated, freed, peak, host allocations, host bytes, copies, copied bytes */
    assert_row(find(&h, "step"), (const int64_t[]){2, 2, 100 + 100, 250 + 60, 1200, 1, 4096, 1, 1000});
    assert_row(find(&h, "layer"), (const int64_t[]){2, 0, 300 + 1000, 0, 1400, 0, 0, 1, 64});
    assert_row(find(&h, ""), (const int64_t[]){1, 0, 10, 0, 1160, 0, 0, 2, 8 + 512});
    /* 1364, 1200 and 530 bytes */
    static const char *const order[] = {"layer", "step", ""};
    for (size_t i = 0; i < 3; i++) assert_string_equal(gp_hta_str(&h, h.range_memory.at[i].name), order[i]);
    gp_hta_release(&h);
    gp_trace_release(&t);
}

TEST(ranks_add_up_and_the_highest_peak_stays)
{
    struct gp_trace t;
    struct gp_hta h, other;
    make(&t);
    gp_hta_init(&h, NULL);
    gp_hta_init(&other, NULL);
    add(&h, &t);
    add(&other, &t);
    gp_hta_section_merge(&gp_hta_range_memory_section, &h, &other);
    gp_hta_section_sort(&gp_hta_range_memory_section, &h);
    assert_int_equal(h.range_memory.n, 3);
    assert_row(find(&h, "step"), (const int64_t[]){4, 4, 400, 620, 1200, 2, 8192, 2, 2000});
    assert_row(find(&h, ""), (const int64_t[]){2, 0, 20, 0, 1160, 0, 0, 4, 1040});
    gp_hta_release(&h);
    gp_hta_release(&other);
    gp_trace_release(&t);
}

/* An allocator that tells its totals had 5000 before the trace began. */
TEST(totals_that_are_recorded_go_before_sums)
{
    struct gp_trace t;
    struct gp_hta h;
    gp_trace_init(&t, GP_NEED_ALL);
    uint32_t p = mk_process(&t, 1, 0), one = mk_thread(&t, p, 1);
    range(&t, one, 0, 100, "step");
    allocate(&t, one, 10, 100, 5100, DEVICE);
    allocate(&t, one, 20, -400, 4700, DEVICE);
    allocate(&t, one, 30, 200, 4900, DEVICE);
    gp_trace_finish(&t);
    gp_hta_init(&h, NULL);
    add(&h, &t);
    assert_row(find(&h, "step"), (const int64_t[]){2, 1, 300, 400, 5100, 0, 0, 0, 0});
    gp_hta_release(&h);
    gp_trace_release(&t);
}
