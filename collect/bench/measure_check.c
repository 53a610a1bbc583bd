#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/bench/measure.h"
#include "collect/bench/ptx.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"

/* Wrong kernels would be measured, too: so each operation is compared with the same in
 * double precision. */

static double from_half(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double m = h & 1023, v = exponent ? ldexp(m + 1024, exponent - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static double element(const void *data, enum gp_op_type t, uint64_t i)
{
    float f;
    uint32_t word;
    if (t == GP_OP_FP32) return ((const float *)data)[i];
    if (t == GP_OP_FP16) return from_half(((const uint16_t *)data)[i]);
    word = (uint32_t)((const uint16_t *)data)[i] << 16;
    memcpy(&f, &word, sizeof f);
    return f;
}

/* What a row of softmax or layernorm needs to be known. */
struct row {
    double top, sum, square; /* the largest; of exp(x - top), or of x; of the squares of x - mean */
};

static struct row row_at(const char *name, const void *a, enum gp_op_type t, uint64_t first)
{
    struct row r = {.top = -INFINITY};
    bool softmax = !strcmp(name, "softmax");
    for (uint64_t k = 0; k < GP_OP_ROW; k++) r.top = fmax(r.top, element(a, t, first + k));
    for (uint64_t k = 0; k < GP_OP_ROW; k++) {
        double v = element(a, t, first + k);
        r.sum += softmax ? exp(v - r.top) : v;
    }
    for (uint64_t k = 0; !softmax && k < GP_OP_ROW; k++)
        r.square += pow(element(a, t, first + k) - r.sum / GP_OP_ROW, 2);
    return r;
}

static double expected(const struct gp_op *op, const struct gp_op_shape *s, const struct row *r,
                       void *const *host, enum gp_op_type t, uint64_t i)
{
    const void *a = host[1];
    if (op->kind == GP_OP_TRANSPOSE) return element(a, t, i % s->side * s->side + i / s->side);
    double x = element(a, t, i);
    if (!strcmp(op->name, "softmax")) return exp(x - r->top) / r->sum;
    if (op->kind == GP_OP_ROWS) return (x - r->sum / GP_OP_ROW) / sqrt(r->square / GP_OP_ROW + 1e-5);
    if (!strcmp(op->name, "add")) return x + element(host[2], t, i);
    if (!strcmp(op->name, "exp")) return exp(x);
    if (!strcmp(op->name, "cos")) return cos(x);
    return strcmp(op->name, "fill") ? x : 0;
}

/* Functions are the fast ones of the hardware: their error does not shrink with the result. */
static bool near(double got, double want, enum gp_op_type t)
{
    static const double precision[] = {1e-5, 2e-3, 1.6e-2};
    return fabs(got - want) <= precision[t] * (0.1 + fabs(want));
}

struct data {
    struct gp_op_shape shape;
    gp_devptr device[3];
    void *host[3]; /* out, a, b */
    uint64_t bytes;
};

static int run(struct gp_gpu *g, const struct gp_op *op, enum gp_op_type t, struct data *d)
{
    struct gp_buf b = {0};
    uint64_t n = gp_op_count(op, t, &d->shape);
    void *params[] = {&d->device[0], &d->device[1], &d->device[2], &n};
    gp_ptx_begin(&b);
    gp_ptx_op(&b, op, t);
    void *f = gp_gpu_load(g, gp_buf_str(&b)) ? NULL : gp_gpu_function(g, "op");
    gp_buf_release(&b);
    if (!f) return -1;
    for (int i = 0; i < 3; i++)
        if (!(d->device[i] = gp_gpu_alloc(g, d->bytes, gp_measure_bits(t)))) return -1;
    if (op->kind == GP_OP_REDUCE && GP_GPU(g, cuMemsetD32Async, d->device[0], 0, d->bytes / 4, g->stream))
        return -1;
    if (gp_gpu_launch(g, f, d->shape.blocks, GP_OP_THREADS, params)) return -1;
    for (int i = 0; i < 3; i++)
        if (GP_GPU(g, cuMemcpyDtoHAsync_v2, d->host[i], d->device[i], d->bytes, g->stream)) return -1;
    return GP_GPU(g, cuStreamSynchronize, g->stream);
}

static int compare_sum(struct gp_gpu *g, const struct data *d, enum gp_op_type t)
{
    double sum = 0, size = 0, got = *(const float *)d->host[0];
    for (uint64_t i = 0; i < d->shape.elements; i++) {
        sum += element(d->host[1], t, i);
        size += fabs(element(d->host[1], t, i));
    }
    return fabs(got - sum) <= 1e-4 * size
               ? 0
               : gp_fail(&g->err, GP_E_IO, -1, "the sum is %g and should be %g", got, sum);
}

static int compare(struct gp_gpu *g, const struct gp_op *op, enum gp_op_type t, const struct data *d)
{
    struct row r = {0};
    if (op->kind == GP_OP_REDUCE) return compare_sum(g, d, t);
    for (uint64_t i = 0; i < d->shape.elements; i++) {
        if (op->kind == GP_OP_ROWS && i % GP_OP_ROW == 0) r = row_at(op->name, d->host[1], t, i);
        double got = element(d->host[0], t, i), want = expected(op, &d->shape, &r, d->host, t, i);
        if (!near(got, want, t))
            return gp_fail(&g->err, GP_E_IO, -1, "element %llu is %g and should be %g", (unsigned long long)i,
                           got, want);
    }
    return 0;
}

static int check(struct gp_gpu *g, const struct gp_op *op, enum gp_op_type t, uint64_t wanted)
{
    struct data d = {.shape = gp_op_shape(op, t, wanted)};
    d.bytes = (d.shape.elements * gp_op_type_size(t) + 255) / 256 * 256;
    int failed = 0;
    for (int i = 0; i < 3; i++)
        if (!(d.host[i] = malloc(d.bytes))) failed = gp_fail(&g->err, GP_E_LIMIT, -1, "out of memory");
    if (!failed) failed = run(g, op, t, &d) || compare(g, op, t, &d);
    for (int i = 0; i < 3; i++) free(d.host[i]);
    gp_gpu_free_all(g);
    return failed ? -1 : 0;
}

bool gp_measure_check(struct gp_gpu *g)
{
    static const uint64_t sizes[] = {1, 1000, 1 << 14, 3 << 16, 1000000};
    const struct gp_op *op;
    char text[96];
    bool right = true;
    for (size_t o = 0; (op = gp_op_at(o)); o++)
        for (enum gp_op_type t = 0; t < GP_OP_TYPES; t++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                bool ok = !check(g, op, t, sizes[i]);
                snprintf(text, sizeof text, "%s %s %llu", op->name, gp_op_type_name(t),
                         (unsigned long long)sizes[i]);
                if (ok) gp_say_fact("right", text);
                else gp_say_missing(text, g->err.msg);
                right &= ok;
            }
    return right;
}
