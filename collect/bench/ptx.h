/* ptx.h -- the kernels that are measured with, as PTX text that the driver compiles for whatever GPU there
 * is: no compiler is needed when gpuprof is built or run. Knows nothing of the driver.
 *
 *     struct gp_buf b = {0};
 *     gp_ptx_begin(&b);
 *     gp_ptx_copy(&b, 4);                 // "copy4"
 *     gp_gpu_load(&g, gp_buf_str(&b));
 */
#ifndef GP_COLLECT_BENCH_PTX_H
#define GP_COLLECT_BENCH_PTX_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
enum { GP_PTX_VECTOR = 16 }; /* bytes that a thread reads or writes at once */

void gp_ptx_begin(struct gp_buf *b);
/* fill(p, words, seed, and_even, or_even, and_odd, or_odd): random 32-bit words, masked. */
void gp_ptx_fill(struct gp_buf *b);
/* empty(): nothing. */
void gp_ptx_empty(struct gp_buf *b);
/* copyU(to, from), readU(to, from), writeU(to, from): U vectors a thread. There must be U * threads * blocks
 * vectors. */
void gp_ptx_copy(struct gp_buf *b, int unroll);
void gp_ptx_read(struct gp_buf *b, int unroll);
void gp_ptx_write(struct gp_buf *b, int unroll);
/* again(p, rounds, passes): all threads read ROUNDS times GP_PTX_AGAIN vectors each, PASSES times, past the
 * L1 cache. */
enum { GP_PTX_AGAIN = 4 };
void gp_ptx_again(struct gp_buf *b);
/* fma32(p, rounds), fma64(p, rounds): ROUNDS times GP_PTX_FMA multiply-adds per thread. */
enum { GP_PTX_FMA = 128 };
void gp_ptx_fma(struct gp_buf *b, int bits);

/* ---- kernels of operations ----
 * Operations on tensors as PTX text, for elements of several types. Knows nothing of the driver
 * or of time.
 *
 *     const struct gp_op *op = gp_op_called("softmax");
 *     struct gp_op_shape s = gp_op_shape(op, GP_OP_BF16, 1 << 20);
 *     gp_ptx_op(&b, op, GP_OP_BF16);                                   // a kernel "op"
 *     launch s.blocks of GP_OP_THREADS with parameters (out, a, b, s.elements)
 */

enum {
    GP_OP_THREADS = 256,
    GP_OP_ROW = 1024, /* elements of a row of softmax and layernorm */
    GP_OP_TILE = 32,  /* rows and columns of a block of a transpose */
};
enum gp_op_type { GP_OP_FP32, GP_OP_FP16, GP_OP_BF16, GP_OP_TYPES };

/* What the threads of an operation share out among themselves. */
enum gp_op_kind { GP_OP_ELEMENTWISE, GP_OP_REDUCE, GP_OP_ROWS, GP_OP_TRANSPOSE };

struct gp_op {
    const char *name;
    enum gp_op_kind kind;
    unsigned reads, writes; /* elements per element */
    unsigned flops;         /* per element, functions counted as one */
};
/* NULL if there is none of that name. */
const struct gp_op *gp_op_called(const char *name);
/* In order; NULL at the end. */
const struct gp_op *gp_op_at(size_t i);

/* GP_OP_TYPES if there is none of that name. */
enum gp_op_type gp_op_type_called(const char *name);
const char *gp_op_type_name(enum gp_op_type t);
unsigned gp_op_type_size(enum gp_op_type t);

/* What one call does with about WANTED elements: as many as make whole vectors, rows, or a square of tiles,
 * and not fewer than one of them. */
struct gp_op_shape {
    uint64_t elements, bytes, flops, blocks;
    uint32_t side; /* of a square; 0 for others */
};
struct gp_op_shape gp_op_shape(const struct gp_op *op, enum gp_op_type t, uint64_t wanted);

/* Kernel "op"(out, a, b, n): N is the number of vectors, of rows, or the side. The module's header is the
 * caller's. */
void gp_ptx_op(struct gp_buf *b, const struct gp_op *op, enum gp_op_type t);
/* That N. */
uint64_t gp_op_count(const struct gp_op *op, enum gp_op_type t, const struct gp_op_shape *s);

#endif
