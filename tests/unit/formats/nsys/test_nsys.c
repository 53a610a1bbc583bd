// Exports of Nsight Systems: what their numbers mean, and what older exports lack.
#include <string.h>
#include "formats/model/gauges.h"
#include "formats/nsys/nsys_read.h"
#include "tests/unit/sqlite_make.h"
#include "tests/unit/trace_rows.h"
#include "tests/unit/unit.h"

static void read_made(struct sqlite_made *f, const char *sql)
{
    open_made(f, sql);
    assert_true(gp_nsys_matches(f->db));
    gp_nsys_read(&f->t, f->db);
    gp_trace_finish(&f->t);
}

/* Global ids: the process in the bits from 24 on, the thread below. Process 42 has thread 43. */
#define PROCESS "704643072"
#define THREAD  "704643115"
_Static_assert((42L << 24) == 704643072 && (42L << 24 | 43) == 704643115, "the ids of the tests");

#define STRINGS                                                                                              \
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"                                           \
    "INSERT INTO StringIds VALUES (1, '_Z4gemmv'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000'),"              \
    " (4, 'cuLaunchKernel'), (5, 'step'), (6, 'NCCL'), (7, 'main thread');"
#define KERNELS                                                                                              \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,"     \
    " globalPid, demangledName, shortName, mangledName, registersPerThread, gridX, gridY, gridZ, blockX,"    \
    " blockY, blockZ, staticSharedMemory, dynamicSharedMemory, graphNodeId);"

TEST(a_kernel_has_its_place_launch_and_size)
{
    struct sqlite_made f;
    read_made(&f, STRINGS KERNELS
              "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1600, 1, 1, 7, 9, " PROCESS
              ", 2, 2, 1, 24, 2, 3, 1, 32, 1, 1, 100, 28, NULL)");
    const struct gp_config *c = gp_gpu_config(&f.t, 0);
    const struct gp_track *k = track_of(&f.t, GP_GPU, 0);
    assert_string_equal(rows_of(&f.t, GP_GPU), "1000+600 _Z4gemmv"); /* the mangled name says most */
    assert_int_equal(c->kind, GP_KERNEL);
    assert_true(c->grid[0] == 2 && c->grid[1] == 3 && c->grid[2] == 1 && c->block[0] == 32);
    assert_int_equal(c->registers, 24);
    assert_int_equal(c->shared_bytes, 128);
    assert_true(c->has & GP_HAS_GRID && c->has & GP_HAS_BLOCK && c->has & GP_HAS_REGS);
    assert_int_equal(gp_get_corr(&f.t.events[GP_GPU], 0), 9);
    assert_true(k->kind == GP_TRACK_STREAM && k->device == 1 && k->stream == 7);
    assert_int_equal(f.t.processes.at[k->process].pid, 42);
    close_made(&f);
}

TEST(an_older_export_without_columns_says_less_and_makes_nothing_up)
{
    struct sqlite_made f;
    read_made(&f, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, shortName);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 8, 0, 7, 2)");
    assert_string_equal(rows_of(&f.t, GP_GPU), "5+3 [unnamed kernel]");
    assert_int_equal(gp_gpu_config(&f.t, 0)->has, 0);
    assert_int_equal(gp_get_corr(&f.t.events[GP_GPU], 0), GP_NO_ID);
    close_made(&f);
}

TEST(a_node_of_a_graph_names_its_graph)
{
    struct sqlite_made f;
    /* node 5 of graph 3: the upper half is the graph */
    read_made(&f, STRINGS KERNELS "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 1, 7, 9, " PROCESS
                                  ", 2, 2, 1, 24, 1, 1, 1, 1, 1, 1, 0, 0, 12884901893)");
    assert_int_equal(gp_get_node(&f.t.events[GP_GPU], 0), 3 * (INT64_C(1) << 32) + 5);
    assert_int_equal(gp_get_graph(&f.t.events[GP_GPU], 0), 3);
    close_made(&f);
}

TEST(times_that_cannot_be_are_counted)
{
    struct sqlite_made f;
    read_made(
        &f, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (NULL, 8, 0, 7), (20, 10, 0, 7), (30, 31, 0, 7)");
    assert_string_equal(rows_of(&f.t, GP_GPU), "20+0 [unnamed kernel]; 30+1 [unnamed kernel]");
    assert_int_equal(f.t.issues[GP_Q_BAD_TIME].count, 1);
    assert_int_equal(f.t.issues[GP_Q_BAD_DURATION].count, 1);
    assert_int_equal(f.t.input.events, 3);
    close_made(&f);
}

/* Newer exports count kinds otherwise; their tables of names say what a number means. */
TEST(copies_are_what_the_exports_own_tables_call_them)
{
    static const char copies[] =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, bytes, copyKind,"
        " srcKind, dstKind);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 30, 0, 7, 4096, 1, 1, 2);";
    static const char names[] = "CREATE TABLE StringIds (id, value);"
                                "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id, name);"
                                "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_DTOH');"
                                "CREATE TABLE ENUM_CUDA_MEM_KIND (id, name);"
                                "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1, 'CUDA_MEM_KIND_DEVICE'),"
                                " (2, 'CUDA_MEM_KIND_PAGEABLE');";
    struct sqlite_made f;
    char sql[2000];
    snprintf(sql, sizeof sql, "%s%s", "CREATE TABLE NVTX_EVENTS (start);", copies);
    read_made(&f, sql);
    assert_string_equal(rows_of(&f.t, GP_GPU), "10+20 Memcpy HtoD (Pinned -> Device)");
    assert_int_equal(gp_get_bytes(&f.t.events[GP_GPU], 0), 4096);
    close_made(&f);
    snprintf(sql, sizeof sql, "%s%s", names, copies);
    read_made(&f, sql);
    assert_string_equal(rows_of(&f.t, GP_GPU), "10+20 Memcpy DtoH (Device -> Pageable)");
    close_made(&f);
}

TEST(calls_lose_their_version_and_those_of_the_driver_are_marked)
{
    struct sqlite_made f;
    read_made(&f, STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, nameId, "
                          "correlationId, returnValue);"
                          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 130, " THREAD ", 3, 9, 0),"
                          " (200, 207, " THREAD ", 4, 10, 2), (300, 301, " THREAD ", 99, 0, 0)");
    const struct gp_events *api = &f.t.events[GP_API];
    assert_string_equal(rows_of(&f.t, GP_API),
                        "100+30 cudaLaunchKernel; 200+7 cuLaunchKernel; 300+1 [unnamed call]");
    assert_int_equal(gp_get_corr(api, 0), 9);
    assert_int_equal(gp_get_corr(api, 2), GP_NO_ID); /* 0 is none */
    assert_int_equal(gp_get_ret(api, 1), 2);
    assert_string_equal(gp_trace_str(&f.t, gp_get_cat(api, 0)), "");
    assert_string_equal(gp_trace_str(&f.t, gp_get_cat(api, 1)), "cuda_driver");
    assert_int_equal(track_of(&f.t, GP_API, 0)->tid, 43);
    assert_int_equal(f.t.processes.at[track_of(&f.t, GP_API, 0)->process].pid, 42);
    close_made(&f);
}

