// Where the time of a device went. Every expected figure is worked out by hand beside its events.
#include <stdlib.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_priv.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

struct made {
    struct gp_trace t;
    uint32_t process, s7, s9;
    struct gp_hta h;
};

static void begin(struct made *m)
{
    gp_trace_init(&m->t, GP_NEED_ALL);
    m->process = mk_process(&m->t, 1, 0);
    m->s7 = mk_stream(&m->t, m->process, 0, 7);
    m->s9 = mk_stream(&m->t, m->process, 0, 9);
}

/* The breakdown of the only device; the identity that must always hold is checked. */
static const struct gp_breakdown *look(struct made *m)
{
    gp_trace_finish(&m->t);
    gp_hta_init(&m->h, &(struct gp_hta_opts){.repair = GP_REPAIR_NONE});
    assert_int_equal(gp_hta_add_trace(&m->h, &m->t, NULL), 0);
    assert_int_equal(m->h.devices.n, 1);
    const struct gp_breakdown *b = &m->h.devices.at[0].b;
    assert_int_equal(b->compute_ns + b->exposed_communication_ns + b->exposed_memory_ns + b->idle_ns,
                     b->span_ns);
    assert_int_equal(b->busy_ns + b->idle_ns, b->span_ns);
    assert_int_equal(b->end_ns - b->begin_ns, b->span_ns);
    return b;
}

static void end(struct made *m)
{
    gp_hta_release(&m->h);
    gp_trace_release(&m->t);
}

TEST(test_three_classes_on_two_streams)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 100, 200, "a", 1);  /* compute  100..200 */
    mk_kernel(&m.t, m.s9, 150, 260, NCCL, 2); /* comm     150..260: 50 under compute, 60 not */
    mk_gpu(&m.t, m.s7, 240, 300, GP_MEMCPY, "Memcpy HtoD", 3); /* memory   240..300: 20 under comm, 40 not */
    mk_kernel(&m.t, m.s7, 350, 400, "b", 4);                   /* compute  350..400, after 50 idle */
    mk_gpu(&m.t, m.s9, 360, 390, GP_MEMSET, "Memset", 5);      /* memory   360..390: all under compute */
    const struct gp_breakdown *b = look(&m);
    assert_int_equal(b->begin_ns, 100);
    assert_int_equal(b->span_ns, 300);
    assert_int_equal(b->busy_ns, 250);
    assert_int_equal(b->idle_ns, 50);
    assert_int_equal(b->compute_ns, 150);
    assert_int_equal(b->communication_ns, 110);
    assert_int_equal(b->memory_ns, 90);
    assert_int_equal(b->exposed_communication_ns, 60);
    assert_int_equal(b->exposed_memory_ns, 40);
    assert_int_equal(b->overlap_ns, 50);
    assert_int_equal(b->gpu_events, 5);
    assert_int_equal(b->gpu_ns, 100 + 110 + 60 + 50 + 30);
    const struct gp_hta_stream *s = m.h.devices.at[0].streams.at;
    assert_int_equal(m.h.devices.at[0].streams.n, 2);
    assert_int_equal(s[0].stream, 7); /* 100..200, 240..300, 350..400 */
    assert_int_equal(s[0].b.busy_ns, 210);
    assert_int_equal(s[0].b.idle_ns, 90);
    assert_int_equal(s[0].b.exposed_memory_ns, 60);
    assert_int_equal(s[1].stream, 9); /* 150..260, 360..390 */
    assert_int_equal(s[1].b.span_ns, 240);
    assert_int_equal(s[1].b.communication_ns, 110);
    assert_int_equal(s[1].b.exposed_communication_ns, 110);
    end(&m);
}

/* Holistic Trace Analysis rounds starts up and ends down to microseconds, and loses half of the time of
 * kernels of 1.9 us. Here: 1000 kernels of 1900 ns, one every 2600 ns. Busy 1000 x 1900; span 999 x 2600 +
 * 1900 = 2599300. */
TEST(test_short_kernels_count_in_full)
{
    struct made m;
    begin(&m);
    for (int i = 0; i < 1000; i++) mk_kernel(&m.t, m.s7, 137 + i * 2600, 137 + i * 2600 + 1900, "k", 1);
    const struct gp_breakdown *b = look(&m);
    assert_int_equal(b->busy_ns, 1900000);
    assert_int_equal(b->span_ns, 2599300);
    assert_int_equal(b->idle_ns, 699300);
    end(&m);
}

/* With the same rounding kernels below 1 us get a duration of -1. Here: 400 ns, 900 ns, 1 ns. */
TEST(test_kernels_below_a_microsecond)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 10300, 10700, "k", 1);
    mk_kernel(&m.t, m.s7, 11050, 11950, "k", 1);
    mk_kernel(&m.t, m.s7, 12000, 12001, "k", 1);
    const struct gp_breakdown *b = look(&m);
    assert_int_equal(b->busy_ns, 1301);
    assert_int_equal(b->idle_ns, 350 + 50);
    end(&m);
}

/* Kernels of one stream overlap under programmatic dependent launch, and a long one may end after the next
 * has begun and ended: what came before is a running maximum, not the last one, or the idle time gets
 * negative. Union 0..200 and 210..220. */
TEST(test_overlap_on_one_stream)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 0, 200, "long", 1);
    mk_kernel(&m.t, m.s7, 20, 50, "early", 1);
    mk_kernel(&m.t, m.s7, 190, 195, "late", 1);
    mk_kernel(&m.t, m.s7, 210, 220, "next", 1);
    const struct gp_breakdown *b = look(&m);
    assert_int_equal(b->busy_ns, 210);
    assert_int_equal(b->idle_ns, 10);
    assert_int_equal(b->gpu_ns, 200 + 30 + 5 + 10);
    assert_int_equal(m.h.devices.at[0].streams.at[0].b.idle_ns, 10);
    end(&m);
}

