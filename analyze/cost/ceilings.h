/* ceilings.h -- how fast a device can be: bytes a second of its memory, operations a second in each type, and how long a
 * kernel takes that does nothing. Each says where it is from. Knows nothing of rules, files or kernels.
 *
 *     struct gp_ceilings c;
 *     gp_ceilings_of_device(&c, "NVIDIA H200", props);
 *     if (c.memory.per_s > 0) use(bytes / c.memory.per_s, gp_ceiling_source_text(c.memory.source));
 */
#ifndef GP_ANALYZE_CEILINGS_H
#define GP_ANALYZE_CEILINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/names/element.h"
#include "analyze/cost/roofline.h"
#include "formats/trace.h"

struct gp_ceiling {
    double per_s;    /* bytes or operations; 0: not known */
    uint32_t source; /* enum gp_ceiling_source */
};

struct gp_ceilings {
    struct gp_ceiling memory, l2;
    struct gp_ceiling flops[GP_ARITH_COUNT];
    double l2_bytes;       /* size of the cache; 0 not known */
    double empty_ns;       /* what a kernel takes that does nothing; 0 not known */
    uint32_t empty_source; /* enum gp_ceiling_source */
    const char *sheet;     /* whose data sheet the table has, static; NULL: of no device that it knows */
};

const char *gp_ceiling_source_name(enum gp_ceiling_source s); /* "trace" */
const char *gp_ceiling_source_text(enum gp_ceiling_source s); /* "the best kernels of this trace" */

/* C by the table for a device called NAME (NULL or "" unknown) with properties D (NULL: none). A name that the table does not
 * have is worked out from clocks and multiprocessors where these are recorded, else taken as the slowest device of its
 * compute capability. What nobody knows is 0. */
void gp_ceilings_of_device(struct gp_ceilings *c, const char *name, const struct gp_device *d);

/* C has what OTHER knows, a file's mostly, in place of what it had. */
void gp_ceilings_prefer(struct gp_ceilings *c, const struct gp_ceilings *other);

/* What a trace shows can be reached: rates of single kernels, bytes or operations a second. */
enum { GP_CEILING_SAMPLES = 20 }; /* at least */
/* TOP from the rates of N kernels, which are sorted: the 99th percentile, never above what TOP is already. Nothing changes
 * for fewer than GP_CEILING_SAMPLES, nor where the best is below 60 % of what TOP was: then the trace tells of its kernels
 * and not of the device. O(n log n). */
void gp_ceiling_measure(struct gp_ceiling *top, double *rates, size_t n);

/* What can be had of a ceiling: all of what was measured, 80 % of what a data sheet says (on an H200, 769 to 798 of 989
 * TFLOP/s were measured, and 4.3 of 4.8 TB/s). */
double gp_ceiling_attainable(const struct gp_ceiling *c);

#endif
