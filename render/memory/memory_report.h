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

void gp_memory_report(struct gp_report *r, const struct gp_memory *m, const struct gp_memory_report_opts *o);
/* Only the lines of the verdict, and of the quality (memory_verdict.c). */
void gp_memory_verdict(struct gp_report *r, const struct gp_memory *m);

/* The name of device D: "cuda:0", with its input where there are several. */
void gp_memory_device_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d);
/* "step 3": the name of step STEP of D, or its number where steps are found by the optimizer. */
void gp_memory_step_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d,
                        uint32_t step);
/* "train.py:12 step": frame NUMBER of a stack, the innermost is 0. */
void gp_memory_frame_path_put(struct gp_buf *b, const struct gp_snapshot *s, uint32_t stack, uint32_t number);
/* What the program said of that moment, "phase: eval"; "": nothing. */
const char *gp_memory_oom_metadata(const struct gp_memory_device *d, const struct gp_memory_oom *o);
/* "+1.23 MB", "-4 B", "same". */
void gp_memory_change_put(struct gp_buf *b, int64_t change);
/* "step 3", "the start", "1.23 ms". */
void gp_memory_since_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_holder *h);

#endif
