/* meter.h -- sums of a recording while it runs, as OpenMetrics text: busy time per GPU, time by
 * class, steps, launches, copies, collectives, the kernels with the most time, losses. Memory is bounded,
 * whatever the program does. Knows nothing of sockets and files.
 *
 *     struct gp_meter *m = gp_meter_new();
 *     gp_meter_add(m, producer, rank, &trace);      // the new events of a process, before they are written
 *     gp_meter_write(m, lost, &buf);
 *     gp_meter_free(m);
 */
#ifndef GP_ANALYZE_LIVE_METER_H
#define GP_ANALYZE_LIVE_METER_H

#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/model/trace.h"

struct gp_meter;

struct gp_meter *gp_meter_new(void);
/* Accepts NULL. */
void gp_meter_free(struct gp_meter *m);
/* Add all events of T, which holds only those that were not added before. RANK -1: unknown. GPU work that
 * overlaps is counted once in busy time if it arrives within a second of each other. */
void gp_meter_add(struct gp_meter *m, uint32_t producer, int32_t rank, const struct gp_trace *t);
/* Append the sums so far; LOST: events that the recorder knows it lost. At most 200 series per
 * process. */
void gp_meter_write(struct gp_meter *m, uint64_t lost, struct gp_buf *to);

#endif
