/* fleet_priv.h -- private to analyze/fleet: the columns of steps, and what saving needs of them. */
#ifndef GP_ANALYZE_FLEET_PRIV_H
#define GP_ANALYZE_FLEET_PRIV_H

#include "analyze/fleet/fleet.h"

enum { GP_FLEET_WORST_STEP = 4, GP_FLEET_WORST_KERNEL = 4 };

void gp_fleet_add_steps(struct gp_fleet *f, struct gp_fleet_key key, const struct gp_fleet_step *steps,
                        size_t n);
void gp_fleet_merge_steps(struct gp_fleet *to, const struct gp_fleet *from);
/* Make room for ranks to LAST_RANK and steps FIRST to LAST: both only ever get coarser. */
void gp_fleet_fit_rows(struct gp_fleet *f, int32_t last_rank);
/* How coarse columns for these steps are. */
unsigned gp_fleet_shift(int64_t first, int64_t last);
void gp_fleet_column_release(struct gp_fleet_column *c);

#endif
