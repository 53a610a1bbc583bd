/* ceilings.h -- how fast a device can be: memory bytes per second, operations per second in each type, and
 * the duration of an empty kernel, each with its source. Knows nothing of rules, files or kernels.
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
#include "analyze/names/dtype.h"
#include "analyze/cost/roofline.h"
#include "analyze/result/field.h"
#include "formats/base/declare.h"
#include "formats/ceilings_read.h"
#include "formats/model/trace.h"

struct gp_ceiling {
    double per_s;    /* bytes or operations; 0: not known */
    uint32_t source; /* enum gp_ceiling_source */
};

struct gp_ceilings {
    struct gp_ceiling memory, l2; /* memory: half of the bytes are read, the other half written */
    double memory_read_per_s, memory_write_per_s; /* of bytes that are only read or written; 0: as MEMORY */
    struct gp_ceiling flops[GP_ARITH_COUNT];
    double l2_bytes;       /* size of the cache; 0 unknown */
    double empty_ns;       /* duration of an empty kernel; 0 unknown */
    uint32_t empty_source; /* enum gp_ceiling_source */
    const char *sheet;     /* name of the device's data sheet in the table, static; NULL: none */
};

extern const struct gp_record gp_cost_ceilings; /* one: struct gp_ceilings */

const char *gp_ceiling_source_name(enum gp_ceiling_source s); /* "trace" */
const char *gp_ceiling_source_text(enum gp_ceiling_source s); /* "the best kernels of this trace" */
extern const char *const gp_ceiling_source_words[];           /* the names of all, NULL at the end */

/* Fill C from the table for a device called NAME (NULL or "" unknown) with properties D (NULL: none). For a
 * name that is not in the table, the ceilings follow from the recorded clocks and multiprocessors, otherwise
 * from the slowest device of its compute capability. Unknown values are 0. */
void gp_ceilings_of_device(struct gp_ceilings *c, const char *name, const struct gp_device *d);

/* C as file F has it, which was read; what it lacks is 0. -1 with ERR naming a type of numbers that does not
 * exist. */
GP_MUST_CHECK int gp_ceilings_of_file(struct gp_ceilings *c, const struct gp_ceilings_file *f,
                                      struct gp_err *err);

/* The least time in ns in which memory moves BYTES, of which WRITTEN are written: as many as are both read
 * and written at the rate of a copy, the others at the rate of what they are. WRITTEN < 0: not known, and the
 * fastest of the three rates counts. 0 if the ceiling is not known. */
double gp_ceilings_memory_ns(const struct gp_ceilings *c, double bytes, double written);
/* The inverse: the most that memory moves in NS, if WRITTEN of it (at most as many as NS allow) are
 * written. */
double gp_ceilings_memory_bytes(const struct gp_ceilings *c, double ns, double written);
/* Bytes per second of the L2 cache; 4 times those of memory if they are not known. */
double gp_ceilings_cache_per_s(const struct gp_ceilings *c);
/* gp_ceilings_memory_ns() of bytes that may be in the L2 cache: as many as it holds move at its rate. */
double gp_ceilings_cached_ns(const struct gp_ceilings *c, double bytes, double written);

/* Overwrite C with the values that OTHER knows, usually from a file. */
void gp_ceilings_prefer(struct gp_ceilings *c, const struct gp_ceilings *other);

/* Attainable rates as a trace shows them: rates of single kernels, in bytes or operations per second. */
enum { GP_CEILING_SAMPLES = 20 }; /* at least */
/* Set TOP from the rates of N kernels, which get sorted: the 99th percentile, never above the current TOP.
 * Nothing changes for fewer than GP_CEILING_SAMPLES, or if the best is below 60 % of TOP: then the trace
 * shows the kernels' limits, not the device's. O(n log n). */
void gp_ceiling_measure(struct gp_ceiling *top, double *rates, size_t n);

/* The attainable part of a ceiling: all of a measured one, 80 % of a data sheet's (measured on an H200: 769
 * to 798 of 989 TFLOP/s, and 4.3 of 4.8 TB/s). */
double gp_ceiling_attainable(const struct gp_ceiling *c);
/* The same of arithmetic at CLOCK, a part of the highest SM clock; 0: not known. Of a data sheet's, 90% at
 * that clock (measured on an H200: products at 1,474 and 1,743 MHz). A measured one has its clocks in it. */
double gp_ceiling_at(const struct gp_ceiling *c, double clock);
/* All of it at that clock. */
double gp_ceiling_peak_at(const struct gp_ceiling *c, double clock);

#endif
