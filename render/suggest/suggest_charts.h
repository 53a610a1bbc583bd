/* suggest_charts.h -- the pictures of trace-suggest's page: where a step's time goes, and what a suggestion
 * would save of it. Both are as wide as the page and represent the whole step, so they can be compared. Their
 * style is assets/suggest.css. Measures nothing.
 *
 *     gp_suggest_chart_step(&w, &suggest);
 *     gp_suggest_chart_saving(&w, &suggest, one->saving_low_ns, one->saving_high_ns, one->ceiling_ns);
 */
#ifndef GP_RENDER_SUGGEST_CHARTS_H
#define GP_RENDER_SUGGEST_CHARTS_H

#include <stdint.h>
#include "analyze/suggest/suggest.h"
#include "render/draw/canvas_svg.h"

/* A bar of the step's parts, and a list of them with their times; the remainder of the step is one of the
 * parts. */
void gp_suggest_chart_step(struct gp_svg *w, const struct gp_suggest *s);
/* A bar for the step with the least saving, the possible saving beside it, and a line at the ceiling, in ns;
 * a CEILING of 0 draws no line. */
void gp_suggest_chart_saving(struct gp_svg *w, const struct gp_suggest *s, int64_t low, int64_t high,
                             int64_t ceiling);

#endif
