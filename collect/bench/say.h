/* say.h -- the lines that gpuprof-bench writes for its launcher: one measurement each, flushed at once, so
 * that a driver that crashes later takes nothing with it. Read by render/measure/calibrate.c, and described
 * in collect/bench/README.md.
 *
 *     gp_say_figure("memory_copy", 4.31e12);        // figure memory_copy 4310000000000
 *     gp_say_missing("fp8", "the device has none"); // missing fp8 the device has none
 */
#ifndef GP_COLLECT_BENCH_SAY_H
#define GP_COLLECT_BENCH_SAY_H

#include <stdint.h>
#include <stddef.h>

/* What a device is and in what state: "fact driver 580.65". VALUE is cut at its first newline. */
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
