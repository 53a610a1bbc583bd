/* kernel_key.h -- when are two kernels with different names the same? Provides keys that are equal for equal
 * kernels, from strict to loose. Knows nothing of traces; works on bytes.
 *
 *     struct gp_buf key = {0};
 *     gp_kernel_code(&key, name, n);     // "vectorized_elementwise_kernel<CUDAFunctor_add, f32>"
 *     gp_kernel_family(&key, name, n);   // "elementwise_kernel<CUDAFunctor_add, f32>"
 *
 * | level | equal for | example |
 * | name | the same name, demangled (gp_name_demangle) | ampere_sgemm_32x128_nn |
 * | code | the same source: other builds, launch parameters or numbering | triton_poi_fused_add_mul |
 * | family | what a library or an autotuner takes in place of each other: tiles, stages, vector widths,
 *   split-k, algorithms of collectives, variants for small and large inputs | ampere_sgemm_nn |
 * | form | the same for another type of data | ampere_gemm_nn |
 * | role | the same purpose: class, operator and phase | gemm addmm backward |
 *
 * A looser key is a function of the stricter ones: names with the same code have the same family. Several
 * kernels of a step may share a key; callers that count them distinguish them by other facts. Match strict
 * keys first: looser keys only show that two kernels can replace each other.
 *
 * NAME is as recorded, mangled or not. All functions append and never fail: names that they cannot parse are
 * appended unchanged. O(n) for plain names.
 */
#ifndef GP_ANALYZE_KERNEL_KEY_H
#define GP_ANALYZE_KERNEL_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/names/frame_kind.h"
#include "formats/base/declare.h"

/* Return type, parameters, anonymous namespaces, addresses, numbers in template arguments and the numbers
 * that Triton's compiler assigns are dropped; the functors and the data type stay. */
void gp_kernel_code(struct gp_buf *to, const char *name, size_t n);
void gp_kernel_family(struct gp_buf *to, const char *name, size_t n);
/* The family without data types: for float and bfloat16 runs of one program. Matrix product libraries use
 * different kernels for different types, only some of which share a form. */
void gp_kernel_form(struct gp_buf *to, const char *name, size_t n);

enum gp_phase { GP_PHASE_UNKNOWN, GP_PHASE_FORWARD, GP_PHASE_BACKWARD, GP_PHASE_OPTIMIZER };

/* "gemm addmm backward" from a kind, the operator that launched the kernel ("aten::addmm", "aten::add_",
 * "AddmmBackward0") and the phase of the step. N 0: the operator is unknown, which is also a role. */
void gp_kernel_role(struct gp_buf *to, enum gp_frame_kind kind, const char *op, size_t n,
                    enum gp_phase phase);

/* Is this a helper of a matrix product or convolution: the sum of its parts, offsets, another layout of its
 * input? Their presence depends on the tile. */
bool gp_kernel_is_helper(const char *name, size_t n);
/* Does the compiler that made this kernel join operations in one (Triton's "fused" names, nvFuser, XLA)? */
bool gp_kernel_is_fused(const char *name, size_t n);

#endif
