/* op_shapes.h -- rows of trace-hta's answer: operators by the shapes of their inputs, with what they computed
 * and moved, and how near that comes to what the device can do. Formulas: analyze/cost/README.md, "Work".
 *
 *     const struct gp_op_shape *o = &h.op_shapes.at[0];                   // the one with the most GPU time
 *     if (o->known_ns) use((double)o->flops / (double)o->known_ns);       // GFLOP/s
 */
#ifndef GP_ANALYZE_OP_SHAPES_H
#define GP_ANALYZE_OP_SHAPES_H

#include <stdint.h>
#include "analyze/names/dtype.h"
#include "analyze/result/field.h"
#include "formats/base/intern.h"

struct gp_op_shape {
    gp_sid name;                   /* label of the operator; 0: launched outside any */
    gp_sid shapes;                 /* "bf16[4096,1024] [1024,4096]"; 0: not recorded */
    uint64_t calls;                /* that launched something */
    uint64_t gpu_events;           /* that they launched, not those of operators within */
    int64_t gpu_ns;                /* sums over all rows to the trace's GPU time */
    int64_t known_ns;              /* of it in kernels of calls whose work is known */
    int64_t flops;                 /* of these calls; saturates, as bytes do */
    int64_t bytes_low, bytes_high; /* that must be moved; that are moved if caches keep nothing */
    int64_t ceiling_ns;            /* what these calls would have taken at the nearer ceiling of the device */
    int64_t ceiling_known_ns;      /* of known_ns where a ceiling is known */
    uint32_t arith;                /* enum gp_arith; GP_ARITH_NONE: no arithmetic, or of an unknown type */
};

struct gp_hta;
struct gp_row_of gp_hta_op_shapes_of(const struct gp_hta *h);
extern const struct gp_record gp_hta_op_shapes; /* rows: struct gp_op_shape */

#endif
