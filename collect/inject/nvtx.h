/* nvtx.h -- NVTX ranges and marks, and those of gpuprof.h, as notes of threads.
 */
#ifndef GP_COLLECT_INJECT_NVTX_H
#define GP_COLLECT_INJECT_NVTX_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/wire/ring.h"

struct gpuprof_metric;

/* This thread has created NODE of a CUDA graph, as a copy of node ORIGINAL unless that is 0. Recorded
 * together with the open ranges; costs next to nothing in a process that has never used NVTX. */
void gp_nvtx_node(uint64_t node, uint64_t original);
/* This thread's call, from START_NS on, has waited for something, or recorded an event. */
void gp_nvtx_wait(int64_t start_ns, const struct gp_note_wait *wait);
/* This thread's call, from START_NS on, has returned. */
void gp_nvtx_call(int64_t start_ns, const struct gp_note_call *call);
/* From now on report ranges to gp_inject_range_begins() and its like, or stop doing so. */
void gp_nvtx_watch(bool on);
/* What gpuprof.h calls; see there. */
uint64_t gp_nvtx_own_name(const char *text);
void gp_nvtx_own_push(uint64_t name, const struct gpuprof_metric *m, size_t n);
void gp_nvtx_own_pop(void);
uint64_t gp_nvtx_own_start(uint64_t name, const struct gpuprof_metric *m, size_t n);
void gp_nvtx_own_stop(uint64_t range);
void gp_nvtx_own_mark(uint64_t name, const uint64_t *value, const struct gpuprof_metric *m, size_t n);

#endif
