/* roofline_page.h -- complements a roofline plot: its figures as a table and in sentences, and the plot as a
 * separate file. Measures nothing.
 *
 *     const struct gp_report_table *t = gp_roofline_tell(&report, &s->roofline, &s->strings);
 *     gp_roofline_section(&w, &s->roofline, &s->strings, t);
 *     gp_roofline_svg(&buf, &s->roofline, &s->strings, "app.trace");
 */
#ifndef GP_RENDER_ROOFLINE_PAGE_H
#define GP_RENDER_ROOFLINE_PAGE_H

#include "analyze/cost/roofline.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "render/draw/canvas_svg.h"
#include "render/report/report.h"

/* A new table of REP with a row for each point; NULL if there are none. */
const struct gp_report_table *gp_roofline_tell(struct gp_report *rep, const struct gp_roofline *r,
                                               const struct gp_strings *names);
/* The plot, for wide and for narrow windows, and table T; where nothing is known, why. */
void gp_roofline_section(struct gp_svg *w, const struct gp_roofline *r, const struct gp_strings *names,
                         const struct gp_report_table *t);
/* Append an SVG file. INPUT is what it is about; NULL: standard input. */
void gp_roofline_svg(struct gp_buf *out, const struct gp_roofline *r, const struct gp_strings *names,
                     const char *input);

#endif
