#include <math.h>
#include <time.h>
#include "collect/bench/measure.h"
#include "collect/bench/product.h"
#include "collect/bench/ptx.h"
#include "formats/base/buf.h"

/* Sizes that large products are fast with; which is best depends on how they divide among the
 * multiprocessors. */
static const uint64_t shapes[][3] = {
    {8192, 8192, 8192}, {16384, 8192, 4096}, {8192, 16384, 8192}, {6144, 11264, 8192}, {4096, 4096, 16384},
};
enum { QUICK_SHAPES = 3, SHAPES = sizeof shapes / sizeof *shapes, FINALISTS = 3, QUICK_FINALISTS = 1 };

/* One way to make a product, and how fast it was. */
struct way {
    int shape, choice;
    double per_s;
};

/* Keep the best ways, the best first. */
static void keep(struct way *best, int n, struct way w)
{
    for (int i = 0; i < n; i++)
        if (w.per_s > best[i].per_s) {
            struct way worse = best[i];
            best[i] = w;
            w = worse;
        }
}

static void rest(double ns)
{
    struct timespec t = {(time_t)(ns / 1e9), (long)fmod(ns, 1e9)};
    nanosleep(&t, NULL);
}

static int open_shape(struct gp_gpu *g, struct gp_product *p, const struct gp_product_type *type, int shape)
{
    /* products in double precision take 30 times as long */
    unsigned smaller = type->size == 8 ? 2 : 1;
    const uint64_t *s = shapes[shape];
    if (!gp_product_open(p, g, type, s[0] / smaller, s[1] / smaller, s[2] / smaller)) return 0;
    gp_gpu_free_all(g);
    return -1;
}

static void close_shape(struct gp_gpu *g, struct gp_product *p)
{
    gp_product_close(p);
    gp_gpu_free_all(g);
}

/* A short look at every way. Algorithms that fail are left out: the library may name some that do not run
 * here. */
static void look(struct gp_gpu *g, const struct gp_product_type *type, int shape, const struct gp_effort *e,
                 struct way *best, int n)
{
    struct gp_product p;
    if (open_shape(g, &p, type, shape)) return;
    for (p.choice = 0; p.choice < p.nchoices; p.choice++) {
        double ns;
        if (gp_gpu_time(g, gp_product_run, &p, 1, &ns) || gp_gpu_time(g, gp_product_run, &p, 3, &ns))
            continue;
        keep(best, n, (struct way){shape, p.choice, 3 * p.operations / ns});
        rest(e->rest_ns / 10);
    }
    close_shape(g, &p);
}

/* The results that count, each after a rest, as the first milliseconds show the limit of the arithmetic, and
 * later ones that of its power supply (gp_measure_soak). */
static int measure(struct gp_gpu *g, const struct gp_product_type *type, struct way w,
                   const struct gp_effort *e)
{
    struct gp_effort once = *e;
    struct gp_product p;
    int failed = open_shape(g, &p, type, w.shape);
    if (failed) return -1;
    p.choice = w.choice;
    once.rounds = 1;
    for (int i = 0; !failed && i < e->rounds; i++) {
        rest(e->rest_ns);
        failed = gp_measure_rates(g, type->name, gp_product_run, &p, p.operations, &once);
    }
    close_shape(g, &p);
    return failed;
}

void gp_measure_products(struct gp_gpu *g, const struct gp_effort *e)
{
    int n = e->full ? SHAPES : QUICK_SHAPES, finalists = e->full ? FINALISTS : QUICK_FINALISTS;
    const struct gp_product_type *type;
    for (size_t t = 0; (type = gp_product_type_at(t)); t++) {
        struct way best[FINALISTS] = {{0, 0, 0}};
        bool measured = false;
        for (int i = 0; i < n; i++) look(g, type, i, e, best, finalists);
        for (int i = 0; i < finalists && best[i].per_s > 0; i++) measured |= !measure(g, type, best[i], e);
        if (!measured) gp_say_missing(type->name, g->err.msg);
    }
}

/* ---- arithmetic ---- */

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
