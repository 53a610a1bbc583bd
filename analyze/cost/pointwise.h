/* pointwise.h -- how many elements and bytes an elementwise kernel of PyTorch moves, from its name and grid
 * only, without shapes. Covers the kernels whose names contain their number of operands, and no others. Knows
 * nothing of traces, times or rules.
 *
 *     struct gp_pointwise p;
 *     if (gp_pointwise_of(&p, "void at::native::vectorized_elementwise_kernel<4, ...", 1024))
 *         use(p.elements, p.inputs * p.in_size, p.out_size);
 */
#ifndef GP_ANALYZE_POINTWISE_H
#define GP_ANALYZE_POINTWISE_H

#include <stdbool.h>
#include <stdint.h>

/* The longest operand: broadcast operands are smaller and read from the cache. */
struct gp_pointwise {
    int64_t elements;           /* at most; less than a block's too many */
    uint32_t inputs;            /* 0: it fills */
    uint32_t in_size, out_size; /* bytes of an element */
};

/* NAME is demangled, BLOCKS the size of the grid. Returns false, with P zeroed, for unknown kernels. */
bool gp_pointwise_of(struct gp_pointwise *p, const char *name, uint32_t blocks);

/* How many elements a vectorized kernel really has for each that gp_pointwise_of() counts: PyTorch 2.6 gives
 * a block 512, not 1024. A trace decides which it was: see gp_item_work_find(). */
#define GP_POINTWISE_HALF 0.5
/* Of a plain name: is it such a kernel? */
bool gp_pointwise_is_vectorized(const char *name);

/* Of a plain name: does the kernel fill with a value; copy; copy into another type; copy between other orders
 * of elements, or join tensors? */
bool gp_pointwise_fills(const char *name);
bool gp_pointwise_copies(const char *name);
bool gp_pointwise_casts(const char *name);
bool gp_pointwise_reorders(const char *name);

#endif
