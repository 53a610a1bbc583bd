/* shapes.h -- the inputs of an operator as PyTorch's profiler records them ("Input Dims", "Input type",
 * "Input Strides", "Concrete Inputs"): number and type of elements, and the values of non-tensors. Knows
 * nothing of what an operator does with them. Sizes are doubles where they are multiplied, so that no input
 * can cause an overflow.
 *
 *     struct gp_shapes s;
 *     int64_t groups;
 *     if (gp_shapes_read(&s, extra) && s.in[0].n == 4 && gp_shapes_int(&s, 8, &groups))
 *         use(s.in[0].size[1] / groups);
 */
#ifndef GP_ANALYZE_SHAPES_H
#define GP_ANALYZE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/names/dtype.h"

enum {
    GP_SHAPE_DIMS = 8,    /* dimensions of a tensor that are kept */
    GP_SHAPE_INPUTS = 20, /* inputs that are kept */
};

enum gp_shape_sort {
    GP_SHAPE_NOTHING, /* not given, a number, or a list of numbers */
    GP_SHAPE_TENSOR,
    GP_SHAPE_LIST,         /* of tensors */
    GP_SHAPE_UNKNOWN_LIST, /* of so many tensors that the profiler did not write them down */
};

struct gp_shape {
    enum gp_shape_sort sort;
    int n; /* dimensions of a tensor; -1: more than are kept */
    int64_t size[GP_SHAPE_DIMS];
    double elements;         /* of all tensors of a list together */
    double distinct;         /* the same, but dimensions that are broadcast (of stride 0) count once */
    struct gp_dtype element; /* size 0: not known, as for lists */
};

struct gp_shapes {
    struct gp_shape in[GP_SHAPE_INPUTS];
    int n;
    const char *concrete; /* into the text; NULL: not recorded */
    size_t concrete_n;
};

/* Read the members of EXTRA, JSON text of an object, which must outlive S. False if no sizes are recorded,
 * and for impossible ones: negative numbers, words. O(length). */
bool gp_shapes_read(struct gp_shapes *s, const char *extra);

/* The value of input I, an integer, a list of them, True or False, or a list of these as 0 and 1. False, or a
 * count of 0, if it is something else or not recorded. */
bool gp_shapes_int(const struct gp_shapes *s, int i, int64_t *v);
bool gp_shapes_bool(const struct gp_shapes *s, int i, bool *v);
/* Returns how many there are, at most CAP. */
int gp_shapes_ints(const struct gp_shapes *s, int i, int64_t *v, int cap);

/* Input I if it is a tensor of known size, otherwise NULL. */
static inline const struct gp_shape *gp_shapes_tensor(const struct gp_shapes *s, int i)
{
    return i >= 0 && i < s->n && s->in[i].sort == GP_SHAPE_TENSOR ? &s->in[i] : NULL;
}

#endif
