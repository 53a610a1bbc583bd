/* samples.h -- what samples of stacks say about time: rows of GP_PYTHON that are as long as consecutive
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
#endif
