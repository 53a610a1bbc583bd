/* work_models_priv.h -- private to work.c, work_matrix.c and work_tensor.c: one function per family of
 * operators, and what work.c passes to it for each operator.
 *
 *     struct gp_work_model add = {.op = "add", .run = gp_of_elementwise,
 *                                 .elementwise = {.inputs = 2, .flops = 1}};
 *     if (add.run(&w, &shapes, &add)) ...
 */
#ifndef GP_ANALYZE_WORK_MODELS_PRIV_H
#define GP_ANALYZE_WORK_MODELS_PRIV_H

#include "analyze/cost/work.h"

typedef const struct gp_shape *gp_tensor;

struct gp_work_model;
/* W is zeroed, with GP_ARITH_NONE. False if the shapes do not match; W is then undefined. */
typedef bool gp_work_of(struct gp_work *w, const struct gp_shapes *s, const struct gp_work_model *m);

/* Data about an operator: its family, and the parameters of that family. Positions are those of inputs in the
 * schema; -1: none. */
struct gp_work_model {
    const char *op;
    gp_work_of *run;
    union {
        struct {
            int left, right, added; /* positions of the factors, and of the summand */
        } product;
        struct {
            int left, right; /* positions */
        } matmul;
        struct {
            int input, weights, bias; /* positions */
        } linear;
        struct {
            int matrix, vector; /* positions */
        } matrix_vector;
        struct {
            int input, weights, stride, padding, dilation, groups; /* positions */
            bool transposed;
        } convolution;
        struct {
            int query;   /* position; key and value follow */
            int causal;  /* position of a flag, or of a number that is not 0 */
            int lengths; /* position of the sums of lengths */
            int layout;  /* GP_HEADS_FIRST or GP_ROWS_FIRST */
            bool backward;
        } attention;
        struct {
            int input;       /* position of one of full size */
            int least, most; /* how many times its bytes are read or written */
            int flops;       /* per element */
        } norm;
        struct {
            int input, mask; /* positions of one of full size, and of the mask of requested gradients */
        } norm_backward;
        struct {
            int inputs, reads; /* read at least: each input once; at most: one input so many times */
        } softmax;
        struct {
            int inputs;        /* the first ones */
            int flops;         /* per element */
            int out_bytes;     /* per output element; 0: as in the widest input */
            int more_bytes;    /* additional bytes written per element */
            bool writes_first; /* the first input is only written */
        } elementwise;
        struct {
            bool scans; /* writes as much as it reads: running sums */
            int reads;  /* of the input, at most */
        } reduction;
        struct {
            bool slices; /* reads whole slices */
        } gather;
        struct {
            int values, index; /* positions */
        } scatter;
        struct {
            int targets, scores; /* positions */
        } rows;
        struct {
            int written;       /* lists, in addition to reading all */
            int others;        /* from this position on, lists are not tensors to work on */
            int flops;         /* per element */
            bool writes_first; /* the first input is only written */
        } lists;
    };
    /* Filled in for the requested operator. */
    bool in_place;      /* its name ends with '_' */
    uint32_t list_size; /* bytes of an element of its lists; 0 unknown */
};

enum { GP_HEADS_FIRST = 1, GP_ROWS_FIRST = 2 };   /* [B, H, S, D] or [B, S, H, D] */
enum { GP_SOFTMAX_FLOPS = 5, GP_NORM_FLOPS = 8 }; /* per element, roughly: far below the memory bound */

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

static inline double gp_work_bytes_of(gp_tensor t) { return t ? t->distinct * t->element.size : 0; }

static inline double gp_work_max2(double a, double b) { return a > b ? a : b; }

/* Vectors are worked on in FP32, but for doubles. */
static inline enum gp_arith gp_work_vector_arith(gp_tensor t)
{
    return t->element.arith == GP_ARITH_FP64 ? GP_ARITH_FP64 : GP_ARITH_FP32;
}

/* Of LOW to HIGH bytes, WRITTEN are written; < 0: not known. */
static inline void gp_work_set_bytes(struct gp_work *w, double low, double high, double written)
{
    w->bytes_low = low;
    w->bytes_high = high;
    w->written = written;
}

#endif
