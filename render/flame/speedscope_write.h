/* speedscope_write.h -- a call tree as a speedscope file
 * (https://www.speedscope.app/file-format-schema.json): one `sampled` profile per tree; its samples are the
 * stacks with a weight, in the order of the tree, and frames are shared by name.
 *
 *     struct gp_speedscope_profile p = {"GPU time", GP_UNIT_NS, &flame.tree, &flame.strings};
 *     gp_speedscope_write(out, "a.trace", &p, 1);
 */
#ifndef GP_RENDER_SPEEDSCOPE_WRITE_H
#define GP_RENDER_SPEEDSCOPE_WRITE_H

#include <stddef.h>
#include "analyze/stacks/calltree.h"
#include "formats/base/intern.h"
#include "formats/base/scale.h"

struct gp_output; /* formats/base/output.h */

struct gp_speedscope_profile {
    const char *name;
    enum gp_unit unit; /* becomes "nanoseconds", "bytes" or "none" */
    const struct gp_calltree *tree;
    const struct gp_strings *strings;
};

/* Write N profiles, the first of which is shown first. NAME is the file's name in the viewer. OUT remembers
 * write failures. O(stacks x depth) output, memory of the frame names. */
void gp_speedscope_write(struct gp_output *out, const char *name,
                         const struct gp_speedscope_profile *profiles, size_t n);

#endif
