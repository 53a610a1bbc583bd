// Databases of rocprofv3: places and times beside the events and apart from them, and who launched what.
#include <string.h>
#include "formats/model/gauges.h"
#include "formats/rocpd/rocpd_read.h"
#include "tests/unit/sqlite_make.h"
#include "tests/unit/trace_rows.h"
#include "tests/unit/unit.h"

static void read_made(struct sqlite_made *f, const char *sql)
{
    open_made(f, sql);
    assert_true(gp_rocpd_matches(f->db));
    gp_rocpd_read(&f->t, f->db);
    gp_trace_finish(&f->t);
}

#define COMMON                                                                                               \
    "CREATE TABLE rocpd_string_7f (id, string);"                                                             \
    "INSERT INTO rocpd_string_7f VALUES (1, 'HIP_RUNTIME_API'), (2, 'hipLaunchKernel'), (3, 'MARKER_CORE')," \
    " (4, 'roctxRange'), (5, 'MEMORY_COPY_HOST_TO_DEVICE');"                                                 \
    "CREATE TABLE rocpd_info_process_7f (id, pid, command);"                                                 \
    "INSERT INTO rocpd_info_process_7f VALUES (10, 4242, '/opt/app/train --epochs 3');"                      \
    "CREATE TABLE rocpd_info_thread_7f (id, pid, tid, name);"                                                \
    "INSERT INTO rocpd_info_thread_7f VALUES (20, 10, 4243, 'worker');"                                      \
    "CREATE TABLE rocpd_info_agent_7f (id, type, type_index, product_name);"                                 \
    "INSERT INTO rocpd_info_agent_7f VALUES (30, 'CPU', 0, 'EPYC'), (31, 'GPU', 2, 'MI300X');"               \
    "CREATE TABLE rocpd_info_kernel_symbol_7f (id, kernel_name, display_name, arch_vgpr_count);"             \
    "INSERT INTO rocpd_info_kernel_symbol_7f VALUES (40, 'gemm.kd', 'gemm', 64);"                            \
    "CREATE TABLE rocpd_event_7f (id, stack_id, category_id);"                                               \
    "INSERT INTO rocpd_event_7f VALUES (50, 9, 1), (51, 9, 0), (52, 0, 3), (53, 0, 0);"

TEST(a_dispatch_and_its_call_are_joined_by_their_stack)
{
    struct sqlite_made f;
    read_made(
        &f, COMMON
        "CREATE TABLE rocpd_kernel_dispatch_7f (start, end, pid, agent_id, queue_id, stream_id, event_id, "
        "kernel_id,"
        " workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z);"
        "INSERT INTO rocpd_kernel_dispatch_7f VALUES (1000, 1250, 10, 31, 1, 3, 51, 40, 64, 1, 1, 130, 2, 1);"
        "CREATE TABLE rocpd_region_7f (start, end, pid, tid, event_id, name_id, extdata);"
        "INSERT INTO rocpd_region_7f VALUES (900, 910, 10, 20, 50, 2, NULL),"
        " (800, 2000, 10, 20, 52, 4, '{\"message\": \"step 1\"}')");
    const struct gp_config *c = gp_gpu_config(&f.t, 0);
    const struct gp_track *stream = track_of(&f.t, GP_GPU, 0), *thread = track_of(&f.t, GP_API, 0);
    assert_string_equal(rows_of(&f.t, GP_GPU), "1000+250 gemm");
    /* grids are in work items here: 130 of 64 are 3 blocks */
    assert_true(c->grid[0] == 3 && c->grid[1] == 2 && c->grid[2] == 1 && c->block[0] == 64);
    assert_int_equal(c->registers, 64);
    assert_true(stream->kind == GP_TRACK_STREAM && stream->device == 2 && stream->stream == 3);
    assert_string_equal(rows_of(&f.t, GP_API), "900+10 hipLaunchKernel");
    assert_string_equal(rows_of(&f.t, GP_RANGE), "800+1200 step 1"); /* a marker's text is its message */
    assert_int_equal(gp_get_corr(&f.t.events[GP_GPU], 0), 9);
    assert_int_equal(gp_get_corr(&f.t.events[GP_API], 0), 9);
    assert_int_equal(thread->tid, 4243);
    assert_string_equal(gp_trace_str(&f.t, thread->name), "worker");
    assert_string_equal(gp_trace_str(&f.t, f.t.processes.at[thread->process].name), "train");
    assert_int_equal(f.t.devices.n, 1);
    assert_string_equal(gp_trace_str(&f.t, f.t.devices.at[0].name), "MI300X");
    assert_string_equal(gp_trace_get_meta(&f.t, "collector"), "\"rocprofv3\"");
    close_made(&f);
}

