/* diff_folded.h -- both sides of a comparison as folded stacks with two columns, "frame;frame;kernel BASELINE
 * CURRENT", ns per step: what other tools for differential flame graphs read. Each column sums to its side's
 * GPU time.
 *
 *     gp_diff_folded_write(&buf, &diff);
 */
#ifndef GP_RENDER_DIFF_FOLDED_H
#define GP_RENDER_DIFF_FOLDED_H

#include "analyze/diff/diff.h"
#include "formats/base/declare.h"

void gp_diff_folded_write(struct gp_buf *b, const struct gp_diff *d);

#endif
