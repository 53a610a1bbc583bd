#include <string.h>
#include "collect/bench/measure.h"
#include "collect/bench/product.h"
#include "collect/bench/ptx.h"
#include "formats/base/buf.h"

enum { MOST_ROUNDS = 64, MOST_REPEATS = 20000 };

struct call {
    void *function;
    gp_devptr out, a, b;
    uint64_t n, blocks;
};

static int run_call(struct gp_gpu *g, void *context)
{
    struct call *c = context;
    void *params[] = {&c->out, &c->a, &c->b, &c->n};
    return gp_gpu_launch(g, c->function, c->blocks, GP_OP_THREADS, params);
}

/* Times of one call each, from batches: back to back, as programs make them. */
static int times(struct gp_gpu *g, gp_gpu_work *work, void *context, struct gp_say_op *o,
                 const struct gp_effort *e)
{
    double ns[MOST_ROUNDS];
    uint64_t n = gp_gpu_repeats(g, work, context, e->batch_ns, MOST_REPEATS);
    o->ns = ns;
    for (o->n = 0; n && o->n < (size_t)e->rounds && o->n < MOST_ROUNDS; o->n++) {
        if (gp_gpu_time(g, work, context, n, &ns[o->n])) return -1;
        ns[o->n] /= (double)n;
    }
    if (!n) return -1;
    gp_say_op(o);
    return 0;
}

static int load(struct gp_gpu *g, const struct gp_op *op, enum gp_op_type t, struct call *c)
{
    struct gp_buf b = {0};
    gp_ptx_begin(&b);
    gp_ptx_op(&b, op, t);
    c->function = gp_gpu_load(g, gp_buf_str(&b)) ? NULL : gp_gpu_function(g, "op");
    gp_buf_release(&b);
    return c->function ? 0 : -1;
}

enum gp_bits gp_measure_bits(enum gp_op_type t)
{
    static const enum gp_bits bits[] = {GP_BITS_FP32, GP_BITS_FP16, GP_BITS_BF16};
    return bits[t];
}

static int measure_size(struct gp_gpu *g, const struct gp_op *op, enum gp_op_type t, uint64_t wanted,
                        struct call *c, const struct gp_effort *e)
{
    struct gp_op_shape s = gp_op_shape(op, t, wanted);
    uint64_t bytes = s.elements * gp_op_type_size(t);
    struct gp_say_op o = {op->name, gp_op_type_name(t), s.elements, s.bytes, s.flops, NULL, 0};
    c->n = gp_op_count(op, t, &s);
    c->blocks = s.blocks;
    if (!(c->out = gp_gpu_alloc(g, bytes, gp_measure_bits(t))) ||
        !(c->a = gp_gpu_alloc(g, bytes, gp_measure_bits(t))))
        return -1;
    c->b = op->reads > 1 ? gp_gpu_alloc(g, bytes, gp_measure_bits(t)) : c->a;
    return c->b ? times(g, run_call, c, &o, e) : -1;
}

/* C = A * B of squares that have about as many elements as wanted. */
static int measure_product(struct gp_gpu *g, const struct gp_product_type *type, uint64_t wanted,
                           const struct gp_effort *e)
{
    struct gp_product p;
    uint64_t side = 16;
    while ((side + 16) * (side + 16) <= wanted) side += 16;
    uint64_t elements = side * side;
    struct gp_say_op o = {
        "matmul", type->name, elements, elements * (2 * type->size + type->result_size), 2 * elements * side,
        NULL,     0};
    if (gp_product_open(&p, g, type, side, side, side)) return -1;
    int failed = times(g, gp_product_run, &p, &o, e);
    gp_product_close(&p);
    return failed;
}

void gp_measure_op(struct gp_gpu *g, const char *name, const char *type, const uint64_t *sizes, int n,
                   const struct gp_effort *e)
{
    bool product = !strcmp(name, "matmul");
    const struct gp_op *op = gp_op_called(name);
    enum gp_op_type t = gp_op_type_called(type);
    const struct gp_product_type *product_type = gp_product_type(type);
    struct call c = {0};
    if (product ? !product_type : !op || t == GP_OP_TYPES) {
        gp_say_missing(name, "there is no such operation for elements of that type");
        return;
    }
    if (!product && load(g, op, t, &c)) {
        gp_say_missing(name, g->err.msg);
        return;
    }
    for (int i = 0; i < n; i++) {
        int failed =
            product ? measure_product(g, product_type, sizes[i], e) : measure_size(g, op, t, sizes[i], &c, e);
        gp_gpu_free_all(g);
        if (!failed) continue;
        gp_say_missing(name, g->err.msg);
        return; /* larger ones will not do either */
    }
}
