// The view of a trace: which devices and streams there are, and their GPU events in order of time.
#include <stdlib.h>

#include "analyze/view/view.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

static struct gp_trace begin(void)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    return t;
}

static void view(struct gp_view *v, struct gp_trace *t)
{
    gp_trace_finish(t);
    gp_view_init(v, t, NULL);
}

static void end(struct gp_view *v, struct gp_trace *t)
{
    gp_view_release(v);
    gp_trace_release(t);
}

static const char *name_at(const struct gp_view *v, const uint32_t *rows, size_t i)
{
    return gp_trace_str(v->t, v->t->events[GP_GPU].name[rows[i]]);
}

TEST(test_devices_and_streams_in_order)
{
    struct gp_trace t = begin();
    uint32_t p = mk_process(&t, 1, 0);
    uint32_t d1 = mk_stream(&t, p, 1, 7), d0s9 = mk_stream(&t, p, 0, 9), d0s7 = mk_stream(&t, p, 0, 7);
    mk_kernel(&t, d1, 10, 20, "a", 1);
    mk_kernel(&t, d0s9, 5, 8, "b", 2);
    mk_kernel(&t, d0s7, 6, 7, "c", 3);
    mk_kernel(&t, d0s9, 8, 9, "d", 4);
    mk_stream(&t, p, 2, 7); /* nothing ran there */
    struct gp_view v;
    view(&v, &t);
    assert_int_equal(v.devices.n, 2);
    assert_int_equal(v.devices.at[0].device, 0);
    assert_int_equal(v.devices.at[0].n, 3);
    assert_int_equal(v.devices.at[0].n_streams, 2);
    assert_string_equal(name_at(&v, v.rows, 0), "b");
    assert_string_equal(name_at(&v, v.rows, 1), "c");
    assert_string_equal(name_at(&v, v.rows, 2), "d");
    assert_int_equal(v.devices.at[1].first, 3);
    assert_int_equal(v.devices.at[1].first_stream, 2);
    assert_int_equal(v.streams.at[0].stream, 7);
    assert_int_equal(v.streams.at[1].stream, 9);
    assert_int_equal(v.streams.at[1].first, 1);
    assert_string_equal(name_at(&v, v.stream_rows, 1), "b");
    assert_string_equal(name_at(&v, v.stream_rows, 2), "d");
    assert_int_equal(v.device_of_row[v.rows[3]], 1);
    end(&v, &t);
}

TEST(test_ordinals_are_of_a_producer)
{
    struct gp_trace t = begin();
    uint32_t a = mk_process(&t, 1, 0), b = mk_process(&t, 2, 1), c = mk_process(&t, 3, 0);
    t.processes.at[a].rank = 4;
    t.processes.at[b].rank = 3;
    t.rank = 9;
    mk_kernel(&t, mk_stream(&t, a, 0, 7), 1, 2, "a", 1);
    mk_kernel(&t, mk_stream(&t, b, 0, 7), 1, 2, "b", 1);
    mk_kernel(&t, mk_stream(&t, c, 0, 7), 1, 2, "c", 2); /* the same device and stream as the first */
    struct gp_device d = gp_device_unknown();
    d.producer = 1;
    d.id = 0;
    d.sms = 132;
    GP_VEC_PUSH(&t.devices, d);
    struct gp_view v;
    view(&v, &t);
    assert_int_equal(v.devices.n, 2); /* by rank */
    assert_int_equal(v.devices.at[0].rank, 3);
    assert_int_equal(v.devices.at[0].producer, 1);
    assert_int_equal(v.devices.at[0].props->sms, 132);
    assert_int_equal(v.devices.at[1].rank, 4);
    assert_int_equal(v.devices.at[1].n, 2);
    assert_int_equal(v.devices.at[1].n_streams, 1);
    assert_null(v.devices.at[1].props);
    end(&v, &t);
}

TEST(test_devices_of_one_model_are_described_by_any_of_them)
{
    struct gp_trace t = begin();
    uint32_t p = mk_process(&t, 2, 0);
    mk_kernel(&t, mk_stream(&t, p, 2, 7), 1, 2, "a", 1); /* only device 0 is listed */
    struct gp_device d = gp_device_unknown();
    d.producer = 0;
    d.id = 0;
    d.sms = 304;
    GP_VEC_PUSH(&t.devices, d);
    struct gp_view v;
    view(&v, &t);
    assert_int_equal(v.devices.at[0].props->sms, 304);
    end(&v, &t);
}

