/* folded_write.h -- a call tree as folded stacks: "frame;frame;frame N\n", one line per stack with a weight,
 * N being the weight that ends there. The sum of all N is the total of the tree.
 *
 * So that all readers of the format agree, frames are written with ':' for ';', '_' for control characters
 * and line separators, U+FFFD for what is not UTF-8, "[no name]" for an empty one, and, where a name ends in
 * a space and a number, '_' for that space ("stream_7"): tools take "stream 7 100" for a difference of two
 * profiles.
 *
 *     gp_folded_write(out, &flame.tree, &flame.strings);
 */
#ifndef GP_RENDER_FOLDED_WRITE_H
#define GP_RENDER_FOLDED_WRITE_H

#include "analyze/stacks/calltree.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"

struct gp_output; /* formats/base/output.h */

/* Write the finished TREE, siblings in the order of the tree. OUT remembers write failures. */
void gp_folded_write(struct gp_output *out, const struct gp_calltree *tree, const struct gp_strings *strings);
/* Append the N bytes at NAME as a frame. */
void gp_folded_put_frame(struct gp_buf *b, const char *name, size_t n);

#endif
