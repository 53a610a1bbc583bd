/* stalls.h -- samples of the GPU's program counters by kernel: why its warps stall, on which lines, and how
 * much of the kernel's time goes at least and at most when the largest stall of its hottest line is mended.
 * Formulas: README.md, "Stalls". Knows nothing of files, text or steps.
 *
 *     struct gp_stalls s;
 *     gp_stalls_of(&s, &trace, NULL, &strings);
 *     for (size_t k = 0; k < s.kernels.n; k++)
 *         if (gp_stalled_is_sure(&s.kernels.at[k])) use(s.kernels.at[k].saved_low);
 *     gp_stalls_release(&s);
 */
#ifndef GP_ANALYZE_METRICS_STALLS_H
#define GP_ANALYZE_METRICS_STALLS_H

#include "analyze/cost/counters.h"
#include "analyze/result/field.h"
#include "formats/base/buf.h"
#include "formats/model/trace.h"

#define GP_STALLS_NEED (GP_NEED(GP_PC) | GP_NEED(GP_GPU))

#define GP_STALL_BIT(reason) (1U << GP_STALL_##reason)
/* What there is to mend. X(enum, name, text for people, what to do, its reasons, cycles that each wait takes
 * at least once it is mended; 0: half of them stay). */
#define GP_STALL_CAUSES(X)                                                                                   \
    X(GP_CAUSE_MEMORY, memory_access, "memory",                                                              \
      "let the lanes of a warp use consecutive addresses, keep what is read again in registers or shared "   \
      "memory, and load ahead of the use",                                                                   \
      GP_STALL_BIT(LONG_SCOREBOARD) | GP_STALL_BIT(LG) | GP_STALL_BIT(TEX) | GP_STALL_BIT(DRAIN) |           \
          GP_STALL_BIT(MEMBAR),                                                                              \
      479)                                                                                                   \
    X(GP_CAUSE_SHARED, bank_conflicts, "shared memory",                                                      \
      "pad or swizzle the rows of arrays in shared memory, so that the lanes of a warp use different banks", \
      GP_STALL_BIT(SHORT_SCOREBOARD) | GP_STALL_BIT(MIO), 29)                                                \
    X(GP_CAUSE_BARRIER, barrier, "barriers",                                                                 \
      "divide the work before the barrier evenly, take barriers out of loops, or use smaller blocks",        \
      GP_STALL_BIT(BARRIER), 0)                                                                              \
    X(GP_CAUSE_CHAIN, dependent_chain, "the operation before",                                               \
      "compute independent values side by side: unroll the loop with an accumulator for each turn",          \
      GP_STALL_BIT(WAIT), 0)                                                                                 \
    X(GP_CAUSE_UNIT, busy_unit, "a busy arithmetic unit",                                                    \
      "use a narrower type (single instead of double precision), matrix units, or fewer operations",         \
      GP_STALL_BIT(MATH_PIPE) | GP_STALL_BIT(GMMA) | GP_STALL_BIT(DISPATCH), 0)                              \
    X(GP_CAUSE_CODE, instructions, "instructions and constants",                                             \
      "let it take fewer instructions, make the code of the loop smaller, and its constants fewer",          \
      GP_STALL_BIT(BRANCH) | GP_STALL_BIT(IMC) | GP_STALL_BIT(INSTRUCTION), 0)                               \
    X(GP_CAUSE_SPILLS, spills, "local memory",                                                               \
      "give each thread fewer values at a time, or more registers (__launch_bounds__, -maxrregcount)", 0,    \
      41)                                                                                                    \
    X(GP_CAUSE_ATOMICS, atomics, "atomic operations",                                                        \
      "add up within a warp or a block first, and let different blocks use different words", 0, 41)          \
    X(GP_CAUSE_OCCUPANCY, low_occupancy, "memory, with too few warps to hide it",                            \
      "run more warps: more or larger blocks, with less shared memory and fewer registers for each", 0, 0)   \
    X(GP_CAUSE_DIVERGENCE, divergence, "lanes of their warp that take other branches or more turns",         \
      "sort or divide the work so that the lanes of a warp take the same branches and turns", 0, 0)          \
    X(GP_CAUSE_TAIL, tail, "the last blocks",                                                                \
      "divide the work into more and smaller blocks, or into as many as the device holds at once", 0, 0)

