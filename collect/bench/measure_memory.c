#include <stdio.h>
#include <sched.h>
#include <stdlib.h>
#include "collect/bench/measure.h"
#include "collect/bench/ptx.h"
#include "formats/base/buf.h"

enum { UNROLLS = 4 };
static const int unrolls[UNROLLS] = {1, 2, 4, 8};
static const unsigned threads[] = {256, 512, 1024};

/* A kernel over all of an array, or a copy by the driver. */
struct pass {
    void *function; /* NULL: the driver's */
    gp_devptr to, from;
    uint64_t bytes, blocks;
    unsigned threads;
    bool set; /* the driver's: set, not copy */
};

static int run_pass(struct gp_gpu *g, void *context)
{
    struct pass *p = context;
    void *params[] = {&p->to, &p->from};
    if (p->function) return gp_gpu_launch(g, p->function, p->blocks, p->threads, params);
    if (p->set) return GP_GPU(g, cuMemsetD32Async, p->to, 0x12345678, p->bytes / 4, g->stream);
    return GP_GPU(g, cuMemcpyDtoDAsync_v2, p->to, p->from, p->bytes, g->stream);
}

/* All ways to do one thing to an array: KERNEL with several numbers of vectors and threads, and the driver's
 * own, if it has one. A copy counts its reads and its writes. */
static int ways(struct gp_gpu *g, const char *figure, const char *kernel, struct pass *p, double bytes,
                bool driver, const struct gp_effort *e)
{
    char name[16];
    for (int u = 0; u < UNROLLS; u++) {
        snprintf(name, sizeof name, "%s%d", kernel, unrolls[u]);
        if (!(p->function = gp_gpu_function(g, name))) return -1;
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            if (!e->full && (unrolls[u] < 4) != (threads[t] == 1024)) continue;
            p->threads = threads[t];
            p->blocks = p->bytes / GP_PTX_VECTOR / threads[t] / (unsigned)unrolls[u];
            if (gp_measure_rates(g, figure, run_pass, p, bytes, e)) return -1;
        }
    }
    p->function = NULL;
    return driver ? gp_measure_rates(g, figure, run_pass, p, bytes, e) : 0;
}

static int load(struct gp_gpu *g)
{
    struct gp_buf b = {0};
    gp_ptx_begin(&b);
    for (int u = 0; u < UNROLLS; u++) {
        gp_ptx_copy(&b, unrolls[u]);
        gp_ptx_read(&b, unrolls[u]);
        gp_ptx_write(&b, unrolls[u]);
    }
    gp_ptx_again(&b);
    int failed = gp_gpu_load(g, gp_buf_str(&b));
    gp_buf_release(&b);
    return failed;
}

static void measure_dram(struct gp_gpu *g, const struct gp_effort *e)
{
    /* So much that a cache does not matter, in pieces that every way of going through it divides. */
    uint64_t piece = 1024 * 8 * GP_PTX_VECTOR, room = gp_gpu_room(g) / 4;
    uint64_t most = UINT64_C(2) << 30, bytes = (room < most ? room : most) / piece * piece;
    struct pass p = {.bytes = bytes};
    if (bytes < 16 * g->l2_bytes || !bytes) {
        gp_say_missing("memory", "too little memory of the device is free");
        return;
    }
    p.to = gp_gpu_alloc(g, bytes, GP_BITS_FP32);
    p.from = p.to ? gp_gpu_alloc(g, bytes, GP_BITS_FP32) : 0;
    if (!p.from || ways(g, "memory_copy", "copy", &p, 2.0 * (double)bytes, true, e))
        gp_say_missing("memory_copy", g->err.msg);
    if (!p.from || ways(g, "memory_read", "read", &p, (double)bytes, false, e))
        gp_say_missing("memory_read", g->err.msg);
    p.set = true;
    if (!p.from || ways(g, "memory_write", "write", &p, (double)bytes, true, e))
        gp_say_missing("memory_write", g->err.msg);
    gp_gpu_free_all(g);
}

/* Reading the same over and over. */
struct again {
    void *function;
    gp_devptr p;
    uint32_t rounds, passes;
    uint64_t blocks;
    unsigned threads;
};

