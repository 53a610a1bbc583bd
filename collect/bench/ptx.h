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

#endif
