/* nvtx_op.h -- operators among NVTX ranges. PyTorch's emit_nvtx() pushes a range for each operator and puts
 * its facts into the name: "aten::mm, seq = 12, op_id = 3, sizes = [[8, 4], [4, 2]]", so that no
 * two names are equal. Pure.
 *
 *     struct gp_nvtx_op o;
 *     if (gp_nvtx_op(&o, text, n) && o.is_op) use(text, o.name_n, o.seq);  // operator, sequence number
 */
#ifndef GP_FORMATS_MODEL_NVTX_OP_H
#define GP_FORMATS_MODEL_NVTX_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_nvtx_op {
    size_t name_n; /* of the text: the name itself */
    bool is_op;    /* false: a range of the program, which PyTorch has given a number */
    uint64_t seq;  /* GP_NO_ID: none */
    /* of the inputs, "[[8, 4], []]", in the text; NULL: not recorded */
    const char *sizes;
    size_t sizes_n;
};

/* False if TEXT is not such a name. */
bool gp_nvtx_op(struct gp_nvtx_op *o, const char *text, size_t n);
#endif
