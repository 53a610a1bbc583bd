/* calibrate.h -- gpuprof-measure: the order of measurements, and reasons to refuse one. Knows no options of
 * the command line and no output format.
 *
 *     struct gp_calibrate_plan p = {.full = true};
 *     struct gp_calibration c = {0};
 *     if (gp_calibrate(&c, &p, print_message, &err)) ...
 *     gp_calibration_release(&c);
 */
#ifndef GP_RENDER_MEASURE_CALIBRATE_H
#define GP_RENDER_MEASURE_CALIBRATE_H

#include <stdbool.h>
#include "analyze/calibrate/calibration.h"
#include "formats/base/declare.h"

enum { GP_CALIBRATE_DEVICES = 64 };

struct gp_calibrate_plan {
    bool full;
    bool force;          /* measure a device that others use, or that is divided or capped, too */
    const char *devices; /* "0,2"; NULL: all */
    const char *ops;     /* "copy,add": sweep these on the first device; NULL: measure ceilings only */
    const char *type;    /* "fp32": of the elements */
    const char *sizes;   /* see gp_sweep_sizes() */
};

/* Measure. PROGRESS gets a line for each phase. -1 with ERR: a wrong option, no device, none that may be
 * measured, or nothing measurable. C is to be released in any case. */
GP_MUST_CHECK int gp_calibrate(struct gp_calibration *c, const struct gp_calibrate_plan *p,
                               void (*progress)(const char *message), struct gp_err *err);

#endif
