/* diff_dot.h -- what replaced what, as a graph in Graphviz DOT: on the left each block of launches in the
 * baseline, on the right its replacement in the current trace, with an arrow showing the change of its time.
 * Measures nothing.
 *
 *     gp_diff_dot(&buf, &diff, 0);
 */
#ifndef GP_RENDER_DIFF_DOT_H
#define GP_RENDER_DIFF_DOT_H

#include <stddef.h>
#include "analyze/diff/diff.h"
#include "formats/base/declare.h"

/* At most MOST blocks (0: 40), those with the largest change; the label counts the rest. */
void gp_diff_dot(struct gp_buf *b, const struct gp_diff *d, size_t most);

#endif
