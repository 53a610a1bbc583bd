/* stall_code.h -- the code of kernels with bars beside it: what the warps did at each line, or at each
 * instruction whose line is not known. Opens no file: the text is handed in.
 *
 *     gp_stall_code(&page.w, &metrics.stalls, listings, n);
 */
#ifndef GP_RENDER_METRICS_STALL_CODE_H
#define GP_RENDER_METRICS_STALL_CODE_H

#include "analyze/metrics/stalls.h"
#include "formats/listing_read.h"
#include "render/draw/canvas_svg.h"

/* The kernels with most samples, and beside their bars the text of those of the N listings at CODE that are
 * of their files or of themselves. */
void gp_stall_code(struct gp_svg *w, const struct gp_stalls *s, const struct gp_listing *code, size_t n);

/* "without the stalls for memory at k.cu:57, k would be 18 to 31% shorter", of a kernel that is sure. */
void gp_stall_put_saving(struct gp_buf *b, const struct gp_strings *strings, const struct gp_stalled *k);

#endif
