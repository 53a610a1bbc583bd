/* dtype.h -- the types that elements of tensors have, by the names that profilers and C++ give them, and
 * the types that arithmetic is done in. Knows nothing of shapes, kernels or devices.
 *
 *     struct gp_dtype e;
 *     if (gp_dtype_at(&e, GP_TEXT("c10::BFloat16"))) use(e.size, e.arith);     // 2, GP_ARITH_BF16
 */
#ifndef GP_ANALYZE_DTYPE_H
#define GP_ANALYZE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* X(enum, name): the arithmetic of matrix products. Devices have a ceiling for each. */
#define GP_ARITHS(X)                                                                                         \
    X(GP_ARITH_FP64, "fp64")                                                                                 \
    X(GP_ARITH_FP32, "fp32")                                                                                 \
    X(GP_ARITH_TF32, "tf32")                                                                                 \
    X(GP_ARITH_FP16, "fp16")                                                                                 \
    X(GP_ARITH_BF16, "bf16")                                                                                 \
    X(GP_ARITH_FP8, "fp8")                                                                                   \
    X(GP_ARITH_INT8, "int8")

enum gp_arith {
    GP_ARITHS(GP_FIRST) GP_ARITH_COUNT,
    GP_ARITH_NONE = GP_ARITH_COUNT /* not known, or no arithmetic */
};
const char *gp_arith_name(enum gp_arith a); /* "bf16"; "none" */
/* GP_ARITH_NONE if none has that name. */
enum gp_arith gp_arith_called(const char *name);

struct gp_dtype {
    uint32_t size;       /* bytes */
    enum gp_arith arith; /* of its products; GP_ARITH_NONE for integers and bool */
};

/* The type whose name N characters at TEXT begin with: "float", "long int", "c10::Half". False, and E zeroed,
 * for others. */
bool gp_dtype_at(struct gp_dtype *e, const char *text, size_t n);

#endif
