/* hlo.h -- the programs that XLA compiled, as profiles of JAX hold them (HloProto): of each instruction that
 * becomes a kernel its category, the work that its shapes imply, and the Python stack that traced it. Knows
 * no events.
 *
 *     struct gp_hlo h = {0};
 *     gp_hlo_add(&h, &trace, 9943, gp_wire_begin(proto, n));
 *     const struct gp_hlo_op *op = gp_hlo_find(&h, 9943, hlo_op, name);
 *     if (op) gp_set_stack(gpu, row, op->stack);
 *     gp_hlo_release(&h);
 *
 * FLOPs count one for each arithmetic operation on an element of floating point, whatever it is, the
 * elements that a reduction reads, and 2 M N K. Bytes are the operands and results of a fusion, each once; of
 * an operand that is only sliced, the slices.
 */
#ifndef GP_FORMATS_HLO_H
#define GP_FORMATS_HLO_H

#include "formats/base/map.h"
#include "formats/base/wire.h"
#include "formats/model/trace.h"

/* What all kernels of an instruction have in common. */
struct gp_hlo_op {
    gp_sid args;    /* a JSON object: {"hlo_category":"loop fusion","flops":512}; 0: none */
    uint32_t stack; /* index in trace->stacks; 0: unknown */
};

/* Zeroed: none. */
struct gp_hlo {
    struct gp_map programs, at; /* by id; by name and program: index in ops */
    GP_VEC(struct gp_hlo_op) ops;
};

/* The program ID in PROTO. Whatever is broken in it is left out. O(size, and log n of each name). */
void gp_hlo_add(struct gp_hlo *h, struct gp_trace *t, uint64_t id, struct gp_wire proto);
/* The instruction OP of a program, or else the one whose kernel is called KERNEL: where several instructions
 * share a kernel, as far as they agree. NULL: neither is known. */
const struct gp_hlo_op *gp_hlo_find(const struct gp_hlo *h, uint64_t id, gp_sid op, gp_sid kernel);
void gp_hlo_release(struct gp_hlo *h);

#endif
