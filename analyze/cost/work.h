/* work.h -- how much arithmetic an operator does and how many bytes it has to move, from the shapes of its
 * inputs; without shapes, the bytes that a kernel moves, from its name and grid. Knows nothing of times,
 * devices or traces. Formulas: analyze/cost/README.md, "Work".
 *
 *     struct gp_shapes shapes;
 *     struct gp_work w;
 *     if (gp_shapes_read(&shapes, extra) && gp_work_of_op(&w, "aten::mm", &shapes, NULL))
 *         use(w.flops, w.bytes_low);
 *
 * The work is that of the whole operator: callers that divide it among its kernels must not count it twice.
 */
#ifndef GP_ANALYZE_WORK_H
#define GP_ANALYZE_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/names/dtype.h"
#include "analyze/cost/shapes.h"

/* The evidence for a figure, best last. */
enum gp_work_tier {
    GP_WORK_UNKNOWN,  /* nothing: the sort of kernel at most */
    GP_WORK_NAMES,    /* tier 1: kernel name and grid */
    GP_WORK_SHAPES,   /* tier 2: shapes of the operator's inputs, also by XLA's cost analysis */
    GP_WORK_COUNTERS, /* tier 3: hardware counters of the launch itself; no model */
    GP_WORK_TIERS
};

const char *gp_work_tier_name(enum gp_work_tier t); /* "kind", "name and grid", "shapes", "counters" */
extern const char *const gp_work_tier_words[];      /* all, NULL at the end */

/* [BATCH x] M x K times K x N */
struct gp_work_product {
    int64_t batch, m, n, k; /* 0: no product */
};

struct gp_work {
    double flops; /* 0: none, or not known */
    /* bytes that must be moved, and bytes moved if caches keep nothing between passes */
    double bytes_low, bytes_high;
    double written;          /* how many of either are written, in one pass; < 0: not known */
    enum gp_arith arith;     /* type of the arithmetic, as far as the input types show it */
    struct gp_dtype element; /* of the tensor that most of the bytes are of; size 0: not known */
    bool flops_known;        /* 0 means none; only asked for where bytes are measured */
    bool products;           /* the arithmetic is that of matrices, which special units may do */
    struct gp_work_product product;
};

/* Is the operator's work known from shapes? Saves reading shapes in vain. O(log operators). */
bool gp_work_knows_op(const char *op);
/* Work of operator OP ("aten::mm", an in-place one, "triton_poi_fused_add_0") with inputs S. KERNEL is the
 * name of a kernel that it launched, NULL if unknown: only there do lists of tensors have a type. Returns
 * false, with W zeroed, if the work is unknown or impossibly large. */
bool gp_work_of_op(struct gp_work *w, const char *op, const struct gp_shapes *s, const char *kernel);
/* Of a kernel by its demangled NAME and the BLOCKS of its grid: PyTorch's elementwise kernels and those that
 * take many tensors at once. */
bool gp_work_of_kernel(struct gp_work *w, const char *name, uint32_t blocks);
/* Of a kernel of XLA by the args of its configuration, which have its cost analysis. PRODUCTS: it multiplies
 * matrices; operations of an unknown type are left out. */
bool gp_work_of_args(struct gp_work *w, const char *args, bool products);

#endif
