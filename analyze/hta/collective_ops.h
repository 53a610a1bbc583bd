/* collective_ops.h -- the operations of communication libraries: what they are called, which bandwidth they
 * reach, and the element types they move. Knows nothing of traces.
 *
 *     const char *op = gp_collective_op(GP_TEXT("_allgather_base"));               // "all_gather"
 *     double algbw = gp_collective_bandwidth(bytes, ns);                      // GB/s
 *     double busbw = algbw * gp_collective_bus_factor(op, 8);                 // 7/8 of it
 */
#ifndef GP_ANALYZE_COLLECTIVE_OPS_H
#define GP_ANALYZE_COLLECTIVE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The operation that a framework's name or a kernel's function name stands for: "all_reduce", "all_gather",
 * "reduce_scatter", "broadcast", "all_to_all", "send_recv", "reduce", "gather", "scatter", "barrier",
 * "dispatch", "combine"; "other" if the name shows none. Static. */
const char *gp_collective_op(const char *name, size_t n);
/* From algorithm to bus bandwidth with N ranks, as nccl-tests define it. 0 if N is needed but unknown (0),
 * and for operations of several kinds. */
double gp_collective_bus_factor(const char *op, uint32_t n);
/* Does the operation end for all ranks at nearly the same time, whichever rank came last? */
bool gp_collective_is_symmetric(const char *op);
/* Bytes of an element of a type by its name in PyTorch ("BFloat16") or NCCL ("f8e4m3"); 0 unknown. */
uint32_t gp_dtype_bytes(const char *name, size_t n);

/* 10^9 bytes per second; 0 if either is unknown. */
double gp_collective_bandwidth(int64_t bytes, int64_t ns);

#endif
