/* Unified memory, and the pools that allocations come from. */
#include <inttypes.h>
#include <stdio.h>
#include "collect/records/records_priv.h"
#include "formats/model/cuda_names.h"

/* CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_ */
enum unified { HTOD = 1, DTOH, CPU_FAULT, GPU_FAULT, THRASHING, THROTTLING, REMOTE_MAP, DTOD };

enum { COPY_HTOD = 1, COPY_DTOH = 2, COPY_PTOP = 10, KIND_MANAGED = 5 };

/* The track of a device's unified memory; DEVICE GP_INVALID_ID32: the host. */
static uint32_t unified_track(struct gp_records *r, uint32_t device)
{
    bool host = device == (uint32_t)GP_INVALID_ID32;
    struct gp_track k = gp_track_unknown();
    k.kind = host ? GP_TRACK_OTHER : GP_TRACK_STREAM;
    k.process = r->process;
    k.tid = -1;
    if (!host) k.device = device;
    k.name = gp_intern_cstr(&r->trace.strings, "unified memory");
    return gp_trace_track(&r->trace, &k);
}

/* ---- migrations: copies without a call ---- */

static void add_migration(struct gp_records *r, const void *rec, enum unified kind)
{
    uint32_t from = AT(u32, rec, UNIFIED_srcId), to = AT(u32, rec, UNIFIED_dstId);
    char text[80];
    struct gp_config c = {.kind = GP_MEMCPY};
    c.copy_kind = kind == HTOD ? COPY_HTOD : kind == DTOH ? COPY_DTOH : COPY_PTOP;
    c.src_kind = c.dst_kind = KIND_MANAGED;
    snprintf(text, sizeof text, "Memcpy %s (Unified Memory, %s)",
             kind == HTOD   ? "HtoD"
             : kind == DTOH ? "DtoH"
                            : "PtoP",
             gp_cuda_migration(AT(u32, rec, UNIFIED_flags)));
    c.name = gp_intern_cstr(&r->trace.strings, text);
    if (kind == DTOD) {
        int n =
            snprintf(text, sizeof text, "{\"fromDevice\":%u,\"toDevice\":%u}", (unsigned)from, (unsigned)to);
        c.extra = gp_trace_intern(&r->trace, text, (size_t)n);
    }
    struct gp_held_work w = {
        .start_ns = (int64_t)AT(u64, rec, UNIFIED_start),
        .end_ns = (int64_t)AT(u64, rec, UNIFIED_end),
        .bytes = (int64_t)AT(u64, rec, UNIFIED_value),
        .address = AT(u64, rec, UNIFIED_address),
        .graph = GP_NO_ID,
        .node = GP_NO_ID,
        .track = unified_track(r, kind == DTOH ? from : to),
    };
    gp_records_hold(r, &w, &c);
}

/* ---- faults and how the driver handles them ---- */

static gp_sid fault_extra(struct gp_records *r, const void *rec, bool gpu)
{
    uint32_t flags = AT(u32, rec, UNIFIED_flags);
    char text[96];
    int n = gpu ? snprintf(text, sizeof text, "{\"fault groups\":%" PRIu64 ",\"access\":\"%s\"}",
                           AT(u64, rec, UNIFIED_value), gp_cuda_access(flags))
                : snprintf(text, sizeof text, "{\"pc\":%" PRIu64 "}", AT(u64, rec, UNIFIED_value));
    return gp_trace_intern(&r->trace, text, (size_t)n);
}

/* With LASTS a span, otherwise an instant. */
static size_t add_row(struct gp_records *r, const void *rec, const char *name, uint32_t device, bool lasts)
{
    int64_t start = (int64_t)AT(u64, rec, UNIFIED_start), end = (int64_t)AT(u64, rec, UNIFIED_end);
    struct gp_events *to = &r->trace.events[lasts ? GP_OTHER : GP_MARK];
    size_t row = gp_events_add(to, start, lasts && end > start ? end - start : 0, unified_track(r, device),
                               gp_intern_cstr(&r->trace.strings, name));
    gp_set_cat(to, row, gp_intern_cstr(&r->trace.strings, "unified_memory"));
    gp_set_addr(to, row, AT(u64, rec, UNIFIED_address));
    return row;
}

void gp_records_add_unified(struct gp_records *r, const void *rec)
{
    const uint32_t host = (uint32_t)GP_INVALID_ID32;
    struct gp_events *marks = &r->trace.events[GP_MARK], *spans = &r->trace.events[GP_OTHER];
    enum unified kind = (enum unified)AT(u32, rec, UNIFIED_counterKind);
    uint32_t from = AT(u32, rec, UNIFIED_srcId), to = AT(u32, rec, UNIFIED_dstId);
    int64_t bytes = (int64_t)AT(u64, rec, UNIFIED_value);
    if (kind == HTOD || kind == DTOH || kind == DTOD) {
        add_migration(r, rec, kind);
        return;
    }
    if ((int64_t)AT(u64, rec, UNIFIED_start) <= 0) {
        gp_records_lose(r, "unified memory", "no usable time", 1);
        return;
    }
    switch (kind) {
    case CPU_FAULT:
        gp_set_extra(marks, add_row(r, rec, "CPU Page Fault", host, false), fault_extra(r, rec, false));
        break;
    case GPU_FAULT:
        gp_set_extra(spans, add_row(r, rec, "GPU Page Fault", from, true), fault_extra(r, rec, true));
        break;
    case THRASHING: gp_set_bytes(marks, add_row(r, rec, "Thrashing", host, false), bytes); break;
    case THROTTLING: add_row(r, rec, "Throttling", from, true); break;
    case REMOTE_MAP: gp_set_bytes(marks, add_row(r, rec, "Remote Map", to, false), bytes); break;
    default: r->unknown++;
    }
}

/* ---- pools ---- */

void gp_records_add_pool(struct gp_records *r, const void *rec)
{
    enum { CREATED = 1, DESTROYED, TRIMMED };
    static const char *const names[] = {"", "pool created", "pool destroyed", "pool trimmed"};
    uint32_t operation = AT(u32, rec, POOL_memoryPoolOperationType);
    struct gp_held_memory m = {
        .at_ns = (int64_t)AT(u64, rec, POOL_timestamp),
        .corr = AT(u32, rec, POOL_correlationId),
        .tick = r->tick,
    };
    if (operation < CREATED || operation > TRIMMED || m.at_ns <= 0) {
        gp_records_lose(r, "memory pools", "no usable time or operation", 1);
        return;
    }
    char text[200];
    int n =
        snprintf(text, sizeof text,
                 "{\"Pool\":%" PRIu64 ",\"Device Id\":%u,\"Size\":%" PRIu64 ",\"Used\":%" PRIu64
                 ",\"Release Threshold\":%" PRIu64,
                 AT(u64, rec, POOL_address), (unsigned)AT(u32, rec, POOL_deviceId), AT(u64, rec, POOL_size),
                 AT(u64, rec, POOL_utilizedSize), AT(u64, rec, POOL_releaseThreshold));
    if (operation == TRIMMED)
        n += snprintf(text + n, sizeof text - (size_t)n, ",\"Kept At Least\":%" PRIu64,
                      AT(u64, rec, POOL_minBytesToKeep));
    n += snprintf(text + n, sizeof text - (size_t)n, "}");
    m.extra = gp_trace_intern(&r->trace, text, (size_t)n);
    m.pool = gp_intern_cstr(&r->trace.strings, names[operation]);
    GP_VEC_PUSH(&r->memory, m);
}
