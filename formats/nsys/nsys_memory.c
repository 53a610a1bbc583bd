/* Allocations, and page faults of unified memory. */
#include <stdio.h>
#include "formats/model/cuda_names.h"
#include "formats/nsys/nsys_priv.h"

enum { KIND_PAGEABLE = 1, KIND_PINNED = 2 };

/* A thread that stands for a process, where it is not known which one it was. */
static uint32_t main_thread(struct gp_nsys *n, uint64_t process)
{
    return gp_nsys_thread(n, (int64_t)(process << 24 | (uint64_t)GP_NSYS_PID(process)));
}

static gp_sid memory_extra(struct gp_nsys *n, uint32_t kind, int64_t device, int64_t pool)
{
    bool host = kind == KIND_PAGEABLE || kind == KIND_PINNED;
    char text[160];
    int length = snprintf(text, sizeof text, "{\"Device Type\":%d,\"Device Id\":%lld,\"Memory\":\"%s\"",
                          !host, host ? -1ll : (long long)device, gp_cuda_memory_kind(kind));
    if (pool)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, ",\"Pool\":%llu", (unsigned long long)pool);
    length += snprintf(text + length, sizeof text - (size_t)length, "}");
    return gp_trace_intern(n->t, text, (size_t)length);
}

static void read_allocations(struct gp_nsys *n)
{
    enum { START, PROCESS, DEVICE, ADDRESS, BYTES, KIND, OPERATION, CORR, POOL, POOL_SIZE };
    struct gp_events *e = &n->t->events[GP_MEMORY];
    gp_sid name = gp_intern_cstr(&n->t->strings, "[memory]");
    GP_SQLITE_EACH(scan, n->db, "CUDA_GPU_MEMORY_USAGE_EVENTS",
                   "start globalPid deviceId address bytes memKind memoryOperationType correlationId "
                   "localMemoryPoolAddress localMemoryPoolSize") {
        int64_t start, dur, bytes = gp_sqlite_int(&scan, BYTES, 0);
        if (!gp_nsys_span(n, &scan, START, START, &start, &dur)) continue;
        uint64_t process = gp_nsys_process(n, &scan, PROCESS), corr = gp_nsys_corr(&scan, CORR);
        const struct gp_nsys_call *call = gp_nsys_call(n, process, corr);
        const uint32_t *kind = gp_map_get(&n->memory_kinds, (uint64_t)gp_sqlite_int(&scan, KIND, -1));
        const uint32_t *frees = gp_map_get(&n->frees, (uint64_t)gp_sqlite_int(&scan, OPERATION, 0));
        size_t row = gp_events_add(e, start, 0, call ? call->track : main_thread(n, process), name);
        gp_set_corr(e, row, corr);
        gp_set_bytes(e, row, bytes < 0 ? 0 : frees && *frees ? -bytes : bytes);
        gp_set_addr(e, row, (uint64_t)gp_sqlite_int(&scan, ADDRESS, 0));
        gp_set_reserved(e, row, gp_sqlite_int(&scan, POOL_SIZE, 0));
        gp_set_extra(e, row,
                     memory_extra(n, kind ? *kind : 0, gp_sqlite_int(&scan, DEVICE, -1),
                                  gp_sqlite_int(&scan, POOL, 0)));
    }
}

static void read_gpu_faults(struct gp_nsys *n)
{
    enum { START, END, PROCESS, DEVICE, ADDRESS, FAULTS, ACCESS };
    struct gp_events *e = &n->t->events[GP_OTHER];
    gp_sid name = gp_intern_cstr(&n->t->strings, "GPU Page Fault");
    gp_sid cat = gp_intern_cstr(&n->t->strings, "unified_memory");
    GP_SQLITE_EACH(scan, n->db, "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
                   "start end globalPid deviceId address numberOfPageFaults faultAccessType") {
        int64_t start, dur;
        if (!gp_nsys_span(n, &scan, START, END, &start, &dur)) continue;
        uint64_t process = gp_nsys_process(n, &scan, PROCESS);
        size_t row = gp_events_add(
            e, start, dur, gp_nsys_stream(n, process, gp_sqlite_int(&scan, DEVICE, -1), -1, -1), name);
        char text[96];
        int length = snprintf(text, sizeof text, "{\"fault groups\":%lld,\"access\":\"%s\"}",
                              (long long)gp_sqlite_int(&scan, FAULTS, 0),
                              gp_cuda_access((uint32_t)gp_sqlite_int(&scan, ACCESS, 0)));
        gp_set_cat(e, row, cat);
        gp_set_addr(e, row, (uint64_t)gp_sqlite_int(&scan, ADDRESS, 0));
        if (gp_needs_extra(n->t->need, GP_OTHER))
            gp_set_extra(e, row, gp_trace_intern(n->t, text, (size_t)length));
    }
}

static void read_cpu_faults(struct gp_nsys *n)
{
    enum { START, PROCESS, ADDRESS };
    struct gp_events *e = &n->t->events[GP_MARK];
    gp_sid name = gp_intern_cstr(&n->t->strings, "CPU Page Fault");
    gp_sid cat = gp_intern_cstr(&n->t->strings, "unified_memory");
    GP_SQLITE_EACH(scan, n->db, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", "start globalPid address") {
        int64_t start, dur;
        if (!gp_nsys_span(n, &scan, START, START, &start, &dur)) continue;
        uint64_t process = gp_nsys_process(n, &scan, PROCESS);
        size_t row = gp_events_add(e, start, 0, gp_nsys_track(n, process, "unified memory"), name);
        gp_set_cat(e, row, cat);
        gp_set_addr(e, row, (uint64_t)gp_sqlite_int(&scan, ADDRESS, 0));
    }
}

void gp_nsys_read_memory(struct gp_nsys *n)
{
    if (n->t->need & GP_NEED(GP_MEMORY)) read_allocations(n);
    if (n->t->need & GP_NEED(GP_OTHER)) read_gpu_faults(n);
    if (n->t->need & GP_NEED(GP_MARK)) read_cpu_faults(n);
}
