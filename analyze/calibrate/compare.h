/* compare.h -- figures of devices beside those of a document, of a data sheet or of each other: is this GPU
 * as fast as its siblings, or as last month? Knows no files.
 *
 *     struct gp_compare c;
 *     gp_compare_begin(&c, figures, n, base, 5);
 *     for (enum gp_figure f = 0; f < GP_FIGURE_COUNT; f++) use(gp_compare_change(&c, f, 0));
 *     return c.worse ? 1 : 0;
 */
#ifndef GP_ANALYZE_COMPARE_H
#define GP_ANALYZE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include "analyze/calibrate/figures.h"
#include "analyze/cost/ceilings.h"

struct gp_compare {
    const struct gp_figures *devices; /* borrowed */
    size_t n;
    double base[GP_FIGURE_COUNT]; /* 0 not known */
    double tolerance;             /* percent */
    size_t compared, worse;       /* pairs of figures; those that are worse by more */
};

/* BASE has a value for each figure, 0 where it has none. The devices' figures are settled. */
void gp_compare_begin(struct gp_compare *c, const struct gp_figures *devices, size_t n,
                      const double base[GP_FIGURE_COUNT], double tolerance);
/* How much better device I is than the base, in percent: 2 for 2% faster, be it a rate or a time. NaN where
 * one is not known. */
double gp_compare_change(const struct gp_compare *c, enum gp_figure f, size_t i);
/* Is it worse by more than the tolerance? */
bool gp_compare_is_worse(const struct gp_compare *c, enum gp_figure f, size_t i);

/* Bases. The numbers of a document (gpuprof/ceilings/1), N bytes at TEXT; -1 with ERR if it is none. */
GP_MUST_CHECK int gp_compare_document(double base[GP_FIGURE_COUNT], const char *text, size_t n,
                                      struct gp_err *err);
/* What can be attained of the data sheet of the device called NAME; false if there is none. */
bool gp_compare_sheet(double base[GP_FIGURE_COUNT], const char *name);
/* The median of the devices. */
void gp_compare_siblings(double base[GP_FIGURE_COUNT], const struct gp_figures *devices, size_t n);

#endif
