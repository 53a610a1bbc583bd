/* hta_charts.h -- the charts of trace-hta's page: turns figures of the answer into bars. Each function writes
 * one figure element, or nothing if there is nothing to show. Measures nothing; knows no SVG
 * (render/chart_svg.h).
 *
 *     gp_hta_chart_devices(&w, &hta);
 */
#ifndef GP_RENDER_HTA_CHARTS_H
#define GP_RENDER_HTA_CHARTS_H

#include "render/draw/canvas_svg.h"

struct gp_hta;

/* The exclusive parts of each device's span: computing, exposed communication, exposed memory, idle. */
void gp_hta_chart_devices(struct gp_svg *w, const struct gp_hta *h);
/* Idle time by cause, all devices together. */
void gp_hta_chart_idle(struct gp_svg *w, const struct gp_hta *h);
/* What the host was doing meanwhile. */
void gp_hta_chart_culprits(struct gp_svg *w, const struct gp_hta *h);
/* The kernels with most GPU time, in the colours of their kinds. */
void gp_hta_chart_kernels(struct gp_svg *w, const struct gp_hta *h);
/* Distribution of the durations of GPU events, by number and by GPU time. */
void gp_hta_chart_durations(struct gp_svg *w, const struct gp_hta *h);
/* Steps in their order: their parts for one device, the spread over the devices for several. */
void gp_hta_chart_steps(struct gp_svg *w, const struct gp_hta *h);
/* How long the other ranks waited for each. */
void gp_hta_chart_stragglers(struct gp_svg *w, const struct gp_hta *h);
/* By how much the first rank of a collective is ahead of the last. */
void gp_hta_chart_skew(struct gp_svg *w, const struct gp_hta *h);
/* What bounds the critical path, one row per rank. */
void gp_hta_chart_path(struct gp_svg *w, const struct gp_hta *h);
/* The path itself as a graph, with short pieces folded; several ranks side by side. Nothing if it cannot be
 * drawn. */
void gp_hta_chart_path_graph(struct gp_svg *w, const struct gp_hta *h);

#endif
