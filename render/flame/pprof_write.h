/* pprof_write.h -- call trees as a profile in pprof's format: a gzipped protocol buffer, which pprof,
 * Perfetto, Pyroscope and Parca read. A sample is a stack with one value per weight; GPU work and host time
 * are separate samples. Labels show where it ran: rank, device, stream. Python frames have their file and
 * line.
 *
 *     struct gp_flame flames[] = {gpu, cpu};                          // with gp_stacks_opts.extra and .places
 *     gp_pprof_write(out, flames, 2, &(struct gp_pprof_opts){.comment = "trace.json"});
 *
 * Function: name is the label, system_name the full name if it differs. There are no mappings and no
 * addresses.
 */
#ifndef GP_RENDER_PPROF_WRITE_H
#define GP_RENDER_PPROF_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/stacks/stacks.h"

struct gp_output; /* formats/base/output.h */

/* A zeroed struct is the default. Strings are borrowed during the call. */
struct gp_pprof_opts {
    const char *comment;   /* where it came from; NULL: none */
    enum gp_weight opened; /* the sample type that viewers show first */
    bool samples;          /* the weight of the only tree is a number of samples, whatever it is called */
};

/* Write N trees of different weights. A tree of GPU time that also has events and bytes adds their sample
 * types. OUT remembers write failures. Equal input gives equal bytes. */
void gp_pprof_write(struct gp_output *out, const struct gp_flame *flames, size_t n,
                    const struct gp_pprof_opts *opts);

#endif
