/* samples.h -- samples of stacks as time: rows of GP_PYTHON that are as long as consecutive
 * samples of a thread share a frame. Between two samples the border is in the middle, or where the middle is
 * in a call, at an end of the call: a call has one stack from begin to end. Where none was taken for more
 * than GP_SAMPLE_GAP periods, nothing is known. A frame that crosses the border of a range or an operator is
 * a row on either side of it. How often a function was called is not known from samples. A row is named
 * "train.py(12): step", where 12 is the line of the function that most samples are at; of files in a place
 * for libraries the path from there on is kept, of others the name.
 *
 *     gp_samples_expand(&trace);                 // after reading, before gp_trace_finish()
 *     int64_t period_ns = gp_samples_period(&trace);
 */
#ifndef GP_FORMATS_MODEL_SAMPLES_H
#define GP_FORMATS_MODEL_SAMPLES_H

#include "formats/model/trace.h"

/* The category of rows that are made of samples. */
#define GP_SAMPLED_CATEGORY "python_sampled"
/* What a thread was doing, the name of a sample: running, or X(part of an identifier, name). All but the
 * first are also names of rows, inside the row of the innermost function. */
#define GP_SAMPLED_RUNNING "running"
#define GP_SAMPLED_LOCK    "waiting for a lock"
#define GP_SAMPLED_GIL     "waiting for the GIL"
#define GP_SAMPLED_GARBAGE "garbage collection"
#define GP_SAMPLED_STATES(X)                                                                                 \
    X(LOCK, GP_SAMPLED_LOCK)                                                                                 \
    X(GIL, GP_SAMPLED_GIL)                                                                                   \
    X(READ, "waiting for input")                                                                             \
    X(WRITE, "waiting for output")                                                                           \
    X(SLEEP, "sleeping")                                                                                     \
    X(DRIVER, "in the driver")                                                                               \
    X(CHILD, "waiting for a process")                                                                        \
    X(COLLECT, GP_SAMPLED_GARBAGE)                                                                           \
    X(OTHER, "in the kernel")

enum { GP_SAMPLE_GAP = 4 };
/* So many equal stacks the sampler sees before it asks the kernel what a thread does; until then it calls it
 * running. */
enum { GP_SAMPLE_STILL = 2 };

/* Add rows of GP_PYTHON for the samples of T, on the track of the same thread that has other events, if there
 * is one; the samples move there, too. Does nothing if T holds no samples or does not need Python. */
void gp_samples_expand(struct gp_trace *t);
/* The time between two samples, 0 if there are none. */
int64_t gp_samples_period(const struct gp_trace *t);

/* ---- spans ---- The rows of a table as spans of their threads: which of them a moment is inside of. It is
 * for readers, which have no sorted tables yet; analyses have analyze/view/host_stack.h.
 *
 *     struct gp_spans s;
 *     gp_spans_build(&s, &trace, GP_NEED(GP_API), wanted);    // wanted: by track, 1 or 0
 *     uint32_t i = gp_spans_at(&s, track, at_ns);  // up: i = s.list.at[i].parent, to GP_SPAN_NONE
 *     gp_spans_release(&s);
 */

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
