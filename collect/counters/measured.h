/* measured.h -- counters on their way from a process to its trace: the request, a set of metrics, and
 * rows of values, as the payloads of frames (wire.h). Whatever arrives is checked.
 *
 *     gp_measured_put_row(&buf, &row, values, "kernel");         // in the process
 *     if (!gp_measured_take_rows(&taken, payload, n)) ...        // in the launcher: invalid
 */
#ifndef GP_COLLECT_MEASURED_H
#define GP_COLLECT_MEASURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/model/metric.h"

enum gp_measure_per { GP_MEASURE_OFF, GP_MEASURE_KERNELS, GP_MEASURE_RANGES };

/* What is asked of a process; part of WELCOME. */
struct gp_measure_opts {
    uint32_t per;     /* enum gp_measure_per */
    uint32_t passes;  /* at most; 0: any number */
    uint64_t every;   /* of launches with the same name and grid only every N-th, and the first */
    uint64_t count;   /* in all; 0: no limit */
    char set[600];    /* as --metrics has it */
    char range[104];  /* "NAME" or "DOMAIN:NAME"; "": the outermost ranges */
    char kernel[128]; /* a pattern, see gp_filter_name() */
};

/* A set is one of these and then N of the others. */
struct gp_measured_set {
    uint32_t number, n, passes, reserved;
    char chip[16];
};
struct gp_measured_metric {
    char name[160], unit[28];
    uint32_t type; /* enum gp_metric_type */
};

/* Rows of one set: this, and then for each row a struct gp_measured_row, the values, the name and padding to
 * a multiple of 8. */
struct gp_measured_rows {
    uint32_t set, reserved;
};
struct gp_measured_row {
    int64_t start_ns, end_ns; /* of the launch call, or of the range on its thread */
    int64_t tid;
    uint64_t ordinal;
    uint32_t corr, range; /* RANGE: it is one */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes, name_n;
};

/* Append a row whose set has N metrics. */
void gp_measured_put_row(struct gp_buf *b, const struct gp_measured_row *row, const double *values, size_t n,
                         const char *name);

/* A set of the trace, and which of its values is the time on the GPU; UINT32_MAX none. */
struct gp_measured_known {
    uint32_t set, time;
};

/* The launcher's side, for one process. Set all but the last. */
struct gp_measured {
    struct gp_trace *trace;
    uint32_t (*thread)(void *ctx, int64_t tid); /* its track */
    /* The launch CORR was measured, and ran from START_NS to END_NS; NULL: nobody needs that. */
    void (*launch)(void *ctx, uint32_t corr, int64_t start_ns, int64_t end_ns);
    void *ctx;
    GP_VEC(struct gp_measured_known) sets; /* by number */
};

/* False: the payload of N bytes is not valid. */
bool gp_measured_take_set(struct gp_measured *m, const void *payload, size_t n);
bool gp_measured_take_rows(struct gp_measured *m, const void *payload, size_t n);
void gp_measured_release(struct gp_measured *m);
/* Can our launcher have asked that? */
bool gp_measure_opts_fit(const struct gp_measure_opts *o);

#endif
