#include "collect/bench/measure.h"
#include "collect/bench/ptx.h"
#include "collect/bench/say.h"
#include "formats/base/buf.h"

struct chain {
    void *function;
    gp_devptr p;
    uint32_t rounds;
    uint64_t blocks;
    unsigned threads;
};

static int run_chain(struct gp_gpu *g, void *context)
{
    struct chain *c = context;
    void *params[] = {&c->p, &c->rounds};
    return gp_gpu_launch(g, c->function, c->blocks, c->threads, params);
}

static int load(struct gp_gpu *g)
{
    struct gp_buf b = {0};
    gp_ptx_begin(&b);
    gp_ptx_fma(&b, 32);
    gp_ptx_fma(&b, 64);
    int failed = gp_gpu_load(g, gp_buf_str(&b));
    gp_buf_release(&b);
    return failed;
}

/* A multiply-add is two operations. */
static double operations(const struct chain *c)
{
    return 2.0 * GP_PTX_FMA * c->rounds * (double)c->blocks * c->threads;
}

void gp_measure_arithmetic(struct gp_gpu *g, const struct gp_effort *e)
{
    struct chain c = {.blocks = 8 * (uint64_t)g->sms, .threads = 256};
    bool loaded = !load(g);
    c.p = loaded ? gp_gpu_alloc(g, c.blocks * c.threads * 8, GP_BITS_FP64) : 0;
    for (int bits = 32; bits <= 64; bits += 32) {
        const char *figure = bits == 32 ? "fp32" : "fp64";
        c.function = c.p ? gp_gpu_function(g, bits == 32 ? "fma32" : "fma64") : NULL;
        c.rounds = bits == 32 ? 400 : 40;
        if (!c.function || gp_measure_rates(g, figure, run_chain, &c, operations(&c), e))
            gp_say_missing(figure, g->err.msg);
    }
    gp_gpu_free_all(g);
}
