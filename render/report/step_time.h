/* step_time.h -- the step time as every tool words it: the same figure, and what it is of.
 *
 *     gp_step_time_put(&b, mean_ns, median_ns, 3, true);      // "11.4 ms (mean of 3 whole steps; median 11.6 ms"
 *     gp_buf_putc(&b, ')');
 */
#ifndef GP_RENDER_STEP_TIME_H
#define GP_RENDER_STEP_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include "formats/base/declare.h"

/* Append the time of TIMED steps, at least one, WHOLE or cut by the edge of the trace. The parenthesis stays
 * open for what a caller adds. */
void gp_step_time_put(struct gp_buf *b, int64_t mean_ns, int64_t median_ns, uint64_t timed, bool whole);

#endif