static int run_again(struct gp_gpu *g, void *context)
{
    struct again *a = context;
    void *params[] = {&a->p, &a->rounds, &a->passes};
    return gp_gpu_launch(g, a->function, a->blocks, a->threads, params);
}

/* Half of the cache, a quarter and an eighth, as some caches are two halves that mirror each other, by few
 * threads and by many. */
static int measure_parts(struct gp_gpu *g, struct again *a, const struct gp_effort *e)
{
    static const unsigned sizes[] = {256, 512, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t part = 2; part <= 8; part *= 2) {
            a->threads = sizes[i];
            a->blocks = (uint64_t)g->sms * (2048 / sizes[i]);
            uint64_t round = a->blocks * a->threads * GP_PTX_VECTOR * GP_PTX_AGAIN;
            a->rounds = (uint32_t)(g->l2_bytes / part / round);
            if (!a->rounds && part > 2) continue;
            if (!a->rounds) a->rounds = 1;
            if (gp_measure_rates(g, "l2", run_again, a, (double)a->rounds * (double)round * a->passes, e))
                return -1;
        }
    return 0;
}

static void measure_l2(struct gp_gpu *g, const struct gp_effort *e)
{
    struct again a = {.function = gp_gpu_function(g, "again"), .passes = 40};
    if (!g->l2_bytes) {
        gp_say_missing("l2", "the driver does not know the size of the cache");
        return;
    }
    a.p = gp_gpu_alloc(g, g->l2_bytes + (uint64_t)g->sms * 2048 * GP_PTX_VECTOR * GP_PTX_AGAIN, GP_BITS_FP32);
    if (!a.p || !a.function || measure_parts(g, &a, e)) gp_say_missing("l2", g->err.msg);
    gp_gpu_free_all(g);
}

void gp_measure_memory(struct gp_gpu *g, const struct gp_effort *e)
{
    if (load(g)) {
        gp_say_missing("memory", g->err.msg);
        return;
    }
    measure_dram(g, e);
    measure_l2(g, e);
}

/* ---- links ---- */

enum { LINK_BYTES = 512 << 20, QUICK_LINK_BYTES = 256 << 20, PEER_BYTES = 256 << 20, DEVICES = 64 };

/* "0-15,32-47" to a set of processors. False if there is none. */
static bool cpu_list(const char *text, cpu_set_t *set)
{
    CPU_ZERO(set);
    while (*text) {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (end == text) break;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        for (unsigned long c = first; c <= last && c < CPU_SETSIZE; c++) CPU_SET(c, set);
        text = *end == ',' ? end + 1 : "";
    }
    return CPU_COUNT(set) > 0;
}

/* Memory of the host is placed near the processor that first touches it, so this thread moves to one near the
 * device. */
static void go_near(const struct gp_gpu *g)
{
    char path[96], text[512] = "", pci[32];
    cpu_set_t set;
    for (size_t i = 0; i < sizeof pci; i++)
        pci[i] = g->pci[i] >= 'A' && g->pci[i] <= 'F' ? (char)(g->pci[i] + 32) : g->pci[i];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%.31s/local_cpulist", pci);
    FILE *f = fopen(path, "re");
    if (f && fgets(text, sizeof text, f) && cpu_list(text, &set) && !sched_setaffinity(0, sizeof set, &set))
        gp_say_fact("host_cpus", text);
    if (f) fclose(f);
}

struct link {
    gp_devptr device[2];
    char *host[2];
    size_t n;
    void *other, *ready, *done; /* a second stream, and events that join it to the first */
    bool up, down;
};

/* Both ways at once: up on the first stream, down on the second, which begins and ends with the first. */
static int run_link(struct gp_gpu *g, void *context)
{
    struct link *l = context;
    bool both = l->up && l->down;
    void *stream = both ? l->other : g->stream;
    if (both &&
        (GP_GPU(g, cuEventRecord, l->ready, g->stream) || GP_GPU(g, cuStreamWaitEvent, stream, l->ready, 0)))
        return -1;
    if (l->up && GP_GPU(g, cuMemcpyHtoDAsync_v2, l->device[0], l->host[0], l->n, g->stream)) return -1;
    if (l->down && GP_GPU(g, cuMemcpyDtoHAsync_v2, l->host[1], l->device[1], l->n, stream)) return -1;
    if (both &&
        (GP_GPU(g, cuEventRecord, l->done, stream) || GP_GPU(g, cuStreamWaitEvent, g->stream, l->done, 0)))
        return -1;
    return 0;
}

