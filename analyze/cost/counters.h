/* counters.h -- what hardware counters say of the work of a launch, a range, or a sum of launches:
 * arithmetic, bytes at each level of memory, the ceilings that the same counters state, and how the units
 * were used. Knows names of metrics, not traces. A figure whose counters are missing is not a number.
 *
 *     struct gp_counters c;
 *     gp_counters_init(&c, names, n);              // once per set
 *     struct gp_counted k;
 *     gp_counters_read(&c, values, &k);
 *     if (!isnan(k.dram_bytes)) use(k.dram_bytes / k.time_ns);
 *
 * Formulas: analyze/cost/README.md, "Counters".
 */
#ifndef GP_ANALYZE_COUNTERS_H
#define GP_ANALYZE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/names/dtype.h"
#include "formats/base/declare.h"

/* The metrics that have a part of their own. X(enum, name in PerfWorks) */
#define GP_COUNTER_PARTS(X)                                                                                  \
    X(GP_PART_TIME, "gpu__time_duration.sum")                                                                \
    X(GP_PART_DRAM_READ, "dram__bytes_read.sum")                                                             \
    X(GP_PART_DRAM_WRITE, "dram__bytes_write.sum")                                                           \
    X(GP_PART_DRAM_OP_READ, "dram__bytes_op_read.sum")                                                       \
    X(GP_PART_DRAM_OP_WRITE, "dram__bytes_op_write.sum")                                                     \
    X(GP_PART_DRAM, "dram__bytes.sum")                                                                       \
    X(GP_PART_L2, "lts__t_bytes.sum")                                                                        \
    X(GP_PART_L2_SECTORS, "lts__t_sectors.sum")                                                              \
    X(GP_PART_L2_HITS, "lts__t_sectors_lookup_hit.sum")                                                      \
    X(GP_PART_L1, "l1tex__t_bytes.sum")                                                                      \
    X(GP_PART_L1_SECTORS, "l1tex__t_sectors.sum")                                                            \
    X(GP_PART_L1_HITS, "l1tex__t_sectors_lookup_hit.sum")                                                    \
    X(GP_PART_OCCUPANCY, "sm__warps_active.avg.pct_of_peak_sustained_active")                                \
    X(GP_PART_ISSUE, "smsp__issue_active.avg.pct_of_peak_sustained_active")                                  \
    X(GP_PART_TENSOR, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed")                     \
    X(GP_PART_INST, "smsp__inst_executed.sum")                                                               \
    X(GP_PART_TENSOR_INST, "sm__inst_executed_pipe_tensor.sum")                                              \
    X(GP_PART_PEAK_DRAM, "dram__bytes.sum.peak_sustained_elapsed.per_second")                                \
    X(GP_PART_PEAK_L2, "lts__t_bytes.sum.peak_sustained_elapsed.per_second")                                 \
    X(GP_PART_PEAK_FFMA,                                                                                     \
      "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained_elapsed.per_second")               \
    X(GP_PART_FADD, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum")                                   \
    X(GP_PART_FMUL, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum")                                   \
    X(GP_PART_FFMA, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")                                   \
    X(GP_PART_DADD, "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum")                                   \
    X(GP_PART_DMUL, "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum")                                   \
    X(GP_PART_DFMA, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum")                                   \
    X(GP_PART_HADD, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum")                                   \
    X(GP_PART_HMUL, "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum")                                   \
    X(GP_PART_HFMA, "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum")                                   \
    X(GP_PART_ISSUED, "smsp__issue_active.sum")                                                              \
    X(GP_PART_THREAD_INST, "smsp__thread_inst_executed.sum")                                                 \
    X(GP_PART_LOADS, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")                                      \
    X(GP_PART_LOAD_SECTORS, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")                                \
    X(GP_PART_STORES, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")                                     \
    X(GP_PART_STORE_SECTORS, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")                               \
    X(GP_PART_WAVEFRONTS, "l1tex__data_pipe_lsu_wavefronts.sum")                                             \
    X(GP_PART_CONFLICTS, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")                               \
    X(GP_PART_L2_READ, "lts__t_sectors_op_read.sum")                                                         \
    X(GP_PART_L2_WRITTEN, "lts__t_sectors_op_write.sum")

enum gp_counter_part { GP_COUNTER_PARTS(GP_FIRST) GP_COUNTER_PART_COUNT };

/* Why warps do not issue: the word between "stalled_" and "_per_issue_active" in the metric's name. X(enum,
 * word, text) */
#define GP_STALLS(X)                                                                                         \
    X(GP_STALL_LONG_SCOREBOARD, "long_scoreboard", "data from memory or the L2 cache")                       \
    X(GP_STALL_SHORT_SCOREBOARD, "short_scoreboard", "data from shared memory or special functions")         \
    X(GP_STALL_BARRIER, "barrier", "other warps of the block at a barrier")                                  \
    X(GP_STALL_MATH_PIPE, "math_pipe_throttle", "a busy arithmetic unit")                                    \
    X(GP_STALL_LG, "lg_throttle", "a full queue of memory instructions")                                     \
    X(GP_STALL_MIO, "mio_throttle", "a full queue of shared memory instructions")                            \
    X(GP_STALL_TEX, "tex_throttle", "a full queue of texture instructions")                                  \
    X(GP_STALL_GMMA, "gmma", "matrix operations of the warp group")                                          \
    X(GP_STALL_WAIT, "wait", "an instruction of fixed latency")                                              \
    X(GP_STALL_NOT_SELECTED, "not_selected", "other warps that issue")                                       \
    X(GP_STALL_DRAIN, "drain", "stores to memory at the end")                                                \
    X(GP_STALL_BRANCH, "branch_resolving", "a branch")                                                       \
    X(GP_STALL_DISPATCH, "dispatch_stall", "the dispatcher")                                                 \
    X(GP_STALL_IMC, "imc_miss", "constants from memory")                                                     \
    X(GP_STALL_MEMBAR, "membar", "a memory fence")                                                           \
    X(GP_STALL_INSTRUCTION, "no_instruction", "instructions from memory")                                    \
    X(GP_STALL_SLEEPING, "sleeping", "the end of a sleep")                                                   \
    X(GP_STALL_MISC, "misc", "other reasons")

enum gp_stall { GP_STALLS(GP_FIRST) GP_STALL_COUNT };
const char *gp_stall_name(enum gp_stall s); /* "long_scoreboard" */
const char *
gp_stall_text(enum gp_stall s); /* "data from memory or the L2 cache": the reason that warps wait */

enum { GP_COUNTERS_TENSOR = 16 }; /* counters of matrix operations that are read at most */

/* Where the figures are among the values of a set. */
struct gp_counters {
    uint32_t at[GP_COUNTER_PART_COUNT]; /* UINT32_MAX: not there */
    struct {
        uint32_t at, peak; /* the operations, and how many there could be per second */
        uint32_t arith;    /* enum gp_arith of the operands */
    } tensor[GP_COUNTERS_TENSOR];
    size_t ntensor;
    uint32_t stall[GP_STALL_COUNT]; /* UINT32_MAX: not there */
};

/* NAN: not counted. */
struct gp_counted {
    double time_ns;
    double dram_bytes, l2_bytes, l1_bytes;
    double dram_written;                      /* of dram_bytes */
    double instructions, tensor_instructions; /* executed by warps; those of matrix units */
    double tensor_flops;                      /* of matrix units, of the types that were counted */
    double vector_flops; /* of the ordinary units: only with all nine counters of instructions */
    double flops;        /* of both, as far as they were counted */
    bool tensor_unknown; /* matrix units worked, but on a type that was not counted */
    uint32_t arith;      /* enum gp_arith of most of the operations */
    double l1_hit_pct, l2_hit_pct;
    double occupancy_pct, issue_pct, tensor_pct;
    double peak_dram_bps, peak_l2_bps, peak_flops; /* per second; the last of `arith` */
    uint32_t stall;     /* enum gp_stall that was largest; GP_STALL_COUNT: not counted */
    double stall_warps; /* warps in it per instruction issued, on average */
};

/* Of a set of N metrics with these names. */
void gp_counters_init(struct gp_counters *c, const char *const *names, size_t n);
/* One of the VALUES of that set; NAN: not there. */
double gp_counters_part(const struct gp_counters *c, const double *values, enum gp_counter_part p);
/* The VALUES of that set: of one launch, or counters summed and the others averaged. */
void gp_counters_read(const struct gp_counters *c, const double *values, struct gp_counted *k);

#endif
