/* hatchet_write.h -- a tree of frames as the JSON that Triton's Proton writes and its viewer reads.
 *
 *     gp_hatchet_write(&buf, &flame->tree, &flame->strings);
 */
#ifndef GP_RENDER_HATCHET_WRITE_H
#define GP_RENDER_HATCHET_WRITE_H

#include "analyze/stacks/calltree.h"
#include "formats/base/declare.h"

/* Times in ns and counts at the frames in which they end, as Proton has them. */
void gp_hatchet_write(struct gp_buf *b, const struct gp_calltree *tree, const struct gp_strings *strings);

#endif
