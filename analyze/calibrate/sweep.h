/* sweep.h -- one operation measured over many sizes: time, rates, shares of what the device can do, and where
 * what bounds it changes. Knows no processes and no pictures.
 *
 *     struct gp_sweep s = {0};
 *     gp_sweep_line(&s, "op copy fp32 1024 8192 0 3100 3200 3150", &err);
 *     gp_sweep_settle(&s, &figures);
 *     for (size_t i = 0; i < s.ops.n; i++) use(s.ops.at[i].points.at[0].ns);
 *     gp_sweep_release(&s);
 */
#ifndef GP_ANALYZE_SWEEP_H
#define GP_ANALYZE_SWEEP_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/calibrate/figures.h"
#include "formats/base/declare.h"
#include "formats/base/vec.h"

/* What bounds one call. */
enum gp_sweep_regime {
    GP_SWEEP_LAUNCH,  /* it takes less than twice what the smallest size takes */
    GP_SWEEP_CACHE,   /* it moves bytes faster than memory can, and they have room in the L2 cache */
    GP_SWEEP_MEMORY,  /* the share of the memory's rate is the larger one */
    GP_SWEEP_COMPUTE, /* the share of the rate of arithmetic is */
    GP_SWEEP_UNKNOWN, /* no ceiling is known */
    GP_SWEEP_REGIMES
};
const char *gp_sweep_regime_name(enum gp_sweep_regime r); /* "launch" */

struct gp_sweep_point {
    uint64_t elements, bytes, flops;
    double ns, low_ns, high_ns; /* median and quartiles of a call */
    size_t repeats;
    double memory_share, compute_share; /* of the ceilings; 0 not known */
    enum gp_sweep_regime regime;
    struct gp_samples samples;
};

/* Where one regime ends and another begins. */
struct gp_sweep_border {
    enum gp_sweep_regime below, above;
    uint64_t from, to; /* elements of the last measured size below and the first above */
    /* between them: where the time is twice that of the smallest size, or the geometric mean of both */
    double elements;
};

struct gp_sweep_op {
    char name[16], type[8];
    GP_VEC(struct gp_sweep_point) points; /* by elements */
    GP_VEC(struct gp_sweep_border) borders;
};
extern const struct gp_record gp_sweep_ops;

struct gp_sweep {
    GP_VEC(struct gp_sweep_op) ops;
    double memory_per_s, l2_bytes, flops_per_s[GP_FIGURE_COUNT]; /* the ceilings; 0 not known */
};

/* Take in a line that begins with "op". -1 with ERR for one that is none. */
GP_MUST_CHECK int gp_sweep_line(struct gp_sweep *s, const char *line, struct gp_err *err);
/* Medians, shares of F, regimes, borders. */
void gp_sweep_settle(struct gp_sweep *s, const struct gp_figures *f);
void gp_sweep_release(struct gp_sweep *s);

/* Operations per second that O's points are compared with; 0 not known. */
double gp_sweep_flops_per_s(const struct gp_sweep *s, const struct gp_sweep_op *o);

enum { GP_SWEEP_SIZES = 64 };
/* "1K:1G:x2", "1000:10000:+1000", "4096,8192": the sizes in SIZES, rising; how many, or -1 with ERR. K, M, G
 * are powers of 1024. */
GP_MUST_CHECK int gp_sweep_sizes(const char *text, uint64_t sizes[GP_SWEEP_SIZES], struct gp_err *err);

#endif