/* A synchronisation record has a stream, but nothing runs: 130 ns between two kernels stay idle although a
 * record covers 100 of them. */
TEST(test_synchronisation_is_not_work)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 0, 20, "a", 1);
    gp_events_add(&m.t.events[GP_SYNC], 30, 100, m.s7, mk_name(&m.t, "Stream Sync"));
    gp_events_add(&m.t.events[GP_SYNC], 0, 1000, m.s7, mk_name(&m.t, "Context Sync"));
    gp_events_add(&m.t.events[GP_GPU_RANGE], 0, 1000, m.s7, mk_name(&m.t, "ProfilerStep#1"));
    mk_kernel(&m.t, m.s7, 150, 160, "b", 2);
    const struct gp_breakdown *b = look(&m);
    assert_int_equal(b->span_ns, 160);
    assert_int_equal(b->idle_ns, 130);
    assert_int_equal(b->gpu_events, 2);
    end(&m);
}

/* Without communication the overlap is 0 of 0: both figures say so, and nothing is divided. */
TEST(test_no_communication)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 0, 20, "a", 1);
    const struct gp_breakdown *b = look(&m);
    assert_int_equal(b->communication_ns, 0);
    assert_int_equal(b->overlap_ns, 0);
    assert_int_equal(b->exposed_communication_ns, 0);
    assert_int_equal(b->compute_ns, 20);
    end(&m);
}

TEST(test_events_without_duration)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 5, 5, "zero", 1); /* begins the span */
    mk_kernel(&m.t, m.s7, 10, 30, "a", 1);
    mk_kernel(&m.t, m.s9, 20, 20, "zero", 1);
    mk_kernel(&m.t, m.s7, 25, 40, "a", 1);
    mk_kernel(&m.t, m.s7, 60, 60, "zero", 1); /* ends it */
    const struct gp_breakdown *b = look(&m);
    assert_int_equal(b->span_ns, 55);
    assert_int_equal(b->busy_ns, 30);
    assert_int_equal(b->gpu_events, 5);
    assert_int_equal(m.h.devices.at[0].streams.at[1].b.span_ns, 0);
    end(&m);
}

/* All kernels of a graph have the correlation id of its launch: each is an event like any other. */
TEST(test_kernels_of_a_graph)
{
    struct made m;
    begin(&m);
    mk_call(&m.t, mk_thread(&m.t, m.process, 1), 0, 10, "cudaGraphLaunch", 42);
    for (int i = 0; i < 5; i++) mk_kernel(&m.t, i % 2 ? m.s9 : m.s7, 20 + i * 10, 40 + i * 10, "k", 42);
    const struct gp_breakdown *b = look(&m); /* 20..80 without a gap */
    assert_int_equal(b->span_ns, 60);
    assert_int_equal(b->busy_ns, 60);
    assert_int_equal(b->gpu_events, 5);
    assert_int_equal(b->gpu_ns, 100);
    end(&m);
}

TEST(test_inside_a_window)
{
    struct made m;
    begin(&m);
    mk_kernel(&m.t, m.s7, 0, 10, "before", 1);
    mk_kernel(&m.t, m.s7, 90, 120, "into", 1);    /* 100..120 */
    mk_kernel(&m.t, m.s9, 110, 150, NCCL, 1);     /* 40, 10 of it under compute */
    mk_kernel(&m.t, m.s7, 180, 230, "out of", 1); /* 180..200 */
    mk_kernel(&m.t, m.s7, 200, 240, "after", 1);
    mk_kernel(&m.t, m.s7, 100, 100, "at the edge", 1); /* no time, but inside */
    look(&m);
    struct gp_view v;
    struct gp_breakdown b;
    gp_view_init(&v, &m.t, NULL);
    gp_breakdown_rows(&b, &v, v.rows, v.devices.at[0].n, 100, 200);
    assert_int_equal(b.span_ns, 100);
    assert_int_equal(b.compute_ns, 40);
    assert_int_equal(b.exposed_communication_ns, 30);
    assert_int_equal(b.overlap_ns, 10);
    assert_int_equal(b.idle_ns, 30);
    assert_int_equal(b.gpu_events, 4);
    assert_int_equal(b.gpu_ns, 20 + 40 + 20);
    gp_breakdown_rows(&b, &v, NULL, 0, 100, 200);
    assert_int_equal(b.idle_ns, 100);
    gp_breakdown_rows(&b, &v, NULL, 0, 0, 0);
    assert_int_equal(b.span_ns, 0);
    struct gp_intervals busy = {0};
    gp_breakdown_busy(&v, 0, &busy);
    assert_int_equal(busy.v.n, 3); /* 0..10, 90..150, 180..240 */
    assert_int_equal(gp_intervals_length(&busy), 130);
    gp_intervals_release(&busy);
    gp_view_release(&v);
    end(&m);
}

TEST(test_properties_of_the_device)
{
    struct made m;
    begin(&m);
    struct gp_device d = gp_device_unknown();
    d.id = 0;
    d.name = mk_name(&m.t, "NVIDIA H200");
    d.sms = 132;
    GP_VEC_PUSH(&m.t.devices, d);
    mk_kernel(&m.t, m.s7, 0, 10, "k", 1);
    look(&m);
    assert_string_equal(gp_hta_str(&m.h, m.h.devices.at[0].name), "NVIDIA H200");
    assert_int_equal(m.h.devices.at[0].sms, 132);
    end(&m);
}
