/* list.h -- the metrics of a chip as text: sets with their passes, then all names with units. Needs no GPU.
 *
 *     if (gp_metrics_list(&b, &perfworks, "GH100", &err)) ...
 */
#ifndef GP_COLLECT_COUNTERS_LIST_H
#define GP_COLLECT_COUNTERS_LIST_H

#include "collect/counters/perfworks.h"
#include "formats/base/declare.h"

/* CHIP "": that of the first device; without one, the chips that are known are listed. -1 with ERR for an
 * unknown chip. */
GP_MUST_CHECK int gp_metrics_list(struct gp_buf *b, struct gp_perfworks *p, const char *chip,
                                  struct gp_err *err);

#endif
