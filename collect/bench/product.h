/* product.h -- products of matrices by cuBLASLt, to be queued again and again. Knows nothing of figures.
 *
 *     struct gp_product p;
 *     if (gp_product_open(&p, &g, gp_product_type("bf16"), 8192, 8192, 8192)) report(g.err.msg);
 *     for (int i = 0; i < p.nchoices; i++) {
 *         p.choice = i;
 *         gp_gpu_time(&g, gp_product_run, &p, 10, &ns);
 *     }
 *     gp_product_close(&p);
 */
#ifndef GP_COLLECT_BENCH_PRODUCT_H
#define GP_COLLECT_BENCH_PRODUCT_H

#include <stdint.h>
#include "collect/bench/gpu.h"

enum { GP_PRODUCT_CHOICES = 8 };

/* The types of operands that products exist for: X(name, bits, bytes of an element of a and b, CUDA's type of
 * a and b, of c, bytes of an element of c, compute type, type of the factors). Names are those of
 * analyze/names/dtype.h. */
#define GP_PRODUCT_TYPES(X)                                                                                  \
    X("fp64", GP_BITS_FP64, 8, 1, 1, 8, 70, 1)                                                               \
    X("fp32", GP_BITS_FP32, 4, 0, 0, 4, 68, 0)                                                               \
    X("tf32", GP_BITS_FP32, 4, 0, 0, 4, 77, 0)                                                               \
    X("fp16", GP_BITS_FP16, 2, 2, 2, 2, 68, 0)                                                               \
    X("bf16", GP_BITS_BF16, 2, 14, 14, 2, 68, 0)                                                             \
    X("fp8", GP_BITS_FP8, 1, 28, 14, 2, 68, 0)                                                               \
    X("int8", GP_BITS_INT8, 1, 3, 10, 4, 72, 10)

struct gp_product_type {
    const char *name;
    enum gp_bits bits;
    unsigned size; /* of an element of the operands */
    int type, result_type;
    unsigned result_size;
    int compute, scale;
};
/* NULL if there is no such type. */
const struct gp_product_type *gp_product_type(const char *name);
/* In the order of the list; NULL at its end. */
const struct gp_product_type *gp_product_type_at(size_t i);

struct gp_product {
    struct gp_gpu *gpu;
    const struct gp_product_type *type;
    void *handle, *desc, *a_layout, *b_layout, *c_layout;
    gp_devptr a, b, c, workspace;
    struct gp_cublas_choice choices[GP_PRODUCT_CHOICES];
    int nchoices, choice;
    double operations; /* 2MNK */
};

/* An M x K by K x N product with random operands; the library's first choices of an algorithm. -1 with
 * g->err: it cannot be had here. The memory lives until gp_gpu_free_all(). */
GP_MUST_CHECK int gp_product_open(struct gp_product *p, struct gp_gpu *g, const struct gp_product_type *type,
                                  uint64_t m, uint64_t n, uint64_t k);
/* Queue one with the CHOICE that is set; a gp_gpu_work, its context the product. */
int gp_product_run(struct gp_gpu *g, void *product);
void gp_product_close(struct gp_product *p);

#endif
