#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "collect/bench/measure.h"
#include "collect/bench/say.h"

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
    /* Without it the driver goes through the host, which is what programs get, too. */
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
