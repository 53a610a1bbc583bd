/* memory_pack.h -- the history of a device as a sequence of numbers inside a page (render/page/page_pack.h),
 * from which assets/memory.js draws the curve, and who held what at a moment. Measures nothing.
 *
 *     gp_memory_pack(&b, m, i, &at);
 *     gp_page_pack(&w, "memory-0", b.data, b.n);
 *
 * In order, each list after its length, times from the start of the history:
 *     categories: name, colour class
 *     curve: columns of times (differences), allocated and reserved (signed differences), then one column per category
 *     moments: columns of times, allocated, reserved, as above; index of the peak; 1 + index of out of memory, or 0
 *     frames: parent (0: the root, otherwise 1 + index of an earlier frame), then its text
 *         texts are 1 + the index of an earlier text, or 0 followed by a new one; the first is empty and never written
 *     sites: 1 + frame, category, name, then changes: moment (difference), bytes, blocks (signed). The last is all others.
 *     ranges: begin (difference), length, lane, text as above
 *     number of lanes that hold steps
 */
#ifndef GP_RENDER_MEMORY_PACK_H
#define GP_RENDER_MEMORY_PACK_H

#include <stdint.h>
#include "analyze/memory/memory.h"
#include "analyze/memory/moments.h"
#include "formats/base/declare.h"

/* Append the data of DEVICE to B, with RANGES steps and ranges at most: the longest. */
void gp_memory_pack(struct gp_buf *b, const struct gp_memory *m, uint32_t device,
                    const struct gp_memory_moments *at, size_t ranges);

#endif
