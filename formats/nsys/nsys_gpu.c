/* Kernels, copies, sets, and CUDA graphs that were recorded whole. */
#include <stdio.h>
#include "formats/model/cuda_names.h"
#include "formats/nsys/nsys_priv.h"

enum { KIND_MANAGED = 5, COPY_UNIFIED = 11, COPY_PTOP = 10 };

/* What the tables of GPU work have in common; each table's own columns follow. */
#define WORK "start end deviceId contextId streamId correlationId globalPid graphNodeId graphId "
enum { START, END, DEVICE, CONTEXT, STREAM, CORR, PROCESS, NODE, GRAPH, OWN };

/* An id of 32 bits, -1 for CUPTI's "none" in either spelling. */
static int64_t id32(struct gp_sqlite_scan *scan, int column)
{
    int64_t v = gp_sqlite_int(scan, column, -1);
    return v >= 0 && v < UINT32_MAX ? v : -1;
}

/* Add the row that SCAN is at; GP_NSYS_NONE if it cannot be used. */
static size_t add_work(struct gp_nsys *n, struct gp_sqlite_scan *scan, const struct gp_config *c)
{
    struct gp_events *e = &n->t->events[GP_GPU];
    int64_t start, dur, id;
    if (!gp_nsys_span(n, scan, START, END, &start, &dur)) return GP_NSYS_NONE;
    uint64_t process = gp_nsys_process(n, scan, PROCESS);
    uint32_t track = gp_nsys_stream(n, process, id32(scan, DEVICE), id32(scan, CONTEXT), id32(scan, STREAM));
    size_t row = gp_events_add(e, start, dur, track, c->name);
    gp_events_materialise(e, GP_COL_CONFIG);
    e->config[row] = gp_trace_config(n->t, c);
    gp_set_corr(e, row, gp_nsys_corr(scan, CORR));
    bool in_graph = gp_sqlite_get(scan, NODE, &id) && id;
    if (in_graph) gp_set_node(e, row, (uint64_t)id);
    /* a node's number begins with that of its graph, which older exports leave at that */
    if (gp_sqlite_has_column(scan, GRAPH) && gp_sqlite_get(scan, GRAPH, &id) && id)
        gp_set_graph(e, row, (uint64_t)id);
    else if (in_graph) gp_set_graph(e, row, (uint64_t)id >> 32 ? (uint64_t)id >> 32 : GP_NO_ID);
    return row;
}

/* ---- kernels ---- */

enum {
    MANGLED = OWN,
    DEMANGLED,
    SHORT,
    REGISTERS,
    GRID,
    BLOCK = GRID + 3,
    STATIC = BLOCK + 3,
    DYNAMIC,
    LOCAL,
    CLUSTER
};

/* CUPTI reports the mangled name; older exports lack it, or leave it empty for C functions. */
static gp_sid kernel_name(struct gp_nsys *n, struct gp_sqlite_scan *scan)
{
    int64_t id;
    gp_sid name = 0;
    for (int column = MANGLED; column <= SHORT && !name; column++)
        if (gp_sqlite_get(scan, column, &id)) name = gp_nsys_string(n, id);
    return name ? name : gp_intern_cstr(&n->t->strings, "[unnamed kernel]");
}

static void read_kernels(struct gp_nsys *n)
{
    static const struct {
        int column;
        uint32_t has;
    } facts[] = {
        {GRID, GP_HAS_GRID}, {BLOCK, GP_HAS_BLOCK}, {REGISTERS, GP_HAS_REGS}, {DYNAMIC, GP_HAS_SHARED}};
    struct gp_sqlite_scan scan;
    uint32_t has = 0;
    gp_sqlite_begin(
        n->db, &scan, "CUPTI_ACTIVITY_KIND_KERNEL",
        WORK "mangledName demangledName shortName registersPerThread gridX gridY gridZ blockX blockY blockZ "
             "staticSharedMemory dynamicSharedMemory localMemoryPerThread clusterX clusterY clusterZ");
    for (size_t i = 0; i < GP_COUNT(facts); i++)
        if (gp_sqlite_has_column(&scan, facts[i].column)) has |= facts[i].has;
    while (gp_sqlite_next(&scan)) {
        struct gp_config c = {.kind = GP_KERNEL, .name = kernel_name(n, &scan), .has = has};
        for (int i = 0; i < 3; i++) {
            c.grid[i] = gp_sqlite_u32(&scan, GRID + i);
            c.block[i] = gp_sqlite_u32(&scan, BLOCK + i);
            c.cluster[i] = gp_sqlite_u32(&scan, CLUSTER + i);
        }
        if (c.cluster[0]) c.has |= GP_HAS_CLUSTER;
        c.registers = gp_sqlite_u32(&scan, REGISTERS);
        c.shared_static_bytes = gp_sqlite_u32(&scan, STATIC);
        c.shared_bytes = c.shared_static_bytes + gp_sqlite_u32(&scan, DYNAMIC);
        c.local_bytes = gp_sqlite_u32(&scan, LOCAL);
        add_work(n, &scan, &c);
    }
}

