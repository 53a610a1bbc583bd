/* view.h -- facts of one trace that several analyses need, computed once: the nesting of host events, the
 * launch and class of each GPU event, and the GPU events of each device and stream in order of time. Measures
 * nothing.
 *
 *     struct gp_view v;
 *     gp_view_init(&v, &trace, NULL);
 *     for (size_t d = 0; d < v.devices.n; d++)
 *         for (size_t i = 0; i < v.devices.at[d].n; i++) use(v.rows[v.devices.at[d].first + i]); // of GP_GPU
 *     gp_view_release(&v);
 */
#ifndef GP_ANALYZE_VIEW_H
#define GP_ANALYZE_VIEW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "analyze/view/attribute.h"
#include "analyze/names/classify.h"
#include "analyze/view/host_stack.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

/* The tables that a full analysis of a trace reads through its view. */
#define GP_VIEW_NEED                                                                                         \
    (GP_NEED(GP_GPU) | GP_NEED(GP_COUNTER) | GP_NEED(GP_API) | GP_NEED(GP_OP) | GP_NEED(GP_PYTHON) |         \
     GP_NEED(GP_RANGE) | GP_NEED(GP_SYNC) | GP_NEED(GP_OVERHEAD) | GP_NEED(GP_MEMORY) | GP_NEED(GP_FLOW) |   \
     GP_NEED_FEW_ARROWS | GP_NEED_EXTRA_WORK | GP_NEED_EXTRA_RANGES | GP_NEED_PLACES)

/* A device as one process sees it: ordinals are unique within a producer only. */
struct gp_view_device {
    uint32_t producer;
    int64_t device; /* ordinal; if no event has one, the number of the row group (its pid); -1 unknown */
    int32_t rank;   /* of the process, or of the trace; -1 unknown */
    const struct gp_device *props;  /* NULL when the trace has none */
    size_t first, n;                /* slice of view->rows: its GPU events by start */
    size_t first_stream, n_streams; /* slice of view->streams */
};

struct gp_view_stream {
    uint32_t device; /* index into view->devices */
    uint32_t track;  /* the (first) track of the stream */
    int64_t stream;  /* number; -1 unknown */
    size_t first, n; /* slice of view->stream_rows: its GPU events by start */
};

struct gp_view {
    const struct gp_trace *t;
    struct gp_host_stack hs;
    struct gp_attribution at;
    uint8_t *kind_of_config;               /* by config: enum gp_frame_kind */
    GP_VEC(struct gp_view_device) devices; /* by (rank, producer, device) */
    GP_VEC(struct gp_view_stream) streams; /* by device, then stream number */
    uint32_t *rows;                        /* rows of GP_GPU by device, then start, longer first */
    uint32_t *stream_rows;                 /* the same by stream */
    uint32_t *device_of_row;               /* by row of GP_GPU: index into devices */
};

/* T must be finished and outlive the view. CLASSES are the user's, or NULL. Overwrites V. O(n log n). */
void gp_view_init(struct gp_view *v, const struct gp_trace *t, const struct gp_classes *classes);
/* The same if V->hs already holds the host stack of T (possibly with self times); overwrites everything else
 * in V. */
void gp_view_init_on(struct gp_view *v, const struct gp_trace *t, const struct gp_classes *classes);
/* Fill only the devices, the streams and their rows, in a V without any. */
void gp_view_find_devices(struct gp_view *v);
void gp_view_release(struct gp_view *v);

/* Finer kind and class of a GPU event. */
static inline enum gp_frame_kind gp_view_kind(const struct gp_view *v, uint32_t row)
{
    return (enum gp_frame_kind)v->kind_of_config[gp_get_config(&v->t->events[GP_GPU], row)];
}
static inline enum gp_class gp_view_class(const struct gp_view *v, uint32_t row)
{
    return gp_class_of(gp_view_kind(v, row));
}

/* Is ROW a page migration of unified memory? No call launches those. */
static inline bool gp_view_migrates(const struct gp_trace *t, uint32_t row)
{
    const struct gp_config *c = gp_gpu_config(t, row);
    return c->kind == GP_MEMCPY && strstr(gp_trace_str(t, c->name), "(Unified Memory");
}

/* Row of GP_API that launched GPU event ROW; UINT32_MAX when no call is known. */
static inline uint32_t gp_view_launch(const struct gp_view *v, uint32_t row) { return v->at.api_row[row]; }

#endif