static int open_link(struct gp_gpu *g, struct link *l)
{
    for (int i = 0; i < 2; i++) {
        void *p = NULL;
        if (!(l->device[i] = gp_gpu_alloc(g, l->n, GP_BITS_INT8)) || GP_GPU(g, cuMemHostAlloc, &p, l->n, 0))
            return -1;
        l->host[i] = p;
        uint32_t *words = p;
        for (size_t k = 0; k < l->n / sizeof *words; k++) words[k] = (uint32_t)k * 2654435761u;
    }
    return GP_GPU(g, cuStreamCreate, &l->other, GP_CUDA_NON_BLOCKING) ||
           GP_GPU(g, cuEventCreate, &l->ready, 0) || GP_GPU(g, cuEventCreate, &l->done, 0);
}

void gp_measure_link(struct gp_gpu *g, const struct gp_effort *e)
{
    static const char *const figures[] = {"h2d", "d2h", "both"};
    struct link l = {.n = e->full ? LINK_BYTES : QUICK_LINK_BYTES};
    go_near(g);
    int failed = open_link(g, &l);
    for (int way = 0; way < 3; way++) {
        l.up = way != 1;
        l.down = way != 0;
        double bytes = (double)l.n * (way == 2 ? 2 : 1);
        if (failed || gp_measure_rates(g, figures[way], run_link, &l, bytes, e))
            gp_say_missing(figures[way], g->err.msg);
    }
    for (int i = 0; i < 2; i++)
        if (l.host[i]) (void)g->cuda->cuMemFreeHost(l.host[i]);
    gp_gpu_free_all(g);
}

/* From one device to another, queued on the first. */
struct pair {
    struct gp_gpu *from, *to;
    gp_devptr source, target;
};

static int run_pair(struct gp_gpu *g, void *context)
{
    struct pair *p = context;
    return GP_GPU(g, cuMemcpyPeerAsync, p->target, p->to->context, p->source, p->from->context, PEER_BYTES,
                  g->stream);
}

static int measure_pair(struct pair *p, const struct gp_effort *e)
{
    char figure[32];
    struct gp_gpu *g = p->from;
    int can = 0;
    snprintf(figure, sizeof figure, "peer_%d_%d", g->index, p->to->index);
    if (GP_GPU(g, cuCtxSetCurrent, g->context)) return -1;
    /* Without it the driver goes through the host, as it does for programs. */
    if (!GP_GPU(g, cuDeviceCanAccessPeer, &can, g->device, p->to->device) && can)
        (void)g->cuda->cuCtxEnablePeerAccess(p->to->context, 0);
    return gp_measure_rates(g, figure, run_pair, p, PEER_BYTES, e);
}

void gp_measure_peers(const struct gp_driver *d, const int *devices, int n, const struct gp_effort *e)
{
    static const char figure[] = "peers";
    struct gp_err err = {0};
    struct gp_gpu *gpus = calloc(DEVICES, sizeof *gpus);
    gp_devptr memory[DEVICES] = {0};
    int opened = 0;
    for (; gpus && opened < n && opened < DEVICES; opened++) {
        if (gp_gpu_open(&gpus[opened], d, devices[opened], &err)) break;
        if (!(memory[opened] = gp_gpu_alloc(&gpus[opened], PEER_BYTES, GP_BITS_INT8))) {
            err = gpus[opened++].err;
            break;
        }
    }
    if (err.code) gp_say_missing(figure, err.msg);
    for (int i = 0; !err.code && i < opened; i++)
        for (int k = 0; k < opened; k++) {
            struct pair p = {&gpus[i], &gpus[k], memory[i], memory[k]};
            if (i != k && measure_pair(&p, e)) gp_say_missing(figure, gpus[i].err.msg);
        }
    for (int i = 0; i < opened; i++) gp_gpu_close(&gpus[i]);
    free(gpus);
}
