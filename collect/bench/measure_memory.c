#include <stdio.h>
#include "collect/bench/measure.h"
#include "collect/bench/ptx.h"
#include "collect/bench/say.h"
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
 * own, if it has one. A copy counts what it reads and what it writes. */
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
