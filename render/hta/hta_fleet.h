/* hta_fleet.h -- what trace-hta shows of many ranks together: who is slow and why, how the ranks are spread,
 * and the map of ranks by steps.
 *
 *     gp_hta_json_fleet(&doc, &hta);       // "fleet": {...}, null where there is one rank only
 *     gp_hta_chart_ranks(&svg, &hta);      // the map; nothing without steps
 */
#ifndef GP_RENDER_HTA_FLEET_H
#define GP_RENDER_HTA_FLEET_H

#include "render/draw/canvas_svg.h"
#include "render/report/json_doc.h"

struct gp_fleet;
struct gp_fleet_column;
struct gp_hta;

extern const struct gp_record gp_hta_fleet_row; /* one: struct gp_hta; of: its fleet */
void gp_hta_json_fleet(struct gp_doc *d, const struct gp_hta *h);
void gp_hta_chart_ranks(struct gp_svg *w, const struct gp_hta *h);

/* How much longer the longest own time of a cell of the map is than the median of its column: 0 not at all
 * (or within what ranks differ by), 1 .. GP_HEAT_LEVELS - 1 more and more; -1 nothing recorded. */
enum { GP_HEAT_LEVELS = 6 };
int gp_hta_heat_level(const struct gp_fleet *f, const struct gp_fleet_column *c, uint32_t row);

#endif
