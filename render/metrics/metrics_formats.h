/* metrics_formats.h -- the formats of trace-metrics' answer.
 *
 *     struct gp_metrics_answer a = {.m = &m, .reduce = -1};
 *     if (gp_answer_write(format, &a, path, &err)) ...
 */
#ifndef GP_RENDER_METRICS_FORMATS_H
#define GP_RENDER_METRICS_FORMATS_H

#include <stdbool.h>
#include "analyze/cost/ceilings.h"
#include "analyze/metrics/metrics.h"
#include "formats/base/answer.h"
#include "formats/listing_read.h"

enum {
    GP_METRICS_TAKES_WIDE = 1,
    GP_METRICS_TAKES_REDUCE = 2,
    GP_METRICS_TAKES_CEILINGS = 4,
    GP_METRICS_TAKES_CODE = 8
};

struct gp_metrics_answer {
    const struct gp_metrics *m;
    const struct gp_ceilings *measured; /* of the device, for the page; NULL: none */
    const char *input, *options;        /* for the page; INPUT NULL: standard input */
    int reduce;                         /* of CSV: enum gp_metric_reduce, only this figure; -1: all */
    bool wide;                          /* of CSV: a column per metric */
    bool values;                        /* of text: single values as well */
    bool color;
    const struct gp_listing *code; /* for the page; NULL: none */
    size_t code_n;
    size_t top;   /* rows of tables of stalls; 0: all */
    size_t width; /* of text, in columns; 0: 80 */
};

extern const struct gp_answer_format gp_metrics_formats[];

#endif
