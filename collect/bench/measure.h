/* measure.h -- measurements of a GPU; each function writes lines of figures, all of its results
 * and not only the best, and the reason for each that is missing. None of them fails: a missing figure is
 * reported. Figures are named in analyze/calibrate/figures.h.
 *
 *     gp_measure_memory(&g, &(struct gp_effort){.rounds = 10, .batch_ns = 2e7});
 */
#ifndef GP_COLLECT_BENCH_MEASURE_H
#define GP_COLLECT_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include "collect/bench/gpu.h"
#include "collect/bench/ptx.h"

struct gp_effort {
    int rounds;      /* results per figure and way of measuring it */
    double batch_ns; /* GPU time that a result should come from */
    bool full;       /* every way of measuring, not only those that are best on most devices */
    /* Before each result that needs much power: a warm, loaded device is slower. */
    double rest_ns;
    double soak_ns; /* of sustained work */
};

/* Write results of WORK, which moves or computes AMOUNT each time, as rates per second. -1 with g->err. */
GP_MUST_CHECK int gp_measure_rates(struct gp_gpu *g, const char *figure, gp_gpu_work *work, void *context,
                                   double amount, const struct gp_effort *e);
/* Name, compute capability, driver, clocks, power, temperature, other users. */
void gp_measure_conditions(struct gp_gpu *g);
/* memory_copy, memory_read, memory_write, l2. */
void gp_measure_memory(struct gp_gpu *g, const struct gp_effort *e);
/* fp32, fp64 by multiply-adds. */
void gp_measure_arithmetic(struct gp_gpu *g, const struct gp_effort *e);
/* fp64 to int8 by products of matrices. */
void gp_measure_products(struct gp_gpu *g, const struct gp_effort *e);
/* launch, launch_interval, graph_kernel. */
void gp_measure_launches(struct gp_gpu *g, const struct gp_effort *e);
/* sustained_bf16 and the state of the device meanwhile. */
void gp_measure_soak(struct gp_gpu *g, const struct gp_effort *e);
/* h2d, d2h, both: copies between the host's memory and the device's. */
void gp_measure_link(struct gp_gpu *g, const struct gp_effort *e);
/* peer I J for each ordered pair of the N devices. */
void gp_measure_peers(const struct gp_driver *d, const int *devices, int n, const struct gp_effort *e);
/* One operation with elements of one type over N numbers of elements. */
void gp_measure_op(struct gp_gpu *g, const char *op, const char *type, const uint64_t *sizes, int n,
                   const struct gp_effort *e);

/* What random content elements of T have. */
enum gp_bits gp_measure_bits(enum gp_op_type t);
/* Are the results of all operations right? Says so, or which is not. */
bool gp_measure_check(struct gp_gpu *g);

/* ---- lines of the answer ----
 * The lines that gpuprof-bench writes for its launcher: one measurement each, flushed at once, so
 * that a driver that crashes later takes nothing with it. Read by render/measure/calibrate.c, and described
 * in collect/bench/README.md.
 *
 *     gp_say_figure("memory_copy", 4.31e12);        // figure memory_copy 4310000000000
 *     gp_say_missing("fp8", "the device has none"); // missing fp8 the device has none
 */

/* A fact about the device or its state: "fact driver 580.65". VALUE is cut at its first newline. */
void gp_say_fact(const char *name, const char *value);
void gp_say_fact_u64(const char *name, uint64_t value);
/* One result of several for the same NAME: a rate per second, or ns. */
void gp_say_figure(const char *name, double value);
/* That there will be none, and why. */
void gp_say_missing(const char *name, const char *why);
/* Times of one operation over ELEMENTS elements: "op copy fp32 1024 8192 0 1200 1210 1190". */
struct gp_say_op {
    const char *op, *type;
    uint64_t elements, bytes, flops;
    const double *ns;
    size_t n;
};
void gp_say_op(const struct gp_say_op *o);

#endif