/* ---- copies and sets ---- */

static uint32_t meaning(const struct gp_map *map, struct gp_sqlite_scan *scan, int column)
{
    int64_t v;
    const uint32_t *known = gp_sqlite_get(scan, column, &v) ? gp_map_get(map, (uint64_t)v) : NULL;
    return known ? *known : 0;
}

enum { BYTES = OWN, KIND, FROM, TO, FROM_DEVICE, TO_DEVICE, CAUSE, ADDRESS };

static void put_devices(struct gp_nsys *n, struct gp_sqlite_scan *scan, struct gp_config *c)
{
    char extra[80];
    int length =
        snprintf(extra, sizeof extra, "{\"fromDevice\":%u,\"toDevice\":%u}",
                 (unsigned)gp_sqlite_u32(scan, FROM_DEVICE), (unsigned)gp_sqlite_u32(scan, TO_DEVICE));
    c->extra = gp_trace_intern(n->t, extra, (size_t)length);
}

static struct gp_config copy_config(struct gp_nsys *n, struct gp_sqlite_scan *scan)
{
    static const uint32_t moved[] = {1, 2, COPY_PTOP}; /* the kinds of unified memory */
    char name[80];
    struct gp_config c = {.kind = GP_MEMCPY, .copy_kind = meaning(&n->copy_kinds, scan, KIND)};
    if (c.copy_kind >= COPY_UNIFIED && c.copy_kind < COPY_UNIFIED + GP_COUNT(moved)) {
        c.copy_kind = moved[c.copy_kind - COPY_UNIFIED];
        c.src_kind = c.dst_kind = KIND_MANAGED;
        snprintf(name, sizeof name, "Memcpy %s (Unified Memory, %s)", gp_cuda_copy_kind(c.copy_kind),
                 gp_cuda_migration(gp_sqlite_u32(scan, CAUSE)));
    } else {
        c.src_kind = meaning(&n->memory_kinds, scan, FROM);
        c.dst_kind = meaning(&n->memory_kinds, scan, TO);
        snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", gp_cuda_copy_kind(c.copy_kind),
                 gp_cuda_memory_kind(c.src_kind), gp_cuda_memory_kind(c.dst_kind));
    }
    c.name = gp_intern_cstr(&n->t->strings, name);
    if (c.copy_kind == COPY_PTOP && gp_sqlite_has_column(scan, FROM_DEVICE)) put_devices(n, scan, &c);
    return c;
}

static void read_copies(struct gp_nsys *n)
{
    struct gp_events *e = &n->t->events[GP_GPU];
    GP_SQLITE_EACH(scan, n->db, "CUPTI_ACTIVITY_KIND_MEMCPY",
                   WORK
                   "bytes copyKind srcKind dstKind srcDeviceId dstDeviceId migrationCause virtualAddress") {
        struct gp_config c = copy_config(n, &scan);
        size_t row = add_work(n, &scan, &c);
        if (row == GP_NSYS_NONE) continue;
        gp_set_bytes(e, row, gp_sqlite_int(&scan, BYTES, 0));
        if (c.src_kind == KIND_MANAGED) gp_set_addr(e, row, (uint64_t)gp_sqlite_int(&scan, ADDRESS, 0));
    }
}

static void read_sets(struct gp_nsys *n)
{
    struct gp_events *e = &n->t->events[GP_GPU];
    GP_SQLITE_EACH(scan, n->db, "CUPTI_ACTIVITY_KIND_MEMSET", WORK "bytes memKind") {
        char name[40];
        struct gp_config c = {.kind = GP_MEMSET, .dst_kind = meaning(&n->memory_kinds, &scan, KIND)};
        snprintf(name, sizeof name, "Memset (%s)", gp_cuda_memory_kind(c.dst_kind));
        c.name = gp_intern_cstr(&n->t->strings, name);
        size_t row = add_work(n, &scan, &c);
        if (row != GP_NSYS_NONE) gp_set_bytes(e, row, gp_sqlite_int(&scan, BYTES, 0));
    }
}

/* ---- whole graphs ---- */

static void read_graphs(struct gp_nsys *n)
{
    GP_SQLITE_EACH(scan, n->db, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", WORK) {
        char name[40];
        struct gp_config c = {.kind = GP_KERNEL};
        snprintf(name, sizeof name, "CUDA graph %lld", (long long)gp_sqlite_int(&scan, GRAPH, 0));
        c.name = gp_intern_cstr(&n->t->strings, name);
        add_work(n, &scan, &c);
    }
}

void gp_nsys_read_gpu(struct gp_nsys *n)
{
    if (!(n->t->need & GP_NEED(GP_GPU))) return;
    read_kernels(n);
    read_copies(n);
    read_sets(n);
    read_graphs(n);
}
