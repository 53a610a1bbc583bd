/* spans.h -- the rows of a table as spans of their threads: which of them a moment is inside of. It is for
 * readers, which have no sorted tables yet; analyses have analyze/view/host_stack.h.
 *
 *     struct gp_spans s;
 *     gp_spans_build(&s, &trace, GP_NEED(GP_API), wanted);    // wanted: by track, 1 or 0
 *     uint32_t i = gp_spans_at(&s, track, at_ns);   // then: for (; i != GP_SPAN_NONE; i = s.list.at[i].parent)
 *     gp_spans_release(&s);
 */
#ifndef GP_FORMATS_MODEL_SPANS_H
#define GP_FORMATS_MODEL_SPANS_H

#include "formats/model/trace.h"

#define GP_SPAN_NONE UINT32_MAX

struct gp_row_span {
    int64_t begin_ns, end_ns;
    uint32_t track;
    uint32_t parent; /* the innermost span that began before and ends no earlier; GP_SPAN_NONE: none */
};

struct gp_spans {
    GP_VEC(struct gp_row_span) list; /* by track, then by begin, longer ones first */
    uint32_t *first;                 /* by track: its first span; one more than there are tracks */
};

/* The rows of the tables in TABLES (bits as in GP_NEED) on the tracks that WANTED marks. Rows whose times are
 * wild are left out. O(n log n). */
void gp_spans_build(struct gp_spans *s, const struct gp_trace *t, uint32_t tables, const uint8_t *wanted);
void gp_spans_release(struct gp_spans *s);
/* The innermost span of TRACK that begins before AT_NS and ends after it, GP_SPAN_NONE if there is none;
 * looks at 64 spans at most. */
uint32_t gp_spans_at(const struct gp_spans *s, uint32_t track, int64_t at_ns);

#endif
