/* collectives.h -- finds the collectives of a trace, and matches those of several ranks.
 *
 *     gp_hta_add_collectives(&h, &view);               // of each rank's trace
 *     uint32_t *match_of = gp_collectives_match(&h);   // after sorting by rank and start
 *     free(match_of);
 */
#ifndef GP_ANALYZE_COLLECTIVES_H
#define GP_ANALYZE_COLLECTIVES_H

#include <stdint.h>
#include "analyze/hta/hta.h"

#define GP_NO_MATCH UINT32_MAX

/* Fill h->matches, offsets, stragglers, the counts of unmatched collectives, and the `order` of every
 * collective. h->collectives must be sorted by (rank, start). Returns, by collective, the index of its match
 * or GP_NO_MATCH; the caller frees it. */
uint32_t *gp_collectives_match(struct gp_hta *h);

/* Add the collectives of one trace to H. */
void gp_hta_add_collectives(struct gp_hta *h, const struct gp_view *v);

#endif
