/* memory_priv.h -- private: the report, CSV, JSON, charts and page of trace-memory. */
#ifndef GP_RENDER_MEMORY_MEMORY_PRIV_H
#define GP_RENDER_MEMORY_MEMORY_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/memory/memory.h"
#include "analyze/stacks/stacks.h"
#include "formats/base/declare.h"
#include "formats/base/output.h"
#include "render/draw/canvas_svg.h"
#include "render/memory/memory_formats.h"
#include "render/report/report.h"

/* ---- the report ---- */

struct gp_memory_report_opts {
    size_t top;   /* rows of long tables; 0: all */
    bool verbose; /* with the tables that matter to few */
    size_t names; /* columns of a name at most; 0: all */
};

void gp_memory_report(struct gp_report *r, struct gp_memory *m, const struct gp_memory_report_opts *o);
/* Only the lines of the verdict, and of the quality. */
void gp_memory_summary(struct gp_report *r, const struct gp_memory *m);

/* "step 3": the name of step STEP of D, or its number where steps are found by the optimizer. */
void gp_memory_step_put(struct gp_buf *b, const struct gp_memory *m, const struct gp_memory_device *d,
                        uint32_t step);

/* ---- JSON: schemas/trace-memory.schema.json ---- */

/* Write the object and a new line to TO, piece by piece. Failed writes are remembered by TO. */
void gp_memory_json(struct gp_output *to, struct gp_memory *m, const char *version);
/* The same into B, which is empty, unless it is longer than MOST bytes: then false, and B stays empty. */
bool gp_memory_json_short(struct gp_buf *b, struct gp_memory *m, const char *version, size_t most);

/* ---- the page ---- */

/* The verdict, memory over time and its holders at any moment, the layout of segments, tables. At most
 * GP_MEMORY_PAGE_BYTES long, whatever the input: first drawings become coarser, then tables shorter. */

enum { GP_MEMORY_PAGE_BYTES = 3000000 };

/* Append the page of A to B. Equal input gives equal bytes. */
void gp_memory_html_write(struct gp_buf *b, const struct gp_memory_answer *a);

/* ---- the curve ---- */

/* Reserved and allocated memory of a device over time, as one SVG element: categories stacked, unused
 * reserved memory above them, steps and ranges below, the peak and failed allocations marked. For paper and
 * for browsers without scripts; assets/memory.js draws the same from packed data. */

/* The class of the page's palette that stands for a category: "gemm". */
const char *gp_memory_category_color(enum gp_category c);

/* The order in which categories are stacked, the lowest first: lasting ones before short-lived ones. */
extern const uint8_t gp_memory_stacking[GP_CATEGORY_COUNT];

/* An element <svg class="chart memory"> for device DEVICE; nothing without a curve. */
void gp_memory_curve(struct gp_svg *w, const struct gp_memory *m, uint32_t device,
                     const struct gp_memory_moments *at);

/* ---- the map ---- */

/* How the segments of a device lie when the snapshot was taken, as one SVG element per pool: a strip of
 * memory in lines, blocks in use in the colours of their categories, free ones empty, with the borders of
 * segments. */

/* Figures with their captions; nothing without segments. About BOXES boxes in all: where blocks are smaller
 * than there is room for, neighbours are drawn as one, like the largest of them. */
void gp_memory_map(struct gp_svg *w, const struct gp_memory *m, uint32_t device, size_t boxes);

/* ---- packed histories ---- */

/* The history of a device as a sequence of numbers inside a page (render/page/page_pack.h), from which
 * assets/memory.js draws the curve, and the holders of memory at a moment. */

/* Append the data of DEVICE to B, with RANGES steps and ranges at most: the longest. */
void gp_memory_pack(struct gp_buf *b, const struct gp_memory *m, uint32_t device,
                    const struct gp_memory_moments *at, size_t ranges);

/* ---- stacks whose weights are bytes ---- */

/* The blocks of DEVICE that live at POSITION. Their sum is the memory allocated there. The caller releases
 * FLAME. */
void gp_memory_flame(struct gp_flame *flame, const struct gp_memory *m, uint32_t device, uint32_t position);
/* The blocks of all devices at the positions that were asked for, as folded stacks. */
void gp_memory_folded(struct gp_output *out, const struct gp_memory *m);

#endif
