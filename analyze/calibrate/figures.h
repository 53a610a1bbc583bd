/* figures.h -- the figures of a device that gpuprof-measure --calibrate measures: their names in the lines of
 * gpuprof-bench, in documents (gpuprof/ceilings/1) and for people, and which of several results counts. Knows
 * no processes and no files.
 *
 *     struct gp_figures f = {0};
 *     gp_figures_line(&f, "figure memory_copy 4.31e12", &err);     // each line of the program
 *     gp_figures_settle(&f);
 *     use(f.value[GP_FIGURE_MEMORY_COPY]);
 *     gp_figures_release(&f);
 */
#ifndef GP_ANALYZE_FIGURES_H
#define GP_ANALYZE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/result/field.h"
#include "formats/base/declare.h"
#include "formats/base/vec.h"

/* X(enum, name in lines, path in documents, words, unit). The best result counts, as whatever disturbs makes
 * them worse: the highest rate, the shortest time. Of what is sustained it is the median. Those of matrix
 * products are members of an object, with their name in lines. */
#define GP_FIGURES_OF_MEMORY(X)                                                                              \
    X(GP_FIGURE_MEMORY_COPY, "memory_copy", "memory_bytes_per_s", "memory, copy", BYTES)                     \
    X(GP_FIGURE_MEMORY_READ, "memory_read", "memory_read_bytes_per_s", "memory, read", BYTES)                \
    X(GP_FIGURE_MEMORY_WRITE, "memory_write", "memory_write_bytes_per_s", "memory, write", BYTES)            \
    X(GP_FIGURE_L2, "l2", "l2_bytes_per_s", "L2 cache, read", BYTES)
#define GP_FIGURES_OF_PRODUCTS(X)                                                                            \
    X(GP_FIGURE_FP64, "fp64", "flops_per_s.fp64", "fp64", FLOPS)                                             \
    X(GP_FIGURE_FP32, "fp32", "flops_per_s.fp32", "fp32", FLOPS)                                             \
    X(GP_FIGURE_TF32, "tf32", "flops_per_s.tf32", "tf32", FLOPS)                                             \
    X(GP_FIGURE_FP16, "fp16", "flops_per_s.fp16", "fp16", FLOPS)                                             \
    X(GP_FIGURE_BF16, "bf16", "flops_per_s.bf16", "bf16", FLOPS)                                             \
    X(GP_FIGURE_FP8, "fp8", "flops_per_s.fp8", "fp8", FLOPS)                                                 \
    X(GP_FIGURE_INT8, "int8", "flops_per_s.int8", "int8", FLOPS)
#define GP_FIGURES_OF_LINKS(X)                                                                               \
    X(GP_FIGURE_H2D, "h2d", "h2d_bytes_per_s", "host to device", BYTES)                                      \
    X(GP_FIGURE_D2H, "d2h", "d2h_bytes_per_s", "device to host", BYTES)                                      \
    X(GP_FIGURE_BOTH, "both", "h2d_d2h_bytes_per_s", "both ways at once", BYTES)                             \
    X(GP_FIGURE_LAUNCH, "launch", "launch_ns", "launch, on the host", NS)                                    \
    X(GP_FIGURE_LAUNCH_INTERVAL, "launch_interval", "launch_interval_ns", "launch to launch", NS)            \
    X(GP_FIGURE_GRAPH_KERNEL, "graph_kernel", "graph_kernel_ns", "kernel of a graph", NS)
#define GP_FIGURES(X)                                                                                        \
    GP_FIGURES_OF_MEMORY(X)                                                                                  \
    GP_FIGURES_OF_PRODUCTS(X)                                                                                \
    X(GP_FIGURE_SUSTAINED_BF16, "sustained_bf16", "sustained.bf16_flops_per_s", "bf16, sustained",           \
      FLOPS_MEDIAN)                                                                                          \
    GP_FIGURES_OF_LINKS(X)

enum gp_figure { GP_FIGURES(GP_FIRST) GP_FIGURE_COUNT };

/* What a figure is in, and so which result counts. */
enum gp_figure_unit { GP_FIGURE_BYTES, GP_FIGURE_FLOPS, GP_FIGURE_FLOPS_MEDIAN, GP_FIGURE_NS };

struct gp_figure_facts {
    const char *name, *path, *words;
    enum gp_figure_unit unit;
};
const struct gp_figure_facts *gp_figure_facts(enum gp_figure f);

/* X(member, name in lines): whole numbers that describe a device or its state, -1 where not known. Of
 * several, the median counts. */
#define GP_FACTS(X)                                                                                          \
    X(sms, "sms")                                                                                            \
    X(l2_bytes, "l2_bytes")                                                                                  \
    X(users, "users") /* other processes that computed on it */                                              \
    X(mig, "mig")                                                                                            \
    X(ecc, "ecc")                                                                                            \
    X(power_limit_mw, "power_limit_mw")                                                                      \
    X(default_power_limit_mw, "default_power_limit_mw")                                                      \
    X(sm_mhz, "sm_mhz")                                                                                      \
    X(memory_mhz, "memory_mhz")                                                                              \
    X(power_mw, "power_mw")                                                                                  \
    X(temperature_c, "temperature_c")

enum gp_fact {
#define X(member, name) GP_FACT_##member,
    GP_FACTS(X)
#undef X
        GP_FACT_COUNT
};

struct gp_samples {
    GP_VEC(double) v;
};

/* The value that PART (0 to 1) of the samples are not above, between two of them by distance; 0 without
 * samples. Sorts them. */
double gp_samples_quantile(struct gp_samples *s, double part);

/* What could not be measured. */
struct gp_missing {
    char name[24], why[200];
};
extern const struct gp_record gp_missing_rows;

/* One device; zeroed is empty. */
struct gp_figures {
    double value[GP_FIGURE_COUNT];                      /* settled; 0 not measured */
    int64_t fact[GP_FACT_COUNT], soaked[GP_FACT_COUNT]; /* settled: at the start; at the end of the soak */
    char device[128], driver[64], pci[32], capability[16], cpus[128];
    GP_VEC(struct gp_missing) missing;
    bool soaking, ended; /* the program reached its soak; its last line */
    struct gp_samples samples[GP_FIGURE_COUNT], facts[GP_FACT_COUNT], soak_facts[GP_FACT_COUNT];
};
extern const struct gp_record gp_figure_members;    /* one: the measured device */
extern const struct gp_record gp_figure_conditions; /* one: how; of a struct gp_calibration */

/* Take in a line that begins with "figure", "fact" or "missing". Names that are not known are left out: a
 * bench program of a later version may know more. -1 with ERR for a line that is none. */
GP_MUST_CHECK int gp_figures_line(struct gp_figures *f, const char *line, struct gp_err *err);
/* Decide which results count. */
void gp_figures_settle(struct gp_figures *f);
void gp_figures_release(struct gp_figures *f);

/* Say that NAME is missing, unless that is said already. */
void gp_figures_lack(struct gp_figures *f, const char *name, const char *why);

/* Why D should not be measured as it is: somebody else uses it, it is divided, its power is capped. False if
 * nothing stands against it. WHY has room for N bytes. */
bool gp_figures_unfit(const struct gp_figures *f, char *why, size_t n);

#endif
