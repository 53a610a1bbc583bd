/* code.h -- machine code of kernels, from the cubins of a trace: for each instruction what it does, and
 * which one it waits for. Knows the encoding that NVIDIA has had since Volta: 16 bytes, the control bits
 * in the last word (README.md, "Machine code"). Knows nothing of samples.
 *
 *     struct gp_cubins c;
 *     gp_cubins_of(&c, &trace);
 *     const struct gp_code *code = gp_code_of(&c, checksum, "_Z4gemmPf");   // NULL: not known
 *     if (code) use(code->ops[gp_code_awaited(code, offset / GP_OP_BYTES, GP_STALL_LONG_SCOREBOARD)]);
 *     gp_cubins_release(&c);
 */
#ifndef GP_ANALYZE_METRICS_CODE_H
#define GP_ANALYZE_METRICS_CODE_H

#include "analyze/cost/counters.h"
#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

enum { GP_OP_BYTES = 16 };

/* What an instruction does, as far as a stall depends on it. */
enum gp_op {
    GP_OP_OTHER,
    GP_OP_LOAD,   /* of global memory */
    GP_OP_STORE,  /* to it */
    GP_OP_ATOMIC, /* in it */
    GP_OP_LOCAL,  /* memory of the thread */
    GP_OP_SHARED,
    GP_OP_DOUBLE,   /* arithmetic in double precision */
    GP_OP_TO_FLOAT, /* of an integer; with the next three, that is a division of integers */
    GP_OP_RECIPROCAL,
    GP_OP_TO_INT,
    GP_OP_HIGH, /* the upper half of a product of integers */
    GP_OP_COUNT
};

struct gp_code_op {
    uint32_t kind;    /* enum gp_op */
    uint32_t bytes;   /* of global memory, that a warp accesses; of an addition, read and written */
    uint32_t address; /* the instruction that made the address that it accesses; itself: none */
    uint32_t root;    /* where the pointer that it accesses is among the kernel's arguments; 0: not known */
    uint32_t made;    /* the load whose value its address was made of, and 1; 0: not known */
    uint32_t loop;    /* the branch that closes the innermost loop around it; 0: none */
    uint32_t stack;   /* for the caller: its place */
    uint32_t awaited[3]; /* what it waits for: for a scoreboard, a barrier, a write; itself: none before */
    bool diverges;       /* lanes of a warp may leave that in different turns */
};

struct gp_code {
    const uint8_t *bytes;
    struct gp_code_op *ops;
    size_t n;             /* instructions */
    uint32_t frame_bytes; /* of local memory, per thread */
};

struct gp_section {
    const uint8_t *at;
    size_t n;
    uint32_t frame_bytes; /* of a function's instructions: as above */
};

struct gp_cubin {
    uint64_t crc;
    struct gp_buf bytes;
};

struct gp_cubins {
    GP_VEC(struct gp_cubin) cubins;
    GP_VEC(struct gp_section) sections;
    GP_VEC(struct gp_code) functions;
    struct gp_map section_of, function_of; /* by the hash of a name, and the checksum */
};

/* Those of the finished trace T. */
void gp_cubins_of(struct gp_cubins *c, const struct gp_trace *t);
void gp_cubins_release(struct gp_cubins *c);
/* FUNCTION of the cubin with checksum CRC, until the next call; NULL: not known. */
struct gp_code *gp_code_of(struct gp_cubins *c, uint64_t crc, const char *function);

/* The instruction that a warp at instruction I waits for in REASON; I where that is the one. */
size_t gp_code_awaited(const struct gp_code *code, size_t i, enum gp_stall reason);

#endif
