/* inject_pc.h -- samples of the program counters of kernels.
 */
#ifndef GP_COLLECT_INJECT_INJECT_PC_H
#define GP_COLLECT_INJECT_INJECT_PC_H

#include <stdbool.h>
#include <stddef.h>
#include "collect/wire/wire.h"

/* Sample as OPTS ask, with the CUPTI that is in use, what runs in contexts that begin from now on. LATE: some
 * are there already. False, after a message unless nothing was asked for, if there will be no samples. */
bool gp_inject_pc_start(const struct gp_pc_opts *opts, void *libcupti, bool late);
/* A context was created, or is about to go. */
void gp_inject_pc_context_begins(void *context);
void gp_inject_pc_context_ends(void *context);
/* A call that launches something has ended. */
void gp_inject_pc_launch_ends(void *context);
/* Code was loaded, as a cubin of N bytes. */
void gp_inject_pc_module(const void *cubin, size_t n);
/* Sample from now on, or no longer: then the rest is fetched. */
void gp_inject_pc_record(bool on);
/* Hand over what has been sampled; flush thread only. */
void gp_inject_pc_drain(void);
void gp_inject_pc_forked(void);

#endif
