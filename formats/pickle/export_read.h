/* export_read.h -- the memory time lines that torch.profiler exports (export_memory_timeline) as histories:
 * sums by category over time, or every change with its category. No addresses and no stacks; each category
 * stands for a frame.
 *
 *     if (gp_export_sniff(head, n) && gp_export_read(&snapshot, in, &err)) ...
 */
#ifndef GP_FORMATS_PICKLE_EXPORT_READ_H
#define GP_FORMATS_PICKLE_EXPORT_READ_H

#include "formats/pickle/snapshot.h"

/* A list of lists of numbers? */
bool gp_export_sniff(const uint8_t *head, size_t n);
/* Read what IN holds into S, which is overwritten; the caller releases it, except on failure. Damage ends the
 * reading and is an issue of S; nothing usable at all is a failure. */
GP_MUST_CHECK int gp_export_read(struct gp_snapshot *s, struct gp_input *in, struct gp_err *err);

#endif
