/* work_models.h -- private to work.c, work_matrix.c and work_tensor.c: one function per family of operators,
 * and what the table of work.c passes to it for each operator.
 *
 *     struct gp_work_model add = {.op = "add", .run = gp_of_elementwise, .a = 2, .b = 1};
 *     if (add.run(&w, &shapes, &add)) ...
 */
#ifndef GP_ANALYZE_WORK_MODELS_H
#define GP_ANALYZE_WORK_MODELS_H

#include "analyze/cost/work.h"

typedef const struct gp_shape *gp_tensor;

struct gp_work_model;
/* W is zeroed, with GP_ARITH_NONE. False where the shapes do not fit; W may be anything then. */
typedef bool gp_work_of(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m);

/* Data about an operator. The family's function documents the meaning of A to F. */
struct gp_work_model {
    const char *op;
    gp_work_of *run;
    int a, b, c, d, e, f;
    bool transposed;
    /* Filled in for the requested operator. */
    bool in_place;      /* its name ends with '_' */
    uint32_t list_size; /* bytes of an element of its lists; 0 unknown */
};

enum { GP_HEADS_FIRST = 1, GP_ROWS_FIRST = 2 };   /* [B, H, S, D] or [B, S, H, D] */
enum { GP_SOFTMAX_FLOPS = 5, GP_NORM_FLOPS = 8 }; /* an element, roughly: far below what memory allows */

gp_work_of gp_of_attention;
gp_work_of gp_of_cat;
gp_work_of gp_of_convolution;
gp_work_of gp_of_convolution_backward;
gp_work_of gp_of_copy;
gp_work_of gp_of_elementwise;
gp_work_of gp_of_embedding;
gp_work_of gp_of_fill;
gp_work_of gp_of_gather;
gp_work_of gp_of_linear;
gp_work_of gp_of_lists;
gp_work_of gp_of_matmul;
gp_work_of gp_of_matrix_vector;
gp_work_of gp_of_norm;
gp_work_of gp_of_norm_backward;
gp_work_of gp_of_product;
gp_work_of gp_of_reduction;
gp_work_of gp_of_rows;
gp_work_of gp_of_scatter;
gp_work_of gp_of_softmax;
/* What Inductor made, by its name OP. */
bool gp_of_triton(struct gp_work *w, const struct gp_shapes *s, const char *op);

static inline double gp_work_bytes_of(gp_tensor t)
{
    return t ? t->distinct * t->element.size : 0;
}

static inline double gp_work_max2(double a, double b)
{
    return a > b ? a : b;
}

/* Vectors are worked on in FP32, but for doubles. */
static inline enum gp_arith gp_work_vector_arith(gp_tensor t)
{
    return t->element.arith == GP_ARITH_FP64 ? GP_ARITH_FP64 : GP_ARITH_FP32;
}

static inline void gp_work_set_bytes(struct gp_work *w, double low, double high)
{
    w->bytes_low = low;
    w->bytes_high = high;
}

#endif