/* Type 59 is a range, 34 a mark, 75 names a domain, 39 a thread. The range that is still open ends with the
 * last event. */
TEST(ranges_belong_to_domains_and_end_with_the_recording)
{
    struct sqlite_made f;
    read_made(&f, STRINGS
              "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid, domainId);"
              "INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, NULL, 6, " THREAD ", 2),"
              " (10, 50, 59, NULL, 5, " THREAD ", 0), (20, 30, 59, 'AllReduce', NULL, " THREAD ", 2),"
              " (40, NULL, 59, 'open', NULL, " THREAD ", 0), (45, NULL, 34, 'here', NULL, " THREAD ", 0),"
              " (60, 90, 59, 'last', NULL, " THREAD ", 0), (0, NULL, 39, NULL, 7, " THREAD ", 0)");
    assert_string_equal(rows_of(&f.t, GP_RANGE), "10+40 step; 20+10 NCCL:AllReduce; 40+50 open; 60+30 last");
    assert_string_equal(rows_of(&f.t, GP_MARK), "45+0 here");
    assert_string_equal(gp_trace_str(&f.t, track_of(&f.t, GP_RANGE, 0)->name), "main thread");
    close_made(&f);
}

/* GPU 5 is device 1 of the process: the clock is of that device, and in MHz though the export has Hz. */
TEST(the_clock_among_gpu_metrics_is_a_gauge)
{
    struct sqlite_made f;
    read_made(&f, STRINGS KERNELS
              "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1600, 1, 1, 7, 9, " PROCESS
              ", 2, 2, 1, 24, 2, 3, 1, 32, 1, 1, 100, 28, NULL);"
              "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);"
              "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 42), (5, 1, 42);"
              "CREATE TABLE TARGET_INFO_GPU (id, name, clockRate);"
              "INSERT INTO TARGET_INFO_GPU VALUES (1, 'H200', 1980000000), (5, 'H200', 1980000000);"
              "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName);"
              "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256005, 0, 'GPC Clock Frequency [MHz]'),"
              " (256001, 0, 'GPC Clock Frequency'), (256005, 3, 'SMs Active [Throughput %]');"
              "CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);"
              "INSERT INTO GPU_METRICS VALUES (900, 256005, 0, 1710000000), (900, 256005, 3, 88),"
              " (950, 256001, 0, 1980), (1000, 256005, 0, 1695000000);");
    const struct gp_events *e = &f.t.events[GP_COUNTER];
    assert_string_equal(rows_of(&f.t, GP_COUNTER),
                        "900+0 SM clock; 900+0 GPU 5 metrics; 950+0 SM clock; 1000+0 SM clock");
    assert_true(gp_get_value(e, 0) == 1710 && gp_get_value(e, 1) == 88 && gp_get_value(e, 2) == 1980);
    assert_string_equal(gp_trace_str(&f.t, gp_get_series(e, 0)), "MHz");
    assert_string_equal(gp_trace_str(&f.t, gp_get_cat(e, 0)), GP_GAUGE_CATEGORY);
    assert_int_equal(track_of(&f.t, GP_COUNTER, 0)->device, 1);
    assert_int_equal(track_of(&f.t, GP_COUNTER, 2)->device, -1); /* nobody uses GPU 1 */
    close_made(&f);
}

TEST(what_is_not_needed_is_not_read)
{
    struct sqlite_made f;
    open_made(&f, STRINGS KERNELS "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 1, 7, 9, " PROCESS
                                  ", 2, 2, 1, 24, 1, 1, 1, 1, 1, 1, 0, 0, NULL)");
    f.t.need = GP_NEED(GP_API);
    gp_nsys_read(&f.t, f.db);
    assert_int_equal(f.t.events[GP_GPU].n, 0);
    close_made(&f);
}

TEST(other_databases_are_no_exports)
{
    struct sqlite_made f;
    open_made(&f, "CREATE TABLE kernels (start, end)");
    assert_false(gp_nsys_matches(f.db));
    close_made(&f);
}
