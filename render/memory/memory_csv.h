/* memory_csv.h -- every block of the histories, and every stack, as RFC 4180; written as it goes, since there
 * may be millions.
 *
 *     gp_memory_csv_allocations(out, &memory);
 */
#ifndef GP_RENDER_MEMORY_CSV_H
#define GP_RENDER_MEMORY_CSV_H

#include "analyze/memory/memory.h"
#include "formats/base/output.h"

/* One row per block: device, addr, bytes, requested, alloc_ns, free_ns, stream, step, range, op, category,
 * stack. */
void gp_memory_csv_allocations(struct gp_output *out, const struct gp_memory *m);
/* One row per stack: its number as the rows of blocks have it, its key, and its frames, innermost first. */
void gp_memory_csv_stacks(struct gp_output *out, const struct gp_memory *m);

#endif
