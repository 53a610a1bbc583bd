/* memory_report.h -- the memory analysis as sentences and tables. Knows nothing of output syntax.
 *
 *     gp_memory_report(&report, &memory, &(struct gp_memory_report_opts){.top = 10});
 */
#ifndef GP_RENDER_MEMORY_REPORT_H
#define GP_RENDER_MEMORY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/memory/memory.h"
#include "render/report/report.h"

struct gp_memory_report_opts {
    size_t top;   /* rows of long tables; 0: all */
    bool verbose; /* with the tables that matter to few */
    size_t names; /* columns of a name at most; 0: all */
};

void gp_memory_report(struct gp_report *r, struct gp_memory *m, const struct gp_memory_report_opts *o);
/* Only the lines of the verdict, and of the quality (memory_verdict.c). */
void gp_memory_verdict(struct gp_report *r, const struct gp_memory *m);

/* "step 3": the name of step STEP of D, or its number where steps are found by the optimizer. */
void gp_memory_step_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d,
                        uint32_t step);

#endif
