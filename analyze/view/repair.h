/* repair.h -- events with impossible times or durations, counted and, on request, mended.
 *
 *     gp_repair(&trace, GP_REPAIR_CLIP);
 */
#ifndef GP_ANALYZE_REPAIR_H
#define GP_ANALYZE_REPAIR_H

#include "formats/model/trace.h"

enum gp_repair {
    /* impossible durations end where the next event of the stream begins; wrong times are dropped */
    GP_REPAIR_CLIP,
    GP_REPAIR_DROP, /* events with impossible times or durations are left out */
    GP_REPAIR_NONE, /* everything counts as recorded */
};

/* The one called WORD: "clip", "drop" or "none", as every other word. */
enum gp_repair gp_repair_called(const char *word);

/* Counts GP_Q_OUTLIER_TIME and GP_Q_OUTLIER_DURATION in T's issues and, unless REPAIR is GP_REPAIR_NONE,
 * mends or removes such events. T is finished, before and after. */
void gp_repair(struct gp_trace *t, enum gp_repair repair);

#endif
