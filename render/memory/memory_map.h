/* memory_map.h -- how the segments of a device lie when the snapshot was taken, as one SVG element per pool:
 * a strip of memory in lines, blocks in use in the colours of what they hold, free ones empty, with the
 * borders of segments. Measures nothing.
 *
 *     if (m->devices.at[i].fragmentation.known) gp_memory_map(&w, m, i, 3000);
 */
#ifndef GP_RENDER_MEMORY_MAP_H
#define GP_RENDER_MEMORY_MAP_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/memory/memory.h"
#include "render/draw/canvas_svg.h"

/* Figures with their captions; nothing without segments. About BOXES boxes in all: where blocks are smaller
 * than there is room for, neighbours are drawn as one, like the largest of them. */
void gp_memory_map(struct gp_svg *w, const struct gp_memory *m, uint32_t device, size_t boxes);

#endif
