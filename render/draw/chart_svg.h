/* chart_svg.h -- small charts as one SVG element each: stacked bars in rows or columns, bars side by side,
 * dots with whiskers. Drawn for a page (render/page_html.h) whose style names the colour classes. Every mark
 * has its figures in a tooltip. Knows nothing about traces.
 *
 *     struct gp_chart_series parts[] = {{"compute", "gemm"}, {"idle", "idle"}};
 *     int64_t v[] = {300, 100};
 *     struct gp_chart_row rows[] = {{.label = "rank 0", .values = v}};
 *     gp_chart_rows(&w, &(struct gp_chart){.label = "Time by rank", .series = parts, .series_n = 2,
 *                                          .rows = rows, .rows_n = 1});
 */
#ifndef GP_RENDER_CHART_SVG_H
#define GP_RENDER_CHART_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "render/draw/canvas_svg.h"
#include "formats/base/scale.h"

struct gp_chart_series {
    const char *name; /* for tooltips; NULL: only the value */
    const char *k;    /* colour class: "gemm", "idle" (gp_page_swatch) */
};

/* A bar. VALUES has one (>= 0) for each series. Strings may come from a trace. */
struct gp_chart_row {
    const char *label;
    const char *text; /* text beside the bar; NULL: none */
    const char *full; /* the first line of the tooltip; NULL: the label */
    const char *k;    /* colour class of this row's bar instead of the series'; NULL */
    const int64_t *values;
};

struct gp_chart {
    const char *label;  /* for screen readers */
    const char *x_axis; /* words below; NULL */
    enum gp_unit unit;
    /* values are parts of this, shown in percent, and UNIT does not matter; 0: values are in UNIT */
    int64_t whole;
    bool each; /* rows: a bar's whole width is its own sum, not that of the largest */
    const struct gp_chart_series *series;
    size_t series_n;
    const struct gp_chart_row *rows;
    size_t rows_n;
    /* columns: labels below some columns; NULL, or rows_n entries, NULL for no label */
    const char *const *ticks;
    int64_t mark;          /* columns, dots: a dashed line at this value; 0: none */
    const char *mark_text; /* and its name */
};

/* Bars lying below each other, parts of one row stacked from left to right. */
void gp_chart_rows(struct gp_svg *w, const struct gp_chart *c);
/* Standing bars with an axis, parts of one stacked from the bottom up. */
void gp_chart_columns(struct gp_svg *w, const struct gp_chart *c);
/* Standing bars with an axis, the series side by side. */
void gp_chart_grouped(struct gp_svg *w, const struct gp_chart *c);
/* A dot for the middle of the three values of each row, and a line from the first to the last: least, median,
 * most. */
void gp_chart_dots(struct gp_svg *w, const struct gp_chart *c);

#endif
