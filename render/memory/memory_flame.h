/* memory_flame.h -- what is held at a time as a tree of stacks whose weights are bytes: for flame graphs and
 * folded stacks. Measures nothing.
 *
 *     struct gp_flame flame;
 *     gp_memory_flame(&flame, &memory, 0, position);          // of the first device
 */
#ifndef GP_RENDER_MEMORY_FLAME_H
#define GP_RENDER_MEMORY_FLAME_H

#include "analyze/memory/memory.h"
#include "analyze/stacks/stacks.h"
#include "formats/base/declare.h"
#include "formats/base/output.h"

/* The blocks of DEVICE that live at POSITION. Their sum is what was allocated there. The caller releases
 * FLAME. */
void gp_memory_flame(struct gp_flame *flame, const struct gp_memory *m, uint32_t device, uint32_t position);
/* The blocks of all devices at the positions that were asked for, as folded stacks. */
void gp_memory_folded(struct gp_output *out, const struct gp_memory *m);

/* A frame as these trees name it: "forward (linear.py:134)". */
void gp_memory_frame_put(struct gp_buf *b, const struct gp_snapshot *s, const struct gp_snapshot_frame *f);

#endif
