/* calibrate_formats.h -- the forms that measurements are written in, as tables for the main
 * (formats/base/answer.h): of ceilings, of comparisons, and of operations over sizes.
 *
 *     const struct gp_answer_format *f = gp_answer_format(gp_sweep_formats, "svg");
 *     struct gp_calibrate_answer a = {.c = &c, .width = 80};
 *     if (gp_answer_write(f, &a, path, &err)) ...
 */
#ifndef GP_RENDER_CALIBRATE_FORMATS_H
#define GP_RENDER_CALIBRATE_FORMATS_H

#include <stdbool.h>
#include "analyze/calibrate/calibration.h"
#include "analyze/calibrate/compare.h"
#include "formats/base/answer.h"
#include "formats/base/declare.h"

struct gp_calibrate_answer {
    const struct gp_calibration *c;
    const struct gp_compare *compare; /* NULL: none */
    const char *base;                 /* the name of the base */
    bool color;
    size_t width;
};

/* Append the tables of ceilings, or of their comparison. */
void gp_ceilings_text(struct gp_buf *b, const struct gp_calibrate_answer *a);

extern const struct gp_answer_format gp_ceilings_formats[]; /* json, text */
extern const struct gp_answer_format gp_sweep_formats[];    /* text, json, svg, html */

#endif
