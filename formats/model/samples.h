/* samples.h -- what is known of the stacks of threads as time: rows of GP_PYTHON. A stack that was read in
 * a call or where a range was pushed is exact, and stands for the time of the call; between two
 * neighbouring observations of a thread the frames are drawn that both have, see stack_tree.h, and the
 * others end with the first and begin with the second. So a frame is one row for as long as nothing shows
 * that it has ended.
 *
 * A sample is a moment. What it has beside those frames is drawn up to the next call, or to the middle
 * between it and the next sample: that is right on average for time, and nothing that a thread launches
 * lies in it. The stack of a call or range that was not recorded is what the samples before and after it
 * have in common, or that of a sample in it. Where no sample was taken for more than GP_SAMPLE_GAP periods,
 * or only of other threads, nothing is known.
 *
 * A range lies below the frames that everything known from its push to its pop has in common, and every
 * other frame ends or begins anew at its borders. Calls of a thread of autograd show that the thread that
 * waits for them stands in backward(): its frames are on its own track, and those of autograd's thread
 * begin with GP_STACK_AUTOGRAD, whose row has the waiter.
 *
 * A row is named "train.py(12): step", where 12 is the line of the function that most observations have.
 *
 *     gp_samples_expand(&trace);                 // after reading, before gp_trace_finish()
 *     int64_t period_ns = gp_samples_period(&trace);
 */
#ifndef GP_FORMATS_MODEL_SAMPLES_H
#define GP_FORMATS_MODEL_SAMPLES_H

#include "formats/model/trace.h"

/* The category of rows that only samples have seen, and of those that an exact stack has. */
#define GP_SAMPLED_CATEGORY      "python_sampled"
#define GP_PYTHON_STACK_CATEGORY "python_stack"
#define GP_NATIVE_STACK_CATEGORY "native_stack"
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
/* So many equal stacks the sampler sees before it asks the kernel what a thread does; until then it calls
 * it running. */
enum { GP_SAMPLE_STILL = 2 };

/* Add rows of GP_PYTHON for the stacks of T. Samples move to the track of the same thread that has other
 * events, if there is one. Does nothing without stacks or if T does not need Python. Linear, if tables are
 * sorted. */
void gp_samples_expand(struct gp_trace *t);
/* Drop the rows of T that were made of exact stacks before it was written to a file that has both, as Chrome
 * JSON does: they are made anew where they are wanted. */
void gp_samples_drop_made(struct gp_trace *t);
/* The time between two samples, 0 if there are none. */
int64_t gp_samples_period(const struct gp_trace *t);

#endif
