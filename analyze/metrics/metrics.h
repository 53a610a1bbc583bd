/* metrics.h -- hardware counters of a trace by kernel, by range or by launch: the answer of trace-metrics as
 * plain structs. Counters are summed; percentages and rates never are: their mean is weighted by the time of
 * each launch. A value that was not measured is left out of every figure. Knows nothing of files, text or
 * pictures.
 *
 *     struct gp_metrics m;
 *     gp_metrics_of(&m, &trace, &opts, &err);
 *     for (size_t g = 0; g < m.groups.n; g++)
 *         use(gp_metrics_str(&m, m.groups.at[g].name), gp_metrics_stat(&m, g, 0)->sum);
 *     gp_metrics_release(&m);
 */
#ifndef GP_ANALYZE_METRICS_H
#define GP_ANALYZE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/cost/counters.h"
#include "analyze/cost/roofline.h"
#include "analyze/metrics/stalls.h"
#include "analyze/result/field.h"
#include "analyze/view/quality.h"
#include "formats/base/declare.h"
#include "formats/model/metric.h"
#include "formats/model/trace.h"

/* The tables that are looked at. */
#define GP_METRICS_NEED (GP_NEED(GP_METRIC) | GP_STALLS_NEED)
/* Of a trace whose durations are taken instead. */
#define GP_METRICS_TIMING_NEED GP_NEED(GP_GPU)

enum gp_metrics_per { GP_METRICS_PER_KERNEL, GP_METRICS_PER_RANGE, GP_METRICS_PER_LAUNCH };

struct gp_metrics_opts {
    enum gp_metrics_per per;
    const char *only; /* names, separated by commas, with or without rollup; NULL: all. Borrowed. */
    const char *sort; /* the name of a metric; NULL: by time. Borrowed. */
    size_t top;       /* groups that are kept, 0: all */
    const struct gp_trace *counters; /* of another run of the program, for the stalls; NULL: the trace's */
};

/* A metric of any of the trace's sets. */
struct gp_metrics_column {
    gp_sid name, unit;
    uint32_t type, reduce;
};

/* Of the values of one metric in one group. Without any, n is 0 and the others are not numbers. */
struct gp_metrics_stat {
    uint64_t n;
    double sum, mean, min, max; /* sum: not a number where values must not be added */
};

struct gp_metrics_group {
    gp_sid name;             /* as recorded: of a kernel or a range */
    gp_sid label, brief;     /* of a kernel demangled, and as in flame graphs; of a range its name */
    struct gp_config config; /* name, grid and block of a kernel */
    bool kernel;             /* otherwise a range */
    uint64_t count;          /* launches in the trace, or times the range was run; measured or not */
    uint64_t measured;       /* rows of counters */
    uint64_t ordinal;        /* per launch: its position among those of its context; otherwise GP_NO_ID */
    int64_t time_ns;         /* of the measured launches; -1 unknown */
    int64_t joined_ns;       /* of as many launches in another trace; -1 not known there */
    bool joined_by_mean;     /* which has another number of them */
    /* What the counters say of its measured launches: nothing of what some of them lack. */
    struct gp_counted counted;
};

/* Groups beyond the top, so that they and the others are the whole. */
struct gp_metrics_rest {
    uint64_t rows, count, measured;
    int64_t time_ns; /* where it is known */
};

struct gp_metrics {
    struct gp_strings strings; /* all sids */
    struct gp_input_quality input;
    GP_VEC(struct gp_metrics_column) columns;
    GP_VEC(struct gp_metrics_group) groups; /* in the order that was asked for */
    struct gp_metrics_stat *stats;          /* group after group */
    uint32_t *group_of;          /* by row of GP_METRIC; UINT32_MAX: in none, or in one that was left out */
    struct gp_counters counters; /* where figures are among the columns */
    GP_VEC(gp_sid) chips;        /* in order of appearance */
    uint32_t passes;             /* the most that a launch was run */
    bool distorted;              /* the time between launches is meaningless */
    uint64_t launches, launches_measured; /* of kernels */
    struct gp_metrics_rest rest;
    bool joined;
    GP_VEC(struct gp_loss) losses; /* with what and reason of STRINGS */
    struct gp_stalls stalls;       /* by kernel; without samples of program counters, none */
};

/* Of the finished trace T. -1 if --metrics names none, or the metric to sort by is not there. M must be
 * released in any case. O(rows x metrics). */
GP_MUST_CHECK int gp_metrics_of(struct gp_metrics *m, const struct gp_trace *t,
                                const struct gp_metrics_opts *o, struct gp_err *err);
/* Times of the groups of kernels from TIMING, a trace of the same program without counters: each measured
 * launch of COUNTERS, of which M is, has the time of the launch at its position (launch_match.h), or the mean
 * of those of its kernel. */
void gp_metrics_join(struct gp_metrics *m, const struct gp_trace *counters, const struct gp_trace *timing);
void gp_metrics_release(struct gp_metrics *m);

static inline const struct gp_metrics_stat *gp_metrics_stat(const struct gp_metrics *m, size_t group,
                                                            size_t column)
{
    return &m->stats[group * m->columns.n + column];
}
static inline const char *gp_metrics_str(const struct gp_metrics *m, gp_sid sid)
{
    return gp_string(&m->strings, sid);
}
/* The value of a column that stands for it: the sum of a counter, the mean of the others. */
static inline double gp_metrics_usual(const struct gp_metrics *m, size_t group, size_t column)
{
    const struct gp_metrics_stat *s = gp_metrics_stat(m, group, column);
    return m->columns.at[column].reduce == GP_REDUCE_SUM ? s->sum : s->mean;
}
/* Fill an empty R, whose names are added to NAMES. MEASURED: ceilings of the device, which take the place of
 * the peaks that the counters state; NULL: none. */
void gp_metrics_roofline(struct gp_roofline *r, struct gp_strings *names, const struct gp_metrics *m,
                         const struct gp_ceilings *measured);

/* For the getters of the records below. */
struct gp_row_of gp_metrics_rows_of(const struct gp_metrics *m);
extern const struct gp_record gp_metrics_columns, gp_metrics_losses; /* struct gp_metrics_column, gp_loss */
extern const struct gp_record gp_metrics_groups,
    gp_metrics_values;                          /* struct gp_metrics_group, gp_metrics_stat */
extern const struct gp_record gp_metrics_rests; /* one struct gp_metrics_rest; stalls.h has more */

#endif
