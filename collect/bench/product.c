#include "collect/bench/product.h"

#include <string.h>

enum {
    WORKSPACE = 64 << 20,
    /* numbers of cublasLt.h */
    ATTRIBUTE_TRANSPOSE_A = 3,
    PREFERENCE_WORKSPACE = 1,
    TRANSPOSED = 1,
};

#define TYPE(name, bits, size, ab, c, c_size, compute, scale)                                                \
    {name, bits, size, ab, c, c_size, compute, scale},
static const struct gp_product_type types[] = {GP_PRODUCT_TYPES(TYPE)};

const struct gp_product_type *gp_product_type_at(size_t i)
{
    return i < sizeof types / sizeof *types ? &types[i] : NULL;
}

const struct gp_product_type *gp_product_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name)) return &types[i];
    return NULL;
}

static int tried(struct gp_product *p, int rc, const char *call)
{
    if (!rc) return 0;
    return gp_fail(&p->gpu->err, GP_E_IO, -1, "%s: cuBLASLt error %d", call, rc);
}
#define LT(p, call, ...) tried((p), (p)->gpu->driver->cublas.call(__VA_ARGS__), #call)

/* The first operand is transposed: all types can do that, and some nothing else. So A is K x M. */
static int describe(struct gp_product *p, uint64_t m, uint64_t n, uint64_t k)
{
    const struct gp_product_type *t = p->type;
    int32_t transposed = TRANSPOSED;
    return LT(p, cublasLtMatmulDescCreate, &p->desc, t->compute, t->scale) ||
           LT(p, cublasLtMatmulDescSetAttribute, p->desc, ATTRIBUTE_TRANSPOSE_A, &transposed,
              sizeof transposed) ||
           LT(p, cublasLtMatrixLayoutCreate, &p->a_layout, t->type, k, m, (int64_t)k) ||
           LT(p, cublasLtMatrixLayoutCreate, &p->b_layout, t->type, k, n, (int64_t)k) ||
           LT(p, cublasLtMatrixLayoutCreate, &p->c_layout, t->result_type, m, n, (int64_t)m);
}

static int choose(struct gp_product *p)
{
    void *preference = NULL;
    size_t workspace = WORKSPACE;
    int failed = LT(p, cublasLtMatmulPreferenceCreate, &preference) ||
                 LT(p, cublasLtMatmulPreferenceSetAttribute, preference, PREFERENCE_WORKSPACE, &workspace,
                    sizeof workspace) ||
                 LT(p, cublasLtMatmulAlgoGetHeuristic, p->handle, p->desc, p->a_layout, p->b_layout,
                    p->c_layout, p->c_layout, preference, GP_PRODUCT_CHOICES, p->choices, &p->nchoices);
    if (preference) (void)p->gpu->driver->cublas.cublasLtMatmulPreferenceDestroy(preference);
    if (!failed && p->nchoices <= 0)
        failed = gp_fail(&p->gpu->err, GP_E_USAGE, -1, "cuBLASLt has no algorithm for it on this device");
    return failed ? -1 : 0;
}

static int set_up(struct gp_product *p, uint64_t m, uint64_t n, uint64_t k)
{
    const struct gp_product_type *t = p->type;
    enum gp_bits bits = t->bits == GP_BITS_FP8 ? GP_BITS_BF16 : t->bits;
    if (!p->gpu->driver->cublas.cublasLtCreate)
        return gp_fail(&p->gpu->err, GP_E_USAGE, -1, "%s", p->gpu->driver->no_cublas);
    if (LT(p, cublasLtCreate, &p->handle) || describe(p, m, n, k) || choose(p)) return -1;
    if (!(p->a = gp_gpu_alloc(p->gpu, m * k * t->size, t->bits)) ||
        !(p->b = gp_gpu_alloc(p->gpu, n * k * t->size, t->bits)) ||
        !(p->c = gp_gpu_alloc(p->gpu, m * n * t->result_size, bits)) ||
        !(p->workspace = gp_gpu_alloc(p->gpu, WORKSPACE, GP_BITS_INT8)))
        return -1;
    return 0;
}

int gp_product_open(struct gp_product *p, struct gp_gpu *g, const struct gp_product_type *type, uint64_t m,
                    uint64_t n, uint64_t k)
{
    *p = (struct gp_product){.gpu = g, .type = type, .operations = 2.0 * (double)m * (double)n * (double)k};
    if (!set_up(p, m, n, k)) return 0;
    gp_product_close(p);
    return -1;
}

int gp_product_run(struct gp_gpu *g, void *product)
{
    struct gp_product *p = product;
    /* 1 and 0 of whatever type the factors have */
    static const double one64 = 1, zero = 0;
    static const float one32 = 1;
    static const int32_t one = 1;
    const void *alpha = &one32;
    if (p->type->scale == 1) alpha = &one64;
    else if (p->type->scale == 10) alpha = &one;
    return LT(p, cublasLtMatmul, p->handle, p->desc, alpha, p->a, p->a_layout, p->b, p->b_layout, &zero, p->c,
              p->c_layout, p->c, p->c_layout, &p->choices[p->choice], p->workspace, WORKSPACE, g->stream);
}

void gp_product_close(struct gp_product *p)
{
    const struct gp_cublas *lt = &p->gpu->driver->cublas;
    if (p->desc) (void)lt->cublasLtMatmulDescDestroy(p->desc);
    if (p->a_layout) (void)lt->cublasLtMatrixLayoutDestroy(p->a_layout);
    if (p->b_layout) (void)lt->cublasLtMatrixLayoutDestroy(p->b_layout);
    if (p->c_layout) (void)lt->cublasLtMatrixLayoutDestroy(p->c_layout);
    if (p->handle) (void)lt->cublasLtDestroy(p->handle);
    *p = (struct gp_product){.gpu = p->gpu};
}