enum gp_stall_cause { GP_STALL_CAUSES(GP_FIRST) GP_STALL_CAUSE_COUNT };
const char *gp_stall_cause_name(enum gp_stall_cause c);
const char *gp_stall_cause_text(enum gp_stall_cause c);
const char *gp_stall_cause_fix(enum gp_stall_cause c);
/* What mends REASON; GP_STALL_CAUSE_COUNT: nothing. */
enum gp_stall_cause gp_stall_cause_of(enum gp_stall reason);

/* Samples of one reason or of one line of a kernel. */
struct gp_stall_part {
    gp_sid file;     /* of a line; 0: not known, and OFFSET is that of the instruction */
    uint32_t line;   /* 0: not known */
    uint32_t reason; /* enum gp_stall, of a line that of most of its stalls; GP_STALL_COUNT: it issued */
    uint64_t offset; /* of its first instruction */
    int64_t samples; /* all */
    int64_t stalled; /* of these, of warps that could not issue */
    int64_t latency; /* of these, when no other warp could either */
    double pct, error_pct;          /* of the kernel's samples; half of the 95% interval */
    double reason_pct;              /* of a line: that reason's share of its stalls */
    int64_t of[GP_STALL_COUNT + 1]; /* samples of a line by reason; the last: issued */
    gp_sid label, brief;            /* of the kernel */
    size_t first, n;                /* its samples, while they are gone through */
};

struct gp_stalled {
    gp_sid name, label, brief; /* as in struct gp_metrics_group */
    int64_t samples, latency, issued;
    uint64_t count;                  /* launches while samples were taken */
    int64_t time_ns;                 /* theirs */
    uint32_t registers, local_bytes; /* per thread, of most of the time; 0: not known */
    uint32_t config;                 /* in trace->configs, that of most of the time; UINT32_MAX: not known */
    size_t row;                      /* of GP_GPU, a launch of it */
    bool counted;                    /* so these are known: per launch of that config; NAN: not counted */
    double counts[GP_COUNTER_PART_COUNT];
    double memory, l1, lanes; /* of their peaks; of all lanes, those with work; NAN: not known */
    int64_t begin_ns, end_ns; /* when samples were taken */
    double occupancy, waves;  /* by the launch (occupancy.h); NAN: not known */
    GP_VEC(struct gp_stall_part) reasons, lines; /* most samples first; lines: hottest first */
    uint32_t cause;               /* enum gp_stall_cause; GP_STALL_CAUSE_COUNT: nothing stalls */
    double stalled, error;        /* its share of the kernel's samples, 0..1, and the 95% error of that */
    double saved_low, saved_high; /* of the kernel's time, 0..1 */
};

enum { GP_STALL_HOTTEST = 5 };

struct gp_stalls {
    struct gp_strings *strings;        /* of all sids; borrowed */
    GP_VEC(struct gp_stalled) kernels; /* by samples */
    GP_VEC(struct gp_stall_part)
    hottest; /* of each kernel at most GP_STALL_HOTTEST lines, kernel by kernel */
    int64_t samples;
};

/* Fill S from the finished trace T; names are added to STRINGS, which must outlive S. COUNTERS, of another
 * run of the program, narrows what is saved; NULL: those of T. O(n log n). */
void gp_stalls_of(struct gp_stalls *s, const struct gp_trace *t, const struct gp_trace *counters,
                  struct gp_strings *strings);
void gp_stalls_release(struct gp_stalls *s);
/* The demangled name of a kernel, and the short one of flame graphs. */
void gp_kernel_names(struct gp_strings *strings, gp_sid name, gp_sid *label, gp_sid *brief);
/* Is a share of the kernel's samples known within 3 points, and something to be saved? */
bool gp_stalled_is_sure(const struct gp_stalled *k);
/* Is it the program's, as far as names tell? Nobody mends a line of a library's kernel. */
bool gp_stalled_is_theirs(const struct gp_strings *strings, const struct gp_stalled *k);

extern const struct gp_record gp_stalls_kernels; /* struct gp_stalled */
extern const struct gp_record gp_stalls_lines;   /* struct gp_stall_part */
/* "kernels.cu:57", or "+0x1f0" without a line. */
void gp_stall_put_place(struct gp_buf *b, const struct gp_strings *strings, const struct gp_stall_part *p);

#endif