TEST(times_and_places_may_stand_in_tables_of_their_own)
{
    struct sqlite_made f;
    read_made(
        &f, COMMON
        "CREATE TABLE rocpd_timestamp_7f (id, value);"
        "INSERT INTO rocpd_timestamp_7f VALUES (1, 5000), (2, 5600);"
        "CREATE TABLE rocpd_track_7f (id, pid, tid, agent_id, queue_id, stream_id);"
        "INSERT INTO rocpd_track_7f VALUES (70, 10, NULL, 31, 4, NULL);"
        "CREATE TABLE rocpd_memory_copy_7f (start_id, end_id, track_id, event_id, name_id, dst_agent_id,"
        " src_agent_id, size);"
        "INSERT INTO rocpd_memory_copy_7f VALUES (1, 2, 70, 53, 5, 31, 30, 1048576), (1, 9, 70, 53, 5, 31, "
        "30, 8),"
        " (9, 2, 70, 53, 5, 31, 30, 8)");
    assert_string_equal(rows_of(&f.t, GP_GPU),
                        "5000+600 Memcpy HtoD (Host -> Device); 5000+0 Memcpy HtoD (Host -> Device)");
    assert_int_equal(gp_get_bytes(&f.t.events[GP_GPU], 0), 1048576);
    assert_int_equal(gp_get_corr(&f.t.events[GP_GPU], 0), GP_NO_ID); /* stack 0 is none */
    assert_int_equal(track_of(&f.t, GP_GPU, 0)->device, 2);
    assert_int_equal(track_of(&f.t, GP_GPU, 0)->stream, 4); /* of the queue, where there is no stream */
    assert_int_equal(f.t.issues[GP_Q_BAD_DURATION].count, 1);
    assert_int_equal(f.t.issues[GP_Q_BAD_TIME].count, 1);
    close_made(&f);
}

/* Both samples of an event have its time, and it has the values of both; neither counters of kernels nor what
 * has no certain unit is a gauge. */
TEST(power_and_temperature_of_samples_are_gauges)
{
    struct sqlite_made f;
    read_made(
        &f, COMMON
        "CREATE TABLE rocpd_info_pmc_7f (id, pid, agent_id, name);"
        "INSERT INTO rocpd_info_pmc_7f VALUES (60, 10, 31, 'device_power'), (61, 10, 31, 'device_temp'),"
        " (62, 10, 31, 'device_memory_usage'), (63, 10, 31, 'SQ_WAVES');"
        "CREATE TABLE rocpd_sample_7f (id, track_id, timestamp, event_id);"
        "INSERT INTO rocpd_sample_7f VALUES (1, 1, 1000, 70), (2, 2, 1000, 70), (3, 1, 1500, 71);"
        "CREATE TABLE rocpd_pmc_event_7f (id, event_id, pmc_id, value);"
        "INSERT INTO rocpd_pmc_event_7f VALUES (1, 70, 60, 512.5), (2, 70, 61, 63), (3, 70, 62, 9),"
        " (4, 51, 63, 7), (5, 71, 60, 700), (6, 72, 60, 1);");
    const struct gp_events *e = &f.t.events[GP_COUNTER];
    const struct gp_track *k = track_of(&f.t, GP_COUNTER, 0);
    assert_string_equal(rows_of(&f.t, GP_COUNTER), "1000+0 power; 1000+0 temperature; 1500+0 power");
    assert_true(gp_get_value(e, 0) == 512.5 && gp_get_value(e, 1) == 63 && gp_get_value(e, 2) == 700);
    assert_string_equal(gp_trace_str(&f.t, gp_get_series(e, 0)), "W");
    assert_string_equal(gp_trace_str(&f.t, gp_get_cat(e, 1)), GP_GAUGE_CATEGORY);
    assert_true(k->device == 2 && f.t.processes.at[k->process].pid == 4242);
    close_made(&f);
}

TEST(each_recording_of_a_merged_file_is_read)
{
    struct sqlite_made f;
    read_made(&f,
              "CREATE TABLE rocpd_string_a (id, string); CREATE TABLE rocpd_string_b (id, string);"
              "INSERT INTO rocpd_string_a VALUES (1, 'hipFree'); INSERT INTO rocpd_string_b VALUES (1, "
              "'hipMalloc');"
              "CREATE TABLE rocpd_region_a (start, end, name_id); CREATE TABLE rocpd_region_b (start, end, "
              "name_id);"
              "INSERT INTO rocpd_region_a VALUES (10, 12, 1); INSERT INTO rocpd_region_b VALUES (20, 25, 1)");
    assert_string_equal(rows_of(&f.t, GP_API), "10+2 hipFree; 20+5 hipMalloc");
    close_made(&f);
}

TEST(other_databases_are_not_rocpd)
{
    struct sqlite_made f;
    open_made(&f, "CREATE TABLE StringIds (id, value)");
    assert_false(gp_rocpd_matches(f.db));
    close_made(&f);
}
