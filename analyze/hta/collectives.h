/* collectives.h -- private to collectives*.c and rules_ranks.c: what their operations are called, how much they move, and which of
 * several ranks' collectives are the same one. Knows nothing about traces.
 *
 *     const char *op = gp_collective_op("_allgather_base", 15);               // "all_gather"
 *     double busbw = algbw * gp_collective_bus_factor(op, 8);                 // 7/8
 */
#ifndef GP_ANALYZE_COLLECTIVES_H
#define GP_ANALYZE_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/hta/hta.h"

/* The operation that a framework's name or a kernel's function name stands for: "all_reduce", "all_gather",
 * "reduce_scatter", "broadcast", "all_to_all", "send_recv", "reduce", "gather", "scatter", "barrier", "dispatch",
 * "combine"; "other" where it says nothing. Static. */
const char *gp_collective_op(const char *name, size_t n);
/* From algorithm to bus bandwidth with N ranks, as nccl-tests define it. 0 when N is needed and unknown (0), and for
 * operations of several kinds. */
double gp_collective_bus_factor(const char *op, uint32_t n);
/* Is the operation over for all ranks at nearly the same time, whoever came last? */
bool gp_collective_is_symmetric(const char *op);
/* Bytes of an element of a type by its name in PyTorch ("BFloat16") or NCCL ("f8e4m3"); 0 unknown. */
uint32_t gp_dtype_bytes(const char *name, size_t n);

/* 10^9 bytes a second; 0 where either is unknown. */
double gp_collective_bandwidth(int64_t bytes, int64_t ns);

#define GP_NO_MATCH UINT32_MAX

/* Fill h->matches, offsets, stragglers and the counts of what could not be matched, and the `order` of every
 * collective. h->collectives must be sorted by (rank, start). Returns, by collective, the index of its match or
 * GP_NO_MATCH; the caller frees it. */
uint32_t *gp_collectives_match(struct gp_hta *h);

/* Add the collectives of one trace to H. */
void gp_hta_add_collectives(struct gp_hta *h, const struct gp_view *v);

#endif
