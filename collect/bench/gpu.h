/* gpu.h -- one GPU to measure on: memory with random content, kernels from PTX text, and times of what was
 * queued. Knows nothing of figures.
 *
 *     struct gp_gpu g;
 *     if (gp_gpu_open(&g, &driver, 0, &err)) ...
 *     gp_devptr p = gp_gpu_alloc(&g, bytes, GP_BITS_BF16);
 *     if (!p) report(g.err.msg);
 *     gp_gpu_close(&g);
 */
#ifndef GP_COLLECT_BENCH_GPU_H
#define GP_COLLECT_BENCH_GPU_H

#include <stddef.h>
#include <stdint.h>
#include "collect/bench/driver.h"
#include "formats/base/err.h"

enum { GP_GPU_BLOCKS = 24 }; /* allocations at a time, more than any measurement makes */

/* What random content is: numbers of either sign from 1/8 to 2, or any integer. Products of zeros are faster
 * than products of data, as they need less power. */
enum gp_bits { GP_BITS_INT8, GP_BITS_FP8, GP_BITS_FP16, GP_BITS_BF16, GP_BITS_FP32, GP_BITS_FP64 };

struct gp_gpu {
    const struct gp_driver *driver;
    const struct gp_cuda *cuda;
    void *context, *stream, *begin, *end;
    void *module, *fill_module, *fill; /* of gp_gpu_load(), and ours */
    void *nvml;                        /* handle; NULL: none */
    int count;                         /* of devices */
    int index, device, sms, major, minor;
    int users; /* processes that computed on it before we came; -1: not known */
    uint64_t l2_bytes;
    char name[128], pci[32];
    gp_devptr blocks[GP_GPU_BLOCKS];
    size_t nblocks;
    struct gp_err err; /* of the last call that failed */
};

/* The device with number INDEX, and a context on it. -1 with ERR: the device or the driver does not work. */
GP_MUST_CHECK int gp_gpu_open(struct gp_gpu *g, const struct gp_driver *d, int index, struct gp_err *err);
void gp_gpu_close(struct gp_gpu *g);

/* 0, or -1 with g->err for RC, which CALL returned. */
int gp_gpu_try(struct gp_gpu *g, int rc, const char *call);
/* A call of the driver's: GP_GPU(g, cuStreamSynchronize, g->stream). */
#define GP_GPU(g, call, ...) gp_gpu_try((g), (g)->cuda->call(__VA_ARGS__), #call)

/* Free bytes of its memory, 0 if that cannot be had. */
uint64_t gp_gpu_room(struct gp_gpu *g);
/* BYTES of its memory with random content, until gp_gpu_free_all(); 0 with g->err. */
gp_devptr gp_gpu_alloc(struct gp_gpu *g, uint64_t bytes, enum gp_bits bits);
void gp_gpu_free_all(struct gp_gpu *g);
/* The module for PTX TEXT, and its function NAME; NULL with g->err. The module stays until the next
 * gp_gpu_load(). */
GP_MUST_CHECK int gp_gpu_load(struct gp_gpu *g, const char *text);
void *gp_gpu_function(struct gp_gpu *g, const char *name);
/* Queue a kernel: BLOCKS of THREADS. PARAMS are addresses of its parameters. */
GP_MUST_CHECK int gp_gpu_launch(struct gp_gpu *g, void *function, uint64_t blocks, unsigned threads,
                                void **params);

/* Something to queue on g->stream. */
typedef int gp_gpu_work(struct gp_gpu *g, void *context);
/* The time between two events around N times WORK, in ns; the GPU has nothing else to do. */
GP_MUST_CHECK int gp_gpu_time(struct gp_gpu *g, gp_gpu_work *work, void *context, uint64_t n, double *ns);
/* How often WORK is repeated to take at least LEAST_NS, at least once and at most MOST times: it is run to
 * find out, so that it is warm. 0 with g->err. */
uint64_t gp_gpu_repeats(struct gp_gpu *g, gp_gpu_work *work, void *context, double least_ns, uint64_t most);

#endif