TEST(test_devices_of_two_models_are_not)
{
    struct gp_trace t = begin();
    uint32_t p = mk_process(&t, 2, 0);
    mk_kernel(&t, mk_stream(&t, p, 2, 7), 1, 2, "a", 1);
    for (int i = 0; i < 2; i++) {
        struct gp_device d = gp_device_unknown();
        d.producer = 0;
        d.id = i;
        d.sms = i ? 132 : 108;
        GP_VEC_PUSH(&t.devices, d);
    }
    struct gp_view v;
    view(&v, &t);
    assert_null(v.devices.at[0].props);
    end(&v, &t);
}

TEST(test_a_row_group_stands_for_its_device)
{
    struct gp_trace t = begin();
    t.rank = 5;
    uint32_t p3 = mk_process(&t, 3, 0), p0 = mk_process(&t, 0, 0);
    mk_kernel(&t, mk_stream(&t, p3, -1, -1), 1, 2, "a", 1);
    mk_kernel(&t, mk_stream(&t, p3, 3, 7), 2, 3, "b", 2);
    mk_kernel(&t, mk_stream(&t, p0, -1, -1), 3, 4, "c", 3);
    struct gp_view v;
    view(&v, &t);
    assert_int_equal(v.devices.n, 2);
    assert_int_equal(v.devices.at[0].device, 0);
    assert_int_equal(v.devices.at[0].rank, 5);
    assert_int_equal(v.devices.at[1].device, 3);
    assert_int_equal(v.devices.at[1].n, 2);
    assert_int_equal(v.devices.at[1].n_streams, 2); /* one known, one not */
    assert_int_equal(v.streams.at[1].stream, 7);
    assert_int_equal(v.streams.at[2].stream, -1);
    end(&v, &t);
}

TEST(test_a_stream_number_is_of_a_context)
{
    struct gp_trace t = begin();
    uint32_t p = mk_process(&t, 1, 0), track[3];
    for (int64_t context = -1; context <= 1; context++) { /* unknown, 0, 1 */
        struct gp_track k = gp_track_unknown();
        k.kind = GP_TRACK_STREAM;
        k.process = p;
        k.device = 0;
        k.stream = 7;
        k.context = context;
        track[context + 1] = gp_trace_track(&t, &k);
    }
    mk_kernel(&t, track[2], 1, 2, "two", 1);
    mk_kernel(&t, track[0], 2, 3, "unknown", 2);
    mk_kernel(&t, track[1], 3, 4, "one", 3);
    struct gp_view v;
    view(&v, &t);
    assert_int_equal(v.streams.n, 2);
    assert_int_equal(v.streams.at[0].n, 2); /* the unknown one goes with the first */
    assert_string_equal(name_at(&v, v.stream_rows, 0), "unknown");
    assert_string_equal(name_at(&v, v.stream_rows, 2), "two");
    end(&v, &t);
}

TEST(test_classes_and_launches)
{
    struct gp_trace t = begin();
    uint32_t p = mk_process(&t, 1, 0), thread = mk_thread(&t, p, 1), s = mk_stream(&t, p, 0, 7);
    mk_call(&t, thread, 0, 5, "cudaLaunchKernel", 11);
    mk_kernel(&t, s, 6, 9, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 11);
    mk_gpu(&t, s, 10, 12, GP_MEMSET, "Memset (Device)", 12);
    mk_kernel(&t, s, 13, 14, "anything", 0);
    struct gp_view v;
    view(&v, &t);
    assert_int_equal(gp_view_class(&v, 0), GP_CLASS_COMMUNICATION);
    assert_int_equal(gp_view_kind(&v, 1), GP_FRAME_MEMSET);
    assert_int_equal(gp_view_class(&v, 2), GP_CLASS_COMPUTE);
    assert_int_equal(gp_view_launch(&v, 0), 0);
    assert_int_equal(gp_view_launch(&v, 1), UINT32_MAX);
    end(&v, &t);
}

/* All events have the first configuration, so that the table has no column for it. */
TEST(test_one_configuration_and_none)
{
    struct gp_trace t = begin();
    mk_kernel(&t, mk_stream(&t, mk_process(&t, 1, 0), 0, 7), 1, 2, "gemm", 0);
    struct gp_view v;
    view(&v, &t);
    assert_null(t.events[GP_GPU].config);
    assert_int_equal(gp_view_kind(&v, 0), GP_FRAME_GEMM);
    end(&v, &t);
    t = begin();
    view(&v, &t);
    assert_int_equal(v.devices.n, 0);
    end(&v, &t);
}
